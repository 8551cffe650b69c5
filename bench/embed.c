/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures what embedding costs: calls from C, the time from an engine to its first result, sizes,
 * memory, and compile time compared with clang's.
 *
 *   bench_embed [--quick | --check] [--runs N]
 *
 * Calls and compile times are medians of the thread's processor time, measured in turns; processes
 * are measured in wall-clock time. */
#include "bench/harness.h"
#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_RUNS = 99 };
#define MAX_PLAIN_NS  2.0   /* more than a function of C */
#define MAX_ENTRY_NS  10.0  /* more than a function of C */
#define MAX_FUEL_NS   20.0  /* more than a typed entry without fuel */
#define MAX_VIEW_NS   300.0 /* a tensor as a parameter: more than what is computed of it */
#define MAX_TENSOR_NS 700.0 /* and one as the result */
#define MAX_HELD      0.0   /* KiB that the allocator counts once all is freed */
#define MAX_RT_KIB    256   /* linked into a program that is compiled ahead of time */

static const char fib_text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n";

/* `error` is passed by address, since the call that sets it is an argument too. */
static void check(hia_status status, hia_error **error) {
  if (status == HIA_OK) return;
  fprintf(stderr, "%s: %s", hia_status_word(status), hia_error_text(*error));
  exit(1);
}

static void check_call(hia_status status, hia_context *context) {
  if (status == HIA_OK) return;
  fprintf(stderr, "%s", hia_error_text(hia_context_error(context)));
  exit(1);
}

/* ---- calls ---- */

typedef hia_status (*typed_fn)(hia_context *, int32_t, int32_t *);
typedef int32_t (*plain_fn)(int32_t);

typedef struct caller {
  const bench_program *program;
  hia_context *context, *with_fuel;
  typed_fn typed, fuelled;
  plain_fn plain, in_c;
} caller;

/* Each result is the next argument, as in a host that uses its results. */
static int32_t through_c(const caller *c, long n) {
  int32_t x = 0;
  for (long i = 0; i < n; i++) x = c->in_c(x);
  return x;
}

static int32_t through_plain(const caller *c, long n) {
  int32_t x = 0;
  for (long i = 0; i < n; i++) x = c->plain(x);
  return x;
}

static int32_t through_typed(const caller *c, long n) {
  int32_t x = 0;
  for (long i = 0; i < n; i++) c->typed(c->context, x, &x);
  return x;
}

static int32_t through_fuelled(const caller *c, long n) {
  int32_t x = 0;
  for (long i = 0; i < n; i++) c->fuelled(c->with_fuel, x, &x);
  return x;
}

static int32_t through_timeout(const caller *c, long n) {
  hia_context_set_timeout(c->context, UINT64_C(1) << 40);
  int32_t x = through_typed(c, n);
  hia_context_set_timeout(c->context, 0);
  return x;
}

static int32_t through_values(const caller *c, long n) {
  int32_t x = 0;
  for (long i = 0; i < n; i++) {
    hia_value *arg = hia_value_i32(c->program->engine, x), *result;
    hia_call(c->program->function, &arg, 1, &result, NULL);
    hia_value_get_i32(result, &x);
    hia_value_free(result);
    hia_value_free(arg);
  }
  return x;
}

/* The same function in C, not inlined into the loop. */
__attribute__((noinline)) static int32_t succ(int32_t n) {
  __asm__ volatile("");
  return n + 1;
}

