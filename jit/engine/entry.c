/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries, plain functions and map entries, and the contexts that hosts pass to entries. */
#include "graph/analysis/analysis.h"
#include "jit/engine/engine.h"
#include "runtime/native/host.h"

static hia_status check(hia_function *f, hia_native_fn *out, hia_error **error) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_engine *engine = f->module->engine;
  if (!out)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, NULL, "no place for the entry");
  if (f->is_generic)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, "name an instance, as in fact(i64)",
                     "`%s` is generic: it has no code of its own", f->signature);
  if (!hiaJ_is_native(engine, HIA_VERSION_NATIVE))
    return hiaJ_fail(&engine->allocator, error, HIA_UNSUPPORTED,
                     "call it with hia_call, or make an engine of kind HIA_ENGINE_AUTO",
                     "this engine makes no native code");
  return HIA_OK;
}

typedef struct wanted {
  const hia_fn_version *version;
  hia_host_side side;
  hia_native_fn made;
  hia_error **error;
  hia_status status;
} wanted;

/* The frames of a plain function, one for each level of calls, must fit into what any thread has
 * left of its stack. */
#define PLAIN_STACK ((size_t)32 << 10)

static const char *why_not_plain(const hia_fn_version *version) {
  const hia_graph *g = version->unit->graph;
  uint32_t levels;
  const char *why = hiaG_not_plain(g, version->root, &g->comp->scratch, &levels);
  if (why || version->unit->unwinder.max_frame <= PLAIN_STACK / (levels + 1)) return why;
  return "it needs a large stack";
}

/* The types of all words that hosts pass to the unit's roots, as the module's values have them. */
static hia_value_types *types_of_entries(hia_unit *unit) {
  hia_arena *arena = &unit->comp.arena;
  hia_type_info *infos = HIA_NEW_ARRAY(arena, hia_type_info, (size_t)unit->types.entries.len + 1);
  hia_value_types *types = HIA_NEW(arena, hia_value_types);
  types->infos = infos;
  for (uint32_t i = 0; i < unit->n_versions; i++) {
    const hia_function *f = unit->versions[i].function;
    const hia_root_facts *root = &unit->versions[i].facts;
    uint32_t n = f->n_param_words + f->result.info->n_words;
    const hia_type_info **words = HIA_NEW_ARRAY(arena, const hia_type_info *, n), **at = words;
    for (uint32_t k = 0; k < f->arity; k++) at = hiaJ_type_words(f->params[k].info, at);
    hiaJ_type_words(f->result.info, at);
    for (uint32_t k = 0; k < n;
         k++) { /* fuel comes behind the parameters, and behind the results */
      hia_type type = k < f->n_param_words ? root->params[k] : root->results[k - f->n_param_words];
      if (!hiaR_is_scalar(type)) infos[type - HIA_FIRST_TYPE] = *words[k];
    }
  }
  return types;
}

static hia_status make(wanted *want) {
  const hia_fn_version *version = want->version;
  const hia_engine *engine = version->function->module->engine;
  const hia_backend *backend = engine->backend;
  hia_compile_options options = hiaJ_compile_options(engine);
  options.is_fuelled = (version->traits & HIA_VERSION_FUELLED) != 0;
  const char *why_not = want->side == HIA_HOST_PLAIN ? why_not_plain(version) : NULL;
  if (why_not)
    return hiaJ_fail(&engine->allocator, want->error, HIA_UNSUPPORTED,
                     "hia_function_entry has it with a context and a status",
                     "`%s` cannot be a plain function: %s", version->function->name, why_not);
  hia_unit *unit = version->unit;
  if (unit->may_be_unset && version->function->has_references)
    return hiaJ_fail(&engine->allocator, want->error, HIA_UNSUPPORTED, "hia_call runs it",
                     "`%s` has no entry: a graph that was read may give what nothing has set",
                     version->function->name);
  if (!unit->types_of_entries) {
    unit->types_of_entries = types_of_entries(unit);
    backend->set_types(unit->code, unit->types_of_entries);
  }
  hia_error *cause = NULL;
  /* LLVM's frames cannot be unwound: until the call has returned nothing may throw. */
  unit->comp.armed = false;
  hia_status status = backend->host_function(unit->code, unit->graph, &options, want->side,
                                             version->root, &want->made, &cause);
  if (status == HIA_OK) return HIA_OK;
  return hiaJ_fail_compile(&engine->allocator, want->error, status, cause);
}

