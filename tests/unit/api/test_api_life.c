/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The life of hosts: callbacks that call and free, modules that are freed in use, errors that
 * outlive all other objects, statistics and limits of single runs; and that repeated requests take
 * no more memory. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

#include "runtime/native/sanitizer.h"
#include <pthread.h>
#include <stdio.h>

static const char text[] = "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
                           "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
                           "fn swap(p) = (p.1, p.0)\n"
                           "fn first(p: (i64, bool), q) = (p.0, q)\n"
                           "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n)\n"
                           "fn half(a: i32, b: i32) -> i32 = a / b\n";

static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
static size_t n_kinds(void) { return has_native() ? 3 : 2; }

static hia_engine_options options_of(hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  return options;
}

/* The result of a function for one argument, as text. */
static const char *give(hia_function *f, hia_value *arg, const hia_run_options *options) {
  static char printed[64];
  hia_value *result;
  hia_error *error;
  cr_assert_not_null(arg);
  if (hia_run(f, &arg, 1, options, &result, &error) == HIA_OK)
    hia_value_format(result, printed, sizeof printed);
  else
    snprintf(printed, sizeof printed, "%s", hia_error_message(error, 0));
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
  return printed;
}

/* ---- memory ---- */

static void refuse(hia_module *module, const char *name, hia_status expected) {
  hia_function *f;
  cr_assert_eq(hia_module_function(module, name, &f, NULL), expected, "%s", name);
}

static hia_value *parse(hia_function *f, size_t i, const char *argument) {
  hia_value *value;
  hia_error *error;
  cr_assert_eq(hia_value_parse(f, i, argument, &value, &error), HIA_OK, "%s",
               hia_error_text(error));
  return value;
}

static void ask_everything(hia_engine *engine, hia_module *module) {
  hia_function *fact = find_function(module, "fact"), *swap = find_function(module, "swap"),
               *instance;
  hia_function *first = find_function(module, "first");
  hia_value *n = hia_value_i64(engine, 5), *value;
  find_function(module, "fib");
  find_function(module, "fact(i64)");
  find_function(module, "fact( i64 )");
  find_function(module, "swap((i32, (f64, bool)))");
  refuse(module, "fact(i64", HIA_ARGUMENT);
  refuse(module, "fact((i64, i32), i32)", HIA_ARGUMENT);
  refuse(module, "fib(i64)", HIA_ARGUMENT);
  refuse(module, "fob", HIA_NOT_FOUND);
  cr_assert_eq(hia_function_instance(fact, &n, 1, &instance, NULL), HIA_OK);
  hia_value_free(n);
  cr_assert_str_eq(give(fact, parse(fact, 0, "5i64"), NULL), "120");
  cr_assert_str_eq(give(swap, parse(swap, 0, "(1, (2.5, true))"), NULL), "((2.5, true), 1)");
  hia_value_free(parse(first, 0, "(3, false)"));
  cr_assert_eq(hia_value_parse(first, 0, "(3, 4)", &value, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_parse(first, 1, "(3,", &value, NULL), HIA_ARGUMENT);
}

Test(api_life, asking_again_takes_no_memory) {
  for (size_t k = 0; k < n_kinds(); k++) {
    test_heap heap;
    test_heap_init(&heap, -1);
    hia_engine_options options = options_of(kinds[k]);
    options.allocator = &heap.allocator;
    program p = open_program(&options, text, "fib");
    ask_everything(p.engine, p.module);
    long blocks = heap.blocks, bytes = heap.bytes;
    for (int i = 0; i < 3000 / HIA_TEST_SHARE; i++) ask_everything(p.engine, p.module);
    cr_expect_eq(heap.blocks, blocks, "engine %zu: %ld blocks more", k, heap.blocks - blocks);
    cr_expect_eq(heap.bytes, bytes, "engine %zu: %ld bytes more", k, heap.bytes - bytes);
    close_program(&p);
    cr_assert_eq(heap.bytes, 0);
  }
}

/* If there is no memory to read an argument, the module still works. */
Test(api_life, an_argument_without_memory) {
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = options_of(HIA_ENGINE_INTERP);
  options.allocator = &heap.allocator;
  program p = open_program(&options, text, "swap");
  for (long n = 0;; n++) {
    hia_value *value;
    hia_error *error;
    heap.left = n;
    hia_status status = hia_value_parse(p.function, 0, "(1, (2.5, true))", &value, &error);
    heap.left = -1;
    if (status == HIA_OK) {
      hia_value_free(value);
      break;
    }
    cr_assert_eq(status, HIA_MEMORY);
    cr_assert_null(value);
    hia_error_free(error);
  }
  hia_function *fib = find_function(p.module, "fib");
  cr_assert_str_eq(give(fib, hia_value_i32(p.engine, 10), NULL), "89");
  close_program(&p);
  cr_assert_eq(heap.bytes, 0);
}

/* ---- callbacks ---- */

typedef struct listener {
  hia_engine *engine;
  hia_module *module;
  unsigned heard;
  bool is_asking; /* its own calls are logged, too */
} listener;

/* Calls everything that takes a lock. */
static void listen(void *user, const char *message) {
  listener *l = user;
  l->heard++;
  cr_assert_gt(strlen(message), 0);
  if (!l->engine || !l->module || l->is_asking) return;
  l->is_asking = true;
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_engine_native(l->engine, NULL), has_native() ? HIA_OK : HIA_UNSUPPORTED);
  hia_function *fib = find_function(l->module, "fib"),
               *fact = find_function(l->module, "fact(i64)");
  cr_assert_eq(hia_function_get_stats(fib, &stats), HIA_OK);
  cr_assert_str_eq(give(fact, hia_value_i64(l->engine, 5), NULL), "120");
  l->is_asking = false;
}

