/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code that recurses deeply and returns: results in all registers, failures and cancels at
 * any moment of the return, chains of calls, the depth limit at any depth, memory that runs out,
 * several threads, threads with small stacks, one run after the other.
 *
 *   deep [SCALE]      (100: ten million frames)
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "runtime/native/context.h"
#include "tests/stress/program.h"
#include "tests/stress/random.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/time.h"
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char text[] =
    "fn down(n: i32) -> i32 = if n == 0 then 0 else bxor(down(n - 1), n) + 1\n"
    "fn one(n: i32) -> i32 = if n == 0 then 0 else 1 + two(n - 1)\n"
    "fn two(n: i32) -> i32 = if n == 0 then 0 else bxor(one(n - 1), 3)\n"
    /* Results in all registers for results, and in memory. */
    "fn eight(n: i32) -> (i64, f64, i64, f64, i32, f32, i64, f64) = if n == 0 then "
    "(1i64, 2.0f64, 3i64, 4.0f64, 5, 6.0f32, 7i64, 8.0f64) else { "
    "let (a, b, c, d, e, f, g, h) = eight(n - 1); (a + 1i64, b + 2.0f64, c + 3i64, d + 4.0f64, "
    "e + 5, f + 0.5f32, g + 7i64, h + 8.0f64) }\n"
    "fn eights(n: i32) -> f64 = { let (a, b, c, d, e, f, g, h) = eight(n); f64(a) + b * 3.0f64 + "
    "f64(c) * 5.0f64 + d * 7.0f64 + f64(e) * 11.0f64 + f64(f) * 13.0f64 + f64(g) * 17.0f64 + "
    "h * 19.0f64 }\n"
    "fn ten(n: i32) -> (i64, i64, i64, i64, i64, f64, f64, f64, f64, f64) = if n == 0 then "
    "(1i64, 2i64, 3i64, 4i64, 5i64, 1.0f64, 2.0f64, 3.0f64, 4.0f64, 5.0f64) else { "
    "let (a, b, c, d, e, f, g, h, i, j) = ten(n - 1); (a + 1i64, b + 2i64, c + 3i64, d + 4i64, "
    "e + 5i64, f + 1.0f64, g + 2.0f64, h + 3.0f64, i + 4.0f64, j + 5.0f64) }\n"
    "fn tens(n: i32) -> f64 = { let (a, b, c, d, e, f, g, h, i, j) = ten(n); f64(a) + f64(b) * "
    "3.0f64 + f64(c) * 5.0f64 + f64(d) * 7.0f64 + f64(e) * 11.0f64 + f * 13.0f64 + g * 17.0f64 + "
    "h * 19.0f64 + i * 23.0f64 + j * 29.0f64 }\n"
    /* A shallow call in every frame; a depth that goes up and down. */
    "fn small(n: i32) -> i32 = if n <= 1 then n else small(n - 1) + bxor(small(n - 2), 1)\n"
    "fn tree(n: i32) -> i32 = if n == 0 then 0 else { let s = small(n % 6); "
    "bxor(tree(n - 1), s) + 1 }\n"
    "fn last(n: i32) -> i32 = if n == 0 then 0 else { let r = last(n - 1); "
    "bxor(r, small(n % 6)) + 1 }\n"
    "fn swings(n: i32) -> i32 = { let (_, s) = loop (i = 0, s = 0) while i < 300 "
    "{ (i + 1, bxor(s, down(n + i * 31 % 97))) }; s }\n"
    "fn swing(d: i32, n: i32) -> i32 = if d == 0 then swings(n) else bxor(swing(d - 1, n), 1)\n"
    "fn around(n: i32) -> i32 = swing(n, n / 7)\n"
    /* Fails while it returns, after two thirds of the frames. */
    "fn fails(n: i32, k: i32) -> i32 = if n == 0 then 1 else "
    "{ let r = fails(n - 1, k); bxor(r, 1) + 100 / (n - k) }\n"
    "fn late(n: i32) -> i32 = fails(n, n / 3 * 2)\n"
    /* Two deep recursions, one after the other or one on top of the other; one of them may fail. */
    "fn both(n: i32) -> i32 = down(n) + 3 * down(n + 1)\n"
    "fn nest(d: i32, n: i32) -> i32 = if d == 0 then down(n) else nest(d - 1, n) + "
    "3 * nest(d - 1, n + 1)\n"
    "fn nests(n: i32) -> i32 = nest(4, n)\n"
    "fn comb(n: i32, m: i32) -> i32 = if n == 0 then 0 else bxor(comb(n - 1, m), down(m)) + 1\n"
    "fn combs(n: i32) -> i32 = comb(n / 100, n / 50)\n"
    "fn either(n: i32) -> i32 = late(n) + down(n)\n"
    "fn endless(n: i32) -> i32 = loop (s = n) while true { bxor(s, down(n)) }\n";

