/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: data types, matches, arrays and comprehensions: their text, and that the built
 * programs run. Mistakes are in test_engine_builder_data_wrong.c. */
#include "tests/unit/helpers/builder.h"
#include "tests/unit/helpers/program.h"

/* The text is a program, and it is the same program: built text and text of the built program agree
 * in every engine. `call` is an expression. */
static void expect_everywhere(world *w, const char *call, const char *expected) {
  const char *text = print(w);
  static const struct {
    hia_engine_kind kind;
    int level;
    unsigned threads;
  } ways[] = {{HIA_ENGINE_INTERP, 3, 1}, {HIA_ENGINE_INTERP, 3, 3}, {HIA_ENGINE_EXPAND, 3, 1},
              {HIA_ENGINE_JIT, 0, 1},    {HIA_ENGINE_JIT, 2, 1},    {HIA_ENGINE_JIT, 3, 2}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (ways[i].kind == HIA_ENGINE_JIT && !has_native()) continue;
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = ways[i].kind;
    options.opt_level = ways[i].level;
    options.threads = ways[i].threads;
    hia_engine *engine;
    hia_module *module = NULL;
    hia_function *function = NULL;
    hia_value *result = NULL;
    hia_error *error;
    char got[512];
    cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
    hia_status status =
        hia_module_load_expression(engine, "built.hia", text, strlen(text), call, &module, &error);
    if (status == HIA_OK) status = hia_module_function(module, HIA_EXPRESSION, &function, &error);
    if (status == HIA_OK) status = hia_call(function, NULL, 0, &result, &error);
    if (status == HIA_OK)
      hia_value_format(result, got, sizeof got);
    else
      snprintf(got, sizeof got, "%s", hia_error_message(error, 0));
    cr_expect_str_eq(got, expected, "way %zu, %s: %s\n%s\n%s", i, call, got, hia_error_text(error),
                     text);
    hia_error_free(error);
    hia_value_free(result);
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

static const char tree_text[] = "type Tree = Leaf(x: i64) | Node(left: Tree, right: Tree)\n"
                                "\n"
                                "fn total(t: Tree) -> i64 =\n"
                                "  match t {\n"
                                "    Leaf(x) => x,\n"
                                "    Node(left, right) => {\n"
                                "      let v1 = total(left);\n"
                                "      v1 + total(right)\n"
                                "    },\n"
                                "  }\n";

/* total(t), its arms begun in one of three ways. */
static void build_sum(hia_builder *b, int way) {
  hia_build_ctor leaf = hia_build_find_ctor(b, "Leaf"), node = hia_build_find_ctor(b, "Node");
  hia_build_fn sum = hia_build_declare(b, "total(t: Tree) -> i64");
  value x, part[2], sums[2];
  hia_build_begin(b, sum);
  hia_build_match(b, hia_build_param(b, sum, 0));
  if (way == 0) {
    hia_build_arm(b, "Leaf(x)", &x, 1);
  } else if (way == 1) {
    hia_build_arm_ctor(b, leaf, &x, 1);
    hia_build_name(b, x, "x");
  } else {
    hia_build_pattern p = hia_build_pattern_bind(b, "x");
    hia_build_arm_pattern(b, hia_build_pattern_ctor(b, leaf, &p, 1), &x, 1);
  }
  hia_build_end_arm(b, x);
  if (way == 0) {
    hia_build_arm(b, " Node ( left,right ) ", part, 2);
  } else if (way == 1) {
    hia_build_arm_ctor(b, node, part, 2);
    hia_build_name(b, part[0], "left");
    hia_build_name(b, part[1], "right");
  } else {
    hia_build_pattern both[2] = {hia_build_pattern_bind(b, "left"),
                                 hia_build_pattern_bind(b, "right")};
    hia_build_arm_pattern(b, hia_build_pattern_ctor(b, node, both, 2), part, 2);
  }
  for (int i = 0; i < 2; i++) sums[i] = hia_build_call(b, sum, &part[i], 1);
  hia_build_end_arm(b, hia_build_add(b, sums[0], sums[1]));
  hia_build_return(b, hia_build_end_match(b));
}

/* ---- data types and matches ---- */

Test(builder_data, a_type_by_its_definition_and_by_its_parts) {
  for (int way = 0; way < 3; way++) {
    world w = open_world();
    hia_build_type tree = 0;
    if (way == 0) {
      tree = hia_build_declare_type(w.b,
                                    "type Tree =\n| Leaf(x: i64)|Node(left: Tree, right : Tree) ");
    } else {
      tree = hia_build_declare_type(w.b, " Tree ");
      if (way == 1) {
        const hia_build_field x[] = {{"x", HIA_I64}}, both[] = {{"left", tree}, {"right", tree}};
        hia_build_add_ctor(w.b, tree, "Leaf", x, 1);
        hia_build_add_ctor(w.b, tree, "Node", both, 2);
      } else {
        cr_assert_eq(hia_build_declare_type(w.b, "Tree=Leaf(x:i64)|Node(left:Tree,right:Tree)"),
                     tree);
      }
    }
    cr_assert_eq(hia_build_read_type(w.b, " Tree"), tree);
    build_sum(w.b, way);
    expect_text(&w, tree_text);
    finish(&w);
    expect_everywhere(&w, "total(Node(Node(Leaf(1), Leaf(20)), Leaf(300)))", "321");
    close_world(&w);
  }
}

/* Types that contain each other, also through tuples and arrays, in parameters, results and loops.
 */
static void build_forest(hia_builder *b) {
  hia_build_type forest = hia_build_declare_type(b, "Forest"),
                 tree = hia_build_declare_type(b, "Tree"),
                 color = hia_build_declare_type(b, "Color = Red | Green");
  hia_build_type parts[2] = {HIA_F64, forest};
  hia_build_type pair = hia_build_tuple_type(b, parts, 2);
  hia_build_type trees = hia_build_array_type(b, tree);
  const hia_build_field all[] = {{NULL, trees}, {"f0", color}};
  const hia_build_field node[] = {{"weight", pair}, {NULL, HIA_BOOL}};
  hia_build_add_ctor(b, forest, "Forest", all, 2);
  hia_build_ctor stub = hia_build_add_ctor(b, tree, "Stub", NULL, 0),
                 tall = hia_build_add_ctor(b, tree, "Tree", node, 2);

  /* deeper(t, n): n times a Tree around the tree, and n. */
  hia_build_fn deeper = hia_build_declare(b, "deeper(t: Tree, n: i32) -> (Tree, i32)");
  hia_build_begin(b, deeper);
  value init[2] = {hia_build_param(b, deeper, 0), hia_build_i32(b, 0)}, var[2], next[2], two[2];
  value n = hia_build_param(b, deeper, 1);
  hia_build_loop(b, init, 2, var);
  hia_build_while(b, hia_build_lt(b, var[1], n));
  two[0] = hia_build_array(b, var, 1);
  two[1] = hia_build_data(b, hia_build_find_ctor(b, "Green"), NULL, 0);
  value inner = hia_build_data(b, hia_build_find_ctor(b, "Forest"), two, 2);
  two[0] = hia_build_convert(b, HIA_F64, var[1]);
  two[1] = inner;
  value weight = hia_build_tuple(b, two, 2);
  two[0] = weight;
  two[1] = hia_build_bool(b, true);
  next[0] = hia_build_data(b, tall, two, 2);
  next[1] = hia_build_add(b, var[1], hia_build_i32(b, 1));
  hia_build_return(b, hia_build_end_loop(b, next, 2));

  hia_build_fn start = hia_build_declare_types(b, "start", NULL, 0, tree);
  hia_build_begin(b, start);
  hia_build_return(b, hia_build_data(b, stub, NULL, 0));
}

Test(builder_data, types_that_contain_each_other) {
  world w = open_world();
  build_forest(w.b);
  expect_text(&w, "type Forest = Forest(f0_: [Tree], f0: Color)\n"
                  "type Tree = Stub | Tree(weight: (f64, Forest), f1: bool)\n"
                  "type Color = Red | Green\n"
                  "\n"
                  "fn deeper(t: Tree, n: i32) -> (Tree, i32) =\n"
                  "  loop (v1: Tree = t, v2: i32 = 0) while v2 < n {\n"
                  "    let v3 = [v1];\n"
                  "    let v4 = Forest(v3, Green);\n"
                  "    let v5 = (f64(v2), v4);\n"
                  "    let v6 = Tree(v5, true);\n"
                  "    (v6, v2 + 1)\n"
                  "  }\n"
                  "\n"
                  "fn start() -> Tree = Stub\n");
  finish(&w);
  expect_everywhere(
      &w, "deeper(start(), 2)",
      "(Tree((1.0, Forest([Tree((0.0, Forest([Stub], Green)), true)], Green)), true), "
      "2)");

  /* The queries of the module show what was built. */
  const hia_type_info *forest = hia_module_type(w.module, "Forest"),
                      *tree = hia_module_type(w.module, "Tree");
  cr_assert_eq(hia_type_info_ctor_count(tree), 2);
  cr_assert_str_eq(hia_type_info_ctor_name(tree, 1), "Tree");
  cr_assert_str_eq(hia_type_info_field_name(forest, 0, 0), "f0_");
  cr_assert_str_eq(hia_type_info_field_name(forest, 0, 1), "f0");
  char text[64];
  hia_type_info_format(hia_type_info_field(tree, 1, 0), text, sizeof text);
  cr_assert_str_eq(text, "(f64, Forest)");
  cr_assert(hia_type_info_is_same(hia_type_info_element(hia_type_info_field(forest, 0, 0)), tree));
  hia_function *deeper;
  cr_assert_eq(hia_module_function(w.module, "deeper", &deeper, NULL), HIA_OK);
  cr_assert(hia_type_info_is_same(hia_function_param_type(deeper, 0), tree));
  cr_assert_str_eq(hia_function_signature(deeper), "deeper(t: Tree, n: i32) -> (Tree, i32)");
  close_world(&w);
}

/* Every sort of pattern, by its text (way 0) and by its parts; and every sort of subject. */
static void build_matches(hia_builder *b, int way) {
  hia_build_declare_type(
      b, "Shape = Dot | Line(n: i64, solid: bool, at: (f32, f32)) | Two(a: Shape, b: Shape)");
  hia_build_ctor dot = hia_build_find_ctor(b, "Dot"), line = hia_build_find_ctor(b, "Line"),
                 two = hia_build_find_ctor(b, "Two");
  hia_build_fn f = hia_build_declare(b, "f(s: Shape) -> i64");
  value bound[3];
  hia_build_begin(b, f);
  hia_build_match(b, hia_build_param(b, f, 0));
  if (way == 0) {
    hia_build_arm(b, "Dot", NULL, 0);
    hia_build_end_arm(b, hia_build_i64(b, -1));
    hia_build_arm(b, "Line(-0x10, true, _)", NULL, 0);
    hia_build_end_arm(b, hia_build_i64(b, -2));
    hia_build_arm(b, "Line(7i64, true, p)", bound, 1);
  } else {
    hia_build_pattern any = hia_build_pattern_any(b), p[3];
    hia_build_arm_ctor(b, dot, NULL, 0);
    hia_build_end_arm(b, hia_build_i64(b, -1));
    p[0] = hia_build_pattern_const(b, hia_build_i64(b, -16));
    p[1] = hia_build_pattern_const(b, hia_build_bool(b, true));
    p[2] = any;
    hia_build_arm_pattern(b, hia_build_pattern_ctor(b, line, p, 3), NULL, 0);
    hia_build_end_arm(b, hia_build_i64(b, -2));
    p[0] = hia_build_pattern_const(b, hia_build_i64(b, 7));
    p[2] = hia_build_pattern_bind(b, "p");
    hia_build_arm_pattern(b, hia_build_pattern_ctor(b, line, p, 3), bound, 1);
  }
  value part = hia_build_convert(b, HIA_I64, hia_build_part(b, bound[0], 1));
  hia_build_end_arm(b, part);
  if (way == 0) {
    hia_build_arm(b, "Line(n, solid, _)", bound, 2);
  } else {
    hia_build_arm_ctor(b, line, bound, 3);
    hia_build_name(b, bound[0], "n");
    hia_build_name(b, bound[1], "solid");
  }
  value sure = hia_build_select(b, bound[1], bound[0], hia_build_i64(b, 0));
  hia_build_end_arm(b, sure);
  if (way == 0) {
    hia_build_arm(b, "Two(Two(_, a), Two(c, _))", bound, 2);
  } else {
    hia_build_pattern p[2] = {hia_build_pattern_any(b), hia_build_pattern_bind(b, "a")}, q[2];
    q[0] = hia_build_pattern_ctor(b, two, p, 2);
    p[1] = p[0];
    p[0] = hia_build_pattern_bind(b, "c");
    q[1] = hia_build_pattern_ctor(b, two, p, 2);
    hia_build_arm_pattern(b, hia_build_pattern_ctor(b, two, q, 2), bound, 2);
  }
  value a = hia_build_call(b, f, &bound[0], 1), c = hia_build_call(b, f, &bound[1], 1);
  hia_build_end_arm(b, hia_build_add(b, a, c));
  if (way == 0)
    hia_build_arm(b, "rest", bound, 1);
  else
    hia_build_arm_pattern(b, hia_build_pattern_bind(b, "rest"), bound, 1);
  hia_build_end_arm(b, hia_build_i64(b, 100));
  hia_build_return(b, hia_build_end_match(b));
}

static const char matches_text[] =
    "type Shape = Dot | Line(n: i64, solid: bool, at: (f32, f32)) | Two(a: Shape, b: Shape)\n"
    "\n"
    "fn f(s: Shape) -> i64 =\n"
    "  match s {\n"
    "    Dot => -1,\n"
    "    Line(-16, true, _) => -2,\n"
    "    Line(7, true, p) => i64(p.1),\n"
    "    Line(n, solid, _) => select(solid, n, 0),\n"
    "    Two(Two(_, a), Two(c, _)) => {\n"
    "      let v1 = f(a);\n"
    "      v1 + f(c)\n"
    "    },\n"
    "    rest => 100,\n"
    "  }\n";

Test(builder_data, patterns_of_every_sort) {
  for (int way = 0; way < 2; way++) {
    world w = open_world();
    build_matches(w.b, way);
    expect_text(&w, matches_text);
    finish(&w);
    expect_everywhere(&w,
                      "(f(Two(Two(Dot, Line(3, true, (0, 9))), Two(Line(7, true, (0, 9)), Dot))),"
                      " f(Line(-16, true, (1, 1))), f(Line(7, false, (1, 1))), f(Dot),"
                      " f(Two(Dot, Dot)))",
                      "(12, -2, 0, -1, 100)");
    close_world(&w);
  }
}

Test(builder_data, subjects_of_every_sort_and_names_with_capitals) {
  world w = open_world();
  hia_build_declare_type(w.b, "T = A | B(x: i32)");
  hia_build_fn f = hia_build_declare(w.b, "f(t: T, n: i32, yes: bool) -> i32");
  hia_build_begin(w.b, f);
  value bound[1];
  hia_build_match(w.b, hia_build_param(w.b, f, 1));
  hia_build_arm(w.b, "1", NULL, 0);
  hia_build_end_arm(w.b, hia_build_i32(w.b, 10));
  hia_build_arm(w.b, "-2147483648i32", NULL, 0);
  hia_build_match(w.b, hia_build_param(w.b, f, 2));
  hia_build_arm(w.b, "false", NULL, 0);
  hia_build_end_arm(w.b, hia_build_i32(w.b, 20));
  hia_build_arm(w.b, "true", NULL, 0);
  hia_build_end_arm(w.b, hia_build_i32(w.b, 30));
  value inner = hia_build_end_match(w.b);
  hia_build_end_arm(w.b, inner);
  /* A name that begins with a capital letter would be a constructor in a pattern. */
  hia_build_arm_pattern(w.b, hia_build_pattern_bind(w.b, "B"), bound, 1);
  value more = hia_build_name(w.b, hia_build_add(w.b, bound[0], bound[0]), "More");
  hia_build_match(w.b, hia_build_param(w.b, f, 0));
  hia_build_arm_ctor(w.b, hia_build_find_ctor(w.b, "B"), bound, 1);
  hia_build_end_arm(w.b, hia_build_name(w.b, bound[0], "Much"));
  hia_build_arm(w.b, "_", NULL, 0);
  hia_build_end_arm(w.b, more);
  hia_build_end_arm(w.b, hia_build_end_match(w.b));
  hia_build_return(w.b, hia_build_end_match(w.b));
  expect_text(&w, "type T = A | B(x: i32)\n"
                  "\n"
                  "fn f(t: T, n: i32, yes: bool) -> i32 =\n"
                  "  match n {\n"
                  "    1 => 10,\n"
                  "    -2147483648 => match yes {\n"
                  "      false => 20,\n"
                  "      true => 30,\n"
                  "    },\n"
                  "    _B => {\n"
                  "      let More = _B + _B;\n"
                  "      match t {\n"
                  "        B(_Much) => _Much,\n"
                  "        _ => More,\n"
                  "      }\n"
                  "    },\n"
                  "  }\n");
  finish(&w);
  expect_everywhere(&w, "(f(A, 1, true), f(A, -2147483648, true), f(A, 5, true), f(B(3), 5, true))",
                    "(10, 30, 10, 3)");
  close_world(&w);
}

/* ---- arrays and comprehensions ---- */

static void build_arrays(hia_builder *b) {
  hia_build_declare_type(b, "L = N | C(h: i64, t: L)");
  hia_build_fn f = hia_build_declare(b, "f(a: [(i64, L)], i: i32, n: i64) -> [(i64, L)]");
  hia_build_begin(b, f);
  value a = hia_build_param(b, f, 0), i = hia_build_param(b, f, 1), n = hia_build_param(b, f, 2);
  value one = hia_build_i64(b, 1), zero = hia_build_i32(b, 0);
  value first = hia_build_at(b, a, zero), at = hia_build_at(b, a, hia_build_i64(b, 1));
  value swapped = hia_build_set(b, a, i, first);
  swapped = hia_build_set(b, swapped, one, at);
  value tail = hia_build_slice(b, swapped, one, hia_build_len(b, a));
  value none = hia_build_empty_array(b, hia_build_type_of(b, a));

  value x = hia_build_for_each(b, a); /* of the elements, with an index doubled */
  value part = hia_build_part(b, x, 0);
  value parts[2] = {hia_build_mul(b, part, hia_build_i64(b, 2)), hia_build_part(b, x, 1)};
  value doubled = hia_build_end_for(b, hia_build_tuple(b, parts, 2));

  value k = hia_build_name(b, hia_build_for_range(b, hia_build_i64(b, 0), n), "k");
  value fields[2] = {k, hia_build_data(b, hia_build_find_ctor(b, "N"), NULL, 0)};
  hia_build_if(b, hia_build_lt(b, k, one));
  value both[2] = {k, fields[1]};
  hia_build_else(b, hia_build_tuple(b, both, 2));
  both[1] = hia_build_data(b, hia_build_find_ctor(b, "C"), fields, 2);
  value counted = hia_build_end_for(b, hia_build_end_if(b, hia_build_tuple(b, both, 2)));
  value all[4] = {tail, none, doubled, counted};
  hia_build_return(b, hia_build_concat(b, all, 4));

  hia_build_fn g = hia_build_declare(b, "rows(n: i32) -> [[(i32, i32)]]");
  hia_build_begin(b, g);
  value row = hia_build_name(b, hia_build_for_range(b, zero, hia_build_param(b, g, 0)), "row");
  value column = hia_build_for_range(b, zero, hia_build_i32(b, 2));
  both[0] = row, both[1] = column;
  value cells = hia_build_end_for(b, hia_build_tuple(b, both, 2));
  hia_build_return(b, hia_build_end_for(b, cells));
}

static const char arrays_text[] =
    "type L = N | C(h: i64, t: L)\n"
    "\n"
    "fn f(a: [(i64, L)], i: i32, n: i64) -> [(i64, L)] = {\n"
    "  let v1 = a[0];\n"
    "  let v2 = a[1i64];\n"
    "  let v3 = set(set(a, i, v1), 1i64, v2);\n"
    "  let v4 = v3[1i64..len(a)];\n"
    "  let v5: [(i64, L)] = [fail(0) for _ in 0..0];\n"
    "  let v6: [(i64, L)] = [{\n"
    "    let v7 = v8.0 * 2;\n"
    "    (v7, v8.1)\n"
    "  } for v8 in a];\n"
    "  let v9: [(i64, L)] = [if k < 1 then (k, N) else (k, C(k, N)) for k in 0..n];\n"
    "  concat(v4, v5, v6, v9)\n"
    "}\n"
    "\n"
    "fn rows(n: i32) -> [[(i32, i32)]] =\n"
    "  [[(row, v1) for v1 in 0..2] for row in 0..n]\n";

Test(builder_data, arrays_and_comprehensions) {
  world w = open_world();
  build_arrays(w.b);
  expect_text(&w, arrays_text);
  finish(&w);
  expect_everywhere(&w, "f([(1, N), (2, C(7, N)), (3, N)], 2, 2)",
                    "[(2, C(7, N)), (1, N), (2, N), (4, C(7, N)), (6, N), (0, N), (1, C(1, N))]");
  expect_everywhere(&w, "rows(2)", "[[(0, 0), (0, 1)], [(1, 0), (1, 1)]]");
  expect_everywhere(&w, "f([(1, N)], 0, 0)", "index 1 is out of range: the array has 1 element");
  expect_everywhere(&w, "len(f([(1, N), (2, N)], 0, -5))", "3");
  close_world(&w);
}

/* ---- long and deep ---- */

Test(builder_data, blocks_and_patterns_nest_to_their_limits) {
  world w = open_world();
  hia_build_declare_type(w.b, "L = N | C(h: (i32, i32), t: L)");
  hia_build_ctor nil = hia_build_find_ctor(w.b, "N"), cons = hia_build_find_ctor(w.b, "C");
  hia_build_pattern part[2] = {hia_build_pattern_any(w.b),
                               hia_build_pattern_ctor(w.b, nil, NULL, 0)};
  for (int i = 1; i < HIA_BUILD_MAX_PATTERN_DEPTH; i++)
    part[1] = hia_build_pattern_ctor(w.b, cons, part, 2);
  hia_build_fn f = hia_build_declare(w.b, "f(l: L, a: [(i32, i32)]) -> i32"),
               g = hia_build_declare(w.b, "g(a: [(i32, i32)], n: i32) -> L");
  hia_build_begin(w.b, f);
  value l = hia_build_param(w.b, f, 0), r = hia_build_i32(w.b, 7);
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
    hia_build_match(w.b, l);
    if (i + 1 < HIA_BUILD_MAX_NESTING)
      hia_build_arm(w.b, "C(_, _)", NULL, 0);
    else
      hia_build_arm_pattern(w.b, part[1], NULL, 0);
    hia_build_end_arm(w.b, hia_build_i32(w.b, i));
    hia_build_arm(w.b, "_", NULL, 0);
  }
  hia_build_name(w.b, hia_build_len(w.b, hia_build_param(w.b, f, 1)), "n");
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) {
    hia_build_end_arm(w.b, r);
    r = hia_build_end_match(w.b);
  }
  hia_build_return(w.b, r);

  hia_build_begin(w.b, g);
  value a = hia_build_param(w.b, g, 0), n = hia_build_param(w.b, g, 1);
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) hia_build_for_range(w.b, n, n);
  hia_build_set(w.b, a, n, hia_build_at(w.b, hia_build_slice(w.b, a, n, n), n));
  r = a;
  for (int i = 0; i < HIA_BUILD_MAX_NESTING; i++) r = hia_build_end_for(w.b, r);
  hia_build_return(w.b, hia_build_data(w.b, nil, NULL, 0));
  finish(&w);
  expect_everywhere(&w, "(f(N, [(1, 1)]), 0)", "(7, 0)");
  close_world(&w);
}

