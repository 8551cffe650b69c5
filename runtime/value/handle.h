/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values as hosts have them (hia_value): words with their type and their objects. */
#ifndef HIA_RT_VALUE_HANDLE_H
#define HIA_RT_VALUE_HANDLE_H

#include "runtime/run/error.h"
#include "runtime/value/output.h"
#include "runtime/value/value.h"
#include <hiaton/data.h>

#define HIA_MAX_WORDS                                                                              \
  1000u /* scalars, data and arrays in a type: the language's bound on parts                       \
         */

struct hia_value {
  hia_allocator allocator;
  const hia_type_info *type; /* its table is held */
  hia_objects *objects;      /* held; NULL: the words refer to no objects */
  hia_word words[];          /* type->n_words */
};

/* ---- handle.c ---- */

/* The value comes to hold its table of types and its objects. NULL: no memory. */
hia_value *hiaR_value_new(const hia_allocator *allocator, const hia_type_info *type,
                          hia_objects *objects, const hia_word *words);

/* ---- input.c ---- */

/* Reports what a reader has found wrong with the text or the bytes of that name; `wrong` counts
 * with HIA_ARGUMENT. Returns the status. */
hia_status hiaR_fail_reading(const hia_allocator *allocator, hia_error **error, hia_status status,
                             const char *name, const char *text, size_t len,
                             const hia_value_error *wrong);
/* "cannot VERB PATH: ", and what the system says of an errno. Returns HIA_IO. */
hia_status hiaR_fail_file(const hia_allocator *allocator, hia_error **error, const char *verb,
                          const char *path, int number);

/* hia_value_save_file and hia_data_load for values of scalars and tuples of them, without the code
 * for objects. */
hia_status hiaR_scalars_save_file(const hia_value *value, const char *path, hia_error **error);
hia_status hiaR_scalars_load_data(const hia_allocator *allocator, const hia_type_info *type,
                                  const char *name, const void *bytes, size_t size,
                                  hia_value **value, hia_error **error);

/* ---- read_file.c ---- */

/* Reads a file, a pipe too, of about `max` bytes at most (else EFBIG). Returns 0 or an errno. *size
 * is the size of the allocation, which the caller frees, also after a failure. */
int hiaR_read_file(const hia_allocator *allocator, const char *path, size_t max, char **text,
                   size_t *len, size_t *size);

#endif
