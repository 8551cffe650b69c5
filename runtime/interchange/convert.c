/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors of files: checks, and conversion to those of hiaton and back. */
#include "runtime/heap/tensor.h"
#include "runtime/interchange/interchange.h"
#include "runtime/value/output.h"
#include <math.h>
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

/* ---- dtypes ---- */

static const struct {
  const char *name;
  uint8_t size;
} dtypes[HIA_N_FILE_DTYPES] = {
    [HIA_BOOL] = {"bool", 1},     [HIA_I32] = {"i32", 4},      [HIA_I64] = {"i64", 8},
    [HIA_F32] = {"f32", 4},       [HIA_F64] = {"f64", 8},      [HIA_FILE_I8] = {"i8", 1},
    [HIA_FILE_I16] = {"i16", 2},  [HIA_FILE_U8] = {"u8", 1},   [HIA_FILE_U16] = {"u16", 2},
    [HIA_FILE_U32] = {"u32", 4},  [HIA_FILE_U64] = {"u64", 8}, [HIA_FILE_F16] = {"f16", 2},
    [HIA_FILE_BF16] = {"bf16", 2}};

uint32_t hiaR_file_dtype_size(uint32_t dtype) { return dtypes[dtype].size; }

uint64_t hiaR_file_tensor_bytes(const hia_file_tensor *t, hia_dtype dtype) {
  uint64_t n = t->size / dtypes[t->dtype].size, size = dtypes[dtype].size;
  return n > UINT64_MAX / size ? UINT64_MAX : n * size;
}

/* ---- checks ---- */

/* Does what hiaR_shape_describe does, for a tensor that may have another dtype. */
static void describe(const hia_file_tensor *t, char *buf, size_t size) {
  char text[100];
  hiaR_shape_describe(HIA_BOOL, &t->shape, text, sizeof text);
  snprintf(buf, size, "%s%s", dtypes[t->dtype].name, text + strlen("bool"));
}

/* "tensor 'W'", or "file's tensor" where it has no name. */
static void name_tensor(const hia_file_tensor *t, char *buf, size_t size) {
  char name[60];
  hiaR_file_show(t->name, t->name_len, name, sizeof name);
  snprintf(buf, size, "%s%s%s", name[0] ? "tensor '" : "file's tensor", name, name[0] ? "'" : "");
}

static hia_status HIA_PRINTF(3, 4)
    refuse(const hia_file_tensor *t, hia_value_error *error, const char *fmt, ...) {
  *error = (hia_value_error){.at = (size_t)t->at};
  va_list args;
  va_start(args, fmt);
  vsnprintf(error->message, sizeof error->message, fmt, args);
  va_end(args);
  return HIA_ARGUMENT;
}

/* Refuses what can never be read. */
static hia_status check_form(const hia_file_tensor *t, hia_value_error *error) {
  char name[80], dtype_name[40];
  name_tensor(t, name, sizeof name);
  if (t->shape.rank > HIA_MAX_RANK)
    return refuse(t, error, "the %s has more than %d axes", name, HIA_MAX_RANK);
  if (t->dtype < HIA_N_FILE_DTYPES) return HIA_OK;
  hiaR_file_show(t->other, strlen(t->other), dtype_name, sizeof dtype_name);
  return refuse(
      t, error,
      "the dtype of the %s is %s, which is none of BOOL I32 I64 F32 F64, nor one that can "
      "be converted",
      name, dtype_name);
}

static hia_status check(const hia_file_tensor *t, hia_dtype dtype, const hia_dims *shape,
                        bool converts, hia_value_error *error) {
  hia_status status = check_form(t, error);
  if (status != HIA_OK) return status;
  bool is_fine = t->shape.rank == shape->rank;
  for (uint32_t i = 0; i < shape->rank && is_fine; i++)
    is_fine = !hiaR_dim_is_number(shape->dims[i]) || shape->dims[i] == t->shape.dims[i];
  if (is_fine && (converts || t->dtype == dtype)) return HIA_OK;
  char found[100], wanted[100], name[80];
  describe(t, found, sizeof found);
  hiaR_shape_describe(dtype, shape, wanted, sizeof wanted);
  name_tensor(t, name, sizeof name);
  status = refuse(t, error, "expected %s, the %s is %s", wanted, name, found);
  if (is_fine)
    snprintf(error->hint, sizeof error->hint,
             "elements are converted where that is asked for: --convert, in C hia_..._convert_...");
  return status;
}

