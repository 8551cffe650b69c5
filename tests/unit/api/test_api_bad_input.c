/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Bad input at the public API: null handles and pointers, handles that do not belong together,
 * wrong arguments, options of other versions. Each call returns a status with a message, or, if
 * the function returns no status, NULL, 0 or "". */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>
#include <hiaton/params.h>

#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char text[] = "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
                           "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
                           "fn swap(p: (i32, f64)) = (p.1, p.0)\n"
                           "fn zero() -> i64 = 0\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  hia_function *fib, *fact, *swap, *zero;
  hia_value *n; /* an i32 */
} world;

static void open_world(world *w, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "t", text, strlen(text), &w->module, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "fib", &w->fib, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "fact", &w->fact, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "swap", &w->swap, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "zero", &w->zero, NULL), HIA_OK);
  cr_assert_not_null(w->n = hia_value_i32(w->engine, 7));
}

static void close_world(world *w) {
  hia_value_free(w->n);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

/* The call with &error as its last argument must return this status and an error with these words;
 * with NULL there it must return the same. */
static hia_error *error;
static void expect(hia_status status, hia_status without, hia_status expected, const char *words,
                   int line) {
  cr_assert_eq(status, expected, "line %d: %s: %s", line, hia_status_word(status),
               hia_error_text(error));
  cr_assert_eq(without, expected, "line %d: without an error: %s", line, hia_status_word(without));
  cr_assert_not_null(error, "line %d: no error", line);
  cr_assert_eq(hia_error_status(error), expected, "line %d", line);
  cr_assert_eq(hia_error_count(error), 1, "line %d", line);
  cr_assert_neq(hia_error_message(error, 0)[0], 0, "line %d: no message", line);
  cr_assert_not_null(strstr(hia_error_text(error), words), "line %d: no '%s' in: %s", line, words,
                     hia_error_text(error));
  hia_error_free(error);
  error = NULL;
}
#define REFUSED(status, words, function, ...)                                                      \
  expect((function)(__VA_ARGS__, &error), (function)(__VA_ARGS__, NULL), status, words, __LINE__)

/* Grants memory, except blocks of impossible sizes, at which sanitizers end the program. */
static void *bounded_alloc(void *user, size_t size) {
  (void)user;
  return size > (size_t)1 << 32 ? NULL : malloc(size);
}
static void *bounded_resize(void *user, void *block, size_t old_size, size_t size) {
  (void)user, (void)old_size;
  return size > (size_t)1 << 32 ? NULL : realloc(block, size);
}
static void bounded_free(void *user, void *block, size_t size) {
  (void)user, (void)size;
  free(block);
}
static const hia_allocator bounded = {bounded_alloc, bounded_resize, bounded_free, NULL};

/* A structure with room behind it, as in a later header. */
#define LATER(type)                                                                                \
  struct {                                                                                         \
    type now;                                                                                      \
    unsigned char more[24];                                                                        \
  }

/* ---- missing arguments ---- */

Test(api_bad_input, null_engines_and_modules) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_module *module = w.module;
  hia_function *function = w.fib;
  REFUSED(HIA_ARGUMENT, "engine", hia_engine_new, NULL, NULL);
  REFUSED(HIA_ARGUMENT, "no engine", hia_engine_native, NULL);
  hia_engine_free(NULL);

  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_text, NULL, "t", text, strlen(text), &module);
  cr_assert_null(module, "on failure it is NULL");
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_ir, NULL, "t", text, strlen(text), &module);
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_file, NULL, "t", &module);
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_ir_file, NULL, "t", &module);
  REFUSED(HIA_ARGUMENT, "no text", hia_module_load_text, w.engine, "t", NULL, 1, &module);
  REFUSED(HIA_ARGUMENT, "no text", hia_module_load_ir, w.engine, "t", NULL, 1, &module);
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_expression, NULL, "t", text, 1, "1", &module);
  REFUSED(HIA_ARGUMENT, "no text", hia_module_load_expression, w.engine, "t", NULL, 1, "1",
          &module);
  REFUSED(HIA_ARGUMENT, "no expression", hia_module_load_expression, w.engine, "t", text, 1, NULL,
          &module);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_expression, w.engine, "t", text, 1,
          "1", NULL);
  REFUSED(HIA_ARGUMENT, "no path", hia_module_load_file, w.engine, NULL, &module);
  REFUSED(HIA_ARGUMENT, "no path", hia_module_load_ir_file, w.engine, NULL, &module);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_text, w.engine, "t", text, 1, NULL);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_ir, w.engine, "t", text, 1, NULL);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_file, w.engine, "/nonexistent",
          NULL);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_ir_file, w.engine, "/nonexistent",
          NULL);
  REFUSED(HIA_IO, "/nonexistent", hia_module_load_file, w.engine, "/nonexistent", &module);
  REFUSED(HIA_IO, "/nonexistent", hia_module_load_ir_file, w.engine, "/nonexistent", &module);
  REFUSED(HIA_IO, "/", hia_module_load_file, w.engine, "/", &module);
  REFUSED(HIA_REJECTED, "at most 256 MiB", hia_module_load_text, w.engine, "t", text, SIZE_MAX,
          &module);
  hia_module_free(NULL);
  /* No text of no length is an empty one, which is no program; no name is fine. */
  REFUSED(HIA_REJECTED, "E0", hia_module_load_text, w.engine, NULL, NULL, 0, &module);
  REFUSED(HIA_REJECTED, "E0", hia_module_load_ir, w.engine, NULL, NULL, 0, &module);

  REFUSED(HIA_ARGUMENT, "no module", hia_module_function, NULL, "f", &function);
  REFUSED(HIA_ARGUMENT, "no name", hia_module_function, w.module, NULL, &function);
  REFUSED(HIA_ARGUMENT, "place for the function", hia_module_function, w.module, "fib", NULL);
  REFUSED(HIA_ARGUMENT, "no module", hia_module_dump, NULL, NULL, 0, NULL, test_text_take, NULL);
  REFUSED(HIA_ARGUMENT, "no write function", hia_module_dump, w.module, NULL, 0, NULL, NULL, NULL);
  REFUSED(HIA_ARGUMENT, "no functions", hia_module_dump, w.module, NULL, 1, NULL, test_text_take,
          NULL);
  function = NULL;
  REFUSED(HIA_ARGUMENT, "function 1", hia_module_dump, w.module, &function, 1, NULL, test_text_take,
          NULL);
  close_world(&w);
}

