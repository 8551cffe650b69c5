/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types: the rules of docs/language.md, "Typing of literals", results of recursive groups, generic
 * functions; and the graphs of checked programs. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/sources.h"

/* The result type of the last function in the text, its generic parameters being `generic`. */
static void expect_at(const char *text, hia_type generic, const char *expected) {
  compiled c;
  compile(&c, text);
  cr_assert(c.program != NULL && c.diags.list.len == 0, "%s\n%s", text, all_errors(&c));
  hia_decl_id last = hiaF_n_fns(c.program) - 1;
  hia_inst_id inst = instance(&c, hiaF_name(c.program, last), generic);
  cr_assert_neq(inst, HIA_NONE, "%s\n%s", text, all_errors(&c));
  const char *type = type_text(&c, hiaF_result(c.program, inst));
  cr_expect_str_eq(type, expected, "%s\n  is %s, expected %s", text, type, expected);
  graph_text(&c, hiaF_name(c.program, last), generic, false); /* verifies it */
  discard(&c);
}

static void expect(const char *text, const char *expected) { expect_at(text, HIA_I32, expected); }

/* An expression with n: i64, m: i32, x: f64, y: f32, b: bool in scope. */
static void expect_expr(const char *expr, const char *expected) {
  char text[1024];
  snprintf(text, sizeof text, "fn f(n: i64, m: i32, x: f64, y: f32, b: bool) = %s\n", expr);
  expect(text, expected);
}

Test(infer, literals) {
  expect_expr("1", "i32");
  expect_expr("1.0", "f32");
  expect_expr("1f64", "f64");
  expect_expr("1 + 2.0", "f32");
  expect_expr("n + 2 * 3", "i64");
  expect_expr("2 * 3 + n", "i64");
  expect_expr("n + (if n > 0 then 1 else 2)", "i64");
  expect_expr("2 * sqrt(2) * x", "f64");
  expect_expr("sqrt(2)", "f32");
  expect_expr("pow(2, y)", "f32");
  expect_expr("1 / 3", "i32");
  expect_expr("1 / 3.0", "f32");
  expect_expr("-1 * n", "i64");
  expect_expr("-(1 + 2) * x", "f64");
  expect_expr("min(m, 0)", "i32");
  expect_expr("min(0, 1.5)", "f32");
  expect_expr("select(b, 0, n)", "i64");
  expect_expr("band(1, n)", "i64");
  expect_expr("shl(1, n)", "i32"); /* a count has a type of its own */
  expect_expr("n + shl(1, m)", "i64");
  expect_expr("shl(n, m)", "i64");
  expect_expr("shru(m, n)", "i32");
  expect_expr("n + shr(shl(1, m), 3i64)", "i64");
  expect_expr("popcount(n)", "i64");
  expect_expr("clz(1)", "i32");
  expect_expr("n + ctz(8)", "i64");
  expect_expr("isnan(1)", "bool");
  expect_expr("isinf(x) and isnan(2 * y)", "bool");
  expect_expr("fma(2, 3, 4)", "f32");
  expect_expr("fma(2, x, 4)", "f64");
  expect_expr("atan2(1, 2 * hypot(x, 3))", "f64");
  expect_expr("abs(-1) + x", "f64");
  expect_expr("1 < 2.5", "bool");
  expect_expr("{ let i = 0; i }", "i32");
  expect_expr("{ let i: i64 = 0; n + i }", "i64");
  expect_expr("{ 1 } + x", "f64");
  expect_expr("match m { 0 => 1, 1 => n, _ => 2 }", "i64");
  expect_expr("match b { true => (1, 2.5), false => (n, y) }", "(i64, f32)");
}

Test(infer, tuples) {
  expect_expr("(0, n)", "(i32, i64)");
  expect_expr("if n > 0 then (0, n) else (n, 1)", "(i64, i64)");
  expect_expr("((1, 2.0), b)", "((i32, f32), bool)");
  expect_expr("(1, x).1", "f64");
  expect_expr("((n, m), b).0.1", "i32");
  expect_expr("{ let (p, (q, _)) = (1, (x, 2)); (q, p) }", "(f64, i32)");
  expect("fn f() -> ((i64, f64), f32) = ((1, 2), 3)", "((i64, f64), f32)");
}

