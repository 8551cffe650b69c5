/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* inline: replaces calls of small functions that are not recursive by the body.
 *
 * Works from callees to callers (requires hiaG_effects for the groups), so the calls of a body have
 * been inlined before the body is copied. A function is inlined if it is small, or if it has only
 * one call, is no root, and is of moderate size. Calls of recursive functions stay; unroll.c
 * treats those.
 *
 * It runs again behind tail.c, over functions that have become loops and have only one call
 * (hiaG_inline_loops). LLVM would not inline those that can fail, because backtraces need their
 * frames.
 *
 * Backtraces stay the source's: the location of a copied node gets the position of the call as its
 * parent; or the parent of that position if the call was a tail call, because tail calls are in no
 * backtrace. A copied call keeps its HIA_NODE_TAIL: the flag says what the call was in the source,
 * wherever its copy stands. Whether a call is still in tail position depends on the structure
 * (tail.c tests both).
 *
 * A function whose last call has been inlined is removed at once: later passes would only lose
 * time.
 *
 * What a gradient computes again (is_recomputed) is not inlined: what it shares with the call that
 * it repeats would be computed once, and kept from there on.
 *
 * COUNT nodes stand before calls, in the caller: they stay when the call is replaced. */
#include "graph/analysis/groups.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  SMALL_COST = 40, /* cycles of the op table: about three times a call and its return */
  SMALL_NODES = 40,
  SINGLE_NODES = 100, /* of a function with one call */
  MAX_GROWTH = 4000,  /* nodes that one function may grow by */
};

typedef struct size {
  uint32_t cost, nodes;
  bool has_forks; /* fork numbers are unique only within a function: it is not inlined */
} size;

typedef struct inlining {
  hia_graph *g;
  bool loops_only;   /* the second time: functions that were recursive the first time */
  size *sizes;       /* by function, once its own calls have been inlined */
  uint32_t *n_calls; /* by function: calls, forks and joins of it in the graph */
} inlining;

static bool calls(unsigned op) {
  return op == HIA_OP_CALL || op == HIA_OP_FORK || op == HIA_OP_JOIN;
}

static size size_of(const hia_fn *fn) {
  size s = {0};
  HIA_EACH_NODE(fn, n) {
    const hia_op_info *op = &hiaR_ops[fn->nodes.data[n].op];
    s.cost += op->cost;
    if (op->cost) s.nodes++;
    if (fn->nodes.data[n].op == HIA_OP_FORK) s.has_forks = true;
  }
  return s;
}

static bool is_wanted(const inlining *i, const hia_fn *caller, hia_fn_id callee) {
  const hia_fn *fn = hiaG_fn(i->g, callee);
  if (fn->effects & HIA_E_RECURSIVE || fn == caller) return false;
  if (fn->is_recomputed || fn->is_freezing) return false;
  size s = i->sizes[callee];
  if (s.has_forks) return false;
  if (!i->loops_only && s.cost <= SMALL_COST && s.nodes <= SMALL_NODES) return true;
  return i->n_calls[callee] == 1 && !fn->is_root && s.nodes <= SINGLE_NODES;
}

void hiaG_inline_call(hia_graph *g, hia_fn *fn, hia_node_id call, const hia_fn *callee,
                      hia_subst *subst) {
  hia_arena *scratch = &g->comp->scratch;
  hia_node node = fn->nodes.data[call];
  hia_value_id *map = HIA_NEW_ARRAY(scratch, hia_value_id, callee->values.len);
  memset(map, 0xff, callee->values.len * sizeof *map);
  HIA_EACH_ARG(callee, 0, arg)
    map[hiaG_out(callee, arg, 0)] = hiaG_in(fn, call, HIA_IMM_A(callee->nodes.data[arg].imm));
  hia_arena *arena = &g->comp->arena; /* growing once is cheaper than node by node */
  hiaR_reserve(arena, &fn->nodes, fn->nodes.len + callee->nodes.len);
  hiaR_reserve(arena, &fn->values, fn->values.len + callee->values.len);
  hiaR_reserve(arena, &fn->edges, fn->edges.len + callee->edges.len);
  hia_loc_id parent = node.loc;
  if (node.flags & HIA_NODE_TAIL && parent != HIA_NONE) parent = g->locs.data[parent].parent;
  hiaG_copy_region(g, fn, node.region, call, callee, 0, map, parent);
  hia_node_id yield = hiaG_yield_of(callee, 0);
  for (uint32_t r = 0; r < node.n_outs; r++)
    hiaG_replace(subst, node.outs + r, map[hiaG_in(callee, yield, r)]);
  hiaG_remove(fn, call);
}

static void copy_body(inlining *i, hia_fn *fn, hia_node_id call, hia_subst *subst) {
  hia_fn_id callee = hiaG_callee(&fn->nodes.data[call]);
  hiaG_inline_call(i->g, fn, call, hiaG_fn(i->g, callee), subst);
  if (--i->n_calls[callee] == 0 && !hiaG_fn(i->g, callee)->is_root)
    hiaG_fn(i->g, callee)->is_removed = true;
}

static void inline_into(inlining *i, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(i->g, f);
  hia_subst subst = hiaG_subst(i->g, fn);
  uint32_t grown = 0;
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_CALL) continue;
    hia_fn_id callee = hiaG_callee(&fn->nodes.data[n]);
    if (!is_wanted(i, fn, callee) || grown + i->sizes[callee].nodes > MAX_GROWTH) continue;
    grown += i->sizes[callee].nodes;
    copy_body(i, fn, n, &subst);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(i->g, fn);
  i->sizes[f] = size_of(fn);
}

static void inline_all(hia_graph *g, bool loops_only) {
  hia_arena *scratch = &g->comp->scratch;
  uint32_t n = g->fns.len;
  inlining i = {.g = g, .loops_only = loops_only};
  i.sizes = HIA_NEW_ARRAY(scratch, size, n);
  i.n_calls = HIA_NEW_ARRAY(scratch, uint32_t, n);
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->slow_path != HIA_NONE) i.n_calls[fn->slow_path]++;
    HIA_EACH_NODE(fn, at)
      if (calls(fn->nodes.data[at].op)) i.n_calls[hiaG_callee(&fn->nodes.data[at])]++;
  }
  const hia_fn_order order = hiaG_callees_first(scratch, g);
  for (uint32_t k = 0; k < order.n; k++) {
    hia_mark mark = hiaR_arena_mark(scratch);
    inline_into(&i, order.fns[k]);
    hiaR_arena_release(scratch, mark);
  }
}

void hiaG_inline(hia_graph *g) { inline_all(g, false); }

void hiaG_inline_loops(hia_graph *g) { inline_all(g, true); }
