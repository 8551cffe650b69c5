/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Teams: the workers of a run of compiled code on several threads (docs/parallel.md).
 *
 * A thread of the pool becomes a *helper* of a team: it posts steal requests with the team's
 * workers, and backs off for short and growing times while there are no jobs.
 *
 * A run ends while helpers may be asleep in it. It waits only for those inside its rundown, which
 * are stealing or running a job; the others find the rundown closed when they wake. So a team is
 * reference-counted, and its memory is the pool's; contexts of helpers live as long as the pool. */
#include "runtime/native/team.h"
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/sampled.h"

#if defined(HIA_STRESS) || defined(HIA_FIBERS) /* sanitizers make every run long */
enum { BRIEF_NS = 2000000 };
#else
enum {
  BRIEF_NS = 12000
}; /* of a run this long the microsecond in which a helper wakes is 8 per cent */
#endif
/* How long runs have no helpers after one that had no processor for them. */
#define ALONE_NS UINT64_C(100000000)

static void count_helper(hia_team *team, bool is_more) {
  unsigned n = atomic_load(&team->n_helpers);
  atomic_store(&team->n_helpers, is_more ? n + 1 : n - 1);
  team->references += is_more ? 1u : -1u;
}

static void release(hia_team *team) {
  hia_pool *pool = team->pool;
  if (team->references) return;
  team->next = pool->spare;
  pool->spare = team;
}

static void set_wanting(hia_team *team, bool is_wanting) {
  if ((atomic_load(&team->is_wanting) != 0) == is_wanting) return;
  atomic_store(&team->is_wanting, is_wanting);
  if (is_wanting)
    atomic_fetch_add(&team->pool->n_wanting, 1);
  else
    atomic_fetch_sub(&team->pool->n_wanting, 1);
}

/* The team with the fewest helpers of those that need one. It becomes the last in the list, so
 * that teams with equally many take turns. */
static hia_team *choose_team(hia_pool *pool) {
  hia_team **best = NULL;
  for (hia_team **at = &pool->active; *at; at = &(*at)->next)
    if (atomic_load(&(*at)->is_wanting) &&
        (!best || atomic_load(&(*at)->n_helpers) < atomic_load(&(*best)->n_helpers)))
      best = at;
  if (!best) return NULL;
  hia_team *team = *best, **end = best;
  *best = team->next;
  while (*end) end = &(*end)->next;
  *end = team;
  team->next = NULL;
  set_wanting(team, false);
  count_helper(team, true);
  return team;
}

static bool may_call(hia_team *team) {
  return atomic_load(&team->n_helpers) < atomic_load(&team->max_helpers) &&
         !atomic_load(&team->is_wanting);
}

static const hia_team_calls team_calls;

/* Makes an idle thread the team's helper. The caller unparks the thread once it has released the
 * lock. */
static hia_thread *call_idle(hia_team *team) {
  hia_thread *thread = hiaR_pool_take_idle(team->pool);
  if (!thread) return NULL;
  thread->team = team;
  thread->caller = hiaR_processor();
  count_helper(team, true);
  return thread;
}

/* Called under the lock, which it releases: calls a helper, if the team may have one more. */
static void call_and_unlock(hia_team *team) {
  hia_pool *pool = team->pool;
  hia_thread *thread = NULL;
  bool is_new = false;
  if (may_call(team)) {
    thread = call_idle(team);
    is_new = !thread && pool->n_threads < pool->max_threads;
    pool->n_threads += is_new;
    if (is_new)
      count_helper(team, true);
    else if (!thread)
      set_wanting(team, true);
  }
  pthread_mutex_unlock(&pool->lock);
  if (thread) hia_parker_unpark(&thread->parker);
  if (!is_new || hiaR_pool_start_thread(pool, team, NULL, NULL)) return;
  /* The thread could not be started: the run goes on without it and does not try again. */
  pthread_mutex_lock(&pool->lock);
  pool->n_threads--;
  count_helper(team, false);
  atomic_store(&team->max_helpers, atomic_load(&team->n_helpers));
  atomic_store(&team->all_helpers, atomic_load(&team->n_helpers));
  pthread_mutex_unlock(&pool->lock);
}

/* Other threads read these fields only after they have held the lock. */
#define SET(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)

