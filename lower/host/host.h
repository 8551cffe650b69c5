/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What hosts call: the module's record, typed entries, plain functions, and maps over columns. */
#ifndef HIA_LOWER_HOST_H
#define HIA_LOWER_HOST_H

#include "lower/kit/emit.h"

/* ---- host.c ---- */

/* Builds what hosts call, with the module's record. */
void hiaL_host_side(hia_emit *e);
/* True if the root has a plain function in this module. */
bool hiaL_is_plain(hia_emit *e, hia_fn_id root);

/* ---- map.c ---- */

/* True if the root has a map entry: all in the JIT, in an object those that the plan names. */
bool hiaL_has_map(const hia_emit *e, hia_fn_id root);
/* True if the function is a root whose map calls a kernel. */
bool hiaL_has_kernel(hia_emit *e, hia_fn_id id);
/* Builds the map entry of root number `root` of the record. */
void hiaL_map_entry(hia_emit *e, hia_fn_id id, uint32_t root, LLVMValueRef record);
/* Builds the loop that the entry runs, with its kernel. */
void hiaL_map_loop(hia_emit *e, hia_fn_id id);

#endif
