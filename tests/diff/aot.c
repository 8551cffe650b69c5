/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The corpus ahead of time: for each program an object file with all instances that its runs need;
 * and a C file that calls them with their headers (aot_main.h). */
#include "jit/engine/engine.h"
#include "tests/diff/run.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INSTANCES 256

typedef struct c_names {
  char entry[256], map[256];
  bool is_plain; /* it has a plain function too */
} c_names;
typedef struct instance {
  hia_function *function;
  c_names names[2]; /* without fuel and with it */
} instance;
typedef struct pending { /* a run that waits until its program is complete */
  char *where, *expected;
  uint32_t instance;
  gen_text args; /* in C */
  bool has_fuel; /* it is a call of the object that was built with fuel */
  uint64_t fuel;
} pending;

typedef struct aot {
  const char *folder;
  unsigned threads;
  diff_counts *counts;
  FILE *cases; /* C functions, one for each run */
  FILE *table; /* the rows of a table of these functions */
  uint32_t n_programs, n_cases;
  uint32_t in_turn, turn; /* one program in so many is built */
  bool is_left_out;
  hia_engine *engines[2]; /* the second one has traps of NaN */
  bool traps;             /* the program is of that one */
  hia_module *module;
  char *source, *path;
  instance instances[MAX_INSTANCES];
  uint32_t n_instances;
  pending *pending;
  uint32_t n_pending;
} aot;

static void fail(aot *a, const char *where, const char *what, hia_error *error) {
  fprintf(stderr, "FAIL %s: %s\n%s", where, what, error ? hia_error_text(error) : "");
  hia_error_free(error);
  a->counts->failed++;
}

static bool to_file(void *user, const char *bytes, size_t len) {
  return fwrite(bytes, 1, len, user) == len;
}

/* ---- a program that is complete ---- */

/* True if data or arrays are among its parameters and results. */
static bool has_data(const hia_function *f) {
  for (size_t i = 0; i <= hia_function_arity(f); i++) {
    const hia_type_info *type =
        i < hia_function_arity(f) ? hia_function_param_type(f, i) : hia_function_result_type(f);
    if (!hia_type_info_scalars(type, NULL)) return true;
  }
  return false;
}

/* Finds "hia_status p3_fact(" behind the signature in a header, then "hia_status p3_fact_map(",
 * which functions with data lack. */
static bool find_names(const instance *i, c_names *found, const char *header) {
  char comment[1024], plain[512];
  snprintf(comment, sizeof comment, "/* fn %s */", hia_function_signature(i->function));
  const char *at = strstr(header, comment);
  static const char type[] = "hia_status ";
  char *const names[2] = {found->entry, found->map};
  for (int k = 0; k < (has_data(i->function) ? 1 : 2); k++) {
    if (!at || !(at = strstr(at, type))) return false;
    at += sizeof type - 1;
    snprintf(names[k], 256, "%.*s", (int)strcspn(at, "("), at);
  }
  snprintf(plain, sizeof plain, " %s_plain(", found->entry);
  found->is_plain = strstr(header, plain) != NULL;
  return true;
}

/* The C type of each word of a type in the language's notation: data, arrays and tensors are
 * values.
 */
static uint32_t c_types(const char *type, const char **out) {
  static const char *const words[][2] = {{"bool", "bool"},
                                         {"i32", "int32_t"},
                                         {"i64", "int64_t"},
                                         {"f32", "float"},
                                         {"f64", "double"}};
  uint32_t n = 0;
  for (const char *at = type; *at;) {
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++)
      if (strlen(words[w][0]) == len && strncmp(at, words[w][0], len) == 0)
        out[n++] = at[len] == '[' ? "value" : words[w][1];
    if (len && at[len] == '[') len += strcspn(at + len, "]") + 1; /* of a tensor */
    if (!len && (*at == '[' || (*at >= 'A' && *at <= 'Z'))) {
      out[n++] = "value";
      int depth = 0;
      do depth += (at[len] == '[') - (at[len] == ']'), len++;
      while (depth || (at[len] && !strchr("(), ", at[len])));
    }
    at += len ? len : 1;
  }
  return n;
}

