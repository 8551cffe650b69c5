/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elementary functions as LLVM IR: the definitions of runtime/base/elementary.h, where each
 * operation builds an instruction. Operands are scalars, or vectors of any width. */
#include "runtime/base/elementary.h"
#include "lower/ops/ops.h"
#include <math.h>
#include <stdio.h>

/* Where code is built, and of which types: scalars if n is 0, else vectors of n. */
typedef struct at_type {
  LLVMBuilderRef builder;
  LLVMTypeRef element, integer; /* the float dtype, and the integer of its width */
  LLVMTypeRef type, integers;   /* of the operands */
  unsigned n;
  bool is_f64;
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

static LLVMModuleRef module_of(const at_type *at) {
  return LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(at->builder)));
}

static LLVMValueRef intrinsic(const at_type *at, const char *name, LLVMValueRef *args, unsigned n) {
  LLVMModuleRef module = module_of(at);
  LLVMTypeRef type = at->type;
  LLVMValueRef f =
      LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID(name, strlen(name)), &type, 1);
  return LLVMBuildCall2(at->builder, LLVMGlobalGetValueType(f), f, args, n, "");
}

static LLVMValueRef fma_of(const at_type *at, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMValueRef args[3] = {a, b, c};
  return intrinsic(at, "llvm.fma", args, 3);
}

/* ---- operands that are far ---- */

static void set_attribute(LLVMValueRef f, const char *name, uint64_t value) {
  LLVMContextRef llvm = LLVMGetModuleContext(LLVMGetGlobalParent(f));
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(llvm, kind, value));
}

/* A function that has no effect and is rarely called; the module's own one of that name, if it has
 * one. */
static LLVMValueRef rare_function(LLVMModuleRef module, const char *name, LLVMTypeRef type) {
  LLVMValueRef f = LLVMGetNamedFunction(module, name);
  if (f) return f;
  f = LLVMAddFunction(module, name, type);
  set_attribute(f, "nounwind", 0);
  set_attribute(f, "willreturn", 0);
  set_attribute(f, "memory", 0); /* 0: none */
  set_attribute(f, "cold", 0);
  return f;
}

/* The runtime's function, of scalars. */
static LLVMValueRef runtime_function(const at_type *at, const char *name, unsigned n_args) {
  LLVMTypeRef params[2] = {at->element, at->element};
  char symbol[32];
  snprintf(symbol, sizeof symbol, "hiaR_%s_%s", name, at->is_f64 ? "f64" : "f32");
  return rare_function(module_of(at), symbol, LLVMFunctionType(at->element, params, n_args, false));
}

static LLVMValueRef call(LLVMBuilderRef b, LLVMValueRef f, LLVMValueRef *args, unsigned n) {
  return LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, args, n, "");
}

enum { ELEMENT_ALIGN = 4, VARIABLE_ALIGN = 8 /* the stack is aligned for words */ };

/* A variable of the function where the builder stands. */
static LLVMValueRef new_variable(const at_type *at) {
  LLVMContextRef llvm = LLVMGetTypeContext(at->type);
  LLVMBasicBlockRef entry =
      LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(LLVMGetInsertBlock(at->builder)));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(llvm);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first)
    LLVMPositionBuilderBefore(b, first);
  else
    LLVMPositionBuilderAtEnd(b, entry);
  LLVMSetCurrentDebugLocation2(b, NULL);
  LLVMValueRef variable = LLVMBuildAlloca(b, at->type, "");
  LLVMSetAlignment(variable, VARIABLE_ALIGN);
  LLVMDisposeBuilder(b);
  return variable;
}

/* Between llvm.lifetime.start and .end it has its memory: variables of several calls share it. */
static void mark_lifetime(const at_type *at, const char *name, LLVMValueRef variable) {
  LLVMContextRef llvm = LLVMGetTypeContext(at->type);
  LLVMTypeRef ptr = LLVMPointerTypeInContext(llvm, 0);
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(module_of(at),
                                               LLVMLookupIntrinsicID(name, strlen(name)), &ptr, 1);
  uint64_t size = at->n * (at->is_f64 ? sizeof(double) : sizeof(float));
  LLVMValueRef args[2] = {LLVMConstInt(LLVMInt64TypeInContext(llvm), size, false), variable};
  call(at->builder, f, args, 2);
}

