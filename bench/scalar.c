/* The recursion benchmarks: do all engines give the papers' results, how fast, and how fast is the
 * same in C? `--quick` runs small arguments, to see that everything works. */
#include "bench/harness.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RUNS 15

typedef struct bench_row {
  const char *name; /* of the function, and of its example */
  int32_t args[3];
  size_t n_args;
  long long result;
  const char *papers_static, *papers_dynamic; /* seconds in the papers, on their hardware */
  bool is_large;                              /* left out by --quick */
} bench_row;

static const bench_row results[] = {
    {"fib", {24}, 1, 75025, "", "", false},
    {"fib", {33}, 1, 5702887, "61.3", "75.6", true},
    {"ack", {3, 3}, 2, 61, "", "", false},
    {"ack", {3, 8}, 2, 2045, "100.9", "129.0", true},
    {"tak", {24, 16, 8}, 3, 9, "", "", true},
    {"tak", {25, 16, 8}, 3, 16, "", "", true},
    {"tak", {27, 16, 8}, 3, 16, "", "", true},
    {"tak", {27, 17, 8}, 3, 9, "188.5", "159.8", true},
    {"primes", {7500}, 1, 42209, "", "", false},
    {"primes", {10000}, 1, 57077, "20.6", "20.4", true},
    {"fact", {3}, 1, 11, "", "", false},
};

static int mistakes;

static void call_text(char *text, size_t size, const char *name, const int32_t *args, size_t n) {
  size_t at = (size_t)snprintf(text, size, "%s(", name);
  for (size_t i = 0; i < n; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRId32, i ? "," : "", args[i]);
  snprintf(text + at, size - at, ")");
}

static void row_text(char *text, size_t size, const bench_row *row) {
  call_text(text, size, row->name, row->args, row->n_args);
  if (strcmp(row->name, "fact") == 0) snprintf(text, size, "fact(3)+5");
}

static const char *example(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s.hia", HIA_EXAMPLES, name);
  return path;
}

/* fact.hia's main adds the 5 of the papers' expression. */
static bench_program open_row(const bench_row *row, const bench_options *options) {
  bool is_fact = strcmp(row->name, "fact") == 0;
  return bench_open(example(row->name), is_fact ? "main(i32)" : row->name, options);
}

static double timed(const bench_program *p, const bench_row *row, hia_run_stats *used) {
  *used = (hia_run_stats)HIA_RUN_STATS_INIT;
  long long result = bench_call(p, row->args, row->n_args, used);
  if (result != row->result) {
    printf("\n%s: %lld instead of %lld\n", row->name, result, row->result);
    mistakes++;
  }
  return (double)used->run_ns / 1e6;
}

/* The median of three, or one if that takes long. */
static double typical(const bench_program *p, const bench_row *row, hia_run_stats *used) {
  double ms[3];
  size_t n = 0;
  do ms[n++] = timed(p, row, used);
  while (n < 3 && ms[0] < 500);
  return bench_median(ms, n);
}

/* ---- all engines, the papers' programs ---- */

static void table_of_results(bool is_quick) {
  static const bench_options columns[] = {
      {.kind = HIA_ENGINE_JIT, .threads = 1},
      {.kind = HIA_ENGINE_INTERP, .threads = 1},
      {.kind = HIA_ENGINE_INTERP, .threads = 2},
      {.kind = HIA_ENGINE_EXPAND, .threads = 1},
  };
  puts("Results and run times of all engines, milliseconds. The papers' seconds, with their static "
       "and\n"
       "their dynamic graph, are from other hardware: an orientation, no comparison.\n");
  puts("call               result        jit     interp   interp/2     expand  2 threads  frames"
       "   papers: static dynamic");
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    const bench_row *row = &results[i];
    if (is_quick && row->is_large) continue;
    char text[64];
    row_text(text, sizeof text, row);
    printf("%-14s %10lld", text, row->result);
    double ms[4];
    uint64_t frames = 0;
    for (size_t k = 0; k < 4; k++) {
      bench_program p = open_row(row, &columns[k]);
      hia_run_stats used;
      ms[k] = typical(&p, row, &used);
      if (k == 1) frames = used.peak_frames;
      printf(" %10.*f", ms[k] < 1 ? 3 : 1, ms[k]);
      fflush(stdout);
      bench_close(&p);
    }
    printf("  %8.2fx %7" PRIu64 "          %6s  %6s\n", ms[1] / ms[2], frames, row->papers_static,
           row->papers_dynamic);
  }
  puts("\nresult: given by all four. 2 threads: speed-up of the interpreter. frames: its most "
       "frames "
       "alive at\nonce, on one thread.\n");
}

