/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Trainers, through the C API (hiaton/training.h). The optimizers themselves: test_optimizer.c. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* E is read row by row, W as a whole, unused not at all. */
static const char text[] =
    "param E: f32[6, 3] = uniform(-1, 1)\n"
    "param W: f32[2, 3] = uniform(-1, 1)\n"
    "param b: f32[2] = 0.5\n"
    "param scale: f32 = 2\n"
    "param unused: f32[4, 2] = 1\n"
    "param d: f64 = 3\n"
    "fn score(v: f32[3]) = tanh(W @ v + b) * scale\n"
    "fn loss(words: i32[?]) -> f32 = sum([sum(score(E[words[i]])) for i in 0..i32(len(words))])\n"
    "fn own(words: i32[?]) = value_and_grad(loss)(words)\n"
    "fn wide(x: f64) -> f64 = (x * d - 1) * (x * d - 1)\n"
    "fn no_float(x: i32) = i32(b[0]) + x\n"
    "fn none(x: f32) = x * x\n"
    "fn any(x) -> f32 = b[0] * f32(x)\n";

static hia_engine *engine;
static hia_module *module;
static hia_trainer *trainer;
static hia_error *error; /* of the last call that was given it */

static hia_function *function(const char *name) {
  hia_function *f;
  cr_assert_eq(hia_module_function(module, name, &f, NULL), HIA_OK, "%s", name);
  return f;
}

static void open_at(hia_engine_kind kind, unsigned threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "t.hia", text, strlen(text), &module, NULL), HIA_OK);
}

static void train(const char *loss, hia_optimizer optimizer) {
  hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
  options.optimizer = optimizer;
  options.rate = 0.125;
  hia_status status = hia_trainer_new(function(loss), &options, &trainer, &error);
  cr_assert_eq(status, HIA_OK, "%s", error ? hia_error_message(error, 0) : "");
}

static void close_all(void) {
  hia_trainer_free(trainer);
  hia_module_free(module);
  hia_engine_free(engine);
  trainer = NULL;
}

static hia_value *words(const char *list) {
  hia_value *value;
  cr_assert_eq(hia_value_parse(function("loss"), 0, list, &value, NULL), HIA_OK);
  return value;
}

/* The elements of a param, or of its gradient; the caller frees them. */
static float *elements_of(hia_value *value) {
  size_t n = 1;
  const hia_type_info *type = hia_value_type(value);
  float *to;
  for (size_t k = 0; k < hia_type_info_rank(type); k++) n *= (size_t)hia_value_dims(value)[k];
  to = malloc(n * sizeof *to);
  if (hia_type_info_rank(type))
    memcpy(to, hia_value_elements(value), n * sizeof *to);
  else
    cr_assert_eq(hia_value_get_f32(value, to), HIA_OK);
  hia_value_free(value);
  return to;
}
static float *param(size_t i) {
  hia_value *value;
  cr_assert_eq(hia_module_param(module, i, &value, NULL), HIA_OK);
  return elements_of(value);
}
static float *gradient(size_t i) {
  hia_value *value;
  cr_assert_eq(hia_trainer_gradient_of(trainer, i, &value, NULL), HIA_OK);
  return elements_of(value);
}

static void fails(hia_status status, hia_status wanted, const char *message) {
  cr_assert_eq(status, wanted, "%d: %s", (int)status, status ? hia_error_message(error, 0) : "");
  cr_assert(strstr(hia_error_message(error, 0), message), "%s", hia_error_message(error, 0));
  hia_error_free(error);
}

#define FAILS(call, wanted, message)                                                               \
  do {                                                                                             \
    hia_status status_ = (call);                                                                   \
    fails(status_, wanted, message);                                                               \
  } while (0)

enum { N_PARAMS = 6 };
static const size_t lens[N_PARAMS] = {18, 6, 2, 1, 8, 0}; /* of those of f32 */

