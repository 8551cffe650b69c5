/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Several threads use one engine at random, in all ways that are allowed at the same time.
 *
 *   engine [ROUNDS [SEED]]
 *
 * Each loads and frees its own modules and registers host functions. In a module that they all
 * share they look up functions, instances and typed entries, run, prepare, dump, build and read
 * statistics. Every result must be correct. ThreadSanitizer runs this too. */
#include "tests/stress/program.h"
#include "tests/unit/helpers/text.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "extern fn plus(a: i32, b: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else plus(fib(n - 1), fib(n - 2))\n"
    "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
    "fn twice(x) = (x, x)\n"
    "fn half(a: i32, b: i32) -> i32 = a / b\n"
    "fn spin() -> i32 = loop (i = 0) while true { i + 1 }\n";

enum { N_THREADS = 4, N_ACTS = 11 };

static int32_t plus(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

typedef struct worker {
  pthread_t thread;
  hia_engine *engine;
  hia_module *shared;
  bool is_native;
  unsigned rounds, number, wrong, registered;
  uint32_t random;
} worker;

static atomic_uint heard;
static void listen(void *user, const char *message) {
  (void)user;
  if (message[0]) atomic_fetch_add(&heard, 1);
}

static uint32_t next(worker *w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 17;
  return w->random ^= w->random << 5;
}

/* Counts and prints a wrong result, with the error that the call has set. */
static void expect(worker *w, bool is_right, const char *what, hia_error **error) {
  if (!is_right) {
    w->wrong++;
    printf("thread %u: %s: %s\n", w->number, what, error ? hia_error_text(*error) : "");
  }
  if (error) hia_error_free(*error);
}

static hia_function *function(worker *w, hia_module *module, const char *name) {
  hia_function *f;
  hia_error *error;
  expect(w, hia_module_function(module, name, &f, &error) == HIA_OK, name, &error);
  return f;
}

static void run(worker *w, hia_function *f, hia_value *arg, const hia_run_options *options,
                const char *wanted) {
  char printed[64] = "";
  hia_value *result;
  hia_error *error;
  hia_status status = hia_run(f, &arg, arg ? 1 : 0, options, &result, &error);
  hia_value_format(result, printed, sizeof printed);
  const char *got = status ? hia_status_word(status) : printed;
  expect(w, strcmp(got, wanted) == 0, wanted, &error);
  hia_value_free(result);
  hia_value_free(arg);
}

/* ---- the actions ---- */

static void call_shared(worker *w) {
  run(w, function(w, w->shared, "fib"), hia_value_i32(w->engine, 10), NULL, "89");
}

static void call_generic(worker *w) {
  hia_function *fact = function(w, w->shared, "fact");
  run(w, fact, hia_value_i64(w->engine, 10), NULL, "3628800");
  run(w, fact, hia_value_f64(w->engine, 5), NULL, "120.0");
}

/* Sometimes makes a new instance. */
static void call_tuples(worker *w) {
  hia_value *value = hia_value_bool(w->engine, true);
  char wanted[256] = "true";
  for (uint32_t depth = next(w) % 4; depth; depth--) {
    hia_value *parts[2] = {value, hia_value_i32(w->engine, 1)};
    value = hia_value_tuple(w->engine, parts, 2);
    hia_value_free(parts[0]);
    hia_value_free(parts[1]);
    char inner[128];
    snprintf(inner, sizeof inner, "%.120s", wanted);
    snprintf(wanted, sizeof wanted, "(%s, 1)", inner);
  }
  char both[2 * sizeof wanted + 8];
  snprintf(both, sizeof both, "(%s, %s)", wanted, wanted);
  hia_value *result;
  hia_error *error;
  char printed[512] = "";
  hia_status status = hia_call(function(w, w->shared, "twice"), &value, 1, &result, &error);
  hia_value_format(result, printed, sizeof printed);
  expect(w, status == HIA_OK && strcmp(printed, both) == 0, both, &error);
  hia_value_free(result);
  hia_value_free(value);
}

static void call_with_options(worker *w) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  options.stats = &stats;
  options.has_fuel = next(w) % 2;
  options.fuel = options.has_fuel ? 1000 : 0;
  options.max_depth = (size_t)1 << 20;
  run(w, function(w, w->shared, "fib"), hia_value_i32(w->engine, 10), &options, "89");
  options = (hia_run_options)HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 100000;
  run(w, function(w, w->shared, "spin"), NULL, &options, "deadline");
}

static void cancel_at_once(worker *w) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.cancel = hia_cancel_new(NULL);
  hia_cancel_request(options.cancel);
  run(w, function(w, w->shared, "spin"), NULL, &options, "cancelled");
  hia_cancel_free(options.cancel);
}

static void enter(worker *w) {
  hia_function *f = function(w, w->shared, "half");
  hia_native_fn entry;
  hia_error *error;
  hia_status status = hia_function_entry(f, &entry, &error);
  expect(w, status == (w->is_native ? HIA_OK : HIA_UNSUPPORTED), "entry", &error);
  if (status) return;
  hia_context *context;
  expect(w, hia_engine_context_new(w->engine, &context, &error) == HIA_OK, "context", &error);
  typedef hia_status (*half_fn)(hia_context *, int32_t, int32_t, int32_t *);
  int32_t x = 0;
  bool is_right = ((half_fn)entry)(context, 1, 0, NULL) == HIA_DIV_ZERO &&
                  hia_error_chain_length(hia_context_error(context)) == 1 &&
                  ((half_fn)entry)(context, 7, 2, &x) == HIA_OK && x == 3;
  expect(w, is_right, "half", NULL);
  hia_context_free(context);
}

