/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions at f32, in f32 arithmetic. elementary.h describes the vocabulary.
 *
 * Polynomials are minimax approximations with coefficients that are floats, by Sollya's fpminimax
 * (Brisebarre and Chevillard, "Efficient polynomial L-approximations", 2007); elementary.sollya
 * makes them, and prints the bounds that are stated here. Largest errors: docs/elementary.md. */

/* a number n and r = a - n ln 2, |r| < 0.347, for |a| < 110. Adding 1.5 * 2^23 rounds to an
 * integer, and leaves it in the low bits of t, plus `bias`. The first product is no float, but n *
 * LN2 is a multiple of 2^-24, so the fused multiply-add is exact. (Cody and Waite, "Software Manual
 * for the Elementary Functions", 1980.) */
#define REDUCE_EXP(a, bias)                                                                        \
  HF t = FMA(a, K(0x1.715476p+0), K(0x1.8p23 + (bias)));                                           \
  HF n = SUB(t, K(0x1.8p23 + (bias)));                                                             \
  HF r = FMA(n, K(-0x1.62e430p-1), a);                                                             \
  r = FMA(n, K(0x1.05c610p-29), r)

/* exp(r), |error| < 2^-28.2; and (exp(r) - 1 - r) / r^2, for an expm1 to 2^-26.0. */
#define EXP_POLY(r)                                                                                \
  H6(r, 0x1.6a622ap-10, 0x1.123ab8p-7, 0x1.55589ep-5, 0x1.55549p-3, 0x1.fffffcp-2, 1.0, 1.0)
#define EXPM1_POLY(r)                                                                              \
  H4(r, 0x1.6b738ep-10, 0x1.1227a6p-7, 0x1.555716p-5, 0x1.5554bp-3, 0x1.fffffep-2)

/* p * 2^n, where t has n + 254 in its low bits: in two factors, since 2^n need not be a float. The
 * first one is exact, so an underflow rounds once. */
#define SCALE(p, t)                                                                                \
  HI e = SHL(BITS(t), 23);                                                                         \
  HI half = IAND(SHR(e, 1), KI(0x7f800000));                                                       \
  HF scaled = MUL(MUL(p, FLOAT(half)), FLOAT(ISUB(e, half)))

HIA_ELEMENTARY_1(exp) {
  HF a = AT_MOST(89.0, x);
  a = AT_LEAST(-104.0, a);
  REDUCE_EXP(a, 254);
  HF p = EXP_POLY(r);
  SCALE(p, t);
  return scaled;
}

/* 2^r, |error| < 2^-28.0 */
#define EXP2_POLY(r)                                                                               \
  H6(r, 0x1.3fa206p-13, 0x1.5f0b82p-10, 0x1.3b30ap-7, 0x1.c6af76p-5, 0x1.ebfbd8p-3, 0x1.62e43p-1,  \
     1.0)

HIA_ELEMENTARY_1(exp2) {
  HF a = AT_MOST(129.0, x);
  a = AT_LEAST(-151.0, a);
  HF t = ADD(a, K(0x1.8p23 + 254));
  HF r = SUB(a, SUB(t, K(0x1.8p23 + 254)));
  HF p = EXP2_POLY(r);
  SCALE(p, t);
  return scaled;
}

/* 2 (2^(n-1) expm1(r) + 2^(n-1) - 1/2): 2^n is no float for the largest x. */
HIA_ELEMENTARY_1(expm1) {
  HF a = AT_MOST(89.0, x);
  a = AT_LEAST(-20.0, a);
  REDUCE_EXP(a, 126);
  HF p = EXPM1_POLY(r);
  HF q = FMA(MUL(p, r), r, r);
  HF s = FLOAT(SHL(BITS(t), 23));
  HF y = FMA(q, s, SUB(s, K(0.5)));
  return SELECT(LT(ABS(x), K(0x1p-25)), x, ADD(y, y));
}

