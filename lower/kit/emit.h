/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The state of lowering one graph, and small helpers to build IR: what all of lower/ shares. */
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

/* The entry of a segment whose rows the module notes. */
typedef struct hia_segment_entry {
  hia_fn_id fn;
  LLVMValueRef entry;
} hia_segment_entry;

/* A branch (kept at its THEN region) or a loop (at its HEAD) while it is lowered. */
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
  hia_path path;             /* at its start; from ELSE and ROUND on: at the end of THEN, of HEAD */
  hia_loop_forks forks;      /* loop */
  LLVMValueRef element[2];   /* loop: the record of its element, and `outer` of that; or NULL */
  uint32_t merges;           /* loop: its first entry of emit->merges */
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

typedef struct hia_emit {
  const hia_graph *g;
  const hia_lower_options *options;
  hia_comp *comp; /* lowering's own: scratch memory and errors */
  hia_facts facts;
  bool is_parallel;     /* some function forks */
  bool is_counted;      /* the graph counts references: a count of 1 is that of the only one */
  bool tests_addresses; /* the graph was read, and has addresses (ops/read.c) */
  bool tests_pending;   /* an operand may be pending where none should be (ops/read.c) */
  hia_path *paths; /* by function: the path that a call of it adds; an upper bound until it has been
                    lowered */
  const hia_codegen_units *units;
  uint32_t codegen_unit; /* the one that is lowered */
  bool *is_wanted;       /* by function: the module has it */
  uint32_t *cell_of;     /* by function: 1 + the index of its cell; 0: the module has none for it */
  hia_u32vec cells;      /* functions that have one */
  LLVMValueRef cell_table;
  hia_u32vec fork_functions, fork_sites, fork_args; /* rows of the table, lower.h */
  hia_declared *fns;                                /* by function */
  HIA_VEC(LLVMValueRef) kept_values;                /* hiaL_keep */
  struct hia_host_emit *hosts;                      /* function/extern.c: by extern */
  LLVMValueRef host_table;                          /* HIA_HOST_TABLE, or NULL */
  LLVMValueRef no_context;                          /* hiaL_no_context, or NULL */
  LLVMValueRef *frees;                              /* ops/count.c: by type; or NULL */
  struct hia_row_work *row_work;                    /* function/map.c: by function; or NULL */
  LLVMValueRef elementary[HIA_MAX_ELEMENTARY][2];   /* ops/elementary.c: at f32, f64; or NULL */
  uint32_t n_inlined;                               /* calls of these that LLVM may inline */
  HIA_VEC(hia_segment_entry) segments;              /* ops/batch.c */
  HIA_VEC(hia_loop) loops;                          /* fused/kernel.c */

  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMDIBuilderRef debug;
  LLVMMetadataRef file, unit, debug_type;
  LLVMTypeRef types[HIA_N_REPRS]; /* i1 i32 i64 float double ptr */
  LLVMTypeRef void_type, ptr, i8;
  LLVMValueRef unlikely; /* branch weights: the true side is rare */
  hia_declared abi[HIA_N_ABI];

  /* The function being lowered. */
  const hia_fn *fn;
  hia_fn_id id;
  LLVMValueRef function, context;
  LLVMValueRef host_block;    /* in its frame, for the words of calls of the host; or NULL */
  LLVMBasicBlockRef restart;  /* of a leaf function: jumps to its slow path; or NULL */
  hia_value_id *restart_with; /* of a leaf function, by parameter: the value to pass there */
  /* Of a leaf function that compares its fuel once, so that its charges need no comparison: the
   * node behind which it does, the fuel there, and how much there must be. NONE: each charge
   * compares. */
  hia_node_id fuel_at;
  hia_value_id fuel;
  uint64_t fuel_needed;
  LLVMValueRef fork_frame;      /* its hia_fork_frame; NULL: none of its forks can be taken */
  HIA_VEC(hia_value_id) given;  /* values that the next FORK gives */
  HIA_VEC(hia_latent) forks;    /* the open ones */
  HIA_VEC(hia_fork_value) kept; /* by word */
  uint32_t n_fork_words, first_site;
  bool keeps_number;      /* hia_fork_map */
  hia_region_id keeps_in; /* words[0] holds it throughout this region; NONE: in no region */
  uint32_t *calls_before; /* by node: the CALL_I and FORK nodes before it; of functions that fork */
  uint32_t ended; /* index of the fork whose STOLEN was met and whose JOIN was not; or NONE */
  LLVMMetadataRef scope;
  LLVMValueRef *values;               /* by value */
  bool *is_used;                      /* by value; NULL: the function has no UNPACK */
  hia_array_value *arrays;            /* by value; NULL: the function reads and writes no arrays */
  struct hia_aliases *aliases;        /* with `arrays` */
  LLVMValueRef operands;              /* a block of words in the frame, or NULL (ops/operation.c) */
  hia_flow *flows;                    /* by region: THEN and HEAD */
  HIA_VEC(hia_open_element) elements; /* ops/element.c: those in force, innermost last */
  hia_path path;                      /* up to where the builder stands */
  uint64_t back_run;                  /* the most that path.back may be */
  hia_region_id check;         /* the region at whose start the safepoint is; NONE: nowhere */
  HIA_VEC(LLVMValueRef) args;  /* of the call being built */
  HIA_VEC(hia_node_id) merges; /* MERGE_LOOPs of the open loops */
} hia_emit;

