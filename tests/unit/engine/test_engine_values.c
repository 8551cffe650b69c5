/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays through the public API: made, taken apart, as tables of nodes, as
 * text, in brackets and in files. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/random.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char program[] =
    "type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32) | Nil\n"
    "type Rose = Rose(x: (bool, f64), below: [Rose])\n"
    "type Mixed = Mixed(b: bool, n: i64, f: f32, d: f64, t: Tree)\n"
    "type Deep = End | More(d: Deep)\n"
    "fn any(x) = 1\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  hia_function *any;
  const hia_type_info *tree, *rose, *roses, *mixed, *deep;
  hia_error *error;
} world;

static void open_world(world *w, const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = allocator;
  options.kind = HIA_ENGINE_INTERP;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "t", program, strlen(program), &w->module, NULL),
               HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "any", &w->any, NULL), HIA_OK);
  w->tree = hia_module_type(w->module, "Tree");
  w->rose = hia_module_type(w->module, "Rose");
  w->mixed = hia_module_type(w->module, "Mixed");
  w->deep = hia_module_type(w->module, "Deep");
  w->roses = hia_type_info_field(w->rose, 0, 1);
  w->error = NULL;
}

static void close_world(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static hia_value *parse(world *w, const char *text) {
  hia_value *value;
  hia_status status = hia_value_parse(w->any, 0, text, &value, &w->error);
  cr_assert_eq(status, HIA_OK, "%s: %s", text, hia_error_text(w->error));
  return value;
}

#define expect_text(value, text) expect_text_at(value, text, __LINE__)
static void expect_text_at(const hia_value *value, const char *text, int line) {
  char buf[512];
  hia_value_format(value, buf, sizeof buf);
  cr_expect_str_eq(buf, text, "line %d: %s", line, buf);
}

/* Checks an error and frees it. */
#define refused(w, status, words) refused_at(w, status, words, __LINE__)
static void refused_at(world *w, hia_status status, const char *words, int line) {
  cr_expect_eq(status, HIA_ARGUMENT, "line %d: %s", line, hia_status_word(status));
  cr_assert_not_null(w->error, "line %d", line);
  cr_expect(strstr(hia_error_text(w->error), words), "line %d: no '%s' in %s", line, words,
            hia_error_text(w->error));
  hia_error_free(w->error);
  w->error = NULL;
}

/* ---- types ---- */

Test(engine_values, types_of_data_can_be_inspected) {
  world w;
  open_world(&w, NULL);
  cr_expect_eq(hia_type_info_kind(w.tree), HIA_KIND_DATA);
  cr_expect_str_eq(hia_type_info_name(w.tree), "Tree");
  cr_expect_eq(hia_type_info_ctor_count(w.tree), 3);
  cr_expect_str_eq(hia_type_info_ctor_name(w.tree, 1), "Node");
  cr_expect_eq(hia_type_info_find_ctor(w.tree, "Nil"), 2);
  cr_expect_eq(hia_type_info_find_ctor(w.tree, "Rose"), HIA_NO_CTOR);
  cr_expect_eq(hia_type_info_field_count(w.tree, 1), 3);
  cr_expect_str_eq(hia_type_info_field_name(w.tree, 1, 1), "right");
  cr_expect(hia_type_info_is_same(hia_type_info_field(w.tree, 1, 1), w.tree));
  cr_expect_eq(hia_type_info_kind(w.roses), HIA_KIND_ARRAY);
  cr_expect(hia_type_info_is_same(hia_type_info_element(w.roses), w.rose));
  cr_expect_eq(hia_type_info_scalars(w.tree, NULL), 0);
  char buf[64];
  hia_type_info_format(w.roses, buf, sizeof buf);
  cr_expect_str_eq(buf, "[Rose]");
  /* Past the end, and of other kinds. */
  cr_expect_null(hia_module_type(w.module, "Rosa"));
  cr_expect_null(hia_module_type(NULL, "Rose"));
  cr_expect_str_eq(hia_type_info_ctor_name(w.tree, 3), "");
  cr_expect_eq(hia_type_info_field_count(w.tree, 3), 0);
  cr_expect_null(hia_type_info_field(w.tree, 2, 0));
  cr_expect_str_eq(hia_type_info_field_name(w.tree, 0, 2), "");
  cr_expect_null(hia_type_info_element(w.tree));
  cr_expect_str_eq(hia_type_info_name(w.roses), "");
  cr_expect_eq(hia_type_info_ctor_count(w.roses), 0);
  cr_expect_eq(hia_type_info_ctor_count(NULL), 0);
  close_world(&w);
}

/* ---- one by one ---- */

Test(engine_values, data_are_made_and_taken_apart) {
  world w;
  open_world(&w, NULL);
  hia_value *fields[3] = {hia_value_i32(w.engine, 7), hia_value_i32(w.engine, -1)}, *leaf, *nil;
  cr_assert_eq(hia_value_data(w.engine, w.tree, 0, fields, 2, &leaf, &w.error), HIA_OK);
  cr_assert_eq(hia_value_data(w.engine, w.tree, 2, NULL, 0, &nil, &w.error), HIA_OK);
  hia_value_free(fields[0]);
  hia_value *label = fields[1], *node;
  fields[0] = fields[1] = leaf, fields[2] = label;
  cr_assert_eq(hia_value_data(w.engine, w.tree, 1, fields, 3, &node, &w.error), HIA_OK);
  hia_value_free(leaf);
  hia_module_free(w.module); /* a value belongs to no module */
  expect_text(node, "Node(Leaf(7, -1), Leaf(7, -1), -1)");
  expect_text(nil, "Nil");
  cr_expect_eq(hia_value_ctor(node), 1);
  cr_expect_eq(hia_value_ctor(nil), 2);
  cr_expect_eq(hia_value_ctor(label), HIA_NO_CTOR);
  cr_expect_eq(hia_value_len(node), 3);
  cr_expect_eq(hia_value_len(nil), 0);
  cr_expect_str_eq(hia_type_info_name(hia_value_type(node)), "Tree");
  hia_value *right = hia_value_part(node, 1);
  cr_expect_null(hia_value_part(node, 3));
  hia_value_free(node);
  expect_text(right, "Leaf(7, -1)");
  hia_value_free(right);
  hia_value_free(nil);
  hia_value_free(label);
  hia_engine_free(w.engine);
}

Test(engine_values, arrays_are_made_and_taken_apart) {
  world w;
  open_world(&w, NULL);
  hia_value *none, *pair = parse(&w, "(true, 0.5f64)"), *fields[2] = {pair}, *roses[2], *array;
  cr_assert_eq(hia_value_array(w.engine, w.roses, NULL, 0, &none, &w.error), HIA_OK);
  fields[1] = none;
  cr_assert_eq(hia_value_data(w.engine, w.rose, 0, fields, 2, &roses[0], &w.error), HIA_OK);
  roses[1] = roses[0];
  cr_assert_eq(hia_value_array(w.engine, w.roses, roses, 2, &array, &w.error), HIA_OK);
  expect_text(none, "[]");
  expect_text(array, "[Rose((true, 0.5), []), Rose((true, 0.5), [])]");
  cr_expect_eq(hia_value_len(array), 2);
  hia_value *second = hia_value_part(array, 1), *inner = hia_value_part(second, 0);
  hia_value *copy = hia_value_copy(array);
  expect_text(copy, "[Rose((true, 0.5), []), Rose((true, 0.5), [])]");
  hia_value_free(copy);
  expect_text(second, "Rose((true, 0.5), [])");
  expect_text(inner, "(true, 0.5)");
  cr_expect_null(hia_value_part(none, 0));
  hia_value *all[] = {none, pair, roses[0], array, second, inner};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) hia_value_free(all[i]);
  close_world(&w);
}

