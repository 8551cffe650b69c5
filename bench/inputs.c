/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/inputs.h"
#include "bench/likelihood.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t bench_n_inputs(void) { return bench_is_quick() ? BENCH_QUICK_INPUTS : BENCH_INPUTS; }

/* The networks come first, then the top-down one along trees, which has a loss, then those that
 * decide, then the likelihood. */
bench_model bench_model_of(size_t i) {
  if (i < BENCH_N_NETWORKS) {
    const bench_network *n = &bench_networks[i];
    return (bench_model){.name = n->name, .title = n->title, .network = n};
  }
  i -= BENCH_N_NETWORKS;
  if (i == 0)
    return (bench_model){.name = "topdown",
                         .title = "top-down, given trees",
                         .network = &bench_networks[BENCH_TOP_DOWN],
                         .grows = true};
  i--;
  if (i < BENCH_N_DECIDING) {
    const bench_deciding *d = &bench_deciding_models[i];
    return (bench_model){.name = d->name, .title = d->title, .deciding = d};
  }
  return (bench_model){.name = "felsenstein", .title = "Felsenstein"};
}

hia_value *bench_inputs_called(const bench_inputs *in, const char *name, hia_value *const *args,
                               size_t n) {
  hia_function *function;
  hia_value *result;
  hia_error *error;
  bench_check(hia_module_function(in->program.module, name, &function, &error), &error);
  bench_check(hia_call(function, args, n, &result, &error), &error);
  return result;
}

static void make_room(bench_inputs *in, size_t n) {
  in->n = n;
  in->one = calloc(n, sizeof *in->one);
  if (!in->one) bench_check(HIA_MEMORY, NULL);
}

/* ---- networks ---- */

/* One array of the only elements of those of all inputs. */
static hia_value *joined(const bench_inputs *in) {
  const hia_type_info *type = hia_function_param_type(in->program.function, 0);
  hia_value *parts[BENCH_INPUTS], *array;
  hia_error *error;
  for (size_t i = 0; i < in->n; i++) parts[i] = hia_value_part(in->one[i][0], 0);
  bench_check(hia_value_array(in->program.engine, type, parts, in->n, &array, &error), &error);
  for (size_t i = 0; i < in->n; i++) hia_value_free(parts[i]);
  return array;
}

static hia_value *parsed(const bench_inputs *in, size_t i, const char *text) {
  hia_value *value;
  hia_error *error;
  bench_check(
      hia_value_parse_text(in->program.function, i, NULL, text, strlen(text), &value, &error),
      &error);
  return value;
}

