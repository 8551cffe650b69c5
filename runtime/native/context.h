/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A worker and what it runs: shared by native.c (a run of compiled code), fork.c (jobs, joins),
 * team.c (the workers of a run), walker.c, barrier.c, entry.c and map.c.
 *
 *   context      a worker: its stack, the limit that compiled code compares with, its steal
 *                request and its mailbox
 *   invocation   compiled code on that stack, from one entry on: the root of a run, or a job.
 *                A job that a worker takes while it waits at a join is stacked on the
 *                invocation that waits.
 *   job          a promoted fork, and what became of it
 *   team         the workers of a run
 *
 * An invocation is stacked on another only while that one waits to join its newest fork, already
 * stolen. Since the oldest forks are stolen first, the one that waits has no latent forks left:
 * only the innermost invocation of a worker has any. For the same reason the jobs of an invocation
 * are joined in the opposite order of their promotion. */
#ifndef HIA_CONTEXT_H
#define HIA_CONTEXT_H

#include "runtime/heap/array.h"
#include "runtime/native/arch/arch.h"
#include "runtime/native/fork.h"
#include "runtime/native/module.h"
#include "runtime/native/native.h"
#include "runtime/native/sanitizer.h"
#include "runtime/native/share.h"
#include "runtime/run/error.h"
#include "runtime/run/events.h"
#include "runtime/run/runtime.h"
#include "runtime/threads/pool.h"
#include <hiaton/runtime.h>
#include <pthread.h>

typedef struct hia_job hia_job;
typedef struct hia_host_context hia_host_context;

/* A join on the stack that runs its job itself. The frames of the runtime lie between this call of
 * compiled code and the frame that joins; the stack walker goes on at `sp` and `pc`. */
typedef struct hia_bridge {
  struct hia_bridge *outer;
  const char *sp;
  uintptr_t pc;
} hia_bridge;

/* A return barrier: a return address that was replaced in its frame (barrier.c). */
typedef struct hia_barrier {
  char *place; /* the word of the frame, which now holds the address of hiaR_stub_return */
  uintptr_t pc;
  uint32_t n_met; /* barriers met below this one, far from it */
  bool is_moved;  /* put here instead of a barrier that was met */
} hia_barrier;

typedef struct hia_frame_known {
  uintptr_t pc;
  size_t cfa;
} hia_frame_known;

typedef struct hia_barriers {
  hia_barrier *list; /* by place, the outermost (highest) first */
  uint32_t n, most;
  uint32_t n_met;            /* barriers met with no other above them */
  hia_frame_known known[32]; /* frames of the run's code, by return address */
} hia_barriers;

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
  bool is_part;         /* its job is part of the one that the outer invocation awaits */
  hia_bridge *bridges;  /* innermost first */
  hia_failure *failure; /* where its failure is written */
} hia_invocation;

/* Rows that were noted and not computed (batch.h): a worker's, or of a job that has ended. */
typedef struct hia_rows {
  struct hia_row *newest, *oldest;
  uint32_t n, n_levels; /* of depths */
  uint64_t bytes;
  struct hia_row_chunk *chunks; /* their memory */
} hia_rows;

struct hia_job {
  hia_job *older;        /* the next in its list: an invocation's, or a context's */
  hia_context *owner;    /* the worker that promoted it */
  hia_context *thief;    /* the worker that it was handed to, or NULL */
  hia_fork_frame *frame; /* the owner's frame that holds the fork, as the one with this index */
  uint32_t index;
  hia_native_entry entry;
  const hia_fork_arg *args; /* of the fork's site: n_params */
  uint32_t n_params, n_words;
  uint64_t number; /* in a timeline */
  /* Some of its arguments are given to it. Once begun it cannot be begun again. */
  bool gives;
  /* Set by the owner: it is part of the job that the thief awaits, and so is whatever else it runs
   * on behalf of that one. If the thief ends because the awaited job is not needed any more, this
   * one is not either. */
  bool is_part;

