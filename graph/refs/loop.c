/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loops: the variables that they borrow, and what dies in a round, or where the loop ends. */
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/refs/counting.h"

/* ---- variables that loops borrow ----
 *
 * A loop that only walks through a value, as `loop (l = list) while ... { ... tail of l ... }`,
 * borrows it, if something else keeps the value until behind the loop. Then all values of the
 * variable, and branches that choose among its parts, are parts of what is kept. */

/* Marks what the loop borrows, before the walk through it. `live`: behind the loop. Returns which
 * variables are borrowed. */
static const bool *borrow_variables(hia_counting *c, const hia_ref_set live, hia_node_id loop) {
  const hia_node *node = &c->fn->nodes.data[loop];
  hia_region_id head = node->regions;
  bool *is_kept = HIA_NEW_ARRAY(c->scratch, bool, node->n_ins + 1);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, loop, i);
    is_kept[i] = !hiaG_is_scalar(hiaG_type(c->fn, v)) &&
                 (c->ref[v] == HIA_NONE || hiaG_refs_is_alive(c, live, c->ref[v]));
  }
  hiaG_find_walking(c->fn, loop, is_kept);
  bool has_any = false;
  HIA_EACH_ARG(c->fn, head, arg) {
    uint32_t r = c->ref[hiaG_out(c->fn, arg, 0)];
    if (r == HIA_NONE || !is_kept[c->fn->nodes.data[arg].imm]) continue;
    c->is_borrowed[r] = has_any = true;
  }
  if (!has_any) return is_kept;
  hia_node_id end = hiaG_walk_over(c->fn, loop);
  for (hia_node_id n = hiaG_walk_next(c->fn, loop); n != end; n = hiaG_walk_next(c->fn, n)) {
    const hia_node *branch = &c->fn->nodes.data[n];
    for (uint32_t i = 0; branch->op == HIA_OP_IF && i < branch->n_outs; i++) {
      hia_walking w = {c->fn, head, is_kept, HIA_REFS_MAX_LOOKED};
      uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
      if (r != HIA_NONE && hiaG_is_part_of_kept(&w, hiaG_out(c->fn, n, i)))
        c->is_borrowed[r] = true;
    }
  }
  return is_kept;
}

bool hiaG_refs_hands_on_borrowed(const hia_counting *c, hia_node_id yield, uint32_t i) {
  hia_region_id r = c->fn->nodes.data[yield].region;
  const hia_region *region = &c->fn->regions.data[r];
  hia_value_id to = HIA_NONE;
  if (region->kind == HIA_REGION_THEN || region->kind == HIA_REGION_ELSE)
    to = hiaG_out(c->fn, region->owner, i);
  if (region->kind == HIA_REGION_ROUND) {
    hia_node_id arg = c->fn->regions.data[r - 1].first;
    while (c->fn->nodes.data[arg].imm != i) arg = c->fn->nodes.data[arg].next;
    to = hiaG_out(c->fn, arg, 0);
  }
  return to != HIA_NONE && c->ref[to] != HIA_NONE && c->is_borrowed[c->ref[to]];
}

/* ---- loops ----
 *
 * Any other variable is owned: by the round, which hands its next value on, and by the exit, where
 * the loop's results are. Values from outside stay alive throughout the loop. Where a branch at the
 * end of the head says whether the loop goes on, what dies on one way dies in the arm. Else there
 * is no place for a node where the exit is; so what dies there becomes one more result of the loop,
 * and is dropped behind it. What is shared at the exit is dup'd behind the loop. */

/* Marks the values that are defined in the loop, then lets the loop borrow all others. */
static void borrow_from_outside(hia_counting *c, hia_ref_set live, hia_node_id loop) {
  uint32_t mark = ++c->n_walks;
  hia_node_id end = hiaG_walk_over(c->fn, loop);
  for (hia_node_id n = hiaG_walk_next(c->fn, loop); n != end; n = hiaG_walk_next(c->fn, n))
    for (uint32_t i = 0; i < c->fn->nodes.data[n].n_outs; i++)
      c->inside[hiaG_out(c->fn, n, i)] = mark;
  for (hia_node_id n = hiaG_walk_next(c->fn, loop); n != end; n = hiaG_walk_next(c->fn, n))
    for (uint32_t i = 0; i < c->fn->nodes.data[n].n_ins; i++) {
      hia_value_id v = hiaG_in(c->fn, n, i);
      if (c->inside[v] != mark) hiaG_refs_borrow(c, live, loop, v, HIA_NONE);
    }
}

typedef struct exits {
  hia_u32vec ins; /* of the YIELD of the head: condition, exits, and those that are added */
  HIA_VEC(bool) is_shared; /* by exit: it needs a reference of its own behind the loop */
  uint32_t n_first;        /* those that the loop had */
} exits;

static void share_parts(hia_counting *c, hia_ref_set at_exit, exits *x, uint32_t r) {
  for (uint32_t i = 0; i < x->n_first; i++) {
    uint32_t part = c->ref[x->ins.data[i + 1]];
    if (part == HIA_NONE || !has(at_exit, part) || x->is_shared.data[i]) continue;
    uint32_t up = part;
    while (up != HIA_NONE && up != r) up = c->parent[up];
    if (up == HIA_NONE || part == r) continue;
    x->is_shared.data[i] = true;
    take_out(at_exit, part);
  }
}

