/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures batches on two threads: next to one, next to two copies of the program that run side by
 * side on one thread each, and while another process has one of the cores. */
#ifndef HIA_BENCH_THREADS_H
#define HIA_BENCH_THREADS_H

#include "bench/treebank.h"

void bench_threads(const bench_treebank *treebank, int runs);

#endif
