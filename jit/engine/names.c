/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The functions that are built, and their names in C: PREFIX_fib, and PREFIX_fib__i64 for a
 * further instance. */
#include "jit/engine/build.h"

/* ---- names that are taken ---- */

typedef enum name_kind { LANGUAGE, HEADER, LIBRARY } name_kind;

static const struct {
  name_kind kind;
  const char *names;
} c_names[] = {
#define HIA_C_NAMES(KIND, names) {KIND, names},
#include "jit/engine/c_names.def"
};

/* All names of a row have the same first letter, so that few rows are searched. */
static bool is_c_name(name_kind kind, const char *name) {
  size_t len = strlen(name);
  for (size_t row = 0; row < HIA_LEN(c_names) && len; row++) {
    if (c_names[row].kind != kind || c_names[row].names[0] != name[0]) continue;
    const char *names = c_names[row].names, *at = names;
    for (; (at = strstr(at, name)); at++)
      if ((at == names || at[-1] == ' ') && (at[len] == ' ' || at[len] == 0)) return true;
  }
  return false;
}

bool hiaJ_is_c_word(const char *name) { return is_c_name(LANGUAGE, name); }

/* Names of the libraries begin with hia_ and hiaR_, those that the headers define with HIA_ and
 * HIATON_. */
bool hiaJ_is_own_name(const char *name) {
  if (strncmp(name, "HIA_", 4) == 0 || strncmp(name, "HIATON_", 7) == 0) return true;
  if (strncmp(name, "hia", 3) != 0) return false;
  return name[3] == '_' || (name[3] >= 'A' && name[3] <= 'Z' && name[4] == '_');
}

/* A function with such a name would replace the library's, for the whole program. */
const char *hiaJ_name_taken(const char *name) {
  if (is_c_name(LANGUAGE, name)) return "where that name is taken";
  if (name[0] == '_') return "which reserves names that begin with `_`";
  if (hiaJ_is_own_name(name)) return "where such names are hiaton's own";
  if (is_c_name(HEADER, name)) return "where a standard header defines that name";
  if (is_c_name(LIBRARY, name)) return "where that name is the C library's";
  if (strncmp(name, "ffi_", 4) == 0) return "where such names are libffi's";
  return NULL;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- the prefix ---- */

/* "fib" from "examples/fib.hia". */
static const char *stem(hia_building *b) {
  const char *name = b->module->source.name, *slash = strrchr(name, '/');
  if (slash) name = slash + 1;
  hia_text text;
  hiaR_text_init(&text, &b->comp.arena);
  if (is_digit(*name)) hiaR_text_add(&text, "m", 1);
  for (; *name && *name != '.'; name++)
    hiaR_text_add(&text, is_letter(*name) || is_digit(*name) ? name : "_", 1);
  return text.len ? text.data : "module";
}

static hia_status find_prefix(hia_building *b, hia_error **error) {
  const char *prefix = b->options->prefix;
  if (!prefix) prefix = stem(b);
  b->prefix = *prefix ? hiaR_arena_printf(&b->comp.arena, "%s_", prefix) : "";
  bool is_fine = !*prefix || is_letter(*prefix);
  for (const char *c = prefix; *c; c++) is_fine &= is_letter(*c) || is_digit(*c);
  const hia_allocator *allocator = &b->module->engine->allocator;
  if (!is_fine)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL,
                     "the prefix `%.80s` is no identifier of C", prefix);
  if (hiaJ_is_own_name(b->prefix))
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "--prefix P gives the functions another one",
                     "names of C that begin with `%.80s` are hiaton's own", b->prefix);
  return HIA_OK;
}

/* ---- what is built ---- */

static void add(hia_building *b, const hia_function *f) {
  uint32_t hash = hiaR_hash(&f, sizeof f), at = hash, i;
  while ((i = hiaR_index_next(&b->by_function, hash, &at)) != HIA_NONE)
    if (b->built.data[i].function == f) return;
  hia_built built = {.function = f};
  hiaR_index_add(&b->comp.arena, &b->by_function, hash, b->built.len);
  hiaR_push(&b->comp.arena, &b->built, built);
}

static hia_status add_given(hia_building *b, hia_error **error) {
  for (size_t i = 0; i < b->n; i++) {
    const hia_function *f = b->functions[i];
    if (f->is_generic)
      return hiaJ_fail(&b->module->engine->allocator, error, HIA_ARGUMENT,
                       hiaR_arena_printf(&b->comp.arena, "name an instance, as in --fn '%s(%s)'",
                                         f->name, f->arity == 1 ? "i64" : "i64, ..."),
                       "`%s` is generic: it has no code of its own", f->signature);
    add(b, f);
  }
  return HIA_OK;
}

