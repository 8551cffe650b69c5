/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Flattens branches: all Switches of one are one node, and Merges become slots that either side
 * writes. */
#include "graph/flatten/flattener.h"

uint32_t hiaG_flat_branch(hia_flattener *f, hia_region_id r) {
  const hia_region *region = &f->fn->regions.data[r];
  hia_region_id first = region->kind == HIA_REGION_ELSE ? r - 1 : r;
  if (f->branch[first] == HIA_NONE) {
    uint32_t slot = f->slot[region->pred], source = f->source[region->pred];
    f->branch[first] = hiaG_flat_add(f, HIA_KIND_SWITCH, &slot, 1, &source, 1, HIA_NONE);
    hiaG_flat_node_at(f, f->branch[first])->weight = f->switches[first];
  }
  return f->branch[first];
}

void hiaG_flat_end_side(hia_flattener *f, hia_region_id r) {
  uint32_t port = f->fn->regions.data[r].kind == HIA_REGION_ELSE;
  hia_region_id first = r - port;
  for (uint32_t i = f->owned_at[first]; i < f->owned_at[first + 1]; i++) {
    hia_flat_section *s = hiaG_flat_here(f)->section;
    hia_node_id merge = f->owned[i];
    hia_value_id v = hiaG_in(f->fn, merge, port), out = hiaG_out(f->fn, merge, 0);
    if (f->slot[out] == HIA_NONE) hiaG_flat_own_slot(f, out, HIA_NONE);
    uint32_t from = hiaG_flat_slot(s, f->slot[v]), to = f->slot[out];
    if (s->slots.data[from].region == hiaG_flat_here(f)->local &&
        f->source[v] != HIA_FLAT_NO_SOURCE) {
      s->slots.data[from].part_of = to;
      f->port[2 * i + port] = f->source[v];
      continue;
    }
    /* The value is computed further out, is a constant, or is in the slot of another Merge. */
    unsigned op = hiaG_def(f->fn, v)->op;
    bool is_undef = op == HIA_OP_UNDEF || op == HIA_OP_JOIN;
    uint32_t slot = f->slot[v];
    hia_u32vec sources = {0};
    if (!is_undef) hiaR_push(f->scratch, &sources, f->source[v]);
    if (!is_undef && s->slots.data[from].is_set) hiaG_flat_wait_for_reads(f, from, &sources);
    uint32_t move = hiaG_flat_add(f, is_undef ? HIA_KIND_JOIN : HIA_KIND_MOVE, &slot, !is_undef,
                                  sources.data, sources.len, HIA_NONE);
    f->port[2 * i + port] = move;
    if (is_undef) continue;
    hiaG_flat_node_at(f, move)->n_outs = 1;
    hiaR_push(f->scratch, &s->pool, to);
  }
}

uint32_t hiaG_flat_either(hia_flattener *f, uint32_t if_true, uint32_t if_false) {
  hia_flat_section *s = hiaG_flat_here(f)->section;
  uint32_t at = s->pool.len;
  hiaR_push(f->scratch, &s->pool, if_true);
  hiaR_push(f->scratch, &s->pool, if_false);
  hia_flat_node *join = hiaG_flat_add_node(f, HIA_KIND_JOIN, HIA_NONE);
  join->is_merge = true;
  join->sources = at, join->n_sources = 2;
  return hiaG_flat_last_node(f);
}

void hiaG_flat_add_merge(hia_flattener *f, const hia_node *n, hia_node_id id) {
  const uint32_t *ports = f->port + 2 * (size_t)f->owned_index[id];
  hia_flat_section *s = hiaG_flat_here(f)->section;
  hiaG_flat_either(f, ports[0], ports[1]);
  s->slots.data[f->slot[n->outs]].region = hiaG_flat_here(f)->local;
  f->source[n->outs] = hiaG_flat_last_node(f);
}
