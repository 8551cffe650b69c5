/* optimize: LLVM's passes, by level. */
#include "jit/backend.h"
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>

static const char *const pipelines[4] = {
    "",
    "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,simplifycfg)",
    "default<O2>",
    "default<O3>",
};

/* Generated code takes part in sanitizer builds: LLVM's own instrumentation comes last. */
static const char *instrumentation(hia_instrument instrument) {
  switch (instrument) {
  case HIA_INSTRUMENT_ASAN: return "asan";
  case HIA_INSTRUMENT_TSAN: return "tsan-module,function(tsan)";
  default: return "";
  }
}

hia_status hiaJ_optimize(hia_session *session, LLVMModuleRef module, LLVMTargetMachineRef machine,
                         int level, hia_instrument instrument, char *error, size_t error_size) {
  const char *passes = pipelines[level], *last = instrumentation(instrument);
  char all[512];
  snprintf(all, sizeof all, "%s%s%s", passes, *passes && *last ? "," : "", last);
  if (!*all) return HIA_OK;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef err = LLVMRunPasses(module, all, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!err) return HIA_OK;
  hiaJ_take_error(session, err, error, error_size);
  return HIA_INTERNAL;
}
