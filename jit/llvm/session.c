/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A session: the target, and the LLVM contexts, target machines and stacks that compiling needs. */
#include "jit/llvm/backend.h"
#include "runtime/native/sanitizer.h"
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

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

/* Straight-line code is not made vector code. The SLP vectorizer of LLVM 19 takes wrong elements
 * where it puts a vector together from several others (llvm-project issue 117170): of programs with
 * products of 4 x 4 matrices whose elements are scalars, one in a thousand was wrong. Without it
 * three bodies that attract each other take 29 ms instead of 25, as long as with gcc. Options of a
 * pipeline do not help: default<O3> sets that one itself.
 *
 * Code has lines and no variables. The pass that follows values for the variables of a debugger
 * does so all the same, and takes a twentieth of the time of code generation. The old one looks for
 * variables first.
 *
 * Instructions are scheduled before registers are assigned. Doing that again afterwards takes as
 * much time, and gains nothing on processors that execute out of order.
 *
 * ThreadSanitizer records calls on a stack of its own, which has 64K entries and no check of its
 * bounds; generated code calls deeper than that. */
static const char *const llvm_arguments[] = {"hiaton", "-vectorize-slp=false",
                                             "-experimental-debug-variable-locations=false",
                                             "-post-RA-scheduler=false",
#ifdef HIA_TSAN
                                             "-tsan-instrument-func-entry-exit=0"
#endif
};

static void set_up_llvm(void) {
  LLVMParseCommandLineOptions(HIA_LEN(llvm_arguments), llvm_arguments, NULL);
#ifdef HIA_TSAN
  make_llvm_statics();
#endif
  hiaJ_exit_prepare();
  llvm_is_ready = !LLVMInitializeNativeTarget() && !LLVMInitializeNativeAsmPrinter() &&
                  !LLVMInitializeNativeAsmParser(); /* for the inline assembly */
}

hia_status hiaJ_take_error(const hia_session *session, LLVMErrorRef err, hia_error **error) {
  char *message = LLVMGetErrorMessage(err); /* consumes err */
  hiaR_fail_text(session->allocator, error, HIA_INTERNAL, NULL, "%s", message);
  LLVMDisposeErrorMessage(message);
  return HIA_INTERNAL;
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
  LLVMDisposeTargetMachine(machine);
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
  LLVMDisposeMessage(session->triple);
  LLVMDisposeMessage(session->cpu);
  LLVMDisposeMessage(session->features);
  if (session->data_layout) LLVMDisposeMessage(session->data_layout);
  pthread_mutex_destroy(&session->lock);
  hiaR_free(session->allocator, session, sizeof *session);
}
