/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A worker and what it runs.
 *
 *   context      a worker: its stack, the limit that compiled code compares with, its steal
 *                request and its mailbox
 *   invocation   compiled code on that stack, from one entry on: the root of a run, or a job.
 *                A job that a worker takes while it waits at a join is stacked on the
 *                invocation that waits.
 *   job          a promoted fork, and what became of it (job.h)
 *   team         the workers of a run (team.h)
 *
 * An invocation is stacked on another only while that one waits to join its newest fork, already
 * stolen. Since the oldest forks are stolen first, the one that waits has no latent forks left:
 * only the innermost invocation of a worker has any. For the same reason the jobs of an invocation
 * are joined in the opposite order of their promotion. */
#ifndef HIA_CONTEXT_H
#define HIA_CONTEXT_H

#include "runtime/heap/array.h"
#include "runtime/native/arch/arch.h"
#include "runtime/native/barrier.h"
#include "runtime/native/crew.h"
#include "runtime/native/module.h"
#include "runtime/native/native.h"
#include "runtime/native/sanitizer.h"
#include "runtime/run/events.h"
#include "runtime/run/runtime.h"
#include "runtime/threads/handoff.h"
#include "runtime/threads/pool.h"

typedef struct hia_job hia_job;
typedef struct hia_host_context hia_host_context;
typedef struct hia_driver hia_driver;     /* driver.h */
typedef struct hia_freezing hia_freezing; /* likewise */

/* A join on the stack that runs its job itself, a settling, or a driver. The frames of the runtime
 * lie between this call of compiled code and the frame that has called the runtime; the stack
 * walker goes on at `sp` and `pc`. */
typedef struct hia_bridge {
  struct hia_bridge *outer;
  const char *sp;
  uintptr_t pc;
} hia_bridge;

enum { HIA_MAX_RESERVED = 16 };

/* An element of a comprehension that is being computed: in a frame of compiled code, which puts it
 * before the others and takes it away (lower/ops/element.c). A part of the runtime ABI. */
typedef struct hia_element {
  struct hia_element *outer;
  int64_t index;
} hia_element;

typedef struct hia_invocation {
  struct hia_invocation *outer; /* on the same stack; NULL: the outermost */
  hia_element *elements;        /* of the context, when it began */
  hia_job *job;                 /* NULL: the root of the run */
  hia_job *promoted;            /* jobs promoted from its forks and not joined yet, newest first */
  /* The newest of these jobs may be in reserve: promoted already, to be handed out next, oldest
   * first. */
  hia_job *reserved[HIA_MAX_RESERVED];
  uint32_t n_reserved;
  bool is_part;               /* its job is part of the one that the outer invocation awaits */
  hia_bridge *bridges;        /* innermost first */
  hia_failure *failure;       /* where its failure is written */
  hia_driver *driver;         /* of the iteration that runs, the innermost; or NULL */
  struct hia_frozen *waiters; /* its iterations that wait for a row (freeze/) */
  bool has_dropped;           /* an iteration has failed: what waits is not known any more */
} hia_invocation;

/* ---- the parts of a context, by the file whose they are ---- */

/* batch/: rows of segments. */
typedef struct hia_context_batching {
  struct hia_batch *batch; /* NULL: there was no row yet */
  /* Computes what is pending; NULL: nothing is. So only programs with batches need batch/. */
  void (*settle)(hia_context *context, const char *sp, uintptr_t pc);
  hia_batch_usage usage;
  uint64_t epoch;               /* how often all that was pending has been computed */
  uint64_t n_waves;             /* and how often a part of it */
  uint32_t level;               /* that rows have which are noted now (rows.h) */
  const hia_freezing *freezing; /* set where there is a driver */
} hia_context_batching;

/* objects.c: what there is to say of an operation that fails with this status. */
typedef struct hia_context_why {
  hia_range range;    /* HIA_RANGE */
  hia_misfit misfit;  /* HIA_SHAPE */
  hia_nan_origin nan; /* HIA_NAN_MADE */
} hia_context_why;

/* entry.c: a typed entry may enter directly if the largest frame of its module is smaller than
 * `room`, its root has none of the flags, and the call is not to be offered to a chooser. */
typedef struct hia_context_direct {
  size_t room;
  uint32_t special; /* HIA_CODE_ flags */
  bool is_seldom;   /* few calls are offered */
  uint64_t offered; /* run.number from which on the next one is */
} hia_context_direct;

