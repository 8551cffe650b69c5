/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Building ahead of time: an object file and its header, docs/aot.md. A build makes two graphs of
 * its own, so that it does not depend on what was done with the module before: one with the passes
 * for native code, and one with those for the interpreter, which becomes the image. */
#include "jit/engine/build.h"
#include "graph/analysis/analysis.h"
#include "graph/analysis/result_names.h"
#include "graph/flatten/flatten.h"
#include "graph/passes/passes.h"
#include "graph/read/read.h"
#include <hiaton/params.h>

/* ---- the graph and the image ---- */

/* Builds a graph, with its roots in the order of b->built. The caller holds the module's lock. */
static hia_status build_graph(hia_building *b, hia_graph **g, hia_fn_id **roots_of,
                              hia_error **error) {
  hia_module *module = b->module;
  hia_comp *comp = &b->comp;
  uint32_t n = b->built.len;
  hia_fn_id *roots = *roots_of = HIA_NEW_ARRAY(&comp->arena, hia_fn_id, n);
  if (!module->program) {
    hia_read_error wrong;
    *g = hiaG_read(comp, &b->types, module->source.text, module->source.len, &wrong);
    if (!*g)
      return hiaJ_fail(&module->engine->allocator, error, HIA_INTERNAL, NULL,
                       "the graph does not read a second time");
    /* The other roots of the graph become ordinary functions. */
    for (hia_fn_id f = 0; f < (*g)->fns.len; f++) hiaG_fn(*g, f)->is_root = false;
    for (uint32_t i = 0; i < n; i++) {
      roots[i] = b->built.data[i].function->root;
      hiaG_fn(*g, roots[i])->is_root = true;
    }
    return HIA_OK;
  }
  hia_inst_id *insts = HIA_NEW_ARRAY(&comp->arena, hia_inst_id, n);
  for (uint32_t i = 0; i < n; i++) insts[i] = b->built.data[i].function->inst;
  *g = hiaF_build(module->program, comp, &b->types, insts, n,
                  hiaJ_has(module->engine, HIA_FLAG_COUNT), roots);
  return HIA_OK;
}

static hia_status cannot_build(const hia_building *b, const hia_graph *g, hia_error **error) {
  hia_status refused = hiaJ_refuse(b->module, g, HIA_TO_BUILD, error);
  if (refused) return refused;
  return hiaJ_refuse_options(b->module, g, hiaJ_build_has(b, HIA_BUILD_FUEL), "built", error);
}

static void run_passes(hia_building *b, hia_graph *g, hia_pass_use use) {
  hia_pass_options options =
      hiaJ_pass_options(b->module->engine, hiaJ_build_has(b, HIA_BUILD_FUEL) ? HIA_VERSION_FUELLED
                                                                             : HIA_VERSION_GENERAL);
  options.use = use;
  hiaG_run_passes(g, &options);
}

/* The frames of a plain function must fit into what any thread has left of its stack. Their exact
 * sizes are known only once there is code. An upper bound: all values of the function and of its
 * callees. */
enum { PLAIN_STACK = 32 << 10, VALUE_BYTES = 16 };

static bool is_plain(const hia_graph *g, hia_fn_id root) {
  uint32_t levels, most = 0;
  if (hiaG_not_plain(g, root, &g->comp->scratch, &levels)) return false;
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->values.len > most) most = hiaG_fn(g, f)->values.len;
  return most <= PLAIN_STACK / VALUE_BYTES / (levels + 1);
}

/* An object refers to a host function by a symbol of the function's name in C. */
static hia_status check_extern(hia_building *b, const hia_extern *e, hia_error **error) {
  const hia_allocator *allocator = &b->module->engine->allocator;
  if (hiaJ_is_c_word(e->name) || hiaJ_is_own_name(e->name))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "the host's `%s` cannot be a function of C: %s", e->name,
                     hiaJ_is_c_word(e->name) ? "that name is taken there"
                                             : "such names are hiaton's own");
  if (hiaJ_derived_name(b, e->name) == e->name) return HIA_OK; /* derived names give way */
  for (uint32_t i = 0; i < b->built.len; i++) {
    const hia_built *built = &b->built.data[i];
    if (strcmp(built->name, e->name) != 0) continue;
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "--prefix P makes it P_NAME",
                     "`%s` cannot be called `%s` in C: that is a function of the host's",
                     built->function->name, e->name);
  }
  return HIA_OK;
}

/* Makes the graph that becomes native code, and gives names to what hosts call in addition to typed
 * entries. */
