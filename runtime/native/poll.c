/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Safepoint polling: compiled code compares its stack pointer with context->limit at entries and
 * loop rounds, and polls (hiaR_stub_poll) when it lies below. The reasons for a poll are:
 *
 *   - The run has left the first KEEP bytes of the stack. The limit starts there, so that runs
 *     that stay above cost nothing when they end; a run that does not returns its memory to the
 *     system afterwards. From there on the limit moves down by intervals, at each of which a return
 *     barrier is put into a frame (barrier.c).
 *   - The run is too deep.
 *   - Another thread has requested its end, or a job, and set the limit to its maximum
 *     (hiaR_poke).
 *   - A profile is due to know where the run is (sampled.c).
 *   - The run has just begun and may have helpers: they are called at its first poll, unless the
 *     run is expected to be brief (watch.c). */
#include "runtime/base/left.h"
#include "runtime/native/barrier.h"
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/sampled.h"

/* True if the machine has memory left for the stack down to `sp`. */
static bool may_reach(hia_context *context, const char *sp) {
  size_t size = (size_t)(context->stack.top - sp);
  if (HIA_LIKELY(size <= context->depth.granted) || context->depth.is_limited) return true;
  size_t held = context->depth.granted - HIA_FREE_GRANT;
  context->depth.granted = hiaR_grant(held, size - HIA_FREE_GRANT, true) + HIA_FREE_GRANT;
  return size <= context->depth.granted;
}

/* The part of hiaR_native_poll that returns. First the limit, then the requests of other threads:
 * they write them in the opposite order, so one of the two sees the other. */
static hia_status poll(hia_context *context, const char *sp, uintptr_t pc) {
  if ((uintptr_t)sp < context->depth.soft) {
    context->depth.is_deep = true;
    hiaR_barrier_descend(context, sp, pc);
  }
  hiaR_set_limit(context);
  hia_status status = hiaR_end_status(context);
  if (status) return status;
  if ((uintptr_t)sp < context->depth.hard || !may_reach(context, sp)) return HIA_DEPTH;
  hiaR_sampled_look(context, sp, pc);
  if (context->run.pool) hiaR_serve(context, sp, pc);
  return HIA_OK;
}

static _Noreturn HIA_UNINSTRUMENTED void end(hia_context *context, hia_status status,
                                             const char *sp, uintptr_t pc) {
  int64_t code = 0;
  if (status == HIA_DEPTH)
    code = (uintptr_t)sp < context->depth.hard
               ? (int64_t)((uintptr_t)context->stack.top - context->depth.hard)
               : HIA_NOT_LEFT;
  hiaR_leave(context, status, HIA_NONE, code, sp, pc, NULL);
}

HIA_UNINSTRUMENTED void hiaR_native_poll(hia_context *context, const char *sp, uintptr_t pc) {
  hia_status status = poll(context, sp, pc);
  if (HIA_UNLIKELY(status)) end(context, status, sp, pc);
}

/* The poll of a return barrier, in the frame that is returned to. */
HIA_UNINSTRUMENTED void hiaR_native_return(hia_context *context, char *word) {
  uintptr_t pc = hiaR_barrier_ascend(context, word);
  const char *sp = word + sizeof pc;
  hia_status status = poll(context, sp, pc);
  if (HIA_UNLIKELY(status)) end(context, status, sp, pc);
}
