/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures chains of elementwise operations next to the same in C with libmvec (reference_loops.c):
 * op by op, as a library of tensors computes it, and in one loop.
 *
 *   bench_elementwise [--quick | --check]
 *
 * "LSTM cell": some cells, one after the other. "words": rows of a table that indices say, a bias,
 * tanh, and the sum of each row with weights. A call computes some rows, so that what a call costs
 * does not count. "Functions": an elementary function of each element of a vector, next to libmvec
 * and SLEEF. Figures are medians of processor time, of calls that take turns. */
#include "bench/harness.h"
#include "bench/reference_loops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 25, MAX_SIZE = 1024, VALUES = 64 * 1024, WORDS = 256 };
#define MAX_OF_OPS 0.8
#define TOLERANCE  1e-4

static float big[4 * VALUES], vectors[2][MAX_SIZE];
static int64_t words[WORDS];
static float first[VALUES], second[VALUES], memory[3 * VALUES];
static size_t n, rows;

typedef struct chain {
  const char *name, *text; /* const N is the size of a row */
  const void *(*args)(size_t i, int64_t *dims);
  size_t n_args;
  void (*ops)(void), (*fused)(void); /* in C: results in `first` and `second` */
  double most;                       /* hiaton's time over that op by op; 0: no target */
} chain;

static hia_value *run_own(const bench_program *p, hia_value **args, size_t n_args) {
  hia_value *result;
  hia_error *error;
  bench_check(hia_call(p->function, args, n_args, &result, &error), &error);
  return result;
}

/* ---- cells ---- */

static const char cells_text[] =
    "fn main(gates: f32[m, 4, N], c: f32[N]) -> (f32[N], f32[N]) = {\n"
    "  let (c, h, _) = loop (c = c, h = zeros(N), k = 0i64) while k < m {\n"
    "    let g = gates[k];\n"
    "    let next = sigmoid(g[0]) * tanh(g[3]) + sigmoid(g[1]) * c;\n"
    "    (next, sigmoid(g[2]) * tanh(next), k + 1)\n"
    "  };\n"
    "  (c, h)\n"
    "}\n";

static const void *cells_args(size_t i, int64_t *dims) {
  dims[0] = i == 0 ? (int64_t)rows : (int64_t)n;
  dims[1] = 4;
  dims[2] = (int64_t)n;
  return i == 0 ? (const void *)big : vectors[0];
}

/* ---- words ---- */

static const char words_text[] =
    "fn main(table: f32[?, N], words: i64[?], bias: f32[N], w: f32[N]) = {\n"
    "  let x = tanh(table[words] + bias);\n"
    "  (x, sum(x * w, axis = 1))\n"
    "}\n";

static const void *words_args(size_t i, int64_t *dims) {
  dims[0] = i == 0 ? (int64_t)(4 * VALUES / n) : i == 1 ? (int64_t)rows : (int64_t)n;
  dims[1] = (int64_t)n;
  return i == 0 ? (const void *)big : i == 1 ? (const void *)words : vectors[i - 2];
}

#if HIA_HAS_GCC
static void cells_ops(void) {
  memcpy(first, vectors[0], n * sizeof *first);
  reference_cells(rows, n, big, first, second, memory);
}
static void cells_fused(void) {
  memcpy(first, vectors[0], n * sizeof *first);
  reference_cells_fused(rows, n, big, first, second);
}
static void words_ops(void) {
  reference_words(rows, n, big, words, vectors[0], vectors[1], first, second, memory);
}
static void words_fused(void) {
  reference_words_fused(rows, n, big, words, vectors[0], vectors[1], first, second);
}
#define IN_C(ops, fused) ops, fused
#else
#define IN_C(ops, fused) NULL, NULL
#endif

static const chain cells = {"LSTM cell", cells_text, cells_args, 2, IN_C(cells_ops, cells_fused),
                            MAX_OF_OPS};
static const chain words_ = {"words", words_text, words_args, 4, IN_C(words_ops, words_fused), 0};

/* ---- measuring ---- */

static void compare(const char *row, hia_value *result, size_t part, const float *theirs) {
  hia_value *value = hia_value_part(result, part);
  const float *own = hia_value_elements(value);
  size_t size = 1;
  size_t rank = hia_type_info_rank(hia_value_type(value));
  for (size_t i = 0; i < rank; i++) size *= (size_t)hia_value_dims(value)[i];
  for (size_t i = 0; i < size; i++)
    if (!(fabsf(own[i] - theirs[i]) <= (float)TOLERANCE * fmaxf(1, fabsf(theirs[i])))) {
      bench_wrong("%s: element %zu is %.9g, in C %.9g", row, i, (double)own[i], (double)theirs[i]);
      break;
    }
  hia_value_free(value);
}

