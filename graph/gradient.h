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
 * infinity where the derivative grows beyond all bounds (sqrt and log at 0, asin and acos at 1 and
 * -1), a NaN where there is none (atan2 at (0, 0), pow for b where a < 0), and perhaps a NaN where
 * an operand is infinite. A relu or an abs of a NaN lets the gradient pass. */
#ifndef HIA_GRADIENT_H
#define HIA_GRADIENT_H

#include "graph/graph.h"

/* A node of which the gradient is built, and where. */
typedef struct hia_gradient {
  hia_graph *g; /* in the state HIA_FUNCTIONS */
  hia_fn *fn;   /* the function that gets the new nodes, at the end of this region */
  hia_region_id region;
  hia_loc_id loc; /* of the new nodes */
  uint64_t imm;   /* of the node */
  /* Values of `fn` that are equal to the node's operands and results, and the gradients of the
   * latter, which have the same types. */
  const hia_value_id *ins, *outs, *out_gradients;
  /* By operand, written: its gradient, of the operand's type, or NONE: nothing flows to it. An
   * operand that occurs twice has two gradients, of which the caller adds both. */
  hia_value_id *in_gradients;
} hia_gradient;

/* False if the op has no gradient (the row says NONE): nothing has been built. */
bool hiaG_gradient(const hia_gradient *d, unsigned op);

#endif
