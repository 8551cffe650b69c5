/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Which tensors have rows that can be had without the others (rows.h). */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* ---- which tensors have rows ---- */

/* The shape of a row of v. False: v has a constant number of rows, or other sizes are not. */
bool hiaG_row_shape(const hia_unstacking *u, hia_value_id v, hia_row_shape *shape) {
  if (!hiaG_is_tensor(u->b->g, u->fn, v) || hiaG_rows_size(u, v, 0) >= 0) return false;
  *shape = (hia_row_shape){
      hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)), hiaG_rows_rank(u, v) - 1, {0}};
  for (uint32_t k = 0; k < shape->rank; k++)
    if ((shape->dims[k] = hiaG_rows_size(u, v, k + 1)) < 0) return false;
  return true;
}

/* An array of scalars or tensors that may be late. */
bool hiaG_is_late_array(const hia_unstacking *u, hia_value_id array) {
  return u->b->late_words[hiaG_batch_word(u->b->g, hiaG_type(u->fn, array), 0, 0)];
}

static bool fits_trailing(int64_t size, int64_t *common) {
  if (size < 0) return false;
  if (*common == 1) *common = size;
  return size == 1 || size == *common;
}

/* Each operand is a scalar, of a lower rank, one row for all, or has as many rows as the others. */
static bool elementwise(const hia_unstacking *u, hia_node_id n, bool *late) {
  const hia_node *node = &u->fn->nodes.data[n];
  hia_dtype at = hiaG_node_dtype(u->b->g, u->fn, n);
  uint32_t rank = hiaG_rows_rank(u, node->outs);
  hia_size rows = HIA_NONE;
  if (hiaR_ops[node->op].traits & HIA_T_RAISES) return false;
  if (hiaR_ops[node->op].traits & HIA_T_RAISES_INT && (at == HIA_I32 || at == HIA_I64))
    return false;
  for (uint32_t k = 1; k < rank; k++) {
    int64_t common = 1;
    for (uint32_t i = 0; i < node->n_ins; i++) {
      hia_value_id v = hiaG_rows_in(u, n, i);
      uint32_t own = hiaG_rows_rank(u, v);
      if (own >= k && !fits_trailing(hiaG_rows_size(u, v, own - k), &common)) return false;
    }
  }
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_rows_in(u, n, i);
    *late |= u->is_late[v] || u->b->fns[u->f].is_late[v];
    if (hiaG_rows_rank(u, v) < rank || hiaG_rows_size(u, v, 0) == 1) continue;
    if (!u->has_rows[v]) return false;
    hia_size own = u->b->fns[u->f].sizes[v].axes[0];
    if (rows != HIA_NONE && rows != own) return false; /* or one of them may be broadcast */
    rows = own;
  }
  return rows != HIA_NONE;
}

/* Along the first axis each tensor has rows, or a constant number of them; else each has rows, and
 * a guard finds out whether these are equally many. */
static bool cat(const hia_unstacking *u, hia_node_id n, bool *late) {
  enum { MOST_PARTS = 8 };
  const hia_node *node = &u->fn->nodes.data[n];
  if (node->n_ins > MOST_PARTS) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_rows_in(u, n, i);
    if (!u->has_rows[v] && (node->imm || hiaG_rows_size(u, v, 0) < 0)) return false;
    for (uint32_t k = 1; k < hiaG_rows_rank(u, v); k++)
      if (k != node->imm && hiaG_rows_size(u, v, k) != hiaG_rows_size(u, node->outs, k))
        return false;
    *late |= u->is_late[v] || u->b->fns[u->f].is_late[v];
  }
  return true;
}

/* Rows times a matrix that all activations share. */
static bool product(const hia_unstacking *u, hia_node_id n) {
  hia_value_id x = hiaG_rows_in(u, n, 0), w = hiaG_rows_in(u, n, 1);
  bool is_bt = u->fn->nodes.data[n].op == HIA_OP_PRODUCT_BT;
  if (hiaG_rows_rank(u, x) != 2 || hiaG_rows_rank(u, w) != 2) return false;
  if (!u->has_rows[x] || !u->b->fns[u->f].is_uniform[w]) return false;
  return hiaG_rows_size(u, x, 1) == hiaG_rows_size(u, w, is_bt ? 1 : 0);
}

