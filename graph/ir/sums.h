/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The data types of sums. */
#ifndef HIA_GRAPH_SUMS_H
#define HIA_GRAPH_SUMS_H

#include "graph/ir/graph.h"
#include "runtime/base/shape.h"
#include "runtime/base/sums.h"

/* The type of gradients of tensors of this type that are added late: of f32 or f64, of rank 1 ..
 * HIA_MAX_RANK. Made when it is first asked for; "sum(f32[?, ?])". */
hia_type hiaG_sum_type(hia_types *types, hia_dtype dtype, uint32_t rank);
/* True if it is such a type; then *dtype and *rank are set. */
bool hiaG_sum_of(const hia_types *types, hia_type type, hia_dtype *dtype, uint32_t *rank);
bool hiaG_is_sum(const hia_types *types, hia_type type);
/* The rank of the tensors that it is a sum of; 0: it is none. */
uint32_t hiaG_rank_of_sum(const hia_types *types, hia_type type);
/* True if its name is that of a sum, whatever it consists of. The reader of graphs refuses others
 * of such names. */
bool hiaG_has_name_of_sum(const hia_types *types, hia_type type);

#endif
