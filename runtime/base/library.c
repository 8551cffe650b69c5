/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The scalar functions that are not a single machine operation.
 *
 * Interpreter, constant folding and native code all call these, so they agree to the bit with any
 * C library. f32 uses the f32 functions: computing in f64 and rounding would differ. */
#include "runtime/base/base.h"
#include <math.h>

#define LIBM_1(name)                                                                               \
  float hiaR_##name##_f32(float a) { return name##f(a); }                                          \
  double hiaR_##name##_f64(double a) { return name(a); }

LIBM_1(exp)
LIBM_1(exp2)
LIBM_1(log)
LIBM_1(log2)
LIBM_1(log10)
LIBM_1(log1p)
LIBM_1(expm1)
LIBM_1(sin)
LIBM_1(cos)
LIBM_1(tan)
LIBM_1(asin)
LIBM_1(acos)
LIBM_1(atan)
LIBM_1(sinh)
LIBM_1(cosh)
LIBM_1(tanh)

float hiaR_sigmoid_f32(float a) { return 1.0f / (1.0f + expf(-a)); }
double hiaR_sigmoid_f64(double a) { return 1.0 / (1.0 + exp(-a)); }

#define LIBM_2(name)                                                                               \
  float hiaR_##name##_f32(float a, float b) { return name##f(a, b); }                              \
  double hiaR_##name##_f64(double a, double b) { return name(a, b); }

LIBM_2(pow)
LIBM_2(atan2)
LIBM_2(hypot)
float hiaR_rem_f32(float a, float b) { return fmodf(a, b); }
double hiaR_rem_f64(double a, double b) { return fmod(a, b); }