  /* Written by the thief until it is done, then read by the owner. */
  _Atomic uint32_t is_done;
  bool is_returned; /* ended unfinished for a reason outside of it: the owner must run it itself */
  bool is_begun;
  uint64_t ns; /* that it took */
  uint64_t calls, rounds, steals;
  hia_failure failure;
  /* Its results may be pending. Makes its rows those of its owner, which joins it; false: no
   * memory. NULL: nothing is. */
  bool (*adopt)(hia_context *owner, hia_job *job);
  hia_rows rows;
  hia_batch_usage batch_usage;

  _Atomic uint32_t is_cancelled; /* set by the owner: its results are not needed any more */
  bool is_back;                  /* the owner runs it, or has run it, at the join */

  hia_word block[]; /* arguments, then results: n_words */
};

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

  struct hia_batch *batch; /* rows (batch.h); NULL: there was none yet */
  /* Computes what is pending; NULL: nothing is. So only programs with batches need batch.c. */
  void (*settle)(hia_context *context, const char *sp, uintptr_t pc);
  const hia_shapes *shapes; /* of the run's program */
  hia_range range;          /* of an operation that fails with HIA_RANGE, */
  hia_misfit misfit;        /* or with HIA_SHAPE, */
  hia_nan_origin nan;       /* or with HIA_NAN_MADE */
  uint64_t heap_run;        /* of a helper: hia_heap.run, of the heap that `local` belongs to */
  uint64_t unlent;          /* what `fuel` points at when the run has no fuel */
  bool is_deep;             /* its stack has left the first KEEP bytes */
  bool is_limited;          /* its depth was set by the caller: it asks for no grants */
  /* Odd while a run is under way. A cancel names the run that it means, so a cancel that comes too
   * late ends nothing. */
  _Atomic uint64_t run, cancelled_run;
  /* A typed entry may enter directly if the largest frame of its module is smaller than this
   * (entry.c). */
  size_t room;
  uint32_t special;     /* HIA_CODE_ flags of modules that may not be entered directly */
  uintptr_t step, hard; /* limits: of the next step down (barrier.c), and of the run */

  const hia_unwinder *unwinder;
  hia_invocation *invocation; /* the innermost, or NULL if nothing runs */
  hia_host_context *host;     /* of a context for typed entries (entry.c), or NULL */
  hia_stack stack;
  size_t below;         /* bytes of the stack below `hard` */
  size_t default_depth; /* 0: not computed yet */
  size_t granted;       /* bytes of the stack that it may use before it asks (base/left.h) */
  hia_barriers barriers;
  hia_fiber fiber; /* the stack's record in the sanitizers */
  const hia_allocator *allocator;

  const uint32_t *cancelled; /* of the limits, or NULL */
  uint64_t deadline;         /* of the limits, or 0 */
  hia_cancel_scope *scope;   /* of the limits, or NULL */
  void *thread_sp;           /* while invocations are stacked: host_sp of the outermost */
  hia_invocation
      *doomed;    /* the outermost that is cancelled: it ends, with all that is stacked on it */
  hia_team *team; /* of the run; NULL: it has only this worker so far */
  hia_pool *pool; /* from which a team gets its helpers; NULL: the run has only this worker */
  unsigned max_workers;
  /* Brief runs (team.c). */
  hia_native_entry entry;     /* of the run */
  hia_native_entry brief;     /* whose last run ended before a helper could have worked; or NULL */
  hia_pool *watched_by;       /* NULL: none. Under that pool's lock, like the next three */
  hia_context *next_watched;  /* in the pool's list */
  uint64_t seen_run, hurried; /* `run` when it was last looked at, and when it had to poll */
  hia_timeline *timeline;     /* of the run, or NULL */
  hia_ring *ring;
  hia_job *spare;   /* small jobs, to be reused */
  hia_job *retired; /* a large one whose results are still being read */
  uint64_t steals;
  hia_batch_usage batch_usage;
  uint64_t gives_from; /* hiaR_now() before which it hands out no job */
  uint64_t pause;      /* nanoseconds from one to the next */
  uint32_t n_brief;    /* of its last jobs, which one after the other were brief */
  uint32_t random;

  char apart[64]; /* keeps what other workers write off the cache line in which compiled code counts
                     its calls */
  hia_steal_request request;
  hia_mailbox mailbox;
  _Atomic uint32_t processor; /* that it ran on when it last handed out a job, or began one */
  const hia_job *awaited; /* the job that this thief awaits; NULL: none. Written before a request */
  bool may_be_given;      /* it has the stack for a job that cannot be begun again; likewise */
  hia_parker parker;
  _Atomic uint32_t has_cancelled_job;
  hia_sharing sharing;
};

