/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The kernels: what each primitive op means at each dtype.
 *
 * A kernel is one function per op and dtype, written by the macros below from an expression in the
 * operands `a`, `b` (and `c`). Nothing here is undefined behaviour: integers are computed unsigned,
 * shifts are masked, conversions saturate. Build with -ffp-contract=off and without -ffast-math:
 * f32 must round at every operation, NaN and -0 must be kept apart. */
#include "runtime/base/base.h"
#include <math.h>

#define ARGS hia_word *slots, const uint16_t *in, uint16_t out, uint64_t imm

/* One kernel: T and R are the dtypes of operands and result. */
#define KERNEL_1(NAME, T, R, type, expr)                                                           \
  static hia_status NAME##_##T(ARGS) {                                                             \
    (void)imm;                                                                                     \
    type a = hiaR_to_##T(slots[in[0]]);                                                            \
    slots[out] = hiaR_from_##R(expr);                                                              \
    return HIA_OK;                                                                                 \
  }
#define KERNEL_2(NAME, T, R, type, expr)                                                           \
  static hia_status NAME##_##T(ARGS) {                                                             \
    (void)imm;                                                                                     \
    type a = hiaR_to_##T(slots[in[0]]), b = hiaR_to_##T(slots[in[1]]);                             \
    slots[out] = hiaR_from_##R(expr);                                                              \
    return HIA_OK;                                                                                 \
  }

#define KERNEL_3(NAME, T, type, expr)                                                              \
  static hia_status NAME##_##T(ARGS) {                                                             \
    (void)imm;                                                                                     \
    type a = hiaR_to_##T(slots[in[0]]), b = hiaR_to_##T(slots[in[1]]);                             \
    type c = hiaR_to_##T(slots[in[2]]);                                                            \
    slots[out] = hiaR_from_##T(expr);                                                              \
    return HIA_OK;                                                                                 \
  }

/* The tables. An entry that is left out is NULL: there is no such op. */
#define TABLE_NUM(NAME)                                                                            \
  const hia_kernel hiaR_k_##NAME[HIA_N_DTYPES] = {[HIA_I32] = NAME##_i32,                          \
                                                  [HIA_I64] = NAME##_i64,                          \
                                                  [HIA_F32] = NAME##_f32,                          \
                                                  [HIA_F64] = NAME##_f64};
#define TABLE_INT(NAME)                                                                            \
  const hia_kernel hiaR_k_##NAME[HIA_N_DTYPES] = {[HIA_I32] = NAME##_i32, [HIA_I64] = NAME##_i64};
#define TABLE_BITS(NAME)                                                                           \
  const hia_kernel hiaR_k_##NAME[HIA_N_DTYPES] = {                                                 \
      [HIA_BOOL] = NAME##_bool, [HIA_I32] = NAME##_i32, [HIA_I64] = NAME##_i64};
#define TABLE_FLOAT(NAME)                                                                          \
  const hia_kernel hiaR_k_##NAME[HIA_N_DTYPES] = {[HIA_F32] = NAME##_f32, [HIA_F64] = NAME##_f64};
#define TABLE_ALL(NAME)                                                                            \
  const hia_kernel hiaR_k_##NAME[HIA_N_DTYPES] = {[HIA_BOOL] = NAME##_bool,                        \
                                                  [HIA_I32] = NAME##_i32,                          \
                                                  [HIA_I64] = NAME##_i64,                          \
                                                  [HIA_F32] = NAME##_f32,                          \
                                                  [HIA_F64] = NAME##_f64};

/* ---- arithmetic ---- */

/* Those of integers are in quick.def. */
#define HIA_QUICK(NAME, T, R, type, expr)   KERNEL_2(NAME, T, R, type, expr)
#define HIA_QUICK_TEST(NAME, T, type, expr) KERNEL_2(NAME, T, bool, type, expr)
#include "runtime/base/quick.def"