Test(infer, conversions_take_literals) {
  expect_expr("i64(3000000000)", "i64");
  expect_expr("i64(1 + 2)", "i64");
  expect_expr("i32(2.7)", "i32");
  expect_expr("f64(0.1)", "f64");
  expect_expr("bool(1)", "bool");
  compiled c;
  compile_good(&c, "fn f() = (f64(0.1), i32(2.7), f64(if true then 1 else 2.5))");
  const char *text = graph_text(&c, "f", HIA_NONE, false);
  cr_expect(strstr(text, ":f64 = const 0x1.999999999999ap-4") != NULL, "%s", text);
  cr_expect(strstr(text, ":f32 = const 0x1.59999ap+1") != NULL, "%s", text);
  cr_expect(strstr(text, ":f64 = const 0x1.4p+1") != NULL, "%s", text);
  discard(&c);
}

Test(infer, loops) {
  expect_expr("loop (i = 0) while i < 3 { i + 1 }", "i32");
  expect_expr("loop (i: i64 = 0, s = 0.0) while i < 3 { (i + 1, s + 1) }", "(i64, f32)");
  expect_expr("loop (t = (0, x)) while t.0 < 3 { (t.0 + 1, t.1 * 2) }", "(i32, f64)");
}

Test(infer, declared) {
  expect("fn f(n: i64) -> f64 = 1 / 3", "f64");
  expect("fn g(x: f64) = x fn f() = g(1)", "f64");
  expect("const A: i64 = 3 fn f() = A + 1", "i64");
  expect("const A = 3 fn f(x: f64) = A + x", "f64");
  expect("const A = 3 const B = A * 2.5 fn f() = B", "f32");
  expect("const A = B < 2 const B = 1 fn f(n: i64) = if A then B else n", "i64");
  expect("const sqrt = 2 fn f() = sqrt", "i32");
  expect("fn sqrt(n: i32) = n fn f() = sqrt(2)", "i32");
}

/* ---- results ---- */

#define FACT "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
#define FIB  "fn fib(n) = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"

Test(infer, results) {
  expect_at(FACT, HIA_I64, "i64");
  expect_at(FACT, HIA_F32, "f32");
  expect_at(FIB, HIA_I64, "i32"); /* only literals reach it */
  expect_at(FIB, HIA_F64, "i32");
  expect(FACT "fn main() = (fact(3) + 5, fact(20i64), fact(2.5))", "(i32, i64, f32)");
  expect("fn f() = g() fn g() = h() fn h() = 2.5", "f32");
  expect("fn f(n: i32) = if n > 0 then 1 else g(n) fn g(n: i32) = 0.5\nfn main() = f(1)", "f32");
  expect("fn even(n: i32) = if n == 0 then true else odd(n - 1)\n"
         "fn odd(n: i32) = if n == 0 then false else even(n - 1)\n",
         "bool");
  expect("fn f(n: i64) = if n == 0 then 1 else g(n - 1)\n"
         "fn g(n: i64) = if n == 0 then n else f(n - 1)\n",
         "i64");
  expect("fn f(n: i64) = if n == 0 then (1, 2) else { let (a, b) = f(n - 1); (b, n * a) }\n",
         "(i64, i64)");
  /* what a literal that meets an unknown settles to is decided last */
  expect("fn f(n: i64) = { let r = if n <= 1 then 1 else n * f(n - 1); r }", "i64");
  expect("fn f(n: i64) = { let r = if n <= 1 then 1 else f(n - 1) + f(n - 2); r }", "i32");
  expect("fn f(n: i64) = { let x = 1 + g(n); if n == 0 then x else f(n - 1) }\n"
         "fn g(n: i64) = if n == 0 then n else g(f(n - 1))\n",
         "i64");
  expect("fn twice(x) = x + x\n"
         "fn f(n: i64) = if n <= 1 then 1.0 else twice(0 + f(n - 1))\n",
         "f32");
  expect("fn id(x) = x\nfn f(n: i64) = if n <= 1 then id(n) else id(f(n - 1) + 1)", "i64");
}

Test(infer, mutual_groups_settle_together) {
  expect("fn a(n: i32) = if n == 0 then 1 else b(n)\nfn b(n: i32) = if n == 1 then 2 else c(n)\n"
         "fn c(n: i32) = if n == 2 then 3.5 else a(n - 1)\n",
         "f32");
  expect("fn a(n: i32) = if n == 0 then 1.0 else b(n - 1)\n"
         "fn b(n: i32) = if n == 0 then a(n - 1) else 1\n",
         "f32");
}

