/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that have tensors by name: .npz if the file's name ends so, else safetensors. The rules of
 * interchange.h hold, and those of npz.h. */
#ifndef HIA_TENSOR_FILE_H
#define HIA_TENSOR_FILE_H

#include "runtime/interchange/npz.h"

typedef struct hia_tensor_file {
  bool is_npz;
  hia_safetensors safetensors;
  hia_npz_file npz;
} hia_tensor_file;

/* Reads a file of this path, of which these are the bytes. They must outlive what is found. The
 * caller frees `file`, unless reading fails. */
hia_status hiaR_tensor_file_read(hia_tensor_file *file, const hia_allocator *allocator,
                                 const char *path, const void *bytes, size_t n,
                                 hia_value_error *error);
void hiaR_tensor_file_free(hia_tensor_file *file);
/* Looks at the tensor of this name, if there is one: its dtype, shape and size. */
hia_status hiaR_tensor_file_find(const hia_tensor_file *file, const char *name, size_t len,
                                 hia_file_tensor *tensor, bool *is_found, hia_value_error *error);
/* Writes the elements of a tensor that was found to `to`, as hiaR_file_tensor_convert does. */
hia_status hiaR_tensor_file_copy(const hia_tensor_file *file, const hia_file_tensor *tensor,
                                 hia_dtype dtype, void *to, hia_value_error *error);
/* Writes a file, as hiaR_safetensors_write_file and hiaR_npz_write_file. */
hia_status hiaR_tensor_file_write(const hia_allocator *allocator, const char *path,
                                  const hia_file_tensor *tensors, uint32_t n,
                                  hia_value_error *error);

#endif