static void bench_calls(int runs) {
  static const struct {
    const char *name;
    int32_t (*loop)(const caller *c, long n);
    int share; /* makes 1/share of the calls: slow ones are made less often */
    bench_target target;
  } ways[] = {
      {"a function of C", through_c, 1, {BENCH_UNBOUNDED, 0}},
      {"plain function", through_plain, 1, {BENCH_MAX, MAX_PLAIN_NS}},
      {"typed entry", through_typed, 1, {BENCH_MAX, MAX_ENTRY_NS}},
      {"typed entry, with fuel", through_fuelled, 1, {BENCH_MAX, MAX_ENTRY_NS + MAX_FUEL_NS}},
      {"typed entry, with a timeout", through_timeout, 20, {BENCH_UNBOUNDED, 0}},
      {"hia_call, with its values", through_values, 20, {BENCH_UNBOUNDED, 0}},
  };
  enum { N_WAYS = sizeof ways / sizeof *ways };
  bench_program p = bench_open_text("succ", "fn succ(n: i32) -> i32 = n + 1\n", "succ",
                                    &(bench_options){.threads = 1});
  hia_error *error;
  hia_native_fn typed, plain;
  caller c = {.program = &p};
  check(hia_function_entry(p.function, &typed, &error), &error);
  check(hia_function_plain(p.function, &plain, &error), &error);
  check(hia_engine_context_new(p.engine, &c.context, &error), &error);
  hia_native_fn fuelled;
  check(hia_function_entry_with_fuel(p.function, &fuelled, &error), &error);
  check(hia_engine_context_new(p.engine, &c.with_fuel, &error), &error);
  hia_context_set_fuel(c.with_fuel, UINT64_C(1) << 60);
  c.fuelled = (typed_fn)fuelled;
  plain_fn volatile own = succ;
  c.typed = (typed_fn)typed;
  c.plain = (plain_fn)plain;
  c.in_c = own;
  long n = bench_is_quick() ? 10000 : 5000000;
  double each[N_WAYS][MAX_RUNS], ns[N_WAYS];
  for (int r = -1; r < runs; r++)
    for (int w = 0; w < N_WAYS; w++) {
      long calls = n / ways[w].share;
      double start = bench_cpu();
      int32_t x = ways[w].loop(&c, calls);
      double ms = bench_cpu() - start;
      if (x != calls) bench_wrong("%s: %d after %ld calls", ways[w].name, x, calls);
      if (r >= 0) each[w][r] = ms * 1e6 / (double)calls;
    }
  printf("%-34s %10s", "a call of succ(n) = n + 1", "ns");
  bench_print_target_heading("over C's ns");
  printf(" %10s\n", "over C's");
  for (int w = 0; w < N_WAYS; w++) {
    ns[w] = bench_median(each[w], (size_t)runs);
    printf("%-34s %10.2f", ways[w].name, ns[w]);
    bench_print_target(ways[w].name, "ns over a call of C", ns[w] - ns[0], 2, ways[w].target);
    printf(" %9.2fx\n", ns[w] / ns[0]);
  }
  hia_context_free(c.with_fuel);
  hia_context_free(c.context);
  bench_close(&p);
}

/* ---- tensors as parameters and results, beyond what is computed of them ---- */

static const char tensor_text[] =
    "fn first(x: f32[n]) -> f32 = x[0]\n"
    "fn next(x: f32[n]) -> f32[n] = x + 1.0f32\n"
    "fn rounds(x: f32[n], k: i64) -> f32 = {\n"
    "  let (y, _) = loop (y = x, i = k) while i > 0 { (y + 1.0f32, i - 1) };\n"
    "  y[0]\n"
    "}\n";
enum { TENSOR_SIZE = 8 };

typedef hia_status (*first_fn)(hia_context *, const hia_f32_1 *, float *);
typedef hia_status (*next_fn)(hia_context *, const hia_f32_1 *, hia_value **);
typedef hia_status (*rounds_fn)(hia_context *, const hia_f32_1 *, int64_t, float *);

static hia_native_fn entry_of(hia_module *module, const char *name) {
  hia_error *error;
  hia_function *function;
  hia_native_fn entry;
  check(hia_module_function(module, name, &function, &error), &error);
  check(hia_function_entry(function, &entry, &error), &error);
  return entry;
}

