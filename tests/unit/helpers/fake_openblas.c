/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A library that hiaton takes for OpenBLAS: it adds the other way round, so its results tell
 * whether it was used, and they are the same on every machine. Tests load it as libopenblas.so.0.
 */
#include <stdatomic.h>
#include <stddef.h>

void openblas_set_num_threads(int n);
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc);
int fake_calls(void);

static _Atomic int n_calls;

/* Products since the last time. */
int fake_calls(void) { return atomic_exchange(&n_calls, 0); }

void openblas_set_num_threads(int n) { (void)n; }

enum { TRANSPOSED = 112 };

#define GEMM(name, type)                                                                           \
  void name(int order, int trans_a, int trans_b, int m, int n, int k, type alpha, const type *a,   \
            int lda, const type *b, int ldb, type beta, type *c, int ldc) {                        \
    (void)order;                                                                                   \
    atomic_fetch_add(&n_calls, 1);                                                                 \
    const ptrdiff_t a_row = trans_a == TRANSPOSED ? 1 : lda,                                       \
                    a_col = trans_a == TRANSPOSED ? lda : 1;                                       \
    const ptrdiff_t b_row = trans_b == TRANSPOSED ? 1 : ldb,                                       \
                    b_col = trans_b == TRANSPOSED ? ldb : 1;                                       \
    for (ptrdiff_t i = 0; i < m; i++)                                                              \
      for (ptrdiff_t j = 0; j < n; j++) {                                                          \
        type sum = 0;                                                                              \
        for (ptrdiff_t p = k; p-- > 0;)                                                            \
          sum += a[i * a_row + p * a_col] * b[p * b_row + j * b_col];                              \
        type *to = &c[i * ldc + j];                                                                \
        *to = beta == 0 ? alpha * sum : alpha * sum + beta * *to;                                  \
      }                                                                                            \
  }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