Test(engine_values, what_does_not_fit_is_refused) {
  world w;
  open_world(&w, NULL);
  hia_value *value, *x = hia_value_i32(w.engine, 7), *y = hia_value_i64(w.engine, 7);
  hia_value *two[2] = {x, y}, *missing[2] = {x, NULL}, *none;
#define MAKE(type, ctor, fields, n)                                                                \
  hia_value_data(w.engine, type, ctor, fields, n, &value, &w.error)
  refused(&w, MAKE(w.tree, 3, two, 2), "Tree has no constructor number 3: it has 3");
  refused(&w, MAKE(w.tree, 0, two, 1), "`Leaf` has 2 fields, not 1");
  refused(&w, MAKE(w.tree, 2, two, 1), "`Nil` has 0 fields, not 1");
  refused(&w, MAKE(w.tree, 0, two, 2), "field 1 must be of type i32, and is of type i64");
  refused(&w, MAKE(w.tree, 0, missing, 2), "field 1 is no value");
  refused(&w, MAKE(w.tree, 0, NULL, 2), "no fields");
  refused(&w, MAKE(w.roses, 0, two, 2), "[Rose] is no data type");
  refused(&w, MAKE(NULL, 0, two, 2), "no type");
  cr_expect_null(value);
  refused(&w, hia_value_array(w.engine, w.tree, two, 2, &value, &w.error), "Tree is no array type");
  refused(&w, hia_value_array(w.engine, w.roses, two, 2, &value, &w.error),
          "element 0 must be of type Rose, and is of type i32");
  refused(&w,
          hia_value_array(w.engine, w.roses, two, SIZE_MAX, &value, NULL) == HIA_MEMORY
              ? hia_value_array(w.engine, w.roses, NULL, 1, &value, &w.error)
              : HIA_OK,
          "no elements");
  refused(&w, hia_value_array(w.engine, w.roses, &x, 1, NULL, &w.error), "no place");
#undef MAKE
  cr_assert_eq(hia_value_data(w.engine, w.tree, 2, NULL, 0, &none, NULL), HIA_OK);
  hia_value_free(none);
  hia_value_free(x);
  hia_value_free(y);
  close_world(&w);
}

