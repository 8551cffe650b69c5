/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Brings a graph into a form in which segments are large: roots that are called in the program get
 * a function for these calls, and small functions that compute with tensors are copied into their
 * callers. */
#include "graph/analysis/groups.h"
#include "graph/batch/batcher.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MAX_HELPER = 200, /* nodes of a function that is copied into its callers */
  MAX_GROWTH = 4000
};

/* ---- roots ---- */

static bool *find_called(const hia_graph *g, hia_arena *arena) {
  bool *is_called = HIA_NEW_ARRAY(arena, bool, g->fns.len + 1);
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n)
      if (fn->nodes.data[n].op == HIA_OP_CALL) is_called[hiaG_callee(&fn->nodes.data[n])] = true;
  }
  return is_called;
}

/* The root's body becomes that of a new function, which it calls. */
static hia_fn_id make_inner(hia_graph *g, hia_fn_id root) {
  hia_fn *fn = hiaG_fn(g, root);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, fn->name, " inner"), fn->source, fn->loc,
                             fn->params, fn->n_params, fn->results, fn->n_results);
  hia_fn *inner = hiaG_fn(g, id);
  hia_value_id *map = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, fn->values.len + 1);
  memset(map, 0xff, (fn->values.len + 1) * sizeof *map);
  for (uint32_t i = 0; i < fn->n_params; i++) map[i] = i;
  hiaG_copy_region(g, inner, 0, HIA_NONE, fn, 0, map, HIA_NONE);
  hia_node_id yield = hiaG_yield_of(fn, 0);
  hia_value_id *ins =
      HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, (size_t)fn->n_params + fn->n_results + 1);
  for (uint32_t i = 0; i < fn->n_results; i++) ins[i] = map[hiaG_in(fn, yield, i)];
  hiaG_yield(g, inner, 0, ins, fn->n_results);
  hiaG_clear_body(g, fn);
  for (uint32_t i = 0; i < fn->n_params; i++) ins[i] = i;
  hia_node_id call =
      hiaG_add(g, fn, 0, HIA_OP_CALL, ins, fn->n_params, fn->results, fn->n_results, id, fn->loc);
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  for (uint32_t i = 0; i < fn->n_results; i++) ins[i] = hiaG_out(fn, call, i);
  hiaG_yield(g, fn, 0, ins, fn->n_results);
  return id;
}

void hiaG_batch_separate_roots(hia_graph *g, hia_arena *arena) {
  const bool *is_called = find_called(g, arena);
  uint32_t n = g->fns.len;
  hia_fn_id *inner = HIA_NEW_ARRAY(arena, hia_fn_id, n + 1);
  bool has_inner = false;
  for (hia_fn_id f = 0; f < n; f++) {
    inner[f] = HIA_NONE;
    if (hiaG_fn(g, f)->is_removed || !hiaG_fn(g, f)->is_root || !is_called[f]) continue;
    inner[f] = make_inner(g, f);
    has_inner = true;
  }
  if (!has_inner) return;
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, at) {
      hia_node *node = &fn->nodes.data[at];
      if (node->op != HIA_OP_CALL || hiaG_callee(node) >= n) continue;
      if (inner[hiaG_callee(node)] != HIA_NONE) node->imm = inner[hiaG_callee(node)];
    }
  }
}

/* ---- helpers ---- */

static bool is_helper(const hia_graph *g, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(g, f);
  bool has_tensors = false;
  uint32_t n_nodes = 0;
  if (fn->effects & HIA_E_RECURSIVE || fn->is_root) return false;
  HIA_EACH_NODE(fn, n) {
    n_nodes++;
    for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++)
      has_tensors |= hiaG_is_tensor(g, fn, hiaG_out(fn, n, i));
  }
  return has_tensors && n_nodes <= MAX_HELPER;
}

static bool inline_helpers_into(hia_graph *g, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(g, f);
  hia_subst subst = hiaG_subst(g, fn);
  uint32_t before = fn->nodes.len;
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_CALL || fn->nodes.len - before > MAX_GROWTH) continue;
    hia_fn_id callee = hiaG_callee(&fn->nodes.data[n]);
    if (callee == f || !is_helper(g, callee)) continue;
    hiaG_inline_call(g, fn, n, hiaG_fn(g, callee), &subst);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(g, fn);
  return is_changed;
}

void hiaG_batch_clean(hia_graph *g) {
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    hiaG_copy(g, fn);
    hiaG_fold(g, fn);
    hiaG_cse(g, fn);
    hiaG_dce(g, fn);
    hiaR_arena_release(&g->comp->scratch, mark);
    hiaR_look(g->comp);
  }
}

void hiaG_batch_inline_helpers(hia_graph *g) {
  hia_arena *scratch = &g->comp->scratch;
  const hia_fn_order order = hiaG_callees_first(scratch, g);
  for (uint32_t k = 0; k < order.n; k++) {
    hia_mark mark = hiaR_arena_mark(scratch);
    inline_helpers_into(g, order.fns[k]);
    hiaR_arena_release(scratch, mark);
  }
  hiaG_sweep(g);
}
