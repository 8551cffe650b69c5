/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* handoff: all interleavings of two or three workers that pass tasks to each other. No task is lost
 * or run twice, no worker sleeps for ever or is inside a run that is over, and no memory is
 * accessed after it was given up.
 *
 * The exploration is exhaustive for sequentially consistent memory (all operations are sequentially
 * consistent), without timeouts (a worker that could continue only after one is stuck), and for the
 * operations of each case:
 *
 *   - mailboxes and requests: an owner that polls twice, joins one or two tasks and closes its
 *     request; a thief that waits, withdraws, or withdraws and posts again; two thieves with one
 *     victim;
 *   - helping: an owner that waits, and tries to steal from its thief, which has a task of its own;
 *   - joins: taking a task back, waiting for its end, and using its memory again;
 *   - rundowns: a host that closes one, and a visitor that enters it twice, or two visitors; a
 *     team's memory, used again when there are no references to it (team.c);
 *   - idle workers: a worker that rests and leaves its thread, as in sched.c, while another one
 *     gives it a job, and while a job of its own comes back; it then gets another thread.
 *
 * Each operation is also replaced by wrong ones, with mistakes that are easily made. The
 * exploration must then find an execution that shows the mistake. */
#include "tests/unit/helpers/explore.h"
#include <criterion/criterion.h>
#include <stdatomic.h>

/* Participants are abandoned in the middle of an execution: the sanitizer must not track frames. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("address"))), apply_to = function)
#endif

#define HIA_ATOMIC_HOOK()               ((void)0)
#define HIA_FUTEX_WAIT(word, value, ns) ((void)(ns), model_futex_wait((word), (value)))
#define HIA_FUTEX_WAKE(word)            model_futex_wake(word)
#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_fetch_or
#undef atomic_fetch_and
#undef atomic_compare_exchange_strong
#define SC             memory_order_seq_cst
#define SAW(p, value)  ((__typeof__(atomic_load_explicit((p), SC)))explore_saw((uint64_t)(value)))
#define atomic_load(p) (explore_before(p), SAW(p, atomic_load_explicit((p), SC)))
#define atomic_store(p, v)                                                                         \
  (explore_before(p), atomic_store_explicit((p), (v), SC), (void)explore_saw(0))
#define atomic_exchange(p, v)  (explore_before(p), SAW(p, atomic_exchange_explicit((p), (v), SC)))
#define atomic_fetch_add(p, v) (explore_before(p), SAW(p, atomic_fetch_add_explicit((p), (v), SC)))
#define atomic_fetch_sub(p, v) (explore_before(p), SAW(p, atomic_fetch_sub_explicit((p), (v), SC)))
#define atomic_fetch_or(p, v)  (explore_before(p), SAW(p, atomic_fetch_or_explicit((p), (v), SC)))
#define atomic_fetch_and(p, v) (explore_before(p), SAW(p, atomic_fetch_and_explicit((p), (v), SC)))
#define atomic_compare_exchange_strong(p, was, now)                                                \
  (explore_before(p), atomic_compare_exchange_strong_explicit((p), (was), (now), SC, SC)           \
                          ? explore_saw(1) != 0                                                    \
                          : (explore_saw(2), explore_saw((uint64_t)*(was)), false))

static inline void model_futex_wait(_Atomic uint32_t *word, uint32_t value) {
  explore_before(word);
  bool is_still = explore_saw(atomic_load_explicit(word, SC)) == value;
  if (is_still) explore_block(word);
}
/* Also wakes a participant that sleeps on a word whose memory is used again. */
static inline void model_futex_wake(_Atomic uint32_t *word) {
  explore_before(NULL);
  explore_saw(0);
  explore_wake(word);
}

#include "runtime/threads/handoff.h"

/* ---- the operations, and wrong versions of them ---- */

typedef struct operations {
  hia_mailbox *(*request_close)(hia_steal_request *request);
  hia_mailbox *(*request_poll)(hia_steal_request *request);
  bool (*post_request)(hia_steal_request *request, hia_mailbox *mailbox);
  bool (*withdraw)(hia_steal_request *request, hia_mailbox *mailbox);
  void (*reply)(hia_mailbox *mailbox, void *task);
  void *(*take)(hia_mailbox *mailbox);
  bool (*take_back)(hia_mailbox *mailbox, void *task);
  void (*finish)(_Atomic uint32_t *is_done, hia_parker *parker);
  bool (*rundown_enter)(hia_rundown *rundown);
  void (*rundown_leave)(hia_rundown *rundown);
  void (*rundown_close)(hia_rundown *rundown);
  bool looks_before_arming, closes_without_reply, forgets_references;
  bool leaves_claimed, leaves_with_news, leaves_too_early;
} operations;