/* With m = expm1(-2|x|), tanh |x| = -m / (2 + m): one path for all x, and no cancellation. From
 * m = 2^n q + 2^n - 1 numerator and denominator are rounded once each. */
HIA_ELEMENTARY_1(tanh) {
  HF a = MUL(ABS(x), K(-2.0));
  a = AT_LEAST(-20.0, a);
  REDUCE_EXP(a, 127);
  HF p = EXPM1_POLY(r);
  HF q = FMA(MUL(p, r), r, r);
  HF s = FLOAT(SHL(BITS(t), 23));
  HF numerator = FMA(NEG(q), s, SUB(K(1.0), s));
  HF denominator = FMA(q, s, ADD(K(1.0), s));
  HF y = DIV(numerator, denominator);
  return FLOAT(IOR(BITS(y), IAND(BITS(x), KI(INT32_MIN))));
}

/* With e = exp(-|x|): 1 / (1 + e), and e / (1 + e) for negative x, where 1 / (1 + exp(-x)) would
 * lose all bits to the overflow of exp. */
HIA_ELEMENTARY_1(sigmoid) {
  HF a = NEG(ABS(x));
  a = AT_LEAST(-104.0, a);
  REDUCE_EXP(a, 127 + 32);
  HF p = EXP_POLY(r);
  /* n <= 0, so 2^(n + 32) is a float, and its product with p is exact. */
  HF e = MUL(MUL(p, FLOAT(SHL(BITS(t), 23))), K(0x1p-32));
  HF numerator = SELECT(LT(x, K(0.0)), e, K(1.0));
  return DIV(numerator, ADD(K(1.0), e));
}

/* x = 2^n (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), for positive finite x, with denormal ones
 * scaled up. */
#define REDUCE_LOG(x)                                                                              \
  HB is_small = LT(x, K(0x1p-126));                                                                \
  HI b = ISUB(BITS(SELECT(is_small, MUL(x, K(0x1p23)), x)), KI(0x3f3504f3));                       \
  HF n = SUB(FROM_INT(SAR(b, 23)), SELECT(is_small, K(23.0), K(0.0)));                             \
  HF f = SUB(FLOAT(IADD(IAND(b, KI(0x7fffff)), KI(0x3f3504f3))), K(1.0))

/* A logarithm: y for a positive finite v, and at 0, below it, of infinity and NaN as it must be. */
#define LOG_RESULT(v, y)                                                                           \
  SELECT(LT(K(0.0), v), SELECT(EQ(v, K(INFINITY)), v, y),                                          \
         SELECT(EQ(v, K(0.0)), K(-INFINITY), K(NAN)))

/* (log(1 + f) - f + f^2 / 2) / f^3, for a log(1 + f) to 2^-26.9 */
#define LOG_POLY(f)                                                                                \
  H7(f, -0x1.2a6f78p-4, 0x1.015974p-3, -0x1.0e96ccp-3, 0x1.239ce2p-3, -0x1.5466fep-3,              \
     0x1.99944ep-3, -0x1.000234p-2, 0x1.55557p-2)

/* n ln 2 + log(1 + f); n LN2 is exact in the fused multiply-add, and the rest of ln 2 is added to
 * what is small. */
#define LOG_SUM(n, f)                                                                              \
  HF f2 = MUL(f, f);                                                                               \
  HF q = FMA(MUL(LOG_POLY(f), f), f2, MUL(n, K(-0x1.05c610p-29)));                                 \
  q = FMA(f2, K(-0.5), q);                                                                         \
  HF sum = FMA(n, K(0x1.62e430p-1), ADD(f, q))

HIA_ELEMENTARY_1(log) {
  REDUCE_LOG(x);
  LOG_SUM(n, f);
  return LOG_RESULT(x, sum);
}

/* 1 + x rounded gives n; f = (1 + x) / 2^n - 1 itself is rounded once. From 2^60 on 1 does not
 * count, and 2^-n need not be a float. */
