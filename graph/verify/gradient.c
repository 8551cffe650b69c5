/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Verifier, function state: GRAD nodes, and whether the functions that they differentiate have a
 * gradient.
 *
 * The frontend reports what has none with the chain of calls that leads there. Here a graph is
 * refused that a user has written or changed. So the pass `grad` can rely on it. */
#include "graph/ir/build.h"
#include "graph/ir/own_gradient.h"
#include "graph/ir/scc.h"
#include "graph/verify/verifier.h"

static bool is_float(hia_dtype dtype) { return dtype == HIA_F32 || dtype == HIA_F64; }

static void expect_types(hia_verifier *v, hia_node_id n, const char *what, uint32_t first,
                         const hia_type *types, uint32_t n_types, bool is_in) {
  for (uint32_t i = 0; i < n_types; i++) {
    hia_value_id value = is_in ? hiaG_in(v->fn, n, first + i) : hiaG_out(v->fn, n, first + i);
    hiaG_expect_type(v, n, what, first + i, hiaG_type(v->fn, value), types[i]);
  }
}

/* What the gradient is with respect to. `seen`: cleared before and after; a flag for each param of
 * the program, then for each parameter of the function. */
static void check_wrt(hia_verifier *v, hia_node_id n, const hia_gradient_of *asked, bool *seen) {
  const hia_graph *g = v->g;
  const hia_fn *fn = hiaG_fn(g, asked->fn);
  uint32_t n_params = g->params.len;
  if (asked->n == 0) hiaG_defect(v, n, "a gradient with respect to nothing");
  for (uint32_t i = 0; i < asked->n; i++) {
    const hia_wrt *wrt = &asked->wrt[i];
    if (wrt->i >= (wrt->is_param ? n_params : fn->n_params))
      hiaG_defect(v, n, "there is no %s %u", wrt->is_param ? "param" : "parameter", wrt->i);
    if (wrt->is_sum && (!wrt->is_param || g->params.data[wrt->i].shape.rank == 0))
      hiaG_defect(v, n, "the gradient of a scalar is no sum");
    hia_type type =
        wrt->is_param ? hiaG_param_type(g->types, &g->params.data[wrt->i]) : fn->params[wrt->i];
    if (!is_float(hiaG_dtype(g->types, type)))
      hiaG_defect(v, n, "parameter %u is %s, but must be of floats", wrt->i,
                  hiaG_type_text(g->types, type));
    bool *flag = &seen[wrt->is_param ? wrt->i : n_params + wrt->i];
    if (*flag)
      hiaG_defect(v, n, "it has the gradient of one %s twice",
                  wrt->is_param ? "param" : "parameter");
    *flag = true;
  }
  for (uint32_t i = 0; i < asked->n; i++)
    seen[asked->wrt[i].is_param ? asked->wrt[i].i : n_params + asked->wrt[i].i] = false;
}

static void check_grad(hia_verifier *v, hia_node_id n, bool *seen) {
  const hia_graph *g = v->g;
  const hia_node *node = &v->fn->nodes.data[n];
  const hia_gradient_of *asked = hiaG_gradient_of(g, node);
  if (asked->fn >= g->fns.len || hiaG_fn(g, asked->fn)->is_removed)
    hiaG_defect(v, n, "its function does not exist");
  const hia_fn *fn = hiaG_fn(g, asked->fn);
  if (fn->n_results != 1 || !hiaG_is_scalar(fn->results[0]) || !is_float((hia_dtype)fn->results[0]))
    hiaG_defect(v, n, "the result of its function must be f32 or f64");
  check_wrt(v, n, asked, seen);
  if (node->n_ins != fn->n_params)
    hiaG_defect(v, n, "it has %u operands, but must have %u", node->n_ins, fn->n_params);
  if (node->n_outs != asked->n + asked->has_value)
    hiaG_defect(v, n, "it has %u results, but must have %u", node->n_outs,
                asked->n + asked->has_value);
  expect_types(v, n, "operand", 0, fn->params, fn->n_params, true);
  if (asked->has_value) expect_types(v, n, "result", 0, fn->results, 1, false);
  for (uint32_t i = 0; i < asked->n; i++) {
    hia_type type = hiaG_wrt_type(g, asked->fn, &asked->wrt[i]);
    expect_types(v, n, "result", asked->has_value + i, &type, 1, false);
  }
}