static void bench_tensor_calls(int runs) {
  enum { ROUND, FIRST, NEXT, N_ROWS };
  static const struct {
    const char *name;
    bench_target target;
  } rows[N_ROWS] = {{"x + 1, 8 elements, inside of a run", {BENCH_UNBOUNDED, 0}},
                    {"typed entry, f32[n] -> f32", {BENCH_MAX, MAX_VIEW_NS}},
                    {"typed entry, f32[n] -> f32[n]", {BENCH_MAX, MAX_TENSOR_NS}}};
  bench_program p =
      bench_open_text("tensors", tensor_text, "first", &(bench_options){.threads = 1});
  first_fn first = (first_fn)entry_of(p.module, "first");
  next_fn next = (next_fn)entry_of(p.module, "next");
  rounds_fn rounds = (rounds_fn)entry_of(p.module, "rounds");
  hia_context *context;
  hia_error *error;
  check(hia_engine_context_new(p.engine, &context, &error), &error);
  long n = bench_is_quick() ? 1000 : 200000;
  double each[N_ROWS][MAX_RUNS], ns[N_ROWS];
  float elements[TENSOR_SIZE] = {0}, x = 0;
  hia_f32_1 view = {elements, {TENSOR_SIZE}};
  for (int r = -1; r < runs; r++)
    for (int w = 0; w < N_ROWS; w++) {
      double start = bench_cpu();
      if (w == ROUND) check_call(rounds(context, &view, n, &x), context);
      elements[0] = 0;
      for (long i = 0; w != ROUND && i < n; i++) {
        hia_value *result;
        hia_f32_1 out;
        if (w == FIRST) {
          check_call(first(context, &view, &x), context);
          elements[0] = x + 1;
        } else {
          check_call(next(context, &view, &result), context);
          hia_f32_1_of(result, &out);
          elements[0] = out.elements[0];
          hia_value_free(result);
        }
      }
      double ms = bench_cpu() - start;
      float last = w == ROUND ? x : elements[0];
      if (last != (float)n) bench_wrong("%s: %g after %ld", rows[w].name, (double)last, n);
      elements[0] = 0;
      if (r >= 0) each[w][r] = ms * 1e6 / (double)n;
    }
  printf("\n%-34s %10s", "tensors of 8 elements", "ns");
  bench_print_target_heading("over x + 1");
  printf("\n");
  for (int w = 0; w < N_ROWS; w++) {
    ns[w] = bench_median(each[w], (size_t)runs);
    printf("%-34s %10.2f", rows[w].name, ns[w]);
    bench_print_target(rows[w].name, "ns over x + 1", ns[w] - (w == NEXT ? ns[ROUND] : 0), 2,
                       rows[w].target);
    printf("\n");
  }
  hia_context_free(context);
  bench_close(&p);
}

/* ---- maps: a function over columns, beside the same loop in C ---- */

typedef void (*c_formula)(size_t, const double *, const double *, double *);
typedef void (*c_integers)(size_t, const int64_t *, const int64_t *, int64_t *);
typedef hia_status (*map_formula)(hia_context *, size_t, const double *, const double *, double *);
typedef hia_status (*map_integers)(hia_context *, size_t, const int64_t *, const int64_t *,
                                   int64_t *);

#define FORMULA(name)  void name(size_t, const double *, const double *, double *)
#define INTEGERS(name) void name(size_t, const int64_t *, const int64_t *, int64_t *)
#ifdef HIA_HAS_CLANG
FORMULA(clang_poly);
FORMULA(clang_norm);
FORMULA(clang_pick);
INTEGERS(clang_ratio);
INTEGERS(clang_gcd);
#define CLANG(name) clang_##name
#else
#define CLANG(name) NULL
#endif
#ifdef HIA_HAS_GCC
FORMULA(gcc_poly);
FORMULA(gcc_norm);
FORMULA(gcc_pick);
INTEGERS(gcc_ratio);
INTEGERS(gcc_gcd);
#define GCC(name) gcc_##name
#else
#define GCC(name) NULL
#endif

static const char map_text[] =
    "fn poly(x: f64, y: f64) -> f64 =\n"
    "  ((0.5 * x + 1.25) * x - y) * x + (3.0 - y) * y + 0.75\n"
    "fn norm(x: f64, y: f64) -> f64 = sqrt(x * x + y * y) / (1.0 + x)\n"
    "fn pick(x: f64, y: f64) -> f64 =\n"
    "  if x > y then x * 2.0 - y else if x < 0.0 then y * 0.5 else y + x\n"
    "fn ratio(a: i64, b: i64) -> i64 = (a + b) / b\n"
    "fn gcd(a: i64, b: i64) -> i64 = if b == 0 then a else gcd(b, a % b)\n";