/* Every op has one emitter. It builds node n of emit->fn. */
typedef void hia_emitter(hia_emit *e, hia_node_id n);
#define HIA_EMIT_OWN(NAME) hia_emitter hiaL_emit_##NAME;
#define HIA_EMIT_OPERATION(NAME)
#define HIA_EMIT_NONE(NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  HIA_EMIT_##EMIT(NAME)
#include "runtime/base/ops.def"
#undef HIA_EMIT_OWN
#undef HIA_EMIT_OPERATION
#undef HIA_EMIT_NONE
hia_emitter hiaL_emit_operation; /* of all operations on tensors */

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
static inline hia_flow *hiaL_flow(hia_emit *e, hia_region_id region) { return &e->flows[region]; }

/* True if the module has only functions that kernels call (function/map.c). They run without a
 * context and for a short time, so they have no safepoints, which would keep LLVM from vectorising.
 */
static inline bool hiaL_is_for_kernels(const hia_emit *e) {
  return e->options->host == HIA_HOST_MAP;
}

static inline bool hiaL_does(const hia_emit *e, hia_fn_id id, unsigned effects) {
  return e->facts.effects[id] & effects;
}
static inline bool hiaL_is_leaf(const hia_emit *e, hia_fn_id id) { return e->facts.is_leaf[id]; }

/* ---- emit.c: what all emitters share ---- */

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
void hiaL_set_unlikely(hia_emit *e, LLVMValueRef branch); /* its true side */

void hiaL_attribute(hia_emit *e, LLVMValueRef function, unsigned index, const char *name,
                    uint64_t value);
void hiaL_call_attribute(hia_emit *e, LLVMValueRef call, unsigned index, const char *name,
                         uint64_t value);
void hiaL_common_attributes(hia_emit *e, LLVMValueRef f); /* of every function of the program's */

uint32_t hiaL_forks_number(const hia_emit *e); /* which forks are open: HIA_FORKS_ */
void hiaL_set_debug_loc(hia_emit *e, hia_loc_id loc, bool is_tail); /* of what is built next */
void hiaL_no_debug_loc(hia_emit *e);
/* The scope of emit->function; its own line stands for `loc`. */
void hiaL_open_scope(hia_emit *e, const char *name, hia_loc_id loc);

