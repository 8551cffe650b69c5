/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The engine's errors: of requests, of rejected programs, of runs. */
#include "jit/engine/engine.h"

hia_status hiaJ_fail_at(const hia_allocator *allocator, hia_error **error, hia_status status,
                        const char *code, const hia_source *source, uint32_t line, uint32_t col,
                        const char *message) {
  return hiaR_fail_message(allocator, error, status,
                           &(hia_message){.message = message,
                                          .code = code,
                                          .file = source->name,
                                          .text = source->text,
                                          .text_size = source->len,
                                          .line = line,
                                          .col = col});
}

hia_status hiaJ_fail_compile(const hia_allocator *allocator, hia_error **error, hia_status status,
                             hia_error *cause) {
  hiaJ_fail(allocator, error, status, NULL, "cannot compile: %s",
            cause ? hia_error_message(cause, 0) : hiaR_status_message(status));
  hia_error_free(cause);
  return status;
}

/* ---- of a rejected program ---- */

static void copy_notes(hia_error *error, hia_error_entry *entry, const hia_source *source,
                       const hia_diag *d) {
  hia_entry_note *notes = HIA_NEW_ARRAY(&error->comp.arena, hia_entry_note, d->notes.len);
  for (uint32_t i = 0; i < d->notes.len; i++) {
    const hia_diag_note *note = &d->notes.data[i];
    hia_place place = hiaF_place(source, note->line);
    notes[i] = (hia_entry_note){hiaR_error_copy(error, note->text),
                                hiaR_error_copy(error, note->line ? place.file : NULL), place.line,
                                note->col};
  }
  entry->notes = notes;
  entry->n_notes = d->notes.len;
}

static hia_entry_fix fix_of(hia_error *error, const hia_source *source, const hia_diag *d) {
  hia_entry_fix fix = {.text = NULL};
  if (d->fix == NULL) return fix;
  uint32_t line, end_line;
  hiaF_line_col(source, d->fix_start, &line, &fix.col);
  hiaF_line_col(source, d->fix_end, &end_line, &fix.end_col);
  hia_place place = hiaF_place(source, line);
  fix.text = hiaR_error_copy(error, d->fix);
  fix.file = hiaR_error_copy(error, place.file);
  fix.line = place.line;
  fix.end_line = place.line + (end_line - line);
  return fix;
}

static void fill_diags(hia_error *error, const void *user) {
  const hia_diags *diags = user;
  error->file = hiaR_error_copy(error, diags->source->name);
  error->n_entries = diags->list.len;
  error->entries = HIA_NEW_ARRAY(&error->comp.arena, hia_error_entry, diags->list.len);
  hia_text text;
  hiaR_text_init(&text, &error->comp.arena);
  for (uint32_t i = 0; i < diags->list.len; i++) {
    const hia_diag *d = &diags->list.data[i];
    hia_place place = hiaF_place(diags->source, d->line);
    error->entries[i] = (hia_error_entry){.code = hiaR_error_copy(error, d->code),
                                          .message = hiaR_error_copy(error, d->message),
                                          .hint = hiaR_error_copy(error, d->hint),
                                          .file = hiaR_error_copy(error, place.file),
                                          .line = place.line,
                                          .col = d->col,
                                          .end_col = d->line ? d->col + d->len : 0};
    error->entries[i].fix = fix_of(error, diags->source, d);
    if (d->notes.len > 0) copy_notes(error, &error->entries[i], diags->source, d);
    hiaF_diag_print(diags, i, &text);
  }
  error->n_left_out = diags->suppressed;
  if (diags->suppressed) hiaR_text_addf(&text, "and %u more errors\n", diags->suppressed);
  error->text = text.data ? text.data : "";
}

hia_status hiaJ_fail_diags(const hia_allocator *allocator, hia_error **error, hia_status status,
                           const hia_diags *diags) {
  return hiaR_error_make(allocator, error, status, fill_diags, diags);
}

hia_status hiaJ_fail_run(hia_engine *engine, hia_error **error, const hia_failure *failure,
                         const hia_run_options *options, bool is_native, const hia_places *places) {
  const hia_bounds bounds = {.depth = options->max_depth,
                             .memory = options->max_memory,
                             .timeout_ns = options->timeout_ns,
                             .is_native = is_native};
  return hiaR_fail_run(&engine->allocator, error, failure, &bounds, places);
}
