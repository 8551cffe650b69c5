/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Engines that choose: runs begin in the interpreter, and may begin again in native code.
 * tests/diff/run.c does it at chosen moments of all programs. */
#include "jit/engine/engine.h"
#include "tests/unit/helpers/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    "extern impure fn next(x: i32) -> i32\n"
    "extern impure fn near(x: i32) -> i32\n"
    "extern impure fn inner(x: i32) -> i32\n"
    "extern impure fn wrong(x: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn count(n: i32) -> i32 = loop (i = n) while next(i) != 0 { i + 1 }\n"
    "fn count_near(n: i32) -> i32 = loop (i = n) while near(i) != 0 { i + 1 }\n"
    "fn spin(n: i32) -> i32 = loop (x = n) while true { x * 3 + 1 }\n"
    "fn failing(n: i32) -> i32 = loop (i = n) while i > 0 { if wrong(i) == 0 then i / 0 else i - 1 "
    "}\n"
    "fn nested(n: i32) -> i32 = if n == 0 then 0 else inner(n) + nested(n - 1)\n"
    "type Tree = Leaf | Node(left: Tree, right: Tree)\n"
    "fn make(n: i32) -> Tree = if n == 0 then Leaf else Node(make(n - 1), make(n - 1))\n"
    "fn sum(t: Tree) -> i32 = match t { Leaf => 1, Node(l, r) => sum(l) + sum(r) }\n"
    "fn tree(n: i32) -> i32 = sum(make(n))\n";

typedef struct fixture {
  hia_engine *engine;
  hia_module *module;
  char log[4096];
  pthread_mutex_t lock;
  hia_function *function; /* that `next` looks at */
  int32_t n_next, n_native, n_wrong;
} fixture;

static void log_line(void *user, const char *line) {
  fixture *f = user;
  pthread_mutex_lock(&f->lock);
  size_t n = strlen(f->log);
  snprintf(f->log + n, sizeof f->log - n, "%s\n", line);
  pthread_mutex_unlock(&f->lock);
}

static bool is_native(const hia_function *function) {
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_function_get_stats(function, &stats), HIA_OK);
  return stats.tier == HIA_TIER_NATIVE;
}

/* 1 until native code is ready and has had the time to take over. */
static int32_t next(void *user, int32_t x) {
  fixture *f = user;
  cr_assert_eq(x, f->n_next, "call %d is made a second time, or out of turn", x);
  f->n_next++;
  if (f->function && !is_native(f->function)) return 1;
  return ++f->n_native < 1000;
}

static hia_status wrong(void *user, int32_t x, int32_t *result) {
  fixture *f = user;
  f->n_wrong++;
  *result = x;
  return x == 3 ? HIA_HOST : HIA_OK;
}

/* Runs fib inside the run that calls it. */
static int32_t inner(void *user, int32_t x) {
  const fixture *f = user;
  hia_function *fib;
  hia_value *result, *arg = hia_value_i32(f->engine, x % 5);
  cr_assert_eq(hia_module_function(f->module, "fib", &fib, NULL), HIA_OK);
  int32_t number = -1;
  if (hia_call(fib, &arg, 1, &result, NULL) == HIA_OK) hia_value_get_i32(result, &number);
  hia_value_free(result);
  hia_value_free(arg);
  return number;
}

static void add(fixture *f, const char *declaration, void (*function)(void), bool returns_status,
                bool is_safe) {
  hia_host_function h = HIA_HOST_FUNCTION_INIT;
  h.declaration = declaration;
  h.function = function;
  h.takes_user = true;
  h.user = f;
  h.returns_status = returns_status;
  h.is_safe = is_safe;
  cr_assert_eq(hia_engine_register(f->engine, &h, NULL), HIA_OK);
}

