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

/* y = 2^r, from (2^r - 1 - LN2 r) / r, for a 2^r to 2^-58.0 */
#define EXP2_POLY(r, y)                                                                            \
  HF r2 = MUL(r, r);                                                                               \
  HF odd = H5(r2, 0x1.e784010d51854p-32, 0x1.b5268dd759381p-24, 0x1.ffcbfba08a2e4p-17,             \
              0x1.5d87fe78cf8d3p-10, 0x1.c6b08d7049fdap-5, 0x1.7b44f7394f0c5p-55);                 \
  HF even = H4(r2, 0x1.e61afd0bc2aecp-28, 0x1.62bfc7d2d3cfep-20, 0x1.4309130ec0559p-13,            \
               0x1.3b2ab6fba01acp-7, 0x1.ebfbdff82c5a4p-3);                                        \
  HF y = ADD(K(1.0), FMA(r, K(0x1.62e42fefa39efp-1), MUL(FMA(even, r, odd), r)))

HIA_ELEMENTARY_1(exp2) {
  HF a = AT_MOST(1025.0, x);
  a = AT_LEAST(-1076.0, a);
  HF t = ADD(a, K(0x1.8p52 + 2046));
  HF r = SUB(a, SUB(t, K(0x1.8p52 + 2046)));
  EXP2_POLY(r, y);
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

/* ---- trigonometric functions ---- */

/* Up to |n| = 2^50 the first product is cancelled exactly. */
#define LESS_PI(n, a)                                                                              \
  FMA(n, K(0x1.f1976b7ed8fbcp-109),                                                                \
      FMA(n, K(-0x1.1a62633145c07p-53), FMA(n, K(-0x1.921fb54442d18p+1), a)))
#define IS_FAR(a) NOT(LT(a, K(0x1p25)))

/* sin(r), |error| < 2^-61.4. The cube takes in what the square lacks. */
#define SIN_POLY(r)                                                                                \
  HF z = MUL(r, r);                                                                                \
  HF w = MUL(z, z);                                                                                \
  HF q = FMA(H2(w, -0x1.ae431400f7b2ap-41, -0x1.ae6454ce9b5a1p-26, -0x1.a01a01a014c1p-13), z,      \
             H3(w, 0x1.88263f8cf935cp-49, 0x1.6123cb70097aap-33, 0x1.71de3a52954ecp-19,            \
                0x1.11111111110c7p-7));                                                            \
  HF p = FMA(q, z, K(-0x1.5555555555555p-3));                                                      \
  HF y = FMA(FMA(z, r, MUL(FMA(r, r, NEG(z)), r)), p, r)

HIA_ELEMENTARY_1(sin) {
  HF a = ABS(x);
  HF t = FMA(a, K(0x1.45f306dc9c883p-2), K(0x1.8p52));
  HF n = SUB(t, K(0x1.8p52));
  HF r = LESS_PI(n, a);
  SIN_POLY(r);
  HI sign = IXOR(SHL(BITS(t), 63), IXOR(BITS(x), BITS(a)));
  return FAR_1(IS_FAR(a), sin, x, FLOAT(IXOR(BITS(y), sign)));
}

HIA_ELEMENTARY_1(cos) {
  HF a = ABS(x);
  HF t = ADD(FMA(a, K(0x1.45f306dc9c883p-2), K(0.5)), K(0x1.8p52));
  HF n = SUB(SUB(t, K(0x1.8p52)), K(0.5));
  HF r = LESS_PI(n, a);
  SIN_POLY(r);
  return FAR_1(IS_FAR(a), cos, x, FLOAT(IXOR(BITS(y), SHL(BITS(t), 63))));
}

/* The tangent of x + y, |x| <= pi / 4, or if z is 1, not 0, -1 over it. Both have the derivative
 * 1 + q^2, by which what t lacks counts. 2 tan(x / 2): |error| < 2^-58.6 */
HIA_ELEMENTARY_3(tan_of_sum) {
  HF s = MUL(x, x);
  HF w = MUL(s, s);
  HF p = FMA(H3(w, 0x1.24de8fb7cd49cp-27, 0x1.d6be05952c7aep-21, 0x1.664f469374713p-14,
                0x1.111111110cf2ap-7),
             s,
             H4(w, 0x1.598811ae82627p-30, 0x1.7f2c5b5298b32p-24, 0x1.226e94154a723p-17,
                0x1.ba1ba1bfd0ea3p-11, 0x1.5555555555576p-4));
  HF more = FMA(MUL(s, x), p, y);
  HF t = ADD(x, more);
  HF d = FMA(MUL(t, K(-0.25)), t, K(1.0));
  HB is_odd = EQ(z, K(1.0));
  HF q = DIV(SELECT(is_odd, NEG(d), t), SELECT(is_odd, t, d));
  return FMA(FMA(q, q, K(1.0)), SUB(more, SUB(t, x)), q);
}

HIA_ELEMENTARY_1(tan) {
  HF a = ABS(x);
  HF t = FMA(a, K(0x1.45f306dc9c883p-1), K(0x1.8p52));
  HF n = SUB(t, K(0x1.8p52));
  HF upper = FMA(n, K(-0x1.921fb54442d18p+0), a);
  HF v = MUL(n, K(-0x1.1a62633145c07p-54));
  HF v_low = FMA(n, K(-0x1.1a62633145c07p-54), NEG(v));
  HF r = ADD(upper, v);
  HF low = ADD(FMA(n, K(0x1.f1976b7ed8fbcp-110), v_low), SUB(v, SUB(r, upper)));
  HF odd = SELECT(IEQ(IAND(BITS(t), KI(1)), KI(1)), K(1.0), K(0.0));
  HF y = HIA_APPLY_3(tan_of_sum, r, low, odd);
  return FAR_1(IS_FAR(a), tan, x, FLOAT(IXOR(BITS(y), IXOR(BITS(x), BITS(a)))));
}

/* An angle of pi / 4 is subtracted where the tangent is above 1/2: q = (less - more) / (less +
 * more), whose numerator is exact. Then the sign is changed where `turn` has it. q + t is the arc
 * tangent of q: |error| < 2^-57.7. */
#define ATAN_SUM(less, more, turn)                                                                 \
  HB is_large = LT(MUL(more, K(0.5)), less);                                                       \
  HF q = DIV(SELECT(is_large, SUB(less, more), less), SELECT(is_large, ADD(less, more), more));    \
  q = FLOAT(IXOR(BITS(q), turn));                                                                  \
  HF z = MUL(q, q);                                                                                \
  HF w = MUL(z, z);                                                                                \
  HF p = FMA(H5(w, 0x1.4b83dcc74cde7p-7, 0x1.56f5c02b868a4p-5, 0x1.dfe977c71f234p-5,               \
                0x1.3b113dc14f914p-4, 0x1.c71c7090e8ec8p-4, 0x1.9999999991142p-3),                 \
             z,                                                                                    \
             H5(w, -0x1.c17fb6b9b43afp-6, -0x1.a39864e6ea18dp-5, -0x1.10f31f1db086bp-4,            \
                -0x1.745cf4cb397c2p-4, -0x1.249249215de3bp-3, -0x1.5555555555516p-2));             \
  HF t = MUL(MUL(z, q), p)
/* n pi / 4 + q + t */
#define PLUS_PI4(n, q, t)                                                                          \
  ADD(FMA(n, K(0x1.921fb54442d18p-1), q), FMA(n, K(0x1.1a62633145c07p-55), t))

HIA_ELEMENTARY_1(atan) {
  HF a = ABS(x);
  HB is_steep = LT(K(1.0), a);
  HF less = SELECT(is_steep, K(1.0), a);
  HF more = SELECT(is_steep, a, K(1.0));
  HI turn = SELECTI(is_steep, KI(INT64_MIN), KI(0));
  ATAN_SUM(less, more, turn);
  HF n = SELECT(is_large, K(1.0), SELECT(is_steep, K(2.0), K(0.0)));
  return FLOAT(IOR(BITS(PLUS_PI4(n, q, t)), IXOR(BITS(x), BITS(a))));
}

/* The sum of the operands must not overflow. Two zeros count as 0 and 1, two infinities as 1. */
HIA_ELEMENTARY_2(atan2) {
  HF a = ABS(x);
  HF b = ABS(y);
  HB is_steep = LT(b, a);
  HB is_left = IEQ(SHR(BITS(y), 63), KI(1));
  HF less = SELECT(is_steep, b, a);
  HF more = SELECT(is_steep, a, b);
  HB is_corner = BOTH(EQ(a, b), EITHER(EQ(a, K(0.0)), EQ(a, K(INFINITY))));
  HF scale = SELECT(LT(K(0x1p1000), more), K(0x1p-40), K(1.0));
  less = SELECT(is_corner, SELECT(EQ(a, K(0.0)), a, K(1.0)), MUL(less, scale));
  more = SELECT(is_corner, K(1.0), MUL(more, scale));
  HI turn = SELECTI(is_left, KI(INT64_MIN), KI(0));
  turn = SELECTI(is_steep, IXOR(turn, KI(INT64_MIN)), turn);
  ATAN_SUM(less, more, turn);
  HF half = SELECT(is_left, K(4.0), K(0.0));
  HF n = SELECT(is_large, SELECT(is_left, K(3.0), K(1.0)), SELECT(is_steep, K(2.0), half));
  return FLOAT(IOR(BITS(PLUS_PI4(n, q, t)), IXOR(BITS(x), BITS(a))));
}

/* |error| < 2^-55.9 */
#define ASIN_SUM(a)                                                                                \
  HB is_large = LT(K(0.5), a);                                                                     \
  HF z = SELECT(is_large, FMA(a, K(-0.5), K(0.5)), MUL(a, a));                                     \
  HF s = SELECT(is_large, SQRT(z), a);                                                             \
  HF w = MUL(z, z);                                                                                \
  HF p = FMA(H5(w, 0x1.056d6c4746a5dp-5, 0x1.3ff4a924fe515p-6, 0x1.8ec2fc9502512p-7,               \
                0x1.1c6be1a66c286p-6, 0x1.f1c72c38fb295p-6, 0x1.333333336e80fp-4),                 \
             z,                                                                                    \
             H5(w, -0x1.09d327898dbf7p-6, 0x1.abcf5d71aea62p-8, 0x1.c6fdc1ad0a76dp-7,              \
                0x1.6e89f4401af12p-6, 0x1.6db6db427a4f9p-5, 0x1.555555555539p-3));                 \
  HF t = MUL(MUL(s, z), p)

HIA_ELEMENTARY_1(asin) {
  HF a = ABS(x);
  ASIN_SUM(a);
  HF scale = SELECT(is_large, K(-2.0), K(1.0));
  HF top = SELECT(is_large, K(0x1.921fb54442d18p+0), K(0.0));
  HF top_low = SELECT(is_large, K(0x1.1a62633145c07p-54), K(0.0));
  HF u = FMA(s, scale, top);
  HF y = ADD(u, FMA(t, scale, ADD(FMA(s, scale, SUB(top, u)), top_low)));
  return FLOAT(IXOR(BITS(y), IXOR(BITS(x), BITS(a))));
}

HIA_ELEMENTARY_1(acos) {
  HF a = ABS(x);
  ASIN_SUM(a);
  HI sign = IXOR(BITS(x), BITS(a));
  HF scale = FLOAT(IXOR(BITS(SELECT(is_large, K(2.0), K(-1.0))), sign));
  HB is_top = BOTH(is_large, LT(K(0.0), x));
  HF n = SELECT(is_top, K(0.0), SELECT(is_large, K(2.0), K(1.0)));
  return ADD(FMA(s, scale, MUL(n, K(0x1.921fb54442d18p+0))),
             FMA(t, scale, MUL(n, K(0x1.1a62633145c07p-54))));
}

/* ---- hyperbolic functions ---- */

#define HYPERBOLIC(x, bound)                                                                       \
  HF a = AT_MOST(bound, ABS(x));                                                                   \
  REDUCE_EXP(a, 1021);                                                                             \
  HI e = SHL(BITS(t), 52);                                                                         \
  HF s = FLOAT(e);                                                                                 \
  HF small = SELECT(LT(a, K(40.0)), FLOAT(ISUB(KI(0x7fa0000000000000), e)), K(0.0));               \
  HF sum = ADD(s, small);                                                                          \
  HF difference = SUB(s, small);                                                                   \
  HF z = MUL(r, r);                                                                                \
  HF z2 = MUL(z, z);                                                                               \
  HF odd = FMA(MUL(z, r),                                                                          \
               FMA(H1(z2, 0x1.71ddf802b026p-19, 0x1.111111110f64fp-7), z,                          \
                   H2(z2, 0x1.af5f46a6ed994p-26, 0x1.a01a01b0075f2p-13, 0x1.5555555555559p-3)),    \
               r);                                                                                 \
  HF even = MUL(z, FMA(H2(z2, 0x1.1f8bb7c972614p-29, 0x1.a01a01ad77308p-16, 0x1.5555555555558p-5), \
                       z, H2(z2, 0x1.27e4cc2615f24p-22, 0x1.6c16c16c1500bp-10, 0.5)))

HIA_ELEMENTARY_1(sinh) {
  HYPERBOLIC(x, 710.5);
  HF y = ADD(difference, FMA(sum, odd, MUL(difference, even)));
  y = SELECT(LT(a, K(0x1p-28)), ABS(x), ADD(y, y));
  return FLOAT(IOR(BITS(y), IAND(BITS(x), KI(INT64_MIN))));
}

HIA_ELEMENTARY_1(cosh) {
  HYPERBOLIC(x, 710.5);
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
  HB is_usual = EITHER(EQ(more, K(0.0)), BOTH(LE(K(0x1p-400), more), LE(more, K(0x1p510))));
  return FAR_2(NOT(is_usual), hypot, x, y, SQRT(FMA(more, more, MUL(less, less))));
}

HIA_ELEMENTARY_2(hypot_far) {
  HF a = ABS(x);
  HF b = ABS(y);
  HB is_less = LT(a, b);
  HF more = SELECT(is_less, b, a);
  HF less = SELECT(is_less, a, b);
  HB is_large = LT(K(0x1p510), more);
  HB is_small = LT(more, K(0x1p-400));
  HF scale = SELECT(is_large, K(0x1p-520), SELECT(is_small, K(0x1p600), K(1.0)));
  HF inverse = SELECT(is_large, K(0x1p520), SELECT(is_small, K(0x1p-600), K(1.0)));
  more = MUL(more, scale);
  less = MUL(less, scale);
  HF z = MUL(SQRT(FMA(more, more, MUL(less, less))), inverse);
  return SELECT(EITHER(EQ(a, K(INFINITY)), EQ(b, K(INFINITY))), K(INFINITY), z);
}

/* log2(1 + f) = s (K0 + s^2 (K1 + s^2 R)), K1 = K0 / 3: all but R as two floats. */
#define POW_LOG(n, f)                                                                              \
  HF d = ADD(K(2.0), f);                                                                           \
  HF d_low = SUB(f, SUB(d, K(2.0)));                                                               \
  HF inverse = DIV(K(1.0), d);                                                                     \
  HF s = MUL(f, inverse);                                                                          \
  HF s_low = MUL(FMA(NEG(s), d_low, FMA(NEG(s), d, f)), inverse);                                  \
  HF z = MUL(s, s);                                                                                \
  HF z_low = FMA(ADD(s, s), s_low, FMA(s, s, NEG(z)));                                             \
  HF z2 = MUL(z, z);                                                                               \
  /* |error| < 2^-54.0 */                                                                          \
  HF p = FMA(H3(z2, 0x1.60392c714f987p-3, 0x1.8a061d1dc6acap-3, 0x1.0c9a84fff9443p-2,              \
                0x1.a61762a7ae41dp-2),                                                             \
             z,                                                                                    \
             H3(z2, 0x1.593b5ce944192p-3, 0x1.c68f050b6a2a1p-3, 0x1.484b13d735f42p-2,              \
                0x1.2776c50ef9bfep-1));                                                            \
  HF u = FMA(p, z, K(0x1.ec709dc3a03fdp-1));                                                       \
  HF u_low = ADD(FMA(p, z, SUB(K(0x1.ec709dc3a03fdp-1), u)), K(0x1.d27f05548af0cp-55));            \
  HF v = MUL(z, u);                                                                                \
  HF v_low = FMA(z_low, u, FMA(z, u_low, FMA(z, u, NEG(v))));                                      \
  HF k = ADD(K(0x1.71547652b82fep+1), v);                                                          \
  HF k_low = ADD(SUB(v, SUB(k, K(0x1.71547652b82fep+1))), ADD(v_low, K(0x1.777d0ffda0d24p-55)));   \
  HF h = MUL(s, k);                                                                                \
  HF h_low = FMA(s_low, k, FMA(s, k_low, FMA(s, k, NEG(h))));                                      \
  HF top = ADD(n, h);                                                                              \
  HF rest = ADD(SUB(h, SUB(top, n)), h_low)

/* For usual operands, whose power is far from the ends of the exponents. */
HIA_ELEMENTARY_2(pow) {
  HF a = ABS(x);
  HI b = ISUB(BITS(a), KI(0x3fe6a09e667f3bcd));
  HF n = FROM_INT(SAR(b, 52));
  HF f = SUB(FLOAT(IADD(IAND(b, KI(0xfffffffffffff)), KI(0x3fe6a09e667f3bcd))), K(1.0));
  POW_LOG(n, f);
  HF w = MUL(y, top);
  HF w_low = FMA(y, rest, FMA(y, top, NEG(w)));
  HF t = ADD(w, K(0x1.8p52));
  HF r = ADD(SUB(w, SUB(t, K(0x1.8p52))), w_low);
  EXP2_POLY(r, power);
  HI result = IADD(BITS(power), SHL(BITS(t), 52));
  HF whole = ADD(y, K(0x1.8p52));
  result = IXOR(result, IAND(SHL(BITS(whole), 63), BITS(x)));
  HB is_wrong = BOTH(LT(x, K(0.0)), NOT(EQ(SUB(whole, K(0x1.8p52)), y)));
  HB is_usual = BOTH(BOTH(LE(K(0x1p-1022), a), LT(a, K(INFINITY))),
                     BOTH(LT(ABS(w), K(1021.0)), LT(ABS(y), K(0x1p51))));
  return FAR_2(NOT(is_usual), pow, x, y, SELECT(is_wrong, K(NAN), FLOAT(result)));
}

/* For all operands; what FAR_2 calls. Zero and infinity have infinite logarithms. Where the base is
 * 1 or the exponent 0, the power is 1; a negative base has a sign if the exponent is odd, and no
 * fractional powers. From 0x1p52 on all floats are integers. */
HIA_ELEMENTARY_2(pow_far) {
  HF a = ABS(x);
  REDUCE_LOG(a);
  POW_LOG(n, f);
  top = SELECT(LT(a, K(INFINITY)), SELECT(EQ(a, K(0.0)), K(-INFINITY), top), a);
  HF w = MUL(y, top);
  HF w_low = FMA(y, rest, FMA(y, top, NEG(w)));
  w_low = SELECT(LT(ABS(w), K(2048.0)), w_low, K(0.0));
  w = AT_MOST(1025.0, w);
  w = AT_LEAST(-1076.0, w);
  HF t = ADD(w, K(0x1.8p52 + 2046));
  HF r = ADD(SUB(w, SUB(t, K(0x1.8p52 + 2046))), w_low);
  EXP2_POLY(r, power);
  SCALE(power, t);
  HF size = SELECT(EITHER(EQ(a, K(1.0)), EQ(y, K(0.0))), K(1.0), scaled);
  HF c = ABS(y);
  HF half_c = MUL(c, K(0.5));
  HB is_whole = EITHER(LE(K(0x1p52), c), EQ(c, SUB(ADD(c, K(0x1p52)), K(0x1p52))));
  HB is_even = EITHER(LE(K(0x1p52), half_c), EQ(half_c, SUB(ADD(half_c, K(0x1p52)), K(0x1p52))));
  HI sign = SELECTI(BOTH(is_whole, NOT(is_even)), IXOR(BITS(x), BITS(a)), KI(0));
  HB is_wrong = BOTH(BOTH(LT(x, K(0.0)), LT(a, K(INFINITY))), NOT(is_whole));
  return SELECT(is_wrong, K(NAN), FLOAT(IXOR(BITS(size), sign)));
}
