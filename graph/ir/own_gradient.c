/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions that bring their own gradient: another function computes it (hia_fn.gradient).
 *
 *     fn f(x, n) -> (y)            gradient f.gradient
 *     fn f.gradient(x, n, dy) -> (dx)         or, if it takes the results, (x, n, dy, y) -> (dx)
 *
 * A call of f has no tape of its own: what f.gradient reads are the arguments and the results,
 * which are values of the caller, and kept there. */
#include "graph/ir/own_gradient.h"
#include "graph/ir/graph.h"

bool hiaG_is_of_floats(const hia_types *types, hia_type type) {
  hia_dtype dtype = hiaG_dtype(types, type);
  return dtype == HIA_F32 || dtype == HIA_F64;
}

static uint32_t n_of_floats(const hia_graph *g, const hia_type *types, uint32_t n) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) count += hiaG_is_of_floats(g->types, types[i]);
  return count;
}

static hia_own own_of(const hia_graph *g, hia_fn_id gradient, const hia_type *results,
                      uint32_t n_params, uint32_t n_results) {
  hia_own own = {.gradient = gradient};
  if (gradient == HIA_NONE) return own;
  uint32_t least = n_params + n_of_floats(g, results, n_results);
  own.takes_results = hiaG_fn(g, gradient)->n_params > least;
  return own;
}

hia_own hiaG_own_of_fn(const hia_graph *g, const hia_fn *fn) {
  return own_of(g, fn->gradient, fn->results, fn->n_params, fn->n_results);
}

hia_own hiaG_own_gradient(const hia_graph *g, const hia_node *call) {
  if (call->op == HIA_OP_CALL) return hiaG_own_of_fn(g, hiaG_fn(g, hiaG_callee(call)));
  if (call->op != HIA_OP_HOST) return (hia_own){.gradient = HIA_NONE};
  const hia_extern *e = &g->externs.data[call->imm];
  return own_of(g, e->gradient, e->results, e->n_params, e->n_results);
}

bool hiaG_has_own_gradient(const hia_graph *g, const hia_node *call) {
  return hiaG_own_gradient(g, call).gradient != HIA_NONE;
}

/* ---- the type of what computes a gradient ---- */

/* Goes on in a list of types behind those of `list`, or behind its floats; false: they differ. */
static bool follow(const hia_graph *g, const hia_fn *fn, uint32_t *at, const hia_type *list,
                   uint32_t n, bool is_of_floats) {
  for (uint32_t i = 0; i < n; i++) {
    if (is_of_floats && !hiaG_is_of_floats(g->types, list[i])) continue;
    if (*at == fn->n_params || fn->params[(*at)++] != list[i]) return false;
  }
  return true;
}

bool hiaG_fits_as_gradient(const hia_graph *g, hia_fn_id gradient, const hia_type *params,
                           uint32_t n_params, const hia_type *results, uint32_t n_results) {
  const hia_fn *fn = hiaG_fn(g, gradient);
  uint32_t at = 0, out = 0;
  if (!follow(g, fn, &at, params, n_params, false)) return false;
  if (!follow(g, fn, &at, results, n_results, true)) return false;
  if (at < fn->n_params && !follow(g, fn, &at, results, n_results, false)) return false;
  for (uint32_t i = 0; i < n_params; i++) {
    if (!hiaG_is_of_floats(g->types, params[i])) continue;
    if (out == fn->n_results || fn->results[out++] != params[i]) return false;
  }
  return at == fn->n_params && out == fn->n_results && out > 0;
}

/* ---- functions of the host ---- */

static bool has_float(const hia_type *types, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (types[i] == HIA_F32 || types[i] == HIA_F64) return true;
  return false;
}

bool hiaG_extern_lacks_gradient(const hia_extern *e) {
  if (e->gradient != HIA_NONE) return false;
  return e->is_impure || (has_float(e->params, e->n_params) && has_float(e->results, e->n_results));
}
