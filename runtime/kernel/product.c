/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products: what order of tiles makes a product. */
#include "runtime/kernel/tile.h"

/* How B is read. */
enum {
  WAY_ZERO,    /* not at all: k is 0 */
  WAY_PANELS,  /* by tiles, packed by the caller */
  WAY_DIRECT,  /* by tiles, as it lies: its rows are contiguous */
  WAY_OUTER,   /* by tiles: a sum of outer products */
  WAY_QUADS,   /* k and n are 4, and the rows of A and C have no gaps: several rows a vector */
  WAY_PACKING, /* by tiles; each slab packs what it reads */
  WAY_COLUMN,  /* C has one column */
  WAY_ROW      /* C has one row, and B's columns are no further apart than its rows: C's transpose
                  has one column */
};

enum {
  ROWS = 70,       /* of a part, unless B is small: five tiles of AVX-512's */
  SLAB = 512,      /* of k, about: a slab's rows of A and panel of B fit the second cache */
  READ = 1 << 18,  /* elements of B that a slab reads, at most */
  ALONE = 1 << 18, /* multiplications of a slab of WAY_COLUMN */
  QUADS = 8,       /* rows from which on WAY_QUADS is faster than WAY_DIRECT */
};

static size_t ceiling(size_t a, size_t b) { return a / b + (a % b != 0); }
/* Where part i of n items begins, parts being equal but for 1. */
static size_t begin_of(size_t n, size_t parts, size_t i) {
  return n / parts * i + (i < n % parts ? i : n % parts);
}

static bool is_of_quads(const hia_product *p) {
  return p->k == 4 && p->n == 4 && p->m >= QUADS && p->a.col == 1 && p->a.row == 4 &&
         p->c_row == 4 && !p->is_added && hiaR_tile_set(p->dtype)->quads;
}

static uint8_t way_of(const hia_product *p) {
  if (p->k == 0) return WAY_ZERO;
  if (p->a_at) return WAY_OUTER;
  if (p->packed) return WAY_PANELS;
  if (is_of_quads(p)) return WAY_QUADS;
  if (p->n == 1) return WAY_COLUMN;
  if (p->b.col == 1) return WAY_DIRECT;
  if (p->m == 1) return WAY_ROW;
  return WAY_PACKING;
}

bool hiaR_product_packs(const hia_product *p) {
  uint8_t way = way_of(p);
  return way == WAY_DIRECT || way == WAY_PACKING ? p->m > ROWS : false;
}

/* The bytes of the panels of B that a slab packs. */
static size_t scratch_of(const hia_product_plan *plan, size_t panels, size_t element) {
  size_t k = plan->k_slab ? plan->k_slab : 1;
  return ceiling(ceiling(panels, plan->col_parts) * plan->group * k * element, 64) * 64;
}

bool hiaR_product_shrink(const hia_product *p, hia_product_plan *plan) {
  size_t panels = plan->group ? ceiling(p->n, plan->group) : 0;
  if (plan->way != WAY_PACKING || plan->col_parts >= panels) return false;
  plan->col_parts = 2 * plan->col_parts < panels ? 2 * plan->col_parts : panels;
  plan->scratch = scratch_of(plan, panels, hiaR_element(p->dtype));
  plan->parts = plan->row_parts * plan->col_parts;
  return true;
}

bool hiaR_product_is_better_turned(hia_dtype dtype, size_t m, size_t n) {
  size_t lanes = hiaR_tile_set(dtype)->lanes;
  return ceiling(m, lanes) * lanes * n <= ceiling(n, lanes) * lanes * m / 8 * 7;
}

void hiaR_product_plan(const hia_product *p, hia_product_plan *plan) {
  *plan = (hia_product_plan){.way = way_of(p), .slabs = 1};
  if (p->m == 0 || p->n == 0) return;
  if (p->k == 0 && p->is_added) return;
  size_t work = hiaR_tiles()->work, element = hiaR_element(p->dtype);
  if (element == 8) work /= 2;
  if (p->k <= SLAB && p->m <= ROWS && plan->way < WAY_PACKING && p->m * p->k <= work &&
      p->n <= READ && p->n * p->k <= READ && p->m * p->k * p->n <= work) { /* mostly: one slab */
    plan->k_slab = p->k;
    plan->group = hiaR_panel(hiaR_tile_set(p->dtype), p->n);
    plan->parts = plan->row_parts = plan->col_parts = 1;
    return;
  }
  if (p->k > SLAB + SLAB / 4) plan->slabs = ceiling(p->k, SLAB);
  plan->k_slab = ceiling(p->k, plan->slabs);
  size_t k = plan->k_slab ? plan->k_slab : 1;
  if (plan->way == WAY_COLUMN || plan->way == WAY_ROW) {
    size_t rows = plan->way == WAY_COLUMN ? p->m : p->n;
    size_t each = (work < ALONE ? work : ALONE) / k;
    plan->row_parts = plan->way == WAY_COLUMN ? ceiling(rows, each ? each : 1) : 1;
    plan->col_parts = plan->way == WAY_COLUMN ? 1 : ceiling(rows, each ? each : 1);
    plan->group = 1;
  } else {
    size_t panel = hiaR_panel(hiaR_tile_set(p->dtype), p->n), panels = ceiling(p->n, panel);
    size_t most_rows = work / k / (panels * panel);
    plan->row_parts = ceiling(p->m, most_rows > ROWS ? most_rows : ROWS);
    size_t rows = ceiling(p->m, plan->row_parts), most = work / rows < READ ? work / rows : READ;
    size_t each = most / k / panel;
    plan->col_parts = ceiling(panels, each ? each : 1);
    plan->group = panel;
    if (plan->way == WAY_PACKING) plan->scratch = scratch_of(plan, panels, element);
  }
  plan->parts = plan->row_parts * plan->col_parts;
}

