/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/format/brackets.c: trees in Penn brackets. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>
#include <hiaton/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct treebank {
  value_world w;
  hia_type phrase; /* Phrase = Word(word: i32) | Rest(first: Phrase, rest: [Phrase], label: i32) |
                      Empty(label: i32) | Other(x: i64) */
  hia_vocab *words, *labels;
  bool may_add;
} treebank;

static void begin(treebank *r, const char *vocabulary, const char *labels) {
  hia_value_error error;
  *r = (treebank){.may_add = false};
  value_world_init(&r->w);
  hia_types *types = &r->w.types;
  r->phrase = hiaG_data(types, "Phrase");
  hia_type i32[] = {HIA_I32}, i64[] = {HIA_I64};
  hia_type rest[] = {r->phrase, hiaG_array(types, r->phrase), HIA_I32};
  hiaG_array(types, r->w.tree);
  hiaG_data_define(types, r->phrase,
                   (hia_ctor_def[]){{"Word", (const char *[]){"word"}, i32, 1},
                                    {"Rest", (const char *[]){"first", "rest", "label"}, rest, 3},
                                    {"Empty", (const char *[]){"label"}, i32, 1},
                                    {"Other", (const char *[]){"x"}, i64, 1}},
                   4);
  r->w.table = hiaG_type_table(types);
  if (vocabulary) {
    r->words = hiaR_vocab_new(&hiaR_malloc);
    cr_assert_eq(hiaR_vocab_read(r->words, vocabulary, strlen(vocabulary), &error), HIA_OK);
  }
  if (labels) {
    r->labels = hiaR_vocab_new(&hiaR_malloc);
    cr_assert_eq(hiaR_vocab_read(r->labels, labels, strlen(labels), &error), HIA_OK);
  }
}

static void end(treebank *r) {
  hiaR_vocab_free(r->words);
  hiaR_vocab_free(r->labels);
  value_world_free(&r->w);
}

static hia_status read_text(treebank *r, hia_type type, const char *text, hia_objects *objects,
                            hia_word *word, hia_value_error *error) {
  size_t len = strlen(text);
  char *exact = malloc(len ? len : 1); /* for AddressSanitizer */
  memcpy(exact, text, len);
  const hia_bracket_reading reading = {.allocator = &hiaR_malloc,
                                       .types = &r->w.table,
                                       .objects = objects,
                                       .words = r->words,
                                       .may_add = r->may_add,
                                       .labels = r->labels};
  hia_status status = hiaR_brackets_read(&reading, exact, len, type, word, error);
  free(exact);
  return status;
}

static void expect(treebank *r, hia_type type, const char *text, const char *expected) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_value_error error;
  hia_word word;
  if (read_text(r, type, text, objects, &word, &error)) {
    cr_expect_fail("%s: %u:%u: %s", text, error.line, error.col, error.message);
  } else {
    char *printed = value_text(&r->w, type, &word);
    cr_expect_str_eq(printed, expected, "%s: %s", text, printed);
    free(printed);
  }
  hiaR_objects_release(objects);
}

static void refuse(treebank *r, hia_type type, const char *text, uint32_t line, uint32_t col,
                   const char *message) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_value_error error;
  hia_word word;
  cr_expect_eq(read_text(r, type, text, objects, &word, &error), HIA_ARGUMENT, "%s", text);
  cr_expect(error.line == line && error.col == col, "%s: %u:%u", text, error.line, error.col);
  cr_expect(strstr(error.message, message) != NULL, "%s: %s, not %s", text, error.message, message);
  cr_expect_leq(error.at + error.len, strlen(text));
  hiaR_objects_release(objects);
}

Test(brackets, trees) {
  treebank r;
  begin(&r, "It\nworks\n<unk>\n-LRB-\r\n", NULL);
  hia_type trees = hiaG_array(&r.w.types, r.w.tree);
  expect(&r, r.w.tree, "(2 It)", "Leaf(0, 2)");
  expect(&r, r.w.tree, " (3 (2 It)\n\t(-4(1 -LRB-)(0 never))) \r\n",
         "Node(Leaf(0, 2), Node(Leaf(3, 1), Leaf(2, 0), -4), 3)");
  expect(&r, r.w.tree, "(7)", "Nil"); /* no field for the label: the first that fits */
  expect(&r, trees, "(2 It)\n(1 works)", "[Leaf(0, 2), Leaf(1, 1)]");
  expect(&r, trees, "\n", "[]");
  expect(&r, r.phrase, "(5 (1 It))", "Rest(Word(0), [], 5)");
  expect(&r, r.phrase, "(5 (1 It) (1 works) (6))", "Rest(Word(0), [Word(1), Empty(6)], 5)");
  end(&r);
}