static void begin_with(fixture *f, const hia_engine_options *given) {
  hia_engine_options options = *given;
  *f = (fixture){.log = ""};
  pthread_mutex_init(&f->lock, NULL);
  options.log = log_line;
  options.log_user = f;
  cr_assert_eq(hia_engine_new(&options, &f->engine, NULL), HIA_OK);
  add(f, "extern impure fn next(x: i32) -> i32", (void (*)(void))next, false, false);
  add(f, "extern impure fn near(x: i32) -> i32", (void (*)(void))next, false, true);
  add(f, "extern impure fn inner(x: i32) -> i32", (void (*)(void))inner, false, false);
  add(f, "extern impure fn wrong(x: i32) -> i32", (void (*)(void))wrong, true, false);
  cr_assert_eq(hia_module_load_text(f->engine, "test.hia", text, strlen(text), &f->module, NULL),
               HIA_OK);
}

static void begin(fixture *f, unsigned threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  cr_assert_eq(options.kind, HIA_ENGINE_AUTO);
  options.threads = threads;
  begin_with(f, &options);
}

static void end(fixture *f) {
  hia_module_free(f->module);
  hia_engine_free(f->engine);
  pthread_mutex_destroy(&f->lock);
}

static hia_function *find(const fixture *f, const char *name) {
  hia_function *function;
  cr_assert_eq(hia_module_function(f->module, name, &function, NULL), HIA_OK);
  return function;
}

static hia_status run(const fixture *f, const char *name, int32_t n, hia_run_options *options,
                      int32_t *x, hia_run_stats *used, hia_error **error) {
  hia_run_options none = HIA_RUN_OPTIONS_INIT;
  if (!options) options = &none;
  *used = (hia_run_stats)HIA_RUN_STATS_INIT;
  options->stats = used;
  hia_value *result, *arg = hia_value_i32(f->engine, n);
  hia_status status = hia_run(find(f, name), &arg, 1, options, &result, error);
  *x = 0;
  if (result) hia_value_get_i32(result, x);
  hia_value_free(result);
  hia_value_free(arg);
  return status;
}

/* On a busy machine any run may take a millisecond, after which it is no short one. */
Test(engine_tiers, a_short_run_is_interpreted_and_nothing_is_compiled) {
  for (bool was_short = false; !was_short;) {
    fixture f;
    int32_t x;
    hia_run_stats used;
    begin(&f, 1);
    cr_assert_eq(run(&f, "fib", 5, NULL, &x, &used, NULL), HIA_OK);
    cr_assert_eq(x, 8);
    was_short = used.run_ns < 500000;
    if (was_short) {
      cr_assert(used.tier == HIA_TIER_IMAGE && used.n_restarts == 0 && used.interpreted_ns == 0);
      hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
      cr_assert_eq(hia_function_get_stats(find(&f, "fib"), &stats), HIA_OK);
      cr_assert(stats.tier == HIA_TIER_IMAGE && stats.versions == 1 && stats.code_bytes == 0);
      cr_assert_null(f.engine->session);
    }
    end(&f);
  }
}

/* The host's function ends the loop when native code has been there for a while, so in the end it
 * is native code that calls it. No call is made twice: `next` looks. */
Test(engine_tiers, native_code_takes_over_a_run_with_effects) {
  NEEDS_NATIVE;
  fixture f;
  int32_t x;
  hia_run_stats used;
  begin(&f, 2);
  f.function = find(&f, "count");
  cr_assert_eq(run(&f, "count", 0, NULL, &x, &used, NULL), HIA_OK);
  cr_assert_eq(x, f.n_next - 1);
  cr_assert_eq(used.n_restarts, 1, "%s", f.log);
  cr_assert(used.tier == HIA_TIER_NATIVE && used.interpreted_ns > 0 &&
            used.interpreted_ns < used.run_ns);
  cr_assert(strstr(f.log, "count(i32) is ready"), "%s", f.log);
  end(&f);
}

/* Native code calls a safe function without the runtime, so the record would be of no use. */
Test(engine_tiers, a_run_that_has_called_a_safe_impure_function_stays) {
  NEEDS_NATIVE;
  fixture f;
  int32_t x;
  hia_run_stats used;
  begin(&f, 1);
  f.function = find(&f, "count_near");
  cr_assert_eq(run(&f, "count_near", 0, NULL, &x, &used, NULL), HIA_OK);
  cr_assert_eq(x, f.n_next - 1);
  cr_assert(used.n_restarts == 0 && used.tier == HIA_TIER_IMAGE);
  f.n_next = 0; /* the next run is native from the begin */
  cr_assert_eq(run(&f, "count_near", 0, NULL, &x, &used, NULL), HIA_OK);
  cr_assert(used.n_restarts == 0 && used.tier == HIA_TIER_NATIVE);
  end(&f);
}

