/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* From an instance to something that runs: build, passes, then code or an image. */
#include "jit/engine/engine.h"

/* ---- the locations, as the runtime reads them ---- */

static void place(hia_module *module, hia_unit *unit) {
  const hia_graph *g = unit->graph;
  hia_arena *arena = &module->comp.arena;
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
    uint32_t name = l->fn < g->names.len ? offsets[l->fn] : HIA_NONE;
    locs[i] = (hia_image_loc){l->line, l->col, name, l->parent};
  }
  unit->places = (hia_places){.locs = locs,
                              .n_locs = g->locs.len,
                              .strings = strings.data,
                              .strings_size = strings.len,
                              .file = g->file};
  /* A graph that was read tells positions of a source that is not here. */
  if (!module->program) return;
  unit->places.file = module->source.name;
  unit->places.text = module->source.text;
  unit->places.text_size = hiaF_place(&module->source, 1).len;
}

/* ---- the steps; each does nothing if it has been done ---- */

/* The graph of a program's function, or all of a module's that was read, once more. */
static hia_status make_graph(hia_function *f, hia_graph **g, hia_fn_id *root, hia_error **error) {
  hia_module *module = f->module;
  if (module->program) {
    *g = hiaF_build(module->program, &f->inst, 1, module->engine->options.count, root);
    return HIA_OK;
  }
  hia_read_error wrong;
  *root = f->versions[HIA_VERSION_PLAIN].root;
  *g = hiaG_read(&module->comp, &module->types, module->source.text, module->source.len, &wrong);
  return *g ? HIA_OK
            : hiaJ_fail(&module->engine->allocator, error, HIA_INTERNAL, NULL,
                        "the graph does not read a second time");
}

static hia_status build(hia_function *f, hia_fn_variant kind, hia_error **error) {
  hia_module *module = f->module;
  hia_fn_version *version = &f->versions[kind];
  if (version->unit) return HIA_OK;
  if (module->whole[kind]) {
    version->root = f->versions[HIA_VERSION_PLAIN].root;
    version->unit = module->whole[kind];
    return HIA_OK;
  }
  hia_unit *unit = HIA_NEW(&module->comp.arena, hia_unit);
  uint64_t start = unit->build_at = hiaR_now();
  hia_fn_id root;
  hia_status status = make_graph(f, &unit->graph, &root, error);
  if (status != HIA_OK) return status;
  const char *why = kind == HIA_VERSION_FUELLED ? hiaG_cannot_fuel(unit->graph) : NULL;
  if (why)
    return hiaJ_fail(&module->engine->allocator, error, HIA_UNSUPPORTED,
                     "`hiaton dump --stage graph` writes one that can",
                     "this graph cannot be run with fuel: %s", why);
  unit->stats.build_ns = hiaR_now() - start;
  unit->next = module->units;
  module->units = unit;
  if (!module->program) module->whole[kind] = unit;
  version->root = root;
  version->unit = unit;
  return HIA_OK;
}

static void run_passes(hia_module *module, hia_unit *unit, hia_fn_variant kind) {
  if (unit->is_tagged) return;
  hia_pass_options options = hiaJ_pass_options(module->engine, kind);
  uint64_t start = unit->passes_at = hiaR_now();
  hiaG_run_passes(unit->graph, &options);
  unit->stats.passes_ns = hiaR_now() - start;
  unit->is_tagged = true;
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
  if (unit->image) return HIA_OK;
  const hia_allocator *allocator = &module->engine->allocator;
  uint64_t start = unit->flatten_at = hiaR_now();
  void *image;
  size_t size;
  hiaG_flatten(unit->graph, &image, &size);
  char why[256] = "";
  hia_image_hosts hosts = {&hiaR_ffi, find_host, module};
  hia_status status = hiaR_image_load_hosted(image, size, hiaR_kernel, &hosts, allocator,
                                             &unit->image, why, sizeof why);
  unit->stats.flatten_ns = hiaR_now() - start;
  unit->stats.image_bytes = size;
  if (status == HIA_OK) return HIA_OK;
  unit->image = NULL;
  return hiaJ_fail(allocator, error, status == HIA_BAD_IMAGE ? HIA_INTERNAL : status, NULL,
                   "the image was refused: %s", why[0] ? why : hiaR_status_message(status));
}

const hia_host_target *hiaJ_hosts_of(hia_module *module, const hia_graph *g) {
  hia_host_target *hosts = HIA_NEW_ARRAY(&module->comp.arena, hia_host_target, g->externs.len + 1);
  for (uint32_t i = 0; i < g->externs.len; i++)
    hosts[i] = *hiaJ_bound(module, g->externs.data[i].name);
  return hosts;
}

