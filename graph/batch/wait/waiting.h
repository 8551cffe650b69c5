/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What waits for rows that it has noted itself: what `each.c` and `siblings.c` share. */
#ifndef HIA_WAITING_H
#define HIA_WAITING_H

#include "graph/ir/graph.h"

/* What a function does, itself or in what it calls: note rows, wait for them. */
typedef struct hia_waits {
  bool defers, forces;
} hia_waits;

typedef struct hia_waits_fns {
  uint32_t n; /* functions that there were */
  hia_waits *fns;
} hia_waits_fns;

/* Adds what a node does by itself, or in what it calls. Returns true if that is more. */
bool hiaG_add_waiting(const hia_waits_fns *w, const hia_node *node, hia_waits *to);

/* ---- siblings.c ---- */

/* Makes maps of what waits side by side. Requires hiaG_effects, and runs it again. */
void hiaG_batch_siblings(hia_graph *g, const hia_waits_fns *w);

#endif
