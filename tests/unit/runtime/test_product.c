/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* product: every kernel that this machine can run gives the bits of the definition, for all small
 * shapes and some larger ones, packed or not, whole or in pieces, and touches nothing else. */
#include "runtime/kernel/tile.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const kernels[] = {"plain", "avx2", "avx512"};
static const hia_dtype dtypes[] = {HIA_F32, HIA_F64, HIA_I32, HIA_I64};

static uint64_t state = 1;
static uint64_t random_bits(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state ^ state >> 29;
}
static size_t random_below(size_t n) { return (size_t)(random_bits() >> 16) % n; }

/* Exponents in a range around 0; now and then a zero of either sign, or anything. */
static void fill(hia_dtype dtype, void *at, size_t n, int exponents) {
  for (size_t i = 0; i < n; i++) {
    uint64_t bits = random_bits();
    double x = ldexp((double)(int64_t)bits / 9.3e18,
                     (int)random_below(2 * (size_t)exponents + 1) - exponents);
    if (random_below(50) == 0) x = bits & 1 ? 0.0 : -0.0;
    switch (dtype) {
    case HIA_F32: ((float *)at)[i] = (float)x; break;
    case HIA_F64: ((double *)at)[i] = x; break;
    case HIA_I32: ((uint32_t *)at)[i] = (uint32_t)bits; break;
    default: ((uint64_t *)at)[i] = bits;
    }
  }
}

/* The definition. */
static void reference(const hia_product *p, char *out) {
  for (size_t i = 0; i < p->m; i++)
    for (size_t j = 0; j < p->n; j++) {
      size_t element = hiaR_element(p->dtype), at = ((i * (size_t)p->c_row) + j) * element;
      const char *a = (const char *)p->a.data + (ptrdiff_t)i * p->a.row * (ptrdiff_t)element;
      const char *b = (const char *)p->b.data + (ptrdiff_t)j * p->b.col * (ptrdiff_t)element;
      if (p->is_added && p->k == 0) continue;
#define SUM(T, FMA, ONE)                                                                           \
  T acc = 0;                                                                                       \
  if (p->is_added) memcpy(&acc, out + at, sizeof acc);                                             \
  for (size_t q = 0; q < p->k; q++)                                                                \
    acc = FMA(((const T *)a)[(ptrdiff_t)q * p->a.col], ((const T *)b)[(ptrdiff_t)q * p->b.row],    \
              acc);                                                                                \
  acc = ONE(acc);                                                                                  \
  memcpy(out + at, &acc, sizeof acc)
#define WRAP(x, y, z) ((x) * (y) + (z))
#define SAME(x)       (x)
#define NAN_32(x)     (isnan(x) ? nanf("") : (x))
#define NAN_64(x)     (isnan(x) ? nan("") : (x))
      switch (p->dtype) {
      case HIA_F32: {
        SUM(float, fmaf, NAN_32);
      } break;
      case HIA_F64: {
        SUM(double, fma, NAN_64);
      } break;
      case HIA_I32: {
        SUM(uint32_t, WRAP, SAME);
      } break;
      default: {
        SUM(uint64_t, WRAP, SAME);
      }
      }
    }
}

static void *block(size_t size) { /* exactly so many bytes, aligned to 64 if they are many */
  void *p = NULL;
  cr_assert(posix_memalign(&p, 64, size ? size : 1) == 0);
  return p;
}

/* Matrices end where their memory ends, before a page without access: their begin is not aligned.
 */
