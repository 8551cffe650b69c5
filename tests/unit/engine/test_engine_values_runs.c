/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays in runs, through the public API: what results hold, values that
 * threads share, copies, failures, and memory that runs out. */
#include "tests/unit/helpers/engine_values.h"
#include "tests/unit/helpers/memory.h"

#include <pthread.h>

static const char runs_text[] =
    "type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32)\n"
    "fn grow(t: Tree, n: i32) -> Tree = if n == 0 then t else { let x = grow(t, n - 1); Node(x, x, "
    "n) }\n"
    "fn left(t: Tree) -> Tree = match t { Leaf(w, l) => t, Node(a, b, l) => a }\n"
    "fn sum(t: Tree) -> i32 = match t { Leaf(w, l) => w, Node(a, b, l) => sum(a) + sum(b) }\n"
    "fn fails(t: Tree) -> Tree = match t { Leaf(w, l) => Leaf(w / (l - l), 1), Node(a, b, l) => "
    "Node(b, "
    "fails(a), 1) }\n"
    "fn pair(t) = (t, Leaf(1, 2))\n"
    "fn two(a: Tree, b: Tree) -> Tree = Node(a, b, 0)\n";

static hia_status call(hia_module *module, const char *name, hia_value *const *args, size_t n,
                       hia_value **result) {
  hia_function *f;
  *result = NULL;
  hia_status status = hia_module_function(module, name, &f, NULL);
  return status ? status : hia_call(f, args, n, result, NULL);
}

static void open_runs(world *w, hia_engine_kind kind, const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.allocator = allocator;
  *w = (world){.error = NULL};
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "r", runs_text, strlen(runs_text), &w->module, NULL),
               HIA_OK);
  w->tree = hia_module_type(w->module, "Tree");
}

static hia_value *leaf(world *w, int32_t word) {
  const hia_value_node node = {0, 0, 0};
  const int64_t words[2] = {word, 0};
  hia_value *value;
  cr_assert_eq(from_nodes(w, &w->tree, 1, &node, 1, words, 2, &value), HIA_OK);
  return value;
}

/* Results keep what they share, and what they have of arguments outlives the arguments. */
Test(engine_values, results_hold_what_they_refer_to) {
  for (int kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_EXPAND; kind++) {
    test_heap heap;
    test_heap_init(&heap, -1);
    world w;
    open_runs(&w, (hia_engine_kind)kind, &heap.allocator);
    hia_value *args[2] = {leaf(&w, 7), hia_value_i32(w.engine, 20)}, *tree, *part, *both;
    cr_assert_eq(call(w.module, "grow", args, 2, &tree), HIA_OK);
    hia_value_free(args[0]);
    hia_value_nodes *nodes;
    cr_assert_eq(hia_value_to_nodes(tree, &nodes, NULL), HIA_OK);
    cr_expect_eq(nodes->n_nodes, 21);
    hia_value_nodes_free(nodes);
    cr_assert_eq(call(w.module, "sum", &tree, 1, &part), HIA_OK);
    int32_t sum = 0;
    hia_value_get_i32(part, &sum);
    cr_expect_eq(sum, 7 << 20);
    hia_value_free(part);
    /* Down to the leaf; each result is a part of the one before. */
    for (int i = 0; i < 20; i++) {
      cr_assert_eq(call(w.module, "left", &tree, 1, &part), HIA_OK);
      hia_value_free(tree);
      tree = part;
    }
    expect_text(tree, "Leaf(7, 0)");
    cr_assert_eq(call(w.module, "pair(Tree)", &tree, 1, &both), HIA_OK);
    hia_value_free(tree);
    expect_text(both, "(Leaf(7, 0), Leaf(1, 2))");
    args[0] = hia_value_part(both, 1);
    hia_value_free(both);
    hia_value *second = leaf(&w, 9), *ab[2] = {args[0], second};
    cr_assert_eq(call(w.module, "two", ab, 2, &both), HIA_OK);
    hia_value_free(second);
    hia_value_free(args[0]);
    expect_text(both, "Node(Leaf(1, 2), Leaf(9, 0), 0)");
    hia_value_free(both);
    hia_value_free(args[1]);
    close_world(&w);
    cr_expect_eq(heap.blocks, 0, "%ld blocks are left", (long)heap.blocks);
  }
}

