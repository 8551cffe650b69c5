/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Text to syntax trees: precedence, associativity, the ends of constructs. */
#include "frontend/syntax/parse.h"
#include "frontend/syntax/program.h"
#include "tests/unit/helpers/sources.h"

/* An expression with all its brackets. */
static void print(const hia_program *p, hia_ast_id id, hia_text *out);

static void print_list(const hia_program *p, const hia_ast *n, hia_text *out) {
  for (uint32_t i = 0; i < n->c; i++) {
    if (i > 0) hiaR_text_addf(out, ", ");
    print(p, p->extra.data[n->b + i], out);
  }
}

static const char *sign(unsigned op) {
  switch (op) {
  case HIA_OP_ADD: return "+";
  case HIA_OP_SUB: return "-";
  case HIA_OP_MUL: return "*";
  case HIA_OP_DIV: return "/";
  case HIA_OP_REM: return "%";
  default: return hiaR_ops[op].name;
  }
}

static void print_chain(const hia_program *p, const hia_ast *n, hia_text *out) {
  hiaR_text_addf(out, "(");
  print(p, n->a, out);
  for (uint32_t i = 0; i < n->c; i += 3) {
    const char *op = n->kind == HIA_AST_MATMUL  ? "@"
                     : n->kind == HIA_AST_LOGIC ? (n->op ? "or" : "and")
                                                : sign(p->extra.data[n->b + i]);
    hiaR_text_addf(out, " %s ", op);
    print(p, p->extra.data[n->b + i + 2], out);
  }
  hiaR_text_addf(out, ")");
}

static void print(const hia_program *p, hia_ast_id id, hia_text *out) {
  const hia_ast *n = hiaF_node(p, id);
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_TUPLE:
    hiaR_text_addf(out, "<");
    print_list(p, n, out);
    hiaR_text_addf(out, ">");
    break;
  case HIA_AST_ARRAY:
    hiaR_text_addf(out, "[");
    print_list(p, n, out);
    hiaR_text_addf(out, "]");
    break;
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL:
  case HIA_AST_LOGIC: print_chain(p, n, out); break;
  case HIA_AST_COMPARE:
  case HIA_AST_INDEX:
    hiaR_text_addf(out, "(");
    print(p, n->a, out);
    hiaR_text_addf(out, " %s ", n->kind == HIA_AST_INDEX ? "at" : hiaR_ops[n->op].name);
    print(p, n->b, out);
    hiaR_text_addf(out, ")");
    break;
  case HIA_AST_NOT:
  case HIA_AST_NEG:
    hiaR_text_addf(out, n->kind == HIA_AST_NOT ? "(not " : "(-");
    print(p, n->a, out);
    hiaR_text_addf(out, ")");
    break;
  case HIA_AST_IF:
    hiaR_text_addf(out, "(if ");
    print(p, n->a, out);
    hiaR_text_addf(out, " then ");
    print(p, n->b, out);
    hiaR_text_addf(out, " else ");
    print(p, n->c, out);
    hiaR_text_addf(out, ")");
    break;
  case HIA_AST_CALL:
    if (hiaF_node(p, n->a)->kind == HIA_AST_GRAD)
      print(p, n->a, out);
    else
      hiaR_text_addf(out, "%s", hiaF_symbol_text(p, hiaF_node(p, n->a)->a));
    hiaR_text_addf(out, "(");
    print_list(p, n, out);
    hiaR_text_addf(out, ")");
    break;
  case HIA_AST_CONVERT:
    hiaR_text_addf(out, "%s(", hiaG_dtype_name((hia_dtype)n->op));
    print_list(p, n, out);
    hiaR_text_addf(out, ")");
    break;
  case HIA_AST_FIELD:
    print(p, n->a, out);
    hiaR_text_addf(out, ".%u", n->b);
    break;
  case HIA_AST_BLOCK:
    hiaR_text_addf(out, "{");
    print(p, n->a, out);
    hiaR_text_addf(out, "}");
    break;
  case HIA_AST_MATCH:
    hiaR_text_addf(out, "match ");
    print(p, n->a, out);
    break;
  case HIA_AST_LOOP:
    hiaR_text_addf(out, "loop ");
    print(p, p->extra.data[n->a], out);
    break;
  default: hiaR_text_add(out, p->source->text + n->start, n->end - n->start); break;
  }
}

