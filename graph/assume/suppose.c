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
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum {
  MAX_ROUNDS = 16,    /* of a loop that is unrolled, and */
  MAX_UNROLLED = 256, /* nodes that all of them become */
  SMALL_ARM = 6,      /* nodes, fewer of which are as fast as a guard */
};

typedef struct supposing {
  hia_graph *g;
  hia_fn *fn; /* being changed */
  hia_arena *scratch;
  uint32_t number; /* of the fact */
} supposing;

/* ---- guards ---- */

/* Ends the region with a guard, whose results it yields. */
static void guard(supposing *s, hia_region_id region, const hia_type *types, uint32_t n,
                  hia_loc_id loc) {
  hia_node_id node = hiaG_add(s->g, s->fn, region, HIA_OP_GUARD, NULL, 0, types, n, s->number, loc);
  hia_value_id *outs = HIA_NEW_ARRAY(s->scratch, hia_value_id, n + 1);
  for (uint32_t i = 0; i < n; i++) outs[i] = hiaG_out(s->fn, node, i);
  hiaG_yield(s->g, s->fn, region, outs, n);
}

static hia_type *types_of(supposing *s, hia_value_id first, uint32_t n) {
  hia_type *types = HIA_NEW_ARRAY(s->scratch, hia_type, n + 1);
  for (uint32_t i = 0; i < n; i++) types[i] = hiaG_type(s->fn, first + i);
  return types;
}

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
  guard(s, then + is_true, NULL, 0, loc);
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
  const hia_type *types = types_of(s, fn->nodes.data[n].outs, fn->nodes.data[n].n_outs);
  empty(fn, arm);
  guard(s, arm, types, fn->nodes.data[n].n_outs, fn->nodes.data[n].loc);
}

/* ---- parameters ---- */

/* True if it decides something, or would be a constant of an operation that is faster with one. */
static bool decides(const hia_fn *fn, hia_value_id v) {
  HIA_EACH_NODE(fn, n) {
    const hia_op_info *op = &hiaR_ops[fn->nodes.data[n].op];
    unsigned number = fn->nodes.data[n].op;
    bool is_faster = op->rule == HIA_RULE_COMPARE || number == HIA_OP_IF ||
                     op->traits & HIA_T_RAISES_INT || number == HIA_OP_POW ||
                     op->traits & HIA_T_ALLOCATES;
    for (uint32_t i = 0; is_faster && i < fn->nodes.data[n].n_ins; i++)
      if (hiaG_in(fn, n, i) == v) return true;
  }
  return false;
}

static void know_param(supposing *s, hia_node_id arg, hia_word word) {
  hia_graph *g = s->g;
  hia_fn *fn = s->fn;
  hia_value_id v = hiaG_out(fn, arg, 0);
  hia_type type = hiaG_type(fn, v), is_bool = HIA_BOOL;
  hia_loc_id loc = fn->loc;
  hia_node_id at = arg;
  while (fn->nodes.data[at].op == HIA_OP_ARG) at = fn->nodes.data[at].next;
  hia_node_id known = hiaG_insert(g, fn, at, HIA_OP_CONST, NULL, 0, &type, 1, word, loc);
  hia_value_id pair[2] = {v, hiaG_out(fn, known, 0)};
  hia_value_id *map = HIA_NEW_ARRAY(s->scratch, hia_value_id, fn->values.len);
  memset(map, 0xff, fn->values.len * sizeof *map);
  map[v] = pair[1];
  hiaG_substitute(fn, map);
  hia_node_id eq = hiaG_insert(g, fn, at, HIA_OP_EQ, pair, 2, &is_bool, 1, 0, loc);
  guard_before(s, at, hiaG_out(fn, eq, 0), true, loc);
}

/* ---- loops ---- */

typedef struct unrolling {
  supposing *s;
  hia_node_id loop;
  const hia_type *types; /* of its results */
  uint32_t n, rounds;
  hia_value_id *map; /* by value, as hiaG_copy_region has it */
  uint32_t n_map;
} unrolling;

static void mapped(const unrolling *u, hia_node_id yield, uint32_t first, hia_value_id *out) {
  const hia_fn *fn = u->s->fn;
  for (uint32_t i = first; i < fn->nodes.data[yield].n_ins; i++) {
    hia_value_id v = hiaG_in(fn, yield, i);
    out[i - first] = v < u->n_map && u->map[v] != HIA_NONE ? u->map[v] : v;
  }
}

/* Writes the head, with these values of the variables, and what follows: before node `at`, or at
 * the end of the region. Returns the branch that the head decides. */
