/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The header of an object: a prototype for each function, and an example of use. */
#include "jit/engine/build.h"
#include <inttypes.h>

/* ---- parameters ---- */

typedef struct param {
  hia_type type; /* no tuple; of data and arrays C has values */
  const char *name;
  bool is_column; /* of parameters, for a map */
} param;
typedef HIA_VEC(param) params;

/* Adds the words of a type: x; for a tuple x_0, x_1; for tuples inside it x_1_0. */
static void add_params(hia_building *b, params *all, hia_type type, const char *name) {
  hia_arena *arena = &b->comp.arena;
  const hia_types *types = &b->types;
  if (hiaG_type_kind(types, type) == HIA_KIND_TUPLE) {
    for (uint32_t i = 0; i < hiaG_tuple_len(types, type); i++)
      add_params(b, all, hiaG_tuple_part(types, type, i),
                 hiaR_arena_printf(arena, "%s_%u", name, i));
    return;
  }
  param p = {type, name, false};
  hiaR_push(arena, all, p);
}

static params params_of(hia_building *b, const hia_function *f, uint32_t *n_results) {
  params all = {0};
  for (uint32_t i = 0; i < f->arity; i++) {
    const char *name = f->decl == HIA_NONE ? hiaR_arena_printf(&b->comp.arena, "a%u", i)
                                           : hiaF_param_name(b->module->program, f->decl, i);
    add_params(b, &all, hiaJ_type_in(b, &f->params[i]), name);
  }
  uint32_t n = all.len;
  add_params(b, &all, hiaJ_type_in(b, &f->result), "result");
  *n_results = all.len - n;
  return all;
}

/* ---- text ---- */

