/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Writing safetensors. The header has no spaces but behind it, up to a multiple of 8, so that the
 * elements are aligned: larger ones come first. The order of tensors, and how strings are escaped,
 * are those of the format's reference implementation; it leaves the order of metadata open, which
 * here is that of the keys. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/safetensors.h"
#include "runtime/value/stack.h"
#include <stdio.h>
#include <stdlib.h>

enum { HEAD = 8, ALIGN = 8 };

typedef struct writer {
  const hia_allocator *allocator;
  const hia_file_tensor **tensors; /* in the order of the file */
  const hia_metadata **metadata;
  uint32_t n, n_metadata;
  hia_block header;
  size_t len;  /* of the header */
  bool is_out; /* of memory */
} writer;

/* ---- the order ---- */

static int by_dtype(const void *a, const void *b) {
  static const int ranks[HIA_N_DTYPES] = {
      [HIA_I64] = 0, [HIA_F64] = 1, [HIA_F32] = 2, [HIA_I32] = 3, [HIA_BOOL] = 4};
  const hia_file_tensor *x = *(const hia_file_tensor *const *)a;
  const hia_file_tensor *y = *(const hia_file_tensor *const *)b;
  if (x->dtype != y->dtype) return ranks[x->dtype] - ranks[y->dtype];
  return hiaR_compare_bytes(x->name, x->name_len, y->name, y->name_len);
}
static int by_name(const void *a, const void *b) {
  const hia_file_tensor *x = *(const hia_file_tensor *const *)a;
  const hia_file_tensor *y = *(const hia_file_tensor *const *)b;
  return hiaR_compare_bytes(x->name, x->name_len, y->name, y->name_len);
}
static int by_key(const void *a, const void *b) {
  const hia_metadata *x = *(const hia_metadata *const *)a;
  const hia_metadata *y = *(const hia_metadata *const *)b;
  return hiaR_compare_bytes(x->key, x->key_len, y->key, y->key_len);
}

static hia_status HIA_PRINTF(3, 4)
    refuse(hia_value_error *error, const hia_file_tensor *t, const char *fmt, ...) {
  char shown[60] = "";
  va_list args;
  *error = (hia_value_error){.code = NULL};
  if (t) hiaR_file_show(t->name, t->name_len, shown, sizeof shown);
  int n = t ? snprintf(error->message, sizeof error->message, "the tensor '%s' ", shown) : 0;
  va_start(args, fmt);
  vsnprintf(error->message + n, sizeof error->message - (size_t)n, fmt, args);
  va_end(args);
  return HIA_ARGUMENT;
}

static bool is_utf8(const char *s, size_t n) { return hiaR_find_invalid_utf8(s, n) == n; }

/* Brings all into order, and refuses what a reader would refuse. */
static hia_status arrange(writer *w, hia_value_error *error) {
  for (uint32_t i = 0; i < w->n; i++) {
    const hia_file_tensor *t = w->tensors[i];
    if (!is_utf8(t->name, t->name_len)) return refuse(error, t, "has a name that is no UTF-8");
    if (t->name_len == HIA_METADATA_LEN && memcmp(t->name, HIA_METADATA_NAME, t->name_len) == 0)
      return refuse(error, t, "has the name of the metadata");
    if (t->is_fortran && t->shape.rank > 1) return refuse(error, t, "is not in row-major order");
  }
  if (w->n) qsort(w->tensors, w->n, sizeof *w->tensors, by_name);
  for (uint32_t i = 1; i < w->n; i++)
    if (by_name(&w->tensors[i - 1], &w->tensors[i]) == 0)
      return refuse(error, w->tensors[i], "is there twice");
  if (w->n) qsort(w->tensors, w->n, sizeof *w->tensors, by_dtype);
  if (w->n_metadata) qsort(w->metadata, w->n_metadata, sizeof *w->metadata, by_key);
  for (uint32_t i = 0; i < w->n_metadata; i++) {
    const hia_metadata *m = w->metadata[i];
    if (!is_utf8(m->key, m->key_len) || !is_utf8(m->value, m->value_len))
      return refuse(error, NULL, "the metadata are no UTF-8");
    if (i && by_key(&w->metadata[i - 1], &w->metadata[i]) == 0)
      return refuse(error, NULL, "a key of the metadata is there twice");
  }
  return HIA_OK;
}

/* ---- the header ---- */

static void put(writer *w, const char *bytes, size_t n) {
  if (w->is_out) return;
  if (!hiaR_block_grow(&w->header, w->allocator, w->len + n)) {
    w->is_out = true;
    return;
  }
  if (n) memcpy((char *)w->header.data + w->len, bytes, n);
  w->len += n;
}

static void HIA_PRINTF(2, 3) put_text(writer *w, const char *fmt, ...) {
  char buf[64];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(buf, sizeof buf, fmt, args);
  va_end(args);
  put(w, buf, (size_t)n);
}

static void put_string(writer *w, const char *s, size_t n) {
  static const char escapes[] = "\"\\bfnrt", characters[] = "\"\\\b\f\n\r\t";
  put(w, "\"", 1);
  for (size_t i = 0; i < n; i++) {
    size_t plain = i;
    while (plain < n && (unsigned char)s[plain] >= ' ' && s[plain] != '"' && s[plain] != '\\')
      plain++;
    put(w, s + i, plain - i);
    i = plain;
    if (i == n) break;
    const char *found = s[i] ? strchr(characters, s[i]) : NULL;
    if (found)
      put(w, (const char[]){'\\', escapes[found - characters]}, 2);
    else
      put_text(w, "\\u%04x", (unsigned)(unsigned char)s[i]);
  }
  put(w, "\"", 1);
}

