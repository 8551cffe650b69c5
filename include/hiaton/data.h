/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values, their types, and what hosts of compiled programs need to make and read them. It belongs
 * to libhiaton_rt: hiaton.h includes it, and so does the header of an object whose functions have
 * data or arrays in their signatures.
 *
 *   fn mirror(t: Tree) -> Tree   hia_status mirror(hia_context *, const hia_value *t,
 *                                                  hia_value **result)
 *
 * A call borrows its arguments, and the caller frees the results (hia_value_free).
 *
 * Ownership. A value holds its memory together with the values that it was made of, or is a part
 * of: parts are shared, not copied, and each value is freed on its own. So a small part keeps the
 * memory of the whole, and a result keeps that of the arguments that it contains parts of. Values
 * and what they hold never change, so any threads may read them at once.
 *
 * Types. A type that comes from a module or from an object file belongs to it. A value of a
 * module's type holds a copy of it, and may outlive the module. The types of an object file are
 * part of it: values of them are freed before a shared library that holds them is closed.
 *
 * Memory. Where a function takes an allocator, NULL stands for malloc; it is copied, and all memory
 * of the value comes from it.
 *
 * Depth. No function recurses over a value: values may be as deep as there is memory. For NULL
 * instead of an object, and for an index past the end, functions that return no status return NULL,
 * "", 0 or false. */
#ifndef HIATON_DATA_H
#define HIATON_DATA_H

#include <hiaton/runtime.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_value hia_value; /* an argument or a result; never changes */

/* Receives output in one or several pieces, on the thread that requested it. If it returns false,
 * writing ends with HIA_IO. The bytes are valid until it returns, and no NUL follows them. */
typedef bool (*hia_write)(void *user, const char *bytes, size_t len);

/* ---- types ---- */

HIA_API hia_type_kind hia_type_info_kind(const hia_type_info *type);
/* The dtype of a scalar. For any other kind it returns HIA_ARGUMENT and sets *dtype to HIA_BOOL. */
HIA_API hia_status hia_type_info_dtype(const hia_type_info *type, hia_dtype *dtype);
/* The number of a tensor's axes, 1 or more; 0 for any other kind. */
HIA_API size_t hia_type_info_rank(const hia_type_info *type);
/* The number of parts of a tuple; 0 for any other kind. */
HIA_API size_t hia_type_info_len(const hia_type_info *type);
HIA_API const hia_type_info *hia_type_info_part(const hia_type_info *type, size_t i);
/* The scalars of a type in order, those of inner tuples too: a typed entry has one parameter or
 * pointer for each. Returns their number and sets *dtypes to an array of as many; `dtypes` may be
 * NULL. A type with data or arrays in it has no such form: 0. */
HIA_API size_t hia_type_info_scalars(const hia_type_info *type, const hia_dtype **dtypes);

/* The type of an array's elements, or of a tensor's, which are scalars; NULL for any other kind. */
HIA_API const hia_type_info *hia_type_info_element(const hia_type_info *type);

/* The name of a data type; "" for any other kind. */
HIA_API const char *hia_type_info_name(const hia_type_info *type);
/* The number of constructors of a data type; 0 for any other kind. They are numbered from 0 in the
 * order of the program. */
HIA_API size_t hia_type_info_ctor_count(const hia_type_info *type);
HIA_API const char *hia_type_info_ctor_name(const hia_type_info *type, size_t ctor);
#define HIA_NO_CTOR SIZE_MAX
/* The number of the constructor of this name, or HIA_NO_CTOR. */
HIA_API size_t hia_type_info_find_ctor(const hia_type_info *type, const char *name);
/* The fields of a constructor. */
HIA_API size_t hia_type_info_field_count(const hia_type_info *type, size_t ctor);
HIA_API const char *hia_type_info_field_name(const hia_type_info *type, size_t ctor, size_t i);
HIA_API const hia_type_info *hia_type_info_field(const hia_type_info *type, size_t ctor, size_t i);

