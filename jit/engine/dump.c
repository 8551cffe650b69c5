/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Dumps: what the compiler makes of a module, stage by stage. A dump builds a graph of its own, so
 * that dumping changes nothing. */
#include "graph/grad/grad.h"
#include "graph/ir/print.h"
#include "graph/read/read.h"
#include "jit/engine/engine.h"

typedef struct dumping {
  hia_comp comp; /* of the graph and the text */
  hia_types types;
  hia_graph *graph;
  hia_function *const *functions;
  size_t n;
  const hia_dump_options *options;
  hia_text text;
  uint64_t open_ns; /* the time of opening the compiler; 0: it was open */
} dumping;

/* ---- roots ---- */

/* Every function whose types are known, in the order of the source. */
static hia_status all_instances(hia_module *module, dumping *d, hia_inst_id **insts, uint32_t *n,
                                hia_error **error) {
  hia_arena *arena = &d->comp.arena;
  uint32_t n_fns = hiaF_n_fns(module->program);
  *insts = HIA_NEW_ARRAY(arena, hia_inst_id, n_fns ? n_fns : 1);
  *n = 0;
  for (hia_decl_id decl = 0; decl < n_fns; decl++) {
    uint32_t arity = hiaF_arity(module->program, decl);
    hia_type *types = HIA_NEW_ARRAY(arena, hia_type, arity ? arity : 1);
    bool is_generic = false;
    for (uint32_t i = 0; i < arity; i++) {
      types[i] = hiaF_param_type(module->program, decl, i);
      is_generic |= types[i] == HIA_NONE;
    }
    if (is_generic) continue;
    hia_diags diags;
    hiaF_diags_init(&diags, &d->comp, &module->source);
    hia_inst_id inst = hiaF_instantiate(module->program, decl, types, &diags);
    if (inst == HIA_NONE)
      return hiaJ_fail_diags(&module->engine->allocator, error, HIA_REJECTED, &diags);
    (*insts)[(*n)++] = inst;
  }
  if (*n == 0)
    return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT,
                     "name an instance of one, as in fact(i64)",
                     "no function has all its types, so there is no graph");
  return HIA_OK;
}

static hia_status given_instances(hia_module *module, dumping *d, hia_inst_id **insts, uint32_t *n,
                                  hia_error **error) {
  *insts = HIA_NEW_ARRAY(&d->comp.arena, hia_inst_id, d->n);
  *n = (uint32_t)d->n;
  for (size_t i = 0; i < d->n; i++) {
    const hia_function *f = d->functions[i];
    if (f->is_generic)
      return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT,
                       "name an instance, as in fact(i64)", "`%s` is generic: it has no graph",
                       f->signature);
    (*insts)[i] = f->inst;
  }
  return HIA_OK;
}

/* Builds a graph, on which no pass has run. */
static hia_status build(hia_module *module, dumping *d, hia_error **error) {
  hia_comp *comp = &d->comp;
  hia_graph **g = &d->graph;
  if (!module->program) {
    hia_read_error wrong;
    *g = hiaG_read(comp, &d->types, module->source.text, module->source.len, &wrong);
    if (*g) return HIA_OK;
    return hiaJ_fail(&module->engine->allocator, error, HIA_INTERNAL, NULL,
                     "the graph does not read a second time");
  }
  hia_inst_id *insts;
  uint32_t n;
  hia_status status = d->n ? given_instances(module, d, &insts, &n, error)
                           : all_instances(module, d, &insts, &n, error);
  if (status != HIA_OK) return status;
  hia_fn_id *roots = HIA_NEW_ARRAY(&comp->arena, hia_fn_id, n);
  *g = hiaF_build(module->program, comp, &d->types, insts, n,
                  hiaJ_has(module->engine, HIA_FLAG_COUNT), roots);
  return HIA_OK;
}

/* ---- stages ---- */

static hia_status dump_native(hia_module *module, dumping *d, const hia_graph *g,
                              hia_error **error) {
  hia_engine *engine = module->engine;
  hia_status status = hiaJ_refuse(module, g, HIA_TO_DUMP, error);
  if (status == HIA_OK) status = hiaJ_engine_open(engine, &d->open_ns, error);
  if (status != HIA_OK) return status;
  hia_native_dump what = d->options->stage == HIA_STAGE_LLVM             ? HIA_DUMP_LLVM
                         : d->options->stage == HIA_STAGE_LLVM_OPTIMIZED ? HIA_DUMP_LLVM_OPTIMIZED
                                                                         : HIA_DUMP_ASM;
  hia_compile_options options = hiaJ_compile_options(engine);
  options.hosts = hiaJ_hosts_of(module, g);
  hia_error *cause = NULL;
  status = engine->backend->dump(engine->session, g, &options, what, &d->text, &cause);
  if (status == HIA_OK) return HIA_OK;
  return hiaJ_fail_compile(&engine->allocator, error, status, cause);
}

/* The graph's report of its tapes. Where nothing is differentiated, and the dump is of one
 * function, that function is, as a trainer does it. */
static hia_status dump_tapes(hia_module *module, dumping *d, hia_error **error) {
  hia_graph *g = d->graph;
  const hia_allocator *allocator = &module->engine->allocator;
  const hia_function *f = d->n == 1 ? d->functions[0] : NULL;
  if (g->state != HIA_FUNCTIONS)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "a static graph has no gradients");
  if (!hiaG_has_gradients(g)) {
    hia_fn_id root = f && !module->program ? f->root : 0;
    const char *why = f ? hiaG_cannot_step(g, root) : "no function differentiates another one";
    if (why) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "there are no tapes: %s", why);
    const bool *wanted = hiaG_params_read_by(g, root, &d->comp.scratch);
    hiaG_step(g, root, wanted);
  }
  g->tapes = &d->text;
  hiaG_grad(g);
  g->tapes = NULL;
  return HIA_OK;
}

