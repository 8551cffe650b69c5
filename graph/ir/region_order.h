/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The regions of a static section in the order of its nodes. */
#ifndef HIA_REGION_ORDER_H
#define HIA_REGION_ORDER_H

#include "graph/ir/graph.h"

typedef struct hia_context_edge {
  hia_node_id at;
  hia_region_id region;
  bool is_end;
} hia_context_edge;
/* Each region except the body begins once and ends once, before node `at`. Where several begin or
 * end at one node (some are empty), their order is that of the tree they form: an ELSE follows its
 * THEN, a ROUND ends its HEAD. Returns the number of edges. If the regions do not form such a tree
 * (the verifier checks that), there are fewer than two per region, or positions decrease. */
uint32_t hiaG_contexts(hia_arena *arena, const hia_fn *fn, hia_context_edge **edges);

#endif
