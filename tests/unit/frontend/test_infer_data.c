/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of data, arrays and comprehensions; what the later phases find in the slots of nodes; the
 * refusal of graphs of them. */
#include "frontend/kit/instance.h"
#include "frontend/syntax/program.h"
#include "tests/unit/helpers/sources.h"

#define TYPES                                                                                      \
  "type Tree = Leaf(word: i32, p: f64) | Node(left: Tree, right: Tree, n: i64)\n"                  \
  "type List = Nil | Cons(head: (i32, f64), tail: List)\n"                                         \
  "type Rose = Rose(label: i32, rest: [Rose])\n"

/* The instance of the last function of the program. */
static const hia_inst *last_instance(const compiled *c) {
  const hia_program *p = c->program;
  const hia_inst *found = NULL;
  for (uint32_t i = 0; i < p->insts.len; i++)
    if (hiaF_inst(p, i)->decl == p->decls.len - 1) found = hiaF_inst(p, i);
  cr_assert_not_null(found);
  return found;
}

/* The result type of the last function. */
static void expect(const char *text, const char *expected) {
  compiled c;
  compile_good(&c, text);
  const hia_inst *inst = last_instance(&c);
  const char *type = hiaF_itype_text(&c.program->it, inst->result);
  cr_expect_str_eq(type, expected, "%s\n  is %s, expected %s", text, type, expected);
  cr_expect(inst->sound && hiaF_is_final(&c.program->it, inst->result));
  discard(&c);
}

/* An expression with t: Tree, l: List, ts: [Tree], ps: [(i64, f32)], n: i64, x: f64, b: bool. */
static void expect_expr(const char *expr, const char *expected) {
  char text[2048];
  snprintf(text, sizeof text,
           TYPES "fn pair(x) = (x, x)\nfn list(x) = [x, x]\nfn sum(t: Tree) -> f64 = match t {"
                 " Leaf(_, p) => p, Node(l, r, _) => sum(l) + sum(r) }\n"
                 "fn leaf(i: i32) -> Rose = Rose(i, [leaf(k) for k in 0..0])\n"
                 "fn f(t: Tree, l: List, ts: [Tree], ps: [(i64, f32)], n: i64, x: f64, b: bool) ="
                 " %s\n",
           expr);
  expect(text, expected);
}

Test(infer_data, constructors) {
  expect_expr("Nil", "List");
  expect_expr("Leaf(1, 2)", "Tree");
  expect_expr("Node(Leaf(1, 2), t, 3)", "Tree");
  expect_expr("Cons((1, 2), Nil)", "List");
  expect_expr("Cons((1, x), l)", "List");
  expect_expr("if b then Nil else l", "List");
  expect_expr("if b then fail(1) else Leaf(fail(2), 1)", "Tree");
  expect_expr("match n { 0 => t, 1 => Leaf(1, 2), _ => fail(3) }", "Tree");
  expect_expr("{ let a = Leaf(1, 2); let b: Tree = a; (a, b) }", "(Tree, Tree)");
  expect_expr("loop (a = Nil, i = 0) while i < 3 { (Cons((i, 1), a), i + 1) }", "(List, i32)");
  expect_expr("pair(Nil)", "(List, List)");
  expect_expr("Rose(1, [leaf(i) for i in 0..3])", "Rose");
}

Test(infer_data, matches) {
  expect_expr("match t { Leaf(w, _) => w, Node(_, _, _) => 1 }", "i32");
  expect_expr("match t { Leaf(_, p) => p, Node(_, _, n) => 1 }", "f64");
  expect_expr("match t { Node(Node(a, _, _), _, k) => (a, k), _ => (t, 1) }", "(Tree, i64)");
  expect_expr("match l { Cons(h, _) => h.1, Nil => 1 }", "f64");
  expect_expr("match l { x => x }", "List");
  expect_expr("match Leaf(1, 2) { Leaf(-1, _) => n, _ => 0 }", "i64");
  expect_expr("match b { true => Nil, false => l }", "List");
}

