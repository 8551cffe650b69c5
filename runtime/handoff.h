/* How work moves between workers without locks: asking, giving, taking, taking back, finishing,
 * sleeping and waking; and how a run knows that nobody is in it any more.
 *
 * Each worker has
 *
 *   a door   where others ask for work. It is open while the worker runs compiled code, which will
 *            come to a comparison with its limit, and closed while it waits. One asks at a time.
 *   a box    where the answer to its own asking arrives: a piece of work, or that there is none
 *   a bell   what it sleeps on
 *
 * Invariants, in the order of a piece's life:
 *
 *   1. Who asks (hia_steal_request_post true) gets exactly one answer, unless it withdraws in time:
 * the box leaves ASKED exactly once, by the hand of the door's owner, or stays ASKED and the door
 * forgets it. So the owner of a door that takes a box from it (hia_steal_request_poll,
 * hia_steal_request_close) must answer.
 *   2. A piece lies in at most one box. It leaves by exactly one of hia_mailbox_take (its asker's)
 * and hia_mailbox_take_back (its owner's): both change the same word from the piece.
 *   3. A box is asked for again only when it is not ASKED and holds no piece: an asker takes
 *      whatever is given, so a piece that its owner does not find in the box any more was taken.
 *   4. A taker finishes what it took. Nothing of the piece is touched by it afterwards.
 *   5. Who rings after having made true what a sleeper waits for wakes it: the sleeper puts the
 *      bell to ASLEEP before it looks for the last time, the ringer looks at the bell after what it
 *      did. This needs sequential consistency, which every operation here has.
 *   6. Nobody passes a gate that is shut (hia_rundown_enter true) after hia_rundown_close has
 * returned and the count has been seen 0. But who leaves it then may still look at it and ring its
 * bell, and who comes too late enters and leaves it: its memory has to be counted otherwise
 *      (pool.c: references of a team).
 *
 * tests/unit/test_handoff.c explores what can happen; it defines its own HIA_FUTEX_WAIT and
 * HIA_FUTEX_WAKE. A stress build defines HIA_ATOMIC_HOOK(), which stands before each operation. */
#ifndef HIA_HANDOFF_H
#define HIA_HANDOFF_H

#include "runtime/base/base.h"
#include <errno.h>
#include <stdatomic.h>

#ifndef HIA_ATOMIC_HOOK
#ifdef HIA_STRESS
void hiaR_stress_yield(void); /* pool.c: now and then lets another thread run */
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

/* A thread's timers may be late by its slack, 50 us unless somebody changed it: no sleep of a few
 * microseconds is one, then. Short ones have none; the thread may be the host's, and keeps its own.
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

/* Sleeps while *word is `value`, at most `ns` nanoseconds; 0: for good. May come back early. A
 * host's errno is not ours to change. */
static inline void hiaR_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns) {
  int error = errno;
  struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                          .tv_nsec = (long)(ns % 1000000000u)};
  int slack = ns && ns <= HIA_SHORT_NS ? hiaR_no_slack() : 0;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &time : NULL, NULL, 0);
  hiaR_set_slack(slack);
  errno = error;
}

/* The word need not exist any more: a wake-up that nobody waits for is nothing. */
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

/* Between looks at a word that another worker writes. */
#if defined(__x86_64__)
#define HIA_PAUSE() __builtin_ia32_pause()
#else
#define HIA_PAUSE() ((void)0)
#endif

/* ---- bells ----
 *
 *   hia_parker_arm(bell);
 *   if (there is nothing to wake up for yet) hia_parker_park(bell, ns);
 *   hia_parker_disarm(bell); */

typedef struct hia_parker {
  _Atomic uint32_t is_asleep;
} hia_parker;

static inline void hia_parker_arm(hia_parker *bell) { HIA_ATOMIC_STORE(&bell->is_asleep, 1); }
static inline void hia_parker_park(hia_parker *bell, uint64_t ns) {
  HIA_FUTEX_WAIT(&bell->is_asleep, 1, ns);
}
static inline void hia_parker_disarm(hia_parker *bell) { HIA_ATOMIC_STORE(&bell->is_asleep, 0); }

