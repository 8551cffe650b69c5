/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures batching over tags (docs/batching.md): batches of sentences through recursive networks,
 * on one thread, next to the same programs without batching and to programs by hand, which batch
 * level by level; the same where equal nodes are computed once; two threads next to one; and the
 * interpreter, whose operations are batched on the fly, next to itself and to segments.
 *
 *   bench_batch [--quick | --check] [--runs N] [--only NAME]
 *
 * NAME is treelstm, treernn, rntn, sharing, threads, control (control.h),
 * shapes (tree_shapes.h), interp or torch (torch.h). bench/peers.h
 * describes the programs by hand. The losses must be those without batching, bit for bit. A round
 * has a measurement of each; figures are medians of wall-clock rates. */
#include "bench/batches.h"
#include "bench/control/control.h"
#include "bench/harness.h"
#include "bench/networks.h"
#include "bench/peers.h"
#include "bench/threads.h"
#include "bench/torch.h"
#include "bench/tree_shapes.h"
#include "bench/treebank.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99, N_SIZES = 5 };
static const unsigned sizes[N_SIZES] = {1, 10, 25, 64, 256};

/* How many times as fast as by hand; 0: no target. */
enum { N_COMPARED = 4 };
static const struct {
  size_t network;
  double min_of[2][N_SIZES]; /* by bench_mode */
} compared[N_COMPARED] = {
    {BENCH_TREE_LSTM, {{1.8, 1.6, 1.5, 1.3, 1.15}, {1.5, 1.3, 1.2, 1.1, 1.0}}},
    {BENCH_TREE_RNN, {{1.5, 1.5, 1.3, 1.2, 1.1}, {1.1, 1.1, 1.1, 1.05, 1.0}}},
    {BENCH_TREE_RNN_150, {{1.5, 1.5, 1.3, 1.2, 1.1}, {1.1, 1.1, 1.1, 1.05, 1.0}}},
    {BENCH_RNTN, {{1.5, 1.5, 1.3, 1.2, 1.1}, {1.1, 1.1, 1.1, 1.05, 1.0}}},
};

static bench_treebank treebank;
static const char *only; /* NULL: all */

static bool is_chosen(const char *name) { return !only || strcmp(only, name) == 0; }

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

/* ---- next to one at a time, and by hand ---- */

/* `other`: what the second of both is. */
static void measure(const bench_network *network, bench_batches both[2], const char *other,
                    bench_mode mode, double least, int runs) {
  static const char *const names[] = {"by hand"};
  double own[MAX_RUNS], none[MAX_RUNS], hand[MAX_RUNS];
  bench_peer peer = bench_peer_by_hand(network, mode);
  bench_work works[2] = {bench_batches_work(&both[0], BENCH_CALL),
                         bench_batches_work(&both[1], BENCH_CALL)};
  char row[96], ratio[32];
  size_t n = bench_batches_sentences(&both[0]);
  peer.batch = both[0].size;
  bool has_peer = bench_peer_exists(&peer) && getenv("HIATON_PEERS_DIR") && !bench_is_quick();
  double losses[2] = {bench_work_pass(&works[0]), bench_work_pass(&works[1])};
  if (mode == BENCH_INFER && losses[0] != losses[1])
    bench_wrong("%s, %u: %.17g, but %.17g in batches", network->title, both[0].size, losses[1],
                losses[0]);
  for (int i = 0; i < runs; i++) {
    own[i] = bench_batches_rate(&both[0], mode, n);
    none[i] = bench_batches_rate(&both[1], mode, n);
    hand[i] = has_peer ? bench_peer_rate(&peer, network) : NAN;
  }
  double per_second = bench_median(own, (size_t)runs), alone = bench_median(none, (size_t)runs);
  double by_hand = has_peer ? bench_median(hand, (size_t)runs) : NAN;
  snprintf(row, sizeof row, "%s, %u, %s", network->title, both[0].size, bench_mode_names[mode]);
  printf("%-30s %9.1f %10.1f", row, per_second, alone);
  snprintf(ratio, sizeof ratio, "hiaton/%s", other);
  bench_print_target(row, ratio, per_second / alone, 2, BENCH_NO_TARGET);
  bench_peers_print_row(row, names, 1, per_second, &by_hand, &least);
}

static void compare(size_t row, int runs) {
  const bench_network *network = &bench_networks[compared[row].network];
  bench_batches both[2] = {bench_batches_open(network, 1, HIA_BATCH_SEGMENTS, false),
                           bench_batches_open(network, 1, HIA_BATCH_NONE, false)};
  for (int mode = 0; mode < 2; mode++) /* training, which changes params, comes last */
    for (size_t i = 0; i < N_SIZES; i++) {
      if (i && sizes[i] > bench_network_sentences(network)) break;
      for (int k = 0; k < 2; k++) bench_batches_cut(&both[k], network, &treebank, sizes[i]);
      measure(network, both, "alone", (bench_mode)mode, compared[row].min_of[mode][i], runs);
    }
  for (int k = 0; k < 2; k++) bench_batches_close(&both[k]);
}

