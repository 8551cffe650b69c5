/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/interchange: .npy, and tensors of files. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/interchange.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* Reads from a block of just that size, so that AddressSanitizer sees what is read behind it, and
 * makes a tensor of it in `objects`. */
static hia_status read_npy(const void *bytes, size_t n, hia_objects *objects, hia_file_tensor *t,
                           hia_word *word, hia_value_error *error) {
  char *exact = malloc(n ? n : 1);
  if (n) memcpy(exact, bytes, n);
  hia_status status = hiaR_npy_read(exact, n, t, error);
  if (status == HIA_OK)
    status = hiaR_file_tensor_make(t, (hia_dtype)t->dtype, objects, word, error);
  free(exact);
  return status;
}

/* A file of a version, with this dictionary as it is. */
static size_t make_npy(unsigned version, const char *dictionary, const void *data, size_t n,
                       char *to) {
  size_t len = strlen(dictionary), at = version == 1 ? 10 : 12;
  memcpy(to, "\x93NUMPY", 6);
  to[6] = (char)version;
  to[7] = 0;
  for (size_t i = 8; i < at; i++) to[i] = (char)(len >> 8 * (i - 8) & 255);
  memcpy(to + at, dictionary, len);
  if (n) memcpy(to + at + len, data, n);
  return at + len + n;
}

static value_buffer write_npy(const hia_file_tensor *t) {
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  cr_assert_eq(hiaR_npy_write(t, &sink), HIA_OK);
  return file;
}

/* ---- files that NumPy 1.24 has written ---- */

typedef struct numpy_file {
  const char *header; /* behind its length */
  const char *data;
  size_t n_data;
  hia_dtype dtype;
  uint32_t rank;
  int64_t dims[3];
  double elements[6]; /* in row-major order */
  bool is_ours;       /* our writer gives the same bytes */
} numpy_file;

#define BYTES(s) s, sizeof(s) - 1
static const numpy_file numpy_files[] = {
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }",
     BYTES("\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0"),
     HIA_I32,
     2,
     {2, 3},
     {0, 1, 2, 3, 4, 5},
     true},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
     BYTES("\0\0\0\0\0\0\4@"),
     HIA_F64,
     0,
     {0},
     {2.5},
     true},
    {"{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }",
     BYTES("\0\0\0\0@@\0\0?\x80\0\0@\x80\0\0@\0\0\0@\xa0\0\0"),
     HIA_F32,
     2,
     {2, 3},
     {0, 1, 2, 3, 4, 5},
     false},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }",
     BYTES("\1\0"),
     HIA_BOOL,
     1,
     {2},
     {1, 0},
     true},
};

static double number(hia_dtype dtype, hia_word w) {
  switch (dtype) {
  case HIA_BOOL:
  case HIA_I32:
  case HIA_I64: return (double)hiaR_to_i64(w);
  case HIA_F32: return (double)hiaR_to_f32(w);
  default: return hiaR_to_f64(w);
  }
}

Test(npy, of_numpy) {
  for (size_t i = 0; i < HIA_LEN(numpy_files); i++) {
    const numpy_file *f = &numpy_files[i];
    char bytes[256];
    memset(bytes, ' ', sizeof bytes);
    memcpy(bytes, "\x93NUMPY\1\0v\0", 10);
    memcpy(bytes + 10, f->header, strlen(f->header));
    bytes[127] = '\n';
    memcpy(bytes + 128, f->data, f->n_data);
    size_t n = 128 + f->n_data;
    hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
    hia_file_tensor t;
    hia_value_error error;
    hia_word word;
    hia_status status = read_npy(bytes, n, objects, &t, &word, &error);
    if (status) cr_assert_fail("%zu: %s", i, error.message);
    cr_assert_eq(t.dtype, f->dtype);
    cr_assert_eq(t.shape.rank, f->rank);
    cr_assert_eq(t.at, 128);
    uint64_t len = 1;
    for (uint32_t k = 0; k < f->rank; k++) {
      cr_assert_eq(t.shape.dims[k], f->dims[k]);
      len *= (uint64_t)f->dims[k];
    }
    for (uint64_t k = 0; k < len; k++) {
      hia_word w = f->rank ? hiaR_tensor_get(hiaR_tensor(word), k) : word;
      cr_assert_eq(number(f->dtype, w), f->elements[k], "%zu: element %d", i, (int)k);
    }
    if (f->is_ours && is_little) {
      char scalar[8];
      hia_file_tensor out;
      if (f->rank)
        hiaR_file_tensor_of(hiaR_tensor(word), &out);
      else
        hiaR_file_tensor_of_scalar(f->dtype, word, scalar, &out);
      value_buffer file = write_npy(&out);
      cr_assert(file.len == n && memcmp(file.data, bytes, n) == 0, "%zu", i);
      free(file.data);
    }
    hiaR_objects_release(objects);
  }
}