#define ARITHMETIC(NAME, op)                                                                       \
  KERNEL_2(NAME, f32, f32, float, a op b)                                                          \
  KERNEL_2(NAME, f64, f64, double, a op b)                                                         \
  TABLE_NUM(NAME)

ARITHMETIC(ADD, +)
ARITHMETIC(SUB, -)
ARITHMETIC(MUL, *)

#define DIVISION(NAME, T, type, least, op)                                                         \
  static hia_status NAME##_##T(ARGS) {                                                             \
    (void)imm;                                                                                     \
    type a = hiaR_to_##T(slots[in[0]]), b = hiaR_to_##T(slots[in[1]]);                             \
    if (HIA_UNLIKELY(b == 0)) return HIA_DIV_ZERO;                                                 \
    if (HIA_UNLIKELY(b == -1 && a == (least))) return HIA_DIV_OVERFLOW;                            \
    slots[out] = hiaR_from_##T(a op b);                                                            \
    return HIA_OK;                                                                                 \
  }
DIVISION(DIV, i32, int32_t, INT32_MIN, /)
DIVISION(DIV, i64, int64_t, INT64_MIN, /)
KERNEL_2(DIV, f32, f32, float, a / b)
KERNEL_2(DIV, f64, f64, double, a / b)
TABLE_NUM(DIV)

DIVISION(REM, i32, int32_t, INT32_MIN, %)
DIVISION(REM, i64, int64_t, INT64_MIN, %)
KERNEL_2(REM, f32, f32, float, hiaR_rem_f32(a, b))
KERNEL_2(REM, f64, f64, double, hiaR_rem_f64(a, b))
TABLE_NUM(REM)

KERNEL_1(NEG, i32, i32, int32_t, (int32_t)(0u - (uint32_t)a))
KERNEL_1(NEG, i64, i64, int64_t, (int64_t)(0u - (uint64_t)a))
KERNEL_1(NEG, f32, f32, float, -a)
KERNEL_1(NEG, f64, f64, double, -a)
TABLE_NUM(NEG)

KERNEL_1(ABS, i32, i32, int32_t, a < 0 ? (int32_t)(0u - (uint32_t)a) : a)
KERNEL_1(ABS, i64, i64, int64_t, a < 0 ? (int64_t)(0u - (uint64_t)a) : a)
KERNEL_1(ABS, f32, f32, float, fabsf(a))
KERNEL_1(ABS, f64, f64, double, fabs(a))
TABLE_NUM(ABS)

/* max(a, 0): NaN stays, and -0 becomes +0. */
KERNEL_1(RELU, i32, i32, int32_t, a > 0 ? a : 0)
KERNEL_1(RELU, i64, i64, int64_t, a > 0 ? a : 0)
KERNEL_1(RELU, f32, f32, float, a > 0 || a != a ? a : 0.0f)
KERNEL_1(RELU, f64, f64, double, a > 0 || a != a ? a : 0.0)
TABLE_NUM(RELU)

/* a + b is NaN if either is. Among equal floats only the zeros can differ, by their sign. */
#define FLOAT_MIN(a, b)                                                                            \
  ((a) != (a) || (b) != (b) ? (a) + (b) : (a) < (b) || ((a) == (b) && signbit(a)) ? (a) : (b))
#define FLOAT_MAX(a, b)                                                                            \
  ((a) != (a) || (b) != (b) ? (a) + (b) : (a) > (b) || ((a) == (b) && !signbit(a)) ? (a) : (b))

KERNEL_2(MIN, i32, i32, int32_t, a < b ? a : b)
KERNEL_2(MIN, i64, i64, int64_t, a < b ? a : b)
KERNEL_2(MIN, f32, f32, float, FLOAT_MIN(a, b))
KERNEL_2(MIN, f64, f64, double, FLOAT_MIN(a, b))
TABLE_NUM(MIN)

