/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Copies of values, in objects of their own. Values are shared between threads, so the objects that
 * are copied cannot be marked, as those that leave a run are: a walk numbers them. */
#include "runtime/heap/tensor.h"
#include "runtime/value/walk.h"

typedef struct copying {
  hia_walk walk;
  hia_objects *to;
  hia_block made; /* hia_word: by number the copy */
} copying;

/* References become those to copies. */
static void refer(const copying *c, const hia_layout *layout, char *base) {
  const hia_layout_word *layout_words = c->walk.types->layout_words + layout->first;
  for (uint32_t i = 0; layout->n_refs && i < layout->n; i++) {
    if (layout_words[i].repr != HIA_REPR_REF) continue;
    char *at = base + layout_words[i].at;
    hia_word word = hiaR_load(HIA_REPR_REF, at);
    if (!hiaR_is_object(word)) continue;
    bool is_copied = hiaR_has_words(c->walk.types, layout_words[i].type, word);
    hiaR_store(HIA_REPR_REF, at,
               is_copied ? ((hia_word *)c->made.data)[hiaR_walk_number(&c->walk, word)] : 0);
  }
}

static hia_word copy_object(copying *c, const hia_walk_object *o) {
  const hia_type_table *types = c->walk.types;
  if (hiaR_type_kind(types, o->type) == HIA_KIND_DATA) {
    hia_counted *object = hiaR_new_data(c->to, hiaR_ctor(types, o->type, o->ctor), o->ctor);
    if (!object) return 0;
    memcpy(object + 1, hiaR_object(o->word) + 1, o->layout->size - sizeof *object);
    refer(c, o->layout, (char *)object);
    return hiaR_word_of(object);
  }
  if (hiaR_type_kind(types, o->type) == HIA_KIND_TENSOR)
    return hiaR_word_of(hiaR_copy_tensor(c->to, hiaR_tensor(o->word)));
  const hia_array *from = (const hia_array *)(uintptr_t)o->word;
  hia_array *array = hiaR_new_array(c->to, o->layout, from->n);
  if (!array) return 0;
  size_t size = o->layout->size;
  if (from->n) memcpy(array->data, from->data, (size_t)from->n * size);
  for (uint64_t i = 0; o->layout->n_refs && i < from->n; i++)
    refer(c, o->layout, array->data + i * size);
  return hiaR_word_of(array);
}

/* True if there was memory. */
static bool copy(copying *c, hia_type type, hia_word *word) {
  const hia_walk_object *o;
  hiaR_walk_from(&c->walk, type, *word);
  while ((o = hiaR_walk_next(&c->walk))) {
    size_t n = (size_t)c->walk.n_objects;
    if (!hiaR_block_grow(&c->made, c->walk.allocator, (n + 1) * sizeof(hia_word))) return false;
    hia_word made = copy_object(c, o);
    if (!made) return false;
    ((hia_word *)c->made.data)[n] = made;
    hiaR_walk_done(&c->walk);
  }
  if (c->walk.is_out) return false;
  if (!hiaR_is_object(*word)) return true;
  bool is_copied = hiaR_has_words(c->walk.types, type, *word);
  *word = is_copied ? ((hia_word *)c->made.data)[hiaR_walk_number(&c->walk, *word)] : 0;
  return true;
}

hia_status hiaR_value_copy(const hia_type_table *types, hia_type type,
                           const hia_allocator *allocator, hia_objects *to, hia_word *words) {
  uint32_t n = hiaR_type_words(types, type);
  size_t size = n * sizeof(hia_type);
  hia_type *flat = hiaR_alloc(allocator, size);
  if (!flat) return HIA_MEMORY;
  copying c = {.walk = {.types = types, .allocator = allocator}, .to = to};
  hia_status status = HIA_OK;
  hiaR_type_flatten(types, type, flat);
  for (uint32_t i = 0; status == HIA_OK && i < n; i++)
    if (!hiaR_is_scalar(flat[i]) && !copy(&c, flat[i], &words[i])) status = HIA_MEMORY;
  hiaR_walk_free(&c.walk);
  hiaR_block_free(&c.made, allocator);
  hiaR_free(allocator, flat, size);
  return status;
}