Test(api_life, a_listener_may_ask_the_engine) {
  for (size_t k = 0; k < n_kinds(); k++) {
    listener l = {0};
    hia_engine_options options = options_of(kinds[k]);
    options.log = listen;
    options.log_user = &l;
    program p = open_program(&options, text, "fib");
    l.engine = p.engine;
    l.module = p.module;
    cr_assert_str_eq(give(p.function, hia_value_i32(p.engine, 10), NULL), "89");
    cr_assert_geq(l.heard, 2);
    /* The functions that it calls open the compiler, too. */
    if (has_native()) {
      hia_dump_options code = HIA_DUMP_OPTIONS_INIT;
      code.stage = HIA_STAGE_LLVM;
      test_text t = {0};
      cr_assert_eq(hia_module_dump(p.module, &p.function, 1, &code, test_text_take, &t, NULL),
                   HIA_OK);
      test_text_free(&t);
    }
    close_program(&p);
  }
}

typedef struct taker {
  hia_module *module;
  size_t len;
} taker;

/* Frees the module, and reads its arguments afterwards. */
static bool take_and_free(void *user, const char *bytes, size_t len) {
  taker *t = user;
  hia_module_free(t->module);
  t->module = NULL;
  for (size_t i = 0; i < len; i++) t->len += bytes[i] != 0;
  return true;
}

Test(api_life, a_writer_may_free_the_module) {
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  for (int what = 0; what < (has_native() ? 3 : 1); what++) {
    taker t = {0};
    cr_assert_eq(hia_module_load_text(engine, "t", text, strlen(text), &t.module, NULL), HIA_OK);
    hia_function *fib = find_function(t.module, "fib");
    hia_status status =
        what == 0   ? hia_module_dump(t.module, &fib, 1, NULL, take_and_free, &t, NULL)
        : what == 1 ? hia_module_build_object(t.module, &fib, 1, NULL, take_and_free, &t, NULL)
                    : hia_module_build_header(t.module, &fib, 1, NULL, take_and_free, &t, NULL);
    cr_assert_eq(status, HIA_OK);
    cr_assert_gt(t.len, 10);
  }
  hia_engine_free(engine);
}

