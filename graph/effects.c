/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* effects: what a call of each function may do, and which functions form a recursive group.
 *
 * One would iterate until nothing changes. But groups are numbered callees first (scc.c), so one
 * pass is enough: the traits of a group are those of its members themselves, and those of the
 * groups that they call. */
#include "graph/graph.h"

/* What the nodes of a function do by themselves; lists the callees. */
static uint8_t own_traits(hia_graph *g, hia_fn_id f, hia_u32vec *callees) {
  const hia_fn *fn = hiaG_fn(g, f);
  uint8_t traits = 0;
  if (fn->slow_path != HIA_NONE) hiaR_push(&g->comp->scratch, callees, fn->slow_path);
  HIA_EACH_NODE(fn, n) {
    switch (fn->nodes.data[n].op) {
    case HIA_OP_CALL:
    case HIA_OP_FORK: /* a fork and its join are a call, made by a thief */
    case HIA_OP_JOIN: {
      hia_fn_id callee = hiaG_callee(&fn->nodes.data[n]);
      if (callee == f) traits |= HIA_FN_RECURSIVE;
      hiaR_push(&g->comp->scratch, callees, callee);
      break;
    }
    case HIA_OP_IF: break;
    case HIA_OP_LOOP: traits |= HIA_FN_DIVERGES; break;
    case HIA_OP_COUNT: traits |= HIA_FN_EFFECT; break;
    case HIA_OP_HOST: {
      const hia_extern *e = &g->externs.data[fn->nodes.data[n].imm];
      traits |= (e->is_impure ? HIA_FN_IMPURE : 0) | (e->raises ? HIA_FN_RAISES : 0);
      break;
    }
    default:
      if (hiaG_node_raises(g, fn, n)) traits |= HIA_FN_RAISES;
    }
  }
  return traits;
}

/* Sets traits and group of every function that is not removed. */
void hiaG_effects(hia_graph *g) {
  hia_arena *arena = &g->comp->scratch;
  uint32_t n = g->fns.len;
  hia_u32vec callees = {0};
  uint32_t *first = HIA_NEW_ARRAY(arena, uint32_t, n + 1);
  uint32_t *group = HIA_NEW_ARRAY(arena, uint32_t, n);
  for (hia_fn_id f = 0; f < n; f++) {
    first[f] = callees.len;
    hia_fn *fn = hiaG_fn(g, f);
    fn->traits = fn->is_removed ? 0 : own_traits(g, f, &callees);
  }
  first[n] = callees.len;
  uint32_t n_groups = hiaG_scc(arena, n, first, callees.data, group);

  hia_buckets by_group = hiaG_buckets(arena, n_groups, n, group, NULL);
  const uint32_t *start = by_group.start;
  const hia_fn_id *members = by_group.items;

  uint32_t number = 0; /* of the next group that has functions which are not removed */
  for (uint32_t i = 0; i < n_groups; i++) {
    uint8_t traits = start[i + 1] - start[i] > 1 ? HIA_FN_RECURSIVE : 0;
    for (uint32_t m = start[i]; m < start[i + 1]; m++) {
      hia_fn_id f = members[m];
      traits |= hiaG_fn(g, f)->traits;
      for (uint32_t c = first[f]; c < first[f + 1]; c++)
        traits |= hiaG_fn(g, callees.data[c])->traits & (uint8_t)~HIA_FN_RECURSIVE;
    }
    if (traits & HIA_FN_RECURSIVE) traits |= HIA_FN_DIVERGES;
    for (uint32_t m = start[i]; m < start[i + 1]; m++) {
      hiaG_fn(g, members[m])->traits = traits;
      hiaG_fn(g, members[m])->group = number;
    }
    if (!hiaG_fn(g, members[start[i]])->is_removed) number++;
  }
}
