/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The graph: one representation from the checked program to the static tagged graph.
 *
 * A graph is a list of functions, in one of two states.
 *
 *   HIA_FUNCTIONS  each function is a tree of regions; a call is one n-ary `call` node, a branch an
 *                  `if` node with two regions, a loop a `loop` node with two. Values of an outer
 *                  region are used directly. The optimisation passes work in this state.
 *   HIA_STATIC     after tagging (hiaG_tag): each function is a section of the one static graph, a
 *                  flat list of nodes; calls are Call_i and Return_i nodes, tied together by site
 *                  records; branches are Switch and Merge, loops Enter, Merge, Switch,
 *                  NextIteration and Exit; regions remain as control contexts. This is tagged
 *                  static recursion (docs/design.md). Lowering and flattening read this state
 *                  only.
 *
 * One would expect nodes to be objects linked by pointers. But graphs are copied and compacted all
 * the time, and vectors grow. So nodes, values, regions and locations are 32-bit indices into
 * vectors, never pointers. A pointer to a hia_node must not be held across an append. Every value
 * is one word, a scalar or a reference: tuples are taken apart when a program becomes a graph, and
 * exist in signatures only.
 *
 * The order of the nodes is sequential order (docs/language.md, "Meaning"): within a region the
 * order of the list prev/next, where an `if` stands for its regions; in the static state the order
 * of indices. Nodes that can fail keep their order; therefore "the first failure" is well defined.
 *
 * While it is changed a graph belongs to one thread; several threads may read it. Its memory is its
 * compilation's arena. Errors leave by hiaR_throw. */
#ifndef HIA_GRAPH_H
#define HIA_GRAPH_H

#include "runtime/base/base.h"
#include "runtime/base/param.h"
#include "runtime/base/type.h"

typedef uint32_t hia_node_id, hia_value_id, hia_region_id, hia_fn_id, hia_site_id, hia_loc_id;

/* ---- types (type.c) ----
 *
 * Equal types are equal numbers: tuples and arrays are interned by what they consist of, data types
 * by name. */

typedef struct hia_types {
  hia_comp *comp;
  HIA_VEC(hia_type_entry) entries;
  hia_u32vec parts;
  HIA_VEC(hia_ctor) ctors;
  HIA_VEC(hia_ctor_field) fields;
  HIA_VEC(hia_word_place) places;
  HIA_VEC(char) names;
  hia_index index; /* of entries */
} hia_types;
static inline bool hiaG_is_scalar(hia_type t) { return hiaR_is_scalar(t); }
void hiaG_types_init(hia_types *types, hia_comp *comp);
/* All of it, until a type is added. */
hia_type_table hiaG_type_table(const hia_types *types);
bool hiaG_type_exists(const hia_types *types, hia_type type);
hia_type_kind hiaG_type_kind(const hia_types *types, hia_type type);
hia_type hiaG_tuple(hia_types *types, const hia_type *parts, uint32_t n); /* n >= 2 */
uint32_t hiaG_tuple_len(const hia_types *types, hia_type tuple);
hia_type hiaG_tuple_part(const hia_types *types, hia_type tuple, uint32_t i);
hia_type hiaG_array(hia_types *types, hia_type element);
hia_type hiaG_element(const hia_types *types, hia_type array);
/* Of rank 1 .. HIA_MAX_RANK; a type does not say the sizes. */
hia_type hiaG_tensor(hia_types *types, hia_dtype dtype, uint32_t rank);
/* The same if it has been made before, else NONE: no allocation. */
hia_type hiaG_tensor_made(const hia_types *types, hia_dtype dtype, uint32_t rank);
hia_dtype hiaG_tensor_dtype(const hia_types *types, hia_type tensor);
uint32_t hiaG_rank(const hia_types *types, hia_type type); /* of a tensor or, 0, of a scalar */
/* A tensor's, or the scalar type itself; HIA_N_DTYPES: the type is neither. */
hia_dtype hiaG_dtype(const hia_types *types, hia_type type);
/* The type of this rank: a tensor's or, of rank 0, the scalar's. */
hia_type hiaG_ranked(hia_types *types, hia_dtype dtype, uint32_t rank);

/* The data type of this name, at first without constructors, so that types can contain each other.
 * It has them from hiaG_data_define on, which is called once. */
typedef struct hia_ctor_def {
  const char *name;
  const char *const *field_names;
  const hia_type *field_types;
  uint32_t n_fields;
} hia_ctor_def;
hia_type hiaG_data(hia_types *types, const char *name);
/* A new one, whose name begins with `name`. */
hia_type hiaG_new_data(hia_types *types, const char *name, hia_arena *scratch);
bool hiaG_data_is_defined(const hia_types *types, hia_type data);
void hiaG_data_define(hia_types *types, hia_type data, const hia_ctor_def *ctors, uint32_t n);
/* Sets the sizes that the fields of a constructor declare, which so far has none: n of them, as in
 * hia_ctor. Must come before the type is copied to another table. */
void hiaG_data_sizes(hia_types *types, hia_type data, uint32_t number, const uint32_t *sizes,
                     uint32_t n);
/* True if these are the sizes. */
bool hiaG_data_has_sizes(const hia_types *types, hia_type data, uint32_t number,
                         const uint32_t *sizes, uint32_t n);
/* True if these are the constructors of the type, but for sizes. */
/* Marks a type and all that its values may lead to: marks[type - HIA_FIRST_TYPE]; no scalars. */
void hiaG_mark_parts(const hia_types *types, hia_type type, bool *marks);
/* True if its values are tensors, or may lead to some. */
bool hiaG_holds_tensors(const hia_types *types, hia_type type, hia_arena *scratch);
bool hiaG_data_is(const hia_types *types, hia_type data, const hia_ctor_def *ctors, uint32_t n);

