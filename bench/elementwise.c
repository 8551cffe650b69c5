/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures a chain of elementwise operations, the cell of an LSTM, next to the same in C with
 * libmvec (reference_cell.c): op by op, as a library of tensors computes it, and in one loop.
 *
 *   bench_elementwise [--quick | --check]
 *
 * A call computes some rows, one cell after the other, so that what a call costs does not count.
 * Figures are medians of processor time, of calls that take turns. */
#include "bench/harness.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HIA_HAS_GCC
void reference_cells(size_t rows, size_t n, const float *gates, float *c, float *h, float *memory);
void reference_cells_fused(size_t rows, size_t n, const float *gates, float *c, float *h);
#endif

enum { ROUNDS = 25, MAX_SIZE = 1024, VALUES = 64 * 1024 };
#define MAX_OF_OPS 0.8
#define TOLERANCE  1e-5

/* The gates of a row are i, f, o and u. */
static const char program_text[] =
    "const N = %zu\n"
    "fn cells(gates: f32[m, 4, N], c: f32[N]) -> (f32[N], f32[N]) = {\n"
    "  let (c, h, _) = loop (c = c, h = zeros(N), k = 0i64) while k < m {\n"
    "    let g = gates[k];\n"
    "    let next = sigmoid(g[0]) * tanh(g[3]) + sigmoid(g[1]) * c;\n"
    "    (next, sigmoid(g[2]) * tanh(next), k + 1)\n"
    "  };\n"
    "  (c, h)\n"
    "}\n";

static float gates[4 * VALUES], start_c[MAX_SIZE], c[MAX_SIZE], h[MAX_SIZE];
static bench_program program;
static hia_value *args[2];
static size_t n, rows;

static hia_value *run_own(void) {
  hia_value *result;
  hia_error *error;
  bench_check(hia_call(program.function, args, 2, &result, &error), &error);
  return result;
}

static void open_own(void) {
  char text[sizeof program_text + 32];
  hia_error *error;
  snprintf(text, sizeof text, program_text, n);
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1};
  program = bench_open_text("cells", text, "cells", &options);
  const int64_t dims[] = {(int64_t)rows, 4, (int64_t)n};
  const void *elements[] = {gates, start_c};
  for (size_t i = 0; i < 2; i++)
    bench_check(hia_data_tensor(NULL, hia_function_param_type(program.function, i), dims + 2 * i,
                                elements[i], &args[i], &error),
                &error);
}

static void close_own(void) {
  for (size_t i = 0; i < 2; i++) hia_value_free(args[i]);
  bench_close(&program);
}

enum { OWN, OPS, FUSED, WAYS };

static bool has_way(int way) { return way == OWN || HIA_HAS_GCC; }

static void run(int way) {
  if (way == OWN) {
    hia_value_free(run_own());
    return;
  }
#if HIA_HAS_GCC
  static float memory[6 * MAX_SIZE];
  memcpy(c, start_c, n * sizeof *c);
  if (way == OPS)
    reference_cells(rows, n, gates, c, h, memory);
  else
    reference_cells_fused(rows, n, gates, c, h);
#endif
}

static void check_results(const char *row) {
  hia_value *result = run_own();
  for (int way = OPS; way < WAYS; way++) {
    if (!has_way(way)) continue;
    run(way);
    for (size_t part = 0; part < 2; part++) {
      hia_value *value = hia_value_part(result, part);
      const float *own = hia_value_elements(value), *theirs = part == 0 ? c : h;
      for (size_t i = 0; i < n; i++)
        if (!(fabsf(own[i] - theirs[i]) <= (float)TOLERANCE)) {
          bench_wrong("%s: element %zu is %.9g, in C %.9g", row, i, (double)own[i],
                      (double)theirs[i]);
          break;
        }
      hia_value_free(value);
    }
  }
  hia_value_free(result);
}

static void measure(void) {
  double samples[WAYS][ROUNDS], ns[WAYS];
  int rounds = bench_is_quick() ? 1 : ROUNDS, repeats = bench_is_quick() ? 1 : 20;
  char row[64];
  snprintf(row, sizeof row, "LSTM cell, %zu", n);
  open_own();
  check_results(row);
  for (int r = 0; r < rounds; r++)
    for (int way = 0; way < WAYS; way++) {
      if (!has_way(way)) continue;
      double start = bench_cpu();
      for (int i = 0; i < repeats; i++) run(way);
      samples[way][r] = (bench_cpu() - start) * 1e6 / repeats / (double)rows;
    }
  for (int way = 0; way < WAYS; way++)
    ns[way] = has_way(way) ? bench_median(samples[way], (size_t)rounds) : NAN;
  printf("%-18s %9.0f %9.0f %9.0f", row, ns[OWN], ns[OPS], ns[FUSED]);
  bench_print_target(row, "hiaton/C, op by op", ns[OWN] / ns[OPS], 2, BENCH_AT_MOST(MAX_OF_OPS));
  bench_print_target(row, "hiaton/C, one loop", ns[OWN] / ns[FUSED], 2, BENCH_NO_TARGET);
  printf("\n");
  fflush(stdout);
  close_own();
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!bench_take_option(argv[i])) {
      fputs("usage: bench_elementwise [--quick | --check]\n", stderr);
      return 2;
    }
  static const size_t sizes[] = {150, MAX_SIZE};
  bench_print_machine();
  bench_pin(true);
  for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) gates[i] = (float)(drand48() * 8 - 4);
  for (size_t i = 0; i < MAX_SIZE; i++) start_c[i] = (float)(drand48() * 2 - 1);
  printf("%-18s %9s %9s %9s", "ns a cell", "hiaton", "C, ops", "one loop");
  bench_print_target_heading("hiaton/C, op by op");
  bench_print_target_heading("hiaton/C, one loop");
  printf("\n");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    n = sizes[i];
    /* Gates of 128 KiB: they stay in the second cache. */
    rows = (size_t)(128 << 10) / (4 * n * sizeof(float));
    measure();
  }
  return bench_end();
}
