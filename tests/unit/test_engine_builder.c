/* The builder: what it writes, what it refuses, and that what it builds runs. */
#include "tests/unit/helper_memory.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef hia_build_value value;

typedef struct world {
  hia_engine *engine;
  hia_builder *b;
  hia_module *module;
  char *text;
  size_t len;
} world;

static world open_world(void) {
  world w = {0};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
  cr_assert_eq(hia_builder_new(w.engine, "built.hia", &w.b, NULL), HIA_OK);
  return w;
}

static void close_world(world *w) {
  free(w->text);
  hia_module_free(w->module);
  hia_builder_free(w->b);
  hia_engine_free(w->engine);
}

static bool collect(void *user, const char *bytes, size_t len) {
  world *w = user;
  w->text = realloc(w->text, w->len + len + 1);
  memcpy(w->text + w->len, bytes, len);
  w->text[w->len += len] = 0;
  return true;
}

static const char *print(world *w) {
  hia_error *error;
  w->len = 0;
  collect(w, "", 0);
  hia_status status = hia_builder_print(w->b, collect, w, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  return w->text;
}

static void expect_text(world *w, const char *expected) {
  const char *text = print(w);
  cr_assert_str_eq(text, expected, "printed:\n%s\nexpected:\n%s", text, expected);
}

static void finish(world *w) {
  hia_error *error;
  hia_module_free(w->module);
  hia_status status = hia_builder_finish(w->b, &w->module, &error);
  cr_assert_eq(status, HIA_OK, "%s\n%.3000s", hia_error_text(error), print(w));
}

/* Calls a function of the module with one argument, or none if it is NULL; prints the result. */
static const char *run(world *w, const char *name, hia_value *arg) {
  static char result[512];
  hia_function *function;
  hia_value *out;
  hia_error *error;
  cr_assert_eq(hia_module_function(w->module, name, &function, NULL), HIA_OK);
  hia_status status = hia_call(function, &arg, arg != NULL, &out, &error);
  if (status == HIA_OK)
    hia_value_format(out, result, sizeof result);
  else
    snprintf(result, sizeof result, "%s", hia_error_text(error));
  hia_value_free(out);
  hia_value_free(arg);
  hia_error_free(error);
  return result;
}

/* ---- what it writes ---- */

static void build_fact(hia_builder *b) {
  hia_build_fn fact = hia_build_declare(b, "fact(n: i64) -> i64");
  hia_build_begin(b, fact);
  value n = hia_build_param(b, fact, 0), one = hia_build_i64(b, 1);
  hia_build_if(b, hia_build_le(b, n, one));
  hia_build_else(b, one);
  value less = hia_build_sub(b, n, one);
  value rest = hia_build_call(b, fact, &less, 1);
  hia_build_return(b, hia_build_end_if(b, hia_build_mul(b, n, rest)));
}

Test(builder, the_program_of_the_header) {
  world w = open_world();
  build_fact(w.b);
  expect_text(&w, "fn fact(n: i64) -> i64 =\n"
                  "  if n <= 1 then 1 else n * fact(n - 1)\n");
  finish(&w);
  cr_assert_str_eq(run(&w, "fact", hia_value_i64(w.engine, 20)), "2432902008176640000");
  close_world(&w);
}

Test(builder, mutual_recursion_and_tail_calls) {
  world w = open_world();
  hia_build_fn even = hia_build_declare(w.b, "even(n: i32) -> bool"),
               odd = hia_build_declare(w.b, "fn odd ( n:i32 )->bool ");
  for (int i = 0; i < 2; i++) {
    hia_build_fn fn = i ? odd : even, other = i ? even : odd;
    hia_build_begin(w.b, fn);
    value n = hia_build_param(w.b, fn, 0);
    hia_build_if(w.b, hia_build_eq(w.b, n, hia_build_i32(w.b, 0)));
    hia_build_else(w.b, hia_build_bool(w.b, i == 0));
    value less = hia_build_sub(w.b, n, hia_build_i32(w.b, 1));
    /* A name does not stand in the way of a tail call. */
    value rest = hia_build_name(w.b, hia_build_call(w.b, other, &less, 1), "rest");
    hia_build_return(w.b, hia_build_end_if(w.b, rest));
  }
  expect_text(&w, "fn even(n: i32) -> bool =\n"
                  "  if n == 0 then true else odd(n - 1)\n"
                  "\n"
                  "fn odd(n: i32) -> bool =\n"
                  "  if n == 0 then false else even(n - 1)\n");
  finish(&w);
  cr_assert_str_eq(run(&w, "even", hia_value_i32(w.engine, 10000001)), "false");
  close_world(&w);
}

Test(builder, loops_tuples_and_captured_values) {
  world w = open_world();
  hia_build_fn gcd = hia_build_declare(w.b, "gcd(p: (i64, i64)) -> i64");
  hia_build_begin(w.b, gcd);
  value p = hia_build_param(w.b, gcd, 0);
  value init[2] = {hia_build_part(w.b, p, 0), hia_build_part(w.b, p, 1)}, var[2];
  hia_build_loop(w.b, init, 2, var);
  hia_build_while(w.b, hia_build_ne(w.b, var[1], hia_build_i64(w.b, 0)));
  value next[2] = {var[1], hia_build_rem(w.b, var[0], var[1])};
  hia_build_return(w.b, hia_build_part(w.b, hia_build_end_loop(w.b, next, 2), 0));

  /* The sum of i * p.0 for i below p.1, skipping the third: conditions with `let`s, a branch inside
   * of a round, p from outside in all of them. */
  hia_build_fn sum = hia_build_declare(w.b, "sums(p: (i64, i64)) -> i64");
  hia_build_begin(w.b, sum);
  p = hia_build_name(w.b, hia_build_param(w.b, sum, 0), "pair");
  value from[2] = {hia_build_i64(w.b, 0), hia_build_i64(w.b, 0)};
  hia_build_loop(w.b, from, 2, var);
  hia_build_name(w.b, var[0], "i");
  hia_build_name(w.b, var[1], "total");
  value end = hia_build_name(w.b, hia_build_part(w.b, p, 1), "end");
  hia_build_while(w.b,
                  hia_build_band(w.b, hia_build_lt(w.b, var[0], end), hia_build_bool(w.b, true)));
  hia_build_if(w.b, hia_build_eq(w.b, var[0], hia_build_i64(w.b, 3)));
  hia_build_else(w.b, var[1]);
  value factor = hia_build_part(w.b, p, 0);
  value more =
      hia_build_end_if(w.b, hia_build_add(w.b, var[1], hia_build_mul(w.b, var[0], factor)));
  next[0] = hia_build_add(w.b, var[0], hia_build_i64(w.b, 1));
  next[1] = more;
  hia_build_return(w.b, hia_build_part(w.b, hia_build_end_loop(w.b, next, 2), 1));
  expect_text(&w, "fn gcd(p: (i64, i64)) -> i64 = {\n"
                  "  let v1 = p.0;\n"
                  "  let v2: (i64, i64) = loop (v3: i64 = v1, v4: i64 = p.1) while v4 != 0 {\n"
                  "    (v4, v3 % v4)\n"
                  "  };\n"
                  "  v2.0\n"
                  "}\n"
                  "\n"
                  "fn sums(pair: (i64, i64)) -> i64 = {\n"
                  "  let v1: (i64, i64) = loop (i: i64 = 0, total: i64 = 0) while {\n"
                  "    let end = pair.1;\n"
                  "    band(i < end, true)\n"
                  "  } {\n"
                  "    let v2: i64 = if i == 3 then total else total + i * pair.0;\n"
                  "    (i + 1, v2)\n"
                  "  };\n"
                  "  v1.1\n"
                  "}\n");
  finish(&w);
  hia_value *parts[2] = {hia_value_i64(w.engine, 360), hia_value_i64(w.engine, 1000)};
  cr_assert_str_eq(run(&w, "gcd", hia_value_tuple(w.engine, parts, 2)), "40");
  hia_value *others[2] = {parts[0], hia_value_i64(w.engine, 5)};
  cr_assert_str_eq(run(&w, "sums", hia_value_tuple(w.engine, others, 2)), "2520");
  for (int i = 0; i < 2; i++) hia_value_free(parts[i]);
  hia_value_free(others[1]);
  close_world(&w);
}

Test(builder, brackets_are_where_they_must_be) {
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(x: f64, y: f64, i: i32) -> bool");
  hia_build_begin(w.b, f);
  value x = hia_build_param(w.b, f, 0), y = hia_build_param(w.b, f, 1);
  value a = hia_build_mul(w.b, hia_build_add(w.b, x, y), x); /* (x + y) * x */
  a = hia_build_name(w.b, hia_build_sub(w.b, y, a), "a");
  value c = hia_build_sub(w.b, hia_build_sub(w.b, x, y), x); /* to the left: no brackets */
  c = hia_build_name(w.b, hia_build_neg(w.b, c), "c");
  value d = hia_build_sub(w.b, x, hia_build_sub(w.b, y, x)); /* to the right: brackets */
  d = hia_build_name(w.b, hia_build_add(w.b, hia_build_f64(w.b, -1.5), d), "d");
  value e = hia_build_neg(w.b, hia_build_neg(w.b, hia_build_f64(w.b, -2)));
  e = hia_build_name(w.b, hia_build_sqrt(w.b, hia_build_max(w.b, e, hia_build_f64(w.b, 1))), "e");
  value i = hia_build_convert(w.b, HIA_F64, hia_build_param(w.b, f, 2));
  value s = hia_build_name(w.b, hia_build_select(w.b, hia_build_bool(w.b, false), i, x), "s");
  value k = hia_build_add(w.b, hia_build_f64(w.b, 1), hia_build_f64(w.b, 2)); /* both literals */
  hia_build_name(w.b, k, "k");
  value less = hia_build_lt(w.b, a, c), same = hia_build_lt(w.b, d, e);
  (void)s;
  hia_build_return(w.b, hia_build_eq(w.b, less, same));
  expect_text(&w, "fn f(x: f64, y: f64, i: i32) -> bool = {\n"
                  "  let a = y - (x + y) * x;\n"
                  "  let c = -(x - y - x);\n"
                  "  let d = (-1.5) + (x - (y - x));\n"
                  "  let e = sqrt(max(-(-(-2.0f64)), 1.0));\n"
                  "  let s = select(false, f64(i), x);\n"
                  "  let k = 1.0f64 + 2.0f64;\n"
                  "  let v1 = a < c;\n"
                  "  v1 == (d < e)\n"
                  "}\n");
  finish(&w);
  close_world(&w);
}

Test(builder, names_become_valid_and_distinct) {
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(x: i32, x_2: i32) -> i32");
  hia_build_begin(w.b, f);
  value x = hia_build_param(w.b, f, 0), sum = x;
  static const char *const names[] = {"x", "x", "3d", "a-b c",      "loop", "min",
                                      "f", "g", "v2", "\303\244bc", "",     "__"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    sum = hia_build_name(w.b, hia_build_add(w.b, sum, x), names[i]);
    hia_build_abs(w.b, sum); /* used once more */
  }
  hia_build_return(w.b, sum);
  hia_build_fn g = hia_build_declare(w.b, "g(_: i32) -> i32");
  hia_build_begin(w.b, g);
  hia_build_return(w.b, hia_build_name(w.b, hia_build_i32(w.b, 7), "seven"));
  expect_text(&w, "fn f(x: i32, x_2: i32) -> i32 = {\n"
                  "  let x_3 = x + x;\n"
                  "  let _ = abs(x_3);\n"
                  "  let x_4 = x_3 + x;\n"
                  "  let _ = abs(x_4);\n"
                  "  let _3d = x_4 + x;\n"
                  "  let _ = abs(_3d);\n"
                  "  let a_b_c = _3d + x;\n"
                  "  let _ = abs(a_b_c);\n"
                  "  let loop_ = a_b_c + x;\n"
                  "  let _ = abs(loop_);\n"
                  "  let min_2 = loop_ + x;\n"
                  "  let _ = abs(min_2);\n"
                  "  let f_2 = min_2 + x;\n"
                  "  let _ = abs(f_2);\n"
                  "  let g_2 = f_2 + x;\n"
                  "  let _ = abs(g_2);\n"
                  "  let v2 = g_2 + x;\n"
                  "  let _ = abs(v2);\n"
                  "  let __bc = v2 + x;\n"
                  "  let _ = abs(__bc);\n"
                  "  let v1 = __bc + x;\n"
                  "  let _ = abs(v1);\n"
                  "  let v3 = v1 + x;\n"
                  "  let _ = abs(v3);\n"
                  "  v3\n"
                  "}\n"
                  "\n"
                  "fn g(v1: i32) -> i32 = 7\n");
  finish(&w);
  cr_assert_str_eq(run(&w, "g", hia_value_i32(w.engine, 0)), "7");
  close_world(&w);
}

static double halve(double x) { return x / 2; }

static int32_t count_rolls(void *user, int32_t sides) {
  ++*(int *)user;
  return sides;
}

Test(builder, functions_of_the_host) {
  world w = open_world();
  hia_build_fn roll = hia_build_declare(w.b, "extern impure fn roll(_: i32) -> i32"),
               half = hia_build_declare(w.b, " extern fn half(x:f64)->f64"),
               f = hia_build_declare(w.b, "external(x: f64) -> f64");
  hia_build_begin(w.b, f);
  value six = hia_build_i32(w.b, 6), x = hia_build_param(w.b, f, 0);
  value sum = hia_build_convert(w.b, HIA_F64, hia_build_call(w.b, roll, &six, 1));
  sum = hia_build_add(w.b, sum, hia_build_call(w.b, half, &x, 1));
  hia_build_call(w.b, roll, &six, 1);
  hia_build_return(w.b, sum);
  expect_text(&w, "extern impure fn roll(v1: i32) -> i32\n"
                  "\n"
                  "extern fn half(x: f64) -> f64\n"
                  "\n"
                  "fn external(x: f64) -> f64 = {\n"
                  "  let v1 = f64(roll(6));\n"
                  "  let v2 = v1 + half(x);\n"
                  "  let _ = roll(6);\n"
                  "  v2\n"
                  "}\n");
  /* Finished when the host has registered them. */
  hia_error *error;
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_code(error, 0), "E0601");
  hia_error_free(error);
  int rolls = 0;
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern fn half(x: f64) -> f64";
  host.function = (void (*)(void))halve;
  cr_assert_eq(hia_engine_register(w.engine, &host, NULL), HIA_OK);
  host.declaration = "extern impure fn roll(sides: i32) -> i32";
  host.function = (void (*)(void))count_rolls;
  host.user = &rolls;
  host.takes_user = true;
  cr_assert_eq(hia_engine_register(w.engine, &host, NULL), HIA_OK);
  finish(&w);
  cr_assert_str_eq(run(&w, "external", hia_value_f64(w.engine, 5)), "8.5");
  cr_assert_eq(rolls, 2);
  close_world(&w);
}