/* The text for use in a comment, without what would end the comment. */
static const char *for_comment(hia_building *b, const char *text) {
  hia_text out;
  hiaR_text_init(&out, &b->comp.arena);
  for (; *text; text++) {
    bool is_plain = (unsigned char)*text >= ' ' && *text != 0x7f;
    hiaR_text_add(&out, is_plain && !(text[0] == '*' && text[1] == '/') ? text : "?", 1);
  }
  return out.len ? out.data : "";
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* HIATON_OBJECT_FIB_FIB_H_89ABCDEF for fib.h, with a hash of what it guards: a program may need
 * two headers of one name unless their text is the same. No header of hiaton's own has a guard
 * with this beginning. */
static const char *guard_of(hia_building *b, const char *header, uint32_t hash) {
  hia_text text;
  hiaR_text_init(&text, &b->comp.arena);
  hiaR_text_addf(&text, "HIATON_OBJECT_");
  for (const char *c = header; *c; c++) {
    char upper = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    bool is_word = (upper >= 'A' && upper <= 'Z') || (upper >= '0' && upper <= '9');
    hiaR_text_add(&text, is_word ? &upper : "_", 1);
  }
  hiaR_text_addf(&text, "_%08" PRIX32, hash);
  return text.data;
}

static bool is_tensor(const hia_building *b, const param *p) {
  return hiaG_type_kind(&b->types, p->type) == HIA_KIND_TENSOR;
}

/* hia_f32_2 */
static const char *view_type(hia_building *b, const param *p) {
  return hiaR_arena_printf(&b->comp.arena, "hia_%s_%u",
                           hiaG_dtype_name(hiaG_tensor_dtype(&b->types, p->type)),
                           hiaG_rank(&b->types, p->type));
}

/* What is borrowed is const: columns of parameters, and values and tensors that are parameters. */
static const char *c_word(hia_building *b, const param *p, bool is_pointer) {
  if (is_tensor(b, p) && (p->is_column || !is_pointer))
    return hiaR_arena_printf(&b->comp.arena, "const %s *%s", view_type(b, p),
                             p->is_column ? "const *" : "");
  if (!hiaG_is_scalar(p->type))
    return p->is_column ? "const hia_value *const *"
           : is_pointer ? "hia_value **"
                        : "const hia_value *";
  return hiaR_arena_printf(&b->comp.arena, "%s%s%s", p->is_column ? "const " : "",
                           hiaJ_c_type((hia_dtype)p->type), is_pointer ? " *" : "");
}

/* "hia_status fib_fib(hia_context *, int32_t, int32_t *);", broken between parameters before column
 * 100. Names of parameters are comments, so that no name of a program and no macro in force where
 * the header is included (errno, I, stdin) can break the prototype. */
static void add_parameters(hia_building *b, const char *first, const params *all, uint32_t n,
                           uint32_t n_results, size_t indent) {
  hia_text *t = &b->text;
  size_t width = indent;
  if (indent > 40) indent = 4;
  bool is_first = true;
  for (uint32_t i = 0; i <= n; i++) {
    const char *word = first;
    if (i) {
      const param *p = &all->data[i - 1];
      bool is_pointer = p->is_column || i > all->len - n_results;
      word = hiaR_arena_printf(&b->comp.arena, "%s /*%s*/", c_word(b, p, is_pointer), p->name);
    }
    if (!word) continue;
    size_t len = strlen(word);
    if (!is_first && width + len + 4 > 100) {
      hiaR_text_addf(t, ",\n%*s", (int)indent, "");
      width = indent;
    } else if (!is_first) {
      hiaR_text_addf(t, ", ");
      width += 2;
    }
    hiaR_text_addf(t, "%s", word);
    width += len;
    is_first = false;
  }
  hiaR_text_addf(t, is_first ? "void);\n" : ");\n");
}

/* Adds the prototype of a map entry. */
static void add_map(hia_building *b, const char *name, const params *all, uint32_t n_results) {
  hia_text *t = &b->text;
  hiaR_text_addf(t, "/* The same for all rows of columns: hiaton/runtime.h, \"Maps\". */\n");
  params columns = {0};
  for (uint32_t i = 0; i < all->len; i++) {
    param p = all->data[i];
    p.is_column = i + n_results < all->len;
    hiaR_push(&b->comp.arena, &columns, p);
  }
  size_t start = t->len;
  hiaR_text_addf(t, "hia_status %s(", name);
  add_parameters(b, "hia_context *, size_t", &columns, columns.len, n_results, t->len - start);
}

static void add_prototype(hia_building *b, const hia_built *built) {
  uint32_t n_results;
  params all = params_of(b, built->function, &n_results);
  hia_text *t = &b->text;
  hiaR_text_addf(t, "/* fn %s */\n", for_comment(b, built->function->signature));
  size_t start = t->len;
  hiaR_text_addf(t, "hia_status %s(", built->name);
  add_parameters(b, "hia_context *", &all, all.len, n_results, t->len - start);
  if (built->map) add_map(b, built->map, &all, n_results);
  if (built->type)
    hiaR_text_addf(t,
                   "/* The type of its parameter or result i, counted from 0 behind the context; "
                   "NULL: a scalar. */\n"
                   "const hia_type_info *%s(size_t /*i*/);\n",
                   built->type);
  if (!built->plain) return;
  /* A single result is returned. */
  hiaR_text_addf(t, "/* The same; it needs no context, since it always ends, and soon. */\n");
  start = t->len;
  bool returns = n_results == 1;
  hiaR_text_addf(t, "%s %s(", returns ? hiaJ_c_type((hia_dtype)all.data[all.len - 1].type) : "void",
                 built->plain);
  add_parameters(b, NULL, &all, returns ? all.len - 1 : all.len, n_results, t->len - start);
}

static const char *example_scalar(hia_type type) {
  switch (type) {
  case HIA_BOOL: return "true";
  case HIA_F32: return "1.5f";
  case HIA_F64: return "1.5";
  default: return "3";
  }
}

static const char *example_value(hia_building *b, const param *p) {
  if (is_tensor(b, p)) return hiaR_arena_printf(&b->comp.arena, "&%s", p->name);
  return hiaG_is_scalar(p->type) ? example_scalar(p->type) : p->name;
}

/* Adds a tensor of one element. */
static void add_view(hia_building *b, const param *p) {
  hia_text *t = &b->text;
  hia_dtype dtype = hiaG_tensor_dtype(&b->types, p->type);
  hiaR_text_addf(t,
                 " *     %s elements_%s[] = {%s};\n"
                 " *     %s %s = {elements_%s, {",
                 hiaJ_c_type((hia_dtype)dtype), p->name, example_scalar((hia_type)dtype),
                 view_type(b, p), p->name, p->name);
  for (uint32_t i = 0; i < hiaG_rank(&b->types, p->type); i++) hiaR_text_addf(t, i ? ", 1" : "1");
  hiaR_text_addf(t, "}};\n");
}

/* Adds the variables of the example, and what makes its arguments that are values. */
static void add_variables(hia_building *b, const hia_built *built, const params *all, uint32_t n) {
  hia_text *t = &b->text;
  hiaR_text_addf(t, " *     hia_context *context;\n");
  for (uint32_t i = 0; i < all->len; i++) {
    const param *p = &all->data[i];
    if (is_tensor(b, p) && i < n)
      add_view(b, p);
    else if (!hiaG_is_scalar(p->type))
      hiaR_text_addf(t, " *     hia_value *%s;\n", p->name);
    else if (i >= n)
      hiaR_text_addf(t, " *     %s %s;\n", hiaJ_c_type((hia_dtype)p->type), p->name);
  }
  hiaR_text_addf(t, " *     if (hia_context_new(NULL, &context) != HIA_OK) return 1;\n");
  for (uint32_t i = 0; i < n; i++) {
    const param *p = &all->data[i];
    if (hiaG_is_scalar(p->type) || is_tensor(b, p)) continue;
    const char *text = for_comment(b, hiaJ_small_value(b, p->type));
    hiaR_text_addf(
        t,
        " *     if (hia_data_read(NULL, %s(%u), NULL, \"%s\", %zu, &%s, NULL) != HIA_OK)\n"
        " *       return 1;\n",
        built->type, i, text, strlen(text), p->name);
  }
}

/* `is_first`: of those that are printed as text. */
static void add_printing(hia_text *t, const param *p, bool is_first) {
  const char *name = p->name;
  if (!hiaG_is_scalar(p->type)) {
    hiaR_text_addf(t,
                   "%s"
                   " *       hia_value_format(%s, text, sizeof text);\n"
                   " *       puts(text);\n"
                   " *       hia_value_free(%s);\n",
                   is_first ? " *       char text[256];\n" : "", name, name);
    return;
  }
  switch (p->type) {
  case HIA_BOOL: hiaR_text_addf(t, " *       puts(%s ? \"true\" : \"false\");\n", name); break;
  case HIA_I32: hiaR_text_addf(t, " *       printf(\"%%\" PRId32 \"\\n\", %s);\n", name); break;
  case HIA_I64: hiaR_text_addf(t, " *       printf(\"%%\" PRId64 \"\\n\", %s);\n", name); break;
  default: hiaR_text_addf(t, " *       printf(\"%%g\\n\", (double)%s);\n", name); break;
  }
}

/* Adds a whole program, each line after " * ". */
static void add_example(hia_building *b, const char *header) {
  const hia_built *built = &b->built.data[0];
  uint32_t n_results;
  params all = params_of(b, built->function, &n_results);
  uint32_t n = all.len - n_results;
  for (uint32_t i = 0; i < n; i++) /* no name of C's, and none of the example's others */
    if (!hiaG_is_scalar(all.data[i].type))
      all.data[i].name = hiaR_arena_printf(&b->comp.arena, "arg_%s", all.data[i].name);
  hia_text *t = &b->text;
  hiaR_text_addf(t,
                 " *   #include \"%s\"\n"
                 " *   #include <inttypes.h>\n"
                 " *   #include <stdio.h>\n"
                 " *\n"
                 " *   int main(void) {\n",
                 for_comment(b, header));
  add_variables(b, built, &all, n);
  hiaR_text_addf(t, " *     hia_status status = %s(context", built->name);
  for (uint32_t i = 0; i < n; i++) hiaR_text_addf(t, ", %s", example_value(b, &all.data[i]));
  for (uint32_t i = n; i < all.len; i++) hiaR_text_addf(t, ", &%s", all.data[i].name);
  hiaR_text_addf(t, ");\n"
                    " *     if (status == HIA_OK) {\n");
  uint32_t n_values = 0;
  for (uint32_t i = n; i < all.len; i++) {
    bool is_value = !hiaG_is_scalar(all.data[i].type);
    add_printing(t, &all.data[i], is_value && n_values++ == 0);
  }
  hiaR_text_addf(t, " *     } else {\n"
                    " *       fputs(hia_error_text(hia_context_error(context)), stderr);\n"
                    " *     }\n");
  for (uint32_t i = 0; i < n; i++)
    if (!hiaG_is_scalar(all.data[i].type) && !is_tensor(b, &all.data[i]))
      hiaR_text_addf(t, " *     hia_value_free(%s);\n", all.data[i].name);
  hiaR_text_addf(t, " *     hia_context_free(context);\n"
                    " *     return status == HIA_OK ? 0 : 1;\n"
                    " *   }\n");
}

const char *hiaJ_extern_in_c(hia_building *b, const hia_extern *e) {
  hia_text text;
  hiaR_text_init(&text, &b->comp.arena);
  bool returns = !e->raises && e->n_results == 1;
  const char *result = returns     ? hiaJ_c_type((hia_dtype)e->results[0])
                       : e->raises ? "hia_status"
                                   : "void";
  hiaR_text_addf(&text, "%s %s(", result, e->name);
  uint32_t n = 0;
  for (uint32_t i = 0; i < e->n_params; i++)
    hiaR_text_addf(&text, "%s%s", n++ ? ", " : "", hiaJ_c_type((hia_dtype)e->params[i]));
  for (uint32_t i = 0; i < e->n_results && !returns; i++)
    hiaR_text_addf(&text, "%s%s *", n++ ? ", " : "", hiaJ_c_type((hia_dtype)e->results[i]));
  hiaR_text_addf(&text, n ? ")" : "void)");
  return text.data;
}

/* Adds the declaration of the function that returns the params, and what they are. */
static void add_program_params(hia_building *b) {
  hia_text *t = &b->text;
  hiaR_text_addf(t, "\n");
  for (uint32_t i = 0; i < b->native->params.len; i++) {
    const hia_param_spec *spec = &b->native->params.data[i];
    char type[512];
    hiaR_shape_describe(spec->dtype, &spec->shape, type, sizeof type);
    hiaR_text_addf(t, "/* param %s: %s */\n", spec->name, type);
  }
  hiaR_text_addf(t,
                 "/* These, which its functions read, and which hosts set: hiaton/params.h. */\n"
                 "hia_params *%s(void);\n",
                 b->params_name);
}

/* Adds the declarations of the header. */
static void add_prototypes(hia_building *b) {
  hia_text *t = &b->text;
  for (uint32_t i = 0; i < b->built.len; i++) {
    if (i) hiaR_text_addf(t, "\n");
    add_prototype(b, &b->built.data[i]);
  }
  if (b->params_name) add_program_params(b);
  hiaJ_header_data(b);
  for (uint32_t i = 0; i < b->left_out.len; i++)
    hiaR_text_addf(t, "%s/* fn %s is generic: --fn '%s(...)' builds an instance. */\n",
                   i ? "" : "\n", b->left_out.data[i], b->left_out.data[i]);
}

/* Adds the first comment: where the header comes from, how it is used, and what to link. */
static void add_head(hia_building *b, const char *header) {
  hia_text *t = &b->text;
  const char *file = base_name(b->module->source.name);
  bool has_file = *file != 0;
  hiaR_text_addf(t,
                 "/* Written by hiaton %s%s%s, whose licence it has. An example of use:\n"
                 " *\n",
                 HIA_BUILD_VERSION, has_file ? " for " : " for a program",
                 has_file ? for_comment(b, file) : "");
  add_example(b, header);
  hiaR_text_addf(
      t,
      " *\n"
      "%s"
      "%s"
      " * Contexts, statuses and errors: hiaton/runtime.h. Link with -lhiaton_rt -lm%s",
      hiaJ_build_has(b, HIA_BUILD_FUEL)
          ? " * Calls use up the fuel of their context, if it has some: hia_context_set_fuel.\n"
          : "",
      hiaJ_has_values(b) ? " * Values: hiaton/data.h; tensors: hiaton/tensors.h. A call borrows "
                           "its arguments; its\n"
                           " * results are the caller's.\n"
                         : "",
      b->externs.len ? " (the static\n * library: and -lffi), and with what defines:\n" : ". */\n");
  for (uint32_t i = 0; i < b->externs.len; i++)
    hiaR_text_addf(t, " * - %s%s\n", b->externs.data[i], i + 1 == b->externs.len ? " */" : ",");
}

void hiaJ_build_header(hia_building *b) {
  hia_arena *arena = &b->comp.arena;
  const char *header = b->options->header ? base_name(b->options->header) : NULL;
  if (!header || !strchr(header, '.')) { /* no name, or output to a pipe */
    /* "fib.h" from the prefix fib_. */
    size_t len = strlen(b->prefix);
    header = len ? hiaR_arena_printf(arena, "%.*s.h", (int)(len - 1), b->prefix) : "module.h";
  }
  hiaR_text_init(&b->text, arena);
  add_prototypes(b);
  hia_text prototypes = b->text;
  const char *guard = guard_of(b, header, hiaR_hash(prototypes.data, prototypes.len));
  hiaR_text_init(&b->text, arena);
  add_head(b, header);
  hiaR_text_addf(&b->text,
                 "#ifndef %s\n#define %s\n\n"
                 "#include <hiaton/%s.h>\n%s\n"
                 "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                 guard, guard, hiaJ_has_values(b) ? "tensors" : "runtime",
                 b->params_name ? "#include <hiaton/params.h>\n" : "");
  hiaR_text_add(&b->text, prototypes.data, prototypes.len);
  hiaR_text_addf(&b->text, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
