/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors of other libraries in this process, and to them, by DLPack: without a copy where the
 * elements lie in row-major order. It belongs to libhiaton_rt; a host includes it by itself.
 *
 *   DLManagedTensorVersioned *theirs = ..., *ours;
 *   if (hia_data_from_dlpack(NULL, NULL, theirs, &value, &error) != HIA_OK) ...
 *   if (hia_value_to_dlpack(result, &ours, &error) != HIA_OK) ...
 *
 * A tensor on the CPU of bool, i32, i64, f32 or f64 is a value: a tensor, or if it has no axis a
 * scalar. docs/interchange.md says how others are refused.
 *
 * The structures are those of DLPack 1.0. If the compiler finds <dlpack/dlpack.h>, they are taken
 * from there, so that a host may include both in any order; else they are declared here. */
#ifndef HIATON_DLPACK_H
#define HIATON_DLPACK_H

#include <hiaton/data.h>

#ifdef __has_include
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_

#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
} DLDataTypeCode;

typedef struct {
  uint8_t code; /* a DLDataTypeCode */
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#endif

/* A header of DLPack before 1.0 lacks these, too. */
#ifndef DLPACK_MAJOR_VERSION
#define DLPACK_MAJOR_VERSION          1
#define DLPACK_MINOR_VERSION          0
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)

typedef struct {
  uint32_t major, minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
#endif

/* Makes a value of a tensor, which it takes over: the tensor's deleter is called once, on the
 * thread that frees the last value with its elements. Until then nobody may change the elements;
 * hiaton never does. Elements that are not in row-major order, or not aligned, and scalars are
 * copied: then the deleter is called before this function returns. If it fails, the tensor remains
 * the caller's, who calls the deleter.
 *
 * `type`: a tensor or scalar type; NULL: that of the tensor, which the value then holds.
 * HIA_UNSUPPORTED if the tensor is of another major version, on another device than the CPU, or of
 * a dtype that hiaton lacks. HIA_ARGUMENT if it has more than 16 axes, a size below 0, more
 * elements than fit into memory, no elements where it should have some, a bool that is neither 0
 * nor 1, or is of another type than `type`. */
HIA_API hia_status hia_data_from_dlpack(const hia_allocator *allocator, const hia_type_info *type,
                                        struct DLManagedTensorVersioned *tensor, hia_value **value,
                                        hia_error **error);
/* Takes a tensor of the time before DLPack 1.0, as hia_data_from_dlpack does one of 1.0. */
HIA_API hia_status hia_data_from_dlpack_unversioned(const hia_allocator *allocator,
                                                    const hia_type_info *type,
                                                    struct DLManagedTensor *tensor,
                                                    hia_value **value, hia_error **error);

/* Makes a tensor of a tensor or a scalar; its receiver calls the deleter, on any thread. It shares
 * the elements of the value, which stay until then, and is marked DLPACK_FLAG_BITMASK_READ_ONLY:
 * values never change. HIA_ARGUMENT if the value is neither. */
HIA_API hia_status hia_value_to_dlpack(const hia_value *value,
                                       struct DLManagedTensorVersioned **tensor, hia_error **error);
/* Gives a tensor to receivers that know no versions, and so no such mark: the tensor has a copy of
 * the elements, which may be changed. */
HIA_API hia_status hia_value_to_dlpack_unversioned(const hia_value *value,
                                                   struct DLManagedTensor **tensor,
                                                   hia_error **error);

#ifdef __cplusplus
}
#endif
#endif
