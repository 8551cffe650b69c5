/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The time from a cancel, or a deadline, to the return of a run that is inside of an operation on a
 * large tensor or array.
 *
 * Each program repeats one operation for ever, each time on what the round before has made, so that
 * no engine can leave it out. A single operation takes from a few milliseconds to some hundred. An
 * operation that could not end in the middle would show as a median of half of its time. What is
 * measured includes giving back the memory of the run, which takes the system some milliseconds for
 * each GiB. */
#include "bench/limits.h"
#include <stdio.h>
#include <stdlib.h>

/* Params, each in a program of its own: the first run makes those of all. */
static const char packing_text[] =
    "param W: f32[6000, 6000] = zeros()\n"
    "fn packing(n: i64) -> f32[?] = loop (v = full(f32(n), 6000)) while true { v @ W }\n";
static const char long_packing_text[] =
    "param W: f32[1200000, 30] = zeros()\n"
    "fn packing(n: i64) -> f32[?] = { let x = full(f32(n), 2, 1200000);\n"
    "  loop (v = zeros(30)) while true { (x @ W)[0] + v } }\n";
static const char initialising_text[] = "param W: f32[50000000] = normal(0.0, 1.0)\n"
                                        "fn initialising(n: i64) -> f32 = W[n]\n";

/* With these sizes `quick` programs take no longer than the others of this benchmark. */
typedef struct row {
  const char *name, *function;
  const char *make; /* makes the argument; NULL: it is the size itself */
  int32_t size, quick_size;
  enum { LARGE_FAST = 1, LARGE_DEADLINE = 2, LARGE_FRESH = 4, LARGE_INTERP = 8 } how;
  const char *text; /* NULL: limits_large.hia. FRESH programs are opened for each cancel */
} row;

/* LARGE_INTERP: interpreted too. The others are the same code, or take long to begin. */
static const row rows[] = {
    {"product, f32", "product", "matrix", 2000, 50, LARGE_INTERP, NULL},
    {"the same, a deadline", "product", "matrix", 2000, 50, LARGE_DEADLINE, NULL},
    {"product, f64", "product64", "matrix64", 2000, 50, 0, NULL},
    {"fast product, f32", "product", "matrix", 2000, 300, LARGE_FAST | LARGE_INTERP, NULL},
    {"fast product, f64", "product64", "matrix64", 2000, 300, LARGE_FAST, NULL},
    {"product, i32", "product_i32", "matrix_i32", 2000, 50, 0, NULL},
    {"product, i64", "product_i64", "matrix_i64", 2000, 50, 0, NULL},
    {"vector @ matrix", "left", "matrix", 7000, 50, 0, NULL},
    {"matrix @ vector", "right", "matrix", 7000, 50, 0, NULL},
    {"many rows @ 16 x 16", "many", "tall", 3000000, 50, 0, NULL},
    {"vector @ vector", "dot", "f32s", 50000000, 5000, 0, NULL},
    {"outer", "outers", "matrix", 7000, 50, 0, NULL},
    {"packing a param", "packing", NULL, 1, 1, LARGE_FRESH, packing_text},
    {"packing a long one", "packing", NULL, 1, 1, LARGE_FRESH, long_packing_text},
    {"making a param", "initialising", NULL, 1, 1, LARGE_FRESH, initialising_text},
    {"a fused chain", "chain", "f32s", 50000000, 5000, LARGE_INTERP, NULL},
    {"a long fused chain", "long_chain", "f64s", 10000000, 5000, 0, NULL},
    {"broadcast rows", "rows", "matrix", 7000, 50, 0, NULL},
    {"broadcast columns", "columns", "f32s", 50000000, 5000, 0, NULL},
    {"sin", "sines", "f32s", 50000000, 5000, LARGE_INTERP, NULL},
    {"% of f64", "remainders", "f64s", 5000000, 5000, 0, NULL},
    {"sum", "sums", "f32s", 50000000, 5000, LARGE_INTERP, NULL},
    {"argmax", "largest", "f32s", 50000000, 5000, 0, NULL},
    {"sum, axis 0, wide", "sums_of_columns", "matrix", 7000, 50, 0, NULL},
    {"sum, axis 0, tall", "sums_of_columns", "tall", 3000000, 500, 0, NULL},
    {"argmax, axis 0, wide", "largest_of_columns", "matrix", 7000, 50, 0, NULL},
    {"softmax of one row", "softmaxes", "f32s", 50000000, 5000, 0, NULL},
    {"concat", "joined", "f32s", 50000000, 5000, LARGE_INTERP, NULL},
    {"stack", "stacked", "f32s", 50000000, 5000, 0, NULL},
    {"set, a copy", "changed", "f32s", 50000000, 5000, 0, NULL},
    {"transpose", "transposed", "matrix", 7000, 50, 0, NULL},
    {"gather", "gathered", "mixed", 20000000, 5000, 0, NULL},
    {"one_hot", "one_hots", "i64s", 50000000, 5000, 0, NULL},
    {"comprehension", "mapped", "f32s", 20000000, 5000, LARGE_INTERP, NULL},
    {"comprehension of rows", "mapped_rows", "matrix", 7000, 50, 0, NULL},
    {"concat of arrays", "pairs", NULL, 10000000, 1000, LARGE_INTERP, NULL},
    {"set of an array, a copy", "changed_pairs", NULL, 10000000, 1000, 0, NULL},
    {"concat of data", "boxes", NULL, 5000000, 1000, LARGE_INTERP, NULL},
    {"freeing a chain", "chains", NULL, 3000000, 1000, LARGE_INTERP, NULL},
    {"freeing tensors", "tensors", NULL, 3000, 10, LARGE_INTERP, NULL},
};

