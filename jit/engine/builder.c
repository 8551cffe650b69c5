/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder of the public API: statuses and errors around a draft (frontend/build.c). */
#include "jit/engine/engine.h"

struct hia_builder {
  hia_engine *engine;
  hia_comp comp;
  hia_draft *draft;
  const char *name;
  hia_status status; /* of the first mistake */
  hia_error *error;  /* about it */
};

_Static_assert(HIA_BUILD_MAX_NESTING == HIA_DRAFT_MAX_NESTING, "the header tells the truth");
_Static_assert(sizeof(hia_build_value) == sizeof(uint64_t), "arrays of them are arrays of ids");

/* ---- life ---- */

/* Returns the upper half of a builder's ids, which distinguishes them from other builders' ids.
 * Builders of one engine are numbered; each engine starts at a random number, because an engine
 * may lie at the address of one that was freed. The tag is never 0, the upper half of dtypes, nor
 * all ones. */
static uint32_t new_tag(hia_engine *engine) {
  uint32_t number = atomic_fetch_add_explicit(&engine->next_builder, 1, memory_order_relaxed);
  return number % (UINT32_MAX - 1) + 1;
}

hia_status hia_builder_new(hia_engine *engine, const char *name, hia_builder **out,
                           hia_error **error) {
  if (error) *error = NULL;
  if (out) *out = NULL;
  if (!engine) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no engine");
  const hia_allocator *allocator = &engine->allocator;
  if (!out) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the builder");
  hia_builder *b = hiaR_alloc(allocator, sizeof *b);
  if (!b) return hiaJ_fail(allocator, error, HIA_MEMORY, NULL, "out of memory");
  b->engine = engine;
  hiaR_comp_init(&b->comp, allocator);
  if (HIA_TRY(&b->comp)) {
    b->name = name ? hiaR_arena_strndup(&b->comp.arena, name, strlen(name)) : NULL;
    b->draft = hiaF_draft_new(&b->comp, new_tag(engine));
  }
  b->comp.armed = false;
  if (b->comp.status != HIA_OK) {
    hia_status status = hiaJ_fail_comp(allocator, error, &b->comp);
    hia_builder_free(b);
    return status;
  }
  *out = b;
  return HIA_OK;
}

void hia_builder_free(hia_builder *b) {
  if (!b) return;
  hia_error_free(b->error);
  hiaR_comp_free(&b->comp);
  hiaR_free(&b->engine->allocator, b, sizeof *b);
}

hia_status hia_builder_status(const hia_builder *b) { return b ? b->status : HIA_ARGUMENT; }
const hia_error *hia_builder_error(const hia_builder *b) { return b ? b->error : NULL; }

/* ---- building ---- */

/* Ends a call. If it has thrown, that is the first mistake. */
static hia_status end_call(hia_builder *b) {
  b->comp.armed = false;
  if (b->comp.status != HIA_OK)
    b->status = hiaJ_fail_comp(&b->engine->allocator, &b->error, &b->comp);
  return b->status;
}

/* Runs a call on the draft, unless there was a mistake before. */
#define BUILD(b, ...)                                                                              \
  do {                                                                                             \
    if (!(b)) return HIA_ARGUMENT;                                                                 \
    if ((b)->status != HIA_OK) return (b)->status;                                                 \
    if (HIA_TRY(&(b)->comp)) __VA_ARGS__;                                                          \
    return end_call(b);                                                                            \
  } while (0)

/* The same for a call that returns an id. */
#define BUILD_ID(b, type, none, ...)                                                               \
  do {                                                                                             \
    volatile uint64_t id = (none);                                                                 \
    if ((b) && (b)->status == HIA_OK) {                                                            \
      if (HIA_TRY(&(b)->comp)) id = (__VA_ARGS__);                                                 \
      end_call(b);                                                                                 \
    }                                                                                              \
    return (type){id};                                                                             \
  } while (0)

static const uint64_t *ids(const hia_build_value *values) { return (const uint64_t *)values; }

