/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* trap: checks whether operations make NaN, so that a run fails where the first one appears.
 *
 * A node *makes* a NaN if its result is NaN, or has an element that is, and none of its operands is
 * or has. One would look at every result in the engines. But which node is the first must not
 * depend on the order in which an engine works, nor on what its passes merge, move or fuse. So the
 * checks are part of the program, as fuel is (fuel.c): a TRAP stands behind each node that can make
 * a NaN, takes its result and its float operands, and fails like a division by zero. What passes
 * may do around it, its position in sequential order, and its chain of calls are those of any
 * operation that fails.
 *
 * Which ops can make a NaN, their rows say (HIA_T_MAKES_NAN). Of the others a result is NaN only if
 * an operand is: those that move, compare or select, and functions like tanh. NaNs that come from
 * outside (arguments, params, literals) are none that the program has made. What a function of the
 * host returns is checked like the result of an operation. An operand that is there for its shape
 * alone is not looked at.
 *
 * What a gradient computes is checked like anything else, at the operation that is differentiated;
 * but only what reaches a gradient that was asked for. So functions of gradients lose unused nodes
 * first.
 *
 * Comes right behind `grad`, since it must see the operations of the source and of gradients. A
 * graph that was written with its traps and read keeps these and gets no others.
 * Requires nothing; computes effects if there are gradients. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct trapping {
  hia_graph *g;
  hia_fn *fn;
  bool is_in_gradient;
  hia_u32vec ins; /* of the TRAP that is made */
} trapping;

const char *hiaG_cannot_trap(const hia_graph *g) {
  return g->state == HIA_FUNCTIONS ? NULL
                                   : "it is a static graph, whose operations are no longer those "
                                     "of the source";
}

/* True if the function is one that computes gradients. grad.c and grad/data.c give these their
 * names; no name in a source has a point. */
static bool is_of_gradients(const hia_fn *fn) {
  return strstr(fn->name, ".back") || strstr(fn->name, ".add") || strstr(fn->name, ".into");
}

static bool is_float(const trapping *t, hia_value_id v, hia_dtype *dtype) {
  *dtype = hiaG_dtype(t->g->types, hiaG_type(t->fn, v));
  return *dtype == HIA_F32 || *dtype == HIA_F64;
}

/* Which operands are looked at: from *first on, before *last. Others give a shape or rows. */
static void find_operands(const hia_node *node, uint32_t *first, uint32_t *last) {
  *first = node->op == HIA_OP_SCATTER ? 2 : 0;
  *last = node->op == HIA_OP_FIT || hiaR_takes_sum(node->op) ? 1 : node->n_ins;
}

/* Returns the operand at the dtype of the result: a function of the host may have others. Whether
 * it is NaN stays the same. */
static hia_value_id at_dtype(trapping *t, hia_node_id before, hia_value_id v, hia_dtype dtype,
                             hia_loc_id loc) {
  hia_dtype operand_dtype = hiaG_dtype(t->g->types, hiaG_type(t->fn, v));
  hia_type type = dtype;
  if (operand_dtype == dtype) return v;
  hia_node_id cast =
      hiaG_insert(t->g, t->fn, before, HIA_OP_CAST, &v, 1, &type, 1, operand_dtype, loc);
  return hiaG_out(t->fn, cast, 0);
}

static void check(trapping *t, hia_node_id n, hia_value_id result) {
  const hia_node node = t->fn->nodes.data[n];
  hia_dtype dtype, its;
  uint32_t first, last;
  if (!is_float(t, result, &dtype)) return;
  find_operands(&node, &first, &last);
  t->ins.len = 0;
  hiaR_push(&t->g->comp->scratch, &t->ins, result);
  for (uint32_t i = first; i < last; i++) {
    hia_value_id v = hiaG_in(t->fn, n, i);
    if (i == 0 && hiaR_takes_sum(node.op))
      hiaR_push(&t->g->comp->scratch, &t->ins, v);
    else if (is_float(t, v, &its))
      hiaR_push(&t->g->comp->scratch, &t->ins, at_dtype(t, node.next, v, dtype, node.loc));
  }
  bool is_in_gradient = t->is_in_gradient || hiaR_takes_sum(node.op);
  hia_type type = HIA_I64;
  hiaG_insert(t->g, t->fn, node.next, HIA_OP_TRAP, t->ins.data, t->ins.len, &type, 1,
              node.op + (is_in_gradient ? HIA_TRAP_GRADIENT : 0u), node.loc);
}

static void visit_function(trapping *t) {
  bool is_changed = false;
  HIA_EACH_NODE(t->fn, n) {
    unsigned op = t->fn->nodes.data[n].op;
    if (!(hiaR_ops[op].traits & HIA_T_MAKES_NAN) && op != HIA_OP_HOST) continue;
    for (uint32_t i = 0; i < t->fn->nodes.data[n].n_outs; i++) check(t, n, hiaG_out(t->fn, n, i));
    is_changed = true;
  }
  if (is_changed) hiaG_compact(t->g, t->fn);
}

static bool has_gradients(const hia_graph *g) {
  HIA_EACH_FN(g, f)
    if (is_of_gradients(hiaG_fn(g, f))) return true;
  return false;
}

void hiaG_trap(hia_graph *g) {
  hia_arena *scratch = &g->comp->scratch;
  if (g->is_read && hiaG_has_op(g, HIA_OP_TRAP, HIA_OP_TRAP)) return;
  if (has_gradients(g)) hiaG_effects(g);
  HIA_EACH_FN(g, f) {
    trapping t = {.g = g, .fn = hiaG_fn(g, f)};
    hia_mark mark = hiaR_arena_mark(scratch);
    t.is_in_gradient = is_of_gradients(t.fn);
    if (t.is_in_gradient) hiaG_dce(g, t.fn);
    visit_function(&t);
    hiaR_arena_release(scratch, mark);
  }
}
