/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures programs on data (data.hia, treebank.hia): native code next to C++, OCaml and Haskell
 * (reference_data.cpp, .ml and .hs), the interpreter next to native code and OCaml's bytecode, two
 * threads next to one; how much memory a process takes that runs the program once, built ahead of
 * time, next to those of the others; small trees on two threads; programs on two threads that have
 * one processor; and reading a treebank, next to C (reference_brackets.c).
 *
 *   bench_data [--quick | --check] [--runs N] [--only NAME]
 *
 * Times are wall-clock medians of runs that alternate; of each process of a peer the second run
 * counts. */
#include "bench/harness.h"
#include "bench/treebank.h"
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99 };
#define MAX_OF_CPP    1.25
#define MAX_OF_TREES  0.8 /* binary_trees */
#define MAX_OF_OCAML  1.0
#define MAX_MEAN      0.65 /* of OCaml's times: the geometric mean */
#define MAX_MEMORY    1.0  /* of OCaml's */
#define MAX_OF_NATIVE 10.0
#define MIN_SPEED_UP  1.8
#define MAX_OF_ONE    1.05 /* two threads, on small trees, and on one processor */

typedef struct row {
  const char *name;
  int32_t n, quick;
  double of_cpp;
  bool is_parallel; /* it has calls that do not depend on each other */
  bool reads_trees; /* of treebank.hia: its argument is the treebank, not n */
} row;