enum { MAP_ROWS = 1000000, CACHED_ROWS = 4000 };
#define MAX_MAP_SHARE 1.2 /* of the time of C */

/* `formulas` of functions of floats, else `integers`; each of clang and of gcc. */
typedef struct map_row {
  const char *label, *function;
  c_formula formulas[2];
  c_integers integers[2];
  size_t n;
  int times;
} map_row;

static const map_row map_rows[] = {
    {"a polynomial", "poly", {CLANG(poly), GCC(poly)}, {NULL, NULL}, MAP_ROWS, 1},
    {"a polynomial, 4000 rows", "poly", {CLANG(poly), GCC(poly)}, {NULL, NULL}, CACHED_ROWS, 250},
    {"a root and a division", "norm", {CLANG(norm), GCC(norm)}, {NULL, NULL}, MAP_ROWS, 1},
    {"the same, 4000 rows", "norm", {CLANG(norm), GCC(norm)}, {NULL, NULL}, CACHED_ROWS, 250},
    {"branches", "pick", {CLANG(pick), GCC(pick)}, {NULL, NULL}, MAP_ROWS, 1},
    {"the same, 4000 rows", "pick", {CLANG(pick), GCC(pick)}, {NULL, NULL}, CACHED_ROWS, 250},
    {"a division that may fail", "ratio", {NULL, NULL}, {CLANG(ratio), GCC(ratio)}, MAP_ROWS, 1},
    {"a loop in each row", "gcd", {NULL, NULL}, {CLANG(gcd), GCC(gcd)}, MAP_ROWS / 10, 1},
};

typedef struct map_data {
  double *x, *y, *result, *expected;
  int64_t *a, *b, *whole, *expected_whole;
} map_data;

static bool is_formula(const map_row *row) { return row->formulas[0] || row->formulas[1]; }

static void run_map(const map_row *row, hia_context *context, hia_native_fn map, map_data *d) {
  for (int i = 0; i < row->times; i++)
    check_call(is_formula(row) ? ((map_formula)map)(context, row->n, d->x, d->y, d->result)
                               : ((map_integers)map)(context, row->n, d->a, d->b, d->whole),
               context);
}

static void run_c(const map_row *row, int compiler, map_data *d) {
  for (int i = 0; i < row->times; i++)
    if (row->integers[compiler])
      row->integers[compiler](row->n, d->a, d->b, d->expected_whole);
    else
      row->formulas[compiler](row->n, d->x, d->y, d->expected);
}

static void check_rows(const map_row *row, const map_data *d) {
  const void *result = is_formula(row) ? (const void *)d->result : d->whole;
  const void *expected = is_formula(row) ? (const void *)d->expected : d->expected_whole;
  if (memcmp(result, expected, row->n * sizeof(double)) != 0)
    bench_wrong("%s: other bits than C's", row->label);
}

static void bench_map(const map_row *row, hia_context *context, hia_native_fn map, map_data *d,
                      int runs) {
  double each[3][MAX_RUNS], ns[3];
  for (int r = -1; r < runs; r++)
    for (int k = 0; k < 3; k++) {
      if (k && !row->formulas[k - 1] && !row->integers[k - 1]) continue;
      double start = bench_cpu();
      if (k == 0)
        run_map(row, context, map, d);
      else
        run_c(row, k - 1, d);
      double ms = bench_cpu() - start;
      if (k) check_rows(row, d);
      if (r >= 0) each[k][r] = ms * 1e6 / ((double)row->n * row->times);
    }
  for (int k = 0; k < 3; k++) {
    bool is_there = k == 0 || row->formulas[k - 1] || row->integers[k - 1];
    ns[k] = is_there ? bench_median(each[k], (size_t)runs) : (double)NAN;
  }
  printf("%-34s %10.3f %10.3f %10.3f", row->label, ns[0], ns[1], ns[2]);
  bench_print_target(row->label, "over C", ns[0] / fmin(ns[1], ns[2]), 2,
                     BENCH_AT_MOST(MAX_MAP_SHARE));
  putchar('\n');
}