static void put_header(writer *w) {
  uint64_t at = 0;
  put(w, "{", 1);
  if (w->n_metadata) put_text(w, "\"" HIA_METADATA_NAME "\":{");
  for (uint32_t i = 0; i < w->n_metadata; i++) {
    const hia_metadata *m = w->metadata[i];
    if (i) put(w, ",", 1);
    put_string(w, m->key, m->key_len);
    put(w, ":", 1);
    put_string(w, m->value, m->value_len);
  }
  if (w->n_metadata) put_text(w, w->n ? "}," : "}");
  for (uint32_t i = 0; i < w->n; i++) {
    const hia_file_tensor *t = w->tensors[i];
    if (i) put(w, ",", 1);
    put_string(w, t->name, t->name_len);
    put_text(w, ":{\"dtype\":\"%s\",\"shape\":[", hiaR_safetensors_dtypes[t->dtype]);
    for (uint32_t k = 0; k < t->shape.rank; k++)
      put_text(w, "%s%lld", k ? "," : "", (long long)t->shape.dims[k]);
    put_text(w, "],\"data_offsets\":[%llu,", (unsigned long long)at);
    at += t->size;
    put_text(w, "%llu]}", (unsigned long long)at);
  }
  put(w, "}", 1);
  while (w->len % ALIGN && !w->is_out) put(w, " ", 1);
}

/* ---- bytes ---- */

/* Elements are in the file with the lowest byte first. */
static bool write_swapped(const hia_file_tensor *t, const hia_sink *sink) {
  uint32_t size = hiaR_dtype_size(t->dtype);
  const char *from = t->data;
  char buf[4096];
  size_t len = 0;
  for (uint64_t i = 0; i < t->size; i += size) {
    for (uint32_t k = 0; k < size; k++) buf[len + k] = from[i + size - 1 - k];
    len += size;
    if (len < sizeof buf && i + size < t->size) continue;
    if (!sink->take(sink->user, buf, len)) return false;
    len = 0;
  }
  return true;
}

static bool write_all(const writer *w, const hia_sink *sink) {
  char head[HEAD];
  for (int i = 0; i < HEAD; i++) head[i] = (char)((uint64_t)w->len >> 8 * i & 255);
  bool is_fine =
      sink->take(sink->user, head, HEAD) && sink->take(sink->user, w->header.data, w->len);
  for (uint32_t i = 0; i < w->n && is_fine; i++) {
    const hia_file_tensor *t = w->tensors[i];
    if (t->is_big_endian)
      is_fine = write_swapped(t, sink);
    else if (t->size)
      is_fine = sink->take(sink->user, t->data, (size_t)t->size);
  }
  return is_fine;
}

hia_status hiaR_safetensors_write(const hia_allocator *allocator, const hia_file_tensor *tensors,
                                  uint32_t n, const hia_metadata *metadata, uint32_t n_metadata,
                                  const hia_sink *sink, hia_value_error *error) {
  size_t pointers = ((size_t)n + n_metadata + 1) * sizeof(void *);
  writer w = {.allocator = allocator, .n = n, .n_metadata = n_metadata};
  *error = (hia_value_error){.code = NULL};
  void *block = allocator->alloc(allocator->user, pointers);
  if (!block) return HIA_MEMORY;
  w.tensors = block;
  w.metadata = (const hia_metadata **)((void **)block + n);
  for (uint32_t i = 0; i < n; i++) w.tensors[i] = &tensors[i];
  for (uint32_t i = 0; i < n_metadata; i++) w.metadata[i] = &metadata[i];
  hia_status status = arrange(&w, error);
  if (status == HIA_OK) put_header(&w);
  if (w.is_out) status = HIA_MEMORY;
  if (status == HIA_OK && w.len > HIA_SAFETENSORS_MAX_HEADER)
    status =
        refuse(error, NULL, "the header would have more than %u bytes", HIA_SAFETENSORS_MAX_HEADER);
  if (status == HIA_OK && !write_all(&w, sink)) status = HIA_IO;
  hiaR_block_free(&w.header, allocator);
  hiaR_free(allocator, block, pointers);
  return status;
}

typedef struct writing {
  const hia_allocator *allocator;
  const hia_file_tensor *tensors;
  const hia_metadata *metadata;
  uint32_t n, n_metadata;
} writing;

static hia_status write(const void *what, const hia_sink *sink, hia_value_error *error) {
  const writing *w = what;
  return hiaR_safetensors_write(w->allocator, w->tensors, w->n, w->metadata, w->n_metadata, sink,
                                error);
}

hia_status hiaR_safetensors_write_file(const hia_allocator *allocator, const char *path,
                                       const hia_file_tensor *tensors, uint32_t n,
                                       const hia_metadata *metadata, uint32_t n_metadata,
                                       hia_value_error *error) {
  const writing w = {allocator, tensors, metadata, n, n_metadata};
  return hiaR_file_write(path, write, &w, error);
}