static hia_status finish_native(hia_building *b, hia_error **error) {
  hia_graph *g = b->native;
  hia_status status;
  run_passes(b, g, hiaJ_build_has(b, HIA_BUILD_PARALLEL) ? HIA_USE_PARALLEL : HIA_USE_NATIVE);
  for (uint32_t k = 0; k < g->externs.len; k++) {
    status = check_extern(b, &g->externs.data[k], error);
    if (status != HIA_OK) return status;
    const char *name = hiaJ_extern_in_c(b, &g->externs.data[k]);
    hiaR_push(&b->comp.arena, &b->externs, name);
  }
  if (g->params.len)
    b->params_name = hiaJ_own_c_name(b, hiaR_arena_printf(&b->comp.arena, "%sparams", b->prefix));
  for (uint32_t i = 0; i < b->built.len; i++) {
    hia_built *built = &b->built.data[i];
    if (built->function->has_references)
      built->type = hiaJ_derived_name(b, hiaR_arena_printf(&b->comp.arena, "%s_type", built->name));
    if (hiaJ_build_has(b, HIA_BUILD_MAPS))
      built->map = hiaJ_derived_name(b, hiaR_arena_printf(&b->comp.arena, "%s_map", built->name));
  }
  for (uint32_t i = 0; i < b->built.len; i++)
    if (!hiaJ_build_has(b, HIA_BUILD_FUEL) && is_plain(g, b->native_roots[i]))
      b->built.data[i].plain = hiaJ_derived_name(
          b, hiaR_arena_printf(&b->comp.arena, "%s_plain", b->built.data[i].name));
  return HIA_OK;
}

/* The image is loaded once as a check, with externs that are never called. */
static void not_called(void) {}
static bool any_host(void *user, uint32_t number, const char *name, hia_host_target *target) {
  (void)user, (void)number, (void)name;
  *target = (hia_host_target){.function = not_called};
  return true;
}

/* The image, and the number of each root among its exports. */
static hia_status build_image(hia_building *b, hia_object_plan *plan, hia_object_root *roots,
                              hia_error **error) {
  const hia_allocator *allocator = &b->module->engine->allocator;
  hia_graph *g = b->flat;
  hia_status status;
  run_passes(b, g, HIA_USE_ALL);
  void *image;
  hiaG_flatten(g, &image, &plan->image_size);
  plan->image = image;
  /* A program that loads the image checks it as strictly; here a defect of ours shows at build
   * time. */
  hia_loaded *loaded;
  char why[256] = "";
  const hia_image_hosts hosts = {&hiaR_ffi, any_host, NULL};
  status = hiaR_image_load_hosted(image, plan->image_size, hiaR_any_kernel, &hosts, allocator,
                                  &loaded, why, sizeof why);
  if (status != HIA_OK)
    return hiaJ_fail(allocator, error, status == HIA_BAD_IMAGE ? HIA_INTERNAL : status, NULL,
                     "the image was refused: %s", why[0] ? why : hiaR_status_message(status));
  for (uint32_t i = 0; i < b->built.len; i++)
    roots[i].export = hiaR_image_entry(loaded, b->flat_roots[i]);
  if (plan->streams != HIA_NONE)
    roots[plan->streams].export = hiaR_image_entry(loaded, b->flat_streams);
  hiaR_image_free(loaded);
  return HIA_OK;
}

/* ---- objects ---- */

static hia_status compile(hia_building *b, const hia_graph *g, const hia_object_plan *plan,
                          hia_error **error) {
  hia_module *module = b->module;
  hia_engine *engine = module->engine;
  hia_status status = hiaJ_engine_open(engine, &b->open_ns, error);
  if (status != HIA_OK) return status;
  hia_compile_options options = hiaJ_compile_options(engine);
  options.is_fuelled = hiaJ_build_has(b, HIA_BUILD_FUEL);
  /* A program gives the same object in every build of hiaton; but tests of it may want else.
   */
  options.sanitize &= engine->sanitizes_objects;
  hia_error *cause = NULL;
  /* LLVM's frames cannot be unwound: from here to the end of the call nothing may throw. */
  b->comp.armed = false;
  status = engine->backend->build(engine->session, g, &options, plan, &b->bytes, &b->size, &cause);
  b->comp.armed = true;
  if (status == HIA_OK) return HIA_OK;
  if (status != HIA_ARGUMENT) return hiaJ_fail_compile(&engine->allocator, error, status, cause);
  if (error)
    *error = cause; /* it names the option that is wrong */
  else
    hia_error_free(cause);
  return status;
}

