/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Making and changing graphs.
 *
 * All memory is the compilation's arena. What a change replaces (the old operands of a node, the
 * vectors before a compaction) stays there until the compilation ends. Regions nest as deep as the
 * user's source, so nothing here recurses: a walk leaves a region through its owner. */
#include "graph/ir/graph.h"
#include "graph/ir/sums.h"

hia_graph *hiaG_new(hia_comp *comp, hia_types *types, const char *file) {
  hia_graph *g = HIA_NEW(&comp->arena, hia_graph);
  g->comp = comp;
  g->types = types;
  g->file = hiaR_arena_strndup(&comp->arena, file, strlen(file));
  return g;
}

uint32_t hiaG_name(hia_graph *g, const char *name) {
  size_t len = strlen(name);
  uint32_t hash = hiaR_hash(name, len), at = hash, i;
  while ((i = hiaR_index_next(&g->name_index, hash, &at)) != HIA_NONE)
    if (strcmp(g->names.data[i], name) == 0) return i;
  hiaR_index_add(&g->comp->arena, &g->name_index, hash, g->names.len);
  hiaR_push(&g->comp->arena, &g->names, hiaR_arena_strndup(&g->comp->arena, name, len));
  return g->names.len - 1;
}

hia_loc_id hiaG_loc(hia_graph *g, uint32_t line, uint32_t col, uint32_t fn_name,
                    hia_loc_id parent) {
  const hia_loc loc = {line, col, fn_name, parent};
  const uint32_t key[4] = {line, col, fn_name, parent};
  uint32_t hash = hiaR_hash(key, sizeof key), at = hash, i;
  while ((i = hiaR_index_next(&g->loc_index, hash, &at)) != HIA_NONE) {
    const hia_loc *l = &g->locs.data[i];
    if (l->line == line && l->col == col && l->fn == fn_name && l->parent == parent) return i;
  }
  hiaR_index_add(&g->comp->arena, &g->loc_index, hash, g->locs.len);
  hiaR_push(&g->comp->arena, &g->locs, loc);
  return g->locs.len - 1;
}

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

/* ---- making ---- */

static hia_node_id new_node(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                            const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                            uint32_t n_outs, uint64_t imm, hia_loc_id loc) {
  hia_arena *arena = &g->comp->arena;
  if (n_ins > UINT32_MAX - fn->edges.len || n_outs > UINT32_MAX - fn->values.len)
    hiaR_throw(g->comp, HIA_MEMORY, "out of memory: function %s is too large", fn->name);
  hia_node_id n = fn->nodes.len;
  hia_node node = {.op = (uint16_t)op,
                   .ins = fn->edges.len,
                   .n_ins = n_ins,
                   .outs = fn->values.len,
                   .n_outs = n_outs,
                   .region = region,
                   .prev = HIA_NONE,
                   .next = HIA_NONE,
                   .regions = HIA_NONE,
                   .loc = loc,
                   .imm = imm};
  /* `ins` may point into fn->edges: the arena keeps the old block readable when they move. */
  hiaR_reserve(arena, &fn->edges, fn->edges.len + n_ins);
  if (n_ins) memcpy(fn->edges.data + fn->edges.len, ins, n_ins * sizeof *ins);
  fn->edges.len += n_ins;
  hiaR_reserve(arena, &fn->values, fn->values.len + n_outs);
  for (uint32_t i = 0; i < n_outs; i++)
    fn->values.data[fn->values.len++] = (hia_value_info){n, out_types[i]};
  if (hiaG_n_regions(op)) {
    hia_region_kind kind = op == HIA_OP_IF     ? HIA_REGION_THEN
                           : op == HIA_OP_LOOP ? HIA_REGION_HEAD
                                               : HIA_REGION_EACH;
    node.regions = fn->regions.len;
    hia_region first = {.kind = (uint8_t)kind,
                        .parent = region,
                        .owner = n,
                        .first = HIA_NONE,
                        .last = HIA_NONE,
                        .pred = HIA_NONE};
    hia_region second = first;
    second.kind = op == HIA_OP_IF ? HIA_REGION_ELSE : HIA_REGION_ROUND;
    if (op == HIA_OP_LOOP) second.parent = node.regions;
    hiaR_push(arena, &fn->regions, first);
    if (hiaG_n_regions(op) == 2) hiaR_push(arena, &fn->regions, second);
  }
  hiaR_push(arena, &fn->nodes, node);
  return n;
}

