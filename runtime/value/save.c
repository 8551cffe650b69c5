/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values to files. The objects are visited with a stack; each is written when all that it refers to
 * has been. A hash table of addresses tells which have been written, so shared objects are written
 * once. There are no cycles. */
#include "runtime/value/file.h"

/* An object that waits for those it refers to. */
typedef struct open_object {
  const void *object;
  hia_type type;
  uint32_t ctor;
  const hia_layout *layout; /* of its words, or of each element */
  char *base;               /* of the words where the search is; of an array the element */
  uint64_t n;               /* elements that are left, this one too; of data 1 */
  uint32_t next;            /* word */
} open_object;

typedef struct written {
  uintptr_t address; /* 0: empty */
  uint64_t number;
} written;

typedef struct saver {
  const hia_type_table *types;
  const hia_allocator *allocator;
  const hia_sink *sink;
  hia_file_types file_types;
  hia_block stack, table;
  size_t n_open, cap; /* cap: of the table, a power of two */
  uint64_t n_objects, size;
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

/* ---- the table of addresses ---- */

static written *find(const saver *s, uintptr_t address) {
  written *table = s->table.data;
  size_t at = (size_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 20) & (s->cap - 1);
  while (table[at].address && table[at].address != address) at = (at + 1) & (s->cap - 1);
  return &table[at];
}

static bool is_written(const saver *s, hia_word word) {
  return s->cap && find(s, (uintptr_t)word)->address;
}

static void add(saver *s, uintptr_t address) {
  if (s->n_objects * 2 >= s->cap) {
    hia_block old = s->table;
    size_t old_cap = s->cap, cap = old_cap ? old_cap * 2 : 64;
    s->table = (hia_block){NULL, 0};
    if (!hiaR_block_grow(&s->table, s->allocator, cap * sizeof(written))) {
      s->table = old;
      s->status = HIA_MEMORY;
      return;
    }
    s->cap = cap;
    memset(s->table.data, 0, cap * sizeof(written));
    const written *from = old.data;
    for (size_t i = 0; i < old_cap; i++)
      if (from[i].address) *find(s, from[i].address) = from[i];
    hiaR_block_free(&old, s->allocator);
  }
  *find(s, address) = (written){address, s->n_objects++};
}

/* ---- objects ---- */

static void put_words(saver *s, const hia_word_place *places, uint32_t n, const char *base) {
  for (uint32_t i = 0; i < n; i++) {
    hia_repr repr = hiaR_repr(places[i].type);
    const char *at = base + places[i].at;
    if (repr != HIA_REPR_REF) {
      put(s, at, hiaR_reprs[repr].size);
      continue;
    }
    hia_word word = hiaR_load(repr, at);
    if (hiaR_is_object(word))
      put_number(s, 2 * (s->n_objects - find(s, (uintptr_t)word)->number));
    else
      put_number(s, 2 * word + 1);
  }
}

static void put_object(saver *s, const open_object *o) {
  put_number(s, hiaR_file_kind(&s->file_types, o->type, o->ctor));
  const hia_word_place *places = s->types->places + o->layout->first;
  if (hiaR_type_kind(s->types, o->type) == HIA_KIND_DATA) {
    put_words(s, places, o->layout->n, o->object);
    return;
  }
  const hia_array *array = o->object;
  put_number(s, array->n);
  for (uint64_t i = 0; i < array->n && s->status == HIA_OK; i++)
    put_words(s, places, o->layout->n, array->data + i * o->layout->size);
}

static void open(saver *s, hia_type type, hia_word word) {
  const void *object = (const void *)(uintptr_t)word;
  open_object o = {.object = object, .type = type, .base = (char *)(uintptr_t)word, .n = 1};
  if (hiaR_type_kind(s->types, type) == HIA_KIND_DATA) {
    o.ctor = hiaR_object(word)->ctor;
    o.layout = &hiaR_ctor(s->types, type, o.ctor)->layout;
  } else {
    const hia_array *array = object;
    o.layout = &hiaR_type_entry(s->types, type)->layout;
    o.base = array->data;
    o.n = array->n;
  }
  if (!o.layout->n_refs) o.n = 0;
  if (hiaR_block_grow(&s->stack, s->allocator, (s->n_open + 1) * sizeof o))
    ((open_object *)s->stack.data)[s->n_open++] = o;
  else
    s->status = HIA_MEMORY;
}

/* The next reference of the object to one that is not written. False: there is none. */
static bool next_reference(const saver *s, open_object *o, hia_type *type, hia_word *word) {
  const hia_word_place *places = s->types->places + o->layout->first;
  while (o->n) {
    while (o->next < o->layout->n) {
      const hia_word_place *place = &places[o->next++];
      if (hiaR_is_scalar(place->type)) continue;
      *type = place->type;
      *word = hiaR_load(HIA_REPR_REF, o->base + place->at);
      if (hiaR_is_object(*word) && !is_written(s, *word)) return true;
    }
    o->next = 0;
    o->n--;
    o->base += o->layout->size;
  }
  return false;
}

/* Writes all objects that the word refers to. */
static void save_reference(saver *s, hia_type type, hia_word word) {
  if (!hiaR_is_object(word) || is_written(s, word)) return;
  open(s, type, word);
  while (s->n_open && s->status == HIA_OK) {
    open_object *top = (open_object *)s->stack.data + (s->n_open - 1);
    if (next_reference(s, top, &type, &word)) {
      open(s, type, word);
    } else {
      put_object(s, top);
      add(s, (uintptr_t)top->object);
      s->n_open--;
    }
  }
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
  s->status = hiaR_type_flatten(s->types, type, s->allocator, flat);
  for (uint32_t i = 0; i < n && s->status == HIA_OK; i++)
    if (!hiaR_is_scalar(flat[i])) save_reference(s, flat[i], words[i]);
  put_number(s, 0);
  for (uint32_t i = 0; i < n && s->status == HIA_OK; i++) {
    char bytes[8];
    hiaR_store(hiaR_repr(flat[i]), bytes, words[i]);
    put_words(s, &(hia_word_place){.type = flat[i]}, 1, bytes);
  }
  hiaR_free(s->allocator, flat, (n + 1) * sizeof *flat);
  put(s, &s->n_objects, sizeof s->n_objects);
  uint64_t size = s->size + s->len + 2 * sizeof size;
  put(s, &size, sizeof size);
  flush(s);
  uint64_t hash = hiaR_file_hash_end(&s->hash);
  put(s, &hash, sizeof hash);
  flush(s);
}

hia_status hiaR_value_save(const hia_type_table *types, hia_type type, const hia_word *words,
                           const hia_allocator *allocator, const hia_sink *sink) {
  saver s = {.types = types, .allocator = allocator, .sink = sink};
  s.status = hiaR_file_types_make(&s.file_types, allocator, types, type);
  if (s.status == HIA_OK) save(&s, type, words);
  hiaR_file_types_free(&s.file_types);
  hiaR_block_free(&s.stack, allocator);
  hiaR_block_free(&s.table, allocator);
  return s.status;
}