/* Compiles a program that makes objects. */
static hia_status compile_with_types(hia_building *b, hia_object_plan *plan, hia_error **error) {
  const hia_allocator *allocator = &b->module->engine->allocator;
  hia_type_table table = hiaG_type_table(&b->types);
  hia_shapes *shapes;
  size_t size;
  hia_status status = hiaR_shapes_new(&table, allocator, &shapes, &size);
  if (status != HIA_OK)
    return hiaJ_fail(allocator, error, status, NULL, "%s",
                     status == HIA_MEMORY
                         ? hiaR_status_message(status)
                         : "the program has too many constructors and array types");
  hia_value_types *types = hiaR_value_types_new(allocator, &table, NULL);
  plan->types = types;
  plan->shapes = shapes;
  status = types ? compile(b, b->native, plan, error) : hiaR_fail_memory(allocator, error);
  hiaR_value_types_release(types);
  hiaR_free(allocator, shapes, size);
  return status;
}

/* What reads the program: the names, and the graphs on which no pass has run. */
static hia_status begin_header(hia_module *module, void *user, hia_error **error) {
  (void)module;
  hia_building *b = user;
  hia_status status = hiaJ_build_names(b, error);
  if (status == HIA_OK) status = build_graph(b, &b->native, &b->native_roots, error);
  return status == HIA_OK ? cannot_build(b, b->native, error) : status;
}

/* A program reads its files, and so takes streams if it can: both graphs or neither have a version
 * of its function for them. */
static void add_streams(hia_building *b) {
  b->native_streams = b->flat_streams = HIA_NONE;
  for (uint32_t i = 0; i < b->built.len; i++) {
    if (b->built.data[i].function != b->options->program) continue;
    b->native_streams = hiaG_stream_version(b->native, b->native_roots[i]);
    b->flat_streams = hiaG_stream_version(b->flat, b->flat_roots[i]);
  }
}

/* The program writes its result to files. */
static void name_results(hia_building *b) {
  for (uint32_t i = 0; i < b->built.len; i++) {
    if (b->built.data[i].function != b->options->program) continue;
    const hia_fn *fn = hiaG_fn(b->native, b->native_roots[i]);
    const char *const *names = hiaG_result_names(b->native, b->native_roots[i], &b->comp.arena);
    for (uint32_t k = 0; k < fn->n_results; k++)
      if (names[k]) b->result_names = names;
    b->n_results = fn->n_results;
  }
}

static hia_status begin_object(hia_module *module, void *user, hia_error **error) {
  hia_building *b = user;
  hia_status status = begin_header(module, b, error);
  if (status == HIA_OK) status = build_graph(b, &b->flat, &b->flat_roots, error);
  if (status == HIA_OK) name_results(b);
  uint32_t guesses =
      module->program && !hiaJ_build_has(b, HIA_BUILD_FUEL) ? module->engine->assume_seed : 0;
  if (status == HIA_OK && b->options->n_points)
    status = hiaJ_build_profile(b, error);
  else if (status == HIA_OK && guesses)
    hiaJ_build_guesses(b, guesses);
  if (status == HIA_OK) add_streams(b);
  return status;
}

/* An object of more than 2 GiB would not link, since code reaches constants with 32 bits. */
#define MAX_EMBEDDED ((size_t)1 << 30)

static hia_status plan_params(hia_building *b, hia_object_plan *plan, hia_error **error) {
  hia_module *module = b->module;
  const hia_allocator *allocator = &module->engine->allocator;
  uint32_t n = b->native->params.len;
  plan->params = b->params_name;
  plan->seed = b->options->seed;
  if (!n || !hiaJ_build_has(b, HIA_BUILD_EMBED_PARAMS)) return HIA_OK;
  size_t bytes = 0;
  for (uint32_t i = 0; i < n; i++) {
    size_t size = hia_params_size(&module->params, i);
    bytes = size < SIZE_MAX - bytes ? bytes + size : SIZE_MAX;
  }
  if (bytes > MAX_EMBEDDED)
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, "load them when the program runs",
                     "params of %zu bytes cannot be embedded: at most %zu", bytes, MAX_EMBEDDED);
  if (hiaR_params_hold(&module->params, NULL, NULL, &b->params))
    return hiaR_fail_memory(allocator, error);
  const void **elements = HIA_NEW_ARRAY(&b->comp.arena, const void *, n);
  for (uint32_t i = 0; i < n; i++) elements[i] = hiaR_state_elements(b->params, i);
  plan->embedded = elements;
  return HIA_OK;
}

