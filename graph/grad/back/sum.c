/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through sums, for second derivatives: what flows to a sum flows to each of its
 * contributions. */
#include "graph/grad/back/back.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"

static hia_value_id of_sum(hia_reverse *r, hia_type sum, hia_value_id tensor) {
  return value_of(r, HIA_OP_DATA, &tensor, 1, hiaG_grad_stored(r->d, sum), HIA_GRAD_OF_SUM);
}

void hiaG_back_collect(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs), sum = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE || !r->b->varies[sum]) return;
  if (r->b->is_sum[node.outs]) dy = op_of(r, HIA_OP_COLLECT, dy, hiaG_back_read(r, node.outs));
  hiaG_back_add(r, sum, of_sum(r, hiaG_type(r->fn, sum), dy));
}

static hia_value_id size_of(hia_reverse *r, hia_value_id x, uint32_t axis) {
  return value_of(r, HIA_OP_DIM, &x, 1, HIA_I64, axis);
}

/* Returns the rows of x, along axis 0, from `from` on and before `to`. */
static hia_value_id rows(hia_reverse *r, hia_value_id x, hia_value_id from, hia_value_id to) {
  return value_of(r, HIA_OP_PART, (hia_value_id[]){x, from, to}, 3, hiaG_type(r->back, x), 0);
}

/* Returns x as a matrix, as outer products see it: with the rows that they have, which are the
 * first. */
static hia_value_id as_matrix(hia_reverse *r, hia_value_id x, hia_value_id n_rows) {
  uint32_t rank = hiaG_rank(r->g->types, hiaG_type(r->back, x));
  hia_value_id ins[3] = {x, HIA_NONE, size_of(r, x, rank - 1)};
  ins[1] = size_of(r, x, 0);
  for (uint32_t i = 1; i < rank - 1; i++) ins[1] = op_of(r, HIA_OP_MUL, ins[1], size_of(r, x, i));
  hia_type matrix = hiaG_tensor(r->g->types, hiaG_dtype(r->g->types, hiaG_type(r->back, x)), 2);
  if (rank != 2) x = value_of(r, HIA_OP_RESHAPE, ins, 3, matrix, 0);
  return rows(r, x, constant(r, HIA_I64, 0), n_rows);
}

/* Returns what flows to operand i of a PAIR, given that `x` flows to the sum. */
static hia_value_id to_pair(hia_reverse *r, hia_node_id n, uint32_t i, hia_value_id x) {
  hia_value_id a = hiaG_back_read(r, hiaG_in(r->fn, n, 0)), ends[2];
  for (uint32_t k = 0; k < 2; k++) ends[k] = hiaG_back_read(r, hiaG_in(r->fn, n, k + 1));
  x = as_matrix(r, x, size_of(r, a, 0));
  if (i == 0)
    return op_of(r, HIA_OP_PRODUCT, x,
                 value_of(r, HIA_OP_CAT, ends, 2, hiaG_type(r->back, ends[0]), 0));
  hia_value_id both = op_of(r, HIA_OP_PRODUCT, a, x), middle = size_of(r, ends[0], 0);
  return i == 1 ? rows(r, both, constant(r, HIA_I64, 0), middle)
                : rows(r, both, middle, size_of(r, both, 0));
}

/* Returns what flows to operand i of a contribution, given that `x` flows to the sum. */
static hia_value_id to_contribution(hia_reverse *r, hia_node_id n, uint32_t i, hia_value_id x) {
  const hia_node *node = &r->fn->nodes.data[n];
  hia_value_id v = hiaG_in(r->fn, n, i), a, b;
  hia_type type = hiaG_type(r->fn, v);
  bool is_sum = hiaG_is_sum(r->g->types, type);
  switch ((hia_sum_ctor)node->imm) {
  case HIA_SUM_DENSE: /* it may be part of more rows */
    return rows(r, x, constant(r, HIA_I64, 0), size_of(r, hiaG_back_read(r, v), 0));
  case HIA_SUM_ROW:
    x = op_of(r, HIA_OP_ROW, x, hiaG_back_read(r, hiaG_in(r->fn, n, 0)));
    return is_sum ? of_sum(r, type, x) : x;
  case HIA_SUM_ROWS: return op_of(r, HIA_OP_ROWS, x, hiaG_back_read(r, hiaG_in(r->fn, n, 0)));
  case HIA_SUM_PART:
    a = hiaG_back_read(r, hiaG_in(r->fn, n, 0));
    return of_sum(r, type, rows(r, x, a, size_of(r, x, 0)));
  default: break;
  }
  if (node->imm == HIA_SUM_PAIR) return to_pair(r, n, i, x);
  a = hiaG_back_read(r, hiaG_in(r->fn, n, 0));
  b = hiaG_back_read(r, hiaG_in(r->fn, n, 1));
  bool is_outer = node->imm == HIA_SUM_OUTER;
  x = as_matrix(r, x, size_of(r, a, is_outer ? 0 : 1));
  if (i == 1) return op_of(r, HIA_OP_PRODUCT, a, x);
  return is_outer ? op_of(r, HIA_OP_PRODUCT, x, b) : op_of(r, HIA_OP_PRODUCT_BT, b, x);
}

static void through_contribution(hia_reverse *r, hia_node_id n, hia_value_id dy) {
  const hia_node node = r->fn->nodes.data[n];
  hia_dtype dtype;
  uint32_t rank;
  hiaG_sum_of(r->g->types, hiaG_type(r->fn, node.outs), &dtype, &rank);
  hia_type tensor = hiaG_tensor(r->g->types, dtype, rank);
  hia_given given = hiaG_back_begin_given(r, dy);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    hia_value_id x = value_of(r, HIA_OP_FIELD, &dy, 1, tensor, HIA_IMM(HIA_GRAD_OF_SUM, 0));
    x = to_contribution(r, n, i, x);
    hiaG_back_not_given(r, &given);
    bool is_tensor = hiaG_is_tensor(r->g, r->fn, v);
    hia_value_id none = is_tensor ? op_of(r, HIA_OP_ZEROS, hiaG_back_read(r, v), HIA_NONE)
                                  : hiaG_back_zero(r, hiaG_back_id(r, v));
    hiaG_back_give(r, &given, v, x, none);
  }
  hiaG_back_end_given(r, &given);
  for (uint32_t i = 0; i < given.ids.len; i++)
    hiaG_back_add_dense(r, given.ids.data[i], hiaG_out(r->back, given.branch, i));
}

void hiaG_back_sum(hia_reverse *r, hia_node_id n, hia_value_id dy) {
  if (r->fn->nodes.data[n].imm != HIA_SUM_BOTH) {
    through_contribution(r, n, dy);
    return;
  }
  for (uint32_t i = 0; i < 2; i++)
    if (r->b->varies[hiaG_in(r->fn, n, i)]) hiaG_back_add(r, hiaG_in(r->fn, n, i), dy);
}
