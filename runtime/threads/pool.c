/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Threads (docs/parallel.md, "Threads").
 *
 * The pool starts a thread when there is first something for it to do. An idle thread sleeps in
 * the kernel until it is given a function to call or a team to help (native/team.c). One of the
 * idle threads may watch for runs that have become long; the others sleep without a time limit.
 *
 * Threads may be a host's. The host calls hiaton on a thread when it has one to spare, and gets
 * the thread back where one of the pool's own would sleep; the record of the thread is kept for
 * the next one. No run may rely on a thread that has not come: all of the host's threads may be
 * waiting for runs that need more threads. */
#include "runtime/threads/pool.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#ifdef HIA_STRESS
void hiaR_stress_yield(void) {
  static _Thread_local uint32_t random = 1;
  random = random * 1664525u + 1013904223u;
  if (random >> 28 == 0) sched_yield();
}
#endif

/* ---- threads ---- */

static void *thread_main(void *user);
static void visit(void *user);

/* The record of a thread that is to begin with a team or a function: one that a host's thread has
 * left, or a new one. NULL: no memory. */
static hia_thread *add_thread(hia_pool *pool, hia_team *team, void (*fn)(void *arg), void *arg) {
  pthread_mutex_lock(&pool->lock);
  hia_thread *thread = pool->away;
  if (thread) {
    pool->away = thread->next_idle;
  } else {
    pthread_mutex_unlock(&pool->lock);
    thread = hiaR_alloc(pool->allocator, sizeof *thread);
    if (!thread) return NULL;
    thread->pool = pool;
    thread->number = 1;
    pthread_mutex_lock(&pool->lock);
    for (const hia_thread *t = pool->threads; t; t = t->next)
      if (t->number >= thread->number) thread->number = t->number + 1;
    thread->next = pool->threads;
    pool->threads = thread;
  }
  thread->team = team;
  thread->fn = fn;
  thread->arg = arg;
  thread->caller = hiaR_processor();
  pthread_mutex_unlock(&pool->lock);
  return thread;
}

static void remove_thread(hia_pool *pool, const hia_thread *thread) {
  pthread_mutex_lock(&pool->lock);
  hia_thread **at = &pool->threads;
  while (*at != thread) at = &(*at)->next;
  *at = thread->next;
  pthread_mutex_unlock(&pool->lock);
}

static void free_thread(hia_pool *pool, hia_thread *thread) {
  if (pool->calls) pool->calls->free_helper(thread);
  hiaR_free(pool->allocator, thread, sizeof *thread);
}

static bool create_thread(hia_pool *pool, hia_thread *thread) {
  if (pool->host.start) return pool->host.start(pool->host.user, visit, thread);
  /* Signals are handled on the host's threads only. */
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  bool ok = pool->create(&thread->thread, NULL, thread_main, thread) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return ok;
}

/* To start a thread takes time, during which no other thread should have to wait for the lock. So
 * the thread is entered in the list before it runs. The thread that starts it takes part in a run,
 * and hiaR_pool_free is called only after all runs. */
bool hiaR_pool_start_thread(hia_pool *pool, hia_team *team, void (*fn)(void *arg), void *arg) {
  hia_thread *thread = add_thread(pool, team, fn, arg);
  if (!thread) return false;
  if (create_thread(pool, thread)) return true;
  remove_thread(pool, thread);
  free_thread(pool, thread);
  return false;
}

hia_thread *hiaR_pool_take_idle(hia_pool *pool) {
  hia_thread *thread = pool->idle;
  if (thread) pool->idle = thread->next_idle;
  return thread;
}

bool hiaR_pool_start(hia_pool *pool, void (*fn)(void *arg), void *arg) {
  pthread_mutex_lock(&pool->lock);
  hia_thread *thread = hiaR_pool_take_idle(pool);
  bool is_new = !thread && pool->n_threads < pool->max_threads;
  if (thread) {
    thread->fn = fn;
    thread->arg = arg;
    thread->caller = hiaR_processor();
  }
  pool->n_threads += is_new;
  pthread_mutex_unlock(&pool->lock);
  if (thread) {
    hia_parker_unpark(&thread->parker);
    return true;
  }
  if (!is_new) return false;
  if (hiaR_pool_start_thread(pool, NULL, fn, arg)) return true;
  pthread_mutex_lock(&pool->lock);
  pool->n_threads--;
  pthread_mutex_unlock(&pool->lock);
  return false;
}

bool hiaR_pool_take_back(hia_pool *pool, const void *arg) {
  pthread_mutex_lock(&pool->lock);
  hia_thread *thread = pool->threads;
  while (thread && !(thread->fn && thread->arg == arg)) thread = thread->next;
  if (thread) thread->fn = NULL;
  pthread_mutex_unlock(&pool->lock);
  return thread != NULL;
}

