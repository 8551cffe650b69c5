/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shapes after Jeong and others, "Improving the Expressiveness of Deep Learning Frameworks with
 * Recursion" (EuroSys 2018): balanced, moderate and linear trees, of as many nodes each. */
#include "bench/tree_shapes.h"
#include "bench/batches.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BALANCED, MODERATE, LINEAR, N_SHAPES };
static const char *const shape_names[N_SHAPES] = {"balanced", "moderate", "linear"};
enum { TREES = 25, LEAVES = 32, UNSEEN = 40 };
#define MAX_APART 1.3

/* ---- trees ---- */

static uint32_t draw(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % n);
}

static uint32_t left_of(int shape, uint32_t n, uint64_t *state) {
  switch (shape) {
  case BALANCED: return n / 2;
  case MODERATE: return 1 + draw(state, n - 1);
  default: return n - 1;
  }
}

static void write_tree(FILE *to, int shape, uint32_t n, uint64_t *state) {
  if (n == 1) {
    fprintf(to, "Leaf(%u,%u)", draw(state, 18000), draw(state, 5));
    return;
  }
  uint32_t left = left_of(shape, n, state);
  fputs("Node(", to);
  write_tree(to, shape, left, state);
  fputc(',', to);
  write_tree(to, shape, n - left, state);
  fprintf(to, ",%u)", draw(state, 5));
}

/* Trees of so many leaves. */
static hia_value *make_trees(const bench_program *p, int shape, uint32_t n_leaves, uint64_t seed) {
  char *text = NULL;
  size_t len;
  hia_value *trees;
  hia_error *error;
  FILE *to = open_memstream(&text, &len);
  if (!to) bench_check(HIA_MEMORY, NULL);
  for (int i = 0; i < TREES; i++) {
    fputc(i ? ',' : '[', to);
    write_tree(to, shape, n_leaves, &seed);
  }
  fputc(']', to);
  if (fclose(to) != 0) bench_check(HIA_MEMORY, NULL);
  bench_check(hia_value_parse_text(p->function, 0, NULL, text, len, &trees, &error), &error);
  free(text);
  return trees;
}

/* ---- one shape next to another ---- */

/* Sentences a second, of processor time. */
static double rate_of(const bench_batches *b, bench_mode mode) {
  bench_work work = bench_batches_work(b, mode == BENCH_TRAIN ? BENCH_STEP : BENCH_CALL);
  double start = bench_cpu(), ms;
  size_t n = 0;
  do {
    bench_work_pass(&work);
    n += TREES;
    ms = bench_cpu() - start;
  } while (ms < 300 && !bench_is_quick());
  return (double)n / (ms / 1e3);
}

static void measure_shapes(const bench_network *network, bench_mode mode, int runs) {
  double rates[N_SHAPES][BENCH_MAX_RUNS_OF_BATCHES], median[N_SHAPES], least, most;
  bench_batches of[N_SHAPES];
  for (int k = 0; k < N_SHAPES; k++) {
    of[k] = bench_batches_open(network, 1, HIA_BATCH_SEGMENTS, false);
    hia_value *trees = make_trees(&of[k].program, k, LEAVES, 1);
    bench_batches_cut_of(&of[k], trees, TREES);
    hia_value_free(trees);
    bench_work first = bench_batches_work(&of[k], mode == BENCH_TRAIN ? BENCH_STEP : BENCH_CALL);
    bench_work_pass(&first); /* compiles the steps */
  }
  for (int i = 0; i < runs; i++)
    for (int k = 0; k < N_SHAPES; k++) rates[k][i] = rate_of(&of[k], mode);
  for (int k = 0; k < N_SHAPES; k++) {
    median[k] = bench_median(rates[k], (size_t)runs);
    bench_batches_close(&of[k]);
  }
  char row[96];
  snprintf(row, sizeof row, "%s, %d, %s", network->title, TREES, bench_mode_names[mode]);
  printf("%-30s", row);
  least = most = median[0];
  for (int k = 0; k < N_SHAPES; k++) {
    least = fmin(least, median[k]);
    most = fmax(most, median[k]);
    printf(" %9.1f", median[k]);
  }
  bench_print_target(row, "fastest/slowest", most / least, 2, BENCH_AT_MOST(MAX_APART));
  printf("\n");
  fflush(stdout);
}

/* ---- trees that were never seen ---- */

/* Processor time of the process, and versions of what is called or trained. */
typedef struct compiled {
  double others_ms; /* of threads besides this one */
  uint32_t versions;
} compiled;

static compiled compiled_so_far(const bench_batches *b) {
  hia_function_stats call = HIA_FUNCTION_STATS_INIT, step = HIA_FUNCTION_STATS_INIT;
  bench_check(hia_function_get_stats(b->program.function, &call), NULL);
  bench_check(hia_trainer_get_stats(b->trainer, &step), NULL);
  return (compiled){bench_clock(CLOCK_PROCESS_CPUTIME_ID) - bench_cpu(),
                    call.versions + step.versions};
}

/* Calls, and steps, on batches of trees of other sizes and shapes each time. */
static void pass(bench_batches *b, uint64_t seed) {
  for (uint32_t i = 0; i < (bench_is_quick() ? 4 : UNSEEN); i++) {
    hia_value *trees = make_trees(&b->program, (int)(i % N_SHAPES),
                                  2 + (uint32_t)(seed * 7 + i * 11) % 60, seed + i);
    bench_batches_cut_of(b, trees, TREES);
    bench_work call = bench_batches_work(b, BENCH_CALL), step = bench_batches_work(b, BENCH_STEP);
    bench_work_pass(&call);
    bench_work_pass(&step);
    hia_value_free(trees);
  }
}

/* An engine that chooses has compiled all that it will after the first passes. */
static void measure_unseen(const bench_network *network) {
  const bench_options options = {.kind = HIA_ENGINE_AUTO,
                                 .threads = 1,
                                 .merge_calls = true,
                                 .batch = HIA_BATCH_SEGMENTS,
                                 .reuse = true,
                                 .speculate = HIA_SPECULATE_ON};
  bench_batches b = bench_batches_open_with(network, &options);
  for (uint64_t k = 0; k < 3; k++) pass(&b, 1000 * k);
  compiled before = compiled_so_far(&b);
  pass(&b, 5000);
  compiled after = compiled_so_far(&b);
  printf("%-30s %9d", network->title, (bench_is_quick() ? 4 : UNSEEN) * TREES);
  bench_print_target(network->title, "compilations", after.versions - before.versions, 0,
                     BENCH_AT_MOST(0));
  bench_print_target(network->title, "compiling, ms", after.others_ms - before.others_ms, 1,
                     BENCH_AT_MOST(1));
  printf("\n");
  fflush(stdout);
  bench_batches_close(&b);
}

void bench_tree_shapes(int runs) {
  static const size_t networks[] = {BENCH_TREE_LSTM, BENCH_TREE_RNN, BENCH_RNTN};
  printf("%-30s", "sentences/s, trees of 63 nodes");
  for (int k = 0; k < N_SHAPES; k++) printf(" %9s", shape_names[k]);
  bench_print_target_heading("fastest/slowest");
  printf("\n");
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
    for (int mode = 0; mode < 2; mode++)
      measure_shapes(&bench_networks[networks[i]], (bench_mode)mode, runs);
  printf("\n%-30s %9s", "trees never seen", "trees");
  bench_print_target_heading("compilations");
  bench_print_target_heading("compiling, ms");
  printf("\n");
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
    measure_unseen(&bench_networks[networks[i]]);
  printf("\n");
}
