/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kernel/lanes.h"
#include "runtime/base/elementary.h"

enum { /* their indices in the tables */
#define INDEX(name) INDEX_##name,
       HIA_ELEMENTARY_LIST_1(INDEX) HIA_ELEMENTARY_LIST_2(INDEX)
};

/* Returns the index of an op plus 1; 0: it is no elementary function. */
static unsigned number_of(unsigned op) {
  switch (op) {
  case HIA_OP_EXP: return 1 + INDEX_exp;
  case HIA_OP_EXP2: return 1 + INDEX_exp2;
  case HIA_OP_EXPM1: return 1 + INDEX_expm1;
  case HIA_OP_LOG: return 1 + INDEX_log;
  case HIA_OP_LOG2: return 1 + INDEX_log2;
  case HIA_OP_LOG10: return 1 + INDEX_log10;
  case HIA_OP_LOG1P: return 1 + INDEX_log1p;
  case HIA_OP_SIN: return 1 + INDEX_sin;
  case HIA_OP_COS: return 1 + INDEX_cos;
  case HIA_OP_TAN: return 1 + INDEX_tan;
  case HIA_OP_ASIN: return 1 + INDEX_asin;
  case HIA_OP_ACOS: return 1 + INDEX_acos;
  case HIA_OP_ATAN: return 1 + INDEX_atan;
  case HIA_OP_SINH: return 1 + INDEX_sinh;
  case HIA_OP_COSH: return 1 + INDEX_cosh;
  case HIA_OP_TANH: return 1 + INDEX_tanh;
  case HIA_OP_SIGMOID: return 1 + INDEX_sigmoid;
  case HIA_OP_POW: return 1 + INDEX_pow;
  case HIA_OP_ATAN2: return 1 + INDEX_atan2;
  case HIA_OP_HYPOT: return 1 + INDEX_hypot;
  default: return 0;
  }
}

hia_lanes *hiaR_lanes(unsigned op, hia_dtype dtype) {
  unsigned number = number_of(op);
  if (!number || (dtype != HIA_F32 && dtype != HIA_F64)) return NULL;
#if defined(__x86_64__)
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  if (has_avx2 && has_avx512) return hiaR_lanes_avx512[number - 1][dtype == HIA_F64];
  if (has_avx2) return hiaR_lanes_avx2[number - 1][dtype == HIA_F64];
#endif
  return NULL;
}
