/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients with respect to arguments that last are collected as those of params are.
 *
 * A recursive function may hand a parameter on to itself, such as the weights of a network: it
 * *lasts* (assume/assume.h). The gradient with respect to it has a contribution from each
 * activation. One would return a tensor from each, and add two of them at each call: for a table of
 * words that is more work than all else. So while functions are differentiated such an argument has
 * a *proxy*, a param, whose gradient is a sum:
 *
 *     fn main(t, W)                          fn main(t, W)
 *       %g = grad (loss, W) %t, %W             %g = grad (loss of the proxy, proxy) %t
 *
 * That is so if the argument is a parameter of the function that has the `grad` node, stands once
 * among its operands, and that function is not differentiated itself. It depends on the source
 * alone, and not on what is known in a run: the order of additions must be the same everywhere.
 *
 * Behind the pass there are no such params: what reads one gets the value as one more argument. In
 * a version that reads the argument as a param of the run no proxy is needed, since it is
 * one already. */
#include "graph/analysis/groups.h"
#include "graph/assume/assume.h"
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* ---- before ---- */

/* Flags by function: it is differentiated, or called by one that is. */
static bool *find_differentiated(const hia_graph *g) {
  bool *is_met = HIA_NEW_ARRAY(&g->comp->scratch, bool, (size_t)g->fns.len + 1);
  hia_u32vec left = {0};
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n)
      if (fn->nodes.data[n].op == HIA_OP_GRAD)
        hiaR_push(&g->comp->scratch, &left, hiaG_called(g, &fn->nodes.data[n]));
  }
  while (left.len) {
    hia_fn_id f = left.data[--left.len];
    if (is_met[f]) continue;
    is_met[f] = true;
    const hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n) {
      hia_fn_id called = hiaG_called(g, &fn->nodes.data[n]);
      if (called != HIA_NONE) hiaR_push(&g->comp->scratch, &left, called);
    }
  }
  return is_met;
}

static bool is_argument(const hia_graph *g, const hia_fn *fn, hia_value_id v) {
  const hia_node *def = hiaG_def(fn, v);
  return def->op == HIA_OP_PARAM && g->is_assumed && def->imm >= g->first_argument &&
         def->imm < g->first_proxy;
}

/* True if two values are the same parameter of a function, or the same argument of the run. */
static bool is_same(const hia_fn *fn, hia_value_id a, hia_value_id b) {
  const hia_node *x = hiaG_def(fn, a), *y = hiaG_def(fn, b);
  return a == b || (x->op == HIA_OP_PARAM && y->op == HIA_OP_PARAM && x->imm == y->imm);
}

static bool stands_once(const hia_fn *fn, hia_node_id n, uint32_t i) {
  for (uint32_t k = 0; k < fn->nodes.data[n].n_ins; k++)
    if (k != i && is_same(fn, hiaG_in(fn, n, k), hiaG_in(fn, n, i))) return false;
  return true;
}

/* The param that stands for parameter k of a function, made at the first request. */
static uint32_t proxy_of(hia_graph *g, hia_fn_id f, uint32_t k) {
  for (uint32_t i = 0; i < g->proxies.len; i++)
    if (g->proxies.data[i].fn == f && g->proxies.data[i].param == k) return g->first_proxy + i;
  hia_type type = hiaG_fn(g, f)->params[k];
  hia_param_spec spec = {.name = hiaR_arena_printf(&g->comp->scratch, "proxy.%u", g->params.len),
                         .dtype = hiaG_dtype(g->types, type),
                         .init = HIA_INIT_FULL,
                         .shape = {.rank = hiaG_rank(g->types, type)}};
  for (uint32_t i = 0; i < spec.shape.rank; i++) spec.shape.dims[i] = HIA_DIM_UNKNOWN;
  hiaR_push(&g->comp->arena, &g->proxies, ((hia_proxy){f, k}));
  return hiaG_param_new(g, &spec);
}

/* Puts a proxy in the place of operand i of a `grad` node, with respect to which it is asked for
 * number k. */
