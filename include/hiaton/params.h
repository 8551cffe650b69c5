/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The params of a module: the tensors and scalars of floats that its program declares with `param`,
 * which runs read. hiaton.h includes it.
 *
 *   if (hia_module_load_params(module, "model.safetensors", &error) != HIA_OK) ...
 *   for (size_t i = 0; i < hia_module_param_count(module); i++)
 *     printf("%s\n", hia_module_param_name(module, i));
 *
 * At first a module's params have the values that their initialisers make of the seed 0: the same
 * on every machine (docs/params.md). They are made when the first run, or a function below, needs
 * them.
 *
 * Params change all at once. A run sees them as they were when it began, whatever others set
 * meanwhile. Any thread may call these functions at any time; of two that set params at the same
 * time one comes after the other. A function that fails has changed nothing.
 *
 * For NULL instead of a module, and for an index past the end, functions that return no status
 * return NULL, "" or 0. */
#ifndef HIATON_PARAMS_H
#define HIATON_PARAMS_H

#include <hiaton/hiaton.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many params there are; they are numbered in the order of their declarations. */
HIA_API size_t hia_module_param_count(const hia_module *module);
HIA_API const char *hia_module_param_name(const hia_module *module, size_t i);
/* The number of the param of this name, or the count. */
HIA_API size_t hia_module_param_find(const hia_module *module, const char *name);
/* f32 or f64, or a tensor type of these. */
HIA_API const hia_type_info *hia_module_param_type(const hia_module *module, size_t i);
/* The sizes of a tensor: hia_type_info_rank of them. They live as long as the module. */
HIA_API const int64_t *hia_module_param_dims(const hia_module *module, size_t i);

/* A copy of the value, which the caller frees. Errors: HIA_NOT_FOUND, HIA_MEMORY. */
HIA_API hia_status hia_module_param(hia_module *module, size_t i, hia_value **value,
                                    hia_error **error);
/* Sets a param to a copy of a value of its dtype and shape. Errors: HIA_NOT_FOUND, HIA_ARGUMENT,
 * HIA_MEMORY. */
HIA_API hia_status hia_module_set_param(hia_module *module, size_t i, const hia_value *value,
                                        hia_error **error);
/* Sets all params to what their initialisers make of a seed. Errors: HIA_MEMORY. */
HIA_API hia_status hia_module_seed_params(hia_module *module, uint64_t seed, hia_error **error);

/* Sets all params from a file, which has a tensor of the name, dtype and shape of each, and perhaps
 * others: an archive of NumPy if its name ends in ".npz", else a safetensors file. Errors: HIA_IO,
 * HIA_ARGUMENT, HIA_MEMORY, and of an archive HIA_UNSUPPORTED if there is no zlib; the error says
 * what is wrong with the file, and where. */
HIA_API hia_status hia_module_load_params(hia_module *module, const char *path, hia_error **error);
/* Sets them with conversion: tensors may have other dtypes, also such that hiaton lacks, and their
 * elements become ones of the params' (docs/interchange.md, "Conversion"). */
HIA_API hia_status hia_module_convert_params(hia_module *module, const char *path,
                                             hia_error **error);
/* Writes all params to such a file. It appears whole and on the disk, or not at all: an
 * older one of this name stays until then. Errors: HIA_IO, HIA_MEMORY, HIA_UNSUPPORTED. */
HIA_API hia_status hia_module_save_params(hia_module *module, const char *path, hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