Test(api_bad_input, null_functions_and_values) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *result = w.n, *none = NULL;
  hia_function *function;
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_str_eq(hia_function_name(NULL), "");
  cr_assert_str_eq(hia_function_signature(NULL), "");
  cr_assert_eq(hia_function_arity(NULL), 0);
  cr_assert_not(hia_function_is_generic(NULL));
  REFUSED(HIA_ARGUMENT, "no function", hia_function_instance, NULL, &w.n, 1, &function);
  REFUSED(HIA_ARGUMENT, "place for the function", hia_function_instance, w.fact, &w.n, 1, NULL);
  REFUSED(HIA_ARGUMENT, "no arguments", hia_function_instance, w.fact, NULL, 1, &function);
  REFUSED(HIA_ARGUMENT, "argument 1", hia_function_instance, w.fact, &none, 1, &function);
  const hia_type_info *no_type = NULL;
  REFUSED(HIA_ARGUMENT, "no function", hia_function_instance_of, NULL, &no_type, 1, &function);
  REFUSED(HIA_ARGUMENT, "place for the function", hia_function_instance_of, w.fact, &no_type, 1,
          NULL);
  REFUSED(HIA_ARGUMENT, "no arguments", hia_function_instance_of, w.fact, NULL, 1, &function);
  REFUSED(HIA_ARGUMENT, "argument 1 has no type", hia_function_instance_of, w.fact, &no_type, 1,
          &function);
  REFUSED(HIA_ARGUMENT, "no function", hia_function_prepare, NULL);
  cr_assert_eq(hia_function_get_stats(NULL, &stats), HIA_ARGUMENT);
  cr_assert_eq(hia_function_get_stats(w.fib, NULL), HIA_ARGUMENT);

  REFUSED(HIA_ARGUMENT, "no function", hia_call, NULL, &w.n, 1, &result);
  cr_assert_null(result);
  REFUSED(HIA_ARGUMENT, "no arguments", hia_call, w.fib, NULL, 1, &result);
  REFUSED(HIA_ARGUMENT, "argument 1", hia_call, w.fib, &none, 1, &result);
  REFUSED(HIA_ARGUMENT, "place for the result", hia_call, w.fib, &w.n, 1, NULL);
  REFUSED(HIA_ARGUMENT, "no function", hia_run, NULL, &w.n, 1, NULL, &result);
  REFUSED(HIA_ARGUMENT, "place for the result", hia_run, w.fib, &w.n, 1, NULL, NULL);

  REFUSED(HIA_ARGUMENT, "no function", hia_value_parse, NULL, 0, "1", &result);
  REFUSED(HIA_ARGUMENT, "no text", hia_value_parse, w.fib, 0, NULL, &result);
  REFUSED(HIA_ARGUMENT, "place for the value", hia_value_parse, w.fib, 0, "1", NULL);
  REFUSED(HIA_ARGUMENT, "no parameter number 2", hia_value_parse, w.fib, 1, "1", &result);
  REFUSED(HIA_ARGUMENT, "no parameter number", hia_value_parse, w.fib, SIZE_MAX, "1", &result);
  cr_assert_null(hia_value_bool(NULL, true));
  cr_assert_null(hia_value_i32(NULL, 1));
  cr_assert_null(hia_value_i64(NULL, 1));
  cr_assert_null(hia_value_f32(NULL, 1));
  cr_assert_null(hia_value_f64(NULL, 1));
  hia_value *parts[2] = {w.n, NULL};
  cr_assert_null(hia_value_tuple(NULL, parts, 2));
  cr_assert_null(hia_value_tuple(w.engine, NULL, 2));
  cr_assert_null(hia_value_tuple(w.engine, parts, 2));
  cr_assert_null(hia_value_tuple(w.engine, parts, 1));
  cr_assert_null(hia_value_tuple(w.engine, NULL, 0));
  cr_assert_null(hia_value_tuple(w.engine, parts, SIZE_MAX));
  hia_value_free(NULL);

  bool b = true;
  int32_t i32 = 1;
  int64_t i64 = 1;
  float f32 = 1;
  double f64 = 1;
  hia_dtype dtype = HIA_F64;
  cr_assert_eq(hia_value_get_bool(NULL, &b), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_i32(NULL, &i32), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_i64(NULL, &i64), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_f32(NULL, &f32), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_f64(NULL, &f64), HIA_ARGUMENT);
  cr_assert(!b && i32 == 0 && i64 == 0 && f32 == 0 && f64 == 0);
  cr_assert_eq(hia_value_get_bool(w.n, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_i32(w.n, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_i64(w.n, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_f32(w.n, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_get_f64(w.n, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_dtype(NULL, &dtype), HIA_ARGUMENT);
  cr_assert_eq(hia_value_dtype(w.n, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_len(NULL), 0);
  cr_assert_null(hia_value_part(NULL, 0));
  cr_assert_null(hia_value_part(w.n, 0));
  char buf[8] = "x";
  cr_assert_eq(hia_value_format(NULL, buf, sizeof buf), 0);
  cr_assert_str_eq(buf, "");
  cr_assert_eq(hia_value_format_type(NULL, NULL, 0), 0);
  cr_assert_eq(hia_value_format(w.n, NULL, 100), 1);
  cr_assert_eq(hia_value_format_type(w.n, NULL, 100), 3);
  close_world(&w);
}

Test(api_bad_input, fuel_of_entries) {
  world w;
  hia_native_fn entry = NULL;
  uint64_t left = 7;
  hia_context_set_fuel(NULL, 1);
  hia_context_clear_fuel(NULL);
  cr_assert_not(hia_context_fuel_left(NULL, &left));
  cr_assert_eq(left, 0);
  cr_assert_not(hia_context_fuel_left(NULL, NULL));
  open_world(&w, HIA_ENGINE_INTERP);
  REFUSED(HIA_ARGUMENT, "no function", hia_function_entry_with_fuel, NULL, &entry);
  REFUSED(HIA_ARGUMENT, "place for the entry", hia_function_entry_with_fuel, w.fib, NULL);
  REFUSED(HIA_ARGUMENT, "generic", hia_function_entry_with_fuel, w.fact, &entry);
  REFUSED(HIA_UNSUPPORTED, "no native code", hia_function_entry_with_fuel, w.fib, &entry);
  close_world(&w);
}

Test(api_bad_input, maps) {
  world w;
  hia_native_fn map = NULL;
  cr_assert_eq(hia_context_rows(NULL), 0);
  open_world(&w, HIA_ENGINE_INTERP);
  REFUSED(HIA_ARGUMENT, "no function", hia_function_map, NULL, &map);
  REFUSED(HIA_ARGUMENT, "place for the entry", hia_function_map, w.fib, NULL);
  REFUSED(HIA_ARGUMENT, "generic", hia_function_map, w.fact, &map);
  REFUSED(HIA_UNSUPPORTED, "no native code", hia_function_map, w.fib, &map);
  REFUSED(HIA_ARGUMENT, "no function", hia_function_map_with_fuel, NULL, &map);
  REFUSED(HIA_ARGUMENT, "place for the entry", hia_function_map_with_fuel, w.fib, NULL);
  close_world(&w);
}

Test(api_bad_input, null_inspections) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_function *function = w.fib;
  const hia_dtype *dtypes = &(const hia_dtype){HIA_F64}, none = HIA_F64;
  hia_dtype dtype = HIA_F64;
  char buf[8] = "x";
  cr_assert_eq(hia_module_function_count(NULL), 0);
  REFUSED(HIA_ARGUMENT, "no module", hia_module_function_at, NULL, 0, &function);
  cr_assert_null(function);
  REFUSED(HIA_ARGUMENT, "place for the function", hia_module_function_at, w.module, 0, NULL);
  REFUSED(HIA_NOT_FOUND, "has 4", hia_module_function_at, w.module, SIZE_MAX, &function);
  cr_assert_str_eq(hia_function_param_name(NULL, 0), "");
  cr_assert_str_eq(hia_function_param_name(w.fib, SIZE_MAX), "");
  cr_assert_null(hia_function_param_type(NULL, 0));
  cr_assert_null(hia_function_param_type(w.fib, SIZE_MAX));
  cr_assert_null(hia_function_result_type(NULL));
  cr_assert_not(hia_function_is_impure(NULL));
  cr_assert_not(hia_function_can_have_fuel(NULL));
  cr_assert_eq(hia_function_entry_params(NULL, &dtypes), 0);
  cr_assert_null(dtypes);
  cr_assert_eq(hia_function_entry_params(NULL, NULL), 0);
  cr_assert_eq(hia_function_entry_results(NULL, &dtypes), 0);
  cr_assert_eq(hia_function_entry_results(NULL, NULL), 0);
  REFUSED(HIA_ARGUMENT, "no function", hia_function_check_entry, NULL, &none, 1, &none, 1);
  REFUSED(HIA_ARGUMENT, "no dtypes", hia_function_check_entry, w.fib, NULL, 1, &none, 1);
  REFUSED(HIA_ARGUMENT, "no dtypes", hia_function_check_entry, w.fib, &none, 1, NULL, 1);
  cr_assert_eq(hia_type_info_kind(NULL), HIA_KIND_NONE);
  cr_assert_eq(hia_type_info_dtype(NULL, &dtype), HIA_ARGUMENT);
  cr_assert_eq(dtype, HIA_BOOL);
  cr_assert_eq(hia_type_info_dtype(hia_function_result_type(w.fib), NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_type_info_len(NULL), 0);
  cr_assert_null(hia_type_info_part(NULL, 0));
  cr_assert_eq(hia_type_info_scalars(NULL, &dtypes), 0);
  cr_assert_eq(hia_type_info_scalars(NULL, NULL), 0);
  cr_assert_not(hia_type_info_is_same(NULL, NULL));
  cr_assert_not(hia_type_info_is_same(hia_function_result_type(w.fib), NULL));
  cr_assert_eq(hia_type_info_format(NULL, buf, sizeof buf), 0);
  cr_assert_str_eq(buf, "");
  cr_assert_eq(hia_type_info_format(NULL, NULL, 0), 0);
  cr_assert_null(hia_module_params(NULL));
  cr_assert_null(hia_engine_allocator(NULL));
  cr_assert_eq(hia_params_count(hia_module_params(w.module)), 0);
  cr_assert_str_eq(hia_params_name(hia_module_params(w.module), 0), "");
  cr_assert_eq(hia_params_find(hia_module_params(w.module), NULL), 0);
  cr_assert_null(hia_module_param_type(NULL, 0));
  cr_assert_null(hia_module_param_type(w.module, 0));
  cr_assert_null(hia_params_dims(hia_module_params(w.module), 0));
  hia_value *of_param = NULL;
  REFUSED(HIA_ARGUMENT, "no module", hia_module_param, NULL, 0, &of_param);
  REFUSED(HIA_NOT_FOUND, "has 0", hia_module_param, w.module, 0, &of_param);
  REFUSED(HIA_ARGUMENT, "no module", hia_module_set_param, NULL, 0, NULL);
  REFUSED(HIA_NOT_FOUND, "has 0", hia_module_set_param, w.module, 0, NULL);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_seed, NULL, 0);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_load, NULL, "x");
  REFUSED(HIA_ARGUMENT, "no path", hia_params_load, hia_module_params(w.module), NULL);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_convert, NULL, "x");
  REFUSED(HIA_ARGUMENT, "no path", hia_params_convert, hia_module_params(w.module), NULL);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_save, NULL, "x");
  REFUSED(HIA_ARGUMENT, "no path", hia_params_save, hia_module_params(w.module), NULL);
  cr_assert_eq(hia_params_count(NULL), 0);
  cr_assert_str_eq(hia_params_name(NULL, 0), "");
  cr_assert_eq(hia_params_find(NULL, "W"), 0);
  hia_dtype of_params = HIA_F64;
  cr_assert(hia_params_dtype(NULL, 0, &of_params) == HIA_ARGUMENT && of_params == HIA_BOOL);
  cr_assert_eq(hia_params_dtype(NULL, 0, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_params_rank(NULL, 0), 0);
  cr_assert_null(hia_params_dims(NULL, 0));
  cr_assert_eq(hia_params_size(NULL, 0), 0);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_get, NULL, 0, &of_params, 4);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_set, NULL, 0, HIA_F32, 0, NULL, NULL);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_seed, NULL, 0);
  REFUSED(HIA_ARGUMENT, "no params", hia_params_load, NULL, "x");
  REFUSED(HIA_ARGUMENT, "no params", hia_params_convert, NULL, "x");
  REFUSED(HIA_ARGUMENT, "no params", hia_params_save, NULL, "x");
  hia_params_reset(NULL);
  cr_assert_eq(hia_module_extern_count(NULL), 0);
  cr_assert_null(hia_module_extern(NULL, 0));
  cr_assert_null(hia_module_extern(w.module, 0));
  cr_assert_str_eq(hia_extern_name(NULL), "");
  cr_assert_str_eq(hia_extern_declaration(NULL), "");
  cr_assert_eq(hia_extern_arity(NULL), 0);
  cr_assert_str_eq(hia_extern_param_name(NULL, 0), "");
  cr_assert_null(hia_extern_param_type(NULL, 0));
  cr_assert_null(hia_extern_result_type(NULL));
  cr_assert_not(hia_extern_is_impure(NULL));
  cr_assert_not(hia_extern_is_bound(NULL));
  close_world(&w);
}