/* Words of a block, in which entries and joins pass arguments and results. */
LLVMValueRef hiaL_word_at(hia_emit *e, LLVMValueRef block, uint32_t i); /* its address */
/* The LLVM type of a value of this type, which is no tuple. */
static inline LLVMTypeRef hiaL_type(const hia_emit *e, hia_type type) {
  return e->types[hiaR_repr(type)];
}
LLVMValueRef hiaL_load_word(hia_emit *e, LLVMValueRef at, hia_type t);
void hiaL_store_word(hia_emit *e, LLVMValueRef at, LLVMValueRef value, hia_type t);

/* Constants, and a variable of the module's own that holds one. */
LLVMValueRef hiaL_number(hia_emit *e, unsigned bits, uint64_t n);
LLVMValueRef hiaL_structure(hia_emit *e, LLVMValueRef *fields, unsigned n);
LLVMValueRef hiaL_of_runtime(hia_emit *e, const char *name); /* a symbol of the runtime, whose type
                                                                does not matter */
LLVMValueRef hiaL_variable(hia_emit *e, const char *name, LLVMValueRef value);

/* A function that the runtime or a host finds by its name. If one of the program's functions has
 * the name, that one gets another. */
LLVMValueRef hiaL_add_named(hia_emit *e, const char *name, LLVMTypeRef type);
/* The runtime finds f by its name, and calls it. */
void hiaL_serve_runtime(hia_emit *e, LLVMValueRef f);
/* Keeps a value in the object although nothing there refers to it. */
void hiaL_keep(hia_emit *e, LLVMValueRef value);

LLVMValueRef hiaL_call_abi(hia_emit *e, enum hia_abi function, LLVMValueRef *args, unsigned n_args);
LLVMValueRef hiaL_build_field(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context,
                              enum hia_field field); /* its address */
static inline LLVMValueRef hiaL_field(hia_emit *e, enum hia_field field) {
  return hiaL_build_field(e->b, e->llvm, e->context, field);
}

/* ---- function/call.c ---- */

void hiaL_declare(hia_emit *e, hia_fn_id id);
/* Gives each function of another unit that the unit's functions call a cell. */
void hiaL_declare_cells(hia_emit *e);
/* Builds the hia_native_entry of a function, through which the runtime calls it. */
void hiaL_entry(hia_emit *e, hia_fn_id id);
/* The same as the body of f, which is one. */
void hiaL_build_entry(hia_emit *e, hia_fn_id id, LLVMValueRef f);

/* open_args begins e->args with the hidden argument; build_call builds the call of e->fns[callee]
 * with e->args. */
void hiaL_open_args(hia_emit *e);
LLVMValueRef hiaL_build_call(hia_emit *e, hia_fn_id callee);
/* Result i of the n that a call returns. */
LLVMValueRef hiaL_result(hia_emit *e, LLVMValueRef all, uint32_t n, uint32_t i);

/* ---- function/host.c ---- */

/* Builds what hosts call, with the module's record. */
void hiaL_host_side(hia_emit *e);
/* True if the root has a plain function in this module. */
bool hiaL_is_plain(hia_emit *e, hia_fn_id root);
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

/* ---- ops/elementary.c ---- */

/* Builds the value of an elementary function (runtime/base/elementary.h) of its operands: scalars,
 * or vectors, of f32 or f64. NULL: that function is not defined there, but is libm's; or vectors
 * are longer than 64. The code is right on every machine, but without the instruction for fused
 * multiply-add it calls libm twenty times. */
LLVMValueRef hiaL_elementary(LLVMBuilderRef b, const char *name, const LLVMValueRef *args);
/* Calls a function of the module that has this code. NULL: the target lacks the instruction, or as
 * above. */
LLVMValueRef hiaL_call_elementary(hia_emit *e, const char *name, hia_dtype t, LLVMValueRef *args,
                                  uint32_t n_args);

/* ---- fused/kernel.c ---- */