#define RIGHT                                                                                      \
  .request_close = hia_steal_request_close, .request_poll = hia_steal_request_poll,                \
  .post_request = hia_steal_request_post, .withdraw = hia_steal_request_withdraw,                  \
  .reply = hia_mailbox_reply, .take = hia_mailbox_take, .take_back = hia_mailbox_take_back,        \
  .finish = hia_finish, .rundown_enter = hia_rundown_enter, .rundown_leave = hia_rundown_leave,    \
  .rundown_close = hia_rundown_close

static hia_mailbox *close_in_two(hia_steal_request *request) {
  uintptr_t thief = atomic_load(&request->thief);
  atomic_store(&request->thief, HIA_STEAL_REQUEST_CLOSED);
  return hia_steal_request_mailbox(thief);
}
static hia_mailbox *poll_in_two(hia_steal_request *request) {
  uintptr_t thief = atomic_load(&request->thief);
  if (thief != HIA_STEAL_REQUEST_OPEN) atomic_store(&request->thief, HIA_STEAL_REQUEST_OPEN);
  return hia_steal_request_mailbox(thief);
}
static bool post_in_two(hia_steal_request *request, hia_mailbox *mailbox) {
  if (atomic_load(&request->thief) != HIA_STEAL_REQUEST_OPEN) return false;
  atomic_store(&mailbox->task, HIA_MAILBOX_REQUESTED);
  atomic_store(&request->thief, (uintptr_t)mailbox);
  return true;
}
static bool post_then_mark(hia_steal_request *request, hia_mailbox *mailbox) {
  uintptr_t open = HIA_STEAL_REQUEST_OPEN;
  if (!atomic_compare_exchange_strong(&request->thief, &open, (uintptr_t)mailbox)) return false;
  atomic_store(&mailbox->task, HIA_MAILBOX_REQUESTED);
  return true;
}
static bool withdraw_in_two(hia_steal_request *request, hia_mailbox *mailbox) {
  if (atomic_load(&request->thief) != (uintptr_t)mailbox) return false;
  atomic_store(&request->thief, HIA_STEAL_REQUEST_OPEN);
  atomic_store(&mailbox->task, HIA_MAILBOX_EMPTY);
  return true;
}
static bool withdraw_unseen(hia_steal_request *request,
                            hia_mailbox *mailbox) { /* the reply may be on its way */
  hia_steal_request_withdraw(request, mailbox);
  return true;
}
static void unpark_then_reply(hia_mailbox *mailbox, void *task) {
  hia_parker_unpark(mailbox->parker);
  atomic_store(&mailbox->task, (uintptr_t)task);
}
static void reply_without_unpark(hia_mailbox *mailbox, void *task) {
  atomic_store(&mailbox->task, (uintptr_t)task);
}
static void *take_in_two(hia_mailbox *mailbox) {
  uintptr_t task = atomic_load(&mailbox->task);
  atomic_store(&mailbox->task, HIA_MAILBOX_EMPTY);
  return (void *)task;
}
static bool take_back_in_two(hia_mailbox *mailbox, void *task) {
  if (atomic_load(&mailbox->task) != (uintptr_t)task) return false;
  atomic_store(&mailbox->task, HIA_MAILBOX_EMPTY);
  return true;
}
static void unpark_then_finish(_Atomic uint32_t *is_done, hia_parker *parker) {
  hia_parker_unpark(parker);
  atomic_store(is_done, 1);
}
static void finish_twice(_Atomic uint32_t *is_done,
                         hia_parker *parker) { /* touches it afterwards */
  hia_finish(is_done, parker);
  if (!atomic_load(is_done)) atomic_store(is_done, 1);
}
static bool enter_in_two(hia_rundown *rundown) {
  if (atomic_load(&rundown->is_closed)) return false;
  atomic_fetch_add(&rundown->n_inside, 1);
  return true;
}
static void leave_without_unpark(hia_rundown *rundown) { atomic_fetch_sub(&rundown->n_inside, 1); }
static void
leave_in_two(hia_rundown *rundown) { /* neither of two that leave may see that it is the last */
  uint32_t n = atomic_load(&rundown->n_inside);
  atomic_store(&rundown->n_inside, n - 1);
  if (n == 1) hia_parker_unpark(&rundown->parker);
}

