/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/value.h"
#include "runtime/heap/tensor.h"
#include "runtime/value/stack.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- types ---- */

void value_world_init(value_world *w) {
  hiaR_comp_init(&w->comp, &hiaR_malloc);
  hiaG_types_init(&w->types, &w->comp);
  hia_types *types = &w->types;
  w->tree = hiaG_data(types, "Tree");
  w->list = hiaG_data(types, "List");
  w->many = hiaG_data(types, "Many");
  hia_type leaf[] = {HIA_I32, HIA_I32}, node[] = {w->tree, w->tree, HIA_I32};
  const char *leaf_names[] = {"word", "label"}, *node_names[] = {"left", "right", "label"};
  hiaG_data_define(types, w->tree,
                   (hia_ctor_def[]){{"Leaf", leaf_names, leaf, 2},
                                    {"Node", node_names, node, 3},
                                    {.name = "Nil"}},
                   3);
  hia_type head = hiaG_tuple(types, (hia_type[]){HIA_BOOL, HIA_F64}, 2);
  hia_type cons[] = {head, w->list, hiaG_array(types, w->tree), HIA_I64};
  const char *cons_names[] = {"head", "tail", "trees", "n"};
  hiaG_data_define(types, w->list, (hia_ctor_def[]){{.name = "End"}, {"Cons", cons_names, cons, 4}},
                   2);
  enum { N = 300 };
  hia_ctor_def *defs = HIA_NEW_ARRAY(&w->comp.arena, hia_ctor_def, N);
  for (int i = 0; i < N; i++) defs[i].name = hiaR_arena_printf(&w->comp.arena, "M%d", i);
  static const char *const x[] = {"x"};
  static const hia_type i32[] = {HIA_I32};
  defs[N - 1] = (hia_ctor_def){defs[N - 1].name, x, i32, 1};
  hiaG_data_define(types, w->many, defs, N);
  w->box = hiaG_data(types, "Box");
  hia_type f32s = hiaG_tensor(types, HIA_F32, 2), bools = hiaG_tensor(types, HIA_BOOL, 1);
  hia_type row = hiaG_tuple(types, (hia_type[]){bools, HIA_I64}, 2);
  hia_type box[] = {f32s, hiaG_array(types, row), w->box};
  const char *box_names[] = {"m", "rows", "next"};
  hiaG_data_define(types, w->box, (hia_ctor_def[]){{.name = "Empty"}, {"Box", box_names, box, 3}},
                   2);
  w->table = hiaG_type_table(types);
}

void value_world_free(value_world *w) { hiaR_comp_free(&w->comp); }

/* One of those made so far, or a new tuple or array of them. */
static hia_type pick(value_world *w, random_source *r, unsigned depth) {
  uint32_t choice = random_below(r, 10);
  if (depth && choice == 0) return hiaG_array(&w->types, pick(w, r, depth - 1));
  if (depth && choice <= 2) {
    hia_type parts[4];
    uint32_t n = 2 + random_below(r, 3);
    for (uint32_t i = 0; i < n; i++) parts[i] = pick(w, r, depth - 1);
    return hiaG_tuple(&w->types, parts, n);
  }
  if (choice <= 5) return random_below(r, HIA_N_DTYPES);
  if (choice == 6)
    return hiaG_tensor(&w->types, (hia_dtype)random_below(r, HIA_N_DTYPES), 1 + random_below(r, 5));
  uint32_t n = w->types.entries.len;
  for (uint32_t i = random_below(r, n), k = 0; k < n; k++)
    if (w->types.entries.data[(i + k) % n].kind == HIA_KIND_DATA)
      return HIA_FIRST_TYPE + (i + k) % n;
  return HIA_I32;
}

hia_type random_type(value_world *w, random_source *r) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
  hia_arena *arena = &w->comp.arena;
  hia_type data[3];
  for (unsigned i = 0; i < 3; i++) /* declared first, so that they may refer to each other */
    data[i] = hiaG_data(&w->types, hiaR_arena_printf(arena, "T%u", w->types.entries.len));
  for (unsigned i = 0; i < 3; i++) {
    hia_ctor_def defs[5] = {0};
    uint32_t n = 1 + random_below(r, 4);
    for (uint32_t k = 0; k < n; k++) {
      hia_type *fields = HIA_NEW_ARRAY(arena, hia_type, 6);
      defs[k] = (hia_ctor_def){hiaR_arena_printf(arena, "C%u_%u", data[i], k), names, fields,
                               random_below(r, 7)};
      /* The first one ends a value: it has scalars only. */
      for (uint32_t f = 0; f < defs[k].n_fields; f++)
        fields[f] = k ? pick(w, r, 2) : random_below(r, HIA_N_DTYPES);
    }
    hiaG_data_define(&w->types, data[i], defs, n);
  }
  hia_type type = pick(w, r, 4);
  w->table = hiaG_type_table(&w->types);
  return type;
}