/* Between trees `#` begins a comment; within a tree it is a word like others. */
Test(brackets, comments) {
  treebank r;
  begin(&r, "#\n#1\nIt\n", "#\n2\n");
  hia_type trees = hiaG_array(&r.w.types, r.w.tree);
  expect(&r, trees, "# one (2 a)\n(2 It) # two ) (\n#\n(2 #1)#three", "[Leaf(2, 1), Leaf(1, 1)]");
  expect(&r, trees, "(# #)\n(2\n(2 #1)\n(# It))", "[Leaf(0, 0), Node(Leaf(1, 1), Leaf(2, 0), 1)]");
  expect(&r, trees, "#", "[]");
  expect(&r, r.w.tree, "\xef\xbb\xbf# \xe2\x80\xa8 one\r\n  # two\n(2 It)", "Leaf(2, 1)");
  refuse(&r, r.w.tree, "# one\n  x # two", 2, 3, "expected '(', found the word 'x'");
  refuse(&r, r.w.tree, "# one\n# two\n(2 # It)", 3, 6, "expected ')', found the word 'It'");
  refuse(&r, r.w.tree, "# one\n\n(2 # (2 It)", 3, 6, "expected ')', found '('");
  refuse(&r, r.w.tree, "# one (2 It)", 1, 1, "expected one tree, found 0");
  end(&r);
}

Test(brackets, labels) {
  treebank r;
  begin(&r, "a\nb\n", "S\nNP\n3\n");
  expect(&r, r.w.tree, "(S (NP a) (3 b))", "Node(Leaf(0, 1), Leaf(1, 2), 0)");
  refuse(&r, r.w.tree, "(S (NP a)\n (VP b))", 2, 3, "the labels do not have 'VP'");
  end(&r);
}

Test(brackets, words_are_added) {
  treebank r;
  begin(&r, "a\n", NULL);
  r.may_add = true;
  expect(&r, r.w.tree, "(1 (2 b) (3 a))", "Node(Leaf(1, 2), Leaf(0, 3), 1)");
  expect(&r, r.w.tree, "(1 (2 c) (3 b))", "Node(Leaf(2, 2), Leaf(1, 3), 1)");
  cr_assert_eq(hiaR_vocab_len(r.words), 3);
  char word[32];
  size_t n;
  for (int i = 0; i < 100000; i++) {
    snprintf(word, sizeof word, "w%d", i * 7919);
    cr_assert_eq(hiaR_vocab_add(r.words, word, strlen(word)), 3u + (uint32_t)i);
  }
  for (int i = 0; i < 100000; i++) {
    snprintf(word, sizeof word, "w%d", i * 7919);
    cr_assert_eq(hiaR_vocab_find(r.words, word, strlen(word)), 3u + (uint32_t)i);
    const char *own = hiaR_vocab_get(r.words, 3u + (uint32_t)i, &n);
    cr_assert(n == strlen(word) && memcmp(own, word, n) == 0);
  }
  cr_assert_eq(hiaR_vocab_find(r.words, "w", 1), HIA_NONE);
  end(&r);
}

/* Words are compared in one piece up to 8 bytes; tokens end at these characters and at no other. */
Test(brackets, words_of_any_length) {
  treebank r;
  begin(&r, NULL, NULL);
  r.words = hiaR_vocab_new(&hiaR_malloc);
  char word[24] = "abcdefghijklmnopqrstuvw", text[64], expected[64];
  static const char *const ends[] = {")", " )", "\t)", "\n)", "\v)", "\f)", "\r)"};
  for (uint32_t n = 1; n < sizeof word; n++) cr_assert_eq(hiaR_vocab_add(r.words, word, n), n - 1);
  for (uint32_t n = 1; n < sizeof word; n++) {
    snprintf(expected, sizeof expected, "Leaf(%u, 5)", n - 1);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
      snprintf(text, sizeof text, "(5 %.*s%s", (int)n, word, ends[i]);
      expect(&r, r.w.tree, text, expected);
    }
    snprintf(text, sizeof text, "(5 %.*s(1 a)", (int)n, word);
    refuse(&r, r.w.tree, text, 1, 4 + n, "expected ')', found '('");
    for (int c = 1; c < 256; c++) {
      if (strchr("\t\n\v\f\r ()", c) || c >= 0x80) continue;
      char changed[24];
      memcpy(changed, word, sizeof word);
      changed[n - 1] = (char)c; /* another word, but for the one that it is */
      uint32_t index = hiaR_vocab_find(r.words, changed, n);
      snprintf(text, sizeof text, "(5 %.*s)", (int)n, changed);
      if (index == HIA_NONE)
        refuse(&r, r.w.tree, text, 1, 4, "unknown word");
      else
        cr_expect_eq(changed[n - 1], word[n - 1]);
    }
  }
  end(&r);
}

