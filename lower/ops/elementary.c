/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions as LLVM IR: the definitions of runtime/base/elementary.h, where each
 * operation builds an instruction. Operands are scalars, or vectors of any width. */
#include "runtime/base/elementary.h"
#include "lower/ops/ops.h"
#include <math.h>

/* Where code is built, and of which types: scalars if n is 0, else vectors of n. */
typedef struct at_type {
  LLVMBuilderRef builder;
  LLVMTypeRef element, integer; /* the float dtype, and the integer of its width */
  LLVMTypeRef type, integers;   /* of the operands */
  unsigned n;
} at_type;

enum {
  MAX_LANES = 64,
  MAX_INLINED = 8 /* calls of a module */
};

static LLVMValueRef splat(const at_type *at, LLVMValueRef c) {
  LLVMValueRef lanes[MAX_LANES];
  if (at->n == 0) return c;
  for (unsigned i = 0; i < at->n; i++) lanes[i] = c;
  return LLVMConstVector(lanes, at->n);
}

static LLVMValueRef intrinsic(const at_type *at, const char *name, LLVMValueRef *args, unsigned n) {
  LLVMModuleRef module =
      LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(at->builder)));
  LLVMTypeRef type = at->type;
  LLVMValueRef f =
      LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID(name, strlen(name)), &type, 1);
  return LLVMBuildCall2(at->builder, LLVMGlobalGetValueType(f), f, args, n, "");
}

static LLVMValueRef fma_of(const at_type *at, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMValueRef args[3] = {a, b, c};
  return intrinsic(at, "llvm.fma", args, 3);
}

/* No definition has variables of these names. */
#define BUILDER          at->builder
#define HF               LLVMValueRef
#define HI               LLVMValueRef
#define HB               LLVMValueRef
#define K(c)             splat(at, LLVMConstReal(at->element, (double)(c)))
#define KI(n)            splat(at, LLVMConstInt(at->integer, (uint64_t)(n), false))
#define ADD(a, b)        LLVMBuildFAdd(BUILDER, a, b, "")
#define SUB(a, b)        LLVMBuildFSub(BUILDER, a, b, "")
#define MUL(a, b)        LLVMBuildFMul(BUILDER, a, b, "")
#define DIV(a, b)        LLVMBuildFDiv(BUILDER, a, b, "")
#define NEG(a)           LLVMBuildFNeg(BUILDER, a, "")
#define ABS(a)           intrinsic(at, "llvm.fabs", (LLVMValueRef[1]){a}, 1)
#define SQRT(a)          intrinsic(at, "llvm.sqrt", (LLVMValueRef[1]){a}, 1)
#define FMA(a, b, c)     fma_of(at, a, b, c)
#define LT(a, b)         LLVMBuildFCmp(BUILDER, LLVMRealOLT, a, b, "")
#define LE(a, b)         LLVMBuildFCmp(BUILDER, LLVMRealOLE, a, b, "")
#define EQ(a, b)         LLVMBuildFCmp(BUILDER, LLVMRealOEQ, a, b, "")
#define IEQ(a, b)        LLVMBuildICmp(BUILDER, LLVMIntEQ, a, b, "")
#define BOTH(a, b)       LLVMBuildAnd(BUILDER, a, b, "")
#define EITHER(a, b)     LLVMBuildOr(BUILDER, a, b, "")
#define NOT(a)           LLVMBuildNot(BUILDER, a, "")
#define SELECT(c, a, b)  LLVMBuildSelect(BUILDER, c, a, b, "")
#define SELECTI(c, a, b) LLVMBuildSelect(BUILDER, c, a, b, "")
#define BITS(a)          LLVMBuildBitCast(BUILDER, a, at->integers, "")
#define FLOAT(a)         LLVMBuildBitCast(BUILDER, a, at->type, "")
#define IADD(a, b)       LLVMBuildAdd(BUILDER, a, b, "")
#define ISUB(a, b)       LLVMBuildSub(BUILDER, a, b, "")
#define IAND(a, b)       LLVMBuildAnd(BUILDER, a, b, "")
#define IOR(a, b)        LLVMBuildOr(BUILDER, a, b, "")
#define IXOR(a, b)       LLVMBuildXor(BUILDER, a, b, "")
#define SHL(a, n)        LLVMBuildShl(BUILDER, a, KI(n), "")
#define SHR(a, n)        LLVMBuildLShr(BUILDER, a, KI(n), "")
#define SAR(a, n)        LLVMBuildAShr(BUILDER, a, KI(n), "")
#define FROM_INT(a)      LLVMBuildSIToFP(BUILDER, a, at->type, "")

#define HIA_ELEMENTARY_1(name) static LLVMValueRef NAMED(name)(const at_type *at, LLVMValueRef x)
#define HIA_ELEMENTARY_2(name)                                                                     \
  static LLVMValueRef NAMED(name)(const at_type *at, LLVMValueRef x, LLVMValueRef y)
#define HIA_APPLY_1(name, x)    NAMED(name)(at, x)
#define HIA_APPLY_2(name, x, y) NAMED(name)(at, x, y)

