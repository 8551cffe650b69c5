/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How a worker is told that its run must end, or that another thread waits for its next safepoint:
 * the limit with which compiled code compares its stack pointer, and the reasons to end. A thread
 * writes the reason first and then the limit (hiaR_poke); a worker that polls sets the limit first
 * and then reads the reasons, so one of the two sees the other. */
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"

void hiaR_set_limit(hia_context *context) {
  uintptr_t limit = context->depth.soft;
#ifdef HIA_STRESS
  if (context->run.pool) limit = UINTPTR_MAX; /* every safepoint polls */
#endif
  atomic_store(&context->limit, limit);
}

void hiaR_restore_limit(hia_context *context) {
  uintptr_t seen = atomic_load(&context->limit);
  while (seen != UINTPTR_MAX &&
         !atomic_compare_exchange_weak(&context->limit, &seen, context->depth.soft));
}

void hiaR_poke(hia_context *context) {
  atomic_store(&context->limit, UINTPTR_MAX);
  hia_parker_unpark(&context->post.parker);
}

void hiaR_context_cancel(hia_context *context) {
  uint64_t run = atomic_load(&context->run.number);
  if (!(run & 1)) return;
  atomic_store(&context->run.cancelled_number, run);
  hiaR_poke(context);
}

void hiaR_context_notify(void *context) { hiaR_context_cancel(context); }

void hiaR_team_stop(hia_team *team, hia_status status) {
  uint32_t none = HIA_OK;
  if (!atomic_compare_exchange_strong(&team->stop, &none, status)) return;
  uint32_t n = atomic_load(&team->n_members);
  for (uint32_t i = 0; i < n; i++) {
    hia_context *member = atomic_load(&team->members[i]);
    if (member) hiaR_poke(member);
  }
}

hia_status hiaR_end_status(hia_context *context) {
  hia_team *team = context->run.team;
  hia_status status = team ? (hia_status)atomic_load(&team->stop) : HIA_OK;
  if (!status) {
    uint64_t run = atomic_load(&context->run.number);
    if ((run & 1) && atomic_load(&context->run.cancelled_number) == run) status = HIA_CANCELLED;
    if (context->run.cancelled && __atomic_load_n(context->run.cancelled, __ATOMIC_RELAXED))
      status = HIA_CANCELLED;
    if (context->run.deadline && hiaR_now() >= context->run.deadline) status = HIA_DEADLINE;
    if (status && team) hiaR_team_stop(team, status);
  }
  if (status) return status;
  if (atomic_load(&context->post.has_cancelled_job)) {
    atomic_store(&context->post.has_cancelled_job, 0);
    for (hia_invocation *i = context->invocation; i; i = i->outer)
      if (i->job && atomic_load(&i->job->is_cancelled)) context->doomed = i;
  }
  return context->doomed ? HIA_CANCELLED : HIA_OK;
}
