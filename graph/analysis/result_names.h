/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The names that the parts of a root's result have in files. */
#ifndef HIA_RESULT_NAMES_H
#define HIA_RESULT_NAMES_H

#include "graph/ir/graph.h"

/* Returns, by result of a root, the name that it has in a file: that of the param whose
 * gradient it is, or `value`; NULL: none follows from what it is. Names belong to the graph, the
 * list to the arena. Before any pass; of a static graph there are none. */
const char *const *hiaG_result_names(const hia_graph *g, hia_fn_id root, hia_arena *arena);

#endif
