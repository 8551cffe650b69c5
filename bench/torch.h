/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures batches of 64 next to what a user of PyTorch writes for batches: trees level by level, a
 * tagger as nn.LSTM of a batch of sentences (bench/peers/batches.py). */
#ifndef HIA_BENCH_TORCH_H
#define HIA_BENCH_TORCH_H

#include "bench/treebank.h"

void bench_torch(const bench_treebank *treebank, int runs);

#endif
