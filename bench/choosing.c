/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/choosing.h"
#include "bench/sides.h"
#include <hiaton/tensors.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_VERSIONS   4    /* of sizes that vary */
#define MAX_COMPILING  0.05 /* ms, in the second half of the runs */
#define MAX_CHOICE     1.1
#define MIN_OF_ENTRIES 1.2
#define MAX_CALL_NS    100
#define MAX_GUARD_NS   2

/* ---- sizes that vary ---- */

enum { MAX_SIZE = 64 };

static uint64_t n_versions(const bench_side *s) {
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  bench_check(hia_function_get_stats(s->program.function, &stats), NULL);
  return stats.versions;
}

/* Runs with sizes at random; the first argument is a tensor of that many rows. */
static void run_varying(const bench_side_call *like, hia_value *const *by_size, int n,
                        uint64_t *state) {
  bench_side_call c = *like;
  for (int i = 0; i < n; i++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    c.args[0] = by_size[(*state >> 33) % MAX_SIZE];
    hia_value_free(bench_run(&c, NULL));
  }
}

/* What is being compiled now ends. */
static void await_compiler(void) { usleep(bench_is_quick() ? 100000 : 1000000); }

static void measure_varying_of(const char *row, const char *function, int64_t n_columns,
                               void (*add_rest)(bench_side_call *)) {
  int half = bench_is_quick() ? 50 : 250;
  bench_side s = bench_side_open(function, HIA_SPECULATE_ON);
  hia_value *by_size[MAX_SIZE];
  uint64_t general = n_versions(&s), state = 1;
  bench_side_call *c = bench_add_call(&s);
  bench_add_tensor(c, 1, n_columns);
  add_rest(c);
  for (int i = 0; i < MAX_SIZE; i++) by_size[i] = bench_tensor(c, 0, i + 1, n_columns);
  run_varying(c, by_size, half, &state);
  await_compiler();
  uint64_t early = n_versions(&s) - general;
  double others = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - bench_cpu();
  run_varying(c, by_size, half, &state);
  await_compiler();
  others = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - bench_cpu() - others;
  uint64_t all = n_versions(&s) - general;
  printf("%-36s", row);
  bench_print_target(row, "versions", (double)all, 0, BENCH_AT_MOST(MAX_VERSIONS));
  bench_print_target(row, "made later", (double)(all - early), 0, BENCH_AT_MOST(0));
  bench_print_target(row, "compiling later, ms", others > 0 ? others : 0, 2,
                     BENCH_AT_MOST(MAX_COMPILING));
  printf("\n");
  fflush(stdout);
  for (int i = 0; i < MAX_SIZE; i++) hia_value_free(by_size[i]);
  bench_side_close(&s);
}

static void add_square(bench_side_call *c) { bench_add_tensor(c, 64, 64); }
static void add_many_rounds(bench_side_call *c) { bench_add_number(c, 20000); }

/* Expressions one after the other, so many that versions for the first ones are not used any more.
 * The time of the compiler's thread is in it if the machine has one core. */
static double come_and_go_ms(hia_speculate speculate) {
  enum { N_OBJECTS = 40 };
  int n_objects = bench_is_quick() ? 2 : N_OBJECTS, n_calls = bench_is_quick() ? 4 : 1000;
  bench_side s = bench_side_open("interpret", speculate);
  double start = bench_now();
  for (int i = 0; i < n_objects; i++) {
    char text[96];
    bench_side_call *c = bench_add_call(&s);
    snprintf(text, sizeof text, "Add(Mul(X, Add(X, C(%d.5))), Mul(C(%d.0), X))", i, i % 7);
    bench_add_text(c, text);
    bench_add_number(c, BENCH_FEW_POINTS);
    for (int k = 0; k < n_calls; k++) hia_value_free(bench_run(c, NULL));
    bench_call_free(c);
    *c = (bench_side_call){0};
    s.n_calls = 0;
  }
  double ms = bench_now() - start;
  bench_side_close(&s);
  return ms;
}

static void measure_objects(void) {
  enum { TIMES = 3 };
  double on[TIMES], off[TIMES], ratios[TIMES];
  for (int i = 0; i < TIMES; i++) {
    on[i] = come_and_go_ms(HIA_SPECULATE_ON);
    off[i] = come_and_go_ms(HIA_SPECULATE_OFF);
    ratios[i] = on[i] / off[i];
  }
  bench_print_sides_heading("objects that come and go, ms", "on", "off", "on/off");
  bench_print_sides("40 expressions, a thousand calls each", bench_median(on, TIMES),
                    bench_median(off, TIMES), "on/off", bench_median(ratios, TIMES),
                    BENCH_AT_MOST(MAX_CHOICE));
  printf("\n");
  fflush(stdout);
}

