/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The driver of a comprehension: which iteration goes on next, and what becomes of the others when
 * one fails. */
#include "runtime/heap/tensor.h"
#include "runtime/native/barrier.h"
#include "runtime/native/driver.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"

_Static_assert(offsetof(hia_driver, context) == HIA_DRIVER_CONTEXT &&
                   offsetof(hia_driver, entry) == HIA_DRIVER_ENTRY &&
                   offsetof(hia_driver, block) == HIA_DRIVER_BLOCK &&
                   offsetof(hia_driver, goes_on) == HIA_DRIVER_GOES_ON &&
                   offsetof(hia_driver, thawed) == HIA_DRIVER_THAWED &&
                   offsetof(hia_frozen, sp) == HIA_FROZEN_SP &&
                   sizeof(hia_driver) <= HIA_DRIVER_SIZE && HIA_DRIVER_SIZE % 16 == 0,
               "layout.h and the structs differ");

enum { FROM = 1, TO = 2 }; /* words of the block */

/* ---- what can go on ---- */

/* One iteration at a time would need less memory. So they may take a part of what was left when the
 * driver was called; then those that have begun come to their ends one by one. */
static bool has_memory(const hia_driver *d) {
  enum { PART = 8 };
  size_t left = hiaR_heap_left(d->context->local.heap);
  return left >= d->memory || d->memory - left <= d->memory / PART;
}

static bool can_begin(const hia_driver *d) {
  bool has_frozen = d->waiting.first || d->ready.first;
  return d->next < d->to && (!has_frozen || has_memory(d));
}

/* The innermost driver, from d outwards, that can go on while an iteration of each of those within
 * it waits; NULL: the worker must settle. Within one that has no memory for more than one iteration
 * at a time, this one goes on. */
static hia_driver *find_next(hia_driver *d) {
  for (; d; d = d->is_apart ? NULL : d->outer) {
    if (!has_memory(d)) return NULL;
    if (hiaR_has_ready(d) || can_begin(d)) return d;
  }
  return NULL;
}

/* True if find_next(d) looks at all drivers, so that it finds what is ready, wherever that waits.
 */
static bool sees_all(const hia_driver *d) {
  for (; d; d = d->outer)
    if (!has_memory(d) || (d->is_apart && d->outer)) return false;
  return true;
}

static HIA_UNINSTRUMENTED bool wait(hia_context *context, char *frame, hia_word awaited,
                                    const char *sp, uintptr_t pc) {
  const hia_invocation *invocation = context->invocation;
  hia_driver *d = invocation->driver;
  if (invocation->bridges != &d->bridge) return false;
  for (;;) {
    if (find_next(d)) {
      if (!hiaR_freeze(d, d, frame, awaited)) return false;
      hiaR_arch_drive(d);
    }
    if (!awaited || !sees_all(d)) return false;
    hiaR_settle_for_waiters(context, awaited, sp, pc);
    if (hiaR_tensor(awaited)->counted.ctor != HIA_TENSOR_PENDING) return true;
  }
}

/* ---- failures ---- */

/* True if an iteration before the one that runs is frozen. */
static bool has_earlier(const hia_driver *d) {
  const hia_frozen *lists[2] = {d->waiting.first, d->ready.first};
  for (unsigned i = 0; i < 2; i++)
    for (const hia_frozen *f = lists[i]; f; f = f->next)
      if (f->index < d->running) return true;
  return false;
}

static bool is_first(const hia_driver *d) {
  for (; d; d = d->outer)
    if (has_earlier(d)) return false;
  return true;
}

static void drop_from(hia_driver *d, hia_frozen_list *list) {
  hia_frozen_list left = {0};
  for (hia_frozen *f = list->first, *next; f; f = next) {
    next = f->next;
    if (f->index < d->running)
      hiaR_frozen_append(&left, f);
    else
      hiaR_frozen_free(d->context, f);
  }
  *list = left;
}

/* Drops the iterations behind the one that runs, and begins no other one. */
static void drop_later(hia_driver *d) {
  drop_from(d, &d->waiting);
  drop_from(d, &d->ready);
  d->next = d->to = d->running;
}

static bool holds(hia_context *context, hia_status status) {
  const hia_invocation *invocation = context->invocation;
  bool is_ended = context->doomed || (context->run.team && atomic_load(&context->run.team->stop));
  bool is_outside = status == HIA_CANCELLED || status == HIA_DEADLINE || status == HIA_MEMORY ||
                    status == HIA_AGAIN;
  if (is_ended || is_outside) return false;
  if (status == HIA_DEPTH && invocation->job) return false; /* it may be returned to its owner */
  return !is_first(invocation->driver);
}

