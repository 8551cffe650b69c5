/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* phases: all interleavings of an owner and thieves that compute pieces of a phase, some of them
 * again. The results of a piece are written once, what it was computed from is released once and
 * not read afterwards, a phase is planned when all of its pieces are done, and the memory of the
 * phases is freed when no worker is seated.
 *
 * Each rule is also broken. The exploration must then find an execution that shows it. */
#include "tests/unit/helpers/explore.h"
#include <criterion/criterion.h>
#include <stdatomic.h>

/* Participants are abandoned in the middle of an execution: the sanitizer must not track frames. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("address"))), apply_to = function)
#endif

#define HIA_ATOMIC_HOOK()               ((void)0)
#define HIA_FUTEX_WAIT(word, value, ns) ((void)(word), (void)(value), (void)(ns))
#define HIA_FUTEX_WAKE(word)            ((void)(word))
#undef atomic_load
#undef atomic_store
#undef atomic_fetch_add
#undef atomic_fetch_or
#undef atomic_compare_exchange_strong
#define SC             memory_order_seq_cst
#define SAW(p, value)  ((__typeof__(atomic_load_explicit((p), SC)))explore_saw((uint64_t)(value)))
#define atomic_load(p) (explore_before(p), SAW(p, atomic_load_explicit((p), SC)))
#define atomic_store(p, v)                                                                         \
  (explore_before(p), atomic_store_explicit((p), (v), SC), (void)explore_saw(0))
#define atomic_fetch_add(p, v) (explore_before(p), SAW(p, atomic_fetch_add_explicit((p), (v), SC)))
#define atomic_fetch_or(p, v)  (explore_before(p), SAW(p, atomic_fetch_or_explicit((p), (v), SC)))
#define atomic_compare_exchange_strong(p, was, now)                                                \
  (explore_before(p), atomic_compare_exchange_strong_explicit((p), (was), (now), SC, SC)           \
                          ? explore_saw(1) != 0                                                    \
                          : (explore_saw(2), explore_saw((uint64_t)*(was)), false))

#include "runtime/native/phases.h"

/* ---- the operations, and wrong versions of them ---- */

typedef struct operations {
  bool (*enter)(hia_phase_piece *p);
  bool (*claim)(hia_phase_piece *p);
  bool (*leave)(hia_phase_piece *p, bool has_claimed);
  bool sits_late, frees_early;
} operations;

#define RIGHT .enter = hia_piece_enter, .claim = hia_piece_claim, .leave = hia_piece_leave

static bool enter_in_two(hia_phase_piece *p) {
  uint32_t life = atomic_load(&p->life);
  if (life & HIA_PIECE_CLAIMED) return false;
  atomic_store(&p->life, life + HIA_PIECE_WORKER);
  return true;
}
static bool enter_always(hia_phase_piece *p) {
  atomic_fetch_add(&p->life, HIA_PIECE_WORKER);
  return true;
}
static bool claim_in_two(hia_phase_piece *p) {
  uint32_t life = atomic_load(&p->life);
  if (life & HIA_PIECE_CLAIMED) return false;
  atomic_fetch_or(&p->life, HIA_PIECE_CLAIMED);
  return true;
}
static bool leave_when_done(hia_phase_piece *p, bool has_claimed) {
  hia_piece_leave(p, has_claimed);
  return has_claimed;
}
static bool leave_when_alone(hia_phase_piece *p, bool has_claimed) {
  uint32_t change = (has_claimed ? HIA_PIECE_DONE : 0u) - HIA_PIECE_WORKER;
  return !((atomic_fetch_add(&p->life, change) + change) & HIA_PIECE_WORKERS);
}

static operations op;

/* ---- what is shared: one phase, with one piece ---- */

enum { N_THIEVES = 2 };
static struct {
  hia_phase_piece piece;
  _Atomic uint32_t operands, results; /* of the piece */
  _Atomic uint32_t phase;             /* 0: there is none */
  _Atomic uint32_t n_done, n_released, is_over;
  _Atomic uint32_t is_seated[N_THIEVES];
} shared;