/* ---- constants ---- */

typedef struct exact {
  hia_dtype dtype;
  uint64_t bits;
} exact;

static value build_exact(hia_builder *b, exact e) {
  float f;
  double d;
  uint32_t low = (uint32_t)e.bits;
  memcpy(&f, &low, sizeof f);
  memcpy(&d, &e.bits, sizeof d);
  switch (e.dtype) {
  case HIA_BOOL: return hia_build_bool(b, e.bits != 0);
  case HIA_I32: return hia_build_i32(b, (int32_t)e.bits);
  case HIA_I64: return hia_build_i64(b, (int64_t)e.bits);
  case HIA_F32: return hia_build_f32(b, f);
  default: return hia_build_f64(b, d);
  }
}

static void expect_exact(const hia_value *got, exact e) {
  uint64_t bits = 0;
  double d;
  float f;
  bool t;
  int32_t i;
  int64_t l;
  if (hia_value_get_bool(got, &t) == HIA_OK) bits = t;
  if (hia_value_get_i32(got, &i) == HIA_OK) bits = (uint32_t)i;
  if (hia_value_get_i64(got, &l) == HIA_OK) bits = (uint64_t)l;
  if (hia_value_get_f32(got, &f) == HIA_OK) {
    uint32_t low = (uint32_t)e.bits;
    float want;
    memcpy(&want, &low, sizeof want);
    if (isnan(f) && isnan(want)) return;
    memcpy(&low, &f, sizeof low);
    bits = low;
  }
  if (hia_value_get_f64(got, &d) == HIA_OK) {
    double want;
    memcpy(&want, &e.bits, sizeof want);
    if (isnan(d) && isnan(want)) return;
    memcpy(&bits, &d, sizeof bits);
  }
  cr_assert_eq(bits, e.bits, "dtype %d: %llx instead of %llx", (int)e.dtype,
               (unsigned long long)bits, (unsigned long long)e.bits);
}

