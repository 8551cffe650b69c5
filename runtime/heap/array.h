/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The arrays of a run (docs/memory.md).
 *
 * An array is immutable while anything else may refer to it. So `set` changes it in place only when
 * the caller holds the last reference, and copies it otherwise (hiaR_array_own). A slice is a view:
 * an object of its own that refers to the array that has the elements. A view never refers to
 * another view.
 *
 * An array without elements is no object: its word is 0. Words below HIA_FIRST_ADDRESS, and objects
 * from outside of the run without elements, mean the same.
 *
 * A *stream* is an array from outside of the run whose elements lie in a file. It has a length, and
 * nothing else of it is read in place: pass `streams` has made every read of an element a slice of
 * one element, and a slice of a stream is an array of the run that is made of the file.
 *
 * `base` is the base of the array's type, as for hiaR_drop. Functions that return false had no
 * memory, and have changed nothing. */
#ifndef HIA_ARRAY_H
#define HIA_ARRAY_H

#include "runtime/heap/object.h"

static inline hia_array *hiaR_array(hia_word ref) { return (hia_array *)(uintptr_t)ref; }
static inline uint64_t hiaR_array_len(hia_word ref) {
  return ref < HIA_FIRST_ADDRESS ? 0 : hiaR_array(ref)->n;
}
/* The address of element i, which must be there. */
static inline char *hiaR_array_at(hia_word ref, uint32_t element_size, uint64_t i) {
  return hiaR_array(ref)->data + i * element_size;
}
/* True if i, an i64 of the program, is the index of an element. */
static inline bool hiaR_array_has(hia_word ref, int64_t i) {
  return (uint64_t)i < hiaR_array_len(ref);
}
/* True if first .. end, i64s of the program, are a slice of the array. */
static inline bool hiaR_array_has_slice(hia_word ref, int64_t first, int64_t end) {
  return first >= 0 && first <= end && (uint64_t)end <= hiaR_array_len(ref);
}

/* counted.ctor of a stream; other arrays have 0 there. */
enum { HIA_ARRAY_STREAM = 1 };
typedef struct hia_stream_array {
  hia_array array; /* its data is not read */
  /* Makes an array of the elements from `first` on, n > 0 of them: *out, one reference. Any worker
   * may call it. False: no memory, the file cannot be read, or the run must end. */
  bool (*read)(struct hia_stream_array *stream, hia_local_heap *local, uint64_t first, uint64_t n,
               hia_word *out);
} hia_stream_array;

/* Makes an array of n elements, all of whose bytes are 0: *ref, one reference. There is no memory
 * for fewer than 0. CANCELLED: the run must end (hia_heap.must_end). */
hia_status hiaR_array_new(hia_local_heap *local, const hia_shape *shape, int64_t n, hia_word *ref);

/* Makes a slice, which must be there (hiaR_array_has_slice): *slice, one reference. The caller
 * keeps its reference to the array. False, too, if the run must end: the caller asks (operation.c).
 */
bool hiaR_array_slice(hia_local_heap *local, const hia_shape *shape, hia_word ref, int64_t first,
                      int64_t end, bool is_shared, hia_word *slice);

/* Takes a reference to an array that has elements and returns one to an array with the same
 * elements, which has its own memory and to which nothing else refers. On failure, MEMORY or
 * CANCELLED, the caller keeps the reference. */
hia_status hiaR_array_own(hia_local_heap *local, const hia_shapes *shapes, uint32_t base,
                          hia_word *ref, bool is_shared);

/* Makes an array of the elements of n arrays, one array after the other: *out, one reference. The
 * caller keeps its references to the arrays. MEMORY; CANCELLED. */
hia_status hiaR_array_concat(hia_local_heap *local, const hia_shapes *shapes, uint32_t base,
                             const hia_word *refs, uint32_t n, bool is_shared, hia_word *out);

#endif
