/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* grad: differentiation. Each `grad` node becomes two calls, of functions that this pass makes
 * (grad.h); everything after it sees functions, calls and data only.
 *
 *     %y:f32, %dx:f32 = grad f value (0) %x
 *
 *     %y:f32, %tape:Tape = call f.kept %x
 *     %dy:f32 = const 0x1p+0
 *     %dx:f32 = call f.back %tape, %dy
 *
 * This is reverse mode (Speelpenning, "Compiling fast partial derivatives of functions given by
 * algorithms", 1980), as a transformation of functions. A function has a version for each set of
 * parameters that vary and each set of results that come with a gradient; versions are made when a
 * call needs them.
 *
 * The gradient of a param is a sum over everything that has read it, so f.back returns it as a Sum
 * (sums.h), and `collect` adds it up once, at the `grad` node.
 *
 * `grad` nodes in functions that are differentiated themselves come first.
 *
 * Comes before all other passes: what is kept, and in which order gradients are added, depends on
 * the source alone, and fuel is counted in what this makes. Requires nothing. */
#include "graph/grad/grad.h"
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/own_gradient.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

static void make(hia_grad *d, uint32_t version) {
  const hia_grad_version v = d->versions.data[version];
  hia_back b = {.d = d, .g = d->g, .version = version};
  b.fn = hiaG_grad_inlined(d, v.fn);
  d->fn = b.fn;
  b.back = hiaG_fn(d->g, v.back);
  b.varies = hiaG_grad_activity(d, b.fn, v.params, v.varies);
  hiaG_grad_find_sizes(&b);
  hiaG_grad_find_reruns(&b);
  hiaG_grad_back(&b);
  hiaG_grad_know_arguments(d->g, true);
  if (d->g->arguments.len) hiaG_grad_find_sizes(&b);
  hiaG_grad_sizes(&b);
  hiaG_grad_know_arguments(d->g, false);
  hiaG_grad_parts(&b);
  hiaG_grad_kept(&b);
  hiaG_grad_remove_sizes(&b);
  hiaG_compact(d->g, b.back);
  hiaG_compact(d->g, hiaG_fn(d->g, v.kept));
  hiaR_look(d->g->comp);
}

static uint32_t params_of(hia_grad *d, const hia_gradient_of *of) {
  hia_graph *g = d->g;
  bool *wanted = HIA_NEW_ARRAY(d->arena, bool, g->params.len + 1);
  for (uint32_t i = 0; i < of->n; i++)
    if (of->wrt[i].is_param) wanted[of->wrt[i].i] = true;
  hia_grad_params p = {.wanted = wanted, .reads = hiaG_params_read(g, wanted, d->arena)};
  hiaR_push(d->arena, &d->params, p);
  return d->params.len - 1;
}

/* ---- the nodes ---- */

static hia_value_id insert(hia_grad *d, hia_fn *fn, hia_node_id at, unsigned op,
                           const hia_value_id *ins, uint32_t n_ins, hia_type type, uint64_t imm) {
  hia_loc_id loc = fn->nodes.data[at].loc;
  return hiaG_out(fn, hiaG_insert(d->g, fn, at, op, ins, n_ins, &type, 1, imm, loc), 0);
}

/* The calls in the place of a `grad` node: that of what computes the value, and that of what
 * computes the gradients of those parameters that vary, and then of the params that are read. */
typedef struct calls {
  hia_node_id value, gradient;
} calls;

static hia_node_id call_back(hia_grad *d, hia_fn *fn, hia_node_id n, hia_u32vec ins, hia_fn_id f) {
  hia_graph *g = d->g;
  const hia_fn *back = hiaG_fn(g, f);
  hia_loc_id loc = fn->nodes.data[n].loc;
  if (g->is_counted) hiaG_insert(g, fn, n, HIA_OP_COUNT, NULL, 0, NULL, 0, 0, loc);
  return hiaG_insert(g, fn, n, HIA_OP_CALL, ins.data, ins.len, back->results, back->n_results, f,
                     loc);
}

static hia_value_id one(hia_grad *d, hia_fn *fn, hia_node_id n, hia_type type) {
  hia_word word = type == HIA_F32 ? hiaR_from_f32(1) : hiaR_from_f64(1);
  return insert(d, fn, n, HIA_OP_CONST, NULL, 0, type, word);
}

static calls call_version(hia_grad *d, hia_fn *fn, hia_node_id n, hia_u32vec args, uint32_t v) {
  const hia_grad_version version = d->versions.data[v];
  hia_type types[2] = {hiaG_fn(d->g, version.fn)->results[0], version.tape};
  hia_node_id kept = hiaG_insert(d->g, fn, n, HIA_OP_CALL, args.data, args.len, types, 2,
                                 version.kept, fn->nodes.data[n].loc);
  hia_u32vec ins = {0};
  hiaR_push(d->arena, &ins, hiaG_out(fn, kept, 1));
  hiaR_push(d->arena, &ins, one(d, fn, n, types[0]));
  return (calls){kept, call_back(d, fn, n, ins, version.back)};
}

/* Calls a function that has a gradient of its own, and that gradient. */
static calls call_own(hia_grad *d, hia_fn *fn, hia_node_id n, hia_u32vec args, hia_fn_id f) {
  const hia_fn *callee = hiaG_fn(d->g, f);
  hia_own own = hiaG_own_of_fn(d->g, callee);
  hia_node_id value = hiaG_insert(d->g, fn, n, HIA_OP_CALL, args.data, args.len, callee->results, 1,
                                  f, fn->nodes.data[n].loc);
  hiaR_push(d->arena, &args, one(d, fn, n, callee->results[0]));
  if (own.takes_results) hiaR_push(d->arena, &args, hiaG_out(fn, value, 0));
  return (calls){value, call_back(d, fn, n, args, own.gradient)};
}

/* Puts calls in the place of a `grad` node. */
static void replace(hia_grad *d, hia_fn *fn, hia_node_id n, hia_subst *s) {
  hia_graph *g = d->g;
  const hia_node node = fn->nodes.data[n];
  const hia_gradient_of *asked = &g->gradients.data[node.imm];
  const hia_fn *f = hiaG_fn(g, asked->fn);
  uint32_t params = params_of(d, asked);
  bool *varies = HIA_NEW_ARRAY(d->arena, bool, f->n_params + 1), seeded = true;
  bool is_own = f->gradient != HIA_NONE;
  for (uint32_t i = 0; i < f->n_params; i++)
    varies[i] = is_own && hiaG_is_of_floats(g->types, f->params[i]);
  for (uint32_t i = 0; i < asked->n; i++)
    if (!asked->wrt[i].is_param) varies[asked->wrt[i].i] = true;
  hia_u32vec args = {0};
  for (uint32_t i = 0; i < node.n_ins; i++) hiaR_push(d->arena, &args, hiaG_in(fn, n, i));
  calls made = is_own ? call_own(d, fn, n, args, asked->fn)
                      : call_version(d, fn, n, args,
                                     hiaG_grad_version(d, asked->fn, params, varies, &seeded));
  hia_node_id call = made.gradient;
  uint32_t out = 0;
  if (asked->has_value) hiaG_replace(s, node.outs + out++, hiaG_out(fn, made.value, 0));
  const bool *reads = d->params.data[params].reads + (size_t)asked->fn * g->params.len;
  for (uint32_t i = 0; i < asked->n; i++, out++) {
    uint32_t at = 0;
    hia_value_id gradient;
    if (!asked->wrt[i].is_param) {
      for (uint32_t k = 0; k < asked->wrt[i].i; k++) at += varies[k];
      gradient = hiaG_out(fn, call, at);
    } else {
      uint32_t p = asked->wrt[i].i;
      hia_type type = hiaG_param_type(g->types, &g->params.data[p]);
      for (uint32_t k = 0; k < f->n_params; k++) at += varies[k];
      for (uint32_t k = 0; k < p; k++) at += reads[k];
      if (asked->wrt[i].is_sum) {
        type = hiaG_grad_param_type(d, p);
        gradient = reads[p] ? hiaG_out(fn, call, at)
                            : insert(d, fn, n, HIA_OP_DATA, NULL, 0, type, HIA_SUM_NOTHING);
      } else if (hiaG_is_scalar(type)) {
        gradient =
            reads[p] ? hiaG_out(fn, call, at) : insert(d, fn, n, HIA_OP_CONST, NULL, 0, type, 0);
      } else {
        hia_value_id ins[2] = {reads[p] ? hiaG_out(fn, call, at) : HIA_NONE,
                               insert(d, fn, n, HIA_OP_PARAM, NULL, 0, type, p)};
        gradient = reads[p] ? insert(d, fn, n, HIA_OP_COLLECT, ins, 2, type, 0)
                            : insert(d, fn, n, HIA_OP_ZEROS, &ins[1], 1, type, 0);
      }
    }
    hiaG_replace(s, node.outs + out, gradient);
  }
  hiaG_remove(fn, n);
}

/* True if the function and all that it calls have no `grad` nodes, and have bodies: what this round
 * makes is differentiated in the next one. What has a gradient of its own is not looked into. */
static bool is_plain(hia_grad *d, hia_fn_id f) {
  bool *is_met = HIA_NEW_ARRAY(d->arena, bool, d->g->fns.len);
  hia_u32vec left = {0};
  if (hiaG_fn(d->g, f)->gradient != HIA_NONE) return true;
  hiaR_push(d->arena, &left, f);
  is_met[f] = true;
  while (left.len) {
    const hia_fn *fn = hiaG_fn(d->g, left.data[--left.len]);
    if (fn->nodes.len == fn->n_params) return false;
    HIA_EACH_NODE(fn, n) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op == HIA_OP_GRAD) return false;
      if (node->op != HIA_OP_CALL || is_met[hiaG_callee(node)] || hiaG_has_own_gradient(d->g, node))
        continue;
      is_met[hiaG_callee(node)] = true;
      hiaR_push(d->arena, &left, hiaG_callee(node));
    }
  }
  return true;
}

