/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines of a source as they are shown: what is marked stands above its marks. */
#include "runtime/base/excerpt.h"

#include <criterion/criterion.h>
#include <stdio.h>

static char *excerpt(hia_comp *comp, const char *text, size_t len, uint32_t col, uint32_t n) {
  hia_text out;
  hiaR_text_init(&out, &comp->arena);
  hiaR_excerpt(text, len, 1, col, n, &out);
  return out.data;
}

/* A line with a mark `|` before and behind what is underlined; the columns of what stands before
 * it, and of itself. */
static const struct {
  const char *line;
  unsigned before, marked;
  const char *shown; /* NULL: as it is */
} rows[] = {
    {"ab |cd| e", 3, 2, NULL},
    {"\t|x|", 1, 1, " x"},
    {"a\tb\t|xy|", 4, 2, "a b xy"},
    /* East Asian wide, and halfwidth */
    {"\xe6\xbc\xa2\xe5\xad\x97 |x|", 5, 1, NULL},
    {"|\xe6\xbc\xa2\xe5\xad\x97|", 0, 4, NULL},
    {"\xef\xbc\xa1|x|", 2, 1, NULL},                         /* fullwidth A */
    {"\xef\xbd\xb1|x|", 1, 1, NULL},                         /* halfwidth katakana */
    {"\xed\x95\x9c|x|", 2, 1, NULL},                         /* a Hangul syllable */
    {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab|x|", 2, 1, NULL}, /* the same of three letters */
    {"\xf0\xa0\x80\x80|x|", 2, 1, NULL},                     /* of plane 2 */
    /* marks that combine */
    {"e\xcc\x81|x|", 1, 1, NULL},
    {"|e\xcc\x81|x", 0, 1, NULL},
    {"e|\xcc\x81|x", 0, 1, NULL}, /* the mark alone: what it is drawn onto is marked */
    {"\xe6\xbc\xa2\xcc\x88|x|", 2, 1, NULL},
    {"\xe0\xa4\x95\xe0\xa5\x8d|x|", 1, 1, NULL},
    /* emoji: alone, with a skin, in the style of emojis, joined, flags */
    {"\xf0\x9f\x98\x80|x|", 2, 1, NULL},
    {"\xf0\x9f\x91\x8b\xf0\x9f\x8f\xbd|x|", 2, 1, NULL},
    {"\xe2\x9d\xa4|x|", 1, 1, NULL},
    {"\xe2\x9d\xa4\xef\xb8\x8f|x|", 2, 1, NULL},
    {"1\xef\xb8\x8f\xe2\x83\xa3|x|", 2, 1, NULL},
    {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7|x|", 2, 1, NULL},
    {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x91\xa8|x|", 2, 1,
     NULL},
    {"\xf0\x9f\x91\xa9|\xe2\x80\x8d|\xf0\x9f\x91\xa7x", 0, 2, NULL},
    {"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xab\xf0\x9f\x87\xb7|x|", 4, 1, NULL},
    {"a\xe2\x80\x8d|b|", 1, 1, NULL}, /* letters are not joined */
    /* what is not seen, or changes the order, is escaped; so are controls and what is no UTF-8 */
    {"a\xe2\x80\x8b|b|", 7, 1, "a\\u200bb"},
    {"\xe2\x80\xae|b|", 6, 1, "\\u202eb"},
    {"|\xe2\x81\xa6|b", 0, 6, "\\u2066b"},
    {"\xef\xbb\xbf|b|", 6, 1, "\\ufeffb"},
    {"\x1b|b|", 4, 1, "\\x1bb"},
    {"\xc2\x85|b|", 6, 1, "\\u0085b"},
    {"\xff\xfe|b|", 8, 1, "\\xff\\xfeb"},
    {"\xed\xa0\x80|b|", 12, 1, "\\xed\\xa0\\x80b"}, /* half a pair of UTF-16 */
    {"\xe6\xbc|b|", 8, 1, "\\xe6\\xbcb"},
    /* behind the end */
    {"\xe6\xbc\xa2||", 2, 1, NULL},
};

Test(excerpt, columns) {
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    char line[100], expected[300];
    const char *first = strchr(rows[i].line, '|'), *second = strchr(first + 1, '|');
    size_t before = (size_t)(first - rows[i].line), marked = (size_t)(second - first) - 1;
    snprintf(line, sizeof line, "%.*s%.*s%s", (int)before, rows[i].line, (int)marked, first + 1,
             second + 1);
    int n = snprintf(expected, sizeof expected, "    1 | %s\n      | %*s^",
                     rows[i].shown != NULL ? rows[i].shown : line, (int)rows[i].before, "");
    for (unsigned k = 1; k < rows[i].marked; k++) expected[n++] = '~';
    strcpy(expected + n, "\n");
    char *shown = excerpt(&comp, line, strlen(line), (uint32_t)before + 1, (uint32_t)marked);
    cr_expect_str_eq(shown, expected, "%zu:\n%sand not\n%s", i, shown, expected);
  }
  hiaR_comp_free(&comp);
}

/* The columns of a text that was shown, without escapes. */
static size_t width(const char *text) {
  size_t all = 0;
  for (size_t at = 0, len = strlen(text); at < len;) {
    hia_cluster k = hiaR_cluster(text + at, len - at);
    all += k.columns;
    at += k.len;
  }
  return all;
}

/* Long lines are cut between clusters, and the caret still stands below its character. */
Test(excerpt, long_lines) {
  static const char *const units[] = {"ab", "\xe6\xbc\xa2", "e\xcc\x81",
                                      "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7", "\xff"};
  static const unsigned lengths[] = {1, 20, 60, 200, 9000};
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  for (size_t u = 0; u < HIA_LEN(units); u++)
    for (size_t a = 0; a < HIA_LEN(lengths); a++)
      for (size_t b = 0; b < HIA_LEN(lengths); b++) {
        hia_text line;
        hiaR_text_init(&line, &comp.arena);
        for (unsigned i = 0; i < lengths[a]; i++) hiaR_text_add(&line, units[u], strlen(units[u]));
        uint32_t col = (uint32_t)line.len + 1;
        hiaR_text_add(&line, "?", 1);
        for (unsigned i = 0; i < lengths[b]; i++) hiaR_text_add(&line, units[u], strlen(units[u]));
        char *shown = excerpt(&comp, line.data, line.len, col, 1);
        char *mark = strchr(shown, '?'), *second = strchr(shown, '\n'), *caret = strchr(shown, '^');
        cr_assert(mark != NULL && second != NULL && caret != NULL, "%s", shown);
        *mark = *second = *caret = '\0';
        cr_expect_eq(width(shown), width(second + 1), "%zu %zu %zu: %zu and %zu", u, a, b,
                     width(shown), width(second + 1));
        size_t all = width(shown) + 1 + width(mark + 1);
        cr_expect_leq(all, 8 + 3 + 96 + 3, "%zu columns", all);
      }
  hiaR_comp_free(&comp);
}

/* A character with any number of marks ends somewhere, and so does a file that is one line. */
Test(excerpt, is_bounded) {
  size_t len = 1 << 22;
  char *text = malloc(len);
  memset(text, 'x', len);
  for (size_t i = 1; i + 2 < len / 2; i += 2) memcpy(text + i, "\xcc\x81", 2);
  hia_comp comp;
  hiaR_comp_init(&comp, &hiaR_malloc);
  for (uint32_t i = 1; i <= 100; i++) {
    char *shown = excerpt(&comp, text, len, i * (uint32_t)(len / 100), 1);
    cr_assert_lt(strlen(shown), 20000);
  }
  hiaR_comp_free(&comp);
  free(text);
}