/* A literal inside of a body settles before the literals of results do: only what it brings about
 * may decide the type of a result. */
Test(infer, literals_in_bodies_settle_first) {
#define TWICE "fn twice(x) = x + x\n"
  expect(TWICE "fn f(n: i32) = if n <= 1 then 0 else twice(exp(f(n - 1)))", "f32");
  expect(
      "fn f(n: i64) = if n == 0 then (0, n) else { let r = if n == 1 then -1.0 else f(n - 1).0;\n"
      "  (r, 0) }",
      "(f32, i64)");
  expect("fn f(n: i32) = if n == 0 then 0 else g(n)\n"
         "fn g(n: i32) = { let a = f(n - 1) + 1.5; if n > 3 then a else f(n - 2) }\n",
         "f32");
  expect("fn g(n: i32) = { let a = f(n - 1) + 1.5; if n > 3 then a else f(n - 2) }\n"
         "fn f(n: i32) = if n == 0 then 0 else g(n)\n",
         "f32");
  /* if that leads to an error, the results settle first */
  expect(TWICE "fn f(n: i64) = if n <= 1 then 1.0 else twice(0 + f(n - 1))", "f32");
  /* and if that leads to one too, the program is wrong; the order of the functions has no meaning
   */
  expect_error("fn f(n: i32) = if n == 0 then 0 else { let a = f(n - 1) + 0.5; i32(a) + 1 }",
               "E0301");
  for (int i = 0; i < 2; i++) {
    const char *text[] = {"fn f(n: i32) = if n > 3 then fail(1) else { let a = g(n - 1) + 1; a }\n",
                          "fn g(n: i32) = { let b = f(n - 1) + 1.5; b }\n"};
    char both[512];
    snprintf(both, sizeof both, "%s%s", text[i], text[1 - i]);
    expect(both, "f32");
  }
}

Test(infer, fail_joins_with_any_type) {
  expect("fn f(x: f64) = if x > 0 then x else fail(1)", "f64");
  expect("fn f(x: f64) = if x > 0 then (x, 1) else fail(1)", "(f64, i32)");
  expect("fn f(n: i32) = fail(n)", "i32");
  expect("fn oops(n) = fail(n)\nfn f(x: f64) = if x > 0 then x else oops(1)", "f64");
  expect("fn oops(n) = fail(n)\nfn f(b: bool) = if b then (1, b) else oops(1i64)", "(i32, bool)");
  expect("fn f(n: i32) = if n == 0 then fail(1) else f(n - 1)", "i32");
  expect("fn f(n: i64) = match n { 0 => fail(1), 1 => 2, _ => n + fail(3) }", "i64");
  expect("fn f(b: bool) = b or fail(3)", "bool");
  expect("fn e1(n: i32) = e2(n) fn e2(n: i32) = if n == 0 then fail(n) else e1(n - 1)\n"
         "fn f(x: f32) = (x, 1i64 + e1(3), if x > 0 then x else e2(2))\n",
         "(f32, i64, f32)");
  expect_error("fn f(n: i32) = fail(f(n))", "E0314");
}

Test(infer, no_base_case) {
  expect_error("fn f(n: i32) = f(n - 1)", "E0314");
  expect_error("fn f(n: i32) -> i32 = f(n - 1)", "E0314");
  expect_error("fn f(n: i32) -> i32 = if n == 0 then g(n) else f(n) fn g(n: i32) -> i32 = f(n)",
               "E0314");
  expect_error("fn f(n: i32) -> i32 = { let x = f(n); 1 }", "E0314");
  expect_error("fn f(n: i32) -> i32 = loop (i = f(n)) while i < 3 { i + 1 }", "E0314");
  expect("fn f(n: i32) -> i32 = loop (i = 0) while i < n { f(i) }", "i32");
  expect("fn f(n: i32) -> bool = n == 0 or f(n - 1)", "bool");
  expect("fn f(n: i32) -> i32 = if n == 0 then fail(3) else f(n - 1)", "i32");
}

