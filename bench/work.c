/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/work.h"
#include "bench/peers.h"
#include <math.h>

/* A number, or the first part of what is returned. */
static double number_of(const hia_value *result) {
  float single;
  double x = NAN;
  if (hia_value_get_f32(result, &single) == HIA_OK) return (double)single;
  if (hia_value_get_f64(result, &x) == HIA_OK) return x;
  hia_value *first = hia_value_part(result, 0);
  bench_check(hia_value_get_f64(first, &x), NULL);
  hia_value_free(first);
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
    loss = number_of(result);
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
