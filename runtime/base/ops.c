/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The properties of each op, from ops.def. There are no kernels here: a linked program takes only
 * those it uses. */
#include "runtime/base/base.h"

/* A number that is used twice is an error here: our builds do not allow an element to be
 * initialised again. */
const hia_op_info hiaR_ops[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  [number] = {name,                                                                                \
              symbol,                                                                              \
              ins,                                                                                 \
              outs,                                                                                \
              HIA_RULE_##RULE,                                                                     \
              HIA_SHAPE_##SHAPE,                                                                   \
              HIA_GRADIENT_##GRADIENT,                                                             \
              HIA_IMM_##IMM,                                                                       \
              cost,                                                                                \
              traits},
#include "runtime/base/ops.def"
};

unsigned hiaR_op_by_name(const char *name, size_t len) {
  if (len == 0) return HIA_OP_LIMIT;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const char *other = hiaR_ops[op].name;
    if (other && other[0] == name[0] && strncmp(other, name, len) == 0 && !other[len]) return op;
  }
  return HIA_OP_LIMIT;
}

bool hiaR_rule_takes(hia_rule rule, hia_dtype dtype) {
  if ((unsigned)dtype >= HIA_N_DTYPES) return false; /* the number of another type */
  bool is_int = dtype == HIA_I32 || dtype == HIA_I64, is_bool = dtype == HIA_BOOL;
  switch (rule) {
  case HIA_RULE_NUM: return !is_bool;
  case HIA_RULE_INT:
  case HIA_RULE_SHIFT: return is_int;
  case HIA_RULE_BITS: return is_bool || is_int;
  case HIA_RULE_FLOAT:
  case HIA_RULE_CLASSIFY: return !is_bool && !is_int;
  default: return true;
  }
}

hia_dtype hiaR_rule_result(hia_rule rule, hia_dtype dtype) {
  return rule == HIA_RULE_COMPARE || rule == HIA_RULE_CLASSIFY ? HIA_BOOL : dtype;
}
