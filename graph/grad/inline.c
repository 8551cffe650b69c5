/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is differentiated has the bodies of its small helpers in it. Else each call of one would
 * have a tape, an object of its own, and what is known about sizes would end at its border. It
 * happens here and not in the pass `inline`, which comes later and depends on options: gradients do
 * not.
 *
 * That is also so of functions whose calls a gradient makes again: as a call of its own such a
 * function would add up what flows to its arguments before its caller adds that to what flows there
 * from elsewhere, so the mark would change how gradients are rounded. Their bodies stand between
 * two nodes (HIA_NODE_BEGIN, HIA_NODE_END): again.c. */
#include "graph/analysis/effects.h"
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MOST_NODES = 200,  /* of a body that is copied */
  MAX_GROWTH = 4000, /* nodes that one function may grow by */
};

/* Looks at the functions that there are now; what was inlined before stays. */
static void look(hia_grad *d) {
  uint32_t n = d->g->fns.len;
  hia_fn **inlined = HIA_NEW_ARRAY(d->arena, hia_fn *, (size_t)n + 1);
  for (uint32_t i = 0; i < d->n_looked_at; i++) inlined[i] = d->inlined[i];
  d->inlined = inlined;
  d->n_looked_at = n;
  d->effects = hiaG_find_effects(d->g, d->arena, &d->groups);
}

static bool may_inline(const hia_grad *d, hia_fn_id f) {
  return !(d->effects[f] & HIA_E_RECURSIVE) && hiaG_fn(d->g, f)->gradient == HIA_NONE;
}

/* Puts the two nodes around a call. */
static void bracket(hia_grad *d, hia_fn *fn, hia_node_id call, hia_fn_id callee) {
  hia_loc_id loc = fn->nodes.data[call].loc;
  hia_type type = HIA_BOOL;
  hia_node_id next = fn->nodes.data[call].next;
  hia_node_id begin = hiaG_insert(d->g, fn, call, HIA_OP_UNDEF, NULL, 0, &type, 1, callee, loc);
  hia_node_id end = hiaG_insert(d->g, fn, next, HIA_OP_UNDEF, NULL, 0, &type, 1, callee, loc);
  fn->nodes.data[begin].flags |= HIA_NODE_BEGIN;
  fn->nodes.data[end].flags |= HIA_NODE_END;
}

static uint32_t n_nodes(const hia_fn *fn) {
  uint32_t n = 0;
  HIA_EACH_NODE(fn, at) n += hiaR_ops[fn->nodes.data[at].op].cost > 0;
  return n;
}

static hia_fn *copy_of(hia_grad *d, const hia_fn *fn) {
  hia_graph *g = d->g;
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, fn->name, ".inlined"), fn->source, fn->loc,
                             fn->params, fn->n_params, fn->results, fn->n_results);
  hia_fn *copy = hiaG_fn(g, id);
  hia_value_id *map = HIA_NEW_ARRAY(d->arena, hia_value_id, (size_t)fn->values.len + 1);
  memset(map, 0xff, fn->values.len * sizeof *map);
  for (uint32_t i = 0; i < fn->n_params; i++) map[hiaG_out(fn, i, 0)] = hiaG_out(copy, i, 0);
  hiaG_copy_region(g, copy, 0, HIA_NONE, fn, 0, map, HIA_NONE);
  hia_node_id yield = hiaG_yield_of(fn, 0);
  hia_u32vec results = {0};
  for (uint32_t i = 0; i < fn->n_results; i++)
    hiaR_push(d->arena, &results, map[hiaG_in(fn, yield, i)]);
  hiaG_yield(g, copy, 0, results.data, results.len);
  copy->name = fn->name; /* which messages name */
  copy->is_removed = true;
  return copy;
}

/* Sizes and indices that are constant where a helper is called: integers, whose ops do not fail. */
static void fold(hia_grad *d, hia_fn *fn, hia_node_id n, hia_subst *subst) {
  const hia_node *node = &fn->nodes.data[n];
  hia_word words[3], result;
  if (node->n_ins == 0 || node->n_ins > HIA_LEN(words) || !hiaG_is_scalar_op(fn, n)) return;
  hia_type type = hiaG_type(fn, node->outs);
  if (type == HIA_F32 || type == HIA_F64) return;
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (!hiaG_is_const(fn, hiaG_in(fn, n, i), &words[i])) return;
  if (hiaR_scalar_eval(node->op, hiaG_node_dtype(d->g, fn, n), node->imm, words, &result)) return;
  hia_node_id constant =
      hiaG_insert(d->g, fn, n, HIA_OP_CONST, NULL, 0, &type, 1, result, node->loc);
  hiaG_replace(subst, fn->nodes.data[n].outs, hiaG_out(fn, constant, 0));
  hiaG_remove(fn, n);
}

/* A call that is none any more is not counted, and uses no fuel: so these are the same in graphs
 * with COUNT nodes and in others. */
static void remove_count(hia_fn *fn, hia_node_id call) {
  hia_node_id before = fn->nodes.data[call].prev;
  if (before == HIA_NONE) return;
  const hia_node *node = &fn->nodes.data[before];
  if (node->op == HIA_OP_COUNT && node->imm == 0) hiaG_remove(fn, before);
}

/* Callees come first: what they call is in them already. */
static hia_fn *inline_into(hia_grad *d, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(d->g, f);
  hia_fn *copy = copy_of(d, fn);
  hia_subst subst = hiaG_subst(d->g, copy);
  uint32_t grown = 0;
  for (hia_node_id n = copy->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, copy, n);
    next = hiaG_walk_next(copy, n);
    if (copy->nodes.data[n].op != HIA_OP_CALL) {
      fold(d, copy, n, &subst);
      continue;
    }
    hia_fn_id callee = hiaG_callee(&copy->nodes.data[n]);
    if (!may_inline(d, callee)) continue;
    uint32_t size = n_nodes(d->inlined[callee]);
    if (size > MOST_NODES || grown + size > MAX_GROWTH) continue;
    grown += size;
    remove_count(copy, n);
    if (hiaG_fn(d->g, callee)->is_recomputed) bracket(d, copy, n, callee);
    hia_node_id before = copy->nodes.data[n].prev;
    hia_region_id region = copy->nodes.data[n].region;
    hiaG_inline_call(d->g, copy, n, d->inlined[callee], &subst);
    next = before == HIA_NONE ? copy->regions.data[region].first : copy->nodes.data[before].next;
  }
  hiaG_compact(d->g, copy);
  return copy;
}

/* The list of functions to visit is a stack, since a chain of helpers may be as long as the
 * program.
 */
hia_fn *hiaG_grad_inlined(hia_grad *d, hia_fn_id f) {
  if (!d->effects) look(d);
  hia_u32vec left = {0};
  hiaR_push(d->arena, &left, f);
  while (left.len) {
    hia_fn_id at = left.data[left.len - 1];
    const hia_fn *fn = hiaG_fn(d->g, at);
    uint32_t n_before = left.len;
    if (d->inlined[at]) {
      left.len--;
      continue;
    }
    HIA_EACH_NODE(fn, n) {
      if (fn->nodes.data[n].op != HIA_OP_CALL) continue;
      hia_fn_id callee = hiaG_callee(&fn->nodes.data[n]);
      if (may_inline(d, callee) && !d->inlined[callee]) hiaR_push(d->arena, &left, callee);
    }
    if (left.len == n_before) d->inlined[at] = inline_into(d, at);
  }
  return d->inlined[f];
}
