/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How tasks move between workers without locks: steal requests, replies, taking, taking back,
 * finishing, parking and unparking; and how the end of a run knows that no worker is left in it.
 *
 * Each worker has
 *
 *   a steal request   a word in which one thief at a time leaves its mailbox. It is open while the
 *                     worker runs compiled code, which will come to a safepoint, and closed while
 *                     the worker waits.
 *   a mailbox         where the reply to the worker's own request arrives: a task, or none
 *   a parker          what the worker sleeps on
 *
 * Invariants, in the order of a task's life:
 *
 *   1. A thief that has posted a request (hia_steal_request_post true) gets exactly one reply,
 *      unless it withdraws in time: either the victim changes the mailbox from REQUESTED, once,
 *      or the mailbox stays REQUESTED and the request forgets it. So a victim that gets a
 *      mailbox from its request (hia_steal_request_poll, hia_steal_request_close) must reply.
 *   2. A task lies in at most one mailbox. It leaves by exactly one of hia_mailbox_take (the
 *      thief's) and hia_mailbox_take_back (the owner's): both change the same word from the
 *      task.
 *   3. A thief requests again only when its mailbox is not REQUESTED and holds no task: it takes
 *      whatever it is given. So a task that its owner does not find in the mailbox any more was
 *      taken.
 *   4. A thief finishes what it took, and touches nothing of the task afterwards.
 *   5. A thread that unparks another, after it has made true what that one waits for, wakes it:
 *      the sleeper sets its parker to asleep before it looks for the last time; the other looks
 *      at the parker after what it did. This requires sequential consistency, which every
 *      operation here has.
 *   6. No thread enters a rundown (hia_rundown_enter true) after hia_rundown_close has returned
 *      and the count has been seen 0. But a thread that leaves it then may still look at it and
 *      unpark its parker, and one that comes too late enters and leaves it: its memory has to be
 *      counted otherwise (native/team.c: references of a team).
 *
 * tests/unit/runtime/test_handoff.c explores what can happen; it defines its own HIA_FUTEX_WAIT and
 * HIA_FUTEX_WAKE. A stress build defines HIA_ATOMIC_HOOK(), which stands before each operation. */
#ifndef HIA_HANDOFF_H
#define HIA_HANDOFF_H

#include "runtime/base/base.h"
#include <errno.h>
#include <stdatomic.h>

#ifndef HIA_ATOMIC_HOOK
#ifdef HIA_STRESS
void hiaR_stress_yield(void); /* pool.c: lets another thread run now and then */
#define HIA_ATOMIC_HOOK() hiaR_stress_yield()
#else
#define HIA_ATOMIC_HOOK() ((void)0)
#endif
#endif

#ifndef HIA_FUTEX_WAIT
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A thread's timers may be late by its slack, 50 us by default, which is more than the shortest
 * sleeps. So short sleeps set it to the least. The thread may be the host's: its slack is put back.
 */
enum { HIA_SHORT_NS = 100000 };
static inline int hiaR_no_slack(void) {
  int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  if (slack > 1) prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  return slack;
}
static inline void hiaR_set_slack(int slack) {
  if (slack > 1) prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0, 0, 0);
}

/* Sleeps while *word is `value`, at most `ns` nanoseconds; 0: for good. May return early. Leaves
 * the host's errno as it was. */
static inline void hiaR_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns) {
  int error = errno;
  struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                          .tv_nsec = (long)(ns % 1000000000u)};
  int slack = ns && ns <= HIA_SHORT_NS ? hiaR_no_slack() : 0;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &time : NULL, NULL, 0);
  hiaR_set_slack(slack);
  errno = error;
}

/* The word need not exist any more: the system ignores a wake-up that no thread waits for. */
static inline void hiaR_futex_wake(_Atomic uint32_t *word) {
  int error = errno;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  errno = error;
}
#define HIA_FUTEX_WAIT(word, value, ns) hiaR_futex_wait((word), (value), (ns))
#define HIA_FUTEX_WAKE(word)            hiaR_futex_wake(word)
#endif

#define HIA_ATOMIC_LOAD(p)     (HIA_ATOMIC_HOOK(), atomic_load(p))
#define HIA_ATOMIC_STORE(p, v) (HIA_ATOMIC_HOOK(), atomic_store((p), (v)))
#define HIA_ATOMIC_SWAP(p, v)  (HIA_ATOMIC_HOOK(), atomic_exchange((p), (v)))
#define HIA_ATOMIC_ADD(p, v)   (HIA_ATOMIC_HOOK(), atomic_fetch_add((p), (v)))
#define HIA_ATOMIC_SUB(p, v)   (HIA_ATOMIC_HOOK(), atomic_fetch_sub((p), (v)))
#define HIA_ATOMIC_OR(p, v)    (HIA_ATOMIC_HOOK(), atomic_fetch_or((p), (v)))
#define HIA_ATOMIC_AND(p, v)   (HIA_ATOMIC_HOOK(), atomic_fetch_and((p), (v)))
#define HIA_ATOMIC_CAS(p, was, now)                                                                \
  (HIA_ATOMIC_HOOK(), atomic_compare_exchange_strong((p), (was), (now)))