static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* A constant comes back as it went in, out of a tuple and as an operand. */
Test(builder, constants_are_exact) {
  enum { N = 500 };
  static const exact special[] = {
      {HIA_BOOL, 0},
      {HIA_BOOL, 1},
      {HIA_I32, 0},
      {HIA_I32, 0x80000000u},
      {HIA_I32, 0x7fffffffu},
      {HIA_I32, 0xffffffffu},
      {HIA_I64, UINT64_C(1) << 63},
      {HIA_I64, INT64_MAX},
      {HIA_I64, UINT64_MAX},
      {HIA_F32, 0x80000000u}, /* -0 */
      {HIA_F32, 1},           /* the smallest */
      {HIA_F32, 0x007fffffu}, /* the largest denormal */
      {HIA_F32, 0x7f7fffffu}, /* the largest */
      {HIA_F32, 0x7f800000u},
      {HIA_F32, 0xff800000u},
      {HIA_F32, 0x7fc00000u},
      {HIA_F32, 0x4b000001u}, /* an integer that needs its last bit */
      {HIA_F64, UINT64_C(1) << 63},
      {HIA_F64, 1},
      {HIA_F64, 0x000fffffffffffffu},
      {HIA_F64, 0x7fefffffffffffffu},
      {HIA_F64, 0x7ff0000000000000u},
      {HIA_F64, 0xfff0000000000000u},
      {HIA_F64, 0x7ff8000000000000u},
      {HIA_F64, 0x4340000000000001u},
  };
  world w = open_world();
  exact e[N];
  uint64_t state = 1;
  char name[32];
  for (size_t i = 0; i < N; i++) {
    if (i < sizeof special / sizeof *special) {
      e[i] = special[i];
    } else {
      e[i].dtype = (hia_dtype)(HIA_I32 + i % 4);
      e[i].bits = next_random(&state);
      if (e[i].dtype == HIA_I32 || e[i].dtype == HIA_F32) e[i].bits &= UINT32_MAX;
    }
    hia_build_type type = e[i].dtype, types[2] = {type, type};
    snprintf(name, sizeof name, "c%zu", i);
    hia_build_fn fn =
        hia_build_declare_types(w.b, name, &type, 1, hia_build_tuple_type(w.b, types, 2));
    hia_build_begin(w.b, fn);
    value c = build_exact(w.b, e[i]), p = hia_build_param(w.b, fn, 0);
    /* The second part: the constant beside an operand that says its type. */
    value parts[2] = {c, hia_build_select(w.b, hia_build_bool(w.b, true), c, p)};
    hia_build_return(w.b, hia_build_tuple(w.b, parts, 2));
  }
  finish(&w);
  for (size_t i = 0; i < N; i++) {
    hia_function *function;
    hia_value *result, *arg, *part;
    switch (e[i].dtype) {
    case HIA_BOOL: arg = hia_value_bool(w.engine, false); break;
    case HIA_I32: arg = hia_value_i32(w.engine, 3); break;
    case HIA_I64: arg = hia_value_i64(w.engine, 3); break;
    case HIA_F32: arg = hia_value_f32(w.engine, 3); break;
    default: arg = hia_value_f64(w.engine, 3);
    }
    snprintf(name, sizeof name, "c%zu", i);
    cr_assert_eq(hia_module_function(w.module, name, &function, NULL), HIA_OK);
    cr_assert_eq(hia_call(function, &arg, 1, &result, NULL), HIA_OK);
    for (size_t k = 0; k < 2; k++) {
      expect_exact(part = hia_value_part(result, k), e[i]);
      hia_value_free(part);
    }
    hia_value_free(arg);
    hia_value_free(result);
  }
  close_world(&w);
}

/* ---- failures at run time ---- */

Test(builder, failures_show_the_line_that_was_built) {
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(n: i32) -> (i32, f64)"),
               g = hia_build_declare(w.b, "g(n: i32) -> i32");
  hia_build_begin(w.b, f);
  value n = hia_build_param(w.b, f, 0);
  hia_build_if(w.b, hia_build_lt(w.b, n, hia_build_i32(w.b, 0)));
  value never =
      hia_build_fail(w.b, hia_build_i64(w.b, -5), hia_build_type_of(w.b, hia_build_i32(w.b, 0)));
  hia_build_else(w.b, never);
  value q = hia_build_div(w.b, hia_build_i32(w.b, 100), n);
  value parts[2] = {hia_build_end_if(w.b, q), hia_build_f64(w.b, 0.5)};
  hia_build_return(w.b, hia_build_tuple(w.b, parts, 2));
  hia_build_begin(w.b, g);
  n = hia_build_param(w.b, g, 0);
  hia_build_fail(w.b, n, HIA_I32); /* its value is not used: it happens all the same */
  hia_build_return(w.b, n);
  expect_text(&w, "fn f(n: i32) -> (i32, f64) = {\n"
                  "  let v1: i32 = if n < 0 then fail(-5i64) else 100 / n;\n"
                  "  (v1, 0.5f64)\n"
                  "}\n"
                  "\n"
                  "fn g(n: i32) -> i32 = {\n"
                  "  let _: i32 = fail(n);\n"
                  "  n\n"
                  "}\n");
  finish(&w);
  cr_assert_str_eq(run(&w, "f", hia_value_i32(w.engine, 8)), "(12, 0.5)");
  const char *text = run(&w, "f", hia_value_i32(w.engine, 0));
  cr_assert(strstr(text, "built.hia:2:52") && strstr(text, "100 / n"), "%s", text);
  text = run(&w, "f", hia_value_i32(w.engine, -1));
  cr_assert(strstr(text, "-5"), "%s", text);
  text = run(&w, "g", hia_value_i32(w.engine, 6));
  cr_assert(strstr(text, "built.hia:7:16"), "%s", text);
  close_world(&w);
}

