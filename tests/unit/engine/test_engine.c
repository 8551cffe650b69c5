/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The public API: the results of valid and of invalid requests. What errors say of a program:
 * test_engine_errors.c. */
#include "tests/unit/helpers/engine.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

#include <pthread.h>
#include <stdlib.h>

Test(engine, calls) {
  for (size_t k = first_kind(); k < 3; k++) {
    hia_engine *engine = new_engine(kinds[k]);
    hia_module *module = load_module(engine, "test.hia", fib_text);
    hia_function *fib = find_function(module, "fib");
    hia_value *n = hia_value_i32(engine, 15), *result;
    hia_error *error;
    int32_t x;
    cr_assert_eq(hia_call(fib, &n, 1, &result, &error), HIA_OK, "%s", hia_error_text(error));
    cr_assert_eq(hia_value_get_i32(result, &x), HIA_OK);
    cr_assert_eq(x, 987);
    hia_value_free(result);
    hia_value_free(n);
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

Test(engine, generic_functions) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module = load_module(engine, "test.hia", fib_text);
  hia_function *fact = find_function(module, "fact"), *at_i64 = find_function(module, "fact(i64)"),
               *instance;
  hia_value *small = hia_value_i32(engine, 5), *large = hia_value_i64(engine, 20), *result;
  hia_error *error;
  cr_assert(hia_function_is_generic(fact));
  cr_assert_not(hia_function_is_generic(at_i64));
  cr_assert_str_eq(hia_function_signature(fact), "fact(n)");
  cr_assert_str_eq(hia_function_signature(at_i64), "fact(n: i64) -> i64");
  cr_assert_str_eq(hia_function_name(at_i64), "fact(i64)");
  cr_assert_eq(find_function(module, "fact ( i64 ) "), at_i64, "white space does not matter");
  cr_assert_eq(hia_call(fact, &small, 1, &result, &error), HIA_OK);
  cr_assert_str_eq(format(result), "120");
  hia_value_free(result);
  cr_assert_eq(hia_call(fact, &large, 1, &result, &error), HIA_OK);
  cr_assert_str_eq(format(result), "2432902008176640000");
  hia_value_free(result);
  cr_assert_eq(hia_function_instance(fact, &large, 1, &instance, &error), HIA_OK);
  cr_assert_eq(instance, at_i64, "asking again gives the same");
  expect_error(hia_function_prepare(fact, &error), &error, HIA_ARGUMENT, "generic");
  expect_error(hia_call(at_i64, &small, 1, &result, &error), &error, HIA_ARGUMENT,
               "is of type i32");
  hia_value_free(small);
  hia_value_free(large);
  hia_module_free(module);
  hia_engine_free(engine);
}

static hia_function_stats stats_of(const hia_function *function) {
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  cr_assert_eq(hia_function_get_stats(function, &stats), HIA_OK);
  return stats;
}

Test(engine, statistics_of_functions) {
  for (size_t k = first_kind(); k < 3; k++) {
    hia_engine *engine = new_engine(kinds[k]);
    hia_module *module = load_module(engine, "test.hia", fib_text);
    hia_function *fact = find_function(module, "fact"),
                 *at_i64 = find_function(module, "fact(i64)");
    hia_value *n = hia_value_i64(engine, 5), *result;
    cr_assert_eq(stats_of(at_i64).tier, HIA_TIER_NONE);
    cr_assert_eq(hia_function_prepare(at_i64, NULL), HIA_OK);
    cr_assert_eq(stats_of(at_i64).runs, 0);
    for (int i = 0; i < 3; i++) {
      cr_assert_eq(hia_call(i == 1 ? at_i64 : fact, &n, 1, &result, NULL), HIA_OK);
      hia_value_free(result);
    }
    hia_function_stats stats = stats_of(at_i64);
    bool is_native = kinds[k] == HIA_ENGINE_JIT;
    cr_assert_eq(stats.runs, 3);
    cr_assert_eq(stats.tier, is_native ? HIA_TIER_NATIVE : HIA_TIER_IMAGE);
    cr_assert_eq(stats.code_bytes > 0, is_native);
    cr_assert_eq(stats.image_bytes > 0, !is_native);
    cr_assert_gt(stats.parse_ns, 0);
    cr_assert_gt(stats.build_ns, 0);
    cr_assert_eq(stats_of(fact).runs, 0);
    cr_assert_eq(stats_of(fact).tier, HIA_TIER_NONE);
    hia_value_free(n);
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

Test(engine, tuples) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module = load_module(engine, "test.hia", fib_text);
  hia_value *parts[2] = {hia_value_i32(engine, 7), hia_value_f64(engine, 0.5)};
  hia_value *pair = hia_value_tuple(engine, parts, 2), *result, *part;
  hia_error *error;
  char type[32];
  cr_assert_eq(hia_value_len(pair), 2);
  cr_assert_eq(hia_call(find_function(module, "swap"), &pair, 1, &result, &error), HIA_OK);
  cr_assert_str_eq(format(result), "(0.5, 7)");
  hia_value_format_type(result, type, sizeof type);
  cr_assert_str_eq(type, "(f64, i32)");
  part = hia_value_part(result, 1);
  int32_t x;
  double y;
  cr_assert_eq(hia_value_get_i32(part, &x), HIA_OK);
  cr_assert_eq(x, 7);
  cr_assert_eq(hia_value_get_f64(part, &y), HIA_ARGUMENT);
  cr_assert_null(hia_value_part(result, 2));
  cr_assert_null(hia_value_part(part, 0));
  cr_assert_eq(hia_value_len(part), 0);
  hia_value *bad[2] = {part, NULL};
  cr_assert_null(hia_value_tuple(engine, bad, 2));
  cr_assert_null(hia_value_tuple(engine, bad, 1));
  hia_value_free(part);
  hia_value_free(result);
  cr_assert_eq(hia_value_parse(find_function(module, "swap"), 0, "(1, 2)", &result, &error),
               HIA_OK);
  cr_assert_str_eq(format(result), "(1, 2.0)");
  hia_value_free(result);
  expect_error(hia_value_parse(find_function(module, "swap"), 0, "(1, ", &result, &error), &error,
               HIA_ARGUMENT, "argument 1");
  for (int i = 0; i < 2; i++) hia_value_free(parts[i]);
  hia_value_free(pair);
  hia_module_free(module);
  hia_engine_free(engine);
}

Test(engine, printing_is_cut_like_snprintf) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_value *value = hia_value_i64(engine, 1234567890123);
  char text[5];
  cr_assert_eq(hia_value_format(value, NULL, 0), 13);
  cr_assert_eq(hia_value_format(value, text, sizeof text), 13);
  cr_assert_str_eq(text, "1234");
  hia_value_free(value);
  hia_engine_free(engine);
}

Test(engine, null_and_nonsense) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module = load_module(engine, "test.hia", fib_text), *out;
  hia_function *fib = find_function(module, "fib"), *function;
  hia_value *n = hia_value_i32(engine, 1), *none = NULL, *result;
  hia_error *error;
  expect_error(hia_engine_new(NULL, NULL, &error), &error, HIA_ARGUMENT, "engine");
  expect_error(hia_module_load_text(NULL, "", "", 0, &out, &error), &error, HIA_ARGUMENT, "engine");
  cr_assert_null(out);
  expect_error(hia_module_load_text(engine, "", NULL, 1, &out, &error), &error, HIA_ARGUMENT,
               "text");
  expect_error(hia_module_load_file(engine, NULL, &out, &error), &error, HIA_ARGUMENT, "path");
  expect_error(hia_module_load_file(engine, "/nonexistent", &out, &error), &error, HIA_IO,
               "/nonexistent");
  expect_error(hia_module_function(NULL, "f", &function, &error), &error, HIA_ARGUMENT, "module");
  expect_error(hia_call(NULL, NULL, 0, &result, &error), &error, HIA_ARGUMENT, "function");
  expect_error(hia_call(fib, NULL, 0, &result, &error), &error, HIA_ARGUMENT, "1 argument");
  expect_error(hia_call(fib, NULL, 1, &result, &error), &error, HIA_ARGUMENT, "argument");
  expect_error(hia_call(fib, &none, 1, &result, &error), &error, HIA_ARGUMENT, "argument 1");
  expect_error(hia_call(fib, &n, 1, NULL, &error), &error, HIA_ARGUMENT, "result");
  expect_error(hia_value_parse(fib, 1, "1", &result, &error), &error, HIA_ARGUMENT, "parameter");
  cr_assert_null(hia_value_i32(NULL, 1));
  cr_assert_eq(hia_value_get_i32(NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_value_len(NULL), 0);
  cr_assert_eq(hia_value_format(NULL, NULL, 0), 0);
  cr_assert_str_eq(hia_error_text(NULL), "");
  cr_assert_eq(hia_error_status(NULL), HIA_OK);
  hia_error_free(NULL);
  hia_value_free(NULL);
  hia_module_free(NULL);
  hia_engine_free(NULL);
  hia_value_free(n);
  hia_module_free(module);
  hia_engine_free(engine);
}

Test(engine, names_that_are_none) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module = load_module(engine, "test.hia", fib_text);
  hia_function *function;
  hia_error *error;
  static const struct {
    const char *name;
    hia_status status;
    const char *words;
  } cases[] = {
      {"fob", HIA_NOT_FOUND, "fib"},         {"", HIA_NOT_FOUND, "no function"},
      {"fib(i64)", HIA_ARGUMENT, "i32"},     {"fact(i32, i32)", HIA_ARGUMENT, "1 parameter"},
      {"fact(", HIA_ARGUMENT, "types"},      {"fact()", HIA_ARGUMENT, "1 parameter"},
      {"fact(i33)", HIA_ARGUMENT, "types"},  {"fact((i32))", HIA_ARGUMENT, "types"},
      {"fact(i32)x", HIA_ARGUMENT, "types"}, {"fact(bool)", HIA_REJECTED, "error"},
      {"fib fib", HIA_NOT_FOUND, "fib fib"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hia_status status = hia_module_function(module, cases[i].name, &function, &error);
    cr_assert_null(function);
    expect_error(status, &error, cases[i].status, cases[i].words);
  }
  /* Deeper and larger than types may be. */
  size_t n = 100000;
  char *deep = malloc(n + 8);
  memcpy(deep, "fact(", 5);
  memset(deep + 5, '(', n);
  deep[5 + n] = 0;
  expect_error(hia_module_function(module, deep, &function, &error), &error, HIA_ARGUMENT, "types");
  free(deep);
  hia_module_free(module);
  hia_engine_free(engine);
}

Test(engine, options_of_other_versions) {
  struct {
    hia_engine_options options;
    size_t more;
  } later = {HIA_ENGINE_OPTIONS_INIT, 0};
  hia_engine *engine;
  hia_error *error;
  later.options.size = sizeof later;
  cr_assert_eq(hia_engine_new(&later.options, &engine, &error), HIA_OK, "nothing new is asked for");
  hia_engine_free(engine);
  later.more = 1;
  expect_error(hia_engine_new(&later.options, &engine, &error), &error, HIA_ARGUMENT,
               "another version");
  hia_engine_options earlier = HIA_ENGINE_OPTIONS_INIT;
  earlier.size = offsetof(hia_engine_options, opt_level);
  earlier.opt_level = 99; /* beyond what it has */
  cr_assert_eq(hia_engine_new(&earlier, &engine, &error), HIA_OK);
  hia_engine_free(engine);
  earlier.size = 0;
  expect_error(hia_engine_new(&earlier, &engine, &error), &error, HIA_ARGUMENT, "another version");
}

Test(engine, options_without_sense) {
  hia_engine *engine;
  hia_error *error;
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  o.disabled_passes = "cse,nosuch";
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "nosuch");
  o = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  o.opt_level = 4;
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "level");
  o = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  o.kind = (hia_engine_kind)7;
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "engine");
  o = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  o.threads = 1000000;
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "threads");
  o = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  o.batching = (hia_batching)(HIA_BATCH_ALL + 1);
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "batching");
  o = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  o.flags = HIA_FLAG_VERIFY | HIA_FLAG_PROFILE_MEMORY << 1;
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "flags 0x4020");
  hia_allocator incomplete = {0};
  o = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  o.allocator = &incomplete;
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "allocator");
}

