/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz: a zip archive that has a .npy for each array. Of a zip archive:
 *
 *   members: for each a local header, its name, extra fields, and its bytes, as they are (stored)
 *     or deflated; perhaps sizes and CRC behind them
 *   the central directory: for each member a header with sizes, CRC, name, and where the local
 *     header is
 *   with numbers that need more than 32 bits (zip64) another end record, and where that is
 *   the end record: where the directory is, and how many members it has; a comment
 *
 * The directory decides. What a local header says as well must be the same; members must lie one
 * behind the other in front of the directory, and that in front of the end records, as archives are
 * written: else readers could disagree on what an archive contains. */
#include "runtime/interchange/npz.h"
#include "runtime/base/left.h"
#include "runtime/interchange/inflate.h"
#include <stdio.h>
#include <stdlib.h>

enum { LOCAL = 30, CENTRAL = 46, END = 22, LOCATOR = 20, END64 = 56, MAX_COMMENT = 65535 };
enum { STORED = 0, DEFLATED = 8 };
/* Flags: the level of compression does not matter to a reader. */
enum { ENCRYPTED = 0x2041, LEVEL = 0x6, SIZES_BEHIND = 0x8, UTF8 = 0x800 };
#define MAX32 0xffffffffu
/* A byte of deflate stands for at most so many. */
enum { MOST_INFLATED = 1032 };
/* A header with every size at its longest has less than 1000 bytes. */
enum { MAX_HEADER = 65536 + 10 };

typedef struct member {
  const char *name;
  uint64_t entry;        /* where its header in the directory is */
  uint64_t local;        /* where its local header is */
  uint64_t at, end;      /* its bytes, from their begin up to their end */
  uint64_t packed, size; /* as in hia_npz_array */
  uint32_t crc;
  uint16_t name_len, flags, method;
} member;

typedef struct reader {
  const unsigned char *bytes;
  uint64_t n;
  uint64_t directory, directory_end; /* the central directory */
  uint64_t n_members;
  member *members;
  hia_npz_file *file;
  hia_value_error *error;
} reader;

static uint16_t get16(const unsigned char *at) { return (uint16_t)(at[0] | at[1] << 8); }
static uint32_t get32(const unsigned char *at) { return get16(at) | (uint32_t)get16(at + 2) << 16; }
static uint64_t get64(const unsigned char *at) { return get32(at) | (uint64_t)get32(at + 4) << 32; }

static hia_status damaged(const reader *r, uint64_t at, const char *what) {
  return hiaR_file_wrong(r->error, at, "the .npz file is damaged: %s", what);
}

static bool ends_in_npy(const char *name, size_t n) {
  return n >= 4 && memcmp(name + n - 4, ".npy", 4) == 0;
}

/* ---- the end records ---- */

static hia_status read_end64(reader *r, uint64_t locator, const unsigned char *end) {
  const unsigned char *l = r->bytes + locator;
  uint64_t at = get64(l + 8);
  if (get32(l + 4) || get32(l + 16) != 1)
    return damaged(r, locator, "it is a part of an archive in several files");
  if (at > locator || locator - at < END64 || get32(r->bytes + at) != 0x06064b50)
    return damaged(r, locator + 8, "its second end record is not where it says");
  const unsigned char *e = r->bytes + at;
  if (get64(e + 4) != locator - at - 12)
    return damaged(r, at + 4, "its second end record has another length than it says");
  if (get32(e + 16) || get32(e + 20) || get64(e + 24) != get64(e + 32))
    return damaged(r, at + 16, "it is a part of an archive in several files");
  r->n_members = get64(e + 32);
  uint64_t size = get64(e + 40);
  r->directory = get64(e + 48);
  bool is_same = (get16(end + 10) == 0xffff || get16(end + 10) == r->n_members) &&
                 (get32(end + 12) == MAX32 || get32(end + 12) == size) &&
                 (get32(end + 16) == MAX32 || get32(end + 16) == r->directory);
  if (!is_same) return damaged(r, at, "its end records differ");
  r->directory_end = at;
  if (r->directory > at || size != at - r->directory)
    return damaged(r, at + 40, "its directory is not where it says");
  return HIA_OK;
}