static void begin(void) { atomic_store_explicit(&shared.phase, 1, SC); }

/* What a worker does that has found the phase. Without memory it leaves the piece to others. */
static void compute(bool has_memory) {
  if (!op.enter(&shared.piece)) return;
  atomic_load(&shared.operands);
  bool has_claimed = has_memory && op.claim(&shared.piece);
  if (has_claimed)
    explore_check(atomic_fetch_add(&shared.results, 1) == 0, "results are written twice");
  if (op.leave(&shared.piece, has_claimed)) {
    explore_check(atomic_fetch_add(&shared.n_released, 1) == 0, "operands are released twice");
    explore_gone((const void *)&shared.operands, sizeof shared.operands);
  }
  if (has_claimed && atomic_fetch_add(&shared.n_done, 1) == 0) atomic_store(&shared.is_over, 1);
}

static void thief(unsigned i, bool has_memory) {
  if (op.sits_late && !atomic_load(&shared.phase)) return;
  atomic_store(&shared.is_seated[i], 1);
  if (op.sits_late || atomic_load(&shared.phase)) compute(has_memory);
  atomic_store(&shared.is_seated[i], 0);
}
static void thief_1(void) { thief(0, true); }
static void thief_2(void) { thief(1, true); }
static void poor_thief(void) { thief(0, false); }

/* Waits for nothing but what others do for it: it computes the piece itself. */
static void owner(void) {
  compute(true);
  if (!atomic_load(&shared.is_over)) return; /* it goes on later */
  atomic_store(&shared.phase, 0);
  bool is_free = true;
  for (unsigned i = 0; i < N_THIEVES; i++) is_free &= !atomic_load(&shared.is_seated[i]);
  if (is_free || op.frees_early) explore_gone((const void *)&shared.piece, sizeof shared.piece);
}

static void all_is_done(void) {
  explore_check(atomic_load_explicit(&shared.results, SC) == 1, "no results");
  explore_check(atomic_load_explicit(&shared.n_released, SC) == 1, "operands are not released");
}

static const explore_case one_thief = {2,     &shared,          sizeof shared,
                                       begin, {owner, thief_1}, all_is_done};
static const explore_case two_thieves = {
    3, &shared, sizeof shared, begin, {owner, thief_1, thief_2}, all_is_done};

static const explore_case one_without_memory = {
    3, &shared, sizeof shared, begin, {owner, poor_thief, thief_2}, all_is_done};

/* ---- the tests ---- */

static const struct {
  const char *name;
  const explore_case *c;
} cases[] = {{"one thief", &one_thief},
             {"two thieves", &two_thieves},
             {"one has no memory", &one_without_memory}};

Test(phases, every_interleaving_is_right) {
  op = (operations){RIGHT};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    explore_result r;
    explore(cases[i].c, &r);
    cr_expect_str_empty(r.problem, "%s: %s, in %s", cases[i].name, r.problem, r.schedule);
    cr_expect_gt(r.states, 50, "%s: only %llu states", cases[i].name, (unsigned long long)r.states);
  }
}

static void expect_found(const char *what) {
  explore_result r = {.executions = 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases && !r.problem[0]; i++)
    explore(cases[i].c, &r);
  cr_expect_str_not_empty(r.problem, "%s: not found", what);
  op = (operations){RIGHT};
}

#define WRONG(what, member, value)                                                                 \
  op.member = (value);                                                                             \
  expect_found(what)

Test(phases, what_is_wrong_is_found) {
  op = (operations){RIGHT};
  WRONG("entering in two steps", enter, enter_in_two);
  WRONG("entering what is done", enter, enter_always);
  WRONG("claiming in two steps", claim, claim_in_two);
  WRONG("releasing what another worker reads", leave, leave_when_done);
  WRONG("releasing what is not done", leave, leave_when_alone);
  WRONG("sitting down after the phase was found", sits_late, true);
  WRONG("freeing what a late worker reads", frees_early, true);
}

#ifdef __clang__
#pragma clang attribute pop
#endif
