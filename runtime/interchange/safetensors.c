/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading safetensors:
 *
 *   the length of the header, 8 bytes, the lowest first
 *   the header, JSON in UTF-8, behind which there may be white space:
 *     {"__metadata__":{"key":"value"},
 *      "name":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]}}
 *   the elements; offsets count from here
 *
 * The header holds what is shown here and nothing else, so its objects nest as deep as shown and
 * the reader does not recurse. Strings are decoded in a copy of the header, where they lie: decoded
 * they are shorter. So a name's offset in the copy is its offset in the file. */
#include "runtime/interchange/safetensors.h"
#include "runtime/heap/tensor.h"
#include "runtime/interchange/interchange.h"
#include "runtime/value/stack.h"
#include <stdio.h>
#include <stdlib.h>

enum { HEAD = 8 }; /* the header begins here */

const char *const hiaR_safetensors_dtypes[HIA_N_FILE_DTYPES] = {
    "BOOL", "I32", "I64", "F32", "F64", "I8", "I16", "U8", "U16", "U32", "U64", "F16", "BF16"};

typedef struct reader {
  const char *text; /* the header */
  size_t at, end;
  uint64_t n_data; /* bytes of elements */
  const char *data;
  char *copy;
  hia_safetensors *file;
  hia_block tensors, metadata;
  hia_value_error *error;
} reader;

static hia_status damaged_at(const reader *r, uint64_t at, const char *what) {
  return hiaR_file_wrong(r->error, at, "the safetensors file is damaged: %s", what);
}
static hia_status damaged(const reader *r, const char *what) {
  return damaged_at(r, HEAD + r->at, what);
}
/* Where a string that was decoded begins in the file. */
static uint64_t offset_of(const reader *r, const char *s) { return HEAD + (uint64_t)(s - r->copy); }

/* ---- JSON ---- */

static char next(const reader *r) { return r->at < r->end ? r->text[r->at] : 0; }

static void skip_space(reader *r) {
  while (next(r) == ' ' || next(r) == '\t' || next(r) == '\n' || next(r) == '\r') r->at++;
}

static bool accept(reader *r, char c) {
  skip_space(r);
  if (next(r) != c) return false;
  r->at++;
  return true;
}

static hia_status expect(reader *r, char c) {
  if (accept(r, c)) return HIA_OK;
  char what[32];
  snprintf(what, sizeof what, "its header lacks a '%c'", c);
  return damaged(r, what);
}

/* After an element of an object or an array: a comma, or the end of it. */
static hia_status read_comma(reader *r, char end, bool *is_end) {
  *is_end = accept(r, end);
  return *is_end || accept(r, ',') ? HIA_OK : expect(r, end);
}

static bool read_hex(reader *r, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    char c = next(r);
    uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                            : 16;
    if (digit == 16) return false;
    *code = *code << 4 | digit;
  }
  return true;
}

static size_t put_utf8(char *to, uint32_t code) {
  if (code < 0x80) return *to = (char)code, 1;
  size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = n; i-- > 1; code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
  to[0] = (char)((0xf0u << (4 - n) & 0xff) | code);
  return n;
}

