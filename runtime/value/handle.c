/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of hosts: their life, taking them apart, printing. */
#include "runtime/value/handle.h"
#include "runtime/heap/tensor.h"
#include <hiaton/tensors.h>

/* ---- life ---- */

static size_t size_of(const hia_type_info *type) {
  return sizeof(hia_value) + type->n_words * sizeof(hia_word);
}

hia_value *hiaR_value_new(const hia_allocator *allocator, const hia_type_info *type,
                          hia_objects *objects, const hia_word *words) {
  hia_value *value = allocator->alloc(allocator->user, size_of(type));
  if (!value) return NULL;
  *value = (hia_value){.allocator = *allocator, .type = type, .objects = objects};
  if (!hiaR_is_scalar(type->type)) hiaR_value_types_hold(type->types);
  if (objects) hiaR_objects_hold(objects);
  memcpy(value->words, words, type->n_words * sizeof *words);
  return value;
}

void hia_value_free(hia_value *value) {
  if (!value) return;
  hia_allocator allocator = value->allocator;
  size_t size = size_of(value->type);
  if (value->objects) hiaR_objects_release(value->objects);
  if (!hiaR_is_scalar(value->type->type)) hiaR_value_types_release(value->type->types);
  hiaR_free(&allocator, value, size);
}

const hia_type_info *hia_value_type(const hia_value *value) { return value ? value->type : NULL; }

/* ---- reading ---- */

static bool is_scalar(const hia_value *value, hia_dtype dtype) {
  return value && value->type->type == (hia_type)dtype;
}

#define GET(name, dtype, type, zero)                                                               \
  hia_status hia_value_get_##name(const hia_value *value, type *x) {                               \
    if (!x) return HIA_ARGUMENT;                                                                   \
    bool fits = is_scalar(value, dtype);                                                           \
    *x = fits ? hiaR_to_##name(value->words[0]) : zero;                                            \
    return fits ? HIA_OK : HIA_ARGUMENT;                                                           \
  }
GET(bool, HIA_BOOL, bool, false)
GET(i32, HIA_I32, int32_t, 0)
GET(i64, HIA_I64, int64_t, 0)
GET(f32, HIA_F32, float, 0)
GET(f64, HIA_F64, double, 0)
#undef GET

hia_status hia_value_dtype(const hia_value *value, hia_dtype *dtype) {
  if (!dtype) return HIA_ARGUMENT;
  bool fits = value && hiaR_is_scalar(value->type->type);
  *dtype = fits ? (hia_dtype)value->type->type : HIA_BOOL;
  return fits ? HIA_OK : HIA_ARGUMENT;
}

static const hia_type_entry *entry_of(const hia_type_info *type) {
  return hiaR_type_entry(&type->types->table, type->type);
}

/* ---- taking apart ---- */

size_t hia_value_ctor(const hia_value *value) {
  if (hia_type_info_kind(hia_value_type(value)) != HIA_KIND_DATA) return HIA_NO_CTOR;
  return hiaR_ctor_of(value->words[0]);
}

/* The constructor of a data value. */
static const hia_ctor *ctor_of(const hia_value *value) {
  return hiaR_ctor(&value->type->types->table, value->type->type, hiaR_ctor_of(value->words[0]));
}

/* An array without elements may be any word below the first address: no object. */
static const hia_array *array_of(const hia_value *value) {
  return value->words[0] < HIA_FIRST_ADDRESS ? NULL : (const hia_array *)(uintptr_t)value->words[0];
}

size_t hia_value_len(const hia_value *value) {
  switch (hia_type_info_kind(hia_value_type(value))) {
  case HIA_KIND_TUPLE: return entry_of(value->type)->n;
  case HIA_KIND_DATA: return ctor_of(value)->n;
  case HIA_KIND_ARRAY: return array_of(value) ? (size_t)array_of(value)->n : 0;
  case HIA_KIND_TENSOR:
  case HIA_KIND_SCALAR:
  case HIA_KIND_NONE: break;
  }
  return 0;
}

/* A part whose words lie in an object, or an element of an array. */
static hia_value *part_in(const hia_value *value, const hia_type_info *type,
                          const hia_layout_word *layout_words, const char *base) {
  hia_word words[HIA_MAX_WORDS];
  for (uint32_t i = 0; i < type->n_words; i++)
    words[i] = hiaR_load((hia_repr)layout_words[i].repr, base + layout_words[i].at);
  return hiaR_value_new(&value->allocator, type, type->has_references ? value->objects : NULL,
                        words);
}

static hia_value *field(const hia_value *value, size_t i) {
  hia_value_types *types = value->type->types;
  const hia_ctor *ctor = ctor_of(value);
  const hia_ctor_field *fields = types->table.fields + ctor->first;
  const hia_layout_word *layout_words = types->table.layout_words + ctor->layout.first;
  for (size_t k = 0; k < i; k++) layout_words += hiaR_type_words(&types->table, fields[k].type);
  return part_in(value, hiaR_type_info(types, fields[i].type), layout_words,
                 (const char *)hiaR_object(value->words[0]));
}

static hia_value *tuple_part(const hia_value *value, size_t i) {
  hia_value_types *types = value->type->types;
  const hia_type *parts = types->table.parts + entry_of(value->type)->first;
  const hia_word *word = value->words;
  for (size_t k = 0; k < i; k++) word += hiaR_type_words(&types->table, parts[k]);
  const hia_type_info *type = hiaR_type_info(types, parts[i]);
  return hiaR_value_new(&value->allocator, type, type->has_references ? value->objects : NULL,
                        word);
}