Test(infer_data, arrays) {
  expect_expr("[Nil, l]", "[List]");
  expect_expr("[(1, 2.5)]", "[(i32, f32)]");
  expect_expr("[(1, 2), (n, 3.5)]", "[(i64, f32)]");
  expect_expr("[[Nil], [l, Nil]]", "[[List]]");
  expect_expr("[[(1, 2)], [(n, x)]]", "[[(i64, f64)]]");
  expect_expr("if b then [(1, 2)] else ps", "[(i64, f32)]");
  expect_expr("{ let a: [(i64, f64)] = [(1, 2)]; a }", "[(i64, f64)]");
  expect_expr("{ let a = [(1, 2)]; a }", "[(i32, i32)]");
  expect_expr("[fail(1), Nil]", "[List]");
  expect_expr("ts[0]", "Tree");
  expect_expr("ts[n]", "Tree");
  expect_expr("ps[0].1", "f32");
  expect_expr("[(1, 2), (3, x)][1i64]", "(i32, f64)");
  expect_expr("ts[1..n]", "[Tree]");
  expect_expr("ts[0i32..n][0]", "Tree");
  expect_expr("[[Nil]][0][0]", "List");
  expect_expr("len(ts)", "i64");
  expect_expr("len([(1, 2)]) + n", "i64");
  expect_expr("set(ts, 0, Leaf(1, 2))", "[Tree]");
  expect_expr("set(ps, n, (1, 2))", "[(i64, f32)]");
  expect_expr("set([(1, 2)], 0, (n, x))", "[(i64, f64)]");
  expect_expr("concat(ts, [t], ts)", "[Tree]");
  expect_expr("concat([(1, 2)], ps)", "[(i64, f32)]");
  expect_expr("concat([(1, 2)], [(3, 4.5)])", "[(i32, f32)]");
  expect_expr("list((1, 2))", "[(i32, i32)]");
  expect_expr("list(list(l))", "[[List]]");
}

Test(infer_data, comprehensions) {
  expect_expr("[Leaf(i, x) for i in 0..10]", "[Tree]");
  expect_expr("[(i, 1) for i in 0..n]", "[(i64, i32)]");
  expect_expr("[(i, 1) for i in n..5]", "[(i64, i32)]");
  expect_expr("[(sum(u), u) for u in ts]", "[(f64, Tree)]");
  expect_expr("[[(i, p) for p in ps] for i in 0..3]", "[[(i32, (i64, f32))]]");
  expect_expr("[p for p in [(1, 2)]]", "[(i32, i32)]");
  expect_expr("if b then ps else [(1, 1) for u in ts]", "[(i64, f32)]");
  expect_expr("len([(1, 2) for _ in ts])", "i64");
}

Test(infer_data, results) {
  expect(TYPES "fn f(n: i32) = if n == 0 then Leaf(1, 2) else Node(f(n - 1), f(n - 1), 3)\n",
         "Tree");
  expect(TYPES "fn f(n: i32) = if n == 0 then f(1) else Nil\n", "List");
  expect(TYPES "fn f(t: Tree) = match t { Leaf(w, _) => w, Node(l, r, _) => f(l) + f(r) }\n",
         "i32");
  expect(TYPES "fn f(t: Tree) = match t { Leaf(_, _) => 1, Node(l, r, n) => n + f(l) + f(r) }\n",
         "i64");
  expect(TYPES "fn f(l: List) = match l { Nil => [(0, 0)], Cons(h, t) => concat([h], f(t)) }\n",
         "[(i32, f64)]");
  expect(TYPES "fn f(n: i32) = if n == 0 then [(1, 2.5)] else f(n - 1)[0..1]\n", "[(i32, f32)]");
  expect(TYPES "fn f(n: i32) = if n == 0 then [Nil] else [f(n - 1)[0], Nil]\n", "[List]");
  expect(TYPES "fn f(r: Rose) = match r { Rose(l, rs) => if len(rs) == 0 then l else f(rs[0]) }\n",
         "i32");
  expect_error(TYPES "fn f(t: Tree) = Node(f(t), f(t), 1)\n", "E0314");
  expect_error(TYPES "fn f(t: Tree) = [f(t)]\n", "E0314");
}

