/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices and of matrices with vectors (docs/kernels.md).
 *
 * Element (i, j) of A @ B, A being m x k and B k x n, is one accumulator:
 *
 *   acc = +0;  for (p = 0; p < k; p++) acc = fma(a[i][p], b[p][j], acc);  nan(acc)
 *
 * fma rounds once, to nearest, in the dtype of the product. Each NaN that is stored is the one
 * quiet NaN with sign 0 and no payload. i32 and i64 multiply and add modulo 2^32 and 2^64. So an
 * element's bits depend on its row of A and its column of B alone: not on m, n, the width of
 * vectors, packing, blocks or threads. All functions below compute this, whatever the machine.
 *
 * With `is_added` the accumulator starts at the element of C instead of +0, so a product may be
 * computed in pieces along k, one after the other, with the same bits. (Then a k of 0 changes
 * nothing.)
 *
 * The functions allocate nothing, keep no state, and may run on any number of threads. Sizes and
 * strides count elements; dtypes are i32, i64, f32, f64. Sizes must be such that the matrices exist
 * in memory, and elements are aligned to their size; nothing else is. */
#ifndef HIA_PRODUCT_H
#define HIA_PRODUCT_H

#include "runtime/base/base.h"

/* Element (i, j) is at data + i * row + j * col. So a transposed matrix is the same with row and
 * col exchanged. Strides may be 0 or negative. */
typedef struct hia_matrix {
  const void *data;
  ptrdiff_t row, col;
} hia_matrix;

/* ---- pack.c: packed matrices ----
 *
 * A right operand that is used more than once, or by many rows, is packed: copied into panels of
 * columns in the order in which the kernels of this machine read it, padded with zeros. The format
 * belongs to the process: it is not to be saved. The packed form is the caller's, aligned to 64. */

/* In bytes, a multiple of 64; SIZE_MAX: too large for this machine. */
size_t hiaR_packed_size(hia_dtype dtype, size_t k, size_t n);
/* Packs k x n elements. Packing in parts, in any order and on any threads, makes the same; each
 * part takes at most some 50 microseconds. */
void hiaR_pack(hia_dtype dtype, size_t k, size_t n, hia_matrix b, void *packed);
size_t hiaR_pack_parts(hia_dtype dtype, size_t k, size_t n);
void hiaR_pack_part(hia_dtype dtype, size_t k, size_t n, hia_matrix b, void *packed, size_t part);

/* ---- product.c ---- */

/* C = A @ B. C's rows are contiguous, `c_row` elements apart, and overlap neither operand.
 *
 * A sum of outer products is a product whose vectors lie anywhere: column p of A begins at a_at[p]
 * and row p of B at b_at[p], both contiguous. Then a, b and packed are not read. Only of floats. */
typedef struct hia_product {
  hia_dtype dtype;
  bool is_added;
  size_t m, n, k;
  hia_matrix a;                          /* m x k */
  hia_matrix b;                          /* k x n; not read if `packed` is there */
  const void *packed;                    /* of hiaR_pack; NULL: B is read as it lies */
  const char *const *a_at, *const *b_at; /* k each; NULL: no sum of outer products */
  void *c;
  ptrdiff_t c_row;
} hia_product;

/* True if B should be packed for this one product: it costs less than it saves. */
bool hiaR_product_packs(const hia_product *product);

/* True if transpose(B) @ transpose(A), which is n x m, leaves fewer lanes of vectors idle, and so
 * takes an eighth less time or better. */
bool hiaR_product_is_better_turned(hia_dtype dtype, size_t m, size_t n);

/* A product is done in parts: rectangles of C, which any threads may compute in any order. Each
 * part consists of slabs along k, which must be done in order, by one thread at a time. Parts and
 * slabs depend on the sizes, the dtype and `packed` alone; each slab takes at most some 50
 * microseconds, so a caller polls between them. A product with no element of C has no parts. */
typedef struct hia_product_plan {
  size_t parts, slabs; /* slabs of each part, 1 or more */
  size_t scratch;      /* bytes that a slab needs, aligned to 64; nothing in it is kept */
  uint8_t way;         /* what follows is product.c's */
  size_t row_parts, col_parts, group, k_slab;
} hia_product_plan;
void hiaR_product_plan(const hia_product *product, hia_product_plan *plan);
/* Divides a plan so that a slab needs less memory. False: it needs as little as it can. Changes no
 * bits. */
bool hiaR_product_shrink(const hia_product *product, hia_product_plan *plan);
/* Divides a plan further, so that each of n threads has as much to do. Changes no bits. */
void hiaR_product_divide(const hia_product *product, hia_product_plan *plan, size_t n);
void hiaR_product_slab(const hia_product *product, const hia_product_plan *plan, size_t part,
                       size_t slab, void *scratch);
/* All parts, by this thread. */
void hiaR_product_run(const hia_product *product, const hia_product_plan *plan, void *scratch);

/* ---- tiles.c: the kernels of this machine ----
 *
 * Chosen when they are first needed: the first of "avx512", "avx2", "plain" that the processor
 * has. */
const char *hiaR_product_kernels(void);
/* For tests and benchmarks: uses other kernels from now on. Packed matrices become invalid. False:
 * the processor, or this build, does not have them. NULL: chooses anew. */
bool hiaR_product_use(const char *kernels);

#endif
