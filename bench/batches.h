/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A network with its trees or sentences in batches of a size. */
#ifndef HIA_BENCH_BATCHES_H
#define HIA_BENCH_BATCHES_H

#include "bench/networks.h"
#include "bench/peers.h"
#include "bench/work.h"

enum { BENCH_MAX_BATCHES = 256, BENCH_MAX_RUNS_OF_BATCHES = 99 };

typedef struct bench_batches {
  const bench_network *network;
  bench_program program;
  hia_trainer *trainer;
  hia_value *of[BENCH_MAX_BATCHES];
  size_t n, n_sentences;
  unsigned size;
} bench_batches;

/* Without batches so far. An error in these functions ends the benchmark. */
bench_batches bench_batches_open(const bench_network *network, const bench_options *options);
void bench_batches_close(bench_batches *b);
/* Cuts the sentences into batches of a size, in place of those that there were. */
void bench_batches_cut(bench_batches *b, const bench_treebank *treebank, unsigned size);
/* The same of these, an array. */
void bench_batches_cut_of(bench_batches *b, const hia_value *all, unsigned size);
bench_work bench_batches_work(const bench_batches *b, bench_act act);
/* Sentences a second, of calls or steps. */
double bench_batches_rate(const bench_batches *b, bench_mode mode);

#endif
