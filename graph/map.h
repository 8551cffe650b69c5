/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the passes over maps share: map.c, opt_halve.c. */
#ifndef HIA_GRAPH_MAP_H
#define HIA_GRAPH_MAP_H

#include "graph/graph.h"

/* Puts a loop in place of a map, which fills the elements `from` and up to `to` of an array, and
 * replaces the result of the map by the filled array. The three values are defined before the map.
 * The body is moved, and not copied; the caller's walk goes through it behind this. */
void hiaG_fill_loop(hia_graph *g, hia_fn *fn, hia_subst *subst, hia_node_id map, hia_value_id array,
                    hia_value_id from, hia_value_id to);

#endif