static double time_of(const chain *c, const bench_program *p, hia_value **args, int way,
                      int repeats) {
  double start = bench_cpu();
  for (int i = 0; i < repeats; i++)
    if (way == 0)
      hia_value_free(run_own(p, args, c->n_args));
    else
      (way == 1 ? c->ops : c->fused)();
  return (bench_cpu() - start) * 1e6 / repeats / (double)rows;
}

static void measure(const chain *c) {
  double samples[3][ROUNDS], ns[3] = {NAN, NAN, NAN};
  int rounds = bench_is_quick() ? 1 : ROUNDS, repeats = bench_is_quick() ? 1 : 20;
  int ways = c->ops ? 3 : 1;
  char row[64], text[1024];
  hia_value *args[4];
  hia_error *error;
  snprintf(row, sizeof row, "%s, %zu", c->name, n);
  snprintf(text, sizeof text, "const N = %zu\n%s", n, c->text);
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1};
  bench_program program = bench_open_text(c->name, text, "main", &options);
  for (size_t i = 0; i < c->n_args; i++) {
    int64_t dims[3];
    const void *elements = c->args(i, dims);
    bench_check(hia_data_tensor(NULL, hia_function_param_type(program.function, i), dims, elements,
                                &args[i], &error),
                &error);
  }
  hia_value *result = run_own(&program, args, c->n_args);
  for (int way = 1; way < ways; way++) {
    (way == 1 ? c->ops : c->fused)();
    compare(row, result, 0, first);
    compare(row, result, 1, second);
  }
  hia_value_free(result);
  for (int r = 0; r < rounds; r++)
    for (int way = 0; way < ways; way++) samples[way][r] = time_of(c, &program, args, way, repeats);
  for (int way = 0; way < ways; way++) ns[way] = bench_median(samples[way], (size_t)rounds);
  printf("%-18s %9.0f %9.0f %9.0f", row, ns[0], ns[1], ns[2]);
  bench_print_target(row, "hiaton/C, op by op", ns[0] / ns[1], 2,
                     c->most > 0 ? BENCH_AT_MOST(c->most) : BENCH_NO_TARGET);
  bench_print_target(row, "hiaton/C, one loop", ns[0] / ns[2], 2, BENCH_NO_TARGET);
  printf("\n");
  fflush(stdout);
  for (size_t i = 0; i < c->n_args; i++) hia_value_free(args[i]);
  bench_close(&program);
}

/* ---- functions ---- */

#if HIA_HAS_GCC

enum { ELEMENTS = 8192, WAYS = 3 };
static double operands[2][ELEMENTS], out_c[ELEMENTS];

/* Writes operands of dtype t, f32 or f64, where the function has usual values. */
static void make_operands(const reference_function *f, int t) {
  bool is_positive = strcmp(f->name, "log") == 0 || strcmp(f->name, "pow") == 0;
  bool is_sine = strcmp(f->name, "asin") == 0 || strcmp(f->name, "acos") == 0;
  for (size_t i = 0; i < ELEMENTS; i++)
    for (size_t k = 0; k < 2; k++) {
      double u = drand48(), x = is_sine             ? 2 * u - 1
                                : is_positive && !k ? 10 * u + 1e-3
                                                    : 12 * u - 6;
      if (t)
        operands[k][i] = x;
      else
        ((float *)operands[k])[i] = (float)x;
    }
}

static double nearness(const void *a, const void *b, int t) {
  double worst = 0;
  for (size_t i = 0; i < ELEMENTS; i++) {
    double x = t ? ((const double *)a)[i] : (double)((const float *)a)[i],
           y = t ? ((const double *)b)[i] : (double)((const float *)b)[i];
    worst = fmax(worst, fabs(x - y) / fmax(1, fabs(y)));
  }
  return worst;
}

