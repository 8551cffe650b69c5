/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules of differentiation, one for each row of the op table that says OWN.
 *
 * Rules for changing it:
 * 1. No multiplication by 0 or 1 where a branch is meant: the gradient may be infinite or a NaN,
 *    and 0 times it is a NaN. `select` is right.
 * 2. A result is used rather than computed again. If it is not accurate enough there, the rule says
 *    so.
 * 3. What is squared must not overflow or vanish where the gradient does not. */
#include "graph/gradient.h"

#define GRADIENT_OWN(NAME) void hiaG_gradient_##NAME(const hia_gradient *d);
#define GRADIENT_ZERO(NAME)
#define GRADIENT_NONE(NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  GRADIENT_##GRADIENT(NAME)
#include "runtime/base/ops.def"
#undef GRADIENT_OWN

/* ---- building ---- */

typedef hia_value_id value;

static value op1(const hia_gradient *d, unsigned op, value a) {
  return hiaG_op(d->g, d->fn, d->region, op, &a, 1, d->loc);
}
static value op2(const hia_gradient *d, unsigned op, value a, value b) {
  return hiaG_op(d->g, d->fn, d->region, op, (value[]){a, b}, 2, d->loc);
}
static value add(const hia_gradient *d, value a, value b) { return op2(d, HIA_OP_ADD, a, b); }
static value sub(const hia_gradient *d, value a, value b) { return op2(d, HIA_OP_SUB, a, b); }
static value mul(const hia_gradient *d, value a, value b) { return op2(d, HIA_OP_MUL, a, b); }
static value quotient(const hia_gradient *d, value a, value b) { return op2(d, HIA_OP_DIV, a, b); }
static value neg(const hia_gradient *d, value a) { return op1(d, HIA_OP_NEG, a); }
static value choose(const hia_gradient *d, value c, value a, value b) {
  return hiaG_op(d->g, d->fn, d->region, HIA_OP_SELECT, (value[]){c, a, b}, 3, d->loc);
}

/* The operands, the result, and its gradient. */
static value a_of(const hia_gradient *d) { return d->ins[0]; }
static value b_of(const hia_gradient *d) { return d->ins[1]; }
static value y_of(const hia_gradient *d) { return d->outs[0]; }
static value dy_of(const hia_gradient *d) { return d->out_gradients[0]; }

/* A number in the dtype of the result. */
static value number(const hia_gradient *d, double x) {
  hia_type t = hiaG_type(d->fn, dy_of(d));
  hia_word word = t == HIA_F32 ? hiaR_from_f32((float)x) : hiaR_from_f64(x);
  return hiaG_const(d->g, d->fn, d->region, t, word, d->loc);
}
/* (1 - a)(1 + a), which is 1 - a^2 without cancellation where a is near 1. */
static value one_minus_square(const hia_gradient *d, value a) {
  value below = sub(d, number(d, 1), a);
  return mul(d, below, add(d, number(d, 1), a));
}

static void gives(const hia_gradient *d, value da) { d->in_gradients[0] = da; }
static void gives_two(const hia_gradient *d, value da, value db) {
  d->in_gradients[0] = da;
  d->in_gradients[1] = db;
}

/* ---- arithmetic ---- */

void hiaG_gradient_ADD(const hia_gradient *d) { gives_two(d, dy_of(d), dy_of(d)); }
void hiaG_gradient_SUB(const hia_gradient *d) { gives_two(d, dy_of(d), neg(d, dy_of(d))); }
void hiaG_gradient_NEG(const hia_gradient *d) { gives(d, neg(d, dy_of(d))); }

void hiaG_gradient_MUL(const hia_gradient *d) {
  value da = mul(d, dy_of(d), b_of(d));
  gives_two(d, da, mul(d, dy_of(d), a_of(d)));
}

void hiaG_gradient_DIV(const hia_gradient *d) {
  value da = quotient(d, dy_of(d), b_of(d));
  gives_two(d, da, neg(d, mul(d, da, y_of(d))));
}

/* a - y is a multiple of b but for its rounding. */
void hiaG_gradient_REM(const hia_gradient *d) {
  value times = op1(d, HIA_OP_ROUND, quotient(d, sub(d, a_of(d), y_of(d)), b_of(d)));
  gives_two(d, dy_of(d), neg(d, mul(d, dy_of(d), times)));
}