/* ---- dumps ---- */

Test(engine, dumps_read_back_and_run) {
  static const hia_stage stages[] = {HIA_STAGE_GRAPH, HIA_STAGE_STATIC};
  for (size_t i = 0; i < 2; i++)
    for (size_t k = first_kind(); k < 3; k++) {
      hia_engine *engine = new_engine(kinds[k]);
      hia_module *module = load_module(engine, "test.hia", fib_text), *again;
      hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
      hia_error *error;
      test_text t = {0}, second = {0};
      options.stage = stages[i];
      hia_status status = hia_module_dump(module, NULL, 0, &options, test_text_take, &t, &error);
      cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
      status = hia_module_load_ir(engine, "dump", t.data, t.len, &again, &error);
      cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
      cr_assert_eq(hia_module_dump(again, NULL, 0, &options, test_text_take, &second, &error),
                   HIA_OK);
      cr_assert_str_eq(second.data, t.data);
      hia_value *n = hia_value_i32(engine, 15), *result;
      status = hia_call(find_function(again, "fib"), &n, 1, &result, &error);
      cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
      cr_assert_str_eq(format(result), "987");
      hia_value_free(result);
      hia_value_free(n);
      n = hia_value_i32(engine, 3);
      cr_assert_eq(hia_call(find_function(again, "deep"), &n, 1, &result, &error), HIA_DIV_ZERO);
      cr_assert_eq(hia_error_line(error, 0), 4, "positions are of the source");
      hia_error_free(error);
      hia_value_free(n);
      test_text_free(&t);
      test_text_free(&second);
      hia_module_free(again);
      hia_module_free(module);
      hia_engine_free(engine);
    }
}

