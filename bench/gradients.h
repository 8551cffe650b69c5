/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures gradients next to the functions that they are of: every model of examples/models that
 * has one, one input at a time and 64 together, on one thread. */
#ifndef HIA_BENCH_GRADIENTS_H
#define HIA_BENCH_GRADIENTS_H

#include "bench/treebank.h"

/* `only`: the models of this name; NULL: all. */
void bench_gradients(const char *only, const bench_treebank *treebank, int runs);
/* True if there are models of this name. */
bool bench_gradients_have(const char *name);

#endif
