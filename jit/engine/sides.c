/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What hosts call: typed entries, plain functions and map entries. Each of these sides of a unit is
 * code of its own, from the cache or compiled, which refers to nothing but the runtime. Its record
 * (runtime/native/module.h) leads from there to the unit's code; it is filled in here. */
#include "graph/analysis/analysis.h"
#include "jit/versions/speculate.h"
#include <stdio.h>

typedef struct wanted {
  const hia_fn_version *version;
  hia_host_side side;
  hia_error **error;
  hia_status status;
} wanted;

/* ---- what cannot be had ---- */

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

/* Code from the cache has no graph to look at, and none is needed: what the cache has could be had.
 */
static hia_status refuse(const wanted *want) {
  const hia_fn_version *version = want->version;
  const hia_allocator *allocator = &version->function->module->engine->allocator;
  if (!version->unit->graph) return HIA_OK;
  const char *why_not = want->side == HIA_HOST_PLAIN ? why_not_plain(version) : NULL;
  if (why_not)
    return hiaJ_fail(allocator, want->error, HIA_UNSUPPORTED,
                     "hia_function_entry has it with a context and a status",
                     "`%s` cannot be a plain function: %s", version->function->name, why_not);
  if (version->unit->may_be_unset && version->function->has_references)
    return hiaJ_fail(allocator, want->error, HIA_UNSUPPORTED, "hia_call runs it",
                     "`%s` has no entry: a graph that was read may give what nothing has set",
                     version->function->name);
  return HIA_OK;
}

/* ---- the record ---- */

