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
