/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is assumed at points, put into the graph, with guards.
 *
 *     if c { A } else { B }      c is always true       if c { A } else { guard }
 *     fn f(n) = ... n ...        n is always 3          if n == 3 { } else { guard }; ... 3 ...
 *     loop x = a while c { r }   it has two rounds      if c(a) { if c(r(a)) { if c(r(r(a)))
 *                                                         { guard } else { r(r(a)) } }
 *                                                         else { guard } } else { guard }
 *
 * A branch stays where it was if what stands in the arm makes sense there only, such as fields of a
 * constructor. Else the guard comes first, and then what the arm does: other passes need not look
 * into arms then. It does not matter which of a guard and a failure comes first, since the run
 * begins again. */
#include "graph/assume/points.h"
#include "graph/assume/rounds.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum { SMALL_ARM = 6 }; /* nodes, fewer of which are as fast as a guard */

typedef struct supposing {
  hia_graph *g;
  hia_fn *fn; /* being changed */
  hia_arena *scratch;
  uint32_t number; /* of the fact */
} supposing;

/* ---- branches ---- */

/* The node behind an arm, in the order of a walk. */
static hia_node_id behind_arm(const hia_fn *fn, hia_region_id arm) {
  bool is_then = fn->regions.data[arm].kind == HIA_REGION_THEN;
  return is_then ? fn->regions.data[arm + 1].first
                 : hiaG_walk_over(fn, fn->regions.data[arm].owner);
}

/* True if the arm does what takes time, so that code around it is better without. */
static bool is_costly(const hia_fn *fn, hia_region_id arm) {
  hia_node_id end = behind_arm(fn, arm);
  uint32_t n_nodes = 0;
  for (hia_node_id n = fn->regions.data[arm].first; n != end; n = hiaG_walk_next(fn, n)) {
    unsigned op = fn->nodes.data[n].op;
    if (op == HIA_OP_FAIL || op == HIA_OP_GUARD) return false;
    if (op == HIA_OP_CALL || op == HIA_OP_LOOP || op == HIA_OP_MAP ||
        hiaR_ops[op].traits & HIA_T_ALLOCATES || ++n_nodes > SMALL_ARM)
      return true;
  }
  return false;
}

/* From the last to the first: what a node computes is used by later ones only. */
static void empty(hia_fn *fn, hia_region_id region) {
  while (fn->regions.data[region].last != HIA_NONE) hiaG_remove(fn, fn->regions.data[region].last);
}

/* True if what stands in the arm makes sense there only. */
static bool must_stay(const hia_fn *fn, hia_region_id arm) {
  hia_node_id end = behind_arm(fn, arm);
  for (hia_node_id n = fn->regions.data[arm].first; n != end; n = hiaG_walk_next(fn, n))
    if (hiaR_ops[fn->nodes.data[n].op].traits & HIA_T_GUARDED) return true;
  return false;
}

/* Adds a guard before node `at`: the condition is always this. */
static void guard_before(supposing *s, hia_node_id at, hia_value_id condition, bool is_true,
                         hia_loc_id loc) {
  hia_node_id branch = hiaG_insert(s->g, s->fn, at, HIA_OP_IF, &condition, 1, NULL, 0, 0, loc);
  hia_region_id then = s->fn->nodes.data[branch].regions;
  hiaG_yield(s->g, s->fn, then + !is_true, NULL, 0);
  hiaG_guard(s->g, s->fn, then + is_true, NULL, 0, s->number, loc);
}

/* The branch goes: a guard comes first, and then what stood in the arm that is taken. */
static void take_arm(supposing *s, hia_node_id n, bool is_true) {
  hia_fn *fn = s->fn;
  const hia_node node = fn->nodes.data[n];
  hia_region_id arm = node.regions + !is_true;
  hia_node_id yield = hiaG_yield_of(fn, arm);
  guard_before(s, n, hiaG_in(fn, n, 0), is_true, node.loc);
  hiaG_splice(fn, arm, node.region, n);
  hia_value_id *map = HIA_NEW_ARRAY(s->scratch, hia_value_id, fn->values.len);
  memset(map, 0xff, fn->values.len * sizeof *map);
  for (uint32_t i = 0; i < node.n_outs; i++) map[node.outs + i] = hiaG_in(fn, yield, i);
  hiaG_substitute(fn, map);
  hiaG_remove(fn, n);
}