static hia_status compile(hia_module *module, hia_unit *unit, uint64_t *open_ns,
                          hia_error **error) {
  if (unit->code) return HIA_OK;
  hia_engine *engine = module->engine;
  unit->open_at = hiaR_now();
  hia_status status = hiaJ_engine_open(engine, open_ns, error);
  if (status != HIA_OK) return status;
  unit->stats.open_ns += *open_ns;
  hia_compile_options options = hiaJ_compile_options(engine);
  options.hosts = hiaJ_hosts_of(module, unit->graph);
  hia_compile_report report = {0};
  char why[1024] = "";
  /* LLVM's frames must not be jumped over: from here to the end of the call nothing may throw. */
  module->comp.armed = false;
  status = engine->backend->compile(engine->session, unit->graph, &options, &unit->code, &report,
                                    why, sizeof why);
  module->comp.armed = true;
  unit->compiled_at = hiaR_now();
  unit->stats.emit_ns = report.emit_ns;
  unit->stats.optimize_ns = report.optimize_ns;
  unit->stats.codegen_ns = report.codegen_ns;
  unit->stats.code_bytes = report.code_bytes;
  if (status != HIA_OK) {
    unit->code = NULL;
    return hiaJ_fail(&engine->allocator, error, status, NULL, "cannot compile: %s",
                     why[0] ? why : hiaR_status_message(status));
  }
  engine->backend->set_places(unit->code, &unit->places);
  unit->unwinder = *engine->backend->unwinder(unit->code);
  return HIA_OK;
}

/* Is everything here that the graph calls? */
static hia_status find_externs(hia_module *module, const hia_graph *g, hia_error **error) {
  for (uint32_t i = 0; i < g->externs.len; i++) {
    const hia_host_target *target = hiaJ_bound(module, g->externs.data[i].name);
    if (target && !target->function)
      return hiaJ_fail(&module->engine->allocator, error, HIA_UNSUPPORTED, NULL,
                       "`%s` is to be linked: it is not in this process", g->externs.data[i].name);
  }
  return HIA_OK;
}

typedef struct wanted {
  hia_function *function;
  hia_fn_variant kind;
  uint64_t open_ns; /* then: what opening the compiler took, if that was now */
  bool is_new;      /* then: it was made now */
} wanted;

static hia_status ready(hia_module *module, void *user, hia_error **error) {
  wanted *want = user;
  hia_function *f = want->function;
  hia_fn_version *version = &f->versions[want->kind];
  hia_engine *engine = module->engine;
  if (atomic_load_explicit(&version->is_ready, memory_order_relaxed)) return HIA_OK;
  hia_status status = build(f, want->kind, error);
  if (status != HIA_OK) return status;
  hia_unit *unit = version->unit;
  run_passes(module, unit, want->kind);
  if (!unit->places.locs) place(module, unit);
  count_nodes(unit);
  status = find_externs(module, unit->graph, error);
  if (status != HIA_OK) return status;
  if (engine->options.kind == HIA_ENGINE_JIT) {
    status = compile(module, unit, &want->open_ns, error);
    if (status != HIA_OK) return status;
    version->native = engine->backend->entry(unit->code, version->root);
  } else {
    status = flatten(module, unit, error);
    if (status != HIA_OK) return status;
    version->entry = hiaR_image_entry(unit->image, version->root);
  }
  atomic_store_explicit(&version->is_ready, true, memory_order_release);
  want->is_new = true;
  return HIA_OK;
}

/* Of a version that is ready: nothing of its unit changes any more but the number of nodes. */
static void log_ready(const hia_function *f, hia_fn_variant kind) {
  const hia_unit *unit = f->versions[kind].unit;
  const hia_function_stats *s = &unit->stats;
  uint64_t ns =
      s->build_ns + s->passes_ns + s->flatten_ns + s->emit_ns + s->optimize_ns + s->codegen_ns;
  hiaJ_log(f->module->engine, "%s is ready%s after %.2f ms, %llu bytes of %s", f->name,
           kind == HIA_VERSION_FUELLED ? " for runs with fuel" : "", (double)ns / 1e6,
           (unsigned long long)(s->code_bytes + s->image_bytes), unit->code ? "code" : "image");
}

hia_status hiaJ_ready(hia_function *f, hia_fn_variant kind, hia_error **error) {
  if (atomic_load_explicit(&f->versions[kind].is_ready, memory_order_acquire)) return HIA_OK;
  wanted want = {f, kind, 0, false};
  hia_status status = hiaJ_module_try(f->module, error, ready, &want);
  hiaJ_log_open(f->module->engine, want.open_ns);
  if (want.is_new) log_ready(f, kind);
  return status;
}

void hiaJ_unit_release(hia_engine *engine, hia_unit *unit) {
  if (unit->image) hiaR_image_free(unit->image);
  if (unit->code) engine->backend->release(engine->session, unit->code);
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
  return status == HIA_OK ? hiaJ_ready(f, hiaJ_version_for(&own), error) : status;
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
  hia_module *module = f->module;
  hia_function_stats own = {0};
  pthread_mutex_lock(&module->lock);
  for (unsigned k = 0; k < HIA_N_VERSIONS; k++) {
    const hia_fn_version *version = &f->versions[k];
    if (version->unit) add_stats(&own, &version->unit->stats);
    if (!atomic_load_explicit(&version->is_ready, memory_order_relaxed)) continue;
    own.tier = version->unit->code ? HIA_TIER_NATIVE : HIA_TIER_IMAGE;
    own.versions++;
  }
  own.parse_ns = module->parse_ns;
  own.check_ns = module->check_ns;
  own.runs = atomic_load_explicit(&f->n_runs, memory_order_relaxed);
  pthread_mutex_unlock(&module->lock);
  hiaR_sized_copy_out(&own, sizeof own, stats, stats->size);
  return HIA_OK;
}
