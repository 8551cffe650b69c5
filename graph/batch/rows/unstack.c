/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are stacked of pending rows. `[f(x) for x in xs]` of vectors is an array, of which a
 * `pack` makes a tensor; that reads all elements, so the run waits for them. What needs only one
 * row of such a tensor, or the sum of its rows, gets it from the array instead:
 *
 *     %x = pack %a, %64                       %x = pack %a, %64       (removed if unused)
 *     %y = row %x, %k                 ->      %y = at 0 %a, within(%k)
 *     %z = sum 0 %x                           %z = the sum of the elements of %a (add_rows.c)
 *     %n = dim 0 %x                           %n = len %a
 *
 * So does what is computed row by row: concatenations along the first axis, parts, elementwise
 * operations. The row of the result is then that of the operands' rows. The backward pass reads
 * gradients of stacked tensors in this way, row by row.
 *
 * The number of rows is not constant; if it is, a segment can stack the elements of the array. All
 * other sizes are. An operation that is no longer needed, but might fail, is kept where it fails:
 * behind a branch (guard). */
#include "graph/analysis/effects.h"
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* ---- what reads them ---- */

static void replace(hia_unstacking *u, hia_node_id n, hia_value_id by) {
  hiaG_replace(&u->subst, u->fn->nodes.data[n].outs, by);
  hiaG_remove(u->fn, n);
  u->is_changed = true;
}

static void replace_row(hia_unstacking *u, hia_node_id n) {
  hia_putting p = hiaG_before(u->b->g, u->fn, n);
  hia_value_id x = hiaG_rows_in(u, n, 0),
               bounds[2] = {hiaG_put_rows(u, &p, x), hiaG_rows_in(u, n, 1)};
  uint64_t of_rows = hiaG_rows_rank(u, x) > 1 ? 2 : 0;
  hia_value_id k = hiaG_put(&p, HIA_OP_WITHIN, bounds, 2, HIA_I64, of_rows);
  replace(u, n, hiaG_put_row(u, &p, x, k));
}

/* What expects a number of rows compares it where it stands; the tensor need not be there. */
static void replace_expect(hia_unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id x = hiaG_rows_in(u, n, 0), ins[1 + HIA_MAX_RANK], expected = HIA_NONE;
  for (uint32_t i = 1, axis = 0; i < node.n_ins; i++, axis++) {
    while (!(node.imm >> axis & 1)) axis++;
    hia_word word;
    bool is_number = hiaG_is_const(u->fn, hiaG_rows_in(u, n, i), &word);
    if (!axis) expected = hiaG_rows_in(u, n, i);
    if (axis && (!is_number || hiaG_rows_size(u, x, axis) != hiaR_to_i64(word))) return;
  }
  if (expected == HIA_NONE) return;
  hia_putting p = hiaG_before(u->b->g, u->fn, n), arms[2];
  hia_value_id ok = hiaG_put_2(&p, HIA_OP_EQ, hiaG_put_rows(u, &p, x), expected, HIA_BOOL);
  hiaG_put_branch(&p, ok, HIA_I64, arms);
  hiaG_put_yield(&arms[0], hiaG_put_number(&arms[0], 0));
  for (uint32_t i = 1; i < node.n_ins; i++) ins[i] = hiaG_rows_in(u, n, i);
  ins[0] = hiaG_put_like(u, &arms[1], x);
  hia_type type = hiaG_type(u->fn, x);
  hia_value_id v = hiaG_put(&arms[1], HIA_OP_EXPECT, ins, node.n_ins, type, node.imm);
  hiaG_put_yield(&arms[1], hiaG_put(&arms[1], HIA_OP_DIM, &v, 1, HIA_I64, 0));
  replace(u, n, x);
}

