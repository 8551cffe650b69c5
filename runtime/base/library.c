/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The scalar functions that are libm's: those that elementary.h does not define yet, and `rem`,
 * which is exact.
 *
 * Interpreter, constant folding and native code all call these, so they agree to the bit with any
 * C library. f32 uses the f32 functions: computing in f64 and rounding would differ. */
#include "runtime/base/base.h"
#include <math.h>

#define LIBM_1(name)                                                                               \
  float hiaR_##name##_f32(float a) { return name##f(a); }                                          \
  double hiaR_##name##_f64(double a) { return name(a); }

LIBM_1(sin)
LIBM_1(cos)
LIBM_1(tan)
LIBM_1(asin)
LIBM_1(acos)
LIBM_1(atan)
LIBM_1(sinh)
LIBM_1(cosh)

#define LIBM_2(name)                                                                               \
  float hiaR_##name##_f32(float a, float b) { return name##f(a, b); }                              \
  double hiaR_##name##_f64(double a, double b) { return name(a, b); }

LIBM_2(pow)
LIBM_2(atan2)
LIBM_2(hypot)
float hiaR_rem_f32(float a, float b) { return fmodf(a, b); }
double hiaR_rem_f64(double a, double b) { return fmod(a, b); }
