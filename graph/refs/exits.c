/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loops whose exits are regions. Pass passes/tail.c makes one loop of a recursion that ends in
 * several ways. What says whether it goes on is then the result of a branch at the end of the head,
 * and where values die differs from one way to the other. Counts (refs.c) need a region for each
 * way, which either goes on or does not.
 *
 *     head  if a { yield false, x, undef }  becomes  if a { yield false, x, undef }
 *           else { c = ...; yield c, y, z }          else { c = ...; if c { yield true, y, z }
 *                                                                   else { yield false, y, z } }
 *
 * In branches inside of that branch the same holds, and each gives what the branch around it gives,
 * result by result. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/refs/shared.h"

/* The node before the YIELD of a region, but for constants and node `except`. */
static hia_node_id last_of(const hia_fn *fn, hia_region_id region, hia_node_id except) {
  hia_node_id n = hiaG_yield_of(fn, region);
  do n = fn->nodes.data[n].prev;
  while (n != HIA_NONE && (hiaG_is_constant(fn->nodes.data[n].op) || n == except));
  return n;
}

hia_node_id hiaG_split_of(const hia_fn *fn, hia_region_id region, uint32_t i) {
  hia_value_id v = hiaG_in(fn, hiaG_yield_of(fn, region), i);
  hia_node_id n = last_of(fn, region, HIA_NONE);
  bool is_split = n != HIA_NONE && fn->nodes.data[n].op == HIA_OP_IF &&
                  v - fn->nodes.data[n].outs < fn->nodes.data[n].n_outs;
  return is_split ? n : HIA_NONE;
}

/* True if one value is not the other, as passes/fold.c writes it. */
static bool are_opposite(const hia_fn *fn, hia_value_id a, hia_value_id b) {
  const hia_node *x = hiaG_def(fn, a), *y = hiaG_def(fn, b);
  const hia_value_id *of_x = fn->edges.data + x->ins, *of_y = fn->edges.data + y->ins;
  if (x->op == HIA_OP_BNOT) return of_x[0] == b;
  if (y->op == HIA_OP_BNOT) return of_y[0] == a;
  bool are_equalities =
      (x->op == HIA_OP_EQ && y->op == HIA_OP_NE) || (x->op == HIA_OP_NE && y->op == HIA_OP_EQ);
  return are_equalities && of_x[0] == of_y[0] && of_x[1] == of_y[1];
}

/* The branch that a region ends in, if it asks what operand i of the region's YIELD is, which was
 * folded to the branch's condition or to its opposite; *arm: the one where it is true. */
static hia_node_id deciding(hia_fn *fn, hia_region_id region, uint32_t i, uint32_t *arm) {
  hia_value_id v = hiaG_in(fn, hiaG_yield_of(fn, region), i);
  hia_node_id def = fn->values.data[v].node, n = last_of(fn, region, def);
  if (n == HIA_NONE || fn->nodes.data[n].op != HIA_OP_IF) return HIA_NONE;
  hia_value_id cond = hiaG_in(fn, n, 0);
  *arm = v != cond;
  return v == cond || are_opposite(fn, v, cond) ? n : HIA_NONE;
}

static hia_value_id constant_before(hia_graph *g, hia_fn *fn, hia_node_id at, bool is_true) {
  static const hia_type boolean = HIA_BOOL;
  return hiaG_out(fn,
                  hiaG_insert(g, fn, at, HIA_OP_CONST, NULL, 0, &boolean, 1,
                              hiaR_from_bool(is_true), fn->nodes.data[at].loc),
                  0);
}

/* Adds a branch on what operand i of the region's YIELD is, with nothing in its arms. */
static void add_branch(hia_graph *g, hia_fn *fn, hia_region_id region, uint32_t i) {
  hia_node_id yield = hiaG_yield_of(fn, region);
  hia_value_id cond = hiaG_in(fn, yield, i);
  hia_loc_id loc = fn->nodes.data[yield].loc;
  uint32_t n = fn->nodes.data[yield].n_ins;
  hia_type *types = HIA_NEW_ARRAY(&g->comp->scratch, hia_type, n);
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, n);
  for (uint32_t k = 0; k < n; k++) {
    ins[k] = hiaG_in(fn, yield, k);
    types[k] = hiaG_type(fn, ins[k]);
  }
  hia_node_id branch = hiaG_insert(g, fn, yield, HIA_OP_IF, &cond, 1, types, n, 0, loc);
  hia_region_id then = fn->nodes.data[branch].regions;
  for (uint32_t k = 0; k < 2; k++) {
    ins[i] = hiaG_const(g, fn, then + k, HIA_BOOL, hiaR_from_bool(k == 0), loc);
    hiaG_yield(g, fn, then + k, ins, n);
  }
  for (uint32_t k = 0; k < n; k++) ins[k] = hiaG_out(fn, branch, k);
  hiaG_set_ins(g, fn, yield, ins, n);
}

/* The node that computes a value goes before the branch, if it stands behind it. */
static void lift(hia_fn *fn, hia_value_id v, hia_node_id branch) {
  hia_node_id def = fn->values.data[v].node;
  for (hia_node_id n = fn->nodes.data[branch].next; n != HIA_NONE; n = fn->nodes.data[n].next)
    if (n == def) {
      hiaG_move(fn, def, branch);
      return;
    }
}

enum { IS_RESULT = 2 }; /* what a region yields is a result of its branch already */

/* The branch that a region ends in gives exactly what the region yields. Of operand i of the YIELD
 * it says that it is true in arm `arm`, unless that is a result already. */