/* Every function whose types are known, in the order of the source. */
static hia_status add_all(hia_building *b, hia_error **error) {
  hia_module *module = b->module;
  hia_program *program = module->program;
  for (hia_decl_id decl = 0; decl < hiaF_n_fns(program); decl++) {
    uint32_t arity = hiaF_arity(program, decl);
    hia_type *types = HIA_NEW_ARRAY(&b->comp.arena, hia_type, arity ? arity : 1);
    bool is_generic = false;
    for (uint32_t i = 0; i < arity; i++) {
      types[i] = hiaF_param_type(program, decl, i);
      is_generic |= types[i] == HIA_NONE;
    }
    if (is_generic) {
      hiaR_push(&b->comp.arena, &b->left_out, hiaF_name(program, decl));
      continue;
    }
    hia_function *f;
    hia_status status = hiaJ_instance_at(module, decl, types, &f, error);
    if (status != HIA_OK) return status;
    add(b, f);
  }
  if (b->built.len) return HIA_OK;
  if (!b->left_out.len)
    return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL,
                     "there is no function to build");
  return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT,
                   hiaR_arena_printf(&b->comp.arena, "name instances, as in --fn '%s(i64)'",
                                     b->left_out.data[0]),
                   "every function is generic: there is nothing to build");
}

static hia_status add_roots(hia_building *b, hia_error **error) {
  for (hia_function *f = b->module->functions; f; f = f->next) add(b, f);
  if (b->built.len) return HIA_OK;
  return hiaJ_fail(&b->module->engine->allocator, error, HIA_ARGUMENT, NULL,
                   "there is no function to build");
}

/* ---- names ---- */

/* Adds a name to those of the object; false if the object has it already. */
static bool take(hia_building *b, const char *name) {
  uint32_t hash = hiaR_hash(name, strlen(name)), at = hash, i;
  while ((i = hiaR_index_next(&b->by_name, hash, &at)) != HIA_NONE)
    if (strcmp(b->names.data[i], name) == 0) return false;
  hiaR_index_add(&b->comp.arena, &b->by_name, hash, b->names.len);
  hiaR_push(&b->comp.arena, &b->names, name);
  return true;
}

const char *hiaJ_derived_name(hia_building *b, const char *name) {
  while (!take(b, name)) name = hiaR_arena_printf(&b->comp.arena, "%s_", name);
  return name;
}

const char *hiaJ_own_c_name(hia_building *b, const char *name) {
  while (hiaJ_name_taken(name)) name = hiaR_arena_printf(&b->comp.arena, "%s_", name);
  return hiaJ_derived_name(b, name);
}

static void add_type(hia_text *text, const hia_types *types, hia_type type) {
  if (hiaG_is_scalar(type)) {
    hiaR_text_addf(text, "_%s", hiaG_dtype_name((hia_dtype)type));
    return;
  }
  if (hiaG_type_kind(types, type) == HIA_KIND_DATA) {
    hiaR_text_addf(text, "_%s",
                   types->names.data + types->entries.data[type - HIA_FIRST_TYPE].name);
    return;
  }
  if (hiaG_type_kind(types, type) == HIA_KIND_ARRAY) {
    hiaR_text_addf(text, "_a");
    add_type(text, types, hiaG_element(types, type));
    return;
  }
  if (hiaG_type_kind(types, type) == HIA_KIND_TENSOR) {
    hiaR_text_addf(text, "_%sx%u", hiaG_dtype_name(hiaG_tensor_dtype(types, type)),
                   hiaG_rank(types, type));
    return;
  }
  uint32_t n = hiaG_tuple_len(types, type);
  hiaR_text_addf(text, "_t%u", n);
  for (uint32_t i = 0; i < n; i++) add_type(text, types, hiaG_tuple_part(types, type, i));
}

/* PREFIX_fib from "fib(i32)". */
static const char *first_name(hia_building *b, const hia_function *f) {
  return hiaR_arena_printf(&b->comp.arena, "%s%.*s", b->prefix, (int)strcspn(f->name, "("),
                           f->name);
}

/* PREFIX_fib__i32. */
static const char *further_name(hia_building *b, const hia_function *f) {
  hia_text text;
  hiaR_text_init(&text, &b->comp.arena);
  hiaR_text_addf(&text, "%s_", first_name(b, f));
  for (uint32_t k = 0; k < f->arity; k++) add_type(&text, &b->module->types, f->params[k].type);
  return text.data;
}

/* The first instance of each function has the function's name. Derived names are made after all of
 * these, so that a derived name is the one that gives way. */
static void name_all(hia_building *b) {
  for (uint32_t i = 0; i < b->built.len; i++) {
    hia_built *built = &b->built.data[i];
    const char *name = first_name(b, built->function);
    if (take(b, name)) built->name = name;
  }
  for (uint32_t i = 0; i < b->built.len; i++) {
    hia_built *built = &b->built.data[i];
    if (!built->name) built->name = hiaJ_derived_name(b, further_name(b, built->function));
  }
}

static hia_status check_names(hia_building *b, hia_error **error) {
  for (uint32_t i = 0; i < b->built.len; i++) {
    const hia_built *built = &b->built.data[i];
    const char *why = hiaJ_name_taken(built->name);
    if (why)
      return hiaJ_fail(&b->module->engine->allocator, error, HIA_ARGUMENT,
                       "--prefix P makes it P_NAME", "`%s` cannot be called `%s` in C, %s",
                       built->function->name, built->name, why);
  }
  return HIA_OK;
}

hia_status hiaJ_build_names(hia_building *b, hia_error **error) {
  hia_status status = find_prefix(b, error);
  if (status != HIA_OK) return status;
  if (b->n)
    status = add_given(b, error);
  else if (b->module->program)
    status = add_all(b, error);
  else
    status = add_roots(b, error);
  if (status != HIA_OK) return status;
  name_all(b);
  return check_names(b, error);
}
