/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder of the public API: statuses and errors around a draft (frontend/build/). */
#include "jit/engine/engine.h"

struct hia_builder {
  hia_engine *engine;
  hia_comp comp;
  hia_draft *draft;
  const char *name;
  hia_status status; /* of the first mistake */
  hia_error *error;  /* about it */
};

_Static_assert(HIA_BUILD_MAX_NESTING == HIA_DRAFT_MAX_NESTING &&
                   HIA_BUILD_MAX_PATTERN_DEPTH == HIA_DRAFT_MAX_PATTERN_DEPTH,
               "the header tells the truth");
_Static_assert(sizeof(hia_build_value) == sizeof(uint64_t) &&
                   sizeof(hia_build_pattern) == sizeof(uint64_t),
               "arrays of them are arrays of ids");
_Static_assert(HIA_BUILD_ALL_AXES == HIA_NONE && HIA_BUILD_ANY_SIZE == HIA_DIM_UNKNOWN,
               "axes and sizes are passed on");
_Static_assert(sizeof(hia_build_field) == sizeof(hia_draft_new_field) &&
                   offsetof(hia_build_field, type) == offsetof(hia_draft_new_field, type),
               "arrays of fields are passed on");

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
  if (!b) return hiaR_fail_memory(allocator, error);
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

/* Runs a call that returns an id. */
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

hia_build_type hia_build_array_type(hia_builder *b, hia_build_type element) {
  BUILD_ID(b, hia_build_type, HIA_BUILD_NO_TYPE, hiaF_draft_array_type(b->draft, element));
}

hia_build_type hia_build_tensor_type(hia_builder *b, hia_dtype dtype, size_t rank) {
  uint32_t axes = rank > UINT32_MAX ? UINT32_MAX : (uint32_t)rank;
  BUILD_ID(b, hia_build_type, HIA_BUILD_NO_TYPE, hiaF_draft_tensor_type(b->draft, dtype, axes));
}

hia_build_type hia_build_sized_type(hia_builder *b, hia_dtype dtype, const int64_t *sizes,
                                    size_t rank) {
  uint32_t axes = rank > UINT32_MAX ? UINT32_MAX : (uint32_t)rank;
  BUILD_ID(b, hia_build_type, HIA_BUILD_NO_TYPE,
           hiaF_draft_sized_type(b->draft, dtype, sizes, axes));
}

hia_build_type hia_build_read_type(hia_builder *b, const char *text) {
  BUILD_ID(b, hia_build_type, HIA_BUILD_NO_TYPE, hiaF_draft_read_type(b->draft, text));
}

hia_build_type hia_build_declare_type(hia_builder *b, const char *definition) {
  BUILD_ID(b, hia_build_type, HIA_BUILD_NO_TYPE, hiaF_draft_declare_type(b->draft, definition));
}

hia_build_ctor hia_build_add_ctor(hia_builder *b, hia_build_type type, const char *name,
                                  const hia_build_field *fields, size_t n) {
  BUILD_ID(b, hia_build_ctor, 0,
           hiaF_draft_add_ctor(b->draft, type, name, (const hia_draft_new_field *)fields, n));
}

hia_build_ctor hia_build_find_ctor(hia_builder *b, const char *name) {
  BUILD_ID(b, hia_build_ctor, 0, hiaF_draft_find_ctor(b->draft, name));
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

hia_build_value hia_build_op_along(hia_builder *b, hia_opcode op, const hia_build_value *operands,
                                   size_t n, uint32_t axis) {
  BUILD_ID(b, hia_build_value, 0,
           hiaF_draft_op_along(b->draft, (unsigned)op, ids(operands), n, axis));
}

hia_build_value hia_build_reshape(hia_builder *b, hia_build_value tensor,
                                  const hia_build_value *sizes, size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_reshape(b->draft, tensor.id, ids(sizes), n));
}

hia_build_value hia_build_full(hia_builder *b, hia_build_value value, const hia_build_value *sizes,
                               size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_full(b->draft, value.id, ids(sizes), n));
}

hia_build_value hia_build_iota(hia_builder *b, hia_build_value size) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_iota(b->draft, size.id));
}

hia_build_value hia_build_one_hot(hia_builder *b, hia_dtype dtype, hia_build_value index,
                                  hia_build_value size) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_one_hot(b->draft, (unsigned)dtype, index.id, size.id));
}

hia_build_value hia_build_expect(hia_builder *b, hia_build_value tensor,
                                 const hia_build_value *sizes, size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_expect(b->draft, tensor.id, ids(sizes), n));
}

hia_build_value hia_build_declare_param(hia_builder *b, const char *definition) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_declare_param(b->draft, definition));
}

hia_build_value hia_build_convert(hia_builder *b, hia_dtype dtype, hia_build_value value) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_convert(b->draft, (unsigned)dtype, value.id));
}

hia_build_value hia_build_call(hia_builder *b, hia_build_fn function, const hia_build_value *args,
                               size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_call(b->draft, function.id, ids(args), n));
}

hia_build_value hia_build_grad(hia_builder *b, hia_build_fn function, const hia_build_value *wrt,
                               size_t n_wrt, const hia_build_value *args, size_t n) {
  BUILD_ID(b, hia_build_value, 0,
           hiaF_draft_grad(b->draft, false, function.id, ids(wrt), n_wrt, ids(args), n));
}

hia_build_value hia_build_value_and_grad(hia_builder *b, hia_build_fn function,
                                         const hia_build_value *wrt, size_t n_wrt,
                                         const hia_build_value *args, size_t n) {
  BUILD_ID(b, hia_build_value, 0,
           hiaF_draft_grad(b->draft, true, function.id, ids(wrt), n_wrt, ids(args), n));
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

hia_build_value hia_build_data(hia_builder *b, hia_build_ctor ctor, const hia_build_value *fields,
                               size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_data(b->draft, ctor.id, ids(fields), n));
}

