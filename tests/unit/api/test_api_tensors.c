/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors as values of hosts: made, read, passed, and parts of other values. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/builder.h>
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const char program[] =
    "type Tree = Leaf(v: f32[?]) | Node(l: Tree, r: Tree, m: bool[?, ?]) | Nil\n"
    "fn pick(c: bool, x: f64[?, ?], y: f64[?, ?]) = if c then (x, 1) else (y, 2)\n"
    "fn leaf(v: f32[?]) = Leaf(v)\n"
    "fn leftmost(t: Tree) -> f32[?] = match t { Leaf(v) => v, Node(l, _, _) => leftmost(l),\n"
    "                                           Nil => fail(1) }\n"
    "fn rows(x: [(i64[?], i32)]) = x[0].0\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  const hia_type_info *matrix, *vector, *tree;
} world;

static const hia_type_info *param_type(const world *w, const char *fn, size_t i) {
  hia_function *f;
  cr_assert_eq(hia_module_function(w->module, fn, &f, NULL), HIA_OK);
  return hia_function_param_type(f, i);
}

static void open_world(world *w, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "t", program, strlen(program), &w->module, NULL),
               HIA_OK);
  w->matrix = param_type(w, "pick", 1);
  w->vector = param_type(w, "leaf", 0);
  w->tree = hia_module_type(w->module, "Tree");
}

static void close_world(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static void expect_text(const hia_value *value, const char *text) {
  char buf[256];
  hia_value_format(value, buf, sizeof buf);
  cr_assert_str_eq(buf, text);
}

static const double six[] = {1, 2.5, -0.0, 4, 5, 6};
static const int64_t two_by_three[] = {2, 3};

Test(api_tensors, types) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_dtype dtype = HIA_I32;
  cr_assert_eq(hia_type_info_kind(w.matrix), HIA_KIND_TENSOR);
  cr_assert_eq(hia_type_info_rank(w.matrix), 2);
  cr_assert_eq(hia_type_info_dtype(hia_type_info_element(w.matrix), &dtype), HIA_OK);
  cr_assert_eq(dtype, HIA_F64);
  cr_assert_eq(hia_type_info_dtype(w.matrix, &dtype), HIA_ARGUMENT);
  cr_assert_eq(hia_type_info_scalars(w.matrix, NULL), 0);
  char text[32];
  hia_type_info_format(w.matrix, text, sizeof text);
  cr_assert_str_eq(text, "f64[?, ?]");
  cr_assert_not(hia_type_info_is_same(w.matrix, w.vector));
  cr_assert(hia_type_info_is_same(w.vector, hia_type_info_field(w.tree, 0, 0)));
  cr_assert_eq(hia_type_info_rank(w.tree), 0);
  cr_assert_eq(hia_type_info_rank(NULL), 0);
  close_world(&w);
}

Test(api_tensors, made_and_read) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *value, *copy;
  cr_assert_eq(hia_data_tensor(NULL, w.matrix, two_by_three, six, &value, NULL), HIA_OK);
  expect_text(value, "[[1.0, 2.5, -0.0], [4.0, 5.0, 6.0]]");
  const int64_t *dims = hia_value_dims(value);
  cr_assert(dims[0] == 2 && dims[1] == 3);
  cr_assert_eq(memcmp(hia_value_elements(value), six, sizeof six), 0);
  cr_assert_neq(hia_value_elements(value), six);
  cr_assert_eq(hia_value_len(value), 0);
  cr_assert_null(hia_value_part(value, 0));
  cr_assert_eq(hia_value_ctor(value), HIA_NO_CTOR);
  copy = hia_value_copy(value);
  hia_value_free(value);
  expect_text(copy, "[[1.0, 2.5, -0.0], [4.0, 5.0, 6.0]]");
  hia_value_free(copy);
  /* Without elements. */
  cr_assert_eq(hia_data_tensor(NULL, w.matrix, (int64_t[]){0, 7}, NULL, &value, NULL), HIA_OK);
  cr_assert_eq(hia_value_dims(value)[1], 7);
  expect_text(value, "zeros(0, 7)");
  /* A saved value has the sizes that its text does not show. */
  test_text saved = {0};
  cr_assert_eq(hia_value_save(value, test_text_take, &saved, NULL), HIA_OK);
  cr_assert_eq(hia_data_load(NULL, w.matrix, "a", saved.data, saved.len, &copy, NULL), HIA_OK);
  cr_assert_eq(hia_value_dims(copy)[1], 7);
  test_text_free(&saved);
  hia_value_free(copy);
  hia_value_free(value);
  close_world(&w);
}

