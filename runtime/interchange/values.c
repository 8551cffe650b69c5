/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values from files of other systems and to them, with the errors of the API. */
#include "runtime/interchange/values.h"
#include "runtime/heap/tensor.h"
#include <errno.h>

static hia_status fail(const hia_allocator *allocator, hia_error **error, hia_status status) {
  return hiaR_fail_text(allocator, error, status, NULL, "%s", hiaR_status_message(status));
}

bool hiaR_file_type(const hia_type_info *type, hia_dtype *dtype, hia_dims *shape) {
  *shape = (hia_dims){.rank = (uint32_t)hia_type_info_rank(type)};
  for (uint32_t i = 0; i < shape->rank; i++) shape->dims[i] = HIA_DIM_UNKNOWN;
  const hia_type_info *scalar = shape->rank ? hia_type_info_element(type) : type;
  return hia_type_info_dtype(scalar, dtype) == HIA_OK;
}

static hia_status no_tensor(const hia_allocator *allocator, const hia_type_info *type,
                            hia_error **error) {
  char text[128];
  hia_type_info_format(type, text, sizeof text);
  return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                        ".npy has a tensor or a scalar, and %s is neither", text);
}

/* ---- reading ---- */

hia_value_types *hiaR_file_types(const hia_allocator *allocator, hia_dtype dtype, uint32_t rank) {
  const hia_type_entry entry = {.kind = HIA_KIND_TENSOR,
                                .n = rank,
                                .n_words = 1,
                                .element = (hia_type)dtype,
                                .repr = HIA_REPR_REF};
  const hia_type_table table = {.types = &entry, .n_types = 1};
  return hiaR_value_types_new(allocator, &table, NULL);
}

static hia_status make_value(const hia_allocator *allocator, const hia_type_info *type,
                             hia_dtype dtype, const hia_file_tensor *t, hia_value **value,
                             hia_value_error *wrong) {
  hia_value_types *made = NULL;
  hia_word word;
  if (!type && t->shape.rank) {
    made = hiaR_file_types(allocator, dtype, t->shape.rank);
    if (!made) return HIA_MEMORY;
  }
  if (!type) type = made ? &made->infos[0] : &hiaR_scalar_infos[dtype];
  uint64_t size = hiaR_file_tensor_bytes(t, dtype);
  if (size > PTRDIFF_MAX / 2) {
    hiaR_value_types_release(made);
    return HIA_MEMORY;
  }
  size_t bytes = hiaR_tensor_size(t->shape.rank, (size_t)size);
  hia_objects *objects = t->shape.rank ? hiaR_objects_new_for(allocator, bytes) : NULL;
  hia_status status = HIA_MEMORY;
  if (objects || !t->shape.rank) status = hiaR_file_tensor_make(t, dtype, objects, &word, wrong);
  if (status == HIA_OK) {
    *value = hiaR_value_new(allocator, type, objects, &word);
    if (!*value) status = HIA_MEMORY;
  }
  hiaR_objects_release(objects);
  hiaR_value_types_release(made);
  return status;
}

static hia_status load_npy(const hia_allocator *allocator, const hia_type_info *type,
                           const char *name, const void *bytes, size_t size, bool converts,
                           hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  if (!bytes && size) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no bytes");
  if (!value) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no place for the value");
  hia_dtype dtype = HIA_BOOL;
  hia_dims shape;
  if (type && !hiaR_file_type(type, &dtype, &shape)) return no_tensor(allocator, type, error);
  hia_file_tensor t;
  hia_value_error wrong;
  hia_status status = hiaR_npy_read(bytes ? bytes : "", size, &t, &wrong);
  if (status == HIA_OK)
    status = type ? hiaR_file_tensor_fits(&t, dtype, &shape, converts, &wrong)
                  : hiaR_file_tensor_check_own(&t, &wrong);
  if (status == HIA_OK && !type) dtype = (hia_dtype)t.dtype;
  if (status == HIA_OK) status = make_value(allocator, type, dtype, &t, value, &wrong);
  return status == HIA_OK ? HIA_OK
                          : hiaR_fail_reading(allocator, error, status, name, NULL, 0, &wrong);
}

