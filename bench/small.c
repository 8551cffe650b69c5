/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures programs on vectors of three elements (small.hia): next to the same program with
 * scalars, and to C++ with structs of three numbers (reference_small.cpp), in native code on one
 * thread. C++ is compiled for this machine.
 *
 *   bench_small [--quick | --check] [--runs N]
 *
 * Times are wall-clock medians of runs that alternate; of each process of C++ the second run
 * counts. */
#include "bench/harness.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99 };
#define MAX_OF_SCALARS 1.2
#define MAX_OF_CPP     1.25
#define TOLERANCE      1e-6 /* C++ adds products without rounding once */

typedef struct row {
  const char *name, *scalars; /* functions; NULL: there is none without vectors. The row
                                that has one waits for one sum, which C++ makes without rounding
                                the product: it has no target there */
  int32_t n, quick;
} row;

static const row rows[] = {
    {"vectors", "scalars", 1000000, 100}, {"lorenz", NULL, 10000, 10},
    {"bodies", NULL, 500000, 100},        {"spheres", NULL, 300, 10},
    {"sampler", NULL, 500000, 100},
};

static const char *peer = HIA_PEERS "/peer_small";

static double call_ms(const bench_program *p, int32_t n, double *result) {
  double start = bench_now();
  hia_value *value = bench_call_value(p, &n, 1);
  double ms = bench_now() - start;
  bench_check(hia_value_get_f64(value, result), NULL);
  hia_value_free(value);
  return ms;
}

/* Milliseconds of the second of two runs in one process. */
static double peer_ms(const row *r, int32_t n, double *result) {
  char text[256], arg[32];
  double ms;
  snprintf(arg, sizeof arg, "%d", n);
  const char *argv[] = {peer, r->name, arg, "2", NULL};
  bench_process_text(argv, text, sizeof text);
  if (sscanf(text, "%lf %*f %lf", result, &ms) != 2) bench_wrong("%s printed %s", peer, text);
  return ms;
}

static void expect(const char *what, double result, double expected) {
  if (!(fabs(result - expected) <= TOLERANCE * fabs(expected)))
    bench_wrong("%s: %.15g instead of %.15g", what, result, expected);
}

static void measure(const row *r, int runs) {
  const bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1, .merge_calls = true};
  int32_t n = bench_is_quick() ? r->quick : r->n;
  bench_program own = bench_open(HIA_BENCH "/small.hia", r->name, &options), scalars = own;
  double ms[3][MAX_RUNS], expected, result;
  if (r->scalars) scalars = bench_open(HIA_BENCH "/small.hia", r->scalars, &options);
  call_ms(&own, n, &expected);
  if (r->scalars) call_ms(&scalars, n, &result);
  for (int i = 0; i < runs; i++) {
    ms[0][i] = call_ms(&own, n, &result);
    expect(r->name, result, expected);
    if (r->scalars) {
      ms[1][i] = call_ms(&scalars, n, &result);
      expect(r->scalars, result, expected);
    }
    if (!peer) continue;
    ms[2][i] = peer_ms(r, n, &result);
    expect(peer, result, expected);
  }
  double median = bench_median(ms[0], (size_t)runs);
  printf("%-16s %9.2f   ", r->name, median);
  bench_print_target(r->name, "vectors/scalars",
                     r->scalars ? median / bench_median(ms[1], (size_t)runs) : NAN, 2,
                     BENCH_AT_MOST(MAX_OF_SCALARS));
  bench_print_target(r->name, "native/C++", peer ? median / bench_median(ms[2], (size_t)runs) : NAN,
                     2, r->scalars ? BENCH_NO_TARGET : BENCH_AT_MOST(MAX_OF_CPP));
  puts("");
  if (r->scalars) bench_close(&scalars);
  bench_close(&own);
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
  if (access(peer, X_OK) != 0) {
    puts("no C++: g++ is not installed");
    peer = NULL;
  }
  printf("%-16s %9s   ", "milliseconds", "native");
  bench_print_target_heading("vectors/scalars");
  bench_print_target_heading("native/C++");
  puts("");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) measure(&rows[i], runs);
  return bench_end();
}
