/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What values.c, npz_values.c and dlpack.c have in common: tensors of values, and their types. */
#ifndef HIA_INTERCHANGE_VALUES_H
#define HIA_INTERCHANGE_VALUES_H

#include "runtime/interchange/interchange.h"
#include "runtime/value/handle.h"

/* Checks a tensor of a file for a value of a type: of its dtype, or of one that is converted to it.
 */
static inline hia_status hiaR_file_tensor_fits(const hia_file_tensor *tensor, hia_dtype dtype,
                                               const hia_dims *shape, bool converts,
                                               hia_value_error *error) {
  return converts ? hiaR_file_tensor_check_shape(tensor, dtype, shape, error)
                  : hiaR_file_tensor_check(tensor, dtype, shape, error);
}
/* The dtype of a tensor or a scalar, and its rank: dims are not known. False: the type is of
 * neither. */
bool hiaR_file_type(const hia_type_info *type, hia_dtype *dtype, hia_dims *shape);
/* A type of tensors of rank 1 or more, the first of a table of its own, which the caller holds.
 * NULL: no memory. */
hia_value_types *hiaR_file_types(const hia_allocator *allocator, hia_dtype dtype, uint32_t rank);
/* The tensor of a value; of a scalar it refers to `scalar`, 8 bytes, to which that is written.
 * False: the value is neither. */
bool hiaR_file_tensor_of_value(const hia_value *value, void *scalar, hia_file_tensor *tensor);

#endif
