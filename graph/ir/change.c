/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Changing the body of a function: removing, replacing, compacting, copying. The vectors before a
 * compaction stay in the compilation's arena until it ends. Regions nest as deep as the user's
 * source, so nothing here recurses: a walk leaves a region through its owner. */
#include "graph/ir/change.h"
#include "graph/ir/build.h"

/* ---- walking: nodes in order of definition, one that has regions before what is inside ---- */

/* The node behind the end of region r, within region `stop`; NONE at the end of that. */
static hia_node_id leave(const hia_fn *fn, hia_region_id r, hia_region_id stop) {
  while (r != stop) {
    const hia_node *owner = &fn->nodes.data[fn->regions.data[r].owner];
    if (r + 1 < owner->regions + hiaG_n_regions(owner->op)) {
      r++;
      if (fn->regions.data[r].first != HIA_NONE) return fn->regions.data[r].first;
    } else {
      if (owner->next != HIA_NONE) return owner->next;
      r = owner->region;
    }
  }
  return HIA_NONE;
}

static hia_node_id first_in(const hia_fn *fn, hia_region_id r, hia_region_id stop) {
  hia_node_id first = fn->regions.data[r].first;
  return first != HIA_NONE ? first : leave(fn, r, stop);
}

static hia_node_id next_in(const hia_fn *fn, hia_node_id n, hia_region_id stop) {
  const hia_node *node = &fn->nodes.data[n];
  if (node->regions != HIA_NONE) return first_in(fn, node->regions, stop);
  return node->next != HIA_NONE ? node->next : leave(fn, node->region, stop);
}

/* Where the walk through the regions of a node stops. */
static hia_region_id last_region(const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  return node->regions + hiaG_n_regions(node->op) - 1;
}

/* ---- changing ---- */

void hiaG_clear_body(hia_graph *g, hia_fn *fn) {
  hia_region body = fn->regions.data[0];
  body.first = body.last = HIA_NONE;
  memset(&fn->nodes, 0, sizeof fn->nodes);
  memset(&fn->values, 0, sizeof fn->values);
  memset(&fn->edges, 0, sizeof fn->edges);
  memset(&fn->regions, 0, sizeof fn->regions);
  hiaR_push(&g->comp->arena, &fn->regions, body);
  for (uint32_t i = 0; i < fn->n_params; i++)
    hiaG_add(g, fn, 0, HIA_OP_ARG, NULL, 0, &fn->params[i], 1, i, HIA_NONE);
}

void hiaG_remove(hia_fn *fn, hia_node_id n) {
  hia_node *node = &fn->nodes.data[n];
  if (node->flags & HIA_NODE_DEAD) return;
  if (node->regions != HIA_NONE) {
    hia_region_id stop = last_region(fn, n);
    for (hia_node_id in = first_in(fn, node->regions, stop); in != HIA_NONE;
         in = next_in(fn, in, stop))
      fn->nodes.data[in].flags |= HIA_NODE_DEAD;
  }
  hia_region *region = &fn->regions.data[node->region];
  if (node->prev != HIA_NONE)
    fn->nodes.data[node->prev].next = node->next;
  else
    region->first = node->next;
  if (node->next != HIA_NONE)
    fn->nodes.data[node->next].prev = node->prev;
  else
    region->last = node->prev;
  node->prev = node->next = HIA_NONE;
  node->flags |= HIA_NODE_DEAD;
}

static hia_value_id end_of_chain(hia_value_id *map, hia_value_id v) {
  hia_value_id end = v;
  while (map[end] != HIA_NONE) end = map[end];
  while (v != end) { /* compress the path: long chains stay linear */
    hia_value_id next = map[v];
    map[v] = end;
    v = next;
  }
  return end;
}

void hiaG_substitute(hia_fn *fn, hia_value_id *map) {
  for (uint32_t i = 0; i < fn->edges.len; i++)
    fn->edges.data[i] = end_of_chain(map, fn->edges.data[i]);
  for (uint32_t i = 0; i < fn->regions.len; i++)
    if (fn->regions.data[i].pred != HIA_NONE)
      fn->regions.data[i].pred = end_of_chain(map, fn->regions.data[i].pred);
}

