/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/interchange: safetensors. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/safetensors.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES(s) s, sizeof(s) - 1

/* A file with this header as it is, followed by `n` bytes of elements. */
static size_t make_file(const char *header, size_t len, const void *data, size_t n, char *to) {
  for (size_t i = 0; i < 8; i++) to[i] = (char)(len >> 8 * i & 255);
  memcpy(to + 8, header, len);
  if (n) memcpy(to + 8 + len, data, n);
  return 8 + len + n;
}

/* From a block of just that size, so that AddressSanitizer sees what is read behind it. The caller
 * frees it, if that is OK with the file. */
static hia_status read_file(hia_safetensors *file, const void *bytes, size_t n, char **exact,
                            hia_value_error *error) {
  *exact = malloc(n ? n : 1);
  if (n) memcpy(*exact, bytes, n);
  hia_status status = hiaR_safetensors_read(file, &hiaR_malloc, *exact, n, error);
  if (status) free(*exact);
  return status;
}

static const hia_file_tensor *find(const hia_safetensors *file, const char *name) {
  return hiaR_safetensors_find(file, name, strlen(name));
}

/* ---- files as the reference implementation writes them ---- */

Test(safetensors, of_the_reference) {
  static const char header[] =
      "{\"test\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}";
  static const int32_t data[4] = {1, -2, 3, 4};
  char bytes[256], *exact;
  cr_assert_eq(strlen(header), 0x3c);
  size_t n = make_file(header, strlen(header), data, sizeof data, bytes);
  hia_safetensors file;
  hia_value_error error;
  hia_status status = read_file(&file, bytes, n, &exact, &error);
  if (status) cr_assert_fail("%s", error.message);
  cr_assert_eq(file.n, 1);
  cr_assert_eq(file.n_metadata, 0);
  const hia_file_tensor *t = find(&file, "test");
  cr_assert(t && !find(&file, "tes") && !find(&file, "test1") && !find(&file, ""));
  cr_assert(t->dtype == HIA_I32 && t->shape.rank == 2 && t->at == 68 && t->size == 16);
  cr_assert(!t->is_big_endian && !t->is_fortran);
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_word word;
  cr_assert_eq(hiaR_file_tensor_make(t, (hia_dtype)t->dtype, objects, &word, &error), HIA_OK);
  for (uint64_t i = 0; i < 4; i++)
    cr_assert_eq(hiaR_to_i32(hiaR_tensor_get(hiaR_tensor(word), i)), data[i]);
  hiaR_objects_release(objects);
  hiaR_safetensors_free(&file);
  free(exact);
}

static value_buffer write_file(const hia_file_tensor *tensors, uint32_t n,
                               const hia_metadata *metadata, uint32_t n_metadata) {
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  hia_value_error error;
  hia_status status =
      hiaR_safetensors_write(&hiaR_malloc, tensors, n, metadata, n_metadata, &sink, &error);
  if (status) cr_assert_fail("%d %s", status, error.message);
  return file;
}