/* Thousands of constructors and arms; the text of the type is in lines of its own. */
Test(builder_data, many_constructors_and_arms) {
  world w = open_world();
  enum { N = 6000 };
  hia_build_type type = hia_build_declare_type(w.b, "T");
  char name[16];
  for (int i = 0; i < N; i++) {
    const hia_build_field x[] = {{NULL, HIA_I32}};
    snprintf(name, sizeof name, "K%d", i);
    hia_build_add_ctor(w.b, type, name, x, i % 2 != 0);
  }
  hia_build_fn f = hia_build_declare(w.b, "f(t: T, n: i32) -> i32");
  hia_build_begin(w.b, f);
  for (int pass = 0; pass < 2; pass++) {
    hia_build_match(w.b, hia_build_param(w.b, f, (size_t)pass));
    for (int i = 0; i < N; i++) {
      snprintf(name, sizeof name, pass ? "%d" : i % 2 ? "K%d(_)" : "K%d", i);
      hia_build_arm(w.b, name, NULL, 0);
      hia_build_end_arm(w.b, hia_build_i32(w.b, i * 3));
    }
    if (pass) {
      hia_build_arm(w.b, "_", NULL, 0);
      hia_build_end_arm(w.b, hia_build_i32(w.b, -1));
    }
    hia_build_name(w.b, hia_build_end_match(w.b), pass ? "b" : "a");
  }
  hia_build_return(w.b, hia_build_i32(w.b, 5));
  const char *text = print(&w);
  cr_assert_eq(strncmp(text, "type T =\n    K0\n  | K1(f0: i32)\n  | K2\n", 39), 0, "%.60s", text);
  finish(&w);
  close_world(&w);
}