static const row rows[] = {
    {"binary_trees", 16, 8, MAX_OF_TREES, true, false},
    {"rbtree", 500000, 1000, MAX_OF_CPP, false, false},
    {"rbtree_keep", 100000, 1000, MAX_OF_CPP, false, false},
    {"deriv", 8, 4, MAX_OF_CPP, false, false},
    {"cfold", 17, 6, MAX_OF_CPP, false, false},
    {"nqueens", 10, 5, MAX_OF_CPP, false, false},
    {"search_queens", 10, 5, MAX_OF_CPP, true, false},
    {"quicksort", 100000, 1000, MAX_OF_CPP, false, false},
    {"mergesort", 100000, 1000, MAX_OF_CPP, true, false},
    {"sieve", 1000000, 1000, MAX_OF_CPP, false, false},
    {"array_sort", 300000, 1000, MAX_OF_CPP, false, false},
    {"array_queens", 9, 5, MAX_OF_CPP, false, false},
    {"word_count", 0, 0, MAX_OF_CPP, false, true},
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* What the programs are compared with, and run on. */
typedef struct peer {
  const char *name, *program, *compiler; /* program: NULL if the compiler is not installed */
  double log_sum;                        /* of the ratios to its times */
  int n;
} peer;
enum { CPP, OCAML, HASKELL, N_PEERS };
static peer peers[N_PEERS] = {{"C++", HIA_PEERS "/peer_data_cpp", "g++", 0, 0},
                              {"OCaml", HIA_PEERS "/peer_data_ocaml", "ocamlopt", 0, 0},
                              {"Haskell", HIA_PEERS "/peer_data_haskell", "ghc", 0, 0}};
/* The interpreter is compared with this. */
static peer bytecode = {"OCaml's bytecode", HIA_PEERS "/peer_data_bytecode", "ocamlc", 0, 0};
static const char *brackets_peer = HIA_PEERS "/peer_brackets";
static bench_treebank treebank;

static void find_peer(peer *p) {
  if (access(p->program, X_OK) == 0) return;
  printf("no %s: %s is not installed\n", p->name, p->compiler);
  p->program = NULL;
}

static void find_peers(void) {
  for (int i = 0; i < N_PEERS; i++) find_peer(&peers[i]);
  find_peer(&bytecode);
  if (access(brackets_peer, X_OK) != 0) brackets_peer = NULL;
}

/* A row with its argument. */
typedef struct task {
  const row *r;
  int32_t n;
  char arg[300]; /* of peers */
  char call[64]; /* for the tables */
} task;

static task task_of(const row *r) {
  task t = {.r = r, .n = bench_is_quick() ? r->quick : r->n};
  if (r->reads_trees) {
    snprintf(t.arg, sizeof t.arg, "%s", treebank.path);
    snprintf(t.call, sizeof t.call, "%s(%s)", r->name,
             treebank.is_generated ? "generated" : "treebank");
  } else {
    snprintf(t.arg, sizeof t.arg, "%d", t.n);
    bench_call_text(t.call, sizeof t.call, r->name, &t.n, 1);
  }
  return t;
}

static const char *file_of(const row *r) {
  return r->reads_trees ? HIA_BENCH "/treebank.hia" : HIA_BENCH "/data.hia";
}

static bench_program open_function(const char *path, const char *name, hia_engine_kind kind,
                                   unsigned threads) {
  bench_options options = {.kind = kind, .threads = threads, .merge_calls = false};
  return bench_open(path, name, &options);
}

/* Milliseconds of one call; `trees` is its argument, or NULL: n is. */
static double call_ms(const bench_program *p, const task *t, hia_value *trees, long long *result) {
  double start = bench_now();
  *result = trees ? bench_call_on(p, trees) : bench_call(p, &t->n, 1, NULL);
  return bench_now() - start;
}

/* Milliseconds of the second of two runs in one process. */
static double peer_ms(const peer *p, const task *t, long long *result) {
  char text[256];
  const char *argv[] = {p->program, t->r->name, t->arg, "2", NULL};
  bench_process_text(argv, text, sizeof text);
  double second;
  if (sscanf(text, "%*d %*f %lld %lf", result, &second) == 2) return second;
  fprintf(stderr, "%s printed: %s\n", p->program, text);
  exit(1);
}

static void expect(const task *t, const char *who, long long result, long long expected) {
  if (result != expected)
    bench_wrong("%s, %s: %lld instead of %lld", t->call, who, result, expected);
}

static void print_column(const char *what, const char *of) {
  char text[64];
  snprintf(text, sizeof text, "%s/%s", what, of);
  bench_print_target_heading(text);
}

static void print_ratio(const task *t, const char *what, const char *of, double ratio,
                        bench_target target) {
  char column[64];
  snprintf(column, sizeof column, "%s/%s", what, of);
  bench_print_target(t->call, column, ratio, 2, target);
}

static void measure(const row *r, int runs) {
  enum { ONE, TWO, INTERP, N_OWN };
  static const char *const names[N_OWN] = {"one thread", "two threads", "interpreted"};
  double own[N_OWN][MAX_RUNS], theirs[N_PEERS][MAX_RUNS], of_bytecode[MAX_RUNS];
  task t = task_of(r);
  bench_program programs[N_OWN] = {open_function(file_of(r), r->name, HIA_ENGINE_JIT, 1),
                                   open_function(file_of(r), r->name, HIA_ENGINE_JIT, 2),
                                   open_function(file_of(r), r->name, HIA_ENGINE_INTERP, 1)};
  hia_value *trees = NULL;
  double ms;
  size_t n_words;
  if (r->reads_trees)
    trees = bench_treebank_read(&treebank, programs[0].engine,
                                hia_function_param_type(programs[0].function, 0), &ms, &n_words);
  long long expected, result;
  call_ms(&programs[0], &t, trees, &expected);
  int slow_runs = runs < 3 ? runs : 3; /* of the interpreter */
  for (int i = 0; i < runs; i++) {
    for (int k = 0; k < N_PEERS; k++) {
      if (!peers[k].program) continue;
      theirs[k][i] = peer_ms(&peers[k], &t, &result);
      expect(&t, peers[k].name, result, expected);
    }
    for (int k = 0; k < (i < slow_runs ? N_OWN : INTERP); k++) {
      own[k][i] = call_ms(&programs[k], &t, trees, &result);
      expect(&t, names[k], result, expected);
    }
    if (i >= slow_runs || !bytecode.program) continue;
    of_bytecode[i] = peer_ms(&bytecode, &t, &result);
    expect(&t, bytecode.name, result, expected);
  }
  double one = bench_median(own[ONE], (size_t)runs), two = bench_median(own[TWO], (size_t)runs),
         slow = bench_median(own[INTERP], (size_t)slow_runs);
  const bench_target targets[N_PEERS] = {BENCH_AT_MOST(r->of_cpp), BENCH_AT_MOST(MAX_OF_OCAML),
                                         BENCH_NO_TARGET};
  printf("%-22s %9.1f", t.call, one);
  for (int k = 0; k < N_PEERS; k++) {
    double ratio = peers[k].program ? one / bench_median(theirs[k], (size_t)runs) : NAN;
    print_ratio(&t, "native", peers[k].name, ratio, targets[k]);
    if (peers[k].program) peers[k].log_sum += log(ratio), peers[k].n++;
  }
  bench_print_target(t.call, "interp/native", slow / one, 1, BENCH_AT_MOST(MAX_OF_NATIVE));
  double ratio = bytecode.program ? slow / bench_median(of_bytecode, (size_t)slow_runs) : NAN;
  bench_print_target(t.call, "interp/bytecode", ratio, 2, BENCH_NO_TARGET);
  bench_print_target(t.call, "one/two threads", one / two, 2,
                     r->is_parallel ? BENCH_AT_LEAST(MIN_SPEED_UP) : BENCH_NO_TARGET);
  printf("\n");
  fflush(stdout);
  hia_value_free(trees);
  for (int k = 0; k < N_OWN; k++) bench_close(&programs[k]);
}

static void print_times(const char *only, int runs) {
  printf("%-22s %9s", "", "native ms");
  for (int k = 0; k < N_PEERS; k++) print_column("native", peers[k].name);
  bench_print_target_heading("interp/native");
  bench_print_target_heading("interp/bytecode");
  bench_print_target_heading("one/two threads");
  printf("\n");
  for (size_t i = 0; i < N_ROWS; i++)
    if (!only || strcmp(only, rows[i].name) == 0) measure(&rows[i], runs);
  if (!only) {
    printf("%-22s %9s", "geometric mean", "");
    for (int k = 0; k < N_PEERS; k++) {
      double mean = peers[k].n ? exp(peers[k].log_sum / peers[k].n) : NAN;
      char column[64];
      snprintf(column, sizeof column, "native/%s", peers[k].name);
      bench_print_target("geometric mean", column, mean, 2,
                         k == OCAML ? BENCH_AT_MOST(MAX_MEAN) : BENCH_NO_TARGET);
    }
    printf("\n");
  }
  printf("\n");
}

/* ---- memory ---- */

static void measure_memory(const row *r, const char *folder) {
  task t = task_of(r);
  char program[300], vocabulary[300], arg[310];
  snprintf(program, sizeof program, "%s/%s", folder, r->name);
  snprintf(vocabulary, sizeof vocabulary, "%s/vocabulary", folder);
  snprintf(arg, sizeof arg, "%s%s", r->reads_trees ? "@" : "", t.arg);
  const char *build[] = {HIA_PROGRAM, "build", file_of(r), "--fn",       r->name,
                         "--exe",     "-o",    program,    "--no-merge", NULL};
  const char *run[] = {program, arg, r->reads_trees ? "--build-vocab" : NULL, vocabulary, NULL};
  bench_process(build);
  double own = bench_process_peak(run);
  unlink(program);
  unlink(vocabulary);
  printf("%-22s %9.1f", t.call, own);
  for (int k = 0; k < N_PEERS; k++) {
    const char *argv[] = {peers[k].program, r->name, t.arg, "1", NULL};
    double ratio = peers[k].program ? own / bench_process_peak(argv) : NAN;
    print_ratio(&t, "memory, native", peers[k].name, ratio,
                k == OCAML ? BENCH_AT_MOST(MAX_MEMORY) : BENCH_NO_TARGET);
  }
  printf("\n");
  fflush(stdout);
}

static void print_memory(const char *only, const char *folder) {
  printf("%-22s %9s", "", "peak MiB");
  for (int k = 0; k < N_PEERS; k++) print_column("memory, native", peers[k].name);
  printf("\n");
  for (size_t i = 0; i < N_ROWS; i++)
    if (!only || strcmp(only, rows[i].name) == 0) measure_memory(&rows[i], folder);
  printf("\n");
}

/* ---- small trees ---- */

enum { SMALL_DEPTH = 10, SMALL_CALLS = 10000, QUICK_CALLS = 10 };

static double call_often(const bench_program *sum, hia_value *tree, int32_t n, int32_t *total) {
  double start = bench_now();
  uint32_t sums = 0;
  for (int32_t i = 0; i < n; i++) sums = sums * 31 + (uint32_t)bench_call_on(sum, tree);
  *total = (int32_t)sums;
  return bench_now() - start;
}

/* The sum over a tree of 1,023 nodes, ten thousand times, on two threads and on one: called by the
 * program, and by the host. */
static void measure_small(int runs) {
  static const char *const names[] = {"sum, called in a loop", "sum, called from C"};
  const char *file = HIA_BENCH "/data.hia";
  int32_t depth = SMALL_DEPTH, n = bench_is_quick() ? QUICK_CALLS : SMALL_CALLS, total;
  double ms[2][2][MAX_RUNS];
  bench_program loops[2], sums[2], make = open_function(file, "small_tree", HIA_ENGINE_JIT, 1);
  hia_value *tree = bench_call_value(&make, &depth, 1);
  for (unsigned k = 0; k < 2; k++) {
    loops[k] = open_function(file, "sums", HIA_ENGINE_JIT, k + 1);
    sums[k] = open_function(file, "sum", HIA_ENGINE_JIT, k + 1);
  }
  int expected = (int)bench_call(&loops[0], &n, 1, NULL);
  for (int i = 0; i < runs; i++)
    for (int k = 0; k < 2; k++) {
      double start = bench_now();
      total = (int32_t)bench_call(&loops[k], &n, 1, NULL);
      ms[0][k][i] = bench_now() - start;
      if (total != expected) bench_wrong("%s: %d instead of %d", names[0], total, expected);
      ms[1][k][i] = call_often(&sums[k], tree, n, &total);
      if (total != expected) bench_wrong("%s: %d instead of %d", names[1], total, expected);
    }
  printf("%-22s %9s", "1,023 nodes", "us a call");
  bench_print_target_heading("two/one threads");
  printf("\n");
  for (int i = 0; i < 2; i++) {
    double one = bench_median(ms[i][0], (size_t)runs), two = bench_median(ms[i][1], (size_t)runs);
    printf("%-22s %9.2f", names[i], one * 1e3 / n);
    bench_print_target(names[i], "two/one threads", two / one, 2, BENCH_AT_MOST(MAX_OF_ONE));
    printf("\n");
  }
  printf("\n");
  fflush(stdout);
  hia_value_free(tree);
  bench_close(&make);
  for (int k = 0; k < 2; k++) bench_close(&loops[k]), bench_close(&sums[k]);
}

/* ---- one processor ---- */

/* The processor time of a process with a helper that finds no processor would say nothing: so these
 * are times on the clock. */
static void measure_on_one(const row *r, int runs) {
  double ms[2][MAX_RUNS], ratios[MAX_RUNS];
  task t = task_of(r);
  bench_program programs[2];
  long long expected = 0, result;
  for (unsigned k = 0; k < 2; k++)
    programs[k] = open_function(file_of(r), r->name, HIA_ENGINE_JIT, k + 1);
  for (int i = -1; i < runs; i++) { /* one run each to warm up */
    for (int k = 0; k < 2; k++) {
      double time = call_ms(&programs[k], &t, NULL, &result);
      if (i < 0 && k == 0) expected = result;
      expect(&t, "on one processor", result, expected);
      if (i >= 0) ms[k][i] = time;
    }
    if (i >= 0) ratios[i] = ms[1][i] / ms[0][i];
  }
  printf("%-22s %9.1f", t.call, bench_median(ms[0], (size_t)runs));
  bench_print_target(t.call, "two/one threads", bench_median(ratios, (size_t)runs), 2,
                     BENCH_AT_MOST(MAX_OF_ONE));
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) bench_close(&programs[k]);
}

