/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A unit: build, passes, then code or an image.
 *
 * Building reads the module's program and holds its lock; all later stages use only the unit. One
 * compilation holds all of a unit: when memory runs out, or an internal error is found, the caller
 * discards the unit, and the next attempt starts clean. */
#include "graph/analysis/result_names.h"
#include "graph/flatten/flatten.h"
#include "graph/grad/grad.h"
#include "graph/passes/passes.h"
#include "graph/read/read.h"
#include "jit/versions/speculate.h"
#include "runtime/base/loc.h"

static void begin(hia_engine *engine, hia_unit *unit) {
  hiaR_comp_init(&unit->comp, &engine->allocator);
  hiaG_types_init(&unit->types, &unit->comp);
  pthread_mutex_init(&unit->lock, NULL);
}

hia_unit *hiaJ_unit_new(hia_engine *engine) {
  hia_unit *unit = hiaR_alloc(&engine->allocator, sizeof *unit);
  if (unit) begin(engine, unit);
  return unit;
}

void hiaJ_unit_unload(hia_engine *engine, hia_unit *unit) {
  hiaR_debug_hide(&unit->symbols);
  hiaR_free(&engine->allocator, unit->shapes, unit->shapes_size);
  hiaR_units_release(unit->units);
  if (unit->cached.bytes) hiaJ_store_free(engine->store, unit->cached.bytes, unit->cached.size);
  unit->shapes = NULL;
  unit->units = NULL;
  unit->cached = (hia_cached_file){0};
}

static void end(hia_engine *engine, hia_unit *unit) {
  hiaR_debug_hide(&unit->symbols);
  if (unit->image) hiaR_image_free(unit->image);
  for (int i = 0; i < HIA_N_HOST_SIDES; i++) hiaR_code_release(unit->sides[i]);
  if (unit->code) engine->backend->release(engine->session, unit->code);
  hiaJ_unit_unload(engine, unit);
  pthread_mutex_destroy(&unit->lock);
  hiaR_comp_free(&unit->comp);
}

void hiaJ_unit_free(hia_engine *engine, hia_unit *unit) {
  if (!unit) return;
  end(engine, unit);
  hiaR_free(&engine->allocator, unit, sizeof *unit);
}

void hiaJ_unit_empty(hia_engine *engine, hia_unit *unit) {
  const hia_look *look = unit->comp.look;
  end(engine, unit);
  *unit = (hia_unit){0};
  begin(engine, unit);
  unit->comp.look = look;
}

/* ---- locations, in the form that the runtime reads ---- */

static void set_places(const hia_module *module, hia_unit *unit) {
  const hia_graph *g = unit->graph;
  hia_arena *arena = &unit->comp.arena;
  uint32_t *offsets = HIA_NEW_ARRAY(arena, uint32_t, g->names.len + 1);
  hia_text strings;
  hiaR_text_init(&strings, arena);
  for (uint32_t i = 0; i < g->names.len; i++) {
    offsets[i] = (uint32_t)strings.len;
    hiaR_text_add(&strings, g->names.data[i], strlen(g->names.data[i]) + 1);
  }
  hia_image_loc *locs = HIA_NEW_ARRAY(arena, hia_image_loc, g->locs.len + 1);
  for (uint32_t i = 0; i < g->locs.len; i++) {
    const hia_loc *l = &g->locs.data[i];
    uint32_t name = l->fn < g->names.len      ? offsets[l->fn]
                    : hiaR_loc_is_mark(l->fn) ? l->fn
                                              : HIA_NONE;
    locs[i] = (hia_image_loc){l->line, l->col, name, l->parent};
  }
  unit->places = (hia_places){.locs = locs,
                              .n_locs = g->locs.len,
                              .strings = strings.data,
                              .strings_size = strings.len,
                              .file = g->file};
  /* The positions of a graph that was read are of a source that is not available. */
  if (module->program) hiaJ_name_source(module, unit);
}

void hiaJ_name_source(const hia_module *module, hia_unit *unit) {
  unit->places.file = module->source.name;
  unit->places.text = module->source.text;
  unit->places.text_size = hiaF_place(&module->source, 1).len;
}

