/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products on x86-64 with AVX-512. This file is compiled for such processors (CMakeLists.txt), so
 * nothing but hiaR_tiles_avx512 may be used on others.
 *
 * Of the 32 registers, at most 28 are accumulators. Tiles of few rows are wide: they read B, whose
 * panels then are several streams, once for all rows, and have enough accumulators to hide the
 * latency of additions. Rows 1 to 3 read B faster without prefetching, measured on Zen 4. */
#if defined(__x86_64__)
#define PREFETCHES  4
#define COLUMN_ROWS 8
#include "runtime/kernel/product_column.h"
#include <immintrin.h>
#include <math.h>

#define TILES_LOW  TILES_8(1) TILES_8(2) TILES_6(3) TILES_6(4) TILES_4(5) TILES_4(6)
#define TILES_MID  TILES_2(7) TILES_2(8) TILES_2(9) TILES_2(10)
#define TILES_HIGH TILES_2(11) TILES_2(12) TILES_2(13) TILES_2(14)
#define TILES      TILES_LOW TILES_MID TILES_HIGH
#define ROWS_TO_7(name)                                                                            \
  ROW_8(name, 1), ROW_8(name, 2), ROW_6(name, 3), ROW_6(name, 4), ROW_4(name, 5), ROW_4(name, 6),  \
      ROW_2(name, 7)
#define ROWS(name)                                                                                 \
  ROWS_TO_7(name), ROW_2(name, 8), ROW_2(name, 9), ROW_2(name, 10), ROW_2(name, 11),               \
      ROW_2(name, 12), ROW_2(name, 13), ROW_2(name, 14)
/* Sums of outer products of f64, which few programs have: up to 7 rows. */
#define TILES_OF_F64                                                                               \
  TILES_LOW TILES_2(7) PLAIN_2(8) PLAIN_2(9) PLAIN_2(10) PLAIN_2(11) PLAIN_2(12) PLAIN_2(13)       \
      PLAIN_2(14)
#define SET(...)                                                                                   \
  {.lanes = LANES,                                                                                 \
   .vector = sizeof(V),                                                                            \
   .rows = 14,                                                                                     \
   .widest = {0, 8, 8, 6, 6, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2},                                        \
   .tile = {ROWS(tile)},                                                                           \
   .outer = {__VA_ARGS__},                                                                         \
   .column = COLUMN,                                                                               \
   .quads = QUADS}

#define T                        float
#define V                        __m512
#define LANES                    16
#define NAME(x)                  x##_f32
#define MASK                     __mmask16
#define MASK_OF(last)            ((__mmask16)((1u << (last)) - 1))
#define LOAD(p)                  _mm512_loadu_ps(p)
#define STORE(p, v)              _mm512_storeu_ps((p), (v))
#define LOAD_MASKED(p, mask)     _mm512_maskz_loadu_ps((mask), (p))
#define STORE_MASKED(p, mask, v) _mm512_mask_storeu_ps((p), (mask), (v))
#define SPREAD(x)                _mm512_set1_ps(x)
#define FMA(x, y, z)             _mm512_fmadd_ps((x), (y), (z))
#define FMA_1(x, y, z)           __builtin_fmaf((x), (y), (z))
#define ONE_NAN(v)                                                                                 \
  _mm512_mask_mov_ps((v), _mm512_cmp_ps_mask((v), (v), _CMP_UNORD_Q),                              \
                     _mm512_set1_ps(__builtin_nanf("")))
#define ONE_NAN_1(x) ((x) == (x) ? (x) : __builtin_nanf(""))
#define PICK(v, p)   _mm512_permute_ps((v), (p) * 0x55)
#include "runtime/kernel/product_tile_body.h"
TILES
static void column_of_f32(const hia_tile_run *run, size_t rows, const char *a, const char *b,
                          char *c) {
  column_by_eight(column_f32, run, rows, a, b, c);
}
#define COLUMN column_of_f32
static const hia_tile_set set_f32 = SET(ROWS(outer));
#include "runtime/kernel/product_tile_end.h"

