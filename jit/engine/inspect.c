/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Introspection of a module: its functions, externs and their types as data (hiaton/inspect.h).
 *
 * All of it is written when a function object is made, or the module is loaded, under the module's
 * lock, and is constant from then on. Types are those of values (module_types.c). */
#include "graph/analysis/effects.h"
#include "graph/passes/passes.h"
#include "jit/engine/engine.h"
#include <stdio.h>

/* ---- functions ---- */

size_t hia_module_function_count(const hia_module *module) {
  if (!module) return 0;
  if (module->program) return hiaF_n_fns(module->program);
  size_t n = 0; /* in a graph all functions are known, and none is ever added */
  for (const hia_function *f = module->functions; f; f = f->next) n++;
  return n;
}

typedef struct finding {
  size_t i;
  hia_function *found;
} finding;

static hia_status find(hia_module *module, void *user, hia_error **error) {
  finding *want = user;
  return hiaJ_function_of(module, (hia_decl_id)want->i, &want->found, error);
}

hia_status hia_module_function_at(hia_module *module, size_t i, hia_function **function,
                                  hia_error **error) {
  if (error) *error = NULL;
  if (function) *function = NULL;
  if (!module) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no module");
  const hia_allocator *allocator = &module->engine->allocator;
  if (!function)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the function");
  size_t n = hia_module_function_count(module);
  if (i >= n)
    return hiaJ_fail(allocator, error, HIA_NOT_FOUND, NULL,
                     "there is no function number %zu: the module has %zu", i, n);
  if (!module->program) {
    *function = module->functions;
    while (i--) *function = (*function)->next;
    return HIA_OK;
  }
  finding want = {.i = i};
  hia_status status = hiaJ_module_try(module, error, find, &want);
  if (status == HIA_OK) *function = want.found;
  return status;
}

const char *hia_function_param_name(const hia_function *f, size_t i) {
  return f && i < f->arity && f->params[i].name ? f->params[i].name : "";
}

const hia_type_info *hia_function_param_type(const hia_function *f, size_t i) {
  return f && i < f->arity ? f->params[i].info : NULL;
}

const hia_type_info *hia_function_result_type(const hia_function *f) {
  return f ? f->result.info : NULL;
}

size_t hia_function_result_names(const hia_function *f, const char *const **names) {
  const hia_fn_version *v = f ? atomic_load_explicit(&f->versions, memory_order_acquire) : NULL;
  if (names) *names = v ? v->result_names : NULL;
  return v ? f->result.info->n_words : 0;
}

bool hia_function_is_impure(const hia_function *f) { return f && f->is_impure; }

bool hia_function_can_have_fuel(const hia_function *f) { return f && !f->module->is_without_fuel; }

/* ---- typed entries ---- */

size_t hia_function_entry_params(const hia_function *f, const hia_dtype **dtypes) {
  bool has_entry = f && f->words;
  if (dtypes) *dtypes = has_entry ? f->words : NULL;
  return has_entry ? f->n_param_words : 0;
}

size_t hia_function_entry_results(const hia_function *f, const hia_dtype **dtypes) {
  bool has_entry = f && f->words;
  if (dtypes) *dtypes = has_entry ? f->words + f->n_param_words : NULL;
  return has_entry ? f->result.info->n_words : 0;
}

static bool is_equal(const hia_dtype *a, size_t n_a, const hia_dtype *b, size_t n_b) {
  if (n_a != n_b) return false;
  for (size_t i = 0; i < n_a; i++)
    if (a[i] != b[i]) return false;
  return true;
}

/* Adds "(i32, f64)" behind the first `len` bytes of the buffer, as far as there is room. */
static size_t put_scalars(char *buf, size_t size, size_t len, const hia_dtype *dtypes, size_t n) {
  size_t all = len;
  for (size_t i = 0; i <= n && len < size; i++) {
    const char *name = i == n                          ? n ? ")" : "()"
                       : dtypes[i] == HIA_ENTRY_VALUE  ? "value"
                       : dtypes[i] == HIA_ENTRY_TENSOR ? "tensor"
                                                       : hiaG_dtype_name(dtypes[i]);
    const char *before = i == n ? "" : i ? ", " : "(";
    len += (size_t)snprintf(buf + len, size - len, "%s%s", before, name);
    all = len < size ? len : size - 1;
  }
  return all;
}

static const char *entry_text(char *buf, size_t size, const hia_dtype *params, size_t n_params,
                              const hia_dtype *results, size_t n_results) {
  size_t len = put_scalars(buf, size, 0, params, n_params);
  len += (size_t)snprintf(buf + len, size - len, " -> ");
  put_scalars(buf, size, len < size ? len : size - 1, results, n_results);
  return buf;
}

hia_status hia_function_check_entry(const hia_function *f, const hia_dtype *params, size_t n_params,
                                    const hia_dtype *results, size_t n_results, hia_error **error) {
  if (error) *error = NULL;
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_allocator *allocator = &f->module->engine->allocator;
  if ((!params && n_params) || (!results && n_results))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no dtypes to compare with");
  if (f->is_generic)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "name an instance, as in fact(i64)",
                     "`%s` is generic: it has no entry of its own", f->signature);
  const hia_dtype *own_params, *own_results;
  size_t n_own = hia_function_entry_params(f, &own_params);
  size_t n_own_results = hia_function_entry_results(f, &own_results);
  if (is_equal(params, n_params, own_params, n_own) &&
      is_equal(results, n_results, own_results, n_own_results))
    return HIA_OK;
  char own[512], theirs[512];
  return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                   "the typed entry of `%s` is %s, not %s, behind the context", f->signature,
                   entry_text(own, sizeof own, own_params, n_own, own_results, n_own_results),
                   entry_text(theirs, sizeof theirs, params, n_params, results, n_results));
}

