/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* copy: copy propagation. Values that equal another value by construction are replaced by it.
 *
 * These are: a conversion to the dtype that the value already has; a selection between equal
 * values, by one condition; a result of a branch for which both arms yield the same outer value; a
 * loop variable that keeps its first value; a loop result that is an outer value. `undef`, and the
 * results of `fail`, which are never computed, equal any value. But a reference is not replaced
 * because the other arm yields `undef`: what tail.c makes of mutual recursion changes an array
 * in that arm, which it could not do in place if the array before were a result, too. The walk
 * leaves inner branches and loops before outer ones, so a replacement inside is visible outside.
 * Requires and keeps nothing; dce removes what has become unused. */
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct copying {
  hia_fn *fn;
  hia_subst subst;
  bool has_variables; /* variables were replaced whose uses the walk has passed */
} copying;

static bool is_anything(const hia_fn *fn, hia_value_id v) {
  unsigned op = hiaG_def(fn, v)->op;
  return (op == HIA_OP_UNDEF && hiaG_is_scalar(hiaG_type(fn, v))) || op == HIA_OP_FAIL ||
         op == HIA_OP_GUARD;
}

/* The walk is at the YIELD of the ELSE; operands are rewritten. */
static void leave_if(copying *c, hia_node_id n) {
  const hia_fn *fn = c->fn;
  hia_region_id then_region = fn->nodes.data[n].regions;
  hia_node_id a = hiaG_yield_of(fn, then_region), b = hiaG_yield_of(fn, then_region + 1);
  for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++) {
    hia_value_id v = hiaG_in(fn, a, i), w = hiaG_in(fn, b, i);
    if (is_anything(fn, v))
      v = w;
    else if (!is_anything(fn, w) && v != w)
      continue;
    hia_region_id home = hiaG_def(fn, v)->region;
    if (home != then_region && home != then_region + 1)
      hiaG_replace(&c->subst, hiaG_out(fn, n, i), v);
  }
}

/* The walk is at the YIELD of the ROUND. */
static void leave_loop(copying *c, hia_node_id n) {
  const hia_fn *fn = c->fn;
  hia_region_id head = fn->nodes.data[n].regions;
  hia_node_id next = hiaG_yield_of(fn, head + 1), exits = hiaG_yield_of(fn, head);
  HIA_EACH_ARG(fn, head, arg) {
    uint32_t i = HIA_IMM_A(fn->nodes.data[arg].imm);
    hia_value_id variable = hiaG_out(fn, arg, 0), init = hiaG_in(fn, n, i);
    hia_value_id v = hiaG_resolve(&c->subst, hiaG_in(fn, next, i));
    if (v != variable && v != init && !is_anything(fn, v)) continue;
    hiaG_replace(&c->subst, variable, init);
    c->has_variables = true;
  }
  for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++) {
    hia_value_id v = hiaG_resolve(&c->subst, hiaG_in(fn, exits, 1 + i));
    if (hiaG_def(fn, v)->region != head) hiaG_replace(&c->subst, hiaG_out(fn, n, i), v);
  }
}

static void visit(copying *c, hia_node_id n) {
  const hia_fn *fn = c->fn;
  const hia_node *node = &fn->nodes.data[n];
  const hia_region *region = &fn->regions.data[node->region];
  switch (node->op) {
  case HIA_OP_CAST:
    if (hiaG_type(fn, hiaG_in(fn, n, 0)) == hiaG_type(fn, node->outs))
      hiaG_replace(&c->subst, node->outs, hiaG_in(fn, n, 0));
    break;
  case HIA_OP_SELECT: /* conditions that are a tensor give their shape to the result */
    if (hiaG_in(fn, n, 1) == hiaG_in(fn, n, 2) && hiaG_is_scalar(hiaG_type(fn, hiaG_in(fn, n, 0))))
      hiaG_replace(&c->subst, node->outs, hiaG_in(fn, n, 1));
    break;
  case HIA_OP_YIELD:
    if (region->kind == HIA_REGION_ELSE) leave_if(c, region->owner);
    if (region->kind == HIA_REGION_ROUND) leave_loop(c, region->owner);
    break;
  default: break;
  }
}

void hiaG_copy(hia_graph *g, hia_fn *fn) {
  copying c = {.fn = fn, .subst = hiaG_subst(g, fn)};
  HIA_EACH_NODE(fn, n) {
    hiaG_rewrite_ins(&c.subst, fn, n);
    visit(&c, n);
  }
  if (c.has_variables)
    HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&c.subst, fn, n);
}
