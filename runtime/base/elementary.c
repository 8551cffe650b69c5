/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions of the runtime: elementary.h, as C of scalars.
 *
 * The runtime runs on any x86-64, where fused multiply-add is a function of libm. So there each
 * function is here twice, and takes the instruction if the machine has it. The bits are the same,
 * because libm's fma rounds once, too. */
#define HIA_LANE_BYTES           0
#define HIA_C_NAME(name, dtype)  HIA_C_NAME_(name, dtype)
#define HIA_C_NAME_(name, dtype) name##_##dtype
#include "runtime/base/elementary_c.h"

#if defined(__x86_64__) && !defined(__FMA__)

/* avx2 for the encoding of the other instructions: mixing both is slow on some machines. */
#define HIA_WITH_FMA __attribute__((target("fma,avx2")))
static inline bool has_fma(void) {
  return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
}
#define ELEMENTARY_1(name, dtype, type)                                                            \
  static HIA_WITH_FMA type name##_##dtype##_fma(type x) { return name##_##dtype(x); }              \
  type hiaR_##name##_##dtype(type x) {                                                             \
    return HIA_LIKELY(has_fma()) ? name##_##dtype##_fma(x) : name##_##dtype(x);                    \
  }
#define ELEMENTARY_2(name, dtype, type)                                                            \
  static HIA_WITH_FMA type name##_##dtype##_fma(type x, type y) { return name##_##dtype(x, y); }   \
  type hiaR_##name##_##dtype(type x, type y) {                                                     \
    return HIA_LIKELY(has_fma()) ? name##_##dtype##_fma(x, y) : name##_##dtype(x, y);              \
  }

#else

#define ELEMENTARY_1(name, dtype, type)                                                            \
  type hiaR_##name##_##dtype(type x) { return name##_##dtype(x); }
#define ELEMENTARY_2(name, dtype, type)                                                            \
  type hiaR_##name##_##dtype(type x, type y) { return name##_##dtype(x, y); }

#endif

#define ELEMENTARY_BOTH_1(name) ELEMENTARY_1(name, f32, float) ELEMENTARY_1(name, f64, double)
#define ELEMENTARY_BOTH_2(name) ELEMENTARY_2(name, f32, float) ELEMENTARY_2(name, f64, double)
HIA_ELEMENTARY_LIST_1(ELEMENTARY_BOTH_1)
HIA_ELEMENTARY_LIST_2(ELEMENTARY_BOTH_2)
ELEMENTARY_BOTH_2(pow_far)
ELEMENTARY_BOTH_2(hypot_far)

double hiaR_tan_of_sum_f64(double x, double y, bool is_odd) {
  return tan_of_sum_f64(x, y, is_odd ? 1 : 0);
}
