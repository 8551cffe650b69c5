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

/* The rows of a backtrace, innermost first. One that is there several times, since it recurs, is
 * listed once. Returns their number. */
static uint32_t list_rows(const hia_sampler *s, const hia_backtrace *backtrace,
                          uint32_t rows[2 * HIA_BACKTRACE_ENDS]) {
  uint32_t n = 0;
  uint64_t length = backtrace->length, skipped = 0;
  if (length > 2 * HIA_BACKTRACE_ENDS) skipped = length - 2 * HIA_BACKTRACE_ENDS;
  for (uint64_t i = 0; i < length; i++) {
    if (i == HIA_BACKTRACE_ENDS) i += skipped;
    uint32_t row = row_at(s, backtrace, i);
    if (row != HIA_NONE && !is_among(rows, n, row)) rows[n++] = row;
  }
  return n;
}

static void count(_Atomic uint64_t *counter, uint32_t n) {
  atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void add(hia_sampler *s, const hia_backtrace *backtrace, uint32_t ticks) {
  uint32_t rows[2 * HIA_BACKTRACE_ENDS], n = list_rows(s, backtrace, rows);
  count(&s->n, ticks);
  count(n ? &s->rows[rows[0]].self : &s->unknown, ticks);
  for (uint32_t i = 0; i < n; i++) count(&s->rows[rows[i]].total, ticks);
}

/* ---- memory ---- */

/* A number below n; any thread (splitmix64). */
static uint64_t random_below(hia_sampler *s, uint64_t n) {
  uint64_t x = atomic_fetch_add_explicit(&s->random, HIA_SAMPLER_STEP, memory_order_relaxed);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return (x ^ x >> 31) % n;
}

static void begin_bytes(hia_sampler *s, hia_local_heap *local) {
  uint64_t phase = atomic_fetch_add_explicit(&s->phase, HIA_SAMPLER_STEP, memory_order_relaxed);
  local->left = (int64_t)((phase >> 32) * HIA_SAMPLED_BYTES >> 32);
}

/* Returns the samples that are due, of which a large block may be several, and how far it is to the
 * next one: from three quarters of the average to five. */
static uint32_t due_bytes(hia_sampler *s, hia_local_heap *local) {
  uint32_t samples = 0;
  for (; local->left < 0; samples++)
    local->left += HIA_SAMPLED_BYTES / 4 * 3 + (int64_t)random_below(s, HIA_SAMPLED_BYTES / 2 + 1);
  return samples;
}

static void add_bytes(hia_sampler *s, const hia_backtrace *backtrace, uint32_t samples) {
  uint32_t rows[2 * HIA_BACKTRACE_ENDS], n = list_rows(s, backtrace, rows);
  count(&s->n_taken, samples);
  count(n ? &s->rows[rows[0]].taken : &s->unknown_taken, samples);
  for (uint32_t i = 0; i < n; i++) count(&s->rows[rows[i]].all_taken, samples);
}

/* A sample that is still due is of no line. */
static void end_bytes(hia_sampler *s, hia_local_heap *local) {
  hia_backtrace nowhere;
  hiaR_backtrace_clear(&nowhere);
  add_bytes(s, &nowhere, due_bytes(s, local));
  local->left = INT64_MAX;
}

/* ---- begin, and end ---- */

void hiaR_sampler_init(hia_sampler *s) {
  static const hia_sampler_calls calls = {.enter = enter,
                                          .leave = leave,
                                          .add = add,
                                          .begin_bytes = begin_bytes,
                                          .end_bytes = end_bytes,
                                          .due_bytes = due_bytes,
                                          .add_bytes = add_bytes};
  s->calls = &calls;
  atomic_init(&s->ticks, 0);
  atomic_init(&s->n, 0);
  atomic_init(&s->unknown, 0);
  atomic_init(&s->n_taken, 0);
  atomic_init(&s->unknown_taken, 0);
  s->n_workers = 0;
  pthread_mutex_init(&s->lock, NULL);
}

void hiaR_sampler_free(hia_sampler *s) { pthread_mutex_destroy(&s->lock); }
