/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values from files. The bytes may be anything: every number is checked before it is used, and
 * nothing is allocated that is larger than what the bytes that are left can fill. The file's types
 * are not read: they are compared with those of the wanted type. */
#include "runtime/value/file.h"
#include <stdio.h>

typedef struct loaded_object {
  void *object;
  hia_type type;
} loaded_object;

typedef struct loader {
  const hia_type_table *types;
  const hia_allocator *allocator;
  hia_objects *objects;
  const unsigned char *begin, *at, *end; /* end: of objects and words */
  hia_file_types file_types;
  hia_block made; /* loaded_object */
  uint64_t n_made;
  hia_value_error *error;
} loader;

static hia_status HIA_PRINTF(2, 3) fail(loader *l, const char *fmt, ...) {
  *l->error = (hia_value_error){.at = (size_t)(l->at - l->begin)};
  va_list args;
  va_start(args, fmt);
  vsnprintf(l->error->message, sizeof l->error->message, fmt, args);
  va_end(args);
  return HIA_ARGUMENT;
}

static hia_status damaged(loader *l, const char *what) {
  return fail(l, "the saved value is damaged: %s at byte %zu", what, (size_t)(l->at - l->begin));
}

static size_t left(const loader *l) { return (size_t)(l->end - l->at); }

static hia_status read_number(loader *l, uint64_t *x) {
  *x = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (l->at == l->end) return damaged(l, "it ends early");
    unsigned char byte = *l->at++;
    uint64_t bits = byte & 0x7f;
    if (bits << shift >> shift != bits || (!byte && shift)) break; /* one form for each number */
    *x |= bits << shift;
    if (byte < 0x80) return HIA_OK;
  }
  return damaged(l, "a number is too large");
}

static hia_status read_reference(loader *l, hia_type type, hia_word *word) {
  uint64_t x;
  hia_status status = read_number(l, &x);
  if (status) return status;
  const hia_type_entry *entry = hiaR_type_entry(l->types, type);
  if (x & 1) {
    *word = x / 2;
    if (entry->kind != HIA_KIND_DATA) return x == 1 ? HIA_OK : damaged(l, "no such array");
    bool is_ctor = x / 2 < entry->n && !hiaR_ctor(l->types, type, (uint32_t)(x / 2))->n;
    return is_ctor ? HIA_OK : damaged(l, "no such constructor");
  }
  if (!x || x / 2 > l->n_made) return damaged(l, "a reference to nothing");
  const loaded_object *object = (const loaded_object *)l->made.data + (l->n_made - x / 2);
  *word = hiaR_word_of(object->object);
  return object->type == type ? HIA_OK : damaged(l, "a reference to a value of another type");
}

static hia_status read_word(loader *l, hia_type type, hia_word *word) {
  hia_repr repr = hiaR_repr(type);
  if (repr == HIA_REPR_REF) return read_reference(l, type, word);
  size_t size = hiaR_reprs[repr].size;
  if (left(l) < size) return damaged(l, "it ends early");
  if (repr == HIA_REPR_BOOL && *l->at > 1) return damaged(l, "no bool");
  *word = hiaR_load(repr, l->at);
  l->at += size;
  return HIA_OK;
}

static hia_status read_words(loader *l, const hia_layout *layout, char *base) {
  const hia_word_place *places = l->types->places + layout->first;
  for (uint32_t i = 0; i < layout->n; i++) {
    hia_word word;
    hia_status status = read_word(l, places[i].type, &word);
    if (status) return status;
    hiaR_store((hia_repr)places[i].repr, base + places[i].at, word);
  }
  return HIA_OK;
}

static hia_status read_array(loader *l, hia_type type, void **object) {
  const hia_layout *layout = &hiaR_type_entry(l->types, type)->layout;
  uint64_t n;
  hia_status status = read_number(l, &n);
  if (status) return status;
  if (n > left(l) / layout->n)
    return damaged(l, "an array is longer than the file"); /* a byte a word */
  hia_array *array = hiaR_new_array(l->objects, layout, n);
  if (!array) return HIA_MEMORY;
  *object = array;
  for (uint64_t i = 0; i < n && status == HIA_OK; i++)
    status = read_words(l, layout, array->data + i * layout->size);
  return status;
}

static hia_status read_data(loader *l, hia_type type, uint32_t number, void **object) {
  const hia_ctor *ctor = hiaR_ctor(l->types, type, number);
  if (!ctor->n) return damaged(l, "an object of a constructor without fields");
  hia_counted *data = hiaR_new_data(l->objects, ctor, number);
  if (!data) return HIA_MEMORY;
  *object = data;
  return read_words(l, &ctor->layout, (char *)data);
}

