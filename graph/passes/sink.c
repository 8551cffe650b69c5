/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* sink: what follows a branch moves into its arms, where only one of them leads to parallel work.
 *
 *     a = loop ..                           a = loop ..
 *     b = if a { call f(x) } else { 0 }     c = if a { b = call f(x)
 *     r = call f(y)                                    r = call f(y)        may be forked
 *     yield b + r                                      b + r }
 *                                               else { call f(y) }          a tail call
 *                                           yield c
 *
 * This is tail duplication. Searches have this form: a test of each candidate, which loops, and a
 * call for those that pass it. Without the pass the second call is forked beside the test, which
 * is short, and a worker pays for a fork and a frame for each candidate. Now only candidates that
 * pass do, and the others are rounds of a loop (tail.c).
 *
 * Tail calls are in no backtrace, so functions that can fail stay as they are. What follows the
 * branch is copied, so it must be short. Where no loop stands before the branch, recursion is
 * unrolled instead (unroll.c), which copies more if there is more to copy.
 *
 * Requires hiaG_effects and a function without forks; keeps everything but the numbering. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MAX_NODES = 12, /* behind the branch */
  MAX_SINKS = 8,  /* in a function: each takes time with the function's size */
  MAX_QUIET = 12  /* nodes in the arm without a call */
};

typedef struct sinking {
  hia_graph *g;
  hia_fn *fn;
  hia_region_id region;
  hia_node_id branch;
  hia_node_id behind[MAX_NODES]; /* the nodes behind the branch, last first */
  uint32_t n_behind;
} sinking;

static bool is_own_call(const sinking *s, hia_node_id n) {
  const hia_node *node = &s->fn->nodes.data[n];
  return node->op == HIA_OP_CALL && hiaG_fn(s->g, hiaG_callee(node))->group == s->fn->group;
}

static bool takes_long(const sinking *s, hia_node_id n) {
  unsigned op = s->fn->nodes.data[n].op;
  return op == HIA_OP_LOOP || op == HIA_OP_MAP || op == HIA_OP_HOST ||
         (op == HIA_OP_CALL && hiaG_node_effects(s->g, s->fn, n) & HIA_E_DIVERGES);
}

/* Finds the branch, and what is behind it: a call of the group, and short operations. */
static bool find_branch(sinking *s) {
  const hia_fn *fn = s->fn;
  hia_node_id n = fn->nodes.data[hiaG_yield_of(fn, s->region)].prev;
  s->n_behind = 0;
  bool calls = false;
  for (; n != HIA_NONE && fn->nodes.data[n].op != HIA_OP_IF; n = fn->nodes.data[n].prev) {
    if (s->n_behind == MAX_NODES || hiaG_n_regions(fn->nodes.data[n].op)) return false;
    if (takes_long(s, n)) {
      if (calls || !is_own_call(s, n)) return false;
      calls = true;
    }
    s->behind[s->n_behind++] = n;
  }
  s->branch = n;
  return n != HIA_NONE && calls;
}

/* True if the arm has a call of the group. *n: its nodes; *is_long: some of them take long. */
static bool has_call(const sinking *s, hia_region_id arm, uint32_t *n, bool *is_long) {
  bool has = false;
  hia_node_id end = hiaG_yield_of(s->fn, arm);
  *n = 0;
  *is_long = false;
  for (hia_node_id at = s->fn->regions.data[arm].first; at != end; at = hiaG_walk_next(s->fn, at)) {
    has |= is_own_call(s, at);
    *is_long |= takes_long(s, at);
    ++*n;
  }
  return has;
}

/* One arm calls, and the other does little. */
static bool has_quiet_arm(const sinking *s) {
  hia_region_id arms = s->fn->nodes.data[s->branch].regions;
  uint32_t n[2];
  bool is_long[2], calls[2];
  for (uint32_t i = 0; i < 2; i++) calls[i] = has_call(s, arms + i, &n[i], &is_long[i]);
  uint32_t quiet = calls[0];
  return calls[0] != calls[1] && !is_long[quiet] && n[quiet] <= MAX_QUIET;
}

/* True if a loop, or a call of another function that takes long, stands before the branch. */
static bool tests_long(const sinking *s) {
  for (hia_node_id n = s->fn->nodes.data[s->branch].prev; n != HIA_NONE;
       n = s->fn->nodes.data[n].prev)
    if (takes_long(s, n) && !is_own_call(s, n)) return true;
  return false;
}

static hia_value_id mapped(const hia_value_id *map, hia_value_id v) {
  return map[v] == HIA_NONE ? v : map[v];
}

/* Copies what is behind the branch to the end of an arm, which then yields what the region yielded.
 */
