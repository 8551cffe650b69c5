/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What nodes and functions may do besides computing their results: HIA_E_ bits (graph/ir/graph.h).
 */
#ifndef HIA_EFFECTS_H
#define HIA_EFFECTS_H

#include "graph/ir/graph.h"

/* Returns the effects of a node. Division by a constant that is not 0 or -1 cannot fail. Requires
 * hiaG_effects: the callee's are those of its function. */
uint16_t hiaG_node_effects(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* Returns the effects of a node without those of the nodes inside it. */
uint16_t hiaG_own_effects(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* True if the node has one of these effects. */
bool hiaG_node_does(const hia_graph *g, const hia_fn *fn, hia_node_id n, unsigned any_of);
/* True if the node may be removed when its results are unused. */
bool hiaG_node_removable(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* True if the node may be moved up to any node behind its operands, and run where it did not: it
 * computes its results from scalars, and does nothing else. */
bool hiaG_node_movable(const hia_graph *g, const hia_fn *fn, hia_node_id n);
/* Returns, by function and in either state, what it may do, itself or by its calls. In `arena`,
 * with all that finding them takes; and in *groups, unless it is NULL, numbers that functions share
 * which call each other. Requires nothing: the effects that functions have are not looked at. */
uint16_t *hiaG_find_effects(const hia_graph *g, hia_arena *arena, const uint32_t **groups);

/* The pass `effects`: sets effects and groups of all functions. */
void hiaG_effects(hia_graph *g);

#endif
