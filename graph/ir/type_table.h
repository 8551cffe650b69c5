/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of a graph from a table of types, such as that of a value. */
#ifndef HIA_TYPE_TABLE_H
#define HIA_TYPE_TABLE_H

#include "graph/ir/graph.h"

/* The types of a table, to read only: nothing may be added to them. */
hia_types hiaG_types_view(const hia_type_table *table, hia_comp *comp);
/* Copies a table; the types keep their numbers. */
void hiaG_types_copy(hia_types *types, hia_comp *comp, const hia_type_table *table);

#endif
