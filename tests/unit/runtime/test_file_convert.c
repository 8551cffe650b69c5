/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/interchange: elements of files that are converted. tests/peers/numpy_files.py compares
 * with NumPy; here are the limits of each dtype, and what is refused. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/interchange.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of an element, the lowest first. */
static size_t put_element(uint32_t dtype, double x, int64_t i, uint64_t u, bool is_big, char *to) {
  uint64_t bits = 0;
  float f = (float)x;
  uint32_t size = hiaR_file_dtype_size(dtype), half;
  switch (dtype) {
  case HIA_F32: memcpy(&half, &f, 4), bits = half; break;
  case HIA_F64: memcpy(&bits, &x, 8); break;
  case HIA_FILE_BF16: memcpy(&half, &f, 4), bits = half >> 16; break;
  case HIA_FILE_U64: bits = u; break;
  default: bits = (uint64_t)i; /* of f16 its bits */
  }
  for (uint32_t k = 0; k < size; k++) to[is_big ? size - 1 - k : k] = (char)(bits >> 8 * k & 255);
  return size;
}

typedef struct row {
  uint32_t from;
  double x;   /* f32, f64, bf16 */
  int64_t i;  /* others, of f16 the bits */
  uint64_t u; /* u64 */
  hia_dtype to;
  const char *value; /* as printed; NULL: refused */
} row;

#define F(from, x, to, value) {from, x, 0, 0, to, value}
#define I(from, i, to, value) {from, 0, i, 0, to, value}
#define U(u, to, value)       {HIA_FILE_U64, 0, 0, u, to, value}
static const row rows[] = {
    /* to bool */
    I(HIA_I32, 1, HIA_BOOL, "true"),
    I(HIA_I64, 2, HIA_BOOL, NULL),
    I(HIA_FILE_I8, -1, HIA_BOOL, NULL),
    F(HIA_F64, 1, HIA_BOOL, "true"),
    F(HIA_F32, -0.0, HIA_BOOL, "false"),
    F(HIA_F32, 0.5, HIA_BOOL, NULL),
    U(1, HIA_BOOL, "true"),
    /* to integers */
    I(HIA_BOOL, 1, HIA_I32, "1"),
    I(HIA_FILE_I8, -128, HIA_I32, "-128"),
    I(HIA_FILE_I16, -32768, HIA_I32, "-32768"),
    I(HIA_FILE_U8, 255, HIA_I32, "255"),
    I(HIA_FILE_U16, 65535, HIA_I32, "65535"),
    I(HIA_FILE_U32, 2147483647, HIA_I32, "2147483647"),
    I(HIA_FILE_U32, 2147483648, HIA_I32, NULL),
    I(HIA_FILE_U32, 4294967295, HIA_I64, "4294967295"),
    I(HIA_I64, INT32_MIN, HIA_I32, "-2147483648"),
    I(HIA_I64, (int64_t)INT32_MIN - 1, HIA_I32, NULL),
    I(HIA_I64, (int64_t)INT32_MAX + 1, HIA_I32, NULL),
    I(HIA_I32, -7, HIA_I64, "-7"),
    U(INT64_MAX, HIA_I64, "9223372036854775807"),
    U((uint64_t)INT64_MAX + 1, HIA_I64, NULL),
    U(UINT64_MAX, HIA_I32, NULL),
    F(HIA_F32, -3, HIA_I32, "-3"),
    F(HIA_F64, 2147483647.0, HIA_I32, "2147483647"),
    F(HIA_F64, 2147483648.0, HIA_I32, NULL),
    F(HIA_F64, 2.5, HIA_I64, NULL),
    F(HIA_F64, -0x1p63, HIA_I64, "-9223372036854775808"),
    F(HIA_F64, 0x1p63, HIA_I64, NULL),
    F(HIA_F64, NAN, HIA_I64, NULL),
    F(HIA_F32, INFINITY, HIA_I64, NULL),
    F(HIA_FILE_BF16, 96, HIA_I32, "96"),
    I(HIA_FILE_F16, 0x4900, HIA_I32, "10"),
    I(HIA_FILE_F16, 0x3800, HIA_I32, NULL),
    /* to floats */
    I(HIA_BOOL, 1, HIA_F64, "1.0"),
    I(HIA_FILE_U8, 200, HIA_F32, "200.0"),
    I(HIA_I32, 16777217, HIA_F32, "16777216.0"),
    I(HIA_I64, 9007199254740993, HIA_F64, "9007199254740992.0"),
    /* Rounding to double first would give 2^55, which is even. */
    I(HIA_I64, (INT64_C(1) << 55) + (INT64_C(1) << 31) + 1, HIA_F32, "36028801313931264"),
    U(UINT64_MAX, HIA_F32, "18446744000000000000.0"),
    F(HIA_F64, 0.1, HIA_F32, "0.1"),
    F(HIA_F64, 1e-60, HIA_F32, "0.0"),
    F(HIA_F64, 1e39, HIA_F32, NULL),
    F(HIA_F64, 3.4028235677973366e38, HIA_F32, NULL), /* halfway behind the largest one */
    F(HIA_F64, 3.4028235677973362e38, HIA_F32, "3.4028235e38"),
    F(HIA_F64, -INFINITY, HIA_F32, "-inf"),
    F(HIA_F64, NAN, HIA_F32, "nan"),
    F(HIA_F32, INFINITY, HIA_F64, "inf"),
    F(HIA_F32, 0.1, HIA_F64, "0.10000000149011612"),
    F(HIA_FILE_BF16, -1.5, HIA_F32, "-1.5"),
    F(HIA_FILE_BF16, INFINITY, HIA_F32, "inf"),
    I(HIA_FILE_F16, 0x0001, HIA_F64, "0.000000059604644775390625"),
    I(HIA_FILE_F16, 0x83ff, HIA_F32, "-0.00006097555"),
    I(HIA_FILE_F16, 0x0400, HIA_F32, "0.000061035156"),
    I(HIA_FILE_F16, 0x7bff, HIA_F32, "65504.0"),
    I(HIA_FILE_F16, 0xfc00, HIA_F32, "-inf"),
    I(HIA_FILE_F16, 0x7c01, HIA_F32, "nan"),
};

