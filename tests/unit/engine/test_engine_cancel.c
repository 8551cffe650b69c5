/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Ending runs through the public API: cancels, deadlines, and that nothing remains of them.
 * tests/stress/cancel.c does the same at random moments. */
#include "tests/unit/helpers/memory.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char text[] = "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
                           "fn busy(n: i32) -> i32 = loop (x = n) while true { x + fib(n) }\n"
                           "fn spin(n: i32) -> i32 = loop (x = n) while true { x * 3 + 1 }\n"
                           "fn inner(n: i32) -> i32 = 1 + busy(n)\n"
                           "fn outer(n: i32) -> i32 = 2 * inner(n)\n"
                           "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n)\n"
                           "fn within(n: i32) -> i32 = 1 + spin(n)\n"
                           "fn around(n: i32) -> i32 = 2 * within(n)\n";

typedef struct way {
  hia_engine_kind kind;
  unsigned threads;
} way;
static const way ways[] = {{HIA_ENGINE_JIT, 1},    {HIA_ENGINE_JIT, 3},    {HIA_ENGINE_INTERP, 1},
                           {HIA_ENGINE_INTERP, 3}, {HIA_ENGINE_EXPAND, 1}, {HIA_ENGINE_JIT, 0}};
enum { END = sizeof ways / sizeof ways[0] - 1 };

typedef struct fixture {
  hia_engine *engine;
  hia_module *module;
  hia_cancel *cancel;
} fixture;

/* False if this build lacks the engine. */
static bool begin(fixture *f, way w, size_t max_depth) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = w.kind;
  options.threads = w.threads;
  options.max_depth = max_depth;
  cr_assert_eq(hia_engine_new(&options, &f->engine, NULL), HIA_OK);
  if (w.kind == HIA_ENGINE_JIT && hia_engine_native(f->engine, NULL) != HIA_OK) {
    hia_engine_free(f->engine);
    return false;
  }
  cr_assert_eq(hia_module_load_text(f->engine, "test.hia", text, strlen(text), &f->module, NULL),
               HIA_OK);
  f->cancel = hia_cancel_new(NULL);
  cr_assert_not_null(f->cancel);
  return true;
}

static void end(fixture *f) {
  hia_cancel_free(f->cancel);
  hia_module_free(f->module);
  hia_engine_free(f->engine);
}

static hia_status run(const fixture *f, const char *name, int32_t n, const hia_run_options *options,
                      int32_t *x, hia_error **error) {
  hia_function *function;
  hia_value *result, *arg = hia_value_i32(f->engine, n);
  cr_assert_eq(hia_module_function(f->module, name, &function, NULL), HIA_OK);
  /* Compiling is part of a run, which may be ended meanwhile: test_engine_units.c. */
  cr_assert_eq(hia_function_prepare(function, NULL), HIA_OK);
  hia_status status = hia_run(function, &arg, 1, options, &result, error);
  if (x) *x = 0;
  if (x && result) hia_value_get_i32(result, x);
  hia_value_free(result);
  hia_value_free(arg);
  return status;
}

static void works(const fixture *f) {
  int32_t x;
  cr_assert_eq(run(f, "fib", 15, NULL, &x, NULL), HIA_OK);
  cr_assert_eq(x, 987);
}

static void *request_soon(void *user) {
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  hia_cancel_request(user);
  return NULL;
}

Test(engine_cancel, a_run_under_way_ends) {
  static const char *const endless[] = {"busy", "spin", "outer"};
  for (size_t i = 0; i < END; i++)
    for (size_t k = 0; k < sizeof endless / sizeof endless[0]; k++) {
      fixture f;
      if (!begin(&f, ways[i], 0)) continue;
      hia_run_options options = HIA_RUN_OPTIONS_INIT;
      options.cancel = f.cancel;
      hia_function *function;
      cr_assert_eq(hia_module_function(f.module, endless[k], &function, NULL), HIA_OK);
      cr_assert_eq(hia_function_prepare(function, NULL), HIA_OK);
      pthread_t thread;
      pthread_create(&thread, NULL, request_soon, f.cancel);
      hia_error *error;
      cr_assert_eq(run(&f, endless[k], 4, &options, NULL, &error), HIA_CANCELLED);
      pthread_join(thread, NULL);
      cr_assert_eq(hia_error_status(error), HIA_CANCELLED);
      cr_assert_str_eq(hia_error_code(error, 0), "cancelled");
      hia_error_free(error);
      works(&f);
      end(&f);
    }
}

/* Runs it until its error has a chain of two or more. On a busy machine the time may be over before
 * the run has begun its work. */
