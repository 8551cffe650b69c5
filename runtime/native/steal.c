/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Stealing: a worker without work posts a steal request with another one of its run, and runs the
 * job that it gets. */
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"

enum {
  REPLY_NS = 1000, /* how long a thief looks for the reply before it sleeps; by then the victim
                       must have come to a safepoint, unless it is not running */
  /* How long a thief sleeps before it sets the victim's limit again, at first; then twice as long
   * each time. To sleep takes a virtual machine longer than this. */
  AGAIN_NS = 5000,
  MAX_AGAIN_NS = 200000, /* after which it goes to another victim */
};

static bool is_over(hia_context *context, hia_job *awaited) {
  return (awaited && hia_is_done(&awaited->is_done)) || atomic_load(&context->run.team->stop) ||
         hia_rundown_is_closed(&context->run.team->rundown);
}

/* Looks for the reply for about `ns`. Returns true once it is there; false also if no job is
 * needed any more. */
static bool await_reply(hia_context *context, hia_job *awaited, uint64_t ns) {
  uint64_t start = hiaR_now();
  do {
    for (unsigned i = 0; i < 16; i++) {
      if (hia_mailbox_has_reply(&context->post.mailbox)) return true;
      HIA_PAUSE();
    }
    if (is_over(context, awaited)) return false;
  } while (hiaR_now() - start < ns);
  return false;
}

/* True if the reply is there, or no job is needed any more. */
static bool is_settled(hia_context *context, hia_job *awaited) {
  return hia_mailbox_has_reply(&context->post.mailbox) || is_over(context, awaited);
}

/* How long the victim hands out nothing yet. A thief that made it poll before would only cost it
 * time: the polls, and the line of the cache in which its limit is. */
static uint64_t pause_of(const hia_context *victim, uint64_t now) {
  uint64_t from = atomic_load_explicit(&victim->giving.from, memory_order_relaxed);
  return from > now ? from - now : 0;
}

/* Makes the victim poll, and looks for the reply. */
static bool demand(hia_context *context, hia_context *victim, hia_job *awaited) {
  atomic_store(&victim->limit, UINTPTR_MAX);
  bool has_reply = await_reply(context, awaited, HIA_GIVE_NS);
  if (has_reply || is_over(context, awaited)) return has_reply;
  /* The victim may have handed out a job just before, and does so again from now on. A thief that
   * slept until then would sleep for 25 us and more. */
  atomic_store(&victim->limit, UINTPTR_MAX);
  return await_reply(context, awaited, REPLY_NS);
}

/* Sleeps, and makes the victim poll, again and again. */
static void demand_again(hia_context *context, hia_context *victim, hia_job *awaited) {
  uint64_t now = hiaR_now(), end = now + MAX_AGAIN_NS, ns = AGAIN_NS;
  for (; now < end && !is_settled(context, awaited); now = hiaR_now()) {
    uint64_t pause = pause_of(victim, now);
    hia_parker_arm(&context->post.parker);
    if (!is_settled(context, awaited))
      hia_parker_park(&context->post.parker, pause > ns ? pause : ns);
    hia_parker_disarm(&context->post.parker);
    ns *= 2;
    if (!hia_mailbox_has_reply(&context->post.mailbox)) atomic_store(&victim->limit, UINTPTR_MAX);
  }
}

/* Posts a steal request with one worker and awaits the reply. */
static hia_job *steal_from(hia_context *context, hia_context *victim, hia_job *awaited) {
  if (!hia_steal_request_post(&victim->post.request, &context->post.mailbox)) return NULL;
  bool is_long = pause_of(victim, hiaR_now()) > HIA_GIVE_NS;
  if (is_long || !demand(context, victim, awaited)) {
    demand_again(context, victim, awaited);
    if (!hia_mailbox_has_reply(&context->post.mailbox) &&
        hia_steal_request_withdraw(&victim->post.request, &context->post.mailbox))
      return NULL;
    while (!hia_mailbox_has_reply(&context->post.mailbox)) { /* the reply is on its way */
      hia_parker_arm(&context->post.parker);
      if (!hia_mailbox_has_reply(&context->post.mailbox))
        hia_parker_park(&context->post.parker, AGAIN_NS);
      hia_parker_disarm(&context->post.parker);
    }
  }
  hia_job *job = hia_mailbox_take(&context->post.mailbox);
  if (!job || !awaited || !hia_is_done(&awaited->is_done)) return job;
  /* The awaited job is done, so this worker can go on with its own work. */
  job->is_returned = true;
  hia_finish(&job->is_done, &job->owner->post.parker);
  return NULL;
}

hia_job *hiaR_try_steal(hia_context *context, hia_job *awaited, bool may_be_given) {
  hia_team *team = context->run.team;
  context->post.awaited = awaited;
  context->post.may_be_given = may_be_given;
  /* Jobs of the awaited job's subtree come first. */
  hia_context *first = awaited ? awaited->thief : NULL;
  hia_job *job = first ? steal_from(context, first, awaited) : NULL;
  if (job) return job;
  uint32_t n = atomic_load(&team->n_members), from = hiaR_random(context) % n;
  for (uint32_t i = 0; i < n && !is_over(context, awaited); i++) {
    hia_context *victim = atomic_load(&team->members[(from + i) % n]);
    if (!victim || victim == context || victim == first) continue;
    job = steal_from(context, victim, awaited);
    if (job) return job;
  }
  return NULL;
}

void hiaR_run_job(hia_context *context, hia_job *job) {
  hia_invocation invocation = {.job = job, .failure = &job->failure, .is_part = job->is_part};
  uint64_t calls = context->calls, rounds = context->rounds, steals = context->jobs.steals;
  hia_batch_usage batch_usage = context->batching.usage;
  context->calls = context->rounds = 0;
  context->jobs.steals = 1;
  context->batching.usage = (hia_batch_usage){0};
  hiaR_event(context->run.ring, HIA_EVENT_JOB_BEGIN, job->number);
  hiaR_event(context->run.ring, HIA_EVENT_CALLEE, (uintptr_t)job->entry);
  /* First the limit, then the reasons to end: other threads write them in the opposite order. */
  hiaR_set_limit(context);
  if (atomic_load(&job->is_cancelled) || atomic_load(&context->run.team->stop))
    atomic_store(&context->limit, UINTPTR_MAX);
  job->is_begun = true;
  hiaR_job_take_references(job);
  uint64_t begin = hiaR_now();
  hiaR_invoke(context, &invocation, job->entry, job->block);
  job->ns = hiaR_now() - begin;
  hiaR_event(context->run.ring, HIA_EVENT_JOB_END, job->number);
  job->calls = context->calls;
  job->rounds = context->rounds;
  job->steals = context->jobs.steals;
  job->batch_usage = context->batching.usage;
  context->batching.usage = batch_usage;
  context->calls = calls;
  context->rounds = rounds;
  context->jobs.steals = steals;
  if (context->local.heap) hiaR_local_hand_over(&context->local);
  hia_finish(&job->is_done, &job->owner->post.parker);
}
