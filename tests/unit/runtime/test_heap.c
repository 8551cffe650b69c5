/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* heap: size classes; blocks that do not overlap; limits and lack of memory; blocks that go from
 * worker to worker; what is kept between runs. */
#include "runtime/base/keeper.h"
#include "runtime/heap/heap.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(heap, size_classes) {
  unsigned last = 0;
  for (size_t size = 1; size <= HIA_HEAP_LARGEST; size++) {
    unsigned class = hiaR_heap_class(size);
    size_t rounded = hiaR_heap_class_size(class);
    cr_assert_geq(rounded, size);
    cr_assert(class == last || class == last + 1 || size == 1, "class %u of %zu", class, size);
    if (size > HIA_HEAP_EXACT)
      cr_assert_leq(rounded * 4, size * 5 + 32, "%zu for %zu", rounded, size);
    if (size >= 16 && size <= HIA_HEAP_EXACT) cr_assert_eq(class, (size + 7) / 8);
    cr_assert_eq(hiaR_heap_class(rounded), class);
    cr_assert_eq(rounded % 8, 0);
    last = class;
  }
  cr_assert_eq(last, HIA_HEAP_CLASSES - 1);
  cr_assert_eq(hiaR_heap_class_size(last), HIA_HEAP_LARGEST);
}

typedef struct block {
  unsigned char *at;
  size_t size;
  unsigned char fill;
} block;

static uint32_t random_below(uint32_t *state, uint32_t n) {
  *state = *state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(*state >> 8) * n >> 24);
}

static size_t random_size(uint32_t *state) {
  switch (random_below(state, 16)) {
  case 0: return 1 + random_below(state, 16 * HIA_HEAP_LARGEST);
  case 1: return 1 + random_below(state, 4000);
  default: return 16 + random_below(state, 200);
  }
}

static void check(const block *b) {
  for (size_t i = 0; i < b->size; i++) cr_assert_eq(b->at[i], b->fill);
}

Test(heap, blocks_do_not_overlap) {
  enum { N = 500 };
  hia_heap heap;
  hia_local_heap local[2];
  uint32_t state = 7;
  hiaR_heap_init(&heap, &hiaR_malloc);
  for (int run = 0; run < 4; run++) {
    block blocks[N] = {{0}};
    hiaR_heap_begin(&heap, 0);
    for (int i = 0; i < 2; i++) hiaR_local_begin(&local[i], &heap);
    for (int turn = 0; turn < 20000; turn++) {
      block *b = &blocks[random_below(&state, N)];
      hia_local_heap *l = &local[random_below(&state, 2)];
      if (b->at) {
        check(b);
        hiaR_heap_release(l, b->at, b->size);
        b->at = NULL;
      } else {
        *b = (block){.size = random_size(&state), .fill = (unsigned char)turn};
        b->at = hiaR_heap_alloc(l, b->size);
        cr_assert_not_null(b->at);
        cr_assert_eq((uintptr_t)b->at % 8, 0);
        memset(b->at, b->fill, b->size);
      }
      if (turn % 1000 == 999) hiaR_local_hand_over(l);
    }
    for (int i = 0; i < N; i++)
      if (blocks[i].at) check(&blocks[i]);
    hiaR_heap_end(&heap); /* with blocks in use */
  }
  hiaR_heap_free(&heap);
}

/* What one worker frees another one uses: memory does not grow. */
Test(heap, blocks_go_from_worker_to_worker) {
  hia_heap heap;
  hia_local_heap maker, user;
  hiaR_heap_init(&heap, &hiaR_malloc);
  hiaR_heap_begin(&heap, 0);
  hiaR_local_begin(&maker, &heap);
  hiaR_local_begin(&user, &heap);
  size_t early = 0;
  for (int round = 0; round < 1000; round++) {
    void *blocks[500];
    for (int i = 0; i < 500; i++) cr_assert_not_null(blocks[i] = hiaR_heap_alloc(&maker, 24));
    for (int i = 0; i < 500; i++) hiaR_heap_release(&user, blocks[i], 24);
    hiaR_local_hand_over(&user);
    if (round == 2) early = atomic_load(&heap.bytes);
  }
  cr_assert_eq(atomic_load(&heap.bytes), early);
  hiaR_heap_free(&heap);
}

