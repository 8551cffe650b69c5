/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types that the host makes, functions and params that it declares, and where bodies begin and end.
 */
#include "frontend/build/build.h"

#include <inttypes.h>

/* ---- types ---- */

void hiaF_draft_check_parts(hia_draft *d, const uint64_t *parts, size_t n) {
  if (n > HIA_MAX_TYPE_PARTS) hiaF_draft_too_large(d);
  if (n && !parts) hiaF_draft_wrong(d, "no parts");
}

uint64_t hiaF_draft_tuple_type(hia_draft *d, const uint64_t *parts, size_t n) {
  hiaF_draft_doing(d, "tuple type");
  hiaF_draft_check_parts(d, parts, n);
  hia_draft_sized *sized = HIA_NEW_ARRAY(&d->comp->arena, hia_draft_sized, n + 1);
  for (size_t i = 0; i < n; i++)
    sized[i] = hiaF_draft_own_sized(d, parts[i], (hia_draft_role){"part", (uint32_t)i + 1});
  return hiaF_draft_sized_id(d, hiaF_draft_sized_tuple(d, sized, n));
}

uint64_t hiaF_draft_array_type(hia_draft *d, uint64_t element) {
  hiaF_draft_doing(d, "array type");
  hia_draft_sized sized = hiaF_draft_own_sized(d, element, (hia_draft_role){"the element", 0});
  if (sized.dims) hiaF_draft_wrong(d, "the element has sizes: within arrays they are not known");
  return hiaF_draft_type_id(d, hiaF_draft_make_array(d, sized.type));
}

uint64_t hiaF_draft_tensor_type(hia_draft *d, unsigned dtype, uint32_t rank) {
  hiaF_draft_doing(d, "tensor type");
  if (dtype >= HIA_N_DTYPES) hiaF_draft_wrong(d, "%u is no dtype", dtype);
  return hiaF_draft_type_id(d, hiaF_draft_make_tensor(d, (hia_dtype)dtype, rank));
}

uint64_t hiaF_draft_sized_type(hia_draft *d, unsigned dtype, const int64_t *sizes, uint32_t rank) {
  hiaF_draft_doing(d, "sized type");
  if (dtype >= HIA_N_DTYPES) hiaF_draft_wrong(d, "%u is no dtype", dtype);
  hia_draft_sized sized = {hiaF_draft_make_tensor(d, (hia_dtype)dtype, rank), NULL};
  if (!sizes) hiaF_draft_wrong(d, "no sizes");
  hia_dim *dims = HIA_NEW_ARRAY(&d->comp->arena, hia_dim, rank);
  for (uint32_t i = 0; i < rank; i++) {
    if (sizes[i] < HIA_DIM_UNKNOWN) hiaF_draft_wrong(d, "size %u is %" PRId64, i + 1, sizes[i]);
    dims[i] = sizes[i];
    if (dims[i] != HIA_DIM_UNKNOWN) sized.dims = dims;
  }
  return hiaF_draft_sized_id(d, sized);
}

uint64_t hiaF_draft_type_of(hia_draft *d, uint64_t value) {
  hiaF_draft_doing(d, "type of");
  return hiaF_draft_type_id(
      d, hiaF_draft_type_at(d, hiaF_draft_any_value(d, (hia_draft_role){"the value", 0}, value)));
}

/* ---- functions ---- */

/* The sizes of a function's params and result as they were declared. */
static const hia_dim **declared_sizes(hia_draft *d, const hia_draft_sized *params, uint32_t n,
                                      hia_draft_sized result) {
  const hia_dim **sizes = HIA_NEW_ARRAY(&d->comp->arena, const hia_dim *, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) sizes[i] = params[i].dims;
  sizes[n] = result.dims;
  return sizes;
}

