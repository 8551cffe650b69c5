/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A worker whose free list of a class is empty takes the list that other workers have handed over,
 * or else carves a batch of blocks from its chunk. One would expect that it carves one block at a
 * time, and touches no memory before it is used; but then generated code, which knows free lists
 * only, would call the runtime for every block of a structure that is being built. */
#include "runtime/heap/own.h"
#include "runtime/heap/poison.h"

/* The beginning of a free block. All of the block is poisoned for AddressSanitizer. Generated code
 * relies on `next` being its first word. */
struct hia_free_block {
  hia_free_block *next; /* in its list */
  hia_free_block
      *next_list; /* of the first one of a list that was handed over: the next such list */
};

#ifdef HIA_STRESS
enum { FREE_SPAN = 2 << 10, FIRST_CHUNK = 1 << 10, LARGEST_CHUNK = 8 << 10, BATCH = 64 };
#else
enum {
  FREE_SPAN = 64 << 10, /* bytes of a free span that serves as a chunk */
  FIRST_CHUNK = 16 << 10,
  LARGEST_CHUNK = 1 << 20,
  BATCH = 2 << 10, /* bytes that are carved at a time */
};
#endif

/* ---- size classes ---- */

unsigned hiaR_heap_class(size_t size) {
  if (size < sizeof(hia_free_block)) size = sizeof(hia_free_block);
  if (size <= HIA_HEAP_EXACT) return (unsigned)((size + 7) / 8);
  unsigned top = 63u - (unsigned)__builtin_clzll((uint64_t)size - 1); /* 512: 9 */
  unsigned quarter = (unsigned)((size - 1) >> (top - 2)) & 3;
  return HIA_HEAP_EXACT / 8 + 1 + 4 * (top - 9) + quarter;
}

size_t hiaR_heap_class_size(unsigned class) {
  if (class <= HIA_HEAP_EXACT / 8) return (size_t)class * 8;
  class -= HIA_HEAP_EXACT / 8 + 1;
  return ((size_t)HIA_HEAP_EXACT << class / 4) / 4 * (class % 4 + 5);
}

/* ---- workers ---- */

void hiaR_local_begin(hia_local_heap *local, hia_heap *heap) {
  *local = (hia_local_heap){.heap = heap, .chunk_size = FIRST_CHUNK, .left = INT64_MAX};
}

static void push(hia_local_heap *local, unsigned class, void *at, size_t size) {
  hia_free_block *block = at;
  HIA_UNPOISON(block, sizeof *block);
  block->next = local->free[class];
  local->free[class] = block;
  HIA_POISON(block, size);
}

static hia_free_block *pop(hia_local_heap *local, unsigned class) {
  hia_free_block *block = local->free[class];
  HIA_UNPOISON(block, sizeof *block);
  local->free[class] = block->next;
  return block;
}

void hiaR_local_hand_over(hia_local_heap *local) {
  hia_heap *heap = local->heap;
  bool is_locked = false;
  for (unsigned c = 0; c < HIA_HEAP_CLASSES; c++) {
    hia_free_block *list = local->free[c];
    if (!list) continue;
    if (!is_locked) pthread_mutex_lock(&heap->lock);
    is_locked = true;
    HIA_UNPOISON(list, sizeof *list);
    list->next_list = atomic_load_explicit(&heap->free[c], memory_order_relaxed);
    HIA_POISON(list, sizeof *list);
    atomic_store_explicit(&heap->free[c], list, memory_order_relaxed);
    local->free[c] = NULL;
  }
  if (is_locked) pthread_mutex_unlock(&heap->lock);
}

static bool take_handed_over(hia_local_heap *local, unsigned class) {
  hia_heap *heap = local->heap;
  if (!atomic_load_explicit(&heap->free[class], memory_order_relaxed)) return false;
  pthread_mutex_lock(&heap->lock);
  hia_free_block *list = atomic_load_explicit(&heap->free[class], memory_order_relaxed);
  if (list) {
    HIA_UNPOISON(list, sizeof *list);
    atomic_store_explicit(&heap->free[class], list->next_list, memory_order_relaxed);
    HIA_POISON(list, sizeof *list);
  }
  pthread_mutex_unlock(&heap->lock);
  local->free[class] = list;
  return list != NULL;
}

/* Makes free blocks of what is left of the chunk. */
static void use_rest(hia_local_heap *local) {
  while (local->end - local->at >= 16) {
    size_t left = (size_t)(local->end - local->at);
    unsigned class = hiaR_heap_class(left < HIA_HEAP_LARGEST ? left : HIA_HEAP_LARGEST);
    if (hiaR_heap_class_size(class) > left) class --;
    size_t size = hiaR_heap_class_size(class);
    push(local, class, local->at, size);
    local->at += size;
  }
  local->at = local->end = NULL;
}

/* Begins a chunk for blocks of `least` bytes; a free span serves as one. False: no memory. */
static bool begin_chunk(hia_local_heap *local, size_t least) {
  hia_heap *heap = local->heap;
  size_t size = least > FREE_SPAN ? least : FREE_SPAN;
  if ((local->at = hiaR_span_find(heap, size))) {
    local->end = local->at + size;
    HIA_POISON(local->at, size);
    return true;
  }
  hia_heap_chunk *chunk = hiaR_chunk_new(heap, least, local->chunk_size);
  if (!chunk) return false;
  local->at = (char *)(chunk + 1);
  local->end = (char *)chunk + chunk->size;
  if (local->chunk_size < LARGEST_CHUNK) local->chunk_size *= 2;
  return true;
}

/* Fills an empty free list. False: no memory. */
static bool fill(hia_local_heap *local, unsigned class) {
  if (take_handed_over(local, class)) return true;
  size_t size = hiaR_heap_class_size(class), left = (size_t)(local->end - local->at);
  if (left < size) {
    use_rest(local);
    if (!begin_chunk(local, size)) return local->free[class] != NULL;
    left = (size_t)(local->end - local->at);
    if (local->free[class]) return true; /* the rest of the last chunk */
  }
  size_t n = BATCH / size;
  if (n * size > left) n = left / size;
  if (n == 0) n = 1;
  /* In the order of their addresses, in which the blocks will be used. */
  for (size_t i = n; i-- > 0;) push(local, class, local->at + i * size, size);
  local->at += n * size;
  return true;
}

void *hiaR_heap_alloc(hia_local_heap *local, size_t size) {
  void *block;
  if (size > HIA_HEAP_LARGEST) {
    hia_heap *heap = local->heap;
    block = size > HIA_SPAN_LARGEST ? hiaR_large_alloc(heap, size) : hiaR_span_alloc(heap, size);
    if (!block) return NULL;
  } else {
    unsigned class = hiaR_heap_class(size);
    if (!local->free[class] && !fill(local, class)) return NULL;
    block = pop(local, class);
    HIA_UNPOISON(block, size);
  }
  local->left -= (int64_t)size;
  hiaR_heap_count_blocks(local->heap, 1);
  return block;
}

void hiaR_heap_release(hia_local_heap *local, void *block, size_t size) {
  hiaR_heap_count_blocks(local->heap, -1);
  if (size > HIA_SPAN_LARGEST) {
    hiaR_large_release(local->heap, block);
    return;
  }
  if (size > HIA_HEAP_LARGEST) {
    hiaR_span_release(local->heap, block);
    return;
  }
  unsigned class = hiaR_heap_class(size);
  push(local, class, block, hiaR_heap_class_size(class));
}
