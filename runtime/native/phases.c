/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Work in phases, of which any worker of a crew plans the next (phases.h). */
#include "runtime/native/phases.h"
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include <time.h>

/* A piece is computed again when it has taken TIMES as long as the longest one of its phase, and
 * FEW_NS more; or MANY_NS where none is done yet, as where a phase has one piece. Its operations
 * may be shared. The owner has FIRST_NS to begin it before a thief may. */
#ifdef HIA_STRESS
enum { TIMES = 0, FEW_NS = 0, MANY_NS = 0, FIRST_NS = 1 };
#else
enum { TIMES = 2, FEW_NS = 10000, MANY_NS = 1000000, FIRST_NS = 10000 };
#endif
enum {
  SLEEP_NS = 5000, /* between two looks, at first; then twice as long each time */
  MAX_SLEEP_NS = 80000,
  WAIT_NS = 100000, /* how long the owner looks for something to do before it sleeps */
};

/* The owner shares the operations of the only piece of a phase. */
static bool shares_operations(const hia_context *context, const hia_context *owner,
                              const hia_phase *phase) {
  return context == owner && phase->n == 1;
}

/* ---- which piece ---- */

/* Takes a piece that no worker has begun. */
static bool take(hia_phase *phase, uint32_t *i) {
  uint32_t n = HIA_ATOMIC_LOAD(&phase->n_taken);
  while (n < phase->n)
    if (HIA_ATOMIC_CAS(&phase->n_taken, &n, n + 1)) {
      *i = phase->n - 1 - n;
      return hia_piece_enter(&phase->pieces[*i]);
    }
  return false;
}

static uint64_t patience(const hia_phase *phase) {
  uint64_t longest = atomic_load_explicit(&phase->longest, memory_order_relaxed);
  return longest ? TIMES * longest + FEW_NS : MANY_NS;
}

/* Enters the piece that has waited longest for the worker that has begun it. */
static bool take_again(hia_context *context, hia_phase *phase, uint32_t *i) {
  uint64_t now = hiaR_now(), oldest = now - patience(phase);
  bool has = false;
  if (HIA_ATOMIC_LOAD(&phase->n_done) == phase->n) return false;
  for (uint32_t k = 0; k < phase->n; k++) {
    hia_phase_piece *p = &phase->pieces[k];
    uint32_t life = atomic_load_explicit(&p->life, memory_order_relaxed);
    uint64_t begun = atomic_load_explicit(&p->begun, memory_order_relaxed);
    if (begun < phase->since) begun = phase->since;
    if ((life & HIA_PIECE_CLAIMED) || begun > oldest) continue;
    oldest = begun;
    *i = k;
    has = true;
  }
  return has && phase->work->may_again(context, phase, *i) && hia_piece_enter(&phase->pieces[*i]);
}

/* ---- a piece ---- */

#ifdef HIA_STRESS
static void delay(hia_context *context) {
  if (hiaR_random(context) % 16 == 0)
    nanosleep(&(struct timespec){.tv_nsec = 1000 * (hiaR_random(context) % 256)}, NULL);
}
#else
static void delay(const hia_context *context) { (void)context; }
#endif

static void begin(hia_context *owner, hia_phase *phase) {
  phase->since = hiaR_now();
  HIA_ATOMIC_STORE(&owner->crew.phase, phase);
}

static hia_status go_on(hia_context *context, hia_context *owner, const hia_phase *phase) {
  hia_phase *next;
  uint32_t n_workers = atomic_load_explicit(&owner->crew.n_workers, memory_order_relaxed);
  hia_status status = phase->work->plan(context, n_workers, phase->arg, &next);
  if (status) return status;
  if (next) {
    begin(owner, next);
  } else {
    HIA_ATOMIC_STORE(&owner->crew.is_over, 1);
    hia_parker_unpark(&owner->post.parker);
  }
  return HIA_OK;
}

/* A piece that the worker has entered. Memory that is short where another worker computes it, too,
 * is no failure. */
