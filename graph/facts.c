/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What functions do, themselves or in what they call: traits that spread from callees to callers,
 * by a work list over call sites and forks. The traits of hiaG_effects cannot be used: they belong
 * to function graphs, and a static graph that was read may lack them. */
#include "graph/analysis.h"

/* The callers of each function f: callers[start[f]] .. callers[start[f + 1] - 1]. */
typedef struct call_lists {
  uint32_t *start;
  hia_fn_id *callers;
} call_lists;

static bool is_made_elsewhere(const hia_node *node) {
  return node->op == HIA_OP_FORK || node->op == HIA_OP_JOIN;
}

static bool has_slow_path(const hia_graph *g, hia_fn_id f) {
  return !hiaG_fn(g, f)->is_removed && hiaG_fn(g, f)->slow_path != HIA_NONE;
}

static call_lists list_callers(hia_arena *arena, const hia_graph *g) {
  uint32_t n = g->fns.len, n_callers = g->sites.len;
  uint32_t *start = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
  for (uint32_t s = 0; s < g->sites.len; s++) start[g->sites.data[s].callee + 2]++;
  for (hia_fn_id f = 0; f < n; f++)
    if (has_slow_path(g, f)) start[hiaG_fn(g, f)->slow_path + 2]++, n_callers++;
  for (hia_fn_id f = 0; f < n; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id node = 0; !fn->is_removed && node < fn->nodes.len; node++) {
      if (!is_made_elsewhere(&fn->nodes.data[node])) continue;
      start[HIA_IMM_A(fn->nodes.data[node].imm) + 2]++;
      n_callers++;
    }
  }
  for (uint32_t f = 2; f < n + 2; f++) start[f] += start[f - 1];
  hia_fn_id *callers = HIA_NEW_ARRAY(arena, hia_fn_id, n_callers);
  for (uint32_t s = 0; s < g->sites.len; s++)
    callers[start[g->sites.data[s].callee + 1]++] = g->sites.data[s].caller;
  for (hia_fn_id f = 0; f < n; f++)
    if (has_slow_path(g, f)) callers[start[hiaG_fn(g, f)->slow_path + 1]++] = f;
  for (hia_fn_id f = 0; f < n; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id node = 0; !fn->is_removed && node < fn->nodes.len; node++)
      if (is_made_elsewhere(&fn->nodes.data[node]))
        callers[start[HIA_IMM_A(fn->nodes.data[node].imm) + 1]++] = f;
  }
  return (call_lists){start, callers};
}

/* What a function does by itself. */
static uint8_t own_traits(const hia_graph *g, const hia_fn *fn) {
  uint8_t traits = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    if (hiaG_node_raises(g, fn, n)) traits |= HIA_DOES_RAISE;
    if (fn->nodes.data[n].op == HIA_OP_FORK) traits |= HIA_HAS_FORKS;
    if (fn->nodes.data[n].op == HIA_OP_COUNT) traits |= HIA_DOES_COUNT;
  }
  return traits;
}

/* Groups of functions that call each other, and an order in which callees come first. */
static void find_groups(hia_arena *arena, const hia_graph *g, const call_lists *lists,
                        hia_facts *facts) {
  uint32_t n = g->fns.len;
  facts->group = HIA_NEW_ARRAY(arena, uint32_t, n);
  facts->order = HIA_NEW_ARRAY(arena, hia_fn_id, n);
  uint32_t n_groups = hiaG_scc(arena, n, lists->start, lists->callers, facts->group);
  uint32_t *start = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n_groups + 1);
  for (hia_fn_id f = 0; f < n; f++) {
    facts->group[f] = n_groups - 1 - facts->group[f]; /* the edges led from callees to callers */
    start[facts->group[f] + 1]++;
  }
  for (uint32_t i = 1; i <= n_groups; i++) start[i] += start[i - 1];
  for (hia_fn_id f = 0; f < n; f++) facts->order[start[facts->group[f]]++] = f;
}

/* Functions that are lowered without calls, and their slow paths. */
static void find_leaves(hia_arena *arena, const hia_graph *g, hia_facts *facts) {
  facts->is_version = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    if (!has_slow_path(g, f) || (facts->traits[f] & (HIA_DOES_COUNT | HIA_HAS_FORKS)) ||
        !hiaG_can_be_leaf(arena, hiaG_fn(g, f)))
      continue;
    facts->traits[f] |= HIA_IS_LEAF;
    facts->is_version[f] = facts->is_version[hiaG_fn(g, f)->slow_path] = true;
  }
}

hia_facts hiaG_facts(hia_arena *arena, const hia_graph *g) {
  hia_facts all = {0}, *facts = &all;
  call_lists lists = list_callers(arena, g);
  find_groups(arena, g, &lists, facts);
  facts->traits = HIA_NEW_ARRAY(arena, uint8_t, g->fns.len);
  facts->is_forked = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  hia_u32vec work = {0};
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->is_removed) continue;
    facts->traits[f] = own_traits(g, fn);
    if (facts->traits[f]) hiaR_push(arena, &work, f);
    if (!(facts->traits[f] & HIA_HAS_FORKS)) continue;
    for (hia_node_id n = 0; n < fn->nodes.len; n++)
      if (fn->nodes.data[n].op == HIA_OP_FORK)
        facts->is_forked[HIA_IMM_A(fn->nodes.data[n].imm)] = true;
  }
  while (work.len) {
    hia_fn_id f = work.data[--work.len];
    uint8_t traits = facts->traits[f] & (HIA_DOES_RAISE | HIA_DOES_COUNT);
    for (uint32_t i = lists.start[f]; i < lists.start[f + 1]; i++) {
      hia_fn_id caller = lists.callers[i];
      if ((facts->traits[caller] & traits) == traits) continue;
      facts->traits[caller] |= traits;
      hiaR_push(arena, &work, caller);
    }
  }
  find_leaves(arena, g, facts);
  return all;
}

bool hiaG_calls_host(const hia_fn *fn) {
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_HOST) return true;
  return false;
}
