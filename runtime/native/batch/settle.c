/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Settling: level after level, the waves are divided into blocks, which the worker computes
 * together with thieves (crew.h). */
#include "runtime/native/batch/rows.h"

#ifdef HIA_STRESS
enum { FIRST = 2, LEAST = 1 };
#else
enum {
  FIRST = 16, /* rows of a block while no thief has come yet: it waits for the end of a block */
  LEAST = 4,  /* and not fewer so that a thief has some */
};
#endif

static bool make_room(hia_context *context, hia_batch *b, uint32_t n) {
  if (n <= b->most_rows) return true;
  uint32_t most = 2 * n;
  char *lists = hiaR_alloc(context->allocator, hiaR_batch_lists_size(most));
  if (!lists) return false;
  if (b->wave) hiaR_free(context->allocator, b->wave, hiaR_batch_lists_size(b->most_rows));
  b->wave = (hia_row **)(void *)lists;
  b->ordered = b->wave + most;
  b->blocks = (hia_row_block *)(void *)(b->ordered + most);
  b->most_rows = most;
  return true;
}

/* Rows of a block, such that all workers get the same number of blocks: from LEAST to
 * HIA_BLOCK_ROWS, or FIRST while one works alone in a team. */
static uint32_t block_size(const hia_context *context, uint32_t n) {
  uint32_t n_workers = hiaR_crew_size(context);
  uint32_t whole = context->run.team && n_workers == 1 ? FIRST : HIA_BLOCK_ROWS;
  uint32_t n_blocks = (n + whole - 1) / whole;
  n_blocks = (n_blocks + n_workers - 1) / n_workers * n_workers;
  uint32_t size = (n + n_blocks - 1) / n_blocks, most = n < whole ? n : whole;
  return size >= LEAST ? size : LEAST < most ? LEAST : most;
}

/* Adds the blocks of a wave, whose rows are put into the lists from index `at` on. Returns how many
 * these are. */
static uint32_t divide(const hia_context *context, const hia_segment *s, const hia_row_level *l,
                       uint32_t at, uint32_t *n_blocks) {
  hia_batch *b = context->batching.batch;
  hia_row **rows = b->wave + at;
  uint32_t n = 0, size = block_size(context, l->n);
  for (hia_row *r = l->first; r; r = r->next) rows[n++] = r;
  for (uint32_t i = 0; i < s->n_ins && rows == b->wave + at; i++)
    if (s->words[i].rank && hiaR_batch_order(s, rows, b->ordered + at, n, i))
      rows = b->ordered + at;
  for (uint32_t k = 0; k < n; k += size)
    b->blocks[(*n_blocks)++] = (hia_row_block){s, rows + k, n - k < size ? n - k : size, n};
  return n;
}

/* The waves of a level depend on earlier ones alone. */
static hia_status compute_level(hia_context *context, hia_batch *b, uint32_t number) {
  uint32_t n_rows = 0, at = 0, n_blocks = 0;
  for (uint32_t i = 0; i < b->n_queues; i++) n_rows += b->queues[i].levels[number].n;
  uint64_t begin = n_rows > 1 ? hiaR_now() : 0;
  if (!make_room(context, b, n_rows)) return HIA_MEMORY;
  for (uint32_t i = 0; i < b->n_queues; i++) {
    const hia_row_level *l = &b->queues[i].levels[number];
    if (!l->n) continue;
    at += divide(context, b->queues[i].segment, l, at, &n_blocks);
    context->batching.usage.waves++;
  }
  context->batching.usage.rows += n_rows;
  if (n_rows > 1) context->batching.usage.plan_ns += hiaR_now() - begin;
  return hiaR_crew_compute(context, n_blocks, hiaR_batch_compute, b->blocks);
}

/* What a worker that works alone has not accounted for is the time of blocks of one row. */
static void add_rest(hia_context *context, const hia_batch_usage *before, uint64_t begin) {
  hia_batch_usage *usage = &context->batching.usage;
  uint64_t ns = hiaR_now() - begin, known = usage->plan_ns - before->plan_ns + usage->gather_ns -
                                            before->gather_ns + usage->compute_ns -
                                            before->compute_ns;
  if (!context->run.team && ns > known) usage->compute_ns += ns - known;
}

static hia_status settle(hia_context *context) {
  hia_batch *b = context->batching.batch;
  hia_status status;
  context->batching.settle = NULL;
  hia_batch_usage before = context->batching.usage;
  uint64_t begin = hiaR_now();
  if (!hiaR_batch_find_levels(context, b)) return HIA_MEMORY;
  context->batching.usage.plan_ns += hiaR_now() - begin;
  hiaR_crew_open(context, NULL, 0);
  for (uint32_t i = 0; i < b->rows.n_levels; i++)
    if ((status = compute_level(context, b, i))) return status;
  if ((status = hiaR_crew_close(context))) return status;
  hiaR_batch_pay(context, b);
  hiaR_batch_free_rows(context, b);
  hiaR_batch_forget(b);
  context->batching.epoch++;
  add_rest(context, &before, begin);
  hiaR_batch_note_waves(b, context->batching.usage.rows - before.rows,
                        context->batching.usage.waves - before.waves);
  return HIA_OK;
}

/* The frames of the runtime lie between the code that waits and that of segments. */
static hia_status settle_from(hia_context *context, const char *sp, uintptr_t pc) {
  hia_invocation *invocation = context->invocation;
  hia_bridge bridge = {invocation->bridges, sp, pc};
  invocation->bridges = &bridge;
  hia_status status = settle(context);
  invocation->bridges = bridge.outer;
  return status;
}

HIA_UNINSTRUMENTED void hiaR_batch_settle(hia_context *context, const char *sp, uintptr_t pc) {
  hia_status status = settle_from(context, sp, pc);
  if (HIA_UNLIKELY(status)) hiaR_native_fail(HIA_NONE, status, 0, context, sp, pc);
}
