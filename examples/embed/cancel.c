/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A run that would take very long is ended from another thread, wherever it is; another one has a
 * timeout. The engine works afterwards.
 *
 * prints:
 *   error[cancelled]: cancelled
 *   error[deadline]: past the deadline: more than 50 ms
 *   and afterwards: quick(7) = 14
 */
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdio.h>
#include <threads.h>

/* A walk through the 64-bit numbers that reaches 1 after some thousand years. */
static const char text[] = "fn main() -> i64 = loop (n = 0i64) while n != 1 {\n"
                           "  n * 6364136223846793005 + 1442695040888963407\n"
                           "}\n"
                           "fn quick(n: i64) -> i64 = 2 * n\n";

static void sleep_ms(long ms) {
  struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  thrd_sleep(&time, NULL);
}

/* hia_error_text has the position and the chain of calls too. */
static void report(const hia_error *error) {
  printf("error[%s]: %s\n", hia_error_code(error, 0), hia_error_message(error, 0));
}

typedef struct running {
  hia_function *function;
  hia_cancel *cancel;
  hia_status status;
  hia_error *error;
} running;

static void *run(void *user) {
  running *r = user;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.cancel = r->cancel;
  hia_value *result = NULL;
  r->status = hia_run(r->function, NULL, 0, &options, &result, &r->error);
  hia_value_free(result);
  return NULL;
}

/* Runs in a thread of its own, so that this one can cancel it. */
static hia_status cancel_it(hia_function *function) {
  running r = {.function = function, .cancel = hia_cancel_new(NULL)};
  pthread_t thread;
  if (r.cancel == NULL || pthread_create(&thread, NULL, run, &r) != 0) {
    hia_cancel_free(r.cancel);
    return HIA_THREADS;
  }
  sleep_ms(100);
  hia_cancel_request(r.cancel);
  pthread_join(thread, NULL);
  report(r.error);
  hia_error_free(r.error);
  hia_cancel_free(r.cancel);
  return r.status == HIA_CANCELLED ? HIA_OK : r.status;
}

static hia_status time_out(hia_function *function) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 50 * 1000000;
  hia_value *result = NULL;
  hia_error *error = NULL;
  hia_status status = hia_run(function, NULL, 0, &options, &result, &error);
  report(error);
  hia_error_free(error);
  hia_value_free(result);
  return status == HIA_DEADLINE ? HIA_OK : status;
}

static hia_status call_quick(hia_engine *engine, hia_module *module) {
  hia_function *quick = NULL;
  hia_value *n = hia_value_i64(engine, 7), *result = NULL;
  hia_status status = hia_module_function(module, "quick", &quick, NULL);
  if (status == HIA_OK) status = hia_call(quick, &n, 1, &result, NULL);
  int64_t x = 0;
  if (status == HIA_OK) status = hia_value_get_i64(result, &x);
  printf("and afterwards: quick(7) = %lld\n", (long long)x);
  hia_value_free(result);
  hia_value_free(n);
  return status;
}

int main(void) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *endless = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(NULL, &engine, &error);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "endless.hia", text, strlen(text), &module, &error);
  if (status == HIA_OK) status = hia_module_function(module, "main", &endless, &error);
  if (status == HIA_OK) status = hia_function_prepare(endless, &error); /* compiles it */
  if (status == HIA_OK) status = cancel_it(endless);
  if (status == HIA_OK) status = time_out(endless);
  if (status == HIA_OK) status = call_quick(engine, module);
  if (error != NULL) fputs(hia_error_text(error), stderr);
  hia_error_free(error);
  hia_module_free(module);
  hia_engine_free(engine);
  return status != HIA_OK;
}