Test(api_bad_input, null_errors_timelines_and_cancels) {
  cr_assert_eq(hia_error_status(NULL), HIA_OK);
  cr_assert_str_eq(hia_error_text(NULL), "");
  cr_assert_eq(hia_error_count(NULL), 0);
  cr_assert_str_eq(hia_error_code(NULL, 0), "");
  cr_assert_str_eq(hia_error_message(NULL, 0), "");
  cr_assert_str_eq(hia_error_hint(NULL, 0), "");
  cr_assert_str_eq(hia_error_file(NULL, 0), "");
  cr_assert_eq(hia_error_line(NULL, 0), 0);
  cr_assert_eq(hia_error_col(NULL, 0), 0);
  cr_assert_eq(hia_error_end_col(NULL, 0), 0);
  cr_assert_eq(hia_error_note_count(NULL, 0), 0);
  cr_assert_not(hia_error_note(NULL, 0, 0, NULL, NULL, NULL, NULL));
  cr_assert_not(hia_error_fix(NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL));
  cr_assert_eq(hia_error_n_left_out(NULL), 0);
  cr_assert_eq(hia_error_fail_code(NULL), 0);
  int64_t length = 1;
  cr_assert_not(hia_error_range(NULL, NULL, NULL, NULL, &length));
  cr_assert_eq(length, 0);
  cr_assert_eq(hia_error_chain_length(NULL), 0);
  cr_assert_not(hia_error_chain_is_cut(NULL));
  cr_assert_not(hia_error_chain_entry(NULL, 0, NULL, NULL, NULL, NULL));
  cr_assert_eq(hia_error_chain_elements(NULL, 0, NULL, 0), 0);
  hia_error_free(NULL);

  hia_timeline *timeline = hia_timeline_new(NULL, 1);
  REFUSED(HIA_ARGUMENT, "no timeline", hia_timeline_write, NULL, test_text_take, NULL);
  REFUSED(HIA_ARGUMENT, "no write function", hia_timeline_write, timeline, NULL, NULL);
  hia_timeline_free(timeline);
  cr_assert_eq(hia_timeline_dropped(NULL), 0);
  hia_timeline_free(NULL);
  /* More events than there is memory for: that shows when a run has some to write down. */
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeline = hia_timeline_new(&bounded, SIZE_MAX);
  cr_assert_not_null(options.timeline);
  hia_value *result;
  hia_status status = hia_run(w.fib, &w.n, 1, &options, &result, NULL);
  cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s", hia_status_word(status));
  hia_value_free(result);
  hia_timeline_free(options.timeline);
  close_world(&w);

  hia_cancel_request(NULL);
  hia_cancel_reset(NULL);
  hia_cancel_free(NULL);
  cr_assert_not(hia_cancel_is_requested(NULL));
  hia_cancel *cancel = hia_cancel_new(NULL);
  cr_assert_not_null(cancel);
  hia_cancel_free(cancel);

  cr_assert_not_null(hia_status_word((hia_status)-1));
  cr_assert_not_null(hia_status_message((hia_status)12345));
  cr_assert_null(hia_pass_name(SIZE_MAX));
  cr_assert_null(hia_pass_doc(SIZE_MAX));
}