hia_value *hia_value_part(const hia_value *value, size_t i) {
  if (i >= hia_value_len(value)) return NULL;
  const hia_type_info *type = value->type;
  switch (hia_type_info_kind(type)) {
  case HIA_KIND_TUPLE: return tuple_part(value, i);
  case HIA_KIND_DATA: return field(value, i);
  default: break;
  }
  const hia_type_entry *entry = entry_of(type);
  return part_in(value, hiaR_type_info(type->types, entry->element),
                 type->types->table.layout_words + entry->layout.first,
                 array_of(value)->data + i * entry->layout.size);
}

/* ---- copying ---- */

hia_value *hia_value_copy(const hia_value *value) {
  if (!value) return NULL;
  const hia_type_info *type = value->type;
  if (!value->objects) return hiaR_value_new(&value->allocator, type, NULL, value->words);
  hia_word words[HIA_MAX_WORDS];
  memcpy(words, value->words, type->n_words * sizeof *words);
  hia_objects *objects = hiaR_objects_new(&value->allocator, 0);
  hia_value *copy = NULL;
  if (objects &&
      hiaR_value_copy(&type->types->table, type->type, &value->allocator, objects, words) == HIA_OK)
    copy = hiaR_value_new(&value->allocator, type, objects, words);
  hiaR_objects_release(objects);
  return copy;
}

/* ---- printing ---- */

/* What a caller's buffer has room for, and the length of the whole. */
typedef struct copied {
  char *buf;
  size_t size, len;
} copied;

static bool copy_bytes(void *user, const char *bytes, size_t n) {
  copied *c = user;
  size_t room = c->len < c->size ? c->size - c->len : 0;
  if (room) memcpy(c->buf + c->len, bytes, n < room ? n : room);
  c->len += n;
  return true;
}

size_t hia_value_format(const hia_value *value, char *buf, size_t size) {
  if (!buf) size = 0;
  if (size) buf[0] = 0;
  if (!value) return 0;
  copied out = {buf, size ? size - 1 : 0, 0};
  const hia_sink sink = {copy_bytes, &out};
  if (hiaR_value_print(&value->type->types->table, value->type->type, value->words,
                       &value->allocator, UINT64_MAX, &sink, NULL))
    out.len = 0;
  if (size) buf[out.len < size ? out.len : size - 1] = 0;
  return out.len;
}

size_t hia_value_format_type(const hia_value *value, char *buf, size_t size) {
  return hia_type_info_format(value ? value->type : NULL, buf, size);
}

/* ---- tensors ---- */

/* NULL: it is none. */
static const hia_tensor *tensor_of(const hia_value *value) {
  bool is_tensor = hia_type_info_kind(hia_value_type(value)) == HIA_KIND_TENSOR;
  return is_tensor ? hiaR_tensor(value->words[0]) : NULL;
}

const int64_t *hia_value_dims(const hia_value *value) {
  const hia_tensor *tensor = tensor_of(value);
  return tensor ? tensor->dims : NULL;
}

const void *hia_value_elements(const hia_value *value) {
  const hia_tensor *tensor = tensor_of(value);
  return tensor ? tensor->data : NULL;
}

hia_status hia_value_tensor(const hia_value *value, hia_dtype dtype, size_t rank,
                            const void **elements, int64_t *dims) {
  const hia_tensor *tensor = tensor_of(value);
  bool fits = tensor && elements && dims && hiaR_tensor_dtype(tensor) == dtype &&
              hiaR_tensor_rank(tensor) == rank;
  if (elements) *elements = fits ? tensor->data : NULL;
  for (size_t i = 0; dims && i < rank; i++) dims[i] = fits ? tensor->dims[i] : 0;
  return fits ? HIA_OK : HIA_ARGUMENT;
}

hia_status hia_data_tensor(const hia_allocator *allocator, const hia_type_info *type,
                           const int64_t *dims, const void *elements, hia_value **value,
                           hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  const char *missing = !type ? "type" : !dims ? "dims" : !value ? "place for the value" : NULL;
  if (missing) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no %s", missing);
  if (hia_type_info_kind(type) != HIA_KIND_TENSOR) {
    char text[128];
    hia_type_info_format(type, text, sizeof text);
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "%s is no tensor type", text);
  }
  const hia_type_entry *entry = entry_of(type);
  hia_dtype dtype = (hia_dtype)entry->element;
  hia_dims shape = {.rank = entry->n};
  memcpy(shape.dims, dims, entry->n * sizeof *dims);
  for (uint32_t i = 0; i < shape.rank; i++)
    if (dims[i] < 0)
      return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "axis %u has the size %lld", i,
                            (long long)dims[i]);
  uint64_t n;
  if (!hiaR_shape_elements(&shape, hiaR_dtype_size(dtype), &n))
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "the tensor is too large");
  if (n && !elements) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no elements");
  const unsigned char *bools = elements;
  for (uint64_t i = 0; dtype == HIA_BOOL && i < n; i++)
    if (bools[i] > 1)
      return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "element %llu is no bool",
                            (unsigned long long)i);
  hia_objects *objects = hiaR_objects_new(allocator, 0);
  hia_tensor *tensor = objects ? hiaR_new_tensor(objects, dtype, &shape) : NULL;
  if (tensor) {
    if (n) memcpy(tensor->data, elements, (size_t)n * hiaR_dtype_size(dtype));
    hia_word word = (uintptr_t)tensor;
    *value = hiaR_value_new(allocator, type, objects, &word);
  }
  hiaR_objects_release(objects);
  return *value ? HIA_OK : hiaR_fail_memory(allocator, error);
}
