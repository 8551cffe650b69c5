/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures models whose control depends on values that they compute, and those of sequences of
 * different lengths (decisions/models.h), on one thread: one input at a time, and batches of 64;
 * next to the same programs without batching, and to the rate that their products alone would
 * allow.
 *
 *   bench_decisions [--quick | --check] [--runs N] [--only NAME]
 *
 * NAME is tagger, characters, parser, spinn, attention or nuts. Results are those without batching,
 * bit for bit. A round has a measurement of each; figures are medians of rates of processor time.
 */
#include "bench/decisions/models.h"
#include "bench/harness.h"
#include "bench/inputs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 99, BATCH = 64 };

static const char *only; /* NULL: all */

static bool is_chosen(const char *name) { return !only || strcmp(only, name) == 0; }

/* ---- the rate of products ---- */

/* Products of a batch with a matrix that fits into the cache, one after the other. Its elements are
 * such that those of x keep their magnitude. */
#define SIDE 512
static const char f32_products[] =
    "param W: f32[512, 512] = uniform(-0.0765, 0.0765)\n"
    "fn main(n: i32) -> i32 = {\n"
    "  let (x, _) = loop (x = ones(64, 512), i = 0) while i < n { (x @ transpose(W), i + 1) };\n"
    "  i32(sum(x) > 1e30)\n"
    "}\n";
static const char f64_products[] = "param W: f64[512, 512] = uniform(-0.0765, 0.0765)\n"
                                   "fn main(n: i32) -> i32 = {\n"
                                   "  let (x, _) = loop (x = full(1.0f64, 64, 512), i = 0) while i "
                                   "< n { (x @ transpose(W), i + 1) };\n"
                                   "  i32(sum(x) > 1e30)\n"
                                   "}\n";

/* Multiplications with their additions, a second. */
static double rate_of_products(const char *text, int runs) {
  bench_options options = {.kind = HIA_ENGINE_JIT, .batch = HIA_BATCH_NONE};
  bench_program p = bench_open_text("products", text, "main", &options);
  double rates[MAX_RUNS];
  int32_t n = bench_is_quick() ? 2 : 500;
  bench_call(&p, &n, 1, NULL); /* the matrix is packed */
  for (int i = 0; i < runs; i++) {
    double start = bench_cpu();
    bench_call(&p, &n, 1, NULL);
    rates[i] = (double)n * (double)(BATCH * SIDE * SIDE) / ((bench_cpu() - start) / 1e3);
  }
  bench_close(&p);
  return bench_median(rates, (size_t)runs);
}

/* ---- rows ---- */

static double products_of(const bench_inputs *in) {
  hia_value *result = bench_inputs_called(in, "products", in->all, 1);
  double n = NAN;
  bench_check(hia_value_get_f64(result, &n), NULL);
  hia_value_free(result);
  return n;
}

/* `allowed`: inputs a second, if products were all that is computed. `alone`: those of inputs one
 * at a time without batching; NAN: that is what is measured. Returns those without batching. */
static double measure(const bench_inputs both[2], bench_act act, double allowed, double alone,
                      int runs) {
  const bench_deciding *model = both[0].model.deciding;
  bool is_batch = !isnan(alone);
  bench_work works[2] = {bench_inputs_work(&both[0], act, is_batch),
                         bench_inputs_work(&both[1], act, is_batch)};
  double rates[2][MAX_RUNS], median[2];
  char row[96];
  bench_inputs_row(row, sizeof row, &both[0].model, act, is_batch);
  double results[2] = {bench_work_pass(&works[0]), bench_work_pass(&works[1])};
  if (act == BENCH_CALL && results[0] != results[1])
    bench_wrong("%s: %.17g, but %.17g in batches", row, results[1], results[0]);
  for (int i = 0; i < runs; i++)
    for (int k = 0; k < 2; k++) rates[k][i] = bench_inputs_rate(&both[k], act, is_batch, 0.3);
  for (int k = 0; k < 2; k++) median[k] = bench_median(rates[k], (size_t)runs);
  printf("%-34s %9.1f %9.1f", row, median[0], median[1]);
  bench_print_target(row, "batches/none", median[0] / median[1], 2, BENCH_NO_TARGET);
  bench_print_target(row, "of what products allow", median[0] / allowed, 2,
                     is_batch ? BENCH_AT_LEAST(model->least) : BENCH_NO_TARGET);
  bench_print_target(row, "batches/one by one", median[0] / alone, 2,
                     model->least_together > 0 ? BENCH_AT_LEAST(model->least_together)
                                               : BENCH_NO_TARGET);
  printf("\n");
  fflush(stdout);
  return median[1];
}

static bench_inputs open_inputs(const bench_model *model, hia_batching batch) {
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1, .batch = batch};
  return bench_inputs_open(model, NULL, &options);
}

/* Training changes params, and so comes last. Its products are three times those of the loss: of
 * the values, of the gradients of vectors, and of the gradients of matrices. */
static void measure_model(const bench_model *model, int runs) {
  bench_inputs both[2] = {open_inputs(model, HIA_BATCH_SEGMENTS),
                          open_inputs(model, HIA_BATCH_NONE)};
  double products =
      rate_of_products(model->deciding->is_double ? f64_products : f32_products, runs);
  double allowed = products / products_of(&both[0]) * (double)both[0].n;
  printf("products, GFLOP/s: %.1f\n", 2e-9 * products);
  measure(both, BENCH_CALL, allowed, measure(both, BENCH_CALL, allowed, NAN, runs), runs);
  if (both[0].trainer)
    measure(both, BENCH_STEP, allowed / 3, measure(both, BENCH_STEP, allowed / 3, NAN, runs), runs);
  for (int k = 0; k < 2; k++) bench_inputs_close(&both[k]);
}

int main(int argc, char **argv) {
  int runs = 5;
  bool is_known = true, has_model = false;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      is_known = false;
  }
  for (size_t i = 0; i < BENCH_N_DECIDING; i++)
    has_model |= is_chosen(bench_deciding_models[i].name);
  if (!is_known || runs < 1 || runs > MAX_RUNS || !has_model) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N] [--only "
            "tagger|characters|parser|spinn|attention|nuts]\n",
            argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  bench_print_machine();
  bench_pin(true);
  printf("%-34s %9s %9s", "inputs/s", "hiaton", "none");
  bench_print_target_heading("batches/none");
  bench_print_target_heading("of what products allow");
  bench_print_target_heading("batches/one by one");
  printf("\n");
  for (size_t i = 0; i < BENCH_N_MODELS; i++) {
    bench_model model = bench_model_of(i);
    if (model.deciding && is_chosen(model.name)) measure_model(&model, runs);
  }
  return bench_end();
}