HIA_ELEMENTARY_1(log1p) {
  HF u = ADD(K(1.0), x);
  HI b = ISUB(BITS(u), KI(0x3f3504f3));
  HF n = FROM_INT(SAR(b, 23));
  HF s = FLOAT(ISUB(KI(0x3f800000), IAND(b, KI(-0x800000))));
  HF large = SUB(FLOAT(IADD(IAND(b, KI(0x7fffff)), KI(0x3f3504f3))), K(1.0));
  HF f = SELECT(LT(x, K(0x1p60)), FMA(x, s, SUB(s, K(1.0))), large);
  LOG_SUM(n, f);
  return SELECT(EQ(x, K(0.0)), x, LOG_RESULT(u, sum));
}

/* log2(1 + f) = f (C + D(f)), |error| < 2^-27.6; C has all the bits of a float and D begins with
 * what it lacks. */
HIA_ELEMENTARY_1(log2) {
  REDUCE_LOG(x);
  HF d = H7(f, -0x1.c367c8p-4, 0x1.7e0e4cp-3, -0x1.877adep-3, 0x1.a2e68p-3, -0x1.eab182p-3,
            0x1.277ef4p-2, -0x1.715ac8p-2, 0x1.ec7094p-2);
  d = FMA(FMA(d, f, K(-0x1.71547p-1)), f, K(0x1.4aeae6p-26));
  HF y = ADD(n, FMA(f, K(0x1.715476p0), MUL(f, d)));
  return LOG_RESULT(x, y);
}

/* The polynomial for log10, |error| < 2^-27.7; n log10(2) in two parts. */
HIA_ELEMENTARY_1(log10) {
  REDUCE_LOG(x);
  HF d = H7(f, -0x1.0f276ap-5, 0x1.cb7b2p-5, -0x1.d75e4ap-5, 0x1.f88106p-5, -0x1.276f5ep-4,
            0x1.63cf5p-4, -0x1.bcbf2ap-4, 0x1.287a72p-3);
  d = FMA(FMA(d, f, K(-0x1.bcb7aap-3)), f, K(-0x1.5c805cp-27));
  HF y = FMA(f, K(0x1.bcb7b2p-2), FMA(f, d, MUL(n, K(-0x1.ec10cp-27))));
  y = FMA(n, K(0x1.344136p-2), y);
  return LOG_RESULT(x, y);
}

/* ---- trigonometric functions ---- */

/* r = a - n pi, with pi in three parts. Up to |n| = 2^21 the first product is cancelled exactly:
 * the sum is a multiple of 2^-23, and less than 2. */
#define LESS_PI(n, a)                                                                              \
  FMA(n, K(0x1.ee59dap-49), FMA(n, K(0x1.777a5cp-24), FMA(n, K(-0x1.921fb6p+1), a)))

/* Operands from here on are far: elementary_far.c. Up to here an error of a / pi does not matter.
 */
#define IS_FAR(a) NOT(LT(a, K(0x1p17)))

/* sin(r), |error| < 2^-27.1, for |r| <= pi / 2 + 0.005 */
#define SIN_POLY(r)                                                                                \
  HF z = MUL(r, r);                                                                                \
  HF p = FMA(H1(z, 0x1.5dbbe2p-19, -0x1.9f7044p-13), MUL(z, z),                                    \
             H1(z, 0x1.110ed8p-7, -0x1.55554cp-3));                                                \
  HF y = FMA(MUL(z, r), p, r)

/* With |x| = n pi + r, sin |x| = (-1)^n sin r. */
HIA_ELEMENTARY_1(sin) {
  HF a = ABS(x);
  HF t = FMA(a, K(0x1.45f306p-2), K(0x1.8p23));
  HF n = SUB(t, K(0x1.8p23));
  HF r = LESS_PI(n, a);
  SIN_POLY(r);
  HI sign = IXOR(SHL(BITS(t), 31), IXOR(BITS(x), BITS(a)));
  return FAR_1(IS_FAR(a), sin, x, FLOAT(IXOR(BITS(y), sign)));
}