#define NAMED(name) name##_f32
#include "runtime/base/elementary_f32.h"
#undef NAMED
#undef FROM_INT
/* Few machines convert vectors of 64-bit integers; adding 1.5 * 2^52 is as exact. */
#define FROM_INT(i) SUB(FLOAT(IADD(i, KI(0x4338000000000000))), K(0x1.8p52))
#define NAMED(name) name##_f64
#include "runtime/base/elementary_f64.h"
#undef NAMED

/* ---- by op ---- */

typedef LLVMValueRef build_1(const at_type *at, LLVMValueRef x);
typedef LLVMValueRef build_2(const at_type *at, LLVMValueRef x, LLVMValueRef y);

static const struct {
  const char *name;
  build_1 *one[2]; /* at f32, f64 */
  build_2 *two[2];
} functions[] = {
#define ROW_1(name) {#name, {name##_f32, name##_f64}, {NULL, NULL}},
#define ROW_2(name) {#name, {NULL, NULL}, {name##_f32, name##_f64}},
    HIA_ELEMENTARY_LIST_1(ROW_1) HIA_ELEMENTARY_LIST_2(ROW_2)};

_Static_assert(HIA_LEN(functions) <= HIA_MAX_ELEMENTARY, "hia_emit has a place for each");

static size_t find(const char *name) {
  size_t i = 0;
  while (i < HIA_LEN(functions) && strcmp(functions[i].name, name) != 0) i++;
  return i;
}

LLVMValueRef hiaL_elementary(LLVMBuilderRef b, const char *name, const LLVMValueRef *args) {
  size_t i = find(name);
  if (i == HIA_LEN(functions)) return NULL;
  LLVMTypeRef type = LLVMTypeOf(args[0]);
  bool is_vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  at_type z = {.builder = b,
               .element = is_vector ? LLVMGetElementType(type) : type,
               .type = type,
               .n = is_vector ? LLVMGetVectorSize(type) : 0};
  if (z.n > MAX_LANES) return NULL;
  LLVMContextRef llvm = LLVMGetTypeContext(type);
  bool is_f64 = LLVMGetTypeKind(z.element) == LLVMDoubleTypeKind;
  z.integer = is_f64 ? LLVMInt64TypeInContext(llvm) : LLVMInt32TypeInContext(llvm);
  z.integers = is_vector ? LLVMVectorType(z.integer, z.n) : z.integer;
  return functions[i].one[is_f64] ? functions[i].one[is_f64](&z, args[0])
                                  : functions[i].two[is_f64](&z, args[0], args[1]);
}

/* A function of the module's own. */
static LLVMValueRef function_of(hia_emit *e, size_t i, hia_dtype t, uint32_t n_args) {
  bool is_f64 = t == HIA_F64;
  LLVMValueRef *f = &e->unit.elementary[i][is_f64];
  if (*f) return *f;
  LLVMTypeRef params[2] = {e->types[t], e->types[t]};
  const char *name = hiaR_arena_printf(&e->comp->scratch, "hiaton.%s.%s", functions[i].name,
                                       is_f64 ? "f64" : "f32");
  *f = LLVMAddFunction(e->module, name, LLVMFunctionType(e->types[t], params, n_args, false));
  LLVMSetLinkage(*f, LLVMInternalLinkage);
  hiaL_common_attributes(e, *f);
  hiaL_attribute(e, *f, (unsigned)LLVMAttributeFunctionIndex, "willreturn", 0);
  hiaL_attribute(e, *f, (unsigned)LLVMAttributeFunctionIndex, "memory", 0); /* 0: none */
  LLVMBuilderRef b = LLVMCreateBuilderInContext(e->llvm);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(e->llvm, *f, "entry"));
  LLVMValueRef args[2] = {LLVMGetParam(*f, 0), n_args > 1 ? LLVMGetParam(*f, 1) : NULL};
  LLVMBuildRet(b, hiaL_elementary(b, functions[i].name, args));
  LLVMDisposeBuilder(b);
  return *f;
}

LLVMValueRef hiaL_call_elementary(hia_emit *e, const char *name, hia_dtype t, LLVMValueRef *args,
                                  uint32_t n_args) {
  size_t i = find(name);
  if (i == HIA_LEN(functions) || !e->options->has_fma) return NULL;
  bool is_vector = LLVMGetTypeKind(LLVMTypeOf(args[0])) == LLVMVectorTypeKind;
  if (is_vector) return hiaL_elementary(e->b, name, args); /* in a kernel */
  LLVMValueRef f = function_of(e, i, t, n_args);
  LLVMValueRef call = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, args, n_args, "");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(f));
  /* Inlined into a loop, calls that do not depend on each other run in vectors or overlap; that is
   * worth twice the speed. Elsewhere it gains nothing, and costs 5 ms of compile time a call. */
  bool may_inline =
      (hiaL_is_for_kernels(e) || hiaL_loop_loc(e) != HIA_NONE) && e->unit.n_inlined < MAX_INLINED;
  if (may_inline)
    e->unit.n_inlined++;
  else
    hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  return call;
}