Test(engine, dumps_that_make_no_sense) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module = load_module(engine, "test.hia", fib_text),
             *other = load_module(engine, "test.hia", fib_text);
  hia_function *generic = find_function(module, "fact"), *foreign = find_function(other, "fib");
  hia_dump_options o = HIA_DUMP_OPTIONS_INIT;
  hia_error *error;
  expect_error(hia_module_dump(module, &generic, 1, &o, test_text_take, NULL, &error), &error,
               HIA_ARGUMENT, "generic");
  expect_error(hia_module_dump(module, &foreign, 1, &o, test_text_take, NULL, &error), &error,
               HIA_ARGUMENT, "not of this module");
  expect_error(hia_module_dump(module, NULL, 0, &o, test_text_refuse, NULL, &error), &error, HIA_IO,
               "written");
  expect_error(hia_module_dump(module, NULL, 0, &o, NULL, NULL, &error), &error, HIA_ARGUMENT,
               "write");
  o.after = "nosuch";
  o.stage = HIA_STAGE_GRAPH;
  expect_error(hia_module_dump(module, NULL, 0, &o, test_text_take, NULL, &error), &error,
               HIA_ARGUMENT, "nosuch");
  o = (hia_dump_options)HIA_DUMP_OPTIONS_INIT;
  o.stage = HIA_STAGE_LLVM;
  o.format = HIA_FORMAT_DOT;
  expect_error(hia_module_dump(module, NULL, 0, &o, test_text_take, NULL, &error), &error,
               HIA_ARGUMENT, "DOT");
  hia_module_free(other);
  hia_module_free(module);
  hia_engine_free(engine);
}

