/* Diagnostics: a list ordered by position, and how one is shown. */
#include "frontend/ast.h"

#include <stdio.h>

#define MESSAGE_MAX   400u
#define EXCERPT_WIDTH 96u /* characters of a source line that are shown */

static const char *const codes[] = {
#define HIA_ERROR(code, text) #code,
#include "frontend/errors.def"
};

const char *hiaF_error_code(enum hia_error code) { return codes[code]; }

void hiaF_diags_init(hia_diags *diags, hia_comp *comp, const hia_source *source) {
  memset(diags, 0, sizeof *diags);
  diags->comp = comp;
  diags->source = source;
}

void hiaF_line_col(const hia_source *source, uint32_t at, uint32_t *line, uint32_t *col) {
  const char *text = source->text, *start = text, *end = text + at;
  *line = 1;
  for (const char *nl; (nl = memchr(start, '\n', (size_t)(end - start))) != NULL; start = nl + 1)
    ++*line;
  *col = (uint32_t)(end - start) + 1;
}

/* Puts it where its position belongs, behind what is there of the same one. The list is full: NULL.
 */
static hia_diag *insert(hia_diags *diags, const hia_diag *diag) {
  for (uint32_t i = 0; i < diags->list.len; i++) {
    const hia_diag *d = &diags->list.data[i];
    if (d->line == diag->line && d->col == diag->col && strcmp(d->code, diag->code) == 0)
      return NULL;
  }
  if (diags->list.len >= HIA_MAX_DIAGS) {
    diags->suppressed++;
    return NULL;
  }
  hiaR_push(&diags->comp->arena, &diags->list, *diag);
  uint32_t i = diags->list.len - 1;
  for (; i > 0; i--) {
    const hia_diag *d = &diags->list.data[i - 1];
    if (d->line < diag->line || (d->line == diag->line && d->col <= diag->col)) break;
    diags->list.data[i] = *d;
  }
  diags->list.data[i] = *diag;
  return &diags->list.data[i];
}

/* Names and types of the user can be of any length: a message is cut. */
static const char *format(hia_arena *arena, const char *fmt, va_list args) {
  hia_text text;
  hiaR_text_init(&text, arena);
  hiaR_text_vaddf(&text, fmt, args);
  if (text.len > MESSAGE_MAX) memcpy(text.data + MESSAGE_MAX - 3, "...", 4);
  return text.data;
}

hia_diag *hiaF_error(hia_diags *diags, enum hia_error code, uint32_t start, uint32_t end,
                     const char *fmt, ...) {
  hia_diag diag = {.code = codes[code]};
  if (diags->list.len >= HIA_MAX_DIAGS) {
    diags->suppressed++;
    return NULL;
  }
  hiaF_line_col(diags->source, start, &diag.line, &diag.col);
  if (end <= start) end = start + 1;
  const char *at = diags->source->text + start;
  const char *nl = start < diags->source->len ? memchr(at, '\n', end - start) : NULL;
  diag.len = nl != NULL && nl > at ? (uint32_t)(nl - at) : nl != NULL ? 1 : end - start;
  va_list args;
  va_start(args, fmt);
  diag.message = format(&diags->comp->arena, fmt, args);
  va_end(args);
  return insert(diags, &diag);
}

void hiaF_diag_add(hia_diags *diags, const hia_diag *diag) { insert(diags, diag); }

void hiaF_hint(hia_diags *diags, hia_diag *diag, const char *fmt, ...) {
  if (diag == NULL) return;
  va_list args;
  va_start(args, fmt);
  diag->hint = format(&diags->comp->arena, fmt, args);
  va_end(args);
}

void hiaF_note(hia_diags *diags, hia_diag *diag, uint32_t at, const char *fmt, ...) {
  if (diag == NULL) return;
  va_list args;
  va_start(args, fmt);
  diag->note = format(&diags->comp->arena, fmt, args);
  va_end(args);
  hiaF_line_col(diags->source, at, &diag->note_line, &diag->note_col);
}

/* ---- showing ---- */

/* Length of a valid UTF-8 character at `s`, 0 if there is none. */
static size_t utf8_len(const unsigned char *s, size_t n) {
  if (s[0] < 0x80) return 1;
  size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
  if (len == 0 || len > n || s[0] > 0xf4) return 0;
  for (size_t i = 1; i < len; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  return len;
}

/* The bytes as they are shown; `mark` for each column that they take if that is not NULL. */
static void show(hia_text *out, const char *bytes, size_t n, const char *mark) {
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

void hiaF_excerpt(const hia_source *source, uint32_t line, uint32_t col, uint32_t len,
                  hia_text *out) {
  if (line == 0) return;
  const char *start = source->text, *end = source->text + source->len;
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
  show(out, from, (size_t)(to - from), NULL);
  hiaR_text_addf(out, "%s\n%*s | %*s", to < stop ? "..." : "", gutter, "", (int)strlen(dots), "");
  show(out, from, (size_t)(caret - from), " ");
  hiaR_text_add(out, "^", 1);
  hia_text marks;
  hiaR_text_init(&marks, out->arena);
  show(&marks, caret, (size_t)(last - caret), "~");
  if (marks.len > 1) hiaR_text_add(out, marks.data + 1, marks.len - 1);
  hiaR_text_add(out, "\n", 1);
}

static void print_place(const hia_source *source, uint32_t line, uint32_t col, hia_text *out) {
  if (source->name[0] != '\0') {
    show(out, source->name, strlen(source->name), NULL);
    hiaR_text_add(out, ":", 1);
  }
  if (line != 0) hiaR_text_addf(out, "%u:%u:", line, col);
  if (source->name[0] != '\0' || line != 0) hiaR_text_add(out, " ", 1);
}

void hiaF_diag_print(const hia_diags *diags, uint32_t i, hia_text *out) {
  const hia_diag *d = &diags->list.data[i];
  print_place(diags->source, d->line, d->col, out);
  hiaR_text_addf(out, "error[%s]: %s\n", d->code, d->message);
  hiaF_excerpt(diags->source, d->line, d->col, d->len, out);
  if (d->hint != NULL) hiaR_text_addf(out, "      = hint: %s\n", d->hint);
  if (d->note_line != 0) {
    print_place(diags->source, d->note_line, d->note_col, out);
    hiaR_text_addf(out, "note: %s\n", d->note);
    hiaF_excerpt(diags->source, d->note_line, d->note_col, 1, out);
  }
}
