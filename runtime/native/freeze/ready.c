/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Which frozen iterations can go on.
 *
 * An iteration waits for a row, and others wait in drivers that are in its frames. An invocation
 * lists those that wait for rows. When a part of what is pending has been computed, those of them
 * whose tensors have their elements are ready, and so are the iterations in which they are. When
 * all that was pending has been computed, all are.
 *
 * When an iteration fails, others are dropped with what waits in them. From then on nothing is
 * listed, and all that is pending is computed. */
#include "runtime/native/batch/rows.h"
#include "runtime/native/driver.h"

void hiaR_frozen_append(hia_frozen_list *list, hia_frozen *f) {
  f->next = NULL;
  if (list->last)
    list->last->next = f;
  else
    list->first = f;
  list->last = f;
}

/* How often rows have been computed. */
static uint64_t now(const hia_context *context) {
  return context->batching.epoch + context->batching.n_waves;
}

/* Moves what is ready from the one list of a driver to the other. */
static void look(hia_driver *d) {
  hia_frozen_list waiting = {0};
  uint64_t epoch = d->context->batching.epoch;
  for (hia_frozen *f = d->waiting.first, *next; f; f = next) {
    next = f->next;
    hiaR_frozen_append(f->is_ready || f->epoch != epoch ? &d->ready : &waiting, f);
  }
  d->waiting = waiting;
  d->looked = now(d->context);
}

bool hiaR_has_ready(hia_driver *d) {
  if (d->waiting.first && d->looked != now(d->context)) look(d);
  return d->ready.first != NULL;
}

/* ---- the list of an invocation ---- */

void hiaR_waiter_add(hia_context *context, hia_frozen *f) {
  hia_invocation *invocation = context->invocation;
  if (invocation->has_dropped) return;
  f->is_waiter = true;
  f->behind = invocation->waiters;
  if (f->behind) f->behind->before = f;
  invocation->waiters = f;
  invocation->n_waiters++;
}

void hiaR_waiter_remove(hia_context *context, hia_frozen *f) {
  hia_invocation *invocation = context->invocation;
  if (!f->is_waiter || invocation->has_dropped) return;
  f->is_waiter = false;
  invocation->n_waiters--;
  if (f->behind) f->behind->before = f->before;
  if (f->before)
    f->before->behind = f->behind;
  else
    invocation->waiters = f->behind;
}

/* ---- settling ---- */

static bool is_pending(hia_word tensor) { return tensor && hiaR_is_pending(tensor); }

static uint32_t n_waiting(const hia_context *context, hia_word awaited) {
  return context->invocation->n_waiters + (awaited != 0);
}

/* Says which rows iterations wait for. Returns false if all that is pending is to be computed. */
static bool want(const hia_context *context, hia_word awaited) {
  if (!hiaR_batch_has_parts(context->batching.batch, n_waiting(context, awaited))) return false;
  bool has_parts = !awaited || hiaR_batch_want(awaited);
  for (hia_frozen *f = context->invocation->waiters; f; f = f->behind)
    if (is_pending(f->awaited)) has_parts &= hiaR_batch_want(f->awaited);
  return has_parts;
}

static void find_ready(hia_context *context) {
  for (hia_frozen *f = context->invocation->waiters, *next; f; f = next) {
    next = f->behind;
    if (!f->awaited || is_pending(f->awaited)) continue;
    hiaR_waiter_remove(context, f);
    for (hia_frozen *in = f; in && !in->is_ready; in = in->parent) in->is_ready = true;
  }
}

HIA_UNINSTRUMENTED void hiaR_settle_for_waiters(hia_context *context, hia_word awaited,
                                                const char *sp, uintptr_t pc) {
  uint64_t epoch = context->batching.epoch;
  if (!context->batching.settle) { /* nothing is pending any more */
    context->batching.epoch++;
    return;
  }
  if (context->invocation->has_dropped || !want(context, awaited)) {
    context->batching.settle(context, sp, pc);
    return;
  }
  hiaR_batch_settle_part(context, n_waiting(context, awaited), sp, pc);
  if (context->batching.epoch == epoch) find_ready(context);
}