static void replace_operand(hia_graph *g, hia_fn_id f, hia_node_id n, hia_gradient_of *of,
                            uint32_t k) {
  hia_fn *fn = hiaG_fn(g, f);
  uint32_t i = of->wrt[k].i;
  hia_value_id v = hiaG_in(fn, n, i);
  hia_type type = hiaG_type(fn, v);
  uint32_t param = (uint32_t)hiaG_def(fn, v)->imm;
  if (!is_argument(g, fn, v)) {
    param = proxy_of(g, f, v);
    hia_node_id read =
        hiaG_insert(g, fn, n, HIA_OP_PARAM, NULL, 0, &type, 1, param, fn->nodes.data[n].loc);
    fn->edges.data[fn->nodes.data[n].ins + i] = hiaG_out(fn, read, 0);
  }
  of->wrt[k] = (hia_wrt){.is_param = true, .i = param};
}

static void replace_in_gradient(hia_graph *g, hia_fn_id f, hia_node_id n) {
  hia_fn *fn = hiaG_fn(g, f);
  hia_gradient_of of = g->gradients.data[fn->nodes.data[n].imm];
  const hia_fn *callee = hiaG_fn(g, of.fn);
  if (callee->gradient != HIA_NONE) return;
  bool *lasts = HIA_NEW_ARRAY(&g->comp->scratch, bool, callee->n_params + 1), is_some = false;
  hiaG_find_lasting(g, of.fn, lasts);
  hia_wrt *wrt = HIA_NEW_ARRAY(&g->comp->arena, hia_wrt, of.n);
  memcpy(wrt, of.wrt, of.n * sizeof *wrt);
  of.wrt = wrt;
  for (uint32_t k = 0; k < of.n; k++) {
    if (wrt[k].is_param || !lasts[wrt[k].i]) continue;
    hia_value_id v = hiaG_in(fn, n, wrt[k].i);
    bool is_replaced = hiaG_is_tensor(g, fn, v) && (v < fn->n_params || is_argument(g, fn, v)) &&
                       stands_once(fn, n, wrt[k].i);
    if (!is_replaced) continue;
    replace_operand(g, f, n, &of, k);
    is_some = true;
  }
  if (is_some) fn->nodes.data[n].imm = hiaG_gradient_new(g, of.fn, of.has_value, of.wrt, of.n);
}

void hiaG_grad_make_proxies(hia_graph *g) {
  const bool *is_differentiated = find_differentiated(g);
  uint32_t n_fns = g->fns.len;
  g->first_proxy = g->params.len;
  if (!g->is_assumed) g->first_argument = g->params.len;
  HIA_EACH_FN_BELOW(g, n_fns, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (is_differentiated[f]) continue;
    HIA_EACH_NODE(fn, n)
      if (fn->nodes.data[n].op == HIA_OP_GRAD) replace_in_gradient(g, f, n);
  }
  hiaG_specialise_gradients(g);
}

/* ---- behind ---- */

typedef struct removing {
  hia_graph *g;
  bool *reads; /* by function, n flags: it reads that proxy, or one that it calls does */
  uint32_t n;
} removing;

static bool *reads_of(const removing *u, hia_fn_id f) { return u->reads + (size_t)f * u->n; }

static bool owns(const removing *u, hia_fn_id f, uint32_t p) {
  return u->g->proxies.data[p].fn == f;
}

static bool find_reads(const removing *u, hia_fn_id f) {
  const hia_graph *g = u->g;
  const hia_fn *fn = hiaG_fn(g, f);
  bool *reads = reads_of(u, f), is_new = false;
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    hia_fn_id called = hiaG_called(g, node);
    for (uint32_t p = 0; p < u->n; p++) {
      bool reads_it = node->op == HIA_OP_PARAM && node->imm == g->first_proxy + p;
      if (called != HIA_NONE && !owns(u, called, p)) reads_it |= reads_of(u, called)[p];
      is_new |= reads_it && !reads[p];
      reads[p] |= reads_it;
    }
  }
  return is_new;
}

