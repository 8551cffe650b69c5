/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams: arrays whose elements are made of a file when a run asks for them (hia_stream). */
#ifndef HIA_RT_VALUE_STREAM_H
#define HIA_RT_VALUE_STREAM_H

#include "runtime/value/brackets.h"
#include "runtime/value/handle.h"
#include <pthread.h>

struct hia_stream {
  hia_stream_array head; /* what a run has as the array */
  hia_allocator allocator;
  const hia_type_info *type; /* [T]; its table is held */
  char *path;
  size_t path_size;
  int file;  /* or -1 */
  int wrong; /* errno of what could not be read */
  hia_bracket_reading reading;
  hia_bracket_reader reader; /* what the readers of elements share */
  hia_block offsets;         /* uint64_t: where each tree begins, and where the last one ends */
  atomic_bool has_failed;    /* an element could not be read */
  pthread_mutex_t lock;      /* of what follows: the file from window_begin on */
  char *window;
  uint64_t window_begin;
  size_t window_len;
};

static inline hia_word hiaR_stream_word(const hia_stream *stream) {
  return (uintptr_t)&stream->head;
}

#endif
