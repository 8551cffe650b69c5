/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The names that a printed draft has: those that the host suggested, made distinct, and numbered
 * ones; and types with names for sizes. */
#include "frontend/build/print.h"

#include <inttypes.h>
#include <stdio.h>

void hiaF_draft_put(hia_draft_printer *pr, const char *text) {
  hiaR_text_add(pr->out, text, strlen(text));
}

void hiaF_draft_put_number(hia_draft_printer *pr, const char *before, uint32_t n) {
  char digits[16], *at = digits + sizeof digits;
  hiaF_draft_put(pr, before);
  do *--at = (char)('0' + n % 10);
  while (n /= 10);
  hiaR_text_add(pr->out, at, (size_t)(digits + sizeof digits - at));
}

/* ---- names ----
 *
 * The names of a function are distinct, so that scopes do not matter, and differ from those of
 * functions and built-ins, which they would hide. */

static hia_name_use *use_of(hia_draft_printer *pr, hia_symbol_id symbol) {
  while (pr->symbols.len <= symbol)
    hiaR_push(pr->out->arena, &pr->symbols, (hia_name_use){0, 0, false, HIA_NONE});
  hia_name_use *use = &pr->symbols.data[symbol];
  if (use->scope != pr->scope) *use = (hia_name_use){pr->scope, 1, false, HIA_NONE};
  return use;
}

static bool take(hia_draft_printer *pr, hia_symbol_id symbol) {
  const hia_symbol *e = &pr->d->symbols.list.data[symbol];
  hia_name_use *use = use_of(pr, symbol);
  if (use->taken || e->decl != HIA_NONE) return false;
  return use->taken = true;
}

/* The next free name of v1, v2, ... */
static uint32_t numbered(hia_draft_printer *pr) {
  for (;;) {
    uint32_t k = ++pr->n_numbered;
    if (!pr->d->has_numbered) return HIA_DRAFT_NUMBERED + k;
    char text[16];
    int len = snprintf(text, sizeof text, "v%u", k);
    if (take(pr, hiaF_intern(&pr->d->symbols, text, (uint32_t)len))) return HIA_DRAFT_NUMBERED + k;
  }
}

static hia_symbol_id distinct(hia_draft_printer *pr, hia_symbol_id wish) {
  if (take(pr, wish)) return wish;
  hia_arena *scratch = &pr->d->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t len = pr->d->symbols.list.data[wish].len, n = use_of(pr, wish)->tried;
  char *text = hiaR_arena_alloc(scratch, len + 16);
  memcpy(text, pr->d->symbols.list.data[wish].text, len);
  hia_symbol_id symbol;
  do {
    int more = snprintf(text + len, 16, "_%u", ++n);
    symbol = hiaF_intern(&pr->d->symbols, text, len + (uint32_t)more);
  } while (!take(pr, symbol));
  use_of(pr, wish)->tried = n;
  hiaR_arena_release(scratch, mark);
  return symbol;
}

/* Returns the name that a pattern binds: with a capital letter it would be a constructor. */
static hia_symbol_id small_name(hia_draft_printer *pr, hia_symbol_id symbol) {
  const hia_symbol *e = &pr->d->symbols.list.data[symbol];
  if (e->text[0] < 'A' || e->text[0] > 'Z') return symbol;
  hia_arena *scratch = &pr->d->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  const char *text = hiaR_arena_printf(scratch, "_%s", e->text);
  symbol = hiaF_intern(&pr->d->symbols, text, e->len + 1);
  hiaR_arena_release(scratch, mark);
  return symbol;
}

void hiaF_draft_give_name(hia_draft_printer *pr, hia_draft_item *item) {
  hia_symbol_id wish = item->symbol;
  if (wish != HIA_NONE && item->kind == HIA_DRAFT_BOUND) wish = small_name(pr, wish);
  item->printed = wish == HIA_NONE ? numbered(pr) : distinct(pr, wish);
}

void hiaF_draft_put_name(hia_draft_printer *pr, uint32_t index) {
  hia_draft_item *item = &pr->d->items.data[index];
  if (item->printed == HIA_NONE) hiaF_draft_give_name(pr, item);
  if (item->printed >= HIA_DRAFT_NUMBERED) {
    hiaF_draft_put_number(pr, "v", item->printed - HIA_DRAFT_NUMBERED);
  } else {
    const hia_symbol *e = &pr->d->symbols.list.data[item->printed];
    hiaR_text_add(pr->out, e->text, e->len);
  }
}

/* ---- types with sizes ---- */

void hiaF_draft_put_type(hia_draft_printer *pr, hia_type type) {
  hiaG_type_print(&pr->d->types, type, pr->out);
}

/* Sizes share the names of variables, which they are. */
static void put_size(hia_draft_printer *pr, hia_dim dim) {
  if (!hiaR_dim_is_named(dim)) {
    if (hiaR_dim_is_number(dim))
      hiaR_text_addf(pr->out, "%" PRId64, dim);
    else
      hiaF_draft_put(pr, "?");
    return;
  }
  hia_symbol_id name = hiaR_dim_name(dim);
  if (use_of(pr, name)->size == HIA_NONE) {
    hia_symbol_id printed = distinct(pr, name);
    use_of(pr, name)->size = printed;
  }
  hiaF_draft_put(pr, hiaF_draft_text(pr->d, use_of(pr, name)->size));
}

uint32_t hiaF_draft_put_sized(hia_draft_printer *pr, hia_type type, const hia_dim *dims) {
  const hia_draft *d = pr->d;
  uint32_t n = hiaF_draft_n_dims(d, type), count = 0;
  bool is_tuple = !hiaG_is_scalar(type) && hiaG_type_kind(&d->types, type) == HIA_KIND_TUPLE;
  if (!dims || (!is_tuple && !hiaF_draft_is_tensor(d, type))) {
    hiaF_draft_put_type(pr, type);
    return n;
  }
  if (!is_tuple) hiaF_draft_put(pr, hiaG_dtype_name(hiaF_draft_dtype(d, type)));
  hiaF_draft_put(pr, is_tuple ? "(" : "[");
  for (uint32_t i = 0; i < (is_tuple ? hiaG_tuple_len(&d->types, type) : n); i++) {
    if (i) hiaF_draft_put(pr, ", ");
    if (is_tuple)
      count += hiaF_draft_put_sized(pr, hiaG_tuple_part(&d->types, type, i), dims + count);
    else
      put_size(pr, dims[i]);
  }
  hiaF_draft_put(pr, is_tuple ? ")" : "]");
  return n;
}