static hia_status read_end(reader *r) {
  if (r->n < 4 || (get32(r->bytes) != 0x04034b50 && get32(r->bytes) != 0x06054b50))
    return hiaR_file_wrong(r->error, 0, "this is no .npz file");
  uint64_t at = r->n < END ? 0 : r->n - END, tried = 0;
  if (r->n < END) return damaged(r, r->n, "it ends early");
  while (get32(r->bytes + at) != 0x06054b50 || get16(r->bytes + at + 20) != r->n - at - END) {
    if (!at || tried++ == MAX_COMMENT) return damaged(r, r->n, "it has no end record");
    at--;
  }
  const unsigned char *e = r->bytes + at;
  if (at >= LOCATOR && get32(e - LOCATOR) == 0x07064b50) return read_end64(r, at - LOCATOR, e);
  if (get16(e + 4) || get16(e + 6) || get16(e + 8) != get16(e + 10))
    return damaged(r, at + 4, "it is a part of an archive in several files");
  r->n_members = get16(e + 10);
  r->directory = get32(e + 16);
  r->directory_end = at;
  if (r->directory > at || get32(e + 12) != at - r->directory)
    return damaged(r, at + 12, "its directory is not where it says");
  return HIA_OK;
}

/* ---- headers of members ---- */

/* Reads the numbers of more than 32 bits from the extra fields: for each number that is MAX32, in
 * this order. */
static hia_status read_extra(const reader *r, uint64_t at, size_t n, uint64_t *const *numbers,
                             size_t n_numbers) {
  size_t missing = 0;
  for (size_t i = 0; i < n_numbers; i++) missing += *numbers[i] == MAX32;
  while (n) {
    if (n < 4 || get16(r->bytes + at + 2) > n - 4)
      return damaged(r, at, "an extra field of a member is longer than all of them");
    size_t len = get16(r->bytes + at + 2);
    if (get16(r->bytes + at) == 1 && missing) {
      if (len < missing * 8) return damaged(r, at, "a size of a member is missing");
      const unsigned char *from = r->bytes + at + 4;
      for (size_t i = 0; i < n_numbers; i++)
        if (*numbers[i] == MAX32) *numbers[i] = get64(from), from += 8;
      missing = 0;
    }
    at += len + 4;
    n -= len + 4;
  }
  return HIA_OK;
}

static hia_status read_entry(reader *r, member *m, uint64_t *at) {
  const unsigned char *e = r->bytes + *at;
  uint64_t left = r->directory_end - *at;
  if (left < CENTRAL || get32(e) != 0x02014b50)
    return damaged(r, *at, "its directory has fewer members than it says");
  m->entry = *at;
  m->flags = get16(e + 8);
  m->method = get16(e + 10);
  m->crc = get32(e + 16);
  m->packed = get32(e + 20);
  m->size = get32(e + 24);
  m->name_len = get16(e + 28);
  m->local = get32(e + 42);
  size_t extra = get16(e + 30), comment = get16(e + 32);
  if (m->name_len + extra + comment > left - CENTRAL)
    return damaged(r, *at + 28, "the header of a member is longer than the directory");
  if (get16(e + 34)) return damaged(r, *at + 34, "it is a part of an archive in several files");
  m->name = (const char *)e + CENTRAL;
  uint64_t *const numbers[] = {&m->size, &m->packed, &m->local};
  hia_status status = read_extra(r, *at + CENTRAL + m->name_len, extra, numbers, HIA_LEN(numbers));
  *at += CENTRAL + m->name_len + extra + comment;
  return status;
}

static hia_status check_name(const reader *r, const member *m) {
  uint64_t at = m->entry + CENTRAL;
  if (memchr(m->name, 0, m->name_len)) return damaged(r, at, "a name has a NUL");
  size_t invalid = hiaR_find_invalid_utf8(m->name, m->name_len);
  if (invalid < m->name_len) return damaged(r, at + invalid, "a name is no UTF-8");
  for (size_t i = 0; i < m->name_len && !(m->flags & UTF8); i++)
    if (m->name[i] & 0x80)
      return damaged(r, at + i, "a name is neither ASCII nor marked to be UTF-8");
  return HIA_OK;
}

/* Only members that are arrays must be readable. */
static hia_status check_form(const reader *r, const member *m) {
  char name[60];
  hiaR_file_show(m->name, m->name_len, name, sizeof name);
  if (m->flags & ENCRYPTED)
    return hiaR_file_wrong(r->error, m->entry + 8, "'%s' is encrypted", name);
  if (m->flags & ~(LEVEL | SIZES_BEHIND | UTF8))
    return hiaR_file_wrong(r->error, m->entry + 8, "'%s' has flags that are unknown: 0x%04x", name,
                           m->flags);
  if (m->method != STORED && m->method != DEFLATED)
    return hiaR_file_wrong(r->error, m->entry + 10,
                           "'%s' is compressed by method %u; stored (0) and deflate (8) are read",
                           name, m->method);
  if (m->method == STORED && m->packed != m->size)
    return damaged(r, m->entry + 20, "a member that is stored has two sizes");
  if (m->method == DEFLATED && m->size / MOST_INFLATED > m->packed)
    return hiaR_file_wrong(r->error, m->entry + 24,
                           "the .npz file is damaged: '%s' would have %llu bytes, inflated from "
                           "%llu, which is more than deflate can",
                           name, (unsigned long long)m->size, (unsigned long long)m->packed);
  return HIA_OK;
}

