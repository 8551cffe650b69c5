/* Host functions on several threads: the order of effects in every engine, again and again, with
 * several runs at once on one engine; pure functions that begin runs themselves on all threads, and
 * runs of this kind that are cancelled.
 *
 *   hosts [ROUNDS]      (5)
 *
 * Plain, because Criterion does not start under ThreadSanitizer. */
#include "tests/unit/helper_hosts.h"
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

/* ---- runs within runs, on all threads of a run ---- */

typedef struct nested {
  hia_engine *engine;
  hia_module *module;
  atomic_ulong n;
} nested;

/* extern fn inner(n: i32) -> i32 */
static hia_status host_inner(void *user, int32_t n, int32_t *result) {
  nested *nest = user;
  atomic_fetch_add(&nest->n, 1);
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

static void check_nested(hosts_way w) {
  nested nest = {.engine = hosts_engine(w, 0)};
  if (!nest.engine) return;
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern fn inner(n: i32) -> i32";
  f.function = (void (*)(void))host_inner;
  f.user = &nest;
  f.takes_user = f.answers_status = true;
  hia_error *error = NULL;
  if (hia_engine_register(nest.engine, &f, NULL) != HIA_OK ||
      hia_module_load_text(nest.engine, "n", text, strlen(text), &nest.module, &error) != HIA_OK)
    fail("nested", hia_error_text(error));
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
  /* LLVM sets some things up when it is first used; it is not instrumented, so ThreadSanitizer does
   * not see how it keeps threads apart. */
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