void hiaG_gradient_FMA(const hia_gradient *d) {
  hiaG_gradient_MUL(d);
  d->in_gradients[2] = dy_of(d);
}

/* Between floats. Otherwise `hiaG_gradient` lets nothing flow. */
void hiaG_gradient_CAST(const hia_gradient *d) {
  hia_type to = hiaG_type(d->fn, a_of(d)), from = hiaG_type(d->fn, dy_of(d));
  value dy = dy_of(d);
  if (to == from) {
    gives(d, dy);
    return;
  }
  hia_node_id n =
      hiaG_add(d->g, d->fn, d->region, HIA_OP_CAST, &dy, 1, &to, 1, (uint64_t)from, d->loc);
  gives(d, hiaG_out(d->fn, n, 0));
}

/* ---- what has sides ---- */

void hiaG_gradient_ABS(const hia_gradient *d) {
  value zero = number(d, 0), is_zero = op2(d, HIA_OP_EQ, a_of(d), zero);
  value other = choose(d, is_zero, zero, neg(d, dy_of(d)));
  gives(d, choose(d, op2(d, HIA_OP_GT, a_of(d), zero), dy_of(d), other));
}

void hiaG_gradient_RELU(const hia_gradient *d) {
  value zero = number(d, 0);
  gives(d, choose(d, op2(d, HIA_OP_LE, a_of(d), zero), zero, dy_of(d)));
}

static void one_of_two(const hia_gradient *d, unsigned is_first) {
  value zero = number(d, 0), first = op2(d, is_first, a_of(d), b_of(d));
  value da = choose(d, first, dy_of(d), zero);
  gives_two(d, da, choose(d, first, zero, dy_of(d)));
}
void hiaG_gradient_MIN(const hia_gradient *d) { one_of_two(d, HIA_OP_LE); }
void hiaG_gradient_MAX(const hia_gradient *d) { one_of_two(d, HIA_OP_GE); }

void hiaG_gradient_SELECT(const hia_gradient *d) {
  value zero = number(d, 0);
  d->in_gradients[1] = choose(d, a_of(d), dy_of(d), zero);
  d->in_gradients[2] = choose(d, a_of(d), zero, dy_of(d));
}

/* ---- powers and logarithms ---- */

static const double LN_2 = 0.69314718055994530942, LN_10 = 2.30258509299404568402;

void hiaG_gradient_SQRT(const hia_gradient *d) {
  gives(d, quotient(d, dy_of(d), add(d, y_of(d), y_of(d))));
}
void hiaG_gradient_EXP(const hia_gradient *d) { gives(d, mul(d, dy_of(d), y_of(d))); }
void hiaG_gradient_EXP2(const hia_gradient *d) {
  gives(d, mul(d, mul(d, dy_of(d), number(d, LN_2)), y_of(d)));
}
/* Where exp(a) is below the last bit of 1, y + 1 is not accurate; but there it is next to 0. */
void hiaG_gradient_EXPM1(const hia_gradient *d) {
  gives(d, mul(d, dy_of(d), add(d, y_of(d), number(d, 1))));
}
void hiaG_gradient_LOG(const hia_gradient *d) { gives(d, quotient(d, dy_of(d), a_of(d))); }
void hiaG_gradient_LOG2(const hia_gradient *d) {
  gives(d, quotient(d, mul(d, dy_of(d), number(d, 1 / LN_2)), a_of(d)));
}
void hiaG_gradient_LOG10(const hia_gradient *d) {
  gives(d, quotient(d, mul(d, dy_of(d), number(d, 1 / LN_10)), a_of(d)));
}
void hiaG_gradient_LOG1P(const hia_gradient *d) {
  gives(d, quotient(d, dy_of(d), add(d, number(d, 1), a_of(d))));
}

/* a^(b - 1), not y / a: a may be 0. */
void hiaG_gradient_POW(const hia_gradient *d) {
  value zero = number(d, 0), a = a_of(d), b = b_of(d), dy = dy_of(d);
  value lower = op2(d, HIA_OP_POW, a, sub(d, b, number(d, 1)));
  value da = mul(d, dy, mul(d, b, lower)), db = mul(d, dy, mul(d, y_of(d), op1(d, HIA_OP_LOG, a)));
  da = choose(d, op2(d, HIA_OP_EQ, b, zero), zero, da);
  gives_two(d, da, choose(d, op2(d, HIA_OP_EQ, a, zero), zero, db));
}