static void copy_into(sinking *s, hia_region_id arm, hia_value_id *map) {
  hia_fn *fn = s->fn;
  hia_arena *scratch = &s->g->comp->scratch;
  hia_node_id end = hiaG_yield_of(fn, arm), outer_end = hiaG_yield_of(fn, s->region);
  for (uint32_t i = 0; i < fn->nodes.data[s->branch].n_outs; i++)
    map[hiaG_out(fn, s->branch, i)] = hiaG_in(fn, end, i);
  for (uint32_t k = s->n_behind; k-- > 0;) {
    const hia_node node = fn->nodes.data[s->behind[k]];
    hia_value_id *ins = HIA_NEW_ARRAY(scratch, hia_value_id, node.n_ins + 1u);
    hia_type *types = HIA_NEW_ARRAY(scratch, hia_type, node.n_outs + 1u);
    for (uint32_t i = 0; i < node.n_ins; i++) ins[i] = mapped(map, hiaG_in(fn, s->behind[k], i));
    for (uint32_t i = 0; i < node.n_outs; i++) types[i] = hiaG_type(fn, node.outs + i);
    hia_node_id copy = hiaG_insert(s->g, fn, end, node.op, ins, node.n_ins, types, node.n_outs,
                                   node.imm, node.loc);
    fn->nodes.data[copy].flags = node.flags;
    for (uint32_t i = 0; i < node.n_outs; i++) map[node.outs + i] = hiaG_out(fn, copy, i);
  }
  uint32_t n = fn->nodes.data[outer_end].n_ins;
  hia_value_id *out = HIA_NEW_ARRAY(scratch, hia_value_id, n + 1u);
  for (uint32_t i = 0; i < n; i++) out[i] = mapped(map, hiaG_in(fn, outer_end, i));
  hiaG_set_ins(s->g, fn, end, out, n);
}

static void sink(sinking *s) {
  hia_fn *fn = s->fn;
  hia_arena *scratch = &s->g->comp->scratch;
  hia_region_id arms = fn->nodes.data[s->branch].regions;
  uint32_t n_values = fn->values.len;
  hia_value_id *map = HIA_NEW_ARRAY(scratch, hia_value_id, n_values);
  for (uint32_t i = 0; i < 2; i++) {
    memset(map, 0xff, n_values * sizeof *map);
    copy_into(s, arms + i, map);
  }
  for (uint32_t k = 0; k < s->n_behind; k++) hiaG_remove(fn, s->behind[k]);
  hia_node_id end = hiaG_yield_of(fn, s->region);
  uint32_t n = fn->nodes.data[end].n_ins;
  hia_type *types = HIA_NEW_ARRAY(scratch, hia_type, n + 1u);
  hia_value_id *outs = HIA_NEW_ARRAY(scratch, hia_value_id, n + 1u);
  for (uint32_t i = 0; i < n; i++) types[i] = hiaG_type(fn, hiaG_in(fn, end, i));
  hiaG_set_outs(s->g, fn, s->branch, types, n);
  for (uint32_t i = 0; i < n; i++) outs[i] = hiaG_out(fn, s->branch, i);
  hiaG_set_ins(s->g, fn, end, outs, n);
}

/* True if the region yields the results of the call, and nothing else. */
static bool is_yielded(const hia_fn *fn, hia_node_id call) {
  const hia_node *node = &fn->nodes.data[call];
  hia_node_id end = hiaG_yield_of(fn, node->region);
  if (fn->nodes.data[end].n_ins != node->n_outs) return false;
  for (uint32_t i = 0; i < node->n_outs; i++)
    if (hiaG_in(fn, end, i) != node->outs + i) return false;
  return true;
}

void hiaG_sink(hia_graph *g, hia_fn *fn) {
  if (!(fn->effects & HIA_E_RECURSIVE) || fn->effects & HIA_E_RAISES) return;
  sinking s = {.g = g, .fn = fn};
  uint32_t n = 0, n_regions = fn->regions.len;
  for (s.region = 0; s.region < n_regions && n < MAX_SINKS; s.region++) {
    hia_region_kind kind = fn->regions.data[s.region].kind;
    if (kind != HIA_REGION_BODY && kind != HIA_REGION_THEN && kind != HIA_REGION_ELSE) continue;
    if (!find_branch(&s) || !tests_long(&s) || !has_quiet_arm(&s)) continue;
    sink(&s);
    n++;
  }
  if (!n) return;
  hiaG_fold(g, fn);
  hiaG_compact(g, fn);
  HIA_EACH_NODE(fn, call)
    if (is_own_call(&s, call) && is_yielded(fn, call)) fn->nodes.data[call].flags |= HIA_NODE_TAIL;
}
