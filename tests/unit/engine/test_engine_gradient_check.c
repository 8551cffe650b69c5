/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks of gradients, through the C API (hiaton/gradients.h), and the differences that they use.
 * A wrong gradient is one that a clause `gradient` states. */
#include "jit/engine/engine.h"
#include "tests/unit/helpers/program.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char text[] =
    "param W: f64[3, 2] = uniform(-1, 1)\n"
    "param s: f32 = 0.75\n"
    "param unread: f64 = 1\n"
    "type Pair = Pair(a: f64, n: i32)\n"
    "fn smooth(x: f64, v: f64[2], n: i32, p: Pair) -> f64 = match p {\n"
    "  Pair(a, k) => sum(tanh(W @ v) * a) * exp(x) + sin(x * f64(n)) + v[0] * f64(k) }\n"
    "fn in_f32(x: f32, v: f32[?]) = sum(tanh(v * x)) * s + exp(x)\n"
    "fn right(x: f64) -> f64 = x * x\n"
    "fn wrong(x: f64) -> f64 = x * x gradient(g) = g * x * 2.001\n"
    "fn wrong_f32(x: f32) -> f32 = x * x gradient(g) = g * x * 2.1\n"
    "fn is_nan(x: f64) -> f64 = x * x gradient(g) = g * (0.0 / (x - x))\n"
    "fn last(v: f64[?]) -> f64 = sum(v * v) gradient(g) = g * set(2 * v, len(v) - 1, 0)\n"
    "fn squares(v: f64[?]) -> f64 = sum(v * v)\n"
    "fn relu_of(x: f64) = relu(x) + 1\n"
    "fn root(x: f64) = sqrt(x)\n"
    "fn guarded(x: f64) -> f64 = if x < 1 then fail(1) else x * x\n"
    "fn jump(x: f64) = floor(x) + x\n"
    "fn steep(x: f64) = sin(1000000000000.0 * x)\n"
    "fn none(n: i32) = f64(n)\n"
    "fn pair(x: f64) = (x, x)\n"
    "fn any(x) = x * x\n"
    "fn hidden(W: f64) = W * W\n"
    "fn slow(x: f64) -> f64 = if x < 0.1 then slow(x) else x * f64(s)\n";

static hia_engine *engine;
static hia_module *module;
static hia_gradient_check *check;
static hia_error *error; /* of the last call that was given it */

static void open_all(void) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  module = load_module(engine, "t.hia", text);
}
static void close_all(void) {
  hia_gradient_check_free(check);
  hia_module_free(module);
  hia_engine_free(engine);
  check = NULL;
}

enum { MAX_ARGS = 4 };

