/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Modules: the text of a program, checked, and a function object for each function that was
 * requested. */
#include "jit/engine/engine.h"
#include <errno.h>
#include <stdio.h>

/* Positions are 32-bit numbers; no program comes near this limit. */
#define MAX_SOURCE ((size_t)256 << 20)

/* ---- life ---- */

static hia_module *module_new(hia_engine *engine) {
  hia_module *module = hiaR_alloc(&engine->allocator, sizeof *module);
  if (!module) return NULL;
  module->engine = engine;
  atomic_init(&module->references, 1);
  module->params.kit = &hiaR_param_kit;
  module->params.allocator = &engine->allocator;
  pthread_mutex_init(&module->lock, NULL);
  pthread_mutex_init(&module->making_lock, NULL);
  pthread_cond_init(&module->made, NULL);
  hiaR_comp_init(&module->comp, &engine->allocator);
  return module;
}

void hiaJ_module_keep(hia_module *module) {
  atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
}

void hiaJ_module_release(hia_module *module) {
  if (atomic_fetch_sub_explicit(&module->references, 1, memory_order_acq_rel) != 1) return;
  hia_engine *engine = module->engine;
  while (module->units) {
    hia_unit *unit = module->units;
    module->units = unit->next;
    hiaJ_unit_free(engine, unit);
  }
  hiaJ_unit_free(engine, module->read);
  hiaR_params_set(&module->params, NULL);
  hiaR_value_types_release(module->value_types);
  hiaR_comp_free(&module->comp);
  pthread_cond_destroy(&module->made);
  pthread_mutex_destroy(&module->making_lock);
  pthread_mutex_destroy(&module->lock);
  hiaR_free(&engine->allocator, module, sizeof *module);
}

void hia_module_free(hia_module *module) {
  if (module) hiaJ_module_release(module);
}

/* The caller holds the lock and runs on a large stack. */
static hia_status run_body(hia_module *module, hia_error **error, hia_step *body, void *user) {
  const hia_allocator *allocator = &module->engine->allocator;
  hia_comp *comp = &module->comp;
  if (module->is_broken)
    return hiaJ_fail(allocator, error, HIA_INTERNAL, NULL,
                     "hiaton has found a mistake of its own in this module before");
  hia_status status;
  if (HIA_TRY(comp)) {
    status = body(module, user, error);
  } else {
    if (error) {
      hia_error_free(*error); /* of a body that failed and then threw */
      *error = NULL;
    }
    if (comp->status == HIA_INTERNAL) module->is_broken = true;
    hiaR_arena_free(&comp->scratch);
    status = hiaJ_fail_comp(allocator, error, comp);
  }
  comp->armed = false;
  return status;
}

typedef struct trying {
  hia_module *module;
  hia_comp *comp; /* of work in two steps */
  hia_step *body, *rest;
  void *user;
  hia_error **error;
  hia_status status;
} trying;

static void try_body(void *arg) {
  trying *t = arg;
  t->status = run_body(t->module, t->error, t->body, t->user);
}

static hia_status on_stack(trying *t, void (*work)(void *arg)) {
  hia_engine *engine = t->module->engine;
  hia_status status = hiaJ_on_stack(engine, work, t);
  if (status == HIA_OK) return t->status;
  return hiaJ_fail(&engine->allocator, t->error, status, NULL,
                   "no memory for a stack to compile on");
}

hia_status hiaJ_module_try(hia_module *module, hia_error **error, hia_step *body, void *user) {
  trying t = {.module = module, .body = body, .user = user, .error = error};
  pthread_mutex_lock(&module->lock);
  hia_status status = on_stack(&t, try_body);
  pthread_mutex_unlock(&module->lock);
  return status;
}

static void fail_thrown(trying *t) {
  if (t->error) {
    hia_error_free(*t->error); /* of a step that failed and then threw */
    *t->error = NULL;
  }
  t->status = hiaJ_fail_comp(&t->module->engine->allocator, t->error, t->comp);
}

/* The lock is held and both compilations are armed, since the program's may throw too. */
static void locked_step(trying *t) {
  hia_comp *own = &t->module->comp;
  if (HIA_TRY(t->comp)) {
    t->status = run_body(t->module, t->error, t->body, t->user);
  } else {
    own->armed = false;
    hiaR_arena_free(&own->scratch);
    fail_thrown(t);
  }
  t->comp->armed = false;
}

static void rest_step(trying *t) {
  if (HIA_TRY(t->comp))
    t->status = t->rest(t->module, t->user, t->error);
  else
    fail_thrown(t);
  t->comp->armed = false;
  hiaR_arena_free(&t->comp->scratch);
}

