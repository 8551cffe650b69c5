/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values without an engine (hiaton/data.h): read, loaded, made of nodes, made in place, viewed.
 * tests/cli/build.sh does the same with the types and the header of an object. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char program[] = "type Tree = Leaf(x: i64, ok: bool) | Node(l: Tree, r: Tree) | Nil\n"
                              "type Other = Leaf2(x: i64)\n"
                              "fn id(t: Tree) -> Tree = t\n"
                              "fn pairs(ps: [(i32, Tree)]) -> i32 = 1\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  const hia_type_info *tree, *other, *pairs;
} world;

static void open_world(world *w) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "t", program, strlen(program), &w->module, NULL),
               HIA_OK);
  hia_function *f;
  cr_assert_eq(hia_module_function(w->module, "pairs", &f, NULL), HIA_OK);
  w->pairs = hia_function_param_type(f, 0);
  w->tree = hia_module_type(w->module, "Tree");
  w->other = hia_module_type(w->module, "Other");
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

/* What the header of an object has for Tree. */
typedef struct tree {
  uint64_t word;
} tree;
static tree leaf(hia_maker *maker, int64_t x, bool ok) {
  char *object = hia_maker_object(maker, 0, 24);
  memcpy(object + 8, &x, sizeof x);
  memcpy(object + 16, &ok, sizeof ok);
  return (tree){(uintptr_t)object};
}
static tree node(hia_maker *maker, tree l, tree r) {
  char *object = hia_maker_object(maker, 1, 24);
  memcpy(object + 8, &l, sizeof l);
  memcpy(object + 16, &r, sizeof r);
  return (tree){(uintptr_t)object};
}

/* Makes the value and uses it in every way. */
static hia_status use(const hia_allocator *allocator, const world *w) {
  hia_maker *maker = hia_maker_new(allocator);
  if (!maker) return HIA_MEMORY;
  hia_value *v[6] = {NULL};
  hia_value_nodes *nodes = NULL;
  test_text saved = {0};
  tree t = node(maker, leaf(maker, -7, true), (tree){2});
  for (int i = 0; i < 40; i++) t = node(maker, t, leaf(maker, i, false));
  hia_status status = hia_maker_value(maker, w->tree, t.word, &v[0], NULL);
  hia_maker_free(maker);
  if (!status) status = hia_value_to_nodes(v[0], &nodes, NULL);
  if (!status) status = hia_data_from_nodes(allocator, nodes, &v[1], NULL);
  if (!status) status = hia_value_save(v[1], test_text_take, &saved, NULL);
  if (!status) status = hia_data_load(allocator, w->tree, "a", saved.data, saved.len, &v[2], NULL);
  if (!status) {
    char buf[4096], again[4096];
    if (!hia_value_format(v[2], buf, sizeof buf)) status = HIA_MEMORY;
    if (!status) status = hia_data_read(allocator, w->tree, NULL, buf, strlen(buf), &v[3], NULL);
    if (!status && !hia_value_format(v[3], again, sizeof again)) status = HIA_MEMORY;
    if (!status) cr_assert_str_eq(again, buf);
  }
  test_text_free(&saved);
  hia_value_nodes_free(nodes);
  for (int i = 0; i < 6; i++) hia_value_free(v[i]);
  return status;
}

static world *the_world;
static hia_status use_in_world(const hia_allocator *allocator) { return use(allocator, the_world); }

Test(api_data, each_allocation_fails_once) {
  world w;
  open_world(&w);
  the_world = &w;
  cr_assert_eq(use(NULL, &w), HIA_OK);
  cr_assert_gt(fail_each_allocation(use_in_world), 15);
  close_world(&w);
}

