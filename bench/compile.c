/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures how compiling grows with the program: programs of one form and growing size, from their
 * text to native code, with the processor time and the memory of the process, by phase, and the
 * growth of both when the size of the program doubles.
 *
 *   bench_compile [--quick | --check] [--runs N] [--only FORM]
 *   bench_compile --one FORM SIZE                (one measurement, which is a process of its own)
 *   bench_compile --text FORM SIZE               (prints the program)
 *
 * Nothing is run. The engine opens LLVM before the time is taken. */
#include "bench/harness.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_RUNS = 99, N_SIZES = 3, MAX_SECONDS = 60 /* of a process */ };
/* The time for a program of twice the size: 2 if compiling is linear. Caches and growing tables
 * make it more; costs that do not grow make it less in a small program. */
#define MAX_GROWTH        2.5
#define MAX_MEMORY_GROWTH 2.3
#define MAX_GRADIENT      3.0 /* times the compile time of the function */

/* ---- programs ---- */

typedef struct text {
  char *bytes;
  size_t len, room;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...) {
  for (;;) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->bytes + t->len, t->room - t->len, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < t->room - t->len) {
      t->len += (size_t)n;
      return;
    }
    t->room = 2 * t->room + (size_t)(n < 0 ? 0 : n) + 64;
    t->bytes = realloc(t->bytes, t->room);
    if (!t->bytes) exit(1);
  }
}

/* The same text n times. */
static void repeat(text *t, const char *s, unsigned n) {
  while (n-- > 0) put(t, "%s", s);
}

static void functions(text *t, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    put(t, "fn g%u(x: i32) -> i32 = if x <= 1 then %u else g%u(x - 1) + g%u(x - 2)\n", i, i, i, i);
  put(t, "fn main(x: i32) -> i32 = 0");
  for (unsigned i = 0; i < n; i++) put(t, "%sg%u(x)", i % 100 ? " + " : "\n  + ", i);
}

static void chain(text *t, unsigned n) {
  put(t, "fn g0(x: i32) -> i32 = x * 3\n");
  for (unsigned i = 1; i < n; i++)
    put(t, "fn g%u(x: i32) -> i32 = if x < %u then g%u(x + 1) + %u else x - %u\n", i, i, i - 1, i,
        i);
  put(t, "fn main(x: i32) -> i32 = g%u(x)\n", n - 1);
}

static void group(text *t, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    put(t, "fn g%u(x: i32) -> i32 = if x <= 0 then %u else 1 + g%u(x - 1)\n", i, i, (i + 1) % n);
  put(t, "fn main(x: i32) -> i32 = g0(x)\n");
}

static void doubling(text *t, unsigned n) {
  put(t, "fn g0(x: i32) -> i32 = x + 1\n");
  for (unsigned i = 1; i < n; i++)
    put(t, "fn g%u(x: i32) -> i32 = g%u(x) + g%u(x + %u)\n", i, i - 1, i - 1, i);
  put(t, "fn main(x: i32) -> i32 = g%u(x)\n", n - 1);
}

static void calls(text *t, unsigned n) {
  put(t, "fn g(x: i32) -> i32 = if x <= 1 then x else g(x - 1) + g(x / 2)\n"
         "fn main(x: i32) -> i32 = {\n  let a = x;\n");
  for (unsigned i = 0; i < n; i++) put(t, "  let a = g(a + %u);\n", i);
  put(t, "  a }\n");
}

/* Constants in no order. */
static int scattered(unsigned i) { return (int)(i * 2654435761u) >> 3; }