static void expect(const char *expr, const char *expected) {
  compiled c;
  hiaR_comp_init(&c.comp, &hiaR_malloc);
  c.source = (hia_source){.name = "", .text = expr, .len = strlen(expr)};
  hiaG_types_init(&c.types, &c.comp);
  hiaF_diags_init(&c.diags, &c.comp, &c.source);
  hia_program *p = hiaF_program_new(&c.comp, &c.types, &c.source, &c.diags);
  hia_ast_id id = hiaF_parse_value_expr(p);
  cr_assert_neq(id, HIA_NONE, "%s\n%s", expr, all_errors(&c));
  hia_text out;
  hiaR_text_init(&out, &c.comp.arena);
  print(p, id, &out);
  cr_expect_str_eq(out.data, expected, "%s\n  %s\n  %s", expr, out.data, expected);
  discard(&c);
}

Test(parse, precedence) {
  expect("1 + 2 * 3 - 4", "(1 + (2 * 3) - 4)");
  expect("a or b and not c or d", "(a or (b and (not c)) or d)");
  expect("not a == b", "(not (a eq b))");
  expect("not not a", "(not (not a))");
  expect("a + 1 < b * 2 and c", "(((a + 1) lt (b * 2)) and c)");
  expect("-a[0]", "(-(a at 0))");
  expect("-x @ y", "((-x) @ y)");
  expect("-grad(f)(x + 1)[0]", "(-(grad(f)((x + 1)) at 0))");
  expect("value_and_grad(f, wrt = (x, y))(a, b).1", "value_and_grad(f, wrt = (x, y))(a, b).1");
  expect("a * b @ c @ d / e", "(a * (b @ c @ d) / e)");
  expect("- -a - -b", "((-(-a)) - (-b))");
  expect("-f(x).0", "(-f(x).0)");
  expect("(1 + 2) * 3", "((1 + 2) * 3)");
  expect("a - b - c", "(a - b - c)");
  expect("(a - b) - (c - d)", "((a - b) - (c - d))");
  expect("i64(x) % 2", "(i64(x) % 2)");
}

Test(parse, what_ends_where) {
  expect("1 + if c then 2 else 3 * 4", "(1 + (if c then 2 else (3 * 4)))");
  expect("if a then b else if c then d else e + 1",
         "(if a then b else (if c then d else (e + 1)))");
  expect("2 * if a then b else c == d", "(2 * (if a then b else (c eq d)))");
  expect("match t { _ => 1 } + 1", "(match t + 1)");
  expect("loop (i = 0) while i < 3 { i + 1 } * 2", "(loop (i lt 3) * 2)");
  expect("{ let x = 1; x } + 1", "({x} + 1)");
  expect("match match a { _ => b } { _ => c }", "match match a");
}

Test(parse, brackets) {
  expect("(1)", "1");
  expect("((1, 2), 3)", "<<1, 2>, 3>");
  expect("t.0.1", "t.0.1");
  expect("f((1, 2)).1", "f(<1, 2>).1");
  expect("f()", "f()");
  expect("a[i][j]", "((a at i) at j)");
  expect("[1, [2]]", "[1, [2]]");
}

/* All of the grammar, what is not supported yet included: no syntax errors. */
Test(parse, everything) {
  static const char text[] =
      "type Tree = | Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree) | Nil\n"
      "type Leaf = Leaf2(x: [f32[3, n + 1, ?]], y: (i32, (bool, Tree)))\n"
      "const HIDDEN: i64 = 150 const X = 1\n"
      "param E: f32[18000, HIDDEN] = uniform(-0.05, 0.05)\n"
      "extern fn erf(x: f64) -> f64 extern impure fn roll() -> i32\n"
      "fn f(t: Tree, x) -> f32[HIDDEN] = match t {\n"
      "  Leaf(word, _) => E[word], Node(Nil, Leaf(3, -1)) => a[1..2] @ b, x => true,\n"
      "  -0x1i64 => [i for i in 0..n], _ => [f(i, axis = 1) for i in xs], }\n"
      "fn g() = { let (a, (_, b)): (i32, (i32, i32)) = (1, (2, 3)); let _ = a;\n"
      "  loop (i: i64 = 0, t = (1, 2)) while not i == 3 or false { (i + 1, t) } }\n";
  compiled c;
  compile(&c, text);
  for (uint32_t i = 0; i < c.diags.list.len; i++)
    cr_expect(c.diags.list.data[i].code[1] != '0' || c.diags.list.data[i].code[2] != '1', "%s: %s",
              c.diags.list.data[i].code, c.diags.list.data[i].message);
  cr_expect_not_null(c.program);
  discard(&c);
}