Test(infer, instances) {
  compiled c;
  compile_good(&c, "fn f(x, n: i32) = if n == 0 then x else f(x, n - 1)");
  hia_decl_id f = find(&c, "f");
  cr_expect_eq(hiaF_arity(c.program, f), 2);
  cr_expect_eq(hiaF_param_type(c.program, f, 0), HIA_NONE);
  cr_expect_eq(hiaF_param_type(c.program, f, 1), (hia_type)HIA_I32);
  cr_expect_str_eq(hiaF_param_name(c.program, f, 0), "x");
  hia_type pair[] = {HIA_F64, HIA_BOOL};
  hia_type args[] = {hiaG_tuple(&c.types, pair, 2), HIA_I32};
  hia_inst_id one = hiaF_instantiate(c.program, f, args, &c.diags);
  cr_expect_eq(hiaF_result(c.program, one), args[0]);
  cr_expect_eq(hiaF_instantiate(c.program, f, args, &c.diags), one);
  args[0] = HIA_F32;
  cr_expect_neq(hiaF_instantiate(c.program, f, args, &c.diags), one);
  cr_expect_str_eq(hiaF_similar(c.program, "ff", 2), "f");
  cr_expect_null(hiaF_similar(c.program, "completely_else", 15));
  discard(&c);
}

/* Generic functions that are never called are checked for names only. */
Test(infer, generic_functions_wait) {
  compiled c;
  compile_good(&c, "fn f(x) = x + 1i32 + 1i64\nfn main() = 1");
  cr_expect_eq(instance(&c, "f", HIA_I32), HIA_NONE);
  discard(&c);
  expect_error("fn f(x) = y\nfn main() = 1", "E0201");
  expect_error("fn f(x) = f(x, x)\nfn main() = 1", "E0203");
}

Test(infer, many_functions) {
  size_t n = 10000;
  char *text = malloc(n * 120), *at = text;
  for (size_t i = 0; i < n; i++) /* one cycle, with one base case that decides the type of all */
    at += sprintf(at, "fn g_%zu(n: i64) = if n <= 1 then %s else g_%zu(n - 1) + 1\n", i,
                  i == n / 2 ? "n" : "1", (i + 1) % n);
  compiled c;
  compile_good(&c, text);
  cr_expect_eq(hiaF_result(c.program, instance(&c, "g_17", HIA_NONE)), (hia_type)HIA_I64);
  discard(&c);
  free(text);
}

/* ---- graphs ---- */

static void expect_graph(const char *text, const char *name, bool counted, const char *expected) {
  compiled c;
  compile_good(&c, text);
  const char *graph = graph_text(&c, name, HIA_I32, counted);
  const char *body = strstr(graph, "{\n");
  cr_assert_not_null(body);
  cr_expect_eq(strncmp(body + 2, expected, strlen(expected)), 0, "%s\n%s", text, graph);
  discard(&c);
}

Test(elab, order_and_positions) {
  expect_graph("fn g(n: i32) = n\nfn f(n: i32) = {\n  let _ = 1 / n;\n  (g(n), g(2) % n).0 }\n",
               "f", false,
               "  %0:i32 = arg 0\n"
               "  %1:i32 = const 1 !3:11\n"
               "  %2:i32 = div %1, %0 !3:13\n"
               "  %3:i32 = call \"g(i32)\" %0 !4:4\n"
               "  %4:i32 = const 2 !4:12\n"
               "  %5:i32 = call \"g(i32)\" %4 !4:10\n"
               "  %6:i32 = rem %5, %0 !4:15\n"
               "  yield %3\n");
}

Test(elab, tail_calls) {
  static const char *const tails[] = {
      "g(n)",
      "if g(n) == 0 then g(n) else 1",
      "match n { 0 => 1, _ => g(n) }",
      "{ let x = g(n); g(x) }",
  };
  static const char *const others[] = {
      "g(n) + 1",    "loop (i = g(n)) while g(i) < 3 { g(i) }",
      "(g(n), 1).0", "i32(g(n))",
      "-g(n)",       "{ let x = g(n); x }",
      "fail(g(n))",
  };
  char text[256];
  compiled c;
  for (size_t i = 0; i < HIA_LEN(tails) + HIA_LEN(others); i++) {
    bool tail = i < HIA_LEN(tails);
    snprintf(text, sizeof text, "fn g(n: i32) = n\nfn f(n: i32) = %s\n",
             tail ? tails[i] : others[i - HIA_LEN(tails)]);
    compile_good(&c, text);
    const char *graph = graph_text(&c, "f", HIA_NONE, false);
    unsigned n = 0;
    for (const char *at = graph; (at = strstr(at, " tail ")) != NULL; at++) n++;
    cr_expect_eq(n, tail, "%s\n%s", text, graph);
    discard(&c);
  }
  compile_good(&c, "fn f(n: i32) -> bool = n == 0 or n > 3 and f(n - 1)");
  cr_expect_not_null(strstr(graph_text(&c, "f", HIA_NONE, false), " tail "));
  discard(&c);
}

