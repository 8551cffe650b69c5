/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays, made with the memory of an engine. hiaton.h includes it. How
 * values are read, printed and saved, tables of nodes, and who owns what: hiaton/data.h.
 *
 *   const hia_type_info *list = hia_module_type(module, "List");
 *   const int64_t words[] = {7, HIA_NODE_CTOR(0), 5, 0};
 *   const hia_value_node nodes[] = {{0, 1, 0}, {0, 1, 0}};          Cons(7, Nil), Cons(5, node 0)
 *   hia_value_nodes table = HIA_VALUE_NODES_INIT;
 *   table.types = &list, table.n_types = 1;
 *   table.nodes = nodes, table.n_nodes = 2;
 *   table.words = words, table.n_words = 4;
 *   if (hia_value_from_nodes(engine, &table, &value, &error) == HIA_OK) ... */
#ifndef HIATON_VALUES_H
#define HIATON_VALUES_H

#include <hiaton/inspect.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* ---- what hiaton/data.h has with an allocator ----
 *
 * For each of these the function hia_data_* there documents what it does. */

HIA_API hia_status hia_value_from_nodes(hia_engine *engine, const hia_value_nodes *nodes,
                                        hia_value **value, hia_error **error);
HIA_API hia_status hia_value_read_brackets(hia_engine *engine, const hia_type_info *type,
                                           const char *name, const char *text, size_t len,
                                           const hia_bracket_options *options, hia_value **value,
                                           hia_error **error);
HIA_API hia_status hia_value_load(hia_engine *engine, const hia_type_info *type, const char *name,
                                  const void *bytes, size_t size, hia_value **value,
                                  hia_error **error);
HIA_API hia_status hia_value_load_file(hia_engine *engine, const hia_type_info *type,
                                       const char *path, hia_value **value, hia_error **error);
HIA_API hia_status hia_value_load_npy(hia_engine *engine, const hia_type_info *type,
                                      const char *name, const void *bytes, size_t size,
                                      hia_value **value, hia_error **error);
HIA_API hia_status hia_value_load_npy_file(hia_engine *engine, const hia_type_info *type,
                                           const char *path, hia_value **value, hia_error **error);

#ifdef __cplusplus
}
#endif
#endif
