/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: what rules are made of. scalar.c, tensor.c and product.c have the rules,
 * shared.c what they share; table.c alone knows all of them.
 *
 * Rules for changing them:
 * 1. No multiplication by 0 or 1 where a branch is meant: the gradient may be infinite or a NaN,
 *    and 0 times it is a NaN. `select` is right. What it leaves out is differentiated as well, with
 *    a gradient of 0, which must not meet an infinity on its way. So where it would, what is left
 *    out is computed of other operands: select(a == 0, 0, f(select(a == 0, 1, a))).
 * 2. A result is used rather than computed again. If it is not accurate enough there, the rule says
 *    so.
 * 3. What is squared must not overflow or vanish where the gradient does not.
 * 4. A 0 that flows is not a reason to give 0: what has made it 0 may still change, and a second
 *    derivative asks for that.
 * 5. Rules of elementwise ops give what the gradient is before it is summed along the axes of a
 *    broadcast: a scalar or a tensor of the shape of the result. hiaG_gradient does the rest. */
#ifndef HIA_GRADIENT_RULE_H
#define HIA_GRADIENT_RULE_H

#include "graph/grad/rules/rules.h"
#include "graph/ir/build.h"
#include "graph/ir/sums.h"

#define GRADIENT_OWN(NAME) void hiaG_gradient_##NAME(const hia_gradient *d);
#define GRADIENT_ZERO(NAME)
#define GRADIENT_NONE(NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  GRADIENT_##GRADIENT(NAME)
#include "runtime/base/ops.def"
#undef GRADIENT_OWN
#undef GRADIENT_ZERO
#undef GRADIENT_NONE

typedef hia_value_id value;

/* ---- the operands, the result, and its gradient ---- */

static inline value a_of(const hia_gradient *d) { return d->ins[0]; }
static inline value b_of(const hia_gradient *d) { return d->ins[1]; }
static inline value y_of(const hia_gradient *d) { return d->outs[0]; }
static inline value dy_of(const hia_gradient *d) { return d->out_gradients[0]; }

static inline hia_dtype dtype_of(const hia_gradient *d, value v) {
  return hiaG_dtype(d->g->types, hiaG_type(d->fn, v));
}
static inline uint32_t rank_of(const hia_gradient *d, value v) {
  return hiaG_rank(d->g->types, hiaG_type(d->fn, v));
}
static inline bool is_tensor(const hia_gradient *d, value v) {
  return hiaG_is_tensor(d->g, d->fn, v);
}

static inline void gives(const hia_gradient *d, value da) { d->in_gradients[0] = da; }
static inline void gives_two(const hia_gradient *d, value da, value db) {
  d->in_gradients[0] = da;
  d->in_gradients[1] = db;
}

/* ---- building ---- */

static inline value with_imm(const hia_gradient *d, unsigned op, const value *ins, uint32_t n,
                             uint64_t imm) {
  return hiaG_computed(d->g, d->fn, d->region, op, ins, n, HIA_N_DTYPES, imm, d->loc);
}
static inline value op1(const hia_gradient *d, unsigned op, value a) {
  return hiaG_op(d->g, d->fn, d->region, op, &a, 1, d->loc);
}
static inline value op2(const hia_gradient *d, unsigned op, value a, value b) {
  return hiaG_op(d->g, d->fn, d->region, op, (value[]){a, b}, 2, d->loc);
}
static inline value op3(const hia_gradient *d, unsigned op, value a, value b, value c) {
  return hiaG_op(d->g, d->fn, d->region, op, (value[]){a, b, c}, 3, d->loc);
}
static inline value add(const hia_gradient *d, value a, value b) {
  return op2(d, HIA_OP_ADD, a, b);
}
static inline value sub(const hia_gradient *d, value a, value b) {
  return op2(d, HIA_OP_SUB, a, b);
}
static inline value mul(const hia_gradient *d, value a, value b) {
  return op2(d, HIA_OP_MUL, a, b);
}
static inline value quotient(const hia_gradient *d, value a, value b) {
  return op2(d, HIA_OP_DIV, a, b);
}
static inline value neg(const hia_gradient *d, value a) { return op1(d, HIA_OP_NEG, a); }
static inline value choose(const hia_gradient *d, value c, value a, value b) {
  return op3(d, HIA_OP_SELECT, c, a, b);
}
static inline value cast(const hia_gradient *d, value a, hia_dtype to) {
  hia_dtype from = dtype_of(d, a);
  if (from == to) return a;
  return hiaG_computed(d->g, d->fn, d->region, HIA_OP_CAST, &a, 1, to, (uint64_t)from, d->loc);
}

/* Returns a number in the dtype of the result. */
static inline value number(const hia_gradient *d, double x) {
  hia_dtype t = dtype_of(d, y_of(d));
  hia_word word = t == HIA_F32 ? hiaR_from_f32((float)x) : hiaR_from_f64(x);
  return hiaG_const(d->g, d->fn, d->region, t, word, d->loc);
}
static inline value integer(const hia_gradient *d, int64_t i) {
  return hiaG_const(d->g, d->fn, d->region, HIA_I64, hiaR_from_i64(i), d->loc);
}

/* ---- shared.c: shapes ---- */

value hiaG_size_of(const hia_gradient *d, value x, uint32_t axis);
/* Writes the sizes of x, and returns its rank. */
uint32_t hiaG_all_sizes(const hia_gradient *d, value x, value sizes[HIA_MAX_RANK]);
/* Returns the number of elements of the first n axes. */
value hiaG_sizes_of(const hia_gradient *d, value x, uint32_t n);
/* Returns the elements of v in another shape, of rank 1 or more. v may be a scalar, which is
 * copied. */
value hiaG_shaped(const hia_gradient *d, value v, const value *sizes, uint32_t rank);
value hiaG_shaped_as(const hia_gradient *d, value v, value x);
/* Returns x, of rank 2 or more, as a matrix: its columns are the last axis, its rows all others. */
value hiaG_as_matrix(const hia_gradient *d, value x);

/* ---- shared.c: contributions ----
 *
 * Each becomes the gradient of operand i: a sum if one is wanted, else the tensor. */

static inline bool wants_sum(const hia_gradient *d, uint32_t i) {
  return d->wants_sum && d->wants_sum[i];
}
/* Returns a part of a sum for operand i. */
value hiaG_sum_part(const hia_gradient *d, uint32_t i, hia_sum_ctor ctor, const value *fields,
                    uint32_t n);
/* The gradient of operand i, a matrix, is a[i] * b[j]; or transpose(a) @ b. */
void hiaG_gives_outer(const hia_gradient *d, uint32_t i, value a, value b);
void hiaG_gives_products(const hia_gradient *d, uint32_t i, value a, value b);

#endif
