/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Computing a part of what is pending, where many iterations wait (freeze/).
 *
 * If all rows were computed, iterations that are ahead would get further ahead, and their next rows
 * would be alone. So one wave is computed at a time: of a segment of which a row can be computed,
 * as nothing pending is among its operands, and is wanted, as an iteration waits for it or for what
 * depends on it. Of such segments it is the one whose rows, also those that cannot be computed yet,
 * have the lowest level on average: what is behind catches up. That is the agenda of Neubig and
 * others ("On-the-fly Operation Batching in Dynamic Computation Graphs", NIPS 2017), with levels
 * that control has, too.
 *
 * The rows that remain are copied into memory of their own, since rows are freed all at once. So
 * there should be few of them for each iteration that waits. If there are more, those that no
 * iteration waits for are set aside (aside.c). */
#include "runtime/native/batch/rows.h"

/* ---- which ---- */

static bool are_many(const hia_batch *b, uint32_t n_waiting) {
  enum { FOR_EACH = 16 };
  return b->rows.n / FOR_EACH > n_waiting;
}

bool hiaR_batch_has_parts(const hia_batch *b, uint32_t n_waiting) {
  enum { MOST = 8192 }; /* else waves are wide */
  bool has_others = n_waiting > 1 || b->aside.newest || are_many(b, 1);
  return b->rows.n <= MOST && n_waiting <= MOST && has_others;
}

bool hiaR_batch_want(hia_word tensor) {
  hia_row *r = hiaR_pending_row(tensor);
  if (r) r->is_wanted = true;
  return !r || !r->is_aside;
}

/* Marks what wanted rows depend on, which is older, and finds its height. Returns true if the row
 * depends on something pending. */
static bool want_operands(hia_batch *b, const hia_row *r) {
  bool has_pending = false;
  for (uint32_t i = 0; r->pending && i < r->segment->n_ins; i++) {
    hia_row *from = hiaR_operand_row(r, i);
    if (!from) continue;
    has_pending = true;
    from->is_wanted |= r->is_wanted;
    b->wants_aside |= r->is_wanted && from->is_aside;
    if (from->height <= r->height) from->height = r->height + 1;
  }
  return has_pending;
}

static bool is_before(const hia_row_standing *a, const hia_row_standing *b) {
  if (a->height != b->height) return a->height > b->height;
  /* The averages, compared without a division: there are at most as many rows as fit 32 bits. */
  return a->levels * b->n < b->levels * a->n;
}

/* Counts rows by segment, and finds which of them can be computed. */
static void look_at_rows(hia_batch *b) {
  b->wants_aside = false;
  for (uint32_t q = 0; q < b->n_queues; q++) b->queues[q].standing = (hia_row_standing){0};
  for (hia_row *r = b->rows.newest; r; r = r->older) {
    hia_row_standing *s = &b->queues[r->queue].standing;
    r->is_blocked = want_operands(b, r);
    s->n++;
    s->levels += r->level;
    if (r->is_blocked) continue;
    s->is_wanted |= r->is_wanted;
    if (r->height > s->height) s->height = r->height;
  }
}

/* Returns the queue of the segment that comes next; NONE: no row is wanted. */
static uint32_t choose(hia_batch *b) {
  const hia_row_standing *best = NULL;
  uint32_t number = HIA_NONE;
  look_at_rows(b);
  for (uint32_t q = 0; q < b->n_queues; q++) {
    const hia_row_standing *s = &b->queues[q].standing;
    if (!s->is_wanted || (best && !is_before(s, best))) continue;
    best = s;
    number = q;
  }
  return number;
}

/* ---- taking rows apart ---- */

/* Copies what objects are owed, which is paid when all rows are computed. False: no memory. */
static bool copy_owed(hia_context *context, hia_batch *b, const hia_owed *owed, hia_rows *to) {
  for (; owed; owed = owed->older) {
    hia_owed *copy = hiaR_batch_take(context, b, sizeof *copy);
    if (!copy) return false;
    *copy = *owed;
    copy->older = to->owed;
    to->owed = copy;
  }
  return true;
}

