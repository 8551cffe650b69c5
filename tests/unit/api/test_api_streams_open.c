/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of trees in brackets that cannot be opened: mistakes have the same positions and words as
 * with the array; files that change later. */
#include "tests/unit/helpers/api_streams.h"

static void expect_error(const hia_type_info *type, const char *at, hia_status expected,
                         const char *why) {
  hia_stream *stream;
  hia_error *error;
  cr_expect_eq(hia_stream_open_brackets(NULL, type, at, NULL, &stream, &error), expected);
  cr_expect(stream == NULL && strstr(hia_error_text(error), why), "%s", hia_error_text(error));
  hia_error_free(error);
}

Test(streams, cannot_be_opened) {
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)", 5);
  expect_error(x.type, "/none/such", HIA_IO, "cannot read /none/such: No such file");
  expect_error(x.type, "/tmp", HIA_UNSUPPORTED, "/tmp is no regular file");
  expect_error(x.type, "/dev/null", HIA_UNSUPPORTED, "/dev/null is no regular file");
  expect_error(hia_type_info_element(x.type), path, HIA_ARGUMENT, "is of an array [T]");
  expect_error(x.type, path, HIA_ARGUMENT, "no vocabulary has 'a'");
  expect_error(x.type, NULL, HIA_ARGUMENT, "no path");
  expect_error(NULL, path, HIA_ARGUMENT, "no type");
  cr_expect_eq(hia_stream_open_brackets(NULL, x.type, path, NULL, NULL, NULL), HIA_ARGUMENT);
  cr_expect(hia_stream_position(NULL) == 0 && hia_stream_position(x.stream) == 0);
  cr_expect(hia_stream_len(NULL) == 0 && hia_stream_type(NULL) == NULL);
  hia_stream_free(NULL);
  close_trees(&x);
}

/* The first line of the error, which has the position. */
static void first_line(hia_error *error, char *line, size_t size) {
  snprintf(line, size, "%s", error ? hia_error_text(error) : "no error");
  line[strcspn(line, "\n")] = 0;
  hia_error_free(error);
}

/* A mistake has the same position and words as in the array. */
static void same_mistake(const fixture *x, const char *bytes, size_t n) {
  hia_vocab *words = hia_vocab_new(NULL);
  hia_vocab_read(words, "v", "a\nw1\n", 5, NULL);
  hia_bracket_options options = options_with(words, false);
  char array[512], stream[512];
  hia_value *value;
  hia_stream *opened;
  hia_error *error;
  unlink(path);
  write_file(bytes, n);
  hia_status a = hia_data_read_brackets(hia_engine_allocator(x->p.engine), x->type, path, bytes, n,
                                        &options, &value, &error);
  first_line(error, array, sizeof array);
  hia_status s = hia_stream_open_brackets(NULL, x->type, path, &options, &opened, &error);
  first_line(error, stream, sizeof stream);
  cr_expect(a == s && strcmp(array, stream) == 0, "%d %s, not %d %s", s, stream, a, array);
  hia_value_free(value);
  hia_stream_free(opened);
  hia_vocab_free(words);
}

Test(streams, mistakes) {
  static const char *const ends[] = {"(1 a",
                                     "(1 a))",
                                     "(1 a) b",
                                     "(1 b)",
                                     "(x a)",
                                     "(1 (1 a))",
                                     ")",
                                     "a",
                                     "(",
                                     "(1 a b)",
                                     "(1 a (2 a))",
                                     "(1 \xff)",
                                     "(1 a)\xff",
                                     "\xef\xbb\xbf(1 a)",
                                     "(1\n (2 a)\n (2 c))",
                                     "\n\n(1 a)\n(3",
                                     "(1 a)\n)\n(1 a)",
                                     "#",
                                     "# (1 a\n(1 b)",
                                     "#(\n# )\n  (1 # a)",
                                     "(1 a)# (\n#\n)"};
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)", 5);
  /* In front of it nothing, some trees, and so many that they are read in several portions, in
   * lines and in one line. */
  for (int kind = 0; kind < 4; kind++) {
    size_t n = kind == 0 ? 0 : kind == 1 ? 7 : 170000;
    size_t size = n * 8 + 64;
    char *bytes = malloc(size);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
      size_t at = 0;
      for (size_t k = 0; k < n; k++)
        memcpy(bytes + at, kind == 3 ? "(1  w1)" : "(1 w1)\n", 7), at += 7;
      memcpy(bytes + at, ends[i], strlen(ends[i]));
      same_mistake(&x, bytes, at + strlen(ends[i]));
      if (kind < 2) continue;
      memcpy(bytes + 35, ends[i], strlen(ends[i])); /* an early one */
      same_mistake(&x, bytes, at);
    }
    free(bytes);
  }
  same_mistake(&x, "(1 a\0)", 6);
  close_trees(&x);
}

/* Comments are longer than what is read at once, and end with it, or at other places. */
Test(streams, long_comments) {
  enum { LONGEST = (1 << 20) + 8, TREES = 3 };
  static char bytes[TREES * (LONGEST + 16)];
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)", 5);
  for (int less = -1; less < 12; less++) {
    size_t at = 0;
    for (int i = 0; i < TREES; i++) {
      size_t n = less < 0 ? (size_t)i * 3 : (size_t)(LONGEST - less);
      memset(bytes + at, i % 2 ? '(' : ')', n);
      bytes[at] = '#';
      bytes[at + n] = '\n';
      memcpy(bytes + at + n + 1, i < 2 ? "(1 a)" : "(1 b)", 5);
      at += n + 6;
    }
    same_mistake(&x, bytes, at);     /* an unknown word at the end */
    same_mistake(&x, bytes, at - 6); /* none */
  }
  close_trees(&x);
}

Test(streams, the_file_changes) {
  fixture x;
  size_t n;
  char *bytes = make_trees(2000, 60, &n);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, n);
  cr_assert_eq(truncate(path, (off_t)n / 2), 0);
  outcome o = run(&x, "total", true, NULL, NULL);
  cr_assert(o.status == HIA_IO && strstr(o.text, "has changed since it was opened"), "%d %s",
            o.status, o.text);
  free(o.text);
  close_trees(&x);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, n);
  memset(bytes, ' ', n); /* of the same size, without trees */
  FILE *file = fopen(path, "r+");
  cr_assert(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
  o = run(&x, "total", true, NULL, NULL);
  cr_assert_eq(o.status, HIA_IO, "%d %s", o.status, o.text);
  free(o.text);
  close_trees(&x);
  free(bytes);
}
