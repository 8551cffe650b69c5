/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A walk has a stack of the objects that wait for those they refer to, and the numbers of the
 * others.
 *
 * Objects are mostly made, and met, in the order of their addresses. A hash table of addresses
 * would scatter them: each look-up would miss the cache. So a hash table has *pages*, the numbers
 * of all objects that begin in 512 bytes, and a page has a number for every 8 bytes. */
#include "runtime/value/walk.h"

enum { PAGE_BITS = 9, NUMBERS = 1 << (PAGE_BITS - 3) };

typedef struct page {
  uintptr_t address; /* of the bytes, >> PAGE_BITS; 0: empty */
  uint64_t *numbers; /* NUMBERS of them: from 1; 0: no object with a number begins there */
} page;

void hiaR_walk_free(hia_walk *w) {
  const page *pages = w->table.data;
  for (size_t i = 0; i < w->cap; i++)
    if (pages[i].address) hiaR_free(w->allocator, pages[i].numbers, NUMBERS * sizeof(uint64_t));
  hiaR_block_free(&w->stack, w->allocator);
  hiaR_block_free(&w->table, w->allocator);
}

/* ---- numbers ---- */

/* The slot of a page, or the empty one where it belongs. */
static page *find(const hia_walk *w, uintptr_t address) {
  page *pages = w->table.data;
  size_t at = (size_t)((uint64_t)address * HIA_MIX >> 20) & (w->cap - 1);
  while (pages[at].address && pages[at].address != address) at = (at + 1) & (w->cap - 1);
  return &pages[at];
}

/* Returns where an object's number is; NULL: its page has none. */
static uint64_t *number_at(const hia_walk *w, hia_word word) {
  if (!w->cap) return NULL;
  const page *p = find(w, (uintptr_t)word >> PAGE_BITS);
  return p->address ? &p->numbers[(word >> 3) % NUMBERS] : NULL;
}

static bool is_numbered(const hia_walk *w, hia_word word) {
  const uint64_t *number = number_at(w, word);
  return number && *number;
}

uint64_t hiaR_walk_number(const hia_walk *w, hia_word word) { return *number_at(w, word) - 1; }

static bool grow(hia_walk *w) {
  hia_block old = w->table;
  size_t old_cap = w->cap, cap = old_cap ? old_cap * 2 : 64;
  w->table = (hia_block){NULL, 0};
  if (!hiaR_block_grow(&w->table, w->allocator, cap * sizeof(page))) {
    w->table = old;
    return false;
  }
  w->cap = cap;
  memset(w->table.data, 0, cap * sizeof(page));
  const page *from = old.data;
  for (size_t i = 0; i < old_cap; i++)
    if (from[i].address) *find(w, from[i].address) = from[i];
  hiaR_block_free(&old, w->allocator);
  return true;
}

static bool add_page(hia_walk *w, hia_word word) {
  if (w->n_pages * 2 >= w->cap && !grow(w)) return false;
  uint64_t *numbers = hiaR_alloc(w->allocator, NUMBERS * sizeof *numbers);
  if (!numbers) return false;
  uintptr_t address = (uintptr_t)word >> PAGE_BITS;
  *find(w, address) = (page){address, numbers};
  w->n_pages++;
  return true;
}

void hiaR_walk_done(hia_walk *w) {
  hia_word word = ((const hia_walk_object *)w->stack.data)[w->n_open - 1].word;
  if (!number_at(w, word) && !add_page(w, word)) {
    w->is_out = true;
    return;
  }
  *number_at(w, word) = ++w->n_objects;
  w->n_open--;
}

/* ---- the walk ---- */

static void open(hia_walk *w, hia_type type, hia_word word) {
  static const hia_layout none = {0}; /* elements of tensors refer to nothing */
  hia_walk_object o = {.word = word, .type = type, .base = (char *)(uintptr_t)word, .n = 1};
  if (hiaR_type_kind(w->types, type) == HIA_KIND_DATA) {
    o.ctor = hiaR_object(word)->ctor;
    o.layout = &hiaR_ctor(w->types, type, o.ctor)->layout;
  } else if (hiaR_type_kind(w->types, type) == HIA_KIND_TENSOR) {
    o.layout = &none;
  } else {
    const hia_array *array = (const hia_array *)(uintptr_t)word;
    o.layout = &hiaR_type_entry(w->types, type)->layout;
    o.base = array->data;
    o.n = array->n;
  }
  if (!o.layout->n_refs) o.n = 0;
  if (hiaR_block_grow(&w->stack, w->allocator, (w->n_open + 1) * sizeof o))
    ((hia_walk_object *)w->stack.data)[w->n_open++] = o;
  else
    w->is_out = true;
}

void hiaR_walk_from(hia_walk *w, hia_type type, hia_word word) {
  if (hiaR_has_words(w->types, type, word) && !is_numbered(w, word)) open(w, type, word);
}

/* The next reference of the object to one that has no number. False: there is none. */
static bool next_reference(const hia_walk *w, hia_walk_object *o, hia_type *type, hia_word *word) {
  if (!o->n) return false; /* it may be that no type has layout words */
  const hia_layout_word *layout_words = w->types->layout_words + o->layout->first;
  while (o->n) {
    while (o->next < o->layout->n) {
      const hia_layout_word *layout_word = &layout_words[o->next++];
      if (layout_word->repr != HIA_REPR_REF) continue;
      *type = layout_word->type;
      *word = hiaR_load(HIA_REPR_REF, o->base + layout_word->at);
      if (hiaR_has_words(w->types, *type, *word) && !is_numbered(w, *word)) return true;
    }
    o->next = 0;
    o->n--;
    o->base += o->layout->size;
  }
  return false;
}

const hia_walk_object *hiaR_walk_next(hia_walk *w) {
  hia_type type;
  hia_word word;
  while (w->n_open && !w->is_out) {
    hia_walk_object *top = (hia_walk_object *)w->stack.data + (w->n_open - 1);
    if (!next_reference(w, top, &type, &word)) return top;
    open(w, type, word);
  }
  return NULL;
}
