/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Units of compilation: functions of one module are compiled at the same time, each once, and a
 * unit that fails leaves nothing behind.
 *
 * That something happens during a compilation is shown by an allocator that stops one thread at a
 * request of its own until the test lets it continue, never by time. */
#include "runtime/base/base.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include "tests/unit/helpers/time.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char text_of_all[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn pair(n: i32) = (n, fib(n))\n"
    "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
    "fn gcd(a: i64, b: i64) -> i64 = if b == 0 then a else gcd(b, a % b)\n";

/* ---- a thread that stops at one of its requests for memory ---- */

typedef struct gate {
  hia_allocator allocator;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread; /* whose requests are counted; with `others`, those of all other threads */
  bool is_counting, others;
  long requests, stop_at;
  bool has_stopped, may_go;
  hia_cancel *cancel; /* of a run that is cancelled where a thread has stopped */
} gate;

static void pass(gate *g) {
  pthread_mutex_lock(&g->lock);
  bool is_counted = g->is_counting && !pthread_equal(pthread_self(), g->thread) == g->others;
  if (is_counted && g->requests++ == g->stop_at) {
    g->has_stopped = true;
    pthread_cond_broadcast(&g->changed);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(60 * test_slowness());
    while (!g->may_go)
      if (pthread_cond_timedwait(&g->changed, &g->lock, &until)) abort(); /* a deadlock */
  }
  pthread_mutex_unlock(&g->lock);
}

static void *gate_alloc(void *user, size_t size) {
  pass(user);
  return malloc(size);
}
static void *gate_resize(void *user, void *block, size_t old_size, size_t size) {
  (void)old_size;
  pass(user);
  return realloc(block, size);
}
static void gate_free(void *user, void *block, size_t size) {
  (void)user, (void)size;
  free(block);
}

static void gate_init(gate *g, long stop_at) {
  *g = (gate){.stop_at = stop_at};
  g->allocator = (hia_allocator){gate_alloc, gate_resize, gate_free, g};
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->changed, NULL);
}

/* The calling thread is the one whose requests are counted. */
static void gate_arm(gate *g) {
  pthread_mutex_lock(&g->lock);
  g->thread = pthread_self();
  g->is_counting = true;
  pthread_mutex_unlock(&g->lock);
}
static void gate_wait(gate *g) {
  pthread_mutex_lock(&g->lock);
  while (!g->has_stopped) pthread_cond_wait(&g->changed, &g->lock);
  pthread_mutex_unlock(&g->lock);
}
static void gate_open(gate *g) {
  pthread_mutex_lock(&g->lock);
  g->may_go = true;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->lock);
}

/* ---- a program in an engine ---- */

typedef struct world {
  gate gate;
  hia_engine *engine;
  hia_module *module;
  _Atomic unsigned n_ready, n_hurried; /* lines of the log that say so */
} world;

static void listen(void *user, const char *message) {
  world *w = user;
  if (strstr(message, "is ready")) w->n_ready++;
  if (strstr(message, "budget")) w->n_hurried++;
}

static void world_with(world *w, hia_engine_options options, long stop_at) {
  w->n_ready = w->n_hurried = 0;
  gate_init(&w->gate, stop_at);
  options.allocator = &w->gate.allocator;
  options.log = listen;
  options.log_user = w;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  if (options.kind == HIA_ENGINE_JIT) NEEDS_NATIVE;
  cr_assert_eq(
      hia_module_load_text(w->engine, "t", text_of_all, strlen(text_of_all), &w->module, NULL),
      HIA_OK);
}

static void world_open(world *w, hia_engine_kind kind, long stop_at) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.opt_level = 0;
  world_with(w, options, stop_at);
}

static void world_close(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
  pthread_cond_destroy(&w->gate.changed);
  pthread_mutex_destroy(&w->gate.lock);
}

