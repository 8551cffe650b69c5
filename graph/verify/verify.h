/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules of a graph, checked. The reader's input comes from users, so nothing is assumed.
 * Checked are: indices are in range, lists are sound, each value is defined before it is used and
 * visible where it is used, types follow the ops' rules, each region ends with its one YIELD, sites
 * and their nodes agree, and the tag discipline holds (a value enters a branch by a Switch and a
 * loop by an Enter, and leaves them by a Merge or an Exit; a CONST is used only in its region).
 *
 * Not checked is what only values say: whether a FIELD reads of the right constructor, a FILL is in
 * range, or a tensor is read that is still pending. Passes guarantee it; in graphs that were read
 * the engines test it (is_read of graph.h). */
#ifndef HIA_VERIFY_H
#define HIA_VERIFY_H

#include "graph/ir/graph.h"

/* Returns NULL if the graph is well formed in its state; else the defect, with the node in text
 * form, in the memory of the graph's arena. */
const char *hiaG_verify(hia_graph *g);
typedef struct hia_defect {
  hia_fn_id fn;     /* NONE: of the graph */
  hia_node_id node; /* NONE: of the function */
  const char *message;
} hia_defect;
/* Finds the defect, and where it is. Returns false if there is none. */
bool hiaG_find_defect(hia_graph *g, hia_defect *defect);

#endif