/* With |x| = (n - 1/2) pi + r, cos |x| = (-1)^n sin r. */
HIA_ELEMENTARY_1(cos) {
  HF a = ABS(x);
  HF t = ADD(FMA(a, K(0x1.45f306p-2), K(0.5)), K(0x1.8p23));
  HF n = SUB(SUB(t, K(0x1.8p23)), K(0.5));
  HF r = LESS_PI(n, a);
  SIN_POLY(r);
  return FAR_1(IS_FAR(a), cos, x, FLOAT(IXOR(BITS(y), SHL(BITS(t), 31))));
}

/* With |x| = n pi / 2 + r + low and t = 2 tan((r + low) / 2): the tangent is t / (1 - t^2 / 4), or
 * for odd n -1 over that. */
HIA_ELEMENTARY_1(tan) {
  HF a = ABS(x);
  HF turns = FMA(a, K(0x1.45f306p-1), K(0x1.8p23));
  HF n = SUB(turns, K(0x1.8p23));
  HF upper = FMA(n, K(-0x1.921fb6p+0), a);
  HF v = MUL(n, K(0x1.777a5cp-25));
  HF v_low = FMA(n, K(0x1.777a5cp-25), NEG(v));
  HF r = ADD(upper, v);
  HF low = ADD(FMA(n, K(0x1.ee59dap-50), v_low), SUB(v, SUB(r, upper)));
  HF z = MUL(r, r);
  HF p = H3(z, 0x1.a39ab2p-14, 0x1.b5f38cp-11, 0x1.111f14p-7, 0x1.555538p-4);
  HF t = ADD(r, FMA(MUL(z, r), p, low));
  HF d = FMA(MUL(t, K(-0.25)), t, K(1.0));
  HB is_odd = IEQ(IAND(BITS(turns), KI(1)), KI(1));
  HF y = DIV(SELECT(is_odd, NEG(d), t), SELECT(is_odd, t, d));
  return FAR_1(IS_FAR(a), tan, x, FLOAT(IXOR(BITS(y), IXOR(BITS(x), BITS(a)))));
}

/* (atan(q) - q) / q^3 for q from 0 to 1, for an atan to 2^-25.8 */
#define ATAN_POLY(z)                                                                               \
  H7(z, 0x1.7ec1c4p-9, -0x1.0c23fep-6, 0x1.61f756p-5, -0x1.3553f4p-4, 0x1.b4dfdcp-4,               \
     -0x1.230abp-3, 0x1.9978eep-3, -0x1.5554dcp-2)
/* n pi / 4 + v, for n = 0, 2, 4 */
#define PLUS_PI4(n, v) FMA(n, K(0x1.921fb6p-1), FMA(n, K(-0x1.777a5cp-26), v))

HIA_ELEMENTARY_1(atan) {
  HF a = ABS(x);
  HB is_large = LT(K(1.0), a);
  HF q = DIV(SELECT(is_large, K(-1.0), a), SELECT(is_large, a, K(1.0)));
  HF z = MUL(q, q);
  HF p = ATAN_POLY(z);
  HF y = FMA(MUL(z, q), p, q);
  HF n = SELECT(is_large, K(2.0), K(0.0));
  return FLOAT(IOR(BITS(PLUS_PI4(n, y)), IXOR(BITS(x), BITS(a))));
}

/* atan2(x, y): the point has the height x. q = min / max of both, 1 for two infinities and 0 for
 * two zeros; the angle is the arc tangent of it, or from pi / 2, or from pi. */