Test(api_bad_input, null_builders) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_builder *b = NULL;
  hia_module *module = w.module;
  hia_build_value x = {0}, two[2] = {{0}, {0}};
  hia_build_fn f = {0};
  hia_build_type types[2] = {HIA_I32, HIA_I32};
  REFUSED(HIA_ARGUMENT, "engine", hia_builder_new, NULL, "b", &b);
  cr_assert_null(b);
  REFUSED(HIA_ARGUMENT, "place", hia_builder_new, w.engine, "b", NULL);
  REFUSED(HIA_ARGUMENT, "builder", hia_builder_finish, NULL, &module);
  cr_assert_null(module);
  REFUSED(HIA_ARGUMENT, "builder", hia_builder_print, NULL, test_text_take, NULL);
  cr_assert_eq(hia_builder_status(NULL), HIA_ARGUMENT);
  cr_assert_null(hia_builder_error(NULL));
  cr_assert_eq(hia_build_tuple_type(NULL, types, 2), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_type_of(NULL, x), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_declare(NULL, "f() -> i32").id, 0);
  cr_assert_eq(hia_build_declare_types(NULL, "f", types, 2, HIA_I32).id, 0);
  cr_assert_eq(hia_build_begin(NULL, f), HIA_ARGUMENT);
  cr_assert_eq(hia_build_param(NULL, f, 0).id, 0);
  cr_assert_eq(hia_build_return(NULL, x), HIA_ARGUMENT);
  cr_assert_eq(hia_build_bool(NULL, true).id, 0);
  cr_assert_eq(hia_build_i32(NULL, 1).id, 0);
  cr_assert_eq(hia_build_i64(NULL, 1).id, 0);
  cr_assert_eq(hia_build_f32(NULL, 1).id, 0);
  cr_assert_eq(hia_build_f64(NULL, 1).id, 0);
  cr_assert_eq(hia_build_op(NULL, HIA_OPCODE_ADD, two, 2).id, 0);
  cr_assert_eq(hia_build_convert(NULL, HIA_I64, x).id, 0);
  cr_assert_eq(hia_build_call(NULL, f, &x, 1).id, 0);
  cr_assert_eq(hia_build_grad(NULL, f, &x, 1, &x, 1).id, 0);
  cr_assert_eq(hia_build_value_and_grad(NULL, f, &x, 1, &x, 1).id, 0);
  cr_assert_eq(hia_build_fail(NULL, x, HIA_I32).id, 0);
  cr_assert_eq(hia_build_tuple(NULL, two, 2).id, 0);
  cr_assert_eq(hia_build_part(NULL, x, 0).id, 0);
  cr_assert_eq(hia_build_name(NULL, x, "x").id, 0);
  cr_assert_eq(hia_build_if(NULL, x), HIA_ARGUMENT);
  cr_assert_eq(hia_build_else(NULL, x), HIA_ARGUMENT);
  cr_assert_eq(hia_build_end_if(NULL, x).id, 0);
  cr_assert_eq(hia_build_loop(NULL, &x, 1, two), HIA_ARGUMENT);
  cr_assert_eq(hia_build_while(NULL, x), HIA_ARGUMENT);
  cr_assert_eq(hia_build_end_loop(NULL, &x, 1).id, 0);
  hia_build_ctor ctor = {0};
  hia_build_pattern pattern = {0};
  const hia_build_field field = {"x", HIA_I32};
  cr_assert_eq(hia_build_array_type(NULL, HIA_I32), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_tensor_type(NULL, HIA_I32, 1), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_read_type(NULL, "i32"), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_declare_type(NULL, "T = A"), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_add_ctor(NULL, 0, "A", &field, 1).id, 0);
  cr_assert_eq(hia_build_find_ctor(NULL, "A").id, 0);
  cr_assert_eq(hia_build_data(NULL, ctor, &x, 1).id, 0);
  cr_assert_eq(hia_build_array(NULL, two, 2).id, 0);
  cr_assert_eq(hia_build_empty_array(NULL, HIA_I32).id, 0);
  cr_assert_eq(hia_build_len(NULL, x).id, 0);
  cr_assert_eq(hia_build_at(NULL, x, x).id, 0);
  cr_assert_eq(hia_build_slice(NULL, x, x, x).id, 0);
  cr_assert_eq(hia_build_set(NULL, x, x, x).id, 0);
  cr_assert_eq(hia_build_concat(NULL, two, 2).id, 0);
  cr_assert_eq(hia_build_match(NULL, x), HIA_ARGUMENT);
  cr_assert_eq(hia_build_arm(NULL, "x", two, 1), HIA_ARGUMENT);
  cr_assert_eq(hia_build_arm_ctor(NULL, ctor, two, 2), HIA_ARGUMENT);
  cr_assert_eq(hia_build_arm_pattern(NULL, pattern, two, 2), HIA_ARGUMENT);
  cr_assert_eq(hia_build_end_arm(NULL, x), HIA_ARGUMENT);
  cr_assert_eq(hia_build_end_match(NULL).id, 0);
  cr_assert_eq(hia_build_pattern_any(NULL).id, 0);
  cr_assert_eq(hia_build_pattern_bind(NULL, "x").id, 0);
  cr_assert_eq(hia_build_pattern_const(NULL, x).id, 0);
  cr_assert_eq(hia_build_pattern_ctor(NULL, ctor, &pattern, 1).id, 0);
  cr_assert_eq(hia_build_for_each(NULL, x).id, 0);
  cr_assert_eq(hia_build_for_range(NULL, x, x).id, 0);
  cr_assert_eq(hia_build_end_for(NULL, x).id, 0);
  hia_builder_free(NULL);

  /* Missing arrays and texts are mistakes like others: after each the builder is out of
   * service, with a message. */
  for (int i = 0; i < 11; i++) {
    cr_assert_eq(hia_builder_new(w.engine, NULL, &b, NULL), HIA_OK);
    hia_build_fn g = hia_build_declare(b, "g(n: i32) -> i32");
    cr_assert_eq(hia_build_begin(b, g), HIA_OK);
    hia_build_value n = hia_build_param(b, g, 0);
    cr_assert_neq(n.id, 0);
    switch (i) {
    case 0: cr_assert_eq(hia_build_tuple_type(b, NULL, 2), HIA_BUILD_NO_TYPE); break;
    case 1: cr_assert_eq(hia_build_declare(b, NULL).id, 0); break;
    case 2: cr_assert_eq(hia_build_declare_types(b, NULL, types, 2, HIA_I32).id, 0); break;
    case 3: cr_assert_eq(hia_build_declare_types(b, "h", NULL, 2, HIA_I32).id, 0); break;
    case 4: cr_assert_eq(hia_build_op(b, HIA_OPCODE_ADD, NULL, 2).id, 0); break;
    case 5: cr_assert_eq(hia_build_op(b, (hia_opcode)12345, two, 2).id, 0); break;
    case 6: cr_assert_eq(hia_build_call(b, g, NULL, 1).id, 0); break;
    case 7: cr_assert_eq(hia_build_tuple(b, NULL, 2).id, 0); break;
    case 8: cr_assert_eq(hia_build_loop(b, NULL, 1, two), HIA_ARGUMENT); break;
    case 9: cr_assert_eq(hia_build_loop(b, &n, 1, NULL), HIA_ARGUMENT); break;
    case 10: cr_assert_eq(hia_build_convert(b, (hia_dtype)77, n).id, 0); break;
    }
    cr_assert_eq(hia_builder_status(b), HIA_ARGUMENT, "mistake %d", i);
    cr_assert_neq(hia_error_message(hia_builder_error(b), 0)[0], 0, "mistake %d", i);
    cr_assert_eq(hia_builder_finish(b, &module, NULL), HIA_ARGUMENT, "mistake %d", i);
    hia_builder_free(b);
  }
  close_world(&w);
}

