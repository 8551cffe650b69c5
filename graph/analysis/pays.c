/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* When a fork pays: what of the callee's arguments decides whether a call takes long.
 *
 *     fib(n):  1 < n
 *     tak(x, y, z):  y < x
 *
 * One would expect the oldest fork of a frame to be worth taking. But most calls of a tree
 * recursion are leaves, and the oldest fork may well be one: in tak a third of the forks served to
 * thieves were. So the worker that serves a steal request tests the fork's arguments first
 * (lower/function/fork_pays.c makes the test's code).
 *
 * The rules come from the callee's branches, followed as long as their conditions are cheap. A
 * region that calls directly pays; one without calls does not; if all calls are behind one branch,
 * the arm taken decides. A fork counts as one that pays where the test would need something that
 * must not be computed early: operations that can fail, results of calls, results of other
 * branches; or a param. */
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"

enum {
  MAX_NODES = 24, /* that are computed */
  MAX_DEPTH = 8,  /* of branches that are followed */
  MAX_COST = 32,  /* of one node */
};

typedef struct paying {
  const hia_graph *g;
  const hia_fn *fn;
  bool *takes_long; /* by region: it has calls, loops or much work, itself or in regions inside */
  bool *is_long;    /* by region: the same, regions inside not counted */
  bool *is_known;   /* by value: the nodes listed so far compute it */
  uint32_t n_nodes, n_computed; /* nodes listed; those of them that are real work */
  hia_pays result;
} paying;

static bool calls_much(const hia_graph *g, const hia_node *node) {
  if (node->op == HIA_OP_HOST) return true;
  if (node->op != HIA_OP_CALL_I) return false;
  return hiaG_polls(hiaG_fn(g, g->sites.data[HIA_IMM_A(node->imm)].callee));
}

static void find_long_regions(paying *p, hia_arena *arena) {
  const hia_fn *fn = p->fn;
  p->takes_long = HIA_NEW_ARRAY(arena, bool, fn->regions.len);
  p->is_long = HIA_NEW_ARRAY(arena, bool, fn->regions.len);
  uint64_t *cost = HIA_NEW_ARRAY(arena, uint64_t, fn->regions.len);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    hia_region_id r = fn->nodes.data[n].region;
    cost[r] += hiaG_cost(fn, n);
    if (calls_much(p->g, &fn->nodes.data[n]) || cost[r] > HIA_MAX_UNPOLLED_FN || fn->is_apart)
      p->is_long[r] = true;
  }
  for (hia_region_id r = fn->regions.len; r-- > 0;) { /* children before their parents */
    p->takes_long[r] |= p->is_long[r] || fn->regions.data[r].kind == HIA_REGION_HEAD;
    if (r) p->takes_long[fn->regions.data[r].parent] |= p->takes_long[r];
  }
}

/* The only branch or loop in a region that takes long: its first region. 0: there are several. */
static hia_region_id only_one(const paying *p, hia_region_id around) {
  const hia_fn *fn = p->fn;
  hia_region_id found = 0;
  for (hia_region_id r = around + 1; r < fn->regions.len; r++) {
    const hia_region *region = &fn->regions.data[r];
    if (region->parent != around || !p->takes_long[r]) continue;
    hia_region_id first = region->kind == HIA_REGION_ELSE ? r - 1 : r;
    if (found && found != first) return 0;
    found = first;
  }
  return found;
}

static bool are_operands_known(const paying *p, hia_node_id n) {
  for (uint32_t i = 0; i < p->fn->nodes.data[n].n_ins; i++)
    if (!p->is_known[hiaG_in(p->fn, n, i)]) return false;
  return true;
}

/* Lists a node, if it is cheap and cannot fail. */
static void compute(paying *p, hia_node_id n) {
  const hia_node *node = &p->fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_CONST: break;
  case HIA_OP_UNDEF:
  case HIA_OP_PARAM: return; /* it is in the context of a run, which the test does not have */
  case HIA_OP_ENTER:
  case HIA_OP_SWITCH:
  case HIA_OP_MERGE_LOOP: /* of the first round */
    if (!p->is_known[hiaG_in(p->fn, n, 0)]) return;
    break;
  default:
    if (hiaG_node_effects(p->g, p->fn, n) & ~(unsigned)HIA_E_READS) return;
    if (hiaG_cost(p->fn, n) > MAX_COST) return;
    if (!are_operands_known(p, n)) return;
    p->n_computed++;
  }
  for (uint32_t i = 0; i < node->n_outs; i++) p->is_known[hiaG_out(p->fn, n, i)] = true;
  p->result.nodes[p->n_nodes++] = n;
}

/* Recursion: MAX_DEPTH. */
static void decide(paying *p, hia_region_id r, unsigned depth) {
  const hia_fn *fn = p->fn;
  hia_pays_region *region = &p->result.regions[r];
  region->rule = p->takes_long[r] ? HIA_PAYS_ALWAYS : HIA_PAYS_NEVER;
  hia_region_id inner = p->is_long[r] || depth == MAX_DEPTH ? 0 : only_one(p, r);
  if (region->rule == HIA_PAYS_NEVER || !inner) return;
  bool is_loop = fn->regions.data[inner].kind == HIA_REGION_HEAD;
  if (is_loop && p->is_long[inner]) return;
  hia_region_id decider = is_loop ? inner + 1 : inner;
  uint32_t first = p->n_nodes;
  for (hia_node_id n = fn->regions.data[r].first; n < fn->regions.data[decider].first; n++) {
    hia_region_id in = fn->nodes.data[n].region;
    if (in == r || (is_loop && in == inner)) compute(p, n);
    if (p->n_computed > MAX_NODES) return;
  }
  hia_value_id predicate = fn->regions.data[decider].pred;
  if (predicate == HIA_NONE || !p->is_known[predicate]) return;
  *region = (hia_pays_region){is_loop ? HIA_PAYS_IF : HIA_PAYS_BY_ARM, decider, first, p->n_nodes};
  if (is_loop) return; /* a round, and possibly any number of further ones */
  decide(p, decider, depth + 1);
  decide(p, decider + 1, depth + 1);
}

hia_pays hiaG_pays(hia_arena *arena, const hia_graph *g, const hia_fn *fn) {
  paying p = {.g = g, .fn = fn};
  p.result.regions = HIA_NEW_ARRAY(arena, hia_pays_region, fn->regions.len);
  p.result.nodes = HIA_NEW_ARRAY(arena, hia_node_id, fn->nodes.len);
  p.is_known = HIA_NEW_ARRAY(arena, bool, fn->values.len);
  find_long_regions(&p, arena);
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_MERGE_ENTRY) p.is_known[hiaG_out(fn, n, 0)] = true;
  decide(&p, 0, 0);
  return p.result;
}