/* The value of each proxy in the function: its own parameter, or one more ARG. */
static hia_value_id *values_of(const removing *u, hia_fn_id f) {
  hia_graph *g = u->g;
  hia_fn *fn = hiaG_fn(g, f);
  const bool *reads = reads_of(u, f);
  hia_value_id *values = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, u->n);
  hia_type *params = HIA_NEW_ARRAY(&g->comp->arena, hia_type, (size_t)fn->n_params + u->n);
  if (fn->n_params) memcpy(params, fn->params, fn->n_params * sizeof *params);
  fn->params = params;
  for (uint32_t p = 0; p < u->n; p++) {
    if (!reads[p]) continue;
    values[p] = g->proxies.data[p].param;
    if (owns(u, f, p)) continue;
    hia_type type = hiaG_param_type(g->types, &g->params.data[g->first_proxy + p]);
    hia_node_id at = hiaG_behind_args(fn, 0);
    hia_node_id arg = hiaG_insert(g, fn, at, HIA_OP_ARG, NULL, 0, &type, 1, fn->n_params, HIA_NONE);
    values[p] = hiaG_out(fn, arg, 0);
    params[fn->n_params++] = type;
  }
  return values;
}

/* Calls hand on what their callees read. */
static void hand_on(const removing *u, hia_fn *fn, hia_node_id n, const hia_value_id *values) {
  hia_graph *g = u->g;
  hia_fn_id called = hiaG_called(g, &fn->nodes.data[n]);
  if (called == HIA_NONE) return;
  uint32_t n_ins = fn->nodes.data[n].n_ins, n_old = n_ins;
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, (size_t)n_ins + u->n + 1);
  for (uint32_t i = 0; i < n_ins; i++) ins[i] = hiaG_in(fn, n, i);
  for (uint32_t p = 0; p < u->n; p++)
    if (reads_of(u, called)[p] && !owns(u, called, p)) ins[n_ins++] = values[p];
  if (n_ins > n_old) hiaG_set_ins(g, fn, n, ins, n_ins);
}

static void remove_in(const removing *u, hia_fn_id f) {
  hia_graph *g = u->g;
  hia_fn *fn = hiaG_fn(g, f);
  bool is_some = false;
  for (uint32_t p = 0; p < u->n; p++) is_some |= reads_of(u, f)[p];
  if (!is_some) return;
  const hia_value_id *values = values_of(u, f);
  hia_subst s = hiaG_subst(g, fn);
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&s, fn, n);
    next = hiaG_walk_next(fn, n);
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_PARAM && node->imm >= g->first_proxy) {
      hiaG_replace(&s, node->outs, values[node->imm - g->first_proxy]);
      hiaG_remove(fn, n);
    } else {
      hand_on(u, fn, n, values);
    }
  }
  hiaG_compact(g, fn);
}

void hiaG_grad_remove_proxies(hia_graph *g) {
  removing u = {.g = g, .n = g->proxies.len};
  if (u.n) {
    u.reads = HIA_NEW_ARRAY(&g->comp->scratch, bool, (size_t)g->fns.len *u.n + 1);
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (hia_fn_id f = g->fns.len; f-- > 0;)
        if (!hiaG_fn(g, f)->is_removed) is_new |= find_reads(&u, f);
    }
    HIA_EACH_FN(g, f) remove_in(&u, f);
  }
  g->params.len = g->first_proxy;
  g->proxies.len = 0;
  hiaG_grad_know_arguments(g, true);
}

void hiaG_grad_know_arguments(hia_graph *g, bool are_known) {
  for (uint32_t i = 0; i < g->arguments.len; i++) {
    hia_dims *shape = &g->params.data[g->first_argument + i].shape;
    for (uint32_t k = 0; k < shape->rank; k++)
      shape->dims[k] = are_known ? g->arguments.data[i].shape.dims[k] : HIA_DIM_UNKNOWN;
  }
}
