/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A worker whose free list of a class is empty takes the list that other workers have handed over,
 * or else carves a batch of blocks from its chunk. One would expect that it carves one block at a
 * time, and touches no memory before it is used; but then generated code, which knows free lists
 * only, would call the runtime for every block of a structure that is being built. */
#include "runtime/heap/heap.h"
#include "runtime/base/left.h"
#include "runtime/heap/poison.h"

/* The beginning of a free block. All of the block is poisoned for AddressSanitizer. Generated code
 * relies on `next` being its first word. */
struct hia_free_block {
  hia_free_block *next; /* in its list */
  hia_free_block
      *next_list; /* of the first one of a list that was handed over: the next such list */
};

/* Followed by blocks; 16 bytes, so that a chunk that the allocator aligns to 16 keeps that. */
struct hia_heap_chunk {
  hia_heap_chunk *next;
  size_t size; /* with this header */
};

struct hia_large_block {
  hia_large_block *prev, *next;
  size_t size; /* with this header */
  size_t pad[3];
};
_Static_assert(sizeof(hia_large_block) == HIA_LARGE_HEAD, "a large block begins with its head");

#ifdef HIA_STRESS
enum {
  FIRST_CHUNK = 1 << 10,
  LARGEST_CHUNK = 8 << 10,
  BATCH = 64,
  KEPT = 16 << 10,
  KEPT_LARGE = 160 << 10,
  MOST_KEPT = 0
};
#else
enum {
  FIRST_CHUNK = 16 << 10,
  LARGEST_CHUNK = 1 << 20,
  BATCH = 2 << 10,      /* bytes that are carved at a time */
  KEPT = 4 << 20,       /* bytes of chunks kept from one run to the next */
  KEPT_LARGE = 8 << 20, /* bytes of large blocks that nobody uses */
  MOST_KEPT = 64 << 20, /* of either, if the last run had so much */
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

/* ---- the memory of a run ---- */

#ifdef HIA_CENSUS
static void count_blocks(hia_heap *heap, int64_t n) {
  atomic_fetch_add_explicit(&heap->live, n, memory_order_relaxed);
}
#else
static void count_blocks(hia_heap *heap, int64_t n) { (void)heap, (void)n; }
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
#ifdef HIA_CENSUS
  atomic_store_explicit(&heap->live, 0, memory_order_relaxed);
#endif
  static _Atomic uint64_t n_runs;
  heap->run = atomic_fetch_add_explicit(&n_runs, 1, memory_order_relaxed) + 1;
  atomic_store_explicit(&heap->bytes, 0, memory_order_relaxed);
  atomic_store_explicit(&heap->peak, 0, memory_order_relaxed);
  atomic_store_explicit(&heap->is_full, false, memory_order_relaxed);
  atomic_store_explicit(&heap->taken, 0, memory_order_relaxed);
  atomic_store_explicit(&heap->fresh, 0, memory_order_relaxed);
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

static void free_chunks(const hia_heap *heap, hia_heap_chunk *chunk) {
  while (chunk) {
    hia_heap_chunk *next = chunk->next;
    HIA_UNPOISON(chunk, chunk->size);
    hiaR_free(heap->allocator, chunk, chunk->size);
    chunk = next;
  }
}

/* ---- large blocks ----
 *
 * Those that nobody uses any more are kept, up to KEPT_LARGE bytes, or as many as the last run had
 * at most and MOST_KEPT: the system would give
 * their pages again one by one, zeroed, which takes longer than what a kernel does with them. The
 * newest comes first. They do not count as the run's bytes. Those of the reserve are kept until the
 * run ends, and not counted. The caller has the lock. */

/* What is kept of a kind: `least` bytes, or what the last run had, which the next one may need. */
static size_t most_kept(const hia_heap *heap, size_t least) {
  size_t most = MOST_KEPT, last = heap->last < most ? heap->last : most;
  return last > least ? last : least;
}

/* False: it is not kept. */
static bool keep_large(hia_heap *heap, hia_large_block *large) {
  size_t most = most_kept(heap, KEPT_LARGE);
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

static void end_large(hia_heap *heap) {
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

static void free_kept(hia_heap *heap) {
  free_chunks(heap, heap->spare);
  heap->spare = NULL;
  heap->spare_bytes = 0;
  while (heap->kept) {
    hia_large_block *large = heap->kept;
    heap->kept = large->next;
    free_large(heap, large);
  }
  heap->kept_bytes = 0;
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

/* Keeps, or frees, the chunks of the run that are not of the reserve. */
static void end_chunks(hia_heap *heap) {
  for (unsigned c = 0; c < HIA_HEAP_CLASSES; c++)
    atomic_store_explicit(&heap->free[c], NULL, memory_order_relaxed);
  hia_heap_chunk *rest = NULL;
  size_t most = most_kept(heap, KEPT);
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
  free_chunks(heap, rest);
}

void hiaR_heap_end(hia_heap *heap) {
  size_t peak = atomic_load_explicit(&heap->peak, memory_order_relaxed);
  bool has_run = heap->chunks || heap->large;
  if (has_run && (!heap->repeats || heap->last < peak)) heap->last = peak;
  end_large(heap);
  end_grant(heap);
  if (heap->chunks) end_chunks(heap);
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

static void count_taken(hia_heap *heap, size_t size, bool is_fresh) {
  atomic_fetch_add_explicit(&heap->taken, size, memory_order_relaxed);
  if (is_fresh) atomic_fetch_add_explicit(&heap->fresh, size, memory_order_relaxed);
}

/* NULL: the reserve has not so much. */
static void *take_reserve(hia_heap *heap, size_t size) {
  if (!heap->reserve.block) return NULL;
  pthread_mutex_lock(&heap->lock);
  void *block = hiaR_reserve_take(&heap->reserve, size, heap->repeats);
  pthread_mutex_unlock(&heap->lock);
  return block;
}

/* A chunk for blocks of `least` bytes in all, and if possible `size`. NULL: no memory. */
static hia_heap_chunk *new_chunk(hia_heap *heap, size_t least, size_t size) {
  least = ((least + 15) & ~(size_t)15) + sizeof(hia_heap_chunk);
  pthread_mutex_lock(&heap->lock);
  hia_heap_chunk **at = &heap->spare, *chunk = NULL;
  while (*at && ((*at)->size < least || (*at)->size / 4 > size)) at = &(*at)->next;
  if (*at && hiaR_heap_take_bytes(heap, (*at)->size, (*at)->size)) {
    chunk = *at;
    *at = chunk->next;
    heap->spare_bytes -= chunk->size;
    chunk->next = heap->chunks;
    heap->chunks = chunk;
  }
  pthread_mutex_unlock(&heap->lock);
  if (chunk) {
    count_taken(heap, chunk->size, false);
    return chunk;
  }
  size_t taken = hiaR_heap_take_bytes(heap, least, size < least ? least : size);
  if (!taken) return NULL;
  chunk = take_reserve(heap, taken);
  bool is_fresh = !chunk;
  if (is_fresh) chunk = heap->allocator->alloc(heap->allocator->user, taken); /* not zeroed */
  if (!chunk) {
    hiaR_heap_give_bytes(heap, taken);
    return NULL;
  }
  chunk->size = taken;
  count_taken(heap, taken, is_fresh);
  HIA_POISON(chunk + 1, taken - sizeof *chunk);
  pthread_mutex_lock(&heap->lock);
  chunk->next = heap->chunks;
  heap->chunks = chunk;
  pthread_mutex_unlock(&heap->lock);
  return chunk;
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

/* Fills an empty free list. False: no memory. */
static bool fill(hia_local_heap *local, unsigned class) {
  if (take_handed_over(local, class)) return true;
  size_t size = hiaR_heap_class_size(class), left = (size_t)(local->end - local->at);
  if (left < size) {
    use_rest(local);
    hia_heap_chunk *chunk = new_chunk(local->heap, size, local->chunk_size);
    if (!chunk) return local->free[class] != NULL;
    local->at = (char *)(chunk + 1);
    local->end = (char *)chunk + chunk->size;
    left = chunk->size - sizeof *chunk;
    if (local->chunk_size < LARGEST_CHUNK) local->chunk_size *= 2;
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

static void put_large(hia_heap *heap, hia_large_block *large) {
  large->prev = NULL;
  large->next = heap->large;
  if (heap->large) heap->large->prev = large;
  heap->large = large;
}

static void *alloc_large(hia_heap *heap, size_t size) {
  size_t whole;
  if (!hiaR_add(size, sizeof(hia_large_block) + 15, &whole)) return NULL;
  whole &= ~(size_t)15;
  pthread_mutex_lock(&heap->lock);
  hia_large_block *large = take_kept(heap, whole);
  if (large) put_large(heap, large);
  pthread_mutex_unlock(&heap->lock);
  if (large) {
    count_taken(heap, large->size, false);
    return large + 1;
  }
  if (!hiaR_heap_take_bytes(heap, whole, whole)) return NULL;
  large = take_reserve(heap, whole);
  bool is_fresh = !large;
  if (is_fresh) large = hiaR_alloc_large(heap->allocator, whole);
  if (!large) {
    hiaR_heap_give_bytes(heap, whole);
    return NULL;
  }
  large->size = whole;
  count_taken(heap, whole, is_fresh);
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
  if (size <= HIA_HEAP_LARGEST) return NULL;
  hia_large_block *large = (hia_large_block *)block - 1;
  if (hiaR_reserve_has(&heap->reserve, large)) return NULL;
  *whole = large->size;
  hiaR_heap_give_bytes(heap, *whole);
  count_blocks(heap, -1);
  pthread_mutex_lock(&heap->lock);
  take_out(heap, large);
  pthread_mutex_unlock(&heap->lock);
  return large;
}

static void release_large(hia_heap *heap, hia_large_block *large) {
  hiaR_heap_give_bytes(heap, large->size);
  pthread_mutex_lock(&heap->lock);
  take_out(heap, large);
  bool is_kept = keep_large(heap, large);
  pthread_mutex_unlock(&heap->lock);
  if (!is_kept) free_large(heap, large);
}

void *hiaR_heap_alloc(hia_local_heap *local, size_t size) {
  void *block;
  if (size > HIA_HEAP_LARGEST) {
    block = alloc_large(local->heap, size);
    if (!block) return NULL;
  } else {
    unsigned class = hiaR_heap_class(size);
    if (!local->free[class] && !fill(local, class)) return NULL;
    block = pop(local, class);
    HIA_UNPOISON(block, size);
  }
  local->left -= (int64_t)size;
  count_blocks(local->heap, 1);
  return block;
}

void hiaR_heap_release(hia_local_heap *local, void *block, size_t size) {
  count_blocks(local->heap, -1);
  if (size > HIA_HEAP_LARGEST) {
    release_large(local->heap, (hia_large_block *)block - 1);
    return;
  }
  unsigned class = hiaR_heap_class(size);
  push(local, class, block, hiaR_heap_class_size(class));
}