typedef struct operand {
  char *memory;
  size_t size;
  hia_matrix matrix;
} operand;
static operand matrix(hia_dtype dtype, size_t rows, size_t cols, bool is_transposed, size_t gap,
                      int exponents) {
  size_t outer = is_transposed ? cols : rows, inner = is_transposed ? rows : cols,
         stride = inner + gap, n = outer && inner ? (outer - 1) * stride + inner : 0,
         bytes = n * hiaR_element(dtype), page = (size_t)sysconf(_SC_PAGESIZE),
         size = (bytes + page - 1) / page * page + page;
  char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert(memory != MAP_FAILED);
  char *data = memory + size - page - bytes;
  fill(dtype, data, n, exponents);
  cr_assert(mprotect(memory + size - page, page, PROT_NONE) == 0);
  ptrdiff_t s = (ptrdiff_t)stride;
  return (operand){memory, size, {data, is_transposed ? 1 : s, is_transposed ? s : 1}};
}
static void unmap(operand *o) { cr_assert(munmap(o->memory, o->size) == 0); }

enum { GUARD = 5 };

/* Computes the product with all kernels and in all ways. C's rows have gaps between them
 * where `gap`, the elements between rows of the operands, is odd. */
static void check(hia_product p, int exponents, size_t offset, size_t gap, bool is_a_transposed,
                  bool is_b_transposed) {
  size_t element = hiaR_element(p.dtype);
  operand a = matrix(p.dtype, p.m, p.k, is_a_transposed, gap, exponents),
          b = matrix(p.dtype, p.k, p.n, is_b_transposed, gap, exponents);
  p.a = a.matrix;
  p.b = b.matrix;
  size_t row = p.n + (gap % 2 ? GUARD : 0);
  p.c_row = (ptrdiff_t)row;
  size_t size = (2 * GUARD + offset + p.m * row) * element;
  char *first = malloc(size), *right = malloc(size), *c = malloc(size);
  cr_assert(first && right && c);
  fill(p.dtype, first, size / element, exponents);
  memcpy(right, first, size);
  reference(&p, right + (GUARD + offset) * element);
  for (size_t i = 0; i < HIA_LEN(kernels); i++) {
    if (!hiaR_product_use(kernels[i])) continue;
    /* Packed; divided among three workers; as a sum of outer products; in as little memory as can
     * be. */
    bool can_be_outer =
        p.k && p.a.row == 1 && p.b.col == 1 && p.dtype != HIA_I32 && p.dtype != HIA_I64;
    for (unsigned how = 0; how < 16; how++) {
      if ((how & 4 && (how & 1 || !can_be_outer)) || (how & 8 && how & 2)) continue;
      void *packed = NULL;
      const char *starts[2][how & 4 ? p.k : 1];
      if (how & 4) {
        for (size_t k = 0; k < p.k; k++) {
          starts[0][k] = (const char *)p.a.data + k * (size_t)p.a.col * element;
          starts[1][k] = (const char *)p.b.data + k * (size_t)p.b.row * element;
        }
      } else if (how & 1) {
        packed = block(hiaR_packed_size(p.dtype, p.k, p.n));
        hiaR_pack(p.dtype, p.k, p.n, p.b, packed);
      }
      p.packed = packed;
      p.a_at = how & 4 ? starts[0] : NULL;
      p.b_at = how & 4 ? starts[1] : NULL;
      memcpy(c, first, size);
      p.c = c + (GUARD + offset) * element;
      hia_product_plan plan;
      hiaR_product_plan(&p, &plan);
      if (how & 2) hiaR_product_divide(&p, &plan, 3);
      while (how & 8 && hiaR_product_shrink(&p, &plan)) continue;
      void *scratch = block(plan.scratch);
      for (size_t part = plan.parts; part-- > 0;) /* any order */
        for (size_t slab = 0; slab < plan.slabs; slab++)
          hiaR_product_slab(&p, &plan, part, slab, scratch);
      if (memcmp(c, right, size) != 0)
        for (size_t e = 0; e < size; e += element)
          cr_assert(memcmp(c + e, right + e, element) == 0,
                    "%s: %zu x %zu x %zu, dtype %d, way %u, added %d, transposed %d %d: at %zu "
                    "%016llx, not %016llx",
                    kernels[i], p.m, p.k, p.n, p.dtype, how, p.is_added, is_a_transposed,
                    is_b_transposed, e / element - GUARD - offset,
                    *(unsigned long long *)(c + e / 8 * 8),
                    *(unsigned long long *)(right + e / 8 * 8));
      free(scratch);
      free(packed);
    }
  }
  cr_assert(hiaR_product_use(NULL));
  free(first);
  free(right);
  free(c);
  unmap(&a);
  unmap(&b);
}

