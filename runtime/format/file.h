/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Saved values, the form of .hiav files (docs/values.md):
 *
 *   magic, byte order, version
 *   the types: their length, then what hiaR_file_types_make writes
 *   objects: a kind, of arrays the length, the words; each after those that it refers to
 *   0, which ends the objects
 *   the words of the value
 *   how many objects there are; the size of the file; the hash of all before it
 *
 * A kind is a constructor, or a type of array, counted from 1. Kinds, lengths and references are
 * numbers of 7 bits a byte, the lowest first, the highest bit set in all bytes but the last. A
 * reference is 2 n + 1 for the constructor n without fields, 1 for an array without elements, or 2
 * d for the object that is d objects before this one. Scalars are as in memory, without padding. */
#ifndef HIA_RT_VALUE_FILE_H
#define HIA_RT_VALUE_FILE_H

#include "runtime/value/stack.h"

#define HIA_FILE_MAGIC   "\x89hiv\r\n\x1a\n"
#define HIA_FILE_ORDER   0x01020304u
#define HIA_FILE_VERSION 1u
#define HIA_FILE_HEAD    20u /* up to the types */
#define HIA_FILE_TAIL    24u

typedef struct hia_file_kind {
  hia_type type;
  uint32_t ctor;
} hia_file_kind;

/* The types that a type consists of, in the order in which they are met, and as bytes. Equal types
 * of different tables give equal bytes. */
typedef struct hia_file_types {
  const hia_allocator *allocator;
  const hia_type_table *types;
  hia_block numbers; /* uint32_t: by type of the table, its index in `list`, from 1 */
  hia_block list;    /* hia_type */
  hia_block first;   /* uint32_t: by index in `list`, the first kind */
  hia_block kinds;   /* hia_file_kind, by number - 1 */
  hia_block bytes;
  uint32_t n, n_kinds, n_bytes;
} hia_file_types;
hia_status hiaR_file_types_make(hia_file_types *f, const hia_allocator *allocator,
                                const hia_type_table *types, hia_type type);
void hiaR_file_types_free(hia_file_types *f);

static inline uint32_t hiaR_file_kind(const hia_file_types *f, hia_type type, uint32_t ctor) {
  uint32_t index = ((const uint32_t *)f->numbers.data)[type - HIA_FIRST_TYPE] - 1;
  return ((const uint32_t *)f->first.data)[index] + ctor;
}

/* The hash of a file, piece by piece. Begins with zeros. */
typedef struct hia_file_hash {
  uint64_t hash;
  unsigned n;
  unsigned char rest[8];
} hia_file_hash;
void hiaR_file_hash_add(hia_file_hash *hash, const void *bytes, size_t n);
uint64_t hiaR_file_hash_end(hia_file_hash *hash);

#endif
