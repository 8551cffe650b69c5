/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What waits for rows that it has noted itself: what the files of this folder share. */
#ifndef HIA_WAITING_H
#define HIA_WAITING_H

#include "graph/batch/batcher.h"

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

/* ---- light.c ---- */

/* Sets can_lift of operations that are computed where they stand, and finds again what is late.
 * Requires hiaG_batch_find_late. */
void hiaG_batch_light(hia_batcher *b);

/* ---- siblings.c ---- */

/* Makes maps of what waits side by side. Requires hiaG_effects, and runs it again. */
void hiaG_batch_siblings(hia_graph *g, const hia_waits_fns *w);

#endif
