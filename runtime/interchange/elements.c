/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors of files: checks, and conversion to those of hiaton and back. */
#include "runtime/interchange/interchange.h"
#include "runtime/tensor/tensor.h"
#include "runtime/value/output.h"
#include <stdio.h>

static const bool is_big_endian_machine = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

hia_status hiaR_file_wrong(hia_value_error *error, uint64_t at, const char *fmt, ...) {
  *error = (hia_value_error){.at = (size_t)at};
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(error->message, sizeof error->message, fmt, args);
  va_end(args);
  enum { ROOM = sizeof ", at byte 18446744073709551615" };
  size_t len = n < 0 ? 0 : (size_t)n;
  if (len > sizeof error->message - ROOM) len = sizeof error->message - ROOM;
  snprintf(error->message + len, sizeof error->message - len, ", at byte %llu",
           (unsigned long long)at);
  return HIA_ARGUMENT;
}

void hiaR_file_show(const char *s, size_t n, char *buf, size_t size) {
  size_t len = n < size - 4 ? n : size - 4;
  while (len < n && len && ((unsigned char)s[len] & 0xc0) == 0x80) len--;
  for (size_t i = 0; i < len; i++) buf[i] = (unsigned char)s[i] < ' ' || s[i] == 127 ? '?' : s[i];
  snprintf(buf + len, size - len, "%s", len < n ? "..." : "");
}