uint32_t hiaF_draft_new_fn(hia_draft *d, hia_symbol_id symbol, const hia_draft_sized *params,
                           uint32_t n, hia_draft_sized result) {
  hiaF_draft_check_free(d, symbol);
  hiaF_draft_check_names(d, params, n, result);
  uint32_t fn = d->fns.len, block = hiaF_draft_new_block(d, fn, false), first = d->items.len;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t item = hiaF_draft_new_item(d, HIA_DRAFT_PARAM, params[i].type, block);
    d->items.data[item].index = i;
    hiaF_draft_set_dims(d, item, params[i].dims);
  }
  hiaR_push(&d->comp->arena, &d->fns,
            (hia_draft_function){.symbol = symbol,
                                 .params = first,
                                 .n_params = n,
                                 .result = result.type,
                                 .sizes = declared_sizes(d, params, n, result)});
  d->symbols.list.data[symbol].decl = fn;
  return fn;
}

static bool has_references(hia_draft *d, hia_type type) {
  hia_arena *scratch = &d->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t n = hiaG_type_words(&d->types, type);
  hia_type *words = HIA_NEW_ARRAY(scratch, hia_type, n);
  hiaG_type_flatten(&d->types, type, words);
  bool is_found = false;
  for (uint32_t i = 0; i < n; i++) is_found |= !hiaG_is_scalar(words[i]);
  hiaR_arena_release(scratch, mark);
  return is_found;
}

static void need_scalars(hia_draft *d, hia_draft_role r, hia_type type) {
  if (!has_references(d, type)) return;
  hiaF_draft_wrong_value(d, r,
                         hiaR_arena_printf(&d->comp->arena,
                                           "is %s: functions of the host have no data and no "
                                           "arrays",
                                           hiaF_draft_type_text(d, type)));
}

void hiaF_draft_make_extern(hia_draft *d, uint32_t fn, bool is_impure) {
  hia_draft_function *f = &d->fns.data[fn];
  for (uint32_t i = 0; i < f->n_params; i++)
    need_scalars(d, (hia_draft_role){"the type of parameter", i + 1},
                 hiaF_draft_type_at(d, f->params + i));
  need_scalars(d, (hia_draft_role){"the type of the result", 0}, f->result);
  f->state = HIA_DRAFT_EXTERN;
  f->is_impure = is_impure;
}

static uint32_t declare_types(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                              uint64_t result) {
  hiaF_draft_doing(d, "declare");
  if (!name) hiaF_draft_wrong(d, "no name");
  hia_symbol_id symbol = hiaF_draft_symbol(d, name, strlen(name));
  d->about = symbol;
  if (n && !params) hiaF_draft_wrong(d, "no types of parameters");
  if (n > HIA_DRAFT_MAX_PARAMS)
    hiaF_draft_wrong(d, "%zu parameters; at most %u", n, HIA_DRAFT_MAX_PARAMS);
  hia_draft_sized *types = HIA_NEW_ARRAY(&d->comp->arena, hia_draft_sized, n + 1);
  for (size_t i = 0; i < n; i++)
    types[i] = hiaF_draft_own_sized(d, params[i],
                                    (hia_draft_role){"the type of parameter", (uint32_t)i + 1});
  return hiaF_draft_new_fn(
      d, symbol, types, (uint32_t)n,
      hiaF_draft_own_sized(d, result, (hia_draft_role){"the type of the result", 0}));
}

uint64_t hiaF_draft_declare_types(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                  uint64_t result) {
  return hiaF_draft_id(d, declare_types(d, name, params, n, result));
}

uint64_t hiaF_draft_declare_extern(hia_draft *d, const char *name, const uint64_t *params, size_t n,
                                   uint64_t result, bool is_impure) {
  uint32_t fn = declare_types(d, name, params, n, result);
  hiaF_draft_make_extern(d, fn, is_impure);
  return hiaF_draft_id(d, fn);
}

/* ---- params ---- */

