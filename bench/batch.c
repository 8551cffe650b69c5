/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures batching over tags (docs/batching.md): batches of sentences through recursive networks,
 * on one thread, next to the same programs without batching and to programs by hand, which batch
 * level by level; the same where equal nodes are computed once; two threads next to one; and the
 * interpreter, whose operations are batched on the fly, next to itself and to segments.
 *
 *   bench_batch [--quick | --check] [--runs N] [--only NAME]
 *
 * NAME is treelstm, treernn, rntn, sharing, threads, control (control.h) or interp. bench/peers.h
 * describes the programs by hand. The losses must be those without batching, bit for bit. A round
 * has a measurement of each; figures are medians of wall-clock rates. */
#include "bench/control/control.h"
#include "bench/harness.h"
#include "bench/networks.h"
#include "bench/peers.h"
#include "bench/treebank.h"
#include "bench/work.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99, MAX_BATCHES = 256, N_SIZES = 5 };
static const unsigned sizes[N_SIZES] = {1, 10, 25, 64, 256};
#define MIN_SPEED_UP 1.85

/* How many times as fast as by hand; 0: no target. */
enum { N_COMPARED = 3 };
static const struct {
  size_t network;
  double min_of[2][N_SIZES]; /* by bench_mode */
} compared[N_COMPARED] = {
    {BENCH_TREE_LSTM, {{1.4, 1.4, 1.3, 1.25, 1.15}, {1.4, 1.3, 1.25, 1.2, 1.1}}},
    {BENCH_TREE_RNN, {[BENCH_INFER] = {[3] = 1.1}, [BENCH_TRAIN] = {[3] = 1.05}}},
    {BENCH_RNTN, {[BENCH_INFER] = {[3] = 1.1}, [BENCH_TRAIN] = {[3] = 1.05}}},
};
static const char *const mode_names[2] = {"inference", "training"};

static bench_treebank treebank;
static const char *only; /* NULL: all */

static bool is_chosen(const char *name) { return !only || strcmp(only, name) == 0; }

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

/* ---- a network with its sentences in batches ---- */

typedef struct batches {
  bench_program program;
  hia_trainer *trainer;
  hia_value *of[MAX_BATCHES];
  size_t n;
  unsigned size;
} batches;

static batches batches_open(const bench_network *network, unsigned threads, hia_batching batch,
                            bool reuse) {
  batches b = {.program = bench_network_open_batched(network, threads, batch, reuse)};
  b.trainer = bench_work_trainer(b.program.function);
  return b;
}

static void batches_clear(batches *b) {
  for (size_t i = 0; i < b->n; i++) hia_value_free(b->of[i]);
  b->n = 0;
}

static void batches_close(batches *b) {
  batches_clear(b);
  hia_trainer_free(b->trainer);
  bench_close(&b->program);
}

/* Cuts the sentences into batches of a size. */
static void batches_cut(batches *b, const bench_network *network, unsigned size) {
  size_t n = bench_network_sentences(network);
  hia_value *all = bench_network_trees(&b->program, &treebank, 0, n), *trees[MAX_BATCHES];
  const hia_type_info *type = hia_function_param_type(b->program.function, 0);
  batches_clear(b);
  n = hia_value_len(all);
  b->size = size;
  for (size_t i = 0; i < n; i += size) {
    size_t len = n - i < size ? n - i : size;
    hia_error *error;
    for (size_t k = 0; k < len; k++) trees[k] = hia_value_part(all, i + k);
    bench_check(hia_value_array(b->program.engine, type, trees, len, &b->of[b->n++], &error),
                &error);
    for (size_t k = 0; k < len; k++) hia_value_free(trees[k]);
  }
  hia_value_free(all);
}

static bench_work work_of(const batches *b, bench_act act) {
  return (bench_work){.act = act,
                      .function = b->program.function,
                      .trainer = b->trainer,
                      .args = b->of,
                      .n = b->n,
                      .stride = 1,
                      .n_args = 1};
}

/* Sentences a second. */
static double rate_of(const batches *b, bench_mode mode, size_t n_sentences) {
  bench_work w = work_of(b, mode == BENCH_TRAIN ? BENCH_STEP : BENCH_CALL);
  return bench_work_rate(&w, 0.3) * (double)n_sentences / (double)b->n;
}

/* ---- next to one at a time, and by hand ---- */