KERNEL_2(MAX, i32, i32, int32_t, a > b ? a : b)
KERNEL_2(MAX, i64, i64, int64_t, a > b ? a : b)
KERNEL_2(MAX, f32, f32, float, FLOAT_MAX(a, b))
KERNEL_2(MAX, f64, f64, double, FLOAT_MAX(a, b))
TABLE_NUM(MAX)

/* ---- comparison and choice ---- */

#define COMPARISON(NAME, op)                                                                       \
  KERNEL_2(NAME, bool, bool, bool, a op b)                                                         \
  KERNEL_2(NAME, f32, bool, float, a op b)                                                         \
  KERNEL_2(NAME, f64, bool, double, a op b)                                                        \
  TABLE_ALL(NAME)

COMPARISON(EQ, ==)
COMPARISON(NE, !=)
COMPARISON(LT, <)
COMPARISON(LE, <=)
COMPARISON(GT, >)
COMPARISON(GE, >=)

/* Whole words are moved, so the dtype does not matter. */
static hia_status select_any(ARGS) {
  (void)imm;
  slots[out] = hiaR_to_bool(slots[in[0]]) ? slots[in[1]] : slots[in[2]];
  return HIA_OK;
}
const hia_kernel hiaR_k_SELECT[HIA_N_DTYPES] = {select_any, select_any, select_any, select_any,
                                                select_any};

/* ---- bits ---- */

#define BITWISE(NAME, op)                                                                          \
  KERNEL_2(NAME, bool, bool, bool, ((int)a op(int) b) != 0)                                        \
  KERNEL_2(NAME, i32, i32, int32_t, a op b)                                                        \
  KERNEL_2(NAME, i64, i64, int64_t, a op b)                                                        \
  TABLE_BITS(NAME)

BITWISE(BAND, &)
BITWISE(BOR, |)
BITWISE(BXOR, ^)

KERNEL_1(BNOT, bool, bool, bool, !a)
KERNEL_1(BNOT, i32, i32, int32_t, ~a)
KERNEL_1(BNOT, i64, i64, int64_t, ~a)
TABLE_BITS(BNOT)

/* A count is taken modulo the width, so only its low bits matter, and those are the same in the
 * words of an i32 and an i64: the kernel does not need the dtype of the count. */
#define SHIFT_KERNEL(NAME, T, type, expr)                                                          \
  static hia_status NAME##_##T(ARGS) {                                                             \
    (void)imm;                                                                                     \
    type a = hiaR_to_##T(slots[in[0]]);                                                            \
    unsigned b = (unsigned)slots[in[1]] & (8 * sizeof(type) - 1);                                  \
    slots[out] = hiaR_from_##T(expr);                                                              \
    return HIA_OK;                                                                                 \
  }

SHIFT_KERNEL(SHL, i32, int32_t, (int32_t)((uint32_t)a << b))
SHIFT_KERNEL(SHL, i64, int64_t, (int64_t)((uint64_t)a << b))
TABLE_INT(SHL)

/* >> of a negative number copies the sign with every compiler that is supported. */
_Static_assert((-8 >> 1) == -4, "arithmetic shift right");
SHIFT_KERNEL(SHR, i32, int32_t, a >> b)
SHIFT_KERNEL(SHR, i64, int64_t, a >> b)
TABLE_INT(SHR)

SHIFT_KERNEL(SHRU, i32, int32_t, (int32_t)((uint32_t)a >> b))
SHIFT_KERNEL(SHRU, i64, int64_t, (int64_t)((uint64_t)a >> b))
TABLE_INT(SHRU)

/* Sums of 2, 4 and 8 bits side by side, and then of the eight bytes. (If there is no instruction,
 * the compiler's built-in calls a function of the compiler's own library.) */
static int bits_of(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (int)(x * 0x0101010101010101u >> 56);
}
KERNEL_1(POPCOUNT, i32, i32, int32_t, bits_of((uint32_t)a))
KERNEL_1(POPCOUNT, i64, i64, int64_t, bits_of((uint64_t)a))
TABLE_INT(POPCOUNT)

