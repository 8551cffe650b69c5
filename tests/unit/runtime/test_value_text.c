/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/value: printing, reading, types by their look. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_WORDS = 4096 };

static bool take_nothing(void *user, const char *bytes, size_t n) {
  (void)bytes;
  *(size_t *)user += n;
  return true;
}

/* ---- text ---- */

/* `type` as text: the name of a type of the world, or one made of them. */
static hia_type type_of(value_world *w, const char *type) {
  struct {
    const char *name;
    hia_type type;
  } known[] = {{"bool", HIA_BOOL}, {"i32", HIA_I32},  {"i64", HIA_I64},  {"f32", HIA_F32},
               {"f64", HIA_F64},   {"Tree", w->tree}, {"List", w->list}, {"Many", w->many}};
  for (size_t i = 0; i < HIA_LEN(known); i++)
    if (strcmp(type, known[i].name) == 0) return known[i].type;
  hia_type pair = hiaG_tuple(&w->types, (hia_type[]){HIA_I64, HIA_F64}, 2);
  hia_type mixed = hiaG_tuple(&w->types, (hia_type[]){pair, w->tree}, 2);
  hia_type f32s = hiaG_tensor(&w->types, HIA_F32, 1), cube = hiaG_tensor(&w->types, HIA_I64, 3);
  hia_type tensors = hiaG_tuple(&w->types, (hia_type[]){f32s, cube}, 2);
  hia_type others[] = {pair,
                       mixed,
                       hiaG_array(&w->types, w->tree),
                       hiaG_array(&w->types, HIA_I32),
                       hiaG_array(&w->types, hiaG_array(&w->types, pair)),
                       hiaG_array(&w->types, mixed),
                       f32s,
                       hiaG_tensor(&w->types, HIA_BOOL, 2),
                       cube,
                       hiaG_array(&w->types, tensors)};
  w->table = hiaG_type_table(&w->types);
  for (size_t i = 0; i < HIA_LEN(others); i++) {
    char name[64];
    hiaR_type_text(&w->table, others[i], name, sizeof name);
    if (strcmp(name, type) == 0) return others[i];
  }
  cr_assert_fail("no type %s", type);
  return HIA_NONE;
}

static hia_status read_text(value_world *w, hia_type type, const char *text, size_t len,
                            hia_objects *objects, hia_word *words, hia_value_error *error) {
  /* In a block of its own size, so that AddressSanitizer sees reads behind the end. */
  char *exact = malloc(len ? len : 1);
  memcpy(exact, text, len);
  hia_reading reading = {.allocator = &hiaR_malloc, .types = &w->table, .objects = objects};
  hia_status status = hiaR_value_read(&reading, exact, len, type, words, error);
  free(exact);
  return status;
}

static void accept_text(const char *type_name, const char *text, const char *expected) {
  value_world w;
  value_world_init(&w);
  hia_type type = type_of(&w, type_name);
  hia_objects *objects = new_objects();
  hia_word words[16];
  hia_value_error error;
  hia_status status = read_text(&w, type, text, strlen(text), objects, words, &error);
  if (status == HIA_OK) {
    char *printed = value_text(&w, type, words);
    cr_expect_str_eq(printed, expected, "%s: %s is %s", type_name, text, printed);
    free(printed);
  } else {
    cr_expect_fail("%s: %s: %s", type_name, text, error.message);
  }
  hiaR_objects_release(objects);
  value_world_free(&w);
}

static void refuse_text(const char *type_name, const char *text, const char *code, uint32_t line,
                        uint32_t col, const char *message) {
  value_world w;
  value_world_init(&w);
  hia_type type = type_of(&w, type_name);
  hia_objects *objects = new_objects();
  hia_word words[16];
  hia_value_error error;
  hia_status status = read_text(&w, type, text, strlen(text), objects, words, &error);
  cr_expect_eq(status, HIA_ARGUMENT, "%s: %s is accepted", type_name, text);
  if (status == HIA_ARGUMENT) {
    cr_expect_str_eq(error.code, code, "%s: %s: %s %s", type_name, text, error.code, error.message);
    cr_expect(error.line == line && error.col == col, "%s: %s: %u:%u", type_name, text, error.line,
              error.col);
    cr_expect(strstr(error.message, message) != NULL, "%s: %s: %s", type_name, text, error.message);
    cr_expect_leq(error.at + error.len, strlen(text));
  }
  hiaR_objects_release(objects);
  value_world_free(&w);
}

