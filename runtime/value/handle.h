/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values as hosts have them (hia_value): words with their type and their objects. */
#ifndef HIA_RT_VALUE_HANDLE_H
#define HIA_RT_VALUE_HANDLE_H

#include "runtime/error.h"
#include "runtime/value/value.h"
#include <hiaton/data.h>
#include <limits.h>

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

/* ---- write_file.c ---- */

/* A file that appears whole or not at all; a device or a pipe is written directly. */
typedef struct hia_file_output {
  int file, wrong; /* wrong: the errno of the first failure */
  bool is_beside;  /* it is to take the place when it is complete */
  bool is_named;   /* `temporary` exists */
  size_t n;
  char bytes[4096];
  char place[PATH_MAX], temporary[PATH_MAX + 64];
} hia_file_output;
int hiaR_output_open(hia_file_output *output, const char *path); /* 0 or an errno */
bool hiaR_output_write(void *output, const char *bytes, size_t n);
/* Returns 0 or the errno of the first failure; then, and if it is not complete, what was in the
 * place is there as before. Does nothing if opening has failed. */
int hiaR_output_close(hia_file_output *output, bool is_complete);
/* Whether the file could be written: 0 or an errno. Changes nothing. */
int hiaR_output_check(const char *path);

#endif
