/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The workers of a run (team.c), and runs that are expected to be brief (watch.c). */
#ifndef HIA_TEAM_H
#define HIA_TEAM_H

#include "runtime/native/context.h"
#include "runtime/threads/handoff.h"
#include "runtime/threads/pool.h"

struct hia_team {
  hia_team *next; /* among the pool's active ones, or its spare ones */
  hia_pool *pool;
  /* Changed under the pool's lock. */
  unsigned references; /* the run's, and one for each helper */
  _Atomic uint32_t n_helpers, max_helpers;
  _Atomic uint32_t all_helpers; /* what max_helpers is where there are processors for them */
  _Atomic uint32_t is_wanting;  /* a helper was called for, and none was idle */

  hia_rundown rundown;   /* counts the workers in the run, without the thread that began it */
  _Atomic uint32_t stop; /* a hia_status: the run ends with it */
  _Atomic uint32_t n_sleeping;
  _Atomic uint64_t peak_bytes; /* of the helpers' stacks */
  /* What helpers take over from the run. */
  const hia_unwinder *unwinder;
  const uint32_t *cancelled;
  uint64_t deadline;
  uint64_t since;          /* hiaR_now(); 0: the run was not at its beginning */
  size_t depth, below;     /* bytes of stack: allowed, and below the limit */
  bool is_limited;         /* as in the context */
  hia_cancel_scope *scope; /* hia_limits.scope */
  hia_timeline *timeline;
  struct hia_sampler *sampler;
  hia_heap *heap; /* NULL: the run makes no objects */
  uint64_t heap_run;
  const hia_shapes *shapes;
  const hia_word *params;

  _Atomic uint32_t n_members; /* entries of the array that were ever in use */
  _Atomic(hia_context *) members[];
};

/* ---- team.c ---- */

/* Makes the team of the run that `context` began, and calls its first helper. NULL: no memory. */
hia_team *hiaR_team_new(hia_context *context);
/* Called before a run ends: waits until no helper is inside the run. */
void hiaR_team_end(hia_team *team, hia_usage *usage);
/* There is work: adds one more helper, if a thread is idle or may be started. */
void hiaR_team_call(hia_team *team);

/* A worker of the team was put aside for `ns` while it had work: other programs have the
 * processors. Runs of the pool have no helpers for some time; the team's leave. */
void hiaR_team_note_aside(hia_team *team, uint64_t ns);
/* Once that time is over the team may have helpers again; the worker that began the run calls one.
 */
void hiaR_team_resume(hia_context *context);

/* ---- ending.c ---- */

/* Ends the run with `status`, unless it is being ended already. */
void hiaR_team_stop(hia_team *team, hia_status status);

/* ---- watch.c ---- */

/* Called when a run of `entry` that may have helpers is marked as under way, and before its code is
 * entered: makes its first safepoint poll and call a helper, unless it is expected to be brief. */
void hiaR_team_begin(hia_context *context, hia_native_entry entry);
/* No pool watches the context any more. */
void hiaR_team_forget(hia_context *context);
/* Under the pool's lock: the context's last run was brief. */
void hiaR_watch_note(hia_pool *pool, hia_context *context);
/* What the pool calls (hia_team_calls). */
uint64_t hiaR_watch(hia_thread *thread);
void hiaR_watch_stop(hia_thread *thread);

#endif
