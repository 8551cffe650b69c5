/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a training needs before its first step: functions of the right types, examples, and the
 * options that decide its bits. */
#include "tools/train.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the functions ---- */

static int wrong_function(const hia_function *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int wrong_function(const hia_function *f, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *name = hia_function_name(f);
  fprintf(stderr, "error[argument]: `%.*s` ", (int)strcspn(name, "("), name);
  vfprintf(stderr, fmt, args);
  fprintf(stderr, "\n      = hint: it is `%s`\n", hia_function_signature(f));
  va_end(args);
  return EXIT_USAGE;
}

static int find_function(training *r, const char *name, tool_option option, const char *more,
                         hia_function **f) {
  hia_error *error;
  hia_status status = hia_module_function(r->module, name, f, &error);
  if (status == HIA_OK) return EXIT_FINE;
  int code = tool_fail(error, status);
  if (status == HIA_NOT_FOUND)
    fprintf(stderr, "      = hint: %s NAME names %s\n", tool_option_name(option), more);
  return code;
}

/* Checks the parameter: an array. */
static int check_parameter(const hia_function *f) {
  size_t n = hia_function_arity(f);
  const hia_type_info *type = hia_function_param_type(f, 0);
  char text[128];
  if (n != 1) return wrong_function(f, "takes %zu arguments, not one array of examples", n);
  if (!type) return wrong_function(f, "is generic: its parameter needs a type, as in [Tree]");
  hia_type_info_format(type, text, sizeof text);
  if (hia_type_info_kind(type) != HIA_KIND_ARRAY)
    return wrong_function(f, "takes %s, not an array of examples", text);
  return EXIT_FINE;
}

static int check_result(const hia_function *f, bool may_be_integer) {
  hia_dtype dtype = HIA_BOOL;
  char text[128];
  const hia_type_info *type = hia_function_result_type(f);
  bool is_scalar = type && hia_type_info_dtype(type, &dtype) == HIA_OK;
  bool is_float = is_scalar && (dtype == HIA_F32 || dtype == HIA_F64);
  if (is_float || (may_be_integer && is_scalar && dtype != HIA_BOOL)) return EXIT_FINE;
  hia_type_info_format(type, text, sizeof text);
  return wrong_function(f, "returns %s, not %s", text, may_be_integer ? "a number" : "f32 or f64");
}

int train_find_functions(training *r) {
  int code = find_function(r, r->t->loss, OPT_LOSS, "another function", &r->loss);
  if (code == EXIT_FINE) code = check_parameter(r->loss);
  if (code == EXIT_FINE) code = check_result(r->loss, false);
  if (code != EXIT_FINE || !r->t->metric) return code;
  code = find_function(r, r->t->metric, OPT_METRIC, "a function of the program", &r->metric);
  if (code == EXIT_FINE) code = check_parameter(r->metric);
  if (code == EXIT_FINE) code = check_result(r->metric, true);
  if (code != EXIT_FINE || hia_type_info_is_same(hia_function_param_type(r->loss, 0),
                                                 hia_function_param_type(r->metric, 0)))
    return code;
  return wrong_function(r->metric, "takes other examples than `%s`", hia_function_name(r->loss));
}

/* ---- the examples ---- */

static int count_examples(const hia_value *data, const char *path, uint32_t *n) {
  size_t len = hia_value_len(data);
  *n = (uint32_t)len;
  if (len && len <= UINT32_MAX) return EXIT_FINE;
  fprintf(stderr, "error[argument]: %s has %s\n", path,
          len ? "more than 2^32 examples" : "no examples");
  return EXIT_USAGE;
}

int train_read_examples(training *r) {
  int code = tool_data(r->engine, r->loss, r->o, &r->args);
  if (code == EXIT_FINE) code = count_examples(r->args.values[0], r->t->data, &r->n);
  if (code == EXIT_FINE && r->t->dev)
    code = count_examples(r->args.values[1], r->t->dev, &r->n_dev);
  if (code != EXIT_FINE) return code;
  uint64_t size = r->t->batch < r->n ? r->t->batch : r->n;
  r->n_batches = (r->n + size - 1) / size;
  r->order = calloc(r->n, sizeof *r->order);
  r->batch = calloc(size, sizeof *r->batch);
  return r->order && r->batch ? EXIT_FINE : tool_fail(NULL, HIA_MEMORY);
}

/* ---- the options that decide the bits ---- */

static bool hash_bytes(void *hash, const char *bytes, size_t len) { /* FNV-1a */
  uint64_t h = *(uint64_t *)hash;
  for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
  *(uint64_t *)hash = h;
  return true;
}
#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)

static void decide(training *r, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void decide(training *r, const char *name, const char *fmt, ...) {
  size_t i = r->deciding.n++;
  va_list args;
  va_start(args, fmt);
  r->deciding.options[i].name = name;
  vsnprintf(r->deciding.options[i].value, MAX_DECIDING_TEXT, fmt, args);
  va_end(args);
}

static void decide_hash(training *r, const char *name, uint64_t hash) {
  r->deciding.options[r->deciding.n].is_hash = true;
  decide(r, name, "%016" PRIx64, hash);
}

static void decide_real(training *r, const char *name, double x) {
  char text[32];
  train_format(text, x);
  decide(r, name, "%s", text);
}

static int decide_examples(training *r, const char *name, const hia_value *data) {
  hia_error *error;
  uint64_t hash = HASH_BEGIN;
  if (!data) {
    r->deciding.options[r->deciding.n].is_hash = true;
    decide(r, name, "%s", "");
    return EXIT_FINE;
  }
  hia_status status = hia_value_save(data, hash_bytes, &hash, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  decide_hash(r, name, hash);
  return EXIT_FINE;
}

/* The hash of a syntax tree without the places in it: words such as 12:5. */
typedef struct tree_hash {
  uint64_t hash;
  char word[16]; /* the one that has begun, as long as it may be a place */
  size_t n;
} tree_hash;

static bool is_place(const tree_hash *t) {
  size_t line = strspn(t->word, "0123456789"), col = 0;
  if (line && t->word[line] == ':') col = strspn(t->word + line + 1, "0123456789");
  return col && line + 1 + col == t->n;
}

static bool hash_tree(void *user, const char *bytes, size_t len) {
  tree_hash *t = user;
  for (size_t i = 0; i < len; i++) {
    bool is_end = bytes[i] == ' ' || bytes[i] == '\n';
    if (!is_end && t->n < sizeof t->word - 1) {
      t->word[t->n++] = bytes[i];
      t->word[t->n] = 0;
      continue;
    }
    if (!is_end || !is_place(t)) hash_bytes(&t->hash, t->word, t->n);
    hash_bytes(&t->hash, &bytes[i], 1);
    t->n = 0;
    t->word[0] = 0;
  }
  return true;
}

/* The program without its comments and its layout. */
static int decide_program(training *r) {
  hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
  hia_function *functions[] = {r->loss, r->metric};
  hia_error *error;
  tree_hash tree = {.hash = HASH_BEGIN};
  dump.stage = HIA_STAGE_AST;
  hia_status status =
      hia_module_dump(r->module, functions, r->metric ? 2 : 1, &dump, hash_tree, &tree, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  decide_hash(r, "FILE", tree.hash);
  return EXIT_FINE;
}

int train_decide(training *r) {
  static const char *const optimizers[] = {"sgd", "adagrad", "adam", "adamw"};
  static const char *const schedules[] = {"constant", "linear", "cosine"};
  const tool_training *t = r->t;
  const hia_trainer_options *a = &t->trainer;
  int code = decide_program(r);
  if (code == EXIT_FINE) code = decide_examples(r, "--data", r->args.values[0]);
  if (code == EXIT_FINE) code = decide_examples(r, "--dev", r->args.values[1]);
  if (code != EXIT_FINE) return code;
  decide(r, "--loss", "%s", t->loss);
  decide(r, "--metric", "%s", t->metric ? t->metric : "");
  decide(r, "--per-example", "%s", t->is_per_example ? "on" : "");
  decide(r, "--seed", "%" PRIu64, r->o->seed);
  decide(r, "--batch", "%" PRIu64, t->batch);
  decide(r, "--optimizer", "%s", optimizers[a->optimizer]);
  decide_real(r, "--lr", a->rate);
  decide_real(r, "--momentum", a->momentum);
  decide_real(r, "--beta1", a->beta1);
  decide_real(r, "--beta2", a->beta2);
  decide_real(r, "--epsilon", a->epsilon);
  decide_real(r, "--decay", a->decay);
  decide_real(r, "--clip", a->max_norm);
  decide(r, "--schedule", "%s", schedules[t->schedule]);
  decide(r, "--warmup", "%" PRIu64, t->warmup);
  /* With a constant rate the number of epochs decides nothing, and there may be more of them. */
  if (t->schedule != TOOL_CONSTANT) decide(r, "--epochs", "%" PRIu64, t->epochs);
  decide(r, "--fast-products", "%s", r->o->engine.flags & HIA_FLAG_FAST_PRODUCTS ? "on" : "");
  return EXIT_FINE;
}
