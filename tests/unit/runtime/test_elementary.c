/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/base/elementary.h: errors, special points, and the same bits in every form of the
 * definitions. test_lower_elementary.c compares native code. */
#include "bench/lanes.h"
#include "bench/ulp.h"
#include <criterion/criterion.h>

/* The definitions without the instruction for fused multiply-add, which call libm's. */
#define HIA_LANE_BYTES           0
#define HIA_C_NAME(name, dtype)  HIA_C_NAME_(name, dtype)
#define HIA_C_NAME_(name, dtype) plain_##name##_##dtype
#include "runtime/base/elementary_c.h"

static double sigmoid(double x) { return hia_sigmoid_exact_f32(x); }
static long double sigmoidl(long double x) { return hia_sigmoid_exact_f64(x); }

/* Functions of one operand ignore the second. */
typedef struct function {
  const char *name;
  unsigned n_args;
  float (*f32)(float, float);
  double (*f64)(double, double);
  float (*plain_f32)(float, float);
  double (*plain_f64)(double, double);
  double (*exact_f32)(double, double);
  long double (*exact_f64)(long double, long double);
} function;
#define FORM(form, type, name, call)                                                               \
  static type form##_##name(type x, type y) {                                                      \
    (void)y;                                                                                       \
    return call;                                                                                   \
  }
