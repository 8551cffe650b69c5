/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The networks of examples/models as benchmarks run them: with params and sentences that are the
 * same for hiaton and for the programs next to it (peers.h). What both read lies in one folder: the
 * params (weights.h), and the sentences,
 *
 *   sst_train.txt   V WORDS; for each tree T NODES, then for each node, children first,
 *                   LEFT RIGHT WORD LABEL, with -1 for what it has not
 *   tag.txt         V WORDS; for each sentence T TOKENS, then for each token WORD TAG
 *   roots.txt       D DEPTH; the words at the roots */
#ifndef HIA_NETWORKS_H
#define HIA_NETWORKS_H

#include "bench/harness.h"
#include "bench/treebank.h"
#include "bench/weights.h"

#define BENCH_NETWORKS_FOLDER HIA_PEERS "/models-1" /* another number when the weights change */
enum { BENCH_MAX_PATH = 512 };

typedef enum bench_input { BENCH_TREES, BENCH_TAGGED, BENCH_ROOTS } bench_input;
typedef struct bench_network {
  const char *title, *file, *function;
  const char *more; /* functions that are added to the file; NULL: none */
  bench_input input;
  const char *name, *size;     /* of its files and of the programs: "treelstm", "150" */
  const char *torch;           /* as PyTorch's programs call it */
  const bench_weight *weights; /* up to one without a name */
  const char *hidden;          /* the size of the states, if it is not the file's; else NULL */
} bench_network;

enum {
  BENCH_TREE_LSTM,
  BENCH_TREE_RNN,
  BENCH_RNTN,
  BENCH_BILSTM,
  BENCH_TOP_DOWN,
  BENCH_TREE_RNN_LOOP, /* with the files of BENCH_TREE_RNN */
  BENCH_TREE_RNN_150,
  BENCH_N_NETWORKS
};
extern const bench_network bench_networks[BENCH_N_NETWORKS];

/* How many sentences a network is measured with. */
size_t bench_network_sentences(const bench_network *network);
void bench_network_file(const bench_network *network, char path[BENCH_MAX_PATH]);
/* Writes the params that are missing, which bench_network_open reads: of the networks of this name;
 * NULL: of all. */
void bench_networks_write_weights(const char *name);
/* Writes the sentences, for the other programs. */
void bench_networks_write_sentences(const bench_treebank *treebank);
/* Opens it in native code, with its params. */
bench_program bench_network_open(const bench_network *network, unsigned threads);
bench_program bench_network_open_batched(const bench_network *network, unsigned threads,
                                         hia_batching batch, bool reuse);
bench_program bench_network_open_with(const bench_network *network, const bench_options *options);

/* A network that is ready to run, with its sentences: each is the arguments of one call. */
typedef struct bench_runner {
  const bench_network *network;
  bench_program program;
  hia_value *(*args)[2];
  size_t n, n_args;
} bench_runner;
bench_runner bench_runner_open(const bench_network *network, const bench_treebank *treebank);
bench_runner bench_runner_open_with(const bench_network *network, const bench_treebank *treebank,
                                    const bench_options *options);
void bench_runner_close(bench_runner *runner);

/* The trees of the treebank from `first` on, n of them, or those that are left: an array, for this
 * program's first parameter. */
hia_value *bench_network_trees(const bench_program *program, const bench_treebank *treebank,
                               size_t first, size_t n);
/* An array of one balanced tree of this depth, likewise. */
hia_value *bench_network_balanced(const bench_program *p, int depth);
/* All trees or sentences of a network that is measured with such: an array. */
hia_value *bench_network_inputs(const bench_network *network, const bench_program *program,
                                const bench_treebank *treebank);

#endif
