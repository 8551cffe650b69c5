/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Map entries: every row as the typed entry has it, bit for bit; which row fails and what is
 * written then; columns that overlap; limits, cancelling and fuel of a whole map. */
#include "tests/unit/helpers/program.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char text[] =
    "extern impure fn tap(n: i64) -> i64\n"
    "extern impure fn nest(n: i64) -> i64\n"
    "fn poly(x: f64, y: f64) -> f64 = ((0.5 * x + 1.25) * x - y) * x + y\n"
    "fn norm(x: f64, y: f64) -> f64 = sqrt(x * x + y * y) / (1.0 + x)\n"
    "fn pick(x: f64, y: f64) -> f64 = if x > y then x * 2.0 else if x < 0.0 then y * 0.5 else y + "
    "x\n"
    "fn wave(x: f64, y: f64) -> f64 = sin(x) * exp(y / 1000.0) + cos(x * y)\n"
    "fn round(x: f64, y: f64) -> f64 = floor(x / 3.0) + min(x, y) * max(x, abs(y))\n"
    "fn inner(x: f64) -> f64 = x * x - 1.0\n"
    "fn outer(x: f64, y: f64) -> f64 = inner(inner(x)) + inner(y)\n"
    "fn all(a: bool, b: i32, c: i64, d: f32, e: f64) -> (bool, i32, i64, f32, f64) =\n"
    "  (not a, if a then b + 1 else b * 7, c * 2 + i64(b), d / 2.0 + 1.0, e - f64(d))\n"
    "fn half(a: i32, b: i32) -> i32 = a / b\n"
    "fn thirds(a: i32, b: i32) -> i32 = half(a, b + 3) + half(a, b + 2)\n"
    "fn fib(n: i64) -> i64 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn deep(n: i64) -> i64 = if n == 0 then 0 else 1 + deep(n - 1)\n"
    "fn picky(n: i64) -> i64 = if n > 90 then fail(n) else n + n\n"
    "fn spin(n: i64) -> i64 = loop (x = n) while x != 7 { x * 6364136223846793005 + 1 }\n"
    "fn seven() -> i64 = 7\n"
    "fn taps(n: i64) -> i64 = tap(n) + tap(n + 1)\n"
    "fn nests(n: i64) -> i64 = nest(n) + 1\n"
    "fn turn(p: (i64, (bool, f64)), q: i32) -> ((f64, bool), (i32, i64)) =\n"
    "  ((p.1.1 * 2.0, not p.1.0), (q + 1, p.0 - 1))\n"
    "fn succ(n: i64) -> i64 = n + 1\n"
    "fn sums(n: i64) -> i64 = loop (s: i64 = 0, i: i64 = 0) while i < n { (s + i, i + 1) }.0\n"
    "fn chain(n: i64) -> i64 =\n"
    "  loop (x = n, i = 0) while i < 100000 { (x * 6364136223846793005 + 1, i + 1) }.0\n"
    "fn twice(x) = x + x\n";

typedef hia_status (*map_f64)(hia_context *, size_t, const double *, const double *, double *);
typedef hia_status (*map_i64)(hia_context *, size_t, const int64_t *, int64_t *);
typedef hia_status (*typed_f64)(hia_context *, double, double, double *);
typedef hia_status (*typed_i64)(hia_context *, int64_t, int64_t *);

static uint64_t tapped;
static _Atomic int n_taps;
static hia_status tap(int64_t n, int64_t *result) {
  tapped = tapped * 31 + (uint64_t)n;
  n_taps++;
  *result = n;
  return n == 50 ? HIA_HOST : HIA_OK;
}

/* Calls a map in another context, inside a row, and one in the row's own context. */
typedef struct nested {
  hia_context *outer, *inner;
  map_i64 map;
} nested;
static hia_status nest(void *user, int64_t n, int64_t *result) {
  const nested *s = user;
  int64_t rows[3] = {n, n + 1, n + 2}, out[3] = {0};
  if (s->map(s->outer, 3, rows, out) != HIA_BUSY) return HIA_HOST;
  hia_status status = s->map(s->inner, 3, rows, out);
  if (hia_context_rows(s->inner) != (status ? 0 : 3)) return HIA_HOST;
  *result = out[0] + out[1] + out[2];
  return status ? HIA_HOST : HIA_OK;
}

