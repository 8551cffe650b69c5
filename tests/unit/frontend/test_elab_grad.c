/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients in programs: their types, what they are with respect to, and their nodes in graphs. The
 * errors are in tests/errors/gradients.hia. */
#include "frontend/frontend.h"
#include "tests/unit/helpers/sources.h"

/* The type of the result of `f`, whose parameters are declared. */
static void expect_type(const char *text, const char *type) {
  compiled c;
  compile_good(&c, text);
  hia_inst_id inst = instance(&c, "f", HIA_NONE);
  cr_assert_neq(inst, HIA_NONE, "%s\n%s", text, all_errors(&c));
  cr_expect_str_eq(type_text(&c, hiaF_result(c.program, inst)), type, "%s", text);
  discard(&c);
}

/* The graph of `f` has this line. */
static void expect_line(const char *text, const char *line) {
  compiled c;
  compile_good(&c, text);
  const char *graph = graph_text(&c, "f", HIA_NONE, false);
  cr_expect(strstr(graph, line), "%s\n%s\nlacks %s", text, graph, line);
  discard(&c);
}

Test(elab_grad, types) {
  expect_type("fn g(x: f64, y: f32[?]) = x * f64(sum(y))\n"
              "fn f(x: f64) = grad(g, wrt = x)(x, [1, 2])",
              "f64");
  expect_type("fn g(x: f64, y: f32[?]) = x * f64(sum(y))\n"
              "fn f(x: f64) = grad(g, wrt = (y, x))(x, [1, 2])",
              "(f32[?], f64)");
  expect_type("fn g(x: f64, y: f32[?]) = x * f64(sum(y))\n"
              "fn f(x: f64) = value_and_grad(g, wrt = (y, x))(x, [1, 2])",
              "(f64, (f32[?], f64))");
  expect_type("fn g(x: f64) = x * x fn f(x: f64) = value_and_grad(g, wrt = x)(x)", "(f64, f64)");
  /* generic functions, and literals */
  expect_type("fn g(x, y) = f32(sum(y) * x) fn f() = grad(g, wrt = (x, y))(1.0f64, [1.0f64])",
              "(f64, f64[?])");
  expect_type("fn g(x) = x * x fn f() = grad(g, wrt = x)(2.0)", "f32");
  expect_type("fn g(x: f64) = x * x fn f() = grad(g, wrt = x)(2) + 1", "f64");
  /* a result that is not declared, of a recursive function */
  expect_type("fn g(n: i32, x) = if n == 0 then x else sin(g(n - 1, x))\n"
              "fn f(x: f64) = value_and_grad(g, wrt = x)(3, x)",
              "(f64, f64)");
  expect_type("fn f(n: i32) -> f64 = if n == 0 then 1 else grad(g, wrt = x)(f(n - 1))\n"
              "fn g(x) = x * x",
              "f64");
  expect_type("fn f(n: i32) = if n == 0 then 1f64 else grad(g, wrt = x)(f(n - 1))\n"
              "fn g(x) = x * x",
              "f64");
}

Test(elab_grad, params) {
  const char *file = "param W: f32[2, 3] = zeros()\nparam b: f32[2] = zeros()\n"
                     "param unused: f64 = 0\nparam c: f32 = 0\n"
                     "fn layer(x: f32[3]) = W @ x + b\n"
                     "fn even(n: i32) -> f32 = if n == 0 then c else odd(n - 1)\n"
                     "fn odd(n: i32) -> f32 = if n == 0 then 0 else even(n - 1)\n"
                     "fn one(n: i32) = even(n)\n"
                     "fn inner(x: f32[3]) = grad(loss, wrt = x)(x)\n"
                     "fn loss(x: f32[3]) = sum(layer(x))\n"
                     "fn order(x: f32[3]) = f32(one(1)) + sum(inner(x))\n"
                     "fn shadowed(c: f32, b: f32) = c * b * sum(W)\n";
  char text[2000];
  const struct {
    const char *is, *type;
  } rows[] = {
      {"grad(loss)(x)", "(f32[?, ?], f32[?])"},
      {"value_and_grad(loss)(x)", "(f32, (f32[?, ?], f32[?]))"},
      {"grad(one)(3)", "f32"},
      {"value_and_grad(one)(3)", "(f32, f32)"},
      /* in the order of their declarations; what a gradient in it reads, it may read */
      {"grad(order)(x)", "(f32[?, ?], f32[?], f32)"},
      {"grad(order, wrt = (x, c, unused))(x)", "(f32[?], f32, f64)"},
      {"grad(shadowed, wrt = (c, b, W))(1, 2)", "(f32, f32, f32[?, ?])"},
      {"grad(shadowed)(1, 2)", "f32[?, ?]"},
  };
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    snprintf(text, sizeof text, "%sfn f(x: f32[3]) = %s", file, rows[i].is);
    expect_type(text, rows[i].type);
  }
}