static double number_of(hia_dtype dtype, hia_word word) {
  switch (dtype) {
  case HIA_BOOL: return hiaR_to_bool(word);
  case HIA_I32: return hiaR_to_i32(word);
  case HIA_I64: return (double)hiaR_to_i64(word);
  case HIA_F32: return (double)hiaR_to_f32(word);
  case HIA_F64: return hiaR_to_f64(word);
  }
  return 0;
}

static double wanted_number(const char *text) {
  return strcmp(text, "true") == 0 ? 1 : strcmp(text, "false") == 0 ? 0 : strtod(text, NULL);
}

Test(file_convert, limits) {
  for (size_t k = 0; k < 2 * HIA_LEN(rows); k++) {
    const row *r = &rows[k / 2];
    bool is_big = k % 2;
    char bytes[8];
    hia_file_tensor t = {.name = "w",
                         .name_len = 1,
                         .dtype = r->from,
                         .data = bytes,
                         .at = 40,
                         .is_big_endian = is_big};
    t.size = put_element(r->from, r->x, r->i, r->u, is_big, bytes);
    hia_value_error error = {.code = NULL};
    hia_word word;
    hia_status status = hiaR_file_tensor_make(&t, r->to, NULL, &word, &error);
    cr_assert_eq(status, r->value ? HIA_OK : HIA_ARGUMENT, "%zu: %s", k / 2, error.message);
    if (!r->value) {
      cr_assert(strstr(error.message, "element of the tensor 'w' is ") &&
                    strstr(error.message, ", at byte 40"),
                "%s", error.message);
      continue;
    }
    double is = number_of(r->to, word), want = wanted_number(r->value);
    if (r->to == HIA_F32) want = (double)strtof(r->value, NULL);
    cr_assert(is == want || (isnan(is) && isnan(want)), "%zu: %.17g, not %s", k / 2, is, r->value);
  }
}

/* Of several blocks, in both orders of axes; the error names the element and its byte. */
Test(file_convert, orders_and_places) {
  enum { ROWS = 7, COLUMNS = 300 };
  static int16_t elements[ROWS * COLUMNS];
  for (int fortran = 0; fortran < 2; fortran++) {
    for (int k = 0; k < ROWS * COLUMNS; k++) elements[k] = (int16_t)(k - 1000);
    hia_file_tensor t = {.name = "",
                         .dtype = HIA_FILE_I16,
                         .shape = {2, {ROWS, COLUMNS}},
                         .data = elements,
                         .size = sizeof elements,
                         .at = 100,
                         .is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
                         .is_fortran = fortran};
    hia_value_error error;
    static double out[ROWS * COLUMNS];
    cr_assert_eq(hiaR_file_tensor_bytes(&t, HIA_F64), sizeof out);
    cr_assert_eq(hiaR_file_tensor_convert(&t, HIA_F64, out, &error), HIA_OK);
    for (int i = 0; i < ROWS; i++)
      for (int k = 0; k < COLUMNS; k++)
        cr_assert_eq(out[i * COLUMNS + k], (fortran ? i + k * ROWS : i * COLUMNS + k) - 1000);
    memset(elements, 0, sizeof elements);
    int at = fortran ? 3 + 290 * ROWS : 3 * COLUMNS + 290;
    elements[at] = -2;
    static bool bools[ROWS * COLUMNS];
    char wanted[128];
    snprintf(wanted, sizeof wanted,
             "element [3, 290] of the file's tensor is -2, which no bool is, at byte %d",
             100 + 2 * at);
    cr_assert_eq(hiaR_file_tensor_convert(&t, HIA_BOOL, bools, &error), HIA_ARGUMENT);
    cr_assert_str_eq(error.message, wanted);
    cr_assert_eq(error.at, (size_t)(100 + 2 * at));
  }
}

Test(file_convert, without_elements) {
  hia_file_tensor t = {
      .name = "", .dtype = HIA_FILE_U8, .shape = {3, {2, 0, 5}}, .is_fortran = true};
  hia_value_error error;
  cr_assert_eq(hiaR_file_tensor_convert(&t, HIA_F32, NULL, &error), HIA_OK);
  char two = 2;
  t = (hia_file_tensor){.name = "", .dtype = HIA_BOOL, .data = &two, .size = 1, .at = 9};
  int64_t x;
  cr_assert_eq(hiaR_file_tensor_convert(&t, HIA_I64, &x, &error), HIA_ARGUMENT);
  cr_assert_str_eq(error.message, "a bool is 2, neither 0 nor 1, at byte 9");
}
