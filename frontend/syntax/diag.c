/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: a list ordered by position, and their printing. */
#include "frontend/syntax/diag.h"
#include "frontend/syntax/program.h"
#include "runtime/base/excerpt.h"

#include <stdio.h>

#define MESSAGE_MAX 400u

static const char *const codes[] = {
#define HIA_ERROR(code, ...) #code,
#include "frontend/syntax/errors.def"
};

const char *hiaF_error_code(enum hia_code code) { return codes[code]; }

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

hia_place hiaF_place(const hia_source *source, uint32_t line) {
  hia_place place = {source->name, source->text, source->len, line};
  if (source->expr_line == 0) return place;
  place.len = source->expr_at - 1; /* without the line end before the expression */
  if (line < source->expr_line) return place;
  return (hia_place){HIA_EXPRESSION, source->text + source->expr_at, source->len - source->expr_at,
                     line - source->expr_line + 1};
}

void hiaF_find_lines(hia_program *p) {
  const char *text = p->source->text, *end = text + p->source->len;
  hia_u32vec lines = {0};
  hiaR_push(p->arena, &lines, 0);
  for (const char *nl = text; (nl = memchr(nl, '\n', (size_t)(end - nl))) != NULL;)
    hiaR_push(p->arena, &lines, (uint32_t)(++nl - text));
  p->lines = lines.data;
  p->n_lines = lines.len;
}

void hiaF_position(const hia_program *p, uint32_t at, uint32_t *line, uint32_t *col) {
  uint32_t low = 0, high = p->n_lines; /* lines[low] <= at < lines[high] */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (p->lines[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  *line = hiaF_place(p->source, low + 1).line;
  *col = at - p->lines[low] + 1;
}

/* Inserts in order of position, behind those at the same position. NULL if the list is full. */
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

/* Names and types of the user can be of any length, so messages are cut. */
static const char *format(hia_arena *arena, const char *fmt, va_list args) {
  hia_text text;
  hiaR_text_init(&text, arena);
  hiaR_text_vaddf(&text, fmt, args);
  if (text.len > MESSAGE_MAX) memcpy(text.data + MESSAGE_MAX - 3, "...", 4);
  return text.data;
}

/* How many of the bytes are on the line of the first, at least 1. */
static uint32_t on_line(const hia_source *source, uint32_t start, uint32_t end) {
  if (end <= start) end = start + 1;
  const char *at = source->text + start;
  const char *nl = start < source->len ? memchr(at, '\n', end - start) : NULL;
  return nl != NULL && nl > at ? (uint32_t)(nl - at) : nl != NULL ? 1 : end - start;
}

hia_diag *hiaF_error(hia_diags *diags, enum hia_code code, uint32_t start, uint32_t end,
                     const char *fmt, ...) {
  hia_diag diag = {.code = codes[code]};
  if (diags->list.len >= HIA_MAX_DIAGS) {
    diags->suppressed++;
    return NULL;
  }
  hiaF_line_col(diags->source, start, &diag.line, &diag.col);
  diag.len = on_line(diags->source, start, end);
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
  diag->fix = NULL;
}

void hiaF_fix(hia_diags *diags, hia_diag *diag, hia_edit edit, uint32_t start, uint32_t end,
              const char *fmt, ...) {
  if (diag == NULL) return;
  hia_text text;
  hiaR_text_init(&text, &diags->comp->arena);
  va_list args;
  va_start(args, fmt);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  diag->fix = text.data;
  diag->edit = edit;
  diag->fix_start = start;
  diag->fix_end = end;
}

void hiaF_note(hia_diags *diags, hia_diag *diag, uint32_t at, const char *fmt, ...) {
  if (diag == NULL) return;
  hia_diag_note note = {.line = 0};
  va_list args;
  va_start(args, fmt);
  note.text = format(&diags->comp->arena, fmt, args);
  va_end(args);
  if (at != HIA_NONE) hiaF_line_col(diags->source, at, &note.line, &note.col);
  hiaR_push(&diags->comp->arena, &diag->notes, note);
}

void hiaF_mark(hia_diags *diags, hia_diag *diag, uint32_t start, uint32_t end, const char *shape) {
  hia_arena *arena = &diags->comp->arena;
  if (diag == NULL) return;
  hia_diag_note note = {.label = shape, .text = hiaR_arena_printf(arena, "this is %s", shape)};
  hiaF_line_col(diags->source, start, &note.line, &note.col);
  note.len = on_line(diags->source, start, end);
  hiaR_push(arena, &diag->notes, note);
}

/* ---- printing ---- */

static void excerpt(const hia_source *source, uint32_t line, uint32_t col, hia_text *out) {
  hia_place place = hiaF_place(source, line);
  hiaR_excerpt(place.text, place.len, place.line, col, 1, out);
}

/* The line of the error, and those of its operands. All memory is of the text, whose compilation is
 * the one that is armed: a failure of another one would leave an unfinished error behind. */
static void excerpt_error(const hia_diags *diags, const hia_diag *d, hia_text *out) {
  hia_place place = hiaF_place(diags->source, d->line);
  hia_stretch *marks = HIA_NEW_ARRAY(out->arena, hia_stretch, d->notes.len + 1);
  uint32_t n = 0;
  for (uint32_t k = 0; k < d->notes.len; k++) {
    const hia_diag_note *note = &d->notes.data[k];
    uint32_t line = hiaF_place(diags->source, note->line).line;
    if (note->label) marks[n++] = (hia_stretch){line, note->col, note->len, note->label};
  }
  hiaR_excerpt_all(place.text, place.len, &(hia_stretch){place.line, d->col, d->len, NULL}, marks,
                   n, out);
}

static void print_place(const hia_source *source, uint32_t line, uint32_t col, hia_text *out) {
  hia_place place = hiaF_place(source, line);
  if (place.file[0] != '\0') {
    hiaR_show(out, place.file, strlen(place.file));
    hiaR_text_add(out, ":", 1);
  }
  if (line != 0) hiaR_text_addf(out, "%u:%u:", place.line, col);
  if (place.file[0] != '\0' || line != 0) hiaR_text_add(out, " ", 1);
}

void hiaF_diag_print(const hia_diags *diags, uint32_t i, hia_text *out) {
  const hia_diag *d = &diags->list.data[i];
  print_place(diags->source, d->line, d->col, out);
  hiaR_text_addf(out, "error[%s]: %s\n", d->code, d->message);
  excerpt_error(diags, d, out);
  if (d->hint != NULL) hiaR_text_addf(out, "      = hint: %s\n", d->hint);
  for (uint32_t k = 0; k < d->notes.len; k++) {
    const hia_diag_note *note = &d->notes.data[k];
    if (note->label != NULL) continue;
    if (note->line == 0) {
      hiaR_text_addf(out, "      = note: %s\n", note->text);
      continue;
    }
    print_place(diags->source, note->line, note->col, out);
    hiaR_text_addf(out, "note: %s\n", note->text);
    excerpt(diags->source, note->line, note->col, out);
  }
}
