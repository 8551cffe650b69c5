/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines of a source as they are shown to users. */
#include "runtime/base/excerpt.h"
#include <stdio.h>

#define EXCERPT_WIDTH 96u  /* columns of a source line that are shown */
#define MAX_SHOWN     4096 /* bytes before the caret, and behind it: few of them may take columns */
#define MAX_LABELS    8u   /* of those below a line */

void hiaR_show(hia_text *out, const char *bytes, size_t n) {
  for (size_t i = 0; i < n;) {
    hia_cluster k = hiaR_cluster(bytes + i, n - i);
    bool is_escaped = k.escape[0] != '\0';
    hiaR_text_add(out, is_escaped ? k.escape : bytes + i, is_escaped ? strlen(k.escape) : k.len);
    i += k.len;
  }
}

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* ---- one line ---- */

/* A line of the text, and what is shown of it: from .. to. */
typedef struct shown {
  const char *start, *stop, *from, *to;
  int gutter; /* characters before the line: its number */
  const char *dots;
} shown;

/* False: there is no such line. */
static bool find_line(const char *text, size_t text_len, uint32_t line, shown *s) {
  const char *start = text, *end = text + text_len;
  if (line == 0) return false;
  for (uint32_t k = 1; k < line; k++) {
    start = memchr(start, '\n', (size_t)(end - start));
    if (start == NULL) return false;
    start++;
  }
  const char *stop = memchr(start, '\n', (size_t)(end - start));
  if (stop == NULL) stop = end;
  if (stop > start && stop[-1] == '\r') stop--;
  s->start = start;
  s->stop = stop;
  s->gutter = snprintf(NULL, 0, "%5u", line);
  return true;
}

static const char *byte_at(const shown *s, uint32_t col) {
  size_t len = (size_t)(s->stop - s->start), at = col ? col - 1 : 0;
  return s->start + (at < len ? at : len);
}

/* Goes on over clusters up to the one that has byte `to`, as long as they take no more columns
 * than `most` with those of *width, to which it adds theirs. */
static const char *skip(const shown *s, const char *at, const char *to, size_t most,
                        size_t *width) {
  while (at < to) {
    hia_cluster k = hiaR_cluster(at, (size_t)(s->stop - at));
    if (at + k.len > to || *width + k.columns > most) break;
    *width += k.columns;
    at += k.len;
  }
  return at;
}

/* Shows a part of a long line, around the caret. */
static void cut(shown *s, const char *caret) {
  /* A line may be as long as a file. */
  s->from = caret - s->start > MAX_SHOWN ? caret - MAX_SHOWN : s->start;
  const char *end = s->stop - caret > MAX_SHOWN ? caret + MAX_SHOWN : s->stop;
  while (s->from > s->start && is_continuation(*s->from)) s->from--;
  size_t before = 0;
  const char *at = skip(s, s->from, caret, SIZE_MAX, &before);
  size_t width = before;
  s->to = skip(s, at, end, EXCERPT_WIDTH, &width);
  if (s->from > s->start || s->to < s->stop || width > EXCERPT_WIDTH) {
    while (before > EXCERPT_WIDTH / 2) {
      hia_cluster k = hiaR_cluster(s->from, (size_t)(s->stop - s->from));
      before -= k.columns;
      s->from += k.len;
    }
    width = before;
    s->to = skip(s, at, end, EXCERPT_WIDTH, &width);
  }
  s->dots = s->from > s->start ? "..." : "";
}

/* How many columns the shown bytes before this one take: without the cluster that has it or, if it
 * is_end of a stretch, with it. */
static size_t column(const shown *s, const char *byte, bool is_end) {
  size_t width = 0;
  const char *at = skip(s, s->from, byte, SIZE_MAX, &width);
  if (is_end && at < byte) width += hiaR_cluster(at, (size_t)(s->stop - at)).columns;
  return width;
}

/* Puts a character below columns from .. to of a line of spaces. */
static void put(hia_text *row, size_t from, size_t to, char c) {
  while (row->len < to) hiaR_text_add(row, " ", 1);
  memset(row->data + from, c, to - from);
}