typedef struct fixture {
  nested nested; /* of the host function `nest` */
  hia_engine *engine;
  hia_module *module;
  hia_context *context;
} fixture;

static void begin(fixture *f, const hia_engine_options *options) {
  NEEDS_NATIVE;
  hia_error *error;
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern impure fn tap(n: i64) -> i64";
  host.function = (void (*)(void))tap;
  host.returns_status = true;
  cr_assert_eq(hia_engine_new(options, &f->engine, &error), HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_engine_register(f->engine, &host, &error), HIA_OK);
  host.declaration = "extern impure fn nest(n: i64) -> i64";
  host.function = (void (*)(void))nest;
  host.takes_user = true;
  host.user = &f->nested;
  cr_assert_eq(hia_engine_register(f->engine, &host, &error), HIA_OK);
  cr_assert_eq(hia_module_load_text(f->engine, "t.hia", text, strlen(text), &f->module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_engine_context_new(f->engine, &f->context, &error), HIA_OK);
}

static void end(fixture *f) {
  hia_context_free(f->context);
  hia_module_free(f->module);
  hia_engine_free(f->engine);
}

typedef hia_status (*getter)(hia_function *, hia_native_fn *, hia_error **);
static hia_native_fn get(const fixture *f, const char *name, getter from) {
  hia_function *function;
  hia_native_fn fn;
  hia_error *error;
  cr_assert_eq(hia_module_function(f->module, name, &function, &error), HIA_OK);
  cr_assert_eq(from(function, &fn, &error), HIA_OK, "%s", hia_error_text(error));
  return fn;
}
#define MAP(type, name) ((type)get(&f, name, hia_function_map))

enum { N = 10000 };
static double x[N], y[N], r[N];
static int64_t n[N], q[N];

static void fill(void) {
  for (int i = 0; i < N; i++) {
    x[i] = (i % 1009) * 0.37 - 100.0;
    y[i] = (i % 997) * 0.11 - 40.0;
    n[i] = i % 90;
    r[i] = -1.0;
    q[i] = -1;
  }
  x[3] = (double)INFINITY, x[4] = (double)NAN, x[5] = -0.0, y[6] = 5e-324, x[7] = 1e308;
}

/* ---- meaning ---- */

static void every_row(const hia_engine_options *options) {
  static const char *const names[] = {"poly", "norm", "pick", "wave", "round", "outer"};
  static const size_t counts[] = {0, 1, 3, 7, 63, 64, 65, 1000, 4095, 4096, 4097, N};
  fixture f;
  begin(&f, options);
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    map_f64 map = MAP(map_f64, names[k]);
    typed_f64 typed = (typed_f64)get(&f, names[k], hia_function_entry);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      fill();
      cr_assert_eq(map(f.context, counts[c], x, y, r), HIA_OK);
      cr_assert_eq(hia_context_rows(f.context), counts[c]);
      for (size_t i = 0; i < counts[c]; i++) {
        double one;
        cr_assert_eq(typed(f.context, x[i], y[i], &one), HIA_OK);
        bool is_same = memcmp(&one, &r[i], sizeof one) == 0 || (isnan(one) && isnan(r[i]));
        cr_assert(is_same, "%s row %zu of %zu: %a, not %a", names[k], i, counts[c], r[i], one);
      }
      if (counts[c] < N) cr_assert_eq(r[counts[c]], -1.0, "behind the last row nothing is written");
    }
    /* In place, the first or the second column, and one that is both parameters. */
    double first[256], second[256];
    fill();
    memcpy(first, x, sizeof first);
    memcpy(second, y, sizeof second);
    cr_assert_eq(map(f.context, 256, x, y, r), HIA_OK);
    cr_assert_eq(map(f.context, 256, first, y, first), HIA_OK);
    cr_assert_eq(map(f.context, 256, x, second, second), HIA_OK);
    cr_assert_eq(memcmp(first, r, sizeof first), 0, "%s", names[k]);
    cr_assert_eq(memcmp(second, r, sizeof second), 0, "%s", names[k]);
    memcpy(first, x, sizeof first);
    cr_assert_eq(map(f.context, 256, x, x, r), HIA_OK);
    cr_assert_eq(map(f.context, 256, first, first, first), HIA_OK);
    cr_assert_eq(memcmp(first, r, sizeof first), 0, "%s", names[k]);
  }
  static const char *const integers[] = {"fib", "deep", "picky", "succ", "sums"};
  for (size_t k = 0; k < sizeof integers / sizeof *integers; k++) {
    map_i64 map = MAP(map_i64, integers[k]);
    typed_i64 typed = (typed_i64)get(&f, integers[k], hia_function_entry);
    fill();
    for (int i = 0; i < 1000; i++) n[i] = i % 20;
    cr_assert_eq(map(f.context, 1000, n, q), HIA_OK);
    for (int i = 0; i < 1000; i++) {
      int64_t one;
      cr_assert_eq(typed(f.context, n[i], &one), HIA_OK);
      cr_assert_eq(q[i], one, "%s(%d)", integers[k], (int)n[i]);
    }
    cr_assert_eq(map(f.context, 1000, n, n), HIA_OK);
    cr_assert_eq(memcmp(n, q, 1000 * sizeof *n), 0);
  }
  typedef hia_status (*map_none)(hia_context *, size_t, int64_t *);
  cr_assert_eq(MAP(map_none, "seven")(f.context, 100, q), HIA_OK);
  for (int i = 0; i < 100; i++) cr_assert_eq(q[i], 7);
  cr_assert_neq(q[100], 7);
  end(&f);
}