Test(brackets, refused) {
  treebank r;
  begin(&r, "a\nb\n", NULL);
  hia_type tree = r.w.tree;
  refuse(&r, tree, "", 1, 1, "expected one tree, found 0");
  refuse(&r, tree, "(1 a) (1 b)", 1, 1, "expected one tree, found 2");
  refuse(&r, tree, "(1 (2 a)\n (3 b)", 1, 1, "this bracket is not closed");
  refuse(&r, tree, "(1 (2 a)\n  (3 b", 2, 3, "this bracket is not closed");
  refuse(&r, tree, "(1 a))", 1, 6, "expected '(', found ')'");
  refuse(&r, tree, "a", 1, 1, "expected '(', found the word 'a'");
  refuse(&r, tree, "(1 a b)", 1, 6, "expected ')', found the word 'b'");
  refuse(&r, tree, "(1 a (2 b))", 1, 6, "expected ')', found '('");
  refuse(&r, tree, "(1 (2 b) a)", 1, 10, "expected '(' or ')', found the word 'a'");
  refuse(&r, tree, "(1 c)", 1, 4, "unknown word 'c'");
  refuse(&r, tree, "(x a)", 1, 2, "the label 'x' is no number");
  refuse(&r, tree, "(3000000000 a)", 1, 2, "this label does not fit i32");
  refuse(&r, tree, "(- a)", 1, 2, "the label '-' is no number");
  refuse(&r, tree, "(x c)", 1, 2, "the label 'x' is no number"); /* what comes first in the text */
  refuse(&r, tree, "(1 (2 a))", 1, 1,
         "no constructor of Tree fits a bracket with a label and 1 subtree");
  refuse(&r, tree, "(1\n ((2 a) (3 b)) (4 a))", 2, 2,
         "no constructor of Tree fits a bracket with no label and 2 subtrees");
  refuse(&r, r.w.many, "(1 a)", 1, 1, "no constructor of Many fits a bracket with a word");
  refuse(&r, r.w.list, "(1 (2 a))", 1, 4, "no constructor of List fits");
  refuse(&r, HIA_I32, "(1 a)", 1, 1, "expected a value of type i32");
  refuse(&r, tree, "(1 \xff)", 1, 4, "not valid UTF-8");
  hiaR_vocab_free(r.words);
  r.words = NULL;
  refuse(&r, tree, "(1 a)", 1, 4, "no vocabulary has 'a'");
  end(&r);
}

/* Values of a type without fields take a byte in an array, or two. */
Test(brackets, trees_without_fields) {
  treebank r;
  begin(&r, NULL, NULL);
  hia_types *types = &r.w.types;
  hia_type few = hiaG_data(types, "Bare"), few_array = hiaG_array(types, few);
  hiaG_data_define(types, few, (hia_ctor_def[]){{"One", NULL, NULL, 0}, {"Two", NULL, NULL, 0}}, 2);
  static char names[300][8];
  hia_ctor_def ctors[300];
  for (int i = 0; i < 300; i++) {
    snprintf(names[i], sizeof names[i], "C%d", i);
    ctors[i] = (hia_ctor_def){names[i], NULL, NULL, 0};
  }
  hia_type many = hiaG_data(types, "Wide"), many_array = hiaG_array(types, many);
  hiaG_data_define(types, many, ctors, 300);
  r.w.table = hiaG_type_table(types);
  expect(&r, few_array, "(3) (4) (5)", "[One, One, One]");
  expect(&r, many_array, "(3) (4) (5)", "[C0, C0, C0]");
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  enum { N = 100000 };
  char *text = malloc(N * 3 + 1);
  for (int i = 0; i < N; i++) memcpy(text + i * 3, "(7)", 4);
  hia_value_error error;
  hia_word word;
  cr_assert_eq(read_text(&r, few_array, text, objects, &word, &error), HIA_OK);
  const hia_array *array = (const hia_array *)(uintptr_t)word;
  cr_assert_eq(array->n, N);
  for (int i = 0; i < N; i++) cr_assert_eq(array->data[i], 0);
  free(text);
  hiaR_objects_release(objects);
  end(&r);
}

