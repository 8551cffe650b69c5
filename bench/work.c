/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/work.h"
#include "bench/peers.h"
#include <math.h>

/* A tree that has grown counts its nodes and their words. */
static double count_of(const hia_value *tree) {
  hia_value_nodes *table;
  hia_error *error;
  bench_check(hia_value_to_nodes(tree, &table, &error), &error);
  double sum = 0;
  for (size_t i = 0; i < table->n_nodes; i++)
    sum += 1 + (double)table->words[4 * i]; /* word, left, right, next */
  hia_value_nodes_free(table);
  return sum;
}

double bench_work_number(const hia_value *result) {
  float single;
  double x = 0;
  if (hia_value_get_f32(result, &single) == HIA_OK) return (double)single;
  if (hia_value_get_f64(result, &x) == HIA_OK) return x;
  hia_value *first = hia_value_part(result, 0);
  bool has_number = hia_value_get_f64(first, &x) == HIA_OK;
  hia_value_free(first);
  for (size_t i = 0; !has_number && i < hia_value_len(result); i++) {
    hia_value *tree = hia_value_part(result, i);
    x += count_of(tree);
    hia_value_free(tree);
  }
  return x;
}

/* Returns the loss. */
static double perform(const bench_work *w, size_t i) {
  hia_value *const *args = w->args + i * w->stride, *result;
  hia_error *error;
  double loss = NAN;
  switch (w->act) {
  case BENCH_CALL:
    bench_check(hia_call(w->function, args, w->n_args, &result, &error), &error);
    loss = bench_work_number(result);
    hia_value_free(result);
    break;
  case BENCH_GRADIENT:
    bench_check(hia_trainer_gradient(w->trainer, args, w->n_args, NULL, &loss, &error), &error);
    break;
  case BENCH_STEP:
    bench_check(hia_trainer_step(w->trainer, args, w->n_args, NULL, &loss, &error), &error);
    break;
  }
  return loss;
}

double bench_work_pass(const bench_work *w) {
  double sum = 0;
  for (size_t i = 0; i < w->n; i++) sum += perform(w, i);
  return sum;
}

double bench_work_rate(const bench_work *w, double seconds) {
  size_t n = 0;
  double start = bench_now(), ms;
  if (bench_is_quick()) seconds = 0;
  do {
    bench_work_pass(w);
    n += w->n;
    ms = bench_now() - start;
  } while (ms < seconds * 1e3);
  return (double)n / (ms / 1e3);
}

hia_trainer *bench_work_trainer(hia_function *loss) {
  hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
  hia_trainer *trainer;
  hia_error *error;
  options.optimizer = HIA_SGD;
  options.rate = BENCH_PEERS_RATE;
  bench_check(hia_trainer_new(loss, &options, &trainer, &error), &error);
  return trainer;
}

bench_work bench_work_of(const bench_runner *r, bench_act what, hia_trainer *trainer) {
  return (bench_work){.act = what,
                      .function = r->program.function,
                      .trainer = trainer,
                      .args = *r->args,
                      .n = r->n,
                      .stride = sizeof *r->args / sizeof **r->args,
                      .n_args = r->n_args};
}
