/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The properties of each op, from ops.def. There are no kernels here: a linked program takes only
 * those it uses. */
#include "runtime/base/shape.h"

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
    const char *op_name = hiaR_ops[op].name;
    if (op_name && op_name[0] == name[0] && strncmp(op_name, name, len) == 0 && !op_name[len])
      return op;
  }
  return HIA_OP_LIMIT;
}

static bool is_int(hia_dtype dtype) { return dtype == HIA_I32 || dtype == HIA_I64; }

bool hiaR_rule_takes(hia_rule rule, hia_dtype dtype) {
  if ((unsigned)dtype >= HIA_N_DTYPES) return false; /* the number of another type */
  switch (rule) {
  case HIA_RULE_NUM:
  case HIA_RULE_POSITION:
  case HIA_RULE_SCATTER:
  case HIA_RULE_HOT: return dtype != HIA_BOOL;
  case HIA_RULE_INT:
  case HIA_RULE_SHIFT: return is_int(dtype);
  case HIA_RULE_BITS: return dtype == HIA_BOOL || is_int(dtype);
  case HIA_RULE_FLOAT:
  case HIA_RULE_CLASSIFY:
  case HIA_RULE_LABELS: return dtype != HIA_BOOL && !is_int(dtype);
  case HIA_RULE_LOGIC: return dtype == HIA_BOOL;
  case HIA_RULE_COUNT: return dtype == HIA_I64;
  default: return true;
  }
}

bool hiaR_rule_takes_operand(hia_rule rule, hia_dtype T, uint32_t i, hia_dtype dtype) {
  switch (rule) {
  case HIA_RULE_CAST: return (unsigned)dtype < HIA_N_DTYPES;
  case HIA_RULE_SELECT: return dtype == (i ? T : HIA_BOOL);
  case HIA_RULE_SHIFT:
  case HIA_RULE_GATHER: return i ? is_int(dtype) : dtype == T;
  case HIA_RULE_INDEXED: return dtype == (i ? HIA_I64 : T);
  case HIA_RULE_UPDATED: return dtype == (i == 1 ? HIA_I64 : T);
  case HIA_RULE_LABELS:
  case HIA_RULE_SCATTER: return i == 1 ? is_int(dtype) : dtype == T;
  case HIA_RULE_HOT: return dtype == HIA_I64;
  default: return dtype == T;
  }
}

uint32_t hiaR_rule_decides(hia_rule rule) {
  switch (rule) {
  case HIA_RULE_CAST:
  case HIA_RULE_HOT: return HIA_NONE;
  case HIA_RULE_SELECT: return 1;
  default: return 0;
  }
}

hia_dtype hiaR_rule_result(hia_rule rule, hia_dtype dtype) {
  switch (rule) {
  case HIA_RULE_COMPARE:
  case HIA_RULE_CLASSIFY: return HIA_BOOL;
  case HIA_RULE_SIZE:
  case HIA_RULE_POSITION: return HIA_I64;
  default: return dtype;
  }
}

/* ---- ranks ---- */

static uint32_t in_bounds(uint32_t rank) { return rank <= HIA_MAX_RANK ? rank : HIA_NONE; }

/* x and then scalars. */
static bool has_scalars(uint32_t n, const uint32_t *ranks, uint32_t rest) {
  return (n < 2 || ranks[1] == 0) && (n < 3 || ranks[2] == 0) && (n < 4 || rest == 0);
}

/* As NumPy's matmul: axes of matrices, and leading ones, which broadcast. */
static uint32_t product_rank(uint32_t a, uint32_t b) {
  if (!a || !b) return HIA_NONE;
  uint32_t lead_a = a > 2 ? a - 2 : 0, lead_b = b > 2 ? b - 2 : 0;
  return (lead_a > lead_b ? lead_a : lead_b) + (a > 1) + (b > 1);
}

