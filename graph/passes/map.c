/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* map: maps become loops over their elements, in order.
 *
 *     %a = map %n {             %new = new %n
 *       %k = arg 0              loop (%k = 0) while %k < %n {
 *       yield %x                  fill %new, %k, %x
 *     }                           yield %k + 1
 *                               }
 *                               %a = filled %new, %k
 *
 * A fill puts an element into an array that is being made. It neither looks whether the index is in
 * range, which it is, nor whether something else refers to the array, nor is there an element to be
 * given up. That is an effect, so nothing may read the array before all elements are there:
 * `filled` makes that a dependence.
 *
 * Where the elements are tensors of one shape, an `alike` in the body compares each with the first:
 * so that the first iteration that differs fails before later ones do. It gets the array here.
 *
 * The interpreter has values only. There the array is a variable of the loop, which each round sets
 * an element of; nothing else refers to it, so that is done in place.
 *
 * Requires nothing; keeps everything. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct mapping {
  hia_graph *g;
  hia_fn *fn;
  hia_subst subst;
  hia_loc_id loc; /* of the map */
} mapping;

static hia_value_id insert(mapping *m, hia_node_id at, unsigned op, const hia_value_id *ins,
                           uint32_t n_ins, hia_type type, uint64_t imm) {
  return hiaG_out(m->fn, hiaG_insert(m->g, m->fn, at, op, ins, n_ins, &type, 1, imm, m->loc), 0);
}

static hia_value_id append(mapping *m, hia_region_id region, unsigned op, const hia_value_id *ins,
                           uint32_t n_ins, hia_type type, uint64_t imm) {
  return hiaG_out(m->fn, hiaG_add(m->g, m->fn, region, op, ins, n_ins, &type, 1, imm, m->loc), 0);
}

void hiaG_compare_shapes(hia_graph *g, hia_fn *fn, hia_region_id each, hia_value_id array) {
  HIA_EACH_IN(fn, each, n)
    if (fn->nodes.data[n].op == HIA_OP_ALIKE && fn->nodes.data[n].n_ins == 2) {
      hia_value_id ins[3] = {hiaG_in(fn, n, 0), hiaG_in(fn, n, 1), array};
      hiaG_set_ins(g, fn, n, ins, 3);
    }
}

/* Moves the body of the map to the end of a region, where k is the index, and returns the operands
 * of a SET or a FILL: the array, k, and the words of an element. */
static hia_u32vec move_body(mapping *m, hia_node_id map, hia_region_id to, hia_value_id array,
                            hia_value_id k) {
  hia_fn *fn = m->fn;
  hia_region_id each = fn->nodes.data[map].regions;
  hia_node_id arg = fn->regions.data[each].first, yield = hiaG_yield_of(fn, each);
  hia_u32vec ins = {0};
  hiaG_compare_shapes(m->g, fn, each, array);
  hiaR_push(m->subst.arena, &ins, array);
  hiaR_push(m->subst.arena, &ins, k);
  hiaG_replace(&m->subst, hiaG_out(fn, arg, 0), k);
  for (uint32_t i = 0; i < fn->nodes.data[yield].n_ins; i++)
    hiaR_push(m->subst.arena, &ins, hiaG_resolve(&m->subst, hiaG_in(fn, yield, i)));
  hiaG_splice(fn, each, to, HIA_NONE);
  return ins;
}

static hia_value_id next_of(mapping *m, hia_region_id round, hia_value_id k) {
  hia_value_id one = hiaG_const(m->g, m->fn, round, HIA_I64, 1, m->loc);
  return hiaG_op(m->g, m->fn, round, HIA_OP_ADD, (hia_value_id[]){k, one}, 2, m->loc);
}