/* ---- inside a run ---- */

typedef struct inside {
  hia_engine *engine;
  hia_module *module; /* the calling function's; the first call frees it */
  unsigned calls;
  hia_status status;
} inside;

static int32_t triple(int32_t n) { return 3 * n; }

static int32_t meddle(void *user, int32_t n) {
  inside *in = user;
  hia_module *other = NULL;
  hia_function *f;
  if (in->calls++ > 0) return n;
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern fn triple(n: i32) -> i32";
  host.function = (void (*)(void))triple;
  hia_status status = hia_engine_register(in->engine, &host, NULL);
  static const char more[] = "extern fn triple(n: i32) -> i32\n"
                             "fn nine(n: i32) -> i32 = triple(triple(n))\n";
  if (status == HIA_OK)
    status = hia_module_load_text(in->engine, "more", more, strlen(more), &other, NULL);
  if (status == HIA_OK) status = hia_module_function(other, "nine", &f, NULL);
  hia_value *arg = hia_value_i32(in->engine, n), *result = NULL;
  if (status == HIA_OK) status = hia_call(f, &arg, 1, &result, NULL);
  if (status == HIA_OK) status = hia_value_get_i32(result, &n);
  hia_native_fn entry;
  if (status == HIA_OK && hia_function_entry(f, &entry, NULL) == HIA_OK) {
    hia_context *context;
    status = hia_engine_context_new(in->engine, &context, NULL);
    if (status == HIA_OK)
      status = ((hia_status(*)(hia_context *, int32_t, int32_t *))entry)(context, n, &n);
    hia_context_free(context);
  } else {
    n *= 9;
  }
  /* The module that is running, from its own function: this too. */
  test_text t = {0};
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  if (status == HIA_OK) status = hia_module_function(in->module, "main", &f, NULL);
  if (status == HIA_OK) status = hia_function_get_stats(f, &stats);
  if (status == HIA_OK) status = hia_module_dump(in->module, &f, 1, NULL, test_text_take, &t, NULL);
  test_text_free(&t);
  hia_value_free(result);
  hia_value_free(arg);
  hia_module_free(other);
  hia_module_free(in->module);
  in->module = NULL;
  in->status = status;
  return n;
}

/* Registers, loads, compiles, reads and dumps, and frees the module that called it. */
Test(api_life, a_host_function_may_do_everything) {
  for (size_t k = 0; k < n_kinds(); k++)
    for (unsigned threads = 1; threads <= 2; threads++) {
      inside in = {.status = HIA_INTERNAL};
      hia_engine_options options = options_of(kinds[k]);
      options.threads = threads;
      cr_assert_eq(hia_engine_new(&options, &in.engine, NULL), HIA_OK);
      hia_host_function host = HIA_HOST_FUNCTION_INIT;
      host.declaration = "extern impure fn meddle(n: i32) -> i32";
      host.function = (void (*)(void))meddle;
      host.takes_user = true;
      host.user = &in;
      cr_assert_eq(hia_engine_register(in.engine, &host, NULL), HIA_OK);
      static const char mine[] = "extern impure fn meddle(n: i32) -> i32\n"
                                 "fn fail_at(n: i32) -> i32 = if n == 0 then 1 / n else n\n"
                                 "fn main(n: i32) -> i32 = fail_at(meddle(n) - 162) + meddle(0)\n";
      for (int32_t n = 2; n <= 3; n++) {
        in.calls = 0;
        cr_assert_eq(hia_module_load_text(in.engine, "m", mine, strlen(mine), &in.module, NULL),
                     HIA_OK);
        hia_function *f = find_function(in.module, "main");
        hia_value *arg = hia_value_i32(in.engine, n), *result;
        hia_error *error;
        hia_status status = hia_call(f, &arg, 1, &result, &error);
        if (n == 3) in.status = HIA_OK; /* `triple` is registered already */
        cr_assert_eq(in.status, HIA_OK, "engine %zu: %s", k, hia_status_word(in.status));
        cr_assert_null(in.module);
        int32_t x = -1;
        if (n == 2) { /* 2 * 81 - 162 */
          cr_assert_eq(status, HIA_DIV_ZERO);
          cr_assert_not_null(strstr(hia_error_text(error), "m:2:46"), "%s", hia_error_text(error));
        } else {
          cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
          hia_value_get_i32(result, &x);
          cr_assert_eq(x, 3 * 9 - 162);
        }
        hia_error_free(error);
        hia_value_free(result);
        hia_value_free(arg);
      }
      hia_engine_free(in.engine);
    }
}

