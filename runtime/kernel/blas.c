/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Large products by OpenBLAS, opened at run time. */
#include "runtime/kernel/blas.h"
#include "runtime/kernel/tile.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

/* These are the numbers of cblas.h. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

/* A product that is smaller in any direction than SMALLEST is left to the runtime's kernels. A
 * block has BLOCK rows, columns and values of k at most, so that the library's own packing pays; of
 * f64, for which processors take twice as long, half as many. */
enum { SMALLEST = 256, BLOCK = 256 };

static struct {
  void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
  void (*dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                const double *a, int lda, const double *b, int ldb, double beta, double *c,
                int ldc);
  bool is_open, is_tried; /* changed under the lock */
} blas;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define OPENBLAS "libopenblas.so.0"

static void open_library(const char *name) {
  blas.is_open = false;
  blas.is_tried = true;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  void (*set_threads)(int) = NULL;
  *(void **)&blas.sgemm = dlsym(library, "cblas_sgemm");
  *(void **)&blas.dgemm = dlsym(library, "cblas_dgemm");
  *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
  if (!blas.sgemm || !blas.dgemm || !set_threads) {
    dlclose(library);
    return;
  }
  set_threads(1);
  blas.is_open = true;
}

bool hiaR_blas_open(void) {
  pthread_mutex_lock(&lock);
  if (!blas.is_tried) open_library(OPENBLAS);
  bool is_open = blas.is_open;
  pthread_mutex_unlock(&lock);
  return is_open;
}

bool hiaR_blas_use(const char *name) {
  pthread_mutex_lock(&lock);
  open_library(name ? name : OPENBLAS);
  bool is_open = blas.is_open;
  pthread_mutex_unlock(&lock);
  return is_open;
}

/* How BLAS reads rows x cols elements: as they are, or transposed. 0: it cannot. */
static int how(hia_matrix matrix, size_t rows, size_t cols, int *stride) {
  bool is_transposed = matrix.col != 1;
  if (is_transposed && matrix.row != 1) return 0;
  ptrdiff_t outer = is_transposed ? matrix.col : matrix.row;
  if (outer < (ptrdiff_t)(is_transposed ? rows : cols) || outer > INT_MAX) return 0;
  *stride = (int)outer;
  return is_transposed ? TRANSPOSED : NOT_TRANSPOSED;
}

bool hiaR_blas_takes(const hia_product *p) {
  int stride;
  return !p->a_at && (p->dtype == HIA_F32 || p->dtype == HIA_F64) && p->m >= SMALLEST &&
         p->n >= SMALLEST && p->k >= SMALLEST && how(p->a, p->m, p->k, &stride) &&
         how(p->b, p->k, p->n, &stride) && p->c_row >= (ptrdiff_t)p->n && p->c_row <= INT_MAX;
}

static size_t depth(const hia_product *p) { return p->dtype == HIA_F64 ? BLOCK / 2 : BLOCK; }

/* Part i of n items, which are cut into equal parts but for 1, of at most `most`. */
static size_t count(size_t n, size_t most) { return (n + most - 1) / most; }
static size_t begin(size_t n, size_t most, size_t i) {
  size_t parts = count(n, most);
  return n / parts * i + (i < n % parts ? i : n % parts);
}

void hiaR_blas_plan(const hia_product *p, hia_product_plan *plan) {
  *plan = (hia_product_plan){.row_parts = count(p->m, BLOCK),
                             .col_parts = count(p->n, BLOCK),
                             .slabs = count(p->k, depth(p))};
  plan->parts = plan->row_parts * plan->col_parts;
}

void hiaR_blas_slab(const hia_product *p, const hia_product_plan *plan, size_t part, size_t slab) {
  size_t i = part / plan->col_parts, j = part % plan->col_parts;
  size_t i0 = begin(p->m, BLOCK, i), j0 = begin(p->n, BLOCK, j), p0 = begin(p->k, depth(p), slab);
  int m = (int)(begin(p->m, BLOCK, i + 1) - i0), n = (int)(begin(p->n, BLOCK, j + 1) - j0),
      k = (int)(begin(p->k, depth(p), slab + 1) - p0), lda = 0, ldb = 0, ldc = (int)p->c_row;
  int trans_a = how(p->a, p->m, p->k, &lda), trans_b = how(p->b, p->k, p->n, &ldb);
  ptrdiff_t a = (ptrdiff_t)i0 * p->a.row + (ptrdiff_t)p0 * p->a.col,
            b = (ptrdiff_t)p0 * p->b.row + (ptrdiff_t)j0 * p->b.col,
            c = (ptrdiff_t)i0 * p->c_row + (ptrdiff_t)j0;
  bool is_added = p->is_added || slab > 0;
  if (p->dtype == HIA_F32)
    blas.sgemm(ROW_MAJOR, trans_a, trans_b, m, n, k, 1, (const float *)p->a.data + a, lda,
               (const float *)p->b.data + b, ldb, is_added ? 1 : 0, (float *)p->c + c, ldc);
  else
    blas.dgemm(ROW_MAJOR, trans_a, trans_b, m, n, k, 1, (const double *)p->a.data + a, lda,
               (const double *)p->b.data + b, ldb, is_added ? 1 : 0, (double *)p->c + c, ldc);
}