static LLVMValueRef element_of(const at_type *at, LLVMBuilderRef b, LLVMValueRef variable,
                               LLVMValueRef i) {
  return LLVMBuildInBoundsGEP2(b, at->element, variable, &i, 1, "");
}

/* f(operands..., result, far): sets the lanes of the result where a bit of the integer `far` is set
 * to what the runtime's function returns. All vectors are in memory: vectors as arguments could
 * come to lie on the stack, where LLVM takes them to be aligned. */
static void build_far_lanes(const at_type *at, LLVMValueRef f, LLVMValueRef scalar,
                            unsigned n_args) {
  LLVMContextRef llvm = LLVMGetModuleContext(LLVMGetGlobalParent(f));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(llvm);
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(llvm, f, "entry"),
                    lane = LLVMAppendBasicBlockInContext(llvm, f, "lane"),
                    far = LLVMAppendBasicBlockInContext(llvm, f, "far"),
                    next = LLVMAppendBasicBlockInContext(llvm, f, "next"),
                    exit = LLVMAppendBasicBlockInContext(llvm, f, "exit");
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMValueRef scalars[2], bits = LLVMGetParam(f, n_args + 1);
  LLVMTypeRef type = LLVMTypeOf(bits);
  LLVMBuildBr(b, lane);
  LLVMPositionBuilderAtEnd(b, lane);
  LLVMValueRef i = LLVMBuildPhi(b, type, "i"), one = LLVMConstInt(type, 1, false);
  LLVMValueRef bit = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, i, ""), one, "bit");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, bit, one, ""), far, next);
  LLVMPositionBuilderAtEnd(b, far);
  for (unsigned k = 0; k < n_args; k++) {
    scalars[k] = LLVMBuildLoad2(b, at->element, element_of(at, b, LLVMGetParam(f, k), i), "");
    LLVMSetAlignment(scalars[k], ELEMENT_ALIGN);
  }
  LLVMValueRef store = LLVMBuildStore(b, call(b, scalar, scalars, n_args),
                                      element_of(at, b, LLVMGetParam(f, n_args), i));
  LLVMSetAlignment(store, ELEMENT_ALIGN);
  LLVMBuildBr(b, next);
  LLVMPositionBuilderAtEnd(b, next);
  LLVMValueRef following = LLVMBuildAdd(b, i, one, "");
  LLVMValueRef is_last =
      LLVMBuildICmp(b, LLVMIntEQ, following, LLVMConstInt(type, at->n, false), "");
  LLVMBuildCondBr(b, is_last, exit, lane);
  LLVMValueRef values[2] = {LLVMConstNull(type), following};
  LLVMBasicBlockRef from[2] = {entry, next};
  LLVMAddIncoming(i, values, from, 2);
  LLVMPositionBuilderAtEnd(b, exit);
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
}

/* The function has no context, and its loops no safepoints. */
static void set_vector_attributes(LLVMValueRef f) {
  LLVMSetLinkage(f, LLVMInternalLinkage);
  set_attribute(f, "noinline", 0);
  set_attribute(f, "optsize", 0);
  set_attribute(f, "minsize", 0);
  set_attribute(f, "uwtable", 1);
  LLVMAddTargetDependentFunctionAttr(f, HIA_KERNEL_ATTRIBUTE, "");
  LLVMAddTargetDependentFunctionAttr(f, "no-realign-stack", "");
  LLVMAddTargetDependentFunctionAttr(f, "prefer-vector-width", "512");
  LLVMAddTargetDependentFunctionAttr(f, "min-legal-vector-width", "512");
}

/* The module's own function that does so for vectors of this width. */
static LLVMValueRef far_lanes(const at_type *at, const char *name, unsigned n_args,
                              LLVMTypeRef bits) {
  LLVMTypeRef params[4];
  char symbol[48];
  snprintf(symbol, sizeof symbol, "hiaton.%s.%s.far%u", name, at->is_f64 ? "f64" : "f32", at->n);
  LLVMContextRef llvm = LLVMGetTypeContext(at->type);
  for (unsigned i = 0; i <= n_args; i++) params[i] = LLVMPointerTypeInContext(llvm, 0);
  params[n_args + 1] = bits;
  LLVMValueRef f =
      rare_function(module_of(at), symbol,
                    LLVMFunctionType(LLVMVoidTypeInContext(llvm), params, n_args + 2, false));
  if (LLVMGetFirstBasicBlock(f)) return f;
  set_vector_attributes(f);
  set_attribute(f, "memory", 3); /* 3: of its arguments */
  build_far_lanes(at, f, runtime_function(at, name, n_args), n_args);
  return f;
}