static void leave_open(hia_rundown *rundown) { (void)rundown; }
static void reply_without_wake(hia_mailbox *mailbox, void *task) {
  hia_parker *parker = mailbox->parker;
  atomic_store(&mailbox->task, (uintptr_t)task);
  atomic_exchange(&parker->is_asleep, 0);
}
static void reply_after_check(hia_mailbox *mailbox,
                              void *task) { /* the thief may have gone to sleep in between */
  bool is_asleep = atomic_load(&mailbox->parker->is_asleep);
  atomic_store(&mailbox->task, (uintptr_t)task);
  if (is_asleep) hia_parker_unpark(mailbox->parker);
}
static void finish_without_unpark(_Atomic uint32_t *is_done, hia_parker *parker) {
  (void)parker;
  atomic_store(is_done, 1);
}

static operations op;

/* ---- the shared memory ---- */

typedef struct task {
  _Atomic uint32_t is_done;
  uint32_t n_runs;    /* not atomic: only one worker at a time may run a task */
  hia_mailbox *given; /* used by its owner: the mailbox that it was put into */
  hia_parker *parker; /* its owner's */
  uint64_t pad;
} task;

typedef struct worker {
  hia_steal_request request;
  hia_mailbox mailbox;
  hia_parker parker;
} worker;

static struct {
  worker w[3];
  task tasks[3];
  hia_rundown rundown;
  _Atomic uint32_t is_over; /* the run of `rundown` has ended */
  _Atomic uint32_t n_references;

  /* Of an idle worker: its inbox (a number of jobs), the number of jobs it had, whether it has a
   * thread, or gets one; `start` starts its second thread; n_given jobs are away. */
  hia_idle_set idle;
  hia_claims claims;
  hia_parker parker, start;
  _Atomic uint32_t inbox, n_taken, is_born, may_start, is_all;
  uint32_t n_given, n_jobs;
} shared;
#define w       shared.w
#define tasks   shared.tasks
#define rundown shared.rundown

static void begin(void) {
  for (int i = 0; i < 3; i++) w[i].mailbox.parker = &w[i].parker;
}
#define CASE(n_, end_, ...)                                                                        \
  {.n = (n_),                                                                                      \
   .memory = &shared,                                                                              \
   .size = sizeof shared,                                                                          \
   .begin = begin,                                                                                 \
   .body = {__VA_ARGS__},                                                                          \
   .end = (end_)}

#define WAIT_UNTIL(parker_, condition)                                                             \
  while (!(condition)) {                                                                           \
    if (op.looks_before_arming) {                                                                  \
      hia_parker_arm(parker_);                                                                     \
      hia_parker_park((parker_), 0);                                                               \
    } else {                                                                                       \
      hia_parker_arm(parker_);                                                                     \
      if (!(condition)) hia_parker_park((parker_), 0);                                             \
    }                                                                                              \
    hia_parker_disarm(parker_);                                                                    \
  }

static void run_piece(task *p) { explore_check(p->n_runs++ == 0, "a task is run twice"); }

/* The owner of a request polls: it replies to a thief with `p` (NULL: without a task). */
static void poll(worker *self, task *p) {
  hia_mailbox *mailbox = op.request_poll(&self->request);
  if (!mailbox) return;
  if (p && !p->given) {
    p->given = mailbox;
    p->parker = &self->parker;
    op.reply(mailbox, p);
  } else {
    op.reply(mailbox, NULL);
  }
}

static void close_request(worker *self) {
  hia_mailbox *mailbox = op.request_close(&self->request);
  if (mailbox && !op.closes_without_reply) op.reply(mailbox, NULL);
}

static void join(worker *self, task *p) {
  if (!p->given || op.take_back(p->given, p)) {
    run_piece(p);
    return;
  }
  close_request(self);
  WAIT_UNTIL(&self->parker, hia_is_done(&p->is_done));
  explore_check(p->n_runs == 1, "a task is done that was not run");
  explore_gone(&p->is_done, sizeof p->is_done); /* its record may have another owner now */
  hia_steal_request_open(&self->request);
}

/* Takes the task out of the mailbox of a worker that has a reply, and runs it. */
static bool take_and_run(worker *self) {
  task *p = op.take(&self->mailbox);
  if (!p) return false;
  run_piece(p);
  op.finish(&p->is_done, p->parker);
  return true;
}

static void wait_for_reply(worker *self) {
  WAIT_UNTIL(&self->parker, hia_mailbox_has_reply(&self->mailbox));
}

