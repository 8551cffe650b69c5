/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A session: an ORC LLJIT, which links the compiled objects, and the LLVM contexts, target machines
 * and stacks that compiling needs. */
#include "jit/llvm/backend.h"
#include "runtime/native/arch/arch.h"
#include "runtime/native/sanitizer.h"
#include "runtime/tensor/kernels.h"
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>

/* After so many compilations an LLVM context is replaced: it keeps every type and constant that was
 * ever made in it. */
enum { MAX_CONTEXT_USES = 64 };

/* ---- LLVM's own global state: set up once, never freed ---- */

static pthread_once_t llvm_once = PTHREAD_ONCE_INIT;
static bool llvm_is_ready;

#ifdef HIA_TSAN
/* LLVM makes the lock of its timers when passes run for the first time, with atomic operations that
 * ThreadSanitizer does not see. This function makes it do so before there are several threads. */
static void make_llvm_statics(void) {
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("", llvm);
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMConsumeError(LLVMRunPasses(module, "no-op-module", NULL, options));
  LLVMDisposePassBuilderOptions(options);
  LLVMDisposeModule(module);
  LLVMContextDispose(llvm);
}
#endif

static void set_up_llvm(void) {
#ifdef HIA_TSAN
  /* ThreadSanitizer records calls on a stack of its own, which has 64K entries and no check of its
   * bounds; generated code calls deeper than that. */
  static const char *const arguments[] = {"hiaton", "-tsan-instrument-func-entry-exit=0"};
  LLVMParseCommandLineOptions(HIA_LEN(arguments), arguments, NULL);
  make_llvm_statics();
#endif
  hiaJ_exit_prepare();
  llvm_is_ready = !LLVMInitializeNativeTarget() && !LLVMInitializeNativeAsmPrinter() &&
                  !LLVMInitializeNativeAsmParser(); /* for the inline assembly */
}

/* ---- errors ---- */

/* ORC's error reporter. Only it receives the cause of a failed lookup; the lookup's own error names
 * the symbols that were not resolved, no more. */
static void report(void *user, LLVMErrorRef err) {
  hia_session *session = user;
  char *message = LLVMGetErrorMessage(err); /* consumes err */
  pthread_mutex_lock(&session->lock);
  snprintf(session->reported, sizeof session->reported, "%s", message);
  pthread_mutex_unlock(&session->lock);
  LLVMDisposeErrorMessage(message);
}

hia_status hiaJ_take_error(hia_session *session, LLVMErrorRef err, hia_error **error) {
  char *message = LLVMGetErrorMessage(err);
  char cause[sizeof session->reported];
  pthread_mutex_lock(&session->lock);
  memcpy(cause, session->reported, sizeof cause);
  *session->reported = 0;
  pthread_mutex_unlock(&session->lock);
  hiaR_fail_text(session->allocator, error, HIA_INTERNAL, NULL, "%s%s%s", message,
                 *cause ? ": " : "", cause);
  LLVMDisposeErrorMessage(message);
  return HIA_INTERNAL;
}

/* ---- symbols ---- */

static LLVMErrorRef define_runtime(hia_session *session, LLVMOrcJITDylibRef dylib) {
  static const struct {
    const char *name;
    void (*function)(void);
    const void *table; /* if it is no function */
  } symbols[] = {
#define HIA_ABI(name, args, result, EFFECT, doc) {#name, (void (*)(void))name, NULL},
#include "runtime/native/abi.def"
      {"hiaR_e_LIFT", (void (*)(void))hiaR_e_LIFT, NULL},
#define KERNEL_OWN(NAME)       {"hiaR_k_" #NAME, NULL, hiaR_k_##NAME},
#define KERNEL_OPERATION(NAME) {"hiaR_e_" #NAME, (void (*)(void))hiaR_e_##NAME, NULL},
#define KERNEL_NONE(NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  KERNEL_##KERNEL(NAME)
#include "runtime/base/ops.def"
  };
  LLVMOrcExecutionSessionRef es = LLVMOrcLLJITGetExecutionSession(session->jit);
  LLVMOrcCSymbolMapPair pairs[HIA_LEN(symbols)];
  for (size_t i = 0; i < HIA_LEN(symbols); i++) {
    pairs[i].Name = LLVMOrcExecutionSessionIntern(es, symbols[i].name);
    pairs[i].Sym.Address =
        (LLVMOrcExecutorAddress)(symbols[i].table ? (uintptr_t)symbols[i].table
                                                  : (uintptr_t)symbols[i].function);
    pairs[i].Sym.Flags.GenericFlags =
        LLVMJITSymbolGenericFlagsExported |
        (symbols[i].table ? LLVMJITSymbolGenericFlagsNone : LLVMJITSymbolGenericFlagsCallable);
    pairs[i].Sym.Flags.TargetFlags = 0;
  }
  LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, HIA_LEN(symbols));
  LLVMErrorRef err = LLVMOrcJITDylibDefine(dylib, unit);
  if (err) LLVMOrcDisposeMaterializationUnit(unit);
  return err;
}