/* The order of tensors, and the text of the header. */
Test(safetensors, written) {
  static const int64_t a[2] = {1, 2};
  static const double d[1] = {2.5};
  static const float b[3] = {1, 2, 3};
  static const int32_t e[1] = {7};
  static const char c[1] = {1};
  const hia_file_tensor tensors[] = {
      {"c", 1, HIA_BOOL, {1, {1}}, c, 1, 0, false, false, NULL},
      {"b", 1, HIA_F32, {1, {3}}, b, 12, 0, false, false, NULL},
      {"z", 1, HIA_F32, {2, {0, 2}}, NULL, 0, 0, false, false, NULL},
      {"e\"\\\n\1\xc3\xa9/", 8, HIA_I32, {0, {0}}, e, 4, 0, false, false, NULL},
      {"a", 1, HIA_I64, {1, {2}}, a, 16, 0, false, false, NULL},
      {"d", 1, HIA_F64, {0, {0}}, d, 8, 0, false, true, NULL},
  };
  const hia_metadata metadata[] = {{"k2", "", 2, 0}, {"k", "v\t", 1, 2}};
  static const char header[] =
      "{\"__metadata__\":{\"k\":\"v\\t\",\"k2\":\"\"},"
      "\"a\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
      "\"d\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[16,24]},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[24,36]},"
      "\"z\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[36,36]},"
      "\"e\\\"\\\\\\n\\u0001\xc3\xa9/\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[36,40]},"
      "\"c\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[40,41]}}";
  value_buffer file = write_file(tensors, HIA_LEN(tensors), metadata, HIA_LEN(metadata));
  size_t len = (strlen(header) + 7) / 8 * 8;
  cr_assert_eq(file.len, 8 + len + 41);
  cr_assert_eq((unsigned char)file.data[0] | (size_t)(unsigned char)file.data[1] << 8, len);
  cr_assert(memcmp(file.data + 8, header, strlen(header)) == 0, "%.*s", (int)len, file.data + 8);
  for (size_t i = strlen(header); i < len; i++) cr_assert_eq(file.data[8 + i], ' ');

  hia_safetensors back;
  hia_value_error error;
  char *exact;
  hia_status status = read_file(&back, file.data, file.len, &exact, &error);
  if (status) cr_assert_fail("%s", error.message);
  cr_assert_eq(back.n, HIA_LEN(tensors));
  for (size_t i = 0; i < HIA_LEN(tensors); i++) {
    const hia_file_tensor *t = hiaR_safetensors_find(&back, tensors[i].name, tensors[i].name_len);
    cr_assert(t, "%zu", i);
    cr_assert(t->dtype == tensors[i].dtype && t->shape.rank == tensors[i].shape.rank &&
              t->size == tensors[i].size);
    cr_assert(!t->size || memcmp(t->data, tensors[i].data, t->size) == 0);
    cr_assert_eq(t->name[t->name_len], 0);
  }
  cr_assert_eq(back.n_metadata, 2);
  cr_assert_str_eq(back.metadata[0].key, "k");
  cr_assert_str_eq(back.metadata[0].value, "v\t");
  cr_assert_str_eq(back.metadata[1].key, "k2");
  cr_assert_str_eq(back.metadata[1].value, "");
  hiaR_safetensors_free(&back);
  free(exact);
  free(file.data);
}

/* Elements with the highest byte first are turned round. */
Test(safetensors, big_endian) {
  char data[5000 * 8];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 7 % 251);
  const hia_file_tensor tensors[] = {
      {"a", 1, HIA_F64, {1, {5000}}, data, sizeof data, 0, true, false, NULL},
      {"b", 1, HIA_F32, {1, {3}}, data, 12, 0, true, false, NULL},
      {"c", 1, HIA_F32, {1, {0}}, NULL, 0, 0, true, false, NULL},
  };
  value_buffer file = write_file(tensors, 3, NULL, 0);
  const char *end = file.data + file.len - 12, *begin = end - sizeof data;
  for (size_t i = 0; i < sizeof data; i++) cr_assert_eq(begin[i], data[i / 8 * 8 + 7 - i % 8]);
  for (size_t i = 0; i < 12; i++) cr_assert_eq(end[i], data[i / 4 * 4 + 3 - i % 4]);
  free(file.data);
}

/* ---- there and back ---- */

static size_t random_name(random_source *r, char *name) {
  static const char *const parts[] = {"a",
                                      "b",
                                      ".",
                                      "weight",
                                      "\"",
                                      "\\",
                                      "\n",
                                      "\x7f",
                                      "\xc3\xa9",
                                      "\xe2\x82\xac",
                                      "\xf0\x9f\x98\x80",
                                      "/",
                                      "0",
                                      "\1",
                                      " "};
  size_t n = 0;
  for (uint32_t i = random_below(r, 8); i > 0; i--) {
    const char *part = parts[random_below(r, HIA_LEN(parts))];
    memcpy(name + n, part, strlen(part));
    n += strlen(part);
  }
  if (random_chance(r, 10)) name[n++] = 0;
  return n;
}

