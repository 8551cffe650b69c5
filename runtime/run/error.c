/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Errors as objects: made once, complete, from whatever went wrong; they refer to nothing else
 * afterwards. */
#include "runtime/run/error.h"
#include "runtime/base/excerpt.h"
#include "runtime/base/loc.h"
#include <stdio.h>

/* The text shows this many entries at each end of a long backtrace. */
#define SHOWN_ENDS 10

/* ---- making ---- */

static hia_error *error_new(const hia_allocator *allocator, hia_status status) {
  hia_error *error = hiaR_alloc(allocator, sizeof *error);
  if (!error) return NULL;
  error->allocator = *allocator;
  error->status = status;
  hiaR_comp_init(&error->comp, &error->allocator);
  return error;
}

hia_status hiaR_error_make(const hia_allocator *allocator, hia_error **out, hia_status status,
                           void (*fill)(hia_error *error, const void *user), const void *user) {
  if (!out) return status;
  *out = NULL;
  hia_error *error = error_new(allocator, status);
  if (!error) return status;
  if (HIA_TRY(&error->comp)) fill(error, user);
  error->comp.armed = false;
  if (error->comp.status != HIA_OK) {
    hia_error_free(error);
    return status;
  }
  *out = error;
  return status;
}

const char *hiaR_error_copy(hia_error *error, const char *text) {
  return text ? hiaR_arena_strndup(&error->comp.arena, text, strlen(text)) : "";
}

static hia_error_entry *one_entry(hia_error *error, const char *code, const char *message,
                                  const char *hint) {
  error->n_entries = 1;
  error->entries = HIA_NEW(&error->comp.arena, hia_error_entry);
  *error->entries = (hia_error_entry){.code = hiaR_error_copy(error, code),
                                      .message = hiaR_error_copy(error, message),
                                      .hint = hiaR_error_copy(error, hint),
                                      .file = error->file};
  return error->entries;
}

/* "file:line:col: error[code]: message" and the source line, in the form of the frontend's
 * diagnostics. */
static void add_head(hia_error *error, hia_text *out, const char *text, size_t text_size,
                     const hia_stretch *operands, uint32_t n_operands) {
  const hia_error_entry *entry = error->entries;
  if (entry->file[0] && entry->line)
    hiaR_text_addf(out, "%s:%u:%u: ", entry->file, entry->line, entry->col);
  else if (entry->file[0])
    hiaR_text_addf(out, "%s: ", entry->file);
  else if (entry->line)
    hiaR_text_addf(out, "%u:%u: ", entry->line, entry->col);
  hiaR_text_addf(out, "error[%s]: %s\n", entry->code, entry->message);
  if (text_size && entry->line)
    hiaR_excerpt_all(text, text_size, &(hia_stretch){entry->line, entry->col, 1, NULL}, operands,
                     n_operands, out);
  if (entry->hint[0]) hiaR_text_addf(out, "      = hint: %s\n", entry->hint);
}

static void fill_message(hia_error *error, const void *user) {
  const hia_message *p = user;
  error->file = hiaR_error_copy(error, p->file);
  hia_error_entry *entry =
      one_entry(error, p->code ? p->code : hiaR_status_word(error->status), p->message, p->hint);
  entry->line = p->line;
  entry->col = p->col;
  hia_text text;
  hiaR_text_init(&text, &error->comp.arena);
  add_head(error, &text, p->text, p->text_size, NULL, 0);
  error->text = text.data;
}

hia_status hiaR_fail_message(const hia_allocator *allocator, hia_error **error, hia_status status,
                             const hia_message *message) {
  return hiaR_error_make(allocator, error, status, fill_message, message);
}

/* ---- of a failed run ---- */

typedef struct failed_run {
  const hia_failure *failure;
  const hia_bounds *bounds;
  const hia_places *places;
} failed_run;

/* True if the function is the expression behind the program. */
static bool is_expression(const char *name) { return name && strcmp(name, HIA_EXPRESSION) == 0; }