/* True if generated code may refer to a symbol of the process: not to the runtime's own symbols, of
 * which define_runtime() defines those that abi.def lists. */
static int is_offered(void *user, LLVMOrcSymbolStringPoolEntryRef name) {
  (void)user;
  return strncmp(LLVMOrcSymbolStringPoolEntryStr(name), "hia", 3) != 0;
}

/* Makes the symbols of the process known, for the calls that LLVM itself adds: libc's memory
 * functions, rounding on machines that have no instruction for it, the sanitizers' runtime. */
static LLVMErrorRef offer_process(LLVMOrcJITDylibRef dylib) {
  LLVMOrcDefinitionGeneratorRef generator;
  LLVMErrorRef err =
      LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&generator, 0, is_offered, NULL);
  if (!err) LLVMOrcJITDylibAddGenerator(dylib, generator);
  return err;
}

hia_status hiaJ_dylib_take(hia_session *session, hia_dylib **out, hia_error **error) {
  pthread_mutex_lock(&session->lock);
  hia_dylib *dylib = *out = session->dylibs;
  if (dylib) session->dylibs = dylib->next;
  unsigned number = dylib ? 0 : session->n_dylibs++;
  pthread_mutex_unlock(&session->lock);
  if (dylib) return HIA_OK;

  dylib = hiaR_alloc(session->allocator, sizeof *dylib);
  if (!dylib) return hiaR_fail_memory(session->allocator, error);
  char name[32];
  snprintf(name, sizeof name, "hiaton%u", number);
  LLVMOrcExecutionSessionRef es = LLVMOrcLLJITGetExecutionSession(session->jit);
  dylib->ref = LLVMOrcExecutionSessionCreateBareJITDylib(es, name);
  LLVMErrorRef err = define_runtime(session, dylib->ref);
  if (!err) err = offer_process(dylib->ref);
  if (!err) {
    *out = dylib;
    return HIA_OK;
  }
  hiaR_free(session->allocator, dylib, sizeof *dylib);
  return hiaJ_take_error(session, err, error);
}

void hiaJ_dylib_put(hia_session *session, hia_dylib *dylib) {
  pthread_mutex_lock(&session->lock);
  dylib->next = session->dylibs;
  session->dylibs = dylib;
  pthread_mutex_unlock(&session->lock);
}

typedef struct lookup {
  pthread_mutex_t lock;
  pthread_cond_t arrived;
  bool is_done;
  LLVMErrorRef err;
  uintptr_t address;
} lookup;

static void looked_up(LLVMErrorRef err, LLVMOrcCSymbolMapPairs symbols, size_t n, void *user) {
  lookup *l = user;
  pthread_mutex_lock(&l->lock);
  l->err = err;
  if (!err && n) l->address = (uintptr_t)symbols[0].Sym.Address;
  l->is_done = true;
  pthread_cond_signal(&l->arrived);
  pthread_mutex_unlock(&l->lock);
}

hia_status hiaJ_lookup(hia_session *session, const hia_dylib *dylib, const char *name,
                       uintptr_t *address, hia_error **error) {
  lookup l = {.is_done = false};
  pthread_mutex_init(&l.lock, NULL);
  pthread_cond_init(&l.arrived, NULL);
  LLVMOrcExecutionSessionRef es = LLVMOrcLLJITGetExecutionSession(session->jit);
  LLVMOrcCJITDylibSearchOrderElement order = {dylib->ref,
                                              LLVMOrcJITDylibLookupFlagsMatchAllSymbols};
  LLVMOrcCLookupSetElement symbol = {LLVMOrcExecutionSessionIntern(es, name),
                                     LLVMOrcSymbolLookupFlagsRequiredSymbol};
  LLVMOrcExecutionSessionLookup(es, LLVMOrcLookupKindStatic, &order, 1, &symbol, 1, looked_up, &l);
  pthread_mutex_lock(&l.lock);
  while (!l.is_done) pthread_cond_wait(&l.arrived, &l.lock);
  pthread_mutex_unlock(&l.lock);
  pthread_cond_destroy(&l.arrived);
  pthread_mutex_destroy(&l.lock);
  if (l.err) return hiaJ_take_error(session, l.err, error);
  *address = l.address;
  return HIA_OK;
}

/* ---- compilers ---- */

static void compiler_free(hia_session *session, hia_compiler *compiler) {
  for (size_t i = 0; i < HIA_LEN(compiler->machines); i++)
    if (compiler->machines[i]) LLVMDisposeTargetMachine(compiler->machines[i]);
  if (compiler->llvm) LLVMContextDispose(compiler->llvm);
  hiaR_context_free(compiler->stack);
  hiaR_free(session->allocator, compiler, sizeof *compiler);
}