/* Where tensors are all types that have objects, no object or element has words. */
Test(api_tensors, of_a_program_without_data) {
  static const char source[] = "fn f(x: f64[?, ?]) = x\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  world w;
  hia_value *value, *loaded, *result;
  hia_function *f;
  cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w.engine, "t", source, strlen(source), &w.module, NULL),
               HIA_OK);
  const hia_type_info *matrix = param_type(&w, "f", 0);
  cr_assert_eq(hia_data_tensor(NULL, matrix, two_by_three, six, &value, NULL), HIA_OK);
  test_text saved = {0};
  cr_assert_eq(hia_value_save(value, test_text_take, &saved, NULL), HIA_OK);
  cr_assert_eq(hia_data_load(NULL, matrix, "a", saved.data, saved.len, &loaded, NULL), HIA_OK);
  test_text_free(&saved);
  cr_assert_eq(hia_module_function(w.module, "f", &f, NULL), HIA_OK);
  cr_assert_eq(hia_run(f, (hia_value *[]){loaded}, 1, NULL, &result, NULL), HIA_OK);
  expect_text(result, "[[1.0, 2.5, -0.0], [4.0, 5.0, 6.0]]");
  hia_value_nodes *nodes;
  cr_assert_eq(hia_value_to_nodes(result, &nodes, NULL), HIA_OK);
  hia_value_nodes_free(nodes);
  hia_value_free(result);
  hia_value_free(loaded);
  hia_value_free(value);
  close_world(&w);
}

#define REFUSED(part, ...)                                                                         \
  do {                                                                                             \
    error = NULL;                                                                                  \
    cr_expect_eq(__VA_ARGS__, HIA_ARGUMENT);                                                       \
    cr_expect(error &&strstr(hia_error_text(error), part) != NULL, "%s",                           \
              error ? hia_error_text(error) : "no error");                                         \
    hia_error_free(error);                                                                         \
  } while (0)

Test(api_tensors, wrong_input) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_error *error;
  hia_value *v;
  REFUSED("no type", hia_data_tensor(NULL, NULL, two_by_three, six, &v, &error));
  REFUSED("no dims", hia_data_tensor(NULL, w.matrix, NULL, six, &v, &error));
  REFUSED("no place", hia_data_tensor(NULL, w.matrix, two_by_three, six, NULL, &error));
  REFUSED("no elements", hia_data_tensor(NULL, w.matrix, two_by_three, NULL, &v, &error));
  REFUSED("Tree is no tensor type", hia_data_tensor(NULL, w.tree, two_by_three, six, &v, &error));
  REFUSED("axis 1 has the size -3",
          hia_data_tensor(NULL, w.matrix, (int64_t[]){2, -3}, six, &v, &error));
  REFUSED("too large",
          hia_data_tensor(NULL, w.matrix, (int64_t[]){1 << 30, INT64_MAX >> 30}, six, &v, &error));
  REFUSED("element 1 is no bool", hia_data_tensor(NULL, hia_type_info_field(w.tree, 1, 2),
                                                  (int64_t[]){1, 2}, "\1\2", &v, &error));
  cr_assert_null(v);
  cr_assert_null(hia_value_dims(NULL));
  cr_assert_null(hia_value_elements(NULL));
  hia_value *number = hia_value_i32(w.engine, 3);
  cr_assert_null(hia_value_dims(number));
  hia_value_free(number);
  close_world(&w);
}

