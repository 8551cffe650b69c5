/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Traps of NaN through the public API: what the error says, in every engine; host functions,
 * entries, training, graphs. Where runs end: tests/programs/trap_nan.hia. */
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "extern fn worse(x: f64) -> f64\n"
    "extern impure fn either(n: i32, x: f32, y: f64) -> (f64, f32)\n"
    "param E: f32[4, 2] = 0\n"
    "param s: f64 = 0\n"
    "fn scalars(x: f64, y: f64) = fma(x, y, 1) + x / y\n"
    "fn single(x: f32) = log(x - 1)\n"
    "fn matrix(x: f32[2, 2], y: f32[2, 2]) = (x / y) @ y\n"
    "fn cube(n: i32) = { let x = reshape(f64(iota(n * n * n)), n, n, n); (x - 20) / (x - 20) }\n"
    "fn late(n: i32) = { let x = f32(iota(n)); sum(log(f32(n - 2) - x)) }\n"
    "fn column(x: f32[2, 2]) = softmax(x)\n"
    "fn host(x: f64) = 1 + worse(x)\n"
    "fn hosts(n: i32, x: f32, y: f64) = either(n, x, y).0\n"
    "fn root(x: f64[2]) -> f64 = sqrt(x @ x)\n"
    "fn slope(x: f64[2]) = grad(root, wrt = x)(x)\n"
    "fn square(x: f64) -> f64 = sqrt(x * x)\n"
    "fn tangent(x: f64) = grad(square, wrt = x)(x)\n"
    "fn rows(words: i32[?]) -> f32 = sqrt(sum(E[words] * E[words]))\n"
    "fn scaled(x: f64) -> f64 = sqrt(s * s) * x\n";

static double worse(void *user, double x) {
  (void)user;
  return x < 0 ? (double)NAN : x;
}
static int32_t either(void *user, int32_t n, float x, double y, double *a, float *b) {
  (void)user;
  (void)x, (void)y;
  *a = n == 1 ? (double)NAN : 2;
  *b = n == 2 ? NAN : 3;
  return 0;
}

static void add_hosts(hia_engine *engine) {
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern fn worse(x: f64) -> f64";
  f.function = (void (*)(void))worse;
  f.takes_user = true;
  cr_assert_eq(hia_engine_register(engine, &f, NULL), HIA_OK);
  f.declaration = "extern impure fn either(n: i32, x: f32, y: f64) -> (f64, f32)";
  f.function = (void (*)(void))either;
  f.returns_status = true;
  cr_assert_eq(hia_engine_register(engine, &f, NULL), HIA_OK);
}

static const struct {
  hia_engine_kind kind;
  unsigned threads;
  int level;
} ways[] = {{HIA_ENGINE_INTERP, 1, 3}, {HIA_ENGINE_INTERP, 3, 3}, {HIA_ENGINE_EXPAND, 1, 3},
            {HIA_ENGINE_JIT, 1, 3},    {HIA_ENGINE_JIT, 1, 0},    {HIA_ENGINE_JIT, 3, 3}};
enum { N_WAYS = sizeof ways / sizeof *ways };

static hia_module *open_in(size_t way, hia_engine **engine) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = ways[way].kind;
  options.threads = ways[way].threads;
  options.opt_level = ways[way].level;
  options.flags |= HIA_FLAG_TRAP_NAN;
  options.flags |= HIA_FLAG_VERIFY;
  cr_assert_eq(hia_engine_new(&options, engine, NULL), HIA_OK);
  add_hosts(*engine);
  return load_module(*engine, "t.hia", text);
}

/* The message of the failure, or the result. */
static void run(hia_module *module, const char *name, const char *const *args, char *out,
                size_t size) {
  hia_value *values[3] = {0}, *result = NULL;
  hia_error *error;
  hia_function *f = find_function(module, name);
  size_t n = hia_function_arity(f);
  for (size_t i = 0; i < n; i++)
    cr_assert_eq(hia_value_parse(f, i, args[i], &values[i], NULL), HIA_OK, "%s", name);
  hia_status status = hia_run(f, values, n, NULL, &result, &error);
  cr_assert(status == HIA_OK || status == HIA_NAN_MADE, "%s: %s", name, hia_error_text(error));
  if (status == HIA_OK)
    hia_value_format(result, out, size);
  else
    snprintf(out, size, "%s", hia_error_message(error, 0));
  hia_error_free(error);
  hia_value_free(result);
  for (size_t i = 0; i < n; i++) hia_value_free(values[i]);
}

