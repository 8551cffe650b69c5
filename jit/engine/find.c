/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding the functions of a module by their names, and instances by their types. */
#include "jit/engine/engine.h"
#include <stdio.h>

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
              !hiaJ_is_generic(module->program, f->decl);
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
