/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of ops that compute: what scalars and tensors an op takes, and what it gives. What
 * dtypes it takes its row's RULE says, what ranks its SHAPE (base/ops.c). */
#include "graph/ir/op_type.h"
#include "graph/ir/sums.h"

hia_type hiaG_ranked_operand(const hia_types *types, unsigned op, uint32_t i, hia_type type) {
  hia_dtype dtype;
  uint32_t rank;
  if (hiaR_takes_sum(op) && i == 0 && hiaG_sum_of(types, type, &dtype, &rank))
    return hiaG_tensor_made(types, dtype, rank);
  if (op != HIA_OP_PACK || i || hiaG_is_scalar(type) ||
      hiaG_type_kind(types, type) != HIA_KIND_ARRAY)
    return type;
  return hiaG_element(types, type);
}

uint32_t hiaG_op_rank(const hia_types *types, unsigned op, uint64_t imm, const hia_type *ins,
                      uint32_t n) {
  uint32_t ranks[3] = {0}, rest = HIA_NONE;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t rank = hiaG_rank(types, hiaG_ranked_operand(types, op, i, ins[i]));
    if (i < HIA_LEN(ranks))
      ranks[i] = rank;
    else if (i == HIA_LEN(ranks))
      rest = rank;
    else if (rank != rest)
      rest = HIA_NONE;
  }
  return hiaR_op_rank(op, imm, n, ranks, rest);
}

hia_type hiaG_op_type(hia_types *types, unsigned op, uint64_t imm, const hia_type *ins, uint32_t n,
                      hia_dtype result) {
  hia_rule rule = (hia_rule)hiaR_ops[op].rule;
  uint32_t decides = hiaR_rule_decides(rule);
  hia_dtype dtype = result;
  if (rule == HIA_RULE_CONTROL || (hiaR_ops[op].n_ins >= 0 && n != (uint32_t)hiaR_ops[op].n_ins))
    return HIA_NONE;
  if (decides != HIA_NONE)
    dtype = decides >= n ? HIA_N_DTYPES
                         : hiaG_dtype(types, hiaG_ranked_operand(types, op, decides, ins[decides]));
  if (!hiaR_rule_takes(rule, dtype)) return HIA_NONE;
  for (uint32_t i = 0; i < n; i++) {
    hia_dtype its = hiaG_dtype(types, hiaG_ranked_operand(types, op, i, ins[i]));
    if (its == HIA_N_DTYPES || !hiaR_rule_takes_operand(rule, dtype, i, its)) return HIA_NONE;
  }
  uint32_t rank = hiaG_op_rank(types, op, imm, ins, n);
  return rank == HIA_NONE ? HIA_NONE : hiaG_ranked(types, hiaR_rule_result(rule, dtype), rank);
}