/* ---- errors ---- */

Test(api_life, errors_and_values_outlive_the_engine) {
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = options_of(HIA_ENGINE_INTERP);
  options.allocator = &heap.allocator;
  program p = open_program(&options, text, "half");
  hia_value *args[2] = {hia_value_i32(p.engine, 1), hia_value_i32(p.engine, 0)}, *result;
  hia_error *failed, *rejected, *refused;
  hia_module *module;
  cr_assert_eq(hia_call(p.function, args, 2, &result, &failed), HIA_DIV_ZERO);
  cr_assert_eq(hia_call(p.function, args, 1, &result, &refused), HIA_ARGUMENT);
  cr_assert_eq(hia_module_load_text(p.engine, "bad", "fn f() = g()", 12, &module, &rejected),
               HIA_REJECTED);
  close_program(&p);
  cr_assert_not_null(strstr(hia_error_text(failed), "a / b"), "%s", hia_error_text(failed));
  cr_assert_eq(hia_error_chain_length(failed), 1);
  cr_assert_not_null(strstr(hia_error_text(rejected), "g()"), "%s", hia_error_text(rejected));
  cr_assert_eq(hia_error_status(refused), HIA_ARGUMENT);
  char printed[16];
  cr_assert_eq(hia_value_format(args[0], printed, sizeof printed), 1);
  hia_error_free(failed);
  hia_error_free(rejected);
  hia_error_free(refused);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  cr_assert_eq(heap.blocks, 0);
}

typedef hia_status (*half_fn)(hia_context *, int32_t, int32_t, int32_t *);
typedef hia_status (*deep_fn)(hia_context *, int32_t, int32_t *);

/* The error of a call is freed when the next call begins, even if that one succeeds, with all that
 * it refers to. */
Test(api_life, the_next_call_forgets_the_error) {
  NEEDS_NATIVE;
  program p = open_program(NULL, text, "deep");
  hia_context *context;
  hia_native_fn half, deep;
  int32_t x;
  cr_assert_eq(hia_engine_context_new(p.engine, &context, NULL), HIA_OK);
  cr_assert_eq(hia_function_entry(p.function, &deep, NULL), HIA_OK);
  for (int round = 0; round < 3; round++) {
    hia_module *gone;
    cr_assert_eq(hia_module_load_text(p.engine, "gone", text, strlen(text), &gone, NULL), HIA_OK);
    cr_assert_eq(hia_function_entry(find_function(gone, "half"), &half, NULL), HIA_OK);
    for (int i = 0; i < 3; i++) {
      cr_assert_eq(((half_fn)half)(context, 7, 0, &x), HIA_DIV_ZERO);
      if (round == 1) cr_assert_eq(hia_error_status(hia_context_error(context)), HIA_DIV_ZERO);
      cr_assert_eq(((half_fn)half)(context, 7, 2, &x), HIA_OK);
      cr_assert_null(hia_context_error(context));
    }
    cr_assert_eq(((half_fn)half)(context, 7, 0, &x), HIA_DIV_ZERO);
    if (round == 2) cr_assert_eq(hia_error_status(hia_context_error(context)), HIA_DIV_ZERO);
    hia_module_free(gone);
    cr_assert_eq(((deep_fn)deep)(context, round == 1 ? 100000 : 3, &x), HIA_OK);
    cr_assert_null(hia_context_error(context));
  }
  hia_context_free(context);
  close_program(&p);
}

