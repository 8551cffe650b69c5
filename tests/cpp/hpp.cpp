// Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0
// hiaton.hpp: owners, results, calls with C++'s types, typed entries and their check. Compiled with
// and without exceptions (tests/cpp/run.sh).
#include <hiaton/hiaton.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <thread>
#include <type_traits>

static int n_checks, n_failed;
#define CHECK(what)                                                                                \
  (n_checks++, (what) ? void() : (n_failed++, void(std::printf("%d: %s\n", __LINE__, #what))))

template <class T> constexpr bool only_moves() {
  return std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
         !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
}
static_assert(only_moves<hiaton::engine>() && only_moves<hiaton::module>() &&
              only_moves<hiaton::value>() && only_moves<hiaton::context>() &&
              only_moves<hiaton::error>() && only_moves<hiaton::timeline>() &&
              only_moves<hiaton::cancel>() && only_moves<hiaton::builder>());
static_assert(std::is_trivially_copyable_v<hiaton::function>);
static_assert(std::is_same_v<hiaton::entry<std::int32_t(std::int32_t)>::c_type,
                             hia_status (*)(hia_context *, std::int32_t, std::int32_t *)>);
using inner = std::tuple<std::int64_t, bool>;
using nested = std::tuple<float, inner>;
static_assert(std::is_same_v<hiaton::entry<nested(double, nested)>::c_type,
                             hia_status (*)(hia_context *, double, float, std::int64_t, bool,
                                            float *, std::int64_t *, bool *)>);
static_assert(
    std::is_same_v<hiaton::map_entry<nested(double, inner)>::c_type,
                   hia_status (*)(hia_context *, std::size_t, const double *, const std::int64_t *,
                                  const bool *, float *, std::int64_t *, bool *)>);
static_assert(std::is_same_v<hiaton::plain<double(inner)>::c_type, double (*)(std::int64_t, bool)>);
static_assert(std::is_same_v<hiaton::plain<inner()>::c_type, void (*)(std::int64_t *, bool *)>);
using row = std::tuple<std::int32_t, float>;
using table = std::vector<row>;
static_assert(std::is_same_v<hiaton::entry<std::tuple<hiaton::value, double>(
                                 hiaton::value, std::tuple<bool, table>)>::c_type,
                             hia_status (*)(hia_context *, const hia_value *, bool,
                                            const hia_value *, hia_value **, double *)>);
static_assert(std::is_trivially_copyable_v<hiaton::entry<table(table)>>);

using matrix = hiaton::tensor_view<float, 2>;
using floats = std::vector<float>;
static_assert(only_moves<hiaton::tensor<float, 2>>() && std::is_trivially_copyable_v<matrix>);
static_assert(std::is_same_v<
              hiaton::entry<std::tuple<floats, bool>(matrix, std::tuple<floats, double>)>::c_type,
              hia_status (*)(hia_context *, const matrix *, const hiaton::tensor_view<float, 1> *,
                             double, hia_value **, bool *)>);
static_assert(sizeof(matrix) == sizeof(hia_f32_2) &&
              offsetof(matrix, dims) == offsetof(hia_f32_2, dims));

static const char text[] = "extern fn halve(x: f64) -> f64\n"
                           "extern impure fn note(n: i64) -> i64\n"
                           "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
                           "fn turn(t: (f32, (i64, bool)), x: f64) -> ((bool, i64), (f64, f32)) =\n"
                           "  { let (a, (b, c)) = t; ((not c, b + 1), (x * 2, a)) }\n"
                           "fn none() -> (i32, f64) = (7, 0.5)\n"
                           "fn id(x) = x\n"
                           "fn stop(n: i64) -> i64 = if n > 0 then fail(n) else n\n"
                           "fn spin(n: i64) -> i64 = loop (x = n) while x != 0 { x * 3 + 1 }\n"
                           "fn half(x: f64) -> f64 = halve(x)\n"
                           "fn noted(n: i64) -> i64 = note(n) + note(n + 1)\n";

static std::int64_t notes;

static const char data_text[] =
    "type Tree = Leaf(x: i32, y: i32) | Node(l: Tree, r: Tree) | Nil\n"
    "type Rose = Rose(x: i64, below: [Rose])\n"
    "fn swap(t: Tree) -> Tree = match t { Node(a, b) => Node(b, a), Leaf(x, y) => t, Nil => t }\n"
    "fn both(t: Tree, n: i64) -> (Tree, (i64, Tree)) = match t {\n"
    "  Node(a, b) => (a, (n + 1, b)), Leaf(x, y) => fail(n), Nil => (t, (n, t)) }\n"
    "fn scale(rows: [(i32, f32)], k: f32) -> [(i32, f32)] = [(r.0 + 1, r.1 * k) for r in rows]\n"
    "fn nest(rows: [(bool, [(i64, f64)])], t: (f64, [(i64, f64)])) -> ([(bool, [(i64, f64)])], "
    "f64, [[(i64, f64)]]) =\n"
    "  (concat(rows, [(true, t.1)]), t.0 * 2, [r.1 for r in rows])\n"
    "fn leaves(n: i32) -> [Tree] = [Leaf(i, n) for i in 0..n]\n"
    "fn first(trees: [Tree]) -> Tree = trees[0]\n";

static void data(const hiaton::engine &engine) {
  hiaton::module module = engine.load_text("data", data_text).value();
  const hia_type_info *tree = module.type("Tree"), *rose = module.type("Rose");
  CHECK(tree && rose && !module.type("Leaf"));
  std::vector<hiaton::value> fields;
  fields.push_back(hiaton::value::of(engine, 1));
  fields.push_back(hiaton::value::of(engine, 2));
  hiaton::value leaf = hiaton::value::data(engine, tree, 0, fields).value();
  CHECK(leaf.format() == "Leaf(1, 2)" && leaf.ctor() == 0 && leaf.size() == 2);
  CHECK(std::strcmp(leaf.ctor_name(), "Leaf") == 0);
  CHECK(leaf.part(1).as<std::int32_t>().value() == 2 && !leaf.part(2));
  // A value of data is no tuple, even if it has as many fields.
  CHECK((leaf.as<std::tuple<std::int32_t, std::int32_t>>().status() == HIA_ARGUMENT));
  CHECK(hiaton::value::data(engine, tree, 0).status() == HIA_ARGUMENT);
  std::vector<hiaton::value> both;
  both.push_back(std::move(leaf));
  both.push_back(hiaton::value::data(engine, tree, 2).value());
  std::vector<hiaton::value> args;
  args.push_back(hiaton::value::data(engine, tree, 1, both).value());
  both.clear();
  hiaton::value swapped = module.function("swap").value().run(args).value();
  CHECK(swapped.format() == "Node(Nil, Leaf(1, 2))" && swapped.format_type() == "Tree");
  args.clear();
  hiaton::nodes nodes = swapped.to_nodes().value();
  CHECK(nodes.get()->n_nodes == 2);
  hiaton::value again = hiaton::value::from_nodes(engine, *nodes.get()).value();
  CHECK(again.format() == "Node(Nil, Leaf(1, 2))" && again.copy().format() == again.format());
  const std::string saved = again.save().value();
  CHECK(hiaton::value::load(engine, tree, "saved", saved).value().format() == again.format());
  CHECK(hiaton::value::load(engine, rose, "saved", saved).status() == HIA_ARGUMENT);
  CHECK(again.save_file("/nosuch/file").status() == HIA_IO);
  CHECK(hiaton::value::load_file(engine, tree, "/nosuch/file").status() == HIA_IO);
  hiaton::value none = hiaton::value::array(engine, hia_type_info_field(rose, 0, 1), {}).value();
  CHECK(none.format() == "[]" && none.size() == 0 && none.ctor() == HIA_NO_CTOR);
  hiaton::vocab words = hiaton::vocab::make();
  CHECK(words.read("words", "a\nb\n") && words.size() == 2 && words[1] == "b");
  CHECK(words.read("words", "a\n").status() == HIA_ARGUMENT);
  CHECK(words.save_file("/dev/null") && words.load_file("/dev/null") && words.size() == 2);
  CHECK(words.load_file("/nonexistent/words").status() == HIA_IO);
  CHECK(words.save_file("/nonexistent/words").status() == HIA_IO);
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = words.get();
  CHECK(hiaton::value::read_brackets(engine, tree, "t", "(3 a)", &options).status() ==
        HIA_ARGUMENT); // no field is called `word`
}

using inner_table = std::vector<std::tuple<std::int64_t, double>>;
using outer_row = std::tuple<bool, inner_table>;
using nest_result = std::tuple<std::vector<outer_row>, double, std::vector<inner_table>>;
using nest_param = std::tuple<double, inner_table>;
static const std::vector<outer_row> outer = {{true, {{1, 0.5}, {2, -1.5}}}, {false, {}}};

static void check_nest(const nest_result &got) {
  const auto &[rows, twice, columns] = got;
  CHECK(rows.size() == 3 && rows[0] == outer[0] && rows[1] == outer[1]);
  CHECK((rows[2] == outer_row{true, {{7, 8.0}}}));
  CHECK(twice == 5 && columns.size() == 2 && columns[0] == std::get<1>(outer[0]));
  CHECK(columns[1].empty());
}

// Arrays as vectors, and data as values, in calls.
static void calls_with_data(const hiaton::engine &engine) {
  hiaton::module module = engine.load_text("data", data_text).value();
  hiaton::function scale = module.function("scale").value();
  const table rows = {{1, 0.5f}, {2, -3}};
  CHECK((scale.call<table>(engine, rows, 2.0f).value() == table{{2, 1.0f}, {3, -6.0f}}));
  CHECK(scale.call<table>(engine, table(), 2.0f).value().empty());
  CHECK((scale.call<inner_table>(engine, rows, 2.0f).status() == HIA_ARGUMENT)); // the result
  CHECK((scale.call<table>(engine, inner_table{{1, 2.0}}, 2.0f).status() == HIA_ARGUMENT));
  check_nest(module.function("nest")
                 .value()
                 .call<nest_result>(engine, outer, nest_param{2.5, {{7, 8.0}}})
                 .value());
  hiaton::value array = hiaton::value::of(engine, scale.param_type(0), rows).value();
  CHECK(array.format() == "[(1, 0.5), (2, -3.0)]" && array.as<table>().value() == rows);
  CHECK(array.as<inner_table>().status() == HIA_ARGUMENT);
  CHECK(hiaton::value::of(engine, scale.param_type(1), rows).status() == HIA_ARGUMENT);
  CHECK(hiaton::value::of(engine, nullptr, rows).status() == HIA_ARGUMENT);
  CHECK(hiaton::value::of(engine, scale.param_type(0), table()).value().format() == "[]");
  CHECK(scale.param_type(2) == nullptr && scale.result_type() != nullptr);
  hiaton::function leaves = module.function("leaves").value();
  const std::vector<hiaton::value> all = leaves.call<std::vector<hiaton::value>>(engine, 3).value();
  CHECK(all.size() == 3 && all[2].format() == "Leaf(2, 3)");
  hiaton::value trees = leaves.call<hiaton::value>(engine, 2).value();
  CHECK(module.function("first").value().call<hiaton::value>(engine, trees).value().format() ==
        "Leaf(0, 2)");
}

static std::size_t n_bytes;
static void *count_alloc(void *, std::size_t size) {
  n_bytes += size;
  return std::malloc(size);
}
static void *count_resize(void *, void *block, std::size_t before, std::size_t after) {
  void *moved = std::realloc(block, after);
  if (moved != nullptr) n_bytes += after - before;
  return moved;
}
static void count_free(void *, void *block, std::size_t size) {
  n_bytes -= size;
  std::free(block);
}

// In typed entries: arguments are borrowed, results are owned, and nothing is left.
static void entries_with_data() {
  const hia_allocator allocator = {count_alloc, count_resize, count_free, nullptr};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &allocator;
  {
    hiaton::engine engine = hiaton::engine::make(&options).value();
    hiaton::module module = engine.load_text("data", data_text).value();
    hiaton::context context = hiaton::context::make(engine).value();
    using pair = std::tuple<hiaton::value, std::tuple<std::int64_t, hiaton::value>>;
    auto both = module.function("both").value().entry<pair(hiaton::value, std::int64_t)>().value();
    hiaton::value kept;
    {
      std::vector<hiaton::value> parts;
      for (int i = 0; i < 2; i++) {
        std::vector<hiaton::value> fields;
        fields.push_back(hiaton::value::of(engine, i));
        fields.push_back(hiaton::value::of(engine, 7));
        parts.push_back(hiaton::value::data(engine, module.type("Tree"), 0, fields).value());
      }
      hiaton::value node = hiaton::value::data(engine, module.type("Tree"), 1, parts).value();
      auto [left, right] = both(context, node, 4).value();
      CHECK(left.format() == "Leaf(0, 7)" && std::get<0>(right) == 5);
      kept = std::move(std::get<1>(right));
      hiaton::result<pair> failed = both(context, left, 9);
      CHECK(failed.status() == HIA_FAILED && failed.error().fail_code() == 9);
      CHECK(node.format() == "Node(Leaf(0, 7), Leaf(1, 7))"); // still the caller's
      CHECK(both(context, hiaton::value(), 4).status() == HIA_ARGUMENT);
      hiaton::value number = hiaton::value::of(engine, 3);
      CHECK(both(context, number, 4).status() == HIA_ARGUMENT);
    }
    CHECK(kept.format() == "Leaf(1, 7)"); // a part of an argument that is gone
    auto scale = module.function("scale").value().entry<table(table, float)>().value();
    CHECK((scale(context, {{1, 0.5f}, {2, -3}}, 2).value() == table{{2, 1.0f}, {3, -6.0f}}));
    CHECK(scale(context, {}, 2).value().empty());
    auto scale_value =
        module.function("scale").value().entry<hiaton::value(hiaton::value, float)>().value();
    hiaton::value rows =
        hiaton::value::of(engine, module.function("scale").value().param_type(0), table{{1, 2}})
            .value();
    CHECK((scale_value(context, rows, 2).value().as<table>().value() == table{{2, 4.0f}}));
    auto nest = module.function("nest")
                    .value()
                    .entry<nest_result(std::vector<outer_row>, nest_param)>()
                    .value();
    check_nest(nest(context, outer, {2.5, {{7, 8.0}}}).value());
    auto leaves =
        module.function("leaves").value().entry<std::vector<hiaton::value>(std::int32_t)>().value();
    const std::vector<hiaton::value> all = leaves(context, 100).value();
    CHECK(all.size() == 100 && all[99].format() == "Leaf(99, 100)");
    // Maps: the rows before one that fails have values.
    auto boths = module.function("both").value().map<pair(hiaton::value, std::int64_t)>().value();
    hiaton::value trees[3], lefts[3], rights[3];
    for (std::size_t i = 0; i < 3; i++) {
      std::vector<hiaton::value> fields;
      for (std::size_t k = 0; k < 2; k++)
        fields.push_back(hiaton::value::data(engine, module.type("Tree"), 2).value());
      trees[i] = hiaton::value::data(engine, module.type("Tree"), 1, fields).value();
    }
    const std::int64_t ns[3] = {1, 2, 3};
    std::int64_t more[3] = {};
    CHECK(boths(context, 3, trees, ns, lefts, more, rights) && context.rows() == 3);
    CHECK(lefts[2].format() == "Nil" && rights[0].format() == "Nil" && more[2] == 4);
    CHECK(trees[1].format() == "Node(Nil, Nil)");
    std::vector<hiaton::value> fields;
    for (int i = 0; i < 2; i++) fields.push_back(hiaton::value::of(engine, i));
    trees[2] = hiaton::value::data(engine, module.type("Tree"), 0, fields).value();
    lefts[2] = hiaton::value();
    hiaton::result<void> stopped = boths(context, 3, trees, ns, lefts, more, rights);
    CHECK(stopped.status() == HIA_FAILED && context.rows() == 2 && !lefts[2] && lefts[1]);
    CHECK(std::strstr(stopped.error().text(), "in row 2") != nullptr);
    trees[1] = hiaton::value();
    CHECK(boths(context, 3, trees, ns, lefts, more, rights).status() == HIA_ARGUMENT);
    CHECK(context.rows() == 1 &&
          std::strstr(hia_error_text(hia_context_error(context.get())), "row 1") != nullptr);
    CHECK(boths(context, 0, nullptr, nullptr, nullptr, nullptr, nullptr));
    // Wrong signatures.
    hiaton::function f = module.function("scale").value();
    CHECK((f.entry<table(inner_table, float)>().status() == HIA_ARGUMENT));
    CHECK(f.entry<inner_table(table, float)>().status() == HIA_ARGUMENT);
    CHECK(f.entry<std::int32_t(table, float)>().status() == HIA_ARGUMENT);
    CHECK((f.entry<std::vector<hiaton::value>(table, float)>().status() == HIA_ARGUMENT));
    CHECK(module.function("both").value().entry<pair(table, std::int64_t)>().status() ==
          HIA_ARGUMENT);
    CHECK(f.plain<table(table, float)>().status() == HIA_UNSUPPORTED);
  }
  CHECK(n_bytes == 0);
}

static const char tensor_text[] =
    "fn scale(x: f32[n, m], k: f32) -> f32[n, m] = x * k\n"
    "fn ends(p: (i64[?], bool[?])) -> (i64[?], bool, (i64, i64[?])) =\n"
    "  (p.0[1..len(p.0)], all(p.1), (sum(p.0), p.0))\n"
    "fn ragged(a: [(f32[?], i64)]) -> ([(f32[?], i64)], i64) = (concat(a, a), len(a))\n";

static void tensors(const hiaton::engine &engine, bool is_native) {
  hiaton::module module = engine.load_text("tensors", tensor_text).value();
  hiaton::function scale = module.function("scale").value();
  hiaton::function ends = module.function("ends").value();
  const float six[6] = {1, 2, 3, 4, 5, 6};
  using longs = std::vector<std::int64_t>;
  using parts = std::tuple<longs, bool, std::tuple<std::int64_t, longs>>;
  using pair = std::tuple<longs, std::vector<bool>>;
  using line = std::tuple<floats, std::int64_t>;
  using ragged = std::vector<line>;
  const line a{floats{1, 2}, 7}, b{floats{}, 8};

  // With the types of the call, in every engine.
  auto made = scale.call<hiaton::tensor<float, 2>>(engine, matrix{six, {2, 3}}, 2.0f).value();
  CHECK(made.size() == 6 && made.dims()[0] == 2 && made.dims()[1] == 3 && made[5] == 12);
  CHECK(scale.call<hiaton::value>(engine, made, 1.0f).value().format() ==
        "[[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]");
  CHECK(scale.call<floats>(engine, made, 1.0f).status() == HIA_ARGUMENT); // the rank
  CHECK((scale.call<hiaton::tensor<double, 2>>(engine, made, 1.0f).status()) == HIA_ARGUMENT);
  CHECK(scale.call<floats>(engine, floats{1}, 1.0f).status() == HIA_ARGUMENT);
  auto [rest, is_all, whole] = ends.call<parts>(engine, pair{{1, 2, 3}, {true, false}}).value();
  CHECK(rest == (longs{2, 3}) && !is_all && std::get<0>(whole) == 6 &&
        std::get<1>(whole) == (longs{1, 2, 3}));
  auto twice = module.function("ragged").value().call<std::tuple<ragged, std::int64_t>>(
      engine, ragged{a, b});
  CHECK(twice && std::get<0>(*twice) == (ragged{a, b, a, b}));
  hiaton::value value = scale.call<hiaton::value>(engine, made, 1.0f).value();
  CHECK(value.as<matrix>().value()[4] == 10 && value.as<matrix>()->data() != made.data());
  CHECK((value.as<hiaton::tensor_view<float, 1>>().status() == HIA_ARGUMENT));
  hiaton::tensor<float, 2> moved = std::move(made);
  CHECK(moved[0] == 2 && made.size() == 0 && made.data() == nullptr);
  if (!is_native) return;

  hiaton::context context = hiaton::context::make(engine).value();
  auto entry = scale.entry<hiaton::tensor<float, 2>(matrix, float)>().value();
  auto next = entry(context, entry(context, matrix{six, {3, 2}}, 2).value(), 0.5f).value();
  CHECK(next.dims()[0] == 3 && std::equal(next.begin(), next.end(), six));
  CHECK(entry(context, matrix{nullptr, {0, 4}}, 1)->dims()[1] == 4);
  auto refused = entry(context, matrix{six, {2, -3}}, 1);
  CHECK(refused.status() == HIA_ARGUMENT &&
        std::strstr(refused.error().message(), "parameter 1 has a size of -3") != nullptr);
  auto of_parts = ends.entry<parts(pair)>().value();
  auto got = of_parts(context, {{4, 5}, {true}}).value();
  CHECK(std::get<0>(got) == longs{5} && std::get<1>(got) &&
        std::get<1>(std::get<2>(got)) == (longs{4, 5}));
  auto of_ragged =
      module.function("ragged").value().entry<std::tuple<ragged, std::int64_t>(ragged)>().value();
  CHECK(std::get<0>(of_ragged(context, ragged{a}).value()) == (ragged{a, a}));
  // Other types, and a value, which a parameter that is a tensor is not.
  CHECK((scale.entry<hiaton::value(hiaton::tensor_view<double, 2>, float)>().status()) ==
        HIA_ARGUMENT);
  CHECK((scale.entry<hiaton::value(hiaton::tensor_view<float, 3>, float)>().status()) ==
        HIA_ARGUMENT);
  auto wrong = scale.entry<hiaton::value(hiaton::value, float)>();
  CHECK(wrong.status() == HIA_ARGUMENT &&
        std::strstr(wrong.error().message(), "is (tensor, f32) -> (value), not (value, f32)"));
  auto map = scale.map<hiaton::value(matrix, float)>().value();
  const matrix views[2] = {{six, {1, 1}}, {six + 1, {1, 2}}};
  const float ks[2] = {2, 3};
  hiaton::value rows[2];
  CHECK(map(context, 2, views, ks, rows));
  CHECK(rows[0].format() == "[[2.0]]" && rows[1].format() == "[[6.0, 9.0]]");
}

static void calls(const hiaton::engine &engine, const hiaton::module &module) {
  hiaton::function fib = module.function("fib").value();
  CHECK(std::strcmp(fib.name(), "fib(i32)") == 0 && fib.arity() == 1 && !fib.is_generic());
  CHECK(fib.prepare());
  CHECK(fib.call<std::int32_t>(engine, 20).value() == 10946);
  const nested t{1.5f, {41, true}};
  using turned = std::tuple<std::tuple<bool, std::int64_t>, std::tuple<double, float>>;
  const turned want{{false, 42}, {0.5, 1.5f}};
  hiaton::function turn = module.function("turn").value();
  CHECK(turn.call<turned>(engine, t, 0.25).value() == want);
  CHECK((module.function("none").value().call<std::tuple<std::int32_t, double>>(engine).value() ==
         std::tuple<std::int32_t, double>(7, 0.5)));
  // Wrong types, in arguments and in the result.
  CHECK(fib.call<std::int32_t>(engine, 2.0).status() == HIA_ARGUMENT);
  CHECK(fib.call<std::int64_t>(engine, 2).status() == HIA_ARGUMENT);
  CHECK(turn.call<nested>(engine, t, 0.25).status() == HIA_ARGUMENT);
  CHECK(module.function("id").value().call<double>(engine, 2.5).value() == 2.5);
  // Failures of the program.
  hiaton::result<std::int64_t> failed =
      module.function("stop").value().call<std::int64_t>(engine, std::int64_t(9));
  CHECK(!failed && failed.status() == HIA_FAILED && failed.error().fail_code() == 9);
  CHECK(failed.error().line() == 8 && std::strstr(failed.error().text(), "t.hia:8") != nullptr);
  // With options, and with values.
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hiaton::cancel cancel = hiaton::cancel::make();
  options.cancel = cancel.get();
  cancel.request();
  CHECK(cancel.is_requested());
  CHECK(fib.call<std::int32_t>(engine, options, 20).status() == HIA_CANCELLED);
  cancel.reset();
  hiaton::timeline timeline = hiaton::timeline::make();
  options.timeline = timeline.get();
  std::vector<hiaton::value> args;
  args.push_back(hiaton::value::of(engine, 10));
  hiaton::value out = fib.run(args, &options).value();
  CHECK(out.format() == "89" && out.format_type() == "i32" && out.as<std::int32_t>().value() == 89);
  CHECK(out.as<double>().status() == HIA_ARGUMENT);
  CHECK(timeline.json().value().find("traceEvents") != std::string::npos &&
        timeline.dropped() == 0);
  hiaton::value tuple = hiaton::value::of(engine, t);
  CHECK(tuple.format() == "(1.5, (41, true))" && tuple.as<nested>().value() == t);
  // Host functions.
  CHECK(module.function("half").value().call<double>(engine, 5.0).value() == 2.5);
  CHECK(module.function("noted").value().call<std::int64_t>(engine, std::int64_t(3)).value() ==
            14 &&
        notes == 2);
}

static void entries(const hiaton::engine &engine, const hiaton::module &module) {
  hiaton::context context = hiaton::context::make(engine).value();
  hiaton::function fib = module.function("fib").value();
  auto entry = fib.entry<std::int32_t(std::int32_t)>().value();
  CHECK(entry(context, 20).value() == 10946);
  std::int32_t raw = 0;
  CHECK(entry.get()(context.get(), 10, &raw) == HIA_OK && raw == 89);
  const nested t{1.5f, {41, true}};
  using turned = std::tuple<std::tuple<bool, std::int64_t>, std::tuple<double, float>>;
  const turned want{{false, 42}, {0.5, 1.5f}};
  hiaton::function turn = module.function("turn").value();
  auto turning = turn.entry<turned(nested, double)>().value();
  CHECK(turning(context, t, 0.25).value() == want);
  auto plainly = turn.plain<turned(nested, double)>().value();
  CHECK(plainly(t, 0.25) == want);
  // Maps.
  auto turns = turn.map<turned(nested, double)>().value();
  const float a[2] = {1.5f, 2.5f};
  const std::int64_t b[2] = {41, 7};
  const bool c[2] = {true, false};
  double x[2] = {0.25, 4};
  bool c2[2];
  std::int64_t b2[2];
  float a2[2];
  CHECK(turns(context, 2, a, b, c, x, c2, b2, x, a2) && context.rows() == 2);
  CHECK(!c2[0] && c2[1] && b2[0] == 42 && b2[1] == 8 && x[1] == 8 && a2[1] == 2.5f);
  auto stops = module.function("stop").value().map<std::int64_t(std::int64_t)>().value();
  hiaton::result<void> ended = stops(context, 2, b, b2);
  CHECK(ended.status() == HIA_FAILED && ended.error().fail_code() == 41 && context.rows() == 0);
  CHECK(std::strstr(ended.error().text(), "in row 0") != nullptr);
  CHECK(fib.map<std::int64_t(std::int32_t)>().status() == HIA_ARGUMENT);
  auto none = module.function("none").value().plain<std::tuple<std::int32_t, double>()>().value();
  CHECK((none() == std::tuple<std::int32_t, double>(7, 0.5)));
  auto half = module.function("half").value().entry<double(double)>().value();
  CHECK(half(context, 3.0).value() == 1.5);
  // Wrong signatures.
  CHECK(fib.entry<std::int64_t(std::int32_t)>().status() == HIA_ARGUMENT);
  CHECK(fib.entry<std::int32_t(std::int64_t)>().status() == HIA_ARGUMENT);
  CHECK(fib.entry<std::int32_t()>().status() == HIA_ARGUMENT);
  CHECK(std::strstr(fib.entry<double()>().error().text(), "i32") != nullptr); // what it has
  CHECK(fib.entry<std::int32_t(std::int32_t, std::int32_t)>().status() == HIA_ARGUMENT);
  CHECK((turn.entry<turned(float, inner, double)>().status() == HIA_ARGUMENT));
  CHECK(turn.entry<nested(nested, double)>().status() == HIA_ARGUMENT);
  CHECK(turn.plain<turned(nested, float)>().status() == HIA_ARGUMENT);
  CHECK(module.function("id").value().entry<double(double)>().status() == HIA_ARGUMENT);
  CHECK(module.function("id(f64)").value().entry<double(double)>().value()(context, 2.5).value() ==
        2.5);
  CHECK(fib.plain<std::int32_t(std::int32_t)>().status() == HIA_UNSUPPORTED);
  // Errors of a context.
  auto stop = module.function("stop").value().entry<std::int64_t(std::int64_t)>().value();
  hiaton::result<std::int64_t> failed = stop(context, 9);
  CHECK(failed.status() == HIA_FAILED && failed.error().fail_code() == 9 &&
        failed.error().line() == 8);
  CHECK(failed.error().get() == nullptr && failed.error().said() != nullptr); // the context's
  auto spin = module.function("spin").value().entry<std::int64_t(std::int64_t)>().value();
  context.set_timeout(std::chrono::milliseconds(5));
  CHECK(spin(context, 1).status() == HIA_DEADLINE);
  context.set_timeout(std::chrono::nanoseconds(0));
  context.cancel();
  CHECK(spin(context, 1).status() == HIA_CANCELLED);
  context.reset();
  hiaton::context other = std::move(context);
  CHECK(!context && other && entry(other, 10).value() == 89);
  CHECK(entry(context, 10).status() == HIA_ARGUMENT); // of an empty one
}

static void building(const hiaton::engine &engine) {
  hiaton::builder builder = hiaton::builder::make(engine, "made").value();
  hia_builder *b = builder.get();
  hia_build_fn twice = hia_build_declare(b, "twice(x: i32) -> i32");
  hia_build_begin(b, twice);
  hia_build_value x = hia_build_param(b, twice, 0);
  hia_build_return(b, hia_build_add(b, x, x));
  CHECK(builder.status() == HIA_OK);
  CHECK(builder.print().value().find("fn twice(x: i32) -> i32") != std::string::npos);
  hiaton::module module = builder.finish().value();
  CHECK(module.function("twice").value().call<std::int32_t>(engine, 21).value() == 42);
  CHECK(module.dump().value().find("twice") != std::string::npos);
  const hiaton::function of = module.function("twice").value();
  CHECK(of.explain().value().find("twice(x: i32) -> i32: 1 run\n") == 0);
  CHECK(of.explain(true).value().find("\"schema\": 1") != std::string::npos);
  hia_build_part(b, x, 3);
  CHECK(builder.finish().status() == HIA_ARGUMENT);
}

static void errors(const hiaton::engine &engine) {
  hiaton::result<hiaton::module> bad =
      engine.load_text("bad.hia", "fn f(x: i32) -> i32 = y\nfn g(x: i32) -> f64 = x\n");
  CHECK(!bad && bad.status() == HIA_REJECTED && bad.error().count() == 2);
  CHECK(bad.error().line(1) == 2 && bad.error().col() == 23);
  CHECK(std::strcmp(bad.error().file(), "bad.hia") == 0 && bad.error().code()[0] == 'E');
  CHECK(*bad.error().message() != 0 && bad.error().hint() != nullptr);
  hiaton::error kept = std::move(bad.error());
  CHECK(kept.get() != nullptr && kept.status() == HIA_REJECTED);
  CHECK(engine.load_file("/nothing/such").status() == HIA_IO);
  CHECK(engine.load_ir("bad.ir", "nonsense").status() != HIA_OK);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.opt_level = 77;
  CHECK(hiaton::engine::make(&options).status() == HIA_ARGUMENT);
  hia_context_options none = HIA_CONTEXT_OPTIONS_INIT;
  none.threads = 100000;
  CHECK(hiaton::context::make(&none).status() == HIA_ARGUMENT);
  CHECK(hiaton::context::make());
#if defined(__cpp_exceptions)
  try {
    engine.load_text("bad.hia", "fn f(x: i32) -> i32 = y").value();
    CHECK(n_checks < 0);
  } catch (const hiaton::failure &failed) {
    const hiaton::failure copy = failed;
    CHECK(copy.status() == HIA_REJECTED && std::strstr(copy.what(), "bad.hia:1:23") != nullptr);
  }
  try {
    engine.host("halve", +[](double x) noexcept { return x; }).value();
    CHECK(n_checks < 0);
  } catch (const std::exception &failed) {
    CHECK(std::strstr(failed.what(), "halve") != nullptr);
  }
#endif
}

int main() {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  const bool is_native = bool(hiaton::engine::make().value().native());
  if (!is_native) options.kind = HIA_ENGINE_INTERP; // a build without LLVM
  hiaton::engine first = hiaton::engine::make(&options).value(), engine = std::move(first);
  CHECK(!first && engine);
  CHECK(engine.host("halve", +[](double x) noexcept { return x / 2; }, {false, true}));
  hiaton::host_options impure;
  impure.is_impure = true;
  CHECK(engine.host(
      "note",
      +[](std::int64_t n) noexcept {
        notes++;
        return 2 * n;
      },
      impure));
  hiaton::module module = engine.load_text("t.hia", text).value();
  CHECK(module.function("nothing").status() == HIA_NOT_FOUND);
  calls(engine, module);
  data(engine);
  calls_with_data(engine);
  tensors(engine, is_native);
  if (is_native) {
    entries_with_data();
    entries(engine, module);
    CHECK(module.build_header().value().find("hia_status t_fib(") != std::string::npos);
    CHECK(module.build_object().value().compare(1, 3, "ELF") == 0);
  }
  building(engine);
  errors(engine);
  std::printf("%d checks, %d failed\n", n_checks, n_failed);
  return n_failed != 0;
}
