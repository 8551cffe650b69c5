/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What printing, reading, saving and loading have in common: memory that grows, and the words of a
 * value one after the other. */
#ifndef HIA_RT_VALUE_STACK_H
#define HIA_RT_VALUE_STACK_H

#include "runtime/heap/object.h"
#include "runtime/value/value.h"

/* A block that grows. The caller knows the type of its elements. */
typedef struct hia_block {
  void *data;
  size_t size; /* in bytes */
} hia_block;

/* Makes it at least so large, or leaves it as it is and returns false. */
static inline bool hiaR_block_grow(hia_block *block, const hia_allocator *a, size_t size) {
  if (size <= block->size) return true;
  if (size > SIZE_MAX / 4) return false;
  size_t whole = block->size ? block->size * 2 : 512;
  if (whole < size) whole = size;
  void *data =
      block->data ? a->resize(a->user, block->data, block->size, whole) : a->alloc(a->user, whole);
  if (!data) return false;
  *block = (hia_block){data, whole};
  return true;
}
static inline void hiaR_block_free(hia_block *block, const hia_allocator *a) {
  hiaR_free(a, block->data, block->size);
}

/* Where the next word of a value lies. */
typedef struct hia_word_cursor {
  char *base; /* an object or an element; without a layout the words themselves */
  const hia_layout_word *layout_word; /* NULL: there is no layout */
} hia_word_cursor;

static inline hia_word hiaR_next_word(hia_word_cursor *at) {
  hia_word word;
  if (at->layout_word) {
    word = hiaR_load((hia_repr)at->layout_word->repr, at->base + at->layout_word->at);
    at->layout_word++;
  } else {
    memcpy(&word, at->base, sizeof word);
    at->base += sizeof word;
  }
  return word;
}
static inline void hiaR_put_word(hia_word_cursor *at, hia_word word) {
  if (at->layout_word) {
    hiaR_store((hia_repr)at->layout_word->repr, at->base + at->layout_word->at, word);
    at->layout_word++;
  } else {
    memcpy(at->base, &word, sizeof word);
    at->base += sizeof word;
  }
}

static inline bool hiaR_is_object(hia_word word) { return word >= HIA_FIRST_ADDRESS; }
/* An array without elements is no object in a run, and may be one outside. */
static inline bool hiaR_has_words(const hia_type_table *t, hia_type type, hia_word word) {
  return hiaR_is_object(word) &&
         (hiaR_type_kind(t, type) != HIA_KIND_ARRAY || ((const hia_array *)(uintptr_t)word)->n);
}
static inline hia_word hiaR_word_of(const void *object) { return (uintptr_t)object; }

/* The number of types that the type consists of, and the i-th of them: a tuple's parts, the fields
 * of a constructor (`ctor`, of data), the element of an array. */
static inline hia_type hiaR_part(const hia_type_table *t, hia_type type, uint32_t ctor,
                                 uint64_t i) {
  const hia_type_entry *entry = hiaR_type_entry(t, type);
  switch (entry->kind) {
  case HIA_KIND_TUPLE: return t->parts[entry->first + i];
  case HIA_KIND_DATA: return t->fields[t->ctors[entry->first + ctor].first + i].type;
  default: return entry->element;
  }
}

#endif
