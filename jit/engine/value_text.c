/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arguments as text: a compilation of its own, so that the module is not touched.
 *
 * The runtime reads values. What is no literal is an expression, which the frontend evaluates. The
 * frontend's code may throw, and a throw must not cross the runtime's reader: so only bodies that
 * do not contain the reader are guarded (`attempt`). */
#include "jit/engine/engine.h"

/* Positions are 32-bit numbers. */
#define MAX_TEXT ((size_t)2 << 30)

typedef struct parsing {
  hia_comp comp;
  hia_value_types *known; /* types of the program, or NULL: */
  hia_types types;        /* begin with them */
  hia_type_table table;   /* of `types` */
  hia_source source;
  hia_diags diags;
  const hia_function *function;
  size_t i;
  const char *name; /* or NULL */
  const char *text;
  size_t text_len;
  hia_type type;
  hia_word *words;
  hia_objects *objects;
  hia_value_error wrong;
  hia_value *value;
  hia_error **error;
  hia_status status;
  /* What follows belongs to the body that is attempted. */
  size_t at, len;
  const hia_type *parts;
  uint32_t n_parts;
  hia_type found;
} parsing;

static hia_status attempt(parsing *want, hia_status (*body)(parsing *want)) {
  volatile hia_status status;
  if (HIA_TRY(&want->comp))
    status = body(want);
  else
    status = want->comp.status;
  want->comp.armed = false;
  return status;
}

static const hia_allocator *allocator_of(const parsing *want) {
  return &want->function->module->engine->allocator;
}

static hia_status prepare(parsing *want) {
  const hia_param *param = &want->function->params[want->i];
  want->source =
      (hia_source){.name = hiaR_arena_printf(&want->comp.arena, "argument %zu", want->i + 1),
                   .text = want->text,
                   .len = want->text_len};
  if (want->name) want->source.name = want->name;
  if (want->known)
    hiaG_types_copy(&want->types, &want->comp, &want->known->table);
  else
    hiaG_types_init(&want->types, &want->comp);
  hiaF_diags_init(&want->diags, &want->comp, &want->source);
  want->type = param->info ? param->info->type : HIA_NONE;
  want->table = hiaG_type_table(&want->types);
  return HIA_OK;
}

static bool evaluate_text(parsing *want, const char *text, size_t len) {
  hia_source source = want->source;
  source.text = text;
  source.len = len;
  hiaF_diags_init(&want->diags, &want->comp, &want->source);
  hia_type type;
  bool is_value = hiaF_parse_value(&want->comp, &want->types, &source, want->found, &type,
                                   &want->words, &want->diags);
  if (is_value) want->found = type;
  return is_value;
}

/* If the expression is wrong it is read again, with spaces for all that is around it: then
 * positions are those of the whole argument. */
static hia_status evaluate_body(parsing *want) {
  hia_arena *arena = &want->comp.arena;
  bool is_whole = want->at == 0 && want->len == want->source.len;
  if (!is_whole &&
      evaluate_text(want, hiaR_arena_strndup(arena, want->text + want->at, want->len), want->len))
    return HIA_OK;
  char *text = hiaR_arena_strndup(arena, want->text, want->at + want->len);
  for (size_t i = 0; i < want->at; i++)
    if (text[i] != '\n') text[i] = ' ';
  return evaluate_text(want, text, want->at + want->len) ? HIA_OK : HIA_ARGUMENT;
}

static hia_status evaluate(void *user, size_t at, size_t len, hia_type type, hia_type *found,
                           const hia_word **words) {
  parsing *want = user;
  want->at = at;
  want->len = len;
  want->found = type;
  hia_status status = attempt(want, evaluate_body);
  want->table = hiaG_type_table(&want->types);
  *found = want->found;
  *words = want->words;
  return status;
}

static hia_status tuple_body(parsing *want) {
  want->found = hiaG_tuple(&want->types, want->parts, want->n_parts);
  return HIA_OK;
}
static hia_status array_body(parsing *want) {
  want->found = hiaG_array(&want->types, *want->parts);
  return HIA_OK;
}

static hia_status tensor_body(parsing *want) {
  want->found = hiaG_tensor(&want->types, (hia_dtype)*want->parts, want->n_parts);
  return HIA_OK;
}

static hia_type make_type(parsing *want, const hia_type *parts, uint32_t n,
                          hia_status (*body)(parsing *want)) {
  want->parts = parts;
  want->n_parts = n;
  hia_status status = attempt(want, body);
  want->table = hiaG_type_table(&want->types);
  return status ? HIA_NONE : want->found;
}
static hia_type make_tuple(void *user, const hia_type *parts, uint32_t n) {
  return make_type(user, parts, n, tuple_body);
}
static hia_type make_array(void *user, hia_type element) {
  return make_type(user, &element, 1, array_body);
}

static hia_type make_tensor(void *user, hia_dtype dtype, uint32_t rank) {
  hia_type type = dtype;
  return make_type(user, &type, rank, tensor_body);
}

static hia_status words_body(parsing *want) {
  want->words =
      HIA_NEW_ARRAY(&want->comp.arena, hia_word, hiaG_type_words(&want->types, want->type));
  return HIA_OK;
}