/* Two that ring at once wake once: whoever changed the word. */
static inline void hia_parker_unpark(hia_parker *bell) {
  if (HIA_ATOMIC_LOAD(&bell->is_asleep) && HIA_ATOMIC_SWAP(&bell->is_asleep, 0))
    HIA_FUTEX_WAKE(&bell->is_asleep);
}

/* ---- boxes and doors ---- */

/* What a box holds that is no piece of work; pieces are multiples of 8. */
enum { HIA_MAILBOX_EMPTY = 0, HIA_MAILBOX_REQUESTED = 1 };

typedef struct hia_mailbox {
  _Atomic uintptr_t piece; /* or NOTHING, ASKED */
  hia_parker *bell;        /* of whose box it is */
} hia_mailbox;

enum { HIA_STEAL_REQUEST_CLOSED = 0, HIA_STEAL_REQUEST_OPEN = 1 };

typedef struct hia_steal_request {
  _Atomic uintptr_t who; /* asks: its box; or CLOSED, OPEN */
} hia_steal_request;

static inline hia_mailbox *hia_steal_request_mailbox(uintptr_t who) {
  return who > HIA_STEAL_REQUEST_OPEN ? (hia_mailbox *)who : NULL;
}

/* Its owner: from now on others may ask. */
static inline void hia_steal_request_open(hia_steal_request *door) {
  HIA_ATOMIC_STORE(&door->who, HIA_STEAL_REQUEST_OPEN);
}
/* Its owner: who asks, and has to be answered now; NULL: nobody. */
static inline hia_mailbox *hia_steal_request_close(hia_steal_request *door) {
  return hia_steal_request_mailbox(HIA_ATOMIC_SWAP(&door->who, HIA_STEAL_REQUEST_CLOSED));
}
/* The same, and stays open. Only while it is open. */
static inline hia_mailbox *hia_steal_request_poll(hia_steal_request *door) {
  if (HIA_ATOMIC_LOAD(&door->who) == HIA_STEAL_REQUEST_OPEN) return NULL;
  return hia_steal_request_mailbox(HIA_ATOMIC_SWAP(&door->who, HIA_STEAL_REQUEST_OPEN));
}

/* Another worker: asks with its box. False if the door is closed or somebody else is asking. */
static inline bool hia_steal_request_post(hia_steal_request *door, hia_mailbox *box) {
  uintptr_t open = HIA_STEAL_REQUEST_OPEN;
  if (HIA_ATOMIC_LOAD(&door->who) != HIA_STEAL_REQUEST_OPEN) return false;
  HIA_ATOMIC_STORE(&box->piece, HIA_MAILBOX_REQUESTED);
  if (HIA_ATOMIC_CAS(&door->who, &open, (uintptr_t)box)) return true;
  HIA_ATOMIC_STORE(&box->piece, HIA_MAILBOX_EMPTY);
  return false;
}

/* Who asked: false if an answer is there or on its way, which must then be waited for. */
static inline bool hia_steal_request_withdraw(hia_steal_request *door, hia_mailbox *box) {
  uintptr_t who = (uintptr_t)box;
  if (!HIA_ATOMIC_CAS(&door->who, &who, HIA_STEAL_REQUEST_OPEN)) return false;
  HIA_ATOMIC_STORE(&box->piece, HIA_MAILBOX_EMPTY);
  return true;
}

/* The door's owner, to a box that it got from it: a piece of work, or NULL. */
static inline void hia_mailbox_reply(hia_mailbox *box, void *piece) {
  hia_parker *bell = box->bell;
  HIA_ATOMIC_STORE(&box->piece, (uintptr_t)piece);
  hia_parker_unpark(bell);
}

