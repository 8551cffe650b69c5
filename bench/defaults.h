/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures every model of examples/models with the options of an engine that nobody has chosen,
 * next to the same without batching: no model should lose by the default. */
#ifndef HIA_BENCH_DEFAULTS_H
#define HIA_BENCH_DEFAULTS_H

#include "bench/treebank.h"

/* `only`: the models of this name; NULL: all. */
void bench_defaults(const char *only, const bench_treebank *treebank, int runs);

#endif
