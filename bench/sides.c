/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/sides.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_MS 30.0 /* of one figure */

int bench_runs;

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

bench_options bench_options_of(hia_speculate speculate) {
  return (bench_options){.kind = HIA_ENGINE_AUTO,
                         .threads = 1,
                         .merge_calls = true,
                         .batch = HIA_BATCH_SEGMENTS,
                         .reuse = true,
                         .speculate = speculate};
}

bench_side bench_side_open(const char *function, hia_speculate speculate) {
  bench_options options = bench_options_of(speculate);
  return (bench_side){.program = bench_open(HIA_BENCH "/speculate.hia", function, &options),
                      .speculate = speculate};
}

void bench_call_free(const bench_side_call *c) {
  for (size_t i = c->n_lent; i < c->n_args; i++) hia_value_free(c->args[i]);
}

void bench_side_close(bench_side *s) {
  for (size_t i = 0; i < s->n_calls; i++) bench_call_free(&s->calls[i]);
  bench_close(&s->program);
}

bench_side_call *bench_add_call(bench_side *s) {
  bench_side_call *c = &s->calls[s->n_calls++];
  c->function = s->program.function;
  return c;
}

void bench_add(bench_side_call *c, hia_value *arg) {
  if (!arg) bench_check(HIA_MEMORY, NULL);
  c->args[c->n_args++] = arg;
}

void bench_add_text(bench_side_call *c, const char *text) {
  hia_value *value;
  hia_error *error;
  bench_check(hia_value_parse(c->function, c->n_args, text, &value, &error), &error);
  bench_add(c, value);
}

void bench_add_number(bench_side_call *c, long long n) {
  char text[32];
  snprintf(text, sizeof text, "%lld", n);
  bench_add_text(c, text);
}

hia_value *bench_tensor(const bench_side_call *c, size_t param, int64_t n, int64_t m) {
  const int64_t dims[2] = {n, m};
  size_t len = (size_t)(n * (m ? m : 1));
  float *x = malloc(len * sizeof *x);
  hia_value *value;
  hia_error *error;
  uint64_t state = 88172645463325252u;
  if (!x) fail("memory");
  for (size_t i = 0; i < len; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[i] = (float)((double)(state >> 40) / (double)(1 << 24) - 0.5) * 0.25f;
  }
  bench_check(
      hia_data_tensor(NULL, hia_function_param_type(c->function, param), dims, x, &value, &error),
      &error);
  free(x);
  return value;
}

void bench_add_tensor(bench_side_call *c, int64_t n, int64_t m) {
  bench_add(c, bench_tensor(c, c->n_args, n, m));
}

hia_value *bench_run(const bench_side_call *c, hia_run_stats *stats) {
  hia_value *result;
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = stats;
  bench_check(hia_run(c->function, c->args, c->n_args, &options, &result, &error), &error);
  return result;
}

uint32_t bench_version_of(const bench_side_call *c) {
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_value_free(bench_run(c, &stats));
  return stats.version;
}

hia_function *bench_function_of(const bench_side *s, const char *stem, size_t i) {
  char name[64];
  hia_function *f;
  hia_error *error;
  snprintf(name, sizeof name, "%s_%zu", stem, i);
  bench_check(hia_module_function(s->program.module, name, &f, &error), &error);
  bench_check(hia_function_prepare(f, &error), &error);
  return f;
}

void bench_add_interpreted(bench_side *s, size_t i, long long n_points) {
  const bench_side_call expression = {.function = bench_function_of(s, "expression", i)};
  bench_side_call *c = bench_add_call(s);
  bench_add(c, bench_run(&expression, NULL));
  bench_add_number(c, n_points);
}

void bench_change_points(bench_side_call *c, long long n_points) {
  hia_value_free(c->args[--c->n_args]);
  bench_add_number(c, n_points);
}

double bench_calls_ms(const bench_side *s, int times) {
  double start = bench_cpu();
  for (int i = 0; i < times; i++)
    for (size_t k = 0; k < s->n_calls; k++) hia_value_free(bench_run(&s->calls[k], NULL));
  return bench_cpu() - start;
}

size_t bench_n_without_version(const bench_side *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_calls; i++) n += bench_version_of(&s->calls[i]) == 0;
  return n;
}

void bench_await_versions(const bench_side *s) {
  double end = bench_now() + (bench_is_quick() ? 2e3 : 10e3);
  bool waits = s->speculate == HIA_SPECULATE_ON;
  while (waits) waits = bench_n_without_version(s) && bench_now() < end;
}

void bench_print_lacking(size_t n, size_t of) {
  if (n && of == 1)
    printf("no version");
  else if (n)
    printf("no version for %zu of %zu", n, of);
}

static bool write_to(void *user, const char *bytes, size_t len) {
  return fwrite(bytes, 1, len, user) == len;
}

/* The whole result of a call; the caller frees it. */
static char *result_of(const bench_side_call *c) {
  char *text = NULL;
  size_t len;
  FILE *to = open_memstream(&text, &len);
  hia_error *error;
  if (!to) fail("memory");
  hia_value *result = bench_run(c, NULL);
  bench_check(hia_value_write(result, UINT64_MAX, write_to, to, NULL, &error), &error);
  hia_value_free(result);
  if (fclose(to) != 0) fail("memory");
  return text;
}

static void compare_results(const char *row, const bench_side sides[2]) {
  for (size_t i = 0; i < sides[0].n_calls; i++) {
    char *text[2] = {result_of(&sides[0].calls[i]), result_of(&sides[1].calls[i])};
    if (strcmp(text[0], text[1]) != 0)
      bench_wrong("%s: %.60s instead of %.60s", row, text[0], text[1]);
    free(text[0]);
    free(text[1]);
  }
}

/* How often all calls are made for one figure, which then takes some hundredths of a second. */
static int times_of(const bench_side *s) {
  int times = 1;
  while (!bench_is_quick() && bench_calls_ms(s, times) < MIN_MS) times *= 2;
  return times;
}

bench_figures bench_take_turns(const char *row, const bench_side sides[2]) {
  double each[2][BENCH_MAX_RUNS], ratios[BENCH_MAX_RUNS];
  compare_results(row, sides);
  int times = times_of(&sides[0]);
  for (int i = 0; i < bench_runs; i++) {
    for (int k = 0; k < 2; k++)
      each[k][i] = bench_calls_ms(&sides[k], times) / times / (double)sides[k].n_calls;
    ratios[i] = each[0][i] / each[1][i];
  }
  return (bench_figures){
      {bench_median(each[0], (size_t)bench_runs), bench_median(each[1], (size_t)bench_runs)},
      bench_median(ratios, (size_t)bench_runs)};
}

void bench_print_sides_heading(const char *title, const char *first, const char *second,
                               const char *ratio) {
  printf("%-36s %11s %11s", title, first, second);
  bench_print_target_heading(ratio);
  printf("\n");
}

void bench_print_sides(const char *row, double a, double b, const char *column, double ratio,
                       bench_target target) {
  printf("%-36s %11.4g %11.4g", row, a, b);
  bench_print_target(row, column, ratio, 3, target);
}

void bench_measure_speed(const char *row, const bench_side sides[2], const char *column,
                         bench_target target) {
  bench_figures f = bench_take_turns(row, sides);
  bench_print_sides(row, f.ms[0], f.ms[1], column, 1 / f.ratio, target);
  if (sides[0].speculate == HIA_SPECULATE_ON)
    bench_print_lacking(bench_n_without_version(&sides[0]), sides[0].n_calls);
  printf("\n");
  fflush(stdout);
}
