/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A graph evaluated in sequential order, node by node: the reference for passes. */
#ifndef HIA_TEST_EVAL_H
#define HIA_TEST_EVAL_H

#include "graph/ir/graph.h"

#define EVAL_MAX_RESULTS 8

typedef struct eval_outcome {
  hia_status status; /* OK, a failure of the program, or DEADLINE: it took too long, no outcome */
  hia_word results[EVAL_MAX_RESULTS];
  uint64_t code;      /* FAILED: of fail(); FUEL: the amount that was left */
  uint64_t counts[2]; /* calls and rounds, of counted graphs */
  uint64_t made;      /* calls and rounds of the graph itself, function state */
  uint64_t copies;    /* of arrays, made by `set` */
  int64_t live;       /* objects that the evaluation made and that were not freed: in graphs that
                         count references, those of the results */
  char chain[2000];   /* of a failure: the chain of calls as text */
} eval_outcome;

/* Evaluates a graph in either state; no fork is stolen. `undef` seeds the words of `undef`. */
void eval_graph(const hia_graph *g, hia_fn_id f, const hia_word *args, uint64_t undef,
                eval_outcome *out);

/* The same with all forks stolen: a join then makes the call, with the arguments of its fork. */
typedef enum eval_steal { EVAL_STEAL_NONE, EVAL_STEAL_ALL, EVAL_STEAL_SOME } eval_steal;
void eval_stealing(const hia_graph *g, hia_fn_id f, const hia_word *args, uint64_t undef,
                   eval_steal steal, eval_outcome *out);

/* A value of data: the number of its constructor, and the words of its fields. Graphs are evaluated
 * on such values, and reading a field of another constructor aborts. Data in results become hashes
 * of all that they consist of. */
hia_word eval_data(uint32_t ctor, const hia_word *words, uint32_t n);
/* Frees all values of data, of arguments and evaluations. */
void eval_free(void);

/* True if two outcomes are the same, or if one of them took too long. */
bool eval_agree(const hia_fn *fn, const eval_outcome *a, const eval_outcome *b);
/* One line for messages. */
void eval_print(const hia_fn *fn, const eval_outcome *o, char *buf, size_t size);

#endif
