/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Work of a worker that others of its run take part in: the blocks of a wave (batch.h).
 *
 * A worker *shares* from hiaR_share_begin to hiaR_share_end. A thief that asks it for a job
 * meanwhile gets a *help*, a job that computes parts of whatever the worker shares until it shares
 * no more. The work comes in rounds (hiaR_share). A round has parts, which are numbered; each is
 * computed once, by one of the workers, and a round ends when all of its parts are done. The order
 * in which they are taken is not defined.
 *
 * A help is promoted from the worker's innermost invocation like a fork, so it is cancelled, and
 * awaited, like one if the invocation fails. It waits for nothing but the next round. */
#ifndef HIA_SHARE_H
#define HIA_SHARE_H

#include "runtime/heap/operation.h"
#include "runtime/native/native.h"
#include "runtime/run/error.h"
#include "runtime/threads/handoff.h"
#include <stdatomic.h>

/* Computes part i, on the stack of any worker of the run. HIA_MEMORY and HIA_CANCELLED end the run.
 */
typedef hia_status hia_share_part(hia_context *context, void *arg, uint32_t i);

#define HIA_SHARES_NOTHING UINT64_MAX

typedef struct hia_sharing {
  char apart[64]; /* from what only the worker uses */
  /* In the upper half the number of the round, in the lower the number of its parts that nobody has
   * taken. HIA_SHARES_NOTHING: the worker shares no more. */
  _Atomic uint64_t next;
  _Atomic uint32_t n_done;
  hia_share_part *part; /* of the round; written before `next` */
  void *arg;
  /* The worker's own. */
  bool is_open;
  /* Replies to a steal request, while it is open. So only programs that share need share.c. */
  void (*serve)(hia_context *context, hia_mailbox *mailbox);
  const char *sp; /* where compiled code is, if its forks may be promoted: while no help has been */
  uintptr_t pc;
  bool is_busy;     /* a part is being computed: there can be no other round meanwhile */
  uint32_t n_helps; /* that it has handed out since it was opened */
} hia_sharing;

/* Nothing may be shared yet. `sp` and `pc`: where compiled code is. A thief that asks gets one of
 * its forks rather than a help, as long as there is none. sp NULL: no fork is promoted until the
 * end. */
void hiaR_share_begin(hia_context *context, const char *sp, uintptr_t pc);
/* Computes parts 0 .. n - 1. Not HIA_OK: what runs here must end with that status; nobody computes
 * a part any more, and hiaR_share_end is not called. */
hia_status hiaR_share(hia_context *context, uint32_t n, hia_share_part *part, void *arg);
/* Waits until no thief is in it. The result is that of hiaR_share. */
hia_status hiaR_share_end(hia_context *context);
/* The workers that take part, with this one. */
uint32_t hiaR_share_workers(const hia_context *context);

/* The workers that compute one operation. */
typedef struct hia_native_crew {
  hia_crew crew; /* the first */
  hia_context *context;
  const char *sp; /* where compiled code is */
  uintptr_t pc;
  bool was_open;
} hia_native_crew;

/* Before an operation, for which *crew is made. False: there is nobody to share it with. */
bool hiaR_crew_join(hia_context *context, const char *sp, uintptr_t pc, hia_native_crew *crew);
/* After it, if it has not failed. */
hia_status hiaR_crew_leave(const hia_native_crew *crew);

/* The invocation that shares has failed, and its jobs have ended. */
static inline void hiaR_share_abandon(hia_sharing *s) {
  s->is_open = s->is_busy = false;
  s->n_helps = 0;
  HIA_ATOMIC_STORE(&s->next, HIA_SHARES_NOTHING);
}

#endif
