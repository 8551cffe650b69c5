/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients of programs made at random, next to central differences: scalars and vectors through
 * branches, loops, comprehensions, tuples, data, helpers and recursions, and a param; of these
 * gradients too. */
#include "tests/unit/helpers/gradient_programs.h"
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <math.h>
#include <stdio.h>

/* ---- comparing ---- */

typedef struct point {
  double x[6]; /* x, y, v */
} point;

static hia_value *call_at(hia_engine *engine, hia_function *f, const point *p, int n) {
  hia_value *args[4], *result;
  hia_error *error = NULL;
  args[0] = hia_value_f64(engine, p->x[0]);
  args[1] = hia_value_f64(engine, p->x[1]);
  cr_assert_eq(hia_data_tensor(NULL, hia_function_param_type(f, 2), (int64_t[]){4}, &p->x[2],
                               &args[2], NULL),
               HIA_OK);
  args[3] = hia_value_i32(engine, n);
  hia_status status = hia_run(f, args, 4, NULL, &result, &error);
  cr_assert_eq(status, HIA_OK, "%s", error ? hia_error_text(error) : "");
  for (int i = 0; i < 4; i++) hia_value_free(args[i]);
  return result;
}

static double number(hia_value *value) {
  double x = NAN;
  hia_value_get_f64(value, &x);
  hia_value_free(value);
  return x;
}

/* `gradient` gives what `value` gives, and its gradients for x, y and v. */
static void compare(hia_engine *engine, hia_module *module, const char *value_name,
                    const char *gradient_name, const char *text, int n) {
  static const double h = 1e-5;
  point p = {{0.3, -0.7, 0.2, 0.9, -0.4, 0.6}};
  hia_function *f, *g;
  cr_assert_eq(hia_module_function(module, value_name, &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(module, gradient_name, &g, NULL), HIA_OK);
  hia_value *both = call_at(engine, g, &p, n), *gradients = hia_value_part(both, 1);
  hia_value *dv = hia_value_part(gradients, 2);
  double value = number(hia_value_part(both, 0)), is[6];
  is[0] = number(hia_value_part(gradients, 0));
  is[1] = number(hia_value_part(gradients, 1));
  memcpy(&is[2], hia_value_elements(dv), 4 * sizeof(double));
  cr_assert_eq(value, number(call_at(engine, f, &p, n)));
  for (int i = 0; i < 6; i++) {
    point above = p, below = p;
    above.x[i] += h;
    below.x[i] -= h;
    double up = number(call_at(engine, f, &above, n)), down = number(call_at(engine, f, &below, n));
    double expected = (up - down) / (2 * h);
    cr_assert(fabs(is[i] - expected) <= 1e-6 * (1 + fabs(expected) + fabs(value)),
              "%d: %.12g, not %.12g, n %d, of\n%s", i, is[i], expected, n, text);
  }
  hia_value_free(dv);
  hia_value_free(gradients);
  hia_value_free(both);
}

/* What the gradient of f for x and for v adds up to is a function like others. */
static const char second[] =
    "fn d(x: f64, y: f64, v: f64[4], n: i32) -> f64 = {\n"
    "  let (dx, dv) = grad(f, wrt = (x, v))(x, y, v, n);\n"
    "  dx + sum(dv)\n"
    "}\n"
    "fn e(x: f64, y: f64, v: f64[4], n: i32) = value_and_grad(d, wrt = (x, y, v))(x, y, v, n)\n";

static void check(uint32_t seed, hia_engine_kind kind, bool is_second) {
  test_text text;
  hia_engine *engine;
  hia_module *module;
  hia_error *error = NULL;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  gradient_program(seed, &text);
  if (is_second) test_text_take(&text, second, strlen(second));
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  hia_status status =
      hia_module_load_text(engine, "random.hia", text.data, text.len, &module, &error);
  cr_assert_eq(status, HIA_OK, "seed %u: %s", seed, error ? hia_error_text(error) : "");
  for (int n = 0; n < 3; n++) {
    compare(engine, module, "f", "g", text.data, n);
    if (is_second) compare(engine, module, "d", "e", text.data, n);
  }
  hia_module_free(module);
  hia_engine_free(engine);
  test_text_free(&text);
}

Test(engine_gradients, of_random_programs) {
  for (uint32_t i = 0; i < 300; i += HIA_TEST_SHARE)
    check(1000 * HIA_TEST_SEED + i, HIA_ENGINE_INTERP, i % 8 == 0);
}

Test(engine_gradients, of_random_programs_as_native_code) {
  for (uint32_t i = 0; i < 20; i += HIA_TEST_SHARE)
    check(1000 * HIA_TEST_SEED + i, HIA_ENGINE_JIT, false);
}

/* Where a recursion is called from outside, its state has no gradient, and in its calls of itself
 * it has: one version serves both. */
Test(engine_gradients, a_recursion_has_one_version) {
  static const char source[] =
      "fn both(a: f64, n: i32) -> (f64, f64) = if n == 0 then (sin(a), a * a) else {\n"
      "  let (h, p) = both(a, n - 1);\n"
      "  (h * a, p + h * h)\n"
      "}\n"
      "fn loss(a: f64, n: i32) -> f64 = both(a, n).1\n"
      "fn slope(a: f64, n: i32) = grad(loss, wrt = a)(a, n)\n";
  hia_engine *engine;
  hia_module *module;
  hia_function *slope;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_dump_options tape = HIA_DUMP_OPTIONS_INIT;
  test_text text = {0};
  options.kind = HIA_ENGINE_INTERP;
  tape.stage = HIA_STAGE_TAPE;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "s.hia", source, strlen(source), &module, NULL),
               HIA_OK);
  cr_assert_eq(hia_module_function(module, "slope", &slope, NULL), HIA_OK);
  cr_assert_eq(hia_module_dump(module, &slope, 1, &tape, test_text_take, &text, NULL), HIA_OK);
  static const char kept[] = "\nboth(f64, i32), for the gradient of result 0, 1 keeps";
  const char *first = strstr(text.data, "\nboth(f64, i32)");
  cr_assert(first && strncmp(first, kept, strlen(kept)) == 0, "%s", text.data);
  cr_assert(!strstr(first + 1, "\nboth(f64, i32)"), "%s", text.data);
  test_text_free(&text);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* ---- what differentiating takes ---- */

