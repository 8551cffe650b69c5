/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HIA_LIKELIHOOD_H
#define HIA_LIKELIHOOD_H

#include "bench/harness.h"

/* Measures the likelihood of a tree (examples/models/felsenstein.hia) next to C and NumPy, and
 * prints a table. `folder`: for the data, which the other programs read. */
void bench_likelihood(const char *folder, int runs);

/* Opens the program, and makes the arguments of `main`, which `gradient` takes, too. */
bench_program bench_likelihood_open(const bench_options *options, hia_value *args[4]);

#endif