/* The types of all words that hosts pass to the unit's roots, as the module's values have them. */
static hia_value_types *types_of_entries(hia_unit *unit) {
  hia_arena *arena = &unit->comp.arena;
  hia_type_info *infos = HIA_NEW_ARRAY(arena, hia_type_info, (size_t)unit->facts.types.n_types + 1);
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

/* Code from the cache has one root. */
static bool set_entries(const hia_fn_version *v, hia_code_root *roots, uint32_t n) {
  const hia_graph *g = v->unit->graph;
  const hia_backend *backend = v->function->module->engine->backend;
  if (n == 1 && (roots->loc != v->facts.loc || roots->n_params != v->facts.n_params ||
                 roots->n_results != v->facts.n_results))
    return false;
  if (n == 1) roots->entry = v->native;
  if (!g || n == 1) return n == 1;
  uint32_t i = 0;
  HIA_EACH_FN(g, f) {
    if (!hiaG_fn(g, f)->is_root) continue;
    if (i == n) return false;
    roots[i++].entry = backend->entry(v->unit->code, f);
  }
  return i == n;
}

/* False: the code has no such record. */
static bool fill_in(const wanted *want) {
  const hia_fn_version *v = want->version;
  const hia_unit *unit = v->unit;
  const hia_loaded_code *code = unit->sides[want->side];
  uintptr_t at;
  if (want->side == HIA_HOST_PLAIN) return true;
  if (!hiaR_code_symbol(code, HIA_MODULE_NAME, &at) ||
      !hiaR_code_has(code, at, sizeof(hia_code_module)))
    return false;
  hia_code_module *record = (hia_code_module *)at;
  hia_code_root *roots = (hia_code_root *)(uintptr_t)record->roots;
  if (!hiaR_code_has(code, (uintptr_t)roots, record->n_roots * sizeof *roots) ||
      !set_entries(v, roots, record->n_roots))
    return false;
  record->unwinder = unit->unwinder;
  record->places = unit->places;
  record->shapes = unit->shapes;
  record->types = unit->types_of_entries;
  record->params = unit->facts.has_params ? &v->function->module->params : NULL;
  record->chooser = want->side == HIA_HOST_TYPED ? unit->chooser : NULL;
  if (record->shapes || record->params) record->flags |= HIA_CODE_OBJECTS;
  return true;
}

/* ---- making ---- */

static bool find(const wanted *want, uintptr_t *address) {
  char name[32];
  snprintf(name, sizeof name, "%s%u", hiaL_host_symbol(want->side), want->version->root);
  return hiaR_code_symbol(want->version->unit->sides[want->side], name, address);
}

bool hiaJ_bind_side(const hia_fn_version *v, hia_host_side side, const hia_entry_unit *made) {
  const wanted want = {.version = v, .side = side};
  hia_loaded_code **code = &v->unit->sides[side];
  uintptr_t address;
  if (find(&want, &address) && fill_in(&want)) {
    hiaJ_show_side(v->function->module->engine, v->unit, *code, made);
    return true;
  }
  hiaR_code_release(*code);
  *code = NULL;
  return false;
}

static hia_status use(const wanted *want, const hia_entry_unit *made) {
  const hia_allocator *allocator = &want->version->function->module->engine->allocator;
  hia_loaded_code **code = &want->version->unit->sides[want->side];
  hia_status status = hiaR_code_load(allocator, made->laid, made->laid_size, code, want->error);
  if (status != HIA_OK) return status;
  if (!hiaJ_bind_side(want->version, want->side, made))
    return hiaJ_fail(allocator, want->error, HIA_INTERNAL, NULL,
                     "LLVM made code for hosts that is not understood");
  hiaJ_cached_store_side(want->version, want->side, made);
  return HIA_OK;
}

static hia_status compile(wanted *want) {
  hia_unit *unit = want->version->unit;
  const hia_engine *engine = want->version->function->module->engine;
  hia_compile_options options = hiaJ_compile_options(engine);
  options.is_fuelled = (want->version->traits & HIA_VERSION_FUELLED) != 0;
  hia_error *cause = NULL;
  hia_entry_unit made;
  hia_comp comp;
  hiaR_comp_init(&comp, &engine->allocator);
  /* LLVM's frames cannot be unwound: from here on nothing may throw. */
  unit->comp.armed = false;
  hia_status status = engine->backend->host_side(engine->session, unit->graph, &options, want->side,
                                                 &comp, &made, &cause);
  status = status == HIA_OK ? use(want, &made)
                            : hiaJ_fail_compile(&engine->allocator, want->error, status, cause);
  hiaR_comp_free(&comp);
  return status;
}

static hia_status have(wanted *want) {
  hia_unit *unit = want->version->unit;
  hia_status status = refuse(want);
  if (status != HIA_OK || unit->sides[want->side]) return status;
  if (!unit->types_of_entries) unit->types_of_entries = types_of_entries(unit);
  if (!unit->chooser) unit->chooser = hiaJ_chooser(want->version);
  if (hiaJ_cached_load_side(want->version, want->side)) return HIA_OK;
  return unit->graph ? compile(want) : HIA_OK;
}

static void try_have(void *arg) {
  wanted *want = arg;
  hia_comp *comp = &want->version->unit->comp;
  if (HIA_TRY(comp))
    want->status = have(want);
  else
    want->status =
        hiaJ_fail_comp(&want->version->function->module->engine->allocator, want->error, comp);
  comp->armed = false;
  hiaR_arena_free(&comp->scratch);
}

/* The caller holds the unit's lock: the unit's memory is used. Only a graph needs a large stack. */
static hia_status make(wanted *want) {
  hia_engine *engine = want->version->function->module->engine;
  hia_status status = HIA_OK;
  if (want->version->unit->graph)
    status = hiaJ_on_stack(engine, try_have, want);
  else
    try_have(want);
  if (status == HIA_OK) return want->status;
  return hiaJ_fail(&engine->allocator, want->error, status, NULL,
                   "no memory for a stack to compile on");
}

hia_status hiaJ_host_function(const hia_fn_version *v, hia_host_side side, hia_native_fn *out,
                              hia_error **error) {
  wanted want = {.version = v, .side = side, .error = error};
  hia_unit *unit = v->unit;
  uintptr_t address = 0;
  pthread_mutex_lock(&unit->lock);
  hia_status status = make(&want);
  bool is_there = status == HIA_OK && unit->sides[side],
       is_found = is_there && find(&want, &address);
  pthread_mutex_unlock(&unit->lock);
  if (!is_there) return status;
  if (!is_found)
    return hiaJ_fail(&v->function->module->engine->allocator, error, HIA_INTERNAL, NULL,
                     "the code for hosts lacks `%s`", v->function->name);
  *out = (hia_native_fn)address;
  return HIA_OK;
}
