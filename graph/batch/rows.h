/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose rows are pending: what unstack.c, add_rows.c and collect.c share. They put nodes
 * into functions while these are still of scalars that are scalars (batcher.h). */
#ifndef HIA_BATCH_ROWS_H
#define HIA_BATCH_ROWS_H

#include "graph/batch/batcher.h"

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

/* ---- put.c ---- */

/* False if a run comes to the node once at most: it may wait there. */
bool hiaG_is_repeated(const hia_fn *fn, hia_node_id n);

hia_value_id hiaG_put(const hia_putting *p, unsigned op, const hia_value_id *ins, uint32_t n,
                      hia_type type, uint64_t imm);
hia_value_id hiaG_put_number(const hia_putting *p, int64_t n);
/* Puts an IF of one result. The caller fills its arms, each up to its YIELD. */
hia_value_id hiaG_put_branch(const hia_putting *p, hia_value_id is_first, hia_type type,
                             hia_putting arms[2]);
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

/* ---- unstack.c ---- */

/* Returns, by value, whether a row of it can be had without the others, and may be pending. */
const bool *hiaG_batch_late_rows(hia_batcher *b, hia_fn_id f);

/* ---- add_rows.c ---- */

/* Puts what gives the sum of the elements of an array, in the order of additions of a `sum` along
 * the axis of rows. */
hia_value_id hiaG_put_sum(const hia_putting *p, const hia_row_shape *shape, hia_value_id array);

#endif
