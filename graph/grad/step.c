/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The function that a step of training calls (jit/engine/trainer.c): the loss and its gradients.
 *
 * Params that programs read row by row, such as a table of the vectors of words, are large, and a
 * step reads few of their rows. So the gradient of a tensor is not collected as a whole, but for
 * the rows that have one:
 *
 *     %loss:f32, %sum = grad loss value (sum E) %args
 *     %e:f32[?, ?] = param E
 *     %rows:i64[?] = touched %sum, %e
 *     %some:f32[?, ?] = collect_rows %sum, %rows, %e
 *
 * If the program reads the tensor as a whole, these are all rows. */
#include "graph/grad/grad.h"
#include "graph/ir/build.h"
#include "graph/ir/own_gradient.h"
#include "graph/ir/walk.h"

uint32_t hiaG_step_types(hia_types *types, const hia_param_spec *params, uint32_t n,
                         const bool *wanted, hia_type *out) {
  uint32_t len = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!wanted[i]) continue;
    bool is_tensor = params[i].shape.rank > 0;
    if (out && is_tensor) out[len] = hiaG_tensor(types, HIA_I64, 1);
    if (out) out[len + is_tensor] = hiaG_param_type(types, &params[i]);
    len += 1 + is_tensor;
  }
  return len;
}

const hia_extern *hiaG_lacks_gradient(const hia_graph *g, hia_fn_id f, hia_arena *scratch) {
  bool *is_met = HIA_NEW_ARRAY(scratch, bool, (size_t)g->fns.len + 1);
  hia_u32vec left = {0};
  hiaR_push(scratch, &left, f);
  is_met[f] = true;
  for (uint32_t i = 0; i < left.len; i++) {
    const hia_fn *fn = hiaG_fn(g, left.data[i]);
    HIA_EACH_NODE(fn, n) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op == HIA_OP_HOST && hiaG_extern_lacks_gradient(&g->externs.data[node->imm]))
        return &g->externs.data[node->imm];
      hia_fn_id called = hiaG_called(g, node);
      if (called == HIA_NONE || is_met[called] || hiaG_has_own_gradient(g, node)) continue;
      is_met[called] = true;
      hiaR_push(scratch, &left, called);
    }
  }
  return NULL;
}

const char *hiaG_cannot_step(const hia_graph *g, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(g, f);
  hia_arena *scratch = &g->comp->scratch;
  if (fn->n_results != 1 || (fn->results[0] != HIA_F32 && fn->results[0] != HIA_F64))
    return "the function differentiates no other one, and its result is no f32 or f64";
  const bool *reads = hiaG_params_read_by(g, f, scratch);
  bool reads_some = false;
  for (uint32_t i = 0; i < g->params.len; i++) reads_some |= reads[i];
  if (!reads_some) return "the function differentiates no other one, and reads no param";
  return hiaG_lacks_gradient(g, f, scratch) ? "the function may call one of the host" : NULL;
}

static hia_value_id op(hia_graph *g, hia_fn *fn, unsigned number, const hia_value_id *ins,
                       uint32_t n) {
  return hiaG_op(g, fn, 0, number, ins, n, fn->loc);
}

/* Appends the results of a tensor's sum. */
static void collect(hia_graph *g, hia_fn *fn, uint32_t param, hia_value_id sum,
                    hia_value_id out[2]) {
  hia_type type = hiaG_param_type(g->types, &g->params.data[param]);
  hia_node_id read = hiaG_add(g, fn, 0, HIA_OP_PARAM, NULL, 0, &type, 1, param, fn->loc);
  hia_value_id whole = hiaG_out(fn, read, 0);
  out[0] = op(g, fn, HIA_OP_TOUCHED, (hia_value_id[]){sum, whole}, 2);
  out[1] = op(g, fn, HIA_OP_COLLECT_ROWS, (hia_value_id[]){sum, out[0], whole}, 3);
}

static hia_fn *new_root(hia_graph *g, hia_fn_id like, const char *suffix, const hia_type *results,
                        uint32_t n_results) {
  hia_type result = hiaG_tuple(g->types, results, n_results);
  return hiaG_fn(g, hiaG_root_new(g, like, suffix, results, n_results, result));
}

/* Adds the node that differentiates a function at the parameters of `fn`, which are the same. */
static hia_node_id differentiate(hia_graph *g, hia_fn *fn, hia_fn_id differentiated,
                                 const hia_wrt *wrt, uint32_t n, const hia_type *types) {
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->arena, hia_value_id, fn->n_params + 1);
  for (uint32_t i = 0; i < fn->n_params; i++) ins[i] = hiaG_out(fn, i, 0);
  uint32_t gradient = hiaG_gradient_new(g, differentiated, true, wrt, n);
  return hiaG_add(g, fn, 0, HIA_OP_GRAD, ins, fn->n_params, types, n + 1, gradient, fn->loc);
}

hia_fn_id hiaG_gradient_root(hia_graph *g, hia_fn_id differentiated, const hia_wrt *wrt,
                             uint32_t n) {
  hia_arena *arena = &g->comp->arena;
  hia_type *types = HIA_NEW_ARRAY(arena, hia_type, n + 1);
  types[0] = hiaG_fn(g, differentiated)->results[0];
  for (uint32_t i = 0; i < n; i++) types[1 + i] = hiaG_wrt_type(g, differentiated, &wrt[i]);
  hia_fn *fn = new_root(g, differentiated, ".gradient", types, n + 1);
  hia_node_id node = differentiate(g, fn, differentiated, wrt, n, types);
  hiaG_yield_outs(g, fn, 0, node);
  return g->fns.len - 1;
}

hia_fn_id hiaG_step(hia_graph *g, hia_fn_id of, const bool *wanted) {
  hia_arena *arena = &g->comp->arena;
  const hia_fn *loss = hiaG_fn(g, of);
  uint32_t n_params = g->params.len;
  uint32_t n_types = hiaG_step_types(g->types, g->params.data, n_params, wanted, NULL) + 1;
  hia_type *types = HIA_NEW_ARRAY(arena, hia_type, n_types),
           *of_grad = HIA_NEW_ARRAY(arena, hia_type, (size_t)n_params + 1);
  types[0] = of_grad[0] = loss->results[0];
  hiaG_step_types(g->types, g->params.data, n_params, wanted, types + 1);
  HIA_VEC(hia_wrt) wrt = {0};
  for (uint32_t p = 0; p < n_params; p++)
    if (wanted[p]) {
      hia_wrt one = {.is_param = true, .is_sum = g->params.data[p].shape.rank > 0, .i = p};
      of_grad[1 + wrt.len] = hiaG_wrt_type(g, of, &one);
      hiaR_push(arena, &wrt, one);
    }
  hia_fn *fn = new_root(g, of, ".step", types, n_types);
  hia_node_id node = differentiate(g, fn, of, wrt.data, wrt.len, of_grad);
  hia_value_id *outs = HIA_NEW_ARRAY(arena, hia_value_id, n_types);
  uint32_t n = 1;
  outs[0] = hiaG_out(fn, node, 0);
  for (uint32_t i = 0; i < wrt.len; i++) {
    hia_value_id result = hiaG_out(fn, node, 1 + i);
    if (wrt.data[i].is_sum)
      collect(g, fn, wrt.data[i].i, result, &outs[n]);
    else
      outs[n] = result;
    n += 1 + wrt.data[i].is_sum;
  }
  hiaG_yield(g, fn, 0, outs, n_types);
  return g->fns.len - 1;
}