static void leave_loop(hia_counting *c, hia_ref_set at_exit, exits *x) {
  for (uint32_t i = 0; i < x->n_first; i++) {
    uint32_t r = c->ref[x->ins.data[i + 1]];
    hiaR_push(c->scratch, &x->is_shared, r != HIA_NONE && hiaG_refs_is_alive(c, at_exit, r));
    if (r == HIA_NONE || x->is_shared.data[i]) continue;
    share_parts(c, at_exit, x, r);
    add(at_exit, r);
  }
}

/* The loop gets the exits that were added, as results that are dropped. */
static void add_exits(hia_counting *c, hia_node_id loop, hia_node_id yield, const exits *x) {
  hia_fn *fn = c->fn;
  uint32_t n_old = x->n_first, n = x->ins.len - 1;
  if (c->is_trial) return;
  hia_value_id old = fn->nodes.data[loop].outs;
  if (n > n_old) {
    hia_type *types = HIA_NEW_ARRAY(c->scratch, hia_type, n);
    for (uint32_t i = 0; i < n; i++) types[i] = hiaG_type(fn, x->ins.data[i + 1]);
    hiaG_set_ins(c->g, fn, yield, x->ins.data, x->ins.len);
    hiaG_set_outs(c->g, fn, loop, types, n);
    for (uint32_t i = 0; i < n_old; i++) {
      hiaR_push(c->scratch, &c->replaced, old + i);
      hiaR_push(c->scratch, &c->replaced, fn->nodes.data[loop].outs + i);
    }
  }
  hia_value_id outs = fn->nodes.data[loop].outs;
  hia_node_id behind = fn->nodes.data[loop].next;
  for (uint32_t i = 0; i < n_old; i++)
    if (x->is_shared.data[i]) hiaG_refs_count_node(c, behind, HIA_OP_DUP, outs + i);
  for (uint32_t i = n_old; i < n; i++) hiaG_refs_count_node(c, behind, HIA_OP_DROP, outs + i);
}

void hiaG_refs_count_loop(hia_counting *c, hia_ref_set live, hia_node_id n) {
  hia_region_id head = c->fn->nodes.data[n].regions;
  hia_node_id yield = hiaG_yield_of(c->fn, head);
  exits x = {.n_first = c->fn->nodes.data[n].n_outs};
  borrow_from_outside(c, live, n);
  const bool *is_kept = borrow_variables(c, live, n);
  hia_ref_set at_round = hiaG_refs_copy_set(c, live), at_exit = hiaG_refs_copy_set(c, live);
  for (uint32_t i = 0; i < c->fn->nodes.data[yield].n_ins; i++)
    hiaR_push(c->scratch, &x.ins, hiaG_in(c->fn, yield, i));
  uint32_t side[2], seen = hiaG_refs_asked(c, x.ins.data[0], side);
  uint32_t before = seen == HIA_NONE ? HIA_NONE : c->known[seen];
  if (seen != HIA_NONE && side[0] != HIA_NONE) c->known[seen] = side[0];
  hiaG_refs_walk(c, at_round, hiaG_yield_of(c->fn, head + 1));
  leave_loop(c, at_exit, &x);
  hia_node_id split = hiaG_split_of(c->fn, head, 0), last = c->fn->nodes.data[yield].prev;
  if (split != HIA_NONE) {
    hia_ref_ways w = {hiaG_in(c->fn, yield, 0) - c->fn->nodes.data[split].outs,
                      hiaG_refs_copy_set(c, at_round), at_exit};
    last = c->fn->nodes.data[split].prev;
    hiaG_refs_branch(c, at_round, split, &w);
  }
  for (bool is_changed = split == HIA_NONE; is_changed;) {
    is_changed = false;
    for (uint32_t r = 0; (r = hiaG_refs_missing(c, at_exit, at_round, r)) != HIA_NONE; r++)
      if (!hiaG_refs_has_ancestor(c, at_round, r)) {
        hiaG_refs_die_at_start(c, at_round, r, head + 1);
        is_changed = true;
      }
    for (uint32_t r = 0; (r = hiaG_refs_missing(c, at_round, at_exit, r)) != HIA_NONE; r++)
      if (!hiaG_refs_has_ancestor(c, at_exit, r)) {
        bool is_object = r != seen || side[1] == HIA_NONE || hiaG_refs_ctor_of(c, r, side[1])->n;
        share_parts(c, at_exit, &x, r);
        if (is_object) hiaR_push(c->scratch, &x.ins, c->value[r]);
        add(at_exit, r);
        is_changed = true;
      }
  }
  if (seen != HIA_NONE) c->known[seen] = before;
  add_exits(c, n, yield, &x);
  hiaG_refs_walk(c, at_round, last);
  HIA_EACH_ARG(c->fn, head, arg) {
    uint32_t r = c->ref[hiaG_out(c->fn, arg, 0)];
    if (r == HIA_NONE || c->is_borrowed[r]) continue;
    if (!has(at_round, r)) hiaG_refs_die_at_start(c, at_round, r, head);
    take_out(at_round, r);
  }
  if (hiaG_refs_missing(c, at_round, live, 0) != HIA_NONE)
    HIA_BUG(c->g->comp, "%s: a loop takes a reference from outside", c->fn->name);
  uint32_t n_ins = c->fn->nodes.data[n].n_ins;
  for (uint32_t i = 0; i < n_ins; i++)
    if (!is_kept[i]) hiaG_refs_consume(c, live, n, hiaG_in(c->fn, n, i));
}