/* ---- there and back ---- */

static hia_dims random_shape(random_source *r) {
  hia_dims shape = {.rank = random_below(r, 6)};
  for (uint32_t i = 0; i < shape.rank; i++)
    shape.dims[i] = random_chance(r, 5) ? 0 : 1 + random_below(r, 5);
  return shape;
}

Test(npy, write_then_read) {
  random_source r = {HIA_TEST_SEED};
  for (int i = 0; i < 2000; i++) {
    hia_dtype dtype = (hia_dtype)random_below(&r, HIA_N_DTYPES);
    hia_dims shape = random_shape(&r);
    if (i < 2) { /* the longest header */
      shape.rank = HIA_MAX_RANK;
      for (uint32_t k = 0; k < shape.rank; k++) shape.dims[k] = k || !i ? 1 : 0;
      for (uint32_t k = 1; k < shape.rank && i; k++) shape.dims[k] = k < 3 ? 1000000000 : 1;
    }
    hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
    hia_file_tensor t, found;
    hia_value_error error;
    hia_word word, back;
    char scalar[8];
    hia_tensor *tensor = NULL;
    uint64_t n = 0;
    if (shape.rank) {
      cr_assert(tensor = hiaR_new_tensor(objects, dtype, &shape));
      n = hiaR_tensor_len(tensor);
      for (uint64_t k = 0; k < n; k++) hiaR_tensor_put(tensor, k, random_word(&r, dtype));
      hiaR_file_tensor_of(tensor, &t);
    } else {
      word = random_word(&r, dtype);
      hiaR_file_tensor_of_scalar(dtype, word, scalar, &t);
    }
    value_buffer file = write_npy(&t);
    cr_assert_eq((file.len - t.size) % 64, 0);
    hia_status status = read_npy(file.data, file.len, objects, &found, &back, &error);
    if (status) cr_assert_fail("%d: %s", i, error.message);
    cr_assert_eq(found.dtype, dtype);
    cr_assert_eq(found.shape.rank, shape.rank);
    if (tensor) {
      const hia_tensor *other = hiaR_tensor(back);
      for (uint32_t k = 0; k < shape.rank; k++) cr_assert_eq(other->dims[k], shape.dims[k]);
      cr_assert(!n || memcmp(other->data, tensor->data, t.size) == 0);
    } else {
      cr_assert_eq(back, word);
    }
    free(file.data);
    hiaR_objects_release(objects);
  }
}

/* Each order of elements and bytes, against indices that are counted out. */
Test(npy, other_orders) {
  random_source r = {HIA_TEST_SEED};
  for (int i = 0; i < 2000; i++) {
    static const uint32_t sizes[HIA_N_DTYPES] = {1, 4, 8, 4, 8};
    hia_dtype dtype = (hia_dtype)random_below(&r, HIA_N_DTYPES);
    hia_dims shape = random_shape(&r);
    uint32_t size = sizes[dtype];
    uint64_t n = 1;
    for (uint32_t k = 0; k < shape.rank; k++) n *= (uint64_t)shape.dims[k];
    char *rows = calloc(n + 1, size), *file = malloc(n * size + 1), *out = calloc(n + 1, size);
    for (uint64_t k = 0; k < n * size; k++)
      rows[k] = (char)(dtype == HIA_BOOL ? random_below(&r, 2) : random_below(&r, 256));
    hia_file_tensor t = {.name = "",
                         .dtype = dtype,
                         .shape = shape,
                         .data = file,
                         .size = n * size,
                         .is_big_endian = random_chance(&r, 50),
                         .is_fortran = random_chance(&r, 70)};
    for (uint64_t k = 0; k < n; k++) {
      uint64_t rest = k, at = 0, index[HIA_MAX_RANK];
      for (uint32_t a = shape.rank; a-- > 0; rest /= (uint64_t)shape.dims[a])
        index[a] = rest % (uint64_t)shape.dims[a];
      for (uint32_t a = shape.rank; a-- > 0;) at = at * (uint64_t)shape.dims[a] + index[a];
      if (!t.is_fortran) at = k;
      for (uint32_t b = 0; b < size; b++)
        file[at * size + (t.is_big_endian == is_little ? size - 1 - b : b)] = rows[k * size + b];
    }
    hia_value_error error;
    cr_assert_eq(hiaR_file_tensor_copy(&t, out, &error), HIA_OK);
    cr_assert(memcmp(out, rows, n * size) == 0, "%d", i);
    /* A file in that order is written, and read, as it is. */
    value_buffer npy = write_npy(&t);
    hia_file_tensor back;
    cr_assert_eq(hiaR_npy_read(npy.data, npy.len, &back, &error), HIA_OK);
    cr_assert_eq(back.is_fortran, t.is_fortran);
    cr_assert(dtype == HIA_BOOL || back.is_big_endian == t.is_big_endian);
    memset(out, 0, n * size);
    cr_assert_eq(hiaR_file_tensor_copy(&back, out, &error), HIA_OK);
    cr_assert(memcmp(out, rows, n * size) == 0, "%d", i);
    free(npy.data);
    free(out);
    free(file);
    free(rows);
  }
}