static void bench_maps(int runs) {
  hia_engine *engine;
  hia_module *module;
  hia_context *context;
  hia_error *error;
  map_data d;
  double **columns[4] = {&d.x, &d.y, &d.result, &d.expected};
  int64_t **integers[4] = {&d.a, &d.b, &d.whole, &d.expected_whole};
  for (int i = 0; i < 4; i++)
    if (!(*columns[i] = calloc(MAP_ROWS, sizeof(double)))) exit(1);
  for (int i = 0; i < 4; i++)
    if (!(*integers[i] = calloc(MAP_ROWS, sizeof(int64_t)))) exit(1);
  for (int i = 0; i < MAP_ROWS; i++) {
    d.x[i] = (double)((int64_t)i * 7919 % 10007) / 100.0 - 20.0;
    d.y[i] = (double)((int64_t)i * 104729 % 10009) / 90.0 - 30.0;
    d.a[i] = (int64_t)i * 48271 % 1000003;
    d.b[i] = (int64_t)i * 16807 % 999983 + 1;
  }
  check(hia_engine_new(NULL, &engine, &error), &error);
  check(hia_module_load_text(engine, "maps", map_text, sizeof map_text - 1, &module, &error),
        &error);
  check(hia_engine_context_new(engine, &context, &error), &error);
  printf("\n%-34s %10s %10s %10s", "a map, ns a row", "hiaton", "clang", "gcc");
  bench_print_target_heading("over the faster");
  putchar('\n');
  for (size_t i = 0; i < sizeof map_rows / sizeof *map_rows; i++) {
    hia_function *f;
    hia_native_fn map;
    check(hia_module_function(module, map_rows[i].function, &f, &error), &error);
    check(hia_function_map(f, &map, &error), &error);
    bench_map(&map_rows[i], context, map, &d, runs);
  }
  hia_context_free(context);
  hia_module_free(module);
  hia_engine_free(engine);
  for (int i = 0; i < 4; i++) free(*columns[i]);
  for (int i = 0; i < 4; i++) free(*integers[i]);
}

/* ---- from an engine to its first result ---- */

static double first_result(hia_engine_kind kind, bool by_entry, const char *cache) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_module *module;
  hia_function *fib;
  hia_error *error;
  int32_t x = 0;
  options.kind = kind;
  options.cache = cache;
  double start = bench_now();
  check(hia_engine_new(&options, &engine, &error), &error);
  check(hia_module_load_text(engine, "fib", fib_text, sizeof fib_text - 1, &module, &error),
        &error);
  check(hia_module_function(module, "fib", &fib, &error), &error);
  if (by_entry) {
    hia_native_fn entry;
    hia_context *context;
    check(hia_function_entry(fib, &entry, &error), &error);
    check(hia_engine_context_new(engine, &context, &error), &error);
    check_call(((typed_fn)entry)(context, 10, &x), context);
    hia_context_free(context);
  } else {
    hia_value *n = hia_value_i32(engine, 10), *result;
    check(hia_call(fib, &n, 1, &result, &error), &error);
    hia_value_get_i32(result, &x);
    hia_value_free(n);
    hia_value_free(result);
  }
  double ms = bench_now() - start;
  if (x != 89) exit(1);
  hia_module_free(module);
  hia_engine_free(engine);
  return ms;
}

static const struct {
  const char *name, *word;
  hia_engine_kind kind;
  bool by_entry, is_cached;
} firsts[] = {
    {"interpreted, hia_call", "interp", HIA_ENGINE_INTERP, false, false},
    {"native, hia_call", "call", HIA_ENGINE_JIT, false, false},
    {"native, typed entry", "entry", HIA_ENGINE_JIT, true, false},
    {"from the cache, hia_call", "cached-call", HIA_ENGINE_JIT, false, true},
    {"from the cache, typed entry", "cached-entry", HIA_ENGINE_JIT, true, true},
};
enum { N_FIRSTS = sizeof firsts / sizeof *firsts };

