/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* For the kernels of each kind of processor, which include product_tile_body.h, the tiles of one
 * dtype, once for each dtype, and product_tile_end.h after it. Before, they define:
 *
 *   T, V, LANES                 an element, a vector, its elements
 *   NAME(x)                     a name that belongs to this dtype
 *   MASK, MASK_OF(last)         a type and its value for the first `last` lanes
 *   LOAD(p) STORE(p, v)         a vector at p, not aligned; only the lanes of a mask:
 *   LOAD_MASKED(p, mask) STORE_MASKED(p, mask, v)
 *   SPREAD(x)                   a vector all of whose lanes are x
 *   FMA(x, y, z) FMA_1(x, y, z) x * y + z, rounded once; of vectors, of elements
 *   PICK(v, p)                  v with element p of each 4 in the place of these; only floats in
 *                               vectors of 4 and more: the number p is a constant
 *   ONE_NAN(v) ONE_NAN_1(x)     v, each NaN replaced by the one NaN; of a vector, an element
 *   PREFETCHES                  the rows from which on B is prefetched
 *   COLUMN_ROWS                 the rows that `column` computes at a time
 *
 * and after it lists the tiles. Loops over rows and vectors must be unrolled wholly, so
 * that accumulators are registers: the assembly of each compiler shows no spills in the loop over
 * k. That takes three things:
 *  - UNROLL on each such loop, and sizes that are constants after inlining;
 *  - addresses of A's rows in groups of three, by a base that is opaque to the compiler (HIDE) plus
 *    0, 1 or 2 strides: 5 pointers for 14 rows, where compilers would make 14;
 *  - C's rows by a pointer that walks, which is opaque for the same reason. */
#ifndef HIA_PRODUCT_TILE_H
#define HIA_PRODUCT_TILE_H

#include "runtime/kernel/tile.h"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define HIDE(p)  __asm__("" : "+r"(p))
#define INLINE   static inline __attribute__((always_inline))
#define PREFETCH 8 /* for so many k ahead */

#define PLAIN(r, v)                                                                                \
  static void NAME(tile_##r##_##v)(const hia_tile_run *run, const char *a, const char *b, char *c, \
                                   unsigned last) {                                                \
    NAME(tile)(r, v, false, run, a, b, c, last);                                                   \
  }
#define OUTER(r, v)                                                                                \
  static void NAME(outer_##r##_##v)(const hia_tile_run *run, const char *a, const char *b,         \
                                    char *c, unsigned last) {                                      \
    NAME(tile)(r, v, true, run, a, b, c, last);                                                    \
  }
#define TILE(r, v) PLAIN(r, v) OUTER(r, v)
/* The tiles of r rows and up to so many vectors, and their rows in a hia_tile_set: `name` is tile
 * or outer. */
#define TILES_2(r)       TILE(r, 1) TILE(r, 2)
#define TILES_4(r)       TILES_2(r) TILE(r, 3) TILE(r, 4)
#define TILES_6(r)       TILES_4(r) TILE(r, 5) TILE(r, 6)
#define TILES_8(r)       TILES_6(r) TILE(r, 7) TILE(r, 8)
#define FIRST_2(name, r) NAME(name##_##r##_1), NAME(name##_##r##_2)
#define FIRST_4(name, r) FIRST_2(name, r), NAME(name##_##r##_3), NAME(name##_##r##_4)
#define FIRST_6(name, r) FIRST_4(name, r), NAME(name##_##r##_5), NAME(name##_##r##_6)
#define FIRST_8(name, r) FIRST_6(name, r), NAME(name##_##r##_7), NAME(name##_##r##_8)
#define ROW_2(name, r)   [r] = {FIRST_2(name, r)}
#define ROW_4(name, r)   [r] = {FIRST_4(name, r)}
#define ROW_6(name, r)   [r] = {FIRST_6(name, r)}
#define ROW_8(name, r)   [r] = {FIRST_8(name, r)}

/* Tiles for which there are none of outer products. */
#define PLAIN_2(r) PLAIN(r, 1) PLAIN(r, 2)
/* Integers: few tiles, and no sums of outer products, which are gradients. */
#define TILES_OF_INTEGERS PLAIN_2(1) PLAIN_2(2) PLAIN_2(3) PLAIN_2(4)
#define FEW(name)         ROW_2(name, 1), ROW_2(name, 2), ROW_2(name, 3), ROW_2(name, 4)
#define SET_OF_INTEGERS   SET_OF_FEW({NULL})
/* Few tiles, with these of outer products. */
#define SET_OF_FEW(...)                                                                            \
  {.lanes = LANES,                                                                                 \
   .vector = sizeof(V),                                                                            \
   .rows = 4,                                                                                      \
   .widest = {0, 2, 2, 2, 2},                                                                      \
   .tile = {FEW(tile)},                                                                            \
   .outer = {__VA_ARGS__},                                                                         \
   .column = NAME(column)}

#endif
