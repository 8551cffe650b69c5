/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The primitive ops at scalar dtypes: what runtime/base/scalar.c defines, as LLVM IR, bit for bit.
 *
 * No instruction here has undefined behaviour or makes poison: no nsw or nuw, shift counts are
 * masked, divisors are tested first, conversions saturate. No fast-math flag, ever. Where LLVM
 * would call a library function of its own choice, the code calls the runtime's instead. */
#include "lower/ops/ops.h"
#include <math.h>

static hia_dtype dtype(const hia_emit *e, hia_node_id n) { return hiaG_node_dtype(e->g, e->fn, n); }
static bool is_float(hia_dtype t) { return t == HIA_F32 || t == HIA_F64; }

/* An LLVM intrinsic that is overloaded on one type. */
static LLVMValueRef intrinsic(hia_emit *e, const char *name, LLVMTypeRef type, LLVMValueRef *args,
                              unsigned n) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &type, 1);
  return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, args, n, "");
}

static LLVMValueRef zero(const hia_emit *e, hia_dtype t) { return LLVMConstNull(e->types[t]); }

/* ---- arithmetic ---- */

#define ARITHMETIC(NAME, Int, Float)                                                               \
  void hiaL_emit_##NAME(hia_emit *e, hia_node_id n) {                                              \
    LLVMValueRef a = hiaL_in(e, n, 0), b = hiaL_in(e, n, 1);                                       \
    hiaL_out(e, n, 0,                                                                              \
             is_float(dtype(e, n)) ? LLVMBuild##Float(e->b, a, b, "")                              \
                                   : LLVMBuild##Int(e->b, a, b, ""));                              \
  }
ARITHMETIC(ADD, Add, FAdd)
ARITHMETIC(SUB, Sub, FSub)
ARITHMETIC(MUL, Mul, FMul)

/* Division of integers. One comparison finds the divisors 0 and -1, which are treated off the usual
 * path: 0 fails, and -1 fails for the least integer and negates all others. */
static void divide(hia_emit *e, hia_node_id n, bool is_rem) {
  hia_dtype t = dtype(e, n);
  LLVMTypeRef type = e->types[t];
  LLVMValueRef a = hiaL_in(e, n, 0), b = hiaL_in(e, n, 1);
  bool is_safe = LLVMIsAConstantInt(b) && LLVMConstIntGetSExtValue(b) != 0 &&
                 LLVMConstIntGetSExtValue(b) != -1;
  if (is_safe) {
    hiaL_out(e, n, 0, is_rem ? LLVMBuildSRem(e->b, a, b, "") : LLVMBuildSDiv(e->b, a, b, ""));
    return;
  }
  hia_loc_id loc = hiaL_node(e, n)->loc;
  LLVMValueRef one = LLVMConstInt(type, 1, false), none = LLVMConstNull(e->types[HIA_I64]);
  LLVMValueRef least =
      LLVMConstInt(type, t == HIA_I32 ? (uint32_t)INT32_MIN : (uint64_t)INT64_MIN, false);
  LLVMBasicBlockRef special = hiaL_block(e, "special"), usual = hiaL_block(e, "divide"),
                    failing = hiaL_block(e, "failing"), negate = hiaL_block(e, "negate"),
                    join = hiaL_block(e, "divided");
  LLVMValueRef next = LLVMBuildAdd(e->b, b, one, "");
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntULE, next, one, "is_special"), special, usual);
  hiaL_at(e, special);
  /* One block that fails: where there are many divisions, LLVM's time goes to their blocks. */
  LLVMValueRef is_zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, LLVMConstNull(type), "is_zero");
  LLVMValueRef is_least = LLVMBuildICmp(e->b, LLVMIntEQ, a, least, "is_least");
  hiaL_unlikely(e, LLVMBuildOr(e->b, is_zero, is_least, "fails"), failing, negate);
  hiaL_at(e, failing);
  LLVMTypeRef i32 = e->types[HIA_I32];
  hiaL_fail_with(e, loc,
                 LLVMBuildSelect(e->b, is_zero, LLVMConstInt(i32, HIA_DIV_ZERO, false),
                                 LLVMConstInt(i32, HIA_DIV_OVERFLOW, false), "status"),
                 none);
  LLVMValueRef results[2];
  hiaL_at(e, negate);
  results[0] = is_rem ? LLVMConstNull(type) : LLVMBuildNeg(e->b, a, "");
  LLVMBuildBr(e->b, join);
  hiaL_at(e, usual);
  results[1] = is_rem ? LLVMBuildSRem(e->b, a, b, "") : LLVMBuildSDiv(e->b, a, b, "");
  LLVMBuildBr(e->b, join);
  hiaL_at(e, join);
  LLVMValueRef phi = LLVMBuildPhi(e->b, type, is_rem ? "rem" : "quotient");
  LLVMBasicBlockRef from[2] = {negate, usual};
  LLVMAddIncoming(phi, results, from, 2);
  hiaL_out(e, n, 0, phi);
}

