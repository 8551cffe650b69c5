/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* late: the graph of an image whose operations the interpreter notes and computes several at a time
 * (runtime/interp/later/later.h).
 *
 * The interpreter can note an operation whose result is a tensor, for its shape is known before its
 * elements are. A scalar is a word, which cannot be pending. So scalars that depend on tensors have
 * to be tensors of one element, through calls, branches, loops and objects. That, and how
 * comprehensions wait, is what the pass `batch` does for segments. This pass has it make segments
 * of those operations alone that have late scalars as operands or results, and then puts these
 * operations back where the `defer` of their segment stands, for one row:
 *
 *     %7:f32[1] = defer "f segment 1" %3          %8 = reshape %3, 1, 5
 *                                                 %7 = sum 1 %8
 *
 * All others stay as they are. So nothing is left that is for native code alone: the image has
 * usual operations, which expand runs, too. A `force` is its operand, since each operation of the
 * interpreter waits for what it reads. A `within` becomes an operation that fails as it does.
 *
 * Requires and changes what the pass `batch` does. */
#include "graph/analysis/effects.h"
#include "graph/batch/batch.h"
#include "graph/batch/batcher.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct undeferring {
  hia_graph *g;
  hia_fn *fn;
  hia_subst subst;
  bool is_changed;
} undeferring;

static hia_value_id insert(undeferring *u, hia_node_id at, unsigned op, const hia_value_id *ins,
                           uint32_t n, hia_type type, uint64_t imm) {
  hia_loc_id loc = u->fn->nodes.data[at].loc;
  return hiaG_out(u->fn, hiaG_insert(u->g, u->fn, at, op, ins, n, &type, 1, imm, loc), 0);
}

static hia_value_id number(undeferring *u, hia_node_id at, int64_t n) {
  return insert(u, at, HIA_OP_CONST, NULL, 0, HIA_I64, hiaR_from_i64(n));
}

/* ---- segments ---- */

/* The number of rows of a segment is 1: what it computes from that becomes a constant. */
static void set_rows(hia_graph *g, hia_fn *segment) {
  hia_subst subst = hiaG_subst(g, segment);
  for (hia_node_id n = segment->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, segment, n);
    next = hiaG_walk_next(segment, n);
    const hia_node node = segment->nodes.data[n];
    if (node.op != HIA_OP_DIM || node.imm != 0 || hiaG_in(segment, n, 0) != 0) continue;
    hia_type i64 = HIA_I64;
    hia_node_id one =
        hiaG_insert(g, segment, n, HIA_OP_CONST, NULL, 0, &i64, 1, hiaR_from_i64(1), node.loc);
    hiaG_replace(&subst, node.outs, hiaG_out(segment, one, 0));
    hiaG_remove(segment, n);
  }
}

/* True if parameter i of a segment, whose rows are vectors of one element, is a late scalar in
 * each: nothing but a reshape to one axis uses it. */
static bool is_box(const hia_fn *segment, uint32_t i) {
  bool is_used = false;
  HIA_EACH_NODE(segment, n) {
    const hia_node *node = &segment->nodes.data[n];
    for (uint32_t k = 0; k < node->n_ins; k++) {
      if (hiaG_in(segment, n, k) != i || (node->op == HIA_OP_DIM && node->imm == 0)) continue;
      if (node->op != HIA_OP_RESHAPE || node->n_ins != 2 || k) return false;
      is_used = true;
    }
  }
  return is_used;
}

/* Operand i of a `defer`, as the one row of what its segment takes. A late scalar stays as it is:
 * the segment begins with a reshape to that, which becomes its operand. */
static hia_value_id as_rows(undeferring *u, hia_node_id n, uint32_t i, const hia_fn *segment) {
  hia_value_id ins[2 + HIA_MAX_RANK] = {hiaG_in(u->fn, n, i)};
  const hia_dims *row = &segment->rows[i];
  hia_type type = segment->params[i];
  if (row->rank == 1 && row->dims[0] == 1 && is_box(segment, i)) return ins[0];
  if (!row->rank) return insert(u, n, HIA_OP_STACK, ins, 1, type, 0);
  ins[1] = number(u, n, 1);
  for (uint32_t k = 0; k < row->rank; k++) ins[2 + k] = number(u, n, row->dims[k]);
  return insert(u, n, HIA_OP_RESHAPE, ins, 2 + row->rank, type, 0);
}

/* Result i of the segment, of one row, as what the `defer` gives. */
static hia_value_id as_row(undeferring *u, hia_node_id at, hia_value_id rows, const hia_dims *row,
                           hia_type type) {
  hia_value_id ins[1 + HIA_MAX_RANK] = {rows};
  if (hiaG_type(u->fn, rows) == type) return rows; /* a late scalar */
  for (uint32_t k = 0; k < row->rank; k++) ins[1 + k] = number(u, at, row->dims[k]);
  return insert(u, at, HIA_OP_RESHAPE, ins, 1 + row->rank, type, 0);
}

static void put_back(undeferring *u, hia_node_id n) {
  hia_fn *segment = hiaG_fn(u->g, hiaG_callee(&u->fn->nodes.data[n]));
  const hia_node node = u->fn->nodes.data[n];
  hia_arena *scratch = &u->g->comp->scratch;
  set_rows(u->g, segment);
  hia_value_id *ins = HIA_NEW_ARRAY(scratch, hia_value_id, node.n_ins + 1);
  for (uint32_t i = 0; i < node.n_ins; i++) ins[i] = as_rows(u, n, i, segment);
  hia_node_id call = hiaG_insert(u->g, u->fn, n, HIA_OP_CALL, ins, node.n_ins, segment->results,
                                 node.n_outs, node.imm, node.loc);
  for (uint32_t i = 0; i < node.n_outs; i++) {
    hia_type type = hiaG_type(u->fn, node.outs + i);
    hia_value_id row = as_row(u, n, hiaG_out(u->fn, call, i), &segment->rows[node.n_ins + i], type);
    hiaG_replace(&u->subst, node.outs + i, row);
  }
  hiaG_remove(u->fn, n);
}