/* The gradient is what the language's `value_and_grad` gives, and the update follows it. */
static void follows_its_gradient(hia_engine_kind kind, unsigned threads) {
  open_at(kind, threads);
  train("loss", HIA_SGD);
  hia_value *arg = words("[4, 1, 4]"), *both;
  cr_assert_eq(hia_run(function("own"), &arg, 1, NULL, &both, NULL), HIA_OK);
  float *before[N_PARAMS], first;
  for (size_t i = 0; i < 5; i++) before[i] = param(i);
  double loss = 0;
  cr_assert_eq(hia_trainer_step(trainer, &arg, 1, NULL, &loss, NULL), HIA_OK);
  hia_value *value = hia_value_part(both, 0), *all = hia_value_part(both, 1);
  cr_assert_eq(hia_value_get_f32(value, &first), HIA_OK);
  cr_assert_eq((float)loss, first);
  double norm = 0;
  for (size_t i = 0; i < 5; i++) {
    float *is = gradient(i), *after = param(i);
    float *expected =
        i < 4 ? elements_of(hia_value_part(all, i)) : calloc(lens[i], sizeof *expected);
    for (size_t k = 0; k < lens[i]; k++) {
      cr_assert_eq(is[k], expected[k], "param %zu, element %zu", i, k);
      cr_assert_eq(after[k], before[i][k] - 0.125f * expected[k], "param %zu, element %zu", i, k);
      norm += (double)is[k] * (double)is[k];
      if (i == 0) cr_assert_eq(is[k] != 0, k / 3 == 4 || k / 3 == 1);
    }
    free(is);
    free(after);
    free(expected);
    free(before[i]);
  }
  cr_assert_lt(fabs(hia_trainer_norm(trainer) - sqrt(norm)), 1e-6);
  cr_assert_eq(hia_trainer_steps(trainer), 1);
  hia_value_free(value);
  hia_value_free(all);
  hia_value_free(both);
  hia_value_free(arg);
  close_all();
}

Test(engine_trainer, follows_its_gradient) {
  follows_its_gradient(HIA_ENGINE_INTERP, 1);
  follows_its_gradient(HIA_ENGINE_EXPAND, 1);
  follows_its_gradient(HIA_ENGINE_JIT, 1);
  follows_its_gradient(HIA_ENGINE_JIT, 3);
}

/* A hundred steps: the bits of all engines are equal, and the loss falls. */
static void many_steps(hia_engine_kind kind, unsigned threads, double losses[2], float *end) {
  open_at(kind, threads);
  train("loss", HIA_ADAM);
  hia_value *batches[] = {words("[0, 1, 2]"), words("[5]"), words("[3, 3, 0, 1]")};
  for (int i = 0; i < 100; i++) {
    double loss;
    cr_assert_eq(hia_trainer_step(trainer, &batches[i % 3], 1, NULL, &loss, NULL), HIA_OK);
    if (i == 0 || i == 99) losses[i == 99] = loss;
  }
  for (size_t i = 0, at = 0; i < 5; at += lens[i++]) {
    float *is = param(i);
    memcpy(end + at, is, lens[i] * sizeof *is);
    free(is);
  }
  for (int i = 0; i < 3; i++) hia_value_free(batches[i]);
  close_all();
}

Test(engine_trainer, bits_of_all_engines) {
  double first[2], losses[2];
  float expected[35], is[35];
  many_steps(HIA_ENGINE_INTERP, 1, first, expected);
  cr_assert_lt(first[1], first[0] - 5);
  for (int i = 0; i < 8; i++) cr_assert_eq(expected[27 + i], 1, "a param that is not read");
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    many_steps(HIA_ENGINE_JIT, threads, losses, is);
    cr_assert_arr_eq(is, expected, sizeof is);
    cr_assert_arr_eq(losses, first, sizeof losses);
  }
}

/* What no word has touched stays, also with momentum and decay. */
Test(engine_trainer, of_an_empty_batch) {
  open_at(HIA_ENGINE_JIT, 1);
  train("loss", HIA_ADAMW);
  hia_value *full = words("[2, 2]"), *empty = words("[]");
  double loss = -1;
  cr_assert_eq(hia_trainer_step(trainer, &full, 1, NULL, NULL, NULL), HIA_OK);
  float *before[3], *g = NULL;
  for (size_t i = 0; i < 3; i++) before[i] = param(i);
  cr_assert_eq(hia_trainer_step(trainer, &empty, 1, NULL, &loss, NULL), HIA_OK);
  cr_assert_eq(loss, 0);
  for (size_t i = 0; i < 3; i++) {
    float *is = param(i);
    cr_assert_arr_eq(is, before[i], lens[i] * sizeof *is, "param %zu", i);
    free(is);
    free(before[i]);
    g = gradient(i);
    for (size_t k = 0; k < lens[i]; k++) cr_assert_eq(g[k], 0);
    free(g);
  }
  cr_assert_eq(hia_trainer_norm(trainer), 0);
  hia_value_free(full);
  hia_value_free(empty);
  close_all();
}

