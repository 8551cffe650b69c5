/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tables of types that values hold, comparing types of different tables, and objects that hold
 * others. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/value.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdio.h>

/* ---- comparing ---- */

static bool are_same(const value_world *a, hia_type type_a, const value_world *b, hia_type type_b) {
  bool is_same, reversed;
  hia_type_table from = hiaG_type_table(&a->types), to = hiaG_type_table(&b->types);
  cr_assert_eq(hiaR_types_compare(&from, type_a, &to, type_b, &hiaR_malloc, &is_same), HIA_OK);
  cr_assert_eq(hiaR_types_compare(&to, type_b, &from, type_a, &hiaR_malloc, &reversed), HIA_OK);
  cr_assert_eq(is_same, reversed);
  return is_same;
}

/* Defines `Pair` and `Chain`, which refer to each other, with names that the test chooses. */
static hia_type define(value_world *w, const char *type, const char *ctor, const char *field,
                       hia_type scalar) {
  hia_type pair = hiaG_data(&w->types, type), chain = hiaG_data(&w->types, "Chain");
  const hia_type tuple[2] = {scalar, hiaG_array(&w->types, pair)};
  const char *const names[2] = {field, "rest"};
  const hia_type types[2] = {hiaG_tuple(&w->types, tuple, 2), chain};
  const hia_ctor_def ctors[2] = {{ctor, names, types, 2}, {"None", NULL, NULL, 0}};
  hiaG_data_define(&w->types, pair, ctors, 2);
  const char *const link[1] = {"link"};
  const hia_ctor_def chain_ctors[1] = {{"Link", link, &pair, 1}};
  hiaG_data_define(&w->types, chain, chain_ctors, 1);
  return pair;
}

Test(value_types, equal_by_structure) {
  value_world a, b;
  value_world_init(&a);
  value_world_init(&b);
  hia_type first = HIA_NONE, second = HIA_NONE;
  if (HIA_TRY(&a.comp)) {
    const hia_type extra[2] = {HIA_I64, HIA_I64};
    hiaG_tuple(&a.types, extra, 2); /* so that numbers differ */
    hiaG_array(&a.types, a.tree);
    first = define(&a, "Pair", "Both", "x", HIA_I32);
  }
  if (HIA_TRY(&b.comp)) second = define(&b, "Pair", "Both", "x", HIA_I32);
  cr_assert_neq(first, second);
  cr_expect(are_same(&a, first, &b, second));
  cr_expect(are_same(&a, a.list, &b, b.list));
  cr_expect(are_same(&a, a.many, &b, b.many));
  cr_expect_not(are_same(&a, a.list, &b, b.tree));
  cr_expect_not(are_same(&a, first, &b, b.tree));
  cr_expect_not(are_same(&a, first, &b, HIA_I32));
  value_world_free(&a);
  value_world_free(&b);
}

Test(value_types, differ_by_any_name_or_type) {
  static const struct {
    const char *type, *ctor, *field;
    hia_type scalar;
  } others[] = {{"Pear", "Both", "x", HIA_I32},
                {"Pair", "Bath", "x", HIA_I32},
                {"Pair", "Both", "y", HIA_I32},
                {"Pair", "Both", "x", HIA_F32}};
  for (size_t i = 0; i < HIA_LEN(others); i++) {
    value_world a, b;
    value_world_init(&a);
    value_world_init(&b);
    hia_type first = HIA_NONE, second = HIA_NONE;
    if (HIA_TRY(&a.comp)) first = define(&a, "Pair", "Both", "x", HIA_I32);
    if (HIA_TRY(&b.comp))
      second = define(&b, others[i].type, others[i].ctor, others[i].field, others[i].scalar);
    cr_expect_not(are_same(&a, first, &b, second), "case %zu", i);
    value_world_free(&a);
    value_world_free(&b);
  }
}

/* More types than fit into the memory on the stack. */
Test(value_types, large_tables_need_memory) {
  value_world a, b;
  value_world_init(&a);
  value_world_init(&b);
  for (int k = 0; k < 2; k++) {
    value_world *w = k ? &b : &a;
    hia_type type = w->list;
    if (HIA_TRY(&w->comp))
      for (int i = 0; i < 100; i++) type = hiaG_array(&w->types, type);
    w->list = type;
  }
  cr_expect(are_same(&a, a.list, &b, b.list));
  test_heap heap;
  test_heap_init(&heap, 0);
  bool is_same = true;
  hia_type_table from = hiaG_type_table(&a.types), to = hiaG_type_table(&b.types);
  cr_expect_eq(hiaR_types_compare(&from, a.list, &to, b.list, &heap.allocator, &is_same),
               HIA_MEMORY);
  cr_expect_not(is_same);
  value_world_free(&a);
  value_world_free(&b);
}

