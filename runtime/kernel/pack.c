/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Packing: copying a matrix into panels of columns. */
#include "runtime/kernel/tile.h"

enum { PART = 1 << 16 }; /* elements of a part, about */

size_t hiaR_packed_size(hia_dtype dtype, size_t k, size_t n) {
  const hia_tile_set *tiles = hiaR_tile_set(dtype);
  size_t panel = hiaR_panel(tiles, n), columns, size;
  if (!hiaR_add(n, panel - 1, &columns)) return SIZE_MAX;
  columns = columns / panel * panel;
  if (!hiaR_mul(columns, k, &size) || !hiaR_mul(size, hiaR_element(dtype), &size) ||
      !hiaR_add(size, 63, &size))
    return SIZE_MAX;
  return size / 64 * 64;
}

static size_t count_panels(hia_dtype dtype, size_t n) {
  size_t panel = hiaR_panel(hiaR_tile_set(dtype), n);
  return n / panel + (n % panel != 0);
}

/* How a matrix is cut into parts: into groups of panels, each of which is cut along k if it is a
 * long panel. */
typedef struct cut {
  size_t panel;          /* its columns */
  size_t panels, groups; /* in all */
  size_t each;           /* panels of a group; 1 if pieces > 1 */
  size_t pieces;         /* of a group */
} cut;

static cut cut_of(hia_dtype dtype, size_t k, size_t n) {
  cut c = {.panel = hiaR_panel(hiaR_tile_set(dtype), n), .panels = count_panels(dtype, n)};
  size_t rows = PART / c.panel; /* of a part */
  c.each = k > 0 && k < rows ? rows / k : 1;
  c.pieces = k > rows ? k / rows + (k % rows != 0) : 1;
  c.groups = c.panels / c.each + (c.panels % c.each != 0);
  return c;
}

size_t hiaR_pack_parts(hia_dtype dtype, size_t k, size_t n) {
  cut c = cut_of(dtype, k, n);
  return c.groups * c.pieces;
}

enum { ROWS = 16, QUAD = 4 };

typedef uint32_t quad __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

#define EVEN(a, b) ((quad)__builtin_shufflevector((a), (b), 0, 4, 1, 5))
#define ODD(a, b)  ((quad)__builtin_shufflevector((a), (b), 2, 6, 3, 7))
#define LOW(a, b)  __builtin_shufflevector((halves)(a), (halves)(b), 0, 2)
#define HIGH(a, b) __builtin_shufflevector((halves)(a), (halves)(b), 1, 3)

/* Four rows of four columns, which are contiguous: a transposition in registers. */
static inline void pack_quad(const uint32_t *from, ptrdiff_t col, uint32_t *to, size_t panel) {
  quad in[QUAD];
  for (int i = 0; i < QUAD; i++) memcpy(&in[i], from + i * col, sizeof *in);
  const quad a = EVEN(in[0], in[1]), b = EVEN(in[2], in[3]), c = ODD(in[0], in[1]),
             d = ODD(in[2], in[3]);
  const halves out[QUAD] = {LOW(a, b), HIGH(a, b), LOW(c, d), HIGH(c, d)};
  for (size_t r = 0; r < QUAD; r++) memcpy(to + r * panel, &out[r], sizeof *out);
}

/* Rows of a panel whose columns are contiguous: a multiple of QUAD, and so few that each line is
 * used as a whole while it is in the first cache. */
static void pack_columns(const uint32_t *from, ptrdiff_t col, size_t rows, uint32_t *to,
                         size_t panel) {
  for (size_t i = 0; i < panel; i += QUAD)
    for (size_t r = 0; r < rows; r += QUAD)
      pack_quad(from + (ptrdiff_t)i * col + r, col, to + r * panel + i, panel);
}

/* Rows of B that are contiguous are copied as they are; any others column by column in blocks of
 * ROWS rows, so that both sides stay in the first cache. */
#define PACK(T)                                                                                    \
  const T *from = (const T *)b.data + (ptrdiff_t)j * b.col;                                        \
  if (b.col == 1 && width == panel) {                                                              \
    for (size_t p = first_p; p < end_p; p++, to += panel)                                          \
      memcpy(to, from + (ptrdiff_t)p * b.row, panel * sizeof(T));                                  \
    continue;                                                                                      \
  }                                                                                                \
  for (size_t p = first_p; p < end_p; p += ROWS) {                                                 \
    size_t rows = end_p - p < ROWS ? end_p - p : ROWS;                                             \
    if (sizeof(T) == sizeof(uint32_t) && b.row == 1 && width == panel && rows % QUAD == 0) {       \
      pack_columns((const void *)(from + p), b.col, rows, (void *)to, panel);                      \
      to += rows * panel;                                                                          \
      continue;                                                                                    \
    }                                                                                              \
    for (size_t i = 0; i < width; i++) {                                                           \
      const T *at = from + (ptrdiff_t)p * b.row + (ptrdiff_t)i * b.col;                            \
      for (size_t r = 0; r < rows; r++) to[r * panel + i] = at[(ptrdiff_t)r * b.row];              \
    }                                                                                              \
    for (size_t r = 0; r < rows; r++)                                                              \
      for (size_t i = width; i < panel; i++) to[r * panel + i] = 0;                                \
    to += rows * panel;                                                                            \
  }

static void pack_32(size_t panel, size_t n, hia_matrix b, size_t first, size_t end, size_t first_p,
                    size_t end_p, uint32_t *to) {
  for (size_t j = first * panel; j < end * panel && j < n; j += panel) {
    size_t width = n - j < panel ? n - j : panel;
    PACK(uint32_t)
  }
}

static void pack_64(size_t panel, size_t n, hia_matrix b, size_t first, size_t end, size_t first_p,
                    size_t end_p, uint64_t *to) {
  for (size_t j = first * panel; j < end * panel && j < n; j += panel) {
    size_t width = n - j < panel ? n - j : panel;
    PACK(uint64_t)
  }
}

void hiaR_pack_panels(hia_dtype dtype, size_t n, hia_matrix b, size_t first, size_t end,
                      size_t first_p, size_t end_p, void *packed) {
  size_t panel = hiaR_panel(hiaR_tile_set(dtype), n);
  if (hiaR_element(dtype) == 4)
    pack_32(panel, n, b, first, end, first_p, end_p, packed);
  else
    pack_64(panel, n, b, first, end, first_p, end_p, packed);
}

void hiaR_pack_part(hia_dtype dtype, size_t k, size_t n, hia_matrix b, void *packed, size_t part) {
  cut c = cut_of(dtype, k, n);
  size_t first = part / c.pieces * c.each, piece = part % c.pieces, rows = k / c.pieces,
         end = c.panels - first < c.each ? c.panels : first + c.each, first_p = piece * rows,
         end_p = piece + 1 == c.pieces ? k : first_p + rows;
  size_t at = (first * k + first_p) * c.panel * hiaR_element(dtype);
  hiaR_pack_panels(dtype, n, b, first, end, first_p, end_p, (char *)packed + at);
}

void hiaR_pack(hia_dtype dtype, size_t k, size_t n, hia_matrix b, void *packed) {
  hiaR_pack_panels(dtype, n, b, 0, count_panels(dtype, n), 0, k, packed);
}
