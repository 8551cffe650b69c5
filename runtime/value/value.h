/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values outside of runs: their memory, their text, their files (docs/values.md). The command line,
 * the API and programs that were built ahead of time all read and print values with these
 * functions.
 *
 * A value is given by its type, the table of that type, and its words (runtime/base/type.h). No
 * function here recurses: the stack of open values lies in memory from an allocator, so a value may
 * be as deep as memory allows. The functions are safe to call from any thread as long as no other
 * thread writes to the same objects or the same output. */
#ifndef HIA_RT_VALUE_H
#define HIA_RT_VALUE_H

#include "runtime/base/shape.h"
#include "runtime/base/type.h"

/* ---- objects.c: the memory of values ----
 *
 * Objects are allocated by moving a pointer through chunks, and are freed all at once when the last
 * holder lets go. Their counts are sticky: a run that gets such a value neither counts nor frees
 * them. Holders may be on any threads; allocation is by one thread at a time. */

typedef struct hia_objects hia_objects;

/* The head of each chunk. Chunks that were allocated elsewhere can be handed over (adopted), so
 * each one has the allocator that frees it. */
typedef struct hia_object_chunk {
  struct hia_object_chunk *next;
  hia_allocator allocator;
  size_t size; /* of the block, whose beginning this is */
} hia_object_chunk;

/* Returns NULL if there is no memory. The caller is the only holder. `max_bytes`: the sum of all
 * chunks is limited by it; 0: by what the machine has left; SIZE_MAX: not limited. */
hia_objects *hiaR_objects_new(const hia_allocator *allocator, size_t max_bytes);
/* Makes them with a limit of 0, for about so many bytes in all. */
hia_objects *hiaR_objects_new_for(const hia_allocator *allocator, size_t bytes);
hia_objects *hiaR_objects_hold(hia_objects *objects); /* returns them */
void hiaR_objects_release(hia_objects *objects);      /* may be NULL */
/* From now on these objects hold others, to which they refer. False: no memory, or only beyond the
 * limit. No objects may come to hold themselves through others. */
bool hiaR_objects_depend(hia_objects *objects, hia_objects *on);
/* From now on these objects own something else, which `release` releases, on the thread that
 * releases them; it may release other objects. False: as above, and `release` is not called. */
bool hiaR_objects_own(hia_objects *objects, void (*release)(void *user), void *user);
/* Returns NULL if there is no memory, or only beyond the limit; nothing has changed then. The size
 * is a multiple of 8; the memory is not zeroed. */
void *hiaR_objects_alloc(hia_objects *objects, size_t size);
/* Takes over a list of chunks, beyond the limit too. The counts of their objects are set by the
 * caller. */
void hiaR_objects_adopt(hia_objects *objects, hia_object_chunk *chunks);
size_t hiaR_objects_bytes(const hia_objects *objects); /* of all chunks */
size_t hiaR_objects_left(const hia_objects *objects);  /* bytes up to the limit */

/* Makes an object of a constructor with fields, or an array of n elements whose memory lies behind
 * its head; without their words. NULL: no memory, or a size that overflows. */
hia_counted *hiaR_new_data(hia_objects *objects, const hia_ctor *ctor, uint32_t number);
hia_array *hiaR_new_array(hia_objects *objects, const hia_layout *element, uint64_t n);
/* Makes a tensor, whose shape is of numbers, with a rank of 1 or more; and a copy of one, of
 * a run or of none, with elements of its own. */
struct hia_tensor *hiaR_new_tensor(hia_objects *objects, hia_dtype dtype, const hia_dims *shape);
struct hia_tensor *hiaR_copy_tensor(hia_objects *objects, const struct hia_tensor *tensor);

/* ---- leave.c ---- */

/* The objects of a run that leave it need not be copied if they are large: the memory of a tensor
 * to which nothing else refers becomes that of `to`. The heap is the run's, until it ends. */
struct hia_heap;
void hiaR_objects_take_from(hia_objects *to, struct hia_heap *heap);