static hia_chain_entry chain_entry(hia_error *error, const hia_places *places, uint32_t loc) {
  if (loc >= places->n_locs) return (hia_chain_entry){.function = "", .file = error->file};
  const hia_image_loc *l = &places->locs[loc];
  const char *name = l->fn < places->strings_size ? places->strings + l->fn : NULL;
  return (hia_chain_entry){.function = hiaR_error_copy(error, name),
                           .file = is_expression(name) ? HIA_EXPRESSION : error->file,
                           .line = l->line,
                           .col = l->col};
}

static const hia_chain_entry *kept_entry(const hia_error *error, uint64_t i) {
  if (i < error->n_inner) return &error->chain[i];
  if (i >= error->chain_length || i < error->chain_length - error->n_outer) return NULL;
  return &error->chain[error->n_inner + (i - (error->chain_length - error->n_outer))];
}

/* The elements of an entry, whose first is number `i` of the backtrace. */
static void fill_elements(hia_error *error, hia_chain_entry *entry, const hia_backtrace *trace,
                          uint64_t i, uint32_t n) {
  if (!n) return;
  entry->elements = HIA_NEW_ARRAY(&error->comp.arena, int64_t, n);
  for (uint32_t k = 0; k < n; k++)
    if (!hiaR_backtrace_element(trace, i + k, &entry->elements[k])) return;
  entry->n_elements = n;
}

/* Where a resource has run out, the run was somewhere, and an element says nothing. */
static bool has_elements(const hia_error *error, const hia_backtrace *trace) {
  return error->status < HIA_MEMORY && trace->n_elements == trace->n_rows;
}

static uint32_t rows_of(const hia_places *places, uint32_t loc) {
  return loc < places->n_locs ? hiaR_backtrace_rows(places->locs, loc) : 0;
}

static void fill_chain(hia_error *error, const hia_backtrace *trace, const hia_places *places) {
  uint64_t length = trace->length;
  error->chain_length = length;
  error->n_inner = (uint32_t)(length < HIA_BACKTRACE_ENDS ? length : HIA_BACKTRACE_ENDS);
  error->is_cut = trace->is_cut;
  uint64_t rest = length - error->n_inner;
  while (error->n_outer < rest && error->n_outer < HIA_BACKTRACE_ENDS &&
         hiaR_backtrace_entry(trace, length - error->n_outer - 1) != HIA_NONE)
    error->n_outer++;
  uint32_t n = error->n_inner + error->n_outer;
  error->chain = HIA_NEW_ARRAY(&error->comp.arena, hia_chain_entry, n ? n : 1);
  for (uint32_t i = 0; i < error->n_inner; i++)
    error->chain[i] = chain_entry(error, places, hiaR_backtrace_entry(trace, i));
  for (uint32_t i = 0; i < error->n_outer; i++)
    error->chain[error->n_inner + i] =
        chain_entry(error, places, hiaR_backtrace_entry(trace, length - error->n_outer + i));
  if (!has_elements(error, trace)) return;
  uint64_t first = 0, end = trace->n_elements;
  for (uint32_t i = 0; i < error->n_inner; i++) {
    uint32_t k = rows_of(places, hiaR_backtrace_entry(trace, i));
    fill_elements(error, &error->chain[i], trace, first, k);
    first += k;
  }
  for (uint32_t i = error->n_outer; i-- > 0;) {
    uint32_t k = rows_of(places, hiaR_backtrace_entry(trace, length - error->n_outer + i));
    end -= k;
    fill_elements(error, &error->chain[error->n_inner + i], trace, end, k);
  }
}

/* ", element 3", or of comprehensions in one another ", element 3, 0": the outermost first. */
static void print_elements(const hia_chain_entry *entry, hia_text *text) {
  for (uint32_t i = entry->n_elements; i-- > 0;)
    hiaR_text_addf(text, "%s%lld", i + 1 == entry->n_elements ? ", element " : ", ",
                   (long long)entry->elements[i]);
}