enum { WAIT = 150000, MAX_LARGE = 5000 };

#define PROGRAMS HIA_BENCH "/limits_large.hia"

static bench_program open_row(const row *w, hia_engine_kind kind) {
  const bench_options options = {
      .kind = kind, .threads = 1, .merge_calls = true, .fast_products = (w->how & LARGE_FAST) != 0};
  if (!w->text) return bench_open(PROGRAMS, w->function, &options);
  return bench_open_text("param.hia", w->text, w->function, &options);
}

/* The argument of a program, which is the caller's. */
static hia_value *make_argument(const row *w) {
  static hia_engine *engine; /* of all arguments; the process's end frees it */
  hia_error *error;
  hia_value *size, *made;
  hia_function *make;
  static hia_module *module;
  if (!engine) {
    bench_check(hia_engine_new(NULL, &engine, &error), &error);
    bench_check(hia_module_load_file(engine, PROGRAMS, &module, &error), &error);
  }
  size = hia_value_i64(engine, bench_is_quick() ? w->quick_size : w->size);
  if (!w->make) return size;
  bench_check(hia_module_function(module, w->make, &make, &error), &error);
  bench_check(hia_call(make, &size, 1, &made, &error), &error);
  hia_value_free(size);
  return made;
}

static void end_row(const row *w, hia_engine_kind kind, size_t n) {
  static double took[MAX_LARGE], cpu[MAX_LARGE];
  bool is_fresh = w->how & LARGE_FRESH;
  if (is_fresh && n > 10) n = 10;
  char name[64];
  snprintf(name, sizeof name, "%s%s", kind == HIA_ENGINE_INTERP ? "interp: " : "", w->name);
  hia_value *argument = make_argument(w);
  bench_program p;
  if (!is_fresh) p = open_row(w, kind);
  unsigned random = 54321;
  for (size_t i = 0; i < n; i++) {
    random = random * 1664525u + 1013904223u;
    if (is_fresh) p = open_row(w, kind);
    limits_cause cause = w->how & LARGE_DEADLINE ? LIMITS_DEADLINE : LIMITS_CANCEL;
    unsigned wait = (random >> 8) % (bench_is_quick() ? WAIT / 100 : WAIT);
    limits_delay d = limits_end_run(name, p.function, &argument, 1, cause, wait);
    took[i] = d.clock;
    cpu[i] = d.cpu;
    if (is_fresh) bench_close(&p);
  }
  if (!is_fresh) bench_close(&p);
  hia_value_free(argument);
  printf("%-30s", name);
  limits_print_spread(name, "on the clock", took, n, LIMITS_MEDIAN, BENCH_AT_MOST(LIMITS_MAX_US));
  limits_print_spread(name, "processor time", cpu, n, LIMITS_MEDIAN, BENCH_NO_TARGET);
  puts("");
  fflush(stdout);
}

void limits_table_of_large(size_t n) {
  n = n >= 200 ? n / 20 : n;
  if (n > MAX_LARGE) n = MAX_LARGE;
  printf(
      "The same inside of operations on large tensors and arrays: microseconds on the clock, over "
      "%zu runs\neach (at most 10, of what only a first run does), at a random moment of their "
      "first %d ms.\n\n%-30s",
      n, (bench_is_quick() ? WAIT / 100 : WAIT) / 1000, "");
  for (int k = 0; k < 2; k++) limits_print_heading(LIMITS_MEDIAN);
  puts("");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) end_row(&rows[i], HIA_ENGINE_JIT, n);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].how & LARGE_INTERP) end_row(&rows[i], HIA_ENGINE_INTERP, n);
  puts("");
}