/* ---- an owner of a task, and a thief ---- */

static void owner_of_one(void) {
  hia_steal_request_open(&w[0].request);
  poll(&w[0], &tasks[0]);
  poll(&w[0], &tasks[0]);
  join(&w[0], &tasks[0]);
  close_request(&w[0]);
}
static void one_was_run(void) { explore_check(tasks[0].n_runs == 1, "a task is lost"); }

static void hungry(worker *self) {
  if (!op.post_request(&w[0].request, &self->mailbox)) return;
  wait_for_reply(self);
  take_and_run(self);
}
static void hungry_1(void) { hungry(&w[1]); }
static void hungry_2(void) { hungry(&w[2]); }

static const explore_case one_thief = CASE(2, one_was_run, owner_of_one, hungry_1);

/* ---- a thief that withdraws its request ---- */

static void impatient(worker *self) {
  if (!op.post_request(&w[0].request, &self->mailbox)) return;
  if (op.withdraw(&w[0].request, &self->mailbox)) return;
  wait_for_reply(self);
  take_and_run(self);
}
static void impatient_1(void) { impatient(&w[1]); }
static const explore_case one_withdraws = CASE(2, one_was_run, owner_of_one, impatient_1);

/* And posts it again. */
static void impatient_twice(void) {
  impatient(&w[1]);
  hungry(&w[1]);
}
static const explore_case one_posts_again = CASE(2, one_was_run, owner_of_one, impatient_twice);

/* ---- two thieves with one victim ---- */

static const explore_case two_thieves = CASE(3, one_was_run, owner_of_one, hungry_1, hungry_2);
static const explore_case two_thieves_one_withdraws =
    CASE(3, one_was_run, owner_of_one, impatient_1, hungry_2);

static void owner_of_two(void) {
  hia_steal_request_open(&w[0].request);
  poll(&w[0], &tasks[0]); /* the oldest first */
  poll(&w[0], tasks[0].given ? &tasks[1] : &tasks[0]);
  join(&w[0], &tasks[1]); /* the newest first */
  join(&w[0], &tasks[0]);
  close_request(&w[0]);
}
static void two_were_run(void) {
  explore_check(tasks[0].n_runs == 1 && tasks[1].n_runs == 1, "a task is lost");
}
static const explore_case two_pieces = CASE(3, two_were_run, owner_of_two, hungry_1, hungry_2);

/* ---- the owner waits, and meanwhile tries to steal from the thief of its task ---- */

static void owner_that_helps(void) {
  worker *self = &w[0];
  hia_steal_request_open(&self->request);
  poll(self, &tasks[0]);
  if (!tasks[0].given || op.take_back(tasks[0].given, &tasks[0])) {
    run_piece(&tasks[0]);
    close_request(self);
    return;
  }
  close_request(self);
  if (op.post_request(&w[1].request, &self->mailbox)) {
    WAIT_UNTIL(&self->parker,
               hia_mailbox_has_reply(&self->mailbox) || hia_is_done(&tasks[0].is_done));
    if (hia_mailbox_has_reply(&self->mailbox) || !op.withdraw(&w[1].request, &self->mailbox)) {
      wait_for_reply(self);
      take_and_run(self);
    }
  }
  WAIT_UNTIL(&self->parker, hia_is_done(&tasks[0].is_done));
  explore_gone(&tasks[0].is_done, sizeof tasks[0].is_done);
}
/* Its thief, which forks a task inside of the stolen one. */
static void thief_with_more(void) {
  worker *self = &w[1];
  if (!op.post_request(&w[0].request, &self->mailbox)) return;
  wait_for_reply(self);
  task *p = op.take(&self->mailbox);
  if (!p) return;
  run_piece(p);
  hia_steal_request_open(&self->request);
  poll(self, &tasks[1]);
  join(self, &tasks[1]);
  close_request(self);
  op.finish(&p->is_done, p->parker);
}
static void inner_was_run(void) {
  explore_check(tasks[0].n_runs == 1 && tasks[1].n_runs <= 1, "a task is lost");
}
static const explore_case waiter_helps = CASE(2, inner_was_run, owner_that_helps, thief_with_more);

/* ---- rundowns ---- */

