/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Bad programs: the files of tests/errors.
 *
 * A file ends in comments that say which errors it has, all of them, in order of position:
 *
 *     # expect: 2:7 E0301 mixes i64 and i32
 *
 *     # hint: write i64(n)
 *
 * line, column, code, a part of the message; the whole hint, if there is one. HIA_UPDATE=1 writes
 * the present errors into the files: check the difference before you commit it. */
#include "tests/unit/helpers/sources.h"
#include "tests/unit/helpers/text.h"

#include <dirent.h>

#ifndef HIA_TEST_DIR
#define HIA_TEST_DIR "tests"
#endif
#define MARK "# expect: "
#define HINT "# hint: "

static char *read_file(const char *path, size_t *size) {
  test_text text = {0};
  cr_assert(test_text_read(&text, path), "%s cannot be opened", path);
  *size = text.len;
  return text.data;
}

/* The start of the expectations: the first of the last consecutive lines that have the mark. */
static size_t expectations(const char *text, size_t len) {
  size_t at = len;
  while (at > 0) {
    size_t line = at - 1;
    while (line > 0 && text[line - 1] != '\n') line--;
    if (strncmp(text + line, MARK, strlen(MARK)) != 0 &&
        strncmp(text + line, HINT, strlen(HINT)) != 0)
      break;
    at = line;
  }
  return at;
}

static void update(const char *path, const char *text, size_t len, const hia_diags *diags) {
  FILE *f = fopen(path, "wb");
  cr_assert(f != NULL, "%s cannot be written", path);
  fwrite(text, 1, len, f);
  for (uint32_t i = 0; i < diags->list.len; i++) {
    const hia_diag *d = &diags->list.data[i];
    fprintf(f, MARK "%u:%u %s %s\n", d->line, d->col, d->code, d->message);
    if (d->hint != NULL) fprintf(f, HINT "%s\n", d->hint);
  }
  fclose(f);
}

/* Past the line. */
static const char *next_line(const char *at) {
  at += strcspn(at, "\n");
  return at + (*at == '\n');
}

/* Applying the fix of an error removes that error; others may appear. */
static void check_fix(const char *path, const char *text, size_t len, const hia_diag *d) {
  test_text fixed = {0};
  cr_assert(d->fix_start <= d->fix_end && d->fix_end <= len, "%s", path);
  test_text_take(&fixed, text, d->fix_start);
  test_text_take(&fixed, d->fix, strlen(d->fix));
  test_text_take(&fixed, text + d->fix_end, len - d->fix_end);
  compiled c;
  compile_bytes(&c, fixed.data, fixed.len);
  for (uint32_t i = 0; i < c.diags.list.len; i++) {
    const hia_diag *now = &c.diags.list.data[i];
    bool is_same = now->line == d->line && now->code == d->code && now->col == d->col &&
                   strcmp(now->message, d->message) == 0;
    cr_expect_not(is_same, "%s:%u:%u: %s: it is still there after: %s", path, d->line, d->col,
                  d->message, d->hint);
  }
  discard(&c);
  free(fixed.data);
}