/* ---- the stages ---- */

/* True if some op of the graph is one of these. */
static bool has_op(const hia_graph *g, unsigned first, unsigned last) {
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; n < fn->nodes.len; n++)
      if (fn->nodes.data[n].op >= first && fn->nodes.data[n].op <= last) return true;
  }
  return false;
}

const char *hiaJ_native_only(const hia_graph *g) {
  return has_op(g, HIA_OP_DEST, HIA_OP_TAKE)     ? "destinations for results"
         : has_op(g, HIA_OP_FILL, HIA_OP_FILLED) ? "arrays that are not full yet"
         : has_op(g, HIA_OP_DEFER, HIA_OP_WITHIN) ||
                 has_op(g, HIA_OP_DATA_LATE, HIA_OP_FIELD_LATE) ||
                 has_op(g, HIA_OP_PACK_LATE, HIA_OP_PACK_LATE)
             ? "operations that are computed later"
             : NULL;
}

hia_status hiaJ_refuse(const hia_module *module, const hia_graph *g, hia_graph_use use,
                       hia_error **error) {
  const hia_allocator *allocator = &module->engine->allocator;
  if (!g->is_read) return HIA_OK; /* the passes make such operations for native code only */
  const char *what = hiaJ_native_only(g);
  if (has_op(g, HIA_OP_OBSERVE, HIA_OP_GUARD))
    return hiaJ_fail(
        allocator, error, HIA_UNSUPPORTED, NULL,
        "this graph observes, or has guards: the engine makes these for runs of its own");
  if (use == HIA_TO_INTERPRET && what)
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL,
                     "this graph has %s: it is for native code", what);
  if (use == HIA_TO_BUILD && what) /* and results are not checked there */
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL,
                     "a graph that is read and built must not have %s", what);
  return HIA_OK;
}

hia_status hiaJ_refuse_options(const hia_module *module, const hia_graph *g, bool has_fuel,
                               const char *doing, hia_error **error) {
  bool traps = hiaJ_has(module->engine, HIA_FLAG_TRAP_NAN);
  const char *what = "traps of NaN", *why = traps ? hiaG_cannot_trap(g) : NULL;
  if (!why && has_fuel) what = "fuel", why = hiaG_cannot_fuel(g);
  if (!why) return HIA_OK;
  return hiaJ_fail(&module->engine->allocator, error, HIA_UNSUPPORTED,
                   "`hiaton dump --stage graph` writes one that can",
                   "this graph cannot be %s with %s: %s", doing, what, why);
}

typedef struct job {
  hia_unit *unit;
  hia_function *function;
  hia_traits traits;
  uint64_t *open_ns;
} job;

static hia_status read_again(hia_module *module, hia_unit *unit, hia_error **error) {
  hia_read_error wrong;
  unit->graph =
      hiaG_read(&unit->comp, &unit->types, module->source.text, module->source.len, &wrong);
  if (unit->graph) return HIA_OK;
  return hiaJ_fail(&module->engine->allocator, error, HIA_INTERNAL, NULL,
                   "the graph does not read a second time");
}

hia_status hiaJ_build_loss(hia_module *module, hia_unit *unit, const hia_function *loss,
                           hia_fn_id *root, hia_error **error) {
  *root = loss->root;
  if (!module->program) return unit->graph ? HIA_OK : read_again(module, unit, error);
  unit->graph = hiaF_build(module->program, &unit->comp, &unit->types, &loss->inst, 1,
                           hiaJ_has(module->engine, HIA_FLAG_COUNT), root);
  return HIA_OK;
}

static hia_status build_gradient(hia_module *module, const job *j, hia_error **error) {
  hia_unit *unit = j->unit;
  hia_fn_id root;
  hia_status status = hiaJ_build_loss(module, unit, j->function->loss, &root, error);
  if (status != HIA_OK) return status;
  const hia_function *f = j->function;
  root = f->wrt ? hiaG_gradient_root(unit->graph, root, f->wrt, f->n_wrt)
                : hiaG_step(unit->graph, root, f->wanted);
  unit->n_versions = 1;
  unit->versions = HIA_NEW(&unit->comp.arena, hia_fn_version);
  *unit->versions = (hia_fn_version){.function = j->function, .root = root};
  return HIA_OK;
}