static void measure_function(const reference_function *f, int t) {
  reference_loop *loops[WAYS] = {NULL, f->libmvec[t], f->sleef[t]};
  double samples[WAYS][ROUNDS], ns[WAYS];
  int rounds = bench_is_quick() ? 1 : ROUNDS, repeats = bench_is_quick() ? 1 : 20;
  const char *dtype = t ? "f64" : "f32";
  char row[64], text[128];
  hia_value *args[2];
  hia_error *error;
  snprintf(row, sizeof row, "%s, %s", f->name, dtype);
  if (f->n_args == 1)
    snprintf(text, sizeof text, "fn main(x: %s[%d]) = %s(x)\n", dtype, ELEMENTS, f->name);
  else
    snprintf(text, sizeof text, "fn main(x: %s[%d], y: %s[%d]) = %s(x, y)\n", dtype, ELEMENTS,
             dtype, ELEMENTS, f->name);
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1};
  bench_program program = bench_open_text(f->name, text, "main", &options);
  make_operands(f, t);
  int64_t dims[1] = {ELEMENTS};
  for (size_t i = 0; i < f->n_args; i++)
    bench_check(hia_data_tensor(NULL, hia_function_param_type(program.function, i), dims,
                                operands[i], &args[i], &error),
                &error);
  hia_value *result = run_own(&program, args, f->n_args);
  for (int way = 1; way < WAYS; way++) {
    if (!loops[way]) continue;
    loops[way](ELEMENTS, operands[0], operands[1], out_c);
    if (!(nearness(hia_value_elements(result), out_c, t) <= (t ? 1e-12 : TOLERANCE)))
      bench_wrong("%s differs from %s", row, way == 1 ? "libmvec" : "SLEEF");
  }
  hia_value_free(result);
  for (int r = 0; r < rounds; r++)
    for (int way = 0; way < WAYS; way++) {
      if (way && !loops[way]) continue;
      double start = bench_cpu();
      for (int i = 0; i < repeats; i++)
        if (way)
          loops[way](ELEMENTS, operands[0], operands[1], out_c);
        else
          hia_value_free(run_own(&program, args, f->n_args));
      samples[way][r] = (bench_cpu() - start) * 1e6 / repeats / ELEMENTS;
    }
  for (int way = 0; way < WAYS; way++)
    ns[way] = way && !loops[way] ? NAN : bench_median(samples[way], (size_t)rounds);
  printf("%-18s %9.2f %9.2f %9.2f", row, ns[0], ns[1], ns[2]);
  bench_print_target(row, "hiaton/libmvec", ns[0] / ns[1], 2, BENCH_AT_MOST(1));
  bench_print_target(row, "hiaton/SLEEF", ns[0] / ns[2], 2, BENCH_AT_MOST(1));
  printf("\n");
  fflush(stdout);
  for (size_t i = 0; i < f->n_args; i++) hia_value_free(args[i]);
  bench_close(&program);
}

static void measure_functions(void) {
  printf("\n%-18s %9s %9s %9s", "ns an element", "hiaton", "libmvec", "SLEEF");
  bench_print_target_heading("hiaton/libmvec");
  bench_print_target_heading("hiaton/SLEEF");
  printf("\n");
  for (const reference_function *f = reference_functions; f->name; f++)
    for (int t = 0; t < 2; t++) measure_function(f, t);
}

#else
static void measure_functions(void) {}
#endif

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!bench_take_option(argv[i])) {
      fputs("usage: bench_elementwise [--quick | --check]\n", stderr);
      return 2;
    }
  static const size_t sizes[] = {150, MAX_SIZE}, widths[] = {25, 300};
  bench_print_machine();
  bench_pin(true);
  for (size_t i = 0; i < sizeof big / sizeof *big; i++) big[i] = (float)(drand48() * 8 - 4);
  for (size_t i = 0; i < MAX_SIZE; i++)
    for (size_t k = 0; k < 2; k++) vectors[k][i] = (float)(drand48() * 2 - 1);
  printf("%-18s %9s %9s %9s", "ns a row", "hiaton", "C, ops", "one loop");
  bench_print_target_heading("hiaton/C, op by op");
  bench_print_target_heading("hiaton/C, one loop");
  printf("\n");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    n = sizes[i];
    /* Gates of 128 KiB: they stay in the second cache. */
    rows = (size_t)(128 << 10) / (4 * n * sizeof(float));
    measure(&cells);
  }
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    n = widths[i];
    rows = 64;
    for (size_t k = 0; k < rows; k++) words[k] = (int64_t)(drand48() * 100);
    measure(&words_);
  }
  measure_functions();
  return bench_end();
}