hia_node_id hiaG_add(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                     uint32_t n_outs, uint64_t imm, hia_loc_id loc) {
  hia_node_id n = new_node(g, fn, region, op, ins, n_ins, out_types, n_outs, imm, loc);
  if (g->state == HIA_STATIC) return n;
  hia_region *r = &fn->regions.data[region];
  fn->nodes.data[n].prev = r->last;
  if (r->last != HIA_NONE)
    fn->nodes.data[r->last].next = n;
  else
    r->first = n;
  r->last = n;
  return n;
}

hia_node_id hiaG_insert(hia_graph *g, hia_fn *fn, hia_node_id at, unsigned op,
                        const hia_value_id *ins, uint32_t n_ins, const hia_type *out_types,
                        uint32_t n_outs, uint64_t imm, hia_loc_id loc) {
  hia_region_id region = fn->nodes.data[at].region;
  hia_node_id n = new_node(g, fn, region, op, ins, n_ins, out_types, n_outs, imm, loc);
  hia_node_id prev = fn->nodes.data[at].prev;
  fn->nodes.data[n].prev = prev;
  fn->nodes.data[n].next = at;
  fn->nodes.data[at].prev = n;
  if (prev != HIA_NONE)
    fn->nodes.data[prev].next = n;
  else
    fn->regions.data[region].first = n;
  return n;
}

const char *hiaG_new_name(hia_graph *g, const char *of, const char *suffix) {
  const char *name = of;
  for (bool is_taken = true; is_taken;) {
    name = hiaR_arena_printf(&g->comp->arena, "%s%s", name, suffix);
    is_taken = false;
    for (hia_fn_id f = 0; f < g->fns.len && !is_taken; f++)
      is_taken = !hiaG_fn(g, f)->is_removed && strcmp(hiaG_fn(g, f)->name, name) == 0;
  }
  return name;
}

hia_fn_id hiaG_fn_new(hia_graph *g, const char *name, uint32_t source, hia_loc_id loc,
                      const hia_type *params, uint32_t n_params, const hia_type *results,
                      uint32_t n_results) {
  hia_arena *arena = &g->comp->arena;
  hia_fn *fn = HIA_NEW(arena, hia_fn);
  fn->name = hiaR_arena_strndup(arena, name, strlen(name));
  fn->source = source;
  fn->loc = loc;
  fn->slow_path = fn->gradient = fn->owning_of = HIA_NONE;
  fn->params = HIA_NEW_ARRAY(arena, hia_type, n_params);
  fn->results = HIA_NEW_ARRAY(arena, hia_type, n_results);
  if (n_params) memcpy(fn->params, params, n_params * sizeof *params);
  if (n_results) memcpy(fn->results, results, n_results * sizeof *results);
  fn->n_params = n_params;
  fn->n_results = n_results;
  hia_region body = {.kind = HIA_REGION_BODY,
                     .parent = HIA_NONE,
                     .owner = HIA_NONE,
                     .first = HIA_NONE,
                     .last = HIA_NONE,
                     .pred = HIA_NONE};
  hiaR_push(arena, &fn->regions, body);
  if (g->state == HIA_FUNCTIONS)
    for (uint32_t i = 0; i < n_params; i++)
      hiaG_add(g, fn, 0, HIA_OP_ARG, NULL, 0, &params[i], 1, i, HIA_NONE);
  hiaR_push(arena, &g->fns, fn);
  return g->fns.len - 1;
}

hia_value_id hiaG_computed(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                           const hia_value_id *ins, uint32_t n_ins, hia_dtype result, uint64_t imm,
                           hia_loc_id loc) {
  enum { FEW = 8 };
  hia_type few[FEW], *types = few;
  if (n_ins > FEW) types = HIA_NEW_ARRAY(&g->comp->scratch, hia_type, n_ins);
  for (uint32_t i = 0; i < n_ins; i++) types[i] = hiaG_type(fn, ins[i]);
  hia_type type = hiaG_op_type(g->types, op, imm, types, n_ins, result);
  if (type == HIA_NONE) HIA_BUG(g->comp, "%s does not take these operands", hiaR_ops[op].name);
  return hiaG_out(fn, hiaG_add(g, fn, region, op, ins, n_ins, &type, 1, imm, loc), 0);
}

