/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors in the files of other systems (docs/interchange.md): NumPy's .npy, and safetensors, which
 * holds several by name.
 *
 * Readers take a whole file in memory, which remains the caller's. The bytes may be anything: every
 * number is checked before it is used, nothing is read past the end, and nothing is allocated that
 * is larger than the file is, times a constant. Tensors refer to the bytes, which must outlive
 * them.
 *
 * Functions that return a status return HIA_OK; HIA_ARGUMENT, where *error says what is wrong with
 * the bytes, and at which one (error->at; there are no lines); or HIA_MEMORY. Any threads may call
 * them at once with different results. */
#ifndef HIA_INTERCHANGE_H
#define HIA_INTERCHANGE_H

#include "runtime/base/shape.h"
#include "runtime/value/value.h"

/* ---- convert.c: a tensor as a file has it ---- */

/* The dtypes of files: those of hiaton, with their numbers, and behind them others, which are read
 * by conversion alone. */
enum {
  HIA_FILE_I8 = HIA_N_DTYPES,
  HIA_FILE_I16,
  HIA_FILE_U8,
  HIA_FILE_U16,
  HIA_FILE_U32,
  HIA_FILE_U64,
  HIA_FILE_F16,
  HIA_FILE_BF16,
  HIA_N_FILE_DTYPES,
  HIA_FILE_OTHER = HIA_N_FILE_DTYPES, /* is never read */
};
uint32_t hiaR_file_dtype_size(uint32_t dtype); /* of an element; not of HIA_FILE_OTHER */

typedef struct hia_file_tensor {
  const char *name; /* UTF-8, name_len bytes; in a .npy it has none: "" */
  size_t name_len;
  uint32_t dtype;   /* hia_dtype, or HIA_FILE_ */
  hia_dims shape;   /* of numbers; rank 0: a scalar. If a tensor of a safetensors file has more than
                       HIA_MAX_RANK axes, the rank is HIA_MAX_RANK + 1, and it is never read */
  const void *data; /* the elements, at any address */
  uint64_t size;    /* in bytes */
  uint64_t at;      /* where they begin in the file, for messages */
  bool is_big_endian; /* the bytes of an element */
  bool is_fortran;    /* the first axis varies fastest; else the last one, as in hiaton */
  const char *other;  /* what the file calls a dtype that is HIA_FILE_OTHER; else NULL */
} hia_file_tensor;

/* Checks dtype and shape: dims that are no numbers may be any. The message names the tensor. */
hia_status hiaR_file_tensor_check(const hia_file_tensor *tensor, hia_dtype dtype,
                                  const hia_dims *shape, hia_value_error *error);
/* Accepts any dtype that can be converted, too. */
hia_status hiaR_file_tensor_check_shape(const hia_file_tensor *tensor, hia_dtype dtype,
                                        const hia_dims *shape, hia_value_error *error);
/* Checks that the dtype is one of hiaton's. */
hia_status hiaR_file_tensor_check_own(const hia_file_tensor *tensor, hia_value_error *error);
/* Writes the elements to `to`, tensor->size bytes, aligned to an element, as hiaton has them: in
 * row-major order and the machine's order of bytes. It may be tensor->data, unless the first axis
 * varies fastest. Fails at a bool that is neither 0 nor 1. */
hia_status hiaR_file_tensor_copy(const hia_file_tensor *tensor, void *to, hia_value_error *error);
/* Gives the elements as those of a dtype, which need other room than tensor->size:
 * hiaR_file_tensor_bytes. `to` may be tensor->data only if the dtype is the tensor's. An element
 * whose value the dtype cannot have ends it (docs/interchange.md, "Conversion"). */
hia_status hiaR_file_tensor_convert(const hia_file_tensor *tensor, hia_dtype dtype, void *to,
                                    hia_value_error *error);
/* The bytes of the elements if they have this dtype; UINT64_MAX: more than there can be. */
uint64_t hiaR_file_tensor_bytes(const hia_file_tensor *tensor, hia_dtype dtype);
/* Makes a tensor of this dtype of it, with elements of its own: *word is its reference, or, if the
 * rank is 0, the word of a scalar, and `objects` may be NULL. */
hia_status hiaR_file_tensor_make(const hia_file_tensor *tensor, hia_dtype dtype,
                                 hia_objects *objects, hia_word *word, hia_value_error *error);