static void be_inside(void) {
  if (!op.rundown_enter(&rundown)) return;
  explore_check(!atomic_load(&shared.is_over), "a worker is inside a run that is over");
  op.rundown_leave(&rundown);
}
static void visitor(void) { be_inside(); }
static void visitor_twice(void) {
  be_inside();
  be_inside();
}
static void host(void) {
  op.rundown_close(&rundown);
  WAIT_UNTIL(&rundown.parker, hia_rundown_is_empty(&rundown));
  atomic_store(&shared.is_over, 1);
}
static const explore_case one_visitor = CASE(2, NULL, host, visitor_twice);
static const explore_case two_visitors = CASE(3, NULL, host, visitor, visitor);

/* A worker that leaves a rundown may access it once more, to unpark its host, after the run has
 * ended. So a team is used again only when there are no references to it; a reference is given up
 * in one step, as under a lock. */
static void release(void) {
  if (atomic_fetch_sub(&shared.n_references, 1) == 1) explore_gone(&rundown, sizeof rundown);
}
static void begin_team(void) {
  begin();
  atomic_store(&shared.n_references, 3);
}
static void helper(void) {
  be_inside();
  if (!op.forgets_references) release();
}
static void host_of_team(void) {
  host();
  if (op.forgets_references)
    explore_gone(&rundown, sizeof rundown);
  else
    release();
}
static void team_is_gone(void) {
  explore_check(op.forgets_references || !atomic_load(&shared.n_references), "a team is lost");
}
static const explore_case team_of_three = {.n = 3,
                                           .memory = &shared,
                                           .size = sizeof shared,
                                           .begin = begin_team,
                                           .body = {host_of_team, helper, helper},
                                           .end = team_is_gone};

/* ---- idle workers, whose threads leave ---- */

#define BIT ((uint64_t)4)
enum { GIVEN = 1, BACK = 16 }; /* jobs in the inbox */

static bool has_news(void) { return atomic_load(&shared.inbox) || atomic_load(&shared.is_all); }

static void count_jobs(uint32_t n) {
  if (!n || atomic_fetch_add(&shared.n_taken, n) + n != shared.n_jobs) return;
  atomic_store(&shared.is_all, 1);
  hia_parker_unpark(&shared.parker);
  hia_parker_unpark(&shared.start);
}
static void take_jobs(void) {
  uint32_t n = atomic_exchange(&shared.inbox, 0);
  if (n >= BACK) shared.n_given = 0;
  count_jobs(n / BACK + n % BACK);
}

static bool may_leave(void) {
  if (shared.n_given) return false;
  if (!hia_idle_exit(&shared.idle, BIT)) return false;
  if ((op.leaves_claimed || hia_is_unclaimed(&shared.claims)) &&
      (op.leaves_with_news || !has_news()))
    return true;
  hia_idle_enter(&shared.idle, BIT);
  return false;
}

/* As in sched.c: works, rests, and leaves as soon as it may. */
static void be_worker(void) {
  while (!atomic_load(&shared.is_all)) {
    take_jobs();
    hia_idle_enter(&shared.idle, BIT);
    if (!has_news()) {
      if (may_leave()) {
        if (op.leaves_too_early) hia_idle_enter(&shared.idle, BIT);
        atomic_store(&shared.is_born, 0);
        hia_idle_enter(&shared.idle, BIT);
        return;
      }
      WAIT_UNTIL(&shared.parker, has_news());
    }
    hia_idle_exit(&shared.idle, BIT);
  }
}
/* After it has left, the first thread does nothing more, so it can also be the second one. */
static void threads(void) {
  be_worker();
  while (!atomic_load(&shared.is_all)) {
    WAIT_UNTIL(&shared.start, atomic_load(&shared.may_start) || atomic_load(&shared.is_all));
    if (atomic_exchange(&shared.may_start, 0)) be_worker();
  }
}

static void post(uint32_t what) {
  atomic_fetch_add(&shared.inbox, what);
  hia_parker_unpark(&shared.parker);
}
static void give_back(void) { post(BACK); }
/* Tries to give the worker a job, if it is idle. */
static void giver(void) {
  if (!(atomic_load(&shared.idle) & BIT) || !hia_idle_claim(&shared.idle, BIT, &shared.claims)) {
    count_jobs(1); /* runs it itself */
    return;
  }
  if (!atomic_load(&shared.is_born)) {
    atomic_store(&shared.is_born, 1);
    atomic_store(&shared.may_start, 1);
    hia_parker_unpark(&shared.start);
  }
  post(GIVEN);
  hia_claim_end(&shared.claims);
}
static void all_were_taken(void) {
  explore_check(atomic_load(&shared.n_taken) == shared.n_jobs && !atomic_load(&shared.inbox),
                "a job is lost");
}

