/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Walking over a function in sequential order. Every region ends with its YIELD, so none is empty,
 * and at the YIELD of its last region a walk leaves the node around it. Nothing recurses: regions
 * nest as deep as the user's source. */
#include "graph/ir/walk.h"

hia_node_id hiaG_walk_over(const hia_fn *fn, hia_node_id n) {
  for (;;) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->next != HIA_NONE) return node->next;
    const hia_region *region = &fn->regions.data[node->region];
    if (region->kind == HIA_REGION_BODY) return HIA_NONE;
    if (region->kind == HIA_REGION_THEN || region->kind == HIA_REGION_HEAD)
      return fn->regions.data[node->region + 1].first;
    n = region->owner;
  }
}

hia_node_id hiaG_walk_next(const hia_fn *fn, hia_node_id n) {
  hia_region_id regions = fn->nodes.data[n].regions;
  return regions == HIA_NONE ? hiaG_walk_over(fn, n) : fn->regions.data[regions].first;
}

hia_node_id hiaG_behind_args(const hia_fn *fn, hia_region_id region) {
  hia_node_id at = fn->regions.data[region].first;
  while (fn->nodes.data[at].op == HIA_OP_ARG) at = fn->nodes.data[at].next;
  return at;
}

hia_node_id hiaG_yield_of(const hia_fn *fn, hia_region_id region) {
  return fn->regions.data[region].last;
}
