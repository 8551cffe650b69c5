/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Writing .npz. Members are stored: what deflate makes depends on the version of zlib, and equal
 * tensors and names are to give equal bytes. For the same reason all members have the first date
 * that zip knows. Python's modes and limits are taken over (Lib/zipfile.py). */
#include "runtime/interchange/inflate.h"
#include "runtime/interchange/npz.h"
#include <stdio.h>
#include <stdlib.h>

enum { LOCAL = 30, CENTRAL = 46, END = 22, LOCATOR = 20, END64 = 56 };
enum { VERSION = 20, VERSION64 = 45, UNIX = 3 << 8, DATE = 1 << 5 | 1, MODE = 0600 };
enum { UTF8 = 0x800, MAX_MEMBERS = 65535 };
#define MAX32 0xffffffffu

typedef struct member {
  const hia_file_tensor *tensor;
  uint64_t local, size; /* where its header is; bytes of the .npy */
  uint32_t crc;
  bool is_ascii;
} member;

typedef struct writer {
  member *members;
  size_t n;
  const hia_sink *sink;
  uint64_t at;
  bool is_fine;
} writer;

static void put(writer *w, const void *bytes, size_t n) {
  if (n && w->is_fine) w->is_fine = w->sink->take(w->sink->user, bytes, n);
  w->at += n;
}

/* Numbers are written with the lowest byte first. */
static char *add(char *at, uint64_t x, int n) {
  for (int i = 0; i < n; i++) *at++ = (char)(x >> 8 * i & 255);
  return at;
}
static char *add_size(char *at, uint64_t x) { return add(at, x < MAX32 ? x : MAX32, 4); }

/* From the version that reading needs up to the date. */
static char *add_form(char *at, const member *m, bool is_large) {
  at = add(at, is_large ? VERSION64 : VERSION, 2);
  at = add(at, m->is_ascii ? 0 : UTF8, 2);
  at = add(at, 0, 2); /* stored */
  at = add(at, 0, 2); /* the time */
  at = add(at, DATE, 2);
  at = add(at, m->crc, 4);
  at = add_size(at, m->size);
  return add_size(at, m->size);
}

static const char suffix[] = ".npy";
enum { SUFFIX = sizeof suffix - 1 };

static void put_member(writer *w, member *m, const char *header, size_t header_len) {
  const hia_file_tensor *t = m->tensor;
  bool is_large = m->size >= MAX32;
  char buf[LOCAL + 20], *at = buf;
  at = add(at, 0x04034b50, 4);
  at = add_form(at, m, is_large);
  at = add(at, t->name_len + SUFFIX, 2);
  at = add(at, is_large ? 20 : 0, 2);
  m->local = w->at;
  put(w, buf, LOCAL);
  put(w, t->name, t->name_len);
  put(w, suffix, SUFFIX);
  if (is_large) {
    at = add(buf, 1, 2);
    at = add(at, 16, 2);
    at = add(at, m->size, 8);
    at = add(at, m->size, 8);
    put(w, buf, (size_t)(at - buf));
  }
  put(w, header, header_len);
  put(w, t->data, (size_t)t->size);
}

static void put_entry(writer *w, const member *m) {
  const hia_file_tensor *t = m->tensor;
  bool is_large = m->size >= MAX32, is_far = m->local >= MAX32;
  size_t numbers = is_large * (size_t)16 + is_far * (size_t)8, extra = numbers ? numbers + 4 : 0;
  char buf[CENTRAL + 28], *at = buf;
  at = add(at, 0x02014b50, 4);
  at = add(at, UNIX | (extra ? VERSION64 : VERSION), 2);
  at = add_form(at, m, extra > 0);
  at = add(at, t->name_len + SUFFIX, 2);
  at = add(at, extra, 2);
  at = add(at, 0, 6); /* no comment; the first disk; nothing internal */
  at = add(at, (uint64_t)MODE << 16, 4);
  at = add_size(at, m->local);
  put(w, buf, CENTRAL);
  put(w, t->name, t->name_len);
  put(w, suffix, SUFFIX);
  at = add(buf, 1, 2);
  at = add(at, numbers, 2);
  if (is_large) at = add(add(at, m->size, 8), m->size, 8);
  if (is_far) at = add(at, m->local, 8);
  if (extra) put(w, buf, (size_t)(at - buf));
}

static void put_ends(writer *w, uint64_t directory) {
  uint64_t size = w->at - directory, end = w->at;
  char buf[END64 + LOCATOR], *at = buf;
  if (w->n >= MAX_MEMBERS || directory >= MAX32 || size >= MAX32) {
    at = add(at, 0x06064b50, 4);
    at = add(at, END64 - 12, 8);
    at = add(at, VERSION64, 2);
    at = add(at, VERSION64, 2);
    at = add(at, 0, 8); /* disks */
    at = add(at, w->n, 8);
    at = add(at, w->n, 8);
    at = add(at, size, 8);
    at = add(at, directory, 8);
    at = add(at, 0x07064b50, 4);
    at = add(at, 0, 4);
    at = add(at, end, 8);
    at = add(at, 1, 4);
    put(w, buf, (size_t)(at - buf));
  }
  uint64_t n = w->n < MAX_MEMBERS ? w->n : MAX_MEMBERS;
  at = add(buf, 0x06054b50, 4);
  at = add(at, 0, 4);
  at = add(at, n, 2);
  at = add(at, n, 2);
  at = add_size(at, size);
  at = add_size(at, directory);
  at = add(at, 0, 2);
  put(w, buf, END);
}

