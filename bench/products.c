/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures products of matrices next to OpenBLAS and to what one core can do at most.
 *
 *   bench_products [--quick | --check] [--weights]
 *
 * The first table has the weights of tree-shaped models, at every number of rows; with --weights it
 * is the only one. All of a row's contenders take turns; figures are medians of processor time.
 * OpenBLAS is opened if it is installed, with one thread. */
#include "bench/harness.h"
#include "runtime/kernel/product.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

double reference_peak_f32(size_t n);
double reference_peak_f64(size_t n);
double reference_read(const void *data, size_t size);

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
enum { MAX_SIDE = 1536, ROUNDS = 15 };

static struct {
  void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                float *, int);
  void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int,
                double, double *, int);
  void (*sgemv)(int, int, int, int, float, const float *, int, const float *, int, float, float *,
                int);
  void (*dgemv)(int, int, int, int, double, const double *, int, const double *, int, double,
                double *, int);
} blas;
static bool has_blas;

static void *symbol(void *library, const char *name) {
  void *f = library ? dlsym(library, name) : NULL;
  if (!f) has_blas = false;
  return f;
}

static void open_blas(void) {
  bench_free_blas();
  void *library = bench_open_blas();
  has_blas = library != NULL;
  *(void **)&blas.sgemm = symbol(library, "cblas_sgemm");
  *(void **)&blas.dgemm = symbol(library, "cblas_dgemm");
  *(void **)&blas.sgemv = symbol(library, "cblas_sgemv");
  *(void **)&blas.dgemv = symbol(library, "cblas_dgemv");
  printf("BLAS: %s\n", bench_blas_text());
  if (!has_blas) puts("no comparison");
}

/* ---- one product, in several ways ---- */

static hia_product now; /* with B as it lies; A is m x k, B k x n, contiguous */
static void *packed, *scratch;
static char *results[3];

static void run_packed(void) {
  hia_product p = now;
  p.packed = packed;
  p.c = results[0];
  hia_product_plan plan;
  hiaR_product_plan(&p, &plan);
  hiaR_product_run(&p, &plan, scratch);
}

/* Both operands are new: B is packed each time, or read as it lies. */
static void run_once(void) {
  hia_product p = now;
  p.c = results[1];
  if (hiaR_product_packs(&p)) {
    hiaR_pack(p.dtype, p.k, p.n, p.b, packed);
    p.packed = packed;
  }
  hia_product_plan plan;
  hiaR_product_plan(&p, &plan);
  hiaR_product_run(&p, &plan, scratch);
}

static void run_blas(void) {
  int m = (int)now.m, n = (int)now.n, k = (int)now.k;
  if (now.dtype == HIA_F32) {
    if (m == 1)
      blas.sgemv(ROW_MAJOR, TRANSPOSED, k, n, 1, now.b.data, n, now.a.data, 1, 0,
                 (float *)results[2], 1);
    else
      blas.sgemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1, now.a.data, k, now.b.data, n, 0,
                 (float *)results[2], n);
  } else if (m == 1)
    blas.dgemv(ROW_MAJOR, TRANSPOSED, k, n, 1, now.b.data, n, now.a.data, 1, 0,
               (double *)results[2], 1);
  else
    blas.dgemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1, now.a.data, k, now.b.data, n, 0,
               (double *)results[2], n);
}

static volatile double sink;
/* The least that the core needs: all multiplications, or reading B, whichever takes longer. */
static void run_bound(void) {
  sink = (now.dtype == HIA_F32 ? reference_peak_f32 : reference_peak_f64)(now.m * now.n * now.k);
}
static void run_read(void) {
  sink = reference_read(packed, hiaR_packed_size(now.dtype, now.k, now.n));
}

enum { OWN, ONCE, BLAS, BOUND, READ, WAYS };
static void (*const ways[WAYS])(void) = {run_packed, run_once, run_blas, run_bound, run_read};