enum { MAX_TENSORS = 40 };

Test(safetensors, write_then_read) {
  random_source r = {HIA_TEST_SEED};
  for (int round = 0; round < 300; round++) {
    static char names[2 * MAX_TENSORS][64], data[MAX_TENSORS][1000];
    hia_file_tensor tensors[MAX_TENSORS];
    hia_metadata metadata[MAX_TENSORS];
    uint32_t n = 0, n_metadata = 0;
    for (uint32_t i = random_below(&r, MAX_TENSORS); i > 0; i--) {
      hia_file_tensor *t = &tensors[n];
      *t = (hia_file_tensor){.name = names[n], .name_len = random_name(&r, names[n])};
      t->dtype = (hia_dtype)random_below(&r, HIA_N_DTYPES);
      t->shape.rank = random_below(&r, 4);
      t->size = hiaR_dtype_size(t->dtype);
      t->data = data[n];
      for (uint32_t k = 0; k < t->shape.rank; k++) {
        t->shape.dims[k] = random_below(&r, 6);
        t->size *= (uint64_t)t->shape.dims[k];
      }
      for (uint64_t k = 0; k < t->size; k++) data[n][k] = (char)random_below(&r, 2);
      bool is_new = true;
      for (uint32_t k = 0; k < n; k++)
        is_new &= tensors[k].name_len != t->name_len ||
                  memcmp(tensors[k].name, t->name, t->name_len) != 0;
      n += is_new;
    }
    for (uint32_t i = random_below(&r, 4); i > 0; i--) {
      char *key = names[MAX_TENSORS + 2 * n_metadata], *value = key + sizeof names[0];
      hia_metadata m = {key, value, random_name(&r, key), random_name(&r, value)};
      bool is_new = true;
      for (uint32_t k = 0; k < n_metadata; k++)
        is_new &= metadata[k].key_len != m.key_len || memcmp(metadata[k].key, key, m.key_len) != 0;
      metadata[n_metadata] = m;
      n_metadata += is_new;
    }
    value_buffer file = write_file(tensors, n, metadata, n_metadata);
    hia_safetensors back;
    hia_value_error error;
    char *exact;
    hia_status status = read_file(&back, file.data, file.len, &exact, &error);
    if (status) cr_assert_fail("%d: %s", round, error.message);
    cr_assert_eq(back.n, n);
    cr_assert_eq(back.n_metadata, n_metadata);
    for (uint32_t i = 0; i < n; i++) {
      const hia_file_tensor *t = hiaR_safetensors_find(&back, tensors[i].name, tensors[i].name_len);
      cr_assert(t && hiaR_file_tensor_check(t, tensors[i].dtype, &tensors[i].shape, &error) == 0);
      cr_assert(t->size == tensors[i].size && memcmp(t->data, tensors[i].data, t->size) == 0);
    }
    /* What was read gives the same bytes, and so does any order. */
    value_buffer again = write_file(back.tensors, back.n, back.metadata, back.n_metadata);
    cr_assert(again.len == file.len && memcmp(again.data, file.data, file.len) == 0);
    free(again.data);
    free(file.data);
    hiaR_safetensors_free(&back);
    free(exact);
  }
}

/* ---- other headers ---- */

#define T1 "{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]}"
#define T2 "{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[1,2]}"
#define T0 "{\"dtype\":\"BOOL\",\"shape\":[0],\"data_offsets\":[1,1]}"

