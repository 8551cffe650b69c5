/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The public API: the results of valid and of invalid requests. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char fib_text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
    "fn swap(p: (i32, f64)) = (p.1, p.0)\n"
    "fn div(a: i32, b: i32) = a / b\n"
    "fn deep(n: i32) -> i32 = if n == 0 then div(1, n) else 1 + deep(n - 1)\n";

static const hia_engine_kind kinds[] = {HIA_ENGINE_JIT, HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND};

static hia_engine *new_engine(hia_engine_kind kind);

/* The first of `kinds` that this build has: without LLVM there is no native code. */
static size_t first_kind(void) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  size_t first = hia_engine_native(engine, NULL) == HIA_OK ? 0 : 1;
  hia_engine_free(engine);
  return first;
}

static hia_engine *new_engine(hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_error *error;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &engine, &error), HIA_OK);
  cr_assert_null(error);
  return engine;
}

/* There must be an error with this status, whose text contains these words. */
static void expect_error(hia_status status, hia_error **at, hia_status expected,
                         const char *words) {
  hia_error *error = *at;
  cr_assert_eq(status, expected, "%s: %s", hia_status_word(status), hia_error_text(error));
  cr_assert_not_null(error);
  cr_assert_eq(hia_error_status(error), expected);
  cr_assert_not_null(strstr(hia_error_text(error), words), "no '%s' in: %s", words,
                     hia_error_text(error));
  hia_error_free(error);
}

static const char *format(const hia_value *value) {
  static char text[256];
  hia_value_format(value, text, sizeof text);
  return text;
}

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

