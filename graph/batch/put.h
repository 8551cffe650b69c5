/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Puts nodes into functions: those that read rows of stacked tensors (rows/). */
#ifndef HIA_BATCH_PUT_H
#define HIA_BATCH_PUT_H

#include "graph/batch/batcher.h"
#include "graph/ir/change.h"

/* Where nodes are put: before node `at`, or, if that is NONE, at the end of a region. */
typedef struct hia_putting {
  hia_graph *g;
  hia_fn *fn;
  hia_region_id region;
  hia_node_id at;
  hia_loc_id loc;
} hia_putting;

/* The shape of a row of a tensor, or of an element of an array; a scalar has rank 0. */
typedef struct hia_row_shape {
  hia_dtype dtype;
  uint32_t rank;
  int64_t dims[HIA_MAX_RANK];
} hia_row_shape;

/* False if a run comes to the node once at most: it may wait there. */
bool hiaG_is_repeated(const hia_fn *fn, hia_node_id n);
bool hiaG_is_in_rounds(const hia_fn *fn, hia_node_id n); /* of a loop or a comprehension */

static inline hia_putting hiaG_before(hia_graph *g, hia_fn *fn, hia_node_id n) {
  return (hia_putting){g, fn, HIA_NONE, n, fn->nodes.data[n].loc};
}
hia_value_id hiaG_put(const hia_putting *p, unsigned op, const hia_value_id *ins, uint32_t n,
                      hia_type type, uint64_t imm);
hia_value_id hiaG_put_2(const hia_putting *p, unsigned op, hia_value_id a, hia_value_id b,
                        hia_type type);
hia_value_id hiaG_put_number(const hia_putting *p, int64_t n);
/* Puts an IF of one result. The caller fills its arms, each up to its YIELD. */
hia_value_id hiaG_put_branch(const hia_putting *p, hia_value_id is_first, hia_type type,
                             hia_putting arms[2]);
/* Puts a call that is not in the source, of a function with one result. */
hia_value_id hiaG_put_call(const hia_putting *p, hia_fn_id callee, const hia_value_id *ins,
                           uint32_t n, hia_type type);
void hiaG_put_yield(const hia_putting *p, hia_value_id v);
/* The type of such a row. */
hia_type hiaG_row_type(const hia_putting *p, const hia_row_shape *shape);
/* Copies of a scalar of the row's dtype, in the shape of a row. */
hia_value_id hiaG_put_full(const hia_putting *p, const hia_row_shape *shape, hia_value_id scalar);
hia_value_id hiaG_put_zeros(const hia_putting *p, const hia_row_shape *shape);
/* Element k of an array, of this shape; k is an index of it. */
hia_value_id hiaG_put_at(const hia_putting *p, const hia_row_shape *shape, hia_value_id array,
                         hia_value_id k);
/* x, of which the sizes are these, though the analysis of sizes does not know. */
hia_value_id hiaG_put_expect(const hia_putting *p, const hia_row_shape *shape, hia_value_id x);

/* ---- returned.c ---- */

/* What a root returns, an array of type `to`, of an array of which scalars are late. */
hia_value_id hiaG_put_returned(const hia_putting *p, hia_value_id v, hia_type to);

#endif
