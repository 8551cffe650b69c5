/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A host for ThreadSanitizer: threads share an engine and a function, native and interpreted, with
 * workers, host functions, the host's own allocator and thread pool, cancels, deadlines
 * and a timeline. With the argument `race` it also has a race of its own. */
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_THREADS = 4, N_ROUNDS = 12 };

static const char text[] =
    "extern fn pure(x: i64) -> i64\n"
    "extern impure fn note(x: i64) -> i64\n"
    "fn fib(n: i64) -> i64 = if n <= 1 then pure(n) else fib(n - 1) + fib(n - 2)\n"
    "fn noted(n: i64) -> i64 = if n == 0 then 0 else note(n) + noted(n - 1)\n"
    "fn spin(n: i64) -> i64 = loop (x = n) while x != 0 { x * 3 + 1 }\n";

static hia_engine *engine;
static hia_module *module;
static hia_function *fib, *noted, *spin;
static hia_cancel *cancel;
static hia_timeline *timeline;
static int shared; /* the variable of the race */
static atomic_int n_bytes, n_started, n_wrong;

static int64_t pure(int64_t x) { return x + 1; }
static int64_t note(void *user, int64_t x) { return *(int64_t *)user + x; }

static void *take(void *user, size_t size) {
  (void)user;
  atomic_fetch_add(&n_bytes, (int)size);
  return malloc(size);
}
static void *resize(void *user, void *block, size_t old_size, size_t size) {
  (void)user;
  atomic_fetch_add(&n_bytes, (int)size - (int)old_size);
  return realloc(block, size);
}
static void give(void *user, void *block, size_t size) {
  (void)user;
  atomic_fetch_sub(&n_bytes, (int)size);
  free(block);
}

typedef struct work {
  void (*function)(void *);
  void *arg;
} work;
static void *do_work(void *arg) {
  work w = *(work *)arg;
  free(arg);
  w.function(w.arg);
  return NULL;
}
static bool start(void *user, void (*function)(void *), void *arg) {
  (void)user;
  pthread_t thread;
  work *w = malloc(sizeof *w);
  *w = (work){function, arg};
  if (pthread_create(&thread, NULL, do_work, w) != 0) return false;
  pthread_detach(thread);
  atomic_fetch_add(&n_started, 1);
  return true;
}

/* A call may be an argument, and set *error: the order in which arguments are evaluated is not
 * defined. */
static void check(hia_status status, hia_status wanted, hia_error **error) {
  if (status != wanted) {
    atomic_fetch_add(&n_wrong, 1);
    fprintf(stderr, "%s: %s\n", hia_status_word(status), *error ? hia_error_text(*error) : "");
  }
  hia_error_free(*error);
  *error = NULL;
}

static void call(hia_function *f, int64_t n, const hia_run_options *options, hia_status wanted,
                 int64_t result) {
  hia_error *error = NULL;
  hia_value *arg = hia_value_i64(engine, n), *value;
  hia_status status = hia_run(f, &arg, 1, options, &value, &error);
  int64_t x = 0;
  check(status, wanted, &error);
  if (status == HIA_OK && (hia_value_get_i64(value, &x) != HIA_OK || x != result))
    check(HIA_INTERNAL, HIA_OK, &error);
  hia_value_free(value);
  hia_value_free(arg);
}

static void *caller(void *arg) {
  int id = *(int *)arg;
  for (int i = 0; i < N_ROUNDS; i++) {
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    if (i % 3 == 0) options.timeline = timeline;
    call(fib, 16, &options, HIA_OK, 2584);
    call(noted, 20, &options, HIA_OK, 20 * 7 + 210);
    options.timeout_ns = 2000000;
    if (i % 4 == 0) call(spin, 1, &options, HIA_DEADLINE, 0);
    options.timeout_ns = 0;
    options.cancel = cancel;
    if (i % 4 == 1) {
      hia_error *error = NULL;
      hia_value *n = hia_value_i64(engine, 1), *value;
      hia_status status = hia_run(spin, &n, 1, &options, &value, &error);
      check(status, HIA_CANCELLED, &error);
      hia_value_free(n);
    }
  }
  (void)id;
  return NULL;
}

static void *racer(void *arg) {
  (void)arg;
  for (int i = 0; i < 1000; i++) shared++;
  return NULL;
}

static void run(hia_engine_kind kind, bool has_pool) {
  static const hia_allocator allocator = {take, resize, give, NULL};
  static const hia_thread_pool pool = {start, NULL};
  static int64_t user = 7;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error = NULL;
  options.kind = kind;
  options.threads = 3;
  options.allocator = &allocator;
  if (has_pool) options.pool = &pool;
  check(hia_engine_new(&options, &engine, &error), HIA_OK, &error);
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern fn pure(x: i64) -> i64";
  host.function = (void (*)(void))pure;
  check(hia_engine_register(engine, &host, &error), HIA_OK, &error);
  host.declaration = "extern impure fn note(x: i64) -> i64";
  host.function = (void (*)(void))note;
  host.takes_user = true;
  host.user = &user;
  check(hia_engine_register(engine, &host, &error), HIA_OK, &error);
  check(hia_module_load_text(engine, "t.hia", text, sizeof text - 1, &module, &error), HIA_OK,
        &error);
  check(hia_module_function(module, "fib", &fib, &error), HIA_OK, &error);
  check(hia_module_function(module, "noted", &noted, &error), HIA_OK, &error);
  check(hia_module_function(module, "spin", &spin, &error), HIA_OK, &error);
  cancel = hia_cancel_new(NULL);
  timeline = hia_timeline_new(NULL, 1000);
  hia_cancel_request(cancel);
  pthread_t threads[N_THREADS];
  int ids[N_THREADS];
  for (int i = 0; i < N_THREADS; i++) {
    ids[i] = i;
    if (pthread_create(&threads[i], NULL, caller, &ids[i]) != 0) exit(2);
  }
  for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
  hia_timeline_free(timeline);
  hia_cancel_free(cancel);
  hia_module_free(module);
  hia_engine_free(engine);
}

int main(int argc, char **argv) {
  for (int pool = 0; pool < 2; pool++) {
    run(HIA_ENGINE_JIT, pool);
    run(HIA_ENGINE_INTERP, pool);
  }
  if (argc > 1 && strcmp(argv[1], "race") == 0) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
      if (pthread_create(&threads[i], NULL, racer, NULL) != 0) exit(2);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  }
  printf("%d wrong, %d bytes left, %d\n", atomic_load(&n_wrong), atomic_load(&n_bytes),
         shared != 0);
  return atomic_load(&n_wrong) != 0 || atomic_load(&n_bytes) != 0;
}