/* ---- loops that LLVM vectorises ----
 *
 * In a loop of scalars LLVM turns a call of the runtime's function, which is made if an operand is
 * far, into a call of a function of vectors and a mask, if it is told its name. Otherwise it would
 * leave the loop as it is. */

static const unsigned vector_widths[] = {4, 8, 16};
static size_t n_widths(bool is_f64) { return HIA_LEN(vector_widths) - (is_f64 ? 1 : 0); }

static void masked_name(char *symbol, size_t size, const at_type *at, const char *name) {
  snprintf(symbol, size, "hiaton.%s.%s.masked%u", name, at->is_f64 ? "f64" : "f32", at->n);
}

/* Tells LLVM the names, of functions that build_masked makes. */
static void name_masked(const at_type *at, LLVMValueRef call, const char *name, unsigned n_args) {
  LLVMContextRef llvm = LLVMGetTypeContext(at->element);
  static const char key[] = "vector-function-abi-variant";
  char names[320];
  size_t used = 0;
  for (size_t i = 0; i < n_widths(at->is_f64); i++) {
    at_type vectors = *at;
    char symbol[48];
    vectors.n = vector_widths[i];
    masked_name(symbol, sizeof symbol, &vectors, name);
    used += (size_t)snprintf(names + used, sizeof names - used, "%s_ZGV_LLVM_M%u%s_hiaR_%s_%s(%s)",
                             i ? "," : "", vectors.n, n_args == 2 ? "vv" : "v", name,
                             at->is_f64 ? "f64" : "f32", symbol);
  }
  LLVMAddCallSiteAttribute(
      call, (unsigned)LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(llvm, key, sizeof key - 1, names, (unsigned)used));
}

/* `near`, but where the truth is_far holds, the runtime's function. */
static LLVMValueRef far_of(const at_type *at, LLVMValueRef is_far, const char *name,
                           const LLVMValueRef *operands, unsigned n_args, LLVMValueRef near) {
  LLVMBuilderRef b = at->builder;
  LLVMContextRef llvm = LLVMGetTypeContext(at->type);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
  LLVMValueRef inside = LLVMGetBasicBlockParent(here), args[4];
  LLVMBasicBlockRef far = LLVMAppendBasicBlockInContext(llvm, inside, "far"),
                    join = LLVMAppendBasicBlockInContext(llvm, inside, "near");
  LLVMTypeRef bits_type = LLVMIntTypeInContext(llvm, at->n < 32 ? 32 : 64);
  if (at->n) {
    LLVMValueRef bits = LLVMBuildBitCast(b, is_far, LLVMIntTypeInContext(llvm, at->n), "far");
    args[n_args + 1] = LLVMBuildZExt(b, bits, bits_type, "");
    is_far = LLVMBuildICmp(b, LLVMIntNE, args[n_args + 1], LLVMConstNull(bits_type), "is_far");
  }
  LLVMBuildCondBr(b, is_far, far, join); /* what it calls is cold, so it is unlikely */
  LLVMPositionBuilderAtEnd(b, far);
  LLVMValueRef values[2] = {near, NULL};
  for (unsigned i = 0; i < n_args + (at->n ? 1 : 0); i++) {
    LLVMValueRef value = i < n_args ? operands[i] : near;
    args[i] = at->n ? new_variable(at) : value;
    if (!at->n) continue;
    mark_lifetime(at, "llvm.lifetime.start", args[i]);
    LLVMSetAlignment(LLVMBuildStore(b, value, args[i]), VARIABLE_ALIGN);
  }
  if (at->n) {
    call(b, far_lanes(at, name, n_args, bits_type), args, n_args + 2);
    values[1] = LLVMBuildLoad2(b, at->type, args[n_args], "");
    LLVMSetAlignment(values[1], VARIABLE_ALIGN);
    for (unsigned i = 0; i <= n_args; i++) mark_lifetime(at, "llvm.lifetime.end", args[i]);
  } else {
    values[1] = call(b, runtime_function(at, name, n_args), args, n_args);
    name_masked(at, values[1], name, n_args);
  }
  LLVMBasicBlockRef from[2] = {here, far};
  LLVMBuildBr(b, join);
  LLVMPositionBuilderAtEnd(b, join);
  LLVMValueRef phi = LLVMBuildPhi(b, at->type, "");
  LLVMAddIncoming(phi, values, from, 2);
  return phi;
}