static void bench_first(const char *self, int runs) {
  printf("\n%-34s %10s %12s\n", "from hia_engine_new to fib(10)", "ms", "in a new");
  printf("%-34s %10s %12s\n", "", "", "process, ms");
  double warm[N_FIRSTS][MAX_RUNS], cold[N_FIRSTS][MAX_RUNS];
  char folder[] = "/tmp/hiaton-bench-XXXXXX"; /* the round that is not counted fills it */
  if (!mkdtemp(folder)) exit(1);
  for (int r = -1; r < runs; r++)
    for (int f = 0; f < N_FIRSTS; f++) {
      double ms =
          first_result(firsts[f].kind, firsts[f].by_entry, firsts[f].is_cached ? folder : NULL);
      char text[64] = "";
      bench_process_text((const char *const[]){self, "--first", firsts[f].word, folder, NULL}, text,
                         sizeof text);
      if (r < 0) continue;
      warm[f][r] = ms;
      cold[f][r] = atof(text);
    }
  for (int f = 0; f < N_FIRSTS; f++)
    printf("%-34s %10.2f %12.2f\n", firsts[f].name, bench_median(warm[f], (size_t)runs),
           bench_median(cold[f], (size_t)runs));
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
}

/* ---- sizes ---- */

static void print_size(const char *name, const char *path, bench_target target) {
  struct stat s;
  bool is_there = stat(path, &s) == 0;
  printf("%-34s", name);
  bench_print_target(name, "KiB", is_there ? (double)s.st_size / 1024 : (double)NAN, 0, target);
  putchar('\n');
}

/* The files that `hiaton build` makes of fib. */
static void bench_program_sizes(void) {
  char folder[] = HIA_PEERS "/program_XXXXXX", in[1024], object[1024], program[1024];
  if (!mkdtemp(folder)) exit(1);
  snprintf(in, sizeof in, "%s/fib.hia", folder);
  snprintf(object, sizeof object, "%s/fib.o", folder);
  snprintf(program, sizeof program, "%s/fib", folder);
  FILE *f = fopen(in, "w");
  if (!f || fputs(fib_text, f) < 0 || fputs("fn main(n: i32) -> i32 = fib(n)\n", f) < 0 ||
      fclose(f))
    exit(1);
  bench_process((const char *const[]){HIA_PROGRAM, "build", in, "-o", object, NULL});
  print_size("fib.o", object, BENCH_NO_TARGET);
  bench_process((const char *const[]){HIA_PROGRAM, "build", in, "--exe", "-o", program, NULL});
  print_size("fib, a program", program, BENCH_NO_TARGET);
  bench_process((const char *const[]){"strip", program, NULL});
  print_size("fib, a program, stripped", program, BENCH_NO_TARGET);
  unlink(in);
  unlink(object);
  unlink(program);
  rmdir(folder);
}

static void bench_sizes(void) {
  printf("\n%-34s", "files");
  bench_print_target_heading("KiB");
  putchar('\n');
  Dl_info rt, engine;
  char path[4096];
  if (dladdr((const void *)(uintptr_t)hia_context_new, &rt) && rt.dli_fname)
    print_size("libhiaton_rt.so", rt.dli_fname, BENCH_AT_MOST(MAX_RT_KIB));
  if (!dladdr((const void *)(uintptr_t)hia_engine_new, &engine) || !engine.dli_fname) return;
  print_size("libhiaton.so", engine.dli_fname, BENCH_NO_TARGET);
  const char *slash = strrchr(engine.dli_fname, '/');
  snprintf(path, sizeof path, "%.*s/libhiaton_llvm.so", slash ? (int)(slash - engine.dli_fname) : 0,
           engine.dli_fname);
  print_size("libhiaton_llvm.so, without LLVM", path, BENCH_NO_TARGET);
  bench_program_sizes();
}

/* ---- memory ---- */

static _Atomic long held;

static void *count_alloc(void *user, size_t size) {
  (void)user;
  atomic_fetch_add(&held, (long)size);
  return malloc(size ? size : 1);
}

