/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams: arrays of data whose elements are made of a file when a run asks for them.
 *
 * When the stream is opened, all of the file is read and checked, in portions, and where the
 * elements are is kept. So a mistake in the file is an error before the run begins, and the length
 * is known. During the run an element is read from the file into the heap of the run, where it
 * lives as long as the run refers to it. Any worker can read any element: workers share a few
 * windows of the file, nothing else. */
#include "runtime/format/stream.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

/* Reads up to n bytes; less only at the end of the file. False: it cannot be read. */
static bool read_whole(const hia_stream *s, uint64_t from, char *to, size_t n, size_t *got) {
  for (*got = 0; *got < n;) {
    ssize_t more = pread(s->file, to + *got, n - *got, (off_t)(from + *got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return false;
    if (more == 0) break;
    *got += (size_t)more;
  }
  return true;
}

hia_status hiaR_stream_read_at(hia_stream *s, uint64_t from, void *to, size_t n, size_t *got) {
  if (read_whole(s, from, to, n, got)) return HIA_OK;
  s->wrong = errno;
  return HIA_IO;
}

hia_status hiaR_stream_size(hia_stream *s, uint64_t *size) {
  struct stat info = {.st_size = 0};
  bool is_known = fstat(s->file, &info) == 0;
  *size = (uint64_t)info.st_size;
  if (!is_known) s->wrong = errno;
  return is_known ? HIA_OK : HIA_IO;
}

static bool has(const hia_stream_window *w, uint64_t from, size_t len) {
  return from >= w->begin && from - w->begin + len <= w->len;
}

/* The window with these bytes: if they stand right before another one, it ends with them, since the
 * program reads backwards; else it begins with them. NULL: they cannot be read. The caller holds
 * the lock. */
static hia_stream_window *window_with(hia_stream *s, uint64_t from, size_t len) {
  hia_stream_window *oldest = &s->windows[0];
  bool is_backwards = false;
  for (unsigned i = 0; i < HIA_STREAM_WINDOWS; i++) {
    hia_stream_window *w = &s->windows[i];
    if (has(w, from, len)) return w;
    is_backwards |= w->begin > from && w->begin - from <= len;
    if (w->used < oldest->used) oldest = w;
  }
  uint64_t end = from + len, begin = from;
  if (is_backwards) begin = end > HIA_STREAM_WINDOW ? end - HIA_STREAM_WINDOW : 0;
  oldest->begin = begin;
  if (!read_whole(s, begin, oldest->bytes, HIA_STREAM_WINDOW, &oldest->len)) oldest->len = 0;
  return has(oldest, from, len) ? oldest : NULL;
}

/* Several windows, because a program may read at several offsets in turn, and so may its workers.
 */
static bool copy(hia_stream *s, uint64_t from, char *to, size_t len) {
  size_t got;
  if (len > HIA_STREAM_WINDOW) return read_whole(s, from, to, len, &got) && got == len;
  pthread_mutex_lock(&s->lock);
  hia_stream_window *w = window_with(s, from, len);
  if (w) {
    w->used = ++s->n_copies;
    memcpy(to, w->bytes + (from - w->begin), len);
  }
  pthread_mutex_unlock(&s->lock);
  return w != NULL;
}

bool hiaR_stream_copy(hia_stream *s, uint64_t from, char *to, size_t len) {
  bool is_there = copy(s, from, to, len);
  if (!is_there) atomic_store(&s->has_failed, true);
  return is_there;
}

void hiaR_stream_note(hia_stream *s, uint64_t end) {
  uint64_t now = atomic_load_explicit(&s->position, memory_order_relaxed);
  while (end > now && !atomic_compare_exchange_weak_explicit(
                          &s->position, &now, end, memory_order_relaxed, memory_order_relaxed)) {
  }
}

hia_array *hiaR_stream_array_new(const hia_stream *s, hia_local_heap *local, uint64_t n) {
  const hia_layout *layout = &hiaR_type_entry(&s->type->types->table, s->type->type)->layout;
  if (n > SIZE_MAX / 2 / sizeof(hia_word)) return NULL; /* an element has at most a word */
  hia_array *array = hiaR_heap_alloc(local, hiaR_array_size(layout->size, n));
  if (!array) return NULL;
  hiaR_object_begin(&array->counted, 0);
  array->n = n;
  array->data = (char *)(array + 1);
  return array;
}

/* ---- errors ---- */

hia_status hiaR_stream_fail(const hia_stream *s, hia_status status, const hia_value_error *wrong,
                            hia_error **error) {
  const hia_allocator *allocator = &s->allocator;
  if (status == HIA_IO) {
    char why[128];
    return hiaR_fail_text(allocator, error, status, NULL, "cannot read %s: %s", s->path,
                          strerror_r(s->wrong, why, sizeof why));
  }
  if (status == HIA_UNSUPPORTED)
    return hiaR_fail_text(allocator, error, status, NULL, "%s %s", s->path, wrong->message);
  if (status != HIA_ARGUMENT)
    return hiaR_fail_text(allocator, error, status, NULL, "%s", hiaR_status_message(status));
  return hiaR_fail_message(allocator, error, status,
                           &(hia_message){.message = wrong->message,
                                          .hint = wrong->hint[0] ? wrong->hint : NULL,
                                          .code = wrong->code,
                                          .file = s->path,
                                          .text = "",
                                          .line = wrong->line,
                                          .col = wrong->col});
}

hia_status hiaR_streams_fail(const hia_allocator *allocator, hia_stream *const *streams, size_t n,
                             hia_error **error) {
  for (size_t i = 0; i < n; i++)
    if (streams[i] && atomic_load(&streams[i]->has_failed))
      return hiaR_fail_text(allocator, error, HIA_IO, NULL,
                            "cannot read %s any more: it has changed since it was opened",
                            streams[i]->path);
  return HIA_OK;
}

/* ---- hia_stream ---- */

void hia_stream_free(hia_stream *s) {
  if (!s) return;
  hia_allocator allocator = s->allocator;
  if (s->file >= 0) close(s->file);
  pthread_mutex_destroy(&s->lock);
  hiaR_free(&allocator, s->windows[0].bytes, HIA_STREAM_WINDOWS * HIA_STREAM_WINDOW);
  if (s->brackets.reader.reading) {
    hiaR_brackets_end(&s->brackets.reader);
    hiaR_brackets_free(&s->brackets.reader);
  }
  hiaR_block_free(&s->brackets.offsets, &allocator);
  if (s->saved.types.allocator) hiaR_file_types_free(&s->saved.types);
  hiaR_block_free(&s->saved.elements, &allocator);
  hiaR_block_free(&s->saved.groups, &allocator);
  hiaR_block_free(&s->saved.shared, &allocator);
  hiaR_objects_release(s->objects);
  hiaR_free(&allocator, s->path, s->path_size);
  hiaR_value_types_release(s->type->types);
  hiaR_free(&allocator, s, sizeof *s);
}

uint64_t hia_stream_len(const hia_stream *s) { return s ? s->head.array.n : 0; }

uint64_t hia_stream_position(const hia_stream *s) {
  return s ? atomic_load_explicit(&s->position, memory_order_relaxed) : 0;
}

const hia_type_info *hia_stream_type(const hia_stream *s) { return s ? s->type : NULL; }

static hia_stream *stream_new(const hia_allocator *allocator, const hia_type_info *type,
                              const char *path) {
  hia_stream *s = hiaR_alloc(allocator, sizeof *s);
  if (!s) return NULL;
  s->allocator = *allocator;
  s->type = type;
  hiaR_value_types_hold(type->types);
  s->file = -1;
  pthread_mutex_init(&s->lock, NULL);
  s->path_size = strlen(path) + 1;
  s->path = allocator->alloc(allocator->user, s->path_size);
  size_t size = HIA_STREAM_WINDOWS * HIA_STREAM_WINDOW;
  char *windows = s->path ? allocator->alloc(allocator->user, size) : NULL;
  s->windows[0].bytes = windows;
  if (!windows) {
    hia_stream_free(s);
    return NULL;
  }
  for (unsigned i = 1; i < HIA_STREAM_WINDOWS; i++)
    s->windows[i].bytes = windows + i * HIA_STREAM_WINDOW;
  memcpy(s->path, path, s->path_size);
  atomic_init(&s->head.array.counted.count, HIA_OUTSIDE);
  s->head.array.counted.ctor = HIA_ARRAY_STREAM;
  s->head.array.data = (char *)(&s->head.array + 1);
  return s;
}

static hia_status open_file(hia_stream *s, hia_error **error) {
  struct stat info;
  s->file = open(s->path, O_RDONLY | O_CLOEXEC);
  if (s->file < 0 || fstat(s->file, &info) != 0) {
    s->wrong = errno;
    return hiaR_stream_fail(s, HIA_IO, NULL, error);
  }
  if (S_ISREG(info.st_mode)) return HIA_OK;
  hia_value_error wrong = {.message = "is no regular file, as a stream needs"};
  return hiaR_stream_fail(s, HIA_UNSUPPORTED, &wrong, error);
}

hia_status hiaR_stream_open(const hia_allocator *allocator, const hia_type_info *type,
                            const char *path, hia_stream **stream, hia_error **error) {
  *stream = NULL;
  bool is_array = hia_type_info_kind(type) == HIA_KIND_ARRAY;
  if (!is_array || hia_type_info_kind(hia_type_info_element(type)) != HIA_KIND_DATA) {
    char found[256];
    hia_type_info_format(type, found, sizeof found);
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                          "a stream is of an array [T] of a data type, not %s", found);
  }
  *stream = stream_new(allocator, type, path);
  if (*stream) return open_file(*stream, error);
  return hiaR_fail_text(allocator, error, HIA_MEMORY, NULL, "%s", hiaR_status_message(HIA_MEMORY));
}
