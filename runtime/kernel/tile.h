/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Inside of products: tiles, and what tiles.c, product.c, pack.c and the kernels of each kind of
 * processor know of each other.
 *
 * A *tile* computes up to HIA_TILE_ROWS rows of up to HIA_TILE_VECTORS vectors of columns, with all
 * accumulators in registers. `lanes` is the number of columns in a vector. A *panel* is two vectors
 * of columns of B; a packed panel has, for each p, its 2 * lanes elements next to each other. If B
 * has no more columns than one vector, the only panel has one vector. */
#ifndef HIA_TILE_H
#define HIA_TILE_H

#include "runtime/kernel/product.h"
#include <stdatomic.h>

enum { HIA_TILE_ROWS = 14, HIA_TILE_VECTORS = 8 };

/* What the tiles of one product have in common. Strides in bytes. */
typedef struct hia_tile_run {
  size_t k; /* how many p */
  ptrdiff_t a_row, a_next;
  ptrdiff_t b_next, b_panel; /* from p to p + 1; from one panel to the next */
  ptrdiff_t c_row;
  bool is_added;
  /* In a sum of outer products these are where the vectors of each p begin, and neither A's strides
   * nor b_next are used; else NULL. */
  const char *const *a_at, *const *b_at;
} hia_tile_run;

/* `last` is the number of columns in the last vector, 1 .. lanes: no other column of B or C is
 * read or written. a, b and c: of the tile's first row and column. */
typedef void hia_tile(const hia_tile_run *run, const char *a, const char *b, char *c,
                      unsigned last);
/* A matrix times a vector: n is 1. Rows 1 or more. */
typedef void hia_tile_column(const hia_tile_run *run, size_t rows, const char *a, const char *b,
                             char *c);

/* C = A @ B, where k and n are 4, and the rows of A and those of C follow one another without gaps:
 * a vector has several rows. Rows 1 or more; b_next and b_col are B's strides in bytes. */
typedef void hia_tile_quads(size_t rows, const char *a, const char *b, ptrdiff_t b_next,
                            ptrdiff_t b_col, char *c);

/* The tiles of one dtype. widest[r] is the most vectors that a tile of r rows has; it is even,
 * or 1. The tile of r rows and v vectors is tile[r][v - 1], and outer[r][v - 1] of sums of outer
 * products, of floats. Where outer[r] has none, tiles of fewer rows compute these. */
typedef struct hia_tile_set {
  unsigned lanes, rows, vector; /* vector: the bytes of one */
  uint8_t widest[HIA_TILE_ROWS + 1];
  hia_tile *tile[HIA_TILE_ROWS + 1][HIA_TILE_VECTORS];
  hia_tile *outer[HIA_TILE_ROWS + 1][HIA_TILE_VECTORS];
  hia_tile_column *column;
  hia_tile_quads *quads; /* NULL: this machine's vectors are too short */
} hia_tile_set;
typedef struct hia_tiles {
  const char *name;
  uint32_t work;                        /* multiplications of f32 in a slab */
  const hia_tile_set *of[HIA_N_DTYPES]; /* none of bool */
} hia_tiles;

extern const hia_tiles hiaR_tiles_plain;
#if defined(__x86_64__)
extern const hia_tiles hiaR_tiles_avx2, hiaR_tiles_avx512;
#endif

/* tiles.c: the tiles in use; NULL: none were needed yet. */
extern _Atomic(const hia_tiles *) hiaR_tiles_in_use;
const hia_tiles *hiaR_tiles_choose(void);
static inline const hia_tiles *hiaR_tiles(void) {
  const hia_tiles *t = atomic_load_explicit(&hiaR_tiles_in_use, memory_order_relaxed);
  return HIA_LIKELY(t) ? t : hiaR_tiles_choose();
}
static inline const hia_tile_set *hiaR_tile_set(hia_dtype dtype) { return hiaR_tiles()->of[dtype]; }

/* The bytes of a dtype's element. */
static inline size_t hiaR_element(hia_dtype dtype) {
  return dtype == HIA_I64 || dtype == HIA_F64 ? 8 : 4;
}
/* The columns of a panel of a matrix with n columns. */
static inline size_t hiaR_panel(const hia_tile_set *tiles, size_t n) {
  return n <= tiles->lanes ? tiles->lanes : 2 * (size_t)tiles->lanes;
}
/* pack.c: packs panels first .. end of rows first_p .. end_p of B; `packed` is where the first of
 * these panels begins, and each has end_p - first_p rows. */
void hiaR_pack_panels(hia_dtype dtype, size_t n, hia_matrix b, size_t first, size_t end,
                      size_t first_p, size_t end_p, void *packed);

#endif