/* ---- other headers ---- */

Test(npy, headers_that_are_fine) {
  static const char *const dictionaries[] = {
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}",
      "{'descr':'<i4','fortran_order':True,'shape':(2,),}\n",
      "{\"shape\": (2 , ), \"descr\": \"<i4\", 'fortran_order': False , }  \n",
      "{ 'shape' : ( 1 , 2 ) , 'fortran_order' : False,\n'descr'\t: '<i4' }",
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 1L, ), }     \n",
  };
  char bytes[256], data[8] = {1, 0, 0, 0, 2, 0, 0, 0};
  for (size_t i = 0; i < HIA_LEN(dictionaries); i++)
    for (unsigned version = 1; version <= 3; version++) {
      hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
      hia_file_tensor t;
      hia_value_error error;
      hia_word word;
      size_t n = make_npy(version, dictionaries[i], data, sizeof data, bytes);
      hia_status status = read_npy(bytes, n, objects, &t, &word, &error);
      if (status) cr_assert_fail("%zu: %s", i, error.message);
      cr_assert_eq(hiaR_tensor_get(hiaR_tensor(word), 0), 1);
      cr_assert_eq(hiaR_tensor_get(hiaR_tensor(word), 1), 2);
      cr_assert_eq(hiaR_npy_header_size(bytes, n), n - 8);
      hiaR_objects_release(objects);
    }
}

/* What is wrong, and where: the text at which the error is; NULL: the end of the header. */
static const struct {
  const char *dictionary, *message, *at;
} wrong_headers[] = {
    {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "objects of Python", "'|O'"},
    {"{'descr': 'O', 'fortran_order': False, 'shape': (2,), }", "none of bool |b1", "'O'"},
    {"{'descr': '|i2', 'fortran_order': False, 'shape': (2,), }", "the dtype '|i2' is none",
     "'|i2'"},
    {"{'descr': '|f2', 'fortran_order': False, 'shape': (2,), }", "the dtype '|f2' is none",
     "'|f2'"},
    {"{'descr': '|u8', 'fortran_order': False, 'shape': (2,), }", "the dtype '|u8' is none",
     "'|u8'"},
    {"{'descr': '>f16', 'fortran_order': False, 'shape': (2,), }", "the dtype '>f16' is none",
     "'>f16'"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", "the dtype '<c8' is none",
     "'<c8'"},
    {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", "the dtype '<U3' is none",
     "'<U3'"},
    {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }", "the dtype '<M8[ns]' is none",
     "'<M8"},
    {"{'descr': '|i4', 'fortran_order': False, 'shape': (2,), }", "the dtype '|i4' is none",
     "'|i4'"},
    {"{'descr': '=i4', 'fortran_order': False, 'shape': (2,), }", "the dtype '=i4' is none",
     "'=i4'"},
    {"{'descr': 'i4', 'fortran_order': False, 'shape': (2,), }", "the dtype 'i4' is none", "'i4'"},
    {"{'descr': '', 'fortran_order': False, 'shape': (2,), }", "the dtype '' is none", "''"},
    {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }", "structured dtype",
     "[("},
    {"{'descr': ('<i4', (2,)), 'fortran_order': False, 'shape': (), }", "structured dtype",
     "('<i4'"},
    {"{'descr': None, 'fortran_order': False, 'shape': (2,), }", "lacks a string", "None"},
    {"{'descr': '<i4\\'', 'fortran_order': False, 'shape': (2,), }", "an escape", "\\'"},
    {"{'descr': '<i4', 'fortran_order': 0, 'shape': (2,), }", "neither True nor False", "0"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': 2, }", "lacks a '('", "2, }"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2), }", "is no tuple", "), }"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': [2], }", "lacks a '('", "[2]"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (,), }", "is no size", ",)"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (-2,), }", "below 0", "-2"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2.0,), }", "is no tuple", ".0"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2.0), }", "lacks a ')'", ".0"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (1, None), }", "is no size", "None"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775808,), }",
     "a size is too large", "922"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
     "a size is too large", "999"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775807,), }", "fit in memory",
     "(922"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
     "fit in memory", "(429"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }",
     "fit in memory", "(0"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2), }",
     "more than 16 axes", "2), }"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }",
     "its shape needs 12 bytes of elements, it has 8", "(3,)"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }",
     "its shape needs 4 bytes of elements, it has 8", "(1,)"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2000000000, 3000), }",
     "its shape needs 24000000000000 bytes of elements, it has 8", "(2000"},
    {"{'descr': '<i4', 'fortran_order': False, }", "lacks 'shape'", NULL},
    {"{'descr': '<i4', 'shape': (2,), }", "lacks 'fortran_order'", NULL},
    {"{'fortran_order': False, 'shape': (2,), }", "lacks 'descr'", NULL},
    {"{}", "lacks 'descr'", NULL},
    {"", "lacks a '{'", NULL},
    {"(2,)", "lacks a '{'", "(2"},
    {"{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (2,), }", "a key twice",
     "'descr': '<i4', 'fort"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'x': 1}", "a key that is unknown",
     "'x'"},
    {"{'descr': '<i4' 'fortran_order': False, 'shape': (2,), }", "lacks a '}'", "'fort"},
    {"{'descr': '<i4',, 'fortran_order': False, 'shape': (2,), }", "lacks a string", ", 'fort"},
    {"{'descr' '<i4', 'fortran_order': False, 'shape': (2,), }", "lacks a ':'", "'<i4'"},
    {"{descr: '<i4', 'fortran_order': False, 'shape': (2,), }", "lacks a string", "descr"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), ", "lacks a string", NULL},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,", "is no size", NULL},
    {"{'descr': '<i4", "does not end", "'<i4"},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (2,), } x", "goes on", "x"},
};

