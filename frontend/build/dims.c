/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes in drafts: of declared types, and of values.
 *
 * Of each value the draft knows what the language says about its sizes (docs/language.md, "Sizes"):
 * a number for an axis, or nothing. So a call is a mistake where two sizes that must be equal are
 * different numbers. Of the variables of loops nothing is known, as in the text that is printed,
 * which declares their types without sizes. */
#include "frontend/build/build.h"

static hia_draft_item *item_at(hia_draft *d, uint32_t item) { return &d->items.data[item]; }

static uint32_t rank_of(hia_draft *d, uint32_t item) {
  return hiaF_draft_rank(d, hiaF_draft_type_at(d, item));
}

/* ---- types with sizes ---- */

hia_draft_sized hiaF_draft_sized_tuple(hia_draft *d, const hia_draft_sized *parts, size_t n) {
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n + 1);
  bool has_sizes = false;
  for (size_t i = 0; i < n; i++) {
    types[i] = parts[i].type;
    has_sizes |= parts[i].dims != NULL;
  }
  hia_draft_sized all = {hiaF_draft_make_tuple(d, types, n), NULL};
  if (!has_sizes) return all;
  hia_dim *dims = HIA_NEW_ARRAY(&d->comp->arena, hia_dim, hiaF_draft_n_dims(d, all.type));
  all.dims = dims;
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < hiaF_draft_n_dims(d, types[i]); k++)
      *dims++ = parts[i].dims ? parts[i].dims[k] : HIA_DIM_UNKNOWN;
  return all;
}

void hiaF_draft_need_no_names(hia_draft *d, const char *what, hia_draft_sized sized) {
  for (uint32_t k = 0; sized.dims && k < hiaF_draft_n_dims(d, sized.type); k++)
    if (hiaR_dim_is_named(sized.dims[k]))
      hiaF_draft_wrong(d, "a size of %s is a number or '?', not '%.80s'", what,
                       hiaF_draft_text(d, hiaR_dim_name(sized.dims[k])));
}

void hiaF_draft_check_names(hia_draft *d, const hia_draft_sized *params, uint32_t n,
                            hia_draft_sized result) {
  if (!result.dims) return;
  d->stamp++;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; params[i].dims && k < hiaF_draft_n_dims(d, params[i].type); k++)
      if (hiaR_dim_is_named(params[i].dims[k]))
        d->symbols.list.data[hiaR_dim_name(params[i].dims[k])].bound_at = d->stamp;
  for (uint32_t k = 0; k < hiaF_draft_n_dims(d, result.type); k++) {
    if (!hiaR_dim_is_named(result.dims[k])) continue;
    const hia_symbol *s = &d->symbols.list.data[hiaR_dim_name(result.dims[k])];
    if (s->bound_at != d->stamp)
      hiaF_draft_wrong(d, "the size '%.80s' of the result is that of no parameter", s->text);
  }
}

/* ---- sizes of values ---- */

void hiaF_draft_set_dims(hia_draft *d, uint32_t item, const hia_dim *dims) {
  uint32_t n = hiaF_draft_n_dims(d, hiaF_draft_type_at(d, item));
  bool has_numbers = false;
  for (uint32_t k = 0; dims && k < n; k++) has_numbers |= hiaR_dim_is_number(dims[k]);
  item_at(d, item)->dims = NULL;
  if (!has_numbers) return;
  hia_dim *numbers = HIA_NEW_ARRAY(&d->comp->arena, hia_dim, n);
  for (uint32_t k = 0; k < n; k++)
    numbers[k] = hiaR_dim_is_number(dims[k]) ? dims[k] : HIA_DIM_UNKNOWN;
  item_at(d, item)->dims = numbers;
}

void hiaF_draft_join_dims(hia_draft *d, uint32_t item, uint32_t met) {
  const hia_dim *a = item_at(d, item)->dims, *b = item_at(d, met)->dims;
  uint32_t n = hiaF_draft_n_dims(d, hiaF_draft_type_at(d, item));
  if (a == b || !a) return;
  hia_dim *joined = b ? HIA_NEW_ARRAY(&d->comp->arena, hia_dim, n) : NULL;
  for (uint32_t k = 0; b && k < n; k++) joined[k] = a[k] == b[k] ? a[k] : HIA_DIM_UNKNOWN;
  item_at(d, item)->dims = joined;
}

const hia_dim *hiaF_draft_dims_of_parts(hia_draft *d, const uint32_t *parts, uint32_t n) {
  uint32_t count = 0;
  bool is_known = false;
  for (uint32_t i = 0; i < n; i++) {
    count += hiaF_draft_n_dims(d, hiaF_draft_type_at(d, parts[i]));
    is_known |= item_at(d, parts[i])->dims != NULL;
  }
  if (!is_known) return NULL;
  hia_dim *dims = HIA_NEW_ARRAY(&d->comp->arena, hia_dim, count), *to = dims;
  for (uint32_t i = 0; i < n; i++) {
    const hia_dim *from = item_at(d, parts[i])->dims;
    for (uint32_t k = hiaF_draft_n_dims(d, hiaF_draft_type_at(d, parts[i])); k > 0; k--)
      *to++ = from ? *from++ : HIA_DIM_UNKNOWN;
  }
  return dims;
}

static void load(uint32_t rank, const hia_dim *from, hia_dims *to) {
  to->rank = rank;
  for (uint32_t k = 0; k < rank; k++) to->dims[k] = from ? from[k] : HIA_DIM_UNKNOWN;
}

