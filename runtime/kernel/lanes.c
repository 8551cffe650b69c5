/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kernel/lanes.h"
#include "runtime/base/elementary.h"

enum { /* their places in the tables */
#define PLACE(name) PLACE_##name,
       HIA_ELEMENTARY_LIST_1(PLACE)
};

/* The place of an op and 1; 0: it is no elementary function. */
static unsigned place_of(unsigned op) {
  switch (op) {
  case HIA_OP_EXP: return 1 + PLACE_exp;
  case HIA_OP_EXP2: return 1 + PLACE_exp2;
  case HIA_OP_EXPM1: return 1 + PLACE_expm1;
  case HIA_OP_LOG: return 1 + PLACE_log;
  case HIA_OP_LOG2: return 1 + PLACE_log2;
  case HIA_OP_LOG10: return 1 + PLACE_log10;
  case HIA_OP_LOG1P: return 1 + PLACE_log1p;
  case HIA_OP_TANH: return 1 + PLACE_tanh;
  case HIA_OP_SIGMOID: return 1 + PLACE_sigmoid;
  default: return 0;
  }
}

hia_lanes *hiaR_lanes(unsigned op, hia_dtype dtype) {
  unsigned place = place_of(op);
  if (!place || (dtype != HIA_F32 && dtype != HIA_F64)) return NULL;
#if defined(__x86_64__)
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  if (has_avx2 && has_avx512) return hiaR_lanes_avx512[place - 1][dtype == HIA_F64];
  if (has_avx2) return hiaR_lanes_avx2[place - 1][dtype == HIA_F64];
#endif
  return NULL;
}