/* A reduction along the last axis, which is not the first and has elements. */
static bool reduce(const hia_unstacking *u, hia_node_id n) {
  hia_value_id x = hiaG_rows_in(u, n, 0);
  uint64_t axis = u->fn->nodes.data[n].imm;
  if (axis == HIA_NONE || axis == 0 || axis + 1 != hiaG_rows_rank(u, x)) return false;
  return u->has_rows[x] && hiaG_rows_size(u, x, (uint32_t)axis) > 0;
}

/* A tensor of indices or labels, one for each row, that is there. */
static bool is_list(const hia_unstacking *u, hia_value_id v) {
  return hiaG_is_tensor(u->b->g, u->fn, v) && hiaG_rows_rank(u, v) == 1 &&
         !u->b->fns[u->f].is_late[v] && !u->is_late[v];
}

static bool labels(const hia_unstacking *u, hia_node_id n) {
  hia_value_id x = hiaG_rows_in(u, n, 0);
  return hiaG_rows_rank(u, x) == 2 && u->has_rows[x] && hiaG_rows_size(u, x, 1) > 0 &&
         is_list(u, hiaG_rows_in(u, n, 1));
}

static bool is_pack(const hia_unstacking *u, hia_node_id n, const hia_row_shape *shape,
                    bool *late) {
  hia_value_id array = hiaG_rows_in(u, n, 0);
  hia_type element = hiaG_element(u->b->g->types, hiaG_type(u->fn, array));
  *late = hiaG_is_late_array(u, array);
  return hiaG_ranked(u->b->g->types, shape->dtype, shape->rank) == element;
}

static void look_at(hia_unstacking *u, hia_node_id n) {
  const hia_node *node = &u->fn->nodes.data[n];
  hia_row_shape shape;
  bool late = false, has = false;
  if (node->n_outs != 1 || !hiaG_row_shape(u, node->outs, &shape)) return;
  switch (node->op) {
  case HIA_OP_PACK: has = is_pack(u, n, &shape, &late); break;
  case HIA_OP_FULL:
    has = true;
    late = u->b->fns[u->f].is_late[hiaG_rows_in(u, n, 0)];
    break;
  case HIA_OP_PART:
    has = u->has_rows[hiaG_rows_in(u, n, 0)];
    late = u->is_late[hiaG_rows_in(u, n, 0)];
    break;
  case HIA_OP_CAT: has = cat(u, n, &late); break;
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_BT: has = product(u, n); break;
  case HIA_OP_SOFTMAX:
  case HIA_OP_LOG_SOFTMAX:
    has = hiaG_rows_rank(u, node->outs) > 1 && u->has_rows[hiaG_rows_in(u, n, 0)];
    break;
  case HIA_OP_SUM:
  case HIA_OP_PROD:
  case HIA_OP_MEAN:
  case HIA_OP_MAX_OF:
  case HIA_OP_MIN_OF:
  case HIA_OP_ARG_MAX:
  case HIA_OP_ARG_MIN:
  case HIA_OP_ANY:
  case HIA_OP_ALL: has = reduce(u, n); break;
  case HIA_OP_CROSS_ENTROPY: has = labels(u, n); break;
  case HIA_OP_ROWS:
    has = u->has_rows[hiaG_rows_in(u, n, 0)] && is_list(u, hiaG_rows_in(u, n, 1));
    break;
  default:
    if (hiaR_ops[node->op].shape == HIA_SHAPE_ELEMENTWISE) has = elementwise(u, n, &late);
    break;
  }
  if (has && node->n_ins) late |= u->is_late[hiaG_rows_in(u, n, 0)];
  u->has_rows[node->outs] = has;
  u->is_late[node->outs] = has && late;
}

hia_unstacking hiaG_find_rows(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  hia_unstacking u = {.b = b, .f = f, .fn = fn, .n_values = fn->values.len};
  u.subst = hiaG_subst(b->g, fn);
  u.has_rows = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  u.is_late = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  u.is_stale = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  u.is_wanted = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  HIA_EACH_NODE(fn, n) look_at(&u, n);
  return u;
}
