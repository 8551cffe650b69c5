/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is built, and what it is called in C: PREFIX_fib, and the further instances of a function
 * PREFIX_fib__i64. */
#include "jit/engine/build.h"
#include <stdlib.h>

/* ---- words that are taken ---- */

bool hiaJ_is_c_word(const char *name) {
  static const char *const words[] = {"NULL",
                                      "_Alignas",
                                      "_Alignof",
                                      "_Atomic",
                                      "_BitInt",
                                      "_Bool",
                                      "_Complex",
                                      "_Decimal128",
                                      "_Decimal32",
                                      "_Decimal64",
                                      "_Generic",
                                      "_Imaginary",
                                      "_Noreturn",
                                      "_Static_assert",
                                      "_Thread_local",
                                      "alignas",
                                      "alignof",
                                      "and",
                                      "and_eq",
                                      "asm",
                                      "auto",
                                      "bitand",
                                      "bitor",
                                      "bool",
                                      "break",
                                      "case",
                                      "catch",
                                      "char",
                                      "char16_t",
                                      "char32_t",
                                      "char8_t",
                                      "class",
                                      "co_await",
                                      "co_return",
                                      "co_yield",
                                      "compl",
                                      "concept",
                                      "const",
                                      "const_cast",
                                      "consteval",
                                      "constexpr",
                                      "constinit",
                                      "continue",
                                      "decltype",
                                      "default",
                                      "delete",
                                      "do",
                                      "double",
                                      "dynamic_cast",
                                      "else",
                                      "enum",
                                      "explicit",
                                      "export",
                                      "extern",
                                      "false",
                                      "float",
                                      "for",
                                      "friend",
                                      "goto",
                                      "i386",
                                      "if",
                                      "inline",
                                      "int",
                                      "int16_t",
                                      "int32_t",
                                      "int64_t",
                                      "int8_t",
                                      "intptr_t",
                                      "linux",
                                      "long",
                                      "main",
                                      "mutable",
                                      "namespace",
                                      "new",
                                      "noexcept",
                                      "not",
                                      "not_eq",
                                      "nullptr",
                                      "offsetof",
                                      "operator",
                                      "or",
                                      "or_eq",
                                      "private",
                                      "protected",
                                      "ptrdiff_t",
                                      "public",
                                      "register",
                                      "reinterpret_cast",
                                      "requires",
                                      "restrict",
                                      "return",
                                      "short",
                                      "signed",
                                      "size_t",
                                      "sizeof",
                                      "static",
                                      "static_assert",
                                      "static_cast",
                                      "struct",
                                      "switch",
                                      "template",
                                      "this",
                                      "thread_local",
                                      "throw",
                                      "true",
                                      "try",
                                      "typedef",
                                      "typeid",
                                      "typename",
                                      "typeof",
                                      "typeof_unqual",
                                      "uint16_t",
                                      "uint32_t",
                                      "uint64_t",
                                      "uint8_t",
                                      "uintptr_t",
                                      "union",
                                      "unix",
                                      "unsigned",
                                      "using",
                                      "virtual",
                                      "void",
                                      "volatile",
                                      "wchar_t",
                                      "while",
                                      "xor",
                                      "xor_eq"};
  for (size_t i = 0; i < HIA_LEN(words); i++)
    if (strcmp(name, words[i]) == 0) return true;
  return false;
}

/* hia_ and hiaR_ begin the names of libraries, HIA_ and HIATON_ what the headers define. */
bool hiaJ_is_own_name(const char *name) {
  if (strncmp(name, "HIA_", 4) == 0 || strncmp(name, "HIATON_", 7) == 0) return true;
  if (strncmp(name, "hia", 3) != 0) return false;
  return name[3] == '_' || (name[3] >= 'A' && name[3] <= 'Z' && name[4] == '_');
}

/* What the runtime calls of the C library and of libffi, and code that is made for a processor that
 * lacks an instruction: a function of such a name would be called instead, by all of the program.
 * (tests/cli/build.sh compares it with the library.) */
