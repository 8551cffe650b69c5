/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A program with data types, and values of them, for tests of the public API. */
#ifndef HELPER_ENGINE_VALUES_H
#define HELPER_ENGINE_VALUES_H

#include <hiaton/hiaton.h>

#include <criterion/criterion.h>

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

static inline void open_world(world *w, const hia_allocator *allocator) {
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

static inline void close_world(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static inline hia_value *parse(world *w, const char *text) {
  hia_value *value;
  hia_status status = hia_value_parse(w->any, 0, text, &value, &w->error);
  cr_assert_eq(status, HIA_OK, "%s: %s", text, hia_error_text(w->error));
  return value;
}

#define expect_text(value, text) expect_text_at(value, text, __LINE__)
static inline void expect_text_at(const hia_value *value, const char *text, int line) {
  char buf[512];
  hia_value_format(value, buf, sizeof buf);
  cr_expect_str_eq(buf, text, "line %d: %s", line, buf);
}

/* Checks an error and frees it. */
#define refused(w, status, words) refused_at(w, status, words, __LINE__)
static inline void refused_at(world *w, hia_status status, const char *words, int line) {
  cr_expect_eq(status, HIA_ARGUMENT, "line %d: %s", line, hia_status_word(status));
  cr_assert_not_null(w->error, "line %d", line);
  cr_expect(strstr(hia_error_text(w->error), words), "line %d: no '%s' in %s", line, words,
            hia_error_text(w->error));
  hia_error_free(w->error);
  w->error = NULL;
}

static inline hia_status from_nodes(world *w, const hia_type_info *const *types, size_t n_types,
                                    const hia_value_node *nodes, size_t n_nodes,
                                    const int64_t *words, size_t n_words, hia_value **value) {
  hia_value_nodes table = HIA_VALUE_NODES_INIT;
  table.types = types, table.n_types = n_types;
  table.nodes = nodes, table.n_nodes = n_nodes;
  table.words = words, table.n_words = n_words;
  return hia_data_from_nodes(hia_engine_allocator(w->engine), &table, value, &w->error);
}

#endif