Test(brackets, a_word_twice) {
  hia_vocab *words = hiaR_vocab_new(&hiaR_malloc);
  hia_value_error error;
  cr_assert_eq(hiaR_vocab_read(words, "a\nb\na\n", 6, &error), HIA_ARGUMENT);
  cr_assert(error.line == 3 && strstr(error.message, "the word 'a' is on line 1 already"));
  hiaR_vocab_free(words);
}

Test(brackets, a_million_levels) {
  treebank r;
  begin(&r, "a\n", NULL);
  value_buffer text = {0};
  enum { LEVELS = 1000000 };
  for (int i = 0; i < LEVELS; i++) value_buffer_take(&text, "(1", 2);
  value_buffer_take(&text, "(2 a)", 5);
  for (int i = 0; i < LEVELS; i++) value_buffer_take(&text, "(0 a))", 6);
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_value_error error;
  hia_word word;
  cr_assert_eq(read_text(&r, r.w.tree, text.data, objects, &word, &error), HIA_OK);
  char *printed = value_text(&r.w, r.w.tree, &word);
  cr_assert(strncmp(printed, "Node(Node(Node(", 15) == 0);
  cr_assert_eq(strlen(printed), LEVELS * strlen("Node(, Leaf(0, 0), 1)") + strlen("Leaf(0, 2)"));
  free(printed);
  free(text.data);
  hiaR_objects_release(objects);
  end(&r);
}

static treebank *shared;

static hia_status read_once(const hia_allocator *allocator) {
  static const char text[] = "(1 (2 a) (3 (4 b) (5 c))) (1 (2 d) (3 e))";
  hia_objects *objects = hiaR_objects_new(allocator, 0);
  hia_vocab *words = hiaR_vocab_new(allocator);
  hia_type trees = hiaG_array(&shared->w.types, shared->w.tree);
  const hia_bracket_reading reading = {.allocator = allocator,
                                       .types = &shared->w.table,
                                       .objects = objects,
                                       .words = words,
                                       .may_add = true};
  hia_value_error error;
  hia_word word;
  hia_status status = HIA_MEMORY;
  if (objects && words)
    status = hiaR_brackets_read(&reading, text, sizeof text - 1, trees, &word, &error);
  hiaR_vocab_free(words);
  hiaR_objects_release(objects);
  return status;
}

Test(brackets, out_of_memory) {
  treebank r;
  begin(&r, NULL, NULL);
  shared = &r;
  cr_assert_geq(fail_each_allocation(read_once), 6);
  end(&r);
}

/* All of a treebank, if there is one: each file is read, printed, and read back as text. */
Test(brackets, treebank) {
  const char *folder = getenv("HIATON_SST_DIR");
  if (!folder) return;
  treebank r;
  begin(&r, "<unk>\n", NULL);
  r.may_add = true;
  hia_type trees = hiaG_array(&r.w.types, r.w.tree);
  for (int i = 0; i < 3; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.txt", folder, (const char *[]){"train", "dev", "test"}[i]);
    FILE *file = fopen(path, "rb");
    if (!file) continue;
    value_buffer text = {0};
    char buf[65536];
    for (size_t n; (n = fread(buf, 1, sizeof buf, file)) > 0;) value_buffer_take(&text, buf, n);
    fclose(file);
    hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
    hia_value_error error;
    hia_word word, back;
    hia_status status = read_text(&r, trees, text.data, objects, &word, &error);
    cr_assert_eq(status, HIA_OK, "%s:%u:%u: %s", path, error.line, error.col, error.message);
    char *printed = value_text(&r.w, trees, &word);
    const hia_reading again = {.allocator = &hiaR_malloc, .types = &r.w.table, .objects = objects};
    status = hiaR_value_read(&again, printed, strlen(printed), trees, &back, &error);
    cr_assert_eq(status, HIA_OK, "%s", error.message);
    cr_assert(values_are_equal(&r.w, trees, &word, &back));
    free(printed);
    free(text.data);
    hiaR_objects_release(objects);
  }
  end(&r);
}

/* ---- vocabularies as text ---- */

