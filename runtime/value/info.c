/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types as hosts see them (hiaton/data.h). */
#include "runtime/value/handle.h"

/* The entry of a type that is no scalar. */
static const hia_type_entry *entry_of(const hia_type_info *type) {
  return hiaR_type_entry(&type->types->table, type->type);
}

hia_type_kind hia_type_info_kind(const hia_type_info *type) {
  return type ? hiaR_type_kind(&type->types->table, type->type) : HIA_KIND_NONE;
}

hia_status hia_type_info_dtype(const hia_type_info *type, hia_dtype *dtype) {
  if (!dtype) return HIA_ARGUMENT;
  bool fits = hia_type_info_kind(type) == HIA_KIND_SCALAR;
  *dtype = fits ? (hia_dtype)type->type : HIA_BOOL;
  return fits ? HIA_OK : HIA_ARGUMENT;
}

size_t hia_type_info_rank(const hia_type_info *type) {
  return hia_type_info_kind(type) == HIA_KIND_TENSOR ? entry_of(type)->n : 0;
}

size_t hia_type_info_len(const hia_type_info *type) {
  return hia_type_info_kind(type) == HIA_KIND_TUPLE ? entry_of(type)->n : 0;
}

const hia_type_info *hia_type_info_part(const hia_type_info *type, size_t i) {
  if (i >= hia_type_info_len(type)) return NULL;
  return hiaR_type_info(type->types, type->types->table.parts[entry_of(type)->first + i]);
}

const hia_type_info *hia_type_info_element(const hia_type_info *type) {
  hia_type_kind kind = hia_type_info_kind(type);
  if (kind != HIA_KIND_ARRAY && kind != HIA_KIND_TENSOR) return NULL;
  return hiaR_type_info(type->types, entry_of(type)->element);
}

/* ---- data types ---- */

const char *hia_type_info_name(const hia_type_info *type) {
  if (hia_type_info_kind(type) != HIA_KIND_DATA) return "";
  return type->types->table.names + entry_of(type)->name;
}

size_t hia_type_info_ctor_count(const hia_type_info *type) {
  return hia_type_info_kind(type) == HIA_KIND_DATA ? entry_of(type)->n : 0;
}

/* NULL: there is no such constructor. */
static const hia_ctor *ctor_at(const hia_type_info *type, size_t ctor) {
  if (ctor >= hia_type_info_ctor_count(type)) return NULL;
  return hiaR_ctor(&type->types->table, type->type, (uint32_t)ctor);
}

const char *hia_type_info_ctor_name(const hia_type_info *type, size_t ctor) {
  const hia_ctor *c = ctor_at(type, ctor);
  return c ? type->types->table.names + c->name : "";
}

size_t hia_type_info_find_ctor(const hia_type_info *type, const char *name) {
  size_t n = name ? hia_type_info_ctor_count(type) : 0;
  for (size_t i = 0; i < n; i++)
    if (strcmp(hia_type_info_ctor_name(type, i), name) == 0) return i;
  return HIA_NO_CTOR;
}

size_t hia_type_info_field_count(const hia_type_info *type, size_t ctor) {
  const hia_ctor *c = ctor_at(type, ctor);
  return c ? c->n : 0;
}

/* NULL: there is no such field. */
static const hia_ctor_field *field_at(const hia_type_info *type, size_t ctor, size_t i) {
  if (i >= hia_type_info_field_count(type, ctor)) return NULL;
  return &type->types->table.fields[ctor_at(type, ctor)->first + i];
}

const char *hia_type_info_field_name(const hia_type_info *type, size_t ctor, size_t i) {
  const hia_ctor_field *field = field_at(type, ctor, i);
  return field ? type->types->table.names + field->name : "";
}

const hia_type_info *hia_type_info_field(const hia_type_info *type, size_t ctor, size_t i) {
  const hia_ctor_field *field = field_at(type, ctor, i);
  return field ? hiaR_type_info(type->types, field->type) : NULL;
}

/* ---- types as a whole ---- */

size_t hia_type_info_scalars(const hia_type_info *type, const hia_dtype **dtypes) {
  if (dtypes) *dtypes = type ? type->scalars : NULL;
  return type ? type->n_scalars : 0;
}

bool hia_type_info_is_same(const hia_type_info *a, const hia_type_info *b) {
  bool is_same = false;
  if (!a || !b) return false;
  const hia_allocator *allocator = a->types->size ? &a->types->allocator : &hiaR_malloc;
  return hiaR_type_infos_compare(a, b, allocator, &is_same) == HIA_OK && is_same;
}

/* Does what snprintf does, in pieces. */
typedef struct writing {
  char *buf;
  size_t size, len;
} writing;

static void put(writing *w, const char *text) {
  for (; *text; text++, w->len++)
    if (w->len + 1 < w->size) w->buf[w->len] = *text;
}

static size_t end_text(writing *w) {
  if (w->size) w->buf[w->len < w->size ? w->len : w->size - 1] = 0;
  return w->len;
}

size_t hia_type_info_format(const hia_type_info *type, char *buf, size_t size) {
  writing w = {.buf = buf, .size = buf ? size : 0};
  if (!type) return end_text(&w);
  hia_open_type open[HIA_MAX_TYPE_PARTS];
  hia_type_pieces pieces = {&type->types->table, type->type, open, 0, HIA_LEN(open)};
  for (const char *piece; (piece = hiaR_type_piece(&pieces));) put(&w, piece);
  return end_text(&w);
}