/* The caller holds the unit's lock: what is made is added to the unit's code, in the unit's
 * memory. */
static void try_make(void *arg) {
  wanted *want = arg;
  hia_comp *comp = &want->version->unit->comp;
  if (HIA_TRY(comp))
    want->status = make(want);
  else
    want->status =
        hiaJ_fail_comp(&want->version->function->module->engine->allocator, want->error, comp);
  comp->armed = false;
  hiaR_arena_free(&comp->scratch);
}

static hia_status get(hia_function *f, hia_traits traits, hia_host_side side, hia_native_fn *out,
                      hia_error **error) {
  hia_status status = check(f, out, error);
  wanted want = {.side = side, .error = error};
  traits |= HIA_VERSION_NATIVE;
  if (status == HIA_OK) status = hiaJ_ready(f, traits, &want.version, error);
  if (status != HIA_OK) return status;
  hia_engine *engine = f->module->engine;
  pthread_mutex_lock(&want.version->unit->lock);
  status = hiaJ_on_stack(engine, try_make, &want);
  pthread_mutex_unlock(&want.version->unit->lock);
  if (status != HIA_OK)
    return hiaJ_fail(&engine->allocator, error, status, NULL,
                     "no memory for a stack to compile on");
  if (want.status == HIA_OK) *out = want.made;
  return want.status;
}

hia_status hia_function_entry(hia_function *f, hia_native_fn *entry, hia_error **error) {
  return get(f, HIA_VERSION_ENTRIES, HIA_HOST_TYPED, entry, error);
}

hia_status hia_function_entry_with_fuel(hia_function *f, hia_native_fn *entry, hia_error **error) {
  return get(f, HIA_VERSION_ENTRIES | HIA_VERSION_FUELLED, HIA_HOST_TYPED, entry, error);
}

hia_status hia_function_plain(hia_function *f, hia_native_fn *plain, hia_error **error) {
  return get(f, HIA_VERSION_ENTRIES, HIA_HOST_PLAIN, plain, error);
}

hia_status hia_function_map(hia_function *f, hia_native_fn *map, hia_error **error) {
  return get(f, HIA_VERSION_ENTRIES, HIA_HOST_MAP, map, error);
}

hia_status hia_function_map_with_fuel(hia_function *f, hia_native_fn *map, hia_error **error) {
  return get(f, HIA_VERSION_ENTRIES | HIA_VERSION_FUELLED, HIA_HOST_MAP, map, error);
}

hia_status hia_engine_context_new(hia_engine *engine, hia_context **out, hia_error **error) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!engine) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no engine");
  if (!out)
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, NULL, "no place for the context");
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.allocator = &engine->allocator;
  options.max_depth = engine->options.max_depth;
  options.max_memory = engine->options.max_memory;
  options.threads = engine->options.threads;
  if (hiaJ_has(engine, HIA_FLAG_FAST_PRODUCTS)) options.flags |= HIA_CONTEXT_FAST_PRODUCTS;
  hia_clock *clock;
  hia_context *context = NULL;
  hia_status status = hiaJ_engine_clock(engine, &clock);
  if (status == HIA_OK) status = hiaR_host_new(&options, &context);
  if (status != HIA_OK)
    return hiaJ_fail(&engine->allocator, error, status, NULL, "%s", hiaR_status_message(status));
  context->host->pool = engine->pool;
  context->host->clock = clock;
  *out = context;
  return HIA_OK;
}