/* The module's own code of the function, or a call of the runtime's: the bits are the same. */
static void call_library(hia_emit *e, hia_node_id n, const char *name, enum hia_abi f32,
                         enum hia_abi f64) {
  LLVMValueRef args[2];
  uint32_t n_ins = hiaL_node(e, n)->n_ins;
  hia_dtype t = dtype(e, n);
  for (uint32_t i = 0; i < n_ins; i++) args[i] = hiaL_in(e, n, i);
  LLVMValueRef value = hiaL_call_elementary(e, name, t, args, n_ins);
  hiaL_out(e, n, 0, value ? value : hiaL_call_abi(e, t == HIA_F32 ? f32 : f64, args, n_ins));
}

void hiaL_emit_DIV(hia_emit *e, hia_node_id n) {
  if (is_float(dtype(e, n)))
    hiaL_out(e, n, 0, LLVMBuildFDiv(e->b, hiaL_in(e, n, 0), hiaL_in(e, n, 1), ""));
  else
    divide(e, n, false);
}

void hiaL_emit_REM(hia_emit *e, hia_node_id n) {
  if (is_float(dtype(e, n)))
    call_library(e, n, "rem", HIA_ABI_hiaR_rem_f32, HIA_ABI_hiaR_rem_f64);
  else
    divide(e, n, true);
}

void hiaL_emit_NEG(hia_emit *e, hia_node_id n) {
  LLVMValueRef a = hiaL_in(e, n, 0);
  hiaL_out(e, n, 0, is_float(dtype(e, n)) ? LLVMBuildFNeg(e->b, a, "") : LLVMBuildNeg(e->b, a, ""));
}

void hiaL_emit_ABS(hia_emit *e, hia_node_id n) {
  hia_dtype t = dtype(e, n);
  LLVMValueRef args[2] = {hiaL_in(e, n, 0),
                          LLVMConstNull(e->types[HIA_BOOL])}; /* the least stays */
  hiaL_out(e, n, 0,
           is_float(t) ? intrinsic(e, "llvm.fabs", e->types[t], args, 1)
                       : intrinsic(e, "llvm.abs", e->types[t], args, 2));
}

static void extremum(hia_emit *e, hia_node_id n, LLVMValueRef b, const char *of_ints,
                     const char *of_floats) {
  hia_dtype t = dtype(e, n);
  LLVMValueRef args[2] = {hiaL_in(e, n, 0), b};
  hiaL_out(e, n, 0, intrinsic(e, is_float(t) ? of_floats : of_ints, e->types[t], args, 2));
}

void hiaL_emit_RELU(hia_emit *e, hia_node_id n) {
  extremum(e, n, zero(e, dtype(e, n)), "llvm.smax", "llvm.maximum");
}
void hiaL_emit_MIN(hia_emit *e, hia_node_id n) {
  extremum(e, n, hiaL_in(e, n, 1), "llvm.smin", "llvm.minimum");
}
void hiaL_emit_MAX(hia_emit *e, hia_node_id n) {
  extremum(e, n, hiaL_in(e, n, 1), "llvm.smax", "llvm.maximum");
}

/* ---- comparison and choice ---- */

/* false < true: as unsigned. Comparisons with NaN are false, but != is true. */
#define COMPARISON(NAME, Bool, Int, Float)                                                         \
  void hiaL_emit_##NAME(hia_emit *e, hia_node_id n) {                                              \
    hia_dtype t = dtype(e, n);                                                                     \
    LLVMValueRef a = hiaL_in(e, n, 0), b = hiaL_in(e, n, 1);                                       \
    hiaL_out(e, n, 0,                                                                              \
             is_float(t) ? LLVMBuildFCmp(e->b, Float, a, b, "")                                    \
                         : LLVMBuildICmp(e->b, t == HIA_BOOL ? Bool : Int, a, b, ""));             \
  }