/* Compares at these arguments, written as on the command line. */
static hia_status compare(const char *name, const hia_gradient_check_options *options,
                          const hia_run_options *run, const char *const *words, size_t n) {
  hia_function *f = find_function(module, name);
  hia_value *args[MAX_ARGS];
  hia_gradient_check_free(check);
  hia_status status = hia_gradient_check_new(f, options, &check, &error);
  cr_assert_eq(status, HIA_OK, "%s", error ? hia_error_text(error) : "");
  for (size_t i = 0; i < n; i++)
    cr_assert_eq(hia_value_parse(f, i, words[i], &args[i], NULL), HIA_OK, "%s", words[i]);
  status = hia_gradient_check_run(check, args, n, run, &error);
  for (size_t i = 0; i < n; i++) hia_value_free(args[i]);
  return status;
}
#define COMPARE(name, options, run, ...)                                                           \
  compare(name, options, run, (const char *const[]){__VA_ARGS__},                                  \
          sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static hia_gradient_input input(size_t i) {
  hia_gradient_input in = HIA_GRADIENT_INPUT_INIT;
  cr_assert_eq(hia_gradient_check_input(check, i, &in), HIA_OK);
  cr_assert_eq(in.n_entries, in.n_agree + in.n_sides + in.n_unsure + in.n_differ);
  return in;
}
static hia_gradient_entry entry(size_t i, uint64_t k) {
  hia_gradient_entry e = HIA_GRADIENT_ENTRY_INIT;
  cr_assert_eq(hia_gradient_check_entry(check, i, k, &e), HIA_OK);
  return e;
}

/* Of a function of one number: what is found of its only derivative. */
static hia_gradient_entry only(const char *name, const char *word) {
  hia_status status = COMPARE(name, NULL, NULL, word);
  cr_assert_eq(status, HIA_OK, "%s: %s", name, error ? hia_error_text(error) : "");
  cr_assert_eq(input(0).n_entries, 1);
  return entry(0, 0);
}

Test(engine_gradient_check, of_all_inputs) {
  open_all();
  cr_assert_eq(COMPARE("smooth", NULL, NULL, "0.3", "[0.2, -0.7]", "2", "Pair(1.5, 3)"), HIA_OK);
  cr_assert_eq(hia_gradient_check_count(check), 3);
  static const char *const names[] = {"x", "v", "W"};
  static const uint64_t sizes[] = {1, 2, 6};
  for (size_t i = 0; i < 3; i++) {
    hia_gradient_input in = input(i);
    cr_assert_str_eq(in.name, names[i]);
    cr_assert_eq(in.is_param, i == 2);
    cr_assert_eq(in.number, i < 2 ? i : 0);
    cr_assert_eq(in.rank, i);
    cr_assert_eq(in.n_elements, sizes[i]);
    cr_assert_eq(in.n_agree, sizes[i], "%s", names[i]);
    for (uint64_t k = 0; k < sizes[i]; k++) {
      hia_gradient_entry e = entry(i, k);
      cr_assert_eq(e.element, k);
      cr_assert_lt(fabs(e.gradient - e.difference), 1e-8);
      cr_assert_lt(e.doubt, 1e-8);
    }
  }
  cr_assert(input(2).dims[0] == 3 && input(2).dims[1] == 2);
  close_all();
}

Test(engine_gradient_check, of_f32) {
  open_all();
  cr_assert_eq(COMPARE("in_f32", NULL, NULL, "0.3", "[0.2, -0.7, 3]"), HIA_OK);
  for (size_t i = 0; i < 3; i++) cr_assert_eq(input(i).n_agree, input(i).n_elements, "%zu", i);
  cr_assert_eq(only("wrong_f32", "3.0").verdict, HIA_GRADIENT_DIFFERS);
  close_all();
}

Test(engine_gradient_check, finds_wrong_gradients) {
  open_all();
  cr_assert_eq(only("right", "3").verdict, HIA_GRADIENT_AGREES);
  hia_gradient_entry e = only("wrong", "3");
  cr_assert_eq(e.verdict, HIA_GRADIENT_DIFFERS);
  cr_assert_float_eq(e.gradient, 6.003, 1e-12);
  cr_assert_float_eq(e.difference, 6, 1e-9);
  cr_assert_eq(only("is_nan", "3").verdict, HIA_GRADIENT_DIFFERS);
  hia_gradient_check_options options = HIA_GRADIENT_CHECK_OPTIONS_INIT;
  options.tolerance = 0.01;
  cr_assert_eq(COMPARE("wrong", &options, NULL, "3"), HIA_OK);
  cr_assert_eq(entry(0, 0).verdict, HIA_GRADIENT_AGREES);
  close_all();
}

Test(engine_gradient_check, says_where_there_are_two_sides) {
  open_all();
  hia_gradient_entry e = only("relu_of", "0");
  cr_assert_eq(e.verdict, HIA_GRADIENT_SIDES);
  cr_assert_float_eq(e.below, 0, 1e-9);
  cr_assert_float_eq(e.above, 1, 1e-9);
  /* Near a kink, but not at it, there is a derivative. */
  cr_assert_eq(only("relu_of", "0.001").verdict, HIA_GRADIENT_AGREES);
  cr_assert_eq(only("relu_of", "-0.001").verdict, HIA_GRADIENT_AGREES);
  e = only("root", "0");
  cr_assert_eq(e.verdict, HIA_GRADIENT_SIDES);
  cr_assert(isnan(e.below));
  e = only("guarded", "1");
  cr_assert_eq(e.verdict, HIA_GRADIENT_SIDES);
  cr_assert(isnan(e.below));
  cr_assert_float_eq(e.above, 2, 1e-9);
  cr_assert_eq(only("guarded", "1.25").verdict, HIA_GRADIENT_AGREES);
  cr_assert_eq(only("jump", "2").verdict, HIA_GRADIENT_SIDES);
  cr_assert_eq(only("jump", "2.5").verdict, HIA_GRADIENT_AGREES);
  /* It changes within the smallest step. */
  cr_assert_eq(only("steep", "0.3").verdict, HIA_GRADIENT_UNSURE);
  close_all();
}

Test(engine_gradient_check, samples_of_large_inputs) {
  enum { N = 1000 };
  char *v = malloc(16 * N);
  size_t len = 0;
  for (int i = 0; i < N; i++)
    len += (size_t)snprintf(v + len, 16, "%s%d.5", i ? ", " : "[", i % 7 - 3);
  snprintf(v + len, 16, "]");
  open_all();
  hia_gradient_check_options options = HIA_GRADIENT_CHECK_OPTIONS_INIT;
  options.samples = 7;
  cr_assert_eq(COMPARE("squares", &options, NULL, v), HIA_OK);
  cr_assert_eq(input(0).n_entries, 9);
  cr_assert_eq(input(0).n_agree, 9);
  uint64_t elements[9];
  for (uint64_t k = 0; k < 9; k++) {
    elements[k] = entry(0, k).element;
    if (k < 7) cr_assert(elements[k] * 7 / N == k || (elements[k] - 1) * 7 / N == k);
    if (k >= 7) cr_assert_eq(elements[k], HIA_GRADIENT_DIRECTION);
  }
  /* The same seed chooses the same, another one others. */
  cr_assert_eq(COMPARE("squares", &options, NULL, v), HIA_OK);
  for (uint64_t k = 0; k < 9; k++) cr_assert_eq(entry(0, k).element, elements[k]);
  options.seed = 1;
  cr_assert_eq(COMPARE("squares", &options, NULL, v), HIA_OK);
  bool is_other = false;
  for (uint64_t k = 0; k < 7; k++) is_other |= entry(0, k).element != elements[k];
  cr_assert(is_other);
  /* One element of which the gradient is wrong need not be among them: directions show it. */
  cr_assert_eq(COMPARE("last", &options, NULL, v), HIA_OK);
  hia_gradient_input in = input(0);
  cr_assert_geq(in.n_differ, 2);
  cr_assert_eq(entry(0, in.worst).verdict, HIA_GRADIENT_DIFFERS);
  cr_assert_eq(entry(0, 7).verdict, HIA_GRADIENT_DIFFERS);
  free(v);
  close_all();
}

Test(engine_gradient_check, chosen_inputs) {
  open_all();
  const char *names[] = {"W", "x"};
  hia_gradient_check_options options = HIA_GRADIENT_CHECK_OPTIONS_INIT;
  options.wrt = names;
  options.n_wrt = 2;
  cr_assert_eq(COMPARE("smooth", &options, NULL, "0.3", "[0.2, -0.7]", "2", "Pair(1.5, 3)"),
               HIA_OK);
  cr_assert_eq(hia_gradient_check_count(check), 2);
  cr_assert_str_eq(input(0).name, "x");
  cr_assert_str_eq(input(1).name, "W");
  options.n_wrt = 1; /* a parameter hides the param */
  cr_assert_eq(COMPARE("hidden", &options, NULL, "2"), HIA_OK);
  cr_assert_eq(hia_gradient_check_count(check), 1);
  cr_assert_eq(input(0).is_param, 0);
  close_all();
}

/* The params are what they were, whatever ends a run. */
Test(engine_gradient_check, leaves_params_alone) {
  open_all();
  hia_value *before, *after;
  char a[200], b[200];
  cr_assert_eq(hia_module_param(module, 0, &before, NULL), HIA_OK);
  cr_assert_eq(COMPARE("smooth", NULL, NULL, "0.3", "[0.2, -0.7]", "2", "Pair(1.5, 3)"), HIA_OK);
  cr_assert_eq(hia_module_param(module, 0, &after, NULL), HIA_OK);
  hia_value_format(before, a, sizeof a);
  hia_value_format(after, b, sizeof b);
  cr_assert_str_eq(a, b);
  hia_value_free(before);
  hia_value_free(after);
  /* Below 0.1 a run does not end. */
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  run.has_fuel = true;
  run.fuel = 1000;
  cr_assert_eq(COMPARE("slow", NULL, &run, "0.1"), HIA_FUEL);
  hia_error_free(error);
  cr_assert_eq(hia_gradient_check_count(check), 2);
  hia_gradient_input in = HIA_GRADIENT_INPUT_INIT;
  cr_assert_eq(hia_gradient_check_input(check, 0, &in), HIA_ARGUMENT, "a report of a failed run");
  cr_assert(isnan(hia_gradient_check_value(check)));
  float s;
  cr_assert_eq(hia_module_param(module, 1, &after, NULL), HIA_OK);
  cr_assert_eq(hia_value_get_f32(after, &s), HIA_OK);
  cr_assert_eq(s, 0.75f);
  hia_value_free(after);
  close_all();
}

static void refuses(const char *name, const hia_gradient_check_options *options,
                    const char *message) {
  hia_gradient_check *made = NULL;
  hia_status status = hia_gradient_check_new(find_function(module, name), options, &made, &error);
  cr_assert_eq(status, HIA_ARGUMENT, "%s", message);
  cr_assert_null(made);
  cr_assert(strstr(hia_error_message(error, 0), message), "%s", hia_error_message(error, 0));
  hia_error_free(error);
}

Test(engine_gradient_check, refuses) {
  open_all();
  refuses("pair", NULL, "the result of `pair(x: f64) -> (f64, f64)` is no f32 or f64");
  refuses("none", NULL, "has no parameters of floats and reads no param");
  refuses("any", NULL, "is generic");
  const char *names[] = {"n", NULL};
  hia_gradient_check_options options = HIA_GRADIENT_CHECK_OPTIONS_INIT;
  options.wrt = names;
  options.n_wrt = 1;
  refuses("smooth", &options, "`n` is no parameter of `smooth(");
  names[0] = "unread";
  refuses("smooth", &options, "`unread` is no parameter");
  options.n_wrt = 2;
  refuses("smooth", &options, "a name of an input is NULL");
  options.wrt = NULL;
  refuses("smooth", &options, "there are no names");
  options.n_wrt = 0;
  options.tolerance = 2;
  refuses("smooth", &options, "tolerance");
  options.tolerance = NAN;
  refuses("smooth", &options, "tolerance");
  options.tolerance = 0;
  options.step = -1;
  refuses("smooth", &options, "step");
  options.step = INFINITY;
  refuses("smooth", &options, "step");
  options.step = 0;
  options.samples = 0;
  refuses("smooth", &options, "sample");
  options.samples = 1;
  options.directions = UINT64_MAX;
  refuses("smooth", &options, "directions");
  options.size = 3;
  refuses("smooth", &options, "options of a gradient check");
  cr_assert_eq(COMPARE("root", NULL, NULL, "-1"), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_message(error, 0), "there is no gradient to compare"));
  hia_error_free(error);
  cr_assert_eq(COMPARE("guarded", NULL, NULL, "0.5"), HIA_FAILED);
  hia_error_free(error);
  cr_assert_eq(hia_gradient_check_run(check, NULL, 1, NULL, &error), HIA_ARGUMENT);
  hia_error_free(error);
  cr_assert_eq(hia_gradient_check_run(check, NULL, 0, NULL, NULL), HIA_ARGUMENT);
  close_all();
}

