/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a few elements become scalars: what the files of pass `scalars` share.
 *
 * A tensor is *small* if its sizes are constant and it has at most HIA_SCALARS_ELEMENTS elements. A
 * small tensor that is *split* is no object: each of its elements is a value of its own. Where
 * something needs the tensor, it is put together; where an operation that is split reads a tensor
 * that is not, its elements are read.
 *
 *   scalars.c   the pass
 *   known.c     sizes that are constant, across calls
 *   choose.c    which values are split
 *   compute.c   operations, element by element
 *   rewrite.c   functions, with elements in the place of what is split */
#ifndef HIA_SCALARS_H
#define HIA_SCALARS_H

#include "graph/analysis/sizes.h"
#include "graph/ir/graph.h"
#include "runtime/base/shape.h"

enum {
  HIA_SCALARS_ELEMENTS = 16, /* of a tensor */
  HIA_SCALARS_TERMS = 64,    /* multiplications of one product */
  HIA_SCALARS_WORDS = 40,    /* parameters, or results, of a function */
  HIA_SCALARS_GROWTH = 2500, /* nodes that one function may grow by */
};

/* Where a region lies. */
typedef struct hia_scalars_region {
  uint32_t first, last; /* its number, and the largest one of those in it; outer ones come first */
  uint32_t depth;
  hia_region_id loop; /* the innermost HEAD around it, or itself; or NONE */
} hia_scalars_region;

/* What is known of a function; all arrays are in the scratch arena. */
typedef struct hia_scalars_fn {
  hia_value_sizes *sizes; /* by value */
  hia_scalars_region *regions;
  uint32_t values;  /* where its values begin in tables of the values of all functions */
  uint32_t results; /* and its results, which are behind all values there */
  bool is_left;     /* it stays as it is */
  bool is_closed;   /* its parameters and results stay as they are */
  hia_dims *given;  /* by result: its shape in all calls, if is_given */
  bool *is_given;
  bool *splits;     /* by parameter: it is split; */
  uint32_t *counts; /* how many elements it has then */
  bool splits_any;  /* some parameter is split */
} hia_scalars_fn;

typedef struct hia_scalars {
  hia_graph *g;
  hia_arena *arena; /* scratch */
  hia_sizes s;
  uint32_t n; /* functions */
  hia_scalars_fn *fns;
  uint32_t n_values; /* of all functions, with the results of these */
  bool *is_split;    /* by number: of a value, or of a result of a function */
} hia_scalars;

static inline bool hiaG_is_split(const hia_scalars *s, hia_fn_id f, hia_value_id v) {
  return s->is_split[s->fns[f].values + v];
}
static inline bool hiaG_is_split_result(const hia_scalars *s, hia_fn_id f, uint32_t i) {
  return s->is_split[s->fns[f].results + i];
}

void hiaG_scalars(hia_graph *g); /* scalars.c: the pass */

/* ---- known.c ---- */

/* Finds s->fns. */
void hiaG_scalars_begin(hia_scalars *s, hia_graph *g);
/* Writes the shape of a scalar, or of a small tensor. False: it is neither. */
bool hiaG_scalars_shape(const hia_scalars *s, hia_fn_id f, hia_value_id v, hia_dims *shape);
/* Returns how many elements a shape of numbers has. */
uint32_t hiaG_scalars_count(const hia_dims *shape);
/* Returns the number that an i64 is known to be, or -1: it is not known, or below 0. */
int64_t hiaG_scalars_integer(const hia_scalars *s, hia_fn_id f, hia_value_id v);
/* True for a node that has operands and results as a call of a function has. */
static inline bool hiaG_scalars_calls(unsigned op) {
  return op == HIA_OP_CALL || op == HIA_OP_FORK || op == HIA_OP_JOIN;
}
/* True for a value that is never looked at. */
static inline bool hiaG_scalars_is_unset(const hia_fn *fn, hia_value_id v) {
  unsigned op = hiaG_def(fn, v)->op;
  return op == HIA_OP_UNDEF || op == HIA_OP_FAIL || op == HIA_OP_GUARD;
}

/* ---- choose.c ---- */

/* Finds s->is_split. Returns false if nothing is split. */
bool hiaG_scalars_choose(hia_scalars *s);
/* Returns the node before which a value is put together for node n: n, or a loop around it that the
 * value comes from outside of. */
hia_node_id hiaG_scalars_place(const hia_scalars *s, hia_fn_id f, hia_value_id v, hia_node_id n);

/* ---- compute.c ---- */

/* What an operation costs if it is split. */
typedef struct hia_scalars_work {
  uint32_t nodes;  /* that it becomes */
  uint32_t cycles; /* that these take */
} hia_scalars_work;
/* True if the result of a node can be computed element by element, of elements, without a failure
 * that the node would not have. */
bool hiaG_scalars_can(const hia_scalars *s, hia_fn_id f, hia_node_id n, hia_scalars_work *work);
/* True if the node, though it is split, reads operand i as a whole; */
bool hiaG_scalars_reads_whole(const hia_scalars *s, hia_fn_id f, hia_node_id n, uint32_t i);
/* or looks at its shape alone. */
bool hiaG_scalars_reads_shape(const hia_fn *fn, hia_node_id n, uint32_t i);

/* Where elements are computed: before node `at`. */
typedef struct hia_scalars_place {
  hia_scalars *s;
  hia_fn_id f;
  hia_node_id at;
  hia_loc_id loc;
} hia_scalars_place;
/* Computes the elements of a node's result. `ins`: by operand, its elements, a scalar being one,
 * and so is what is read as a whole; NULL: the shape alone is looked at. */
void hiaG_scalars_compute(const hia_scalars_place *p, hia_node_id n, const hia_value_id *const *ins,
                          hia_value_id *out);
/* Adds a node that gives one value. */
hia_value_id hiaG_scalars_add(const hia_scalars_place *p, unsigned op, const hia_value_id *ins,
                              uint32_t n_ins, hia_type type, uint64_t imm);

/* ---- rewrite.c ---- */

void hiaG_scalars_rewrite(hia_scalars *s, hia_fn_id f);

#endif