hia_build_type hia_build_tuple_type(hia_builder *b, const hia_build_type *parts, size_t n) {
  BUILD_ID(b, hia_build_type, HIA_BUILD_NO_TYPE, hiaF_draft_tuple_type(b->draft, parts, n));
}

hia_build_type hia_build_type_of(hia_builder *b, hia_build_value value) {
  BUILD_ID(b, hia_build_type, HIA_BUILD_NO_TYPE, hiaF_draft_type_of(b->draft, value.id));
}

hia_build_fn hia_build_declare(hia_builder *b, const char *signature) {
  BUILD_ID(b, hia_build_fn, 0, hiaF_draft_declare(b->draft, signature));
}

hia_build_fn hia_build_declare_types(hia_builder *b, const char *name, const hia_build_type *params,
                                     size_t n, hia_build_type result) {
  BUILD_ID(b, hia_build_fn, 0, hiaF_draft_declare_types(b->draft, name, params, n, result));
}

hia_build_fn hia_build_declare_extern(hia_builder *b, const char *name,
                                      const hia_build_type *params, size_t n, hia_build_type result,
                                      bool is_impure) {
  BUILD_ID(b, hia_build_fn, 0,
           hiaF_draft_declare_extern(b->draft, name, params, n, result, is_impure));
}

hia_status hia_build_begin(hia_builder *b, hia_build_fn function) {
  BUILD(b, hiaF_draft_begin(b->draft, function.id));
}

hia_build_value hia_build_param(hia_builder *b, hia_build_fn function, size_t i) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_param(b->draft, function.id, i));
}

hia_status hia_build_return(hia_builder *b, hia_build_value result) {
  BUILD(b, hiaF_draft_return(b->draft, result.id));
}

hia_build_value hia_build_bool(hia_builder *b, bool x) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_const(b->draft, HIA_BOOL, hiaR_from_bool(x)));
}

hia_build_value hia_build_i32(hia_builder *b, int32_t x) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_const(b->draft, HIA_I32, hiaR_from_i32(x)));
}

hia_build_value hia_build_i64(hia_builder *b, int64_t x) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_const(b->draft, HIA_I64, hiaR_from_i64(x)));
}

hia_build_value hia_build_f32(hia_builder *b, float x) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_const(b->draft, HIA_F32, hiaR_from_f32(x)));
}

hia_build_value hia_build_f64(hia_builder *b, double x) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_const(b->draft, HIA_F64, hiaR_from_f64(x)));
}

hia_build_value hia_build_op(hia_builder *b, hia_opcode op, const hia_build_value *operands,
                             size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_op(b->draft, (unsigned)op, ids(operands), n));
}

hia_build_value hia_build_convert(hia_builder *b, hia_dtype dtype, hia_build_value value) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_convert(b->draft, (unsigned)dtype, value.id));
}

hia_build_value hia_build_call(hia_builder *b, hia_build_fn function, const hia_build_value *args,
                               size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_call(b->draft, function.id, ids(args), n));
}

hia_build_value hia_build_fail(hia_builder *b, hia_build_value code, hia_build_type type) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_fail(b->draft, code.id, type));
}

hia_build_value hia_build_tuple(hia_builder *b, const hia_build_value *parts, size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_tuple(b->draft, ids(parts), n));
}

hia_build_value hia_build_part(hia_builder *b, hia_build_value tuple, size_t i) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_part(b->draft, tuple.id, i));
}

hia_build_value hia_build_name(hia_builder *b, hia_build_value value, const char *name) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_name(b->draft, value.id, name));
}

hia_status hia_build_if(hia_builder *b, hia_build_value condition) {
  BUILD(b, hiaF_draft_if(b->draft, condition.id));
}

hia_status hia_build_else(hia_builder *b, hia_build_value then_value) {
  BUILD(b, hiaF_draft_else(b->draft, then_value.id));
}

hia_build_value hia_build_end_if(hia_builder *b, hia_build_value else_value) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_end_if(b->draft, else_value.id));
}