Test(engine_gradient_check, without_objects) {
  hia_gradient_input in = HIA_GRADIENT_INPUT_INIT;
  hia_gradient_entry e = HIA_GRADIENT_ENTRY_INIT;
  cr_assert_eq(hia_gradient_check_new(NULL, NULL, &check, &error), HIA_ARGUMENT);
  hia_error_free(error);
  cr_assert_eq(hia_gradient_check_run(NULL, NULL, 0, NULL, &error), HIA_ARGUMENT);
  hia_error_free(error);
  cr_assert_eq(hia_gradient_check_count(NULL), 0);
  cr_assert(isnan(hia_gradient_check_value(NULL)));
  cr_assert_eq(hia_gradient_check_input(NULL, 0, &in), HIA_ARGUMENT);
  cr_assert_eq(hia_gradient_check_entry(NULL, 0, 0, &e), HIA_ARGUMENT);
  hia_gradient_check_free(NULL);
  open_all();
  cr_assert_eq(hia_gradient_check_new(find_function(module, "right"), NULL, NULL, NULL),
               HIA_ARGUMENT);
  only("right", "2");
  cr_assert_eq(hia_gradient_check_input(check, 0, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_gradient_check_input(check, 1, &in), HIA_ARGUMENT);
  cr_assert_eq(hia_gradient_check_entry(check, 0, 0, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_gradient_check_entry(check, 0, 1, &e), HIA_ARGUMENT);
  cr_assert_eq(hia_gradient_check_entry(check, 1, 0, &e), HIA_ARGUMENT);
  in.size = 0;
  cr_assert_eq(hia_gradient_check_input(check, 0, &in), HIA_ARGUMENT);
  close_all();
}

/* A check outlives the host's reference to its module. */
Test(engine_gradient_check, holds_its_module) {
  open_all();
  cr_assert_eq(hia_gradient_check_new(find_function(module, "right"), NULL, &check, NULL), HIA_OK);
  hia_module_free(module);
  hia_value *x = hia_value_f64(engine, 3);
  cr_assert_eq(hia_gradient_check_run(check, &x, 1, NULL, NULL), HIA_OK);
  cr_assert_eq(hia_gradient_check_value(check), 9);
  hia_value_free(x);
  hia_gradient_check_free(check);
  hia_engine_free(engine);
}

/* ---- differences ---- */

typedef struct curve {
  double (*f)(double x);
  double x;
} curve;

static hia_status curve_at(void *user, double t, double *value) {
  const curve *c = user;
  *value = c->f(c->x + t);
  return HIA_OK;
}

static double square(double x) { return x * x; }
static double constant(double x) { return 0 * x + 5; }
static double narrow_exp(double x) { return (double)(float)exp(x); }

/* The estimate of the error holds, and the error is small. */
Test(engine_gradient_check, differences) {
  static const struct {
    double (*f)(double x), x, slope, roundoff, error;
  } cases[] = {
      {exp, 0.3, 1.3498588075760032, 0x1p-51, 1e-10},
      {sin, 1.2, 0.3623577544766736, 0x1p-51, 1e-10},
      {log, 0.01, 100, 0x1p-51, 1e-6},
      {square, 3, 6, 0x1p-51, 1e-11},
      {constant, 3, 0, 0x1p-51, 1e-12},
      {tanh, 20, 0, 0x1p-51, 1e-12},
      {narrow_exp, 0.3, 1.3498588075760032, 0x1p-22, 1e-3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    curve c = {cases[i].f, cases[i].x};
    hia_differences d;
    cr_assert_eq(hiaJ_differences(curve_at, &c, c.f(c.x), 0x1p-7, cases[i].roundoff, &d), HIA_OK);
    const hia_difference *const all[] = {&d.both, &d.above, &d.below};
    for (int k = 0; k < 3; k++) {
      double off = fabs(all[k]->slope - cases[i].slope);
      cr_assert_leq(off, 4 * all[k]->doubt + 1e-15, "case %zu, %d: %g, %g", i, k, off,
                    all[k]->doubt);
      cr_assert_leq(off, (k ? 1e3 : 1) * cases[i].error, "case %zu, %d: %g", i, k, off);
    }
  }
}

static hia_status fail_at(void *user, double t, double *value) {
  (void)user, (void)t;
  *value = 0;
  return HIA_DEADLINE;
}
Test(engine_gradient_check, differences_that_fail) {
  hia_differences d;
  cr_assert_eq(hiaJ_differences(fail_at, NULL, 0, 1, 0, &d), HIA_DEADLINE);
}
