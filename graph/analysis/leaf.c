/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Which functions can be leaf functions, lowered without their calls: lower/function/leaf.c. */
#include "graph/analysis/analysis.h"

/* More arguments would be passed in memory, where a tail call cannot pass them on. */
enum { MAX_PARAMS = 4, MAX_RESULTS = 4 };

static uint32_t *count_uses(hia_arena *arena, const hia_fn *fn) {
  uint32_t *uses = HIA_NEW_ARRAY(arena, uint32_t, fn->values.len);
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) uses[hiaG_in(fn, n, i)]++;
  return uses;
}

static const hia_node *definition(const hia_fn *fn, hia_value_id v) {
  return &fn->nodes.data[fn->values.data[v].node];
}

/* Finds the only loop, or NONE. False if there are several, or if it is inside another region. */
static bool find_loop(const hia_fn *fn, hia_region_id *loop) {
  *loop = HIA_NONE;
  for (hia_region_id r = 0; r < fn->regions.len; r++) {
    if (fn->regions.data[r].kind != HIA_REGION_HEAD) continue;
    if (*loop != HIA_NONE || fn->regions.data[r].parent != 0) return false;
    *loop = r;
  }
  return true;
}

/* True if each variable of the loop begins as a parameter that nothing else uses, and nothing
 * happens before the loop. */
static bool is_whole(hia_arena *arena, const hia_fn *fn, hia_region_id loop, hia_value_id *with) {
  const uint32_t *uses = count_uses(arena, fn);
  const hia_region *head = &fn->regions.data[loop];
  for (hia_node_id n = 0; n < head->first; n++) {
    unsigned op = fn->nodes.data[n].op;
    if (op != HIA_OP_MERGE_ENTRY && op != HIA_OP_CONST && op != HIA_OP_UNDEF && op != HIA_OP_ENTER)
      return false;
  }
  for (hia_node_id n = head->first; n < head->last; n++) {
    if (fn->nodes.data[n].op != HIA_OP_MERGE_LOOP) continue;
    hia_value_id first = hiaG_in(fn, n, 0);
    const hia_node *enter = definition(fn, first);
    if (enter->op != HIA_OP_ENTER || uses[first] != 1) return false;
    hia_value_id from = fn->edges.data[enter->ins];
    const hia_node *entry = definition(fn, from);
    if (entry->op != HIA_OP_MERGE_ENTRY || uses[from] != 1) return false;
    with[HIA_IMM_A(entry->imm)] = hiaG_out(fn, n, 0);
  }
  return true;
}

hia_value_id *hiaG_restart_values(hia_arena *arena, const hia_fn *fn) {
  hia_value_id *with = HIA_NEW_ARRAY(arena, hia_value_id, fn->n_params);
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_MERGE_ENTRY)
      with[HIA_IMM_A(fn->nodes.data[n].imm)] = hiaG_out(fn, n, 0);
  hia_region_id loop;
  if (!find_loop(fn, &loop)) return NULL;
  return loop == HIA_NONE || is_whole(arena, fn, loop, with) ? with : NULL;
}

bool hiaG_can_be_leaf(hia_arena *arena, const hia_fn *fn) {
  if (fn->n_params > MAX_PARAMS || fn->n_results > MAX_RESULTS || hiaG_is_large(fn)) return false;
  hia_mark mark = hiaR_arena_mark(arena);
  bool can = hiaG_restart_values(arena, fn);
  hiaR_arena_release(arena, mark);
  return can;
}