/* True if neither is NULL and they are the same type, even if from different modules or engines:
 * built in the same way, and data types with the same names, constructors and fields. False when
 * out of memory, which only programs with many types need. */
HIA_API bool hia_type_info_is_same(const hia_type_info *a, const hia_type_info *b);
/* Writes the type as the language does, "(i32, f64)", as snprintf does: at most `size` bytes, NUL
 * included. Returns the length of the whole. */
HIA_API size_t hia_type_info_format(const hia_type_info *type, char *buf, size_t size);

/* ---- reading values ---- */

HIA_API void hia_value_free(hia_value *value);
/* The type of a value. It belongs to the value, and lives as long as it does. */
HIA_API const hia_type_info *hia_value_type(const hia_value *value);

/* The scalar's value. If the value is NULL or of another type, it returns HIA_ARGUMENT and sets *x
 * to 0. */
HIA_API hia_status hia_value_get_bool(const hia_value *value, bool *x);
HIA_API hia_status hia_value_get_i32(const hia_value *value, int32_t *x);
HIA_API hia_status hia_value_get_i64(const hia_value *value, int64_t *x);
HIA_API hia_status hia_value_get_f32(const hia_value *value, float *x);
HIA_API hia_status hia_value_get_f64(const hia_value *value, double *x);

/* The number of parts of a tuple, of elements of an array, of fields of a data value; 0 for a
 * scalar or a tensor. */
HIA_API size_t hia_value_len(const hia_value *value);
/* Part, element or field i, as a value of its own, which the caller frees; NULL when out of memory,
 * or if there is none. */
HIA_API hia_value *hia_value_part(const hia_value *value, size_t i);
/* The dtype of a scalar; HIA_ARGUMENT for any other value. */
HIA_API hia_status hia_value_dtype(const hia_value *value, hia_dtype *dtype);

/* Prints a value in the form in which arguments are read, as snprintf does: at most `size` bytes,
 * NUL included; returns the length of the whole, 0 when out of memory. */
HIA_API size_t hia_value_format(const hia_value *value, char *buf, size_t size);
/* Prints the type of a value, as the language writes it, and returns as hia_value_format does. */
HIA_API size_t hia_value_format_type(const hia_value *value, char *buf, size_t size);
/* The number of a data value's constructor; HIA_NO_CTOR of any other value. hia_value_len and
 * hia_value_part give its fields, and the elements of an array. */
HIA_API size_t hia_value_ctor(const hia_value *value);

/* Copies a value, with what it shares, into memory of its own: the copy keeps nothing else alive. A
 * host whose values are made from values, call after call, copies them now and then. NULL when out
 * of memory. */
HIA_API hia_value *hia_value_copy(const hia_value *value);
/* Writes a value as hia_value_format prints it. Of a text longer than max_bytes it writes the
 * tokens within the first max_bytes, then "...", and sets *is_cut, which may be NULL; it sets it,
 * too, where it shortens a tensor of more than 1000 elements. UINT64_MAX: all of it. HIA_IO if
 * `write` returns false; a part may then have been written, as after HIA_MEMORY. */
HIA_API hia_status hia_value_write(const hia_value *value, uint64_t max_bytes, hia_write write,
                                   void *user, bool *is_cut, hia_error **error);

/* ---- tensors ----
 *
 * Those that are parameters of typed entries need no value: hiaton/tensors.h.
 *
 * The elements lie one after the other in row-major order: int32_t, int64_t, float, double; a bool
 * is a byte, 0 or 1. */

/* The sizes of a tensor: hia_type_info_rank of them. NULL for any other value. They, and the
 * elements, live as long as the value. */
HIA_API const int64_t *hia_value_dims(const hia_value *value);
HIA_API const void *hia_value_elements(const hia_value *value);
/* Makes a tensor of a tensor type, of sizes `dims`, with a copy of the elements; without elements
 * they may be NULL. HIA_ARGUMENT if a size is below 0, the tensor is larger than memory can be, or
 * a bool is neither 0 nor 1. */