Test(elab, loops) {
  expect_graph(
      "fn f(n: i32) =\n  loop (i = 0, t = (1, n)) while i < n {\n    (i + 1, (t.1, i))\n  }", "f",
      true,
      "  %0:i32 = arg 0\n"
      "  %1:i32 = const 0 !2:13\n"
      "  %2:i32 = const 1 !2:21\n"
      "  %3:i32, %4:i32, %5:i32 = loop %1, %2, %0 !2:3 {\n"
      "    %6:i32 = arg 0 !2:3\n"
      "    %7:i32 = arg 1 !2:3\n"
      "    %8:i32 = arg 2 !2:3\n"
      "    %9:bool = lt %6, %0 !2:36\n"
      "    yield %9, %6, %7, %8\n"
      "  } round {\n"
      "    count 1 !2:3\n"
      "    %10:i32 = const 1 !3:10\n"
      "    %11:i32 = add %6, %10 !3:8\n"
      "    yield %11, %8, %6\n"
      "  }\n"
      "  yield %3, %4, %5\n");
}

Test(elab, counts) {
  expect_graph("fn f(n: i32) = if n == 0 then 0 else f(n - 1)", "f", true,
               "  %0:i32 = arg 0\n"
               "  %1:i32 = const 0 !1:24\n"
               "  %2:bool = eq %0, %1 !1:21\n"
               "  %3:i32 = if %2 !1:16 {\n"
               "    %4:i32 = const 0 !1:31\n"
               "    yield %4\n"
               "  } else {\n"
               "    %5:i32 = const 1 !1:44\n"
               "    %6:i32 = sub %0, %5 !1:42\n"
               "    count 0 !1:38\n"
               "    %7:i32 = call \"f(i32)\" %6 tail !1:38\n"
               "    yield %7\n"
               "  }\n"
               "  yield %3\n");
}

/* The depth of a match is the logarithm of the number of its arms. */
Test(elab, large_match) {
  size_t n = 3000;
  char *text = malloc(n * 40), *at = text + sprintf(text, "fn f(n: i64) = match n {");
  for (size_t i = 0; i < n; i++)
    at += sprintf(at, "%zd => n + %zu,\n", (ssize_t)(i * 7919 % 4001) - 2000, i);
  sprintf(at, "k => k}\n");
  compiled c;
  compile_good(&c, text);
  const char *graph = graph_text(&c, "f", HIA_NONE, false);
  size_t deepest = 0, arms = 0;
  for (const char *line = graph, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    size_t indent = strspn(line, " ") / 2;
    if (indent > deepest) deepest = indent;
    /* Not strstr, for which AddressSanitizer reads all of the rest. */
    if (memmem(line, (size_t)(end - line), " = add ", 7) != NULL) arms++;
  }
  cr_expect_leq(deepest, 14, "%zu levels", deepest);
  cr_expect_eq(arms, n, "every arm stands in the graph once, not %zu of %zu", arms, n);
  discard(&c);
  free(text);
}

/* A large last arm is not copied, whatever its syntax begins with. */
Test(elab, large_last_arm) {
  static const char *const arms[] = {"n % 7 + n + n + n + n + n + n + n + n + n",
                                     "{ let m = n % 7 + n + n + n + n + n; m + m + m + m }",
                                     "if n > 0 then n % 7 + n + n + n + n + n + n else 0",
                                     "match n { 3 => 0, _ => n % 7 + n + n + n + n + n + n }"};
  for (size_t k = 0; k < HIA_LEN(arms); k++) {
    char text[2000], *at = text + sprintf(text, "fn f(n: i64) -> i64 = match n {");
    for (int i = 0; i < 40; i++) at += sprintf(at, "%d => %d, ", 3 * i, i);
    sprintf(at, "_ => %s }", arms[k]);
    compiled c;
    compile_good(&c, text);
    const char *rem = strstr(graph_text(&c, "f", HIA_NONE, false), " = rem ");
    cr_expect(rem && !strstr(rem + 1, " = rem "), "%s", arms[k]);
    discard(&c);
  }
}