static hia_node_id unroll(unrolling *u, const hia_value_id *variables, uint32_t round,
                          hia_region_id region, hia_node_id at) {
  hia_graph *g = u->s->g;
  hia_fn *fn = u->s->fn;
  const hia_node loop = fn->nodes.data[u->loop];
  hia_region_id head = loop.regions;
  HIA_EACH_ARG(fn, head, arg)
    u->map[hiaG_out(fn, arg, 0)] = variables[HIA_IMM_A(fn->nodes.data[arg].imm)];
  hiaG_copy_region(g, fn, region, at, fn, head, u->map, HIA_NONE);
  hia_node_id decided = hiaG_yield_of(fn, head);
  hia_value_id *exits = HIA_NEW_ARRAY(u->s->scratch, hia_value_id, u->n + 2);
  mapped(u, decided, 0, exits);
  hia_node_id branch =
      at != HIA_NONE ? hiaG_insert(g, fn, at, HIA_OP_IF, exits, 1, u->types, u->n, 0, loop.loc)
                     : hiaG_add(g, fn, region, HIA_OP_IF, exits, 1, u->types, u->n, 0, loop.loc);
  hia_region_id then = fn->nodes.data[branch].regions;
  if (round == u->rounds) {
    guard(u->s, then, u->types, u->n, loop.loc);
    hiaG_yield(g, fn, then + 1, exits + 1, u->n);
    return branch;
  }
  hiaG_copy_region(g, fn, then, HIA_NONE, fn, head + 1, u->map, HIA_NONE);
  hia_value_id *next = HIA_NEW_ARRAY(u->s->scratch, hia_value_id, loop.n_ins + 1);
  mapped(u, hiaG_yield_of(fn, head + 1), 0, next);
  hia_node_id inner = unroll(u, next, round + 1, then, HIA_NONE);
  hia_value_id *outs = HIA_NEW_ARRAY(u->s->scratch, hia_value_id, u->n + 1);
  for (uint32_t i = 0; i < u->n; i++) outs[i] = hiaG_out(fn, inner, i);
  hiaG_yield(g, fn, then, outs, u->n);
  guard(u->s, then + 1, u->types, u->n, loop.loc);
  return branch;
}

static bool is_short(const hia_fn *fn, hia_node_id loop, uint64_t rounds) {
  hia_node_id end = hiaG_walk_over(fn, loop);
  uint64_t n_nodes = 0;
  if (rounds > MAX_ROUNDS) return false;
  for (hia_node_id n = hiaG_walk_next(fn, loop); n != end; n = hiaG_walk_next(fn, n)) n_nodes++;
  return (rounds + 1) * n_nodes <= MAX_UNROLLED;
}

static void unroll_loop(supposing *s, hia_node_id loop, uint64_t rounds) {
  hia_fn *fn = s->fn;
  const hia_node node = fn->nodes.data[loop];
  unrolling u = {.s = s,
                 .loop = loop,
                 .types = types_of(s, node.outs, node.n_outs),
                 .n = node.n_outs,
                 .rounds = (uint32_t)rounds,
                 .map = HIA_NEW_ARRAY(s->scratch, hia_value_id, fn->values.len),
                 .n_map = fn->values.len};
  memset(u.map, 0xff, u.n_map * sizeof *u.map);
  hia_value_id *first = HIA_NEW_ARRAY(s->scratch, hia_value_id, node.n_ins + 1);
  for (uint32_t i = 0; i < node.n_ins; i++) first[i] = hiaG_in(fn, loop, i);
  hia_node_id branch = unroll(&u, first, 0, node.region, loop);
  hia_value_id *map = HIA_NEW_ARRAY(s->scratch, hia_value_id, fn->values.len);
  memset(map, 0xff, fn->values.len * sizeof *map);
  for (uint32_t i = 0; i < node.n_outs; i++) map[node.outs + i] = hiaG_out(fn, branch, i);
  hiaG_substitute(fn, map);
  hiaG_remove(fn, loop);
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
    if (hiaG_fn(s->g, point->fn)->is_root || (!all && !decides(fn, hiaG_out(fn, n, 0))))
      return false;
    know_param(s, n, word);
    return true;
  case HIA_POINT_ROUNDS:
    if (!is_short(fn, n, word)) return false;
    unroll_loop(s, n, word);
    return true;
  }
  return false;
}

uint32_t hiaG_suppose(hia_graph *g, const hia_point *points, const hia_fact *facts, uint32_t n,
                      bool all, bool *used) {
  supposing s = {.g = g, .scratch = &g->comp->scratch};
  uint32_t n_used = 0;
  for (uint32_t i = 0; i < n; i++) {
    const hia_point *point = &points[facts[i].point];
    hia_mark mark = hiaR_arena_mark(s.scratch);
    s.fn = hiaG_fn(g, point->fn);
    s.number = i;
    used[i] = suppose(&s, point, facts[i].word, all);
    n_used += used[i];
    hiaR_arena_release(s.scratch, mark);
  }
  for (uint32_t i = 0; i < n; i++) {
    bool is_changed = used[i];
    hia_fn_id fn = points[facts[i].point].fn;
    for (; i + 1 < n && points[facts[i + 1].point].fn == fn; i++) is_changed |= used[i + 1];
    if (is_changed) hiaG_compact(g, hiaG_fn(g, fn));
  }
  return n_used;
}
