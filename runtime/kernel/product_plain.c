/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products on any processor, with vectors that the compiler maps to what there is.
 *
 * Where there is no fused multiply-add, the same bits are computed without, slowly. For f32: the
 * product of two f32 is exact in f64. The sum is rounded to odd in f64: toward zero, and the last
 * bit set if anything was lost. Rounding that to f32 is as good as rounding the exact sum, because
 * f64 has more than two bits more (Boldo and Melquiond, Emulation of a FMA and correctly rounded
 * sums, IEEE Transactions on Computers 57, 2008, theorem 3). For f64 libm's fma is correct
 * everywhere. */
#define PREFETCHES  99
#define COLUMN_ROWS 4
#include "runtime/kernel/product_tile.h"
#include <math.h>

#if defined(__FP_FAST_FMAF) && defined(__FP_FAST_FMA)
#define PLAIN_WORK          (1 << 19)
#define TILES_OF_MORE(rows) TILES_2(rows)
#define SET_OF_FLOATS       SET_OF_FEW(FEW(outer))
static float fma_1_f32(float x, float y, float z) { return fmaf(x, y, z); }
#else
#define PLAIN_WORK          (1 << 13)
/* An addition of a product takes so long that sums of outer products take at most a tenth longer
 * with two rows at a time, in a third of the code. */