/* Only the four vectors are new. They get their exact sizes, which a first walk counts. */
void hiaG_compact(hia_graph *g, hia_fn *fn) {
  hia_arena *arena = &g->comp->arena, *scratch = &g->comp->scratch;
  uint32_t n_nodes = 0, n_values = 0, n_edges = 0, n_regions = 1;
  for (hia_node_id n = first_in(fn, 0, 0); n != HIA_NONE; n = next_in(fn, n, 0)) {
    const hia_node *node = &fn->nodes.data[n];
    n_nodes++;
    n_values += node->n_outs;
    n_edges += node->n_ins;
    n_regions += hiaG_n_regions(node->op);
  }
  hia_fn to = *fn;
  memset(&to.nodes, 0, sizeof to.nodes);
  memset(&to.values, 0, sizeof to.values);
  memset(&to.regions, 0, sizeof to.regions);
  memset(&to.edges, 0, sizeof to.edges);
  hiaR_reserve(arena, &to.nodes, n_nodes);
  hiaR_reserve(arena, &to.values, n_values);
  hiaR_reserve(arena, &to.regions, n_regions);
  hiaR_reserve(arena, &to.edges, n_edges);

  hia_mark mark = hiaR_arena_mark(scratch);
  hia_value_id *values = HIA_NEW_ARRAY(scratch, hia_value_id, fn->values.len);
  hia_region_id *regions = HIA_NEW_ARRAY(scratch, hia_region_id, fn->regions.len);
  if (fn->values.len) memset(values, 0xff, fn->values.len * sizeof *values);

  hia_region body = fn->regions.data[0];
  body.first = body.last = HIA_NONE;
  hiaR_push(arena, &to.regions, body);
  regions[0] = 0;
  for (hia_node_id n = first_in(fn, 0, 0); n != HIA_NONE; n = next_in(fn, n, 0)) {
    const hia_node *node = &fn->nodes.data[n];
    hia_node_id at = to.nodes.len;
    hia_node copy = *node;
    copy.region = regions[node->region];
    copy.ins = to.edges.len;
    copy.outs = to.values.len;
    for (uint32_t i = 0; i < node->n_ins; i++) {
      hia_value_id v = values[hiaG_in(fn, n, i)];
      if (v == HIA_NONE)
        HIA_BUG(g->comp, "%s: node %u (%s) uses %%%u, which is not defined before it", fn->name, n,
                hiaR_ops[node->op].name, hiaG_in(fn, n, i));
      hiaR_push(arena, &to.edges, v);
    }
    for (uint32_t i = 0; i < node->n_outs; i++) {
      values[hiaG_out(fn, n, i)] = to.values.len;
      hiaR_push(arena, &to.values, (hia_value_info){at, hiaG_type(fn, hiaG_out(fn, n, i))});
    }
    if (node->regions != HIA_NONE) {
      copy.regions = to.regions.len;
      for (uint32_t i = 0; i < hiaG_n_regions(node->op); i++) {
        hia_region region = fn->regions.data[node->regions + i];
        regions[node->regions + i] = to.regions.len;
        region.parent = regions[region.parent];
        region.owner = at;
        region.first = region.last = HIA_NONE;
        hiaR_push(arena, &to.regions, region);
      }
    }
    hia_region *home = &to.regions.data[copy.region];
    copy.prev = home->last;
    copy.next = HIA_NONE;
    if (home->last != HIA_NONE)
      to.nodes.data[home->last].next = at;
    else
      home->first = at;
    home->last = at;
    hiaR_push(arena, &to.nodes, copy);
  }
  hiaR_arena_release(scratch, mark);
  *fn = to;
}

/* ---- copying ---- */

/* The locations of copies: `loc` with `parent` added at the outer end of its chain. Chains are
 * walked from the inside out and rebuilt from the outside in. Neighbours in a body mostly have the
 * same chain, so the last few results are cached. */
typedef struct {
  hia_graph *g;
  hia_loc_id parent;
  hia_u32vec chain; /* scratch */
  struct {
    hia_loc_id from, to;
  } seen[64];
} relocation;