Test(engine, failures_name_the_element) {
  static const char text[] =
      "fn part(n: i64) = 12 / n\n"
      "fn row(j: i64) = [(j, part(i + j - 4)) for i in 0i64..j]\n"
      "fn main() = [row(j) for j in 0i64..10]\n"
      "fn table(n: i64) = [[(i, 5 / (i * j - 6)) for i in 0..n] for j in 0..n]\n";
  for (size_t k = first_kind(); k < 3; k++) {
    hia_engine *engine = new_engine(kinds[k]);
    hia_module *module = load_module(engine, "test.hia", text);
    hia_value *n = hia_value_i64(engine, 5), *result;
    hia_error *error;
    int64_t elements[2] = {-1, -1};
    cr_assert_eq(hia_call(find_function(module, "main"), NULL, 0, &result, &error), HIA_DIV_ZERO);
    cr_assert_eq(hia_error_chain_length(error), 3);
    cr_assert_eq(hia_error_chain_elements(error, 0, NULL, 0), 0, "the division is in none");
    cr_assert_eq(hia_error_chain_elements(error, 1, elements, 2), 1);
    cr_assert_eq(elements[0], 1);
    cr_assert_eq(elements[1], -1, "not written");
    cr_assert_eq(hia_error_chain_elements(error, 2, elements, 2), 1);
    cr_assert_eq(elements[0], 3);
    cr_assert_eq(hia_error_chain_elements(error, 3, elements, 2), 0, "there is no such entry");
    cr_assert_not_null(
        strstr(hia_error_text(error), "called from main at test.hia:3:14, element 3\n"), "%s",
        hia_error_text(error));
    hia_error_free(error);
    cr_assert_eq(hia_call(find_function(module, "table"), &n, 1, &result, &error), HIA_DIV_ZERO);
    cr_assert_eq(hia_error_chain_elements(error, 0, elements, 1), 2, "one of two is written");
    cr_assert_eq(elements[0], 2);
    cr_assert_eq(hia_error_chain_elements(error, 0, elements, 2), 2);
    cr_assert(elements[0] == 2 && elements[1] == 3);
    cr_assert_not_null(strstr(hia_error_text(error), ", element 2, 3\n"), "%s",
                       hia_error_text(error));
    hia_error_free(error);
    hia_value_free(n);
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

Test(engine, failures_carry_the_chain_of_calls) {
  for (size_t k = first_kind(); k < 3; k++) {
    hia_engine *engine = new_engine(kinds[k]);
    hia_module *module = load_module(engine, "test.hia", fib_text);
    hia_value *n = hia_value_i32(engine, 1000), *result;
    hia_error *error;
    cr_assert_eq(hia_call(find_function(module, "deep"), &n, 1, &result, &error), HIA_DIV_ZERO);
    cr_assert_null(result);
    cr_assert_str_eq(hia_error_code(error, 0), "div-zero");
    cr_assert_str_eq(hia_error_file(error, 0), "test.hia");
    cr_assert_eq(hia_error_line(error, 0), 4);
    /* div, whose call is a tail call, and a thousand pending additions. */
    cr_assert_eq(hia_error_chain_length(error), 1001, "engine %zu: %zu", k,
                 (size_t)hia_error_chain_length(error));
    const char *function, *file;
    uint32_t line, col;
    cr_assert(hia_error_chain_entry(error, 0, &function, &file, &line, &col));
    cr_assert_str_eq(function, "div");
    cr_assert_eq(line, 4);
    cr_assert(hia_error_chain_entry(error, 1000, &function, NULL, &line, NULL));
    cr_assert_str_eq(function, "deep");
    cr_assert_eq(line, 5);
    cr_assert_not(hia_error_chain_entry(error, 500, NULL, NULL, NULL, NULL), "not kept");
    cr_assert_not(hia_error_chain_entry(error, 1001, &function, NULL, NULL, NULL));
    cr_assert_str_eq(function, "");
    cr_assert_not_null(strstr(hia_error_text(error), "981 calls more"), "%s",
                       hia_error_text(error));
    hia_error_free(error);
    hia_value_free(n);
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

Test(engine, rejected_programs_list_their_mistakes) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module;
  hia_error *error;
  const char *text = "fn f(x: i32) = y\nfn g(x: i32) = z\n";
  cr_assert_eq(hia_module_load_text(engine, NULL, text, strlen(text), &module, &error),
               HIA_REJECTED);
  cr_assert_null(module);
  cr_assert_eq(hia_error_count(error), 2);
  cr_assert_eq(hia_error_line(error, 0), 1);
  cr_assert_eq(hia_error_line(error, 1), 2);
  cr_assert_eq(hia_error_code(error, 0)[0], 'E');
  cr_assert_str_eq(hia_error_message(error, 2), "", "there is no third");
  hia_error_free(error);
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

/* The range of an entry, its notes, and the number of errors beyond the entries. */
Test(engine, entries_of_an_error) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module;
  hia_error *error;
  const char *message, *file, *text = "fn f(x: i32) = xyz + 1\nfn g(n: i32,\n n: i32) = 1\n";
  uint32_t line, col;
  cr_assert_eq(hia_module_load_text(engine, "e.hia", text, strlen(text), &module, &error),
               HIA_REJECTED);
  cr_assert_eq(hia_error_count(error), 2);
  cr_assert_eq(hia_error_col(error, 0), 16);
  cr_assert_eq(hia_error_end_col(error, 0), 19);
  cr_assert_eq(hia_error_note_count(error, 0), 0);
  cr_assert_not(hia_error_note(error, 0, 0, &message, &file, &line, &col));
  cr_assert_str_eq(message, "");
  cr_assert_str_eq(file, "");
  cr_assert_eq(line + col, 0);
  cr_assert_eq(hia_error_line(error, 1), 3);
  cr_assert_eq(hia_error_end_col(error, 1), 3);
  cr_assert_eq(hia_error_note_count(error, 1), 1);
  cr_assert(hia_error_note(error, 1, 0, &message, &file, &line, &col));
  cr_assert_str_eq(message, "first here");
  cr_assert_str_eq(file, "e.hia");
  cr_assert_eq(line, 2);
  cr_assert_eq(col, 6);
  cr_assert(hia_error_note(error, 1, 0, NULL, NULL, NULL, NULL));
  cr_assert_not(hia_error_note(error, 1, 1, NULL, NULL, NULL, NULL));
  cr_assert_eq(hia_error_n_left_out(error), 0);
  hia_error_free(error);

  char many[60 * 24] = "";
  for (int i = 0; i < 60; i++) sprintf(many + strlen(many), "fn q%d() = x%d\n", i, i);
  cr_assert_eq(hia_module_load_text(engine, NULL, many, strlen(many), &module, &error),
               HIA_REJECTED);
  cr_assert_eq(hia_error_count(error), 50);
  cr_assert_eq(hia_error_n_left_out(error), 10);
  hia_error_free(error);
  hia_engine_free(engine);
}

/* An expression with a program, or alone: its value, and the positions of failures in both. */
Test(engine, expressions) {
  for (int kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_EXPAND; kind++) {
    hia_engine *engine = new_engine((hia_engine_kind)kind);
    hia_module *module;
    hia_function *f;
    hia_value *result;
    hia_error *error;
    const char *function, *file,
        *text = "fn half(n: i32) -> i32 = 1 + 10 / n # \n\nfn main() = half(0)";
    uint32_t line, col;
    cr_assert_eq(hia_module_load_expression(engine, "h.hia", text, strlen(text),
                                            "half(5) +\n  half(half(10) - 2)", &module, &error),
                 HIA_OK, "%s", hia_error_text(error));
    f = find_function(module, HIA_EXPRESSION);
    cr_assert_str_eq(hia_function_signature(f), "<expr>() -> i32");
    cr_assert_eq(find_function(module, "<expr>()"), f);
    hia_status status = hia_call(f, NULL, 0, &result, &error);
    if (status == HIA_UNSUPPORTED) { /* without native code */
      hia_error_free(error);
    } else {
      cr_assert_eq(status, HIA_DIV_ZERO);
      cr_assert_str_eq(hia_error_file(error, 0), "h.hia");
      cr_assert_eq(hia_error_line(error, 0), 1);
      cr_assert_eq(hia_error_chain_length(error), 2);
      cr_assert(hia_error_chain_entry(error, 0, &function, &file, &line, &col));
      cr_assert_str_eq(function, "half");
      cr_assert_str_eq(file, "h.hia");
      cr_assert(hia_error_chain_entry(error, 1, &function, &file, &line, &col));
      cr_assert_str_eq(function, "<expr>");
      cr_assert_str_eq(file, "<expr>");
      cr_assert_eq(line, 2);
      cr_assert_eq(col, 3);
      cr_assert_not_null(strstr(hia_error_text(error), "h.hia:1:33: error[div-zero]"));
      cr_assert_not_null(strstr(hia_error_text(error), "called from <expr> at <expr>:2:3"));
      hia_error_free(error);
    }
    hia_module_free(module);

    cr_assert_eq(hia_module_load_expression(engine, NULL, "", 0, "7 / (1 - 1)", &module, &error),
                 HIA_OK);
    f = find_function(module, HIA_EXPRESSION);
    if (hia_call(f, NULL, 0, &result, &error) == HIA_DIV_ZERO)
      cr_assert_str_eq(hia_error_text(error), "<expr>:1:3: error[div-zero]: division by zero\n"
                                              "    1 | 7 / (1 - 1)\n"
                                              "      |   ^\n"
                                              "  in <expr> at <expr>:1:3\n");
    hia_error_free(error);
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

/* Hints as changes of the source: a range of bytes, which may be empty, and which may be in another
 * file than the error. */
Test(engine, fixes) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module;
  hia_error *error;
  const char *fix = NULL, *file = NULL;
  uint32_t line, col, end_line, end_col;
  const char *text = "fn f(n: i64, m: i32) = {\n  n +\n  (m * 2 + # times two\n   1) }\n"
                     "fn g() = h";
  cr_assert_eq(hia_module_load_text(engine, "e.hia", text, strlen(text), &module, &error),
               HIA_REJECTED);
  cr_assert_eq(hia_error_count(error), 2);
  cr_assert_str_eq(hia_error_hint(error, 0), "write i64(...)");
  cr_assert_not(hia_error_fix(error, 0, &fix, &file, &line, &col, &end_line, &end_col));
  cr_assert_str_eq(fix, "");
  cr_assert_str_eq(file, "");
  cr_assert_eq(line + col + end_line + end_col, 0);
  cr_assert_not(hia_error_fix(error, 1, &fix, NULL, NULL, NULL, NULL, NULL), "no hint");
  cr_assert_not(hia_error_fix(error, 2, &fix, NULL, NULL, NULL, NULL, NULL), "no entry");
  hia_error_free(error);

  text = "fn f(n: i64, m: i32) =\n  n + m * 2";
  cr_assert_eq(hia_module_load_text(engine, "e.hia", text, strlen(text), &module, &error),
               HIA_REJECTED);
  cr_assert(hia_error_fix(error, 0, &fix, &file, &line, &col, &end_line, &end_col));
  cr_assert_str_eq(fix, "i64(m * 2)");
  cr_assert_str_eq(file, "e.hia");
  cr_assert(line == 2 && col == 7 && end_line == 2 && end_col == 12);
  cr_assert(hia_error_fix(error, 0, NULL, NULL, NULL, NULL, NULL, NULL));
  hia_error_free(error);

  text = "fn f() = 1\nfn g() = 0.1\n";
  cr_assert_eq(hia_module_load_expression(engine, "e.hia", text, strlen(text), "2f64 * g()",
                                          &module, &error),
               HIA_REJECTED);
  cr_assert_str_eq(hia_error_file(error, 0), HIA_EXPRESSION);
  cr_assert(hia_error_fix(error, 0, &fix, &file, &line, &col, &end_line, &end_col));
  cr_assert_str_eq(fix, " -> f64");
  cr_assert_str_eq(file, "e.hia");
  cr_assert(line == 2 && col == 7 && end_line == 2 && end_col == 7);
  hia_error_free(error);

  cr_assert_eq(hia_module_load_expression(engine, "e.hia", text, strlen(text), "\n 2f64 * 1i32",
                                          &module, &error),
               HIA_REJECTED);
  cr_assert(hia_error_fix(error, 0, &fix, &file, &line, &col, &end_line, &end_col));
  cr_assert_str_eq(file, HIA_EXPRESSION);
  cr_assert(line == 2 && col == 9 && end_line == 2 && end_col == 13);
  hia_error_free(error);
  hia_engine_free(engine);
}

/* Errors in both, in the order of the text, each with its file. */
Test(engine, wrong_expressions) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  hia_module *module;
  hia_error *error;
  const char *file, *text = "fn f(n: i32) = m\n\nfn g(n: i32) = n";
  uint32_t line, col;
  cr_assert_eq(hia_module_load_expression(engine, "p.hia", text, strlen(text), "\n g(1, 2)",
                                          &module, &error),
               HIA_REJECTED);
  cr_assert_str_eq(hia_error_text(error),
                   "p.hia:1:16: error[E0201]: unknown name 'm'\n"
                   "    1 | fn f(n: i32) = m\n"
                   "      |                ^\n"
                   "<expr>:2:2: error[E0203]: 'g' takes 1 argument (n), not 2\n"
                   "    2 |  g(1, 2)\n"
                   "      |  ^~~~~~~\n"
                   "p.hia:3:4: note: defined here\n"
                   "    3 | fn g(n: i32) = n\n"
                   "      |    ^\n");
  cr_assert_str_eq(hia_error_file(error, 0), "p.hia");
  cr_assert_str_eq(hia_error_file(error, 1), "<expr>");
  cr_assert_eq(hia_error_line(error, 1), 2);
  cr_assert(hia_error_note(error, 1, 0, NULL, &file, &line, &col));
  cr_assert_str_eq(file, "p.hia");
  cr_assert_eq(line, 3);
  hia_error_free(error);

  /* Program and expression end separately; only an expression is accepted as one; no definition
   * can have the name of its function. */
  static const struct {
    const char *text, *expression, *expected;
  } cases[] = {
      {"fn f() = (1", "2)", "p.hia:1:12: error[E0101]"},
      {"fn f() = (1", "2)", "<expr>:1:2: error[E0101]"},
      {"fn f() = 1 +", "2", "p.hia:1:13: error[E0101]"},
      {"", "1) fn f() = (2", "<expr>:1:2: error[E0101]"},
      {"", "1 fn f() = 2", "<expr>:1:3: error[E0101]"},
      {"", "fn f() = 2", "<expr>:1:1: error[E0101]"},
      {"", "", "<expr>:1:1: error[E0101]: expected an expression, found the end\n"},
      {"", " # nothing", "<expr>:1:11: error[E0101]"},
      {"", "1 + \xff", "<expr>:1:5: error[E0001]"},
      {"", "expr()", "unknown function 'expr'\n    1 | expr()\n      | ^~~~\n"},
      {"", "inf", "unknown name 'inf'"},
      {"fn f(x) = f(x)", "f(1)", "E0314"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    expect_error(hia_module_load_expression(engine, "p.hia", cases[i].text, strlen(cases[i].text),
                                            cases[i].expression, &module, &error),
                 &error, HIA_REJECTED, cases[i].expected);
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
  o.flags = HIA_FLAG_VERIFY | HIA_FLAG_TRAP_NAN << 1;
  expect_error(hia_engine_new(&o, &engine, &error), &error, HIA_ARGUMENT, "flags 0x420");
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