/* The graph of the function, or of all roots of a module that was read. */
static hia_status build_graph(hia_module *module, const job *j, hia_error **error) {
  hia_unit *unit = j->unit;
  if (j->function->loss) return build_gradient(module, j, error);
  if (module->program) {
    hia_fn_id root;
    unit->graph = hiaF_build(module->program, &unit->comp, &unit->types, &j->function->inst, 1,
                             hiaJ_has(module->engine, HIA_FLAG_COUNT), &root);
    unit->n_versions = 1;
    unit->versions = HIA_NEW(&unit->comp.arena, hia_fn_version);
    *unit->versions = (hia_fn_version){.function = j->function, .root = root};
    return HIA_OK;
  }
  if (!unit->graph && read_again(module, unit, error)) return HIA_INTERNAL;
  for (const hia_function *f = module->functions; f; f = f->next) unit->n_versions++;
  hia_fn_version *v = unit->versions =
      HIA_NEW_ARRAY(&unit->comp.arena, hia_fn_version, unit->n_versions);
  for (hia_function *f = module->functions; f; f = f->next)
    *v++ = (hia_fn_version){.function = f, .root = f->root};
  return HIA_OK;
}

/* In a try of the module. */
static hia_status build(hia_module *module, void *user, hia_error **error) {
  job *j = user;
  hia_unit *unit = j->unit;
  const hia_allocator *allocator = &module->engine->allocator;
  uint64_t start = unit->build_at = hiaR_now();
  hia_status status = build_graph(module, j, error);
  if (status == HIA_OK && j->traits & HIA_VERSION_OBSERVED)
    status = hiaJ_observe(unit, j->function, error);
  if (status == HIA_OK && j->traits & HIA_VERSION_NUMBER)
    status = hiaJ_assume(unit, hiaJ_special_of(j->function, j->traits), error);
  if (status != HIA_OK) return status;
  for (uint32_t i = 0; i < unit->n_versions; i++)
    unit->versions[i].result_names =
        hiaG_result_names(unit->graph, unit->versions[i].root, &unit->comp.arena);
  unit->stats.build_ns = hiaR_now() - start;
  bool is_native = hiaJ_is_native(module->engine, j->traits);
  hia_status refused =
      hiaJ_refuse(module, unit->graph, is_native ? HIA_TO_RUN : HIA_TO_INTERPRET, error);
  unit->may_be_unset = unit->graph->is_read && hiaJ_native_only(unit->graph);
  if (refused) return refused;
  bool is_fuelled = (j->traits & HIA_VERSION_FUELLED) != 0;
  if (j->traits & HIA_VERSION_STREAMS) {
    const char *no_stream = hiaG_cannot_stream(unit->graph);
    if (no_stream)
      return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL, "`%s` cannot have a stream: %s",
                       j->function->signature, no_stream);
  }
  return hiaJ_refuse_options(module, unit->graph, is_fuelled, "run", error);
}

static void run_passes(const hia_module *module, hia_unit *unit, hia_traits traits) {
  hia_pass_options options = hiaJ_pass_options(module->engine, traits);
  if (unit->versions[0].special && unit->versions[0].special->is_narrow)
    options.batch = HIA_BATCH_NONE;
  uint64_t start = unit->passes_at = hiaR_now();
  hiaG_run_passes(unit->graph, &options);
  unit->stats.passes_ns = hiaR_now() - start;
}

static void count_nodes(hia_unit *unit) {
  unit->stats.nodes = 0;
  for (uint32_t i = 0; i < unit->graph->fns.len; i++)
    if (!unit->graph->fns.data[i]->is_removed)
      unit->stats.nodes += unit->graph->fns.data[i]->nodes.len;
}

static bool find_host(void *user, uint32_t number, const char *name, hia_host_target *target) {
  (void)number;
  const hia_host_target *bound = hiaJ_bound(user, name);
  if (bound) *target = *bound;
  return bound != NULL;
}

