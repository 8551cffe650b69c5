/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Joins: what a worker does that waits for a job which a thief has taken.
 *
 * Why no workers wait in a circle: an invocation waits only for a job that was begun after it, and
 * for what is stacked on it, which was begun after it too. */
#include "runtime/native/context.h"
#include "runtime/native/job.h"

#ifdef HIA_STRESS
enum { STACK_SHARE = 8, STACK_SHARE_GIVEN = 2 };
#else
enum {
  STACK_SHARE = 2,       /* a join takes a job if 1/STACK_SHARE of the depth is left */
  STACK_SHARE_GIVEN = 8, /* one that cannot be returned if at most so much of it is used */
};
#endif
enum {
  LOOK_NS = 300,   /* how long a join looks for its job's end before it tries to steal again */
  SOON_NS = 20000, /* how long a join waits for a thief before it settles */
};

/* The stack that is left, and all of it. */
typedef struct stack_room {
  size_t left, all;
} stack_room;

static stack_room room_below(const hia_context *context, const char *sp) {
  size_t left = (uintptr_t)sp > context->depth.hard ? (uintptr_t)sp - context->depth.hard : 0;
  return (stack_room){left, (size_t)((uintptr_t)context->stack.top - context->depth.hard)};
}

/* True if there is stack for another job. A job that finds too little is returned to its owner,
 * and its work is lost. */
static bool has_stack(stack_room room) { return room.left >= room.all / STACK_SHARE; }

/* True if there is stack for a job that cannot be returned: it would end the run. */
static bool has_much_stack(stack_room room) {
  return room.left >= room.all - room.all / STACK_SHARE_GIVEN;
}

/* Runs other jobs, or sleeps, until `job` is done. The worker's steal request is closed. */
static hia_status help_until_done(hia_context *context, hia_job *job, const char *sp) {
  hia_status status = HIA_OK;
  hia_backoff backoff = hiaR_backoff_start();
  stack_room room = room_below(context, sp);
  while (!hia_is_done(&job->is_done) && !(status = hiaR_end_status(context))) {
    hia_job *stolen = has_stack(room) ? hiaR_try_steal(context, job, has_much_stack(room)) : NULL;
    if (stolen) {
      hiaR_run_job(context, stolen);
      backoff = hiaR_backoff_start();
      continue;
    }
    if (hiaR_look_for_end(job, LOOK_NS)) break;
    uint64_t ns = hiaR_backoff_next(&backoff);
    if (!ns) continue;
    hia_parker_arm(&context->post.parker);
    if (!hia_is_done(&job->is_done) && !(status = hiaR_end_status(context)))
      hia_parker_park(&context->post.parker, ns);
    hia_parker_disarm(&context->post.parker);
    if (status) break;
  }
  return status;
}

hia_status hiaR_await_end(hia_context *context) {
  hia_status status;
  while (!(status = hiaR_end_status(context))) { /* the thread that tells it wakes it */
    hia_parker_arm(&context->post.parker);
    if (!atomic_load(&context->post.has_cancelled_job))
      hia_parker_park(&context->post.parker, HIA_MAX_BACKOFF_NS);
    hia_parker_disarm(&context->post.parker);
  }
  return status;
}

static hia_status join_await(hia_context *context, hia_job *job, const char *sp) {
  hiaR_unreserve(context->invocation, job);
  if (job->is_back) return HIA_OK;
  if (!hia_is_done(&job->is_done)) {
    if (hia_mailbox_take_back(&job->thief->post.mailbox, job)) {
      hiaR_event(context->run.ring, HIA_EVENT_TAKEN_BACK, job->number);
      job->is_back = true;
      return HIA_OK;
    }
    hiaR_close_steal_request(context);
    hiaR_event(context->run.ring, HIA_EVENT_WAIT_BEGIN, job->number);
    hia_status status = help_until_done(context, job, sp);
    hiaR_event(context->run.ring, HIA_EVENT_WAIT_END, job->number);
    hia_steal_request_open(&context->post.request);
    if (status) return status;
  }
  if (!job->is_returned) return HIA_OK;
  /* The references that it was given are gone. */
  if (job->gives && job->is_begun) return hiaR_await_end(context);
  /* The reason may be that the run ends. */
  job->is_back = true;
  return hiaR_end_status(context);
}

static hia_word *join_end(hia_context *context, hia_job *job) {
  hia_invocation *invocation = context->invocation;
  invocation->promoted = job->older;
  if (!job->is_back) {
    context->calls += job->calls;
    context->rounds += job->rounds;
  }
  hiaR_job_count(context, job);
  /* The owner of the job may have come back to it before the thief has begun it. */
  if (job->thief) hiaR_pause_adapt(context, job->is_begun ? job->ns : 0);
  hiaR_job_free(context, job);
  return job->block + job->n_params;
}

HIA_UNINSTRUMENTED hia_word *hiaR_native_join(hia_context *context, hia_fork_frame *frame,
                                              uint32_t index, const char *sp, uintptr_t pc) {
  hia_job *job = context->invocation->promoted;
  while (job->frame != frame || job->index != index) job = job->older; /* it is the first */
  /* What is pending is computed before this worker runs other jobs. But the thief may be about to
   * end, and leave it more. */
  if (context->batching.settle && !job->is_back && !hiaR_look_for_end(job, SOON_NS))
    context->batching.settle(context, sp, pc);
  hia_status status = join_await(context, job, sp);
  if (HIA_UNLIKELY(status)) hiaR_leave(context, status, HIA_NONE, 0, sp, pc, NULL);
  if (job->is_back) {
    hia_invocation *invocation = context->invocation;
    hia_bridge bridge = {invocation->bridges, sp, pc};
    invocation->bridges = &bridge;
    hiaR_job_take_references(job);
    hiaR_arch_call(context, (void (*)(void *))job->entry, job->block);
    invocation->bridges = bridge.outer;
  } else if (HIA_UNLIKELY(job->failure.status)) {
    hiaR_leave(context, job->failure.status, HIA_NONE, 0, sp, pc, job);
  } else if (job->adopt && HIA_UNLIKELY(!job->adopt(context, job))) {
    hiaR_leave(context, HIA_MEMORY, HIA_NONE, 0, sp, pc, NULL);
  }
  return join_end(context, job);
}
