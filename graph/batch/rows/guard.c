/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on rows whose results are not needed, where they fail. */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum { MOST_ROWS_UNCHECKED = 1 << 16 }; /* of a tensor that is not made */

/* Zeros in the shape of v. */
hia_value_id hiaG_put_like(hia_unstacking *u, const hia_putting *p, hia_value_id v) {
  hia_row_shape shape;
  hiaG_row_shape(u, v, &shape);
  hia_value_id ins[1 + HIA_MAX_RANK];
  hia_type scalar = (hia_type)shape.dtype;
  ins[0] = hiaG_put(p, HIA_OP_CONST, NULL, 0, scalar, 0);
  ins[1] = hiaG_put_rows(u, p, v);
  for (uint32_t k = 0; k < shape.rank; k++) ins[2 + k] = hiaG_put_number(p, shape.dims[k]);
  return hiaG_put(p, HIA_OP_FULL, ins, 2 + shape.rank, hiaG_type(u->fn, v), 0);
}

/* True if the sizes of a FULL are such that there can be a tensor of them. */
static hia_value_id put_can_fill(const hia_putting *p, hia_value_id rows) {
  hia_value_id zero = hiaG_put_number(p, 0), most = hiaG_put_number(p, MOST_ROWS_UNCHECKED);
  hia_value_id is_counted = hiaG_put_2(p, HIA_OP_LE, zero, rows, HIA_BOOL);
  hia_value_id is_small = hiaG_put_2(p, HIA_OP_LE, rows, most, HIA_BOOL);
  return hiaG_put_2(p, HIA_OP_BAND, is_counted, is_small, HIA_BOOL);
}

/* True if 0 <= from <= to <= rows. */
static hia_value_id put_is_part(const hia_putting *p, hia_value_id rows, hia_value_id from,
                                hia_value_id to) {
  hia_value_id zero = hiaG_put_number(p, 0);
  hia_value_id begins = hiaG_put_2(p, HIA_OP_LE, zero, from, HIA_BOOL);
  hia_value_id goes_up = hiaG_put_2(p, HIA_OP_LE, from, to, HIA_BOOL);
  hia_value_id ends = hiaG_put_2(p, HIA_OP_LE, to, rows, HIA_BOOL);
  hia_value_id is_up = hiaG_put_2(p, HIA_OP_BAND, begins, goes_up, HIA_BOOL);
  return hiaG_put_2(p, HIA_OP_BAND, is_up, ends, HIA_BOOL);
}

/* True if all elements of a list are indices of n elements. */
static hia_value_id put_are_indices(const hia_unstacking *u, const hia_putting *p,
                                    hia_value_id list, hia_value_id n) {
  hia_putting arms[2];
  hia_type type = (hia_type)hiaG_tensor_dtype(u->b->g->types, hiaG_type(u->fn, list));
  hia_value_id zero = hiaG_put_number(p, 0);
  hia_value_id len = hiaG_put(p, HIA_OP_DIM, &list, 1, HIA_I64, 0), ends[2];
  hia_value_id is_empty = hiaG_put_2(p, HIA_OP_EQ, len, zero, HIA_BOOL);
  hia_value_id are = hiaG_put_branch(p, is_empty, HIA_BOOL, arms);
  hiaG_put_yield(&arms[0], hiaG_put(&arms[0], HIA_OP_CONST, NULL, 0, HIA_BOOL, 1));
  for (unsigned i = 0; i < 2; i++) {
    unsigned op = i ? HIA_OP_MAX_OF : HIA_OP_MIN_OF;
    ends[i] = hiaG_put(&arms[1], op, &list, 1, type, HIA_NONE);
    if (type != HIA_I64) ends[i] = hiaG_put(&arms[1], HIA_OP_CAST, &ends[i], 1, HIA_I64, type);
  }
  hia_value_id begin = hiaG_put_2(&arms[1], HIA_OP_LE, zero, ends[0], HIA_BOOL);
  hia_value_id end = hiaG_put_2(&arms[1], HIA_OP_LT, ends[1], n, HIA_BOOL);
  hiaG_put_yield(&arms[1], hiaG_put_2(&arms[1], HIA_OP_BAND, begin, end, HIA_BOOL));
  return are;
}

