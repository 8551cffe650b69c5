/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Serving steal requests: a worker that polls hands a job to the thief that has asked. Thieves
 * request work from the owner, which keeps its forks private, as in "Scheduling parallel programs
 * by work stealing with private deques" (Acar, Chargueraud, Rainey 2013). */
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"

#ifdef HIA_STRESS
enum { FRAME_NS = 1 };
#else
enum { FRAME_NS = 100 }; /* of the pause, for each frame that it looked at, which takes 5 ns */
#endif

/* Replies with a job, or with none. Returns how many frames it had to look at. */
static uint32_t serve_thief(hia_context *context, hia_mailbox *mailbox, const char *sp,
                            uintptr_t pc) {
  uint32_t n_frames;
  bool must_settle;
  hia_job *job = hiaR_fork_for(context, hiaR_context_of(mailbox), sp, pc, &n_frames, &must_settle);
  hia_mailbox_reply(mailbox, job);
  /* The job is for the next request. This thief soon asks again, and helps to compute. */
  if (must_settle) context->batching.settle(context, sp, pc);
  return n_frames;
}

void hiaR_serve(hia_context *context, const char *sp, uintptr_t pc) {
  if (!context->run.team) {
    context->run.team = hiaR_team_new(context);
    if (!context->run.team)
      context->run.pool = NULL; /* no memory: the run goes on with this worker alone */
    return;
  }
  uint64_t now = hiaR_now();
  bool is_soon =
      now < atomic_load_explicit(&context->giving.from,
                                 memory_order_relaxed); /* the thief sets the limit again */
  hia_mailbox *mailbox = is_soon ? NULL : hia_steal_request_poll(&context->post.request);
  if (context->crew.is_open) {
    if (mailbox) context->crew.serve(context, mailbox);
    return;
  }
  if (mailbox) {
    uint64_t pause = (uint64_t)serve_thief(context, mailbox, sp, pc) * FRAME_NS;
    if (pause < context->giving.pause) pause = context->giving.pause;
    atomic_store_explicit(&context->giving.from, now + pause, memory_order_relaxed);
  }
#ifdef HIA_STRESS
  /* Every third fork becomes a job that its owner finds at the join. */
  if (!mailbox && hiaR_random(context) % 3 == 0) {
    uint32_t ignored;
    hia_job *job = hiaR_promote_oldest(context, sp, pc, true, &ignored);
    if (job) job->is_back = true;
  }
#endif
}
