/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines of a source as they are shown to users. */
#include "runtime/base/excerpt.h"
#include <stdio.h>

#define EXCERPT_WIDTH 96u /* characters of a source line that are shown */
#define MAX_LABELS    8u  /* of those below a line */

/* Length of a valid UTF-8 character at `s`, 0 if there is none. */
static size_t utf8_len(const unsigned char *s, size_t n) {
  if (s[0] < 0x80) return 1;
  size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
  if (len == 0 || len > n || s[0] > 0xf4) return 0;
  for (size_t i = 1; i < len; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  return len;
}

void hiaR_show(hia_text *out, const char *bytes, size_t n, const char *mark) {
  for (size_t i = 0; i < n;) {
    const unsigned char *c = (const unsigned char *)bytes + i;
    size_t len = utf8_len(c, n - i);
    char escape[8];
    const char *s = bytes + i;
    size_t s_len = len, columns = 1;
    if (*c == '\t') {
      s = " ", s_len = 1;
    } else if (len == 0 || *c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0)) {
      s_len = columns = (size_t)snprintf(escape, sizeof escape, "\\x%02x", *c);
      s = escape;
      len = 1;
    }
    if (mark == NULL) {
      hiaR_text_add(out, s, s_len);
    } else {
      for (size_t k = 0; k < columns; k++) hiaR_text_add(out, mark, 1);
    }
    i += len;
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

/* Shows a part of a long line around the caret. */
static void cut(shown *s, const char *caret) {
  s->from = s->start, s->to = s->stop;
  if ((size_t)(s->stop - s->start) > EXCERPT_WIDTH) {
    if ((size_t)(caret - s->start) > EXCERPT_WIDTH / 2) s->from = caret - EXCERPT_WIDTH / 2;
    while (s->from > s->start && is_continuation(*s->from)) s->from--;
    if ((size_t)(s->to - s->from) > EXCERPT_WIDTH) s->to = s->from + EXCERPT_WIDTH;
    while (s->to < s->stop && is_continuation(*s->to)) s->to++;
  }
  s->dots = s->from > s->start ? "..." : "";
}

/* How many columns the shown bytes before this one take. */
static size_t column(const shown *s, const char *byte, hia_arena *arena) {
  hia_text text;
  hiaR_text_init(&text, arena);
  hiaR_show(&text, s->from, (size_t)(byte - s->from), " ");
  return text.len;
}

/* Puts a character below columns from .. to of a line of spaces. */
static void put(hia_text *row, size_t from, size_t to, char c) {
  while (row->len < to) hiaR_text_add(row, " ", 1);
  memset(row->data + from, c, to - from);
}

/* The columns of a span; false: it is not shown. */
static bool columns(const shown *s, const hia_stretch *span, hia_arena *arena, size_t *from,
                    size_t *to) {
  const char *first = byte_at(s, span->col);
  size_t left = first < s->to ? (size_t)(s->to - first) : 0;
  if (first < s->from || (first >= s->to && first > s->from && s->to < s->stop)) return false;
  *from = column(s, first, arena);
  *to = column(s, first + (span->len < left ? span->len : left), arena);
  if (*to <= *from) *to = *from + 1;
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
    is_done[i] =
        spans[i].line != line || !spans[i].label || !columns(s, &spans[i], out->arena, &from, &to);
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
        if (is_done[i] || !columns(s, &spans[i], out->arena, &from, &to)) continue;
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
  hiaR_show(out, s.from, (size_t)(s.to - s.from), NULL);
  hiaR_text_addf(out, "%s\n", s.to < s.stop ? "..." : "");
  hia_text row;
  hiaR_text_init(&row, out->arena);
  for (uint32_t i = 0; i < n; i++)
    if (spans[i].line == line && columns(&s, &spans[i], out->arena, &from, &to))
      put(&row, from, to, '~');
  if (at && columns(&s, at, out->arena, &from, &to)) {
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