static inline hia_context *hiaR_context_of(hia_mailbox *mailbox) {
  return (hia_context *)((char *)mailbox - offsetof(hia_context, mailbox));
}

static inline void hiaR_note_processor(hia_context *context) {
  atomic_store_explicit(&context->processor, hiaR_processor(), memory_order_relaxed);
}
/* The one that the worker has noted last. */
static inline uint32_t hiaR_processor_of(const hia_context *context) {
  return atomic_load_explicit(&context->processor, memory_order_relaxed);
}

/* ---- team.c: the workers of a run ---- */

struct hia_team {
  hia_team *next; /* among the pool's active ones, or its spare ones */
  hia_pool *pool;
  /* Changed under the pool's lock. */
  unsigned references; /* the run's, and one for each helper */
  _Atomic uint32_t n_helpers, max_helpers;
  _Atomic uint32_t is_wanting; /* a helper was called for, and none was idle */

  hia_rundown rundown;   /* counts the workers in the run, without the thread that began it */
  _Atomic uint32_t stop; /* a hia_status: the run ends with it */
  _Atomic uint32_t n_sleeping;
  _Atomic uint64_t peak_bytes; /* of the helpers' stacks */
  /* Of the run. */
  const hia_unwinder *unwinder;
  const uint32_t *cancelled;
  uint64_t deadline;
  uint64_t since;          /* hiaR_now(); 0: the run was not at its beginning */
  size_t depth, below;     /* bytes of stack: allowed, and below the limit */
  bool is_limited;         /* as in the context */
  hia_cancel_scope *scope; /* hia_limits.scope */
  hia_timeline *timeline;
  hia_heap *heap; /* NULL: the run makes no objects */
  uint64_t heap_run;
  const hia_shapes *shapes;
  const hia_word *params;

  _Atomic uint32_t n_members; /* places of the array that were ever in use */
  _Atomic(hia_context *) members[];
};

/* Makes the team of the run that `context` began, and calls its first helper. NULL: no memory. */
hia_team *hiaR_team_new(hia_context *context);
/* Called before a run ends: waits until no helper is inside the run. */
void hiaR_team_end(hia_team *team, hia_usage *usage);
/* Called when a run of `entry` that may have helpers is marked as under way, and before its code is
 * entered: makes its first safepoint poll and call a helper, unless it is expected to be brief. */
void hiaR_team_begin(hia_context *context, hia_native_entry entry);
/* No pool watches the context any more. */
void hiaR_team_forget(hia_context *context);
/* There is work: adds one more helper, if a thread is idle or may be started. */
void hiaR_team_call(hia_team *team);
/* Ends the run with `status`, unless it is being ended already. */
void hiaR_team_stop(hia_team *team, hia_status status);

/* ---- native.c ---- */

/* Attaches the context to the heap of the run that it enters; NULL: the run has none. */
void hiaR_context_use_heap(hia_context *context, hia_heap *heap, const hia_shapes *shapes,
                           const hia_word *params);

#ifdef HIA_STRESS
#define HIA_STACK_KEEP   ((size_t)4 << 10)
#define HIA_BARRIER_STEP ((size_t)256)
#else
#define HIA_STACK_KEEP   ((size_t)256 << 10)
#define HIA_BARRIER_STEP ((size_t)64 << 10)
#endif

/* Makes the stack at least `size` bytes large. Nothing may be running on it. */
hia_status hiaR_context_reserve(hia_context *context, size_t size);
/* Sets the limits for `depth` bytes of a stack that is large enough ... */
void hiaR_context_limits(hia_context *context, size_t depth);
/* ... and the one that holds now. */
void hiaR_set_limit(hia_context *context);
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
/* After a run: trims the stack, ends the team. */
void hiaR_run_end(hia_context *context, hia_usage *usage);
/* Runs entry(block) in an invocation: stacked on the one that waits, or on the empty stack. If it
 * is left, invocation->failure holds the failure, and all jobs promoted from it have ended. */