static void *count_resize(void *user, void *block, size_t old_size, size_t size) {
  (void)user;
  atomic_fetch_add(&held, (long)size - (long)old_size);
  return realloc(block, size ? size : 1);
}

static void count_free(void *user, void *block, size_t size) {
  (void)user;
  atomic_fetch_sub(&held, (long)size);
  free(block);
}

static double resident_kib(void) {
  unsigned long total = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%lu %lu", &total, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void print_memory(const char *what, double before, bench_target target) {
  printf("%-34s", what);
  bench_print_target(what, "KiB of the allocator", (double)atomic_load(&held) / 1024, 1, target);
  printf(" %12.0f\n", resident_kib() - before);
}

/* Runs first, before the process has allocated anything. */
static void bench_memory(void) {
  const hia_allocator allocator = {count_alloc, count_resize, count_free, NULL};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_module *module;
  hia_function *fib;
  hia_context *context;
  hia_native_fn entry;
  hia_error *error;
  int32_t x;
  options.allocator = &allocator;
  double before = resident_kib();
  printf("%-34s", "memory, KiB");
  bench_print_target_heading("allocator");
  printf(" %12s\n", "process");
  check(hia_engine_new(&options, &engine, &error), &error);
  print_memory("an engine at rest", before, BENCH_NO_TARGET);
  check(hia_engine_context_new(engine, &context, &error), &error);
  print_memory("and a context", before, BENCH_NO_TARGET);
  check(hia_engine_native(engine, &error), &error);
  print_memory("and the compiler, open", before, BENCH_NO_TARGET);
  check(hia_module_load_text(engine, "fib", fib_text, sizeof fib_text - 1, &module, &error),
        &error);
  check(hia_module_function(module, "fib", &fib, &error), &error);
  check(hia_function_entry(fib, &entry, &error), &error);
  print_memory("and fib, compiled", before, BENCH_NO_TARGET);
  check_call(((typed_fn)entry)(context, 20, &x), context);
  print_memory("and called", before, BENCH_NO_TARGET);
  hia_module_free(module);
  print_memory("the module freed", before, BENCH_NO_TARGET);
  hia_context_free(context);
  hia_engine_free(engine);
  print_memory("all freed (LLVM stays open)", before, BENCH_AT_MOST(MAX_HELD));
}

/* ---- compile time compared with clang's ---- */

typedef struct source {
  const char *name, *ours, *in_c;
} source;

/* Definitions with a number for each %d. */
static const source sources[] = {
    {"fib", "fn copy%d(n: i32) -> i32 = if n <= 1 then 1 else copy%d(n - 1) + copy%d(n - 2)\n",
     "int f%d(int n) { return n <= 1 ? 1 : f%d(n - 1) + f%d(n - 2); }\n"},
    {"gcd", "fn copy%d(a: i32, b: i32) -> i32 = if b == 0 then a else copy%d(b, a %% b + 0 * %d)\n",
     "int f%d(int a, int b) { return b == 0 ? a : f%d(b, a %% b + 0 * %d); }\n"},
    /* Not in tail position: C's compiler would change such calls, and with them the chain. */
    {"steps of gcd",
     "fn copy%d(a: i32, b: i32) -> i32 = if b == 0 then %d else 1 + copy%d(b, a %% b)\n",
     "int f%d(int a, int b) { return b == 0 ? %d : 1 + f%d(b, a %% b); }\n"},
    {"a loop",
     "fn copy%d(n: i32) -> i32 = { let (s, _) = loop (s = %d, i = 0) while i < n "
     "{ (bxor(s * 31, i), i + 1) }; s + %d }\n",
     "int f%d(int n) { unsigned s = %d; for (int i = 0; i < n; i++) s = (s * 31) ^ (unsigned)i;"
     " return (int)s + %d; }\n"},
};
enum { N_SOURCES = sizeof sources / sizeof *sources };

static char *write_copies(const char *form, int n) {
  size_t room = (size_t)n * 256 + 1, at = 0;
  char *text = malloc(room);
  if (!text) exit(1);
  for (int i = 0; i < n; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    at += (size_t)snprintf(text + at, room - at, form, i, i, i);
#pragma GCC diagnostic pop
  }
  return text;
}