/* Puts the loop in place of the map. Returns the first of its nodes. */
static hia_node_id to_fills(mapping *m, hia_node_id map) {
  hia_graph *g = m->g;
  hia_fn *fn = m->fn;
  hia_value_id n = hiaG_in(fn, map, 0);
  hia_type type = hiaG_type(fn, hiaG_out(fn, map, 0)), i64 = HIA_I64;
  hia_value_id array = insert(m, map, HIA_OP_NEW, &n, 1, type, 0);
  hia_value_id zero = insert(m, map, HIA_OP_CONST, NULL, 0, HIA_I64, 0);
  hia_node_id loop = hiaG_insert(g, fn, map, HIA_OP_LOOP, &zero, 1, &i64, 1, 0, m->loc);
  hia_region_id head = fn->nodes.data[loop].regions, round = head + 1;
  hia_value_id k = append(m, head, HIA_OP_ARG, NULL, 0, HIA_I64, 0);
  hia_value_id goes_on = hiaG_op(g, fn, head, HIA_OP_LT, (hia_value_id[]){k, n}, 2, m->loc);
  hiaG_yield(g, fn, head, (hia_value_id[]){goes_on, k}, 2);
  hia_u32vec ins = move_body(m, map, round, array, k);
  hiaG_add(g, fn, round, HIA_OP_FILL, ins.data, ins.len, NULL, 0, 0, m->loc);
  hia_value_id next = next_of(m, round, k);
  hiaG_yield(g, fn, round, &next, 1);
  hia_value_id operands[] = {array, hiaG_out(fn, loop, 0)};
  hia_value_id filled = insert(m, map, HIA_OP_FILLED, operands, 2, type, 0);
  hiaG_replace(&m->subst, hiaG_out(fn, map, 0), filled);
  hiaG_remove(fn, map);
  return fn->values.data[array].node;
}

/* Makes a loop that sets the elements of an array, which is a variable of the loop. */
static hia_node_id to_sets(mapping *m, hia_node_id map) {
  hia_graph *g = m->g;
  hia_fn *fn = m->fn;
  hia_value_id n = hiaG_in(fn, map, 0), vars[2];
  hia_type types[2] = {hiaG_type(fn, hiaG_out(fn, map, 0)), HIA_I64};
  vars[0] = insert(m, map, HIA_OP_NEW, &n, 1, types[0], 0);
  vars[1] = insert(m, map, HIA_OP_CONST, NULL, 0, HIA_I64, 0);
  hia_node_id first = fn->values.data[vars[0]].node;
  hia_node_id loop = hiaG_insert(g, fn, map, HIA_OP_LOOP, vars, 2, types, 1, 0, m->loc);
  hia_region_id head = fn->nodes.data[loop].regions, round = head + 1;
  for (uint32_t i = 0; i < 2; i++) vars[i] = append(m, head, HIA_OP_ARG, NULL, 0, types[i], i);
  hia_value_id goes_on = hiaG_op(g, fn, head, HIA_OP_LT, (hia_value_id[]){vars[1], n}, 2, m->loc);
  hiaG_yield(g, fn, head, (hia_value_id[]){goes_on, vars[0]}, 2);
  hia_u32vec ins = move_body(m, map, round, vars[0], vars[1]);
  hia_value_id next[2] = {append(m, round, HIA_OP_SET, ins.data, ins.len, types[0], 0)};
  next[1] = next_of(m, round, vars[1]);
  hiaG_yield(g, fn, round, next, 2);
  hiaG_replace(&m->subst, hiaG_out(fn, map, 0), hiaG_out(fn, loop, 0));
  hiaG_remove(fn, map);
  return first;
}

static void change_function(hia_graph *g, hia_fn *fn,
                            hia_node_id (*change)(mapping *m, hia_node_id map)) {
  mapping m = {.g = g, .fn = fn, .subst = hiaG_subst(g, fn)};
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first; n != HIA_NONE; n = hiaG_walk_next(fn, n)) {
    hiaG_rewrite_ins(&m.subst, fn, n);
    if (fn->nodes.data[n].op != HIA_OP_MAP) continue;
    m.loc = fn->nodes.data[n].loc;
    n = change(&m, n);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(g, fn);
}

static void change_all(hia_graph *g, hia_node_id (*change)(mapping *m, hia_node_id map)) {
  HIA_EACH_FN(g, f) {
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    change_function(g, hiaG_fn(g, f), change);
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}

void hiaG_fill(hia_graph *g) { change_all(g, to_fills); }
void hiaG_map(hia_graph *g) { change_all(g, to_sets); }