/* Arguments are shared by the workers of a run, and by runs on several threads. */
typedef struct runner {
  world *w;
  hia_value *tree;
  bool is_right;
} runner;

static void *run_often(void *arg) {
  runner *r = arg;
  r->is_right = true;
  for (int i = 0; i < 50; i++) {
    hia_value *result = NULL, *again = NULL;
    int32_t sum = 0;
    r->is_right &= call(r->w->module, "left", &r->tree, 1, &result) == HIA_OK &&
                   call(r->w->module, "sum", &result, 1, &again) == HIA_OK &&
                   hia_value_get_i32(again, &sum) == HIA_OK && sum == 7 << 9;
    hia_value_free(again);
    hia_value_free(result);
  }
  return NULL;
}

Test(engine_values, values_are_shared_by_threads) {
  for (int kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_INTERP; kind++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = (hia_engine_kind)kind;
    options.threads = 3;
    world w = {.error = NULL};
    cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
    cr_assert_eq(hia_module_load_text(w.engine, "r", runs_text, strlen(runs_text), &w.module, NULL),
                 HIA_OK);
    w.tree = hia_module_type(w.module, "Tree");
    hia_value *args[2] = {leaf(&w, 7), hia_value_i32(w.engine, 10)}, *tree;
    cr_assert_eq(call(w.module, "grow", args, 2, &tree), HIA_OK);
    runner runners[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
      runners[i] = (runner){&w, tree, false};
      cr_assert_eq(pthread_create(&threads[i], NULL, run_often, &runners[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
      pthread_join(threads[i], NULL);
      cr_expect(runners[i].is_right, "engine %d, thread %d", kind, i);
    }
    hia_value_free(tree);
    hia_value_free(args[0]);
    hia_value_free(args[1]);
    close_world(&w);
  }
}

/* Each tree has the one before as its part: values that are made on and on keep all of them, and
 * copies only what they need. */
Test(engine_values, a_copy_holds_nothing_else) {
  test_heap heap;
  test_heap_init(&heap, -1);
  world w;
  open_runs(&w, HIA_ENGINE_INTERP, &heap.allocator);
  long least = 0;
  hia_value *one = leaf(&w, 1), *state = leaf(&w, 0), *next, *pair;
  for (int i = 0; i < 1000; i++) {
    hia_value *args[2] = {one, state};
    cr_assert_eq(call(w.module, "two", args, 2, &pair), HIA_OK);
    hia_value_free(state);
    cr_assert_eq(call(w.module, "left", &pair, 1, &next), HIA_OK);
    hia_value_free(pair);
    state = hia_value_copy(next);
    hia_value_free(next);
    if (i == 0) least = heap.bytes;
  }
  cr_expect_eq(heap.bytes, least, "%ld bytes, at first %ld", (long)heap.bytes, least);
  expect_text(state, "Leaf(1, 0)");
  hia_value_free(state);
  hia_value *n = hia_value_i32(w.engine, 30), *args[2] = {one, n};
  cr_assert_eq(call(w.module, "grow", args, 2, &next), HIA_OK);
  state = hia_value_copy(next);
  hia_value_free(next);
  hia_value_nodes *nodes;
  cr_assert_eq(hia_value_to_nodes(state, &nodes, NULL), HIA_OK);
  cr_expect_eq(nodes->n_nodes, 31);
  hia_value_nodes_free(nodes);
  hia_value_free(state);
  state = hia_value_copy(n);
  expect_text(state, "30");
  cr_expect_null(hia_value_copy(NULL));
  hia_value_free(state);
  hia_value_free(one);
  hia_value_free(n);
  close_world(&w);
  cr_expect_eq(heap.blocks, 0);
}

Test(engine_values, failed_runs_lose_nothing) {
  for (int kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_EXPAND; kind++) {
    test_heap heap;
    test_heap_init(&heap, -1);
    world w;
    open_runs(&w, (hia_engine_kind)kind, &heap.allocator);
    hia_value *args[2] = {leaf(&w, 7), hia_value_i32(w.engine, 10)}, *tree, *result;
    cr_assert_eq(call(w.module, "grow", args, 2, &tree), HIA_OK);
    cr_expect_eq(call(w.module, "fails", &tree, 1, &result), HIA_DIV_ZERO);
    cr_expect_null(result);
    cr_expect_eq(call(w.module, "two", &tree, 1, &result), HIA_ARGUMENT);
    cr_expect_eq(call(w.module, "sum", &args[1], 1, &result), HIA_ARGUMENT);
    hia_value_free(tree);
    hia_value_free(args[0]);
    hia_value_free(args[1]);
    close_world(&w);
    cr_expect_eq(heap.blocks, 0);
  }
}

static hia_status run_with(const hia_allocator *allocator, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = allocator;
  options.kind = kind;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_value *args[2] = {NULL, NULL}, *tree = NULL, *part = NULL, *pair = NULL;
  hia_status status = hia_engine_new(&options, &engine, NULL);
  if (!status)
    status = hia_module_load_text(engine, "r", runs_text, strlen(runs_text), &module, NULL);
  hia_function *grow = NULL;
  if (!status) status = hia_module_function(module, "grow", &grow, NULL);
  if (!status) status = hia_value_parse(grow, 0, "Node(Leaf(1, 2), Leaf(3, 4), 5)", &args[0], NULL);
  if (!status && !(args[1] = hia_value_i32(engine, 3))) status = HIA_MEMORY;
  if (!status) status = call(module, "grow", args, 2, &tree);
  if (!status) status = call(module, "left", &tree, 1, &part);
  if (!status) status = call(module, "pair", &part, 1, &pair);
  hia_value *all[] = {args[0], args[1], tree, part, pair};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) hia_value_free(all[i]);
  hia_module_free(module);
  hia_engine_free(engine);
  return status;
}
static hia_status run_interp(const hia_allocator *allocator) {
  return run_with(allocator, HIA_ENGINE_INTERP);
}
static hia_status run_expand(const hia_allocator *allocator) {
  return run_with(allocator, HIA_ENGINE_EXPAND);
}

Test(engine_values, each_allocation_of_runs_fails_once) {
  cr_expect_gt(fail_each_allocation(run_interp), 50);
  cr_expect_gt(fail_each_allocation(run_expand), 50);
}

/* What was asked of which array, in every engine. */
Test(engine_values, range_errors_have_their_numbers) {
  static const char text[] = "fn main(i: i64) -> i64 = [(7i64, 1), (8, 2), (9, 3)][i].0\n"
                             "fn part(i: i64, k: i64) -> i64 = len([(7, 1), (8, 2)][i..k])\n";
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
  for (size_t e = 0; e < sizeof kinds / sizeof *kinds; e++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = kinds[e];
    hia_engine *engine;
    hia_module *module;
    hia_function *index, *part;
    cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
    cr_assert_eq(hia_module_load_text(engine, "t", text, strlen(text), &module, NULL), HIA_OK);
    cr_assert_eq(hia_module_function(module, "main", &index, NULL), HIA_OK);
    cr_assert_eq(hia_module_function(module, "part", &part, NULL), HIA_OK);
    for (int is_part = 0; is_part < 2; is_part++) {
      const int64_t from = is_part ? 1 : INT64_MIN;
      hia_value *args[2] = {hia_value_i64(engine, from), hia_value_i64(engine, 5)}, *result;
      hia_error *error = NULL;
      bool is_slice;
      int64_t first, end, length;
      hia_status status =
          hia_run(is_part ? part : index, args, is_part ? 2 : 1, NULL, &result, &error);
      cr_assert_eq(status, HIA_RANGE, "%s", hia_error_text(error));
      cr_assert(hia_error_range(error, &is_slice, &first, &end, &length));
      cr_assert_eq(is_slice, is_part);
      cr_assert_eq(first, from);
      cr_assert_eq(end, is_part ? 5 : 0);
      cr_assert_eq(length, is_part ? 2 : 3);
      hia_error_free(error);
      for (int i = 0; i < 2; i++) hia_value_free(args[i]);
    }
    hia_module_free(module);
    hia_engine_free(engine);
  }
}
