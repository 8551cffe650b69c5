/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The versions that a run goes through: an image that native code takes over, an image that
 * observes, a version that assumes something, or one version from its begin to its end. */
#include "jit/engine/running.h"
#include "jit/engine/profile.h"
#include "runtime/heap/audit.h"
#include "runtime/kernel/blas.h"
#include "runtime/run/events.h"
#include "runtime/value/walk.h"

/* A nested run gets what is left of the limits of the one around it. */
static hia_status inherit(const hia_engine *engine, hia_limits *limits) {
  const hia_nest *nest = hiaR_nest();
  const hia_watch *outer = hiaJ_outer();
  if (!nest || (outer && outer->engine != engine)) return HIA_OK;
  if (!nest->depth) return HIA_DEPTH;
  if (!nest->memory) return HIA_MEMORY;
  limits->depth = hiaR_nest_least(limits->depth, nest->depth);
  limits->memory = hiaR_nest_least(limits->memory, nest->memory);
  return HIA_OK;
}

/* A run that is to begin again is ended where it polls, and not here. */
static bool is_cancelled(void *flag) {
  uint32_t status = __atomic_load_n((const uint32_t *)flag, __ATOMIC_RELAXED);
  return status != HIA_OK && status != HIA_AGAIN;
}

/* At first the params are made, as long as the run may take. */
static hia_status hold_params(const hia_fn_version *f, hia_limits *limits,
                              hia_param_state **params) {
  bool may_end = limits->cancelled != NULL;
  hia_status status =
      hiaR_params_hold(&f->function->module->params, may_end ? is_cancelled : NULL,
                       may_end ? (void *)(uintptr_t)limits->cancelled : NULL, params);
  if (status == HIA_OK) limits->params = hiaR_state_words(*params);
  return status;
}

/* The library is opened here, on the thread's own stack, and not when the first product needs it.
 */
static void begin_heap(hia_heap *heap, const hia_engine *engine, const hia_unit *unit,
                       hia_limits *limits) {
  hiaR_heap_begin(heap, limits->memory);
  heap->repeats = atomic_load_explicit(&engine->n_trainers, memory_order_relaxed) > 0;
  heap->fast_products = hiaJ_has(engine, HIA_FLAG_FAST_PRODUCTS) && hiaR_blas_open();
  if (limits->cancelled) {
    heap->must_end = is_cancelled;
    heap->user = (void *)(uintptr_t)limits->cancelled;
  }
  limits->heap = heap;
  limits->shapes = unit->shapes;
}

#ifdef HIA_CENSUS
/* True if the version counts, and gives up what it has: native code of a graph that was read may
 * not (lower.c). */
static bool has_counts(const hia_fn_version *f) { return !f->native || !f->unit->facts.is_read; }

/* What a job of native code held that was abandoned is lost: with several workers counts may be too
 * high. */
static void audit(const hia_heap *heap, const hia_engine *engine, const hia_fn_version *f,
                  const hia_word *results) {
  if (!has_counts(f)) return;
  const hia_root_facts *root = &f->facts;
  hiaR_audit_results(heap, f->unit->shapes, &f->unit->facts.types, root->results, results,
                     root->n_results, !f->native || engine->options.threads < 2);
}
#endif

/* True if a word can be one of the type: a number stands for a constructor without fields, and a
 * tensor is an object. */
static bool is_set(const hia_type_table *types, hia_type type, hia_word word) {
  if (hiaR_is_scalar(type) || hiaR_is_object(word)) return true;
  switch (hiaR_type_kind(types, type)) {
  case HIA_KIND_DATA:
    return word < hiaR_type_entry(types, type)->n && !hiaR_ctor(types, type, (uint32_t)word)->n;
  case HIA_KIND_TENSOR: return false;
  default: return true;
  }
}

static bool are_set(const hia_type_table *types, const hia_layout *layout, const char *base,
                    uint64_t n) {
  const hia_layout_word *layout_words = types->layout_words + layout->first;
  for (uint64_t i = 0; i < n; i++, base += layout->size)
    for (uint32_t k = 0; k < layout->n; k++)
      if (layout_words[k].repr == HIA_REPR_REF &&
          !is_set(types, layout_words[k].type, hiaR_load(HIA_REPR_REF, base + layout_words[k].at)))
        return false;
  return true;
}

