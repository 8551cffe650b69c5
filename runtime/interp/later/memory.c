/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tables of what is noted. They are memory of the run, next to its heap: what they hold is no
 * object, and they grow. */
#include "runtime/interp/later/noted.h"

static bool grow(hia_worker *w, hia_table *t, uint32_t cap, size_t size) {
  hia_heap *heap = w->heap.heap;
  size_t bytes = (cap * size + 15) & ~(size_t)15;
  if (!hiaR_heap_take_bytes(heap, bytes, bytes)) return false;
  void *data = hiaR_alloc(w->run->allocator, bytes);
  if (!data) {
    hiaR_heap_give_bytes(heap, bytes);
    return false;
  }
  if (t->len) memcpy(data, t->data, t->len * size);
  uint32_t len = t->len;
  hiaR_table_free(w, t, size);
  *t = (hia_table){data, len, cap};
  return true;
}

bool hiaR_table_grow(hia_worker *w, hia_table *t, uint32_t n, size_t size) {
  enum { FIRST = 64 };
  if (n > UINT32_MAX / 4 - t->len) return false;
  uint32_t cap = t->cap ? 2 * t->cap : FIRST;
  if (cap < t->len + n) cap = t->len + n;
  return grow(w, t, cap, size) || (cap > t->len + n && grow(w, t, t->len + n, size));
}

void hiaR_table_free(hia_worker *w, hia_table *t, size_t size) {
  size_t bytes = (t->cap * size + 15) & ~(size_t)15;
  if (!t->data) return;
  hiaR_free(w->run->allocator, t->data, bytes);
  hiaR_heap_give_bytes(w->heap.heap, bytes);
  *t = (hia_table){0};
}