/* ---- indices ---- */

/* A check of an index becomes an operation that makes it: on zeros of that length, which are a
 * literal. */
static void check_index(undeferring *u, hia_node_id n) {
  hia_graph *g = u->g;
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id i = hiaG_in(u->fn, n, 1);
  hia_word length;
  bool is_label = node.imm == 1, is_of_rows = node.imm == 2;
  if (!hiaG_is_const(u->fn, hiaG_in(u->fn, n, 0), &length))
    HIA_BUG(g->comp, "a `within` of a length that is not constant");
  const hia_dims shape = {.rank = is_of_rows ? 2 : 1, .dims = {hiaR_to_i64(length), 1}};
  hia_dtype dtype = is_label ? HIA_F32 : HIA_BOOL;
  uint32_t literal = hiaG_literal_new(g, dtype, &shape);
  if (literal == HIA_NONE) hiaR_throw(g->comp, HIA_MEMORY, "a vector of zeros that is too long");
  hia_value_id zeros =
      insert(u, n, HIA_OP_LITERAL, NULL, 0, hiaG_tensor(g->types, dtype, shape.rank), literal);
  hia_value_id at = i;
  if (!is_label && hiaG_type(u->fn, i) != HIA_I64)
    at = insert(u, n, HIA_OP_CAST, &i, 1, HIA_I64, hiaG_type(u->fn, i));
  hia_value_id ins[2] = {zeros, at};
  insert(u, n, is_label ? HIA_OP_CROSS_ENTROPY : HIA_OP_ROW, ins, 2,
         hiaG_ranked(g->types, dtype, is_of_rows), 0);
  hiaG_replace(&u->subst, node.outs, i);
  hiaG_remove(u->fn, n);
}

/* ---- the pass ---- */

static void look_at(undeferring *u, hia_node_id n) {
  switch (u->fn->nodes.data[n].op) {
  case HIA_OP_WITHIN: check_index(u, n); break;
  case HIA_OP_FORCE:
    hiaG_replace(&u->subst, u->fn->nodes.data[n].outs, hiaG_in(u->fn, n, 0));
    hiaG_remove(u->fn, n);
    break;
  case HIA_OP_DEFER: put_back(u, n); break;
  default: return;
  }
  u->is_changed = true;
}

/* True if a call is of what was a segment. */
static bool is_of_segment(const hia_graph *g, const hia_node *node) {
  return node->op == HIA_OP_CALL && hiaG_fn(g, hiaG_callee(node))->rows;
}

static void inline_segments(hia_graph *g, hia_fn *fn) {
  hia_subst subst = hiaG_subst(g, fn);
  hia_node_id first = fn->nodes.len;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (!is_of_segment(g, &fn->nodes.data[n])) continue;
    hia_fn *segment = hiaG_fn(g, hiaG_callee(&fn->nodes.data[n]));
    hiaG_inline_call(g, fn, n, segment, &subst);
    segment->is_removed = true;
  }
  /* What segments begin with where late scalars come in. */
  hia_subst boxes = hiaG_subst(g, fn);
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&boxes, fn, n);
    next = hiaG_walk_next(fn, n);
    const hia_node node = fn->nodes.data[n];
    if (n < first || node.op != HIA_OP_RESHAPE || node.n_ins != 2 ||
        hiaG_type(fn, hiaG_in(fn, n, 0)) != hiaG_type(fn, node.outs))
      continue;
    hiaG_replace(&boxes, node.outs, hiaG_in(fn, n, 0));
    hiaG_remove(fn, n);
  }
}

static void undefer(hia_graph *g, hia_fn *fn) {
  undeferring u = {.g = g, .fn = fn, .subst = hiaG_subst(g, fn)};
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&u.subst, fn, n);
    next = hiaG_walk_next(fn, n);
    look_at(&u, n);
  }
  if (!u.is_changed) return;
  inline_segments(g, fn);
  hiaG_compact(g, fn);
}

/* True if the interpreter can note the operation as it stands. */
static bool stays(const hia_batcher *b, hia_fn_id f, hia_node_id n) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  const hia_node *node = &fn->nodes.data[n];
  if (hiaG_is_scalar(hiaG_type(fn, node->outs))) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(fn, n, i);
    if (hiaG_is_scalar(hiaG_type(fn, v)) && b->fns[f].is_late[v]) return false;
  }
  return node->op != HIA_OP_WITH && node->op != HIA_OP_OUTER;
}

static void choose(hia_batcher *b) {
  HIA_EACH_FN_BELOW(b->g, b->n, f) {
    const hia_fn *fn = hiaG_fn(b->g, f);
    HIA_EACH_NODE(fn, n)
      if (hiaG_is_deferred(b, f, n) && stays(b, f, n)) b->fns[f].can_lift[n] = false;
  }
}

void hiaG_late(hia_graph *g) {
  hiaG_batch_chosen(g, choose);
  hia_arena *scratch = &g->comp->scratch;
  HIA_EACH_FN(g, f) {
    if (hiaG_fn(g, f)->rows) continue;
    hia_mark mark = hiaR_arena_mark(scratch);
    undefer(g, hiaG_fn(g, f));
    hiaR_arena_release(scratch, mark);
    hiaR_look(g->comp);
  }
  hiaG_batch_clean(g);
  hiaG_sweep(g);
  hiaG_effects(g);
}
