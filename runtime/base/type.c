/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/type.h"

const hia_repr_info hiaR_reprs[HIA_N_REPRS] = {
    [HIA_REPR_BOOL] = {"bool", 'b', 1}, [HIA_REPR_I32] = {"i32", 'i', 4},
    [HIA_REPR_I64] = {"i64", 'l', 8},   [HIA_REPR_F32] = {"f32", 'f', 4},
    [HIA_REPR_F64] = {"f64", 'd', 8},   [HIA_REPR_REF] = {"ref", 'r', 8},
    [HIA_REPR_BYTE] = {"byte", 0, 1},   [HIA_REPR_HALF] = {"half", 0, 2},
};

hia_repr hiaR_repr_of_code(char code) {
  unsigned repr = 0;
  while (repr < HIA_N_REPRS && (!code || hiaR_reprs[repr].code != code)) repr++;
  return (hia_repr)repr;
}

/* The classes in which words are laid out: each class needs the alignment of those before it, or
 * less. */
enum { N_CLASSES = 5 };
static unsigned class_of(uint8_t repr) {
  if (repr == HIA_REPR_REF) return 0;
  unsigned size = hiaR_reprs[repr].size;
  return size == 8 ? 1 : size == 4 ? 2 : size == 2 ? 3 : 4;
}

_Static_assert(sizeof(hia_counted) + HIA_MAX_LAYOUT_WORDS * sizeof(hia_word) <= UINT16_MAX,
               "a place in an object has 16 bits");

hia_layout hiaR_lay_out(hia_layout_word *layout_words, uint32_t n, uint32_t header) {
  hia_layout layout = {.n = n};
  uint32_t at = header, align = header ? 8 : 1;
  for (unsigned class = 0; class < N_CLASSES; class ++) {
    for (uint32_t i = 0; i < n; i++) {
      if (class_of(layout_words[i].repr) != class) continue;
      uint32_t size = hiaR_reprs[layout_words[i].repr].size;
      if (size > align) align = size;
      layout_words[i].at = hiaR_u16(at);
      at += size;
      layout.n_refs += class == 0;
    }
  }
  layout.size = (at + align - 1) / align * align;
  return layout;
}

/* Each position holds the type of the words from there on, until it is a word's: a tuple gives way
 * to its parts, of which the first stands where it stood. */
void hiaR_type_flatten(const hia_type_table *t, hia_type type, hia_type *flat) {
  uint32_t n = hiaR_type_words(t, type);
  flat[0] = type;
  for (uint32_t i = 0; i < n; i++)
    while (hiaR_type_kind(t, flat[i]) == HIA_KIND_TUPLE) {
      const hia_type_entry *tuple = hiaR_type_entry(t, flat[i]);
      const hia_type *parts = t->parts + tuple->first;
      for (uint32_t k = 0, at = i; k < tuple->n; at += hiaR_type_words(t, parts[k++]))
        flat[at] = parts[k];
    }
}

uint32_t hiaR_type_sizes(const hia_type_table *t, hia_type type) {
  while (hiaR_type_kind(t, type) == HIA_KIND_ARRAY) type = hiaR_type_entry(t, type)->element;
  if (hiaR_type_kind(t, type) == HIA_KIND_TENSOR) return hiaR_type_entry(t, type)->n;
  if (hiaR_type_kind(t, type) != HIA_KIND_TUPLE) return 0;
  const hia_type_entry *tuple = hiaR_type_entry(t, type);
  uint32_t n = 0;
  for (uint32_t i = 0; i < tuple->n; i++) n += hiaR_type_sizes(t, t->parts[tuple->first + i]);
  return n;
}

static const char *begin_type(hia_type_pieces *p, hia_type type) {
  hia_type_kind kind = hiaR_type_kind(p->types, type);
  if (kind == HIA_KIND_SCALAR) return hiaR_reprs[type].name;
  if (kind == HIA_KIND_DATA) return p->types->names + hiaR_type_entry(p->types, type)->name;
  if (p->n_open == p->max_open) {
    p->n_open = 0;
    return "...";
  }
  p->open[p->n_open++] = (hia_open_type){type, 0};
  if (kind == HIA_KIND_TENSOR) return hiaR_reprs[hiaR_type_entry(p->types, type)->element].name;
  return kind == HIA_KIND_TUPLE ? "(" : "[";
}

const char *hiaR_type_piece(hia_type_pieces *p) {
  hia_type type = p->type;
  if (type == HIA_NONE) {
    if (!p->n_open) return NULL;
    hia_open_type *top = &p->open[p->n_open - 1];
    const hia_type_entry *entry = hiaR_type_entry(p->types, top->type);
    bool is_tuple = entry->kind == HIA_KIND_TUPLE;
    if (top->next == (entry->kind == HIA_KIND_ARRAY ? 1 : entry->n)) {
      p->n_open--;
      return is_tuple ? ")" : "]";
    }
    if (entry->kind == HIA_KIND_TENSOR) return top->next++ ? ", ?" : "[?";
    type = is_tuple ? p->types->parts[entry->first + top->next] : entry->element;
    if (top->next++) {
      p->type = type;
      return ", ";
    }
  }
  p->type = HIA_NONE;
  return begin_type(p, type);
}
