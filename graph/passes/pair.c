/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* pair: loops whose rounds make calls execute two rounds at a time, so that the call of the second
 * can be forked while the first is made (fork.c).
 *
 *     loop (i, s) while i < n {            loop (i, s) while i < n {
 *       (i + 1, s + f(i))                    if i + 1 < n {
 *     }                                        a = f(i); b = f(i + 1)      b may be forked
 *                                              (i + 2, s + a + b)
 *                                            } else { (i + 1, s + f(i)) }
 *                                          }
 *
 * This is loop unrolling by two. One would split the rounds into halves, and these again, as
 * parallel loops do. But the number of rounds is not known before a loop ends, and what the rounds
 * pass on is computed in order. Two calls at a time are enough where each call makes further ones:
 * a worker whose call has ended steals from within the other.
 *
 * Whether there is a second round must be known before the first round's calls. So the condition,
 * and the variables that it and the arguments of a call depend on, must be computed by operations
 * that may be moved before those calls: they cannot fail, and need no result of a call. All other
 * variables stay in order.
 *
 * Requires hiaG_effects and a function without forks; keeps everything but the numbering. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MAX_NODES = 60, /* of a round, of which three copies are made */
  MAX_LOOPS = 16  /* of a function: each takes time with the function's size */
};

typedef struct pairing {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn;
  hia_region_id head, round; /* of the loop */
  hia_value_id *variables;   /* of the loop: the results of the head's ARG nodes */
  bool *is_early;            /* by node: it is needed to know the second round's values */
  hia_u32vec early;          /* these nodes */
  hia_u32vec todo;           /* values */
} pairing;

/* ---- which loops ---- */

static bool may_diverge(const pairing *p, hia_node_id n) {
  if (p->fn->nodes.data[n].op != HIA_OP_CALL) return false;
  unsigned effects = hiaG_node_effects(p->g, p->fn, n);
  return effects & HIA_E_DIVERGES && !(effects & HIA_E_IMPURE);
}

/* Marks what is needed to compute the values of p->todo for the next round. False: some of it may
 * not be moved. */
static bool mark_early(pairing *p) {
  const hia_fn *fn = p->fn;
  while (p->todo.len) {
    hia_value_id v = p->todo.data[--p->todo.len];
    hia_node_id n = fn->values.data[v].node;
    const hia_node *node = &fn->nodes.data[n];
    if ((node->region != p->head && node->region != p->round) || p->is_early[n]) continue;
    p->is_early[n] = true;
    hiaR_push(p->scratch, &p->early, n);
    if (node->op == HIA_OP_ARG) { /* a variable: its value in the next round */
      hiaR_push(p->scratch, &p->todo,
                hiaG_in(fn, hiaG_yield_of(fn, p->round), HIA_IMM_A(node->imm)));
      continue;
    }
    if (!hiaG_node_movable(p->g, fn, n)) return false;
    for (uint32_t i = 0; i < node->n_ins; i++) hiaR_push(p->scratch, &p->todo, hiaG_in(fn, n, i));
  }
  return true;
}

/* Unmarks the nodes that were marked since there were `n` of them. */
static void forget(pairing *p, uint32_t n) {
  while (p->early.len > n) p->is_early[p->early.data[--p->early.len]] = false;
}

/* True if the arguments of a call of the round do not depend on other calls. */
static bool is_independent(pairing *p, hia_node_id call) {
  uint32_t before = p->early.len;
  p->todo.len = 0;
  for (uint32_t i = 0; i < p->fn->nodes.data[call].n_ins; i++)
    hiaR_push(p->scratch, &p->todo, hiaG_in(p->fn, call, i));
  if (mark_early(p)) return true;
  forget(p, before);
  return false;
}

/* The loop's head must compute only, so that it can be copied into a round. */
static bool can_copy_head(const pairing *p) {
  const hia_fn *fn = p->fn;
  hia_node_id end = hiaG_yield_of(fn, p->head);
  for (hia_node_id n = fn->regions.data[p->head].first; n != end; n = fn->nodes.data[n].next)
    if (fn->nodes.data[n].op != HIA_OP_ARG && !hiaG_node_movable(p->g, fn, n)) return false;
  return true;
}