COMPARISON(EQ, LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ)
COMPARISON(NE, LLVMIntNE, LLVMIntNE, LLVMRealUNE)
COMPARISON(LT, LLVMIntULT, LLVMIntSLT, LLVMRealOLT)
COMPARISON(LE, LLVMIntULE, LLVMIntSLE, LLVMRealOLE)
COMPARISON(GT, LLVMIntUGT, LLVMIntSGT, LLVMRealOGT)
COMPARISON(GE, LLVMIntUGE, LLVMIntSGE, LLVMRealOGE)

void hiaL_emit_SELECT(hia_emit *e, hia_node_id n) {
  hiaL_out(e, n, 0,
           LLVMBuildSelect(e->b, hiaL_in(e, n, 0), hiaL_in(e, n, 1), hiaL_in(e, n, 2), ""));
}

/* ---- bits ---- */

#define BITWISE(NAME, Build)                                                                       \
  void hiaL_emit_##NAME(hia_emit *e, hia_node_id n) {                                              \
    hiaL_out(e, n, 0, LLVMBuild##Build(e->b, hiaL_in(e, n, 0), hiaL_in(e, n, 1), ""));             \
  }
BITWISE(BAND, And)
BITWISE(BOR, Or)
BITWISE(BXOR, Xor)

void hiaL_emit_BNOT(hia_emit *e, hia_node_id n) {
  hiaL_out(e, n, 0, LLVMBuildNot(e->b, hiaL_in(e, n, 0), ""));
}

/* The count modulo the width, which is a power of two, converted to the dtype of the shifted value.
 */
static LLVMValueRef shift_count(hia_emit *e, hia_node_id n) {
  hia_dtype t = dtype(e, n), own = hiaG_type(e->fn, hiaG_in(e->fn, n, 1));
  LLVMValueRef mask = LLVMConstInt(e->types[own], t == HIA_I32 ? 31 : 63, false);
  LLVMValueRef count = LLVMBuildAnd(e->b, hiaL_in(e, n, 1), mask, "");
  return t == own       ? count
         : t == HIA_I64 ? LLVMBuildZExt(e->b, count, e->types[t], "")
                        : LLVMBuildTrunc(e->b, count, e->types[t], "");
}
#define SHIFT(NAME, Build)                                                                         \
  void hiaL_emit_##NAME(hia_emit *e, hia_node_id n) {                                              \
    hiaL_out(e, n, 0, LLVMBuild##Build(e->b, hiaL_in(e, n, 0), shift_count(e, n), ""));            \
  }
SHIFT(SHL, Shl)
SHIFT(SHR, AShr)
SHIFT(SHRU, LShr)

void hiaL_emit_POPCOUNT(hia_emit *e, hia_node_id n) {
  LLVMValueRef a = hiaL_in(e, n, 0);
  hiaL_out(e, n, 0, intrinsic(e, "llvm.ctpop", e->types[dtype(e, n)], &a, 1));
}

/* The second operand says that the result for 0 is the width, not poison. */
static void count_zeros(hia_emit *e, hia_node_id n, const char *name) {
  LLVMValueRef args[2] = {hiaL_in(e, n, 0), LLVMConstNull(e->types[HIA_BOOL])};
  hiaL_out(e, n, 0, intrinsic(e, name, e->types[dtype(e, n)], args, 2));
}
void hiaL_emit_CLZ(hia_emit *e, hia_node_id n) { count_zeros(e, n, "llvm.ctlz"); }
void hiaL_emit_CTZ(hia_emit *e, hia_node_id n) { count_zeros(e, n, "llvm.cttz"); }

/* ---- floats ---- */

#define INTRINSIC(NAME, name)                                                                      \
  void hiaL_emit_##NAME(hia_emit *e, hia_node_id n) {                                              \
    LLVMValueRef a = hiaL_in(e, n, 0);                                                             \
    hiaL_out(e, n, 0, intrinsic(e, name, e->types[dtype(e, n)], &a, 1));                           \
  }