static void both_steps(void *arg) {
  trying *t = arg;
  pthread_mutex_lock(&t->module->lock);
  locked_step(t);
  pthread_mutex_unlock(&t->module->lock);
  if (t->status == HIA_OK) rest_step(t);
}

hia_status hiaJ_module_steps(hia_module *module, hia_comp *comp, hia_step *locked, hia_step *rest,
                             void *user, hia_error **error) {
  trying t = {
      .module = module, .comp = comp, .body = locked, .rest = rest, .user = user, .error = error};
  return on_stack(&t, both_steps);
}

/* ---- loading ---- */

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

static hia_function *add_root(hia_module *module, const hia_graph *g, hia_fn_id root);

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
      add_root(module, unit->graph, f);
  hiaJ_inspect_graph(module, unit->graph);
  keep_params(module, unit->graph);
  return HIA_OK;
}

static hia_status load_graph(hia_module *module, void *user, hia_error **error) {
  keep_source(module, user);
  hia_unit *unit = module->read = hiaJ_unit_new(module->engine);
  if (!unit) return hiaJ_fail(&module->engine->allocator, error, HIA_MEMORY, NULL, "out of memory");
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
  hia_module *module = module_new(engine);
  if (!module) return hiaJ_fail(&engine->allocator, error, HIA_MEMORY, NULL, "out of memory");
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

/* ---- functions: parameters, result, names ---- */

static void set_param(hia_module *module, hia_param *param, hia_type type) {
  *param = (hia_param){.type = type};
  if (type != HIA_NONE) param->info = hiaJ_type_info(module, type);
}

static void print_type(hia_module *module, hia_text *text, const hia_param *param) {
  hiaG_type_print(&module->types, param->type, text);
}

/* "fact(n: i64) -> i64" as a signature, "fact(i64)" as a name. */
static const char *describe(hia_function *f, const char *source_name, bool as_signature) {
  hia_module *module = f->module;
  hia_text text;
  hiaR_text_init(&text, &module->comp.arena);
  hiaR_text_addf(&text, "%s(", source_name);
  for (uint32_t i = 0; i < f->arity; i++) {
    if (i) hiaR_text_addf(&text, ", ");
    bool is_named = as_signature && f->decl != HIA_NONE;
    if (is_named) hiaR_text_addf(&text, "%s", f->params[i].name);
    if (f->params[i].type == HIA_NONE) continue;
    if (is_named) hiaR_text_addf(&text, ": ");
    print_type(module, &text, &f->params[i]);
  }
  hiaR_text_addf(&text, ")");
  if (as_signature && !f->is_generic) {
    hiaR_text_addf(&text, " -> ");
    print_type(module, &text, &f->result);
  }
  return text.data;
}

static hia_function *function_new(hia_module *module, hia_decl_id decl, hia_inst_id inst,
                                  uint32_t arity, const hia_type *params, hia_type result) {
  hia_arena *arena = &module->comp.arena;
  hia_function *f = HIA_NEW(arena, hia_function);
  f->module = module;
  f->decl = decl;
  f->inst = inst;
  f->arity = arity;
  f->params = HIA_NEW_ARRAY(arena, hia_param, arity ? arity : 1);
  f->root = HIA_NONE;
  for (uint32_t i = 0; i < arity; i++) {
    set_param(module, &f->params[i], params[i]);
    if (decl != HIA_NONE) f->params[i].name = hiaF_param_name(module->program, decl, i);
    if (!f->params[i].info) continue;
    f->n_param_words += f->params[i].info->n_words;
    f->has_references |= f->params[i].info->has_references;
  }
  set_param(module, &f->result, result);
  f->is_generic = result == HIA_NONE;
  if (!f->is_generic) f->has_references |= f->result.info->has_references;
  if (!f->is_generic) f->words = hiaJ_entry_words(arena, f);
  if (decl != HIA_NONE) f->is_impure = hiaF_is_impure(module->program, decl);
  return f;
}

static hia_function *add_function(hia_function *f, const char *source_name) {
  hia_module *module = f->module;
  f->signature = describe(f, source_name, true);
  f->name = f->is_generic ? source_name : describe(f, source_name, false);
  f->next = module->functions;
  module->functions = f;
  return f;
}

hia_status hiaJ_instance_at(hia_module *module, hia_decl_id decl, const hia_type *types,
                            hia_function **out, hia_error **error) {
  for (hia_function *f = module->functions; f; f = f->next) {
    if (f->decl != decl || f->is_generic) continue;
    bool is_same = true;
    for (uint32_t i = 0; i < f->arity; i++) is_same &= f->params[i].type == types[i];
    if (is_same) {
      *out = f;
      return HIA_OK;
    }
  }
  const hia_allocator *allocator = &module->engine->allocator;
  uint32_t arity = hiaF_arity(module->program, decl);
  hia_diags diags;
  hiaF_diags_init(&diags, &module->comp, &module->source);
  hia_inst_id inst = hiaF_instantiate(module->program, decl, types, &diags);
  if (inst == HIA_NONE || diags.list.len)
    return hiaJ_fail_diags(allocator, error, HIA_REJECTED, &diags);
  hia_type result = hiaF_result(module->program, inst);
  hia_function *f = function_new(module, decl, inst, arity, types, result);
  *out = add_function(f, hiaF_name(module->program, decl));
  return HIA_OK;
}

hia_status hiaJ_instance(hia_function *generic, const hia_type *types, hia_function **out,
                         hia_error **error) {
  return hiaJ_instance_at(generic->module, generic->decl, types, out, error);
}

/* ---- functions: finding them by name ---- */

typedef struct finding {
  const char *name;
  hia_function *found;
} finding;

static const char *skip_space(const char *at) { return at + strspn(at, " \t\n\r"); }

/* Reads the axes of a tensor, `[?, ?]`, if there are any at `at`. */
static const char *read_axes(hia_module *module, const char *at, hia_type *type) {
  const char *open = skip_space(at);
  if (*open != '[') return at;
  uint32_t rank = 0;
  do {
    open = skip_space(open + 1);
    if (*open != '?' || rank == HIA_MAX_RANK) return NULL;
    rank++;
    open = skip_space(open + 1);
  } while (*open == ',');
  if (*open != ']') return NULL;
  *type = hiaG_tensor(&module->types, (hia_dtype)*type, rank);
  return open + 1;
}

/* Reads a scalar or tensor, or the name of a data type. */
static const char *read_name(hia_module *module, const char *at, hia_type *type) {
  size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  for (unsigned d = 0; d < HIA_N_DTYPES; d++) {
    const char *name = hiaG_dtype_name((hia_dtype)d);
    if (strlen(name) == len && strncmp(name, at, len) == 0) {
      *type = d;
      return read_axes(module, at + len, type);
    }
  }
  *type = hiaJ_data_type(module, at, len);
  return *type == HIA_NONE ? NULL : at + len;
}

/* Reads a type as the language writes it, and returns where it ends. NULL if there is none at
 * `at`, or it nests too deep. */
static const char *read_type(hia_module *module, const char *at, unsigned depth, hia_type *type) {
  at = skip_space(at);
  bool is_array = *at == '[';
  if (*at != '(' && !is_array) return read_name(module, at, type);
  if (depth == 0) return NULL;
  HIA_VEC(hia_type) parts = {0};
  do {
    hia_type part;
    at = read_type(module, at + 1, depth - 1, &part);
    if (!at || parts.len >= HIA_MAX_WORDS) return NULL;
    hiaR_push(&module->comp.scratch, &parts, part);
    at = skip_space(at);
  } while (*at == ',' && !is_array);
  if (is_array) {
    /* An array of scalars or tensors would be a tensor. */
    hia_type_kind kind = hiaG_type_kind(&module->types, parts.data[0]);
    if (*at != ']' || kind == HIA_KIND_SCALAR || kind == HIA_KIND_TENSOR) return NULL;
    *type = hiaG_array(&module->types, parts.data[0]);
    return at + 1;
  }
  if (*at != ')' || parts.len < 2) return NULL;
  *type = hiaG_tuple(&module->types, parts.data, parts.len);
  return hiaG_type_words(&module->types, *type) <= HIA_MAX_WORDS ? at + 1 : NULL;
}

static hia_status not_found(hia_module *module, hia_error **error, const char *name, size_t len) {
  const hia_allocator *allocator = &module->engine->allocator;
  char hint[256] = "";
  const char *similar = module->program ? hiaF_similar(module->program, name, len) : NULL;
  if (similar) snprintf(hint, sizeof hint, "did you mean `%s`?", similar);
  const char *file = module->source.name;
  return hiaJ_fail(allocator, error, HIA_NOT_FOUND, hint, "there is no function `%.*s`%s%s",
                   (int)(len < 200 ? len : 200), name, file[0] ? " in " : "", file);
}

/* "(i64, (i32, f32))": the types of an instance. */
static hia_status find_instance(hia_module *module, finding *want, hia_decl_id decl,
                                const char *list, hia_error **error) {
  const hia_allocator *allocator = &module->engine->allocator;
  uint32_t arity = hiaF_arity(module->program, decl), n = 0;
  hia_type *types = HIA_NEW_ARRAY(&module->comp.scratch, hia_type, arity ? arity : 1);
  const char *at = skip_space(list + 1);
  if (*at != ')') {
    at = list;
    do {
      hia_type type;
      at = read_type(module, at + 1, HIA_MAX_WORDS, &type);
      if (!at)
        return hiaJ_fail(
            allocator, error, HIA_ARGUMENT,
            "an instance is written as in fact(i64), with bool, i32, i64, f32, f64, tensors "
            "like f32[?, ?], data types, or tuples and arrays of them",
            "cannot read the types in `%.200s`", want->name);
      if (n < arity) types[n] = type;
      n++;
      at = skip_space(at);
    } while (*at == ',');
  }
  if (*at != ')' || *skip_space(at + 1))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "cannot read the types in `%.200s`",
                     want->name);
  const char *name = hiaF_name(module->program, decl);
  if (n != arity)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "`%s` has %u parameter%s, not %u", name,
                     arity, arity == 1 ? "" : "s", n);
  for (uint32_t i = 0; i < arity; i++) {
    hia_type declared = hiaF_param_type(module->program, decl, i);
    if (declared == HIA_NONE || declared == types[i]) continue;
    hia_text text;
    hiaR_text_init(&text, &module->comp.scratch);
    hiaG_type_print(&module->types, declared, &text);
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "parameter `%s` of `%s` is of type %s",
                     hiaF_param_name(module->program, decl, i), name, text.data);
  }
  return hiaJ_instance_at(module, decl, types, &want->found, error);
}

