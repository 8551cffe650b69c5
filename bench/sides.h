/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions that are compared in turn, on one thread, after their versions are there
 * (hia_engine_options.speculate). The programs are in bench/speculate.hia. Whatever fails ends the
 * benchmark. */
#ifndef BENCH_SIDES_H
#define BENCH_SIDES_H

#include "bench/harness.h"

enum { BENCH_MAX_RUNS = 99, BENCH_MAX_ARGS = 10, BENCH_MAX_CALLS = 32, BENCH_FEW_POINTS = 1000 };

/* How many figures a median is of. */
extern int bench_runs;

/* ---- calls ---- */

typedef struct bench_side_call {
  hia_function *function;
  hia_value *args[BENCH_MAX_ARGS];
  size_t n_args, n_lent; /* the first ones are another's */
} bench_side_call;

/* One of two things that are compared: calls that are made in turn. */
typedef struct bench_side {
  bench_program program;
  hia_speculate speculate;
  bench_side_call calls[BENCH_MAX_CALLS];
  size_t n_calls;
} bench_side;

/* What engines are made with: one thread, batches, and versions as said. */
bench_options bench_options_of(hia_speculate speculate);
bench_side bench_side_open(const char *function, hia_speculate speculate);
void bench_side_close(bench_side *s);
/* Adds a call of the side's function, which has no arguments so far. */
bench_side_call *bench_add_call(bench_side *s);
void bench_call_free(const bench_side_call *c);

/* Each adds an argument, of which the call becomes the owner: a value, a value as text, a number, a
 * tensor of f32 of these sizes (m 0: of rank 1) with elements that are always the same. */
void bench_add(bench_side_call *c, hia_value *arg);
void bench_add_text(bench_side_call *c, const char *text);
void bench_add_number(bench_side_call *c, long long n);
void bench_add_tensor(bench_side_call *c, int64_t n, int64_t m);
/* Such a tensor, for this parameter. */
hia_value *bench_tensor(const bench_side_call *c, size_t param, int64_t n, int64_t m);

/* The function STEM_I of the program, compiled. */
hia_function *bench_function_of(const bench_side *s, const char *stem, size_t i);
/* Adds a call that interprets expression i at so many points; changes their number. */
void bench_add_interpreted(bench_side *s, size_t i, long long n_points);
void bench_change_points(bench_side_call *c, long long n_points);

/* Makes the call; `stats` may be NULL. */
hia_value *bench_run(const bench_side_call *c, hia_run_stats *stats);
/* The processor time that all calls of the side take, made so many times each. */
double bench_calls_ms(const bench_side *s, int times);

/* ---- versions ---- */

/* The number of the version that a run uses; 0: the general one. */
uint32_t bench_version_of(const bench_side_call *c);
/* Calls of the side that use none. */
size_t bench_n_without_version(const bench_side *s);
/* Makes the calls in turn until each of them uses a version, or time is up. */
void bench_await_versions(const bench_side *s);
/* Says what has none. */
void bench_print_lacking(size_t n, size_t of);

/* ---- comparing ---- */

/* The time of one call of each side, on average, and the ratio of the first one to the second: the
 * median of those of pairs. */
typedef struct bench_figures {
  double ms[2], ratio;
} bench_figures;

/* The results of both must be the same. */
bench_figures bench_take_turns(const char *row, const bench_side sides[2]);
void bench_print_sides_heading(const char *title, const char *first, const char *second,
                               const char *ratio);
void bench_print_sides(const char *row, double a, double b, const char *column, double ratio,
                       bench_target target);
/* Prints how many times as fast the first side is as the second one. */
void bench_measure_speed(const char *row, const bench_side sides[2], const char *column,
                         bench_target target);

#endif