HIA_ELEMENTARY_2(atan2) {
  HF a = ABS(x);
  HF b = ABS(y);
  HB is_steep = LT(b, a);
  HB is_left = IEQ(SHR(BITS(y), 31), KI(1));
  HF less = SELECT(is_steep, b, a);
  HF more = SELECT(is_steep, a, b);
  more = SELECT(EQ(more, K(0.0)), K(1.0), more);
  HF q = SELECT(EQ(less, more), K(1.0), DIV(less, more));
  HF z = MUL(q, q);
  HF p = ATAN_POLY(z);
  HF v = FMA(MUL(z, q), p, q);
  v = FLOAT(IXOR(BITS(v), SELECTI(is_steep, SELECTI(is_left, KI(0), KI(INT32_MIN)),
                                  SELECTI(is_left, KI(INT32_MIN), KI(0)))));
  HF n = SELECT(is_steep, K(2.0), SELECT(is_left, K(4.0), K(0.0)));
  return FLOAT(IOR(BITS(PLUS_PI4(n, v)), IXOR(BITS(x), BITS(a))));
}

/* With z = a^2, and s = a, up to 1/2, and z = (1 - a) / 2, and s = sqrt(z), above: s + t is the arc
 * sine of s, |error| < 2^-27.6; asin(a) = pi / 2 - 2 asin(s). */
#define ASIN_SUM(a)                                                                                \
  HB is_large = LT(K(0.5), a);                                                                     \
  HF z = SELECT(is_large, FMA(a, K(-0.5), K(0.5)), MUL(a, a));                                     \
  HF s = SELECT(is_large, SQRT(z), a);                                                             \
  HF p = H4(z, 0x1.5959aap-5, 0x1.8c415ap-6, 0x1.747b72p-5, 0x1.330206p-4, 0x1.5555c8p-3);         \
  HF t = MUL(MUL(s, z), p)

HIA_ELEMENTARY_1(asin) {
  HF a = ABS(x);
  ASIN_SUM(a);
  HF scale = SELECT(is_large, K(-2.0), K(1.0));
  HF y = ADD(FMA(s, scale, SELECT(is_large, K(0x1.921fb6p+0), K(0.0))),
             FMA(t, scale, SELECT(is_large, K(-0x1.777a5cp-25), K(0.0))));
  return FLOAT(IXOR(BITS(y), IXOR(BITS(x), BITS(a))));
}

/* pi / 2 - asin(x); 2 asin(s), or pi less that for negative x. */
HIA_ELEMENTARY_1(acos) {
  HF a = ABS(x);
  ASIN_SUM(a);
  HI sign = IXOR(BITS(x), BITS(a));
  HF scale = FLOAT(IXOR(BITS(SELECT(is_large, K(2.0), K(-1.0))), sign));
  HB is_top = BOTH(is_large, LT(K(0.0), x));
  HF n = SELECT(is_top, K(0.0), SELECT(is_large, K(2.0), K(1.0)));
  return ADD(FMA(s, scale, MUL(n, K(0x1.921fb6p+0))), FMA(t, scale, MUL(n, K(-0x1.777a5cp-25))));
}

/* ---- hyperbolic functions ---- */

/* exp(a) = 2^n (C + S) and exp(-a) = 2^-n (C - S), with C = cosh r and S = sinh r: without a
 * quotient. s = 2^(n-2), since 2^(n-1) overflows before the results do; small = 2^(-n-2). */
#define HYPERBOLIC(x, bound)                                                                       \
  HF a = AT_MOST(bound, ABS(x));                                                                   \
  REDUCE_EXP(a, 125);                                                                              \
  HI e = SHL(BITS(t), 23);                                                                         \
  HF s = FLOAT(e);                                                                                 \
  HF small = SELECT(LT(a, K(20.0)), FLOAT(ISUB(KI(0x7d000000), e)), K(0.0));                       \
  HF sum = ADD(s, small);                                                                          \
  HF difference = SUB(s, small);                                                                   \
  HF z = MUL(r, r);                                                                                \
  HF odd = FMA(MUL(z, r), H2(z, 0x1.a28f36p-13, 0x1.110fe2p-7, 0x1.555556p-3), r);                 \
  HF even = MUL(z, H2(z, 0x1.6d5158p-10, 0x1.5554e4p-5, 0.5))

