/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Errors through the public API: the chain of calls, the entries with their ranges, notes and
 * fixes, of programs and of expressions. */
#include "tests/unit/helpers/engine.h"
#include "tests/unit/helpers/program.h"
#include <stdio.h>

/* ---- failures of runs ---- */

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

/* ---- mistakes in programs ---- */

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