HIA_API hia_status hia_data_tensor(const hia_allocator *allocator, const hia_type_info *type,
                                   const int64_t *dims, const void *elements, hia_value **value,
                                   hia_error **error);

/* ---- whole values as tables of nodes ----
 *
 * A node is an object: a constructor with its fields, an array with its elements, or a tensor,
 * whose words are its sizes and then its elements. The words of all nodes lie one behind the other,
 * in the order of the nodes. A field or element has one word, a tuple one for each of its parts:
 *
 *   bool 0 or 1, i32 and i64 their value, f32 and f64 their bits (hia_word_of_f32)
 *   data, arrays, tensors: the number of a node before this one; or HIA_NODE_CTOR(c), which is the
 *     constructor c without fields; or HIA_NODE_EMPTY, which is the array without elements
 *
 * Several words may name one node, which is then shared in the value, too. The value is the last
 * node. */

typedef struct hia_value_node {
  uint32_t type; /* index into `types` */
  uint32_t ctor; /* of data: the number of the constructor; of others 0 */
  uint64_t n;    /* of an array or a tensor: how many elements; of data 0 */
} hia_value_node;

#define HIA_NODE_CTOR(ctor) (-1 - (int64_t)(ctor))
#define HIA_NODE_EMPTY      (-(int64_t)1)

typedef struct hia_value_nodes {
  size_t size;
  const hia_type_info *const *types; /* data, array and tensor types of one program */
  size_t n_types;
  const hia_value_node *nodes;
  size_t n_nodes;
  const int64_t *words;
  size_t n_words;
} hia_value_nodes;
#define HIA_VALUE_NODES_INIT {sizeof(hia_value_nodes), NULL, 0, NULL, 0, NULL, 0}

