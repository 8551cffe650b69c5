/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The state of lowering one graph, and what all emitters share. Files of kit call no file of
 * another room. */
#ifndef HIA_EMIT_H
#define HIA_EMIT_H

#include "lower/lower.h"
#include "runtime/native/fork.h"
#include <llvm-c/DebugInfo.h>

/* The runtime's functions, in the order of abi.def. */
enum hia_abi {
#define HIA_ABI(name, args, result, EFFECT, doc) HIA_ABI_##name,
#include "runtime/native/abi.def"
  HIA_N_ABI
};
/* Fields of the context, in the order of layout.def. */
enum hia_field {
#define HIA_FIELD(offset, TYPE, name, doc) HIA_FIELD_##name,
#include "runtime/native/layout.def"
  HIA_N_FIELDS
};

/* A function that the module declares or defines. */
typedef struct hia_declared {
  LLVMTypeRef type;
  LLVMValueRef function; /* NULL: of another unit */
  LLVMValueRef entry;    /* for the runtime, or NULL */
} hia_declared;

/* How the runtime learns, during a loop, which forks are open. */
typedef enum hia_loop_forks {
  HIA_LOOP_WITHOUT, /* none are open */
  HIA_LOOP_POLLS,   /* from the debug location of the safepoint at the start of each round */
  HIA_LOOP_KEEPS    /* from a number kept in the frame during the loop */
} hia_loop_forks;

enum { HIA_MAX_ELEMENTARY = 24 };

/* A loop over elements of tensors (fused/kernel.c): a function of the module. */
typedef struct hia_loop {
  const char *key; /* says what it computes */
  LLVMValueRef function;
} hia_loop;

/* The entry of a segment whose rows the module notes, or of a function that computes elements. */
typedef struct hia_own_entry {
  hia_fn_id fn;
  LLVMValueRef entry;
} hia_own_entry;

/* A branch (kept at its THEN region) or a loop (at its HEAD) while it is lowered. */
/* A side of a later branch, to which an edge leads. */
typedef struct hia_skip {
  hia_region_id then; /* 0: none */
  uint32_t side;      /* 0: THEN, 1: ELSE */
} hia_skip;
typedef struct hia_flow {
  LLVMBasicBlockRef from[2]; /* branch: the blocks that enter `join` from THEN and ELSE;
                                loop: [0] the block before it */
  LLVMBasicBlockRef head;    /* loop */
  LLVMBasicBlockRef join;    /* what follows it; NULL for a branch that becomes a select */
  LLVMBasicBlockRef other;   /* branch: where ELSE begins */
  hia_region_id inner[2];    /* branch: the branch that ends THEN, or ELSE, and joins where this
                                branch does; 0: none */
  bool is_joined;            /* branch: it is such an inner branch */
  bool is_hollow[2];         /* branch: THEN, or ELSE, has no instructions and no block */
  hia_skip skip;           /* branch: where the edge of its hollow side leads (function/skips.c) */
  uint32_t skips_from;     /* which side that is, if there is such an edge */
  uint32_t entered;        /* the side at which such edges enter it, if `entry` is not NULL */
  LLVMBasicBlockRef entry; /* an empty block, which they lead to; or NULL */
  hia_path path;           /* at its start; from ELSE and ROUND on: at the end of THEN, of HEAD */
  hia_loop_forks forks;    /* loop */
  LLVMValueRef element[2]; /* loop: the record of its element, and `outer` of that; or NULL */
  uint32_t merges;         /* loop: its first entry of emit->local.merges */
} hia_flow;

/* A fork of the function being lowered, open where the builder stands. */
typedef struct hia_latent {
  hia_node_id node; /* the FORK */
  uint32_t site;    /* index among the function's; NONE: no thief can take it */
} hia_latent;
/* A value that the frame keeps for open forks. */
typedef struct hia_fork_value {
  LLVMValueRef value;
  uint32_t word; /* of the hia_fork_frame */
  uint32_t fork; /* the first fork that needs it: index among the open ones */
} hia_fork_value;

