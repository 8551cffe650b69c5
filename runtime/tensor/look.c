/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Looking for elements that are NaN. */
#include "runtime/tensor/operands.h"

/* How many of n elements are NaN: a loop without a branch, which the compiler makes vectors of. */
static uint64_t count_f32(const float *x, uint64_t n) {
  uint32_t count = 0;
  for (uint64_t i = 0; i < n; i++) count += x[i] != x[i];
  return count;
}
static uint64_t count_f64(const double *x, uint64_t n) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < n; i++) count += x[i] != x[i];
  return count;
}

bool hiaR_work_find_nan(hia_work *work, const hia_tensor *t, uint64_t *at) {
  hia_dtype dtype = hiaR_tensor_dtype(t);
  uint32_t size = hiaR_dtype_size(dtype);
  uint64_t len = hiaR_tensor_len(t);
  for (uint64_t i = *at, to; i < len; i = to) {
    to = hiaR_piece_end(i, len);
    if (!hiaR_work_on(work, (to - i) / 4)) return false;
    const void *x = t->data + i * size;
    if (!(dtype == HIA_F32 ? count_f32(x, to - i) : count_f64(x, to - i))) continue;
    while (!hiaR_is_nan(dtype, hiaR_tensor_get(t, i))) i++;
    *at = i;
    return true;
  }
  *at = len;
  return true;
}
