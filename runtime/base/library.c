/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The scalar functions that are not one machine operation.
 *
 * Interpreter, constant folding and native code all call these, so they agree to the bit on
 * whatever C library is there. f32 uses the f32 functions: computing in f64 and rounding would
 * differ. */
#include "runtime/base/base.h"
#include <math.h>

#define LIBM_1(name)                                                                               \
  float hiaR_##name##_f32(float a) { return name##f(a); }                                          \
  double hiaR_##name##_f64(double a) { return name(a); }

LIBM_1(exp)
LIBM_1(log)
LIBM_1(log1p)
LIBM_1(expm1)
LIBM_1(sin)
LIBM_1(cos)
LIBM_1(tan)
LIBM_1(tanh)

float hiaR_sigmoid_f32(float a) { return 1.0f / (1.0f + expf(-a)); }
double hiaR_sigmoid_f64(double a) { return 1.0 / (1.0 + exp(-a)); }

float hiaR_pow_f32(float a, float b) { return powf(a, b); }
double hiaR_pow_f64(double a, double b) { return pow(a, b); }
float hiaR_rem_f32(float a, float b) { return fmodf(a, b); }
double hiaR_rem_f64(double a, double b) { return fmod(a, b); }