HIA_ELEMENTARY_1(sinh) {
  HYPERBOLIC(x, 89.5);
  HF y = ADD(difference, FMA(sum, odd, MUL(difference, even)));
  y = SELECT(LT(a, K(0x1p-13)), ABS(x), ADD(y, y));
  return FLOAT(IOR(BITS(y), IAND(BITS(x), KI(INT32_MIN))));
}

HIA_ELEMENTARY_1(cosh) {
  HYPERBOLIC(x, 89.5);
  HF y = ADD(sum, FMA(difference, odd, MUL(sum, even)));
  return ADD(y, y);
}

/* ---- two operands ---- */

HIA_ELEMENTARY_2(hypot) {
  HF a = ABS(x);
  HF b = ABS(y);
  HB is_less = LT(a, b);
  HF more = SELECT(is_less, b, a);
  HF less = SELECT(is_less, a, b);
  HB is_usual = EITHER(EQ(more, K(0.0)), BOTH(LE(K(0x1p-40), more), LE(more, K(0x1p62))));
  return FAR_2(NOT(is_usual), hypot, x, y, SQRT(FMA(more, more, MUL(less, less))));
}

/* Both are scaled by a power of two where a square could overflow or lose bits. */
HIA_ELEMENTARY_2(hypot_far) {
  HF a = ABS(x);
  HF b = ABS(y);
  HB is_less = LT(a, b);
  HF more = SELECT(is_less, b, a);
  HF less = SELECT(is_less, a, b);
  HB is_large = LT(K(0x1p62), more);
  HB is_small = LT(more, K(0x1p-40));
  HF scale = SELECT(is_large, K(0x1p-66), SELECT(is_small, K(0x1p86), K(1.0)));
  HF inverse = SELECT(is_large, K(0x1p66), SELECT(is_small, K(0x1p-86), K(1.0)));
  more = MUL(more, scale);
  less = MUL(less, scale);
  HF z = MUL(SQRT(FMA(more, more, MUL(less, less))), inverse);
  return SELECT(EITHER(EQ(a, K(INFINITY)), EQ(b, K(INFINITY))), K(INFINITY), z);
}

/* 2^(y log2 |x|), with the logarithm and the product as two floats. With s = f / (2 + f),
 * log2(1 + f) = s (K0 + s^2 R), K0 = 2 / ln 2. */
#define POW_LOG(n, f)                                                                              \
  HF d = ADD(K(2.0), f);                                                                           \
  HF d_low = SUB(f, SUB(d, K(2.0)));                                                               \
  HF inverse = DIV(K(1.0), d);                                                                     \
  HF s = MUL(f, inverse);                                                                          \
  HF s_low = MUL(FMA(NEG(s), d_low, FMA(NEG(s), d, f)), inverse);                                  \
  HF z = MUL(s, s);                                                                                \
  HF z_low = FMA(ADD(s, s), s_low, FMA(s, s, NEG(z)));                                             \
  /* |error| < 2^-27.0 */                                                                          \
  HF p = H3(z, 0x1.558dbep-2, 0x1.a5f2a4p-2, 0x1.2776b2p-1, 0x1.ec709ep-1);                        \
  HF v = MUL(z, p);                                                                                \
  HF v_low = FMA(z_low, p, FMA(z, p, NEG(v)));                                                     \
  HF k = ADD(K(0x1.715476p+1), v);                                                                 \
  HF k_low = ADD(SUB(v, SUB(k, K(0x1.715476p+1))), ADD(v_low, K(0x1.4ae0cp-25)));                  \
  HF h = MUL(s, k);                                                                                \
  HF h_low = FMA(s_low, k, FMA(s, k_low, FMA(s, k, NEG(h))));                                      \
  HF top = ADD(n, h);                                                                              \
  HF rest = ADD(SUB(h, SUB(top, n)), h_low)