static bool is_generic(const hia_program *program, hia_decl_id decl) {
  for (uint32_t i = 0; i < hiaF_arity(program, decl); i++)
    if (hiaF_param_type(program, decl, i) == HIA_NONE) return true;
  return false;
}

hia_status hiaJ_function_of(hia_module *module, hia_decl_id decl, hia_function **out,
                            hia_error **error) {
  uint32_t arity = hiaF_arity(module->program, decl);
  hia_type *types = HIA_NEW_ARRAY(&module->comp.scratch, hia_type, arity ? arity : 1);
  for (uint32_t i = 0; i < arity; i++) types[i] = hiaF_param_type(module->program, decl, i);
  if (!is_generic(module->program, decl)) return hiaJ_instance_at(module, decl, types, out, error);
  for (hia_function *f = module->functions; f; f = f->next)
    if (f->decl == decl && f->is_generic) {
      *out = f;
      return HIA_OK;
    }
  hia_function *f = function_new(module, decl, HIA_NONE, arity, types, HIA_NONE);
  *out = add_function(f, hiaF_name(module->program, decl));
  return HIA_OK;
}

static hia_status find_in_program(hia_module *module, finding *want, hia_error **error) {
  const char *name = want->name;
  size_t len = strcspn(name, "( ");
  hia_decl_id decl = hiaF_find(module->program, name, len);
  if (decl == HIA_NONE) return not_found(module, error, name, len);
  const char *rest = skip_space(name + len);
  if (*rest == '(') return find_instance(module, want, decl, rest, error);
  if (*rest) return not_found(module, error, name, strlen(name));

  return hiaJ_function_of(module, decl, &want->found, error);
}

