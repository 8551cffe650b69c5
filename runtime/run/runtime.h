/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime: everything that a program needs while it runs, and nothing of the compiler.
 *
 * It links without LLVM and without the graph. Functions here never throw, print or exit; those
 * that can fail return a hia_status. */
#ifndef HIA_RUNTIME_H
#define HIA_RUNTIME_H

#include "runtime/base/base.h"
#include "runtime/heap/object.h"
#include "runtime/host/effects.h"
#include "runtime/image/image.h"

/* ---- backtrace.c: where a run failed, and the calls that led there ---- */

#define HIA_BACKTRACE_ENDS 32

/* A backtrace, innermost first: `length` entries in all, of which the first HIA_BACKTRACE_ENDS and
 * the last HIA_BACKTRACE_ENDS are kept. An entry is a position of the source, an index into the
 * image's (the graph's) table of locations. Entry 0 is the failing operation itself; each further
 * entry is the position of a call that is not a tail call.
 *
 * The locations of the entries have rows for the elements of comprehensions that they are in
 * (base/loc.h): n_rows of them in all. Which elements these were is a list of its own, innermost
 * first, of which both ends are kept, too. Element i belongs to row i, if there are as many. */
typedef struct hia_backtrace {
  uint64_t length;
  bool is_cut; /* there are more between those that are kept, and they were not counted */
  uint32_t inner[HIA_BACKTRACE_ENDS];
  uint32_t outer[HIA_BACKTRACE_ENDS]; /* a ring; entry i >= HIA_BACKTRACE_ENDS is in slot i %
                                         HIA_BACKTRACE_ENDS */
  uint64_t n_rows, n_elements;
  int64_t inner_elements[HIA_BACKTRACE_ENDS], outer_elements[HIA_BACKTRACE_ENDS];
} hia_backtrace;
void hiaR_backtrace_clear(hia_backtrace *backtrace); /* what is kept of it is not read then */
void hiaR_backtrace_push(hia_backtrace *backtrace, uint32_t loc);
/* Pushes `loc` (omitted if it is a tail call's) and then the calls it was inlined through. */
void hiaR_backtrace_push_site(hia_backtrace *backtrace, const hia_image_loc *locs, uint32_t loc,
                              bool is_tail);
uint32_t hiaR_backtrace_entry(const hia_backtrace *backtrace, uint64_t i); /* HIA_NONE: not kept */
void hiaR_backtrace_push_element(hia_backtrace *backtrace, int64_t index);
/* Element i. False: it is not kept, or it is not known to which rows the elements belong. */
bool hiaR_backtrace_element(const hia_backtrace *backtrace, uint64_t i, int64_t *index);
/* How many rows the entry `loc` has. */
uint32_t hiaR_backtrace_rows(const hia_image_loc *locs, uint32_t loc);

/* Writes a backtrace site by site and quickly, also of millions of entries: when the inner end is
 * full, sites are only counted, and pushed when they are known to be among the last. */
typedef struct hia_backtrace_site {
  uint32_t loc;
  bool is_tail;
  uint32_t n_entries, n_rows; /* of the backtrace that it stands for: hiaR_backtrace_site */
} hia_backtrace_site;
typedef struct hia_backtrace_writer {
  hia_backtrace *backtrace;
  const hia_image_loc *locs;
  uint64_t n_waiting; /* sites counted so far; the last of them are in a ring */
  hia_backtrace_site waiting[HIA_BACKTRACE_ENDS];
} hia_backtrace_writer;
hia_backtrace_site hiaR_backtrace_site(const hia_image_loc *locs, uint32_t loc, bool is_tail);
static inline void hiaR_backtrace_add(hia_backtrace_writer *w, const hia_backtrace_site *site) {
  if (site->n_entries == 0) return;
  if (w->backtrace->length < HIA_BACKTRACE_ENDS) {
    hiaR_backtrace_push_site(w->backtrace, w->locs, site->loc, site->is_tail);
    return;
  }
  hia_backtrace_site *slot = &w->waiting[w->n_waiting++ % HIA_BACKTRACE_ENDS];
  w->backtrace->length += slot->n_entries; /* of the site that was in the slot */
  w->backtrace->n_rows += slot->n_rows;
  *slot = *site;
}
/* The next site does not follow the last one: those between are not read. */
void hiaR_backtrace_cut(hia_backtrace_writer *w);
void hiaR_backtrace_end(hia_backtrace_writer *w);

