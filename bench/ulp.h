/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Errors of elementary functions in ulp, and inputs to find them with.
 *
 * An error is the distance of a result to the exact value, over the distance of the floats around
 * the exact value (of denormal floats below the least normal one). A zero, an infinity or a NaN
 * that the exact value does not round to is an error of infinite size, and so is a zero of the
 * wrong sign; but where the exact value is within an ulp of the overflow, both are right. */
#ifndef HIA_ULP_H
#define HIA_ULP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool hia_ulp_is_same(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* `exact`: to many more bits than those of the result. */
static inline double hia_ulp_f32(float got, double exact) {
  double result = (double)got, rounded = (double)(float)exact;
  if (hia_ulp_is_same(result, rounded) && (rounded == 0 || !isfinite(rounded)))
    return rounded == 0 ? fabs(exact) * 0x1p149 : 0;
  if (isnan(result) || isnan(rounded)) return INFINITY;
  if (result == 0 && rounded == 0) return INFINITY;
  if (isinf(result) || isinf(rounded))
    return fabs(exact) > 0x1.fffffcp127 && fabs(exact) < 0x1.000002p128 ? 1 : INFINITY;
  uint64_t bits; /* one would call ilogb and scalbn, which take longer than all the rest */
  memcpy(&bits, &exact, sizeof bits);
  uint64_t e = bits >> 52 & 0x7ff, least = 1023 - 126;
  bits = (1023 + 23 + 1023 - (e < least ? least : e)) << 52;
  double scale;
  memcpy(&scale, &bits, sizeof scale);
  return fabs(result - exact) * scale;
}

static inline double hia_ulp_f64(double got, long double exact) {
  double rounded = (double)exact;
  if (hia_ulp_is_same(got, rounded) && (rounded == 0 || !isfinite(rounded)))
    return rounded == 0 ? (double)(fabsl(exact) * 0x1p1074L) : 0;
  if (isnan(got) || isnan(rounded)) return INFINITY;
  if (got == 0 && rounded == 0) return INFINITY;
  if (isinf(got) || isinf(rounded))
    return fabsl(exact) > 0x1.ffffffffffffep1023L && fabsl(exact) < 0x1.00000000000008p1024L
               ? 1
               : INFINITY;
  int e = exact == 0 ? -1022 : ilogbl(exact);
  return (double)scalbnl(fabsl((long double)got - exact), 52 - (e < -1022 ? -1022 : e));
}

/* splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
static inline uint64_t hia_sample_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* All exponents and signs; every second one near 1, where most functions are interesting; one in 16
 * with few bits. */
static inline double hia_sample(uint64_t *state) {
  uint64_t r = hia_sample_bits(state), bits = hia_sample_bits(state);
  if (r & 1) bits = (bits & ~((uint64_t)0x7ff << 52)) | (1023 - 20 + (r >> 8) % 32) << 52;
  if ((r & 0x1e) == 0) bits &= ~(uint64_t)0 << (20 + (r >> 16) % 32);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* sigmoid, which libm lacks. */
static inline double hia_sigmoid_exact_f32(double x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static inline long double hia_sigmoid_exact_f64(long double x) {
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

#endif
