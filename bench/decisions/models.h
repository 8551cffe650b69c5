/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The models of examples/models/ whose control depends on values that they compute, and a tagger
 * and a translator of sentences of different lengths, as bench/decisions.c measures them. Each has,
 * besides a file, text that is added to it:
 *
 *   some(from: i64, n: i64)   n inputs, the same at each call
 *   products(inputs) -> f64   how many multiplications the products of `loss(inputs)` have
 *
 * and further functions that are measured. */
#ifndef HIA_DECISIONS_MODELS_H
#define HIA_DECISIONS_MODELS_H

#include <stdbool.h>

typedef struct bench_deciding {
  const char *name, *title, *file;
  const char *function; /* what is measured: of the inputs, its result is a number */
  bool is_trained;      /* a step of training is measured, too */
  const char *more[2];  /* the added text */
  double least;         /* the part of the rate of products that a batch should reach */
  bool is_double;       /* it computes in f64 */
  double
      least_together; /* how many times as fast a batch should be as one at a time; 0: no target */
} bench_deciding;

enum { BENCH_N_DECIDING = 9 };
extern const bench_deciding bench_deciding_models[BENCH_N_DECIDING];

#endif