hia_dims hiaF_draft_shape_of(hia_draft *d, uint32_t item) {
  hia_dims shape;
  load(rank_of(d, item), item_at(d, item)->dims, &shape);
  return shape;
}

static const char *misfit_text(hia_draft *d, const hia_misfit *m) {
  hia_text text;
  hiaR_text_init(&text, &d->comp->arena);
  hiaR_misfit_print(m, NULL, &text);
  return text.data;
}

void hiaF_draft_follow(hia_draft *d, uint32_t item, hia_fit fit, const hia_dims *out,
                       const hia_misfit *m) {
  if (fit == HIA_FIT_NEVER && m->kind == HIA_MISFIT_DIM)
    hiaF_draft_wrong(d, "%s: %s", hiaR_status_message(HIA_SHAPE), misfit_text(d, m));
  if (fit != HIA_FIT_NEVER && out->rank == rank_of(d, item))
    hiaF_draft_set_dims(d, item, out->dims);
}

/* ---- declared sizes ---- */

static _Noreturn void wrong_shape(hia_draft *d, hia_draft_role r, const hia_misfit *m) {
  hiaF_draft_wrong_value(d, r,
                         hiaR_arena_printf(&d->comp->arena, "does not fit: %s", misfit_text(d, m)));
}

/* Checks the tensors of a value of this type; returns how many dims they have. */
static uint32_t expect_parts(hia_draft *d, hia_draft_role r, hia_type type, const hia_dim *have,
                             const hia_dim *want) {
  uint32_t count = 0;
  if (hiaF_draft_is_tensor(d, type)) {
    hia_dims shape, wanted;
    hia_misfit m;
    load(hiaG_rank(&d->types, type), have, &shape);
    load(shape.rank, want, &wanted);
    for (uint32_t k = 0; k < wanted.rank; k++)
      if (!hiaR_dim_is_number(wanted.dims[k])) wanted.dims[k] = HIA_DIM_UNKNOWN;
    if (hiaR_shape_expect(&shape, &wanted, &shape, &m) == HIA_FIT_NEVER) wrong_shape(d, r, &m);
    return wanted.rank;
  }
  if (hiaG_is_scalar(type) || hiaG_type_kind(&d->types, type) != HIA_KIND_TUPLE)
    return hiaF_draft_n_dims(d, type);
  for (uint32_t i = 0; i < hiaG_tuple_len(&d->types, type); i++)
    count += expect_parts(d, r, hiaG_tuple_part(&d->types, type, i), have + count, want + count);
  return count;
}

void hiaF_draft_expect_dims(hia_draft *d, hia_draft_role r, uint32_t item,
                            const hia_dim *declared) {
  const hia_dim *have = item_at(d, item)->dims;
  if (have && declared) expect_parts(d, r, hiaF_draft_type_at(d, item), have, declared);
}

/* The first size that a name stands for in the arguments of a call. */
typedef struct named {
  const hia_dim *dims;
  uint32_t rank, axis;
} named;

typedef struct names {
  HIA_VEC(named) list; /* the symbols with the draft's stamp have their indices in .var */
} names;

static void expect_name(hia_draft *d, names *all, hia_draft_role r, hia_symbol_id name,
                        named size) {
  hia_symbol *s = &d->symbols.list.data[name];
  if (s->bound_at != d->stamp) {
    s->bound_at = d->stamp;
    s->var = all->list.len;
    hiaR_push(&d->comp->arena, &all->list, size);
    return;
  }
  const named *first = &all->list.data[s->var];
  if (first->dims[first->axis] == size.dims[size.axis]) return;
  hia_misfit m = {
      .kind = HIA_MISFIT_DIM, .operand_b = 1, .axis_a = first->axis, .axis_b = size.axis};
  load(first->rank, first->dims, &m.a);
  load(size.rank, size.dims, &m.b);
  wrong_shape(d, r, &m);
}

static uint32_t expect_names(hia_draft *d, names *all, hia_draft_role r, hia_type type,
                             const hia_dim *have, const hia_dim *want) {
  uint32_t count = 0;
  if (hiaF_draft_is_tensor(d, type)) {
    uint32_t rank = hiaG_rank(&d->types, type);
    for (uint32_t k = 0; k < rank; k++)
      if (hiaR_dim_is_named(want[k]) && hiaR_dim_is_number(have[k]))
        expect_name(d, all, r, hiaR_dim_name(want[k]), (named){have, rank, k});
    return rank;
  }
  if (hiaG_is_scalar(type) || hiaG_type_kind(&d->types, type) != HIA_KIND_TUPLE)
    return hiaF_draft_n_dims(d, type);
  for (uint32_t i = 0; i < hiaG_tuple_len(&d->types, type); i++)
    count +=
        expect_names(d, all, r, hiaG_tuple_part(&d->types, type, i), have + count, want + count);
  return count;
}

void hiaF_draft_expect_args(hia_draft *d, const hia_draft_function *f, const uint32_t *args) {
  names all = {0};
  d->stamp++;
  for (uint32_t i = 0; i < f->n_params; i++) {
    hia_draft_role r = {"argument", i + 1};
    const hia_dim *have = item_at(d, args[i])->dims;
    if (!have || !f->sizes[i]) continue;
    hiaF_draft_expect_dims(d, r, args[i], f->sizes[i]);
    expect_names(d, &all, r, hiaF_draft_type_at(d, args[i]), have, f->sizes[i]);
  }
}
