/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The recursion benchmarks: checks that all engines return the papers' results, and measures them
 * and the same programs in C.
 *
 *   bench_scalar [--quick | --check] [--only FUNCTION]     (only compares this one with C) */
#include "bench/harness.h"
#include <inttypes.h>
#include <math.h>
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

static const char *only; /* the only program to compare with C, without other tables; NULL: all */

static void row_text(char *text, size_t size, const bench_row *row) {
  bench_call_text(text, size, row->name, row->args, row->n_args);
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
    bench_wrong("%s: %lld instead of %lld", row->name, result, row->result);
  }
  return (double)used->run_ns / 1e6;
}

/* The median of three runs, or one run if it takes long. */
static double typical(const bench_program *p, const bench_row *row, hia_run_stats *used) {
  double ms[3];
  size_t n = 0;
  do ms[n++] = timed(p, row, used);
  while (n < 3 && ms[0] < 500);
  return bench_median(ms, n);
}

/* ---- all engines, the papers' programs ---- */

static void table_of_results(void) {
  static const bench_options columns[] = {
      {.kind = HIA_ENGINE_JIT, .threads = 1, .merge_calls = true},
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
    if (bench_is_quick() && row->is_large) continue;
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

/* ---- native code next to C ---- */

/* The compared versions, which take turns. They do not merge equal calls, except MERGED. */
typedef enum version {
  DIRECT,
  UNROLLED,
  DIRECT_UNCHECKED,
  UNROLLED_UNCHECKED,
  MERGED,
  N_VERSIONS
} version;

static bench_options options_of(version v) {
  bool is_direct = v == DIRECT || v == DIRECT_UNCHECKED;
  return (bench_options){.kind = HIA_ENGINE_JIT,
                         .threads = 1,
                         .unchecked = v == DIRECT_UNCHECKED || v == UNROLLED_UNCHECKED,
                         .disabled_passes = is_direct ? "unroll" : NULL,
                         .merge_calls = v == MERGED};
}

typedef struct targets {
  bench_target direct, unchecked; /* over clang's time */
  bench_target unrolled;          /* over gcc's time */
  bench_target check;             /* over the time of the unrolled code without checks */
} targets;
#define MAX_DIRECT    {BENCH_MAX, 1.10}
#define MAX_UNCHECKED {BENCH_MAX, 1.05}
#define MAX_UNROLLED  {BENCH_MAX, 0.60}
#define MAX_CHECK     {BENCH_MAX, 1.02}
#define NO_TARGET     {BENCH_UNBOUNDED, 0}
#define MAX_COMPILING 4.0   /* times the compile time of the function without unrolling */
#define MAX_CODE      16384 /* bytes */

typedef struct compared {
  bench_row row, quick, small; /* small: for the interpreter */
  int runs;
  unsigned long long calls; /* as the language counts them, the outermost included; 0: not known */
  targets targets;
} compared;

static const compared comparisons[] = {
    {{"fib", {40}, 1, 165580141, "", "", true},
     {"fib", {24}, 1, 75025, "", "", false},
     {"fib", {24}, 1, 75025, "", "", false},
     9,
     331160281,
     {MAX_DIRECT, MAX_UNCHECKED, MAX_UNROLLED, MAX_CHECK}},
    {{"ack", {3, 11}, 2, 16381, "", "", true},
     {"ack", {3, 3}, 2, 61, "", "", false},
     {"ack", {3, 5}, 2, 253, "", "", false},
     9,
     178875096,
     {MAX_DIRECT, MAX_UNCHECKED, MAX_UNROLLED, NO_TARGET}},
    {{"tak", {27, 17, 8}, 3, 9, "", "", true},
     {"tak", {12, 8, 4}, 3, 5, "", "", false},
     {"tak", {18, 12, 6}, 3, 7, "", "", false},
     15,
     24802269,
     {MAX_DIRECT, MAX_UNCHECKED, MAX_UNROLLED, NO_TARGET}},
    {{"primes", {1000000}, 1, 7051571, "", "", true},
     {"primes", {7500}, 1, 42209, "", "", false},
     {"primes", {500}, 1, 2339, "", "", false},
     5,
     0,
     {MAX_DIRECT, MAX_UNCHECKED, NO_TARGET, NO_TARGET}},
};
enum { N_COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

static double timed_reference(bench_reference f, const bench_row *row) {
  if (!f) return 0;
  int32_t result;
  double ms = bench_reference_ms(f, row->args, &result);
  if (result != row->result) {
    bench_wrong("%s in C: %" PRId32 " instead of %lld", row->name, result, row->result);
  }
  return ms;
}

/* The time of a whole call of native code, by the clock of bench_reference_ms. */
static double timed_native(const bench_program *p, const bench_row *row) {
  hia_run_stats used;
  double start = bench_cpu();
  timed(p, row, &used);
  return bench_cpu() - start;
}

static unsigned long long calls_of(const bench_row *row) {
  hia_run_stats used;
  bench_program p =
      open_row(row, &(bench_options){.kind = HIA_ENGINE_JIT, .threads = 1, .count = true});
  timed(&p, row, &used);
  bench_close(&p);
  return used.calls + 1; /* the call that the harness makes */
}

/* Medians of a C compiler's code, over its places (reference.c). */
typedef struct peer {
  double typical, least, most; /* the median of all places, the fastest place, the slowest */
} peer;
typedef struct medians {
  double ours[N_VERSIONS];
  peer peers[2]; /* by bench_compiler */
} medians;

static peer peer_of(double ms[BENCH_PLACES][MAX_RUNS], size_t n_runs) {
  double at[BENCH_PLACES];
  for (size_t k = 0; k < BENCH_PLACES; k++) at[k] = bench_median(ms[k], n_runs);
  double typical = bench_median(at, BENCH_PLACES); /* at is sorted now */
  return (peer){typical, at[0], at[BENCH_PLACES - 1]};
}

static medians compare_one(const compared *c) {
  const bench_row *row = bench_is_quick() ? &c->quick : &c->row;
  static double ms[N_VERSIONS][MAX_RUNS], c_ms[2][BENCH_PLACES][MAX_RUNS];
  bench_program ours[N_VERSIONS];
  medians m;
  int runs = bench_is_quick() ? 1 : c->runs;
  for (version v = 0; v < N_VERSIONS; v++) {
    bench_options options = options_of(v);
    ours[v] = open_row(row, &options);
  }
  /* One round to warm up, not kept. */
  for (int r = -1; r < runs; r++) {
    size_t at = r < 0 ? 0 : (size_t)r;
    for (version v = 0; v < N_VERSIONS; v++) ms[v][at] = timed_native(&ours[v], row);
    for (unsigned k = 0; k < 2 * BENCH_PLACES; k++) {
      bench_compiler compiler = k % 2 ? BENCH_GCC : BENCH_CLANG;
      bench_reference f = bench_find_reference(compiler, k / 2, row->name);
      c_ms[compiler][k / 2][at] = timed_reference(f, row);
    }
  }
  for (version v = 0; v < N_VERSIONS; v++) {
    m.ours[v] = bench_median(ms[v], (size_t)runs);
    bench_close(&ours[v]);
  }
  for (unsigned k = 0; k < 2; k++) m.peers[k] = peer_of(c_ms[k], (size_t)runs);
  return m;
}

static void print_ms(double ms) {
  if (ms > 0)
    printf(" %9.*f", ms < 1 ? 4 : 2, ms);
  else
    printf(" %9s", "-"); /* no such compiler */
}

/* NAN if a compiler is not available: its time is 0. */
static double share(double x, double y) { return x > 0 && y > 0 ? x / y : (double)NAN; }

static void print_peer(const peer *p) {
  char places[32];
  print_ms(p->typical);
  snprintf(places, sizeof places, "%.1f-%.1f", p->least, p->most);
  printf(" %-13s", p->typical > 0 ? places : "-");
}

static bool is_left_out(const compared *c) { return only && strcmp(only, c->row.name) != 0; }

enum { N_SHARES = 6 };
static const char *const share_names[N_SHARES] = {
    "direct/clang", "unchecked/clang", "unrolled/gcc", "unrolled/clang", "merged/gcc", "check"};

static void table_of_native(void) {
  static const version columns[] = {DIRECT, DIRECT_UNCHECKED, UNROLLED, UNROLLED_UNCHECKED, MERGED};
  static medians all[N_COMPARISONS];
  puts("Native code on one thread, next to the same program in C, -O3, alternating; medians of CPU "
       "time in\nmilliseconds. The time of C depends on the address of its code: it is "
       "measured at four places, 16 bytes\nof a cache line apart; the figure is their median, "
       "followed by the fastest and the slowest place.\nOur code has its usual place. direct: no "
       "recursion is unrolled; unchecked: the code of the column before\nit, without safepoints; "
       "merged: equal calls are made once, the default; the others make all calls.\ncalls: "
       "as the language counts them, unrolled or not.\n");
  printf("%-17s %9s %-13s %9s %-13s %9s %9s %9s %9s %9s %12s\n", "call", "clang-19", "places",
         "gcc", "places", "direct", "unchecked", "unrolled", "unchecked", "merged", "calls");
  char text[N_COMPARISONS][64];
  for (size_t i = 0; i < N_COMPARISONS; i++) {
    const compared *c = &comparisons[i];
    if (is_left_out(c)) continue;
    const bench_row *row = bench_is_quick() ? &c->quick : &c->row;
    row_text(text[i], sizeof text[i], row);
    bench_pin(true);
    all[i] = compare_one(c);
    bench_pin(false);
    printf("%-17s", text[i]);
    print_peer(&all[i].peers[BENCH_CLANG]);
    print_peer(&all[i].peers[BENCH_GCC]);
    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++)
      print_ms(all[i].ours[columns[k]]);
    unsigned long long calls = calls_of(row);
    printf(" %12llu\n", calls);
    fflush(stdout);
    if (bench_is_quick() || !c->calls || calls == c->calls) continue;
    bench_wrong("%s: %llu calls instead of %llu", row->name, calls, c->calls);
  }
  puts("\nThe ratios of these times, with their targets. check: unrolled / unrolled unchecked.\n");
  printf("%-17s", "call");
  for (size_t k = 0; k < N_SHARES; k++) bench_print_target_heading(share_names[k]);
  puts("");
  for (size_t i = 0; i < N_COMPARISONS; i++) {
    if (is_left_out(&comparisons[i])) continue;
    const targets *t = &comparisons[i].targets;
    const double *ms = all[i].ours, clang = all[i].peers[BENCH_CLANG].typical,
                 gcc = all[i].peers[BENCH_GCC].typical;
    const struct {
      double value;
      bench_target target;
    } shares[N_SHARES] = {
        {share(ms[DIRECT], clang), t->direct},
        {share(ms[DIRECT_UNCHECKED], clang), t->unchecked},
        {share(ms[UNROLLED], gcc), t->unrolled},
        {share(ms[UNROLLED], clang), BENCH_NO_TARGET},
        {share(ms[MERGED], gcc), BENCH_NO_TARGET},
        {share(ms[UNROLLED], ms[UNROLLED_UNCHECKED]), t->check},
    };
    printf("%-17s", text[i]);
    for (size_t k = 0; k < N_SHARES; k++)
      bench_print_target(text[i], share_names[k], shares[k].value, 3, shares[k].target);
    puts("");
  }
  puts("");
}

/* ---- the cost of unrolling ---- */

enum { N_UNROLLINGS = 3, N_COMPILATIONS = 9 };
static const version unrollings[N_UNROLLINGS] = {DIRECT, UNROLLED, MERGED};

static void unroll_one(const compared *c) {
  double ms[N_UNROLLINGS][N_COMPILATIONS];
  unsigned long long bytes[N_UNROLLINGS] = {0}, made[N_UNROLLINGS];
  for (size_t r = 0; r < N_COMPILATIONS; r++)
    for (size_t k = 0; k < N_UNROLLINGS; k++) {
      bench_options options = options_of(unrollings[k]);
      bench_program p = open_row(&c->small, &options);
      hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
      hia_function_get_stats(p.function, &stats);
      ms[k][r] = p.compile_ms;
      bytes[k] = stats.code_bytes;
      bench_close(&p);
    }
  for (size_t k = 0; k < N_UNROLLINGS; k++) {
    bench_options options = options_of(unrollings[k]);
    bench_program p = open_row(&c->small, &options), graph = bench_open_graph(&p);
    hia_run_stats used;
    timed(&graph, &c->small, &used);
    made[k] = used.frames;
    bench_close(&graph);
    bench_close(&p);
  }
  double direct = bench_median(ms[0], N_COMPILATIONS),
         unrolled = bench_median(ms[1], N_COMPILATIONS);
  printf("%-8s %7.2f %9.2f %7.2f", c->row.name, direct, unrolled,
         bench_median(ms[2], N_COMPILATIONS));
  bench_print_target(c->row.name, "unrolled/direct, compile time", unrolled / direct, 2,
                     BENCH_AT_MOST(MAX_COMPILING));
  printf(" %7llu %9llu", bytes[0], bytes[1]);
  bench_print_target(c->row.name, "bytes, merged", (double)bytes[2], 0, BENCH_AT_MOST(MAX_CODE));
  char text[64];
  row_text(text, sizeof text, &c->small);
  printf("  %-14s %8llu %8llu %9llu %7llu\n", text, calls_of(&c->small), made[0], made[1], made[2]);
}

static void table_of_unrolling(void) {
  puts(
      "What unrolling and merging cost and save: compile time in milliseconds of CPU time (medians "
      "of 9), bytes\nof code; the number of calls that the language counts, and of calls and loops "
      "that are entered for them: the\ninterpreter runs the graph that becomes native code (which "
      "also enters a leaf function first, and then its\nslow path: docs/unrolling.md).\n");
  printf("%-8s %7s %9s %7s", "program", "direct", "unrolled", "merged");
  bench_print_target_heading("unrolled/direct");
  printf(" %7s %9s", "bytes", "unrolled");
  bench_print_target_heading("merged");
  printf("  %-14s %8s %8s %9s %7s\n", "calls of", "counted", "direct", "unrolled", "merged");
  for (size_t i = 0; i < N_COMPARISONS; i++) unroll_one(&comparisons[i]);
  puts("");
}

/* ---- starting ---- */

static double process(const char *const *argv) {
  double ms[MAX_RUNS];
  size_t n = bench_is_quick() ? 1 : MAX_RUNS;
  bench_process(argv);
  for (size_t i = 0; i < n; i++) ms[i] = bench_process(argv);
  return bench_median(ms, n);
}

static void table_of_starts(void) {
  puts("From nothing to running, milliseconds.\n");
  puts("program     parse    check    build   passes  flatten     emit optimize  codegen");
  static const char *const names[] = {"fib", "ack", "tak", "primes"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    double at[8] = {0};
    for (int native = 0; native < 2; native++) {
      /* The first opens libraries; the second is the cost of compiling. */
      for (int k = 0; k < 2; k++) {
        bench_program p =
            bench_open(example(names[i]), names[i],
                       &(bench_options){.kind = native ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP,
                                        .threads = 1,
                                        .merge_calls = true});
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
  printf("\nwhole process: hiaton check fib.hia %.1f, ", process(check));
  printf("run 10 --engine interp %.1f, ", process(interp));
  printf("run 10 %.1f\n", process(jit));
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i])) continue;
    if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else {
      fprintf(stderr, "usage: %s [--quick | --check] [--only FUNCTION]\n", argv[0]);
      return 2;
    }
  }
  bench_print_machine();
  if (!only) table_of_results();
  table_of_native();
  if (!only) {
    table_of_unrolling();
    table_of_starts();
  }
  return bench_end();
}
