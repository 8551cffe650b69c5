/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What saving and loading have in common: the types of a file, and its hash. */
#include "runtime/format/file.h"

/* ---- types ---- */

static bool add_bytes(hia_file_types *f, const void *bytes, size_t n) {
  if (n > UINT32_MAX - f->n_bytes ||
      !hiaR_block_grow(&f->bytes, f->allocator, (size_t)f->n_bytes + n))
    return false;
  memcpy((char *)f->bytes.data + f->n_bytes, bytes, n);
  f->n_bytes += (uint32_t)n;
  return true;
}
static bool add_number(hia_file_types *f, uint32_t x) { return add_bytes(f, &x, sizeof x); }
static bool add_name(hia_file_types *f, const char *name) {
  size_t n = strlen(name);
  return n < UINT32_MAX && add_number(f, (uint32_t)n) && add_bytes(f, name, n);
}

/* Adds a reference to the type, which becomes the next of the list if it is new. */
static bool add_type(hia_file_types *f, hia_type type) {
  if (hiaR_is_scalar(type)) return add_number(f, type);
  uint32_t *number = (uint32_t *)f->numbers.data + (type - HIA_FIRST_TYPE);
  if (!*number) {
    if (!hiaR_block_grow(&f->list, f->allocator, (f->n + 1) * sizeof type)) return false;
    ((hia_type *)f->list.data)[f->n++] = type;
    *number = f->n;
  }
  return add_number(f, HIA_FIRST_TYPE + *number - 1);
}

static bool add_kinds(hia_file_types *f, hia_type type, uint32_t n) {
  if (!hiaR_block_grow(&f->kinds, f->allocator, ((size_t)f->n_kinds + n) * sizeof(hia_file_kind)))
    return false;
  for (uint32_t i = 0; i < n; i++)
    ((hia_file_kind *)f->kinds.data)[f->n_kinds++] = (hia_file_kind){type, i};
  return true;
}

static bool add_ctor(hia_file_types *f, const hia_ctor *ctor) {
  bool is_fine = add_name(f, f->types->names + ctor->name) && add_number(f, ctor->n);
  for (uint32_t i = 0; is_fine && i < ctor->n; i++)
    is_fine = add_type(f, f->types->fields[ctor->first + i].type);
  return is_fine;
}

static bool add_entry(hia_file_types *f, uint32_t index) {
  hia_type type = ((const hia_type *)f->list.data)[index];
  const hia_type_entry *entry = hiaR_type_entry(f->types, type);
  if (!hiaR_block_grow(&f->first, f->allocator, (index + 1) * sizeof(uint32_t))) return false;
  ((uint32_t *)f->first.data)[index] = f->n_kinds + 1;
  bool is_fine = add_number(f, entry->kind);
  switch (entry->kind) {
  case HIA_KIND_TUPLE:
    is_fine = is_fine && add_number(f, entry->n);
    for (uint32_t i = 0; is_fine && i < entry->n; i++)
      is_fine = add_type(f, f->types->parts[entry->first + i]);
    return is_fine;
  case HIA_KIND_ARRAY: return is_fine && add_type(f, entry->element) && add_kinds(f, type, 1);
  case HIA_KIND_TENSOR:
    return is_fine && add_type(f, entry->element) && add_number(f, entry->n) &&
           add_kinds(f, type, 1);
  default:
    is_fine = is_fine && add_name(f, f->types->names + entry->name) && add_number(f, entry->n) &&
              add_kinds(f, type, entry->n);
    for (uint32_t i = 0; is_fine && i < entry->n; i++)
      is_fine = add_ctor(f, &f->types->ctors[entry->first + i]);
    return is_fine;
  }
}

hia_status hiaR_file_types_make(hia_file_types *f, const hia_allocator *allocator,
                                const hia_type_table *types, hia_type type) {
  char text[200]; /* for messages */
  *f = (hia_file_types){.allocator = allocator, .types = types};
  size_t size = types->n_types * sizeof(uint32_t);
  bool is_fine = hiaR_block_grow(&f->numbers, allocator, size);
  if (is_fine && size) memset(f->numbers.data, 0, size);
  hiaR_type_text(types, type, text, sizeof text);
  is_fine = is_fine && add_name(f, text) && add_type(f, type);
  for (uint32_t i = 0; is_fine && i < f->n; i++) is_fine = add_entry(f, i);
  return is_fine ? HIA_OK : HIA_MEMORY;
}

void hiaR_file_types_free(hia_file_types *f) {
  hiaR_block_free(&f->numbers, f->allocator);
  hiaR_block_free(&f->list, f->allocator);
  hiaR_block_free(&f->first, f->allocator);
  hiaR_block_free(&f->kinds, f->allocator);
  hiaR_block_free(&f->bytes, f->allocator);
}

/* ---- the hash ---- */

static uint64_t mix(uint64_t hash, uint64_t x) {
  hash = (hash ^ x) * HIA_MIX;
  return hash ^ hash >> 29;
}

void hiaR_file_hash_add(hia_file_hash *h, const void *bytes, size_t n) {
  const unsigned char *s = bytes;
  uint64_t x;
  while (n) {
    if (!h->n && n >= sizeof x) {
      memcpy(&x, s, sizeof x);
      h->hash = mix(h->hash, x);
      s += sizeof x;
      n -= sizeof x;
      continue;
    }
    h->rest[h->n++] = *s++;
    n--;
    if (h->n < sizeof x) continue;
    memcpy(&x, h->rest, sizeof x);
    h->hash = mix(h->hash, x);
    h->n = 0;
  }
}

uint64_t hiaR_file_hash_end(hia_file_hash *h) {
  uint64_t x = 0;
  memcpy(&x, h->rest, h->n);
  return mix(mix(h->hash, x), h->n + 1);
}
