/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loading modules: from the text of a program, or of a graph, and from files. */
#include "graph/read/read.h"
#include "jit/engine/engine.h"
#include <errno.h>
#include <stdio.h>

/* Positions are 32-bit numbers; no program comes near this limit. */
#define MAX_SOURCE ((size_t)256 << 20)

typedef struct loading {
  const char *name, *text;
  size_t len;
  const char *expression; /* after the program; or NULL */
  hia_module *module;
} loading;

/* The source becomes the program, a line end, the expression. */
static void keep_expression(hia_module *module, const loading *l) {
  hia_source *source = &module->source;
  size_t len = strlen(l->expression);
  char *text = hiaR_arena_alloc(&module->comp.arena, l->len + 1 + len + 1);
  memcpy(text, l->text, l->len);
  text[l->len] = '\n';
  memcpy(text + l->len + 1, l->expression, len + 1);
  source->text = text;
  source->len = l->len + 1 + len;
  source->expr_at = (uint32_t)l->len + 1;
  source->expr_line = 1;
  for (const char *at = text; (at = memchr(at, '\n', l->len + 1 - (size_t)(at - text))); at++)
    source->expr_line++;
}

static void keep_source(hia_module *module, const loading *l) {
  hia_arena *arena = &module->comp.arena;
  const char *name = l->name ? l->name : "";
  module->source.name = hiaR_arena_strndup(arena, name, strlen(name));
  if (l->expression) {
    keep_expression(module, l);
  } else {
    module->source.text = hiaR_arena_strndup(arena, l->text, l->len);
    module->source.len = l->len;
  }
  hiaG_types_init(&module->types, &module->comp);
}

static hia_status load_program(hia_module *module, void *user, hia_error **error) {
  keep_source(module, user);
  hia_diags diags;
  hiaF_diags_init(&diags, &module->comp, &module->source);
  uint64_t start = module->load_at = hiaR_now();
  module->program = hiaF_load(&module->comp, &module->types, &module->source, &diags);
  if (module->program) hiaJ_bind_program(module, &diags);
  module->check_ns = hiaR_now() - start;
  if (module->program) {
    module->parse_ns = hiaF_parse_ns(module->program);
    module->check_ns -= module->parse_ns;
  }
  if (diags.list.len)
    return hiaJ_fail_diags(&module->engine->allocator, error, HIA_REJECTED, &diags);
  hiaJ_inspect_program(module);
  uint32_t n;
  const hia_param_spec *specs = hiaF_param_specs(module->program, &n);
  hiaJ_keep_params(module, specs, n);
  return HIA_OK;
}

/* The graph has memory of its own, which may go before the module's. */
static void keep_params(hia_module *module, const hia_graph *g) {
  hia_arena *arena = &module->comp.arena;
  hia_param_spec *specs = HIA_NEW_ARRAY(arena, hia_param_spec, (size_t)g->params.len + 1);
  for (uint32_t i = 0; i < g->params.len; i++) {
    specs[i] = g->params.data[i];
    specs[i].name = hiaR_arena_strndup(arena, specs[i].name, strlen(specs[i].name));
  }
  hiaJ_keep_params(module, specs, g->params.len);
}

static hia_status read_graph(hia_module *module, hia_unit *unit, hia_error **error) {
  hia_read_error wrong = {0};
  uint64_t start = module->load_at = hiaR_now();
  unit->graph =
      hiaG_read(&unit->comp, &unit->types, module->source.text, module->source.len, &wrong);
  module->parse_ns = hiaR_now() - start;
  if (!unit->graph)
    return hiaJ_fail_at(&module->engine->allocator, error, HIA_REJECTED, "E0501", &module->source,
                        wrong.line, wrong.col, wrong.message ? wrong.message : "not a graph");
  hia_status status = hiaJ_bind_graph(module, unit->graph, error);
  if (status != HIA_OK) return status;
  for (hia_fn_id f = unit->graph->fns.len; f-- > 0;) /* each is added at the front */
    if (hiaG_fn(unit->graph, f)->is_root && !hiaG_fn(unit->graph, f)->is_removed)
      hiaJ_root_function(module, unit->graph, f);
  hiaJ_inspect_graph(module, unit->graph);
  module->is_native_only = hiaJ_native_only(unit->graph) != NULL;
  keep_params(module, unit->graph);
  return HIA_OK;
}

