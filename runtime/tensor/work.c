/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What operations on tensors cost of the fuel (graph/passes/fuel.c). The cost follows from the
 * shapes of the operands alone, so it is known before anything is computed. It is 0 where the
 * operands do not fit, or no memory could hold the result: then the operation itself fails. */
#include "runtime/tensor/operands.h"

enum { PER_UNIT = 1024 }; /* scalar operations */

static uint64_t elements(const hia_dims *shape) {
  uint64_t n;
  return hiaR_shape_elements(shape, 1, &n) ? n : 0;
}

static uint64_t sum(uint64_t a, uint64_t b) {
  return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

/* The cost of a product of two operands: one multiplication for each element of the result and each
 * of the axis along which products are added, the last of x. */
static uint64_t of_product(const hia_dims *ins) {
  hia_dims out;
  if (hiaR_shape_product(&ins[0], &ins[1], &out, NULL) != HIA_FIT_ALWAYS) return 0;
  uint64_t n = elements(&out), k = (uint64_t)ins[0].dims[ins[0].rank - 1];
  return __builtin_mul_overflow(n, k, &n) ? UINT64_MAX : n;
}

/* The cost of a product of matrices, of which one is transposed. */
static uint64_t of_transposed(const hia_dims *ins, uint32_t transposed) {
  hia_dims pair[2] = {ins[0], ins[1]}, *x = &pair[transposed];
  if (x->rank < 2) return 0;
  hia_dim rows = x->dims[x->rank - 2];
  x->dims[x->rank - 2] = x->dims[x->rank - 1];
  x->dims[x->rank - 1] = rows;
  return of_product(pair);
}

/* Scalar operations; in[0] is the fuel. The immediate is the op (hiaR_work_takes). */
static uint64_t scalar_operations(const hia_operation *o, const hia_word *in) {
  hia_dims ins[3] = {{0}}, out = {0};
  uint32_t n = o->n_in - 1;
  hia_fit fit = HIA_FIT_NEVER;
  for (uint32_t i = 0; i < n && i < HIA_LEN(ins); i++) ins[i] = hiaR_operand_dims(o, in, i + 1);
  switch ((hia_shape_rule)hiaR_ops[o->imm].shape) {
  case HIA_SHAPE_ELEMENTWISE: fit = hiaR_shape_broadcast(ins, n, &out, NULL); break;
  case HIA_SHAPE_ROWS: fit = hiaR_shape_index(&ins[0], &ins[1], &out, NULL); break;
  case HIA_SHAPE_OUTER: fit = hiaR_shape_outer(&ins[0], &ins[1], &out, NULL); break;
  case HIA_SHAPE_PRODUCT: return of_product(ins);
  case HIA_SHAPE_PRODUCT_AT: return of_transposed(ins, 0);
  case HIA_SHAPE_PRODUCT_BT: return of_transposed(ins, 1);
  case HIA_SHAPE_FIT: /* of equal shapes it is the operand */
    return hiaR_dims_equal(&ins[0], &ins[1]) ? 0 : elements(&ins[0]);
  case HIA_SHAPE_IOTA:
  case HIA_SHAPE_ONE_HOT: /* the size is the last operand */
    return hiaR_to_i64(in[n]) > 0 ? (uint64_t)hiaR_to_i64(in[n]) : 0;
  case HIA_SHAPE_FULL: {
    int64_t sizes[HIA_MAX_RANK];
    for (uint32_t i = 0; i + 1 < n; i++) sizes[i] = hiaR_to_i64(in[i + 2]);
    fit = hiaR_shape_of_sizes(sizes, n - 1, &out, NULL);
    break;
  }
  default: { /* all elements of the operands */
    uint64_t all = 0;
    for (uint32_t i = 0; i < n; i++) {
      hia_dims x = hiaR_operand_dims(o, in, i + 1);
      all = sum(all, elements(&x));
    }
    return all;
  }
  }
  return fit == HIA_FIT_ALWAYS ? elements(&out) : 0;
}

/* Takes no reference, and makes none. */
HIA_OPERATION(WORK) {
  (void)env;
  uint64_t cost = scalar_operations(o, in) / PER_UNIT, fuel = in[0];
  if (fuel < cost) {
    why->fuel_left = fuel;
    return HIA_FUEL;
  }
  *out = fuel - cost;
  return HIA_OK;
}