/* Runs that begin again at poll number `at` have the result of those that do not. The first of
 * several workers may have fewer polls. */
Test(engine_tiers, runs_begin_again_at_any_poll) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    fixture f;
    int32_t x;
    hia_run_stats used;
    begin(&f, threads);
    cr_assert_eq(hia_function_prepare(find(&f, "fib"), NULL), HIA_OK);
    cr_assert_eq(hia_function_prepare(find(&f, "tree"), NULL), HIA_OK);
    for (uint64_t at = 1; at < 400; at += 1 + at / 8) {
      f.engine->again_at = at;
      cr_assert_eq(run(&f, "fib", 13, NULL, &x, &used, NULL), HIA_OK);
      cr_assert_eq(x, 377);
      cr_assert(threads > 1 || used.n_restarts == 1, "poll %d: %u threads, %u restarts, tier %d",
                (int)at, threads, used.n_restarts, used.tier);
      cr_assert_eq(run(&f, "tree", 8, NULL, &x, &used, NULL), HIA_OK);
      cr_assert_eq(x, 256);
      cr_assert(threads > 1 || used.n_restarts == 1, "poll %d", (int)at);
    }
    end(&f);
  }
}

Test(engine_tiers, failures_of_the_host_and_nested_runs_are_not_repeated) {
  NEEDS_NATIVE;
  fixture f;
  int32_t x;
  hia_run_stats used;
  begin(&f, 1);
  cr_assert_eq(hia_function_prepare(find(&f, "failing"), NULL), HIA_OK);
  for (uint64_t at = 1; at < 16; at++) {
    hia_error *error = NULL;
    f.engine->again_at = at;
    f.n_wrong = 0;
    cr_assert_eq(run(&f, "failing", 9, NULL, &x, &used, &error), HIA_HOST);
    cr_assert_eq(f.n_wrong, 7, "%d calls, poll %d", f.n_wrong, (int)at);
    const char *function = NULL;
    cr_assert(hia_error_chain_entry(error, 0, &function, NULL, NULL, NULL));
    cr_assert_str_eq(function, "failing");
    hia_error_free(error);
  }
  /* With fuel: what nested runs use is part of the record. */
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = true;
  options.fuel = 100000;
  f.engine->again_at = 0;
  cr_assert_eq(hia_function_prepare_for(find(&f, "nested"), &options, NULL), HIA_OK);
  cr_assert_eq(run(&f, "nested", 40, &options, &x, &used, NULL), HIA_OK);
  int32_t sum = x;
  uint64_t left = used.fuel_left;
  for (uint64_t at = 1; at < 80; at += 3) {
    f.engine->again_at = at;
    cr_assert_eq(run(&f, "nested", 40, &options, &x, &used, NULL), HIA_OK);
    cr_assert(x == sum && used.fuel_left == left, "poll %d: %d, %d left", (int)at, x,
              (int)used.fuel_left);
  }
  end(&f);
}

Test(engine_tiers, deadlines_and_cancels_end_runs_of_both_tiers) {
  NEEDS_NATIVE;
  fixture f;
  int32_t x;
  hia_run_stats used;
  begin(&f, 2);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  for (uint64_t at = 0; at < 3; at++) {
    if (at) cr_assert_eq(hia_function_prepare(find(&f, "spin"), NULL), HIA_OK);
    f.engine->again_at = at * 1000;
    options.timeout_ns = 3000000;
    cr_assert_eq(run(&f, "spin", 1, &options, &x, &used, NULL), HIA_DEADLINE);
    options.timeout_ns = 0;
    options.cancel = hia_cancel_new(NULL);
    hia_cancel_request(options.cancel);
    cr_assert_eq(run(&f, "spin", 1, &options, &x, &used, NULL), HIA_CANCELLED);
    hia_cancel_free(options.cancel);
    options.cancel = NULL;
  }
  end(&f);
}