static void expect_same_words(const hia_vocab *a, const hia_vocab *b, const char *text) {
  cr_assert_eq(hiaR_vocab_len(a), hiaR_vocab_len(b), "%u words, %u read of %s", hiaR_vocab_len(a),
               hiaR_vocab_len(b), text);
  for (uint32_t i = 0; i < hiaR_vocab_len(a); i++) {
    size_t n, m;
    const char *x = hiaR_vocab_get(a, i, &n), *y = hiaR_vocab_get(b, i, &m);
    cr_assert(n == m && memcmp(x, y, n) == 0, "word %u of %s", i, text);
  }
}

/* The text of the words, from which the same words are read. The caller frees it. */
static char *written_words(const hia_vocab *words) {
  value_buffer text = {0};
  cr_assert(value_buffer_take(&text, "", 0));
  cr_assert_eq(hiaR_vocab_write(words, &(hia_sink){value_buffer_take, &text}), HIA_OK);
  cr_assert_eq(strlen(text.data), text.len, "no NUL bytes");
  hia_vocab *back = hiaR_vocab_new(&hiaR_malloc);
  hia_value_error error;
  char *exact = malloc(text.len + 1); /* for AddressSanitizer */
  memcpy(exact, text.data, text.len);
  hia_status status = hiaR_vocab_read(back, exact, text.len, &error);
  cr_assert_eq(status, HIA_OK, "%s: %s", text.data, error.message);
  expect_same_words(words, back, text.data);
  hiaR_vocab_free(back);
  free(exact);
  return text.data;
}

static void expect_line(const char *word, size_t n, const char *line) {
  hia_vocab *words = hiaR_vocab_new(&hiaR_malloc);
  hiaR_vocab_add(words, word, n);
  char *text = written_words(words);
  cr_expect(strlen(text) == strlen(line) + 1 && memcmp(text, line, strlen(line)) == 0, "%s not %s",
            text, line);
  free(text);
  hiaR_vocab_free(words);
}
#define LINE(word, line) expect_line(word, sizeof(word) - 1, line)

Test(words, lines) {
  LINE("", "");
  LINE("-LRB-", "-LRB-");
  LINE("1\\/2", "1\\/2"); /* as treebanks have it */
  LINE("C:\\new\\x1f\\u00e9\\u{", "C:\\new\\x1f\\u00e9\\u{");
  LINE(" \t a ", " \t a ");
  LINE("#", "#");
  LINE("\xe2\x80\xa8\xc2\x85", "\xe2\x80\xa8\xc2\x85"); /* no ends of lines here */
  LINE("a\nb", "a\\u{a}b");
  LINE("a\r", "a\\u{d}");
  LINE("a\0b", "a\\u{0}b");
  LINE("\xef\xbb\xbfIt", "\\u{feff}It"); /* at the beginning of a text it would be skipped */
  LINE("It\xef\xbb\xbf", "It\xef\xbb\xbf");
  LINE("\xff\xc3", "\\x{ff}\\x{c3}");
  LINE("\xed\xa0\x80", "\\x{ed}\\x{a0}\\x{80}"); /* a surrogate */
  LINE("\\u{a}", "\\u{5c}u{a}");
  LINE("\\x{ff}", "\\u{5c}x{ff}");
  LINE("\\\n", "\\\\u{a}");
  LINE("\\u{d800}\\u{110000}\\u{1234567}\\x{f}\\u{}",
       "\\u{d800}\\u{110000}\\u{1234567}\\x{f}\\u{}");
}

Test(words, escapes) {
  static const char text[] = "\\u{48}\\x{69}\n\\u{1F600}\\u{00007f}\\u{20ac}\r\n\\\\u{41}\n";
  hia_vocab *words = hiaR_vocab_new(&hiaR_malloc);
  hia_value_error error;
  cr_assert_eq(hiaR_vocab_read(words, text, sizeof text - 1, &error), HIA_OK);
  cr_expect_eq(hiaR_vocab_find(words, "Hi", 2), 0);
  cr_expect_eq(hiaR_vocab_find(words, "\xf0\x9f\x98\x80\x7f\xe2\x82\xac", 8), 1);
  cr_expect_eq(hiaR_vocab_find(words, "\\A", 2), 2);
  cr_expect_eq(hiaR_vocab_read(words, "b\n\\u{48}i\n", 10, &error), HIA_ARGUMENT);
  cr_expect(error.line == 2 && error.col == 1, "%u:%u", error.line, error.col);
  hiaR_vocab_free(words);
}

/* One piece of a random word: what lines, escapes and UTF-8 could take for something else, any
 * character, any byte. */
