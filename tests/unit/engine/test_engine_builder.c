/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: its text, and that the built programs run. Mistakes are in
 * test_engine_builder_wrong.c, large programs in test_engine_builder_size.c. */
#include "tests/unit/helpers/builder.h"
#include "tests/unit/helpers/program.h"

#include <math.h>

/* ---- its text ---- */

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
    /* A call with a name can be a tail call. */
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

static void register_host(world *w, int *rolls) {
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern fn half(x: f64) -> f64";
  host.function = (void (*)(void))halve;
  cr_assert_eq(hia_engine_register(w->engine, &host, NULL), HIA_OK);
  host.declaration = "extern impure fn roll(sides: i32) -> i32";
  host.function = (void (*)(void))count_rolls;
  host.user = rolls;
  host.takes_user = true;
  cr_assert_eq(hia_engine_register(w->engine, &host, NULL), HIA_OK);
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
  /* The program can be finished after the host has registered them. */
  hia_error *error;
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_code(error, 0), "E0601");
  hia_error_free(error);
  int rolls = 0;
  register_host(&w, &rolls);
  finish(&w);
  cr_assert_str_eq(run(&w, "external", hia_value_f64(w.engine, 5)), "8.5");
  cr_assert_eq(rolls, 2);
  close_world(&w);
}