void hiaR_invoke(hia_context *context, hia_invocation *invocation, hia_native_entry entry,
                 hia_word *block);
/* Sets the limit to `step`, unless another thread has set it to its maximum: then the next
 * safepoint must still poll. */
void hiaR_follow_step(hia_context *context);
/* Returns the memory of a deep run's stack to the system. Returns how many bytes of it were used.
 */
size_t hiaR_context_trim(hia_context *context);
/* Returns the status with which what runs here must end, or HIA_OK. May set context->doomed. */
hia_status hiaR_end_status(hia_context *context);
/* Any thread: makes the next safepoint of a worker poll, and wakes the worker if it sleeps. */
void hiaR_poke(hia_context *context);

/* ---- walker.c ---- */

/* The frames of compiled code on a worker's stack, of its innermost invocation, newest first. */
typedef struct hia_stack_walker {
  const hia_context *context;
  const hia_bridge *bridge; /* the next join that has called compiled code itself */
  const char *sp;           /* the frame's stack pointer at the place ... */
  uintptr_t pc;             /* ... of the code whose return address this is */
  const hia_frame_row *row;
  size_t slot; /* of `known`, where its row is; and true if the row was not there before */
  bool is_new;
  /* Recursion returns to the same few return addresses. */
  struct {
    uintptr_t pc;
    hia_frame_row row;
  } known[64];
} hia_stack_walker;
/* Starts at the place where compiled code is, or was. */
void hiaR_stack_walker_start(hia_stack_walker *walker, const hia_context *context, const char *sp,
                             uintptr_t pc);
/* Finds the row of the next frame, at first of the innermost. False: there are no more. */
bool hiaR_stack_walker_next(hia_stack_walker *walker);
/* Reads the backtrace of the innermost invocation off the stack, from where compiled code was.
 * Then come its elements of comprehensions.
 * `is_inside`: the place is a call whose callee is in the backtrace already. `is_ended`: the run
 * was ended from outside; of a deep stack the walker then reads the innermost frames, and goes on
 * at the outermost return barrier. */
void hiaR_read_backtrace(const hia_context *context, uint32_t loc, const char *sp, uintptr_t pc,
                         bool is_inside, bool is_ended, hia_backtrace *backtrace);

/* ---- barrier.c ---- */

/* Compiled code at `pc` has polled with the stack pointer `sp`, which is below context->step: puts
 * a barrier into its frame and moves `step` down. */
void hiaR_barrier_descend(hia_context *context, const char *sp, uintptr_t pc);
/* The frame whose return address was at `place` returns: restores that address and returns it. */
uintptr_t hiaR_barrier_ascend(hia_context *context, char *place);
/* The return address of the frame of compiled code that keeps it at `place`, whether a barrier has
 * replaced it or not. */
uintptr_t hiaR_return_address(const hia_context *context, const char *place);
/* The outermost barrier: the stack pointer and the return address from which the walker can read
 * the outermost frames of the run. False: none is further out than `sp`. */
bool hiaR_barrier_outermost(const hia_context *context, const char **sp, uintptr_t *pc);
/* The frames below `sp` were left: forgets their barriers. */
void hiaR_barriers_drop(hia_context *context, const char *sp);
/* The stack is empty: forgets all barriers and what was learnt of the run's code. */
void hiaR_barriers_reset(hia_context *context);
void hiaR_barriers_free(hia_context *context);

/* ---- fork.c ---- */

/* A new job of the innermost invocation's, the newest of those promoted, without a fork and without
 * arguments; with space for `n_words`. NULL: no memory. */
hia_job *hiaR_job_new(hia_context *context, uint32_t n_words);
/* The job is in no list any more. Its block may be read until the next job is made or freed. */
void hiaR_job_free(hia_context *context, hia_job *job);
/* Looks for the end of a job for about `ns`. False: it is not done. */
bool hiaR_look_for_end(hia_job *job, uint64_t ns);
/* Promotes the oldest fork for a thief that has asked, from where compiled code is. NULL: there is
 * none, or no memory; or, *must_settle, it cannot be begun before what is pending is computed. */