/* A run of a microsecond has a team as well, so this takes the lock once. */
hia_team *hiaR_team_new(hia_context *context) {
  hia_pool *pool = context->run.pool;
  pthread_mutex_lock(&pool->lock);
  hia_team *team = pool->spare;
  if (team) {
    pool->spare = team->next;
  } else {
    pthread_mutex_unlock(&pool->lock);
    team = hiaR_alloc(pool->allocator,
                      sizeof *team + (pool->max_threads + 1) * sizeof team->members[0]);
    if (!team) return NULL;
    team->pool = pool;
    pthread_mutex_lock(&pool->lock);
  }
  unsigned max = context->run.max_workers - 1;
  hiaR_note_processor(context);
  hiaR_pause_begin(context);
  team->references = 1;
  SET(team->n_helpers, 0);
  if (max > pool->max_threads) max = pool->max_threads;
  SET(team->all_helpers, max);
  if (max && hiaR_now() < atomic_load(&pool->alone_until)) max = 0;
  SET(team->max_helpers, max);
  SET(team->rundown.is_closed, 0);
  SET(team->stop, HIA_OK);
  SET(team->n_sleeping, 0);
  SET(team->peak_bytes, 0);
  team->since = context->watch.brief ? 0 : hiaR_now();
  context->watch.brief = NULL;
  team->unwinder = context->run.unwinder;
  team->cancelled = context->run.cancelled;
  team->deadline = context->run.deadline;
  team->depth = (size_t)((uintptr_t)context->stack.top - context->depth.hard);
  team->below = context->depth.below;
  team->is_limited = context->depth.is_limited;
  team->scope = context->run.scope;
  team->timeline = context->run.timeline;
  team->sampler = context->run.sampler;
  team->heap = context->local.heap;
  team->heap_run = team->heap ? team->heap->run : 0;
  team->shapes = context->run.shapes;
  team->params = context->params;
  SET(team->members[0], context);
  SET(team->n_members, 1);
  if (!pool->calls) pool->calls = &team_calls; /* once: threads read it without the lock */
  team->next = pool->active;
  pool->active = team;
  call_and_unlock(team);
  return team;
}
#undef SET

void hiaR_team_call(hia_team *team) {
  if (!may_call(team)) return;
  pthread_mutex_lock(&team->pool->lock);
  call_and_unlock(team);
}

/* ---- processors that others have ---- */

/* After a worker was put aside for one unit of time, runs have no helpers for so many, so what the
 * others lose by that is little. */
enum { ALONE_TIMES = 16, MAX_ALONE_NS = 250000000 };

void hiaR_team_note_aside(hia_team *team, uint64_t ns) {
  if (HIA_HELPS_ON_ONE) return;
  ns = ns < MAX_ALONE_NS / ALONE_TIMES ? ns * ALONE_TIMES : MAX_ALONE_NS;
  atomic_store(&team->pool->alone_until, hiaR_now() + ns);
  atomic_store(&team->max_helpers, 0);
}

void hiaR_team_resume(hia_context *context) {
  hia_team *team = context->run.team;
  if (context != atomic_load(&team->members[0]) || atomic_load(&team->max_helpers) ||
      !atomic_load(&team->all_helpers) || hiaR_now() < atomic_load(&team->pool->alone_until))
    return;
  atomic_store(&team->max_helpers, atomic_load(&team->all_helpers));
  hiaR_team_call(team);
}

/* ---- the end of a run ---- */

static void await_empty(hia_team *team) {
  uint64_t start = hiaR_now();
  while (!hia_rundown_is_empty(&team->rundown)) {
    HIA_PAUSE();
    if (hiaR_now() - start < 3000) continue;
    hia_parker_arm(&team->rundown.parker);
    if (!hia_rundown_is_empty(&team->rundown))
      hia_parker_park(&team->rundown.parker, HIA_MAX_BACKOFF_NS);
    hia_parker_disarm(&team->rundown.parker);
  }
}

void hiaR_team_end(hia_team *team, hia_usage *usage) {
  hia_pool *pool = team->pool;
  hia_context *context = atomic_load(&team->members[0]);
  bool is_brief = team->since && hiaR_now() - team->since < BRIEF_NS;
  pthread_mutex_lock(&pool->lock);
  if (is_brief) hiaR_watch_note(pool, context);
  hia_team **at = &pool->active;
  while (*at != team) at = &(*at)->next;
  *at = team->next;
  set_wanting(team, false);
  atomic_store(&team->max_helpers, 0);
  hia_rundown_close(&team->rundown);
  uint32_t n = atomic_load(&team->n_members);
  for (uint32_t i = 1; i < n; i++) {
    hia_context *member = atomic_load(&team->members[i]);
    if (member) hia_parker_unpark(&member->post.parker);
  }
  if (!hia_rundown_is_empty(&team->rundown)) {
    pthread_mutex_unlock(&pool->lock);
    await_empty(team);
    pthread_mutex_lock(&pool->lock);
  }
  usage->peak_bytes += atomic_load(&team->peak_bytes);
  team->references--;
  release(team);
  pthread_mutex_unlock(&pool->lock);
}

