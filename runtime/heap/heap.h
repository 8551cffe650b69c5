/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The heap of a run: the memory of the objects that the run makes (docs/memory.md).
 *
 * Each worker of the run has free lists of its own, by size class, and takes from them and gives
 * back to them without synchronisation. An object may be freed by another worker than made it: it
 * then lies in that worker's lists. At the end of a stolen task a worker hands its lists to the
 * run, where workers look that have none of a class; so what one worker frees another can use.
 *
 * Blocks are not returned to the system one by one: when the run ends, all of its memory goes at
 * once, whatever is in use. So a run that fails, or is cancelled, leaks nothing, and no code
 * unwinds.
 *
 * Related work: free lists per thread, and lists that are moved as a whole, are those of Hoard
 * (Berger and others, ASPLOS 2000) and of mimalloc (Leijen, Zorn, de Moura, APLAS 2019). */
#ifndef HIA_HEAP_H
#define HIA_HEAP_H

#include "runtime/heap/reserve.h"
#include "runtime/heap/spans.h"
#include <pthread.h>
#include <stdatomic.h>

/* Size classes: every multiple of 8 from 16 to 512 bytes, then four for each doubling up to 8 KiB.
 * The class of a size up to 512 is size / 8, which generated code knows. Larger blocks are spans of
 * the run (spans.h). Those of more than HIA_SPAN_LARGEST bytes come from the allocator one by one.
 */
enum {
  HIA_HEAP_EXACT = 512,
  HIA_HEAP_LARGEST = 8 << 10,
  HIA_HEAP_CLASSES = HIA_HEAP_EXACT / 8 + 1 + 4 * 4,
};

/* Builds with AddressSanitizer, stress and debug builds count the blocks in use. */
#if defined(HIA_ASAN) || defined(HIA_STRESS) || defined(HIA_DEBUG)
#define HIA_CENSUS 1
#endif

typedef struct hia_heap hia_heap;
typedef struct hia_free_block hia_free_block;
typedef struct hia_heap_chunk hia_heap_chunk;
typedef struct hia_large_block hia_large_block;

/* What a worker has of a heap. Used by one thread at a time. */
typedef struct hia_local_heap {
  hia_free_block *free[HIA_HEAP_CLASSES];
  char *at, *end; /* the rest of its newest chunk */
  hia_heap *heap; /* NULL: it has none */
  size_t chunk_size;
  /* The bytes that may be taken before a profile is due to know where (run/sampler.h); below 0: it
     is. INT64_MAX, which a run does not use up: there is no profile. Generated code that takes from
     a free list counts only in an engine for such profiles. */
  int64_t left;
} hia_local_heap;

struct hia_heap {
  const hia_allocator *allocator;
  bool (*must_end)(void *user); /* what takes long in the heap asks it now and then; NULL: never */
  void *user;
  bool fast_products;   /* OpenBLAS is open, and computes the products that it takes */
  bool repeats;         /* others follow that need as much memory: steps of a training */
  uint64_t run;         /* no other run has the number */
  size_t limit;         /* in bytes; SIZE_MAX: none */
  _Atomic size_t bytes; /* of chunks and large blocks in use */
  /* What `bytes` may come to before the heap asks for more (base/left.h); SIZE_MAX: it never asks
   */
  _Atomic size_t granted;
  _Atomic size_t peak;  /* the most that this has been */
  _Atomic bool is_full; /* more was asked for than the limit, or the machine, has left */
  /* What the run has taken for its objects: in all, and of that from the allocator instead of from
     what earlier runs have left. Blocks that are freed and used again count once, as free lists
     are used without a count. */
  _Atomic uint64_t taken, fresh;
  pthread_mutex_t lock;                             /* protects what follows */
  _Atomic(hia_free_block *) free[HIA_HEAP_CLASSES]; /* lists handed over by workers */
  hia_heap_chunk *chunks, *spare;                   /* in use; kept from earlier runs */
  size_t spare_bytes;
  hia_spans spans;               /* their regions are chunks, too */
  size_t region_size;            /* of the next one */
  size_t last;                   /* the most bytes that the last run had */
  hia_large_block *large, *kept; /* in use; not */
  size_t kept_bytes;
  hia_reserve reserve;
#ifdef HIA_CENSUS
  _Atomic int64_t live; /* blocks in use */
#endif
};