static void *count_alloc(void *user, size_t size) {
  *(size_t *)user += size;
  return malloc(size);
}
static void *count_resize(void *user, void *block, size_t old_size, size_t size) {
  *(size_t *)user += size > old_size ? size - old_size : 0;
  return realloc(block, size);
}
static void count_free(void *user, void *block, size_t size) {
  (void)user, (void)size;
  free(block);
}

/* The bytes that differentiating a recursion of n functions asks for. */
static size_t bytes_of_recursion(int n) {
  size_t bytes = 0;
  const hia_allocator counting = {count_alloc, count_resize, count_free, &bytes};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.allocator = &counting;
  test_text text = {0};
  char line[200];
  for (int i = 0; i < n; i++) {
    int len = snprintf(line, sizeof line,
                       "fn g%d(x: f64, n: i32) -> (f64, f64) = if n == 0 then (x, x * x) else {\n"
                       "  let (a, b) = g%d(sin(x), n - 1);\n"
                       "  let (c, d) = g%d(x * a, n - 1);\n"
                       "  (a * c, b + d)\n"
                       "}\n",
                       i, (i + 1) % n, (i * 7 + 3) % n);
    test_text_take(&text, line, (size_t)len);
  }
  static const char ends[] = "fn last(x: f64, n: i32) -> f64 = g0(x, n).1\n"
                             "fn main(x: f64, n: i32) = value_and_grad(last, wrt = x)(x, n)\n";
  test_text_take(&text, ends, strlen(ends));
  hia_engine *engine;
  hia_module *module;
  hia_function *f;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "r.hia", text.data, text.len, &module, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(module, "main", &f, NULL), HIA_OK);
  size_t before = bytes;
  cr_assert_eq(hia_function_prepare(f, NULL), HIA_OK);
  size_t taken = bytes - before;
  hia_module_free(module);
  hia_engine_free(engine);
  test_text_free(&text);
  return taken;
}

/* Eight times as many functions take eight times as much; twelve times, if each call of one goes
 * through all of them. */
Test(engine_gradients, long_recursions) {
  size_t few = bytes_of_recursion(40), many = bytes_of_recursion(320);
  cr_expect_lt(many, 9 * few, "%zu bytes, %zu bytes", few, many);
}