static void ask(worker *w) {
  hia_function *f = function(w, w->shared, next(w) % 2 ? "fib" : "fact(i64)");
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  expect(w, hia_function_get_stats(f, &stats) == HIA_OK && stats.parse_ns > 0, "statistics", NULL);
  hia_value *value;
  hia_error *error;
  expect(w, hia_value_parse(f, 0, "12", &value, &error) == HIA_OK, "parse", &error);
  hia_value_free(value);
}

static void dump(worker *w) {
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = (hia_stage)(next(w) % (w->is_native && next(w) % 4 == 0 ? 6 : 3));
  hia_function *f = function(w, w->shared, "half");
  test_text t = {0};
  hia_error *error;
  expect(w,
         hia_module_dump(w->shared, &f, 1, &options, test_text_take, &t, &error) == HIA_OK &&
             t.len > 20,
         "dump", &error);
  test_text_free(&t);
}

/* A function that may be in compilation, and that other threads use too. */
static void end_soon(worker *w, hia_function *f) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 1 + next(w) % 2000000;
  hia_value *arg = hia_value_i32(w->engine, 10), *result;
  hia_error *error;
  char printed[64] = "";
  hia_status status = hia_run(f, &arg, 1, &options, &result, &error);
  hia_value_format(result, printed, sizeof printed);
  expect(w, status == HIA_DEADLINE || strcmp(printed, "55") == 0, "55 or deadline", &error);
  hia_value_free(result);
  hia_value_free(arg);
}

static void load(worker *w) {
  static const char own[] = "extern fn plus(a: i32, b: i32) -> i32\n"
                            "fn sum(n: i32) -> i32 = if n == 0 then 0 else plus(n, sum(n - 1))\n";
  hia_module *module;
  hia_error *error;
  hia_status status = hia_module_load_text(w->engine, "own", own, sizeof own - 1, &module, &error);
  expect(w, status == HIA_OK, "load", &error);
  if (status) return;
  hia_function *f = function(w, module, "sum");
  if (next(w) % 2) end_soon(w, f);
  if (next(w) % 4 == 0) /* other threads may be compiling */
    run(w, f, hia_value_i32(w->engine, 10), NULL, "55");
  hia_module_free(module);
}

static void load_nonsense(worker *w) {
  hia_module *module;
  hia_error *error;
  expect(w,
         hia_module_load_text(w->engine, "bad", "fn f( = 1", 9, &module, &error) == HIA_REJECTED &&
             !module && hia_error_count(error) > 0,
         "nonsense", &error);
}

static void register_one(worker *w) {
  char declaration[64], program[160];
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  hia_error *error;
  if (w->registered >= 50) return;
  int len = snprintf(declaration, sizeof declaration, "extern fn p%u_%u(a: i32, b: i32) -> i32",
                     w->number, w->registered);
  host.declaration = declaration;
  host.function = (void (*)(void))plus;
  expect(w, hia_engine_register(w->engine, &host, &error) == HIA_OK, declaration, &error);
  len = snprintf(program, sizeof program, "%.*s\nfn main(n: i32) -> i32 = p%u_%u(n, 1)\n", len,
                 declaration, w->number, w->registered);
  w->registered++;
  hia_module *module;
  expect(w, hia_module_load_text(w->engine, "p", program, (size_t)len, &module, &error) == HIA_OK,
         "a module for it", &error);
  hia_module_free(module);
}

static void *work(void *user) {
  static void (*const acts[N_ACTS])(worker *) = {
      call_shared, call_generic, call_tuples, call_with_options, cancel_at_once, enter,
      ask,         dump,         load,        load_nonsense,     register_one};
  worker *w = user;
  for (unsigned i = 0; i < w->rounds; i++) acts[next(w) % N_ACTS](w);
  return NULL;
}

static unsigned round_of(hia_engine_kind kind, unsigned threads, unsigned rounds, uint32_t seed) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  options.opt_level = 0; /* this is not a test of LLVM */
  options.log = listen;
  hia_engine *engine;
  hia_module *module;
  hia_error *error;
  if (hia_engine_new(&options, &engine, &error)) stop_with(error);
  bool is_native = kind == HIA_ENGINE_JIT || kind == HIA_ENGINE_AUTO;
  if (is_native && hia_engine_native(engine, NULL)) {
    hia_engine_free(engine);
    return 0;
  }
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern fn plus(a: i32, b: i32) -> i32";
  host.function = (void (*)(void))plus;
  if (hia_engine_register(engine, &host, &error)) stop_with(error);
  if (hia_module_load_text(engine, "shared", text, sizeof text - 1, &module, &error))
    stop_with(error);
  static worker workers[N_THREADS];
  unsigned wrong = 0;
  for (unsigned t = 0; t < N_THREADS; t++) {
    workers[t] = (worker){.engine = engine,
                          .shared = module,
                          .is_native = is_native,
                          .rounds = rounds,
                          .number = t,
                          .random = seed * 77 + t + 1};
    pthread_create(&workers[t].thread, NULL, work, &workers[t]);
  }
  for (unsigned t = 0; t < N_THREADS; t++) {
    pthread_join(workers[t].thread, NULL);
    wrong += workers[t].wrong;
  }
  hia_module_free(module);
  hia_engine_free(engine);
  return wrong;
}

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 300;
  uint32_t seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
  unsigned wrong = 0;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    wrong += round_of(HIA_ENGINE_INTERP, threads, rounds, seed);
    wrong += round_of(HIA_ENGINE_EXPAND, threads, rounds, seed);
    wrong += round_of(HIA_ENGINE_JIT, threads, rounds, seed);
    wrong += round_of(HIA_ENGINE_AUTO, threads, rounds, seed);
  }
  printf("%u wrong, %u lines of log\n", wrong, atomic_load(&heard));
  return wrong || !atomic_load(&heard);
}