/* A step costs the same in all engines. */
Test(engine_trainer, with_fuel) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
  uint64_t left[3];
  for (int i = 0; i < 3; i++) {
    open_at(kinds[i], 1);
    train("loss", HIA_SGD);
    hia_value *arg = words("[4, 1, 4]");
    hia_run_stats used = HIA_RUN_STATS_INIT;
    hia_run_options run = HIA_RUN_OPTIONS_INIT;
    run.has_fuel = true;
    run.fuel = 1000;
    run.stats = &used;
    cr_assert_eq(hia_trainer_step(trainer, &arg, 1, &run, NULL, NULL), HIA_OK);
    left[i] = used.fuel_left;
    hia_value_free(arg);
    close_all();
  }
  cr_assert_lt(left[0], 1000);
  cr_assert(left[1] == left[0] && left[2] == left[0]);
}

Test(engine_trainer, of_doubles) {
  open_at(HIA_ENGINE_JIT, 1);
  train("wide", HIA_SGD);
  hia_value *x = hia_value_f64(engine, 2), *g;
  double loss, is;
  cr_assert_eq(hia_trainer_gradient(trainer, &x, 1, NULL, &loss, NULL), HIA_OK);
  cr_assert_eq(loss, 25);
  cr_assert_eq(hia_trainer_gradient_of(trainer, 5, &g, NULL), HIA_OK);
  cr_assert_eq(hia_value_get_f64(g, &is), HIA_OK);
  cr_assert_eq(is, 20);
  cr_assert_eq(hia_trainer_norm(trainer), 20);
  hia_value_free(g);
  cr_assert_eq(hia_trainer_set_rate(trainer, 0.5), HIA_OK);
  cr_assert_eq(hia_trainer_rate(trainer), 0.5);
  cr_assert_eq(hia_trainer_update(trainer, NULL), HIA_OK);
  cr_assert_eq(hia_module_param(module, 5, &g, NULL), HIA_OK);
  cr_assert_eq(hia_value_get_f64(g, &is), HIA_OK);
  cr_assert_eq(is, -7);
  hia_value_free(g);
  hia_value_free(x);
  close_all();
}

/* A module that was read as a graph trains as its source does, also if another function was
 * compiled before. */
Test(engine_trainer, of_a_graph) {
  double losses[2][2];
  for (int is_graph = 0; is_graph < 2; is_graph++) {
    open_at(HIA_ENGINE_JIT, 1);
    if (is_graph) {
      test_text dump = {0};
      hia_function *f = function("loss");
      hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
      options.stage = HIA_STAGE_GRAPH;
      cr_assert_eq(hia_module_dump(module, &f, 1, &options, test_text_take, &dump, NULL), HIA_OK);
      hia_module_free(module);
      cr_assert_eq(hia_module_load_ir(engine, "t.ir", dump.data, dump.len, &module, NULL), HIA_OK);
      test_text_free(&dump);
    }
    train("loss", HIA_ADAM);
    hia_value *arg = words("[4, 1, 4]"), *result;
    for (int i = 0; i < 20; i++)
      cr_assert_eq(hia_trainer_step(trainer, &arg, 1, NULL, &losses[is_graph][0], NULL), HIA_OK);
    cr_assert_eq(hia_run(function("loss"), &arg, 1, NULL, &result, NULL), HIA_OK);
    float after;
    cr_assert_eq(hia_value_get_f32(result, &after), HIA_OK);
    losses[is_graph][1] = (double)after;
    hia_value_free(result);
    hia_value_free(arg);
    close_all();
  }
  cr_assert_lt(losses[0][1], losses[0][0]);
  cr_assert_arr_eq(losses[1], losses[0], sizeof losses[0]);
}

/* ---- what fails ---- */

static float of_host(float x) { return x; }

Test(engine_trainer, of_what_is_no_loss) {
  open_at(HIA_ENGINE_INTERP, 1);
  FAILS(hia_trainer_new(NULL, NULL, &trainer, &error), HIA_ARGUMENT, "no function");
  FAILS(hia_trainer_new(function("loss"), NULL, NULL, &error), HIA_ARGUMENT, "no place");
  FAILS(hia_trainer_new(function("no_float"), NULL, &trainer, &error), HIA_ARGUMENT,
        "is no f32 or f64, so it is no loss");
  FAILS(hia_trainer_new(function("own"), NULL, &trainer, &error), HIA_ARGUMENT, "is no f32 or f64");
  FAILS(hia_trainer_new(function("none"), NULL, &trainer, &error), HIA_ARGUMENT,
        "`none(x: f32) -> f32` reads no param: there is nothing to train");
  FAILS(hia_trainer_new(function("any"), NULL, &trainer, &error), HIA_ARGUMENT, "is generic");
  cr_assert_eq(hia_trainer_new(function("any(i64)"), NULL, &trainer, &error), HIA_OK);
  hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
  hia_trainer *other;
  options.rate = NAN;
  FAILS(hia_trainer_new(function("loss"), &options, &other, &error), HIA_ARGUMENT, "rate");
  options.size = 1;
  FAILS(hia_trainer_new(function("loss"), &options, &other, &error), HIA_ARGUMENT, "of 1 bytes");
  cr_assert_null(other);
  close_all();
}