/* Replaces the `grad` nodes of a function whose functions are plain. Sets *is_left if some are not.
 */
static bool replace_in(hia_grad *d, hia_fn *fn, bool *is_left) {
  bool is_changed = false;
  hia_subst s = hiaG_subst(d->g, fn);
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&s, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_GRAD) continue;
    if (is_plain(d, d->g->gradients.data[fn->nodes.data[n].imm].fn)) {
      replace(d, fn, n, &s);
      is_changed = true;
    } else {
      *is_left = true;
    }
  }
  return is_changed;
}

/* Removes the gradient declarations of functions and externs, which no later pass reads, and
 * gradient functions that nothing calls any more. */
static void forget_own(hia_graph *g) {
  bool is_some = false;
  for (uint32_t i = 0; i < g->externs.len; i++) {
    is_some |= g->externs.data[i].gradient != HIA_NONE;
    g->externs.data[i].gradient = HIA_NONE;
  }
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    is_some |= hiaG_fn(g, f)->gradient != HIA_NONE;
    hiaG_fn(g, f)->gradient = HIA_NONE;
  }
  if (is_some) hiaG_sweep(g);
}

static void replace_all(hia_graph *g) {
  hia_grad d = {.g = g, .arena = &g->comp->scratch};
  for (bool is_left = true; is_left;) {
    bool is_changed = false;
    is_left = false;
    d.effects = NULL;
    uint32_t n = g->fns.len;
    HIA_EACH_FN_BELOW(g, n, f) {
      if (!replace_in(&d, hiaG_fn(g, f), &is_left)) continue;
      hiaG_compact(g, hiaG_fn(g, f));
      is_changed = true;
    }
    for (; d.n_made < d.versions.len; d.n_made++) make(&d, d.n_made);
    if (is_left && !is_changed)
      hiaR_throw(g->comp, HIA_UNSUPPORTED, "a function that needs its own gradient");
  }
  g->gradients.len = 0;
}

void hiaG_grad(hia_graph *g) {
  uint32_t n = g->fns.len;
  if (hiaG_has_gradients(g)) {
    hiaG_grad_make_proxies(g);
    replace_all(g);
    hiaG_grad_remove_proxies(g);
    hiaG_sweep(g);
  }
  /* What this has made stays marked, so that it is not inlined next to the call that it repeats. */
  for (hia_fn_id f = 0; f < n; f++) hiaG_fn(g, f)->is_recomputed = false;
  forget_own(g);
}
