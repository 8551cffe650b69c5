/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HIA_LIKELIHOOD_H
#define HIA_LIKELIHOOD_H

#include "bench/harness.h"

/* Measures the likelihood of a tree (examples/models/felsenstein.hia) next to C and NumPy, and
 * prints a table. `folder`: for the data, which the other programs read. */
void bench_likelihood(const char *folder, int runs);

/* Opens the program in native code on one thread, and makes the arguments of a function that takes
 * what `main` takes. */
bench_program bench_likelihood_open(const char *function, hia_value *args[4]);
void bench_likelihood_close(bench_program *program, hia_value *args[4]);

#endif
