/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/typed.h"
#include <stdlib.h>
#include <string.h>

/* System V on x86-64: integers and pointers in six registers, floats in eight others, further
 * arguments on the stack in order, a word each. A function ignores registers and words beyond its
 * own arguments. */
enum { INTS = 6, FLOATS = 8, ON_STACK = 64 };

typedef struct view { /* of a tensor, of any dtype and rank */
  const void *elements;
  int64_t dims[16];
} view;

typedef struct layout {
  uint64_t ints[INTS], stack[ON_STACK];
  double floats[FLOATS];
  size_t n_ints, n_floats, n_stack;
  hia_value *kept[ON_STACK]; /* data and arrays that are passed: parts of tuples */
  size_t n_kept;
  view views[ON_STACK];
  size_t n_views;
} layout;

static void add_word(layout *l, uint64_t word) {
  if (l->n_ints < INTS)
    l->ints[l->n_ints++] = word;
  else if (l->n_stack < ON_STACK)
    l->stack[l->n_stack++] = word;
}

static void add_float(layout *l, uint64_t bits) {
  if (l->n_floats < FLOATS)
    memcpy(&l->floats[l->n_floats++], &bits, sizeof bits);
  else if (l->n_stack < ON_STACK)
    l->stack[l->n_stack++] = bits;
}

static bool is_reference(const hia_type_info *type) {
  hia_type_kind kind = hia_type_info_kind(type);
  return kind == HIA_KIND_DATA || kind == HIA_KIND_ARRAY || kind == HIA_KIND_TENSOR;
}

/* What an entry takes for data, an array or a tensor: NULL if there is no room. */
static const void *reference_of(layout *l, const hia_value *value) {
  size_t rank = hia_type_info_rank(hia_value_type(value));
  if (rank == 0) return value;
  if (l->n_views == ON_STACK) return NULL;
  view *v = &l->views[l->n_views++];
  v->elements = hia_value_elements(value);
  memcpy(v->dims, hia_value_dims(value), rank * sizeof *v->dims);
  return v;
}

static void free_kept(layout *l) {
  while (l->n_kept) hia_value_free(l->kept[--l->n_kept]);
}

static void add_value(layout *l, const hia_value *value) {
  if (is_reference(hia_value_type(value))) {
    add_word(l, (uint64_t)(uintptr_t)reference_of(l, value));
    return;
  }
  for (size_t i = 0; i < hia_value_len(value); i++) {
    hia_value *part = hia_value_part(value, i);
    add_value(l, part);
    if (is_reference(hia_value_type(part)) && l->n_kept < ON_STACK)
      l->kept[l->n_kept++] = part;
    else
      hia_value_free(part);
  }
  hia_dtype t;
  if (hia_value_dtype(value, &t) != HIA_OK) return;
  bool b;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
  uint64_t bits = 0xa5a5a5a5a5a5a5a5u; /* the bits above a small type are undefined */
  switch (t) {
  case HIA_BOOL:
    hia_value_get_bool(value, &b);
    add_word(l, (bits & ~(uint64_t)0xffffffff) | b);
    break;
  case HIA_I32:
    hia_value_get_i32(value, &i32);
    memcpy(&bits, &i32, sizeof i32);
    add_word(l, bits);
    break;
  case HIA_I64:
    hia_value_get_i64(value, &i64);
    add_word(l, (uint64_t)i64);
    break;
  case HIA_F32:
    hia_value_get_f32(value, &f32);
    memcpy(&bits, &f32, sizeof f32);
    add_float(l, bits);
    break;
  case HIA_F64:
    hia_value_get_f64(value, &f64);
    memcpy(&bits, &f64, sizeof f64);
    add_float(l, bits);
    break;
  }
}

/* ---- results, read with the types of the signature ---- */

/* Makes the value of the type, from the words of the results; those of data and arrays are the
 * caller's. */
static hia_value *read_value(hia_engine *engine, const hia_type_info *type,
                             const uint64_t **words) {
  size_t n = hia_type_info_len(type);
  if (n) {
    hia_value *parts[ON_STACK] = {NULL}, *tuple = NULL;
    for (size_t i = 0; i < n && n <= ON_STACK; i++)
      parts[i] = read_value(engine, hia_type_info_part(type, i), words);
    tuple = hia_value_tuple(engine, parts, n);
    while (n) hia_value_free(parts[--n]);
    return tuple;
  }
  const uint64_t *word = (*words)++;
  bool b;
  int32_t i32;
  float f32;
  double f64;
  hia_dtype t;
  if (hia_type_info_dtype(type, &t) != HIA_OK) return (hia_value *)(uintptr_t)*word;
  memcpy(&b, word, sizeof b);
  memcpy(&i32, word, sizeof i32);
  memcpy(&f32, word, sizeof f32);
  memcpy(&f64, word, sizeof f64);
  switch (t) {
  case HIA_BOOL: return hia_value_bool(engine, b);
  case HIA_I32: return hia_value_i32(engine, i32);
  case HIA_I64: return hia_value_i64(engine, (int64_t)*word);
  case HIA_F32: return hia_value_f32(engine, f32);
  default: return hia_value_f64(engine, f64);
  }
}

bool typed_is_portable(void) {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

#define S8(s, i) s[i], s[i + 1], s[i + 2], s[i + 3], s[i + 4], s[i + 5], s[i + 6], s[i + 7]
#define T8       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t

static hia_status call(const layout *l, hia_native_fn entry) {
  typedef hia_status (*any)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double,
                            double, double, double, double, double, double, double, T8, T8, T8, T8,
                            T8, T8, T8, T8);
  const double *f = l->floats;
  const uint64_t *s = l->stack;
  return ((any)entry)(l->ints[0], l->ints[1], l->ints[2], l->ints[3], l->ints[4], l->ints[5], f[0],
                      f[1], f[2], f[3], f[4], f[5], f[6], f[7], S8(s, 0), S8(s, 8), S8(s, 16),
                      S8(s, 24), S8(s, 32), S8(s, 40), S8(s, 48), S8(s, 56));
}