hia_job *hiaR_fork_for(hia_context *context, hia_context *thief, const char *sp, uintptr_t pc,
                       uint32_t *n_frames, bool *must_settle);
/* Waits until a job that was handed out is done. */
static inline void hiaR_await_job(hia_context *context, hia_job *job) {
  enum { LOOK_NS = 1000 };
  while (!hiaR_look_for_end(job, LOOK_NS)) {
    hia_parker_arm(&context->parker);
    if (!hia_is_done(&job->is_done)) hia_parker_park(&context->parker, HIA_MAX_BACKOFF_NS);
    hia_parker_disarm(&context->parker);
  }
}
/* The worker cannot go on, since a job was returned that it cannot run itself. Then it is part of a
 * job that is not needed (hia_job.is_part), and so is the worker: waits until it is told so.
 * Returns the status with which it must end. */
hia_status hiaR_await_end(hia_context *context);
/* What a job's thief has computed in batches counts as its owner's. */
static inline void hiaR_job_count(hia_context *context, const hia_job *job) {
  hia_batch_usage *all = &context->batch_usage;
  const hia_batch_usage *own = &job->batch_usage;
  context->steals += job->steals; /* also of a job that was returned */
  all->rows += own->rows;
  all->waves += own->waves;
  all->plan_ns += own->plan_ns;
  all->gather_ns += own->gather_ns;
  all->compute_ns += own->compute_ns;
  all->shared += own->shared;
}
/* True if what the worker runs is part of a job, so that it is not needed when the job is not. */
bool hiaR_is_part_of(const hia_context *context, const hia_job *job);
/* At a join: waits until the job is done, or is the worker's own again (is_back). Meanwhile the
 * worker runs other jobs on top of its stack, whose pointer is `sp`. Another status than HIA_OK:
 * the invocation must end. */
hia_status hiaR_join_await(hia_context *context, hia_job *job, const char *sp);
/* The job is done, by the owner or by the thief: removes it and returns its results. */
hia_word *hiaR_join_end(hia_context *context, hia_job *job);
/* The worker begins a run, or helps with one: its pause between two jobs is the shortest. */
void hiaR_gives_begin(hia_context *context);
/* Called when the worker polls at `pc` with the stack pointer `sp`: promotes a fork and hands it
 * to the thief that has posted a request. The first poll of a run starts a team. */
void hiaR_serve(hia_context *context, const char *sp, uintptr_t pc);
/* Closes the worker's steal request. A thief that has posted gets the reply that there is no job.
 */
void hiaR_close_steal_request(hia_context *context);
/* Steals a job of the context's run from a member of its team. NULL: found none. `awaited`: the job
 * that the worker waits for, or NULL. `may_be_given`: it may be one with `gives`. */
hia_job *hiaR_try_steal(hia_context *context, hia_job *awaited, bool may_be_given);
/* Before a job is begun, by a thief or by the owner: takes the references that its callee will own
 * and that the frame keeps. */
void hiaR_job_share(const hia_job *job);
/* Runs a stolen job and finishes it. */
void hiaR_run_job(hia_context *context, hia_job *job);
/* The end of an invocation that was left: cancels and awaits the jobs promoted from it. */
void hiaR_take_all_back(hia_context *context, hia_invocation *invocation);
void hiaR_jobs_free(hia_context *context);

/* ---- entry.c: contexts of hosts ---- */

/* Makes a context for typed entries, without a pool. `options` are complete and valid. */
hia_status hiaR_host_new(const hia_context_options *options, hia_context **out);

/* Memory of the host's for a result that is a tensor (hia_context_set_room); exchange.c. */
typedef struct hia_room {
  void *elements;
  uint64_t size; /* in bytes */
  int64_t *dims; /* NULL: there is no room for this result */
  uint32_t dtype, rank;
  const char *from; /* of the call under way: what is written there, and its sizes */
  hia_dims shape;
} hia_room;

