/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Brief runs: to wake a helper takes a microsecond, which a run of a few microseconds must not
 * lose. If a run of an entry has ended within BRIEF_NS, the next run of that entry on the same
 * context begins without a team, as long as an idle thread of the pool watches the context. If the
 * watcher sees one run twice, it makes that run poll, and the run makes its team then. The watcher
 * gives up when there has been no run for QUIET_NS; the next run calls a helper at its first
 * safepoint again.
 *
 * No run is overlooked: it marks itself as under way and then looks whether there is a watcher; a
 * watcher that gives up says so and then looks for a run under way. */
#include "runtime/native/context.h"
#include "runtime/native/team.h"

#if defined(HIA_STRESS) || defined(HIA_FIBERS) /* sanitizers make every run long */
enum { FIRST_LOOK_NS = 1000, NEXT_LOOK_NS = 1000, QUIET_NS = 1000000 };
#else
enum {
  FIRST_LOOK_NS = 50000, /* doubles to HIA_MAX_BACKOFF_NS while runs are brief */
  NEXT_LOOK_NS = 20000,  /* after a look that has found a run under way */
  QUIET_NS = 20000000,
};
#endif

void hiaR_watch_note(hia_pool *pool, hia_context *context) {
  context->watch.brief = context->watch.entry;
  if (context->watch.pool) return;
  context->watch.pool = pool;
  context->watch.next = pool->watched;
  pool->watched = context;
}

void hiaR_team_begin(hia_context *context, hia_native_entry entry) {
  const hia_pool *pool = context->run.pool;
  bool is_brief = context->watch.brief == entry && context->watch.pool == pool;
  context->watch.entry = entry;
  if (is_brief && atomic_load(&pool->is_watching)) return;
  context->watch.brief = NULL;
  atomic_store(&context->limit, UINTPTR_MAX);
}

void hiaR_team_forget(hia_context *context) {
  hia_pool *pool = context->watch.pool;
  if (!pool) return;
  pthread_mutex_lock(&pool->lock);
  hia_context **at = &pool->watched;
  while (*at != context) at = &(*at)->watch.next;
  *at = context->watch.next;
  pthread_mutex_unlock(&pool->lock);
  context->watch.pool = NULL;
}

static void hurry(hia_context *context, uint64_t run) {
  if (context->watch.hurried == run) return;
  context->watch.hurried = run;
  atomic_store(&context->limit, UINTPTR_MAX);
}

/* Looks at the watched contexts. *is_running: one has begun a run since the last look, and is in
 * it. Returns true if there has been a run since then. */
static bool look(hia_pool *pool, bool *is_running) {
  bool was_run = false;
  *is_running = false;
  for (hia_context *c = pool->watched; c; c = c->watch.next) {
    uint64_t run = atomic_load(&c->run.number);
    bool is_new = run != c->watch.seen;
    c->watch.seen = run;
    was_run |= is_new;
    *is_running |= is_new && (run & 1);
    if (!is_new && (run & 1)) hurry(c, run);
  }
  return was_run;
}

void hiaR_watch_stop(hia_thread *thread) {
  hia_pool *pool = thread->pool;
  if (pool->watcher != thread) return;
  pool->watcher = NULL;
  atomic_store(&pool->is_watching, 0);
  for (hia_context *c = pool->watched; c; c = c->watch.next) {
    uint64_t run = atomic_load(&c->run.number);
    if (run & 1) hurry(c, run);
  }
}

uint64_t hiaR_watch(hia_thread *thread) {
  hia_pool *pool = thread->pool;
  bool is_running;
  if (!pool->watched || (pool->watcher && pool->watcher != thread)) return 0;
  bool was_run = look(pool, &is_running);
  uint64_t now = hiaR_now();
  if (was_run || !pool->watcher) pool->last_run = now;
  if (!pool->watcher) {
    pool->watcher = thread;
    pool->watch_ns = FIRST_LOOK_NS;
    atomic_store(&pool->is_watching, 1);
    return FIRST_LOOK_NS;
  }
  if (now - pool->last_run >= QUIET_NS) {
    hiaR_watch_stop(thread);
    return 0;
  }
  if (is_running) return NEXT_LOOK_NS;
  pool->watch_ns =
      pool->watch_ns * 2 < HIA_MAX_BACKOFF_NS ? pool->watch_ns * 2 : HIA_MAX_BACKOFF_NS;
  return pool->watch_ns;
}