/* Types of any shape are instances of generic functions. */
Test(infer_data, generic_functions) {
  expect(TYPES "fn size(t) = match t { Leaf(_, _) => 1, Node(l, r, _) => size(l) + size(r) }\n"
               "fn f(t: Tree) = size(t)\n",
         "i32");
  expect(TYPES "fn first(a) = a[0]\nfn f(a: [[Tree]]) = (first(a), first(first(a)))\n",
         "([Tree], Tree)");
  expect(TYPES "fn swap(a, i, j) = set(set(a, i, a[j]), j, a[i])\n"
               "fn f(a: [Tree], b: [(i32, i32)]) = (swap(a, 0, 1), swap(b, 0, 1i64))\n",
         "([Tree], [(i32, i32)])");
}

/* What the makers of graphs find: final types everywhere, and those of patterns. */
Test(infer_data, tree_as_text) {
  compiled c;
  compile_good(&c, "type T = A | B(p: (i64, f32), t: T)\n"
                   "fn f(t: T) = match t {\n"
                   "  B(p, B(_, u)) => [p, (1, 2)],\n"
                   "  _ => [(len([t]), 3) for w in 0..9i64] }\n");
  hia_text out;
  hiaR_text_init(&out, &c.comp.arena);
  hiaF_print_ast(c.program, &out);
  cr_expect_str_eq(out.data, "type 1:6 T\n"
                             "  variant 1:10 A\n"
                             "  variant 1:14 B\n"
                             "    parameter 1:16 p\n"
                             "      type-tuple 1:19\n"
                             "        type 1:20 i64\n"
                             "        type 1:25 f32\n"
                             "    parameter 1:31 t\n"
                             "      type 1:34 T\n"
                             "fn 2:4 f(T) : [(i64, f32)]\n"
                             "  parameter 2:6 t : T\n"
                             "    type 2:9 T\n"
                             "  match 2:14 : [(i64, f32)]\n"
                             "    name 2:20 t : T\n"
                             "    pattern 3:3 B : T\n"
                             "      pattern 3:5 p : (i64, f32)\n"
                             "      pattern 3:8 B : T\n"
                             "        pattern 3:10 _\n"
                             "        pattern 3:13 u : T\n"
                             "    array 3:20 : [(i64, f32)]\n"
                             "      name 3:21 p : (i64, f32)\n"
                             "      tuple 3:24 : (i64, f32)\n"
                             "        int 3:25 1 : i64\n"
                             "        int 3:28 2 : f32\n"
                             "    pattern 4:3 _\n"
                             "    comprehension 4:8 : [(i64, f32)]\n"
                             "      tuple 4:9 : (i64, f32)\n"
                             "        call 4:10 len : i64\n"
                             "          array 4:14 : [T]\n"
                             "            name 4:15 t : T\n"
                             "        int 4:20 3 : f32\n"
                             "      binder 4:27 w : i64\n"
                             "      int 4:32 0 : i64\n"
                             "      int 4:35 9i64 : i64\n");
  discard(&c);
}

/* Each use of a constructor knows the type and the number. */
Test(infer_data, numbers_of_constructors) {
  compiled c;
  compile_good(&c, TYPES "fn f(n: i32) = if n == 0 then Nil else Cons((1, 2), Nil)\n");
  const hia_program *p = c.program;
  const hia_decl *f = hiaF_decl(p, p->decls.len - 1);
  unsigned n_nil = 0, n_cons = 0;
  for (hia_ast_id id = f->first_node; id < f->end_node; id++) {
    const hia_ast *n = hiaF_node(p, id);
    if (n->kind != HIA_AST_NAME || n->op != HIA_REF_CON) continue;
    const hia_decl *con = hiaF_decl(p, n->b);
    cr_expect_str_eq(hiaF_itype_text(&p->it, con->data), "List");
    cr_expect(hiaF_cons(p, con->data) + con->number == con);
    n_nil += con->number == 0;
    n_cons += con->number == 1;
  }
  cr_expect(n_nil == 2 && n_cons == 1, "%u, %u", n_nil, n_cons);
  discard(&c);
}

