/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose rows are pending: what unstack.c, unset.c, choose.c and collect.c share. They put
 * nodes into functions while these are still of scalars that are scalars (batcher.h).
 *
 *   find_rows.c  which tensors have rows that can be had without the others
 *   put_rows.c   puts what gives such a row
 *   guard.c      puts what fails as an operation on all rows would
 *   add_rows.c   puts what adds rows */
#ifndef HIA_BATCH_ROWS_H
#define HIA_BATCH_ROWS_H

#include "graph/batch/put.h"

/* ---- find_rows.c ---- */

/* A function whose tensors are read by rows. */
typedef struct hia_unstacking {
  hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  uint32_t n_values; /* of which facts are known */
  hia_subst subst;
  bool *has_rows;  /* by value: a row of it can be had without the others */
  bool *is_late;   /* by value: and may be pending */
  bool *is_wanted; /* by value: unstack.c's */
  bool *is_stale;  /* likewise: rows are another's by now, as the next time will find */
  bool is_changed;
} hia_unstacking;

/* Finds has_rows and is_late. */
hia_unstacking hiaG_find_rows(hia_batcher *b, hia_fn_id f);
/* Sets the shape of a row of v. False: v has a constant number of rows, or other sizes are not. */
bool hiaG_row_shape(const hia_unstacking *u, hia_value_id v, hia_row_shape *shape);
/* True for an array of scalars or tensors that may be late. */
bool hiaG_is_late_array(const hia_unstacking *u, hia_value_id array);

static inline hia_value_id hiaG_rows_in(const hia_unstacking *u, hia_node_id n, uint32_t i) {
  return hiaG_in(u->fn, n, i);
}
static inline uint32_t hiaG_rows_rank(const hia_unstacking *u, hia_value_id v) {
  return hiaG_rank(u->b->g->types, hiaG_type(u->fn, v));
}
static inline int64_t hiaG_rows_size(const hia_unstacking *u, hia_value_id v, uint32_t axis) {
  return hiaG_batch_size(u->b, u->f, v, axis);
}

/* ---- put_rows.c ---- */

/* Put what gives the number of rows of v, which has rows or a constant number of them; */
hia_value_id hiaG_put_rows(hia_unstacking *u, const hia_putting *p, hia_value_id v);
/* and row k of it, if it has rows; k is an index of it. */
hia_value_id hiaG_put_row(hia_unstacking *u, const hia_putting *p, hia_value_id v, hia_value_id k);

/* ---- guard.c ---- */

/* Puts zeros in the shape of v, which has rows. */
hia_value_id hiaG_put_like(hia_unstacking *u, const hia_putting *p, hia_value_id v);
/* Puts, before the node, whose result has rows, what fails if the node would. */
void hiaG_put_guard(hia_unstacking *u, hia_node_id n);
/* True if the node might fail, though its result has rows, and no guard stands before it. A PART
 * and a FULL need one only when they go. */
bool hiaG_needs_guard(const hia_unstacking *u, hia_node_id n);

/* ---- add_rows.c ---- */

/* Puts what gives the sum of the elements of an array into function f, in the order of additions of
 * a `sum` along the axis of rows. */
hia_value_id hiaG_put_sum(hia_batcher *b, hia_fn_id f, const hia_putting *p,
                          const hia_row_shape *shape, hia_value_id array);

#endif