/* What positions stand for, for errors. Those of a function named HIA_EXPRESSION are in a text of
 * its own, which begins one byte behind the end of `text`, if there is one, and ends in a NUL. */
typedef struct hia_places {
  const hia_image_loc *locs; /* n_locs rows */
  const char *strings;       /* strings_size bytes, the last one NUL: loc->fn is an offset there */
  const char *file;          /* or NULL */
  const char *text;          /* of the source, for the line that an error shows; or NULL */
  uint64_t n_locs, strings_size, text_size;
} hia_places;

/* The code of HIA_DEPTH where not a limit was reached, but what the machine has left. */
#define HIA_NOT_LEFT ((int64_t)-1)

/* How a run ended. For resource statuses the backtrace says where the run was when it stopped. */
typedef struct hia_failure {
  hia_status status;  /* HIA_OK: it did not fail */
  int64_t code;       /* FAILED: the argument of fail; FUEL: what was left, unsigned; DEPTH: the
                         limit in bytes, HIA_NOT_LEFT, or 0 where neither is known; RANGE: 1 if a
                         slice was asked for, 0 if an element */
  hia_range range;    /* RANGE */
  hia_misfit misfit;  /* SHAPE */
  hia_nan_origin nan; /* NAN_MADE */
  const char *host; /* name of the host function that returned `status`, owned by the program or its
                       image; else NULL */
  hia_backtrace backtrace; /* length 0: unknown */
} hia_failure;

/* The backtrace keeps its entries: they are not read when its length is 0. */
static inline void hiaR_failure_clear(hia_failure *failure) {
  failure->status = HIA_OK;
  failure->code = 0;
  failure->host = NULL;
  hiaR_backtrace_clear(&failure->backtrace);
}

/* ---- pool.c: threads ----
 *
 * Threads are started when there is first something for them to do, serve all runs, and sleep in
 * the kernel, at no cost, when there is no run. Or they are a host's, and requested each time.
 * Thread-safe. */

typedef struct hia_pool hia_pool;
/* `host` is copied; NULL: the pool starts threads of its own. */
hia_status hiaR_pool_new(const hia_allocator *allocator, unsigned max_threads,
                         const hia_thread_pool *host, hia_pool **out);
/* Nothing may run on the pool. Ends its threads, or waits until the host's have left it. `pool`
 * may be NULL. */
void hiaR_pool_free(hia_pool *pool);
/* Makes a thread of the pool call fn(arg). False if all are busy and no more may or can be
 * started. For a run's workers that share work in their own way (sched.c). */
bool hiaR_pool_start(hia_pool *pool, void (*fn)(void *arg), void *arg);
/* True if a function that was started is called at once. A host's threads may call it much later.
 */
bool hiaR_pool_is_prompt(const hia_pool *pool);
/* Withdraws the function that was started with `arg`. False: it has been called already. */
bool hiaR_pool_take_back(hia_pool *pool, const void *arg);

/* ---- timer.c: the timekeeper ----
 *
 * A thread that sleeps until the earliest alarm; started with the first alarm. Thread-safe. */

typedef struct hia_clock hia_clock;
typedef struct hia_alarm hia_alarm;
struct hia_alarm {
  uint64_t at; /* of hiaR_now() */
  /* Called once, soon after `at`, on the timekeeper's thread. Must be short and must not call the
   * clock. */
  void (*ring)(hia_alarm *alarm);
  /* Set by `ring`: when it is to ring again. 0: not at all. */
  uint64_t again;
  /* The clock's own. */
  hia_alarm *prev, *next;
  bool is_set;
};
hia_status hiaR_clock_new(const hia_allocator *allocator, hia_clock **out);
void hiaR_clock_free(
    hia_clock *clock); /* no alarm may be set; ends the thread; `clock` may be NULL */
/* The caller owns the alarm, which must stay where it is until it is cleared. HIA_THREADS if no
 * thread can be started to ring it. */
