/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A worker and what it runs: shared by native.c (a run of compiled code), fork.c (jobs, joins) and
 * team.c (the workers of a run).
 *
 *   context      a worker: a stack, the limit that compiled code compares with, a request and a
 * mailbox invocation   a stretch of compiled code on that stack: the root of a run, or a job. Those
 * that a worker takes while it waits at a join lie on top of the one that waits job          a fork
 * that was promoted, and what became of it team         the workers of a run
 *
 * Only the innermost invocation of a worker has latent forks: one comes to lie on another only
 * where that waits for its newest fork, which is taken, and the oldest are taken first. For the
 * same reason what was given from an invocation is joined in the opposite order. */
#ifndef HIA_CONTEXT_H
#define HIA_CONTEXT_H

#include "runtime/error.h"
#include "runtime/events.h"
#include "runtime/native/arch/arch.h"
#include "runtime/native/fork.h"
#include "runtime/native/module.h"
#include "runtime/native/native.h"
#include "runtime/native/sanitizer.h"
#include "runtime/pool.h"
#include <hiaton/runtime.h>
#include <pthread.h>

typedef struct hia_job hia_job;
typedef struct hia_host_context hia_host_context;

/* A join on the stack that has called compiled code itself: the chain of calls goes on there. */
typedef struct hia_bridge {
  struct hia_bridge *outer;
  const char *sp;
  uintptr_t pc;
} hia_bridge;

/* A return address that is somewhere else than in its frame: barrier.c. */
typedef struct hia_barrier {
  char *place; /* where it was: there lies the address of hiaR_stub_return */
  uintptr_t pc;
  uint32_t n_met; /* below it, far from it */
  bool is_moved;  /* there instead of one that was met */
} hia_barrier;

typedef struct hia_frame_known {
  uintptr_t pc;
  size_t cfa;
} hia_frame_known;

typedef struct hia_barriers {
  hia_barrier *list; /* by place, the outermost (highest) first */
  uint32_t n, most;
  uint32_t n_met;            /* below none */
  hia_frame_known known[32]; /* of the run's code; recursion comes by the same few places */
} hia_barriers;

enum { HIA_MAX_RESERVED = 16 };

typedef struct hia_invocation {
  struct hia_invocation *outer; /* on the same stack; NULL: the outermost */
  hia_job *job;                 /* NULL: the root of the run */
  hia_job *given;               /* of its forks, not joined yet; newest first */
  /* Of these the newest may be in reserve: promoted, to be given next, oldest first. */
  hia_job *reserved[HIA_MAX_RESERVED];
  uint32_t n_reserved;
  hia_bridge *bridges;  /* innermost first */
  hia_failure *failure; /* where to say how it failed */
} hia_invocation;

struct hia_job {
  hia_job *older;        /* in the list that it is in: an invocation's, a context's */
  hia_context *owner;    /* who promoted it */
  hia_context *thief;    /* who it was given to; NULL: nobody */
  hia_fork_frame *frame; /* of the owner's, where the fork is: the one with this index */
  uint32_t index;
  hia_native_entry entry;
  uint32_t n_params, n_words;
  uint64_t number; /* in a timeline */

  /* Written by the thief until it is done, then read by the owner. */
  _Atomic uint32_t is_done;
  bool is_returned; /* not for anything in it: its owner has to run it itself */
  uint64_t calls, rounds, steals;
  hia_failure failure;

  _Atomic uint32_t is_cancelled; /* by the owner: nobody wants it any more */
  bool is_back;                  /* the owner's: it runs, or ran, at the join */

  hia_word block[]; /* arguments, then results: n_words */
};

struct hia_context {
  /* Read by generated code and assembly: layout.def. */
  _Atomic uintptr_t limit;
  uint64_t calls, rounds;
  void *host_sp;
  uint32_t vector_state, pad;
  uint64_t *fuel;

  uint64_t unlent; /* what `fuel` points at where nobody asks */
  bool is_deep;    /* has left the first KEEP bytes */
  bool is_limited; /* its depth is a wish, not the default */
  /* Odd while a run is under way. A cancel names the run it means, so that one that comes too late
   * ends nothing. */
  _Atomic uint64_t run, cancelled_run;
  /* A typed entry may go straight on if the largest frame of its module is below that (enter.c). */
  size_t room;
  uint32_t special;     /* HIA_CODE_ flags of modules for which it may not */
  uintptr_t step, hard; /* limits: the next step down (barrier.c), of the run */

  const hia_unwinder *unwinder;
  hia_invocation *invocation; /* the innermost; NULL: nothing runs */
  hia_host_context *host;     /* of typed entries: enter.c; or NULL */
  hia_stack stack;
  size_t below;         /* bytes of it behind `hard` */
  size_t default_depth; /* 0: not asked for yet */
  hia_barriers barriers;
  hia_fiber fiber; /* what the sanitizers know of the stack */
  const hia_allocator *allocator;