Test(heap, a_limit_holds) {
  hia_heap heap;
  hia_local_heap local;
  hiaR_heap_init(&heap, &hiaR_malloc);
  const size_t limits[] = {16, 1000, 20000, 300000, 10000000};
  const size_t sizes[] = {16, 40, 700, 60000, 100000};
  for (size_t l = 0; l < HIA_LEN(limits); l++)
    for (size_t s = 0; s < HIA_LEN(sizes); s++) {
      hiaR_heap_begin(&heap, limits[l]);
      hiaR_local_begin(&local, &heap);
      size_t n = 0;
      while (hiaR_heap_alloc(&local, sizes[s])) n += sizes[s];
      cr_assert_leq(atomic_load(&heap.bytes), limits[l]);
      cr_assert_leq(atomic_load(&heap.peak), limits[l]);
      cr_assert_leq(n, limits[l]);
      /* Of a limit most is given, unless a block is as large. */
      if (sizes[s] * 16 < limits[l])
        cr_assert_geq(n * 10, limits[l] * 7, "%zu of %zu", n, limits[l]);
      cr_assert_null(hiaR_heap_alloc(&local, SIZE_MAX));
      cr_assert_null(hiaR_heap_alloc(&local, SIZE_MAX - 20));
      hiaR_heap_end(&heap);
    }
  hiaR_heap_free(&heap);
}

Test(heap, memory_is_kept_and_returned) {
  test_heap from;
  test_heap_init(&from, 1000000);
  hia_heap heap;
  hia_local_heap local;
  hiaR_heap_init(&heap, &from.allocator);
  long requests = 0;
  for (int run = 0; run < 5; run++) {
    hiaR_heap_begin(&heap, 0);
    hiaR_local_begin(&local, &heap);
    for (int i = 0; i < 100; i++) cr_assert_not_null(hiaR_heap_alloc(&local, 16 + (size_t)i));
    hiaR_heap_end(&heap);
    if (run == 0) requests = from.left;
    cr_assert_eq(from.left, requests, "the second run takes memory from the system");
  }
  hiaR_heap_begin(&heap, 0);
  hiaR_local_begin(&local, &heap);
  for (int i = 0; i < 400; i++) cr_assert_not_null(hiaR_heap_alloc(&local, 60000));
  void *large = hiaR_heap_alloc(&local, 1000000);
  cr_assert_not_null(hiaR_heap_alloc(&local, 2000000));
  size_t bytes = atomic_load(&heap.bytes);
  hiaR_heap_release(&local, large, 1000000);
  cr_assert_leq(atomic_load(&heap.bytes) + 1000000, bytes);
  hiaR_heap_end(&heap);
  cr_assert_leq(heap.spare_bytes + heap.kept_bytes + heap.reserve.size, bytes + bytes / 4,
                "what the run had, the next one may need");
#ifndef HIA_STRESS
  cr_assert_geq(heap.reserve.size, bytes);
#endif
  for (int run = 0; run < 20; run++) {
    hiaR_heap_begin(&heap, 0);
    hiaR_local_begin(&local, &heap);
    cr_assert_not_null(hiaR_heap_alloc(&local, 1000));
    hiaR_heap_end(&heap);
  }
  cr_assert_eq(heap.reserve.size, 0, "these did not need it");
  cr_assert_leq(heap.spare_bytes, (size_t)4 << 20);
  hiaR_heap_free(&heap);
  cr_assert_eq(from.blocks, 0);
}

#ifdef HIA_STRESS
enum { PIECES = 60, PIECE = 1000 };
#else
enum { PIECES = 3000, PIECE = 10000 };
#endif

/* A run like those of a training: blocks of all sizes, of which every third is freed at once, and
 * `n` in all. Each must be memory of its own. */
