/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The remainder of floats, the one scalar function that is libm's beside `fma`: both are exact or
 * rounded once, so that any C library gives the same bits. */
#include "runtime/base/base.h"
#include <math.h>

float hiaR_rem_f32(float a, float b) { return fmodf(a, b); }
double hiaR_rem_f64(double a, double b) { return fmod(a, b); }
