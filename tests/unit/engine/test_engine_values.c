/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays through the public API: made, taken apart, as text, in brackets
 * and in files. As tables of nodes: test_engine_values_nodes.c; in runs: test_engine_values_runs.c.
 */
#include "tests/unit/helpers/engine_values.h"
#include "tests/unit/helpers/memory.h"

#include <stdlib.h>
#include <unistd.h>

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

/* ---- sizes ---- */

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
