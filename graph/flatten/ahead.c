/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the walk must know of a function before it begins. */
#include "graph/flatten/flattener.h"
#include <stdlib.h>

typedef struct extent {
  hia_region_id parent, region;
  hia_node_id first, last;
} extent;

static int by_extent(const void *a, const void *b) {
  const extent *x = a, *y = b;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  if (x->last != y->last) return x->last < y->last ? -1 : 1;
  return x->region < y->region ? -1 : x->region > y->region;
}

void hiaG_flat_order_regions(hia_flattener *f) {
  uint32_t n = f->fn->regions.len;
  extent *extents = HIA_NEW_ARRAY(f->scratch, extent, n);
  f->order_at = HIA_NEW_ARRAY(f->scratch, uint32_t, n + 2);
  for (hia_region_id r = 1; r < n; r++) {
    const hia_region *region = &f->fn->regions.data[r];
    extents[r - 1] = (extent){region->parent, r, region->first, region->last};
    f->order_at[region->parent + 1]++;
  }
  for (uint32_t r = 0; r <= n; r++) f->order_at[r + 1] += f->order_at[r];
  if (n > 1) qsort(extents, n - 1, sizeof *extents, by_extent);
  f->order = HIA_NEW_ARRAY(f->scratch, hia_region_id, n);
  for (uint32_t i = 0; i + 1 < n; i++) f->order[i] = extents[i].region;
}

static bool is_owned(const hia_node *n) { return n->op == HIA_OP_MERGE || n->op == HIA_OP_EXIT; }

void hiaG_flat_look_ahead(hia_flattener *f) {
  uint32_t n_nodes = f->fn->nodes.len, n_regions = f->fn->regions.len;
  f->owned_at = HIA_NEW_ARRAY(f->scratch, uint32_t, n_regions + 2);
  f->switches = HIA_NEW_ARRAY(f->scratch, uint32_t, n_regions);
  f->owned_index = HIA_NEW_ARRAY(f->scratch, uint32_t, n_nodes);
  f->uses = HIA_NEW_ARRAY(f->scratch, uint32_t, f->fn->values.len);
  uint32_t n_owned = 0;
  for (hia_node_id i = 0; i < n_nodes; i++) {
    const hia_node *n = &f->fn->nodes.data[i];
    if (is_owned(n)) f->owned_at[(hia_region_id)n->imm + 2]++, n_owned++;
    if (n->op == HIA_OP_MERGE || n->op == HIA_OP_SWITCH) f->switches[(hia_region_id)n->imm]++;
    for (uint32_t k = 0; k < n->n_ins; k++) f->uses[hiaG_in(f->fn, i, k)]++;
  }
  for (uint32_t r = 2; r < n_regions + 2; r++) f->owned_at[r] += f->owned_at[r - 1];
  f->owned = HIA_NEW_ARRAY(f->scratch, hia_node_id, n_owned);
  f->port = HIA_NEW_ARRAY(f->scratch, uint32_t, 2 * (size_t)n_owned);
  for (hia_node_id i = 0; i < n_nodes; i++) {
    const hia_node *n = &f->fn->nodes.data[i];
    if (!is_owned(n)) continue;
    f->owned_index[i] = f->owned_at[(hia_region_id)n->imm + 1]++;
    f->owned[f->owned_index[i]] = i;
  }
}

uint32_t *hiaG_flat_new_none(hia_flattener *f, uint32_t n) {
  uint32_t *a = HIA_NEW_ARRAY(f->scratch, uint32_t, n);
  memset(a, 0xff, n * sizeof *a);
  return a;
}

void hiaG_flat_find_sets(hia_flattener *f) {
  f->is_set = HIA_NEW_ARRAY(f->scratch, bool, f->fn->values.len);
  for (hia_node_id i = f->fn->nodes.len; i-- > 0;) {
    const hia_node *n = &f->fn->nodes.data[i];
    bool is_set = n->op == HIA_OP_SET || n->op == HIA_OP_WITH;
    f->has_sets |= is_set;
    if (n->op == HIA_OP_SWITCH) is_set = f->is_set[n->outs] || f->is_set[n->outs + 1];
    if (n->op == HIA_OP_MERGE) is_set = f->is_set[n->outs];
    if (!is_set) continue;
    f->is_set[hiaG_in(f->fn, i, 0)] = true;
    if (n->op == HIA_OP_MERGE) f->is_set[hiaG_in(f->fn, i, 1)] = true;
  }
}

void hiaG_flat_find_fields(hia_flattener *f) {
  uint32_t *last = hiaG_flat_new_none(f, f->fn->values.len); /* by value: the last FIELD of it */
  f->next_field = hiaG_flat_new_none(f, f->fn->nodes.len);
  for (hia_node_id i = 0; i < f->fn->nodes.len; i++) {
    const hia_node *n = &f->fn->nodes.data[i];
    if (n->op != HIA_OP_FIELD) continue;
    uint32_t *before = &last[hiaG_in(f->fn, i, 0)];
    const hia_node *b = *before == HIA_NONE ? NULL : &f->fn->nodes.data[*before];
    if (b && b->region == n->region && HIA_IMM_A(b->imm) == HIA_IMM_A(n->imm))
      f->next_field[*before] = i;
    *before = i;
  }
}

hia_region_id hiaG_flat_only_loop(const hia_fn *fn) {
  hia_region_id loop = HIA_NONE;
  for (hia_region_id r = 1; r < fn->regions.len; r++)
    if (fn->regions.data[r].parent == 0) {
      if (fn->regions.data[r].kind != HIA_REGION_HEAD || loop != HIA_NONE) return HIA_NONE;
      loop = r;
    }
  for (hia_node_id i = 0; i < fn->nodes.len; i++) {
    if (fn->nodes.data[i].region != 0) continue;
    switch (fn->nodes.data[i].op) {
    case HIA_OP_MERGE_ENTRY:
    case HIA_OP_CONST:
    case HIA_OP_UNDEF:
    case HIA_OP_ENTER:
    case HIA_OP_EXIT:
    case HIA_OP_YIELD: break;
    default: return HIA_NONE;
    }
  }
  return loop;
}
