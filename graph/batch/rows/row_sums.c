/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients of matrices of which rows at constant indices were used, such as that of the gates of a
 * cell, `let g = reshape(W @ x, 4, 256)`, of which g[0], g[1] .. are used: each use contributes a
 * row. If the contributions stand where they are collected, the rows are stacked, and no run has to
 * wait for them:
 *
 *     %s = data Row 1, data Dense %x          %a = add 0, %y
 *     %t = data Row 0, data Dense %y    ->    %b = add 0, %x
 *     %g = collect (data Both %s, %t), ..     %g = stack %a, %b
 *
 * That adds in the order of the sum, and begins with +0, as `collect` does (docs/tensors.md). */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"

enum { MOST_ROWS = 16, MOST_LEAVES = 64 };

typedef struct leaf {
  uint32_t row;
  hia_value_id x;
} leaf;

typedef struct stacking {
  hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  uint32_t n_values;    /* of which facts are known */
  hia_row_shape matrix; /* what is collected */
  leaf leaves[MOST_LEAVES];
  uint32_t n;
  bool is_late; /* a leaf may be pending */
} stacking;

static const hia_node *made(const stacking *s, hia_value_id v, hia_sum_ctor ctor) {
  const hia_node *node = hiaG_def(s->fn, v);
  bool is_one = node->op == HIA_OP_DATA && HIA_IMM_A(node->imm) == (uint32_t)ctor;
  return is_one ? node : NULL;
}

static hia_value_id in(const stacking *s, const hia_node *n, uint32_t i) {
  return s->fn->edges.data[n->ins + i];
}

/* False: it is no tensor at a constant index, which has the size of a row. */
static bool add_leaf(stacking *s, const hia_node *row) {
  hia_word index;
  int64_t dims[HIA_MAX_RANK];
  const hia_node *dense = made(s, in(s, row, 1), HIA_SUM_DENSE);
  if (!dense || !hiaG_is_const(s->fn, in(s, row, 0), &index) || s->n == MOST_LEAVES) return false;
  hia_value_id x = in(s, dense, 0);
  int64_t i = hiaR_to_i64(index);
  if (i < 0 || i >= s->matrix.dims[0] || x >= s->n_values) return false;
  if (!hiaG_batch_shape(s->b, s->f, x, dims)) return false;
  for (uint32_t k = 1; k < s->matrix.rank; k++)
    if (dims[k - 1] != s->matrix.dims[k]) return false;
  s->leaves[s->n++] = (leaf){(uint32_t)i, x};
  s->is_late |= s->b->fns[s->f].is_late[x];
  return true;
}

/* Lists what the sum consists of, in its order. */
static bool find_leaves(stacking *s, hia_value_id sum) {
  hia_value_id left[MOST_LEAVES];
  uint32_t n_left = 0;
  left[n_left++] = sum;
  while (n_left) {
    hia_value_id next = left[--n_left];
    const hia_node *both = made(s, next, HIA_SUM_BOTH), *row = made(s, next, HIA_SUM_ROW);
    if (both && n_left + 2 <= MOST_LEAVES) {
      left[n_left++] = in(s, both, 1);
      left[n_left++] = in(s, both, 0);
    } else if (!row || !add_leaf(s, row)) {
      return false;
    }
  }
  return s->is_late;
}

static hia_value_id put_row(const stacking *s, const hia_putting *p, uint32_t row) {
  hia_row_shape shape = {s->matrix.dtype, s->matrix.rank - 1, {0}};
  for (uint32_t k = 0; k < shape.rank; k++) shape.dims[k] = s->matrix.dims[k + 1];
  hia_value_id sum = HIA_NONE;
  for (uint32_t i = 0; i < s->n; i++) {
    if (s->leaves[i].row != row) continue;
    if (sum == HIA_NONE) sum = hiaG_put(p, HIA_OP_CONST, NULL, 0, (hia_type)shape.dtype, 0);
    sum = hiaG_put_2(p, HIA_OP_ADD, sum, s->leaves[i].x, hiaG_row_type(p, &shape));
  }
  return sum == HIA_NONE ? hiaG_put_zeros(p, &shape) : sum;
}

static bool is_of_rows(stacking *s, hia_node_id n) {
  const hia_node *node = &s->fn->nodes.data[n];
  if (node->op != HIA_OP_COLLECT || !hiaG_is_repeated(s->fn, n)) return false;
  hia_type type = hiaG_type(s->fn, node->outs);
  s->matrix =
      (hia_row_shape){hiaG_dtype(s->b->g->types, type), hiaG_rank(s->b->g->types, type), {0}};
  hia_value_id like = hiaG_in(s->fn, n, 1);
  if (s->matrix.rank < 2 || like >= s->n_values) return false;
  if (!hiaG_batch_shape(s->b, s->f, like, s->matrix.dims)) return false;
  if (s->matrix.dims[0] < 1 || s->matrix.dims[0] > MOST_ROWS) return false;
  s->n = 0;
  s->is_late = false;
  return find_leaves(s, hiaG_in(s->fn, n, 0));
}

static bool stack_rows(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  stacking s = {.b = b, .f = f, .fn = fn, .n_values = fn->values.len};
  hia_subst subst = hiaG_subst(b->g, fn);
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (!is_of_rows(&s, n)) continue;
    hia_putting p = hiaG_before(b->g, fn, n);
    hia_value_id rows[MOST_ROWS];
    uint32_t n_rows = (uint32_t)s.matrix.dims[0];
    for (uint32_t i = 0; i < n_rows; i++) rows[i] = put_row(&s, &p, i);
    hia_value_id v = hiaG_put(&p, HIA_OP_STACK, rows, n_rows, hiaG_row_type(&p, &s.matrix), 0);
    hiaG_replace(&subst, fn->nodes.data[n].outs, v);
    hiaG_remove(fn, n);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(b->g, fn);
  return is_changed;
}

bool hiaG_batch_stack_rows(hia_batcher *b) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= stack_rows(b, f);
  return is_changed;
}
