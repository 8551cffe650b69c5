/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Chunks: the memory that workers cut into blocks of the size classes; those of the spans are
 * called regions. */
#include "runtime/heap/own.h"
#include "runtime/heap/poison.h"

#ifdef HIA_STRESS
enum { FIRST_REGION = 1 << 10, LARGEST_REGION = 64 << 10, KEPT = 16 << 10 };
#else
enum {
  FIRST_REGION = 64 << 10, /* bytes of a region */
  LARGEST_REGION = 1 << 20,
  KEPT = 4 << 20, /* bytes of chunks kept from one run to the next */
};
#endif

void hiaR_chunks_begin(hia_heap *heap) {
  hiaR_spans_clear(&heap->spans);
  heap->region_size = FIRST_REGION;
}

static void free_all(const hia_heap *heap, hia_heap_chunk *chunk) {
  while (chunk) {
    hia_heap_chunk *next = chunk->next;
    HIA_UNPOISON(chunk, chunk->size);
    hiaR_free(heap->allocator, chunk, chunk->size);
    chunk = next;
  }
}

void hiaR_chunks_free_spare(hia_heap *heap) {
  free_all(heap, heap->spare);
  heap->spare = NULL;
  heap->spare_bytes = 0;
}

void hiaR_chunks_end(hia_heap *heap) {
  for (unsigned c = 0; c < HIA_HEAP_CLASSES; c++)
    atomic_store_explicit(&heap->free[c], NULL, memory_order_relaxed);
  hia_heap_chunk *rest = NULL;
  size_t most = hiaR_heap_most_kept(heap, KEPT);
  while (heap->spare && heap->spare_bytes > most) { /* a run before the last one had more */
    hia_heap_chunk *chunk = heap->spare;
    heap->spare = chunk->next;
    heap->spare_bytes -= chunk->size;
    chunk->next = rest;
    rest = chunk;
  }
  while (heap->chunks) {
    hia_heap_chunk *chunk = heap->chunks;
    heap->chunks = chunk->next;
    if (hiaR_reserve_has(&heap->reserve, chunk)) continue;
    bool is_kept = heap->spare_bytes <= most && chunk->size <= most - heap->spare_bytes;
    hia_heap_chunk **list = is_kept ? &heap->spare : &rest;
    if (is_kept) heap->spare_bytes += chunk->size;
    HIA_POISON(chunk + 1, chunk->size - sizeof *chunk);
    chunk->next = *list;
    *list = chunk;
  }
  free_all(heap, rest);
}

/* Frees the regions of spans of which nothing is in use. False: there is none. */
static bool free_regions(hia_heap *heap) {
  hia_heap_chunk *unused = NULL;
  bool is_some = false;
  pthread_mutex_lock(&heap->lock);
  for (char *at; (at = hiaR_spans_remove_region(&heap->spans)); is_some = true) {
    hia_heap_chunk **list = &heap->chunks;
    while ((uintptr_t)at - (uintptr_t)*list >= (*list)->size) list = &(*list)->next;
    hia_heap_chunk *chunk = *list;
    hiaR_heap_give_bytes(heap, chunk->size);
    if (hiaR_reserve_has(&heap->reserve, chunk)) continue;
    *list = chunk->next;
    chunk->next = unused;
    unused = chunk;
  }
  pthread_mutex_unlock(&heap->lock);
  free_all(heap, unused);
  return is_some;
}

size_t hiaR_chunks_claim(hia_heap *heap, size_t least, size_t size) {
  size_t taken = hiaR_heap_take_bytes(heap, least, size);
  if (taken || !free_regions(heap)) return taken;
  atomic_store_explicit(&heap->is_full, false, memory_order_relaxed);
  return hiaR_heap_take_bytes(heap, least, size);
}

/* Takes the smallest chunk of earlier runs that has `least` bytes, if it has no more than four
 * times `size`: so a run like the last one finds a chunk for each that it asks for. The caller has
 * the lock. */
static hia_heap_chunk *take_spare(hia_heap *heap, size_t least, size_t size) {
  hia_heap_chunk **best = NULL;
  size_t most = least > size ? least : size;
  for (hia_heap_chunk **at = &heap->spare; *at; at = &(*at)->next)
    if ((*at)->size >= least && (*at)->size / 4 <= most && (!best || (*at)->size < (*best)->size))
      best = at;
  if (!best || !hiaR_heap_take_bytes(heap, (*best)->size, (*best)->size)) return NULL;
  hia_heap_chunk *chunk = *best;
  *best = chunk->next;
  heap->spare_bytes -= chunk->size;
  chunk->next = heap->chunks;
  return heap->chunks = chunk;
}

hia_heap_chunk *hiaR_chunk_new(hia_heap *heap, size_t least, size_t size) {
  least = ((least + 15) & ~(size_t)15) + sizeof(hia_heap_chunk);
  pthread_mutex_lock(&heap->lock);
  hia_heap_chunk *chunk = take_spare(heap, least, size);
  pthread_mutex_unlock(&heap->lock);
  if (chunk) {
    hiaR_heap_count_taken(heap, chunk->size, false);
    return chunk;
  }
  size_t taken = hiaR_chunks_claim(heap, least, size < least ? least : size);
  if (!taken) return NULL;
  chunk = hiaR_heap_take_reserve(heap, taken);
  bool is_fresh = !chunk;
  if (is_fresh) chunk = heap->allocator->alloc(heap->allocator->user, taken); /* not zeroed */
  if (!chunk) {
    hiaR_heap_give_bytes(heap, taken);
    return NULL;
  }
  chunk->size = taken;
  hiaR_heap_count_taken(heap, taken, is_fresh);
  HIA_POISON(chunk + 1, taken - sizeof *chunk);
  pthread_mutex_lock(&heap->lock);
  chunk->next = heap->chunks;
  heap->chunks = chunk;
  pthread_mutex_unlock(&heap->lock);
  return chunk;
}

/* ---- spans ---- */

void *hiaR_span_find(hia_heap *heap, size_t size) {
  pthread_mutex_lock(&heap->lock);
  void *block = hiaR_spans_take(&heap->spans, size);
  pthread_mutex_unlock(&heap->lock);
  return block;
}

/* The bytes of the next region. */
static size_t next_region(hia_heap *heap) {
  pthread_mutex_lock(&heap->lock);
  size_t size = heap->region_size;
  if (size < LARGEST_REGION) heap->region_size *= 2;
  pthread_mutex_unlock(&heap->lock);
  return size;
}

void *hiaR_span_alloc(hia_heap *heap, size_t size) {
  void *block = hiaR_span_find(heap, size);
  if (block) return block;
  hia_heap_chunk *chunk = hiaR_chunk_new(heap, hiaR_span_region(size), next_region(heap));
  if (!chunk) return NULL;
  pthread_mutex_lock(&heap->lock);
  hiaR_spans_add(&heap->spans, chunk + 1, chunk->size - sizeof *chunk);
  block = hiaR_spans_take(&heap->spans, size);
  pthread_mutex_unlock(&heap->lock);
  return block;
}

void hiaR_span_release(hia_heap *heap, void *block) {
  pthread_mutex_lock(&heap->lock);
  hiaR_spans_give(&heap->spans, block);
  pthread_mutex_unlock(&heap->lock);
}