/* ---- helping ---- */

/* Readies the thread's context for the team's run. False: no memory, or no address space. */
static bool prepare(hia_thread *thread, const hia_team *team) {
  size_t size;
  if (!thread->context && hiaR_context_new(thread->pool->allocator, &thread->context) != HIA_OK)
    return false;
  hia_context *context = thread->context;
  if (!hiaR_add(team->depth, team->below, &size) || hiaR_context_reserve(context, size) != HIA_OK)
    return false;
  hiaR_context_limits(context, team->depth);
  context->run.unwinder = team->unwinder;
  context->depth.is_limited = team->is_limited;
  context->run.scope = team->scope;
  context->run.cancelled = team->cancelled;
  context->run.deadline = team->deadline;
  context->run.pool = thread->pool;
  /* A helper that comes back to a run goes on with the chunk that it has. */
  bool is_back =
      team->heap && context->local.heap == team->heap && context->run.heap_run == team->heap_run;
  if (!is_back) hiaR_context_use_heap(context, team->heap, team->shapes, team->params);
  context->run.heap_run = team->heap_run;
  context->is_shared = 1;
  hiaR_pause_begin(context);
  hiaR_note_processor(context);
  return true;
}

/* Enters the context among the team's members, where thieves find it. */
static uint32_t add_member(hia_team *team, hia_context *context) {
  uint32_t i = 1;
  pthread_mutex_lock(&team->pool->lock);
  while (atomic_load(&team->members[i])) i++;
  context->run.team = team;
  atomic_store(&team->members[i], context);
  if (i >= atomic_load(&team->n_members)) atomic_store(&team->n_members, i + 1);
  pthread_mutex_unlock(&team->pool->lock);
  return i;
}

static void remove_member(hia_team *team, uint32_t i) {
  pthread_mutex_lock(&team->pool->lock);
  atomic_store(&team->members[i], NULL);
  pthread_mutex_unlock(&team->pool->lock);
}

/* A thief on the processor of the worker that it helps, and that is not asleep, would take turns
 * with it (runtime/threads/processor.h): it goes to a processor on which no worker of the run is.
 */
static void keep_apart(const hia_thread *thread, hia_team *team, const hia_context *from) {
  enum { MAX_MEMBERS = 64 };
  hia_context *context = thread->context;
  uint32_t here = hiaR_processor(), busy[MAX_MEMBERS], n_busy = 0;
  if (hiaR_processor_of(from) == here && !atomic_load(&from->post.parker.is_asleep) &&
      hiaR_pool_owns_threads(thread->pool)) {
    uint32_t n = atomic_load(&team->n_members);
    for (uint32_t i = 0; i < n && n_busy < MAX_MEMBERS; i++) {
      const hia_context *member = atomic_load(&team->members[i]);
      if (member && member != context) busy[n_busy++] = hiaR_processor_of(member);
    }
    hiaR_processor_leave(busy, n_busy);
  }
  hiaR_note_processor(context);
}

static void run_outermost(hia_team *team, hia_context *context, hia_job *job, size_t *peak) {
  hiaR_team_call(team);
  hiaR_event(context->run.ring, HIA_EVENT_IDLE_END, 0);
  hiaR_run_job(context, job);
  hiaR_event(context->run.ring, HIA_EVENT_IDLE_BEGIN, 0);
  size_t used = hiaR_context_trim(context);
  if (used <= *peak) return;
  atomic_fetch_add(&team->peak_bytes, used - *peak);
  *peak = used;
}

/* True if another team needs this helper. After a job only a team with fewer helpers counts, so
 * that the teams take turns. */
static bool is_needed_elsewhere(hia_team *team, bool had_job) {
  hia_pool *pool = team->pool;
  bool is_needed = false;
  if (!atomic_load(&pool->n_wanting)) return false;
  pthread_mutex_lock(&pool->lock);
  for (hia_team *t = pool->active; t && !is_needed; t = t->next)
    is_needed = t != team && atomic_load(&t->is_wanting) &&
                (!had_job || atomic_load(&t->n_helpers) < atomic_load(&team->n_helpers));
  pthread_mutex_unlock(&pool->lock);
  return is_needed;
}

static void back_off(hia_team *team, hia_context *context, uint64_t ns) {
  if (!ns) {
    HIA_PAUSE();
    return;
  }
  atomic_fetch_add(&team->n_sleeping, 1);
  hia_parker_arm(&context->post.parker);
  if (!hia_rundown_is_closed(&team->rundown)) hia_parker_park(&context->post.parker, ns);
  hia_parker_disarm(&context->post.parker);
  atomic_fetch_sub(&team->n_sleeping, 1);
}