Test(map, every_row) { every_row(NULL); }

Test(map, every_row_without_optimisation) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  for (options.opt_level = 0; options.opt_level < 2; options.opt_level++) every_row(&options);
}

Test(map, every_row_on_threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 3;
  every_row(&options);
}

Test(map, every_row_counted) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.flags |= HIA_FLAG_COUNT;
  every_row(&options);
}

Test(map, every_dtype) {
  typedef hia_status (*map_all)(hia_context *, size_t, const bool *, const int32_t *,
                                const int64_t *, const float *, const double *, bool *, int32_t *,
                                int64_t *, float *, double *);
  typedef hia_status (*typed_all)(hia_context *, bool, int32_t, int64_t, float, double, bool *,
                                  int32_t *, int64_t *, float *, double *);
  enum { ROWS = 300 };
  static bool a[ROWS], ra[ROWS];
  static int32_t b[ROWS], rb[ROWS];
  static int64_t c[ROWS], rc[ROWS];
  static float d[ROWS], rd[ROWS];
  static double e[ROWS], re[ROWS];
  fixture f;
  begin(&f, NULL);
  for (int i = 0; i < ROWS; i++) {
    a[i] = i % 3 == 0;
    b[i] = i * 1000003;
    c[i] = (int64_t)i << 40;
    d[i] = (float)i / 3;
    e[i] = i * 0.1;
  }
  cr_assert_eq(MAP(map_all, "all")(f.context, ROWS, a, b, c, d, e, ra, rb, rc, rd, re), HIA_OK);
  typed_all typed = (typed_all)get(&f, "all", hia_function_entry);
  for (int i = 0; i < ROWS; i++) {
    bool oa;
    int32_t ob;
    int64_t oc;
    float od;
    double oe;
    cr_assert_eq(typed(f.context, a[i], b[i], c[i], d[i], e[i], &oa, &ob, &oc, &od, &oe), HIA_OK);
    cr_assert(ra[i] == oa && rb[i] == ob && rc[i] == oc && rd[i] == od && re[i] == oe, "row %d", i);
    cr_assert_leq(*(unsigned char *)&ra[i], 1);
  }
  /* All five in place, each result in the parameter of its type. */
  cr_assert_eq(MAP(map_all, "all")(f.context, ROWS, a, b, c, d, e, a, b, c, d, e), HIA_OK);
  cr_assert_eq(memcmp(a, ra, sizeof a) | memcmp(b, rb, sizeof b) | memcmp(c, rc, sizeof c) |
                   memcmp(d, rd, sizeof d) | memcmp(e, re, sizeof e),
               0);
  end(&f);
}

