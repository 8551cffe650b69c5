/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/update.h"

const hia_update_info hiaR_updates[HIA_N_UPDATES] = {
    [HIA_UPDATE_SGD] = {"sgd", 0, {NULL}},
    [HIA_UPDATE_MOMENTUM] = {"sgd with momentum", 1, {"momentum"}},
    [HIA_UPDATE_ADAGRAD] = {"adagrad", 1, {"squares"}},
    [HIA_UPDATE_ADAM] = {"adam", 2, {"mean", "variance"}},
    [HIA_UPDATE_ADAMW] = {"adamw", 2, {"mean", "variance"}},
};

static const hia_update_set *set(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return &hiaR_updates_avx2;
#endif
  return &hiaR_updates_plain;
}

hia_update *hiaR_update(hia_update_kind kind, hia_dtype dtype, bool is_advanced) {
  return set()->updates[dtype == HIA_F64][kind][is_advanced];
}

double hiaR_sum_of_squares(hia_dtype dtype, size_t n, const void *x) {
  return set()->sums_of_squares[dtype == HIA_F64](n, x);
}

/* The function of libm has other bits on other machines. */
double hiaR_power(double x, uint64_t n) {
  double power = 1;
  for (; n; n >>= 1, x *= x)
    if (n & 1) power *= x;
  return power;
}