/* ---- values ---- */

typedef struct making {
  const value_world *w;
  random_source *r;
  hia_objects *objects;
  uint32_t left; /* objects */
  bool shares;
  struct {
    hia_type type;
    hia_word word;
  } made[64]; /* to be shared */
  uint32_t n_made;
} making;

static void make(making *m, hia_type type, hia_word_cursor *at);

/* NaN is one value, as it is in the language. */
static hia_word make_scalar(making *m, hia_dtype dtype) {
  hia_word word = random_word(m->r, dtype);
  if (dtype == HIA_F32 && hiaR_to_f32(word) != hiaR_to_f32(word))
    word = hiaR_infinite_word(true, false, HIA_F32);
  if (dtype == HIA_F64 && hiaR_to_f64(word) != hiaR_to_f64(word))
    word = hiaR_infinite_word(true, false, HIA_F64);
  return word;
}

/* Any shape, and now and then one that no lists could show. */
static hia_word make_tensor(making *m, const hia_type_entry *entry) {
  hia_dims shape = {.rank = entry->n};
  for (uint32_t i = 0; i < entry->n; i++) shape.dims[i] = random_below(m->r, 4);
  if (random_chance(m->r, 3)) {
    shape.dims[random_below(m->r, entry->n)] = 0;
    shape.dims[random_below(m->r, entry->n)] *= 1000000000000;
    shape.dims[random_below(m->r, entry->n)] = 0;
  }
  hia_tensor *tensor = hiaR_new_tensor(m->objects, (hia_dtype)entry->element, &shape);
  for (uint64_t i = 0; i < hiaR_tensor_len(tensor); i++)
    hiaR_tensor_put(tensor, i, make_scalar(m, (hia_dtype)entry->element));
  return hiaR_word_of(tensor);
}

static hia_word make_reference(making *m, hia_type type) {
  const hia_type_table *t = &m->w->table;
  const hia_type_entry *entry = hiaR_type_entry(t, type);
  for (uint32_t i = 0; m->shares && i < m->n_made && i < HIA_LEN(m->made); i++)
    if (m->made[i].type == type && random_chance(m->r, 20)) return m->made[i].word;
  hia_word word;
  if (entry->kind == HIA_KIND_TENSOR) {
    word = make_tensor(m, entry);
  } else if (entry->kind == HIA_KIND_DATA) {
    uint32_t number = m->left ? random_below(m->r, entry->n) : 0;
    const hia_ctor *ctor = hiaR_ctor(t, type, number);
    if (!ctor->n) return number;
    if (m->left) m->left--;
    hia_counted *object = hiaR_new_data(m->objects, ctor, number);
    word = hiaR_word_of(object);
    hia_word_cursor at = {(char *)object, t->layout_words + ctor->layout.first};
    for (uint32_t i = 0; i < ctor->n; i++) make(m, t->fields[ctor->first + i].type, &at);
  } else {
    uint32_t n = m->left ? random_below(m->r, 5) : 0;
    if (m->left) m->left--;
    if (n == 0 && random_chance(m->r, 50)) return 0; /* as runs make it */
    hia_array *array = hiaR_new_array(m->objects, &entry->layout, n);
    word = hiaR_word_of(array);
    for (uint32_t i = 0; i < n; i++) {
      hia_word_cursor at = {array->data + (size_t)i * entry->layout.size,
                            t->layout_words + entry->layout.first};
      make(m, entry->element, &at);
    }
  }
  m->made[m->n_made++ % HIA_LEN(m->made)].type = type;
  m->made[(m->n_made - 1) % HIA_LEN(m->made)].word = word;
  return word;
}

static void make(making *m, hia_type type, hia_word_cursor *at) {
  const hia_type_table *t = &m->w->table;
  if (hiaR_is_scalar(type)) {
    hiaR_put_word(at, make_scalar(m, (hia_dtype)type));
  } else if (hiaR_type_kind(t, type) == HIA_KIND_TUPLE) {
    const hia_type_entry *entry = hiaR_type_entry(t, type);
    for (uint32_t i = 0; i < entry->n; i++) make(m, t->parts[entry->first + i], at);
  } else {
    hiaR_put_word(at, make_reference(m, type));
  }
}

void random_value(const value_world *w, random_source *r, hia_type type, hia_objects *objects,
                  uint32_t size, bool shares, hia_word *words) {
  making m = {.w = w, .r = r, .objects = objects, .left = size, .shares = shares};
  hia_word_cursor at = {(char *)words, NULL};
  make(&m, type, &at);
}

