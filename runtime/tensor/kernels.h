/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The reference kernels of tensors: what each op means (docs/tensors.md).
 *
 * All are of type hia_operate (heap/operation.h). An operand is a tensor where o->tensors says so,
 * else the word of a scalar; a result of rank 0 is a word, too. `x` stands for operand 0, `dtype`
 * for o->dtype, `axis` for o->imm, where HIA_OVER_ALL stands for all axes. Ranks fit, since the
 * compiler knows them; what else does not fit is a failure with HIA_SHAPE and the misfit of the
 * rule in base/shape.h. Where o->takes has a tensor that nothing else refers to, and the result has
 * its size, the result takes its memory.
 *
 * The order in which sums add depends on their length alone (docs/tensors.md, "Rounding"). */
#ifndef HIA_TENSOR_KERNELS_H
#define HIA_TENSOR_KERNELS_H

#include "runtime/heap/operation.h"
#include "runtime/heap/tensor.h"

#define HIA_OVER_ALL ((uint64_t)HIA_NONE)

/* elementwise.c: o->kernel of every element of the operands, which broadcast; `dtype` is that of
 * the result, and those of operands are theirs. imm: the kernel's. Of several elements that fail
 * the first, in row-major order, gives the status. */
HIA_OPERATION(LIFT);

/* The others have rows in base/ops.def, which say what they compute, and are declared by
 * heap/operation.h. Here stands what these do not say.
 *
 * make.c
 *   FULL     SHAPE if a size is below 0
 *   IOTA     SHAPE if n < 0
 *   ONE_HOT  SHAPE if n < 0; else RANGE
 *   STACK    along a new axis
 *   CAT      one after the other along the axis
 *   PACK     of an array of no tensors the sizes must not be below 0
 * part.c
 *   ROW      RANGE
 *   ROWS     RANGE
 *   PART     RANGE
 *   WITH     in place if it can; RANGE, then SHAPE
 *   RESHAPE  a view, or x itself; SHAPE if a size is below 0, too
 *   EXPECT   x itself; SHAPE, also if a size is below 0
 * reduce.c: along an axis, or all of x. Of no elements sum is 0, prod 1, any false and all true;
 * the others fail with HIA_EMPTY (if there is an element of the result). A NaN wins over all; of
 * equal ones the first wins.
 * product.c: PRODUCT, OUTER
 * softmax.c: along the last axis of x; of rows without elements such rows
 *   CROSS_ENTROPY  0 as +0; RANGE; EMPTY if the last axis has no elements, and the others have
 * fit.c
 *   FIT      v itself; SHAPE
 *   SCATTER  SHAPE, then RANGE
 *   CUT      a copy, or x itself; RANGE
 * collect.c
 *   COLLECT  takes no reference. The result may be a tensor of the sum; SHAPE, also for indices
 * that are out of range */

#endif