static void call(world *w, const char *name, int32_t n, const char *wanted) {
  hia_value *arg = hia_value_i32(w->engine, n), *result;
  hia_error *error;
  char text[64];
  cr_assert_eq(hia_call(find_function(w->module, name), &arg, 1, &result, &error), HIA_OK, "%s",
               hia_error_text(error));
  hia_value_format(result, text, sizeof text);
  cr_assert_str_eq(text, wanted);
  hia_value_free(result);
  hia_value_free(arg);
}

static void *prepare_fib(void *user) {
  world *w = user;
  hia_function *fib = find_function(w->module, "fib");
  gate_arm(&w->gate);
  hia_status status = hia_function_prepare(fib, NULL);
  return status == HIA_OK ? w : NULL;
}

/* The number of requests that making fib ready takes. */
static long count_requests(hia_engine_kind kind) {
  world w;
  world_open(&w, kind, -1);
  cr_assert_not_null(prepare_fib(&w));
  long n = w.gate.requests;
  world_close(&w);
  cr_assert_gt(n, 8);
  return n;
}

/* While one thread is stopped in a compilation. */
static void beside(hia_engine_kind kind) {
  long n = count_requests(kind);

  /* Near the end no lock is held; near the beginning the program's graph is being built. */
  for (long back = 2; back <= n / 4; back += 1 + n / 12) {
    world w;
    pthread_t maker, same;
    void *made, *also;
    world_open(&w, kind, n - back);
    cr_assert_eq(pthread_create(&maker, NULL, prepare_fib, &w), 0);
    gate_wait(&w.gate);
    call(&w, "pair", 10, "(10, 89)"); /* another unit, with fib in it */
    hia_value *arg = hia_value_f64(w.engine, 5), *result;
    cr_assert_eq(hia_call(find_function(w.module, "fact"), &arg, 1, &result, NULL),
                 HIA_OK); /* a new instance */
    hia_value_free(result);
    hia_value_free(arg);
    unsigned before = w.n_ready;
    cr_assert_eq(pthread_create(&same, NULL, prepare_fib, &w), 0);
    gate_open(&w.gate);
    pthread_join(maker, &made);
    pthread_join(same, &also);
    cr_assert(made && also);
    cr_assert_eq(w.n_ready, before + 1, "one of the two has made it");
    call(&w, "fib", 11, "144");
    world_close(&w);
  }
}

Test(engine_units, native_side_by_side) { beside(HIA_ENGINE_JIT); }
Test(engine_units, interpreted_side_by_side) { beside(HIA_ENGINE_INTERP); }

/* ---- dumps and builds, which need the program only at the beginning ---- */

static bool dump_all(const world *w, test_text *t) {
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = HIA_STAGE_ASM;
  return hia_module_dump(w->module, NULL, 0, &options, test_text_take, t, NULL) == HIA_OK;
}
static bool build_all(const world *w, test_text *t) {
  hia_build_options options = HIA_BUILD_OPTIONS_INIT;
  options.prefix = "p";
  return hia_module_build_object(w->module, NULL, 0, &options, test_text_take, t, NULL) == HIA_OK;
}
static bool (*const makers[])(const world *w, test_text *t) = {dump_all, build_all};

typedef struct text_maker {
  world *w;
  size_t which;
} text_maker;

static void *make_text(void *user) {
  text_maker *m = user;
  test_text t = {0};
  gate_arm(&m->w->gate);
  bool ok = makers[m->which](m->w, &t);
  test_text_free(&t);
  return ok ? m : NULL;
}

/* While a dump or a build stands still behind LLVM, other functions are made and called. */
Test(engine_units, beside_dumps_and_builds) {
  NEEDS_NATIVE;
  for (size_t which = 0; which < 2; which++) {
    world w;
    text_maker m = {&w, which};
    world_open(&w, HIA_ENGINE_JIT, -1);
    cr_assert_not_null(make_text(&m));
    long n = w.gate.requests;
    world_close(&w);
    pthread_t thread;
    void *made;
    world_open(&w, HIA_ENGINE_JIT, n - 1);
    cr_assert_eq(pthread_create(&thread, NULL, make_text, &m), 0);
    gate_wait(&w.gate);
    call(&w, "pair", 10, "(10, 89)");
    gate_open(&w.gate);
    pthread_join(thread, &made);
    cr_assert_not_null(made);
    world_close(&w);
  }
}

