/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a run goes: a profile by sampling.
 *
 * One would interrupt threads with signals, but those belong to the host. So a clock ticks, and
 * each worker that reaches a safepoint after a tick adds where it is, with the calls that led
 * there, once for each tick since it was looked at last. What takes long without a safepoint, such
 * as an operation on tensors, is so counted where its worker comes next.
 *
 * Where its memory goes is sampled, too, if the owner wants that: each worker counts the bytes that
 * it takes from the heap (hia_local_heap.left), and each time that it has taken some more, it adds
 * where it takes memory now. The bytes from one such sample to the next vary, so that they do not
 * keep step with the program; how many they are on average is what each sample stands for. One
 * would have a worker go on counting where it ended its last task; but it begins each anew, at
 * points that are spread evenly, so that samples of many brief tasks are as likely to be of any of
 * their bytes.
 *
 * Engines read backtraces; rows are for the owner to choose: a position and the positions of the
 * calls around it stand for rows, such as lines of functions. */
#ifndef HIA_SAMPLER_H
#define HIA_SAMPLER_H

#include "runtime/heap/heap.h"
#include "runtime/run/runtime.h"
#include <pthread.h>

enum {
  HIA_MAX_SAMPLED = 256,         /* workers; the ticks of others are not counted */
  HIA_SAMPLED_BYTES = 512 << 10, /* from one sample of memory to the next, on average */
};

/* 2^64 by the golden ratio: the multiples of it, modulo 2^64, are spread most evenly. From one run
 * to the next phases are a step apart, too. */
#define HIA_SAMPLER_STEP UINT64_C(0x9e3779b97f4a7c15)

typedef struct hia_sample_count {
  _Atomic uint64_t self, total;      /* ticks in it, and in it or what it calls */
  _Atomic uint64_t taken, all_taken; /* samples of memory, likewise */
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
  void (*took)(struct hia_context *context, uint32_t loc, const char *sp, uintptr_t pc);
} hia_native_samples;

typedef struct hia_sampler_calls {
  void (*enter)(struct hia_sampler *sampler, void (*wake)(void *worker), void *worker);
  void (*leave)(struct hia_sampler *sampler, void *worker);
  void (*add)(struct hia_sampler *sampler, const hia_backtrace *backtrace, uint32_t ticks);
  void (*begin_bytes)(struct hia_sampler *sampler, hia_local_heap *local);
  void (*end_bytes)(struct hia_sampler *sampler, hia_local_heap *local);
  uint32_t (*due_bytes)(struct hia_sampler *sampler, hia_local_heap *local);
  void (*add_bytes)(struct hia_sampler *sampler, const hia_backtrace *backtrace, uint32_t samples);
} hia_sampler_calls;

typedef struct hia_sampler {
  const hia_sampler_calls *calls;
  const hia_native_samples *native;
  _Atomic uint32_t ticks;
  const uint32_t *row_of; /* by location: its row */
  uint64_t n_locs;
  hia_sample_count *rows;
  _Atomic uint64_t n, unknown; /* ticks in all; and of workers of which nothing was known */
  bool counts_bytes;
  _Atomic uint64_t n_taken, unknown_taken; /* samples of memory, likewise */
  _Atomic uint64_t random;
  _Atomic uint64_t phase; /* where the next worker begins, of 2^64 */
  pthread_mutex_t lock;
  hia_sampled workers[HIA_MAX_SAMPLED]; /* those at work: the first n_workers */
  uint32_t n_workers;
} hia_sampler;

/* The caller sets the rows and locations, what is of native code, whether bytes are counted, and a
 * random number and a phase before a worker enters. */
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

/* The worker begins to count the bytes that it takes from the heap, if they are to be counted; and
 * ends. The sampler may be NULL, and the worker may have no heap. */
static inline void hiaR_sampler_begin_bytes(hia_sampler *sampler, hia_local_heap *local) {
  if (HIA_UNLIKELY(sampler && sampler->counts_bytes && local->heap))
    sampler->calls->begin_bytes(sampler, local);
}
static inline void hiaR_sampler_end_bytes(hia_sampler *sampler, hia_local_heap *local) {
  if (HIA_UNLIKELY(sampler && local->heap)) sampler->calls->end_bytes(sampler, local);
}
/* A worker for which hiaR_local_is_due adds where it takes memory. Any thread. */
static inline uint32_t hiaR_sampler_due_bytes(hia_sampler *sampler, hia_local_heap *local) {
  return sampler->calls->due_bytes(sampler, local);
}
static inline void hiaR_sample_bytes(hia_sampler *sampler, const hia_backtrace *backtrace,
                                     uint32_t samples) {
  sampler->calls->add_bytes(sampler, backtrace, samples);
}

#endif
