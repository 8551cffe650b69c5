/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of a run. */
#include "runtime/base/left.h"
#include "runtime/heap/own.h"

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
  hiaR_heap_end_grant(heap);
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