/* worker_stack.c: how deep compiled code may go. */
typedef struct hia_context_depth {
  uintptr_t soft, hard; /* limits: of the next interval down (barrier.c), and of the run */
  bool is_deep;         /* the stack has left the first HIA_STACK_KEEP bytes */
  bool is_limited;      /* the depth was set by the caller: it asks for no grants */
  size_t below;         /* bytes of the stack below `hard` */
  size_t usual;         /* the default depth; 0: not computed yet */
  size_t granted;       /* bytes of the stack that it may use before it asks (base/left.h) */
} hia_context_depth;

/* native.c, entry.c: the run under way, and for a helper the run that it helps with (team.c). */
typedef struct hia_context_run {
  /* Odd while a run is under way. A cancel names the run that it means, so a cancel that comes too
   * late ends nothing. */
  _Atomic uint64_t number, cancelled_number;
  const hia_unwinder *unwinder;
  const hia_shapes *shapes;  /* of its program */
  uint64_t heap_run;         /* of a helper: hia_heap.run, of the heap that `local` belongs to */
  uint64_t unlent;           /* what `fuel` points at when the run has no fuel */
  const uint32_t *cancelled; /* of the limits, or NULL */
  uint64_t deadline;         /* of the limits, or 0 */
  hia_cancel_scope *scope;   /* of the limits, or NULL */
  hia_effects *effects;      /* of the limits, or NULL */
  hia_team *team;            /* NULL: the run has only this worker so far */
  hia_pool *pool; /* from which a team gets its helpers; NULL: the run has only this worker */
  unsigned max_workers;
  hia_timeline *timeline; /* or NULL */
  hia_ring *ring;
  struct hia_sampler *sampler; /* of the limits, or NULL */
  uint32_t sampled;            /* its tick at which this worker was looked at last */
} hia_context_run;

/* watch.c: brief runs. */
typedef struct hia_context_watch {
  hia_native_entry entry; /* of the run */
  hia_native_entry brief; /* whose last run ended before a helper could have worked; or NULL */
  hia_pool *pool;         /* that watches the context; NULL: none. Under its lock, like the next */
  hia_context *next;      /* in the pool's list */
  uint64_t seen, hurried; /* run.number when it was last looked at, and when it had to poll */
} hia_context_watch;

/* job.c: jobs that are in no list of an invocation. */
typedef struct hia_context_jobs {
  hia_job *spare;   /* small jobs, to be reused */
  hia_job *retired; /* a large one whose results are still being read */
  uint64_t steals;  /* jobs of the run that were stolen */
} hia_context_jobs;

/* pause.c: how often it hands out jobs. */
typedef struct hia_context_giving {
  _Atomic uint64_t from; /* hiaR_now() before which it hands out no job; thieves read it */
  uint64_t pause;        /* nanoseconds from one to the next */
  uint32_t n_brief;      /* of its last jobs, which one after the other were brief */
} hia_context_giving;

/* serve.c, steal.c: what other workers read and write. */
typedef struct hia_context_post {
  char apart[64]; /* keeps it off the cache line in which compiled code counts its calls */
  hia_steal_request request;
  hia_mailbox mailbox;
  _Atomic uint32_t processor; /* that it ran on when it last handed out a job, or began one */
  const hia_job *awaited; /* the job that this thief awaits; NULL: none. Written before a request */
  bool may_be_given;      /* it has the stack for a job that cannot be begun again; likewise */
  hia_parker parker;
  _Atomic uint32_t has_cancelled_job;
} hia_context_post;

struct hia_context {
  /* Read by generated code and assembly: layout.def. */
  _Atomic uintptr_t limit;
  uint64_t calls, rounds;
  void *host_sp;
  uint32_t vector_state, pad;
  uint64_t *fuel;
  uint32_t is_shared; /* set before the run's first job is handed out, and in helpers */
  uint32_t pad_shared;
  const hia_word *params; /* hia_limits.params */
  hia_local_heap local;   /* heap NULL: the run makes no objects */
  hia_element *elements;  /* of the innermost invocation, and behind those of the outer ones */

  /* Used by every call of a typed entry. */
  hia_context_direct direct;
  hia_context_depth depth;
  hia_context_run run;
  hia_invocation *invocation; /* the innermost, or NULL if nothing runs */
  hia_host_context *host;     /* of a context for typed entries (host.h), or NULL */
  hia_stack stack;

  hia_context_batching batching;
  hia_context_why why;
  hia_barriers barriers;
  hia_fiber fiber; /* the stack's record in the sanitizers */
  const hia_allocator *allocator;
  void *thread_sp;        /* while invocations are stacked: host_sp of the outermost */
  hia_invocation *doomed; /* the outermost that is cancelled: it ends, with all stacked on it */
  hia_context_watch watch;
  hia_context_jobs jobs;
  hia_context_giving giving;
  uint32_t random; /* steal.c: which worker is asked first */
  hia_context_post post;
  hia_crew_work crew;
};