/* The other way. The tensor refers to the elements of the object; its name is "". */
struct hia_tensor;
void hiaR_file_tensor_of(const struct hia_tensor *object, hia_file_tensor *tensor);
/* Describes a scalar, which is written to `bytes`, at least 8 of them. */
void hiaR_file_tensor_of_scalar(hia_dtype dtype, hia_word word, void *bytes,
                                hia_file_tensor *tensor);

/* For readers. Writes the error: the message, then ", at byte N". Returns HIA_ARGUMENT. */
hia_status hiaR_file_wrong(hia_value_error *error, uint64_t at, const char *fmt, ...)
    HIA_PRINTF(3, 4);
/* Text of a file for a message: without control characters, cut to the buffer. */
void hiaR_file_show(const char *s, size_t n, char *buf, size_t size);

/* Compares as memcmp does; the shorter one of two that begin alike comes first. */
int hiaR_compare_bytes(const char *a, size_t n_a, const char *b, size_t n_b);

/* For writers of files: `write` writes into a file, which appears whole and on the disk, or not at
 * all (value/output.h). Returns what it does, or HIA_IO; then the error says what the system says.
 */
hia_status hiaR_file_write(const char *path,
                           hia_status (*write)(const void *what, const hia_sink *sink,
                                               hia_value_error *error),
                           const void *what, hia_value_error *error);

/* ---- npy.c: .npy, versions 1.0 to 3.0 ---- */

/* Reads a file. It must have all elements that its header says, and nothing behind them. */
hia_status hiaR_npy_read(const void *bytes, size_t n, hia_file_tensor *tensor,
                         hia_value_error *error);
/* How many bytes the header of a file has of which these are the first n, 12 at least. 0: it is no
 * .npy, or of another version. */
uint64_t hiaR_npy_header_size(const void *bytes, size_t n);
/* Reads the header of a file of `size` bytes, of which these are the first n, all of the header
 * among them, unless the file is shorter. tensor->data is NULL. */
hia_status hiaR_npy_read_header(const void *bytes, size_t n, uint64_t size, hia_file_tensor *tensor,
                                hia_value_error *error);
/* Writes version 1.0, with the order of elements and bytes that the tensor has. HIA_IO. */
hia_status hiaR_npy_write(const hia_file_tensor *tensor, const hia_sink *sink);
/* The header alone: returns its length, at most HIA_NPY_HEADER. */
enum { HIA_NPY_HEADER = 512 };
size_t hiaR_npy_header(const hia_file_tensor *tensor, char *buf);

/* ---- safetensors.c, safetensors_write.c ---- */

/* A string of the metadata: UTF-8 with a NUL behind it. */
typedef struct hia_metadata {
  const char *key, *value;
  size_t key_len, value_len;
} hia_metadata;

typedef struct hia_safetensors {
  const hia_file_tensor *tensors; /* sorted by name, as bytes; a NUL follows each name */
  const hia_metadata *metadata;   /* sorted by key */
  uint32_t n, n_metadata;
  hia_allocator allocator;
  void *blocks[3];
  size_t sizes[3];
} hia_safetensors;

/* Reads a file. Its tensors refer to the bytes; names and metadata to memory of `file`, which the
 * caller frees, unless reading fails. Ranges must follow each other without a hole, as the format
 * demands. Tensors may have any dtype and rank: they are refused when they are asked for. Refuses
 * keys that the format does not have. */
hia_status hiaR_safetensors_read(hia_safetensors *file, const hia_allocator *allocator,
                                 const void *bytes, size_t n, hia_value_error *error);
void hiaR_safetensors_free(hia_safetensors *file);
/* The tensor of this name, or NULL. */
const hia_file_tensor *hiaR_safetensors_find(const hia_safetensors *file, const char *name,
                                             size_t len);

/* Writes a file. The order in the file is that of the format's reference implementation (larger
 * elements first, else by name), so the order given here does not matter. Tensors are in row-major
 * order; their names, and the keys, differ and are UTF-8: else HIA_ARGUMENT. HIA_IO, HIA_MEMORY. */
hia_status hiaR_safetensors_write(const hia_allocator *allocator, const hia_file_tensor *tensors,
                                  uint32_t n, const hia_metadata *metadata, uint32_t n_metadata,
                                  const hia_sink *sink, hia_value_error *error);
/* Writes them into a file, which appears whole and on the disk, or not at all (value/output.h).
 * With HIA_IO the error says what the system says. */
hia_status hiaR_safetensors_write_file(const hia_allocator *allocator, const char *path,
                                       const hia_file_tensor *tensors, uint32_t n,
                                       const hia_metadata *metadata, uint32_t n_metadata,
                                       hia_value_error *error);

#endif
