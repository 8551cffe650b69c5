/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Observed runs: which runs are, and how long. */
#include "jit/versions/speculate.h"

enum { MOST_VALUES = 1 << 17 }; /* of an observed run */
/* An observed run may take this part of what all runs have taken, between these times. */
#define SHARE    0.03
#define LEAST_NS UINT64_C(100000)
#define MOST_NS  UINT64_C(20000000)
/* In an eager engine, where the time does not matter, but that what is seen is. */
#define EAGER_NS UINT64_C(1000000000)

static uint64_t time_for(const hia_speculation *s, const hia_function *f) {
  if (hiaJ_is_eager(f)) return EAGER_NS;
  double ns = SHARE * (double)s->runs_ns - (double)s->inside.ns;
  if (ns < (double)LEAST_NS) return 0;
  return ns < (double)MOST_NS ? (uint64_t)ns : MOST_NS;
}

/* Copies what observers begin with. The caller holds the lock. */
static bool prepare(hia_observing *o, hia_speculation *s, const hia_function *f) {
  hia_inside *inside = &s->inside;
  o->most_ns = time_for(s, f);
  if (inside->is_empty || inside->is_under_way || !inside->places || !hiaJ_inside_wants(inside) ||
      !o->most_ns)
    return false;
  size_t size = inside->n_points * sizeof(hia_observed);
  o->observer = (hia_observer){.points = hiaR_alloc(&f->module->engine->allocator, size),
                               .n = inside->n_points,
                               .left = MOST_VALUES};
  if (!o->observer.points) return false;
  for (uint32_t i = 0; i < inside->n_points; i++)
    o->observer.points[i].sight = inside->seen[i].sight;
  inside->is_under_way = true;
  return true;
}

void hiaJ_observing_begin(hia_observing *o, hia_function *f, const hia_fn_version *version) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  const hia_traits traits = HIA_VERSION_IMAGE | HIA_VERSION_OBSERVED;
  o->version = NULL;
  if (f->is_impure || !s || pthread_mutex_trylock(&s->lock)) return;
  bool is_wanted = !s->inside.is_empty,
       may_make = is_wanted && hiaJ_is_eager(f) && !s->inside.is_asked;
  s->inside.is_asked |= may_make;
  pthread_mutex_unlock(&s->lock);
  if (!is_wanted) return;
  const hia_fn_version *image = hiaJ_version(f, traits);
  if (may_make) hiaJ_ready(f, traits, &image, NULL);
  if (!image || version->special) return;
  pthread_mutex_lock(&s->lock);
  if (prepare(o, s, f)) o->version = image;
  pthread_mutex_unlock(&s->lock);
}

void hiaJ_observing_end(hia_observing *o, hia_function *f) {
  if (!o->version) return;
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  pthread_mutex_lock(&s->lock);
  hia_inside *inside = &s->inside;
  for (uint32_t i = 0; i < inside->n_points; i++)
    hiaR_observed_add(&inside->seen[i], &o->observer.points[i]);
  inside->is_under_way = false;
  inside->n_runs++;
  inside->ns += o->ns;
  if (inside->n_wanted) inside->n_wanted--;
  pthread_mutex_unlock(&s->lock);
  hiaR_free(&f->module->engine->allocator, o->observer.points,
            o->observer.n * sizeof *o->observer.points);
}