static void expect_chain(const fixture *f, const char *name, uint32_t line, const char *callee,
                         uint32_t callee_line) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_error *error = NULL;
  /* Some forty attempts. Where every safepoint polls (HIA_STRESS), most end in the entry. */
  for (uint64_t ms = 20; hia_error_chain_length(error) < 2 && ms < 2500; ms += 10 + ms / 10) {
    hia_error_free(error);
    options.timeout_ns = 1000000 * ms;
    cr_assert_eq(run(f, name, 4, &options, NULL, &error), HIA_DEADLINE);
    char message[100];
    snprintf(message, sizeof message, "past the deadline: more than %g %s",
             ms < 1000 ? (double)ms : (double)ms / 1e3, ms < 1000 ? "ms" : "s");
    cr_assert_str_eq(hia_error_message(error, 0), message);
  }
  uint64_t n = hia_error_chain_length(error);
  const char *function;
  uint32_t at;
  cr_assert_geq(n, 2, "%s", hia_error_text(error));
  cr_assert(hia_error_chain_entry(error, n - 1, &function, NULL, &at, NULL));
  cr_assert(strcmp(function, name) == 0 && at == line, "%s", hia_error_text(error));
  cr_assert(hia_error_chain_entry(error, n - 2, &function, NULL, &at, NULL));
  cr_assert(strcmp(function, callee) == 0 && at == callee_line, "%s", hia_error_text(error));
  hia_error_free(error);
}

/* The chain shows the position of the run, and always has its outer end. In native code that is
 * true also for functions that were inlined into each other, without any call left. A safepoint in
 * such a loop once named the outermost function, and the test failed if all attempts ended there.
 */
Test(engine_cancel, the_chain_of_an_ended_run) {
  for (size_t i = 0; i < END; i++) {
    fixture f;
    if (!begin(&f, ways[i], 0)) continue;
    expect_chain(&f, "outer", 5, "inner", 4);
    if (ways[i].kind == HIA_ENGINE_JIT) expect_chain(&f, "around", 8, "within", 7);
    end(&f);
  }
}

/* A run that ends in the called function at a node without a position was in that function. */
Test(engine_cancel, a_place_is_always_told) {
  for (size_t i = 0; i < END; i++) {
    fixture f;
    if (!begin(&f, ways[i], 0)) continue;
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.timeout_ns = 20000000;
    hia_error *error;
    cr_assert_eq(run(&f, "spin", 4, &options, NULL, &error), HIA_DEADLINE);
    const char *function;
    cr_assert(hia_error_line(error, 0) == 3, "%s", hia_error_text(error));
    cr_assert(hia_error_chain_entry(error, 0, &function, NULL, NULL, NULL));
    cr_assert_str_eq(function, "spin");
    hia_error_free(error);
    end(&f);
  }
}

Test(engine_cancel, a_request_before_the_run_counts_until_it_is_reset) {
  for (size_t i = 0; i < END; i++) {
    fixture f;
    if (!begin(&f, ways[i], 0)) continue;
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.cancel = f.cancel;
    cr_assert(!hia_cancel_is_requested(f.cancel));
    hia_cancel_request(f.cancel);
    hia_cancel_request(f.cancel); /* nothing more */
    cr_assert(hia_cancel_is_requested(f.cancel));
    hia_error *error;
    for (int k = 0; k < 2; k++) {
      cr_assert_eq(run(&f, "busy", 4, &options, NULL, &error), HIA_CANCELLED);
      hia_error_free(error);
    }
    works(&f); /* a run without it is not affected */
    hia_cancel_reset(f.cancel);
    cr_assert(!hia_cancel_is_requested(f.cancel));
    int32_t x;
    cr_assert_eq(run(&f, "fib", 10, &options, &x, NULL), HIA_OK);
    cr_assert_eq(x, 89);
    hia_cancel_request(f.cancel); /* after the run */
    works(&f);
    end(&f);
  }
}

typedef struct host {
  const fixture *f;
  hia_run_options options;
  hia_status status;
} host;

static void *run_busy(void *user) {
  host *h = user;
  h->status = run(h->f, "busy", 5, &h->options, NULL, NULL);
  return NULL;
}