static hia_status failing(int32_t x, int32_t *result) {
  *result = x;
  return HIA_HOST;
}

Test(api_bad_input, host_functions) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_host_function function = HIA_HOST_FUNCTION_INIT;
  function.declaration = "extern fn failing(x: i32) -> i32";
  function.function = (void (*)(void))failing;
  function.returns_status = true;
  REFUSED(HIA_ARGUMENT, "engine", hia_engine_register, NULL, &function);
  REFUSED(HIA_ARGUMENT, "", hia_engine_register, w.engine, NULL);
  LATER(hia_host_function) later = {.now = function};
  later.now.size = sizeof later;
  later.more[3] = 1;
  REFUSED(HIA_ARGUMENT, "version", hia_engine_register, w.engine, &later.now);
  later.now.size = SIZE_MAX;
  REFUSED(HIA_ARGUMENT, "version", hia_engine_register, w.engine, &later.now);
  hia_host_function bad = function;
  bad.function = NULL;
  REFUSED(HIA_ARGUMENT, "", hia_engine_register, w.engine, &bad);
  bad = function;
  static const char *const declarations[] = {NULL,
                                             "",
                                             "failing",
                                             "fn f(x: i32) -> i32 = x",
                                             "extern fn f(x: i33) -> i32",
                                             "extern fn f(x) -> i32"};
  for (size_t i = 0; i < sizeof declarations / sizeof declarations[0]; i++) {
    bad.declaration = declarations[i];
    cr_assert_eq(hia_engine_register(w.engine, &bad, &error), HIA_ARGUMENT, "declaration %zu", i);
    cr_assert_neq(hia_error_text(error)[0], 0);
    hia_error_free(error);
    error = NULL;
  }
  cr_assert_eq(hia_engine_register(w.engine, &function, &error), HIA_OK);
  REFUSED(HIA_ARGUMENT, "failing", hia_engine_register, w.engine, &function); /* twice */
  hia_module *module;
  static const char undeclared[] = "extern fn nosuch(x: i32) -> i32\nfn f(x: i32) = nosuch(x)\n";
  cr_assert_neq(
      hia_module_load_text(w.engine, "t", undeclared, strlen(undeclared), &module, &error), HIA_OK);
  cr_assert_not_null(strstr(hia_error_text(error), "nosuch"));
  hia_error_free(error);
  error = NULL;
  close_world(&w);
}

