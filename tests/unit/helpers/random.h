/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Random well-formed function graphs: calls, tail calls (mutual ones too), loops, branches, several
 * results, all dtypes, failing operations. Most of them terminate; tests skip the others. */
#ifndef HIA_TEST_RANDOM_H
#define HIA_TEST_RANDOM_H

#include "graph/ir/graph.h"

typedef struct random_source {
  uint64_t state;
} random_source;
uint64_t random_next(random_source *r);
uint32_t random_below(random_source *r, uint32_t n);
bool random_chance(random_source *r, uint32_t percent);
hia_word random_word(random_source *r, hia_dtype type);

/* The first parameter of every function is an i32 on which the depth of recursion depends; small
 * values (up to 6) are good arguments. */
hia_graph *random_graph(hia_comp *comp, hia_types *types, uint64_t seed);

#endif