static void run_like_training_as(hia_heap *heap, int n, bool repeats) {
  static unsigned char *at[PIECES];
  hia_local_heap local;
  hiaR_heap_begin(heap, 0);
  heap->repeats = repeats;
  hiaR_local_begin(&local, heap);
  for (int i = 0; i < n; i++) {
    size_t size = i % 50 ? PIECE : HIA_SPAN_LARGEST + PIECE;
    at[i] = hiaR_heap_alloc(&local, size);
    cr_assert_not_null(at[i]);
    memset(at[i], i, size);
    if (i % 3 == 0) hiaR_heap_release(&local, at[i], size);
  }
  for (int i = 0; i < n; i++)
    for (size_t k = 0; i % 3 && k < PIECE; k += 100) cr_assert_eq(at[i][k], i & 255);
  hiaR_heap_end(heap);
}
static void run_like_training(hia_heap *heap, int n) { run_like_training_as(heap, n, false); }

/* From the second run on all memory is that of one piece, which grows when runs do. */
Test(heap, runs_with_much_memory_have_a_reserve) {
  test_heap from;
  test_heap_init(&from, 1000000);
  hia_heap heap;
  hiaR_heap_init(&heap, &from.allocator);
  run_like_training(&heap, PIECES / 2);
  cr_assert_gt(heap.reserve.size, 0);
  cr_assert_eq(from.blocks, 1, "chunks and large blocks are kept besides");
  long left = from.left;
  for (int i = 0; i < 5; i++) run_like_training(&heap, PIECES / 2);
#ifndef HIA_STRESS /* whose reserves have no large blocks */
  cr_assert_eq(from.left, left, "runs ask for memory");
  cr_assert_eq(atomic_load(&heap.fresh), 0);
#endif
  size_t size = heap.reserve.size;
  run_like_training(&heap, PIECES);
#ifndef HIA_STRESS
  cr_assert_gt(heap.reserve.size, size);
#endif
  left = from.left;
  run_like_training(&heap, PIECES);
  run_like_training(&heap, 10);
  run_like_training(&heap, PIECES);
#ifndef HIA_STRESS
  cr_assert_eq(from.left, left, "one small run in between changes nothing");
#else
  (void)left;
#endif
  cr_assert_geq(heap.reserve.size, size);
  hiaR_heap_free(&heap);
  cr_assert_eq(from.blocks, 0);
}

/* Small runs between steps of a training take nothing from the next step; behind the training they
 * do. */
Test(heap, runs_that_repeat_keep_their_memory) {
  test_heap from;
  test_heap_init(&from, 1000000);
  hia_heap heap;
  hiaR_heap_init(&heap, &from.allocator);
  for (int i = 0; i < 4; i++) run_like_training_as(&heap, PIECES / 2, true);
  long left = from.left;
  size_t size = heap.reserve.size;
  cr_assert_gt(size, 0);
  for (int i = 0; i < 40; i++) {
    run_like_training_as(&heap, 10, true);
    if (i % 20 == 19) run_like_training_as(&heap, PIECES / 2, true);
    cr_assert_eq(atomic_load(&heap.fresh), 0, "run %d", i);
  }
  cr_assert_eq(from.left, left, "runs ask for memory");
  cr_assert_eq(heap.reserve.size, size);
  for (int i = 0; i < 20; i++) run_like_training(&heap, 2);
#ifndef HIA_STRESS /* where two blocks are more than a quarter of the reserve */
  cr_assert_eq(heap.reserve.size, 0);
#endif
  hiaR_heap_free(&heap);
  cr_assert_eq(from.blocks, 0);
}

#ifdef HIA_STRESS
enum { MOST = 2 }; /* the block, and the heap's reserve */
#else
enum { MOST = 1 };
#endif

/* A large block that was freed serves for one of about its size, in the same run and in the next;
 * blocks of other sizes, and more than there is room for, do not stay. */