static void print_chain(hia_error *error, hia_text *text) {
  uint64_t length = error->chain_length;
  for (uint64_t i = 0; i < length; i++) {
    if (length > 2 * SHOWN_ENDS && i == SHOWN_ENDS) {
      uint64_t left_out = length - 2 * SHOWN_ENDS;
      hiaR_text_addf(text, "  ... %s%llu calls more ...\n", error->is_cut ? "at least " : "",
                     (unsigned long long)left_out);
      i += left_out;
    }
    const hia_chain_entry *e = kept_entry(error, i);
    if (!e) continue;
    hiaR_text_addf(text, "  %s %s", i == 0 ? "in" : "called from",
                   e->function[0] ? e->function : "?");
    if (e->line)
      hiaR_text_addf(text, " at %s%s%u:%u", e->file, e->file[0] ? ":" : "", e->line, e->col);
    print_elements(e, text);
    hiaR_text_add(text, "\n", 1);
  }
}

static const char *size_text(hia_arena *arena, size_t bytes) {
  if (bytes >= (size_t)1 << 30)
    return hiaR_arena_printf(arena, "%.1f GiB", (double)bytes / (double)(1 << 30));
  if (bytes >= (size_t)1 << 20)
    return hiaR_arena_printf(arena, "%.1f MiB", (double)bytes / (double)(1 << 20));
  return hiaR_arena_printf(arena, "%zu bytes", bytes);
}

static const char *time_text(hia_arena *arena, uint64_t ns) {
  if (ns >= 1000000000u) return hiaR_arena_printf(arena, "%.6g s", (double)ns / 1e9);
  return hiaR_arena_printf(arena, "%.6g ms", (double)ns / 1e6);
}

static const char *range_message(hia_arena *arena, const hia_failure *failure) {
  const hia_range *range = &failure->range;
  long long first = range->first, end = range->end, length = range->length;
  const char *whose = "the array has", *what = "element";
  switch (failure->code >> 1) { /* hiaR_range_code */
  case HIA_RANGE_OF_VECTOR: whose = "the vector has"; break;
  case HIA_RANGE_OF_ROWS: whose = "the tensor has", what = "row"; break;
  case HIA_RANGE_OF_RESULT: whose = "the vector is to have"; break;
  case HIA_RANGE_OF_LABELS: whose = "the last axis has"; break;
  default: break;
  }
  const char *many = length == 1 ? "" : "s";
  if (failure->code & 1)
    return hiaR_arena_printf(arena, "slice %lld..%lld is out of range: %s %lld %s%s", first, end,
                             whose, length, what, many);
  return hiaR_arena_printf(arena, "index %lld is out of range: %s %lld %s%s", first, whose, length,
                           what, many);
}

static const char *shape_message(hia_arena *arena, const hia_failure *failure) {
  hia_text text;
  hiaR_text_init(&text, arena);
  hiaR_text_addf(&text, "%s: ", hiaR_status_message(HIA_SHAPE));
  hiaR_misfit_print(&failure->misfit, NULL, &text);
  return text.data;
}

static const char *nan_message(hia_arena *arena, const hia_failure *failure) {
  hia_text text;
  hiaR_text_init(&text, arena);
  hiaR_text_addf(&text, "%s", hiaR_status_message(HIA_NAN_MADE));
  hiaR_nan_print(&failure->nan, &text);
  return text.data;
}

static const char *depth_message(hia_arena *arena, const hia_bounds *bounds, int64_t code) {
  const char *message = hiaR_status_message(HIA_DEPTH);
  const char *memory_kind = bounds->is_native ? "stack" : "frames";
  if (code == HIA_NOT_LEFT)
    return hiaR_arena_printf(arena, "%s: more %s than the machine has memory left", message,
                             memory_kind);
  size_t depth = bounds->depth && bounds->depth != SIZE_MAX ? bounds->depth : (size_t)code;
  if (!depth) return message;
  return hiaR_arena_printf(arena, "%s: more than %s of %s", message, size_text(arena, depth),
                           memory_kind);
}