/* Leaves those rows of a queue in the batch that can be computed, and puts the others, with memory
 * of their own, into `rest`. False: no memory. */
static bool divide(hia_context *context, hia_batch *b, uint32_t queue, hia_rows *rest) {
  const hia_rows all = b->rows;
  hia_rows chosen = {.chunks = all.chunks};
  b->rows = (hia_rows){0};
  b->at = b->end = NULL;
  for (hia_row *r = hiaR_rows_from_oldest(&all), *next; r; r = next) {
    next = r->next;
    bool is_chosen = hiaR_row_is_chosen(r, queue);
    hia_row *to = is_chosen ? r : hiaR_row_copied(context, b, r);
    if (!to) return false;
    to->height = 0; /* the next settling finds it again */
    hiaR_rows_append(is_chosen ? &chosen : rest, to);
  }
  if (!rest->newest && !b->aside.newest)
    chosen.owed = all.owed; /* nothing will be pending */
  else if (!copy_owed(context, b, all.owed, rest))
    return false;
  rest->chunks = b->rows.chunks;
  b->rows = chosen;
  return true;
}

/* Puts the rows back, now that some of their operands are there. */
static void put_back(hia_context *context, hia_batch *b, const hia_rows *rest) {
  b->rows = (hia_rows){.chunks = rest->chunks, .owed = rest->owed};
  for (const hia_owed *o = rest->owed; o; o = o->older) b->rows.bytes += sizeof *o;
  for (hia_row *r = hiaR_rows_from_oldest(rest), *next; r; r = next) {
    hia_word ids[HIA_SEGMENT_MOST];
    next = r->next;
    r->is_wanted = false;
    hiaR_row_find_depth(r);
    hiaR_rows_append(&b->rows, r);
    if (!r->segment->known_as) continue;
    hiaR_row_identify(r->segment, r->words, ids);
    hiaR_batch_add_equal(context, ids);
  }
  b->rows.bytes += b->aside.bytes;
}

/* ---- settling ---- */

/* Computes the part of a queue. False: no memory. */
static bool settle_queue(hia_context *context, uint32_t queue, const char *sp, uintptr_t pc) {
  hia_batch *b = context->batching.batch;
  uint64_t begin = hiaR_now(), epoch = context->batching.epoch;
  hia_rows rest = {0};
  if (!divide(context, b, queue, &rest)) return false;
  const hia_rows aside = b->aside;
  char *at = b->at, *end = b->end;
  context->batching.usage.plan_ns += hiaR_now() - begin;
  b->aside = (hia_rows){0};
  hiaR_batch_settle(context, sp, pc);
  context->batching.n_waves++;
  if (!rest.newest && !aside.newest) return true;
  b->aside = aside;
  put_back(context, b, &rest);
  b->at = at;
  b->end = end;
  context->batching.epoch = epoch;
  context->batching.settle = hiaR_batch_settle;
  return true;
}

HIA_UNINSTRUMENTED void hiaR_batch_settle_part(hia_context *context, uint32_t n_waiting,
                                               const char *sp, uintptr_t pc) {
  hia_batch *b = context->batching.batch;
  uint64_t begin = hiaR_now();
  uint32_t queue = choose(b);
  bool has_part = queue != HIA_NONE && !b->wants_aside, is_done = true;
  if (has_part && are_many(b, n_waiting)) {
    is_done = hiaR_batch_set_aside(context, b, queue);
    has_part = b->aside.newest != NULL;
  }
  context->batching.usage.plan_ns += hiaR_now() - begin;
  bool settles_all = !has_part || are_many(b, n_waiting);
  if (is_done && has_part) is_done = settle_queue(context, queue, sp, pc);
  if (!is_done) hiaR_native_fail(HIA_NONE, HIA_MEMORY, 0, context, sp, pc);
  if (settles_all && context->batching.settle) hiaR_batch_settle(context, sp, pc);
}