/* A part of a constant number of rows: a segment can have it, but not what it is a part of. */
static void replace_part(hia_unstacking *u, hia_node_id n) {
  enum { MOST_ROWS = 8 };
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id x = hiaG_rows_in(u, n, 0), from = hiaG_rows_in(u, n, 1), rows[MOST_ROWS];
  int64_t n_rows = hiaG_rows_size(u, node.outs, 0);
  hia_row_shape shape;
  hiaG_row_shape(u, x, &shape);
  if (n_rows < 1 || n_rows > MOST_ROWS || !shape.rank) return;
  hiaG_put_guard(u, n);
  hia_putting p = hiaG_before(u->b->g, u->fn, n);
  for (int64_t i = 0; i < n_rows; i++)
    rows[i] =
        hiaG_put_row(u, &p, x, hiaG_put_2(&p, HIA_OP_ADD, from, hiaG_put_number(&p, i), HIA_I64));
  hia_type type = hiaG_type(u->fn, node.outs);
  replace(u, n, hiaG_put(&p, HIA_OP_STACK, rows, (uint32_t)n_rows, type, 0));
}

/* A constant number of elements, which may be late: a segment can stack them. */
static void replace_pack(hia_unstacking *u, hia_node_id n) {
  enum { MOST_ELEMENTS = 16 };
  hia_value_id v = u->fn->nodes.data[n].outs, array = hiaG_rows_in(u, n, 0),
               elements[MOST_ELEMENTS];
  int64_t n_elements = hiaG_rows_size(u, v, 0);
  hia_row_shape shape = {
      hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)), hiaG_rows_rank(u, v) - 1, {0}};
  if (n_elements < 1 || n_elements > MOST_ELEMENTS || !hiaG_is_late_array(u, array)) return;
  if (!hiaG_is_repeated(u->fn, n)) return;
  hia_putting p = hiaG_before(u->b->g, u->fn, n);
  if (hiaG_element(p.g->types, hiaG_type(u->fn, array)) != hiaG_row_type(&p, &shape)) return;
  for (uint32_t k = 0; k < shape.rank; k++)
    if ((shape.dims[k] = hiaG_rows_size(u, v, k + 1)) < 0) return;
  for (int64_t i = 0; i < n_elements; i++)
    elements[i] = hiaG_put_at(&p, &shape, array, hiaG_put_number(&p, i));
  hia_type type = hiaG_type(u->fn, v);
  replace(u, n, hiaG_put(&p, HIA_OP_STACK, elements, (uint32_t)n_elements, type, 0));
}

/* True if v consists of zeros, and not of -0. */
static bool is_zeros(const hia_unstacking *u, hia_value_id v) {
  const hia_node *def = hiaG_def(u->fn, v);
  hia_word word;
  if (def->op == HIA_OP_STACK) {
    for (uint32_t i = 0; i < def->n_ins; i++) {
      const hia_node *row = hiaG_def(u->fn, u->fn->edges.data[def->ins + i]);
      if (row->op != HIA_OP_FULL || !hiaG_is_const(u->fn, u->fn->edges.data[row->ins], &word) ||
          word)
        return false;
    }
    return true;
  }
  return def->op == HIA_OP_FULL && hiaG_is_const(u->fn, u->fn->edges.data[def->ins], &word) &&
         !word;
}

/* Puts an array of the rows of v. */
static hia_value_id put_array(hia_unstacking *u, const hia_putting *p, hia_value_id v) {
  hia_node_id n = u->fn->values.data[v].node;
  hia_row_shape shape;
  hiaG_row_shape(u, v, &shape);
  if (u->fn->nodes.data[n].op == HIA_OP_PACK) return hiaG_rows_in(u, n, 0);
  hia_value_id rows = hiaG_put_rows(u, p, v);
  hia_type type = hiaG_array(u->b->g->types, hiaG_row_type(p, &shape));
  hia_value_id array = hiaG_put(p, HIA_OP_MAP, &rows, 1, type, 0);
  hia_putting each = {p->g, p->fn, hiaG_def(u->fn, array)->regions, HIA_NONE, p->loc};
  hia_value_id k = hiaG_put(&each, HIA_OP_ARG, NULL, 0, HIA_I64, 0);
  hiaG_put_yield(&each, hiaG_put_row(u, &each, v, k));
  return array;
}