/* ---- threads ---- */

static void *call_many(void *user) {
  hia_module *module = user;
  hia_error *error;
  hia_function *fib;
  intptr_t wrong = hia_module_function(module, "fib", &fib, &error) != HIA_OK;
  for (int i = 0; !wrong && i < 50; i++) {
    hia_value *n, *result = NULL;
    int32_t x = 0;
    wrong |= hia_value_parse(fib, 0, "12", &n, &error) != HIA_OK;
    wrong |= hia_call(fib, &n, 1, &result, &error) != HIA_OK;
    wrong |= hia_value_get_i32(result, &x) != HIA_OK || x != 233;
    hia_value_free(result);
    hia_value_free(n);
  }
  return (void *)wrong;
}

Test(engine, many_threads_share_a_module) {
  for (size_t k = first_kind(); k < 2; k++) {
    hia_engine *engine = new_engine(kinds[k]);
    hia_module *module = load_module(engine, "test.hia", fib_text);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
      cr_assert_eq(pthread_create(&threads[i], NULL, call_many, module), 0);
    for (int i = 0; i < 8; i++) {
      void *wrong;
      pthread_join(threads[i], &wrong);
      cr_assert_null(wrong);
    }
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

/* ---- memory that runs out ---- */

/* All calls for one program; true if the last one was reached. */
static bool live(test_heap *heap, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.allocator = &heap->allocator;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *fib;
  hia_value *n = NULL, *result = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(&options, &engine, &error);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "t", fib_text, strlen(fib_text), &module, &error);
  if (status == HIA_OK) status = hia_module_function(module, "fib", &fib, &error);
  if (status == HIA_OK) status = hia_value_parse(fib, 0, "5", &n, &error);
  if (status == HIA_OK) status = hia_call(fib, &n, 1, &result, &error);
  cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s: %s", hia_status_word(status),
            hia_error_text(error));
  cr_assert(status != HIA_OK || result != NULL);
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(n);
  hia_module_free(module);
  hia_engine_free(engine);
  cr_assert_eq(heap->blocks, 0, "%ld blocks left over", (long)heap->blocks);
  cr_assert_eq(heap->bytes, 0);
  return status == HIA_OK;
}

