/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Changing the bodies of functions, in function state. */
#ifndef HIA_GRAPH_CHANGE_H
#define HIA_GRAPH_CHANGE_H

#include "graph/ir/graph.h"

/* Leaves a function without a body but for its ARGs; the value of parameter i is i.
 * The old vectors are not changed, so a copy of *fn remains valid. */
void hiaG_clear_body(hia_graph *g, hia_fn *fn);
/* Removes a node (with its regions) from its list. Its values must be unused. */
void hiaG_remove(hia_fn *fn, hia_node_id node);
/* Replaces operands everywhere in the function: value v by map[v] where map[v] != HIA_NONE. Chains
 * of replacements are followed, and `map` is left with their ends. It has one entry per value. */
void hiaG_substitute(hia_fn *fn, hia_value_id *map);
/* Replaces the contents of *fn by a compact copy without dead nodes, in order of definition:
 * indices become dense, and the text form canonical. The old vectors are not changed, so another
 * copy of *fn remains valid. */
void hiaG_compact(hia_graph *g, hia_fn *fn);
/* Copies the nodes of a region of `from`, except its ARG nodes and its YIELD, into `to`: before
 * node `at` of a region, or at the end of `region` if `at` is NONE. `map` has an entry per value of
 * `from`. On entry it has the replacements of outer values and ARGs (NONE, in a copy within one
 * function: the value itself); on return also the copies. So the yielded values are map[...] of the
 * YIELD's operands. Locations become children of `parent_loc` unless that is NONE. `to` may be
 * `from`. */
void hiaG_copy_region(hia_graph *g, hia_fn *to, hia_region_id region, hia_node_id at,
                      const hia_fn *from, hia_region_id from_region, hia_value_id *map,
                      hia_loc_id parent_loc);

/* ---- rewrite.c: changes while a pass walks ---- */

/* Values that a pass replaces by others while it walks (scratch memory). Because definitions come
 * before uses, it is enough to rewrite the operands of each node when the walk reaches it. */
typedef struct hia_subst {
  hia_arena *arena;
  hia_u32vec to; /* by value, NONE: stays; shorter than fn->values if values were added since */
} hia_subst;
hia_subst hiaG_subst(hia_graph *g, const hia_fn *fn);
void hiaG_replace(hia_subst *s, hia_value_id v, hia_value_id by);
hia_value_id hiaG_resolve(hia_subst *s, hia_value_id v);
void hiaG_rewrite_ins(hia_subst *s, hia_fn *fn, hia_node_id n);
/* Gives a node new operands; `ins` may point into fn->edges only if there are no more than before.
 */
void hiaG_set_ins(hia_graph *g, hia_fn *fn, hia_node_id n, const hia_value_id *ins, uint32_t n_ins);
/* Gives a node new results; the old ones must be unused. */
void hiaG_set_outs(hia_graph *g, hia_fn *fn, hia_node_id n, const hia_type *types, uint32_t n_outs);

/* Moves the nodes of region `from`, except its ARGs and its YIELD, before node `at` of region `to`
 * (NONE: to its end). Returns the first of them, or `at` if there are none. */
hia_node_id hiaG_splice(hia_fn *fn, hia_region_id from, hia_region_id to, hia_node_id at);

/* Moves the nodes from `first` to `last` of a region, with their regions, before node `at` of
 * region `to` (NONE: to its end). */
void hiaG_move_range(hia_fn *fn, hia_node_id first, hia_node_id last, hia_region_id to,
                     hia_node_id at);
/* Moves a node, with its regions, before another of the same region. */
void hiaG_move(hia_fn *fn, hia_node_id n, hia_node_id at);

#endif