hia_compiler *hiaJ_compiler_take(hia_session *session) {
  pthread_mutex_lock(&session->lock);
  hia_compiler *compiler = session->compilers;
  if (compiler) session->compilers = compiler->next;
  pthread_mutex_unlock(&session->lock);
  if (!compiler) {
    compiler = hiaR_alloc(session->allocator, sizeof *compiler);
    if (!compiler) return NULL;
    if (hiaR_context_new(session->allocator, &compiler->stack)) {
      hiaR_free(session->allocator, compiler, sizeof *compiler);
      return NULL;
    }
  }
  if (compiler->llvm && compiler->uses >= MAX_CONTEXT_USES) {
    LLVMContextDispose(compiler->llvm);
    compiler->llvm = NULL;
  }
  if (!compiler->llvm) {
    compiler->llvm = LLVMContextCreate();
    compiler->uses = 0;
  }
  compiler->uses++;
  return compiler;
}

void hiaJ_compiler_put(hia_session *session, hia_compiler *compiler) {
  pthread_mutex_lock(&session->lock);
  compiler->next = session->compilers;
  session->compilers = compiler;
  pthread_mutex_unlock(&session->lock);
}

LLVMTargetMachineRef hiaJ_machine_for(const hia_session *session, const char *cpu, int level) {
  static const LLVMCodeGenOptLevel levels[4] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                                LLVMCodeGenLevelDefault,
                                                LLVMCodeGenLevelAggressive};
  /* The small code model: calls within an object are direct. Position independent, so that the
   * same bytes can be linked anywhere. */
  return LLVMCreateTargetMachine(session->target, session->triple, cpu ? cpu : session->cpu,
                                 cpu ? "" : session->features, levels[level], LLVMRelocPIC,
                                 LLVMCodeModelSmall);
}

LLVMTargetMachineRef hiaJ_machine(hia_session *session, hia_compiler *compiler, int level) {
  if (!compiler->machines[level])
    compiler->machines[level] = hiaJ_machine_for(session, NULL, level);
  return compiler->machines[level];
}

/* ---- opening and closing ---- */

static hia_status open_target(hia_session *session, hia_error **error) {
  session->triple = LLVMGetDefaultTargetTriple();
  session->cpu = LLVMGetHostCPUName();
  session->features = LLVMGetHostCPUFeatures();
  char *message = NULL;
  if (LLVMGetTargetFromTriple(session->triple, &session->target, &message)) {
    hiaR_fail_text(session->allocator, error, HIA_UNSUPPORTED, NULL, "%s",
                   message ? message : "unknown target");
    LLVMDisposeMessage(message);
    return HIA_UNSUPPORTED;
  }
  LLVMTargetMachineRef machine = hiaJ_machine_for(session, NULL, 0);
  if (!machine)
    return hiaR_fail_text(session->allocator, error, HIA_UNSUPPORTED, NULL,
                          "no code generator for %s", session->triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  session->data_layout = LLVMCopyStringRepOfTargetData(layout);
  LLVMDisposeTargetData(layout);
  /* The builder takes ownership of the machine, and LLJIT of the builder, also on failure. */
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
      builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine));
  LLVMErrorRef err = LLVMOrcCreateLLJIT(&session->jit, builder);
  if (err) {
    session->jit = NULL;
    return hiaJ_take_error(session, err, error);
  }
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(session->jit), report,
                                          session);
  return HIA_OK;
}

hia_status hiaJ_session_open(const hia_allocator *allocator, hia_session **out, hia_error **error) {
  *out = NULL;
  pthread_once(&llvm_once, set_up_llvm);
  if (!llvm_is_ready)
    return hiaR_fail_text(allocator, error, HIA_UNSUPPORTED, NULL,
                          "this LLVM cannot compile for this machine");
  hia_session *session = hiaR_alloc(allocator, sizeof *session);
  if (!session) return hiaR_fail_memory(allocator, error);
  session->allocator = allocator;
  pthread_mutex_init(&session->lock, NULL);
  hia_status status = open_target(session, error);
  if (status)
    hiaJ_session_close(session);
  else
    *out = session;
  return status;
}

void hiaJ_session_close(hia_session *session) {
  if (!session) return;
  while (session->compilers) {
    hia_compiler *compiler = session->compilers;
    session->compilers = compiler->next;
    compiler_free(session, compiler);
  }
  if (session->jit) {
    LLVMErrorRef err = LLVMOrcDisposeLLJIT(session->jit);
    if (err) LLVMConsumeError(err);
  }
  while (session->dylibs) { /* the records; LLJIT has freed the JITDylibs */
    hia_dylib *dylib = session->dylibs;
    session->dylibs = dylib->next;
    hiaR_free(session->allocator, dylib, sizeof *dylib);
  }
  LLVMDisposeMessage(session->triple);
  LLVMDisposeMessage(session->cpu);
  LLVMDisposeMessage(session->features);
  if (session->data_layout) LLVMDisposeMessage(session->data_layout);
  pthread_mutex_destroy(&session->lock);
  hiaR_free(session->allocator, session, sizeof *session);
}