hia_status call_typed(hia_engine *engine, const hia_function *function, hia_native_fn entry,
                      hia_context *context, hia_value *const *args, size_t n, hia_value **result) {
  layout l = {0};
  uint64_t words[ON_STACK] = {0};
  *result = NULL;
  size_t n_results = hia_function_entry_results(function, NULL);
  add_word(&l, (uint64_t)(uintptr_t)context);
  for (size_t i = 0; i < n; i++) add_value(&l, args[i]);
  for (size_t i = 0; i < n_results; i++) add_word(&l, (uint64_t)(uintptr_t)&words[i]);
  hia_status status = call(&l, entry);
  const uint64_t *at = words;
  if (status == HIA_OK) *result = read_value(engine, hia_function_result_type(function), &at);
  free_kept(&l);
  return status;
}

/* ---- maps: every parameter is a column ---- */

enum { MAX_ROWS = 64, MAX_TEXT = 1 << 16 };

static size_t size_of(hia_dtype t) {
  return t == HIA_BOOL ? sizeof(bool) : t == HIA_I32 || t == HIA_F32 ? 4 : 8;
}

typedef struct columns {
  uint64_t data[ON_STACK][MAX_ROWS];
  size_t n, rows;
} columns;

static void add_column(columns *c, const void *bytes, size_t size) {
  char *column = (char *)c->data[c->n++];
  for (size_t row = 0; row < c->rows; row++) memcpy(column + row * size, bytes, size);
}

/* Adds a column for each scalar, data and array of a value, which is that of all rows. */
static void add_columns(columns *c, layout *l, const hia_value *value) {
  if (is_reference(hia_value_type(value))) {
    const void *reference = reference_of(l, value);
    add_column(c, &reference, sizeof reference);
    return;
  }
  for (size_t i = 0; i < hia_value_len(value); i++) {
    hia_value *part = hia_value_part(value, i);
    add_columns(c, l, part);
    if (is_reference(hia_value_type(part)) && l->n_kept < ON_STACK)
      l->kept[l->n_kept++] = part;
    else
      hia_value_free(part);
  }
  hia_dtype t;
  if (hia_value_dtype(value, &t) != HIA_OK) return;
  layout one = {0};
  add_value(&one, value);
  add_column(c, one.n_floats ? (const void *)one.floats : one.ints, size_of(t));
}

/* True if the values print as the same text. */
static bool is_same(const hia_value *a, const hia_value *b) {
  char *text_a = calloc(2, MAX_TEXT), *text_b = text_a + MAX_TEXT;
  hia_value_format(a, text_a, MAX_TEXT);
  hia_value_format(b, text_b, MAX_TEXT);
  bool is_equal = strcmp(text_a, text_b) == 0;
  free(text_a);
  return is_equal;
}

/* Checks that all rows of a column of results are equal, and puts the first into *word. The values
 * of the others are freed. */
static bool read_column(const void *column, hia_dtype t, size_t rows, uint64_t *word) {
  bool is_equal = true;
  size_t size = size_of(t);
  memcpy(word, column, size);
  hia_value *const *values = column;
  for (size_t row = 1; row < rows; row++) {
    is_equal &= t == HIA_ENTRY_VALUE ? is_same(values[0], values[row])
                                     : memcmp(column, (const char *)column + row * size, size) == 0;
    if (t == HIA_ENTRY_VALUE) hia_value_free(values[row]);
  }
  return is_equal;
}

static hia_status call_map_in(columns *c, hia_engine *engine, const hia_function *function,
                              hia_native_fn map, hia_context *context, hia_value *const *args,
                              size_t n, size_t rows, hia_value **result) {
  const hia_dtype *dtypes;
  size_t n_results = hia_function_entry_results(function, &dtypes);
  layout l = {0};
  c->rows = rows;
  *result = NULL;
  for (size_t i = 0; i < n; i++) add_columns(c, &l, args[i]);
  add_word(&l, (uint64_t)(uintptr_t)context);
  add_word(&l, rows);
  for (size_t i = 0; i < c->n + n_results; i++) add_word(&l, (uint64_t)(uintptr_t)c->data[i]);
  hia_status status = call(&l, map);
  free_kept(&l);
  if (hia_context_rows(context) != (status == HIA_OK ? rows : 0)) return HIA_INTERNAL;
  if (status != HIA_OK) return status;
  uint64_t words[ON_STACK] = {0};
  bool is_equal = true;
  for (size_t i = 0; i < n_results; i++)
    is_equal &= read_column(c->data[c->n + i], dtypes[i], rows, &words[i]);
  const uint64_t *at = words;
  *result = read_value(engine, hia_function_result_type(function), &at);
  return is_equal ? HIA_OK : HIA_INTERNAL;
}

/* The columns are not thread-local: those variables of all tests are part of every thread's stack,
 * and some tests have threads with little stack. */
hia_status call_map(hia_engine *engine, const hia_function *function, hia_native_fn map,
                    hia_context *context, hia_value *const *args, size_t n, size_t rows,
                    hia_value **result) {
  columns *c = calloc(1, sizeof *c);
  hia_status status = call_map_in(c, engine, function, map, context, args, n, rows, result);
  free(c);
  return status;
}