/* What is known of an array (ops/array.c). */
typedef struct hia_array_value {
  LLVMValueRef n;      /* how many elements it has: an i64 */
  LLVMValueRef data;   /* the address of the first one; any address if there is none */
  LLVMValueRef is_own; /* an i1: nothing else refers to it, and it is no view; NULL: not known */
} hia_array_value;

/* An ELEMENT node that is in force (ops/element.c). */
typedef struct hia_open_element {
  hia_region_id region;
  LLVMValueRef index;  /* an i64 */
  LLVMValueRef record; /* a hia_element in the frame; NULL: there is none yet */
  LLVMValueRef outer;  /* of a record that is in the context's list: the next one; else NULL */
  bool is_of_loop;     /* it stays in the list after the region, until the loop ends */
} hia_open_element;

/* ---- the state of lowering ----
 *
 * The state has three parts: one lives while the graph is lowered, one while a unit is, and one
 * while a function is. Each field stands under the file that owns it, and that decides what it
 * means. */

/* What lower.c finds out about the graph, for all its units. */
typedef struct hia_emit_graph {
  hia_facts facts;
  const hia_codegen_units *units;
  bool is_parallel;     /* several workers count references at a time: some function forks, or
                         * notes rows, which late workers may read (native/crew.h) */
  bool notes_rows;      /* of segments: some function does */
  bool is_counted;      /* the graph counts references: a count of 1 is that of the only one */
  bool tests_addresses; /* the graph was read, and has addresses (ops/read.c) */
  const bool *owes;     /* by type - HIA_FIRST_TYPE: it has objects that are filled in later */
  bool tests_pending;   /* an operand may be pending where none should be (ops/read.c) */
  /* kit/check.c */
  hia_path *paths; /* by function: the path that a call of it adds; an upper bound until it has been
                    lowered */
} hia_emit_graph;

/* What belongs to a codegen unit, which becomes a module. */
typedef struct hia_emit_unit {
  /* lower.c */
  uint32_t number; /* of the unit */
  bool *is_wanted; /* by function: the module has it */
  LLVMDIBuilderRef debug;
  LLVMMetadataRef file, debug_type;
  LLVMValueRef unlikely; /* branch weights: the true side is rare */
  /* kit/runtime.c */
  hia_declared abi[HIA_N_ABI];
  /* kit/constants.c */
  HIA_VEC(LLVMValueRef) kept_values;
  /* kit/c_functions.c */
  LLVMValueRef no_context; /* or NULL */
  /* ops/count.c */
  LLVMValueRef *frees; /* by type; or NULL */
  LLVMValueRef drop;   /* or NULL */
  LLVMValueRef share;  /* or NULL */
  /* ops/elementary.c */
  LLVMValueRef elementary[HIA_MAX_ELEMENTARY][2]; /* at f32, f64; or NULL */
  bool has_masked[HIA_MAX_ELEMENTARY][2];         /* has the vectors that its loops need */
  uint32_t n_inlined;                             /* calls of these that LLVM may inline */
  /* kit/symbols.c */
  HIA_VEC(hia_own_entry) own_entries;
  /* fused/loop.c */
  HIA_VEC(hia_loop) loops;
  /* function/call.c */
  hia_declared *fns; /* by function */
  uint32_t *cell_of; /* by function: 1 + the index of its cell; 0: the module has none for it */
  hia_u32vec cells;  /* functions that have one */
  LLVMValueRef cell_table;
  /* function/fork.c */
  hia_u32vec fork_functions, fork_sites, fork_args; /* rows of the table, lower.h */
  /* function/extern.c */
  struct hia_host_emit *hosts; /* by extern */
  LLVMValueRef host_table;     /* HIA_HOST_TABLE, or NULL */
  /* host/map.c */
  struct hia_row_work *row_work; /* by function; or NULL */
} hia_emit_unit;