static const char *message_of(hia_error *error, const failed_run *run) {
  hia_arena *arena = &error->comp.arena;
  const hia_bounds *bounds = run->bounds;
  const char *message = hiaR_status_message(error->status), *host = run->failure->host;
  if (host)
    return hiaR_arena_printf(arena, "the host's function '%s' failed%s%s", host,
                             error->status == HIA_HOST ? "" : ": ",
                             error->status == HIA_HOST ? "" : message);
  switch (error->status) {
  case HIA_FAILED:
    return hiaR_arena_printf(arena, "%s(%lld)", message, (long long)run->failure->code);
  case HIA_RANGE: return range_message(arena, run->failure);
  case HIA_SHAPE: return shape_message(arena, run->failure);
  case HIA_NAN_MADE: return nan_message(arena, run->failure);
  case HIA_DEPTH: return depth_message(arena, bounds, run->failure->code);
  case HIA_MEMORY:
    if (!bounds->memory || bounds->memory == SIZE_MAX) return message;
    return hiaR_arena_printf(arena, "%s: more than %s", message, size_text(arena, bounds->memory));
  case HIA_DEADLINE:
    if (!bounds->timeout_ns) return message; /* a timeout of the outer run */
    return hiaR_arena_printf(arena, "%s: more than %s", message,
                             time_text(arena, bounds->timeout_ns));
  default: return message;
  }
}

static const char *run_message(hia_error *error, const failed_run *run) {
  const char *message = message_of(error, run);
  if (!run->bounds->has_row) return message;
  return hiaR_arena_printf(&error->comp.arena, "%s, in row %llu", message,
                           (unsigned long long)run->bounds->row);
}

/* The operands of a misfit, if the locations have them: where they are, and their shapes. */
static uint32_t find_operands(hia_error *error, const failed_run *run, hia_stretch out[2]) {
  const hia_misfit *m = &run->failure->misfit;
  const hia_places *places = run->places;
  bool is_two = m->kind == HIA_MISFIT_DIM || m->kind == HIA_MISFIT_COUNT ||
                (m->kind == HIA_MISFIT_RANK && m->operand_a != m->operand_b);
  if (error->status != HIA_SHAPE || !is_two || !error->chain_length) return 0;
  uint32_t loc = hiaR_backtrace_entry(&run->failure->backtrace, 0), n = 0;
  if (loc >= places->n_locs) return 0;
  loc = places->locs[loc].parent;
  for (; loc < places->n_locs && hiaR_loc_is_operand(places->locs[loc].fn) && n < 2;
       loc = places->locs[loc].parent) {
    const hia_image_loc *l = &places->locs[loc];
    uint32_t number = hiaR_loc_operand(l->fn);
    if (number != m->operand_a && number != m->operand_b) continue;
    hia_text text;
    hiaR_text_init(&text, &error->comp.arena);
    hiaR_shape_print(number == m->operand_a ? &m->a : &m->b, NULL, &text);
    out[n++] = (hia_stretch){l->line, l->col, hiaR_loc_len(l->fn), text.data};
  }
  return n;
}

static void add_notes(hia_error *error, hia_error_entry *entry, const hia_stretch *operands,
                      uint32_t n) {
  hia_arena *arena = &error->comp.arena;
  hia_entry_note *notes = HIA_NEW_ARRAY(arena, hia_entry_note, n + 1);
  for (uint32_t i = 0; i < n; i++)
    notes[i] = (hia_entry_note){hiaR_arena_printf(arena, "this is %s", operands[i].label),
                                entry->file, operands[i].line, operands[i].col};
  entry->notes = notes;
  entry->n_notes = n;
}

