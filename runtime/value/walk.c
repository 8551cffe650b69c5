/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A walk has a stack of the objects that wait for those they refer to, and a hash table of
 * addresses, which has the numbers of the others. */
#include "runtime/value/walk.h"

typedef struct numbered {
  uintptr_t address; /* 0: empty */
  uint64_t number;
} numbered;

void hiaR_walk_free(hia_walk *w) {
  hiaR_block_free(&w->stack, w->allocator);
  hiaR_block_free(&w->table, w->allocator);
}

/* ---- numbers ---- */

static numbered *find(const hia_walk *w, uintptr_t address) {
  numbered *table = w->table.data;
  size_t at = (size_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 20) & (w->cap - 1);
  while (table[at].address && table[at].address != address) at = (at + 1) & (w->cap - 1);
  return &table[at];
}

static bool is_numbered(const hia_walk *w, hia_word word) {
  return w->cap && find(w, (uintptr_t)word)->address;
}

uint64_t hiaR_walk_number(const hia_walk *w, hia_word word) {
  return find(w, (uintptr_t)word)->number;
}

static bool grow(hia_walk *w) {
  hia_block old = w->table;
  size_t old_cap = w->cap, cap = old_cap ? old_cap * 2 : 64;
  w->table = (hia_block){NULL, 0};
  if (!hiaR_block_grow(&w->table, w->allocator, cap * sizeof(numbered))) {
    w->table = old;
    return false;
  }
  w->cap = cap;
  memset(w->table.data, 0, cap * sizeof(numbered));
  const numbered *from = old.data;
  for (size_t i = 0; i < old_cap; i++)
    if (from[i].address) *find(w, from[i].address) = from[i];
  hiaR_block_free(&old, w->allocator);
  return true;
}

void hiaR_walk_done(hia_walk *w) {
  if (w->n_objects * 2 >= w->cap && !grow(w)) {
    w->is_out = true;
    return;
  }
  const hia_walk_object *top = (const hia_walk_object *)w->stack.data + --w->n_open;
  uintptr_t address = (uintptr_t)top->word;
  *find(w, address) = (numbered){address, w->n_objects++};
}

/* ---- the walk ---- */

static void open(hia_walk *w, hia_type type, hia_word word) {
  hia_walk_object o = {.word = word, .type = type, .base = (char *)(uintptr_t)word, .n = 1};
  if (hiaR_type_kind(w->types, type) == HIA_KIND_DATA) {
    o.ctor = hiaR_object(word)->ctor;
    o.layout = &hiaR_ctor(w->types, type, o.ctor)->layout;
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
  if (hiaR_is_object(word) && !is_numbered(w, word)) open(w, type, word);
}

/* The next reference of the object to one that has no number. False: there is none. */
static bool next_reference(const hia_walk *w, hia_walk_object *o, hia_type *type, hia_word *word) {
  const hia_word_place *places = w->types->places + o->layout->first;
  while (o->n) {
    while (o->next < o->layout->n) {
      const hia_word_place *place = &places[o->next++];
      if (hiaR_is_scalar(place->type)) continue;
      *type = place->type;
      *word = hiaR_load(HIA_REPR_REF, o->base + place->at);
      if (hiaR_is_object(*word) && !is_numbered(w, *word)) return true;
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