/* If emit->fn is a kernel: builds its code for operands that fit. The builder is left where others
 * come. */
void hiaL_open_kernel(hia_emit *e);

/* ---- ops/batch.c ---- */

/* The entries of segments: after all functions. */
void hiaL_write_segments(hia_emit *e);
/* In an entry: what is pending is computed, or left to the worker that gets the results. */
void hiaL_finish(hia_emit *e, hia_fn_id id);
/* Waits until the elements of a tensor, or of those in an object, are there. */
void hiaL_wait_for(hia_emit *e, LLVMValueRef x, hia_type type, hia_loc_id loc);
/* True if some function defers operations. */
bool hiaL_defers(const hia_graph *g);

/* ---- ops/read.c: what the code of a graph that was read from text tests; else nothing ---- */

/* A reference that nobody has set. In such a graph a tensor without elements. */
LLVMValueRef hiaL_unset(hia_emit *e, hia_type type);
void hiaL_unset_elements(hia_emit *e, LLVMValueRef elements, LLVMValueRef n, hia_type array);
void hiaL_require_object(hia_emit *e, LLVMValueRef ref, hia_loc_id loc);
/* It is that of a DEST or HOLE_AT: the verifier makes sure that it is one of these, or an UNDEF. */
void hiaL_require_address(hia_emit *e, LLVMValueRef address, hia_loc_id loc);
/* The tensor has this shape. */
void hiaL_require_row(hia_emit *e, LLVMValueRef tensor, const hia_dims *shape, hia_loc_id loc);
/* Waits for the operands whose elements the node reads. */
void hiaL_wait_for_operands(hia_emit *e, hia_node_id n);
/* The address of a DEST, in such a graph. */
LLVMValueRef hiaL_new_destination(hia_emit *e, hia_loc_id loc);

/* ---- ops/operation.c ---- */

/* Room for the words of the operands of any operation of the function. */
LLVMValueRef hiaL_operand_block(hia_emit *e);

/* ---- function/map.c ---- */

/* True if the root has a map entry: all in the JIT, in an object those that the plan names. */
bool hiaL_has_map(const hia_emit *e, hia_fn_id root);
/* True if the function is a root whose map calls a kernel. */
bool hiaL_has_kernel(hia_emit *e, hia_fn_id id);
/* Builds the failure of a row in a kernel, which ends the block. */
void hiaL_fail_row(hia_emit *e);
/* Builds the map entry of root number `root` of the record. */
void hiaL_map_entry(hia_emit *e, hia_fn_id id, uint32_t root, LLVMValueRef record);
/* Builds the loop that the entry runs, with its kernel. */
void hiaL_map_loop(hia_emit *e, hia_fn_id id);

/* ---- object/object.c: what an object file holds besides ---- */

/* The plan of a root; NULL: it has none. */
const hia_object_root *hiaL_planned(const hia_emit *e, hia_fn_id root);
/* hia_unwinder, hia_places, and the fields of the record from `image` on. */
enum { HIA_RECORD_REST = 10 };
/* Bytes that are no part of the program's own constants. */
LLVMValueRef hiaL_bytes(hia_emit *e, const char *name, const void *data, size_t size,
                        unsigned alignment);
LLVMValueRef hiaL_object_unwinder(hia_emit *e, LLVMValueRef *locs);
LLVMValueRef hiaL_object_places(hia_emit *e, LLVMValueRef locs);
void hiaL_object_rest(hia_emit *e, LLVMValueRef rest[HIA_RECORD_REST]);
/* `main`, which runs the plan's program. */
void hiaL_object_main(hia_emit *e, LLVMValueRef record);
void hiaL_object_end(hia_emit *e);

/* ---- object/types.c ---- */

/* The types of the plan and their shapes, or NULL pointers. */
void hiaL_object_types(hia_emit *e, LLVMValueRef *types, LLVMValueRef *shapes);

/* ---- function/leaf.c ---- */

