/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* sweep: removes the functions that no root reaches. Indices of the others stay. */
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

static void reach(hia_graph *g, hia_fn_id f, bool *is_reached, hia_u32vec *todo) {
  if (is_reached[f]) return;
  is_reached[f] = true;
  hiaR_push(&g->comp->scratch, todo, f);
}

void hiaG_sweep(hia_graph *g) {
  bool *is_reached = HIA_NEW_ARRAY(&g->comp->scratch, bool, g->fns.len);
  hia_u32vec todo = {0};
  HIA_EACH_FN(g, f) {
    if (!hiaG_fn(g, f)->is_root) continue;
    is_reached[f] = true;
    hiaR_push(&g->comp->scratch, &todo, f);
  }
  for (uint32_t i = 0; i < g->externs.len; i++)
    if (g->externs.data[i].gradient != HIA_NONE)
      reach(g, g->externs.data[i].gradient, is_reached, &todo);
  while (todo.len) {
    const hia_fn *fn = hiaG_fn(g, todo.data[--todo.len]);
    if (fn->slow_path != HIA_NONE) reach(g, fn->slow_path, is_reached, &todo);
    if (fn->gradient != HIA_NONE) reach(g, fn->gradient, is_reached, &todo);
    HIA_EACH_NODE(fn, n) {
      hia_fn_id called = hiaG_called(g, &fn->nodes.data[n]);
      if (called != HIA_NONE) reach(g, called, is_reached, &todo);
    }
  }
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    if (!is_reached[f]) hiaG_fn(g, f)->is_removed = true;
}