static void check_file(const char *path, bool *seen) {
  size_t size;
  char *text = read_file(path, &size);
  compiled c;
  compile_bytes(&c, text, size);
  size_t at = expectations(text, size);
  if (getenv("HIA_UPDATE") != NULL) {
    update(path, text, at, &c.diags);
    at = size;
  } else {
    const char *expected = text + at;
    for (uint32_t i = 0; i < c.diags.list.len; i++) {
      const hia_diag *d = &c.diags.list.data[i];
      unsigned line = 0, col = 0;
      char code[8] = "", part[1024] = "";
      sscanf(expected, MARK "%u:%u %7s %1023[^\n]", &line, &col, code, part);
      cr_expect(d->line == line && d->col == col && strcmp(d->code, code) == 0 && part[0] != '\0' &&
                    strstr(d->message, part) != NULL,
                "%s:\n  expected %u:%u %s %s\n  found    %u:%u %s %s", path, line, col, code, part,
                d->line, d->col, d->code, d->message);
      expected = next_line(expected);
      const char *hint = "";
      size_t hint_len = 0;
      if (strncmp(expected, HINT, strlen(HINT)) == 0) {
        hint = expected + strlen(HINT);
        hint_len = strcspn(hint, "\n");
        expected = next_line(expected);
      }
      const char *found = d->hint != NULL ? d->hint : "";
      cr_expect(strlen(found) == hint_len && memcmp(found, hint, hint_len) == 0,
                "%s:%u:%u: %s\n  expected hint: %.*s\n  found hint:    %s", path, line, col, part,
                (int)hint_len, hint, found);
      if (d->fix != NULL) check_fix(path, text, size, d);
    }
    cr_expect_str_empty(expected, "%s: not found: %s", path, expected);
    cr_expect_eq(c.diags.suppressed, 0, "%s: too many errors for one file", path);
  }
  for (uint32_t i = 0; i < c.diags.list.len; i++)
    seen[strtoul(c.diags.list.data[i].code + 1, NULL, 10)] = true;
  all_errors(&c); /* printing them must work for any text */
  discard(&c);
  free(text);
}

Test(errors, files) {
  bool seen[10000] = {false};
  DIR *dir = opendir(HIA_TEST_DIR "/errors");
  cr_assert(dir != NULL, HIA_TEST_DIR "/errors cannot be opened");
  unsigned n = 0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    const char *dot = strrchr(e->d_name, '.');
    if (dot == NULL || strcmp(dot, ".hia") != 0) continue;
    char path[1024];
    snprintf(path, sizeof path, HIA_TEST_DIR "/errors/%s", e->d_name);
    check_file(path, seen);
    n++;
  }
  closedir(dir);
  cr_assert_gt(n, 20, "only %u files", n);
  static const char *const codes[] = {
#define HIA_ERROR(code, ...) #code,
#include "frontend/syntax/errors.def"
  };
  for (size_t i = 0; i < HIA_LEN(codes); i++) {
    unsigned long number = strtoul(codes[i] + 1, NULL, 10);
    /* test_lex.c, test_value.c, test_engine.c, test_engine_host.c, test_cover.c, test_infer_data.c
     */
    bool elsewhere = number == 5 || number == 401 || number == 908 || number == 501 ||
                     number == 601 || number == 602 || number == 324 || number == 901 ||
                     number == 902;
    cr_expect(seen[number] || elsewhere, "no file shows %s", codes[i]);
  }
}

static void expect_shown(const char *text, const char *expected) {
  compiled c;
  compile(&c, text);
  cr_expect_str_eq(all_errors(&c), expected);
  discard(&c);
}

Test(errors, shown) {
  expect_shown("fn f(n: i64, m: i32) =\n\tn + m\n",
               "t.hia:2:4: error[E0301]: '+' mixes i64 and i32\n"
               "    2 |  n + m\n"
               "      |    ^\n"
               "      = hint: write i64(m)\n");
  expect_shown("fn f() = 1\r\nfn f() = 2\r\n", "t.hia:2:4: error[E0202]: 'f' is defined twice\n"
                                               "    2 | fn f() = 2\n"
                                               "      |    ^\n"
                                               "t.hia:1:4: note: first defined here\n"
                                               "    1 | fn f() = 1\n"
                                               "      |    ^\n");
  /* invalid bytes, and characters of several bytes before the caret */
  expect_shown("fn f() = \xff\n",
               "t.hia:1:10: error[E0001]: the file is not valid UTF-8: byte 0xff "
               "at offset 9\n"
               "    1 | fn f() = \\xff\n"
               "      |          ^~~~\n");
  expect_shown("fn f() = \xc3\xa9\xc3\xa9 + abc\n",
               "t.hia:1:10: error[E0004]: unexpected character "
               "'\xc3\xa9\xc3\xa9'\n"
               "    1 | fn f() = \xc3\xa9\xc3\xa9 + abc\n"
               "      |          ^~\n");
}