Test(heap, large_blocks_are_used_again) {
  enum { SIZE = HIA_SPAN_LARGEST + 10000 };
  test_heap from;
  test_heap_init(&from, 1000000);
  hia_heap heap;
  hia_local_heap local;
  hiaR_heap_init(&heap, &from.allocator);
  for (int run = 0; run < 3; run++) {
    hiaR_heap_begin(&heap, run == 2 ? SIZE + 100 : 0);
    hiaR_local_begin(&local, &heap);
    void *large = hiaR_heap_alloc(&local, SIZE);
    cr_assert_not_null(large);
    memset(large, run, SIZE);
    hiaR_heap_release(&local, large, SIZE);
    cr_assert_eq(atomic_load(&heap.bytes), 0);
    cr_assert_eq(hiaR_heap_alloc(&local, SIZE - 2000), large);
    if (run == 2) cr_assert_null(hiaR_heap_alloc(&local, SIZE), "the limit counts it");
    cr_assert_leq(from.blocks, MOST);
    hiaR_heap_end(&heap); /* with the block in use */
    cr_assert_leq(from.blocks, MOST);
  }
  hiaR_heap_begin(&heap, 0);
  hiaR_local_begin(&local, &heap);
  void *half = hiaR_heap_alloc(&local, SIZE / 2), *twice = hiaR_heap_alloc(&local, 2 * SIZE);
  cr_assert(half && twice);
  cr_assert_geq(from.blocks, 2, "neither is the block that is there");
  hiaR_heap_release(&local, twice, 2 * SIZE);
  for (int i = 0; i < 300; i++) cr_assert_not_null(hiaR_heap_alloc(&local, SIZE));
  hiaR_heap_end(&heap);
  cr_assert_leq(heap.kept_bytes, (size_t)64 << 20);
  cr_assert_gt(heap.kept_bytes + heap.reserve.size, 0);
  hiaR_heap_free(&heap);
  cr_assert_eq(from.blocks, 0);
}

/* A block that was freed serves for one of its size, or down to a half; small ones do not stay. */
Test(heap, a_keeper_keeps_blocks) {
  test_heap from;
  test_heap_init(&from, 8);
  hia_keeper keeper;
  hiaR_keeper_init(&keeper, &from.allocator);
  const hia_allocator *a = &keeper.allocator;
  char *large = a->alloc(a->user, 100000), *small = a->alloc(a->user, 100);
  cr_assert(large && small);
  memset(large, 1, 100000);
  a->free(a->user, small, 100);
  a->free(a->user, large, 100000);
  cr_assert_eq(from.blocks, 1);
  cr_assert_eq(a->alloc(a->user, 90000), large);
  char *larger = a->resize(a->user, large, 90000, 200000);
  cr_assert_eq(from.blocks, 2);
  for (size_t i = 0; i < 90000; i++) cr_assert_eq(larger[i], 1);
  cr_assert_eq(a->alloc(a->user, 70000), large);
  char *other = a->alloc(a->user, 60000);
  cr_assert_neq(other, large);
  a->free(a->user, other, 60000);
  a->free(a->user, large, 70000);
  a->free(a->user, larger, 200000);
  atomic_store(&from.left, 0);
  cr_assert_null(a->alloc(a->user, 5000), "none that is kept is so small");
  hiaR_keeper_empty(&keeper);
  cr_assert_eq(from.blocks, 0);
  hiaR_keeper_free(&keeper);
}

Test(heap, out_of_memory) {
  for (long left = 0; left < 30; left++) {
    test_heap from;
    test_heap_init(&from, left);
    hia_heap heap;
    hia_local_heap local;
    hiaR_heap_init(&heap, &from.allocator);
    hiaR_heap_begin(&heap, 0);
    hiaR_local_begin(&local, &heap);
    uint32_t state = 3;
    for (int i = 0; i < 200; i++) {
      size_t size = random_size(&state) * 3;
      void *at = hiaR_heap_alloc(&local, size);
      if (at) memset(at, 1, size);
      if (at && i % 3 == 0) hiaR_heap_release(&local, at, size);
    }
    hiaR_heap_free(&heap);
    cr_assert_eq(from.blocks, 0);
  }
}