hia_status hiaR_alarm_set(hia_clock *clock, hia_alarm *alarm);
void hiaR_alarm_clear(hia_clock *clock, hia_alarm *alarm); /* afterwards it does not ring */

/* ---- what a run may use, and what it used ---- */

typedef struct hia_timeline hia_timeline;

/* What the thread that interprets a run does, for a thread that watches it. */
typedef struct hia_activity {
  /* Operations on tensors and arrays that have begun and ended: odd while it is in one. */
  _Atomic uint64_t n;
  uint64_t again_at; /* for tests: the run notices at its poll number so many, and at no other, that
                        it is to begin again; 0: at the next one */
} hia_activity;

typedef struct hia_limits {
  size_t depth;  /* bytes of stack or of frames; 0: the default below */
  size_t memory; /* bytes in all; 0: what the machine has left (base/left.h); SIZE_MAX: no limit */
  unsigned threads; /* workers, the caller's among them; 0: 1 */
  hia_pool *pool;   /* provides the other workers; NULL: the caller alone */
  /* events.h: where the run's threads record what they do; NULL: nowhere */
  hia_timeline *timeline;
  const uint32_t *cancelled; /* read with relaxed atomics; the run ends soon after it becomes
                                nonzero; or NULL */
  uint64_t deadline; /* of hiaR_now(), after which the run ends with HIA_DEADLINE; 0: none. Engines
                        check the deadline only when polling for another reason; the caller must
                        also arm a cancel (*cancelled, hiaR_context_cancel). */
  hia_cancel_scope *scope; /* of the run, for runs that host functions begin inside it; or NULL */
  uint64_t *fuel; /* what a program with fuel lends to such runs, while a host function is called;
                     NULL: nothing is lent */
  /* The memory of the objects that the run makes. The caller begins it before the run and ends it
   * when the results have left it (hiaR_objects_leave). NULL: the program makes none. */
  hia_heap *heap;
  const hia_shapes *shapes; /* of the program's types, where the engine has no image: native code */
  /* The values of the program's params, by their numbers (param/param.h); NULL: it has none. */
  const hia_word *params;
  /* NULL unless the run may begin again in native code (jit/engine/tier.c). */
  hia_effects *effects;        /* the interpreter adds to them; native code takes from them */
  hia_activity *activity;      /* of the interpreter */
  struct hia_sampler *sampler; /* sampler.h: counts where the run is; NULL: nothing does */
  /* observer.h: what the interpreter sees at points, with one worker; NULL: nothing looks */
  struct hia_observer *observer;
  /* interp/later/later.h: the interpreter computes operations later; NULL: it does not */
  const struct hia_firings *firings;
} hia_limits;
/* Bytes that a run may use where no limit is set: of stack, of the interpreter's frames, and of the
 * copies of graphs that `expand` makes. Ten million calls of most functions need less, and a
 * recursion without an end takes a second or some to use that much. */
#define HIA_DEFAULT_STACK  ((size_t)2 << 30)
#define HIA_DEFAULT_FRAMES ((size_t)4 << 30)
#define HIA_DEFAULT_COPIES ((size_t)8 << 30)
size_t hiaR_default_depth(void); /* of native code: less where addresses are few */

/* What was computed in batches (native/batch/batch.h); times in nanoseconds, of all workers
 * together. */
typedef struct hia_batch_usage {
  uint64_t rows, waves;
  uint64_t plan_ns;    /* finding waves and the order of their rows */
  uint64_t gather_ns;  /* putting operands side by side */
  uint64_t compute_ns; /* segments, and results */
  uint64_t reused;     /* rows, besides, whose results were those of equal ones */
} hia_batch_usage;

typedef struct hia_usage {
  uint64_t calls, rounds; /* of the source, in counted programs; else 0 */
  uint64_t firings;       /* live firings (interp, expand) */
  uint64_t frames;        /* frames made (interp), graph copies (expand) */
  uint64_t peak_frames;   /* maximum of frames alive at once, all workers together */
  uint64_t peak_bytes;    /* maximum of bytes of frames, copies or stack */
  uint64_t steals;
  uint64_t heap_bytes, system_bytes; /* of the run's heap: hia_heap.taken, fresh */
  hia_batch_usage batch;
} hia_usage;

#endif