static void mirror(hia_graph *g, hia_fn *fn, hia_region_id region, hia_node_id branch, uint32_t i,
                   uint32_t arm) {
  hia_node_id yield = hiaG_yield_of(fn, region);
  hia_value_id old = fn->nodes.data[branch].outs;
  uint32_t n = fn->nodes.data[yield].n_ins, n_old = fn->nodes.data[branch].n_outs;
  hia_type *types = HIA_NEW_ARRAY(&g->comp->scratch, hia_type, n);
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, n);
  for (uint32_t k = 0; k < n; k++) {
    hia_value_id v = hiaG_in(fn, yield, k);
    types[k] = hiaG_type(fn, v);
    if (v - old >= n_old) lift(fn, v, branch); /* the arms yield it, too */
  }
  for (uint32_t a = 0; a < 2; a++) {
    hia_region_id inside = fn->nodes.data[branch].regions + a;
    hia_node_id inner = hiaG_yield_of(fn, inside);
    for (uint32_t k = 0; k < n; k++) {
      hia_value_id v = hiaG_in(fn, yield, k);
      ins[k] = v - old < n_old ? hiaG_in(fn, inner, v - old) : v;
    }
    if (arm != IS_RESULT) ins[i] = constant_before(g, fn, inner, a == arm);
    hiaG_set_ins(g, fn, inner, ins, n);
  }
  hiaG_set_outs(g, fn, branch, types, n);
  for (uint32_t k = 0; k < n; k++) ins[k] = hiaG_out(fn, branch, k);
  hiaG_set_ins(g, fn, yield, ins, n);
}

/* One more result of a branch that stands in the head: true in arm `arm`. */
static hia_value_id add_result(hia_graph *g, hia_fn *fn, hia_node_id branch, uint32_t arm) {
  uint32_t n = fn->nodes.data[branch].n_outs;
  hia_value_id old = fn->nodes.data[branch].outs;
  hia_type *types = HIA_NEW_ARRAY(&g->comp->scratch, hia_type, n + 1);
  hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, n + 1);
  for (uint32_t k = 0; k < n; k++) types[k] = hiaG_type(fn, old + k);
  types[n] = HIA_BOOL;
  for (uint32_t a = 0; a < 2; a++) {
    hia_node_id inner = hiaG_yield_of(fn, fn->nodes.data[branch].regions + a);
    for (uint32_t k = 0; k < n; k++) ins[k] = hiaG_in(fn, inner, k);
    ins[n] = constant_before(g, fn, inner, a == arm);
    hiaG_set_ins(g, fn, inner, ins, n + 1);
  }
  hiaG_set_outs(g, fn, branch, types, n + 1);
  hia_value_id *map = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, fn->values.len);
  memset(map, 0xff, fn->values.len * sizeof *map);
  for (uint32_t k = 0; k < n; k++) map[old + k] = hiaG_out(fn, branch, k);
  hiaG_substitute(fn, map);
  return hiaG_out(fn, branch, n);
}

/* The branch at the end of the head whose result says whether the loop goes on, or NONE. */
static hia_node_id split_head(hia_graph *g, hia_fn *fn, hia_region_id head) {
  uint32_t arm;
  hia_node_id branch = hiaG_split_of(fn, head, 0);
  if (branch != HIA_NONE) return branch;
  branch = deciding(fn, head, 0, &arm);
  if (branch == HIA_NONE) return branch;
  hia_node_id yield = hiaG_yield_of(fn, head);
  lift(fn, hiaG_in(fn, yield, 0), branch);
  hia_value_id result = add_result(g, fn, branch, arm); /* which moves the table of edges */
  fn->edges.data[fn->nodes.data[yield].ins] = result;
  return branch;
}

static void split_loop(hia_graph *g, hia_fn *fn, hia_node_id loop) {
  hia_u32vec arms = {0};
  hia_region_id head = fn->nodes.data[loop].regions;
  hia_node_id branch = split_head(g, fn, head);
  if (branch == HIA_NONE) return;
  uint32_t cond = hiaG_in(fn, hiaG_yield_of(fn, head), 0) - fn->nodes.data[branch].outs;
  for (;;) {
    hia_region_id then = fn->nodes.data[branch].regions;
    hiaR_push(&g->comp->scratch, &arms, then);
    hiaR_push(&g->comp->scratch, &arms, then + 1);
    for (branch = HIA_NONE; branch == HIA_NONE && arms.len;) {
      hia_region_id region = arms.data[--arms.len];
      uint32_t arm = IS_RESULT;
      hia_word word;
      hia_value_id v = hiaG_in(fn, hiaG_yield_of(fn, region), cond);
      if (hiaG_is_const(fn, v, &word)) continue;
      branch = hiaG_split_of(fn, region, cond);
      if (branch == HIA_NONE) branch = deciding(fn, region, cond, &arm);
      if (branch == HIA_NONE) {
        add_branch(g, fn, region, cond);
        continue;
      }
      mirror(g, fn, region, branch, cond, arm);
    }
    if (branch == HIA_NONE) return;
  }
}

void hiaG_split_exits(hia_graph *g, hia_fn *fn) {
  bool has_references = false;
  for (hia_value_id v = 0; v < fn->values.len && !has_references; v++)
    has_references = !hiaG_is_scalar(fn->values.data[v].type);
  if (!has_references) return;
  HIA_EACH_NODE(fn, n) {
    if (fn->nodes.data[n].op == HIA_OP_LOOP) split_loop(g, fn, n);
  }
}