static const struct {
  const char *function, *args[3], *out;
} cases[] = {
    {"scalars", {"0", "inf"}, "NaN appeared: `fma` of 0.0, inf and 1.0"},
    {"scalars", {"inf", "inf"}, "NaN appeared: `/` of inf and inf"},
    {"scalars", {"nan", "inf"}, "nan"},
    {"single", {"0.75"}, "NaN appeared: `log` of -0.25"},
    {"matrix",
     {"[[1, 0], [3, 4]]", "[[1, 0], [0, 1]]"},
     "NaN appeared: `/` of 0.0 and 0.0, at [0, 1] of f32[2, 2]"},
    {"matrix",
     {"[[1, 1], [3, 4]]", "[[1, 0], [0, 1]]"},
     "NaN appeared: `@` of f32[2, 2] and f32[2, 2], at [0, 0] of f32[2, 2]"},
    {"cube", {"2"}, "[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]"},
    {"cube", {"3"}, "NaN appeared: `/` of 0.0 and 0.0, at [2, 0, 2] of f64[3, 3, 3]"},
    {"late", {"100000"}, "NaN appeared: `log` of -1.0, at [99999] of f32[100000]"},
    {"column",
     {"[[1, 1], [1, inf]]"},
     "NaN appeared: `softmax` of f32[2, 2], at [1, 0] of f32[2, 2]"},
    {"host", {"3"}, "4.0"},
    {"host", {"nan"}, "nan"},
    {"host", {"-1"}, "NaN appeared: a function of the host returned it"},
    {"hosts", {"0", "0", "0"}, "2.0"},
    {"hosts", {"1", "0", "0"}, "NaN appeared: a function of the host returned it"},
    {"hosts", {"2", "0", "0"}, "NaN appeared: a function of the host returned it"},
    {"hosts", {"1", "nan", "0"}, "nan"},
    {"hosts", {"1", "0", "nan"}, "nan"},
    {"hosts", {"1", "0", "1e300"}, "NaN appeared: a function of the host returned it"},
    {"slope", {"[3, 4]"}, "[0.6000000000000001, 0.8]"},
    {"slope", {"[0, 0]"}, "NaN appeared in a gradient: `*` of 0.0 and inf, at [0] of f64[2]"},
    {"tangent", {"0"}, "NaN appeared in a gradient: `*` of inf and 0.0"},
};

