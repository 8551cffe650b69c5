/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/gradients.h"
#include "bench/inputs.h"
#include <stdio.h>
#include <string.h>

enum { MAX_RUNS = 99, WARM_UP = 3 };
#define MAX_RATIO 2.5

/* Microseconds an input. What is measured in turn with something that needs less memory gets its
 * own back only in its first runs. */
static double us_of(const bench_inputs *in, bench_act act, bool is_batch) {
  bench_work work = bench_inputs_work(in, act, is_batch);
  for (int i = 0; is_batch && i < WARM_UP; i++) bench_work_pass(&work);
  return 1e6 / bench_inputs_rate(in, act, is_batch, 0.3);
}

static void compare(const bench_inputs *in, bool is_batch, int runs) {
  static const bench_act acts[2] = {BENCH_CALL, BENCH_GRADIENT};
  double us[2][MAX_RUNS], values[2];
  char row[96];
  for (int k = 0; k < 2; k++) {
    bench_work work = bench_inputs_work(in, acts[k], is_batch);
    values[k] = bench_work_pass(&work);
  }
  bench_inputs_row(row, sizeof row, &in->model, BENCH_GRADIENT, is_batch);
  if (values[0] != values[1])
    bench_wrong("%s: %.17g, but %.17g with its gradient", row, values[0], values[1]);
  for (int i = 0; i < runs; i++)
    for (int k = 0; k < 2; k++) us[k][i] = us_of(in, acts[k], is_batch);
  double one = bench_median(us[0], (size_t)runs), both = bench_median(us[1], (size_t)runs);
  printf("%-34s %10.1f %10.1f", row, one, both);
  bench_print_target(row, "gradient/function", both / one, 2, BENCH_AT_MOST(MAX_RATIO));
  printf("\n");
  fflush(stdout);
}

static void measure(const bench_model *model, const bench_treebank *treebank, int runs) {
  const bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1};
  bench_inputs in = bench_inputs_open(model, treebank, &options);
  if (bench_inputs_have_gradient(&in))
    for (int is_batch = 0; is_batch <= in.has_all; is_batch++) compare(&in, is_batch, runs);
  bench_inputs_close(&in);
}

bool bench_gradients_have(const char *name) {
  for (size_t i = 0; i < BENCH_N_MODELS; i++)
    if (strcmp(bench_model_of(i).name, name) == 0) return true;
  return false;
}

void bench_gradients(const char *only, const bench_treebank *treebank, int runs) {
  printf("%-34s %10s %10s", "us an input", "function", "gradient");
  bench_print_target_heading("gradient/function");
  printf("\n");
  for (size_t i = 0; i < BENCH_N_MODELS; i++) {
    bench_model model = bench_model_of(i);
    if (!only || strcmp(only, model.name) == 0) measure(&model, treebank, runs);
  }
  printf("\n");
}
