/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are a .npy or are refused, in memory that is in proportion to them. A
 * tensor that is accepted can be written, and is the same when it is read again.
 *
 * Few inputs have a header of the right length, so each is read twice: as it is, and with a head
 * for the bytes up to the first end of a line. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/interchange.h"
#include "tests/unit/helpers/value.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void check_again(hia_word word, const hia_file_tensor *t) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  char scalar[8];
  hia_file_tensor out, back;
  hia_value_error error;
  hia_word again;
  value_buffer file = {0};
  hia_sink sink = {value_buffer_take, &file};
  if (t->shape.rank)
    hiaR_file_tensor_of(hiaR_tensor(word), &out);
  else
    hiaR_file_tensor_of_scalar((hia_dtype)t->dtype, word, scalar, &out);
  check(hiaR_npy_write(&out, &sink) == HIA_OK, "cannot be written");
  check(hiaR_npy_read(file.data, file.len, &back, &error) == HIA_OK &&
            hiaR_file_tensor_make(&back, (hia_dtype)back.dtype, objects, &again, &error) == HIA_OK,
        "cannot be read again");
  check(hiaR_file_tensor_check(&back, t->dtype, &t->shape, &error) == HIA_OK, "another type");
  if (!t->shape.rank)
    check(again == word, "another scalar");
  else if (t->size)
    check(memcmp(hiaR_tensor(again)->data, hiaR_tensor(word)->data, t->size) == 0,
          "other elements");
  free(file.data);
  hiaR_objects_release(objects);
}

/* The header alone says the same, if the file has so many bytes. */
static void check_header(const char *bytes, size_t size, hia_status whole,
                         const hia_file_tensor *tensor) {
  hia_file_tensor t;
  hia_value_error error;
  uint64_t header = hiaR_npy_header_size(bytes, size);
  size_t n = header && header < size ? (size_t)header : size;
  char *exact = malloc(n ? n : 1); /* for AddressSanitizer */
  memcpy(exact, bytes, n);
  hia_status status = hiaR_npy_read_header(exact, n, size, &t, &error);
  check(status == whole, "the header alone is something else");
  if (status == HIA_OK) {
    check(t.dtype == tensor->dtype && t.size == tensor->size && t.at == tensor->at &&
              t.shape.rank == tensor->shape.rank,
          "the header alone says something else");
    check(hiaR_npy_read_header(exact, n, (uint64_t)size + 1, &t, &error) == HIA_ARGUMENT,
          "a byte too many");
  }
  free(exact);
}

static void read_npy(const char *bytes, size_t size) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_file_tensor t;
  hia_value_error error;
  hia_word word;
  hia_status status = hiaR_npy_read(bytes, size, &t, &error);
  check_header(bytes, size, status, &t);
  /* What hiaton lacks is converted to one of its dtypes, the file says which. */
  bool is_own = t.dtype < HIA_N_DTYPES;
  hia_dtype dtype = is_own ? (hia_dtype)t.dtype : (hia_dtype)(size % HIA_N_DTYPES);
  if (status == HIA_OK) status = hiaR_file_tensor_make(&t, dtype, objects, &word, &error);
  check(status == HIA_OK || (status == HIA_ARGUMENT && error.message[0] && error.at <= size),
        "no error, or none in the file");
  check(hiaR_objects_bytes(objects) <= (is_own ? 2 : 9) * size + 4096, "much memory");
  if (status == HIA_OK && is_own) check_again(word, &t);
  hiaR_objects_release(objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = malloc(size + 12), *exact = malloc(size ? size : 1); /* for AddressSanitizer */
  memcpy(exact, data, size);
  read_npy(exact, size);
  const uint8_t *end = memchr(data, '\n', size);
  size_t len = end ? (size_t)(end - data) + 1 : size;
  memcpy(bytes, "\x93NUMPY\3\0", 8);
  for (size_t i = 0; i < 4; i++) bytes[8 + i] = (char)(len >> 8 * i & 255);
  memcpy(bytes + 12, data, size);
  read_npy(bytes, size + 12);
  free(exact);
  free(bytes);
  return 0;
}
