/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Introspection of a module: functions, externs, types, the signatures of entries. */
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdlib.h>

static const char text[] =
    "extern impure fn note(n: i64) -> i64\n"
    "extern fn polar(x: f64, p: (f32, bool)) -> (f64, f64)\n"
    "fn step(price: f64, s: (i32, (bool, f32))) -> (f64, bool) = (price + f64(s.0), s.1.0)\n"
    "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
    "fn far(n: i64) -> i64 = if n == 0 then near(n) else far(n - 1)\n"
    "fn near(n: i64) -> i64 = note(n)\n"
    "fn mixed(n, m: i32) = far(i64(n)) + i64(m)\n"
    "fn angle(x: f64) -> f64 = polar(x, (1.0, true)).0\n"
    "fn zero() -> i64 = 0\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
} world;

static void open_world(world *w, const char *program) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error;
  options.kind = HIA_ENGINE_INTERP;
  options.flags |= HIA_FLAG_LINK_EXTERNS;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  hia_host_function polar = HIA_HOST_FUNCTION_INIT;
  polar.declaration = "extern fn polar(x: f64, p: (f32, bool)) -> (f64, f64)";
  polar.function = abort;
  cr_assert_eq(hia_engine_register(w->engine, &polar, NULL), HIA_OK);
  cr_assert_eq(
      hia_module_load_text(w->engine, "t.hia", program, strlen(program), &w->module, &error),
      HIA_OK, "%s", hia_error_text(error));
}

static void close_world(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static hia_function *at(const world *w, size_t i) {
  hia_function *f;
  hia_error *error;
  cr_assert_eq(hia_module_function_at(w->module, i, &f, &error), HIA_OK, "%s",
               hia_error_text(error));
  return f;
}

/* The type as text, for a comparison; the next call overwrites it. */
static const char *type_text(const hia_type_info *type) {
  static char buf[4][256];
  static unsigned next;
  char *out = buf[next++ % 4];
  size_t len = hia_type_info_format(type, out, sizeof buf[0]);
  cr_assert_lt(len, sizeof buf[0]);
  cr_assert_eq(len, strlen(out));
  return out;
}

Test(inspect, functions_in_the_order_of_the_source) {
  static const struct {
    const char *name, *signature, *result;
    bool is_generic, is_impure;
  } rows[] = {
      {"step(f64, (i32, (bool, f32)))", "step(price: f64, s: (i32, (bool, f32))) -> (f64, bool)",
       "(f64, bool)", false, false},
      {"fact", "fact(n)", "", true, false},
      {"far(i64)", "far(n: i64) -> i64", "i64", false, true},
      {"near(i64)", "near(n: i64) -> i64", "i64", false, true},
      {"mixed", "mixed(n, m: i32)", "", true, true},
      {"angle(f64)", "angle(x: f64) -> f64", "f64", false, false},
      {"zero()", "zero() -> i64", "i64", false, false},
  };
  enum { N = sizeof rows / sizeof *rows };
  world w;
  open_world(&w, text);
  cr_assert_eq(hia_module_function_count(w.module), N);
  for (size_t i = 0; i < N; i++) {
    hia_function *f = at(&w, i);
    cr_expect_str_eq(hia_function_name(f), rows[i].name);
    cr_expect_str_eq(hia_function_signature(f), rows[i].signature);
    cr_expect_str_eq(type_text(hia_function_result_type(f)), rows[i].result);
    cr_expect_eq(hia_function_is_generic(f), rows[i].is_generic);
    cr_expect_eq(hia_function_is_impure(f), rows[i].is_impure, "%s", rows[i].name);
    cr_expect(hia_function_can_have_fuel(f));
    cr_expect_eq(at(&w, i), f, "asking again gives the same one");
    hia_function *found;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(rows[i].name, "("), rows[i].name);
    cr_assert_eq(hia_module_function(w.module, name, &found, NULL), HIA_OK);
    cr_expect_eq(found, f, "by its name too");
  }
  hia_function *f = w.module ? at(&w, 0) : NULL;
  hia_error *error;
  cr_assert_eq(hia_module_function_at(w.module, N, &f, &error), HIA_NOT_FOUND);
  cr_assert_null(f);
  cr_assert_not_null(strstr(hia_error_text(error), "number 7: the module has 7"));
  hia_error_free(error);
  close_world(&w);
}