/* What belongs to the function being lowered. lower.c begins it anew for each; its memory is the
 * scratch memory of the function. */
typedef struct hia_emit_local {
  /* kit/emit.c */
  LLVMMetadataRef scope;
  /* kit/check.c */
  hia_path path;       /* up to where the builder stands */
  uint64_t back_run;   /* the most that path.back may be */
  hia_region_id check; /* the region at whose start the safepoint is; NONE: nowhere */
  /* kit/fail.c */
  LLVMBasicBlockRef restart; /* of a leaf function: jumps to its slow path; or NULL */
  /* kit/frame.c */
  LLVMValueRef operands; /* a block of words in the frame, or NULL */
  /* ops/count.c */
  bool *is_used; /* by value; NULL: the function has no UNPACK */
  bool is_terse; /* counts go through functions of the module, small objects through a stub */
  /* ops/early.c */
  struct hia_early *early; /* NULL: no object of the function is filled early */
  /* ops/array.c */
  hia_array_value *arrays;     /* by value; NULL: the function reads and writes no arrays */
  struct hia_aliases *aliases; /* with `arrays` */
  /* ops/element.c */
  HIA_VEC(hia_open_element) elements; /* those in force, innermost last */
  /* ops/control.c */
  HIA_VEC(hia_node_id) merges; /* MERGE_LOOPs of the open loops */
  /* function/body.c */
  hia_flow *flows; /* by region: THEN and HEAD */
  /* function/call.c */
  HIA_VEC(LLVMValueRef) args; /* of the call being built */
  /* function/extern.c */
  LLVMValueRef host_block; /* in the frame, for the words of calls of the host; or NULL */
  /* function/leaf.c */
  hia_value_id *restart_with; /* of a leaf function, by parameter: the value to pass there */
  /* A leaf function may compare its fuel once, so that its charges need no comparison: behind this
   * node, with the fuel there and what there must be. NONE: each charge compares. */
  hia_node_id fuel_at;
  hia_value_id fuel;
  uint64_t fuel_needed;
  /* function/fork.c */
  LLVMValueRef fork_frame;      /* the hia_fork_frame; NULL: no fork of the function can be taken */
  HIA_VEC(hia_value_id) given;  /* values that the next FORK gives */
  HIA_VEC(hia_latent) forks;    /* the open ones */
  HIA_VEC(hia_fork_value) kept; /* by word */
  uint32_t n_fork_words, first_site;
  bool keeps_number;      /* hia_fork_map */
  hia_region_id keeps_in; /* words[0] holds it throughout this region; NONE: in no region */
  uint32_t *calls_before; /* by node: the CALL_I and FORK nodes before it; with `fork_frame` */
  uint32_t ended; /* index of the fork whose STOLEN was met and whose JOIN was not; or NONE */
} hia_emit_local;

typedef struct hia_emit {
  const hia_graph *g;
  const hia_lower_options *options;
  hia_comp *comp; /* lowering's own: scratch memory and errors */

  /* LLVM: the module of the unit, the builder of what is built, and types. */
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef types[HIA_N_REPRS]; /* i1 i32 i64 float double ptr */
  LLVMTypeRef void_type, ptr, i8;

  /* What nodes are built of and into: a function of the graph, and one of the module. */
  const hia_fn *fn;
  hia_fn_id id;
  LLVMValueRef function, context;
  LLVMValueRef *values; /* by value of fn */

  hia_emit_graph graph;
  hia_emit_unit unit;
  hia_emit_local local;
} hia_emit;

/* ---- nodes and their values ---- */

