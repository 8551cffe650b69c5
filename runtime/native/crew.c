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
  SLEEP_NS = 5000,   /* between two looks afterwards, at first; then twice as long each time */
  MAX_SLEEP_NS = 80000,
  WAIT_NS = 100000, /* how long the worker looks for the end of a round before it sleeps */
  SOON_NS = 5000,   /* within which a thief that runs has ended its help, but for a piece */
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

void hiaR_crew_poll(hia_context *context) {
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
    if (w == &context->crew) hiaR_crew_poll(context);
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

/* A thief that looks at a phase says so first. */
static hia_status help_phase(hia_context *context, hia_job *job, bool *has_worked) {
  *has_worked = false;
  if (!HIA_ATOMIC_LOAD(&job->owner->crew.phase)) return HIA_OK;
  HIA_ATOMIC_STORE(&job->is_seated, 1);
  hia_status status = job->owner->crew.help(context, job->owner, has_worked);
  HIA_ATOMIC_STORE(&job->is_seated, 0);
  return status;
}

/* Until the crew is closed. */
static hia_status help(hia_context *context, hia_job *job, hia_presence *presence) {
  hia_crew_work *w = &job->owner->crew;
  uint64_t since = presence->began, sleep = SLEEP_NS;
  for (hia_status status; !(status = hiaR_end_status(context));) {
    uint64_t next = HIA_ATOMIC_LOAD(&w->next);
    bool has_worked = next != HIA_NO_MORE_ROUNDS && (uint32_t)next;
    if (next == HIA_NO_MORE_ROUNDS || is_needed_elsewhere(context)) return HIA_OK;
    status = has_worked ? compute(context, w) : help_phase(context, job, &has_worked);
    if (status) return status;
    if (has_worked) {
      since = hiaR_now();
      sleep = SLEEP_NS;
    } else if (hiaR_now() - since < EAGER_NS) {
      HIA_PAUSE();
    } else {
      uint64_t begin = hiaR_now();
      hia_parker_arm(&context->post.parker);
      if (!(status = hiaR_end_status(context))) hia_parker_park(&context->post.parker, sleep);
      hia_parker_disarm(&context->post.parker);
      if (status) return status;
      presence->slept += hiaR_now() - begin;
      if (sleep < MAX_SLEEP_NS) sleep *= 2;
    }
  }
  return hiaR_end_status(context);
}

HIA_UNINSTRUMENTED void hiaR_native_help(hia_context *context, const char *sp, uintptr_t pc) {
  hia_presence presence = hiaR_presence_begin();
  hia_status status = help(context, context->invocation->job, &presence);
  hiaR_presence_end(context, &presence);
  if (HIA_UNLIKELY(status)) hiaR_native_fail(HIA_NONE, status, 0, context, sp, pc);
}

/* ---- the worker ---- */

void hiaR_presence_end(const hia_context *context, const hia_presence *p) {
  enum { LEAST_NS = 1000000, PART = 4 };
  uint64_t all = hiaR_now() - p->began, there = hiaR_thread_now() - p->ran + p->slept;
  uint64_t aside = all > there ? all - there : 0;
  if (aside > LEAST_NS && aside > all / PART) hiaR_team_note_aside(context->run.team, aside);
}

bool hiaR_crew_may_grow(const hia_context *context) {
  return context->run.team && atomic_load(&context->run.team->max_helpers);
}

uint32_t hiaR_crew_size(const hia_context *context) { return 1 + context->crew.n_helps; }

static void set_helps(hia_crew_work *w, uint32_t n) {
  w->n_helps = n;
  atomic_store_explicit(&w->n_workers, n + 1, memory_order_relaxed);
}

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
  set_helps(&context->crew, context->crew.n_helps + 1);
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

/* ---- helps that are late ---- */

/* Frees what late helps might have read, if none of them does. */
static void free_retired(hia_context *context) {
  hia_crew_work *w = &context->crew;
  for (hia_job *job = w->late; job; job = job->older)
    if (HIA_ATOMIC_LOAD(&job->is_seated) && !hia_is_done(&job->is_done)) return;
  while (w->retired) {
    hia_retired *first = w->retired;
    w->retired = first->older;
    first->free(context, first);
  }
}

void hiaR_crew_retire(hia_context *context, hia_retired *retired) {
  retired->older = context->crew.retired;
  context->crew.retired = retired;
  free_retired(context);
}

static void end_help(hia_context *context, hia_job *job) {
  hiaR_job_count(context, job);
  hiaR_job_free(context, job);
}

/* Late helps that have not ended yet take part again. */
static void take_late(hia_context *context) {
  hia_crew_work *w = &context->crew;
  if (w->retired) free_retired(context);
  while (w->late) {
    hia_job *job = w->late;
    w->late = job->older;
    if (hia_is_done(&job->is_done)) {
      end_help(context, job);
      continue;
    }
    job->older = context->invocation->promoted;
    context->invocation->promoted = job;
    set_helps(w, w->n_helps + 1);
  }
}

static void await_late(hia_context *context) {
  hia_crew_work *w = &context->crew;
  while (w->late) {
    hia_job *job = w->late;
    hiaR_await_job(context, job);
    w->late = job->older;
    end_help(context, job);
  }
  free_retired(context);
}

/* ---- opening and closing ---- */

void hiaR_crew_open(hia_context *context, const char *sp, uintptr_t pc) {
  hia_crew_work *w = &context->crew;
  w->serve = serve;
  w->await_late = await_late;
  w->sp = sp;
  w->pc = pc;
  w->is_open = true;
  set_helps(w, 0);
  if (w->late) take_late(context);
  if (context->run.team) hiaR_team_resume(context);
  uint64_t next = HIA_ATOMIC_LOAD(&w->next);
  if (next == HIA_NO_MORE_ROUNDS) HIA_ATOMIC_STORE(&w->next, 0);
}

/* The status of a help that has ended without having been told to; HIA_OK: there is none. */
hia_status hiaR_crew_failure(hia_context *context) {
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
    hia_status status = hiaR_crew_failure(context);
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

/* No thief begins anything any more. Helps that no thief has taken come back. */
static void call_off(hia_context *context) {
  hia_crew_work *w = &context->crew;
  hia_job *job = context->invocation->promoted;
  HIA_ATOMIC_STORE(&w->phase, NULL);
  HIA_ATOMIC_STORE(&w->next, HIA_NO_MORE_ROUNDS);
  for (uint32_t i = 0; i < w->n_helps; i++, job = job->older) {
    if (job->is_back || hia_is_done(&job->is_done)) continue;
    job->is_back = hia_mailbox_take_back(&job->thief->post.mailbox, job);
    if (!job->is_back) hia_parker_unpark(&job->thief->post.parker);
  }
}

/* What parts read may go then. */
void hiaR_crew_stop(hia_context *context) {
  hia_job *job = context->invocation->promoted;
  call_off(context);
  for (uint32_t i = 0; i < context->crew.n_helps; i++, job = job->older)
    if (!job->is_back) hiaR_await_job(context, job);
}

hia_status hiaR_crew_compute(hia_context *context, uint32_t n, hia_round_part *part, void *arg) {
  hia_crew_work *w = &context->crew;
  hia_status alone = HIA_OK;
  if (!context->run.team || n == 1) { /* the one part may have rounds of its own */
    for (uint32_t i = n; !alone && i-- > 0;) alone = part(context, arg, i);
    return alone;
  }
  hiaR_crew_poll(context);
  w->part = part;
  w->arg = arg;
  HIA_ATOMIC_STORE(&w->n_done, 0);
  HIA_ATOMIC_STORE(&w->next, ((HIA_ATOMIC_LOAD(&w->next) >> 32) + 1) << 32 | n);
  hia_status status = compute(context, w);
  if (!status) status = await_parts(context, n);
  if (status) hiaR_crew_stop(context);
  return status;
}

hia_status hiaR_crew_close(hia_context *context) {
  hia_crew_work *w = &context->crew;
  hia_invocation *invocation = context->invocation;
  bool is_whole = !HIA_ATOMIC_LOAD(&w->phase); /* else an iteration of a driver has failed in it */
  call_off(context);
  hia_status status = hiaR_crew_failure(context);
  if (status || !is_whole) hiaR_crew_stop(context);
  if (status) return status;
  for (; w->n_helps; set_helps(w, w->n_helps - 1)) {
    hia_job *job = invocation->promoted;
    bool is_late = !job->is_back && !hiaR_look_for_end(job, SOON_NS);
    if (is_late && job->is_part) {
      hiaR_await_job(context, job);
      is_late = false;
    }
    invocation->promoted = job->older;
    if (is_late) {
      job->older = w->late;
      w->late = job;
    } else {
      end_help(context, job);
    }
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