static void write_case(aot *a, const pending *p) {
  const instance *i = &a->instances[p->instance];
  const char *type = strstr(hia_function_signature(i->function), " -> ") + 4, *types[1000];
  uint32_t n = c_types(type, types);
  fprintf(a->cases, "static void case_%u(hia_context *c, outcome *o) {\n", a->n_cases);
  for (uint32_t k = 0; k < n; k++) fprintf(a->cases, "  %s r%u = 0;\n", types[k], k);
  if (has_data(i->function))
    fprintf(a->cases, "#undef TYPE\n#define TYPE(i) %s_type(i)\n", i->names[p->has_fuel].entry);
  if (p->has_fuel) fprintf(a->cases, "  hia_context_set_fuel(c, %" PRIu64 "u);\n", p->fuel);
  fprintf(a->cases, "  hia_status s = %s(c%s", i->names[p->has_fuel].entry,
          p->args.data ? p->args.data : "");
  for (uint32_t k = 0; k < n; k++) fprintf(a->cases, ", &r%u", k);
  fprintf(a->cases, ");\n  begin(o, c, s, \"%s\");\n", type);
  for (uint32_t k = 0; k < n; k++) fprintf(a->cases, "  add_%s(o, r%u);\n", types[k], k);
  if (p->has_fuel) fprintf(a->cases, "  add_fuel(o, c);\n");
  fprintf(a->cases, "  end(o);\n}\n");
  fprintf(a->table, "    {case_%u, \"%s\", \"", a->n_cases++, p->where);
  for (const char *c = p->expected; *c; c++) fprintf(a->table, *c == '"' ? "\\\"" : "%c", *c);
  fprintf(a->table, "\"},\n");
}

/* The same over equal rows: the last has the result, or the first fails. Each row uses up fuel, so
 * with fuel there is one. A plain function gets more than one vector of them, and some left over.
 */
static void write_map_case(aot *a, const pending *p) {
  static const char *const words[] = {"bool", "int32_t", "int64_t", "float", "double"};
  const instance *i = &a->instances[p->instance];
  const char *type = strstr(hia_function_signature(i->function), " -> ") + 4;
  const hia_dtype *in, *out;
  size_t n_in = hia_function_entry_params(i->function, &in);
  size_t n_out = hia_function_entry_results(i->function, &out);
  int n_rows = p->has_fuel ? 1 : i->names[false].is_plain ? 37 : 3;
  fprintf(a->cases, "static void case_%u(hia_context *c, outcome *o) {\n", a->n_cases);
  const char *arg = p->args.data ? p->args.data : "";
  for (size_t k = 0; k < n_in; k++) {
    arg += strspn(arg, ", ");
    int len = (int)strcspn(arg, ",");
    fprintf(a->cases, "  %s a%zu[%d];\n", words[in[k]], k, n_rows);
    fprintf(a->cases, "  for (int i = 0; i < %d; i++) a%zu[i] = %.*s;\n", n_rows, k, len, arg);
    arg += len;
  }
  for (size_t k = 0; k < n_out; k++)
    fprintf(a->cases, "  %s r%zu[%d] = {0};\n", words[out[k]], k, n_rows);
  if (p->has_fuel) fprintf(a->cases, "  hia_context_set_fuel(c, %" PRIu64 "u);\n", p->fuel);
  fprintf(a->cases, "  hia_status s = %s(c, %d", i->names[p->has_fuel].map, n_rows);
  for (size_t k = 0; k < n_in; k++) fprintf(a->cases, ", a%zu", k);
  for (size_t k = 0; k < n_out; k++) fprintf(a->cases, ", r%zu", k);
  fprintf(a->cases, ");\n  begin(o, c, s, \"%s\");\n", type);
  for (size_t k = 0; k < n_out; k++)
    fprintf(a->cases, "  add_%s(o, r%zu[%d]);\n", words[out[k]], k, n_rows - 1);
  if (p->has_fuel) fprintf(a->cases, "  add_fuel(o, c);\n");
  fprintf(a->cases, "  check_rows(o, c, %d);\n}\n", n_rows);
  fprintf(a->table, "    {case_%u, \"%s as a map\", \"", a->n_cases++, p->where);
  for (const char *c = p->expected; *c; c++) fprintf(a->table, *c == '"' ? "\\\"" : "%c", *c);
  fprintf(a->table, "\"},\n");
}