/* Goes on in the loop of a driver: the iteration that ran there has failed. */
static _Noreturn HIA_UNINSTRUMENTED void drop_running(hia_context *context, hia_driver *d) {
  hia_invocation *invocation = context->invocation;
  hiaR_stack_forget(__builtin_frame_address(0), d);
  hiaR_barriers_drop(context, (char *)d);
  hiaR_restore_limit(context);
  context->elements = d->elements;
  invocation->bridges = d->bridge.outer;
  d->has_failed = true;
  hiaR_arch_drive(d);
}

/* What fails later than the failure that was noted is not needed, in outer comprehensions either.
 */
static HIA_UNINSTRUMENTED void go_on(hia_context *context) {
  hia_driver *d = context->invocation->driver;
  hia_status status = context->crew.is_open ? hiaR_crew_close(context) : HIA_OK;
  if (status) {
    context->invocation->failure->status = status;
    hiaR_leave_noted(context);
  }
  context->invocation->has_dropped = true;
  for (hia_driver *each = d; each; each = each->outer) drop_later(each);
  drop_running(context, d);
}

/* All iterations before the one that has failed are there. */
static _Noreturn HIA_UNINSTRUMENTED void fail(hia_driver *d) {
  hia_context *context = d->context;
  hia_driver *outer = d->outer;
  if (!outer || is_first(outer)) hiaR_leave_noted(context);
  drop_running(context, outer);
}

/* ---- the loop ---- */

static const hia_freezing freezing = {wait, holds, go_on};

void hiaR_native_each(hia_driver *d, hia_native_entry entry, hia_word *block, uint32_t n_params,
                      const char *sp, uintptr_t pc) {
  hia_context *context = d->context;
  hia_invocation *invocation = context->invocation;
  int64_t from = (int64_t)block[FROM], to = (int64_t)block[TO];
  hia_driver *outer = invocation->driver;
  *d = (hia_driver){.context = context,
                    .entry = entry,
                    .block = block,
                    .outer = outer,
                    .from = from,
                    .next = from,
                    .to = to,
                    .end = to,
                    .memory = hiaR_heap_left(context->local.heap),
                    .n_params = n_params,
                    .is_apart = outer && invocation->bridges != &outer->bridge,
                    .level = context->batching.level,
                    .last_level = context->batching.level,
                    .elements = context->elements,
                    .bridge = {invocation->bridges, sp, pc}};
  context->batching.freezing = &freezing;
}

/* An iteration of driver d goes on, which is not there yet if it is in what is thawed. */
static void enter(hia_context *context, hia_driver *d) {
  context->invocation->driver = d;
  context->invocation->bridges = &d->bridge;
}

static int begin(hia_driver *d) {
  d->running = d->next++;
  d->block[FROM] = (hia_word)d->running;
  d->block[TO] = (hia_word)d->next;
  d->context->batching.level = d->level;
  enter(d->context, d);
  return HIA_DRIVE_BEGIN;
}

static int thaw(hia_driver *d) {
  d->thawed = d->ready.first;
  d->ready.first = d->thawed->next;
  if (!d->ready.first) d->ready.last = NULL;
  enter(d->context, d->thawed->driver);
  return HIA_DRIVE_THAW;
}

static int end(hia_driver *d) {
  if (d->has_failed) fail(d);
  d->context->batching.level = d->last_level;
  d->block[d->n_params] = (hia_word)d->end - (hia_word)d->from;
  return HIA_DRIVE_END;
}

/* If only iterations of this driver can go on, all that they wait for is computed. */
static HIA_UNINSTRUMENTED void settle(hia_driver *d) {
  hia_context *context = d->context;
  if (context->batching.settle && !sees_all(d))
    context->batching.settle(context, d->bridge.sp, d->bridge.pc);
  else
    hiaR_settle_for_waiters(context, 0, d->bridge.sp, d->bridge.pc);
}

HIA_UNINSTRUMENTED int hiaR_native_drive(hia_driver *d, char *sp) {
  hia_invocation *invocation = d->context->invocation;
  invocation->driver = d->outer;
  invocation->bridges = d->bridge.outer;
  if (d->context->batching.level > d->last_level) d->last_level = d->context->batching.level;
  for (;;) {
    if (hiaR_has_ready(d)) return thaw(d);
    if (can_begin(d)) return begin(d);
    if (!d->waiting.first) return end(d);
    d->goes_on = d->is_apart ? NULL : find_next(d->outer);
    if (d->goes_on && hiaR_freeze(d->goes_on, d, sp, 0)) return HIA_DRIVE_OTHER;
    settle(d);
  }
}