INTRINSIC(FLOOR, "llvm.floor")
INTRINSIC(CEIL, "llvm.ceil")
INTRINSIC(ROUND, "llvm.roundeven")
INTRINSIC(SQRT, "llvm.sqrt")

/* Not llvm.fmuladd, which may round twice. On processors without the instruction, the code calls
 * libm's fma. */
void hiaL_emit_FMA(hia_emit *e, hia_node_id n) {
  LLVMValueRef args[3] = {hiaL_in(e, n, 0), hiaL_in(e, n, 1), hiaL_in(e, n, 2)};
  hiaL_out(e, n, 0, intrinsic(e, "llvm.fma", e->types[dtype(e, n)], args, 3));
}

void hiaL_emit_ISNAN(hia_emit *e, hia_node_id n) {
  LLVMValueRef a = hiaL_in(e, n, 0);
  hiaL_out(e, n, 0, LLVMBuildFCmp(e->b, LLVMRealUNO, a, a, ""));
}

void hiaL_emit_ISINF(hia_emit *e, hia_node_id n) {
  LLVMTypeRef type = e->types[dtype(e, n)];
  LLVMValueRef a = hiaL_in(e, n, 0), size = intrinsic(e, "llvm.fabs", type, &a, 1);
  hiaL_out(e, n, 0, LLVMBuildFCmp(e->b, LLVMRealOEQ, size, LLVMConstReal(type, INFINITY), ""));
}

#define LIBRARY(NAME, name)                                                                        \
  void hiaL_emit_##NAME(hia_emit *e, hia_node_id n) {                                              \
    call_library(e, n, #name, HIA_ABI_hiaR_##name##_f32, HIA_ABI_hiaR_##name##_f64);               \
  }
LIBRARY(EXP, exp)
LIBRARY(EXP2, exp2)
LIBRARY(LOG, log)
LIBRARY(LOG2, log2)
LIBRARY(LOG10, log10)
LIBRARY(LOG1P, log1p)
LIBRARY(EXPM1, expm1)
LIBRARY(SIN, sin)
LIBRARY(COS, cos)
LIBRARY(TAN, tan)
LIBRARY(ASIN, asin)
LIBRARY(ACOS, acos)
LIBRARY(ATAN, atan)
LIBRARY(SINH, sinh)
LIBRARY(COSH, cosh)
LIBRARY(TANH, tanh)
LIBRARY(SIGMOID, sigmoid)
LIBRARY(POW, pow)
LIBRARY(ATAN2, atan2)
LIBRARY(HYPOT, hypot)

/* ---- conversion ---- */

static LLVMValueRef float_to_int(hia_emit *e, LLVMValueRef a, hia_dtype from, hia_dtype to) {
  static const char name[] = "llvm.fptosi.sat";
  LLVMTypeRef types[2] = {e->types[to], e->types[from]};
  unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, types, 2);
  return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, &a, 1, "");
}

static LLVMValueRef convert(hia_emit *e, LLVMValueRef a, hia_dtype from, hia_dtype to) {
  LLVMTypeRef type = e->types[to];
  if (from == to) return a;
  if (to == HIA_BOOL)
    return is_float(from) ? LLVMBuildFCmp(e->b, LLVMRealUNE, a, zero(e, from), "")
                          : LLVMBuildICmp(e->b, LLVMIntNE, a, zero(e, from), "");
  if (from == HIA_BOOL)
    return is_float(to) ? LLVMBuildUIToFP(e->b, a, type, "") : LLVMBuildZExt(e->b, a, type, "");
  if (is_float(from))
    return !is_float(to)   ? float_to_int(e, a, from, to)
           : to == HIA_F64 ? LLVMBuildFPExt(e->b, a, type, "")
                           : LLVMBuildFPTrunc(e->b, a, type, "");
  return is_float(to)    ? LLVMBuildSIToFP(e->b, a, type, "")
         : to == HIA_I64 ? LLVMBuildSExt(e->b, a, type, "")
                         : LLVMBuildTrunc(e->b, a, type, "");
}

void hiaL_emit_CAST(hia_emit *e, hia_node_id n) {
  hia_dtype to = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  hiaL_out(e, n, 0, convert(e, hiaL_in(e, n, 0), (hia_dtype)hiaL_node(e, n)->imm, to));
}