Test(api_data, views_and_makers) {
  world w;
  open_world(&w);
  hia_error *error = NULL;
  hia_value *t, *u, *wrong;
  hia_maker *maker = hia_maker_new(NULL);
  tree one = leaf(maker, 1, true);
  cr_assert_eq(hia_maker_value(maker, w.tree, node(maker, one, one).word, &t, &error), HIA_OK);
  expect_text(t, "Node(Leaf(1, true), Leaf(1, true))");
  /* The maker goes on; a view of another value becomes a part. */
  hia_value *read;
  cr_assert_eq(hia_data_read(NULL, w.tree, NULL, "Leaf(5, false)", 14, &read, NULL), HIA_OK);
  hia_maker_hold(maker, read);
  tree part = {hia_value_view(read, w.tree)};
  cr_assert_eq(hia_maker_value(maker, w.tree, node(maker, part, one).word, &u, &error), HIA_OK);
  hia_maker_free(maker);
  hia_value_free(read);
  hia_value_free(t);
  expect_text(u, "Node(Leaf(5, false), Leaf(1, true))");

  uint64_t view = hia_value_view(u, w.tree), field;
  int64_t x;
  cr_assert_eq(hia_view_ctor(view), 1);
  hia_view_read(view, 8, &field, sizeof field);
  cr_assert_eq(hia_view_ctor(field), 0);
  hia_view_read(field, 8, &x, sizeof x);
  cr_assert_eq(x, 5);
  cr_assert_eq(hia_view_ctor(2), 2);
  cr_assert_eq(hia_value_view(u, w.other), HIA_NO_VIEW);
  cr_assert_eq(hia_value_view(NULL, w.tree), HIA_NO_VIEW);
  cr_assert_eq(hia_value_view(u, NULL), HIA_NO_VIEW);
  hia_value_free(u);

  /* An array: elements of (i32, Tree) are packed as a reference and an i32. */
  cr_assert_eq(hia_data_read(NULL, w.pairs, NULL, "[(3, Nil), (4, Leaf(9, true))]", 30, &t, &error),
               HIA_OK);
  hia_array_ref array = {hia_value_view(t, w.pairs)};
  cr_assert_eq(hia_array_len(array), 2);
  const char *elements = hia_array_elements(array);
  int32_t n;
  memcpy(&n, elements + 8, sizeof n);
  cr_assert_eq(n, 3);
  memcpy(&field, elements + 16, sizeof field);
  cr_assert_eq(hia_view_ctor(field), 0);
  hia_value_free(t);
  cr_assert_eq(hia_data_read(NULL, w.pairs, NULL, "[]", 2, &t, NULL), HIA_OK);
  array.word = hia_value_view(t, w.pairs);
  cr_assert_eq(hia_array_len(array), 0);
  hia_value_free(t);

  maker = hia_maker_new(NULL);
  const hia_type_info *scalar = hia_type_info_field(w.tree, 0, 0);
  cr_assert_eq(hia_maker_value(maker, scalar, 0, &wrong, &error), HIA_ARGUMENT);
  cr_assert_null(wrong);
  hia_error_free(error);
  cr_assert_eq(hia_maker_value(maker, w.tree, HIA_NO_VIEW, &wrong, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_maker_value(NULL, w.tree, 2, &wrong, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_maker_value(maker, NULL, 2, &wrong, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_maker_value(maker, w.tree, 2, NULL, NULL), HIA_ARGUMENT);
  cr_assert_null(hia_maker_object(NULL, 0, 16));
  hia_maker_hold(maker, NULL);
  hia_maker_hold(NULL, NULL);
  cr_assert_eq(hia_maker_value(maker, w.tree, 2, &t, NULL), HIA_OK);
  expect_text(t, "Nil");
  hia_value_free(t);
  hia_maker_free(maker);
  hia_maker_free(NULL);
  close_world(&w);
}

/* What a maker makes without memory is written somewhere, and never becomes a value. */
Test(api_data, a_maker_without_memory) {
  world w;
  open_world(&w);
  test_heap heap;
  test_heap_init(&heap, 3);
  hia_maker *maker = hia_maker_new(&heap.allocator);
  hia_value *value;
  hia_error *error;
  tree t = {2};
  for (int i = 0; i < 10000; i++) t = node(maker, t, leaf(maker, i, true));
  cr_assert_eq(hia_maker_value(maker, w.tree, t.word, &value, &error), HIA_MEMORY);
  cr_assert_null(value);
  hia_error_free(error);
  hia_maker_free(maker);
  cr_assert_eq(heap.blocks, 0);
  close_world(&w);
}

#define REFUSED(status, words, ...)                                                                \
  do {                                                                                             \
    error = NULL;                                                                                  \
    cr_assert_eq(__VA_ARGS__, status);                                                             \
    cr_assert(strstr(hia_error_text(error), words), "no '%s' in %s", words,                        \
              hia_error_text(error));                                                              \
    hia_error_free(error);                                                                         \
  } while (0)

Test(api_data, wrong_input) {
  world w;
  open_world(&w);
  hia_error *error;
  hia_value *v;
  REFUSED(HIA_ARGUMENT, "no type", hia_data_read(NULL, NULL, NULL, "1", 1, &v, &error));
  REFUSED(HIA_ARGUMENT, "no bytes", hia_data_read(NULL, w.tree, NULL, NULL, 1, &v, &error));
  REFUSED(HIA_ARGUMENT, "no place", hia_data_read(NULL, w.tree, NULL, "Nil", 3, NULL, &error));
  REFUSED(HIA_ARGUMENT, "value:1:1", hia_data_read(NULL, w.tree, NULL, "3", 1, &v, &error));
  REFUSED(HIA_ARGUMENT, "a.txt:2:8",
          hia_data_read(NULL, w.tree, "a.txt", "\n  Leaf(x, true)", 16, &v, &error));
  REFUSED(HIA_ARGUMENT, "no literal",
          hia_data_read(NULL, w.tree, NULL, "Leaf(1 + 1, true)", 17, &v, &error));
  REFUSED(HIA_ARGUMENT, "", hia_data_read(NULL, w.tree, NULL, NULL, 0, &v, &error));
  REFUSED(HIA_ARGUMENT, "no nodes", hia_data_from_nodes(NULL, NULL, &v, &error));
  REFUSED(HIA_ARGUMENT, "no type", hia_data_load(NULL, NULL, "a", "", 0, &v, &error));
  REFUSED(HIA_ARGUMENT, "a:", hia_data_load(NULL, w.tree, "a", "x", 1, &v, &error));
  REFUSED(HIA_ARGUMENT, "no path", hia_data_load_file(NULL, w.tree, NULL, &v, &error));
  REFUSED(HIA_IO, "/nonexistent", hia_data_load_file(NULL, w.tree, "/nonexistent", &v, &error));
  REFUSED(HIA_ARGUMENT, "no type",
          hia_data_read_brackets(NULL, NULL, "a", "", 0, NULL, &v, &error));
  REFUSED(HIA_ARGUMENT, "a:1:1",
          hia_data_read_brackets(NULL, w.tree, "a", "(", 1, NULL, &v, &error));
  cr_assert_null(v);
  close_world(&w);
}