#define FORMS_1(name)                                                                              \
  FORM(f32, float, name, hiaR_##name##_f32(x))                                                     \
  FORM(f64, double, name, hiaR_##name##_f64(x))                                                    \
  FORM(plain_f32, float, name, plain_##name##_f32(x))                                              \
  FORM(plain_f64, double, name, plain_##name##_f64(x))                                             \
  FORM(exact_f32, double, name, name(x))                                                           \
  FORM(exact_f64, long double, name, name##l(x))
#define FORMS_2(name)                                                                              \
  FORM(f32, float, name, hiaR_##name##_f32(x, y))                                                  \
  FORM(f64, double, name, hiaR_##name##_f64(x, y))                                                 \
  FORM(plain_f32, float, name, plain_##name##_f32(x, y))                                           \
  FORM(plain_f64, double, name, plain_##name##_f64(x, y))                                          \
  FORM(exact_f32, double, name, name(x, y))                                                        \
  FORM(exact_f64, long double, name, name##l(x, y))
HIA_ELEMENTARY_LIST_1(FORMS_1)
HIA_ELEMENTARY_LIST_2(FORMS_2)
#define ROW(name, n)                                                                               \
  {                                                                                                \
      #name,                                                                                       \
      n,                                                                                           \
      f32_##name,                                                                                  \
      f64_##name,                                                                                  \
      plain_f32_##name,                                                                            \
      plain_f64_##name,                                                                            \
      exact_f32_##name,                                                                            \
      exact_f64_##name},
#define ROW_1(name) ROW(name, 1)
#define ROW_2(name) ROW(name, 2)
static const function functions[] = {HIA_ELEMENTARY_LIST_1(ROW_1) HIA_ELEMENTARY_LIST_2(ROW_2)};
#define EACH_FUNCTION(f)                                                                           \
  for (const function *f = functions; f < functions + HIA_LEN(functions); f++)

/* By function, the error that docs/elementary.md states, and a hash of the results for `sample`. */
static const struct {
  const char *name;
  double f32, f64;
  uint64_t hash_f32, hash_f64;
} known[] = {
#include "tests/unit/helpers/elementary.def"
};

static size_t known_of(const char *name) {
  size_t i = 0;
  while (i < HIA_LEN(known) && strcmp(known[i].name, name) != 0) i++;
  cr_assert_lt(i, HIA_LEN(known), "%s has no row in elementary.def", name);
  return i;
}

/* ---- inputs ---- */

enum { N_F32 = 1 << 20, N_F64 = 1 << 16, APART = 4099 };
static float *in_f32, *out_f32, *lanes_f32, *second_f32;
static double *in_f64, *out_f64, *lanes_f64, *second_f64;

/* Where functions change: ends, thresholds, and the floats around them. */
static const double edges[] = {
    0,          0x1p-149,  0x1p-126,   0x1p-1074,  0x1p-1022,  0x1p-25,    0x1p-24,    0x1p-54,
    0x1p-53,    0.25,      0.5,        0.34657359, 0.69314718, 1,          1.03972077, 1.41421356,
    0.70710678, 2,         9.01,       17.32868,   18.7,       37.4,       87.33654,   88.722839,
    89,         103.97208, 104,        126,        127,        128,        149,        150,
    151,        708.39641, 709.782712, 709.782713, 745.13321,  745.133220, 1021,       1022,
    1023,       1024,      1074,       1075,       0x1p24,     0x1p60,     0x1p100,    0x1p127,
    0x1p1023,   1e10,      1e300,      INFINITY};

static void add_edges_f32(size_t *n) {
  for (size_t i = 0; i < HIA_LEN(edges); i++)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int shift = -4; shift <= 4; shift++) {
        uint32_t bits;
        float x = (float)edges[i];
        memcpy(&bits, &x, sizeof bits);
        bits += (uint32_t)shift;
        memcpy(&x, &bits, sizeof x);
        in_f32[(*n)++] = sign < 0 ? -x : x;
      }
}
static void add_edges_f64(size_t *n) {
  for (size_t i = 0; i < HIA_LEN(edges); i++)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int shift = -4; shift <= 4; shift++) {
        uint64_t bits;
        double x = edges[i];
        memcpy(&bits, &x, sizeof bits);
        bits += (uint64_t)(int64_t)shift;
        memcpy(&x, &bits, sizeof x);
        in_f64[(*n)++] = sign < 0 ? -x : x;
      }
}

/* At f32 every 4099th float; at f64 a sample of all exponents. The second operands are others of
 * these, or near 1. */
static void make_inputs(void) {
  in_f32 = calloc(4 * N_F32, sizeof *in_f32);
  out_f32 = in_f32 + N_F32;
  lanes_f32 = out_f32 + N_F32;
  second_f32 = lanes_f32 + N_F32;
  in_f64 = calloc(4 * N_F64, sizeof *in_f64);
  out_f64 = in_f64 + N_F64;
  lanes_f64 = out_f64 + N_F64;
  second_f64 = lanes_f64 + N_F64;
  size_t n = 0;
  add_edges_f32(&n);
  for (uint32_t bits = 0; n < N_F32; n++, bits += APART) memcpy(&in_f32[n], &bits, sizeof bits);
  n = 0;
  add_edges_f64(&n);
  uint64_t seed = 1;
  for (; n < N_F64; n++) in_f64[n] = hia_sample(&seed);
  for (size_t i = 0; i < N_F32; i++)
    second_f32[i] = i % 2 ? in_f32[i * 40503 % N_F32] : (float)hia_sample(&seed);
  for (size_t i = 0; i < N_F64; i++)
    second_f64[i] = i % 2 ? in_f64[i * 40503 % N_F64] : hia_sample(&seed);
}

static bool same_f32(float a, float b) {
  return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}
static bool same_f64(double a, double b) {
  return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

/* ---- tests ---- */

Test(elementary, errors_are_as_documented) {
  make_inputs();
  EACH_FUNCTION(f) {
    size_t row = known_of(f->name);
    double worst = 0, x = 0;
    for (size_t i = 0; i < N_F32; i += HIA_TEST_SHARE) {
      double error = hia_ulp_f32(f->f32(in_f32[i], second_f32[i]),
                                 f->exact_f32((double)in_f32[i], (double)second_f32[i]));
      if (error > worst) worst = error, x = (double)in_f32[i];
    }
    cr_expect_leq(worst, known[row].f32, "%s f32: %.3f ulp at %a", f->name, worst, x);
    cr_expect_gt(worst, 0.45, "%s f32: only %.3f ulp", f->name, worst);
    worst = 0;
    for (size_t i = 0; i < N_F64; i += HIA_TEST_SHARE) {
      double error = hia_ulp_f64(f->f64(in_f64[i], second_f64[i]),
                                 f->exact_f64((long double)in_f64[i], (long double)second_f64[i]));
      if (error > worst) worst = error, x = in_f64[i];
    }
    cr_expect_leq(worst, known[row].f64, "%s f64: %.3f ulp at %a", f->name, worst, x);
    cr_expect_gt(worst, 0.45, "%s f64: only %.3f ulp", f->name, worst);
  }
}

/* Annex F of the C standard. */
Test(elementary, special_points) {
  static const struct {
    const char *name;
    double x, y;
  } rows[] = {{"exp", 0, 1},
              {"exp", -0.0, 1},
              {"exp", INFINITY, INFINITY},
              {"exp", -INFINITY, 0},
              {"exp", NAN, NAN},
              {"exp", 1e30, INFINITY},
              {"exp", -1e30, 0},
              {"exp2", 0, 1},
              {"exp2", -0.0, 1},
              {"exp2", 10, 1024},
              {"exp2", -126, 0x1p-126},
              {"exp2", INFINITY, INFINITY},
              {"exp2", -INFINITY, 0},
              {"exp2", NAN, NAN},
              {"expm1", 0, 0},
              {"expm1", -0.0, -0.0},
              {"expm1", INFINITY, INFINITY},
              {"expm1", -INFINITY, -1},
              {"expm1", NAN, NAN},
              {"expm1", 0x1p-149, 0x1p-149},
              {"expm1", -0x1p-149, -0x1p-149},
              {"log", 1, 0},
              {"log", 0, -INFINITY},
              {"log", -0.0, -INFINITY},
              {"log", -1, NAN},
              {"log", -INFINITY, NAN},
              {"log", INFINITY, INFINITY},
              {"log", NAN, NAN},
              {"log2", 1, 0},
              {"log2", 1024, 10},
              {"log2", 0x1p-149, -149},
              {"log2", 0, -INFINITY},
              {"log2", -0.0, -INFINITY},
              {"log2", -1, NAN},
              {"log2", INFINITY, INFINITY},
              {"log2", NAN, NAN},
              {"log10", 1, 0},
              {"log10", 1000, 3},
              {"log10", 0, -INFINITY},
              {"log10", -0.0, -INFINITY},
              {"log10", -1, NAN},
              {"log10", INFINITY, INFINITY},
              {"log10", NAN, NAN},
              {"log1p", 0, 0},
              {"log1p", -0.0, -0.0},
              {"log1p", -1, -INFINITY},
              {"log1p", -2, NAN},
              {"log1p", -INFINITY, NAN},
              {"log1p", INFINITY, INFINITY},
              {"log1p", NAN, NAN},
              {"log1p", 0x1p-149, 0x1p-149},
              {"tanh", 0, 0},
              {"tanh", -0.0, -0.0},
              {"tanh", INFINITY, 1},
              {"tanh", -INFINITY, -1},
              {"tanh", NAN, NAN},
              {"tanh", 0x1p-149, 0x1p-149},
              {"tanh", -0x1p-149, -0x1p-149},
              {"sigmoid", 0, 0.5},
              {"sigmoid", -0.0, 0.5},
              {"sigmoid", INFINITY, 1},
              {"sigmoid", -INFINITY, 0},
              {"sigmoid", 1e30, 1},
              {"sigmoid", -1e30, 0},
              {"sigmoid", NAN, NAN},
              {"sin", 0, 0},
              {"sin", -0.0, -0.0},
              {"sin", NAN, NAN},
              {"sin", 0x1p-149, 0x1p-149},
              {"sin", -0x1p-149, -0x1p-149},
              {"sin", 0x1.8p-126, 0x1.8p-126},
              {"tan", 0, 0},
              {"tan", -0.0, -0.0},
              {"tan", NAN, NAN},
              {"tan", 0x1p-149, 0x1p-149},
              {"tan", -0x1p-149, -0x1p-149},
              {"tan", 0x1.8p-126, 0x1.8p-126},
              {"asin", 0, 0},
              {"asin", -0.0, -0.0},
              {"asin", NAN, NAN},
              {"asin", 0x1p-149, 0x1p-149},
              {"asin", -0x1p-149, -0x1p-149},
              {"asin", 0x1.8p-126, 0x1.8p-126},
              {"atan", 0, 0},
              {"atan", -0.0, -0.0},
              {"atan", NAN, NAN},
              {"atan", 0x1p-149, 0x1p-149},
              {"atan", -0x1p-149, -0x1p-149},
              {"atan", 0x1.8p-126, 0x1.8p-126},
              {"sinh", 0, 0},
              {"sinh", -0.0, -0.0},
              {"sinh", NAN, NAN},
              {"sinh", 0x1p-149, 0x1p-149},
              {"sinh", -0x1p-149, -0x1p-149},
              {"sinh", 0x1.8p-126, 0x1.8p-126},
              {"sin", INFINITY, NAN},
              {"sin", -INFINITY, NAN},
              {"cos", INFINITY, NAN},
              {"cos", -INFINITY, NAN},
              {"tan", INFINITY, NAN},
              {"tan", -INFINITY, NAN},
              {"cos", 0, 1},
              {"cos", -0.0, 1},
              {"cos", NAN, NAN},
              {"cos", 0x1p-149, 1},
              {"asin", 1.5, NAN},
              {"asin", -2, NAN},
              {"asin", INFINITY, NAN},
              {"asin", -INFINITY, NAN},
              {"acos", 1, 0},
              {"acos", 1.5, NAN},
              {"acos", -2, NAN},
              {"acos", INFINITY, NAN},
              {"acos", -INFINITY, NAN},
              {"acos", NAN, NAN},
              {"asin", 1, 0x1.921fb54442d18p0},
              {"asin", -1, -0x1.921fb54442d18p0},
              {"acos", -1, 0x1.921fb54442d18p1},
              {"acos", 0, 0x1.921fb54442d18p0},
              {"acos", -0.0, 0x1.921fb54442d18p0},
              {"atan", INFINITY, 0x1.921fb54442d18p0},
              {"atan", -INFINITY, -0x1.921fb54442d18p0},
              {"atan", 1, 0x1.921fb54442d18p-1},
              {"sinh", INFINITY, INFINITY},
              {"sinh", -INFINITY, -INFINITY},
              {"sinh", 1e30, INFINITY},
              {"sinh", -1e30, -INFINITY},
              {"cosh", 0, 1},
              {"cosh", -0.0, 1},
              {"cosh", INFINITY, INFINITY},
              {"cosh", -INFINITY, INFINITY},
              {"cosh", NAN, NAN},
              {"cosh", 1e30, INFINITY},
              {"cosh", 0x1p-149, 1}};
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    EACH_FUNCTION(f) {
      if (strcmp(f->name, rows[i].name) != 0) continue;
      double y = f->f64(rows[i].x, 0);
      float y32 = f->f32((float)rows[i].x, 0);
      cr_expect(same_f64(y, rows[i].y), "%s(%a) = %a", f->name, rows[i].x, y);
      cr_expect(same_f32(y32, (float)rows[i].y), "%s(%a) = %a at f32", f->name, rows[i].x,
                (double)y32);
    }
  }
}

Test(elementary, special_points_of_two_operands) {
  static const struct {
    const char *name;
    double x, y, z;
  } rows[] = {{"pow", 0, -3, INFINITY},
              {"pow", -0.0, -3, -INFINITY},
              {"pow", 0, -1, INFINITY},
              {"pow", -0.0, -1, -INFINITY},
              {"pow", 0, -2, INFINITY},
              {"pow", -0.0, -2, INFINITY},
              {"pow", 0, -2.5, INFINITY},
              {"pow", -0.0, -2.5, INFINITY},
              {"pow", 0, -0x1p100, INFINITY},
              {"pow", -0.0, -0x1p100, INFINITY},
              {"pow", 0, -INFINITY, INFINITY},
              {"pow", -0.0, -INFINITY, INFINITY},
              {"pow", 0, 1, 0},
              {"pow", -0.0, 1, -0.0},
              {"pow", 0, 3, 0},
              {"pow", -0.0, 3, -0.0},
              {"pow", 0, 2, 0},
              {"pow", -0.0, 2, 0},
              {"pow", 0, 2.5, 0},
              {"pow", -0.0, 2.5, 0},
              {"pow", 0, 0x1p100, 0},
              {"pow", -0.0, 0x1p100, 0},
              {"pow", 0, INFINITY, 0},
              {"pow", -0.0, INFINITY, 0},
              {"pow", -1, INFINITY, 1},
              {"pow", -1, -INFINITY, 1},
              {"pow", 1, 0, 1},
              {"pow", 1, -0.0, 1},
              {"pow", 1, 5, 1},
              {"pow", 1, INFINITY, 1},
              {"pow", 1, -INFINITY, 1},
              {"pow", 1, NAN, 1},
              {"pow", 1, 0.5, 1},
              {"pow", 0, 0, 1},
              {"pow", 0, -0.0, 1},
              {"pow", -0.0, 0, 1},
              {"pow", -0.0, -0.0, 1},
              {"pow", 2, 0, 1},
              {"pow", 2, -0.0, 1},
              {"pow", -3, 0, 1},
              {"pow", -3, -0.0, 1},
              {"pow", INFINITY, 0, 1},
              {"pow", INFINITY, -0.0, 1},
              {"pow", -INFINITY, 0, 1},
              {"pow", -INFINITY, -0.0, 1},
              {"pow", NAN, 0, 1},
              {"pow", NAN, -0.0, 1},
              {"pow", 0x1p-149, 0, 1},
              {"pow", 0x1p-149, -0.0, 1},
              {"pow", -2, 0.5, NAN},
              {"pow", -0x1p-149, 0.5, NAN},
              {"pow", -2, -1.5, NAN},
              {"pow", -0x1p-149, -1.5, NAN},
              {"pow", -2, 0x1.000002p-1, NAN},
              {"pow", -0x1p-149, 0x1.000002p-1, NAN},
              {"pow", 0.5, -INFINITY, INFINITY},
              {"pow", 0.5, INFINITY, 0},
              {"pow", -0.5, -INFINITY, INFINITY},
              {"pow", -0.5, INFINITY, 0},
              {"pow", 0x1p-149, -INFINITY, INFINITY},
              {"pow", 0x1p-149, INFINITY, 0},
              {"pow", 2, -INFINITY, 0},
              {"pow", 2, INFINITY, INFINITY},
              {"pow", -2, -INFINITY, 0},
              {"pow", -2, INFINITY, INFINITY},
              {"pow", 0x1.000002p0, -INFINITY, 0},
              {"pow", 0x1.000002p0, INFINITY, INFINITY},
              {"pow", -INFINITY, -3, -0.0},
              {"pow", -INFINITY, -2, 0},
              {"pow", -INFINITY, -0.5, 0},
              {"pow", -INFINITY, 3, -INFINITY},
              {"pow", -INFINITY, 2, INFINITY},
              {"pow", -INFINITY, 0.5, INFINITY},
              {"pow", -INFINITY, INFINITY, INFINITY},
              {"pow", -INFINITY, -INFINITY, 0},
              {"pow", INFINITY, -0.5, 0},
              {"pow", INFINITY, 0.5, INFINITY},
              {"pow", INFINITY, INFINITY, INFINITY},
              {"pow", INFINITY, -INFINITY, 0},
              {"pow", NAN, 1, NAN},
              {"pow", 2, NAN, NAN},
              {"pow", -1, NAN, NAN},
              {"pow", 0, NAN, NAN},
              {"pow", INFINITY, NAN, NAN},
              {"pow", NAN, INFINITY, NAN},
              {"pow", 2, 10, 1024},
              {"pow", -2, 3, -8},
              {"pow", -3, 2, 9},
              {"pow", 2, -149, 0x1p-149},
              {"pow", 4, -74.5, 0x1p-149},
              {"pow", -2, -149, -0x1p-149},
              {"pow", 0x1p-149, 1, 0x1p-149},
              {"pow", 0x1p-149, -0.5, 0x1.6a09e667f3bcdp74},
              {"pow", 0x1.fffffep127, 1, 0x1.fffffep127},
              {"pow", -1, 0x1p100, 1},
              {"pow", -1, 0x1.fffffep23, -1},
              {"pow", -1, 0x1p24, 1},
              {"pow", -1, 0x1.000002p22, NAN},
              {"pow", 10, -2, 0.01},
              {"atan2", 0, -0.0, 0x1.921fb54442d18p1},
              {"atan2", -0.0, -0.0, -0x1.921fb54442d18p1},
              {"atan2", 0, 0, 0},
              {"atan2", -0.0, 0, -0.0},
              {"atan2", 0, -2, 0x1.921fb54442d18p1},
              {"atan2", -0.0, -2, -0x1.921fb54442d18p1},
              {"atan2", 0, 2, 0},
              {"atan2", -0.0, 2, -0.0},
              {"atan2", -2, 0, -0x1.921fb54442d18p0},
              {"atan2", -2, -0.0, -0x1.921fb54442d18p0},
              {"atan2", 2, 0, 0x1.921fb54442d18p0},
              {"atan2", 2, -0.0, 0x1.921fb54442d18p0},
              {"atan2", 2, -INFINITY, 0x1.921fb54442d18p1},
              {"atan2", -2, -INFINITY, -0x1.921fb54442d18p1},
              {"atan2", 2, INFINITY, 0},
              {"atan2", -2, INFINITY, -0.0},
              {"atan2", INFINITY, 2, 0x1.921fb54442d18p0},
              {"atan2", -INFINITY, 2, -0x1.921fb54442d18p0},
              {"atan2", INFINITY, -2, 0x1.921fb54442d18p0},
              {"atan2", INFINITY, -INFINITY, 0x1.2d97c7f3321d2p1},
              {"atan2", -INFINITY, -INFINITY, -0x1.2d97c7f3321d2p1},
              {"atan2", INFINITY, INFINITY, 0x1.921fb54442d18p-1},
              {"atan2", -INFINITY, INFINITY, -0x1.921fb54442d18p-1},
              {"atan2", NAN, 1, NAN},
              {"atan2", 1, NAN, NAN},
              {"atan2", NAN, INFINITY, NAN},
              {"atan2", INFINITY, NAN, NAN},
              {"atan2", 0, NAN, NAN},
              {"atan2", 0x1p-149, 0x1p-149, 0x1.921fb54442d18p-1},
              {"atan2", 0x1p-149, 1, 0x1p-149},
              {"atan2", -0x1p-149, -1, -0x1.921fb54442d18p1},
              {"atan2", 0x1.fffffep127, 0x1.fffffep127, 0x1.921fb54442d18p-1},
              {"atan2", 1, 0x1p127, 0x1p-127},
              {"hypot", 3, -4, 5},
              {"hypot", 0, -0.0, 0},
              {"hypot", -0.0, -0.0, 0},
              {"hypot", -0.0, 2, 2},
              {"hypot", INFINITY, 1, INFINITY},
              {"hypot", 1, -INFINITY, INFINITY},
              {"hypot", -INFINITY, NAN, INFINITY},
              {"hypot", NAN, INFINITY, INFINITY},
              {"hypot", NAN, 1, NAN},
              {"hypot", 1, NAN, NAN},
              {"hypot", NAN, NAN, NAN},
              {"hypot", 0x1.8p-148, 0x1p-147, 0x1.4p-147},
              {"hypot", 0x1.8p126, 0x1p126, 0x1.cd82b446159f3p126},
              {"hypot", 0x1.fffffep127, 0x1p-149, 0x1.fffffep127},
              {"hypot", 0x1p-149, 0, 0x1p-149}};
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    EACH_FUNCTION(f) {
      if (strcmp(f->name, rows[i].name) != 0) continue;
      double z = f->f64(rows[i].x, rows[i].y);
      float z32 = f->f32((float)rows[i].x, (float)rows[i].y);
      bool is_exact = isnan(rows[i].z) || isinf(rows[i].z) || (double)(float)rows[i].z == rows[i].z;
      /* Results that are no floats may be the next ones. */
      bool is_near = fabs(z - rows[i].z) <= fabs(rows[i].z) * 0x1p-52,
           is_near32 = fabs((double)z32 - rows[i].z) <= fabs(rows[i].z) * 0x1p-23;
      cr_expect(same_f64(z, rows[i].z) || (!is_exact && is_near), "%s(%a, %a) = %a", f->name,
                rows[i].x, rows[i].y, z);
      cr_expect(same_f32(z32, (float)rows[i].z) || (!is_exact && is_near32),
                "%s(%a, %a) = %a at f32", f->name, rows[i].x, rows[i].y, (double)z32);
    }
  }
}

/* The ends of the exponents, at each dtype: where results become infinite, denormal and zero. */
Test(elementary, powers_at_the_ends) {
  static const struct {
    double x, y, z;
  } f64_rows[] = {{2, 1024, INFINITY},
                  {2, -1074, 0x1p-1074},
                  {2, -1075.5, 0},
                  {2, 1023, 0x1p1023},
                  {-2, 1023, -0x1p1023},
                  {-2, 1025, -INFINITY},
                  {0x1p-1074, -0.5, 0x1p537},
                  {0x1p-1074, -1, INFINITY},
                  {-2, -1077, -0.0},
                  {-1, 0x1.fffffffffffffp52, -1},
                  {-1, 0x1p53, 1},
                  {-1, 0x1.0000000000001p51, NAN}};
  static const struct {
    float x, y, z;
  } f32_rows[] = {{2, 128, INFINITY},        {2, -151, 0},         {2, 127, 0x1p127f},
                  {-2, 127, -0x1p127f},      {-2, 129, -INFINITY}, {0x1p-148f, -0.5f, 0x1p74f},
                  {0x1p-149f, -1, INFINITY}, {-2, -153, -0.0f}};
  for (size_t i = 0; i < HIA_LEN(f64_rows); i++)
    cr_expect(same_f64(hiaR_pow_f64(f64_rows[i].x, f64_rows[i].y), f64_rows[i].z), "%a, %a: %a",
              f64_rows[i].x, f64_rows[i].y, hiaR_pow_f64(f64_rows[i].x, f64_rows[i].y));
  for (size_t i = 0; i < HIA_LEN(f32_rows); i++)
    cr_expect(same_f32(hiaR_pow_f32(f32_rows[i].x, f32_rows[i].y), f32_rows[i].z), "%a, %a: %a",
              (double)f32_rows[i].x, (double)f32_rows[i].y,
              (double)hiaR_pow_f32(f32_rows[i].x, f32_rows[i].y));
}

/* The operands of each dtype that lie closest to a multiple of pi / 2, and very large ones. */
Test(elementary, large_angles) {
  static const double angles[] = {0x1.6ac5b262ca1ffp849,
                                  0x1.8fc52d8p-1,
                                  0x1.fffffffffffffp1023,
                                  0x1p1023,
                                  0x1.921fb54442d18p0,
                                  0x1p25,
                                  0x1.fffffffffffffp24,
                                  1e22,
                                  0x1.921fb54442d18p60,
                                  0x1.e0000001e7b4ap52,
                                  1e300};
  static const float f32_angles[] = {0x1.f9cbe2p7f, 0x1.f37394p95f, 0x1.fffffep127f, 0x1.fffffep16f,
                                     0x1p17f,       0x1.921fb6p0f,  0x1.2c4b22p64f};
  for (size_t i = 0; i < HIA_LEN(angles); i++)
    for (int sign = -1; sign <= 1; sign += 2) {
      double x = sign * angles[i];
      long double l = (long double)x;
      cr_expect_leq(hia_ulp_f64(hiaR_sin_f64(x), sinl(l)), 1.7, "sin %a", x);
      cr_expect_leq(hia_ulp_f64(hiaR_cos_f64(x), cosl(l)), 1.7, "cos %a", x);
      cr_expect_leq(hia_ulp_f64(hiaR_tan_f64(x), tanl(l)), 2.0, "tan %a", x);
    }
  for (size_t i = 0; i < HIA_LEN(f32_angles); i++)
    for (int sign = -1; sign <= 1; sign += 2) {
      float x = (float)sign * f32_angles[i];
      cr_expect_leq(hia_ulp_f32(hiaR_sin_f32(x), sin((double)x)), 2.5, "sin %a", (double)x);
      cr_expect_leq(hia_ulp_f32(hiaR_cos_f32(x), cos((double)x)), 2.5, "cos %a", (double)x);
      cr_expect_leq(hia_ulp_f32(hiaR_tan_f32(x), tan((double)x)), 2.5, "tan %a", (double)x);
    }
}

/* 1 / (1 + exp(-x)) is 0 from -88.8 on at f32, and -709.8 at f64. */
Test(elementary, sigmoid_is_precise_for_large_negative_operands) {
  cr_expect_leq(hia_ulp_f32(hiaR_sigmoid_f32(-96), exp(-96)), 1.0);
  cr_expect_leq(hia_ulp_f32(hiaR_sigmoid_f32(-103), exp(-103)), 1.0);
  cr_expect_leq(hia_ulp_f64(hiaR_sigmoid_f64(-720), expl(-720)), 1.0);
  cr_expect_leq(hia_ulp_f64(hiaR_sigmoid_f64(-744), expl(-744)), 1.0);
}

/* Objects contain these functions, and the interpreter next to them the runtime's. If the bits of a
 * function have changed on purpose, HIA_RT_ABI must rise with the new hash. */
static uint64_t hash(const void *values, size_t n, size_t size) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, (const char *)values + i * size, size);
    uint64_t magnitude = bits & (size == 4 ? 0x7fffffff : INT64_MAX);
    if (magnitude > (size == 4 ? 0x7f800000u : 0x7ff0000000000000u)) bits = 1; /* a NaN */
    h = (h ^ bits) * 0x100000001b3u;
    h ^= h >> 29;
  }
  return h;
}

Test(elementary, bits_are_those_of_existing_objects) {
  make_inputs();
  EACH_FUNCTION(f) {
    size_t row = known_of(f->name);
    for (size_t i = 0; i < N_F32; i++) out_f32[i] = f->f32(in_f32[i], second_f32[i]);
    for (size_t i = 0; i < N_F64; i++) out_f64[i] = f->f64(in_f64[i], second_f64[i]);
    uint64_t f32 = hash(out_f32, N_F32, 4), f64 = hash(out_f64, N_F64, 8);
    cr_expect(f32 == known[row].hash_f32 && f64 == known[row].hash_f64,
              "%s: the hashes are 0x%016llx, 0x%016llx", f->name, (unsigned long long)f32,
              (unsigned long long)f64);
  }
}

Test(elementary, bits_are_the_same_without_the_instruction) {
  make_inputs();
  EACH_FUNCTION(f) {
    for (size_t i = 0; i < N_F32; i += 4 * HIA_TEST_SHARE)
      cr_assert(same_f32(f->f32(in_f32[i], second_f32[i]), f->plain_f32(in_f32[i], second_f32[i])),
                "%s f32 at %a", f->name, (double)in_f32[i]);
    for (size_t i = 0; i < N_F64; i += HIA_TEST_SHARE)
      cr_assert(same_f64(f->f64(in_f64[i], second_f64[i]), f->plain_f64(in_f64[i], second_f64[i])),
                "%s f64 at %a", f->name, in_f64[i]);
  }
}

Test(elementary, bits_are_the_same_in_vectors) {
  make_inputs();
  for (unsigned bits = 256; bits <= 512; bits *= 2) {
    if (!hia_lanes_exist(bits)) continue;
    const hia_lane_function *lanes = bits == 512 ? hia_lanes_512 : hia_lanes_256;
    EACH_FUNCTION(f) {
      const hia_lane_function *l = lanes;
      while (strcmp(l->name, f->name) != 0) l++;
      l->loops[0](in_f32, second_f32, lanes_f32, N_F32);
      l->loops[1](in_f64, second_f64, lanes_f64, N_F64);
      for (size_t i = 0; i < N_F32; i++)
        cr_assert(same_f32(f->f32(in_f32[i], second_f32[i]), lanes_f32[i]), "%s f32 at %a, %u bits",
                  f->name, (double)in_f32[i], bits);
      for (size_t i = 0; i < N_F64; i++)
        cr_assert(same_f64(f->f64(in_f64[i], second_f64[i]), lanes_f64[i]), "%s f64 at %a, %u bits",
                  f->name, in_f64[i], bits);
    }
  }
}