uint32_t hiaG_type_words(const hia_types *types, hia_type type);
/* The same type in another table. Only `to` and its compilation are changed. */
hia_type hiaG_type_copy(hia_types *to, const hia_types *from, hia_type type);
/* Writes the types of its words, which are no tuples: hiaG_type_words of them. */
void hiaG_type_flatten(const hia_types *types, hia_type type, hia_type *out);
void hiaG_type_print(const hia_types *types, hia_type type, hia_text *out); /* as in the language */
/* The same, in the scratch memory of the types' compilation; "?" if there is no such type. */
const char *hiaG_type_text(const hia_types *types, hia_type type);
const char *hiaG_dtype_name(hia_dtype dtype);

/* ---- locations: where a node stands in the source, and where that was inlined ---- */

typedef struct hia_loc {
  uint32_t line, col; /* from 1; col counts bytes; 0, 0: nowhere */
  uint32_t fn;        /* name of the source function the position lies in: index into graph->names;
                         or that this is an operand, or an element (runtime/base/loc.h) */
  hia_loc_id parent;  /* the position of the call that was replaced by that function's body; NONE:
                         not inlined. The body of a tail call gets the call's parent, because the
                         call is not in the backtrace */
} hia_loc;

/* ---- nodes, values, regions ---- */

enum {                     /* hia_node.flags */
       HIA_NODE_TAIL = 1,  /* CALL, JOIN: absent from the backtrace: in tail position in the source,
                              or no call of the source */
       HIA_NODE_FREE = 4,  /* LOOP: none of the source: its rounds use up no fuel */
       HIA_NODE_BEGIN = 8, /* UNDEF, while functions are differentiated: begins the body of a call
                              that the gradient computes again */
       HIA_NODE_END = 16,  /* UNDEF: ends it */
       HIA_NODE_DEAD = 2,  /* removed from its list (function state); the index stays taken */
};

typedef struct hia_node {
  uint16_t op; /* enum hia_op */
  uint8_t flags;
  uint8_t pad;
  uint32_t ins, n_ins;    /* fn->edges[ins .. ins + n_ins): hia_value_id */
  uint32_t outs, n_outs;  /* values outs .. outs + n_outs, consecutive */
  hia_region_id region;   /* the region it stands in */
  hia_node_id prev, next; /* list in the region; HIA_NONE at the ends (function state) */
  hia_region_id regions;  /* the first of its regions, which are consecutive (hiaG_n_regions) */
  hia_loc_id loc;
  uint64_t imm; /* hia_imm of its op; two numbers: HIA_IMM(a, b), a in the lower half */
} hia_node;
#define HIA_IMM(a, b)  ((uint64_t)(uint32_t)(a) | (uint64_t)(uint32_t)(b) << 32)
#define HIA_IMM_A(imm) ((uint32_t)(imm))
#define HIA_IMM_B(imm) ((uint32_t)((imm) >> 32))

typedef struct hia_value_info { /* hia_value is the public API's */
  hia_node_id node;             /* the node that defines it */
  hia_type type;                /* no tuple */
} hia_value_info;

typedef enum hia_region_kind {
  HIA_REGION_BODY, /* of a function: region 0 */
  HIA_REGION_THEN,
  HIA_REGION_ELSE,  /* always the region after its THEN */
  HIA_REGION_HEAD,  /* of a loop: each round up to and including its condition */
  HIA_REGION_ROUND, /* the rest of a round; always the region after its HEAD, and its child:
                       values of the HEAD can be used in it */
  HIA_REGION_EACH,  /* of a map: computes one element. Function state only */
} hia_region_kind;

typedef struct hia_region {
  uint8_t kind;
  hia_region_id parent;    /* NONE for BODY */
  hia_node_id owner;       /* function state: the IF, LOOP or MAP; else NONE */
  hia_node_id first, last; /* function state: ends of the list, NONE when empty (the last is the
                              YIELD). Static state: the nodes first .. last - 1 lie in the region or
                              in one inside it; first == last: it is empty, and stands there */
  hia_value_id pred;       /* static state, THEN ELSE ROUND: the bool that decides; else NONE */
} hia_region;

/* ---- functions ---- */

/* What a node or a function may do besides computing its results (effects.c). Of a node in which
 * others are, and of what makes calls, this includes what these may do. A pass that removes, moves
 * or repeats something asks for these bits, not for ops by name. */
enum {
  HIA_E_RAISES = 1,     /* may fail */
  HIA_E_DIVERGES = 2,   /* may not end: loops, is recursive, or calls such a function */
  HIA_E_RECURSIVE = 4,  /* of functions alone: in a cycle of calls */
  HIA_E_COUNTS = 8,     /* counts calls and rounds: is made as often as the source says */
  HIA_E_IMPURE = 16,    /* calls impure functions of the host: is made once, in sequential order */
  HIA_E_ALLOCATES = 32, /* takes memory, of which there may not be enough */
  HIA_E_READS = 64,     /* reads an object */
  HIA_E_ONCE = 128,     /* runs exactly as often as it is written, and where it is written */
  HIA_E_GUARDED = 256,  /* makes sense only where a branch has led to it */
  HIA_E_HOST = 512,     /* calls functions of the host */
  HIA_E_FORKS = 1024,   /* lets a thief make a call */
  HIA_E_STRUCTURE =
      2048, /* is part of the structure: calls, branches, loops, and what moves tokens */

  /* What a call has of its callee. A function has the others only by its own nodes. */
  HIA_E_OF_CALLS = HIA_E_RAISES | HIA_E_DIVERGES | HIA_E_COUNTS | HIA_E_IMPURE,
};

enum { HIA_MAX_ROW_OPERANDS = 64 }; /* parameters of a segment */

