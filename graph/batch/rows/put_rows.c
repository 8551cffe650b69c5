/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Putting what gives the number of rows of a tensor, or one row, without the tensor. */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* ---- how many rows ---- */

static hia_value_id rows_of_parts(hia_unstacking *u, const hia_putting *p, hia_node_id n) {
  hia_value_id sum = HIA_NONE;
  for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) {
    hia_value_id one = hiaG_put_rows(u, p, hiaG_rows_in(u, n, i));
    sum =
        sum == HIA_NONE ? one : hiaG_put(p, HIA_OP_ADD, (hia_value_id[]){sum, one}, 2, HIA_I64, 0);
  }
  return sum;
}

/* Puts what gives the number of rows of v. */
hia_value_id hiaG_put_rows(hia_unstacking *u, const hia_putting *p, hia_value_id v) {
  hia_node_id n = u->fn->values.data[v].node;
  if (!u->has_rows[v]) return hiaG_put_number(p, hiaG_rows_size(u, v, 0));
  switch (u->fn->nodes.data[n].op) {
  case HIA_OP_PACK: {
    hia_value_id array = hiaG_rows_in(u, n, 0);
    return hiaG_put(p, HIA_OP_LEN, &array, 1, HIA_I64, 0);
  }
  case HIA_OP_FULL: return hiaG_rows_in(u, n, 1);
  case HIA_OP_PART:
    return hiaG_put(p, HIA_OP_SUB, (hia_value_id[]){hiaG_rows_in(u, n, 2), hiaG_rows_in(u, n, 1)},
                    2, HIA_I64, 0);
  case HIA_OP_ROWS: {
    hia_value_id list = hiaG_rows_in(u, n, 1);
    return hiaG_put(p, HIA_OP_DIM, &list, 1, HIA_I64, 0);
  }
  case HIA_OP_CAT:
    if (u->fn->nodes.data[n].imm == 0) return rows_of_parts(u, p, n);
    break;
  default: break;
  }
  for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++)
    if (u->has_rows[hiaG_rows_in(u, n, i)]) return hiaG_put_rows(u, p, hiaG_rows_in(u, n, i));
  HIA_BUG(u->b->g->comp, "no operand of node %u has rows", n);
}

/* ---- one row ---- */

/* Puts what gives the only row of v in such a form that a segment can have it. */
static hia_value_id put_only_row(hia_unstacking *u, const hia_putting *p, hia_value_id v) {
  const hia_node *def = hiaG_def(u->fn, v);
  hia_value_id of = def->n_ins ? u->fn->edges.data[def->ins] : HIA_NONE;
  hia_row_shape row = {
      hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)), hiaG_rows_rank(u, v) - 1, {0}};
  hia_value_id ins[1 + HIA_MAX_RANK] = {v, HIA_NONE};
  if (def->op == HIA_OP_STACK && def->imm == 0) return of;
  if (!row.rank) ins[1] = hiaG_put_number(p, 0);
  if (!row.rank) return hiaG_put(p, HIA_OP_ROW, ins, 2, hiaG_row_type(p, &row), 0);
  bool is_same = def->op == HIA_OP_RESHAPE && hiaG_rows_rank(u, of) == row.rank;
  for (uint32_t k = 0; k < row.rank; k++) {
    row.dims[k] = hiaG_rows_size(u, v, k + 1);
    is_same = is_same && hiaG_rows_size(u, of, k) == row.dims[k];
  }
  if (is_same) return of;
  for (uint32_t k = 0; k < row.rank; k++) ins[1 + k] = hiaG_put_number(p, row.dims[k]);
  return hiaG_put(p, HIA_OP_RESHAPE, ins, 1 + row.rank, hiaG_row_type(p, &row), 0);
}

/* Row k of a tensor that has a constant number of them. */
static hia_value_id put_own_row(hia_unstacking *u, const hia_putting *p, hia_value_id v,
                                hia_value_id k) {
  if (hiaG_rows_size(u, v, 0) == 1) return put_only_row(u, p, v);
  hia_type type = hiaG_ranked(u->b->g->types, hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)),
                              hiaG_rows_rank(u, v) - 1);
  return hiaG_put(p, HIA_OP_ROW, (hia_value_id[]){v, k}, 2, type, 0);
}

static hia_value_id put_elementwise(hia_unstacking *u, const hia_putting *p, hia_node_id n,
                                    hia_value_id k, hia_type type) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id ins[4];
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id x = hiaG_rows_in(u, n, i);
    bool is_whole = hiaG_rows_rank(u, x) < hiaG_rows_rank(u, node.outs);
    ins[i] = is_whole ? x : u->has_rows[x] ? hiaG_put_row(u, p, x, k) : put_only_row(u, p, x);
  }
  return hiaG_put(p, node.op, ins, node.n_ins, type, node.imm);
}

/* Element k of a list of indices, as an i64 or as it is. */
static hia_value_id put_listed(hia_unstacking *u, const hia_putting *p, hia_value_id list,
                               hia_value_id k, bool is_wide) {
  hia_type type = (hia_type)hiaG_tensor_dtype(u->b->g->types, hiaG_type(u->fn, list));
  hia_value_id i = hiaG_put_2(p, HIA_OP_ROW, list, k, type);
  return is_wide && type != HIA_I64 ? hiaG_put(p, HIA_OP_CAST, &i, 1, HIA_I64, type) : i;
}

/* Row k of the product of a tensor that has rows and a matrix; the order in which it is added is
 * that of the product of the matrix and a vector. */
