/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products on x86-64 with AVX2 and FMA. This file is compiled for such processors (CMakeLists.txt),
 * so nothing but hiaR_tiles_avx2 may be used on others.
 *
 * Of the 16 registers, at most 12 are accumulators, 2 a row of B, one the mask. */
#if defined(__x86_64__)
#define PREFETCHES  4
#define COLUMN_ROWS 8
#include "runtime/kernel/product_column.h"
#include <immintrin.h>
#include <math.h>

/* The mask of the first `last` lanes begins at all[lanes - last]. */
static const int32_t all_32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t all_64[8] = {-1, -1, -1, -1};

#define TILES TILES_8(1) TILES_4(2) TILES_4(3) TILES_2(4) TILES_2(5) TILES_2(6)
#define ROWS(name)                                                                                 \
  ROW_8(name, 1), ROW_4(name, 2), ROW_4(name, 3), ROW_2(name, 4), ROW_2(name, 5), ROW_2(name, 6)
#define SET                                                                                        \
  {.lanes = LANES,                                                                                 \
   .vector = sizeof(V),                                                                            \
   .rows = 6,                                                                                      \
   .widest = {0, 8, 4, 4, 2, 2, 2},                                                                \
   .tile = {ROWS(tile)},                                                                           \
   .outer = {ROWS(outer)},                                                                         \
   .column = COLUMN,                                                                               \
   .quads = QUADS}

#define T                        float
#define V                        __m256
#define LANES                    8
#define NAME(x)                  x##_f32
#define MASK                     __m256i
#define MASK_OF(last)            _mm256_loadu_si256((const void *)(all_32 + LANES - (last)))
#define LOAD(p)                  _mm256_loadu_ps((const float *)(const void *)(p))
#define STORE(p, v)              _mm256_storeu_ps((float *)(void *)(p), (v))
#define LOAD_MASKED(p, mask)     _mm256_maskload_ps((const float *)(const void *)(p), (mask))
#define STORE_MASKED(p, mask, v) _mm256_maskstore_ps((float *)(void *)(p), (mask), (v))
#define SPREAD(x)                _mm256_set1_ps(x)
#define FMA(x, y, z)             _mm256_fmadd_ps((x), (y), (z))
#define FMA_1(x, y, z)           __builtin_fmaf((x), (y), (z))
#define ONE_NAN(v)                                                                                 \
  _mm256_blendv_ps((v), _mm256_set1_ps(__builtin_nanf("")), _mm256_cmp_ps((v), (v), _CMP_UNORD_Q))
#define ONE_NAN_1(x) ((x) == (x) ? (x) : __builtin_nanf(""))
#define PICK(v, p)   _mm256_permute_ps((v), (p) * 0x55)
#include "runtime/kernel/product_tile_body.h"
TILES
static void column_of_f32(const hia_tile_run *run, size_t rows, const char *a, const char *b,
                          char *c) {
  column_by_eight(column_f32, run, rows, a, b, c);
}
#define COLUMN column_of_f32
static const hia_tile_set set_f32 = SET;
#include "runtime/kernel/product_tile_end.h"

#define T                        double
#define V                        __m256d
#define LANES                    4
#define NAME(x)                  x##_f64
#define MASK                     __m256i
#define MASK_OF(last)            _mm256_loadu_si256((const void *)(all_64 + LANES - (last)))
#define LOAD(p)                  _mm256_loadu_pd((const double *)(const void *)(p))
#define STORE(p, v)              _mm256_storeu_pd((double *)(void *)(p), (v))
#define LOAD_MASKED(p, mask)     _mm256_maskload_pd((const double *)(const void *)(p), (mask))
#define STORE_MASKED(p, mask, v) _mm256_maskstore_pd((double *)(void *)(p), (mask), (v))
#define SPREAD(x)                _mm256_set1_pd(x)
#define FMA(x, y, z)             _mm256_fmadd_pd((x), (y), (z))
#define FMA_1(x, y, z)           __builtin_fma((x), (y), (z))
#define ONE_NAN(v)                                                                                 \
  _mm256_blendv_pd((v), _mm256_set1_pd(__builtin_nan("")), _mm256_cmp_pd((v), (v), _CMP_UNORD_Q))
#define ONE_NAN_1(x) ((x) == (x) ? (x) : __builtin_nan(""))
#define PICK(v, p)   _mm256_permute4x64_pd((v), (p) * 0x55)
#include "runtime/kernel/product_tile_body.h"
TILES
#define COLUMN NAME(column)
static const hia_tile_set set_f64 = SET;
#include "runtime/kernel/product_tile_end.h"

typedef uint32_t words_32 __attribute__((vector_size(32)));
#define T                        uint32_t
#define V                        words_32
#define LANES                    8
#define NAME(x)                  x##_i32
#define MASK                     __m256i
#define MASK_OF(last)            _mm256_loadu_si256((const void *)(all_32 + LANES - (last)))
#define LOAD(p)                  ((V)_mm256_loadu_si256((const void *)(p)))
#define STORE(p, v)              _mm256_storeu_si256((void *)(p), (__m256i)(v))
#define LOAD_MASKED(p, mask)     ((V)_mm256_maskload_epi32((const void *)(p), (mask)))
#define STORE_MASKED(p, mask, v) _mm256_maskstore_epi32((void *)(p), (mask), (__m256i)(v))
#define SPREAD(x)                ((V)_mm256_set1_epi32((int)(x)))
#define FMA(x, y, z)             ((x) * (y) + (z))
#define FMA_1(x, y, z)           ((x) * (y) + (z))
#define ONE_NAN(v)               (v)
#define ONE_NAN_1(x)             (x)
#include "runtime/kernel/product_tile_body.h"
TILES_OF_INTEGERS
static const hia_tile_set set_i32 = SET_OF_INTEGERS;
#include "runtime/kernel/product_tile_end.h"

typedef uint64_t words_64 __attribute__((vector_size(32)));
#define T                        uint64_t
#define V                        words_64
#define LANES                    4
#define NAME(x)                  x##_i64
#define MASK                     __m256i
#define MASK_OF(last)            _mm256_loadu_si256((const void *)(all_64 + LANES - (last)))
#define LOAD(p)                  ((V)_mm256_loadu_si256((const void *)(p)))
#define STORE(p, v)              _mm256_storeu_si256((void *)(p), (__m256i)(v))
#define LOAD_MASKED(p, mask)     ((V)_mm256_maskload_epi64((const void *)(p), (mask)))
#define STORE_MASKED(p, mask, v) _mm256_maskstore_epi64((void *)(p), (mask), (__m256i)(v))
#define SPREAD(x)                ((V)_mm256_set1_epi64x((long long)(x)))
#define FMA(x, y, z)             ((x) * (y) + (z))
#define FMA_1(x, y, z)           ((x) * (y) + (z))
#define ONE_NAN(v)               (v)
#define ONE_NAN_1(x)             (x)
#include "runtime/kernel/product_tile_body.h"
TILES_OF_INTEGERS
static const hia_tile_set set_i64 = SET_OF_INTEGERS;
#include "runtime/kernel/product_tile_end.h"

const hia_tiles hiaR_tiles_avx2 = {
    .name = "avx2",
    .work = 1 << 21,
    .of = {[HIA_F32] = &set_f32, [HIA_F64] = &set_f64, [HIA_I32] = &set_i32, [HIA_I64] = &set_i64}};
#endif