/* ---- the definitions ---- */

/* No definition has variables of these names. */
#define BUILDER                 at->builder
#define HF                      LLVMValueRef
#define HI                      LLVMValueRef
#define HB                      LLVMValueRef
#define K(c)                    splat(at, LLVMConstReal(at->element, (double)(c)))
#define KI(n)                   splat(at, LLVMConstInt(at->integer, (uint64_t)(n), false))
#define ADD(a, b)               LLVMBuildFAdd(BUILDER, a, b, "")
#define SUB(a, b)               LLVMBuildFSub(BUILDER, a, b, "")
#define MUL(a, b)               LLVMBuildFMul(BUILDER, a, b, "")
#define DIV(a, b)               LLVMBuildFDiv(BUILDER, a, b, "")
#define NEG(a)                  LLVMBuildFNeg(BUILDER, a, "")
#define ABS(a)                  intrinsic(at, "llvm.fabs", (LLVMValueRef[1]){a}, 1)
#define SQRT(a)                 intrinsic(at, "llvm.sqrt", (LLVMValueRef[1]){a}, 1)
#define FMA(a, b, c)            fma_of(at, a, b, c)
#define LT(a, b)                LLVMBuildFCmp(BUILDER, LLVMRealOLT, a, b, "")
#define LE(a, b)                LLVMBuildFCmp(BUILDER, LLVMRealOLE, a, b, "")
#define EQ(a, b)                LLVMBuildFCmp(BUILDER, LLVMRealOEQ, a, b, "")
#define IEQ(a, b)               LLVMBuildICmp(BUILDER, LLVMIntEQ, a, b, "")
#define BOTH(a, b)              LLVMBuildAnd(BUILDER, a, b, "")
#define EITHER(a, b)            LLVMBuildOr(BUILDER, a, b, "")
#define NOT(a)                  LLVMBuildNot(BUILDER, a, "")
#define SELECT(c, a, b)         LLVMBuildSelect(BUILDER, c, a, b, "")
#define SELECTI(c, a, b)        LLVMBuildSelect(BUILDER, c, a, b, "")
#define BITS(a)                 LLVMBuildBitCast(BUILDER, a, at->integers, "")
#define FLOAT(a)                LLVMBuildBitCast(BUILDER, a, at->type, "")
#define IADD(a, b)              LLVMBuildAdd(BUILDER, a, b, "")
#define ISUB(a, b)              LLVMBuildSub(BUILDER, a, b, "")
#define IAND(a, b)              LLVMBuildAnd(BUILDER, a, b, "")
#define IOR(a, b)               LLVMBuildOr(BUILDER, a, b, "")
#define IXOR(a, b)              LLVMBuildXor(BUILDER, a, b, "")
#define SHL(a, n)               LLVMBuildShl(BUILDER, a, KI(n), "")
#define SHR(a, n)               LLVMBuildLShr(BUILDER, a, KI(n), "")
#define SAR(a, n)               LLVMBuildAShr(BUILDER, a, KI(n), "")
#define FROM_INT(a)             LLVMBuildSIToFP(BUILDER, a, at->type, "")
#define FAR_1(c, name, a, b)    far_of(at, c, #name, (LLVMValueRef[1]){a}, 1, b)
#define FAR_2(c, name, a, d, b) far_of(at, c, #name, (LLVMValueRef[2]){a, d}, 2, b)

#define HIA_ELEMENTARY_1(name) static LLVMValueRef NAMED(name)(const at_type *at, LLVMValueRef x)
#define HIA_ELEMENTARY_2(name)                                                                     \
  static __attribute__((unused)) LLVMValueRef NAMED(name)(const at_type *at, LLVMValueRef x,       \
                                                          LLVMValueRef y)