static hia_value_id put_product(hia_unstacking *u, const hia_putting *p, hia_node_id n,
                                hia_value_id k, hia_type type) {
  hia_value_id row = hiaG_put_row(u, p, hiaG_rows_in(u, n, 0), k), w = hiaG_rows_in(u, n, 1);
  bool is_bt = u->fn->nodes.data[n].op == HIA_OP_PRODUCT_BT;
  return is_bt ? hiaG_put_2(p, HIA_OP_PRODUCT, w, row, type)
               : hiaG_put_2(p, HIA_OP_PRODUCT, row, w, type);
}

/* Row k of what is computed of each row for itself. */
static hia_value_id put_of_row(hia_unstacking *u, const hia_putting *p, hia_node_id n,
                               hia_value_id k, hia_type type) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id x = hiaG_rows_in(u, n, 0), row = hiaG_put_row(u, p, x, k);
  bool is_reduced = hiaR_ops[node.op].shape == HIA_SHAPE_REDUCE;
  uint64_t axis = !is_reduced ? 0 : hiaG_rows_rank(u, x) == 2 ? HIA_NONE : node.imm - 1;
  return hiaG_put(p, node.op, &row, 1, type, axis);
}

static hia_value_id put_labelled(hia_unstacking *u, const hia_putting *p, hia_node_id n,
                                 hia_value_id k, hia_type type) {
  hia_value_id x = hiaG_rows_in(u, n, 0), row = hiaG_put_row(u, p, x, k);
  hia_value_id label = put_listed(u, p, hiaG_rows_in(u, n, 1), k, false);
  hia_value_id bounds[2] = {hiaG_put_number(p, hiaG_rows_size(u, x, 1)), label};
  label = hiaG_put(p, HIA_OP_WITHIN, bounds, 2, hiaG_type(u->fn, label), 1);
  return hiaG_put_2(p, HIA_OP_CROSS_ENTROPY, row, label, type);
}

static hia_value_id put_joined(hia_unstacking *u, const hia_putting *p, hia_node_id n,
                               hia_value_id k, hia_type type) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id *rows = HIA_NEW_ARRAY(u->b->arena, hia_value_id, node.n_ins);
  for (uint32_t i = 0; i < node.n_ins; i++) rows[i] = hiaG_put_row(u, p, hiaG_rows_in(u, n, i), k);
  return hiaG_put(p, HIA_OP_CAT, rows, node.n_ins, type, node.imm - 1);
}

/* Row k of operands i and on of a concatenation. */
static hia_value_id put_row_of(hia_unstacking *u, const hia_putting *p, hia_node_id n, uint32_t i,
                               hia_value_id k, hia_type type) {
  hia_value_id x = hiaG_rows_in(u, n, i);
  if (i + 1 == u->fn->nodes.data[n].n_ins)
    return u->has_rows[x] ? hiaG_put_row(u, p, x, k) : put_own_row(u, p, x, k);
  hia_putting arms[2];
  hia_value_id rows = hiaG_put_rows(u, p, x);
  hia_value_id is_here = hiaG_put(p, HIA_OP_LT, (hia_value_id[]){k, rows}, 2, HIA_BOOL, 0);
  hia_value_id v = hiaG_put_branch(p, is_here, type, arms);
  hiaG_put_yield(&arms[0],
                 u->has_rows[x] ? hiaG_put_row(u, &arms[0], x, k) : put_own_row(u, &arms[0], x, k));
  hia_value_id rest = hiaG_put(&arms[1], HIA_OP_SUB, (hia_value_id[]){k, rows}, 2, HIA_I64, 0);
  hiaG_put_yield(&arms[1], put_row_of(u, &arms[1], n, i + 1, rest, type));
  return v;
}

/* Puts what gives row k of v, which has rows; k is an index of it. */
hia_value_id hiaG_put_row(hia_unstacking *u, const hia_putting *p, hia_value_id v, hia_value_id k) {
  hia_node_id n = u->fn->values.data[v].node;
  hia_row_shape shape;
  hiaG_row_shape(u, v, &shape);
  hia_type type = hiaG_row_type(p, &shape);
  switch (u->fn->nodes.data[n].op) {
  case HIA_OP_PACK: return hiaG_put_at(p, &shape, hiaG_rows_in(u, n, 0), k);
  case HIA_OP_FULL: return hiaG_put_full(p, &shape, hiaG_rows_in(u, n, 0));
  case HIA_OP_PART: {
    hia_value_id at =
        hiaG_put(p, HIA_OP_ADD, (hia_value_id[]){k, hiaG_rows_in(u, n, 1)}, 2, HIA_I64, 0);
    return hiaG_put_row(u, p, hiaG_rows_in(u, n, 0), at);
  }
  case HIA_OP_CAT:
    if (u->fn->nodes.data[n].imm) return put_joined(u, p, n, k, type);
    return put_row_of(u, p, n, 0, k, type);
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_BT: return put_product(u, p, n, k, type);
  case HIA_OP_CROSS_ENTROPY: return put_labelled(u, p, n, k, type);
  case HIA_OP_ROWS:
    k = put_listed(u, p, hiaG_rows_in(u, n, 1), k, true);
    return hiaG_put_row(u, p, hiaG_rows_in(u, n, 0), k);
  default:
    return hiaR_ops[u->fn->nodes.data[n].op].shape == HIA_SHAPE_ELEMENTWISE
               ? put_elementwise(u, p, n, k, type)
               : put_of_row(u, p, n, k, type);
  }
}
