/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules of ops on scalars, which also hold where these are lifted to tensors. */
#include "graph/grad/rules/rule.h"
#include <float.h>
#include <math.h>

/* ---- edges ---- */

static value is_equal(const hia_gradient *d, value a, double x) {
  return op2(d, HIA_OP_EQ, a, number(d, x));
}
static bool is_f32(const hia_gradient *d) { return dtype_of(d, y_of(d)) == HIA_F32; }
static value is_infinite(const hia_gradient *d, value a) { return op1(d, HIA_OP_ISINF, a); }
static value both(const hia_gradient *d, value c, value e) { return op2(d, HIA_OP_BAND, c, e); }
static value either(const hia_gradient *d, value c, value e) { return op2(d, HIA_OP_BOR, c, e); }

/* Returns a, with 0 for -0. A derivative that grows beyond all bounds at 0, and exists on one side
 * only, is an infinity of the sign of that side. */
static value unsigned_zero(const hia_gradient *d, value a) { return add(d, a, number(d, 0)); }

/* (1 - a)(1 + a), which is 1 - a^2 without cancellation where a is near 1. */
static value one_minus_square(const hia_gradient *d, value a) {
  value below = sub(d, number(d, 1), a);
  return mul(d, below, add(d, number(d, 1), a));
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

/* Both types are floats: otherwise `hiaG_gradient` lets nothing flow. */
void hiaG_gradient_CAST(const hia_gradient *d) {
  gives(d, cast(d, dy_of(d), dtype_of(d, a_of(d))));
}

/* ---- what has sides ---- */

void hiaG_gradient_ABS(const hia_gradient *d) {
  value zero = number(d, 0), is_zero = op2(d, HIA_OP_EQ, a_of(d), zero);
  value below = choose(d, is_zero, zero, neg(d, dy_of(d)));
  gives(d, choose(d, op2(d, HIA_OP_GT, a_of(d), zero), dy_of(d), below));
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
  value twice = add(d, y_of(d), y_of(d));
  gives(d, quotient(d, dy_of(d), unsigned_zero(d, twice)));
}
void hiaG_gradient_EXP(const hia_gradient *d) { gives(d, mul(d, dy_of(d), y_of(d))); }
void hiaG_gradient_EXP2(const hia_gradient *d) {
  gives(d, mul(d, mul(d, dy_of(d), number(d, LN_2)), y_of(d)));
}
/* Where exp(a) is below the last bit of 1, y + 1 is not accurate; but there it is next to 0. */
void hiaG_gradient_EXPM1(const hia_gradient *d) {
  gives(d, mul(d, dy_of(d), add(d, y_of(d), number(d, 1))));
}
void hiaG_gradient_LOG(const hia_gradient *d) {
  gives(d, quotient(d, dy_of(d), unsigned_zero(d, a_of(d))));
}
void hiaG_gradient_LOG2(const hia_gradient *d) {
  value dy = mul(d, dy_of(d), number(d, 1 / LN_2));
  gives(d, quotient(d, dy, unsigned_zero(d, a_of(d))));
}
void hiaG_gradient_LOG10(const hia_gradient *d) {
  value dy = mul(d, dy_of(d), number(d, 1 / LN_10));
  gives(d, quotient(d, dy, unsigned_zero(d, a_of(d))));
}
void hiaG_gradient_LOG1P(const hia_gradient *d) {
  gives(d, quotient(d, dy_of(d), add(d, number(d, 1), a_of(d))));
}

/* The derivative for the base is b * a^(b - 1), not b * y / a: a may be 0. Where b is 0 that is 0,
 * also where a^(b - 1) is no number. So it is where b is infinite, and a^b is 0 for all a around.
 */
static value of_base(const hia_gradient *d, value a, value b) {
  value zero = number(d, 0), one = number(d, 1), size = op1(d, HIA_OP_ABS, a);
  value is_large = op2(d, HIA_OP_GE, size, number(d, is_f32(d) ? FLT_MIN : DBL_MIN));
  value is_power_0 = both(d, is_equal(d, b, 0), op1(d, HIA_OP_BNOT, is_large));
  value rises = op2(d, HIA_OP_GT, b, zero);
  value small = choose(d, rises, size, one), large = choose(d, rises, one, size);
  value is_far = both(d, is_infinite(d, b), op2(d, HIA_OP_LT, small, large));
  value is_flat = either(d, is_power_0, is_far);
  value base = choose(d, is_flat, one, a), exponent = choose(d, is_flat, one, b);
  value lower = op2(d, HIA_OP_POW, base, sub(d, exponent, one));
  return choose(d, is_flat, zero, mul(d, dy_of(d), mul(d, exponent, lower)));
}

/* The derivative for the exponent is a^b * log(a). It is 0 where a is 0, and where a is infinite
 * and a^b is 0. The power is computed again: a result that is kept has a gradient in the second
 * derivative, 0 if nothing else, and where a is 0 it would meet an infinity. */
static value of_exponent(const hia_gradient *d, value a, value b) {
  value zero = number(d, 0), one = number(d, 1);
  value is_far = both(d, is_equal(d, a, INFINITY), op2(d, HIA_OP_LT, b, zero));
  value is_flat = either(d, is_equal(d, a, 0), is_far), base = choose(d, is_flat, one, a);
  value power = op2(d, HIA_OP_POW, base, b);
  value db = mul(d, dy_of(d), mul(d, power, op1(d, HIA_OP_LOG, base)));
  return choose(d, is_flat, zero, db);
}

void hiaG_gradient_POW(const hia_gradient *d) {
  value a = a_of(d), b = b_of(d), da = of_base(d, a, b);
  gives_two(d, da, of_exponent(d, a, b));
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
/* 1 - a^2 is rounded once: with a product, where one factor is 0, there would be an infinity times
 * 0 in the second derivative. */
void hiaG_gradient_ASIN(const hia_gradient *d) {
  value a = a_of(d), rest = op3(d, HIA_OP_FMA, neg(d, a), a, number(d, 1));
  gives(d, quotient(d, dy_of(d), op1(d, HIA_OP_SQRT, rest)));
}
void hiaG_gradient_ACOS(const hia_gradient *d) {
  hiaG_gradient_ASIN(d);
  gives(d, neg(d, d->in_gradients[0]));
}
/* All derivatives are 0 at the infinities. */
void hiaG_gradient_ATAN(const hia_gradient *d) {
  value zero = number(d, 0), is_far = is_infinite(d, a_of(d));
  value a = choose(d, is_far, zero, a_of(d)), square = mul(d, a, a);
  value da = quotient(d, dy_of(d), add(d, square, number(d, 1)));
  gives(d, choose(d, is_far, zero, da));
}

/* The rule divides twice by the hypotenuse, not by its square, which may overflow. */
void hiaG_gradient_ATAN2(const hia_gradient *d) {
  value zero = number(d, 0), one = number(d, 1);
  value is_far = either(d, is_infinite(d, a_of(d)), is_infinite(d, b_of(d)));
  value a = choose(d, is_far, one, a_of(d)), b = choose(d, is_far, one, b_of(d));
  value h = op2(d, HIA_OP_HYPOT, a, b), turn = quotient(d, dy_of(d), h);
  value da = mul(d, turn, quotient(d, b, h)), db = neg(d, mul(d, turn, quotient(d, a, h)));
  gives_two(d, choose(d, is_far, zero, da), choose(d, is_far, zero, db));
}

/* The derivative is a / y: 0 where y is 0, and the sign of a where a alone is infinite. */
static value of_leg(const hia_gradient *d, value a, value other) {
  value y = y_of(d), zero = number(d, 0), one = number(d, 1);
  value is_zero = is_equal(d, y, 0);
  value is_far = both(d, is_infinite(d, a), op1(d, HIA_OP_BNOT, is_infinite(d, other)));
  value sign = choose(d, op2(d, HIA_OP_GT, a, zero), one, number(d, -1));
  value leg = choose(d, is_far, sign, a);
  value ratio = quotient(d, leg, choose(d, either(d, is_zero, is_far), one, y));
  return choose(d, is_zero, zero, mul(d, dy_of(d), ratio));
}

void hiaG_gradient_HYPOT(const hia_gradient *d) {
  value da = of_leg(d, a_of(d), b_of(d));
  gives_two(d, da, of_leg(d, b_of(d), a_of(d)));
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