/* The allocator must outlive the heap. */
void hiaR_heap_init(hia_heap *heap, const hia_allocator *allocator);
/* Begins a run, which may have `limit` bytes in all; 0: as many as the machine has left; SIZE_MAX:
 * no limit. must_end becomes NULL, fast_products and repeats false. */
void hiaR_heap_begin(hia_heap *heap, size_t limit);
/* Counts other memory of the run with the heap's: `size` bytes or as many as the limit leaves, but
 * at least `least`. Returns their number, a multiple of 16; 0: fewer than `least` are left. */
size_t hiaR_heap_take_bytes(hia_heap *heap, size_t least, size_t size);
void hiaR_heap_give_bytes(hia_heap *heap, size_t size);
/* The bytes up to the limit; SIZE_MAX: there is none. */
size_t hiaR_heap_left(const hia_heap *heap);
/* Ends it: all blocks become invalid. Some memory is kept for the next run. No worker may use the
 * heap any more; their local heaps are invalid. */
void hiaR_heap_end(hia_heap *heap);
/* Between runs: frees what is kept, whose blocks may be larger than what the next run asks for. */
void hiaR_heap_forget(hia_heap *heap);
void hiaR_heap_free(hia_heap *heap);

/* True if the run must end. */
static inline bool hiaR_heap_must_end(const hia_heap *heap) {
  return heap->must_end && heap->must_end(heap->user);
}

/* The blocks in use, while no worker uses the heap. False: this build does not count them. */
bool hiaR_heap_census(const hia_heap *heap, int64_t *live);

/* Attaches a worker's local heap to a run's. Must be called in each run anew. */
void hiaR_local_begin(hia_local_heap *local, hia_heap *heap);
/* Hands all free blocks to the run, for other workers. */
void hiaR_local_hand_over(hia_local_heap *local);

/* A block of `size` bytes, aligned to 8, not zeroed. NULL: out of memory, or past the
 * limit. */
void *hiaR_heap_alloc(hia_local_heap *local, size_t size);
/* `size` is that of the request. Any worker of the run may free a block. */
void hiaR_heap_release(hia_local_heap *local, void *block, size_t size);

/* A block of more than HIA_SPAN_LARGEST bytes no longer belongs to the run, but to the caller, who
 * frees it with the heap's allocator: it begins HIA_LARGE_HEAD bytes before, with room for what the
 * caller notes there, and has *whole bytes with that. Returns where it begins; NULL: it is smaller,
 * or is the reserve's, and stays the run's. */
enum { HIA_LARGE_HEAD = 48 };
void *hiaR_heap_part_with(hia_heap *heap, void *block, size_t size, size_t *whole);

/* The number of the size class; sizes up to HIA_HEAP_LARGEST. No size has class 0. */
unsigned hiaR_heap_class(size_t size);
size_t hiaR_heap_class_size(unsigned class);

/* True if a profile is due to know where the worker takes memory. */
static inline bool hiaR_local_is_due(const hia_local_heap *local) {
  return HIA_UNLIKELY(local->left < 0);
}

/* These do what hiaR_heap_alloc and hiaR_heap_release do, mostly without a call. `class` is that of
 * the size, or 0. A free block begins with the address of the next one. */
static inline void *hiaR_heap_take(hia_local_heap *local, unsigned class, size_t size) {
#ifndef HIA_CENSUS
  hia_free_block *block = local->free[class];
  if (HIA_LIKELY(block)) {
    memcpy(&local->free[class], block, sizeof(void *));
    local->left -= (int64_t)size;
    return block;
  }
#else
  (void)class;
#endif
  return hiaR_heap_alloc(local, size);
}
static inline void hiaR_heap_put(hia_local_heap *local, unsigned class, void *block, size_t size) {
#ifndef HIA_CENSUS
  if (HIA_LIKELY(class)) {
    memcpy(block, &local->free[class], sizeof(void *));
    local->free[class] = block;
    return;
  }
#else
  (void)class;
#endif
  hiaR_heap_release(local, block, size);
}

#endif