/* They take nothing from the module's memory. */
Test(engine_units, dumps_and_builds_give_back_their_memory) {
  NEEDS_NATIVE;
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &heap.allocator;
  options.opt_level = 0;
  world w = {0};
  cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
  cr_assert_eq(
      hia_module_load_text(w.engine, "t", text_of_all, strlen(text_of_all), &w.module, NULL),
      HIA_OK);
  long bytes = 0;
  for (int round = 0; round < 5; round++) {
    for (size_t which = 0; which < 2; which++) {
      test_text t = {0};
      cr_assert(makers[which](&w, &t));
      test_text_free(&t);
    }
    if (round == 1) bytes = heap.bytes; /* instances and the compiler are there */
  }
  cr_assert_eq(heap.bytes, bytes, "%ld bytes more", heap.bytes - bytes);
  hia_module_free(w.module);
  hia_engine_free(w.engine);
}

/* ---- a module that was read as a graph: all its functions are one unit ---- */

Test(engine_units, of_a_graph_are_one) {
  world w;
  world_open(&w, HIA_ENGINE_INTERP, -1);
  hia_function *functions[2] = {find_function(w.module, "fib"), find_function(w.module, "pair")};
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = HIA_STAGE_GRAPH;
  test_text t = {0};
  cr_assert_eq(hia_module_dump(w.module, functions, 2, &options, test_text_take, &t, NULL), HIA_OK);
  hia_module_free(w.module);
  cr_assert_eq(hia_module_load_ir(w.engine, "t", t.data, t.len, &w.module, NULL), HIA_OK);
  test_text_free(&t);
  call(&w, "pair", 10, "(10, 89)");
  call(&w, "fib", 10, "89");
  cr_assert_eq(w.n_ready, 1);
  hia_run_options fuel = HIA_RUN_OPTIONS_INIT;
  fuel.has_fuel = true;
  cr_assert_eq(hia_function_prepare_for(find_function(w.module, "fib"), &fuel, NULL), HIA_OK);
  cr_assert_eq(hia_function_prepare_for(find_function(w.module, "pair"), &fuel, NULL), HIA_OK);
  cr_assert_eq(w.n_ready, 2);
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_function_get_stats(find_function(w.module, "fib"), &stats), HIA_OK);
  cr_assert_eq(stats.versions, 2);
  world_close(&w);
}

/* ---- out of memory ---- */

/* A module in which any request fails works like a new one when there is memory again. */
static void recover(hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.opt_level = 0;
  test_heap heap;
  test_heap_init(&heap, -1);
  options.allocator = &heap.allocator;
  hia_status status = HIA_MEMORY;
  for (long n = 0; status == HIA_MEMORY; n += 1 + n / 16) {
    world w = {0};
    cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
    if (kind == HIA_ENGINE_JIT) NEEDS_NATIVE;
    cr_assert_eq(
        hia_module_load_text(w.engine, "t", text_of_all, strlen(text_of_all), &w.module, NULL),
        HIA_OK);
    hia_value *arg = hia_value_i64(w.engine, 5), *result;
    for (int attempt = 0; attempt < 3; attempt++) {
      hia_function *fact;
      heap.left = n;
      status = hia_module_function(w.module, "fact", &fact, NULL);
      if (status == HIA_OK) status = hia_call(fact, &arg, 1, &result, NULL);
      heap.left = -1;
      if (status == HIA_OK) hia_value_free(result);
      cr_assert(status == HIA_OK || status == HIA_MEMORY, "%ld: %s", n, hia_status_word(status));
    }
    hia_function *fact = find_function(w.module, "fact");
    hia_error *error;
    cr_assert_eq(hia_call(fact, &arg, 1, &result, &error), HIA_OK, "%ld: %s", n,
                 hia_error_text(error));
    int64_t x = 0;
    cr_assert_eq(hia_value_get_i64(result, &x), HIA_OK);
    cr_assert_eq(x, 120);
    hia_value_free(result);
    hia_value_free(arg);
    call(&w, "pair", 10, "(10, 89)");
    hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
    test_text t = {0};
    cr_assert_eq(hia_module_dump(w.module, NULL, 0, &dump, test_text_take, &t, NULL), HIA_OK);
    test_text_free(&t);
    hia_module_free(w.module);
    hia_engine_free(w.engine);
    cr_assert_eq(heap.bytes, 0, "%ld", n);
  }
}