static bool is_object_set(const hia_type_table *types, const hia_walk_object *o) {
  const hia_array *array = (const hia_array *)(uintptr_t)o->word;
  switch (hiaR_type_kind(types, o->type)) {
  case HIA_KIND_DATA: return are_set(types, o->layout, (const char *)(uintptr_t)o->word, 1);
  case HIA_KIND_ARRAY: return are_set(types, o->layout, array->data, array->n);
  default: return true;
  }
}

/* A graph that was read may give what nothing has set, such as elements that no `fill` was for:
 * words 0, which hosts would follow. HIA_INTERNAL: there is such a word in the results. */
static hia_status check_read(const hia_engine *engine, const hia_fn_version *f,
                             const hia_word *results) {
  const hia_root_facts *root = &f->facts;
  const hia_type_table types = f->unit->facts.types;
  hia_walk walk = {.types = &types, .allocator = &engine->allocator};
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < root->n_results && status == HIA_OK; i++) {
    const hia_walk_object *o;
    if (!is_set(&types, root->results[i], results[i])) status = HIA_INTERNAL;
    if (status != HIA_OK || hiaR_is_scalar(root->results[i])) continue;
    hiaR_walk_from(&walk, root->results[i], results[i]);
    while (status == HIA_OK && (o = hiaR_walk_next(&walk))) {
      if (!is_object_set(&types, o)) status = HIA_INTERNAL;
      hiaR_walk_done(&walk);
    }
    if (walk.is_out) status = HIA_MEMORY;
  }
  hiaR_walk_free(&walk);
  return status;
}

static hia_status leave(const hia_engine *engine, const hia_fn_version *f, hia_heap *heap,
                        hia_word *results, bool is_limited, hia_leaving *left) {
  if (!f->function->result.info->has_references) return HIA_OK;
  const hia_root_facts *root = &f->facts;
  if (f->unit->facts.is_read) {
    hia_status checked = check_read(engine, f, results);
    if (checked != HIA_OK) return checked;
  }
  const hia_allocator *allocator =
      f->function->loss ? &engine->step_results.allocator : &engine->allocator;
  left->objects = hiaR_objects_new(allocator, is_limited ? SIZE_MAX : 0);
  if (!left->objects) return HIA_MEMORY;
  hiaR_objects_take_from(left->objects, heap);
  hia_status status = hiaR_objects_leave(left->objects, f->unit->shapes, root->results, results,
                                         root->n_results, &left->has_outside);
  hiaR_objects_take_from(left->objects, NULL);
  if (status == HIA_OK && (left->has_outside || hiaR_objects_bytes(left->objects))) return HIA_OK;
  hiaR_objects_release(left->objects);
  left->objects = NULL;
  return status;
}

static hia_status enter(hia_running *r, const hia_fn_version *f, const hia_limits *limits) {
  hia_engine *engine = r->engine;
  if (f->native)
    return hiaR_native_run(r->context->context, f->native, r->words, &f->unit->unwinder, limits,
                           r->failure, r->usage);
  bool expands = engine->options.kind == HIA_ENGINE_EXPAND;
  return (expands ? hiaR_expand_run : hiaR_interp_run)(f->unit->image, f->entry, r->words,
                                                       r->results, limits, &engine->allocator,
                                                       r->failure, r->usage);
}

/* True if a run of the version has batches, and so may need more memory than without them. */
static bool is_batched(const hia_running *r, const hia_fn_version *f) {
  return f->unit->has_segments || (!f->native && r->limits.firings);
}

/* Runs the version, and takes its results out of its heap. */
static hia_status run_version(hia_running *r, const hia_fn_version *f, hia_limits limits) {
  hia_engine *engine = r->engine;
  hia_sampling sampling;
  if (is_batched(r, f)) {
    r->effects.is_recorded = true;
    r->effects.most = HIA_MAX_BATCHED_EFFECTS;
  } else if (f->native) {
    r->effects.is_recorded = false;
  }
  hia_status status =
      hiaJ_sampling_begin(&sampling, r->options->profile, engine, &f->unit->places, &limits);
  if (status != HIA_OK) return r->failure->status = status;
  hia_heap *heap = f->unit->shapes ? &r->context->heap : NULL;
  if (heap) begin_heap(heap, engine, f->unit, &limits);
  status = hiaJ_watch_status(&r->watch, enter(r, f, &limits));
  hiaJ_sampling_end(&sampling);
  if (!heap) return status;
#ifdef HIA_CENSUS
  if (status == HIA_OK) audit(heap, engine, f, r->results);
#endif
  if (status == HIA_OK)
    status = leave(engine, f, heap, r->results, r->options->max_memory != 0, r->left);
  r->usage->heap_bytes = atomic_load_explicit(&heap->taken, memory_order_relaxed);
  r->usage->system_bytes = atomic_load_explicit(&heap->fresh, memory_order_relaxed);
  hiaR_heap_end(heap);
  return status;
}