void hiaL_open_leaf(hia_emit *e); /* emit->fn */
void hiaL_close_leaf(hia_emit *e);
void hiaL_compare_fuel(hia_emit *e); /* behind node emit->fuel_at */
/* Jumps to the slow path. The builder is left in a block that is never reached. */
void hiaL_restart(hia_emit *e);

/* ---- function/fork.c ---- */

void hiaL_open_forks(hia_emit *e);  /* in the entry block of emit->fn */
void hiaL_place_forks(hia_emit *e); /* before everything in region emit->check that may poll */
void hiaL_close_forks(hia_emit *e); /* at the function's end */
void hiaL_write_forks(hia_emit *e); /* the module's table */
/* Writes into the frame which forks are open during a loop. */
void hiaL_keep_number(hia_emit *e, uint32_t number);
/* Writes into the frame that none are open, from here to the end of region r, unless it already has
 * a number. Polls of safepoints without a column read it (rounds.c). */
void hiaL_keep_none(hia_emit *e, hia_region_id r);

/* ---- function/pays.c ---- */

void hiaL_pays(hia_emit *e, hia_fn_id id); /* the hia_fork_pays of a function that is forked */

/* ---- function/extern.c ---- */

void hiaL_open_hosts(hia_emit *e); /* in the entry block of emit->fn */
/* The hia_image_hosts of an object whose externs are symbols, which the interpreter calls through
 * libffi. Null if it has none. */
LLVMValueRef hiaL_image_hosts(hia_emit *e);

/* ---- ops/data.c ---- */

const hia_ctor *hiaL_ctor(const hia_emit *e, hia_type data, uint32_t number);
/* An object's memory. If there is none the run fails at `loc`. */
LLVMValueRef hiaL_new_block(hia_emit *e, uint32_t size, hia_loc_id loc);
LLVMValueRef hiaL_new_block_of(hia_emit *e, LLVMValueRef size, hia_loc_id loc); /* an i64 */
void hiaL_free_block(hia_emit *e, LLVMValueRef block, uint32_t size);
/* Writes the words of a constructor with fields into its object: the operands from `first` on,
 * those that are in the set, or those that are not. */
void hiaL_write_words(hia_emit *e, hia_node_id n, LLVMValueRef object, const hia_ctor *ctor,
                      uint32_t first, uint32_t set, bool is_in);
LLVMValueRef hiaL_byte_at(hia_emit *e, LLVMValueRef base, uint64_t offset, const char *name);
LLVMValueRef hiaL_load_packed(hia_emit *e, LLVMValueRef object, const hia_word_place *place);
void hiaL_store_packed(hia_emit *e, LLVMValueRef object, const hia_word_place *place,
                       LLVMValueRef value);
/* Writes the header of an object to which there is one reference. */
void hiaL_store_header(hia_emit *e, LLVMValueRef object, uint32_t ctor);
/* True if the word is no object. */
LLVMValueRef hiaL_is_number(hia_emit *e, LLVMValueRef ref);
LLVMValueRef hiaL_header_ctor(hia_emit *e, LLVMValueRef object); /* an i32 */

/* ---- ops/count.c ---- */

/* The base of a type, as hiaR_shapes_new numbers shapes: those of constructors, then arrays. */
uint32_t hiaL_base(const hia_emit *e, hia_type reference);
void hiaL_drop(hia_emit *e, LLVMValueRef ref, hia_type type); /* one less */
/* Goes to `last` if there is one reference to the object, else to `others`. */
void hiaL_is_only(hia_emit *e, LLVMValueRef object, LLVMBasicBlockRef last,
                  LLVMBasicBlockRef others);
/* One more reference to an object, in graphs that do not count too. */
void hiaL_share(hia_emit *e, LLVMValueRef object);

void hiaL_write_frees(hia_emit *e); /* after all functions */
void hiaL_open_counts(hia_emit *e); /* before the nodes of emit->fn */

