/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures parallelism in native code: what latent forks cost on one thread, the throughput of
 * several threads compared with that of the same number of sequential programs that run at the same
 * time, and both compared with OpenMP's tasks and oneTBB.
 *
 *   bench_parallel [--quick | --check] [--runs N] [--shapes] [--only FUNCTION]
 *
 * --shapes leaves out the tables of threads and peers; --only takes one function, without peers.
 *
 * Each row is measured in rounds. In a round each of the row's programs has its turn, so that a
 * slow moment of the machine affects all of them. Equal calls are not merged: with merging fib
 * would not be enough work for two threads. */
#include "bench/harness.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99, MAX_COPIES = 1024, MAX_COUNTS = 2 };

typedef struct row {
  const char *name; /* of the function */
  int32_t args[3], quick[3];
  size_t n_args;
  double share; /* the target: P threads over P programs at the same time */
} row;

static const row rows[] = {
    {"fib", {40}, {16}, 1, 0.95},
    {"tak", {24, 16, 8}, {12, 8, 4}, 3, 0.95},
    {"tak", {27, 17, 8}, {12, 8, 4}, 3, 0.95},
    {"small10", {400000000}, {3000}, 1, 0.9},
    {"large10", {400000000}, {3000}, 1, 0.9},
    {"small100", {400000000}, {3000}, 1, 0.9},
    {"large100", {400000000}, {3000}, 1, 0.9},
    {"small1000", {400000000}, {3000}, 1, 0.9},
    {"large1000", {400000000}, {3000}, 1, 0.9},
};

static const struct peer {
  const char *program, *name, *package;
} peers[] = {
    {"peer_libgomp", "OpenMP tasks (gcc, libgomp)", "gcc"},
    {"peer_libomp", "OpenMP tasks (clang-19, libomp)", "libomp-19-dev"},
    {"peer_tbb", "oneTBB parallel_invoke (g++)", "g++ or libtbb-dev"},
};
enum { N_PEERS = sizeof peers / sizeof peers[0] };
#define MAX_FORKED 1.05 /* times the sequential code */
#define MIN_TIMES  50.0 /* faster than each peer, on fib(32) */

static bool only_shapes;
static const char *only; /* function, or NULL */
static size_t n_runs;
static unsigned counts[MAX_COUNTS]; /* of threads: 2, and all cores if there are more */
static size_t n_counts;

static const int32_t *args_of(const row *r) { return bench_is_quick() ? r->quick : r->args; }

static void row_text(char *text, size_t size, const row *r) {
  bench_call_text(text, size, r->name, args_of(r), r->n_args);
}

static bench_program open_row(const row *r, unsigned threads, bool always_fork) {
  char path[4096];
  bool is_example = strcmp(r->name, "fib") == 0 || strcmp(r->name, "tak") == 0;
  snprintf(path, sizeof path, "%s/%s.hia", is_example ? HIA_EXAMPLES : HIA_BENCH,
           is_example ? r->name : "skew");
  return bench_open(
      path, r->name,
      &(bench_options){.kind = HIA_ENGINE_JIT, .threads = threads, .always_fork = always_fork});
}

/* All results of a row must equal the first one. */
typedef struct verdict {
  long long result;
  bool is_known;
} verdict;

static void judge(verdict *v, const char *name, long long result) {
  if (v->is_known && v->result != result) {
    bench_wrong("%s: %lld instead of %lld", name, result, v->result);
  }
  v->result = result;
  v->is_known = true;
}

/* ---- one program ---- */

static double timed_reference(bench_reference f, const row *r, verdict *v) {
  if (!f) return 0;
  int32_t result;
  double ms = bench_reference_ms(f, args_of(r), &result);
  judge(v, r->name, result);
  return ms;
}

static double timed_alone(const bench_program *p, const row *r, verdict *v) {
  double start = bench_cpu();
  long long result = bench_call(p, args_of(r), r->n_args, NULL);
  double ms = bench_cpu() - start;
  judge(v, r->name, result);
  return ms;
}