static hia_status read_objects(loader *l) {
  for (;;) {
    uint64_t number;
    hia_status status = read_number(l, &number);
    if (status || !number) return status;
    if (number > l->file_types.n_kinds) return damaged(l, "no such kind of object");
    hia_file_kind kind = ((const hia_file_kind *)l->file_types.kinds.data)[number - 1];
    loaded_object made = {NULL, kind.type};
    bool is_data = hiaR_type_kind(l->types, kind.type) == HIA_KIND_DATA;
    status = is_data ? read_data(l, kind.type, kind.ctor, &made.object)
                     : read_array(l, kind.type, &made.object);
    if (status) return status;
    if (!hiaR_block_grow(&l->made, l->allocator, ((size_t)l->n_made + 1) * sizeof made))
      return HIA_MEMORY;
    ((loaded_object *)l->made.data)[l->n_made++] = made;
  }
}

static hia_status read_value(loader *l, hia_type type, hia_word *words) {
  uint32_t n = hiaR_type_words(l->types, type);
  hia_type *flat = l->allocator->alloc(l->allocator->user, (n + 1) * sizeof *flat);
  if (!flat) return HIA_MEMORY;
  hia_status status = hiaR_type_flatten(l->types, type, l->allocator, flat);
  for (uint32_t i = 0; i < n && status == HIA_OK; i++) status = read_word(l, flat[i], &words[i]);
  hiaR_free(l->allocator, flat, (n + 1) * sizeof *flat);
  return status;
}

static uint64_t number_at(const unsigned char *at, size_t size) {
  uint32_t four;
  uint64_t eight;
  if (size == sizeof eight) return memcpy(&eight, at, size), eight;
  return memcpy(&four, at, sizeof four), four;
}

/* Checks everything around the objects and the words. */
static hia_status check_file(loader *l, size_t size, hia_type type) {
  const unsigned char *s = l->begin;
  if (size < HIA_FILE_HEAD + HIA_FILE_TAIL)
    return fail(l, "this is no saved value: it has only %zu bytes", size);
  if (memcmp(s, HIA_FILE_MAGIC, 8) != 0) return fail(l, "this is no saved value");
  if (number_at(s + 8, 4) != HIA_FILE_ORDER)
    return fail(l, "the value was saved on a machine of another byte order");
  if (number_at(s + 12, 4) != HIA_FILE_VERSION)
    return fail(l, "the value was saved in version %u of the form, this is version %u",
                (unsigned)number_at(s + 12, 4), HIA_FILE_VERSION);
  if (number_at(s + size - 16, 8) != size)
    return fail(l, "the saved value is damaged: it is incomplete, or something was added");
  hia_file_hash hash = {0};
  hiaR_file_hash_add(&hash, s, size - 8);
  if (number_at(s + size - 8, 8) != hiaR_file_hash_end(&hash))
    return fail(l, "the saved value is damaged: its hash is wrong");
  hia_status status = hiaR_file_types_make(&l->file_types, l->allocator, l->types, type);
  if (status) return status;
  uint64_t n_types = number_at(s + 16, 4);
  l->at = s + HIA_FILE_HEAD;
  l->end = s + size - HIA_FILE_TAIL;
  if (n_types > left(l)) return damaged(l, "it ends early");
  const unsigned char *types = l->at;
  l->at += n_types;
  if (n_types == l->file_types.n_bytes && memcmp(types, l->file_types.bytes.data, n_types) == 0)
    return HIA_OK;
  char name[200];
  hiaR_type_text(l->types, type, name, sizeof name);
  uint64_t n = n_types >= 4 ? number_at(types, 4) : 0;
  if (n < 1 || n > n_types - 4 || n > 200) return damaged(l, "no types");
  if (n == strlen(name) && memcmp(types + 4, name, n) == 0)
    return fail(l, "the type %s has other constructors, or fields of other types, in the file",
                name);
  for (uint64_t i = 0; i < n; i++)
    if (types[4 + i] < ' ' || types[4 + i] > '~') return damaged(l, "no types");
  return fail(l, "expected a value of type %s, the file has one of type %.*s", name, (int)n,
              (const char *)types + 4);
}

static hia_status load(loader *l, size_t size, hia_type type, hia_word *words) {
  hia_status status = check_file(l, size, type);
  if (status == HIA_OK) status = read_objects(l);
  if (status == HIA_OK) status = read_value(l, type, words);
  if (status) return status;
  if (l->at != l->end) return damaged(l, "more than the value");
  return number_at(l->end, 8) == l->n_made ? HIA_OK : damaged(l, "another number of objects");
}

hia_status hiaR_value_load(const hia_type_table *types, hia_type type, const void *bytes,
                           size_t size, const hia_allocator *allocator, hia_objects *objects,
                           hia_word *words, hia_value_error *error) {
  loader l = {.types = types,
              .allocator = allocator,
              .objects = objects,
              .begin = bytes,
              .at = bytes,
              .file_types = {.allocator = allocator},
              .error = error};
  *error = (hia_value_error){.code = NULL};
  hia_status status = load(&l, size, type, words);
  hiaR_file_types_free(&l.file_types);
  hiaR_block_free(&l.made, allocator);
  return status;
}
