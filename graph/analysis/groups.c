/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Groups have numbers such that callees have lower ones, so sorting by them puts callees first. */
#include "graph/analysis/groups.h"
#include "graph/ir/scc.h"

uint32_t *hiaG_groups(hia_arena *arena, const hia_graph *g) {
  uint32_t *group = HIA_NEW_ARRAY(arena, uint32_t, (size_t)g->fns.len + 1);
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    group[f] = hiaG_fn(g, f)->is_removed ? HIA_NONE : hiaG_fn(g, f)->group;
  return group;
}

hia_fn_order hiaG_callees_first(hia_arena *arena, const hia_graph *g) {
  const uint32_t *group = hiaG_groups(arena, g);
  hia_fn_order order = {hiaG_buckets(arena, g->fns.len, g->fns.len, group, NULL).items, 0};
  HIA_EACH_FN(g, f) order.n++;
  return order;
}