/* The run begins again in this version. */
static void begin_again(hia_running *r, const hia_fn_version *f) {
  r->n_restarts++;
  hia_ring *ring = hiaR_ring_of(r->options->timeline, 0);
  hiaR_event(ring, HIA_EVENT_RUN_END, HIA_AGAIN);
  if (ring) hiaJ_timeline_version(r->options->timeline, f);
  hiaR_event(ring, HIA_EVENT_RUN_BEGIN, ring ? hiaJ_timeline_name(ring->timeline, f) : 0);
}

/* Runs an image that native code may take over; *f becomes the version that the run ends in. */
static hia_status run_in_tiers(hia_running *r, const hia_fn_version **f) {
  hia_tier_run tier;
  hia_limits first = r->limits;
  r->effects.is_recorded = true;
  hiaJ_tier_begin(&tier, *f, &r->watch.scope, &first);
  hia_status status = run_version(r, *f, first);
  const hia_fn_version *native = hiaJ_tier_end(&tier, status);
  if (status == HIA_AGAIN && !hiaR_scope_not_again(&r->watch.scope))
    status = hiaR_scope_status(&r->watch.scope);
  if (status == HIA_AGAIN && !native) { /* on one core */
    native = hiaJ_await_native(*f, &r->watch.scope);
    hia_status ended = hiaR_scope_status(&r->watch.scope);
    if (ended != HIA_OK && ended != HIA_AGAIN) status = ended;
  }
  if (status == HIA_AGAIN) {
    if (native) *f = native;
    r->interpreted_ns = hiaR_now() - tier.began_at;
    begin_again(r, *f);
    hiaR_effects_again(&r->effects);
    status = run_version(r, *f, r->limits);
  }
  return status;
}

/* Runs an image that observes, for some time; then the version. */
static hia_status run_observed(hia_running *r, const hia_fn_version **f, bool begins_again) {
  hia_observing *o = r->observing;
  hia_limits limits = r->limits;
  limits.threads = 1;
  limits.pool = NULL;
  limits.observer = &o->observer;
  limits.firings = NULL; /* what is observed is read at once */
  uint64_t start = hiaR_now();
  o->observer.end_at = start + o->most_ns;
  hia_status status = run_version(r, o->version, limits);
  o->ns = hiaR_now() - start;
  bool is_out = status == HIA_DEPTH || status == HIA_MEMORY; /* other code may need less */
  if ((status != HIA_AGAIN && !is_out) || o->is_all) {
    *f = o->version;
    return is_out ? HIA_AGAIN : status;
  }
  begin_again(r, *f);
  return begins_again ? run_in_tiers(r, f) : run_version(r, *f, r->limits);
}

/* Runs a version that assumes something; *f becomes the general one if a guard fails. `params`: of
 * the program, or NULL. What the version reads of its arguments as params joins those. */
static hia_status run_special(hia_running *r, const hia_fn_version **f, hia_param_state *params) {
  hia_special *special = (*f)->special;
  hia_param_state *bound = NULL;
  hia_limits limits = r->limits;
  hia_status status = HIA_OK;
  bool has_own = special->n_specs > special->n_bound;
  if (special->n_bound)
    status = hiaJ_assumed_params(special, r->args, r->words, has_own ? params : NULL, &bound);
  if (status != HIA_OK) return status;
  if (bound) limits.params = hiaR_state_words(bound);
  status = run_version(r, *f, limits);
  hiaR_state_release(bound);
  if (status != HIA_AGAIN) return status;
  hiaJ_guard_failed(special, (uint64_t)r->failure->code);
  *f = r->general;
  begin_again(r, *f);
  return hiaJ_may_begin_again(*f) ? run_in_tiers(r, f) : run_version(r, *f, r->limits);
}

