/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Code that is fast for what runs were observed to do, and right for all others: for objects, which
 * cannot begin a run again (points.h).
 *
 *     fn f(x, n)                           n was always 3
 *       if n == 3
 *       then call f observed x, n          f observed is f with 3 in place of n; it calls itself
 *       else call f general x, n           where it hands on what is known
 *
 * Sizes of tensors are tested and known in the same way. A loop that always had few rounds begins
 * with so many, one behind the other; then comes the loop. */
#ifndef HIA_PREFER_H
#define HIA_PREFER_H

#include "graph/assume/points.h"

/* What was always so at a point of the graph. */
typedef struct hia_preference {
  uint32_t point;
  hia_word word; /* of an integer or a bool; rounds */
  hia_dims dims; /* of a tensor */
} hia_preference;

/* `of`: in the order of their points, which are those of the graph, that has just been built and
 * has no gradients. Functions that are roots stay roots. */
void hiaG_prefer(hia_graph *g, const hia_point *points, const hia_preference *of, uint32_t n);

#endif