Test(value_text, scalars) {
  accept_text("i32", "42", "42");
  accept_text("i32", " # one\n -2147483648\t# two", "-2147483648");
  accept_text("i32", "1_000_0", "10000");
  accept_text("i32", "0x7fff_FFFF", "2147483647");
  accept_text("i32", "0x_1", "1");
  accept_text("i32", "7i32", "7");
  accept_text("i64", "- 9223372036854775808", "-9223372036854775808");
  accept_text("i64", "0xffi64", "255");
  accept_text("i64", "1234567890123", "1234567890123");
  accept_text("f64", "3", "3.0");
  accept_text("f64", "-0", "-0.0");
  accept_text("f64", "1e-400", "0.0");
  accept_text("f64", "1_0.25e+2", "1025.0");
  accept_text("f64", "3f64", "3.0");
  accept_text("f64", "0x10", "16.0");
  accept_text("f64", "0xffffffffffffffffff", "4.722366482869645e+21");
  accept_text("f32", "1.00000017881393432617187499", "1.0000001"); /* not rounded twice */
  accept_text("f32", "16777217", "16777216.0");
  accept_text("f32", "-inf", "-inf");
  accept_text("f64", "nan", "nan");
  accept_text("f64", "0.1f64", "0.1");
  accept_text("bool", "true", "true");
  accept_text("bool", "false", "false");
}

Test(value_text, structures) {
  accept_text("(i64, f64)", "(1,-2)", "(1, -2.0)");
  accept_text("Tree", "Nil", "Nil");
  accept_text("Tree", "Node(Leaf(1,2),Nil,-3)", "Node(Leaf(1, 2), Nil, -3)");
  accept_text("Tree", "( ( Node ( Leaf(1, # left\n 2), (Nil), -3) ) )",
              "Node(Leaf(1, 2), Nil, -3)");
  accept_text("[Tree]", "[Nil, Leaf(1, 2)]", "[Nil, Leaf(1, 2)]");
  accept_text("[Tree]", "[ ]", "[]");
  accept_text("[i32]", "([1, 0x2, -3])", "[1, 2, -3]");
  accept_text("f32[?]", "[1, 2.5, -0]", "[1.0, 2.5, -0.0]");
  accept_text("f32[?]", "( [ 1 ,# one\n 2 ] )", "[1.0, 2.0]");
  accept_text("f32[?]", "[ ]", "[]");
  accept_text("bool[?, ?]", "[[true, false], [false, true]]", "[[true, false], [false, true]]");
  accept_text("bool[?, ?]", "[([true]), ([false])]", "[[true], [false]]");
  accept_text("bool[?, ?]", "[[], []]", "[[], []]");
  accept_text("bool[?, ?]", "[]", "[]");
  accept_text("i64[?, ?, ?]", "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]",
              "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]");
  accept_text("i64[?, ?, ?]", "[[[], []]]", "[[[], []]]");
  accept_text("[(f32[?], i64[?, ?, ?])]", "[([1], [[[2]]]), ([], []), ([3, 4], [[[5, 6]]])]",
              "[([1.0], [[[2]]]), ([], []), ([3.0, 4.0], [[[5, 6]]])]");
  accept_text("i64[?, ?, ?]", "full(-7, 0, 3, 0x2)", "full(0, 0, 3, 2)");
  accept_text("i64[?, ?, ?]", "[full ( 1i64, # one\n 0, 3 ), [], ([])]", "full(0, 3, 0, 3)");
  accept_text("i64[?, ?, ?]", "[[], full(1, 0, 3)]", "full(0, 2, 0, 3)");
  accept_text("i64[?, ?, ?]", "full(0, 2, 3, 0)", "[[[], [], []], [[], [], []]]");
  accept_text("i64[?, ?, ?]", "full(0, 40, 40, 0)", "full(0, 40, 40, 0)"); /* 1640 lists */
  accept_text("i64[?, ?, ?]", "full(0, 1000000000000000000, 0, 0)",
              "full(0, 1000000000000000000, 0, 0)");
  accept_text("f32[?]", "zeros(0)", "[]");
  accept_text("f32[?]", "full(nan, 0)", "[]");
  accept_text("bool[?, ?]", "(full(true, 0, 5))", "full(false, 0, 5)");
  accept_text("[(f32[?], i64[?, ?, ?])]", "[(ones(0), full(0, 1, 0, 2))]",
              "[([], full(0, 1, 0, 2))]");
  accept_text("[Tree]", "[Nil, Leaf(1, 2), Nil][1..3]", "[Leaf(1, 2), Nil]");
  accept_text("[Tree]", "[Nil] [ 0 .. 0 ]", "[]");
  accept_text("f32[?]", "[1, 2, 3, 4][1..4][0..2]", "[2.0, 3.0]");
  accept_text("bool[?, ?]", "[[true, false], [false, true]][1..2]", "[[false, true]]");
  accept_text("bool[?, ?]", "[[true, false][1..2], [true]]", "[[false], [true]]");
  accept_text("bool[?, ?]", "[[true, false]][0..0]", "full(false, 0, 2)");
  accept_text("[[(i64, f64)]]", "[[(1, 2)], [], [(3, 4.5), (5, 6)]]",
              "[[(1, 2.0)], [], [(3, 4.5), (5, 6.0)]]");
  accept_text("((i64, f64), Tree)", "((1, 2), Nil)", "((1, 2.0), Nil)");
  accept_text("((i64, f64), Tree)", "(((1, 2), (Nil)))", "((1, 2.0), Nil)");
  accept_text("[((i64, f64), Tree)]", "[((1, 2), Nil), (( (3, 4), Leaf(5, 6)))]",
              "[((1, 2.0), Nil), ((3, 4.0), Leaf(5, 6))]");
  accept_text("List", "Cons((true, 2.5), Cons((false, inf), End, [], 1), [Nil, Leaf(1, 2)], 3)",
              "Cons((true, 2.5), Cons((false, inf), End, [], 1), [Nil, Leaf(1, 2)], 3)");
  accept_text("Many", "M17", "M17");
  accept_text("Many", "M299(3)", "M299(3)");
}