/* The compiler's built-ins are undefined for 0. */
KERNEL_1(CLZ, i32, i32, int32_t, a ? __builtin_clz((uint32_t)a) : 32)
KERNEL_1(CLZ, i64, i64, int64_t, a ? __builtin_clzll((uint64_t)a) : 64)
TABLE_INT(CLZ)
KERNEL_1(CTZ, i32, i32, int32_t, a ? __builtin_ctz((uint32_t)a) : 32)
KERNEL_1(CTZ, i64, i64, int64_t, a ? __builtin_ctzll((uint64_t)a) : 64)
TABLE_INT(CTZ)

/* ---- floats ---- */

#define FLOATS_1(NAME, f32_expr, f64_expr)                                                         \
  KERNEL_1(NAME, f32, f32, float, f32_expr)                                                        \
  KERNEL_1(NAME, f64, f64, double, f64_expr)                                                       \
  TABLE_FLOAT(NAME)

FLOATS_1(FLOOR, floorf(a), floor(a))
FLOATS_1(CEIL, ceilf(a), ceil(a))
/* rint rounds ties to even in the default rounding mode, which hosts must not change. */
FLOATS_1(ROUND, rintf(a), rint(a))
FLOATS_1(SQRT, sqrtf(a), sqrt(a))
FLOATS_1(EXP, hiaR_exp_f32(a), hiaR_exp_f64(a))
FLOATS_1(EXP2, hiaR_exp2_f32(a), hiaR_exp2_f64(a))
FLOATS_1(LOG, hiaR_log_f32(a), hiaR_log_f64(a))
FLOATS_1(LOG2, hiaR_log2_f32(a), hiaR_log2_f64(a))
FLOATS_1(LOG10, hiaR_log10_f32(a), hiaR_log10_f64(a))
FLOATS_1(LOG1P, hiaR_log1p_f32(a), hiaR_log1p_f64(a))
FLOATS_1(EXPM1, hiaR_expm1_f32(a), hiaR_expm1_f64(a))
FLOATS_1(SIN, hiaR_sin_f32(a), hiaR_sin_f64(a))
FLOATS_1(COS, hiaR_cos_f32(a), hiaR_cos_f64(a))
FLOATS_1(TAN, hiaR_tan_f32(a), hiaR_tan_f64(a))
FLOATS_1(ASIN, hiaR_asin_f32(a), hiaR_asin_f64(a))
FLOATS_1(ACOS, hiaR_acos_f32(a), hiaR_acos_f64(a))
FLOATS_1(ATAN, hiaR_atan_f32(a), hiaR_atan_f64(a))
FLOATS_1(SINH, hiaR_sinh_f32(a), hiaR_sinh_f64(a))
FLOATS_1(COSH, hiaR_cosh_f32(a), hiaR_cosh_f64(a))
FLOATS_1(TANH, hiaR_tanh_f32(a), hiaR_tanh_f64(a))
FLOATS_1(SIGMOID, hiaR_sigmoid_f32(a), hiaR_sigmoid_f64(a))

#define FLOATS_2(NAME, f32_expr, f64_expr)                                                         \
  KERNEL_2(NAME, f32, f32, float, f32_expr)                                                        \
  KERNEL_2(NAME, f64, f64, double, f64_expr)                                                       \
  TABLE_FLOAT(NAME)

FLOATS_2(POW, hiaR_pow_f32(a, b), hiaR_pow_f64(a, b))
FLOATS_2(ATAN2, hiaR_atan2_f32(a, b), hiaR_atan2_f64(a, b))
FLOATS_2(HYPOT, hiaR_hypot_f32(a, b), hiaR_hypot_f64(a, b))

/* One instruction, or the function of libm that computes it exactly: the bits are the same. */
KERNEL_3(FMA, f32, float, fmaf(a, b, c))
KERNEL_3(FMA, f64, double, fma(a, b, c))
TABLE_FLOAT(FMA)