/* True if it is the limit, or what the machine has left, that was too little. */
static bool is_limited(const hia_running *r) {
  bool is_full =
      r->context && atomic_load_explicit(&r->context->heap.is_full, memory_order_relaxed);
  return is_full || (r->limits.memory && r->limits.memory != SIZE_MAX);
}

/* The options of the run, for compiling in what is left of its time. */
static hia_run_options rest_of(const hia_running *r) {
  hia_run_options options = *r->options;
  uint64_t now = hiaR_now(), end = r->watch.clock ? r->watch.alarm.at : 0;
  if (options.timeout_ns) options.timeout_ns = end > now ? end - now : 1;
  return options;
}

/* A run with batches has had too little memory. It begins again without them, with no memory of
 * earlier runs, and what it has called of the host's is taken from the record. *f becomes the
 * version without batches. */
static hia_status run_unbatched(hia_running *r, const hia_fn_version **f) {
  hia_traits traits = hiaJ_exact_traits(r->general->traits) | HIA_VERSION_UNBATCHED |
                      ((*f)->traits & HIA_VERSION_NATIVE);
  const hia_run_options options = rest_of(r);
  const hia_fn_version *version;
  if (atomic_load_explicit(&r->effects.is_stuck, memory_order_relaxed)) return HIA_MEMORY;
  hia_status status = hiaJ_ready_for((*f)->function, traits, &options, &version, NULL);
  hia_status ended = r->watch.scope.is_open ? hiaR_scope_status(&r->watch.scope) : HIA_OK;
  if (ended != HIA_OK && ended != HIA_AGAIN) return ended;
  if (status != HIA_OK) return HIA_MEMORY;
  *f = version;
  hiaR_failure_clear(r->failure);
  hiaR_effects_again(&r->effects);
  r->limits.firings = NULL;
  if (r->context) hiaR_heap_forget(&r->context->heap);
  begin_again(r, version);
  return run_version(r, version, r->limits);
}

hia_status hiaJ_run_words(hia_running *r, const hia_fn_version **f) {
  hia_engine *engine = r->engine;
  r->limits = (hia_limits){.depth = r->options->max_depth,
                           .memory = r->options->max_memory,
                           .timeline = r->options->timeline,
                           .threads = engine->options.threads,
                           .pool = engine->pool};
  bool is_exact = r->options->has_fuel || hiaJ_has(engine, HIA_FLAG_TRAP_NAN);
  if (!is_exact) r->limits.firings = hiaR_firings(engine->options.batching);
  hia_status status = inherit(engine, &r->limits);
  if (status != HIA_OK) return r->failure->status = status;
  if (r->options->has_fuel) r->limits.threads = 1, r->limits.pool = NULL;
  hiaR_effects_init(&r->effects, &engine->allocator);
  r->limits.effects = &r->effects;
  bool begins_again = hiaJ_may_begin_again(r->general), is_native = (*f)->native || begins_again;
  if (is_native || (*f)->unit->shapes) {
    r->context = hiaJ_context_take(engine);
    if (!r->context) return r->failure->status = HIA_MEMORY;
  }
  hia_param_state *params = NULL;
  hia_special *special = (*f)->special;
  status = hiaJ_watch_begin(&r->watch, engine, r->options, begins_again,
                            is_native ? hiaR_context_notify : NULL,
                            is_native ? r->context->context : NULL, &r->limits);
  bool is_watched = status == HIA_OK;
  if (status == HIA_OK && (*f)->unit->facts.has_params)
    status = hold_params(*f, &r->limits, &params);
  if (status == HIA_OK)
    status = special        ? run_special(r, f, params)
             : r->observing ? run_observed(r, f, begins_again)
             : begins_again ? run_in_tiers(r, f)
                            : run_version(r, *f, r->limits);
  if (status == HIA_MEMORY && is_batched(r, *f) && is_limited(r)) status = run_unbatched(r, f);
  if (is_watched) status = hiaJ_watch_end(&r->watch, status);
  hiaR_effects_free(&r->effects);
  if (r->context) hiaJ_context_put(engine, r->context);
  hiaR_state_release(params);
  return r->failure->status = status;
}