/* ---- angles ---- */

void hiaG_gradient_SIN(const hia_gradient *d) {
  gives(d, mul(d, dy_of(d), op1(d, HIA_OP_COS, a_of(d))));
}
void hiaG_gradient_COS(const hia_gradient *d) {
  gives(d, neg(d, mul(d, dy_of(d), op1(d, HIA_OP_SIN, a_of(d)))));
}
void hiaG_gradient_TAN(const hia_gradient *d) {
  value square = mul(d, y_of(d), y_of(d));
  gives(d, mul(d, dy_of(d), add(d, square, number(d, 1))));
}
void hiaG_gradient_ASIN(const hia_gradient *d) {
  gives(d, quotient(d, dy_of(d), op1(d, HIA_OP_SQRT, one_minus_square(d, a_of(d)))));
}
void hiaG_gradient_ACOS(const hia_gradient *d) {
  hiaG_gradient_ASIN(d);
  gives(d, neg(d, d->in_gradients[0]));
}
void hiaG_gradient_ATAN(const hia_gradient *d) {
  value square = mul(d, a_of(d), a_of(d));
  gives(d, quotient(d, dy_of(d), add(d, square, number(d, 1))));
}

/* Twice divided by the hypotenuse, not by its square. */
void hiaG_gradient_ATAN2(const hia_gradient *d) {
  value h = op2(d, HIA_OP_HYPOT, a_of(d), b_of(d)), turn = quotient(d, dy_of(d), h);
  value da = mul(d, turn, quotient(d, b_of(d), h));
  gives_two(d, da, neg(d, mul(d, turn, quotient(d, a_of(d), h))));
}

void hiaG_gradient_HYPOT(const hia_gradient *d) {
  value zero = number(d, 0), is_zero = op2(d, HIA_OP_EQ, y_of(d), zero);
  value da = mul(d, dy_of(d), quotient(d, a_of(d), y_of(d)));
  value db = mul(d, dy_of(d), quotient(d, b_of(d), y_of(d)));
  da = choose(d, is_zero, zero, da);
  gives_two(d, da, choose(d, is_zero, zero, db));
}

/* ---- hyperbolic ---- */

void hiaG_gradient_SINH(const hia_gradient *d) {
  gives(d, mul(d, dy_of(d), op1(d, HIA_OP_COSH, a_of(d))));
}
void hiaG_gradient_COSH(const hia_gradient *d) {
  gives(d, mul(d, dy_of(d), op1(d, HIA_OP_SINH, a_of(d))));
}
void hiaG_gradient_TANH(const hia_gradient *d) {
  gives(d, mul(d, dy_of(d), one_minus_square(d, y_of(d))));
}
void hiaG_gradient_SIGMOID(const hia_gradient *d) {
  value rest = sub(d, number(d, 1), y_of(d));
  gives(d, mul(d, dy_of(d), mul(d, y_of(d), rest)));
}

/* ---- by op ---- */

#define GRADIENT_OWN(NAME) hiaG_gradient_##NAME
#undef GRADIENT_ZERO
#undef GRADIENT_NONE
#define GRADIENT_ZERO(NAME) NULL
#define GRADIENT_NONE(NAME) NULL

bool hiaG_gradient(const hia_gradient *d, unsigned op) {
  static void (*const rules[HIA_OP_LIMIT])(const hia_gradient *) = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  [number] = GRADIENT_##GRADIENT(NAME),
#include "runtime/base/ops.def"
  };
  const hia_op_info *row = &hiaR_ops[op];
  if (row->gradient == HIA_GRADIENT_NONE) return false;
  for (int i = 0; i < row->n_ins; i++) d->in_gradients[i] = HIA_NONE;
  if (!rules[op]) return true;
  /* The last operand has the dtype at which the op is. */
  hia_type in = hiaG_type(d->fn, d->ins[row->n_ins - 1]), out = hiaG_type(d->fn, d->outs[0]);
  if (in >= HIA_F32 && in <= HIA_F64 && out >= HIA_F32 && out <= HIA_F64) rules[op](d);
  return true;
}
