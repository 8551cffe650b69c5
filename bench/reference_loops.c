/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Op by op, each is a loop that gcc vectorises with libmvec. Compiled for this machine, with
 * -ffast-math, which libmvec needs. Memory is not aliased: `restrict` lets gcc vectorise without
 * asking. */
#include "bench/reference_loops.h"
#include <math.h>
#include <string.h>

typedef const float *restrict in;
typedef float *restrict out;

#define LOOP(expression)                                                                           \
  for (size_t i = 0; i < n; i++) y[i] = (expression)

#define OP __attribute__((noinline)) static void
OP sigmoids(size_t n, in x, out y) { LOOP(1 / (1 + expf(-x[i]))); }
OP tanhs(size_t n, in x, out y) { LOOP(tanhf(x[i])); }
OP products(size_t n, in x, in z, out y) { LOOP(x[i] * z[i]); }
OP sums(size_t n, in x, in z, out y) { LOOP(x[i] + z[i]); }

void reference_cells(size_t rows, size_t n, const float *gates, float *c, float *h, float *memory) {
  float *t[6];
  for (size_t k = 0; k < 6; k++) t[k] = memory + k * n;
  for (size_t r = 0; r < rows; r++) {
    const float *g = gates + 4 * r * n;
    sigmoids(n, g, t[0]);
    tanhs(n, g + 3 * n, t[1]);
    products(n, t[0], t[1], t[2]);
    sigmoids(n, g + n, t[0]);
    products(n, t[0], c, t[3]);
    sums(n, t[2], t[3], c);
    sigmoids(n, g + 2 * n, t[4]);
    tanhs(n, c, t[5]);
    products(n, t[4], t[5], h);
  }
}

static inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

__attribute__((noinline)) static void cell(size_t n, in i, in f, in o, in u, out c, out h) {
  for (size_t k = 0; k < n; k++) {
    c[k] = sigmoid(i[k]) * tanhf(u[k]) + sigmoid(f[k]) * c[k];
    h[k] = sigmoid(o[k]) * tanhf(c[k]);
  }
}

void reference_cells_fused(size_t rows, size_t n, const float *gates, float *c, float *h) {
  for (size_t r = 0; r < rows; r++) {
    const float *g = gates + 4 * r * n;
    cell(n, g, g + n, g + 2 * n, g + 3 * n, c, h);
  }
}

OP gather(size_t k, size_t n, in table, const int64_t *restrict words, out y) {
  for (size_t r = 0; r < k; r++) memcpy(y + r * n, table + (size_t)words[r] * n, n * sizeof *y);
}
OP row_sums(size_t k, size_t n, in x, out y) {
  for (size_t r = 0; r < k; r++) {
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[r * n + i];
    y[r] = sum;
  }
}
OP plus_row(size_t k, size_t n, in x, in row, out y) {
  for (size_t r = 0; r < k; r++)
    for (size_t i = 0; i < n; i++) y[r * n + i] = x[r * n + i] + row[i];
}
OP times_row(size_t k, size_t n, in x, in row, out y) {
  for (size_t r = 0; r < k; r++)
    for (size_t i = 0; i < n; i++) y[r * n + i] = x[r * n + i] * row[i];
}

void reference_words(size_t k, size_t n, const float *table, const int64_t *words,
                     const float *bias, const float *w, float *x, float *scores, float *memory) {
  float *gathered = memory, *sum = memory + k * n, *product = memory + 2 * k * n;
  gather(k, n, table, words, gathered);
  plus_row(k, n, gathered, bias, sum);
  tanhs(k * n, sum, x);
  times_row(k, n, x, w, product);
  row_sums(k, n, product, scores);
}

__attribute__((noinline)) static float word(size_t n, in from, in bias, in w, out x) {
  float sum = 0;
  for (size_t i = 0; i < n; i++) {
    x[i] = tanhf(from[i] + bias[i]);
    sum += x[i] * w[i];
  }
  return sum;
}

