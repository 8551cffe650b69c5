/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines of a source as they are shown to users. */
#include "runtime/base/base.h"
#include <stdio.h>

#define EXCERPT_WIDTH 96u /* characters of a source line that are shown */

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

void hiaR_excerpt(const char *text, size_t text_len, uint32_t line, uint32_t col, uint32_t len,
                  hia_text *out) {
  if (line == 0) return;
  const char *start = text, *end = text + text_len;
  for (uint32_t k = 1; k < line; k++) {
    start = memchr(start, '\n', (size_t)(end - start));
    if (start == NULL) return;
    start++;
  }
  const char *stop = memchr(start, '\n', (size_t)(end - start));
  if (stop == NULL) stop = end;
  if (stop > start && stop[-1] == '\r') stop--;
  if (col == 0) col = 1;
  if (col - 1 > (size_t)(stop - start)) col = (uint32_t)(stop - start) + 1;
  const char *caret = start + (col - 1), *from = start, *to = stop;
  if ((size_t)(stop - start) > EXCERPT_WIDTH) {
    if ((size_t)(caret - start) > EXCERPT_WIDTH / 2) from = caret - EXCERPT_WIDTH / 2;
    while (from > start && is_continuation(*from)) from--;
    if ((size_t)(to - from) > EXCERPT_WIDTH) to = from + EXCERPT_WIDTH;
    while (to < stop && is_continuation(*to)) to++;
  }
  if (len == 0) len = 1;
  const char *last = (size_t)(to - caret) < len ? to : caret + len;
  int gutter = snprintf(NULL, 0, "%5u", line);
  const char *dots = from > start ? "..." : "";
  hiaR_text_addf(out, "%5u | %s", line, dots);
  hiaR_show(out, from, (size_t)(to - from), NULL);
  hiaR_text_addf(out, "%s\n%*s | %*s", to < stop ? "..." : "", gutter, "", (int)strlen(dots), "");
  hiaR_show(out, from, (size_t)(caret - from), " ");
  hiaR_text_add(out, "^", 1);
  hia_text marks;
  hiaR_text_init(&marks, out->arena);
  hiaR_show(&marks, caret, (size_t)(last - caret), "~");
  if (marks.len > 1) hiaR_text_add(out, marks.data + 1, marks.len - 1);
  hiaR_text_add(out, "\n", 1);
}