/* ---- native code beside C ---- */

#if HIA_HAS_CLANG
int32_t clang_fib(int32_t), clang_ack(int32_t, int32_t), clang_tak(int32_t, int32_t, int32_t),
    clang_primes(int32_t);
#endif
#if HIA_HAS_GCC
int32_t gcc_fib(int32_t), gcc_ack(int32_t, int32_t), gcc_tak(int32_t, int32_t, int32_t),
    gcc_primes(int32_t);
#endif

typedef struct compared {
  bench_row row, quick;
  int runs;
  unsigned long long calls; /* as the language counts them, the outermost included; 0: not known */
  int32_t (*clang)(const int32_t *), (*gcc)(const int32_t *);
} compared;

#define REFERENCE(compiler, name, ...)                                                             \
  static int32_t call_##compiler##_##name(const int32_t *x) {                                      \
    return compiler##_##name(__VA_ARGS__);                                                         \
  }
#define REFERENCES(compiler)                                                                       \
  REFERENCE(compiler, fib, x[0])                                                                   \
  REFERENCE(compiler, ack, x[0], x[1])                                                             \
  REFERENCE(compiler, tak, x[0], x[1], x[2])                                                       \
  REFERENCE(compiler, primes, x[0])
#if HIA_HAS_CLANG
REFERENCES(clang)
#define CLANG(name) call_clang_##name
#else
#define CLANG(name) NULL
#endif
#if HIA_HAS_GCC
REFERENCES(gcc)
#define GCC(name) call_gcc_##name
#else
#define GCC(name) NULL
#endif

static const compared comparisons[] = {
    {{"fib", {40}, 1, 165580141, "", "", true},
     {"fib", {24}, 1, 75025, "", "", false},
     9,
     331160281,
     CLANG(fib),
     GCC(fib)},
    {{"ack", {3, 11}, 2, 16381, "", "", true},
     {"ack", {3, 3}, 2, 61, "", "", false},
     9,
     178875096,
     CLANG(ack),
     GCC(ack)},
    {{"tak", {27, 17, 8}, 3, 9, "", "", true},
     {"tak", {12, 8, 4}, 3, 5, "", "", false},
     15,
     24802269,
     CLANG(tak),
     GCC(tak)},
    {{"primes", {1000000}, 1, 7051571, "", "", true},
     {"primes", {7500}, 1, 42209, "", "", false},
     5,
     0,
     CLANG(primes),
     GCC(primes)},
};

static double timed_reference(int32_t (*f)(const int32_t *), const bench_row *row) {
  /* Read through memory that the compiler cannot see into. */
  int32_t args[3];
  for (size_t i = 0; i < 3; i++) args[i] = *(const volatile int32_t *)&row->args[i];
  double start = bench_cpu();
  int32_t result = f(args);
  double ms = bench_cpu() - start;
  if (result != row->result) {
    printf("\n%s in C: %" PRId32 " instead of %lld\n", row->name, result, row->result);
    mistakes++;
  }
  return ms;
}

/* Our side of the same: the whole call, by the same clock. */
static double timed_native(const bench_program *p, const bench_row *row) {
  hia_run_stats used;
  double start = bench_cpu();
  timed(p, row, &used);
  return bench_cpu() - start;
}

