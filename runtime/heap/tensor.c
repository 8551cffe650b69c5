/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Making and freeing the tensors of a run. */
#include "runtime/heap/tensor.h"

hia_dims hiaR_dims_of(hia_word word, bool is_tensor) {
  return is_tensor ? hiaR_tensor_dims(hiaR_tensor(word)) : (hia_dims){.rank = 0};
}

static void begin(hia_tensor *t, hia_tensor_kind kind, hia_dtype dtype, const hia_dims *shape) {
  hiaR_object_begin(&t->counted, (uint16_t)kind);
  t->counted.spare = hiaR_tensor_spare(dtype, shape->rank);
  memcpy(t->dims, shape->dims, shape->rank * sizeof *t->dims);
}

bool hiaR_tensor_new(hia_local_heap *local, hia_dtype dtype, const hia_dims *shape, hia_word *ref) {
  uint64_t n;
  uint32_t size = hiaR_dtype_size(dtype);
  if (!hiaR_shape_elements(shape, size, &n) || n * size > PTRDIFF_MAX / 2) return false;
  size_t bytes = (size_t)(n * size);
  hia_tensor *t = hiaR_heap_alloc(local, hiaR_tensor_size(shape->rank, bytes));
  if (!t) return false;
  begin(t, HIA_TENSOR_OWN, dtype, shape);
  t->data = hiaR_tensor_first_element(t, bytes);
  *ref = (uintptr_t)t;
  return true;
}

static size_t view_size(uint32_t rank) {
  return sizeof(hia_tensor) + rank * sizeof(int64_t) + sizeof(hia_word);
}

bool hiaR_tensor_view(hia_local_heap *local, hia_word ref, uint64_t first, const hia_dims *shape,
                      bool is_shared, hia_word *out) {
  hia_tensor *from = hiaR_tensor(ref), *view = hiaR_heap_alloc(local, view_size(shape->rank));
  if (!view) return false;
  hia_dtype dtype = hiaR_tensor_dtype(from);
  begin(view, HIA_TENSOR_VIEW, dtype, shape);
  view->data = from->data + first * hiaR_dtype_size(dtype);
  hia_word owner = from->counted.ctor == HIA_TENSOR_VIEW ? *hiaR_tensor_owner(from) : ref;
  *hiaR_tensor_owner(view) = owner;
  hiaR_dup(owner, is_shared);
  *out = (uintptr_t)view;
  return true;
}

/* Acquire, as in hiaR_let_go: the others have read it before they let go. */
static bool is_only(const hia_tensor *t) {
  return atomic_load_explicit(&t->counted.count, memory_order_acquire) == 1;
}

bool hiaR_tensor_is_last(hia_word ref) {
  hia_tensor *t = hiaR_tensor(ref);
  if (!is_only(t)) return false;
  if (t->counted.ctor == HIA_TENSOR_OWN) return true;
  const hia_tensor *owner = hiaR_tensor(*hiaR_tensor_owner(t));
  return owner->counted.ctor == HIA_TENSOR_OWN && is_only(owner) &&
         hiaR_tensor_bytes(owner) == hiaR_tensor_bytes(t);
}

void hiaR_tensor_free(hia_local_heap *local, hia_word ref, bool is_shared) {
  hia_tensor *t = hiaR_tensor(ref);
  uint32_t rank = hiaR_tensor_rank(t);
  if (t->counted.ctor == HIA_TENSOR_VIEW) {
    hia_word owner = *hiaR_tensor_owner(t);
    hiaR_heap_release(local, t, view_size(rank));
    if (!hiaR_let_go(owner, is_shared)) return;
    t = hiaR_tensor(owner);
    rank = hiaR_tensor_rank(t);
  }
  hiaR_heap_release(local, t, hiaR_tensor_size(rank, (size_t)hiaR_tensor_bytes(t)));
}
