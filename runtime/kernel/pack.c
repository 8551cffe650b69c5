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

/* Rows of B that are contiguous are copied as they are; any others column by column in blocks of
 * ROWS rows, so that both sides stay in the first cache. */
#define PACK(T)                                                                                    \
  enum { ROWS = 16 };                                                                              \
  const T *from = (const T *)b.data + (ptrdiff_t)j * b.col;                                        \
  if (b.col == 1 && width == panel) {                                                              \
    for (size_t p = first_p; p < end_p; p++, to += panel)                                          \
      memcpy(to, from + (ptrdiff_t)p * b.row, panel * sizeof(T));                                  \
    continue;                                                                                      \
  }                                                                                                \
  for (size_t p = first_p; p < end_p; p += ROWS) {                                                 \
    size_t rows = end_p - p < ROWS ? end_p - p : ROWS;                                             \
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
