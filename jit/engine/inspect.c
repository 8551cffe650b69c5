/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Introspection of a module: its functions, externs and their types as data (hiaton/inspect.h).
 *
 * All of it is written when a function object is made, or the module is loaded, under the module's
 * lock, and is constant from then on. A type is an array of its codes in prefix order
 * (hia_type_code), with a hia_type_info for each code, so that the parts of a tuple follow it in
 * the same array. */
#include "jit/engine/engine.h"
#include <stdio.h>

struct hia_type_info {
  const hia_type_code *codes; /* from its own code on */
  const hia_dtype *scalars;
  uint32_t n_codes, n_scalars;
};

/* ---- types ---- */

static uint32_t n_parts(hia_type_code code) {
  return code < HIA_CODE_TUPLE ? 0 : code - HIA_CODE_TUPLE;
}

/* Fills in the type at infos[0], and the elements after it that belong to that type. */
static void fill(hia_type_info *infos, const hia_type_code *codes, const hia_dtype *scalars) {
  infos->codes = codes;
  infos->scalars = scalars;
  infos->n_codes = 1;
  infos->n_scalars = *codes < HIA_N_DTYPES;
  uint32_t n = n_parts(*codes);
  for (uint32_t i = 0; i < n; i++) {
    hia_type_info *part = infos + infos->n_codes;
    fill(part, codes + infos->n_codes, scalars + infos->n_scalars);
    infos->n_codes += part->n_codes;
    infos->n_scalars += part->n_scalars;
  }
}

const hia_type_info *hiaJ_type_info(hia_arena *arena, const hia_type_code *codes, uint32_t n) {
  hia_type_info *infos = HIA_NEW_ARRAY(arena, hia_type_info, n);
  hia_dtype *scalars = HIA_NEW_ARRAY(arena, hia_dtype, n);
  uint32_t n_scalars = 0;
  for (uint32_t i = 0; i < n; i++)
    if (codes[i] < HIA_N_DTYPES) scalars[n_scalars++] = (hia_dtype)codes[i];
  fill(infos, codes, scalars);
  return infos;
}

hia_type_kind hia_type_info_kind(const hia_type_info *type) {
  if (!type) return HIA_KIND_NONE;
  hia_type_code code = *type->codes;
  if (code >= HIA_CODE_TUPLE) return HIA_KIND_TUPLE;
  return code < HIA_N_DTYPES ? HIA_KIND_SCALAR : (hia_type_kind)(code - HIA_CODE_REFERENCE);
}

hia_status hia_type_info_dtype(const hia_type_info *type, hia_dtype *dtype) {
  if (!dtype) return HIA_ARGUMENT;
  bool fits = hia_type_info_kind(type) == HIA_KIND_SCALAR;
  *dtype = fits ? (hia_dtype)*type->codes : HIA_BOOL;
  return fits ? HIA_OK : HIA_ARGUMENT;
}

size_t hia_type_info_len(const hia_type_info *type) { return type ? n_parts(*type->codes) : 0; }

const hia_type_info *hia_type_info_part(const hia_type_info *type, size_t i) {
  if (i >= hia_type_info_len(type)) return NULL;
  const hia_type_info *part = type + 1;
  while (i--) part += part->n_codes;
  return part;
}

size_t hia_type_info_scalars(const hia_type_info *type, const hia_dtype **dtypes) {
  if (dtypes) *dtypes = type ? type->scalars : NULL;
  return type ? type->n_scalars : 0;
}

bool hia_type_info_is_same(const hia_type_info *a, const hia_type_info *b) {
  return a && b && a->n_codes == b->n_codes &&
         memcmp(a->codes, b->codes, a->n_codes * sizeof *a->codes) == 0;
}

/* Does what snprintf does, in pieces. */
typedef struct writing {
  char *buf;
  size_t size, len;
} writing;

static void put(writing *w, const char *text) {
  for (; *text; text++, w->len++)
    if (w->len + 1 < w->size) w->buf[w->len] = *text;
}

static void put_scalars(writing *w, const hia_dtype *dtypes, size_t n) {
  put(w, "(");
  for (size_t i = 0; i < n; i++) {
    if (i) put(w, ", ");
    put(w, (unsigned)dtypes[i] < HIA_N_DTYPES ? hiaG_dtype_name(dtypes[i]) : "?");
  }
  put(w, ")");
}

static size_t end_text(writing *w) {
  if (w->size) w->buf[w->len < w->size ? w->len : w->size - 1] = 0;
  return w->len;
}