typedef struct hia_fn {
  const char *name; /* instance name: unique in the graph, [A-Za-z0-9_(),. ]; "fib(i32)" */
  uint32_t source;  /* name in the source: index into graph->names; "fib" */
  hia_loc_id loc;   /* of its definition */
  bool is_root;     /* a host may call it: kept, with its signature */
  bool is_removed;  /* ignored by all passes; its index stays taken */
  uint16_t effects; /* HIA_E_ bits OF_CALLS, and RECURSIVE; by hiaG_effects */
  bool is_halving;  /* computes the elements of a map, in halves (passes/halve.c): not unrolled */
  bool is_apart;    /* collects a sum (passes/apart.c), which may take long */
  uint32_t group;   /* strongly connected component of the call graph, callees first */
  hia_fn_id slow_path; /* or NONE: returns the same for the same arguments, and is faster
                     where calls must be made. Instead of making a call, this
                     function may jump to it (passes/unroll.c) */
  hia_fn_id gradient;  /* or NONE: the function that computes its gradient (hiaG_own_gradient), in
                          place of those that the pass `grad` would make; until that pass */
  bool is_recomputed;  /* a gradient keeps the arguments of its calls alone, and makes them again.
                          Behind the pass `grad`: not inlined, else both calls would be one */
  bool *owns; /* by parameter: the function owns its reference, and not the caller; NULL: none */
  hia_fn_id owning_of; /* or NONE: the function that borrows of which this one is the owning version
                          (refs/refs.c); behind the pass `refs` */
  hia_dims *rows; /* of a segment (batch.h): the shape of a row, of each parameter and each result;
                     else NULL */
  hia_type *params, *results; /* flattened: no tuples */
  uint32_t n_params, n_results;
  hia_type *sig_params, sig_result; /* as in the source, tuples whole; roots only */
  uint32_t n_sig_params;

  HIA_VEC(hia_node) nodes;
  HIA_VEC(hia_value_info) values;
  HIA_VEC(hia_region) regions; /* 0 is the BODY */
  hia_u32vec edges;
} hia_fn;

/* A call site of the static graph. Its Call_i are the nodes calls .. calls + n_calls, one per
 * parameter of the callee; its Return_i are the nodes returns .. returns + n_returns, one per
 * result. All stand in section `caller`, in one region, the Return_i right behind the Call_i. For a
 * callee without parameters there is one Call_i without operand: the control token. */
typedef struct hia_site {
  hia_fn_id caller, callee;
  hia_node_id calls, returns;
  uint32_t n_calls, n_returns;
  bool is_tail;
  hia_loc_id loc;
  hia_site_id partner; /* room for differentiation: the site it is paired with, or NONE */
} hia_site;

/* A function of the host that HOST nodes call. */
typedef struct hia_extern {
  const char *name;
  bool is_impure;
  bool raises;                  /* it may return a failure */
  hia_fn_id gradient;           /* as of a hia_fn */
  hia_type *sig_params, result; /* as in the source */
  uint32_t n_sig_params;
  hia_type *params, *results; /* flattened: no tuples */
  uint32_t n_params, n_results;
} hia_extern;

/* A tensor whose elements the program states. */
typedef struct hia_tensor_literal {
  hia_dtype dtype;
  hia_dims shape; /* numbers; rank 1 or more */
  uint64_t size;  /* of the elements, in bytes */
  char *elements; /* as they lie in a tensor */
} hia_tensor_literal;

/* A gradient that GRAD nodes compute: of the result of a function, which is one float, with respect
 * to some of its parameters and of the params of the program. These are scalars and tensors of
 * floats. */
typedef struct hia_wrt {
  bool is_param; /* of the program */
  bool is_sum;   /* a param's, of a tensor: the gradient is not collected (graph/ir/sums.h) */
  uint32_t i;    /* index into graph->params, or into fn->params */
} hia_wrt;
typedef struct hia_gradient_of {
  hia_fn_id fn;
  bool has_value; /* the result of the function is wanted, too */
  uint32_t n;     /* 1 or more */
  hia_wrt *wrt;   /* none of them twice */
} hia_gradient_of;

typedef enum hia_graph_state { HIA_FUNCTIONS, HIA_STATIC } hia_graph_state;

typedef struct hia_graph {
  hia_comp *comp; /* arena and errors */
  hia_types *types;
  hia_graph_state state;
  const char *file; /* name of the source, for messages; "" if there is none */
  HIA_VEC(hia_fn *) fns;
  HIA_VEC(const char *) names;
  HIA_VEC(hia_loc) locs;
  HIA_VEC(hia_site) sites; /* static state; by caller, then by position */
  HIA_VEC(hia_extern) externs;
  HIA_VEC(hia_param_spec) params;       /* what PARAM nodes read; those of a program, all of them */
  HIA_VEC(hia_tensor_literal) literals; /* what LITERAL nodes are; never changed */
  hia_text *batches; /* the pass `batch` adds what it has found; NULL: it does not */
  hia_text *tapes;   /* the pass `grad` adds what tapes keep, and why; NULL: it does not */
  HIA_VEC(hia_gradient_of) gradients; /* what GRAD nodes compute; never changed */
  hia_index name_index, loc_index;
  /* From text: that is of a user. It is well formed, but what passes guarantee does not hold: a
   * FIELD may name a wrong constructor, a FILL be out of range, a tensor that is pending be read.
   * So the engines test that. Counts of references are made anew (refs/forget.c). */
  bool is_read;
  bool has_refs;     /* the pass `refs` has counted the references of all functions */
  bool is_counted;   /* has COUNT nodes: passes must keep the number of their firings */
  bool is_unrolled;  /* some recursion was unrolled */
  bool batches_all;  /* hiaG_batch takes products with all params, and not only with large ones */
  bool merges_calls; /* hiaG_merge has run: a pass that brings equal calls together merges them */
} hia_graph;

/* ---- graph.c: making and changing ---- */

hia_graph *hiaG_new(hia_comp *comp, hia_types *types, const char *file);
uint32_t hiaG_name(hia_graph *g, const char *name); /* interned */
/* Interned too: the same position with the same parent has the same index. */
hia_loc_id hiaG_loc(hia_graph *g, uint32_t line, uint32_t col, uint32_t fn_name, hia_loc_id parent);

