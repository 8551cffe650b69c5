/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What benchmarks of networks measure: one act again and again, with one list of arguments after
 * the other. */
#ifndef HIA_WORK_H
#define HIA_WORK_H

#include "bench/networks.h"

typedef enum bench_act { BENCH_CALL, BENCH_GRADIENT, BENCH_STEP } bench_act;

typedef struct bench_work {
  bench_act act;
  hia_function *function;
  hia_trainer *trainer;   /* of the function; CALL has none */
  hia_value *const *args; /* list i begins at i * stride */
  size_t n, stride, n_args;
} bench_work;

/* A number; the first part of what is returned, if that is one; else what it returns are trees that
 * have grown, which count their nodes and their words. */
double bench_work_number(const hia_value *result);
/* All lists once. Returns the sum of the losses. */
double bench_work_pass(const bench_work *work);
/* Lists of arguments a second, of whole passes that take this long in all. */
double bench_work_rate(const bench_work *work, double seconds);
/* Plain gradient descent at BENCH_PEERS_RATE. */
hia_trainer *bench_work_trainer(hia_function *loss);
/* The sentences of a network, one at a time. */
bench_work bench_work_of(const bench_runner *runner, bench_act act, hia_trainer *trainer);

#endif
