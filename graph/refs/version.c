/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Owning versions of functions that borrow (refs.c). */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/refs/shared.h"

/* True if nothing else refers to any of the parameters that the function borrows. */
static hia_value_id are_last(hia_graph *g, hia_fn *fn, const hia_ref_version *borrowing) {
  static const hia_type boolean = HIA_BOOL;
  hia_value_id all = HIA_NONE;
  for (uint32_t i = 0; i < fn->n_params; i++) {
    if (hiaG_is_scalar(fn->params[i]) || borrowing->owns[i]) continue;
    hia_value_id arg = hiaG_out(fn, i, 0);
    hia_node_id n = hiaG_add(g, fn, 0, HIA_OP_LAST, &arg, 1, &boolean, 1, 0, HIA_NONE);
    hia_value_id ins[2] = {all, hiaG_out(fn, n, 0)};
    all = all == HIA_NONE ? ins[1] : hiaG_op(g, fn, 0, HIA_OP_BAND, ins, 2, HIA_NONE);
  }
  return all;
}

/* fn f.owning(...) = if nothing else refers to what f borrows then f's body else f(...) */
hia_fn_id hiaG_make_owning(hia_graph *g, hia_fn_id f, hia_ref_version *made,
                           const hia_ref_version *borrowing) {
  hia_arena *arena = &g->comp->arena;
  const hia_fn *from = hiaG_fn(g, f);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, from->name, " owning"), from->source, from->loc,
                             from->params, from->n_params, from->results, from->n_results);
  hia_fn *fn = hiaG_fn(g, id);
  fn->effects = from->effects;
  fn->owning_of = f;
  hia_value_id cond = are_last(g, fn, borrowing);
  hia_node_id branch =
      hiaG_add(g, fn, 0, HIA_OP_IF, &cond, 1, fn->results, fn->n_results, 0, HIA_NONE);
  hia_region_id then = fn->nodes.data[branch].regions;

  hia_value_id *map = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, from->values.len);
  memset(map, 0xff, from->values.len * sizeof *map);
  hia_value_id *ins =
      HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, from->n_results + from->n_params + 1);
  hia_node_id arg = from->regions.data[0].first;
  for (; from->nodes.data[arg].op == HIA_OP_ARG; arg = from->nodes.data[arg].next)
    map[hiaG_out(from, arg, 0)] = hiaG_out(fn, (uint32_t)from->nodes.data[arg].imm, 0);
  hiaG_copy_region(g, fn, then, HIA_NONE, from, 0, map, HIA_NONE);
  hia_node_id yield = hiaG_yield_of(from, 0);
  for (uint32_t i = 0; i < from->n_results; i++) ins[i] = map[hiaG_in(from, yield, i)];
  hiaG_yield(g, fn, then, ins, from->n_results);

  for (uint32_t i = 0; i < fn->n_params; i++) ins[i] = hiaG_out(fn, i, 0);
  *made = (hia_ref_version){.owning = HIA_NONE};
  made->base_call = hiaG_add(g, fn, then + 1, HIA_OP_CALL, ins, fn->n_params, fn->results,
                             fn->n_results, f, from->loc);
  fn->nodes.data[made->base_call].flags |= HIA_NODE_TAIL; /* no call of the source */
  for (uint32_t i = 0; i < fn->n_results; i++) ins[i] = hiaG_out(fn, made->base_call, i);
  hiaG_yield(g, fn, then + 1, ins, fn->n_results);
  for (uint32_t i = 0; i < fn->n_results; i++) ins[i] = hiaG_out(fn, branch, i);
  hiaG_yield(g, fn, 0, ins, fn->n_results);
  made->owns = HIA_NEW_ARRAY(arena, bool, fn->n_params + 1);
  for (uint32_t i = 0; i < fn->n_params; i++) made->owns[i] = !hiaG_is_scalar(fn->params[i]);
  return id;
}
