/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The second part of the report of batches (graph/batch/report.c): what goes on while something
 * waits, and what does not, and why. */
#include "graph/batch/wait/waiting.h"

static void place(const hia_graph *g, hia_loc_id loc) {
  if (loc == HIA_NONE) return;
  const hia_loc *at = &g->locs.data[loc];
  hiaR_text_addf(g->batches, " at %u:%u", at->line, at->col);
}

/* Iterations that have become functions are those of the function that they were in. */
static size_t name_length(const char *name) {
  const char *end = strstr(name, " iteration ");
  return end ? (size_t)(end - name) : strlen(name);
}

/* Begins a line of a function, under its name if the last one was of another function. */
static void line(hia_waits_fns *w, const hia_graph *g, const hia_fn *fn, const char *what) {
  size_t n = name_length(fn->name);
  if (!w->told || name_length(w->told) != n || memcmp(w->told, fn->name, n) != 0)
    hiaR_text_addf(g->batches, "%.*s\n", (int)n, fn->name);
  w->told = fn->name;
  hiaR_text_addf(g->batches, "  %-8s", what);
}

static bool has(const hia_u32vec *locs, hia_loc_id loc) {
  for (uint32_t i = 0; i < locs->len; i++)
    if (locs->data[i] == loc) return true;
  return false;
}

void hiaG_report_iterations(hia_waits_fns *w, const hia_graph *g, const hia_fn *fn, hia_node_id map,
                            const char *why_not) {
  hia_loc_id loc = fn->nodes.data[map].loc;
  if (!g->batches || has(&w->maps, loc)) return;
  line(w, g, fn, why_not ? "in order" : "goes on");
  hiaR_text_addf(g->batches, why_not ? " the elements of the comprehension"
                                     : "with other elements of the comprehension");
  place(g, loc);
  if (why_not)
    hiaR_text_addf(g->batches, ": %s\n", why_not);
  else
    hiaR_text_addf(g->batches, " meanwhile\n");
}

static const char *name_of(const hia_node *node) {
  return node->op == HIA_OP_CALL ? "the call" : node->op == HIA_OP_IF ? "the branch" : "the loop";
}

void hiaG_report_siblings(hia_waits_fns *w, const hia_graph *g, const hia_fn *fn,
                          const hia_node_id *siblings, uint32_t n) {
  if (!g->batches) return;
  line(w, g, fn, "goes on");
  hiaR_text_addf(g->batches, "with the others of these meanwhile:");
  for (uint32_t i = 0; i < n; i++) {
    const hia_node *node = &fn->nodes.data[siblings[i]];
    hiaR_text_addf(g->batches, "%s %s", i ? "," : "", name_of(node));
    place(g, node->loc);
  }
  hiaR_text_addf(g->batches, "\n");
}

void hiaG_report_no_siblings(hia_waits_fns *w, const hia_graph *g, const hia_fn *fn,
                             hia_node_id first, hia_node_id second, const char *why) {
  const hia_node *a = &fn->nodes.data[first], *b = &fn->nodes.data[second];
  if (!g->batches || has(&w->apart, b->loc)) return; /* a region is looked at again and again */
  hiaR_push(&g->comp->arena, &w->apart, b->loc);
  line(w, g, fn, "in order");
  hiaR_text_addf(g->batches, " %s", name_of(a));
  place(g, a->loc);
  hiaR_text_addf(g->batches, " and %s", name_of(b));
  place(g, b->loc);
  hiaR_text_addf(g->batches, ": %s\n", why);
}