/* ---- tables ---- */

Test(value_types, a_copy_keeps_numbers_and_holds_the_older_one) {
  value_world w;
  value_world_init(&w);
  hia_type_table table = hiaG_type_table(&w.types);
  hia_value_types *old = hiaR_value_types_new(&hiaR_malloc, &table, NULL);
  hia_type tuple = HIA_NONE;
  if (HIA_TRY(&w.comp)) {
    const hia_type inner[2] = {HIA_F64, HIA_BOOL};
    const hia_type parts[3] = {HIA_I32, hiaG_tuple(&w.types, inner, 2), HIA_I64};
    tuple = hiaG_tuple(&w.types, parts, 3);
  }
  table = hiaG_type_table(&w.types);
  hia_value_types *new = hiaR_value_types_new(&hiaR_malloc, &table, old);
  hiaR_value_types_release(old);
  const hia_type_info *info = hiaR_type_info(new, tuple);
  cr_expect_eq(info->n_words, 4);
  cr_expect_eq(info->n_scalars, 4);
  cr_expect_eq(info->scalars[1], HIA_F64);
  cr_expect_eq(info->scalars[3], HIA_I64);
  cr_expect_not(info->has_references);
  cr_expect(hiaR_type_info(new, w.list)->has_references);
  cr_expect_eq(hiaR_type_info(new, w.list)->n_scalars, 0);
  /* The old table is there still: a type of it is that of the new one at once. */
  cr_expect(hiaR_is_same_type(hiaR_type_info(old, w.tree), hiaR_type_info(new, w.tree)));
  cr_expect_not(hiaR_is_same_type(hiaR_type_info(old, w.tree), hiaR_type_info(new, w.list)));
  /* What has not grown is there once. */
  cr_expect_eq(new->table.ctors, old->table.ctors);
  cr_expect_eq(new->table.names, old->table.names);
  cr_expect_str_eq(new->table.names + hiaR_type_entry(&new->table, w.tree)->name, "Tree");
  hiaR_value_types_release(new);
  value_world_free(&w);
}

/* ---- objects that hold others ---- */

Test(value_types, chains_of_objects_are_freed_without_recursion) {
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_objects *last = hiaR_objects_new(&heap.allocator, 0);
  for (int i = 0; i < 200000; i++) {
    hia_objects *next = hiaR_objects_new(&heap.allocator, 0);
    cr_assert(hiaR_objects_depend(next, last));
    cr_assert(hiaR_objects_depend(next, last)); /* once is enough */
    hiaR_objects_release(last);
    last = next;
  }
  hiaR_objects_release(last);
  cr_expect_eq(heap.blocks, 0);
}

/* ---- the API ---- */

static const char program[] = "type Tree = Leaf(x: i32) | Node(l: Tree, r: Tree) | Nil\n"
                              "fn any(x) = 1\n"
                              "fn second(p) = p.1\n";
static const char other_program[] = "type Tree = Leaf(x: i32) | Node(l: Tree, q: Tree) | Nil\n"
                                    "fn any(x) = 1\n";

