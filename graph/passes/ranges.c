/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Maps whose elements a function of its own computes, from one index up to another:
 *
 *     %a = map %n {          %new = new %n
 *       %k = arg 0           %done = call "f each" %new, 0, %n
 *       yield %x             %a = filled %new, %done
 *     }
 *
 * The values from outside that the body uses are further parameters of the function. Its calls are
 * none of the source: they are in no backtrace, and are not counted.
 *
 * Where elements are compared with the first (`alike`), a call for that one comes before, and its
 * result is where the others begin. */
#include "graph/passes/ranges.h"
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

/* ---- what a body uses ---- */

static hia_node_id behind(const hia_fn *fn, hia_node_id map) { return hiaG_walk_over(fn, map); }

static void list_operands(hia_ranges *h, hia_node_id n) {
  for (uint32_t i = 0; i < h->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = hiaG_in(h->fn, n, i);
    const hia_node *def = hiaG_def(h->fn, v);
    while (h->listed.len <= v) hiaR_push(h->scratch, &h->listed, 0);
    if (h->inside[def->region] == h->n_maps || h->listed.data[v] == h->n_maps) continue;
    h->listed.data[v] = h->n_maps;
    hiaR_push(h->scratch, hiaG_is_constant(def->op) ? &h->constants : &h->outside, v);
  }
}

bool hiaG_range_look(hia_ranges *h, hia_node_id map, void (*visit)(hia_ranges *h, hia_node_id n)) {
  const hia_fn *fn = h->fn;
  hia_region_id each = fn->nodes.data[map].regions;
  h->outside.len = h->constants.len = 0;
  h->inside[each] = ++h->n_maps;
  for (hia_node_id n = fn->regions.data[each].first, end = behind(fn, map); n != end;
       n = hiaG_walk_next(fn, n)) {
    hiaG_rewrite_ins(&h->subst, h->fn, n);
    hia_region_id inner = fn->nodes.data[n].regions;
    for (uint32_t i = 0; i < hiaG_n_regions(fn->nodes.data[n].op); i++)
      h->inside[inner + i] = h->n_maps;
    list_operands(h, n);
    visit(h, n);
  }
  bool is_impure = hiaG_node_does(h->g, fn, map, HIA_E_IMPURE); /* its elements are in order */
  return !is_impure && h->outside.len + HIA_RANGE_REST <= HIA_RANGE_WORDS;
}

/* ---- the function ---- */

static void mark_call(const hia_ranges *h, hia_fn *fn, hia_node_id call) {
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  fn->nodes.data[call].loc = h->loc;
}

hia_value_id hiaG_range_call(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_fn_id each,
                             hia_value_id from, hia_value_id to) {
  hia_value_id args[HIA_RANGE_WORDS] = {[HIA_RANGE_FROM] = from, [HIA_RANGE_TO] = to};
  hia_type i64 = HIA_I64;
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (i != HIA_RANGE_FROM && i != HIA_RANGE_TO) args[i] = i;
  hia_node_id call =
      hiaG_add(h->g, fn, region, HIA_OP_CALL, args, fn->n_params, &i64, 1, each, HIA_NONE);
  mark_call(h, fn, call);
  return hiaG_out(fn, call, 0);
}

/* True if the elements are compared with the first. */
static bool compares(const hia_fn *fn, hia_node_id map) {
  hia_node_id n = fn->regions.data[fn->nodes.data[map].regions].first;
  while (n != HIA_NONE && fn->nodes.data[n].op != HIA_OP_ALIKE) n = fn->nodes.data[n].next;
  return n != HIA_NONE;
}

/* A copy of the map's body at the end of a region: fills element k. `copies` has what stands for
 * the values from outside. */