uint32_t hiaR_op_rank(unsigned op, uint64_t imm, uint32_t n, const uint32_t ranks[3],
                      uint32_t rest) {
  uint32_t a = n > 0 ? ranks[0] : 0, b = n > 1 ? ranks[1] : 0, c = n > 2 ? ranks[2] : 0;
  bool are_equal = n && (n < 2 || b == a) && (n < 3 || c == a) && (n < 4 || rest == a);
  uint32_t larger = a > b ? a : b, largest = larger > c ? larger : c;
  switch ((hia_shape_rule)hiaR_ops[op].shape) {
  case HIA_SHAPE_NONE: return HIA_NONE;
  case HIA_SHAPE_ELEMENTWISE: return largest;
  case HIA_SHAPE_DIM: return imm < a ? 0 : HIA_NONE;
  case HIA_SHAPE_ROW: return a && b == 0 ? a - 1 : HIA_NONE;
  case HIA_SHAPE_ITEM: return a && b == 0 ? 0 : HIA_NONE;
  case HIA_SHAPE_PART: return a && b == 0 && c == 0 ? a : HIA_NONE;
  case HIA_SHAPE_ROWS: return a && b ? in_bounds(a - 1 + b) : HIA_NONE;
  case HIA_SHAPE_WITH: return a && b == 0 && c == a - 1 ? a : HIA_NONE;
  case HIA_SHAPE_CAT: return are_equal && imm < a ? a : HIA_NONE;
  case HIA_SHAPE_STACK: return are_equal && imm <= a ? in_bounds(a + 1) : HIA_NONE;
  case HIA_SHAPE_PACK:
    return n == a + 1 && has_scalars(n, ranks, rest) ? in_bounds(a + 1) : HIA_NONE;
  case HIA_SHAPE_RESHAPE:
    return n && a && has_scalars(n, ranks, rest) ? in_bounds(n - 1) : HIA_NONE;
  case HIA_SHAPE_FULL:
    return n > 1 && a == 0 && has_scalars(n, ranks, rest) ? in_bounds(n - 1) : HIA_NONE;
  case HIA_SHAPE_IOTA: return a == 0 ? 1 : HIA_NONE;
  case HIA_SHAPE_ONE_HOT: return a == 0 && b == 0 ? 1 : HIA_NONE;
  case HIA_SHAPE_EXPECT: {
    bool is_set = imm >> a == 0 && (uint32_t)__builtin_popcountll(imm) + 1 == n;
    return a && is_set && has_scalars(n, ranks, rest) ? a : HIA_NONE;
  }
  case HIA_SHAPE_REDUCE: return !a ? HIA_NONE : imm == HIA_NONE ? 0 : imm < a ? a - 1 : HIA_NONE;
  case HIA_SHAPE_PRODUCT: return product_rank(a, b);
  case HIA_SHAPE_OUTER: return a == 1 && b == 1 ? 2 : HIA_NONE;
  case HIA_SHAPE_LAST: return a ? a : HIA_NONE;
  case HIA_SHAPE_LABELS: return a && b == a - 1 ? b : HIA_NONE;
  case HIA_SHAPE_LABELLED: return a && b == a - 1 && c == b ? a : HIA_NONE;
  case HIA_SHAPE_PARAM:
  case HIA_SHAPE_WORK:
  case HIA_SHAPE_ALIKE:
  case HIA_SHAPE_TRAP: return HIA_NONE;
  case HIA_SHAPE_TRANSPOSE: return a == 2 ? 2 : HIA_NONE;
  case HIA_SHAPE_COLLECT: return a && b == a ? a : HIA_NONE;
  case HIA_SHAPE_TOUCHED: return a && b == a ? 1 : HIA_NONE;
  case HIA_SHAPE_COLLECT_ROWS: return a && b == 1 && c == a ? a : HIA_NONE;
  case HIA_SHAPE_ZEROS: return a ? a : HIA_NONE;
  case HIA_SHAPE_FIT: return a && b <= a ? b : HIA_NONE;
  case HIA_SHAPE_SCATTER: return a && b && c == a - 1 + b ? a : HIA_NONE;
  case HIA_SHAPE_CUT: return imm < a && b == 0 && c == 0 ? a : HIA_NONE;
  case HIA_SHAPE_PRODUCT_AT:
  case HIA_SHAPE_PRODUCT_BT: return a > 1 && b > 1 ? larger : HIA_NONE;
  }
  return HIA_NONE;
}

bool hiaR_work_takes(uint64_t op, uint32_t n) {
  if (op >= HIA_OP_LIMIT || !hiaR_ops[op].name) return false;
  switch ((hia_shape_rule)hiaR_ops[op].shape) {
  case HIA_SHAPE_ELEMENTWISE: return n == (uint32_t)hiaR_ops[op].n_ins;
  case HIA_SHAPE_PRODUCT:
  case HIA_SHAPE_OUTER:
  case HIA_SHAPE_ROWS:
  case HIA_SHAPE_FIT:
  case HIA_SHAPE_PRODUCT_AT:
  case HIA_SHAPE_PRODUCT_BT:
  case HIA_SHAPE_ONE_HOT: return n == 2;
  case HIA_SHAPE_SCATTER: return n == 3;
  case HIA_SHAPE_FULL: return n > 1 && n - 1 <= HIA_MAX_RANK;
  case HIA_SHAPE_CAT:
  case HIA_SHAPE_STACK: return n > 0;
  case HIA_SHAPE_IOTA:
  case HIA_SHAPE_WITH:
  case HIA_SHAPE_PACK:
  case HIA_SHAPE_REDUCE:
  case HIA_SHAPE_LAST:
  case HIA_SHAPE_LABELS:
  case HIA_SHAPE_LABELLED:
  case HIA_SHAPE_COLLECT:
  case HIA_SHAPE_TOUCHED:
  case HIA_SHAPE_COLLECT_ROWS:
  case HIA_SHAPE_ZEROS:
  case HIA_SHAPE_CUT:
  case HIA_SHAPE_TRANSPOSE: return n == 1;
  case HIA_SHAPE_NONE:
  case HIA_SHAPE_DIM:
  case HIA_SHAPE_ROW:
  case HIA_SHAPE_ITEM:
  case HIA_SHAPE_PART:
  case HIA_SHAPE_RESHAPE:
  case HIA_SHAPE_EXPECT:
  case HIA_SHAPE_PARAM:
  case HIA_SHAPE_WORK:
  case HIA_SHAPE_ALIKE:
  case HIA_SHAPE_TRAP: return false;
  }
  return false;
}

bool hiaR_trap_takes(uint64_t imm, uint32_t n) {
  uint64_t op = imm < HIA_TRAP_GRADIENT ? imm : imm - HIA_TRAP_GRADIENT;
  if (op >= HIA_OP_LIMIT || !hiaR_ops[op].name || !n) return false;
  if (op == HIA_OP_HOST) return true;
  return hiaR_ops[op].traits & HIA_T_MAKES_NAN && n <= 4;
}
