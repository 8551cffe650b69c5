/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a run has in bytes, and what is kept for the next one. */
#include "runtime/base/left.h"
#include "runtime/heap/own.h"

#ifdef HIA_STRESS
enum { MOST_KEPT = 0 };
#else
enum { MOST_KEPT = 64 << 20 }; /* bytes of each kind that are kept if the last run had so much */
#endif

bool hiaR_heap_census(const hia_heap *heap, int64_t *live) {
#ifdef HIA_CENSUS
  *live = atomic_load_explicit(&heap->live, memory_order_relaxed);
  return true;
#else
  (void)heap;
  *live = 0;
  return false;
#endif
}

void hiaR_heap_init(hia_heap *heap, const hia_allocator *allocator) {
  *heap = (hia_heap){.allocator = allocator, .limit = SIZE_MAX, .granted = SIZE_MAX};
  pthread_mutex_init(&heap->lock, NULL);
}

void hiaR_heap_begin(hia_heap *heap, size_t limit) {
  heap->limit = limit ? limit : SIZE_MAX;
  atomic_store_explicit(&heap->granted, limit ? SIZE_MAX : HIA_FREE_GRANT, memory_order_relaxed);
  heap->must_end = NULL;
  heap->fast_products = heap->repeats = false;
  hiaR_chunks_begin(heap);
#ifdef HIA_CENSUS
  atomic_store_explicit(&heap->live, 0, memory_order_relaxed);
#endif
  static _Atomic uint64_t n_runs;
  heap->run = atomic_fetch_add_explicit(&n_runs, 1, memory_order_relaxed) + 1;
  atomic_store_explicit(&heap->bytes, 0, memory_order_relaxed);
  atomic_store_explicit(&heap->peak, 0, memory_order_relaxed);
  atomic_store_explicit(&heap->taken, 0, memory_order_relaxed);
  atomic_store_explicit(&heap->fresh, 0, memory_order_relaxed);
  atomic_store_explicit(&heap->is_full, false, memory_order_relaxed);
}

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

static void end_grant(hia_heap *heap) {
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

/* ---- for the other files of the folder ---- */

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

size_t hiaR_heap_claim(hia_heap *heap, size_t least, size_t size) {
  size_t taken = hiaR_heap_take_bytes(heap, least, size);
  if (taken || !hiaR_chunks_free_regions(heap)) return taken;
  atomic_store_explicit(&heap->is_full, false, memory_order_relaxed);
  return hiaR_heap_take_bytes(heap, least, size);
}

/* ---- the end of a run ---- */

static void free_kept(hia_heap *heap) {
  hiaR_chunks_free_spare(heap);
  hiaR_large_free_kept(heap);
}

/* What the run had of the reserve must not be read any more. */
static void end_reserve(hia_heap *heap, size_t peak) {
  const hia_reserve_need need = {peak, atomic_load_explicit(&heap->fresh, memory_order_relaxed),
                                 heap->repeats};
  size_t size = hiaR_reserve_end_run(&heap->reserve, heap->allocator, &need);
  if (!size) return;
  free_kept(heap); /* the reserve replaces that */
  hiaR_reserve_make(&heap->reserve, heap->allocator, size, heap->repeats);
}

void hiaR_heap_end(hia_heap *heap) {
  size_t peak = atomic_load_explicit(&heap->peak, memory_order_relaxed);
  bool has_run = heap->chunks || heap->large;
  if (has_run && (!heap->repeats || heap->last < peak)) heap->last = peak;
  hiaR_spans_clear(&heap->spans);
  hiaR_large_end(heap);
  end_grant(heap);
  if (heap->chunks) hiaR_chunks_end(heap);
  if (has_run) end_reserve(heap, peak);
}

void hiaR_heap_forget(hia_heap *heap) {
  free_kept(heap);
  hiaR_reserve_free(&heap->reserve, heap->allocator);
}

void hiaR_heap_free(hia_heap *heap) {
  hiaR_heap_end(heap);
  hiaR_heap_forget(heap);
  pthread_mutex_destroy(&heap->lock);
}