static void call(hia_engine_kind kind) {
  world w;
  open_world(&w, kind);
  hia_function *f;
  hia_value *args[3], *result, *part;
  args[0] = hia_value_bool(w.engine, false);
  cr_assert_eq(hia_data_tensor(NULL, w.matrix, two_by_three, six, &args[1], NULL), HIA_OK);
  cr_assert_eq(hia_data_tensor(NULL, w.matrix, (int64_t[]){3, 2}, six, &args[2], NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w.module, "pick", &f, NULL), HIA_OK);
  cr_assert_eq(hia_call(f, args, 3, &result, NULL), HIA_OK);
  expect_text(result, "([[1.0, 2.5], [-0.0, 4.0], [5.0, 6.0]], 2)");
  part = hia_value_part(result, 0);
  hia_value_free(result);
  for (int i = 0; i < 3; i++) hia_value_free(args[i]);
  cr_assert_eq(memcmp(hia_value_elements(part), six, sizeof six), 0);
  hia_value_free(part);
  cr_assert_eq(hia_data_tensor(NULL, w.vector, (int64_t[]){2}, (float[]){1, 2}, &args[0], NULL),
               HIA_OK);
  cr_assert_eq(hia_module_function(w.module, "leaf", &f, NULL), HIA_OK);
  cr_assert_eq(hia_call(f, args, 1, &result, NULL), HIA_OK);
  expect_text(result, "Leaf([1.0, 2.0])");
  hia_value_free(args[0]);
  args[0] = result;
  cr_assert_eq(hia_module_function(w.module, "leftmost", &f, NULL), HIA_OK);
  cr_assert_eq(hia_call(f, args, 1, &result, NULL), HIA_OK);
  expect_text(result, "[1.0, 2.0]");
  hia_value_free(args[0]);
  hia_value_free(result);
  close_world(&w);
}
Test(api_tensors, passed_to_the_interpreter) { call(HIA_ENGINE_INTERP); }
Test(api_tensors, passed_to_native_code) { call(HIA_ENGINE_JIT); }

/* ---- tables of nodes ---- */

Test(api_tensors, nodes) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  const char *text = "Node(Leaf([1.5, nan]), Node(Nil, Leaf([]), [[true, false]]), [])";
  hia_value *value, *back;
  hia_value_nodes *nodes;
  cr_assert_eq(hia_data_read(NULL, w.tree, NULL, text, strlen(text), &value, NULL), HIA_OK);
  cr_assert_eq(hia_value_to_nodes(value, &nodes, NULL), HIA_OK);
  cr_assert_eq(nodes->nodes[0].n, 2);
  cr_assert_eq(nodes->words[0], 2);
  cr_assert_eq(nodes->words[1], hia_word_of_f32(1.5f));
  cr_assert_eq(hia_data_from_nodes(NULL, nodes, &back, NULL), HIA_OK);
  expect_text(back, text);
  hia_value_nodes_free(nodes);
  hia_value_free(back);
  hia_value_free(value);
  close_world(&w);
}

Test(api_tensors, wrong_nodes) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  const hia_type_info *types[] = {hia_type_info_field(w.tree, 1, 2), w.tree};
  hia_value_node list[] = {{0, 0, 2}, {1, 0, 0}};
  int64_t words[] = {1, 2, 0, 1, 0};
  hia_value_nodes nodes = HIA_VALUE_NODES_INIT;
  nodes.types = types, nodes.n_types = 2, nodes.nodes = list, nodes.n_nodes = 1;
  nodes.words = words, nodes.n_words = 4;
  hia_value *v = NULL;
  hia_error *error;
  cr_assert_eq(hia_data_from_nodes(NULL, &nodes, &v, NULL), HIA_OK);
  expect_text(v, "[[false, true]]");
  hia_value_free(v);
  words[0] = 2;
  REFUSED("sizes of another number", hia_data_from_nodes(NULL, &nodes, &v, &error));
  words[0] = -1, words[1] = -2;
  REFUSED("sizes of another number", hia_data_from_nodes(NULL, &nodes, &v, &error));
  words[0] = 1, words[1] = 2, words[2] = 2;
  REFUSED("it does not fit", hia_data_from_nodes(NULL, &nodes, &v, &error));
  words[2] = 0, list[0].ctor = 1;
  REFUSED("`ctor` must be 0", hia_data_from_nodes(NULL, &nodes, &v, &error));
  list[0].ctor = 0, list[0].n = UINT64_MAX;
  REFUSED("words left", hia_data_from_nodes(NULL, &nodes, &v, &error));
  list[0].n = 2, nodes.n_nodes = 2, nodes.n_words = 5, words[4] = 0; /* Leaf of a bool[?, ?] */
  REFUSED("that node is of another type", hia_data_from_nodes(NULL, &nodes, &v, &error));
  words[4] = HIA_NODE_EMPTY;
  REFUSED("it needs a node", hia_data_from_nodes(NULL, &nodes, &v, &error));
  close_world(&w);
}