Test(engine_trainer, of_functions_of_the_host) {
  static const char calls[] = "extern fn of_host(x: f32) -> f32\n"
                              "param w: f32 = 1\n"
                              "fn inner(x: f32) -> f32 = if x > 0 then of_host(x) else 1\n"
                              "fn loss(x: f32) = w * inner(x)\n";
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  host.declaration = "extern fn of_host(x: f32) -> f32";
  host.function = (void (*)(void))of_host;
  cr_assert_eq(hia_engine_register(engine, &host, NULL), HIA_OK);
  hia_status status = hia_module_load_text(engine, "h.hia", calls, strlen(calls), &module, &error);
  cr_assert_eq(status, HIA_OK, "%s", error ? hia_error_message(error, 0) : "");
  FAILS(hia_trainer_new(function("loss"), NULL, &trainer, &error), HIA_ARGUMENT,
        "may call `of_host`, a function of the host, which has no gradient");
  close_all();
}

static void expect_untouched(float *before[N_PARAMS], uint64_t steps) {
  for (size_t i = 0; i < 5; i++) {
    float *is = param(i);
    cr_assert_arr_eq(is, before[i], lens[i] * sizeof *is);
    free(is);
  }
  cr_assert_eq(hia_trainer_steps(trainer), steps);
}

Test(engine_trainer, steps_that_fail_change_nothing) {
  open_at(HIA_ENGINE_JIT, 1);
  train("loss", HIA_ADAM);
  hia_value *good = words("[1, 2]"), *bad = words("[1, 6]"), *g;
  hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_trainer_get_stats(trainer, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_trainer_get_stats(trainer, &cost), HIA_OK);
  cr_assert_eq(cost.versions, 0);
  FAILS(hia_trainer_update(trainer, &error), HIA_ARGUMENT, "there is no gradient");
  FAILS(hia_trainer_gradient_of(trainer, 0, &g, &error), HIA_ARGUMENT, "there is no gradient yet");
  cr_assert_eq(hia_trainer_norm(trainer), 0);
  cr_assert_eq(hia_trainer_step(trainer, &good, 1, NULL, NULL, NULL), HIA_OK);
  cr_assert_eq(hia_trainer_get_stats(trainer, &cost), HIA_OK);
  cr_assert_eq(cost.versions, 1);
  cr_assert_gt(cost.codegen_ns, 0);
  FAILS(hia_trainer_update(trainer, &error), HIA_ARGUMENT, "has been used");
  float *before[N_PARAMS];
  for (size_t i = 0; i < 5; i++) before[i] = param(i);
  double loss = -1;
  FAILS(hia_trainer_step(trainer, &bad, 1, NULL, &loss, &error), HIA_RANGE,
        "index 6 is out of range");
  cr_assert_eq(loss, -1);
  FAILS(hia_trainer_step(trainer, &good, 2, NULL, NULL, &error), HIA_ARGUMENT,
        "`loss(words: i32[?]) -> f32` takes 1 argument, not 2");
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  run.has_fuel = true;
  run.fuel = 3;
  FAILS(hia_trainer_step(trainer, &good, 1, &run, NULL, &error), HIA_FUEL, "fuel");
  FAILS(hia_trainer_gradient_of(trainer, N_PARAMS, &g, &error), HIA_NOT_FOUND,
        "there is no param 6");
  cr_assert_eq(hia_trainer_set_rate(trainer, 0), HIA_ARGUMENT);
  cr_assert_eq(hia_trainer_set_rate(trainer, NAN), HIA_ARGUMENT);
  cr_assert_eq(hia_trainer_rate(trainer), 0.125);
  expect_untouched(before, 1);
  for (size_t i = 0; i < 5; i++) free(before[i]);
  hia_value_free(good);
  hia_value_free(bad);
  close_all();
}

