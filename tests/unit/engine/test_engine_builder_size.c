/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: large programs, random ones, and no memory. */
#include "tests/unit/helpers/builder.h"
#include "tests/unit/helpers/calls.h"
#include "tests/unit/helpers/memory.h"

/* ---- size ---- */

Test(builder, nests_as_deep_as_it_says) {
  for (int kind = 0; kind < 4; kind++) {
    world w = open_world();
    hia_build_fn f = hia_build_declare(w.b, "f(n: i32) -> i32");
    hia_build_begin(w.b, f);
    value n = hia_build_param(w.b, f, 0), x = n, one = hia_build_i32(w.b, 1);
    for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
      value less = hia_build_lt(w.b, n, hia_build_i32(w.b, i));
      if (kind == 0) { /* an `if` in each second branch: a chain */
        hia_build_if(w.b, less);
        hia_build_else(w.b, hia_build_i32(w.b, i));
      } else if (kind == 1) { /* in each first branch, with a `let` */
        hia_build_if(w.b, less);
        x = hia_build_name(w.b, hia_build_add(w.b, x, one), "x");
      } else { /* in the condition of a loop, or in the round */
        value var;
        hia_build_loop(w.b, &x, 1, &var);
        if (kind == 3) {
          hia_build_while(w.b, hia_build_lt(w.b, var, hia_build_add(w.b, n, one)));
          x = var;
        }
      }
    }
    for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
      if (kind == 1) hia_build_else(w.b, hia_build_add(w.b, x, one));
      if (kind < 2) x = hia_build_end_if(w.b, kind ? n : x);
      if (kind == 2) hia_build_while(w.b, hia_build_gt(w.b, x, n));
      if (kind >= 2) {
        x = hia_build_add(w.b, kind == 2 ? n : x, one);
        x = hia_build_end_loop(w.b, &x, 1);
      }
      if (kind == 1) x = hia_build_name(w.b, hia_build_add(w.b, n, one), "y");
    }
    hia_build_return(w.b, x);
    finish(&w);
    run(&w, "f", hia_value_i32(w.engine, 1));
    close_world(&w);
  }
}

Test(builder, nests_no_deeper) {
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(c: bool) -> bool");
  hia_build_begin(w.b, f);
  value c = hia_build_param(w.b, f, 0);
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) cr_assert_eq(hia_build_if(w.b, c), HIA_OK);
  cr_assert_eq(hia_build_if(w.b, c), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "nest more than 900 deep"));
  close_world(&w);
}

/* Types nest too, as deep as types can be. */
Test(builder, nests_as_deep_with_types_that_do) {
  world w = open_world();
  hia_build_type deep = HIA_I32;
  for (int i = 0; i < 999; i++) {
    hia_build_type parts[2] = {HIA_F64, deep};
    deep = hia_build_tuple_type(w.b, parts, 2);
  }
  hia_build_fn f = hia_build_declare_types(w.b, "f", &deep, 1, deep);
  hia_build_begin(w.b, f);
  value x = hia_build_param(w.b, f, 0), p = x, yes = hia_build_bool(w.b, true);
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) hia_build_if(w.b, yes);
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
    hia_build_else(w.b, x);
    x = hia_build_end_if(w.b, p);
    hia_build_bnot(w.b, yes); /* another item in the block, so that x has a type there */
  }
  hia_build_return(w.b, x);
  finish(&w);
  close_world(&w);
}

/* Of a hundred thousand mistakes the first is reported, and they take no memory. */
Test(builder, goes_on_after_too_deep) {
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(c: bool) -> bool");
  hia_build_begin(w.b, f);
  value c = hia_build_param(w.b, f, 0), var;
  for (int i = 0; i < 100000; i++) {
    hia_status status = i % 2 ? hia_build_if(w.b, c) : hia_build_loop(w.b, &c, 1, &var);
    if (i % 2 == 0) hia_build_while(w.b, c);
    cr_assert_eq(status, i < HIA_BUILD_MAX_NESTING ? HIA_OK : HIA_ARGUMENT);
  }
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "nest more than 900 deep"));
  print(&w);
  close_world(&w);
}

Test(builder, functions_within_functions_nest_on_their_own) {
  world w = open_world();
  char signature[64];
  value x = hia_build_i32(w.b, 1);
  hia_build_fn fns[2000];
  for (int i = 0; i < 2000; i++) {
    snprintf(signature, sizeof signature, "fn%d() -> i32", i);
    fns[i] = hia_build_declare(w.b, signature);
    hia_build_begin(w.b, fns[i]);
    hia_build_if(w.b, hia_build_bool(w.b, i & 1));
    hia_build_else(w.b, x);
  }
  for (int i = 2000; i-- > 0;) {
    value rest = i < 1999 ? hia_build_call(w.b, fns[i + 1], NULL, 0) : x;
    hia_build_return(w.b, hia_build_end_if(w.b, hia_build_add(w.b, rest, x)));
  }
  finish(&w);
  cr_assert_str_eq(run(&w, "fn0", NULL), "2");
  close_world(&w);
}