static hia_status load_graph(hia_module *module, void *user, hia_error **error) {
  keep_source(module, user);
  hia_unit *unit = module->read = hiaJ_unit_new(module->engine);
  if (!unit) return hiaR_fail_memory(&module->engine->allocator, error);
  hia_status status;
  if (HIA_TRY(&unit->comp))
    status = read_graph(module, unit, error);
  else
    status = hiaJ_fail_comp(&module->engine->allocator, error, &unit->comp);
  unit->comp.armed = false;
  return status;
}

static hia_status too_large(const hia_engine *engine, const char *name, hia_error **error) {
  char message[64];
  snprintf(message, sizeof message, "the file is too large: at most %zu MiB", MAX_SOURCE >> 20);
  return hiaJ_fail_at(&engine->allocator, error, HIA_REJECTED, "E0005",
                      &(hia_source){.name = name ? name : "", .text = ""}, 0, 0, message);
}

static hia_status load(hia_engine *engine, loading l, hia_module **out, hia_error **error,
                       hia_status (*body)(hia_module *, void *, hia_error **)) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!engine) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no engine");
  if (!out || (!l.text && l.len))
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, NULL, "no %s",
                     out ? "text" : "place for the module");
  if (l.len > MAX_SOURCE || (l.expression && strlen(l.expression) > MAX_SOURCE - l.len))
    return too_large(engine, l.name, error);
  hia_module *module = hiaJ_module_new(engine);
  if (!module) return hiaR_fail_memory(&engine->allocator, error);
  if (!l.text) l.text = "";
  hia_status status = hiaJ_module_try(module, error, body, &l);
  if (status == HIA_OK)
    *out = module;
  else
    hiaJ_module_release(module);
  return status;
}

hia_status hia_module_load_text(hia_engine *engine, const char *name, const char *text, size_t len,
                                hia_module **module, hia_error **error) {
  return load(engine, (loading){.name = name, .text = text, .len = len}, module, error,
              load_program);
}

hia_status hia_module_load_expression(hia_engine *engine, const char *name, const char *text,
                                      size_t len, const char *expression, hia_module **module,
                                      hia_error **error) {
  if (engine && !expression) {
    if (module) *module = NULL;
    return hiaJ_fail(&engine->allocator, error, HIA_ARGUMENT, NULL, "no expression");
  }
  loading l = {.name = name, .text = text, .len = len, .expression = expression};
  return load(engine, l, module, error, load_program);
}

hia_status hia_module_load_ir(hia_engine *engine, const char *name, const char *text, size_t len,
                              hia_module **module, hia_error **error) {
  return load(engine, (loading){.name = name, .text = text, .len = len}, module, error, load_graph);
}

static hia_status load_file(hia_engine *engine, const char *path, hia_module **out,
                            hia_error **error,
                            hia_status (*body)(hia_module *, void *, hia_error **)) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!engine) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no engine");
  const hia_allocator *allocator = &engine->allocator;
  if (!path || !out)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no %s",
                     out ? "path" : "place for the module");
  char *text;
  size_t len, size;
  int wrong = hiaR_read_file(allocator, path, MAX_SOURCE, &text, &len, &size);
  hia_status status;
  if (wrong == ENOMEM) {
    status = hiaJ_fail(allocator, error, HIA_MEMORY, NULL, "out of memory reading %s", path);
  } else if (wrong == EFBIG) {
    status = too_large(engine, path, error);
  } else if (wrong) {
    char why[128];
    /* The GNU version of strerror_r, which may return a static text instead of `why`. */
    const char *reason = strerror_r(wrong, why, sizeof why);
    status = hiaJ_fail(allocator, error, HIA_IO, NULL, "cannot read %s: %s", path, reason);
  } else {
    status = load(engine, (loading){.name = path, .text = text, .len = len}, out, error, body);
  }
  if (text) hiaR_free(allocator, text, size);
  return status;
}

hia_status hia_module_load_file(hia_engine *engine, const char *path, hia_module **module,
                                hia_error **error) {
  return load_file(engine, path, module, error, load_program);
}

hia_status hia_module_load_ir_file(hia_engine *engine, const char *path, hia_module **module,
                                   hia_error **error) {
  return load_file(engine, path, module, error, load_graph);
}