#define HIA_ELEMENTARY_3(name)                                                                     \
  static LLVMValueRef NAMED(name)(const at_type *at, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z)
#define HIA_APPLY_1(name, x)       NAMED(name)(at, x)
#define HIA_APPLY_2(name, x, y)    NAMED(name)(at, x, y)
#define HIA_APPLY_3(name, x, y, z) NAMED(name)(at, x, y, z)

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
  bool is_f64 = z.is_f64 = LLVMGetTypeKind(z.element) == LLVMDoubleTypeKind;
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

/* f(operands..., mask), which is the runtime's function where the mask is set. */
static void build_masked(hia_emit *e, const char *name, bool is_f64, unsigned n_args, unsigned n) {
  LLVMContextRef llvm = e->llvm;
  at_type at = {.element = e->types[is_f64 ? HIA_F64 : HIA_F32], .is_f64 = is_f64};
  char symbol[48];
  at.n = n;
  at.type = LLVMVectorType(at.element, n);
  at.builder = LLVMCreateBuilderInContext(llvm);
  LLVMTypeRef params[3] = {at.type, at.type, at.type};
  params[n_args] = LLVMVectorType(LLVMInt1TypeInContext(llvm), n);
  masked_name(symbol, sizeof symbol, &at, name);
  LLVMValueRef f =
      rare_function(e->module, symbol, LLVMFunctionType(at.type, params, n_args + 1, false));
  set_vector_attributes(f);
  LLVMPositionBuilderAtEnd(at.builder, LLVMAppendBasicBlockInContext(llvm, f, "entry"));
  LLVMValueRef operands[2] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1)};
  LLVMBuildRet(at.builder, far_of(&at, LLVMGetParam(f, n_args), name, operands, n_args,
                                  LLVMConstNull(at.type)));
  LLVMDisposeBuilder(at.builder);
  hiaL_keep(e, f); /* until LLVM vectorises */
}

/* A call is inlined, so that LLVM may vectorise a loop around it. */
static void may_vectorise(hia_emit *e, size_t i, bool is_f64, unsigned n_args) {
  static const char *const far[] = {
#define NAME(name) #name,
      HIA_ELEMENTARY_FAR_LIST_1(NAME) HIA_ELEMENTARY_FAR_LIST_2(NAME)
#undef NAME
  };
  if (e->unit.has_masked[i][is_f64]) return;
  e->unit.has_masked[i][is_f64] = true;
  for (size_t k = 0; k < HIA_LEN(far); k++)
    for (size_t n = 0; n < n_widths(is_f64) && strcmp(far[k], functions[i].name) == 0; n++)
      build_masked(e, far[k], is_f64, n_args, vector_widths[n]);
}

LLVMValueRef hiaL_call_elementary(hia_emit *e, const char *name, hia_dtype t, LLVMValueRef *args,
                                  uint32_t n_args) {
  size_t i = find(name);
  if (i == HIA_LEN(functions) || !e->options->has_fma) return NULL;
  bool is_vector = LLVMGetTypeKind(LLVMTypeOf(args[0])) == LLVMVectorTypeKind;
  if (is_vector) return hiaL_elementary(e->b, name, args); /* in a kernel */
  LLVMValueRef f = function_of(e, i, t, n_args);
  LLVMValueRef value = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, args, n_args, "");
  LLVMSetInstructionCallConv(value, LLVMGetFunctionCallConv(f));
  /* Inlined into a loop, calls that do not depend on each other run in vectors or overlap; that is
   * worth twice the speed. Elsewhere it gains nothing, and costs 5 ms of compile time a call. */
  bool may_inline =
      (hiaL_is_for_kernels(e) || hiaL_loop_loc(e) != HIA_NONE) && e->unit.n_inlined < MAX_INLINED;
  if (may_inline) {
    e->unit.n_inlined++;
    may_vectorise(e, i, t == HIA_F64, n_args);
    /* It is too long for LLVM's taste. */
    if (strcmp(name, "pow") == 0)
      hiaL_call_attribute(e, value, (unsigned)LLVMAttributeFunctionIndex, "alwaysinline", 0);
  } else
    hiaL_call_attribute(e, value, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  return value;
}