/* The columns of a span; false: it is not shown. */
static bool columns(const shown *s, const hia_stretch *span, size_t *from, size_t *to) {
  const char *first = byte_at(s, span->col);
  size_t left = first < s->to ? (size_t)(s->to - first) : 0;
  if (first < s->from || (first >= s->to && first > s->from && s->to < s->stop)) return false;
  *from = column(s, first, false);
  *to = column(s, first + (span->len < left ? span->len : left), true);
  if (*to <= *from) *to = *from + 1; /* also behind the end of the line */
  return true;
}

static void add_row(const shown *s, const hia_text *row, hia_text *out) {
  hiaR_text_addf(out, "%*s | %*s%.*s\n", s->gutter, "", (int)strlen(s->dots), "", (int)row->len,
                 row->data);
}

/* Writes the labels below their spans, in as many rows as they need. */
static void add_labels(const shown *s, uint32_t line, const hia_stretch *spans, uint32_t n,
                       hia_text *out) {
  uint32_t n_left = 0;
  bool is_done[MAX_LABELS] = {false};
  if (n > MAX_LABELS) n = MAX_LABELS;
  for (uint32_t i = 0; i < n; i++) {
    size_t from, to;
    is_done[i] = spans[i].line != line || !spans[i].label || !columns(s, &spans[i], &from, &to);
    n_left += !is_done[i];
  }
  while (n_left) {
    hia_text row;
    hiaR_text_init(&row, out->arena);
    for (;;) { /* the leftmost that is right of those in the row */
      uint32_t next = n;
      size_t at = 0;
      for (uint32_t i = 0; i < n; i++) {
        size_t from, to;
        if (is_done[i] || !columns(s, &spans[i], &from, &to)) continue;
        if (row.len && from < row.len + 1) continue;
        if (next == n || from < at) next = i, at = from;
      }
      if (next == n) break;
      if (at) put(&row, row.len, at, ' ');
      hiaR_text_add(&row, spans[next].label, strlen(spans[next].label));
      is_done[next] = true;
      n_left--;
    }
    add_row(s, &row, out);
  }
}

/* `at`: has the caret; NULL: the line has none. */
static void add_line(const char *text, size_t text_len, uint32_t line, const hia_stretch *at,
                     const hia_stretch *spans, uint32_t n, hia_text *out) {
  shown s;
  size_t from, to;
  if (!find_line(text, text_len, line, &s)) return;
  cut(&s, byte_at(&s, at ? at->col : spans[0].col));
  hiaR_text_addf(out, "%5u | %s", line, s.dots);
  hiaR_show(out, s.from, (size_t)(s.to - s.from));
  hiaR_text_addf(out, "%s\n", s.to < s.stop ? "..." : "");
  hia_text row;
  hiaR_text_init(&row, out->arena);
  for (uint32_t i = 0; i < n; i++)
    if (spans[i].line == line && columns(&s, &spans[i], &from, &to)) put(&row, from, to, '~');
  if (at && columns(&s, at, &from, &to)) {
    put(&row, from, to, '~');
    row.data[from] = '^';
  }
  add_row(&s, &row, out);
  add_labels(&s, line, spans, n, out);
}

void hiaR_excerpt(const char *text, size_t text_len, uint32_t line, uint32_t col, uint32_t len,
                  hia_text *out) {
  hia_stretch at = {line, col, len, NULL};
  hiaR_excerpt_all(text, text_len, &at, NULL, 0, out);
}

void hiaR_excerpt_all(const char *text, size_t text_len, const hia_stretch *at,
                      const hia_stretch *spans, uint32_t n, hia_text *out) {
  add_line(text, text_len, at->line, at, spans, n, out);
  for (uint32_t i = 0; i < n; i++) {
    bool is_shown = spans[i].line == at->line;
    for (uint32_t k = 0; k < i; k++) is_shown |= spans[k].line == spans[i].line;
    if (!is_shown) add_line(text, text_len, spans[i].line, NULL, spans + i, n - i, out);
  }
}
