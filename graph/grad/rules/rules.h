/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The gradients of single nodes, for the pass that differentiates functions.
 *
 * A gradient is what one multiplies the change of a value with to get the change of the number that
 * is differentiated. The rule of an op builds nodes which compute the gradients of its operands
 * from its operands, its results and their gradients. These nodes need not stand in the function of
 * the node, or run when it does: what they read of it are values of their own function. The rule
 * uses as few of them as it can, and the caller finds the ones that must be kept among the operands
 * of the nodes that it has built.
 *
 * Nothing flows to a value that is no float: to integers, `bool` and references. Where a derivative
 * has two sides, it is that of the side that was computed:
 *
 *   abs, relu   0 at 0, and relu below it
 *   hypot       0 for both at (0, 0)
 *   min, max    of equal operands, among them -0 and 0, the first; if one is a NaN, the second
 *   select      the chosen one; the other gets 0, even if the gradient is a NaN
 *   rem         1 for a, for b minus the quotient, rounded toward zero
 *   pow         for a it is 0 where b is 0; for b it is 0 where a is 0
 *   floor, ceil, round, and comparisons: nothing flows
 *
 * Otherwise it is the formula of the books at these floats, with what IEEE 754 makes of it: an
 * infinity where the derivative grows beyond all bounds (sqrt and log at 0 and at -0, which has no
 * other side, asin and acos at 1 and -1), a NaN where there is none (atan2 at (0, 0), pow for b
 * where a < 0, hypot of two infinities). Where an operand is infinite it is the limit if there is
 * one, and else perhaps a NaN. A relu or an abs of a NaN lets the gradient pass.
 *
 * All of that holds for second derivatives, too, since rules are differentiated as they are
 * written: where the derivative is 0 by convention, so are the derivatives of it. Of pow the mixed
 * one depends on the order where a is 0 and b is 1 or less, and may be a NaN for b below 1.
 *
 * Of tensors the gradient has the shape of the operand, also where that has been broadcast: then it
 * is summed along the axes of the broadcast. Of the ops that only tensors have
 *
 *   max_of, min_of  the first that is the result gets all
 *   prod            the product of the others, also where elements are 0; it is that of all of them
 *                   divided by the element, so it overflows and vanishes where that does. Where
 *                   elements are 0, derivatives above the third may be wrong
 *   collect         the gradient of its sum is that of its result, a tensor; nothing flows to the
 *                   tensor that has the shape
 *   pack, and all that arrays and data do: the caller's. Their rows say NONE
 *
 * Where sizes are needed there are DIM nodes of operands or results, and ZEROS, FIT, SCATTER and
 * COLLECT have an operand of which they use the shape alone. So a caller that has to keep such a
 * value may keep its sizes, or another value of this shape, instead.
 *
 * *Sums* (graph/ir/sums.h). The gradient of a large operand that is used in many places can be a
 * sum, which is collected late. Then the contribution is small if it can be:
 *
 *   W @ x, x @ W    to W: Outer        x[i]     to x: Row
 *   X @ W           to W: Products     x[i..j]  to x: Part
 *   rows            to x: Rows         expect   the same
 *   max_of, min_of  of a vector: Row   others   Dense */
#ifndef HIA_GRADIENT_H
#define HIA_GRADIENT_H

#include "graph/ir/graph.h"

/* A node of which the gradient is built, and where. */
typedef struct hia_gradient {
  hia_graph *g; /* in the state HIA_FUNCTIONS */
  hia_fn *fn;   /* the function that gets the new nodes, at the end of this region */
  hia_region_id region;
  hia_loc_id loc; /* of the new nodes */
  uint64_t imm;   /* of the node */
  uint32_t n_ins; /* operands of the node */
  /* By operand, which is then a tensor: its gradient is to be a sum. NULL: none. */
  const bool *wants_sum;
  /* Values of `fn` that are equal to the node's operands and results, and the gradients of the
   * latter, which have the same types. But for ROW, PART and EXPECT, if operand 0 wants a sum and
   * the result is a tensor, the gradient of the result is a sum, too. */
  const hia_value_id *ins, *outs, *out_gradients;
  /* By operand, written: its gradient, of the operand's type or, where a sum is wanted, of its
   * hiaG_sum_type; or NONE: nothing flows to it. An operand that occurs twice has two gradients, of
   * which the caller adds both. */
  hia_value_id *in_gradients;
} hia_gradient;

/* The ops whose rules take a sum, and hand it on. */
static inline bool hiaG_indexes(unsigned op) {
  return op == HIA_OP_ROW || op == HIA_OP_PART || op == HIA_OP_EXPECT;
}

/* False if the op has no gradient (the row says NONE): nothing has been built. */
bool hiaG_gradient(const hia_gradient *d, unsigned op);

#endif
