/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/control.h"
#include "bench/harness.h"
#include "bench/networks.h"
#include <stdio.h>

enum { MAX_RUNS = 99, INSTANCES = 64 };

/* Each instance goes on until its own value is small. */
static const char exits[] =
    "param W: f32[256, 256] = glorot_uniform()\n"
    "fn steps(x: f32[256], n: i32) -> (f32[256], i32) = { let y = tanh(W @ x);\n"
    "  if n == 0 or sum(y * y) < 0.5 then (y, n) else steps(y, n - 1) }\n"
    "fn exits(n: i32) -> i32 = sum([steps(full(f32(i + 1), 256), 20).1 for i in 0..n])\n";

/* The words of the trees that grow from so many roots. */
static const char forest[] =
    "fn forest(n: i32) -> i32 =\n"
    "  i32(sum([size(t) for t in main([i64(i) * 7 % 1000 for i in 0..n], 6)]))\n";

static bench_program open_row(bool is_network, hia_batching batch) {
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1, .batch = batch, .reuse = false};
  char path[BENCH_MAX_PATH];
  if (!is_network) return bench_open_text("exits.hia", exits, "exits", &options);
  bench_network_file(&bench_networks[BENCH_TOP_DOWN], path);
  return bench_open_with(path, forest, "forest", &options);
}

/* Calls a second. */
static double rate_of(const bench_program *p) {
  const int32_t n = INSTANCES;
  double start = bench_now(), seconds = bench_is_quick() ? 0 : 0.3, ms;
  size_t n_calls = 0;
  do {
    bench_call(p, &n, 1, NULL);
    n_calls++;
    ms = bench_now() - start;
  } while (ms < seconds * 1e3);
  return (double)n_calls / (ms / 1e3);
}

static void compare(const char *title, bool is_network, double least, double width, int runs) {
  bench_program p = open_row(is_network, HIA_BATCH_SEGMENTS),
                none = open_row(is_network, HIA_BATCH_NONE);
  double own[MAX_RUNS], alone[MAX_RUNS];
  const int32_t n = INSTANCES;
  hia_run_stats used = HIA_RUN_STATS_INIT, ignored = HIA_RUN_STATS_INIT;
  long long result = bench_call(&p, &n, 1, &used), right = bench_call(&none, &n, 1, &ignored);
  if (result != right) bench_wrong("%s: %lld, but %lld in batches", title, right, result);
  for (int i = 0; i < runs; i++) {
    own[i] = rate_of(&p);
    alone[i] = rate_of(&none);
  }
  double many = bench_median(own, (size_t)runs), one = bench_median(alone, (size_t)runs);
  printf("%-30s %9.1f %10.1f", title, many, one);
  bench_print_target(title, "hiaton/alone", many / one, 2, BENCH_AT_LEAST(least));
  bench_print_target(title, "rows/wave", (double)used.batch_rows / (double)used.batch_waves, 1,
                     BENCH_AT_LEAST(width));
  printf("\n");
  fflush(stdout);
  bench_close(&none);
  bench_close(&p);
}

void bench_control(int runs) {
  printf("%-30s %9s %10s", "64 instances, calls/s", "hiaton", "alone");
  bench_print_target_heading("hiaton/alone");
  bench_print_target_heading("rows/wave");
  printf("\n");
  compare("early exits", false, 1.4, 51.2, runs); /* an oracle's waves have 64 rows each */
  compare("top-down 150, 64 roots", true, 1, 50, runs);
  printf("\n");
}
