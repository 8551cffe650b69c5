/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Making and copying the arrays of a run. */
#include "runtime/heap/array.h"

/* An array of n > 0 elements, whose bytes are not set. NULL: no memory. */
static hia_array *alloc(hia_local_heap *local, uint32_t element_size, uint64_t n) {
  if (n > (PTRDIFF_MAX - sizeof(hia_array) - 8) / (element_size ? element_size : 1)) return NULL;
  hia_array *array = hiaR_heap_alloc(local, hiaR_array_size(element_size, n));
  if (!array) return NULL;
  hiaR_object_begin(&array->counted, 0);
  array->n = n;
  array->data = (char *)(array + 1);
  return array;
}

/* Clears memory, in pieces: that of a long array comes page by page from the system, for seconds.
 * False: the run must end. */
static bool clear(const hia_heap *heap, char *at, uint64_t size) {
  enum { PIECE = 1 << 20 };
  for (; size > PIECE; at += PIECE, size -= PIECE) {
    memset(at, 0, PIECE);
    if (hiaR_heap_must_end(heap)) return false;
  }
  memset(at, 0, size);
  return true;
}

hia_status hiaR_array_new(hia_local_heap *local, const hia_shape *shape, int64_t n, hia_word *ref) {
  hia_array *array = NULL;
  if (n) {
    array = n < 0 ? NULL : alloc(local, shape->size, (uint64_t)n);
    if (!array) return HIA_MEMORY;
    if (!clear(local->heap, array->data, (uint64_t)n * shape->size)) {
      hiaR_heap_release(local, array, hiaR_array_size(shape->size, (uint64_t)n));
      return HIA_CANCELLED;
    }
  }
  *ref = (uintptr_t)array;
  return HIA_OK;
}

static bool make_view(hia_local_heap *local, hia_array *array, uint64_t first, uint64_t n,
                      uint32_t element_size, bool is_shared, hia_word *out) {
  hia_array_view *view = hiaR_heap_alloc(local, sizeof *view);
  if (!view) return false;
  hiaR_object_begin(&view->array.counted, 0);
  view->array.n = n;
  view->array.data = array->data + first * element_size;
  view->owner = hiaR_is_view(array) ? ((hia_array_view *)array)->owner : array;
  hiaR_dup((uintptr_t)view->owner, is_shared);
  *out = (uintptr_t)view;
  return true;
}

bool hiaR_array_slice(hia_local_heap *local, const hia_shape *shape, hia_word ref, int64_t first,
                      int64_t end, bool is_shared, hia_word *slice) {
  uint64_t n = (uint64_t)(end - first);
  if (n && hiaR_array(ref)->counted.ctor == HIA_ARRAY_STREAM) {
    hia_stream_array *stream = (hia_stream_array *)hiaR_array(ref);
    return stream->read(stream, local, (uint64_t)first, n, slice);
  }
  if (n == 0 || n == hiaR_array_len(ref)) {
    *slice = n ? ref : 0;
    hiaR_dup(*slice, is_shared);
    return true;
  }
  return make_view(local, hiaR_array(ref), (uint64_t)first, n, shape->size, is_shared, slice);
}

/* One more reference to each of those in n elements. */
static void dup_elements(const hia_shape *shape, const char *data, uint64_t n, bool is_shared) {
  if (!shape->n_refs) return;
  for (uint64_t i = 0; i < n; i++) {
    const hia_word *refs = (const hia_word *)(const void *)(data + i * shape->size);
    for (uint32_t k = 0; k < shape->n_refs; k++) hiaR_dup(refs[k], is_shared);
  }
}

/* Copies elements, in pieces. An object whose count changes is somewhere else, so a reference takes
 * as long as REF bytes. False: the run must end; the counts of some objects are then too high,
 * which is nothing where all memory goes at once. */
static bool copy_elements(const hia_heap *heap, const hia_shape *shape, char *to,
                          const hia_array *from, bool is_shared) {
  enum { PIECE = 1 << 18, REF = 128 };
  uint64_t cost = 1 + shape->size + (uint64_t)shape->n_refs * REF;
  uint64_t each = cost < PIECE ? PIECE / cost : 1;
  for (uint64_t i = 0, n; i < from->n; i += n) {
    n = from->n - i < each ? from->n - i : each;
    if (i && hiaR_heap_must_end(heap)) return false;
    memcpy(to, from->data + i * shape->size, n * shape->size);
    dup_elements(shape, to, n, is_shared);
    to += n * shape->size;
  }
  return true;
}

/* Ends the making of an array that has been given up. */
static hia_status give_up(hia_local_heap *local, const hia_shape *shape, hia_array *array) {
  hiaR_heap_release(local, array, hiaR_array_size(shape->size, array->n));
  return HIA_CANCELLED;
}

hia_status hiaR_array_own(hia_local_heap *local, const hia_shapes *shapes, uint32_t base,
                          hia_word *ref, bool is_shared) {
  const hia_shape *shape = &shapes->list[base];
  hia_array *from = hiaR_array(*ref);
  /* Acquire, as in hiaR_let_go: the others have read it before they let go. */
  bool is_last = atomic_load_explicit(&from->counted.count, memory_order_acquire) == 1;
  if (is_last && !hiaR_is_view(from)) return HIA_OK;
  hia_array *copy = alloc(local, shape->size, from->n);
  if (!copy) return HIA_MEMORY;
  if (!copy_elements(local->heap, shape, copy->data, from, is_shared))
    return give_up(local, shape, copy);
  hiaR_drop(local, shapes, *ref, base, is_shared);
  *ref = (uintptr_t)copy;
  return HIA_OK;
}

hia_status hiaR_array_concat(hia_local_heap *local, const hia_shapes *shapes, uint32_t base,
                             const hia_word *refs, uint32_t n, bool is_shared, hia_word *out) {
  const hia_shape *shape = &shapes->list[base];
  uint64_t total = 0;
  hia_word whole = 0; /* the array that has all of the elements, if there is one */
  for (uint32_t i = 0; i < n; i++) {
    uint64_t len = hiaR_array_len(refs[i]);
    if (__builtin_add_overflow(total, len, &total)) return HIA_MEMORY;
    if (len) whole = refs[i];
  }
  if (total == hiaR_array_len(whole)) {
    hiaR_dup(whole, is_shared);
    *out = whole;
    return HIA_OK;
  }
  hia_array *array = alloc(local, shape->size, total);
  if (!array) return HIA_MEMORY;
  char *to = array->data;
  for (uint32_t i = 0; i < n; i++) {
    if (!hiaR_array_len(refs[i])) continue;
    const hia_array *from = hiaR_array(refs[i]);
    if (!copy_elements(local->heap, shape, to, from, is_shared))
      return give_up(local, shape, array);
    to += from->n * shape->size;
  }
  *out = (uintptr_t)array;
  return HIA_OK;
}