Test(safetensors, headers_that_are_fine) {
  static const struct {
    const char *header;
    size_t n_data;
    const char *name; /* of a tensor that it has, or NULL */
  } fine[] = {
      {"{}", 0, NULL},
      {"{ }  ", 0, NULL},
      {"{\"__metadata__\":{}}", 0, NULL},
      {"{\"a\":" T1 ",\"b\":" T2 "}", 2, "b"},
      {"{\"b\":" T2 ",\"a\":" T1 "}", 2, "a"},
      {"{\"b\":" T2 ",\"a\":" T1 ",\"0\":" T0 "}", 2, "0"},
      {"{ \"a\" : { \"data_offsets\" : [ 0 , 1 ] ,\t\"shape\":[ 1 ]\n,\r\"dtype\":\"BOOL\" } } ", 1,
       "a"},
      {"{\"\":" T1 "}", 1, ""},
      {"{\"\\u0061\":" T1 "}", 1, "a"},
      {"{\"\\u20AC\\u00e9\\/\":" T1 "}", 1, "\xe2\x82\xac\xc3\xa9/"},
      {"{\"\\ud83d\\ude00\":" T1 "}", 1, "\xf0\x9f\x98\x80"},
      {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "a"},
      {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"data_offsets\":"
       "[0,1]}}",
       1, "a"},
  };
  for (size_t i = 0; i < HIA_LEN(fine); i++) {
    char bytes[512], *exact;
    size_t n = make_file(fine[i].header, strlen(fine[i].header), "\0\1", fine[i].n_data, bytes);
    hia_safetensors file;
    hia_value_error error;
    hia_status status = read_file(&file, bytes, n, &exact, &error);
    if (status) cr_assert_fail("%zu: %s", i, error.message);
    cr_assert(!fine[i].name || find(&file, fine[i].name), "%zu", i);
    hiaR_safetensors_free(&file);
    free(exact);
  }
}

/* What is wrong, and where: the text at which the error is; NULL: the end of the header. Each has
 * two bytes of elements. */
