/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Crews: parts of a worker's work, computed with thieves (crew.h). Comprehensions are halved by
 * graph/passes/halve.c instead. */
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"

#ifdef HIA_STRESS
enum { LEAST = 16, LEAST_CALLED = 64 };
#else
enum {
  LEAST = 1 << 18,        /* scalar operations that are worth a round of 2 us */
  LEAST_CALLED = 1 << 21, /* if thieves have yet to come */
};
#endif
enum {
  EAGER_NS = 100000, /* how long a help looks for the next round before it sleeps */
  SLEEP_NS = 5000,   /* between two looks afterwards */
  WAIT_NS = 100000,  /* how long the worker looks for the end of a round before it sleeps */
};

/* ---- parts ---- */

/* Takes a part of the round that is there. False: there is none. */
static bool take(hia_crew_work *w, uint32_t *part) {
  uint64_t next = HIA_ATOMIC_LOAD(&w->next);
  while (next != HIA_NO_MORE_ROUNDS && (uint32_t)next)
    if (HIA_ATOMIC_CAS(&w->next, &next, next - 1)) {
      *part = (uint32_t)next - 1;
      return true;
    }
  return false;
}

/* The worker looks for a steal request. */
static void poll(hia_context *context) {
  hia_mailbox *mailbox = hia_steal_request_poll(&context->post.request);
  if (mailbox) context->crew.serve(context, mailbox);
}

/* Computes parts while there are some. */
static hia_status compute(hia_context *context, hia_crew_work *w) {
  uint32_t part;
  hia_status status = HIA_OK;
  context->crew.is_busy = true;
  while (!status && take(w, &part)) {
    if ((status = w->part(context, w->arg, part))) break;
    HIA_ATOMIC_ADD(&w->n_done, 1);
    if (w == &context->crew) poll(context);
  }
  context->crew.is_busy = false;
  return status;
}

/* ---- the thief ---- */

/* The help's job may end early: when the job is done for which the thief waited before. */
static bool is_needed_elsewhere(const hia_context *context) {
  const hia_job *awaited = context->post.awaited;
  return awaited && hia_is_done((_Atomic uint32_t *)&awaited->is_done);
}

static hia_status help(hia_context *context, hia_crew_work *w) {
  uint64_t since = hiaR_now();
  for (hia_status status; !(status = hiaR_end_status(context));) {
    uint64_t next = HIA_ATOMIC_LOAD(&w->next);
    if (next == HIA_NO_MORE_ROUNDS || is_needed_elsewhere(context)) return HIA_OK;
    if ((uint32_t)next) {
      if ((status = compute(context, w))) return status;
      since = hiaR_now();
    } else if (hiaR_now() - since < EAGER_NS) {
      HIA_PAUSE();
    } else {
      hia_parker_arm(&context->post.parker);
      if (!(status = hiaR_end_status(context))) hia_parker_park(&context->post.parker, SLEEP_NS);
      hia_parker_disarm(&context->post.parker);
      if (status) return status;
    }
  }
  return hiaR_end_status(context);
}

HIA_UNINSTRUMENTED void hiaR_native_help(hia_context *context, const char *sp, uintptr_t pc) {
  hia_status status = help(context, &context->invocation->job->owner->crew);
  if (HIA_UNLIKELY(status)) hiaR_native_fail(HIA_NONE, status, 0, context, sp, pc);
}

/* ---- the worker ---- */

uint32_t hiaR_crew_size(const hia_context *context) { return 1 + context->crew.n_helps; }

/* NULL: no memory, or the thief waits for a job of which the crew's work is no part: it could be
 * told to end for a reason that does not concern this worker. */
static hia_job *new_help(hia_context *context, hia_context *thief) {
  bool is_part = thief->post.awaited && hiaR_is_part_of(context, thief->post.awaited);
  if (thief->run.team != context->run.team || (thief->post.awaited && !is_part)) return NULL;
  hia_job *job = hiaR_job_new(context, 0);
  if (!job) return NULL;
  job->entry = (hia_native_entry)hiaR_stub_help;
  job->is_part = is_part;
  job->thief = thief;
  job->number = hiaR_event_promoted(context->run.ring);
  context->crew.n_helps++;
  context->is_shared = 1;
  hiaR_note_processor(context);
  return job;
}

/* Jobs are joined in the opposite order of their promotion, and helps before all forks. */
static hia_job *fork_for(hia_context *context, hia_context *thief) {
  const hia_crew_work *w = &context->crew;
  uint32_t n_frames;
  bool must_settle;
  if (!w->sp || w->n_helps) return NULL;
  return hiaR_fork_for(context, thief, w->sp, w->pc, &n_frames, &must_settle);
}

static void serve(hia_context *context, hia_mailbox *mailbox) {
  hia_context *thief = hiaR_context_of(mailbox);
  hia_job *job = fork_for(context, thief);
  if (!job) job = new_help(context, thief);
  hia_mailbox_reply(mailbox, job);
}

