/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The choice between a function's image and its native code; and the runs of images, which begin
 * again when native code is ready. */
#include "jit/engine/engine.h"

/* A run is mostly in kernels if that is where it was at so many of these looks, and if they take
 * longer than native code could make short by fusing and batching them. */
#define KERNEL_SHARE 0.6
#define KERNEL_NS    1e5

hia_traits hiaJ_exact_traits(hia_traits traits) {
  return traits & (HIA_VERSION_FUELLED | HIA_VERSION_STREAMS | HIA_VERSION_UNBATCHED);
}

const hia_fn_version *hiaJ_native_version(const hia_function *f, hia_traits traits) {
  return hiaJ_version(f, hiaJ_exact_traits(traits) | HIA_VERSION_NATIVE);
}

static bool is_auto(const hia_function *f) {
  return f->module->engine->options.kind == HIA_ENGINE_AUTO;
}

/* True if there can be no native version. */
bool hiaJ_lacks_native(const hia_function *f, hia_traits traits) {
  return atomic_load_explicit(&f->module->engine->lacks_native, memory_order_relaxed) ||
         atomic_load_explicit(&f->lacks, memory_order_relaxed) >> hiaJ_exact_traits(traits) & 1;
}

/* ---- which version ---- */

hia_traits hiaJ_best_traits(const hia_function *f, hia_traits traits) {
  bool is_native = is_auto(f) && (f->module->is_native_only || !hiaJ_lacks_native(f, traits));
  return is_native ? traits | HIA_VERSION_NATIVE : traits;
}

hia_traits hiaJ_first_traits(const hia_function *f, hia_traits traits) {
  if (!is_auto(f)) return traits;
  if (f->module->is_native_only) return traits | HIA_VERSION_NATIVE;
  return f->module->engine->again_at ? traits | HIA_VERSION_IMAGE : traits;
}

const hia_fn_version *hiaJ_first_version(const hia_function *f, hia_traits traits) {
  hia_traits first = hiaJ_first_traits(f, traits);
  const hia_fn_version *native =
      is_auto(f) && !(first & HIA_VERSION_IMAGE) ? hiaJ_native_version(f, traits) : NULL;
  return native ? native : hiaJ_version(f, first);
}

bool hiaJ_may_begin_again(const hia_fn_version *v) {
  return is_auto(v->function) && !v->native && !hiaJ_lacks_native(v->function, v->traits);
}

/* A node of a function with objects becomes more code, which counts references. */
#define OBJECT_NODE 3.0

double hiaJ_work_of(const hia_unit *unit) {
  return (double)unit->stats.nodes * (unit->shapes ? OBJECT_NODE : 1.0);
}

/* ---- runs ---- */

void hiaJ_tier_enter(hia_engine *engine, hia_tier_run *run) {
  pthread_mutex_lock(&engine->later_lock);
  run->next = engine->interpreted;
  if (run->next) run->next->prev = run;
  engine->interpreted = run;
  pthread_mutex_unlock(&engine->later_lock);
}

void hiaJ_tier_leave(hia_engine *engine, hia_tier_run *run) {
  pthread_mutex_lock(&engine->later_lock);
  if (run->next) run->next->prev = run->prev;
  if (run->prev)
    run->prev->next = run->next;
  else
    engine->interpreted = run->next;
  pthread_mutex_unlock(&engine->later_lock);
}

/* ---- native code is ready ---- */

bool hiaJ_tier_is_in_kernels(hia_tier_run *run) {
  unsigned looks = atomic_load_explicit(&run->n_looks, memory_order_relaxed),
           busy = atomic_load_explicit(&run->n_busy, memory_order_relaxed);
  if (looks < HIA_TIER_LOOKS || busy < KERNEL_SHARE * looks) return false;
  double n = (double)(atomic_load_explicit(&run->activity.n, memory_order_relaxed) / 2 + 1);
  double in_kernels = (double)(hiaR_now() - run->began_at) * busy / looks;
  return in_kernels / n > KERNEL_NS;
}

void hiaJ_tier_ready(const hia_fn_version *v) {
  hia_engine *engine = v->function->module->engine;
  pthread_mutex_lock(&engine->later_lock);
  for (hia_tier_run *run = engine->interpreted; run; run = run->next)
    if (run->version->function == v->function &&
        hiaJ_exact_traits(run->version->traits) == hiaJ_exact_traits(v->traits) &&
        !hiaJ_tier_is_in_kernels(run))
      hiaR_scope_again(run->scope);
  pthread_mutex_unlock(&engine->later_lock);
}
