/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Introspection of a module: its functions, the host functions that it declares, and their types
 * as data, for hosts that know a program only at run time. hiaton.h includes it.
 *
 *   size_t n = hia_module_function_count(module);
 *   for (size_t i = 0; i < n; i++) {
 *     hia_function *f;
 *     if (hia_module_function_at(module, i, &f, &error) != HIA_OK) ...
 *     for (size_t k = 0; k < hia_function_arity(f); k++)
 *       hia_type_info_kind(hia_function_param_type(f, k)) ...
 *   }
 *
 * What is returned as const belongs to the module and lives as long as it does. None of it
 * changes: any thread may read it at any time, without a lock. For NULL instead of an object, and
 * for an index past the end, these functions return NULL, "", 0 or false. */
#ifndef HIATON_INSPECT_H
#define HIATON_INSPECT_H

#include <hiaton/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types (hia_type_info): hiaton/data.h. */
typedef struct hia_extern_info hia_extern_info; /* a host function, as a module declares it */

/* ---- the functions of a module ---- */

/* The number of functions that the program defines. In a module that was read as a graph, these
 * are the functions that the graph was dumped for. */
HIA_API size_t hia_module_function_count(const hia_module *module);
/* Function i in the order of the source: the one that hia_module_function finds by its name. It
 * has all its types, or is generic. Returns HIA_NOT_FOUND past the end. */
HIA_API hia_status hia_module_function_at(hia_module *module, size_t i, hia_function **function,
                                          hia_error **error);

/* The name of a parameter in the source; "" in a module that was read as a graph. */
HIA_API const char *hia_function_param_name(const hia_function *function, size_t i);
/* NULL if the parameter is declared without a type, which makes the function generic. */
HIA_API const hia_type_info *hia_function_param_type(const hia_function *function, size_t i);
/* NULL if the function is generic. */
HIA_API const hia_type_info *hia_function_result_type(const hia_function *function);
/* Names for the scalars, tensors and other parts of the result that are no tuples, from left to
 * right, however tuples nest: a gradient with respect to a param has the param's name, and the
 * value of value_and_grad is "value". NULL: what the part is gives it no name. Sets *names, which
 * may be NULL, to an array of as many as are returned; it lives as long as the module. It is known
 * once the function has been made ready (hia_function_prepare, a call): before that, 0 and NULL.
 * Made for hia_value_save_npz_parts. */
HIA_API size_t hia_function_result_names(const hia_function *function, const char *const **names);
/* True if a call of the function may call an impure host function. */
HIA_API bool hia_function_is_impure(const hia_function *function);
/* True if runs of the function may have fuel (hia_run_options). It is false only for functions of
 * some modules that were read as graphs. */
HIA_API bool hia_function_can_have_fuel(const hia_function *function);

/* In place of a dtype of a typed entry: data or an array, or a result that is a tensor. The
 * parameter is a const hia_value *, the object that a result pointer points to a hia_value *. */
#define HIA_ENTRY_VALUE ((hia_dtype)7)
/* A parameter that is a tensor: a pointer to the address of its elements, which its sizes follow
 * (hiaton/tensors.h); dtype and rank are those of its type. */
#define HIA_ENTRY_TENSOR ((hia_dtype)6)
/* The typed entry of a function (hiaton/runtime.h), as data: the dtypes of the parameters that
 * follow the context, and of the objects that the result pointers, which come last, point to. Both
 * functions return their number and set *dtypes to an array of as many; 0 and NULL for a generic
 * function. `dtypes` may be NULL. */
HIA_API size_t hia_function_entry_params(const hia_function *function, const hia_dtype **dtypes);
HIA_API size_t hia_function_entry_results(const hia_function *function, const hia_dtype **dtypes);
/* Compares the typed entry with the type that the host is about to cast it to. Returns HIA_OK if
 * they are the same, else HIA_ARGUMENT with an error that shows the types of the entry. */
HIA_API hia_status hia_function_check_entry(const hia_function *function, const hia_dtype *params,
                                            size_t n_params, const hia_dtype *results,
                                            size_t n_results, hia_error **error);

/* The data type of this name; NULL if the module has none. */
HIA_API const hia_type_info *hia_module_type(const hia_module *module, const char *name);

/* ---- the host functions that a module declares ---- */

HIA_API size_t hia_module_extern_count(const hia_module *module);
/* Extern i in the order of the source. */
HIA_API const hia_extern_info *hia_module_extern(const hia_module *module, size_t i);
HIA_API const char *hia_extern_name(const hia_extern_info *function);
/* "extern impure fn used(n: i64) -> i64", as hia_engine_register takes it. */
HIA_API const char *hia_extern_declaration(const hia_extern_info *function);
HIA_API size_t hia_extern_arity(const hia_extern_info *function);
HIA_API const char *hia_extern_param_name(const hia_extern_info *function, size_t i);
HIA_API const hia_type_info *hia_extern_param_type(const hia_extern_info *function, size_t i);
HIA_API const hia_type_info *hia_extern_result_type(const hia_extern_info *function);
HIA_API bool hia_extern_is_impure(const hia_extern_info *function);
/* True if this process has a function for it. It is false only in modules that were loaded to be
 * checked, dumped or built (HIA_FLAG_LINK_EXTERNS). */
HIA_API bool hia_extern_is_bound(const hia_extern_info *function);

#ifdef __cplusplus
}
#endif
#endif