/* Milliseconds of each, medians. */
static void measure(double ms[WAYS]) {
  double samples[WAYS][ROUNDS];
  int repeats[WAYS], rounds = bench_is_quick() ? 1 : ROUNDS;
  for (int w = 0; w < WAYS; w++) {
    ms[w] = NAN;
    if (w == BLAS && !has_blas) continue;
    ways[w]();
    double start = bench_cpu();
    ways[w]();
    double once = bench_cpu() - start;
    repeats[w] = bench_is_quick() || once > 0.3 ? 1 : (int)(0.3 / fmax(once, 1e-4)) + 1;
  }
  for (int r = 0; r < rounds; r++)
    for (int w = 0; w < WAYS; w++) {
      if (w == BLAS && !has_blas) continue;
      double start = bench_cpu();
      for (int i = 0; i < repeats[w]; i++) ways[w]();
      samples[w][r] = (bench_cpu() - start) / repeats[w];
    }
  for (int w = 0; w < WAYS; w++)
    if (w != BLAS || has_blas) ms[w] = bench_median(samples[w], (size_t)rounds);
}

static double element(const void *data, size_t i) {
  return now.dtype == HIA_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void check(const char *row) {
  size_t n = now.m * now.n;
  if (memcmp(results[0], results[1], n * (now.dtype == HIA_F32 ? 4 : 8)) != 0)
    bench_wrong("%s: packed and not packed differ", row);
  double bound = (double)now.k * (now.dtype == HIA_F32 ? 1e-6 : 1e-15);
  for (size_t i = 0; has_blas && i < n; i++)
    if (!(fabs(element(results[0], i) - element(results[2], i)) <= bound)) {
      bench_wrong("%s: element %zu is %g, OpenBLAS's %g", row, i, element(results[0], i),
                  element(results[2], i));
      return;
    }
}

/* How many times as fast as OpenBLAS, with the weights of tree-shaped models; 0: no target. Where
 * 85 per cent of the bound is less, that is the target. */
static double target_of(hia_dtype dtype, size_t m) {
  if (m == 1 || m == 8) return dtype == HIA_F32 ? 1.5 : 1.2;
  if (dtype == HIA_F32 && m == 64) return 1.3;
  return dtype == HIA_F32 && m == 256 ? 1.0 : 0;
}

static void fill(hia_dtype dtype, void *data, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double x = drand48() * 2 - 1;
    if (dtype == HIA_F32)
      ((float *)data)[i] = (float)x;
    else
      ((double *)data)[i] = x;
  }
}

static void table(hia_dtype dtype, void *a, void *b) {
  static const struct {
    size_t k, n;
    bool has_target;
  } shapes[] = {{300, 750, true}, {300, 1500, true},  {150, 150, true},  {25, 25, false},
                {50, 25, false},  {1500, 600, false}, {256, 400, false}, {1024, 1024, false}};
  static const size_t rows[] = {1, 2, 4, 8, 16, 25, 64, 256, 1024};
  printf("\n%s, GFLOP/s\n%-20s %8s %8s %8s %8s", dtype == HIA_F32 ? "f32" : "f64", "rows x k x n",
         "packed", "once", "OpenBLAS", "bound");
  bench_print_target_heading("packed/OpenBLAS");
  printf("%s\n", "packed/bound");
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
      size_t m = rows[r], k = shapes[s].k, n = shapes[s].n;
      if (bench_is_quick() && m * k * n > 4000000) continue;
      now = (hia_product){.dtype = dtype,
                          .m = m,
                          .n = n,
                          .k = k,
                          .a = {a, (ptrdiff_t)k, 1},
                          .b = {b, (ptrdiff_t)n, 1},
                          .c_row = (ptrdiff_t)n};
      fill(dtype, a, m * k);
      fill(dtype, b, k * n);
      hiaR_pack(dtype, k, n, now.b, packed);
      char row[64];
      snprintf(row, sizeof row, "%s %zux%zux%zu", dtype == HIA_F32 ? "f32" : "f64", m, k, n);
      double ms[WAYS], flops = 2e-6 * (double)m * (double)n * (double)k;
      measure(ms);
      check(row);
      double bound = fmax(ms[BOUND], ms[READ]), ratio = ms[BLAS] / ms[OWN];
      bench_target target = BENCH_NO_TARGET;
      if (shapes[s].has_target && target_of(dtype, m) > 0)
        target =
            BENCH_AT_LEAST(fmin(target_of(dtype, m), floor(0.85 * ms[BLAS] / bound * 100) / 100));
      printf("%-20s %8.1f %8.1f %8.1f %8.1f", row + 4, flops / ms[OWN], flops / ms[ONCE],
             flops / ms[BLAS], flops / bound);
      bench_print_target(row, "packed/OpenBLAS", ratio, 2, target);
      printf(" %6.2f\n", bound / ms[OWN]);
      fflush(stdout);
    }
}

