/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Function objects of a module: one for each function, and each instance, that was requested. */
#include "graph/grad/grad.h"
#include "jit/engine/engine.h"

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

bool hiaJ_is_generic(const hia_program *program, hia_decl_id decl) {
  for (uint32_t i = 0; i < hiaF_arity(program, decl); i++)
    if (hiaF_param_type(program, decl, i) == HIA_NONE) return true;
  return false;
}

hia_status hiaJ_function_of(hia_module *module, hia_decl_id decl, hia_function **out,
                            hia_error **error) {
  uint32_t arity = hiaF_arity(module->program, decl);
  hia_type *types = HIA_NEW_ARRAY(&module->comp.scratch, hia_type, arity ? arity : 1);
  for (uint32_t i = 0; i < arity; i++) types[i] = hiaF_param_type(module->program, decl, i);
  if (!hiaJ_is_generic(module->program, decl))
    return hiaJ_instance_at(module, decl, types, out, error);
  for (hia_function *f = module->functions; f; f = f->next)
    if (f->decl == decl && f->is_generic) {
      *out = f;
      return HIA_OK;
    }
  hia_function *f = function_new(module, decl, HIA_NONE, arity, types, HIA_NONE);
  *out = add_function(f, hiaF_name(module->program, decl));
  return HIA_OK;
}

hia_function *hiaJ_root_function(hia_module *module, const hia_graph *g, hia_fn_id root) {
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
static hia_function *differentiating(hia_function *function, const hia_type *results, uint32_t n) {
  hia_module *module = function->module;
  hia_type *params = HIA_NEW_ARRAY(&module->comp.arena, hia_type, (size_t)function->arity + 1);
  for (uint32_t i = 0; i < function->arity; i++) params[i] = function->params[i].type;
  hia_function *f = function_new(module, HIA_NONE, function->inst, function->arity, params,
                                 hiaG_tuple(&module->types, results, n));
  f->root = function->root;
  f->loss = function;
  f->name = function->name; /* which errors name */
  f->signature = function->signature;
  f->next = module->differentiating;
  module->differentiating = f;
  return f;
}

hia_function *hiaJ_step_function(hia_function *loss, const bool *wanted) {
  hia_module *module = loss->module;
  hia_arena *arena = &module->comp.arena;
  const hia_params *params = &module->params;
  uint32_t n = hiaG_step_types(&module->types, params->specs, params->n, wanted, NULL) + 1;
  hia_type *results = HIA_NEW_ARRAY(arena, hia_type, n);
  bool *flags = HIA_NEW_ARRAY(arena, bool, (size_t)params->n + 1);
  for (uint32_t i = 0; i < params->n; i++) flags[i] = wanted[i];
  results[0] = loss->result.type;
  hiaG_step_types(&module->types, params->specs, params->n, wanted, results + 1);
  hia_function *f = differentiating(loss, results, n);
  f->wanted = flags;
  return f;
}

hia_function *hiaJ_gradient_function(hia_function *function, const hia_wrt *wrt,
                                     const hia_type *types, uint32_t n) {
  hia_arena *arena = &function->module->comp.arena;
  hia_type *results = HIA_NEW_ARRAY(arena, hia_type, (size_t)n + 1);
  hia_wrt *copy = HIA_NEW_ARRAY(arena, hia_wrt, n);
  results[0] = function->result.type;
  memcpy(results + 1, types, n * sizeof *types);
  memcpy(copy, wrt, n * sizeof *wrt);
  hia_function *f = differentiating(function, results, n + 1);
  f->wrt = copy;
  f->n_wrt = n;
  return f;
}