static void write_object(aot *a, bool has_fuel) {
  hia_build_options o = HIA_BUILD_OPTIONS_INIT;
  char prefix[32], path[4096];
  snprintf(prefix, sizeof prefix, "p%u%s", a->n_programs, has_fuel ? "f" : "");
  if (has_fuel) o.flags |= HIA_BUILD_FUEL;
  snprintf(path, sizeof path, "%s/%s.o", a->folder, prefix);
  o.prefix = prefix;
  o.flags |= HIA_BUILD_MAPS;
  if (a->threads > 1) o.flags |= HIA_BUILD_PARALLEL;
  o.cpu = a->threads > 1 ? "x86-64" : NULL; /* it lacks instructions: the code calls libm */
  hia_function *functions[MAX_INSTANCES];
  for (uint32_t i = 0; i < a->n_instances; i++) functions[i] = a->instances[i].function;
  hia_error *error = NULL;
  gen_text header = {0};
  FILE *file = fopen(path, "w");
  /* Every second program becomes fast for what is guessed (jit/engine/build_profile.c). */
  hia_engine *engine = a->engines[a->traps];
  engine->assume_seed = a->n_programs % 2 * (a->n_programs * 2654435761u | 1);
  hia_status status = hia_module_build_header(a->module, functions, a->n_instances, &o,
                                              gen_text_take, &header, &error);
  if (status == HIA_OK && file)
    status =
        hia_module_build_object(a->module, functions, a->n_instances, &o, to_file, file, &error);
  engine->assume_seed = 0;
  bool fine = status == HIA_OK && file;
  if (file && fclose(file) != 0) fine = false;
  for (uint32_t i = 0; fine && i < a->n_instances; i++)
    fine = find_names(&a->instances[i], &a->instances[i].names[has_fuel], header.data);
  if (!fine) {
    fail(a, a->path, "cannot be built", error);
  } else {
    snprintf(path, sizeof path, "%s/%s.h", a->folder, prefix);
    if ((file = fopen(path, "w"))) {
      fputs(header.data, file);
      fclose(file);
    }
    fprintf(a->cases, "#include \"%s.h\"\n", prefix);
    for (uint32_t i = 0; i < a->n_pending; i++)
      if (a->pending[i].has_fuel == has_fuel) {
        write_case(a, &a->pending[i]);
        if (!has_data(a->instances[a->pending[i].instance].function))
          write_map_case(a, &a->pending[i]);
      }
  }
  gen_text_free(&header);
}

static void end_program(aot *a) {
  bool has_fuel = false;
  for (uint32_t i = 0; i < a->n_pending; i++) has_fuel |= a->pending[i].has_fuel;
  if (a->n_pending) write_object(a, false);
  if (has_fuel) write_object(a, true);
  a->n_programs++;
  for (uint32_t i = 0; i < a->n_pending; i++) {
    free(a->pending[i].where);
    free(a->pending[i].expected);
    gen_text_free(&a->pending[i].args);
  }
  free(a->pending);
  a->pending = NULL;
  a->n_pending = a->n_instances = 0;
  hia_module_free(a->module);
  a->module = NULL;
  free(a->source);
  free(a->path);
  a->source = a->path = NULL;
}

/* ---- runs ---- */

/* The words of a value as arguments in C; *word counts all of the call. */
static void add_arg(gen_text *text, const hia_value *value, uint32_t *word) {
  hia_dtype dtype;
  hia_type_kind kind = hia_type_info_kind(hia_value_type(value));
  if (kind == HIA_KIND_TUPLE) {
    for (size_t i = 0; i < hia_value_len(value); i++) {
      hia_value *part = hia_value_part(value, i);
      add_arg(text, part, word);
      hia_value_free(part);
    }
    return;
  }
  uint32_t number = (*word)++;
  if (kind != HIA_KIND_SCALAR) {
    char buf[4096];
    hia_value_format(value, buf, sizeof buf);
    gen_text_add(text, ", %s(o, TYPE(%u), \"%s\")",
                 kind == HIA_KIND_TENSOR ? "tensor_of" : "value_of", number, buf);
    return;
  }
  hia_value_dtype(value, &dtype);
  bool b;
  int32_t i;
  int64_t l;
  float f;
  double d;
  uint32_t bits;
  uint64_t wide;
  switch (dtype) {
  case HIA_BOOL:
    hia_value_get_bool(value, &b);
    gen_text_add(text, ", %d", b);
    break;
  case HIA_I32:
    hia_value_get_i32(value, &i);
    gen_text_add(text, ", (int32_t)%" PRIu32 "u", (uint32_t)i);
    break;
  case HIA_I64:
    hia_value_get_i64(value, &l);
    gen_text_add(text, ", (int64_t)%" PRIu64 "u", (uint64_t)l);
    break;
  case HIA_F32:
    hia_value_get_f32(value, &f);
    memcpy(&bits, &f, sizeof bits);
    gen_text_add(text, ", f32_of(%" PRIu32 "u)", bits);
    break;
  case HIA_F64:
    hia_value_get_f64(value, &d);
    memcpy(&wide, &d, sizeof wide);
    gen_text_add(text, ", f64_of(%" PRIu64 "u)", wide);
    break;
  }
}

