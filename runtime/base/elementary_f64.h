/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions at f64. elementary.h describes the vocabulary, elementary_f32.h the same
 * functions with fewer bits; here is what differs.
 *
 * To stay below 2 ulp, a sum that a function ends with is kept as two floats where an error of it
 * would be magnified: the lower one is what rounding took from the upper (Dekker, "A floating-point
 * technique for extending the available precision", 1971). */

/* n and r = a - n ln 2, |r| < 0.347. FMA(n, -LN2, a) is exact. */
#define REDUCE_EXP(a, bias)                                                                        \
  HF t = FMA(a, K(0x1.71547652b82fep+0), K(0x1.8p52 + (bias)));                                    \
  HF n = SUB(t, K(0x1.8p52 + (bias)));                                                             \
  HF high = FMA(n, K(-0x1.62e42fefa39efp-1), a);                                                   \
  HF r = FMA(n, K(-0x1.abc9e3b39803fp-56), high)

/* (exp(r) - 1 - r) / r^2, for an exp to 2^-57.8. Even and odd powers apart: half the latency. */
#define EXP_POLY(r, p)                                                                             \
  HF r2 = MUL(r, r);                                                                               \
  HF p = FMA(H4(r2, 0x1.ad902ded7aeedp-26, 0x1.71df1afd7942ep-19, 0x1.a01a012edd711p-13,           \
                0x1.1111111126ecbp-7, 0x1.55555555554fdp-3),                                       \
             r,                                                                                    \
             H4(r2, 0x1.28ae20050c22ap-22, 0x1.a019993df9131p-16, 0x1.6c16c18480baap-10,           \
                0x1.55555555506ap-5, 0x1.000000000000ap-1))
/* (expm1(r) - r) / r^2, for an expm1 to 2^-61.5 */
#define EXPM1_POLY(r, p)                                                                           \
  HF r2 = MUL(r, r);                                                                               \
  HF p = FMA(H4(r2, 0x1.af5f3c19d360cp-26, 0x1.71ddf8082fc8cp-19, 0x1.a01a01b0058d9p-13,           \
                0x1.111111110f652p-7, 0x1.5555555555559p-3),                                       \
             r,                                                                                    \
             H5(r2, 0x1.1f1a3f9bb1aep-29, 0x1.27e513387ff27p-22, 0x1.a01a018e0e289p-16,            \
                0x1.6c16c16c1ab02p-10, 0x1.555555555554dp-5, 0.5))

/* t has n + 2046 in its low bits. */
#define SCALE(p, t)                                                                                \
  HI e = SHL(BITS(t), 52);                                                                         \
  HI half = IAND(SHR(e, 1), KI(0x7ff0000000000000));                                               \
  HF scaled = MUL(MUL(p, FLOAT(half)), FLOAT(ISUB(e, half)))

HIA_ELEMENTARY_1(exp) {
  HF a = AT_MOST(710.0, x);
  a = AT_LEAST(-746.0, a);
  REDUCE_EXP(a, 2046);
  EXP_POLY(r, p);
  HF y = ADD(K(1.0), FMA(p, r2, r));
  SCALE(y, t);
  return scaled;
}

HIA_ELEMENTARY_1(exp2) {
  HF a = AT_MOST(1025.0, x);
  a = AT_LEAST(-1076.0, a);
  HF t = ADD(a, K(0x1.8p52 + 2046));
  HF r = SUB(a, SUB(t, K(0x1.8p52 + 2046)));
  HF r2 = MUL(r, r);
  /* (2^r - 1 - LN2 r) / r, for a 2^r to 2^-58.0 */
  HF odd = H5(r2, 0x1.e784010d51854p-32, 0x1.b5268dd759381p-24, 0x1.ffcbfba08a2e4p-17,
              0x1.5d87fe78cf8d3p-10, 0x1.c6b08d7049fdap-5, 0x1.7b44f7394f0c5p-55);
  HF even = H4(r2, 0x1.e61afd0bc2aecp-28, 0x1.62bfc7d2d3cfep-20, 0x1.4309130ec0559p-13,
               0x1.3b2ab6fba01acp-7, 0x1.ebfbdff82c5a4p-3);
  HF p = FMA(even, r, odd);
  HF y = ADD(K(1.0), FMA(r, K(0x1.62e42fefa39efp-1), MUL(p, r)));
  SCALE(y, t);
  return scaled;
}

/* s expm1(r) + s - 1 as y + low, where s = 2^n; `low` also has what r lacks. */
#define EXPM1_SUM(r, high, n, s, one)                                                              \
  EXPM1_POLY(r, p);                                                                                \
  HF lost = FMA(n, K(-0x1.abc9e3b39803fp-56), SUB(high, r));                                       \
  HF rest = FMA(p, r2, lost);                                                                      \
  HF less = SUB(s, one);                                                                           \
  HF y = FMA(r, s, less);                                                                          \
  HF low = FMA(rest, s, FMA(r, s, SUB(less, y)))

HIA_ELEMENTARY_1(expm1) {
  HF a = AT_MOST(710.0, x);
  a = AT_LEAST(-40.0, a);
  REDUCE_EXP(a, 1022);
  HF s = FLOAT(SHL(BITS(t), 52));
  EXPM1_SUM(r, high, n, s, K(0.5));
  HF sum = ADD(y, low);
  return SELECT(LT(ABS(x), K(0x1p-54)), x, ADD(sum, sum));
}

HIA_ELEMENTARY_1(tanh) {
  HF a = MUL(ABS(x), K(-2.0));
  a = AT_LEAST(-40.0, a);
  REDUCE_EXP(a, 1023);
  HF s = FLOAT(SHL(BITS(t), 52));
  EXPM1_SUM(r, high, n, s, K(1.0));
  /* -(m + m_low) / (2 + m + m_low): the quotient of the upper parts, and what it lacks. */
  HF m = ADD(y, low);
  HF m_low = SUB(low, SUB(m, y));
  HF d = ADD(K(2.0), m);
  HF d_low = ADD(SUB(m, SUB(d, K(2.0))), m_low);
  HF inverse = DIV(K(-1.0), d);
  HF q = MUL(m, inverse);
  HF error = ADD(FMA(q, d, m), FMA(q, d_low, m_low));
  q = FMA(error, inverse, q);
  /* The products of very small numbers would lose bits. */
  q = SELECT(LT(ABS(x), K(0x1p-54)), x, q);
  return FLOAT(IOR(IAND(BITS(q), KI(INT64_MAX)), IAND(BITS(x), KI(INT64_MIN))));
}

HIA_ELEMENTARY_1(sigmoid) {
  HF a = NEG(ABS(x));
  a = AT_LEAST(-746.0, a);
  REDUCE_EXP(a, 1023 + 64);
  EXP_POLY(r, p);
  HF e = MUL(ADD(K(1.0), FMA(p, r2, r)), FLOAT(SHL(BITS(t), 52)));
  e = MUL(e, K(0x1p-64));
  HF d = ADD(K(1.0), e);
  HF d_low = SUB(e, SUB(d, K(1.0)));
  HF numerator = SELECT(LT(x, K(0.0)), e, K(1.0));
  HF inverse = DIV(K(1.0), d);
  HF q = MUL(numerator, inverse);
  HF error = FMA(NEG(q), d_low, FMA(NEG(q), d, numerator));
  return FMA(error, inverse, q);
}

#define REDUCE_LOG(x)                                                                              \
  HB is_small = LT(x, K(0x1p-1022));                                                               \
  HI b = ISUB(BITS(SELECT(is_small, MUL(x, K(0x1p54)), x)), KI(0x3fe6a09e667f3bcd));               \
  HF n = SUB(FROM_INT(SAR(b, 52)), SELECT(is_small, K(54.0), K(0.0)));                             \
  HF f = SUB(FLOAT(IADD(IAND(b, KI(0xfffffffffffff)), KI(0x3fe6a09e667f3bcd))), K(1.0))

#define LOG_RESULT(v, y)                                                                           \
  SELECT(LT(K(0.0), v), SELECT(EQ(v, K(INFINITY)), v, y),                                          \
         SELECT(EQ(v, K(0.0)), K(-INFINITY), K(NAN)))

/* log(1 + f) = f + g. With s = f / (2 + f), log(1 + f) = 2 atanh(s), whose series needs half as
 * many terms: g = s (f^2 / 2 + R) - f^2 / 2, R = 2 atanh(s) / s - 2. (fdlibm's e_log.c.) The
 * absolute error of R / s^2 is below 2^-51.5, so that of g is below 2^-59.1 s. */
#define LOG_REST(f, g)                                                                             \
  HF s = DIV(f, ADD(K(2.0), f));                                                                   \
  HF z = MUL(s, s);                                                                                \
  HF w = MUL(z, z);                                                                                \
  HF series = FMA(H2(w, 0x1.39fddaf951f6dp-3, 0x1.c71c62d7ca618p-3, 0x1.99999999952c1p-2), z,      \
                  H3(w, 0x1.2b5e9b6bd6885p-3, 0x1.7462b8b3ba278p-3, 0x1.2492492dfa854p-2,          \
                     0x1.5555555555558p-1));                                                       \
  HF square = MUL(MUL(f, f), K(0.5));                                                              \
  HF g = FMA(s, FMA(series, z, square), NEG(square))

/* n ln 2 + f + g */
#define LOG_SUM(n, f, g)                                                                           \
  HF inner = ADD(f, FMA(n, K(0x1.abc9e3b39803fp-56), g));                                          \
  HF sum = FMA(n, K(0x1.62e42fefa39efp-1), inner)

HIA_ELEMENTARY_1(log) {
  REDUCE_LOG(x);
  LOG_REST(f, g);
  LOG_SUM(n, f, g);
  return LOG_RESULT(x, sum);
}

HIA_ELEMENTARY_1(log1p) {
  HF u = ADD(K(1.0), x);
  HI b = ISUB(BITS(u), KI(0x3fe6a09e667f3bcd));
  HF n = FROM_INT(SAR(b, 52));
  HF scale = FLOAT(ISUB(KI(0x3ff0000000000000), IAND(b, KI(-0x10000000000000))));
  HF large = SUB(FLOAT(IADD(IAND(b, KI(0xfffffffffffff)), KI(0x3fe6a09e667f3bcd))), K(1.0));
  HF f = SELECT(LT(x, K(0x1p100)), FMA(x, scale, SUB(scale, K(1.0))), large);
  LOG_REST(f, g);
  LOG_SUM(n, f, g);
  return SELECT(EQ(x, K(0.0)), x, LOG_RESULT(u, sum));
}

/* n UNIT + (f + g) SCALE, with both constants in two parts, as top + rest. */
#define LOG_SCALED(n, f, g, unit, unit_low, scale, scale_low)                                      \
  HF h = ADD(f, g);                                                                                \
  HF h_low = SUB(g, SUB(h, f));                                                                    \
  HF product = MUL(h, K(scale));                                                                   \
  HF product_low = FMA(h, K(scale_low), FMA(h_low, K(scale), FMA(h, K(scale), NEG(product))));     \
  HF top = FMA(n, K(unit), product);                                                               \
  HF top_low = ADD(FMA(n, K(unit), SUB(product, top)), FMA(n, K(unit_low), product_low));          \
  HF sum = ADD(top, top_low)

HIA_ELEMENTARY_1(log2) {
  REDUCE_LOG(x);
  LOG_REST(f, g);
  LOG_SCALED(n, f, g, 1.0, 0.0, 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56);
  return LOG_RESULT(x, sum);
}

HIA_ELEMENTARY_1(log10) {
  REDUCE_LOG(x);
  LOG_REST(f, g);
  LOG_SCALED(n, f, g, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59, 0x1.bcb7b1526e50ep-2,
             0x1.95355baaafad3p-57);
  return LOG_RESULT(x, sum);
}