static double timed_threads(const bench_program *p, const row *r, verdict *v, uint64_t *steals) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  double start = bench_now();
  long long result = bench_call(p, args_of(r), r->n_args, &used);
  double ms = bench_now() - start;
  judge(v, r->name, result);
  *steals = used.steals;
  return ms;
}

/* ---- several programs at the same time ---- */

typedef struct copy {
  bench_program program; /* with an engine of its own */
  const row *row;
  unsigned core;
  pthread_barrier_t *start;
  double ms;
  long long result;
} copy;

static void *run_copy(void *arg) {
  copy *c = arg;
  bench_pin_to(c->core);
  pthread_barrier_wait(c->start);
  double start = bench_now();
  c->result = bench_call(&c->program, args_of(c->row), c->row->n_args, NULL);
  c->ms = bench_now() - start;
  return NULL;
}

/* Milliseconds per program when n run at the same time: the reciprocal of the sum of their rates.
 */
static double timed_copies(copy *copies, unsigned n, verdict *v) {
  pthread_t threads[MAX_COPIES];
  pthread_barrier_t start;
  double rate = 0;
  if (pthread_barrier_init(&start, NULL, n) != 0) exit(1);
  for (unsigned i = 0; i < n; i++) {
    copies[i].start = &start;
    if (pthread_create(&threads[i], NULL, run_copy, &copies[i]) == 0) continue;
    fputs("a thread cannot be started\n", stderr);
    exit(1);
  }
  for (unsigned i = 0; i < n; i++) {
    pthread_join(threads[i], NULL);
    judge(v, copies[i].row->name, copies[i].result);
    rate += 1 / copies[i].ms;
  }
  pthread_barrier_destroy(&start);
  return 1 / rate;
}

/* ---- the table ---- */

typedef struct measured {
  double clang, gcc, sequential, forked; /* CPU time on one thread; 0: not available */
  struct {
    double copies, threads; /* wall-clock time */
    double steals;
  } at[MAX_COUNTS];
} measured;

static measured measure(const row *r) {
  bench_reference clang = bench_find_reference(BENCH_CLANG, 0, r->name),
                  gcc = bench_find_reference(BENCH_GCC, 0, r->name);
  bench_program sequential = open_row(r, 1, false), forked = open_row(r, 1, true);
  bench_program threaded[MAX_COUNTS];
  unsigned most = counts[n_counts - 1];
  copy *copies = calloc(most, sizeof *copies);
  if (!copies) exit(1);
  for (unsigned i = 0; i < most; i++)
    copies[i] = (copy){.program = open_row(r, 1, false), .row = r, .core = i};
  for (size_t k = 0; k < n_counts; k++) threaded[k] = open_row(r, counts[k], false);

  static double alone[4][MAX_RUNS], side[MAX_COUNTS][3][MAX_RUNS];
  verdict v = {0};
  /* One round to warm up, not kept. */
  for (size_t round = 0; round <= n_runs; round++) {
    size_t at = round ? round - 1 : 0;
    bench_pin(true);
    alone[0][at] = timed_reference(clang, r, &v);
    alone[1][at] = timed_alone(&sequential, r, &v);
    alone[2][at] = timed_alone(&forked, r, &v);
    alone[3][at] = timed_reference(gcc, r, &v);
    bench_pin(false); /* before threads start: they inherit their creator's cores */
    for (size_t k = 0; k < n_counts; k++) {
      uint64_t steals;
      side[k][0][at] = timed_copies(copies, counts[k], &v);
      side[k][1][at] = timed_threads(&threaded[k], r, &v, &steals);
      side[k][2][at] = (double)steals;
    }
  }
  measured m = {.clang = bench_median(alone[0], n_runs),
                .sequential = bench_median(alone[1], n_runs),
                .forked = bench_median(alone[2], n_runs),
                .gcc = bench_median(alone[3], n_runs)};
  for (size_t k = 0; k < n_counts; k++) {
    m.at[k].copies = bench_median(side[k][0], n_runs);
    m.at[k].threads = bench_median(side[k][1], n_runs);
    m.at[k].steals = bench_median(side[k][2], n_runs);
    bench_close(&threaded[k]);
  }
  for (unsigned i = 0; i < most; i++) bench_close(&copies[i].program);
  free(copies);
  bench_close(&sequential);
  bench_close(&forked);
  return m;
}