/* The character after a backslash. */
static hia_status read_escape(reader *r, char *to, size_t *n) {
  static const char escapes[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
  size_t begin = r->at - 1;
  char c = next(r);
  const char *found = c ? strchr(escapes, c) : NULL;
  uint32_t code, low;
  r->at++;
  if (found) return to[(*n)++] = characters[found - escapes], HIA_OK;
  if (c != 'u' || !read_hex(r, &code)) return damaged_at(r, HEAD + begin, "no such escape");
  if (code >= 0xd800 && code < 0xe000) {
    bool is_pair = code < 0xdc00 && r->end - r->at >= 6 && r->text[r->at] == '\\' &&
                   r->text[r->at + 1] == 'u' && (r->at += 2, read_hex(r, &low)) && low >= 0xdc00 &&
                   low < 0xe000;
    if (!is_pair) return damaged_at(r, HEAD + begin, "half a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  *n += put_utf8(to + *n, code);
  return HIA_OK;
}

/* Decodes a string: *s, *len bytes and a NUL. */
static hia_status read_string(reader *r, const char **s, size_t *len) {
  skip_space(r);
  if (!accept(r, '"')) return damaged(r, "its header lacks a string");
  size_t begin = r->at, n = 0;
  char *to = r->copy + begin;
  hia_status status = HIA_OK;
  while (status == HIA_OK && r->at < r->end && next(r) != '"') {
    if ((unsigned char)next(r) < ' ') return damaged(r, "a control character in a string");
    char c = r->text[r->at++];
    if (c == '\\')
      status = read_escape(r, to, &n);
    else
      to[n++] = c;
  }
  if (status) return status;
  if (!accept(r, '"')) return damaged_at(r, HEAD + begin - 1, "a string does not end");
  to[n] = 0;
  *s = to;
  *len = n;
  return HIA_OK;
}

/* A number from 0 to INT64_MAX. */
static hia_status read_number(reader *r, uint64_t *x) {
  skip_space(r);
  size_t begin = r->at;
  *x = 0;
  for (; next(r) >= '0' && next(r) <= '9'; r->at++) {
    unsigned digit = (unsigned)(next(r) - '0');
    if (*x > ((uint64_t)INT64_MAX - digit) / 10)
      return damaged_at(r, HEAD + begin, "a number is too large");
    *x = *x * 10 + digit;
  }
  bool is_number = r->at > begin && (r->text[begin] != '0' || r->at == begin + 1) &&
                   next(r) != '.' && next(r) != 'e' && next(r) != 'E';
  return is_number ? HIA_OK : damaged_at(r, HEAD + begin, "no size or offset");
}

/* ---- the header ---- */

static hia_status read_dtype(reader *r, hia_file_tensor *t) {
  const char *s;
  size_t n;
  hia_status status = read_string(r, &s, &n);
  if (status) return status;
  for (uint32_t i = 0; i < HIA_N_FILE_DTYPES; i++)
    if (strlen(hiaR_safetensors_dtypes[i]) == n && memcmp(hiaR_safetensors_dtypes[i], s, n) == 0)
      return t->dtype = i, HIA_OK;
  t->dtype = HIA_FILE_OTHER;
  t->other = s;
  return HIA_OK;
}

static hia_status read_shape(reader *r, hia_file_tensor *t) {
  hia_status status = expect(r, '[');
  bool is_end = status == HIA_OK && accept(r, ']');
  while (status == HIA_OK && !is_end) {
    uint64_t dim;
    status = read_number(r, &dim);
    if (status) return status;
    if (t->shape.rank < HIA_MAX_RANK) t->shape.dims[t->shape.rank] = (hia_dim)dim;
    if (t->shape.rank <= HIA_MAX_RANK) t->shape.rank++;
    status = read_comma(r, ']', &is_end);
  }
  return status;
}

static hia_status read_offsets(reader *r, hia_file_tensor *t) {
  uint64_t begin, end;
  hia_status status = expect(r, '[');
  size_t at = r->at;
  if (status == HIA_OK) status = read_number(r, &begin);
  if (status == HIA_OK) status = expect(r, ',');
  if (status == HIA_OK) status = read_number(r, &end);
  if (status == HIA_OK) status = expect(r, ']');
  if (status) return status;
  if (begin > end) return damaged_at(r, HEAD + at, "a range ends before it begins");
  if (end > r->n_data)
    return hiaR_file_wrong(r->error, HEAD + at,
                           "the safetensors file is damaged: a range ends at %llu, of %llu bytes",
                           (unsigned long long)end, (unsigned long long)r->n_data);
  t->at = HEAD + r->end + begin;
  t->size = end - begin;
  t->data = r->data + begin;
  return HIA_OK;
}

static hia_status read_tensor(reader *r, const char *name, size_t name_len) {
  static const struct {
    const char *name;
    hia_status (*read)(reader *r, hia_file_tensor *t);
  } keys[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};
  uint32_t n = r->file->n;
  if (n == UINT32_MAX ||
      !hiaR_block_grow(&r->tensors, &r->file->allocator, ((size_t)n + 1) * sizeof(hia_file_tensor)))
    return HIA_MEMORY;
  hia_file_tensor *t = (hia_file_tensor *)r->tensors.data + n;
  *t = (hia_file_tensor){.name = name, .name_len = name_len};
  unsigned found = 0;
  hia_status status = expect(r, '{');
  bool is_end = status == HIA_OK && accept(r, '}');
  while (status == HIA_OK && !is_end) {
    const char *s;
    size_t len, i = 0;
    status = read_string(r, &s, &len);
    if (status) return status;
    while (i < HIA_LEN(keys) && (strlen(keys[i].name) != len || memcmp(keys[i].name, s, len) != 0))
      i++;
    if (i == HIA_LEN(keys))
      return damaged_at(r, offset_of(r, s) - 1, "a tensor has an unknown key");
    if (found & 1u << i) return damaged_at(r, offset_of(r, s) - 1, "a tensor has a key twice");
    found |= 1u << i;
    status = expect(r, ':');
    if (status == HIA_OK) status = keys[i].read(r, t);
    if (status == HIA_OK) status = read_comma(r, '}', &is_end);
  }
  if (status) return status;
  if (found != (1u << HIA_LEN(keys)) - 1)
    return damaged_at(r, offset_of(r, name) - 1, "a tensor lacks its dtype, shape or data_offsets");
  r->file->n++;
  /* A tensor that is never read has a range and nothing else. */
  if (t->dtype == HIA_FILE_OTHER || t->shape.rank > HIA_MAX_RANK) return HIA_OK;
  uint32_t size = hiaR_file_dtype_size(t->dtype);
  uint64_t n_elements;
  if (!hiaR_shape_elements(&t->shape, size, &n_elements))
    return damaged_at(r, offset_of(r, name) - 1, "a tensor has more elements than fit in memory");
  char shown[60];
  hiaR_file_show(name, name_len, shown, sizeof shown);
  if (n_elements * size != t->size)
    return hiaR_file_wrong(
        r->error, offset_of(r, name) - 1,
        "the safetensors file is damaged: the tensor '%s' needs %llu bytes, its range has %llu",
        shown, (unsigned long long)(n_elements * size), (unsigned long long)t->size);
  return HIA_OK;
}

static hia_status read_metadata(reader *r) {
  hia_status status = expect(r, '{');
  bool is_end = status == HIA_OK && accept(r, '}');
  while (status == HIA_OK && !is_end) {
    uint32_t n = r->file->n_metadata;
    if (n == UINT32_MAX ||
        !hiaR_block_grow(&r->metadata, &r->file->allocator, ((size_t)n + 1) * sizeof(hia_metadata)))
      return HIA_MEMORY;
    hia_metadata *m = (hia_metadata *)r->metadata.data + n;
    status = read_string(r, &m->key, &m->key_len);
    if (status == HIA_OK) status = expect(r, ':');
    if (status == HIA_OK) status = read_string(r, &m->value, &m->value_len);
    if (status) return status;
    r->file->n_metadata++;
    status = read_comma(r, '}', &is_end);
  }
  return status;
}

static hia_status read_header(reader *r) {
  bool has_metadata = false;
  if (next(r) != '{') return damaged(r, "its header does not begin with a '{'");
  r->at++;
  hia_status status = HIA_OK;
  bool is_end = accept(r, '}');
  while (status == HIA_OK && !is_end) {
    const char *name;
    size_t len;
    status = read_string(r, &name, &len);
    if (status == HIA_OK) status = expect(r, ':');
    if (status) return status;
    if (len == HIA_METADATA_LEN && memcmp(name, HIA_METADATA_NAME, len) == 0) {
      if (has_metadata) return damaged_at(r, offset_of(r, name) - 1, "it has metadata twice");
      has_metadata = true;
      status = read_metadata(r);
    } else {
      status = read_tensor(r, name, len);
    }
    if (status == HIA_OK) status = read_comma(r, '}', &is_end);
  }
  if (status) return status;
  skip_space(r);
  return r->at == r->end ? HIA_OK : damaged(r, "its header goes on after its object");
}

/* ---- what holds for all of them ---- */

static int by_range(const void *a, const void *b) {
  const hia_file_tensor *x = a, *y = b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return (x->size > y->size) - (x->size < y->size);
}
static int by_name(const void *a, const void *b) {
  const hia_file_tensor *x = a, *y = b;
  return hiaR_compare_bytes(x->name, x->name_len, y->name, y->name_len);
}
static int by_key(const void *a, const void *b) {
  const hia_metadata *x = a, *y = b;
  return hiaR_compare_bytes(x->key, x->key_len, y->key, y->key_len);
}

static hia_status check_ranges(reader *r) {
  hia_file_tensor *list = r->tensors.data;
  uint32_t n = r->file->n;
  uint64_t at = HEAD + r->end;
  if (n) qsort(list, n, sizeof *list, by_range);
  for (uint32_t i = 0; i < n; i++) {
    if (list[i].at < at)
      return damaged_at(r, offset_of(r, list[i].name) - 1,
                        "the range of a tensor overlaps another");
    if (list[i].at > at)
      return damaged_at(r, offset_of(r, list[i].name) - 1,
                        "there is a hole before a tensor's range");
    at += list[i].size;
  }
  return at == HEAD + r->end + r->n_data
             ? HIA_OK
             : damaged_at(r, at, "there are bytes that belong to no tensor");
}

static hia_status check_names(reader *r) {
  hia_file_tensor *list = r->tensors.data;
  hia_metadata *metadata = r->metadata.data;
  const char *twice = NULL;
  if (r->file->n) qsort(list, r->file->n, sizeof *list, by_name);
  if (r->file->n_metadata) qsort(metadata, r->file->n_metadata, sizeof *metadata, by_key);
  for (uint32_t i = 1; i < r->file->n && !twice; i++)
    if (by_name(&list[i - 1], &list[i]) == 0)
      twice = list[i - 1].name > list[i].name ? list[i - 1].name : list[i].name;
  for (uint32_t i = 1; i < r->file->n_metadata && !twice; i++)
    if (by_key(&metadata[i - 1], &metadata[i]) == 0)
      twice = metadata[i - 1].key > metadata[i].key ? metadata[i - 1].key : metadata[i].key;
  return twice ? damaged_at(r, offset_of(r, twice) - 1, "a name is there twice") : HIA_OK;
}

static hia_status read_file(reader *r, size_t n) {
  const char *header = r->text + HEAD;
  uint64_t length = 0;
  if (n < HEAD)
    return hiaR_file_wrong(r->error, n, "this is no safetensors file: it has only %llu bytes",
                           (unsigned long long)n);
  for (int i = HEAD; i-- > 0;) length = length << 8 | (unsigned char)r->text[i];
  if (length > n - HEAD)
    return hiaR_file_wrong(r->error, 0,
                           "this is no safetensors file, or it is damaged: its header would have "
                           "%llu bytes, of %llu",
                           (unsigned long long)length, (unsigned long long)(n - HEAD));
  if (length > HIA_SAFETENSORS_MAX_HEADER)
    return hiaR_file_wrong(r->error, 0, "the header has more than %u bytes",
                           HIA_SAFETENSORS_MAX_HEADER);
  r->text = header;
  r->end = (size_t)length;
  r->data = header + r->end;
  r->n_data = n - HEAD - r->end;
  size_t invalid = hiaR_find_invalid_utf8(header, r->end);
  if (invalid < r->end) return damaged_at(r, HEAD + invalid, "its header is no UTF-8");
  const hia_allocator *a = &r->file->allocator;
  r->file->sizes[0] = r->end + 1;
  r->file->blocks[0] = r->copy = a->alloc(a->user, r->end + 1);
  if (!r->copy) return HIA_MEMORY;
  hia_status status = read_header(r);
  if (status == HIA_OK) status = check_ranges(r);
  return status == HIA_OK ? check_names(r) : status;
}

hia_status hiaR_safetensors_read(hia_safetensors *file, const hia_allocator *allocator,
                                 const void *bytes, size_t n, hia_value_error *error) {
  *file = (hia_safetensors){.allocator = *allocator};
  *error = (hia_value_error){.code = NULL};
  reader r = {.text = bytes, .file = file, .error = error};
  hia_status status = read_file(&r, n);
  file->tensors = file->blocks[1] = r.tensors.data;
  file->metadata = file->blocks[2] = r.metadata.data;
  file->sizes[1] = r.tensors.size;
  file->sizes[2] = r.metadata.size;
  if (status) hiaR_safetensors_free(file);
  return status;
}

void hiaR_safetensors_free(hia_safetensors *file) {
  for (size_t i = 0; i < HIA_LEN(file->blocks); i++)
    hiaR_free(&file->allocator, file->blocks[i], file->sizes[i]);
  *file = (hia_safetensors){.allocator = file->allocator};
}

const hia_file_tensor *hiaR_safetensors_find(const hia_safetensors *file, const char *name,
                                             size_t len) {
  const hia_file_tensor key = {.name = name, .name_len = len};
  return file->n ? bsearch(&key, file->tensors, file->n, sizeof key, by_name) : NULL;
}
