/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Guards that fail, and versions that are not used any more. */
#include "jit/versions/speculate.h"

enum {
  FAILURES = 2, /* of a guard, behind which its fact is not assumed any more, unless */
  RARELY = 64,  /* it has held in so many runs for each of them */
};

static bool assumes(const hia_special *x, uint32_t point) {
  for (uint32_t i = 0; i < x->n_facts; i++)
    if (x->facts[i].is_used && x->facts[i].fact.point == point) return true;
  return false;
}

/* No version assumes it any more. */
static void retire(hia_speculation *s, uint32_t point) {
  hia_inside *inside = &s->inside;
  uint32_t n_made = atomic_load_explicit(&s->n_made, memory_order_relaxed);
  if (inside->n_retired < HIA_MOST_RETIRED) inside->dead[inside->n_retired] = point;
  for (uint32_t k = 0; k < n_made; k++) {
    hia_special *x = &s->specials[k];
    if (x->outcome == HIA_SPECIAL_MADE && assumes(x, point))
      atomic_store_explicit(&x->is_retired, true, memory_order_relaxed);
  }
  inside->n_retired++;
  if (inside->n_retired >= HIA_MOST_RETIRED) inside->is_empty = true;
  inside->n_wanted++;
}

void hiaJ_guard_failed(hia_special *x, uint64_t number) {
  hia_function *f = x->function;
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  if (number >= x->n_facts) return;
  hia_inside_fact *fact = &x->facts[number];
  uint32_t n = atomic_fetch_add_explicit(&fact->n_failed, 1, memory_order_relaxed) + 1;
  uint32_t at = (uint32_t)(x - s->specials) + 1;
  uint64_t n_used = atomic_load_explicit(&s->n_used[at], memory_order_relaxed);
  if (n < FAILURES || (uint64_t)n * RARELY < n_used) return;
  pthread_mutex_lock(&s->lock);
  bool is_first = !atomic_load_explicit(&x->is_retired, memory_order_relaxed);
  if (is_first) retire(s, fact->fact.point);
  pthread_mutex_unlock(&s->lock);
  if (!is_first) return;
  hiaJ_cached_store_versions(f); /* no other process begins with it */
  hiaJ_log(f->module->engine,
           "version %u of %s is not used any more: what it assumes at %u:%u of the source did not "
           "hold",
           (unsigned)at, f->name, (unsigned)fact->place.line, (unsigned)fact->place.col);
}