static bool is_wanted(pairing *p, hia_node_id loop) {
  const hia_fn *fn = p->fn;
  p->head = fn->nodes.data[loop].regions;
  p->round = p->head + 1;
  forget(p, 0);
  p->todo.len = 0;
  hiaR_push(p->scratch, &p->todo, hiaG_in(fn, hiaG_yield_of(fn, p->head), 0));
  if (!can_copy_head(p) || !mark_early(p)) return false;
  uint32_t n_nodes = 0;
  bool has_calls = false;
  hia_node_id end = hiaG_yield_of(fn, p->round);
  for (hia_node_id n = fn->regions.data[p->round].first; n != end; n = hiaG_walk_next(fn, n)) {
    if (++n_nodes > MAX_NODES) return false;
    if (fn->nodes.data[n].op == HIA_OP_FORK) return false; /* in a graph that was read */
    if (fn->nodes.data[n].region == p->round && may_diverge(p, n))
      has_calls |= is_independent(p, n);
  }
  return has_calls;
}

/* ---- two rounds in one ---- */

typedef struct pair_map {
  hia_value_id *to; /* by value of the old loop; NONE: the value itself */
  uint32_t n;
} pair_map;

static pair_map copy_map(pairing *p, const pair_map *from) {
  pair_map map = {HIA_NEW_ARRAY(p->scratch, hia_value_id, from->n), from->n};
  memcpy(map.to, from->to, from->n * sizeof *map.to);
  return map;
}

static hia_value_id mapped(const pair_map *map, hia_value_id v) {
  return map->to[v] == HIA_NONE ? v : map->to[v];
}

/* The operands of the old region's YIELD, from operand `first` on, mapped. */
static hia_value_id *yielded(pairing *p, hia_region_id old, uint32_t first, const pair_map *map) {
  hia_node_id yield = hiaG_yield_of(p->fn, old);
  uint32_t n = p->fn->nodes.data[yield].n_ins - first;
  hia_value_id *values = HIA_NEW_ARRAY(p->scratch, hia_value_id, n + 1);
  for (uint32_t i = 0; i < n; i++) values[i] = mapped(map, hiaG_in(p->fn, yield, first + i));
  return values;
}

/* Copies the early nodes of one of the old regions to the end of `to`. */
static void copy_early(pairing *p, hia_region_id old, hia_region_id to, pair_map *map) {
  hia_fn *fn = p->fn;
  hia_node_id end = hiaG_yield_of(fn, old);
  for (hia_node_id n = fn->regions.data[old].first; n != end; n = fn->nodes.data[n].next) {
    const hia_node node = fn->nodes.data[n];
    if (!p->is_early[n] || node.op == HIA_OP_ARG) continue;
    hia_value_id *ins = HIA_NEW_ARRAY(p->scratch, hia_value_id, node.n_ins + 1);
    hia_type *types = HIA_NEW_ARRAY(p->scratch, hia_type, node.n_outs + 1);
    for (uint32_t i = 0; i < node.n_ins; i++) ins[i] = mapped(map, hiaG_in(fn, n, i));
    for (uint32_t i = 0; i < node.n_outs; i++) types[i] = hiaG_type(fn, node.outs + i);
    hia_node_id copy =
        hiaG_add(p->g, fn, to, node.op, ins, node.n_ins, types, node.n_outs, node.imm, node.loc);
    for (uint32_t i = 0; i < node.n_outs; i++) map->to[node.outs + i] = hiaG_out(fn, copy, i);
  }
}

/* Copies a round to the end of `to`, where the loop's variables have the values `now`. The head's
 * values are computed again if `map` does not have them. Returns the variables' next values. */
static hia_value_id *copy_round(pairing *p, hia_region_id to, pair_map map, const hia_value_id *now,
                                uint32_t n) {
  if (now) {
    memset(map.to, 0xff, map.n * sizeof *map.to);
    for (uint32_t i = 0; i < n; i++) map.to[p->variables[i]] = now[i];
    hiaG_copy_region(p->g, p->fn, to, HIA_NONE, p->fn, p->head, map.to, HIA_NONE);
  }
  hiaG_copy_region(p->g, p->fn, to, HIA_NONE, p->fn, p->round, map.to, HIA_NONE);
  return yielded(p, p->round, 0, &map);
}

static hia_value_id condition_of_second(pairing *p, hia_region_id round, const pair_map *first) {
  pair_map map = copy_map(p, first), next = copy_map(p, first);
  copy_early(p, p->round, round, &map);
  const hia_value_id *values = yielded(p, p->round, 0, &map);
  hia_node_id end = hiaG_yield_of(p->fn, p->head);
  for (hia_node_id n = p->fn->regions.data[p->head].first; n != end; n = p->fn->nodes.data[n].next)
    if (p->fn->nodes.data[n].op == HIA_OP_ARG)
      next.to[hiaG_out(p->fn, n, 0)] = values[HIA_IMM_A(p->fn->nodes.data[n].imm)];
  copy_early(p, p->head, round, &next);
  return mapped(&next, hiaG_in(p->fn, end, 0));
}

