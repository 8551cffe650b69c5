/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients of programs made at random, next to central differences: scalars and vectors through
 * branches, loops, comprehensions, tuples, data, helpers and recursions, and a param; and through a
 * function that brings its own gradient, and others whose calls are computed again. The programs
 * have no kinks where they are looked at, and their values are of the size of 1. */
#include "tests/unit/helper_random.h"
#include "tests/unit/helper_text.h"
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <math.h>
#include <stdarg.h>

/* ---- making a program ---- */

typedef struct maker {
  test_text text;
  random_source random;
  int n_helpers; /* that may be called: those before the function that is being made */
  int n_names;   /* of variables so far */
  bool in_loop;  /* the variable a is there, too */
} maker;

static uint32_t pick(maker *m, uint32_t n) { return random_below(&m->random, n); }

__attribute__((format(printf, 2, 3))) static void say(maker *m, const char *fmt, ...) {
  char piece[512];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(piece, sizeof piece, fmt, args);
  va_end(args);
  cr_assert(n >= 0 && (size_t)n < sizeof piece);
  test_text_take(&m->text, piece, (size_t)n);
}

static void scalar(maker *m, int depth);
static void vector(maker *m, int depth);

/* Decides in the same way at all points that are near. */
static void condition(maker *m, int depth) {
  switch (pick(m, 3)) {
  case 0: say(m, "n %% 2 == %u", pick(m, 2)); break;
  case 1: say(m, "x < %u.0", 3 + pick(m, 2)); break;
  default:
    say(m, "tanh(");
    scalar(m, depth - 1);
    say(m, ") > 1.5");
  }
}

static void call(maker *m, int depth) {
  say(m, "helper%u(", pick(m, (uint32_t)m->n_helpers));
  scalar(m, depth - 1);
  say(m, ", ");
  vector(m, depth - 1);
  say(m, ", n)");
}

static void loop(maker *m, int depth) {
  bool was_in_loop = m->in_loop;
  say(m, "{ let (_, r) = loop (i = 0, a: f64 = ");
  scalar(m, depth - 1);
  say(m, ") while i < %u { (i + 1, tanh(", pick(m, 4));
  m->in_loop = true;
  scalar(m, depth - 1);
  m->in_loop = was_in_loop;
  say(m, ")) }; r }");
}

static void data(maker *m, int depth) {
  say(m, "(match (if ");
  condition(m, depth);
  say(m, " then One(");
  scalar(m, depth - 1);
  say(m, ") else Two(");
  vector(m, depth - 1);
  say(m, ", ");
  scalar(m, depth - 1);
  say(m, ")) { One(p) => tanh(p), Two(w, p) => p * sum(w) })");
}

static void two(maker *m, const char *before, const char *between, const char *after, int depth) {
  say(m, "%s", before);
  scalar(m, depth - 1);
  say(m, "%s", between);
  scalar(m, depth - 1);
  say(m, "%s", after);
}

static void of_vector(maker *m, const char *before, const char *after, int depth) {
  say(m, "%s", before);
  vector(m, depth - 1);
  say(m, "%s", after);
}

static void named(maker *m, int depth) {
  int name = m->n_names++;
  say(m, "{ let s%d: f64 = ", name);
  scalar(m, depth - 1);
  say(m, "; s%d * ", name);
  scalar(m, depth - 1);
  say(m, " + sin(s%d) }", name);
}

static void leaf(maker *m) {
  switch (pick(m, 5)) {
  case 0: say(m, "x"); break;
  case 1: say(m, "y"); break;
  case 2: say(m, "v[%u]", pick(m, 4)); break;
  case 3: say(m, "%s", m->in_loop ? "a" : "x"); break;
  default: say(m, "0.%uf64", 1 + pick(m, 9));
  }
}

static void scalar(maker *m, int depth) {
  if (depth <= 0) {
    leaf(m);
    return;
  }
  switch (pick(m, 19)) {
  case 0: two(m, "(", " + ", ")", depth); break;
  case 1: two(m, "(", " * ", ")", depth); break;
  case 2: two(m, "(", " - ", ")", depth); break;
  case 3: two(m, "(", " / (2.5 + tanh(", ")))", depth); break;
  case 4: two(m, "(", ", ", ").0", depth); break;
  case 5: two(m, "pow(1.5 + tanh(", "), tanh(", "))", depth); break;
  case 6: two(m, "hypot(2 + tanh(", "), ", ")", depth); break;
  case 7: of_vector(m, "sum(", ")", depth); break;
  case 8: of_vector(m, "(", ")[2]", depth); break;
  case 9: of_vector(m, "(v @ ", ")", depth); break;
  case 10: of_vector(m, "log(sum(exp(tanh(", "))))", depth); break;
  case 11: of_vector(m, "prod(sigmoid(", "))", depth); break;
  case 12:
    say(m, "(if ");
    condition(m, depth);
    two(m, " then ", " else ", ")", depth);
    break;
  case 13: named(m, depth); break;
  case 14: loop(m, depth); break;
  case 15: data(m, depth); break;
  case 16:
    say(m, "own(n, ");
    scalar(m, depth - 1);
    of_vector(m, ", ", ").1", depth);
    break;
  default:
    if (m->n_helpers)
      call(m, depth);
    else
      leaf(m);
  }
}