/* ---- the weights of tree-shaped models, at every number of rows ---- */

/* OpenBLAS at its best: a product of matrices, or one with a vector for each row, with the weight
 * as it lies or transposed. */
enum { OWN_PACKED, GEMM, GEMM_TRANSPOSED, GEMV, GEMV_TRANSPOSED, PEAK, CANDIDATES };
enum { MAX_GEMV_ROWS = 8, WEIGHT_ROUNDS = 9 };

static void candidate(int which, const float *transposed) {
  int m = (int)now.m, n = (int)now.n, k = (int)now.k;
  const float *a = now.a.data, *b = now.b.data;
  float *c = (float *)results[2];
  switch (which) {
  case OWN_PACKED: run_packed(); break;
  case GEMM: blas.sgemm(ROW_MAJOR, PLAIN, PLAIN, m, n, k, 1, a, k, b, n, 0, c, n); break;
  case GEMM_TRANSPOSED:
    blas.sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, m, n, k, 1, a, k, transposed, k, 0, c, n);
    break;
  case GEMV:
    for (int i = 0; i < m; i++)
      blas.sgemv(ROW_MAJOR, TRANSPOSED, k, n, 1, b, n, a + i * k, 1, 0, c + i * n, 1);
    break;
  case GEMV_TRANSPOSED:
    for (int i = 0; i < m; i++)
      blas.sgemv(ROW_MAJOR, PLAIN, n, k, 1, transposed, k, a + i * k, 1, 0, c + i * n, 1);
    break;
  default: sink = reference_peak_f32(now.m * now.n * now.k); break;
  }
}

static bool has_candidate(int which) {
  if (which == OWN_PACKED || which == PEAK) return true;
  return has_blas && (now.m <= MAX_GEMV_ROWS || which < GEMV);
}

/* Milliseconds: the product's own, OpenBLAS's best, and of its multiplications alone. */
static void measure_weight(const float *transposed, double *own, double *best, double *peak) {
  double samples[CANDIDATES][WEIGHT_ROUNDS];
  int repeats[CANDIDATES], rounds = bench_is_quick() ? 1 : WEIGHT_ROUNDS;
  for (int w = 0; w < CANDIDATES; w++) {
    if (!has_candidate(w)) continue;
    candidate(w, transposed);
    double start = bench_cpu();
    candidate(w, transposed);
    double once = bench_cpu() - start;
    repeats[w] = bench_is_quick() || once > 0.2 ? 1 : (int)(0.2 / fmax(once, 1e-4)) + 1;
  }
  for (int r = 0; r < rounds; r++)
    for (int w = 0; w < CANDIDATES; w++) {
      if (!has_candidate(w)) continue;
      double start = bench_cpu();
      for (int i = 0; i < repeats[w]; i++) candidate(w, transposed);
      samples[w][r] = (bench_cpu() - start) / repeats[w];
    }
  *own = bench_median(samples[OWN_PACKED], (size_t)rounds);
  *peak = bench_median(samples[PEAK], (size_t)rounds);
  *best = NAN;
  for (int w = GEMM; w < PEAK; w++)
    if (has_candidate(w)) *best = fmin(*best, bench_median(samples[w], (size_t)rounds));
}

/* The rows of a table: numbers of rows that have one target. */
typedef struct group {
  size_t from, to, every;
  double min;      /* times as fast as OpenBLAS */
  double min_peak; /* of the core's multiplications; 0: reading the weight bounds it */
} group;

