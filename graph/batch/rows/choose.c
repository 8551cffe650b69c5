/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products with a matrix that an index chooses, such as `W[k] @ x` where W is a param of rank 3. A
 * segment cannot have them: each row would have a matrix of its own. But if there are few matrices,
 * control chooses the product instead of the matrix, and each is batched with its like:
 *
 *     %m = row %w, %k             %i = within %n, %k
 *     %y = product %m, %x   ->    %y = if %i < 2 { if %i < 1 { product (row %w, 0), %x } else .. }
 *                                      else { .. } */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/walk.h"

enum { MOST_MATRICES = 8 };

typedef struct choosing {
  hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  hia_node_id n; /* the product */
  uint32_t of;   /* its operand that is chosen */
  hia_value_id all, index;
} choosing;

/* Puts the product with one of the matrices from .. to. */
static hia_value_id put_choice(const choosing *c, const hia_putting *p, int64_t from, int64_t to) {
  hia_type type = hiaG_type(c->fn, c->fn->nodes.data[c->n].outs);
  if (to - from > 1) {
    hia_putting arms[2];
    int64_t middle = (from + to) / 2;
    hia_value_id bound = hiaG_put_number(p, middle);
    hia_value_id is_below = hiaG_put_2(p, HIA_OP_LT, c->index, bound, HIA_BOOL);
    hia_value_id v = hiaG_put_branch(p, is_below, type, arms);
    hiaG_put_yield(&arms[0], put_choice(c, &arms[0], from, middle));
    hiaG_put_yield(&arms[1], put_choice(c, &arms[1], middle, to));
    return v;
  }
  hia_type matrix = hiaG_type(c->fn, hiaG_in(c->fn, c->n, c->of));
  hia_value_id ins[2] = {hiaG_in(c->fn, c->n, 0), hiaG_in(c->fn, c->n, 1)};
  ins[c->of] = hiaG_put_2(p, HIA_OP_ROW, c->all, hiaG_put_number(p, from), matrix);
  return hiaG_put(p, HIA_OP_PRODUCT, ins, 2, type, 0);
}

/* True if the product is one of a chosen matrix, among few, that is worth it, and a vector. */
static bool is_of_choice(choosing *c) {
  const hia_types *types = c->b->g->types;
  const hia_node *node = &c->fn->nodes.data[c->n];
  if (node->op != HIA_OP_PRODUCT || !hiaG_is_repeated(c->fn, c->n)) return false;
  hia_value_id ins[2] = {hiaG_in(c->fn, c->n, 0), hiaG_in(c->fn, c->n, 1)};
  c->of = hiaG_rank(types, hiaG_type(c->fn, ins[0])) == 1;
  const hia_node *row = hiaG_def(c->fn, ins[c->of]);
  if (row->op != HIA_OP_ROW || hiaG_rank(types, hiaG_type(c->fn, ins[1 - c->of])) != 1)
    return false;
  c->all = c->fn->edges.data[row->ins];
  c->index = c->fn->edges.data[row->ins + 1];
  hia_word word;
  int64_t dims[HIA_MAX_RANK], x[HIA_MAX_RANK];
  int64_t least = c->b->g->batches_all ? 1 : HIA_BATCH_WORTH;
  if (!c->b->fns[c->f].is_uniform[c->all] || hiaG_is_const(c->fn, c->index, &word)) return false;
  if (!hiaG_batch_shape(c->b, c->f, c->all, dims) || dims[0] < 2 || dims[0] > MOST_MATRICES)
    return false;
  bool fits = hiaG_batch_shape(c->b, c->f, ins[1 - c->of], x) && x[0] == dims[c->of ? 1 : 2];
  return fits && dims[1] * dims[2] >= least;
}

/* Rows that nothing uses any more: their indices were tested. */
static void remove_unused(hia_fn *fn, const hia_u32vec *rows, hia_arena *arena) {
  bool *is_used = HIA_NEW_ARRAY(arena, bool, fn->values.len + 1);
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) is_used[hiaG_in(fn, n, i)] = true;
  for (uint32_t i = 0; i < rows->len; i++) {
    const hia_node *node = &fn->nodes.data[rows->data[i]];
    if (!(node->flags & HIA_NODE_DEAD) && !is_used[node->outs]) hiaG_remove(fn, rows->data[i]);
  }
}

static bool choose(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  choosing c = {.b = b, .f = f, .fn = fn};
  hia_subst subst = hiaG_subst(b->g, fn);
  uint32_t n_nodes = fn->nodes.len;
  hia_u32vec rows = {0};
  for (hia_node_id next = fn->regions.data[0].first; next != HIA_NONE;) {
    c.n = next;
    next = hiaG_walk_next(fn, c.n);
    if (c.n >= n_nodes || !is_of_choice(&c)) continue;
    hia_putting p = hiaG_before(b->g, fn, c.n);
    hia_value_id old = fn->nodes.data[c.n].outs, bounds[2] = {HIA_NONE, c.index};
    /* The index is tested where the matrix was chosen; that stands before the product. */
    hia_node_id row = fn->values.data[hiaG_in(fn, c.n, c.of)].node;
    hia_putting at_row = hiaG_before(b->g, fn, row);
    int64_t dims[HIA_MAX_RANK];
    hiaG_batch_shape(b, f, c.all, dims);
    bounds[0] = hiaG_put_number(&at_row, dims[0]);
    c.index = hiaG_put(&at_row, HIA_OP_WITHIN, bounds, 2, HIA_I64, 2);
    hiaG_replace(&subst, old, put_choice(&c, &p, 0, dims[0]));
    hiaG_remove(fn, c.n);
    hiaR_push(b->arena, &rows, row);
  }
  if (!rows.len) return false;
  HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&subst, fn, n);
  remove_unused(fn, &rows, b->arena);
  hiaG_compact(b->g, fn);
  return true;
}

bool hiaG_batch_choose(hia_batcher *b) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= choose(b, f);
  return is_changed;
}
