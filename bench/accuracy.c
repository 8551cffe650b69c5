/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The largest errors of the elementary functions (runtime/base/elementary.h), and their speed.
 *
 *   accuracy [--threads N] [--sample N] [NAME...]   errors: f32 over all 2^32 inputs, f64 over N
 *   accuracy --speed [NAME...]                      nanoseconds an element
 *
 * A NAME is that of a function, or f32 or f64: only that dtype.
 *
 * An error is in ulp: the distance of the result to the exact value, over the distance between the
 * floats around the exact value. The exact value is libm's, of f32 in double, of f64 in long
 * double: their own errors are below 0.001 ulp of what is measured. Functions of two operands take
 * pairs of the sample at both dtypes, pow also powers of all exponents. A result that is wrong at a
 * special point, or whose bits differ between scalars and vectors, is printed, and the exit status
 * is 1. */
#include "bench/lanes.h"
#include "bench/ulp.h"
#include "runtime/base/base.h"
#include "runtime/base/elementary.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- the functions, and what they should be ---- */

#define sigmoid  hia_sigmoid_exact_f32
#define sigmoidl hia_sigmoid_exact_f64
static float sigmoidf(float x) { return 1 / (1 + expf(-x)); }

typedef struct function {
  const char *name;
  unsigned n_args;
  float (*f32_1)(float);
  double (*f64_1)(double);
  float (*f32_2)(float, float);
  double (*f64_2)(double, double);
  double (*exact_1)(double);
  long double (*more_exact_1)(long double);
  double (*exact_2)(double, double);
  long double (*more_exact_2)(long double, long double);
  float (*libm_f32_1)(float);
  float (*libm_f32_2)(float, float);
} function;

