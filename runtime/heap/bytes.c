/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a run has in bytes. */
#include "runtime/base/left.h"
#include "runtime/heap/own.h"

#ifdef HIA_STRESS
enum { MOST_KEPT = 0 };
#else
enum { MOST_KEPT = 64 << 20 }; /* bytes of each kind that are kept if the last run had so much */
#endif

/* True if the heap may have `bytes` in all. Two workers that ask at once may both be granted more:
 * then the heap has what both were. */
static bool may_have(hia_heap *heap, size_t bytes) {
  size_t granted = atomic_load_explicit(&heap->granted, memory_order_relaxed);
  if (HIA_LIKELY(bytes <= granted)) return true;
  size_t held = granted - HIA_FREE_GRANT,
         more = hiaR_grant(held, bytes - HIA_FREE_GRANT, false) - held;
  atomic_fetch_add_explicit(&heap->granted, more, memory_order_relaxed);
  return more > 0;
}

void hiaR_heap_end_grant(hia_heap *heap) {
  size_t granted = atomic_load_explicit(&heap->granted, memory_order_relaxed);
  if (granted <= HIA_FREE_GRANT || granted == SIZE_MAX) return;
  atomic_store_explicit(&heap->granted, HIA_FREE_GRANT, memory_order_relaxed);
  hiaR_grant_end(granted - HIA_FREE_GRANT);
}

/* Returns the bytes that are taken: none. */
static size_t refuse(hia_heap *heap) {
  atomic_store_explicit(&heap->is_full, true, memory_order_relaxed);
  return 0;
}

size_t hiaR_heap_take_bytes(hia_heap *heap, size_t least, size_t size) {
  size_t used = atomic_load_explicit(&heap->bytes, memory_order_relaxed), taken;
  do {
    size_t left = heap->limit > used ? heap->limit - used : 0;
    taken = (size < left ? size : left) & ~(size_t)15;
    if (taken < least) return refuse(heap);
    if (!may_have(heap, used + taken)) {
      taken = (least + 15) & ~(size_t)15;
      if (taken > left || !may_have(heap, used + taken)) return refuse(heap);
    }
  } while (!atomic_compare_exchange_weak_explicit(&heap->bytes, &used, used + taken,
                                                  memory_order_relaxed, memory_order_relaxed));
  size_t now = used + taken, peak = atomic_load_explicit(&heap->peak, memory_order_relaxed);
  while (now > peak && !atomic_compare_exchange_weak_explicit(
                           &heap->peak, &peak, now, memory_order_relaxed, memory_order_relaxed));
  return taken;
}

void hiaR_heap_give_bytes(hia_heap *heap, size_t size) {
  atomic_fetch_sub_explicit(&heap->bytes, size, memory_order_relaxed);
}

size_t hiaR_heap_left(const hia_heap *heap) {
  size_t used = atomic_load_explicit(&heap->bytes, memory_order_relaxed);
  if (heap->limit == SIZE_MAX) return SIZE_MAX;
  return used < heap->limit ? heap->limit - used : 0;
}

size_t hiaR_heap_most_kept(const hia_heap *heap, size_t least) {
  size_t most = MOST_KEPT, last = heap->last < most ? heap->last : most;
  return last > least ? last : least;
}

void hiaR_heap_count_taken(hia_heap *heap, size_t size, bool is_fresh) {
  atomic_fetch_add_explicit(&heap->taken, size, memory_order_relaxed);
  if (is_fresh) atomic_fetch_add_explicit(&heap->fresh, size, memory_order_relaxed);
}

void *hiaR_heap_take_reserve(hia_heap *heap, size_t size) {
  if (!heap->reserve.block) return NULL;
  pthread_mutex_lock(&heap->lock);
  void *block = hiaR_reserve_take(&heap->reserve, size, heap->repeats);
  pthread_mutex_unlock(&heap->lock);
  return block;
}
