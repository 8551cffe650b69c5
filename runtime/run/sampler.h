/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a run goes: a profile by sampling.
 *
 * One would interrupt threads with signals, but those belong to the host. So a clock ticks, and
 * each worker that reaches a safepoint after a tick adds where it is, with the calls that led
 * there, once for each tick since it was looked at last. What takes long without a safepoint, such
 * as an operation on tensors, is so counted where its worker comes next.
 *
 * Engines read backtraces; rows are for the owner to choose: a position and the positions of the
 * calls around it stand for rows, such as lines of functions. */
#ifndef HIA_SAMPLER_H
#define HIA_SAMPLER_H

#include "runtime/run/runtime.h"
#include <pthread.h>

enum { HIA_MAX_SAMPLED = 256 }; /* workers; others are not counted */

typedef struct hia_sample_count {
  _Atomic uint64_t self, total; /* ticks in it, and in it or what it calls */
} hia_sample_count;

/* A worker, and how it is made to come to a safepoint soon; called under the sampler's lock. */
typedef struct hia_sampled {
  void (*wake)(void *worker);
  void *worker;
} hia_sampled;

/* What engines call, and how native code is sampled (native/sampled.h). These are tables, so that
 * programs that were compiled ahead of time, which have no profiles, need not have any of it. */
struct hia_context;
struct hia_sampler;
typedef struct hia_native_samples {
  void (*begin)(struct hia_context *context, struct hia_sampler *sampler);
  void (*end)(struct hia_context *context);
  void (*look)(struct hia_context *context, const char *sp, uintptr_t pc);
} hia_native_samples;

typedef struct hia_sampler_calls {
  void (*enter)(struct hia_sampler *sampler, void (*wake)(void *worker), void *worker);
  void (*leave)(struct hia_sampler *sampler, void *worker);
  void (*add)(struct hia_sampler *sampler, const hia_backtrace *backtrace, uint32_t ticks);
} hia_sampler_calls;

typedef struct hia_sampler {
  const hia_sampler_calls *calls;
  const hia_native_samples *native;
  _Atomic uint32_t ticks;
  const uint32_t *row_of; /* by location: its row */
  uint64_t n_locs;
  hia_sample_count *rows;
  _Atomic uint64_t n, unknown; /* ticks in all; and of workers of which nothing was known */
  pthread_mutex_t lock;
  hia_sampled workers[HIA_MAX_SAMPLED]; /* those at work: the first n_workers */
  uint32_t n_workers;
} hia_sampler;

/* The caller has set rows and locations. */
void hiaR_sampler_init(hia_sampler *sampler);
void hiaR_sampler_free(hia_sampler *sampler); /* no worker is at work */

/* A worker begins to work, and ends. `sampler` may be NULL. Any thread. */
static inline void hiaR_sampler_enter(hia_sampler *sampler, void (*wake)(void *worker),
                                      void *worker) {
  if (HIA_UNLIKELY(sampler)) sampler->calls->enter(sampler, wake, worker);
}
static inline void hiaR_sampler_leave(hia_sampler *sampler, void *worker) {
  if (HIA_UNLIKELY(sampler)) sampler->calls->leave(sampler, worker);
}
/* A tick: all workers at work come to a safepoint soon. Any thread. */
void hiaR_sampler_tick(hia_sampler *sampler);

/* Returns the ticks since a worker was looked at last, and sets *seen, which says when that was. */
static inline uint32_t hiaR_sampler_due(const hia_sampler *sampler, uint32_t *seen) {
  uint32_t ticks = atomic_load_explicit(&sampler->ticks, memory_order_relaxed), due = ticks - *seen;
  *seen = ticks;
  return due;
}
/* Adds what a worker was doing for so many ticks. Any thread. */
static inline void hiaR_sample(hia_sampler *sampler, const hia_backtrace *backtrace,
                               uint32_t ticks) {
  sampler->calls->add(sampler, backtrace, ticks);
}

#endif