/* ---- single runs ---- */

/* Their statistics never contain those of another run. */
Test(api_life, statistics_of_what_did_not_run) {
  hia_engine_options options = options_of(HIA_ENGINE_INTERP);
  program p = open_program(&options, text, "fib");
  hia_function *fact = find_function(p.module, "fact");
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  run.stats = &stats;
  run.has_fuel = true;
  run.fuel = 1000;
  hia_value *wrong = hia_value_bool(p.engine, true), *result;
  for (int i = 0; i < 3; i++) {
    cr_assert_str_eq(give(p.function, hia_value_i32(p.engine, 10), &run), "89");
    cr_assert(stats.firings > 0 && stats.is_fuelled && stats.fuel_left == 1000 - 176);
    hia_status status = i == 0   ? hia_run(p.function, &wrong, 1, &run, &result, NULL)
                        : i == 1 ? hia_run(fact, &wrong, 1, &run, &result, NULL)
                                 : hia_run(p.function, &wrong, 1, &run, NULL, NULL);
    cr_assert_eq(status, i == 1 ? HIA_REJECTED : HIA_ARGUMENT);
    cr_assert(stats.firings == 0 && stats.run_ns == 0 && !stats.is_fuelled && !stats.fuel_left);
    cr_assert_eq(stats.size, sizeof stats);
  }
  hia_value_free(wrong);
  close_program(&p);
}

Test(api_life, limits_of_single_runs) {
  for (size_t k = 0; k < n_kinds(); k++) {
    hia_engine_options options = options_of(kinds[k]);
    program p = open_program(&options, text, "deep");
    hia_run_options run = HIA_RUN_OPTIONS_INIT;
    hia_value *n = hia_value_i32(p.engine, 50000);
    cr_assert_str_eq(give(p.function, n, &run), "50000");
    run.max_depth = 100000;
    n = hia_value_i32(p.engine, 50000);
    const char *said = give(p.function, n, &run);
    cr_assert_not_null(strstr(said, "more than 100000 bytes of"), "%s", said);
    run.max_depth = 0;
    run.max_memory = 100000;
    n = hia_value_i32(p.engine, 50000);
    said = give(p.function, n, &run);
    if (kinds[k] == HIA_ENGINE_JIT)
      cr_assert_str_eq(said, "50000");
    else
      cr_assert_not_null(strstr(said, "more than 100000 bytes"), "%s", said);
    close_program(&p);

    /* The engine's limit applies if it is lower. */
    options.max_depth = 50000;
    p = open_program(&options, text, "deep");
    run = (hia_run_options)HIA_RUN_OPTIONS_INIT;
    run.max_depth = (size_t)1 << 30;
    n = hia_value_i32(p.engine, 50000);
    said = give(p.function, n, &run);
    cr_assert_not_null(strstr(said, "more than 50000 bytes of"), "%s", said);
    close_program(&p);
  }
}

/* ---- the caller's stack ---- */

static char *nested(const char *before, const char *open, const char *middle, const char *close,
                    int n) {
  test_text t = {0};
  test_text_take(&t, before, strlen(before));
  for (int i = 0; i < n; i++) test_text_take(&t, open, strlen(open));
  test_text_take(&t, middle, strlen(middle));
  for (int i = 0; i < n; i++) test_text_take(&t, close, strlen(close));
  return t.data;
}

