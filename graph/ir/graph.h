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
 * compilation's arena. Errors leave by hiaR_throw.
 *
 * The headers of this folder:
 *
 *   types.h     types            build.h         graphs, made          print.h       text and DOT
 *   graph.h     the data         change.h        function bodies, changed
 *   walk.h      the order        op_type.h       what ops give         sums.h        the type Sum
 *   scc.h       groups, buckets  region_order.h  regions of sections   own_gradient.h */
#ifndef HIA_GRAPH_H
#define HIA_GRAPH_H

#include "graph/ir/types.h"
#include "runtime/base/base.h"
#include "runtime/base/param.h"
#include "runtime/base/type.h"

typedef uint32_t hia_node_id, hia_value_id, hia_region_id, hia_fn_id, hia_site_id, hia_loc_id;

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

enum { /* hia_node.flags */
       /* CALL, JOIN: absent from the backtrace: in tail position in the source, or no call of the
          source. */
       HIA_NODE_TAIL = 1,
       /* Removed from its list (function state); the index stays taken. */
       HIA_NODE_DEAD = 2,
       /* LOOP: it is not in the source, so its rounds use up no fuel. */
       HIA_NODE_FREE = 4,
       /* UNDEF, while functions are differentiated: BEGIN and END enclose the body of a call that
        * the gradient computes again. */
       HIA_NODE_BEGIN = 8,
       HIA_NODE_END = 16,
       /* PACK, SUM, COLLECT, within the pass `batch`: of the case in which a run waits, next to
        * others in which it does not. */
       HIA_NODE_WAITS = 32,
       /* Within the pass `batch`. PACK, EXPECT: the elements of the array, or the tensor, have the
        * sizes that are stated. Others: a guard stands before them. */
       HIA_NODE_SIZED = 64,
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

/* The first parameters of a function that computes elements of a map (is_halving): the array, and
 * the ends of the range. Then come the values from outside that the map's body uses. It returns how
 * many elements it has filled. */
enum { HIA_RANGE_ARRAY, HIA_RANGE_FROM, HIA_RANGE_TO, HIA_RANGE_REST };

enum { HIA_MAX_ROW_OPERANDS = 64 }; /* parameters of a segment */

typedef struct hia_fn {
  const char *name; /* instance name: unique in the graph, [A-Za-z0-9_(),. ]; "fib(i32)" */
  uint32_t source;  /* name in the source: index into graph->names; "fib" */
  hia_loc_id loc;   /* of its definition */
  bool is_root;     /* a host may call it: kept, with its signature */
  bool is_removed;  /* ignored by all passes; its index stays taken */
  uint16_t effects; /* HIA_E_ bits OF_CALLS, and RECURSIVE; by hiaG_effects */
  bool
      is_halving; /* computes elements of a map, those of a range (passes/ranges.c): not unrolled */
  bool is_freezing; /* is_halving, in order; other functions call it through the runtime, which may
                       freeze iterations (batch/each.c). Not inlined; owns no parameter */
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

/* A tensor that is read as a param: an argument of the root, or of an object that is known. */
typedef struct hia_argument {
  uint32_t word;   /* of the root's arguments; NONE: it is `tensor` */
  hia_word tensor; /* which lives as long as the code */
  /* The sizes, which behind the pass `grad` the param's spec has, too: what gradients add up, and
   * how, must not depend on sizes. */
  hia_dims shape;
} hia_argument;

/* A parameter of a function that a param stands for. */
typedef struct hia_proxy {
  hia_fn_id fn;
  uint32_t param;
} hia_proxy;

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
  hia_u32vec tape_types; /* what `grad` made for values that one function makes and one reads; a
                            graph that was read has none */
  hia_index name_index, loc_index;
  /* From text: that is of a user. It is well formed, but what passes guarantee does not hold: a
   * FIELD may name a wrong constructor, a FILL be out of range, a tensor that is pending be read.
   * So the engines test that. Counts of references are made anew (refs/forget.c). */
  bool is_read;
  bool has_refs; /* the pass `refs` has counted the references of all functions */
  /* It is of a version that assumes something of its arguments (graph/assume): CONST nodes may be
   * objects, by their addresses, and params from `first_argument` on are arguments. */
  bool is_assumed;
  uint32_t first_argument;
  HIA_VEC(hia_argument) arguments;
  /* While functions are differentiated, params from first_proxy on stand for parameters of
   * functions (grad/proxy.c). */
  uint32_t first_proxy;
  HIA_VEC(hia_proxy) proxies;
  bool is_counted;   /* has COUNT nodes: passes must keep the number of their firings */
  bool is_unrolled;  /* some recursion was unrolled */
  bool batches_all;  /* hiaG_batch takes products with all params, and not only with large ones */
  bool merges_calls; /* hiaG_merge has run: a pass that brings equal calls together merges them */
} hia_graph;

/* ---- access ---- */

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
/* Returns how many regions a node has: an `if` or a `loop` has two, a `map` one. */
static inline uint32_t hiaG_n_regions(unsigned op) {
  return op == HIA_OP_IF || op == HIA_OP_LOOP ? 2 : op == HIA_OP_MAP;
}
/* Returns the function that a CALL, FORK, JOIN or DEFER calls. */
static inline hia_fn_id hiaG_callee(const hia_node *node) { return HIA_IMM_A(node->imm); }
/* Returns what a GRAD computes. */
static inline const hia_gradient_of *hiaG_gradient_of(const hia_graph *g, const hia_node *node) {
  return &g->gradients.data[node->imm];
}
/* Returns the function that a node calls, or that a GRAD differentiates. NONE: it is none of these
 * nodes. Function state. */
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
static inline bool hiaG_is_tensor(const hia_graph *g, const hia_fn *fn, hia_value_id v) {
  return hiaG_type_kind(g->types, hiaG_type(fn, v)) == HIA_KIND_TENSOR;
}
bool hiaG_is_const(const hia_fn *fn, hia_value_id v, hia_word *word);
/* True for ops whose results are there wherever they are needed, and take part in no counting: they
 * are the same in all tags of a run. */
static inline bool hiaG_is_constant(unsigned op) {
  return op == HIA_OP_CONST || op == HIA_OP_UNDEF || op == HIA_OP_PARAM || op == HIA_OP_LITERAL;
}
/* Returns the dtype at which the op of a node is: it selects the kernel (see hiaR_kernel). */
hia_dtype hiaG_node_dtype(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* True if a node computes its result as an op on scalars does, of operands that are scalars; */
bool hiaG_is_scalar_op(const hia_fn *fn, hia_node_id n);
/* or as an op that takes tensors, or makes them: an operation (runtime/heap/operation.h). */
bool hiaG_is_operation(const hia_fn *fn, hia_node_id n);
/* True if the references of the node's operands are handed over to it, in graphs with counts. */
bool hiaG_consumes(const hia_fn *fn, hia_node_id n);
/* True if some value of the graph is not a scalar. */
bool hiaG_has_references(const hia_graph *g);
/* True if the graph has a node of one of these ops, first to last. */
bool hiaG_has_op(const hia_graph *g, unsigned first, unsigned last);
bool hiaG_has_gradients(const hia_graph *g); /* GRAD nodes */
/* True if a parameter or a result of the function is not a scalar. */
bool hiaG_exchanges_references(const hia_fn *fn);
/* True if results are put at addresses (passes/cons.c). */
bool hiaG_has_destinations(const hia_graph *g);

/* ---- the elements of literals ---- */

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

#endif