/* The graph's types of the data types. */
Test(infer_data, types_of_the_graph) {
  compiled c;
  compile_good(&c, TYPES "fn f(t: Tree, a: [(List, i32)]) = 1\n");
  hia_type tree = hiaF_param_type(c.program, 0, 0), array = hiaF_param_type(c.program, 0, 1);
  hia_type_table table = hiaG_type_table(&c.types);
  cr_expect_str_eq(type_text(&c, tree), "Tree");
  cr_expect_str_eq(type_text(&c, array), "[(List, i32)]");
  cr_assert_eq(hiaG_type_kind(&c.types, tree), HIA_KIND_DATA);
  cr_assert_eq(hiaR_type_entry(&table, tree)->n, 2);
  const hia_ctor *node = hiaR_ctor(&table, tree, 1);
  cr_expect_str_eq(table.names + node->name, "Node");
  cr_assert_eq(node->n, 3);
  cr_expect_eq(table.fields[node->first + 1].type, tree);
  cr_expect_eq(table.fields[node->first + 2].type, HIA_I64);
  cr_expect_str_eq(table.names + table.fields[node->first + 2].name, "n");
  discard(&c);
}

/* ---- limits ---- */

static char *text_of(size_t size) {
  char *text = malloc(size);
  cr_assert_not_null(text);
  return text;
}

static void fields(unsigned n, const char *type, const char *code) {
  char *text = text_of(n * 24 + 200), *at = text;
  at += sprintf(at, "type T = A | B(");
  for (unsigned i = 0; i < n; i++) at += sprintf(at, "%sx%u: %s", i == 0 ? "" : ", ", i, type);
  sprintf(at, ")\nfn f() = 1\n");
  if (code != NULL) {
    expect_error(text, code);
  } else {
    compiled c;
    compile_good(&c, text);
    discard(&c);
  }
  free(text);
}

Test(infer_data, limits) {
  fields(1000, "i32", NULL);
  fields(1001, "i32", "E0316");
  fields(500, "([T], T)", NULL);
  fields(501, "(i32, T)", "E0316");
  for (unsigned n = 65534; n <= 65535; n++) {
    char *text = text_of(n * 12 + 200), *at = text;
    at += sprintf(at, "type T = ");
    for (unsigned i = 0; i < n; i++) at += sprintf(at, "%sC%u", i == 0 ? "" : " | ", i);
    sprintf(at, "\nfn f(t: T) = match t { C0 => 1, C%u => 2, _ => 3 }\n", n - 1);
    compiled c;
    compile(&c, text);
    cr_expect_eq(c.diags.list.len, n - 65534, "%u: %s", n, all_errors(&c));
    discard(&c);
    free(text);
  }
}

/* Types that nest, in declarations and by inference: an error, not a stack that overflows. */
Test(infer_data, deep_types) {
  char *text = text_of(10000);
  for (unsigned n = 900; n <= 1900; n += 1000) {
    char *at = text + sprintf(text, "type A = A\nfn f(a: ");
    for (unsigned i = 0; i < n; i++) *at++ = '[';
    *at++ = 'A';
    for (unsigned i = 0; i < n; i++) *at++ = ']';
    strcpy(at, ") = a\n");
    compiled c;
    compile(&c, text);
    cr_expect_eq(c.diags.list.len, n > 1000, "%u: %s", n, all_errors(&c));
    discard(&c);
  }
  free(text);
  expect_error("type A = A\nfn f(n, x) = if n == 0 then 0 else f(n - 1, [x])\n"
               "fn main() = f(3, A)\n",
               "E0315");
}

/* A chain of types, of which each needs the next: the last decides. */
Test(infer_data, long_chains_of_types) {
  enum { N = 20000 };
  char *text = text_of(N * 40);
  for (int is_endless = 0; is_endless < 2; is_endless++) {
    char *at = text;
    for (int i = 0; i < N; i++)
      at += sprintf(at, "type T%d = C%d(t: T%d)%s\n", i, i, (i + 1) % N,
                    i == N / 2 && !is_endless ? " | Z" : "");
    sprintf(at, "fn f() = 1\n");
    compiled c;
    compile(&c, text);
    cr_assert_eq(c.diags.list.len, (uint32_t)is_endless, "%s", all_errors(&c));
    discard(&c);
  }
  free(text);
}
