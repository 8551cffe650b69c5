/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Timelines: what the threads of runs do and when, to be read by a person (docs/tracing.md).
 *
 * A thread that takes part in a run with a timeline has a *ring* of events there, which it alone
 * writes. The thread requests it once, when it begins to take part (hiaR_ring_of), and passes it
 * to the hooks below. Without a timeline the ring is NULL and a hook is a load and a branch. Hooks
 * stand on slow paths only, never on the path of a call.
 *
 * A ring is of fixed size: the newest events overwrite the oldest, which are counted. It is read
 * when no run writes to it any more. The last event of a thread must come before the run's end:
 * before the thread stops counting as one of its workers. */
#ifndef HIA_EVENTS_H
#define HIA_EVENTS_H

#include "runtime/base/base.h"
#include <pthread.h>
#include <stdatomic.h>

/* What happens. BEGIN and END are slices of the thread's time, which nest. A slice that the code
 * inside leaves without its END (because it fails) ends where the slice around it does.
 *
 * Jobs have numbers, which hiaR_event_promoted returns; 0 stands for a job that was promoted
 * without a timeline. */
#define HIA_EVENT_KINDS(X)                                                                         \
  X(RUN_BEGIN)  /* the caller's thread; of hiaR_timeline_name: what is run */                      \
  X(RUN_END)    /* hia_status */                                                                   \
  X(WORK_BEGIN) /* another thread begins to take part in the run */                                \
  X(WORK_END)                                                                                      \
  X(JOB_BEGIN)  /* job: another thread than its owner runs it in native code; a steal */           \
  X(JOB_END)    /* job */                                                                          \
  X(ROWS_BEGIN) /* HIA_ROWS: computes rows of a wave (native/batch/batch.h) */                     \
  X(ROWS_END)   /* the same */                                                                     \
  X(WAIT_BEGIN) /* job: a join that has to wait for it; jobs may run inside */                     \
  X(WAIT_END)   /* job */                                                                          \
  X(IDLE_BEGIN) /* nothing to do: looking for work, or asleep */                                   \
  X(IDLE_END)                                                                                      \
  X(PROMOTED)   /* job: by its owner, and offered to another thread */                             \
  X(TAKEN_BACK) /* job: by its owner, at its join: it had not begun */                             \
  X(TAKEN)      /* job: interpreter; its frame is made here; a steal */                            \
  X(DONE)       /* job: interpreter; its results are on the way to its owner */                    \
  X(BACK)       /* job: interpreter; its results are tokens of its owner's again */                \
  X(CALLEE)     /* a hia_native_entry: what the job that has just begun here calls */

typedef enum hia_event_kind {
#define HIA_EVENT_KIND(NAME) HIA_EVENT_##NAME,
  HIA_EVENT_KINDS(HIA_EVENT_KIND)
#undef HIA_EVENT_KIND
      HIA_N_EVENTS
} hia_event_kind;

typedef struct hia_event {
  uint64_t at;                  /* hiaR_now() */
  uint64_t what : 56, kind : 8; /* `what`: as the list above says */
} hia_event;

typedef struct hia_timeline hia_timeline;
typedef struct hia_ring hia_ring;
struct hia_ring {
  hia_ring *next;
  hia_timeline *timeline;
  pthread_t thread;
  unsigned worker; /* 0: a thread that calls runs */
  uint32_t number; /* in its timeline, from 1; the upper part of its jobs' numbers */
  /* Events so far, including overwritten ones: of each kind; in all. Event i is in slot i % size.
   */
  uint64_t totals[HIA_N_EVENTS];
  _Atomic uint64_t count; /* written last */
  hia_event events[];
};

/* A job's number: the number of its owner's ring, and its own number there, from 1. */
#define HIA_JOB_OWNER_SHIFT 36
#define HIA_JOB(ring, i)    ((uint64_t)(ring) << HIA_JOB_OWNER_SHIFT | (i))
#define HIA_JOB_OWNER(job)  ((uint32_t)((job) >> HIA_JOB_OWNER_SHIFT))
#define HIA_JOB_INDEX(job)  ((job) & (((uint64_t)1 << HIA_JOB_OWNER_SHIFT) - 1))