static size_t random_piece(random_source *r, char *to) {
  static const char *const pieces[] = {"\n",
                                       "\r",
                                       "\r\n",
                                       "\t",
                                       " ",
                                       "\v",
                                       "\f",
                                       "\\",
                                       "\\u{",
                                       "\\x{",
                                       "}",
                                       "a",
                                       "0d",
                                       "\\u{a}",
                                       "\xef\xbb\xbf",
                                       "\xff\xfe",
                                       "\xc2\x85",
                                       "\xc2\xa0",
                                       "\xe2\x80\xa8",
                                       "\xe2\x80\xa9",
                                       "\xe3\x80\x80",
                                       "\x1c",
                                       "\x7f",
                                       "(",
                                       "#",
                                       "<unk>",
                                       "\xed\xbf\xbf",
                                       "\xf4\x90\x80\x80"};
  uint32_t choice = random_below(r, 5);
  if (choice < 2) {
    const char *piece = pieces[random_below(r, HIA_LEN(pieces))];
    memcpy(to, piece, strlen(piece));
    return strlen(piece);
  }
  if (choice == 2) return *to = (char)random_below(r, 256), 1;
  uint32_t c = random_below(r, choice == 3 ? 0x800 : 0x110000);
  if (c < 0x80) return *to = (char)c, 1;
  size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = n; i-- > 1; c >>= 6) to[i] = (char)(0x80 | (c & 0x3f));
  *to = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
  return n;
}

Test(words, written_then_read) {
  random_source r = {HIA_TEST_SEED};
  for (int i = 0; i < 300; i++) {
    hia_vocab *words = hiaR_vocab_new(&hiaR_malloc);
    uint32_t n_words = random_below(&r, 40);
    for (uint32_t k = 0; k < n_words; k++) {
      static char word[1 << 16];
      size_t n = 0, most = random_chance(&r, 2) ? sizeof word - 8 : random_below(&r, 12);
      while (n < most && !random_chance(&r, 15)) n += random_piece(&r, word + n);
      for (; most > 1000 && n < most; n++) word[n] = (char)('a' + n % 26); /* some are very long */
      hiaR_vocab_add(words, word, n);
    }
    free(written_words(words));
    hiaR_vocab_free(words);
  }
}

static hia_status write_and_read_words(const hia_allocator *allocator) {
  static const char text[] = "It\n\\u{a}\n\\x{ff}\\u{feff}\nworks\n";
  hia_vocab *words = hiaR_vocab_new(allocator);
  if (!words) return HIA_MEMORY;
  hia_value_error error;
  hia_status status = hiaR_vocab_read(words, text, sizeof text - 1, &error);
  value_buffer written = {0};
  if (status == HIA_OK) status = hiaR_vocab_write(words, &(hia_sink){value_buffer_take, &written});
  if (status == HIA_OK) cr_assert_str_eq(written.data, "It\n\\u{a}\n\\x{ff}\xef\xbb\xbf\nworks\n");
  free(written.data);
  hiaR_vocab_free(words);
  return status;
}

Test(words, out_of_memory) { cr_assert_geq(fail_each_allocation(write_and_read_words), 4); }

Test(words, files) {
  char path[] = "/tmp/hiaton-words-XXXXXX";
  int file = mkstemp(path);
  cr_assert(file >= 0 && close(file) == 0);
  hia_vocab *words = hia_vocab_new(NULL), *back = hia_vocab_new(NULL);
  hia_error *error;
  cr_assert_eq(hia_vocab_read(words, "w", "\\u{feff}a\n\\x{80}\n\n", 18, &error), HIA_OK);
  cr_assert_eq(hia_vocab_len(words), 3);
  cr_assert_eq(hia_vocab_save_file(words, path, &error), HIA_OK);
  cr_assert_eq(hia_vocab_load_file(back, path, &error), HIA_OK);
  expect_same_words(words, back, path);
  cr_assert_eq(hia_vocab_load_file(back, path, &error), HIA_ARGUMENT); /* they are there */
  hia_error_free(error);
  cr_assert_eq(hia_vocab_save_file(words, "/nonexistent/words", &error), HIA_IO);
  cr_expect_not_null(strstr(hia_error_text(error), "cannot write /nonexistent/words: "));
  hia_error_free(error);
  unlink(path);
  cr_assert_eq(hia_vocab_load_file(back, path, &error), HIA_IO);
  cr_expect_not_null(strstr(hia_error_text(error), "cannot read /tmp/hiaton-words-"));
  hia_error_free(error);
  hia_vocab_free(words);
  hia_vocab_free(back);
}