static inline hia_context *hiaR_context_of(hia_mailbox *mailbox) {
  return (hia_context *)((char *)mailbox - offsetof(hia_context, post.mailbox));
}

static inline void hiaR_note_processor(hia_context *context) {
  atomic_store_explicit(&context->post.processor, hiaR_processor(), memory_order_relaxed);
}
/* The one that the worker has noted last. */
static inline uint32_t hiaR_processor_of(const hia_context *context) {
  return atomic_load_explicit(&context->post.processor, memory_order_relaxed);
}

/* ---- context.c ---- */

/* Attaches the context to the heap of the run that it enters; NULL: the run has none. */
void hiaR_context_use_heap(hia_context *context, hia_heap *heap, const hia_shapes *shapes,
                           const hia_word *params);

/* ---- worker_stack.c ---- */

#ifdef HIA_STRESS
#define HIA_STACK_KEEP       ((size_t)4 << 10)
#define HIA_BARRIER_INTERVAL ((size_t)256)
#else
#define HIA_STACK_KEEP       ((size_t)256 << 10)
#define HIA_BARRIER_INTERVAL ((size_t)64 << 10)
#endif

/* Makes the stack at least `size` bytes large. Nothing may be running on it. */
hia_status hiaR_context_reserve(hia_context *context, size_t size);
/* Sets the limits for `depth` bytes of a stack that is large enough. */
void hiaR_context_limits(hia_context *context, size_t depth);
/* Reserves the stack and sets the limits for `depth` bytes (0: the default), for code whose
 * largest frame has `max_frame` bytes. */
hia_status hiaR_set_limits(hia_context *context, size_t depth, size_t max_frame);
/* Calls fn(arg) on the context's empty stack. Returns 0 when fn returned, 1 when it was left. */
#ifdef HIA_FIBERS
int hiaR_cross(hia_context *context, void (*fn)(void *), void *arg);
#else
static inline int hiaR_cross(hia_context *context, void (*fn)(void *), void *arg) {
  return hiaR_arch_enter(context, context->stack.top, fn, arg);
}
#endif
/* Returns the memory of a deep run's stack to the system. Returns how many bytes of it were used.
 */
size_t hiaR_context_trim(hia_context *context);
/* Gives back what was granted of the machine's memory for the stack. */
void hiaR_context_end_grant(hia_context *context);

/* ---- ending.c ---- */

/* Sets the limit that holds now. */
void hiaR_set_limit(hia_context *context);
/* Sets the limit to depth.soft, unless another thread has set it to its maximum: then the next
 * safepoint must still poll. */
void hiaR_restore_limit(hia_context *context);
/* Returns the status with which what runs here must end, or HIA_OK. May set context->doomed. */
hia_status hiaR_end_status(hia_context *context);
/* Any thread: makes the next safepoint of a worker poll, and wakes the worker if it sleeps. */
void hiaR_poke(hia_context *context);

/* ---- failure.c ---- */

/* On the engine's stack: notes how the innermost invocation fails, and leaves it: by an operation
 * at `loc`, or where compiled code was, or with `job`, which failed. */
_Noreturn void hiaR_leave(hia_context *context, hia_status status, uint32_t loc, int64_t code,
                          const char *sp, uintptr_t pc, const hia_job *job);

/* Code that makes objects may be run without a heap: it ends here. */
static inline HIA_UNINSTRUMENTED void hiaR_need_heap(hia_context *context, uint32_t loc,
                                                     const char *sp, uintptr_t pc) {
  if (HIA_UNLIKELY(!context->local.heap))
    hiaR_leave(context, HIA_UNSUPPORTED, loc, 0, sp, pc, NULL);
}
/* Leaves it, when how it fails is noted. */
_Noreturn void hiaR_leave_noted(hia_context *context);

/* ---- invoke.c ---- */

/* Runs entry(block) in an invocation: stacked on the one that waits, or on the empty stack. If it
 * is left, invocation->failure holds the failure, and all jobs promoted from it have ended. */
void hiaR_invoke(hia_context *context, hia_invocation *invocation, hia_native_entry entry,
                 hia_word *block);

/* ---- native.c ---- */

/* After a run: trims the stack, ends the team. */
void hiaR_run_end(hia_context *context, hia_usage *usage);

#endif