Test(value_text, refused) {
  refuse_text("i32", "", "E0101", 1, 1, "expected a value, found the end");
  refuse_text("i32", "x", "E0401", 1, 1, "`x` is no literal of type i32");
  refuse_text("i32", "1 + 2", "E0401", 1, 1, "`1 + 2` is no literal of type i32");
  refuse_text("i32", "2147483648", "E0312", 1, 1, "this integer does not fit i32");
  refuse_text("i64", "9223372036854775808", "E0312", 1, 1, "this integer does not fit i64");
  refuse_text("i64", "3i32", "E0401", 1, 1, "expected a value of type i64, this is i32");
  refuse_text("i32", "2.5", "E0401", 1, 1, "expected a value of type i32, this is a float");
  refuse_text("f32", "1e39", "E0313", 1, 1, "this number is too large for f32");
  refuse_text("f64", "1e400", "E0313", 1, 1, "this number is too large for f64");
  refuse_text("bool", "1", "E0401", 1, 1, "expected a value of type bool");
  refuse_text("f32", "true", "E0401", 1, 1, "expected a value of type f32, this is bool");
  refuse_text("f64", "0xg", "E0401", 1, 1, "no literal");
  refuse_text("f64", "5.", "E0401", 1, 1, "no literal");
  refuse_text("f64", ".5", "E0401", 1, 1, "no literal");
  refuse_text("f64", "1.0_0", "E0401", 1, 1, "no literal");
  refuse_text("i32", "--1", "E0401", 1, 1, "no literal");
  refuse_text("i32", "0x_", "E0401", 1, 1, "no literal");
  refuse_text("(i64, f64)", "(1, 2, 3)", "E0401", 1, 1, "no literal of type (i64, f64)");
  refuse_text("(i64, f64)", "(1)", "E0401", 1, 1, "no literal of type (i64, f64)");
  refuse_text("(i64, f64)", "(1, 2", "E0401", 1, 1, "no literal of type (i64, f64)");
  refuse_text("(i64, f64)", "(1,)", "E0102", 1, 3, "trailing comma");
  refuse_text("Tree", "", "E0101", 1, 1, "expected a value, found the end");
  refuse_text("Tree", "3", "E0401", 1, 1, "expected a value of type Tree, this is a number");
  refuse_text("Tree", "Leave(1, 2)", "E0201", 1, 1, "unknown name 'Leave'");
  refuse_text("Tree", "Node(Nil, End, 1)", "E0401", 1, 11,
              "expected a value of type Tree, this is List");
  refuse_text("Tree", "Nil()", "E0209", 1, 1,
              "the constructor 'Nil' has no fields: it is a value and is not called");
  refuse_text("Tree", "Node(Nil,\n  Leaf, 3)", "E0203", 2, 3,
              "the constructor 'Leaf' is called with all its fields");
  refuse_text("Tree", "Leaf()", "E0203", 1, 1, "'Leaf' takes 2 arguments (word, label), not 0");
  refuse_text("Tree", "Leaf(1)", "E0203", 1, 1, "'Leaf' takes 2 arguments (word, label), not 1");
  refuse_text("Tree", "Leaf(1, 2, (3, 4), 5)", "E0203", 1, 1, "not 4");
  refuse_text("Tree", "Leaf(1, 2", "E0101", 1, 10, "expected ')', found the end");
  refuse_text("Tree", "Leaf(1, x)", "E0401", 1, 9, "`x` is no literal of type i32");
  refuse_text("Tree", "Leaf(1, 2) Nil", "E0101", 1, 12,
              "the end of the value, found the name 'Nil'");
  refuse_text("Tree", "Leaf(1, 3i64)", "E0401", 1, 9, "expected a value of type i32, this is i64");
  refuse_text("Tree", "Leaf(1, 2,)", "E0203", 1, 1, "not 3");
  refuse_text("Tree", "Leaf(1 2)", "E0401", 1, 6, "`1 2` is no literal of type i32");
  refuse_text("Tree", "@trees.ptb", "E0908", 1, 1, "from a file here");
  refuse_text("Tree", "Leaf(1, \xc3\xa4)", "E0004", 1, 9, "unexpected character");
  refuse_text("Tree", "\xc3\xa4", "E0004", 1, 1, "unexpected character '\xc3\xa4'");
  refuse_text("Tree", "Nil # \xff", "E0001", 1, 7, "not valid UTF-8: byte 0xff at offset 6");
  refuse_text("[Tree]", "[Nil,]", "E0102", 1, 5, "trailing comma");
  refuse_text("[Tree]", "[Nil", "E0101", 1, 5, "expected ']' or ',', found the end");
  refuse_text("[Tree]", "[Nil)", "E0101", 1, 5, "found ')'");
  refuse_text("[Tree]", "Nil", "E0101", 1, 1, "expected '[' and an array, found the name 'Nil'");
  refuse_text("f32[?]", "3", "E0101", 1, 1, "expected '[' and a tensor, found the number '3'");
  refuse_text("f32[?]", "[1, [2]]", "E0401", 1, 5, "`[2]` is no literal of type f32");
  refuse_text("f32[?]", "[1, true]", "E0401", 1, 5, "expected a value of type f32, this is bool");
  refuse_text("f32[?]", "[1", "E0101", 1, 3, "expected ']' or ',', found the end");
  refuse_text("f32[?]", "[1)", "E0101", 1, 3, "expected ']' or ',', found ')'");
  refuse_text("f32[?]", "[1,]", "E0102", 1, 3, "trailing comma");
  refuse_text("bool[?, ?]", "[true]", "E0101", 1, 2, "expected '[' and a list");
  refuse_text("bool[?, ?]", "[[true], []]", "E0401", 1, 10,
              "this list has 0 elements, and those before it have 1: a tensor is rectangular");
  refuse_text("i64[?, ?, ?]", "[[[1], [2]], [[3]]]", "E0401", 1, 14, "this list has 1 element,");
  refuse_text("i64[?, ?, ?]", "[[[1], [2, 3]]]", "E0401", 1, 8, "this list has 2 elements,");
  refuse_text("f32[?]", "zeros(3)", "E0401", 1, 1,
              "elements of a tensor are written out: this has 3");
  refuse_text("f32[?]", "zeros(0, 3)", "E0401", 1, 1,
              "a tensor of rank 1 is expected here, this has 2 sizes");
  refuse_text("f32[?]", "zeros(-1)", "E0101", 1, 7,
              "expected a size, an integer from 0 on, found '-'");
  refuse_text("f32[?]", "zeros(0f32)", "E0101", 1, 7, "expected a size");
  refuse_text("f32[?]", "zeros(0", "E0101", 1, 8, "expected ')' or ',', found the end");
  refuse_text("f32[?]", "zeros()", "E0101", 1, 7, "expected a size");
  refuse_text("f32[?]", "zeros", "E0101", 1, 1,
              "expected '[' and a tensor, found the name 'zeros'");
  refuse_text("f32[?]", "zeros(0) + 1", "E0101", 1, 10, "expected the end of the value, found '+'");
  refuse_text("f32[?]", "full(0)", "E0101", 1, 7, "expected ',' and a size");
  refuse_text("f32[?]", "full(x, 0)", "E0101", 1, 6, "expected a literal, found the name 'x'");
  refuse_text("f32[?]", "full(true, 0)", "E0401", 1, 6,
              "expected a value of type f32, this is bool");
  refuse_text("bool[?, ?]", "zeros(0, 3)", "E0401", 1, 1, "this is a tensor of floats");
  refuse_text("bool[?, ?]", "full(1, 0, 3)", "E0401", 1, 6,
              "expected a value of type bool, this is a number");
  refuse_text("bool[?, ?]", "full(true, 4294967296, 4294967296, 0)", "E0401", 1, 1, "too large");
  refuse_text("bool[?, ?]", "full(true, 0, 9223372036854775808)", "E0101", 1, 15,
              "expected a size");
  refuse_text("i64[?, ?, ?]", "full(1,0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)", "E0401", 1, 1,
              "at most 16 axes");
  refuse_text("i64[?, ?, ?]", "[full(1, 0, 3), full(1, 0, 2)]", "E0401", 1, 17,
              "size 2 of this is 3 in what is before it");
  refuse_text("i64[?, ?, ?]", "[full(1, 1, 0), [[1]]]", "E0401", 1, 18, "this list has 1 element,");
  refuse_text("[Tree]", "[Nil, Nil][1..3]", "E0401", 1, 1,
              "the slice 1..3 is not within 2 elements");
  refuse_text("f32[?]", "[1, 2][2..1]", "E0401", 1, 1, "the slice 2..1 is not within 2 elements");
  refuse_text("f32[?]", "[1, 2][1]", "E0101", 1, 7, "expected the end of the value, found '['");
  refuse_text("((i64, f64), Tree)", "((1, 2))", "E0101", 1, 8, "another part");
  refuse_text("Many", "M300", "E0201", 1, 1, "unknown name 'M300'");
}