/* An allocator lacks one of its functions. */
Test(api_bad_input, incomplete_allocators) {
  for (int missing = 0; missing < 3; missing++) {
    test_heap heap;
    test_heap_init(&heap, -1);
    if (missing == 0) heap.allocator.alloc = NULL;
    if (missing == 1) heap.allocator.resize = NULL;
    if (missing == 2) heap.allocator.free = NULL;
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.allocator = &heap.allocator;
    hia_engine *engine;
    REFUSED(HIA_ARGUMENT, "allocator", hia_engine_new, &options, &engine);
    cr_assert_null(hia_cancel_new(&heap.allocator));
    cr_assert_null(hia_timeline_new(&heap.allocator, 1));
  }
}

/* ---- handles that do not belong together ---- */

/* Values are data, whose engine only provides their memory. Functions and modules are not. */
Test(api_bad_input, handles_of_another_engine) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    world one, other;
    open_world(&one, kinds[k]);
    open_world(&other, HIA_ENGINE_INTERP);
    if (kinds[k] == HIA_ENGINE_JIT && hia_engine_native(one.engine, NULL) != HIA_OK) {
      close_world(&one);
      close_world(&other);
      continue;
    }
    hia_value *result, *parts[2] = {other.n, one.n}, *pair;
    hia_function *instance;
    int32_t x;
    cr_assert_eq(hia_call(one.fib, &other.n, 1, &result, NULL), HIA_OK);
    cr_assert_eq(hia_value_get_i32(result, &x), HIA_OK);
    cr_assert_eq(x, 21);
    hia_value_free(result);
    cr_assert_eq(hia_function_instance(one.fact, &other.n, 1, &instance, NULL), HIA_OK);
    cr_assert_str_eq(hia_function_name(instance), "fact(i32)");
    cr_assert_not_null(pair = hia_value_tuple(one.engine, parts, 2));
    /* What it is made of may be gone. */
    REFUSED(HIA_ARGUMENT, "function 1 is not of this module", hia_module_dump, one.module,
            &other.fib, 1, NULL, test_text_take, NULL);
    close_world(&other);
    char buf[16];
    hia_value_format(pair, buf, sizeof buf);
    cr_assert_str_eq(buf, "(7, 7)");
    hia_value_free(pair);
    close_world(&one);
  }
}

