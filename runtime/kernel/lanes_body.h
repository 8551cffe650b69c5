/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The body of lanes_avx512.c and lanes_avx2.c, which define HIA_LANE_BYTES and TABLE. */
#include "runtime/kernel/lanes.h"
#define HIA_C_NAME(name, dtype)  HIA_C_NAME_(name, dtype)
#define HIA_C_NAME_(name, dtype) lanes_##name##_##dtype
#include "runtime/base/elementary_c.h"

/* The last vector may have fewer elements: the others are 0. */
#define LOOP(name, dtype, type, is_two, call)                                                      \
  static void loop_##name##_##dtype(void *out, const void *const *in, size_t n) {                  \
    enum { LANES = HIA_LANE_BYTES / sizeof(type) };                                                \
    const type *x = in[0], *y = in[is_two ? 1 : 0];                                                \
    type *z = out;                                                                                 \
    while (n) {                                                                                    \
      size_t m = n < LANES ? n : LANES;                                                            \
      hia_c_##dtype v = {0}, w = {0};                                                              \
      if (m == LANES) {                                                                            \
        memcpy(&v, x, sizeof v);                                                                   \
        if (is_two) memcpy(&w, y, sizeof w);                                                       \
      } else {                                                                                     \
        memcpy(&v, x, m * sizeof(type));                                                           \
        if (is_two) memcpy(&w, y, m * sizeof(type));                                               \
      }                                                                                            \
      v = call;                                                                                    \
      if (m == LANES)                                                                              \
        memcpy(z, &v, sizeof v);                                                                   \
      else                                                                                         \
        memcpy(z, &v, m * sizeof(type));                                                           \
      n -= m, x += m, y += m, z += m;                                                              \
    }                                                                                              \
  }
#define LOOPS_1(name)                                                                              \
  LOOP(name, f32, float, false, lanes_##name##_f32(v))                                             \
  LOOP(name, f64, double, false, lanes_##name##_f64(v))
#define LOOPS_2(name)                                                                              \
  LOOP(name, f32, float, true, lanes_##name##_f32(v, w))                                           \
  LOOP(name, f64, double, true, lanes_##name##_f64(v, w))
HIA_ELEMENTARY_LIST_1(LOOPS_1)
HIA_ELEMENTARY_LIST_2(LOOPS_2)

hia_lanes *const TABLE[][2] = {
#define ROW(name) {loop_##name##_f32, loop_##name##_f64},
    HIA_ELEMENTARY_LIST_1(ROW) HIA_ELEMENTARY_LIST_2(ROW)};
