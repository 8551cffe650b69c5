/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Every keyword in every place where something gets a name: one error, there, and the parser goes
 * on as behind a name. */
#include "frontend/frontend.h"
#include "frontend/syntax/lex.h"
#include "tests/unit/helpers/sources.h"

/* `@` is the keyword. Most contexts use the name, too, where it is an operand. */
static const char *const contexts[] = {
    "fn @(x: i32) = x",
    "fn @() = 1",
    "extern fn @(x: f64) -> f64",
    "extern impure fn @(x: f64) -> f64",
    "const @ = 1",
    "const @: f64 = 1",
    "const @ = 1 fn f() = 2 * @",
    "param @: f64 = 1",
    "type @ = A | B",
    "type T = @",
    "type T = @ | B",
    "type T = A | @",
    "type T = A | @(x: i32)",
    "type T = @(x: i32) | B",
    "type T = A(@: i32) | B",
    "type T = A(x: i32, @: i32, y: f64) | B",
    "type T = A(x: i32, @: i32)",
    "fn f(@) = 1",
    "fn f(@) = @",
    "fn f(@: i32) = 1 + @",
    "fn f(@: i32) = (@, @ * 2, [@, 3])",
    "fn f(@: i32) = if @ > 1 then @ else @",
    "fn f(x, @) = x",
    "fn f(x, @, y: f64) = x + @ * y",
    "extern fn f(@: f64) -> f64",
    "extern fn f(x: f64, @: f64) -> f64",
    "fn f() = { let @ = 1; 2 }",
    "fn f() = { let @ = 1; @ }",
    "fn f() = { let @: f64 = 1; 2 + @ }",
    "fn f() = { let (@, x) = (1, 2); x }",
    "fn f() = { let (x, @) = (1, 2); x + @ }",
    "fn f() = { let (x, (@, z)) = (1, (2, 3)); x * @ + z }",
    "fn f() = { let x = { let @ = 1; @ }; x }",
    "fn f(n: i32) = (loop (@ = 1) while n < 2 { 3 })",
    "fn f() = (loop (@ = 1) while 1 > 2 { @ }) + 1",
    "fn f() = loop (x = 1, @: i64 = 2) while x < 3 { (x + 1, @) }",
    "fn f() = loop (@ = 1, x = 2) while x < 3 { (1, @ + x) }",
    "fn f(a: f64[3]) = [1 for @ in a]",
    "fn f() = [1 for @ in 0..3]",
    "fn f(n: i32) = match n { 0 => 1, @ => 2 }",
    "fn f(n: i32) = match n { 0 => 1, @ => 2 + @ }",
    "type T = A(x: i32, y: i32) | B fn f(t: T) = match t { A(@, y) => y, B => 0 }",
    "type T = A(x: i32, y: i32) | B fn f(t: T) = match t { A(x, @) => x + @, B => 0 }",
    "type T = A(x: i32, t: T) | B fn f(t: T) = match t { A(x, A(@, B)) => @, _ => 0 }",
    "type T = A(x: i32) | B fn f(t: T) = match t { B => 0, A(@) => @ }",
    "fn f(x: f64) = x * x gradient(@) = 2 * x",
    "fn f(x: f64) = x * x gradient(@) = 2 * x * @",
    "fn f(x: f64) = x * x gradient(g, @) = g",
    "fn f(x: f64) = (x, x) gradient((g, @)) = g + @",
};

static void insert(char *out, const char *context, const char *word, uint32_t *first) {
  *first = HIA_NONE;
  uint32_t n = 0;
  for (const char *c = context; *c != '\0'; c++) {
    if (*c != '@') {
      out[n++] = *c;
      continue;
    }
    if (*first == HIA_NONE) *first = n;
    memcpy(out + n, word, strlen(word));
    n += (uint32_t)strlen(word);
  }
  out[n] = '\0';
}

/* The contexts of values and types where `true` and the like may stand. */
static bool is_value(const char *context, const char *word) {
  bool is_bool = strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
  return is_bool && strstr(context, "match") != NULL;
}

