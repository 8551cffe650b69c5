/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Profiles by sampling, of native code: a tick makes the workers of a run poll (poll.c), and there
 * they read their backtraces. */
#include "runtime/native/context.h"
#include "runtime/native/walker.h"
#include "runtime/run/sampler.h"

static void wake(void *worker) {
  hia_context *context = worker;
  atomic_store(&context->limit, UINTPTR_MAX);
}

void hiaR_sampled_begin(hia_context *context, hia_sampler *sampler) {
  context->run.sampler = sampler;
  if (!sampler) return;
  (void)hiaR_sampler_due(sampler, &context->run.sampled);
  hiaR_sampler_enter(sampler, wake, context);
}

void hiaR_sampled_end(hia_context *context) {
  hiaR_sampler_leave(context->run.sampler, context);
  context->run.sampler = NULL;
}

HIA_UNINSTRUMENTED void hiaR_sampled_look(hia_context *context, const char *sp, uintptr_t pc) {
  uint32_t due = hiaR_sampler_due(context->run.sampler, &context->run.sampled);
  hia_backtrace backtrace;
  if (!due) return;
  hiaR_backtrace_clear(&backtrace);
  hiaR_read_backtrace(context, HIA_NONE, sp, pc, false, true, &backtrace);
  hiaR_sample(context->run.sampler, &backtrace, due);
}