static const char *const functions[] = {"down",   "one",  "eights", "tens",  "tree",  "last",
                                        "around", "late", "both",   "nests", "combs", "either"};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

static int scale = 100;
static int32_t scaled(int32_t n) { return n / 100 * scale > 0 ? n / 100 * scale : 1; }

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* ---- engines and runs ---- */

static loaded load(hia_engine_kind kind, unsigned threads, const char *without, size_t max_depth,
                   const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  options.disabled_passes = without;
  options.max_depth = max_depth;
  options.allocator = allocator;
  options.flags |= HIA_FLAG_NO_MERGING;
  return load_text(&options, "deep.hia", text, sizeof text - 1);
}

typedef struct outcome {
  hia_status status;
  double value;
  char *error; /* its text */
  uint64_t length;
  bool is_cut;
  char outermost[32];
} outcome;

static outcome run(loaded l, const char *name, int32_t n, const hia_run_options *options) {
  outcome o = {.status = HIA_MEMORY};
  hia_function *f = find(l, name);
  hia_value *arg = hia_value_i32(l.engine, n), *value;
  if (!arg) return o;
  hia_error *error;
  o.status = hia_run(f, &arg, 1, options, &value, &error);
  if (o.status == HIA_OK) {
    int32_t whole;
    if (hia_value_get_i32(value, &whole) == HIA_OK)
      o.value = whole;
    else
      hia_value_get_f64(value, &o.value);
  } else {
    const char *outermost = "";
    o.error = strdup(hia_error_text(error));
    o.length = hia_error_chain_length(error);
    o.is_cut = hia_error_chain_is_cut(error);
    if (o.length) hia_error_chain_entry(error, o.length - 1, &outermost, NULL, NULL, NULL);
    snprintf(o.outermost, sizeof o.outermost, "%s", outermost);
  }
  hia_value_free(value);
  hia_value_free(arg);
  hia_error_free(error);
  return o;
}

static bool is_same(const outcome *a, const outcome *b) {
  return a->status == b->status && a->value == b->value &&
         (a->status == HIA_OK || strcmp(a->error, b->error) == 0);
}

static void forget(outcome *o) {
  free(o->error);
  o->error = NULL;
}

static void compare(const outcome *right, outcome got, const char *name, int32_t n,
                    const char *where) {
  if (!is_same(right, &got))
    FAIL("%s(%d), %s:\nwanted %g %s %s\ngot %g %s %s", name, n, where, right->value,
         hia_status_word(right->status), right->error ? right->error : "", got.value,
         hia_status_word(got.status), got.error ? got.error : "");
  forget(&got);
}

/* The outcome in the interpreter, with the failure and its chain. */
static outcome expected(const char *name, int32_t n) {
  loaded l = load(HIA_ENGINE_INTERP, 1, NULL, 0, NULL);
  outcome o = run(l, name, n, NULL);
  unload(l);
  return o;
}

static const char *const without[] = {"unroll", NULL};

/* ---- the same outcomes as in the interpreter ---- */

static void outcomes(void) {
  static const int32_t depths[] = {3000, 40000, 130000};
  for (size_t d = 0; d < HIA_LEN(depths); d++) {
    int32_t n = d == 0 ? depths[d] : scaled(depths[d]);
    outcome right[N_FUNCTIONS];
    for (int i = 0; i < N_FUNCTIONS; i++) right[i] = expected(functions[i], n);
    for (unsigned threads = 1; threads <= 3; threads++) {
      for (int u = 0; u < 2; u++) {
        char where[64];
        snprintf(where, sizeof where, "%u threads, %s", threads, u ? "unrolled" : "as written");
        loaded l = load(HIA_ENGINE_JIT, threads, without[u], 0, NULL);
        for (int turn = 0; turn < 2; turn++)
          for (int i = 0; i < N_FUNCTIONS; i++)
            compare(&right[i], run(l, functions[i], n, NULL), functions[i], n, where);
        unload(l);
      }
    }
    for (int i = 0; i < N_FUNCTIONS; i++) forget(&right[i]);
  }
}