static const struct {
  const char *header, *message, *at;
} wrong_headers[] = {
    /* ranges */
    {"{\"a\":" T1 ",\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}", "overlaps",
     "\"b\""},
    {"{\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]},\"a\":" T2 "}", "overlaps",
     "\"a\""},
    {"{\"a\":" T1 ",\"b\":" T1 "}", "overlaps", NULL},
    {"{\"a\":" T2 "}", "a hole", "\"a\""},
    {"{\"a\":" T1 "}", "belong to no tensor", NULL},
    {"{}", "belong to no tensor", NULL},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}",
     "a range ends at 3, of 2 bytes", "0,3"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[2,0]}}", "ends before it begins",
     "2,0"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[9223372036854775806,"
     "9223372036854775807]}}",
     "a range ends at 9223372036854775807", "922"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,9223372036854775808]}}",
     "a number is too large", "922"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,18446744073709551618]}}",
     "a number is too large", "184"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,2]}}",
     "the tensor 'a' needs 3 bytes, its range has 2", "\"a\""},
    {"{\"a\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,2]}}",
     "the tensor 'a' needs 16 bytes, its range has 2", "\"a\""},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}",
     "fit in memory", "\"a\""},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}",
     "fit in memory", "\"a\""},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,0],\"data_offsets\":[0,0]}}",
     "fit in memory", "\"a\""},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0]}}", "lacks a ','", "]}}"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", "lacks a ']'", ",2]}}"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[]}}", "no size or offset", "]}}"},
    /* names */
    {"{\"a\":" T1 ",\"a\":" T2 "}", "a name is there twice",
     "\"a\":{\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[1"},
    {"{\"a\":" T1 ",\"\\u0061\":" T2 "}", "a name is there twice", "\"\\u0061"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"},\"a\":" T1 ",\"b\":" T2 "}",
     "a name is there twice", "\"a\":\"2\""},
    {"{\"__metadata__\":{},\"a\":" T1 ",\"__metadata__\":{}}", "metadata twice",
     "\"__metadata__\":{}}"},
    /* dtypes */
    {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,2]}}", "lacks a string", "7,"},
    /* shapes */
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":2,\"data_offsets\":[0,2]}}", "lacks a '['", "2,"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[-2],\"data_offsets\":[0,2]}}", "no size or offset",
     "-2"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2.0],\"data_offsets\":[0,2]}}", "no size or offset",
     "2.0"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2e0],\"data_offsets\":[0,2]}}", "no size or offset",
     "2e0"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[02],\"data_offsets\":[0,2]}}", "no size or offset",
     "02]"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2,],\"data_offsets\":[0,2]}}", "no size or offset",
     "],"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[[2]],\"data_offsets\":[0,2]}}", "no size or offset",
     "[2]]"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[null],\"data_offsets\":[0,2]}}", "no size or offset",
     "null"},
    {"{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,2]}}",
     "the tensor 'a' needs 4 bytes, its range has 2", "\"a\""},
    {"{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,3]}}",
     "a range ends at 3, of 2 bytes", "0,3]"},
    {"{\"a\":{\"dtype\":\"F8\",\"shape\":[9],\"data_offsets\":[0,2]},\"b\":" T2 "}", "overlaps",
     "\"b\""},
    {"{\"a\":{\"dtype\":\"F8\",\"shape\":[9],\"data_offsets\":[0,1]}}",
     "bytes that belong to no tensor", NULL},
    {"{\"a\":{\"dtype\":\"F8\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,-2],\"data_offsets\":"
     "[0,2]}}",
     "no size or offset", "-2"},
    /* keys and structure */
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2]}}", "lacks its dtype, shape or data_offsets",
     "\"a\""},
    {"{\"a\":{}}", "lacks its dtype, shape or data_offsets", "\"a\""},
    {"{\"a\":{\"dtype\":\"BOOL\",\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}",
     "a key twice", "\"dtype\":\"BOOL\",\"shape"},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2],\"x\":[[[]]]}}",
     "an unknown key", "\"x\""},
    {"{\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2],}}", "lacks a string", "}}"},
    {"{\"a\":[]}", "lacks a '{'", "[]"},
    {"{\"a\":{\"b\":" T1 "}}", "an unknown key", "\"b\""},
    {"{\"__metadata__\":{\"a\":1}}", "lacks a string", "1}"},
    {"{\"__metadata__\":{\"a\":{}}}", "lacks a string", "{}}"},
    {"{\"__metadata__\":null}", "lacks a '{'", "null"},
    {"{\"a\":" T1 ",}", "lacks a string", NULL},
    {"{\"a\":" T1 " \"b\":" T2 "}", "lacks a '}'", "\"b\""},
    {"{\"a\" " T1 "}", "lacks a ':'", "{\"dtype"},
    {"{a:" T1 "}", "lacks a string", "a:"},
    {"{'a':" T1 "}", "lacks a string", "'a"},
    {"{\"a\":" T1 "} x", "goes on", "x"},
    {"{\"a\":" T1 "}}", "goes on", NULL},
    {"[]", "does not begin with a '{'", "[]"},
    {" {}", "does not begin with a '{'", " {"},
    {"", "does not begin with a '{'", ""},
    {"{\"a", "does not end", "\"a"},
    {"{\"a\":" T1, "lacks a '}'", NULL},
    {"{", "lacks a string", NULL},
    /* strings */
    {"{\"a\n\":" T1 "}", "a control character", "\n"},
    {"{\"\\x\":" T1 "}", "no such escape", "\\x"},
    {"{\"\\u12g4\":" T1 "}", "no such escape", "\\u"},
    {"{\"\\u12", "no such escape", "\\u"},
    {"{\"\\", "no such escape", "\\"},
    {"{\"\\ud83d\":" T1 "}", "half a surrogate pair", "\\ud8"},
    {"{\"\\ud83dabcdef\":" T1 "}", "half a surrogate pair", "\\ud8"},
    {"{\"\\ud83d\\u0041\":" T1 "}", "half a surrogate pair", "\\ud8"},
    {"{\"\\ude00\":" T1 "}", "half a surrogate pair", "\\ude"},
    {"{\"\\ud83d\\ude0", "half a surrogate pair", "\\ud8"},
    {"{\"a\xff\":" T1 "}", "no UTF-8", "\xff"},
    {"{\"a\xc3\":" T1 "}", "no UTF-8", "\xc3"},
};

