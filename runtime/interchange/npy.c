/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy, as numpy.lib.format describes it:
 *
 *   \x93NUMPY, major and minor version, a byte each
 *   the length of what follows up to the elements: 2 bytes in version 1.0, 4 in 2.0 and 3.0, the
 *     lowest first
 *   a dictionary as Python writes it, and white space:
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *   the elements
 *
 * The dictionary must have these keys, each once and in any order, and values of no other kind.
 * Strings have no escapes, since none of these needs any. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/interchange.h"
#include <stdio.h>

#define MAGIC "\x93NUMPY"
enum { MAGIC_LEN = 6, SHORT_HEAD = 10, LONG_HEAD = 12 };

typedef struct reader {
  const unsigned char *bytes;
  size_t at, end; /* of the dictionary */
  hia_file_tensor *tensor;
  hia_value_error *error;
  uint64_t shape_at; /* where the shape begins */
} reader;

static hia_status damaged(const reader *r, uint64_t at, const char *what) {
  return hiaR_file_wrong(r->error, at, "the .npy file is damaged: %s", what);
}

/* ---- the dictionary ---- */

static void skip_space(reader *r) {
  while (r->at < r->end &&
         (r->bytes[r->at] == ' ' || (r->bytes[r->at] >= '\t' && r->bytes[r->at] <= '\r')))
    r->at++;
}

/* True if this is what comes next, after white space; then it is skipped. */
static bool accept(reader *r, const char *text) {
  skip_space(r);
  size_t n = strlen(text);
  if (r->end - r->at < n || memcmp(r->bytes + r->at, text, n) != 0) return false;
  r->at += n;
  return true;
}

static hia_status expect(reader *r, const char *text) {
  if (accept(r, text)) return HIA_OK;
  char what[40];
  snprintf(what, sizeof what, "its header lacks a '%s'", text);
  return damaged(r, r->at, what);
}

/* Reads a string: *s, n bytes. */
static hia_status read_string(reader *r, const char **s, size_t *n) {
  skip_space(r);
  unsigned char quote = r->at < r->end ? r->bytes[r->at] : 0;
  if (quote != '\'' && quote != '"') return damaged(r, r->at, "its header lacks a string");
  size_t begin = ++r->at;
  while (r->at < r->end && r->bytes[r->at] != quote) {
    if (r->bytes[r->at] == '\\' || r->bytes[r->at] < ' ')
      return damaged(r, r->at, "a string of its header has an escape or a control character");
    r->at++;
  }
  if (r->at == r->end) return damaged(r, begin - 1, "a string of its header does not end");
  *s = (const char *)r->bytes + begin;
  *n = r->at++ - begin;
  return HIA_OK;
}

static hia_status read_descr(reader *r) {
  static const struct {
    char name[2];
    uint8_t dtype;
  } dtypes[] = {{{'b', '1'}, HIA_BOOL},     {{'i', '4'}, HIA_I32},      {{'i', '8'}, HIA_I64},
                {{'f', '4'}, HIA_F32},      {{'f', '8'}, HIA_F64},      {{'i', '1'}, HIA_FILE_I8},
                {{'i', '2'}, HIA_FILE_I16}, {{'u', '1'}, HIA_FILE_U8},  {{'u', '2'}, HIA_FILE_U16},
                {{'u', '4'}, HIA_FILE_U32}, {{'u', '8'}, HIA_FILE_U64}, {{'f', '2'}, HIA_FILE_F16}};
  const char *s;
  size_t n;
  skip_space(r);
  size_t at = r->at;
  if (at < r->end && (r->bytes[at] == '[' || r->bytes[at] == '('))
    return hiaR_file_wrong(r->error, at, "the file has a structured dtype, which hiaton lacks");
  hia_status status = read_string(r, &s, &n);
  if (status) return status;
  if (n >= 2 && s[1] == 'O')
    return hiaR_file_wrong(r->error, at,
                           "the dtype is '%c%c', objects of Python, which are never read",
                           s[0] < ' ' || s[0] > '~' ? '?' : s[0], s[1]);
  bool is_little = n == 3 && s[0] == '<', is_big = n == 3 && s[0] == '>';
  for (size_t i = 0; i < HIA_LEN(dtypes); i++) {
    if (n != 3 || memcmp(s + 1, dtypes[i].name, 2) != 0) continue;
    /* The order of a byte is no order; some programs write one all the same. */
    bool is_byte = hiaR_file_dtype_size(dtypes[i].dtype) == 1;
    if (!is_little && !is_big && !(s[0] == '|' && is_byte)) break;
    r->tensor->dtype = dtypes[i].dtype;
    r->tensor->is_big_endian = is_big;
    return HIA_OK;
  }
  char shown[24];
  hiaR_file_show(s, n, shown, sizeof shown);
  return hiaR_file_wrong(r->error, at,
                         "the dtype '%s' is none of bool |b1, i32 <i4, i64 <i8, f32 <f4, f64 <f8 "
                         "(or with > for <), nor of |i1 <i2 |u1 <u2 <u4 <u8 <f2, which can be "
                         "converted",
                         shown);
}