static void print_ms(double ms) {
  if (ms > 0)
    printf(" %9.*f", ms < 1 ? 4 : 2, ms);
  else
    printf(" %9s", "-");
}

static void table_of_threads(void) {
  printf(
      "One thread beside the same program in C, -O3, CPU time; then P threads beside P sequential "
      "programs\nside by side, on the clock. Rounds: %zu; medians, milliseconds.\n\n",
      n_runs);
  puts("jit: sequential code; forks: code whose calls other threads may take; each: of P programs "
       "side "
       "by side;\nshare: what P threads reach of that.\n");
  printf("%-20s %9s %9s %9s %9s", "", "clang-19", "gcc", "jit", "forks");
  bench_print_target_heading("forks/jit");
  for (size_t k = 0; k < n_counts; k++) {
    printf(" | P =%3u %9s %9s", counts[k], "each", "threads");
    bench_print_target_heading("share");
    printf(" %8s %7s", "speed-up", "steals");
  }
  puts("");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const row *r = &rows[i];
    if (only && strcmp(only, r->name) != 0) continue;
    measured m = measure(r);
    char text[64];
    row_text(text, sizeof text, r);
    printf("%-20s", text);
    print_ms(m.clang);
    print_ms(m.gcc);
    print_ms(m.sequential);
    print_ms(m.forked);
    bench_print_target(text, "forks/jit", m.forked / m.sequential, 3, BENCH_AT_MOST(MAX_FORKED));
    for (size_t k = 0; k < n_counts; k++) {
      printf(" |        ");
      print_ms(m.at[k].copies);
      print_ms(m.at[k].threads);
      char column[32];
      snprintf(column, sizeof column, "share of %u threads", counts[k]);
      bench_print_target(text, column, m.at[k].copies / m.at[k].threads, 3,
                         BENCH_AT_LEAST(r->share));
      printf(" %7.2fx %7.0f", m.sequential / m.at[k].threads, m.at[k].steals);
    }
    puts("");
    fflush(stdout);
  }
  puts("\nsteals: the median of a run. Equal calls are not merged.\n");
}

/* ---- shapes ---- */

typedef struct shape {
  const char *name; /* of the function in shapes.hia */
  int32_t args[4], quick[4];
  size_t n_args;
  double max_shared; /* the target: two threads over one */
} shape;

#define MAX_SHARED 0.90 /* two threads over one */
#define MAX_SAME   1.10 /* the same, without work for a second thread */
#define MIN_TURN   2.0  /* milliseconds of a turn, in which a program runs repeatedly */

static const shape shapes[] = {
    {"delannoy", {13, 13}, {5, 5}, 2, MAX_SHARED},
    {"delannoy", {11, 11}, {4, 4}, 2, MAX_SHARED},
    {"edit", {12, 12}, {5, 5}, 2, MAX_SHARED},
    {"fib", {110}, {30}, 1, MAX_SHARED},
    {"tribonacci", {75}, {20}, 1, MAX_SHARED},
    {"pell", {90}, {20}, 1, MAX_SAME},
    {"hanoi", {20, 1, 2, 3}, {6, 1, 2, 3}, 4, MAX_SHARED},
    {"three", {14, 1}, {5, 1}, 2, MAX_SHARED},
    {"queens", {10}, {5}, 1, MAX_SHARED},
    {"queens_loop", {10}, {5}, 1, MAX_SHARED},
    {"partitions", {60, 60}, {12, 12}, 2, MAX_SHARED},
    {"unequal", {2000000}, {300}, 1, MAX_SHARED},
    {"small", {9, 1}, {9, 1}, 2, MAX_SAME},
    {"small", {12, 1}, {9, 1}, 2, MAX_SAME},
    {"comprehension", {20000}, {50}, 1, MAX_SHARED},
    {"bushes", {8}, {3}, 1, MAX_SHARED},
};

