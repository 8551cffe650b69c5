/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The table of the rules, one for each row of the op table that says OWN, and what is done for all
 * of them. No other file knows all rules. */
#include "graph/grad/rules/rule.h"

#define GRADIENT_OWN(NAME)  hiaG_gradient_##NAME
#define GRADIENT_ZERO(NAME) NULL
#define GRADIENT_NONE(NAME) NULL

static bool is_float(hia_dtype dtype) { return dtype == HIA_F32 || dtype == HIA_F64; }

/* Returns what operand i of an elementwise op gets of `dx`, which has the shape of the result. If
 * no other operand is a tensor, the operand has this shape, too. */
static value fitted(const hia_gradient *d, uint32_t i, value dx) {
  value x = d->ins[i];
  bool may_be_broadcast = false;
  if (rank_of(d, dx) == 0) return dx;
  if (rank_of(d, x) == 0) return with_imm(d, HIA_OP_SUM, &dx, 1, HIA_NONE);
  for (uint32_t k = 0; k < d->n_ins; k++)
    may_be_broadcast |= d->ins[k] != x && is_tensor(d, d->ins[k]);
  return may_be_broadcast ? op2(d, HIA_OP_FIT, dx, x) : dx;
}

bool hiaG_gradient(const hia_gradient *d, unsigned op) {
  static void (*const rules[HIA_OP_LIMIT])(const hia_gradient *) = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  [number] = GRADIENT_##GRADIENT(NAME),
#include "runtime/base/ops.def"
  };
  const hia_op_info *row = &hiaR_ops[op];
  bool is_lifted = row->shape == HIA_SHAPE_ELEMENTWISE;
  if (row->gradient == HIA_GRADIENT_NONE) return false;
  for (uint32_t i = 0; i < d->n_ins; i++) d->in_gradients[i] = HIA_NONE;
  if (!rules[op] || !is_float(dtype_of(d, d->outs[0]))) return true;
  /* The last operand of an op on scalars has the dtype at which it is. */
  if (is_lifted && !is_float(dtype_of(d, d->ins[d->n_ins - 1]))) return true;
  rules[op](d);
  for (uint32_t i = 0; i < d->n_ins; i++) {
    value dx = d->in_gradients[i];
    if (dx == HIA_NONE) continue;
    if (is_lifted) dx = fitted(d, i, dx);
    if (wants_sum(d, i) && is_tensor(d, d->ins[i]) && is_tensor(d, dx))
      dx = hiaG_sum_part(d, i, HIA_SUM_DENSE, &dx, 1);
    d->in_gradients[i] = dx;
  }
  return true;
}
