/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* grad: gradients become calls of functions. Not supported yet: a graph that has some is refused.
 *
 * Comes first: no other pass, and no engine, knows gradients. */
#include "graph/graph.h"

void hiaG_grad(hia_graph *g) {
  if (g->state != HIA_FUNCTIONS) return;
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->is_removed) continue;
    HIA_EACH_NODE(fn, n) {
      if (fn->nodes.data[n].op == HIA_OP_GRAD)
        hiaR_throw(g->comp, HIA_UNSUPPORTED, "gradients are not supported yet");
    }
  }
}
