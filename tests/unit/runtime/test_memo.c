/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Results that are kept: what was kept is found, by its whole key alone; there is a
 * bound, and no memory is no failure. tests/stress/memo.c has several threads. */
#include "runtime/param/memo.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static const int64_t dims[2] = {3, 2};

static hia_memo_result result(const float *elements) {
  return (hia_memo_result){HIA_F32, 2, dims, (const char *)elements};
}

static void keep(hia_memo *memo, uint64_t function, hia_word a, hia_word b, float x) {
  const hia_word words[2] = {a, b};
  float one[6] = {x, 1, 2, 3, 4, 5}, two[6] = {-x};
  const hia_memo_result results[2] = {result(one), result(two)};
  hiaR_memo_keep(memo, &(hia_memo_key){function, words, 2}, results, 2);
}

static const float *find(const hia_memo *memo, uint64_t function, hia_word a, hia_word b) {
  const hia_word words[2] = {a, b};
  const hia_word *found = hiaR_memo_find(memo, &(hia_memo_key){function, words, 2});
  if (!found) return NULL;
  const hia_tensor *one = hiaR_tensor(found[0]), *two = hiaR_tensor(found[1]);
  cr_assert_eq(hiaR_tensor_rank(one), 2);
  cr_assert_eq(hiaR_tensor_dtype(one), HIA_F32);
  cr_assert(one->dims[0] == 3 && one->dims[1] == 2 && hiaR_tensor_len(two) == 6);
  const float *x = (const float *)(const void *)one->data;
  cr_assert_eq(x[5], 5);
  cr_assert_eq(x[0], -*(const float *)(const void *)two->data);
  return x;
}

Test(memo, finds_what_was_kept) {
  hia_memo *memo = hiaR_memo_new(&hiaR_malloc);
  cr_assert_null(find(memo, 1, 2, 3));
  for (hia_word i = 0; i < 30000; i++) keep(memo, 1 + i % 3, i, i * i, (float)i);
  for (hia_word i = 0; i < 30000; i++) {
    const float *x = find(memo, 1 + i % 3, i, i * i);
    cr_assert(x && *x == (float)i);
    cr_assert_null(find(memo, 1 + (i + 1) % 3, i, i * i));
    cr_assert_null(find(memo, 1 + i % 3, i, i * i + 1));
  }
  const hia_word fewer[1] = {2};
  cr_assert_null(hiaR_memo_find(memo, &(hia_memo_key){3, fewer, 1}));
  keep(memo, 1, 0, 0, 77); /* is there */
  cr_assert_eq(*find(memo, 1, 0, 0), 0);
  hiaR_memo_free(memo);
  hiaR_memo_free(NULL);
}

Test(memo, has_a_bound) {
  enum { N = 1 << 16 };
  hia_memo *memo = hiaR_memo_new(&hiaR_malloc);
  float *many = calloc(N, sizeof *many);
  const int64_t n = N;
  const hia_memo_result large = {HIA_F32, 1, &n, (const char *)many};
  uint32_t n_kept = 0;
  for (hia_word i = 0; i < 300; i++) {
    hia_memo_key key = {1, &i, 1};
    hiaR_memo_keep(memo, &key, &large, 1);
    n_kept += hiaR_memo_find(memo, &key) != NULL;
  }
  cr_assert(n_kept > 100 && n_kept <= HIA_MEMO_MOST / (N * sizeof *many), "%u", n_kept);
  cr_assert_leq(hiaR_memo_bytes(memo), (size_t)HIA_MEMO_MOST);
  free(many);
  hiaR_memo_free(memo);
}

Test(memo, without_memory) {
  test_heap heap;
  test_heap_init(&heap, 0);
  cr_assert_null(hiaR_memo_new(&heap.allocator));
  heap.left = 3;
  hia_memo *memo = hiaR_memo_new(&heap.allocator);
  size_t before = hiaR_memo_bytes(memo);
  for (hia_word i = 0; i < 5; i++) keep(memo, 1, i, i, 1);
  cr_assert(find(memo, 1, 1, 1) && !find(memo, 1, 2, 2) && !find(memo, 1, 4, 4));
  cr_assert_gt(hiaR_memo_bytes(memo), before);
  hiaR_memo_free(memo);
  cr_assert_eq(heap.blocks, 0);
}
