/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Scalars as decimal text.
 *
 * Floats: the fewest digits that read back to the same value of their dtype. Instead of one of the
 * shortest-digits algorithms (Ryu, Grisu) this prints 1, 2, ... digits with the C library until
 * they read back: a few microseconds, used for results only. The C library's decimal point depends
 * on the locale, so only digits are taken from it, and integers with an exponent are passed to it.
 */
#include "runtime/base/base.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DIGITS = 17 };

typedef struct {
  char digits[MAX_DIGITS + 1]; /* of the magnitude; no trailing zeros */
  int n, exponent;             /* value = d.ddd * 10^exponent */
} decimal;

/* The magnitude of x rounded to n digits. */
static void round_to(decimal *d, double x, int n) {
  char buf[64];
  snprintf(buf, sizeof buf, "%.*e", n - 1, x);
  d->n = 0;
  const char *s = buf;
  for (; *s && *s != 'e'; s++)
    if (*s >= '0' && *s <= '9' && d->n < MAX_DIGITS) d->digits[d->n++] = *s;
  d->exponent = *s ? (int)strtol(s + 1, NULL, 10) : 0;
  d->digits[d->n] = 0;
}

/* Adds one in the last place. */
static void increment(decimal *d) {
  int i = d->n - 1;
  while (i >= 0 && d->digits[i] == '9') d->digits[i--] = '0';
  if (i >= 0) {
    d->digits[i]++;
  } else { /* 99..9 became 100..0 */
    d->digits[0] = '1';
    d->exponent++;
  }
}

static bool reads_back(const decimal *d, double x, bool is_f32) {
  char buf[64];
  snprintf(buf, sizeof buf, "%se%d", d->digits, d->exponent - (d->n - 1));
  return is_f32 ? (double)strtof(buf, NULL) == x : strtod(buf, NULL) == x;
}

/* The digits nearest to x are taken if they read back. If they do not, the next larger digits may:
 * below a power of two the floats are half as far apart as above. */
static void shortest(decimal *d, double x, bool is_f32) {
  int enough = is_f32 ? 9 : MAX_DIGITS;
  for (int n = 1; n <= enough; n++) {
    round_to(d, x, n);
    if (n == enough || reads_back(d, x, is_f32)) break;
    increment(d);
    if (reads_back(d, x, is_f32)) break;
  }
  while (d->n > 1 && d->digits[d->n - 1] == '0') d->n--;
  d->digits[d->n] = 0;
}

static size_t print_float(char *buf, size_t size, double x, bool is_f32) {
  int len;
  const char *sign = x < 0 || (x == 0 && 1 / x < 0) ? "-" : "";
  if (x != x) {
    len = snprintf(buf, size, "nan");
  } else if (x - x != 0) {
    len = snprintf(buf, size, "%sinf", sign);
  } else if (x == 0) {
    len = snprintf(buf, size, "%s0.0", sign);
  } else {
    decimal d;
    double magnitude = x < 0 ? -x : x;
    shortest(&d, magnitude, is_f32);
    int e = d.exponent;
    if (e < -4 || e >= 16)
      len = snprintf(buf, size, "%s%c%s%se%c%02d", sign, d.digits[0], d.n > 1 ? "." : "",
                     d.digits + 1, e < 0 ? '-' : '+', abs(e));
    else if (e < 0)
      len = snprintf(buf, size, "%s0.%.*s%s", sign, -e - 1, "000", d.digits);
    else if (e >= d.n - 1)
      len = snprintf(buf, size, "%s%s%.*s.0", sign, d.digits, e - (d.n - 1), "000000000000000");
    else
      len = snprintf(buf, size, "%s%.*s.%s", sign, e + 1, d.digits, d.digits + e + 1);
  }
  return (size_t)len;
}

static size_t print_integer(char *buf, int64_t x) {
  char digits[20], *end = buf;
  uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  size_t n = 0;
  do {
    digits[n++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (x < 0) *end++ = '-';
  while (n) *end++ = digits[--n];
  *end = 0;
  return (size_t)(end - buf);
}

size_t hiaR_print_word(char *buf, size_t size, hia_dtype dtype, hia_word word) {
  switch (dtype) {
  case HIA_BOOL: return (size_t)snprintf(buf, size, "%s", hiaR_to_bool(word) ? "true" : "false");
  case HIA_I32: return print_integer(buf, hiaR_to_i32(word));
  case HIA_I64: return print_integer(buf, hiaR_to_i64(word));
  case HIA_F32: return print_float(buf, size, (double)hiaR_to_f32(word), true);
  case HIA_F64: return print_float(buf, size, hiaR_to_f64(word), false);
  }
  return (size_t)snprintf(buf, size, "?");
}