static inline const hia_node *hiaL_node(const hia_emit *e, hia_node_id n) {
  return &e->fn->nodes.data[n];
}
static inline LLVMValueRef hiaL_in(const hia_emit *e, hia_node_id n, uint32_t i) {
  LLVMValueRef value = e->values[hiaG_in(e->fn, n, i)];
  if (!value) HIA_BUG(e->comp, "%s: node %u uses a value that is not there yet", e->fn->name, n);
  return value;
}
static inline void hiaL_out(hia_emit *e, hia_node_id n, uint32_t i, LLVMValueRef value) {
  e->values[hiaG_out(e->fn, n, i)] = value;
}
static inline hia_flow *hiaL_flow(hia_emit *e, hia_region_id region) {
  return &e->local.flows[region];
}

/* True if the module has only functions that kernels call (function/map.c). They run without a
 * context and for a short time, so they have no safepoints, which would keep LLVM from vectorising.
 */
static inline bool hiaL_is_for_kernels(const hia_emit *e) {
  return e->options->host == HIA_HOST_MAP;
}

static inline bool hiaL_does(const hia_emit *e, hia_fn_id id, unsigned effects) {
  return e->graph.facts.effects[id] & effects;
}
static inline bool hiaL_is_leaf(const hia_emit *e, hia_fn_id id) {
  return e->graph.facts.is_leaf[id];
}

/* ---- emit.c: what is built where the builder stands ---- */

static inline LLVMBasicBlockRef hiaL_block(hia_emit *e, const char *name) {
  return LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}
static inline void hiaL_at(hia_emit *e, LLVMBasicBlockRef block) {
  LLVMPositionBuilderAtEnd(e->b, block);
}
static inline LLVMBasicBlockRef hiaL_here(hia_emit *e) { return LLVMGetInsertBlock(e->b); }
void hiaL_at_start(hia_emit *e, LLVMBasicBlockRef block); /* with no debug location */
/* A phi at the start of `block`, wherever the builder stands. */
LLVMValueRef hiaL_phi(hia_emit *e, LLVMBasicBlockRef block, LLVMTypeRef type, const char *name);
/* A branch whose true side is rare. */
void hiaL_unlikely(hia_emit *e, LLVMValueRef condition, LLVMBasicBlockRef rare,
                   LLVMBasicBlockRef usual);
void hiaL_set_unlikely(hia_emit *e, LLVMValueRef branch); /* its true side is rare */

void hiaL_attribute(hia_emit *e, LLVMValueRef function, unsigned index, const char *name,
                    uint64_t value);
void hiaL_call_attribute(hia_emit *e, LLVMValueRef call, unsigned index, const char *name,
                         uint64_t value);
/* Attributes that every function of the program has. */
void hiaL_common_attributes(hia_emit *e, LLVMValueRef f);

uint32_t hiaL_forks_number(const hia_emit *e); /* which forks are open: HIA_FORKS_ */
/* Sets the debug location of what is built next. */
void hiaL_set_debug_loc(hia_emit *e, hia_loc_id loc, bool is_tail);
void hiaL_no_debug_loc(hia_emit *e);
/* Opens the scope of emit->function; its own line stands for `loc`. */
void hiaL_open_scope(hia_emit *e, const char *name, hia_loc_id loc);

/* The LLVM type of a value of this type, which is no tuple. */
static inline LLVMTypeRef hiaL_type(const hia_emit *e, hia_type type) {
  return e->types[hiaR_repr(type)];
}
/* Words of a block, in which entries and joins pass arguments and results. */
LLVMValueRef hiaL_word_at(hia_emit *e, LLVMValueRef block, uint32_t i); /* its address */
LLVMValueRef hiaL_load_word(hia_emit *e, LLVMValueRef at, hia_type t);
void hiaL_store_word(hia_emit *e, LLVMValueRef at, LLVMValueRef value, hia_type t);

/* ---- constants.c ---- */