Test(engine_units, native_out_of_memory) { recover(HIA_ENGINE_JIT); }
Test(engine_units, interpreted_out_of_memory) { recover(HIA_ENGINE_INTERP); }

/* ---- modules that are loaded and freed ---- */

static long resident_pages(void) {
  long size, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
  fclose(file);
  return resident;
}

static void come_and_go(hia_engine *engine, int round) {
  char text[256];
  int len =
      snprintf(text, sizeof text,
               "fn down%d(n: i64) -> (i64, f64) = if n == 0 then (%d, 1.5) else down%d(n - 1)\n"
               "fn main(n: i64) = down%d(n).0 + %d\n",
               round, round, round, round, round);
  hia_module *module;
  hia_function *f;
  hia_error *error;
  cr_assert_eq(hia_module_load_text(engine, "t", text, (size_t)len, &module, &error), HIA_OK, "%s",
               hia_error_text(error));
  cr_assert_eq(hia_module_function(module, "main", &f, NULL), HIA_OK);
  hia_value *arg = hia_value_i64(engine, 10), *result;
  cr_assert_eq(hia_call(f, &arg, 1, &result, NULL), HIA_OK);
  int64_t x;
  cr_assert_eq(hia_value_get_i64(result, &x), HIA_OK);
  cr_assert_eq(x, 2 * round);
  if (round % 4 == 0) {
    hia_native_fn entry;
    cr_assert_eq(hia_function_entry(f, &entry, NULL), HIA_OK);
  }
  hia_value_free(result);
  hia_value_free(arg);
  hia_module_free(module);
}

/* Code, tables, and LLVM's types and names are freed with the module. */
Test(engine_units, modules_give_back_their_memory) {
  NEEDS_NATIVE;
  enum { ROUNDS = 1200 / HIA_TEST_SHARE, WARM = ROUNDS / 3 };
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.opt_level = 0;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  for (int i = 0; i < WARM; i++) come_and_go(engine, i);
  long before = resident_pages();
  for (int i = WARM; i < ROUNDS; i++) come_and_go(engine, i);
  long grown = (resident_pages() - before) * 4;
  hia_engine_free(engine);
#ifdef HIA_ASAN
  (void)grown; /* what is freed waits in AddressSanitizer's quarantine; its leaks are looked for */
#else
  cr_assert_lt(grown, 3 * (ROUNDS - WARM), "%ld KiB more for %d modules", grown, ROUNDS - WARM);
#endif
}

/* ---- runs that end while their function is compiled ---- */

/* The requests of all threads but this one are counted. */
static void gate_arm_others(gate *g) {
  g->others = true;
  gate_arm(g);
}

static hia_status run_fib(world *w, const hia_run_options *options) {
  hia_value *arg = hia_value_i32(w->engine, 10), *result;
  hia_error *error;
  hia_status status = hia_run(find_function(w->module, "fib"), &arg, 1, options, &result, &error);
  if (status == HIA_OK) {
    int32_t x;
    cr_assert_eq(hia_value_get_i32(result, &x), HIA_OK);
    cr_assert_eq(x, 89);
  } else {
    cr_assert(error && strstr(hia_error_text(error), "compiled"), "%s", hia_error_text(error));
  }
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
  return status;
}