static void print_group(const group *g, size_t k, size_t n, const float *transposed, bool fits_l2) {
  double least = NAN, least_peak = NAN, flops = 0, sum = 0;
  size_t least_at = g->from, least_peak_at = g->from, rows = 0;
  for (size_t m = g->from; m <= g->to; m += g->every) {
    double own, best, peak;
    now.m = m;
    /* One of many rows misses by chance, in a slow moment of the machine: it gets three tries. */
    for (int tries = 0; tries < 3; tries++) {
      measure_weight(transposed, &own, &best, &peak);
      bool is_slow = has_blas && best / own < g->min;
      if (!is_slow && (!fits_l2 || peak / own >= g->min_peak)) break;
    }
    flops = 2e-6 * (double)m * (double)n * (double)k;
    sum += flops / own;
    rows++;
    if (has_blas && !(best / own >= least)) least = best / own, least_at = m;
    if (!(peak / own >= least_peak)) least_peak = peak / own, least_peak_at = m;
  }
  char row[64];
  if (g->from == g->to)
    snprintf(row, sizeof row, "%zux%zu, %zu row%s", k, n, g->from, g->from == 1 ? "" : "s");
  else
    snprintf(row, sizeof row, "%zux%zu, %zu to %zu rows", k, n, g->from, g->to);
  printf("%-26s %8.1f", row, sum / (double)rows);
  bench_print_target(row, "least packed/OpenBLAS", least, 2, BENCH_AT_LEAST(g->min));
  printf(" at %4zu", least_at);
  bench_print_target(row, "least packed/peak", least_peak, 2,
                     g->min_peak > 0 && fits_l2 ? BENCH_AT_LEAST(g->min_peak) : BENCH_NO_TARGET);
  printf(" at %4zu\n", least_peak_at);
  fflush(stdout);
}

static void table_of_weights(float *a, float *b, float *transposed) {
  static const size_t shapes[][2] = {{300, 750}, {300, 600}, {150, 750}, {300, 300}, {25, 25}};
  static const group groups[] = {{1, 1, 1, 1.2, 0},      {2, 7, 1, 1.2, 0},
                                 {8, 15, 1, 1.2, 0},     {16, 31, 1, 1.2, 0.85},
                                 {32, 64, 1, 1.2, 0.85}, {65, 257, 64, 1.0, 0.85}};
  long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  printf("\nf32, weights, packed; every number of rows\n%-26s %8s", "k x n", "GFLOP/s");
  bench_print_target_heading("least of OpenBLAS");
  printf("        ");
  bench_print_target_heading("least of peak");
  printf("\n");
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    size_t k = shapes[s][0], n = shapes[s][1];
    now = (hia_product){.dtype = HIA_F32,
                        .n = n,
                        .k = k,
                        .a = {a, (ptrdiff_t)k, 1},
                        .b = {b, (ptrdiff_t)n, 1},
                        .c_row = (ptrdiff_t)n};
    fill(HIA_F32, a, groups[sizeof groups / sizeof *groups - 1].to * k);
    fill(HIA_F32, b, k * n);
    for (size_t i = 0; i < n; i++)
      for (size_t p = 0; p < k; p++) transposed[i * k + p] = b[p * n + i];
    hiaR_pack(HIA_F32, k, n, now.b, packed);
    bool fits_l2 = l2 <= 0 || hiaR_packed_size(HIA_F32, k, n) <= (size_t)l2;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
      group one = groups[g];
      if (bench_is_quick()) one.to = one.from;
      print_group(&one, k, n, transposed, fits_l2);
    }
  }
}

static void *memory(size_t size) {
  void *p = NULL;
  if (posix_memalign(&p, 64, size) != 0) exit(1);
  memset(p, 0, size);
  return p;
}

int main(int argc, char **argv) {
  bool weights_alone = false;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--weights") == 0)
      weights_alone = true;
    else if (!bench_take_option(argv[i])) {
      fputs("usage: bench_products [--quick | --check] [--weights]\n", stderr);
      return 2;
    }
  bench_print_machine();
  bench_pin(true);
  printf("kernels: %s\n", hiaR_product_kernels());
  open_blas();
  size_t size = (size_t)MAX_SIDE * (MAX_SIDE + 64) * 8;
  void *a = memory(size), *b = memory(size);
  packed = memory(size);
  scratch = memory(size);
  for (int i = 0; i < 3; i++) results[i] = memory(size);
  void *transposed = memory(size);
  table_of_weights(a, b, transposed);
  free(transposed);
  if (!weights_alone) {
    table(HIA_F32, a, b);
    table(HIA_F64, a, b);
  }
  free(a);
  free(b);
  free(packed);
  free(scratch);
  for (int i = 0; i < 3; i++) free(results[i]);
  return bench_end();
}
