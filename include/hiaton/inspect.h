/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Looking at a module: its functions, the functions of the host that it declares, and their types
 * as data, for hosts that learn at run time what a program is. hiaton.h includes it.
 *
 *   size_t n = hia_module_function_count(module);
 *   for (size_t i = 0; i < n; i++) {
 *     hia_function *f;
 *     if (hia_module_function_at(module, i, &f, &error) != HIA_OK) ...
 *     for (size_t k = 0; k < hia_function_arity(f); k++)
 *       hia_type_info_kind(hia_function_param_type(f, k)) ...
 *   }
 *
 * What is returned as const belongs to the module and lives as long as it does. None of it changes:
 * any thread may read it at any time, without a lock. NULL for an object, and an index past the
 * end, give NULL, "", 0 or false. */
#ifndef HIATON_INSPECT_H
#define HIATON_INSPECT_H

#include <hiaton/hiaton.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_type_info hia_type_info; /* a type of a program */
typedef struct hia_extern_info
    hia_extern_info; /* a function of the host, as a module declares it */

/* ---- types ---- */

/* The numbers are part of the public ABI. Later versions add kinds: a host handles a kind that it
 * does not know like a function that it cannot call. */
typedef enum hia_type_kind {
  HIA_KIND_NONE = 0,   /* of NULL: no type, or one that is not known */
  HIA_KIND_SCALAR = 1, /* hia_type_info_dtype */
  HIA_KIND_TUPLE = 2,  /* hia_type_info_len parts, 2 or more */
} hia_type_kind;

HIA_API hia_type_kind hia_type_info_kind(const hia_type_info *type);
/* The dtype of a scalar; HIA_ARGUMENT, and *dtype is HIA_BOOL, of any other kind. */
HIA_API hia_status hia_type_info_dtype(const hia_type_info *type, hia_dtype *dtype);
/* The number of parts of a tuple; 0 of any other kind. */
HIA_API size_t hia_type_info_len(const hia_type_info *type);
HIA_API const hia_type_info *hia_type_info_part(const hia_type_info *type, size_t i);
/* The scalars of a type in order, those of inner tuples too: what a typed entry has parameters or
 * pointers for. Returns their number; *dtypes is an array of as many. `dtypes` may be NULL. */
HIA_API size_t hia_type_info_scalars(const hia_type_info *type, const hia_dtype **dtypes);
/* True if both are types and the same one, be they of different modules or engines. */
HIA_API bool hia_type_info_is_same(const hia_type_info *a, const hia_type_info *b);
/* Writes the type as the language does, "(i32, f64)", as snprintf does: at most `size` bytes, NUL
 * included. Returns the length of the whole. */
HIA_API size_t hia_type_info_format(const hia_type_info *type, char *buf, size_t size);

/* ---- the functions of a module ---- */

/* The number of functions that the program defines; of a module that was read as a graph, of those
 * that the graph was dumped for. */
HIA_API size_t hia_module_function_count(const hia_module *module);
/* Function i in the order of the source, as hia_module_function finds it by its name: one with all
 * its types, or a generic function. HIA_NOT_FOUND past the end. */
HIA_API hia_status hia_module_function_at(hia_module *module, size_t i, hia_function **function,
                                          hia_error **error);

/* The name of a parameter in the source; "" in a module that was read as a graph. */
HIA_API const char *hia_function_param_name(const hia_function *function, size_t i);
/* NULL: the parameter has no type of its own, which makes the function generic. */
HIA_API const hia_type_info *hia_function_param_type(const hia_function *function, size_t i);
/* NULL: the function is generic. */
HIA_API const hia_type_info *hia_function_result_type(const hia_function *function);
/* True if a call of the function may call an impure function of the host. */
HIA_API bool hia_function_is_impure(const hia_function *function);
/* True if runs of the function may have fuel (hia_run_options): all but those of some modules that
 * were read as graphs. */
HIA_API bool hia_function_can_have_fuel(const hia_function *function);

/* The typed entry of a function (hiaton/runtime.h), as data: the dtypes of the parameters behind
 * the context, and of what the pointers behind those point to. Return their number; *dtypes is an
 * array of as many. 0 and NULL of a generic function. `dtypes` may be NULL. */
HIA_API size_t hia_function_entry_params(const hia_function *function, const hia_dtype **dtypes);
HIA_API size_t hia_function_entry_results(const hia_function *function, const hia_dtype **dtypes);
/* Compares that with what a host is about to cast the entry to. HIA_OK if it is the same; else
 * HIA_ARGUMENT, and the error says what the entry has. */
HIA_API hia_status hia_function_check_entry(const hia_function *function, const hia_dtype *params,
                                            size_t n_params, const hia_dtype *results,
                                            size_t n_results, hia_error **error);

/* ---- the functions of the host that a module declares ---- */

HIA_API size_t hia_module_extern_count(const hia_module *module);
/* In the order of the source. */
HIA_API const hia_extern_info *hia_module_extern(const hia_module *module, size_t i);
HIA_API const char *hia_extern_name(const hia_extern_info *function);
/* "extern impure fn used(n: i64) -> i64", as hia_engine_register takes it. */
HIA_API const char *hia_extern_declaration(const hia_extern_info *function);
HIA_API size_t hia_extern_arity(const hia_extern_info *function);
HIA_API const char *hia_extern_param_name(const hia_extern_info *function, size_t i);
HIA_API const hia_type_info *hia_extern_param_type(const hia_extern_info *function, size_t i);
HIA_API const hia_type_info *hia_extern_result_type(const hia_extern_info *function);
HIA_API bool hia_extern_is_impure(const hia_extern_info *function);
/* True if there is a function for it in this process. False: the module was loaded to be checked,
 * shown or built (link_externs). */
HIA_API bool hia_extern_is_bound(const hia_extern_info *function);

#ifdef __cplusplus
}
#endif
#endif
