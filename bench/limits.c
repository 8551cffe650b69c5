/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures what limits cost: the time from a cancel to the return of the run that it ends, also
 * inside of operations on large tensors and arrays (limits_large.c), the safepoints that make it
 * possible, fuel, bytes per frame, and the memory that a deep run leaves.
 *
 *   bench_limits [--quick | --check] [--large] [--cancels N]     (1000 of each program)
 *
 * --large: only operations on large tensors and arrays.
 *
 * The targets hold on a machine that does nothing else. */
#include "bench/limits.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The functions after `down` try to run long without a safepoint: a deep recursion that returns;
 * calls of functions without safepoints; remainders, the slowest operation; many branches one after
 * the other; a tree of calls without recursion. */
static const char text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn tak(x: i32, y: i32, z: i32) -> i32 = if y < x then tak(tak(x - 1, y, z), tak(y - 1, z, x), "
    "tak(z - 1, x, y)) else z\n"
    "fn ack(m: i32, n: i32) -> i32 = if m == 0 then n + 1 else if n == 0 then ack(m - 1, 1) "
    "else ack(m - 1, ack(m, n - 1))\n"
    "fn rounds(n: i32) -> i32 = loop (s = n) while true { bxor(shl(s, 3), s * 5 + 1) }\n"
    "fn sum(n: i32) -> i64 = { let (_, s) = loop (i = 0i64, s = 0i64) while i < i64(n) * 1000 "
    "{ (i + 1, s + bxor(i, shl(i, 3))) }; s }\n"
    "fn powers(n: i32) -> f64 = loop (x = f64(n)) while true { pow(x, 0.5) + exp(-x) }\n"
    "fn turns(n: i32) -> i32 = { let (_, s) = loop (i = 0, s = 0) while i < n "
    "{ (i + 1, s * 5 + bxor(i, s)) }; s }\n"
    "fn down(n: i32) -> i32 = if n == 0 then 0 else 1 + down(n - 1)\n"
    "fn back(n: i32) -> i32 = loop (s = n) while true { bxor(s, down(n)) }\n"
    "fn slow(n: i32) -> f64 = if n == 0 then 2.0f64 else { let x = pow(slow(n - 1), 0.5f64);"
    " let x = exp(x) + tan(x); let x = pow(x, 0.3f64) + tanh(x); log1p(sin(x) * sin(x)) }\n"
    "fn slows(n: i32) -> f64 = loop (x = f64(n)) while true { x + slow(n) }\n"
    "fn leaf(x: f64) -> f64 = { let a = pow(x, 0.3) + exp(-x); let b = sin(a) * tan(a);"
    " let c = pow(a, b) + tanh(b); let d = log1p(abs(c)) + expm1(-abs(b)); sqrt(abs(c * d)) + a }\n"
    "fn leaves(n: i32) -> f64 = loop (x = f64(n)) while true { let (_, y) = loop (i = 0, y = x)"
    " while i < 24 { (i + 1, leaf(y) + leaf(y + 1.0f64) + leaf(y + 2.0f64) + leaf(y + 3.0f64)) }; "
    "y }\n"
    "fn remainders(n: i32) -> f64 = loop (x = f64(n)) while true { let (_, y) = loop (i = 0, y = x)"
    " while i < 64 { (i + 1, y + 1.7e308f64 % (4e-308f64 + y) + 1.6e308f64 % (5e-308f64 + y)) };"
    " y * 0.0f64 }\n";

enum { MANY_BRANCHES = 1500, LEVELS = 40 };

static const char *all_text(void) {
  static char all[1 << 18];
  if (all[0]) return all;
  size_t n = (size_t)snprintf(all, sizeof all,
                              "%sfn branches(n: i32) -> f64 = loop (x = f64(n)) "
                              "while true {\n",
                              text);
  for (int i = 0; i < MANY_BRANCHES; i++)
    n += (size_t)snprintf(
        all + n, sizeof all - n,
        "let x = if x > %d.0f64 then pow(x, 0.5f64) else exp(x) + tan(x + %d.0f64);\n", i, i);
  n += (size_t)snprintf(all + n, sizeof all - n, "x }\nfn tree%d(x: f64) -> f64 = leaf(x)\n",
                        LEVELS);
  for (int i = LEVELS - 1; i >= 0; i--)
    n += (size_t)snprintf(all + n, sizeof all - n,
                          "fn tree%d(x: f64) -> f64 = tree%d(x) + tree%d(x + 1.0f64)\n", i, i + 1,
                          i + 1);
  n += (size_t)snprintf(all + n, sizeof all - n, "fn tree(n: i32) -> f64 = tree0(f64(n))\n");
  return all;
}

/* Without merging: with it fib would end at once. */
static bench_program open_text(hia_engine_kind kind, unsigned threads, bool is_unchecked,
                               const char *function, const char *without) {
  return bench_open_text(
      "limits.hia", all_text(), function,
      &(bench_options){
          .kind = kind, .threads = threads, .unchecked = is_unchecked, .disabled_passes = without});
}

/* ---- from a cancel to the return ---- */

enum { MAX_CANCELS = 100000, MAX_WAIT = 3000 /* microseconds */, DEEP_WAIT = 150000 };

typedef struct row {
  const char *name;
  hia_engine_kind kind;
  unsigned threads;
  const char *function;
  int32_t args[3];
  size_t n_args;
} row;

/* All of them would run for much longer than the wait. */
static const row rows[] = {
    {"fib", HIA_ENGINE_JIT, 1, "fib", {55}, 1},
    {"fib, 2 threads", HIA_ENGINE_JIT, 2, "fib", {55}, 1},
    {"tak", HIA_ENGINE_JIT, 1, "tak", {60, 40, 20}, 3},
    {"ack", HIA_ENGINE_JIT, 1, "ack", {3, 14}, 2},
    {"a loop", HIA_ENGINE_JIT, 1, "rounds", {1}, 1},
    {"a vectorised loop", HIA_ENGINE_JIT, 1, "sum", {2000000000}, 1},
    {"a loop of exp and pow", HIA_ENGINE_JIT, 1, "powers", {1}, 1},
    {"back from the depth", HIA_ENGINE_JIT, 1, "back", {3000000}, 1},
    {"back, slow frames", HIA_ENGINE_JIT, 1, "slows", {30000}, 1},
    {"many large leaves", HIA_ENGINE_JIT, 1, "leaves", {1}, 1},
    {"slow remainders", HIA_ENGINE_JIT, 1, "remainders", {1}, 1},
    {"many branches", HIA_ENGINE_JIT, 1, "branches", {1}, 1},
    {"a tree of 2^40 calls", HIA_ENGINE_JIT, 1, "tree", {1}, 1},
    {"interp: fib", HIA_ENGINE_INTERP, 1, "fib", {50}, 1},
    {"interp: fib, 2 threads", HIA_ENGINE_INTERP, 2, "fib", {50}, 1},
    {"interp: a loop", HIA_ENGINE_INTERP, 1, "rounds", {1}, 1},
    {"expand: fib", HIA_ENGINE_EXPAND, 1, "fib", {50}, 1},
};

/* Without unrolling, so that there are as many frames as calls. After the wait the recursion is
 * returning. These runs are cancelled a tenth as often. */
static const row deep_rows[] = {
    {"3*10^6 frames", HIA_ENGINE_JIT, 1, "back", {3000000}, 1},
    {"10^7 frames", HIA_ENGINE_JIT, 1, "back", {10000000}, 1},
};

typedef struct requester {
  hia_cancel *cancel;
  clockid_t cpu;     /* processor time of the thread that runs */
  unsigned wait;     /* microseconds */
  double at, cpu_at; /* the time of the request on both clocks; milliseconds */
} requester;

static void *request(void *user) {
  requester *r = user;
  nanosleep(&(struct timespec){.tv_nsec = 1000L * r->wait}, NULL);
  r->cpu_at = bench_clock(r->cpu);
  r->at = bench_now();
  hia_cancel_request(r->cancel);
  return NULL;
}

limits_delay limits_end_run(const char *name, hia_function *f, hia_value *const *args, size_t n,
                            limits_cause cause, unsigned wait) {
  bool is_cancel = cause == LIMITS_CANCEL;
  requester r = {.cancel = is_cancel ? hia_cancel_new(NULL) : NULL, .wait = wait};
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.cancel = r.cancel;
  if (!is_cancel) options.timeout_ns = 1000 * ((uint64_t)wait + 1);
  pthread_t thread;
  if (pthread_getcpuclockid(pthread_self(), &r.cpu) != 0) exit(1);
  if (is_cancel && (!r.cancel || pthread_create(&thread, NULL, request, &r) != 0)) exit(1);
  r.at = bench_now() + (wait + 1) * 1e-3;
  hia_value *result;
  hia_error *error;
  hia_status status = hia_run(f, args, n, &options, &result, &error);
  double end = bench_now(), cpu_end = bench_clock(r.cpu);
  if (is_cancel) pthread_join(thread, NULL);
  if (status != (is_cancel ? HIA_CANCELLED : HIA_DEADLINE)) {
    printf("%s was not ended: %s\n", name, error ? hia_error_text(error) : "it returned");
    exit(1);
  }
  hia_error_free(error);
  hia_cancel_free(r.cancel);
  return (limits_delay){(end - r.at) * 1e3, is_cancel ? (cpu_end - r.cpu_at) * 1e3 : (double)NAN};
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static const char *const percentile[] = {[LIMITS_MEDIAN] = "50th", [LIMITS_99TH] = "99th"};

void limits_print_spread(const char *name, const char *clock, double *us, size_t n,
                         limits_bounded bounded, bench_target target) {
  char column[64];
  qsort(us, n, sizeof us[0], by_size);
  snprintf(column, sizeof column, "%s percentile, %s", percentile[bounded], clock);
  double at[] = {[LIMITS_MEDIAN] = us[n / 2], [LIMITS_99TH] = us[n * 99 / 100]};
  for (limits_bounded k = LIMITS_MEDIAN; k <= LIMITS_99TH; k++)
    if (k == bounded)
      bench_print_target(name, column, at[k], 1, target);
    else
      printf(" %9.1f", at[k]);
  printf(" %9.1f", us[n - 1]);
}

void limits_print_heading(limits_bounded bounded) {
  for (limits_bounded k = LIMITS_MEDIAN; k <= LIMITS_99TH; k++)
    if (k == bounded)
      bench_print_target_heading(percentile[k]);
    else
      printf(" %9s", percentile[k]);
  printf(" %9s", "most");
}

static void cancel_row(const row *w, size_t n, bool is_deep) {
  static double took[MAX_CANCELS], cpu[MAX_CANCELS];
  bench_program p = open_text(w->kind, w->threads, false, w->function, is_deep ? "unroll" : NULL);
  hia_value *args[3] = {NULL};
  for (size_t i = 0; i < w->n_args; i++) args[i] = hia_value_i32(p.engine, w->args[i]);
  unsigned random = 12345;
  for (size_t i = 0; i < n; i++) {
    random = random * 1664525u + 1013904223u;
    unsigned wait = (random >> 8) % (is_deep ? DEEP_WAIT : MAX_WAIT);
    limits_delay d = limits_end_run(w->name, p.function, args, w->n_args, LIMITS_CANCEL, wait);
    took[i] = d.clock;
    cpu[i] = d.cpu;
  }
  for (size_t i = 0; i < w->n_args; i++) hia_value_free(args[i]);
  bench_close(&p);
  printf("%-22s", w->name);
  limits_print_spread(w->name, "on the clock", took, n, LIMITS_99TH, BENCH_AT_MOST(LIMITS_MAX_US));
  limits_print_spread(w->name, "processor time", cpu, n, LIMITS_99TH, BENCH_NO_TARGET);
  puts("");
  fflush(stdout);
}

static void table_of_cancels(size_t n) {
  printf("From a cancel to the return of the run, microseconds, over %zu cancels each at a random "
         "moment of\nits first %d ms (with millions of frames: a tenth as many, of %d ms): on the "
         "clock, and in processor\ntime of the thread that runs, which other processes do not "
         "lengthen.\n\n",
         n, MAX_WAIT / 1000, DEEP_WAIT / 1000);
  printf("%-22s %-43s    %s\n", "", "   on the clock", "processor time");
  printf("%-22s", "");
  for (int k = 0; k < 2; k++) limits_print_heading(LIMITS_99TH);
  puts("");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) cancel_row(&rows[i], n, false);
  for (size_t i = 0; i < sizeof deep_rows / sizeof deep_rows[0]; i++)
    cancel_row(&deep_rows[i], n >= 50 ? n / 10 : n, true);
  puts("");
}

/* ---- safepoints ---- */

enum { MAX_RUNS = 15 };
#define MAX_CHECK_PERCENT 2.0 /* on fib(40), which makes the most calls */

static void compare(const char *table, const row *w, bench_program p[2], bench_target target) {
  const int n_runs = bench_is_quick() ? 1 : MAX_RUNS;
  double ms[2][MAX_RUNS];
  hia_run_stats used = HIA_RUN_STATS_INIT;
  for (int r = -1; r < n_runs; r++) { /* the first to warm up */
    for (int k = 0; k < 2; k++) {
      double start = bench_cpu();
      bench_call(&p[k], w->args, w->n_args, &used);
      ms[k][r < 0 ? 0 : r] = bench_cpu() - start;
    }
  }
  double with = bench_median(ms[0], (size_t)n_runs), without = bench_median(ms[1], (size_t)n_runs);
  printf("%-24s %10.1f %10.1f", w->name, with, without);
  char column[64];
  snprintf(column, sizeof column, "%s, per cent", table);
  bench_print_target(w->name, column, (with / without - 1) * 100, 1, target);
  printf(" %9.1f\n", (ms[0][0] / ms[1][0] - 1) * 100);
  fflush(stdout);
  for (int k = 0; k < 2; k++) bench_close(&p[k]);
}

static void print_comparison_heading(const char *with, const char *without) {
  printf("%-24s %10s %10s", "", with, without);
  bench_print_target_heading("of medians");
  printf(" %9s\n", "of best");
}

static void table_of_checks(void) {
  static const row compared[] = {
      {"fib(40)", HIA_ENGINE_JIT, 1, "fib", {40}, 1},
      {"ack(3,11)", HIA_ENGINE_JIT, 1, "ack", {3, 11}, 2},
      {"tak(27,17,8)", HIA_ENGINE_JIT, 1, "tak", {27, 17, 8}, 3},
  };
  static const row quick[] = {
      {"fib(20)", HIA_ENGINE_JIT, 1, "fib", {20}, 1},
      {"ack(2,9)", HIA_ENGINE_JIT, 1, "ack", {2, 9}, 2},
      {"tak(12,8,4)", HIA_ENGINE_JIT, 1, "tak", {12, 8, 4}, 3},
  };
  printf("What comparing with the limit costs: native code as it is beside code without it, "
         "alternating,\nms of CPU time, %d runs each; the difference in per cent.\n\n",
         bench_is_quick() ? 1 : MAX_RUNS);
  print_comparison_heading("checked", "unchecked");
  bench_pin(true);
  for (size_t i = 0; i < sizeof compared / sizeof compared[0]; i++) {
    const row *w = bench_is_quick() ? &quick[i] : &compared[i];
    compare("checks", w,
            (bench_program[2]){open_text(HIA_ENGINE_JIT, 1, false, w->function, NULL),
                               open_text(HIA_ENGINE_JIT, 1, true, w->function, NULL)},
            i == 0 ? BENCH_AT_MOST(MAX_CHECK_PERCENT) : BENCH_NO_TARGET);
  }
  bench_pin(false);
  puts("");
}

/* ---- fuel ---- */

static void table_of_fuel(void) {
  static const row compared[] = {
      {"fib(40)", HIA_ENGINE_JIT, 1, "fib", {40}, 1},
      {"tak(27,17,8)", HIA_ENGINE_JIT, 1, "tak", {27, 17, 8}, 3},
      {"ack(3,11)", HIA_ENGINE_JIT, 1, "ack", {3, 11}, 2},
      {"turns(10^8)", HIA_ENGINE_JIT, 1, "turns", {100000000}, 1},
      {"interp: fib(25)", HIA_ENGINE_INTERP, 1, "fib", {25}, 1},
  };
  static const row quick[] = {
      {"fib(20)", HIA_ENGINE_JIT, 1, "fib", {20}, 1},
      {"tak(12,8,4)", HIA_ENGINE_JIT, 1, "tak", {12, 8, 4}, 3},
      {"ack(2,9)", HIA_ENGINE_JIT, 1, "ack", {2, 9}, 2},
      {"turns(1000)", HIA_ENGINE_JIT, 1, "turns", {1000}, 1},
      {"interp: fib(10)", HIA_ENGINE_INTERP, 1, "fib", {10}, 1},
  };
  printf("What fuel costs: runs with it beside runs without, alternating, ms of CPU time, %d runs "
         "each;\nthe difference in per cent. Equal calls are not merged in either.\n\n",
         bench_is_quick() ? 1 : MAX_RUNS);
  print_comparison_heading("with", "without");
  bench_pin(true);
  for (size_t i = 0; i < sizeof compared / sizeof compared[0]; i++) {
    const row *w = bench_is_quick() ? &quick[i] : &compared[i];
    bench_program p[2];
    for (int k = 0; k < 2; k++)
      p[k] = bench_open_text("limits.hia", all_text(), w->function,
                             &(bench_options){.kind = w->kind, .threads = 1, .fuel = k == 0});
    compare("fuel", w, p, BENCH_NO_TARGET);
  }
  bench_pin(false);
  puts("");
}

/* ---- depth ---- */

static double resident_mib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  fclose(file);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void go_down(hia_engine_kind kind, const char *name, double max_bytes) {
  const int32_t few = bench_is_quick() ? 100000 : 1000000, many = few * 10;
  bench_program p = open_text(kind, 1, false, "down", NULL);
  hia_run_stats used = HIA_RUN_STATS_INIT;
  double bytes[2], ms[3];
  bench_call(&p, &few, 1, &used);
  bytes[0] = (double)used.peak_bytes;
  double before = resident_mib();
  for (int i = 0; i < 3; i++) {
    double start = bench_now();
    if (bench_call(&p, &many, 1, &used) != many) exit(1);
    ms[i] = bench_now() - start;
  }
  double after = resident_mib();
  bytes[1] = (double)used.peak_bytes;
  printf("%-12s", name);
  bench_print_target(name, "bytes a call", (bytes[1] - bytes[0]) / (many - few), 1,
                     BENCH_AT_MOST(max_bytes));
  printf(" %12.1f %12.1f %10.0f %10.1f %10.1f\n", ms[0], bench_median(ms, 3), bytes[1] / (1 << 20),
         before, after);
  fflush(stdout);
  bench_close(&p);
}

static void table_of_depth(void) {
  printf(
      "fn down(n) = if n == 0 then 0 else 1 + down(n - 1), 10^%d calls deep. Bytes a call of the "
      "source;\nmilliseconds of the first such run and of the median of three, giving the memory "
      "back included;\nMiB at the deepest; MiB resident before and after.\n\n",
      bench_is_quick() ? 6 : 7);
  printf("%-12s", "");
  bench_print_target_heading("bytes");
  printf(" %12s %12s %10s %10s %10s\n", "first ms", "ms", "MiB", "before", "after");
  go_down(HIA_ENGINE_JIT, "native", 48);
  go_down(HIA_ENGINE_INTERP, "interpreter", 256);
  puts("");
}

int main(int argc, char **argv) {
  long cancels = 1000;
  bool is_known = true, is_large = false;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i])) {
      if (bench_is_quick()) cancels = 5;
    } else if (strcmp(argv[i], "--large") == 0) {
      is_large = true;
    } else if (strcmp(argv[i], "--cancels") == 0 && i + 1 < argc) {
      cancels = atol(argv[++i]);
    } else {
      is_known = false;
    }
  }
  if (!is_known || cancels < 1 || cancels > MAX_CANCELS) {
    fprintf(stderr, "usage: %s [--quick | --check] [--large] [--cancels N]\n", argv[0]);
    return 2;
  }
  bench_print_machine();
  if (!is_large) table_of_cancels((size_t)cancels);
  limits_table_of_large((size_t)cancels);
  if (is_large) return bench_end();
  table_of_checks();
  table_of_fuel();
  table_of_depth();
  return bench_end();
}