/* ---- equal nodes ---- */

/* Leaves' results are there already when a batch comes again: in training params change. */
static const struct {
  size_t network;
  double min_of[2]; /* by bench_mode */
} shared[] = {{BENCH_TREE_LSTM, {1.7, 1.25}}, {BENCH_RNTN, {1.2, 1.05}}};

static void compare_sharing(size_t row, int runs) {
  const bench_network *network = &bench_networks[shared[row].network];
  bench_batches both[2] = {bench_batches_open(network, 1, HIA_BATCH_SEGMENTS, true),
                           bench_batches_open(network, 1, HIA_BATCH_SEGMENTS, false)};
  for (int mode = 0; mode < 2; mode++) {
    for (int k = 0; k < 2; k++) bench_batches_cut(&both[k], network, &treebank, 64);
    measure(network, both, "no reuse", (bench_mode)mode, shared[row].min_of[mode], runs);
  }
  for (int k = 0; k < 2; k++) bench_batches_close(&both[k]);
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

static bench_batches way_open(const bench_network *network, unsigned i) {
  bench_options options = {
      .kind = ways[i].kind, .threads = 1, .batch = ways[i].batching, .reuse = false};
  return bench_batches_open_with(network, &options);
}

static void measure_ways(const bench_network *network, const bench_batches all[N_WAYS],
                         bench_mode mode, int runs) {
  double rates[N_WAYS][MAX_RUNS], medians[N_WAYS], losses[N_WAYS];
  char row[96];
  size_t n = bench_batches_sentences(&all[0]);
  for (unsigned k = 0; k < N_WAYS; k++) {
    bench_work work = bench_batches_work(&all[k], BENCH_CALL);
    losses[k] = bench_work_pass(&work);
    if (mode == BENCH_INFER && losses[k] != losses[0])
      bench_wrong("%s, %u, %s: %.17g, but %.17g alone", network->title, all[0].size, ways[k].name,
                  losses[k], losses[0]);
  }
  for (int r = 0; r < runs; r++)
    for (unsigned k = 0; k < N_WAYS; k++) rates[k][r] = bench_batches_rate(&all[k], mode, n);
  for (unsigned k = 0; k < N_WAYS; k++) medians[k] = bench_median(rates[k], (size_t)runs);
  snprintf(row, sizeof row, "%s, %u, %s", network->title, all[0].size, bench_mode_names[mode]);
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
  bench_batches all[N_WAYS];
  for (unsigned k = 0; k < N_WAYS; k++) all[k] = way_open(network, k);
  printf("%-30s", "interpreted, sentences/s");
  for (unsigned k = 0; k < N_WAYS; k++) printf(" %9s", ways[k].name);
  bench_print_target_heading("agenda/alone");
  bench_print_target_heading("segments/agenda");
  printf("\n");
  for (int mode = 0; mode < 2; mode++) /* training, which changes params, comes last */
    for (size_t i = 0; i < N_SIZES; i++) {
      if (i && sizes[i] > bench_network_sentences(network)) break;
      for (unsigned k = 0; k < N_WAYS; k++)
        bench_batches_cut(&all[k], network, &treebank, sizes[i]);
      measure_ways(network, all, (bench_mode)mode, runs);
    }
  for (unsigned k = 0; k < N_WAYS; k++) bench_batches_close(&all[k]);
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
       !is_chosen("interp") && !is_chosen("shapes") && !is_chosen("torch"))) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N] [--only "
            "treelstm|treernn|rntn|sharing|threads|control|shapes|interp|torch]\n",
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
  if ((has_network || is_chosen("sharing") || is_chosen("interp") || is_chosen("torch")) &&
      !bench_is_quick())
    bench_networks_write_sentences(&treebank);
  if (has_network) {
    print_heading("alone");
    for (size_t i = 0; i < N_COMPARED; i++)
      if (is_chosen(bench_networks[compared[i].network].name)) compare(i, runs);
    printf("\n");
  }
  if (is_chosen("sharing")) {
    print_heading("no reuse");
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) compare_sharing(i, runs);
    printf("\n");
  }
  if (is_chosen("control")) bench_control(runs);
  if (is_chosen("threads")) bench_threads(&treebank, runs);
  if (is_chosen("shapes")) bench_tree_shapes(runs);
  if (is_chosen("interp")) compare_ways(runs);
  if (is_chosen("torch")) bench_torch(&treebank, runs);
  bench_treebank_remove(&treebank);
  rmdir(folder);
  return bench_end();
}