Test(engine_trainer, without_a_trainer) {
  FAILS(hia_trainer_step(NULL, NULL, 0, NULL, NULL, &error), HIA_ARGUMENT, "no trainer");
  FAILS(hia_trainer_update(NULL, &error), HIA_ARGUMENT, "no trainer");
  FAILS(hia_trainer_save(NULL, "x", NULL, 0, &error), HIA_ARGUMENT, "no trainer");
  FAILS(hia_trainer_gradient(NULL, NULL, 0, NULL, NULL, &error), HIA_ARGUMENT, "no trainer");
  FAILS(hia_trainer_gradient_of(NULL, 0, NULL, &error), HIA_ARGUMENT, "no trainer");
  FAILS(hia_trainer_load(NULL, "x", NULL, NULL, &error), HIA_ARGUMENT, "no trainer");
  cr_assert_eq(hia_trainer_steps(NULL), 0);
  cr_assert_eq(hia_trainer_rate(NULL), 0);
  cr_assert_eq(hia_trainer_norm(NULL), 0);
  hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_trainer_get_stats(NULL, &cost), HIA_ARGUMENT);
  cr_assert_eq(hia_trainer_set_rate(NULL, 1), HIA_ARGUMENT);
  hia_trainer_free_extra(NULL, NULL, 0);
  hia_trainer_free(NULL);
}

/* A step after steps; the n-th request of memory fails. */
static hia_status try_step(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.allocator = allocator;
  hia_value *arg = NULL;
  hia_status status = hia_engine_new(&options, &engine, NULL);
  if (status) return status;
  module = NULL;
  status = hia_module_load_text(engine, "t.hia", text, strlen(text), &module, NULL);
  hia_function *f = NULL;
  if (!status) status = hia_module_function(module, "loss", &f, NULL);
  if (!status) status = hia_trainer_new(f, NULL, &trainer, NULL);
  if (!status) status = hia_value_parse(f, 0, "[0, 3]", &arg, NULL);
  for (int i = 0; i < 3 && !status; i++) {
    hia_value *before = NULL, *after = NULL;
    status = hia_module_param(module, 0, &before, NULL);
    uint64_t steps = hia_trainer_steps(trainer);
    if (!status) status = hia_trainer_step(trainer, &arg, 1, NULL, NULL, NULL);
    if (before && status && hia_module_param(module, 0, &after, NULL) == HIA_OK) {
      cr_assert_arr_eq(hia_value_elements(after), hia_value_elements(before), 18 * sizeof(float));
      cr_assert_eq(hia_trainer_steps(trainer), steps);
    }
    hia_value_free(before);
    hia_value_free(after);
  }
  hia_value_free(arg);
  close_all();
  return status;
}

Test(engine_trainer, without_memory) { cr_assert_gt(fail_each_allocation(try_step), 100); }

/* ---- checkpoints ---- */

Test(engine_trainer, goes_on_from_a_checkpoint) {
  char path[] = "/tmp/hia_trainer_XXXXXX";
  close(mkstemp(path));
  float ends[2][35];
  for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
    open_at(HIA_ENGINE_JIT, 1);
    train("loss", HIA_ADAM);
    hia_value *batches[] = {words("[0, 1, 2]"), words("[5]")};
    for (int i = 0; i < 40; i++) {
      cr_assert_eq(hia_trainer_step(trainer, &batches[i % 2], 1, NULL, NULL, NULL), HIA_OK);
      if (i != 12 || !is_stopped) continue;
      void *extra;
      size_t n_extra;
      cr_assert_eq(hia_trainer_save(trainer, path, "at 12", 6, NULL), HIA_OK);
      for (int k = 0; k < 2; k++) hia_value_free(batches[k]);
      close_all();
      open_at(HIA_ENGINE_INTERP, 1);
      train("loss", HIA_ADAM);
      cr_assert_eq(hia_trainer_load(trainer, path, &extra, &n_extra, NULL), HIA_OK);
      cr_assert_eq(n_extra, 6);
      cr_assert_str_eq(extra, "at 12");
      hia_trainer_free_extra(trainer, extra, n_extra);
      cr_assert_eq(hia_trainer_steps(trainer), 13);
      batches[0] = words("[0, 1, 2]");
      batches[1] = words("[5]");
    }
    for (size_t i = 0, at = 0; i < 5; at += lens[i++]) {
      float *is = param(i);
      memcpy(ends[is_stopped] + at, is, lens[i] * sizeof *is);
      free(is);
    }
    for (int i = 0; i < 2; i++) hia_value_free(batches[i]);
    close_all();
  }
  cr_assert_arr_eq(ends[0], ends[1], sizeof ends[0]);
  unlink(path);
}
