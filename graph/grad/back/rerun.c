/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Enters and leaves reruns. again.c of graph/grad says what these are. */
#include "graph/grad/back/back.h"

void hiaG_back_enter_rerun(hia_reverse *r, hia_node_id n) {
  uint32_t number = r->b->rerun_of[n];
  hia_grad_rerun *s = &r->b->reruns.data[number];
  const hia_fn *callee = hiaG_fn(r->g, s->callee);
  hia_u32vec ins = {0};
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < s->inputs.len; i++) {
    hiaR_push(r->d->arena, &ins, hiaG_back_read(r, s->inputs.data[i]));
    hiaR_push(r->d->arena, &types, hiaG_type(r->fn, s->inputs.data[i]));
  }
  s->again = hiaG_fn_new(r->g, hiaG_new_name(r->g, callee->name, ".again"), callee->source,
                         callee->loc, types.data, types.len, NULL, 0);
  hiaG_fn(r->g, s->again)->is_recomputed = true;
  s->count = r->g->is_counted ? node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0) : HIA_NONE;
  s->call = node_of(r, HIA_OP_CALL, ins.data, ins.len, NULL, 0, s->again);
  s->grad_region = hiaG_back_add_region(r, HIA_GRAD_AGAIN, r->fn->nodes.data[n].region, r->region,
                                        r->grad_region, HIA_NONE);
  r->b->grad_regions.data[s->grad_region].rerun = number;
  r->grad_region = s->grad_region;
}

void hiaG_back_leave_rerun(hia_reverse *r) {
  r->grad_region = r->b->grad_regions.data[r->grad_region].outer;
}
