/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the programs next to hiaton's models call of OpenBLAS, whose package of the library alone
 * (Debian: libopenblas0-serial) has no header. */
#ifndef HIA_PEERS_CBLAS_H
#define HIA_PEERS_CBLAS_H

#ifdef __cplusplus
extern "C" {
#endif

enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };

void cblas_sgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE a_is, enum CBLAS_TRANSPOSE b_is,
                 int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
                 float beta, float *c, int ldc);
void cblas_sgemv(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE a_is, int m, int n, float alpha,
                 const float *a, int lda, const float *x, int incx, float beta, float *y, int incy);

#ifdef __cplusplus
}
#endif

#endif
