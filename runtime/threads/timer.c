/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The timekeeper: a thread that sleeps until the earliest of the alarms that are set. It is
 * started with the first of them. An alarm that is later than the thread's next wake-up, as most
 * are, costs taking a lock; nothing is polled while time passes. */
#include "runtime/run/runtime.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

struct hia_clock {
  const hia_allocator *allocator;
  pthread_mutex_t lock; /* protects what follows */
  pthread_cond_t wake;
  pthread_t thread;
  bool is_started, is_ending;
  uint64_t wakes_at; /* when the thread looks again, unless it is woken */
  hia_alarm *alarms; /* few, one for each run that has a deadline; in no order */
};

hia_status hiaR_clock_new(const hia_allocator *allocator, hia_clock **out) {
  hia_clock *clock = hiaR_alloc(allocator, sizeof *clock);
  *out = clock;
  if (!clock) return HIA_MEMORY;
  clock->allocator = allocator;
  clock->wakes_at = UINT64_MAX;
  pthread_mutex_init(&clock->lock, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* hiaR_now */
  pthread_cond_init(&clock->wake, &attributes);
  pthread_condattr_destroy(&attributes);
  return HIA_OK;
}

void hiaR_clock_free(hia_clock *clock) {
  if (!clock) return;
  pthread_mutex_lock(&clock->lock);
  clock->is_ending = true;
  pthread_cond_signal(&clock->wake);
  pthread_mutex_unlock(&clock->lock);
  if (clock->is_started) pthread_join(clock->thread, NULL);
  pthread_cond_destroy(&clock->wake);
  pthread_mutex_destroy(&clock->lock);
  hiaR_free(clock->allocator, clock, sizeof *clock);
}

static void take_out(hia_clock *clock, hia_alarm *alarm) {
  if (alarm->next) alarm->next->prev = alarm->prev;
  if (alarm->prev)
    alarm->prev->next = alarm->next;
  else
    clock->alarms = alarm->next;
  alarm->is_set = false;
}

/* Rings the alarms that are due. Returns the time of the next one. */
static uint64_t ring_due(hia_clock *clock, uint64_t now) {
  uint64_t next = UINT64_MAX;
  for (hia_alarm *a = clock->alarms, *after; a; a = after) {
    after = a->next;
    if (a->at <= now) {
      a->again = 0;
      a->ring(a);
      if (a->again)
        a->at = a->again;
      else
        take_out(clock, a);
    }
    if (a->is_set && a->at < next) next = a->at;
  }
  return next;
}

static void *keep_time(void *user) {
  hia_clock *clock = user;
  pthread_mutex_lock(&clock->lock);
  while (!clock->is_ending) {
    clock->wakes_at = ring_due(clock, hiaR_now());
    if (clock->wakes_at == UINT64_MAX) {
      pthread_cond_wait(&clock->wake, &clock->lock);
      continue;
    }
    struct timespec until = {.tv_sec = (time_t)(clock->wakes_at / 1000000000u),
                             .tv_nsec = (long)(clock->wakes_at % 1000000000u)};
    pthread_cond_timedwait(&clock->wake, &clock->lock, &until);
  }
  pthread_mutex_unlock(&clock->lock);
  return NULL;
}

/* Signals are handled on the host's threads only. */
static bool start(hia_clock *clock) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  clock->is_started = pthread_create(&clock->thread, NULL, keep_time, clock) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return clock->is_started;
}

hia_status hiaR_alarm_set(hia_clock *clock, hia_alarm *alarm) {
  pthread_mutex_lock(&clock->lock);
  bool is_kept = clock->is_started || start(clock);
  if (is_kept) {
    alarm->prev = NULL;
    alarm->next = clock->alarms;
    if (alarm->next) alarm->next->prev = alarm;
    clock->alarms = alarm;
    alarm->is_set = true;
    if (alarm->at < clock->wakes_at) {
      clock->wakes_at =
          alarm->at; /* one signal is enough for all alarms that are set before the thread wakes */
      pthread_cond_signal(&clock->wake);
    }
  }
  pthread_mutex_unlock(&clock->lock);
  return is_kept ? HIA_OK : HIA_THREADS;
}

void hiaR_alarm_clear(hia_clock *clock, hia_alarm *alarm) {
  pthread_mutex_lock(&clock->lock);
  if (alarm->is_set) take_out(clock, alarm);
  pthread_mutex_unlock(&clock->lock);
}