/* For usual operands, whose power is far from the ends of the exponents. */
HIA_ELEMENTARY_2(pow) {
  HF a = ABS(x);
  HI b = ISUB(BITS(a), KI(0x3f3504f3));
  HF n = FROM_INT(SAR(b, 23));
  HF f = SUB(FLOAT(IADD(IAND(b, KI(0x7fffff)), KI(0x3f3504f3))), K(1.0));
  POW_LOG(n, f);
  HF w = MUL(y, top);
  HF w_low = FMA(y, rest, FMA(y, top, NEG(w)));
  HF t = ADD(w, K(0x1.8p23));
  HF r = ADD(SUB(w, SUB(t, K(0x1.8p23))), w_low);
  HF power = EXP2_POLY(r);
  HI result = IADD(BITS(power), SHL(BITS(t), 23));
  HF whole = ADD(y, K(0x1.8p23));
  result = IXOR(result, IAND(SHL(BITS(whole), 31), BITS(x)));
  HB is_wrong = BOTH(LT(x, K(0.0)), NOT(EQ(SUB(whole, K(0x1.8p23)), y)));
  HB is_usual = BOTH(BOTH(LE(K(0x1p-126), a), LT(a, K(INFINITY))),
                     BOTH(LT(ABS(w), K(125.0)), LT(ABS(y), K(0x1p22))));
  return FAR_2(NOT(is_usual), pow, x, y, SELECT(is_wrong, K(NAN), FLOAT(result)));
}

/* For all operands; what FAR_2 calls. Zero and infinity have infinite logarithms. Where the base is
 * 1 or the exponent 0, the power is 1; a negative base has a sign if the exponent is odd, and no
 * fractional powers. From 0x1p23 on all floats are integers. */
HIA_ELEMENTARY_2(pow_far) {
  HF a = ABS(x);
  REDUCE_LOG(a);
  POW_LOG(n, f);
  top = SELECT(LT(a, K(INFINITY)), SELECT(EQ(a, K(0.0)), K(-INFINITY), top), a);
  HF w = MUL(y, top);
  HF w_low = FMA(y, rest, FMA(y, top, NEG(w)));
  w_low = SELECT(LT(ABS(w), K(256.0)), w_low, K(0.0));
  w = AT_MOST(129.0, w);
  w = AT_LEAST(-151.0, w);
  HF t = ADD(w, K(0x1.8p23 + 254));
  HF r = ADD(SUB(w, SUB(t, K(0x1.8p23 + 254))), w_low);
  HF power = EXP2_POLY(r);
  SCALE(power, t);
  HF size = SELECT(EITHER(EQ(a, K(1.0)), EQ(y, K(0.0))), K(1.0), scaled);
  HF c = ABS(y);
  HF half_c = MUL(c, K(0.5));
  HB is_whole = EITHER(LE(K(0x1p23), c), EQ(c, SUB(ADD(c, K(0x1p23)), K(0x1p23))));
  HB is_even = EITHER(LE(K(0x1p23), half_c), EQ(half_c, SUB(ADD(half_c, K(0x1p23)), K(0x1p23))));
  HI sign = SELECTI(BOTH(is_whole, NOT(is_even)), IXOR(BITS(x), BITS(a)), KI(0));
  HB is_wrong = BOTH(BOTH(LT(x, K(0.0)), LT(a, K(INFINITY))), NOT(is_whole));
  return SELECT(is_wrong, K(NAN), FLOAT(IXOR(BITS(size), sign)));
}

#undef REDUCE_EXP
#undef EXP_POLY
#undef EXPM1_POLY
#undef SCALE
#undef REDUCE_LOG
#undef LOG_RESULT
#undef LOG_POLY
#undef LOG_SUM
#undef LESS_PI
#undef IS_FAR
#undef SIN_POLY
#undef PLUS_PI4
#undef ASIN_SUM
#undef HYPERBOLIC
#undef EXP2_POLY
#undef ATAN_POLY
#undef POW_LOG
