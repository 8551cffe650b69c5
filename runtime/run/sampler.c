/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/run/sampler.h"

static void enter(hia_sampler *s, void (*wake)(void *worker), void *worker) {
  pthread_mutex_lock(&s->lock);
  if (s->n_workers < HIA_MAX_SAMPLED) s->workers[s->n_workers++] = (hia_sampled){wake, worker};
  pthread_mutex_unlock(&s->lock);
}

static void leave(hia_sampler *s, void *worker) {
  pthread_mutex_lock(&s->lock);
  for (uint32_t i = 0; i < s->n_workers; i++)
    if (s->workers[i].worker == worker) {
      s->workers[i] = s->workers[--s->n_workers];
      break;
    }
  pthread_mutex_unlock(&s->lock);
}

void hiaR_sampler_tick(hia_sampler *s) {
  atomic_fetch_add_explicit(&s->ticks, 1, memory_order_relaxed);
  pthread_mutex_lock(&s->lock);
  for (uint32_t i = 0; i < s->n_workers; i++) s->workers[i].wake(s->workers[i].worker);
  pthread_mutex_unlock(&s->lock);
}

/* The row of entry i of a backtrace; HIA_NONE: it is not known. */
static uint32_t row_at(const hia_sampler *s, const hia_backtrace *backtrace, uint64_t i) {
  uint32_t loc = hiaR_backtrace_entry(backtrace, i);
  return loc < s->n_locs ? s->row_of[loc] : HIA_NONE;
}

static bool is_among(const uint32_t *rows, uint32_t n, uint32_t row) {
  for (uint32_t i = 0; i < n; i++)
    if (rows[i] == row) return true;
  return false;
}

/* A row that is there several times, since it recurs, is counted once. */
static void add(hia_sampler *s, const hia_backtrace *backtrace, uint32_t ticks) {
  uint32_t seen[2 * HIA_BACKTRACE_ENDS], n = 0;
  uint64_t length = backtrace->length, skipped = 0;
  atomic_fetch_add_explicit(&s->n, ticks, memory_order_relaxed);
  if (length > 2 * HIA_BACKTRACE_ENDS) skipped = length - 2 * HIA_BACKTRACE_ENDS;
  for (uint64_t i = 0; i < length; i++) {
    if (i == HIA_BACKTRACE_ENDS) i += skipped;
    uint32_t row = row_at(s, backtrace, i);
    if (row == HIA_NONE || is_among(seen, n, row)) continue;
    if (n == 0) atomic_fetch_add_explicit(&s->rows[row].self, ticks, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->rows[row].total, ticks, memory_order_relaxed);
    seen[n++] = row;
  }
  if (n == 0) atomic_fetch_add_explicit(&s->unknown, ticks, memory_order_relaxed);
}

void hiaR_sampler_init(hia_sampler *s) {
  static const hia_sampler_calls calls = {enter, leave, add};
  s->calls = &calls;
  atomic_init(&s->ticks, 0);
  atomic_init(&s->n, 0);
  atomic_init(&s->unknown, 0);
  s->n_workers = 0;
  pthread_mutex_init(&s->lock, NULL);
}

void hiaR_sampler_free(hia_sampler *s) { pthread_mutex_destroy(&s->lock); }
