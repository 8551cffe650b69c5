/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The interpreter on several threads, for ThreadSanitizer and for long runs: results, failures and
 * counts are those of one thread and of expand, whatever the timing; runs terminate as required;
 * nothing leaks when memory or depth run out or a run is cancelled.
 *
 *   interp_threads [ROUNDS]      (5)
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "graph/flatten/flatten.h"
#include "graph/pipeline/pass.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/random.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct stress_program {
  const char *name, *text;
  int64_t args[3];
  bool is_endless; /* it runs until a failure ends it, so expand with its one thread does not end */
} stress_program;

#define FIB "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
/* Never ends, and makes calls all the time. */
#define BUSY      "fn busy(n: i32) -> i32 = loop (x = n) while true { x + fib(4) }\n"
#define DEEP_FAIL "fn check(n: i32) -> i32 = if n == 0 then fail(5) else 1 + check(n - 1)\n"

static const stress_program programs[] = {
    {"fib", FIB "fn main(n: i32) -> i32 = fib(n)", {17}, false},
    {"tak",
     "fn tak(x: i32, y: i32, z: i32) -> i32 = if y < x then tak(tak(x - 1, y, z), tak(y - 1, z, x),"
     " tak(z - 1, x, y)) else z\n"
     "fn main(x: i32, y: i32, z: i32) -> i32 = tak(x, y, z)",
     {10, 6, 2},
     false},
    {"ack",
     "fn ack(m: i32, n: i32) -> i32 = if m == 0 then n + 1 else if n == 0 then ack(m - 1, 1) "
     "else ack(m - 1, ack(m, n - 1))\n"
     "fn main(m: i32, n: i32) -> i32 = ack(m, n)",
     {2, 7},
     false},
    {"skewed",
     FIB "fn skew(n: i32) -> i32 = if n == 0 then 0 else fib(6) + skew(n - 1) + fib(3)\n"
         "fn main(n: i32) -> i32 = skew(n)",
     {300},
     false},
    {"parallel rounds",
     FIB "fn main(n: i32) -> i32 = { let (_, s) = loop (i = 0, s = 0) while i < n "
         "{ (i + 1, s + fib(9) - fib(8) + fib(i % 7)) }; s }",
     {12},
     false},
    {"two loops at once",
     FIB
     "fn sum(n: i32, k: i32) -> i32 = { let (_, s) = loop (i = 0, s = 0) while i < n { (i + 1, s "
     "+ fib(k)) }; s }\n"
     "fn main(n: i32) -> i32 = sum(n, 5) + sum(n, 6) * sum(n, 4)",
     {40},
     false},
    {"the first of many failures",
     "fn leaf(n: i32) -> i32 = if n % 97 == 51 then fail(n) else n\n"
     "fn tree(n: i32, id: i32) -> i32 = if n == 0 then leaf(id) else tree(n - 1, 2 * id) + tree(n "
     "- "
     "1, 2 * id + 1)\n"
     "fn main(n: i32) -> i32 = tree(n, 1)",
     {9},
     false},
    {"divisions",
     "fn f(n: i32, d: i32) -> i32 = if n == 0 then 100 / d else f(n - 1, d - 1) + f(n - "
     "1, d + 1) + 7 / (n - 3)\n"
     "fn main(n: i32) -> i32 = f(n, 4)",
     {9},
     false},
    {"a failure before an endless loop",
     FIB BUSY DEEP_FAIL "fn work(n: i32) -> i32 = if fib(n) > 0 then check(30) else 0\n"
                        "fn main(n: i32) -> i32 = work(n) + busy(n)",
     {14},
     true},
    {"a failure after a result from another worker, before an endless loop",
     FIB BUSY DEEP_FAIL "fn main(n: i32) -> i32 = check(fib(n) - fib(n - 1) - fib(n - 2) + 20) + "
                        "busy(n) + busy(n + 1)",
     {14},
     true},
    {"endless loops on both sides of nothing but a failure deep inside",
     FIB BUSY DEEP_FAIL
     "fn nest(n: i32) -> i32 = if n == 0 then check(fib(9) - fib(8)) else nest(n - "
     "1) + busy(n)\n"
     "fn main(n: i32) -> i32 = nest(n)",
     {6},
     true},
};

static int n_failed;

static void expect(const image_program *p, const char *name, unsigned threads,
                   const image_outcome *wanted, const image_outcome *got) {
  if (image_agree(p, wanted, got)) return;
  char a[1000], b[1000];
  image_print(p, wanted, a, sizeof a);
  image_print(p, got, b, sizeof b);
  printf("FAIL %s, %u threads\n  wanted %s\n  got    %s\n", name, threads, a, b);
  n_failed++;
}

static const unsigned n_threads[] = {1, 2, 3, 4, 8};
/* The pool of every second run; the other runs have their own threads. */
static hia_pool *shared;

static void run_program(const stress_program *program, bool counted, int rounds) {
  image_program p;
  if (!image_from_source(&p, program->text, counted, NULL)) {
    printf("FAIL %s: %s\n", program->name, p.error);
    n_failed++;
    image_discard(&p);
    return;
  }
  const hia_word *args = (const hia_word *)program->args;
  image_outcome wanted = image_run(&p, IMAGE_INTERP, args, 1, NULL, NULL);
  image_outcome other = image_run(&p, IMAGE_EXPAND, args, 1, NULL, NULL);
  expect(&p, program->name, 0, &wanted, &other);
  for (int r = 0; r < rounds; r++)
    for (size_t t = 0; t < HIA_LEN(n_threads); t++) {
      hia_limits limits = {.pool = r % 2 ? NULL : shared};
      image_outcome got = image_run(&p, IMAGE_INTERP, args, n_threads[t], &limits, NULL);
      expect(&p, program->name, n_threads[t], &wanted, &got);
    }
  image_discard(&p);
}

