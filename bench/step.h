/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures what a step of training on 64 sentences costs besides its operations: planning,
 * gathering, page faults, and the memory that the forward pass keeps for the backward pass. */
#ifndef HIA_BENCH_STEP_H
#define HIA_BENCH_STEP_H

#include "bench/treebank.h"

void bench_step(const bench_treebank *treebank, int runs);

#endif
