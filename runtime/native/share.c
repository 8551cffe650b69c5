/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sharing the blocks of a wave, and of a large product, with thieves (share.h). Comprehensions are
 * halved by graph/passes/halve.c instead. */
#include "runtime/native/context.h"

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
static bool take(hia_sharing *s, uint32_t *part) {
  uint64_t next = HIA_ATOMIC_LOAD(&s->next);
  while (next != HIA_SHARES_NOTHING && (uint32_t)next)
    if (HIA_ATOMIC_CAS(&s->next, &next, next - 1)) {
      *part = (uint32_t)next - 1;
      return true;
    }
  return false;
}

/* The worker looks for a steal request. */
static void poll(hia_context *context) {
  hia_mailbox *mailbox = hia_steal_request_poll(&context->request);
  if (mailbox) context->sharing.serve(context, mailbox);
}

/* Computes parts while there are some. */
static hia_status compute(hia_context *context, hia_sharing *s) {
  uint32_t part;
  hia_status status = HIA_OK;
  context->sharing.is_busy = true;
  while (!status && take(s, &part)) {
    if ((status = s->part(context, s->arg, part))) break;
    HIA_ATOMIC_ADD(&s->n_done, 1);
    if (s == &context->sharing) poll(context);
  }
  context->sharing.is_busy = false;
  return status;
}

/* ---- the thief ---- */

/* The help's job may end early: when the job is done for which the thief waited before. */
static bool is_needed_elsewhere(const hia_context *context) {
  const hia_job *awaited = context->awaited;
  return awaited && hia_is_done((_Atomic uint32_t *)&awaited->is_done);
}

static hia_status help(hia_context *context, hia_sharing *s) {
  uint64_t since = hiaR_now();
  for (hia_status status; !(status = hiaR_end_status(context));) {
    uint64_t next = HIA_ATOMIC_LOAD(&s->next);
    if (next == HIA_SHARES_NOTHING || is_needed_elsewhere(context)) return HIA_OK;
    if ((uint32_t)next) {
      if ((status = compute(context, s))) return status;
      since = hiaR_now();
    } else if (hiaR_now() - since < EAGER_NS) {
      HIA_PAUSE();
    } else {
      hia_parker_arm(&context->parker);
      if (!(status = hiaR_end_status(context))) hia_parker_park(&context->parker, SLEEP_NS);
      hia_parker_disarm(&context->parker);
      if (status) return status;
    }
  }
  return hiaR_end_status(context);
}

HIA_UNINSTRUMENTED void hiaR_native_help(hia_context *context, const char *sp, uintptr_t pc) {
  hia_status status = help(context, &context->invocation->job->owner->sharing);
  if (HIA_UNLIKELY(status)) hiaR_native_fail(HIA_NONE, status, 0, context, sp, pc);
}

/* ---- the worker ---- */

uint32_t hiaR_share_workers(const hia_context *context) { return 1 + context->sharing.n_helps; }

/* NULL: no memory, or the thief waits for a job of which the sharing is no part: it could be told
 * to end for a reason that does not concern this worker. */
static hia_job *new_help(hia_context *context, hia_context *thief) {
  bool is_part = thief->awaited && hiaR_is_part_of(context, thief->awaited);
  if (thief->team != context->team || (thief->awaited && !is_part)) return NULL;
  hia_job *job = hiaR_job_new(context, 0);
  if (!job) return NULL;
  job->entry = (hia_native_entry)hiaR_stub_help;
  job->is_part = is_part;
  job->thief = thief;
  job->number = hiaR_event_promoted(context->ring);
  context->sharing.n_helps++;
  context->is_shared = 1;
  hiaR_note_processor(context);
  return job;
}

/* Jobs are joined in the opposite order of their promotion, and helps before all forks. */
static hia_job *fork_for(hia_context *context, hia_context *thief) {
  const hia_sharing *s = &context->sharing;
  uint32_t n_frames;
  bool must_settle;
  if (!s->sp || s->n_helps) return NULL;
  return hiaR_fork_for(context, thief, s->sp, s->pc, &n_frames, &must_settle);
}

static void serve(hia_context *context, hia_mailbox *mailbox) {
  hia_context *thief = hiaR_context_of(mailbox);
  hia_job *job = fork_for(context, thief);
  if (!job) job = new_help(context, thief);
  hia_mailbox_reply(mailbox, job);
}

void hiaR_share_begin(hia_context *context, const char *sp, uintptr_t pc) {
  hia_sharing *s = &context->sharing;
  s->serve = serve;
  s->sp = sp;
  s->pc = pc;
  s->is_open = true;
  s->n_helps = 0;
  uint64_t next = HIA_ATOMIC_LOAD(&s->next);
  if (next == HIA_SHARES_NOTHING) HIA_ATOMIC_STORE(&s->next, 0);
}