static uint32_t add_instance(aot *a, hia_function *f) {
  for (uint32_t i = 0; i < a->n_instances; i++)
    if (a->instances[i].function == f) return i;
  if (a->n_instances == MAX_INSTANCES) return MAX_INSTANCES;
  a->instances[a->n_instances].function = f;
  return a->n_instances++;
}

static void add_case(aot *a, const diff_case *c) {
  hia_function *f = NULL;
  hia_value *args[16];
  hia_error *error = NULL;
  gen_text text = {0};
  uint32_t n = 0, word = 0;
  hia_status status = hia_module_function(a->module, c->fn, &f, &error);
  for (; status == HIA_OK && n < c->n_args; n++) {
    status = hia_value_parse(f, n, c->args[n], &args[n], &error);
    if (status != HIA_OK) break;
    add_arg(&text, args[n], &word);
  }
  if (status == HIA_OK) status = hia_function_instance(f, args, n, &f, &error);
  for (uint32_t i = 0; i < n; i++) hia_value_free(args[i]);
  uint32_t which = status == HIA_OK ? add_instance(a, f) : MAX_INSTANCES;
  hia_error_free(error);
  /* The arguments are rejected, which hia_diff tests in other ways. */
  if (which == MAX_INSTANCES) {
    gen_text_free(&text);
    return;
  }
  a->pending = realloc(a->pending, (a->n_pending + 1) * sizeof *a->pending);
  if (!a->pending) abort();
  gen_text where = {0};
  gen_text_add(&where, "%s:%u", c->path, c->line);
  a->pending[a->n_pending++] = (pending){where.data, strdup(c->expected), which,
                                         text,       c->fuel != NULL,     c->fuel ? *c->fuel : 0};
}

static void visit(void *user, const diff_case *c) {
  aot *a = user;
  if (c->is_rejected || c->is_large || !strncmp(c->expected, "rejected", 8)) return;
  if (!a->source || a->traps != c->traps || strcmp(a->source, c->source) != 0) {
    end_program(a);
    a->traps = c->traps;
    a->source = strdup(c->source);
    a->path = strdup(c->path);
    a->is_left_out = a->turn++ % a->in_turn != 0;
    if (a->is_left_out) return;
    hia_error *error;
    diff_watch(c->path);
    if (hia_module_load_text(a->engines[a->traps], c->path, c->source, strlen(c->source),
                             &a->module, &error)) {
      fail(a, c->path, "cannot be loaded", error);
      a->is_left_out = true;
      return;
    }
  }
  if (!a->is_left_out) add_case(a, c);
}

void diff_aot(const char *folder, const char *const *paths, uint32_t n_paths, unsigned threads,
              uint32_t in_turn, uint32_t first, diff_counts *counts) {
  aot *a = calloc(1, sizeof *a);
  char path[4096];
  if (!a) abort();
  a->folder = folder;
  a->threads = threads;
  a->in_turn = in_turn;
  a->turn = first % in_turn;
  a->counts = counts;
  snprintf(path, sizeof path, "%s/cases.c", folder);
  a->cases = fopen(path, "w");
  snprintf(path, sizeof path, "%s/table.h", folder);
  a->table = fopen(path, "w");
  hia_error *error = NULL;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.flags |= HIA_FLAG_LINK_EXTERNS; /* of the C library */
  hia_engine_options with_traps = options;
  with_traps.flags |= HIA_FLAG_TRAP_NAN;
  if (!a->cases || !a->table) {
    fail(a, folder, "cannot be written", NULL);
  } else if (hia_engine_new(&options, &a->engines[0], &error) != HIA_OK ||
             hia_engine_new(&with_traps, &a->engines[1], &error) != HIA_OK) {
    fail(a, folder, "no engine", error);
  } else {
#ifdef HIA_TSAN /* AddressSanitizer's constructors would clash when the objects are linked */
    a->engines[0]->sanitizes_objects = a->engines[1]->sanitizes_objects = true;
#endif
    fprintf(a->cases, "#include \"aot_main.h\"\n");
    for (uint32_t i = 0; i < n_paths; i++) diff_cases(paths[i], visit, a, counts);
    end_program(a);
    fprintf(a->cases,
            "static const row rows[] = {\n#include \"table.h\"\n};\n"
            "int main(void) { return run_all(rows, sizeof rows / sizeof rows[0], %u); }\n",
            threads);
  }
  if (a->cases && fclose(a->cases) != 0) fail(a, folder, "cannot be written", NULL);
  if (a->table && fclose(a->table) != 0) fail(a, folder, "cannot be written", NULL);
  hia_engine_free(a->engines[0]);
  hia_engine_free(a->engines[1]);
  free(a);
}