Test(elab_grad, nodes) {
  expect_line("fn g(x: f64) = x * x fn f(x: f64) = grad(g, wrt = x)(x)",
              "\n  %1:f64 = grad \"g(f64)\" (0) %0 !1:37\n");
  expect_line("fn g(x: f64) = x * x\nfn f(x: f64) = -value_and_grad(g, wrt = x)(x + 1).0",
              " = grad \"g(f64)\" value (0) %2 !2:17\n");
  /* parameters are counted in words */
  expect_line("fn g(p: (i32, (f64, bool)), x: f64, y: f32[?]) = x * p.1.0 + f64(y[0])\n"
              "fn f(p: (i32, (f64, bool)), x: f64, y: f32[?]) = grad(g, wrt = (y, x))(p, x, y)",
              "  %5:f32[?], %6:f64 = grad \"g((i32, (f64, bool)), f64, f32[?])\" (4, 3) "
              "%0, %1, %2, %3, %4 !2:50\n");
  expect_line("param a: f64 = 1 param W: f64[2] = zeros() fn g(x: f64) = x * sum(W)\n"
              "fn f(x: f64) = value_and_grad(g)(x)",
              "  %1:f64, %2:f64[?] = grad \"g(f64)\" value (param W) %0 !2:16\n");
  expect_line("param a: f64 = 1 param W: f64[2] = zeros() fn g(x: f64) = x * sum(W)\n"
              "fn f(x: f64) = grad(g, wrt = (x, a))(x)",
              " = grad \"g(f64)\" (0, param a) %0 !2:16\n");
  /* grad of grad: the function of the inner one is there, too */
  const char *second = "fn g(x) = x * x * x\nfn d(x) = grad(g, wrt = x)(x)\n"
                       "fn f(x: f64) = grad(d, wrt = x)(x)";
  expect_line(second,
              "fn \"f(f64)\" (f64) -> (f64) of f root (f64) -> f64 !3:4 {\n  %0:f64 = arg 0\n"
              "  %1:f64 = grad \"d(f64)\" (0) %0 !3:16\n  yield %1\n}\n");
  expect_line(second, "  %1:f64 = grad \"g(f64)\" (0) %0 !2:11\n");
  expect_line(second, "fn \"g(f64)\"");
}

Test(elab_grad, a_gradient_counts_as_a_call) {
  compiled c;
  compile_good(&c, "fn g(x: f64) = x * x fn f(x: f64) = grad(g, wrt = x)(x)");
  const char *graph = graph_text(&c, "f", HIA_NONE, true);
  cr_expect(strstr(graph, "  count 0 !1:37\n  %1:f64 = grad \"g(f64)\" (0) %0 !1:37\n"), "%s",
            graph);
  discard(&c);
}

/* Sizes: errors of gradients that have others than their places want. */
Test(elab_grad, sizes) {
  const char *file =
      "param W: f32[2, 3] = zeros()\nfn g(x: f32[2], y: f32[?]) = sum(x @ W) + y[0]\n";
  const char *good[] = {"grad(g, wrt = W)(x, y) + zeros(2, 3)", "grad(g)(x, y) @ zeros(3)",
                        "grad(g, wrt = x)(y, y) + zeros(2)",
                        "grad(g, wrt = y)(x, zeros(4)) + zeros(4)",
                        "value_and_grad(g, wrt = (x, W))(x, y).1.1 + zeros(2, 3)"},
             *bad[] = {"grad(g, wrt = W)(x, y) + zeros(3, 2)",
                       "grad(g)(x, y) @ zeros(2)",
                       "grad(g, wrt = x)(y, y) + zeros(3)",
                       "grad(g, wrt = y)(x, zeros(4)) + zeros(3)",
                       "grad(g, wrt = x)(zeros(3), y)",
                       "value_and_grad(g, wrt = (x, W))(x, y).1.1 + zeros(3, 3)"};
  char text[1000];
  for (size_t i = 0; i < HIA_LEN(good); i++) {
    compiled c;
    snprintf(text, sizeof text, "%sfn f(x: f32[2], y: f32[?]) = %s", file, good[i]);
    compile_good(&c, text);
    discard(&c);
  }
  for (size_t i = 0; i < HIA_LEN(bad); i++) {
    snprintf(text, sizeof text, "%sfn f(x: f32[2], y: f32[?]) = %s", file, bad[i]);
    expect_error(text, "E0340");
  }
}