/* An error in a generic instance shows the calls that its types come from, up to a function whose
 * types are declared; in the middle of a long chain they are counted. */
Test(errors, instances_are_shown) {
  expect_shown("fn inner(x) = x + 1i64\n"
               "fn outer(x) = inner(x)\n"
               "fn main() = outer(2.5)\n",
               "t.hia:1:17: error[E0301]: '+' mixes f32 and i64\n"
               "    1 | fn inner(x) = x + 1i64\n"
               "      |                 ^\n"
               "      = hint: write f32(1i64), which rounds large numbers\n"
               "t.hia:2:15: note: in the instance inner(f32), called here\n"
               "    2 | fn outer(x) = inner(x)\n"
               "      |               ^\n"
               "t.hia:3:13: note: in the instance outer(f32), called here\n"
               "    3 | fn main() = outer(2.5)\n"
               "      |             ^\n");
  char text[1024], *at = text;
  at += sprintf(at, "fn f0(x) = x + true\n");
  for (int i = 1; i <= 9; i++) at += sprintf(at, "fn f%d(x) = f%d(x)\n", i, i - 1);
  sprintf(at, "fn main(n: i64) = f9(n)\n");
  compiled c;
  compile(&c, text);
  cr_assert_eq(c.diags.list.len, 1);
  const hia_diag *d = &c.diags.list.data[0];
  static const uint32_t lines[] = {2, 3, 4, 0, 9, 10, 11};
  cr_assert_eq(d->notes.len, HIA_LEN(lines), "%s", all_errors(&c));
  for (size_t i = 0; i < HIA_LEN(lines); i++) cr_expect_eq(d->notes.data[i].line, lines[i]);
  cr_expect_str_eq(d->notes.data[3].text, "4 more calls lead there");
  cr_expect_str_eq(d->notes.data[6].text, "in the instance f9(i64), called here");
  discard(&c);
}

Test(errors, long_lines_are_cut) {
  char text[4096] = "fn f() = ";
  for (int i = 0; i < 300; i++) strcat(text, "1 + ");
  strcat(text, "nope");
  for (int i = 0; i < 300; i++) strcat(text, " + 1");
  compiled c;
  compile(&c, text);
  const char *shown = all_errors(&c);
  cr_expect_lt(strlen(shown), 400, "%s", shown);
  cr_expect(strstr(shown, "...") != NULL && strstr(shown, "nope") != NULL, "%s", shown);
  discard(&c);
}

Test(errors, are_limited) {
  char *text = malloc(1 << 20), *at = text;
  for (int i = 0; i < 1000; i++) at += sprintf(at, "fn f%d() = nope%d\n", i + 1000, i);
  compiled c;
  compile(&c, text);
  cr_expect_eq(c.diags.list.len, HIA_MAX_DIAGS);
  cr_expect_eq(c.diags.suppressed, 1000 - HIA_MAX_DIAGS);
  discard(&c);
  free(text);
}

/* Requested again, an instance that does not check has the same errors. */
Test(errors, of_instances_are_repeated) {
  compiled c;
  compile_good(&c, "fn g(x) = x + 1i64\nfn f(x) = g(x)\n");
  for (int i = 0; i < 2; i++) {
    hiaF_diags_init(&c.diags, &c.comp, &c.source);
    cr_expect_eq(instance(&c, "f", HIA_F32), HIA_NONE);
    cr_expect_eq(c.diags.list.len, 1, "%s", all_errors(&c));
  }
  hiaF_diags_init(&c.diags, &c.comp, &c.source);
  cr_expect_neq(instance(&c, "f", HIA_I64), HIA_NONE, "%s", all_errors(&c));
  discard(&c);
}

