/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* All models of examples/models with what they are measured on: one input at a time, and 64
 * together. They are the networks (networks.h), those whose control is decided by values
 * (decisions/models.h), and the likelihood of a tree (likelihood.h). */
#ifndef HIA_BENCH_INPUTS_H
#define HIA_BENCH_INPUTS_H

#include "bench/decisions/models.h"
#include "bench/networks.h"
#include "bench/work.h"

enum { BENCH_INPUTS = 64, BENCH_QUICK_INPUTS = 4 };
size_t bench_n_inputs(void); /* how many are together */

typedef struct bench_model {
  const char *name, *title;       /* the name, of --only, may be that of several */
  const bench_network *network;   /* NULL: none */
  const bench_deciding *deciding; /* NULL: none; without both it is the likelihood */
  bool grows;                     /* the network's inputs are trees that its `main` has grown */
} bench_model;

enum { BENCH_N_MODELS = BENCH_N_NETWORKS + BENCH_N_DECIDING + 2 };
bench_model bench_model_of(size_t i); /* i < BENCH_N_MODELS */

typedef struct bench_inputs {
  bench_model model;
  bench_program program;
  hia_trainer *trainer;   /* NULL: the function has no gradient that a trainer could follow */
  hia_function *gradient; /* gives its value and gradient instead; or NULL */
  hia_value *(*one)[4], *all[4];
  size_t n, n_args;
  bool has_all; /* else there is one input */
} bench_inputs;

/* Opens it with the same params in every engine. An error ends the benchmark. */
bench_inputs bench_inputs_open(const bench_model *model, const bench_treebank *treebank,
                               const bench_options *options);
void bench_inputs_close(bench_inputs *in);
bool bench_inputs_have_gradient(const bench_inputs *in);
/* A pass over all inputs, one at a time or together. */
bench_work bench_inputs_work(const bench_inputs *in, bench_act act, bool is_batch);
/* "TITLE, 64, training" */
void bench_inputs_row(char *row, size_t size, const bench_model *model, bench_act act,
                      bool is_batch);
/* Inputs a second, by processor time, of passes that take this long in all. */
double bench_inputs_rate(const bench_inputs *in, bench_act act, bool is_batch, double seconds);
/* A function of the program, called with these arguments. */
hia_value *bench_inputs_called(const bench_inputs *in, const char *name, hia_value *const *args,
                               size_t n);

#endif
