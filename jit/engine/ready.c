/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions of functions, made when they are first needed.
 *
 * When several threads need a version that does not exist yet, the first has its unit made; the
 * unit is in the module's list `making` meanwhile. The other threads wait for it and then look
 * again. If it has failed, the next thread tries itself, so that each thread has an error of its
 * own.
 *
 * LLVM cannot be interrupted. So a run that can be ended has the unit made by another thread, and
 * stops waiting for it when the run is ended; a run that cannot be ended makes the unit itself.
 * The compilation checks now and then whether it is still needed. */
#include "jit/versions/speculate.h"

/* A compilation that no run needs any more may continue until this time after its begin: a host
 * that repeats a run with short timeouts gets its function in the end. */
static const uint64_t unneeded_ns = 1000000000;

/* A thread that waits for native code looks so often whether its run was cancelled. */
enum { AWAIT_NS = 2000000 };

/* Compiling for a run may always take this much memory, even if the run's own limit is lower. */
static const size_t least_memory = (size_t)16 << 20;

/* ---- what a compilation checks ---- */

static hia_status ended(void *user) {
  const hia_making *m = user;
  const hia_unit *unit = m->unit;
  hia_status status = m->scope ? hiaR_scope_status(m->scope) : HIA_OK;
  if (status) return status;
  if (m->max_memory && unit->comp.arena.bytes + unit->comp.scratch.bytes > m->max_memory)
    return HIA_MEMORY;
  if (atomic_load_explicit(&m->n_wanting, memory_order_relaxed)) return HIA_OK;
  bool is_freed =
      atomic_load(&m->function->module->references) == 1; /* that of the thread which compiles */
  if (atomic_load_explicit(&m->is_wanted, memory_order_relaxed))
    return is_freed ? HIA_CANCELLED : HIA_OK;
  return is_freed || hiaR_now() - m->began_at > unneeded_ns ? HIA_CANCELLED : HIA_OK;
}

static bool is_late(void *user) {
  const hia_making *m = user;
  return m->late_at && hiaR_now() >= m->late_at;
}

/* ---- units that are being made; the caller holds the module's making_lock ---- */

static hia_making *find_making(const hia_module *module, const hia_function *f, hia_traits traits) {
  hia_making *m = module->making;
  while (m && ((module->program && m->function != f) || m->traits != traits)) m = m->next;
  return m;
}

static void making_free(hia_engine *engine, hia_making *m) {
  hia_error_free(m->error);
  hiaR_free(&engine->allocator, m, sizeof *m);
}

static void give_up(hia_making *m) {
  if (--m->references == 0) making_free(m->function->module->engine, m);
}

static bool needs_read(hia_traits traits) { return !hiaJ_exact_traits(traits); }

static hia_making *making_new(hia_function *f, hia_traits traits, size_t max_memory) {
  hia_module *module = f->module;
  hia_engine *engine = module->engine;
  hia_making *m = hiaR_alloc(&engine->allocator, sizeof *m);
  if (!m) return NULL;
  /* The graph that was read, if it is still there and fits these traits, or a new unit. */
  m->unit = module->read && needs_read(traits) ? module->read : hiaJ_unit_new(engine);
  if (!m->unit) {
    hiaR_free(&engine->allocator, m, sizeof *m);
    return NULL;
  }
  if (m->unit == module->read) module->read = NULL;
  m->function = f;
  m->traits = traits;
  m->max_memory = max_memory;
  m->began_at = hiaR_now();
  uint64_t budget = engine->options.budget_ns;
  m->late_at = budget && budget < UINT64_MAX - m->began_at ? m->began_at + budget : 0;
  m->look = (hia_look){ended, is_late, m};
  m->references = 1; /* the making thread's */
  m->next = module->making;
  module->making = m;
  return m;
}

hia_making *hiaJ_making(hia_function *f, hia_traits traits, size_t max_memory, bool *is_new) {
  hia_making *m = find_making(f->module, f, traits);
  *is_new = !m;
  return m ? m : making_new(f, traits, max_memory);
}

static void publish(hia_module *module, hia_unit *unit) {
  unit->next = module->units;
  module->units = unit;
  for (uint32_t i = 0; i < unit->n_versions; i++) {
    hia_fn_version *v = &unit->versions[i];
    if (v->special) {
      hiaJ_special_add(v);
      atomic_fetch_add_explicit(&v->function->n_specials, 1, memory_order_release);
      continue;
    }
    v->next = atomic_load_explicit(&v->function->versions, memory_order_relaxed);
    atomic_store_explicit(&v->function->versions, v, memory_order_release);
  }
}

