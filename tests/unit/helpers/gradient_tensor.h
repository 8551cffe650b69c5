/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs of the gradients of single ops on tensors, and their arguments. */
#ifndef HIA_TEST_GRADIENT_TENSOR_H
#define HIA_TEST_GRADIENT_TENSOR_H

#include "graph/ir/graph.h"
#include "runtime/base/shape.h"

enum { TENSOR_CASE_INS = 4, TENSOR_CASE_ARGS = 2 * TENSOR_CASE_INS, TENSOR_CASE_RESULTS = 8 };

/* An operand. Of integers `value` is that of a scalar; those in a tensor are below it. */
typedef struct tensor_operand {
  hia_dtype dtype; /* HIA_F64 stands for the float dtype at which the graph is made */
  int64_t value;
  hia_dims dims;
} tensor_operand;

typedef struct tensor_case {
  unsigned op;
  uint64_t imm;
  uint32_t n_ins;
  tensor_operand ins[TENSOR_CASE_INS];
  bool has_zeros; /* some elements are 0 */
} tensor_case;

/* Every op that has a rule and takes tensors, with operands of many shapes. Returns how many; the
 * list is valid until the next call. */
uint32_t tensor_cases(const tensor_case **cases);

/* One function f(operands, directions of the float operands) -> (s, slopes, slopes by sums), of
 * scalars. s is the sum of the elements of the result, each times a number; the slopes are, for
 * each float operand, that of s in its direction: by the gradient as a tensor, and by the sum that
 * the rule makes of it (of a scalar: the same again). A gradient that has not the shape of the
 * operand makes a run fail. */
hia_graph *tensor_case_graph(hia_comp *comp, hia_types *types, const tensor_case *c, hia_dtype at);
uint32_t tensor_case_floats(const tensor_case *c); /* how many operands are floats */

/* Elements of the operands, and of the directions. */
typedef struct tensor_point {
  uint32_t n; /* arguments */
  double *elements[TENSOR_CASE_ARGS];
  uint64_t lens[TENSOR_CASE_ARGS];
  tensor_operand of[TENSOR_CASE_ARGS];
} tensor_point;
/* At random. Floats lie in (0.1, 0.9), where all ops on scalars are smooth. */
void tensor_point_init(tensor_point *p, const tensor_case *c, uint32_t *state);
void tensor_point_free(tensor_point *p);
/* Moves each float operand `by` along its direction, but for all but `only` (HIA_NONE: all). */
void tensor_point_move(tensor_point *p, const tensor_case *c, uint32_t only, double by);

/* The arguments at a float dtype, which belong to no run. */
void tensor_point_words(const tensor_point *p, hia_dtype at, hia_word words[TENSOR_CASE_ARGS]);
void tensor_point_discard(const tensor_point *p, const hia_word words[TENSOR_CASE_ARGS]);

#endif