Test(map, tuples_are_a_column_for_each_scalar) {
  typedef hia_status (*map_turn)(hia_context *, size_t, const int64_t *, const bool *,
                                 const double *, const int32_t *, double *, bool *, int32_t *,
                                 int64_t *);
  enum { ROWS = 77 };
  int64_t a[ROWS], ra[ROWS];
  bool b[ROWS], rb[ROWS];
  double c[ROWS], rc[ROWS];
  int32_t d[ROWS], rd[ROWS];
  fixture f;
  begin(&f, NULL);
  for (int i = 0; i < ROWS; i++) a[i] = -i, b[i] = i % 3 == 1, c[i] = i / 8.0, d[i] = i << 20;
  cr_assert_eq(MAP(map_turn, "turn")(f.context, ROWS, a, b, c, d, rc, rb, rd, ra), HIA_OK);
  for (int i = 0; i < ROWS; i++)
    cr_assert(rc[i] == i / 4.0 && rb[i] != b[i] && rd[i] == d[i] + 1 && ra[i] == a[i] - 1, "%d", i);
  end(&f);
}

/* ---- failures ---- */

static void first_failure(const hia_engine_options *options) {
  typedef hia_status (*map_i32)(hia_context *, size_t, const int32_t *, const int32_t *, int32_t *);
  static int32_t a[N], b[N], c[N];
  fixture f;
  begin(&f, options);
  map_i32 half = MAP(map_i32, "half");
  for (int i = 0; i < N; i++) a[i] = i * 3, b[i] = 2, c[i] = -5;
  b[4711] = b[4720] = 0;
  for (int round = 0; round < 2; round++) {
    cr_assert_eq(half(f.context, N, a, b, c), HIA_DIV_ZERO);
    cr_assert_eq(hia_context_rows(f.context), 4711);
    for (int i = 0; i < N; i++) cr_assert_eq(c[i], i < 4711 ? i * 3 / 2 : -5, "row %d", i);
    const hia_error *error = hia_context_error(f.context);
    cr_assert_str_eq(hia_error_message(error, 0), "division by zero, in row 4711");
    cr_assert_eq(hia_error_chain_length(error), 1);
    const char *function;
    cr_assert(hia_error_chain_entry(error, 0, &function, NULL, NULL, NULL));
    cr_assert_str_eq(function, "half");
  }
  /* What follows forgets it. */
  cr_assert_eq(half(f.context, 100, a, b, c), HIA_OK);
  cr_assert_null(hia_context_error(f.context));
  cr_assert_eq(hia_context_rows(f.context), 100);

  /* In what it calls. */
  map_i32 thirds = MAP(map_i32, "thirds");
  b[4711] = 1, b[4720] = -2;
  cr_assert_eq(thirds(f.context, N, a, b, c), HIA_DIV_ZERO);
  cr_assert_eq(hia_context_rows(f.context), 4720);
  cr_assert_eq(c[4711], 4711 * 3 / 4 + 4711 * 3 / 3);
  cr_assert_eq(hia_error_chain_length(hia_context_error(f.context)), 2);

  map_i64 picky = MAP(map_i64, "picky"), deep = MAP(map_i64, "deep"), taps = MAP(map_i64, "taps");
  fill();
  n[77] = 1234;
  cr_assert_eq(picky(f.context, N, n, n), HIA_FAILED);
  cr_assert_eq(hia_context_rows(f.context), 77);
  cr_assert_eq(hia_error_fail_code(hia_context_error(f.context)), 1234);
  cr_assert_eq(n[76], 2 * 76);
  cr_assert_eq(n[77], 1234, "a row that fails stays as it is");
  cr_assert_eq(n[78], 78);
  /* A typed entry's error names no row. */
  int64_t one;
  cr_assert_eq(((typed_i64)get(&f, "picky", hia_function_entry))(f.context, 99, &one), HIA_FAILED);
  cr_assert_null(strstr(hia_error_text(hia_context_error(f.context)), "row"));
  cr_assert_eq(hia_context_rows(f.context), 77, "it is of the last map");

  fill();
  n[500] = INT64_MAX;
  hia_context_options small = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *limited;
  small.max_depth = 100000;
  cr_assert_eq(hia_context_new(&small, &limited), HIA_OK);
  cr_assert_eq(deep(limited, N, n, q), HIA_DEPTH);
  cr_assert_eq(hia_context_rows(limited), 500);
  cr_assert_eq(q[499], n[499]);
  cr_assert_not_null(strstr(hia_error_text(hia_context_error(limited)), "in row 500"));
  cr_assert_eq(MAP(map_f64, "poly")(limited, N, x, y, r), HIA_OK, "on a small stack too");
  hia_context_free(limited);

  /* Functions of the host are called row by row, in order. */
  fill();
  tapped = 0;
  n_taps = 0;
  cr_assert_eq(taps(f.context, 40, n, q), HIA_OK);
  uint64_t expected = 0;
  for (uint64_t i = 0; i < 40; i++) expected = (expected * 31 + i) * 31 + i + 1;
  cr_assert_eq(tapped, expected);
  cr_assert_eq(taps(f.context, N, n, q), HIA_HOST);
  cr_assert_eq(hia_context_rows(f.context), 49);
  cr_assert_eq(n_taps, 80 + 100);
  end(&f);
}