/* The declarations of the other test, by types instead of text, and some with tuples. */
Test(builder, functions_of_the_host_by_their_types) {
  world w = open_world();
  hia_build_type i32 = HIA_I32, f64 = HIA_F64, pair[2] = {HIA_I32, HIA_F64};
  hia_build_type of_pair = hia_build_tuple_type(w.b, pair, 2);
  hia_build_fn roll = hia_build_declare_extern(w.b, "roll", &i32, 1, HIA_I32, true),
               half = hia_build_declare_extern(w.b, "half", &f64, 1, HIA_F64, false);
  hia_build_name(w.b, hia_build_param(w.b, half, 0), "x");
  hia_build_fn f = hia_build_declare_types(w.b, "f", &f64, 1, HIA_F64);
  hia_build_begin(w.b, f);
  value six = hia_build_i32(w.b, 6), x = hia_build_param(w.b, f, 0);
  hia_build_call(w.b, roll, &six, 1);
  hia_build_return(w.b, hia_build_call(w.b, half, &x, 1));
  const char *text = "extern impure fn roll(v1: i32) -> i32\n"
                     "\n"
                     "extern fn half(x: f64) -> f64\n"
                     "\n"
                     "fn f(v1: f64) -> f64 = {\n"
                     "  let _ = roll(6);\n"
                     "  half(v1)\n"
                     "}\n";
  expect_text(&w, text);
  int rolls = 0;
  register_host(&w, &rolls);
  finish(&w);
  cr_assert_str_eq(run(&w, "f", hia_value_f64(w.engine, 5)), "2.5");
  cr_assert_eq(rolls, 1);

  /* Finishing reports functions that the host has registered with other types, or not at all. */
  hia_error *error;
  hia_module *other = NULL;
  hia_builder *b;
  cr_assert_eq(hia_builder_new(w.engine, "built.hia", &b, NULL), HIA_OK);
  hia_build_declare_extern(b, "half", &f64, 1, HIA_F64, true);
  cr_assert_eq(hia_builder_finish(b, &other, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_code(error, 0), "E0602");
  hia_error_free(error);
  hia_builder_free(b);
  hia_build_declare_extern(w.b, "swap", &of_pair, 1, of_pair, false);
  cr_assert_eq(hia_builder_finish(w.b, &other, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_code(error, 0), "E0601");
  cr_assert_eq(hia_error_line(error, 0), 10);
  hia_error_free(error);
  cr_assert_null(other);
  cr_assert(strstr(print(&w), "\nextern fn swap(v1: (i32, f64)) -> (i32, f64)\n"), "%s",
            w.text.data);
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

/* Constants that could go wrong. */
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
enum { N_SPECIAL = sizeof special / sizeof *special };

static hia_value *three(hia_engine *engine, hia_dtype dtype) {
  switch (dtype) {
  case HIA_BOOL: return hia_value_bool(engine, false);
  case HIA_I32: return hia_value_i32(engine, 3);
  case HIA_I64: return hia_value_i64(engine, 3);
  case HIA_F32: return hia_value_f32(engine, 3);
  default: return hia_value_f64(engine, 3);
  }
}

/* Calls c0(3), c1(3), ...: each returns a tuple of `parts` constants, all of them e[i]. */
static void expect_constants(const world *w, const exact *e, size_t n, size_t parts) {
  for (size_t i = 0; i < n; i++) {
    char name[32];
    hia_function *function;
    hia_value *result, *part, *arg = three(w->engine, e[i].dtype);
    snprintf(name, sizeof name, "c%zu", i);
    cr_assert_eq(hia_module_function(w->module, name, &function, NULL), HIA_OK);
    cr_assert_eq(hia_call(function, &arg, 1, &result, NULL), HIA_OK);
    cr_assert_eq(hia_value_len(result), parts);
    for (size_t k = 0; k < parts; k++) {
      expect_exact(part = hia_value_part(result, k), e[i]);
      hia_value_free(part);
    }
    hia_value_free(arg);
    hia_value_free(result);
  }
}

/* A constant is returned exactly, from a tuple and as an operand. */
Test(builder, constants_are_exact) {
  enum { N = 500 };
  world w = open_world();
  exact e[N];
  uint64_t state = 1;
  char name[32];
  for (size_t i = 0; i < N; i++) {
    if (i < N_SPECIAL) {
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
    /* The second part: the constant with another operand, which decides its type. */
    value parts[2] = {c, hia_build_select(w.b, hia_build_bool(w.b, true), c, p)};
    hia_build_return(w.b, hia_build_tuple(w.b, parts, 2));
  }
  finish(&w);
  expect_constants(&w, e, N, 2);
  close_world(&w);
}

enum { CONTEXTS = 9 };

/* A function with a constant in every place where there can be one. */
static void build_contexts(hia_builder *b, size_t i, exact e) {
  hia_build_type type = e.dtype, types[CONTEXTS];
  char name[32];
  for (size_t k = 0; k < CONTEXTS; k++) types[k] = type;
  snprintf(name, sizeof name, "same%zu", i);
  hia_build_fn same = hia_build_declare_types(b, name, &type, 1, type);
  hia_build_begin(b, same);
  hia_build_return(b, hia_build_param(b, same, 0));
  snprintf(name, sizeof name, "bare%zu", i);
  hia_build_fn bare = hia_build_declare_types(b, name, NULL, 0, type);
  hia_build_begin(b, bare);
  hia_build_return(b, build_exact(b, e));
  snprintf(name, sizeof name, "c%zu", i);
  hia_build_fn fn =
      hia_build_declare_types(b, name, &type, 1, hia_build_tuple_type(b, types, CONTEXTS));
  hia_build_begin(b, fn);
  value c = build_exact(b, e), p = hia_build_param(b, fn, 0), parts[CONTEXTS], var[2];
  value two[2] = {c, p}, init[2] = {p, hia_build_bool(b, true)};
  value next[2] = {c, hia_build_bool(b, false)};
  value yes = hia_build_eq(b, p, p), no = hia_build_ne(b, p, p);
  parts[0] = c;
  parts[1] = hia_build_call(b, bare, NULL, 0);
  parts[2] = hia_build_call(b, same, &c, 1);
  parts[3] = hia_build_select(b, yes, c, p);
  parts[4] = hia_build_select(b, no, c, c);
  hia_build_if(b, no);
  hia_build_else(b, p);
  parts[5] = hia_build_end_if(b, c);
  hia_build_loop(b, &c, 1, var);
  hia_build_while(b, no);
  parts[6] = hia_build_end_loop(b, &p, 1);
  hia_build_loop(b, init, 2, var); /* one round */
  hia_build_while(b, var[1]);
  parts[7] = hia_build_part(b, hia_build_end_loop(b, next, 2), 0);
  parts[8] = hia_build_part(b, hia_build_tuple(b, two, 2), 0);
  hia_build_return(b, hia_build_tuple(b, parts, CONTEXTS));
}

Test(builder, constants_are_exact_wherever_they_stand) {
  for (int native = 0; native < 1 + has_native(); native++) {
    world w = open_world_of(native ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP);
    for (size_t i = 0; i < N_SPECIAL; i++) build_contexts(w.b, i, special[i]);
    finish(&w);
    expect_constants(&w, special, N_SPECIAL, CONTEXTS);
    close_world(&w);
  }
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
  hia_build_fail(w.b, n, HIA_I32); /* its value is not used, but it fails all the same */
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