/* An array of the rows of v, without zeros behind all others: these add nothing to a sum. */
static hia_value_id put_summands(hia_unstacking *u, const hia_putting *p, hia_value_id v) {
  const hia_node *node = hiaG_def(u->fn, v);
  while (node->op == HIA_OP_CAT && node->imm == 0 && node->n_ins == 2) {
    hia_value_id first = u->fn->edges.data[node->ins], last = u->fn->edges.data[node->ins + 1];
    if (!u->has_rows[first] || u->has_rows[last] || !is_zeros(u, last)) break;
    v = first;
    node = hiaG_def(u->fn, v);
  }
  return put_array(u, p, v);
}

/* A sum or a mean that is waited for once gains nothing; nor does one of scalars, unless a
 * recursion or the rounds of a loop make it. */
static void replace_sum(hia_unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id x = hiaG_rows_in(u, n, 0);
  hia_row_shape shape;
  hiaG_row_shape(u, x, &shape);
  if (node.flags & HIA_NODE_WAITS || !hiaG_is_repeated(u->fn, n)) return;
  bool is_inner = u->fn->effects & HIA_E_RECURSIVE || hiaG_is_in_rounds(u->fn, n);
  if (shape.rank ? node.imm != 0 : !is_inner) return;
  hia_putting p = hiaG_before(u->b->g, u->fn, n);
  hia_value_id sum = hiaG_put_sum(u->b, u->f, &p, &shape, put_summands(u, &p, x));
  if (node.op == HIA_OP_MEAN) {
    hia_value_id rows = hiaG_put_rows(u, &p, x);
    rows = hiaG_put(&p, HIA_OP_CAST, &rows, 1, (hia_type)shape.dtype, HIA_I64);
    sum = hiaG_put_2(&p, HIA_OP_DIV, sum, rows, hiaG_row_type(&p, &shape));
  }
  replace(u, n, sum);
}

/* ---- products of all rows and a matrix ---- */

/* Puts v, of which nothing but its rows was wanted before. */
static hia_value_id put_stacked(hia_unstacking *u, const hia_putting *p, hia_value_id array,
                                hia_type type, const hia_row_shape *shape) {
  hia_value_id ins[1 + HIA_MAX_RANK] = {array};
  for (uint32_t k = 0; k < shape->rank; k++) ins[1 + k] = hiaG_put_number(p, shape->dims[k]);
  hia_value_id v = hiaG_put(p, HIA_OP_PACK, ins, 1 + shape->rank, type, 0);
  hiaG_def(u->fn, v)->flags |= HIA_NODE_SIZED;
  return v;
}

/* The rows of a product that is computed of all rows at once. */
static hia_value_id put_product_at_once(hia_unstacking *u, const hia_putting *p, hia_node_id n,
                                        hia_type array) {
  hia_value_id x = hiaG_rows_in(u, n, 0), y = u->fn->nodes.data[n].outs;
  hia_row_shape shape;
  hiaG_row_shape(u, x, &shape);
  x = put_stacked(u, p, put_array(u, p, x), hiaG_type(u->fn, x), &shape);
  hiaG_def(u->fn, x)->flags |= HIA_NODE_WAITS;
  unsigned op = u->fn->nodes.data[n].op;
  hia_value_id all = hiaG_put_2(p, op, x, hiaG_rows_in(u, n, 1), hiaG_type(u->fn, y));
  hiaG_def(u->fn, all)->flags |= HIA_NODE_WAITS;
  hia_value_id rows = hiaG_put(p, HIA_OP_DIM, &all, 1, HIA_I64, 0);
  hia_value_id v = hiaG_put(p, HIA_OP_MAP, &rows, 1, array, 0);
  hia_putting each = {p->g, p->fn, hiaG_def(u->fn, v)->regions, HIA_NONE, p->loc};
  hia_value_id k = hiaG_put(&each, HIA_OP_ARG, NULL, 0, HIA_I64, 0);
  hiaG_put_yield(&each, hiaG_put_2(&each, HIA_OP_ROW, all, k, hiaG_element(p->g->types, array)));
  return v;
}

