/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/native/sampled.h"
#include "runtime/native/walker.h"

static void wake(void *worker) {
  hia_context *context = worker;
  atomic_store(&context->limit, UINTPTR_MAX);
}

static void begin(hia_context *context, hia_sampler *sampler) {
  context->run.sampler = sampler;
  (void)hiaR_sampler_due(sampler, &context->run.sampled);
  hiaR_sampler_enter(sampler, wake, context);
  hiaR_sampler_begin_bytes(sampler, &context->local);
}

static void end(hia_context *context) {
  hiaR_sampler_end_bytes(context->run.sampler, &context->local);
  hiaR_sampler_leave(context->run.sampler, context);
  context->run.sampler = NULL;
}

static HIA_UNINSTRUMENTED void took(hia_context *context, uint32_t loc, const char *sp,
                                    uintptr_t pc) {
  uint32_t due = hiaR_sampler_due_bytes(context->run.sampler, &context->local);
  hia_backtrace backtrace;
  hiaR_backtrace_clear(&backtrace);
  hiaR_read_backtrace(context, loc, sp, pc, false, HIA_SAMPLED_FRAMES, &backtrace);
  hiaR_sample_bytes(context->run.sampler, &backtrace, due);
}

/* What was taken elsewhere than in objects.c, as for rows of batches, is of the next safepoint. */
static HIA_UNINSTRUMENTED void look(hia_context *context, const char *sp, uintptr_t pc) {
  uint32_t due = hiaR_sampler_due(context->run.sampler, &context->run.sampled);
  hia_backtrace backtrace;
  hiaR_sampled_took(context, HIA_NONE, sp, pc);
  if (!due) return;
  hiaR_backtrace_clear(&backtrace);
  hiaR_read_backtrace(context, HIA_NONE, sp, pc, false, HIA_SAMPLED_FRAMES, &backtrace);
  hiaR_sample(context->run.sampler, &backtrace, due);
}

const hia_native_samples hiaR_native_samples = {begin, end, look, took};
