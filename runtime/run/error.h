/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* error.c: errors as objects, and how those of runs are made. */
#ifndef HIA_RT_ERROR_H
#define HIA_RT_ERROR_H

#include "runtime/run/runtime.h"
#include <hiaton/runtime.h>

typedef struct hia_entry_note {
  const char *message, *file;
  uint32_t line, col;
} hia_entry_note;
/* A change of the source. */
typedef struct hia_entry_fix {
  const char *text, *file; /* text: NULL if there is none */
  uint32_t line, col, end_line, end_col;
} hia_entry_fix;
typedef struct hia_error_entry {
  const char *code, *message, *hint, *file;
  uint32_t line, col;
  uint32_t end_col;  /* the column behind the last byte of the range, on that line; 0: not known */
  hia_entry_fix fix; /* what the hint says */
  const hia_entry_note *notes;
  uint32_t n_notes;
} hia_error_entry;
typedef struct hia_chain_entry {
  const char *function, *file;
  uint32_t line, col;
  int64_t *elements; /* of comprehensions, innermost first: n_elements */
  uint32_t n_elements;
} hia_chain_entry;

struct hia_error {
  hia_allocator allocator;
  hia_comp comp; /* owns all its text */
  hia_status status;
  const char *file, *text;
  hia_error_entry *entries;
  size_t n_entries;
  uint32_t n_left_out; /* mistakes that were not made entries */
  int64_t fail_code;
  bool is_slice; /* with `range`: of a run that failed with HIA_RANGE */
  hia_range range;
  uint64_t chain_length;
  bool is_cut;            /* more entries lie between those that are kept */
  hia_chain_entry *chain; /* n_inner entries from the start, then n_outer up to the end */
  uint32_t n_inner, n_outer;
};

/* Makes an error and lets `fill` write it, which may throw. When out of memory *error is NULL.
 * Returns `status`, as all functions that make errors do. `error` may be NULL: the caller does not
 * need it. */
hia_status hiaR_error_make(const hia_allocator *allocator, hia_error **error, hia_status status,
                           void (*fill)(hia_error *error, const void *user), const void *user);
/* In a fill: a copy of the text that the error owns; "" for NULL. */
const char *hiaR_error_copy(hia_error *error, const char *text);

/* A message, with or without a position. Strings may be NULL. */
typedef struct hia_message {
  const char *message, *hint;
  const char *code; /* NULL: the status's word */
  const char *file, *text;
  size_t text_size;
  uint32_t line, col; /* 0: none */
} hia_message;
hia_status hiaR_fail_message(const hia_allocator *allocator, hia_error **error, hia_status status,
                             const hia_message *message);

/* Makes such an error from a format. */
hia_status hiaR_fail_text(const hia_allocator *allocator, hia_error **error, hia_status status,
                          const char *hint, const char *fmt, ...) HIA_PRINTF(5, 6);
/* Makes the error of a request for which there is no memory. Returns HIA_MEMORY. */
hia_status hiaR_fail_memory(const hia_allocator *allocator, hia_error **error);
/* Copies a caller's structure (or NULL), whose first field is its size, over *own, which holds the
 * defaults. HIA_ARGUMENT if it is of a later version and sets what this version does not know;
 * `what` names the structure in the error. */
hia_status hiaR_copy_options(const hia_allocator *allocator, const char *what, void *own,
                             size_t own_size, const void *theirs, hia_error **error);

/* Makes the error of what a compilation has thrown. Returns its status. */
hia_status hiaR_fail_comp(const hia_allocator *allocator, hia_error **error, const hia_comp *comp);

/* The limits of a run, for the message; 0: no limit was set. */
typedef struct hia_bounds {
  size_t depth, memory;
  uint64_t timeout_ns;
  bool is_native;
  bool has_row; /* the run was a map, and failed in this row: */
  uint64_t row;
} hia_bounds;
/* Makes the error of a run that failed. */
hia_status hiaR_fail_run(const hia_allocator *allocator, hia_error **error,
                         const hia_failure *failure, const hia_bounds *bounds,
                         const hia_places *places);

#endif