/* Requests of the thread that compiles fib for a run with a timeout. */
static long count_for_a_run(hia_engine_kind kind) {
  world w;
  world_open(&w, kind, -1);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 3600000000000;
  gate_arm_others(&w.gate);
  cr_assert_eq(run_fib(&w, &options), HIA_OK);
  cr_assert_eq(w.n_ready, 1);
  long n = w.gate.requests;
  world_close(&w);
  cr_assert_gt(n, 8, "another thread has compiled");
  return n;
}

/* The compilation is stopped until the run has ended. */
static void past_its_deadline(hia_engine_kind kind) {
  long n = count_for_a_run(kind);
  world w;
  world_open(&w, kind, n - 2);
  gate_arm_others(&w.gate);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 1000000;
  cr_assert_eq(run_fib(&w, &options), HIA_DEADLINE);
  cr_assert_eq(w.n_ready, 0);
  gate_wait(&w.gate);
  cr_assert_eq(run_fib(&w, &options), HIA_DEADLINE, "it waits for the same compilation");
  call(&w, "pair", 10, "(10, 89)"); /* this compilation is never stopped */
  cr_assert_eq(w.n_ready, 1);
  gate_open(&w.gate);
  call(&w, "fib", 10, "89");
  cr_assert_eq(w.n_ready, 2, "what was begun was kept");
  world_close(&w);
}

Test(engine_units, native_past_its_deadline) { past_its_deadline(HIA_ENGINE_JIT); }
Test(engine_units, interpreted_past_its_deadline) { past_its_deadline(HIA_ENGINE_INTERP); }

static void *cancel_when_stopped(void *user) {
  world *w = user;
  gate_wait(&w->gate);
  hia_cancel_request(w->gate.cancel);
  return NULL;
}

Test(engine_units, cancelled_while_compiling) {
  long n = count_for_a_run(HIA_ENGINE_INTERP);
  world w;
  world_open(&w, HIA_ENGINE_INTERP, n - 2);
  gate_arm_others(&w.gate);
  w.gate.cancel = hia_cancel_new(NULL);
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, cancel_when_stopped, &w), 0);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.cancel = w.gate.cancel;
  cr_assert_eq(run_fib(&w, &options), HIA_CANCELLED);
  pthread_join(thread, NULL);
  gate_open(&w.gate);
  hia_cancel_free(w.gate.cancel);
  world_close(&w); /* waits for the compilation */
}

/* A compilation that is not needed any more ends at its next check, also if its module was freed.
 */
Test(engine_units, of_a_freed_module_are_thrown_away) {
  long n = count_for_a_run(HIA_ENGINE_INTERP);
  world w;
  world_open(&w, HIA_ENGINE_INTERP, n / 3);
  gate_arm_others(&w.gate);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 1000000;
  cr_assert_eq(run_fib(&w, &options), HIA_DEADLINE);
  gate_wait(&w.gate);
  hia_module_free(w.module);
  w.module = NULL;
  gate_open(&w.gate);
  world_close(&w);
  cr_assert_eq(w.n_ready, 0);
}

/* A run without a deadline compiles; one with a deadline waits for that. */
Test(engine_units, waiting_has_a_deadline) {
  long n = count_requests(HIA_ENGINE_INTERP);
  world w;
  world_open(&w, HIA_ENGINE_INTERP, n - 2);
  pthread_t maker;
  void *made;
  cr_assert_eq(pthread_create(&maker, NULL, prepare_fib, &w), 0);
  gate_wait(&w.gate);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 1000000;
  cr_assert_eq(run_fib(&w, &options), HIA_DEADLINE);
  gate_open(&w.gate);
  pthread_join(maker, &made);
  cr_assert_not_null(made);
  options.timeout_ns = 3600000000000;
  cr_assert_eq(run_fib(&w, &options), HIA_OK);
  cr_assert_eq(w.n_ready, 1);
  world_close(&w);
}

static bool no_thread(void *user, void (*work)(void *arg), void *arg) {
  (void)user, (void)work, (void)arg;
  return false;
}