/* True if the team's run is still under way; then it is until the matching leave_rundown. A helper
 * that writes to a timeline stays inside until it leaves the team: nothing may be written when the
 * run is over. */
static bool enter_rundown(hia_team *team, const hia_context *context) {
  return context->run.ring ? !hia_rundown_is_closed(&team->rundown)
                           : hia_rundown_enter(&team->rundown);
}
static void leave_rundown(hia_team *team, const hia_context *context) {
  if (!context->run.ring) hia_rundown_leave(&team->rundown);
}

/* Works for the team until its run is over or it has no work. True: the helper leaves because
 * another team needs it. */
static bool take_turns(hia_thread *thread, hia_team *team) {
  hia_context *context = thread->context;
  size_t peak = HIA_STACK_KEEP;
  bool is_new = true; /* the helper has neither worked nor slept in this team yet */
  while (enter_rundown(team, context)) {
    hia_job *job = hiaR_try_steal(context, NULL, true);
    if (job) {
      keep_apart(thread, team, job->owner);
      hiaR_sampled_begin(context, team->sampler);
      run_outermost(team, context, job, &peak);
      hiaR_sampled_end(context);
      thread->pause = hiaR_backoff_start();
    }
    leave_rundown(team, context);
    uint64_t ns = job ? 0 : hiaR_backoff_next(&thread->pause);
    if (hia_rundown_is_closed(&team->rundown) || !atomic_load(&team->max_helpers)) return false;
    /* Where several helpers find no work, one of them is enough to look for it. */
    if (ns == HIA_MAX_BACKOFF_NS && atomic_load(&team->n_sleeping)) return false;
    /* A helper that has found nothing sleeps before it goes to the next team: going round among
     * teams without work must not count as backing off. */
    if ((!is_new || !ns) && is_needed_elsewhere(team, job != NULL)) return true;
    if (!job) back_off(team, context, ns);
    is_new = false;
  }
  return false;
}

/* True if the thread may run on the processor of the run's first worker only: the two would take
 * turns. Then runs have no helpers for some time. */
static bool is_crowded(hia_team *team) {
  const hia_context *first = atomic_load(&team->members[0]);
  if (HIA_HELPS_ON_ONE || hiaR_processors() > 1 || hiaR_processor() != hiaR_processor_of(first))
    return false;
  atomic_store(&team->pool->alone_until, hiaR_now() + ALONE_NS);
  atomic_store(&team->max_helpers, 0);
  return true;
}

static void help(hia_thread *thread, hia_team *team) {
  bool was_passing = thread->is_passing;
  thread->is_passing = false;
  if (!hia_rundown_enter(&team->rundown)) return;
  if (is_crowded(team) || !prepare(thread, team)) {
    hia_rundown_leave(&team->rundown);
    return;
  }
  hia_context *context = thread->context;
  uint32_t member = add_member(team, context);
  context->run.ring = hiaR_ring_of(team->timeline, thread->number);
  hiaR_event(context->run.ring, HIA_EVENT_WORK_BEGIN, 0);
  hiaR_event(context->run.ring, HIA_EVENT_IDLE_BEGIN, 0);
  leave_rundown(team, context);
  if (!was_passing) thread->pause = hiaR_backoff_start();
  thread->is_passing = take_turns(thread, team);
  hiaR_event(context->run.ring, HIA_EVENT_IDLE_END, 0);
  hiaR_event(context->run.ring, HIA_EVENT_WORK_END, 0);
  if (context->run.ring) hia_rundown_leave(&team->rundown);
  context->run.ring = NULL;
  remove_member(team, member);
  context->run.team = NULL;
}

/* Called under the lock when a helper has left, which may have been the only one. If it left
 * because another team needed it, this team now needs one, too. */
static void leave_team(hia_thread *helper, hia_team *team) {
  count_helper(team, false);
  hia_thread *thread = NULL;
  if (helper->is_passing && may_call(team)) {
    thread = call_idle(team);
    if (!thread) set_wanting(team, true);
  }
  if (thread) hia_parker_unpark(&thread->parker);
  release(team);
}

/* ---- what the pool calls ---- */

static void free_helper(hia_thread *thread) { hiaR_context_free(thread->context); }

static void free_teams(hia_pool *pool) {
  for (hia_context *c = pool->watched; c; c = c->watch.next) c->watch.pool = NULL;
  while (pool->spare) {
    hia_team *team = pool->spare;
    pool->spare = team->next;
    hiaR_free(pool->allocator, team,
              sizeof *team + (pool->max_threads + 1) * sizeof team->members[0]);
  }
}

static const hia_team_calls team_calls = {choose_team,     help,        leave_team, hiaR_watch,
                                          hiaR_watch_stop, free_helper, free_teams};