static bool equal(const hia_type_table *t, hia_type type, hia_word_cursor *a, hia_word_cursor *b) {
  hia_type_kind kind = hiaR_type_kind(t, type);
  if (kind == HIA_KIND_SCALAR) return hiaR_next_word(a) == hiaR_next_word(b);
  const hia_type_entry *entry = hiaR_type_entry(t, type);
  if (kind == HIA_KIND_TUPLE) {
    for (uint32_t i = 0; i < entry->n; i++)
      if (!equal(t, t->parts[entry->first + i], a, b)) return false;
    return true;
  }
  hia_word x = hiaR_next_word(a), y = hiaR_next_word(b);
  if (x == y) return true;
  if (kind == HIA_KIND_ARRAY && !hiaR_has_words(t, type, x)) return !hiaR_has_words(t, type, y);
  if (!hiaR_is_object(x) || !hiaR_is_object(y)) return false;
  if (kind == HIA_KIND_TENSOR) {
    const hia_tensor *p = hiaR_tensor(x), *q = hiaR_tensor(y);
    return p->counted.spare == q->counted.spare &&
           memcmp(p->dims, q->dims, hiaR_tensor_rank(p) * sizeof *p->dims) == 0 &&
           memcmp(p->data, q->data, (size_t)hiaR_tensor_bytes(p)) == 0;
  }
  if (kind == HIA_KIND_DATA) {
    if (hiaR_object(x)->ctor != hiaR_object(y)->ctor) return false;
    const hia_ctor *ctor = hiaR_ctor(t, type, hiaR_object(x)->ctor);
    const hia_layout_word *layout_words = t->layout_words + ctor->layout.first;
    hia_word_cursor in_x = {(char *)(uintptr_t)x, layout_words},
                    in_y = {(char *)(uintptr_t)y, layout_words};
    for (uint32_t i = 0; i < ctor->n; i++)
      if (!equal(t, t->fields[ctor->first + i].type, &in_x, &in_y)) return false;
    return true;
  }
  const hia_array *p = (const hia_array *)(uintptr_t)x, *q = (const hia_array *)(uintptr_t)y;
  if (p->n != q->n) return false;
  for (uint64_t i = 0; i < p->n; i++) {
    const hia_layout_word *layout_words = t->layout_words + entry->layout.first;
    hia_word_cursor in_x = {p->data + i * entry->layout.size, layout_words};
    hia_word_cursor in_y = {q->data + i * entry->layout.size, layout_words};
    if (!equal(t, entry->element, &in_x, &in_y)) return false;
  }
  return true;
}

bool values_are_equal(const value_world *w, hia_type type, const hia_word *a, const hia_word *b) {
  hia_word_cursor x = {(char *)(uintptr_t)a, NULL}, y = {(char *)(uintptr_t)b, NULL};
  return equal(&w->table, type, &x, &y);
}

/* ---- text ---- */

bool value_buffer_take(void *user, const char *bytes, size_t n) {
  value_buffer *b = user;
  if (b->max && b->len + n > b->max) return false;
  while (b->len + n + 1 > b->cap) {
    b->cap = b->cap ? 2 * b->cap : 256;
    b->data = realloc(b->data, b->cap);
  }
  memcpy(b->data + b->len, bytes, n);
  b->len += n;
  b->data[b->len] = 0;
  return true;
}

char *value_text(const value_world *w, hia_type type, const hia_word *words) {
  value_buffer buffer = {0};
  hia_sink sink = {value_buffer_take, &buffer};
  if (hiaR_value_print(&w->table, type, words, &hiaR_malloc, UINT64_MAX, &sink, NULL)) abort();
  return buffer.data;
}

static hia_word new_node(const value_world *w, hia_objects *objects, uint32_t number,
                         const hia_word *words) {
  const hia_ctor *ctor = hiaR_ctor(&w->table, w->tree, number);
  hia_counted *object = hiaR_new_data(objects, ctor, number);
  hia_word_cursor at = {(char *)object, w->table.layout_words + ctor->layout.first};
  for (uint32_t i = 0; i < ctor->n; i++) hiaR_put_word(&at, words[i]);
  return hiaR_word_of(object);
}

hia_word deep_tree(const value_world *w, hia_objects *objects, uint32_t levels) {
  hia_word tree = new_node(w, objects, 0, (hia_word[]){1, 2});
  for (uint32_t i = 0; i < levels; i++) tree = new_node(w, objects, 1, (hia_word[]){tree, 2, 3});
  return tree;
}

hia_word full_tree(const value_world *w, hia_objects *objects, uint32_t levels) {
  static uint32_t word;
  if (!levels) {
    word++;
    return new_node(w, objects, 0, (hia_word[]){word * 2654435761u % 20000, word % 5});
  }
  hia_word left = full_tree(w, objects, levels - 1), right = full_tree(w, objects, levels - 1);
  return new_node(w, objects, 1, (hia_word[]){left, right, levels % 5});
}
