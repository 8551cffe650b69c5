/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values, made with the memory of an engine. hiaton.h includes it. How
 * values are read, printed and saved, tables of nodes, and who owns what: hiaton/data.h.
 *
 *   const hia_type_info *list = hia_module_type(module, "List");
 *   const int64_t words[] = {7, HIA_NODE_CTOR(0), 5, 0};
 *   const hia_value_node nodes[] = {{0, 1, 0}, {0, 1, 0}};          Cons(7, Nil), Cons(5, node 0)
 *   hia_value_nodes table = HIA_VALUE_NODES_INIT;
 *   table.types = &list, table.n_types = 1;
 *   table.nodes = nodes, table.n_nodes = 2;
 *   table.words = words, table.n_words = 4;
 *   if (hia_data_from_nodes(hia_engine_allocator(engine), &table, &value, &error) == HIA_OK) ... */
#ifndef HIATON_VALUES_H
#define HIATON_VALUES_H

#include <hiaton/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A scalar of that dtype; values are never converted. NULL when out of memory (hia_call then
 * returns HIA_ARGUMENT). */
HIA_API hia_value *hia_value_bool(hia_engine *engine, bool x);
HIA_API hia_value *hia_value_i32(hia_engine *engine, int32_t x);
HIA_API hia_value *hia_value_i64(hia_engine *engine, int64_t x);
HIA_API hia_value *hia_value_f32(hia_engine *engine, float x);
HIA_API hia_value *hia_value_f64(hia_engine *engine, double x);
/* A tuple of n >= 2 values, which remain the caller's; NULL when out of memory, if a part is NULL,
 * if it would hold more than 1000 scalars, data values and arrays, or if parts have different data
 * types of one name. */
HIA_API hia_value *hia_value_tuple(hia_engine *engine, hia_value *const *parts, size_t n);
/* Reads an argument as the command line writes it, "3", "(1, -2.5)", "Node(Leaf(1), Nil)",
 * "[1 + 2, 3]": a constant expression of the type of parameter `i`; if that is generic, the
 * expression determines the type. HIA_ARGUMENT if the text is not such an expression. */
HIA_API hia_status hia_value_parse(hia_function *function, size_t i, const char *text,
                                   hia_value **value, hia_error **error);

/* Makes a value of a data type: its constructor number `ctor`, from 0, with all its fields in
 * order. The fields remain the caller's. HIA_ARGUMENT if there is no such constructor, or the
 * number of fields or the type of one is wrong; HIA_SHAPE if a tensor has other sizes than its
 * field declares, as `f32[3]` does. */
HIA_API hia_status hia_value_data(hia_engine *engine, const hia_type_info *type, size_t ctor,
                                  hia_value *const *fields, size_t n, hia_value **value,
                                  hia_error **error);
/* Makes an array of n elements; `type` is the type of the array. The elements remain the
 * caller's. HIA_ARGUMENT if the type of one is wrong. */
HIA_API hia_status hia_value_array(hia_engine *engine, const hia_type_info *type,
                                   hia_value *const *elements, size_t n, hia_value **value,
                                   hia_error **error);

/* As hia_value_parse, for text that need not end in a NUL. `name` stands for where it comes from in
 * messages, such as the name of a file; NULL: "argument 1". */
HIA_API hia_status hia_value_parse_text(hia_function *function, size_t i, const char *name,
                                        const char *text, size_t len, hia_value **value,
                                        hia_error **error);

/* ---- params as values ---- */

/* The type of param i of a module, f32 or f64 or a tensor type of these; NULL if there is none. It
 * belongs to the module. */
HIA_API const hia_type_info *hia_module_param_type(const hia_module *module, size_t i);
/* A copy of the value of param i, which the caller frees. Errors: HIA_NOT_FOUND, HIA_MEMORY. */
HIA_API hia_status hia_module_param(hia_module *module, size_t i, hia_value **value,
                                    hia_error **error);
/* Sets param i to a copy of a value of its dtype and shape. Errors: HIA_NOT_FOUND, HIA_ARGUMENT,
 * HIA_MEMORY. */
HIA_API hia_status hia_module_set_param(hia_module *module, size_t i, const hia_value *value,
                                        hia_error **error);

#ifdef __cplusplus
}
#endif
#endif
