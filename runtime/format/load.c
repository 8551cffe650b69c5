/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values from files. The bytes may be anything: every number is checked before it is used, and
 * nothing is allocated that is larger than what the bytes that are left can fill. The file's types
 * are not read: they are compared with those of the wanted type.
 *
 * A program that is built ahead of time and has scalars alone does not link what makes objects:
 * that is called through the loader. */
#include "runtime/format/load.h"
#include "runtime/heap/tensor.h"
#include <stdio.h>

typedef hia_loader loader;

static hia_status HIA_PRINTF(3, 4) fail(hia_value_error *error, uint64_t at, const char *fmt, ...) {
  *error = (hia_value_error){.at = (size_t)at};
  va_list args;
  va_start(args, fmt);
  vsnprintf(error->message, sizeof error->message, fmt, args);
  va_end(args);
  return HIA_ARGUMENT;
}

hia_status hiaR_load_damaged(hia_value_error *error, uint64_t at, const char *what) {
  return fail(error, at, "the saved value is damaged: %s at byte %llu", what,
              (unsigned long long)at);
}

static hia_status damaged(loader *l, const char *what) {
  return hiaR_load_damaged(l->error, l->begin_at + (uint64_t)(l->at - l->begin), what);
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

hia_status hiaR_load_reference(loader *l, hia_type type, hia_word *word) {
  uint64_t x;
  hia_status status = read_number(l, &x);
  if (status) return status;
  const hia_type_entry *entry = hiaR_type_entry(l->types, type);
  if (x & 1) {
    *word = x / 2;
    if (entry->kind == HIA_KIND_TENSOR) return damaged(l, "no tensor");
    if (entry->kind == HIA_KIND_ARRAY) return x == 1 ? HIA_OK : damaged(l, "no such array");
    bool is_ctor = x / 2 < entry->n && !hiaR_ctor(l->types, type, (uint32_t)(x / 2))->n;
    return is_ctor ? HIA_OK : damaged(l, "no such constructor");
  }
  if (x && x / 2 > l->n_made && l->earlier) return l->earlier(l, x / 2 - l->n_made, type, word);
  if (!x || x / 2 > l->n_made) return damaged(l, "a reference to nothing");
  hia_loaded_object *object = (hia_loaded_object *)l->made.data + (l->n_made - x / 2);
  *word = hiaR_word_of(object->object);
  object->is_used = true;
  if (l->local) hiaR_dup(*word, false);
  return object->type == type ? HIA_OK : damaged(l, "a reference to a value of another type");
}

static hia_status read_word(loader *l, hia_type type, hia_word *word) {
  hia_repr repr = hiaR_repr(type);
  if (repr == HIA_REPR_REF) return l->read_reference(l, type, word);
  size_t size = hiaR_reprs[repr].size;
  if (left(l) < size) return damaged(l, "it ends early");
  if (repr == HIA_REPR_BOOL && *l->at > 1) return damaged(l, "no bool");
  *word = hiaR_load(repr, l->at);
  l->at += size;
  return HIA_OK;
}

static hia_status read_words(loader *l, const hia_layout *layout, char *base) {
  const hia_layout_word *layout_words = l->types->layout_words + layout->first;
  for (uint32_t i = 0; i < layout->n; i++) {
    hia_word word;
    hia_status status = read_word(l, layout_words[i].type, &word);
    if (status) return status;
    hiaR_store((hia_repr)layout_words[i].repr, base + layout_words[i].at, word);
  }
  return HIA_OK;
}

/* An object of the run, to which nothing refers yet. */
static void *make_local(loader *l, size_t size, uint32_t ctor) {
  hia_counted *object = hiaR_heap_alloc(l->local, size);
  if (!object) return NULL;
  hiaR_object_begin(object, hiaR_u16(ctor));
  atomic_init(&object->count, 0);
  return object;
}

static hia_array *make_array(loader *l, const hia_layout *layout, uint64_t n) {
  if (!l->local) return hiaR_new_array(l->objects, layout, n);
  if (n > PTRDIFF_MAX / (layout->size + 1u) - sizeof(hia_array)) return NULL;
  hia_array *array = make_local(l, hiaR_array_size(layout->size, n), 0);
  if (!array) return NULL;
  array->n = n;
  array->data = (char *)(array + 1);
  return array;
}

static hia_status read_array(loader *l, hia_type type, void **object) {
  const hia_layout *layout = &hiaR_type_entry(l->types, type)->layout;
  uint64_t n;
  hia_status status = read_number(l, &n);
  if (status) return status;
  if (n > left(l) / layout->n)
    return damaged(l, "an array is longer than the file"); /* a byte a word */
  if (n == 0 && l->local) return HIA_OK;
  hia_array *array = make_array(l, layout, n);
  if (!array) return HIA_MEMORY;
  *object = array;
  for (uint64_t i = 0; i < n && status == HIA_OK; i++)
    status = read_words(l, layout, array->data + i * layout->size);
  return status;
}

static hia_tensor *make_tensor(loader *l, hia_dtype dtype, const hia_dims *shape) {
  hia_word word;
  if (!l->local) return hiaR_new_tensor(l->objects, dtype, shape);
  if (!hiaR_tensor_new(l->local, dtype, shape, &word)) return NULL;
  hia_tensor *tensor = hiaR_tensor(word);
  atomic_init(&tensor->counted.count, 0);
  return tensor;
}

/* The shape of a tensor of the type, whose elements, `bytes` in all, follow. */
static hia_status read_shape(loader *l, hia_type type, hia_dims *shape, uint64_t *bytes) {
  const hia_type_entry *entry = hiaR_type_entry(l->types, type);
  uint32_t size = hiaR_dtype_size((hia_dtype)entry->element);
  *shape = (hia_dims){.rank = entry->n};
  for (uint32_t i = 0; i < entry->n; i++) {
    uint64_t dim;
    hia_status status = read_number(l, &dim);
    if (status) return status;
    if (dim > INT64_MAX) return damaged(l, "a size is too large");
    shape->dims[i] = (int64_t)dim;
  }
  if (!hiaR_shape_elements(shape, size, bytes)) return damaged(l, "a tensor is too large");
  *bytes *= size;
  return HIA_OK;
}

static hia_status read_tensor(loader *l, hia_type type, void **object) {
  hia_dtype dtype = (hia_dtype)hiaR_type_entry(l->types, type)->element;
  hia_dims shape;
  uint64_t bytes;
  hia_status status = read_shape(l, type, &shape, &bytes);
  if (status) return status;
  if (bytes > left(l)) return damaged(l, "a tensor is longer than the file");
  for (uint64_t i = 0; dtype == HIA_BOOL && i < bytes; i++)
    if (l->at[i] > 1) return damaged(l, "no bool");
  hia_tensor *tensor = make_tensor(l, dtype, &shape);
  if (!tensor) return HIA_MEMORY;
  if (bytes) memcpy(tensor->data, l->at, (size_t)bytes);
  l->at += bytes;
  *object = tensor;
  return HIA_OK;
}

static hia_status read_data(loader *l, hia_type type, uint32_t number, void **object) {
  const hia_ctor *ctor = hiaR_ctor(l->types, type, number);
  if (!ctor->n) return damaged(l, "an object of a constructor without fields");
  hia_counted *data =
      l->local ? make_local(l, ctor->layout.size, number) : hiaR_new_data(l->objects, ctor, number);
  if (!data) return HIA_MEMORY;
  *object = data;
  hia_status status = read_words(l, &ctor->layout, (char *)data);
  hia_size_misfit misfit;
  if (status || hiaR_sizes_fit(l->types, ctor, data, &misfit)) return status;
  char text[512];
  hiaR_size_misfit_print(l->types, ctor, &misfit, text, sizeof text);
  return fail(l->error, l->begin_at + (uint64_t)(l->at - l->begin), "%s", text);
}

hia_status hiaR_load_object(loader *l, bool *is_end) {
  uint64_t number;
  hia_status status = read_number(l, &number);
  if (is_end) *is_end = !status && !number;
  if (status || (!number && is_end)) return status;
  if (number - 1 >= l->file_types->n_kinds) return damaged(l, "no such kind of object");
  hia_file_kind kind = ((const hia_file_kind *)l->file_types->kinds.data)[number - 1];
  hia_loaded_object made = {.object = NULL, .type = kind.type};
  switch (hiaR_type_kind(l->types, kind.type)) {
  case HIA_KIND_DATA: status = read_data(l, kind.type, kind.ctor, &made.object); break;
  case HIA_KIND_TENSOR: status = read_tensor(l, kind.type, &made.object); break;
  default: status = read_array(l, kind.type, &made.object);
  }
  if (status) return status;
  if (!hiaR_block_grow(&l->made, l->allocator, ((size_t)l->n_made + 1) * sizeof made))
    return HIA_MEMORY;
  ((hia_loaded_object *)l->made.data)[l->n_made++] = made;
  return HIA_OK;
}

static hia_status read_objects(loader *l) {
  bool is_end = false;
  hia_status status = HIA_OK;
  while (status == HIA_OK && !is_end) status = l->read_object(l, &is_end);
  return status;
}

static hia_status read_value(loader *l, hia_type type, hia_word *words) {
  uint32_t n = hiaR_type_words(l->types, type);
  hia_type *flat = l->allocator->alloc(l->allocator->user, (n + 1) * sizeof *flat);
  if (!flat) return HIA_MEMORY;
  hia_status status = HIA_OK;
  hiaR_type_flatten(l->types, type, flat);
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

hia_status hiaR_load_check_ends(const void *head, const void *tail, uint64_t size,
                                hia_value_error *error) {
  const unsigned char *s = head, *end = tail;
  if (!s || !end)
    return fail(error, 0, "this is no saved value: it has only %llu bytes",
                (unsigned long long)size);
  if (memcmp(s, HIA_FILE_MAGIC, 8) != 0) return fail(error, 0, "this is no saved value");
  if (number_at(s + 8, 4) != HIA_FILE_ORDER)
    return fail(error, 0, "the value was saved on a machine of another byte order");
  if (number_at(s + 12, 4) != HIA_FILE_VERSION)
    return fail(error, 0, "the value was saved in version %u of the form, this is version %u",
                (unsigned)number_at(s + 12, 4), HIA_FILE_VERSION);
  if (number_at(end + 8, 8) != size)
    return fail(error, 0, "the saved value is damaged: it is incomplete, or something was added");
  return HIA_OK;
}

hia_status hiaR_load_check_hash(const void *tail, hia_file_hash *hash, hia_value_error *error) {
  if (number_at((const unsigned char *)tail + 16, 8) == hiaR_file_hash_end(hash)) return HIA_OK;
  return fail(error, 0, "the saved value is damaged: its hash is wrong");
}

uint32_t hiaR_load_types_len(const void *head) {
  return (uint32_t)number_at((const unsigned char *)head + 16, 4);
}
uint64_t hiaR_load_n_objects(const void *tail) { return number_at(tail, 8); }

hia_status hiaR_load_check_types(const hia_file_types *f, hia_type type, const void *bytes,
                                 uint32_t n_types, hia_value_error *error) {
  const unsigned char *types = bytes;
  uint64_t at = HIA_FILE_HEAD + (uint64_t)n_types;
  if (n_types == f->n_bytes && memcmp(types, f->bytes.data, n_types) == 0) return HIA_OK;
  char name[200];
  hiaR_type_text(f->types, type, name, sizeof name);
  uint64_t n = n_types >= 4 ? number_at(types, 4) : 0;
  if (n < 1 || n > n_types - 4 || n > 200) return hiaR_load_damaged(error, at, "no types");
  if (n == strlen(name) && memcmp(types + 4, name, n) == 0)
    return fail(error, at,
                "the type %s has other constructors, or fields of other types, in the file", name);
  for (uint64_t i = 0; i < n; i++)
    if (types[4 + i] < ' ' || types[4 + i] > '~') return hiaR_load_damaged(error, at, "no types");
  return fail(error, at, "expected a value of type %s, the file has one of type %.*s", name, (int)n,
              (const char *)types + 4);
}

/* Checks everything around the objects and the words. */
static hia_status check_file(loader *l, hia_file_types *file_types, size_t size, hia_type type) {
  const unsigned char *s = l->begin;
  bool is_long = size >= HIA_FILE_HEAD + HIA_FILE_TAIL;
  const unsigned char *tail = is_long ? s + size - HIA_FILE_TAIL : NULL;
  hia_status status = hiaR_load_check_ends(is_long ? s : NULL, tail, size, l->error);
  if (status) return status;
  hia_file_hash hash = {0};
  hiaR_file_hash_add(&hash, s, size - 8);
  status = hiaR_load_check_hash(tail, &hash, l->error);
  if (status == HIA_OK) status = hiaR_file_types_make(file_types, l->allocator, l->types, type);
  if (status) return status;
  uint32_t n_types = hiaR_load_types_len(s);
  l->at = s + HIA_FILE_HEAD;
  l->end = tail;
  if (n_types > left(l)) return damaged(l, "it ends early");
  l->at += n_types;
  return hiaR_load_check_types(file_types, type, s + HIA_FILE_HEAD, n_types, l->error);
}

static hia_status read_file(loader *l, hia_file_types *file_types, size_t size, hia_type type,
                            hia_word *words) {
  hia_status status = check_file(l, file_types, size, type);
  if (status == HIA_OK) status = read_objects(l);
  if (status == HIA_OK) status = read_value(l, type, words);
  if (status) return status;
  if (l->at != l->end) return damaged(l, "more than the value");
  return hiaR_load_n_objects(l->end) == l->n_made ? HIA_OK
                                                  : damaged(l, "another number of objects");
}

/* `l` says how objects are read, and where to. */
static hia_status load(loader l, const void *bytes, size_t size, hia_type type, hia_word *words) {
  hia_file_types file_types = {.allocator = l.allocator};
  l.begin = l.at = bytes;
  l.file_types = &file_types;
  *l.error = (hia_value_error){.code = NULL};
  hia_status status = read_file(&l, &file_types, size, type, words);
  hiaR_file_types_free(&file_types);
  hiaR_block_free(&l.made, l.allocator);
  return status;
}

hia_status hiaR_value_load(const hia_type_table *types, hia_type type, const void *bytes,
                           size_t size, const hia_allocator *allocator, hia_objects *objects,
                           hia_word *words, hia_value_error *error) {
  loader l = {.read_object = hiaR_load_object,
              .read_reference = hiaR_load_reference,
              .types = types,
              .allocator = allocator,
              .objects = objects,
              .error = error};
  return load(l, bytes, size, type, words);
}

/* Finds the 0 that ends the objects, of which scalars have none. */
static hia_status no_object(loader *l, bool *is_end) {
  uint64_t number;
  hia_status status = read_number(l, &number);
  *is_end = !status;
  return status || !number ? status : damaged(l, "no such kind of object");
}

hia_status hiaR_scalars_load(const hia_type_table *types, hia_type type, const void *bytes,
                             size_t size, const hia_allocator *allocator, hia_objects *objects,
                             hia_word *words, hia_value_error *error) {
  (void)objects;
  loader l = {.read_object = no_object, .types = types, .allocator = allocator, .error = error};
  return load(l, bytes, size, type, words);
}
