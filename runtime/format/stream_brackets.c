/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of trees in brackets.
 *
 * When the stream is opened, all of the file is read and checked, in portions of whole trees, and
 * where each tree begins is kept: 8 bytes a tree. So the vocabulary is complete when a run begins.
 */
#include "runtime/format/stream.h"

/* ---- opening ---- */

/* The buffer has the file from `begin` on; the trees before that are checked. */
typedef struct opening {
  hia_stream *stream;
  hia_block buffer;
  size_t n;         /* bytes in the buffer */
  uint64_t begin;   /* of the buffer in the file */
  size_t seen, end; /* of the buffer: looked at; behind the last whole tree or comment */
  uint64_t depth, n_trees;
  bool is_comment;           /* what comes next belongs to one */
  uint64_t line, line_begin; /* of `begin`, from 0; where that line begins in the file */
  hia_value_error *error;
} opening;

static hia_status add_offset(opening *o, uint64_t offset) {
  hia_stream *s = o->stream;
  size_t size;
  if (!hiaR_mul((size_t)o->n_trees + 1, sizeof offset, &size) ||
      !hiaR_block_grow(&s->brackets.offsets, &s->allocator, size))
    return HIA_MEMORY;
  ((uint64_t *)s->brackets.offsets.data)[o->n_trees] = offset;
  return HIA_OK;
}

/* Finds the trees in what was read: brackets are brackets wherever they stand, but in comments,
 * which are between trees. What is wrong with the text is left to the reader. */
static hia_status find_trees(opening *o) {
  const char *text = o->buffer.data;
  for (; o->seen < o->n; o->seen++) {
    if (o->is_comment || (text[o->seen] == '#' && o->depth == 0)) {
      const char *line = hiaR_brackets_skip_comment(text + o->seen, text + o->n);
      o->seen = (size_t)(line - text);
      o->is_comment = o->seen == o->n;
      if (o->is_comment) break;
      o->end = o->seen + 1;
    } else if (text[o->seen] == '(') {
      if (o->depth++ > 0) continue;
      if (add_offset(o, o->begin + o->seen) != HIA_OK) return HIA_MEMORY;
      o->n_trees++;
    } else if (text[o->seen] == ')') {
      if (o->depth == 0 || --o->depth == 0) o->end = o->seen + 1;
    }
  }
  return HIA_OK;
}

static hia_status check_text(opening *o, size_t len) {
  hia_bracket_reader *r = &o->stream->brackets.reader;
  const char *text = o->buffer.data;
  hia_status status = o->begin ? hiaR_scan_start_at(&r->scan, text, len, o->begin, o->error)
                               : hiaR_scan_start(&r->scan, text, len, o->error);
  if (status != HIA_OK) return status;
  r->n_done = 0;
  return hiaR_brackets_trees(r);
}

/* Checks the first `len` bytes of the buffer, which are trees, and takes them out of it. */
static hia_status check_portion(opening *o, size_t len) {
  hia_stream *s = o->stream;
  const char *text = o->buffer.data;
  hia_objects *objects = hiaR_objects_new(&s->allocator, 0);
  if (!objects) return HIA_MEMORY;
  s->brackets.reading.objects = objects;
  hia_status status = check_text(o, len);
  s->brackets.reading.objects = NULL;
  hiaR_objects_release(objects);
  if (status != HIA_OK) {
    hia_value_error *e = o->error;
    if (e->line == 1) e->col += (uint32_t)(o->begin - o->line_begin);
    e->line += (uint32_t)o->line;
    return status;
  }
  for (const char *nl, *at = text; (nl = memchr(at, '\n', (size_t)(text + len - at)));
       at = nl + 1) {
    o->line++;
    o->line_begin = o->begin + (uint64_t)(nl + 1 - text);
  }
  memmove(o->buffer.data, text + len, o->n - len);
  o->begin += len;
  o->n -= len;
  o->seen -= len;
  o->end = 0;
  return HIA_OK;
}

/* Reads on. A tree that the buffer does not hold makes it larger. */
static hia_status read_on(opening *o, bool *is_all) {
  hia_stream *s = o->stream;
  size_t size, got;
  if (!hiaR_add(o->n, HIA_STREAM_PORTION, &size) ||
      !hiaR_block_grow(&o->buffer, &s->allocator, size))
    return HIA_MEMORY;
  hia_status status = hiaR_stream_read_at(s, o->begin + o->n, (char *)o->buffer.data + o->n,
                                          HIA_STREAM_PORTION, &got);
  if (status != HIA_OK) return status;
  o->n += got;
  *is_all = got < HIA_STREAM_PORTION;
  return find_trees(o);
}

