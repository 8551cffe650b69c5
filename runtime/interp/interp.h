/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the files of the interpreter share (docs/interpreter.md).
 *
 *   frame.c   pools of frames
 *   interp.c  firing nodes, entering and leaving frames: one worker
 *   order.c   which of several failures, or of several things to do, comes first
 *   end.c     the end of a run before it is done
 *   later/    operations on tensors that are computed later, several at a time
 *   sched.c   several workers: handing work over, sleeping, the end of a run
 *
 * Apart from it stand entry.c (typed entries that run an image) and expand.c (the dynamic
 * baseline). */
#ifndef HIA_INTERP_H
#define HIA_INTERP_H

#include "runtime/image/loaded.h"
#include "runtime/interp/run.h"
#include "runtime/run/events.h"
#include "runtime/threads/handoff.h"
#include <pthread.h>
#include <stdatomic.h>

typedef struct hia_frame hia_frame;
typedef struct hia_worker hia_worker;
typedef struct hia_run hia_run;
typedef struct hia_stolen hia_stolen;
struct hia_later;

/* A tag: the chain of calls (and loops, the round being the frame's state) that a token is inside
 * of. The header is followed by the slots and by what hia_section says is preloaded. */
struct hia_frame {
  union {
    hia_frame *parent; /* NULL: the root. In a free frame: the next free one */
    hia_stolen *job;   /* of a stolen frame, which was made from it; it refers to the parent */
  } up;
  const hia_section *section;
  const hia_child *child; /* of the parent, which the frame is of. NULL: the root, or stolen */
  uint64_t pending;       /* armed children: the set, or its highest level */
  uint32_t waiting : 31; /* armed children that have not returned, and nodes that have failed. If it
                            is 0 while nodes fire, so is `pending` */
  uint32_t is_woken : 1; /* sched.c: represents a chain that is not the current one */
  uint32_t level; /* frames above it. Other workers read it: it shares its word with nothing */
  _Atomic uint32_t limit; /* order.c: nodes from this index on come later than the known failure;
                             NONE: not determined */
  uint32_t latent;        /* index among the worker's latent frames; NONE: not one of them */
};
_Static_assert(sizeof(hia_frame) % 16 == 0, "frames are 16-aligned");

/* A child that is handed from one worker to another and back. The words are arguments, then
 * results. */
struct hia_stolen {
  hia_stolen *next;          /* in an inbox */
  hia_stolen *newer, *older; /* of those that the owner has handed out */
  hia_frame *frame;          /* the parent, which belongs to the owner */
  hia_worker *owner;
  uint64_t number; /* events.h */
  size_t size;     /* of the block */
  uint32_t site;
  bool is_done;
  hia_word words[];
};

typedef struct hia_frame_chunk hia_frame_chunk;

struct hia_worker {
  /* Private to the worker. */
  hia_run *run;
  hia_frame **free; /* by section */
  char *at, *end;   /* of the newest chunk */
  hia_frame_chunk *chunks;
  const hia_action **ready; /* stack above a NULL; empty except while a frame's nodes fire */
  uint64_t firings, frames, counts[2], steals;
  uint64_t carved_frames, carved_bytes; /* the maximum of live frames of each section, summed */
  size_t chunk_size;
  size_t n_free_lists;

  hia_frame **latent; /* frames with children pending, oldest first; some NULL */
  uint32_t latent_base, latent_top, latent_cap;
  const hia_frame *oldest; /* the latent frame that was the oldest last, and its age in calls */
  uint32_t age;
  hia_stolen *handed_out; /* newest first */
  uint32_t n_woken;
  uint64_t due, patience;  /* while frames are woken: calls until, and between, comparisons */
  uint32_t epoch;          /* of the failure with which the current chain was compared */
  uint32_t sampled;        /* the sampler's tick at which it was looked at last */
  uint32_t reluctance;     /* calls before the next request for a thread of the pool */
  bool is_leaving;         /* its thread goes back to the pool */
  bool is_shared;          /* the run has other workers: counts change by atomic operations */
  hia_local_heap heap;     /* of programs with references */
  struct hia_later *later; /* later/later.h: operations that are computed later; NULL: none are */
#ifdef HIA_CENSUS
  uint64_t until_audit; /* calls and rounds */
#endif
  unsigned number;
  void *block; /* the allocation that contains this */
  hia_ring *ring;

  /* Shared with other workers. */
  _Alignas(
      64) _Atomic uint32_t poll; /* not 0: the worker must read everything below, and the run */
  _Atomic(hia_stolen *) inbox;   /* newest first */
  hia_parker parker;
  hia_claims claims;
  _Atomic bool is_born; /* it has a thread, or is getting one */
};

