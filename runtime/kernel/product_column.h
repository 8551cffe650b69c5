/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A matrix of f32 times a vector, on processors with AVX2: what product_avx2.c and
 * product_avx512.c have in place of `column` where the rows of the matrix are contiguous.
 *
 * Each element of the result is one accumulator, so a vector has those of eight rows. But what they
 * take in turn lies in columns. So squares of eight by eight elements are transposed in registers,
 * which takes a third of the time of multiplying element by element. */
#ifndef HIA_PRODUCT_COLUMN_H
#define HIA_PRODUCT_COLUMN_H

#include "runtime/kernel/product_tile.h"
#include <immintrin.h>

enum { HIA_SQUARE = 8, HIA_GROUPS = 4 };

/* Vector p becomes element p of each row. */
INLINE void transpose_square(__m256 x[HIA_SQUARE]) {
  __m256 pairs[HIA_SQUARE], fours[HIA_SQUARE];
  UNROLL for (int i = 0; i < HIA_SQUARE; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
  UNROLL for (int i = 0; i < HIA_SQUARE; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  UNROLL for (int i = 0; i < HIA_SQUARE / 2; i++) {
    x[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    x[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

INLINE __m256 one_nan_of_8(__m256 v) {
  const __m256 nan = _mm256_set1_ps(__builtin_nanf(""));
  return _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}

/* A square of A's: up to eight rows, from element p on. The last row stands for those that are
 * missing, and elements beyond the mask are 0. */
INLINE void load_square(__m256 x[HIA_SQUARE], const hia_tile_run *run, size_t rows, const char *a,
                        size_t p, bool is_whole, __m256i mask) {
  UNROLL for (size_t i = 0; i < HIA_SQUARE; i++) {
    const char *row = a + (ptrdiff_t)(i < rows ? i : rows - 1) * run->a_row;
    const float *at = (const float *)(const void *)row + p;
    x[i] = is_whole ? _mm256_loadu_ps(at) : _mm256_maskload_ps(at, mask);
  }
  transpose_square(x);
}

/* So many groups of eight rows, of which the last may have fewer: while the additions to one
 * accumulator wait for each other, those of the next group are prepared. */
INLINE void groups_of_rows(const size_t groups, const hia_tile_run *run, size_t rows, const char *a,
                           const char *b, char *c) {
  static const int32_t all[2 * HIA_SQUARE] = {-1, -1, -1, -1, -1, -1, -1, -1};
  float sums[HIA_GROUPS][HIA_SQUARE] = {{0}};
  __m256 acc[HIA_GROUPS], x[HIA_SQUARE];
  for (size_t i = 0; i < rows && run->is_added; i++)
    memcpy(&sums[0][i], c + (ptrdiff_t)i * run->c_row, sizeof(float));
  UNROLL for (size_t g = 0; g < groups; g++) acc[g] = _mm256_loadu_ps(sums[g]);
  for (size_t p = 0; p < run->k; p += HIA_SQUARE) {
    const size_t left = run->k - p;
    const bool is_whole = left >= HIA_SQUARE;
    const __m256i mask =
        _mm256_loadu_si256((const void *)(all + (is_whole ? 0 : HIA_SQUARE - left)));
    UNROLL for (size_t g = 0; g < groups; g++) {
      const size_t n = g + 1 < groups ? HIA_SQUARE : rows - g * HIA_SQUARE;
      const char *first = a + (ptrdiff_t)(g * HIA_SQUARE) * run->a_row;
      if (is_whole) {
        load_square(x, run, n, first, p, true, mask);
        UNROLL for (size_t i = 0; i < HIA_SQUARE; i++) acc[g] = _mm256_fmadd_ps(
            x[i], _mm256_broadcast_ss((const void *)(b + (ptrdiff_t)(p + i) * run->b_next)),
            acc[g]);
      } else {
        load_square(x, run, n, first, p, false, mask);
        UNROLL for (size_t i = 0; i < HIA_SQUARE - 1; i++) if (i < left) acc[g] = _mm256_fmadd_ps(
            x[i], _mm256_broadcast_ss((const void *)(b + (ptrdiff_t)(p + i) * run->b_next)),
            acc[g]);
      }
    }
  }
  UNROLL for (size_t g = 0; g < groups; g++) _mm256_storeu_ps(sums[g], one_nan_of_8(acc[g]));
  for (size_t i = 0; i < rows; i++)
    memcpy(c + (ptrdiff_t)i * run->c_row, &sums[0][i], sizeof(float));
}

static void rows_of_1(const hia_tile_run *run, size_t rows, const char *a, const char *b, char *c) {
  groups_of_rows(1, run, rows, a, b, c);
}
static void rows_of_2(const hia_tile_run *run, size_t rows, const char *a, const char *b, char *c) {
  groups_of_rows(2, run, rows, a, b, c);
}
static void rows_of_3(const hia_tile_run *run, size_t rows, const char *a, const char *b, char *c) {
  groups_of_rows(3, run, rows, a, b, c);
}
static void rows_of_4(const hia_tile_run *run, size_t rows, const char *a, const char *b, char *c) {
  groups_of_rows(4, run, rows, a, b, c);
}

/* The `column` of f32; `other` is that for rows that are not contiguous, or too few or short. */
INLINE void column_by_eight(hia_tile_column *other, const hia_tile_run *run, size_t rows,
                            const char *a, const char *b, char *c) {
  enum { LEAST = 4, SHORTEST = 16 };
  static hia_tile_column *const of[HIA_GROUPS] = {rows_of_1, rows_of_2, rows_of_3, rows_of_4};
  if (run->a_next != sizeof(float) || rows < LEAST || run->k < SHORTEST) {
    other(run, rows, a, b, c);
    return;
  }
  for (size_t n; rows; rows -= n) {
    n = rows < HIA_GROUPS * HIA_SQUARE ? rows : HIA_GROUPS * HIA_SQUARE;
    of[(n - 1) / HIA_SQUARE](run, n, a, b, c);
    a += (ptrdiff_t)n * run->a_row;
    c += (ptrdiff_t)n * run->c_row;
  }
}

#endif