Test(npy, headers_that_are_wrong) {
  char bytes[256], data[8] = {0};
  for (size_t i = 0; i < HIA_LEN(wrong_headers); i++)
    for (unsigned version = 1; version <= 3; version++) {
      const char *dictionary = wrong_headers[i].dictionary, *at = wrong_headers[i].at;
      hia_file_tensor t;
      hia_value_error error;
      size_t n = make_npy(version, dictionary, data, sizeof data, bytes);
      size_t wanted = n - 8, begin = version == 1 ? 10 : 12;
      if (at) wanted = begin + (size_t)(strstr(dictionary, at) - dictionary);
      cr_assert_eq(hiaR_npy_read(bytes, n, &t, &error), HIA_ARGUMENT, "%zu", i);
      cr_assert(strstr(error.message, wrong_headers[i].message), "%zu: %s", i, error.message);
      if (!at && strcmp(dictionary, "{}") != 0 && dictionary[0] && error.at < wanted)
        wanted = error.at; /* behind the last brace, or where the text ends */
      cr_assert_eq(error.at, wanted, "%zu: %s, not at %zu", i, error.message, wanted);
      char suffix[40];
      snprintf(suffix, sizeof suffix, ", at byte %zu", error.at);
      cr_assert(strstr(error.message, suffix), "%zu: %s", i, error.message);
    }
}

Test(npy, heads_that_are_wrong) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *message;
  } heads[] = {
      {BYTES(""), "this is no .npy file, at byte 0"},
      {BYTES("\x93NUMP"), "this is no .npy file, at byte 0"},
      {BYTES("PK\3\4aaaaaaaaaaaa"), "this is no .npy file, at byte 0"},
      {BYTES("\x93NUMPY"), "it ends early, at byte 6"},
      {BYTES("\x93NUMPY\1"), "it ends early, at byte 7"},
      {BYTES("\x93NUMPY\1\0\1"), "it ends early, at byte 9"},
      {BYTES("\x93NUMPY\2\0\1\0\0"), "it ends early, at byte 11"},
      {BYTES("\x93NUMPY\0\0\1\0{"), "version 0.0 of .npy is unknown, at byte 6"},
      {BYTES("\x93NUMPY\1\1\1\0{"), "version 1.1 of .npy is unknown, at byte 6"},
      {BYTES("\x93NUMPY\4\0\1\0\0\0{"), "version 4.0 of .npy is unknown, at byte 6"},
      {BYTES("\x93NUMPY\1\0\xff\xff{"), "its header is longer than the file, at byte 8"},
      {BYTES("\x93NUMPY\3\0\xff\xff\xff\xff{"), "its header is longer than the file, at byte 8"},
  };
  for (size_t i = 0; i < HIA_LEN(heads); i++) {
    hia_file_tensor t;
    hia_value_error error;
    hia_word word;
    cr_assert_eq(read_npy(heads[i].bytes, heads[i].n, NULL, &t, &word, &error), HIA_ARGUMENT);
    cr_assert(strstr(error.message, heads[i].message), "%zu: %s", i, error.message);
  }
}