static void pair_rounds(pairing *p, hia_node_id loop, hia_subst *subst) {
  hia_graph *g = p->g;
  hia_fn *fn = p->fn;
  hia_node_id end = hiaG_walk_over(fn, loop);
  for (hia_node_id at = hiaG_walk_next(fn, loop); at != end; at = hiaG_walk_next(fn, at))
    hiaG_rewrite_ins(subst, fn, at); /* before it is copied */
  const hia_node old = fn->nodes.data[loop];
  uint32_t n = old.n_ins;
  hia_value_id *ins = HIA_NEW_ARRAY(p->scratch, hia_value_id, n + 1);
  hia_type *types = HIA_NEW_ARRAY(p->scratch, hia_type, n + 1),
           *results = HIA_NEW_ARRAY(p->scratch, hia_type, old.n_outs + 1);
  for (uint32_t i = 0; i < n; i++) types[i] = hiaG_type(fn, ins[i] = hiaG_in(fn, loop, i));
  for (uint32_t i = 0; i < old.n_outs; i++) results[i] = hiaG_type(fn, old.outs + i);
  pair_map first = {HIA_NEW_ARRAY(p->scratch, hia_value_id, fn->values.len), fn->values.len};
  memset(first.to, 0xff, first.n * sizeof *first.to);
  p->variables = HIA_NEW_ARRAY(p->scratch, hia_value_id, n + 1);
  HIA_EACH_ARG(fn, p->head, a) p->variables[HIA_IMM_A(fn->nodes.data[a].imm)] = hiaG_out(fn, a, 0);

  hia_node_id pairs =
      hiaG_insert(g, fn, loop, HIA_OP_LOOP, ins, n, results, old.n_outs, old.imm, old.loc);
  hia_region_id head = fn->nodes.data[pairs].regions, round = head + 1;
  for (uint32_t i = 0; i < n; i++) {
    hia_node_id arg = hiaG_add(g, fn, head, HIA_OP_ARG, NULL, 0, &types[i], 1, i, old.loc);
    first.to[p->variables[i]] = hiaG_out(fn, arg, 0);
  }
  hiaG_copy_region(g, fn, head, HIA_NONE, fn, p->head, first.to, HIA_NONE);
  hiaG_yield(g, fn, head, yielded(p, p->head, 0, &first), 1 + old.n_outs);

  hia_value_id has_second = condition_of_second(p, round, &first);
  hia_node_id branch = hiaG_add(g, fn, round, HIA_OP_IF, &has_second, 1, types, n, 0, old.loc);
  hia_region_id with_second = fn->nodes.data[branch].regions, one = with_second + 1;
  const hia_value_id *next = copy_round(p, with_second, copy_map(p, &first), NULL, n);
  next = copy_round(p, with_second, copy_map(p, &first), next, n);
  hiaG_yield(g, fn, with_second, next, n);
  next = copy_round(p, one, copy_map(p, &first), NULL, n);
  hiaG_yield(g, fn, one, next, n);
  for (uint32_t i = 0; i < n; i++) ins[i] = hiaG_out(fn, branch, i);
  hiaG_yield(g, fn, round, ins, n);
  for (uint32_t i = 0; i < old.n_outs; i++)
    hiaG_replace(subst, old.outs + i, hiaG_out(fn, pairs, i));
  hiaG_remove(fn, loop);
}

static void pair_in(hia_graph *g, hia_fn *fn) {
  pairing p = {.g = g, .scratch = &g->comp->scratch, .fn = fn};
  p.is_early = HIA_NEW_ARRAY(p.scratch, bool, fn->nodes.len); /* copies are not looked at */
  hia_subst subst = hiaG_subst(g, fn);
  uint32_t n_loops = 0;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_LOOP || n_loops == MAX_LOOPS || !is_wanted(&p, n)) continue;
    next = hiaG_walk_over(fn, n);
    pair_rounds(&p, n, &subst);
    n_loops++;
  }
  if (n_loops) hiaG_compact(g, fn);
}

void hiaG_pair(hia_graph *g) {
  HIA_EACH_FN(g, f) {
    if (hiaG_fn(g, f)->is_freezing) continue; /* the runtime asks for one round at a time */
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    pair_in(g, hiaG_fn(g, f));
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}