/* ---- mistakes ---- */

/* What a mistake is made with: f has begun, x is its parameter; g is declared; `other` is another
 * builder's. */
typedef struct made {
  hia_builder *b, *other;
  hia_build_fn f, g, h;
  value x, y, c, foreign, inner, outer;
  hia_build_fn foreign_fn;
  hia_build_type foreign_type;
} made;

#define MISTAKES(_)                                                                                \
  _("in 'f': add: operands 1 and 2 are of types f64 and i32; they must be of one type",            \
    hia_build_add(m.b, m.y, m.x))                                                                  \
  _("in 'f': add: operand 1 is of type bool, not i32, i64, f32 or f64",                            \
    hia_build_add(m.b, m.c, m.c))                                                                  \
  _("in 'f': sqrt: operand 1 is of type i32, not f32 or f64", hia_build_sqrt(m.b, m.x))            \
  _("in 'f': shl: operand 1 is of type f64, not i32 or i64", hia_build_shl(m.b, m.y, m.y))         \
  _("in 'f': band: operand 1 is of type f64, not bool, i32 or i64", hia_build_band(m.b, m.y, m.y)) \
  _("in 'f': eq: operand 1 is of type (i32, f64), not a scalar",                                   \
    hia_build_eq(m.b, hia_build_tuple(m.b, (value[]){m.x, m.y}, 2), m.x))                          \
  _("in 'f': select: operand 1 is of type i32, not bool", hia_build_select(m.b, m.x, m.x, m.x))    \
  _("in 'f': select: operands 2 and 3 are of types i32 and f64",                                   \
    hia_build_select(m.b, m.c, m.x, m.y))                                                          \
  _("in 'f': neg: 2 operands instead of 1",                                                        \
    hia_build_op(m.b, HIA_OPCODE_NEG, (value[]){m.x, m.x}, 2))                                     \
  _("in 'f': neg: no operands", hia_build_op(m.b, HIA_OPCODE_NEG, NULL, 1))                        \
  _("in 'f': op: there is no op 38", hia_build_op(m.b, (hia_opcode)38, &m.x, 1))                   \
  _("in 'f': op: there is no op 66", hia_build_op(m.b, (hia_opcode)66, &m.x, 1))                   \
  _("in 'f': op: there is no op 5000", hia_build_op(m.b, (hia_opcode)5000, &m.x, 1))               \
  _("in 'f': abs: operand 1 is no value", hia_build_abs(m.b, (value){0}))                          \
  _("in 'f': abs: operand 1 is no value", hia_build_abs(m.b, (value){m.x.id + 1000}))              \
  _("in 'f': abs: operand 1 is a value of another builder", hia_build_abs(m.b, m.foreign))         \
  _("in 'f': abs: operand 1 is a value of the function 'h'", hia_build_abs(m.b, m.outer))          \
  _("in 'f': abs: operand 1 is out of scope", hia_build_abs(m.b, m.inner))                         \
  _("in 'f': convert: there is no dtype 7", hia_build_convert(m.b, (hia_dtype)7, m.x))             \
  _("in 'f': convert: the value is of type (i32, i32), not a scalar",                              \
    hia_build_convert(m.b, HIA_I32, hia_build_tuple(m.b, (value[]){m.x, m.x}, 2)))                 \
  _("in 'f': call of 'g': 1 argument instead of 2", hia_build_call(m.b, m.g, &m.x, 1))             \
  _("in 'f': call of 'g': no arguments", hia_build_call(m.b, m.g, NULL, 2))                        \
  _("in 'f': call of 'g': argument 2 is of type i32, not f64",                                     \
    hia_build_call(m.b, m.g, (value[]){m.x, m.x}, 2))                                              \
  _("in 'f': call: this is no function", hia_build_call(m.b, (hia_build_fn){0}, NULL, 0))          \
  _("in 'f': call: this is no function",                                                           \
    hia_build_call(m.b, (hia_build_fn){m.f.id + 100}, NULL, 0))                                    \
  _("in 'f': call: the function is another builder's", hia_build_call(m.b, m.foreign_fn, NULL, 0)) \
  _("in 'f': fail: the code is of type f64, not i32 or i64", hia_build_fail(m.b, m.y, HIA_I32))    \
  _("in 'f': fail: the type that it stands for is no type", hia_build_fail(m.b, m.x, 5))           \
  _("in 'f': fail: the type that it stands for is no type",                                        \
    hia_build_fail(m.b, m.x, HIA_BUILD_NO_TYPE))                                                   \
  _("in 'f': fail: the type that it stands for is another builder's",                              \
    hia_build_fail(m.b, m.x, m.foreign_type))                                                      \
  _("in 'f': tuple: a tuple has two parts or more, not 1", hia_build_tuple(m.b, &m.x, 1))          \
  _("in 'f': tuple: a tuple has two parts or more, not 0", hia_build_tuple(m.b, NULL, 0))          \
  _("in 'f': tuple: no parts", hia_build_tuple(m.b, NULL, 2))                                      \
  _("in 'f': part: the value is of type i32, no tuple", hia_build_part(m.b, m.x, 0))               \
  _("in 'f': part: there is no part 2 in (i32, f64)",                                              \
    hia_build_part(m.b, hia_build_tuple(m.b, (value[]){m.x, m.y}, 2), 2))                          \
  _("in 'f': if: the condition is of type i32, not bool", hia_build_if(m.b, m.x))                  \
  _("in 'f': else: there is no 'if' without 'else' here", hia_build_else(m.b, m.x))                \
  _("in 'f': end of if: there is no 'if' with its 'else' here", hia_build_end_if(m.b, m.x))        \
  _("an 'if' before its 'else' must end first",                                                    \
    (hia_build_if(m.b, m.c), hia_build_end_if(m.b, m.x)))                                          \
  _("in 'f': end of if: the value of the second branch is of type f64, not i32",                   \
    (hia_build_if(m.b, m.c), hia_build_else(m.b, m.x), hia_build_end_if(m.b, m.y)))                \
  _("in 'f': while: there is no loop without 'while' here", hia_build_while(m.b, m.c))             \
  _("in 'f': end of loop: there is no loop at its round here", hia_build_end_loop(m.b, &m.x, 1))   \
  _("in 'f': loop: 0 variables", hia_build_loop(m.b, &m.x, 0, &m.y))                               \
  _("in 'f': loop: no initial values", hia_build_loop(m.b, NULL, 1, &m.y))                         \
  _("in 'f': loop: no place for the variables", hia_build_loop(m.b, &m.x, 1, NULL))                \
  _("a loop before its 'while' must end first",                                                    \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_end_loop(m.b, &m.y, 1)))                        \
  _("in 'f': end of loop: 2 next values for 1 variables",                                          \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_while(m.b, m.c),                                \
     hia_build_end_loop(m.b, (value[]){m.x, m.x}, 2)))                                             \
  _("in 'f': end of loop: next value 1 is of type bool, not i32",                                  \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_while(m.b, m.c),                                \
     hia_build_end_loop(m.b, &m.c, 1)))                                                            \
  _("in 'f': while: there is no loop without 'while' here: an 'if' at its 'else' must end first",  \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_if(m.b, m.c), hia_build_else(m.b, m.x),         \
     hia_build_while(m.b, m.c)))                                                                   \
  _("in 'f': return: the result is of type f64, not i32", hia_build_return(m.b, m.y))              \
  _("in 'f': return: an 'if' is open still", (hia_build_if(m.b, m.c), hia_build_return(m.b, m.x))) \
  _("in 'f': begin of 'f': its body has begun already", hia_build_begin(m.b, m.f))                 \
  _("in 'h': add: operand 1 is a value of another builder",                                        \
    (hia_build_return(m.b, m.x), hia_build_add(m.b, (value){1}, m.x)))                             \
  _("begin of 'f': its body is there already",                                                     \
    (hia_build_return(m.b, m.x), hia_build_begin(m.b, m.f)))                                       \
  _("in 'f': parameter of 'g': there is no parameter 2", hia_build_param(m.b, m.g, 2))             \
  _("declare of 'g': 'g' is declared already", hia_build_declare(m.b, "g() -> i32"))               \
  _("declare of 'sqrt': 'sqrt' is the name of a built-in function",                                \
    hia_build_declare(m.b, "sqrt(x: f64) -> f64"))                                                 \
  _("declare: 'loop' is a keyword", hia_build_declare(m.b, "loop(x: f64) -> f64"))                 \
  _("declare: 'if' is a keyword", hia_build_declare_types(m.b, "if", NULL, 0, HIA_I32))            \
  _("declare: 'a b' is no name", hia_build_declare_types(m.b, "a b", NULL, 0, HIA_I32))            \
  _("declare: '' is no name", hia_build_declare_types(m.b, "", NULL, 0, HIA_I32))                  \
  _("declare: '_' is no name", hia_build_declare_types(m.b, "_", NULL, 0, HIA_I32))                \
  _("declare: no name", hia_build_declare_types(m.b, NULL, NULL, 0, HIA_I32))                      \
  _("declare of 'k': no types of parameters", hia_build_declare_types(m.b, "k", NULL, 1, HIA_I32)) \
  _("declare of 'k': the type of the result is no type",                                           \
    hia_build_declare_types(m.b, "k", NULL, 0, 77))                                                \
  _("declare of 'k': the type of parameter 1 is another builder's",                                \
    hia_build_declare_types(m.b, "k", &m.foreign_type, 1, 0))                                      \
  _("begin of 'k': it is the host's and has no body",                                              \
    hia_build_begin(m.b, hia_build_declare(m.b, "extern impure fn k() -> i32")))                   \
  _("declare: 'fn' is wanted at 'k() -> i32'", hia_build_declare(m.b, "extern k() -> i32"))        \
  _("declare: no signature", hia_build_declare(m.b, NULL))                                         \
  _("declare: a name is wanted at the end", hia_build_declare(m.b, " "))                           \
  _("declare of 'k': '(' is wanted at the end", hia_build_declare(m.b, "k"))                       \
  _("declare of 'k': ':' is wanted at ') -> i32'", hia_build_declare(m.b, "k(n) -> i32"))          \
  _("declare of 'k': a type is wanted at 'i33) -> i32'",                                           \
    hia_build_declare(m.b, "k(n: i33) -> i32"))                                                    \
  _("declare of 'k': '->' is wanted at the end", hia_build_declare(m.b, "k(n: i32)"))              \
  _("declare of 'k': nothing more is wanted at '= n'",                                             \
    hia_build_declare(m.b, "k(n: i32) -> i32 = n"))                                                \
  _("declare of 'k': two parameters are called 'n'",                                               \
    hia_build_declare(m.b, "k(n: i32, n: i32) -> i32"))                                            \
  _("declare of 'k': a tuple has two parts or more, not 1",                                        \
    hia_build_declare(m.b, "k(n: (i32)) -> i32"))                                                  \
  _("declare of 'k': ',' or ')' is wanted at '; i32)) -> i32'",                                    \
    hia_build_declare(m.b, "k(n: (i32; i32)) -> i32"))                                             \
  _("tuple type: part 2 is no type", hia_build_tuple_type(m.b, (hia_build_type[]){HIA_I32, 9}, 2)) \
  _("tuple type: no parts", hia_build_tuple_type(m.b, NULL, 2))                                    \
  _("name: no name", hia_build_name(m.b, m.x, NULL))                                               \
  _("name: the value is a value of another builder", hia_build_name(m.b, m.foreign, "x"))          \
  _("type of: the value is no value", hia_build_type_of(m.b, (value){0}))