static hia_status begin_loop(hia_builder *b, const hia_build_value *init, size_t n,
                             hia_build_value *variables) {
  BUILD(b, hiaF_draft_loop(b->draft, ids(init), n, (uint64_t *)variables));
}

hia_status hia_build_loop(hia_builder *b, const hia_build_value *init, size_t n,
                          hia_build_value *variables) {
  hia_status status = begin_loop(b, init, n, variables);
  if (status != HIA_OK && variables)
    for (size_t i = 0; i < n && i < HIA_MAX_WORDS; i++) variables[i].id = 0;
  return status;
}

hia_status hia_build_while(hia_builder *b, hia_build_value condition) {
  BUILD(b, hiaF_draft_while(b->draft, condition.id));
}

hia_build_value hia_build_end_loop(hia_builder *b, const hia_build_value *next, size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_end_loop(b->draft, ids(next), n));
}

/* ---- the program as text ---- */

typedef struct printing {
  hia_builder *builder;
  hia_text *text;
} printing;

static void print(void *arg) {
  const printing *p = arg;
  hia_comp *comp = &p->builder->comp;
  if (HIA_TRY(comp)) {
    hiaR_text_add(p->text, "", 0);
    hiaF_draft_print(p->builder->draft, p->text);
  }
  comp->armed = false;
}

/* Writes the text into an arena of its own, which the caller frees. */
static hia_status to_text(hia_builder *b, hia_arena *arena, hia_text *text, hia_error **error) {
  const hia_allocator *allocator = &b->engine->allocator;
  hiaR_arena_init(arena, allocator, &b->comp);
  hiaR_text_init(text, arena);
  printing p = {b, text};
  hia_status status = hiaJ_on_stack(b->engine, print, &p);
  if (status != HIA_OK) return hiaJ_fail(allocator, error, status, NULL, "out of memory");
  return b->comp.status == HIA_OK ? HIA_OK : hiaJ_fail_comp(allocator, error, &b->comp);
}

/* Returns the first mistake once more, as an error of the caller's. */
static hia_status repeat(const hia_builder *b, hia_error **error) {
  const char *message = b->error ? hia_error_message(b->error, 0) : hiaR_status_message(b->status);
  return hiaJ_fail(&b->engine->allocator, error, b->status, NULL, "%s", message);
}

hia_status hia_builder_print(hia_builder *b, hia_write write, void *user, hia_error **error) {
  if (error) *error = NULL;
  if (!b) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no builder");
  const hia_allocator *allocator = &b->engine->allocator;
  if (!write) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no function to write with");
  if (b->status != HIA_OK && b->status != HIA_ARGUMENT) return repeat(b, error);
  hia_arena arena;
  hia_text text;
  hia_status status = to_text(b, &arena, &text, error);
  if (status == HIA_OK && text.len && !write(user, text.data, text.len))
    status = hiaJ_fail(allocator, error, HIA_IO, NULL, "the program could not be written");
  hiaR_arena_free(&arena);
  return status;
}

hia_status hia_builder_finish(hia_builder *b, hia_module **module, hia_error **error) {
  if (error) *error = NULL;
  if (module) *module = NULL;
  if (!b) return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no builder");
  const hia_allocator *allocator = &b->engine->allocator;
  if (!module) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the module");
  if (b->status != HIA_OK) return repeat(b, error);
  bool has_begun;
  const char *unfinished = hiaF_draft_unfinished(b->draft, &has_begun);
  if (unfinished)
    return hiaJ_fail(allocator, error, HIA_REJECTED, NULL,
                     has_begun ? "the body of '%.200s' is not at its end"
                               : "'%.200s' is declared, and not defined",
                     unfinished);
  hia_arena arena;
  hia_text text;
  hia_status status = to_text(b, &arena, &text, error);
  if (status == HIA_OK)
    status = hia_module_load_text(b->engine, b->name, text.data, text.len, module, error);
  hiaR_arena_free(&arena);
  return status;
}