/* A new function. Its body region has the ARG nodes and nothing else. */
hia_fn_id hiaG_fn_new(hia_graph *g, const char *name, uint32_t source, hia_loc_id loc,
                      const hia_type *params, uint32_t n_params, const hia_type *results,
                      uint32_t n_results);
/* A name that no function has which is still there: `of` with `suffix`, perhaps several times. (A
 * graph that was read may contain any name.) */
const char *hiaG_new_name(hia_graph *g, const char *of, const char *suffix);
static inline hia_fn *hiaG_fn(const hia_graph *g, hia_fn_id id) { return g->fns.data[id]; }
/* A loop over the functions that are not removed. Those that its body adds are met, too. */
#define HIA_EACH_FN(g, f)                                                                          \
  for (hia_fn_id f = hiaG_next_fn(g, 0); f < (g)->fns.len; f = hiaG_next_fn(g, f + 1))
/* A loop over those of the first n functions. Functions that its body adds are not met. */
#define HIA_EACH_FN_BELOW(g, n, f)                                                                 \
  for (hia_fn_id f = hiaG_next_fn(g, 0); f < (n); f = hiaG_next_fn(g, f + 1))
static inline hia_fn_id hiaG_next_fn(const hia_graph *g, hia_fn_id f) {
  while (f < g->fns.len && g->fns.data[f]->is_removed) f++;
  return f;
}

/* A new function of the host; no other may have its name. Names and types are copied. */
uint32_t hiaG_extern_new(hia_graph *g, const char *name, bool is_impure, bool raises,
                         const hia_type *params, uint32_t n_params, hia_type result);
/* "extern impure fn roll(i32) -> i32": two externs whose texts are equal have one declaration. */
void hiaG_extern_print(const hia_types *types, const char *name, bool is_impure,
                       const hia_type *params, uint32_t n_params, hia_type result, hia_text *out);

/* A new param, which is sound; no other may have its name, which is copied. */
uint32_t hiaG_param_new(hia_graph *g, const hia_param_spec *spec);
/* The type of its value. */
hia_type hiaG_param_type(hia_types *types, const hia_param_spec *spec);

/* A new literal, whose elements are all 0: the caller puts them there. HIA_NONE: no memory could
 * hold it. */
uint32_t hiaG_literal_new(hia_graph *g, hia_dtype dtype, const hia_dims *shape);
static inline uint64_t hiaG_literal_len(const hia_tensor_literal *literal) {
  return literal->size / hiaR_reprs[literal->dtype].size;
}
static inline hia_word hiaG_literal_get(const hia_tensor_literal *literal, uint64_t i) {
  return hiaR_load((hia_repr)literal->dtype,
                   literal->elements + i * hiaR_reprs[literal->dtype].size);
}
static inline void hiaG_literal_put(hia_tensor_literal *literal, uint64_t i, hia_word word) {
  hiaR_store((hia_repr)literal->dtype, literal->elements + i * hiaR_reprs[literal->dtype].size,
             word);
}

/* A new gradient; `wrt` is copied. */
uint32_t hiaG_gradient_new(hia_graph *g, hia_fn_id fn, bool has_value, const hia_wrt *wrt,
                           uint32_t n);
/* The type of the gradient with respect to one of these. */
hia_type hiaG_wrt_type(const hia_graph *g, hia_fn_id fn, const hia_wrt *wrt);

/* Appends a node at the end of a region, and returns it. Its results are hiaG_out(fn, node, i);
 * `out_types` has n_outs entries. Its regions are made too, empty; the caller adds the
 * ARGs of a HEAD or an EACH, before all other nodes. In the static state nodes are not linked, and
 * the caller sets the bounds of regions. */
hia_node_id hiaG_add(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                     uint32_t n_outs, uint64_t imm, hia_loc_id loc);
/* The same, before node `at` of the same region (function state). */
hia_node_id hiaG_insert(hia_graph *g, hia_fn *fn, hia_node_id at, unsigned op,
                        const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                        uint32_t n_outs, uint64_t imm, hia_loc_id loc);
/* The regions of a node: two of an `if` or a `loop`, one of a `map`. */
static inline uint32_t hiaG_n_regions(unsigned op) {
  return op == HIA_OP_IF || op == HIA_OP_LOOP ? 2 : op == HIA_OP_MAP;
}
/* op_type.c: the type of the result of an op that computes, on n operands of these types. `result`:
 * of CAST and ONE_HOT the dtype of the result; else it is not looked at. HIA_NONE: the op does not
 * take such operands. hiaG_op_rank is the rank alone, of scalars and tensors. */
hia_type hiaG_op_type(hia_types *types, unsigned op, uint64_t imm, const hia_type *ins, uint32_t n,
                      hia_dtype result);
uint32_t hiaG_op_rank(const hia_types *types, unsigned op, uint64_t imm, const hia_type *ins,
                      uint32_t n);
/* The type that dtype and rank of operand i are taken from: that of the elements of the array that
 * PACK takes, of the tensor that a sum of COLLECT becomes; else its own. */
hia_type hiaG_ranked_operand(const hia_types *types, unsigned op, uint32_t i, hia_type type);
/* Shorthands that append: one result, its type that of hiaG_op_type. hiaG_op is for ops without an
 * immediate whose operands say it all. */
hia_value_id hiaG_computed(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                           const hia_value_id *ins, uint32_t n_ins, hia_dtype result, uint64_t imm,
                           hia_loc_id loc);
hia_value_id hiaG_op(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, hia_loc_id loc);
hia_value_id hiaG_const(hia_graph *g, hia_fn *fn, hia_region_id region, hia_type type,
                        hia_word word, hia_loc_id loc);
void hiaG_yield(hia_graph *g, hia_fn *fn, hia_region_id region, const hia_value_id *ins,
                uint32_t n);

/* Function state: leaves a function without a body but for its ARGs; the value of parameter i is i.
 * The old vectors are not changed, so a copy of *fn remains valid. */
