/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts of references, for native code. */
#ifndef HIA_REFS_H
#define HIA_REFS_H

#include "graph/ir/graph.h"

/* The pass `refs` (refs.c): adds the counts. */
void hiaG_refs(hia_graph *g);
/* Takes the counts of references out of function graphs that were read from text (forget.c). */
void hiaG_forget_counts(hia_graph *g);
/* True if some nodes of the graph count references. */
bool hiaG_has_counts(const hia_graph *g);

#endif
