/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/base: the meaning of every scalar op, and the printed form of scalars. */
#include "runtime/base/base.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- evaluating one op ---- */

static hia_word eval3(unsigned op, hia_dtype t, uint64_t imm, hia_word a, hia_word b, hia_word c) {
  hia_word in[3] = {a, b, c}, out = 0xdead;
  hia_status status = hiaR_scalar_eval(op, t, imm, in, &out);
  cr_assert_eq(status, HIA_OK, "op %s status %d", hiaR_ops[op].name, status);
  return out;
}
static hia_status status_of(unsigned op, hia_dtype t, hia_word a, hia_word b) {
  hia_word in[2] = {a, b}, out = 0xdead;
  hia_status status = hiaR_scalar_eval(op, t, 0, in, &out);
  if (status) cr_assert_eq(out, 0xdead, "a failing op writes nothing");
  return status;
}

#define W32(x)        hiaR_from_i32(x)
#define W64(x)        hiaR_from_i64(x)
#define I32(OP, a, b) hiaR_to_i32(canonical_i32(eval3(HIA_OP_##OP, HIA_I32, 0, W32(a), W32(b), 0)))
#define I64(OP, a, b) hiaR_to_i64(eval3(HIA_OP_##OP, HIA_I64, 0, W64(a), W64(b), 0))
#define F32(OP, a, b)                                                                              \
  hiaR_to_f32(canonical_f32(eval3(HIA_OP_##OP, HIA_F32, 0, hiaR_from_f32(a), hiaR_from_f32(b), 0)))
#define F64(OP, a, b)                                                                              \
  hiaR_to_f64(eval3(HIA_OP_##OP, HIA_F64, 0, hiaR_from_f64(a), hiaR_from_f64(b), 0))

static hia_word canonical_i32(hia_word w) {
  cr_assert_eq(w, hiaR_from_i32(hiaR_to_i32(w)), "not sign-extended: %lx", (unsigned long)w);
  return w;
}
static hia_word canonical_f32(hia_word w) {
  cr_assert_eq(w >> 32, 0, "upper half not zero: %lx", (unsigned long)w);
  return w;
}

static bool same_f64(double a, double b) { /* the same bits, but all NaNs are equal */
  return (a != a && b != b) || hiaR_from_f64(a) == hiaR_from_f64(b);
}
static bool same_f32(float a, float b) {
  return (a != a && b != b) || hiaR_from_f32(a) == hiaR_from_f32(b);
}

static const int64_t ints[] = {0,
                               1,
                               -1,
                               2,
                               -2,
                               7,
                               -7,
                               31,
                               32,
                               33,
                               63,
                               64,
                               65,
                               100,
                               INT32_MAX,
                               INT32_MIN,
                               INT64_MAX,
                               INT64_MIN,
                               INT32_MAX - 1L,
                               INT32_MIN + 1L,
                               INT64_MAX - 1,
                               INT64_MIN + 1,
                               1L << 32};
static const double floats[] = {0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                0.5,
                                -0.5,
                                1.5,
                                2.5,
                                -2.5,
                                3.5,
                                1e10,
                                -1e10,
                                1e300,
                                -1e300,
                                1e-300,
                                5e-324,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                0.1,
                                3.0,
                                2147483647.0,
                                2147483648.0,
                                -2147483648.0,
                                -2147483649.0,
                                9223372036854775807.0,
                                -9223372036854775808.0,
                                1e19};

Test(scalar, integer_arithmetic_wraps) {
  for (size_t i = 0; i < HIA_LEN(ints); i++) {
    for (size_t k = 0; k < HIA_LEN(ints); k++) {
      int64_t a = ints[i], b = ints[k];
      uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
      cr_assert_eq(I64(ADD, a, b), (int64_t)(ua + ub));
      cr_assert_eq(I64(SUB, a, b), (int64_t)(ua - ub));
      cr_assert_eq(I64(MUL, a, b), (int64_t)(ua * ub));
      cr_assert_eq(I64(MIN, a, b), a < b ? a : b);
      cr_assert_eq(I64(MAX, a, b), a < b ? b : a);
      cr_assert_eq(I64(BAND, a, b), a & b);
      cr_assert_eq(I64(BOR, a, b), a | b);
      cr_assert_eq(I64(BXOR, a, b), a ^ b);
      cr_assert_eq(I64(SHL, a, b), (int64_t)(ua << (ub % 64)));
      cr_assert_eq(I64(SHR, a, b), a >> (ub % 64));
      cr_assert_eq(I64(SHRU, a, b), (int64_t)(ua >> (ub % 64)));
      cr_assert_eq(I64(LT, a, b), a < b);
      cr_assert_eq(I64(GE, a, b), a >= b);
      int32_t c = (int32_t)a, d = (int32_t)b;
      uint32_t uc = (uint32_t)c, ud = (uint32_t)d;
      cr_assert_eq(I32(ADD, c, d), (int32_t)(uc + ud));
      cr_assert_eq(I32(SUB, c, d), (int32_t)(uc - ud));
      cr_assert_eq(I32(MUL, c, d), (int32_t)(uc * ud));
      cr_assert_eq(I32(MIN, c, d), c < d ? c : d);
      cr_assert_eq(I32(MAX, c, d), c < d ? d : c);
      cr_assert_eq(I32(BXOR, c, d), c ^ d);
      cr_assert_eq(I32(SHL, c, d), (int32_t)(uc << (ud % 32)));
      cr_assert_eq(I32(SHRU, c, d), (int32_t)(uc >> (ud % 32)));
      /* Counts of the other dtype, in its words. */
      cr_assert_eq(eval3(HIA_OP_SHL, HIA_I32, 0, W32(c), W64(b), 0),
                   W32((int32_t)(uc << (ub % 32))));
      cr_assert_eq(eval3(HIA_OP_SHR, HIA_I64, 0, W64(a), W32(d), 0), W64(a >> (ud % 64)));
      cr_assert_eq(eval3(HIA_OP_SHRU, HIA_I64, 0, W64(a), W32(d), 0),
                   W64((int64_t)(ua >> (ud % 64))));
      cr_assert_eq(I32(SHR, c, d), c >> (ud % 32));
      cr_assert_eq(I32(EQ, c, d), c == d);
      cr_assert_eq(I32(NE, c, d), c != d);
      cr_assert_eq(I32(GT, c, d), c > d);
      cr_assert_eq(I32(LE, c, d), c <= d);
    }
    int64_t a = ints[i];
    cr_assert_eq(I64(NEG, a, 0), (int64_t)(0 - (uint64_t)a));
    cr_assert_eq(I64(ABS, a, 0), a < 0 ? (int64_t)(0 - (uint64_t)a) : a);
    cr_assert_eq(I64(BNOT, a, 0), ~a);
    cr_assert_eq(I64(RELU, a, 0), a < 0 ? 0 : a);
    cr_assert_eq(I32(RELU, (int32_t)a, 0), (int32_t)a < 0 ? 0 : (int32_t)a);
    cr_assert_eq(I32(BNOT, (int32_t)a, 0), ~(int32_t)a);
  }
  cr_assert_eq(I32(NEG, INT32_MIN, 0), INT32_MIN);
  cr_assert_eq(I32(ABS, INT32_MIN, 0), INT32_MIN);
  cr_assert_eq(I64(ABS, INT64_MIN, 0), INT64_MIN);
}

Test(scalar, bits_are_counted) {
  for (size_t i = 0; i < HIA_LEN(ints); i++) {
    int32_t n[2] = {0}, high[2] = {32, 64}, low[2] = {32, 64};
    for (int k = 0; k < 2; k++) /* of 32 bits, of 64 */
      for (int bit = 0, width = k ? 64 : 32; bit < width; bit++) {
        if (!((uint64_t)ints[i] >> bit & 1)) continue;
        n[k]++;
        high[k] = width - 1 - bit;
        if (low[k] == width) low[k] = bit;
      }
    cr_assert_eq(I32(POPCOUNT, (int32_t)ints[i], 0), n[0]);
    cr_assert_eq(I64(POPCOUNT, ints[i], 0), n[1]);
    cr_assert_eq(I32(CLZ, (int32_t)ints[i], 0), high[0]);
    cr_assert_eq(I64(CLZ, ints[i], 0), high[1]);
    cr_assert_eq(I32(CTZ, (int32_t)ints[i], 0), low[0]);
    cr_assert_eq(I64(CTZ, ints[i], 0), low[1]);
  }
}

Test(scalar, integer_division) {
  cr_assert_eq(I32(DIV, -7, 2), -3);
  cr_assert_eq(I32(REM, -7, 2), -1);
  cr_assert_eq(I32(DIV, 7, -2), -3);
  cr_assert_eq(I32(REM, 7, -2), 1);
  cr_assert_eq(I64(DIV, INT64_MIN, 1), INT64_MIN);
  cr_assert_eq(I64(REM, INT64_MIN, 2), 0);
  cr_assert_eq(I32(DIV, INT32_MAX, -1), -INT32_MAX);
  for (unsigned op = HIA_OP_DIV; op <= HIA_OP_REM; op++) {
    cr_assert_eq(status_of(op, HIA_I32, W32(5), W32(0)), HIA_DIV_ZERO);
    cr_assert_eq(status_of(op, HIA_I64, W64(INT64_MIN), W64(0)), HIA_DIV_ZERO);
    cr_assert_eq(status_of(op, HIA_I32, W32(INT32_MIN), W32(-1)), HIA_DIV_OVERFLOW);
    cr_assert_eq(status_of(op, HIA_I64, W64(INT64_MIN), W64(-1)), HIA_DIV_OVERFLOW);
    cr_assert_eq(status_of(op, HIA_I64, W64(INT32_MIN), W64(-1)), HIA_OK);
    cr_assert_eq(status_of(op, HIA_F64, hiaR_from_f64(1), hiaR_from_f64(0)), HIA_OK);
  }
}

Test(scalar, float_arithmetic) {
  for (size_t i = 0; i < HIA_LEN(floats); i++) {
    for (size_t k = 0; k < HIA_LEN(floats); k++) {
      double a = floats[i], b = floats[k];
      cr_assert(same_f64(F64(ADD, a, b), a + b));
      cr_assert(same_f64(F64(SUB, a, b), a - b));
      cr_assert(same_f64(F64(MUL, a, b), a * b));
      cr_assert(same_f64(F64(DIV, a, b), a / b));
      cr_assert(same_f64(F64(REM, a, b), fmod(a, b)));
      cr_assert(same_f64(F64(POW, a, b), hiaR_pow_f64(a, b)));
      bool nan = a != a || b != b;
      double low = nan ? NAN : a < b ? a : b, high = nan ? NAN : a < b ? b : a;
      if (a == 0 && b == 0) {
        low = signbit(a) || signbit(b) ? -0.0 : 0.0;
        high = signbit(a) && signbit(b) ? -0.0 : 0.0;
      }
      cr_assert(same_f64(F64(MIN, a, b), low), "min(%a, %a)", a, b);
      cr_assert(same_f64(F64(MAX, a, b), high), "max(%a, %a)", a, b);
      cr_assert_eq(eval3(HIA_OP_LT, HIA_F64, 0, hiaR_from_f64(a), hiaR_from_f64(b), 0), a < b);
      cr_assert_eq(eval3(HIA_OP_LE, HIA_F64, 0, hiaR_from_f64(a), hiaR_from_f64(b), 0), a <= b);
      cr_assert_eq(eval3(HIA_OP_EQ, HIA_F64, 0, hiaR_from_f64(a), hiaR_from_f64(b), 0), a == b);
      cr_assert_eq(eval3(HIA_OP_NE, HIA_F64, 0, hiaR_from_f64(a), hiaR_from_f64(b), 0), a != b);
      float c = (float)a, d = (float)b;
      cr_assert(same_f32(F32(ADD, c, d), c + d));
      cr_assert(same_f32(F32(MUL, c, d), c * d));
      cr_assert(same_f32(F32(DIV, c, d), c / d));
      cr_assert(same_f32(F32(REM, c, d), fmodf(c, d)));
      cr_assert(same_f32(F32(POW, c, d), hiaR_pow_f32(c, d)));
    }
    double a = floats[i];
    cr_assert(same_f64(F64(NEG, a, 0), -a));
    cr_assert(same_f64(F64(ABS, a, 0), fabs(a)));
    cr_assert(same_f64(F64(RELU, a, 0), a != a ? NAN : a > 0 ? a : 0.0));
    cr_assert(same_f64(F64(FLOOR, a, 0), floor(a)));
    cr_assert(same_f64(F64(CEIL, a, 0), ceil(a)));
    cr_assert(same_f64(F64(SQRT, a, 0), sqrt(a)));
  }
  cr_assert(same_f64(F64(ROUND, 2.5, 0), 2.0) && same_f64(F64(ROUND, 3.5, 0), 4.0));
  cr_assert(same_f64(F64(ROUND, -0.5, 0), -0.0) && same_f32(F32(ROUND, -2.5f, 0), -2.0f));
  /* f32 rounds at every operation: the exact sum of these needs more digits. */
  cr_assert_eq(F32(ADD, 16777216.0f, 1.0f), 16777216.0f);
}

Test(scalar, floats_are_classified) {
  for (size_t i = 0; i < HIA_LEN(floats); i++) {
    double a = floats[i];
    float b = (float)a;
    cr_assert_eq(eval3(HIA_OP_ISNAN, HIA_F64, 0, hiaR_from_f64(a), 0, 0), !(a <= 0) && !(a >= 0));
    cr_assert_eq(eval3(HIA_OP_ISNAN, HIA_F32, 0, hiaR_from_f32(b), 0, 0), !(b <= 0) && !(b >= 0));
    cr_assert_eq(eval3(HIA_OP_ISINF, HIA_F64, 0, hiaR_from_f64(a), 0, 0),
                 a > DBL_MAX || a < -DBL_MAX);
    cr_assert_eq(eval3(HIA_OP_ISINF, HIA_F32, 0, hiaR_from_f32(b), 0, 0),
                 b > FLT_MAX || b < -FLT_MAX);
  }
}

/* The right column is computed exactly, then rounded once. */
Test(scalar, fma_rounds_once) {
#define FMA64(a, b, c)                                                                             \
  hiaR_to_f64(eval3(HIA_OP_FMA, HIA_F64, 0, hiaR_from_f64(a), hiaR_from_f64(b), hiaR_from_f64(c)))
#define FMA32(a, b, c)                                                                             \
  hiaR_to_f32(eval3(HIA_OP_FMA, HIA_F32, 0, hiaR_from_f32(a), hiaR_from_f32(b), hiaR_from_f32(c)))
  cr_assert_eq(FMA64(0.1, 10, -1), 0x1p-54);
  cr_assert_eq(FMA64(0x1.0000000000001p0, 0x1.0000000000001p0, -0x1.0000000000002p0), 0x1p-104);
  cr_assert_eq(FMA64(1e300, 1e300, -INFINITY), -INFINITY);
  cr_assert_eq(FMA64(1e200, 1e200, 0), INFINITY);
  cr_assert_eq(FMA64(0x1p1023, 2, -0x1p1023), 0x1p1023); /* without overflow in between */
  cr_assert_eq(FMA64(0x1p-600, 0x1p-600, 1), 1);
  cr_assert_eq(FMA32(0.1f, 10, -1), 0x1p-26f);
  /* Computed in f64 and then rounded to f32, it would be rounded twice, to 0x1.000004p+0. */
  cr_assert_eq(FMA32(0x1.00004p-24f, 0x1.ffff8p-1f, 0x1.000002p0f), 0x1.000002p0f);
  cr_assert_eq(FMA32(0x1p-12f, 0x1p-12f, 1), 1);
  cr_assert(same_f64(FMA64(-0.0, 1, -0.0), -0.0) && same_f64(FMA64(-0.0, 1, 0.0), 0.0));
  cr_assert(same_f64(FMA64(INFINITY, 0, NAN), NAN) && same_f32(FMA32(INFINITY, 0, 1), NAN));
}

Test(scalar, bool_and_select) {
  for (hia_word a = 0; a < 2; a++) {
    cr_assert_eq(eval3(HIA_OP_BNOT, HIA_BOOL, 0, a, 0, 0), !a);
    for (hia_word b = 0; b < 2; b++) {
      cr_assert_eq(eval3(HIA_OP_BAND, HIA_BOOL, 0, a, b, 0), (a & b));
      cr_assert_eq(eval3(HIA_OP_BOR, HIA_BOOL, 0, a, b, 0), (a | b));
      cr_assert_eq(eval3(HIA_OP_BXOR, HIA_BOOL, 0, a, b, 0), (a ^ b));
      cr_assert_eq(eval3(HIA_OP_LT, HIA_BOOL, 0, a, b, 0), a < b);
      cr_assert_eq(eval3(HIA_OP_EQ, HIA_BOOL, 0, a, b, 0), a == b);
    }
  }
  for (int t = 0; t < HIA_N_DTYPES; t++) {
    cr_assert_eq(eval3(HIA_OP_SELECT, (hia_dtype)t, 0, 1, 5, 6), 5);
    cr_assert_eq(eval3(HIA_OP_SELECT, (hia_dtype)t, 0, 0, 5, 6), 6);
  }
}

static hia_word cast(hia_dtype from, hia_dtype to, hia_word w) {
  return eval3(HIA_OP_CAST, to, from, w, 0, 0);
}

Test(scalar, conversion) {
  for (size_t i = 0; i < HIA_LEN(ints); i++) {
    int64_t a = ints[i];
    cr_assert_eq(cast(HIA_I64, HIA_I32, W64(a)), W32((int32_t)(uint32_t)a));
    cr_assert_eq(cast(HIA_I32, HIA_I64, W32((int32_t)a)), W64((int32_t)a));
    cr_assert_eq(cast(HIA_I64, HIA_F32, W64(a)), hiaR_from_f32((float)a));
    cr_assert_eq(cast(HIA_I64, HIA_F64, W64(a)), hiaR_from_f64((double)a));
    cr_assert_eq(cast(HIA_I64, HIA_BOOL, W64(a)), a != 0);
    cr_assert_eq(cast(HIA_I32, HIA_BOOL, W32((int32_t)a)), (int32_t)a != 0);
    cr_assert_eq(cast(HIA_I64, HIA_I64, W64(a)), W64(a));
  }
  struct {
    double from;
    int32_t i32;
    int64_t i64;
  } rows[] = {{2.7, 2, 2},
              {-2.7, -2, -2},
              {-0.0, 0, 0},
              {NAN, 0, 0},
              {INFINITY, INT32_MAX, INT64_MAX},
              {-INFINITY, INT32_MIN, INT64_MIN},
              {2147483647.5, INT32_MAX, 2147483647},
              {2147483648.0, INT32_MAX, 2147483648},
              {-2147483648.9, INT32_MIN, -2147483648},
              {-2147483649.0, INT32_MIN, -2147483649},
              {9223372036854775808.0, INT32_MAX, INT64_MAX},
              {9223372036854774784.0, INT32_MAX, 9223372036854774784},
              {-9223372036854775808.0, INT32_MIN, INT64_MIN},
              {-1e300, INT32_MIN, INT64_MIN}};
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    hia_word w = hiaR_from_f64(rows[i].from);
    cr_assert_eq(cast(HIA_F64, HIA_I32, w), W32(rows[i].i32), "%a", rows[i].from);
    cr_assert_eq(cast(HIA_F64, HIA_I64, w), W64(rows[i].i64), "%a", rows[i].from);
    cr_assert_eq(cast(HIA_F64, HIA_BOOL, w), rows[i].from != 0);
  }
  cr_assert_eq(cast(HIA_F32, HIA_I32, hiaR_from_f32(2147483648.0f)), W32(INT32_MAX));
  cr_assert_eq(cast(HIA_F32, HIA_I32, hiaR_from_f32(2147483520.0f)), W32(2147483520));
  cr_assert_eq(cast(HIA_F32, HIA_I64, hiaR_from_f32(-1e30f)), W64(INT64_MIN));
  cr_assert_eq(cast(HIA_F32, HIA_F64, hiaR_from_f32(0.1f)), hiaR_from_f64((double)0.1f));
  cr_assert_eq(cast(HIA_F64, HIA_F32, hiaR_from_f64(0.1)), hiaR_from_f32(0.1f));
  cr_assert_eq(cast(HIA_F64, HIA_F32, hiaR_from_f64(1e300)), hiaR_from_f32(INFINITY));
  cr_assert_eq(cast(HIA_BOOL, HIA_F32, 1), hiaR_from_f32(1.0f));
  cr_assert_eq(cast(HIA_BOOL, HIA_I32, 1), 1);
  cr_assert_eq(cast(HIA_F32, HIA_BOOL, hiaR_from_f32(-0.0f)), 0);
}

Test(scalar, library_functions_are_what_kernels_call) {
  for (size_t i = 0; i < HIA_LEN(floats); i++) {
    double a = floats[i];
    float b = (float)a;
#define CHECK(NAME, name)                                                                          \
  do {                                                                                             \
    cr_assert(same_f64(F64(NAME, a, 0), hiaR_##name##_f64(a)));                                    \
    cr_assert(same_f32(F32(NAME, b, 0), hiaR_##name##_f32(b)));                                    \
  } while (0)
    CHECK(EXP, exp);
    CHECK(EXP2, exp2);
    CHECK(LOG, log);
    CHECK(LOG2, log2);
    CHECK(LOG10, log10);
    CHECK(LOG1P, log1p);
    CHECK(EXPM1, expm1);
    CHECK(SIN, sin);
    CHECK(COS, cos);
    CHECK(TAN, tan);
    CHECK(ASIN, asin);
    CHECK(ACOS, acos);
    CHECK(ATAN, atan);
    CHECK(SINH, sinh);
    CHECK(COSH, cosh);
    CHECK(TANH, tanh);
    CHECK(SIGMOID, sigmoid);
#undef CHECK
    cr_assert(same_f64(F64(REM, a, 0.3), hiaR_rem_f64(a, 0.3)));
    cr_assert(same_f32(F32(POW, b, 0.3f), hiaR_pow_f32(b, 0.3f)));
    for (size_t k = 0; k < HIA_LEN(floats); k++) {
      double c = floats[k];
      cr_assert(same_f64(F64(ATAN2, a, c), hiaR_atan2_f64(a, c)));
      cr_assert(same_f64(F64(HYPOT, a, c), hiaR_hypot_f64(a, c)));
      cr_assert(same_f64(F64(HYPOT, a, c), F64(HYPOT, c, a))); /* it commutes, bit for bit */
      cr_assert(same_f32(F32(ATAN2, b, (float)c), hiaR_atan2_f32(b, (float)c)));
      cr_assert(same_f32(F32(HYPOT, b, (float)c), hiaR_hypot_f32(b, (float)c)));
      cr_assert(same_f32(F32(HYPOT, b, (float)c), F32(HYPOT, (float)c, b)));
    }
  }
}

/* ---- printing ---- */

static const char *print(hia_dtype t, hia_word w) {
  static char buf[40];
  memset(buf, '#', sizeof buf);
  size_t len = hiaR_print_word(buf, sizeof buf, t, w);
  cr_assert_eq(strlen(buf), len);
  return buf;
}
#define P64(x) print(HIA_F64, hiaR_from_f64(x))
#define P32(x) print(HIA_F32, hiaR_from_f32(x))

Test(print, integers_and_bools) {
  cr_assert_str_eq(print(HIA_BOOL, 1), "true");
  cr_assert_str_eq(print(HIA_BOOL, 0), "false");
  cr_assert_str_eq(print(HIA_I32, W32(INT32_MIN)), "-2147483648");
  cr_assert_str_eq(print(HIA_I64, W64(INT64_MIN)), "-9223372036854775808");
  cr_assert_str_eq(print(HIA_I64, 42), "42");
}

/* The right column is Python 3's output. */
Test(print, floats_as_python) {
  struct {
    double x;
    const char *text;
  } rows[] = {{3, "3.0"},
              {-0.0, "-0.0"},
              {0.1, "0.1"},
              {1e30, "1e+30"},
              {1.5e-7, "1.5e-07"},
              {0.0001, "0.0001"},
              {0.00001, "1e-05"},
              {0.00012345, "0.00012345"},
              {9999999999999998, "9999999999999998.0"},
              {1e16, "1e+16"},
              {1e15, "1000000000000000.0"},
              {123456789012345680, "1.2345678901234568e+17"},
              {-123.456, "-123.456"},
              {5e-324, "5e-324"},
              {DBL_MAX, "1.7976931348623157e+308"},
              {DBL_MIN, "2.2250738585072014e-308"},
              {0x1p-44, "5.684341886080802e-14"}, /* the nearest 16 digits do not read back */
              {9007199254740992, "9007199254740992.0"},
              {1e22, "1e+22"},
              {1e23, "1e+23"},
              {9.5, "9.5"},
              {1e100, "1e+100"},
              {INFINITY, "inf"},
              {-INFINITY, "-inf"},
              {NAN, "nan"},
              {-NAN, "nan"}};
  for (size_t i = 0; i < HIA_LEN(rows); i++) cr_assert_str_eq(P64(rows[i].x), rows[i].text);
  cr_assert_str_eq(P32(0.1f), "0.1");
  cr_assert_str_eq(P32(16777216.0f), "16777216.0");
  cr_assert_str_eq(P32(3.4028235e38f), "3.4028235e+38");
  cr_assert_str_eq(P32(1e-45f), "1e-45");
  cr_assert_str_eq(P32(0.3f), "0.3");
  cr_assert_str_eq(P32(1e16f), "1e+16");
  cr_assert_str_eq(P32(1.0f / 3), "0.33333334");
}

Test(print, floats_read_back_with_no_digit_to_spare) {
  uint64_t seed = 88172645463325252u;
  for (int i = 0; i < 20000; i++) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    hia_word w = i % 2 ? seed : seed >> 32;
    hia_dtype t = i % 2 ? HIA_F64 : HIA_F32;
    const char *text = print(t, w);
    if (strstr(text, "nan")) continue;
    if (t == HIA_F64)
      cr_assert_eq(hiaR_from_f64(strtod(text, NULL)), w, "%s", text);
    else
      cr_assert_eq(hiaR_from_f32(strtof(text, NULL)), w, "%s", text);
    int digits = 0;
    for (const char *c = text; *c && *c != 'e'; c++) digits += *c >= '0' && *c <= '9';
    cr_assert_leq(digits, t == HIA_F64 ? 21 : 20, "%s", text);
  }
}

/* ---- numbers as text ---- */

static hia_word number(const char *text, hia_dtype dtype) {
  hia_word word = 0;
  cr_assert_eq(hiaR_read_word(text, text + strlen(text), false, false, dtype, &word), HIA_NUMBER_OK,
               "%s", text);
  return word;
}

/* The C library reads the same text, all digits of it. */
static void expect_as_c(const char *text) {
  hia_word f64 = number(text, HIA_F64);
  cr_assert_eq(f64, hiaR_from_f64(strtod(text, NULL)), "%.60s: %.17g", text, hiaR_to_f64(f64));
  if (isinf(strtof(text, NULL))) return;
  hia_word f32 = number(text, HIA_F32);
  cr_assert_eq(f32, hiaR_from_f32(strtof(text, NULL)), "%.60s: %.9g", text,
               (double)hiaR_to_f32(f32));
}

Test(read_word, rounds_as_the_c_library) {
  uint64_t state = 1;
  for (int i = 0; i < 100000 / HIA_TEST_SHARE; i++) {
    char text[64];
    state = state * 6364136223846793005u + 1442695040888963407u;
    unsigned n = 1 + (unsigned)(state >> 60), e = (unsigned)(state >> 32 & 63);
    snprintf(text, sizeof text, "%.*s.%ue%d", (int)n, "7205759403792793",
             (unsigned)(state >> 8 & 0xffffff), (int)e - 32);
    expect_as_c(text);
  }
}

Test(read_word, many_digits) {
  /* Half way between two floats, and a digit far behind that: at each place it decides. */
  static const char *const halves[] = {
      "9007199254740993", "16777217",
      "2.2250738585072011360574097967091319759348195463516456e-308"};
  static char text[4000];
  for (size_t i = 0; i < 2; i++) {
    for (size_t zeros = 0; zeros < 1500; zeros += 37) {
      size_t n = (size_t)snprintf(text, sizeof text, "%s.", halves[i]);
      memset(text + n, '0', zeros);
      strcpy(text + n + zeros, "0");
      expect_as_c(text);
      strcpy(text + n + zeros, "1");
      expect_as_c(text);
    }
  }
  expect_as_c(halves[2]);
  /* More digits than are kept, before the point too. */
  memset(text, '1', 30);
  memset(text + 30, '0', 1500);
  strcpy(text + 1530, "e-1510");
  expect_as_c(text);
  memset(text, '0', 2000);
  strcpy(text + 2000, "25e-2");
  expect_as_c(text);
}

Test(read_word, out_of_range) {
  hia_word word;
  const char *large = "1e39", *huge = "1e99999999999999999999";
  cr_assert_eq(hiaR_read_word(large, large + 4, false, false, HIA_F32, &word), HIA_NUMBER_LARGE);
  cr_assert_eq(hiaR_read_word(huge, huge + strlen(huge), false, true, HIA_F64, &word),
               HIA_NUMBER_LARGE);
  cr_assert_eq(number("1e-99999999999999999999", HIA_F64), 0);
  cr_assert_eq(number("0e99999999999999999999", HIA_F64), 0);
  const char *limit = "2147483648";
  cr_assert_eq(hiaR_read_word(limit, limit + 10, false, false, HIA_I32, &word), HIA_NUMBER_RANGE);
  cr_assert_eq(hiaR_read_word(limit, limit + 10, false, true, HIA_I32, &word), HIA_NUMBER_OK);
  cr_assert_eq(word, hiaR_from_i32(INT32_MIN));
}

/* ---- NaN ---- */

/* Ops without the trait give NaN only of an operand that is NaN; each with it makes one somewhere.
 */
Test(scalar, which_ops_make_nan) {
  static const double some[] = {0.0,   -0.0,  0.5,    -0.5,     1.0,       -1.0,
                                2.0,   -2.0,  3.5,    INFINITY, -INFINITY, 1e30,
                                -1e30, 1e-30, 1e-310, 1e300,    90.0,      -90.0};
  enum { N = sizeof some / sizeof *some };
  for (unsigned op = 0; op < 64; op++) {
    const hia_op_info *info = &hiaR_ops[op];
    if (!info->name || op == HIA_OP_FAIL || op == HIA_OP_SELECT) continue;
    for (hia_dtype t = HIA_F32; t <= HIA_F64; t++) {
      if (!hiaR_rule_takes((hia_rule)info->rule, t)) continue;
      if (hiaR_rule_result((hia_rule)info->rule, t) != t) continue;
      bool makes = false;
      for (unsigned i = 0; i < N * N * N; i++) {
        hia_word in[3], out;
        const unsigned at[3] = {i % N, i / N % N, i / N / N};
        for (int k = 0; k < 3; k++)
          in[k] = t == HIA_F32 ? hiaR_from_f32((float)some[at[k]]) : hiaR_from_f64(some[at[k]]);
        cr_assert_eq(hiaR_scalar_eval(op, t, op == HIA_OP_CAST ? t : 0, in, &out), HIA_OK);
        makes |= t == HIA_F32 ? isnan(hiaR_to_f32(out)) : isnan(hiaR_to_f64(out));
      }
      cr_assert_eq(makes, (info->traits & HIA_T_MAKES_NAN) != 0, "%s", info->name);
    }
  }
}
