/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through a region of f backwards, node by node. This file alone knows all that goes through
 * nodes. */
#include "graph/ir/walk.h"
#include "graph/grad/back/back.h"
#include "graph/ir/own_gradient.h"

/* Regions inside each other, of a graph that was read: the pass recurses. */
enum { MAX_DEPTH = 4000 };

static void through_node(hia_reverse *r, hia_node_id n) {
  const hia_node *node = &r->fn->nodes.data[n];
  r->loc = node->loc;
  if (hiaG_has_own_gradient(r->g, node)) {
    hiaG_back_own(r, n);
    return;
  }
  if (node->flags & HIA_NODE_END) hiaG_back_enter_rerun(r, n);
  if (node->flags & HIA_NODE_BEGIN) hiaG_back_leave_rerun(r);
  switch (node->op) {
  case HIA_OP_ARG:
  case HIA_OP_PARAM: return; /* what comes from here has its gradient */
  case HIA_OP_IF: hiaG_back_branch(r, n); return;
  case HIA_OP_LOOP: hiaG_back_loop(r, n); return;
  case HIA_OP_MAP: hiaG_back_map(r, n); return;
  case HIA_OP_CALL: hiaG_back_call(r, n); return;
  case HIA_OP_PACK: hiaG_back_pack(r, n); return;
  case HIA_OP_DATA: hiaG_back_data(r, n); return;
  case HIA_OP_COLLECT: hiaG_back_collect(r, n); return;
  case HIA_OP_FIELD: hiaG_back_field(r, n); return;
  case HIA_OP_ARRAY: hiaG_back_array(r, n); return;
  case HIA_OP_AT: hiaG_back_at(r, n); return;
  case HIA_OP_SLICE: hiaG_back_slice(r, n); return;
  case HIA_OP_SET: hiaG_back_set(r, n); return;
  case HIA_OP_CONCAT: hiaG_back_concat(r, n); return;
  case HIA_OP_ALIKE: return; /* an index */
  case HIA_OP_FAIL:
    for (uint32_t i = 0; i < node->n_outs; i++) (void)hiaG_back_take(r, node->outs + i);
    return; /* these results are never there */
  default: hiaG_back_op(r, n); return;
  }
}

void hiaG_back_region(hia_reverse *r, uint32_t grad_region) {
  hia_region_id forward = r->b->grad_regions.data[grad_region].forward;
  if (++r->depth > MAX_DEPTH)
    hiaG_grad_lacks(r->d, r->fn, r->loc, "branches and loops nested this deep");
  hia_node_id n = r->fn->nodes.data[hiaG_yield_of(r->fn, forward)].prev;
  for (; n != HIA_NONE; n = r->fn->nodes.data[n].prev) through_node(r, n);
  r->depth--;
}

hia_contributions hiaG_back_arm(hia_reverse *r, uint32_t grad_region, const hia_value_id *gradients,
                                hia_contributions so_far) {
  uint32_t around, begin = hiaG_back_open(r, &around), outer = r->grad_region;
  hia_region_id region = r->region;
  const hia_grad_region p = r->b->grad_regions.data[grad_region];
  hia_node_id yield = hiaG_yield_of(r->fn, p.forward);
  r->grad_region = grad_region;
  r->region = p.region;
  for (uint32_t i = 0; i < so_far.len; i++)
    *hiaG_back_gradient(r, so_far.data[i].id) = so_far.data[i].gradient;
  for (uint32_t i = 0; i < r->fn->nodes.data[yield].n_ins; i++)
    if (gradients[i] != HIA_NONE) hiaG_back_add_dense(r, hiaG_in(r->fn, yield, i), gradients[i]);
  hiaG_back_region(r, grad_region);
  hia_contributions found = hiaG_back_close(r, begin, around);
  r->grad_region = outer;
  r->region = region;
  return found;
}