void hiaR_crew_open(hia_context *context, const char *sp, uintptr_t pc) {
  hia_crew_work *w = &context->crew;
  w->serve = serve;
  w->sp = sp;
  w->pc = pc;
  w->is_open = true;
  w->n_helps = 0;
  uint64_t next = HIA_ATOMIC_LOAD(&w->next);
  if (next == HIA_NO_MORE_ROUNDS) HIA_ATOMIC_STORE(&w->next, 0);
}

/* The status of a help that has ended without having been told to; HIA_OK: there is none. */
static hia_status failed_help(hia_context *context) {
  hia_job *job = context->invocation->promoted;
  for (uint32_t i = 0; i < context->crew.n_helps; i++, job = job->older) {
    if (!hia_is_done(&job->is_done)) continue;
    if (job->is_returned) return hiaR_await_end(context);
    if (!job->failure.status) continue;
    hia_status status = hiaR_end_status(context);
    return status ? status : job->failure.status;
  }
  return HIA_OK;
}

static hia_status await_parts(hia_context *context, uint32_t n) {
  hia_crew_work *w = &context->crew;
  uint64_t since = hiaR_now();
  while (HIA_ATOMIC_LOAD(&w->n_done) != n) {
    hia_status status = failed_help(context);
    if (status) return status;
    if (hiaR_now() - since < WAIT_NS) {
      HIA_PAUSE();
      continue;
    }
    hia_parker_arm(&context->post.parker);
    if (HIA_ATOMIC_LOAD(&w->n_done) != n) hia_parker_park(&context->post.parker, SLEEP_NS);
    hia_parker_disarm(&context->post.parker);
  }
  return HIA_OK;
}

/* Ends the rounds. Waits until no worker computes a part: what parts read may go. */
static void stop(hia_context *context) {
  hia_crew_work *w = &context->crew;
  hia_job *job = context->invocation->promoted;
  HIA_ATOMIC_STORE(&w->next, HIA_NO_MORE_ROUNDS);
  for (uint32_t i = 0; i < w->n_helps; i++, job = job->older) {
    if (job->is_back || hia_is_done(&job->is_done)) continue;
    job->is_back = hia_mailbox_take_back(&job->thief->post.mailbox, job);
    if (job->is_back) continue;
    hia_parker_unpark(&job->thief->post.parker);
    hiaR_await_job(context, job);
  }
}

hia_status hiaR_crew_compute(hia_context *context, uint32_t n, hia_round_part *part, void *arg) {
  hia_crew_work *w = &context->crew;
  hia_status alone = HIA_OK;
  if (!context->run.team || n == 1) { /* the one part may have rounds of its own */
    for (uint32_t i = n; !alone && i-- > 0;) alone = part(context, arg, i);
    return alone;
  }
  poll(context);
  w->part = part;
  w->arg = arg;
  HIA_ATOMIC_STORE(&w->n_done, 0);
  HIA_ATOMIC_STORE(&w->next, ((HIA_ATOMIC_LOAD(&w->next) >> 32) + 1) << 32 | n);
  hia_status status = compute(context, w);
  if (!status) status = await_parts(context, n);
  if (status) stop(context);
  return status;
}

hia_status hiaR_crew_close(hia_context *context) {
  hia_crew_work *w = &context->crew;
  hia_invocation *invocation = context->invocation;
  stop(context);
  hia_status status = failed_help(context);
  if (status) return status;
  for (; w->n_helps; w->n_helps--) {
    hia_job *job = invocation->promoted;
    invocation->promoted = job->older;
    hiaR_job_count(context, job);
    hiaR_job_free(context, job);
  }
  w->is_open = false;
  return HIA_OK;
}

/* ---- operations ---- */

typedef struct operation_part {
  hia_crew_part *part;
  void *arg;
} operation_part;

static hia_status compute_part(hia_context *context, void *arg, uint32_t i) {
  const operation_part *o = arg;
  return o->part(&context->local, o->arg, i);
}

static hia_status compute_operation(const hia_crew *crew, uint32_t n, hia_crew_part *part,
                                    void *arg) {
  const hia_native_crew *c = (const hia_native_crew *)(const void *)crew;
  operation_part o = {part, arg};
  if (!c->context->crew.is_open) /* hiaR_crew_leave ends it */
    hiaR_crew_open(c->context, c->sp, c->pc);
  return hiaR_crew_compute(c->context, n, compute_part, &o);
}

bool hiaR_crew_join(hia_context *context, const char *sp, uintptr_t pc, hia_native_crew *crew) {
  const hia_crew_work *w = &context->crew;
  if (!context->run.team || w->is_busy) return false;
  bool is_open = w->is_open; /* thieves are at hand */
  uint32_t n = is_open ? hiaR_crew_size(context) : 1 + atomic_load(&context->run.team->n_helpers);
  *crew = (hia_native_crew){
      {n, is_open ? LEAST : LEAST_CALLED, compute_operation}, context, sp, pc, is_open};
  return n > 1;
}

hia_status hiaR_crew_leave(const hia_native_crew *crew) {
  bool is_own = crew->context->crew.is_open && !crew->was_open;
  return is_own ? hiaR_crew_close(crew->context) : HIA_OK;
}