void bench_measure_varying(void) {
  printf("%-36s", "sizes at random");
  bench_print_target_heading("versions");
  bench_print_target_heading("made later");
  bench_print_target_heading("compiling later, ms");
  printf("\n");
  measure_varying_of("a vector", "halve", 0, add_many_rounds);
  measure_varying_of("rows, and a matrix that stays", "rows", 64, add_square);
  printf("\n");
  measure_objects();
  printf("\n");
}

/* ---- what choosing costs ---- */

/* Has versions made for sizes 4, 5 and 6. */
static void make_versions_of_sizes(const bench_side *s) {
  for (int64_t size = 4; size < 7; size++) {
    bench_side one = {.program = s->program, .speculate = HIA_SPECULATE_ON};
    bench_side_call *c = bench_add_call(&one);
    bench_add_tensor(c, size, 0);
    bench_add_number(c, 10000);
    bench_await_versions(&one);
    if (!bench_version_of(c)) printf("no version for size %lld\n", (long long)size);
    bench_call_free(c);
  }
}

/* Other sizes, in turn: so none of them seems to be steady. */
static void add_other_sizes(bench_side *s) {
  for (int64_t size = 7; size < 10; size++) {
    bench_side_call *c = bench_add_call(s);
    bench_add_tensor(c, size, 0);
    bench_add_number(c, 1);
  }
}

static void measure_misses(void) {
  const char *row = "three versions";
  bench_side sides[2] = {bench_side_open("halve", HIA_SPECULATE_ON),
                         bench_side_open("halve", HIA_SPECULATE_OFF)};
  make_versions_of_sizes(&sides[0]);
  for (int k = 0; k < 2; k++) add_other_sizes(&sides[k]);
  bench_figures f = bench_take_turns(row, sides);
  bench_print_sides(row, f.ms[0] * 1e6, f.ms[1] * 1e6, "on/off", f.ratio,
                    BENCH_AT_MOST(MAX_CHOICE));
  if (bench_n_without_version(&sides[0]) < sides[0].n_calls) printf("a version fits");
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
}

/* A call with the first of n expressions, each of which has a version. */
static bench_side open_with_versions(size_t n) {
  bench_side s = bench_side_open("interpret", HIA_SPECULATE_ON);
  for (size_t i = 0; i < n; i++) {
    bench_side one = {.program = s.program, .speculate = HIA_SPECULATE_ON};
    bench_add_interpreted(&one, i, BENCH_FEW_POINTS);
    bench_await_versions(&one);
    if (!bench_version_of(&one.calls[0])) printf("no version for expression %zu\n", i);
    if (i == 0)
      s.calls[s.n_calls++] = one.calls[0];
    else
      bench_call_free(&one.calls[0]);
  }
  bench_change_points(&s.calls[0], 1);
  return s;
}

/* The version that was made first is tried last. */
static void measure_hits(void) {
  const char *row = "the last of eight versions";
  bench_side sides[2] = {open_with_versions(8), open_with_versions(1)};
  bench_figures f = bench_take_turns(row, sides);
  bench_print_sides(row, f.ms[0] * 1e6, f.ms[1] * 1e6, "eight/one", f.ratio, BENCH_NO_TARGET);
  if (bench_version_of(&sides[0].calls[0]) != 1) printf("another version fits");
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
}

void bench_measure_choice(void) {
  bench_print_sides_heading("runs that no version fits, ns", "on", "off", "on/off");
  measure_misses();
  printf("\n");
  bench_print_sides_heading("runs that a version fits, ns", "eight", "one", "eight/one");
  measure_hits();
  printf("\n");
}

/* ---- calls of typed entries, and guards ---- */

typedef hia_status (*powers_fn)(hia_context *, int32_t, int64_t, double *);
typedef hia_status (*rounds_fn)(hia_context *, const hia_i64_1 *, int64_t, int64_t *);

/* A function that is called by its typed entry. */
typedef struct entered {
  bench_program program;
  hia_context *context;
  hia_native_fn entry;
} entered;

static entered open_entered(const char *function, hia_speculate speculate) {
  bench_options options = bench_options_of(speculate);
  hia_error *error;
  entered e = {.program = bench_open(HIA_BENCH "/speculate.hia", function, &options)};
  bench_check(hia_function_entry(e.program.function, &e.entry, &error), &error);
  bench_check(hia_engine_context_new(e.program.engine, &e.context, &error), &error);
  return e;
}

