/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* blas: OpenBLAS, where it is installed, computes the products that it takes, in any order of
 * parts, however operands lie. */
#include "runtime/kernel/blas.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static double element(hia_dtype dtype, const void *data, size_t i) {
  return dtype == HIA_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* Whole numbers up to 8, so that every order of additions gives the same. */
static void fill(hia_dtype dtype, void *data, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    double x = (double)(seed >> 16 & 15) - 8;
    if (dtype == HIA_F32)
      ((float *)data)[i] = (float)x;
    else
      ((double *)data)[i] = x;
  }
}

static void check(hia_dtype dtype, bool is_a_transposed, bool is_b_transposed, bool is_added) {
  enum { M = 300, N = 270, K = 530, GAP = 3 };
  size_t size = 560 * 560 * 8;
  char *a = malloc(size), *b = malloc(size), *own = malloc(size), *theirs = malloc(size);
  cr_assert(a && b && own && theirs);
  fill(dtype, a, 560 * 560, 1);
  fill(dtype, b, 560 * 560, 2);
  fill(dtype, own, 560 * 560, 3);
  memcpy(theirs, own, size);
  hia_product p = {.dtype = dtype, .m = M, .n = N, .k = K, .is_added = is_added, .c_row = N + GAP};
  p.a = is_a_transposed ? (hia_matrix){a, 1, M + GAP} : (hia_matrix){a, K + GAP, 1};
  p.b = is_b_transposed ? (hia_matrix){b, 1, K + GAP} : (hia_matrix){b, N + GAP, 1};
  cr_assert(hiaR_blas_takes(&p));
  hia_product_plan plan;
  p.c = own;
  hiaR_product_plan(&p, &plan);
  void *scratch = NULL;
  cr_assert(posix_memalign(&scratch, 64, plan.scratch + 64) == 0);
  hiaR_product_run(&p, &plan, scratch);
  p.c = theirs;
  hiaR_blas_plan(&p, &plan);
  cr_assert_gt(plan.parts, 1);
  cr_assert_gt(plan.slabs, 1);
  for (size_t part = plan.parts; part-- > 0;)
    for (size_t slab = 0; slab < plan.slabs; slab++) hiaR_blas_slab(&p, &plan, part, slab);
  for (size_t i = 0; i < (size_t)560 * 560; i++)
    cr_assert(element(dtype, own, i) == element(dtype, theirs, i), "%d %d %d: %zu: %g, not %g",
              is_a_transposed, is_b_transposed, is_added, i, element(dtype, theirs, i),
              element(dtype, own, i));
  free(scratch);
  free(a);
  free(b);
  free(own);
  free(theirs);
}

Test(blas, products) {
  if (!hiaR_blas_open()) cr_skip("OpenBLAS is not installed");
  for (int i = 0; i < 16; i++) check(i & 8 ? HIA_F64 : HIA_F32, i & 1, i & 2, i & 4);
}

Test(blas, takes_large_products_of_floats) {
  hia_product p = {.dtype = HIA_F32,
                   .m = 300,
                   .n = 300,
                   .k = 300,
                   .a = {NULL, 300, 1},
                   .b = {NULL, 300, 1},
                   .c_row = 300};
  cr_assert(hiaR_blas_takes(&p));
  hia_product q = p;
  q.dtype = HIA_I32;
  cr_assert(!hiaR_blas_takes(&q));
  q = p;
  q.m = 8;
  cr_assert(!hiaR_blas_takes(&q));
  q = p;
  q.a = (hia_matrix){NULL, 600, 2};
  cr_assert(!hiaR_blas_takes(&q));
  q.a = (hia_matrix){NULL, 0, 1};
  cr_assert(!hiaR_blas_takes(&q));
  q.a = (hia_matrix){NULL, -300, 1};
  cr_assert(!hiaR_blas_takes(&q));
  q.a = (hia_matrix){NULL, 1, 300};
  cr_assert(hiaR_blas_takes(&q));
  q = p;
  q.c_row = 299;
  cr_assert(!hiaR_blas_takes(&q));
}