static void add_body(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_node_id map,
                     hia_value_id k, hia_value_id *copies) {
  const hia_fn *from = h->fn;
  hia_region_id body = from->nodes.data[map].regions;
  hia_node_id yield = hiaG_yield_of(from, body);
  hia_u32vec ins = {0};
  copies[hiaG_out(from, from->regions.data[body].first, 0)] = k;
  hiaG_copy_region(h->g, fn, region, HIA_NONE, from, body, copies, HIA_NONE);
  hiaG_compare_shapes(h->g, fn, region, HIA_RANGE_ARRAY);
  hiaR_push(h->scratch, &ins, HIA_RANGE_ARRAY);
  hiaR_push(h->scratch, &ins, k);
  for (uint32_t i = 0; i < from->nodes.data[yield].n_ins; i++)
    hiaR_push(h->scratch, &ins, copies[hiaG_in(from, yield, i)]);
  hiaG_add(h->g, fn, region, HIA_OP_FILL, ins.data, ins.len, NULL, 0, 0, from->nodes.data[map].loc);
}

/* Returns the values from outside as a region of the function has them. */
static hia_value_id *copies_of_outside(hia_ranges *h, hia_fn *fn, hia_region_id region) {
  const hia_fn *from = h->fn;
  hia_value_id *copies = HIA_NEW_ARRAY(h->scratch, hia_value_id, from->values.len);
  memset(copies, 0xff, from->values.len * sizeof *copies);
  for (uint32_t i = 0; i < h->outside.len; i++) copies[h->outside.data[i]] = HIA_RANGE_REST + i;
  for (uint32_t i = 0; i < h->constants.len; i++) {
    hia_value_id v = h->constants.data[i];
    hia_type type = hiaG_type(from, v);
    const hia_node *def = hiaG_def(from, v);
    hia_node_id copy = hiaG_add(h->g, fn, region, def->op, NULL, 0, &type, 1, def->imm, def->loc);
    copies[v] = hiaG_out(fn, copy, 0);
  }
  return copies;
}

void hiaG_range_element(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_node_id map,
                        hia_value_id k) {
  add_body(h, fn, region, map, k, copies_of_outside(h, fn, region));
}

hia_value_id hiaG_range_loop(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_node_id map) {
  hia_graph *g = h->g;
  hia_type i64 = HIA_I64;
  hia_value_id *copies = copies_of_outside(h, fn, region), first = HIA_RANGE_FROM;
  hia_loc_id loc = h->fn->nodes.data[map].loc;
  hia_node_id loop = hiaG_add(g, fn, region, HIA_OP_LOOP, &first, 1, &i64, 1, 0, loc);
  hia_region_id head = fn->nodes.data[loop].regions, round = head + 1;
  hia_value_id k = hiaG_out(fn, hiaG_add(g, fn, head, HIA_OP_ARG, NULL, 0, &i64, 1, 0, loc), 0);
  hia_value_id goes_on = hiaG_range_op(h, fn, head, HIA_OP_LT, k, HIA_RANGE_TO);
  hiaG_yield(g, fn, head, (hia_value_id[]){goes_on, k}, 2);
  add_body(h, fn, round, map, k, copies);
  hia_value_id one = hiaG_range_number(h, fn, round, 1);
  hia_value_id next = hiaG_range_op(h, fn, round, HIA_OP_ADD, k, one);
  hiaG_yield(g, fn, round, &next, 1);
  return hiaG_range_op(h, fn, region, HIA_OP_SUB, hiaG_out(fn, loop, 0), HIA_RANGE_FROM);
}

/* Finds where the calls of a map's function are. */
static void find_loc(hia_ranges *h, hia_node_id map) {
  hia_loc_id loc = h->fn->nodes.data[map].loc;
  const hia_loc at = loc == HIA_NONE ? (hia_loc){0} : h->g->locs.data[loc];
  h->loc = loc == HIA_NONE ? HIA_NONE : hiaG_loc(h->g, at.line, at.col, at.fn, HIA_NONE);
}

hia_fn_id hiaG_range_function(hia_ranges *h, hia_node_id map, const char *kind) {
  hia_graph *g = h->g;
  find_loc(h, map);
  uint32_t n_params = HIA_RANGE_REST + h->outside.len;
  hia_type types[HIA_RANGE_WORDS] = {hiaG_type(h->fn, hiaG_out(h->fn, map, 0)), HIA_I64, HIA_I64};
  hia_type i64 = HIA_I64;
  for (uint32_t i = 0; i < h->outside.len; i++)
    types[HIA_RANGE_REST + i] = hiaG_type(h->fn, h->outside.data[i]);
  const char *suffix = hiaR_arena_printf(h->scratch, " %s %u", kind, h->n_maps);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, h->fn->name, suffix), h->fn->source, h->fn->loc,
                             types, n_params, &i64, 1);
  hiaG_fn(g, id)->is_halving = true;
  return id;
}