/* The chain of calls in the notes of the last error, one note a line. */
static void expect_notes(const char *text, const char *notes) {
  compiled c;
  compile(&c, text);
  cr_assert_gt(c.diags.list.len, 0, "%s", text);
  const hia_diag *d = &c.diags.list.data[c.diags.list.len - 1];
  hia_text out;
  hiaR_text_init(&out, &c.comp.arena);
  for (uint32_t i = 0; i < d->notes.len; i++)
    hiaR_text_addf(&out, "%u:%u %s\n", d->notes.data[i].line, d->notes.data[i].col,
                   d->notes.data[i].text);
  cr_expect_str_eq(out.data, notes, "%s\n%s", text, all_errors(&c));
  discard(&c);
}

Test(elab_grad, chains) {
  expect_notes("extern impure fn roll(n: i32) -> f64\nfn a(x: f64) = b(x) * 2\n"
               "fn b(x: f64) = x + roll(1)\nfn f(x: f64) = grad(a, wrt = x)(x)",
               "2:16 'a' calls 'b' here\n3:20 'b' calls 'roll' here\n");
  expect_notes(
      "fn a(x: f64) = b(x) * 2\nfn b(x: f64) = grad(c, wrt = x)(x)\n"
      "fn c(x: f64) -> f64 = if x < 1 then x else x * e(x)\nextern fn e(x: f64) -> f64\n"
      "fn f(x: f64) = grad(a, wrt = x)(x)",
      "1:16 'a' calls 'b' here\n2:16 'b' differentiates 'c' here\n3:48 'c' calls 'e' here\n");
  /* the shortest, of which the middle is left out */
  expect_notes("extern fn e(x: f64) -> f64\nfn a(x: f64) = b(x)\nfn b(x: f64) = c(x)\n"
               "fn c(x: f64) = d(x)\nfn d(x: f64) = g(x)\nfn g(x: f64) = h(x)\n"
               "fn h(x: f64) = i(x)\nfn i(x: f64) = j(x)\nfn j(x: f64) = e(x)\n"
               "fn f(x: f64) = grad(a, wrt = x)(x)",
               "2:16 'a' calls 'b' here\n3:16 'b' calls 'c' here\n4:16 'c' calls 'd' here\n"
               "0:0 2 more calls lead there\n"
               "7:16 'h' calls 'i' here\n8:16 'i' calls 'j' here\n9:16 'j' calls 'e' here\n");
}

Test(elab_grad, syntax_trees) {
  compiled c;
  compile_good(&c, "param W: f64 = 1\nfn g(x: f64) = x * W\n"
                   "fn f(x: f64) = grad(g)(x) + value_and_grad(g, wrt = (x, W))(x).0");
  hia_text out, dot;
  hiaR_text_init(&out, &c.comp.arena);
  hiaR_text_init(&dot, &c.comp.arena);
  hiaF_print_ast(c.program, &out);
  hiaF_dot_ast(c.program, &dot);
  cr_expect(strstr(out.data, "call 3:16 grad g wrt W : f64\n"), "%s", out.data);
  cr_expect(strstr(out.data, "call 3:29 value_and_grad g wrt x, W : (f64, (f64, f64))\n"), "%s",
            out.data);
  cr_expect(strstr(dot.data, "grad g wrt W"), "%s", dot.data);
  discard(&c);
  /* one with an error has no type, and may lack all the rest */
  compile(&c, "fn f(x: f64) = grad(g, wrt = y)(x)");
  hiaR_text_init(&out, &c.comp.arena);
  hiaF_print_ast(c.program, &out);
  cr_expect(strstr(out.data, "call 1:16 grad\n"), "%s", out.data);
  discard(&c);
}
