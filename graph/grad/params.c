/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Which params of the program a function may read, itself or by its calls. */
#include "graph/grad/grad.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"

/* Marks those that f's nodes read; true: one was not marked before. */
static bool find_reads(const hia_graph *g, hia_fn_id f, const bool *wanted, bool *reads) {
  bool *of_fn = reads + (size_t)f * g->params.len, is_new = false;
  const hia_fn *fn = hiaG_fn(g, f);
  if (fn->gradient != HIA_NONE) return false; /* it says nothing of params */
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_PARAM && wanted[node->imm] && !of_fn[node->imm])
      of_fn[node->imm] = is_new = true;
    if (node->op != HIA_OP_CALL) continue;
    const bool *of_callee = reads + (size_t)hiaG_callee(node) * g->params.len;
    for (uint32_t p = 0; p < g->params.len; p++) {
      is_new |= of_callee[p] && !of_fn[p];
      of_fn[p] |= of_callee[p];
    }
  }
  return is_new;
}

bool *hiaG_params_read(const hia_graph *g, const bool *wanted, hia_arena *arena) {
  bool *reads = HIA_NEW_ARRAY(arena, bool, (size_t)g->fns.len * g->params.len + 1), is_changed;
  do {
    is_changed = false;
    for (hia_fn_id f = g->fns.len; f-- > 0;)
      if (!hiaG_fn(g, f)->is_removed && hiaG_fn(g, f)->nodes.len)
        is_changed |= find_reads(g, f, wanted, reads);
  } while (is_changed);
  return reads;
}

const bool *hiaG_params_read_by(const hia_graph *g, hia_fn_id f, hia_arena *arena) {
  bool *wanted = HIA_NEW_ARRAY(arena, bool, (size_t)g->params.len + 1);
  for (uint32_t i = 0; i < g->params.len; i++) wanted[i] = true;
  return hiaG_params_read(g, wanted, arena) + (size_t)f * g->params.len;
}