/* Copies the objects of a run that has ended to which the words refer, with what they share; the
 * words then refer to the copies. The run's objects are overwritten, or, if `to` takes them, left
 * out. Objects from outside of the run are not copied: if the results refer to some, *has_outside
 * becomes true, and `to` must hold them (hiaR_objects_depend). HIA_MEMORY: no memory, or beyond the
 * limit of `to`; the words are then undefined. */
struct hia_shapes;
hia_status hiaR_objects_leave(hia_objects *to, const struct hia_shapes *shapes,
                              const hia_type *types, hia_word *words, uint32_t n,
                              bool *has_outside);

/* ---- types.c: tables of types that values hold ----
 *
 * A value belongs to no program, so it holds the table that its type is in: a copy of its program's
 * table, which all values of the program share. Such a table is constant, and is freed when its
 * last holder lets go. */

typedef struct hia_value_types {
  _Atomic uint32_t holders;
  hia_allocator allocator;
  size_t size;                         /* of the block; 0: the table of scalars, which is static */
  struct hia_value_types *older;       /* held, or NULL: this table begins with all entries of it */
  const struct hia_value_types *first; /* the oldest: tables of one first number types alike */
  hia_type_table table;
  const hia_type_info *infos; /* by type - HIA_FIRST_TYPE */
} hia_value_types;

/* A type together with its table, which holds it. */
struct hia_type_info {
  hia_value_types *types;
  hia_type type;
  uint32_t n_words;
  uint32_t n_scalars; /* of a type without references, in order: */
  const hia_dtype *scalars;
  bool has_references; /* data or arrays are among its words */
};
extern const hia_type_info hiaR_scalar_infos[HIA_N_DTYPES];
static inline const hia_type_info *hiaR_type_info(const hia_value_types *types, hia_type type) {
  return hiaR_is_scalar(type) ? &hiaR_scalar_infos[type] : &types->infos[type - HIA_FIRST_TYPE];
}

/* Copies a table. It has all entries of `older`, which it then holds; or NULL. Returns NULL if
 * there is no memory. The caller is the only holder. */
hia_value_types *hiaR_value_types_new(const hia_allocator *allocator, const hia_type_table *table,
                                      hia_value_types *older);
hia_value_types *hiaR_value_types_hold(hia_value_types *types); /* returns them; may be NULL */
void hiaR_value_types_release(hia_value_types *types);          /* may be NULL */

/* True if they are the same type for sure: of one program. */
static inline bool hiaR_is_same_type(const hia_type_info *a, const hia_type_info *b) {
  return a == b || (a->type == b->type && a->types->first == b->types->first);
}
/* Compares types by structure, names included: *is_same. HIA_MEMORY. */
hia_status hiaR_type_infos_compare(const hia_type_info *a, const hia_type_info *b,
                                   const hia_allocator *allocator, bool *is_same);
hia_status hiaR_types_compare(const hia_type_table *a, hia_type type_a, const hia_type_table *b,
                              hia_type type_b, const hia_allocator *allocator, bool *is_same);

/* ---- sizes.c: the sizes that fields of constructors declare ---- */

typedef struct hia_size_misfit {
  uint32_t field; /* of the constructor */
  hia_dtype dtype;
  hia_dims wanted, found; /* of the first tensor that does not fit; a size that is not declared is
                             unknown */
} hia_size_misfit;
/* True if the tensors in the fields of an object of the constructor have the declared sizes: also
 * those in tuples and arrays, but not those in other data. False: *misfit says which has not. The
 * object's words are all set. Takes time in proportion to its arrays. Any thread. */
bool hiaR_sizes_fit(const hia_type_table *types, const hia_ctor *ctor, const void *object,
                    hia_size_misfit *misfit);
/* "shapes do not fit: field v of Leaf is f32[3], the value is f32[4]", cut to the buffer. */
void hiaR_size_misfit_print(const hia_type_table *types, const hia_ctor *ctor,
                            const hia_size_misfit *misfit, char *buf, size_t size);

/* ---- type_text.c ---- */

/* The type in the language's syntax, NUL-terminated; if it is longer than the buffer, which has at
 * least 8 bytes, it ends in "...". Returns its length. */
size_t hiaR_type_text(const hia_type_table *types, hia_type type, char *buf, size_t size);