#define HIA_MAX_WORKERS 256

struct hia_run {
  const hia_loaded *image;
  const hia_limits *limits;
  uint64_t *fuel, unlent; /* that of the limits, or `unlent` */
  const hia_allocator *allocator;
  hia_word *results;
  size_t depth, memory;       /* limits in bytes of frames; SIZE_MAX: none */
  bool asks;                  /* for what the machine has left: with a heap, the heap does */
  _Atomic size_t granted;     /* frames that may be made before it does */
  _Atomic int64_t depth_code; /* hia_failure.code of HIA_DEPTH */
  hia_worker *workers[HIA_MAX_WORKERS];
  unsigned n_workers;

  _Alignas(64) _Atomic uint32_t n_idle;                 /* number of idle workers */
  _Alignas(64) hia_idle_set idle[HIA_MAX_WORKERS / 64]; /* these workers */
  _Atomic uint32_t busy; /* number of workers that have work, and of jobs on their way */
  _Atomic uint32_t stop; /* the run is over */
  _Atomic size_t
      bytes; /* of frames, all workers; with a heap, those of objects are not among them */

  pthread_mutex_t lock;    /* protects what follows */
  unsigned n_threads;      /* threads of the pool in the run */
  pthread_cond_t all_left; /* n_threads is 0 */
  _Atomic uint32_t epoch;  /* 0: nothing has failed; else how often a failure became the first */
  hia_frame *failed;       /* the first failure so far: its frame, node and cause */
  uint32_t failed_node;
  hia_cause failed_cause;
  bool is_complete;
  hia_status resource; /* MEMORY, DEPTH, CANCELLED, INTERNAL: ends the run at once */
  hia_backtrace resource_trace;
};

static inline hia_word *hiaR_slots(hia_frame *f) { return (hia_word *)(void *)(f + 1); }
/* True if the frame was made from a job. */
static inline bool hiaR_is_stolen(const hia_frame *f) { return !f->child && f->up.job; }
static inline hia_frame *hiaR_parent(const hia_frame *f) {
  return hiaR_is_stolen(f) ? f->up.job->frame : f->up.parent;
}
/* The call or loop that made the frame. Not for the root. */
static inline const hia_child *hiaR_child_of(const hia_frame *f) {
  if (f->child) return f->child;
  return &f->up.job->frame->section->children[f->up.job->site];
}

/* ---- frame.c ---- */

hia_worker *hiaR_worker_new(hia_run *run, unsigned number);
void hiaR_worker_free(hia_worker *w); /* with its frames and jobs; `w` may be NULL */
/* A frame for a section whose free list is empty. NULL and *status: HIA_MEMORY or HIA_DEPTH. */
hia_frame *hiaR_frame_carve(hia_worker *w, const hia_section *s, hia_status *status);
/* Makes the frame one of this section, that is not in use. */
void hiaR_frame_prepare(hia_frame *f, const hia_section *s);

/* A frame that is not in use has its section, constants, no references and no pending children. */
static inline hia_frame *hiaR_frame_take(hia_worker *w, const hia_section *s, hia_status *status) {
  hia_frame *f = w->free[s->number];
  if (HIA_UNLIKELY(!f)) return hiaR_frame_carve(w, s, status);
  w->free[s->number] = f->up.parent;
  if (HIA_UNLIKELY(f->section != s)) hiaR_frame_prepare(f, s);
  return f;
}

static inline void hiaR_frame_free(hia_worker *w, hia_frame *f) {
  f->up.parent = w->free[f->section->number];
  w->free[f->section->number] = f;
}

/* The set of pending children, if it has several levels. */
void hiaR_pending_add(hia_frame *f, uint32_t child); /* the same */
void hiaR_pending_remove(hia_frame *f, uint32_t child);
uint32_t hiaR_pending_lowest(hia_frame *f);

#ifdef HIA_CENSUS
/* Audits the counts of the run's objects now and then (audit.h). Called by the only worker of a run
 * when nothing is under way: all references are in slots of frames, or in objects. */
void hiaR_audit_frames(hia_worker *w);
#endif

/* ---- interp.c ---- */

/* Continues from f with these actions, until there is nothing left to do. */
void hiaR_work_shared(hia_worker *w, hia_frame *f, const hia_action *actions);
void hiaR_work_alone(hia_worker *w, hia_frame *f,
                     const hia_action *actions); /* the run has no other workers */
hia_frame *hiaR_root_enter(hia_worker *w, const hia_section *s, const hia_word *args,
                           hia_status *status);