static void run_random(uint64_t seed) {
  image_program p = {0};
  hiaR_comp_init(&p.comp, &hiaR_malloc);
  if (HIA_TRY(&p.comp)) {
    hiaG_types_init(&p.types, &p.comp);
    p.graph = random_graph(&p.comp, &p.types, seed);
    hiaG_run_passes(p.graph, &(hia_pass_options){0});
    hiaG_flatten(p.graph, &p.bytes, &p.size);
    hiaR_image_load(p.bytes, p.size, hiaR_any_kernel, &hiaR_malloc, &p.image, p.error,
                    sizeof p.error);
  }
  char name[40];
  snprintf(name, sizeof name, "random %llu", (unsigned long long)seed);
  if (!p.image) {
    printf("FAIL %s: %s%s\n", name, p.error, p.comp.message);
    n_failed++;
  } else if (hiaR_image_export(p.image, 0)->n_results <= IMAGE_MAX_RESULTS) {
    /* Some of them do not terminate: a program that takes long is left out. */
    hia_limits small = {.depth = (size_t)1 << 20};
    hia_word args[16] = {3, 2, 1, 4, 1, 0, 1, 2, 3, 1, 0, 1, 1, 0, 1, 1};
    const hia_export *e = hiaR_image_export(p.image, 0);
    for (uint32_t i = 0; i < e->n_params && i < 16; i++)
      if (e->params[i] == HIA_BOOL) args[i] &= 1;
    image_outcome wanted = image_run(&p, IMAGE_INTERP, args, 1, &small, NULL);
    for (size_t t = 0; wanted.status < HIA_MEMORY && t < HIA_LEN(n_threads); t++) {
      image_outcome got = image_run(&p, IMAGE_INTERP, args, n_threads[t], &small, NULL);
      if (got.status < HIA_MEMORY) expect(&p, name, n_threads[t], &wanted, &got);
    }
  }
  image_discard(&p);
}

/* ---- runs that are ended ---- */

typedef struct canceller {
  uint32_t flag;
  useconds_t after;
} canceller;

static void *cancel(void *user) {
  canceller *c = user;
  usleep(c->after);
  __atomic_store_n(&c->flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

static const char endless[] = FIB BUSY "fn main(n: i32) -> i32 = busy(n) + busy(n) + busy(n)";
static const char growing[] =
    "fn grow(n: i32) -> i32 = if n < 0 then 0 else grow(n + 1) + grow(n + 2)\n"
    "fn main(n: i32) -> i32 = grow(n)";

static void check(bool ok, const char *what, unsigned threads) {
  if (ok) return;
  printf("FAIL %s, %u threads\n", what, threads);
  n_failed++;
}

static bool load(image_program *p, const char *text) {
  if (image_from_source(p, text, false, NULL)) return true;
  printf("FAIL %s\n", p->error);
  n_failed++;
  image_discard(p);
  return false;
}

static void run_cancelled(unsigned threads) {
  image_program p;
  hia_word arg = 1;
  if (!load(&p, endless)) return;
  canceller c = {0, 2000};
  pthread_t thread;
  pthread_create(&thread, NULL, cancel, &c);
  test_heap heap;
  test_heap_init(&heap, -1);
  image_outcome o = image_run(&p, IMAGE_INTERP, &arg, threads, &(hia_limits){.cancelled = &c.flag},
                              &heap.allocator);
  pthread_join(thread, NULL);
  check(o.status == HIA_CANCELLED, "a cancelled run", threads);
  check(heap.blocks == 0, "memory of a cancelled run", threads);
  image_discard(&p);
}

static void run_out_of_depth(unsigned threads) {
  image_program p;
  hia_word arg = 1;
  if (!load(&p, growing)) return;
  test_heap heap;
  test_heap_init(&heap, -1);
  image_outcome o = image_run(&p, IMAGE_INTERP, &arg, threads,
                              &(hia_limits){.depth = (size_t)1 << 19}, &heap.allocator);
  check(o.status == HIA_DEPTH, "a run that is too deep", threads);
  check(o.usage.peak_bytes <= (size_t)1 << 19, "its bytes", threads);
  check(heap.blocks == 0, "its memory", threads);
  image_discard(&p);
}

/* Each allocation fails once; with several threads their order is random. */
static void run_out_of_memory(unsigned threads) {
  image_program p;
  hia_word arg = 12;
  if (!load(&p, programs[0].text)) return;
  for (long left = 0; left < 10000; left++) {
    test_heap heap;
    test_heap_init(&heap, left);
    image_outcome o = image_run(&p, IMAGE_INTERP, &arg, threads, NULL, &heap.allocator);
    check(heap.blocks == 0, "memory of a run out of memory", threads);
    if (o.status == HIA_OK) break;
    check(o.status == HIA_MEMORY, "a run out of memory", threads);
  }
  image_discard(&p);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  int rounds = argc > 1 ? atoi(argv[1]) : 5;
  if (hiaR_pool_new(&hiaR_malloc, 5, NULL, &shared) != HIA_OK) return 1;
  for (size_t i = 0; i < HIA_LEN(programs); i++) {
    run_program(&programs[i], false, rounds);
    if (!programs[i].is_endless) run_program(&programs[i], true, 1);
  }
  for (int seed = 0; seed < 20 * rounds; seed++) run_random((uint64_t)seed);
  for (size_t t = 0; t < HIA_LEN(n_threads); t++) {
    run_cancelled(n_threads[t]);
    run_out_of_depth(n_threads[t]);
    run_out_of_memory(n_threads[t]);
  }
  hiaR_pool_free(shared);
  printf("%s\n", n_failed ? "failed" : "passed");
  return n_failed != 0;
}