static hia_status read_value(parsing *want) {
  const hia_evaluator evaluator = {want, evaluate};
  const hia_type_maker maker = {want, make_tuple, make_array, make_tensor};
  const hia_reading reading = {.allocator = allocator_of(want),
                               .types = &want->table,
                               .objects = want->objects,
                               .evaluator = &evaluator,
                               .maker = &maker};
  hia_value_error *wrong = &want->wrong;
  size_t len = want->source.len;
  hia_status status = HIA_OK;
  if (want->type == HIA_NONE)
    status = hiaR_value_look(&reading, want->text, len, &want->type, wrong);
  if (status) return status;
  status = attempt(want, words_body);
  hia_word *words = want->words; /* the evaluator has others */
  if (status == HIA_OK)
    status = hiaR_value_read(&reading, want->text, len, want->type, words, wrong);
  want->words = words;
  return status;
}

static bool is_known(const parsing *want) {
  return hiaR_is_scalar(want->type) ||
         (want->known && want->type - HIA_FIRST_TYPE < want->known->table.n_types);
}

/* By its own look a value may have a tuple or array type that the program lacks. */
static hia_status make_value(parsing *want) {
  const hia_allocator *allocator = allocator_of(want);
  hia_value_types *types = is_known(want) ? hiaR_value_types_hold(want->known)
                                          : hiaR_value_types_new(allocator, &want->table, NULL);
  if (!types && !hiaR_is_scalar(want->type)) return HIA_MEMORY;
  const hia_type_info *type = hiaR_type_info(types, want->type);
  hia_objects *objects = want->objects;
  if (objects && !hiaR_objects_bytes(objects)) objects = NULL;
  want->value = hiaR_value_new(allocator, type, objects, want->words);
  hiaR_value_types_release(types);
  return want->value ? HIA_OK : HIA_MEMORY;
}

/* The reader's error, as one of the frontend's. */
static hia_status report_body(parsing *want) {
  const hia_value_error *wrong = &want->wrong;
  const hia_diag diag = {.code = wrong->code,
                         .line = wrong->line,
                         .col = wrong->col,
                         .len = wrong->len ? (uint32_t)wrong->len : 1,
                         .message = wrong->message,
                         .hint = wrong->hint[0] ? wrong->hint : NULL};
  hiaF_diags_init(&want->diags, &want->comp, &want->source);
  hiaF_diag_add(&want->diags, &diag);
  return HIA_OK;
}

static void try_parse(void *arg) {
  parsing *want = arg;
  const hia_allocator *allocator = allocator_of(want);
  hia_status status = attempt(want, prepare);
  if (status == HIA_OK) status = read_value(want);
  if (status == HIA_OK) status = make_value(want);
  if (status == HIA_ARGUMENT && !want->wrong.is_reported && attempt(want, report_body))
    status = want->comp.status;
  want->status = status;
  if (status == HIA_ARGUMENT)
    hiaJ_fail_diags(allocator, want->error, status, &want->diags);
  else if (status)
    hiaJ_fail(allocator, want->error, status, NULL, "%s",
              want->comp.status == status && want->comp.message[0] ? want->comp.message
                                                                   : hiaR_status_message(status));
}

/* The types that parameter i can have: those of the program, if it is generic. */
static hia_value_types *types_for(const hia_function *f, size_t i) {
  const hia_type_info *type = f->params[i].info;
  if (type) return hiaR_value_types_hold(type->types);
  hia_module *module = f->module;
  pthread_mutex_lock(&module->lock);
  hia_value_types *types = hiaR_value_types_hold(module->value_types);
  pthread_mutex_unlock(&module->lock);
  return types;
}

hia_status hia_value_parse_text(hia_function *f, size_t i, const char *name, const char *text,
                                size_t len, hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!f) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no function");
  const hia_allocator *allocator = &f->module->engine->allocator;
  if ((!text && len) || !value)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no %s",
                     value ? "text" : "place for the value");
  if (i >= f->arity)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "`%s` has no parameter number %zu",
                     f->signature, i + 1);
  if (len > MAX_TEXT)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "a text of %zu bytes: at most %zu", len,
                     MAX_TEXT);
  parsing want = {.function = f,
                  .i = i,
                  .name = name,
                  .text = text ? text : "",
                  .text_len = len,
                  .error = error};
  want.known = types_for(f, i);
  const hia_type_info *type = f->params[i].info;
  bool has_objects = !type || type->has_references;
  if (has_objects) want.objects = hiaR_objects_new(allocator, 0);
  hiaR_comp_init(&want.comp, allocator);
  hia_status status = HIA_MEMORY;
  if (want.objects || !has_objects) status = hiaJ_on_stack(f->module->engine, try_parse, &want);
  if (status != HIA_OK)
    hiaR_fail_memory(allocator, error);
  else
    status = want.status;
  hiaR_comp_free(&want.comp);
  hiaR_objects_release(want.objects);
  hiaR_value_types_release(want.known);
  *value = want.value;
  return status;
}

hia_status hia_value_parse(hia_function *f, size_t i, const char *text, hia_value **value,
                           hia_error **error) {
  if (f && !text) {
    if (value) *value = NULL;
    return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT, NULL, "no text");
  }
  return hia_value_parse_text(f, i, NULL, text, text ? strlen(text) : 0, value, error);
}
