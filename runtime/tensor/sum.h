/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The order in which sums add, and products of all elements multiply (docs/tensors.md, "Rounding").
 *
 *   - Up to HIA_SUM_BLOCK elements are a block. Element i is added to partial sum i mod HIA_LANES,
 *     in the order of i. The partial sums begin at 0. Then sum l + 8 is added to sum l, for l < 8;
 *     then l + 4 to l, for l < 4; l + 2; l + 1. What sum 0 then is, is the result.
 *   - Of more elements the result is the sum, in this same order, of the sums of their blocks: each
 *     has HIA_SUM_BLOCK elements, but the last one may have fewer.
 *
 * So the order depends on the number of elements alone; vectors of any width up to HIA_LANES
 * elements can add in it; and partial sums stay short, which keeps the error of rounding small. (As
 * the cascade of Castaldo, Whaley, Chronopoulos, "Reducing floating point error in dot product
 * using the superblock family of algorithms", SIAM J. Sci. Comput. 2008.) */
#ifndef HIA_TENSOR_SUM_H
#define HIA_TENSOR_SUM_H

#include "runtime/tensor/operands.h"

enum {
  HIA_LANES = 16,
  HIA_SUM_BLOCK = 4096,
  HIA_SUM_COLUMNS = 32, /* sums that are made side by side */
};

/* Elements of what is added at a time in the end: 1, or what the blocks before it have. */
static inline uint64_t hiaR_sum_span(uint64_t n) {
  uint64_t span = 1;
  while (n && (n - 1) / HIA_SUM_BLOCK >= span) span *= HIA_SUM_BLOCK;
  return span;
}

/* Adds up the partial sums of `cols` columns. */
#define HIA_FOLD_LANES(type, op, lanes, cols)                                                      \
  for (uint32_t half = HIA_LANES / 2; half; half /= 2)                                             \
    for (uint32_t l = 0; l < half; l++)                                                            \
      for (uint32_t c = 0; c < (cols); c++) (lanes)[l][c] = (lanes)[l][c] op(lanes)[l + half][c];

/* Defines NAME, the sums of elements first .. first + n of `cols` columns: sums[0 .. cols).
 * `block`, with the same parameters but `span`, gives those of up to HIA_SUM_BLOCK elements. `span`
 * is hiaR_sum_span(n) in the first call. If the run must end the result is undefined. */
#define HIA_DEFINE_SUM(NAME, context, type, op, zero, block)                                       \
  static void NAME(context *s, uint64_t first, uint64_t n, uint64_t span, uint32_t cols,           \
                   type *sums) {                                                                   \
    if (span == 1) {                                                                               \
      block(s, first, n, cols, sums);                                                              \
      return;                                                                                      \
    }                                                                                              \
    type lanes[HIA_LANES][HIA_SUM_COLUMNS], one[HIA_SUM_COLUMNS];                                  \
    for (uint32_t l = 0; l < HIA_LANES; l++)                                                       \
      for (uint32_t c = 0; c < cols; c++) lanes[l][c] = (zero);                                    \
    uint32_t lane = 0;                                                                             \
    for (uint64_t i = 0; i < n && !s->work->is_over; i += span) {                                  \
      NAME(s, first + i, n - i < span ? n - i : span, span / HIA_SUM_BLOCK, cols, one);            \
      for (uint32_t c = 0; c < cols; c++) lanes[lane][c] = lanes[lane][c] op one[c];               \
      lane = (lane + 1) % HIA_LANES;                                                               \
    }                                                                                              \
    HIA_FOLD_LANES(type, op, lanes, cols)                                                          \
    for (uint32_t c = 0; c < cols; c++) sums[c] = lanes[0][c];                                     \
  }

/* Defines NAME, the sum of a block of n elements that lie one after the other. */
#define HIA_DEFINE_BLOCK_SUM(NAME, type, op, zero)                                                 \
  static type NAME(const type *x, uint64_t n) {                                                    \
    type lanes[HIA_LANES][1];                                                                      \
    for (uint32_t l = 0; l < HIA_LANES; l++) lanes[l][0] = (zero);                                 \
    uint64_t i = 0;                                                                                \
    for (; i + HIA_LANES <= n; i += HIA_LANES)                                                     \
      for (uint32_t l = 0; l < HIA_LANES; l++) lanes[l][0] = lanes[l][0] op x[i + l];              \
    for (uint32_t l = 0; i < n; i++, l++) lanes[l][0] = lanes[l][0] op x[i];                       \
    HIA_FOLD_LANES(type, op, lanes, 1)                                                             \
    return lanes[0][0];                                                                            \
  }

#endif