/* Who asked: is there an answer? */
static inline bool hia_mailbox_has_reply(hia_mailbox *box) {
  return HIA_ATOMIC_LOAD(&box->piece) != HIA_MAILBOX_REQUESTED;
}
/* Who asked, and was answered: the piece; NULL if it got none, or its owner has it again. */
static inline void *hia_mailbox_take(hia_mailbox *box) {
  uintptr_t piece = HIA_ATOMIC_LOAD(&box->piece);
  if (piece == HIA_MAILBOX_EMPTY) return NULL;
  return HIA_ATOMIC_CAS(&box->piece, &piece, HIA_MAILBOX_EMPTY) ? (void *)piece : NULL;
}
/* Whose piece it is, and gave it to this box: true if it is not taken, nor ever will be. */
static inline bool hia_mailbox_take_back(hia_mailbox *box, void *piece) {
  uintptr_t was = (uintptr_t)piece;
  return HIA_ATOMIC_CAS(&box->piece, &was, HIA_MAILBOX_EMPTY);
}

/* ---- finishing ---- */

/* The last that a taker does with a piece: its results are written, `bell` is its owner's. */
static inline void hia_finish(_Atomic uint32_t *is_done, hia_parker *bell) {
  HIA_ATOMIC_STORE(is_done, 1);
  hia_parker_unpark(bell);
}
static inline bool hia_is_done(_Atomic uint32_t *is_done) { return HIA_ATOMIC_LOAD(is_done) != 0; }

/* ---- who has nothing to do ----
 *
 * A set of workers, as bits. Who claims one of them has something for it, and brings it soon;
 * before that the worker may have had news from elsewhere, and be in the set again. */

typedef _Atomic uint64_t hia_idle_set;
typedef _Atomic uint32_t hia_claims; /* on a worker, under way */

/* False: it is there already. */
static inline bool hia_idle_enter(hia_idle_set *set, uint64_t bit) {
  return !(HIA_ATOMIC_OR(set, bit) & bit);
}
/* The worker itself. False: somebody has claimed it. */
static inline bool hia_idle_exit(hia_idle_set *set, uint64_t bit) {
  return HIA_ATOMIC_AND(set, ~bit) & bit;
}
/* Another one. True: what it has for the worker goes there, or it enters it again; then the claim
 * is over. */
static inline bool hia_idle_claim(hia_idle_set *set, uint64_t bit, hia_claims *claims) {
  HIA_ATOMIC_ADD(claims, 1);
  if (HIA_ATOMIC_AND(set, ~bit) & bit) return true;
  HIA_ATOMIC_SUB(claims, 1);
  return false;
}
static inline void hia_claim_end(hia_claims *claims) { HIA_ATOMIC_SUB(claims, 1); }
/* The worker itself, when it is not in the set: is it sure that nothing more comes, once it has
 * looked (again, afterwards) at what has come? */
static inline bool hia_is_unclaimed(hia_claims *claims) { return HIA_ATOMIC_LOAD(claims) == 0; }

/* ---- gates: who is in a run ---- */

typedef struct hia_rundown {
  _Atomic uint32_t n_inside, is_closed;
  hia_parker bell; /* of who shuts it */
} hia_rundown;

static inline void hia_rundown_leave(hia_rundown *gate) {
  if (HIA_ATOMIC_SUB(&gate->n_inside, 1) == 1 && HIA_ATOMIC_LOAD(&gate->is_closed))
    hia_parker_unpark(&gate->bell);
}
/* False if it is shut. */
static inline bool hia_rundown_enter(hia_rundown *gate) {
  HIA_ATOMIC_ADD(&gate->n_inside, 1);
  if (!HIA_ATOMIC_LOAD(&gate->is_closed)) return true;
  hia_rundown_leave(gate);
  return false;
}
static inline void hia_rundown_close(hia_rundown *gate) { HIA_ATOMIC_STORE(&gate->is_closed, 1); }
static inline bool hia_rundown_is_empty(hia_rundown *gate) {
  return HIA_ATOMIC_LOAD(&gate->n_inside) == 0;
}
static inline bool hia_rundown_is_closed(hia_rundown *gate) {
  return HIA_ATOMIC_LOAD(&gate->is_closed) != 0;
}

#endif
