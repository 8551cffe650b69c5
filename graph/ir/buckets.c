/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Grouping by counting (a counting sort). */
#include "graph/ir/graph.h"
#include "graph/ir/scc.h"

hia_buckets hiaG_buckets(hia_arena *arena, uint32_t n_keys, uint32_t n, const uint32_t *keys,
                         const uint32_t *values) {
  uint32_t *start = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n_keys + 2), n_items = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (keys[i] == HIA_NONE) continue;
    start[keys[i] + 2]++;
    n_items++;
  }
  for (uint32_t k = 2; k < n_keys + 2; k++) start[k] += start[k - 1];
  uint32_t *items = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n_items + 1);
  for (uint32_t i = 0; i < n; i++)
    if (keys[i] != HIA_NONE) items[start[keys[i] + 1]++] = values ? values[i] : i;
  return (hia_buckets){start, items};
}