/* ---- the change ---- */

/* Calls the function before the map. */
static hia_value_id insert_call(hia_ranges *h, hia_node_id map, const hia_value_id *args,
                                hia_fn_id each) {
  hia_type i64 = HIA_I64;
  hia_node_id call = hiaG_insert(h->g, h->fn, map, HIA_OP_CALL, args,
                                 HIA_RANGE_REST + h->outside.len, &i64, 1, each, HIA_NONE);
  mark_call(h, h->fn, call);
  return hiaG_out(h->fn, call, 0);
}

/* Puts a call of the function in place of the map, and returns the node behind it. */
static hia_node_id replace(hia_ranges *h, hia_node_id map, hia_fn_id each) {
  hia_graph *g = h->g;
  hia_fn *fn = h->fn;
  hia_loc_id loc = fn->nodes.data[map].loc;
  hia_node_id next = behind(fn, map);
  hia_value_id n = hiaG_in(fn, map, 0), args[HIA_RANGE_WORDS];
  hia_type type = hiaG_type(fn, hiaG_out(fn, map, 0)), i64 = HIA_I64;
  args[HIA_RANGE_ARRAY] =
      hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_NEW, &n, 1, &type, 1, 0, loc), 0);
  args[HIA_RANGE_FROM] =
      hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_CONST, NULL, 0, &i64, 1, 0, loc), 0);
  args[HIA_RANGE_TO] = n;
  for (uint32_t i = 0; i < h->outside.len; i++) args[HIA_RANGE_REST + i] = h->outside.data[i];
  bool is_compared = compares(fn, map);
  if (is_compared) { /* the others begin when the first is there */
    hia_node_id one = hiaG_insert(g, fn, map, HIA_OP_CONST, NULL, 0, &i64, 1, 1, loc);
    hia_value_id least[2] = {n, hiaG_out(fn, one, 0)};
    args[HIA_RANGE_TO] =
        hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_MIN, least, 2, &i64, 1, 0, loc), 0);
    args[HIA_RANGE_FROM] = insert_call(h, map, args, each);
    args[HIA_RANGE_TO] = n;
  }
  hia_value_id done = insert_call(h, map, args, each);
  if (is_compared) {
    hia_value_id all[2] = {args[HIA_RANGE_FROM], done};
    done = hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_ADD, all, 2, &i64, 1, 0, loc), 0);
  }
  hia_value_id ins[] = {args[HIA_RANGE_ARRAY], done};
  hia_node_id filled = hiaG_insert(g, fn, map, HIA_OP_FILLED, ins, 2, &type, 1, 0, loc);
  hiaG_replace(&h->subst, hiaG_out(fn, map, 0), hiaG_out(fn, filled, 0));
  hiaG_remove(fn, map);
  return next;
}

static bool change_function(hia_ranges *h) {
  hia_fn *fn = h->fn;
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&h->subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_MAP) continue;
    hia_fn_id each = h->make(h, n);
    if (each == HIA_NONE) continue;
    next = replace(h, n, each);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(h->g, fn);
  return is_changed;
}

/* Maps in the body of a map are met again in the function that this has become. */
void hiaG_ranges(hia_graph *g, hia_fn_id (*make)(hia_ranges *h, hia_node_id map), void *user) {
  bool is_changed = false;
  hia_arena *scratch = &g->comp->scratch;
  HIA_EACH_FN(g, f) {
    hia_mark mark = hiaR_arena_mark(scratch);
    hia_fn *fn = hiaG_fn(g, f);
    hia_ranges h = {.g = g, .scratch = scratch, .fn = fn, .subst = hiaG_subst(g, fn)};
    h.make = make;
    h.user = user;
    h.inside = HIA_NEW_ARRAY(scratch, uint32_t, fn->regions.len);
    is_changed |= change_function(&h);
    hiaR_arena_release(scratch, mark);
  }
  if (is_changed) hiaG_effects(g);
}
