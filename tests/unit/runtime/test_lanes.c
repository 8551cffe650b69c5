/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions over arrays: the bits of the scalar ones, at any length and address. */
#include "runtime/base/elementary.h"
#include "runtime/kernel/lanes.h"
#include <criterion/criterion.h>
#include <math.h>

enum { N = 200 };
typedef struct function {
  unsigned op;
  float (*f32)(float, float);
  double (*f64)(double, double);
} function;
#define FORM(dtype, type, name, call)                                                              \
  static type dtype##_##name(type x, type y) {                                                     \
    (void)y;                                                                                       \
    return call;                                                                                   \
  }
#define FORMS_1(name)                                                                              \
  FORM(f32, float, name, hiaR_##name##_f32(x))                                                     \
  FORM(f64, double, name, hiaR_##name##_f64(x))
#define FORMS_2(name)                                                                              \
  FORM(f32, float, name, hiaR_##name##_f32(x, y))                                                  \
  FORM(f64, double, name, hiaR_##name##_f64(x, y))
HIA_ELEMENTARY_LIST_1(FORMS_1)
HIA_ELEMENTARY_LIST_2(FORMS_2)
static const function functions[] = {
    {HIA_OP_EXP, f32_exp, f64_exp},
    {HIA_OP_EXP2, f32_exp2, f64_exp2},
    {HIA_OP_EXPM1, f32_expm1, f64_expm1},
    {HIA_OP_LOG, f32_log, f64_log},
    {HIA_OP_LOG2, f32_log2, f64_log2},
    {HIA_OP_LOG10, f32_log10, f64_log10},
    {HIA_OP_LOG1P, f32_log1p, f64_log1p},
    {HIA_OP_SIN, f32_sin, f64_sin},
    {HIA_OP_COS, f32_cos, f64_cos},
    {HIA_OP_TAN, f32_tan, f64_tan},
    {HIA_OP_ASIN, f32_asin, f64_asin},
    {HIA_OP_ACOS, f32_acos, f64_acos},
    {HIA_OP_ATAN, f32_atan, f64_atan},
    {HIA_OP_SINH, f32_sinh, f64_sinh},
    {HIA_OP_COSH, f32_cosh, f64_cosh},
    {HIA_OP_TANH, f32_tanh, f64_tanh},
    {HIA_OP_SIGMOID, f32_sigmoid, f64_sigmoid},
    {HIA_OP_POW, f32_pow, f64_pow},
    {HIA_OP_ATAN2, f32_atan2, f64_atan2},
    {HIA_OP_HYPOT, f32_hypot, f64_hypot},
};

static double number(int i) {
  static const double special[] = {0,    -0.0, 1,   -1,  INFINITY, -INFINITY, 1e-40,
                                   88.5, -104, 710, NAN, 1e30,     -1e10};
  if (i < (int)HIA_LEN(special)) return special[i];
  return (i % 2 ? 1 : -1) * pow(2, (i * 37 % 60 - 30) / 3.0);
}

/* Writes nothing behind the end, and reads nothing: the arrays end where memory does. */
static void check(unsigned f, size_t n, size_t first, bool is_in_place) {
  float *x = malloc((n + first) * sizeof *x),
        *z = is_in_place ? x : malloc((n + first) * sizeof *z);
  double *y = malloc((n + first) * sizeof *y),
         *w = is_in_place ? y : malloc((n + first) * sizeof *w);
  /* The second operands, of functions that have one, come from the other end. */
  float *second_f32 = malloc((n + first) * sizeof *second_f32);
  double *second_f64 = malloc((n + first) * sizeof *second_f64);
  for (size_t i = 0; i < n; i++) {
    x[first + i] = (float)number((int)i), y[first + i] = number((int)i);
    second_f32[first + i] = (float)number((int)(n - i)),
                       second_f64[first + i] = number((int)(n - i));
  }
  hiaR_lanes(functions[f].op, HIA_F32)(z + first, (const void *[]){x + first, second_f32 + first},
                                       n);
  hiaR_lanes(functions[f].op, HIA_F64)(w + first, (const void *[]){y + first, second_f64 + first},
                                       n);
  for (size_t i = 0; i < n; i++) {
    float a = functions[f].f32((float)number((int)i), second_f32[first + i]), b = z[first + i];
    double c = functions[f].f64(number((int)i), second_f64[first + i]), d = w[first + i];
    bool is_same = (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
    cr_assert(is_same, "%u of %g: %a, not %a", functions[f].op, number((int)i), b, a);
    is_same = (isnan(c) && isnan(d)) || memcmp(&c, &d, sizeof c) == 0;
    cr_assert(is_same, "%u of %g: %a, not %a", functions[f].op, number((int)i), d, c);
  }
  if (!is_in_place) free(z), free(w);
  free(x), free(y), free(second_f32), free(second_f64);
}

Test(lanes, bits_of_scalars) {
  if (!hiaR_lanes(HIA_OP_EXP, HIA_F32)) return;
  for (unsigned f = 0; f < HIA_LEN(functions); f++) {
    for (size_t n = 0; n < N; n++) check(f, n, n % 3, n % 2);
  }
}

Test(lanes, others_have_none) {
  cr_assert_null(hiaR_lanes(HIA_OP_ADD, HIA_F32));
  cr_assert_null(hiaR_lanes(HIA_OP_EXP, HIA_I32));
}