Test(safetensors, headers_that_are_wrong) {
  for (size_t i = 0; i < HIA_LEN(wrong_headers); i++) {
    const char *header = wrong_headers[i].header, *at = wrong_headers[i].at;
    char bytes[512], *exact, suffix[40];
    size_t n = make_file(header, strlen(header), "\0\1", 2, bytes);
    hia_safetensors file;
    hia_value_error error;
    cr_assert_eq(read_file(&file, bytes, n, &exact, &error), HIA_ARGUMENT, "%zu: %s", i, header);
    cr_assert(strstr(error.message, wrong_headers[i].message), "%s: %s", header, error.message);
    snprintf(suffix, sizeof suffix, ", at byte %zu", error.at);
    cr_assert(strstr(error.message, suffix), "%s: %s", header, error.message);
    if (at)
      cr_assert_eq(error.at, 8 + (size_t)(strstr(header, at) - header), "%s: %s", header,
                   error.message);
    else
      cr_assert(error.at <= n, "%s: %s", header, error.message);
  }
}

/* What hiaton cannot read is refused when it is asked for, and not before. */
Test(safetensors, tensors_of_others) {
  static const char header[] =
      "{\"a\":" T1 ",\"f8\":{\"dtype\":\"F8_E4M3\",\"shape\":[3,0],\"data_offsets\":[1,1]},"
      "\"half\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[1,1]},"
      "\"many\":{\"dtype\":\"BOOL\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"
      "\"data_offsets\":[1,2]},"
      "\"text\":{\"dtype\":\"a\\u0000b\\n\",\"shape\":[9223372036854775807,2],"
      "\"data_offsets\":[2,2]}}";
  char bytes[1024], *exact;
  size_t n = make_file(header, strlen(header), "\1\1", 2, bytes);
  hia_safetensors file;
  hia_value_error error;
  hia_status status = read_file(&file, bytes, n, &exact, &error);
  if (status) cr_assert_fail("%s", error.message);
  static const struct {
    const char *name, *message, *hint;
    hia_dtype dtype;
    hia_dims shape;
    bool converts, is_fine;
  } wanted[] = {
      {"a", "", "", HIA_BOOL, {1, {1}}, false, true},
      {"a",
       "expected i32[1], the tensor 'a' is bool[1]",
       "--convert",
       HIA_I32,
       {1, {1}},
       false,
       false},
      {"a", "", "", HIA_I32, {1, {1}}, true, true},
      {"a", "expected i32[2], the tensor 'a' is bool[1]", "", HIA_I32, {1, {2}}, true, false},
      {"f8",
       "the dtype of the tensor 'f8' is F8_E4M3, which is none of",
       "",
       HIA_F32,
       {2, {3, 0}},
       true,
       false},
      {"half",
       "expected f32[0], the tensor 'half' is f16[0]",
       "--convert",
       HIA_F32,
       {1, {0}},
       false,
       false},
      {"half", "", "", HIA_F32, {1, {0}}, true, true},
      {"many", "the tensor 'many' has more than 16 axes", "", HIA_BOOL, {1, {1}}, false, false},
      {"text", "the dtype of the tensor 'text' is a, which", "", HIA_F32, {1, {1}}, false, false},
  };
  for (size_t i = 0; i < HIA_LEN(wanted); i++) {
    const hia_file_tensor *t = find(&file, wanted[i].name);
    cr_assert(t, "%zu", i);
    memset(&error, 0, sizeof error);
    status = (wanted[i].converts ? hiaR_file_tensor_check_shape : hiaR_file_tensor_check)(
        t, wanted[i].dtype, &wanted[i].shape, &error);
    cr_assert_eq(status, wanted[i].is_fine ? HIA_OK : HIA_ARGUMENT, "%zu: %s", i, error.message);
    cr_assert(strstr(error.message, wanted[i].message), "%zu: %s", i, error.message);
    cr_assert(strstr(error.hint, wanted[i].hint) && !wanted[i].hint[0] == !error.hint[0], "%zu: %s",
              i, error.hint);
  }
  hiaR_safetensors_free(&file);
  free(exact);
}

