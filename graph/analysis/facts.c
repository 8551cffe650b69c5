/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What lowering must know of functions. Effects are found anew: those that functions have belong to
 * function graphs, and a static graph that was read may have more of them than it needs. */
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"
#include "graph/ir/scc.h"

static bool is_made_elsewhere(const hia_node *node) {
  return node->op == HIA_OP_FORK || node->op == HIA_OP_JOIN || node->op == HIA_OP_DEFER;
}

static bool has_slow_path(const hia_graph *g, hia_fn_id f) {
  return !hiaG_fn(g, f)->is_removed && hiaG_fn(g, f)->slow_path != HIA_NONE;
}

/* Lists functions by what they call, in any way. */
static hia_buckets list_callers(hia_arena *arena, const hia_graph *g) {
  hia_u32vec callees = {0}, callers = {0};
  for (uint32_t s = 0; s < g->sites.len; s++) {
    hiaR_push(arena, &callees, g->sites.data[s].callee);
    hiaR_push(arena, &callers, g->sites.data[s].caller);
  }
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (has_slow_path(g, f)) {
      hiaR_push(arena, &callees, fn->slow_path);
      hiaR_push(arena, &callers, f);
    }
    for (hia_node_id n = 0; !fn->is_removed && n < fn->nodes.len; n++) {
      if (!is_made_elsewhere(&fn->nodes.data[n])) continue;
      hiaR_push(arena, &callees, hiaG_callee(&fn->nodes.data[n]));
      hiaR_push(arena, &callers, f);
    }
  }
  return hiaG_buckets(arena, g->fns.len, callees.len, callees.data, callers.data);
}

/* Groups of functions that call each other, and an order in which callees come first. */
static void find_groups(hia_arena *arena, const hia_graph *g, const hia_buckets *callers,
                        hia_facts *facts) {
  uint32_t n = g->fns.len;
  facts->group = HIA_NEW_ARRAY(arena, uint32_t, n);
  uint32_t n_groups = hiaG_scc(arena, n, callers->start, callers->items, facts->group);
  for (hia_fn_id f = 0; f < n; f++)
    facts->group[f] = n_groups - 1 - facts->group[f]; /* the edges led from callees to callers */
  facts->order = hiaG_buckets(arena, n_groups, n, facts->group, NULL).items;
}

/* Functions that are lowered without calls, and their slow paths. What was done before a restart is
 * done twice: memory would be taken twice, and given back twice. */
static void find_leaves(hia_arena *arena, const hia_graph *g, hia_facts *facts) {
  facts->is_leaf = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  facts->is_version = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    if (!has_slow_path(g, f) || !hiaG_can_be_leaf(arena, hiaG_fn(g, f))) continue;
    if (facts->effects[f] & (HIA_E_COUNTS | HIA_E_ALLOCATES | HIA_E_ONCE | HIA_E_HOST)) continue;
    facts->is_leaf[f] = true;
    facts->is_version[f] = facts->is_version[hiaG_fn(g, f)->slow_path] = true;
  }
}

/* Params come to a run the same way as its heap, also those that are scalars. */
static bool has_references(const hia_fn *fn) {
  for (hia_value_id v = 0; v < fn->values.len; v++)
    if (!hiaG_is_scalar(fn->values.data[v].type) || hiaG_def(fn, v)->op == HIA_OP_PARAM)
      return true;
  return false;
}

/* Marks functions that have objects, and then their callers. */
static void find_objects(hia_arena *arena, const hia_graph *g, const hia_buckets *callers,
                         hia_facts *facts) {
  hia_u32vec work = {0};
  facts->has_objects = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    facts->has_objects[f] = !hiaG_fn(g, f)->is_removed && has_references(hiaG_fn(g, f));
    if (facts->has_objects[f]) hiaR_push(arena, &work, f);
  }
  while (work.len) {
    hia_fn_id f = work.data[--work.len];
    for (uint32_t i = callers->start[f]; i < callers->start[f + 1]; i++) {
      hia_fn_id caller = callers->items[i];
      if (facts->has_objects[caller]) continue;
      facts->has_objects[caller] = true;
      hiaR_push(arena, &work, caller);
    }
  }
}

hia_facts hiaG_facts(hia_arena *arena, const hia_graph *g) {
  hia_facts all = {0}, *facts = &all;
  hia_buckets callers = list_callers(arena, g);
  find_groups(arena, g, &callers, facts);
  find_objects(arena, g, &callers, facts);
  facts->effects = hiaG_find_effects(g, arena, NULL);
  facts->is_forked = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    if (!(facts->effects[f] & HIA_E_FORKS)) continue;
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; n < fn->nodes.len; n++)
      if (fn->nodes.data[n].op == HIA_OP_FORK)
        facts->is_forked[hiaG_callee(&fn->nodes.data[n])] = true;
  }
  find_leaves(arena, g, facts);
  return all;
}