/* Milliseconds of processor time for a function: from text to native code. */
static double compile_ours(const source *s, int n) {
  char *text = write_copies(s->ours, n);
  hia_engine *engine;
  hia_module *module;
  hia_error *error;
  check(hia_engine_new(NULL, &engine, &error), &error);
  check(hia_engine_native(engine, &error), &error);
  double start = bench_cpu();
  check(hia_module_load_text(engine, s->name, text, strlen(text), &module, &error), &error);
  for (int i = 0; i < n; i++) {
    char name[16];
    hia_function *f;
    snprintf(name, sizeof name, "copy%d", i);
    check(hia_module_function(module, name, &f, &error), &error);
    check(hia_function_prepare(f, &error), &error);
  }
  double ms = (bench_cpu() - start) / n;
  hia_module_free(module);
  hia_engine_free(engine);
  free(text);
  return ms;
}

#ifdef HIA_CLANG_PROGRAM
static double run_clang(const source *s, int n, const char *folder) {
  char in[1024], out[1024];
  snprintf(in, sizeof in, "%s/f.c", folder);
  snprintf(out, sizeof out, "%s/f.o", folder);
  char *text = write_copies(s->in_c, n);
  FILE *f = fopen(in, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) exit(1);
  free(text);
  return bench_process(
      (const char *const[]){HIA_CLANG_PROGRAM, "-O2", "-w", "-c", in, "-o", out, NULL});
}
#endif

static void bench_compile(int runs) {
  int n = bench_is_quick() ? 5 : 50;
  printf("\n%-34s %10s %12s %12s\n", "compile time of a function, ms", "hiaton", "clang -O2 -c",
         "of a file");
  printf("%-34s %10s %12s %12s\n", "", "", "a further", "with one");
#ifdef HIA_CLANG_PROGRAM
  char folder[] = HIA_PEERS "/embed_XXXXXX"; /* where the build keeps what benchmarks need */
  if (!mkdtemp(folder)) exit(1);
#endif
  for (int i = 0; i < N_SOURCES; i++) {
    double ours[MAX_RUNS];
    for (int r = -1; r < runs; r++) {
      double ms = compile_ours(&sources[i], n);
      if (r >= 0) ours[r] = ms;
    }
    printf("%-34s %10.2f", sources[i].name, bench_median(ours, (size_t)runs));
#ifdef HIA_CLANG_PROGRAM
    double one[MAX_RUNS], more[MAX_RUNS];
    int many = 20 * n;
    for (int r = 0; r < runs; r++) {
      one[r] = run_clang(&sources[i], 1, folder);
      more[r] = (run_clang(&sources[i], many, folder) - one[r]) / (many - 1);
    }
    printf(" %12.2f %12.1f", bench_median(more, (size_t)runs), bench_median(one, (size_t)runs));
#endif
    putchar('\n');
  }
#ifdef HIA_CLANG_PROGRAM
  char path[1024];
  for (const char *const *name = (const char *const[]){"f.c", "f.o", NULL}; *name; name++) {
    snprintf(path, sizeof path, "%s/%s", folder, *name);
    unlink(path);
  }
  rmdir(folder);
#endif
}

int main(int argc, char **argv) {
  int runs = 7;
  bool is_known = true;
  if (argc == 4 && strcmp(argv[1], "--first") == 0) {
    for (int f = 0; f < N_FIRSTS; f++)
      if (strcmp(argv[2], firsts[f].word) == 0)
        printf("%.3f\n", first_result(firsts[f].kind, firsts[f].by_entry,
                                      firsts[f].is_cached ? argv[3] : NULL));
    return 0;
  }
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else
      is_known = false;
  }
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr, "usage: %s [--quick | --check] [--runs N]\n", argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  bench_print_machine();
  bench_memory();
  putchar('\n');
  bench_calls(runs);
  bench_tensor_calls(runs);
  bench_maps(runs);
  bench_first(argv[0], runs);
  bench_sizes();
  bench_compile(runs);
  return bench_end();
}
