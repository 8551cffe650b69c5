/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions of a graph by the groups in which they call each other, as the pass `effects` has
 * numbered these (hia_fn.group). Removed functions are left out. Results are in the caller's
 * arena. */
#ifndef HIA_GROUPS_H
#define HIA_GROUPS_H

#include "graph/ir/graph.h"

/* Returns the group of each function; NONE: the function is removed. */
uint32_t *hiaG_groups(hia_arena *arena, const hia_graph *g);

typedef struct hia_fn_order {
  hia_fn_id *fns;
  uint32_t n;
} hia_fn_order;
/* Returns the functions in an order in which callees come first. */
hia_fn_order hiaG_callees_first(hia_arena *arena, const hia_graph *g);

#endif