/* ---- damage ---- */

Test(npy, each_part_and_each_byte) {
  static const char dictionary[] = "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3), }\n";
  const char data[6] = {1, 0, 1, 0, 0, 1};
  char bytes[128];
  size_t n = make_npy(1, dictionary, data, sizeof data, bytes);
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_file_tensor t;
  hia_value_error error;
  hia_word word;
  cr_assert_eq(read_npy(bytes, n, objects, &t, &word, &error), HIA_OK);
  for (size_t i = 0; i < n; i++) {
    cr_assert_eq(read_npy(bytes, i, objects, &t, &word, &error), HIA_ARGUMENT);
    cr_assert_leq(error.at, i);
  }
  for (size_t i = 0; i < n; i++)
    for (int c = 0; c < 256; c++) {
      char old = bytes[i];
      bytes[i] = (char)c;
      hia_status status = read_npy(bytes, n, objects, &t, &word, &error);
      cr_assert(status == HIA_OK || (status == HIA_ARGUMENT && error.message[0] && error.at <= n));
      bytes[i] = old;
    }
  hiaR_objects_release(objects);
}

Test(npy, no_bool) {
  char bytes[128];
  size_t n =
      make_npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\1\0\2", 3, bytes);
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_file_tensor t;
  hia_value_error error;
  hia_word word;
  cr_assert_eq(read_npy(bytes, n, objects, &t, &word, &error), HIA_ARGUMENT);
  cr_assert_eq(error.at, n - 1);
  cr_assert(strstr(error.message, "a bool is 2, neither 0 nor 1, at byte"), "%s", error.message);
  hiaR_objects_release(objects);
}

Test(npy, no_memory) {
  char bytes[128];
  size_t n =
      make_npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\1\0\1", 3, bytes);
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 1);
  hia_file_tensor t;
  hia_value_error error;
  hia_word word;
  cr_assert_eq(read_npy(bytes, n, objects, &t, &word, &error), HIA_MEMORY);
  hiaR_objects_release(objects);
}

Test(npy, sink_that_fails) {
  const char data[8] = {0};
  hia_file_tensor t = {.name = "", .dtype = HIA_F64, .data = data, .size = 8};
  for (size_t max = 1; max < 128 + 8; max += 127) {
    value_buffer file = {.max = max};
    hia_sink sink = {value_buffer_take, &file};
    cr_assert_eq(hiaR_npy_write(&t, &sink), HIA_IO);
    free(file.data);
  }
}

/* ---- checks ---- */

Test(npy, check) {
  hia_file_tensor t = {
      .name = "w\n1", .name_len = 3, .dtype = HIA_F32, .shape = {2, {3, 4}}, .at = 77};
  const struct {
    hia_dtype dtype;
    hia_dims shape;
    const char *message; /* NULL: it fits */
  } wanted[] = {
      {HIA_F32, {2, {3, 4}}, NULL},
      {HIA_F32, {2, {HIA_DIM_UNKNOWN, 4}}, NULL},
      {HIA_F32, {2, {HIA_DIM_NAMED(0), HIA_DIM_NAMED(1)}}, NULL},
      {HIA_F64, {2, {3, 4}}, "expected f64[3, 4], the tensor 'w?1' is f32[3, 4]"},
      {HIA_F32, {2, {3, 5}}, "expected f32[3, 5], the tensor 'w?1' is f32[3, 4]"},
      {HIA_F32, {2, {HIA_DIM_UNKNOWN, 5}}, "expected f32[?, 5], the tensor 'w?1' is f32[3, 4]"},
      {HIA_F32, {1, {3}}, "expected f32[3], the tensor 'w?1' is f32[3, 4]"},
      {HIA_F32, {0, {0}}, "expected f32, the tensor 'w?1' is f32[3, 4]"},
  };
  for (size_t i = 0; i < HIA_LEN(wanted); i++) {
    hia_value_error error;
    hia_status status = hiaR_file_tensor_check(&t, wanted[i].dtype, &wanted[i].shape, &error);
    cr_assert_eq(status, wanted[i].message ? HIA_ARGUMENT : HIA_OK, "%zu", i);
    if (!wanted[i].message) continue;
    cr_assert_str_eq(error.message, wanted[i].message);
    cr_assert_eq(error.at, 77);
  }
}
