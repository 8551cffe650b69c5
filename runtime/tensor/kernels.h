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
#include "runtime/tensor/tensor.h"

#define HIA_OVER_ALL ((uint64_t)UINT32_MAX)

/* elementwise.c: o->kernel of every element of the operands, which broadcast; `dtype` is that of
 * the result, and those of operands are theirs. imm: the kernel's. Of several elements that fail
 * the first, in row-major order, gives the status. */
HIA_OPERATION(LIFT);

/* make.c */
HIA_OPERATION(FULL);    /* a scalar, then the dims, i64s: that scalar everywhere. SHAPE if a dim is
                           below 0 */
HIA_OPERATION(IOTA);    /* n, an i64: 0 .. n - 1 as i64s; SHAPE if n < 0 */
HIA_OPERATION(ONE_HOT); /* i, i64, and n: of n elements of `dtype`, all 0 but the i-th, 1. SHAPE if
                           n < 0; RANGE */
HIA_OPERATION(STACK);   /* scalars of `dtype`, or tensors of one shape: along a new axis */
HIA_OPERATION(JOIN);    /* tensors: one after the other along the axis */

/* part.c */
HIA_OPERATION(DIM);       /* x: the size of the axis, an i64 */
HIA_OPERATION(ROW);       /* x, i64: x[i], a view, or a scalar; RANGE */
HIA_OPERATION(ROWS);      /* x, a tensor of i32 or i64: the rows of x with these indices; RANGE */
HIA_OPERATION(PART);      /* x, from, to, i64s: x[from..to], a view; RANGE */
HIA_OPERATION(WITH);      /* x, i64, v: x with v in the place of x[i]; in place if it can; RANGE,
                             then SHAPE */
HIA_OPERATION(RESHAPE);   /* x, dims, i64s: a view, or x itself; SHAPE if a dim is below 0, too */
HIA_OPERATION(TRANSPOSE); /* x of rank 2, copied */
HIA_OPERATION(EXPECT);    /* imm: a set of axes, as bits. x, and sizes, i64s, of these axes in their
                             order: x, if it has these sizes; else SHAPE, also if one is below 0 */

/* reduce.c: along an axis, or all of x. Of no elements sum is 0, prod 1, any false and all true;
 * the others fail with HIA_EMPTY (if there is an element of the result). A NaN wins over all; of
 * equal ones the first wins. */
HIA_OPERATION(SUM);
HIA_OPERATION(PROD);
HIA_OPERATION(MEAN);
HIA_OPERATION(MAX_OF);
HIA_OPERATION(MIN_OF);
HIA_OPERATION(ARG_MAX); /* i64 */
HIA_OPERATION(ARG_MIN);
HIA_OPERATION(ANY);
HIA_OPERATION(ALL);

/* product.c: `@` as NumPy's matmul, of tensors of `dtype`; and of vectors x[i] * y[j] */
HIA_OPERATION(PRODUCT);
HIA_OPERATION(OUTER);

/* softmax.c: along the last axis of x, of f32 or f64. EMPTY if that has no elements, and the others
 * have. */
HIA_OPERATION(SOFTMAX);
HIA_OPERATION(LOG_SOFTMAX);
HIA_OPERATION(CROSS_ENTROPY); /* x, labels (i32 or i64) of the shape of x without the last axis:
                                 -log_softmax(x) at the label, 0 as +0; RANGE */

#endif