static hia_status read_order(reader *r) {
  if (accept(r, "True"))
    r->tensor->is_fortran = true;
  else if (accept(r, "False"))
    r->tensor->is_fortran = false;
  else
    return damaged(r, r->at, "fortran_order is neither True nor False");
  return HIA_OK;
}

static hia_status read_dim(reader *r, hia_dim *dim) {
  skip_space(r);
  size_t begin = r->at;
  uint64_t x = 0;
  if (r->at < r->end && r->bytes[r->at] == '-') return damaged(r, begin, "a size is below 0");
  for (; r->at < r->end && r->bytes[r->at] >= '0' && r->bytes[r->at] <= '9'; r->at++) {
    unsigned digit = r->bytes[r->at] - '0';
    if (x > ((uint64_t)INT64_MAX - digit) / 10) return damaged(r, begin, "a size is too large");
    x = x * 10 + digit;
  }
  if (r->at == begin) return damaged(r, begin, "the shape has something that is no size");
  if (r->at < r->end && r->bytes[r->at] == 'L') r->at++; /* of Python 2 */
  *dim = (hia_dim)x;
  return HIA_OK;
}

/* A tuple: (), (3,), (3, 4), (3, 4,) */
static hia_status read_shape(reader *r) {
  hia_dims *shape = &r->tensor->shape;
  skip_space(r);
  r->shape_at = r->at;
  hia_status status = expect(r, "(");
  while (status == HIA_OK && !accept(r, ")")) {
    if (shape->rank == HIA_MAX_RANK)
      return hiaR_file_wrong(r->error, r->at, "the shape has more than %d axes", HIA_MAX_RANK);
    status = read_dim(r, &shape->dims[shape->rank]);
    if (status) return status;
    shape->rank++;
    if (accept(r, ",")) continue;
    if (shape->rank == 1) return damaged(r, r->at, "the shape is no tuple");
    return expect(r, ")");
  }
  return status;
}

