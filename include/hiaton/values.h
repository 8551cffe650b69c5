/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays: made, taken apart, read, printed and saved. hiaton.h includes
 * it.
 *
 *   const hia_type_info *list = hia_module_type(module, "List");
 *   const int64_t words[] = {7, HIA_NODE_CTOR(0), 5, 0};
 *   const hia_value_node nodes[] = {{0, 1, 0}, {0, 1, 0}};          Cons(7, Nil), Cons(5, node 0)
 *   hia_value_nodes table = HIA_VALUE_NODES_INIT;
 *   table.types = &list, table.n_types = 1;
 *   table.nodes = nodes, table.n_nodes = 2;
 *   table.words = words, table.n_words = 4;
 *   if (hia_value_from_nodes(engine, &table, &value, &error) == HIA_OK) ...
 *
 * Ownership. A value holds its memory together with the values that it was made of, or is a part
 * of: parts are shared, not copied, and each value is freed on its own. So a small part keeps the
 * memory of the whole, and a result keeps that of the arguments that it contains parts of. Values
 * and what they hold never change, so any threads may read them at once. A type (hia_type_info)
 * that is passed in must be there only for the time of the call: the value holds a copy.
 *
 * Depth. No function recurses over a value: values may be as deep as there is memory. */
#ifndef HIATON_VALUES_H
#define HIATON_VALUES_H

#include <hiaton/inspect.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one value ---- */

/* The type of a value. It belongs to the value, and lives as long as it does. */
HIA_API const hia_type_info *hia_value_type(const hia_value *value);

/* Makes a value of a data type: its constructor number `ctor`, from 0, with all its fields in
 * order. The fields remain the caller's. HIA_ARGUMENT if there is no such constructor, or the
 * number of fields or the type of one is wrong. */
HIA_API hia_status hia_value_data(hia_engine *engine, const hia_type_info *type, size_t ctor,
                                  hia_value *const *fields, size_t n, hia_value **value,
                                  hia_error **error);
/* Makes an array of n elements; `type` is the type of the array. The elements remain the
 * caller's. HIA_ARGUMENT if the type of one is wrong. */
HIA_API hia_status hia_value_array(hia_engine *engine, const hia_type_info *type,
                                   hia_value *const *elements, size_t n, hia_value **value,
                                   hia_error **error);
/* The number of a data value's constructor; HIA_NO_CTOR of any other value. hia_value_len and
 * hia_value_part give its fields, and the elements of an array. */
HIA_API size_t hia_value_ctor(const hia_value *value);

/* Copies a value, with what it shares, into memory of its own: the copy keeps nothing else alive. A
 * host whose values are made from values, call after call, copies them now and then. NULL when out
 * of memory. */
HIA_API hia_value *hia_value_copy(const hia_value *value);

/* ---- whole values as tables of nodes ----
 *
 * A node is an object: a constructor with its fields, or an array with its elements. The words of
 * all nodes lie one behind the other, in the order of the nodes. A field or element has one word,
 * a tuple one for each of its parts:
 *
 *   bool 0 or 1, i32 and i64 their value, f32 and f64 their bits (hia_word_of_f32)
 *   data and arrays: the number of a node before this one; or HIA_NODE_CTOR(c), which is the
 *     constructor c without fields
 *
 * Several words may name one node, which is then shared in the value, too. The value is the last
 * node. */

typedef struct hia_value_node {
  uint32_t type; /* index into `types` */
  uint32_t ctor; /* of data: the number of the constructor; of an array 0 */
  uint64_t n;    /* of an array: how many elements; of data 0 */
} hia_value_node;

#define HIA_NODE_CTOR(ctor) (-1 - (int64_t)(ctor))

typedef struct hia_value_nodes {
  size_t size;
  const hia_type_info *const *types; /* data and array types of one program */
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
HIA_API hia_status hia_value_from_nodes(hia_engine *engine, const hia_value_nodes *nodes,
                                        hia_value **value, hia_error **error);
/* Makes the table of a value of a data or array type; the caller frees it. Each object is one node,
 * after all that it refers to. Its types are all that occur among the nodes; they live as long as
 * the table. HIA_ARGUMENT for a scalar or a tuple, whose parts have tables. */
HIA_API hia_status hia_value_to_nodes(const hia_value *value, hia_value_nodes **nodes,
                                      hia_error **error);
/* Frees a table that hia_value_to_nodes has made; no other one. */
HIA_API void hia_value_nodes_free(hia_value_nodes *nodes);

/* ---- text ---- */

/* As hia_value_parse, for text that need not end in a NUL. `name` stands for where it comes from in
 * messages, such as the name of a file; NULL: "argument 1". */
HIA_API hia_status hia_value_parse_text(hia_function *function, size_t i, const char *name,
                                        const char *text, size_t len, hia_value **value,
                                        hia_error **error);
/* Writes a value as hia_value_format prints it. Of a text longer than max_bytes it writes the
 * tokens within the first max_bytes, then "...", and sets *is_cut, which may be NULL. HIA_IO if
 * `write` returns false; a part may then have been written, as after HIA_MEMORY. */
HIA_API hia_status hia_value_write(const hia_value *value, uint64_t max_bytes, hia_write write,
                                   void *user, bool *is_cut, hia_error **error);

/* ---- trees in brackets ---- */

/* Words, numbered from 0: a vocabulary, or the names of labels. Several threads may use them at
 * once as long as none adds to them. */
typedef struct hia_words hia_words;

/* NULL when out of memory. `allocator` is copied; NULL: malloc. */
HIA_API hia_words *hia_words_new(const hia_allocator *allocator);
HIA_API void hia_words_free(hia_words *words);
/* Adds the words of a text, one a line. `name` stands for the text in messages. HIA_ARGUMENT if one
 * of them is there already. */
HIA_API hia_status hia_words_read(hia_words *words, const char *name, const char *text, size_t len,
                                  hia_error **error);
HIA_API size_t hia_words_len(const hia_words *words);
/* Word i: *len bytes, valid until a word is added. NULL if there is none. */
HIA_API const char *hia_words_get(const hia_words *words, size_t i, size_t *len);

typedef struct hia_bracket_options {
  size_t size;
  hia_words *words;        /* of tokens; NULL: no tree may have any */
  bool add_words;          /* new words are added; else they become the word <unk> */
  const hia_words *labels; /* NULL: labels are numbers */
} hia_bracket_options;
#define HIA_BRACKET_OPTIONS_INIT {sizeof(hia_bracket_options), NULL, false, NULL}

/* Reads trees in Penn brackets (docs/values.md): one of a data type, or all of the text into an
 * array of a data type. HIA_ARGUMENT with line and column if the text has no such trees, or the
 * type is another one. */
HIA_API hia_status hia_value_read_brackets(hia_engine *engine, const hia_type_info *type,
                                           const char *name, const char *text, size_t len,
                                           const hia_bracket_options *options, hia_value **value,
                                           hia_error **error);

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
HIA_API hia_status hia_value_load(hia_engine *engine, const hia_type_info *type, const char *name,
                                  const void *bytes, size_t size, hia_value **value,
                                  hia_error **error);
/* The same to and from a file. A file that is not written to its end is removed. HIA_IO if it
 * cannot be written, or read. */
HIA_API hia_status hia_value_save_file(const hia_value *value, const char *path, hia_error **error);
HIA_API hia_status hia_value_load_file(hia_engine *engine, const hia_type_info *type,
                                       const char *path, hia_value **value, hia_error **error);

#ifdef __cplusplus
}
#endif
#endif