int hiaR_compare_bytes(const char *a, size_t n_a, const char *b, size_t n_b) {
  size_t n = n_a < n_b ? n_a : n_b;
  int order = n ? memcmp(a, b, n) : 0;
  return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* ---- checks ---- */

hia_status hiaR_file_tensor_check(const hia_file_tensor *tensor, hia_dtype dtype,
                                  const hia_dims *shape, hia_value_error *error) {
  bool is_fine = tensor->dtype == dtype && tensor->shape.rank == shape->rank;
  for (uint32_t i = 0; i < shape->rank && is_fine; i++)
    is_fine = !hiaR_dim_is_number(shape->dims[i]) || shape->dims[i] == tensor->shape.dims[i];
  if (is_fine) return HIA_OK;
  char found[100], wanted[100], name[60];
  hiaR_shape_describe(tensor->dtype, &tensor->shape, found, sizeof found);
  hiaR_shape_describe(dtype, shape, wanted, sizeof wanted);
  hiaR_file_show(tensor->name, tensor->name_len, name, sizeof name);
  *error = (hia_value_error){.at = (size_t)tensor->at};
  snprintf(error->message, sizeof error->message, "expected %s, the %s%s%s is %s", wanted,
           name[0] ? "tensor '" : "file's tensor", name, name[0] ? "'" : "", found);
  return HIA_ARGUMENT;
}

/* ---- elements ---- */

static void swap(char *at, uint64_t n, uint32_t size) {
  if (size == 4) {
    uint32_t x;
    for (uint64_t i = 0; i < n; i++, at += 4)
      memcpy(&x, at, 4), x = __builtin_bswap32(x), memcpy(at, &x, 4);
  } else if (size == 8) {
    uint64_t x;
    for (uint64_t i = 0; i < n; i++, at += 8)
      memcpy(&x, at, 8), x = __builtin_bswap64(x), memcpy(at, &x, 8);
  }
}

/* Copies n elements that lie `stride` bytes apart. */
static void copy_strided(char *to, const char *from, uint64_t n, uint64_t stride, uint32_t size) {
  switch (size) {
  case 1:
    for (uint64_t i = 0; i < n; i++) to[i] = from[i * stride];
    break;
  case 4:
    for (uint64_t i = 0; i < n; i++) memcpy(to + i * 4, from + i * stride, 4);
    break;
  default:
    for (uint64_t i = 0; i < n; i++) memcpy(to + i * 8, from + i * stride, 8);
  }
}

/* Of a tensor with elements whose first axis varies fastest: copies the last axis, for each index
 * of the others in row-major order. */
static void copy_fortran(const hia_file_tensor *t, uint32_t size, char *to) {
  uint32_t last = t->shape.rank - 1;
  uint64_t strides[HIA_MAX_RANK], index[HIA_MAX_RANK] = {0}, stride = size;
  for (uint32_t i = 0; i <= last; i++) {
    strides[i] = stride;
    stride *= (uint64_t)t->shape.dims[i];
  }
  uint64_t n = (uint64_t)t->shape.dims[last];
  const char *from = t->data;
  for (uint64_t left = t->size / size / n; left; left--, to += n * size) {
    copy_strided(to, from, n, strides[last], size);
    for (uint32_t i = last; i-- > 0;) {
      from += strides[i];
      if (++index[i] < (uint64_t)t->shape.dims[i]) break;
      from -= strides[i] * index[i];
      index[i] = 0;
    }
  }
}

hia_status hiaR_file_tensor_copy(const hia_file_tensor *t, void *to, hia_value_error *error) {
  uint32_t size = hiaR_dtype_size(t->dtype);
  if (!t->size) return HIA_OK;
  const unsigned char *bytes = t->data;
  for (uint64_t i = 0; t->dtype == HIA_BOOL && i < t->size; i++)
    if (bytes[i] > 1)
      return hiaR_file_wrong(error, t->at + i, "a bool is %u, neither 0 nor 1", bytes[i]);
  if (t->is_fortran && t->shape.rank > 1)
    copy_fortran(t, size, to);
  else if (to != t->data)
    memcpy(to, t->data, (size_t)t->size);
  if (t->is_big_endian != is_big_endian_machine) swap(to, t->size / size, size);
  return HIA_OK;
}

hia_status hiaR_file_tensor_make(const hia_file_tensor *t, hia_objects *objects, hia_word *word,
                                 hia_value_error *error) {
  if (!t->shape.rank) {
    uint64_t bytes;
    hia_status status = hiaR_file_tensor_copy(t, &bytes, error);
    if (status == HIA_OK) *word = hiaR_load((hia_repr)t->dtype, &bytes);
    return status;
  }
  hia_tensor *tensor = hiaR_new_tensor(objects, t->dtype, &t->shape);
  if (!tensor) return HIA_MEMORY;
  hia_status status = hiaR_file_tensor_copy(t, tensor->data, error);
  if (status == HIA_OK) *word = (uintptr_t)tensor;
  return status;
}

void hiaR_file_tensor_of(const hia_tensor *object, hia_file_tensor *tensor) {
  *tensor = (hia_file_tensor){.name = "",
                              .dtype = hiaR_tensor_dtype(object),
                              .shape = hiaR_tensor_dims(object),
                              .data = object->data,
                              .size = hiaR_tensor_bytes(object),
                              .is_big_endian = is_big_endian_machine};
}

void hiaR_file_tensor_of_scalar(hia_dtype dtype, hia_word word, void *bytes,
                                hia_file_tensor *tensor) {
  hiaR_store((hia_repr)dtype, bytes, word);
  *tensor = (hia_file_tensor){.name = "",
                              .dtype = dtype,
                              .data = bytes,
                              .size = hiaR_dtype_size(dtype),
                              .is_big_endian = is_big_endian_machine};
}

/* ---- files ---- */

hia_status hiaR_file_write(const char *path,
                           hia_status (*write)(const void *what, const hia_sink *sink,
                                               hia_value_error *error),
                           const void *what, hia_value_error *error) {
  hia_file_output file;
  *error = (hia_value_error){.code = NULL};
  hia_status status = HIA_IO;
  int wrong = hiaR_output_open(&file, path);
  if (!wrong) {
    const hia_sink sink = {hiaR_output_write, &file};
    status = write(what, &sink, error);
    if (status == HIA_OK) hiaR_output_sync(&file);
    wrong = hiaR_output_close(&file, status == HIA_OK);
  }
  if (!wrong) return status;
  char why[128];
  /* The GNU version of strerror_r, which may return a static text instead of `why`. */
  snprintf(error->message, sizeof error->message, "cannot write %s: %s", path,
           strerror_r(wrong, why, sizeof why));
  return HIA_IO;
}
