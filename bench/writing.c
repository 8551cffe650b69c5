/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures the advice of docs/fast.md: pairs of functions with one result, written as that page
 * advises and in the other way (bench/writing.hia), in native code on one thread.
 *
 *   bench_writing [--quick | --check] [--runs N]
 *
 * Figures are processor time. */
#include "bench/harness.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 99 };

typedef struct row {
  const char *advice;          /* the heading in docs/fast.md */
  const char *advised, *other; /* functions */
  int32_t argument, quick;
  double least; /* the time of the other way over that of the advised one */
} row;

static const row rows[] = {
    {"what batches", "choose", "branch", 11, 3, 1.5},
    {"rows of a table", "row_of_table", "product_with_table", 7, 2, 10},
    {"transposed in place", "slope_in_place", "slope_of_made", 400, 2, 3},
    {"one name for an array", "one_name", "two_names", 100000, 100, 5},
};

static double run_once(const bench_program *p, int32_t argument, long long *result) {
  double start = bench_cpu();
  *result = bench_call(p, &argument, 1, NULL);
  return bench_cpu() - start;
}

static void measure(const row *r, int runs) {
  const bench_options options = {.kind = HIA_ENGINE_JIT,
                                 .threads = 1,
                                 .merge_calls = true,
                                 .batch = HIA_BATCH_SEGMENTS,
                                 .reuse = true};
  int32_t argument = bench_is_quick() ? r->quick : r->argument;
  bench_program p[2] = {bench_open(HIA_BENCH "/writing.hia", r->advised, &options),
                        bench_open(HIA_BENCH "/writing.hia", r->other, &options)};
  double each[2][MAX_RUNS], ms[2];
  for (int i = -1; i < runs; i++) { /* one run each to warm up */
    long long result[2];
    for (int k = 0; k < 2; k++) {
      double time = run_once(&p[k], argument, &result[k]);
      if (i >= 0) each[k][i] = time;
    }
    if (result[0] != result[1])
      bench_wrong("%s: %lld instead of %lld", r->other, result[1], result[0]);
  }
  for (int k = 0; k < 2; k++) ms[k] = bench_median(each[k], (size_t)runs);
  printf("%-24s %12.2f %12.2f", r->advice, ms[0], ms[1]);
  bench_print_target(r->advice, "other/advised", ms[1] / ms[0], 2, BENCH_AT_LEAST(r->least));
  puts("");
  for (int k = 0; k < 2; k++) bench_close(&p[k]);
}

int main(int argc, char **argv) {
  int runs = 9;
  bool is_known = true;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else
      is_known = false;
  }
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr, "usage: %s [--quick | --check] [--runs N]\n", argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  bench_print_machine();
  printf("%-24s %12s %12s", "milliseconds", "advised", "other way");
  bench_print_target_heading("other/advised");
  puts("");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) measure(&rows[i], runs);
  return bench_end();
}