static void small_shapes(hia_dtype dtype) {
  static const size_t ms[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 29, 71},
                      ks[] = {0, 1, 2, 7, 9, 33};
  size_t i = 0;
  for (size_t m = 0; m < HIA_LEN(ms); m++)
    for (size_t n = 0; n < 150; n += n < 36 ? 1 : n < 70 ? 3 : 17)
      for (size_t k = 0; k < HIA_LEN(ks); k++, i++) {
        if (HIA_TEST_SHARE > 1 && i % (5 * HIA_TEST_SHARE)) continue;
        check((hia_product){.dtype = dtype, .m = ms[m], .n = n, .k = ks[k], .is_added = i % 3 == 0},
              10, i % 4, i % 5, i % 2, i % 7 >= 4);
      }
}
Test(product, small_f32) { small_shapes(HIA_F32); }
Test(product, small_f64) { small_shapes(HIA_F64); }
Test(product, small_i32) { small_shapes(HIA_I32); }
Test(product, small_i64) { small_shapes(HIA_I64); }

/* 4 x 4 on the right: several rows in a vector, where nothing lies between them. */
Test(product, quads) {
  static const size_t ms[] = {1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 35, 71, 1000};
  for (size_t i = 0; i < 8 * HIA_LEN(ms); i++)
    check((hia_product){.dtype = dtypes[i % 4], .m = ms[i / 8], .n = 4, .k = 4},
          i % 8 < 4 ? 3 : 600, i % 3,
          i % 16 == 5   ? 1
          : i % 16 == 4 ? 2
                        : 0,
          i % 32 == 9, i % 5 < 2);
}

/* Several parts and several slabs. */
Test(product, large) {
  for (size_t i = 0; i < 48 / HIA_TEST_SHARE; i++) {
    static const size_t sizes[] = {1, 2, 8, 33, 64, 150, 300, 750, 1300};
    size_t m = sizes[random_below(9)], n = sizes[random_below(9)], k = sizes[random_below(9)];
    if (m * n * k > 20000000 / HIA_TEST_SHARE) continue;
    check((hia_product){.dtype = dtypes[i % 4], .m = m, .n = n, .k = k, .is_added = i % 2}, 3,
          i % 3, i % 5, random_below(2), random_below(2));
  }
  check((hia_product){.dtype = HIA_F32, .m = 2, .n = 40, .k = 5000}, 3, 1, 1, false, false);
  check((hia_product){.dtype = HIA_F64, .m = 1, .n = 1, .k = 5000}, 3, 1, 1, false, true);
  check((hia_product){.dtype = HIA_F32, .m = 3, .n = 9000, .k = 40}, 3, 1, 1, false, false);
}

