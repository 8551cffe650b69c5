/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The params of a program: the tensors and scalars of floats that it declares with `param`, which
 * its functions read. Both a module (hia_module_params, hiaton/engine.h) and an object file have
 * them: the header of an object whose program has params declares a function P_params.
 *
 *   hia_params *params = hia_module_params(module);
 *   hia_error *error;
 *   if (hia_params_load(params, "model.safetensors", &error) != HIA_OK) ...
 *   for (size_t i = 0; i < hia_params_count(params); i++)
 *     puts(hia_params_name(params, i));
 *
 * The first values are those that `hiaton build --params` has embedded, which stay where they are
 * in the object; without these, what the initialisers make of the seed, which is 0 unless
 * hia_build_options.seed says another: the same on every machine (docs/params.md). They are made
 * when the first call, or a function below, needs them.
 *
 * All threads, runs and contexts see the same params. They change all at once: a run sees them as
 * they were when it began, whatever others set meanwhile. Any thread may call these functions at
 * any time; of two that set params at the same time one comes after the other. A function that
 * fails has changed nothing. Memory comes from the allocator of the module's engine, and for an
 * object from malloc.
 *
 * For NULL instead of params, and for an index past the end, functions that return no status return
 * NULL, "" or 0. NULL is HIA_ARGUMENT for those that return one. `error` may be NULL; the caller
 * frees the error (hia_error_free). hiaton/values.h has params as values. */
#ifndef HIATON_PARAMS_H
#define HIATON_PARAMS_H

#include <hiaton/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_params hia_params; /* belongs to a module or an object; never freed by a host */

/* How many params there are; they are numbered in the order of their declarations. What the
 * functions up to hia_params_size return belongs to the module or the object, and never changes. */
HIA_API size_t hia_params_count(const hia_params *params);
HIA_API const char *hia_params_name(const hia_params *params, size_t i);
/* The number of the param of this name, or the count. */
HIA_API size_t hia_params_find(const hia_params *params, const char *name);
/* HIA_F32 or HIA_F64. HIA_ARGUMENT, and HIA_BOOL, if there is no such param. */
HIA_API hia_status hia_params_dtype(const hia_params *params, size_t i, hia_dtype *dtype);
/* The number of axes; 0: a scalar. */
HIA_API size_t hia_params_rank(const hia_params *params, size_t i);
/* The sizes, as many as the rank; of a scalar NULL. */
HIA_API const int64_t *hia_params_dims(const hia_params *params, size_t i);
/* The bytes of all elements. */
HIA_API size_t hia_params_size(const hia_params *params, size_t i);

/* Copies the elements, in row-major order, to the caller's memory of hia_params_size bytes.
 * Errors: HIA_NOT_FOUND; HIA_ARGUMENT, if `size` is another; HIA_MEMORY. */
HIA_API hia_status hia_params_get(hia_params *params, size_t i, void *elements, size_t size,
                                  hia_error **error);
/* Sets a param to a copy of elements in row-major order; `rank` is the number of `dims`, of a
 * scalar 0. Errors: HIA_NOT_FOUND; HIA_ARGUMENT, if the param has another dtype or shape, and
 * without dims or elements; HIA_MEMORY. */
HIA_API hia_status hia_params_set(hia_params *params, size_t i, hia_dtype dtype, size_t rank,
                                  const int64_t *dims, const void *elements, hia_error **error);
/* Sets all params to what their initialisers make of a seed. Errors: HIA_MEMORY. */
HIA_API hia_status hia_params_seed(hia_params *params, uint64_t seed, hia_error **error);
/* Frees what was set or made: the next call has the first values again. A host calls it before it
 * closes a shared library that holds the object. */
HIA_API void hia_params_reset(hia_params *params);

/* Sets all params from a file, which has a tensor of the name, dtype and shape of each, and perhaps
 * others: an archive of NumPy if its name ends in ".npz", else a safetensors file. Errors: HIA_IO,
 * HIA_ARGUMENT, HIA_MEMORY, and of an archive HIA_UNSUPPORTED if there is no zlib; the error says
 * what is wrong with the file, and where. */
HIA_API hia_status hia_params_load(hia_params *params, const char *path, hia_error **error);
/* Sets them with conversion: tensors may have other dtypes, also such that hiaton lacks, and their
 * elements become ones of the params' (docs/interchange.md, "Conversion"). */
HIA_API hia_status hia_params_convert(hia_params *params, const char *path, hia_error **error);
/* Writes all params to such a file. It appears whole and on the disk, or not at all: an older one
 * of this name stays until then. Errors: HIA_IO, HIA_MEMORY, HIA_UNSUPPORTED. */
HIA_API hia_status hia_params_save(hia_params *params, const char *path, hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