/* ---- ops/array.c ---- */

bool hiaL_has_blocks(const hia_fn *fn); /* it passes words to the runtime in its frame */
void hiaL_open_arrays(hia_emit *e);     /* before the nodes of emit->fn */
/* Node n has been built: notes what is known of the arrays that it defines. */
void hiaL_note_arrays(hia_emit *e, hia_node_id n);
/* The parts of a hia_array_value, for what passes on one of several values. */
enum { HIA_ARRAY_PARTS = 3 };
bool hiaL_has_array(const hia_emit *e, hia_value_id v); /* its parts are noted */
LLVMTypeRef hiaL_array_part_type(const hia_emit *e, unsigned part);
LLVMValueRef hiaL_array_part(hia_emit *e, hia_value_id v, unsigned part); /* never NULL */
void hiaL_set_array_part(hia_emit *e, hia_value_id v, unsigned part, LLVMValueRef value);

/* ---- ops/control.c ---- */

void hiaL_body(hia_emit *e); /* all nodes of emit->fn, behind the builder's position */
void hiaL_node_alone(hia_emit *e, hia_node_id n); /* a node that needs nothing but its operands */
bool hiaL_has_calls(const hia_emit *e, hia_region_id head); /* true if the loop calls or forks */
/* Builds the failure of the run, which ends the block. `code`: i64. */
void hiaL_fail(hia_emit *e, hia_loc_id loc, hia_status status, LLVMValueRef code);
/* The same because an array of n elements has no element `first`, or no slice first .. end. */
void hiaL_fail_range_of(hia_emit *e, hia_loc_id loc, uint32_t code, LLVMValueRef first,
                        LLVMValueRef end, LLVMValueRef n); /* code: hiaR_range_code */
void hiaL_fail_range(hia_emit *e, hia_loc_id loc, bool is_slice, LLVMValueRef first,
                     LLVMValueRef end, LLVMValueRef n);
void hiaL_fail_with(hia_emit *e, hia_loc_id loc, LLVMValueRef status, LLVMValueRef code);

/* ---- ops/element.c ---- */

/* Builds what a failure needs that is to come: the runtime then finds the elements in force. */
void hiaL_show_elements(hia_emit *e);
void hiaL_open_loop_element(hia_emit *e, hia_region_id head);  /* before a loop */
void hiaL_close_loop_element(hia_emit *e, hia_region_id head); /* and behind it */
void hiaL_close_elements(hia_emit *e, hia_region_id region);   /* at the end of the region */

/* ---- check.c ---- */

/* The region at whose start emit->fn has its safepoint. */
hia_region_id hiaL_safepoint_region(hia_emit *e);
uint64_t hiaL_back_run(const hia_emit *e); /* emit->back_run */
/* Code that takes `cost` cycles follows. Builds a safepoint before it, if the last is too far back.
 */
void hiaL_spend(hia_emit *e, uint64_t cost);
void hiaL_spend_call(hia_emit *e, hia_fn_id callee);
hia_loc_id hiaL_loop_loc(const hia_emit *e); /* of the innermost loop, or NONE */
void hiaL_safepoint(hia_emit *e);            /* builds one */
void hiaL_safepoint_and_split(hia_emit *e);  /* the same; the builder is left in a new block */
bool hiaL_may_split(const hia_emit *e);      /* true if one may be built here */
/* Is called behind each store of a node that has many, with its number: LLVM's blocks stay short.
 */
void hiaL_stored(hia_emit *e, uint32_t i);
void hiaL_keep_context(hia_emit *e);
LLVMValueRef hiaL_keeper(LLVMContextRef llvm); /* the callee of what hiaL_keep_context builds */
LLVMValueRef hiaL_safepoint_assembly(LLVMContextRef llvm); /* the assembly that compares */
LLVMValueRef hiaL_build_safepoint(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context);

#endif