/* True if the operands that have rows have equally many. */
static hia_value_id put_are_equal(hia_unstacking *u, const hia_putting *p, hia_node_id n) {
  hia_value_id first = HIA_NONE, all = hiaG_put(p, HIA_OP_CONST, NULL, 0, HIA_BOOL, 1);
  for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) {
    hia_value_id x = hiaG_rows_in(u, n, i);
    if (!u->has_rows[x]) continue;
    hia_value_id rows = hiaG_put_rows(u, p, x);
    if (first == HIA_NONE) first = rows;
    hia_value_id are = hiaG_put_2(p, HIA_OP_EQ, first, rows, HIA_BOOL);
    all = hiaG_put_2(p, HIA_OP_BAND, all, are, HIA_BOOL);
  }
  return all;
}

/* True if there is a label for each row, and each is one. */
static hia_value_id put_are_labels(hia_unstacking *u, const hia_putting *p, hia_node_id n) {
  hia_value_id x = hiaG_rows_in(u, n, 0), list = hiaG_rows_in(u, n, 1);
  hia_value_id len = hiaG_put(p, HIA_OP_DIM, &list, 1, HIA_I64, 0);
  hia_value_id are_all = hiaG_put_2(p, HIA_OP_EQ, len, hiaG_put_rows(u, p, x), HIA_BOOL);
  hia_value_id number = hiaG_put_number(p, hiaG_rows_size(u, x, 1));
  return hiaG_put_2(p, HIA_OP_BAND, are_all, put_are_indices(u, p, list, number), HIA_BOOL);
}

static hia_value_id put_ok(hia_unstacking *u, const hia_putting *p, hia_node_id n) {
  hia_value_id ins[3];
  const hia_node node = u->fn->nodes.data[n];
  for (uint32_t i = 0; i < 3; i++) ins[i] = i < node.n_ins ? hiaG_rows_in(u, n, i) : HIA_NONE;
  switch (node.op) {
  case HIA_OP_FULL: return put_can_fill(p, ins[1]);
  case HIA_OP_PART: return put_is_part(p, hiaG_put_rows(u, p, ins[0]), ins[1], ins[2]);
  case HIA_OP_ROWS: return put_are_indices(u, p, ins[1], hiaG_put_rows(u, p, ins[0]));
  case HIA_OP_CROSS_ENTROPY: return put_are_labels(u, p, n);
  default: return put_are_equal(u, p, n);
  }
}

void hiaG_put_guard(hia_unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  hia_putting p = hiaG_before(u->b->g, u->fn, n), arms[2];
  hia_value_id *ins = HIA_NEW_ARRAY(u->b->arena, hia_value_id, node.n_ins);
  hiaG_put_branch(&p, put_ok(u, &p, n), HIA_I64, arms);
  hiaG_put_yield(&arms[0], hiaG_put_number(&arms[0], 0));
  for (uint32_t i = 0; i < node.n_ins; i++) {
    ins[i] = hiaG_rows_in(u, n, i);
    if (u->has_rows[ins[i]]) ins[i] = hiaG_put_like(u, &arms[1], ins[i]);
  }
  hia_type type = hiaG_type(u->fn, node.outs);
  hia_value_id v = hiaG_put(&arms[1], node.op, ins, node.n_ins, type, node.imm);
  hiaG_put_yield(&arms[1], hiaG_put(&arms[1], HIA_OP_DIM, &v, 1, HIA_I64, 0));
}

bool hiaG_needs_guard(const hia_unstacking *u, hia_node_id n) {
  const hia_node *node = &u->fn->nodes.data[n];
  hia_size rows = HIA_NONE;
  if (node->flags & HIA_NODE_SIZED) return false;
  if (node->op == HIA_OP_ROWS || node->op == HIA_OP_CROSS_ENTROPY) return true;
  if (node->op != HIA_OP_CAT || !node->imm) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id x = hiaG_rows_in(u, n, i);
    if (!u->has_rows[x]) continue;
    hia_size own = u->b->fns[u->f].sizes[x].axes[0];
    if (rows != HIA_NONE && rows != own) return true;
    rows = own;
  }
  return false;
}