/* ---- what functions call ---- */

typedef struct calls {
  uint32_t *first; /* those of f: callees[first[f]] .. callees[first[f + 1] - 1] */
  hia_u32vec callees;
  bool *has_none; /* by function: it calls, itself or further down, what has no gradient */
} calls;

static calls find_calls(hia_verifier *v, bool *seen) {
  hia_graph *g = v->g;
  uint32_t n_fns = g->fns.len;
  calls c = {.first = HIA_NEW_ARRAY(v->scratch, uint32_t, (size_t)n_fns + 1),
             .has_none = HIA_NEW_ARRAY(v->scratch, bool, (size_t)n_fns + 1)};
  for (v->fn_id = 0; v->fn_id < n_fns; v->fn_id++) {
    const hia_fn *fn = v->fn = hiaG_fn(g, v->fn_id);
    c.first[v->fn_id] = c.callees.len;
    if (fn->is_removed) continue;
    if (fn->slow_path != HIA_NONE) hiaR_push(v->scratch, &c.callees, fn->slow_path);
    for (hia_node_id n = 0; n < fn->nodes.len; n++) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->flags & HIA_NODE_DEAD) continue;
      if (node->op == HIA_OP_GRAD) check_grad(v, n, seen);
      if (node->op == HIA_OP_HOST)
        c.has_none[v->fn_id] |= hiaG_extern_lacks_gradient(&g->externs.data[node->imm]);
      hia_fn_id called = hiaG_called(g, node);
      if (called == HIA_NONE) continue;
      if (called >= n_fns) hiaG_defect(v, n, "its callee does not exist");
      if (node->op == HIA_OP_CALL && hiaG_fn(g, called)->gradient != HIA_NONE) continue;
      hiaR_push(v->scratch, &c.callees, called);
    }
  }
  c.first[n_fns] = c.callees.len;
  hiaG_spread_to_callers(v->scratch, n_fns, c.first, c.callees.data, c.has_none);
  return c;
}

/* Refuses gradients of functions that call what they are in, or what has no gradient. A function
 * that calls its caller is of the caller's group. */
static void check_calls(hia_verifier *v, const calls *c) {
  hia_graph *g = v->g;
  uint32_t *group = HIA_NEW_ARRAY(v->scratch, uint32_t, (size_t)g->fns.len + 1);
  hiaG_scc(v->scratch, g->fns.len, c->first, c->callees.data, group);
  for (v->fn_id = 0; v->fn_id < g->fns.len; v->fn_id++) {
    const hia_fn *fn = v->fn = hiaG_fn(g, v->fn_id);
    for (hia_node_id n = 0; n < fn->nodes.len && !fn->is_removed; n++) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op != HIA_OP_GRAD || node->flags & HIA_NODE_DEAD) continue;
      hia_fn_id differentiated = hiaG_gradient_of(g, node)->fn;
      if (group[differentiated] == group[v->fn_id])
        hiaG_defect(v, n, "its function calls this one: the derivative is of infinite order");
      if (c->has_none[differentiated])
        hiaG_defect(v, n, "its function calls a function of the host that has no gradient");
    }
  }
}

void hiaG_verify_gradients(hia_verifier *v) {
  hia_mark mark = hiaR_arena_mark(v->scratch);
  size_t n_seen = v->g->params.len;
  for (hia_fn_id f = 0; f < v->g->fns.len; f++)
    if (n_seen < (size_t)v->g->params.len + hiaG_fn(v->g, f)->n_params)
      n_seen = (size_t)v->g->params.len + hiaG_fn(v->g, f)->n_params;
  bool *seen = HIA_NEW_ARRAY(v->scratch, bool, n_seen + 1);
  calls c = find_calls(v, seen);
  check_calls(v, &c);
  v->fn = NULL;
  hiaR_arena_release(v->scratch, mark);
}