hia_value_id hiaG_op(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                     const hia_value_id *ins, uint32_t n_ins, hia_loc_id loc) {
  return hiaG_computed(g, fn, region, op, ins, n_ins, HIA_N_DTYPES, 0, loc);
}

hia_value_id hiaG_const(hia_graph *g, hia_fn *fn, hia_region_id region, hia_type type,
                        hia_word word, hia_loc_id loc) {
  return hiaG_out(fn, hiaG_add(g, fn, region, HIA_OP_CONST, NULL, 0, &type, 1, word, loc), 0);
}

void hiaG_yield(hia_graph *g, hia_fn *fn, hia_region_id region, const hia_value_id *ins,
                uint32_t n) {
  hiaG_add(g, fn, region, HIA_OP_YIELD, ins, n, NULL, 0, 0, HIA_NONE);
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

/* ---- functions of the host ---- */

static uint32_t flatten_types(hia_graph *g, const hia_type *types, uint32_t n, hia_type **out) {
  uint32_t words = 0;
  for (uint32_t i = 0; i < n; i++) words += hiaG_type_words(g->types, types[i]);
  hia_type *at = *out = HIA_NEW_ARRAY(&g->comp->arena, hia_type, words);
  for (uint32_t i = 0; i < n; i++) {
    hiaG_type_flatten(g->types, types[i], at);
    at += hiaG_type_words(g->types, types[i]);
  }
  return words;
}

uint32_t hiaG_extern_new(hia_graph *g, const char *name, bool is_impure, bool raises,
                         const hia_type *params, uint32_t n_params, hia_type result) {
  hia_arena *arena = &g->comp->arena;
  hia_extern e = {.name = hiaR_arena_strndup(arena, name, strlen(name)),
                  .is_impure = is_impure,
                  .raises = raises,
                  .gradient = HIA_NONE,
                  .sig_params = HIA_NEW_ARRAY(arena, hia_type, n_params),
                  .n_sig_params = n_params,
                  .result = result};
  if (n_params) memcpy(e.sig_params, params, n_params * sizeof *params);
  e.n_params = flatten_types(g, params, n_params, &e.params);
  e.n_results = flatten_types(g, &result, 1, &e.results);
  hiaR_push(arena, &g->externs, e);
  return g->externs.len - 1;
}

void hiaG_extern_print(const hia_types *types, const char *name, bool is_impure,
                       const hia_type *params, uint32_t n_params, hia_type result, hia_text *out) {
  hiaR_text_addf(out, "extern %sfn %s(", is_impure ? "impure " : "", name);
  for (uint32_t i = 0; i < n_params; i++) {
    if (i) hiaR_text_addf(out, ", ");
    hiaG_type_print(types, params[i], out);
  }
  hiaR_text_addf(out, ") -> ");
  hiaG_type_print(types, result, out);
}

/* ---- params and gradients ---- */

uint32_t hiaG_param_new(hia_graph *g, const hia_param_spec *spec) {
  hia_param_spec own = *spec;
  own.name = hiaR_arena_printf(&g->comp->arena, "%s", spec->name);
  hiaR_push(&g->comp->arena, &g->params, own);
  return g->params.len - 1;
}

uint32_t hiaG_literal_new(hia_graph *g, hia_dtype dtype, const hia_dims *shape) {
  hia_tensor_literal new = {.dtype = dtype, .shape = *shape};
  uint64_t n, each = hiaR_reprs[dtype].size;
  if (!hiaR_shape_elements(shape, each, &n) || n > UINT32_MAX) return HIA_NONE;
  uint64_t bytes = each * n;
  new.size = bytes;
  new.elements = HIA_NEW_ARRAY(&g->comp->arena, char, new.size + 1);
  hiaR_push(&g->comp->arena, &g->literals, new);
  return g->literals.len - 1;
}

hia_type hiaG_param_type(hia_types *types, const hia_param_spec *spec) {
  return hiaG_ranked(types, spec->dtype, spec->shape.rank);
}

uint32_t hiaG_gradient_new(hia_graph *g, hia_fn_id fn, bool has_value, const hia_wrt *wrt,
                           uint32_t n) {
  hia_arena *arena = &g->comp->arena;
  hia_gradient_of new = {.fn = fn, .has_value = has_value, .n = n};
  new.wrt = HIA_NEW_ARRAY(arena, hia_wrt, n);
  if (n) memcpy(new.wrt, wrt, n * sizeof *wrt);
  hiaR_push(arena, &g->gradients, new);
  return g->gradients.len - 1;
}

hia_type hiaG_wrt_type(const hia_graph *g, hia_fn_id fn, const hia_wrt *wrt) {
  if (!wrt->is_param) return hiaG_fn(g, fn)->params[wrt->i];
  const hia_param_spec *spec = &g->params.data[wrt->i];
  return wrt->is_sum ? hiaG_sum_type(g->types, spec->dtype, spec->shape.rank)
                     : hiaG_param_type(g->types, spec);
}

/* ---- predicates ---- */

hia_fn_id hiaG_called(const hia_graph *g, const hia_node *node) {
  switch (node->op) {
  case HIA_OP_CALL:
  case HIA_OP_FORK:
  case HIA_OP_JOIN:
  case HIA_OP_DEFER: return hiaG_callee(node);
  case HIA_OP_GRAD: return hiaG_gradient_of(g, node)->fn;
  default: return HIA_NONE;
  }
}

bool hiaG_is_const(const hia_fn *fn, hia_value_id v, hia_word *word) {
  const hia_node *node = hiaG_def(fn, v);
  if (node->op != HIA_OP_CONST) return false;
  if (word) *word = node->imm;
  return true;
}

hia_dtype hiaG_node_dtype(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  uint32_t decides = hiaR_rule_decides((hia_rule)hiaR_ops[node->op].rule);
  if (decides == HIA_NONE || node->n_ins == 0)
    return hiaG_dtype(g->types, hiaG_type(fn, hiaG_out(fn, n, 0)));
  hia_type type = hiaG_type(fn, hiaG_in(fn, n, decides));
  return hiaG_dtype(g->types, hiaG_ranked_operand(g->types, node->op, decides, type));
}

static bool has_scalars(const hia_fn *fn, const hia_node *node) {
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (!hiaG_is_scalar(hiaG_type(fn, fn->edges.data[node->ins + i]))) return false;
  return true;
}

bool hiaG_is_scalar_op(const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  return hiaR_ops[node->op].shape == HIA_SHAPE_ELEMENTWISE && has_scalars(fn, node);
}

bool hiaG_is_operation(const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  hia_shape_rule rule = (hia_shape_rule)hiaR_ops[node->op].shape;
  return rule != HIA_SHAPE_NONE && (rule != HIA_SHAPE_ELEMENTWISE || !has_scalars(fn, node));
}

bool hiaG_consumes(const hia_fn *fn, hia_node_id n) {
  const hia_op_info *op = &hiaR_ops[fn->nodes.data[n].op];
  return op->traits & HIA_T_CONSUMES ||
         (op->shape == HIA_SHAPE_ELEMENTWISE && hiaG_is_operation(fn, n));
}

bool hiaG_has_op(const hia_graph *g, unsigned first, unsigned last) {
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; n < fn->nodes.len; n++) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op >= first && node->op <= last && !(node->flags & HIA_NODE_DEAD)) return true;
    }
  }
  return false;
}

bool hiaG_has_references(const hia_graph *g) {
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_value_id v = 0; v < fn->values.len; v++)
      if (!hiaG_is_scalar(fn->values.data[v].type)) return true;
  }
  return false;
}

bool hiaG_exchanges_references(const hia_fn *fn) {
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (!hiaG_is_scalar(fn->params[i])) return true;
  for (uint32_t i = 0; i < fn->n_results; i++)
    if (!hiaG_is_scalar(fn->results[i])) return true;
  return false;
}
