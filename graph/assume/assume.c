/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Roots that assume something of their arguments. */
#include "graph/assume/assume.h"
#include "graph/ir/build.h"
#include "graph/ir/walk.h"

static hia_value_id param_of(hia_graph *g, hia_fn *fn, uint32_t i, const hia_dims *dims) {
  hia_type type = fn->params[i];
  hia_dims shape = *dims;
  if (hiaG_has_gradients(g)) /* hia_argument.shape */
    for (uint32_t k = 0; k < dims->rank; k++) shape.dims[k] = HIA_DIM_UNKNOWN;
  uint32_t param = hiaG_argument_new(g, hiaG_dtype(g->types, type), &shape,
                                     &(hia_argument){.word = i, .shape = *dims});
  return hiaG_out(fn, hiaG_add(g, fn, 0, HIA_OP_PARAM, NULL, 0, &type, 1, param, fn->loc), 0);
}

/* A tensor that has these sizes: the passes read that. */
static hia_value_id expect(hia_graph *g, hia_fn *fn, hia_value_id x, const hia_dims *dims) {
  hia_value_id ins[1 + HIA_MAX_RANK] = {x};
  uint64_t axes = 0;
  uint32_t n = 1;
  for (uint32_t i = 0; i < dims->rank; i++) {
    if (dims->dims[i] == HIA_DIM_UNKNOWN) continue;
    ins[n++] = hiaG_const(g, fn, 0, HIA_I64, hiaR_from_i64(dims->dims[i]), fn->loc);
    axes |= UINT64_C(1) << i;
  }
  if (!axes) return x;
  hia_type type = hiaG_type(fn, x);
  return hiaG_out(fn, hiaG_add(g, fn, 0, HIA_OP_EXPECT, ins, n, &type, 1, axes, fn->loc), 0);
}

static hia_value_id assumed(hia_graph *g, hia_fn *fn, uint32_t i, const hia_assumption *of) {
  hia_type type = fn->params[i];
  switch (of->kind) {
  case HIA_ASSUME_WORD:
  case HIA_ASSUME_THIS: return hiaG_const(g, fn, 0, type, of->word, fn->loc);
  case HIA_ASSUME_SIZES: return expect(g, fn, i, &of->dims);
  case HIA_ASSUME_PARAM: return param_of(g, fn, i, &of->dims);
  default: return i;
  }
}

hia_fn_id hiaG_assume(hia_graph *g, hia_fn_id root, const hia_assumption *of) {
  const hia_fn *like = hiaG_fn(g, root);
  hia_fn_id id =
      hiaG_root_new(g, root, " assumed", like->results, like->n_results, like->sig_result);
  hia_fn *fn = hiaG_fn(g, id);
  g->is_assumed = true;
  g->first_argument = g->params.len;
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->arena, hia_value_id, fn->n_params + 1);
  for (uint32_t i = 0; i < fn->n_params; i++) ins[i] = assumed(g, fn, i, &of[i]);
  hia_node_id call = hiaG_add(g, fn, 0, HIA_OP_CALL, ins, fn->n_params, fn->results, fn->n_results,
                              HIA_IMM(root, 0), fn->loc);
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  hiaG_yield_outs(g, fn, 0, call);
  return id;
}

/* ---- what lasts ---- */

/* True if a region lies in a loop or a comprehension of its function. */
static bool is_repeated(const hia_fn *fn, hia_region_id region) {
  for (; region != HIA_NONE; region = fn->regions.data[region].parent) {
    unsigned kind = fn->regions.data[region].kind;
    if (kind == HIA_REGION_HEAD || kind == HIA_REGION_ROUND || kind == HIA_REGION_EACH) return true;
  }
  return false;
}

typedef struct finding {
  const hia_graph *g;
  bool **lasts;    /* by function, by parameter; NULL: not met so far */
  hia_u32vec todo; /* functions that were met */
} finding;

static bool *lasts_of(finding *l, hia_fn_id f) {
  if (!l->lasts[f]) {
    hia_arena *scratch = &l->g->comp->scratch;
    l->lasts[f] = HIA_NEW_ARRAY(scratch, bool, hiaG_fn(l->g, f)->n_params + 1);
    hiaR_push(scratch, &l->todo, f);
  }
  return l->lasts[f];
}

/* What counts rounds, and compares with their number, gains nothing by knowing it. */
static bool is_bound(unsigned op) {
  return hiaR_ops[op].rule == HIA_RULE_COMPARE || op == HIA_OP_YIELD;
}

/* The value is parameter i of the function, and lasts in this operand of node n. */
static bool lasts_at(finding *l, hia_fn_id f, hia_node_id n, uint32_t operand, uint32_t i) {
  const hia_fn *fn = hiaG_fn(l->g, f);
  const hia_node *node = &fn->nodes.data[n];
  if (hiaG_is_tensor(l->g, fn, i) && (node->op == HIA_OP_LOOP || is_repeated(fn, node->region)))
    return true;
  if (hiaG_is_scalar(fn->params[i]) && is_repeated(fn, node->region)) return !is_bound(node->op);
  if (node->op != HIA_OP_CALL && node->op != HIA_OP_GRAD) return false;
  hia_fn_id called = hiaG_called(l->g, node);
  return is_repeated(fn, node->region) || (called == f && operand == i) ||
         lasts_of(l, called)[operand];
}

/* A parameter whose sizes have names is checked at first. */
static hia_value_id param_of_value(const hia_fn *fn, hia_value_id v) {
  while (hiaG_def(fn, v)->op == HIA_OP_EXPECT) v = hiaG_in(fn, fn->values.data[v].node, 0);
  return v;
}

/* Operands of a loop are its variables: what the rounds hand on of a parameter is an outer value,
 * once hiaG_copy has run. */
static bool find_in(finding *l, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(l->g, f);
  bool *lasts = lasts_of(l, f), is_new = false;
  HIA_EACH_NODE(fn, n)
    for (uint32_t k = 0; k < fn->nodes.data[n].n_ins; k++) {
      hia_value_id v = param_of_value(fn, hiaG_in(fn, n, k));
      if (v >= fn->n_params || lasts[v] || !lasts_at(l, f, n, k, v)) continue;
      lasts[v] = is_new = true;
    }
  return is_new;
}

void hiaG_find_lasting(hia_graph *g, hia_fn_id root, bool *out) {
  hia_arena *scratch = &g->comp->scratch;
  finding l = {.g = g, .lasts = HIA_NEW_ARRAY(scratch, bool *, g->fns.len)};
  lasts_of(&l, root);
  for (bool is_new = true; is_new;) {
    uint32_t n_met = l.todo.len;
    is_new = false;
    for (uint32_t i = l.todo.len; i-- > 0;) is_new |= find_in(&l, l.todo.data[i]);
    is_new |= l.todo.len > n_met;
  }
  for (uint32_t i = 0; i < hiaG_fn(g, root)->n_params; i++) out[i] = l.lasts[root][i];
}
