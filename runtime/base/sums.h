/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums: gradients of tensors that are added late.
 *
 * The gradient of a large tensor is the sum of many contributions, most of which are small: an
 * outer product for each use of a matrix, a row for each use of a table. So it is not a tensor, but
 * a value of a data type that says what is to be added, a *sum*; the operation COLLECT makes the
 * tensor of it. There is a type for each float dtype and each rank, sum(f32[?, ?]) and so on
 * (graph/ir/sums.c). These are their constructors and, in this order, the fields of each. */
#ifndef HIA_SUMS_H
#define HIA_SUMS_H

#include "runtime/base/type.h"

typedef enum hia_sum_ctor {
  HIA_SUM_NOTHING,
  HIA_SUM_BOTH,  /* a, b: sums of this type. What a consists of comes first */
  HIA_SUM_DENSE, /* x: a tensor of the rank */
  HIA_SUM_ROW,   /* i: i64. x: a sum of a rank lower by 1; of rank 1 a scalar. It is row i of axis 0
                  */
  HIA_SUM_ROWS,  /* i: a tensor of i64 of rank 1. x: of the rank: its rows are rows i[0], i[1], ...
                  */
  HIA_SUM_PART,  /* i: i64. x: a sum of this type. Its rows are rows i, i + 1, ... */
  HIA_SUM_DENSE_THEN, /* x: a tensor of the rank. a, b: sums of this type, which come behind it. The
                         pass `flat` makes these of others */
  HIA_SUM_FEW,        /* how many constructors a type of rank 1 has */
  HIA_SUM_OUTER = HIA_SUM_FEW, /* a, b: of rank 1. a[i] * b[j]: j is the index of the last axis, and
                                  i counts all others, as if they were one */
  HIA_SUM_PRODUCTS, /* a, b: of rank 2. transpose(a) @ b, likewise: outer products of their rows */
  HIA_SUM_PAIR,     /* a, b, c: of rank 1. The outer product of a and of b with c behind it */
  HIA_SUM_OUTER_THEN, /* a, b: as of OUTER. c, d: sums of this type, which come behind it */
  HIA_SUM_PAIR_THEN,  /* a, b, c: as of PAIR. d, e: likewise */
  HIA_SUM_ALL,
} hia_sum_ctor;

/* True if a type consists of what a sum consists of; then *dtype and *rank are set. */
bool hiaR_sum_of(const hia_type_table *types, hia_type type, hia_dtype *dtype, uint32_t *rank);

/* A sum of at most so many parts that are all of a tensor, one behind the other, is their
 * concatenation: nothing is added, so that zeros keep their signs. */
enum { HIA_SUM_TILES = 64 };

#endif
