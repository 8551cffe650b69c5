/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls: arguments in, the engine's way of running, the result or the failure out. */
#include "jit/engine/running.h"
#include "runtime/run/events.h"

/* ---- arguments ---- */

static hia_status wrong_count(hia_function *f, size_t n, hia_error **error) {
  return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT, NULL,
                   "`%s` takes %u argument%s, not %zu", f->signature, f->arity,
                   f->arity == 1 ? "" : "s", n);
}

/* *fits: the parameter takes a value of the type. HIA_MEMORY. */
static hia_status check_type(const hia_param *param, const hia_type_info *type,
                             const hia_allocator *allocator, bool *fits) {
  *fits = !param->info || hiaR_is_same_type(param->info, type);
  if (*fits) return HIA_OK;
  return hiaR_type_infos_compare(param->info, type, allocator, fits);
}

static hia_status wrong_type(hia_function *f, size_t i, const hia_type_info *arg,
                             hia_error **error) {
  char type[256], wanted[256];
  const hia_type_info *param = f->params[i].info;
  hia_type_info_format(arg, type, sizeof type);
  hia_type_info_format(param, wanted, sizeof wanted);
  if (strcmp(type, wanted) == 0 && param->has_references)
    return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT,
                     "types are equal if their names, constructors and fields are",
                     "argument %zu of `%s` is of a type %s of another program, which differs",
                     i + 1, f->signature, type);
  return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT, NULL,
                   "argument %zu of `%s` is of type %s", i + 1, f->signature, type);
}

/* What a function is called with: values, with streams in place of some of them; or, to find an
 * instance, types alone. */
typedef struct given {
  hia_value *const *args;
  struct hia_stream *const *streams; /* of the run's options; or NULL */
  const hia_type_info *const *types; /* or NULL */
} given;

static const hia_type_info *type_of(const given *g, size_t i) {
  if (g->types) return g->types[i];
  return g->args[i] ? g->args[i]->type : g->streams[i]->type;
}

static hia_status check_arg(hia_function *f, const given *g, size_t i, hia_error **error) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  bool has_stream = g->streams && g->streams[i];
  if (!g->types && !g->args[i] == !has_stream)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "argument %zu is %s", i + 1,
                     has_stream ? "a value and a stream" : "no value");
  if (!type_of(g, i))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "argument %zu has no type", i + 1);
  bool fits;
  hia_status status = check_type(&f->params[i], type_of(g, i), allocator, &fits);
  if (status) return hiaR_fail_memory(allocator, error);
  return fits ? HIA_OK : wrong_type(f, i, type_of(g, i), error);
}

static hia_status check_args(hia_function *f, const given *g, size_t n, hia_error **error) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  hia_status status = HIA_OK;
  if (n != f->arity) return wrong_count(f, n, error);
  if (n && !g->args && !g->types)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no arguments");
  for (size_t i = 0; i < n && status == HIA_OK; i++) status = check_arg(f, g, i, error);
  return status;
}

typedef struct instantiating {
  hia_function *generic;
  const given *given;
  hia_function *instance;
} instantiating;

static hia_status instantiate(hia_module *module, void *user, hia_error **error) {
  instantiating *want = user;
  uint32_t n = want->generic->arity;
  hia_arena *scratch = &module->comp.scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_type *types = HIA_NEW_ARRAY(scratch, hia_type, n ? n : 1);
  for (uint32_t i = 0; i < n; i++) {
    types[i] = hiaJ_own_type(module, type_of(want->given, i));
    if (types[i] != HIA_NONE) continue;
    char type[256];
    hia_type_info_format(type_of(want->given, i), type, sizeof type);
    hiaR_arena_release(scratch, mark);
    return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL,
                     "argument %u of `%s` is of type %s, which the program does not have", i + 1,
                     want->generic->signature, type);
  }
  hia_status status = hiaJ_instance(want->generic, types, &want->instance, error);
  hiaR_arena_release(scratch, mark);
  return status;
}

/* One that was made before: every call of a generic function comes here. */
static hia_function *known_instance(const hia_function *generic, const given *g) {
  hia_module *module = generic->module;
  const hia_allocator *allocator = &module->engine->allocator;
  hia_function *found = NULL;
  pthread_mutex_lock(&module->lock);
  for (hia_function *f = module->functions; f && !found; f = f->next) {
    bool is_it = f->decl == generic->decl && !f->is_generic;
    for (uint32_t i = 0; is_it && i < f->arity; i++)
      if (check_type(&f->params[i], type_of(g, i), allocator, &is_it))
        is_it = false; /* it is found otherwise */
    if (is_it) found = f;
  }
  pthread_mutex_unlock(&module->lock);
  return found;
}