Test(value_text, nul_bytes) {
  value_world w;
  value_world_init(&w);
  hia_word word;
  hia_value_error error;
  cr_assert_eq(read_text(&w, HIA_I32, "1\0", 2, NULL, &word, &error), HIA_ARGUMENT);
  cr_assert_str_eq(error.code, "E0002");
  value_world_free(&w);
}

/* ---- round trips ---- */

#ifdef HIA_STRESS
enum { N_RANDOM = 60 };
#else
enum { N_RANDOM = 400 };
#endif

Test(value_text, print_then_read) {
  random_source r = {HIA_TEST_SEED};
  for (int i = 0; i < N_RANDOM; i++) {
    value_world w;
    value_world_init(&w);
    hia_type type = random_type(&w, &r);
    uint32_t n = hiaR_type_words(&w.table, type);
    cr_assert_leq(n, MAX_WORDS);
    static hia_word words[MAX_WORDS], back[MAX_WORDS];
    for (int k = 0; k < 5; k++) {
      hia_objects *objects = new_objects();
      random_value(&w, &r, type, objects, random_below(&r, 300), false, words);
      char *text = value_text(&w, type, words);
      hia_value_error error;
      hia_status status = read_text(&w, type, text, strlen(text), objects, back, &error);
      if (status) cr_assert_fail("%d.%d: %u: %s\n%.300s", i, k, error.col, error.message, text);
      cr_assert(values_are_equal(&w, type, words, back), "%d.%d: %s", i, k, text);
      /* Any limit cuts between tokens, and what is cut is a prefix. */
      value_buffer cut = {0};
      size_t max = random_below(&r, (uint32_t)strlen(text) + 2);
      bool is_cut;
      cr_assert_eq(hiaR_value_print(&w.table, type, words, &hiaR_malloc, max,
                                    &(hia_sink){value_buffer_take, &cut}, &is_cut),
                   HIA_OK);
      cr_assert_eq(is_cut, max < strlen(text));
      if (is_cut) {
        cr_assert(cut.len >= 3 && cut.len <= max + 3 && strcmp(cut.data + cut.len - 3, "...") == 0);
        cr_assert_eq(memcmp(cut.data, text, cut.len - 3), 0);
      } else {
        cr_assert_str_eq(cut.data, text);
      }
      /* A part of a text in brackets is no value. */
      size_t len = random_below(&r, (uint32_t)strlen(text));
      bool is_in_brackets = strchr(")]", text[strlen(text) - 1]) != NULL;
      if (is_in_brackets && strcspn(text, "([") < len)
        cr_assert_eq(read_text(&w, type, text, len, objects, back, &error), HIA_ARGUMENT);
      free(cut.data);
      free(text);
      hiaR_objects_release(objects);
    }
    value_world_free(&w);
  }
}

