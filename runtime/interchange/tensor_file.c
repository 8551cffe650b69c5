/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that have tensors by name, of either format. */
#include "runtime/interchange/tensor_file.h"
#include <stdio.h>
#include <string.h>

static bool is_npz(const char *path) {
  static const char end[] = ".npz";
  size_t n = strlen(path), m = sizeof end - 1;
  return n > m && memcmp(path + n - m, end, m) == 0;
}

/* What the user may have taken for a file of tensors by name: the message says what it is. Returns
 * HIA_OK if it is nothing of the kind. */
static hia_status check_form(const char *path, const unsigned char *bytes, size_t n,
                             hia_value_error *error) {
  static const char npy[] = "\x93NUMPY", zip[] = "PK\x03\x04";
  const char *what = NULL;
  if (n >= sizeof npy - 1 && memcmp(bytes, npy, sizeof npy - 1) == 0)
    what = "this is a .npy file, one array without a name; of tensors by name there are .npz "
           "files, as np.savez('FILE.npz', NAME=array) writes them, and safetensors files";
  else if (!is_npz(path) && n >= sizeof zip - 1 && memcmp(bytes, zip, sizeof zip - 1) == 0)
    what = "this is a zip archive; if it is one of NumPy, its name has to end in .npz";
  if (!what) return HIA_OK;
  *error = (hia_value_error){.code = NULL};
  snprintf(error->message, sizeof error->message, "%s", what);
  return HIA_ARGUMENT;
}

hia_status hiaR_tensor_file_read(hia_tensor_file *file, const hia_allocator *allocator,
                                 const char *path, const void *bytes, size_t n,
                                 hia_value_error *error) {
  hia_status status = check_form(path, bytes, n, error);
  if (status != HIA_OK) return status;
  file->is_npz = is_npz(path);
  return file->is_npz ? hiaR_npz_read(&file->npz, allocator, bytes, n, error)
                      : hiaR_safetensors_read(&file->safetensors, allocator, bytes, n, error);
}

void hiaR_tensor_file_free(hia_tensor_file *file) {
  if (file->is_npz)
    hiaR_npz_free(&file->npz);
  else
    hiaR_safetensors_free(&file->safetensors);
}

hia_status hiaR_tensor_file_find(const hia_tensor_file *file, const char *name, size_t len,
                                 hia_file_tensor *tensor, bool *is_found, hia_value_error *error) {
  *error = (hia_value_error){.code = NULL};
  if (!file->is_npz) {
    const hia_file_tensor *found = hiaR_safetensors_find(&file->safetensors, name, len);
    *is_found = found != NULL;
    if (found) *tensor = *found;
    return HIA_OK;
  }
  size_t i = hiaR_npz_find(&file->npz, name, len);
  *is_found = i < file->npz.n;
  return *is_found ? hiaR_npz_look(&file->npz, i, tensor, error) : HIA_OK;
}

hia_status hiaR_tensor_file_copy(const hia_tensor_file *file, const hia_file_tensor *tensor,
                                 hia_dtype dtype, void *to, hia_value_error *error) {
  if (!file->is_npz) return hiaR_file_tensor_convert(tensor, dtype, to, error);
  size_t i = hiaR_npz_find(&file->npz, tensor->name, tensor->name_len);
  return hiaR_npz_copy(&file->npz, i, tensor, dtype, to, error);
}

hia_status hiaR_tensor_file_write(const hia_allocator *allocator, const char *path,
                                  const hia_file_tensor *tensors, uint32_t n,
                                  hia_value_error *error) {
  return is_npz(path) ? hiaR_npz_write_file(allocator, path, tensors, n, error)
                      : hiaR_safetensors_write_file(allocator, path, tensors, n, NULL, 0, error);
}