static bench_program open_shape(const shape *s, unsigned threads, bool always_fork) {
  return bench_open(HIA_BENCH "/shapes.hia", s->name,
                    &(bench_options){.kind = HIA_ENGINE_JIT,
                                     .threads = threads,
                                     .always_fork = always_fork,
                                     .merge_calls = true});
}

typedef struct turn {
  double cpu, wall; /* milliseconds a call */
} turn;

static turn take_turn(const bench_program *p, const shape *s, unsigned n_calls, verdict *v) {
  double wall = bench_now(), cpu = bench_cpu();
  for (unsigned i = 0; i < n_calls; i++)
    judge(v, s->name, bench_call(p, bench_is_quick() ? s->quick : s->args, s->n_args, NULL));
  return (turn){(bench_cpu() - cpu) / n_calls, (bench_now() - wall) / n_calls};
}

static void measure_shape(const shape *s) {
  static double one[MAX_RUNS], alone[MAX_RUNS], both[MAX_RUNS], forks[MAX_RUNS], shares[MAX_RUNS];
  bench_program sequential = open_shape(s, 1, false), forked = open_shape(s, 1, true),
                threaded = open_shape(s, 2, false);
  verdict v = {0};
  double once = take_turn(&sequential, s, 1, &v).wall;
  once = take_turn(&sequential, s, 1, &v).wall;
  unsigned n_calls = once < MIN_TURN ? (unsigned)(MIN_TURN / once) + 1 : 1;
  take_turn(&threaded, s, n_calls, &v);
  for (size_t round = 0; round < n_runs; round++) {
    bench_pin(true);
    double cpu = take_turn(&sequential, s, n_calls, &v).cpu;
    forks[round] = take_turn(&forked, s, n_calls, &v).cpu / cpu;
    bench_pin(false);
    one[round] = take_turn(&sequential, s, n_calls, &v).wall;
    both[round] = take_turn(&threaded, s, n_calls, &v).wall;
    alone[round] = cpu;
    shares[round] = both[round] / one[round];
  }
  char text[64];
  bench_call_text(text, sizeof text, s->name, bench_is_quick() ? s->quick : s->args, s->n_args);
  printf("%-20s", text);
  print_ms(bench_median(alone, n_runs));
  print_ms(bench_median(one, n_runs));
  print_ms(bench_median(both, n_runs));
  bench_print_target(text, "T1", bench_median(forks, n_runs), 3, BENCH_AT_MOST(MAX_FORKED));
  bench_print_target(text, "T2", bench_median(shares, n_runs), 3, BENCH_AT_MOST(s->max_shared));
  printf(" %6.3f\n", both[0] / one[0]); /* sorted by now */
  bench_close(&sequential);
  bench_close(&forked);
  bench_close(&threaded);
}

static void table_of_shapes(void) {
  printf("Shapes of recursion, as users have them: equal calls are merged. Rounds: %zu; "
         "milliseconds a call.\n\n"
         "CPU time: of sequential code. T1: forked code on one thread, of that, the median of the "
         "rounds; T2: two\nthreads, of the time of one on the clock, the same; best: of the best "
         "rounds of each.\n\n",
         n_runs);
  printf("%-20s %9s %9s %9s", "", "CPU time", "1 thread", "2 threads");
  bench_print_target_heading("T1");
  bench_print_target_heading("T2");
  puts("   best");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    if (only && strcmp(only, shapes[i].name) != 0) continue;
    measure_shape(&shapes[i]);
    fflush(stdout);
  }
  puts("");
}

/* ---- peers ---- */

static bool peer_path(const struct peer *p, char *path, size_t size) {
  snprintf(path, size, "%s/%s", HIA_PEERS, p->program);
  return access(path, X_OK) == 0;
}

