/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/torch.h"
#include "bench/batches.h"
#include <math.h>
#include <stdio.h>

enum { SIZE = 64 };
static const char *const names[] = {"PyTorch"};

static const struct {
  size_t network;
  const char *model, *title;
  double least[2]; /* how many times as fast, by bench_mode */
} rows[] = {
    {BENCH_TREE_LSTM, "treelstm_level", "TreeLSTM 150, by level", {2, 2}},
    {BENCH_BILSTM, "bilstm_batch", "BiLSTM 256, nn.LSTM", {1.2, 1.1}},
};

static void measure(size_t row, bench_mode mode, const bench_network *network,
                    const bench_batches *b, int runs) {
  double own[BENCH_MAX_RUNS_OF_BATCHES], theirs[BENCH_MAX_RUNS_OF_BATCHES];
  bench_peer peer = bench_peer_torch_batch(rows[row].model, mode, SIZE);
  bench_work call = bench_batches_work(b, BENCH_CALL), step = bench_batches_work(b, BENCH_STEP);
  bool exists = bench_peer_exists(&peer);
  double before = bench_work_pass(&call);
  if (mode == BENCH_TRAIN) {
    bench_work_pass(&step);
    double after = bench_work_pass(&call);
    if (exists) bench_peer_compare(&peer, rows[row].title, network, before, after);
  }
  for (int i = 0; i < runs; i++) {
    own[i] = bench_batches_rate(b, mode, bench_batches_sentences(b));
    theirs[i] = exists ? bench_peer_rate(&peer, network) : NAN;
  }
  double per_second = bench_median(own, (size_t)runs);
  double torch = exists ? bench_median(theirs, (size_t)runs) : NAN;
  char name[96];
  snprintf(name, sizeof name, "%s, %d, %s", rows[row].title, SIZE, bench_mode_names[mode]);
  printf("%-38s %9.1f", name, per_second);
  bench_peers_print_row(name, names, 1, per_second, &torch, &rows[row].least[mode]);
}

void bench_torch(const bench_treebank *treebank, int runs) {
  printf("%-38s %9s", "sentences/s", "hiaton");
  bench_peers_print_heading(names, 1);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const bench_network *network = &bench_networks[rows[i].network];
    bench_batches b = bench_batches_open(network, 1, HIA_BATCH_SEGMENTS, false);
    bench_batches_cut(&b, network, treebank, SIZE);
    /* Training is compared before anything has changed the params. */
    measure(i, BENCH_TRAIN, network, &b, runs);
    measure(i, BENCH_INFER, network, &b, runs);
    bench_batches_close(&b);
  }
  printf("\n");
}