Test(inspect, types_as_data) {
  world w;
  open_world(&w, text);
  hia_function *step = at(&w, 0), *mixed = at(&w, 4);
  cr_assert_eq(hia_function_arity(step), 2);
  cr_expect_str_eq(hia_function_param_name(step, 0), "price");
  cr_expect_str_eq(hia_function_param_name(step, 1), "s");
  cr_expect_str_eq(hia_function_param_name(step, 2), "");
  const hia_type_info *price = hia_function_param_type(step, 0),
                      *s = hia_function_param_type(step, 1);
  cr_assert_null(hia_function_param_type(step, 2));
  hia_dtype dtype;
  cr_expect_eq(hia_type_info_kind(price), HIA_KIND_SCALAR);
  cr_expect_eq(hia_type_info_dtype(price, &dtype), HIA_OK);
  cr_expect_eq(dtype, HIA_F64);
  cr_expect_eq(hia_type_info_len(price), 0);
  cr_expect_null(hia_type_info_part(price, 0));
  cr_expect_eq(hia_type_info_kind(s), HIA_KIND_TUPLE);
  cr_expect_eq(hia_type_info_dtype(s, &dtype), HIA_ARGUMENT);
  cr_expect_eq(hia_type_info_len(s), 2);
  cr_expect_null(hia_type_info_part(s, 2));
  const hia_type_info *inner = hia_type_info_part(s, 1);
  cr_expect_str_eq(type_text(s), "(i32, (bool, f32))");
  cr_expect_str_eq(type_text(inner), "(bool, f32)");
  cr_expect_str_eq(type_text(hia_type_info_part(inner, 1)), "f32");
  cr_expect_str_eq(type_text(NULL), "");
  const hia_dtype *scalars;
  cr_assert_eq(hia_type_info_scalars(s, &scalars), 3);
  cr_expect(scalars[0] == HIA_I32 && scalars[1] == HIA_BOOL && scalars[2] == HIA_F32);
  cr_assert_eq(hia_type_info_scalars(inner, &scalars), 2);
  cr_expect(scalars[0] == HIA_BOOL && scalars[1] == HIA_F32);

  /* A buffer that is too small receives the part that fits; the length is that of the whole. */
  char few[6];
  cr_expect_eq(hia_type_info_format(s, few, sizeof few), strlen("(i32, (bool, f32))"));
  cr_expect_str_eq(few, "(i32,");
  cr_expect_eq(hia_type_info_format(s, NULL, 100), strlen("(i32, (bool, f32))"));

  cr_expect(hia_type_info_is_same(price, hia_function_param_type(at(&w, 5), 0)));
  cr_expect(hia_type_info_is_same(price, hia_type_info_part(hia_function_result_type(step), 0)));
  cr_expect_not(hia_type_info_is_same(price, s));
  cr_expect_not(hia_type_info_is_same(s, inner));
  world other;
  open_world(&other, "fn f(a: (bool, f32)) -> (bool, f64) = (a.0, 1.0)\n");
  cr_expect(hia_type_info_is_same(inner, hia_function_param_type(at(&other, 0), 0)));
  cr_expect_not(hia_type_info_is_same(inner, hia_function_result_type(at(&other, 0))));
  close_world(&other);

  /* A generic function has its declared types, an instance has all types. */
  cr_expect_null(hia_function_param_type(mixed, 0));
  cr_expect_str_eq(hia_function_param_name(mixed, 0), "n");
  cr_expect_str_eq(type_text(hia_function_param_type(mixed, 1)), "i32");
  cr_expect_null(hia_function_result_type(mixed));
  hia_function *instance;
  cr_assert_eq(hia_module_function(w.module, "mixed(f32, i32)", &instance, NULL), HIA_OK);
  cr_expect_str_eq(type_text(hia_function_param_type(instance, 0)), "f32");
  cr_expect_str_eq(type_text(hia_function_result_type(instance)), "i64");
  cr_expect(hia_function_is_impure(instance));
  cr_expect_eq(hia_module_function_count(w.module), 7, "instances are no functions of their own");
  close_world(&w);
}

