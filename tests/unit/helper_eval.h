/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A graph evaluated in sequential order, node by node: what passes are compared with. */
#ifndef HIA_TEST_EVAL_H
#define HIA_TEST_EVAL_H

#include "graph/graph.h"

#define EVAL_MAX_RESULTS 8

typedef struct eval_outcome {
  hia_status status; /* OK, a failure of the program, or DEADLINE: given up, nothing is known */
  hia_word results[EVAL_MAX_RESULTS];
  uint64_t code;      /* FAILED: of fail(); FUEL: what was left */
  uint64_t counts[2]; /* calls and rounds, of counted graphs */
  uint64_t made;      /* those of the graph, function state */
  char chain[2000];   /* of a failure: the chain of calls as text */
} eval_outcome;

/* Works on both states; no fork is stolen. `undef` seeds the words of what is never looked at. */
void eval_graph(const hia_graph *g, hia_fn_id f, const hia_word *args, uint64_t undef,
                eval_outcome *out);

/* The same when forks are answered to be stolen: a join then makes the call, with the arguments of
 * its fork. */
typedef enum eval_steal { EVAL_STEAL_NONE, EVAL_STEAL_ALL, EVAL_STEAL_SOME } eval_steal;
void eval_stealing(const hia_graph *g, hia_fn_id f, const hia_word *args, uint64_t undef,
                   eval_steal steal, eval_outcome *out);

/* Do two outcomes mean the same? When either was given up, yes. */
bool eval_agree(const hia_fn *fn, const eval_outcome *a, const eval_outcome *b);
/* One line for messages. */
void eval_print(const hia_fn *fn, const eval_outcome *o, char *buf, size_t size);

#endif
