/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures models whose control depends on values that they compute, and those of sequences of
 * different lengths (decisions/models.h), on one thread: one input at a time, and batches of 64;
 * next to the same programs without batching, and to the rate that their products alone would
 * allow.
 *
 *   bench_decisions [--quick | --check] [--runs N] [--only NAME]
 *
 * NAME is tagger, characters, parser, spinn or nuts. Results are those without batching, bit for
 * bit. A round has a measurement of each; figures are medians of rates of processor time. */
#include "bench/decisions/models.h"
#include "bench/harness.h"
#include "bench/work.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 99, BATCH = 64, QUICK_BATCH = 4 };

static const char *only; /* NULL: all */

static bool is_chosen(const char *name) { return !only || strcmp(only, name) == 0; }

static size_t batch_size(void) { return bench_is_quick() ? QUICK_BATCH : BATCH; }

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

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

/* ---- a model with its inputs ---- */

typedef struct inputs {
  bench_program program;
  hia_trainer *trainer; /* NULL: the function is none that training could follow */
  hia_value *one[BATCH], *all;
} inputs;

static hia_value *called(const inputs *in, const char *name, hia_value *const *args, size_t n) {
  hia_function *function;
  hia_value *result;
  hia_error *error;
  bench_check(hia_module_function(in->program.module, name, &function, &error), &error);
  bench_check(hia_call(function, args, n, &result, &error), &error);
  return result;
}

static hia_value *some(const inputs *in, size_t from, size_t n) {
  hia_value *args[2] = {hia_value_i64(in->program.engine, (int64_t)from),
                        hia_value_i64(in->program.engine, (int64_t)n)};
  hia_value *result = called(in, "some", args, 2);
  for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  return result;
}

static char *joined(const bench_deciding *model) {
  char *text;
  size_t len;
  FILE *to = open_memstream(&text, &len);
  if (!to) fail("memory");
  fprintf(to, "%s%s", model->more[0], model->more[1]);
  if (fclose(to) != 0) fail("memory");
  return text;
}

static inputs inputs_open(const bench_deciding *model, hia_batching batch) {
  char path[BENCH_MAX_PATH], *more = joined(model);
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1, .batch = batch};
  snprintf(path, sizeof path, "%s/models/%s.hia", HIA_EXAMPLES, model->file);
  inputs in = {.program = bench_open_with(path, more, model->function, &options)};
  free(more);
  if (model->is_trained) in.trainer = bench_work_trainer(in.program.function);
  for (size_t i = 0; i < batch_size(); i++) in.one[i] = some(&in, i, 1);
  in.all = some(&in, 0, batch_size());
  return in;
}

static void inputs_close(inputs *in) {
  for (size_t i = 0; i < batch_size(); i++) hia_value_free(in->one[i]);
  hia_value_free(in->all);
  hia_trainer_free(in->trainer);
  bench_close(&in->program);
}

static double products_of(const inputs *in) {
  hia_value *result = called(in, "products", &in->all, 1);
  double n = NAN;
  bench_check(hia_value_get_f64(result, &n), NULL);
  hia_value_free(result);
  return n;
}

static bench_work work_of(const inputs *in, bench_act act, bool is_batch) {
  return (bench_work){.act = act,
                      .function = in->program.function,
                      .trainer = in->trainer,
                      .args = is_batch ? &in->all : in->one,
                      .n = is_batch ? 1 : batch_size(),
                      .stride = 1,
                      .n_args = 1};
}

/* ---- rows ---- */

/* Inputs a second. */
static double rate_of(const bench_work *work) {
  double start = bench_cpu(), ms;
  size_t n = 0;
  do {
    bench_work_pass(work);
    n += batch_size();
    ms = bench_cpu() - start;
  } while (ms < 300 && !bench_is_quick());
  return (double)n / (ms / 1e3);
}

/* `allowed`: inputs a second, if products were all that is computed. */
static void measure(const bench_deciding *model, const inputs both[2], bench_act act, bool is_batch,
                    double allowed, int runs) {
  bench_work works[2] = {work_of(&both[0], act, is_batch), work_of(&both[1], act, is_batch)};
  double rates[2][MAX_RUNS], median[2];
  char row[96];
  snprintf(row, sizeof row, "%s, %zu%s", model->title, is_batch ? batch_size() : 1,
           act == BENCH_STEP ? ", training" : "");
  double results[2] = {bench_work_pass(&works[0]), bench_work_pass(&works[1])};
  if (act == BENCH_CALL && results[0] != results[1])
    bench_wrong("%s: %.17g, but %.17g in batches", row, results[1], results[0]);
  for (int i = 0; i < runs; i++)
    for (int k = 0; k < 2; k++) rates[k][i] = rate_of(&works[k]);
  for (int k = 0; k < 2; k++) median[k] = bench_median(rates[k], (size_t)runs);
  printf("%-34s %9.1f %9.1f", row, median[0], median[1]);
  bench_print_target(row, "batches/none", median[0] / median[1], 2, BENCH_NO_TARGET);
  bench_print_target(row, "of what products allow", median[0] / allowed, 2,
                     is_batch ? BENCH_AT_LEAST(model->least) : BENCH_NO_TARGET);
  printf("\n");
  fflush(stdout);
}

/* Training changes params, and so comes last. Its products are three times those of the loss: of
 * the values, of the gradients of vectors, and of the gradients of matrices. */
static void measure_model(const bench_deciding *model, int runs) {
  inputs both[2] = {inputs_open(model, HIA_BATCH_SEGMENTS), inputs_open(model, HIA_BATCH_NONE)};
  double products = rate_of_products(model->is_double ? f64_products : f32_products, runs);
  double allowed = products / products_of(&both[0]) * (double)batch_size();
  printf("products, GFLOP/s: %.1f\n", 2e-9 * products);
  for (int is_batch = 0; is_batch < 2; is_batch++)
    measure(model, both, BENCH_CALL, is_batch, allowed, runs);
  for (int is_batch = 0; is_batch < 2 && model->is_trained; is_batch++)
    measure(model, both, BENCH_STEP, is_batch, allowed / 3, runs);
  for (int k = 0; k < 2; k++) inputs_close(&both[k]);
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
    fprintf(
        stderr,
        "usage: %s [--quick | --check] [--runs N] [--only tagger|characters|parser|spinn|nuts]\n",
        argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  bench_print_machine();
  bench_pin(true);
  printf("%-34s %9s %9s", "inputs/s", "hiaton", "none");
  bench_print_target_heading("batches/none");
  bench_print_target_heading("of what products allow");
  printf("\n");
  for (size_t i = 0; i < BENCH_N_DECIDING; i++)
    if (is_chosen(bench_deciding_models[i].name)) measure_model(&bench_deciding_models[i], runs);
  return bench_end();
}