Test(inspect, entries) {
  world w;
  open_world(&w, text);
  hia_function *step = at(&w, 0), *fact = at(&w, 1), *zero = at(&w, 6);
  static const hia_dtype params[] = {HIA_F64, HIA_I32, HIA_BOOL, HIA_F32},
                         results[] = {HIA_F64, HIA_BOOL};
  const hia_dtype *own;
  cr_assert_eq(hia_function_entry_params(step, &own), 4);
  cr_expect_eq(memcmp(own, params, sizeof params), 0);
  cr_assert_eq(hia_function_entry_results(step, &own), 2);
  cr_expect_eq(memcmp(own, results, sizeof results), 0);
  cr_expect_eq(hia_function_entry_params(zero, NULL), 0);
  cr_expect_eq(hia_function_entry_results(zero, NULL), 1);
  cr_expect_eq(hia_function_entry_params(fact, &own), 0);
  cr_expect_null(own);
  cr_expect_eq(hia_function_entry_results(fact, &own), 0);
  cr_expect_null(own);

  hia_error *error;
  cr_expect_eq(hia_function_check_entry(step, params, 4, results, 2, &error), HIA_OK);
  cr_expect_null(error);
  cr_expect_eq(hia_function_check_entry(zero, NULL, 0, (const hia_dtype[]){HIA_I64}, 1, NULL),
               HIA_OK);
  static const struct {
    size_t n_params, n_results;
    hia_dtype first;
  } wrong[] = {
      {3, 2, HIA_F64}, {4, 1, HIA_F64}, {4, 2, HIA_I64}, {0, 0, HIA_F64}, {4, 2, (hia_dtype)77}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    hia_dtype given[4] = {wrong[i].first, HIA_I32, HIA_BOOL, HIA_F32};
    cr_expect_eq(hia_function_check_entry(step, given, wrong[i].n_params, results,
                                          wrong[i].n_results, &error),
                 HIA_ARGUMENT);
    cr_expect_not_null(
        strstr(hia_error_text(error), "is (f64, i32, bool, f32) -> (f64, bool), not ("), "%s",
        hia_error_text(error));
    hia_error_free(error);
  }
  cr_expect_eq(hia_function_check_entry(fact, params, 1, results, 1, &error), HIA_ARGUMENT);
  cr_expect_not_null(strstr(hia_error_text(error), "`fact(n)` is generic"));
  hia_error_free(error);
  close_world(&w);
}

Test(inspect, externs) {
  world w;
  open_world(&w, text);
  cr_assert_eq(hia_module_extern_count(w.module), 2);
  const hia_extern_info *note = hia_module_extern(w.module, 0),
                        *polar = hia_module_extern(w.module, 1);
  cr_assert_null(hia_module_extern(w.module, 2));
  cr_expect_str_eq(hia_extern_name(note), "note");
  cr_expect_str_eq(hia_extern_declaration(note), "extern impure fn note(n: i64) -> i64");
  cr_expect(hia_extern_is_impure(note));
  cr_expect_not(hia_extern_is_bound(note));
  cr_expect_eq(hia_extern_arity(note), 1);
  cr_expect_str_eq(hia_extern_param_name(note, 0), "n");
  cr_expect_str_eq(hia_extern_name(polar), "polar");
  cr_expect_not(hia_extern_is_impure(polar));
  cr_expect(hia_extern_is_bound(polar));
  cr_expect_eq(hia_extern_arity(polar), 2);
  cr_expect_str_eq(hia_extern_param_name(polar, 1), "p");
  cr_expect_str_eq(hia_extern_param_name(polar, 2), "");
  cr_expect_str_eq(type_text(hia_extern_param_type(polar, 1)), "(f32, bool)");
  cr_expect_null(hia_extern_param_type(polar, 2));
  cr_expect_str_eq(type_text(hia_extern_result_type(polar)), "(f64, f64)");

  /* A declaration can be registered as it is. */
  hia_host_function again = HIA_HOST_FUNCTION_INIT;
  again.declaration = hia_extern_declaration(note);
  again.function = abort;
  cr_expect_eq(hia_engine_register(w.engine, &again, NULL), HIA_OK);
  close_world(&w);
}