/* A list made by a call for each cell is freed without recursion, in any order. */
Test(engine_values, a_deep_value_is_made_one_by_one) {
  world w;
  open_world(&w, NULL);
  hia_value *last, *more;
  cr_assert_eq(hia_value_data(w.engine, w.deep, 0, NULL, 0, &last, NULL), HIA_OK);
  for (int i = 0; i < 200000; i++) {
    cr_assert_eq(hia_value_data(w.engine, w.deep, 1, &last, 1, &more, NULL), HIA_OK);
    hia_value_free(last);
    last = more;
  }
  cr_expect_eq(hia_value_format(last, NULL, 0), 200000 * 6 + 3);
  hia_value_free(last);
  close_world(&w);
}

/* ---- tables of nodes ---- */

static hia_status from_nodes(world *w, const hia_type_info *const *types, size_t n_types,
                             const hia_value_node *nodes, size_t n_nodes, const int64_t *words,
                             size_t n_words, hia_value **value) {
  hia_value_nodes table = HIA_VALUE_NODES_INIT;
  table.types = types, table.n_types = n_types;
  table.nodes = nodes, table.n_nodes = n_nodes;
  table.words = words, table.n_words = n_words;
  return hia_data_from_nodes(hia_engine_allocator(w->engine), &table, value, &w->error);
}

Test(engine_values, a_table_of_nodes_becomes_a_value_and_back) {
  world w;
  open_world(&w, NULL);
  const hia_type_info *const types[] = {w.tree, w.mixed};
  const hia_value_node nodes[] = {{0, 0, 0}, {0, 2, 0}, {0, 1, 0}, {0, 1, 0}, {1, 0, 0}};
  const int64_t words[] = {
      7,
      -8, /* Leaf */
      0,
      1,
      2147483647, /* Node of it and Nil */
      2,
      2,
      HIA_NODE_CTOR(2) /* -3, of an i32 */, /* the same node twice */
      1,
      INT64_MIN,
      hia_word_of_f32(-0.5f),
      hia_word_of_f64(0.1),
      3, /* Mixed */
  };
  hia_value *value;
  hia_status status = from_nodes(&w, types, 2, nodes, 5, words, 13, &value);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(w.error));
  expect_text(value, "Mixed(true, -9223372036854775808, -0.5, 0.1, "
                     "Node(Node(Leaf(7, -8), Nil, 2147483647), Node(Leaf(7, -8), Nil, 2147483647), "
                     "-3))");
  hia_value_nodes *back;
  cr_assert_eq(hia_value_to_nodes(value, &back, &w.error), HIA_OK);
  cr_assert_eq(back->n_nodes, 4); /* Nil is none; the shared node is one */
  cr_assert_eq(back->n_words, 13);
  cr_assert_eq(back->n_types, 2);
  cr_expect(hia_type_info_is_same(back->types[0], w.tree));
  cr_expect(hia_type_info_is_same(back->types[1], w.mixed));
  const int64_t wanted[] = {7, -8, 0, HIA_NODE_CTOR(2), 2147483647, 1, 1, -3, 1, INT64_MIN};
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
    cr_expect_eq(back->words[i], wanted[i], "word %zu is %lld", i, (long long)back->words[i]);
  cr_expect_eq(hia_word_to_f32(back->words[10]), -0.5f);
  cr_expect_eq(hia_word_to_f64(back->words[11]), 0.1);
  cr_expect_eq(back->nodes[3].type, 1);
  hia_value *again;
  hia_value_free(value);
  close_world(&w); /* the table lives on: but an engine is needed */
  open_world(&w, NULL);
  cr_assert_eq(hia_data_from_nodes(hia_engine_allocator(w.engine), back, &again, &w.error), HIA_OK);
  hia_value_nodes_free(back);
  cr_expect_eq(hia_value_len(again), 5);
  hia_value_free(again);
  close_world(&w);
}

Test(engine_values, arrays_are_nodes_too) {
  world w;
  open_world(&w, NULL);
  const hia_type_info *const types[] = {w.roses, w.rose};
  const hia_value_node nodes[] = {{0, 0, 0}, {1, 0, 0}, {0, 0, 3}};
  const int64_t words[] = {1, hia_word_of_f64(2.5), 0, 1, 1, 1};
  hia_value *value, *whole;
  cr_assert_eq(from_nodes(&w, types, 2, nodes, 3, words, 6, &value), HIA_OK, "%s",
               hia_error_text(w.error));
  expect_text(value, "[Rose((true, 2.5), []), Rose((true, 2.5), []), Rose((true, 2.5), [])]");
  hia_value_nodes *back;
  cr_assert_eq(hia_value_to_nodes(value, &back, NULL), HIA_OK);
  cr_expect_eq(back->n_nodes, 2); /* the array without elements is none */
  cr_expect_eq(back->words[2], HIA_NODE_EMPTY);
  cr_expect_eq(back->nodes[1].n, 3);
  cr_assert_eq(hia_data_from_nodes(hia_engine_allocator(w.engine), back, &whole, NULL), HIA_OK);
  hia_value_nodes_free(back);
  expect_text(whole, "[Rose((true, 2.5), []), Rose((true, 2.5), []), Rose((true, 2.5), [])]");
  hia_value_free(whole);
  hia_value_free(value);
  value = parse(&w, "Nil");
  cr_assert_eq(hia_value_to_nodes(value, &back, NULL), HIA_OK);
  cr_expect_eq(back->n_nodes, 1);
  cr_expect_eq(back->nodes[0].ctor, 2);
  cr_expect_eq(back->n_words, 0);
  hia_value_nodes_free(back);
  hia_value_free(value);
  hia_value_nodes_free(NULL);
  close_world(&w);
}