Test(engine_cancel, one_request_ends_runs_of_several_engines) {
  fixture f[END];
  host hosts[2 * END];
  pthread_t threads[2 * END];
  size_t n = 0;
  hia_cancel *cancel = hia_cancel_new(NULL);
  for (size_t i = 0; i < END; i++) {
    if (!begin(&f[n], ways[i], 0)) continue;
    hosts[2 * n] = (host){.f = &f[n], .options = HIA_RUN_OPTIONS_INIT};
    hosts[2 * n].options.cancel = cancel;
    hosts[2 * n + 1] = hosts[2 * n];
    n++;
  }
  for (size_t i = 0; i < 2 * n; i++) pthread_create(&threads[i], NULL, run_busy, &hosts[i]);
  request_soon(cancel);
  for (size_t i = 0; i < 2 * n; i++) {
    pthread_join(threads[i], NULL);
    cr_assert_eq(hosts[i].status, HIA_CANCELLED);
  }
  hia_cancel_free(cancel);
  for (size_t i = 0; i < n; i++) {
    works(&f[i]);
    end(&f[i]);
  }
}

/* Each run has its own deadline, in any order. */
Test(engine_cancel, deadlines_of_several_runs) {
  for (size_t i = 0; i < END; i++) {
    fixture f;
    if (!begin(&f, ways[i], 0)) continue;
    host hosts[4];
    pthread_t threads[4];
    for (size_t k = 0; k < 4; k++) {
      hosts[k] = (host){.f = &f, .options = HIA_RUN_OPTIONS_INIT};
      hosts[k].options.timeout_ns = 10000000 * (uint64_t)(k ^ 1) + 1;
      if (k == 3) hosts[k].options.cancel = f.cancel; /* both: the one that comes first */
      pthread_create(&threads[k], NULL, run_busy, &hosts[k]);
    }
    for (size_t k = 0; k < 4; k++) {
      pthread_join(threads[k], NULL);
      cr_assert_eq(hosts[k].status, HIA_DEADLINE);
    }
    works(&f);
    end(&f);
  }
}

Test(engine_cancel, a_timeout_that_is_not_reached) {
  for (size_t i = 0; i < END; i++) {
    fixture f;
    if (!begin(&f, ways[i], 0)) continue;
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    for (int k = 0; k < 2; k++) {
      options.timeout_ns = k ? UINT64_MAX : 3600000000000;
      int32_t x;
      cr_assert_eq(run(&f, "fib", 12, &options, &x, NULL), HIA_OK);
      cr_assert_eq(x, 233);
    }
    end(&f);
  }
}

Test(engine_cancel, what_was_too_deep) {
  for (size_t i = 0; i < END; i++) {
    fixture f;
    if (!begin(&f, ways[i], (size_t)1 << 20)) continue;
    hia_error *error;
    cr_assert_eq(run(&f, "deep", 10000000, NULL, NULL, &error), HIA_DEPTH);
    cr_assert_str_eq(hia_error_message(error, 0),
                     ways[i].kind == HIA_ENGINE_JIT
                         ? "recursion too deep: more than 1.0 MiB of stack"
                         : "recursion too deep: more than 1.0 MiB of frames");
    cr_assert_gt(hia_error_chain_length(error), 1000);
    hia_error_free(error);
    works(&f);
    end(&f);
  }
}

Test(engine_cancel, nothing_is_a_cancel_too) {
  hia_cancel_free(NULL);
  hia_cancel_request(NULL);
  hia_cancel_reset(NULL);
  cr_assert(!hia_cancel_is_requested(NULL));
  hia_allocator none = {NULL, NULL, NULL, NULL};
  cr_assert_null(hia_cancel_new(&none));
}

/* ---- memory that runs out ---- */

/* A deadline is refused if no thread can watch it. */
Test(engine_cancel, memory_runs_out) {
  test_heap heap;
  test_heap_init(&heap, 0);
  cr_assert_null(hia_cancel_new(&heap.allocator));
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.allocator = &heap.allocator;
  fixture f;
  heap.left = -1;
  cr_assert_eq(hia_engine_new(&options, &f.engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(f.engine, "t.hia", text, strlen(text), &f.module, NULL),
               HIA_OK);
  works(&f);
  hia_run_options how = HIA_RUN_OPTIONS_INIT;
  how.timeout_ns = 1000000000000;
  hia_function *fib;
  cr_assert_eq(hia_module_function(f.module, "fib", &fib, NULL), HIA_OK);
  hia_value *n = hia_value_i32(f.engine, 5);
  bool is_done = false;
  for (int allowed = 0; !is_done; allowed++) {
    hia_value *result;
    hia_error *error;
    heap.left = allowed;
    hia_status status = hia_run(fib, &n, 1, &how, &result, &error);
    is_done = status == HIA_OK;
    cr_assert(is_done || status == HIA_MEMORY, "%s", hia_status_word(status));
    hia_value_free(result);
    hia_error_free(error);
  }
  heap.left = -1;
  hia_value_free(n);
  hia_module_free(f.module);
  hia_engine_free(f.engine);
}