static hia_status flatten(hia_module *module, hia_unit *unit, hia_error **error) {
  const hia_allocator *allocator = &module->engine->allocator;
  uint64_t start = unit->flatten_at = hiaR_now();
  void *image;
  size_t size;
  hiaG_flatten(unit->graph, &image, &size);
  char why[256] = "";
  hia_image_hosts hosts = {&hiaR_ffi, find_host, module};
  hia_status status = hiaR_image_load_hosted(image, size, hiaR_any_kernel, &hosts, allocator,
                                             &unit->image, why, sizeof why);
  unit->stats.flatten_ns = hiaR_now() - start;
  unit->stats.image_bytes = size;
  if (status == HIA_OK) return HIA_OK;
  unit->image = NULL;
  return hiaJ_fail(allocator, error, status == HIA_BAD_IMAGE ? HIA_INTERNAL : status, NULL,
                   "the image was refused: %s", why[0] ? why : hiaR_status_message(status));
}

const hia_host_target *hiaJ_hosts_of(const hia_module *module, const hia_graph *g) {
  hia_host_target *hosts = HIA_NEW_ARRAY(&g->comp->arena, hia_host_target, g->externs.len + 1);
  for (uint32_t i = 0; i < g->externs.len; i++)
    hosts[i] = *hiaJ_bound(module, g->externs.data[i].name);
  return hosts;
}

static hia_status compile(hia_module *module, hia_unit *unit, uint64_t *open_ns,
                          hia_error **error) {
  hia_engine *engine = module->engine;
  unit->open_at = hiaR_now();
  hia_status status = hiaJ_engine_open(engine, open_ns, error);
  if (status != HIA_OK) return status;
  unit->stats.open_ns += *open_ns;
  hia_compile_options options = hiaJ_compile_options(engine);
  options.hosts = hiaJ_hosts_of(module, unit->graph);
  options.look = unit->comp.look;
  options.begins_again |= unit->has_segments;
  options.records_effects = unit->has_segments;
  hia_compile_report report = {0};
  hia_error *cause = NULL;
  /* LLVM's frames cannot be unwound: from here to the end of the call nothing may throw. */
  unit->comp.armed = false;
  status = engine->backend->compile(engine->session, unit->graph, &options, &unit->code, &report,
                                    &cause);
  unit->comp.armed = true;
  unit->compiled_at = hiaR_now();
  unit->stats.emit_ns = report.emit_ns;
  unit->stats.optimize_ns = report.optimize_ns;
  unit->stats.codegen_ns = report.codegen_ns;
  unit->stats.code_bytes = report.code_bytes;
  unit->stats.codegen_units = report.n_units;
  unit->stats.opt_level = report.level;
  unit->stats.hurried |= report.is_cut;
  if (status != HIA_OK) {
    unit->code = NULL;
    return hiaJ_fail_compile(&engine->allocator, error, status, cause);
  }
  unit->unwinder = *engine->backend->unwinder(unit->code);
  unit->unwinder.locs = unit->places.locs;
  hiaJ_show_compiled(engine, unit);
  return HIA_OK;
}

/* Sets an error if the graph calls a host function that this process does not have. */
static hia_status find_externs(const hia_module *module, const hia_graph *g, hia_error **error) {
  for (uint32_t i = 0; i < g->externs.len; i++) {
    const hia_host_target *target = hiaJ_bound(module, g->externs.data[i].name);
    if (target && !target->function)
      return hiaJ_fail(&module->engine->allocator, error, HIA_UNSUPPORTED, NULL,
                       "`%s` is to be linked: it is not in this process", g->externs.data[i].name);
  }
  return HIA_OK;
}