Test(value_text, a_million_levels) {
  value_world w;
  value_world_init(&w);
  hia_objects *objects = new_objects();
  enum { LEVELS = 1000000 };
  hia_word tree = deep_tree(&w, objects, LEVELS), back;
  char *text = value_text(&w, w.tree, &tree);
  hia_value_error error;
  cr_assert_eq(read_text(&w, w.tree, text, strlen(text), objects, &back, &error), HIA_OK);
  char *again = value_text(&w, w.tree, &back);
  cr_assert(strcmp(text, again) == 0);
  cr_assert_eq(read_text(&w, w.tree, text, strlen(text) - 1, objects, &back, &error), HIA_ARGUMENT);
  cr_assert_eq(error.col, strlen(text));
  free(text);
  free(again);
  /* Brackets too. */
  enum { N = 1000000 };
  text = malloc(2 * N + 4);
  memset(text, '(', N);
  memcpy(text + N, "Nil", 3);
  memset(text + N + 3, ')', N);
  cr_assert_eq(read_text(&w, w.tree, text, 2 * N + 3, objects, &back, &error), HIA_OK);
  cr_assert_eq(back, 2);
  free(text);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

static bool take_none(void *user, const char *bytes, size_t n) {
  (void)user, (void)bytes, (void)n;
  return false;
}

Test(value_text, a_sink_that_fails) {
  value_world w;
  value_world_init(&w);
  hia_objects *objects = new_objects();
  hia_word tree = full_tree(&w, objects, 10);
  hia_sink sink = {take_none, NULL};
  cr_assert_eq(hiaR_value_print(&w.table, w.tree, &tree, &hiaR_malloc, UINT64_MAX, &sink, NULL),
               HIA_IO);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

Test(value_text, memory_limit) {
  value_world w;
  value_world_init(&w);
  hia_objects *objects = new_objects();
  hia_word tree = full_tree(&w, objects, 10), back;
  char *text = value_text(&w, w.tree, &tree);
  for (size_t max = 100; max < 200000; max *= 2) {
    test_heap heap;
    test_heap_init(&heap, -1);
    hia_objects *limited = hiaR_objects_new(&heap.allocator, max);
    hia_reading reading = {.allocator = &heap.allocator, .types = &w.table, .objects = limited};
    hia_value_error error;
    hia_status status = hiaR_value_read(&reading, text, strlen(text), w.tree, &back, &error);
    cr_assert_eq(status, max < 50000 ? HIA_MEMORY : status);
    cr_assert(status == HIA_OK || status == HIA_MEMORY);
    if (max > 150000) cr_assert_eq(status, HIA_OK);
    cr_assert_leq(hiaR_objects_bytes(limited), max);
    hiaR_objects_release(limited);
    cr_assert(heap.blocks == 0 && heap.bytes == 0);
  }
  free(text);
  hiaR_objects_release(objects);
  value_world_free(&w);
}

static value_world *shared_world;

static hia_status print_and_read(const hia_allocator *allocator) {
  static const char text[] =
      "Cons((true, 2.5), Cons((false, inf), End, [], 1), [Nil, Leaf(1, 2), Node(Nil, Nil, 1)], 3)";
  value_world *w = shared_world;
  hia_objects *objects = hiaR_objects_new(allocator, 0);
  if (!objects) return HIA_MEMORY;
  hia_word word;
  hia_value_error error;
  hia_reading reading = {.allocator = allocator, .types = &w->table, .objects = objects};
  hia_status status = hiaR_value_read(&reading, text, strlen(text), w->list, &word, &error);
  size_t n = 0;
  if (status == HIA_OK)
    status = hiaR_value_print(&w->table, w->list, &word, allocator, UINT64_MAX,
                              &(hia_sink){take_nothing, &n}, NULL);
  hia_type type;
  if (status == HIA_OK) status = hiaR_value_look(&reading, "M299", 4, &type, &error);
  if (status == HIA_OK) cr_assert_eq(type, w->many);
  if (status == HIA_OK) cr_assert_eq(n, strlen(text));
  hiaR_objects_release(objects);
  return status;
}

Test(value_text, out_of_memory) {
  value_world w;
  value_world_init(&w);
  shared_world = &w;
  cr_assert_geq(fail_each_allocation(print_and_read), 5);
  value_world_free(&w);
}

/* ---- expressions ---- */

typedef struct evaluator {
  value_world *w;
  const char *text;
  hia_word words[4];
  char seen[64];
} evaluator;

/* "$" is 7 at every type, and a tuple of these; anything else is wrong. */
static hia_status evaluate(void *user, size_t at, size_t len, hia_type type, hia_type *found,
                           const hia_word **words) {
  evaluator *e = user;
  snprintf(e->seen, sizeof e->seen, "%.*s", (int)len, e->text + at);
  if (!memchr(e->text + at, '$', len)) return HIA_ARGUMENT;
  if (type == HIA_NONE) type = HIA_I64;
  *found = type;
  uint32_t n = hiaR_type_words(&e->w->table, type);
  for (uint32_t i = 0; i < n; i++) {
    hia_dtype dtype = n == 1 ? (hia_dtype)type : i ? HIA_F64 : HIA_I64;
    e->words[i] = dtype == HIA_F64 ? hiaR_from_f64(7) : dtype == HIA_F32 ? hiaR_from_f32(7) : 7;
  }
  *words = e->words;
  return HIA_OK;
}

static hia_type make_tuple(void *user, const hia_type *parts, uint32_t n) {
  value_world *w = user;
  hia_type type = hiaG_tuple(&w->types, parts, n);
  w->table = hiaG_type_table(&w->types);
  return type;
}
static hia_type make_array(void *user, hia_type element) {
  value_world *w = user;
  hia_type type = hiaG_array(&w->types, element);
  w->table = hiaG_type_table(&w->types);
  return type;
}

static hia_type make_tensor(void *user, hia_dtype dtype, uint32_t rank) {
  value_world *w = user;
  hia_type type = hiaG_tensor(&w->types, dtype, rank);
  w->table = hiaG_type_table(&w->types);
  return type;
}

/* type "": by its own look; the result is then `type value`. expected NULL: refused. */
static void evaluated(const char *type_name, const char *text, const char *seen,
                      const char *expected) {
  value_world w;
  value_world_init(&w);
  evaluator e = {.w = &w, .text = text};
  hia_objects *objects = new_objects();
  hia_reading reading = {&hiaR_malloc, &w.table, objects, &(hia_evaluator){&e, evaluate},
                         &(hia_type_maker){&w, make_tuple, make_array, make_tensor}};
  hia_value_error error;
  hia_word words[8];
  hia_status status = HIA_OK;
  hia_type type = HIA_NONE;
  if (*type_name)
    type = type_of(&w, type_name);
  else
    status = hiaR_value_look(&reading, text, strlen(text), &type, &error);
  if (status == HIA_OK) status = hiaR_value_read(&reading, text, strlen(text), type, words, &error);
  cr_expect_str_eq(e.seen, seen, "%s: %s: seen `%s`", type_name, text, e.seen);
  cr_expect_eq(status, expected ? HIA_OK : HIA_ARGUMENT, "%s: %s: %d %s", type_name, text, status,
               error.message);
  if (status == HIA_OK && expected) {
    char out[256] = "", *printed = value_text(&w, type, words);
    if (!*type_name) strcat(out, hiaG_type_text(&w.types, type)), strcat(out, " ");
    strcat(out, printed);
    cr_expect_str_eq(out, expected, "%s: %s: %s", type_name, text, out);
    free(printed);
  }
  hiaR_objects_release(objects);
  value_world_free(&w);
}

Test(value_text, expressions) {
  evaluated("i32", "1", "", "1");
  evaluated("i32", " 1 + $ ", " 1 + $ ", "7");
  evaluated("i32", "$, 2", "$, 2", "7");
  evaluated("i32", "1 2", "1 2", NULL);
  evaluated("(i64, f64)", "(1, 2)", "", "(1, 2.0)");
  evaluated("(i64, f64)", "(1, $)", "(1, $)", "(7, 7.0)");
  evaluated("(i64, f64)", "if $ then (1, 2) else 3", "if $ then (1, 2) else 3", "(7, 7.0)");
  evaluated("Tree", "Leaf(f($, 2) + 1, 2)", "f($, 2) + 1", "Leaf(7, 2)");
  evaluated("Tree", "Leaf(1, 2 + $)", "2 + $", "Leaf(1, 7)");
  evaluated("Tree", "Leaf(1, x)", "x", NULL);
  evaluated("Tree", "Leaf(1)", "", NULL);
  evaluated("Tree", "Leaf(,)", "", NULL);
  evaluated("Tree", "Leaf(1, 3000000000)", "", NULL);
  evaluated("((i64, f64), Tree)", "((1, 2), Nil)", "", "((1, 2.0), Nil)");
  evaluated("((i64, f64), Tree)", "(((1, $)).1, Nil)", "((1, $)).1", "((7, 7.0), Nil)");
  evaluated("((i64, f64), Tree)", "((1, 2 * $), Nil)", "(1, 2 * $)", "((7, 7.0), Nil)");
  evaluated("[[(i64, f64)]]", "[[(1, 2), ($, 1)], [$]]", "$", "[[(1, 2.0), (7, 7.0)], [(7, 7.0)]]");
  evaluated("[i32]", "[1, $ # ,\n + 1, 3 ]", "$ # ,\n + 1", "[1, 7, 3]");
  evaluated("[i32]", "[1, $)", "$", NULL);
  evaluated("f32[?]", "[1, $ + (2), 3]", "$ + (2)", "[1.0, 7.0, 3.0]");
  evaluated("f32[?]", "$ + [1]", "", NULL);
}

Test(value_text, by_their_look) {
  evaluated("", "3", "", "i32 3");
  evaluated("", "3i64", "", "i64 3");
  evaluated("", "-3.0", "", "f32 -3.0");
  evaluated("", "1e3f64", "", "f64 1000.0");
  evaluated("", "nan", "", "f32 nan");
  evaluated("", "true", "", "bool true");
  evaluated("", "(1, (2.5, false))", "", "(i32, (f32, bool)) (1, (2.5, false))");
  evaluated("", "Node(Nil, Leaf(1, 2), 3)", "", "Tree Node(Nil, Leaf(1, 2), 3)");
  evaluated("", "(M5, End)", "", "(Many, List) (M5, End)");
  evaluated("", "(Nil)", "", "Tree Nil");
  evaluated("", "[Nil, Leaf(1, 2)]", "", "[Tree] [Nil, Leaf(1, 2)]");
  evaluated("", "[(1, 2), (3.5, 4i64)]", "", "[(f32, i64)] [(1.0, 2), (3.5, 4)]");
  evaluated("", "[[1, 0], [2, 3f64]]", "", "f64[?, ?] [[1.0, 0.0], [2.0, 3.0]]");
  evaluated("", "[[1], [2, 3f64], [-1]]", "", NULL);
  evaluated("", "[([1], true), ([2.5, 3], false)]", "",
            "[(f32[?], bool)] [([1.0], true), ([2.5, 3.0], false)]");
  evaluated("", "[true]", "", "bool[?] [true]");
  evaluated("", "([[[1]]], 2)", "", "(i32[?, ?, ?], i32) ([[[1]]], 2)");
  evaluated("", "[[(1, 2)]]", "", "[[(i32, i32)]] [[(1, 2)]]");
  evaluated("", "$ + 1", "$ + 1", "i64 7");
  evaluated("", "(1, $ - 2)", "(1, $ - 2)", "i64 7");
  evaluated("", "[1, $ - 2]", "$ - 2", "i64[?] [1, 7]");
  evaluated("", "[1, true]", "", NULL);
  evaluated("", "[1i32, 2i64]", "", NULL);
  evaluated("", "[(1, 2), 3]", "", NULL);
  evaluated("", "[[1], 2]", "", NULL);
  evaluated("", "zeros(0, 3)", "", "f32[?, ?] zeros(0, 3)");
  evaluated("", "full(1i64, 2, 0)", "", "i64[?, ?] [[], []]");
  evaluated("", "full(-1.0f64, 0, 3)", "", "f64[?, ?] zeros(0, 3)");
  evaluated("", "(full(1, 0), full(true, 0))", "", "(i32[?], bool[?]) ([], [])");
  evaluated("", "[full(1, 0), zeros(0)]", "", "f32[?, ?] [[], []]");
  evaluated("", "[full(true, 0), [1]]", "", NULL);
  evaluated("", "[Nil][0..0]", "", "[Tree] []");
  evaluated("", "[([(1, 2.5)][0..0], [[Nil][0..0]])]", "",
            "[([(i32, f32)], [[Tree]])] [([], [[]])]");
  evaluated("", "[1, 2.5][0..0]", "", "f32[?] []");
  evaluated("", "zeros(3)", "", NULL);
  evaluated("", "[]", "", NULL);
  evaluated("", "[1,]", "", NULL);
  evaluated("", "[Nil", "", NULL);
  evaluated("", "Nil Nil", "", NULL);
  evaluated("", "Leaf(1, 2", "", NULL);
  evaluated("", "x", "x", NULL);
}

Test(value_text, types_of_too_many_parts) {
  value_world w;
  value_world_init(&w);
  hia_reading reading = {&hiaR_malloc, &w.table, NULL, NULL,
                         &(hia_type_maker){&w, make_tuple, make_array, make_tensor}};
  hia_value_error error;
  hia_type type;
  value_buffer text = {0};
  for (int i = 0; i < 1000; i++) value_buffer_take(&text, i ? ", 1" : "(1", i ? 3 : 2);
  value_buffer_take(&text, ")", 1);
  cr_assert_eq(hiaR_value_look(&reading, text.data, text.len, &type, &error), HIA_ARGUMENT);
  cr_assert_str_eq(error.code, "E0316");
  text.len = 0;
  for (int i = 0; i < 100000; i++) value_buffer_take(&text, "[", 1);
  cr_assert_eq(hiaR_value_look(&reading, text.data, text.len, &type, &error), HIA_ARGUMENT);
  cr_assert_str_eq(error.code, "E0316");
  free(text.data);
  value_world_free(&w);
}

/* ---- types as text ---- */

Test(value_text, types) {
  value_world w;
  value_world_init(&w);
  char text[64];
  hia_type type = type_of(&w, "[((i64, f64), Tree)]");
  cr_assert_eq(hiaR_type_text(&w.table, type, text, sizeof text), 20);
  for (size_t size = 8; size <= 21 + 4; size++) {
    size_t len = hiaR_type_text(&w.table, type, text, size);
    cr_assert(len < size && strlen(text) == len);
    if (strcmp(text, "[((i64, f64), Tree)]") != 0)
      cr_assert_str_eq(text + len - 3, "...", "%zu: %s", size, text);
  }
  for (int i = 0; i < 100; i++) type = hiaG_array(&w.types, type);
  w.table = hiaG_type_table(&w.types);
  hiaR_type_text(&w.table, type, text, sizeof text);
  cr_assert_str_eq(text + strlen(text) - 4, "[...");
  value_world_free(&w);
}

Test(value_text, signatures) {
  hia_signature s;
  char text[64];
  cr_assert_eq(hiaR_signature_read(&s, &hiaR_malloc, NULL, "i(l(bf)d)d", 10), HIA_OK);
  cr_assert_eq(s.n_parts, 3);
  cr_assert_eq(hiaR_type_words(&s.types, s.parts[1]), 4);
  hiaR_type_text(&s.types, s.parts[1], text, sizeof text);
  cr_assert_str_eq(text, "(i64, (bool, f32), f64)");
  cr_assert_eq(s.parts[2], HIA_F64);
  hiaR_signature_free(&s);
  const char *wrong[] = {"(i)", "(", ")", "ix", "()", "r", "(ii"};
  for (size_t i = 0; i < HIA_LEN(wrong); i++)
    cr_assert_eq(hiaR_signature_read(&s, &hiaR_malloc, NULL, wrong[i], strlen(wrong[i])),
                 HIA_ARGUMENT);
  cr_assert_eq(hiaR_signature_read(&s, &hiaR_malloc, NULL, "", 0), HIA_OK);
  cr_assert_eq(s.n_parts, 0);
  hiaR_signature_free(&s);

  /* Numbers of types in a table, of which the signature's is a longer one. */
  value_world w;
  value_world_init(&w);
  hia_type tree = type_of(&w, "Tree"), pair = type_of(&w, "(i64, f64)");
  w.table = hiaG_type_table(&w.types);
  char known[64];
  snprintf(known, sizeof known, "<%u;(i<%u;)l", tree, tree);
  cr_assert_eq(hiaR_signature_read(&s, &hiaR_malloc, &w.table, known, strlen(known)), HIA_OK);
  cr_assert_eq(s.n_parts, 3);
  cr_assert_eq(s.parts[0], tree);
  hiaR_type_text(&s.types, s.parts[1], text, sizeof text);
  cr_assert_str_eq(text, "(i32, Tree)");
  hiaR_signature_free(&s);
  snprintf(known, sizeof known, "<%u;", pair);
  const char *bad[] = {known, "<", "<;", "<16", "<3;", "<99999;", "<99999999999999999999;"};
  for (size_t i = 0; i < HIA_LEN(bad); i++)
    cr_assert_eq(hiaR_signature_read(&s, &hiaR_malloc, &w.table, bad[i], strlen(bad[i])),
                 HIA_ARGUMENT, "%s", bad[i]);
  value_world_free(&w);
}