/* Stands between two reads of a word that another worker writes. */
#if defined(__x86_64__)
#define HIA_PAUSE() __builtin_ia32_pause()
#else
#define HIA_PAUSE() ((void)0)
#endif

/* ---- parkers ----
 *
 *   hia_parker_arm(parker);
 *   if (what the thread waits for is not there yet) hia_parker_park(parker, ns);
 *   hia_parker_disarm(parker); */

typedef struct hia_parker {
  _Atomic uint32_t is_asleep;
} hia_parker;

static inline void hia_parker_arm(hia_parker *parker) { HIA_ATOMIC_STORE(&parker->is_asleep, 1); }
static inline void hia_parker_park(hia_parker *parker, uint64_t ns) {
  HIA_FUTEX_WAIT(&parker->is_asleep, 1, ns);
}
static inline void hia_parker_disarm(hia_parker *parker) {
  HIA_ATOMIC_STORE(&parker->is_asleep, 0);
}

/* When two threads unpark at once, the one that changed the word wakes the sleeper. */
static inline void hia_parker_unpark(hia_parker *parker) {
  if (HIA_ATOMIC_LOAD(&parker->is_asleep) && HIA_ATOMIC_SWAP(&parker->is_asleep, 0))
    HIA_FUTEX_WAKE(&parker->is_asleep);
}

/* ---- backoff ---- */

/* How a worker that finds nothing to do waits: it looks again at once for some microseconds, then
 * sleeps, longer each time. */
#define HIA_MAX_BACKOFF_NS 1000000u
typedef struct hia_backoff {
  uint64_t since, ns;
} hia_backoff;
static inline hia_backoff hiaR_backoff_start(void) { return (hia_backoff){hiaR_now(), 0}; }
static inline uint64_t hiaR_backoff_next(hia_backoff *backoff) {
#ifdef HIA_STRESS
  const uint64_t eager = 100, first = 1000;
#else
  const uint64_t eager = 4000, first = 5000;
#endif
  if (!backoff->ns && hiaR_now() - backoff->since < eager) return 0;
  uint64_t ns = backoff->ns ? backoff->ns * 2 : first;
  return backoff->ns = ns < HIA_MAX_BACKOFF_NS ? ns : HIA_MAX_BACKOFF_NS;
}

/* ---- steal requests and mailboxes ---- */

/* What a mailbox holds that is no task; tasks are multiples of 8. */
enum { HIA_MAILBOX_EMPTY = 0, HIA_MAILBOX_REQUESTED = 1 };

typedef struct hia_mailbox {
  _Atomic uintptr_t task; /* or EMPTY, REQUESTED */
  hia_parker *parker;     /* of the worker whose mailbox it is */
} hia_mailbox;

enum { HIA_STEAL_REQUEST_CLOSED = 0, HIA_STEAL_REQUEST_OPEN = 1 };

typedef struct hia_steal_request {
  _Atomic uintptr_t thief; /* the thief's mailbox; or CLOSED, OPEN */
} hia_steal_request;

static inline hia_mailbox *hia_steal_request_mailbox(uintptr_t thief) {
  return thief > HIA_STEAL_REQUEST_OPEN ? (hia_mailbox *)thief : NULL;
}

/* The owner: from now on others may post. */
static inline void hia_steal_request_open(hia_steal_request *request) {
  HIA_ATOMIC_STORE(&request->thief, HIA_STEAL_REQUEST_OPEN);
}
/* The owner: no thief may post any more. The mailbox of the one that has, which must get a reply
 * now; NULL: none has. */
static inline hia_mailbox *hia_steal_request_close(hia_steal_request *request) {
  return hia_steal_request_mailbox(HIA_ATOMIC_SWAP(&request->thief, HIA_STEAL_REQUEST_CLOSED));
}
/* The owner, while the request is open: the same, and the request stays open. */
static inline hia_mailbox *hia_steal_request_poll(hia_steal_request *request) {
  if (HIA_ATOMIC_LOAD(&request->thief) == HIA_STEAL_REQUEST_OPEN) return NULL;
  return hia_steal_request_mailbox(HIA_ATOMIC_SWAP(&request->thief, HIA_STEAL_REQUEST_OPEN));
}

/* A thief, with its own mailbox. False: the request is closed, or another thief has posted. */
static inline bool hia_steal_request_post(hia_steal_request *request, hia_mailbox *mailbox) {
  uintptr_t open = HIA_STEAL_REQUEST_OPEN;
  if (HIA_ATOMIC_LOAD(&request->thief) != HIA_STEAL_REQUEST_OPEN) return false;
  HIA_ATOMIC_STORE(&mailbox->task, HIA_MAILBOX_REQUESTED);
  if (HIA_ATOMIC_CAS(&request->thief, &open, (uintptr_t)mailbox)) return true;
  HIA_ATOMIC_STORE(&mailbox->task, HIA_MAILBOX_EMPTY);
  return false;
}

