/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams: arrays whose elements are made of a file when a run asks for them (hia_stream). stream.c
 * has what all of them have in common, stream_brackets.c and stream_saved.c the two forms of files.
 */
#ifndef HIA_RT_VALUE_STREAM_H
#define HIA_RT_VALUE_STREAM_H

#include "runtime/format/brackets.h"
#include "runtime/format/file.h"
#include "runtime/value/handle.h"
#include <pthread.h>

#ifdef HIA_STRESS
enum { HIA_STREAM_PORTION = 16, HIA_STREAM_WINDOW = 48, HIA_STREAM_WINDOWS = 2 };
#else
enum { HIA_STREAM_PORTION = 1 << 20, HIA_STREAM_WINDOW = 1 << 14, HIA_STREAM_WINDOWS = 4 };
#endif

/* Trees in brackets. */
typedef struct hia_bracket_stream {
  hia_bracket_reading reading;
  hia_bracket_reader reader; /* what the readers of elements share */
  hia_block offsets;         /* uint64_t: where each tree begins, and where the last one ends */
} hia_bracket_stream;

/* A saved array. The objects of the file are numbered from 0. */
typedef struct hia_saved_stream {
  hia_file_types types;
  bool has_list;      /* else element i is the last object of group i */
  hia_block elements; /* uint64_t: 2 n for the object n, 2 c + 1 for the constructor c */
  hia_block groups;   /* of objects, which belong to one element (stream_saved.c) */
  uint64_t n_groups;
  hia_block shared; /* objects of several elements, by number */
  uint64_t n_shared;
} hia_saved_stream;

/* A part of the file in memory. */
typedef struct hia_stream_window {
  char *bytes; /* HIA_STREAM_WINDOW of them */
  uint64_t begin;
  size_t len;
  uint64_t used; /* when it was read from last, as the stream counts */
} hia_stream_window;

struct hia_stream {
  hia_stream_array head; /* what a run has as the array */
  hia_allocator allocator;
  const hia_type_info *type; /* [T]; its table is held */
  char *path;
  size_t path_size;
  int file;  /* or -1 */
  int wrong; /* errno of what could not be read */
  hia_bracket_stream brackets;
  hia_saved_stream saved;
  hia_objects *objects;   /* that elements share: results that refer to them hold them; or NULL */
  atomic_bool has_failed; /* an element could not be read */
  _Atomic uint64_t position; /* of hia_stream_position */
  pthread_mutex_t lock;      /* of what follows */
  hia_stream_window windows[HIA_STREAM_WINDOWS];
  uint64_t n_copies;
};

static inline hia_word hiaR_stream_word(const hia_stream *stream) {
  return (uintptr_t)&stream->head;
}

/* Makes a stream and opens its file, which must be a regular one. The caller frees *stream, also
 * after a failure. */
hia_status hiaR_stream_open(const hia_allocator *allocator, const hia_type_info *type,
                            const char *path, hia_stream **stream, hia_error **error);
/* The error of a status that opening a stream returns. HIA_ARGUMENT: `wrong` says why. */
hia_status hiaR_stream_fail(const hia_stream *stream, hia_status status,
                            const hia_value_error *wrong, hia_error **error);
/* HIA_IO, with an error, if an element of one of the streams (or NULL) could not be read: the run
 * has ended with HIA_MEMORY. Else HIA_OK. */
hia_status hiaR_streams_fail(const hia_allocator *allocator, hia_stream *const *streams, size_t n,
                             hia_error **error);
hia_status hiaR_stream_size(hia_stream *stream, uint64_t *size); /* of the file; HIA_IO */
/* Reads up to n bytes; less only at the end of the file. HIA_IO. */
hia_status hiaR_stream_read_at(hia_stream *stream, uint64_t from, void *to, size_t n, size_t *got);

/* Copies `len` bytes of the file, on any thread. False: it cannot be read; `has_failed` is set. */
bool hiaR_stream_copy(hia_stream *stream, uint64_t from, char *to, size_t len);
/* Notes that the elements before `end` have been read, or some of them. Any worker may call it. */
void hiaR_stream_note(hia_stream *stream, uint64_t end);
/* Makes an array of n elements, whose bytes are not set. NULL: no memory. */
hia_array *hiaR_stream_array_new(const hia_stream *stream, hia_local_heap *local, uint64_t n);

#endif