/* Overflow, results below the normal numbers, infinities, NaNs of many payloads. */
Test(product, extremes) {
  for (size_t i = 0; i < 400 / HIA_TEST_SHARE; i++) {
    hia_dtype dtype = dtypes[i % 2];
    check((hia_product){.dtype = dtype,
                        .m = 1 + i % 9,
                        .n = 1 + i % 37,
                        .k = 1 + i % 5,
                        .is_added = i % 3 == 0},
          dtype == HIA_F32 ? 80 : 540, 0, 0, false, i % 5 == 0);
  }
  uint32_t a[6] = {0x7f800000, 0xff800000, 0x7fc12345, 0xffc54321, 0x7f812345, 0x80000000};
  uint32_t b[6] = {0x80000000, 0xffffffff, 0x7f800000, 0x3f800000, 0x00000001, 0xff800000};
  for (size_t i = 0; i < HIA_LEN(kernels); i++) {
    if (!hiaR_product_use(kernels[i])) continue;
    uint32_t c[36];
    hia_product p = {.dtype = HIA_F32,
                     .m = 6,
                     .n = 6,
                     .k = 1,
                     .a = {a, 1, 1},
                     .b = {b, 1, 1},
                     .c = c,
                     .c_row = 6};
    hia_product_plan plan;
    hiaR_product_plan(&p, &plan);
    hiaR_product_run(&p, &plan, NULL);
    for (size_t e = 0; e < 36; e++) {
      float x, y;
      memcpy(&x, &a[e / 6], 4);
      memcpy(&y, &b[e % 6], 4);
      if (isnan(x * y))
        cr_assert_eq(c[e], 0x7fc00000u, "%s: %08x * %08x: %08x", kernels[i], a[e / 6], b[e % 6],
                     c[e]);
    }
  }
  cr_assert(hiaR_product_use(NULL));
}

/* One multiplication and addition each, with operands that are likely to be rounded twice where
 * that is possible: short products, and sums that are halfway or next to it. */
Test(product, rounds_once) {
  enum { N = 300000 / HIA_TEST_SHARE };
  for (size_t i = 0; i < HIA_LEN(kernels); i++) {
    if (!hiaR_product_use(kernels[i])) continue;
    for (size_t t = 0; t < N; t++) {
      float x = ldexpf((float)(1 + random_below(1 << 24)), (int)random_below(60) - 50),
            y = ldexpf((float)(1 + random_below(1 << (1 + random_below(24)))),
                       (int)random_below(60) - 120),
            z = ldexpf((float)(1 + random_below(1 << (1 + random_below(24)))),
                       (int)random_below(90) - 149);
      if (random_below(4) == 0)
        z = (float)((double)x * (double)y) * (random_below(2) ? 1.0f : -1.0f);
      if (random_below(2)) x = -x;
      float right = fmaf(x, y, z), c = z;
      hia_product p = {.dtype = HIA_F32,
                       .m = 1,
                       .n = 1,
                       .k = 1,
                       .is_added = true,
                       .a = {&x, 1, 1},
                       .b = {&y, 1, 1},
                       .c = &c,
                       .c_row = 1};
      hia_product_plan plan;
      hiaR_product_plan(&p, &plan);
      hiaR_product_run(&p, &plan, NULL);
      cr_assert(memcmp(&c, &right, 4) == 0, "%s: fma(%a, %a, %a) is %a, not %a", kernels[i],
                (double)x, (double)y, (double)z, (double)c, (double)right);
    }
  }
  cr_assert(hiaR_product_use(NULL));
}

Test(product, negative_and_zero_strides) {
  static const float a[4] = {1, 2, 3, 4}, b[6] = {10, 20, 30, 40, 50, 60};
  for (size_t i = 0; i < HIA_LEN(kernels); i++) {
    if (!hiaR_product_use(kernels[i])) continue;
    float c[6];
    hia_product_plan plan;
    /* [4 3; 2 1] @ [60 50 40; 60 50 40] */
    hia_product p = {.dtype = HIA_F32,
                     .m = 2,
                     .n = 3,
                     .k = 2,
                     .a = {a + 3, -2, -1},
                     .b = {b + 5, 0, -1},
                     .c = c + 3,
                     .c_row = -3};
    hiaR_product_plan(&p, &plan);
    void *scratch = block(plan.scratch);
    hiaR_product_run(&p, &plan, scratch);
    static const float right[6] = {180, 150, 120, 420, 350, 280};
    cr_assert(memcmp(c, right, sizeof c) == 0, "%s: %g %g", kernels[i], (double)c[0], (double)c[3]);
    free(scratch);
  }
  cr_assert(hiaR_product_use(NULL));
}

