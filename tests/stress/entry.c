/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries and maps on several threads, ended at random moments by other threads and by
 * deadlines; calls with contexts that are in use.
 *
 *   entry [ROUNDS [SEED]]
 *
 * Each thread has its own context, whose calls another thread cancels and resets meanwhile. A call
 * must return the correct result or the correct status, and the context must work afterwards.
 * ThreadSanitizer runs this too. */
#include "tests/stress/program.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static const char text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n)\n"
    "fn down(n: i32) -> i32 = if n == 0 then 1 / n else bxor(down(n - 1), n)\n"
    "fn spin(n: i32) -> i32 = loop (x = n, i = 0) while i < 100000000 { (x * 3 + 1, i + 1) }.0\n"
    "fn line(x: f64, y: f64) -> f64 = x * 3.0 + y\n";

typedef hia_status (*entry_fn)(hia_context *, int32_t, int32_t *);
typedef hia_status (*ints_fn)(hia_context *, size_t, const int32_t *, int32_t *);
typedef hia_status (*floats_fn)(hia_context *, size_t, const double *, const double *, double *);

enum { N_THREADS = 4, ROWS = 20000 };

typedef struct worker {
  pthread_t thread;
  hia_context *context;
  entry_fn fib, deep, down, spin;
  ints_fn fibs;
  floats_fn lines;
  int32_t n[ROWS], fib_of_n[ROWS];
  double x[ROWS], y[ROWS], line[ROWS];
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
  /* The context is cancelled for a while, in which all calls would be refused. */
  if (status == HIA_CANCELLED) nanosleep(&(struct timespec){0, 30000}, NULL);
  if (is_ended || (status == normal && is_right)) return;
  w->wrong++;
  printf("thread %u: %s\n", w->number, hia_status_word(status));
}

/* True if a map of n rows has written correct rows, up to hia_context_rows and no others. */
static bool are_right(const worker *w, size_t n, const double *line, const int32_t *fibs) {
  uint64_t rows = hia_context_rows(w->context);
  for (size_t i = 0; line && i < n; i++)
    if (line[i] != (i < rows ? w->x[i] * 3.0 + w->y[i] : -1.0)) return false;
  for (size_t i = 0; fibs && i < n; i++)
    if (fibs[i] != (i < rows ? fib_of(w->n[i]) : -1)) return false;
  return true;
}

static void map_lines(worker *w) {
  size_t n = next(&w->random) % ROWS;
  for (size_t i = 0; i < n; i++) w->line[i] = -1.0;
  hia_status status = w->lines(w->context, n, w->x, w->y, w->line);
  bool is_right = are_right(w, n, w->line, NULL);
  expect(w, is_right ? status : HIA_INTERNAL, HIA_OK, hia_context_rows(w->context) == n);
}

static void map_fibs(worker *w) {
  size_t n = next(&w->random) % 200;
  for (size_t i = 0; i < n; i++) w->fib_of_n[i] = -1;
  hia_status status = w->fibs(w->context, n, w->n, w->fib_of_n);
  bool is_right = are_right(w, n, NULL, w->fib_of_n);
  expect(w, is_right ? status : HIA_INTERNAL, HIA_OK, hia_context_rows(w->context) == n);
}

static void *work(void *user) {
  worker *w = user;
  for (int i = 0; i < ROWS; i++) w->n[i] = i % 12, w->x[i] = i, w->y[i] = w->number;
  for (unsigned i = 0; i < w->rounds; i++) {
    int32_t n = (int32_t)(next(&w->random) % 18), x = 0;
    if (i % 16 == 0) hia_context_set_timeout(w->context, next(&w->random) % 2 ? 0 : 200000);
    hia_status status;
    switch (next(&w->random) % 6) {
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
    case 3: map_lines(w); break;
    case 4: map_fibs(w); break;
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
  for (int i = 0; i < 2; i++) { /* the second one with further workers */
    options.threads = i ? 3 : 1;
    l[i] = load_text(&options, "entry.hia", text, sizeof text - 1);
  }
  static const char *const names[] = {"fib", "deep", "down", "spin"};
  static worker workers[N_THREADS];
  for (unsigned t = 0; t < N_THREADS; t++) {
    worker *w = &workers[t];
    entry_fn *const entries[] = {&w->fib, &w->deep, &w->down, &w->spin};
    hia_error *error;
    for (size_t i = 0; i < 4; i++) {
      hia_native_fn entry;
      if (hia_function_entry(find(l[t % 2], names[i]), &entry, &error)) stop_with(error);
      *entries[i] = (entry_fn)entry;
    }
    hia_native_fn map;
    if (hia_function_map(find(l[t % 2], "fib"), &map, &error)) stop_with(error);
    w->fibs = (ints_fn)map;
    if (hia_function_map(find(l[t % 2], "line"), &map, &error)) stop_with(error);
    w->lines = (floats_fn)map;
    if (hia_engine_context_new(l[t % 2].engine, &w->context, &error)) stop_with(error);
    w->rounds = rounds;
    w->number = t;
    w->random = random * 77 + t + 1;
    pthread_create(&w->thread, NULL, work, w);
  }
  /* This thread cancels and resets their contexts. */
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