/* A product becomes an array of its rows, each of which a segment computes. Products that may be
 * OpenBLAS's stay such, since these add in another order. */
static void replace_product(hia_unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  hia_putting p = hiaG_before(u->b->g, u->fn, n), arms[2];
  hia_value_id x = hiaG_rows_in(u, n, 0), w = hiaG_rows_in(u, n, 1), v;
  hia_row_shape shape;
  hiaG_row_shape(u, node.outs, &shape);
  hia_type array = hiaG_array(p.g->types, hiaG_row_type(&p, &shape));
  if (hiaG_rows_size(u, w, 0) < HIA_BATCH_BLAS || hiaG_rows_size(u, w, 1) < HIA_BATCH_BLAS) {
    v = put_array(u, &p, node.outs);
  } else {
    hia_value_id few = hiaG_put_number(&p, HIA_BATCH_BLAS), rows = hiaG_put_rows(u, &p, x);
    hia_value_id are_few = hiaG_put_2(&p, HIA_OP_LT, rows, few, HIA_BOOL);
    v = hiaG_put_branch(&p, are_few, array, arms);
    hiaG_put_yield(&arms[0], put_array(u, &arms[0], node.outs));
    hiaG_put_yield(&arms[1], put_product_at_once(u, &arms[1], n, array));
  }
  replace(u, n, put_stacked(u, &p, v, hiaG_type(u->fn, node.outs), &shape));
  u->is_stale[node.outs] = true;
}

static bool is_heavy(const hia_unstacking *u, hia_value_id w) {
  int64_t least = u->b->g->batches_all ? 1 : HIA_BATCH_WORTH;
  return hiaG_rows_size(u, w, 0) * hiaG_rows_size(u, w, 1) >= least;
}

static void look_at_made(hia_unstacking *u, hia_node_id n) {
  const hia_node *node = &u->fn->nodes.data[n];
  if (node->n_outs != 1 || node->outs >= u->n_values || !u->is_wanted[node->outs]) return;
  bool is_product = node->op == HIA_OP_PRODUCT || node->op == HIA_OP_PRODUCT_BT;
  if (is_product && !(node->flags & HIA_NODE_WAITS) && hiaG_is_repeated(u->fn, n) &&
      is_heavy(u, hiaG_rows_in(u, n, 1)))
    replace_product(u, n);
  else if (hiaG_needs_guard(u, n)) {
    hiaG_put_guard(u, n);
    u->fn->nodes.data[n].flags |= HIA_NODE_SIZED;
    u->is_changed = true;
  }
}

/* ---- uses ---- */

/* Sets is_wanted of tensors of which single rows, or sums of them, are read, of themselves or of
 * what is computed of them. */
static void find_wanted(hia_unstacking *u) {
  hia_u32vec nodes = {0};
  HIA_EACH_NODE(u->fn, n) hiaR_push(u->b->arena, &nodes, n);
  while (nodes.len) {
    const hia_node *node = &u->fn->nodes.data[nodes.data[--nodes.len]];
    bool reads_rows = node->op == HIA_OP_ROW;
    if (node->op == HIA_OP_SUM || node->op == HIA_OP_MEAN)
      reads_rows = node->imm == 0 || hiaG_rows_rank(u, u->fn->edges.data[node->ins]) == 1;
    bool passes_on = node->n_outs == 1 && u->is_wanted[node->outs];
    for (uint32_t i = 0; i < node->n_ins && (reads_rows || passes_on); i++) {
      hia_value_id v = u->fn->edges.data[node->ins + i];
      u->is_wanted[v] |= u->is_late[v];
    }
  }
}