  const uint32_t *cancelled; /* of the limits, or NULL */
  uint64_t deadline;         /* of the limits, or 0 */
  hia_cancel_scope *scope;   /* of the limits, or NULL */
  void *thread_sp; /* while invocations lie on one another: what host_sp is for the outermost */
  hia_invocation *doomed; /* the outermost that is cancelled: all that lies on it ends */
  hia_team *team;         /* of the run; NULL: it runs alone, so far */
  hia_pool *pool;         /* where a team would come from; NULL: it runs alone */
  unsigned max_workers;
  hia_timeline *timeline; /* of the run, or NULL */
  hia_ring *ring;
  hia_job *spare;   /* small jobs, to be used again */
  hia_job *retired; /* a large one whose results are still being read */
  uint64_t steals;
  uint64_t gives_from; /* hiaR_now(): before, it gives no fork away */
  uint32_t random;

  char apart[64]; /* what others write is not where compiled code counts its calls */
  hia_steal_request request;
  hia_mailbox mailbox;
  hia_parker parker;
  _Atomic uint32_t has_cancelled_job;
};

static inline hia_context *hiaR_context_of(hia_mailbox *mailbox) {
  return (hia_context *)((char *)mailbox - offsetof(hia_context, mailbox));
}

/* ---- team.c: the workers of a run ---- */

struct hia_team {
  hia_team *next; /* among the pool's active ones, or its spare ones */
  hia_pool *pool;
  /* Changed under the pool's lock. */
  unsigned references; /* the run's, and one for each helper */
  _Atomic uint32_t n_helpers, max_helpers;
  _Atomic uint32_t is_wanting; /* somebody was called, and there was none */

  hia_rundown rundown;   /* who is in the run, apart from the thread that called it */
  _Atomic uint32_t stop; /* a hia_status: the run ends with it */
  _Atomic uint32_t n_sleeping;
  _Atomic uint64_t peak_bytes; /* of the helpers' stacks */
  /* Of the run. */
  const hia_unwinder *unwinder;
  const uint32_t *cancelled;
  uint64_t deadline;
  size_t depth, below;     /* bytes of stack: allowed, and behind that */
  bool is_limited;         /* as in the context */
  hia_cancel_scope *scope; /* hia_limits.scope */
  hia_timeline *timeline;

  _Atomic uint32_t n_members; /* of the array, that were ever in use */
  _Atomic(hia_context *) members[];
};

/* The team of the run that `context` begins; calls the first helper. NULL: no memory. */
hia_team *hiaR_team_new(hia_context *context);
/* Before a run ends: nobody is in it afterwards. */
void hiaR_team_end(hia_team *team, hia_usage *usage);
/* There is work: one more helper, if there is one. */
void hiaR_team_call(hia_team *team);
/* Ends the run with `status`, unless something else has. */
void hiaR_team_stop(hia_team *team, hia_status status);

/* ---- native.c ---- */

#ifdef HIA_STRESS
#define HIA_STACK_KEEP   ((size_t)4 << 10)
#define HIA_BARRIER_STEP ((size_t)256)
#else
#define HIA_STACK_KEEP   ((size_t)256 << 10)
#define HIA_BARRIER_STEP ((size_t)64 << 10)
#endif

/* Makes the stack at least `size` bytes large; nothing may be running on it. */
hia_status hiaR_context_reserve(hia_context *context, size_t size);
/* Says where the limits are for `depth` bytes of a stack that is large enough ... */
void hiaR_context_limits(hia_context *context, size_t depth);
/* ... and which of them counts now. */
void hiaR_set_limit(hia_context *context);
/* Reserves the stack and sets the limits for `depth` bytes, 0: the default, of code whose largest
 * frame has `max_frame`. */
hia_status hiaR_set_limits(hia_context *context, size_t depth, size_t max_frame);
/* Calls fn(arg) on the context's empty stack; 1: it was left. */
#ifdef HIA_FIBERS
int hiaR_cross(hia_context *context, void (*fn)(void *), void *arg);
#else
static inline int hiaR_cross(hia_context *context, void (*fn)(void *), void *arg) {
  return hiaR_arch_enter(context, context->stack.top, fn, arg);
}
#endif
/* After a run: trims the stack, ends the team. */
void hiaR_run_end(hia_context *context, hia_usage *usage);
/* Runs entry(block) in an invocation: on top of the one that waits, or on the empty stack. If it is
 * left, invocation->failure says how, and all that was given from it has come to an end. */
void hiaR_invoke(hia_context *context, hia_invocation *invocation, hia_native_entry entry,
                 hia_word *block);
/* The limit follows `step`, unless somebody has a wish: then the next comparison is to fail. */
void hiaR_follow_step(hia_context *context);
/* Gives the stack of a deep run back; answers how much of it was used. */
size_t hiaR_context_trim(hia_context *context);
/* Must what runs here end? Sets context->doomed, perhaps. */
hia_status hiaR_end_status(hia_context *context);
/* Has the next comparison of a worker fail, or wakes it. */
void hiaR_poke(hia_context *context);

/* ---- walker.c ---- */

