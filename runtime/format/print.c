/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values as text. */
#include "runtime/heap/tensor.h"
#include "runtime/value/stack.h"
#include <inttypes.h>
#include <stdio.h>

/* A value of which a part is being printed. */
typedef struct open_value {
  hia_type type;
  uint32_t ctor;         /* of data */
  uint64_t next, n;      /* parts */
  hia_word_cursor outer; /* of data and arrays: where to go on behind this value */
} open_value;

typedef struct printer {
  const hia_type_table *types;
  const hia_allocator *allocator;
  const hia_sink *sink;
  hia_block stack; /* of open_value */
  size_t n_open;
  hia_word_cursor at;
  uint64_t left; /* bytes up to the limit */
  bool shortens; /* long tensors */
  bool is_cut;
  hia_status status;
  size_t len;
  char buf[2048];
} printer;

static void flush(printer *p) {
  if (p->status == HIA_OK && p->len && !p->sink->take(p->sink->user, p->buf, p->len))
    p->status = HIA_IO;
  p->len = 0;
}

static void put_bytes(printer *p, const char *bytes, size_t n) {
  while (n) {
    if (p->len == sizeof p->buf) flush(p);
    size_t room = sizeof p->buf - p->len, some = n < room ? n : room;
    memcpy(p->buf + p->len, bytes, some);
    p->len += some;
    bytes += some;
    n -= some;
  }
}

/* Prints a token, or what stands for all from here on. Returns false if printing ends. */
static bool put(printer *p, const char *bytes, size_t n) {
  if (n > p->left) {
    put_bytes(p, "...", 3);
    p->is_cut = true;
    return false;
  }
  p->left -= n;
  put_bytes(p, bytes, n);
  return p->status == HIA_OK;
}

static bool push(printer *p, open_value value) {
  if (!hiaR_block_grow(&p->stack, p->allocator, (p->n_open + 1) * sizeof value)) {
    p->status = HIA_MEMORY;
    return false;
  }
  ((open_value *)p->stack.data)[p->n_open++] = value;
  return true;
}

/* ---- tensors ----
 *
 * One of more than SHOWN elements is shortened as NumPy does: of an axis longer than twice EDGE the
 * first and last EDGE are shown. */

enum { SHOWN = 1000, EDGE = 3 };

/* Prints the elements along the axes from `axis` on, the first of which is number `at`. */
static bool print_axis(printer *p, const hia_tensor *t, uint32_t axis, uint64_t at, bool is_short) {
  char text[64];
  if (axis == hiaR_tensor_rank(t))
    return put(p, text,
               hiaR_print_word(text, sizeof text, hiaR_tensor_dtype(t), hiaR_tensor_get(t, at)));
  uint64_t n = (uint64_t)t->dims[axis], stride = 1;
  for (uint32_t i = axis + 1; i < hiaR_tensor_rank(t); i++) stride *= (uint64_t)t->dims[i];
  if (!put(p, "[", 1)) return false;
  for (uint64_t i = 0; i < n; i++) {
    if (i && !put(p, ", ", 2)) return false;
    if (is_short && i == EDGE && n > 2 * EDGE) {
      if (!put(p, "..., ", 5)) return false;
      i = n - EDGE;
    }
    if (!print_axis(p, t, axis + 1, at + i * stride, is_short)) return false;
  }
  return put(p, "]", 1);
}

/* True if lists do not show all sizes of a tensor without elements, or would be many: those behind
 * the first 0 are in no list, and are read as 0. */
static bool hides_sizes(const hia_tensor *t) {
  uint32_t rank = hiaR_tensor_rank(t), i = 0;
  uint64_t n_lists = 1;
  while (i < rank && t->dims[i]) {
    bool are_many = t->dims[i] > SHOWN || n_lists > SHOWN;
    n_lists = are_many ? SHOWN + 1 : n_lists * (uint64_t)t->dims[i];
    i++;
  }
  if (i == rank) return false;
  while (++i < rank)
    if (t->dims[i]) return true;
  return n_lists > SHOWN;
}