/* Building is linear in the number of values: if it were quadratic, this would take hours. */
Test(builder, a_hundred_thousand_values) {
  enum { N = 100000 };
  world w = open_world();
  hia_build_fn f = hia_build_declare(w.b, "f(n: i64) -> i64");
  hia_build_begin(w.b, f);
  value n = hia_build_param(w.b, f, 0), x = n;
  value *all = malloc(N * sizeof *all);
  for (int i = 0; i < N; i++) {
    x = hia_build_add(w.b, x, i % 3 ? n : hia_build_i64(w.b, i));
    if (i % 2) hia_build_name(w.b, x, "x");
    if (i % 7 == 0) hia_build_if(w.b, hia_build_lt(w.b, x, n));
    if (i % 7 == 0) hia_build_else(w.b, x);
    if (i % 7 == 0) x = hia_build_end_if(w.b, hia_build_sub(w.b, x, n));
    all[i] = x;
  }
  for (int i = 0; i < N; i += 2) x = hia_build_bxor(w.b, x, all[i]);
  free(all);
  hia_build_return(w.b, x);
  hia_build_fn g = hia_build_declare(w.b, "g(n: i64) -> i64");
  hia_build_begin(w.b, g);
  n = hia_build_param(w.b, g, 0);
  hia_build_return(w.b, hia_build_call(w.b, f, &n, 1));
  finish(&w);
  int64_t want = 2, sum = 2;
  int64_t *values = malloc(N * sizeof *values);
  for (int i = 0; i < N; i++) {
    want += i % 3 ? sum : i;
    if (i % 7 == 0 && want >= sum) want -= sum;
    values[i] = want;
  }
  for (int i = 0; i < N; i += 2) want ^= values[i];
  free(values);
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)want);
  cr_assert_str_eq(run(&w, "g", hia_value_i64(w.engine, 2)), text);
  close_world(&w);
}

Test(builder, types_have_a_thousand_scalars_at_most) {
  world w = open_world();
  hia_build_type deep = HIA_I32;
  for (int i = 0; i < 999; i++) {
    hia_build_type parts[2] = {deep, HIA_F64};
    deep = hia_build_tuple_type(w.b, parts, 2);
  }
  hia_build_fn f = hia_build_declare_types(w.b, "f", &deep, 1, deep);
  hia_build_begin(w.b, f);
  value x = hia_build_param(w.b, f, 0);
  hia_build_return(w.b, x);
  finish(&w);
  hia_build_type parts[2] = {deep, HIA_F64};
  cr_assert_eq(hia_build_tuple_type(w.b, parts, 2), HIA_BUILD_NO_TYPE);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "more than 1000 scalars"));
  close_world(&w);

  w = open_world();
  static char text[20000] = "f(x: ";
  size_t len = strlen(text);
  memset(text + len, '(', 9000);
  hia_build_declare(w.b, text);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "more than 1000 scalars"));
  close_world(&w);

  /* Parts beyond the limit are not read. */
  w = open_world();
  hia_build_type one_type = HIA_I32;
  cr_assert_eq(hia_build_tuple_type(w.b, &one_type, SIZE_MAX), HIA_BUILD_NO_TYPE);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "more than 1000 scalars"));
  close_world(&w);

  w = open_world();
  hia_build_begin(w.b, hia_build_declare(w.b, "f() -> i32"));
  value one = hia_build_i32(w.b, 1);
  cr_assert_eq(hia_build_tuple(w.b, &one, SIZE_MAX).id, 0u);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "more than 1000 scalars"));
  close_world(&w);

  w = open_world();
  hia_build_type types[1001] = {0};
  cr_assert_eq(hia_build_declare_types(w.b, "f", types, 1001, HIA_I32).id, 0u);
  close_world(&w);
}

/* ---- random programs ---- */

static uint32_t draw(void *state, uint32_t n) { return (uint32_t)(next_random(state) % n); }

