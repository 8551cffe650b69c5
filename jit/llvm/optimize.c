/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* optimize: LLVM's passes, by level. */
#include "jit/llvm/backend.h"
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>

/* Where a pipeline for large modules is cut into parts, between which the clock is looked at:
 * LLVM's passes cannot be interrupted. The same passes run either way, the analyses of some are
 * made anew. */
#define PARTS "|"

/* What loops compute passes a phi where they end. Without it the code generator's strength
 * reduction looks through them, and takes exponential time over loops in and after one another; O2
 * and O3 leave less for it. */
#define CLOSED_LOOPS ",lcssa"

/* Level 3, the default, is LLVM's O3; 2 its O2: within noise of it on recursion and loops, in four
 * fifths of its time. Level 1 takes a fifth of it and gives up to half as much speed again away: no
 * threading of jumps, no vectors, nothing across functions. */
static const char light_pipeline[] =
    "function(early-cse,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,simplifycfg,"
    "loop(loop-rotate),instcombine<no-verify-fixpoint>,simplifycfg" CLOSED_LOOPS ")";
static const char *const pipelines[4] = {"", light_pipeline, "default<O2>", "default<O3>"};

/* For modules of hundreds of functions: each by itself. LLVM's inliner puts an internal function
 * into its only caller whatever its size, so a chain of n functions becomes one, which is
 * simplified n times over (47 s for 3000). Small functions have been inlined on the graph. For
 * functions of dozens of results too: what LLVM propagates between functions takes cubic time in
 * the parts of a structure (minutes for nine of 200 that call each other, here 0.1 s). */
static const char many_pipeline[] =
    "function(early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,"
    "simplifycfg)" PARTS "function(reassociate,loop-mssa(loop-rotate,licm),"
    "instcombine<no-verify-fixpoint>)" PARTS "function(gvn,jump-threading,correlated-propagation,"
    "simplifycfg)" PARTS "function(instcombine<no-verify-fixpoint>" CLOSED_LOOPS ")";

/* For modules with unrolled recursion: what O3 does to it, once instead of thrice. The second half
 * is for the loops of other functions. In two thirds of O3's time; the time that the code takes is
 * within 5 per cent on fib and tak, and less on ack. Without the last instcombine ack takes twice
 * as long, without reassociate fib a tenth more, without the first both do. */
static const char unrolled_pipeline[] =
    "function(early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,"
    "simplifycfg,reassociate,loop-mssa(loop-rotate,licm),"
    "loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),gvn,jump-threading,"
    "correlated-propagation,simplifycfg,loop-vectorize,slp-vectorizer,loop-unroll<O3>,"
    "instcombine<no-verify-fixpoint>,simplifycfg)";

/* For modules with a function of thousands of nodes or branches: nothing that is quadratic in them.
 * (InstCombine and ConstraintElimination compare every condition on a value with all those that
 * dominate it: 24 s for a chain of 5000 else-ifs, here 0.2 s.) */
static const char large_pipeline[] =
    "function(early-cse,simplifycfg)" PARTS "function(tailcallelim,adce" CLOSED_LOOPS ")";

/* For what the fast code generator takes: it does nothing of the kind itself, and does not look at
 * loops. */
static const char huge_pipeline[] = "function(early-cse,simplifycfg)" PARTS "function(adce)";

/* The optimising code generator is quadratic in what one function has of copies into one value, of
 * uses of one value, and of blocks, and cubic in the nesting of loops: 14 s for 2000 arms that
 * divide, 5 s for 400 loops. The fast one, which keeps values in registers within a block only, is
 * linear: 0.2 s and 0.05 s. Functions of that size take 1 to 2.7 times as long with it. */
int hiaJ_codegen_level(int level, hia_size_class size) { return size == HIA_SIZE_HUGE ? 0 : level; }

static const char *pipeline(int level, hia_size_class bulk) {
  if (level == 0 || bulk == HIA_SIZE_USUAL) return pipelines[level];
  if (bulk == HIA_SIZE_HUGE) return huge_pipeline;
  if (bulk == HIA_SIZE_LARGE) return large_pipeline;
  if (level == 1) return pipelines[1];
  return bulk == HIA_SIZE_UNROLLED ? unrolled_pipeline : many_pipeline;
}

/* In sanitizer builds generated code is instrumented too: LLVM's own instrumentation passes come
 * last. */
static const char *instrumentation(hia_instrument instrument) {
  switch (instrument) {
  case HIA_INSTRUMENT_ASAN: return "asan";
  case HIA_INSTRUMENT_TSAN: return "tsan-module,function(tsan)";
  default: return "";
  }
}

/* The sanitizers' passes list what they add in llvm.used. LLVM 19's target machine remembers the
 * functions listed there by address and never forgets them (TargetLoweringObjectFileELF::Used), so
 * a function of a later module that happens to get such an address went into a section of its own,
 * where nobody looks for it. Nothing drops unused functions after the passes, so the list may go.
 */
static void forget_used(LLVMModuleRef module) {
  LLVMValueRef used = LLVMGetNamedGlobal(module, "llvm.used");
  if (used) LLVMDeleteGlobal(used);
}

static hia_status run(hia_session *session, LLVMModuleRef module, LLVMTargetMachineRef machine,
                      const char *passes, char *error, size_t error_size) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef err = LLVMRunPasses(module, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!err) return HIA_OK;
  hiaJ_take_error(session, err, error, error_size);
  return HIA_INTERNAL;
}

hia_status hiaJ_optimize(hia_session *session, LLVMModuleRef module, LLVMTargetMachineRef machine,
                         int level, hia_size_class bulk, hia_instrument instrument,
                         const hia_look *look, bool *is_cut, char *error, size_t error_size) {
  const char *last = instrumentation(instrument);
  *is_cut = false;
  for (const char *at = pipeline(level, bulk); *at;) {
    char part[1024];
    size_t len = strcspn(at, PARTS);
    snprintf(part, sizeof part, "%.*s", (int)len, at);
    at += len + (at[len] != 0);
    hia_status status = look ? look->ended(look->user) : HIA_OK;
    if (status) {
      snprintf(error, error_size, "%s", hiaR_status_message(status));
      return status;
    }
    *is_cut = look && look->is_late(look->user);
    if (*is_cut) break;
    status = run(session, module, machine, part, error, error_size);
    if (status) return status;
  }
  if (!*last) return HIA_OK;
  hia_status status = run(session, module, machine, last, error, error_size);
  if (!status) forget_used(module);
  return status;
}