static made make(world *w) {
  made m = {.b = w->b};
  cr_assert_eq(hia_builder_new(w->engine, NULL, &m.other, NULL), HIA_OK);
  m.foreign_fn = hia_build_declare(m.other, "f(x: i32) -> i32");
  m.foreign = hia_build_param(m.other, m.foreign_fn, 0);
  m.foreign_type = hia_build_tuple_type(m.other, (hia_build_type[]){HIA_I32, HIA_F64}, 2);
  m.g = hia_build_declare(m.b, "g(a: i32, b: f64) -> i32");
  m.h = hia_build_declare(m.b, "h(a: i32) -> i32");
  m.f = hia_build_declare(m.b, "f(x: i32, y: f64) -> i32");
  hia_build_begin(m.b, m.h);
  m.outer = hia_build_param(m.b, m.h, 0);
  hia_build_begin(m.b, m.f);
  m.x = hia_build_param(m.b, m.f, 0);
  m.y = hia_build_param(m.b, m.f, 1);
  m.c = hia_build_lt(m.b, m.x, m.x);
  hia_build_if(m.b, m.c);
  m.inner = hia_build_abs(m.b, m.x);
  hia_build_else(m.b, m.x);
  hia_build_end_if(m.b, m.x);
  cr_assert_eq(hia_builder_status(m.b), HIA_OK);
  return m;
}