Test(engine, every_request_for_memory_may_fail) {
  for (size_t k = first_kind(); k < 3; k++) {
    test_heap heap;
    test_heap_init(&heap, -1);
    cr_assert(live(&heap, kinds[k]));
    bool is_alive = false;
    for (long at = 0; !is_alive; at++) {
      cr_assert_lt(at, 100000);
      test_heap_init(&heap, at);
      is_alive = live(&heap, kinds[k]);
    }
  }
}

/* A failure whose chain of calls could not be read for lack of memory can be read the next time. */
Test(engine, a_chain_can_be_read_when_there_is_memory_again) {
  for (size_t k = first_kind(); k < 3; k++)
    for (long left = 0; left < 12; left++) {
      test_heap heap;
      test_heap_init(&heap, -1);
      hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
      options.kind = kinds[k];
      options.allocator = &heap.allocator;
      hia_engine *engine;
      cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
      hia_module *module = load_module(engine, "test.hia", fib_text);
      hia_function *deep = find_function(module, "deep");
      cr_assert_eq(hia_function_prepare(deep, NULL), HIA_OK);
      hia_value *n = hia_value_i32(engine, 1000), *result;
      hia_error *error;
      heap.left = left;
      hia_status status = hia_call(deep, &n, 1, &result, &error);
      heap.left = -1;
      cr_assert(status == HIA_DIV_ZERO || status == HIA_MEMORY, "%s", hia_status_word(status));
      hia_error_free(error);
      cr_assert_eq(hia_call(deep, &n, 1, &result, &error), HIA_DIV_ZERO);
      cr_assert_eq(hia_error_chain_length(error), 1001, "engine %zu, %ld: %s", k, left,
                   hia_error_text(error));
      hia_error_free(error);
      hia_value_free(n);
      hia_module_free(module);
      hia_engine_free(engine);
      cr_assert_eq(heap.blocks, 0);
    }
}