/* On one core a run ends, and waits for native code. */
Test(engine_tiers, on_one_core_a_run_waits_for_native_code) {
  NEEDS_NATIVE;
  fixture f;
  int32_t x;
  hia_run_stats used;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  begin(&f, 2);
  f.engine->cores = 1;
  cr_assert_eq(run(&f, "fib", 38, NULL, &x, &used, NULL), HIA_OK);
  cr_assert(x == 63245986 && used.tier == HIA_TIER_NATIVE && used.n_restarts == 1);
  cr_assert_eq(run(&f, "tree", 19, NULL, &x, &used, NULL), HIA_OK);
  cr_assert_eq(x, 1 << 19);
  /* Effects are not replayed to the interpreter, so this one goes on meanwhile. */
  f.function = find(&f, "count");
  cr_assert_eq(run(&f, "count", 0, NULL, &x, &used, NULL), HIA_OK);
  cr_assert(x == f.n_next - 1 && used.tier == HIA_TIER_NATIVE);
  end(&f);
  /* Deadlines that end it in the interpreter, while it waits, and in native code. */
  for (uint64_t ms = 5; ms <= 80; ms += 15) {
    begin(&f, 2);
    f.engine->cores = 1;
    options.timeout_ns = ms * 1000000;
    cr_assert_eq(run(&f, "spin", 1, &options, &x, &used, NULL), HIA_DEADLINE);
    end(&f);
  }
}

static hia_status fail_to_compile(hia_session *session, const hia_graph *g,
                                  const hia_compile_options *options, hia_code **out,
                                  hia_compile_report *report, hia_error **error) {
  (void)session, (void)g, (void)options, (void)report;
  *out = NULL;
  return hiaR_fail_text(&hiaR_malloc, error, HIA_INTERNAL, NULL, "it was made to fail");
}

Test(engine_tiers, what_cannot_be_compiled_is_interpreted) {
  static const hia_backend broken = {.compile = fail_to_compile};
  fixture f;
  int32_t x;
  hia_run_stats used;
  begin(&f, 2);
  f.engine->native_tried = true;
  f.engine->backend = &broken;
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(run(&f, "fib", 24, NULL, &x, &used, NULL), HIA_OK);
    cr_assert(x == 75025 && used.tier == HIA_TIER_IMAGE);
  }
  for (bool is_told = false; !is_told; usleep(1000)) { /* by the thread that compiles */
    pthread_mutex_lock(&f.lock);
    is_told = strstr(f.log, "stays interpreted");
    pthread_mutex_unlock(&f.lock);
  }
  const char *line = strstr(f.log, "stays interpreted");
  cr_assert(line && strstr(line, "made to fail"), "%s", f.log);
  cr_assert_null(strstr(line + 1, "stays interpreted"), "it is tried once: %s", f.log);
  cr_assert_eq(hia_function_prepare(find(&f, "fib"), NULL), HIA_OK);
  end(&f);
}

/* The run that waits for it is made again in the interpreter. */
Test(engine_tiers, what_cannot_be_compiled_on_one_core_is_interpreted) {
  static const hia_backend broken = {.compile = fail_to_compile};
  fixture f;
  int32_t x;
  hia_run_stats used;
  begin(&f, 2);
  f.engine->cores = 1;
  f.engine->native_tried = true;
  f.engine->backend = &broken;
  cr_assert_eq(run(&f, "fib", 32, NULL, &x, &used, NULL), HIA_OK);
  cr_assert(x == 3524578 && used.tier == HIA_TIER_IMAGE && used.n_restarts == 1);
  end(&f);
}

/* ---- prepare_later ---- */

typedef struct told {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  unsigned n;
  hia_status status;
} told;

static void tell(void *user, hia_function *function, hia_status status) {
  told *t = user;
  cr_assert_not_null(function);
  pthread_mutex_lock(&t->lock);
  t->n++;
  t->status = status;
  pthread_cond_signal(&t->wake);
  pthread_mutex_unlock(&t->lock);
}