LLVMValueRef hiaL_number(hia_emit *e, unsigned bits, uint64_t n);
LLVMValueRef hiaL_structure(hia_emit *e, LLVMValueRef *fields, unsigned n);
/* A symbol of the runtime, whose type does not matter. */
LLVMValueRef hiaL_of_runtime(hia_emit *e, const char *name);
/* A variable of the module's own that holds a constant. */
LLVMValueRef hiaL_variable(hia_emit *e, const char *name, LLVMValueRef value);
/* A variable that the loader fills in. */
LLVMValueRef hiaL_for_loader(hia_emit *e, const char *name, LLVMTypeRef type);
/* Bytes that are no part of the program's own constants. */
LLVMValueRef hiaL_bytes(hia_emit *e, const char *name, const void *data, size_t size,
                        unsigned alignment);
/* Keeps a value in the object although nothing there refers to it. */
void hiaL_keep(hia_emit *e, LLVMValueRef value);
void hiaL_write_kept(hia_emit *e); /* at the end of the module */

/* ---- symbols.c: besides the names in lower.h ---- */

/* A function that the runtime or a host finds by its name. If one of the program's functions has
 * the name, that one gets another. */
LLVMValueRef hiaL_add_named(hia_emit *e, const char *name, LLVMTypeRef type);
/* The runtime finds f by its name, and calls it. */
void hiaL_serve_runtime(hia_emit *e, LLVMValueRef f);
/* Declares a hia_native_entry of a function, of the module's own: the function may be in another
 * one. Its body comes last (function/entry.c). */
LLVMValueRef hiaL_own_entry(hia_emit *e, hia_fn_id id, const char *name);

/* ---- runtime.c ---- */

LLVMValueRef hiaL_call_abi(hia_emit *e, enum hia_abi function, LLVMValueRef *args, unsigned n_args);
/* The address of a field of the context. */
LLVMValueRef hiaL_build_field(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context,
                              enum hia_field field);
static inline LLVMValueRef hiaL_field(hia_emit *e, enum hia_field field) {
  return hiaL_build_field(e->b, e->llvm, e->context, field);
}

/* ---- c_functions.c ---- */

/* The plan of a root; NULL: it has none. */
const hia_object_root *hiaL_planned(const hia_emit *e, hia_fn_id root);
/* C's type of a scalar, and values from it and to it: a bool is a byte there. */
LLVMTypeRef hiaL_c_type(const hia_emit *e, hia_type t);
LLVMValueRef hiaL_from_c(hia_emit *e, LLVMValueRef value, hia_type t);
LLVMValueRef hiaL_to_c(hia_emit *e, LLVMValueRef value, hia_type t);
/* Adds a function that hosts call for a root, and makes it emit->function. It has no context. The
 * builder is left in its first block. */
LLVMValueRef hiaL_host_function(hia_emit *e, const hia_fn *fn, const char *name, LLVMTypeRef type);
/* The context of code that runs without one: a constant whose limit is so low that no safepoint
 * polls. */
LLVMValueRef hiaL_no_context(hia_emit *e);

/* ---- frame.c ---- */

/* Room in the frame of emit->function. */
LLVMValueRef hiaL_room(hia_emit *e, LLVMTypeRef type, const char *name);
bool hiaL_has_blocks(const hia_graph *g,
                     const hia_fn *fn);       /* it passes words to the runtime in its frame */
LLVMValueRef hiaL_operand_block(hia_emit *e); /* room for words that the runtime gets */
/* Calls a stub of the runtime with `what`, a block of the node's operands, and its location. The
 * stub leaves the node's results in the block. */
void hiaL_call_with_operands(hia_emit *e, hia_node_id n, enum hia_abi stub, LLVMValueRef what);

/* ---- objects.c ---- */

