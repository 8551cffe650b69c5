/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What functions do, themselves or in what they call: traits that spread from callees to callers,
 * by a work list over call sites and forks. The traits of hiaG_effects cannot be used: they belong
 * to function graphs, and a static graph that was read may lack them. */
#include "graph/analysis.h"

static bool is_made_elsewhere(const hia_node *node) {
  return node->op == HIA_OP_FORK || node->op == HIA_OP_JOIN;
}

static bool has_slow_path(const hia_graph *g, hia_fn_id f) {
  return !hiaG_fn(g, f)->is_removed && hiaG_fn(g, f)->slow_path != HIA_NONE;
}

/* Functions by what they call, by any way. */
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
static void find_groups(hia_arena *arena, const hia_graph *g, const hia_buckets *callers,
                        hia_facts *facts) {
  uint32_t n = g->fns.len;
  facts->group = HIA_NEW_ARRAY(arena, uint32_t, n);
  uint32_t n_groups = hiaG_scc(arena, n, callers->start, callers->items, facts->group);
  for (hia_fn_id f = 0; f < n; f++)
    facts->group[f] = n_groups - 1 - facts->group[f]; /* the edges led from callees to callers */
  facts->order = hiaG_buckets(arena, n_groups, n, facts->group, NULL).items;
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
  hia_buckets callers = list_callers(arena, g);
  find_groups(arena, g, &callers, facts);
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
        facts->is_forked[hiaG_callee(&fn->nodes.data[n])] = true;
  }
  while (work.len) {
    hia_fn_id f = work.data[--work.len];
    uint8_t traits = facts->traits[f] & (HIA_DOES_RAISE | HIA_DOES_COUNT);
    for (uint32_t i = callers.start[f]; i < callers.start[f + 1]; i++) {
      hia_fn_id caller = callers.items[i];
      if ((facts->traits[caller] & traits) == traits) continue;
      facts->traits[caller] |= traits;
      hiaR_push(arena, &work, caller);
    }
  }
  find_leaves(arena, g, facts);
  return all;
}