/* `other`: what the second of both is. */
static void measure(const bench_network *network, batches both[2], const char *other,
                    bench_mode mode, double least, int runs) {
  static const char *const names[] = {"by hand"};
  double own[MAX_RUNS], none[MAX_RUNS], hand[MAX_RUNS];
  bench_peer peer = bench_peer_by_hand(network, mode);
  bench_work works[2] = {work_of(&both[0], BENCH_CALL), work_of(&both[1], BENCH_CALL)};
  char row[96], ratio[32];
  size_t n = 0;
  peer.batch = both[0].size;
  bool has_peer = bench_peer_exists(&peer) && getenv("HIATON_PEERS_DIR") && !bench_is_quick();
  for (size_t i = 0; i < both[0].n; i++) n += hia_value_len(both[0].of[i]);
  double losses[2] = {bench_work_pass(&works[0]), bench_work_pass(&works[1])};
  if (mode == BENCH_INFER && losses[0] != losses[1])
    bench_wrong("%s, %u: %.17g, but %.17g in batches", network->title, both[0].size, losses[1],
                losses[0]);
  for (int i = 0; i < runs; i++) {
    own[i] = rate_of(&both[0], mode, n);
    none[i] = rate_of(&both[1], mode, n);
    hand[i] = has_peer ? bench_peer_rate(&peer, network) : NAN;
  }
  double per_second = bench_median(own, (size_t)runs), alone = bench_median(none, (size_t)runs);
  double by_hand = has_peer ? bench_median(hand, (size_t)runs) : NAN;
  snprintf(row, sizeof row, "%s, %u, %s", network->title, both[0].size, mode_names[mode]);
  printf("%-30s %9.1f %10.1f", row, per_second, alone);
  snprintf(ratio, sizeof ratio, "hiaton/%s", other);
  bench_print_target(row, ratio, per_second / alone, 2, BENCH_NO_TARGET);
  bench_peers_print_row(row, names, 1, per_second, &by_hand, &least);
}

static void compare(size_t row, int runs) {
  const bench_network *network = &bench_networks[compared[row].network];
  batches both[2] = {batches_open(network, 1, HIA_BATCH_SEGMENTS, false),
                     batches_open(network, 1, HIA_BATCH_NONE, false)};
  for (int mode = 0; mode < 2; mode++) /* training, which changes params, comes last */
    for (size_t i = 0; i < N_SIZES; i++) {
      if (i && sizes[i] > bench_network_sentences(network)) break;
      for (int k = 0; k < 2; k++) batches_cut(&both[k], network, sizes[i]);
      measure(network, both, "alone", (bench_mode)mode, compared[row].min_of[mode][i], runs);
    }
  for (int k = 0; k < 2; k++) batches_close(&both[k]);
}

/* ---- equal nodes ---- */

/* Leaves' results are there already when a batch comes again: in training params change. */
static void compare_sharing(int runs) {
  static const double least[2] = {1.6, 1.4};
  const bench_network *network = &bench_networks[BENCH_TREE_LSTM];
  batches both[2] = {batches_open(network, 1, HIA_BATCH_SEGMENTS, true),
                     batches_open(network, 1, HIA_BATCH_SEGMENTS, false)};
  for (int mode = 0; mode < 2; mode++) {
    for (int k = 0; k < 2; k++) batches_cut(&both[k], network, 64);
    measure(network, both, "no reuse", (bench_mode)mode, least[mode], runs);
  }
  for (int k = 0; k < 2; k++) batches_close(&both[k]);
}

/* ---- two threads ---- */

static void compare_threads(int runs) {
  const bench_network *network = &bench_networks[BENCH_TREE_LSTM];
  bench_pin(false);
  batches both[2] = {batches_open(network, 1, HIA_BATCH_SEGMENTS, false),
                     batches_open(network, 2, HIA_BATCH_SEGMENTS, false)};
  printf("%-30s %9s %10s", "sentences/s", "one", "two");
  bench_print_target_heading("two/one threads");
  printf("\n");
  for (size_t i = 1; i < N_SIZES; i++) {
    double rates[2][MAX_RUNS];
    char row[96];
    if (sizes[i] > bench_network_sentences(network)) break;
    for (int k = 0; k < 2; k++) batches_cut(&both[k], network, sizes[i]);
    for (int mode = 0; mode < 2; mode++) {
      for (int r = 0; r < runs; r++)
        for (int k = 0; k < 2; k++)
          rates[k][r] = rate_of(&both[k], (bench_mode)mode, bench_network_sentences(network));
      double one = bench_median(rates[0], (size_t)runs), two = bench_median(rates[1], (size_t)runs);
      snprintf(row, sizeof row, "%s, %u, %s", network->title, sizes[i], mode_names[mode]);
      printf("%-30s %9.1f %10.1f", row, one, two);
      bench_print_target(row, "two/one threads", two / one, 2, BENCH_AT_LEAST(MIN_SPEED_UP));
      printf("\n");
      fflush(stdout);
    }
  }
  for (int k = 0; k < 2; k++) batches_close(&both[k]);
  bench_pin(true);
  printf("\n");
}

/* ---- on the fly ---- */

enum { N_WAYS = 4, SEGMENTS = 3 };
static const struct {
  const char *name;
  hia_engine_kind kind;
  hia_batching batching;
} ways[N_WAYS] = {{"alone", HIA_ENGINE_INTERP, HIA_BATCH_NONE},
                  {"depth", HIA_ENGINE_INTERP, HIA_BATCH_DEPTH},
                  {"agenda", HIA_ENGINE_INTERP, HIA_BATCH_AGENDA},
                  {"segments", HIA_ENGINE_JIT, HIA_BATCH_SEGMENTS}};
#define MIN_AGENDA 1.5 /* times as fast as alone, from 64 sentences on */