/* What is wrong in a function leaves what its callers do with the result without a type: the passes
 * that run over them nevertheless must expect that, in any expression. `W` is wrong elsewhere. */
Test(errors, in_what_is_called) {
  static const char *const wrong[] = {"W",
                                      "n.3",
                                      "[(1, W), (2, W)]",
                                      "if n == 0 then W else (1, 2)",
                                      "[if i > 0 then 4 else (4, sum(tan(W))) for i in 0..n]",
                                      "missing(n)",
                                      "wrong(n)",
                                      "(n, W) + 1",
                                      "full(W, 3)"};
  static const char *const uses[] = {"r.1",
                                     "r[i].1",
                                     "[y.1 for y in r]",
                                     "r[i]",
                                     "r.0.1",
                                     "len(r)",
                                     "[x for x in r]",
                                     "sum(r)",
                                     "r @ k",
                                     "r + k",
                                     "shape(r)",
                                     "softmax(r)",
                                     "concat(r, k)",
                                     "stack(k, r)",
                                     "[[z for z in y] for y in r]",
                                     "[a + b for (a, b) in r]",
                                     "r[0..2]",
                                     "transpose(r)",
                                     "outer(r, k)",
                                     "reshape(r, 2, 2)",
                                     "set(r, 0, 1.0)",
                                     "set(k, 0, r)",
                                     "full(r, 2)",
                                     "zeros(r)",
                                     "if n == 0 then r else k",
                                     "if n == 0 then (r, 1).0 else r",
                                     "{ let (a, b) = r; b }",
                                     "{ let (a, (b, c)) = r; c }",
                                     "match r { D(x) => x, E => 1.0 }",
                                     "loop (z = r, i = 0) while i < n { (z, i + 1) }",
                                     "f32(r)",
                                     "(r, 1).1",
                                     "one_hot(r, 3)",
                                     "cross_entropy(r, k)",
                                     "iota(r)",
                                     "-r",
                                     "r == r",
                                     "r < k",
                                     "not r",
                                     "[r, k]",
                                     "[r.0, r.1]",
                                     "[(r, 1), (1, r)]",
                                     "sum(r, axis = 1)",
                                     "k[r]",
                                     "r[r]",
                                     "one(r)",
                                     "pair(r)",
                                     "array(r)",
                                     "twice(r).1",
                                     "[z.0 for z in [r]]",
                                     "D(r)",
                                     "{ let q: (f64, f64) = r; q.1 }",
                                     "{ let q: f64[3] = r; q }",
                                     "{ let q: [T] = r; q[0] }",
                                     "grad(one, wrt = a)(r)",
                                     "value_and_grad(one, wrt = a)(r).1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
      char text[2000];
      int len = snprintf(
          text, sizeof text,
          "param W: )\ntype T = D(x: q) | E\nfn one(a: f64[3]) -> f64 = sum(a)\n%s"
          "fn wrong(n: i64) = %s\n"
          "fn use(n: i64, k: f64[3]) = { let r = wrong(n); let i = n; let q = %s; 1.0 }\n"
          "fn each(n: i64, k: f64[3]) = { let r = wrong(n); let q = [%s for i in 0..n]; 1.0 }\n",
          strchr(uses[k], '(') ? "fn pair(a: (f64[3], f64)) = a\nfn array(a: [T]) = a\n"
                                 "fn twice(a) = (a, a)\n"
                               : "", /* and so no type of a tuple */
          wrong[i], uses[k], uses[k]);
      cr_assert(len > 0 && (size_t)len < sizeof text);
      compiled c;
      compile_bytes(&c, text, (size_t)len);
      cr_assert_gt(c.diags.list.len, 0);
      for (uint32_t d = 0; d < c.diags.list.len; d++) cr_assert_gt(c.diags.list.data[d].line, 0);
      discard(&c);
    }
  }
}
