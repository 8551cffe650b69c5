/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through a call: that of f.kept becomes one of f.back. A function, or one of the host, that
 * has a gradient of its own is followed by a call of that. */
#include "graph/grad/back/back.h"
#include "graph/ir/own_gradient.h"

/* Makes a call of f once more, for its tape. The arguments are kept instead of the tape. */
static hia_value_id recompute(hia_reverse *r, hia_node_id n, hia_fn_id kept) {
  const hia_node node = r->fn->nodes.data[n];
  const hia_fn *fn = hiaG_fn(r->g, kept);
  hia_u32vec args = {0};
  for (uint32_t i = 0; i < node.n_ins; i++)
    hiaR_push(r->d->arena, &args, hiaG_back_read(r, hiaG_in(r->fn, n, i)));
  r->b->records[n].is_recomputed = true;
  if (r->g->is_counted) node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0);
  hia_node_id call = node_of(r, HIA_OP_CALL, args.data, args.len, fn->results, fn->n_results, kept);
  return hiaG_out(r->back, call, fn->n_results - 1);
}

void hiaG_back_call(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  const hia_fn *callee = hiaG_fn(r->g, hiaG_callee(&node));
  hia_arena *arena = r->d->arena;
  bool *seeded = HIA_NEW_ARRAY(arena, bool, node.n_outs + 1), is_seeded = false;
  bool *varies = HIA_NEW_ARRAY(arena, bool, node.n_ins + 1);
  hia_value_id *dy = hiaG_back_take_all(r, n, &is_seeded);
  if (!is_seeded) return;
  for (uint32_t i = 0; i < node.n_outs; i++) seeded[i] = dy[i] != HIA_NONE;
  for (uint32_t i = 0; i < node.n_ins; i++) varies[i] = r->b->varies[hiaG_in(r->fn, n, i)];
  const hia_grad_version own = r->d->versions.data[r->b->version];
  uint32_t params = own.params;
  uint32_t v = hiaG_grad_version_from(r->d, own.fn, hiaG_callee(&node), params, varies, seeded);
  const hia_grad_version version = r->d->versions.data[v];
  r->b->records[n].version = v;
  r->b->records[n].type = version.tape;
  hia_u32vec args = {0};
  hiaR_push(arena, &args,
            callee->is_recomputed ? recompute(r, n, version.kept)
                                  : hiaG_back_record(r, n, version.tape));
  for (uint32_t i = 0; i < node.n_outs; i++)
    if (version.seeded[i])
      hiaR_push(arena, &args, dy[i] != HIA_NONE ? dy[i] : hiaG_back_zero(r, node.outs + i));
  const hia_fn *back = hiaG_fn(r->g, version.back);
  if (r->g->is_counted) node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0);
  hia_node_id call =
      node_of(r, HIA_OP_CALL, args.data, args.len, back->results, back->n_results, version.back);
  uint32_t at = 0;
  for (uint32_t i = 0; i < callee->n_params; i++)
    if (version.varies[i]) {
      hiaG_back_same_shape(r, hiaG_out(r->back, call, at), hiaG_in(r->fn, n, i));
      hiaG_back_add_dense(r, hiaG_in(r->fn, n, i), hiaG_out(r->back, call, at++));
    }
  const bool *reads =
      r->d->params.data[params].reads + (size_t)hiaG_callee(&node) * r->g->params.len;
  for (uint32_t p = 0; p < r->g->params.len; p++)
    if (reads[p]) hiaG_back_add(r, r->fn->values.len + p, hiaG_out(r->back, call, at++));
}

/* What has a gradient of its own: that is called with the arguments, with what flows to the results
 * and, if it takes them, with the results. */
void hiaG_back_own(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_own own = hiaG_own_gradient(r->g, &node);
  hia_u32vec args = {0};
  bool is_some;
  hia_value_id *dy = hiaG_back_take_all(r, n, &is_some);
  if (!is_some) return;
  for (uint32_t i = 0; i < node.n_ins; i++)
    hiaR_push(r->d->arena, &args, hiaG_back_read(r, hiaG_in(r->fn, n, i)));
  for (uint32_t i = 0; i < node.n_outs; i++) {
    if (!hiaG_is_of_floats(r->g->types, hiaG_type(r->fn, node.outs + i))) continue;
    hiaR_push(r->d->arena, &args, dy[i] == HIA_NONE ? hiaG_back_zero(r, node.outs + i) : dy[i]);
  }
  for (uint32_t i = 0; i < node.n_outs && own.takes_results; i++)
    hiaR_push(r->d->arena, &args, hiaG_back_read(r, node.outs + i));
  const hia_fn *gradient = hiaG_fn(r->g, own.gradient);
  if (r->g->is_counted) node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0);
  hia_node_id call = node_of(r, HIA_OP_CALL, args.data, args.len, gradient->results,
                             gradient->n_results, own.gradient);
  uint32_t at = 0;
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!hiaG_is_of_floats(r->g->types, hiaG_type(r->fn, v))) continue;
    hiaG_back_same_shape(r, hiaG_out(r->back, call, at), v);
    hiaG_back_add_dense(r, v, hiaG_out(r->back, call, at++));
  }
}
