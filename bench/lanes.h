/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions as loops over arrays, in vectors of 256 and of 512 bits: to measure
 * them, and to compare their bits with those of scalars. A machine without the instructions must
 * not call them: hia_lanes_exist. */
#ifndef HIA_LANES_H
#define HIA_LANES_H

#include <stdbool.h>
#include <stddef.h>

/* out[i] = f(x[i]), or f(x[i], y[i]), for i < n, a multiple of 16; of f32 or f64. */
typedef void hia_lane_loop(const void *x, const void *y, void *out, size_t n);
typedef struct hia_lane_function {
  const char *name; /* NULL ends the table */
  unsigned n_args;
  hia_lane_loop *loops[2]; /* at f32, f64 */
} hia_lane_function;

extern const hia_lane_function hia_lanes_256[], hia_lanes_512[]; /* bench/lanes_*.c */

static inline bool hia_lanes_exist(unsigned bits) {
#if defined(__x86_64__)
  return bits == 512 ? __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
                     : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  (void)bits;
  return false;
#endif
}

#endif