/* The thief. False: a reply is there or on its way, and the thief must wait for it. */
static inline bool hia_steal_request_withdraw(hia_steal_request *request, hia_mailbox *mailbox) {
  uintptr_t thief = (uintptr_t)mailbox;
  if (!HIA_ATOMIC_CAS(&request->thief, &thief, HIA_STEAL_REQUEST_OPEN)) return false;
  HIA_ATOMIC_STORE(&mailbox->task, HIA_MAILBOX_EMPTY);
  return true;
}

/* The owner of a request, to a mailbox that it got from it: a task, or NULL. */
static inline void hia_mailbox_reply(hia_mailbox *mailbox, void *task) {
  hia_parker *parker = mailbox->parker;
  HIA_ATOMIC_STORE(&mailbox->task, (uintptr_t)task);
  hia_parker_unpark(parker);
}

/* The thief: true if the reply is there. */
static inline bool hia_mailbox_has_reply(hia_mailbox *mailbox) {
  return HIA_ATOMIC_LOAD(&mailbox->task) != HIA_MAILBOX_REQUESTED;
}
/* The thief, which has a reply: the task; NULL if it got none, or the owner took it back. */
static inline void *hia_mailbox_take(hia_mailbox *mailbox) {
  uintptr_t task = HIA_ATOMIC_LOAD(&mailbox->task);
  if (task == HIA_MAILBOX_EMPTY) return NULL;
  return HIA_ATOMIC_CAS(&mailbox->task, &task, HIA_MAILBOX_EMPTY) ? (void *)task : NULL;
}
/* The owner of a task that it put into this mailbox: true if no thief has taken it, or ever will.
 */
static inline bool hia_mailbox_take_back(hia_mailbox *mailbox, void *task) {
  uintptr_t was = (uintptr_t)task;
  return HIA_ATOMIC_CAS(&mailbox->task, &was, HIA_MAILBOX_EMPTY);
}

/* ---- finishing ---- */

/* The last thing that a thief does with a task, whose results it has written. `parker` is the
 * owner's. */
static inline void hia_finish(_Atomic uint32_t *is_done, hia_parker *parker) {
  HIA_ATOMIC_STORE(is_done, 1);
  hia_parker_unpark(parker);
}
static inline bool hia_is_done(_Atomic uint32_t *is_done) { return HIA_ATOMIC_LOAD(is_done) != 0; }

/* ---- idle workers ----
 *
 * A set of workers, as bits. A worker that claims another one has something for it, and brings it
 * soon. Meanwhile the claimed worker may have got something elsewhere, and have entered the set
 * again. */

typedef _Atomic uint64_t hia_idle_set;
typedef _Atomic uint32_t hia_claims; /* claims of a worker that are under way */

/* False: the worker is in the set already. */
static inline bool hia_idle_enter(hia_idle_set *set, uint64_t bit) {
  return !(HIA_ATOMIC_OR(set, bit) & bit);
}
/* The worker itself. False: another worker has claimed it. */
static inline bool hia_idle_exit(hia_idle_set *set, uint64_t bit) {
  return HIA_ATOMIC_AND(set, ~bit) & bit;
}
/* Another worker. True: it brings the claimed worker what it has, or enters it again; then it ends
 * the claim. */
static inline bool hia_idle_claim(hia_idle_set *set, uint64_t bit, hia_claims *claims) {
  HIA_ATOMIC_ADD(claims, 1);
  if (HIA_ATOMIC_AND(set, ~bit) & bit) return true;
  HIA_ATOMIC_SUB(claims, 1);
  return false;
}
static inline void hia_claim_end(hia_claims *claims) { HIA_ATOMIC_SUB(claims, 1); }
/* The worker itself, when it is not in the set. True: nothing more comes, once it has looked again,
 * afterwards, at what has come. */
static inline bool hia_is_unclaimed(hia_claims *claims) { return HIA_ATOMIC_LOAD(claims) == 0; }

/* ---- rundowns: the workers that are in a run ---- */

typedef struct hia_rundown {
  _Atomic uint32_t n_inside, is_closed;
  hia_parker parker; /* of the thread that closes it */
} hia_rundown;

static inline void hia_rundown_leave(hia_rundown *rundown) {
  if (HIA_ATOMIC_SUB(&rundown->n_inside, 1) == 1 && HIA_ATOMIC_LOAD(&rundown->is_closed))
    hia_parker_unpark(&rundown->parker);
}
/* False: it is closed. */
static inline bool hia_rundown_enter(hia_rundown *rundown) {
  HIA_ATOMIC_ADD(&rundown->n_inside, 1);
  if (!HIA_ATOMIC_LOAD(&rundown->is_closed)) return true;
  hia_rundown_leave(rundown);
  return false;
}
static inline void hia_rundown_close(hia_rundown *rundown) {
  HIA_ATOMIC_STORE(&rundown->is_closed, 1);
}
static inline bool hia_rundown_is_empty(hia_rundown *rundown) {
  return HIA_ATOMIC_LOAD(&rundown->n_inside) == 0;
}
static inline bool hia_rundown_is_closed(hia_rundown *rundown) {
  return HIA_ATOMIC_LOAD(&rundown->is_closed) != 0;
}

#endif
