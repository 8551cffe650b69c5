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

HIA_ELEMENTARY_1(exp2) {
  HF a = AT_MOST(129.0, x);
  a = AT_LEAST(-151.0, a);
  HF t = ADD(a, K(0x1.8p23 + 254));
  HF r = SUB(a, SUB(t, K(0x1.8p23 + 254)));
  /* 2^r, |error| < 2^-28.0 */
  HF p = H6(r, 0x1.3fa206p-13, 0x1.5f0b82p-10, 0x1.3b30ap-7, 0x1.c6af76p-5, 0x1.ebfbd8p-3,
            0x1.62e43p-1, 1.0);
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

#undef REDUCE_EXP
#undef EXP_POLY
#undef EXPM1_POLY
#undef SCALE
#undef REDUCE_LOG
#undef LOG_RESULT
#undef LOG_POLY
#undef LOG_SUM