Test(map, the_first_row_in_order_fails) { first_failure(NULL); }

Test(map, the_first_row_in_order_fails_without_optimisation) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.opt_level = 0;
  options.disabled_passes = "all";
  first_failure(&options);
}

Test(map, inside_a_row) {
  fixture f;
  begin(&f, NULL);
  cr_assert_eq(hia_engine_context_new(f.engine, &f.nested.inner, NULL), HIA_OK);
  f.nested.outer = f.context;
  f.nested.map = MAP(map_i64, "succ");
  map_i64 nests = MAP(map_i64, "nests");
  fill();
  cr_assert_eq(nests(f.context, 20, n, q), HIA_OK);
  for (int i = 0; i < 20; i++) cr_assert_eq(q[i], 3 * i + 7);
  cr_assert_eq(hia_context_rows(f.context), 20);
  f.nested.map = MAP(map_i64, "picky"); /* fails at 91: in row 89 of the outer map */
  cr_assert_eq(nests(f.context, 100, n, q), HIA_HOST);
  cr_assert_eq(hia_context_rows(f.context), 89);
  cr_assert_not_null(strstr(hia_error_text(hia_context_error(f.context)), "in row 89"));
  cr_assert_not_null(strstr(hia_error_text(hia_context_error(f.nested.inner)), "in row 2"));
  hia_context_free(f.nested.inner);
  end(&f);
}

typedef struct caller {
  pthread_t thread;
  hia_engine *engine;
  map_f64 poly;
  map_i64 fib;
  int64_t number, wrong;
} caller;

static void *call_maps(void *arg) {
  caller *c = arg;
  enum { ROWS = 500 };
  double a[ROWS], b[ROWS], sums[ROWS];
  int64_t k[ROWS];
  hia_context *context;
  if (hia_engine_context_new(c->engine, &context, NULL)) c->wrong++;
  for (int round = 0; round < 50; round++) {
    for (int i = 0; i < ROWS; i++) a[i] = i, b[i] = (double)c->number, k[i] = i % 15;
    c->wrong += c->poly(context, ROWS, a, b, sums) || c->fib(context, ROWS, k, k);
    for (int i = 0; i < ROWS; i++)
      c->wrong += sums[i] != ((0.5 * a[i] + 1.25) * a[i] - b[i]) * a[i] + b[i];
    c->wrong += k[10] != 89 || k[14] != 610 || k[ROWS - 1] != 5;
  }
  hia_context_free(context);
  return NULL;
}

