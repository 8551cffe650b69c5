/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Changes that passes over function graphs make while they walk: replacing values on the way, and
 * moving nodes between regions. */
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* ---- replacing ---- */

hia_subst hiaG_subst(hia_graph *g, const hia_fn *fn) {
  hia_subst s = {.arena = &g->comp->scratch};
  hiaR_reserve(s.arena, &s.to, fn->values.len);
  if (fn->values.len) memset(s.to.data, 0xff, fn->values.len * sizeof(hia_value_id));
  s.to.len = fn->values.len;
  return s;
}

hia_value_id hiaG_resolve(hia_subst *s, hia_value_id v) {
  hia_value_id end = v;
  while (end < s->to.len && s->to.data[end] != HIA_NONE) end = s->to.data[end];
  while (v != end) { /* compress the path: else deeply nested branches take quadratic time */
    hia_value_id next = s->to.data[v];
    s->to.data[v] = end;
    v = next;
  }
  return end;
}

void hiaG_replace(hia_subst *s, hia_value_id v, hia_value_id by) {
  while (s->to.len <= v) hiaR_push(s->arena, &s->to, HIA_NONE); /* made since the pass began */
  by = hiaG_resolve(s, by);
  if (by != v) s->to.data[v] = by;
}

void hiaG_rewrite_ins(hia_subst *s, hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id *in = &fn->edges.data[node->ins + i];
    *in = hiaG_resolve(s, *in);
  }
}

void hiaG_set_ins(hia_graph *g, hia_fn *fn, hia_node_id n, const hia_value_id *ins,
                  uint32_t n_ins) {
  if (n_ins > fn->nodes.data[n].n_ins) {
    hiaR_reserve(&g->comp->arena, &fn->edges, fn->edges.len + n_ins);
    fn->nodes.data[n].ins = fn->edges.len;
    fn->edges.len += n_ins;
  }
  if (n_ins) memmove(fn->edges.data + fn->nodes.data[n].ins, ins, n_ins * sizeof *ins);
  fn->nodes.data[n].n_ins = n_ins;
}

void hiaG_set_outs(hia_graph *g, hia_fn *fn, hia_node_id n, const hia_type *types,
                   uint32_t n_outs) {
  fn->nodes.data[n].outs = fn->values.len;
  fn->nodes.data[n].n_outs = n_outs;
  for (uint32_t i = 0; i < n_outs; i++)
    hiaR_push(&g->comp->arena, &fn->values, (hia_value_info){n, types[i]});
}

/* ---- moving ---- */

/* Unlinks nodes first .. last, neighbours in one region, and sets their new region and its parent.
 */
static void take(hia_fn *fn, hia_node_id first, hia_node_id last, hia_region_id to) {
  hia_node *nodes = fn->nodes.data;
  hia_region *from = &fn->regions.data[nodes[first].region];
  hia_node_id before = nodes[first].prev, after = nodes[last].next;
  if (before == HIA_NONE)
    from->first = after;
  else
    nodes[before].next = after;
  if (after == HIA_NONE)
    from->last = before;
  else
    nodes[after].prev = before;
  for (hia_node_id n = first;; n = nodes[n].next) {
    nodes[n].region = to;
    if (nodes[n].regions != HIA_NONE) {
      fn->regions.data[nodes[n].regions].parent = to;
      if (nodes[n].op == HIA_OP_IF) fn->regions.data[nodes[n].regions + 1].parent = to;
    }
    if (n == last) break;
  }
}

void hiaG_move_range(hia_fn *fn, hia_node_id first, hia_node_id last, hia_region_id to,
                     hia_node_id at) {
  hia_node *nodes = fn->nodes.data;
  take(fn, first, last, to);
  hia_region *region = &fn->regions.data[to];
  hia_node_id before = at == HIA_NONE ? region->last : nodes[at].prev;
  nodes[first].prev = before;
  nodes[last].next = at;
  if (before == HIA_NONE)
    region->first = first;
  else
    nodes[before].next = first;
  if (at == HIA_NONE)
    region->last = last;
  else
    nodes[at].prev = last;
}

hia_node_id hiaG_splice(hia_fn *fn, hia_region_id from, hia_region_id to, hia_node_id at) {
  const hia_node *nodes = fn->nodes.data;
  hia_node_id first = hiaG_behind_args(fn, from), last = nodes[fn->regions.data[from].last].prev;
  if (nodes[first].op == HIA_OP_YIELD) return at;
  hiaG_move_range(fn, first, last, to, at);
  return first;
}

void hiaG_move(hia_fn *fn, hia_node_id n, hia_node_id at) {
  if (n == at || fn->nodes.data[n].next == at) return;
  hiaG_move_range(fn, n, n, fn->nodes.data[n].region, at);
}