static hia_status check_file(hia_stream *s, hia_value_error *error) {
  opening o = {.stream = s, .error = error};
  bool is_all = false;
  hia_status status = HIA_OK;
  while (status == HIA_OK && !is_all) {
    status = read_on(&o, &is_all);
    size_t len = is_all ? o.n : o.end;
    if (status == HIA_OK && len) status = check_portion(&o, len);
  }
  if (status == HIA_OK) status = add_offset(&o, o.begin + o.n);
  hiaR_block_free(&o.buffer, &s->allocator);
  s->head.array.n = o.n_trees;
  return status;
}

/* ---- elements ---- */

/* The reader's trees, as an array of the run. */
static bool take_trees(hia_stream *s, hia_bracket_reader *r, hia_local_heap *local, uint64_t n,
                       hia_word *out) {
  hia_array *array = hiaR_stream_array_new(s, local, n);
  if (!array) return false;
  hiaR_brackets_store(r, array->data, r->done.data, n,
                      &hiaR_type_entry(r->types, r->array)->layout);
  *out = (uintptr_t)array;
  return true;
}

static bool read_trees(hia_stream *s, hia_local_heap *local, const char *text, size_t len,
                       uint64_t n, hia_word *out) {
  hia_value_error error = {.code = NULL};
  hia_bracket_reader r = s->brackets.reader;
  r.local = local;
  r.stack = r.done = (hia_block){NULL, 0};
  r.n_open = r.n_done = r.n_read = 0;
  r.scan = (hia_scan){text, text, text + len, &error};
  hia_status status = hiaR_brackets_trees(&r);
  bool is_there = status == HIA_OK && r.n_done == n;
  bool is_wrong = !is_there && status != HIA_MEMORY && status != HIA_CANCELLED;
  if (is_wrong) atomic_store(&s->has_failed, true);
  is_there = is_there && take_trees(s, &r, local, n, out);
  hiaR_brackets_end(&r);
  return is_there;
}

static bool read_elements(hia_stream_array *head, hia_local_heap *local, uint64_t first, uint64_t n,
                          hia_word *out) {
  hia_stream *s = (hia_stream *)head;
  const uint64_t *offsets = s->brackets.offsets.data;
  char few[2048]; /* most trees are small */
  size_t len = (size_t)(offsets[first + n] - offsets[first]);
  char *text = len <= sizeof few ? few : s->allocator.alloc(s->allocator.user, len);
  if (!text) return false;
  bool is_there =
      hiaR_stream_copy(s, offsets[first], text, len) && read_trees(s, local, text, len, n, out);
  if (text != few) hiaR_free(&s->allocator, text, len);
  if (is_there) hiaR_stream_note(s, first + n);
  return is_there;
}

/* ---- hia_stream_open_brackets ---- */

static hia_status open_trees(hia_stream *s, const hia_bracket_options *options,
                             hia_value_error *wrong) {
  hia_bracket_stream *b = &s->brackets;
  b->reading = (hia_bracket_reading){.allocator = &s->allocator,
                                     .types = &s->type->types->table,
                                     .words = options->words,
                                     .may_add = options->add_words,
                                     .labels = options->labels};
  b->reader.scan = (hia_scan){"", "", "", wrong};
  hia_status status = hiaR_brackets_begin(&b->reader, &b->reading, s->type->type);
  if (status == HIA_OK) status = check_file(s, wrong);
  b->reading.may_add = false;
  s->head.read = read_elements;
  return status;
}

hia_status hia_stream_open_brackets(const hia_allocator *allocator, const hia_type_info *type,
                                    const char *path, const hia_bracket_options *options,
                                    hia_stream **stream, hia_error **error) {
  if (error) *error = NULL;
  if (stream) *stream = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  const char *missing = !type ? "type" : !path ? "path" : !stream ? "place for the stream" : NULL;
  if (missing) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no %s", missing);
  hia_bracket_options complete = HIA_BRACKET_OPTIONS_INIT;
  if (hiaR_copy_options(allocator, "bracket options", &complete, sizeof complete, options, error))
    return HIA_ARGUMENT;
  hia_stream *s;
  hia_value_error wrong = {.code = NULL};
  hia_status status = hiaR_stream_open(allocator, type, path, &s, error);
  if (status == HIA_OK) {
    s->brackets.reader.reading = &s->brackets.reading;
    status = open_trees(s, &complete, &wrong);
    if (status != HIA_OK) hiaR_stream_fail(s, status, &wrong, error);
  }
  if (status == HIA_OK)
    *stream = s;
  else
    hia_stream_free(s);
  return status;
}
