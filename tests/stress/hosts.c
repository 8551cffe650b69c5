/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Host functions on several threads: the order of effects in every engine, repeatedly, with
 * several runs at once on one engine; pure functions that begin runs and call typed entries on all
 * threads; and such runs and calls that are ended.
 *
 *   hosts [ROUNDS]      (5)
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "tests/unit/helpers/hosts.h"
#include <stdatomic.h>
#include <time.h>

static atomic_int n_failed;

static void fail(const char *what, const char *why) {
  printf("FAIL %s: %s\n", what, why);
  atomic_fetch_add(&n_failed, 1);
}

/* ---- the order of effects ---- */

static void *check_cases(void *user) {
  unsigned start = *(unsigned *)user;
  char why[8192];
  for (size_t k = 0; k < N_HOSTS_CASES; k++) {
    const hosts_case *c = &hosts_cases[(k + start) % N_HOSTS_CASES];
    const hosts_way *w = &hosts_ways[(k + 3 * start) % N_HOSTS_WAYS];
    if (!hosts_check(c, *w, why, sizeof why)) fail("order", why);
  }
  return NULL;
}

/* ---- nested runs, on all threads of a run ---- */

typedef hia_status (*fn_i32)(hia_context *, int32_t, int32_t *);

typedef struct nested {
  hia_engine *engine;
  hia_module *module;
  atomic_ulong n;
  fn_i32 fib, sum, outer, forever; /* NULL: the engine makes no native code */
} nested;

/* Every third time by a typed entry, with a context that is made for this call. */
static hia_status enter(fn_i32 entry, int32_t n, int32_t *result) {
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *context;
  options.max_depth = 1 << 18;
  hia_status status = hia_context_new(&options, &context);
  if (status != HIA_OK) return status;
  status = entry(context, n, result);
  hia_context_free(context);
  return status;
}

/* extern fn inner(n: i32) -> i32 */
static hia_status host_inner(void *user, int32_t n, int32_t *result) {
  nested *nest = user;
  *result = 0;
  if (atomic_fetch_add(&nest->n, 1) % 3 == 0 && nest->fib)
    return enter(n % 2 ? nest->fib : nest->sum, n % 12, result);
  return hosts_call(nest->module, nest->engine, n % 2 ? "fib" : "sum", n % 12, NULL, result, NULL);
}

static const char text[] =
    "extern fn inner(n: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn sum(n: i32) -> i32 = if n <= 1 then inner(7) else sum(n / 2) + sum(n - n / 2)\n"
    "fn outer(n: i32) -> i32 = if n <= 1 then inner(10) + fib(12) else outer(n / 2) + outer(n - n "
    "/ 2)\n"
    "fn forever(n: i32) -> i32 = loop (x = n) while true { outer(64) }\n";

static void *request(void *cancel) {
  struct timespec t = {.tv_nsec = 3000000};
  nanosleep(&t, NULL);
  hia_cancel_request(cancel);
  return NULL;
}

static void find_entry(const nested *nest, const char *name, fn_i32 *entry) {
  hia_function *f;
  hia_native_fn e;
  hia_error *error = NULL;
  if (hia_module_function(nest->module, name, &f, &error) != HIA_OK ||
      hia_function_entry(f, &e, &error) != HIA_OK)
    fail(name, hia_error_text(error));
  else
    *entry = (fn_i32)e;
  hia_error_free(error);
}

/* Waits until the call that is to be ended has begun: a cancel that was reset before that would be
 * lost, and the call would never end. */
typedef struct ending {
  nested *nest;
  unsigned long n; /* the count before the call */
  hia_context *context;
} ending;

static void *cancel_and_reset(void *user) {
  const ending *e = user;
  struct timespec t = {.tv_nsec = 3000000};
  do nanosleep(&t, NULL);
  while (atomic_load(&e->nest->n) == e->n);
  hia_context_cancel(e->context);
  hia_context_reset(e->context);
  return NULL;
}