hia_status hiaR_file_tensor_check(const hia_file_tensor *tensor, hia_dtype dtype,
                                  const hia_dims *shape, hia_value_error *error) {
  return check(tensor, dtype, shape, false, error);
}

hia_status hiaR_file_tensor_check_shape(const hia_file_tensor *tensor, hia_dtype dtype,
                                        const hia_dims *shape, hia_value_error *error) {
  return check(tensor, dtype, shape, true, error);
}

hia_status hiaR_file_tensor_check_own(const hia_file_tensor *t, hia_value_error *error) {
  hia_status status = check_form(t, error);
  if (status != HIA_OK || t->dtype < HIA_N_DTYPES) return status;
  char name[80];
  name_tensor(t, name, sizeof name);
  return refuse(
      t, error,
      "the dtype of the %s is %s, which is none of bool, i32, i64, f32 and f64; it can be "
      "converted to one that is declared",
      name, dtypes[t->dtype].name);
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

/* Takes n elements that lie `stride` bytes apart. */
typedef hia_status take_run(void *user, const char *from, uint64_t n, uint64_t stride);

/* Reads a tensor whose first axis varies fastest: takes the last axis, for each index of
 * the others in row-major order. */
static hia_status each_run(const hia_file_tensor *t, uint32_t size, take_run *take, void *user) {
  uint32_t last = t->shape.rank - 1;
  uint64_t strides[HIA_MAX_RANK], index[HIA_MAX_RANK] = {0}, stride = size;
  for (uint32_t i = 0; i <= last; i++) {
    strides[i] = stride;
    stride *= (uint64_t)t->shape.dims[i];
  }
  uint64_t n = (uint64_t)t->shape.dims[last];
  const char *from = t->data;
  for (uint64_t left = t->size / size / n; left; left--) {
    hia_status status = take(user, from, n, strides[last]);
    if (status != HIA_OK) return status;
    for (uint32_t i = last; i-- > 0;) {
      from += strides[i];
      if (++index[i] < (uint64_t)t->shape.dims[i]) break;
      from -= strides[i] * index[i];
      index[i] = 0;
    }
  }
  return HIA_OK;
}

typedef struct copying {
  char *to;
  uint32_t size;
} copying;

static hia_status copy_run(void *user, const char *from, uint64_t n, uint64_t stride) {
  copying *c = user;
  copy_strided(c->to, from, n, stride, c->size);
  c->to += n * c->size;
  return HIA_OK;
}

hia_status hiaR_file_tensor_copy(const hia_file_tensor *t, void *to, hia_value_error *error) {
  uint32_t size = dtypes[t->dtype].size;
  if (!t->size) return HIA_OK;
  const unsigned char *bytes = t->data;
  for (uint64_t i = 0; t->dtype == HIA_BOOL && i < t->size; i++)
    if (bytes[i] > 1)
      return hiaR_file_wrong(error, t->at + i, "a bool is %u, neither 0 nor 1", bytes[i]);
  if (t->is_fortran && t->shape.rank > 1)
    each_run(t, size, copy_run, &(copying){to, size});
  else if (to != t->data)
    memcpy(to, t->data, (size_t)t->size);
  if (t->is_big_endian != is_big_endian_machine) swap(to, t->size / size, size);
  return HIA_OK;
}

/* ---- conversion ---- */

/* Elements are converted in blocks, by way of one of three forms that have all values of a dtype.
 */
enum { BLOCK = 256 };
typedef enum wide { SIGNED, UNSIGNED, FLOATING } wide;

typedef struct converting {
  const hia_file_tensor *t;
  hia_dtype dtype;
  char *to;
  uint64_t done; /* elements */
  hia_value_error *error;
} converting;

typedef union block {
  int64_t i[BLOCK];
  uint64_t u[BLOCK];
  double f[BLOCK];
} block;

static float of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* IEEE 754's binary16. */
static float of_half(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits >> 15) << 31, exponent = bits >> 10 & 31, rest = bits & 1023;
  if (exponent == 31) return of_bits(sign | 0x7f800000u | rest << 13);
  if (exponent) return of_bits(sign | (exponent + 127 - 15) << 23 | rest << 13);
  float x = (float)rest * 0x1p-24f;
  return sign ? -x : x;
}