static void decide_branch(supposing *s, hia_node_id n, bool is_true) {
  hia_fn *fn = s->fn;
  if (!must_stay(fn, fn->nodes.data[n].regions + !is_true)) {
    take_arm(s, n, is_true);
    return;
  }
  hia_region_id arm = fn->nodes.data[n].regions + is_true;
  uint32_t n_outs = fn->nodes.data[n].n_outs;
  hia_type *types = HIA_NEW_ARRAY(s->scratch, hia_type, n_outs + 1);
  for (uint32_t i = 0; i < n_outs; i++) types[i] = hiaG_type(fn, hiaG_out(fn, n, i));
  empty(fn, arm);
  hiaG_guard(s->g, fn, arm, types, n_outs, s->number, fn->nodes.data[n].loc);
}

/* ---- parameters ---- */

static void know_param(supposing *s, hia_node_id arg, hia_word word) {
  hia_graph *g = s->g;
  hia_fn *fn = s->fn;
  hia_value_id v = hiaG_out(fn, arg, 0);
  hia_type type = hiaG_type(fn, v), is_bool = HIA_BOOL;
  hia_loc_id loc = fn->loc;
  hia_node_id at = hiaG_behind_args(fn, 0);
  hia_node_id known = hiaG_insert(g, fn, at, HIA_OP_CONST, NULL, 0, &type, 1, word, loc);
  hia_value_id pair[2] = {v, hiaG_out(fn, known, 0)};
  hia_value_id *map = HIA_NEW_ARRAY(s->scratch, hia_value_id, fn->values.len);
  memset(map, 0xff, fn->values.len * sizeof *map);
  map[v] = pair[1];
  hiaG_substitute(fn, map);
  hia_node_id eq = hiaG_insert(g, fn, at, HIA_OP_EQ, pair, 2, &is_bool, 1, 0, loc);
  guard_before(s, at, hiaG_out(fn, eq, 0), true, loc);
}

/* ---- facts ---- */

/* A node inside an arm or a loop that is not there any more. */
static bool is_gone(const hia_fn *fn, hia_node_id n) {
  while (!(fn->nodes.data[n].flags & HIA_NODE_DEAD)) {
    if (fn->nodes.data[n].region == 0) return false;
    n = fn->regions.data[fn->nodes.data[n].region].owner;
  }
  return true;
}

/* False: the fact is of no use. */
static bool suppose(supposing *s, const hia_point *point, hia_word word, bool all) {
  hia_fn *fn = s->fn;
  hia_node_id n = point->node;
  if (is_gone(fn, n)) return false;
  switch (point->kind) {
  case HIA_POINT_BRANCH:
    if (!all && !is_costly(fn, fn->nodes.data[n].regions + (word != 0))) return false;
    decide_branch(s, n, word != 0);
    return true;
  case HIA_POINT_PARAM:
    if (hiaG_fn(s->g, point->fn)->is_root || (!all && !hiaG_decides(fn, hiaG_out(fn, n, 0))))
      return false;
    know_param(s, n, word);
    return true;
  case HIA_POINT_ROUNDS:
    if (!hiaG_is_short(fn, n, word)) return false;
    hiaG_unroll_rounds(s->g, fn, n, (uint32_t)word, s->number);
    return true;
  }
  return false;
}

/* Facts of loops, or all others. */
static uint32_t suppose_some(supposing *s, const hia_point *points, const hia_fact *facts,
                             uint32_t i, bool loops, bool all, bool *used) {
  const hia_point *point = &points[facts[i].point];
  if ((point->kind == HIA_POINT_ROUNDS) != loops) return 0;
  hia_mark mark = hiaR_arena_mark(s->scratch);
  s->fn = hiaG_fn(s->g, point->fn);
  s->number = i;
  used[i] = suppose(s, point, facts[i].word, all);
  hiaR_arena_release(s->scratch, mark);
  return used[i];
}

/* What stands in an arm that goes need not be looked at; but of loops the inner ones come first, so
 * that the rounds of the outer one have them. */
uint32_t hiaG_suppose(hia_graph *g, const hia_point *points, const hia_fact *facts, uint32_t n,
                      bool all, bool *used) {
  supposing s = {.g = g, .scratch = &g->comp->scratch};
  uint32_t n_used = 0;
  for (uint32_t i = 0; i < n; i++) n_used += suppose_some(&s, points, facts, i, false, all, used);
  for (uint32_t i = n; i-- > 0;) n_used += suppose_some(&s, points, facts, i, true, all, used);
  for (uint32_t i = 0; i < n; i++) {
    bool is_changed = used[i];
    hia_fn_id fn = points[facts[i].point].fn;
    for (; i + 1 < n && points[facts[i + 1].point].fn == fn; i++) is_changed |= used[i + 1];
    if (is_changed) hiaG_compact(g, hiaG_fn(g, fn));
  }
  return n_used;
}