const hia_ctor *hiaL_ctor(const hia_emit *e, hia_type data, uint32_t number);
/* An object's memory. If there is none the run fails at `loc`. */
LLVMValueRef hiaL_new_block(hia_emit *e, uint32_t size, hia_loc_id loc);
LLVMValueRef hiaL_new_block_of(hia_emit *e, LLVMValueRef size, hia_loc_id loc); /* an i64 */
void hiaL_free_block(hia_emit *e, LLVMValueRef block, uint32_t size);
LLVMValueRef hiaL_byte_at(hia_emit *e, LLVMValueRef base, uint64_t offset, const char *name);
LLVMValueRef hiaL_load_packed(hia_emit *e, LLVMValueRef object, const hia_layout_word *layout_word);
void hiaL_store_packed(hia_emit *e, LLVMValueRef object, const hia_layout_word *layout_word,
                       LLVMValueRef value);
/* Writes the header of an object to which there is one reference. */
void hiaL_store_header(hia_emit *e, LLVMValueRef object, uint32_t ctor);
LLVMValueRef hiaL_header_ctor(hia_emit *e, LLVMValueRef object); /* an i32 */
LLVMValueRef hiaL_ref_word(hia_emit *e, LLVMValueRef ref);       /* a reference as an i64 */
/* True if the word is no object. */
LLVMValueRef hiaL_is_number(hia_emit *e, LLVMValueRef ref);
LLVMValueRef hiaL_load_dim(hia_emit *e, LLVMValueRef tensor, uint32_t axis); /* its size: an i64 */
/* A tensor that is a constant of the module, which is not counted. */
LLVMValueRef hiaL_constant_tensor(hia_emit *e, const char *name, hia_dtype dtype,
                                  const hia_dims *shape, LLVMValueRef elements);

/* ---- fail.c ---- */

/* Builds the failure of the run, which ends the block. `code`: i64. */
void hiaL_fail(hia_emit *e, hia_loc_id loc, hia_status status, LLVMValueRef code);
void hiaL_fail_with(hia_emit *e, hia_loc_id loc, LLVMValueRef status, LLVMValueRef code);
/* Builds the failure because an array of n elements has no element `first`, or no slice
 * first .. end. */
void hiaL_fail_range(hia_emit *e, hia_loc_id loc, bool is_slice, LLVMValueRef first,
                     LLVMValueRef end, LLVMValueRef n);
void hiaL_fail_range_of(hia_emit *e, hia_loc_id loc, uint32_t code, LLVMValueRef first,
                        LLVMValueRef end, LLVMValueRef n); /* code: hiaR_range_code */
/* Jumps from a leaf function to its slow path. The builder is left in a block that is never
 * reached. */
void hiaL_restart(hia_emit *e);
/* Puts the record of an element into the context's list, in which failures find it. */
void hiaL_list_element(hia_emit *e, hia_open_element *i);

/* ---- check.c: safepoints ---- */

/* The region at whose start emit->fn has its safepoint. */
hia_region_id hiaL_safepoint_region(hia_emit *e);
uint64_t hiaL_back_run(const hia_emit *e); /* emit->local.back_run */
/* Code that takes `cost` cycles follows. Builds a safepoint before it, if the last is too far back.
 */
void hiaL_spend(hia_emit *e, uint64_t cost);
void hiaL_spend_call(hia_emit *e, hia_fn_id callee);
hia_loc_id hiaL_loop_loc(const hia_emit *e); /* of the innermost loop, or NONE */
void hiaL_safepoint(hia_emit *e);            /* builds one */
void hiaL_safepoint_and_split(hia_emit *e);  /* the same; the builder is left in a new block */
bool hiaL_may_split(const hia_emit *e);      /* true if one may be built here */
/* Called behind each store of a node that has many, with its number, so that LLVM's blocks stay
 * short. */
void hiaL_stored(hia_emit *e, uint32_t i);
void hiaL_keep_context(hia_emit *e);
LLVMValueRef hiaL_keeper(LLVMContextRef llvm); /* the callee of what hiaL_keep_context builds */
LLVMValueRef hiaL_safepoint_assembly(LLVMContextRef llvm); /* the assembly that compares */
LLVMValueRef hiaL_build_safepoint(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context);

#endif