/* The same through typed entries, with the engine's threads: calls are cancelled, and their
 * contexts work afterwards. */
static void check_entries(nested *nest) {
  hia_context *context;
  if (hia_engine_context_new(nest->engine, &context, NULL) != HIA_OK) {
    fail("a context", "");
    return;
  }
  for (int i = 0; i < 4; i++) {
    int32_t x = 0;
    hia_status status = nest->outer(context, 300, &x);
    if (status != HIA_OK || x != 300 * (210 + 233))
      fail("entered", hia_error_text(hia_context_error(context)));
    bool is_late = i % 2;
    ending e = {nest, atomic_load(&nest->n), context};
    pthread_t thread;
    if (is_late)
      hia_context_set_timeout(context, 3000000);
    else
      pthread_create(&thread, NULL, cancel_and_reset, &e);
    status = nest->forever(context, 1, &x);
    if (status != (is_late ? HIA_DEADLINE : HIA_CANCELLED))
      fail("entered and ended", hia_status_word(status));
    hia_context_set_timeout(context, 0);
    if (!is_late) pthread_join(thread, NULL);
  }
  hia_context_free(context);
}

static void check_nested(hosts_way w) {
  nested nest = {.engine = hosts_engine(w, 0)};
  if (!nest.engine) return;
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern fn inner(n: i32) -> i32";
  f.function = (void (*)(void))host_inner;
  f.user = &nest;
  f.takes_user = f.returns_status = true;
  hia_error *error = NULL;
  if (hia_engine_register(nest.engine, &f, NULL) != HIA_OK ||
      hia_module_load_text(nest.engine, "n", text, strlen(text), &nest.module, &error) != HIA_OK)
    fail("nested", hia_error_text(error));
  if (w.kind == HIA_ENGINE_JIT) {
    find_entry(&nest, "sum", &nest.sum);
    find_entry(&nest, "outer", &nest.outer);
    find_entry(&nest, "forever", &nest.forever);
    find_entry(&nest, "fib", &nest.fib);
    if (nest.fib && nest.forever) check_entries(&nest);
  }
  int32_t x;
  hia_status status = hosts_call(nest.module, nest.engine, "outer", 300, NULL, &x, &error);
  /* inner(10) is sum(10), ten times inner(7), which is fib(7) = 21; fib(12) = 233 */
  if (status != HIA_OK || x != 300 * (210 + 233)) fail("nested", hia_error_text(error));
  hia_error_free(error);

  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.cancel = hia_cancel_new(NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, request, options.cancel);
  status = hosts_call(nest.module, nest.engine, "forever", 1, &options, &x, NULL);
  if (status != HIA_CANCELLED) fail("nested and cancelled", hia_status_word(status));
  pthread_join(thread, NULL);
  hia_cancel_free(options.cancel);

  options = (hia_run_options)HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 3000000;
  status = hosts_call(nest.module, nest.engine, "forever", 1, &options, &x, NULL);
  if (status != HIA_DEADLINE) fail("nested, past the deadline", hia_status_word(status));
  hia_module_free(nest.module);
  hia_engine_free(nest.engine);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 5;
  /* LLVM initialises some state at its first use. It is not instrumented, so ThreadSanitizer does
   * not see its synchronisation. */
  char why[8192];
  for (size_t i = 0; i < N_HOSTS_WAYS; i++)
    if (!hosts_check(&hosts_cases[0], hosts_ways[i], why, sizeof why)) fail("order", why);
  for (int r = 0; r < rounds; r++) {
    pthread_t threads[3];
    unsigned starts[3];
    for (unsigned i = 0; i < 3; i++) {
      starts[i] = (unsigned)r * 3 + i;
      pthread_create(&threads[i], NULL, check_cases, &starts[i]);
    }
    for (unsigned i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < N_HOSTS_WAYS; i++) check_nested(hosts_ways[i]);
  }
  printf("%d rounds, %d failures\n", rounds, atomic_load(&n_failed));
  return atomic_load(&n_failed) != 0;
}