/* Whole or in parts, packed matrices are the same bytes. */
Test(product, packing_in_parts) {
  static const size_t sizes[][2] = {{0, 5}, {5, 0}, {1, 1}, {300, 750}, {5000, 70}, {3, 5000}};
  for (size_t i = 0; i < HIA_LEN(kernels); i++) {
    if (!hiaR_product_use(kernels[i])) continue;
    for (size_t s = 0; s < HIA_LEN(sizes); s++)
      for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
        size_t k = sizes[s][0], n = sizes[s][1], size = hiaR_packed_size(dtypes[s % 2], k, n);
        operand b = matrix(dtypes[s % 2], k, n, is_transposed, 3, 5);
        char *whole = block(size), *parts = block(size);
        memset(whole, 1, size);
        memset(parts, 1, size);
        hiaR_pack(dtypes[s % 2], k, n, b.matrix, whole);
        for (size_t part = hiaR_pack_parts(dtypes[s % 2], k, n); part-- > 0;)
          hiaR_pack_part(dtypes[s % 2], k, n, b.matrix, parts, part);
        cr_assert(memcmp(whole, parts, size) == 0);
        free(whole);
        free(parts);
        unmap(&b);
      }
  }
  cr_assert(hiaR_product_use(NULL));
  cr_assert_eq(hiaR_packed_size(HIA_F64, SIZE_MAX / 4, 3), SIZE_MAX);
  cr_assert_eq(hiaR_packed_size(HIA_F32, 1, SIZE_MAX), SIZE_MAX);
}

/* Whatever the sizes: a part is bounded, also one of few columns and many rows. */
Test(product, parts_of_packing_are_short) {
  static const size_t sizes[][2] = {{1 << 20, 30},  {1 << 20, 1}, {1 << 24, 8},
                                    {1000, 100000}, {1, 1 << 20}, {65537, 64}};
  for (size_t i = 0; i < HIA_LEN(sizes); i++)
    for (int d = 0; d < 2; d++) {
      size_t bytes = hiaR_packed_size(dtypes[d], sizes[i][0], sizes[i][1]),
             parts = hiaR_pack_parts(dtypes[d], sizes[i][0], sizes[i][1]);
      cr_assert_leq(bytes / parts, 2 * 8 << 16, "%zu x %zu", sizes[i][0], sizes[i][1]);
    }
}

/* A slab has a bounded number of multiplications. */
Test(product, slabs_are_short) {
  for (size_t i = 0; i < 3000; i++) {
    hia_product p = {.dtype = dtypes[i % 4],
                     .m = 1 + random_below((size_t)1 << random_below(15)),
                     .n = 1 + random_below((size_t)1 << random_below(15)),
                     .k = 1 + random_below((size_t)1 << random_below(20)),
                     .b = {NULL, 1, 1},
                     .packed = i % 3 ? "" : NULL};
    hia_product_plan plan;
    if (i % 2)
      p.b.row = 1 << 16;
    else
      p.b.col = 1 << 16;
    cr_assert(hiaR_product_use(i % 3 == 0 ? "plain" : NULL));
    hiaR_product_plan(&p, &plan);
    double each =
        (double)p.m * (double)p.n * (double)p.k / ((double)plan.parts * (double)plan.slabs);
    cr_assert_leq(each, 1 << 22);
    cr_assert_geq(plan.parts, 1);
    /* And not too short: a part has some work if there is any. */
    if (plan.parts > 1 && i % 3) cr_assert_geq(each, 1 << 14, "%zu %zu %zu", p.m, p.n, p.k);
  }
  cr_assert(hiaR_product_use(NULL));
}

Test(product, kernels_by_name) {
  cr_assert(hiaR_product_use("plain"));
  cr_assert_str_eq(hiaR_product_kernels(), "plain");
  cr_assert(!hiaR_product_use("none"));
  cr_assert(hiaR_product_use(NULL));
}