static void compare_one(const compared *c, bool is_quick) {
  const bench_row *row = is_quick ? &c->quick : &c->row;
  bench_program checked = open_row(row, &(bench_options){.kind = HIA_ENGINE_JIT, .threads = 1});
  bench_program unchecked =
      open_row(row, &(bench_options){.kind = HIA_ENGINE_JIT, .threads = 1, .unchecked = true});
  bench_program counted =
      open_row(row, &(bench_options){.kind = HIA_ENGINE_JIT, .threads = 1, .count = true});
  double ms[4][MAX_RUNS];
  hia_run_stats used;
  int runs = is_quick ? 1 : c->runs;
  /* One round to warm up, not kept; then all in turn. */
  for (int r = -1; r < runs; r++) {
    int at = r < 0 ? 0 : r;
    ms[0][at] = c->clang ? timed_reference(c->clang, row) : 0;
    ms[1][at] = timed_native(&checked, row);
    ms[2][at] = timed_native(&unchecked, row);
    ms[3][at] = c->gcc ? timed_reference(c->gcc, row) : 0;
  }
  double median[4];
  for (int k = 0; k < 4; k++) median[k] = bench_median(ms[k], (size_t)runs);
  timed(&counted, row, &used);
  unsigned long long calls = used.calls + 1; /* the one that the harness makes */
  if (!is_quick && c->calls && calls != c->calls) {
    printf("\n%s: %llu calls instead of %llu\n", row->name, calls, c->calls);
    mistakes++;
  }
  char text[64];
  row_text(text, sizeof text, row);
  printf("%-16s %10.2f %10.2f %10.2f %10.2f", text, median[0], median[3], median[1], median[2]);
  if (c->clang)
    printf(" %8.3f %8.3f", median[1] / median[0], median[2] / median[0]);
  else
    printf(" %8s %8s", "", "");
  printf(" %12llu\n", calls);
  fflush(stdout);
  bench_close(&checked);
  bench_close(&unchecked);
  bench_close(&counted);
}

static void table_of_native(bool is_quick) {
  puts("Native code on one thread beside the same program in C, -O3, alternating; medians of "
       "CPU time in milliseconds.\n");
  puts("call               clang-19        gcc        jit  unchecked     jit/   unchk/        "
       "calls");
  puts("                                                              clang    clang   as counted");
  bench_pin(true);
  for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++)
    compare_one(&comparisons[i], is_quick);
  bench_pin(false);
  puts("");
}

/* ---- starting ---- */

static double process(const char *const *argv, bool is_quick) {
  double ms[MAX_RUNS];
  size_t n = is_quick ? 1 : MAX_RUNS;
  bench_process(argv);
  for (size_t i = 0; i < n; i++) ms[i] = bench_process(argv);
  return bench_median(ms, n);
}

static void table_of_starts(bool is_quick) {
  puts("From nothing to running, milliseconds.\n");
  puts("program     parse    check    build   passes  flatten     emit optimize  codegen");
  static const char *const names[] = {"fib", "ack", "tak", "primes"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    double at[8] = {0};
    for (int native = 0; native < 2; native++) {
      /* The first opens libraries; the second is what compiling costs. */
      for (int k = 0; k < 2; k++) {
        bench_program p = bench_open(
            example(names[i]), names[i],
            &(bench_options){.kind = native ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP, .threads = 1});
        hia_function_stats s = HIA_FUNCTION_STATS_INIT;
        hia_function_get_stats(p.function, &s);
        const uint64_t ns[8] = {s.parse_ns,   s.check_ns, s.build_ns,    s.passes_ns,
                                s.flatten_ns, s.emit_ns,  s.optimize_ns, s.codegen_ns};
        for (int j = 0; j < 8; j++)
          if (ns[j]) at[j] = (double)ns[j] / 1e6;
        bench_close(&p);
      }
    }
    printf("%-8s", names[i]);
    for (int j = 0; j < 8; j++) printf(" %8.3f", at[j]);
    puts("");
  }
  const char *fib = example("fib");
  const char *const check[] = {HIA_PROGRAM, "check", fib, NULL};
  const char *const interp[] = {HIA_PROGRAM, "run", fib, "--engine", "interp", "10", NULL};
  const char *const jit[] = {HIA_PROGRAM, "run", fib, "10", NULL};
  printf("\nwhole process: hiaton check fib.hia %.1f, ", process(check, is_quick));
  printf("run 10 --engine interp %.1f, ", process(interp, is_quick));
  printf("run 10 %.1f\n", process(jit, is_quick));
}

int main(int argc, char **argv) {
  bool is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
  if (argc > 2 || (argc == 2 && !is_quick)) {
    fprintf(stderr, "usage: %s [--quick]\n", argv[0]);
    return 2;
  }
  bench_print_machine();
  table_of_results(is_quick);
  table_of_native(is_quick);
  table_of_starts(is_quick);
  if (mistakes) printf("\n%d wrong results\n", mistakes);
  return mistakes || fflush(stdout) != 0;
}