/* The status of a help that has ended without having been told to; HIA_OK: there is none. */
static hia_status failed_help(hia_context *context) {
  hia_job *job = context->invocation->promoted;
  for (uint32_t i = 0; i < context->sharing.n_helps; i++, job = job->older) {
    if (!hia_is_done(&job->is_done)) continue;
    if (job->is_returned) return hiaR_await_end(context);
    if (!job->failure.status) continue;
    hia_status status = hiaR_end_status(context);
    return status ? status : job->failure.status;
  }
  return HIA_OK;
}

static hia_status await_parts(hia_context *context, uint32_t n) {
  hia_sharing *s = &context->sharing;
  uint64_t since = hiaR_now();
  while (HIA_ATOMIC_LOAD(&s->n_done) != n) {
    hia_status status = failed_help(context);
    if (status) return status;
    if (hiaR_now() - since < WAIT_NS) {
      HIA_PAUSE();
      continue;
    }
    hia_parker_arm(&context->parker);
    if (HIA_ATOMIC_LOAD(&s->n_done) != n) hia_parker_park(&context->parker, SLEEP_NS);
    hia_parker_disarm(&context->parker);
  }
  return HIA_OK;
}

/* There will be no round any more. Waits until nobody computes a part: what parts read may go. */
static void stop(hia_context *context) {
  hia_sharing *s = &context->sharing;
  hia_job *job = context->invocation->promoted;
  HIA_ATOMIC_STORE(&s->next, HIA_SHARES_NOTHING);
  for (uint32_t i = 0; i < s->n_helps; i++, job = job->older) {
    if (job->is_back || hia_is_done(&job->is_done)) continue;
    job->is_back = hia_mailbox_take_back(&job->thief->mailbox, job);
    if (job->is_back) continue;
    hia_parker_unpark(&job->thief->parker);
    hiaR_await_job(context, job);
  }
}

hia_status hiaR_share(hia_context *context, uint32_t n, hia_share_part *part, void *arg) {
  hia_sharing *s = &context->sharing;
  hia_status alone = HIA_OK;
  if (!context->team || n == 1) { /* the one part may have rounds of its own */
    for (uint32_t i = n; !alone && i-- > 0;) alone = part(context, arg, i);
    return alone;
  }
  poll(context);
  s->part = part;
  s->arg = arg;
  HIA_ATOMIC_STORE(&s->n_done, 0);
  HIA_ATOMIC_STORE(&s->next, ((HIA_ATOMIC_LOAD(&s->next) >> 32) + 1) << 32 | n);
  hia_status status = compute(context, s);
  if (!status) status = await_parts(context, n);
  if (status) stop(context);
  return status;
}

hia_status hiaR_share_end(hia_context *context) {
  hia_sharing *s = &context->sharing;
  hia_invocation *invocation = context->invocation;
  stop(context);
  hia_status status = failed_help(context);
  if (status) return status;
  for (; s->n_helps; s->n_helps--) {
    hia_job *job = invocation->promoted;
    invocation->promoted = job->older;
    hiaR_job_count(context, job);
    hiaR_job_free(context, job);
  }
  s->is_open = false;
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

static hia_status share_operation(const hia_crew *crew, uint32_t n, hia_crew_part *part,
                                  void *arg) {
  const hia_native_crew *c = (const hia_native_crew *)(const void *)crew;
  operation_part o = {part, arg};
  if (!c->context->sharing.is_open) /* hiaR_crew_leave ends it */
    hiaR_share_begin(c->context, c->sp, c->pc);
  return hiaR_share(c->context, n, compute_part, &o);
}

bool hiaR_crew_join(hia_context *context, const char *sp, uintptr_t pc, hia_native_crew *crew) {
  const hia_sharing *s = &context->sharing;
  if (!context->team || s->is_busy) return false;
  bool is_open = s->is_open; /* thieves are at hand */
  uint32_t n = is_open ? hiaR_share_workers(context) : 1 + atomic_load(&context->team->n_helpers);
  *crew = (hia_native_crew){
      {n, is_open ? LEAST : LEAST_CALLED, share_operation}, context, sp, pc, is_open};
  return n > 1;
}

hia_status hiaR_crew_leave(const hia_native_crew *crew) {
  bool is_own = crew->context->sharing.is_open && !crew->was_open;
  return is_own ? hiaR_share_end(crew->context) : HIA_OK;
}
