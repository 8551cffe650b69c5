/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The programs that hiaton's networks (networks.h) are compared with: those of bench/peers/.
 * HIATON_PEERS_DIR may name a folder with others, which then take their place, but for --quick:
 * tree/hand_treelstm.cc, tree/hand_rnn.cc (by hand), tree/bench_torch.py (PyTorch),
 * tree/bench_libtorch.cc. Those in C++ are compiled when the benchmark runs. All take the same
 * command line, and print sentences a second:
 *
 *   PROGRAM [MODEL] SIZE infer|train BATCH SENTENCES MIN_SECONDS REPEATS FOLDER
 *
 * *train*: a step of plain gradient descent after each batch, at a rate of 1e-4; those of
 * bench/peers/ can only infer, but for batches.py, which no other program takes the place of. With
 * CHECK in the environment they print summed losses instead, as loss0= and, those that train, as
 * after1epoch(B=BATCH)=. */
#ifndef HIA_PEERS_H
#define HIA_PEERS_H

#include "bench/networks.h"

#define BENCH_PEERS_RATE 1e-4

typedef enum bench_mode { BENCH_INFER, BENCH_TRAIN } bench_mode;
typedef struct bench_peer {
  char program[BENCH_MAX_PATH]; /* empty: there is none */
  char script[BENCH_MAX_PATH];  /* the program is a Python: this is its first argument */
  const char *name;             /* of the model: the first argument of its own; NULL: none */
  bench_mode mode;
  unsigned batch; /* sentences; 0: one */
} bench_peer;

/* Looks for HIATON_PEERS_DIR and PyTorch, and prints what it has found. Comes first. */
void bench_peers_find(void);
bench_peer bench_peer_by_hand(const bench_network *network, bench_mode mode);
/* is_fused: the whole network is one operation of PyTorch's, nn.LSTM. */
bench_peer bench_peer_torch(const bench_network *network, bench_mode mode, bool is_fused);
bench_peer bench_peer_libtorch(const bench_network *network);
/* A model of bench/peers/batches.py, in batches of so many sentences. */
bench_peer bench_peer_torch_batch(const char *model, bench_mode mode, unsigned size);
bool bench_peer_exists(const bench_peer *peer);

/* Sentences a second. */
double bench_peer_rate(const bench_peer *peer, const bench_network *network);
/* Compares summed losses with hiaton's; NAN: with none. `after`: after an epoch of steps. */
void bench_peer_compare(const bench_peer *peer, const char *peer_name, const bench_network *network,
                        double loss, double after);

/* What is behind the rates of hiaton in a table: how many times those of each peer they are, then
 * the peers' own. The heading, and a row: `rates` are the peers', NAN where there is none; `least`
 * are the targets of the ratios, 0 where there is none. */
void bench_peers_print_heading(const char *const *names, size_t n);
void bench_peers_print_row(const char *row, const char *const *names, size_t n, double own,
                           const double *rates, const double *least);

#endif