static void open(hia_engine *engine, const char *text, hia_module **module, hia_function **any) {
  cr_assert_eq(hia_module_load_text(engine, "t", text, strlen(text), module, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(*module, "any", any, NULL), HIA_OK);
}

static void expect_text(const hia_value *value, const char *text, const char *type) {
  char buf[256];
  hia_value_format(value, buf, sizeof buf);
  cr_expect_str_eq(buf, text);
  hia_value_format_type(value, buf, sizeof buf);
  cr_expect_str_eq(buf, type);
}

Test(value_types, values_outlive_their_program) {
  hia_engine *engine;
  hia_module *module;
  hia_function *any;
  hia_value *tree, *array, *end, *parts[3], *tuple;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  open(engine, program, &module, &any);
  cr_assert_eq(hia_value_parse(any, 0, "Node(Leaf(1 + 2), Node(Nil, Leaf(-4)))", &tree, NULL),
               HIA_OK);
  cr_assert_eq(hia_value_parse(any, 0, "[(1, Leaf(2)), (3, Nil)]", &array, NULL), HIA_OK);
  cr_assert_eq(hia_value_parse(any, 0, "Nil", &end, NULL), HIA_OK);
  hia_module_free(module);
  parts[0] = tree, parts[1] = array, parts[2] = end;
  tuple = hia_value_tuple(engine, parts, 3);
  hia_value_free(array);
  hia_value_free(tree);
  hia_value_free(end);
  expect_text(tuple, "(Node(Leaf(3), Node(Nil, Leaf(-4))), [(1, Leaf(2)), (3, Nil)], Nil)",
              "(Tree, [(i32, Tree)], Tree)");
  tree = hia_value_part(tuple, 0);
  hia_value_free(tuple);
  expect_text(tree, "Node(Leaf(3), Node(Nil, Leaf(-4)))", "Tree");
  hia_value_free(tree);
  hia_engine_free(engine);
}

Test(value_types, types_of_one_name_do_not_mix) {
  hia_engine *engine;
  hia_module *module, *other;
  hia_function *any, *any_other;
  hia_value *both[2];
  hia_error *error;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  open(engine, program, &module, &any);
  open(engine, other_program, &other, &any_other);
  cr_assert_eq(hia_value_parse(any, 0, "Leaf(1)", &both[0], NULL), HIA_OK);
  cr_assert_eq(hia_value_parse(any_other, 0, "Leaf(1)", &both[1], NULL), HIA_OK);
  cr_expect_null(hia_value_tuple(engine, both, 2));
  hia_function *instance;
  cr_expect_eq(hia_function_instance(any, &both[1], 1, &instance, &error), HIA_ARGUMENT);
  cr_expect(strstr(hia_error_text(error), "of type Tree, which the program does not have"), "%s",
            hia_error_text(error));
  hia_error_free(error);
  cr_expect_eq(hia_function_instance(any, &both[0], 1, &instance, NULL), HIA_OK);
  cr_expect_str_eq(hia_function_name(instance), "any(Tree)");
  for (int i = 0; i < 2; i++) hia_value_free(both[i]);
  hia_module_free(module);
  hia_module_free(other);
  hia_engine_free(engine);
}

Test(value_types, equal_types_of_two_programs_are_one) {
  hia_engine *engine;
  hia_module *module, *other;
  hia_function *any, *any_other, *one, *two;
  hia_value *value;
  cr_assert_eq(hia_engine_new(NULL, &engine, NULL), HIA_OK);
  open(engine, program, &module, &any);
  open(engine, program, &other, &any_other);
  cr_assert_eq(hia_value_parse(any, 0, "[(1, Leaf(1))]", &value, NULL), HIA_OK);
  cr_expect_eq(hia_function_instance(any_other, &value, 1, &one, NULL), HIA_OK);
  cr_expect_eq(hia_function_instance(any_other, &value, 1, &two, NULL), HIA_OK);
  cr_expect_eq(one, two);
  cr_expect_str_eq(hia_function_name(one), "any([(i32, Tree)])");
  cr_expect(
      hia_type_info_is_same(hia_function_param_type(one, 0), hia_function_param_type(two, 0)));
  hia_value_free(value);
  hia_module_free(module);
  hia_module_free(other);
  hia_engine_free(engine);
}

/* The engine keeps types of tuples that were made: more of them than it has room for. */
Test(value_types, tuples_of_many_types) {
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &heap.allocator;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  hia_value *scalars[3] = {hia_value_bool(engine, true), hia_value_i32(engine, -1),
                           hia_value_f64(engine, 0.5)};
  static const char *const types[3] = {"bool", "i32", "f64"}, *const texts[3] = {"true", "-1",
                                                                                 "0.5"};
  for (unsigned k = 0; k < 2 * 81; k++) {
    unsigned i[4] = {k % 3, k / 3 % 3, k / 9 % 3, k / 27 % 3};
    hia_value *parts[4];
    for (int j = 0; j < 4; j++) parts[j] = scalars[i[j]];
    hia_value *tuple = hia_value_tuple(engine, parts, 4), *same = hia_value_tuple(engine, parts, 4);
    char type[64], text[64];
    snprintf(type, sizeof type, "(%s, %s, %s, %s)", types[i[0]], types[i[1]], types[i[2]],
             types[i[3]]);
    snprintf(text, sizeof text, "(%s, %s, %s, %s)", texts[i[0]], texts[i[1]], texts[i[2]],
             texts[i[3]]);
    expect_text(tuple, text, type);
    cr_expect_eq(hia_value_type(tuple), hia_value_type(same));
    hia_value_free(tuple);
    hia_value_free(same);
  }
  for (int j = 0; j < 3; j++) hia_value_free(scalars[j]);
  hia_engine_free(engine);
  cr_expect_eq(heap.blocks, 0);
}
