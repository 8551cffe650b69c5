/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: what its files know of a heap.
 *
 *   heap.c    the beginning and the end of a run
 *   bytes.c   what it has in bytes
 *   local.c   workers: blocks by size class
 *   chunks.c  the memory that is cut into blocks and spans
 *   spans.c   blocks of some KiB, in a part of that
 *   large.c   larger blocks
 *   reserve.c one piece of memory for all of a run
 *
 * The functions take the heap's lock themselves, but for those that say otherwise. */
#ifndef HIA_HEAP_OWN_H
#define HIA_HEAP_OWN_H

#include "runtime/heap/heap.h"

/* Followed by blocks; 16 bytes, so that a chunk that the allocator aligns to 16 keeps that. */
struct hia_heap_chunk {
  hia_heap_chunk *next;
  size_t size; /* with this header */
};

/* ---- bytes.c ---- */

#ifdef HIA_CENSUS
static inline void hiaR_heap_count_blocks(hia_heap *heap, int64_t n) {
  atomic_fetch_add_explicit(&heap->live, n, memory_order_relaxed);
}
#else
static inline void hiaR_heap_count_blocks(hia_heap *heap, int64_t n) { (void)heap, (void)n; }
#endif

/* What is kept of a kind: `least` bytes, or what the last run had, which the next one may need. */
size_t hiaR_heap_most_kept(const hia_heap *heap, size_t least);
/* Memory of the reserve. NULL: it has not so much. */
void *hiaR_heap_take_reserve(hia_heap *heap, size_t size);
/* The run has taken so many bytes for its objects; is_fresh: from the allocator. */
void hiaR_heap_count_taken(hia_heap *heap, size_t size, bool is_fresh);
/* After a run: gives back what the machine has granted it. */
void hiaR_heap_end_grant(hia_heap *heap);

/* ---- chunks.c ---- */

/* Before a run. */
void hiaR_chunks_begin(hia_heap *heap);
/* A chunk for blocks of `least` bytes in all, and if possible `size`. NULL: no memory. */
hia_heap_chunk *hiaR_chunk_new(hia_heap *heap, size_t least, size_t size);
/* hiaR_heap_take_bytes; before, if that is needed, frees the regions of spans that nobody uses. */
size_t hiaR_chunks_claim(hia_heap *heap, size_t least, size_t size);
/* After a run: keeps, or frees, its chunks that are not of the reserve. */
void hiaR_chunks_end(hia_heap *heap);
void hiaR_chunks_free_spare(hia_heap *heap);
/* A block of more than HIA_HEAP_LARGEST and up to HIA_SPAN_LARGEST bytes; NULL: no memory. */
void *hiaR_span_alloc(hia_heap *heap, size_t size);
void hiaR_span_release(hia_heap *heap, void *block);
/* Such a block, if one is free; NULL: none is. */
void *hiaR_span_find(hia_heap *heap, size_t size);

/* ---- large.c ---- */

/* A block of more than HIA_SPAN_LARGEST bytes; NULL: no memory. */
void *hiaR_large_alloc(hia_heap *heap, size_t size);
void hiaR_large_release(hia_heap *heap, void *block);
/* After a run: keeps, or frees, its large blocks. */
void hiaR_large_end(hia_heap *heap);
/* Frees what is kept. */
void hiaR_large_free_kept(hia_heap *heap);

#endif