/* True if an operand is stale; then so is the result. */
static bool is_stale(hia_unstacking *u, hia_node_id n) {
  const hia_node *node = &u->fn->nodes.data[n];
  bool is = false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_rows_in(u, n, i);
    is |= v < u->n_values && u->is_stale[v];
  }
  for (uint32_t i = 0; i < node->n_outs && is; i++) u->is_stale[node->outs + i] = true;
  return is;
}

static void look_at_use(hia_unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  if (!node.n_ins) return;
  hia_value_id x = hiaG_rows_in(u, n, 0);
  if (x >= u->n_values || node.outs >= u->n_values) return;
  if (node.op == HIA_OP_PACK) replace_pack(u, n);
  if (!u->is_late[x]) return;
  if (node.op == HIA_OP_ROW) replace_row(u, n);
  if (node.op == HIA_OP_SUM || node.op == HIA_OP_MEAN) replace_sum(u, n);
  if (node.op == HIA_OP_PART) replace_part(u, n);
  if (node.op == HIA_OP_EXPECT) replace_expect(u, n);
  if (node.op == HIA_OP_DIM && node.imm == 0) {
    hia_putting p = hiaG_before(u->b->g, u->fn, n);
    replace(u, n, hiaG_put_rows(u, &p, x));
  }
}

/* ---- what is not needed any more ---- */

static void count_uses(const hia_unstacking *u, uint32_t *uses) {
  HIA_EACH_NODE(u->fn, n)
    for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) uses[hiaG_rows_in(u, n, i)]++;
}

/* True if the node gives a tensor that has rows, or cannot fail. */
static bool is_removable(const hia_unstacking *u, hia_node_id n) {
  const hia_node *node = &u->fn->nodes.data[n];
  const hia_batch_fn *of = &u->b->fns[u->f];
  if (node->n_outs != 1 || node->outs >= u->n_values) return false;
  if (!hiaG_is_tensor(u->b->g, u->fn, node->outs) || hiaG_is_constant(node->op)) return false;
  return u->has_rows[node->outs] || of->can_lift[n] || of->is_uniform[node->outs];
}

/* Removes such nodes whose results were used before, and are no longer. */
static void remove_unused(hia_unstacking *u, const uint32_t *before_that) {
  uint32_t *uses = HIA_NEW_ARRAY(u->b->arena, uint32_t, u->fn->values.len + 1);
  hia_u32vec nodes = {0};
  count_uses(u, uses);
  HIA_EACH_NODE(u->fn, n)
    if (is_removable(u, n)) hiaR_push(u->b->arena, &nodes, n);
  while (nodes.len) {
    hia_node_id n = nodes.data[--nodes.len];
    hia_value_id v = u->fn->nodes.data[n].outs;
    if (uses[v] || !before_that[v]) continue;
    unsigned op = u->fn->nodes.data[n].op;
    for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) uses[hiaG_rows_in(u, n, i)]--;
    if (u->has_rows[v] && (op == HIA_OP_FULL || op == HIA_OP_PART)) hiaG_put_guard(u, n);
    hiaG_remove(u->fn, n);
  }
}

/* ---- all functions ---- */

static bool unstack(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  hia_unstacking u = hiaG_find_rows(b, f);
  uint32_t *uses = HIA_NEW_ARRAY(b->arena, uint32_t, fn->values.len + 1);
  count_uses(&u, uses);
  find_wanted(&u);
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    next = hiaG_walk_next(fn, n);
    if (is_stale(&u, n)) continue;
    look_at_made(&u, n);
    if (!(fn->nodes.data[n].flags & HIA_NODE_DEAD)) look_at_use(&u, n);
  }
  if (!u.is_changed) return false;
  HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&u.subst, fn, n);
  remove_unused(&u, uses);
  hiaG_compact(b->g, fn);
  return true;
}

bool hiaG_batch_unstack(hia_batcher *b) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= unstack(b, f);
  return is_changed;
}
