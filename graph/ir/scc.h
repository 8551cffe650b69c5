/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Grouping numbers: by key, and by cycles of edges. */
#ifndef HIA_SCC_H
#define HIA_SCC_H

#include "graph/ir/graph.h"
#include "runtime/base/base.h"

/* Items by key: those with key k are items[start[k]] .. items[start[k + 1] - 1], in their order. */
typedef struct hia_buckets {
  uint32_t *start, *items;
} hia_buckets;
/* Groups n items, whose keys are below n_keys; an item with the key NONE is left out. values[i], or
 * i if there are no values, is what stands for item i. */
hia_buckets hiaG_buckets(hia_arena *arena, uint32_t n_keys, uint32_t n, const uint32_t *keys,
                         const uint32_t *values);

/* Finds the strongly connected components (Tarjan 1972) of n nodes; the edges of node i are
 * edges[first[i] .. first[i + 1]). Writes the component of each node, numbered so that edges lead
 * to lower ones; returns their number. */
uint32_t hiaG_scc(hia_arena *arena, uint32_t n, const uint32_t *first, const uint32_t *edges,
                  uint32_t *component);

/* Marks every function that has a marked one among its callees, directly or further down.
 * The callees of f are callees[first[f]] .. callees[first[f + 1] - 1]. */
void hiaG_spread_to_callers(hia_arena *scratch, uint32_t n, const uint32_t *first,
                            const uint32_t *callees, bool *marks);

#endif
