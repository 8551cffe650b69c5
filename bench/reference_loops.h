/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Chains of elementwise operations in C, op by op and as one loop. Tensors are of f32, row-major.
 * `memory` has room for six vectors of n elements in cells, for three matrices of k x n in words.
 */
#ifndef HIA_BENCH_REFERENCE_LOOPS_H
#define HIA_BENCH_REFERENCE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/* `rows` cells of an LSTM, one after the other, on c. The gates of a row are i, f, o and u. */
void reference_cells(size_t rows, size_t n, const float *gates, float *c, float *h, float *memory);
void reference_cells_fused(size_t rows, size_t n, const float *gates, float *c, float *h);

/* x[i] = tanh(table[words[i]] + bias), scores[i] = sum(x[i] * w), for i < k. */
void reference_words(size_t k, size_t n, const float *table, const int64_t *words,
                     const float *bias, const float *w, float *x, float *scores, float *memory);
void reference_words_fused(size_t k, size_t n, const float *table, const int64_t *words,
                           const float *bias, const float *w, float *x, float *scores);

/* out[i] = f(x[i]), or f(x[i], y[i]), of f32 or f64. */
typedef void reference_loop(size_t n, const void *x, const void *y, void *out);
typedef struct reference_function {
  const char *name; /* NULL ends the table */
  unsigned n_args;
  reference_loop *libmvec[2]; /* at f32, f64: a loop that gcc vectorises */
  reference_loop *sleef[2];   /* n is a multiple of 16; NULL: SLEEF is not installed */
} reference_function;
extern const reference_function reference_functions[];

#endif
