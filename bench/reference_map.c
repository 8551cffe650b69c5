/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The formulas of bench/embed.c over columns, as a C programmer writes them; compiled by several
 * compilers for this machine (-O3 -march=native), each with its own PREFIX. They compute the
 * same bits: contraction to fused multiply-adds is off. No caller reads errno, which would keep
 * sqrt from becoming an instruction. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define GLUE(a, b)          a##b
#define NAME2(prefix, name) GLUE(prefix, name)
#define NAME(name)          NAME2(PREFIX, name)

void NAME(poly)(size_t n, const double *restrict x, const double *restrict y, double *restrict r);
void NAME(norm)(size_t n, const double *restrict x, const double *restrict y, double *restrict r);
void NAME(pick)(size_t n, const double *restrict x, const double *restrict y, double *restrict r);
void NAME(ratio)(size_t n, const int64_t *restrict x, const int64_t *restrict y,
                 int64_t *restrict r);
void NAME(gcd)(size_t n, const int64_t *restrict x, const int64_t *restrict y, int64_t *restrict r);

void NAME(poly)(size_t n, const double *restrict x, const double *restrict y, double *restrict r) {
  for (size_t i = 0; i < n; i++)
    r[i] = ((0.5 * x[i] + 1.25) * x[i] - y[i]) * x[i] + (3.0 - y[i]) * y[i] + 0.75;
}

void NAME(norm)(size_t n, const double *restrict x, const double *restrict y, double *restrict r) {
  for (size_t i = 0; i < n; i++) r[i] = sqrt(x[i] * x[i] + y[i] * y[i]) / (1.0 + x[i]);
}

void NAME(pick)(size_t n, const double *restrict x, const double *restrict y, double *restrict r) {
  for (size_t i = 0; i < n; i++)
    r[i] = x[i] > y[i] ? x[i] * 2.0 - y[i] : x[i] < 0.0 ? y[i] * 0.5 : y[i] + x[i];
}

void NAME(ratio)(size_t n, const int64_t *restrict x, const int64_t *restrict y,
                 int64_t *restrict r) {
  for (size_t i = 0; i < n; i++) r[i] = (x[i] + y[i]) / y[i];
}

static int64_t gcd_of(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

void NAME(gcd)(size_t n, const int64_t *restrict x, const int64_t *restrict y,
               int64_t *restrict r) {
  for (size_t i = 0; i < n; i++) r[i] = gcd_of(x[i], y[i]);
}
