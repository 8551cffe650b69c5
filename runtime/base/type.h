/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of values, and how values lie in memory. One description for the compiler, the image, the
 * values of hosts and saved files.
 *
 * A type is a number: 0..4 are the dtypes, from HIA_FIRST_TYPE on the entries of a table. A table
 * is a few flat arrays that refer to each other by index, so that an image contains it as it is.
 *
 * A value is one word (hia_word), or several: a tuple is the words of its parts. The word of a
 * scalar is in canonical form (base.h). Tensors, arrays and data are references: the word is the
 * address of an object, which begins with a hia_counted. A constructor without fields has no
 * object: its word is its number, and numbers are smaller than every address (HIA_FIRST_ADDRESS).
 * So 0, the word of an unset reference, holds no object either.
 *
 * In memory words are packed: references first, then 8, 4, 2 and 1 byte. So the references of an
 * object, which is all that counting needs to know, are its first words. A type of which no
 * constructor has fields has no objects: there its values take 1 byte, or 2 if it has more than 256
 * constructors. */
#ifndef HIA_TYPE_H
#define HIA_TYPE_H

#include "runtime/base/base.h"
#include <stdatomic.h>

typedef uint32_t hia_type;
#define HIA_FIRST_TYPE 16u

/* How one word is held: as one of the dtypes, whose numbers these are, or as a reference; in memory
 * also as the number of a constructor, of a type that has no objects. */
typedef enum hia_repr {
  HIA_REPR_BOOL = HIA_BOOL,
  HIA_REPR_I32 = HIA_I32,
  HIA_REPR_I64 = HIA_I64,
  HIA_REPR_F32 = HIA_F32,
  HIA_REPR_F64 = HIA_F64,
  HIA_REPR_REF = HIA_N_DTYPES,
  HIA_REPR_BYTE, /* a number */
  HIA_REPR_HALF, /* a number, in 2 bytes */
  HIA_N_REPRS
} hia_repr;

/* A word as it lies in memory, where C has the same type: bool is one byte that is not 0. */
static inline hia_word hiaR_load(hia_repr repr, const void *at) {
  hia_word word = 0;
  int32_t i32;
  uint16_t half;
  switch (repr) {
  case HIA_REPR_BOOL: return *(const uint8_t *)at != 0;
  case HIA_REPR_I32: return memcpy(&i32, at, sizeof i32), hiaR_from_i32(i32);
  case HIA_REPR_F32: return memcpy(&i32, at, sizeof i32), (uint32_t)i32;
  case HIA_REPR_BYTE: return *(const uint8_t *)at;
  case HIA_REPR_HALF: return memcpy(&half, at, sizeof half), half;
  default: return memcpy(&word, at, sizeof word), word;
  }
}
static inline void hiaR_store(hia_repr repr, void *at, hia_word word) {
  uint32_t half = (uint32_t)word;
  uint16_t number = (uint16_t)word;
  switch (repr) {
  case HIA_REPR_BOOL: *(uint8_t *)at = word != 0; break;
  case HIA_REPR_I32:
  case HIA_REPR_F32: memcpy(at, &half, sizeof half); break;
  case HIA_REPR_BYTE: *(uint8_t *)at = (uint8_t)word; break;
  case HIA_REPR_HALF: memcpy(at, &number, sizeof number); break;
  default: memcpy(at, &word, sizeof word);
  }
}

typedef struct hia_repr_info {
  const char *name;
  char code;    /* in signatures; 0: it is in none */
  uint8_t size; /* in memory, in bytes; its alignment, too */
} hia_repr_info;
extern const hia_repr_info hiaR_reprs[HIA_N_REPRS];

/* How a value of a type that is no tuple is held in the memory of objects. */
static inline hia_repr hiaR_repr(hia_type type) {
  return type < HIA_N_DTYPES ? (hia_repr)type : HIA_REPR_REF;
}
/* The representation with this code; HIA_N_REPRS: there is none. */
hia_repr hiaR_repr_of_code(char code);

/* A word of a layout: where it lies in an object or an element, and how. */
typedef struct hia_layout_word {
  hia_type type; /* no tuple */
  uint16_t at;   /* bytes from the beginning of the object, or of the element */
  uint8_t repr;  /* hia_repr */
  uint8_t spare;
} hia_layout_word;

/* The words of a constructor's fields, or of an array's element, in the order of the value. */
typedef struct hia_layout {
  uint32_t first, n; /* layout_words[first .. first + n) */
  uint32_t n_refs;   /* which lie before all other words */
  uint32_t size;     /* in bytes; of an object with its header, a multiple of 8; of an element a
                        multiple of its alignment */
} hia_layout;

typedef struct hia_ctor_field {
  uint32_t name; /* offset in the names */
  hia_type type;
} hia_ctor_field;

typedef struct hia_ctor {
  uint32_t name;
  uint32_t first, n; /* fields[first .. first + n) */
  hia_layout layout; /* without fields: no words, size 0 */
  /* The sizes that the fields' types declare: parts[sizes .. sizes + n_sizes), one for each axis of
   * each tensor in them, in order, of arrays for their elements; HIA_NONE: none. A size of 2^32 - 1
   * and more is none. n_sizes is 0 if there is none at all. */
  uint32_t sizes, n_sizes;
} hia_ctor;

