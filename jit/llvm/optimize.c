/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The pipelines of LLVM's passes, by level and by size of the module. */
#include "jit/llvm/backend.h"
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>

/* Separates the parts of a pipeline for large modules. Deadlines and cancels are checked between
 * parts, since LLVM's passes cannot be interrupted. Separate parts run the same passes, but some
 * analyses are computed again. */
#define PARTS "|"

/* Loop-closed SSA: values that a loop computes leave it through a phi. Without it the strength
 * reduction of the code generator follows such values through several loops, and takes exponential
 * time for loops nested in and following each other. O2 and O3 leave it less to follow. */
#define CLOSED_LOOPS ",lcssa"

/* Level 3, the default, is LLVM's O3. Level 2 is its O2: as fast on recursion and loops, within
 * noise, in four fifths of the compile time. Level 1 takes a fifth of the compile time, and its
 * code takes up to half as long again: no jump threading, no vectorisation, nothing across
 * functions. */
static const char light_pipeline[] =
    "function(early-cse,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,simplifycfg,"
    "loop(loop-rotate),instcombine<no-verify-fixpoint>,simplifycfg" CLOSED_LOOPS ")";
static const char *const pipelines[4] = {"", light_pipeline, "default<O2>", "default<O3>"};

/* For modules of hundreds of functions: passes on one function at a time. LLVM's inliner puts an
 * internal function into its only caller whatever its size, so a chain of n functions becomes one
 * function, which is simplified n times (47 s for 3000). Small functions have already been inlined
 * on the graph. It also serves functions with dozens of results: propagation between functions
 * takes cubic time in the fields of a structure (minutes for nine functions of 200 results that
 * call each other, 0.1 s with this pipeline). */
static const char many_pipeline[] =
    "function(early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,"
    "simplifycfg)" PARTS "function(reassociate,loop-mssa(loop-rotate,licm),"
    "instcombine<no-verify-fixpoint>)" PARTS "function(gvn,jump-threading,correlated-propagation,"
    "simplifycfg)" PARTS "function(instcombine<no-verify-fixpoint>" CLOSED_LOOPS ")";

/* For modules with unrolled recursion (graph/passes/unroll.c): the passes of O3 that change such
 * code, once instead of three times; the second half is for the loops of other functions. It takes
 * two thirds of O3's compile time. The code's run time is within 5 per cent of O3's on fib and tak,
 * and shorter on ack. Without the last instcombine ack takes twice as long; without reassociate fib
 * takes a tenth longer; without the first instcombine both take that much longer.
 *
 * It also serves functions that note rows of segments: O3 takes three times as long for them, and
 * their time is that of the segments. */
static const char alike_pipeline[] =
    "function(early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,"
    "simplifycfg,reassociate,loop-mssa(loop-rotate,licm),"
    "loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),gvn,jump-threading,"
    "correlated-propagation,simplifycfg,loop-vectorize,loop-unroll<O3>,"
    "instcombine<no-verify-fixpoint>,simplifycfg)";

/* For modules with a function of thousands of nodes or branches: no pass that is quadratic in their
 * number. (InstCombine and ConstraintElimination compare every condition on a value with all
 * conditions that dominate it: 24 s for a chain of 5000 else-ifs, 0.2 s with this pipeline.) */
static const char large_pipeline[] =
    "function(early-cse,simplifycfg)" PARTS "function(tailcallelim,adce" CLOSED_LOOPS ")";

/* For functions that get the fast code generator (below). It simplifies nothing itself, and it does
 * not analyse loops, so they need not be in loop-closed form. */
static const char huge_pipeline[] = "function(early-cse,simplifycfg)" PARTS "function(adce)";

/* The optimising code generator takes quadratic time in a function's blocks, in the uses of one
 * value and in the copies into one value, and cubic time in the nesting of loops: 14 s for 2000
 * arms that divide, 5 s for 400 loops after one another. The fast one, which keeps values in
 * registers within a block only, is linear: 0.2 s and 0.05 s. The code of functions of that size
 * takes 1 to 2.7 times as long with it. */
int hiaJ_codegen_level(int level, hia_size_class size) { return size == HIA_SIZE_HUGE ? 0 : level; }

static const char *pipeline(int level, hia_size_class size) {
  if (level == 0 || size == HIA_SIZE_USUAL) return pipelines[level];
  if (size == HIA_SIZE_HUGE) return huge_pipeline;
  if (size == HIA_SIZE_LARGE) return large_pipeline;
  if (level == 1) return pipelines[1];
  return size == HIA_SIZE_ALIKE ? alike_pipeline : many_pipeline;
}

/* In sanitizer builds generated code is instrumented too: LLVM's own instrumentation passes run
 * last. */
static const char *instrumentation(hia_instrument instrument) {
  switch (instrument) {
  case HIA_INSTRUMENT_ASAN: return "asan";
  case HIA_INSTRUMENT_TSAN: return "tsan-module,function(tsan)";
  default: return "";
  }
}

/* The sanitizers' passes list the functions that they add in llvm.used. LLVM 19's target machine
 * keeps the addresses of the llvm::Function objects listed there for ever
 * (TargetLoweringObjectFileELF::Used). If a function of a later module happens to have such an
 * address, it is put into an ELF section of its own, not into .text. The list is not needed:
 * nothing removes unused functions after these passes. */
static void forget_used(LLVMModuleRef module) {
  LLVMValueRef used = LLVMGetNamedGlobal(module, "llvm.used");
  if (used) LLVMDeleteGlobal(used);
}

static hia_status run(hia_session *session, LLVMModuleRef module, LLVMTargetMachineRef machine,
                      const char *passes, hia_error **error) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef err = LLVMRunPasses(module, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  return err ? hiaJ_take_error(session, err, error) : HIA_OK;
}

hia_status hiaJ_optimize(hia_session *session, LLVMModuleRef module, LLVMTargetMachineRef machine,
                         int level, hia_size_class size, hia_instrument instrument,
                         const hia_look *look, bool *is_cut, hia_error **error) {
  const char *last = instrumentation(instrument);
  *is_cut = false;
  for (const char *at = pipeline(level, size); *at;) {
    char part[1024];
    size_t len = strcspn(at, PARTS);
    snprintf(part, sizeof part, "%.*s", (int)len, at);
    at += len + (at[len] != 0);
    hia_status status = hiaJ_exit_is_near() ? HIA_CANCELLED
                        : look              ? look->ended(look->user)
                                            : HIA_OK;
    if (status)
      return hiaR_fail_text(session->allocator, error, status, NULL, "%s",
                            hiaR_status_message(status));
    *is_cut = look && look->is_late(look->user);
    if (*is_cut) break;
    status = run(session, module, machine, part, error);
    if (status) return status;
  }
  if (!*last) return HIA_OK;
  hia_status status = run(session, module, machine, last, error);
  if (!status) forget_used(module);
  return status;
}