/* A mistake has been made: it is told, from then on nothing happens, and it stays. */
static void expect_mistake(world *w, made m, const char *expected) {
  cr_assert_eq(hia_builder_status(m.b), HIA_ARGUMENT, "nothing wrong: %s", expected);
  const char *told = hia_error_message(hia_builder_error(m.b), 0);
  cr_assert(strstr(told, expected), "%s\ninstead of\n%s", told, expected);
  cr_assert_eq(hia_build_abs(m.b, m.x).id, 0u);
  cr_assert_eq(hia_build_declare(m.b, "late() -> i32").id, 0u);
  cr_assert_eq(hia_build_tuple_type(m.b, (hia_build_type[]){0, 1}, 2), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_if(m.b, m.c), HIA_ARGUMENT);
  value vars[1] = {m.x};
  cr_assert_eq(hia_build_loop(m.b, &m.x, 1, vars), HIA_ARGUMENT);
  cr_assert_eq(vars[0].id, 0u);
  cr_assert(strstr(hia_error_message(hia_builder_error(m.b), 0), expected));
  hia_error *error;
  cr_assert_eq(hia_builder_finish(m.b, &w->module, &error), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_message(error, 0), expected), "%s", hia_error_message(error, 0));
  hia_error_free(error);
  cr_assert(strstr(print(w), "fn f(x: i32, y: f64) -> i32 = {"), "%s", w->text);
  hia_builder_free(m.other);
}

Test(builder, mistakes_are_told){
#define TRY(message, ...)                                                                          \
  {                                                                                                \
    world w = open_world();                                                                        \
    made m = make(&w);                                                                             \
    (void)(__VA_ARGS__);                                                                           \
    expect_mistake(&w, m, message);                                                                \
    close_world(&w);                                                                               \
  }
    MISTAKES(TRY)
#undef TRY
}

Test(builder, nothing_begun_and_nothing_given) {
  world w = open_world();
  value x = hia_build_i32(w.b, 1), vars[1];
  cr_assert_eq(hia_build_abs(w.b, x).id, 0u);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "abs: no function has begun"));
  hia_error *error;
  hia_builder *b = (hia_builder *)1;
  hia_module *module = (hia_module *)1;
  cr_assert_eq(hia_builder_new(NULL, NULL, &b, &error), HIA_ARGUMENT);
  cr_assert_null(b);
  cr_assert(strstr(hia_error_message(error, 0), "no engine"));
  hia_error_free(error);
  cr_assert_eq(hia_builder_new(w.engine, NULL, NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_finish(NULL, &module, &error), HIA_ARGUMENT);
  cr_assert_null(module);
  hia_error_free(error);
  cr_assert_eq(hia_builder_print(NULL, collect, &w, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_print(w.b, NULL, NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_finish(w.b, NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_status(NULL), HIA_ARGUMENT);
  cr_assert_null(hia_builder_error(NULL));
  cr_assert_eq(hia_build_add(NULL, x, x).id, 0u);
  cr_assert_eq(hia_build_begin(NULL, (hia_build_fn){0}), HIA_ARGUMENT);
  cr_assert_eq(hia_build_loop(NULL, &x, 1, vars), HIA_ARGUMENT);
  cr_assert_eq(hia_build_type_of(NULL, x), HIA_BUILD_NO_TYPE);
  hia_builder_free(NULL);
  close_world(&w);
}

static bool refuse(void *user, const char *bytes, size_t len) {
  (void)user, (void)bytes, (void)len;
  return false;
}

Test(builder, what_is_not_complete_does_not_finish) {
  world w = open_world();
  hia_error *error;
  cr_assert_str_eq(print(&w), "");
  hia_build_fn f = hia_build_declare(w.b, "f(n: i32) -> i32");
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert(strstr(hia_error_message(error, 0), "'f' is declared, and not defined"));
  hia_error_free(error);
  expect_text(&w, "# fn f(n: i32) -> i32 is not defined\n");
  hia_build_begin(w.b, f);
  value n = hia_build_param(w.b, f, 0);
  hia_build_if(w.b, hia_build_eq(w.b, n, n));
  hia_build_name(w.b, hia_build_abs(w.b, n), "a");
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert(strstr(hia_error_message(error, 0), "the body of 'f' is not at its end"));
  hia_error_free(error);
  expect_text(&w, "# fn f(n: i32) -> i32 = {\n"
                  "#   let _: bool = if n == n then {\n"
                  "#     let a = abs(n);\n"
                  "# is not at its end\n");
  hia_build_else(w.b, n);
  value rest = hia_build_call(w.b, f, &n, 1);
  hia_build_return(w.b, hia_build_end_if(w.b, rest));
  finish(&w);
  cr_assert_eq(hia_builder_print(w.b, refuse, NULL, &error), HIA_IO);
  hia_error_free(error);

  /* Built further, and finished again: now with a function that can only call itself. */
  hia_build_fn g = hia_build_declare(w.b, "g() -> i32");
  hia_build_begin(w.b, g);
  hia_build_return(w.b, hia_build_call(w.b, g, NULL, 0));
  hia_module *second;
  cr_assert_eq(hia_builder_finish(w.b, &second, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_code(error, 0), "E0314");
  cr_assert_null(second);
  hia_error_free(error);
  cr_assert_eq(hia_builder_status(w.b), HIA_OK);
  cr_assert_str_eq(run(&w, "f", hia_value_i32(w.engine, 4)), "4"); /* the first one is as it was */
  close_world(&w);
}

/* ---- size ---- */

Test(builder, nests_as_deep_as_it_says) {
  for (int kind = 0; kind < 4; kind++) {
    world w = open_world();
    hia_build_fn f = hia_build_declare(w.b, "f(n: i32) -> i32");
    hia_build_begin(w.b, f);
    value n = hia_build_param(w.b, f, 0), x = n, one = hia_build_i32(w.b, 1);
    for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
      value less = hia_build_lt(w.b, n, hia_build_i32(w.b, i));
      if (kind == 0) { /* an `if` in each second branch: a chain */
        hia_build_if(w.b, less);
        hia_build_else(w.b, hia_build_i32(w.b, i));
      } else if (kind == 1) { /* in each first branch, with a `let` */
        hia_build_if(w.b, less);
        x = hia_build_name(w.b, hia_build_add(w.b, x, one), "x");
      } else { /* in the condition of a loop, or in the round */
        value var;
        hia_build_loop(w.b, &x, 1, &var);
        if (kind == 3) {
          hia_build_while(w.b, hia_build_lt(w.b, var, hia_build_add(w.b, n, one)));
          x = var;
        }
      }
    }
    for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
      if (kind == 1) hia_build_else(w.b, hia_build_add(w.b, x, one));
      if (kind < 2) x = hia_build_end_if(w.b, kind ? n : x);
      if (kind == 2) hia_build_while(w.b, hia_build_gt(w.b, x, n));
      if (kind >= 2) {
        x = hia_build_add(w.b, kind == 2 ? n : x, one);
        x = hia_build_end_loop(w.b, &x, 1);
      }
      if (kind == 1) x = hia_build_name(w.b, hia_build_add(w.b, n, one), "y");
    }
    hia_build_return(w.b, x);
    finish(&w);
    run(&w, "f", hia_value_i32(w.engine, 1));
    close_world(&w);
  }
}

Test(builder, nests_no_deeper) {
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(c: bool) -> bool");
  hia_build_begin(w.b, f);
  value c = hia_build_param(w.b, f, 0);
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) cr_assert_eq(hia_build_if(w.b, c), HIA_OK);
  cr_assert_eq(hia_build_if(w.b, c), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "nest more than 900 deep"));
  close_world(&w);
}

