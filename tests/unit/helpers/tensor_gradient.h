/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations that gradients need: a run for them, their arithmetic, element by element, and
 * shapes of operands. */
#ifndef HELPER_TENSOR_GRADIENT_H
#define HELPER_TENSOR_GRADIENT_H

#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>

static tensor_world w;

static inline void begin(void) { world_begin(&w, &hiaR_malloc, false); }
static inline void end(void) { cr_assert(world_end(&w)); }

/* ---- arithmetic on words ---- */

static inline hia_word apply(unsigned op, hia_dtype dtype, hia_word a, hia_word b, hia_word c) {
  hia_word slots[4] = {a, b, c};
  const uint16_t in[3] = {0, 1, 2};
  hiaR_kernel(op, dtype)(slots, in, 3, 0);
  return slots[3];
}
static inline hia_word plus(hia_dtype dtype, hia_word a, hia_word b) {
  return apply(HIA_OP_ADD, dtype, a, b, 0);
}
/* a * b + c, as products add. */
static inline hia_word plus_product(hia_dtype dtype, hia_word a, hia_word b, hia_word c) {
  if (dtype >= HIA_F32) return apply(HIA_OP_FMA, dtype, a, b, c);
  return plus(dtype, apply(HIA_OP_MUL, dtype, a, b, 0), c);
}

static const int64_t sizes[] = {0, 1, 2, 3, 5, 17, 1, 2, 3, 1};
static inline hia_dims some_shape(uint32_t *state, uint32_t rank, uint64_t most) {
  hia_dims dims = {.rank = rank};
  uint64_t n = 1;
  for (uint32_t i = 0; i < rank; i++) {
    dims.dims[i] = sizes[random_to(state, HIA_LEN(sizes))];
    if (n * (uint64_t)dims.dims[i] > most) dims.dims[i] = 1;
    n *= (uint64_t)dims.dims[i];
  }
  return dims;
}

#endif
