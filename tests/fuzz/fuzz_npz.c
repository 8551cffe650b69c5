/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes are an archive of NumPy or are refused, in memory that is in
 * proportion to them. Arrays that are accepted can be written, and are the same when they are read
 * again.
 *
 * Few inputs have the right CRC, so each is read twice: as it is, and as the bytes of an array in
 * an archive that is made for them, with the right CRC and, if the first byte says so, size. */
#include "runtime/interchange/inflate.h"
#include "runtime/interchange/npz.h"
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

/* ---- archives ---- */

static void check_again(const hia_file_tensor *t, const void *elements) {
  hia_file_tensor out = *t, back;
  hia_npz_file file;
  hia_value_error error;
  value_buffer bytes = {0};
  hia_sink sink = {value_buffer_take, &bytes};
  out.data = elements;
  out.is_fortran = false;
  out.is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  char *again = malloc(t->size + 8);
  check(hiaR_npz_write(&hiaR_malloc, &out, 1, &sink, &error) == HIA_OK, "cannot be written");
  check(hiaR_npz_read(&file, &hiaR_malloc, bytes.data, bytes.len, &error) == HIA_OK &&
            hiaR_npz_find(&file, t->name, t->name_len) == 0 &&
            hiaR_npz_look(&file, 0, &back, &error) == HIA_OK &&
            hiaR_npz_copy(&file, 0, &back, (hia_dtype)back.dtype, again, &error) == HIA_OK,
        "cannot be read again");
  check(hiaR_file_tensor_check(&back, t->dtype, &t->shape, &error) == HIA_OK, "another type");
  check(back.size == t->size && memcmp(again, elements, t->size) == 0, "other elements");
  hiaR_npz_free(&file);
  free(again);
  free(bytes.data);
}

static bool is_error(hia_status status, const hia_value_error *error) {
  return status == HIA_ARGUMENT && error->message[0];
}

/* zlib takes some 40 KB, a header 64. */
enum { CONSTANT = 160 << 10, LARGEST = 1 << 20 };

static void read_npz(const char *bytes, size_t size) {
  hia_npz_file file;
  hia_value_error error;
  live = most = 0;
  hia_status status = hiaR_npz_read(&file, &counting, bytes, size, &error);
  check(most <= 4 * size + 64, "much memory for the directory");
  check(status == HIA_OK || (is_error(status, &error) && error.at <= size),
        "no error, or none in the file");
  for (size_t i = 0; status == HIA_OK && i < file.n; i++) {
    hia_file_tensor t;
    hia_status found = hiaR_npz_look(&file, i, &t, &error);
    check(most <= 4 * size + CONSTANT, "much memory for a header");
    check(found == HIA_OK || is_error(found, &error), "no error of a header");
    check(found != HIA_OK || t.size <= 1032 * size, "more elements than deflate can make");
    if (found != HIA_OK || t.size > LARGEST) continue;
    bool is_own = t.dtype < HIA_N_DTYPES;
    hia_dtype dtype = is_own ? (hia_dtype)t.dtype : (hia_dtype)(size % HIA_N_DTYPES);
    char *to = malloc(hiaR_file_tensor_bytes(&t, dtype) + 1);
    found = hiaR_npz_copy(&file, i, &t, dtype, to, &error);
    check(found == HIA_OK || is_error(found, &error), "no error of elements");
    if (found == HIA_OK && is_own) check_again(&t, to);
    free(to);
  }
  if (status == HIA_OK) hiaR_npz_free(&file);
  check(live == 0, "memory is left over");
}

/* ---- the archive that is made ---- */

static char *put(char *at, uint64_t x, int n) {
  for (int i = 0; i < n; i++) *at++ = (char)(i < 8 ? x >> 8 * i & 255 : 0);
  return at;
}

/* What the bytes inflate to: its size, LARGEST at most, and CRC. */
static size_t measure(const uint8_t *data, size_t n, uint32_t *crc) {
  static char out[LARGEST];
  hia_inflater inflater;
  size_t got = 0;
  check(hiaR_inflate_begin(&inflater, &hiaR_malloc, data, n) == HIA_OK, "does not begin");
  hiaR_inflate(&inflater, out, sizeof out, &got);
  hiaR_inflate_end(&inflater);
  *crc = hiaR_crc32(0, out, got);
  return got;
}

static void read_inner(const uint8_t *data, size_t n) {
  enum { NAME = 5, HEADERS = 30 + NAME + 46 + NAME + 22, DEFLATED = 1, OTHER_SIZE = 2 };
  uint8_t how = n ? data[0] : 0;
  if (n) data++, n--;
  uint32_t crc = hiaR_crc32(0, data, n);
  uint64_t len = n;
  if (how & DEFLATED) len = measure(data, n, &crc);
  if (how & DEFLATED && how & OTHER_SIZE && n >= 4) memcpy(&len, data, 2);
  char *bytes = malloc(n + HEADERS), *at = bytes;
  int method = how & DEFLATED ? 8 : 0;
  at = put(at, 0x04034b50, 4);
  at = put(put(put(at, 20, 4), (unsigned)method, 2), 0, 4);
  at = put(put(put(at, crc, 4), n, 4), len, 4);
  at = put(at, NAME, 4);
  memcpy(at, "a.npy", NAME);
  at += NAME;
  if (n) memcpy(at, data, n);
  at += n;
  size_t directory = (size_t)(at - bytes);
  at = put(put(at, 0x02014b50, 4), 20, 2);
  at = put(put(put(at, 20, 4), (unsigned)method, 2), 0, 4);
  at = put(put(put(at, crc, 4), n, 4), len, 4);
  at = put(put(at, NAME, 6), 0, 12);
  memcpy(at, "a.npy", NAME);
  at += NAME;
  at = put(put(at, 0x06054b50, 4), 0, 4);
  at = put(put(put(at, 0x00010001, 4), 46 + NAME, 4), directory, 4);
  put(at, 0, 2);
  read_npz(bytes, n + HEADERS);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check(hiaR_zlib_open(), "there is no zlib");
  char *exact = malloc(size ? size : 1); /* for AddressSanitizer */
  memcpy(exact, data, size);
  read_npz(exact, size);
  free(exact);
  read_inner(data, size);
  return 0;
}