/* Threads that start from here on have the processor of this one alone. */
static void measure_processor(int runs) {
  cpu_set_t all, one;
  int here = sched_getcpu();
  CPU_ZERO(&one);
  if (here >= 0 && here < CPU_SETSIZE) CPU_SET((size_t)here, &one);
  if (sched_getaffinity(0, sizeof all, &all) || sched_setaffinity(0, sizeof one, &one)) {
    printf("this process may not be confined to one processor\n\n");
    return;
  }
  printf("%-22s %9s", "on one processor", "native ms");
  bench_print_target_heading("two/one threads");
  printf("\n");
  for (size_t i = 0; i < N_ROWS; i++)
    if (!rows[i].reads_trees) measure_on_one(&rows[i], runs);
  printf("\n");
  (void)sched_setaffinity(0, sizeof all, &all);
}

int main(int argc, char **argv) {
  int runs = 5;
  const char *only = NULL;
  bool is_known = true;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      is_known = false;
  }
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr, "usage: %s [--quick | --check] [--runs N] [--only NAME]\n", argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  char folder[] = "/tmp/hiaton-bench-XXXXXX";
  if (!mkdtemp(folder)) {
    perror(folder);
    return 1;
  }
  bench_print_machine();
  find_peers();
  treebank = bench_treebank_write(folder);
  if (treebank.is_generated) printf("the treebank is generated: HIATON_SST_DIR is not set\n");
  print_memory(only, folder); /* first: see bench_process_peak */
  print_times(only, runs);
  if (!only || strcmp(only, "sum") == 0) measure_small(runs);
  if (!only || strcmp(only, "processor") == 0) measure_processor(runs);
  if (!only || strcmp(only, "brackets") == 0)
    bench_treebank_measure(&treebank, brackets_peer, runs);
  bench_treebank_remove(&treebank);
  rmdir(folder);
  return bench_end();
}