/* Where there is no source to show them in. */
static void print_operands(const hia_error_entry *entry, hia_text *text) {
  for (uint32_t i = 0; i < entry->n_notes; i++) {
    const hia_entry_note *note = &entry->notes[i];
    hiaR_text_addf(text, "  %s, at %s%s%u:%u\n", note->message, note->file,
                   note->file[0] ? ":" : "", note->line, note->col);
  }
}

static void fill_run(hia_error *error, const void *user) {
  const failed_run *run = user;
  const hia_places *places = run->places;
  if (error->status == HIA_FAILED) error->fail_code = run->failure->code;
  error->is_slice = run->failure->code & 1; /* hiaR_range_code */
  error->range = run->failure->range;
  error->file = hiaR_error_copy(error, places->file);
  hia_error_entry *entry =
      one_entry(error, hiaR_status_word(error->status), run_message(error, run), NULL);
  fill_chain(error, &run->failure->backtrace, places);
  if (error->chain_length) {
    entry->file = error->chain[0].file;
    entry->line = error->chain[0].line;
    entry->col = error->chain[0].col;
  }
  hia_text text;
  hiaR_text_init(&text, &error->comp.arena);
  const char *source = places->text;
  size_t source_size = source ? places->text_size : 0;
  if (source && is_expression(entry->file)) {
    source += source_size + 1;
    source_size = strlen(source);
  }
  hia_stretch operands[2];
  uint32_t n = find_operands(error, run, operands);
  add_notes(error, entry, operands, n);
  add_head(error, &text, source, source_size, operands, n);
  if (!source_size) print_operands(entry, &text);
  print_chain(error, &text);
  error->text = text.data;
}

hia_status hiaR_fail_run(const hia_allocator *allocator, hia_error **error,
                         const hia_failure *failure, const hia_bounds *bounds,
                         const hia_places *places) {
  return hiaR_error_make(allocator, error, failure->status, fill_run,
                         &(failed_run){failure, bounds, places});
}

/* ---- reading ---- */

void hia_error_free(hia_error *error) {
  if (!error) return;
  hia_allocator allocator = error->allocator;
  hiaR_comp_free(&error->comp);
  hiaR_free(&allocator, error, sizeof *error);
}

hia_status hia_error_status(const hia_error *error) { return error ? error->status : HIA_OK; }
const char *hia_error_text(const hia_error *error) { return error ? error->text : ""; }
size_t hia_error_count(const hia_error *error) { return error ? error->n_entries : 0; }

static const hia_error_entry *entry_of(const hia_error *error, size_t i) {
  static const hia_error_entry none = {.code = "", .message = "", .hint = "", .file = ""};
  return error && i < error->n_entries ? &error->entries[i] : &none;
}

const char *hia_error_code(const hia_error *error, size_t i) { return entry_of(error, i)->code; }
const char *hia_error_message(const hia_error *error, size_t i) {
  return entry_of(error, i)->message;
}
const char *hia_error_hint(const hia_error *error, size_t i) { return entry_of(error, i)->hint; }
const char *hia_error_file(const hia_error *error, size_t i) { return entry_of(error, i)->file; }
uint32_t hia_error_line(const hia_error *error, size_t i) { return entry_of(error, i)->line; }
uint32_t hia_error_col(const hia_error *error, size_t i) { return entry_of(error, i)->col; }
uint32_t hia_error_end_col(const hia_error *error, size_t i) { return entry_of(error, i)->end_col; }

bool hia_error_fix(const hia_error *error, size_t i, const char **text, const char **file,
                   uint32_t *line, uint32_t *col, uint32_t *end_line, uint32_t *end_col) {
  static const hia_entry_fix none = {"", "", 0, 0, 0, 0};
  const hia_entry_fix *known = &entry_of(error, i)->fix, *fix = known->text ? known : &none;
  if (text) *text = fix->text;
  if (file) *file = fix->file;
  if (line) *line = fix->line;
  if (col) *col = fix->col;
  if (end_line) *end_line = fix->end_line;
  if (end_col) *end_col = fix->end_col;
  return fix == known;
}