static void vector(maker *m, int depth) {
  if (depth <= 0) {
    say(m, "%s", pick(m, 3) ? "v" : "P[0]");
    return;
  }
  switch (pick(m, 11)) {
  case 0: of_vector(m, "tanh(", ")", depth); break;
  case 1: of_vector(m, "(v * ", ")", depth); break;
  case 2: of_vector(m, "(P @ ", ")", depth); break;
  case 3: of_vector(m, "softmax(", ")", depth); break;
  case 4: of_vector(m, "{ let w: f64[4] = ", "; concat(w[2..4], w[0..2]) * 0.5 }", depth); break;
  case 5:
    of_vector(m, "{ let w: f64[4] = ", "; concat(w[1..3], w[3..4], w[1..2] + w[2..3]) }", depth);
    break;
  case 6:
    say(m, "[");
    two(m, "", ", ", "", depth);
    two(m, ", ", ", ", "]", depth);
    break;
  case 7:
    of_vector(m, "{ let w: f64[4] = ", "; [tanh(", depth);
    scalar(m, depth - 1);
    say(m, ") * f64(k) + w[k] for k in 0i64..4] }");
    break;
  case 8:
    say(m, "(");
    scalar(m, depth - 1);
    of_vector(m, " * ", ")", depth);
    break;
  case 9:
    say(m, "set(");
    vector(m, depth - 1);
    say(m, ", %u, ", pick(m, 4));
    scalar(m, depth - 1);
    say(m, ")");
    break;
  default:
    say(m, "(if ");
    condition(m, depth);
    of_vector(m, " then ", " else v)", depth);
  }
}

/* Helpers may call those before them, and themselves as often as n says. */
static void make(maker *m, uint32_t seed) {
  *m = (maker){.random = {seed * 2654435761u + 1}};
  say(m, "type Data = One(f: f64) | Two(w: f64[4], f: f64)\n"
         "param P: f64[4, 4] = uniform(-0.5, 0.5)\n"
         "fn own(n: i32, x: f64, v: f64[4]) -> (i32, f64) = (n, tanh(x) * sum(v * v))\n"
         "  gradient(g, (_, y)) =\n"
         "  { let t = tanh(x); (g * (1 - t * t) * sum(v * v), 2 * v * (g * y / sum(v * v))) }\n");
  for (int i = 0; i < 3; i++) {
    say(m, "%sfn helper%d(x: f64, v: f64[4], n: i32) -> f64 = { let y = x * 0.5; ",
        pick(m, 3) ? "" : "recompute ", i);
    if (i == 1) say(m, "if n <= 0 then x else tanh(helper1(");
    if (i == 1) scalar(m, 2);
    if (i == 1) say(m, ", v * 0.9, n - 1)) * ");
    scalar(m, 3);
    say(m, " }\n");
    m->n_helpers++;
  }
  say(m, "fn f(x: f64, y: f64, v: f64[4], n: i32) -> f64 = ");
  scalar(m, 4);
  say(m, "\nfn g(x: f64, y: f64, v: f64[4], n: i32) = value_and_grad(f, wrt = (x, y, v))(x, y, v, "
         "n)\n");
}

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

static void compare(hia_engine *engine, hia_module *module, const char *text, int n) {
  static const double h = 1e-5;
  point p = {{0.3, -0.7, 0.2, 0.9, -0.4, 0.6}};
  hia_function *f, *g;
  cr_assert_eq(hia_module_function(module, "f", &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(module, "g", &g, NULL), HIA_OK);
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

static void check(uint32_t seed, hia_engine_kind kind) {
  maker m;
  hia_engine *engine;
  hia_module *module;
  hia_error *error = NULL;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  make(&m, seed);
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  hia_status status =
      hia_module_load_text(engine, "random.hia", m.text.data, m.text.len, &module, &error);
  cr_assert_eq(status, HIA_OK, "seed %u: %s", seed, error ? hia_error_text(error) : "");
  for (int n = 0; n < 3; n++) compare(engine, module, m.text.data, n);
  hia_module_free(module);
  hia_engine_free(engine);
  test_text_free(&m.text);
}

Test(engine_gradients, of_random_programs) {
  for (uint32_t i = 0; i < 300; i += HIA_TEST_SHARE)
    check(1000 * HIA_TEST_SEED + i, HIA_ENGINE_INTERP);
}

Test(engine_gradients, of_random_programs_as_native_code) {
  for (uint32_t i = 0; i < 20; i += HIA_TEST_SHARE) check(1000 * HIA_TEST_SEED + i, HIA_ENGINE_JIT);
}