static double timed_peer(const char *path, const row *r, unsigned threads, verdict *v) {
  char words[4][16], text[128];
  const int32_t *args = args_of(r);
  for (size_t i = 0; i < 3; i++) snprintf(words[i], sizeof words[i], "%" PRId32, args[i]);
  snprintf(words[3], sizeof words[3], "%u", threads);
  const char *const argv[] = {path, r->name, words[0], words[1], words[2], words[3], NULL};
  bench_process_text(argv, text, sizeof text);
  long long result;
  double ms;
  if (sscanf(text, "%lld %lf", &result, &ms) != 2) {
    fprintf(stderr, "%s printed `%s`\n", path, text);
    exit(1);
  }
  judge(v, path, result);
  return ms;
}

static void compare_peers(const row *r, bench_target target, unsigned n_threads) {
  static double peer[N_PEERS][2][MAX_RUNS], own[2][MAX_RUNS];
  char path[N_PEERS][4096], text[64];
  bool is_there[N_PEERS];
  for (size_t k = 0; k < N_PEERS; k++) is_there[k] = peer_path(&peers[k], path[k], sizeof path[k]);
  bench_program sequential = open_row(r, 1, false), threaded = open_row(r, n_threads, false);
  verdict v = {0};
  uint64_t steals;
  timed_threads(&sequential, r, &v, &steals);
  timed_threads(&threaded, r, &v, &steals);
  for (size_t round = 0; round < n_runs; round++) {
    own[0][round] = timed_threads(&sequential, r, &v, &steals);
    own[1][round] = timed_threads(&threaded, r, &v, &steals);
    for (size_t k = 0; k < N_PEERS; k++)
      for (unsigned n = 0; is_there[k] && n < 2; n++)
        peer[k][n][round] = timed_peer(path[k], r, n ? n_threads : 1, &v);
  }
  double ours = bench_median(own[1], n_runs);
  row_text(text, sizeof text, r);
  printf("%-16s %-34s %10.3f %10.3f\n", text, "hiaton", bench_median(own[0], n_runs), ours);
  for (size_t k = 0; k < N_PEERS; k++) {
    if (!is_there[k]) {
      printf("%-16s %-34s skipped: %s is not installed\n", "", peers[k].name, peers[k].package);
      continue;
    }
    double one = bench_median(peer[k][0], n_runs), all = bench_median(peer[k][1], n_runs);
    printf("%-16s %-34s %10.3f %10.3f", "", peers[k].name, one, all);
    bench_print_target(text, peers[k].name, (one < all ? one : all) / ours, 1, target);
    puts("");
  }
  bench_close(&sequential);
  bench_close(&threaded);
}

static void table_of_peers(unsigned n_threads) {
  static const row fib = {"fib", {32}, {12}, 1, 0}, tak = {"tak", {24, 16, 8}, {12, 8, 4}, 3, 0};
  printf("Beside tasks written without a cut-off by hand, on the clock, milliseconds. `times`: how "
         "much slower\nthan hiaton on %u threads the other is at its better number of threads.\n\n",
         n_threads);
  printf("%-16s %-34s %10s %8u t.", "", "", "1 thread", n_threads);
  bench_print_target_heading("times");
  puts("");
  compare_peers(&fib, BENCH_AT_LEAST(MIN_TIMES), n_threads);
  compare_peers(&tak, BENCH_NO_TARGET, n_threads);
  puts("");
}

int main(int argc, char **argv) {
  n_runs = 7;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i])) {
      if (bench_is_quick()) n_runs = 1;
    } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      n_runs = (size_t)strtoul(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else if (strcmp(argv[i], "--shapes") == 0) {
      only_shapes = true;
    } else {
      n_runs = 0;
    }
    if (n_runs == 0 || n_runs > MAX_RUNS) {
      fprintf(stderr, "usage: %s [--quick | --check] [--runs N] [--shapes] [--only FUNCTION]\n",
              argv[0]);
      return 2;
    }
  }
  bench_print_machine();
  unsigned cores = bench_cores();
  counts[n_counts++] = 2;
  if (cores > 2) counts[n_counts++] = cores < MAX_COPIES ? cores : MAX_COPIES;
  if (cores < 2) puts("This machine has one core: two threads cannot be faster than one.\n");
  if (!only_shapes) table_of_threads();
  table_of_shapes();
  if (!only && !only_shapes) table_of_peers(counts[n_counts - 1]);
  return bench_end();
}
