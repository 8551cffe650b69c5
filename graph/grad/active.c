/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Which values of a function vary with what is asked for: parameters that vary, and wanted params.
 * Only these get gradients, so nothing is kept for what does not depend on them.
 *
 * What a call returns is taken to vary if an argument does, or if the callee may read a wanted
 * param. */
#include "graph/grad/shared.h"
#include "graph/ir/walk.h"

typedef struct activity {
  hia_grad *d;
  const hia_fn *fn;
  const hia_grad_params *params;
  const bool *given; /* by parameter */
  bool *varies;      /* by value */
  bool is_changed;
} activity;

static bool varies(const activity *a, hia_value_id v) { return a->varies[v]; }

static void set(activity *a, hia_value_id v, bool does) {
  if (!does || a->varies[v] || !hiaG_has_gradient(a->d, hiaG_type(a->fn, v))) return;
  a->varies[v] = true;
  a->is_changed = true;
}

static hia_value_id yielded(const hia_fn *fn, hia_region_id region, uint32_t i) {
  return hiaG_in(fn, hiaG_yield_of(fn, region), i);
}

static bool some_in_varies(const activity *a, hia_node_id n) {
  const hia_fn *fn = a->fn;
  for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++)
    if (varies(a, hiaG_in(fn, n, i))) return true;
  return false;
}

static bool reads_some(const activity *a, hia_fn_id f) {
  uint32_t n = a->d->g->params.len;
  const bool *reads = a->params->reads + (size_t)f * n;
  for (uint32_t i = 0; i < n; i++)
    if (reads[i]) return true;
  return false;
}

static void look_at(activity *a, hia_node_id n) {
  const hia_fn *fn = a->fn;
  const hia_node *node = &fn->nodes.data[n];
  hia_region_id inner = node->regions;
  switch (node->op) {
  case HIA_OP_ARG:
    if (node->region == 0) set(a, node->outs, a->given[node->imm]);
    return; /* of a loop's head: see LOOP */
  case HIA_OP_PARAM: set(a, node->outs, a->params->wanted[node->imm]); return;
  case HIA_OP_IF:
    for (uint32_t i = 0; i < node->n_outs; i++)
      set(a, node->outs + i,
          varies(a, yielded(fn, inner, i)) || varies(a, yielded(fn, inner + 1, i)));
    return;
  case HIA_OP_LOOP:
    for (uint32_t i = 0; i < node->n_outs; i++)
      set(a, node->outs + i, varies(a, yielded(fn, inner, i + 1)));
    HIA_EACH_ARG(fn, inner, arg) {
      uint32_t i = (uint32_t)fn->nodes.data[arg].imm;
      set(a, fn->nodes.data[arg].outs,
          varies(a, hiaG_in(fn, n, i)) || varies(a, yielded(fn, inner + 1, i)));
    }
    return;
  case HIA_OP_MAP: {
    hia_node_id yield = hiaG_yield_of(fn, inner);
    for (uint32_t i = 0; i < fn->nodes.data[yield].n_ins; i++)
      set(a, node->outs, varies(a, hiaG_in(fn, yield, i)));
    return;
  }
  case HIA_OP_CALL: {
    bool does = some_in_varies(a, n) || reads_some(a, hiaG_callee(node)); /* own: none */
    for (uint32_t i = 0; i < node->n_outs; i++) set(a, node->outs + i, does);
    return;
  }
  default:
    if (node->n_outs && hiaR_ops[node->op].gradient != HIA_GRADIENT_ZERO)
      set(a, node->outs, some_in_varies(a, n));
  }
}

bool *hiaG_grad_activity(hia_grad *d, const hia_fn *fn, uint32_t params, const bool *given) {
  activity a = {.d = d, .fn = fn, .params = &d->params.data[params], .given = given};
  a.varies = HIA_NEW_ARRAY(d->arena, bool, fn->values.len + 1);
  do { /* what the rounds of loops find of each other */
    a.is_changed = false;
    HIA_EACH_NODE(fn, n) {
      look_at(&a, n);
      /* A loop is met before its regions: what they yield is known behind them. */
      if (fn->nodes.data[n].op == HIA_OP_YIELD && fn->nodes.data[n].region != 0)
        look_at(&a, fn->regions.data[fn->nodes.data[n].region].owner);
    }
  } while (a.is_changed);
  return a.varies;
}