void hiaG_clear_body(hia_graph *g, hia_fn *fn);
/* Function state: removes a node (with its regions) from its list. Its values must be unused. */
void hiaG_remove(hia_fn *fn, hia_node_id node);
/* Replaces operands everywhere in the function: value v by map[v] where map[v] != HIA_NONE. Chains
 * of replacements are followed, and `map` is left with their ends. It has one entry per value. */
void hiaG_substitute(hia_fn *fn, hia_value_id *map);
/* Replaces the contents of *fn by a compact copy without dead nodes, in order of definition:
 * indices become dense, and the text form canonical. The old vectors are not changed, so another
 * copy of *fn remains valid. */
void hiaG_compact(hia_graph *g, hia_fn *fn);
/* Copies the nodes of a region of `from`, except its ARG nodes and its YIELD, into `to`: before
 * node `at` of a region, or at the end of `region` if `at` is NONE. `map` has an entry per value of
 * `from`. On entry it has the replacements of outer values and ARGs (NONE, in a copy within one
 * function: the value itself); on return also the copies. So the yielded values are map[...] of the
 * YIELD's operands. Locations become children of `parent_loc` unless that is NONE. `to` may be
 * `from`. */
void hiaG_copy_region(hia_graph *g, hia_fn *to, hia_region_id region, hia_node_id at,
                      const hia_fn *from, hia_region_id from_region, hia_value_id *map,
                      hia_loc_id parent_loc);

/* The function that a CALL, FORK or JOIN calls. */
static inline hia_fn_id hiaG_callee(const hia_node *node) { return HIA_IMM_A(node->imm); }
/* What a GRAD computes. */
static inline const hia_gradient_of *hiaG_gradient_of(const hia_graph *g, const hia_node *node) {
  return &g->gradients.data[node->imm];
}
/* The function that a node calls; of a GRAD the one that is differentiated. NONE: it is none of
 * these nodes. Function state. */
hia_fn_id hiaG_called(const hia_graph *g, const hia_node *node);

static inline hia_value_id hiaG_in(const hia_fn *fn, hia_node_id n, uint32_t i) {
  return fn->edges.data[fn->nodes.data[n].ins + i];
}
static inline hia_value_id hiaG_out(const hia_fn *fn, hia_node_id n, uint32_t i) {
  return fn->nodes.data[n].outs + i;
}
static inline hia_node *hiaG_def(const hia_fn *fn, hia_value_id v) {
  return &fn->nodes.data[fn->values.data[v].node];
}
static inline hia_type hiaG_type(const hia_fn *fn, hia_value_id v) {
  return fn->values.data[v].type;
}
bool hiaG_is_const(const hia_fn *fn, hia_value_id v, hia_word *word);
/* True for ops whose results are there wherever they are needed, and take part in no counting: they
 * are the same in all tags of a run. */
