/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loading objects of a file piece by piece: what hiaR_value_load and streams have in common. */
#ifndef HIA_RT_VALUE_LOAD_H
#define HIA_RT_VALUE_LOAD_H

#include "runtime/format/file.h"
#include "runtime/heap/heap.h"

typedef struct hia_loaded_object {
  void *object; /* NULL: an array without elements, in the heap of a run */
  hia_type type;
  bool is_used; /* an object after it refers to it */
} hia_loaded_object;

/* Objects are made in `objects`, or in the heap of a run: then their counts are the references from
 * other objects. */
typedef struct hia_loader {
  /* hiaR_load_object and hiaR_load_reference, or what takes scalars alone. */
  hia_status (*read_object)(struct hia_loader *loader, bool *is_end);
  hia_status (*read_reference)(struct hia_loader *loader, hia_type type, hia_word *word);
  const hia_type_table *types;
  const hia_allocator *allocator;
  hia_objects *objects;
  hia_local_heap *local;                 /* or NULL */
  const unsigned char *begin, *at, *end; /* end: of objects and words */
  uint64_t begin_at;                     /* of `begin` in the file, for messages */
  const hia_file_types *file_types;
  hia_block made; /* hia_loaded_object */
  uint64_t n_made;
  hia_value_error *error;
  /* Finds an object that is `back` objects before the first one of these. NULL: there are none. */
  hia_status (*earlier)(struct hia_loader *loader, uint64_t back, hia_type type, hia_word *word);
  void *user;
} hia_loader;

/* "the saved value is damaged: WHAT at byte N", HIA_ARGUMENT. */
hia_status hiaR_load_damaged(hia_value_error *error, uint64_t at, const char *what);
/* Reads one object, which becomes the last of `made`; or finds the 0 that ends them: *is_end, which
 * may be NULL where there must be an object. */
hia_status hiaR_load_object(hia_loader *loader, bool *is_end);
hia_status hiaR_load_reference(hia_loader *loader, hia_type type, hia_word *word);

/* Checks a file of `size` bytes, of which these are the first HIA_FILE_HEAD and the last
 * HIA_FILE_TAIL; both NULL: it is shorter. */
hia_status hiaR_load_check_ends(const void *head, const void *tail, uint64_t size,
                                hia_value_error *error);
hia_status hiaR_load_check_hash(const void *tail, hia_file_hash *hash, hia_value_error *error);
/* Compares the types of a file with those of the wanted type. */
hia_status hiaR_load_check_types(const hia_file_types *types, hia_type type, const void *bytes,
                                 uint32_t n, hia_value_error *error);
/* The number of bytes of its types, of the head of a file. */
uint32_t hiaR_load_types_len(const void *head);
/* The number of its objects, of the tail. */
uint64_t hiaR_load_n_objects(const void *tail);

#endif