static void close_entered(entered *e) {
  hia_context_free(e->context);
  bench_close(&e->program);
}

static void call_powers(const entered *e, int64_t n) {
  double x;
  bench_check(((powers_fn)e->entry)(e->context, 5, n, &x), NULL);
}

static void call_rounds(const entered *e, int64_t n) {
  enum { LEN = 64 };
  static int64_t k[LEN];
  for (int i = 0; i < LEN; i++) k[i] = i % 7;
  int64_t x;
  bench_check(((rounds_fn)e->entry)(e->context, &(hia_i64_1){k, {LEN}}, n, &x), NULL);
}

/* The median time of a call of each, in turn. */
static bench_figures enter_in_turns(const entered sides[2],
                                    void (*call)(const entered *e, int64_t n), int64_t n,
                                    int times) {
  double each[2][BENCH_MAX_RUNS], ratios[BENCH_MAX_RUNS];
  for (int i = 0; i < bench_runs; i++) {
    for (int k = 0; k < 2; k++) {
      double start = bench_cpu();
      for (int t = 0; t < times; t++) call(&sides[k], n);
      each[k][i] = (bench_cpu() - start) / times;
    }
    ratios[i] = each[0][i] / each[1][i];
  }
  return (bench_figures){
      {bench_median(each[0], (size_t)bench_runs), bench_median(each[1], (size_t)bench_runs)},
      bench_median(ratios, (size_t)bench_runs)};
}

/* Calls until a version is there; the engine says nothing of calls of entries, so that is a version
 * for runs, too. */
static bool await_entered(const entered *e, void (*call)(const entered *e, int64_t n), int64_t n) {
  double end = bench_now() + (bench_is_quick() ? 1e3 : 10e3);
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  bench_check(hia_function_get_stats(e->program.function, &stats), NULL);
  uint64_t general = stats.versions;
  do {
    for (int i = 0; i < 100; i++) call(e, n);
    bench_check(hia_function_get_stats(e->program.function, &stats), NULL);
  } while (stats.versions <= general && bench_now() < end);
  return stats.versions > general;
}

static void end_row(bool has_version) {
  if (!has_version) printf("no version");
  printf("\n");
  fflush(stdout);
}

void bench_measure_entries(void) {
  enum { POINTS = 2000, CALLS = 20000 };
  bool is_quick = bench_is_quick();
  entered powers[2] = {open_entered("powers", HIA_SPECULATE_ON),
                       open_entered("powers", HIA_SPECULATE_OFF)};
  bool has_version = await_entered(&powers[0], call_powers, POINTS);
  bench_print_sides_heading("calls of typed entries, ns", "on", "off", "");
  const char *row = "an exponent that stays the same";
  bench_figures f = enter_in_turns(powers, call_powers, POINTS, is_quick ? 10 : 10000);
  bench_print_sides(row, f.ms[0] * 1e6, f.ms[1] * 1e6, "off/on", 1 / f.ratio,
                    BENCH_AT_LEAST(MIN_OF_ENTRIES));
  end_row(has_version);
  row = "a call with guards, next to no version";
  f = enter_in_turns(powers, call_powers, 0, is_quick ? 10 : CALLS);
  bench_print_sides(row, f.ms[0] * 1e6, f.ms[1] * 1e6, "more, ns", (f.ms[0] - f.ms[1]) * 1e6,
                    BENCH_AT_MOST(MAX_CALL_NS));
  end_row(has_version);
  for (int k = 0; k < 2; k++) close_entered(&powers[k]);

  entered rounds[2] = {open_entered("guarded", HIA_SPECULATE_ON),
                       open_entered("unguarded", HIA_SPECULATE_OFF)};
  int64_t n = is_quick ? 1000 : 1000000;
  has_version = await_entered(&rounds[0], call_rounds, is_quick ? 1000 : 20000);
  row = "a guard in each round, next to none";
  f = enter_in_turns(rounds, call_rounds, n, is_quick ? 1 : 20);
  double ns[2] = {f.ms[0] * 1e6 / (double)n, f.ms[1] * 1e6 / (double)n};
  bench_print_sides(row, ns[0], ns[1], "more, ns", ns[0] - ns[1], BENCH_AT_MOST(MAX_GUARD_NS));
  end_row(has_version);
  for (int k = 0; k < 2; k++) close_entered(&rounds[k]);
  printf("\n");
}