static hia_status compute(hia_context *context, hia_context *owner, hia_phase *phase, uint32_t i,
                          bool is_again) {
  hia_phase_piece *p = &phase->pieces[i];
  bool has_claimed = false;
  uint64_t start = hiaR_now(), longest;
  atomic_store_explicit(&p->begun, start, memory_order_relaxed);
  context->crew.is_busy = !shares_operations(context, owner, phase);
  hia_status status = phase->work->compute(context, phase, i, &has_claimed);
  context->crew.is_busy = false;
  if (status && !(status == HIA_MEMORY && is_again)) return status;
  uint64_t ns = hiaR_now() - start;
  longest = atomic_load_explicit(&phase->longest, memory_order_relaxed);
  if (has_claimed && ns > longest) atomic_store_explicit(&phase->longest, ns, memory_order_relaxed);
  if (hia_piece_leave(p, has_claimed)) phase->work->release(context, phase, i);
  if (!has_claimed || HIA_ATOMIC_ADD(&phase->n_done, 1) + 1 != phase->n) return HIA_OK;
  return go_on(context, owner, phase);
}

static hia_status help(hia_context *context, hia_context *owner, bool *has_worked) {
  hia_phase *phase = HIA_ATOMIC_LOAD(&owner->crew.phase);
  uint32_t i;
  *has_worked = false;
  if (!phase) return HIA_OK;
  if (context != owner && phase->n == 1 && hiaR_now() - phase->since < FIRST_NS) return HIA_OK;
  bool is_first = take(phase, &i);
  if (!is_first && !take_again(context, phase, &i)) return HIA_OK;
  *has_worked = true;
  return compute(context, owner, phase, i, !is_first);
}

bool hiaR_phase_claim(hia_context *context, hia_phase *phase, uint32_t i) {
  delay(context);
  return hia_piece_claim(&phase->pieces[i]);
}

/* ---- the owner ---- */

/* Until the run has a team. *phase NULL: all is done. */
static hia_status compute_alone(hia_context *context, hia_phase **phase) {
  while (*phase && !context->run.team) {
    const hia_phases *work = (*phase)->work;
    bool has_claimed = false;
    for (uint32_t i = (*phase)->n; i-- > 0;) {
      hia_status status = work->compute(context, *phase, i, &has_claimed);
      if (status) return status;
      work->release(context, *phase, i);
    }
    hia_status status = work->plan(context, 1, (*phase)->arg, phase);
    if (status) return status;
  }
  return HIA_OK;
}

static void nap(hia_context *context, uint64_t ns, hia_presence *presence) {
  uint64_t begin = hiaR_now();
  hia_parker_arm(&context->post.parker);
  if (!HIA_ATOMIC_LOAD(&context->crew.is_over)) hia_parker_park(&context->post.parker, ns);
  hia_parker_disarm(&context->post.parker);
  presence->slept += hiaR_now() - begin;
}

static hia_status compute_together(hia_context *context, hia_phase *phase) {
  hia_crew_work *w = &context->crew;
  hia_presence presence = hiaR_presence_begin();
  uint64_t since = presence.began, sleep = SLEEP_NS;
  hia_status status = HIA_OK;
  bool has_worked;
  HIA_ATOMIC_STORE(&w->is_over, 0);
  if (!w->help) w->help = help; /* late workers read it */
  begin(context, phase);
  while (!HIA_ATOMIC_LOAD(&w->is_over)) {
    hiaR_crew_poll(context);
    if ((status = help(context, context, &has_worked))) break;
    if (has_worked) {
      since = hiaR_now();
      sleep = SLEEP_NS;
      continue;
    }
    if ((status = hiaR_crew_failure(context))) break;
    if (hiaR_now() - since < WAIT_NS) {
      HIA_PAUSE();
      continue;
    }
    nap(context, sleep, &presence);
    if (sleep < MAX_SLEEP_NS) sleep *= 2;
  }
  HIA_ATOMIC_STORE(&w->phase, NULL);
  hiaR_presence_end(context, &presence);
  return status;
}

hia_status hiaR_phases_compute(hia_context *context, const hia_phases *work, void *arg) {
  hia_phase *phase;
  hia_status status = work->plan(context, hiaR_crew_size(context), arg, &phase);
  if (!status) status = compute_alone(context, &phase);
  if (!status && phase) status = compute_together(context, phase);
  if (status) hiaR_crew_stop(context);
  return status;
}