static bool is_called_by_runtime(const char *name) {
  static const char *const names[] = {"abort",
                                      "calloc",
                                      "ceil",
                                      "ceilf",
                                      "clock_gettime",
                                      "close",
                                      "cos",
                                      "cosf",
                                      "exp",
                                      "expf",
                                      "expm1",
                                      "expm1f",
                                      "ferror",
                                      "ffi_call",
                                      "ffi_prep_cif",
                                      "ffi_type_double",
                                      "ffi_type_float",
                                      "ffi_type_pointer",
                                      "ffi_type_sint32",
                                      "ffi_type_sint64",
                                      "ffi_type_uint8",
                                      "ffi_type_void",
                                      "fflush",
                                      "floor",
                                      "floorf",
                                      "fmod",
                                      "fmodf",
                                      "fprintf",
                                      "fputc",
                                      "fputs",
                                      "free",
                                      "fwrite",
                                      "getrlimit",
                                      "log",
                                      "log1p",
                                      "log1pf",
                                      "logf",
                                      "longjmp",
                                      "madvise",
                                      "malloc",
                                      "memchr",
                                      "memcmp",
                                      "memcpy",
                                      "memmove",
                                      "memset",
                                      "mincore",
                                      "mmap",
                                      "mprotect",
                                      "munmap",
                                      "open",
                                      "pow",
                                      "powf",
                                      "prctl",
                                      "printf",
                                      "pthread_cond_destroy",
                                      "pthread_cond_init",
                                      "pthread_cond_signal",
                                      "pthread_cond_timedwait",
                                      "pthread_cond_wait",
                                      "pthread_condattr_destroy",
                                      "pthread_condattr_init",
                                      "pthread_condattr_setclock",
                                      "pthread_create",
                                      "pthread_join",
                                      "pthread_mutex_destroy",
                                      "pthread_mutex_init",
                                      "pthread_mutex_lock",
                                      "pthread_mutex_unlock",
                                      "pthread_self",
                                      "pthread_sigmask",
                                      "putc",
                                      "putchar",
                                      "puts",
                                      "read",
                                      "realloc",
                                      "roundeven",
                                      "roundevenf",
                                      "sched_getaffinity",
                                      "sigfillset",
                                      "sin",
                                      "sinf",
                                      "snprintf",
                                      "stderr",
                                      "stdout",
                                      "strchr",
                                      "strcmp",
                                      "strcspn",
                                      "strerror",
                                      "strlen",
                                      "strncmp",
                                      "strspn",
                                      "strstr",
                                      "strtod",
                                      "strtof",
                                      "strtol",
                                      "strtoul",
                                      "strtoull",
                                      "syscall",
                                      "sysconf",
                                      "tan",
                                      "tanf",
                                      "tanh",
                                      "tanhf",
                                      "vfprintf",
                                      "vsnprintf"};
  for (size_t i = 0; i < HIA_LEN(names); i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- the prefix ---- */

/* Of "examples/fib.hia" fib. */
static const char *stem(hia_building *b) {
  const char *name = b->module->source.name, *slash = strrchr(name, '/');
  if (slash) name = slash + 1;
  hia_text text;
  hiaR_text_init(&text, &b->module->comp.arena);
  if (is_digit(*name)) hiaR_text_add(&text, "m", 1);
  for (; *name && *name != '.'; name++)
    hiaR_text_add(&text, is_letter(*name) || is_digit(*name) ? name : "_", 1);
  return text.len ? text.data : "module";
}

static hia_status find_prefix(hia_building *b, hia_error **error) {
  const char *prefix = b->options->prefix;
  if (!prefix) prefix = stem(b);
  b->prefix = *prefix ? hiaR_arena_printf(&b->module->comp.arena, "%s_", prefix) : "";
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
  for (uint32_t i = 0; i < b->built.len; i++)
    if (b->built.data[i].function == f) return;
  hia_built built = {.function = f};
  hiaR_push(&b->module->comp.arena, &b->built, built);
}

static hia_status add_given(hia_building *b, hia_error **error) {
  for (size_t i = 0; i < b->n; i++) {
    const hia_function *f = b->functions[i];
    if (f->is_generic)
      return hiaJ_fail(&b->module->engine->allocator, error, HIA_ARGUMENT,
                       hiaR_arena_printf(&b->module->comp.arena,
                                         "name an instance, as in --fn '%s(%s)'", f->name,
                                         f->arity == 1 ? "i64" : "i64, ..."),
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
    hia_type *types = HIA_NEW_ARRAY(&module->comp.arena, hia_type, arity ? arity : 1);
    bool is_generic = false;
    for (uint32_t i = 0; i < arity; i++) {
      types[i] = hiaF_param_type(program, decl, i);
      is_generic |= types[i] == HIA_NONE;
    }
    if (is_generic) {
      hiaR_push(&module->comp.arena, &b->left_out, hiaF_name(program, decl));
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
                   hiaR_arena_printf(&module->comp.arena, "name instances, as in --fn '%s(i64)'",
                                     b->left_out.data[0]),
                   "every function is generic: there is nothing to build");
}

static hia_status add_roots(hia_building *b, hia_error **error) {
  hia_graph *g = b->module->whole[HIA_VERSION_PLAIN]->graph;
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    if (hiaG_fn(g, f)->is_root && !hiaG_fn(g, f)->is_removed)
      add(b, hiaJ_root_function(b->module, f));
  if (b->built.len) return HIA_OK;
  return hiaJ_fail(&b->module->engine->allocator, error, HIA_ARGUMENT, NULL,
                   "there is no function to build");
}

/* ---- names ---- */

static void add_type(hia_text *text, const hia_types *types, hia_type type) {
  if (hiaG_is_scalar(type)) {
    hiaR_text_addf(text, "_%s", hiaG_dtype_name((hia_dtype)type));
    return;
  }
  uint32_t n = hiaG_tuple_len(types, type);
  hiaR_text_addf(text, "_t%u", n);
  for (uint32_t i = 0; i < n; i++) add_type(text, types, hiaG_tuple_part(types, type, i));
}

/* "fib" of "fib(i32)". */
static uint32_t source_name(const hia_function *f) { return (uint32_t)strcspn(f->name, "("); }

static bool is_same_source(const hia_function *a, const hia_function *b) {
  uint32_t n = source_name(a);
  return n == source_name(b) && memcmp(a->name, b->name, n) == 0;
}

static const char *name_of(hia_building *b, uint32_t i) {
  const hia_function *f = b->built.data[i].function;
  hia_text text;
  hiaR_text_init(&text, &b->module->comp.arena);
  hiaR_text_addf(&text, "%s%.*s", b->prefix, (int)source_name(f), f->name);
  bool is_further = false;
  for (uint32_t k = 0; k < i; k++) is_further |= is_same_source(b->built.data[k].function, f);
  if (!is_further) return text.data;
  hiaR_text_addf(&text, "_");
  for (uint32_t k = 0; k < f->arity; k++) add_type(&text, &b->module->types, f->params[k].type);
  return text.data;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const hia_built *)a)->name, ((const hia_built *)b)->name);
}

static hia_status check_names(hia_building *b, hia_error **error) {
  const hia_allocator *allocator = &b->module->engine->allocator;
  static const char hint[] = "--prefix P makes it P_NAME";
  for (uint32_t i = 0; i < b->built.len; i++) {
    const hia_built *built = &b->built.data[i];
    if (hiaJ_is_c_word(built->name))
      return hiaJ_fail(allocator, error, HIA_ARGUMENT, hint,
                       "`%s` cannot be called `%s` in C, where that name is taken",
                       built->function->name, built->name);
    if (hiaJ_is_own_name(built->name))
      return hiaJ_fail(allocator, error, HIA_ARGUMENT, hint,
                       "`%s` cannot be called `%s` in C: such names are hiaton's own",
                       built->function->name, built->name);
    if (is_called_by_runtime(built->name))
      return hiaJ_fail(allocator, error, HIA_ARGUMENT, hint,
                       "`%s` cannot be called `%s` in C: the runtime calls a function of that name",
                       built->function->name, built->name);
  }
  uint32_t n = b->built.len;
  hia_built *sorted = HIA_NEW_ARRAY(&b->module->comp.arena, hia_built, n);
  memcpy(sorted, b->built.data, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, by_name);
  for (uint32_t i = 1; i < n; i++)
    if (strcmp(sorted[i - 1].name, sorted[i].name) == 0)
      return hiaJ_fail(allocator, error, HIA_ARGUMENT,
                       "build them one at a time, with --fn NAME and another --prefix",
                       "`%s` and `%s` would both be `%s` in C", sorted[i - 1].function->name,
                       sorted[i].function->name, sorted[i].name);
  return HIA_OK;
}

hia_status hiaJ_check_plain_names(hia_building *b, hia_error **error) {
  uint32_t n = b->built.len;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < n && b->built.data[i].plain; k++)
      if (strcmp(b->built.data[i].plain, b->built.data[k].name) == 0)
        return hiaJ_fail(&b->module->engine->allocator, error, HIA_ARGUMENT,
                         "build them one at a time, with --fn NAME and another --prefix",
                         "`%s` as a plain function and `%s` would both be `%s` in C",
                         b->built.data[i].function->name, b->built.data[k].function->name,
                         b->built.data[k].name);
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
  for (uint32_t i = 0; i < b->built.len; i++) b->built.data[i].name = name_of(b, i);
  return check_names(b, error);
}