static hia_status read_local(const reader *r, member *m) {
  if (m->local > r->directory || r->directory - m->local < LOCAL ||
      get32(r->bytes + m->local) != 0x04034b50)
    return damaged(r, m->entry + 42, "a member is not where it says");
  const unsigned char *l = r->bytes + m->local;
  uint64_t left = r->directory - m->local - LOCAL, packed = get32(l + 18), size = get32(l + 22);
  size_t name_len = get16(l + 26), extra = get16(l + 28);
  if (name_len + extra > left || m->packed > left - name_len - extra)
    return damaged(r, m->local + 18, "a member reaches into the directory");
  if (name_len != m->name_len || memcmp(l + LOCAL, m->name, name_len) != 0)
    return damaged(r, m->local + 26, "a member has two names");
  if (((get16(l + 6) ^ m->flags) & ~LEVEL) || get16(l + 8) != m->method)
    return damaged(r, m->local + 6, "the headers of a member differ");
  uint64_t *const numbers[] = {&size, &packed};
  hia_status status = read_extra(r, m->local + LOCAL + name_len, extra, numbers, HIA_LEN(numbers));
  if (status != HIA_OK) return status;
  bool is_same = get32(l + 14) == m->crc && packed == m->packed && size == m->size;
  if (!is_same && !(m->flags & SIZES_BEHIND))
    return damaged(r, m->local + 14, "the headers of a member differ");
  m->at = m->local + LOCAL + name_len + extra;
  m->end = m->at + m->packed;
  return HIA_OK;
}

/* ---- all of them ---- */

