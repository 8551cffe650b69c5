/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The tiles of one dtype: product_tile.h says what an includer defines. */
INLINE void NAME(tile)(const int rows, const int vectors, const bool is_outer,
                       const hia_tile_run *run, const char *a, const char *b, char *c,
                       unsigned last) {
  enum { SIZE = (int)sizeof(V) };
  V acc[HIA_TILE_ROWS][HIA_TILE_VECTORS];
  const MASK mask = MASK_OF(last);
  const ptrdiff_t a_row = run->a_row, a_next = run->a_next, b_next = run->b_next,
                  b_panel = run->b_panel, c_row = run->c_row;
  if (run->is_added) {
    const char *at = c;
    UNROLL for (int i = 0; i < rows; i++) {
      UNROLL for (int v = 0; v < vectors; v++) acc[i][v] =
          v < vectors - 1 ? LOAD(at + v * SIZE) : LOAD_MASKED(at + v * SIZE, mask);
      at += c_row;
      HIDE(at);
    }
  } else {
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++) acc[i][v] =
        SPREAD((T)0);
  }
  if (is_outer) {
    const char *const *a_at = run->a_at, *const *b_at = run->b_at;
    const ptrdiff_t in_a = a - a_at[0], in_b = b - b_at[0];
    for (size_t p = 0; p < run->k; p++) {
      V x[HIA_TILE_VECTORS];
      const char *of_a = a_at[p] + in_a, *of_b = b_at[p] + in_b;
      HIDE(of_a);
      /* What the next tiles read: the vectors lie anywhere, so the processor does not foresee it.
       */
      __builtin_prefetch(of_a + 2 * rows * (int)sizeof(T));
      UNROLL for (int v = 0; v < vectors; v++) __builtin_prefetch(of_b + (vectors + v) * SIZE);
      UNROLL for (int v = 0; v < vectors; v++) x[v] =
          v < vectors - 1 ? LOAD(of_b + v * SIZE) : LOAD_MASKED(of_b + v * SIZE, mask);
      UNROLL for (int i = 0; i < rows; i++) {
        const V y = SPREAD(((const T *)(const void *)of_a)[i]);
        UNROLL for (int v = 0; v < vectors; v++) acc[i][v] = FMA(y, x[v], acc[i][v]);
      }
    }
  } else {
    const char *group[(HIA_TILE_ROWS + 2) / 3];
    UNROLL for (int g = 0; 3 * g < rows; g++) {
      group[g] = a + 3 * g * a_row;
      HIDE(group[g]);
    }
    for (size_t p = run->k; p; p--) {
      V x[HIA_TILE_VECTORS];
      if (rows >= PREFETCHES) {
        UNROLL for (int v = 0; v < vectors; v++)
            __builtin_prefetch(b + PREFETCH * b_next + v / 2 * b_panel + v % 2 * SIZE);
      }
      UNROLL for (int v = 0; v < vectors; v++) {
        const char *at = b + v / 2 * b_panel + v % 2 * SIZE;
        x[v] = v < vectors - 1 ? LOAD(at) : LOAD_MASKED(at, mask);
      }
      UNROLL for (int i = 0; i < rows; i++) {
        const V y = SPREAD(*(const T *)(const void *)(group[i / 3] + i % 3 * a_row));
        UNROLL for (int v = 0; v < vectors; v++) acc[i][v] = FMA(y, x[v], acc[i][v]);
      }
      UNROLL for (int g = 0; 3 * g < rows; g++) group[g] += a_next;
      b += b_next;
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int v = 0; v < vectors; v++) {
      if (v < vectors - 1)
        STORE(c + v * SIZE, ONE_NAN(acc[i][v]));
      else
        STORE_MASKED(c + v * SIZE, mask, ONE_NAN(acc[i][v]));
    }
    c += c_row;
    HIDE(c);
  }
}

#ifdef PICK
/* Each vector of A has LANES / 4 rows, of which PICK spreads one column over all that belong to the
 * same row; each vector of B has one row, as often. */
static void NAME(quads)(size_t rows, const char *a, const char *b, ptrdiff_t b_next,
                        ptrdiff_t b_col, char *c) {
  T spread[4][LANES];
  for (int p = 0; p < 4; p++)
    for (int j = 0; j < LANES; j++)
      spread[p][j] = *(const T *)(const void *)(b + p * b_next + j % 4 * b_col);
  const V b0 = LOAD(spread[0]), b1 = LOAD(spread[1]), b2 = LOAD(spread[2]), b3 = LOAD(spread[3]);
  for (size_t left = rows * 4; left; a += sizeof(V), c += sizeof(V)) {
    const bool is_whole = left >= LANES;
    const MASK mask = MASK_OF(is_whole ? LANES : (unsigned)left);
    const V x = is_whole ? LOAD(a) : LOAD_MASKED(a, mask);
    V acc = FMA(PICK(x, 0), b0, SPREAD((T)0));
    acc = FMA(PICK(x, 1), b1, acc);
    acc = FMA(PICK(x, 2), b2, acc);
    acc = ONE_NAN(FMA(PICK(x, 3), b3, acc));
    if (!is_whole) {
      STORE_MASKED(c, mask, acc);
      return;
    }
    STORE(c, acc);
    left -= LANES;
  }
}
#define QUADS NAME(quads)
#else
#define QUADS NULL
#endif

INLINE void NAME(dots)(const int rows, const hia_tile_run *run, const char *a, const char *b,
                       char *c) {
  T acc[COLUMN_ROWS];
  UNROLL for (int i = 0; i < rows; i++) acc[i] =
      run->is_added ? *(const T *)(const void *)(c + i * run->c_row) : (T)0;
  for (size_t p = run->k; p; p--) {
    const T x = *(const T *)(const void *)b;
    UNROLL for (int i = 0; i < rows; i++) acc[i] =
        FMA_1(*(const T *)(const void *)(a + i * run->a_row), x, acc[i]);
    a += run->a_next;
    b += run->b_next;
  }
  UNROLL for (int i = 0; i < rows; i++) * (T *)(void *)(c + i * run->c_row) = ONE_NAN_1(acc[i]);
}

/* Accumulators of several rows at a time hide the latency of each. */
static void NAME(column)(const hia_tile_run *run, size_t rows, const char *a, const char *b,
                         char *c) {
  for (; rows >= COLUMN_ROWS; rows -= COLUMN_ROWS) {
    NAME(dots)(COLUMN_ROWS, run, a, b, c);
    a += COLUMN_ROWS * run->a_row;
    c += COLUMN_ROWS * run->c_row;
  }
  for (; rows; rows--) {
    NAME(dots)(1, run, a, b, c);
    a += run->a_row;
    c += run->c_row;
  }
}