Test(builder, functions_within_functions_nest_on_their_own) {
  world w = open_world();
  char signature[64];
  value x = hia_build_i32(w.b, 1);
  hia_build_fn fns[2000];
  for (int i = 0; i < 2000; i++) {
    snprintf(signature, sizeof signature, "fn%d() -> i32", i);
    fns[i] = hia_build_declare(w.b, signature);
    hia_build_begin(w.b, fns[i]);
    hia_build_if(w.b, hia_build_bool(w.b, i & 1));
    hia_build_else(w.b, x);
  }
  for (int i = 2000; i-- > 0;) {
    value rest = i < 1999 ? hia_build_call(w.b, fns[i + 1], NULL, 0) : x;
    hia_build_return(w.b, hia_build_end_if(w.b, hia_build_add(w.b, rest, x)));
  }
  finish(&w);
  cr_assert_str_eq(run(&w, "fn0", NULL), "2");
  close_world(&w);
}

/* Linear in the number of values: this would take hours if it were not. */
Test(builder, a_hundred_thousand_values) {
  enum { N = 100000 };
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(n: i64) -> i64");
  hia_build_begin(w.b, f);
  value n = hia_build_param(w.b, f, 0), x = n;
  value *all = malloc(N * sizeof *all);
  for (int i = 0; i < N; i++) {
    x = hia_build_add(w.b, x, i % 3 ? n : hia_build_i64(w.b, i));
    if (i % 2) hia_build_name(w.b, x, "x");
    if (i % 7 == 0) hia_build_if(w.b, hia_build_lt(w.b, x, n));
    if (i % 7 == 0) hia_build_else(w.b, x);
    if (i % 7 == 0) x = hia_build_end_if(w.b, hia_build_sub(w.b, x, n));
    all[i] = x;
  }
  for (int i = 0; i < N; i += 2) x = hia_build_bxor(w.b, x, all[i]);
  free(all);
  hia_build_return(w.b, x);
  hia_build_fn g = hia_build_declare(w.b, "g(n: i64) -> i64");
  hia_build_begin(w.b, g);
  n = hia_build_param(w.b, g, 0);
  hia_build_return(w.b, hia_build_call(w.b, f, &n, 1));
  finish(&w);
  int64_t want = 2, sum = 2;
  int64_t *values = malloc(N * sizeof *values);
  for (int i = 0; i < N; i++) {
    want += i % 3 ? sum : i;
    if (i % 7 == 0 && want >= sum) want -= sum;
    values[i] = want;
  }
  for (int i = 0; i < N; i += 2) want ^= values[i];
  free(values);
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)want);
  cr_assert_str_eq(run(&w, "g", hia_value_i64(w.engine, 2)), text);
  close_world(&w);
}

Test(builder, types_have_a_thousand_scalars_at_most) {
  world w = open_world();
  hia_build_type deep = HIA_I32;
  for (int i = 0; i < 999; i++) {
    hia_build_type parts[2] = {deep, HIA_F64};
    deep = hia_build_tuple_type(w.b, parts, 2);
  }
  hia_build_fn f = hia_build_declare_types(w.b, "f", &deep, 1, deep);
  hia_build_begin(w.b, f);
  value x = hia_build_param(w.b, f, 0);
  hia_build_return(w.b, x);
  finish(&w);
  hia_build_type parts[2] = {deep, HIA_F64};
  cr_assert_eq(hia_build_tuple_type(w.b, parts, 2), HIA_BUILD_NO_TYPE);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "more than 1000 scalars"));
  close_world(&w);

  w = open_world();
  static char text[20000] = "f(x: ";
  size_t len = strlen(text);
  memset(text + len, '(', 9000);
  hia_build_declare(w.b, text);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "more than 1000 scalars"));
  close_world(&w);

  w = open_world();
  hia_build_type types[1001] = {0};
  cr_assert_eq(hia_build_declare_types(w.b, "f", types, 1001, HIA_I32).id, 0u);
  close_world(&w);
}

/* ---- anything at all ----
 *
 * Random calls, mostly with values that fit: what is built without a mistake finishes, unless some
 * function is not complete or cannot end. */

enum { POOL = 64, OPEN = 16 };
typedef struct caller {
  world w;
  uint64_t state;
  value pool[POOL]; /* made last, of those whose blocks are open */
  uint32_t n_pool;
  struct {
    int kind; /* 0 a body, 1 an `if`, 2 its `else`, 3 a loop, 4 its round */
    uint32_t n_pool, n_vars;
    value vars[2];
    hia_build_type type;
  } open[OPEN];
  uint32_t n_open;
  hia_build_fn fns[4];
  hia_build_type result[4];
  uint32_t n_begun;
} caller;

static uint32_t below(caller *c, uint32_t n) { return (uint32_t)(next_random(&c->state) % n); }

static value keep(caller *c, value v) {
  if (c->n_pool == POOL) c->n_pool--;
  return c->pool[c->n_pool++] = v;
}

static value any(caller *c, hia_build_type type) {
  if (below(c, 2000) == 0) return (value){next_random(&c->state)};
  if (below(c, 2000) == 0) return (value){c->pool[0].id + below(c, 400)};
  for (int i = 0; i < 8 && c->n_pool; i++) {
    value v = c->pool[below(c, c->n_pool)];
    if (hia_build_type_of(c->w.b, v) == type) return v;
  }
  switch (type) {
  case HIA_BOOL: return hia_build_bool(c->w.b, below(c, 2));
  case HIA_I32: return hia_build_i32(c->w.b, (int32_t)next_random(&c->state));
  case HIA_I64: return hia_build_i64(c->w.b, (int64_t)next_random(&c->state));
  case HIA_F32: return hia_build_f32(c->w.b, (float)below(c, 100) / 8 - 5);
  case HIA_F64: return hia_build_f64(c->w.b, (double)below(c, 100) / 8 - 5);
  default: return hia_build_fail(c->w.b, hia_build_i32(c->w.b, 1), type);
  }
}

static hia_build_type any_type(caller *c) {
  hia_build_type parts[2] = {below(c, 5), below(c, 5)};
  return below(c, 4) ? below(c, 5) : hia_build_tuple_type(c->w.b, parts, 2);
}

static void push_open(caller *c, int kind) {
  c->open[c->n_open].kind = kind;
  c->open[c->n_open++].n_pool = c->n_pool;
}

static void close_one(caller *c) {
  uint32_t at = c->n_open - 1;
  hia_builder *b = c->w.b;
  value next[2];
  switch (c->open[at].kind) {
  case 0:
    hia_build_return(b, any(c, c->open[at].type));
    c->n_open--;
    c->n_pool = c->open[at].n_pool;
    break;
  case 1:
    next[0] = any(c, c->open[at].type = any_type(c));
    hia_build_else(b, next[0]);
    c->open[at].kind = 2;
    c->n_pool = c->open[at].n_pool;
    break;
  case 3:
    hia_build_while(b, any(c, HIA_BOOL));
    c->open[at].kind = 4;
    c->n_pool = c->open[at].n_pool;
    for (uint32_t i = 0; i < c->open[at].n_vars; i++) keep(c, c->open[at].vars[i]);
    break;
  default:
    for (uint32_t i = 0; i < 2; i++)
      if (c->open[at].kind == 4 && i < c->open[at].n_vars)
        next[i] = any(c, hia_build_type_of(b, c->open[at].vars[i]));
    next[0] = c->open[at].kind == 2 ? hia_build_end_if(b, any(c, c->open[at].type))
                                    : hia_build_end_loop(b, next, c->open[at].n_vars);
    c->n_open--;
    c->n_pool = c->open[at].n_pool;
    keep(c, next[0]);
  }
}