/* The table of types that a signature of an image names (hia_image_export): text of the codes of
 * dtypes (hia_repr_info), numbers of types in a table, and tuples in brackets. */
typedef struct hia_signature {
  hia_allocator allocator;
  void *block;
  size_t size;
  hia_type_table types;
  const hia_type *parts; /* the types in the signature, one after the other: n_parts of them */
  uint32_t n_parts;
} hia_signature;
/* Reads the types in s[0 .. n). The table begins with the types of `known`, which it refers to; or
 * NULL. HIA_ARGUMENT: it is no signature. */
hia_status hiaR_signature_read(hia_signature *signature, const hia_allocator *allocator,
                               const hia_type_table *known, const char *s, size_t n);
void hiaR_signature_free(hia_signature *signature);

/* ---- print.c ---- */

/* Where bytes go. Returns false if they cannot be written: the caller then ends with HIA_IO. */
typedef struct hia_sink {
  bool (*take)(void *user, const char *bytes, size_t n);
  void *user;
} hia_sink;

/* Prints the value as the language writes it, on one line without its end. Of a text longer than
 * max_bytes only whole tokens within the first max_bytes are printed, then "...", and *is_cut
 * (which may be NULL) becomes true; so it does where of a tensor of more than 1000 elements only
 * the ends of long axes are printed, as NumPy does. With UINT64_MAX all is printed. HIA_OK, HIA_IO,
 * HIA_MEMORY: a part of it may have been printed. */
hia_status hiaR_value_print(const hia_type_table *types, hia_type type, const hia_word *words,
                            const hia_allocator *allocator, uint64_t max_bytes,
                            const hia_sink *sink, bool *is_cut);

/* ---- read.c ---- */

/* What is wrong with a text or a file. */
typedef struct hia_value_error {
  const char *code;             /* of docs/errors.md; NULL: none of them, the status says it */
  size_t at, len;               /* the bytes in question */
  uint32_t line, col;           /* of `at`, from 1, col in bytes; 0: there is no position */
  bool is_reported;             /* by the evaluator, in a way of its own: there is no message */
  char message[320], hint[128]; /* hint: "" if there is none */
} hia_value_error;

/* Computes constant expressions that are no literals. Evaluates text[at .. at + len), which is not
 * empty, at `type`: a scalar, or a tuple of scalars; HIA_NONE: by its own look. *found becomes its
 * type, *words its words, which are valid up to the next call. Returns HIA_ARGUMENT if it is no
 * such expression, which it has reported; or HIA_MEMORY and the like. It must not throw. */
typedef struct hia_evaluator {
  void *user;
  hia_status (*evaluate)(void *user, size_t at, size_t len, hia_type type, hia_type *found,
                         const hia_word **words);
} hia_evaluator;

/* Makes types that a value has by its own look and that the table may lack. The functions return
 * HIA_NONE if there is no memory, and must not throw. The table may change with each of these
 * calls. */
typedef struct hia_type_maker {
  void *user;
  hia_type (*tuple)(void *user, const hia_type *parts, uint32_t n);
  hia_type (*array)(void *user, hia_type element);
  hia_type (*tensor)(void *user, hia_dtype dtype, uint32_t rank);
} hia_type_maker;

typedef struct hia_reading {
  const hia_allocator
      *allocator; /* of temporary memory, which counts with max_bytes of `objects` */
  const hia_type_table *types;
  hia_objects *objects;           /* where the value is made; may be NULL if it is all scalars */
  const hia_evaluator *evaluator; /* NULL: values are made of literals */
  const hia_type_maker *maker;    /* NULL: by its own look a value is a scalar or data */
} hia_reading;

/* Reads a value of the type; all of the text must be one, with white space and comments around it.
 * `words`: hiaR_type_words(types, type) of them. HIA_ARGUMENT: *error says what is wrong;
 * HIA_MEMORY; or what the evaluator returned. Objects made before an error stay in `objects`. */
hia_status hiaR_value_read(const hia_reading *reading, const char *text, size_t len, hia_type type,
                           hia_word *words, hia_value_error *error);

/* Finds the type of a value by its own look. Its parts are checked only as far as their types
 * depend on them: the text may still be no value of this type. */