#define T                        double
#define V                        __m512d
#define LANES                    8
#define NAME(x)                  x##_f64
#define MASK                     __mmask8
#define MASK_OF(last)            ((__mmask8)((1u << (last)) - 1))
#define LOAD(p)                  _mm512_loadu_pd(p)
#define STORE(p, v)              _mm512_storeu_pd((p), (v))
#define LOAD_MASKED(p, mask)     _mm512_maskz_loadu_pd((mask), (p))
#define STORE_MASKED(p, mask, v) _mm512_mask_storeu_pd((p), (mask), (v))
#define SPREAD(x)                _mm512_set1_pd(x)
#define FMA(x, y, z)             _mm512_fmadd_pd((x), (y), (z))
#define FMA_1(x, y, z)           __builtin_fma((x), (y), (z))
#define ONE_NAN(v)                                                                                 \
  _mm512_mask_mov_pd((v), _mm512_cmp_pd_mask((v), (v), _CMP_UNORD_Q),                              \
                     _mm512_set1_pd(__builtin_nan("")))
#define ONE_NAN_1(x) ((x) == (x) ? (x) : __builtin_nan(""))
#define PICK(v, p)   _mm512_permutex_pd((v), (p) * 0x55)
#include "runtime/kernel/product_tile_body.h"
TILES_OF_F64
#define COLUMN NAME(column)
static const hia_tile_set set_f64 = SET(ROWS_TO_7(outer));
#include "runtime/kernel/product_tile_end.h"

typedef uint32_t words_32 __attribute__((vector_size(64)));
#define T                        uint32_t
#define V                        words_32
#define LANES                    16
#define NAME(x)                  x##_i32
#define MASK                     __mmask16
#define MASK_OF(last)            ((__mmask16)((1u << (last)) - 1))
#define LOAD(p)                  ((V)_mm512_loadu_si512(p))
#define STORE(p, v)              _mm512_storeu_si512((p), (__m512i)(v))
#define LOAD_MASKED(p, mask)     ((V)_mm512_maskz_loadu_epi32((mask), (p)))
#define STORE_MASKED(p, mask, v) _mm512_mask_storeu_epi32((p), (mask), (__m512i)(v))
#define SPREAD(x)                ((V)_mm512_set1_epi32((int)(x)))
#define FMA(x, y, z)             ((x) * (y) + (z))
#define FMA_1(x, y, z)           ((x) * (y) + (z))
#define ONE_NAN(v)               (v)
#define ONE_NAN_1(x)             (x)
#include "runtime/kernel/product_tile_body.h"
TILES_OF_INTEGERS
static const hia_tile_set set_i32 = SET_OF_INTEGERS;
#include "runtime/kernel/product_tile_end.h"

typedef uint64_t words_64 __attribute__((vector_size(64)));
#define T                        uint64_t
#define V                        words_64
#define LANES                    8
#define NAME(x)                  x##_i64
#define MASK                     __mmask8
#define MASK_OF(last)            ((__mmask8)((1u << (last)) - 1))
#define LOAD(p)                  ((V)_mm512_loadu_si512(p))
#define STORE(p, v)              _mm512_storeu_si512((p), (__m512i)(v))
#define LOAD_MASKED(p, mask)     ((V)_mm512_maskz_loadu_epi64((mask), (p)))
#define STORE_MASKED(p, mask, v) _mm512_mask_storeu_epi64((p), (mask), (__m512i)(v))
#define SPREAD(x)                ((V)_mm512_set1_epi64((long long)(x)))
#define FMA(x, y, z)             ((x) * (y) + (z))
#define FMA_1(x, y, z)           ((x) * (y) + (z))
#define ONE_NAN(v)               (v)
#define ONE_NAN_1(x)             (x)
#include "runtime/kernel/product_tile_body.h"
TILES_OF_INTEGERS
static const hia_tile_set set_i64 = SET_OF_INTEGERS;
#include "runtime/kernel/product_tile_end.h"

const hia_tiles hiaR_tiles_avx512 = {
    .name = "avx512",
    .work = 1 << 21,
    .of = {[HIA_F32] = &set_f32, [HIA_F64] = &set_f64, [HIA_I32] = &set_i32, [HIA_I64] = &set_i64}};
#endif