#define ROW_1(name)                                                                                \
  {#name,   1,   hiaR_##name##_f32, hiaR_##name##_f64, NULL, NULL, name, name##l, NULL, NULL,      \
   name##f, NULL},
#define ROW_2(name)                                                                                \
  {#name, 2,       NULL, NULL,   hiaR_##name##_f32, hiaR_##name##_f64, NULL, NULL,                 \
   name,  name##l, NULL, name##f},
static const function functions[] = {HIA_ELEMENTARY_LIST_1(ROW_1) HIA_ELEMENTARY_LIST_2(ROW_2)};

static const hia_lane_function *lanes_of(unsigned bits, const char *name) {
  if (!hia_lanes_exist(bits)) return NULL;
  const hia_lane_function *f = bits == 512 ? hia_lanes_512 : hia_lanes_256;
  while (f->name && strcmp(f->name, name) != 0) f++;
  return f->name ? f : NULL;
}

/* ---- errors ---- */

typedef struct worst {
  double error, x, y;
  uint64_t n_wrong, n_different; /* at special points; bits that differ from the scalar's */
  double wrong_x, wrong_y, different_x;
} worst;

static void merge(worst *into, const worst *w) {
  if (w->error > into->error) into->error = w->error, into->x = w->x, into->y = w->y;
  if (w->n_wrong) into->wrong_x = w->wrong_x, into->wrong_y = w->wrong_y;
  if (w->n_different) into->different_x = w->different_x;
  into->n_wrong += w->n_wrong;
  into->n_different += w->n_different;
}

static void found(worst *w, double error, double x, double y) {
  if (error > w->error) w->error = error, w->x = x, w->y = y;
}
static void wrong(worst *w, double x, double y) {
  w->n_wrong++;
  w->wrong_x = x, w->wrong_y = y;
}

static void check(worst *w, double error, double x, double y) {
  if (isinf(error))
    wrong(w, x, y);
  else
    found(w, error, x, y);
}

enum { BLOCK = 4096 };

typedef struct part {
  const function *f;
  hia_dtype dtype;
  uint64_t first, n; /* inputs, of f32 by their bits; or how many of the sample, from a seed */
  worst worst;
} part;

static void compare(worst *w, const void *scalars, const void *vectors, size_t size, size_t i,
                    double x) {
  const char *a = (const char *)scalars + i * size, *b = (const char *)vectors + i * size;
  if (memcmp(a, b, size) == 0) return;
  float p, q;
  double r, s;
  if (size == sizeof p) {
    memcpy(&p, a, size), memcpy(&q, b, size);
    if (isnan(p) && isnan(q)) return;
  } else {
    memcpy(&r, a, size), memcpy(&s, b, size);
    if (isnan(r) && isnan(s)) return;
  }
  w->n_different++;
  w->different_x = x;
}

static void compare_lanes(part *p, const void *x, const void *y, const void *scalars, size_t size) {
  static _Thread_local double vectors[BLOCK];
  for (unsigned bits = 256; bits <= 512; bits *= 2) {
    const hia_lane_function *lanes = lanes_of(bits, p->f->name);
    if (!lanes) continue;
    lanes->loops[size == sizeof(double)](x, y, vectors, BLOCK);
    for (size_t i = 0; i < BLOCK; i++)
      compare(&p->worst, scalars, vectors, size, i,
              size == sizeof(double) ? ((const double *)x)[i] : (double)((const float *)x)[i]);
  }
}

static void block_f32(part *p, const float *x, const float *y) {
  static _Thread_local float got[BLOCK];
  const function *f = p->f;
  for (size_t i = 0; i < BLOCK; i++) got[i] = f->f32_1 ? f->f32_1(x[i]) : f->f32_2(x[i], y[i]);
  compare_lanes(p, x, y, got, sizeof(float));
  for (size_t i = 0; i < BLOCK; i++) {
    double a = (double)x[i], b = (double)y[i];
    check(&p->worst, hia_ulp_f32(got[i], f->exact_1 ? f->exact_1(a) : f->exact_2(a, b)), a, b);
  }
}

static void block_f64(part *p, const double *x, const double *y) {
  static _Thread_local double got[BLOCK];
  const function *f = p->f;
  for (size_t i = 0; i < BLOCK; i++) got[i] = f->f64_1 ? f->f64_1(x[i]) : f->f64_2(x[i], y[i]);
  compare_lanes(p, x, y, got, sizeof(double));
  for (size_t i = 0; i < BLOCK; i++) {
    long double a = (long double)x[i], b = (long double)y[i];
    check(&p->worst,
          hia_ulp_f64(got[i], f->more_exact_1 ? f->more_exact_1(a) : f->more_exact_2(a, b)), x[i],
          y[i]);
  }
}

/* A base near 1 and an exponent, such that the power has any exponent of the dtype: the logarithm's
 * error counts most where it is large. */
static void make_power(uint64_t *seed, hia_dtype dtype, double *x, double *y) {
  double u = (double)(hia_sample_bits(seed) >> 11) * 0x1p-53,
         v = (double)(hia_sample_bits(seed) >> 11) * 0x1p-53;
  *x = 0.70710678 + u * 0.70710678;
  if (dtype == HIA_F32) *x = (double)(float)*x;
  *y = (2 * v - 1) * (dtype == HIA_F32 ? 152 : 1080) / log2(*x);
}

static void *run(void *arg) {
  static _Thread_local float x32[BLOCK], y32[BLOCK];
  static _Thread_local double x64[BLOCK], y64[BLOCK];
  part *p = arg;
  bool is_whole = p->dtype == HIA_F32 && p->f->n_args == 1;
  bool is_power = strcmp(p->f->name, "pow") == 0;
  uint64_t seed = p->first;
  for (uint64_t at = 0; at < p->n; at += BLOCK) {
    for (size_t i = 0; i < BLOCK; i++) {
      uint32_t bits = (uint32_t)(p->first + at + i);
      if (is_whole) {
        memcpy(&x32[i], &bits, sizeof bits);
        continue;
      }
      x64[i] = hia_sample(&seed), y64[i] = hia_sample(&seed);
      if (is_power && i % 4 == 0) make_power(&seed, p->dtype, &x64[i], &y64[i]);
      x32[i] = (float)x64[i], y32[i] = (float)y64[i];
    }
    if (p->dtype == HIA_F32)
      block_f32(p, x32, y32);
    else
      block_f64(p, x64, y64);
  }
  return NULL;
}

static bool measure(const function *f, hia_dtype dtype, unsigned n_threads, uint64_t n_sample) {
  enum { MAX_THREADS = 64 };
  static part parts[MAX_THREADS];
  pthread_t threads[MAX_THREADS];
  bool is_whole = dtype == HIA_F32 && f->n_args == 1;
  uint64_t n = is_whole ? (uint64_t)1 << 32 : n_sample, each = n / n_threads / BLOCK * BLOCK;
  worst all = {0};
  if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
  for (unsigned i = 0; i < n_threads; i++) {
    parts[i] = (part){
        .f = f, .dtype = dtype, .first = each * i, .n = i + 1 < n_threads ? each : n - each * i};
    if (pthread_create(&threads[i], NULL, run, &parts[i]) != 0) exit(2);
  }
  for (unsigned i = 0; i < n_threads; i++) {
    pthread_join(threads[i], NULL);
    merge(&all, &parts[i].worst);
  }
  printf("%-8s %s  %.3f ulp at %a", f->name, dtype == HIA_F32 ? "f32" : "f64", all.error, all.x);
  if (f->n_args == 2) printf(", %a", all.y);
  printf("  of %.3g %s\n", (double)n, is_whole ? "inputs: all" : "samples");
  if (all.n_wrong)
    printf("  WRONG at %a, %a and %llu others\n", all.wrong_x, all.wrong_y,
           (unsigned long long)all.n_wrong - 1);
  if (all.n_different)
    printf("  bits DIFFER in vectors at %a and %llu others\n", all.different_x,
           (unsigned long long)all.n_different - 1);
  fflush(stdout);
  return !all.n_wrong && !all.n_different;
}

/* ---- speed ---- */

enum { N_ELEMENTS = 4096, N_ROUNDS = 41, N_WAYS = 6 };

static double x_64[N_ELEMENTS], y_64[N_ELEMENTS], out_64[N_ELEMENTS];
static float x_32[N_ELEMENTS], y_32[N_ELEMENTS], out_32[N_ELEMENTS];

/* Nanoseconds an element of a way to compute the function; 0: there is none. */
static double time_of(const function *f, hia_dtype t, unsigned way) {
  const hia_lane_function *lanes = way < 2 ? lanes_of(way ? 256 : 512, f->name) : NULL;
  bool is_f64 = t == HIA_F64;
  if (way < 2 && !lanes) return 0;
  uint64_t start = hiaR_now();
  switch (way) {
  case 0:
  case 1:
    lanes->loops[is_f64](is_f64 ? (void *)x_64 : x_32, is_f64 ? (void *)y_64 : y_32,
                         is_f64 ? (void *)out_64 : out_32, N_ELEMENTS);
    break;
  case 2:
    if (is_f64)
      for (size_t i = 0; i < N_ELEMENTS; i++)
        out_64[i] = f->n_args == 1 ? f->f64_1(x_64[i]) : f->f64_2(x_64[i], y_64[i]);
    else
      for (size_t i = 0; i < N_ELEMENTS; i++)
        out_32[i] = f->n_args == 1 ? f->f32_1(x_32[i]) : f->f32_2(x_32[i], y_32[i]);
    break;
  case 3: /* each waits for the one before */
    if (is_f64)
      for (size_t i = 1; i < N_ELEMENTS; i++) {
        double x = x_64[i] + out_64[i - 1] * 0x1p-100;
        out_64[i] = f->n_args == 1 ? f->f64_1(x) : f->f64_2(x, y_64[i]);
      }
    else
      for (size_t i = 1; i < N_ELEMENTS; i++) {
        float x = x_32[i] + out_32[i - 1] * 0x1p-100f;
        out_32[i] = f->n_args == 1 ? f->f32_1(x) : f->f32_2(x, y_32[i]);
      }
    break;
  case 4:
    if (is_f64)
      for (size_t i = 0; i < N_ELEMENTS; i++)
        out_64[i] = f->n_args == 1 ? f->exact_1(x_64[i]) : f->exact_2(x_64[i], y_64[i]);
    else
      for (size_t i = 0; i < N_ELEMENTS; i++)
        out_32[i] = f->n_args == 1 ? f->libm_f32_1(x_32[i]) : f->libm_f32_2(x_32[i], y_32[i]);
    break;
  default:
    if (is_f64)
      for (size_t i = 1; i < N_ELEMENTS; i++) {
        double x = x_64[i] + out_64[i - 1] * 0x1p-100;
        out_64[i] = f->n_args == 1 ? f->exact_1(x) : f->exact_2(x, y_64[i]);
      }
    else
      for (size_t i = 1; i < N_ELEMENTS; i++) {
        float x = x_32[i] + out_32[i - 1] * 0x1p-100f;
        out_32[i] = f->n_args == 1 ? f->libm_f32_1(x) : f->libm_f32_2(x, y_32[i]);
      }
  }
  return (double)(hiaR_now() - start) / (double)N_ELEMENTS;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void speed(const function *f, hia_dtype t) {
  static double times[N_WAYS][N_ROUNDS];
  uint64_t seed = 1;
  bool is_positive = strncmp(f->name, "log", 3) == 0 || strcmp(f->name, "pow") == 0;
  bool is_sine = strcmp(f->name, "asin") == 0 || strcmp(f->name, "acos") == 0;
  for (size_t i = 0; i < N_ELEMENTS; i++) {
    double u = (double)(hia_sample_bits(&seed) >> 11) * 0x1p-53,
           v = (double)(hia_sample_bits(&seed) >> 11) * 0x1p-53;
    x_64[i] = is_positive ? 10 * u + 1e-3 : is_sine ? 2 * u - 1 : 12 * u - 6;
    y_64[i] = 12 * v - 6;
    x_32[i] = (float)x_64[i], y_32[i] = (float)y_64[i];
  }
  for (unsigned round = 0; round < N_ROUNDS; round++)
    for (unsigned way = 0; way < N_WAYS; way++) times[way][round] = time_of(f, t, way);
  printf("%-8s %s", f->name, t == HIA_F32 ? "f32" : "f64");
  for (unsigned way = 0; way < N_WAYS; way++) {
    qsort(times[way], N_ROUNDS, sizeof **times, by_size);
    printf(" %8.2f", times[way][N_ROUNDS / 2]);
  }
  printf("\n");
}

/* ---- the command line ---- */

int main(int argc, char **argv) {
  bool is_speed = false, is_right = true, is_named = false;
  unsigned n_threads = 2;
  uint64_t n_sample = 100000000;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--speed") == 0)
      is_speed = true;
    else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      n_threads = (unsigned)strtoul(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--sample") == 0 && i + 1 < argc)
      n_sample = strtoull(argv[++i], NULL, 10);
    else if (argv[i][0] == '-') {
      fprintf(stderr, "usage: accuracy [--speed] [--threads N] [--sample N] [NAME...]\n");
      return 2;
    } else
      is_named = is_named || argv[i][0] != 'f';
  }
  bool is_left_out[2] = {false, false};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "f32") == 0) is_left_out[1] = true;
    if (strcmp(argv[i], "f64") == 0) is_left_out[0] = true;
  }
  if (n_threads == 0) n_threads = 1;
  if (is_speed) printf("ns an element   512 bits 256 bits     call  depends     libm  depends\n");
  for (size_t k = 0; k < HIA_LEN(functions); k++) {
    bool is_wanted = !is_named;
    for (int i = 1; i < argc; i++) is_wanted = is_wanted || strcmp(argv[i], functions[k].name) == 0;
    for (unsigned t = 0; t < 2 && is_wanted; t++) {
      if (is_left_out[t]) continue;
      if (is_speed)
        speed(&functions[k], t ? HIA_F64 : HIA_F32);
      else
        is_right = measure(&functions[k], t ? HIA_F64 : HIA_F32, n_threads, n_sample) && is_right;
    }
  }
  return is_right ? 0 : 1;
}