#define CLASSIFICATION(NAME, expr)                                                                 \
  KERNEL_1(NAME, f32, bool, float, expr)                                                           \
  KERNEL_1(NAME, f64, bool, double, expr)                                                          \
  TABLE_FLOAT(NAME)

CLASSIFICATION(ISNAN, a != a)
CLASSIFICATION(ISINF, isinf(a) != 0)

/* ---- fuel ---- */

static hia_status CHARGE_i64(ARGS) {
  hia_word fuel = slots[in[0]];
  if (HIA_UNLIKELY(fuel < imm)) return HIA_FUEL;
  slots[out] = fuel - imm;
  return HIA_OK;
}
const hia_kernel hiaR_k_CHARGE[HIA_N_DTYPES] = {[HIA_I64] = CHARGE_i64};

/* ---- conversion: one kernel per target, the source dtype is the immediate ---- */

/* Toward zero, saturating, NaN to 0. `bound` is 2^31 or 2^63, exact in both float dtypes; -bound
 * is the least integer, and values between it and -bound - 1 truncate to it. */
#define SATURATE(x, bound, type, least, greatest)                                                  \
  ((x) != (x) ? 0 : (x) >= (bound) ? (greatest) : (x) < -(bound) ? (least) : (type)(x))
static int32_t f32_to_i32(float x) {
  return SATURATE(x, 2147483648.0f, int32_t, INT32_MIN, INT32_MAX);
}
static int32_t f64_to_i32(double x) {
  return SATURATE(x, 2147483648.0, int32_t, INT32_MIN, INT32_MAX);
}
static int64_t f32_to_i64(float x) {
  return SATURATE(x, 9223372036854775808.0f, int64_t, INT64_MIN, INT64_MAX);
}
static int64_t f64_to_i64(double x) {
  return SATURATE(x, 9223372036854775808.0, int64_t, INT64_MIN, INT64_MAX);
}

#define CONVERSION(T, from_bool, from_i32, from_i64, from_f32, from_f64)                           \
  static hia_status CAST_##T(ARGS) {                                                               \
    hia_word w = slots[in[0]];                                                                     \
    switch (imm) {                                                                                 \
    case HIA_BOOL: {                                                                               \
      bool x = hiaR_to_bool(w);                                                                    \
      slots[out] = hiaR_from_##T(from_bool);                                                       \
      break;                                                                                       \
    }                                                                                              \
    case HIA_I32: {                                                                                \
      int32_t x = hiaR_to_i32(w);                                                                  \
      slots[out] = hiaR_from_##T(from_i32);                                                        \
      break;                                                                                       \
    }                                                                                              \
    case HIA_I64: {                                                                                \
      int64_t x = hiaR_to_i64(w);                                                                  \
      slots[out] = hiaR_from_##T(from_i64);                                                        \
      break;                                                                                       \
    }                                                                                              \
    case HIA_F32: {                                                                                \
      float x = hiaR_to_f32(w);                                                                    \
      slots[out] = hiaR_from_##T(from_f32);                                                        \
      break;                                                                                       \
    }                                                                                              \
    case HIA_F64: {                                                                                \
      double x = hiaR_to_f64(w);                                                                   \
      slots[out] = hiaR_from_##T(from_f64);                                                        \
      break;                                                                                       \
    }                                                                                              \
    default: return HIA_INTERNAL; /* images and graphs are checked for this when loaded */         \
    }                                                                                              \
    return HIA_OK;                                                                                 \
  }
CONVERSION(bool, x, x != 0, x != 0, x != 0, x != 0)
CONVERSION(i32, x, x, (int32_t)(uint32_t)(uint64_t)x, f32_to_i32(x), f64_to_i32(x))
CONVERSION(i64, x, x, x, f32_to_i64(x), f64_to_i64(x))
CONVERSION(f32, x ? 1.0f : 0.0f, (float)x, (float)x, x, (float)x)
CONVERSION(f64, x ? 1.0 : 0.0, (double)x, (double)x, (double)x, x)
TABLE_ALL(CAST)