/* The arguments are checked; the caller holds the module. */
static hia_status instance_for(hia_function *f, const given *g, hia_function **instance,
                               hia_error **error) {
  instantiating want = {.generic = f, .given = g};
  hia_status status = HIA_OK;
  want.instance = f->is_generic ? known_instance(f, g) : f;
  if (!want.instance) status = hiaJ_module_try(f->module, error, instantiate, &want);
  *instance = status == HIA_OK ? want.instance : NULL;
  return status;
}

static hia_status find_instance(hia_function *f, const given *g, size_t n, hia_function **instance,
                                hia_error **error) {
  if (error) *error = NULL;
  if (instance) *instance = NULL;
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  if (!instance)
    return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT, NULL,
                     "no place for the function");
  hia_status status = check_args(f, g, n, error);
  return status == HIA_OK ? instance_for(f, g, instance, error) : status;
}

hia_status hia_function_instance(hia_function *f, hia_value *const *args, size_t n,
                                 hia_function **instance, hia_error **error) {
  return find_instance(f, &(given){.args = args}, n, instance, error);
}

hia_status hia_function_instance_of(hia_function *f, const hia_type_info *const *types, size_t n,
                                    hia_function **instance, hia_error **error) {
  return find_instance(f, &(given){.types = types}, n, instance, error);
}

/* ---- running ---- */

/* The words of a call: arguments, then results. Small ones need no memory. */
typedef struct block {
  hia_word *words;
  size_t size; /* of the allocation; 0: `few` */
  hia_word few[64];
} block;

static bool block_init(block *b, const hia_allocator *allocator, size_t n) {
  b->size = n <= HIA_LEN(b->few) ? 0 : n * sizeof(hia_word);
  b->words = b->size ? hiaR_alloc(allocator, b->size) : b->few;
  return b->words != NULL;
}

static void give_stats(const hia_run_options *options, const hia_usage *usage, uint64_t run_ns,
                       bool is_counted, const uint64_t *fuel_left, hia_tier tier,
                       uint64_t interpreted_ns, uint32_t n_restarts, uint32_t number) {
  hia_run_stats filled = {.size = sizeof filled,
                          .run_ns = run_ns,
                          .calls = usage->calls,
                          .rounds = usage->rounds,
                          .firings = usage->firings,
                          .frames = usage->frames,
                          .peak_frames = usage->peak_frames,
                          .peak_bytes = usage->peak_bytes,
                          .steals = usage->steals,
                          .is_counted = is_counted,
                          .fuel_left = fuel_left ? *fuel_left : 0,
                          .is_fuelled = fuel_left != NULL,
                          .heap_bytes = usage->heap_bytes,
                          .system_bytes = usage->system_bytes,
                          .batch_rows = usage->batch.rows,
                          .batch_waves = usage->batch.waves,
                          .batch_plan_ns = usage->batch.plan_ns,
                          .batch_gather_ns = usage->batch.gather_ns,
                          .batch_compute_ns = usage->batch.compute_ns,
                          .batch_reused = usage->batch.reused,
                          .interpreted_ns = interpreted_ns,
                          .tier = tier,
                          .n_restarts = n_restarts,
                          .version = number};
  if (options->stats)
    hiaR_sized_copy_out(&filled, sizeof filled, options->stats, options->stats->size);
}

/* A nested run gets what is left of the fuel of the one around it, if that has some, or less if it
 * has less of its own. */
static void take_fuel(hia_run_options *options) {
  const hia_nest *outer = hiaR_nest();
  if (!outer || !outer->fuel) return;
  if (!options->has_fuel || options->fuel > *outer->fuel) options->fuel = *outer->fuel;
  options->has_fuel = true;
}

/* Returns the rest of a nested run's fuel to the run around it. After a failure for which the rest
 * is not known, `left` is 0. */
static void give_back_fuel(const hia_run_options *options, uint64_t left) {
  const hia_nest *outer = hiaR_nest();
  if (outer && outer->fuel) *outer->fuel -= options->fuel - left;
}

/* The result with its objects. What it has of the arguments' objects it holds with all of theirs;
 * of a stream these are objects that elements share. */
static hia_value *make_result(hia_function *f, hia_value *const *args,
                              struct hia_stream *const *streams, hia_leaving *left,
                              const hia_word *words) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  for (uint32_t i = 0; left->has_outside && i < f->arity; i++) {
    hia_objects *objects = args[i] ? args[i]->objects : streams[i]->objects;
    if (objects && !hiaR_objects_depend(left->objects, objects)) return NULL;
  }
  return hiaR_value_new(allocator, f->result.info, left->objects, words);
}

