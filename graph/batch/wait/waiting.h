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
  hia_u32vec maps;  /* where siblings.c has made maps: hia_loc_ids; */
  hia_u32vec apart; /* and where something waits that is no sibling of what is before it */
  const char *told; /* the name of the function of which the report has last said something */
} hia_waits_fns;

/* Adds what a node does by itself, or in what it calls. Returns true if that is more. */
bool hiaG_add_waiting(const hia_waits_fns *w, const hia_node *node, hia_waits *to);

/* ---- siblings.c ---- */

/* Makes maps of what waits side by side. Requires hiaG_effects, and runs it again. */
void hiaG_batch_siblings(hia_graph *g, hia_waits_fns *w);

/* ---- report.c: lines of the report, if the graph has one ---- */

/* Iterations of a map wait; while one does, others go on. Or they do not: `why_not`. */
void hiaG_report_iterations(hia_waits_fns *w, const hia_graph *g, const hia_fn *fn, hia_node_id map,
                            const char *why_not);
/* Siblings wait; while one does, others go on. And two that are none: why. */
void hiaG_report_siblings(hia_waits_fns *w, const hia_graph *g, const hia_fn *fn,
                          const hia_node_id *siblings, uint32_t n);
void hiaG_report_no_siblings(hia_waits_fns *w, const hia_graph *g, const hia_fn *fn,
                             hia_node_id first, hia_node_id second, const char *why);

#endif