/* The roots are a tensor. */
static hia_value *all_roots(const bench_inputs *in) {
  char text[16 * BENCH_INPUTS] = "[";
  size_t at = 1;
  for (size_t i = 0; i < in->n; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%zu", i ? "," : "", i * 37 % 1000);
  snprintf(text + at, sizeof text - at, "]");
  return parsed(in, 0, text);
}

static void take_runner(bench_inputs *in, bench_runner r) {
  in->program = r.program;
  in->n_args = r.n_args;
  make_room(in, r.n < bench_n_inputs() ? r.n : bench_n_inputs());
  for (size_t i = 0; i < r.n; i++)
    for (size_t k = 0; k < r.n_args; k++)
      if (i < in->n)
        in->one[i][k] = r.args[i][k];
      else
        hia_value_free(r.args[i][k]);
  free(r.args);
}

static void open_network(bench_inputs *in, const bench_treebank *treebank,
                         const bench_options *options) {
  const bench_network *network = in->model.network;
  bool has_roots = network->input == BENCH_ROOTS;
  take_runner(in, bench_runner_open_with(network, treebank, options));
  in->all[0] = has_roots ? all_roots(in) : joined(in);
  if (has_roots) in->all[1] = parsed(in, 1, "8");
  if (!has_roots) in->trainer = bench_work_trainer(in->program.function);
}

/* The arguments of `main` become the trees that it grows from them, those of the loss. */
static void grow(bench_inputs *in) {
  hia_error *error;
  for (size_t i = 0; i <= in->n; i++) {
    hia_value **args = i < in->n ? in->one[i] : in->all;
    hia_value *trees = bench_inputs_called(in, "main", args, 2);
    for (size_t k = 0; k < 2; k++) hia_value_free(args[k]);
    args[0] = trees;
    args[1] = NULL;
  }
  in->n_args = 1;
  bench_check(hia_module_function(in->program.module, "loss", &in->program.function, &error),
              &error);
  bench_check(hia_function_prepare(in->program.function, &error), &error);
  in->trainer = bench_work_trainer(in->program.function);
}

/* ---- those that decide ---- */

static hia_value *some(const bench_inputs *in, size_t from, size_t n) {
  hia_value *args[2] = {hia_value_i64(in->program.engine, (int64_t)from),
                        hia_value_i64(in->program.engine, (int64_t)n)};
  hia_value *result = bench_inputs_called(in, "some", args, 2);
  for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  return result;
}

static char *text_of(const bench_deciding *model) {
  char *text;
  size_t len;
  FILE *to = open_memstream(&text, &len);
  if (!to) bench_check(HIA_MEMORY, NULL);
  fprintf(to, "%s%s", model->more[0], model->more[1]);
  if (fclose(to) != 0) bench_check(HIA_MEMORY, NULL);
  return text;
}

static void open_deciding(bench_inputs *in, const bench_options *options) {
  const bench_deciding *model = in->model.deciding;
  char path[BENCH_MAX_PATH], *more = text_of(model);
  snprintf(path, sizeof path, "%s/models/%s.hia", HIA_EXAMPLES, model->file);
  in->program = bench_open_with(path, more, model->function, options);
  free(more);
  if (model->is_trained) in->trainer = bench_work_trainer(in->program.function);
  in->n_args = 1;
  make_room(in, bench_n_inputs());
  for (size_t i = 0; i < in->n; i++) in->one[i][0] = some(in, i, 1);
  in->all[0] = some(in, 0, in->n);
}

static void open_likelihood(bench_inputs *in, const bench_options *options) {
  hia_error *error;
  make_room(in, 1);
  in->n_args = 4;
  in->program = bench_likelihood_open(options, in->one[0]);
  bench_check(hia_module_function(in->program.module, "gradient", &in->gradient, &error), &error);
  bench_check(hia_function_prepare(in->gradient, &error), &error);
}

/* ---- all of them ---- */

bench_inputs bench_inputs_open(const bench_model *model, const bench_treebank *treebank,
                               const bench_options *options) {
  bench_inputs in = {.model = *model, .has_all = model->network || model->deciding};
  if (model->network)
    open_network(&in, treebank, options);
  else if (model->deciding)
    open_deciding(&in, options);
  else
    open_likelihood(&in, options);
  if (model->grows) grow(&in);
  return in;
}

void bench_inputs_close(bench_inputs *in) {
  for (size_t k = 0; k < in->n_args; k++) {
    for (size_t i = 0; i < in->n; i++) hia_value_free(in->one[i][k]);
    if (in->has_all) hia_value_free(in->all[k]);
  }
  free(in->one);
  hia_trainer_free(in->trainer);
  bench_close(&in->program);
}

bool bench_inputs_have_gradient(const bench_inputs *in) { return in->trainer || in->gradient; }

bench_work bench_inputs_work(const bench_inputs *in, bench_act act, bool is_batch) {
  bool calls_gradient = act != BENCH_CALL && in->gradient;
  return (bench_work){.act = calls_gradient ? BENCH_CALL : act,
                      .function = calls_gradient ? in->gradient : in->program.function,
                      .trainer = in->trainer,
                      .args = is_batch ? in->all : *in->one,
                      .n = is_batch ? 1 : in->n,
                      .stride = sizeof *in->one / sizeof **in->one,
                      .n_args = in->n_args};
}

void bench_inputs_row(char *row, size_t size, const bench_model *model, bench_act act,
                      bool is_batch) {
  snprintf(row, size, "%s, %zu%s", model->title, is_batch ? bench_n_inputs() : 1,
           act == BENCH_STEP       ? ", training"
           : act == BENCH_GRADIENT ? ", gradient"
                                   : "");
}

double bench_inputs_rate(const bench_inputs *in, bench_act act, bool is_batch, double seconds) {
  bench_work work = bench_inputs_work(in, act, is_batch);
  double start = bench_cpu(), ms;
  size_t n = 0;
  do {
    bench_work_pass(&work);
    n += in->n;
    ms = bench_cpu() - start;
  } while (ms < seconds * 1e3 && !bench_is_quick());
  return (double)n / (ms / 1e3);
}
