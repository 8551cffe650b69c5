/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Drafts: gradients of functions. Their types follow from what they are with respect to, which the
 * host always names: the body of the function may come later. */
#include "frontend/build/build.h"

static bool is_float(hia_dtype dtype) { return dtype == HIA_F32 || dtype == HIA_F64; }

/* The item of what a gradient is with respect to: a parameter of the function, or a `param`. */
static uint32_t wrt_item(hia_draft *d, const hia_draft_function *f, uint64_t id, uint32_t number) {
  hia_draft_role r = {"wrt", number};
  uint32_t index = hiaF_draft_any_value(d, r, id);
  bool is_own = index >= f->params && index - f->params < f->n_params;
  if (!is_own && d->items.data[index].kind != HIA_DRAFT_WEIGHT)
    hiaF_draft_wrong_value(d, r, "is no parameter of the function, and no param");
  hia_type type = hiaF_draft_type_at(d, index);
  if (!is_float(hiaF_draft_dtype(d, type)))
    hiaF_draft_wrong_value(d, r,
                           hiaR_arena_printf(&d->comp->arena, "is of type %s, not of floats",
                                             hiaF_draft_type_text(d, type)));
  return index;
}

/* Checks that none of the items occurs twice. */
static void check_distinct(hia_draft *d, const uint32_t *items, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (items[i] == items[k])
        hiaF_draft_wrong_value(d, (hia_draft_role){"wrt", i + 1},
                               hiaR_arena_printf(&d->comp->arena, "is wrt %u", k + 1));
}

/* The known sizes of the gradients, one behind the other: those of the params and declared types,
 * or else those of the arguments. */
static const hia_dim *dims_of(hia_draft *d, const hia_draft_function *f, const uint32_t *wrt,
                              uint32_t n, const uint32_t *args, uint32_t n_all) {
  hia_dim *dims = HIA_NEW_ARRAY(&d->comp->arena, hia_dim, (size_t)n_all + 1);
  uint32_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    bool is_weight = d->items.data[wrt[i]].kind == HIA_DRAFT_WEIGHT;
    const hia_dim *declared = d->items.data[wrt[i]].dims, *from = NULL;
    if (!is_weight) from = d->items.data[args[wrt[i] - f->params]].dims;
    for (uint32_t k = 0; k < hiaF_draft_n_dims(d, hiaF_draft_type_at(d, wrt[i])); k++)
      dims[at++] = declared && hiaR_dim_is_number(declared[k]) ? declared[k]
                   : from                                      ? from[k]
                                                               : HIA_DIM_UNKNOWN;
  }
  return dims;
}

uint64_t hiaF_draft_grad(hia_draft *d, bool has_value, uint64_t id, const uint64_t *wrt,
                         size_t n_wrt, const uint64_t *args, size_t n) {
  hiaF_draft_doing(d, has_value ? "value and gradient" : "gradient");
  hiaF_draft_need_block(d);
  uint32_t fn = hiaF_draft_fn(d, id);
  d->about = d->fns.data[fn].symbol;
  if (d->fns.data[fn].state == HIA_DRAFT_EXTERN)
    hiaF_draft_wrong(d, "it is the host's and has no gradient");
  hia_type result = d->fns.data[fn].result;
  if (!hiaG_is_scalar(result) || !is_float((hia_dtype)result))
    hiaF_draft_wrong(d, "its result is of type %s, not f32 or f64",
                     hiaF_draft_type_text(d, result));
  if (n_wrt < 1 || n_wrt > HIA_MAX_TYPE_PARTS)
    hiaF_draft_wrong(d, "with respect to %zu values: to 1 to %u", n_wrt, HIA_MAX_TYPE_PARTS);
  if (!wrt) hiaF_draft_wrong(d, "no values that it is with respect to");
  uint32_t n_items = (uint32_t)n_wrt;
  uint32_t *items = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n_items);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n_items);
  for (uint32_t i = 0; i < n_items; i++) {
    items[i] = wrt_item(d, &d->fns.data[fn], wrt[i], i + 1);
    types[i] = hiaF_draft_type_at(d, items[i]);
  }
  check_distinct(d, items, n_items);
  hia_type type = n_items == 1 ? types[0] : hiaF_draft_make_tuple(d, types, n_items);
  if (has_value) type = hiaF_draft_make_tuple(d, (hia_type[]){result, type}, 2);
  uint32_t *ins = hiaF_draft_args(d, fn, args, n);
  hia_draft_grad grad = {.has_value = has_value, .wrt = items, .n = n_items};
  hiaR_push(&d->comp->arena, &d->grads, grad);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_GRAD, type, ins, (uint32_t)n, false);
  d->items.data[index].index = fn;
  d->items.data[index].word = d->grads.len - 1;
  d->fns.data[fn].is_differentiated = true;
  hiaF_draft_set_dims(
      d, index, dims_of(d, &d->fns.data[fn], items, n_items, ins, hiaF_draft_n_dims(d, type)));
  return hiaF_draft_id(d, index);
}
