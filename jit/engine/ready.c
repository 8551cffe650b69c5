/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions of functions, made when they are first needed.
 *
 * Of the threads that need a version that there is not, the first makes its unit, which is in the
 * module's list of what is being made meanwhile. The others wait for it, and then look again: if it
 * has failed, the next one tries for itself, so that each has an error of its own. */
#include "jit/engine/engine.h"

static hia_making *find_making(const hia_module *module, const hia_function *function,
                               hia_traits traits) {
  hia_making *m = module->making;
  while (m && (m->function != function || m->traits != traits)) m = m->next;
  return m;
}

static void begin(hia_module *module, hia_making *making) {
  making->next = module->making;
  module->making = making;
}

static void end(hia_module *module, hia_making *making) {
  hia_making **at = &module->making;
  while (*at != making) at = &(*at)->next;
  *at = making->next;
  pthread_cond_broadcast(&module->made);
}

static void publish(hia_module *module, hia_unit *unit) {
  unit->next = module->units;
  module->units = unit;
  for (uint32_t i = 0; i < unit->n_versions; i++) {
    hia_fn_version *v = &unit->versions[i];
    v->next = atomic_load_explicit(&v->function->versions, memory_order_relaxed);
    atomic_store_explicit(&v->function->versions, v, memory_order_release);
  }
}

static void log_ready(const hia_function *f, const hia_fn_version *version) {
  const hia_unit *unit = version->unit;
  const hia_function_stats *s = &unit->stats;
  uint64_t ns =
      s->build_ns + s->passes_ns + s->flatten_ns + s->emit_ns + s->optimize_ns + s->codegen_ns;
  hiaJ_log(f->module->engine, "%s is ready%s after %.2f ms, %llu bytes of %s", f->name,
           version->traits & HIA_VERSION_FUELLED ? " for runs with fuel" : "", (double)ns / 1e6,
           (unsigned long long)(s->code_bytes + s->image_bytes), unit->code ? "code" : "image");
}

/* The graph that was read, if that is still to be had and will do, or a new unit. */
static hia_unit *unit_for(hia_module *module, hia_traits traits) {
  hia_unit *unit = traits == HIA_VERSION_GENERAL ? module->read : NULL;
  if (unit) module->read = NULL;
  return unit ? unit : hiaJ_unit_new(module->engine);
}

hia_status hiaJ_ready(hia_function *f, hia_traits traits, const hia_fn_version **version,
                      hia_error **error) {
  *version = hiaJ_version(f, traits);
  if (*version) return HIA_OK;
  hia_module *module = f->module;
  hia_engine *engine = module->engine;
  hia_making making = {.function = module->program ? f : NULL, .traits = traits};
  pthread_mutex_lock(&module->lock);
  while (!(*version = hiaJ_version(f, traits)) && find_making(module, making.function, traits))
    pthread_cond_wait(&module->made, &module->lock);
  hia_unit *unit = *version ? NULL : unit_for(module, traits);
  if (unit) begin(module, &making);
  pthread_mutex_unlock(&module->lock);
  if (*version) return HIA_OK;
  if (!unit) return hiaJ_fail(&engine->allocator, error, HIA_MEMORY, NULL, "out of memory");

  uint64_t open_ns;
  hia_status status = hiaJ_unit_make(unit, f, traits, &open_ns, error);
  pthread_mutex_lock(&module->lock);
  if (status == HIA_OK) publish(module, unit);
  end(module, &making);
  pthread_mutex_unlock(&module->lock);
  hiaJ_log_open(engine, open_ns);
  if (status == HIA_OK) {
    *version = hiaJ_version(f, traits);
    log_ready(f, *version);
  } else {
    hiaJ_unit_free(engine, unit);
  }
  return status;
}

/* ---- public ---- */

static hia_status need_instance(hia_function *f, hia_error **error) {
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  if (!f->is_generic) return HIA_OK;
  return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT,
                   "name an instance, as in fact(i64)",
                   "`%s` is generic: it has no code of its own", f->signature);
}

hia_status hia_function_prepare(hia_function *f, hia_error **error) {
  return hia_function_prepare_for(f, NULL, error);
}

hia_status hia_function_prepare_for(hia_function *f, const hia_run_options *options,
                                    hia_error **error) {
  if (error) *error = NULL;
  hia_run_options own;
  hia_status status = need_instance(f, error);
  if (status == HIA_OK) status = hiaJ_run_options(f, options, &own, error);
  const hia_fn_version *version;
  return status == HIA_OK ? hiaJ_ready(f, hiaJ_traits_for(&own), &version, error) : status;
}

/* Of one version more; its nodes are not the other's. */
static void add_stats(hia_function_stats *sum, const hia_function_stats *s) {
  sum->build_ns += s->build_ns;
  sum->passes_ns += s->passes_ns;
  sum->flatten_ns += s->flatten_ns;
  sum->open_ns += s->open_ns;
  sum->emit_ns += s->emit_ns;
  sum->optimize_ns += s->optimize_ns;
  sum->codegen_ns += s->codegen_ns;
  sum->nodes += s->nodes;
  sum->image_bytes += s->image_bytes;
  sum->code_bytes += s->code_bytes;
}

HIA_SIZED(hia_function_stats, versions);

hia_status hia_function_get_stats(const hia_function *f, hia_function_stats *stats) {
  if (!f || !stats || stats->size < sizeof(size_t)) return HIA_ARGUMENT;
  const hia_module *module = f->module;
  hia_function_stats own = {0};
  for (const hia_fn_version *v = atomic_load_explicit(&f->versions, memory_order_acquire); v;
       v = v->next) {
    add_stats(&own, &v->unit->stats);
    own.tier = v->unit->code ? HIA_TIER_NATIVE : HIA_TIER_IMAGE;
    own.versions++;
  }
  own.parse_ns = module->parse_ns;
  own.check_ns = module->check_ns;
  own.runs = atomic_load_explicit(&f->n_runs, memory_order_relaxed);
  hiaR_sized_copy_out(&own, sizeof own, stats, stats->size);
  return HIA_OK;
}
