/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The body of lanes_256.c and lanes_512.c, which define HIA_LANE_BYTES and TABLE. They are compiled
 * for machines that have the instructions (cmake/lanes.cmake). */
#include "bench/lanes.h"
#define HIA_C_NAME(name, dtype)  HIA_C_NAME_(name, dtype)
#define HIA_C_NAME_(name, dtype) lanes_##name##_##dtype
#include "runtime/base/elementary_c.h"

#define LOOP(name, dtype, type, call)                                                              \
  static void loop_##name##_##dtype(const void *xs, const void *ys, void *out, size_t n) {         \
    for (size_t i = 0; i < n; i += HIA_LANE_BYTES / sizeof(type)) {                                \
      hia_c_##dtype x, y, result;                                                                  \
      memcpy(&x, (const type *)xs + i, sizeof x);                                                  \
      memcpy(&y, (const type *)ys + i, sizeof y);                                                  \
      (void)y;                                                                                     \
      result = call;                                                                               \
      memcpy((type *)out + i, &result, sizeof result);                                             \
    }                                                                                              \
  }
#define LOOPS_1(name)                                                                              \
  LOOP(name, f32, float, lanes_##name##_f32(x))                                                    \
  LOOP(name, f64, double, lanes_##name##_f64(x))
#define LOOPS_2(name)                                                                              \
  LOOP(name, f32, float, lanes_##name##_f32(x, y))                                                 \
  LOOP(name, f64, double, lanes_##name##_f64(x, y))
HIA_ELEMENTARY_LIST_1(LOOPS_1)
HIA_ELEMENTARY_LIST_2(LOOPS_2)

const hia_lane_function TABLE[] = {
#define ROW_1(name) {#name, 1, {loop_##name##_f32, loop_##name##_f64}},
#define ROW_2(name) {#name, 2, {loop_##name##_f32, loop_##name##_f64}},
    HIA_ELEMENTARY_LIST_1(ROW_1) HIA_ELEMENTARY_LIST_2(ROW_2){NULL, 0, {NULL, NULL}}};