Test(keywords, in_the_place_of_names) {
  unsigned n = 0;
  for (hia_token_kind k = HIA_FIRST_KEYWORD; k < HIA_FIRST_KEYWORD + HIA_N_KEYWORDS; k++)
    for (size_t i = 0; i < HIA_LEN(contexts); i++) {
      const char *quoted = hiaF_token_text(k);
      char word[16], text[300], program[400];
      uint32_t first;
      snprintf(word, sizeof word, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
      if (is_value(contexts[i], word)) continue;
      insert(text, contexts[i], word, &first);
      snprintf(program, sizeof program, "%s\nconst LATER = )\n", text);
      compiled c;
      compile(&c, program);
      cr_expect_eq(c.diags.list.len, 2, "%s\n%s", program, all_errors(&c));
      if (c.diags.list.len != 2) {
        discard(&c);
        continue;
      }
      const hia_diag *own = &c.diags.list.data[0], *later = &c.diags.list.data[1];
      cr_expect_str_eq(own->code, "E0105", "%s", all_errors(&c));
      cr_expect(own->line == 1 && own->col == first + 1 && own->len == strlen(word), "%s",
                all_errors(&c));
      cr_expect_eq(later->line, 2, "%s", all_errors(&c));
      discard(&c);
      n++;
    }
  cr_assert_gt(n, HIA_N_KEYWORDS * (HIA_LEN(contexts) - 8), "%u", n);
}

/* A name that is missing: one error, and what follows is read as what it is. */
Test(keywords, behind_a_missing_name) {
  static const char *const rows[] = {
      "fn",
      "fn f(",
      "fn f(x,",
      "type",
      "type T =",
      "type T = A |",
      "const",
      "param",
      "extern fn",
      "fn f() = { let",
      "fn f() = loop (",
      "fn f(n: i32) = match n { 0 =>",
      "fn f() = [1 for",
  };
  static const char *const items[] = {"fn later() = )",
                                      "const LATER = )",
                                      "param later: f64 = )",
                                      "type Later = )",
                                      "extern fn later(x: i32) -> )",
                                      "extern impure fn later(x: i32) -> )"};
  for (size_t i = 0; i < HIA_LEN(rows); i++)
    for (size_t k = 0; k < HIA_LEN(items); k++) {
      char program[200];
      snprintf(program, sizeof program, "%s\n%s\n", rows[i], items[k]);
      compiled c;
      compile(&c, program);
      cr_expect_eq(c.diags.list.len, 2, "%s\n%s", program, all_errors(&c));
      if (c.diags.list.len == 2)
        cr_expect_eq(c.diags.list.data[1].col, strlen(items[k]), "%s", all_errors(&c));
      discard(&c);
    }
}

/* An error within brackets of an arm or a `let` is one error, and the next arm or `let` is read. */
Test(keywords, errors_in_brackets) {
  static const char *const wrong[] = {"if", "1 2", "=", "@", "then", "?", "let", "=>"};
  static const char *const spots[] = {
      "type T = A(a: i32, b: i32, c: i32) | B fn f(t: T) = match t { A(a, %s, c, d) => a,\nB => "
      "(1, }",
      "type T = A(a: i32, b: T, c: i32) | B fn f(t: T) = match t { A(a, A(b, %s, c), d) => a,\nB "
      "=> (1, }",
      "fn f(n: i32) = match n { 0 => max(1, %s, 3, 4),\n_ => (1, }",
      "fn f(n: i32) = match n { 0 => (1, (2, %s, 3), 4),\n_ => (1, }",
      "fn f(n: i32) = { let x = max(1, (%s, 3), 4);\nlet y = (1, ; x }",
      "fn f(n: i32) = { let x = [1, [%s, 3], 4];\nlet y = (1, ; x }",
  };
  for (size_t i = 0; i < HIA_LEN(spots); i++)
    for (size_t k = 0; k < HIA_LEN(wrong); k++) {
      char program[300];
      snprintf(program, sizeof program, spots[i], wrong[k]);
      compiled c;
      compile(&c, program);
      cr_expect_eq(c.diags.list.len, 2, "%s\n%s", program, all_errors(&c));
      if (c.diags.list.len == 2) cr_expect_eq(c.diags.list.data[1].line, 2, "%s", all_errors(&c));
      discard(&c);
    }
}

/* Operators of other languages, which are read as keywords once they have been reported. */
Test(keywords, operators_in_the_place_of_names) {
  static const char *const operators[] = {"&&", "||", "!"};
  for (size_t k = 0; k < HIA_LEN(operators); k++)
    for (size_t i = 0; i < HIA_LEN(contexts); i++) {
      char text[300];
      uint32_t first;
      insert(text, contexts[i], operators[k], &first);
      compiled c;
      compile(&c, text);
      cr_assert_gt(c.diags.list.len, 0, "%s", text);
      cr_expect_eq(c.diags.list.data[0].col, first + 1, "%s", all_errors(&c));
      discard(&c);
    }
}

/* Where a name is used, a keyword is one error, too, unless it begins an expression there. */
Test(keywords, in_the_place_of_uses) {
  static const char *const uses[] = {
      "fn f(x: f64[@]) = 1",
      "fn f(x: f64[n, @ + 1]) = 1",
      "fn f(x: @) = 1",
      "fn f(x: [@]) = 1",
      "fn f(x: (i32, @)) = 1",
      "fn f(x: f64) -> @ = 1",
      "type T = A(x: @) | B",
      "const C: @ = 1",
      "const C = @",
      "fn f() = @",
      "fn f() = 1 + @",
      "fn f() = max(1, @)",
      "fn f() = max(@, 1)",
      "fn f() = (1, @)",
      "fn f() = [1, @]",
      "fn f() = { let x = @; x }",
      "fn f() = { let x = (1, @); x }",
      "fn f(x: f64) = { let y: @ = x; y }",
      "fn f(x: (i32, i32)) = x.@",
      "fn f(x: f64[3]) = x[@]",
      "fn f(x: f64[3]) = x[1..@]",
      "fn f() = [i for i in 0..@]",
      "fn f(x: f64) = x fn g(x: f64) = grad(@, wrt = x)(x)",
      "fn f(x: f64) = x fn g(x: f64) = grad(f, wrt = @)(x)",
      "fn f(x: f64) = x fn g(x: f64) = grad(f, wrt = (x, @))(x)",
      "fn f(x: f64[3]) = sum(x, @ = 0)",
      "fn f(x: f64[3]) = sum(x, axis = @)",
  };
  for (hia_token_kind k = HIA_FIRST_KEYWORD; k < HIA_FIRST_KEYWORD + HIA_N_KEYWORDS; k++)
    for (size_t i = 0; i < HIA_LEN(uses); i++) {
      const char *quoted = hiaF_token_text(k);
      char word[16], text[300], program[400];
      uint32_t first;
      snprintf(word, sizeof word, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
      insert(text, uses[i], word, &first);
      snprintf(program, sizeof program, "%s\nconst LATER = )\n", text);
      compiled c;
      compile(&c, program);
      bool may_be_right = k >= HIA_TOK_TRUE; /* a dtype is a type, and a bool a value */
      bool is_one = c.diags.list.len == 2 || (may_be_right && c.diags.list.len == 1);
      cr_expect(is_one, "%s\n%s", program, all_errors(&c));
      if (c.diags.list.len == 2) cr_expect_eq(c.diags.list.data[1].line, 2, "%s", all_errors(&c));
      discard(&c);
    }
}
