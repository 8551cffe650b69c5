/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files that have params, and perhaps more: of params alone (files.c), and checkpoints of trainers
 * (optimizer_file.c). */
#ifndef HIA_PARAM_FILES_H
#define HIA_PARAM_FILES_H

#include "runtime/interchange/tensor_file.h"
#include "runtime/param/param.h"

struct hia_error;

/* A file that is being read. */
typedef struct hia_param_file {
  hia_allocator allocator;
  const char *path;
  char *bytes;
  size_t size; /* of the allocation */
  bool is_read;
  bool converts; /* params may have other dtypes in the file */
  hia_tensor_file file;
  hia_value_error wrong; /* what the last function that failed has to say */
} hia_param_file;

/* Reads a file. The caller closes it, also if this fails. Errors: HIA_IO, HIA_ARGUMENT, HIA_MEMORY.
 */
hia_status hiaR_param_file_open(hia_param_file *f, const char *path,
                                const hia_allocator *allocator);
void hiaR_param_file_close(hia_param_file *f);
/* Finds the tensor of this name. Errors: HIA_ARGUMENT, if there is none, or it has another dtype or
 * shape; dims that are no numbers may be any. */
hia_status hiaR_param_file_find(hia_param_file *f, const char *name, hia_dtype dtype,
                                const hia_dims *shape, hia_file_tensor *tensor);
/* Copies the elements of a tensor that was found. Errors: HIA_ARGUMENT, HIA_MEMORY. */
hia_status hiaR_param_file_copy(hia_param_file *f, const hia_file_tensor *tensor, void *to);
/* Makes a state of the params of a params, with the values that the file has. */
hia_status hiaR_param_file_params(hia_param_file *f, const hia_params *params,
                                  hia_param_state **out);
/* Makes the error of a function that failed with this status, which it returns. */
hia_status hiaR_param_file_fail(const hia_param_file *f, hia_status status,
                                struct hia_error **error);

/* Lists the tensors of all params for a writer: they refer to the state. `scalars` are as many
 * words as there are params, to which some of the tensors refer. */
void hiaR_params_tensors(const hia_param_state *params, hia_file_tensor *tensors,
                         uint64_t *scalars);
/* Writes a file. Errors: HIA_IO, HIA_ARGUMENT, HIA_MEMORY. */
hia_status hiaR_param_file_write(const hia_allocator *allocator, const char *path,
                                 const hia_file_tensor *tensors, uint32_t n,
                                 struct hia_error **error);

#endif