Test(engine_values, a_wrong_table_is_refused) {
  world w;
  open_world(&w, NULL);
  const hia_type_info *const types[] = {w.tree, w.roses, w.mixed};
  hia_value *value;
  static const struct {
    hia_value_node nodes[2];
    size_t n_nodes;
    int64_t words[6];
    size_t n_words;
    const char *message;
  } cases[] = {
      {{{0, 1, 0}},
       1,
       {0, -3, 0},
       3,
       "node 0, word 0: 0 is no Tree: it is not the number of an earlier"},
      {{{0, 0, 0}, {0, 1, 0}},
       2,
       {1, 1, 0, 2, 0},
       5,
       "node 1, word 3: 2 is no Tree: it is not the"},
      {{{0, 0, 0}, {0, 1, 0}}, 2, {1, 1, -1, 0, 0}, 5, "this constructor has fields, and needs a"},
      {{{0, 0, 0}, {0, 1, 0}},
       2,
       {1, 1, -4, 0, 0},
       5,
       "-4 is no Tree: there is no such constructor"},
      {{{0, 0, 0}, {0, 1, 0}}, 2, {1, 1, INT64_MIN, 0, 0}, 5, "there is no such constructor"},
      {{{0, 0, 0}}, 1, {1}, 1, "node 0 needs 2 words behind the first 0: there are 1 in all"},
      {{{0, 0, 0}}, 1, {1, 2, 3}, 3, "the nodes have 2 words, and there are 3"},
      {{{0, 0, 0}}, 1, {2147483648, 2}, 2, "word 0: 2147483648 is no i32: it does not fit"},
      {{{2, 0, 0}}, 1, {2, 0, 0, 0, -3}, 5, "2 is no bool: it does not fit"},
      {{{2, 0, 0}}, 1, {1, 0, -1, 0, -3}, 5, "-1 is no f32: it does not fit"},
      {{{0, 3, 0}}, 1, {0}, 0, "node 0: Tree has no constructor number 3: it has 3"},
      {{{3, 0, 0}}, 1, {0}, 0, "node 0 has type number 3: there are 3"},
      {{{1, 0, 0}, {2, 0, 0}}, 2, {0, 0, 0, 0, 0}, 5, "0 is no Tree: that node is of another type"},
      {{{1, 0, 7}}, 1, {0}, 1, "node 0 has 7 elements, and there are 1 words left"},
      {{{1, 0, UINT64_MAX}}, 1, {0}, 1, "elements, and there are 1 words left"},
      {{{1, 1, 0}}, 1, {0}, 0, "node 0 is no data: `ctor` must be 0"},
      {{{0, 2, 1}}, 1, {0}, 0, "node 0 is data: `n` must be 0"},
      {{{1, 0, 1}}, 1, {-1}, 1, "this constructor has fields"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hia_status status = from_nodes(&w, types, 3, cases[i].nodes, cases[i].n_nodes, cases[i].words,
                                   cases[i].n_words, &value);
    refused_at(&w, status, cases[i].message, (int)i);
    cr_expect_null(value);
  }
  const hia_type_info *const mixed[] = {w.tree, hia_value_type(NULL)};
  const hia_value_node node = {0, 2, 0};
  refused(&w, from_nodes(&w, mixed, 2, &node, 1, NULL, 0, &value),
          "type 1 is no data, array or tensor type");
  refused(&w, from_nodes(&w, types, 3, &node, 0, NULL, 0, &value), "no nodes");
  refused(&w, from_nodes(&w, NULL, 3, &node, 1, NULL, 0, &value), "no types");
  refused(&w, from_nodes(&w, types, 3, &node, 1, NULL, 4, &value), "no words");
  world other;
  open_world(&other, NULL);
  const hia_type_info *const foreign[] = {w.tree, other.tree};
  refused(&w, from_nodes(&w, foreign, 2, &node, 1, NULL, 0, &value), "of another program");
  close_world(&other);
  hia_value_nodes *nodes;
  value = hia_value_i32(w.engine, 1);
  refused(&w, hia_value_to_nodes(value, &nodes, &w.error), "is no node");
  cr_expect_null(nodes);
  hia_value_free(value);
  close_world(&w);
}

/* A million nodes, each the child of the next, are made and listed without recursion. */
Test(engine_values, a_deep_table) {
  enum { N = 1000000 };
  world w;
  open_world(&w, NULL);
  hia_value_node *nodes = calloc(N, sizeof *nodes);
  int64_t *words = calloc(N, sizeof *words);
  for (int i = 0; i < N; i++) nodes[i].ctor = 1, words[i] = i - 1; /* -1 is End */
  hia_value *value;
  cr_assert_eq(from_nodes(&w, &w.deep, 1, nodes, N, words, N, &value), HIA_OK);
  hia_value_nodes *back;
  cr_assert_eq(hia_value_to_nodes(value, &back, NULL), HIA_OK);
  cr_expect_eq(back->n_nodes, N);
  cr_expect_eq(memcmp(back->words, words, N * sizeof *words), 0);
  hia_value_nodes_free(back);
  hia_value_free(value);
  free(nodes);
  free(words);
  close_world(&w);
}

/* Tables with a mistake somewhere, or none: what is not refused is a value, whose table is sound.
 */
Test(engine_values, random_changes_of_tables) {
  world w;
  open_world(&w, NULL);
  random_source r = {.state = 12};
  hia_value *sound =
      parse(&w, "Mixed(true, 5, 1.5, 2.5, Node(Node(Leaf(1, 2), Nil, 3), Leaf(4, 5), 6))");
  hia_value_nodes *from;
  cr_assert_eq(hia_value_to_nodes(sound, &from, NULL), HIA_OK);
  hia_value_node nodes[16];
  int64_t words[64];
  unsigned n_fine = 0, n_wrong = 0;
  for (int i = 0; i < 20000; i++) {
    hia_value_nodes table = *from, *back;
    memcpy(nodes, from->nodes, from->n_nodes * sizeof *nodes);
    memcpy(words, from->words, from->n_words * sizeof *words);
    table.nodes = nodes, table.words = words;
    hia_value_node *node = &nodes[random_below(&r, (uint32_t)from->n_nodes)];
    switch (random_below(&r, 6)) {
    case 0: node->type = random_below(&r, 4); break;
    case 1: node->ctor = random_below(&r, 5); break;
    case 2: node->n = random_below(&r, 3); break;
    case 3: table.n_words -= random_below(&r, 3); break;
    case 4: table.n_nodes -= random_below(&r, 3); break;
    default: words[random_below(&r, (uint32_t)from->n_words)] = (int64_t)random_below(&r, 12) - 6;
    }
    hia_value *value;
    hia_status status = hia_data_from_nodes(hia_engine_allocator(w.engine), &table, &value, NULL);
    cr_assert(status == HIA_OK || status == HIA_ARGUMENT);
    status == HIA_OK ? n_fine++ : n_wrong++;
    if (status != HIA_OK) continue;
    cr_assert_gt(hia_value_format(value, NULL, 0), 0);
    cr_assert_eq(hia_value_to_nodes(value, &back, NULL), HIA_OK);
    cr_assert_leq(back->n_nodes, table.n_nodes);
    hia_value_nodes_free(back);
    hia_value_free(value);
  }
  cr_expect_gt(n_fine, 1000);
  cr_expect_gt(n_wrong, 1000);
  hia_value_nodes_free(from);
  hia_value_free(sound);
  close_world(&w);
}

/* ---- text, brackets, files ---- */

static bool append(void *user, const char *bytes, size_t len) {
  char *buf = user;
  size_t n = strlen(buf);
  if (n + len >= 4096) return false;
  memcpy(buf + n, bytes, len);
  buf[n + len] = 0;
  return true;
}
static bool refuse(void *user, const char *bytes, size_t len) {
  (void)user, (void)bytes, (void)len;
  return false;
}

Test(engine_values, text_of_a_name_and_a_limit) {
  world w;
  open_world(&w, NULL);
  hia_value *value;
  static const char text[] = "Node(Nil,\n  Leaf(1, x), 2)and more";
  refused(&w, hia_value_parse_text(w.any, 0, "trees.txt", text, 26, &value, &w.error),
          "trees.txt:2:11");
  static const char good[] = {'L', 'e', 'a', 'f', '(', '1', ',', '2', ')'};
  cr_assert_eq(hia_value_parse_text(w.any, 0, NULL, good, sizeof good, &value, NULL), HIA_OK);
  expect_text(value, "Leaf(1, 2)");
  char buf[4096] = "";
  bool is_cut;
  cr_expect_eq(hia_value_write(value, UINT64_MAX, append, buf, &is_cut, NULL), HIA_OK);
  cr_expect_str_eq(buf, "Leaf(1, 2)");
  cr_expect_not(is_cut);
  buf[0] = 0;
  cr_expect_eq(hia_value_write(value, 7, append, buf, &is_cut, NULL), HIA_OK);
  cr_expect_str_eq(buf, "Leaf(1...");
  cr_expect(is_cut);
  cr_expect_eq(hia_value_write(value, 7, refuse, NULL, NULL, NULL), HIA_IO);
  cr_expect_eq(hia_value_write(NULL, 7, append, buf, NULL, NULL), HIA_ARGUMENT);
  hia_value_free(value);
  close_world(&w);
}

Test(engine_values, trees_in_brackets) {
  world w;
  open_world(&w, NULL);
  hia_vocab *words = hia_vocab_new(NULL);
  cr_assert_eq(hia_vocab_read(words, "vocab", "<unk>\nIt\nworks\n", 15, NULL), HIA_OK);
  refused(&w, hia_vocab_read(words, "vocab", "new\nIt\n", 7, &w.error), "vocab:2:1");
  cr_expect_eq(hia_vocab_len(words), 4);
  size_t len;
  cr_expect_eq(strncmp(hia_vocab_get(words, 2, &len), "works", 5), 0);
  cr_expect_eq(len, 5);
  cr_expect_null(hia_vocab_get(words, 4, NULL));
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = words;
  static const char text[] = "(3 (2 It) (4 (1 works) (0 well)))";
  hia_value *value;
  cr_assert_eq(hia_data_read_brackets(hia_engine_allocator(w.engine), w.tree, "a.ptb", text,
                                      strlen(text), &options, &value, &w.error),
               HIA_OK);
  expect_text(value, "Node(Leaf(1, 2), Node(Leaf(2, 1), Leaf(0, 0), 4), 3)");
  hia_value_free(value);
  options.add_words = true;
  cr_assert_eq(hia_data_read_brackets(hia_engine_allocator(w.engine), w.tree, "a.ptb", text,
                                      strlen(text), &options, &value, &w.error),
               HIA_OK);
  expect_text(value, "Node(Leaf(1, 2), Node(Leaf(2, 1), Leaf(4, 0), 4), 3)");
  hia_value_free(value);
  refused(&w,
          hia_data_read_brackets(hia_engine_allocator(w.engine), w.tree, "a.ptb", text, 20,
                                 &options, &value, &w.error),
          "a.ptb:1:");
  refused(&w,
          hia_data_read_brackets(hia_engine_allocator(w.engine), w.roses, "a.ptb", text, 20,
                                 &options, &value, &w.error),
          "a.ptb:1:");
  refused(&w,
          hia_data_read_brackets(hia_engine_allocator(w.engine), hia_type_info_field(w.tree, 0, 0),
                                 "a.ptb", text, 20, NULL, &value, &w.error),
          "i32 is no type of trees");
  cr_expect_null(value);
  hia_vocab_free(words);
  hia_vocab_free(NULL);
  close_world(&w);
}

typedef struct bytes {
  char data[4096];
  size_t len;
} bytes;
static bool keep(void *user, const char *data, size_t len) {
  bytes *b = user;
  if (b->len + len > sizeof b->data) return false;
  memcpy(b->data + b->len, data, len);
  b->len += len;
  return true;
}

Test(engine_values, values_are_saved_and_loaded) {
  world w;
  open_world(&w, NULL);
  hia_value *value = parse(&w, "Node(Leaf(1, 2), Nil, 3)"), *back;
  bytes saved = {.len = 0};
  cr_assert_eq(hia_value_save(value, keep, &saved, NULL), HIA_OK);
  cr_assert_eq(hia_data_load(hia_engine_allocator(w.engine), w.tree, "a.hiav", saved.data,
                             saved.len, &back, NULL),
               HIA_OK);
  expect_text(back, "Node(Leaf(1, 2), Nil, 3)");
  hia_value_free(back);
  refused(&w,
          hia_data_load(hia_engine_allocator(w.engine), w.rose, "a.hiav", saved.data, saved.len,
                        &back, &w.error),
          "a.hiav");
  for (size_t i = 0; i < saved.len; i++) {
    refused(&w,
            hia_data_load(hia_engine_allocator(w.engine), w.tree, "a.hiav", saved.data, i, &back,
                          &w.error),
            "a.hiav");
    saved.data[i] ^= 64;
    refused(&w,
            hia_data_load(hia_engine_allocator(w.engine), w.tree, "a.hiav", saved.data, saved.len,
                          &back, &w.error),
            "a.hiav");
    saved.data[i] ^= 64;
  }
  cr_expect_eq(hia_value_save(value, refuse, NULL, NULL), HIA_IO);
  char path[] = "/tmp/hiaton-value-XXXXXX";
  int file = mkstemp(path);
  cr_assert_geq(file, 0);
  close(file);
  cr_assert_eq(hia_value_save_file(value, path, NULL), HIA_OK);
  cr_assert_eq(hia_data_load_file(hia_engine_allocator(w.engine), w.tree, path, &back, NULL),
               HIA_OK);
  expect_text(back, "Node(Leaf(1, 2), Nil, 3)");
  hia_value_free(back);
  unlink(path);
  cr_expect_eq(hia_data_load_file(hia_engine_allocator(w.engine), w.tree, path, &back, &w.error),
               HIA_IO);
  cr_expect(strstr(hia_error_text(w.error), "cannot read /tmp/hiaton-value"));
  hia_error_free(w.error);
  cr_expect_eq(hia_data_load_file(hia_engine_allocator(w.engine), w.tree, "/tmp", &back, NULL),
               HIA_IO);
  cr_expect_eq(hia_value_save_file(value, "/nosuch/a.hiav", &w.error), HIA_IO);
  cr_expect(strstr(hia_error_text(w.error), "cannot write /nosuch/a.hiav: No such file"));
  hia_error_free(w.error);
  hia_value_free(value);
  close_world(&w);
}

/* ---- runs ---- */

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

/* ---- what is missing ---- */

#define MISSING(words, function, ...)                                                              \
  refused(&w, (function)(__VA_ARGS__, &w.error), words);                                           \
  cr_expect_eq((function)(__VA_ARGS__, NULL), HIA_ARGUMENT)

Test(engine_values, missing_arguments) {
  world w;
  open_world(&w, NULL);
  hia_value *value = NULL, *x = parse(&w, "Nil");
  hia_value_nodes *table;
  hia_value_nodes nodes = HIA_VALUE_NODES_INIT;
  hia_vocab *words = hia_vocab_new(NULL);
  MISSING("no engine", hia_value_data, NULL, w.tree, 2, NULL, 0, &value);
  MISSING("no place", hia_value_data, w.engine, w.tree, 2, NULL, 0, NULL);
  MISSING("no engine", hia_value_array, NULL, w.roses, NULL, 0, &value);
  MISSING("no nodes", hia_data_from_nodes, hia_engine_allocator(w.engine), NULL, &value);
  MISSING("no value", hia_value_to_nodes, NULL, &table);
  MISSING("no place", hia_value_to_nodes, x, NULL);
  MISSING("no function", hia_value_parse_text, NULL, 0, "a", "1", 1, &value);
  MISSING("no text", hia_value_parse_text, w.any, 0, "a", NULL, 1, &value);
  MISSING("no value", hia_value_write, NULL, 1, append, NULL, NULL);
  MISSING("nothing to write with", hia_value_write, x, 1, NULL, NULL, NULL);
  MISSING("no words", hia_vocab_read, NULL, "a", "", 0);
  MISSING("no text", hia_vocab_read, words, "a", NULL, 1);
  MISSING("no words", hia_vocab_write, NULL, append, NULL);
  MISSING("no function to write with", hia_vocab_write, words, NULL, NULL);
  MISSING("no words", hia_vocab_load_file, NULL, "a");
  MISSING("no path", hia_vocab_load_file, words, NULL);
  MISSING("no words", hia_vocab_save_file, NULL, "a");
  MISSING("no path", hia_vocab_save_file, words, NULL);
  MISSING("no type", hia_data_read_brackets, hia_engine_allocator(w.engine), NULL, "a", "", 0, NULL,
          &value);
  MISSING("no value", hia_value_save, NULL, append, NULL);
  MISSING("nothing to write with", hia_value_save, x, NULL, NULL);
  MISSING("no bytes", hia_data_load, hia_engine_allocator(w.engine), w.tree, "a", NULL, 1, &value);
  MISSING("no value", hia_value_save_file, NULL, "a");
  MISSING("no path", hia_value_save_file, x, NULL);
  MISSING("no path", hia_data_load_file, hia_engine_allocator(w.engine), w.tree, NULL, &value);
  nodes.size = 3;
  MISSING("another version", hia_data_from_nodes, hia_engine_allocator(w.engine), &nodes, &value);
  cr_expect_null(value);
  cr_expect_null(hia_value_type(NULL));
  cr_expect_eq(hia_value_ctor(NULL), HIA_NO_CTOR);
  cr_expect_null(hia_type_info_element(NULL));
  cr_expect_str_eq(hia_type_info_name(NULL), "");
  cr_expect_str_eq(hia_type_info_ctor_name(NULL, 0), "");
  cr_expect_eq(hia_type_info_find_ctor(NULL, "A"), HIA_NO_CTOR);
  cr_expect_eq(hia_type_info_find_ctor(w.tree, NULL), HIA_NO_CTOR);
  cr_expect_eq(hia_type_info_field_count(NULL, 0), 0);
  cr_expect_str_eq(hia_type_info_field_name(NULL, 0, 0), "");
  cr_expect_null(hia_type_info_field(NULL, 0, 0));
  cr_expect_eq(hia_vocab_len(NULL), 0);
  cr_expect_null(hia_vocab_get(NULL, 0, NULL));
  hia_vocab_free(words);
  hia_value_free(x);
  close_world(&w);
}

/* ---- memory ---- */

/* Frees all that was made, and returns the first status that is not OK. */
static hia_status use_everything(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = allocator;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *any = NULL;
  hia_value *v[8] = {NULL}, *tuple = NULL;
  hia_value_nodes *nodes = NULL;
  hia_vocab *words = NULL;
  bytes saved = {.len = 0};
  hia_status status = hia_engine_new(&options, &engine, NULL);
  if (!status) status = hia_module_load_text(engine, "t", program, strlen(program), &module, NULL);
  if (!status) status = hia_module_function(module, "any", &any, NULL);
  const hia_type_info *tree = hia_module_type(module, "Tree"),
                      *rose = hia_module_type(module, "Rose");
  if (!status)
    status = hia_value_parse(any, 0, "Node(Leaf(1 + 1, 2), Node(Nil, Nil, 0), 3)", &v[0], NULL);
  if (!status) status = hia_value_parse(any, 0, "[(Leaf(1, 2), 3), (Nil, 4)]", &v[1], NULL);
  if (!status && !(tuple = hia_value_tuple(engine, v, 2))) status = HIA_MEMORY;
  if (!status && !(v[2] = hia_value_part(v[0], 0))) status = HIA_MEMORY;
  if (!status && !(v[3] = hia_value_part(v[1], 1))) status = HIA_MEMORY;
  if (!status) status = hia_value_data(engine, tree, 2, NULL, 0, &v[4], NULL);
  if (!status && !hia_value_format(tuple, NULL, 0)) status = HIA_MEMORY;
  if (!status) status = hia_value_to_nodes(v[0], &nodes, NULL);
  if (!status) status = hia_data_from_nodes(hia_engine_allocator(engine), nodes, &v[5], NULL);
  if (!status)
    status = hia_value_array(engine, hia_type_info_field(rose, 0, 1), NULL, 0, &v[6], NULL);
  hia_value *copy = status ? NULL : hia_value_copy(tuple);
  if (!status && !copy) status = HIA_MEMORY;
  hia_value_free(copy);
  if (!status) status = hia_value_save(v[0], keep, &saved, NULL);
  if (!status) {
    hia_value_free(v[6]);
    status =
        hia_data_load(hia_engine_allocator(engine), tree, "a", saved.data, saved.len, &v[6], NULL);
  }
  if (!status && !(words = hia_vocab_new(allocator))) status = HIA_MEMORY;
  hia_bracket_options brackets = HIA_BRACKET_OPTIONS_INIT;
  brackets.words = words, brackets.add_words = true;
  if (!status)
    status = hia_data_read_brackets(hia_engine_allocator(engine), tree, "a", "(3 (2 It) (4 works))",
                                    20, &brackets, &v[7], NULL);
  hia_function *instance;
  if (!status) status = hia_function_instance(any, &tuple, 1, &instance, NULL);
  for (int i = 0; i < 8; i++) hia_value_free(v[i]);
  hia_value_free(tuple);
  hia_value_nodes_free(nodes);
  hia_vocab_free(words);
  hia_module_free(module);
  hia_engine_free(engine);
  return status;
}

Test(engine_values, each_allocation_fails_once) {
  cr_expect_gt(fail_each_allocation(use_everything), 50);
}

/* Sizes that fields declare, wherever a host makes data. */
Test(engine_values, fields_have_their_sizes) {
  static const char text[] = "type T = Leaf(v: f32[3], n: i64) | Many(a: [(f32[2], i64)])\n"
                             "fn main(t: T) = match t { Leaf(v, n) => sum(v), Many(a) => 0 }\n";
  static const char other_text[] = "type T = Leaf(v: f32[?], n: i64) | Many(a: [(f32[2], i64)])\n"
                                   "fn make(n: i64) = Leaf(zeros(n), n)\n";
  hia_engine *engine;
  hia_module *module, *other;
  hia_function *f, *make;
  hia_value *v = NULL, *x = NULL, *result = NULL;
  hia_error *error = NULL;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "t", text, strlen(text), &module, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "o", other_text, strlen(other_text), &other, NULL),
               HIA_OK);
  cr_assert_eq(hia_module_function(module, "main", &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(other, "make", &make, NULL), HIA_OK);
  const hia_type_info *type = hia_module_type(module, "T");
  for (int64_t n = 2; n <= 3; n++) {
    hia_value *size = hia_value_i64(engine, n);
    cr_assert_eq(hia_run(make, &size, 1, NULL, &x, NULL), HIA_OK);
    /* Of another type, whose field has no size. */
    cr_assert_eq(hia_run(f, &x, 1, NULL, &result, &error), HIA_ARGUMENT);
    hia_error_free(error);
    hia_value *tensor = hia_value_part(x, 0), *fields[2] = {tensor, size};
    hia_status wanted = n == 3 ? HIA_OK : HIA_SHAPE;
    cr_assert_eq(hia_value_data(engine, type, 0, fields, 2, &v, &error), wanted);
    if (error)
      cr_assert(strstr(hia_error_text(error), "field v of Leaf is f32[3], the value is f32[2]"),
                "%s", hia_error_text(error));
    hia_error_free(error);
    hia_value_free(v);
    const hia_type_info *types[2] = {hia_type_info_field(type, 0, 0), type};
    const hia_value_node nodes[2] = {{0, 0, (uint64_t)n}, {1, 0, 0}};
    static const int64_t three[] = {3, 0, 0, 0, 0, 5}, two[] = {2, 0, 0, 0, 5};
    hia_value_nodes table = HIA_VALUE_NODES_INIT;
    table.types = types, table.n_types = 2, table.nodes = nodes, table.n_nodes = 2;
    table.words = n == 3 ? three : two;
    table.n_words = (size_t)n + 3;
    cr_assert_eq(hia_data_from_nodes(hia_engine_allocator(engine), &table, &v, &error), wanted,
                 "%s", error ? hia_error_text(error) : "");
    hia_error_free(error);
    hia_value_free(v);
    hia_value_free(tensor);
    hia_value_free(size);
    hia_value_free(x);
  }
  static const char *const texts[] = {"Leaf([1, 2, 3], 1)", "Leaf([1, 2], 1)",
                                      "Many([([1, 2], 3)])", "Many([([1, 2], 3), ([1], 3)])"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    cr_assert_eq(hia_value_parse(f, 0, texts[i], &v, &error), i % 2 ? HIA_ARGUMENT : HIA_OK, "%s",
                 texts[i]);
    hia_error_free(error);
    hia_value_free(v);
  }
  hia_module_free(other);
  hia_module_free(module);
  hia_engine_free(engine);
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
