/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The private part of a pool of threads: shared by pool.c (threads) and native/team.c (the teams
 * that threads help). The interpreter and everything else use the pool as runtime.h declares it. */
#ifndef HIA_POOL_H
#define HIA_POOL_H

#include "runtime/run/runtime.h"
#include "runtime/threads/handoff.h"
#include "runtime/threads/processor.h"
#include <hiaton/runtime.h>
#include <pthread.h>

typedef struct hia_team hia_team; /* native/context.h */

typedef struct hia_thread hia_thread;
struct hia_thread {
  hia_thread *next;      /* in the list of all threads */
  hia_thread *next_idle; /* in the list of idle threads, or of those away. Under the lock, like the
                            next two */
  hia_team *team;        /* to help next; or NULL */
  void (*fn)(void *arg); /* to call next; or NULL */
  void *arg;
  uint32_t caller; /* the processor of the thread that gave it this */
  hia_pool *pool;
  pthread_t thread;
  unsigned number;   /* from 1 */
  hia_parker parker; /* used while the thread is idle */

  /* native/team.c */
  hia_backoff pause;    /* since it last had work, or left its sleep */
  bool is_passing;      /* on its way from one team to another */
  hia_context *context; /* NULL: it has not helped a team yet */
};

/* What a pool calls in native/team.c once it has had a team. */
typedef struct hia_team_calls {
  /* Under the lock: a team that needs a helper, which the calling thread is from then on; or NULL.
   */
  hia_team *(*choose)(hia_pool *pool);
  /* The thread helps until the team's run is over or has no work for it. */
  void (*help)(hia_thread *thread, hia_team *team);
  void (*leave)(hia_thread *thread, hia_team *team); /* under the lock, afterwards */
  /* Under the lock, of a thread that is idle and about to sleep, or has slept as long as was asked:
   * the nanoseconds after which this is to be called again, or 0 if it need not be. */
  uint64_t (*watch)(hia_thread *thread);
  void (*stop_watching)(hia_thread *thread); /* under the lock: the thread is not idle any more */
  void (*free_helper)(hia_thread *thread);   /* the thread has ended */
  void (*free_teams)(hia_pool *pool);
} hia_team_calls;

/* How threads are made; for tests. The default is pthread_create. */
typedef int (*hia_create_thread)(pthread_t *thread, const pthread_attr_t *attributes,
                                 void *(*main)(void *), void *arg);
void hiaR_pool_set_create(hia_pool *pool, hia_create_thread create);

struct hia_pool {
  const hia_allocator *allocator;
  unsigned max_threads;
  hia_create_thread create;
  hia_thread_pool host;       /* start: NULL if the threads are the pool's own */
  pthread_mutex_t lock;       /* protects what follows, and some of the teams' fields */
  pthread_cond_t all_away;    /* no thread of a host is in the pool */
  hia_thread *threads, *idle; /* threads: including those that are being started */
  hia_thread *away;           /* of a host: the records of threads that have gone back to it */
  unsigned n_threads;         /* in the pool or being started */
  bool is_ending;

  /* native/team.c */
  const hia_team_calls *calls; /* NULL: there was no team yet */
  hia_team *active, *spare;
  _Atomic uint32_t n_wanting;   /* teams that need a helper */
  hia_context *watched;         /* contexts whose runs were brief */
  hia_thread *watcher;          /* an idle thread that looks at them; or NULL */
  uint64_t watch_ns;            /* between two of its looks */
  uint64_t last_run;            /* when a look found that there had been a run */
  _Atomic uint64_t alone_until; /* runs that begin before this time have no helpers: they would run
                                   on the same processor */
  _Atomic uint32_t is_watching; /* there is a watcher */
};

/* Under the lock: takes a thread off the list of idle ones, or returns NULL. */
hia_thread *hiaR_pool_take_idle(hia_pool *pool);
static inline bool hiaR_pool_owns_threads(const hia_pool *pool) { return !pool->host.start; }
/* Starts a thread that begins with a team, or else with fn(arg). The caller has counted it in
 * n_threads. False: no memory, or no thread. */
bool hiaR_pool_start_thread(hia_pool *pool, hia_team *team, void (*fn)(void *arg), void *arg);

#endif
