/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Settling: level after level, the waves are divided into blocks, which the worker computes
 * together with thieves (crew.h). */
#include "runtime/native/batch/rows.h"

#ifdef HIA_STRESS
enum { FIRST = 2, LEAST = 1 };
#else
enum {
  FIRST = 28, /* rows of a block while no thief has come yet: it waits for the end of a block */
  LEAST = 4,  /* and not fewer so that a thief has some */
};
#endif

/* Rows of a block, such that all workers get the same number of blocks: from LEAST to
 * HIA_BLOCK_ROWS, or FIRST while one works alone in a team. */
static uint32_t block_size(const hia_context *context, uint32_t n_workers, uint32_t n) {
  uint32_t whole = n_workers == 1 && hiaR_crew_may_grow(context) ? FIRST : HIA_BLOCK_ROWS;
  uint32_t n_blocks = (n + whole - 1) / whole;
  n_blocks = (n_blocks + n_workers - 1) / n_workers * n_workers;
  uint32_t size = (n + n_blocks - 1) / n_blocks, most = n < whole ? n : whole;
  return size >= LEAST ? size : LEAST < most ? LEAST : most;
}

/* Adds the blocks, of `size` rows, of a wave, whose rows are put into the lists from index `at` on.
 * Returns how many these are. */
static uint32_t divide(hia_row_phase *to, const hia_segment *s, const hia_row_level *l, uint32_t at,
                       uint32_t size, uint32_t *n_blocks) {
  hia_row **rows = to->wave + at;
  uint32_t n = 0;
  for (hia_row *r = l->first; r; r = r->next) rows[n++] = r;
  for (uint32_t i = 0; i < s->n_ins && rows == to->wave + at; i++)
    if (s->words[i].rank && hiaR_batch_order(s, rows, to->ordered + at, n, i))
      rows = to->ordered + at;
  for (uint32_t k = 0; k < n; k += size)
    to->blocks[(*n_blocks)++] = (hia_row_block){s, rows + k, n - k < size ? n - k : size, n};
  return n;
}

static const hia_phases phases;

/* The waves of a level depend on earlier ones alone. */
static hia_phase *plan_level(hia_context *context, hia_batch *b, uint32_t number,
                             uint32_t n_workers, uint32_t n_rows) {
  uint32_t at = 0, n_blocks = 0;
  hia_row_phase *to = hiaR_batch_phase(context, b, n_rows);
  if (!to) return NULL;
  for (uint32_t i = 0; i < b->n_queues; i++) {
    const hia_row_level *l = &b->queues[i].levels[number];
    if (!l->n) continue;
    uint32_t size = block_size(context, n_workers, l->n);
    at += divide(to, b->queues[i].segment, l, at, size, &n_blocks);
    b->n_waves++;
  }
  b->n_rows += n_rows;
  hiaR_phase_begin(&to->phase, to->pieces, n_blocks);
  to->phase.work = &phases;
  to->phase.arg = b;
  return &to->phase;
}

/* Plans the next level; hia_phases.plan. */
static hia_status plan(hia_context *context, uint32_t n_workers, void *batch, hia_phase **next) {
  hia_batch *b = batch;
  uint32_t n_rows = 0, number = 0;
  *next = NULL;
  while (!n_rows && b->level < b->rows.n_levels) {
    number = b->level++;
    for (uint32_t i = 0; i < b->n_queues; i++) n_rows += b->queues[i].levels[number].n;
  }
  if (!n_rows) return HIA_OK;
  uint64_t begin = n_rows > 1 ? hiaR_now() : 0;
  if (!(*next = plan_level(context, b, number, n_workers, n_rows))) return HIA_MEMORY;
  if (n_rows > 1) context->batching.usage.plan_ns += hiaR_now() - begin;
  return HIA_OK;
}

static const hia_phases phases = {hiaR_batch_compute, hiaR_batch_release, hiaR_batch_may_again,
                                  plan};

/* ---- what late workers read ---- */

static void free_retired(hia_context *context, hia_retired *retired) {
  hia_row_phase *p = (hia_row_phase *)(void *)((char *)retired - offsetof(hia_row_phase, retired));
  hiaR_batch_free_rows(context, &p->chunks);
  hiaR_batch_free_phases(context, p);
}

/* All rows are computed. But workers that compute some of them, too, may still read them, and the
 * phases. */
static void retire(hia_context *context, hia_batch *b) {
  hia_row_phase *p = b->phases;
  if (!p || !context->crew.late) {
    hiaR_batch_free_rows(context, &b->rows.chunks);
    hiaR_batch_drop_phases(b);
    return;
  }
  p->chunks = b->rows.chunks;
  p->retired.free = free_retired;
  b->phases = NULL;
  hiaR_crew_retire(context, &p->retired);
}

/* ---- settling ---- */

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
  hiaR_batch_join_aside(b);
  if (!hiaR_batch_find_levels(context, b)) return HIA_MEMORY;
  context->batching.usage.plan_ns += hiaR_now() - begin;
  b->level = 0;
  b->n_rows = b->n_waves = 0;
  hiaR_batch_drop_phases(b); /* of a settling that has failed */
  hiaR_crew_open(context, NULL, 0);
  if ((status = hiaR_phases_compute(context, &phases, b))) return status;
  if ((status = hiaR_crew_close(context))) return status;
  context->batching.usage.rows += b->n_rows;
  context->batching.usage.waves += b->n_waves;
  hiaR_batch_pay(context, b);
  retire(context, b);
  hiaR_batch_forget(b);
  context->batching.epoch++;
  add_rest(context, &before, begin);
  hiaR_batch_note_waves(b, b->n_rows, b->n_waves);
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