/* With the host's threads no other thread is started: the caller compiles, and checks. */
Test(engine_units, no_thread_beside_a_hosts_pool) {
  hia_thread_pool pool = {.start = no_thread};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.pool = &pool;
  world w;
  world_with(&w, options, -1);
  gate_arm_others(&w.gate);
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  run.timeout_ns = 3600000000000;
  cr_assert_eq(run_fib(&w, &run), HIA_OK);
  cr_assert_eq(w.gate.requests, 0);
  world_close(&w);
}

/* ---- limits ---- */

/* Functions that call one another. */
static char *many_functions(size_t n, size_t *len) {
  char *text = malloc(n * 100 + 100), *at = text;
  for (size_t i = 0; i < n; i++)
    at += sprintf(at,
                  "fn g%zu_(n: i32) -> i32 = if n <= 1 then %zu else g%zu_(n - 1) + g%zu_(n - 2)\n",
                  i, i, (i + 1) % n, (i * 7 + 3) % n);
  at += sprintf(at, "fn main(n: i32) = g0_(n)\n");
  *len = (size_t)(at - text);
  return text;
}

Test(engine_units, compiling_counts_as_memory_of_a_run) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine;
  hia_module *module;
  hia_function *f;
  hia_error *error;
  size_t len;
  char *text = many_functions(4000, &len);
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "t", text, len, &module, NULL), HIA_OK);
  free(text);
  cr_assert_eq(hia_module_function(module, "main", &f, NULL), HIA_OK);
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  run.max_memory = 1000000;
  hia_value *arg = hia_value_i32(engine, 3), *result;
  cr_assert_eq(hia_run(f, &arg, 1, &run, &result, &error), HIA_MEMORY);
  cr_assert_not_null(error);
  hia_error_free(error);
  cr_assert_eq(hia_run(f, &arg, 1, NULL, &result, &error), HIA_OK, "%s", hia_error_text(error));
  hia_value_free(result);
  cr_assert_eq(hia_run(f, &arg, 1, &run, &result, &error), HIA_OK, "what is ready is not counted");
  hia_value_free(result);
  hia_value_free(arg);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* ---- the budget ---- */

Test(engine_units, out_of_budget) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.budget_ns = 1;
  world w;
  world_with(&w, options, -1);
  call(&w, "fib", 10, "89");
  hia_function *fib = find_function(w.module, "fib");
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_function_get_stats(fib, &stats), HIA_OK);
  cr_assert_eq(stats.tier, HIA_TIER_IMAGE);
  cr_assert_eq(stats.hurried, 1);
  cr_assert_eq(w.n_hurried, 1);
  /* A typed entry needs code, which is made without optimising. */
  hia_native_fn entry;
  hia_context *context;
  int32_t x = 0;
  cr_assert_eq(hia_function_entry(fib, &entry, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(w.engine, &context, NULL), HIA_OK);
  typedef hia_status (*fib_fn)(hia_context *, int32_t, int32_t *);
  cr_assert_eq(((fib_fn)entry)(context, 12, &x), HIA_OK);
  cr_assert_eq(x, 233);
  hia_context_free(context);
  cr_assert_eq(hia_function_get_stats(fib, &stats), HIA_OK);
  cr_assert_eq(stats.tier, HIA_TIER_NATIVE);
  cr_assert_eq(stats.versions, 2);
  cr_assert_eq(stats.hurried, 2);
  cr_assert_eq(stats.opt_level, 0);
  call(&w, "fib", 11, "144"); /* with the code */
  cr_assert_eq(w.n_hurried, 2);
  world_close(&w);
}

Test(engine_units, within_the_budget) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.budget_ns = 0;
  world w;
  world_with(&w, options, -1);
  call(&w, "fib", 10, "89");
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_function_get_stats(find_function(w.module, "fib"), &stats), HIA_OK);
  cr_assert(stats.tier == HIA_TIER_NATIVE && stats.hurried == 0 && stats.opt_level == 3);
  cr_assert_eq(w.n_hurried, 0);
  world_close(&w);
}