/* ---- memory ---- */

static world *the_world;
static hia_status use(const hia_allocator *allocator) {
  hia_value *v[3] = {NULL};
  hia_value_nodes *nodes = NULL;
  const char *text = "Node(Leaf([1.5, 2]), Nil, [[true], [false]])";
  hia_status status = hia_data_tensor(allocator, the_world->matrix, two_by_three, six, &v[0], NULL);
  if (!status)
    status = hia_data_read(allocator, the_world->tree, NULL, text, strlen(text), &v[1], NULL);
  if (!status) status = hia_value_to_nodes(v[1], &nodes, NULL);
  if (!status) status = hia_data_from_nodes(allocator, nodes, &v[2], NULL);
  hia_value_nodes_free(nodes);
  for (int i = 0; i < 3; i++) hia_value_free(v[i]);
  return status;
}

Test(api_tensors, each_allocation_fails_once) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  the_world = &w;
  cr_assert_eq(use(NULL), HIA_OK);
  cr_assert_gt(fail_each_allocation(use), 8);
  close_world(&w);
}

/* ---- text ---- */

Test(api_tensors, long_ones_are_shortened) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  float *many = calloc(1001, sizeof *many);
  for (int i = 0; i < 1001; i++) many[i] = (float)i;
  hia_value *v;
  bool is_cut;
  test_text text = {0};
  cr_assert_eq(hia_data_tensor(NULL, w.vector, (int64_t[]){1000}, many, &v, NULL), HIA_OK);
  cr_assert_eq(hia_value_write(v, 1 << 20, test_text_take, &text, &is_cut, NULL), HIA_OK);
  cr_assert(!is_cut && text.len > 4000);
  test_text_free(&text);
  hia_value_free(v);
  cr_assert_eq(hia_data_tensor(NULL, w.vector, (int64_t[]){1001}, many, &v, NULL), HIA_OK);
  text = (test_text){0};
  cr_assert_eq(hia_value_write(v, 1 << 20, test_text_take, &text, &is_cut, NULL), HIA_OK);
  cr_assert(is_cut);
  cr_assert_str_eq(text.data, "[0.0, 1.0, 2.0, ..., 998.0, 999.0, 1000.0]");
  test_text_free(&text);
  text = (test_text){0};
  cr_assert_eq(hia_value_write(v, UINT64_MAX, test_text_take, &text, &is_cut, NULL), HIA_OK);
  cr_assert(!is_cut && text.len > 4000);
  test_text_free(&text);
  hia_value_free(v);
  free(many);
  close_world(&w);
}

/* ---- the builder ---- */

Test(api_tensors, built) {
  hia_engine *engine;
  hia_builder *b;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_builder_new(engine, "b", &b, NULL), HIA_OK);
  hia_build_type matrix = hia_build_tensor_type(b, HIA_F32, 2);
  cr_assert_eq(hia_build_read_type(b, "f32[?, ?]"), matrix);
  cr_assert_neq(hia_build_read_type(b, " ( f32[?], bool [ ? ] )"), HIA_BUILD_NO_TYPE);
  hia_builder_free(b);
  const char *wrong[] = {"f32[", "f32[]", "f32[?", "f32[? ?]", "f32[3 4]", "[f32[?]]"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cr_assert_eq(hia_builder_new(engine, "b", &b, NULL), HIA_OK);
    cr_expect_eq(hia_build_read_type(b, wrong[i]), HIA_BUILD_NO_TYPE, "%s", wrong[i]);
    hia_builder_free(b);
  }
  for (size_t rank = 0; rank <= 17; rank += 17) {
    cr_assert_eq(hia_builder_new(engine, "b", &b, NULL), HIA_OK);
    cr_expect_eq(hia_build_tensor_type(b, HIA_F32, rank), HIA_BUILD_NO_TYPE);
    hia_builder_free(b);
  }
  hia_engine_free(engine);
}
