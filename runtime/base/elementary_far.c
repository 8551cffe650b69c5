/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sine, cosine and tangent of large operands: what FAR of elementary.h calls, with infinities and
 * NaN.
 *
 * The operand is M 2^E with an integer M. A multiple of 2 in the quotient by pi does not count, so
 * of the bits of 1 / pi only 192 matter, from the one with the weight 2^-E on. Their product with
 * M, of which the upper bits are left out, is the quotient: a fraction of 191 bits, of which the
 * operand that lies closest to a multiple of pi / 2 makes 62 zeros. (Payne and Hanek, "Radian
 * reduction for trigonometric functions", 1983.) All is integers but the last product, with pi. */
#include "runtime/base/base.h"
#include "runtime/base/elementary.h"
#include <math.h>

/* 1 / pi, after a word of zeros. */
static const uint64_t inverse_pi[] = {0x0000000000000000, 0x517cc1b727220a94, 0xfe13abe8fa9a6ee0,
                                      0x6db14acc9e21c820, 0xff28b1d5ef5de2b0, 0xdb92371d2126e970,
                                      0x0324977504e8c90e, 0x7f0ef58e5894d39f, 0x74411afa975da242,
                                      0x74ce38135a2fbf20, 0x9cc8eb1cc1a99cfa, 0x4e422fc5defc941d,
                                      0x8ffc4bffef02cc07, 0xf79788c5ad05368f, 0xb69b3f6793e584db,
                                      0xa7a31fb34f2ff516, 0xba93dd63f5f2f8bd, 0x9e839cfbc5294975,
                                      0x35fdafd88fc6ae84, 0x2b0198237e3db5d5, 0xf867de104d7a1b0e};

enum { WORDS = 3 };
typedef struct fixed {
  uint64_t words[WORDS]; /* the highest first */
} fixed;

/* The upper half of a product. */
static uint64_t high_of(uint64_t a, uint64_t b, uint64_t *low) {
  uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
  *low = a * b;
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* |x| / pi modulo 2, for a finite |x| of at least 2^25. The highest bit is worth 1. */
static fixed quotient_by_pi(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint64_t factor = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
  unsigned first = 63 + (unsigned)(bits >> 52 & 0x7ff) - 1075; /* bit of the table */
  const uint64_t *from = inverse_pi + first / 64;
  unsigned shift = first % 64;
  fixed z;
  uint64_t carry = 0;
  for (unsigned i = WORDS; i-- > 0;) {
    uint64_t word = shift ? from[i] << shift | from[i + 1] >> (64 - shift) : from[i], low;
    uint64_t high = high_of(word, factor, &low);
    z.words[i] = low + carry;
    carry = high + (z.words[i] < low);
  }
  return z;
}

static fixed twice(fixed z) {
  for (unsigned i = 0; i < WORDS; i++)
    z.words[i] = z.words[i] << 1 | (i + 1 < WORDS ? z.words[i + 1] >> 63 : 0);
  return z;
}

/* An angle as a float and what it lacks, after a number of half turns, or quarter turns. */
typedef struct reduced {
  double r, low;
  bool is_odd;
} reduced;

/* The angle unit * z, where unit = pi or pi / 2 in two parts. The highest bit of z counts units. */
static reduced angle_of(fixed z, double unit, double unit_low) {
  bool is_odd = z.words[0] >> 63;
  z = twice(z);
  bool is_negative = z.words[0] >> 63;
  if (is_negative) { /* 1 unit more, and back */
    uint64_t carry = 1;
    for (unsigned i = WORDS; i-- > 0;) {
      z.words[i] = ~z.words[i] + carry;
      carry = carry && z.words[i] == 0;
    }
    is_odd = !is_odd;
  }
  int exponent = 0;
  while (!(z.words[0] >> 63) && exponent > -128) z = twice(z), exponent--;
  double a = (double)(z.words[0] >> 11) * 0x1p-53;
  double b = (double)(z.words[0] << 53 >> 11 | z.words[1] >> 22) * 0x1p-106;
  double r = a * unit;
  double low = __builtin_fma(a, unit, -r) + (a * unit_low + b * unit);
  double scale = ldexp(is_negative ? -1 : 1, exponent);
  double sum = r + low;
  return (reduced){sum * scale, (low - (sum - r)) * scale, is_odd};
}

static bool is_finite(double x) { return fabs(x) < (double)INFINITY; }

/* What no angle belongs to. */
static double no_value(double x) { return x - x; }

double hiaR_sin_far_f64(double x) {
  if (!is_finite(x)) return no_value(x);
  reduced z = angle_of(quotient_by_pi(fabs(x)), 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
  double y = hiaR_sin_f64(z.r);
  return (x < 0) != z.is_odd ? -y : y;
}

/* The cosine is the sine of pi / 2 more. */
double hiaR_cos_far_f64(double x) {
  if (!is_finite(x)) return no_value(x);
  fixed q = quotient_by_pi(fabs(x));
  q.words[0] += (uint64_t)1 << 62;
  reduced z = angle_of(q, 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
  double y = hiaR_sin_f64(z.r);
  return z.is_odd ? -y : y;
}

double hiaR_tan_far_f64(double x) {
  if (!is_finite(x)) return no_value(x);
  fixed q = twice(quotient_by_pi(fabs(x)));
  reduced z = angle_of(q, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54);
  double y = hiaR_tan_of_sum_f64(z.r, z.low, z.is_odd);
  return x < 0 ? -y : y;
}

/* f64 has the range, and bits to spare. */
float hiaR_sin_far_f32(float x) { return (float)hiaR_sin_f64((double)x); }
float hiaR_cos_far_f32(float x) { return (float)hiaR_cos_f64((double)x); }
float hiaR_tan_far_f32(float x) { return (float)hiaR_tan_f64((double)x); }
