/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures programs on data (data.hia): native code next to C++ and OCaml (reference_data.cpp and
 * .ml), the interpreter next to native code, two threads next to one; and how much memory a process
 * takes that runs the program once, built ahead of time, next to those in C++ and OCaml.
 *
 *   bench_data [--quick | --check] [--runs N] [--only NAME]
 *
 * Times are wall-clock medians of runs that alternate; of each process of a peer the second run
 * counts. */
#include "bench/harness.h"
#include <math.h>
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

typedef struct row {
  const char *name;
  int32_t n, quick;
  double of_cpp;
  bool is_parallel; /* it has calls that do not depend on each other */
} row;

static const row rows[] = {
    {"binary_trees", 16, 8, MAX_OF_TREES, true},
    {"rbtree", 500000, 1000, MAX_OF_CPP, false},
    {"rbtree_keep", 100000, 1000, MAX_OF_CPP, false},
    {"deriv", 8, 4, MAX_OF_CPP, false},
    {"cfold", 17, 6, MAX_OF_CPP, false},
    {"nqueens", 10, 5, MAX_OF_CPP, false},
    {"search_queens", 10, 5, MAX_OF_CPP, true},
    {"quicksort", 100000, 1000, MAX_OF_CPP, false},
    {"mergesort", 100000, 1000, MAX_OF_CPP, true},
    {"sieve", 1000000, 1000, MAX_OF_CPP, false},
    {"array_sort", 300000, 1000, MAX_OF_CPP, false},
    {"array_queens", 9, 5, MAX_OF_CPP, false},
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* Milliseconds of the second of two runs in one process. */
static double peer_ms(const char *path, const row *r, int32_t n, int *result) {
  char arg[16], text[256];
  snprintf(arg, sizeof arg, "%d", n);
  const char *argv[] = {path, r->name, arg, "2", NULL};
  bench_process_text(argv, text, sizeof text);
  double first, second;
  if (sscanf(text, "%*d %lf %d %lf", &first, result, &second) == 3) return second;
  fprintf(stderr, "%s printed: %s\n", path, text);
  exit(1);
}

static double call_ms(const bench_program *p, int32_t n, int expected, const char *name) {
  double start = bench_now();
  long long result = bench_call(p, &n, 1, NULL);
  double ms = bench_now() - start;
  if (result != expected) bench_wrong("%s: %lld instead of %d", name, result, expected);
  return ms;
}

static bench_program open_row(const row *r, hia_engine_kind kind, unsigned threads) {
  bench_options options = {.kind = kind, .threads = threads, .merge_calls = false};
  return bench_open(HIA_BENCH "/data.hia", r->name, &options);
}

/* The programs that data.hia is compared with. NULL: its compiler is not installed. */
typedef struct peers {
  const char *cpp, *ocaml;
} peers;

static double run_peer(const char *peer, const row *r, int32_t n, int expected) {
  if (!peer) return NAN;
  int result;
  double ms = peer_ms(peer, r, n, &result);
  if (result != expected)
    bench_wrong("%s of %s: %d instead of %d", r->name, peer, result, expected);
  return ms;
}

static double log_of_ocaml; /* the sum of the logarithms of the ratios */
static int n_of_ocaml;

static void measure(const row *r, peers p, int runs) {
  int32_t n = bench_is_quick() ? r->quick : r->n;
  double cpp[MAX_RUNS], ocaml[MAX_RUNS], one[MAX_RUNS], two[MAX_RUNS], interp[MAX_RUNS];
  bench_program alone = open_row(r, HIA_ENGINE_JIT, 1), threaded = open_row(r, HIA_ENGINE_JIT, 2),
                slow = open_row(r, HIA_ENGINE_INTERP, 1);
  int expected = (int)bench_call(&alone, &n, 1, NULL);
  for (int i = 0; i < runs; i++) {
    cpp[i] = run_peer(p.cpp, r, n, expected);
    ocaml[i] = run_peer(p.ocaml, r, n, expected);
    one[i] = call_ms(&alone, n, expected, r->name);
    two[i] = call_ms(&threaded, n, expected, r->name);
    if (i < 3) interp[i] = call_ms(&slow, n, expected, r->name);
  }
  double a = bench_median(cpp, (size_t)runs), o = bench_median(ocaml, (size_t)runs),
         b = bench_median(one, (size_t)runs), c = bench_median(two, (size_t)runs),
         d = bench_median(interp, runs < 3 ? (size_t)runs : 3);
  char call[64];
  bench_call_text(call, sizeof call, r->name, &n, 1);
  printf("%-22s %9.1f", call, b);
  bench_print_target(call, "native/C++", b / a, 2, BENCH_AT_MOST(r->of_cpp));
  bench_print_target(call, "native/OCaml", b / o, 2, BENCH_AT_MOST(MAX_OF_OCAML));
  bench_print_target(call, "interp/native", d / b, 1, BENCH_AT_MOST(MAX_OF_NATIVE));
  bench_print_target(call, "one/two threads", b / c, 2,
                     r->is_parallel ? BENCH_AT_LEAST(MIN_SPEED_UP) : BENCH_NO_TARGET);
  printf("\n");
  fflush(stdout);
  if (p.ocaml) log_of_ocaml += log(b / o), n_of_ocaml++;
  bench_close(&alone);
  bench_close(&threaded);
  bench_close(&slow);
}

/* ---- memory ---- */

static double peer_peak(const char *peer, const row *r, const char *arg) {
  const char *argv[] = {peer, r->name, arg, "1", NULL};
  return peer ? bench_process_peak(argv) : NAN;
}

static void measure_memory(const row *r, peers p, const char *folder) {
  int32_t n = bench_is_quick() ? r->quick : r->n;
  char program[300], arg[16], call[64];
  snprintf(program, sizeof program, "%s/%s", folder, r->name);
  snprintf(arg, sizeof arg, "%d", n);
  const char *build[] = {HIA_PROGRAM, "build", HIA_BENCH "/data.hia", "--fn", r->name, "--exe",
                         "-o",        program, "--no-merge",          NULL};
  const char *run[] = {program, arg, NULL};
  bench_process(build);
  double own = bench_process_peak(run), cpp = peer_peak(p.cpp, r, arg),
         ocaml = peer_peak(p.ocaml, r, arg);
  unlink(program);
  bench_call_text(call, sizeof call, r->name, &n, 1);
  printf("%-22s %9.1f", call, own);
  bench_print_target(call, "memory, native/C++", own / cpp, 2, BENCH_NO_TARGET);
  bench_print_target(call, "memory, native/OCaml", own / ocaml, 2, BENCH_AT_MOST(MAX_MEMORY));
  printf("\n");
  fflush(stdout);
}

static void print_memory(peers p, const char *only) {
  char folder[] = "/tmp/hiaton-bench-XXXXXX";
  if (!mkdtemp(folder)) {
    perror(folder);
    exit(1);
  }
  printf("%-22s %9s", "", "peak MiB");
  bench_print_target_heading("memory, native/C++");
  bench_print_target_heading("memory, native/OCaml");
  printf("\n");
  for (size_t i = 0; i < N_ROWS; i++)
    if (!only || strcmp(only, rows[i].name) == 0) measure_memory(&rows[i], p, folder);
  rmdir(folder);
  printf("\n");
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
  const char *cpp = HIA_PEERS "/peer_data_cpp", *ocaml = HIA_PEERS "/peer_data_ocaml";
  peers p = {access(cpp, X_OK) == 0 ? cpp : NULL, access(ocaml, X_OK) == 0 ? ocaml : NULL};
  bench_print_machine();
  if (!p.cpp) printf("no C++: g++ is not installed\n");
  if (!p.ocaml) printf("no OCaml: ocamlopt is not installed\n");
  print_memory(p, only); /* first: see bench_process_peak */
  printf("%-22s %9s", "", "native ms");
  bench_print_target_heading("native/C++");
  bench_print_target_heading("native/OCaml");
  bench_print_target_heading("interp/native");
  bench_print_target_heading("one/two threads");
  printf("\n");
  for (size_t i = 0; i < N_ROWS; i++)
    if (!only || strcmp(only, rows[i].name) == 0) measure(&rows[i], p, runs);
  if (n_of_ocaml > 1) {
    printf("%-22s %9s %22s", "geometric mean", "", "");
    bench_print_target("geometric mean", "native/OCaml", exp(log_of_ocaml / n_of_ocaml), 2,
                       BENCH_AT_MOST(MAX_MEAN));
    printf("\n");
  }
  return bench_end();
}