hia_status hia_data_load_npy(const hia_allocator *allocator, const hia_type_info *type,
                             const char *name, const void *bytes, size_t size, hia_value **value,
                             hia_error **error) {
  return load_npy(allocator, type, name, bytes, size, false, value, error);
}

hia_status hia_data_convert_npy(const hia_allocator *allocator, const hia_type_info *type,
                                const char *name, const void *bytes, size_t size, hia_value **value,
                                hia_error **error) {
  return load_npy(allocator, type, name, bytes, size, true, value, error);
}

static hia_status load_npy_file(const hia_allocator *allocator, const hia_type_info *type,
                                const char *path, bool converts, hia_value **value,
                                hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  if (!allocator) allocator = &hiaR_malloc;
  if (!path) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no path");
  char *bytes;
  size_t len, size;
  int wrong = hiaR_read_file(allocator, path, SIZE_MAX / 4, &bytes, &len, &size);
  hia_status status = wrong == ENOMEM ? fail(allocator, error, HIA_MEMORY)
                      : wrong         ? hiaR_fail_file(allocator, error, "read", path, wrong)
                              : load_npy(allocator, type, path, bytes, len, converts, value, error);
  if (bytes) hiaR_free(allocator, bytes, size);
  return status;
}

hia_status hia_data_load_npy_file(const hia_allocator *allocator, const hia_type_info *type,
                                  const char *path, hia_value **value, hia_error **error) {
  return load_npy_file(allocator, type, path, false, value, error);
}

hia_status hia_data_convert_npy_file(const hia_allocator *allocator, const hia_type_info *type,
                                     const char *path, hia_value **value, hia_error **error) {
  return load_npy_file(allocator, type, path, true, value, error);
}

/* ---- writing ---- */

bool hiaR_file_tensor_of_value(const hia_value *value, void *scalar, hia_file_tensor *t) {
  hia_dtype dtype;
  hia_dims shape;
  if (!hiaR_file_type(value->type, &dtype, &shape)) return false;
  if (shape.rank)
    hiaR_file_tensor_of(hiaR_tensor(value->words[0]), t);
  else
    hiaR_file_tensor_of_scalar(dtype, value->words[0], scalar, t);
  return true;
}

/* HIA_ARGUMENT: the value has no such form. */
static hia_status tensor_of(const hia_value *value, char *scalar, hia_file_tensor *t,
                            hia_error **error) {
  return hiaR_file_tensor_of_value(value, scalar, t)
             ? HIA_OK
             : no_tensor(&value->allocator, value->type, error);
}

hia_status hia_value_save_npy(const hia_value *value, hia_write write, void *user,
                              hia_error **error) {
  if (error) *error = NULL;
  if (!value) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no value");
  const hia_allocator *allocator = &value->allocator;
  if (!write) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "nothing to write with");
  char scalar[8];
  hia_file_tensor t;
  hia_status status = tensor_of(value, scalar, &t, error);
  if (status != HIA_OK) return status;
  const hia_sink sink = {write, user};
  status = hiaR_npy_write(&t, &sink);
  return status == HIA_OK ? HIA_OK : fail(allocator, error, status);
}

hia_status hia_value_save_npy_file(const hia_value *value, const char *path, hia_error **error) {
  if (error) *error = NULL;
  if (!value) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no value");
  const hia_allocator *allocator = &value->allocator;
  if (!path) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no path");
  char scalar[8];
  hia_file_tensor t;
  hia_status status = tensor_of(value, scalar, &t, error);
  if (status != HIA_OK) return status;
  hia_file_output file;
  int wrong = hiaR_output_open(&file, path);
  if (wrong) return hiaR_fail_file(allocator, error, "write", path, wrong);
  const hia_sink sink = {hiaR_output_write, &file};
  status = hiaR_npy_write(&t, &sink);
  if (status == HIA_OK) hiaR_output_sync(&file);
  wrong = hiaR_output_close(&file, status == HIA_OK);
  return wrong ? hiaR_fail_file(allocator, error, "write", path, wrong) : HIA_OK;
}
