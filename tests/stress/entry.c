/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries on several threads, ended at random moments: by others, by deadlines; contexts that
 * others want while they are in use.
 *
 *   entry [ROUNDS [SEED]]
 *
 * Each thread has a context of its own, whose calls another cancels and resets meanwhile. A call
 * must give the right result or the right reason, and the context must be as good afterwards. What
 * ThreadSanitizer runs. */
#include "tests/stress/program.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static const char text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n)\n"
    "fn down(n: i32) -> i32 = if n == 0 then 1 / n else bxor(down(n - 1), n)\n"
    "fn spin(n: i32) -> i32 = loop (x = n, i = 0) while i < 100000000 { (x * 3 + 1, i + 1) }.0\n";

typedef hia_status (*entry_fn)(hia_context *, int32_t, int32_t *);

enum { N_THREADS = 4 };

typedef struct worker {
  pthread_t thread;
  hia_context *context;
  entry_fn fib, deep, down, spin;
  unsigned rounds, number;
  uint32_t random;
  atomic_bool is_done;
  unsigned wrong, ended;
} worker;

static uint32_t next(uint32_t *random) {
  *random ^= *random << 13;
  *random ^= *random >> 17;
  return *random ^= *random << 5;
}

static int32_t fib_of(int32_t n) { return n <= 1 ? 1 : fib_of(n - 1) + fib_of(n - 2); }

static int32_t deep_of(int32_t n) {
  int32_t x = 0;
  for (int32_t i = 1; i <= n; i++) x ^= i;
  return x;
}

static void expect(worker *w, hia_status status, hia_status normal, bool is_right) {
  bool is_ended = status == HIA_CANCELLED || status == HIA_DEADLINE;
  w->ended += is_ended;
  /* It is cancelled for a while; meanwhile calls would only be refused. */
  if (status == HIA_CANCELLED) nanosleep(&(struct timespec){0, 30000}, NULL);
  if (is_ended || (status == normal && is_right)) return;
  w->wrong++;
  printf("thread %u: %s\n", w->number, hia_status_word(status));
}

static void *work(void *user) {
  worker *w = user;
  for (unsigned i = 0; i < w->rounds; i++) {
    int32_t n = (int32_t)(next(&w->random) % 18), x = 0;
    if (i % 16 == 0) hia_context_set_timeout(w->context, next(&w->random) % 2 ? 0 : 200000);
    hia_status status;
    switch (next(&w->random) % 4) {
    case 0:
      status = w->fib(w->context, n, &x);
      expect(w, status, HIA_OK, x == fib_of(n));
      break;
    case 1:
      n *= 3000;
      status = w->deep(w->context, n, &x);
      expect(w, status, HIA_OK, x == deep_of(n));
      break;
    case 2:
      n *= 500;
      status = w->down(w->context, n, &x);
      const hia_error *error = hia_context_error(w->context);
      expect(w, status, HIA_DIV_ZERO,
             hia_error_status(error) == status && hia_error_chain_length(error) == (uint64_t)n + 1);
      break;
    default: expect(w, w->spin(w->context, n, &x), HIA_OK, true); break;
    }
  }
  atomic_store(&w->is_done, true);
  return NULL;
}

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 2000;
  uint32_t random = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.threads = 3;
  loaded l[2];
  for (int i = 0; i < 2; i++) { /* one of them with workers besides */
    options.threads = i ? 3 : 1;
    l[i] = load_text(&options, "entry.hia", text, sizeof text - 1);
  }
  static const char *const names[] = {"fib", "deep", "down", "spin"};
  worker workers[N_THREADS] = {0};
  for (unsigned t = 0; t < N_THREADS; t++) {
    worker *w = &workers[t];
    entry_fn *const places[] = {&w->fib, &w->deep, &w->down, &w->spin};
    hia_error *error;
    for (size_t i = 0; i < 4; i++) {
      hia_native_fn entry;
      if (hia_function_entry(find(l[t % 2], names[i]), &entry, &error)) stop_with(error);
      *places[i] = (entry_fn)entry;
    }
    if (hia_engine_context_new(l[t % 2].engine, &w->context, &error)) stop_with(error);
    w->rounds = rounds;
    w->number = t;
    w->random = random * 77 + t + 1;
    pthread_create(&w->thread, NULL, work, w);
  }
  /* This thread disturbs them. */
  for (bool all = false; !all;) {
    all = true;
    for (unsigned t = 0; t < N_THREADS; t++) {
      worker *w = &workers[t];
      if (atomic_load(&w->is_done)) continue;
      all = false;
      if (next(&random) % 2) hia_context_cancel(w->context);
      nanosleep(&(struct timespec){0, (long)(next(&random) % 50000)}, NULL);
      hia_context_reset(w->context);
    }
    nanosleep(&(struct timespec){0, (long)(next(&random) % 3000000)}, NULL);
  }
  unsigned wrong = 0, ended = 0;
  for (unsigned t = 0; t < N_THREADS; t++) {
    worker *w = &workers[t];
    pthread_join(w->thread, NULL);
    hia_context_set_timeout(w->context, 0);
    int32_t x;
    if (w->fib(w->context, 10, &x) != HIA_OK || x != 89) w->wrong++;
    wrong += w->wrong;
    ended += w->ended;
    hia_context_free(w->context);
  }
  for (int i = 0; i < 2; i++) unload(l[i]);
  printf("%u calls of %u threads, %u ended early, %u wrong\n", rounds * N_THREADS, N_THREADS, ended,
         wrong);
  return wrong != 0;
}