/* Where the results of a call go that are references; exchange.c. */
typedef struct hia_exchange {
  struct hia_host_context *host;
  hia_status (*leave)(struct hia_exchange *exchange, const hia_code_module *module, uint32_t root,
                      hia_word *block);
  struct hia_objects *to;
  bool has_outside;
} hia_exchange;

/* What a context for typed entries has in addition. */
struct hia_host_context {
  hia_context *context; /* whose it is */
  hia_allocator allocator;
  size_t max_depth, max_memory;
  unsigned threads;
  hia_pool *pool; /* NULL: one thread */
  bool owns_pool, owns_clock, interprets;
  bool fast_products;  /* all calls leave large products to OpenBLAS */
  size_t covered;      /* the stack's limits hold for frames smaller than this; 0: none are set */
  size_t depth;        /* of the call: max_depth, or what an outer run has left of it */
  size_t memory;       /* of the call, in the same way */
  hia_clock *clock;    /* NULL: no timeout was set yet */
  uint64_t timeout_ns; /* 0: none */
  hia_alarm alarm;     /* of the call that is under way, if it has a timeout */
  void *user;          /* the host's */
  bool has_fuel;
  uint64_t fuel; /* that is left; 0 if it has none */
  uint64_t rows; /* that the last map has written */
  uint64_t lent; /* by a call with fuel, to runs of the host's functions */

  _Atomic bool is_cancelled; /* until it is reset */
  hia_cancel_scope scope;    /* of the call under way, or of the last one */

  uint32_t root_called;     /* of the module; the root of the call that is under way */
  hia_invocation root;      /* its invocation; clean between calls */
  hia_failure failure;      /* of the last one that failed */
  const hia_places *failed; /* its places; NULL: none failed, or before its code was entered */
  const char *why;          /* in that case what was wrong, or NULL */
  char said[256];           /* such a text */
  hia_heap heap;            /* of the call under way, if its module makes objects */
  bool has_blas;            /* the call under way leaves large products to OpenBLAS */
  hia_exchange *exchange;   /* of the call under way; NULL: its words are scalars */
  hia_bounds bounds;        /* its limits */
  const hia_word *params;   /* of the module of the call under way, if it has some */
  char *views;              /* tensors of the call under way that are parameters (values.c) */
  size_t views_size;
  hia_room *rooms;                /* by result */
  uint32_t n_rooms, n_used_rooms; /* the first of which count: none for rows of maps */
  hia_error *error;               /* of that failure, made when the host requests it */

  struct hia_images *images;      /* interp/entry.c */
  const hia_places *image_places; /* of the image that the call has run; NULL: none */
  void (*free_images)(struct hia_images *images, const hia_allocator *allocator);
};

/* The room for a result of the call under way; NULL: it becomes a value. */
static inline hia_room *hiaR_room(const hia_host_context *host, uint32_t result) {
  bool has = result < host->n_used_rooms && host->rooms[result].dims;
  return has ? &host->rooms[result] : NULL;
}

static inline bool hiaR_is_in_call(const hia_context *context) {
  return atomic_load_explicit(&context->run, memory_order_relaxed) & 1;
}
/* The call fails before its code is entered; `why`: what was wrong, which lives as long as the
 * context, or NULL. */
hia_status hiaR_host_refuse(hia_host_context *host, hia_status status, const char *why);
/* Begins and ends the heap of the call under way; for a map that is interpreted, of each row. */
void hiaR_host_heap_begin(hia_host_context *host);
void hiaR_host_heap_end(hia_host_context *host);

/* ---- map.c ---- */

/* The words of a call of the root, in a map's block. */
hia_word *hiaR_map_words(const hia_map *map, hia_word *block);
/* The element of column i in the row of the block. */
void *hiaR_map_element(const hia_map *map, const hia_word *block, uint32_t i);
/* What is wrong with the columns of a block; NULL: nothing. */
const char *hiaR_map_wrong(const hia_map *map, const hia_word *block);
/* Runs the image for each row from HIA_MAP_ROW on, which it counts up. */
hia_status hiaR_map_interpret(hia_context *context, const hia_code_module *module,
                              const hia_map *map, hia_word *block, const hia_limits *limits);

#endif