/* ---- host functions ---- */

static hia_param param_of(hia_module *module, hia_type type, const char *name) {
  return (hia_param){.type = type, .name = name, .info = hiaJ_type_info(module, type)};
}

/* Returns the declaration as programs write it. Parameters have names, generated where the module
 * has none. */
static const char *declaration(hia_module *module, const hia_extern_info *info) {
  hia_text text;
  hiaR_text_init(&text, &module->comp.arena);
  hiaR_text_addf(&text, "extern %sfn %s(", info->is_impure ? "impure " : "", info->name);
  for (uint32_t i = 0; i < info->arity; i++) {
    const hia_param *param = &info->params[i];
    if (i) hiaR_text_addf(&text, ", ");
    if (param->name)
      hiaR_text_addf(&text, "%s: ", param->name);
    else
      hiaR_text_addf(&text, "a%u: ", i);
    hiaG_type_print(&module->types, param->type, &text);
  }
  hiaR_text_addf(&text, ") -> ");
  hiaG_type_print(&module->types, info->result.type, &text);
  return text.data;
}

static void add_extern(hia_module *module, const hia_extern *e, const char *const *param_names) {
  hia_arena *arena = &module->comp.arena;
  const hia_host_target *target = hiaJ_bound(module, e->name);
  hia_extern_info info = {.name = e->name,
                          .arity = e->n_sig_params,
                          .is_impure = e->is_impure,
                          .is_bound = target && target->function};
  info.params = HIA_NEW_ARRAY(arena, hia_param, info.arity ? info.arity : 1);
  for (uint32_t i = 0; i < info.arity; i++)
    info.params[i] = param_of(module, e->sig_params[i], param_names ? param_names[i] : NULL);
  info.result = param_of(module, e->result, NULL);
  info.declaration = declaration(module, &info);
  hiaR_push(arena, &module->externs, info);
}

/* Data types are found by name, and values are read for generic functions, also where no function
 * has needed a type yet. */
static void copy_types(hia_module *module) {
  if (module->types.entries.len)
    hiaJ_type_info(module, HIA_FIRST_TYPE + module->types.entries.len - 1);
}

void hiaJ_inspect_program(hia_module *module) {
  uint32_t n = hiaF_n_externs(module->program);
  hiaR_reserve(&module->comp.arena, &module->externs,
               n); /* callers keep pointers to the elements */
  for (uint32_t i = 0; i < n; i++) {
    hia_extern e;
    const char **names = hiaF_extern(module->program, i, &e);
    add_extern(module, &e, names);
  }
  copy_types(module);
}

/* The graph has memory and types of its own, so both are copied to the module. */
void hiaJ_inspect_graph(hia_module *module, const hia_graph *g) {
  hia_arena *arena = &module->comp.arena;
  hiaR_reserve(arena, &module->externs, g->externs.len);
  for (uint32_t i = 0; i < g->externs.len; i++) {
    hia_extern e = g->externs.data[i];
    hia_type *params = HIA_NEW_ARRAY(arena, hia_type, (size_t)e.n_sig_params + 1);
    for (uint32_t k = 0; k < e.n_sig_params; k++)
      params[k] = hiaG_type_copy(&module->types, g->types, e.sig_params[k]);
    e.name = hiaR_arena_strndup(arena, e.name, strlen(e.name));
    e.sig_params = params;
    e.result = hiaG_type_copy(&module->types, g->types, e.result);
    add_extern(module, &e, NULL);
  }
  copy_types(module);
  module->is_without_fuel = hiaG_cannot_fuel(g) != NULL;
  const uint16_t *effects = hiaG_find_effects(g, &g->comp->scratch, NULL);
  for (hia_function *f = module->functions; f; f = f->next)
    f->is_impure = effects[f->root] & HIA_E_IMPURE;
}

size_t hia_module_extern_count(const hia_module *module) {
  return module ? module->externs.len : 0;
}

const hia_extern_info *hia_module_extern(const hia_module *module, size_t i) {
  return module && i < module->externs.len ? &module->externs.data[i] : NULL;
}

const char *hia_extern_name(const hia_extern_info *f) { return f ? f->name : ""; }
const char *hia_extern_declaration(const hia_extern_info *f) { return f ? f->declaration : ""; }
size_t hia_extern_arity(const hia_extern_info *f) { return f ? f->arity : 0; }

const char *hia_extern_param_name(const hia_extern_info *f, size_t i) {
  return f && i < f->arity && f->params[i].name ? f->params[i].name : "";
}

const hia_type_info *hia_extern_param_type(const hia_extern_info *f, size_t i) {
  return f && i < f->arity ? f->params[i].info : NULL;
}

const hia_type_info *hia_extern_result_type(const hia_extern_info *f) {
  return f ? f->result.info : NULL;
}

bool hia_extern_is_impure(const hia_extern_info *f) { return f && f->is_impure; }
bool hia_extern_is_bound(const hia_extern_info *f) { return f && f->is_bound; }
