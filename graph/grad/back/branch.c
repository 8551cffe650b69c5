/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through branches backwards: a branch of f.back on the constructor of the record, which says
 * which arm f has taken. */
#include "graph/grad/back/back.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

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

/* Returns the gradients so far of tensors from outside that the branch reads by index, by ids. Its
 * arms add to these: else an arm would make zeros of such a tensor, for a row of it, and the other
 * arm, too; and each of the rounds around, of which each has a row, would add all of it. */
static hia_contributions find_so_far(hia_reverse *r, hia_node_id n) {
  hia_contributions list = {0};
  hia_node_id end = hiaG_walk_over(r->fn, n);
  for (hia_node_id m = hiaG_walk_next(r->fn, n); m != end; m = hiaG_walk_next(r->fn, m)) {
    const hia_node *node = &r->fn->nodes.data[m];
    if (node->op != HIA_OP_ROW) continue;
    hia_value_id v = hiaG_in(r->fn, m, 0);
    bool is_dense = r->b->varies[v] && !hiaG_back_is_sum(r, hiaG_back_id(r, v));
    if (!is_dense || r->scope_of[v] != r->scope || r->gradient[v] == HIA_NONE) continue;
    hia_contribution c = {v, r->gradient[v]};
    bool is_new = true;
    for (uint32_t i = 0; i < list.len; i++) is_new &= list.data[i].id != v;
    if (is_new) hiaR_push(r->d->arena, &list, c);
  }
  return list;
}

/* Drops what an arm was given, and has added nothing to, if the other has not either. */
static void drop_untouched(hia_contributions so_far, hia_contributions found[2]) {
  for (uint32_t i = 0; i < so_far.len; i++) {
    uint32_t at[2] = {HIA_NONE, HIA_NONE};
    for (uint32_t k = 0; k < 2; k++)
      for (uint32_t j = 0; j < found[k].len; j++)
        if (found[k].data[j].id == so_far.data[i].id &&
            found[k].data[j].gradient == so_far.data[i].gradient)
          at[k] = j;
    if (at[0] == HIA_NONE || at[1] == HIA_NONE) continue;
    for (uint32_t k = 0; k < 2; k++) {
      found[k].len--;
      memmove(found[k].data + at[k], found[k].data + at[k] + 1,
              (found[k].len - at[k]) * sizeof *found[k].data);
    }
  }
}

static bool is_in(hia_contributions list, uint32_t id) {
  for (uint32_t i = 0; i < list.len; i++)
    if (list.data[i].id == id) return true;
  return false;
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
  hia_contributions found[2], so_far = find_so_far(r, n);
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t grad_region =
        hiaG_back_add_region(r, HIA_GRAD_ARM, forward + k, r->back->nodes.data[branch].regions + k,
                             r->grad_region, kept->kept);
    kept->grad_regions[k] = grad_region;
    found[k] = hiaG_back_arm(r, grad_region, gradients, so_far);
  }
  drop_untouched(so_far, found);
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
    if (is_in(so_far, ids.data[i])) *hiaG_back_gradient(r, ids.data[i]) = HIA_NONE;
    hiaG_back_add(r, ids.data[i], hiaG_out(r->back, branch, i));
  }
}
