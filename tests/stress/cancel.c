/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs that are ended at random moments, by cancels and by deadlines, in every engine and at
 * several numbers of threads: each either has its correct outcome or ends as requested, and nothing
 * leaks.
 *
 *   cancel [RUNS]      (10000 in all)
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "jit/engine/engine.h"
#include "tests/stress/random.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/time.h"
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn tak(x: i32, y: i32, z: i32) -> i32 = if y < x then tak(tak(x - 1, y, z), tak(y - 1, z, x), "
    "tak(z - 1, x, y)) else z\n"
    "fn takes(n: i32) -> i32 = tak(n, n * 2 / 3, n / 3)\n"
    "fn rounds(n: i32) -> i32 = { let (_, s) = loop (i = 0, s = 1) while i < n "
    "{ (i + 1, bxor(shl(s, 3), s * 5 + i)) }; s }\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n) + 1\n"
    "fn late(n: i32) -> i32 = fib(n) + 1 / (fib(n) - fib(n))\n"
    "param W: f32[24, 48] = uniform(-0.3, 0.3)\n"
    "fn encode(n: i32, k: i32) -> f32[24] = if n == 0 then full(f32(k % 30), 24)\n"
    "  else tanh(W @ concat(encode(n - 1, 2 * k), encode(n - 1, 2 * k + 1)))\n"
    "fn trees(n: i32) -> i32 = i32(sum([encode(i % 3, i)[1] for i in 0..n]) * 100.0)\n";

typedef struct way {
  hia_engine_kind kind;
  unsigned threads;
  const char *function;
  int32_t least; /* the smallest argument; enlarged until a run takes TYPICAL */
  hia_batching batching;
} way;
static const way ways[] = {
    {HIA_ENGINE_JIT, 1, "fib", 10, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 1, "takes", 6, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 1, "rounds", 1000, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 1, "deep", 1000, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 1, "late", 10, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 2, "fib", 10, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 2, "takes", 6, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 2, "late", 10, HIA_BATCH_NONE},
    {HIA_ENGINE_JIT, 3, "fib", 10, HIA_BATCH_NONE},
    {HIA_ENGINE_INTERP, 1, "fib", 8, HIA_BATCH_NONE},
    {HIA_ENGINE_INTERP, 1, "rounds", 100, HIA_BATCH_NONE},
    {HIA_ENGINE_INTERP, 1, "late", 8, HIA_BATCH_NONE},
    {HIA_ENGINE_INTERP, 2, "fib", 8, HIA_BATCH_NONE},
    {HIA_ENGINE_INTERP, 3, "late", 8, HIA_BATCH_NONE},
    {HIA_ENGINE_EXPAND, 1, "fib", 8, HIA_BATCH_NONE},
    {HIA_ENGINE_AUTO, 1, "fib", 10, HIA_BATCH_NONE},
    {HIA_ENGINE_AUTO, 2, "rounds", 100, HIA_BATCH_NONE},
    {HIA_ENGINE_AUTO, 3, "late", 8, HIA_BATCH_NONE},
    {HIA_ENGINE_INTERP, 1, "trees", 10, HIA_BATCH_DEPTH},
    {HIA_ENGINE_INTERP, 1, "trees", 10, HIA_BATCH_AGENDA},
};
enum { TYPICAL = 300000 }; /* nanoseconds */

static atomic_int n_failed;
static atomic_ulong n_ended, n_done;

static void fail(const way *w, const char *what, hia_error *error) {
  printf("FAIL %s, %u threads, engine %d: %s: %s\n", w->function, w->threads, (int)w->kind, what,
         hia_error_text(error));
  n_failed++;
}

/* ---- the thread that cancels ---- */

typedef struct requester {
  pthread_t thread;
  hia_cancel *cancel;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  long asked, done; /* numbers of rounds; asked is -1 at the end */
  uint64_t after;   /* nanoseconds */
} requester;

static void *request(void *user) {
  requester *r = user;
  pthread_mutex_lock(&r->lock);
  while (r->asked >= 0) {
    if (r->asked == r->done) {
      pthread_cond_wait(&r->changed, &r->lock);
      continue;
    }
    pthread_mutex_unlock(&r->lock);
    test_sleep(r->after);
    hia_cancel_request(r->cancel);
    pthread_mutex_lock(&r->lock);
    r->done++;
    pthread_cond_signal(&r->changed);
  }
  pthread_mutex_unlock(&r->lock);
  return NULL;
}

static void ask(requester *r, long round, uint64_t after) {
  pthread_mutex_lock(&r->lock);
  r->asked = round;
  r->after = after;
  pthread_cond_signal(&r->changed);
  pthread_mutex_unlock(&r->lock);
}

static void await(requester *r, long round) {
  pthread_mutex_lock(&r->lock);
  while (r->done < round) pthread_cond_wait(&r->changed, &r->lock);
  pthread_mutex_unlock(&r->lock);
}

/* ---- one program ---- */

typedef struct outcome {
  hia_status status;
  int32_t value;
} outcome;

static outcome run(const way *w, hia_function *f, hia_value *arg, const hia_run_options *options) {
  hia_value *value;
  hia_error *error;
  outcome o = {hia_run(f, &arg, 1, options, &value, &error), 0};
  if (o.status == HIA_OK)
    hia_value_get_i32(value, &o.value);
  else if (hia_error_status(error) != o.status || !hia_error_text(error)[0])
    fail(w, "the error is of another status", error);
  hia_value_free(value);
  hia_error_free(error);
  return o;
}

static void judge(const way *w, outcome wanted, outcome got, hia_status ended) {
  if (got.status == ended) {
    atomic_fetch_add(&n_ended, 1);
  } else {
    atomic_fetch_add(&n_done, 1);
    if (got.status != wanted.status || got.value != wanted.value) {
      printf("%d (%s) instead of %d (%s)\n", got.value, hia_status_word(got.status), wanted.value,
             hia_status_word(wanted.status));
      fail(w, "neither its outcome nor ended", NULL);
    }
  }
}

typedef struct crowd {
  const way *w;
  hia_function *f;
  hia_value *arg;
  hia_cancel *cancel;
  outcome wanted; /* of a run that is not ended */
  long runs;
  uint64_t typical; /* nanoseconds of a run */
} crowd;

/* One of several host threads with the same function and the same hia_cancel. */
static void *join_crowd(void *user) {
  const crowd *c = user;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.cancel = c->cancel;
  options.timeout_ns = 1000 * c->typical + test_limit_ns(60);
  for (long i = 0; i < c->runs; i++)
    judge(c->w, c->wanted, run(c->w, c->f, c->arg, &options), HIA_CANCELLED);
  return NULL;
}

static void run_crowd(crowd *c, uint64_t *random) {
  pthread_t threads[3];
  for (size_t i = 0; i < HIA_LEN(threads); i++) pthread_create(&threads[i], NULL, join_crowd, c);
  for (long i = 0; i < c->runs; i++) {
    test_sleep(next_random(random) % (c->typical + 1));
    hia_cancel_request(c->cancel);
    hia_cancel_reset(c->cancel);
  }
  for (size_t i = 0; i < HIA_LEN(threads); i++) pthread_join(threads[i], NULL);
}

/* The shortest time of several runs. */
static uint64_t run_time(crowd *c) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options how = HIA_RUN_OPTIONS_INIT;
  how.stats = &used;
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 3; i++) {
    c->wanted = run(c->w, c->f, c->arg, &how);
    if (used.run_ns < least) least = used.run_ns;
  }
  return least;
}