/* ---- what is refused ---- */

static hia_status HIA_PRINTF(3, 4)
    refuse(hia_value_error *error, const hia_file_tensor *t, const char *fmt, ...) {
  char name[60];
  va_list args;
  hiaR_file_show(t->name, t->name_len, name, sizeof name);
  int n = snprintf(error->message, sizeof error->message, "the array '%s' ", name);
  va_start(args, fmt);
  vsnprintf(error->message + n, sizeof error->message - (size_t)n, fmt, args);
  va_end(args);
  return HIA_ARGUMENT;
}

static int by_name(const void *a, const void *b) {
  const hia_file_tensor *x = ((const member *)a)->tensor, *y = ((const member *)b)->tensor;
  int order = hiaR_compare_bytes(x->name, x->name_len, y->name, y->name_len);
  return order ? order : x < y ? -1 : x > y;
}
static int by_order(const void *a, const void *b) {
  const hia_file_tensor *x = ((const member *)a)->tensor, *y = ((const member *)b)->tensor;
  return x < y ? -1 : x > y;
}

static hia_status check_names(writer *w, hia_value_error *error) {
  for (size_t i = 0; i < w->n; i++) {
    const hia_file_tensor *t = w->members[i].tensor;
    if (t->name_len > HIA_NPZ_MAX_NAME)
      return refuse(error, t, "has a name of more than %d bytes", HIA_NPZ_MAX_NAME);
    if (memchr(t->name, 0, t->name_len)) return refuse(error, t, "has a name with a NUL");
    if (hiaR_find_invalid_utf8(t->name, t->name_len) < t->name_len)
      return refuse(error, t, "has a name that is no UTF-8");
  }
  if (w->n) qsort(w->members, w->n, sizeof *w->members, by_name);
  for (size_t i = 1; i < w->n; i++) {
    const hia_file_tensor *x = w->members[i - 1].tensor, *y = w->members[i].tensor;
    if (x->name_len == y->name_len && memcmp(x->name, y->name, x->name_len) == 0)
      return refuse(error, y, "is there twice");
  }
  if (w->n) qsort(w->members, w->n, sizeof *w->members, by_order);
  return HIA_OK;
}

/* ---- all of it ---- */

hia_status hiaR_npz_write(const hia_allocator *allocator, const hia_file_tensor *tensors, size_t n,
                          const hia_sink *sink, hia_value_error *error) {
  size_t size;
  *error = (hia_value_error){.code = NULL};
  if (!hiaR_zlib_open()) return hiaR_no_zlib(error);
  writer w = {.n = n, .sink = sink, .is_fine = true};
  if (!hiaR_mul(n, sizeof *w.members, &size) || !(w.members = hiaR_alloc(allocator, size + 1)))
    return HIA_MEMORY;
  for (size_t i = 0; i < n; i++) w.members[i].tensor = &tensors[i];
  hia_status status = check_names(&w, error);
  for (size_t i = 0; i < n && status == HIA_OK && w.is_fine; i++) {
    member *m = &w.members[i];
    const hia_file_tensor *t = m->tensor;
    char header[HIA_NPY_HEADER];
    size_t len = hiaR_npy_header(t, header);
    m->size = len + t->size;
    m->crc = hiaR_crc32(hiaR_crc32(0, header, len), t->data, (size_t)t->size);
    m->is_ascii = true;
    for (size_t k = 0; k < t->name_len; k++) m->is_ascii &= !(t->name[k] & 0x80);
    put_member(&w, m, header, len);
  }
  uint64_t directory = w.at;
  for (size_t i = 0; i < n && status == HIA_OK && w.is_fine; i++) put_entry(&w, &w.members[i]);
  if (status == HIA_OK) put_ends(&w, directory);
  hiaR_free(allocator, w.members, size + 1);
  return status != HIA_OK ? status : w.is_fine ? HIA_OK : HIA_IO;
}

typedef struct writing {
  const hia_allocator *allocator;
  const hia_file_tensor *tensors;
  size_t n;
} writing;

static hia_status write_what(const void *what, const hia_sink *sink, hia_value_error *error) {
  const writing *w = what;
  return hiaR_npz_write(w->allocator, w->tensors, w->n, sink, error);
}

hia_status hiaR_npz_write_file(const hia_allocator *allocator, const char *path,
                               const hia_file_tensor *tensors, size_t n, hia_value_error *error) {
  return hiaR_file_write(path, write_what, &(writing){allocator, tensors, n}, error);
}
