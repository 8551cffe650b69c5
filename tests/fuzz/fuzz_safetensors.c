/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are a safetensors file or are refused, in memory that is in
 * proportion to them. A file that is accepted can be written, and is the same when it is read
 * again.
 *
 * Few inputs have a header of the right length, so each is read twice: as it is, and with a length
 * for the bytes up to the first end of a line. */
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

/* ---- an allocator that counts ---- */

static size_t live, most;

static void *count_alloc(void *user, size_t size) {
  (void)user;
  live += size;
  if (live > most) most = live;
  return malloc(size);
}
static void *count_resize(void *user, void *block, size_t old_size, size_t size) {
  (void)user;
  live += size - old_size;
  if (live > most) most = live;
  return realloc(block, size);
}
static void count_free(void *user, void *block, size_t size) {
  (void)user;
  live -= size;
  free(block);
}
static const hia_allocator counting = {
    .alloc = count_alloc, .resize = count_resize, .free = count_free};

/* ---- files ---- */

static value_buffer write_file(const hia_safetensors *file) {
  value_buffer out = {0};
  hia_sink sink = {value_buffer_take, &out};
  hia_value_error error;
  check(hiaR_safetensors_write(&hiaR_malloc, file->tensors, file->n, file->metadata,
                               file->n_metadata, &sink, &error) == HIA_OK,
        "cannot be written");
  return out;
}

static void check_tensors(const hia_safetensors *file, const hia_safetensors *back) {
  hia_value_error error;
  check(file->n == back->n && file->n_metadata == back->n_metadata, "another number");
  for (uint32_t i = 0; i < file->n; i++) {
    const hia_file_tensor *t = &file->tensors[i];
    const hia_file_tensor *other = hiaR_safetensors_find(back, t->name, t->name_len);
    check(other && hiaR_file_tensor_check(other, (hia_dtype)t->dtype, &t->shape, &error) == HIA_OK,
          "another tensor");
    check(other->size == t->size && (!t->size || memcmp(other->data, t->data, t->size) == 0),
          "other elements");
  }
}

static bool can_be_read(const hia_file_tensor *t) {
  hia_value_error error;
  return hiaR_file_tensor_check_shape(t, HIA_F32, &t->shape, &error) == HIA_OK;
}

static void copy_elements(const hia_safetensors *file, size_t size) {
  hia_value_error error;
  for (uint32_t i = 0; i < file->n; i++) {
    const hia_file_tensor *t = &file->tensors[i];
    if (!can_be_read(t)) continue;
    for (hia_dtype dtype = HIA_BOOL; dtype <= HIA_F64; dtype++) {
      char *to = malloc(hiaR_file_tensor_bytes(t, dtype) + 8);
      hia_status status = hiaR_file_tensor_convert(t, dtype, to, &error);
      check(status == HIA_OK ||
                (status == HIA_ARGUMENT && (t->dtype == HIA_BOOL || t->dtype != dtype) &&
                 error.at >= t->at && error.at < size),
            "cannot be copied");
      free(to);
    }
  }
}

/* True if it could also be written. */
static bool is_ours(const hia_safetensors *file) {
  bool is_all = true;
  for (uint32_t i = 0; i < file->n; i++)
    is_all &= can_be_read(&file->tensors[i]) && file->tensors[i].dtype < HIA_N_DTYPES;
  return is_all;
}

static void read_file(const char *bytes, size_t size) {
  hia_safetensors file, back;
  hia_value_error error;
  most = live = 0;
  hia_status status = hiaR_safetensors_read(&file, &counting, bytes, size, &error);
  check(most <= 24 * size + 4096, "much memory");
  check(status == HIA_OK || (status == HIA_ARGUMENT && error.message[0] && error.at <= size),
        "no error, or none in the file");
  if (status == HIA_OK) {
    copy_elements(&file, size);
  }
  if (status == HIA_OK && !is_ours(&file)) {
    hiaR_safetensors_free(&file);
  } else if (status == HIA_OK) {
    value_buffer out = write_file(&file);
    check(hiaR_safetensors_read(&back, &hiaR_malloc, out.data, out.len, &error) == HIA_OK,
          "cannot be read again");
    check_tensors(&file, &back);
    value_buffer again = write_file(&back);
    check(again.len == out.len && memcmp(again.data, out.data, out.len) == 0, "other bytes");
    free(again.data);
    free(out.data);
    hiaR_safetensors_free(&back);
    hiaR_safetensors_free(&file);
  }
  check(live == 0, "memory is left");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = malloc(size + 8), *exact = malloc(size ? size : 1); /* for AddressSanitizer */
  memcpy(exact, data, size);
  read_file(exact, size);
  const uint8_t *end = memchr(data, '\n', size);
  size_t len = end ? (size_t)(end - data) + 1 : size;
  for (size_t i = 0; i < 8; i++) bytes[i] = (char)((uint64_t)len >> 8 * i & 255);
  memcpy(bytes + 8, data, size);
  read_file(bytes, size + 8);
  free(exact);
  free(bytes);
  return 0;
}
