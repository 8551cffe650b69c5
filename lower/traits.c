/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What functions do, themselves or below: traits that spread from callees to callers.
 *
 * By a work list over the sites and forks. The traits that hiaG_effects found are the function
 * state's; a static graph that was read may lack them. */
#include "lower/emit.h"

/* Callers by callee: those of f are callers[start[f]] .. callers[start[f + 1] - 1]. */
typedef struct call_lists {
  uint32_t *start;
  hia_fn_id *callers;
} call_lists;

static bool is_made_elsewhere(const hia_node *node) {
  return node->op == HIA_OP_FORK || node->op == HIA_OP_JOIN;
}

static bool has_full(const hia_graph *g, hia_fn_id f) {
  return !hiaG_fn(g, f)->is_removed && hiaG_fn(g, f)->slow_path != HIA_NONE;
}

static call_lists list_callers(hia_emit *e) {
  const hia_graph *g = e->g;
  hia_arena *arena = &e->comp->scratch;
  uint32_t n = g->fns.len, n_callers = g->sites.len;
  uint32_t *start = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n + 2);
  for (uint32_t s = 0; s < g->sites.len; s++) start[g->sites.data[s].callee + 2]++;
  for (hia_fn_id f = 0; f < n; f++)
    if (has_full(g, f)) start[hiaG_fn(g, f)->slow_path + 2]++, n_callers++;
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
    if (has_full(g, f)) callers[start[hiaG_fn(g, f)->slow_path + 1]++] = f;
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
static void find_groups(hia_emit *e, const call_lists *lists) {
  hia_arena *arena = &e->comp->scratch;
  uint32_t n = e->g->fns.len;
  e->group = HIA_NEW_ARRAY(arena, uint32_t, n);
  e->order = HIA_NEW_ARRAY(arena, hia_fn_id, n);
  e->ways = HIA_NEW_ARRAY(arena, hia_way, n);
  uint32_t n_groups = hiaG_scc(arena, n, lists->start, lists->callers, e->group);
  uint32_t *start = HIA_NEW_ARRAY(arena, uint32_t, (size_t)n_groups + 1);
  for (hia_fn_id f = 0; f < n; f++) {
    e->group[f] = n_groups - 1 - e->group[f]; /* edges led to callers */
    start[e->group[f] + 1]++;
    e->ways[f] = (hia_way){.bare = HIA_MAX_UNPOLLED_FN, .is_bare = true};
  }
  for (uint32_t i = 1; i <= n_groups; i++) start[i] += start[i - 1];
  for (hia_fn_id f = 0; f < n; f++) e->order[start[e->group[f]]++] = f;
}

/* Functions that are lowered without calls, and their slow paths. */
static void find_leaves(hia_emit *e) {
  const hia_graph *g = e->g;
  e->versions = HIA_NEW_ARRAY(&e->comp->scratch, bool, g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    if (!has_full(g, f) || !hiaL_can_be_leaf(e, f)) continue;
    e->traits[f] |= HIA_IS_LEAF;
    e->versions[f] = e->versions[hiaG_fn(g, f)->slow_path] = true;
  }
}

void hiaL_find_traits(hia_emit *e) {
  const hia_graph *g = e->g;
  hia_arena *arena = &e->comp->scratch;
  call_lists lists = list_callers(e);
  find_groups(e, &lists);
  e->traits = HIA_NEW_ARRAY(arena, uint8_t, g->fns.len);
  e->is_forked = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  hia_u32vec work = {0};
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->is_removed) continue;
    e->traits[f] = own_traits(g, fn);
    if (e->traits[f]) hiaR_push(arena, &work, f);
    if (!(e->traits[f] & HIA_HAS_FORKS)) continue;
    for (hia_node_id n = 0; n < fn->nodes.len; n++)
      if (fn->nodes.data[n].op == HIA_OP_FORK)
        e->is_forked[HIA_IMM_A(fn->nodes.data[n].imm)] = true;
  }
  while (work.len) {
    hia_fn_id f = work.data[--work.len];
    uint8_t traits = e->traits[f] & (HIA_DOES_RAISE | HIA_DOES_COUNT);
    for (uint32_t i = lists.start[f]; i < lists.start[f + 1]; i++) {
      hia_fn_id caller = lists.callers[i];
      if ((e->traits[caller] & traits) == traits) continue;
      e->traits[caller] |= traits;
      hiaR_push(arena, &work, caller);
    }
  }
  find_leaves(e);
}

/* The remainder of floats is found bit by bit: some thousand steps for the largest by the smallest.
 */
uint64_t hiaL_cost(const hia_fn *fn, hia_node_id n) {
  unsigned op = fn->nodes.data[n].op;
  if (op == HIA_OP_REM && hiaG_node_dtype(fn, n) == HIA_F64) return HIA_MAX_UNPOLLED;
  if (op == HIA_OP_REM && hiaG_node_dtype(fn, n) == HIA_F32) return HIA_MAX_UNPOLLED / 8;
  if (op == HIA_OP_HOST) return HIA_MAX_UNPOLLED; /* nobody knows */
  return hiaR_ops[op].cost;
}

/* May a run of the function come to a comparison with the limit? */
bool hiaL_polls(const hia_fn *fn) {
  if (fn->nodes.len > HIA_MAX_STRAIGHT_LINE) return true;
  uint64_t cost = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) cost += hiaL_cost(fn, n);
  if (cost > HIA_MAX_UNPOLLED_FN) return true;
  for (hia_region_id r = 0; r < fn->regions.len; r++)
    if (fn->regions.data[r].kind == HIA_REGION_HEAD) return true;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_CALL_I) return true;
  return false;
}