void hiaJ_drop(hia_module *module, hia_unit *unit) {
  pthread_mutex_lock(&module->making_lock);
  hia_unit **at = &module->units;
  while (*at && *at != unit) at = &(*at)->next;
  if (*at) *at = unit->next;
  pthread_mutex_unlock(&module->making_lock);
  hiaJ_unit_free(module->engine, unit);
}

/* ---- making ---- */

static void log_loaded(const hia_function *f, const hia_unit *unit) {
  hiaJ_log(f->module->engine, "%s is loaded from the cache after %.2f ms, %llu bytes of code",
           f->name, (double)unit->stats.load_ns / 1e6, (unsigned long long)unit->stats.code_bytes);
}

static uint64_t making_ns(const hia_unit *unit) {
  const hia_function_stats *s = &unit->stats;
  return s->build_ns + s->passes_ns + s->flatten_ns + s->emit_ns + s->optimize_ns + s->codegen_ns;
}

static void log_ready(const hia_making *m) {
  const hia_unit *unit = m->unit;
  const hia_function_stats *s = &unit->stats;
  const hia_engine *engine = m->function->module->engine;
  hiaJ_log_open(engine, m->open_ns);
  if (s->hurried)
    hiaJ_log(engine, "%s took longer than the budget of %.3g s: it is not optimised further%s",
             m->function->name, (double)engine->options.budget_ns / 1e9,
             unit->code ? "" : ", and interpreted");
  if (unit->units) {
    log_loaded(m->function, unit);
    return;
  }
  hiaJ_log(engine, "%s is ready%s after %.2f ms, %llu bytes of %s", m->function->name,
           m->traits & HIA_VERSION_NUMBER      ? " for arguments like those of late"
           : m->traits & HIA_VERSION_OBSERVED  ? " for runs that are observed"
           : m->traits & HIA_VERSION_FUELLED   ? " for runs with fuel"
           : m->traits & HIA_VERSION_STREAMS   ? " for runs with streams"
           : m->traits & HIA_VERSION_UNBATCHED ? " for runs without memory for batches"
                                               : "",
           (double)making_ns(unit) / 1e6, (unsigned long long)(s->code_bytes + s->image_bytes),
           unit->code ? "code" : "image");
}

void hiaJ_tell(hia_engine *engine, hia_waiting *waiting, hia_status status) {
  while (waiting) {
    hia_waiting *next = waiting->next;
    waiting->ready(waiting->user, waiting->function, status);
    hiaR_free(&engine->allocator, waiting, sizeof *waiting);
    waiting = next;
  }
}

static void end(hia_making *m, hia_status status) {
  hia_module *module = m->function->module;
  hia_engine *engine = module->engine;
  pthread_mutex_lock(&module->making_lock);
  m->status = status;
  m->is_over = true;
  hia_making **at = &module->making;
  while (*at != m) at = &(*at)->next;
  *at = m->next;
  hia_waiting *waiting = m->waiting;
  pthread_cond_broadcast(&module->made);
  give_up(m);
  pthread_mutex_unlock(&module->making_lock);
  hiaJ_tell(engine, waiting, status);
}

/* What is learnt from the time that a unit took. */
static void learn(hia_engine *engine, const hia_unit *unit) {
  const hia_function_stats *s = &unit->stats;
  if (!unit->code || !s->nodes || s->hurried) return;
  double ns = (double)(s->emit_ns + s->optimize_ns + s->codegen_ns) / hiaJ_work_of(unit);
  pthread_mutex_lock(&engine->lock);
  engine->ns_per_node += (ns - engine->ns_per_node) / 4;
  pthread_mutex_unlock(&engine->lock);
}

static void begin_again(const hia_unit *unit) {
  for (uint32_t i = 0; hiaJ_has_code(unit) && i < unit->n_versions; i++)
    if (!unit->versions[i].special) hiaJ_tier_ready(&unit->versions[i]);
}

static const char *reason_of(const hia_making *m, hia_status status) {
  return m->error ? hia_error_message(m->error, 0) : hiaR_status_message(status);
}

/* The function stays interpreted, and no run has it made again. */
static void note_failure(const hia_making *m, hia_status status) {
  hia_engine *engine = m->function->module->engine;
  if (engine->options.kind != HIA_ENGINE_AUTO || !(m->traits & HIA_VERSION_NATIVE)) return;
  if (status == HIA_CANCELLED || m->traits & HIA_VERSION_NUMBER) return;
  atomic_fetch_or(&m->function->lacks, 1u << hiaJ_exact_traits(m->traits));
  hiaJ_log(engine, "%s stays interpreted: %s", m->function->name, reason_of(m, status));
}

