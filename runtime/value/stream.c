/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams: arrays of trees whose elements are made of a file when a run asks for them.
 *
 * The file is read twice. When the stream is opened, all of it is read and checked, in portions of
 * whole trees, and where each tree begins is kept: 8 bytes a tree. So a mistake in the file is an
 * error before the run begins, the length is known, and the vocabulary is complete. During the run
 * an element is read from its place into the heap of the run, where it lives as long as the run
 * refers to it. Any worker can read any element: workers share a window of the file, nothing else.
 */
#include "runtime/value/stream.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HIA_STRESS
enum { PORTION = 16, WINDOW = 48 };
#else
enum { PORTION = 1 << 20, WINDOW = 1 << 16 };
#endif

/* Reads up to n bytes; less only at the end of the file. False: it cannot be read. */
static bool read_at(int file, uint64_t from, char *to, size_t n, size_t *got) {
  for (*got = 0; *got < n;) {
    ssize_t more = pread(file, to + *got, n - *got, (off_t)(from + *got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return false;
    if (more == 0) break;
    *got += (size_t)more;
  }
  return true;
}

/* ---- opening ---- */

/* The buffer has the file from `begin` on; the trees before that are checked. */
typedef struct opening {
  hia_stream *stream;
  hia_block buffer;
  size_t n;         /* bytes in the buffer */
  uint64_t begin;   /* of the buffer in the file */
  size_t seen, end; /* of the buffer: looked at; behind the last whole tree */
  uint64_t depth, n_trees;
  uint64_t line, line_begin; /* of `begin`, from 0; where that line begins in the file */
  hia_value_error *error;
} opening;

static hia_status add_offset(opening *o, uint64_t offset) {
  hia_stream *s = o->stream;
  size_t size;
  if (!hiaR_mul((size_t)o->n_trees + 1, sizeof offset, &size) ||
      !hiaR_block_grow(&s->offsets, &s->allocator, size))
    return HIA_MEMORY;
  ((uint64_t *)s->offsets.data)[o->n_trees] = offset;
  return HIA_OK;
}

/* Finds the trees in what was read: brackets are brackets wherever they stand. What is wrong with
 * the text is left to the reader. */
static hia_status find_trees(opening *o) {
  const char *text = o->buffer.data;
  for (; o->seen < o->n; o->seen++) {
    if (text[o->seen] == '(') {
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
  hia_bracket_reader *r = &o->stream->reader;
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
  s->reading.objects = objects;
  hia_status status = check_text(o, len);
  s->reading.objects = NULL;
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
  if (!hiaR_add(o->n, PORTION, &size) || !hiaR_block_grow(&o->buffer, &s->allocator, size))
    return HIA_MEMORY;
  if (!read_at(s->file, o->begin + o->n, (char *)o->buffer.data + o->n, PORTION, &got)) {
    s->wrong = errno;
    return HIA_IO;
  }
  o->n += got;
  *is_all = got < PORTION;
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
static bool take_trees(hia_bracket_reader *r, hia_local_heap *local, uint64_t n, hia_word *out) {
  const hia_layout *layout = &hiaR_type_entry(r->types, r->array)->layout;
  hia_array *array = hiaR_heap_alloc(local, hiaR_array_size(layout->size, n));
  if (!array) return false;
  hiaR_object_begin(&array->counted, 0);
  array->n = n;
  array->data = (char *)(array + 1);
  hiaR_brackets_store(r, array->data, r->done.data, n, layout);
  *out = (uintptr_t)array;
  return true;
}

static bool read_trees(hia_stream *s, hia_local_heap *local, const char *text, size_t len,
                       uint64_t n, hia_word *out) {
  hia_value_error error = {.code = NULL};
  hia_bracket_reader r = s->reader;
  r.local = local;
  r.stack = r.done = (hia_block){NULL, 0};
  r.n_open = r.n_done = 0;
  r.scan = (hia_scan){text, text, text + len, &error};
  hia_status status = hiaR_brackets_trees(&r);
  bool is_there = status == HIA_OK && r.n_done == n;
  if (status != HIA_MEMORY && !is_there) atomic_store(&s->has_failed, true);
  is_there = is_there && take_trees(&r, local, n, out);
  hiaR_brackets_end(&r);
  return is_there;
}

/* Copies len bytes of the file. Elements are mostly read in order, so what follows is read, too. */
static bool copy_text(hia_stream *s, uint64_t from, char *text, size_t len) {
  if (len > WINDOW) {
    size_t got;
    return read_at(s->file, from, text, len, &got) && got == len;
  }
  pthread_mutex_lock(&s->lock);
  bool is_there =
      from >= s->window_begin && from - s->window_begin + len <= (uint64_t)s->window_len;
  if (!is_there) {
    s->window_begin = from;
    is_there = read_at(s->file, from, s->window, WINDOW, &s->window_len) && len <= s->window_len;
    if (!is_there) s->window_len = 0;
  }
  if (is_there) memcpy(text, s->window + (from - s->window_begin), len);
  pthread_mutex_unlock(&s->lock);
  return is_there;
}

static bool read_elements(hia_stream_array *head, hia_local_heap *local, uint64_t first, uint64_t n,
                          hia_word *out) {
  hia_stream *s = (hia_stream *)head;
  const uint64_t *offsets = s->offsets.data;
  if (n > SIZE_MAX / 2 / sizeof(hia_word)) return false; /* an element has at most a word */
  char few[2048];                                        /* most trees are small */
  size_t len = (size_t)(offsets[first + n] - offsets[first]);
  char *text = len <= sizeof few ? few : s->allocator.alloc(s->allocator.user, len);
  if (!text) return false;
  bool is_read = copy_text(s, offsets[first], text, len);
  if (!is_read) atomic_store(&s->has_failed, true);
  bool is_there = is_read && read_trees(s, local, text, len, n, out);
  if (text != few) hiaR_free(&s->allocator, text, len);
  return is_there;
}

/* ---- hia_stream ---- */

static hia_status fail(const hia_allocator *allocator, hia_error **error, hia_status status,
                       const char *path, int number) {
  char why[128];
  const char *reason = strerror_r(number, why, sizeof why);
  if (status == HIA_IO)
    return hiaR_fail_text(allocator, error, status, NULL, "cannot read %s: %s", path, reason);
  return hiaR_fail_text(allocator, error, status, NULL, "%s", hiaR_status_message(status));
}

void hia_stream_free(hia_stream *s) {
  if (!s) return;
  hia_allocator allocator = s->allocator;
  if (s->file >= 0) close(s->file);
  pthread_mutex_destroy(&s->lock);
  hiaR_free(&allocator, s->window, WINDOW);
  if (s->reading.types) hiaR_brackets_end(&s->reader);
  hiaR_brackets_free(&s->reader);
  hiaR_block_free(&s->offsets, &allocator);
  hiaR_free(&allocator, s->path, s->path_size);
  hiaR_value_types_release(s->type->types);
  hiaR_free(&allocator, s, sizeof *s);
}

uint64_t hia_stream_len(const hia_stream *s) { return s ? s->head.array.n : 0; }

const hia_type_info *hia_stream_type(const hia_stream *s) { return s ? s->type : NULL; }

static hia_stream *stream_new(const hia_allocator *allocator, const hia_type_info *type,
                              const char *path) {
  hia_stream *s = hiaR_alloc(allocator, sizeof *s);
  if (!s) return NULL;
  s->allocator = *allocator;
  s->type = type;
  hiaR_value_types_hold(type->types);
  s->file = -1;
  s->reader.reading = &s->reading;
  s->reading.allocator = &s->allocator;
  pthread_mutex_init(&s->lock, NULL);
  s->path_size = strlen(path) + 1;
  s->path = allocator->alloc(allocator->user, s->path_size);
  s->window = s->path ? allocator->alloc(allocator->user, WINDOW) : NULL;
  if (!s->window) {
    hia_stream_free(s);
    return NULL;
  }
  memcpy(s->path, path, s->path_size);
  atomic_init(&s->head.array.counted.count, HIA_OUTSIDE);
  s->head.array.counted.ctor = HIA_ARRAY_STREAM;
  s->head.array.data = (char *)(&s->head.array + 1);
  s->head.read = read_elements;
  return s;
}

static hia_status open_file(hia_stream *s, hia_error **error) {
  struct stat info;
  s->file = open(s->path, O_RDONLY | O_CLOEXEC);
  if (s->file < 0 || fstat(s->file, &info) != 0)
    return fail(&s->allocator, error, HIA_IO, s->path, errno);
  if (S_ISREG(info.st_mode)) return HIA_OK;
  return hiaR_fail_text(&s->allocator, error, HIA_UNSUPPORTED, NULL,
                        "%s is no regular file, as a stream needs", s->path);
}

static hia_status open_stream(hia_stream *s, const hia_bracket_options *options,
                              hia_error **error) {
  hia_value_error wrong = {.code = NULL};
  s->reading = (hia_bracket_reading){.allocator = &s->allocator,
                                     .types = &s->type->types->table,
                                     .words = options->words,
                                     .may_add = options->add_words,
                                     .labels = options->labels};
  s->reader.scan = (hia_scan){"", "", "", &wrong};
  hia_status status = open_file(s, error);
  if (status != HIA_OK) return status;
  status = hiaR_brackets_begin(&s->reader, &s->reading, s->type->type);
  if (status == HIA_OK) status = check_file(s, &wrong);
  s->reading.may_add = false;
  if (status == HIA_OK) return HIA_OK;
  if (status != HIA_ARGUMENT) return fail(&s->allocator, error, status, s->path, s->wrong);
  return hiaR_fail_message(&s->allocator, error, status,
                           &(hia_message){.message = wrong.message,
                                          .hint = wrong.hint[0] ? wrong.hint : NULL,
                                          .code = wrong.code,
                                          .file = s->path,
                                          .text = "",
                                          .line = wrong.line,
                                          .col = wrong.col});
}

hia_status hia_stream_open_brackets(const hia_allocator *allocator, const hia_type_info *type,
                                    const char *path, const hia_bracket_options *options,
                                    hia_stream **stream, hia_error **error) {
  if (error) *error = NULL;
  if (stream) *stream = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  const char *missing = !type ? "type" : !path ? "path" : !stream ? "place for the stream" : NULL;
  if (missing) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no %s", missing);
  hia_bracket_options own = HIA_BRACKET_OPTIONS_INIT;
  if (hiaR_copy_options(allocator, "bracket options", &own, sizeof own, options, error))
    return HIA_ARGUMENT;
  bool is_array = hia_type_info_kind(type) == HIA_KIND_ARRAY;
  if (!is_array || hia_type_info_kind(hia_type_info_element(type)) != HIA_KIND_DATA) {
    char found[256];
    hia_type_info_format(type, found, sizeof found);
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                          "a stream of trees is of an array [T] of a data type, not %s", found);
  }
  hia_stream *s = stream_new(allocator, type, path);
  if (!s) return fail(allocator, error, HIA_MEMORY, path, 0);
  hia_status status = open_stream(s, &own, error);
  if (status == HIA_OK)
    *stream = s;
  else
    hia_stream_free(s);
  return status;
}