static batches way_open(const bench_network *network, unsigned i) {
  bench_options options = {
      .kind = ways[i].kind, .threads = 1, .batch = ways[i].batching, .reuse = false};
  batches b = {.program = bench_network_open_with(network, &options)};
  b.trainer = bench_work_trainer(b.program.function);
  return b;
}

static void measure_ways(const bench_network *network, const batches all[N_WAYS], bench_mode mode,
                         int runs) {
  double rates[N_WAYS][MAX_RUNS], medians[N_WAYS], losses[N_WAYS];
  char row[96];
  size_t n = 0;
  for (size_t i = 0; i < all[0].n; i++) n += hia_value_len(all[0].of[i]);
  for (unsigned k = 0; k < N_WAYS; k++) {
    bench_work work = work_of(&all[k], BENCH_CALL);
    losses[k] = bench_work_pass(&work);
    if (mode == BENCH_INFER && losses[k] != losses[0])
      bench_wrong("%s, %u, %s: %.17g, but %.17g alone", network->title, all[0].size, ways[k].name,
                  losses[k], losses[0]);
  }
  for (int r = 0; r < runs; r++)
    for (unsigned k = 0; k < N_WAYS; k++) rates[k][r] = rate_of(&all[k], mode, n);
  for (unsigned k = 0; k < N_WAYS; k++) medians[k] = bench_median(rates[k], (size_t)runs);
  snprintf(row, sizeof row, "%s, %u, %s", network->title, all[0].size, mode_names[mode]);
  printf("%-30s", row);
  for (unsigned k = 0; k < N_WAYS; k++) printf(" %9.1f", medians[k]);
  bench_print_target(row, "agenda/alone", medians[2] / medians[0], 2,
                     mode == BENCH_INFER && all[0].size >= 64 ? BENCH_AT_LEAST(MIN_AGENDA)
                                                              : BENCH_NO_TARGET);
  bench_print_target(row, "segments/agenda", medians[SEGMENTS] / medians[2], 2, BENCH_NO_TARGET);
  printf("\n");
  fflush(stdout);
}

static void compare_ways(int runs) {
  const bench_network *network = &bench_networks[BENCH_TREE_LSTM];
  batches all[N_WAYS];
  for (unsigned k = 0; k < N_WAYS; k++) all[k] = way_open(network, k);
  printf("%-30s", "interpreted, sentences/s");
  for (unsigned k = 0; k < N_WAYS; k++) printf(" %9s", ways[k].name);
  bench_print_target_heading("agenda/alone");
  bench_print_target_heading("segments/agenda");
  printf("\n");
  for (int mode = 0; mode < 2; mode++) /* training, which changes params, comes last */
    for (size_t i = 0; i < N_SIZES; i++) {
      if (i && sizes[i] > bench_network_sentences(network)) break;
      for (unsigned k = 0; k < N_WAYS; k++) batches_cut(&all[k], network, sizes[i]);
      measure_ways(network, all, (bench_mode)mode, runs);
    }
  for (unsigned k = 0; k < N_WAYS; k++) batches_close(&all[k]);
  printf("\n");
}

static void print_heading(const char *other) {
  static const char *const names[] = {"by hand"};
  char ratio[32];
  snprintf(ratio, sizeof ratio, "hiaton/%s", other);
  printf("%-30s %9s %10s", "sentences/s", "hiaton", other);
  bench_print_target_heading(ratio);
  bench_peers_print_heading(names, 1);
}

int main(int argc, char **argv) {
  int runs = 5;
  bool is_known = true, has_network = false;
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
  for (size_t i = 0; i < N_COMPARED; i++)
    has_network |= is_chosen(bench_networks[compared[i].network].name);
  if (!is_known || runs < 1 || runs > MAX_RUNS ||
      (!has_network && !is_chosen("sharing") && !is_chosen("threads") && !is_chosen("control") &&
       !is_chosen("interp"))) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N] [--only "
            "treelstm|treernn|rntn|sharing|threads|control|interp]\n",
            argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  char folder[] = "/tmp/hiaton-bench-XXXXXX";
  if (!mkdtemp(folder)) fail(folder);
  bench_print_machine();
  treebank = bench_treebank_write(folder);
  bench_peers_find();
  if (treebank.is_generated) puts("the treebank is generated: HIATON_SST_DIR is not set");
  puts("");
  bench_pin(true);
  bench_networks_write_weights(NULL);
  if ((has_network || is_chosen("sharing") || is_chosen("interp")) && !bench_is_quick())
    bench_networks_write_sentences(&treebank);
  if (has_network) {
    print_heading("alone");
    for (size_t i = 0; i < N_COMPARED; i++)
      if (is_chosen(bench_networks[compared[i].network].name)) compare(i, runs);
    printf("\n");
  }
  if (is_chosen("sharing")) {
    print_heading("no reuse");
    compare_sharing(runs);
    printf("\n");
  }
  if (is_chosen("control")) bench_control(runs);
  if (is_chosen("threads")) compare_threads(runs);
  if (is_chosen("interp")) compare_ways(runs);
  bench_treebank_remove(&treebank);
  rmdir(folder);
  return bench_end();
}