/* A module that was read as a graph, in both states: its roots, without names of parameters. */
static void check_graph(hia_stage stage, bool can_have_fuel) {
  world w;
  open_world(&w, text);
  hia_function *roots[3] = {at(&w, 5), at(&w, 0), at(&w, 2)};
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = stage;
  test_text dump = {0};
  hia_error *error;
  cr_assert_eq(hia_module_dump(w.module, roots, 3, &options, test_text_take, &dump, &error), HIA_OK,
               "%s", hia_error_text(error));
  hia_host_function note_host = HIA_HOST_FUNCTION_INIT;
  note_host.declaration = "extern impure fn note(n: i64) -> i64";
  note_host.function = abort;
  cr_assert_eq(hia_engine_register(w.engine, &note_host, NULL), HIA_OK);
  world g = {.engine = w.engine};
  cr_assert_eq(hia_module_load_ir(w.engine, "t.ir", dump.data, dump.len, &g.module, &error), HIA_OK,
               "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function_count(g.module), 3);
  cr_expect_str_eq(hia_function_name(at(&g, 0)), "angle(f64)");
  hia_function *step = at(&g, 1), *far = at(&g, 2);
  cr_expect_str_eq(hia_function_name(step), "step(f64, (i32, (bool, f32)))");
  cr_expect_str_eq(hia_function_param_name(step, 0), "");
  cr_expect_str_eq(type_text(hia_function_param_type(step, 1)), "(i32, (bool, f32))");
  cr_expect_eq(hia_function_entry_params(step, NULL), 4);
  cr_expect_not(hia_function_is_impure(step));
  cr_expect(hia_function_is_impure(far), "through a function that it calls");
  cr_expect_eq(hia_function_can_have_fuel(step), can_have_fuel);
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  run.has_fuel = true;
  cr_expect_eq(hia_function_prepare_for(step, &run, NULL),
               can_have_fuel ? HIA_OK : HIA_UNSUPPORTED);
  cr_expect_eq(hia_function_can_have_fuel(step), can_have_fuel, "also when passes have run");
  cr_assert_eq(hia_module_extern_count(g.module), 2);
  bool is_note_first = strcmp(hia_extern_name(hia_module_extern(g.module, 0)), "note") == 0;
  const hia_extern_info *note = hia_module_extern(g.module, is_note_first ? 0 : 1);
  cr_expect_str_eq(hia_extern_declaration(note), "extern impure fn note(a0: i64) -> i64");
  cr_expect_str_eq(hia_extern_param_name(note, 0), "");
  hia_module_free(g.module);
  test_text_free(&dump);
  close_world(&w);
}

Test(inspect, graphs) { check_graph(HIA_STAGE_GRAPH, true); }
Test(inspect, static_graphs) { check_graph(HIA_STAGE_STATIC, false); }

/* The widest type, and the deepest. */
Test(inspect, large_types) {
  char program[16384] = "fn f(a: ";
  size_t len = strlen(program);
  for (int i = 0; i < 400; i++)
    len += (size_t)snprintf(program + len, sizeof program - len, "(i32, ");
  len += (size_t)snprintf(program + len, sizeof program - len, "f64");
  for (int i = 0; i < 400; i++) program[len++] = ')';
  snprintf(program + len, sizeof program - len, ") -> i32 = a.0\n");
  world w;
  open_world(&w, program);
  const hia_type_info *type = hia_function_param_type(at(&w, 0), 0);
  for (int i = 0; i < 400; i++) {
    const hia_dtype *scalars;
    cr_assert_eq(hia_type_info_scalars(type, &scalars), 401u - (unsigned)i);
    cr_assert_eq(scalars[400 - i], HIA_F64);
    cr_assert_eq(hia_type_info_len(type), 2);
    type = hia_type_info_part(type, 1);
  }
  cr_assert_eq(hia_type_info_kind(type), HIA_KIND_SCALAR);
  close_world(&w);
}