void hiaJ_make(hia_making *m) {
  hia_module *module = m->function->module;
  hia_engine *engine = module->engine;
  hia_unit *unit = m->unit;
  unit->comp.look = &m->look;
  const hia_function *function = m->function;
  hia_traits traits = m->traits;
  bool is_special = hiaJ_number_of(traits) != 0;
  hia_status status = hiaJ_unit_make(unit, m->function, m->traits, &m->open_ns, &m->error);
  unit->comp.look = NULL;
  if (status == HIA_OK) {
    pthread_mutex_lock(&module->making_lock);
    publish(module, unit);
    pthread_mutex_unlock(&module->making_lock);
    begin_again(unit);
    log_ready(m);
    learn(engine, unit);
    if (is_special) hiaJ_special_made(m->function, traits, making_ns(unit));
  } else {
    hiaJ_log_open(engine, m->open_ns);
    hiaJ_unit_free(engine, unit);
    note_failure(m, status);
    if (is_special) hiaJ_special_failed(m->function, traits, reason_of(m, status));
    if (traits & HIA_VERSION_OBSERVED) hiaJ_inside_lost(m->function);
  }
  end(m, status);
  if (status != HIA_OK) return; /* nobody waits for what follows */
  hiaJ_cached_store(unit, function, traits);
  if (!is_special) return;
  hiaJ_cached_store_versions(function);
  hiaJ_special_release(unit->versions[0].special);
}

/* Two threads may both come here for one function: then it has two versions, which are equal. */
const hia_fn_version *hiaJ_cached_version(hia_function *f, hia_traits traits) {
  hia_module *module = f->module;
  hia_engine *engine = module->engine;
  if (!engine->store) return NULL;
  hia_unit *unit = hiaJ_unit_new(engine);
  if (!unit || !hiaJ_cached_load(unit, f, traits)) {
    hiaJ_unit_free(engine, unit);
    return NULL;
  }
  pthread_mutex_lock(&module->making_lock);
  publish(module, unit);
  pthread_mutex_unlock(&module->making_lock);
  log_loaded(f, unit);
  return &unit->versions[0];
}

void hiaJ_abandon(hia_making *m, hia_status status) {
  if (hiaJ_number_of(m->traits))
    hiaJ_special_failed(m->function, m->traits, hiaR_status_message(status));
  if (m->traits & HIA_VERSION_OBSERVED) hiaJ_inside_lost(m->function);
  hiaJ_unit_free(m->function->module->engine, m->unit);
  end(m, status);
}

/* ---- waiting ---- */

/* Has the unit made if `is_own`, and waits for it until the scope (or NULL) is cancelled. The
 * caller holds the module's making_lock. */
static hia_status have_made(hia_making *m, bool is_own, hia_cancel_scope *scope,
                            hia_error **error) {
  hia_module *module = m->function->module;
  m->references++;
  atomic_fetch_add_explicit(&m->n_wanting, 1, memory_order_relaxed);
  if (is_own) {
    pthread_mutex_unlock(&module->making_lock);
    if (!scope || !hiaJ_make_beside(m)) {
      m->scope = scope;
      hiaJ_make(m);
    }
    pthread_mutex_lock(&module->making_lock);
  }
  while (!m->is_over && !(scope && hiaR_scope_status(scope)))
    pthread_cond_wait(&module->made, &module->making_lock);
  atomic_fetch_sub_explicit(&m->n_wanting, 1, memory_order_relaxed);
  hia_status status = m->is_over && is_own ? m->status : HIA_OK;
  if (status) {
    if (error) *error = m->error;
    if (error) m->error = NULL;
  }
  give_up(m);
  return status;
}

static hia_status ready(hia_function *f, hia_traits traits, hia_cancel_scope *scope,
                        size_t max_memory, const hia_fn_version **version, hia_error **error) {
  hia_module *module = f->module;
  const hia_allocator *allocator = &module->engine->allocator;
  hia_status status = HIA_OK, is_ended = HIA_OK;
  pthread_mutex_lock(&module->making_lock);
  while (!(*version = hiaJ_version(f, traits)) && status == HIA_OK) {
    is_ended = scope ? hiaR_scope_status(scope) : HIA_OK;
    if (is_ended) break;
    bool is_new;
    hia_making *m = hiaJ_making(f, traits, max_memory, &is_new);
    if (!m) {
      status = hiaR_fail_memory(allocator, error);
      break;
    }
    bool was_queued = !is_new && hiaJ_take_queued(m);
    status = have_made(m, is_new || was_queued, scope, error);
    if (was_queued) hiaJ_module_release(module); /* never the last reference */
  }
  pthread_mutex_unlock(&module->making_lock);
  if (!is_ended) return status;
  return hiaJ_fail(allocator, error, is_ended, NULL, "%s, while `%s` was compiled",
                   hiaR_status_message(is_ended), f->name);
}

