/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Bad input at the public API: null handles and pointers. Each call returns a status with a
 * message, or, if the function returns no status, NULL, 0 or "". */
#include "tests/unit/helpers/api_bad_input.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/params.h>

#include <stdlib.h>

Test(api_bad_input, null_engines_and_modules) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_module *module = w.module;
  hia_function *function = w.fib;
  REFUSED(HIA_ARGUMENT, "engine", hia_engine_new, NULL, NULL);
  REFUSED(HIA_ARGUMENT, "no engine", hia_engine_native, NULL);
  hia_engine_free(NULL);

  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_text, NULL, "t", module_text,
          strlen(module_text), &module);
  cr_assert_null(module, "on failure it is NULL");
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_ir, NULL, "t", module_text,
          strlen(module_text), &module);
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_file, NULL, "t", &module);
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_ir_file, NULL, "t", &module);
  REFUSED(HIA_ARGUMENT, "no text", hia_module_load_text, w.engine, "t", NULL, 1, &module);
  REFUSED(HIA_ARGUMENT, "no text", hia_module_load_ir, w.engine, "t", NULL, 1, &module);
  REFUSED(HIA_ARGUMENT, "no engine", hia_module_load_expression, NULL, "t", module_text, 1, "1",
          &module);
  REFUSED(HIA_ARGUMENT, "no text", hia_module_load_expression, w.engine, "t", NULL, 1, "1",
          &module);
  REFUSED(HIA_ARGUMENT, "no expression", hia_module_load_expression, w.engine, "t", module_text, 1,
          NULL, &module);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_expression, w.engine, "t",
          module_text, 1, "1", NULL);
  REFUSED(HIA_ARGUMENT, "no path", hia_module_load_file, w.engine, NULL, &module);
  REFUSED(HIA_ARGUMENT, "no path", hia_module_load_ir_file, w.engine, NULL, &module);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_text, w.engine, "t", module_text, 1,
          NULL);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_ir, w.engine, "t", module_text, 1,
          NULL);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_file, w.engine, "/nonexistent",
          NULL);
  REFUSED(HIA_ARGUMENT, "place for the module", hia_module_load_ir_file, w.engine, "/nonexistent",
          NULL);
  REFUSED(HIA_IO, "/nonexistent", hia_module_load_file, w.engine, "/nonexistent", &module);
  REFUSED(HIA_IO, "/nonexistent", hia_module_load_ir_file, w.engine, "/nonexistent", &module);
  REFUSED(HIA_IO, "/", hia_module_load_file, w.engine, "/", &module);
  REFUSED(HIA_REJECTED, "at most 256 MiB", hia_module_load_text, w.engine, "t", module_text,
          SIZE_MAX, &module);
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
  REFUSED(HIA_ARGUMENT, "no function", hia_function_explain, NULL, false, test_text_take, NULL);
  REFUSED(HIA_ARGUMENT, "no write function", hia_function_explain, w.fib, false, NULL, NULL);

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

static bool see_none(void *user, const hia_observed_point *point) {
  (void)point;
  cr_assert_fail("a point of a run that is refused");
  return user != NULL;
}