/* The shapes of what its runs make, if they may make objects. */
static hia_status shape(const hia_module *module, hia_unit *unit, hia_error **error) {
  if (!hiaG_has_references(unit->graph)) return HIA_OK;
  const hia_allocator *allocator = &module->engine->allocator;
  hia_type_table types = hiaG_type_table(&unit->types);
  hia_status status = hiaR_shapes_new(&types, allocator, &unit->shapes, &unit->shapes_size);
  if (status == HIA_OK) return HIA_OK;
  return hiaJ_fail(allocator, error, status, NULL, "%s",
                   status == HIA_MEMORY ? hiaR_status_message(status)
                                        : "the program has too many constructors and array types");
}

/* What runs need of the graph, which is complete. */
static void note_facts(hia_unit *unit) {
  const hia_graph *g = unit->graph;
  unit->facts = (hia_unit_facts){.is_counted = g->is_counted,
                                 .is_read = g->is_read,
                                 .has_params = g->params.len != 0,
                                 .types = hiaG_type_table(&unit->types),
                                 .n_fns = g->fns.len};
  const char **names = HIA_NEW_ARRAY(&unit->comp.arena, const char *, (size_t)g->fns.len + 1);
  HIA_EACH_FN(g, f) names[f] = hiaG_fn(g, f)->name;
  unit->facts.names = names;
  for (uint32_t i = 0; i < unit->n_versions; i++) {
    const hia_fn *root = hiaG_fn(g, unit->versions[i].root);
    unit->versions[i].facts = (hia_root_facts){.params = root->params,
                                               .results = root->results,
                                               .n_params = root->n_params,
                                               .n_results = root->n_results,
                                               .loc = root->loc};
  }
}

/* Does all that follows once the graph is built. */
static hia_status finish(hia_module *module, void *user, hia_error **error) {
  job *j = user;
  hia_unit *unit = j->unit;
  hia_engine *engine = module->engine;
  bool is_special = (j->traits & (HIA_VERSION_NUMBER | HIA_VERSION_OBSERVED)) != 0;
  if (!is_special) hiaJ_cached_note(unit, j->function, j->traits);
  if (!is_special && hiaJ_cached_load_graph(unit, j->function, j->traits)) return HIA_OK;
  run_passes(module, unit, j->traits);
  hiaJ_assumed(unit);
  unit->has_segments = hiaG_has_op(unit->graph, HIA_OP_DEFER, HIA_OP_DEFER);
  set_places(module, unit);
  count_nodes(unit);
  hia_status status = find_externs(module, unit->graph, error);
  if (status == HIA_OK) status = shape(module, unit, error);
  if (status != HIA_OK) return status;
  note_facts(unit);
  /* When the budget is used up the interpreter runs the function, unless native code is required.
   */
  bool is_late = hiaR_is_late(&unit->comp), is_native = hiaJ_is_native(engine, j->traits);
  unit->stats.hurried = is_late;
  if (is_late && !(j->traits & HIA_VERSION_NATIVE) &&
      !has_op(unit->graph, HIA_OP_DUP, HIA_OP_FILLED))
    is_native = false;
  status = is_native ? compile(module, unit, j->open_ns, error) : flatten(module, unit, error);
  if (status != HIA_OK) return status;
  for (uint32_t i = 0; i < unit->n_versions; i++) {
    hia_fn_version *v = &unit->versions[i];
    v->traits = hiaJ_exact_traits(j->traits) |
                (j->traits & (HIA_VERSION_OBSERVED | HIA_VERSION_NUMBER)) |
                (is_native ? HIA_VERSION_NATIVE | HIA_VERSION_ENTRIES : HIA_VERSION_IMAGE);
    v->unit = unit;
    if (is_native)
      v->native = engine->backend->entry(unit->code, v->root);
    else
      v->entry = hiaR_image_entry(unit->image, v->root);
  }
  return HIA_OK;
}

hia_status hiaJ_unit_make(hia_unit *unit, hia_function *function, hia_traits traits,
                          uint64_t *open_ns, hia_error **error) {
  job j = {.unit = unit, .function = function, .traits = traits, .open_ns = open_ns};
  *open_ns = 0;
  if (hiaJ_is_decided(function, traits) && hiaJ_cached_load(unit, function, traits)) return HIA_OK;
  return hiaJ_module_try_halves(function->module, &unit->comp, build, finish, &j, error);
}
