/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Ending runs from outside: by a hia_cancel, which another thread requests, and by deadlines.
 *
 * A run reads one word where it polls (hia_limits.cancelled). Native code polls only when the
 * limit of its context makes it, so the thread that ends a run in native code finds the run
 * through the list of its hia_cancel, or through its alarm, and sets that limit. A run without a
 * hia_cancel and without a deadline pays for neither. */
#include "jit/engine/engine.h"

struct hia_cancel {
  hia_allocator allocator;
  _Atomic bool is_requested; /* written under the lock */
  pthread_mutex_t lock;      /* protects what follows */
  hia_watch *runs;           /* under way, in no order */
};

hia_cancel *hia_cancel_new(const hia_allocator *allocator) {
  if (!allocator) allocator = &hiaR_malloc;
  if (!hiaR_is_whole(allocator)) return NULL;
  hia_cancel *cancel = hiaR_alloc(allocator, sizeof *cancel);
  if (!cancel) return NULL;
  cancel->allocator = *allocator;
  pthread_mutex_init(&cancel->lock, NULL);
  return cancel;
}

void hia_cancel_free(hia_cancel *cancel) {
  if (!cancel) return;
  hia_allocator allocator = cancel->allocator;
  pthread_mutex_destroy(&cancel->lock);
  hiaR_free(&allocator, cancel, sizeof *cancel);
}

void hia_cancel_request(hia_cancel *cancel) {
  if (!cancel) return;
  pthread_mutex_lock(&cancel->lock);
  atomic_store(&cancel->is_requested, true);
  for (hia_watch *w = cancel->runs; w; w = w->next) hiaR_scope_cancel(&w->scope, HIA_CANCELLED);
  pthread_mutex_unlock(&cancel->lock);
}

bool hia_cancel_is_requested(const hia_cancel *cancel) {
  return cancel && atomic_load(&cancel->is_requested);
}

void hia_cancel_reset(hia_cancel *cancel) {
  if (!cancel) return;
  pthread_mutex_lock(&cancel->lock);
  atomic_store(&cancel->is_requested, false);
  pthread_mutex_unlock(&cancel->lock);
}

/* ---- a run that may be ended ---- */

static void past_deadline(hia_alarm *alarm) {
  hia_watch *watch = (hia_watch *)(void *)((char *)alarm - offsetof(hia_watch, alarm));
  hiaR_scope_cancel(&watch->scope, HIA_DEADLINE);
}

hia_status hiaJ_engine_clock(hia_engine *engine, hia_clock **clock) {
  hia_status status = HIA_OK;
  pthread_mutex_lock(&engine->lock);
  if (!engine->clock) status = hiaR_clock_new(&engine->allocator, &engine->clock);
  *clock = engine->clock;
  pthread_mutex_unlock(&engine->lock);
  return status;
}

static hia_status set_alarm(hia_watch *watch, hia_engine *engine, uint64_t timeout_ns) {
  hia_clock *clock;
  hia_status status = hiaJ_engine_clock(engine, &clock);
  if (status != HIA_OK) return status;
  uint64_t now = hiaR_now(), most = UINT64_MAX - 1 - now;
  watch->alarm.at = now + (timeout_ns < most ? timeout_ns : most);
  watch->alarm.ring = past_deadline;
  status = hiaR_alarm_set(clock, &watch->alarm);
  if (status == HIA_OK) watch->clock = clock;
  return status;
}

/* ---- beginning and ending ---- */

hia_status hiaJ_watch_begin(hia_watch *watch, hia_engine *engine, const hia_run_options *options,
                            bool may_begin_again, void (*notify)(void *arg), void *arg,
                            hia_limits *limits) {
  const hia_nest *nest = hiaR_nest();
  hia_cancel_scope *outer = nest ? nest->scope : NULL;
  *watch = (hia_watch){.scope = {.notify = notify, .arg = arg, .run = watch}, .engine = engine};
  limits->scope = &watch->scope;
  limits->fuel = options->has_fuel ? &watch->fuel : NULL;
  bool may_be_ended = options->cancel || options->timeout_ns || (outer && outer->is_open);
  if (!may_be_ended && !may_begin_again) return HIA_OK;
  hiaR_scope_open(&watch->scope);
  limits->cancelled = &watch->scope.status;
  hiaR_scope_enter(&watch->scope, outer);
  if (options->timeout_ns) {
    hia_status status = set_alarm(watch, engine, options->timeout_ns);
    if (status != HIA_OK) {
      hiaR_scope_leave(&watch->scope);
      hiaR_scope_close(&watch->scope);
      return status;
    }
    limits->deadline = watch->alarm.at;
  }
  hia_cancel *cancel = watch->cancel = options->cancel;
  if (!cancel) return HIA_OK;
  pthread_mutex_lock(&cancel->lock);
  watch->next = cancel->runs;
  if (watch->next) watch->next->prev = watch;
  cancel->runs = watch;
  if (atomic_load(&cancel->is_requested)) hiaR_scope_cancel(&watch->scope, HIA_CANCELLED);
  pthread_mutex_unlock(&cancel->lock);
  return HIA_OK;
}

hia_status hiaJ_watch_status(const hia_watch *watch, hia_status status) {
  hia_status ended = watch->scope.is_open ? hiaR_scope_status(&watch->scope) : HIA_OK;
  return status == HIA_CANCELLED && ended ? ended : status;
}

hia_status hiaJ_watch_end(hia_watch *watch, hia_status status) {
  if (!watch->scope.is_open) return status;
  if (watch->clock) hiaR_alarm_clear(watch->clock, &watch->alarm);
  hia_cancel *cancel = watch->cancel;
  if (cancel) {
    pthread_mutex_lock(&cancel->lock);
    if (watch->next) watch->next->prev = watch->prev;
    if (watch->prev)
      watch->prev->next = watch->next;
    else
      cancel->runs = watch->next;
    pthread_mutex_unlock(&cancel->lock);
  }
  hiaR_scope_leave(&watch->scope);
  hiaR_scope_close(&watch->scope); /* no other thread can reach it any more */
  return hiaJ_watch_status(watch, status);
}
