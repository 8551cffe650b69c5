/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Walking over the nodes of a function, in function state. */
#ifndef HIA_GRAPH_WALK_H
#define HIA_GRAPH_WALK_H

#include "graph/ir/graph.h"

/* Return the node after n in sequential order, NONE at the end of the function: walk_next enters
 * the regions of n, walk_over passes over them. A walk begins at the first node of region 0. */
hia_node_id hiaG_walk_next(const hia_fn *fn, hia_node_id n);
hia_node_id hiaG_walk_over(const hia_fn *fn, hia_node_id n);
/* A loop over all nodes of a function in sequential order. Nodes that its body adds behind n are
 * met too; the body must not remove n. */
#define HIA_EACH_NODE(fn, n)                                                                       \
  for (hia_node_id n = (fn)->regions.data[0].first; n != HIA_NONE; n = hiaG_walk_next(fn, n))
/* A loop over the nodes that stand in a region themselves, in their order. */
#define HIA_EACH_IN(fn, region, n)                                                                 \
  for (hia_node_id n = (fn)->regions.data[region].first; n != HIA_NONE;                            \
       n = (fn)->nodes.data[n].next)
/* A loop over the ARGs of a region, which are its first nodes. */
#define HIA_EACH_ARG(fn, region, n)                                                                \
  for (hia_node_id n = (fn)->regions.data[region].first;                                           \
       n != HIA_NONE && (fn)->nodes.data[n].op == HIA_OP_ARG; n = (fn)->nodes.data[n].next)
/* The node behind the ARGs of a region, which every region has: at least its YIELD. */
hia_node_id hiaG_behind_args(const hia_fn *fn, hia_region_id region);
hia_node_id hiaG_yield_of(const hia_fn *fn, hia_region_id region);

#endif