#define TILES_OF_MORE(rows) PLAIN_2(rows)
#define SET_OF_FLOATS       SET_OF_FEW(ROW_2(outer, 1), ROW_2(outer, 2))
static float fma_1_f32(float x, float y, float z) {
  const double product = (double)x * (double)y, sum = product + (double)z;
  /* What was lost, exactly: the sum of two doubles and its error (Knuth, TAOCP 4.2.2). */
  const double part = sum - product, lost = (product - (sum - part)) + ((double)z - part);
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  /* `lost` of an infinite sum or a NaN is a NaN, and nothing is to be done. */
  if ((lost > 0 || lost < 0) && !(bits & 1)) {
    bits += (lost > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
  }
  return (float)sum;
}
#endif
static double fma_1_f64(double x, double y, double z) { return fma(x, y, z); }

#define TILES TILES_2(1) TILES_2(2) TILES_OF_MORE(3) TILES_OF_MORE(4)

typedef float vector_f32 __attribute__((vector_size(16)));
static inline vector_f32 load_f32(const char *p, unsigned last) {
  vector_f32 v = {0};
  memcpy(&v, p, last * sizeof(float));
  return v;
}
static inline vector_f32 spread_f32(float x) { return (vector_f32){x, x, x, x}; }
static inline vector_f32 fma_f32(vector_f32 x, vector_f32 y, vector_f32 z) {
  for (int i = 0; i < 4; i++) z[i] = fma_1_f32(x[i], y[i], z[i]);
  return z;
}
static inline vector_f32 one_nan_f32(vector_f32 v) {
  for (int i = 0; i < 4; i++) v[i] = v[i] == v[i] ? v[i] : __builtin_nanf("");
  return v;
}
#define T                        float
#define V                        vector_f32
#define LANES                    4
#define NAME(x)                  x##_f32
#define MASK                     unsigned
#define MASK_OF(last)            (last)
#define LOAD(p)                  load_f32((p), LANES)
#define STORE(p, v)              memcpy((p), (V[1]){v}, sizeof(V))
#define LOAD_MASKED(p, mask)     load_f32((p), (mask))
#define STORE_MASKED(p, mask, v) memcpy((p), (V[1]){v}, (mask) * sizeof(T))
#define SPREAD(x)                spread_f32(x)
#define FMA(x, y, z)             fma_f32((x), (y), (z))
#define FMA_1(x, y, z)           fma_1_f32((x), (y), (z))
#define ONE_NAN(v)               one_nan_f32(v)
#define ONE_NAN_1(x)             ((x) == (x) ? (x) : __builtin_nanf(""))
#include "runtime/kernel/product_tile_body.h"
TILES
static const hia_tile_set set_f32 = SET_OF_FLOATS;
#include "runtime/kernel/product_tile_end.h"

typedef double vector_f64 __attribute__((vector_size(16)));
static inline vector_f64 load_f64(const char *p, unsigned last) {
  vector_f64 v = {0};
  memcpy(&v, p, last * sizeof(double));
  return v;
}
static inline vector_f64 spread_f64(double x) { return (vector_f64){x, x}; }
static inline vector_f64 fma_f64(vector_f64 x, vector_f64 y, vector_f64 z) {
  for (int i = 0; i < 2; i++) z[i] = fma_1_f64(x[i], y[i], z[i]);
  return z;
}
static inline vector_f64 one_nan_f64(vector_f64 v) {
  for (int i = 0; i < 2; i++) v[i] = v[i] == v[i] ? v[i] : __builtin_nan("");
  return v;
}
#define T                        double
#define V                        vector_f64
#define LANES                    2
#define NAME(x)                  x##_f64
#define MASK                     unsigned
#define MASK_OF(last)            (last)
#define LOAD(p)                  load_f64((p), LANES)
#define STORE(p, v)              memcpy((p), (V[1]){v}, sizeof(V))
#define LOAD_MASKED(p, mask)     load_f64((p), (mask))
#define STORE_MASKED(p, mask, v) memcpy((p), (V[1]){v}, (mask) * sizeof(T))
#define SPREAD(x)                spread_f64(x)
#define FMA(x, y, z)             fma_f64((x), (y), (z))
#define FMA_1(x, y, z)           fma_1_f64((x), (y), (z))
#define ONE_NAN(v)               one_nan_f64(v)
#define ONE_NAN_1(x)             ((x) == (x) ? (x) : __builtin_nan(""))
#include "runtime/kernel/product_tile_body.h"
TILES
static const hia_tile_set set_f64 = SET_OF_FLOATS;
#include "runtime/kernel/product_tile_end.h"

typedef uint32_t vector_i32 __attribute__((vector_size(16)));
static inline vector_i32 load_i32(const char *p, unsigned last) {
  vector_i32 v = {0};
  memcpy(&v, p, last * sizeof(uint32_t));
  return v;
}
static inline vector_i32 spread_i32(uint32_t x) { return (vector_i32){x, x, x, x}; }
#define T                        uint32_t
#define V                        vector_i32
#define LANES                    4
#define NAME(x)                  x##_i32
#define MASK                     unsigned
#define MASK_OF(last)            (last)
#define LOAD(p)                  load_i32((p), LANES)
#define STORE(p, v)              memcpy((p), (V[1]){v}, sizeof(V))
#define LOAD_MASKED(p, mask)     load_i32((p), (mask))
#define STORE_MASKED(p, mask, v) memcpy((p), (V[1]){v}, (mask) * sizeof(T))
#define SPREAD(x)                spread_i32(x)
#define FMA(x, y, z)             ((x) * (y) + (z))
#define FMA_1(x, y, z)           ((x) * (y) + (z))
#define ONE_NAN(v)               (v)
#define ONE_NAN_1(x)             (x)
#include "runtime/kernel/product_tile_body.h"
TILES_OF_INTEGERS
static const hia_tile_set set_i32 = SET_OF_INTEGERS;
#include "runtime/kernel/product_tile_end.h"

typedef uint64_t vector_i64 __attribute__((vector_size(16)));
static inline vector_i64 load_i64(const char *p, unsigned last) {
  vector_i64 v = {0};
  memcpy(&v, p, last * sizeof(uint64_t));
  return v;
}
static inline vector_i64 spread_i64(uint64_t x) { return (vector_i64){x, x}; }
#define T                        uint64_t
#define V                        vector_i64
#define LANES                    2
#define NAME(x)                  x##_i64
#define MASK                     unsigned
#define MASK_OF(last)            (last)
#define LOAD(p)                  load_i64((p), LANES)
#define STORE(p, v)              memcpy((p), (V[1]){v}, sizeof(V))
#define LOAD_MASKED(p, mask)     load_i64((p), (mask))
#define STORE_MASKED(p, mask, v) memcpy((p), (V[1]){v}, (mask) * sizeof(T))
#define SPREAD(x)                spread_i64(x)
#define FMA(x, y, z)             ((x) * (y) + (z))
#define FMA_1(x, y, z)           ((x) * (y) + (z))
#define ONE_NAN(v)               (v)
#define ONE_NAN_1(x)             (x)
#include "runtime/kernel/product_tile_body.h"
TILES_OF_INTEGERS
static const hia_tile_set set_i64 = SET_OF_INTEGERS;
#include "runtime/kernel/product_tile_end.h"

const hia_tiles hiaR_tiles_plain = {
    .name = "plain",
    .work = PLAIN_WORK,
    .of = {[HIA_F32] = &set_f32, [HIA_F64] = &set_f64, [HIA_I32] = &set_i32, [HIA_I64] = &set_i64}};
