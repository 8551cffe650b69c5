/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/defaults.h"
#include "bench/inputs.h"
#include <stdio.h>
#include <string.h>

enum { MAX_RUNS = 99 };
/* Where batching gains nothing, nothing of it should be left: what is above 1 is the noise of a
 * machine. */
#define MAX_TIME   1.02
#define WARM_UP_MS 3000.0 /* in which versions are made (docs/speculation.md) */
#define MIN_MS     150.0  /* of one figure */

static bench_inputs open_inputs(const bench_model *model, const bench_treebank *treebank,
                                hia_batching batch) {
  bench_options options = {.kind = HIA_ENGINE_AUTO,
                           .threads = 1,
                           .merge_calls = true,
                           .batch = batch,
                           .reuse = true,
                           .speculate = HIA_SPECULATE_ON};
  return bench_inputs_open(model, treebank, &options);
}

static void warm_up(const bench_inputs *in, bench_act act, bool is_batch) {
  bench_work work = bench_inputs_work(in, act, is_batch);
  double end = bench_now() + (bench_is_quick() ? 0 : WARM_UP_MS);
  do bench_work_pass(&work);
  while (bench_now() < end);
}

/* Milliseconds a pass, of processor time. */
static double pass_ms(const bench_inputs *in, bench_act act, bool is_batch) {
  return 1e3 * (double)in->n / bench_inputs_rate(in, act, is_batch, MIN_MS / 1e3);
}

static void compare(const bench_inputs both[2], bench_act act, bool is_batch, int runs) {
  double ms[2][MAX_RUNS], ratios[MAX_RUNS], results[2];
  char row[96];
  bench_inputs_row(row, sizeof row, &both[0].model, act, is_batch);
  for (int k = 0; k < 2; k++) {
    bench_work work = bench_inputs_work(&both[k], act, is_batch);
    results[k] = bench_work_pass(&work);
    warm_up(&both[k], act, is_batch);
  }
  if (results[0] != results[1])
    bench_wrong("%s: %.17g, but %.17g by the default", row, results[1], results[0]);
  for (int i = 0; i < runs; i++) {
    for (int k = 0; k < 2; k++) ms[k][i] = pass_ms(&both[k], act, is_batch);
    ratios[i] = ms[0][i] / ms[1][i];
  }
  printf("%-34s %9.2f %9.2f", row, bench_median(ms[0], (size_t)runs),
         bench_median(ms[1], (size_t)runs));
  bench_print_target(row, "default/none", bench_median(ratios, (size_t)runs), 2,
                     BENCH_AT_MOST(MAX_TIME));
  printf("\n");
  fflush(stdout);
}

/* Inputs one at a time and together are those of programs of their own: waves that are wide once
 * count for all later calls. Training comes last, as it changes params. */
static void measure(const bench_model *model, const bench_treebank *treebank, bool is_batch,
                    int runs) {
  bench_inputs both[2] = {open_inputs(model, treebank, HIA_BATCH_SEGMENTS),
                          open_inputs(model, treebank, HIA_BATCH_NONE)};
  if (!is_batch || both[0].has_all) compare(both, BENCH_CALL, is_batch, runs);
  if (both[0].trainer) compare(both, BENCH_STEP, is_batch, runs);
  for (int k = 0; k < 2; k++) bench_inputs_close(&both[k]);
}

void bench_defaults(const char *only, const bench_treebank *treebank, int runs) {
  printf("%-34s %9s %9s", "ms a pass of 64 inputs", "default", "none");
  bench_print_target_heading("default/none");
  printf("\n");
  for (size_t i = 0; i < BENCH_N_MODELS; i++) {
    bench_model model = bench_model_of(i);
    if (only && strcmp(only, model.name) != 0) continue;
    for (int is_batch = 0; is_batch < 2; is_batch++) measure(&model, treebank, is_batch, runs);
  }
  printf("\n");
}