/* Goes over to a version that assumes what these arguments are. True if its time is to be taken. */
static bool choose(hia_function *f, const hia_fn_version **version, const hia_run_options *options,
                   const hia_word *words) {
  if (hiaJ_exact_traits((*version)->traits) || options->profile) return false;
  uint64_t use;
  const hia_fn_version *special = hiaJ_special_version(f, words, &use);
  if (!special) return false;
  *version = special;
  if (options->timeline) hiaJ_timeline_version(options->timeline, special);
  return hiaJ_is_timed(use);
}

/* `alone`: the run is made for what is observed in it, or NULL. Then *result may stay NULL. */
static hia_status run_ready(hia_function *f, const hia_fn_version *version, hia_value *const *args,
                            const hia_run_options *options, uint64_t compiling_ns,
                            hia_observing *alone, hia_value **result, hia_error **error) {
  hia_engine *engine = f->module->engine;
  uint64_t n_runs = atomic_fetch_add_explicit(&f->n_runs, 1, memory_order_relaxed);
  size_t n_args = f->n_param_words + (options->has_fuel ? 1u : 0u);
  size_t n_results = f->result.info->n_words + (options->has_fuel ? 1u : 0u);
  block b;
  if (!block_init(&b, &engine->allocator, n_args + n_results))
    return hiaR_fail_memory(&engine->allocator, error);
  hia_word *at = b.words;
  for (uint32_t i = 0; i < f->arity; i++) {
    if (args[i])
      memcpy(at, args[i]->words, args[i]->type->n_words * sizeof *at);
    else
      *at = hiaR_stream_word(options->streams[i]);
    at += args[i] ? args[i]->type->n_words : 1;
  }
  if (options->has_fuel) *at = options->fuel;
  const hia_fn_version *general = version;
  bool is_timed = !alone && atomic_load_explicit(&f->n_specials, memory_order_acquire) &&
                  choose(f, &version, options, b.words);
  hia_special *held = version->special;
  bool is_looked_at = !alone && hiaJ_is_looked_at(f, version, 1);
  hia_observing observing = {0};
  if (is_looked_at && !options->profile) hiaJ_observing_begin(&observing, f, version);
  hia_word *results = b.words + n_args;
  hia_failure failure; /* most of it is its backtrace, which need not be cleared */
  hiaR_failure_clear(&failure);
  hia_usage usage = {0};
  hia_ring *ring = hiaR_ring_of(options->timeline, 0);
  hiaR_event(ring, HIA_EVENT_RUN_BEGIN, ring ? hiaJ_timeline_name(ring->timeline, version) : 0);
  bool has_waves = hiaJ_has_waves(f, version);
  /* The clock takes a fifth of a short call's time. */
  bool has_clock = options->stats || is_looked_at || is_timed || has_waves;
  uint64_t start = has_clock ? hiaR_now() : 0;
  hia_run_options left; /* of the time that it has: compiling took some */
  const hia_run_options *limits = options;
  if (compiling_ns && options->timeout_ns) {
    left = *options;
    left.timeout_ns = compiling_ns < left.timeout_ns ? left.timeout_ns - compiling_ns : 1;
    limits = &left;
  }
  hia_leaving out = {NULL, false};
  hia_running r = {.engine = engine,
                   .options = limits,
                   .args = args,
                   .words = b.words,
                   .results = results,
                   .left = &out,
                   .failure = &failure,
                   .usage = &usage,
                   .general = general,
                   .observing = alone               ? alone
                                : observing.version ? &observing
                                                    : NULL};
  hia_status status = hiaJ_run_words(&r, &version);
  uint64_t run_ns = start ? hiaR_now() - start : 0;
  hiaJ_observing_end(&observing, f);
  if (status == HIA_OK)
    hiaJ_look_at_waves(f, version, &usage, r.interpreted_ns ? 0 : run_ns, is_looked_at);
  if (is_timed && status == HIA_OK && version->special)
    hiaJ_special_timed(version->special, run_ns);
  if (is_looked_at && status == HIA_OK)
    hiaJ_look(f, &(hia_looked_at){.version = observing.version ? general : version,
                                  .args = args,
                                  .words = b.words,
                                  .number = n_runs,
                                  .ns = run_ns,
                                  .interpreted_ns = r.interpreted_ns,
                                  .is_native = version->native != NULL,
                                  .is_cut = observing.version && version != observing.version});
  hiaR_event(ring, HIA_EVENT_RUN_END, status);
  bool is_known = options->has_fuel && (status == HIA_OK || (status == HIA_FUEL && !failure.host));
  uint64_t fuel_left = status == HIA_OK ? results[n_results - 1] : (uint64_t)failure.code;
  give_stats(options, &usage, run_ns, version->unit->facts.is_counted, is_known ? &fuel_left : NULL,
             version->native ? HIA_TIER_NATIVE : HIA_TIER_IMAGE, r.interpreted_ns, r.n_restarts,
             hiaJ_number_of(version->traits));
  give_back_fuel(options, is_known ? fuel_left : 0);
  hia_status lost = HIA_OK;
  if (status == HIA_MEMORY && options->streams)
    lost = hiaR_streams_fail(&engine->allocator, options->streams, f->arity, error);
  if (lost != HIA_OK) {
    status = lost;
  } else if (alone && status == HIA_AGAIN) {
    status = HIA_OK; /* it was cut */
  } else if (status != HIA_OK) {
    /* Ended in what was called itself, and at no operation of it. */
    hia_loc_id loc = version->facts.loc; /* of the version that it has ended in */
    if (failure.backtrace.length == 0 && loc != HIA_NONE)
      hiaR_backtrace_push(&failure.backtrace, loc);
    hiaJ_fail_run(engine, error, &failure, options, version->native != NULL,
                  &version->unit->places);
  } else {
    *result = make_result(f, args, options->streams, &out, results);
    hiaR_objects_release(out.objects);
    if (!*result) status = hiaR_fail_memory(&engine->allocator, error);
  }
  if (held) hiaJ_special_release(held);
  if (b.size) hiaR_free(&engine->allocator, b.words, b.size);
  return status;
}