bool hiaR_pool_is_prompt(const hia_pool *pool) { return hiaR_pool_owns_threads(pool); }

/* ---- the life of a thread ---- */

static void sleep_idle(hia_thread *thread) {
  hia_pool *pool = thread->pool;
  thread->next_idle = pool->idle;
  pool->idle = thread;
  hia_parker_arm(&thread->parker);
  const hia_team_calls *calls = pool->calls;
  for (;;) {
    uint64_t ns = calls ? calls->watch(thread) : 0;
    pthread_mutex_unlock(&pool->lock);
    hia_parker_park(&thread->parker, ns);
    pthread_mutex_lock(&pool->lock);
    if (!atomic_load(&thread->parker.is_asleep)) break;
  }
  if (calls) calls->stop_watching(thread);
}

/* A thread that was called leaves the processor of its caller, which goes on. */
static void leave_caller(const hia_thread *thread, uint32_t caller) {
  if (hiaR_pool_owns_threads(thread->pool) && hiaR_processor() == caller)
    hiaR_processor_leave(&caller, 1);
}

/* Called under the lock: does the next thing that there is to do. False: there is nothing. */
static bool do_next(hia_thread *thread) {
  hia_pool *pool = thread->pool;
  if (!thread->team && !thread->fn && pool->calls) thread->team = pool->calls->choose(pool);
  void (*fn)(void *) = thread->fn;
  hia_team *team = thread->team;
  uint32_t caller = thread->caller;
  thread->caller = HIA_NONE;
  if (!fn && !team) return false;
  if (fn)
    thread->fn = NULL;
  else
    thread->team = NULL;
  pthread_mutex_unlock(&pool->lock);
  if (caller != HIA_NONE) leave_caller(thread, caller);
  if (fn)
    fn(thread->arg);
  else
    pool->calls->help(thread, team);
  pthread_mutex_lock(&pool->lock);
  if (!fn) pool->calls->leave(thread, team);
  return true;
}

/* Makes short sleeps as short as requested, not 50 microseconds longer. Returns the former slack.
 */
static int set_slack(unsigned long ns) {
  int old = prctl(PR_GET_TIMERSLACK, 0ul, 0, 0, 0);
  (void)prctl(PR_SET_TIMERSLACK, ns, 0, 0, 0);
  return old;
}

static void *thread_main(void *user) {
  hia_thread *thread = user;
  hia_pool *pool = thread->pool;
  set_slack(1000);
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    if (do_next(thread)) continue;
    if (pool->is_ending) break;
    sleep_idle(thread);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

/* Runs on a thread of the host's until there is nothing to do. */
static void visit(void *user) {
  hia_thread *thread = user;
  hia_pool *pool = thread->pool;
  int slack = set_slack(1000);
  pthread_mutex_lock(&pool->lock);
  while (do_next(thread)) continue;
  thread->is_passing = false;
  thread->next_idle = pool->away;
  pool->away = thread;
  if (--pool->n_threads == 0) pthread_cond_signal(&pool->all_away);
  pthread_mutex_unlock(&pool->lock); /* afterwards the pool may be gone */
  if (slack > 0) set_slack((unsigned long)slack);
}

/* ---- the pool ---- */

hia_status hiaR_pool_new(const hia_allocator *allocator, unsigned max_threads,
                         const hia_thread_pool *host, hia_pool **out) {
  hia_pool *pool = *out = hiaR_alloc(allocator, sizeof *pool);
  if (!pool) return HIA_MEMORY;
  pool->allocator = allocator;
  pool->max_threads = max_threads;
  pool->create = pthread_create;
  if (host) pool->host = *host;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->all_away, NULL);
  return HIA_OK;
}

void hiaR_pool_set_create(hia_pool *pool, hia_create_thread create) { pool->create = create; }

void hiaR_pool_free(hia_pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  pool->is_ending = true;
  for (hia_thread *thread; (thread = hiaR_pool_take_idle(pool));)
    hia_parker_unpark(&thread->parker);
  hia_thread *threads = pool->threads;
  bool is_hosts = pool->host.start != NULL;
  while (is_hosts && pool->n_threads) pthread_cond_wait(&pool->all_away, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
  for (hia_thread *t = is_hosts ? NULL : threads; t; t = t->next) pthread_join(t->thread, NULL);
  while (threads) {
    hia_thread *thread = threads;
    threads = thread->next;
    free_thread(pool, thread);
  }
  if (pool->calls) pool->calls->free_teams(pool);
  pthread_cond_destroy(&pool->all_away);
  pthread_mutex_destroy(&pool->lock);
  hiaR_free(pool->allocator, pool, sizeof *pool);
}