/* ---- runs that are ended ---- */

typedef struct requester {
  hia_cancel *cancel;
  uint64_t after; /* nanoseconds */
} requester;

static void *request(void *user) {
  const requester *r = user;
  test_sleep(r->after);
  hia_cancel_request(r->cancel);
  return NULL;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ended at any moment, in turn by a cancel and by a deadline. The chain ends in `outermost`, the
 * first function that is not called in tail position; hia_error_chain_is_cut is true if it is cut.
 */
static void ends(const char *name, const char *outermost, int32_t n, unsigned threads,
                 const char *passes, int n_runs) {
  loaded l = load(HIA_ENGINE_JIT, threads, passes, 0, NULL);
  bool is_endless = strcmp(name, "endless") == 0;
  outcome right = {.status = HIA_OK};
  uint64_t typical = 100000000;
  if (!is_endless) {
    right = run(l, name, n, NULL);
    uint64_t start = now();
    outcome again = run(l, name, n, NULL);
    typical = now() - start;
    compare(&right, again, name, n, "again");
  }
  requester r = {.cancel = hia_cancel_new(NULL)};
  int n_ended = 0, n_cut = 0;
  for (int i = 0; i < n_runs; i++) {
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    pthread_t thread;
    bool is_cancel = i % 2;
    r.after = next_random(&random_state) % (typical + typical / 8) + 1;
    if (is_cancel) {
      options.cancel = r.cancel;
      pthread_create(&thread, NULL, request, &r);
    } else {
      options.timeout_ns = r.after;
    }
    outcome o = run(l, name, n, &options);
    if (is_cancel) {
      pthread_join(thread, NULL);
      hia_cancel_reset(r.cancel);
    }
    hia_status requested = is_cancel ? HIA_CANCELLED : HIA_DEADLINE;
    if (o.status != requested) {
      if (is_endless || !is_same(&right, &o))
        FAIL("%s(%d), %u threads: %s", name, n, threads, hia_status_word(o.status));
    } else {
      n_ended++;
      n_cut += o.is_cut;
      if (o.length && strcmp(o.outermost, outermost) != 0 && strcmp(o.outermost, name) != 0)
        FAIL("%s(%d), %u threads: the chain does not end there:\n%s", name, n, threads, o.error);
      if ((strstr(o.error, "at least") != NULL) != o.is_cut)
        FAIL("%s(%d), %u threads: cut or not?\n%s", name, n, threads, o.error);
    }
    forget(&o);
  }
  if (is_endless && n_ended != n_runs) FAIL("%s: %d of %d were ended", name, n_ended, n_runs);
  if (is_endless && n >= 1000000 && n_cut == 0) FAIL("%s(%d): no chain was cut", name, n);
  hia_cancel_free(r.cancel);
  forget(&right);
  unload(l);
}

static void ended(void) {
  int n_runs = scale >= 1000 ? 30 : 12;
  ends("down", "down", scaled(10000000), 1, "unroll", n_runs);
  ends("down", "down", scaled(3000000), 1, NULL, n_runs);
  ends("endless", "endless", scaled(3000000), 1, "unroll", n_runs);
  ends("tree", "tree", scaled(1000000), 1, "unroll", n_runs);
  ends("around", "swing", scaled(100000), 1, NULL, n_runs);
  ends("late", "fails", scaled(1000000), 1, NULL, n_runs);
  ends("nests", "nest", scaled(100000), 2, "unroll", n_runs);
  ends("combs", "comb", scaled(100000), 3, NULL, n_runs);
  ends("both", "both", scaled(1000000), 2, NULL, n_runs);
}

/* ---- failures ---- */

/* A failure under millions of calls, and one while they return: all calls are counted. */
static void failures(void) {
  int32_t n = scaled(6000000);
  uint64_t length = (uint64_t)(n - n / 3 * 2) + 1;
  for (int u = 0; u < 2; u++) {
    loaded l = load(HIA_ENGINE_JIT, 1, without[u], 0, NULL);
    outcome o = run(l, "late", n, NULL);
    if (o.status != HIA_DIV_ZERO || o.is_cut || o.length != length)
      FAIL("late(%d): a chain of %zu: %s", n, (size_t)o.length, o.error ? o.error : "");
    forget(&o);
    unload(l);
  }
}

/* ---- the depth limit ---- */

/* At any depth limit: the chain has as many calls as there was room for. */
static void limits(void) {
  size_t base = HIA_STACK_KEEP, interval = HIA_BARRIER_INTERVAL;
  uint64_t before = 0;
  for (int i = 0; i < 60; i++) {
    size_t depth = base + (size_t)(i / 6) * interval + (size_t)(i % 6) * 16;
    if (i % 6 == 5) depth += interval / 2;
    loaded l = load(HIA_ENGINE_JIT, 1, "unroll", depth, NULL);
    for (int turn = 0; turn < 2; turn++) {
      outcome o = run(l, "down", 100000000, NULL);
      if (o.status != HIA_DEPTH || o.is_cut || strcmp(o.outermost, "down") != 0)
        FAIL("a depth of %zu: %s %s", depth, hia_status_word(o.status), o.error ? o.error : "");
      if (o.length < before) FAIL("a depth of %zu: a chain of %zu", depth, (size_t)o.length);
      before = o.length;
      forget(&o);
      o = run(l, "down", 50, NULL);
      if (o.status != HIA_OK) FAIL("a depth of %zu: 50 calls do not work", depth);
      forget(&o);
    }
    unload(l);
  }
}

/* ---- without memory ---- */

/* The first n allocations of a run succeed. */
static void memory(void) {
  test_heap heap;
  test_heap_init(&heap, -1);
  int32_t n = scaled(5000000);
  loaded l = load(HIA_ENGINE_JIT, 1, "unroll", 0, &heap.allocator);
  outcome right = run(l, "down", n, NULL), shallow = run(l, "down", n / 50, NULL);
  unload(l);
  /* Two runs that have enough, at last: those after them would be the same. */
  for (long left = 0, n_enough = 0; left < 20 && n_enough < 2; left++) {
    l = load(HIA_ENGINE_JIT, 1, "unroll", 0, &heap.allocator);
    hia_function *f = find(l, "down");
    hia_value *arg = hia_value_i32(l.engine, n), *value = NULL;
    hia_error *error = NULL;
    atomic_store(&heap.left, left);
    hia_status status = hia_run(f, &arg, 1, NULL, &value, &error);
    atomic_store(&heap.left, -1);
    int32_t x = 0;
    if (status == HIA_OK) {
      hia_value_get_i32(value, &x);
      n_enough++;
    }
    if (status == HIA_OK ? x != right.value : status != HIA_MEMORY)
      FAIL("with %ld allocations: %s", left, hia_status_word(status));
    hia_value_free(value);
    hia_error_free(error);
    hia_value_free(arg);
    compare(&shallow, run(l, "down", n / 50, NULL), "down", n / 50,
            "after it had too little memory");
    unload(l);
  }
  forget(&right);
  forget(&shallow);
  if (heap.blocks) FAIL("%ld blocks are left", (long)heap.blocks);
}

/* ---- threads with small stacks, at once ---- */

static outcome thread_right;
static loaded shared;
static int32_t thread_depth;
static void *run_some(void *user) {
  (void)user;
  for (int i = 0; i < 5; i++)
    compare(&thread_right, run(shared, "tree", thread_depth, NULL), "tree", thread_depth,
            "on a small stack");
  return NULL;
}

static void small_stacks(void) {
  pthread_t threads[3];
  pthread_attr_t attributes;
  thread_depth = scaled(300000);
  shared = load(HIA_ENGINE_JIT, 2, "unroll", 0, NULL);
  thread_right = run(shared, "tree", thread_depth, NULL);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
  for (size_t i = 0; i < HIA_LEN(threads); i++)
    pthread_create(&threads[i], &attributes, run_some, NULL);
  for (size_t i = 0; i < HIA_LEN(threads); i++) pthread_join(threads[i], NULL);
  pthread_attr_destroy(&attributes);
  forget(&thread_right);
  unload(shared);
}

int main(int argc, char **argv) {
  if (argc > 1) scale = atoi(argv[1]);
  static void (*const parts[])(void) = {outcomes, failures, limits, memory, small_stacks, ended};
  static const char *const names[] = {"outcomes", "failures",     "limits",
                                      "memory",   "small stacks", "ended"};
  for (size_t i = 0; i < HIA_LEN(parts); i++) {
    uint64_t start = now();
    parts[i]();
    printf("%s: %.1f s\n", names[i], (double)(now() - start) / 1e9);
    fflush(stdout);
  }
  puts(n_failed ? "failed" : "passed");
  return n_failed != 0;
}