static bool is_auto(const hia_function *f) {
  const hia_engine *engine = f->module->engine;
  return engine->options.kind == HIA_ENGINE_AUTO && !engine->again_at;
}

hia_status hia_run(hia_function *f, hia_value *const *args, size_t n,
                   const hia_run_options *options, hia_value **result, hia_error **error) {
  if (error) *error = NULL;
  if (result) *result = NULL;
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_allocator *allocator = &f->module->engine->allocator;
  hia_run_options complete;
  hia_status status = hiaJ_run_options(f, options, &complete, error);
  if (status != HIA_OK) return status;
  give_stats(&complete, &(hia_usage){0}, 0, false, NULL, HIA_TIER_NONE, 0, 0,
             0); /* until there is a run */
  if (!result) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the result");
  const given g = {.args = args, .streams = complete.streams};
  status = check_args(f, &g, n, error);
  if (status != HIA_OK) return status;
  const hia_nest *nest = hiaR_nest();
  if (nest && nest->level >= HIA_MAX_NESTED)
    return hiaJ_fail(allocator, error, HIA_DEPTH, NULL, "%u runs inside one another", nest->level);

  take_fuel(&complete);
  hia_module *module = f->module;
  hiaJ_module_keep(module);
  status = instance_for(f, &g, &f, error);
  const hia_fn_version *version = NULL;
  uint64_t compiling_ns = 0;
  if (status == HIA_OK) {
    hia_traits traits = hiaJ_traits_for(&complete);
    version = hiaJ_first_version(f, traits);
    if (!version && is_auto(f)) version = hiaJ_cached_version(f, traits | HIA_VERSION_NATIVE);
    if (version && version->unit->units) hiaJ_recall_versions(version, args);
    uint64_t start = version ? 0 : hiaR_now();
    if (!version)
      status = hiaJ_ready_for(f, hiaJ_first_traits(f, traits), &complete, &version, error);
    if (start) compiling_ns = hiaR_now() - start;
  }
  if (status == HIA_OK) status = hiaJ_timeline_begin(complete.timeline, f, version, error);
  if (status == HIA_OK) {
    status = run_ready(f, version, args, &complete, compiling_ns, NULL, result, error);
    hiaJ_timeline_end(complete.timeline);
  }
  hiaJ_module_release(module);
  return status;
}

hia_status hiaJ_run_observed(hia_observing *o, hia_function *f, hia_value *const *args,
                             hia_error **error) {
  hia_run_options complete;
  hia_value *result = NULL;
  hia_status status = hiaJ_run_options(f, NULL, &complete, error);
  if (status != HIA_OK) return status;
  status = run_ready(f, o->version, args, &complete, 0, o, &result, error);
  hia_value_free(result);
  return status;
}

hia_status hia_call(hia_function *f, hia_value *const *args, size_t n, hia_value **result,
                    hia_error **error) {
  return hia_run(f, args, n, NULL, result, error);
}