static void arms(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = match x {\n");
  for (unsigned i = 0; i < n; i++) put(t, "  %d => y * %u + x,\n", scattered(i), i);
  put(t, "  _ => 0 }\n");
}

static void constant_arms(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = match x {\n");
  for (unsigned i = 0; i < n; i++) put(t, "  %u => %u,\n", i, i * 7919 % 10007);
  put(t, "  _ => y }\n");
}

static void failing_arms(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = match x {\n");
  for (unsigned i = 0; i < n; i++) put(t, "  %u => y / (x + y + %u),\n", 3 * i, i);
  put(t, "  _ => fail(1) }\n");
}

static void calling_arms(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = match x {\n");
  put(t, "  0 => y,\n");
  for (unsigned i = 1; i < n; i++) put(t, "  %u => main(x - %u, y + %u),\n", i, i, i);
  put(t, "  _ => main(y, x) + 1 }\n");
}

static void divisions(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = {\n  let a = x;\n");
  for (unsigned i = 0; i < n; i++) put(t, "  let a = a / (y + %u) + %u;\n", i, i);
  put(t, "  a }\n");
}

static void line(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = {\n  let (a, b) = (x, y);\n");
  for (unsigned i = 0; i < n; i++) put(t, "  let (a, b) = (bxor(a * (y + %u), b), a);\n", i);
  put(t, "  a + b }\n");
}

static void branches(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = {\n  let a = x;\n");
  for (unsigned i = 0; i < n; i++)
    put(t, "  let a = if a < y + %u then a + %u else a * 3;\n", i, i);
  put(t, "  a }\n");
}

static void loops(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = {\n  let a = y;\n");
  for (unsigned i = 0; i < n; i++)
    put(t, "  let (_, a) = loop (i = 0, a = a) while i < x { (i + 1, a * 3 + %u) };\n", i);
  put(t, "  a }\n");
}

static void nested_loops(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = {\n  let a = y;\n");
  for (unsigned i = 0; i < n; i++)
    put(t, "{ let (_, a) = loop (j%u = 0, a = a) while j%u < x { (j%u + 1, ", i, i, i);
  put(t, "a * 5");
  for (unsigned i = 0; i < n; i++) put(t, " + %u) }; a }", i);
  put(t, "}\n");
}

static void nested_branches(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 =\n");
  for (unsigned i = 0; i < n; i++) put(t, "if x < y * %u then x + %u else (\n", i, i);
  put(t, "y");
  repeat(t, ")", n);
}

static void nested_conditions(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 =\n");
  repeat(t, "if (", n);
  put(t, "y");
  for (unsigned i = 0; i < n; i++) put(t, ") < %u then x + %u else x - y", i, i);
}

static void nested_blocks(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 =\n");
  repeat(t, "{ let a = ", n);
  put(t, "y");
  for (unsigned i = 0; i < n; i++) put(t, "; a * x + %u }\n", i);
}

static void brackets(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 =\n");
  for (unsigned i = 0; i < n; i++) put(t, "(%u + x * ", i);
  put(t, "y");
  repeat(t, ")", n);
}

static void nested_tuples(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = { let ");
  repeat(t, "(", n);
  put(t, "a");
  for (unsigned i = 0; i < n; i++) put(t, ", a%u)", i);
  put(t, " = if x < y then ");
  repeat(t, "(", n);
  put(t, "x");
  for (unsigned i = 0; i < n; i++) put(t, ", y + %u)", i);
  put(t, " else ");
  repeat(t, "(", n);
  put(t, "y");
  for (unsigned i = 0; i < n; i++) put(t, ", x * %u)", i);
  put(t, ";\n a");
  for (unsigned i = 0; i < n; i++) put(t, " + a%u", i);
  put(t, " }\n");
}

static void names(text *t, unsigned n) {
  for (unsigned i = 0; i < n; i++) put(t, "a%u, ", i);
}

static void sum(text *t, unsigned n) {
  for (unsigned i = 0; i < n; i++) put(t, "bxor(a%u, ", i);
  put(t, "1");
  repeat(t, ")", n);
}

/* Tuples as results of a function, of a branch, and of calls. Brackets nest at most WIDE_SUM deep.
 */
static void wide_tuples(text *t, unsigned n) {
  enum { WIDE_SUM = 200 };
  put(t, "fn wide(x: i32) = (");
  for (unsigned i = 0; i < n; i++) put(t, "x + %u, ", i);
  put(t, "x)\nfn main(x: i32, y: i32) -> i32 = {\n  let (");
  names(t, n);
  put(t, "a) = if x < y then wide(x) else wide(y);\n  a + ");
  sum(t, n < WIDE_SUM ? n : WIDE_SUM);
  put(t, " }\n");
}

static void wide_loops(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = {\n  let (");
  names(t, n);
  put(t, "_) = loop (");
  for (unsigned i = 0; i < n; i++) put(t, "a%u = y, ", i);
  put(t, "i = 0) while i < x { (");
  for (unsigned i = 0; i < n; i++) put(t, "a%u + a%u, ", i, (i + 1) % n);
  put(t, "i + 1) };\n  a0 }\n");
}

/* One term is looked at after the other. */
static void conditions(text *t, unsigned n) {
  put(t, "fn main(x: i32, y: i32) -> i32 = if x > 0");
  for (unsigned i = 0; i < n; i++) put(t, "%sand x * y != %d", i % 8 ? " " : "\n  ", scattered(i));
  put(t, " then 1 else 2\n");
}

/* ---- programs with gradients, and without, of the same functions ---- */

static void scalars(text *t, unsigned n) {
  put(t, "fn f(x: f64, y: f64) -> f64 = {\n  let (a, b) = (x, y);\n");
  for (unsigned i = 0; i < n; i++)
    put(t, "  let (a, b) = (a * b + %u.0 * x, a - b * 0.5);\n", i % 7 + 1);
  put(t, "  a + b }\n");
}

static void elementwise(text *t, unsigned n) {
  put(t, "fn f(x: f64[64], y: f64[64]) -> f64 = {\n  let (a, b) = (x, y);\n");
  for (unsigned i = 0; i < n; i++)
    put(t, "  let (a, b) = (tanh(a * b + %u.0 * x), a - b * 0.5);\n", i % 7 + 1);
  put(t, "  sum(a + b) }\n");
}

static void layers(text *t, unsigned n) {
  put(t, "param W: f32[16, 16] = uniform(-1, 1)\nparam b: f32[16] = zeros()\n"
         "fn f(x: f32[16]) -> f32 = {\n  let a = x;\n");
  for (unsigned i = 0; i < n; i++) put(t, "  let a = tanh(W @ a + b * %u.0);\n", i % 7 + 1);
  put(t, "  sum(a) }\n");
}

static void of_scalars(text *t, unsigned n) {
  scalars(t, n);
  put(t, "fn main(x: f64, y: f64) = f(x, y)\n");
}
static void gradient_of_scalars(text *t, unsigned n) {
  scalars(t, n);
  put(t, "fn main(x: f64, y: f64) = grad(f, wrt = (x, y))(x, y)\n");
}
static void of_elementwise(text *t, unsigned n) {
  elementwise(t, n);
  put(t, "fn main(x: f64[64], y: f64[64]) = f(x, y)\n");
}
static void gradient_of_elementwise(text *t, unsigned n) {
  elementwise(t, n);
  put(t, "fn main(x: f64[64], y: f64[64]) = grad(f, wrt = (x, y))(x, y)\n");
}
static void of_layers(text *t, unsigned n) {
  layers(t, n);
  put(t, "fn main(x: f32[16]) = f(x)\n");
}
static void gradient_of_layers(text *t, unsigned n) {
  layers(t, n);
  put(t, "fn main(x: f32[16]) = grad(f, wrt = (W, b, x))(x)\n");
}

typedef struct form {
  const char *name;
  void (*write)(text *t, unsigned n);
  unsigned sizes[N_SIZES], quick;
  bench_target ms; /* of the largest size; none: only the growth has a target */
} form;

#define NO_TARGET {BENCH_UNBOUNDED, 0}
/* The parser limits nesting to some 500 of these forms (frontend/syntax/parse.c). */
static const form forms[] = {
    {"functions", functions, {100, 200, 400}, 3, NO_TARGET},
    {"chain of calls", chain, {2500, 5000, 10000}, 9, NO_TARGET},
    {"recursive group", group, {500, 1000, 2000}, 9, NO_TARGET},
    {"doubling calls", doubling, {25, 50, 100}, 9, NO_TARGET},
    {"calls in a line", calls, {2500, 5000, 10000}, 9, NO_TARGET},
    {"arms", arms, {1500, 3000, 6000}, 20, {BENCH_MAX, 1000}},
    {"arms, constants", constant_arms, {1500, 3000, 6000}, 20, {BENCH_MAX, 1000}},
    {"arms that fail", failing_arms, {500, 1000, 2000}, 20, {BENCH_MAX, 1000}},
    {"arms that call", calling_arms, {1500, 3000, 6000}, 20, {BENCH_MAX, 1000}},
    {"divisions", divisions, {400, 800, 1600}, 9, {BENCH_MAX, 1000}},
    {"many divisions", divisions, {5000, 10000, 20000}, 9, NO_TARGET},
    {"operations", line, {5000, 10000, 20000}, 9, NO_TARGET},
    {"branches", branches, {2500, 5000, 10000}, 9, NO_TARGET},
    {"loops", loops, {100, 200, 400}, 9, {BENCH_MAX, 1000}},
    {"many loops", loops, {1500, 3000, 6000}, 9, NO_TARGET},
    {"nested loops", nested_loops, {60, 120, 240}, 9, {BENCH_MAX, 1000}},
    {"nested loops, deep", nested_loops, {125, 250, 500}, 9, {BENCH_MAX, 1000}},
    {"nested branches", nested_branches, {120, 240, 480}, 9, NO_TARGET},
    {"nested conditions", nested_conditions, {120, 240, 480}, 9, NO_TARGET},
    {"nested blocks", nested_blocks, {120, 240, 480}, 9, NO_TARGET},
    {"brackets", brackets, {120, 240, 480}, 9, NO_TARGET},
    {"nested tuples", nested_tuples, {60, 120, 240}, 9, NO_TARGET},
    {"wide tuples", wide_tuples, {240, 480, 960}, 9, NO_TARGET},
    {"wide loops", wide_loops, {240, 480, 960}, 9, NO_TARGET},
    {"and", conditions, {5000, 10000, 20000}, 9, NO_TARGET},
    {"scalars", of_scalars, {1000, 2000, 4000}, 9, NO_TARGET},
    {"scalars, gradient", gradient_of_scalars, {1000, 2000, 4000}, 9, NO_TARGET},
    {"elementwise", of_elementwise, {75, 150, 300}, 9, NO_TARGET},
    {"elementwise, gradient", gradient_of_elementwise, {75, 150, 300}, 9, NO_TARGET},
    {"layers", of_layers, {75, 150, 300}, 9, NO_TARGET},
    {"layers, gradient", gradient_of_layers, {75, 150, 300}, 9, NO_TARGET},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* True if it has gradients of the functions of the form before it. */
static bool is_gradient(const form *f) { return strstr(f->name, ", gradient") != NULL; }

static const form *find_form(const char *name) {
  for (size_t i = 0; i < N_FORMS; i++)
    if (strcmp(forms[i].name, name) == 0) return &forms[i];
  fprintf(stderr, "no such form: %s\n", name);
  exit(2);
}

/* ---- one measurement, in a process of its own ---- */

typedef struct measured {
  double ms,
      mib; /* processor time; the maximum of resident memory beyond that of the open engine */
  double frontend, passes, emit, optimize, codegen; /* shares of the wall-clock time */
  double nodes, code;
} measured;

static double resident_most(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

static int measure_here(const form *f, unsigned n) {
  text t = {0};
  f->write(&t, n);
  setrlimit(RLIMIT_CPU, &(struct rlimit){MAX_SECONDS, MAX_SECONDS});
  const bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1, .merge_calls = true};
  /* The first run opens libraries. */
  bench_program p =
      bench_open_text("one", "fn main(x: i32, y: i32) -> i32 = x / y", "main", &options);
  bench_close(&p);
  double before = resident_most(), start = bench_cpu();
  p = bench_open_text("program", t.bytes, "main", &options);
  double ms = bench_cpu() - start;
  hia_function_stats s = HIA_FUNCTION_STATS_INIT;
  hia_function_get_stats(p.function, &s);
  const uint64_t all =
      s.parse_ns + s.check_ns + s.build_ns + s.passes_ns + s.emit_ns + s.optimize_ns + s.codegen_ns;
  double whole = all ? (double)all : 1;
  printf("%.9g %.9g %.9g %.9g %.9g %.9g %.9g %" PRIu64 " %" PRIu64 "\n", ms,
         resident_most() - before, (double)(s.parse_ns + s.check_ns + s.build_ns) / whole,
         (double)s.passes_ns / whole, (double)s.emit_ns / whole, (double)s.optimize_ns / whole,
         (double)s.codegen_ns / whole, (uint64_t)s.nodes, (uint64_t)s.code_bytes);
  bench_close(&p);
  free(t.bytes);
  return fflush(stdout) != 0;
}

static measured measure_once(const char *self, const form *f, unsigned n) {
  char size[16], printed[256];
  measured m;
  snprintf(size, sizeof size, "%u", n);
  bench_process_text((const char *const[]){self, "--one", f->name, size, NULL}, printed,
                     sizeof printed);
  if (sscanf(printed, "%lf %lf %lf %lf %lf %lf %lf %lf %lf", &m.ms, &m.mib, &m.frontend, &m.passes,
             &m.emit, &m.optimize, &m.codegen, &m.nodes, &m.code) == 9)
    return m;
  fprintf(stderr, "%s of %u: `%s`\n", f->name, n, printed);
  exit(1);
}

/* ---- the table ---- */

static int by_time(const void *a, const void *b) {
  const measured *x = a, *y = b;
  return (x->ms > y->ms) - (x->ms < y->ms);
}

static void print_row(const form *f, unsigned n, const measured *m, const measured *smaller,
                      bool is_largest) {
  char row[64];
  snprintf(row, sizeof row, "%s, %u", f->name, n);
  printf("%-24s %7.0f", row, m->nodes);
  bench_print_target(row, "ms", m->ms, 1, is_largest ? f->ms : BENCH_NO_TARGET);
  printf(" %7.1f %7.1f %7.1f %7.1f %7.1f %7.1f", m->ms * 1e3 / (m->nodes > 0 ? m->nodes : 1),
         m->frontend * m->ms, m->passes * m->ms, m->emit * m->ms, m->optimize * m->ms,
         m->codegen * m->ms);
  /* Of the first size there is nothing smaller. */
  double time = smaller ? m->ms / smaller->ms : (double)NAN;
  double memory = smaller && smaller->mib >= 1 ? m->mib / smaller->mib : (double)NAN;
  bench_print_target(row, "growth of time", time, 2, BENCH_AT_MOST(MAX_GROWTH));
  printf(" %7.1f", m->mib);
  bench_print_target(row, "growth of memory", memory, 2, BENCH_AT_MOST(MAX_MEMORY_GROWTH));
  printf(" %8.1f\n", m->code / 1024);
  fflush(stdout);
}

/* Of the largest size. */
static void print_gradient(const form *f, const measured *gradient, const measured *function) {
  char row[64];
  snprintf(row, sizeof row, "%s/function", f->name);
  printf("%-32s", row);
  bench_print_target(row, "ms", gradient->ms / function->ms, 2, BENCH_AT_MOST(MAX_GRADIENT));
  puts("");
}

static void measure_form(const char *self, const form *f, int runs) {
  static measured all[N_SIZES][MAX_RUNS], before;
  size_t n_sizes = bench_is_quick() ? 1 : N_SIZES;
  /* In turn, so that a slow moment of the machine affects all sizes. */
  for (int r = 0; r < runs; r++)
    for (size_t k = 0; k < n_sizes; k++)
      all[k][r] = measure_once(self, f, bench_is_quick() ? f->quick : f->sizes[k]);
  const measured *smaller = NULL;
  for (size_t k = 0; k < n_sizes; k++) {
    qsort(all[k], (size_t)runs, sizeof all[k][0], by_time);
    const measured *m = &all[k][runs / 2];
    print_row(f, bench_is_quick() ? f->quick : f->sizes[k], m, smaller, k + 1 == n_sizes);
    smaller = m;
  }
  if (is_gradient(f)) print_gradient(f, smaller, &before);
  before = *smaller;
}

int main(int argc, char **argv) {
  int runs = 3;
  bool is_known = true;
  const char *only = NULL;
  if (argc == 4 && strcmp(argv[1], "--one") == 0)
    return measure_here(find_form(argv[2]), (unsigned)atoi(argv[3]));
  if (argc == 4 && strcmp(argv[1], "--text") == 0) {
    text t = {0};
    find_form(argv[2])->write(&t, (unsigned)atoi(argv[3]));
    puts(t.bytes);
    free(t.bytes);
    return 0;
  }
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = find_form(argv[++i])->name;
    else
      is_known = false;
  }
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr, "usage: %s [--quick | --check] [--runs N] [--only FORM]\n", argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  bench_print_machine();
  puts("From text to native code: processor time in milliseconds, microseconds a node of the graph "
       "that is\ncompiled, the phases, and the memory of the process beyond that of an engine that "
       "has compiled a\nline. growth: of twice the program.\n");
  printf("%-24s %7s", "form, size", "nodes");
  bench_print_target_heading("ms");
  printf(" %7s %7s %7s %7s %7s %7s", "us/node", "front", "passes", "emit", "LLVM", "codegen");
  bench_print_target_heading("growth");
  printf(" %7s", "MiB");
  bench_print_target_heading("growth");
  printf(" %8s\n", "KiB code");
  for (size_t i = 0; i < N_FORMS; i++)
    if (!only || strcmp(only, forms[i].name) == 0 ||
        (i + 1 < N_FORMS && is_gradient(&forms[i + 1]) && strcmp(only, forms[i + 1].name) == 0))
      measure_form(argv[0], &forms[i], runs);
  return bench_end();
}