static inline bool hiaG_is_constant(unsigned op) {
  return op == HIA_OP_CONST || op == HIA_OP_UNDEF || op == HIA_OP_PARAM || op == HIA_OP_LITERAL;
}
/* The dtype at which the op of a node is: it selects the kernel (see hiaR_kernel). */
hia_dtype hiaG_node_dtype(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* How a node computes its result: as an op on scalars does, of operands that are scalars; */
bool hiaG_is_scalar_op(const hia_fn *fn, hia_node_id n);
/* or as an op that takes tensors, or makes them: an operation (runtime/heap/operation.h). */
bool hiaG_is_operation(const hia_fn *fn, hia_node_id n);
/* True if the references of the node's operands are handed over to it, in graphs with counts. */
bool hiaG_consumes(const hia_fn *fn, hia_node_id n);
/* True if some value of the graph is not a scalar. */
bool hiaG_has_references(const hia_graph *g);
/* True if the graph has a node of one of these ops, first to last. */
bool hiaG_has_op(const hia_graph *g, unsigned first, unsigned last);
/* True if a parameter or a result of the function is not a scalar. */
bool hiaG_exchanges_references(const hia_fn *fn);

/* Items by key: those with key k are items[start[k]] .. items[start[k + 1] - 1], in their order. */
typedef struct hia_buckets {
  uint32_t *start, *items;
} hia_buckets;
/* n items, whose keys are below n_keys; one with the key NONE is left out. values[i], or i if there
 * are no values, is what stands for item i. */
hia_buckets hiaG_buckets(hia_arena *arena, uint32_t n_keys, uint32_t n, const uint32_t *keys,
                         const uint32_t *values);

/* ---- effects.c: HIA_E_ bits ---- */

/* The effects of a node. Division by a constant that is not 0 or -1 cannot fail. Requires
 * hiaG_effects: the callee's are those of its function. */
uint16_t hiaG_node_effects(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* The same without the nodes inside it. */
uint16_t hiaG_own_effects(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* True if the node has one of these effects. */
bool hiaG_node_does(const hia_graph *g, const hia_fn *fn, hia_node_id n, unsigned any_of);
/* True if the node may be removed when its results are unused. */
bool hiaG_node_removable(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* True if the node may be moved up to any place behind its operands, and run where it did not: it
 * computes its results from scalars, and does nothing else. */
bool hiaG_node_movable(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* By function, in either state: what it may do, itself or by its calls. In `arena`, with
 * all that finding them takes. Requires nothing: the effects that functions have are not looked at.
 */
uint16_t *hiaG_find_effects(const hia_graph *g, hia_arena *arena);

/* ---- scc.c ----
 * Strongly connected components (Tarjan 1972) of n nodes; the edges of node i are
 * edges[first[i] .. first[i + 1]). Writes the component of each node, numbered so that edges lead
 * to lower ones; returns their number. */
uint32_t hiaG_scc(hia_arena *arena, uint32_t n, const uint32_t *first, const uint32_t *edges,
                  uint32_t *component);

/* ---- rewrite.c: what the passes share (function state) ---- */

/* The node after n in sequential order, NONE at the end of the function: walk_next enters the
 * regions of n, walk_over passes over them. A walk begins at the first node of region 0. */
hia_node_id hiaG_walk_next(const hia_fn *fn, hia_node_id n);
hia_node_id hiaG_walk_over(const hia_fn *fn, hia_node_id n);
/* A loop over all nodes of a function in sequential order. Nodes that its body adds behind n are
 * met too; the body must not remove n. */
#define HIA_EACH_NODE(fn, n)                                                                       \
  for (hia_node_id n = (fn)->regions.data[0].first; n != HIA_NONE; n = hiaG_walk_next(fn, n))
/* A loop over the nodes that stand in a region themselves, in their order. */
#define HIA_EACH_IN(fn, region, n)                                                                 \
  for (hia_node_id n = (fn)->regions.data[region].first; n != HIA_NONE;                            \
       n = (fn)->nodes.data[n].next)
/* A loop over the ARGs of a region, which are its first nodes. */
#define HIA_EACH_ARG(fn, region, n)                                                                \
  for (hia_node_id n = (fn)->regions.data[region].first;                                           \
       n != HIA_NONE && (fn)->nodes.data[n].op == HIA_OP_ARG; n = (fn)->nodes.data[n].next)
hia_node_id hiaG_yield_of(const hia_fn *fn, hia_region_id region); /* its YIELD */

/* Values that a pass replaces by others while it walks (scratch memory). Because definitions come
 * before uses, it is enough to rewrite the operands of each node when the walk reaches it. */
typedef struct hia_subst {
  hia_arena *arena;
  hia_u32vec to; /* by value, NONE: stays; shorter than fn->values if values were added since */
} hia_subst;
hia_subst hiaG_subst(hia_graph *g, const hia_fn *fn);
void hiaG_replace(hia_subst *s, hia_value_id v, hia_value_id by);
hia_value_id hiaG_resolve(hia_subst *s, hia_value_id v);
void hiaG_rewrite_ins(hia_subst *s, hia_fn *fn, hia_node_id n);
/* New operands for a node; `ins` may point into fn->edges only if there are no more than before. */
void hiaG_set_ins(hia_graph *g, hia_fn *fn, hia_node_id n, const hia_value_id *ins, uint32_t n_ins);
/* New results for a node; the old ones must be unused. */
void hiaG_set_outs(hia_graph *g, hia_fn *fn, hia_node_id n, const hia_type *types, uint32_t n_outs);

/* Moves the nodes of region `from`, except its ARGs and its YIELD, before node `at` of region `to`
 * (NONE: to its end). Returns the first of them, or `at` if there are none. */
hia_node_id hiaG_splice(hia_fn *fn, hia_region_id from, hia_region_id to, hia_node_id at);

/* Moves a node, with its regions, before another of the same region. */
void hiaG_move(hia_fn *fn, hia_node_id n, hia_node_id at);

/* ---- region_order.c: the regions of a static section in the order of its nodes ----
 * Each region except the body begins once and ends once, before node `at`. Where several begin or
 * end at one node (some are empty), their order is that of the tree they form: an ELSE follows its
 * THEN, a ROUND ends its HEAD. Returns the number of edges. If the regions do not form such a tree
 * (the verifier checks that), there are fewer than two per region, or positions decrease. */
typedef struct hia_context_edge {
  hia_node_id at;
  hia_region_id region;
  bool is_end;
} hia_context_edge;
uint32_t hiaG_contexts(hia_arena *arena, const hia_fn *fn, hia_context_edge **edges);

/* ---- verify.c ----
 * NULL if the graph is well formed in its state; else the defect, with the node in text form
 * (memory of the graph's arena). The reader's input comes from users, so nothing is assumed.
 * Checked are: indices are in range, lists are sound, each value is defined before it is used and
 * visible where it is used, types follow the ops' rules, each region ends with its one YIELD, sites
 * and their nodes agree, and the tag discipline holds (a value enters a branch by a Switch and a
 * loop by an Enter, and leaves them by a Merge or an Exit; a CONST is used only in its region). */
const char *hiaG_verify(hia_graph *g);
typedef struct hia_defect {
  hia_fn_id fn;     /* NONE: of the graph */
  hia_node_id node; /* NONE: of the function */
  const char *message;
} hia_defect;
bool hiaG_find_defect(hia_graph *g, hia_defect *defect); /* the same, with its place; false: none */

/* ---- print.c, read.c, dot.c: the text form (docs/ir.md) ----
 * Reading what was printed and printing it again gives the same bytes, in both states. hiaG_print
 * numbers values in the order of the text, hiaG_print_node shows indices; in a compact graph these
 * are the same. `out` must not be in the compilation's scratch arena. */
void hiaG_print(const hia_graph *g, hia_text *out);
void hiaG_print_node(const hia_graph *g, const hia_fn *fn, hia_node_id n, hia_text *out);
void hiaG_dot(const hia_graph *g, hia_text *out);
/* Adds text, escaped for double quotes in DOT. */
void hiaG_dot_escape(const char *text, hia_text *out);
typedef struct hia_read_error {
  uint32_t line, col;
  const char *message; /* NULL: none */
} hia_read_error;
/* Reads a graph and verifies it. On bad input returns NULL, and sets *error. */
hia_graph *hiaG_read(hia_comp *comp, hia_types *types, const char *text, size_t len,
                     hia_read_error *error);

/* ---- pass.c: the pipeline ---- */

typedef enum hia_pass_scope { HIA_PASS_FN, HIA_PASS_GRAPH } hia_pass_scope;
typedef enum hia_pass_use {
  HIA_USE_ALL,
  HIA_USE_NATIVE,   /* only for a graph that becomes native code */
  HIA_USE_PARALLEL, /* only for a graph that becomes native code for several workers */
} hia_pass_use;
typedef enum hia_pass_for {
  HIA_FOR_ALL,
  HIA_FOR_TRAPS,   /* only for a graph in which operations that make NaN fail */
  HIA_FOR_FUEL,    /* only for one that is to run with fuel, */
  HIA_FOR_STREAMS, /* or with streams */
  HIA_FOR_BATCHES, /* only for one that may compute operations later, and several at a time */
} hia_pass_for;
typedef struct hia_pass {
  const char *name, *doc;
  hia_pass_scope scope;
  union {
    void (*fn)(hia_graph *g, hia_fn *fn);
    void (*graph)(hia_graph *g);
  } run;
  bool is_required; /* cannot be switched off */
  hia_pass_use use;
  bool is_cheap;         /* not left out when the compilation is late */
  hia_pass_for versions; /* if not ALL, it cannot be switched off */
} hia_pass;
extern const hia_pass hiaG_passes[]; /* in pipeline order; ends with a NULL name; a pass that runs
                                        twice has two rows, "cse" and "cse.2" */
typedef struct hia_pass_options {
  const char *disabled;   /* names separated by commas ("cse" means cse.2 too), "all", or NULL */
  const char *stop_after; /* a name, or NULL: run them all */
  hia_pass_use use;       /* what becomes of the graph */
  hia_batching batch;     /* of operations on tensors; none with fuel or traps */
  bool trap_nan;          /* operations that make NaN fail: hiaG_cannot_trap has returned NULL */
  bool fuel;              /* it is to run with fuel: hiaG_cannot_fuel has returned NULL */
  bool streams;           /* with streams as arguments: hiaG_cannot_stream has returned NULL */
  bool verify;            /* between passes; a defect throws INTERNAL with the graph's text */
  void (*after)(void *user, const char *pass, const hia_graph *g, uint64_t nanoseconds);
  void *user;
} hia_pass_options;
/* Runs the pipeline. The last pass is tagging: the graph is then HIA_STATIC, unless stopped. A
 * static graph that was read runs through what follows optimisation: its references are counted
 * anew. */
void hiaG_run_passes(hia_graph *g, const hia_pass_options *options);
bool hiaG_pass_exists(const char *name, size_t len);
void hiaG_run_pass(hia_graph *g, const hia_pass *pass); /* one row, on all functions */

/* result_names.c: by result of a root, the name that it has in a file: that of the param whose
 * gradient it is, or `value`; NULL: none follows from what it is. Names belong to the graph, the
 * list to the arena. Before any pass; of a static graph there are none. */
const char *const *hiaG_result_names(const hia_graph *g, hia_fn_id root, hia_arena *arena);

/* The passes. The head of each file says what the pass requires, and what it keeps valid. */
/* By function, g->params.len flags each: the params, of those that are wanted, that it may read,
 * itself or by its calls. */
bool *hiaG_params_read(const hia_graph *g, const bool *wanted, hia_arena *arena);
/* True if a call of a function of the host has no gradient. One of integers is constant. */
bool hiaG_extern_lacks_gradient(const hia_extern *e);
/* step.c: of which params a root can be trained: those that it may read; why it cannot be, or NULL;
 * and the first function of the host that it may call and that has no gradient, or NULL. */
const bool *hiaG_params_read_by(const hia_graph *g, hia_fn_id f, hia_arena *arena);
const char *hiaG_cannot_step(const hia_graph *g, hia_fn_id f);
const hia_extern *hiaG_lacks_gradient(const hia_graph *g, hia_fn_id f, hia_arena *scratch);
/* Adds a root with the parameters of `loss`, a root whose result is one float. It gives the
 * loss and the gradients of the wanted params, in order: of a scalar the gradient; of a tensor the
 * rows that have one (op TOUCHED) and the gradient of these. The other roots are roots no more. */
hia_fn_id hiaG_step(hia_graph *g, hia_fn_id loss, const bool *wanted);
/* The types of these results, after the loss. Returns how many there are; `out` may be NULL. */
uint32_t hiaG_step_types(hia_types *types, const hia_param_spec *params, uint32_t n,
                         const bool *wanted, hia_type *out);
/* Adds such a root, which gives the result of `of` and whole gradients of what is wanted, n of
 * them, one or more, none a sum. */
hia_fn_id hiaG_gradient_root(hia_graph *g, hia_fn_id of, const hia_wrt *wrt, uint32_t n);
bool hiaG_has_gradients(const hia_graph *g);
/* ir/own_gradient.c: the function that computes the gradient of a function or of an extern, "its own".
 * That has the parameters, then a gradient of each result that is a float or a tensor of floats,
 * and then, if it takes them, the results; its results are the gradients of those parameters that
 * are floats or tensors of floats. Nothing flows to the others. */
typedef struct hia_own {
  hia_fn_id gradient; /* NONE: there is none */
  bool takes_results;
} hia_own;
hia_own hiaG_own_gradient(const hia_graph *g, const hia_node *call); /* of a CALL or HOST */
hia_own hiaG_own_of_fn(const hia_graph *g, const hia_fn *fn);
bool hiaG_has_own_gradient(const hia_graph *g, const hia_node *call);
/* True if the function has such parameters and results. */
bool hiaG_fits_as_gradient(const hia_graph *g, hia_fn_id gradient, const hia_type *params,
                           uint32_t n_params, const hia_type *results, uint32_t n_results);
/* True if it is an f32, an f64, or a tensor of these. */
bool hiaG_is_of_floats(const hia_types *types, hia_type type);
void hiaG_grad(hia_graph *g);     /* grad.c: gradients become calls of functions */
void hiaG_fuel(hia_graph *g);     /* fuel.c: calls, rounds and tensors use up fuel */
void hiaG_streams(hia_graph *g);  /* streams.c: arrays in the roots' arguments may be streams */
void hiaG_effects(hia_graph *g);  /* effects.c: effects and groups of functions */
void hiaG_elements(hia_graph *g); /* elements.c: failures say of which element they are */
/* True if an ELEMENT node is of use: what follows it in its region may fail. */
bool hiaG_element_matters(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* scc.c: marks every function that has a marked one among its callees, directly or further down.
 * The callees of f are callees[first[f]] .. callees[first[f + 1] - 1]. */
void hiaG_spread_to_callers(hia_arena *scratch, uint32_t n, const uint32_t *first,
                            const uint32_t *callees, bool *marks);
void hiaG_fold(hia_graph *g, hia_fn *fn); /* passes/fold.c: constants, identities, known branches */
void hiaG_cse(hia_graph *g, hia_fn *fn);  /* passes/cse.c: value numbering */
void hiaG_dce(hia_graph *g, hia_fn *fn);  /* passes/dce.c: dead nodes */
void hiaG_copy(hia_graph *g, hia_fn *fn); /* passes/copy.c: copy propagation */
/* Replaces a call by a copy of the body of `callee`, which is not `fn`. */
void hiaG_inline_call(hia_graph *g, hia_fn *fn, hia_node_id call, const hia_fn *callee,
                      hia_subst *subst);
void hiaG_inline(hia_graph *g);       /* passes/inline.c: small non-recursive functions */
void hiaG_inline_loops(hia_graph *g); /* passes/inline.c: functions that have become loops */
void hiaG_batch(hia_graph *g);        /* batch.c: tensor operations for many activations */
void hiaG_halve(hia_graph *g);        /* passes/halve.c: maps that other workers may share */
void hiaG_apart(hia_graph *g);        /* passes/apart.c */
/* map.c: what compares the elements of a map, directly in its region, looks at this array. */
void hiaG_compare_shapes(hia_graph *g, hia_fn *fn, hia_region_id each, hia_value_id array);
void hiaG_fill(hia_graph *g);              /* map.c: maps to loops that fill arrays */
void hiaG_map(hia_graph *g);               /* map.c: maps to loops that set elements */
void hiaG_pair(hia_graph *g);              /* passes/pair.c: two rounds of a loop in one */
void hiaG_fork(hia_graph *g);              /* passes/fork.c: calls that another worker may make */
void hiaG_merge(hia_graph *g);             /* passes/merge.c: equal calls are made once */
void hiaG_sink(hia_graph *g, hia_fn *fn);  /* passes/sink.c: what follows a branch, into its arms */
void hiaG_cons(hia_graph *g);              /* passes/cons.c: tail recursion modulo constructors */
void hiaG_unroll(hia_graph *g);            /* passes/unroll.c: recursive inlining */
void hiaG_reads(hia_graph *g, hia_fn *fn); /* passes/reads.c: elements are read before set */
void hiaG_fuse(hia_graph *g);              /* passes/fuse.c: elementwise operations in one loop */
void hiaG_refs(hia_graph *g);              /* refs/refs.c: counts of references */
/* refs/forget.c: takes the counts of references out of function graphs that were read from text. */
void hiaG_forget_counts(hia_graph *g);
bool hiaG_has_counts(const hia_graph *g); /* True if some of its nodes count. */
/* True if results are put at addresses (passes/cons.c). */
bool hiaG_has_destinations(const hia_graph *g);
void hiaG_tail(hia_graph *g); /* passes/tail.c: tail calls of a group to loops */
void hiaG_trap(hia_graph *g); /* trap.c: operations that make NaN fail */
/* Why operations that make NaN cannot fail in this graph ("it is ..."), or NULL. */
const char *hiaG_cannot_trap(const hia_graph *g);
/* Why a graph cannot be run with fuel ("it is ..."), or NULL. */
const char *hiaG_cannot_fuel(const hia_graph *g);
/* Why the arrays that are arguments of its roots cannot be streams ("it ..."), or NULL. Uses the
 * scratch arena. */
const char *hiaG_cannot_stream(const hia_graph *g);
/* Adds a root that takes streams where `root` takes arrays of data, and else computes the same;
 * HIA_NONE if its arrays cannot be streams. Uses the scratch arena. streams.c. */
hia_fn_id hiaG_stream_version(hia_graph *g, hia_fn_id root);
/* Merges equal calls of one function, and leaves it not compact; calls it adds are new nodes.
 * False: no calls were equal. */
bool hiaG_merge_in(hia_graph *g, hia_fn *fn);
/* How many of the calls of a region that could be forked are. */
typedef enum hia_fork_density {
  HIA_FORK_ALL,
  HIA_FORK_ONE_A_REGION, /* in unrolled recursion, where each inner level pays for its forks */
} hia_fork_density;
/* Forks calls of one function that has no forks, and leaves it not compact; the calls for forks
 * that no thief took are new nodes. False: there was nothing to fork. */
bool hiaG_fork_in(hia_graph *g, hia_fn *fn, hia_fork_density density);
/* Numbers the forks of a function anew, after bodies with forks were copied into it. Forks nest,
 * and a join comes right behind the end of its fork. */
void hiaG_number_forks(hia_graph *g, hia_fn *fn);
void hiaG_sweep(hia_graph *g); /* passes/sweep.c: functions that no root reaches */
void hiaG_tag(hia_graph *g);   /* tag.c: the tagging transformation */
void hiaG_untag(hia_graph *g); /* untag.c: its inverse */

/* ---- plain.c ---- */

/* Why a function of a static graph cannot be a plain function (one of C, called without a context
 * and a status). NULL if it can; then *levels is the most frames that it has on the stack at once.
 */
const char *hiaG_not_plain(const hia_graph *g, hia_fn_id f, hia_arena *scratch, uint32_t *levels);
/* True if a function of a static graph could be a plain function but for its failures. */
bool hiaG_ends_soon(const hia_graph *g, hia_fn_id f, hia_arena *scratch);

/* ---- flatten.c: static graph to image (runtime/image/image.h) ----
 * `image` is memory of the graph's arena, 8-aligned. */
void hiaG_flatten(hia_graph *g, void **image, size_t *size);

#endif