hia_build_value hia_build_array(hia_builder *b, const hia_build_value *elements, size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_array(b->draft, ids(elements), n));
}

hia_build_value hia_build_empty_array(hia_builder *b, hia_build_type type) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_empty_array(b->draft, type));
}

hia_build_value hia_build_len(hia_builder *b, hia_build_value array) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_len(b->draft, array.id));
}

hia_build_value hia_build_at(hia_builder *b, hia_build_value array, hia_build_value index) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_at(b->draft, array.id, index.id));
}

hia_build_value hia_build_slice(hia_builder *b, hia_build_value array, hia_build_value from,
                                hia_build_value end) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_slice(b->draft, array.id, from.id, end.id));
}

hia_build_value hia_build_set(hia_builder *b, hia_build_value array, hia_build_value index,
                              hia_build_value element) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_set(b->draft, array.id, index.id, element.id));
}

hia_build_value hia_build_concat(hia_builder *b, const hia_build_value *arrays, size_t n) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_concat(b->draft, ids(arrays), n));
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

hia_status hia_build_match(hia_builder *b, hia_build_value subject) {
  BUILD(b, hiaF_draft_match(b->draft, subject.id));
}

/* Where an arm cannot begin, its values are none. */
static hia_status bind_none(hia_status status, hia_build_value *bound, size_t n) {
  if (status != HIA_OK && bound)
    for (size_t i = 0; i < n && i < HIA_MAX_WORDS; i++) bound[i].id = 0;
  return status;
}

static hia_status begin_arm(hia_builder *b, const char *pattern, hia_build_value *bound, size_t n) {
  BUILD(b, hiaF_draft_arm(b->draft, pattern, (uint64_t *)bound, n));
}

static hia_status begin_arm_ctor(hia_builder *b, hia_build_ctor ctor, hia_build_value *bound,
                                 size_t n) {
  BUILD(b, hiaF_draft_arm_ctor(b->draft, ctor.id, (uint64_t *)bound, n));
}

static hia_status begin_arm_pattern(hia_builder *b, hia_build_pattern pattern,
                                    hia_build_value *bound, size_t n) {
  BUILD(b, hiaF_draft_arm_pattern(b->draft, pattern.id, (uint64_t *)bound, n));
}

hia_status hia_build_arm(hia_builder *b, const char *pattern, hia_build_value *bound, size_t n) {
  return bind_none(begin_arm(b, pattern, bound, n), bound, n);
}

hia_status hia_build_arm_ctor(hia_builder *b, hia_build_ctor ctor, hia_build_value *bound,
                              size_t n) {
  return bind_none(begin_arm_ctor(b, ctor, bound, n), bound, n);
}

hia_status hia_build_arm_pattern(hia_builder *b, hia_build_pattern pattern, hia_build_value *bound,
                                 size_t n) {
  return bind_none(begin_arm_pattern(b, pattern, bound, n), bound, n);
}

hia_status hia_build_end_arm(hia_builder *b, hia_build_value value) {
  BUILD(b, hiaF_draft_end_arm(b->draft, value.id));
}

hia_build_value hia_build_end_match(hia_builder *b) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_end_match(b->draft));
}

hia_build_pattern hia_build_pattern_any(hia_builder *b) {
  BUILD_ID(b, hia_build_pattern, 0, hiaF_draft_pattern_any(b->draft));
}

hia_build_pattern hia_build_pattern_bind(hia_builder *b, const char *name) {
  BUILD_ID(b, hia_build_pattern, 0, hiaF_draft_pattern_bind(b->draft, name));
}

hia_build_pattern hia_build_pattern_const(hia_builder *b, hia_build_value constant) {
  BUILD_ID(b, hia_build_pattern, 0, hiaF_draft_pattern_const(b->draft, constant.id));
}

hia_build_pattern hia_build_pattern_ctor(hia_builder *b, hia_build_ctor ctor,
                                         const hia_build_pattern *fields, size_t n) {
  BUILD_ID(b, hia_build_pattern, 0,
           hiaF_draft_pattern_ctor(b->draft, ctor.id, (const uint64_t *)fields, n));
}

hia_build_value hia_build_for_each(hia_builder *b, hia_build_value array) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_for_each(b->draft, array.id));
}

hia_build_value hia_build_for_range(hia_builder *b, hia_build_value from, hia_build_value end) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_for_range(b->draft, from.id, end.id));
}

hia_build_value hia_build_end_for(hia_builder *b, hia_build_value element) {
  BUILD_ID(b, hia_build_value, 0, hiaF_draft_end_for(b->draft, element.id));
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
  if (status != HIA_OK) return hiaR_fail_memory(allocator, error);
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
  const char *name = "";
  hia_draft_lack lack = hiaF_draft_unfinished(b->draft, &name);
  if (lack)
    return hiaJ_fail(allocator, error, HIA_REJECTED, NULL,
                     lack == HIA_DRAFT_LACKS_CTORS ? "the type '%.200s' has no constructors"
                     : lack == HIA_DRAFT_LACKS_END ? "the body of '%.200s' is not at its end"
                                                   : "'%.200s' is declared, and not defined",
                     name);
  hia_arena arena;
  hia_text text;
  hia_status status = to_text(b, &arena, &text, error);
  if (status == HIA_OK)
    status = hia_module_load_text(b->engine, b->name, text.data, text.len, module, error);
  hiaR_arena_free(&arena);
  return status;
}
