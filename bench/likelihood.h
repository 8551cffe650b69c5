/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HIA_LIKELIHOOD_H
#define HIA_LIKELIHOOD_H

/* Measures the likelihood of a tree (examples/models/felsenstein.hia) next to C and NumPy, and
 * prints a table. `folder`: for the data, which the other programs read. */
void bench_likelihood(const char *folder, int runs);

#endif