/* Runs f0 with some fuel, and describes how the run ended. */
static void outcome(hia_engine *engine, const char *text, char *buf, size_t size) {
  hia_module *module = NULL;
  hia_function *f = NULL;
  hia_value *arg = hia_value_i32(engine, 3), *result = NULL;
  hia_error *error = NULL;
  hia_run_options o = HIA_RUN_OPTIONS_INIT;
  o.has_fuel = true;
  o.fuel = 200;
  cr_assert_eq(hia_module_load_text(engine, "b", text, strlen(text), &module, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(module, "f0", &f, NULL), HIA_OK);
  if (hia_run(f, &arg, 1, &o, &result, &error) == HIA_OK)
    hia_value_format(result, buf, size);
  else
    snprintf(buf, size, "%s", hia_error_text(error));
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
  hia_module_free(module);
}

/* The engines agree on the programs that are built. */
static void compare(hia_engine *const *engines, uint32_t n, const char *text) {
  static char first[2000], other[2000];
  for (uint32_t i = 0; i < n; i++) {
    if (engines[i]) outcome(engines[i], text, i ? other : first, sizeof first);
    if (i && engines[i])
      cr_assert_str_eq(other, first, "engine %u: %s\n%s\n%s", i, other, first, text);
  }
}

Test(builder, what_is_built_without_a_mistake_is_a_program) {
  uint32_t n_finished = 0, n_mistakes = 0, n_endless = 0;
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
  hia_engine *engines[3] = {NULL};
  for (int i = 0; i < 3; i++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = kinds[i];
    options.opt_level = 1;
    cr_assert_eq(hia_engine_new(&options, &engines[i], NULL), HIA_OK);
  }
  hia_engine *engine = engines[0];
  bool is_native = hia_engine_native(engines[2], NULL) == HIA_OK;
  for (uint64_t seed = 1; seed <= 3000; seed += HIA_TEST_SHARE) {
    world w = {.engine = engine};
    uint64_t state = seed;
    cr_assert_eq(hia_builder_new(engine, NULL, &w.b, NULL), HIA_OK);
    calls_make(w.b, 20 + draw(&state, 200), draw, &state);
    hia_error *error;
    hia_status status = hia_builder_finish(w.b, &w.module, &error);
    if (status == HIA_OK && n_finished++ % 4 == 0)
      compare(engines, is_native && seed % 16 == 0 ? 3 : 2, print(&w));
    else if (status == HIA_ARGUMENT)
      n_mistakes++;
    else if (status == HIA_REJECTED && strcmp(hia_error_code(error, 0), "E0314") == 0)
      n_endless++;
    else if (status == HIA_REJECTED && strcmp(hia_error_code(error, 0), "E0340") == 0)
      ; /* a size that constants give does not fit: the builder does not compute */
    else if (status == HIA_REJECTED && strcmp(hia_error_code(error, 0), "E0355") == 0)
      ; /* a function uses its own gradient: that shows only in the whole program */
    else if (status != HIA_OK)
      cr_assert_fail("seed %llu: %s\n%s", (unsigned long long)seed, hia_error_text(error),
                     print(&w));
    hia_error_free(error);
    test_text_free(&w.text);
    hia_module_free(w.module);
    hia_builder_free(w.b);
  }
  for (int i = 0; i < 3; i++) hia_engine_free(engines[i]);
  cr_assert(n_finished > 400 / HIA_TEST_SHARE && n_mistakes > 100 / HIA_TEST_SHARE,
            "%u finished, %u mistakes, %u endless", n_finished, n_mistakes, n_endless);
}

/* ---- memory ---- */

static int64_t host_now(void) { return 1; }
static int64_t host_id(int64_t x) { return x; }

static hia_status add_hosts(hia_engine *engine, hia_error **error) {
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern impure fn now() -> i64";
  host.function = (void (*)(void))host_now;
  hia_status status = hia_engine_register(engine, &host, error);
  if (status != HIA_OK) return status;
  host.declaration = "extern fn id(x: i64) -> i64";
  host.function = (void (*)(void))host_id;
  return hia_engine_register(engine, &host, error);
}

/* Each construct of data and arrays. */
static void build_data(hia_builder *b) {
  hia_build_type list = hia_build_declare_type(b, "List"),
                 rose = hia_build_declare_type(b, "Rose = Rose(l: List, all: [Rose])");
  const hia_build_field fields[] = {{"head", HIA_I64}, {NULL, list}};
  hia_build_ctor nil = hia_build_add_ctor(b, list, "Nil", NULL, 0),
                 cons = hia_build_add_ctor(b, list, "Cons", fields, 2);
  const hia_build_type params[2] = {list, hia_build_array_type(b, rose)};
  hia_build_fn f = hia_build_declare_types(b, "trees", params, 2, params[1]);
  hia_build_begin(b, f);
  value a = hia_build_param(b, f, 1), one = hia_build_i64(b, 1), part[2], all[3];
  hia_build_match(b, hia_build_param(b, f, 0));
  hia_build_arm_ctor(b, nil, NULL, 0);
  all[0] = hia_build_empty_array(b, params[1]);
  all[1] = hia_build_set(b, a, one, hia_build_at(b, a, one));
  hia_build_end_arm(b, hia_build_concat(b, all, 2));
  hia_build_arm(b, "Cons(head, Nil)", part, 1);
  value each = hia_build_for_each(b, hia_build_slice(b, a, part[0], hia_build_len(b, a)));
  hia_build_end_arm(b, hia_build_end_for(b, each));
  hia_build_pattern any[2] = {hia_build_pattern_any(b), hia_build_pattern_bind(b, "Tail")};
  any[0] = hia_build_pattern_const(b, one);
  hia_build_arm_pattern(b, hia_build_pattern_ctor(b, cons, any, 2), part, 1);
  part[1] = a;
  each = hia_build_data(b, hia_build_find_ctor(b, "Rose"), part, 2);
  hia_build_end_arm(b, hia_build_array(b, &each, 1));
  hia_build_arm(b, "_", NULL, 0);
  hia_build_for_range(b, one, one);
  part[0] = hia_build_data(b, nil, NULL, 0);
  each = hia_build_data(b, hia_build_find_ctor(b, "Rose"), part, 2);
  hia_build_end_arm(b, hia_build_end_for(b, each));
  hia_build_return(b, hia_build_end_match(b));
}

static hia_status attempt(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = allocator;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine;
  hia_builder *b = NULL;
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(&options, &engine, &error);
  if (status == HIA_OK) {
    hia_error_free(error);
    status = add_hosts(engine, &error);
  }
  if (status == HIA_OK) {
    hia_error_free(error);
    status = hia_builder_new(engine, "built.hia", &b, &error);
  }
  if (status == HIA_OK) {
    static const hia_build_type parts[3] = {HIA_I64, HIA_F32, HIA_BOOL};
    hia_build_fn now = hia_build_declare(b, "extern impure fn now() -> i64"),
                 id = hia_build_declare_extern(b, "id", parts, 1, HIA_I64, false),
                 inner = hia_build_declare_types(b, "inner", parts, 3, HIA_I64);
    build_fact(b);
    build_data(b);
    hia_build_fn whole = hia_build_declare(b, "whole() -> i64");
    hia_build_begin(b, whole);
    value made = hia_build_name(b, hia_build_call(b, now, NULL, 0), "made at \303\244");
    hia_build_begin(b, inner); /* in the middle of the other one */
    hia_build_if(b, hia_build_param(b, inner, 2));
    hia_build_else(b, hia_build_fail(b, hia_build_i32(b, 1), HIA_I64));
    hia_build_return(b, hia_build_end_if(b, hia_build_param(b, inner, 0)));
    value two[2] = {made, hia_build_call(b, id, &made, 1)};
    hia_build_return(b, hia_build_part(b, hia_build_tuple(b, two, 2), 1));
    hia_build_fn f = hia_build_declare(b, "f(p: (i64, f32)) -> i64");
    hia_build_begin(b, f);
    value x = hia_build_part(b, hia_build_param(b, f, 0), 0), var;
    hia_build_loop(b, &x, 1, &var);
    for (int i = 0; i < 200; i++) /* the draft grows several times */
      x = hia_build_name(b, hia_build_add(b, x, var), i % 2 ? "x" : "sum");
    hia_build_while(b, hia_build_lt(b, var, hia_build_i64(b, 100)));
    x = hia_build_add(b, var, hia_build_i64(b, 10));
    hia_build_return(b, hia_build_end_loop(b, &x, 1));
    status = hia_builder_status(b);
    cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s", hia_error_text(hia_builder_error(b)));
    world w = {0};
    hia_error_free(error);
    hia_status printed = hia_builder_print(b, test_text_take, &w.text, &error);
    cr_assert(printed == status || printed == HIA_MEMORY);
    test_text_free(&w.text);
    hia_error_free(error);
    hia_status finished = hia_builder_finish(b, &module, &error);
    cr_assert(finished == HIA_MEMORY || (finished == HIA_OK && status == HIA_OK), "%s",
              hia_error_text(error));
    status = finished != HIA_OK ? finished : printed;
  }
  hia_error_free(error);
  hia_module_free(module);
  hia_builder_free(b);
  hia_engine_free(engine);
  return status;
}

Test(builder, every_allocation_may_fail) {
  size_t n = fail_each_allocation(attempt);
  cr_assert(n > 20, "%zu allocations", n);
}