static hia_status read_dictionary(reader *r) {
  static const struct {
    const char *name;
    hia_status (*read)(reader *r);
  } keys[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
  unsigned found = 0;
  hia_status status = expect(r, "{");
  while (status == HIA_OK && !accept(r, "}")) {
    const char *s;
    size_t n, i = 0;
    skip_space(r);
    size_t at = r->at;
    status = read_string(r, &s, &n);
    if (status) return status;
    while (i < HIA_LEN(keys) && (strlen(keys[i].name) != n || memcmp(keys[i].name, s, n) != 0)) i++;
    if (i == HIA_LEN(keys)) return damaged(r, at, "its header has a key that is unknown");
    if (found & 1u << i) return damaged(r, at, "its header has a key twice");
    found |= 1u << i;
    status = expect(r, ":");
    if (status == HIA_OK) status = keys[i].read(r);
    if (status == HIA_OK && !accept(r, ",")) {
      status = expect(r, "}");
      break;
    }
  }
  if (status) return status;
  for (size_t i = 0; i < HIA_LEN(keys); i++) {
    if (found & 1u << i) continue;
    char what[48];
    snprintf(what, sizeof what, "its header lacks '%s'", keys[i].name);
    return damaged(r, r->at, what);
  }
  skip_space(r);
  return r->at == r->end ? HIA_OK : damaged(r, r->at, "its header goes on after the dictionary");
}

/* ---- files ---- */

uint64_t hiaR_npy_header_size(const void *bytes, size_t n) {
  const unsigned char *s = bytes;
  if (n < SHORT_HEAD || memcmp(s, MAGIC, MAGIC_LEN) != 0) return 0;
  bool is_short = s[6] == 1;
  if (s[6] < 1 || s[6] > 3 || s[7] || (!is_short && n < LONG_HEAD)) return 0;
  uint64_t len = s[8] | (uint64_t)s[9] << 8;
  return is_short ? len + SHORT_HEAD
                  : (len | (uint64_t)s[10] << 16 | (uint64_t)s[11] << 24) + LONG_HEAD;
}

static hia_status check_head(const reader *r, size_t n) {
  if (n < MAGIC_LEN || memcmp(r->bytes, MAGIC, MAGIC_LEN) != 0)
    return hiaR_file_wrong(r->error, 0, "this is no .npy file");
  if (n < MAGIC_LEN + 2) return damaged(r, n, "it ends early");
  if (r->bytes[6] < 1 || r->bytes[6] > 3 || r->bytes[7])
    return hiaR_file_wrong(r->error, 6, "version %u.%u of .npy is unknown", r->bytes[6],
                           r->bytes[7]);
  return n < SHORT_HEAD || (r->bytes[6] > 1 && n < LONG_HEAD) ? damaged(r, n, "it ends early")
                                                              : HIA_OK;
}

hia_status hiaR_npy_read_header(const void *bytes, size_t n, uint64_t size, hia_file_tensor *tensor,
                                hia_value_error *error) {
  reader r = {.bytes = bytes, .tensor = tensor, .error = error};
  *tensor = (hia_file_tensor){.name = ""};
  *error = (hia_value_error){.code = NULL};
  hia_status status = check_head(&r, n);
  if (status) return status;
  uint64_t header = hiaR_npy_header_size(bytes, n);
  if (header > n) return damaged(&r, 8, "its header is longer than the file");
  r.at = r.bytes[6] == 1 ? SHORT_HEAD : LONG_HEAD;
  r.end = (size_t)header;
  status = read_dictionary(&r);
  if (status) return status;
  uint32_t element = hiaR_file_dtype_size(tensor->dtype);
  uint64_t n_elements;
  if (!hiaR_shape_elements(&tensor->shape, element, &n_elements))
    return damaged(&r, r.shape_at, "the shape has more elements than fit in memory");
  tensor->at = header;
  tensor->size = n_elements * element;
  if (size < header || tensor->size != size - header)
    return hiaR_file_wrong(error, r.shape_at,
                           "the .npy file is damaged: its shape needs %llu bytes of elements, it "
                           "has %llu",
                           (unsigned long long)tensor->size,
                           (unsigned long long)(size < header ? 0 : size - header));
  return HIA_OK;
}

hia_status hiaR_npy_read(const void *bytes, size_t n, hia_file_tensor *tensor,
                         hia_value_error *error) {
  hia_status status = hiaR_npy_read_header(bytes, n, n, tensor, error);
  if (status == HIA_OK) tensor->data = (const char *)bytes + tensor->at;
  return status;
}

/* ---- writing ---- */

size_t hiaR_npy_header(const hia_file_tensor *tensor, char *buf) {
  static const char *const names[HIA_N_DTYPES] = {"b1", "i4", "i8", "f4", "f8"};
  enum { ALIGN = 64 };
  char order = tensor->dtype == HIA_BOOL ? '|' : tensor->is_big_endian ? '>' : '<';
  const hia_dims *shape = &tensor->shape;
  size_t size = HIA_NPY_HEADER, len = SHORT_HEAD;
  len +=
      (size_t)snprintf(buf + len, size - len, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
                       order, names[tensor->dtype], tensor->is_fortran ? "True" : "False");
  for (uint32_t i = 0; i < shape->rank; i++)
    len += (size_t)snprintf(buf + len, size - len, "%lld%s", (long long)shape->dims[i],
                            shape->rank == 1      ? ","
                            : i + 1 < shape->rank ? ", "
                                                  : "");
  len += (size_t)snprintf(buf + len, size - len, "), }");
  size_t whole = (len + 1 + ALIGN - 1) / ALIGN * ALIGN, rest = whole - SHORT_HEAD;
  memset(buf + len, ' ', whole - len);
  buf[whole - 1] = '\n';
  memcpy(buf, MAGIC "\x01", MAGIC_LEN + 2);
  buf[8] = (char)(rest & 255);
  buf[9] = (char)(rest >> 8);
  return whole;
}

hia_status hiaR_npy_write(const hia_file_tensor *tensor, const hia_sink *sink) {
  char header[HIA_NPY_HEADER];
  size_t n = hiaR_npy_header(tensor, header);
  bool is_fine = sink->take(sink->user, header, n) &&
                 (!tensor->size || sink->take(sink->user, tensor->data, (size_t)tensor->size));
  return is_fine ? HIA_OK : HIA_IO;
}
