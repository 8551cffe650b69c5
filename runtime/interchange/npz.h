/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npz: arrays by name. npz.c reads, npz_write.c writes.
 *
 * The rules of interchange.h hold. Without zlib (inflate.h) arrays can be neither read nor written:
 * HIA_UNSUPPORTED, and *error says so. */
#ifndef HIA_NPZ_H
#define HIA_NPZ_H

#include "runtime/interchange/interchange.h"

typedef struct hia_npz_array {
  const char *name; /* of the array: that of the member without ".npy". A NUL follows */
  size_t name_len;
  uint64_t at;     /* where its bytes begin in the archive */
  uint64_t packed; /* how many they are */
  uint64_t size;   /* of the .npy; the same if it is not deflated */
  uint32_t crc;
  bool is_deflated;
} hia_npz_array;

typedef struct hia_npz_file {
  const unsigned char *bytes;
  hia_npz_array *arrays; /* in the order of the directory */
  size_t n;
  hia_allocator allocator;
  size_t size; /* of the block that `arrays` is, with the names */
} hia_npz_file;

/* Reads the directory of an archive. Arrays refer to its bytes; the caller frees `file`, unless
 * reading fails. Members whose names do not end in ".npy" are no arrays. Refuses archives of which
 * the parts overlap, names that are there twice, and arrays that are encrypted or compressed
 * otherwise than by deflate. Any threads may read arrays of one file at once. */
hia_status hiaR_npz_read(hia_npz_file *file, const hia_allocator *allocator, const void *bytes,
                         size_t n, hia_value_error *error);
void hiaR_npz_free(hia_npz_file *file);
/* The number of the array of this name, or their count. */
size_t hiaR_npz_find(const hia_npz_file *file, const char *name, size_t len);

/* Reads the header of array i, which takes constant memory. tensor->data is undefined;
 * tensor->size is at most some 1000 times the bytes of the array, and need not fit into memory. An
 * error names the array; its byte is one of the .npy. */
hia_status hiaR_npz_look(const hia_npz_file *file, size_t i, hia_file_tensor *tensor,
                         hia_value_error *error);
/* Writes the elements to `to` as elements of a dtype, as hiaR_file_tensor_convert does; checks all
 * bytes of the array. `tensor` is what hiaR_npz_look has found. If it fails, what is in `to` is
 * undefined. */
hia_status hiaR_npz_copy(const hia_npz_file *file, size_t i, const hia_file_tensor *tensor,
                         hia_dtype dtype, void *to, hia_value_error *error);

/* Writes an archive of tensors, stored, in this order. Names differ and are UTF-8 without a NUL, of
 * at most HIA_NPZ_MAX_NAME bytes: else HIA_ARGUMENT, and nothing is written. HIA_IO, HIA_MEMORY. */
enum { HIA_NPZ_MAX_NAME = 65535 - 4 };
hia_status hiaR_npz_write(const hia_allocator *allocator, const hia_file_tensor *tensors, size_t n,
                          const hia_sink *sink, hia_value_error *error);
/* Writes them into a file, as hiaR_safetensors_write_file does. */
hia_status hiaR_npz_write_file(const hia_allocator *allocator, const char *path,
                               const hia_file_tensor *tensors, size_t n, hia_value_error *error);

/* Says in *error that there is no zlib. Returns HIA_UNSUPPORTED. */
hia_status hiaR_no_zlib(hia_value_error *error);

#endif
