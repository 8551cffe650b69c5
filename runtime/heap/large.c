/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Large blocks come from the allocator one by one, or from the reserve.
 *
 * Those that nobody uses any more are kept, up to KEPT_LARGE bytes, or as many as the last run had
 * at most and MOST_KEPT: the system would give their pages again one by one, zeroed, which takes
 * longer than what a kernel does with them. The newest comes first. They do not count as the run's
 * bytes. Those of the reserve are kept until the run ends, and not counted. */
#include "runtime/heap/own.h"
#include "runtime/heap/poison.h"

struct hia_large_block {
  hia_large_block *prev, *next;
  size_t size; /* with this header */
  size_t pad[3];
};
_Static_assert(sizeof(hia_large_block) == HIA_LARGE_HEAD, "a large block begins with its head");

#ifdef HIA_STRESS
enum { KEPT_LARGE = 1200 << 10 };
#else
enum { KEPT_LARGE = 8 << 20 };
#endif

/* False: it is not kept. */
static bool keep_large(hia_heap *heap, hia_large_block *large) {
  size_t most = hiaR_heap_most_kept(heap, KEPT_LARGE);
  if (!hiaR_reserve_has(&heap->reserve, large)) {
    if (large->size > most / 2 || heap->kept_bytes > most || large->size > most - heap->kept_bytes)
      return false;
    heap->kept_bytes += large->size;
  }
  large->next = heap->kept;
  heap->kept = large;
  HIA_POISON(large + 1, large->size - sizeof *large);
  return true;
}

/* A block of `size` bytes and up to a quarter more; NULL: there is none. */
static hia_large_block *take_kept(hia_heap *heap, size_t size) {
  hia_large_block **at = &heap->kept;
  while (*at && ((*at)->size < size || (*at)->size - size > size / 4)) at = &(*at)->next;
  hia_large_block *large = *at;
  if (!large || !hiaR_heap_take_bytes(heap, large->size, large->size)) return NULL;
  *at = large->next;
  if (!hiaR_reserve_has(&heap->reserve, large)) heap->kept_bytes -= large->size;
  HIA_UNPOISON(large + 1, large->size - sizeof *large);
  return large;
}

static void free_large(const hia_heap *heap, hia_large_block *large) {
  HIA_UNPOISON(large + 1, large->size - sizeof *large);
  hiaR_free(heap->allocator, large, large->size);
}

void hiaR_large_end(hia_heap *heap) {
  for (hia_large_block **at = &heap->kept; *at;)
    if (hiaR_reserve_has(&heap->reserve, *at))
      *at = (*at)->next;
    else
      at = &(*at)->next;
  while (heap->large) {
    hia_large_block *large = heap->large;
    heap->large = large->next;
    if (hiaR_reserve_has(&heap->reserve, large)) continue;
    if (!keep_large(heap, large)) free_large(heap, large);
  }
}

static void put_large(hia_heap *heap, hia_large_block *large) {
  large->prev = NULL;
  large->next = heap->large;
  if (heap->large) heap->large->prev = large;
  heap->large = large;
}

void *hiaR_large_alloc(hia_heap *heap, size_t size) {
  size_t whole;
  if (!hiaR_add(size, sizeof(hia_large_block) + 15, &whole)) return NULL;
  whole &= ~(size_t)15;
  pthread_mutex_lock(&heap->lock);
  hia_large_block *large = take_kept(heap, whole);
  if (large) put_large(heap, large);
  pthread_mutex_unlock(&heap->lock);
  if (large) {
    hiaR_heap_count_taken(heap, large->size, false);
    return large + 1;
  }
  if (!hiaR_chunks_claim(heap, whole, whole)) return NULL;
  large = hiaR_heap_take_reserve(heap, whole);
  bool is_fresh = !large;
  if (is_fresh) large = hiaR_alloc_large(heap->allocator, whole);
  if (!large) {
    hiaR_heap_give_bytes(heap, whole);
    return NULL;
  }
  large->size = whole;
  hiaR_heap_count_taken(heap, whole, is_fresh);
  pthread_mutex_lock(&heap->lock);
  put_large(heap, large);
  pthread_mutex_unlock(&heap->lock);
  return large + 1;
}

static void take_out(hia_heap *heap, const hia_large_block *large) {
  *(large->prev ? &large->prev->next : &heap->large) = large->next;
  if (large->next) large->next->prev = large->prev;
}

void *hiaR_heap_part_with(hia_heap *heap, void *block, size_t size, size_t *whole) {
  if (size <= HIA_SPAN_LARGEST) return NULL;
  hia_large_block *large = (hia_large_block *)block - 1;
  if (hiaR_reserve_has(&heap->reserve, large)) return NULL;
  *whole = large->size;
  hiaR_heap_give_bytes(heap, *whole);
  hiaR_heap_count_blocks(heap, -1);
  pthread_mutex_lock(&heap->lock);
  take_out(heap, large);
  pthread_mutex_unlock(&heap->lock);
  return large;
}

void hiaR_large_release(hia_heap *heap, void *block) {
  hia_large_block *large = (hia_large_block *)block - 1;
  hiaR_heap_give_bytes(heap, large->size);
  pthread_mutex_lock(&heap->lock);
  take_out(heap, large);
  bool is_kept = keep_large(heap, large);
  pthread_mutex_unlock(&heap->lock);
  if (!is_kept) free_large(heap, large);
}

void hiaR_large_free_kept(hia_heap *heap) {
  while (heap->kept) {
    hia_large_block *large = heap->kept;
    heap->kept = large->next;
    free_large(heap, large);
  }
  heap->kept_bytes = 0;
}