/* ---- arguments that do not fit ---- */

Test(api_bad_input, arguments_that_do_not_fit) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *result;
  hia_function *function;
  hia_value *two[2] = {w.n, w.n};
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not 0", hia_call, w.fib, NULL, 0, &result);
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not 2", hia_call, w.fib, two, 2, &result);
  REFUSED(HIA_ARGUMENT, "takes 0 arguments, not 1", hia_call, w.zero, two, 1, &result);
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not", hia_call, w.fib, two, SIZE_MAX, &result);
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not 2", hia_function_instance, w.fact, two, 2,
          &function);
  hia_value *others[] = {hia_value_bool(w.engine, true), hia_value_i64(w.engine, 7),
                         hia_value_f32(w.engine, 7), hia_value_f64(w.engine, 7),
                         hia_value_tuple(w.engine, two, 2)};
  static const char *const types[] = {"type bool", "type i64", "type f32", "type f64",
                                      "type (i32, i32)"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    cr_assert_not_null(others[i]);
    REFUSED(HIA_ARGUMENT, types[i], hia_call, w.fib, &others[i], 1, &result);
    REFUSED(HIA_ARGUMENT, types[i], hia_run, w.swap, &others[i], 1, NULL, &result);
    hia_status status = hia_value_get_i32(others[i], &(int32_t){0});
    cr_assert_eq(status, HIA_ARGUMENT);
    hia_value_free(others[i]);
  }
  REFUSED(HIA_ARGUMENT, "type i32", hia_call, w.swap, &w.n, 1, &result);
  /* The types fit, the body does not. */
  hia_value *yes = hia_value_bool(w.engine, true);
  hia_status status = hia_call(w.fact, &yes, 1, &result, &error);
  cr_assert_eq(status, HIA_REJECTED);
  cr_assert_geq(hia_error_count(error), 1);
  hia_error_free(error);
  hia_value_free(yes);
  REFUSED(HIA_ARGUMENT, "generic", hia_function_prepare, w.fact);
  /* Everything still works. */
  cr_assert_eq(hia_call(w.fib, &w.n, 1, &result, NULL), HIA_OK);
  hia_value_free(result);
  close_world(&w);
}

/* ---- options of other versions ---- */

Test(api_bad_input, engine_options_of_other_versions) {
  LATER(hia_engine_options) later = {.now = HIA_ENGINE_OPTIONS_INIT};
  hia_engine *engine;
  later.now.size = sizeof later;
  cr_assert_eq(hia_engine_new(&later.now, &engine, &error), HIA_OK);
  hia_engine_free(engine);
  for (size_t i = 0; i < sizeof later.more; i++) {
    later.more[i] = 1;
    REFUSED(HIA_ARGUMENT, "another version", hia_engine_new, &later.now, &engine);
    cr_assert_null(engine);
    later.more[i] = 0;
  }
  /* Sizes that no version has: the bytes behind are not read. */
  for (size_t size = 0; size < sizeof later; size++) {
    if (size && size % sizeof(size_t) == 0) continue; /* others cut a field in two */
    later.now.size = size;
    REFUSED(HIA_ARGUMENT, "another version", hia_engine_new, &later.now, &engine);
  }
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert_neq(pages, MAP_FAILED);
  cr_assert_eq(mprotect(pages + page, page, PROT_NONE), 0);
  hia_engine_options *last = (hia_engine_options *)(void *)(pages + page) - 1;
  *last = later.now;
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 40};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    last->size = sizes[i];
    REFUSED(HIA_ARGUMENT, "another version", hia_engine_new, last, &engine);
  }
  munmap(pages, 2 * page);
  /* Fields that an earlier header lacks have their defaults, whatever the bytes there are. */
  hia_engine_options earlier = HIA_ENGINE_OPTIONS_INIT;
  memset((char *)&earlier + offsetof(hia_engine_options, kind), 0xee,
         sizeof earlier - offsetof(hia_engine_options, kind));
  earlier.size = offsetof(hia_engine_options, kind);
  cr_assert_eq(earlier.size % sizeof(size_t), 0);
  cr_assert_eq(hia_engine_new(&earlier, &engine, &error), HIA_OK, "%s", hia_error_text(error));
  hia_engine_free(engine);
  earlier.size = sizeof(size_t);
  cr_assert_eq(hia_engine_new(&earlier, &engine, &error), HIA_OK);
  hia_engine_free(engine);
}