/* So many rows of a segment, of a wave of so many; in 16, 20 and 20 bits, of which the last two
 * hold no more than they can. */
#define HIA_ROWS_MOST ((1u << 20) - 1)
/* The interpreter computes operations (interp/later/later.h): in place of the segment, this and the
 * op. */
#define HIA_ROWS_OF_OP 0x8000u
#define HIA_ROWS(segment, n, all)                                                                  \
  (((uint64_t)(segment) & 0xffff) << 40 | (uint64_t)(n) << 20 | (all))
#define HIA_ROWS_SEGMENT(rows) ((unsigned)((rows) >> 40 & 0xffff))
#define HIA_ROWS_N(rows)       ((unsigned)((rows) >> 20 & HIA_ROWS_MOST))
#define HIA_ROWS_ALL(rows)     ((unsigned)((rows) & HIA_ROWS_MOST))

/* A time span that belongs to no ring: a phase of the compiler. */
typedef struct hia_span {
  const char *name; /* constant */
  uint32_t of;      /* hiaR_timeline_name; what was compiled */
  uint64_t begin, end;
} hia_span;

/* The name of an entry of compiled code from some time on: its memory may be reused by other code.
 */
typedef struct hia_callee {
  uint64_t entry, since;
  uint32_t name; /* hiaR_timeline_name */
} hia_callee;

struct hia_timeline {
  hia_allocator allocator;
  size_t ring_size; /* a power of two */
  uint64_t made_at;
  _Atomic uint32_t users; /* number of runs that write to it; or READING while it is read */

  pthread_mutex_t lock; /* of what follows */
  hia_ring *rings;      /* newest first */
  uint32_t n_rings;
  uint64_t lost_rings; /* threads for which there was no memory */
  char **names;
  uint32_t n_names, cap_names;
  hia_span *spans;
  uint32_t n_spans, cap_spans;
  hia_callee *callees; /* in order of time */
  uint32_t n_callees, cap_callees;
};

#define HIA_TIMELINE_READING UINT32_MAX

/* NULL when out of memory. */
hia_timeline *hiaR_timeline_new(const hia_allocator *allocator, size_t events);
void hiaR_timeline_free(hia_timeline *timeline); /* or NULL */
/* A run begins to write to it, or a reader to read it. False if that is not possible now. */
bool hiaR_timeline_open(hia_timeline *timeline, bool is_reader);
void hiaR_timeline_close(hia_timeline *timeline, bool is_reader);
/* A number for a name, the same for equal names; HIA_NONE when out of memory. */
uint32_t hiaR_timeline_name(hia_timeline *timeline, const char *name);
/* Adds a span, unless it is there, is empty, or began before the timeline was made. */
void hiaR_timeline_span(hia_timeline *timeline, const hia_span *span);
/* From now on the code entered at `entry` is called `name`. */
void hiaR_timeline_callee(hia_timeline *timeline, uint64_t entry, const char *name);
/* The name of the code entered at `entry` at that time, or NULL if it is not known. */
const char *hiaR_timeline_callee_at(const hia_timeline *timeline, uint64_t entry, uint64_t at);

/* The calling thread's ring. `worker`: its number among the pool's threads, from 1, which names
 * it; 0: it calls the run. NULL if timeline is NULL, or out of memory. The same ring each time, so
 * runs may nest. */
hia_ring *hiaR_ring_of(hia_timeline *timeline, unsigned worker);

void hiaR_ring_add(hia_ring *ring, hia_event_kind kind, uint64_t what);

/* The hook. `what`: 0 where the list names nothing. */
static inline void hiaR_event(hia_ring *ring, hia_event_kind kind, uint64_t what) {
  if (HIA_UNLIKELY(ring != NULL)) hiaR_ring_add(ring, kind, what);
}

/* A fork is promoted to a job (in the interpreter a call is handed out): returns its number, for
 * its later events. Must be called before another thread can see the job. */
static inline uint64_t hiaR_event_promoted(hia_ring *ring) {
  if (HIA_LIKELY(!ring)) return 0;
  uint64_t job = HIA_JOB(ring->number, ring->totals[HIA_EVENT_PROMOTED] + 1);
  hiaR_ring_add(ring, HIA_EVENT_PROMOTED, job);
  return job;
}

#endif