Test(trap_nan, messages) {
  char out[400];
  for (size_t w = 0; w < N_WAYS; w++) {
    if (ways[w].kind == HIA_ENGINE_JIT && !has_native()) continue;
    hia_engine *engine;
    hia_module *module = open_in(w, &engine);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      run(module, cases[i].function, cases[i].args, out, sizeof out);
      cr_assert_str_eq(out, cases[i].out, "%s in way %zu: %s", cases[i].function, w, out);
    }
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

/* Entries fail as runs do; their context has the error. */
Test(trap_nan, entries) {
  typedef hia_status (*entry)(hia_context *, double, double, double *);
  NEEDS_NATIVE;
  hia_engine *engine;
  hia_context *context;
  hia_module *module = open_in(3, &engine);
  double x = 0;
  cr_assert_eq(hia_engine_context_new(engine, &context, NULL), HIA_OK);
  entry scalars = (entry)typed_entry(module, "scalars");
  cr_assert(scalars(context, 1, 2, &x) == HIA_OK && x == 3.5);
  cr_assert_eq(scalars(context, 0, (double)INFINITY, &x), HIA_NAN_MADE);
  cr_assert_str_eq(hia_error_message(hia_context_error(context), 0), cases[0].out);
  cr_assert_eq(scalars(context, (double)NAN, 2, &x), HIA_OK);
  cr_assert(isnan(x));
  hia_context_free(context);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* A step that ends so changes nothing. */
static void check_training(size_t way, const char *loss, const char *good, const char *bad,
                           const char *message) {
  hia_engine *engine;
  hia_module *module = open_in(way, &engine);
  hia_function *f = find_function(module, loss);
  hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
  hia_trainer *trainer;
  hia_error *error;
  hia_value *arg;
  cr_assert_eq(hia_trainer_new(f, &options, &trainer, &error), HIA_OK, "%s", hia_error_text(error));
  if (good) {
    cr_assert_eq(hia_value_parse(f, 0, good, &arg, NULL), HIA_OK);
    cr_assert_eq(hia_trainer_step(trainer, &arg, 1, NULL, NULL, &error), HIA_OK, "%s",
                 hia_error_text(error));
    hia_value_free(arg);
  }
  uint64_t steps = hia_trainer_steps(trainer);
  cr_assert_eq(hia_value_parse(f, 0, bad, &arg, NULL), HIA_OK);
  cr_assert_eq(hia_trainer_step(trainer, &arg, 1, NULL, NULL, &error), HIA_NAN_MADE);
  cr_assert_str_eq(hia_error_message(error, 0), message);
  cr_assert_eq(hia_trainer_steps(trainer), steps);
  hia_error_free(error);
  hia_value_free(arg);
  hia_trainer_free(trainer);
  hia_module_free(module);
  hia_engine_free(engine);
}

Test(trap_nan, training) {
  for (size_t w = 0; w < N_WAYS; w++) {
    if (ways[w].kind == HIA_ENGINE_JIT && !has_native()) continue;
    check_training(w, "scaled", NULL, "1", "NaN appeared in a gradient: `*` of inf and 0.0");
    check_training(w, "rows", NULL, "[1, 3]",
                   "NaN appeared in a gradient: `*` of inf and 0.0, at [0, 0] of f32[2, 2]");
  }
}

/* A static graph has no operations of the source. One that was read has the checks of its text. */
Test(trap_nan, graphs) {
  const char *args[] = {"0", "inf"};
  char out[400];
  hia_engine *engine, *plain;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  hia_module *module = open_in(0, &engine), *read;
  hia_function *f = find_function(module, "scalars");
  test_text dump = {0};
  cr_assert_eq(hia_module_dump(module, &f, 1, NULL, test_text_take, &dump, NULL), HIA_OK);
  cr_assert(strstr(dump.data, "trap "));
  cr_assert_eq(hia_engine_new(&options, &plain, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_ir(plain, "t.ir", dump.data, dump.len, &read, NULL), HIA_OK);
  run(read, "scalars", args, out, sizeof out);
  cr_assert_str_eq(out, cases[0].out);
  hia_module_free(read);
  hia_engine_free(plain);

  hia_error *error;
  hia_value *values[2], *result;
  cr_assert_eq(hia_module_load_ir(engine, "t.ir", dump.data, dump.len, &read, NULL), HIA_OK);
  f = find_function(read, "scalars");
  for (size_t i = 0; i < 2; i++) cr_assert_eq(hia_value_parse(f, i, "1", &values[i], NULL), HIA_OK);
  cr_assert_eq(hia_run(f, values, 2, NULL, &result, &error), HIA_UNSUPPORTED);
  cr_assert(strstr(hia_error_text(error), "cannot be run with traps of NaN: it is a static graph"));
  hia_error_free(error);
  for (size_t i = 0; i < 2; i++) hia_value_free(values[i]);
  test_text_free(&dump);
  hia_module_free(read);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* What the run says of each element that fails: the message, then the chain. */
static void fail_in(hia_module *module, char *out, size_t size) {
  hia_error *error;
  hia_value *arg = NULL, *result = NULL;
  hia_function *f = find_function(module, "each");
  cr_assert_eq(hia_value_parse(f, 0, "[[4, 1], [1, -1]]", &arg, NULL), HIA_OK);
  cr_assert_eq(hia_run(f, &arg, 1, NULL, &result, &error), HIA_NAN_MADE);
  snprintf(out, size, "%s", hia_error_text(error));
  hia_error_free(error);
  hia_value_free(arg);
}

/* The graph after a pass, made by `maker` and read and run by `reader`, fails as the source does.
 */
static void check_stage(hia_engine *maker, hia_engine *reader, const char *after, const char *out) {
  static const char source[] =
      "fn root(x: f64) = sqrt(x)\n"
      "fn each(m: f64[2, 2]) = [[root(m[i][k]) for k in 0..2] for i in 0..2]\n";
  hia_module *module = load_module(maker, "e.hia", source), *read;
  hia_function *f = find_function(module, "each");
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  test_text dump = {0};
  char text_out[400];
  hia_error *error;
  options.stage = HIA_STAGE_GRAPH;
  options.after = after;
  cr_assert_eq(hia_module_dump(module, &f, 1, &options, test_text_take, &dump, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_ir(reader, "e.ir", dump.data, dump.len, &read, &error), HIA_OK,
               "%s: %s", after, hia_error_text(error));
  fail_in(read, text_out, sizeof text_out);
  cr_assert_str_eq(text_out, out, "after %s: %s", after, text_out);
  hia_module_free(read);
  hia_module_free(module);
  test_text_free(&dump);
}

/* A graph that was written and read has its traps once, and says elements. */
Test(trap_nan, graphs_after_passes) {
  static const char *const passes[] = {"grad", "trap", "elements", "inline", "map", "tail", "refs"};
  static const char out[] = "e.hia:1:19: error[nan]: NaN appeared: `sqrt` of -1.0\n"
                            "  in root at e.hia:1:19\n"
                            "  called from each at e.hia:2:27, element 1, 1\n";
  NEEDS_NATIVE;
  hia_engine *traps, *plain;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.flags |= HIA_FLAG_VERIFY;
  cr_assert_eq(hia_engine_new(&options, &plain, NULL), HIA_OK);
  options.flags |= HIA_FLAG_TRAP_NAN;
  cr_assert_eq(hia_engine_new(&options, &traps, NULL), HIA_OK);
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
    bool has_maps = i < 4;
    check_stage(traps, traps, passes[i], out);
    if (i > 0) check_stage(traps, plain, passes[i], out);
    if (has_maps) check_stage(plain, traps, passes[i], out);
  }
  hia_engine_free(traps);
  hia_engine_free(plain);
}
