/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs of the gradients of single ops. */
#ifndef HIA_TEST_GRADIENT_H
#define HIA_TEST_GRADIENT_H

#include "graph/ir/graph.h"

typedef struct gradient_case {
  unsigned op;
  hia_type in[3], out;
  uint32_t n_ins;
  uint64_t imm;
} gradient_case;

enum { GRADIENT_MAX_CASES = 256 };
/* Every row of the op table that is of scalars and has a gradient, at f32 and f64; returns how
 * many.
 */
uint32_t gradient_cases(gradient_case *cases);

/* One function f(operands, gradient of the result) -> the gradients of the operands, in the state
 * HIA_FUNCTIONS; 0 for an operand to which nothing flows. NULL: the op has no gradient. */
hia_graph *gradient_graph(hia_comp *comp, hia_types *types, const gradient_case *c);

/* A float, in words of a float dtype. */
hia_word gradient_word(hia_type type, double x);
double gradient_number(hia_type type, hia_word word);

#endif