/* Every operator and name has the position that errors of the run will show. */
Test(parse, tree_as_text) {
  compiled c;
  compile_good(&c, "fn f(n: i64) =\n  1 + n * g((n, true)).0\n\nfn g(t: (i64, bool)) = t\n");
  hia_text out;
  hiaR_text_init(&out, &c.comp.arena);
  hiaF_print_ast(c.program, &out);
  cr_expect_str_eq(out.data, "fn 1:4 f(i64) : i64\n"
                             "  parameter 1:6 n : i64\n"
                             "    type 1:9 i64\n"
                             "  chain 2:5 : i64\n"
                             "    int 2:3 1 : i64\n"
                             "    add\n"
                             "    chain 2:9 : i64\n"
                             "      name 2:7 n : i64\n"
                             "      mul\n"
                             "      field 2:23 0 : i64\n"
                             "        call 2:11 g : (i64, bool)\n"
                             "          tuple 2:13 : (i64, bool)\n"
                             "            name 2:14 n : i64\n"
                             "            bool 2:17 true : bool\n"
                             "fn 4:4 g((i64, bool)) : (i64, bool)\n"
                             "  parameter 4:6 t : (i64, bool)\n"
                             "    type-tuple 4:9\n"
                             "      type 4:10 i64\n"
                             "      type 4:15 bool\n"
                             "  name 4:24 t : (i64, bool)\n");
  discard(&c);
}

Test(parse, functions_of_the_host_as_text) {
  compiled c;
  compile_good(&c, "extern impure fn roll(sides: i32) -> i32\nextern fn half(_: f64) -> f64\n");
  hia_text out;
  hiaR_text_init(&out, &c.comp.arena);
  hiaF_print_ast(c.program, &out);
  cr_expect_str_eq(out.data, "extern impure 1:18 roll\n"
                             "  parameter 1:23 sides\n"
                             "    type 1:30 i32\n"
                             "  type 1:38 i32\n"
                             "extern 2:11 half\n"
                             "  parameter 2:16 _\n"
                             "    type 2:19 f64\n"
                             "  type 2:27 f64\n");
  discard(&c);
}

/* Long but not deep: no C recursion in proportion. */
Test(parse, long_programs) {
  size_t n = 100000;
  char *text = malloc(n * 40 + 100), *at = text;
  at += sprintf(at, "fn f(n: i64, b: bool) = if b");
  for (size_t i = 0; i < n; i++) at += sprintf(at, " and b");
  at += sprintf(at, " then n");
  for (size_t i = 0; i < n; i++) at += sprintf(at, " + n");
  at += sprintf(at, " else {");
  for (size_t i = 0; i < 1000; i++) at += sprintf(at, "let n = n * %zu + n;", i);
  sprintf(at, "n}\n");
  compiled c;
  compile_good(&c, text);
  graph_text(&c, "f", HIA_NONE, false);
  discard(&c);
  free(text);
}

static char *repeat(const char *before, const char *open, const char *middle, const char *close,
                    size_t n) {
  size_t size = strlen(before) + n * (strlen(open) + strlen(close)) + strlen(middle) + 1;
  char *text = malloc(size), *at = text + sprintf(text, "%s", before);
  for (size_t i = 0; i < n; i++) at = stpcpy(at, open);
  at = stpcpy(at, middle);
  for (size_t i = 0; i < n; i++) at = stpcpy(at, close);
  return text;
}

Test(parse, deep_programs) {
  static const char *const shapes[][4] = {
      {"fn f(x: i32) = ", "(", "x", ")"},
      {"fn f(x: i32) = ", "-", "x", ""},
      {"fn f(x: bool) = ", "not ", "x", ""},
      {"fn f(x: i32) = ", "(1 + ", "x", ")"},
      {"fn f(x: i32) = ", "if x == 1 then x else ", "x", ""},
      {"fn f(x: i32) = ", "{ let y = x; ", "y", "}"},
      {"fn f(x: i32) = ", "match x { 0 => 1, _ => ", "x", "}"},
      {"fn f(x: i32) = ", "loop (y = x) while y < 0 {", "y", "}"},
      {"fn f(x: i32) = ", "abs(", "x", ")"},
      {"fn f(x: ", "(i32, ", "i32", ")"},
      {"fn f(x: i32) = x", ".0", "", ""},
  };
  for (size_t i = 0; i < HIA_LEN(shapes); i++) {
    const char *const *s = shapes[i];
    bool is_type = i == 9;
    char *text = repeat(s[0], s[1], s[2], s[3], 400);
    if (is_type) text = strcat(realloc(text, strlen(text) + 20), ") = 1");
    compiled c;
    compile(&c, text);
    if (i != 10) {
      cr_expect(c.program != NULL && c.diags.list.len == 0, "%s", all_errors(&c));
      graph_text(&c, "f", HIA_NONE, false);
    }
    discard(&c);
    free(text);
    text = repeat(s[0], s[1], s[2], s[3], 200000);
    compile(&c, text);
    cr_expect(c.diags.list.len == 1 && strcmp(c.diags.list.data[0].code, "E0006") == 0, "%s\n%s",
              s[1], all_errors(&c));
    discard(&c);
    free(text);
  }
}
