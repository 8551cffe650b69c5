/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower/ops/elementary.c: native code of elementary functions has the bits of the runtime's, as
 * scalars and as vectors of any width. */
#include "bench/ulp.h"
#include "lower/ops/ops.h"
#include "runtime/base/elementary.h"
#include "tests/unit/helpers/linked.h"
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>

/* Functions of one operand ignore the second. */
typedef struct function {
  const char *name;
  float (*f32)(float, float);
  double (*f64)(double, double);
} function;
#define FORM(dtype, type, name, call)                                                              \
  static type dtype##_##name(type x, type y) {                                                     \
    (void)y;                                                                                       \
    return call;                                                                                   \
  }
#define FORMS_1(name)                                                                              \
  FORM(f32, float, name, hiaR_##name##_f32(x))                                                     \
  FORM(f64, double, name, hiaR_##name##_f64(x))
#define FORMS_2(name)                                                                              \
  FORM(f32, float, name, hiaR_##name##_f32(x, y))                                                  \
  FORM(f64, double, name, hiaR_##name##_f64(x, y))
HIA_ELEMENTARY_LIST_1(FORMS_1)
HIA_ELEMENTARY_LIST_2(FORMS_2)
#define ROW(name) {#name, f32_##name, f64_##name},
static const function functions[] = {HIA_ELEMENTARY_LIST_1(ROW) HIA_ELEMENTARY_LIST_2(ROW)};

enum { N = 1 << 14 };
static float x_32[N], y_32[N], z_32[N];
static double x_64[N], y_64[N], z_64[N];

/* void NAME(const T *x, const T *y, T *z): N / max(width, 1) times a vector, or a scalar if width
 * is 0. */
static void build_loop(LLVMModuleRef module, const char *name, const char *symbol, bool is_f64,
                       unsigned width) {
  LLVMContextRef llvm = LLVMGetModuleContext(module);
  LLVMTypeRef element = is_f64 ? LLVMDoubleTypeInContext(llvm) : LLVMFloatTypeInContext(llvm);
  LLVMTypeRef type = width ? LLVMVectorType(element, width) : element;
  LLVMTypeRef ptr = LLVMPointerTypeInContext(llvm, 0), i64 = LLVMInt64TypeInContext(llvm);
  LLVMTypeRef params[3] = {ptr, ptr, ptr};
  LLVMValueRef f = LLVMAddFunction(module, symbol,
                                   LLVMFunctionType(LLVMVoidTypeInContext(llvm), params, 3, false));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(llvm);
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(llvm, f, "entry"),
                    loop = LLVMAppendBasicBlockInContext(llvm, f, "loop"),
                    end = LLVMAppendBasicBlockInContext(llvm, f, "end");
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMBuildBr(b, loop);
  LLVMPositionBuilderAtEnd(b, loop);
  LLVMValueRef i = LLVMBuildPhi(b, i64, "i");
  LLVMValueRef operands[2];
  for (unsigned k = 0; k < 2; k++) {
    operands[k] = LLVMBuildLoad2(
        b, type, LLVMBuildInBoundsGEP2(b, element, LLVMGetParam(f, k), &i, 1, ""), "");
    LLVMSetAlignment(operands[k], 4);
  }
  LLVMValueRef z = hiaL_elementary(b, name, operands);
  cr_assert(z != NULL, "%s", name);
  LLVMValueRef store =
      LLVMBuildStore(b, z, LLVMBuildInBoundsGEP2(b, element, LLVMGetParam(f, 2), &i, 1, ""));
  LLVMSetAlignment(store, 4);
  LLVMValueRef next = LLVMBuildAdd(b, i, LLVMConstInt(i64, width ? width : 1, false), "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, LLVMConstInt(i64, N, false), ""), loop,
                  end);
  LLVMValueRef values[2] = {LLVMConstInt(i64, 0, false), next};
  LLVMBasicBlockRef from[2] = {entry, LLVMGetInsertBlock(b)};
  LLVMAddIncoming(i, values, from, 2);
  LLVMPositionBuilderAtEnd(b, end);
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
}

static bool same_f32(float a, float b) {
  return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}
static bool same_f64(double a, double b) {
  return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

static const unsigned widths[] = {0, 2, 4, 8, 16};

Test(lower_elementary, bits_are_the_runtimes_at_any_width) {
  world w;
  world_init(&w);
  hia_compiler *compiler = hiaJ_compiler_take(w.session);
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("test", compiler->llvm);
  char symbol[64];
  for (size_t k = 0; k < HIA_LEN(functions); k++)
    for (size_t n = 0; n < HIA_LEN(widths); n++)
      for (int is_f64 = 0; is_f64 < 2; is_f64++) {
        snprintf(symbol, sizeof symbol, "%s_%d_%u", functions[k].name, is_f64, widths[n]);
        build_loop(module, functions[k].name, symbol, is_f64, widths[n]);
      }
  hia_error *error = NULL;
  cr_assert_eq(hiaL_verify(module, &hiaR_malloc, &error), HIA_OK, "%s", said(error));
  hia_loaded_code *loaded = load_module(&w, compiler, module, 2);
  hiaJ_compiler_put(w.session, compiler);

  uint64_t seed = 7;
  for (size_t i = 0; i < N; i++) {
    x_64[i] = hia_sample(&seed);
    y_64[i] = hia_sample(&seed);
    uint32_t bits = (uint32_t)hia_sample_bits(&seed);
    memcpy(&x_32[i], &bits, sizeof bits);
    if (i % 2) x_32[i] = (float)x_64[i];
    y_32[i] = (float)y_64[i];
  }
  for (size_t k = 0; k < HIA_LEN(functions); k++)
    for (size_t n = 0; n < HIA_LEN(widths); n++)
      for (int is_f64 = 0; is_f64 < 2; is_f64++) {
        snprintf(symbol, sizeof symbol, "%s_%d_%u", functions[k].name, is_f64, widths[n]);
        uintptr_t address;
        cr_assert(hiaR_code_symbol(loaded, symbol, &address), "%s", symbol);
        ((void (*)(const void *, const void *, void *))address)(is_f64 ? (void *)x_64 : x_32,
                                                                is_f64 ? (void *)y_64 : y_32,
                                                                is_f64 ? (void *)z_64 : z_32);
        for (size_t i = 0; i < N; i++) {
          if (is_f64)
            cr_assert(same_f64(functions[k].f64(x_64[i], y_64[i]), z_64[i]), "%s at %a, %a: %a",
                      symbol, x_64[i], y_64[i], z_64[i]);
          else
            cr_assert(same_f32(functions[k].f32(x_32[i], y_32[i]), z_32[i]), "%s at %a, %a: %a",
                      symbol, (double)x_32[i], (double)y_32[i], (double)z_32[i]);
        }
      }
  hiaR_code_release(loaded);
  world_free(&w);
}

/* The list of processors without the instruction is LLVM's: code for them calls fma. */
Test(lower_elementary, processors_with_fused_multiply_add) {
  static const char *const names[] = {
      "x86-64",       "x86-64-v2",  "x86-64-v3",     "x86-64-v4", "haswell", "ivybridge",
      "sandybridge",  "bdver1",     "bdver2",        "bdver4",    "btver2",  "znver1",
      "znver4",       "tremont",    "goldmont-plus", "gracemont", "knl",     "silvermont",
      "alderlake",    "core-avx2",  "core-avx-i",    "atom",      "k8-sse3", "westmere",
      "broadwell",    "grandridge", "lunarlake",     "skylake",   "nehalem", "amdfam10",
      "sierraforest", "cannonlake", "icelake-server"};
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("test", llvm);
  LLVMTypeRef type = LLVMDoubleTypeInContext(llvm), params[3] = {type, type, type};
  LLVMValueRef f = LLVMAddFunction(module, "f", LLVMFunctionType(type, params, 3, false));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(llvm);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(llvm, f, ""));
  LLVMValueRef fma = LLVMGetIntrinsicDeclaration(module, LLVMLookupIntrinsicID("llvm.fma", 8),
                                                 &type, 1),
               args[3] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1), LLVMGetParam(f, 2)};
  LLVMBuildRet(b, LLVMBuildCall2(b, LLVMGlobalGetValueType(fma), fma, args, 3, ""));
  LLVMDisposeBuilder(b);
  char *triple = LLVMGetDefaultTargetTriple(), *message;
  LLVMTargetRef target;
  cr_assert(!LLVMGetTargetFromTriple(triple, &target, &message));
  for (size_t i = 0; i < HIA_LEN(names); i++) {
    cr_assert(hiaJ_cpu_exists(names[i]), "%s", names[i]);
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        target, triple, names[i], "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMModuleRef copy = LLVMCloneModule(module);
    LLVMMemoryBufferRef text;
    cr_assert(
        !LLVMTargetMachineEmitToMemoryBuffer(machine, copy, LLVMAssemblyFile, &message, &text));
    bool has = strstr(LLVMGetBufferStart(text), "vfmadd") != NULL;
    cr_expect_eq(hiaJ_cpu_has_fma(names[i]), has, "%s", names[i]);
    LLVMDisposeMemoryBuffer(text);
    LLVMDisposeModule(copy);
    LLVMDisposeTargetMachine(machine);
  }
  LLVMDisposeMessage(triple);
  LLVMDisposeModule(module);
  LLVMContextDispose(llvm);
  cr_expect(!hiaJ_cpu_has_fma("pdp11"));
}

Test(lower_elementary, features_with_fused_multiply_add) {
  cr_expect(hiaJ_features_have_fma("+avx,+fma,-sse4a"));
  cr_expect(hiaJ_features_have_fma("+fma"));
  cr_expect(!hiaJ_features_have_fma("+fma4,-fma"));
  cr_expect(!hiaJ_features_have_fma(""));
}

/* Native code has the function, and calls nothing. */
Test(lower_elementary, only_machines_without_it_call_the_runtime) {
  world w;
  world_init(&w);
  for (int has_fma = 0; has_fma < 2; has_fma++)
    NO_THROW(&w.e, {
      hia_compiler *compiler = hiaJ_compiler_take(w.session);
      hia_lower_options options = {.is_one_unit = true,
                                   .triple = w.session->triple,
                                   .data_layout = w.session->data_layout,
                                   .has_fma = has_fma};
      hia_lowering *lowering;
      LLVMModuleRef module;
      hia_graph *g = graph_of(&w, "graph functions \"one\"\n"
                                  "fn f (f64) -> (f64) of f root (f64) -> f64 !1:1 {\n"
                                  "%0:f64 = arg 0\n%1:f64 = exp %0 !1:2\nyield %1\n}\n");
      cr_assert_eq(hiaL_open(g, &options, &hiaR_malloc, &lowering, &w.error), HIA_OK);
      cr_assert_eq(hiaL_lower(lowering, 0, compiler->llvm, &module, &w.error), HIA_OK);
      hiaL_close(lowering);
      char *text = LLVMPrintModuleToString(module);
      cr_expect_eq(strstr(text, "@hiaR_exp_f64") != NULL, !has_fma);
      cr_expect_eq(strstr(text, "@llvm.fma.f64") != NULL, has_fma);
      LLVMDisposeMessage(text);
      LLVMDisposeModule(module);
      hiaJ_compiler_put(w.session, compiler);
    });
  world_free(&w);
}