/* The frames of compiled code on a worker's stack, of its innermost invocation, newest first. */
typedef struct hia_stack_walker {
  const hia_context *context;
  const hia_bridge *bridge; /* the next join that has called compiled code itself */
  const char *sp;           /* of the frame: what its stack pointer is where ... */
  uintptr_t pc;             /* ... the code stands that this is behind */
  const hia_frame_row *row;
  size_t slot; /* of `known`: its row, and is it another than was there before? */
  bool is_new;
  /* Recursion comes back to the same few return addresses. */
  struct {
    uintptr_t pc;
    hia_frame_row row;
  } known[64];
} hia_stack_walker;
/* From where compiled code is, or was. */
void hiaR_stack_walker_start(hia_stack_walker *walker, const hia_context *context, const char *sp,
                             uintptr_t pc);
/* Finds the row of a frame: the first one, then the next. False: there are no more. */
bool hiaR_stack_walker_next(hia_stack_walker *walker);
/* Reads the backtrace of the innermost invocation off the stack, from where compiled code was.
 * `is_inside`: the place is a call whose callee the backtrace holds already. `is_ended`: the run
 * was ended from outside; of a deep stack the walker then reads the innermost frames, and goes on
 * at the outermost return barrier. */
void hiaR_read_backtrace(const hia_context *context, uint32_t loc, const char *sp, uintptr_t pc,
                         bool is_inside, bool is_ended, hia_backtrace *backtrace);

/* ---- barrier.c ---- */

/* Compiled code at `pc` compared its stack pointer `sp`, which is below context->step: moves that,
 * and has the frame ask when it returns. */
void hiaR_barrier_descend(hia_context *context, const char *sp, uintptr_t pc);
/* It returns: its return address, which is at its place again. */
uintptr_t hiaR_barrier_ascend(hia_context *context, char *place);
/* The return address of a frame of compiled code, read where it keeps it. */
uintptr_t hiaR_return_address(const hia_context *context, const char *place);
/* A place near the outermost frames of the run, behind the call that came there, from which they
 * can be read. False: none is known further out than `sp`. */
bool hiaR_barrier_outermost(const hia_context *context, const char **sp, uintptr_t *pc);
/* Frames below `sp` were left. */
void hiaR_barriers_drop(hia_context *context, const char *sp);
/* Nothing is on the stack any more. */
void hiaR_barriers_reset(hia_context *context);
void hiaR_barriers_free(hia_context *context);

/* ---- fork.c ---- */

/* At a join: waits until the job is done, or is the worker's own again (is_back). Meanwhile the
 * worker runs other jobs on top of its stack, whose pointer is `sp`. Another status than OK: the
 * invocation has to end. */
hia_status hiaR_join_await(hia_context *context, hia_job *job, const char *sp);
/* It is done, by whomever: its results. */
hia_word *hiaR_join_end(hia_context *context, hia_job *job);
/* Gives what the worker's poll, at `pc` with the stack pointer `sp`, finds an asker for; starts a
 * team. */
void hiaR_serve(hia_context *context, const char *sp, uintptr_t pc);
/* Answers who asks, if somebody does, that there is nothing, and lets nobody ask any more. */
void hiaR_close_steal_request(hia_context *context);
/* Work of the context's run, taken from a member of its team; NULL: found none. */
hia_job *hiaR_try_steal(hia_context *context, hia_job *awaited);
/* Runs what was taken, and finishes it. */
void hiaR_run_job(hia_context *context, hia_job *job);
/* The end of an invocation that was left: cancels and awaits what was given from it. */
void hiaR_take_all_back(hia_context *context, hia_invocation *invocation);
void hiaR_jobs_free(hia_context *context);

/* ---- enter.c: contexts of hosts ---- */

/* A context for typed entries, without a pool; `options` are whole and make sense. */
hia_status hiaR_host_new(const hia_context_options *options, hia_context **out);

/* What such a context has besides. */
struct hia_host_context {
  hia_context *context; /* whose it is */
  hia_allocator allocator;
  size_t max_depth, max_memory;
  unsigned threads;
  hia_pool *pool; /* NULL: one thread is enough */
  bool owns_pool, owns_clock, interprets;
  size_t covered;      /* the stack's limits are for frames below that; 0: none are set */
  size_t depth;        /* of the call: max_depth, or what a run around it has left */
  size_t memory;       /* the same of max_memory */
  hia_clock *clock;    /* NULL: there was no timeout yet */
  uint64_t timeout_ns; /* 0: none */
  hia_alarm alarm;     /* of the call that is under way, if it has a timeout */
  void *user;          /* the host's */

  _Atomic bool is_cancelled; /* until it is reset */
  hia_cancel_scope scope;    /* of the call under way, or of the last one */

  uint32_t root_called;     /* of the module, by the call that is under way */
  hia_invocation root;      /* its invocation; clean between calls */
  hia_failure failure;      /* of the last one that failed */
  const hia_places *failed; /* where; NULL: none, or before it came there */
  const char *why;          /* then: what was wrong, or NULL */
  hia_bounds bounds;        /* what it was allowed */
  hia_error *error;         /* about that, once somebody asked */

  struct hia_images *images;      /* interpret.c */
  const hia_places *image_places; /* of the image that the call has run; NULL: none */
  void (*free_images)(struct hia_images *images, const hia_allocator *allocator);
};

#endif
