/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Scalars from decimal text: the counterpart of print_word.c, for programs and for values.
 *
 * Short numbers are computed here, exactly. The others go to the C library, whose strtod rounds
 * correctly, in a form that it reads in every locale: digits and an exponent, no point. No more
 * digits than matter are passed on: a decimal that lies half way between two floats has at most 767
 * digits (f64), so of what follows only whether it is zero counts. */
#include "runtime/base/base.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DIGITS = 800 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static unsigned digit_value(char c) {
  return is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

/* False if it does not fit in 64 bits. */
static bool magnitude(const char *s, const char *end, bool is_hex, uint64_t *value) {
  uint64_t base = is_hex ? 16 : 10, v = 0;
  for (; s < end; s++) {
    if (*s == '_') continue;
    uint64_t d = digit_value(*s);
    if (v > (UINT64_MAX - d) / base) return false;
    v = v * base + d;
  }
  *value = v;
  return true;
}

/* The number is DIGITS * 10^exponent, or * 2^exponent for a hexadecimal one. */
typedef struct {
  char
      digits[MAX_DIGITS + 64]; /* significant ones, room for a prefix and an exponent behind them */
  int n;
  int64_t exponent;
  uint64_t value; /* of the digits, while there are at most 19 */
} digits;

static void collect(digits *d, const char *s, const char *end, bool is_hex) {
  bool is_fraction = false, is_inexact = false;
  d->n = 0, d->exponent = 0, d->value = 0;
  for (; s < end && (is_hex || is_digit(*s) || *s == '.' || *s == '_'); s++) {
    if (*s == '_') continue;
    if (*s == '.') {
      is_fraction = true;
      continue;
    }
    d->exponent -= is_fraction;
    if (d->n == 0 && *s == '0') continue;
    if (d->n < MAX_DIGITS) {
      d->digits[d->n++] = *s;
      d->value = d->value * 10 + digit_value(*s);
    } else {
      is_inexact |= *s != '0';
      d->exponent += is_hex ? 4 : 1;
    }
  }
  if (is_inexact) d->digits[d->n - 1] = '1'; /* the 800th digit matters only by not being 0 */
  if (s >= end) return;
  bool is_minus = s[1] == '-'; /* s[0] is e or E */
  int64_t e = 0;
  for (s += is_digit(s[1]) ? 1 : 2; s < end && is_digit(*s); s++)
    e = e > INT32_MAX ? e : e * 10 + (*s - '0');
  d->exponent += is_minus ? -e : e;
}

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The digits and the power of ten are both exact, so one operation rounds once. */
static double exact_f64(const digits *d) {
  double x = (double)d->value;
  return d->exponent < 0 ? x / powers[-d->exponent] : x * powers[d->exponent];
}
static float exact_f32(const digits *d) {
  float x = (float)d->value;
  return d->exponent < 0 ? x / (float)powers[-d->exponent] : x * (float)powers[d->exponent];
}

hia_number_state hiaR_read_word(const char *s, const char *end, bool is_hex, bool is_negative,
                                hia_dtype dtype, hia_word *word) {
  if (dtype == HIA_I32 || dtype == HIA_I64) {
    uint64_t v, limit = dtype == HIA_I32 ? INT32_MAX : INT64_MAX;
    if (!magnitude(s, end, is_hex, &v) || v > limit + (is_negative ? 1u : 0u))
      return HIA_NUMBER_RANGE;
    uint64_t bits = is_negative ? 0 - v : v;
    *word =
        dtype == HIA_I32 ? hiaR_from_i32((int32_t)(uint32_t)bits) : hiaR_from_i64((int64_t)bits);
    return HIA_NUMBER_OK;
  }
  digits d;
  collect(&d, s, end, is_hex);
  bool is_f32 = dtype == HIA_F32;
  int most = is_f32 ? 10 : 22;
  bool is_short = !is_hex && d.n <= 19 && d.value <= (is_f32 ? 1u << 24 : 1ull << 53) &&
                  d.exponent >= -most && d.exponent <= most;
  double f64 = 0;
  float f32 = 0;
  if (is_short && is_f32) {
    f32 = exact_f32(&d);
  } else if (is_short) {
    f64 = exact_f64(&d);
  } else if (d.n) {
    char text[MAX_DIGITS + 64];
    snprintf(text, sizeof text, "%s%.*s%c%lld", is_hex ? "0x" : "", d.n, d.digits,
             is_hex ? 'p' : 'e', (long long)d.exponent);
    if (is_f32)
      f32 = strtof(text, NULL);
    else
      f64 = strtod(text, NULL);
  }
  if (is_f32 ? isinf(f32) : isinf(f64)) return HIA_NUMBER_LARGE;
  *word =
      is_f32 ? hiaR_from_f32(is_negative ? -f32 : f32) : hiaR_from_f64(is_negative ? -f64 : f64);
  return HIA_NUMBER_OK;
}

hia_word hiaR_infinite_word(bool is_nan, bool is_negative, hia_dtype dtype) {
  double x = is_nan ? (double)NAN : (double)INFINITY;
  if (is_negative) x = -x;
  return dtype == HIA_F32 ? hiaR_from_f32((float)x) : hiaR_from_f64(x);
}
