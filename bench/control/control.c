/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/control/control.h"
#include "bench/control/oracle.h"
#include "bench/control/programs.h"
#include "bench/harness.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUNS = 99, INSTANCES = 64, MAX_PATH = 512 };

/* The rows of all instances. */
static const char all_rows[] = "fn rows(n: i32) -> i32[?] = {\n"
                               "  let (all, _) = loop (all = full(0, 0), i = 0) while i < n { "
                               "(concat(all, rows_of(i)), i + 1) "
                               "};\n"
                               "  all\n"
                               "}\n";

static char *joined(const bench_controlled *c) {
  char *text;
  size_t len;
  FILE *to = open_memstream(&text, &len);
  if (to && c->inputs) fprintf(to, "%s%s", c->inputs->more[0], c->inputs->more[1]);
  if (to) fprintf(to, "\n%s%s", c->more, all_rows);
  if (!to || fclose(to) != 0) {
    perror("memory");
    exit(1);
  }
  return text;
}

static bench_program open_program(const bench_controlled *c, const char *function,
                                  hia_batching batch) {
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1, .batch = batch, .reuse = false};
  char path[MAX_PATH], *text = joined(c);
  snprintf(path, sizeof path, "%s/models/%s.hia", HIA_EXAMPLES, c->file ? c->file : "");
  bench_program p = c->file ? bench_open_with(path, text, function, &options)
                            : bench_open_text(c->title, text, function, &options);
  free(text);
  return p;
}

/* Calls a second. */
static double rate_of(const bench_program *p) {
  const int32_t n = INSTANCES;
  double start = bench_now(), seconds = bench_is_quick() ? 0 : 0.3, ms;
  size_t n_calls = 0;
  do {
    bench_call(p, &n, 1, NULL);
    n_calls++;
    ms = bench_now() - start;
  } while (ms < seconds * 1e3);
  return (double)n_calls / (ms / 1e3);
}

/* Rows of a wave, if an oracle chooses what is computed. */
static double width_of_oracle(const bench_controlled *c) {
  const int32_t n = INSTANCES;
  bench_program p = open_program(c, "rows", HIA_BATCH_NONE);
  hia_value *rows = bench_call_value(&p, &n, 1);
  size_t n_rows = (size_t)hia_value_dims(rows)[0];
  double width = (double)n_rows / (double)bench_oracle_waves(hia_value_elements(rows), n_rows);
  hia_value_free(rows);
  bench_close(&p);
  return width;
}

static void compare(const bench_controlled *c, int runs) {
  bench_program p = open_program(c, "result", HIA_BATCH_SEGMENTS),
                none = open_program(c, "result", HIA_BATCH_NONE);
  double own[MAX_RUNS], alone[MAX_RUNS];
  const int32_t n = INSTANCES;
  hia_run_stats used = HIA_RUN_STATS_INIT, ignored = HIA_RUN_STATS_INIT;
  long long result = bench_call(&p, &n, 1, &used), right = bench_call(&none, &n, 1, &ignored);
  if (result != right) bench_wrong("%s: %lld, but %lld in batches", c->title, right, result);
  for (int i = 0; i < runs; i++) {
    own[i] = rate_of(&p);
    alone[i] = rate_of(&none);
  }
  double many = bench_median(own, (size_t)runs), one = bench_median(alone, (size_t)runs);
  double width = (double)used.batch_rows / (double)used.batch_waves, oracle = width_of_oracle(c);
  printf("%-30s %9.1f %9.1f", c->title, many, one);
  bench_print_target(c->title, "hiaton/alone", many / one, 2, BENCH_AT_LEAST(c->least));
  printf(" %9.1f %9.1f", width, oracle);
  bench_print_target(c->title, "of oracle's", width / oracle, 2, BENCH_AT_LEAST(0.8));
  printf("\n");
  fflush(stdout);
  bench_close(&none);
  bench_close(&p);
}

void bench_control(int runs) {
  printf("%-30s %9s %9s", "64 instances, calls/s", "hiaton", "alone");
  bench_print_target_heading("hiaton/alone");
  printf(" %9s %9s", "rows/wave", "oracle's");
  bench_print_target_heading("of oracle's");
  printf("\n");
  for (const bench_controlled *c = bench_controlled_programs; c->title; c++) compare(c, runs);
  printf("\n");
}