size_t hia_error_note_count(const hia_error *error, size_t i) {
  return entry_of(error, i)->n_notes;
}

bool hia_error_note(const hia_error *error, size_t i, size_t k, const char **message,
                    const char **file, uint32_t *line, uint32_t *col) {
  static const hia_entry_note none = {"", "", 0, 0};
  const hia_error_entry *entry = entry_of(error, i);
  const hia_entry_note *note = k < entry->n_notes ? &entry->notes[k] : &none;
  if (message) *message = note->message;
  if (file) *file = note->file;
  if (line) *line = note->line;
  if (col) *col = note->col;
  return note != &none;
}

uint32_t hia_error_n_left_out(const hia_error *error) { return error ? error->n_left_out : 0; }
int64_t hia_error_fail_code(const hia_error *error) { return error ? error->fail_code : 0; }

bool hia_error_range(const hia_error *error, bool *is_slice, int64_t *first, int64_t *end,
                     int64_t *length) {
  bool is_range = hia_error_status(error) == HIA_RANGE;
  hia_range range = is_range ? error->range : (hia_range){0};
  if (is_slice) *is_slice = is_range && error->is_slice;
  if (first) *first = range.first;
  if (end) *end = range.end;
  if (length) *length = range.length;
  return is_range;
}
uint64_t hia_error_chain_length(const hia_error *error) { return error ? error->chain_length : 0; }
bool hia_error_chain_is_cut(const hia_error *error) { return error && error->is_cut; }

bool hia_error_chain_entry(const hia_error *error, uint64_t i, const char **function,
                           const char **file, uint32_t *line, uint32_t *col) {
  const hia_chain_entry *e = error ? kept_entry(error, i) : NULL;
  if (function) *function = e ? e->function : "";
  if (file) *file = e ? e->file : "";
  if (line) *line = e ? e->line : 0;
  if (col) *col = e ? e->col : 0;
  return e != NULL;
}

uint32_t hia_error_chain_elements(const hia_error *error, uint64_t i, int64_t *elements,
                                  uint32_t n) {
  const hia_chain_entry *e = error ? kept_entry(error, i) : NULL;
  if (!e) return 0;
  for (uint32_t k = 0; k < n && k < e->n_elements; k++)
    elements[k] = e->elements[e->n_elements - 1 - k];
  return e->n_elements;
}

const char *hia_status_word(hia_status status) { return hiaR_status_word(status); }
const char *hia_status_message(hia_status status) { return hiaR_status_message(status); }

/* ---- of requests ---- */

hia_status hiaR_fail_memory(const hia_allocator *allocator, hia_error **error) {
  return hiaR_fail_message(allocator, error, HIA_MEMORY,
                           &(hia_message){.message = hiaR_status_message(HIA_MEMORY)});
}

hia_status hiaR_fail_text(const hia_allocator *allocator, hia_error **error, hia_status status,
                          const char *hint, const char *fmt, ...) {
  char message[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return hiaR_fail_message(allocator, error, status,
                           &(hia_message){.message = message, .hint = hint});
}

hia_status hiaR_copy_options(const hia_allocator *allocator, const char *what, void *own,
                             size_t own_size, const void *theirs, hia_error **error) {
  size_t size;
  if (!theirs) return HIA_OK;
  memcpy(&size, theirs, sizeof size);
  if (hiaR_copy_sized(own, own_size, theirs, size)) return HIA_OK;
  return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                        "%s of %zu bytes: made for another version of hiaton (this is %s)", what,
                        size, HIA_BUILD_VERSION);
}

hia_status hiaR_fail_comp(const hia_allocator *allocator, hia_error **error, const hia_comp *comp) {
  return hiaR_fail_text(allocator, error, comp->status, NULL, "%s",
                        comp->message[0] ? comp->message : hiaR_status_message(comp->status));
}
