/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What versions with guards (suppose.c) and code that was built with a profile (prefer.c) share. */
#ifndef HIA_ROUNDS_H
#define HIA_ROUNDS_H

#include "graph/ir/graph.h"

/* Ends the region with a GUARD, whose n results it yields. */
void hiaG_guard(hia_graph *g, hia_fn *fn, hia_region_id region, const hia_type *types, uint32_t n,
                uint32_t number, hia_loc_id loc);

/* True if so many rounds are few, of a small loop. */
bool hiaG_is_short(const hia_fn *fn, hia_node_id loop, uint64_t rounds);
/* Replaces a loop by so many rounds, one behind the other. With more rounds or fewer it comes to a
 * guard of this number; NONE: fewer end it as they did, and behind the others stands the loop. */
void hiaG_unroll_rounds(hia_graph *g, hia_fn *fn, hia_node_id loop, uint32_t rounds,
                        uint32_t guard);
/* True if the value decides something, or an operation would be faster if it were a constant. */
bool hiaG_decides(const hia_fn *fn, hia_value_id v);

#endif