static hia_status finish_object(hia_module *module, void *user, hia_error **error) {
  hia_building *b = user;
  hia_arena *arena = &b->comp.arena;
  uint32_t n = b->built.len;
  bool has_streams = b->native_streams != HIA_NONE;
  hia_object_root *roots = HIA_NEW_ARRAY(arena, hia_object_root, n + has_streams);
  const char *cpu = b->options->cpu;
  hia_object_plan plan = {.cpu = cpu && strcmp(cpu, "native") != 0 ? cpu : NULL,
                          .roots = roots,
                          .n_roots = n + has_streams,
                          .program = HIA_NONE,
                          .streams = has_streams ? n : HIA_NONE,
                          .is_parallel = hiaJ_build_has(b, HIA_BUILD_PARALLEL),
                          .result_names = b->result_names,
                          .n_results = b->n_results};
  for (uint32_t i = 0; i < n; i++) {
    roots[i].name = b->built.data[i].name;
    if (b->built.data[i].function == b->options->program) plan.program = i;
  }
  if (b->options->program && plan.program == HIA_NONE)
    return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL,
                     "the program `%s` is none of the functions", b->options->program->name);
  hia_status status = build_image(b, &plan, roots, error);
  if (status == HIA_OK) status = finish_native(b, error);
  if (status == HIA_OK) status = plan_params(b, &plan, error);
  if (status != HIA_OK) return status;
  for (uint32_t i = 0; i < n; i++) {
    roots[i].fn = b->native_roots[i];
    roots[i].plain = b->built.data[i].plain;
    roots[i].map = b->built.data[i].map;
    roots[i].type = b->built.data[i].type;
  }
  if (has_streams) roots[n].fn = b->native_streams;
  if (hiaG_has_references(b->native) || hiaG_has_references(b->flat))
    return compile_with_types(b, &plan, error);
  return compile(b, b->native, &plan, error);
}

static hia_status finish_header(hia_module *module, void *user, hia_error **error) {
  (void)module;
  hia_building *b = user;
  hia_status status = finish_native(b, error);
  if (status == HIA_OK) hiaJ_build_header(b);
  return status;
}

/* ---- public ---- */

static hia_status check(const hia_building *b, hia_error **error) {
  const hia_allocator *allocator = &b->module->engine->allocator;
  if (b->n && !b->functions) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no functions");
  for (size_t i = 0; i < b->n; i++)
    if (!b->functions[i] || b->functions[i]->module != b->module)
      return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "function %zu is not of this module",
                       i + 1);
  return HIA_OK;
}

HIA_SIZED(hia_build_options, n_points);
enum { ALL_FLAGS = 2 * HIA_BUILD_EMBED_PARAMS - 1 };

static hia_status build(hia_module *module, hia_function *const *functions, size_t n,
                        const hia_build_options *options, hia_write write, void *user,
                        hia_error **error, hia_try_body *begin, hia_try_body *finish) {
  if (error) *error = NULL;
  if (!module) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no module");
  const hia_allocator *allocator = &module->engine->allocator;
  hia_build_options complete = HIA_BUILD_OPTIONS_INIT;
  if (hiaR_copy_options(allocator, "build options", &complete, sizeof complete, options, error))
    return HIA_ARGUMENT;
  if (complete.flags & ~(uint64_t)ALL_FLAGS)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "build flags 0x%llx; there are those up to 0x%x",
                     (unsigned long long)complete.flags, ALL_FLAGS);
  if (!write) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no write function");
  hia_building b = {.module = module, .functions = functions, .n = n, .options = &complete};
  hia_status status = check(&b, error);
  if (status != HIA_OK) return status;
  /* The host's `write` runs without the lock and outside the compilation: it may call anything,
   * and free the module too. */
  hiaJ_module_keep(module);
  hiaR_comp_init(&b.comp, allocator);
  hiaG_types_init(&b.types, &b.comp);
  status = hiaJ_module_try_halves(module, &b.comp, begin, finish, &b, error);
  hiaJ_log_open(module->engine, b.open_ns);
  bool is_written = status != HIA_OK ||
                    (b.bytes ? write(user, b.bytes, b.size) : write(user, b.text.data, b.text.len));
  hiaR_state_release(b.params);
  hiaR_comp_free(&b.comp);
  hiaJ_module_release(module);
  if (b.bytes) hiaR_free(allocator, b.bytes, b.size);
  if (is_written) return status;
  return hiaJ_fail(allocator, error, HIA_IO, NULL, "what was built could not be written");
}

hia_status hia_module_build_object(hia_module *module, hia_function *const *functions, size_t n,
                                   const hia_build_options *options, hia_write write, void *user,
                                   hia_error **error) {
  return build(module, functions, n, options, write, user, error, begin_object, finish_object);
}

hia_status hia_module_build_header(hia_module *module, hia_function *const *functions, size_t n,
                                   const hia_build_options *options, hia_write write, void *user,
                                   hia_error **error) {
  return build(module, functions, n, options, write, user, error, begin_header, finish_header);
}