static inline int64_t hia_word_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (int64_t)bits;
}
static inline int64_t hia_word_of_f64(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float hia_word_to_f32(int64_t word) {
  uint32_t bits = (uint32_t)word;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline double hia_word_to_f64(int64_t word) {
  double x;
  memcpy(&x, &word, sizeof x);
  return x;
}

/* Makes the value of a table, which remains the caller's. HIA_ARGUMENT, with the number of the node
 * and of the word, if a type, constructor, number of words or word is wrong: a number that does not
 * fit its type, or one of a node that comes later or is of another type. */
HIA_API hia_status hia_data_from_nodes(const hia_allocator *allocator, const hia_value_nodes *nodes,
                                       hia_value **value, hia_error **error);
/* Makes the table of a value of a data, array or tensor type; the caller frees it. Each object is
 * one node, after all that it refers to. Its types are all that occur among the nodes; they live as
 * long as the table. HIA_ARGUMENT for a scalar or a tuple, whose parts have tables. */
HIA_API hia_status hia_value_to_nodes(const hia_value *value, hia_value_nodes **nodes,
                                      hia_error **error);
/* Frees a table that hia_value_to_nodes has made; no other one. */
HIA_API void hia_value_nodes_free(hia_value_nodes *nodes);

/* ---- text ---- */

/* Reads a value of this type as the command line writes it, "Node(Leaf(1), Nil)", but without
 * expressions. `name` stands for where the text comes from in messages; NULL: "value".
 * HIA_ARGUMENT, with line and column, if it is no such value. */
HIA_API hia_status hia_data_read(const hia_allocator *allocator, const hia_type_info *type,
                                 const char *name, const char *text, size_t len, hia_value **value,
                                 hia_error **error);

/* ---- trees in brackets ---- */

/* Words, numbered from 0: a vocabulary, or the names of labels. Several threads may use them at
 * once as long as none adds to them. */
typedef struct hia_vocab hia_vocab;

/* NULL when out of memory. `allocator` is copied; NULL: malloc. */
HIA_API hia_vocab *hia_vocab_new(const hia_allocator *allocator);
HIA_API void hia_vocab_free(hia_vocab *words);
/* Adds the words of a text, one a line (docs/values.md says how lines escape what no line can
 * have). `name` stands for the text in messages. HIA_ARGUMENT if one of them is there already. */
HIA_API hia_status hia_vocab_read(hia_vocab *words, const char *name, const char *text, size_t len,
                                  hia_error **error);
/* Writes all words, one a line: hia_vocab_read reads the same words again, whatever their bytes.
 * HIA_IO if `write` returns false. */
HIA_API hia_status hia_vocab_write(const hia_vocab *words, hia_write write, void *user,
                                   hia_error **error);
/* These read words from a file and write them to one, which appears whole or not at all. HIA_IO if
 * it cannot be read, or written. */
HIA_API hia_status hia_vocab_load_file(hia_vocab *words, const char *path, hia_error **error);
HIA_API hia_status hia_vocab_save_file(const hia_vocab *words, const char *path, hia_error **error);
HIA_API size_t hia_vocab_len(const hia_vocab *words);
/* Word i: *len bytes, valid until a word is added. NULL if there is none. */
HIA_API const char *hia_vocab_get(const hia_vocab *words, size_t i, size_t *len);

typedef struct hia_bracket_options {
  size_t size;
  hia_vocab *words;        /* of tokens; NULL: no tree may have any */
  bool add_words;          /* new words are added; else they become the word <unk> */
  const hia_vocab *labels; /* NULL: labels are numbers */
} hia_bracket_options;
#define HIA_BRACKET_OPTIONS_INIT {sizeof(hia_bracket_options), NULL, false, NULL}

/* Reads trees in Penn brackets (docs/values.md): one of a data type, or all of the text into an
 * array of a data type. HIA_ARGUMENT with line and column if the text has no such trees, or the
 * type is another one. */
HIA_API hia_status hia_data_read_brackets(const hia_allocator *allocator, const hia_type_info *type,
                                          const char *name, const char *text, size_t len,
                                          const hia_bracket_options *options, hia_value **value,
                                          hia_error **error);

/* ---- streams ----
 *
 * A stream stands for an array of data in a file that need not fit into memory: hia_run takes it
 * in place of an argument (hia_run_options.streams), and an element is made when the run reads it,
 * and freed when the run does not refer to it any more. Several runs, on any threads, may use a
 * stream at once. */
typedef struct hia_stream hia_stream;

/* Opens the file, a regular one, and checks all of it, as hia_data_read_brackets does; `type` is an
 * array [T]. Words are added now; options->words and options->labels must live as long as the
 * stream, and may not be added to. Takes 8 bytes of memory a tree. HIA_ARGUMENT with line and
 * column if the file has no such trees; HIA_IO if it cannot be read; HIA_UNSUPPORTED if it is no
 * regular file. */
HIA_API hia_status hia_stream_open_brackets(const hia_allocator *allocator,
                                            const hia_type_info *type, const char *path,
                                            const hia_bracket_options *options, hia_stream **stream,
                                            hia_error **error);
/* Opens a file of a saved array (.hiav), a regular one, and checks all of it, as hia_data_load
 * does. Objects that several elements share are in memory as long as the stream; all others are
 * read when a run reads their element. Takes 16 to 24 bytes of memory an element, and 24 bytes and
 * its own size a shared object (docs/values.md). HIA_ARGUMENT if the file is no such value, HIA_IO
 * if it cannot be read; HIA_UNSUPPORTED if it is no regular file, or has objects in an order that
 * hia_value_save does not write: hia_data_load_file may load it. */
HIA_API hia_status hia_stream_open_saved(const hia_allocator *allocator, const hia_type_info *type,
                                         const char *path, hia_stream **stream, hia_error **error);
HIA_API void hia_stream_free(hia_stream *stream); /* not while a run uses it; may be NULL */
HIA_API uint64_t hia_stream_len(const hia_stream *stream); /* elements */
/* How far runs have read: one more than the index of the last element that any run has read so far,
 * 0 at first. Any thread may ask while runs use the stream, to show their progress. */
HIA_API uint64_t hia_stream_position(const hia_stream *stream);
HIA_API const hia_type_info *hia_stream_type(const hia_stream *stream); /* [T] */

/* ---- files (.hiav) ----
 *
 * Values of any type, scalars and tuples too. What is shared in the value is shared in the file.
 * The same value, with the same sharing, gives the same bytes on every machine of one byte order.
 */

/* HIA_IO if `write` returns false. */
HIA_API hia_status hia_value_save(const hia_value *value, hia_write write, void *user,
                                  hia_error **error);
/* Loads a value of this type. `name` stands for the bytes in messages. All bytes are checked:
 * HIA_ARGUMENT if they are no value of this type. */
HIA_API hia_status hia_data_load(const hia_allocator *allocator, const hia_type_info *type,
                                 const char *name, const void *bytes, size_t size,
                                 hia_value **value, hia_error **error);
/* These write a value to a file and load one from it. A file that is written appears whole or not
 * at all, and takes the place of another; a device or a pipe is written directly. HIA_IO if it
 * cannot be written, or read. */
HIA_API hia_status hia_value_save_file(const hia_value *value, const char *path, hia_error **error);
HIA_API hia_status hia_data_load_file(const hia_allocator *allocator, const hia_type_info *type,
                                      const char *path, hia_value **value, hia_error **error);

/* ---- files of NumPy (.npy) ----
 *
 * Tensors and scalars (docs/interchange.md). */

/* Reads a file of which these are the bytes. HIA_ARGUMENT, with the byte, if they are no .npy, or
 * the value is of another type. `type` may be NULL: then the value is of the type that the file
 * has, and holds it. */
HIA_API hia_status hia_data_load_npy(const hia_allocator *allocator, const hia_type_info *type,
                                     const char *name, const void *bytes, size_t size,
                                     hia_value **value, hia_error **error);
/* Reads such a file as a value of a type that is given, with conversion: the file may have another
 * dtype, also one that hiaton lacks, and its elements become ones of the type's
 * (docs/interchange.md, "Conversion"). HIA_ARGUMENT, with the element, if one has a value that the
 * dtype cannot have. */
HIA_API hia_status hia_data_convert_npy(const hia_allocator *allocator, const hia_type_info *type,
                                        const char *name, const void *bytes, size_t size,
                                        hia_value **value, hia_error **error);
/* HIA_ARGUMENT if the value is neither a tensor nor a scalar. HIA_IO if `write` returns false. */
HIA_API hia_status hia_value_save_npy(const hia_value *value, hia_write write, void *user,
                                      hia_error **error);
/* These read a file and write one, as hia_data_load_file and hia_value_save_file. */
HIA_API hia_status hia_data_load_npy_file(const hia_allocator *allocator, const hia_type_info *type,
                                          const char *path, hia_value **value, hia_error **error);
HIA_API hia_status hia_data_convert_npy_file(const hia_allocator *allocator,
                                             const hia_type_info *type, const char *path,
                                             hia_value **value, hia_error **error);
HIA_API hia_status hia_value_save_npy_file(const hia_value *value, const char *path,
                                           hia_error **error);

/* ---- archives of NumPy (.npz) ----
 *
 * Tensors and scalars by name (docs/interchange.md): what np.savez and np.savez_compressed write.
 * zlib is opened when the first array is read or written (libz.so.1); without it these functions
 * return HIA_UNSUPPORTED.
 *
 * max_bytes is how many bytes the elements may have in all: a small archive may inflate to a
 * thousand times its size. If they have more, it is HIA_MEMORY, before memory is taken for them.
 * UINT64_MAX: any number. */

typedef struct hia_npz hia_npz; /* never changes: any threads may use one at once */

/* Reads the directory of the archive that these bytes are. They remain the caller's, and must live
 * as long as the archive. `name` stands for them in messages; it is copied, and may be NULL.
 * HIA_ARGUMENT, with the byte, if they are no such archive. */
HIA_API hia_status hia_npz_open(const hia_allocator *allocator, const char *name, const void *bytes,
                                size_t size, hia_npz **npz, hia_error **error);
/* Opens an archive in a file, which is read into memory. HIA_IO if it cannot be read. */
HIA_API hia_status hia_npz_open_file(const hia_allocator *allocator, const char *path,
                                     hia_npz **npz, hia_error **error);
HIA_API void hia_npz_free(hia_npz *npz); /* not while another function uses it; may be NULL */
/* How many arrays there are; they are numbered in the order of the directory. */
HIA_API size_t hia_npz_len(const hia_npz *npz);
/* The name of an array, UTF-8, which lives as long as the archive. */
HIA_API const char *hia_npz_name(const hia_npz *npz, size_t i);
/* The number of the array of this name, or the count. */
HIA_API size_t hia_npz_find(const hia_npz *npz, const char *name);
/* Reads array i, with memory of the archive's allocator; the value does not need the archive.
 * `type` as with hia_data_load_npy. HIA_NOT_FOUND if there is no such array; HIA_ARGUMENT if it is
 * of another type or damaged. */
HIA_API hia_status hia_npz_load(const hia_npz *npz, size_t i, const hia_type_info *type,
                                uint64_t max_bytes, hia_value **value, hia_error **error);

/* Reads array i with conversion, as hia_data_convert_npy does a file. */
HIA_API hia_status hia_npz_convert(const hia_npz *npz, size_t i, const hia_type_info *type,
                                   uint64_t max_bytes, hia_value **value, hia_error **error);

/* Reads an array of an archive of which these are the bytes: the one that is called `array`; or,
 * if that is NULL, the only one; or, if the type is a tuple of tensors and scalars, too, those that
 * are called arr_0, arr_1 and so on, and arr_1.0, arr_1.1 for a tuple in it. HIA_ARGUMENT if there
 * is no such array. */
HIA_API hia_status hia_data_load_npz(const hia_allocator *allocator, const hia_type_info *type,
                                     const char *name, const void *bytes, size_t size,
                                     const char *array, uint64_t max_bytes, hia_value **value,
                                     hia_error **error);

/* Reads such an array with conversion, as hia_data_convert_npy does a file. */
HIA_API hia_status hia_data_convert_npz(const hia_allocator *allocator, const hia_type_info *type,
                                        const char *name, const void *bytes, size_t size,
                                        const char *array, uint64_t max_bytes, hia_value **value,
                                        hia_error **error);

/* Writes an archive of n tensors or scalars by name, in this order and not compressed: the same
 * names and values give the same bytes. Names are UTF-8 and differ, and have at most 65531 bytes;
 * else, and if a value is of another kind, it is HIA_ARGUMENT, and nothing is written. HIA_IO if
 * `write` returns false. */
HIA_API hia_status hia_npz_save(const hia_allocator *allocator, const char *const *names,
                                const hia_value *const *values, size_t n, hia_write write,
                                void *user, hia_error **error);
/* Writes an archive to a file, as hia_value_save_file does; it is on the disk when this returns. */
HIA_API hia_status hia_npz_save_file(const hia_allocator *allocator, const char *const *names,
                                     const hia_value *const *values, size_t n, const char *path,
                                     hia_error **error);
/* Writes a tensor or a scalar, which is called arr_0 there, or a tuple of them: arr_0, arr_1 and so
 * on, as np.savez does. A part of a tuple that is a tuple itself is arr_1.0, arr_1.1 and so on. */
HIA_API hia_status hia_value_save_npz_file(const hia_value *value, const char *path,
                                           hia_error **error);
/* Writes such a file with names for the n tensors and scalars of the value, from left to right,
 * however tuples nest; NULL: as above. A name that several have, or that is one of those above,
 * gets that in front: arr_0.W. `names` may be those of hia_function_result_names, and NULL.
 * HIA_ARGUMENT if their number is another. */
HIA_API hia_status hia_value_save_npz_parts(const hia_value *value, const char *const *names,
                                            size_t n, const char *path, hia_error **error);

/* ---- views: values read in place ----
 *
 * The header of an object declares for each data type T a *view*, P_T, with functions that read the
 * constructor and the fields. A view is one word: the number of a constructor without fields, or
 * the address of an object, whose layout docs/memory.md describes. It owns nothing: it is valid as
 * long as a value that contains what it shows. */

#define HIA_NO_VIEW UINT64_MAX

/* The word of a value of a data, array or tensor type; HIA_NO_VIEW for a value of another type than
 * `type`, and if there is no memory to compare the types. */
HIA_API uint64_t hia_value_view(const hia_value *value, const hia_type_info *type);

/* The number of the constructor of a view. */
static inline uint32_t hia_view_ctor(uint64_t view) {
  uint16_t ctor;
  if (view < 65536) return (uint32_t)view;
  memcpy(&ctor, (const char *)(uintptr_t)view + 4, sizeof ctor);
  return ctor;
}
/* A field or element of `size` bytes, which begins `at` bytes behind the view's address. */
static inline void hia_view_read(uint64_t view, size_t at, void *to, size_t size) {
  memcpy(to, (const char *)(uintptr_t)view + at, size);
}

/* An array: its length, and its elements, which are packed as docs/memory.md says. Those of scalars
 * are an array of C's type; of data the views; a bool is a byte, and so is a value of a type of
 * which no constructor has fields (2 bytes if it has more than 256): its number. NULL if there are
 * none. */
typedef struct hia_array_ref {
  uint64_t word;
} hia_array_ref;
static inline uint64_t hia_array_len(hia_array_ref array) {
  uint64_t n = 0;
  if (array.word >= 65536) hia_view_read(array.word, 8, &n, sizeof n);
  return n;
}
static inline const void *hia_array_elements(hia_array_ref array) {
  const void *elements = NULL;
  if (array.word >= 65536) hia_view_read(array.word, 16, &elements, sizeof elements);
  return elements;
}

/* A tensor, whose type says dtype and rank: its sizes, and its elements in row-major order. */
typedef struct hia_tensor_ref {
  uint64_t word;
} hia_tensor_ref;
static inline const int64_t *hia_tensor_dims(hia_tensor_ref tensor) {
  return (const int64_t *)(uintptr_t)(tensor.word + 16);
}
static inline const void *hia_tensor_elements(hia_tensor_ref tensor) {
  const void *elements;
  hia_view_read(tensor.word, 8, &elements, sizeof elements);
  return elements;
}

/* ---- makers: values made in place ----
 *
 * A maker has the memory in which a host makes objects one by one, by the functions P_T_C_make of
 * an object's header, without a handle for each. Used by one thread at a time. When memory runs out
 * that is noted; what is made from then on is no value, and hia_maker_value returns HIA_MEMORY. */

typedef struct hia_maker hia_maker;

/* NULL when out of memory. */
HIA_API hia_maker *hia_maker_new(const hia_allocator *allocator);
/* What it has made remains in the values that hold it. */
HIA_API void hia_maker_free(hia_maker *maker);
/* Memory for an object of the constructor `ctor`, `size` bytes with its header of 8, for the
 * functions of an object's header. The caller fills in the fields. NULL only without a maker. */
HIA_API void *hia_maker_object(hia_maker *maker, uint32_t ctor, size_t size);
/* Views of the value may become parts of what the maker makes, which holds it from then on. */
HIA_API void hia_maker_hold(hia_maker *maker, const hia_value *value);
/* Makes a value of a data, array or tensor type of a view, which is of this type: that is not
 * checked. The value holds the memory of the maker, which may go on. HIA_MEMORY if memory has run
 * out before. */
HIA_API hia_status hia_maker_value(hia_maker *maker, const hia_type_info *type, uint64_t view,
                                   hia_value **value, hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
