/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The params of an object file: the tensors and scalars of floats that its program declares with
 * `param`, which its functions read. It belongs to libhiaton_rt; the header of an object whose
 * program has params includes it, and declares a function P_params, which returns their *cell*.
 *
 *   hia_error *error;
 *   if (hia_param_cell_load(P_params(), "model.safetensors", &error) != HIA_OK) ...
 *   for (size_t i = 0; i < hia_param_cell_count(P_params()); i++)
 *     puts(hia_param_cell_name(P_params(), i));
 *
 * The first values are those that `hiaton build --params` has embedded, which stay where they are
 * in the object; without these, what the initialisers make of the seed that it was built with, 0
 * unless --seed says another, when the first call or a function below needs them (docs/params.md).
 *
 * All threads and contexts see the same params. They change all at once: a call sees them as they
 * were when it began, whatever others set meanwhile. Any thread may call these functions at any
 * time; of two that set params at the same time one comes after the other. A function that fails
 * has changed nothing. Memory comes from malloc.
 *
 * For NULL instead of a cell, and for an index past the end, functions that return no status return
 * NULL, "" or 0. `error` may be NULL; the caller frees the error (hia_error_free). */
#ifndef HIATON_PARAM_CELL_H
#define HIATON_PARAM_CELL_H

#include <hiaton/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_param_cell hia_param_cell; /* a variable of an object; never freed */

/* How many params there are; they are numbered in the order of their declarations. What the
 * functions up to hia_param_cell_size return belongs to the object, and never changes. */
HIA_API size_t hia_param_cell_count(const hia_param_cell *cell);
HIA_API const char *hia_param_cell_name(const hia_param_cell *cell, size_t i);
/* The number of the param of this name, or the count. */
HIA_API size_t hia_param_cell_find(const hia_param_cell *cell, const char *name);
/* HIA_F32 or HIA_F64. HIA_ARGUMENT, and HIA_BOOL, if there is no such param. */
HIA_API hia_status hia_param_cell_dtype(const hia_param_cell *cell, size_t i, hia_dtype *dtype);
/* The number of axes; 0: a scalar. */
HIA_API size_t hia_param_cell_rank(const hia_param_cell *cell, size_t i);
/* The sizes, as many as the rank; of a scalar NULL. */
HIA_API const int64_t *hia_param_cell_dims(const hia_param_cell *cell, size_t i);
/* The bytes of all elements. */
HIA_API size_t hia_param_cell_size(const hia_param_cell *cell, size_t i);

/* Copies the elements, in row-major order, to the caller's memory of hia_param_cell_size bytes.
 * Errors: HIA_NOT_FOUND; HIA_ARGUMENT, if `size` is another; HIA_MEMORY. */
HIA_API hia_status hia_param_cell_get(hia_param_cell *cell, size_t i, void *elements, size_t size,
                                      hia_error **error);
/* Sets a param to a copy of elements in row-major order; `rank` is the number of `dims`, of a
 * scalar 0. Errors: HIA_NOT_FOUND; HIA_ARGUMENT, if the param has another dtype or shape, and
 * without dims or elements; HIA_MEMORY. */
HIA_API hia_status hia_param_cell_set(hia_param_cell *cell, size_t i, hia_dtype dtype, size_t rank,
                                      const int64_t *dims, const void *elements, hia_error **error);
/* Sets all params to what their initialisers make of a seed. Errors: HIA_MEMORY. */
HIA_API hia_status hia_param_cell_seed(hia_param_cell *cell, uint64_t seed, hia_error **error);
/* Frees what was set or made: the next call has the first values again. A host calls it before it
 * closes a shared library that holds the object. */
HIA_API void hia_param_cell_reset(hia_param_cell *cell);

/* Sets all params from a safetensors file, or from FILE.npz, which has a tensor of the name, dtype
 * and shape of each, and perhaps others. Errors: HIA_IO, HIA_ARGUMENT, HIA_MEMORY; the error says
 * what is wrong with the file, and where. */
HIA_API hia_status hia_param_cell_load(hia_param_cell *cell, const char *path, hia_error **error);
/* Sets them with conversion: tensors may have other dtypes, also such that hiaton lacks, and their
 * elements become ones of the params' (docs/interchange.md, "Conversion"). */
HIA_API hia_status hia_param_cell_convert(hia_param_cell *cell, const char *path,
                                          hia_error **error);
/* Writes all params to a safetensors file, or to FILE.npz. It appears whole and on the disk, or not
 * at all: an older one of this name stays until then. Errors: HIA_IO, HIA_MEMORY. */
HIA_API hia_status hia_param_cell_save(hia_param_cell *cell, const char *path, hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
