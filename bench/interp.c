/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures the interpreter: nanoseconds a call and live firings a second on the papers' programs,
 * for interp and expand on one thread, and the speed-up by further threads.
 *
 *   bench_interp [--quick | --check] [--runs N] [--threads N]
 *
 * Figures of one thread are its processor time, so that other processes of the machine matter less;
 * figures of several threads are wall-clock time. */
#include "bench/harness.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 99 };
/* The static graph's time over the dynamic one's: the claim of the papers, with a margin. */
#define MAX_OF_EXPAND 0.80

typedef struct row {
  const char *name;
  int32_t args[3];
  size_t n_args;
  long long result;
} row;

static const row rows[] = {
    {"fib", {33}, 1, 5702887},
    {"tak", {24, 16, 8}, 3, 9},
    {"ack", {3, 8}, 2, 2045},
    {"primes", {10000}, 1, 57077},
};
static const row quick_rows[] = {
    {"fib", {20}, 1, 10946},
    {"tak", {12, 8, 4}, 3, 5},
    {"ack", {2, 9}, 2, 21},
    {"primes", {500}, 1, 2339},
};
enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert(N_ROWS == sizeof quick_rows / sizeof *quick_rows, "the same programs");

static bench_program open_row(const row *r, hia_engine_kind kind, unsigned threads, bool count) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.hia", HIA_EXAMPLES, r->name);
  return bench_open(path, r->name,
                    &(bench_options){.kind = kind, .threads = threads, .count = count});
}

/* The calls that the program makes, the outermost included. */
static double calls_of(const row *r) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  bench_program p = open_row(r, HIA_ENGINE_INTERP, 1, true);
  bench_call(&p, r->args, r->n_args, &used);
  bench_close(&p);
  return (double)used.calls + 1;
}

static double run_once(const bench_program *p, const row *r, bool by_clock, hia_run_stats *used) {
  double start = by_clock ? bench_now() : bench_cpu();
  long long result = bench_call(p, r->args, r->n_args, used);
  double end = by_clock ? bench_now() : bench_cpu();
  if (result != r->result) bench_wrong("%s: %lld instead of %lld", r->name, result, r->result);
  return end - start;
}

/* Medians of `runs` runs of two programs, in milliseconds. After one run each to warm up, the
 * programs take turns. */
static void measure(const row *r, const bench_program p[2], bool by_clock, int runs, double ms[2],
                    hia_run_stats used[2]) {
  double each[2][MAX_RUNS];
  for (int i = -1; i < runs; i++)
    for (int k = 0; k < 2; k++) {
      double time = run_once(&p[k], r, by_clock, &used[k]);
      if (i >= 0) each[k][i] = time;
    }
  for (int k = 0; k < 2; k++) ms[k] = bench_median(each[k], (size_t)runs);
}

int main(int argc, char **argv) {
  int runs = 5;
  unsigned threads = 2;
  bool is_known = true;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      threads = (unsigned)atoi(argv[++i]);
    else
      is_known = false;
  }
  if (!is_known || runs < 1 || runs > MAX_RUNS || threads < 1) {
    fprintf(stderr, "usage: %s [--quick | --check] [--runs N] [--threads N]\n", argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  bench_print_machine();
  printf("%-18s %10s %9s %12s %9s %9s", "", "interp ms", "ns/call", "Mfirings/s", "frames",
         "expand ms");
  bench_print_target_heading("interp/expand");
  printf(" %11s %8s\n", "speed-up by", "steals");
  printf("%-18s %10s %9s %12s %9s %9s %23s %8u thr.\n", "", "", "", "", "at once", "", "", threads);
  for (size_t i = 0; i < N_ROWS; i++) {
    const row *r = bench_is_quick() ? &quick_rows[i] : &rows[i];
    hia_run_stats used[2] = {HIA_RUN_STATS_INIT, HIA_RUN_STATS_INIT};
    char call[64];
    size_t len = (size_t)snprintf(call, sizeof call, "%s(", r->name);
    for (size_t k = 0; k < r->n_args; k++)
      len += (size_t)snprintf(call + len, sizeof call - len, k ? ",%d" : "%d", r->args[k]);
    snprintf(call + len, sizeof call - len, ")");
    double ms[2], by_clock[2];
    bench_program alone = open_row(r, HIA_ENGINE_INTERP, 1, false),
                  expand = open_row(r, HIA_ENGINE_EXPAND, 1, false),
                  threaded = open_row(r, HIA_ENGINE_INTERP, threads, false);
    measure(r, (bench_program[]){alone, expand}, false, runs, ms, used);
    double firings = (double)used[0].firings, peak = (double)used[0].peak_frames;
    measure(r, (bench_program[]){alone, threaded}, true, runs, by_clock, used);
    printf("%-18s %10.1f %9.1f %12.1f %9.0f %9.1f", call, ms[0], ms[0] * 1e6 / calls_of(r),
           firings / ms[0] / 1e3, peak, ms[1]);
    bench_print_target(call, "interp/expand", ms[0] / ms[1], 3, BENCH_AT_MOST(MAX_OF_EXPAND));
    printf(" %11.2f %8llu\n", by_clock[0] / by_clock[1], (unsigned long long)used[1].steals);
    bench_close(&alone);
    bench_close(&expand);
    bench_close(&threaded);
  }
  return bench_end();
}