/* The graph's report of its batches. */
static hia_status dump_batches(hia_module *module, dumping *d, hia_error **error) {
  hia_graph *g = d->graph;
  if (g->state != HIA_FUNCTIONS)
    return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL,
                     "a static graph has its batches already");
  hia_pass_options passes = hiaJ_pass_options(module->engine, HIA_VERSION_NATIVE);
  passes.stop_after = hiaR_is_by_firings(module->engine->options.batching) ? "late" : "each";
  g->batches = &d->text;
  hiaG_run_passes(g, &passes);
  g->batches = NULL;
  if (!d->text.len) hiaR_text_addf(&d->text, "nothing is batched\n");
  return HIA_OK;
}

/* What reads the program: the graph, or the whole of the dump if it is of the program itself. */
static hia_status begin(hia_module *module, void *user, hia_error **error) {
  dumping *d = user;
  const hia_dump_options *o = d->options;
  hiaR_text_init(&d->text, &d->comp.arena);
  if (o->stage != HIA_STAGE_AST) return build(module, d, error);
  if (!module->program)
    return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL,
                     "a module read as a graph has no syntax tree");
  if (o->format == HIA_FORMAT_DOT)
    hiaF_dot_ast(module->program, &d->text);
  else
    hiaF_print_ast(module->program, &d->text);
  return HIA_OK;
}

static hia_status finish(hia_module *module, void *user, hia_error **error) {
  dumping *d = user;
  const hia_dump_options *o = d->options;
  hia_graph *g = d->graph;
  if (o->stage == HIA_STAGE_AST) return HIA_OK;
  hia_status refused = hiaJ_refuse_options(module, g, o->fuel, "run", error);
  if (refused) return refused;
  if (o->stage == HIA_STAGE_TAPE) return dump_tapes(module, d, error);
  if (o->stage == HIA_STAGE_BATCHES) return dump_batches(module, d, error);
  bool as_built = o->stage == HIA_STAGE_GRAPH && !o->after;
  bool is_as_read = g->state == HIA_STATIC && o->stage < HIA_STAGE_LLVM && !o->after;
  if (!as_built && !is_as_read) {
    hia_pass_options passes = hiaJ_pass_options(
        module->engine, (o->fuel ? HIA_VERSION_FUELLED : 0u) | HIA_VERSION_NATIVE);
    if (o->stage == HIA_STAGE_GRAPH) passes.stop_after = o->after;
    hiaG_run_passes(g, &passes);
  }
  if (o->stage >= HIA_STAGE_LLVM) return dump_native(module, d, g, error);
  if (o->format == HIA_FORMAT_DOT)
    hiaG_dot(g, &d->text);
  else
    hiaG_print(g, &d->text);
  return HIA_OK;
}

static hia_status check_dump(hia_module *module, const dumping *d, hia_error **error) {
  const hia_dump_options *o = d->options;
  const hia_allocator *allocator = &module->engine->allocator;
  if ((unsigned)o->stage > HIA_STAGE_BATCHES)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "there is no stage number %u",
                     (unsigned)o->stage);
  if (o->after && o->stage != HIA_STAGE_GRAPH)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "only the stage graph can be shown after a pass");
  if (o->after && !hiaG_pass_exists(o->after, strlen(o->after)))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "`hiaton dump --help` lists them",
                     "there is no pass '%.80s'", o->after);
  if (o->format != HIA_FORMAT_TEXT && (o->format != HIA_FORMAT_DOT || o->stage >= HIA_STAGE_LLVM))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "only the stages ast, graph and static are drawn in DOT");
  if (o->stage >= HIA_STAGE_LLVM && o->stage <= HIA_STAGE_ASM &&
      hiaR_is_by_firings(module->engine->options.batching))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "batching by depth, or by agenda, is the interpreter's: there is no code");
  if (d->n && !d->functions) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no functions");
  for (size_t i = 0; i < d->n; i++)
    if (!d->functions[i] || d->functions[i]->module != module)
      return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "function %zu is not of this module",
                       i + 1);
  return HIA_OK;
}

HIA_SIZED(hia_dump_options, after);

hia_status hia_module_dump(hia_module *module, hia_function *const *functions, size_t n,
                           const hia_dump_options *options, hia_write write, void *user,
                           hia_error **error) {
  if (error) *error = NULL;
  if (!module) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no module");
  const hia_allocator *allocator = &module->engine->allocator;
  hia_dump_options complete = HIA_DUMP_OPTIONS_INIT;
  if (hiaR_copy_options(allocator, "dump options", &complete, sizeof complete, options, error))
    return HIA_ARGUMENT;
  if (!write) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no write function");
  dumping d = {.functions = functions, .n = n, .options = &complete};
  hia_status status = check_dump(module, &d, error);
  if (status != HIA_OK) return status;
  /* The host's `write` runs without the lock and outside the compilation: it may call anything,
   * and free the module too. */
  hiaJ_module_keep(module);
  hiaR_comp_init(&d.comp, allocator);
  hiaG_types_init(&d.types, &d.comp);
  status = hiaJ_module_try_halves(module, &d.comp, begin, finish, &d, error);
  hiaJ_log_open(module->engine, d.open_ns);
  bool is_written = status != HIA_OK || !d.text.len || write(user, d.text.data, d.text.len);
  hiaR_comp_free(&d.comp);
  hiaJ_module_release(module);
  if (is_written) return status;
  return hiaJ_fail(allocator, error, HIA_IO, NULL, "the dump could not be written");
}