uint32_t hiaF_draft_new_weight(hia_draft *d, hia_symbol_id symbol, const hia_param_spec *spec) {
  hiaF_draft_check_free(d, symbol);
  hia_type type = hiaF_draft_make_ranked(d, spec->dtype, spec->shape.rank);
  uint32_t item = hiaF_draft_new_item(d, HIA_DRAFT_WEIGHT, type, HIA_NONE);
  d->items.data[item].index = d->weights.len;
  hiaF_draft_set_dims(d, item, spec->shape.dims);
  d->symbols.list.data[symbol].decl = d->weights.len | HIA_DRAFT_IS_WEIGHT;
  hiaR_push(&d->comp->arena, &d->weights, (hia_draft_weight){symbol, *spec});
  return item;
}

/* ---- bodies ---- */

void hiaF_draft_begin(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "begin");
  uint32_t fn = hiaF_draft_fn(d, id);
  hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  static const char *const no[] = {[HIA_DRAFT_BEGUN] = "its body has begun already",
                                   [HIA_DRAFT_DONE] = "its body is there already",
                                   [HIA_DRAFT_EXTERN] = "it is the host's and has no body"};
  if (f->state != HIA_DRAFT_DECLARED) hiaF_draft_wrong(d, "%s", no[f->state]);
  uint32_t block = hiaF_draft_new_block(d, fn, true);
  hiaR_push(&d->comp->arena, &d->open, (hia_draft_open){.item = HIA_NONE, .block = block});
  for (uint32_t i = 0; i < f->n_params; i++) d->items.data[f->params + i].block = block;
  f->state = HIA_DRAFT_BEGUN;
  d->fn = fn;
}

uint64_t hiaF_draft_param(hia_draft *d, uint64_t id, size_t i) {
  hiaF_draft_doing(d, "parameter");
  uint32_t fn = hiaF_draft_fn(d, id);
  const hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  if (i >= f->n_params)
    hiaF_draft_wrong(d, "there is no parameter %zu: it has %u, counted from 0", i, f->n_params);
  return hiaF_draft_id(d, f->params + (uint32_t)i);
}

void hiaF_draft_return(hia_draft *d, uint64_t result) {
  hiaF_draft_doing(d, "return");
  hiaF_draft_need_body(d);
  static const char *const open[] = {[HIA_DRAFT_IF] = "an 'if'",
                                     [HIA_DRAFT_LOOP] = "a loop",
                                     [HIA_DRAFT_MATCH] = "a match",
                                     [HIA_DRAFT_FOR] = "a comprehension"};
  if (hiaF_draft_top(d)->item != HIA_NONE)
    hiaF_draft_wrong(d, "%s is open still", open[d->items.data[hiaF_draft_top(d)->item].kind]);
  uint32_t value = hiaF_draft_typed_value(d, (hia_draft_role){"the result", 0}, result,
                                          d->fns.data[d->fn].result);
  const hia_draft_function *f = &d->fns.data[d->fn];
  hiaF_draft_expect_dims(d, (hia_draft_role){"the result", 0}, value, f->sizes[f->n_params]);
  hiaF_draft_append_part(d, HIA_DRAFT_RETURN, &value, 1, HIA_NONE);
  d->blocks.data[hiaF_draft_top(d)->block].is_open = false;
  d->fns.data[d->fn].state = HIA_DRAFT_DONE;
  d->open.len--;
  d->fn = d->open.len ? d->blocks.data[hiaF_draft_top(d)->block].fn : HIA_NONE;
}

hia_draft_lack hiaF_draft_unfinished(const hia_draft *d, const char **name) {
  for (uint32_t i = 0; i < d->datas.len; i++) {
    *name = hiaF_draft_text(d, d->datas.data[i].symbol);
    if (d->datas.data[i].ctors.len == 0) return HIA_DRAFT_LACKS_CTORS;
  }
  for (uint32_t i = 0; i < d->fns.len; i++) {
    *name = hiaF_draft_text(d, d->fns.data[i].symbol);
    if (d->fns.data[i].state == HIA_DRAFT_DECLARED) return HIA_DRAFT_LACKS_BODY;
    if (d->fns.data[i].state == HIA_DRAFT_BEGUN) return HIA_DRAFT_LACKS_END;
  }
  return HIA_DRAFT_LACKS_NOTHING;
}
