/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* impure: which functions may call impure functions of the host, themselves or in what they call.
 *
 * hiaG_effects finds the same for graphs in the state HIA_FUNCTIONS, as a trait that passes use.
 * This file is for callers that need it before a pass has run, or in any state. */
#include "graph/graph.h"

/* A work list: a function that becomes marked marks its callers. Those of f are
 * callers[start[f]] .. callers[start[f + 1] - 1]. */
void hiaG_spread_to_callers(hia_arena *scratch, uint32_t n, const uint32_t *first,
                            const uint32_t *callees, bool *marks) {
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t *caller = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)first[n] + 1);
  uint32_t *work = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)n + 1), n_work = 0;
  for (uint32_t f = 0; f < n; f++) {
    for (uint32_t i = first[f]; i < first[f + 1]; i++) caller[i] = f;
    if (marks[f]) work[n_work++] = f;
  }
  hia_buckets by_callee = hiaG_buckets(scratch, n, first[n], callees, caller);
  const uint32_t *start = by_callee.start, *callers = by_callee.items;
  while (n_work) {
    uint32_t f = work[--n_work];
    for (uint32_t i = start[f]; i < start[f + 1]; i++) {
      if (marks[callers[i]]) continue;
      marks[callers[i]] = true;
      work[n_work++] = callers[i];
    }
  }
  hiaR_arena_release(scratch, mark);
}

bool *hiaG_impure(const hia_graph *g, hia_arena *arena) {
  hia_arena *scratch = &g->comp->scratch;
  uint32_t n = g->fns.len;
  bool *marks = HIA_NEW_ARRAY(arena, bool, (size_t)n + 1);
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t *first = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)n + 1);
  hia_u32vec callees = {0};
  for (hia_fn_id f = 0; f < n; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    first[f] = callees.len;
    if (fn->is_removed) continue;
    if (fn->slow_path != HIA_NONE) hiaR_push(scratch, &callees, fn->slow_path);
    for (hia_node_id i = 0; i < fn->nodes.len; i++) {
      const hia_node *node = &fn->nodes.data[i];
      switch (node->op) {
      case HIA_OP_HOST: marks[f] |= g->externs.data[node->imm].is_impure; break;
      case HIA_OP_CALL:
      case HIA_OP_FORK:
      case HIA_OP_JOIN: hiaR_push(scratch, &callees, hiaG_callee(node)); break;
      case HIA_OP_CALL_I:
        hiaR_push(scratch, &callees, g->sites.data[HIA_IMM_A(node->imm)].callee);
        break;
      default: break;
      }
    }
  }
  first[n] = callees.len;
  hiaG_spread_to_callers(scratch, n, first, callees.data, marks);
  hiaR_arena_release(scratch, mark);
  return marks;
}