static hia_function *add_root(hia_module *module, const hia_graph *g, hia_fn_id root) {
  const hia_fn *fn = hiaG_fn(g, root);
  hia_types *types = &module->types;
  hia_type *params = HIA_NEW_ARRAY(&module->comp.arena, hia_type, fn->n_sig_params + 1);
  for (uint32_t i = 0; i < fn->n_sig_params; i++)
    params[i] = hiaG_type_copy(types, g->types, fn->sig_params[i]);
  hia_type result = hiaG_type_copy(types, g->types, fn->sig_result);
  hia_function *f = function_new(module, HIA_NONE, HIA_NONE, fn->n_sig_params, params, result);
  f->root = root;
  const char *instance = fn->name, *source = g->names.data[fn->source];
  f->instance = hiaR_arena_strndup(&module->comp.arena, instance, strlen(instance));
  f->source = hiaR_arena_strndup(&module->comp.arena, source, strlen(source));
  return add_function(f, f->source);
}

/* Makes a function with the parameters of `of`, which differentiates it. */
static hia_function *differentiating(hia_function *of, const hia_type *results, uint32_t n) {
  hia_module *module = of->module;
  hia_type *params = HIA_NEW_ARRAY(&module->comp.arena, hia_type, (size_t)of->arity + 1);
  for (uint32_t i = 0; i < of->arity; i++) params[i] = of->params[i].type;
  hia_function *f = function_new(module, HIA_NONE, of->inst, of->arity, params,
                                 hiaG_tuple(&module->types, results, n));
  f->root = of->root;
  f->loss = of;
  f->name = of->name; /* which errors name */
  f->signature = of->signature;
  return f;
}