/* As the language makes one: `zeros(0, 3)`, `full(0, 0, 3)`, `full(false, 0, 3)`. */
static bool print_sizes(printer *p, const hia_tensor *t) {
  hia_dtype dtype = hiaR_tensor_dtype(t);
  const char *head = dtype >= HIA_F32 ? "zeros(" : dtype == HIA_BOOL ? "full(false, " : "full(0, ";
  if (!put(p, head, strlen(head))) return false;
  for (uint32_t i = 0; i < hiaR_tensor_rank(t); i++) {
    char size[32];
    int n = snprintf(size, sizeof size, "%s%" PRId64, i ? ", " : "", t->dims[i]);
    if (!put(p, size, (size_t)n)) return false;
  }
  return put(p, ")", 1);
}

static bool print_tensor(printer *p, const hia_tensor *t) {
  if (hides_sizes(t)) return print_sizes(p, t);
  bool is_short = p->shortens && hiaR_tensor_len(t) > SHOWN;
  p->is_cut |= is_short;
  return print_axis(p, t, 0, 0, is_short);
}

/* Prints the beginning of a value, up to its first part; *is_open: it has one. */
static bool begin(printer *p, hia_type type, bool *is_open) {
  char text[64];
  *is_open = true;
  hia_type_kind kind = hiaR_type_kind(p->types, type);
  if (kind == HIA_KIND_TUPLE)
    return put(p, "(", 1) &&
           push(p, (open_value){.type = type, .n = hiaR_type_entry(p->types, type)->n});
  hia_word word = hiaR_next_word(&p->at);
  if (kind == HIA_KIND_DATA) {
    uint32_t number = hiaR_ctor_of(word);
    const hia_ctor *ctor = hiaR_ctor(p->types, type, number);
    const char *name = p->types->names + ctor->name;
    if (!put(p, name, strlen(name))) return false;
    *is_open = ctor->n != 0;
    if (!*is_open) return true;
    if (!put(p, "(", 1) || !push(p, (open_value){type, number, 0, ctor->n, p->at})) return false;
    p->at = (hia_word_cursor){(char *)(uintptr_t)word, p->types->layout_words + ctor->layout.first};
    return true;
  }
  if (kind == HIA_KIND_ARRAY) {
    const hia_array *array = (const hia_array *)(uintptr_t)word;
    *is_open = hiaR_is_object(word) && array->n;
    if (!*is_open) return put(p, "[]", 2);
    if (!put(p, "[", 1) || !push(p, (open_value){type, 0, 0, array->n, p->at})) return false;
    p->at = (hia_word_cursor){array->data, NULL};
    return true;
  }
  *is_open = false;
  if (kind == HIA_KIND_TENSOR) return print_tensor(p, hiaR_tensor(word));
  return put(p, text, hiaR_print_word(text, sizeof text, (hia_dtype)type, word));
}

/* Goes on to the next part of the innermost open value. */
static hia_type next_part(printer *p, open_value *top) {
  const hia_type_entry *entry = hiaR_type_entry(p->types, top->type);
  if (entry->kind == HIA_KIND_ARRAY) {
    if (top->next) p->at.base += entry->layout.size;
    p->at.layout_word = p->types->layout_words + entry->layout.first;
  }
  return hiaR_part(p->types, top->type, top->ctor, top->next++);
}

static void print(printer *p, hia_type type) {
  bool is_open;
  while (begin(p, type, &is_open)) {
    while (p->n_open) {
      open_value *top = (open_value *)p->stack.data + (p->n_open - 1);
      if (top->next < top->n) break;
      hia_type_kind kind = hiaR_type_kind(p->types, top->type);
      if (!put(p, kind == HIA_KIND_ARRAY ? "]" : ")", 1)) return;
      if (kind != HIA_KIND_TUPLE) p->at = top->outer;
      p->n_open--;
    }
    if (!p->n_open) return;
    open_value *top = (open_value *)p->stack.data + (p->n_open - 1);
    if (top->next && !put(p, ", ", 2)) return;
    type = next_part(p, top);
  }
}

hia_status hiaR_value_print(const hia_type_table *types, hia_type type, const hia_word *words,
                            const hia_allocator *allocator, uint64_t max_bytes,
                            const hia_sink *sink, bool *is_cut) {
  printer p = {.types = types,
               .allocator = allocator,
               .sink = sink,
               .at = {(char *)(uintptr_t)words, NULL},
               .left = max_bytes,
               .shortens = max_bytes != UINT64_MAX};
  print(&p, type);
  flush(&p);
  hiaR_block_free(&p.stack, allocator);
  if (is_cut) *is_cut = p.is_cut;
  return p.status;
}