void hiaR_product_divide(const hia_product *p, hia_product_plan *plan, size_t n) {
  bool has_panels = plan->way == WAY_PANELS || plan->way == WAY_DIRECT || plan->way == WAY_QUADS ||
                    plan->way == WAY_OUTER;
  if (!plan->parts || !has_panels) return;
  if (p->m >= n * ROWS / 2) {
    plan->row_parts = ceiling(plan->row_parts, n) * n;
  } else {
    size_t panels = ceiling(p->n, plan->group), parts = ceiling(plan->col_parts, n) * n;
    plan->col_parts = parts < panels ? parts : panels;
  }
  plan->parts = plan->row_parts * plan->col_parts;
}

/* The rows of C that a tile has, and any number of columns, which are divided evenly among the
 * fewest tiles, a panel being the unit. a, b and c are of the first row and column. */
static void tile_across(const hia_tile_set *set, const hia_tile_run *run, unsigned rows,
                        size_t columns, const char *a, const char *b, char *c) {
  const size_t vectors = (columns - 1) / set->lanes + 1;
  const unsigned last = (unsigned)(columns - (vectors - 1) * set->lanes),
                 widest = set->widest[rows];
  hia_tile *const *tile = run->a_at ? set->outer[rows] : set->tile[rows];
  if (vectors <= widest) {
    tile[vectors - 1](run, a, b, c, last);
    return;
  }
  size_t across = (vectors - 1) / widest + 1, panels = (vectors + 1) / 2, each = panels / across,
         more = panels % across; /* so many have one panel more */
  for (size_t left = vectors; left > 0; across--) {
    size_t width = 2 * (each + (more > 0));
    if (more > 0) more--;
    bool is_last = width >= left;
    if (is_last) width = left;
    tile[width - 1](run, a, b, c, is_last ? last : set->lanes);
    left -= width;
    b += (ptrdiff_t)(width / 2) * run->b_panel;
    c += width * set->vector;
  }
}

/* Some rows of C, as many as a tile of set->tile has, or fewer. */
static void tile_columns(const hia_tile_set *set, const hia_tile_run *run, unsigned rows,
                         size_t columns, const char *a, const char *b, char *c) {
  while (rows) {
    unsigned r = rows;
    while (run->a_at && !set->outer[r][0]) r--;
    tile_across(set, run, r, columns, a, b, c);
    a += (ptrdiff_t)r * run->a_row;
    c += (ptrdiff_t)r * run->c_row;
    rows -= r;
  }
}

/* True if reading and writing C takes much of the time, and C is wide: it is then best done along
 * C's rows. Of tiles of 2, 4, 6 and 14 rows, those of 6 are the fastest. */
static bool is_short(const hia_tile_set *set, size_t k, size_t columns) {
  return k <= 64 && columns >= 4 * (size_t)set->lanes;
}

/* Does so for any number of rows, in blocks of at most `highest` rows, which are even but for one.
 * All rows use as many columns as their tile has before the next, which therefore stay in a cache.
 */
static void tile_block(const hia_tile_set *set, const hia_tile_run *run, size_t rows,
                       unsigned highest, size_t columns, const char *a, const char *b, char *c) {
  if (rows <= highest) {
    tile_columns(set, run, (unsigned)rows, columns, a, b, c);
    return;
  }
  const size_t blocks = (rows - 1) / highest + 1;
  const unsigned each = (unsigned)(rows / blocks);
  if (is_short(set, run->k, columns)) {
    for (size_t t = 0; t < blocks; t++) {
      unsigned r = each + (t < rows % blocks);
      tile_columns(set, run, r, columns, a, b, c);
      a += (ptrdiff_t)r * run->a_row;
      c += (ptrdiff_t)r * run->c_row;
    }
    return;
  }
  const size_t more = rows % blocks, width = set->widest[each + (more > 0)] * (size_t)set->lanes;
  for (size_t j = 0; j < columns; j += width) {
    size_t w = columns - j < width ? columns - j : width;
    const char *at = a;
    char *to = c;
    for (size_t t = 0; t < blocks; t++) {
      unsigned r = each + (t < more);
      tile_columns(set, run, r, w, at, b, to);
      at += (ptrdiff_t)r * run->a_row;
      to += (ptrdiff_t)r * run->c_row;
    }
    b += (ptrdiff_t)(set->widest[each + (more > 0)] / 2) * run->b_panel;
    c += width / set->lanes * set->vector;
  }
}