hia_status hiaR_value_look(const hia_reading *reading, const char *text, size_t len, hia_type *type,
                           hia_value_error *error);

/* ---- copy.c ---- */

/* Copies all objects that the words refer to, with what they share; the words then refer to the
 * copies. HIA_MEMORY: the words are then undefined. */
hia_status hiaR_value_copy(const hia_type_table *types, hia_type type,
                           const hia_allocator *allocator, hia_objects *to, hia_word *words);

/* ---- save.c, load.c: values as files (.hiav) ----
 *
 * What is shared in the value is shared in the file. The same value, with the same sharing, gives
 * the same bytes on every machine of one byte order. */

/* HIA_OK, HIA_IO, HIA_MEMORY: a part of it may have been written. */
hia_status hiaR_value_save(const hia_type_table *types, hia_type type, const hia_word *words,
                           const hia_allocator *allocator, const hia_sink *sink);
/* Saves values of scalars and tuples of them, without the code for objects. */
hia_status hiaR_scalars_save(const hia_type_table *types, hia_type type, const hia_word *words,
                             const hia_allocator *allocator, const hia_sink *sink);

/* Loads a value of this type. The bytes are checked: HIA_ARGUMENT if they are no value of the type,
 * with a message and an offset. HIA_MEMORY. Objects made before an error stay in `objects`, which
 * may be NULL if the value is all scalars. */
hia_status hiaR_value_load(const hia_type_table *types, hia_type type, const void *bytes,
                           size_t size, const hia_allocator *allocator, hia_objects *objects,
                           hia_word *words, hia_value_error *error);
/* Loads values of scalars and tuples of them. */
hia_status hiaR_scalars_load(const hia_type_table *types, hia_type type, const void *bytes,
                             size_t size, const hia_allocator *allocator, hia_objects *objects,
                             hia_word *words, hia_value_error *error);

/* ---- brackets.c: trees in Penn brackets ---- */

/* Words (hia_vocab of the API). Used by one thread at a time while words are added. */
typedef struct hia_vocab hia_vocab;
hia_vocab *hiaR_vocab_new(const hia_allocator *allocator); /* NULL: no memory */
void hiaR_vocab_free(hia_vocab *words);                    /* may be NULL */
const hia_allocator *hiaR_vocab_allocator(const hia_vocab *words);
/* The number of the word, which is added if it is new; HIA_NONE: no memory. */
uint32_t hiaR_vocab_add(hia_vocab *words, const char *s, size_t n);
uint32_t hiaR_vocab_find(const hia_vocab *words, const char *s, size_t n); /* or HIA_NONE */
uint32_t hiaR_vocab_len(const hia_vocab *words);
/* The word of this number: *n bytes, valid until a word is added. */
const char *hiaR_vocab_get(const hia_vocab *words, uint32_t i, size_t *n);
/* format/vocabulary_text.c: adds the words of a text, one a line. HIA_ARGUMENT: one of them is
 * there twice. */
hia_status hiaR_vocab_read(hia_vocab *words, const char *text, size_t len, hia_value_error *error);
/* Writes them, one a line, so that hiaR_vocab_read reads the same words, whatever their bytes.
 * HIA_IO. */
hia_status hiaR_vocab_write(const hia_vocab *words, const hia_sink *sink);

typedef struct hia_bracket_reading {
  const hia_allocator *allocator; /* of temporary memory */
  const hia_type_table *types;
  hia_objects *objects;
  hia_vocab *words;        /* of tokens; NULL: a token is an error */
  bool may_add;            /* words that are new are added; else they are the word <unk> */
  const hia_vocab *labels; /* NULL: labels are numbers */
} hia_bracket_reading;

/* Reads trees, of data type T: one if `type` is T, all of the text if it is [T]. Fields decide what
 * they take: `label: i32` the bracket's label, `word: i32` its token, one of type T the next of the
 * brackets in it, one of type [T] all that are left. A bracket becomes the first constructor that
 * takes all of it but, perhaps, the label. HIA_ARGUMENT with line and column; HIA_MEMORY. */
hia_status hiaR_brackets_read(const hia_bracket_reading *reading, const char *text, size_t len,
                              hia_type type, hia_word *word, hia_value_error *error);

#endif