Test(safetensors, heads_that_are_wrong) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *message;
  } heads[] = {
      {BYTES(""), "it has only 0 bytes, at byte 0"},
      {BYTES("\2\0\0\0\0\0\0"), "it has only 7 bytes, at byte 7"},
      {BYTES("\2\0\0\0\0\0\0\0"), "its header would have 2 bytes, of 0, at byte 0"},
      {BYTES("\2\0\0\0\0\0\0\0{"), "its header would have 2 bytes, of 1, at byte 0"},
      {BYTES("\xff\xff\xff\xff\xff\xff\xff\xff{}"), "would have 18446744073709551615 bytes, of 2"},
      {BYTES("\0\0\0\0\0\0\0\0{}"), "does not begin with a '{', at byte 8"},
  };
  for (size_t i = 0; i < HIA_LEN(heads); i++) {
    hia_safetensors file;
    hia_value_error error;
    char *exact;
    cr_assert_eq(read_file(&file, heads[i].bytes, heads[i].n, &exact, &error), HIA_ARGUMENT);
    cr_assert(strstr(error.message, heads[i].message), "%zu: %s", i, error.message);
  }
}

/* ---- damage ---- */

static size_t make_whole_file(char *bytes) {
  static const char header[] = "{\"__metadata__\":{\"k\":\"\\u20ac\"},\"a\":" T1 ",\"b\":" T2 "}  ";
  return make_file(header, strlen(header), "\1\0", 2, bytes);
}

Test(safetensors, each_part_and_each_byte) {
  char bytes[256], *exact;
  size_t n = make_whole_file(bytes);
  hia_safetensors file;
  hia_value_error error;
  cr_assert_eq(read_file(&file, bytes, n, &exact, &error), HIA_OK);
  hiaR_safetensors_free(&file);
  free(exact);
  for (size_t i = 0; i < n; i++) {
    cr_assert_eq(read_file(&file, bytes, i, &exact, &error), HIA_ARGUMENT);
    cr_assert(error.at <= i && error.message[0]);
  }
  for (size_t i = 0; i < n; i++)
    for (int c = 0; c < 256; c++) {
      char old = bytes[i];
      bytes[i] = (char)c;
      hia_status status = read_file(&file, bytes, n, &exact, &error);
      cr_assert(status == HIA_OK || (status == HIA_ARGUMENT && error.message[0] && error.at <= n));
      if (!status) hiaR_safetensors_free(&file), free(exact);
      bytes[i] = old;
    }
}

/* ---- memory ---- */

static hia_status attempt_read(const hia_allocator *allocator) {
  char bytes[256];
  size_t n = make_whole_file(bytes);
  hia_safetensors file;
  hia_value_error error;
  hia_status status = hiaR_safetensors_read(&file, allocator, bytes, n, &error);
  if (status == HIA_OK) hiaR_safetensors_free(&file);
  return status;
}

static hia_status attempt_write(const hia_allocator *allocator) {
  static const char data[100] = {0}, names[50] = {0};
  hia_file_tensor tensors[50];
  for (uint32_t i = 0; i < 50; i++)
    tensors[i] =
        (hia_file_tensor){.name = names, .name_len = i, .dtype = HIA_BOOL, .data = data, .size = 1};
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  hia_value_error error;
  hia_status status = hiaR_safetensors_write(allocator, tensors, 50, NULL, 0, &sink, &error);
  free(file.data);
  return status;
}

Test(safetensors, no_memory) {
  cr_assert_geq(fail_each_allocation(attempt_read), 3);
  cr_assert_geq(fail_each_allocation(attempt_write), 2);
}

/* ---- writing ---- */

