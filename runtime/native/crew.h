/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Crews: a worker and the thieves that compute parts of its work with it: the blocks of a wave
 * (batch/batch.h), or the parts of a large operation.
 *
 * A worker's crew is *open* from hiaR_crew_open to hiaR_crew_close. A thief that asks the worker
 * for a job meanwhile gets a *help*, a job that computes parts of whatever the crew computes until
 * it is closed. The work comes in rounds (hiaR_crew_compute). A round has parts, which are
 * numbered; each is computed once, by one of the workers, and a round ends when all of its parts
 * are done. The order in which they are taken is not defined. Or it is work in phases (phases.h),
 * which goes on though a worker is put aside by the system.
 *
 * A help is promoted from the worker's innermost invocation like a fork, so it is cancelled, and
 * awaited, like one if the invocation fails. It waits for nothing but the next round.
 *
 * A thief that is put aside does not hold up the end of the crew's work either. Its help is *late*
 * then, and leaves as soon as it sees that the crew is closed; or it takes part again in what the
 * crew does when it is opened next. The outermost invocation of the worker, which ends a run or a
 * job, waits for it. */
#ifndef HIA_NATIVE_CREW_H
#define HIA_NATIVE_CREW_H

#include "runtime/heap/operation.h"
#include "runtime/native/native.h"
#include "runtime/native/phases.h"
#include "runtime/threads/handoff.h"
#include <stdatomic.h>

typedef struct hia_job hia_job;

/* Computes part i, on the stack of any worker of the run. HIA_MEMORY and HIA_CANCELLED end the run.
 */
typedef hia_status hia_round_part(hia_context *context, void *arg, uint32_t i);

#define HIA_NO_MORE_ROUNDS UINT64_MAX

/* The work of a worker's crew. */
typedef struct hia_crew_work {
  char apart[64]; /* from what only the worker uses */
  /* In the upper half the number of the round, in the lower the number of its parts that no worker
   * has taken. HIA_NO_MORE_ROUNDS: the crew is closed. */
  _Atomic uint64_t next;
  _Atomic uint32_t n_done;
  hia_round_part *part; /* of the round; written before `next` */
  void *arg;
  _Atomic(hia_phase *) phase; /* of the work in phases; NULL: there is none */
  _Atomic uint32_t is_over;   /* that work is done */
  /* A worker does a part of a phase of the crew of `owner`, if there is something to do. Written
   * before `phase`. So only programs with phases need phases.c. */
  hia_status (*help)(hia_context *context, hia_context *owner, bool *has_worked);
  _Atomic uint32_t n_workers; /* hiaR_crew_size, for the worker that plans a phase */
  /* The worker's own. */
  bool is_open;
  /* Replies to a steal request, while the crew is open. So only programs with crews need crew.c. */
  void (*serve)(hia_context *context, hia_mailbox *mailbox);
  const char *sp; /* where compiled code is, if its forks may be promoted: while no help has been */
  uintptr_t pc;
  bool is_busy;         /* a part is being computed: there can be no other round meanwhile */
  uint32_t n_helps;     /* that it has handed out since it was opened, or that were late then */
  hia_job *late;        /* helps that have not ended when the crew was closed: in no other list */
  hia_retired *retired; /* memory that they may read */
  /* Waits for the late helps; NULL: no crew was opened yet. */
  void (*await_late)(hia_context *context);
} hia_crew_work;

/* The crew may not be open yet. `sp` and `pc`: where compiled code is. A thief that asks gets one
 * of its forks rather than a help, as long as there is one. sp NULL: no fork is promoted until the
 * end. */
void hiaR_crew_open(hia_context *context, const char *sp, uintptr_t pc);
/* Computes parts 0 .. n - 1. Not HIA_OK: what runs here must end with that status; no worker
 * computes a part any more, and hiaR_crew_close is not called. */
hia_status hiaR_crew_compute(hia_context *context, uint32_t n, hia_round_part *part, void *arg);
/* The result is that of hiaR_crew_compute. Helps that do not end soon are late. */
hia_status hiaR_crew_close(hia_context *context);
/* Memory that late helps may read is freed when none of them is seated any more. */
void hiaR_crew_retire(hia_context *context, hia_retired *retired);
/* The workers that take part, with this one. */
uint32_t hiaR_crew_size(const hia_context *context);
/* True if thieves may come. */
bool hiaR_crew_may_grow(const hia_context *context);

/* How long a worker has been put aside by the system since it began to work, but for what it has
 * slept. If that is much, the runs of the pool have no helpers for some time (team.h). */
typedef struct hia_presence {
  uint64_t began, ran; /* by the clock; by that of the thread */
  uint64_t slept;
} hia_presence;
static inline hia_presence hiaR_presence_begin(void) {
  return (hia_presence){hiaR_now(), hiaR_thread_now(), 0};
}
void hiaR_presence_end(const hia_context *context, const hia_presence *p);

/* Phases.c: looks for a steal request; the status of a help that has failed; and the end of work
 * that has failed, after which no worker computes a part of it. */
void hiaR_crew_poll(hia_context *context);
hia_status hiaR_crew_failure(hia_context *context);
void hiaR_crew_stop(hia_context *context);

/* The workers that compute one operation. */
typedef struct hia_native_crew {
  hia_crew crew; /* the first */
  hia_context *context;
  const char *sp; /* where compiled code is */
  uintptr_t pc;
  bool was_open;
} hia_native_crew;

/* Before an operation, for which *crew is made. False: there is no worker to share it with. */
bool hiaR_crew_join(hia_context *context, const char *sp, uintptr_t pc, hia_native_crew *crew);
/* After the operation, if it has not failed. */
hia_status hiaR_crew_leave(const hia_native_crew *crew);

/* Closes the crew of an invocation that has failed, and whose jobs have ended. */
static inline void hiaR_crew_abandon(hia_crew_work *work) {
  work->is_open = work->is_busy = false;
  work->n_helps = 0;
  HIA_ATOMIC_STORE(&work->phase, NULL);
  HIA_ATOMIC_STORE(&work->next, HIA_NO_MORE_ROUNDS);
}
/* The outermost invocation of a worker ends. */
static inline void hiaR_crew_end(hia_context *context, const hia_crew_work *work) {
  if (work->late || work->retired) work->await_late(context);
}

#endif
