/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through branches backwards: a branch of f.back on the constructor of the record, which says
 * which arm f has taken. */
#include "graph/grad/back/back.h"
#include "graph/ir/change.h"

/* Merges two lists of ids, without repetitions. */
static hia_u32vec ids_of(hia_reverse *r, hia_contributions a, hia_contributions b) {
  hia_u32vec ids = {0};
  for (uint32_t i = 0, k = 0; i < a.len || k < b.len;) {
    uint32_t x = i < a.len ? a.data[i].id : HIA_NONE, y = k < b.len ? b.data[k].id : HIA_NONE;
    hiaR_push(r->d->arena, &ids, x < y ? x : y);
    i += x <= y;
    k += y <= x;
  }
  return ids;
}

/* Returns the gradients for these ids, as values that are there at the end of a region. */
static hia_u32vec gradients_for(hia_reverse *r, uint32_t grad_region, hia_u32vec ids,
                                hia_contributions found) {
  hia_u32vec list = {0};
  uint32_t outer = r->grad_region, k = 0;
  hia_region_id region = r->region;
  r->grad_region = grad_region;
  r->region = r->b->grad_regions.data[grad_region].region;
  for (uint32_t i = 0; i < ids.len; i++) {
    bool has_found = k < found.len && found.data[k].id == ids.data[i];
    hiaR_push(r->d->arena, &list,
              has_found ? found.data[k].gradient : hiaG_back_zero(r, ids.data[i]));
    k += has_found;
  }
  r->grad_region = outer;
  r->region = region;
  return list;
}

void hiaG_back_branch(hia_reverse *r, hia_node_id n) {
  bool is_some;
  hia_value_id *gradients = hiaG_back_take_all(r, n, &is_some);
  if (!is_some) return;
  hia_region_id forward = r->fn->nodes.data[n].regions;
  hia_value_id record = hiaG_back_record(r, n, HIA_BOOL); /* its type comes with its constructors */
  hia_grad_record *kept = &r->b->records[n];
  hia_type i32 = HIA_I32;
  hia_node_id ctor = node_of(r, HIA_OP_CTOR, &record, 1, &i32, 1, 0);
  hia_node_id n_then = node_of(r, HIA_OP_CONST, NULL, 0, &i32, 1, 0);
  kept->n_then = n_then;
  hia_value_id cond = op_of(r, HIA_OP_LT, hiaG_out(r->back, ctor, 0), hiaG_out(r->back, n_then, 0));
  hia_node_id branch = node_of(r, HIA_OP_IF, &cond, 1, NULL, 0, 0);
  hia_contributions found[2];
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t grad_region =
        hiaG_back_add_region(r, HIA_GRAD_ARM, forward + k, r->back->nodes.data[branch].regions + k,
                             r->grad_region, kept->kept);
    kept->grad_regions[k] = grad_region;
    found[k] = hiaG_back_arm(r, grad_region, gradients);
  }
  hia_u32vec ids = ids_of(r, found[0], found[1]);
  if (!ids.len) {
    hiaG_remove(r->back, branch);
    hiaG_remove(r->back, r->back->values.data[cond].node);
    hiaG_remove(r->back, n_then);
    hiaG_remove(r->back, ctor);
    hiaG_back_forget(r, n);
    return;
  }
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < ids.len; i++)
    hiaR_push(r->d->arena, &types, hiaG_back_type(r, ids.data[i]));
  for (uint32_t k = 0; k < 2; k++) {
    hia_u32vec list = gradients_for(r, kept->grad_regions[k], ids, found[k]);
    hiaG_yield(r->g, r->back, r->back->nodes.data[branch].regions + k, list.data, list.len);
  }
  hiaG_set_outs(r->g, r->back, branch, types.data, types.len);
  for (uint32_t i = 0; i < ids.len; i++) {
    if (!hiaG_back_is_param(r, ids.data[i]))
      hiaG_back_same_shape(r, hiaG_out(r->back, branch, i), ids.data[i]);
    hiaG_back_add(r, ids.data[i], hiaG_out(r->back, branch, i));
  }
}
