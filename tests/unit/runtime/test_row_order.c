/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* batch/row_order: the rows of a wave read the results of earlier blocks in runs. */
#include "runtime/native/batch/rows.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <stdlib.h>

enum { WIDTH = 5, N = 200 };
static const int64_t width = WIDTH;
static const hia_segment_word word = {.dtype = HIA_F32, .rank = 1, .n = WIDTH, .dims = &width};
static const hia_segment segment = {.n_ins = 1, .words = &word};

static hia_heap heap;
static hia_local_heap local;
static hia_row *wave[N], *ordered[N];
static uint32_t n;

static void begin(void) {
  hiaR_heap_init(&heap, &hiaR_malloc);
  hiaR_heap_begin(&heap, 0);
  hiaR_local_begin(&local, &heap);
  n = 0;
}
static void end(void) {
  for (uint32_t k = 0; k < n; k++) free(wave[k]);
  hiaR_heap_free(&heap);
}

/* What an earlier block has computed. */
static hia_word block_of(int64_t rows) {
  hia_dims dims = {.rank = 2, .dims = {rows, WIDTH}};
  hia_word all;
  cr_assert(hiaR_tensor_new(&local, HIA_F32, &dims, &all));
  return all;
}

/* A row whose operand is row i of a block; or a tensor of its own, if that is 0. */
static void add(hia_word block, uint64_t i) {
  hia_dims dims = {.rank = 1, .dims = {WIDTH}};
  hia_row *r = wave[n++] = calloc(1, sizeof *r + sizeof *r->words);
  if (block)
    cr_assert(hiaR_tensor_view(&local, block, i * WIDTH, &dims, false, &r->words[0]));
  else
    cr_assert(hiaR_tensor_new(&local, HIA_F32, &dims, &r->words[0]));
}

static bool order(void) { return hiaR_batch_order(&segment, wave, ordered, n, 0); }

/* True if rows first .. last - 1 of the order have the operands of a block from row `from` on. */
static bool is_run(uint32_t first, uint32_t last, hia_word block, uint64_t from) {
  const char *data = hiaR_tensor(block)->data;
  for (uint32_t k = first; k < last; k++)
    if (hiaR_tensor(ordered[k]->words[0])->data !=
        data + (from + k - first) * WIDTH * sizeof(float))
      return false;
  return true;
}

/* All rows are there, each once. */
static bool is_complete(void) {
  for (uint32_t k = 0, found; k < n; k++) {
    found = 0;
    for (uint32_t i = 0; i < n; i++) found += ordered[i] == wave[k];
    if (found != 1) return false;
  }
  return true;
}

/* Two waves of a forward pass, which a backward pass goes through from behind; and some rows from
 * the middle of a third one, since a settling came between them. */
Test(row_order, runs_of_blocks, .init = begin, .fini = end) {
  hia_word a = block_of(64), b = block_of(17), c = block_of(64);
  for (uint32_t k = 0; k < 64; k++) {
    add(a, 63 - k);
    if (k < 17) add(b, (k * 5) % 17);
    if (k >= 20 && k < 40) add(c, 59 - k);
  }
  cr_assert(order());
  cr_expect(is_complete());
  cr_expect(is_run(0, 64, a, 0));
  cr_expect(is_run(64, 81, b, 0));
  cr_expect(is_run(81, 101, c, 20));
}

/* What lies elsewhere, or with gaps, comes last. */
Test(row_order, rows_of_no_run_come_last, .init = begin, .fini = end) {
  hia_word a = block_of(64), b = block_of(64);
  for (uint32_t k = 0; k < 40; k++) {
    if (k % 4 == 0) add(0, 0);
    if (k % 4 == 1) add(b, k);
    add(a, 50 - k);
  }
  cr_assert(order());
  cr_expect(is_complete());
  cr_expect(is_run(0, 40, a, 11));
  for (uint32_t k = 40; k < n; k++)
    cr_expect_neq(hiaR_row_origin(ordered[k], 0), hiaR_tensor(a), "row %u", k);
}

/* A block of which one row is missing is no run. */
Test(row_order, a_gap, .init = begin, .fini = end) {
  hia_word a = block_of(64), b = block_of(64);
  for (uint32_t k = 0; k < 21; k++)
    if (k != 10) add(a, k);
  for (uint32_t k = 0; k < 30; k++) add(b, k);
  cr_assert(order());
  cr_expect(is_complete());
  cr_expect(is_run(0, 30, b, 0));
}

Test(row_order, no_order, .init = begin, .fini = end) {
  cr_expect_not(order(), "there are no rows");
  hia_word a = block_of(64);
  for (uint32_t k = 0; k < 30; k++) add(0, 0);
  cr_expect_not(order(), "no operand is of a block");
  for (uint32_t k = 0; k < 20; k++) add(a, k);
  cr_expect_not(order(), "less than half of the rows are in runs");
  for (uint32_t k = 20; k < 63; k++) add(a, k);
  cr_expect(order());
  add(a, 5);
  cr_expect_not(order(), "two rows have the same operand");
}

/* Rows that are all of different blocks are in as many runs, for which no order is worth it. */
Test(row_order, short_runs, .init = begin, .fini = end) {
  for (uint32_t k = 0; k < 90; k++) add(block_of(4), k % 4);
  cr_expect_not(order());
}