/* A map is code: threads call it at once, each with a context of its own. */
Test(map, on_threads_of_the_host) {
  enum { CALLERS = 4 };
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 2;
  caller callers[CALLERS];
  fixture f;
  begin(&f, &options);
  for (int i = 0; i < CALLERS; i++) {
    callers[i] = (caller){.engine = f.engine, .number = i};
    callers[i].poly = MAP(map_f64, "poly");
    callers[i].fib = MAP(map_i64, "fib");
    cr_assert_eq(pthread_create(&callers[i].thread, NULL, call_maps, &callers[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) pthread_join(callers[i].thread, NULL);
  for (int i = 0; i < CALLERS; i++) cr_assert_eq(callers[i].wrong, 0);
  end(&f);
}

Test(map, what_is_refused) {
  fixture f;
  begin(&f, NULL);
  map_f64 poly = MAP(map_f64, "poly");
  map_i64 fib = MAP(map_i64, "fib");
  fill();
  cr_assert_eq(poly(NULL, 1, x, y, r), HIA_ARGUMENT);
  cr_assert_eq(poly(f.context, 0, NULL, NULL, NULL), HIA_OK);
  const struct {
    const double *x, *y;
    double *r;
    size_t n;
    const char *words;
  } rows[] = {
      {NULL, y, r, 10, "is NULL"},
      {x, NULL, r, 10, "is NULL"},
      {x, y, NULL, 10, "is NULL"},
      {x, y, x + 1, 10, "overlaps"},
      {x + 1, y, x, 10, "overlaps"},
      {x, y, y + 9, 10, "overlaps"},
      {x, y, r, SIZE_MAX, "more rows"},
      {x, (const double *)(const void *)((char *)r + 4), r, 10, "overlaps"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cr_assert_eq(poly(f.context, rows[i].n, rows[i].x, rows[i].y, rows[i].r), HIA_ARGUMENT, "%zu",
                 i);
    const char *why = hia_error_text(hia_context_error(f.context));
    cr_assert_not_null(strstr(why, rows[i].words), "%zu: %s", i, why);
    cr_assert_eq(hia_context_rows(f.context), 0);
  }
  cr_assert_eq(poly(f.context, 10, x, y, y + 10), HIA_OK, "side by side is no overlap");
  cr_assert_eq(r[0], -1.0);
  /* Two columns of results are never the same one. */
  typedef hia_status (*map_two)(hia_context *, size_t, const bool *, const int32_t *,
                                const int64_t *, const float *, const double *, void *, void *,
                                void *, void *, void *);
  static char bytes[5][80];
  map_two all = MAP(map_two, "all");
  cr_assert_eq(all(f.context, 10, (bool *)bytes[0], (int32_t *)(void *)x, n, (float *)(void *)y, r,
                   bytes[1], bytes[1], q, bytes[3], bytes[4]),
               HIA_ARGUMENT);
  /* A parameter of another size. */
  cr_assert_eq(all(f.context, 10, (bool *)bytes[0], (int32_t *)(void *)x, n, (float *)(void *)y, r,
                   bytes[1], bytes[2], x, bytes[3], bytes[4]),
               HIA_ARGUMENT);
  hia_context_set_fuel(f.context, 1000);
  cr_assert_eq(fib(f.context, 10, n, q), HIA_UNSUPPORTED);
  hia_context_clear_fuel(f.context);
  cr_assert_eq(fib(f.context, 10, n, q), HIA_OK);

  hia_function *twice;
  hia_native_fn none;
  cr_assert_eq(hia_module_function(f.module, "twice", &twice, NULL), HIA_OK);
  cr_assert_eq(hia_function_map(twice, &none, NULL), HIA_ARGUMENT);
  end(&f);
}

/* ---- limits ---- */

static void *cancel_soon(void *context) {
  nanosleep(&(struct timespec){0, 20000000}, NULL);
  hia_context_cancel(context);
  return NULL;
}

Test(map, ends_when_it_is_cancelled_or_late) {
  enum { MANY = 20000000 };
  fixture f;
  begin(&f, NULL);
  double *large = calloc(MANY, sizeof *large);
  cr_assert_not_null(large);
  map_f64 wave = MAP(map_f64, "wave");
  map_i64 chain = MAP(map_i64, "chain"), spin = MAP(map_i64, "spin");
  fill();
  for (int kind = 0; kind < 3; kind++) {
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, cancel_soon, f.context), 0);
    hia_status status = kind == 0   ? wave(f.context, MANY, large, large, large)
                        : kind == 1 ? chain(f.context, N, n, q)
                                    : spin(f.context, N, n, q);
    pthread_join(thread, NULL);
    cr_assert_eq(status, HIA_CANCELLED, "%d: %s", kind, hia_status_word(status));
    uint64_t rows = hia_context_rows(f.context);
    cr_assert_lt(rows, kind == 0 ? MANY : N);
    if (kind == 0)
      cr_assert(rows % 16 == 0 && (rows == 0 || large[rows - 1] != 0.0) && large[rows] == 0.0);
    hia_context_reset(f.context);
  }
  hia_context_set_timeout(f.context, 10000000);
  cr_assert_eq(wave(f.context, MANY, large, large, large), HIA_DEADLINE);
  cr_assert_not_null(
      strstr(hia_error_text(hia_context_error(f.context)), "more than 10 ms, in row "));
  cr_assert_eq(spin(f.context, N, n, q), HIA_DEADLINE);
  hia_context_set_timeout(f.context, 0);
  cr_assert_eq(wave(f.context, N, x, y, r), HIA_OK);
  free(large);
  end(&f);
}

/* Fuel is the whole map's: each row takes what a call takes. */
Test(map, fuel) {
  fixture f;
  begin(&f, NULL);
  map_i64 deep = (map_i64)get(&f, "deep", hia_function_map_with_fuel);
  map_f64 poly = (map_f64)get(&f, "poly", hia_function_map_with_fuel);
  map_f64 outer = (map_f64)get(&f, "outer", hia_function_map_with_fuel);
  uint64_t left;
  fill();
  for (int i = 0; i < 100; i++) n[i] = i % 10;
  for (uint64_t fuel = 0; fuel < 60; fuel++) {
    for (int i = 0; i < 100; i++) q[i] = -1;
    hia_context_set_fuel(f.context, fuel);
    hia_status status = deep(f.context, 12, n, q); /* 45, then 0 and 1 */
    uint64_t needed = 0, row = 0;
    while (row < 12 && needed + (uint64_t)n[row] <= fuel) needed += (uint64_t)n[row++];
    cr_assert_eq(status, row < 12 ? HIA_FUEL : HIA_OK);
    cr_assert_eq(hia_context_rows(f.context), row, "%d: %d", (int)fuel, (int)row);
    for (uint64_t i = 0; i < 12; i++) cr_assert_eq(q[i], i < row ? n[i] : -1);
    hia_context_fuel_left(f.context, &left);
    cr_assert_eq(left, status == HIA_OK ? fuel - 46 : 0);
  }
  hia_context_set_fuel(f.context, 5);
  cr_assert_eq(poly(f.context, N, x, y, r), HIA_OK, "no calls, no fuel");
  hia_context_fuel_left(f.context, &left);
  cr_assert_eq(left, 5);
  cr_assert_eq(outer(f.context, 1, x, y, r), HIA_OK, "three calls in the source");
  hia_context_fuel_left(f.context, &left);
  cr_assert_eq(left, 2);
  cr_assert_eq(outer(f.context, 1, x, y, r), HIA_FUEL);
  hia_context_clear_fuel(f.context);
  cr_assert_eq(outer(f.context, N, x, y, r), HIA_OK);
  end(&f);
}

/* ---- kernels at their limits ---- */

static hia_native_fn map_of(hia_engine *engine, const char *source, const char *name,
                            hia_module **module) {
  hia_error *error;
  hia_function *function;
  hia_native_fn map;
  cr_assert_eq(hia_module_load_text(engine, "t.hia", source, strlen(source), module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(*module, name, &function, &error), HIA_OK);
  cr_assert_eq(hia_function_map(function, &map, &error), HIA_OK, "%s", hia_error_text(error));
  return map;
}

/* A row whose calls double at each level takes a million additions, although no function is long.
 * A chunk of such rows would run for seconds without a safepoint. */
Test(map, rows_that_take_long) {
  enum { LEVELS = 20, ROWS = 5000 };
  char source[4096];
  size_t len = (size_t)snprintf(source, sizeof source, "fn f0(x: f64) -> f64 = x * 0.5 + 1.0\n");
  for (int i = 1; i <= LEVELS; i++)
    len += (size_t)snprintf(source + len, sizeof source - len,
                            "fn f%d(x: f64) -> f64 = f%d(f%d(x) + 1.0)\n", i, i - 1, i - 1);
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.disabled_passes = "inline";
  options.opt_level = 0;
  hia_engine *engine;
  hia_module *module;
  hia_context *context;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  typedef hia_status (*map_one)(hia_context *, size_t, const double *, double *);
  map_one map = (map_one)map_of(engine, source, "f20", &module);
  cr_assert_eq(hia_engine_context_new(engine, &context, NULL), HIA_OK);
  double one = 1.0, result = 0.0;
  cr_assert_eq(map(context, 1, &one, &result), HIA_OK);
  cr_assert_eq(result, 3.0);
  fill();
  hia_context_set_timeout(context, 30000000);
  cr_assert_eq(map(context, ROWS, x, r), HIA_DEADLINE);
  cr_assert_lt(hia_context_rows(context), 2000, "the safepoint between rows ends it");
  hia_context_free(context);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* A kernel with as many live values as one may have, on the smallest stack. */
Test(map, many_values_on_a_small_stack) {
  enum { VALUES = 350, ROWS = 100 };
  static char source[VALUES * 64];
  size_t len = (size_t)snprintf(source, sizeof source, "fn many(x: f64, y: f64) -> f64 = {\n");
  for (int i = 0; i < VALUES; i++)
    len += (size_t)snprintf(source + len, sizeof source - len, "  let v%d = x * %d.5 + y;\n", i, i);
  len += (size_t)snprintf(source + len, sizeof source - len, "  sqrt(x)");
  for (int i = VALUES - 1; i >= 0; i--)
    len += (size_t)snprintf(source + len, sizeof source - len, " * y + v%d", i);
  snprintf(source + len, sizeof source - len, "\n}\n");
  NEEDS_NATIVE;
  hia_engine *engine;
  hia_module *module;
  hia_context *context;
  hia_context_options small = HIA_CONTEXT_OPTIONS_INIT;
  small.max_depth = 4096;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  map_f64 map = (map_f64)map_of(engine, source, "many", &module);
  cr_assert_eq(hia_context_new(&small, &context), HIA_OK);
  for (int i = 0; i < ROWS; i++) x[i] = i, y[i] = 1.0 / (i + 2);
  hia_status status = map(context, ROWS, x, y, r);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(hia_context_error(context)));
  for (int i = 0; i < ROWS; i++) {
    double value = sqrt(x[i]) * y[i];
    for (int k = VALUES - 1; k > 0; k--) {
      double term = x[i] * (k + 0.5) + y[i];
      value += term * y[i];
    }
    value += x[i] * 0.5 + y[i];
    cr_assert_eq(r[i], value, "row %d", i);
  }
  hia_context_free(context);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* The budget ends the optimisation of the function: its map is like any other. */
Test(map, of_a_function_whose_optimisation_was_ended) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.budget_ns = 1;
  every_row(&options);
}