hia_status hiaJ_ready(hia_function *f, hia_traits traits, const hia_fn_version **version,
                      hia_error **error) {
  *version = hiaJ_version(f, traits);
  return *version ? HIA_OK : ready(f, traits, NULL, 0, version, error);
}

const hia_fn_version *hiaJ_await_native(const hia_fn_version *v, hia_cancel_scope *scope) {
  hia_module *module = v->function->module;
  hia_traits traits = hiaJ_exact_traits(v->traits) | HIA_VERSION_NATIVE;
  const hia_fn_version *native;
  pthread_mutex_lock(&module->making_lock);
  while (!(native = hiaJ_version(v->function, traits)) && hiaR_scope_status(scope) == HIA_OK &&
         find_making(module, v->function, traits)) {
    /* The scope wakes a context, not this thread. */
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += AWAIT_NS;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&module->made, &module->making_lock, &at);
  }
  pthread_mutex_unlock(&module->making_lock);
  return native;
}

/* Called on the thread that ends the run. */
static void wake(void *user) {
  hia_module *module = user;
  pthread_mutex_lock(&module->making_lock);
  pthread_cond_broadcast(&module->made);
  pthread_mutex_unlock(&module->making_lock);
}

hia_status hiaJ_ready_for(hia_function *f, hia_traits traits, const hia_run_options *options,
                          const hia_fn_version **version, hia_error **error) {
  hia_module *module = f->module;
  *version = hiaJ_version(f, traits);
  if (*version) return HIA_OK;
  hia_watch watch;
  hia_limits limits = {0};
  hia_status status =
      hiaJ_watch_begin(&watch, module->engine, options, false, wake, module, &limits);
  if (status)
    return hiaJ_fail(&module->engine->allocator, error, status, NULL, "%s",
                     hiaR_status_message(status));
  size_t memory = options->max_memory;
  if (memory && memory < least_memory) memory = least_memory;
  status = ready(f, traits, watch.scope.is_open ? &watch.scope : NULL, memory, version, error);
  hiaJ_watch_end(&watch, status);
  return status;
}

/* ---- public ---- */

hia_status hiaJ_need_instance(const hia_function *f, hia_error **error) {
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
  hia_run_options complete;
  hia_status status = hiaJ_need_instance(f, error);
  if (status == HIA_OK) status = hiaJ_run_options(f, options, &complete, error);
  if (status != HIA_OK) return status;
  const hia_fn_version *version;
  hia_traits traits = hiaJ_best_traits(f, hiaJ_traits_for(&complete));
  return hiaJ_ready_for(f, traits, &complete, &version, error);
}

/* Adds those of a further version; no two versions share nodes. */
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
  sum->hurried += s->hurried;
  sum->codegen_units += s->codegen_units;
  sum->load_ns += s->load_ns;
}

/* None of them leaves meanwhile. */
static void add_specials(hia_function_stats *sum, const hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  if (!s) return;
  pthread_mutex_lock(&s->lock);
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    const hia_fn_version *v = atomic_load_explicit(&s->specials[k].version, memory_order_acquire);
    if (!v) continue;
    add_stats(sum, &v->unit->stats);
    sum->versions++;
  }
  pthread_mutex_unlock(&s->lock);
}

HIA_SIZED(hia_function_stats, load_ns);

hia_status hia_function_get_stats(const hia_function *f, hia_function_stats *stats) {
  if (!f || !stats || stats->size < sizeof(size_t)) return HIA_ARGUMENT;
  const hia_module *module = f->module;
  hia_function_stats all = {0};
  for (const hia_fn_version *v = atomic_load_explicit(&f->versions, memory_order_acquire); v;
       v = v->next) {
    if (v->traits & HIA_VERSION_OBSERVED) continue; /* no run is for its result */
    add_stats(&all, &v->unit->stats);
    if (!all.versions) all.opt_level = v->unit->stats.opt_level;
    if (all.tier != HIA_TIER_NATIVE)
      all.tier = hiaJ_has_code(v->unit) ? HIA_TIER_NATIVE : HIA_TIER_IMAGE;
    all.versions++;
  }
  add_specials(&all, f);
  all.parse_ns = module->parse_ns;
  all.check_ns = module->check_ns;
  all.runs = atomic_load_explicit(&f->n_runs, memory_order_relaxed);
  hiaR_sized_copy_out(&all, sizeof all, stats, stats->size);
  return HIA_OK;
}