Test(engine_tiers, a_host_is_told_when_a_function_is_ready) {
  for (unsigned kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_AUTO; kind++) {
    if ((kind == HIA_ENGINE_JIT || kind == HIA_ENGINE_AUTO) && !has_native()) continue;
    fixture f;
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = (hia_engine_kind)kind;
    begin_with(&f, &options);
    told t = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
    cr_assert_eq(hia_function_prepare_later(find(&f, "fib"), NULL, tell, &t, NULL), HIA_OK);
    cr_assert_eq(hia_function_prepare_later(find(&f, "fib"), NULL, NULL, NULL, NULL), HIA_OK);
    cr_assert_eq(hia_function_prepare_later(find(&f, "tree"), NULL, tell, &t, NULL), HIA_OK);
    cr_assert_eq(hia_function_prepare(find(&f, "tree"), NULL), HIA_OK); /* out of the queue */
    pthread_mutex_lock(&t.lock);
    while (t.n < 2) pthread_cond_wait(&t.wake, &t.lock);
    cr_assert_eq(t.status, HIA_OK);
    pthread_mutex_unlock(&t.lock);
    cr_assert_eq(hia_function_prepare_later(find(&f, "fib"), NULL, tell, &t, NULL), HIA_OK);
    cr_assert_eq(t.n, 3, "it is told at once");
    if (kind == HIA_ENGINE_AUTO) cr_assert(is_native(find(&f, "fib")));
    hia_error *error = NULL;
    cr_assert_eq(hia_function_prepare_later(NULL, NULL, NULL, NULL, &error), HIA_ARGUMENT);
    hia_error_free(error);
    end(&f);
  }
}

/* An engine that is freed while it compiles waits for that; what waits in its queue is dropped. */
Test(engine_tiers, engines_are_freed_while_they_compile) {
  NEEDS_NATIVE;
  for (unsigned i = 0; i < 12; i++) {
    fixture f;
    int32_t x;
    hia_run_stats used;
    begin(&f, 1 + i % 2);
    told t = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
    cr_assert_eq(hia_function_prepare_later(find(&f, "tree"), NULL, tell, &t, NULL), HIA_OK);
    cr_assert_eq(hia_function_prepare_later(find(&f, "count"), NULL, tell, &t, NULL), HIA_OK);
    cr_assert_eq(run(&f, "fib", (int32_t)(12 + i), NULL, &x, &used, NULL), HIA_OK);
    end(&f);
    cr_assert_eq(t.n, 2);
  }
}

/* ---- a host's pool ---- */

typedef struct host_pool {
  pthread_t threads[64];
  unsigned n;
  bool refuses;
} host_pool;

typedef struct job {
  void (*fn)(void *arg);
  void *arg;
} job;

static void *call_job(void *user) {
  job j = *(job *)user;
  free(user);
  j.fn(j.arg);
  return NULL;
}

static bool start_job(void *user, void (*fn)(void *arg), void *arg) {
  host_pool *pool = user;
  if (pool->refuses || pool->n == 64) return false;
  job *j = malloc(sizeof *j);
  *j = (job){fn, arg};
  return pthread_create(&pool->threads[pool->n++], NULL, call_job, j) == 0;
}

Test(engine_tiers, compiling_is_a_job_of_the_hosts_pool) {
  NEEDS_NATIVE;
  for (int refuses = 0; refuses < 2; refuses++) {
    host_pool pool = {.refuses = refuses};
    const hia_thread_pool threads = {.start = start_job, .user = &pool};
    fixture f;
    int32_t x;
    hia_run_stats used;
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.pool = &threads;
    begin_with(&f, &options);
    if (refuses) {
      cr_assert_eq(run(&f, "fib", 22, NULL, &x, &used, NULL), HIA_OK);
      cr_assert(x == 28657 && used.tier == HIA_TIER_IMAGE);
    } else {
      f.function = find(&f, "count");
      cr_assert_eq(run(&f, "count", 0, NULL, &x, &used, NULL), HIA_OK);
      cr_assert(used.n_restarts == 1 && pool.n >= 1);
    }
    end(&f);
    for (unsigned i = 0; i < pool.n; i++) pthread_join(pool.threads[i], NULL);
  }
}