static void load_run_and_dump(hia_engine *engine, const char *source) {
  hia_module *module;
  hia_error *error;
  hia_value *n, *result;
  cr_assert_eq(hia_module_load_text(engine, "deep", source, strlen(source), &module, &error),
               HIA_OK, "%s", hia_error_text(error));
  hia_function *f = find_function(module, "f");
  cr_assert_eq(hia_value_parse(f, 0, "((((3))))", &n, NULL), HIA_OK);
  cr_assert_eq(hia_call(f, &n, 1, &result, &error), HIA_OK, "%s", hia_error_text(error));
  hia_value_free(result);
  hia_value_free(n);
  for (int stage = HIA_STAGE_AST; stage <= HIA_STAGE_STATIC; stage++) {
    hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
    options.stage = (hia_stage)stage;
    test_text t = {0};
    cr_assert_eq(hia_module_dump(module, &f, 1, &options, test_text_take, &t, NULL), HIA_OK);
    test_text_free(&t);
  }
  hia_module_free(module);
}

/* The deepest possible type, made and printed. */
static void nest_a_value(hia_engine *engine) {
  hia_value *one = hia_value_i32(engine, 1), *value = hia_value_i32(engine, 0);
  for (int i = 1; i < 1000; i++) {
    hia_value *parts[2] = {value, one};
    hia_value *more = hia_value_tuple(engine, parts, 2);
    cr_assert_not_null(more);
    hia_value_free(value);
    value = more;
  }
  char printed[8];
  cr_assert_eq(hia_value_format(value, printed, sizeof printed), 999 * 5 + 1);
  cr_assert_eq(hia_value_format_type(value, printed, sizeof printed), 999 * 7 + 3);
  hia_value_free(value);
  hia_value_free(one);
}

static void *use_little_stack(void *user) {
  hia_engine *engine;
  hia_engine_options options = options_of(*(const hia_engine_kind *)user);
  options.opt_level = 0;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  static const char *const forms[][3] = {
      {"(", "n", ")"},
      {"1 + (", "n", ")"},
      {"if n > 1 then (", "n", ") else n"},
      {"if n < 1 then n else ", "n", ""},
      {"{ let x = ", "n", "; x }"},
      {"loop (x = n) while x > 5 { ", "x - 1", " }"},
  };
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    static const int most[] = {1900, 950, 950, 1900, 1900, 1400};
    int n = options.kind == HIA_ENGINE_JIT ? 150 : most[i];
    char *text_of = nested("fn f(n: i32) -> i32 = ", forms[i][0], forms[i][1], forms[i][2], n);
    load_run_and_dump(engine, text_of);
    free(text_of);
  }
  hia_module *module;
  char *too_deep = nested("fn f() = ", "(", "1", ")", 100000);
  cr_assert_eq(hia_module_load_text(engine, "t", too_deep, strlen(too_deep), &module, NULL),
               HIA_REJECTED);
  free(too_deep);
  hia_builder *b;
  cr_assert_eq(hia_builder_new(engine, "built", &b, NULL), HIA_OK);
  hia_build_fn f = hia_build_declare(b, "f(n: i32) -> i32");
  hia_build_begin(b, f);
  hia_build_value n = hia_build_param(b, f, 0), one = hia_build_i32(b, 1);
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) hia_build_if(b, hia_build_lt(b, n, one));
  hia_build_value sum = n;
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
    hia_build_else(b, sum);
    sum = hia_build_end_if(b, hia_build_add(b, n, one));
  }
  hia_build_return(b, sum);
  cr_assert_eq(hia_builder_finish(b, &module, NULL), HIA_OK);
  hia_module_free(module);
  hia_builder_free(b);
  nest_a_value(engine);
  hia_engine_free(engine);
  return NULL;
}

/* However deep a program nests, the thread that loads it needs no more stack. */
Test(api_life, threads_with_little_stack) {
#if defined(HIA_ASAN) || defined(HIA_TSAN)
  size_t size = (size_t)1 << 20; /* frames are larger, and what is called needs more */
#else
  size_t size = (size_t)64 << 10;
#endif
  for (size_t k = 0; k < n_kinds(); k++) {
    hia_engine_kind kind = kinds[k];
    pthread_attr_t attributes;
    pthread_t thread;
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, size), 0);
    cr_assert_eq(pthread_create(&thread, &attributes, use_little_stack, &kind), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
  }
}
