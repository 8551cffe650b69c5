/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Estimates for static graphs: how long code takes, in cycles of the op table, and how large it is.
 */
#include "graph/analysis.h"

/* The remainder of floats is computed bit by bit: some thousand steps for the largest divided by
 * the smallest. */
uint64_t hiaG_cost(const hia_fn *fn, hia_node_id n) {
  unsigned op = fn->nodes.data[n].op;
  if (op == HIA_OP_REM && hiaG_node_dtype(fn, n) == HIA_F64) return HIA_MAX_UNPOLLED;
  if (op == HIA_OP_REM && hiaG_node_dtype(fn, n) == HIA_F32) return HIA_MAX_UNPOLLED / 8;
  if (op == HIA_OP_HOST) return HIA_MAX_UNPOLLED; /* unknown */
  return hiaR_ops[op].cost;
}

bool hiaG_polls(const hia_fn *fn) {
  if (fn->nodes.len > HIA_MAX_STRAIGHT_LINE) return true;
  uint64_t cost = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) cost += hiaG_cost(fn, n);
  if (cost > HIA_MAX_UNPOLLED_FN) return true;
  for (hia_region_id r = 0; r < fn->regions.len; r++)
    if (fn->regions.data[r].kind == HIA_REGION_HEAD) return true;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_CALL_I) return true;
  return false;
}

hia_path hiaG_longer_path(hia_path a, hia_path b) {
  hia_path path = {.since = a.since > b.since ? a.since : b.since,
                   .is_bare = a.is_bare || b.is_bare,
                   .is_back = a.is_back || b.is_back};
  if (a.is_bare) path.bare = a.bare;
  if (b.is_bare && b.bare > path.bare) path.bare = b.bare;
  if (a.is_back) path.back = a.back;
  if (b.is_back && b.back > path.back) path.back = b.back;
  return path;
}

/* ---- sizes ---- */

enum { UNROLLED_NODES = 200, MANY_NODES = 4000, MANY_REGIONS = 1000 };
enum { MANY_FUNCTIONS = 64, MANY_RESULTS = 32 };

bool hiaG_is_large(const hia_fn *fn) {
  return fn->nodes.len > MANY_NODES || fn->regions.len > MANY_REGIONS;
}

hia_size_class hiaG_size_class(const hia_graph *g) {
  uint32_t n = 0;
  bool is_unrolled = false, is_wide = false;
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->is_removed) continue;
    if (hiaG_is_large(fn)) return HIA_SIZE_LARGE;
    is_wide |= fn->n_results > MANY_RESULTS;
    is_unrolled |= g->is_unrolled && fn->nodes.len > UNROLLED_NODES;
    n++;
  }
  if (n > MANY_FUNCTIONS || is_wide) return HIA_SIZE_MANY;
  return is_unrolled ? HIA_SIZE_UNROLLED : HIA_SIZE_USUAL;
}