/* Makes the frame of a job and fires what is ready. Returns a frame of this worker's that has
 * children pending now, or NULL. */
hia_frame *hiaR_stolen_enter(hia_worker *w, hia_stolen *job, hia_status *status);
/* A job that was handed out is done: its results become tokens. Returns as hiaR_stolen_enter. */
hia_frame *hiaR_stolen_back(hia_worker *w, hia_stolen *job);

/* ---- node.c ---- */

/* Computes an operation. *out may be the slot of an operand. */
hia_status hiaR_operate(hia_worker *w, hia_word *slots, const hia_operation_instr *a, hia_word *out,
                        hia_misfortune *why);

/* Fires a node that has no action of its own. False: it has failed. */
bool hiaR_fire_node(hia_worker *w, hia_frame *f, const hia_instr *n);

/* ---- order.c ---- */

/* Notes that a node of f has failed. */
void hiaR_fail(hia_worker *w, hia_frame *f, uint32_t node, const hia_cause *cause);
/* True if the first pending child of f comes later than the known failure. False if none is known.
 */
bool hiaR_is_too_late(hia_run *run, hia_frame *f);
/* True if a's first pending child comes before b's. Both have pending children. */
bool hiaR_is_earlier(hia_frame *a, hia_frame *b);
/* Pushes the calls that the frame is inside of, with their elements, `most` of the innermost. */
void hiaR_backtrace_frames(const hia_loaded *image, const hia_frame *f, uint64_t most,
                           hia_backtrace *trace);

/* ---- sampled.c: profiles ---- */

/* The worker begins to work, and ends. The run may have no sampler. */
void hiaR_samples_begin(hia_worker *w);
void hiaR_samples_end(hia_worker *w);
/* Adds where the worker is, if that is due. */
void hiaR_samples_look(hia_worker *w, const hia_frame *f);
/* The worker, for which hiaR_local_is_due, takes memory at this node of the frame. */
void hiaR_samples_took(hia_worker *w, const hia_frame *f, uint32_t node);

/* ---- interp.c: references ---- */

/* Copies the arguments of a child, with references of their own. */
static inline void hiaR_pass_args(hia_frame *parent, const hia_child *child, hia_word *args,
                                  bool is_shared) {
  hia_word *slots = hiaR_slots(parent);
  for (uint32_t i = 0; i < child->callee->n_params; i++) args[i] = slots[child->args[i]];
  if (!child->has_refs) return;
  for (uint32_t i = 0; i < child->n_shares; i++) hiaR_dup(args[child->shares[i]], is_shared);
  for (uint32_t i = 0; i < child->n_takes; i++) slots[child->takes[i]] = 0;
}

/* The frame's results have been copied, and it goes: drops its references. */
void hiaR_frame_end_refs(hia_worker *w, hia_frame *f);

/* ---- end.c ---- */

/* Called after something was written where w reads it: w clears `poll` before it reads, so it
 * either sees this or polls again. */
void hiaR_wake_up(hia_worker *w);
/* All workers stop. */
void hiaR_stop_run(hia_run *run);
static inline bool hiaR_is_over(const hia_run *run) { return atomic_load(&run->stop); }
/* Ends the run at once because a resource ran out, when child `site` of f was to be entered (NONE:
 * somewhere in f). */
void hiaR_end_run(hia_worker *w, hia_status status, hia_frame *f, uint32_t site);
/* Ends the run at node number `node` of f, which has not fired. */
void hiaR_end_at(hia_worker *w, hia_status status, hia_frame *f, uint32_t node);

/* ---- sched.c ---- */

void hiaR_complete_run(hia_worker *w, hia_frame *root);
/* Called when a pending child of f is to be entered: handles jobs, failures and the end of the
 * run. Returns the frame with pending children to go on with; NULL: the current chain has ended. */
hia_frame *hiaR_poll(hia_worker *w, hia_frame *f);
/* The current chain has ended: at f, which waits for other workers, or completely (NULL). Returns
 * the frame to go on with; NULL: the run is over. */
hia_frame *hiaR_find_work(hia_worker *w, hia_frame *f);
/* Makes f, which has pending children, one of the latent frames; or removes it from them. */
void hiaR_latent_add(hia_worker *w, hia_frame *f);
void hiaR_latent_remove(hia_worker *w, hia_frame *f);
void hiaR_serve_workers(
    hia_worker *w); /* called when workers are idle and there are latent frames */
void hiaR_stolen_done(hia_worker *w, hia_stolen *job); /* sends it back to its owner */

#endif