size_t hia_type_info_format(const hia_type_info *type, char *buf, size_t size) {
  writing w = {.buf = buf, .size = buf ? size : 0};
  uint32_t left[HIA_MAX_WORDS], n_open = 0; /* parts that the open tuples still lack */
  for (uint32_t i = 0; type && i < type->n_codes; i++) {
    hia_type_code code = type->codes[i];
    if (code >= HIA_CODE_TUPLE) {
      put(&w, "(");
      left[n_open++] = code - HIA_CODE_TUPLE;
      continue;
    }
    put(&w, code < HIA_N_DTYPES                           ? hiaG_dtype_name((hia_dtype)code)
            : code == HIA_CODE_REFERENCE + HIA_KIND_ARRAY ? "[...]"
                                                          : "data");
    for (; n_open && --left[n_open - 1] == 0; n_open--) put(&w, ")");
    if (n_open) put(&w, ", ");
  }
  return end_text(&w);
}

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

bool hia_function_is_impure(const hia_function *f) { return f && f->is_impure; }

bool hia_function_can_have_fuel(const hia_function *f) { return f && !f->module->is_without_fuel; }

/* ---- typed entries ---- */

/* A typed entry has scalars only. */
static bool has_entry(const hia_function *f) {
  if (!f || f->is_generic) return false;
  for (uint32_t i = 0; i <= f->arity; i++) {
    const hia_param *p = i < f->arity ? &f->params[i] : &f->result;
    if (p->info->n_scalars != p->n_words) return false;
  }
  return true;
}

const hia_dtype *hiaJ_entry_scalars(hia_arena *arena, const hia_function *f) {
  uint32_t n = 0;
  hia_dtype *all = HIA_NEW_ARRAY(arena, hia_dtype, (size_t)f->n_param_words + f->result.n_words);
  for (uint32_t i = 0; i <= f->arity; i++) {
    const hia_type_info *type = i < f->arity ? f->params[i].info : f->result.info;
    memcpy(all + n, type->scalars, type->n_scalars * sizeof *all);
    n += type->n_scalars;
  }
  return all;
}

size_t hia_function_entry_params(const hia_function *f, const hia_dtype **dtypes) {
  bool is_typed = has_entry(f);
  if (dtypes) *dtypes = is_typed ? f->scalars : NULL;
  return is_typed ? f->n_param_words : 0;
}

size_t hia_function_entry_results(const hia_function *f, const hia_dtype **dtypes) {
  bool is_typed = has_entry(f);
  if (dtypes) *dtypes = is_typed ? f->scalars + f->n_param_words : NULL;
  return is_typed ? f->result.n_words : 0;
}

static bool is_equal(const hia_dtype *a, size_t n_a, const hia_dtype *b, size_t n_b) {
  if (n_a != n_b) return false;
  for (size_t i = 0; i < n_a; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static const char *entry_text(char *buf, size_t size, const hia_dtype *params, size_t n_params,
                              const hia_dtype *results, size_t n_results) {
  writing w = {.buf = buf, .size = size};
  put_scalars(&w, params, n_params);
  put(&w, " -> ");
  put_scalars(&w, results, n_results);
  end_text(&w);
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
  if (!has_entry(f))
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL,
                     "`%s` has data or arrays in its types: it has no typed entry", f->signature);
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
  hia_codes codes = {0};
  hia_arena *arena = &module->comp.arena;
  hiaJ_codes_of_type(&module->types, type, arena, &codes);
  return (hia_param){.type = type,
                     .name = name,
                     .codes = codes.data,
                     .info = hiaJ_type_info(arena, codes.data, codes.len),
                     .n_codes = codes.len,
                     .n_words = hiaG_type_words(&module->types, type)};
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

void hiaJ_inspect_program(hia_module *module) {
  uint32_t n = hiaF_n_externs(module->program);
  hiaR_reserve(&module->comp.arena, &module->externs,
               n); /* callers keep pointers to the elements */
  for (uint32_t i = 0; i < n; i++) {
    hia_extern e;
    const char **names = hiaF_extern(module->program, i, &e);
    add_extern(module, &e, names);
  }
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
  module->is_without_fuel = hiaG_cannot_fuel(g) != NULL;
  const bool *impure = hiaG_impure(g, &g->comp->scratch);
  for (hia_function *f = module->functions; f; f = f->next) f->is_impure = impure[f->root];
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