typedef struct hia_type_entry {
  uint32_t kind;     /* hia_type_kind */
  uint32_t first, n; /* TUPLE: parts[first .. first + n); DATA: ctors[first .. first + n);
                        TENSOR: n: its rank */
  uint32_t n_words;  /* of a value: TUPLE: those of its parts; else 1 */
  uint32_t name;     /* DATA: offset in the names */
  hia_type element;  /* ARRAY; of a TENSOR its dtype */
  uint32_t repr;     /* hia_repr, in the memory of objects; TUPLE: 0 */
  hia_layout layout; /* ARRAY: of an element */
} hia_type_entry;

typedef struct hia_type_table {
  const hia_type_entry *types; /* by type - HIA_FIRST_TYPE */
  const hia_type *parts;       /* of tuples; and sizes */
  const hia_ctor *ctors;
  const hia_ctor_field *fields;
  const hia_layout_word *layout_words;
  const char *names; /* NUL-terminated, one after the other */
  uint32_t n_types, n_parts, n_ctors, n_fields, n_layout_words, n_names;
} hia_type_table;

/* Kinds whose values are references. */
static inline bool hiaR_has_object(hia_type_kind kind) {
  return kind == HIA_KIND_ARRAY || kind == HIA_KIND_DATA || kind == HIA_KIND_TENSOR;
}
static inline bool hiaR_is_scalar(hia_type type) { return type < HIA_N_DTYPES; }
static inline const hia_type_entry *hiaR_type_entry(const hia_type_table *t, hia_type type) {
  return &t->types[type - HIA_FIRST_TYPE];
}
static inline hia_type_kind hiaR_type_kind(const hia_type_table *t, hia_type type) {
  return hiaR_is_scalar(type) ? HIA_KIND_SCALAR : (hia_type_kind)hiaR_type_entry(t, type)->kind;
}
static inline uint32_t hiaR_type_words(const hia_type_table *t, hia_type type) {
  return hiaR_is_scalar(type) ? 1 : hiaR_type_entry(t, type)->n_words;
}
static inline const hia_ctor *hiaR_ctor(const hia_type_table *t, hia_type data, uint32_t number) {
  return &t->ctors[hiaR_type_entry(t, data)->first + number];
}

/* Writes the types of a value's words, which are no tuples: hiaR_type_words of them. */
void hiaR_type_flatten(const hia_type_table *t, hia_type type, hia_type *flat);

/* How many sizes a value's type can declare: the axes of the tensors in it. */
uint32_t hiaR_type_sizes(const hia_type_table *t, hia_type type);

/* Types can nest as deep as they have parts, so a walk through one keeps a stack of the tuples
 * and arrays that are open, and does not recurse. */
typedef struct hia_open_type {
  hia_type type;
  uint32_t next; /* part */
} hia_open_type;

/* A type's text in the language's syntax, piece by piece. */
typedef struct hia_type_pieces {
  const hia_type_table *types;
  hia_type type;       /* begins next; NONE: what is open goes on */
  hia_open_type *open; /* the caller's: room for max_open; it may move between pieces */
  uint32_t n_open, max_open;
} hia_type_pieces;

/* Returns the next piece, NUL-terminated, or NULL at the end. Where a tuple or an array nests too
 * deep for the room, the piece is "..." and the last one. */
const char *hiaR_type_piece(hia_type_pieces *p);

/* How a data type is held: it has n constructors, of which some has fields or none has. */
static inline hia_repr hiaR_data_repr(uint32_t n_ctors, bool has_fields) {
  return has_fields ? HIA_REPR_REF : n_ctors <= 256 ? HIA_REPR_BYTE : HIA_REPR_HALF;
}

/* ---- objects ---- */

/* Every object begins with this. A count from HIA_STICKY on does not change any more: the object
 * belongs to no run, or has had so many references (docs/memory.md). */
typedef struct hia_counted {
  _Atomic uint32_t count;
  uint16_t ctor;  /* of data: the constructor's number */
  uint16_t spare; /* of data: not 0 while it is owed words (native/batch/owed.c) */
} hia_counted;
#define HIA_STICKY        0x80000000u
#define HIA_OUTSIDE       0xc0000000u /* the count of an object that belongs to no run */
#define HIA_FIRST_ADDRESS 65536u      /* no object lies lower: Linux maps nothing there */
#define HIA_MAX_CTORS     65534u      /* of a type */
/* The language's bounds on a type, and on the fields of a constructor. */
#define HIA_MAX_TYPE_PARTS 1000u /* scalars, data types, arrays */
#define HIA_MAX_CTOR_WORDS 1000u
/* The words of any element or object. Compiling adds a few to what a program has: the fuel
 * behind a result, the index before the gradient of an element. */
#define HIA_MAX_LAYOUT_WORDS 1024u

/* An array, whose elements lie one after the other as its type's layout says: behind this
 * structure, or in another array, of which this one is a part (a view). */
typedef struct hia_array {
  hia_counted counted;
  uint64_t n; /* elements */
  char *data;
} hia_array;
typedef struct hia_array_view {
  hia_array array;
  hia_array *owner; /* no view; holds the elements */
} hia_array_view;

static inline bool hiaR_is_view(const hia_array *array) {
  return array->data != (const char *)(array + 1);
}
/* Bytes of an array of n elements that is no view. They must not overflow. */
static inline size_t hiaR_array_size(uint32_t element_size, uint64_t n) {
  return (sizeof(hia_array) + n * element_size + 7) & ~(size_t)7;
}

/* Lays out n words, HIA_MAX_LAYOUT_WORDS at most, which begin `header` bytes from the object's
 * beginning. Writes layout_words[0 .. n).at; layout_words[i].type and .repr are set. Returns the
 * layout, with first == 0. */
hia_layout hiaR_lay_out(hia_layout_word *layout_words, uint32_t n, uint32_t header);

#endif