Test(api_bad_input, run_options_of_other_versions) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *result;
  LATER(hia_run_options) later = {.now = HIA_RUN_OPTIONS_INIT};
  later.now.size = sizeof later;
  cr_assert_eq(hia_run(w.fib, &w.n, 1, &later.now, &result, &error), HIA_OK);
  hia_value_free(result);
  later.more[sizeof later.more - 1] = 1;
  REFUSED(HIA_ARGUMENT, "another version", hia_run, w.fib, &w.n, 1, &later.now, &result);
  later.now.size = 3;
  REFUSED(HIA_ARGUMENT, "another version", hia_run, w.fib, &w.n, 1, &later.now, &result);
  later.now.size = SIZE_MAX;
  REFUSED(HIA_ARGUMENT, "another version", hia_run, w.fib, &w.n, 1, &later.now, &result);
  hia_run_options earlier = HIA_RUN_OPTIONS_INIT;
  memset((char *)&earlier + sizeof(size_t), 0xee, sizeof earlier - sizeof(size_t));
  earlier.size = sizeof(size_t);
  cr_assert_eq(hia_run(w.fib, &w.n, 1, &earlier, &result, &error), HIA_OK);
  hia_value_free(result);

  /* Statistics are written only as far as the structure reaches. */
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  LATER(hia_run_stats) stats = {.now = HIA_RUN_STATS_INIT};
  memset(stats.more, 0xee, sizeof stats.more);
  options.stats = &stats.now;
  stats.now.size = sizeof stats;
  cr_assert_eq(hia_run(w.fib, &w.n, 1, &options, &result, &error), HIA_OK);
  hia_value_free(result);
  cr_assert_gt(stats.now.firings, 0);
  cr_assert_eq(stats.now.size, sizeof stats);
  for (size_t i = 0; i < sizeof stats.more; i++) cr_assert_eq(stats.more[i], 0xee);
  for (size_t size = 0; size < sizeof(size_t); size++) {
    stats.now.size = size;
    REFUSED(HIA_ARGUMENT, "HIA_RUN_STATS_INIT", hia_run, w.fib, &w.n, 1, &options, &result);
  }
  static const size_t sizes[] = {sizeof(size_t), offsetof(hia_run_stats, firings)};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    stats.now.size = sizes[i];
    stats.now.firings = 12345;
    cr_assert_eq(hia_run(w.fib, &w.n, 1, &options, &result, &error), HIA_OK);
    hia_value_free(result);
    cr_assert_eq(stats.now.firings, 12345, "size %zu", sizes[i]);
    cr_assert_eq(stats.now.size, sizes[i]);
  }
  LATER(hia_function_stats) cost = {.now = HIA_FUNCTION_STATS_INIT};
  memset(cost.more, 0xee, sizeof cost.more);
  cost.now.size = sizeof cost;
  cr_assert_eq(hia_function_get_stats(w.fib, &cost.now), HIA_OK);
  cr_assert_gt(cost.now.nodes, 0);
  for (size_t i = 0; i < sizeof cost.more; i++) cr_assert_eq(cost.more[i], 0xee);
  cost.now.size = 3;
  cr_assert_eq(hia_function_get_stats(w.fib, &cost.now), HIA_ARGUMENT);
  close_world(&w);
}

Test(api_bad_input, dump_options_of_other_versions) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  LATER(hia_dump_options) later = {.now = HIA_DUMP_OPTIONS_INIT};
  test_text t = {0};
  later.now.size = sizeof later;
  cr_assert_eq(hia_module_dump(w.module, NULL, 0, &later.now, test_text_take, &t, &error), HIA_OK);
  cr_assert_gt(t.len, 0);
  test_text_free(&t);
  later.more[0] = 1;
  REFUSED(HIA_ARGUMENT, "another version", hia_module_dump, w.module, NULL, 0, &later.now,
          test_text_take, &t);
  later.more[0] = 0;
  later.now.stage = (hia_stage)77;
  REFUSED(HIA_ARGUMENT, "no stage", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take,
          &t);
  later.now.stage = HIA_STAGE_STATIC;
  later.now.format = (hia_format)77;
  REFUSED(HIA_ARGUMENT, "DOT", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take, &t);
  later.now.format = HIA_FORMAT_TEXT;
  later.now.stage = HIA_STAGE_GRAPH;
  later.now.after = "nosuch";
  REFUSED(HIA_ARGUMENT, "no pass", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take,
          &t);
  later.now.after = "";
  REFUSED(HIA_ARGUMENT, "no pass", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take,
          &t);
  close_world(&w);
}

/* ---- every function is tried ---- */

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  cr_assert_not_null(file, "%s", path);
  size_t len = 0, size = 1 << 20;
  char *bytes = malloc(size);
  cr_assert_not_null(bytes);
  len = fread(bytes, 1, size - 1, file);
  cr_assert_lt(len, size - 1, "%s is longer than was thought", path);
  bytes[len] = 0;
  fclose(file);
  return bytes;
}

static bool has_suffix(const char *name, const char *suffix) {
  size_t n = strlen(name), k = strlen(suffix);
  return n > k && strcmp(name + n - k, suffix) == 0;
}

/* The files of a folder with this ending, all in one text. */
static char *read_folder(const char *folder, const char *suffix) {
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir, "%s", folder);
  char *all = calloc(1, 1), path[4096];
  size_t len = 0;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (!has_suffix(e->d_name, suffix)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    char *bytes = read_file(path);
    size_t n = strlen(bytes);
    all = realloc(all, len + n + 1);
    cr_assert_not_null(all);
    memcpy(all + len, bytes, n + 1);
    len += n;
    free(bytes);
  }
  closedir(dir);
  return all;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* True if it is called, or passed to REFUSED, with a NULL among the arguments. */
static bool is_tried(const char *tests, const char *name) {
  size_t len = strlen(name);
  for (const char *at = tests; (at = strstr(at, name)) != NULL; at += len) {
    if (is_word(at[len]) || (at > tests && is_word(at[-1]))) continue;
    if (at[len] != '(' && at[len] != ',') continue;
    const char *end = strchr(at, ';'), *null = strstr(at, "NULL");
    if (end && null && null < end) return true;
  }
  return false;
}

/* For every function of the public headers that takes a pointer some unit test passes NULL. */
Test(api_bad_input, every_function_is_tried) {
  char *headers = read_folder(HIA_SOURCE_DIR "/include/hiaton", ".h");
  char *tests[] = {read_folder(HIA_TEST_DIR "/unit/api", ".c"),
                   read_folder(HIA_TEST_DIR "/unit/engine", ".c"),
                   read_folder(HIA_TEST_DIR "/unit/frontend", ".c"),
                   read_folder(HIA_TEST_DIR "/unit/runtime", ".c")};
  unsigned n = 0;
  for (const char *at = headers; (at = strstr(at, "\nHIA_API ")) != NULL;) {
    at += strlen("\nHIA_API ");
    const char *open = strchr(at, '('), *end = strchr(at, ';');
    cr_assert(open && end && open < end);
    const char *start = open;
    while (start > at && is_word(start[-1])) start--;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(open - start), start);
    n++;
    const char *star = strchr(open, '*');
    bool tried = !star || star > end;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
      tried = tried || is_tried(tests[i], name);
    cr_assert(tried, "no unit test gives NULL to %s", name);
  }
  cr_assert_gt(n, 50);
  free(headers);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) free(tests[i]);
}
