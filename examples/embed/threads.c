/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Ten threads share an engine, a module and a function: no locks, each has its own values and its
 * own errors. The first call compiles the function; the others wait for it, or find it ready. A
 * failure in one thread ends that call alone.
 *
 * prints:
 *   thread 0: 168 primes below 1000
 *   thread 1: 135 primes from 1000 to 1999
 *   thread 2: 127 primes from 2000 to 2999
 *   thread 3: 120 primes from 3000 to 3999
 *   thread 4: 119 primes from 4000 to 4999
 *   thread 5: 114 primes from 5000 to 5999
 *   thread 6: 117 primes from 6000 to 6999
 *   thread 7: 107 primes from 7000 to 7999
 *   thread 8: 110 primes from 8000 to 8999
 *   thread 9: the program called fail with 9
 */
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdio.h>

#define N_THREADS 10

static const char text[] =
    "fn is_prime(n: i32, d: i32) -> bool =\n"
    "  d * d > n or n % d != 0 and is_prime(n, d + 1)\n"
    "fn primes(thread: i32) -> i32 =\n"
    "  if thread == 9 then fail(thread) else count(thread * 1000, thread * 1000 + 1000)\n"
    "fn count(n: i32, end: i32) -> i32 =\n"
    "  if n == end then 0\n"
    "  else (if n >= 2 and is_prime(n, 2) then 1 else 0) + count(n + 1, end)\n";

typedef struct worker {
  pthread_t thread;
  hia_engine *engine;
  hia_function *primes;
  int32_t number, count;
  hia_error *error;
} worker;

static void *work(void *user) {
  worker *w = user;
  hia_value *number = hia_value_i32(w->engine, w->number), *result = NULL;
  if (hia_call(w->primes, &number, 1, &result, &w->error) == HIA_OK)
    hia_value_get_i32(result, &w->count);
  hia_value_free(result);
  hia_value_free(number);
  return NULL;
}

static void report(const worker *w) {
  printf("thread %d: ", (int)w->number);
  if (hia_error_status(w->error) == HIA_FAILED)
    printf("the program called fail with %lld\n", (long long)hia_error_fail_code(w->error));
  else if (w->error != NULL)
    printf("%s\n", hia_error_message(w->error, 0));
  else if (w->number == 0)
    printf("%d primes below 1000\n", (int)w->count);
  else
    printf("%d primes from %d to %d\n", (int)w->count, (int)w->number * 1000,
           (int)w->number * 1000 + 999);
}

int main(void) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *primes = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(NULL, &engine, &error);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "primes.hia", text, strlen(text), &module, &error);
  if (status == HIA_OK) status = hia_module_function(module, "primes", &primes, &error);
  if (status != HIA_OK) fputs(hia_error_text(error), stderr);
  hia_error_free(error);

  worker workers[N_THREADS];
  int n = 0;
  for (; status == HIA_OK && n < N_THREADS; n++) {
    workers[n] = (worker){.engine = engine, .primes = primes, .number = n};
    if (pthread_create(&workers[n].thread, NULL, work, &workers[n]) != 0) break;
  }
  for (int i = 0; i < n; i++) {
    pthread_join(workers[i].thread, NULL);
    report(&workers[i]);
    hia_error_free(workers[i].error);
  }
  hia_module_free(module);
  hia_engine_free(engine);
  return n != N_THREADS;
}