static uint64_t bits_of(const converting *c, const char *at, uint32_t size) {
  const unsigned char *from = (const unsigned char *)at;
  bool is_big = c->t->is_big_endian;
  uint64_t bits = 0;
  for (uint32_t k = 0; k < size; k++) bits = bits << 8 | from[is_big ? k : size - 1 - k];
  return bits;
}

/* Reads n elements, at most BLOCK. */
static wide read_block(const converting *c, const char *from, uint64_t n, uint64_t stride,
                       block *b) {
  uint32_t size = dtypes[c->t->dtype].size;
  double f;
  for (uint64_t i = 0; i < n; i++, from += stride) {
    uint64_t bits = bits_of(c, from, size);
    switch (c->t->dtype) {
    case HIA_I32: b->i[i] = (int32_t)(uint32_t)bits; break;
    case HIA_I64: b->i[i] = (int64_t)bits; break;
    case HIA_FILE_I8: b->i[i] = (int8_t)(uint8_t)bits; break;
    case HIA_FILE_I16: b->i[i] = (int16_t)(uint16_t)bits; break;
    case HIA_FILE_U64: b->u[i] = bits; break;
    case HIA_F32: b->f[i] = (double)of_bits((uint32_t)bits); break;
    case HIA_F64:
      memcpy(&f, &bits, sizeof f);
      b->f[i] = f;
      break;
    case HIA_FILE_F16: b->f[i] = (double)of_half((uint16_t)bits); break;
    case HIA_FILE_BF16: b->f[i] = (double)of_bits((uint32_t)bits << 16); break;
    default: b->i[i] = (int64_t)bits; /* bool, u8, u16, u32 */
    }
  }
  switch (c->t->dtype) {
  case HIA_FILE_U64: return UNSIGNED;
  case HIA_F32:
  case HIA_F64:
  case HIA_FILE_F16:
  case HIA_FILE_BF16: return FLOATING;
  default: return SIGNED;
  }
}

/* An integer of which the dtype may have the value. False: it does not. */
static bool to_integer(wide how, const block *b, uint64_t i, int64_t low, int64_t high,
                       int64_t *x) {
  if (how == FLOATING) {
    double f = b->f[i];
    /* Both limits are exact; NAN fits none of them. */
    if (!(f >= -0x1p63 && f < 0x1p63) || f != (double)(int64_t)f) return false;
    *x = (int64_t)f;
  } else if (how == UNSIGNED) {
    if (b->u[i] > INT64_MAX) return false;
    *x = (int64_t)b->u[i];
  } else {
    *x = b->i[i];
  }
  return *x >= low && *x <= high;
}

static bool write_float(wide how, const block *b, uint64_t i, float *x) {
  *x = how == SIGNED ? (float)b->i[i] : how == UNSIGNED ? (float)b->u[i] : (float)b->f[i];
  return how != FLOATING || !isinf(*x) || isinf(b->f[i]);
}

static double to_double(wide how, const block *b, uint64_t i) {
  return how == SIGNED ? (double)b->i[i] : how == UNSIGNED ? (double)b->u[i] : b->f[i];
}

/* Writes element i of a block. False: the dtype cannot have its value. */
static bool write_element(const converting *c, wide how, const block *b, uint64_t i, char *to) {
  int64_t x = 0;
  int32_t narrow;
  float f;
  double d;
  switch (c->dtype) {
  case HIA_BOOL:
    if (!to_integer(how, b, i, 0, 1, &x)) return false;
    *to = (char)x;
    return true;
  case HIA_I32:
    if (!to_integer(how, b, i, INT32_MIN, INT32_MAX, &x)) return false;
    narrow = (int32_t)x;
    memcpy(to, &narrow, sizeof narrow);
    return true;
  case HIA_I64:
    if (!to_integer(how, b, i, INT64_MIN, INT64_MAX, &x)) return false;
    memcpy(to, &x, sizeof x);
    return true;
  case HIA_F32:
    if (!write_float(how, b, i, &f)) return false;
    memcpy(to, &f, sizeof f);
    return true;
  case HIA_F64:
    d = to_double(how, b, i);
    memcpy(to, &d, sizeof d);
    return true;
  }
  return false;
}