void reference_words_fused(size_t k, size_t n, const float *table, const int64_t *words,
                           const float *bias, const float *w, float *x, float *scores) {
  for (size_t r = 0; r < k; r++)
    scores[r] = word(n, table + (size_t)words[r] * n, bias, w, x + r * n);
}

/* ---- functions ---- */

#define LIBMVEC(name, type, call)                                                                  \
  static void libmvec_##name(size_t n, const void *x_in, const void *y_in, void *z_out) {          \
    const type *restrict x = x_in, *restrict y = y_in;                                             \
    type *restrict z = z_out;                                                                      \
    (void)y;                                                                                       \
    for (size_t i = 0; i < n; i++) z[i] = call;                                                    \
  }
#define LIBMVEC_1(name)                                                                            \
  LIBMVEC(name##_f32, float, name##f(x[i]))                                                        \
  LIBMVEC(name##_f64, double, name(x[i]))
#define LIBMVEC_2(name)                                                                            \
  LIBMVEC(name##_f32, float, name##f(x[i], y[i]))                                                  \
  LIBMVEC(name##_f64, double, name(x[i], y[i]))
#define LIST_1(X) X(exp) X(log) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh)
#define LIST_2(X) X(pow) X(atan2)
LIST_1(LIBMVEC_1)
LIST_2(LIBMVEC_2)
LIBMVEC_2(hypot)

/* The functions of SLEEF with errors of at most 1 ulp. */
#if defined(HIA_SLEEF) && defined(__AVX2__) && defined(__FMA__)
#include <sleef.h>
#ifdef __AVX512F__
typedef __m512 lanes_f32;
typedef __m512d lanes_f64;
#define SLEEF_F32(name, ulp) Sleef_##name##f16_u##ulp##avx512f
#define SLEEF_F64(name, ulp) Sleef_##name##d8_u##ulp##avx512f
#else
typedef __m256 lanes_f32;
typedef __m256d lanes_f64;
#define SLEEF_F32(name, ulp) Sleef_##name##f8_u##ulp##avx2
#define SLEEF_F64(name, ulp) Sleef_##name##d4_u##ulp##avx2
#endif
#define SLEEF(name, type, lanes, call)                                                             \
  static void sleef_##name(size_t n, const void *x_in, const void *y_in, void *z_out) {            \
    const type *restrict xs = x_in, *restrict ys = y_in;                                           \
    type *restrict zs = z_out;                                                                     \
    for (size_t i = 0; i < n; i += sizeof(lanes) / sizeof(type)) {                                 \
      lanes x, y, z;                                                                               \
      memcpy(&x, xs + i, sizeof x);                                                                \
      memcpy(&y, ys + i, sizeof y);                                                                \
      (void)y;                                                                                     \
      z = call;                                                                                    \
      memcpy(zs + i, &z, sizeof z);                                                                \
    }                                                                                              \
  }
#define SLEEF_1(name)                                                                              \
  SLEEF(name##_f32, float, lanes_f32, SLEEF_F32(name, 10)(x))                                      \
  SLEEF(name##_f64, double, lanes_f64, SLEEF_F64(name, 10)(x))
#define SLEEF_2(name, ulp)                                                                         \
  SLEEF(name##_f32, float, lanes_f32, SLEEF_F32(name, ulp)(x, y))                                  \
  SLEEF(name##_f64, double, lanes_f64, SLEEF_F64(name, ulp)(x, y))
LIST_1(SLEEF_1)
SLEEF_2(pow, 10)
SLEEF_2(atan2, 10)
SLEEF_2(hypot, 05)
#define IN_SLEEF(name) {sleef_##name##_f32, sleef_##name##_f64}
#else
#define IN_SLEEF(name) {NULL, NULL}
#endif

const reference_function reference_functions[] = {
#define ROW(name, n_args)                                                                          \
  {#name, n_args, {libmvec_##name##_f32, libmvec_##name##_f64}, IN_SLEEF(name)},
#define ROW_1(name) ROW(name, 1)
#define ROW_2(name) ROW(name, 2)
    LIST_1(ROW_1) LIST_2(ROW_2) ROW_2(hypot){NULL, 0, {NULL, NULL}, {NULL, NULL}}};
