/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values to files. A walk gives each object once, when all that it refers to is written.
 *
 * A program that is built ahead of time and has scalars alone does not link the walk: what deals
 * with objects is called through the saver. */
#include "runtime/format/file.h"
#include "runtime/heap/tensor.h"
#include "runtime/value/walk.h"

typedef struct saver {
  /* Writes all objects that the word refers to, and a reference. NULL: values are scalars. */
  void (*save_objects)(struct saver *s, hia_type type, hia_word word);
  void (*put_reference)(struct saver *s, hia_type type, hia_word word);
  const hia_type_table *types;
  const hia_allocator *allocator;
  const hia_sink *sink;
  hia_file_types file_types;
  hia_walk walk;
  uint64_t size;
  hia_file_hash hash;
  hia_status status;
  size_t len;
  char buf[4096];
} saver;

/* ---- bytes ---- */

static void flush(saver *s) {
  hiaR_file_hash_add(&s->hash, s->buf, s->len);
  if (s->status == HIA_OK && s->len && !s->sink->take(s->sink->user, s->buf, s->len))
    s->status = HIA_IO;
  s->size += s->len;
  s->len = 0;
}

static void put(saver *s, const void *bytes, size_t n) {
  const char *from = bytes;
  while (n) {
    if (s->len == sizeof s->buf) flush(s);
    size_t room = sizeof s->buf - s->len, some = n < room ? n : room;
    memcpy(s->buf + s->len, from, some);
    s->len += some;
    from += some;
    n -= some;
  }
}

static void put_number(saver *s, uint64_t x) {
  unsigned char bytes[10];
  size_t n = 0;
  for (; x >= 0x80; x >>= 7) bytes[n++] = (unsigned char)(x | 0x80);
  bytes[n++] = (unsigned char)x;
  put(s, bytes, n);
}

/* ---- objects ---- */

static void put_words(saver *s, const hia_layout_word *layout_words, uint32_t n, const char *base) {
  for (uint32_t i = 0; i < n; i++) {
    hia_repr repr = (hia_repr)layout_words[i].repr;
    const char *at = base + layout_words[i].at;
    if (hiaR_is_scalar(layout_words[i].type)) {
      put(s, at, hiaR_reprs[repr].size);
      continue;
    }
    s->put_reference(s, layout_words[i].type, hiaR_load(repr, at));
  }
}

static void put_reference(saver *s, hia_type type, hia_word word) {
  if (hiaR_has_words(s->types, type, word))
    put_number(s, 2 * (s->walk.n_objects - hiaR_walk_number(&s->walk, word)));
  else
    put_number(s, hiaR_is_object(word) ? 1 : 2 * word + 1);
}

static void put_tensor(saver *s, const hia_tensor *tensor) {
  for (uint32_t i = 0; i < hiaR_tensor_rank(tensor); i++) put_number(s, (uint64_t)tensor->dims[i]);
  put(s, tensor->data, (size_t)hiaR_tensor_bytes(tensor));
}

static void put_object(saver *s, const hia_walk_object *o) {
  put_number(s, hiaR_file_kind(&s->file_types, o->type, o->ctor));
  if (hiaR_type_kind(s->types, o->type) == HIA_KIND_TENSOR) {
    put_tensor(s, hiaR_tensor(o->word)); /* it may be that no type has layout words */
    return;
  }
  const hia_layout_word *layout_words = s->types->layout_words + o->layout->first;
  if (hiaR_type_kind(s->types, o->type) == HIA_KIND_DATA) {
    put_words(s, layout_words, o->layout->n, (const char *)(uintptr_t)o->word);
    return;
  }
  const hia_array *array = (const hia_array *)(uintptr_t)o->word;
  put_number(s, array->n);
  for (uint64_t i = 0; i < array->n && s->status == HIA_OK; i++)
    put_words(s, layout_words, o->layout->n, array->data + i * o->layout->size);
}

static void save_objects(saver *s, hia_type type, hia_word word) {
  hiaR_walk_from(&s->walk, type, word);
  const hia_walk_object *o;
  while (s->status == HIA_OK && (o = hiaR_walk_next(&s->walk))) {
    put_object(s, o);
    hiaR_walk_done(&s->walk);
  }
  if (s->walk.is_out) s->status = HIA_MEMORY;
}

static void save(saver *s, hia_type type, const hia_word *words) {
  const uint32_t head[2] = {HIA_FILE_ORDER, HIA_FILE_VERSION};
  put(s, HIA_FILE_MAGIC, 8);
  put(s, head, sizeof head);
  put(s, &s->file_types.n_bytes, sizeof s->file_types.n_bytes);
  put(s, s->file_types.bytes.data, s->file_types.n_bytes);
  /* The words of the value, as an array of one element would hold them. */
  uint32_t n = hiaR_type_words(s->types, type);
  hia_type *flat = s->allocator->alloc(s->allocator->user, (n + 1) * sizeof *flat);
  if (!flat) {
    s->status = HIA_MEMORY;
    return;
  }
  hiaR_type_flatten(s->types, type, flat);
  for (uint32_t i = 0; i < n && s->status == HIA_OK; i++)
    if (!hiaR_is_scalar(flat[i])) s->save_objects(s, flat[i], words[i]);
  put_number(s, 0);
  for (uint32_t i = 0; i < n && s->status == HIA_OK; i++) {
    char bytes[8];
    hiaR_store(hiaR_repr(flat[i]), bytes, words[i]);
    hia_layout_word layout_word = {.type = flat[i], .repr = (uint8_t)hiaR_repr(flat[i])};
    put_words(s, &layout_word, 1, bytes);
  }
  hiaR_free(s->allocator, flat, (n + 1) * sizeof *flat);
  put(s, &s->walk.n_objects, sizeof s->walk.n_objects);
  uint64_t size = s->size + s->len + 2 * sizeof size;
  put(s, &size, sizeof size);
  flush(s);
  uint64_t hash = hiaR_file_hash_end(&s->hash);
  put(s, &hash, sizeof hash);
  flush(s);
}

hia_status hiaR_value_save(const hia_type_table *types, hia_type type, const hia_word *words,
                           const hia_allocator *allocator, const hia_sink *sink) {
  saver s = {.save_objects = save_objects,
             .put_reference = put_reference,
             .types = types,
             .allocator = allocator,
             .sink = sink,
             .walk = {.types = types, .allocator = allocator}};
  s.status = hiaR_file_types_make(&s.file_types, allocator, types, type);
  if (s.status == HIA_OK) save(&s, type, words);
  hiaR_file_types_free(&s.file_types);
  hiaR_walk_free(&s.walk);
  return s.status;
}

hia_status hiaR_scalars_save(const hia_type_table *types, hia_type type, const hia_word *words,
                             const hia_allocator *allocator, const hia_sink *sink) {
  saver s = {.types = types, .allocator = allocator, .sink = sink};
  s.status = hiaR_file_types_make(&s.file_types, allocator, types, type);
  if (s.status == HIA_OK) save(&s, type, words);
  hiaR_file_types_free(&s.file_types);
  return s.status;
}
