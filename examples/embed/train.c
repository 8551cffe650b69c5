/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Training from a host: it makes the batches, drives the steps, and reads a gradient. The program
 * fits a line to points: y = 3 x - 1, with noise.
 *
 * prints:
 *   the gradient of w is -8.3 at first
 *   after 60 steps the loss is below 0.01
 *   w is about 3, and c about -1
 */
#include <hiaton/hiaton.h>
#include <math.h>
#include <stdio.h>

static const char text[] = "param w: f64 = 0\n"
                           "param c: f64 = 0\n"
                           "fn loss(x: f64[n], y: f64[n]) -> f64 = {\n"
                           "  let d = w * x + c - y;\n"
                           "  sum(d * d) / f64(len(x))\n"
                           "}\n";

enum { N = 64 };

static hia_engine *engine;
static hia_module *module;
static hia_trainer *trainer;
static hia_value *batch[2];
static hia_error *error;

/* A vector of f64 as a value. */
static hia_value *vector(const hia_function *f, size_t parameter, const double *elements) {
  hia_value *value = NULL;
  const int64_t dims[1] = {N};
  const hia_type_info *type = hia_function_param_type(f, parameter);
  return hia_data_tensor(NULL, type, dims, elements, &value, &error) == HIA_OK ? value : NULL;
}

static bool begin(void) {
  double x[N], y[N];
  hia_function *loss = NULL;
  for (int i = 0; i < N; i++) {
    x[i] = -2 + 4.0 * i / (N - 1);
    y[i] = 3 * x[i] - 1 + 0.05 * (i % 3 - 1);
  }
  hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
  options.optimizer = HIA_SGD;
  options.rate = 0.1;
  if (hia_engine_new(NULL, &engine, &error) || /* HIA_OK is 0 */
      hia_module_load_text(engine, "line.hia", text, sizeof text - 1, &module, &error) ||
      hia_module_function(module, "loss", &loss, &error) ||
      hia_trainer_new(loss, &options, &trainer, &error))
    return false;
  batch[0] = vector(loss, 0, x);
  batch[1] = vector(loss, 1, y);
  return batch[0] && batch[1];
}

/* A scalar, of which the value is freed. */
static double scalar(hia_value *value) {
  double x = NAN;
  hia_value_get_f64(value, &x);
  hia_value_free(value);
  return x;
}
static double param(const char *name) {
  hia_value *value = NULL;
  hia_module_param(module, hia_params_find(hia_module_params(module), name), &value, NULL);
  return scalar(value);
}

static bool train(void) {
  double loss = 0;
  hia_value *gradient;
  /* A step in two: between them the host may read the gradient. */
  if (hia_trainer_gradient(trainer, batch, 2, NULL, &loss, &error) ||
      hia_trainer_gradient_of(trainer, hia_params_find(hia_module_params(module), "w"), &gradient, &error))
    return false;
  printf("the gradient of w is %.1f at first\n", scalar(gradient));
  if (hia_trainer_update(trainer, &error)) return false;
  while (hia_trainer_steps(trainer) < 60)
    if (hia_trainer_step(trainer, batch, 2, NULL, &loss, &error)) return false;
  printf("after 60 steps the loss is %s\n", loss < 0.01 ? "below 0.01" : "not small");
  printf("w is about %.0f, and c about %.0f\n", param("w"), param("c"));
  return true;
}

int main(void) {
  bool is_done = begin() && train();
  if (!is_done) fprintf(stderr, "%s\n", hia_error_text(error));
  hia_error_free(error);
  for (int i = 0; i < 2; i++) hia_value_free(batch[i]);
  hia_trainer_free(trainer);
  hia_module_free(module);
  hia_engine_free(engine);
  return !is_done;
}