/* Says which element, from 0 on in row-major order, has a value that the dtype cannot have. */
static hia_status does_not_fit(const converting *c, wide how, const block *b, uint64_t i,
                               const char *at) {
  const hia_dims *shape = &c->t->shape;
  char name[80], value[32], element[80] = "";
  uint64_t rest = c->done + i, index[HIA_MAX_RANK];
  for (uint32_t k = shape->rank; k-- > 0; rest /= (uint64_t)shape->dims[k])
    index[k] = rest % (uint64_t)shape->dims[k];
  size_t len = 0;
  for (uint32_t k = 0; k < shape->rank && len < sizeof element; k++)
    len += (size_t)snprintf(element + len, sizeof element - len, "%s%llu%s", k ? ", " : " [",
                            (unsigned long long)index[k], k + 1 == shape->rank ? "]" : "");
  if (how == FLOATING)
    snprintf(value, sizeof value, "%.17g", b->f[i]);
  else if (how == UNSIGNED)
    snprintf(value, sizeof value, "%llu", (unsigned long long)b->u[i]);
  else
    snprintf(value, sizeof value, "%lld", (long long)b->i[i]);
  name_tensor(c->t, name, sizeof name);
  return hiaR_file_wrong(c->error, c->t->at + (uint64_t)(at - (const char *)c->t->data),
                         "element%s of the %s is %s, which no %s is", element, name, value,
                         dtypes[c->dtype].name);
}

static hia_status convert_run(void *user, const char *from, uint64_t n, uint64_t stride) {
  converting *c = user;
  uint32_t size = dtypes[c->dtype].size;
  block b;
  while (n) {
    uint64_t some = n < BLOCK ? n : BLOCK;
    wide how = read_block(c, from, some, stride, &b);
    for (uint64_t i = 0; i < some; i++) {
      bool is_bad = c->t->dtype == HIA_BOOL && b.i[i] > 1;
      if (is_bad)
        return hiaR_file_wrong(c->error,
                               c->t->at + (uint64_t)(from + i * stride - (const char *)c->t->data),
                               "a bool is %u, neither 0 nor 1", (unsigned)b.i[i]);
      if (!write_element(c, how, &b, i, c->to + i * size))
        return does_not_fit(c, how, &b, i, from + i * stride);
    }
    from += some * stride;
    c->to += some * size;
    c->done += some;
    n -= some;
  }
  return HIA_OK;
}

hia_status hiaR_file_tensor_convert(const hia_file_tensor *t, hia_dtype dtype, void *to,
                                    hia_value_error *error) {
  if (t->dtype == dtype) return hiaR_file_tensor_copy(t, to, error);
  if (!t->size) return HIA_OK;
  uint32_t size = dtypes[t->dtype].size;
  converting c = {.t = t, .dtype = dtype, .to = to, .error = error};
  return t->is_fortran && t->shape.rank > 1 ? each_run(t, size, convert_run, &c)
                                            : convert_run(&c, t->data, t->size / size, size);
}

hia_status hiaR_file_tensor_make(const hia_file_tensor *t, hia_dtype dtype, hia_objects *objects,
                                 hia_word *word, hia_value_error *error) {
  if (!t->shape.rank) {
    uint64_t bytes;
    hia_status status = hiaR_file_tensor_convert(t, dtype, &bytes, error);
    if (status == HIA_OK) *word = hiaR_load((hia_repr)dtype, &bytes);
    return status;
  }
  hia_tensor *tensor = hiaR_new_tensor(objects, dtype, &t->shape);
  if (!tensor) return HIA_MEMORY;
  hia_status status = hiaR_file_tensor_convert(t, dtype, tensor->data, error);
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