static void begin_idle(void) {
  begin();
  shared.n_jobs = 1;
  atomic_store(&shared.is_born, 1);
}
static void begin_waiting(void) { /* one of the two jobs is one that the worker gave away */
  begin_idle();
  shared.n_given = 1;
  shared.n_jobs = 2;
}
static const explore_case idle_given_one = {.n = 2,
                                            .memory = &shared,
                                            .size = sizeof shared,
                                            .begin = begin_idle,
                                            .body = {threads, giver},
                                            .end = all_were_taken};
static const explore_case idle_given_back = {.n = 3,
                                             .memory = &shared,
                                             .size = sizeof shared,
                                             .begin = begin_waiting,
                                             .body = {threads, giver, give_back},
                                             .end = all_were_taken};

/* ---- the tests ---- */

static const struct {
  const char *name;
  const explore_case *c;
} cases[] = {
    /* the smaller ones first */
    {"a rundown, one visitor", &one_visitor},
    {"one thief", &one_thief},
    {"one withdraws", &one_withdraws},
    {"a rundown, two visitors", &two_visitors},
    {"one posts again", &one_posts_again},
    {"a team", &team_of_three},
    {"an owner helps its thief", &waiter_helps},
    {"an idle worker", &idle_given_one},
    {"an idle worker that waits", &idle_given_back},
    {"two thieves", &two_thieves},
    {"two thieves, one withdraws", &two_thieves_one_withdraws},
    {"two tasks", &two_pieces},
};

Test(handoff, every_interleaving_is_right) {
  op = (operations){RIGHT};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    explore_result r;
    explore(cases[i].c, &r);
    cr_log_info("%s: %llu states, %llu executions", cases[i].name, (unsigned long long)r.states,
                (unsigned long long)r.executions);
    cr_expect_str_empty(r.problem, "%s: %s, in %s", cases[i].name, r.problem, r.schedule);
    cr_expect_gt(r.states, 100, "%s: only %llu states", cases[i].name,
                 (unsigned long long)r.states);
  }
}

static void expect_found(const char *what) {
  explore_result r = {.executions = 0};
  size_t i = 0;
  for (; i < sizeof cases / sizeof *cases && !r.problem[0]; i++) explore(cases[i].c, &r);
  cr_expect_str_not_empty(r.problem, "%s: not found", what);
  if (r.problem[0]) cr_log_info("%s: %s (%s, %s)", what, r.problem, cases[i - 1].name, r.schedule);
  op = (operations){RIGHT};
}

#define WRONG(what, member, value)                                                                 \
  op.member = (value);                                                                             \
  expect_found(what)

Test(handoff, what_is_wrong_is_found) {
  op = (operations){RIGHT};
  WRONG("closing a request in two steps", request_close, close_in_two);
  WRONG("polling a request in two steps", request_poll, poll_in_two);
  WRONG("posting in two steps", post_request, post_in_two);
  WRONG("marking the mailbox after posting", post_request, post_then_mark);
  WRONG("withdrawing in two steps", withdraw, withdraw_in_two);
  WRONG("withdrawing whatever is on its way", withdraw, withdraw_unseen);
  WRONG("unparking before the reply", reply, unpark_then_reply);
  WRONG("not unparking after the reply", reply, reply_without_unpark);
  WRONG("taking in two steps", take, take_in_two);
  WRONG("taking back in two steps", take_back, take_back_in_two);
  WRONG("unparking before the end", finish, unpark_then_finish);
  WRONG("reading a task after its end", finish, finish_twice);
  WRONG("entering a rundown in two steps", rundown_enter, enter_in_two);
  WRONG("leaving a rundown without unparking", rundown_leave, leave_without_unpark);
  WRONG("leaving a rundown in two steps", rundown_leave, leave_in_two);
  WRONG("a rundown that is not closed", rundown_close, leave_open);
  WRONG("clearing a parker without waking", reply, reply_without_wake);
  WRONG("reading the parker before the reply", reply, reply_after_check);
  WRONG("not unparking at the end", finish, finish_without_unpark);
  WRONG("a team used again when its rundown is empty", forgets_references, true);
  WRONG("leaving while a claim is under way", leaves_claimed, true);
  WRONG("leaving without a last check", leaves_with_news, true);
  WRONG("being idle before the thread has left", leaves_too_early, true);
  WRONG("checking before the parker is armed", looks_before_arming, true);
  WRONG("a request that is closed without a reply", closes_without_reply, true);
}

#ifdef __clang__
#pragma clang attribute pop
#endif
