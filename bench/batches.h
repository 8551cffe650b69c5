/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A network with its sentences in batches: each batch is the argument of one call, or of one step
 * of a training. */
#ifndef HIA_BENCH_BATCHES_H
#define HIA_BENCH_BATCHES_H

#include "bench/networks.h"
#include "bench/peers.h"
#include "bench/work.h"

enum { BENCH_MAX_BATCHES = 256, BENCH_MAX_RUNS_OF_BATCHES = 99 };

typedef struct bench_batches {
  bench_program program;
  hia_trainer *trainer;
  hia_value *of[BENCH_MAX_BATCHES];
  size_t n;
  unsigned size;
} bench_batches;

extern const char *const bench_mode_names[2]; /* by bench_mode */

bench_batches bench_batches_open(const bench_network *network, unsigned threads, hia_batching batch,
                                 bool reuse);
bench_batches bench_batches_open_with(const bench_network *network, const bench_options *options);
void bench_batches_close(bench_batches *b);
/* Cuts the sentences of the network into batches of a size, in place of those that there were. */
void bench_batches_cut(bench_batches *b, const bench_network *network,
                       const bench_treebank *treebank, unsigned size);
/* Cuts these sentences, an array, likewise. */
void bench_batches_cut_of(bench_batches *b, const hia_value *all, unsigned size);
/* One batch, of which b becomes the owner, in their place. */
void bench_batches_set(bench_batches *b, hia_value *one);
bench_work bench_batches_work(const bench_batches *b, bench_act act);
/* Sentences in all batches. */
size_t bench_batches_sentences(const bench_batches *b);
/* Sentences a second, where all batches have so many. */
double bench_batches_rate(const bench_batches *b, bench_mode mode, size_t n_sentences);

#endif