Test(safetensors, what_is_not_written) {
  static const char data[4] = {0};
  static const hia_file_tensor a = {"a", 1, HIA_F32, {0, {0}}, data, 4, 0, false, false, NULL};
  hia_file_tensor list[2] = {a, a};
  const hia_metadata twice[2] = {{"k", "", 1, 0}, {"k", "", 1, 0}}, bad = {"\xff", "", 1, 0};
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  hia_value_error error;
#define REFUSED(n, metadata, n_metadata, wanted)                                                   \
  cr_assert_eq(hiaR_safetensors_write(&hiaR_malloc, list, n, metadata, n_metadata, &sink, &error), \
               HIA_ARGUMENT);                                                                      \
  cr_assert_str_eq(error.message, wanted);                                                         \
  cr_assert_eq(file.len, 0)
  REFUSED(2, NULL, 0, "the tensor 'a' is there twice");
  REFUSED(1, twice, 2, "a key of the metadata is there twice");
  REFUSED(1, &bad, 1, "the metadata are no UTF-8");
  list[0].name = "\xff";
  REFUSED(1, NULL, 0, "the tensor '\xff' has a name that is no UTF-8");
  list[0].name = "__metadata__";
  list[0].name_len = 12;
  REFUSED(1, NULL, 0, "the tensor '__metadata__' has the name of the metadata");
  list[0] = a;
  list[0].shape = (hia_dims){2, {1, 1}};
  list[0].is_fortran = true;
  REFUSED(1, NULL, 0, "the tensor 'a' is not in row-major order");
  for (size_t max = 1; max < 8 + 56 + 4; max += 33) {
    value_buffer small = {.max = max};
    sink.user = &small;
    cr_assert_eq(hiaR_safetensors_write(&hiaR_malloc, &a, 1, NULL, 0, &sink, &error), HIA_IO);
    free(small.data);
  }
}

static size_t file_size(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (size_t)info.st_size : SIZE_MAX;
}

Test(safetensors, write_to_a_file) {
  static char data[400000];
  hia_file_tensor t = {"a", 1, HIA_BOOL, {1, {16}}, data, 16, 0, false, false, NULL};
  char folder[] = "/tmp/hia_safetensors_XXXXXX", path[64], other[128];
  hia_value_error error;
  cr_assert(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/a", folder);
  cr_assert_eq(hiaR_safetensors_write_file(&hiaR_malloc, path, &t, 1, NULL, 0, &error), HIA_OK);
  size_t size = file_size(path);
  cr_assert_eq(size % 8, 0);
  /* One that is refused, or for which there is no room, changes nothing. */
  hia_file_tensor twice[2] = {t, t};
  cr_assert_eq(hiaR_safetensors_write_file(&hiaR_malloc, path, twice, 2, NULL, 0, &error),
               HIA_ARGUMENT);
  cr_assert_str_eq(error.message, "the tensor 'a' is there twice");
  cr_assert_eq(file_size(path), size);
  t.size = sizeof data;
  t.shape.dims[0] = sizeof data;
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, limit.rlim_max});
  hia_status status = hiaR_safetensors_write_file(&hiaR_malloc, path, &t, 1, NULL, 0, &error);
  setrlimit(RLIMIT_FSIZE, &limit);
  cr_assert_eq(status, HIA_IO);
  snprintf(other, sizeof other, "cannot write %s: File too large", path);
  cr_assert_str_eq(error.message, other);
  cr_assert_eq(file_size(path), size);
  cr_assert_eq(hiaR_safetensors_write_file(&hiaR_malloc, "/dev/full", &t, 1, NULL, 0, &error),
               HIA_IO);
  cr_assert_str_eq(error.message, "cannot write /dev/full: No space left on device");
  cr_assert_eq(hiaR_safetensors_write_file(&hiaR_malloc, "/nosuch/a", &t, 1, NULL, 0, &error),
               HIA_IO);
  cr_assert_str_eq(error.message, "cannot write /nosuch/a: No such file or directory");
  cr_assert_eq(hiaR_safetensors_write_file(&hiaR_malloc, path, &t, 1, NULL, 0, &error), HIA_OK);
  cr_assert_gt(file_size(path), sizeof data);
  unlink(path);
  cr_assert_eq(rmdir(folder), 0); /* nothing else is there */
}