hia_function *hiaJ_step_function(hia_function *loss, const bool *wanted) {
  hia_module *module = loss->module;
  hia_arena *arena = &module->comp.arena;
  const hia_params *cell = &module->params;
  uint32_t n = hiaG_step_types(&module->types, cell->specs, cell->n, wanted, NULL) + 1;
  hia_type *results = HIA_NEW_ARRAY(arena, hia_type, n);
  bool *flags = HIA_NEW_ARRAY(arena, bool, (size_t)cell->n + 1);
  for (uint32_t i = 0; i < cell->n; i++) flags[i] = wanted[i];
  results[0] = loss->result.type;
  hiaG_step_types(&module->types, cell->specs, cell->n, wanted, results + 1);
  hia_function *f = differentiating(loss, results, n);
  f->wanted = flags;
  return f;
}

hia_function *hiaJ_gradient_function(hia_function *of, const hia_wrt *wrt, const hia_type *types,
                                     uint32_t n) {
  hia_arena *arena = &of->module->comp.arena;
  hia_type *results = HIA_NEW_ARRAY(arena, hia_type, (size_t)n + 1);
  hia_wrt *copy = HIA_NEW_ARRAY(arena, hia_wrt, n);
  results[0] = of->result.type;
  memcpy(results + 1, types, n * sizeof *types);
  memcpy(copy, wrt, n * sizeof *wrt);
  hia_function *f = differentiating(of, results, n + 1);
  f->wrt = copy;
  f->n_wrt = n;
  return f;
}

/* Finds a root of a graph: by its instance name, or by its source name if only one root has that
 * name. */
static hia_status find_in_graph(hia_module *module, finding *want, hia_error **error) {
  hia_function *found = NULL;
  unsigned n_found = 0;
  for (hia_function *f = module->functions; f; f = f->next) {
    if (strcmp(f->instance, want->name) == 0) {
      found = f;
      n_found = 1;
      break;
    }
    if (strcmp(f->source, want->name) == 0) {
      found = f;
      n_found++;
    }
  }
  if (n_found == 0) return not_found(module, error, want->name, strlen(want->name));
  if (n_found > 1)
    return hiaJ_fail(&module->engine->allocator, error, HIA_NOT_FOUND,
                     "name one with its types, as in fact(i64)",
                     "there are %u instances of `%.200s`", n_found, want->name);
  want->found = found;
  return HIA_OK;
}

/* Returns a function that was requested before: by its name as hia_function_name returns it, or by
 * its name alone. */
static hia_function *known(hia_module *module, const char *name) {
  hia_function *found = NULL;
  pthread_mutex_lock(&module->lock);
  for (hia_function *f = module->functions; f && !found; f = f->next) {
    bool is_it = strcmp(f->name, name) == 0;
    if (!is_it && f->decl != HIA_NONE && !f->is_generic)
      is_it = strcmp(hiaF_name(module->program, f->decl), name) == 0 &&
              !is_generic(module->program, f->decl);
    if (is_it) found = f;
  }
  pthread_mutex_unlock(&module->lock);
  return found;
}

/* Finding a known function again takes no memory of the module. */
static hia_status find(hia_module *module, void *user, hia_error **error) {
  hia_arena *scratch = &module->comp.scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_status status =
      module->program ? find_in_program(module, user, error) : find_in_graph(module, user, error);
  hiaR_arena_release(scratch, mark);
  return status;
}

hia_status hia_module_function(hia_module *module, const char *name, hia_function **function,
                               hia_error **error) {
  if (error) *error = NULL;
  if (function) *function = NULL;
  if (!module) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no module");
  if (!name || !function)
    return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL, "no %s",
                     name ? "place for the function" : "name");
  *function = known(module, name);
  if (*function) return HIA_OK;
  finding want = {.name = name};
  hia_status status = hiaJ_module_try(module, error, find, &want);
  if (status == HIA_OK) *function = want.found;
  return status;
}

const char *hia_function_name(const hia_function *f) { return f ? f->name : ""; }
const char *hia_function_signature(const hia_function *f) { return f ? f->signature : ""; }
size_t hia_function_arity(const hia_function *f) { return f ? f->arity : 0; }
bool hia_function_is_generic(const hia_function *f) { return f && f->is_generic; }