static void zero(const hia_product *p, size_t i0, size_t i1, size_t j0, size_t j1, size_t element) {
  for (size_t i = i0; i < i1; i++)
    memset((char *)p->c + ((ptrdiff_t)i * p->c_row + (ptrdiff_t)j0) * (ptrdiff_t)element, 0,
           (j1 - j0) * element);
}

void hiaR_product_slab(const hia_product *p, const hia_product_plan *plan, size_t part, size_t slab,
                       void *scratch) {
  const hia_tile_set *set = hiaR_tile_set(p->dtype);
  const size_t element = hiaR_element(p->dtype), ip = part ? part / plan->col_parts : 0,
               jp = part - ip * plan->col_parts;
  const ptrdiff_t bytes = (ptrdiff_t)element;
  size_t i0 = 0, i1 = p->m, u0 = 0, u1 = 0, j0 = 0, j1 = p->n, p0 = 0, p1 = p->k;
  if (plan->row_parts > 1) {
    i0 = begin_of(p->m, plan->row_parts, ip);
    i1 = begin_of(p->m, plan->row_parts, ip + 1);
  }
  if (plan->col_parts > 1 || plan->way == WAY_PACKING) {
    size_t units = ceiling(p->n, plan->group);
    u0 = begin_of(units, plan->col_parts, jp);
    u1 = begin_of(units, plan->col_parts, jp + 1);
    j0 = u0 * plan->group;
    j1 = u1 * plan->group < p->n ? u1 * plan->group : p->n;
  }
  if (plan->slabs > 1) {
    p0 = begin_of(p->k, plan->slabs, slab);
    p1 = begin_of(p->k, plan->slabs, slab + 1);
  }
  if (plan->way == WAY_ZERO) {
    zero(p, i0, i1, j0, j1, element);
    return;
  }
  hia_tile_run run = {.k = p1 - p0,
                      .a_row = p->a.row * bytes,
                      .a_next = p->a.col * bytes,
                      .b_next = p->b.row * bytes,
                      .c_row = p->c_row * bytes,
                      .is_added = p->is_added || slab > 0};
  const char *a = NULL, *b = NULL;
  char *c = (char *)p->c + (ptrdiff_t)i0 * run.c_row + (ptrdiff_t)j0 * bytes;
  if (plan->way != WAY_OUTER)
    a = (const char *)p->a.data + (ptrdiff_t)i0 * run.a_row + (ptrdiff_t)p0 * run.a_next;
  if (plan->way != WAY_PANELS && plan->way != WAY_OUTER)
    b = (const char *)p->b.data + ((ptrdiff_t)p0 * p->b.row + (ptrdiff_t)j0 * p->b.col) * bytes;
  switch (plan->way) {
  case WAY_COLUMN: set->column(&run, i1 - i0, a, b, c); return;
  case WAY_ROW:
    run.b_next = run.a_next;
    run.a_row = p->b.col * bytes;
    run.a_next = p->b.row * bytes;
    run.c_row = bytes;
    set->column(&run, j1 - j0, b, a, c);
    return;
  case WAY_QUADS: set->quads(i1 - i0, a, b, run.b_next, p->b.col * bytes, c); return;
  case WAY_PANELS:
    run.b_next = (ptrdiff_t)(plan->group * element);
    run.b_panel = run.b_next * (ptrdiff_t)p->k;
    b = (const char *)p->packed + (ptrdiff_t)u0 * run.b_panel + (ptrdiff_t)p0 * run.b_next;
    break;
  case WAY_OUTER:
    run.a_at = p->a_at + p0;
    run.b_at = p->b_at + p0;
    run.a_row = bytes;
    run.b_panel = (ptrdiff_t)(plan->group * element);
    a = run.a_at[0] + i0 * element;
    b = run.b_at[0] + j0 * element;
    break;
  case WAY_DIRECT: run.b_panel = (ptrdiff_t)(plan->group * element); break;
  default:
    hiaR_pack_panels(p->dtype, p->n, p->b, u0, u1, p0, p1, scratch);
    run.b_next = (ptrdiff_t)(plan->group * element);
    run.b_panel = run.b_next * (ptrdiff_t)run.k;
    b = scratch;
  }
  /* Rows of A a multiple of 4 KiB apart share a set of the first cache, which has 8 ways at least.
   */
  unsigned highest = run.a_row % 4096 == 0 && set->rows > 6 ? 6 : set->rows;
  if (is_short(set, run.k, j1 - j0) && highest > 6) highest = 6;
  tile_block(set, &run, i1 - i0, highest, j1 - j0, a, b, c);
}

void hiaR_product_run(const hia_product *p, const hia_product_plan *plan, void *scratch) {
  for (size_t part = 0; part < plan->parts; part++)
    for (size_t slab = 0; slab < plan->slabs; slab++)
      hiaR_product_slab(p, plan, part, slab, scratch);
}