static void any_call(caller *c) {
  hia_builder *b = c->w.b;
  static const int n_ins[] = {
#define HIA_OPCODE(number, NAME, name, n, on, doc) [number] = n,
#include <hiaton/ops.def>
  };
  value in[3];
  uint32_t what = below(c, 100), op = 1 + below(c, 37);
  if (what < 40) {
    hia_build_type type = op >= 22 && op <= 23   ? HIA_I32 + below(c, 2)
                          : op >= 18 && op <= 21 ? below(c, 3)
                          : op >= 24             ? HIA_F32 + below(c, 2)
                                                 : HIA_I32 + below(c, 4);
    for (int i = 0; i < n_ins[op]; i++) in[i] = any(c, op == 17 && i == 0 ? HIA_BOOL : type);
    keep(c, hia_build_op(b, (hia_opcode)op, in, (size_t)n_ins[op]));
  } else if (what < 45) {
    keep(c, hia_build_convert(b, (hia_dtype)below(c, 5), any(c, below(c, 5))));
  } else if (what < 55) {
    for (int i = 0; i < 2; i++) in[i] = any(c, any_type(c));
    keep(c, hia_build_tuple(b, in, 2));
  } else if (what < 60) {
    hia_build_type parts[2] = {below(c, 5), below(c, 5)};
    keep(c, hia_build_part(b, any(c, hia_build_tuple_type(b, parts, 2)), below(c, 2)));
  } else if (what < 65) {
    in[0] = any(c, HIA_I32);
    keep(c, hia_build_call(b, c->fns[below(c, 4)], in, 1));
  } else if (what < 68) {
    keep(c, hia_build_fail(b, any(c, HIA_I64), any_type(c)));
  } else if (what < 72) {
    static const char *const names[] = {"x", "x_2", "v1", "f0", "", "loop", "min", "1\n;"};
    if (c->n_pool) hia_build_name(b, c->pool[below(c, c->n_pool)], names[below(c, 8)]);
  } else if (what < 78 && c->n_open < OPEN) {
    hia_build_if(b, any(c, HIA_BOOL));
    push_open(c, 1);
  } else if (what < 84 && c->n_open < OPEN) {
    uint32_t n = 1 + below(c, 2);
    for (uint32_t i = 0; i < n; i++) in[i] = any(c, any_type(c));
    push_open(c, 3);
    c->open[c->n_open - 1].n_vars = n;
    hia_build_loop(b, in, n, c->open[c->n_open - 1].vars);
    for (uint32_t i = 0; i < n; i++) keep(c, c->open[c->n_open - 1].vars[i]);
  } else if (what < 86 && c->n_begun < 4 && c->n_open < OPEN) { /* another function inside */
    push_open(c, 0);
    c->open[c->n_open - 1].type = c->result[c->n_begun];
    hia_build_begin(b, c->fns[c->n_begun]);
    c->n_pool = 0;
    keep(c, hia_build_param(b, c->fns[c->n_begun++], 0));
  } else if (c->n_open) {
    close_one(c);
  }
}

Test(builder, what_is_built_without_a_mistake_is_a_program) {
  uint32_t n_finished = 0, n_mistakes = 0, n_endless = 0;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  for (uint64_t seed = 1; seed <= 3000; seed++) {
    static caller c;
    c = (caller){.state = seed, .w.engine = engine};
    cr_assert_eq(hia_builder_new(engine, NULL, &c.w.b, NULL), HIA_OK);
    for (uint32_t i = 0; i < 4; i++) {
      hia_build_type param = HIA_I32;
      char name[8];
      snprintf(name, sizeof name, "f%u", i);
      c.result[i] = any_type(&c);
      c.fns[i] = hia_build_declare_types(c.w.b, name, &param, 1, c.result[i]);
    }
    uint32_t n = 20 + below(&c, 200);
    while (c.n_begun < 4 || c.n_open) {
      if (!c.n_open) {
        push_open(&c, 0);
        c.open[0].type = c.result[c.n_begun];
        hia_build_begin(c.w.b, c.fns[c.n_begun]);
        keep(&c, hia_build_param(c.w.b, c.fns[c.n_begun++], 0));
      }
      if (n > 0)
        n--, any_call(&c);
      else
        close_one(&c);
    }
    hia_error *error;
    hia_status status = hia_builder_finish(c.w.b, &c.w.module, &error);
    if (status == HIA_OK)
      n_finished++;
    else if (status == HIA_ARGUMENT)
      n_mistakes++;
    else if (status == HIA_REJECTED && strcmp(hia_error_code(error, 0), "E0314") == 0)
      n_endless++;
    else
      cr_assert_fail("seed %llu: %s\n%s", (unsigned long long)seed, hia_error_text(error),
                     print(&c.w));
    hia_error_free(error);
    free(c.w.text);
    hia_module_free(c.w.module);
    hia_builder_free(c.w.b);
  }
  hia_engine_free(engine);
  cr_assert(n_finished > 500 && n_mistakes > 100, "%u finished, %u mistakes, %u endless",
            n_finished, n_mistakes, n_endless);
}

/* ---- memory ---- */

static hia_status attempt(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = allocator;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine;
  hia_builder *b = NULL;
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(&options, &engine, &error);
  if (status == HIA_OK) {
    hia_error_free(error);
    status = hia_builder_new(engine, "built.hia", &b, &error);
  }
  if (status == HIA_OK) {
    build_fact(b);
    hia_build_fn f = hia_build_declare(b, "f(p: (i64, f32)) -> i64");
    hia_build_begin(b, f);
    value x = hia_build_part(b, hia_build_param(b, f, 0), 0), var;
    hia_build_loop(b, &x, 1, &var);
    for (int i = 0; i < 200; i++) /* the draft grows several times */
      x = hia_build_name(b, hia_build_add(b, x, var), i % 2 ? "x" : "sum");
    hia_build_while(b, hia_build_lt(b, var, hia_build_i64(b, 100)));
    x = hia_build_add(b, var, hia_build_i64(b, 10));
    hia_build_return(b, hia_build_end_loop(b, &x, 1));
    status = hia_builder_status(b);
    cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s", hia_error_text(hia_builder_error(b)));
    world w = {0};
    hia_error_free(error);
    hia_status printed = hia_builder_print(b, collect, &w, &error);
    cr_assert(printed == status || printed == HIA_MEMORY);
    free(w.text);
    hia_error_free(error);
    hia_status finished = hia_builder_finish(b, &module, &error);
    cr_assert(finished == HIA_MEMORY || (finished == HIA_OK && status == HIA_OK), "%s",
              hia_error_text(error));
    status = finished != HIA_OK ? finished : printed;
  }
  hia_error_free(error);
  hia_module_free(module);
  hia_builder_free(b);
  hia_engine_free(engine);
  return status;
}

Test(builder, every_allocation_may_fail) {
  size_t n = fail_each_allocation(attempt);
  cr_assert(n > 20, "%zu allocations", n);
}
