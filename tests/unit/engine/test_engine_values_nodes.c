/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays as tables of nodes, through the public API: there and back, deep
 * ones, and tables that are wrong. */
#include "tests/unit/helpers/engine_values.h"
#include "tests/unit/helpers/random.h"

#include <stdlib.h>

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