Test(api_bad_input, observed_runs) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *none = NULL, *two[] = {w.n, w.n}, *wrong = hia_value_f64(w.engine, 7);
  REFUSED(HIA_ARGUMENT, "no function", hia_function_observe, NULL, &w.n, 1, 0, see_none, NULL);
  REFUSED(HIA_ARGUMENT, "no see function", hia_function_observe, w.fib, &w.n, 1, 0, NULL, NULL);
  REFUSED(HIA_ARGUMENT, "no see function", hia_function_observe, w.fact, &w.n, 1, 0, NULL, NULL);
  REFUSED(HIA_ARGUMENT, "no arguments", hia_function_observe, w.fib, NULL, 1, 0, see_none, NULL);
  REFUSED(HIA_ARGUMENT, "takes 1 argument", hia_function_observe, w.fib, NULL, 0, 0, see_none,
          NULL);
  REFUSED(HIA_ARGUMENT, "takes 1 argument", hia_function_observe, w.fib, two, 2, 0, see_none, NULL);
  REFUSED(HIA_ARGUMENT, "takes 1 argument", hia_function_observe, w.fib, two, SIZE_MAX, 0, see_none,
          NULL);
  REFUSED(HIA_ARGUMENT, "takes 0 arguments", hia_function_observe, w.zero, &w.n, 1, 0, see_none,
          NULL);
  REFUSED(HIA_ARGUMENT, "argument 1", hia_function_observe, w.fib, &none, 1, 0, see_none, NULL);
  REFUSED(HIA_ARGUMENT, "argument 1", hia_function_observe, w.fact, &none, 1, 0, see_none, NULL);
  REFUSED(HIA_ARGUMENT, "is of type f64", hia_function_observe, w.fib, &wrong, 1, 0, see_none,
          NULL);
  /* There is nothing to be seen of it. */
  REFUSED(HIA_UNSUPPORTED, "no parameters, branches and loops", hia_function_observe, w.zero, NULL,
          0, 0, see_none, NULL);
  hia_value_free(wrong);
  close_world(&w);

  static const struct {
    hia_engine_kind kind;
    const char *words;
  } others[] = {{HIA_ENGINE_JIT, "the engine has no interpreter"},
                {HIA_ENGINE_EXPAND, "the engine observes nothing"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    open_world(&w, others[i].kind);
    REFUSED(HIA_UNSUPPORTED, others[i].words, hia_function_observe, w.fib, &w.n, 1, 0, see_none,
            NULL);
    REFUSED(HIA_ARGUMENT, "no see function", hia_function_observe, w.fib, &w.n, 1, 0, NULL, NULL);
    REFUSED(HIA_ARGUMENT, "argument 1", hia_function_observe, w.fib, &none, 1, 0, see_none, NULL);
    close_world(&w);
  }
}

static int32_t rolled;
static int32_t roll(int32_t n) { return rolled += n; }

/* A run may be made once only, or has no points. */
Test(api_bad_input, runs_that_cannot_be_observed) {
  static const char text[] =
      "extern impure fn roll(n: i32) -> i32\n"
      "fn twice(n: i32) -> i32 = if n < 0 then 0 else roll(n) + roll(n)\n"
      "fn power(x: f64, n: i32) -> f64 = if n == 0 then 1 else x * power(x, n "
      "- 1)\n"
      "fn slope(n: i32) -> f64 = grad(power, wrt = x)(f64(n), 3)\n";
  static const char graph[] = "graph functions \"g.hia\"\n\n"
                              "fn f (i32) -> (i32) root (i32) -> i32 {\n"
                              "  %0:i32 = arg 0\n"
                              "  yield %0\n"
                              "}\n";
  static const struct {
    const char *name, *words;
  } cases[] = {{"twice", "it calls impure functions of the host"}, {"slope", "computes gradients"}};
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_AUTO};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    world w;
    hia_module *module;
    hia_function *function;
    hia_host_function host = HIA_HOST_FUNCTION_INIT;
    open_world(&w, kinds[k]);
    host.declaration = "extern impure fn roll(n: i32) -> i32";
    host.function = (void (*)(void))roll;
    cr_assert_eq(hia_engine_register(w.engine, &host, NULL), HIA_OK);
    cr_assert_eq(hia_module_load_text(w.engine, "t", text, strlen(text), &module, &error), HIA_OK,
                 "%s", hia_error_text(error));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      cr_assert_eq(hia_module_function(module, cases[i].name, &function, NULL), HIA_OK);
      REFUSED(HIA_UNSUPPORTED, cases[i].words, hia_function_observe, function, &w.n, 1, 0, see_none,
              NULL);
    }
    cr_assert_eq(rolled, 0);
    hia_module_free(module);
    cr_assert_eq(hia_module_load_ir(w.engine, "g", graph, strlen(graph), &module, &error), HIA_OK,
                 "%s", hia_error_text(error));
    cr_assert_eq(hia_module_function(module, "f", &function, NULL), HIA_OK);
    REFUSED(HIA_UNSUPPORTED, "was read as a graph", hia_function_observe, function, &w.n, 1, 0,
            see_none, NULL);
    hia_module_free(module);
    close_world(&w);
  }
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