static hia_loc_id relocate(relocation *r, hia_loc_id loc) {
  if (loc == HIA_NONE || r->parent == HIA_NONE) return loc;
  r->chain.len = 0;
  hia_loc_id parent = r->parent;
  for (hia_loc_id l = loc; l != HIA_NONE; l = r->g->locs.data[l].parent) {
    if (r->seen[l % HIA_LEN(r->seen)].from == l) {
      parent = r->seen[l % HIA_LEN(r->seen)].to;
      break;
    }
    hiaR_push(&r->g->comp->scratch, &r->chain, l);
  }
  while (r->chain.len) {
    hia_loc_id l = r->chain.data[--r->chain.len];
    hia_loc copy = r->g->locs.data[l];
    parent = hiaG_loc(r->g, copy.line, copy.col, copy.fn, parent);
    r->seen[l % HIA_LEN(r->seen)].from = l;
    r->seen[l % HIA_LEN(r->seen)].to = parent;
  }
  return parent;
}

/* The nodes to copy, listed before any is added, because the copies may be put into the same
 * region.
 */
typedef struct {
  hia_node_id node;
  uint32_t owner; /* index of the node around it in this list; NONE: the region itself */
  hia_node_id copy;
} copied_node;

void hiaG_copy_region(hia_graph *g, hia_fn *to, hia_region_id region, hia_node_id at,
                      const hia_fn *from, hia_region_id from_region, hia_value_id *map,
                      hia_loc_id parent_loc) {
  hia_arena *scratch = &g->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  HIA_VEC(copied_node) list = {0};
  uint32_t owner = HIA_NONE;
  for (hia_node_id n = first_in(from, from_region, from_region); n != HIA_NONE;
       n = next_in(from, n, from_region)) {
    const hia_node *node = &from->nodes.data[n];
    /* The walk enters the regions of the previous node, or leaves some. */
    hia_node_id around =
        node->region == from_region ? HIA_NONE : from->regions.data[node->region].owner;
    if (around == HIA_NONE)
      owner = HIA_NONE;
    else if (list.len && list.data[list.len - 1].node == around)
      owner = list.len - 1;
    else
      while (list.data[owner].node != around) owner = list.data[owner].owner;
    if (owner == HIA_NONE && (node->op == HIA_OP_ARG || node->op == HIA_OP_YIELD)) continue;
    hiaR_push(scratch, &list, (copied_node){n, owner, HIA_NONE});
  }

  relocation locs = {.g = g, .parent = parent_loc};
  for (uint32_t i = 0; i < HIA_LEN(locs.seen); i++) locs.seen[i].from = HIA_NONE;
  hia_u32vec ins = {0};
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < list.len; i++) {
    copied_node *item = &list.data[i];
    hia_node node = from->nodes.data[item->node]; /* by value: `to` may be `from`, and grow */
    ins.len = types.len = 0;
    for (uint32_t k = 0; k < node.n_ins; k++) {
      hia_value_id v = from->edges.data[node.ins + k];
      if (map[v] != HIA_NONE)
        v = map[v];
      else if (to != from)
        HIA_BUG(g->comp, "copying from %s to %s: nothing stands for %%%u", from->name, to->name, v);
      hiaR_push(scratch, &ins, v);
    }
    for (uint32_t k = 0; k < node.n_outs; k++)
      hiaR_push(scratch, &types, from->values.data[node.outs + k].type);
    hia_loc_id loc = relocate(&locs, node.loc);
    if (item->owner == HIA_NONE && at != HIA_NONE) {
      item->copy =
          hiaG_insert(g, to, at, node.op, ins.data, ins.len, types.data, types.len, node.imm, loc);
    } else {
      hia_region_id home = region;
      if (item->owner != HIA_NONE) {
        const copied_node *around = &list.data[item->owner];
        home = to->nodes.data[around->copy].regions +
               (node.region - from->nodes.data[around->node].regions);
      }
      item->copy =
          hiaG_add(g, to, home, node.op, ins.data, ins.len, types.data, types.len, node.imm, loc);
    }
    to->nodes.data[item->copy].flags = node.flags;
    for (uint32_t k = 0; k < node.n_outs; k++) map[node.outs + k] = hiaG_out(to, item->copy, k);
  }
  hiaR_arena_release(scratch, mark);
}