/* ---- memory that runs out ---- */

static test_heap heap;

/* An instance and its graph, with memory for some requests. */
static hia_status ask(compiled *c, long requests) {
  heap.left = requests;
  if (HIA_TRY(&c->comp)) {
    hia_inst_id inst = instance(c, "main", HIA_I64);
    cr_assert(inst != HIA_NONE && c->diags.list.len == 0, "%ld", requests);
    hia_fn_id root;
    hia_graph *g = hiaF_build(c->program, &c->comp, &c->types, &inst, 1, false, &root);
    const char *defect = hiaG_verify(g);
    cr_assert_null(defect, "%ld: %s", requests, defect);
  }
  heap.left = -1;
  cr_assert(c->comp.status == HIA_OK || c->comp.status == HIA_MEMORY, "%s", c->comp.message);
  return c->comp.status;
}

static void load(compiled *c, const char *text, const hia_allocator *allocator) {
  hiaR_comp_init(&c->comp, allocator);
  c->source = (hia_source){.name = "t.hia", .text = text, .len = strlen(text)};
  hiaG_types_init(&c->types, &c->comp);
  hiaF_diags_init(&c->diags, &c->comp, &c->source);
  c->program = hiaF_load(&c->comp, &c->types, &c->source, &c->diags);
  cr_assert(c->program != NULL && c->diags.list.len == 0);
}

/* Requested until there is enough memory: what was under way when it ran out must not get in the
 * way. (In the stress build every block of an arena is a request.) */
Test(infer, memory_may_run_out) {
  static const char text[] =
      FACT FIB "fn pair(x, y) = if x == y then (x, y) else pair(y, fact(x))\n"
               "type T = L(n: i64) | B(l: T, r: T)\n"
               "fn tree(n: i64) -> T = if n <= 0 then L(n) else B(tree(n - 1), L(n))\n"
               "fn sum(t: T) -> i64 = match t { L(n) => n, B(B(l, r), L(3)) => sum(l) + sum(r),\n"
               "                                B(l, r) => sum(r) - sum(l) + sum(l) * sum(r) }\n"
               "fn all(n: i64) = [(sum(tree(i)), set([tree(i), L(1)], 0, L(2))) for i in 0..n]\n"
               "fn main(n) = (fact(n), fib(n), pair(n, n).1, len(all(n)))\n";
  test_heap_init(&heap, -1);
  hia_status status = HIA_MEMORY;
  for (long k = 0; status != HIA_OK; k++) {
    compiled c;
    load(&c, text, &heap.allocator);
    status = ask(&c, k);
    ask(&c, k);
    ask(&c, k);
    cr_assert_eq(ask(&c, -1), HIA_OK);
    discard(&c);
  }
}

/* In every request, while a program is loaded. */
Test(infer, memory_may_run_out_while_loading) {
  static const char text[] =
      "type Tree = Leaf(word: i32, p: f64) | Node(left: Tree, right: Tree, n: i64)\n"
      "fn f(n: i32) = if n == 0 then Leaf(1, 2) else Node(f(n - 1), f(n - 1), 3)\n"
      "fn g(t: Tree) = match t { Leaf(1, _) => 1, Node(Leaf(_, _), Leaf(2, _), _) => 2,"
      " Node(_, Node(_, _, 3), _) => 3, _ => 4 }\n"
      "fn h(a: [Tree]) = [(g(t), concat(a, [t])) for t in set(a, 0, f(2))]\n"
      "fn i(t: Tree) = match t { Leaf(1, _) => 1 }\n";
  hia_status status = HIA_MEMORY;
  long k = 0;
  for (; status != HIA_OK; k++) {
    compiled c = {.source = {.name = "t.hia", .text = text, .len = sizeof text - 1}};
    test_heap_init(&heap, k);
    hiaR_comp_init(&c.comp, &heap.allocator);
    if (HIA_TRY(&c.comp)) {
      hiaG_types_init(&c.types, &c.comp);
      hiaF_diags_init(&c.diags, &c.comp, &c.source);
      c.program = hiaF_load(&c.comp, &c.types, &c.source, &c.diags);
      cr_assert(c.program != NULL && c.diags.list.len == 1, "%s", all_errors(&c));
    }
    status = c.comp.status;
    cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s", c.comp.message);
    discard(&c);
  }
  cr_assert_gt(k, 1);
}
