/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* spans: blocks that do not overlap; free ones are joined; regions that come and go. */
#include "runtime/heap/heap.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>

enum { REGION = 1 << 20, N = 64 };
static char memory[2][REGION] __attribute__((aligned(64)));

static uint32_t random_below(uint32_t *state, uint32_t n) {
  *state = *state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(*state >> 8) * n >> 24);
}

typedef struct taken {
  unsigned char *at;
  size_t size;
  unsigned char fill;
} taken;

static void check(const taken *b) {
  for (size_t i = 0; i < b->size; i += 7) cr_assert_eq(b->at[i], b->fill);
  if (b->size) cr_assert_eq(b->at[b->size - 1], b->fill);
}

/* True if a block takes all of what one region gives. */
static bool is_whole(hia_spans *s) {
  void *block = hiaR_spans_take(s, HIA_SPAN_LARGEST), *rest;
  if (!block) return false;
  rest = hiaR_spans_take(s, REGION - HIA_SPAN_LARGEST - 4096);
  if (rest) hiaR_spans_give(s, rest);
  hiaR_spans_give(s, block);
  return rest != NULL;
}

/* Blocks of all sizes, taken and freed at random, keep what is in them, and when all are free again
 * the regions are one span each. */
Test(spans, blocks_do_not_overlap_and_are_joined) {
  hia_spans s;
  taken blocks[N] = {{0}};
  uint32_t state = 11, n_full = 0;
  hiaR_spans_clear(&s);
  cr_expect_null(hiaR_spans_take(&s, 1), "there is no region");
  for (int i = 0; i < 2; i++) hiaR_spans_add(&s, memory[i] + 16 * i, REGION - 16 * (size_t)i);
  for (int step = 0; step < 20000; step++) {
    taken *b = &blocks[random_below(&state, N)];
    check(b);
    if (b->size) {
      hiaR_spans_give(&s, b->at);
      b->size = 0;
      continue;
    }
    size_t size = 1 + random_below(&state, step % 3 ? 20000 : 300000);
    if (!(b->at = hiaR_spans_take(&s, size))) {
      n_full++;
      continue;
    }
    cr_assert_eq((uintptr_t)b->at % 64, 0);
    b->size = size;
    b->fill = (unsigned char)(step % 251);
    memset(b->at, b->fill, size);
  }
  cr_expect_gt(n_full, 0, "the test has filled the regions");
  for (int i = 0; i < N; i++) {
    check(&blocks[i]);
    if (blocks[i].size) hiaR_spans_give(&s, blocks[i].at);
  }
  cr_expect(is_whole(&s));
  for (int i = 0; i < 2; i++) {
    char *at = hiaR_spans_remove_region(&s);
    cr_assert_not_null(at);
    cr_expect((at >= memory[0] && at < memory[0] + 64) || (at >= memory[1] && at < memory[1] + 80));
  }
  cr_expect_null(hiaR_spans_remove_region(&s));
  cr_expect_null(hiaR_spans_take(&s, 1), "no region is left");
}

/* The smallest region for a block has room for it, wherever it begins. */
Test(spans, a_region_has_room_for_its_block) {
  for (size_t at = 0; at < 64; at += 16)
    for (size_t size = 1; size < 3000; size += size < 1200 ? 1 : 100) {
      hia_spans s;
      hiaR_spans_clear(&s);
      hiaR_spans_add(&s, memory[0] + at, hiaR_span_region(size < 1024 ? 1024 : size));
      char *block = hiaR_spans_take(&s, size);
      cr_assert_not_null(block, "%zu bytes at %zu", size, at);
      cr_assert_leq(block + size, memory[0] + at + hiaR_span_region(size < 1024 ? 1024 : size));
    }
}

/* A region in which a block is in use stays. */
Test(spans, only_unused_regions_are_removed) {
  hia_spans s;
  hiaR_spans_clear(&s);
  for (int i = 0; i < 2; i++) hiaR_spans_add(&s, memory[i], REGION);
  char *block = hiaR_spans_take(&s, 100000);
  cr_assert_not_null(block);
  char *other = hiaR_spans_remove_region(&s);
  cr_assert_not_null(other);
  cr_expect((block < memory[1]) == (other >= memory[1]));
  cr_expect_null(hiaR_spans_remove_region(&s));
  hiaR_spans_give(&s, block);
  cr_expect_not_null(hiaR_spans_remove_region(&s));
}

/* Neighbours are joined in whatever order they are freed. */
Test(spans, neighbours_are_joined) {
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int i = 0; i < 6; i++) {
    hia_spans s;
    char *blocks[3];
    hiaR_spans_clear(&s);
    hiaR_spans_add(&s, memory[0], 40000);
    for (int k = 0; k < 3; k++) cr_assert_not_null(blocks[k] = hiaR_spans_take(&s, 10000));
    cr_expect_null(hiaR_spans_take(&s, 10000));
    for (int k = 0; k < 3; k++) hiaR_spans_give(&s, blocks[orders[i][k]]);
    cr_expect_not_null(hiaR_spans_take(&s, 39000), "order %d", i);
  }
}

/* ---- in a heap ---- */

enum { SIZE = 40000, MANY = 20 };

static void take(hia_local_heap *local, void **at, int n, size_t size) {
  for (int i = 0; i < n; i++) {
    at[i] = hiaR_heap_alloc(local, size);
    cr_assert_not_null(at[i], "block %d of %zu bytes", i, size);
    memset(at[i], i, size);
  }
}

/* What was freed in blocks of one size serves for those of another, for small ones, and, where the
 * run's memory is limited, for large ones. */
Test(spans, what_is_free_serves_for_other_sizes) {
  test_heap from;
  test_heap_init(&from, 1000000);
  hia_heap heap;
  hia_local_heap local;
  void *at[4 * MANY], *small[1000];
  hiaR_heap_init(&heap, &from.allocator);
  hiaR_heap_begin(&heap, 3 * MANY * SIZE);
  hiaR_local_begin(&local, &heap);
  take(&local, at, MANY, SIZE);
  size_t bytes = atomic_load(&heap.bytes);
  for (int i = 0; i < MANY; i++) hiaR_heap_release(&local, at[i], SIZE);
  take(&local, at, 2 * MANY, SIZE / 2 - 1000);
  cr_expect_eq(atomic_load(&heap.bytes), bytes, "halves are where wholes were");
  for (int i = 0; i < 2 * MANY; i++) hiaR_heap_release(&local, at[i], SIZE / 2 - 1000);
  take(&local, small, 300, 1000);
  cr_expect_eq(atomic_load(&heap.bytes), bytes, "small blocks are, too");
  for (int i = 0; i < 300; i++) hiaR_heap_release(&local, small[i], 1000);
  hiaR_heap_end(&heap);
  hiaR_heap_begin(&heap, 900000);
  hiaR_local_begin(&local, &heap);
  take(&local, at, HIA_SPAN_LARGEST / SIZE - 1, SIZE);
  for (int i = 0; i < HIA_SPAN_LARGEST / SIZE - 1; i++) hiaR_heap_release(&local, at[i], SIZE);
  void *large = hiaR_heap_alloc(&local, HIA_SPAN_LARGEST + 100);
  cr_expect_not_null(large, "regions that are not in use are given back");
  hiaR_heap_free(&heap);
  cr_expect_eq(from.blocks, 0);
}