static int by_offset(const void *a, const void *b) {
  const member *x = a, *y = b;
  return x->local < y->local ? -1 : x->local > y->local;
}
static int by_name(const void *a, const void *b) {
  const member *x = a, *y = b;
  int order = hiaR_compare_bytes(x->name, x->name_len, y->name, y->name_len);
  return order ? order : x->entry < y->entry ? -1 : x->entry > y->entry;
}
static int by_entry(const void *a, const void *b) {
  const member *x = a, *y = b;
  return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static hia_status check_members(const reader *r) {
  member *list = r->members;
  size_t n = (size_t)r->n_members;
  if (n) qsort(list, n, sizeof *list, by_offset);
  for (size_t i = 1; i < n; i++)
    if (list[i].local < list[i - 1].end)
      return damaged(r, list[i].entry + 42, "a member overlaps another");
  if (n) qsort(list, n, sizeof *list, by_name);
  for (size_t i = 1; i < n; i++)
    if (list[i].name_len == list[i - 1].name_len &&
        memcmp(list[i].name, list[i - 1].name, list[i].name_len) == 0)
      return damaged(r, list[i].entry + CENTRAL, "a name is there twice");
  if (n) qsort(list, n, sizeof *list, by_entry);
  return HIA_OK;
}

static hia_status read_members(reader *r) {
  uint64_t at = r->directory;
  hia_status status = HIA_OK;
  for (uint64_t i = 0; i < r->n_members && status == HIA_OK; i++) {
    member *m = &r->members[i];
    status = read_entry(r, m, &at);
    if (status == HIA_OK) status = check_name(r, m);
    if (status == HIA_OK && ends_in_npy(m->name, m->name_len)) status = check_form(r, m);
    if (status == HIA_OK) status = read_local(r, m);
  }
  if (status == HIA_OK && at != r->directory_end)
    return damaged(r, at, "its directory has more members than it says");
  return status == HIA_OK ? check_members(r) : status;
}

static hia_status keep_arrays(const reader *r) {
  hia_npz_file *file = r->file;
  size_t n = 0, text = 0;
  for (uint64_t i = 0; i < r->n_members; i++) {
    const member *m = &r->members[i];
    if (!ends_in_npy(m->name, m->name_len)) continue;
    n++;
    text += m->name_len; /* without ".npy", with a NUL */
  }
  /* A member has 76 bytes at least. */
  file->size = n * sizeof(hia_npz_array) + text + 1;
  file->arrays = file->allocator.alloc(file->allocator.user, file->size);
  if (!file->arrays) return HIA_MEMORY;
  char *name = (char *)&file->arrays[n];
  for (uint64_t i = 0; i < r->n_members; i++) {
    const member *m = &r->members[i];
    if (!ends_in_npy(m->name, m->name_len)) continue;
    size_t len = m->name_len - (size_t)4;
    memcpy(name, m->name, len);
    name[len] = 0;
    file->arrays[file->n++] = (hia_npz_array){.name = name,
                                              .name_len = len,
                                              .at = m->at,
                                              .packed = m->packed,
                                              .size = m->size,
                                              .crc = m->crc,
                                              .is_deflated = m->method == DEFLATED};
    name += len + 1;
  }
  return HIA_OK;
}

hia_status hiaR_npz_read(hia_npz_file *file, const hia_allocator *allocator, const void *bytes,
                         size_t n, hia_value_error *error) {
  *file = (hia_npz_file){.allocator = *allocator, .bytes = bytes};
  *error = (hia_value_error){.code = NULL};
  reader r = {.bytes = bytes, .n = n, .file = file, .error = error};
  hia_status status = read_end(&r);
  if (status != HIA_OK) return status;
  if (r.n_members > (r.directory_end - r.directory) / CENTRAL)
    return damaged(&r, r.directory_end, "its directory has fewer members than it says");
  size_t size = (size_t)r.n_members * sizeof(member) + 1;
  r.members = hiaR_alloc(allocator, size);
  if (!r.members) return HIA_MEMORY;
  status = read_members(&r);
  if (status == HIA_OK) status = keep_arrays(&r);
  hiaR_free(allocator, r.members, size);
  return status;
}

void hiaR_npz_free(hia_npz_file *file) {
  if (file->arrays) hiaR_free(&file->allocator, file->arrays, file->size);
  *file = (hia_npz_file){.allocator = file->allocator};
}

size_t hiaR_npz_find(const hia_npz_file *file, const char *name, size_t len) {
  size_t i = 0;
  while (i < file->n &&
         (file->arrays[i].name_len != len || memcmp(file->arrays[i].name, name, len) != 0))
    i++;
  return i;
}

/* ---- an array ---- */

/* Puts the name of the array in front of what is wrong with its .npy. */
static void name_array(const hia_npz_array *array, hia_value_error *error) {
  char name[60], rest[sizeof error->message];
  hiaR_file_show(array->name, array->name_len, name, sizeof name);
  memcpy(rest, error->message, sizeof rest);
  int n = snprintf(error->message, sizeof error->message, "array '%s': ", name);
  snprintf(error->message + n, sizeof error->message - (size_t)n, "%.*s",
           (int)(sizeof error->message - 1) - n, rest);
}

hia_status hiaR_no_zlib(hia_value_error *error) {
  *error = (hia_value_error){.code = NULL};
  snprintf(error->message, sizeof error->message,
           ".npz needs zlib, and libz.so.1 cannot be opened");
  return HIA_UNSUPPORTED;
}

static hia_status wrong_stream(const hia_npz_array *array, hia_value_error *error) {
  return hiaR_file_wrong(error, array->at,
                         "the .npz file is damaged: what is deflated ends early "
                         "or has a mistake");
}

/* Reads the header of a deflated array, which is the first *n bytes, into `head`, a block of
 * MAX_HEADER bytes. */
static hia_status inflate_header(hia_inflater *r, const hia_npz_array *array, char *head, size_t *n,
                                 hia_value_error *error) {
  enum { FIRST = 12 };
  size_t got, first = array->size < FIRST ? (size_t)array->size : FIRST;
  hia_status status = hiaR_inflate(r, head, first, n);
  if (status == HIA_OK && *n < first) status = HIA_ARGUMENT;
  if (status != HIA_OK) return status == HIA_MEMORY ? status : wrong_stream(array, error);
  uint64_t whole = hiaR_npy_header_size(head, *n);
  if (whole > MAX_HEADER)
    return hiaR_file_wrong(error, 8, "its header has more than %d bytes", MAX_HEADER);
  if (whole <= *n || whole > array->size) return HIA_OK; /* hiaR_npy_read_header says what it is */
  status = hiaR_inflate(r, head + *n, (size_t)whole - *n, &got);
  *n += got;
  if (status == HIA_OK && *n < whole) status = HIA_ARGUMENT;
  return status == HIA_ARGUMENT ? wrong_stream(array, error) : status;
}

/* Begins to inflate, and reads the header; *crc is that of its bytes. HIA_OK: the caller ends the
 * inflater. */
static hia_status open_deflated(hia_inflater *r, const hia_npz_file *file,
                                const hia_npz_array *array, hia_file_tensor *tensor, uint32_t *crc,
                                hia_value_error *error) {
  char *head = file->allocator.alloc(file->allocator.user, MAX_HEADER);
  if (!head) return HIA_MEMORY;
  size_t n = 0;
  hia_status status =
      hiaR_inflate_begin(r, &file->allocator, file->bytes + array->at, (size_t)array->packed);
  if (status == HIA_OK) {
    status = inflate_header(r, array, head, &n, error);
    if (status == HIA_OK) {
      status = hiaR_npy_read_header(head, n, array->size, tensor, error);
      if (status == HIA_OK) *crc = hiaR_crc32(0, head, n);
    }
    if (status != HIA_OK) hiaR_inflate_end(r);
  }
  hiaR_free(&file->allocator, head, MAX_HEADER);
  return status;
}

hia_status hiaR_npz_look(const hia_npz_file *file, size_t i, hia_file_tensor *tensor,
                         hia_value_error *error) {
  const hia_npz_array *array = &file->arrays[i];
  *error = (hia_value_error){.code = NULL};
  if (!hiaR_zlib_open()) return hiaR_no_zlib(error);
  hia_status status;
  if (array->is_deflated) {
    hia_inflater inflater;
    uint32_t crc;
    status = open_deflated(&inflater, file, array, tensor, &crc, error);
    if (status == HIA_OK) hiaR_inflate_end(&inflater);
  } else {
    status = hiaR_npy_read(file->bytes + array->at, (size_t)array->size, tensor, error);
  }
  if (status == HIA_ARGUMENT) name_array(array, error);
  tensor->name = array->name;
  tensor->name_len = array->name_len;
  return status;
}

static hia_status wrong_crc(const hia_npz_array *array, hia_value_error *error) {
  return hiaR_file_wrong(error, array->at,
                         "the .npz file is damaged: the bytes have another CRC than it says");
}

/* Inflates the elements to `to`. */
static hia_status inflate_elements(const hia_npz_file *file, const hia_npz_array *array, void *to,
                                   hia_value_error *error) {
  hia_inflater inflater;
  hia_file_tensor tensor;
  uint32_t crc;
  size_t got, more;
  char past;
  hia_status status = open_deflated(&inflater, file, array, &tensor, &crc, error);
  if (status != HIA_OK) return status;
  status = hiaR_inflate(&inflater, to, (size_t)tensor.size, &got);
  /* Asked for one byte more, the stream reports its end. */
  if (status == HIA_OK) status = hiaR_inflate(&inflater, &past, 1, &more);
  if (status == HIA_OK && more)
    status = hiaR_file_wrong(error, array->at,
                             "the .npz file is damaged: it inflates to more than the %llu bytes "
                             "that it says",
                             (unsigned long long)array->size);
  else if (status == HIA_ARGUMENT || (status == HIA_OK && got < tensor.size))
    status = wrong_stream(array, error);
  else if (status == HIA_OK && !hiaR_inflate_is_complete(&inflater))
    status = hiaR_file_wrong(error, array->at,
                             "the .npz file is damaged: there are bytes behind what is deflated");
  else if (status == HIA_OK && hiaR_crc32(crc, to, (size_t)tensor.size) != array->crc)
    status = wrong_crc(array, error);
  hiaR_inflate_end(&inflater);
  return status;
}

hia_status hiaR_npz_copy(const hia_npz_file *file, size_t i, const hia_file_tensor *tensor,
                         hia_dtype dtype, void *to, hia_value_error *error) {
  const hia_npz_array *array = &file->arrays[i];
  const hia_allocator *a = &file->allocator;
  hia_file_tensor t = *tensor;
  *error = (hia_value_error){.code = NULL};
  hia_status status = HIA_OK;
  void *block = NULL;
  if (!array->is_deflated) {
    if (hiaR_crc32(0, file->bytes + array->at, (size_t)array->size) != array->crc)
      status = wrong_crc(array, error);
  } else {
    /* In place neither Fortran order can become row-major order, nor one dtype another. */
    if (((t.is_fortran && t.shape.rank > 1) || t.dtype != dtype) && t.size) {
      block = hiaR_take_large(a, (size_t)t.size);
      if (!block) return HIA_MEMORY;
    }
    t.data = block ? block : to;
    status = inflate_elements(file, array, block ? block : to, error);
  }
  if (status == HIA_OK) status = hiaR_file_tensor_convert(&t, dtype, to, error);
  if (status == HIA_ARGUMENT) name_array(array, error);
  if (block) hiaR_free(a, block, (size_t)t.size);
  return status;
}
