/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How an invocation fails: its failure is noted, with the backtrace, which is read off the stack
 * where it happens, and the worker jumps back to where the invocation was entered. */
#include "runtime/native/barrier.h"
#include "runtime/native/context.h"
#include "runtime/native/driver.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"
#include "runtime/native/walker.h"

/* Notes how the innermost invocation fails: by an operation at `loc`, or where compiled code was,
 * or with `job`, which failed. */
static void note_failure(hia_context *context, hia_status status, uint32_t loc, int64_t code,
                         const char *sp, uintptr_t pc, const hia_job *job) {
  const hia_invocation *invocation = context->invocation;
  hia_failure *failure = invocation->failure;
  if (job)
    *failure = job->failure;
  else if ((uint32_t)status & HIA_STATUS_OF_HOST)
    *failure = (hia_failure){.status = hiaR_host_status((uint32_t)status & ~HIA_STATUS_OF_HOST),
                             .host = (const char *)(uintptr_t)code};
  else
    *failure = (hia_failure){.status = status,
                             .code = code,
                             .range = context->why.range,
                             .misfit = context->why.misfit,
                             .nan = context->why.nan};
  if (invocation->job) {
    /* It ends because an invocation below it does, or it would not be too deep on another stack. */
    bool is_over =
        atomic_load(&invocation->job->is_cancelled) || atomic_load(&context->run.team->stop);
    bool is_elsewhere = context->doomed || (failure->status == HIA_DEPTH && invocation->outer &&
                                            !invocation->job->gives);
    invocation->job->is_returned = !is_over && is_elsewhere;
    if (is_over || is_elsewhere) return; /* the backtrace will not be read */
  }
  /* The thread that ends a run waits for it, so its backtrace may not take long. */
  bool is_ended = status == HIA_CANCELLED || status == HIA_DEADLINE;
  hiaR_read_backtrace(context, loc, sp, pc, job != NULL, is_ended ? HIA_ENDED_FRAMES : UINT64_MAX,
                      &failure->backtrace);
}

/* Not instrumented, like all functions that are left without returning. */
_Noreturn HIA_UNINSTRUMENTED void hiaR_leave(hia_context *context, hia_status status, uint32_t loc,
                                             int64_t code, const char *sp, uintptr_t pc,
                                             const hia_job *job) {
  const hia_invocation *invocation = context->invocation;
  bool goes_on = invocation->driver && context->batching.freezing->holds(context, status);
  note_failure(context, status, loc, code, sp, pc, job);
  if (goes_on) context->batching.freezing->go_on(context);
  hiaR_leave_noted(context);
}

_Noreturn HIA_UNINSTRUMENTED void hiaR_leave_noted(hia_context *context) {
  context->invocation->driver = NULL;
  bool is_outermost = !context->invocation->outer;
  const char *to = is_outermost ? context->stack.top : context->host_sp;
  hiaR_stack_forget(__builtin_frame_address(0), to);
  hiaR_barriers_drop(context, to);
  context->elements = context->invocation->elements;
  hiaR_restore_limit(context);
  if (is_outermost) hiaR_fiber_depart(&context->fiber);
  hiaR_arch_leave(context);
}

_Noreturn HIA_UNINSTRUMENTED void hiaR_native_fail(uint32_t loc, uint32_t status, int64_t code,
                                                   hia_context *context, const char *sp,
                                                   uintptr_t pc) {
  hiaR_leave(context, (hia_status)status, loc, code, sp, pc, NULL);
}

_Noreturn HIA_UNINSTRUMENTED void hiaR_native_range(uint32_t loc, uint32_t code,
                                                    const hia_range *range, hia_context *context,
                                                    const char *sp, uintptr_t pc) {
  context->why.range = *range;
  hiaR_leave(context, HIA_RANGE, loc, code, sp, pc, NULL);
}