static void choose_argument(crowd *c, hia_engine *engine) {
  for (int32_t n = c->w->least;; n += 1 + n / 16) {
    c->arg = hia_value_i32(engine, n);
    c->typical = run_time(c);
    if (c->typical >= TYPICAL || n > 10000000) return;
    hia_value_free(c->arg);
  }
}

static void run_way(const way *w, long runs, uint64_t *random) {
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = w->kind;
  options.threads = w->threads;
  options.batching = w->batching;
  options.flags |= HIA_FLAG_NO_MERGING; /* so that runs take some time */
  options.allocator = &heap.allocator;
  hia_engine *engine;
  hia_module *module = NULL;
  hia_function *f = NULL;
  hia_error *error;
  if (hia_engine_new(&options, &engine, &error) != HIA_OK ||
      hia_module_load_text(engine, "cancel.hia", text, sizeof text - 1, &module, &error) !=
          HIA_OK ||
      hia_module_function(module, w->function, &f, &error) != HIA_OK ||
      hia_function_prepare(f, &error) != HIA_OK) {
    fail(w, "does not begin", error);
    hia_error_free(error);
    hia_module_free(module);
    hia_engine_free(engine);
    return;
  }
  if (w->kind == HIA_ENGINE_AUTO) engine->again_at = 500; /* some runs begin again, some are over */
  requester r = {.cancel = hia_cancel_new(&heap.allocator),
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .changed = PTHREAD_COND_INITIALIZER};
  crowd c = {.w = w, .f = f, .cancel = r.cancel};
  choose_argument(&c, engine);
  hia_run_options how = HIA_RUN_OPTIONS_INIT;

  /* Half of the runs are cancelled, a quarter has a deadline, and a quarter runs on several host
   * threads at once. */
  pthread_create(&r.thread, NULL, request, &r);
  how.cancel = r.cancel;
  for (long i = 1; i <= runs / 2; i++) {
    ask(&r, i, next_random(random) % (c.typical * 5 / 4));
    judge(w, c.wanted, run(w, f, c.arg, &how), HIA_CANCELLED);
    await(&r, i);
    if (run(w, f, c.arg, &how).status != HIA_CANCELLED)
      fail(w, "a run that was cancelled before", NULL);
    hia_cancel_reset(r.cancel);
  }
  ask(&r, -1, 0);
  pthread_join(r.thread, NULL);
  how.cancel = NULL;
  for (long i = 0; i < runs / 4; i++) {
    how.timeout_ns = 1 + next_random(random) % (c.typical * 5 / 4);
    judge(w, c.wanted, run(w, f, c.arg, &how), HIA_DEADLINE);
  }
  c.runs = runs / 12;
  run_crowd(&c, random);
  /* Later runs are not affected. */
  judge(w, c.wanted, run(w, f, c.arg, NULL), HIA_OK);

  hia_cancel_free(r.cancel);
  hia_value_free(c.arg);
  hia_module_free(module);
  hia_engine_free(engine);
  if (heap.blocks) {
    printf("FAIL %s: %ld blocks are left\n", w->function, (long)heap.blocks);
    n_failed++;
  }
}

static bool has_code(const way *w) {
  return w->kind == HIA_ENGINE_JIT || w->kind == HIA_ENGINE_AUTO;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  long runs = argc > 1 ? atol(argv[1]) : 10000;
  uint64_t random = 0x9e3779b97f4a7c15;
  hia_engine *engine;
  bool is_native = false;
  if (hia_engine_new(NULL, &engine, NULL) == HIA_OK) {
    is_native = hia_engine_native(engine, NULL) == HIA_OK;
    hia_engine_free(engine);
  }
  size_t n = 0;
  for (size_t i = 0; i < HIA_LEN(ways); i++) n += is_native || !has_code(&ways[i]);
  for (size_t i = 0; i < HIA_LEN(ways); i++)
    if (is_native || !has_code(&ways[i]))
      run_way(&ways[i], (runs + (long)n - 1) / (long)n + 12, &random);
  printf("%lu runs were ended, %lu came first\n", atomic_load(&n_ended), atomic_load(&n_done));
  printf("%s\n", n_failed ? "failed" : "passed");
  return n_failed != 0;
}
