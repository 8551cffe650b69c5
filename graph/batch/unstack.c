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
#include "graph/batch/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum { MOST_ROWS_UNCHECKED = 1 << 16 }; /* of a tensor that is not made */

typedef struct unstacking {
  hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  uint32_t n_values; /* of which facts are known */
  hia_subst subst;
  bool *has_rows; /* by value: a row of it can be had without the others */
  bool *is_late;  /* by value: and may be pending */
  bool is_changed;
} unstacking;

static hia_value_id in(const unstacking *u, hia_node_id n, uint32_t i) {
  return hiaG_in(u->fn, n, i);
}
static uint32_t rank_of(const unstacking *u, hia_value_id v) {
  return hiaG_rank(u->b->g->types, hiaG_type(u->fn, v));
}
static int64_t size(const unstacking *u, hia_value_id v, uint32_t axis) {
  return hiaG_batch_size(u->b, u->f, v, axis);
}
static hia_putting before(const unstacking *u, hia_node_id n) {
  return (hia_putting){u->b->g, u->fn, HIA_NONE, n, u->fn->nodes.data[n].loc};
}

/* ---- which tensors have rows ---- */

/* The shape of a row of v. False: v has a constant number of rows, or other sizes are not. */
static bool row_shape(const unstacking *u, hia_value_id v, hia_row_shape *shape) {
  if (!hiaG_is_tensor(u->b->g, u->fn, v) || size(u, v, 0) >= 0) return false;
  *shape = (hia_row_shape){hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)), rank_of(u, v) - 1, {0}};
  for (uint32_t k = 0; k < shape->rank; k++)
    if ((shape->dims[k] = size(u, v, k + 1)) < 0) return false;
  return true;
}

/* An array of scalars or tensors that may be late. */
static bool is_late_array(const unstacking *u, hia_value_id array) {
  return u->b->late_words[hiaG_batch_word(u->b->g, hiaG_type(u->fn, array), 0, 0)];
}

static bool fits_trailing(int64_t size, int64_t *common) {
  if (size < 0) return false;
  if (*common == 1) *common = size;
  return size == 1 || size == *common;
}

/* Each operand is a scalar, of a lower rank, one row for all, or has as many rows as the others. */
static bool elementwise(const unstacking *u, hia_node_id n, bool *late) {
  const hia_node *node = &u->fn->nodes.data[n];
  hia_dtype at = hiaG_node_dtype(u->b->g, u->fn, n);
  hia_size rows = HIA_NONE;
  uint32_t rank = rank_of(u, node->outs);
  if (hiaR_ops[node->op].traits & HIA_T_RAISES) return false;
  if (hiaR_ops[node->op].traits & HIA_T_RAISES_INT && (at == HIA_I32 || at == HIA_I64))
    return false;
  for (uint32_t k = 1; k < rank; k++) {
    int64_t common = 1;
    for (uint32_t i = 0; i < node->n_ins; i++) {
      uint32_t own = rank_of(u, in(u, n, i));
      if (own >= k && !fits_trailing(size(u, in(u, n, i), own - k), &common)) return false;
    }
  }
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = in(u, n, i);
    *late |= u->is_late[v] || u->b->fns[u->f].is_late[v];
    if (rank_of(u, v) < rank || size(u, v, 0) == 1) continue;
    if (!u->has_rows[v]) return false;
    hia_size own = u->b->fns[u->f].sizes[v].axes[0];
    if (rows != HIA_NONE && rows != own) return false;
    rows = own;
  }
  return rows != HIA_NONE;
}

/* Each of the tensors has rows, or a constant number of them. */
static bool cat(const unstacking *u, hia_node_id n, bool *late) {
  enum { MOST_PARTS = 8 };
  const hia_node *node = &u->fn->nodes.data[n];
  if (node->imm != 0 || node->n_ins > MOST_PARTS) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = in(u, n, i);
    if (!u->has_rows[v] && size(u, v, 0) < 0) return false;
    for (uint32_t k = 1; k < rank_of(u, v); k++)
      if (size(u, v, k) != size(u, node->outs, k)) return false;
    *late |= u->is_late[v] || u->b->fns[u->f].is_late[v];
  }
  return true;
}

static bool is_pack(const unstacking *u, hia_node_id n, const hia_row_shape *shape, bool *late) {
  hia_value_id array = in(u, n, 0);
  hia_type element = hiaG_element(u->b->g->types, hiaG_type(u->fn, array));
  *late = is_late_array(u, array);
  return hiaG_ranked(u->b->g->types, shape->dtype, shape->rank) == element;
}

static void look_at(unstacking *u, hia_node_id n) {
  const hia_node *node = &u->fn->nodes.data[n];
  hia_row_shape shape;
  bool late = false, has = false;
  if (node->n_outs != 1 || !row_shape(u, node->outs, &shape)) return;
  switch (node->op) {
  case HIA_OP_PACK: has = is_pack(u, n, &shape, &late); break;
  case HIA_OP_FULL:
    has = true;
    late = u->b->fns[u->f].is_late[in(u, n, 0)];
    break;
  case HIA_OP_PART:
    has = u->has_rows[in(u, n, 0)];
    late = u->is_late[in(u, n, 0)];
    break;
  case HIA_OP_CAT: has = cat(u, n, &late); break;
  default:
    if (hiaR_ops[node->op].shape == HIA_SHAPE_ELEMENTWISE) has = elementwise(u, n, &late);
    break;
  }
  u->has_rows[node->outs] = has;
  u->is_late[node->outs] = has && late;
}

/* ---- how many rows ---- */

static hia_value_id put_rows(unstacking *u, const hia_putting *p, hia_value_id v);

static hia_value_id rows_of_parts(unstacking *u, const hia_putting *p, hia_node_id n) {
  hia_value_id sum = HIA_NONE;
  for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) {
    hia_value_id one = put_rows(u, p, in(u, n, i));
    sum =
        sum == HIA_NONE ? one : hiaG_put(p, HIA_OP_ADD, (hia_value_id[]){sum, one}, 2, HIA_I64, 0);
  }
  return sum;
}

/* Puts what gives the number of rows of v. */
static hia_value_id put_rows(unstacking *u, const hia_putting *p, hia_value_id v) {
  hia_node_id n = u->fn->values.data[v].node;
  if (!u->has_rows[v]) return hiaG_put_number(p, size(u, v, 0));
  switch (u->fn->nodes.data[n].op) {
  case HIA_OP_PACK: {
    hia_value_id array = in(u, n, 0);
    return hiaG_put(p, HIA_OP_LEN, &array, 1, HIA_I64, 0);
  }
  case HIA_OP_FULL: return in(u, n, 1);
  case HIA_OP_PART:
    return hiaG_put(p, HIA_OP_SUB, (hia_value_id[]){in(u, n, 2), in(u, n, 1)}, 2, HIA_I64, 0);
  case HIA_OP_CAT: return rows_of_parts(u, p, n);
  default:
    for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) {
      hia_value_id x = in(u, n, i);
      if (rank_of(u, x) == rank_of(u, v) && u->has_rows[x]) return put_rows(u, p, x);
    }
    HIA_BUG(u->b->g->comp, "no operand of node %u has rows", n);
  }
}

/* ---- one row ---- */

static hia_value_id put_row(unstacking *u, const hia_putting *p, hia_value_id v, hia_value_id k);

/* Puts what gives the only row of v in such a form that a segment can have it. */
static hia_value_id put_only_row(unstacking *u, const hia_putting *p, hia_value_id v) {
  const hia_node *def = hiaG_def(u->fn, v);
  hia_value_id of = def->n_ins ? u->fn->edges.data[def->ins] : HIA_NONE;
  hia_row_shape row = {hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)), rank_of(u, v) - 1, {0}};
  hia_value_id ins[1 + HIA_MAX_RANK] = {v, HIA_NONE};
  if (def->op == HIA_OP_STACK && def->imm == 0) return of;
  if (!row.rank) ins[1] = hiaG_put_number(p, 0);
  if (!row.rank) return hiaG_put(p, HIA_OP_ROW, ins, 2, hiaG_row_type(p, &row), 0);
  bool is_same = def->op == HIA_OP_RESHAPE && rank_of(u, of) == row.rank;
  for (uint32_t k = 0; k < row.rank; k++) {
    row.dims[k] = size(u, v, k + 1);
    is_same = is_same && size(u, of, k) == row.dims[k];
  }
  if (is_same) return of;
  for (uint32_t k = 0; k < row.rank; k++) ins[1 + k] = hiaG_put_number(p, row.dims[k]);
  return hiaG_put(p, HIA_OP_RESHAPE, ins, 1 + row.rank, hiaG_row_type(p, &row), 0);
}

/* Row k of a tensor that has a constant number of them. */
static hia_value_id put_own_row(unstacking *u, const hia_putting *p, hia_value_id v,
                                hia_value_id k) {
  if (size(u, v, 0) == 1) return put_only_row(u, p, v);
  hia_type type = hiaG_ranked(u->b->g->types, hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)),
                              rank_of(u, v) - 1);
  return hiaG_put(p, HIA_OP_ROW, (hia_value_id[]){v, k}, 2, type, 0);
}

static hia_value_id put_elementwise(unstacking *u, const hia_putting *p, hia_node_id n,
                                    hia_value_id k, hia_type type) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id ins[4];
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id x = in(u, n, i);
    bool is_whole = rank_of(u, x) < rank_of(u, node.outs);
    ins[i] = is_whole ? x : u->has_rows[x] ? put_row(u, p, x, k) : put_only_row(u, p, x);
  }
  return hiaG_put(p, node.op, ins, node.n_ins, type, node.imm);
}

/* Row k of operands i and on of a concatenation. */
static hia_value_id put_row_of(unstacking *u, const hia_putting *p, hia_node_id n, uint32_t i,
                               hia_value_id k, hia_type type) {
  hia_value_id x = in(u, n, i);
  if (i + 1 == u->fn->nodes.data[n].n_ins)
    return u->has_rows[x] ? put_row(u, p, x, k) : put_own_row(u, p, x, k);
  hia_putting arms[2];
  hia_value_id rows = put_rows(u, p, x);
  hia_value_id is_here = hiaG_put(p, HIA_OP_LT, (hia_value_id[]){k, rows}, 2, HIA_BOOL, 0);
  hia_value_id v = hiaG_put_branch(p, is_here, type, arms);
  hiaG_put_yield(&arms[0],
                 u->has_rows[x] ? put_row(u, &arms[0], x, k) : put_own_row(u, &arms[0], x, k));
  hia_value_id rest = hiaG_put(&arms[1], HIA_OP_SUB, (hia_value_id[]){k, rows}, 2, HIA_I64, 0);
  hiaG_put_yield(&arms[1], put_row_of(u, &arms[1], n, i + 1, rest, type));
  return v;
}

/* Puts what gives row k of v, which has rows; k is an index of it. */
static hia_value_id put_row(unstacking *u, const hia_putting *p, hia_value_id v, hia_value_id k) {
  hia_node_id n = u->fn->values.data[v].node;
  hia_row_shape shape;
  row_shape(u, v, &shape);
  switch (u->fn->nodes.data[n].op) {
  case HIA_OP_PACK: return hiaG_put_at(p, &shape, in(u, n, 0), k);
  case HIA_OP_FULL: return hiaG_put_full(p, &shape, in(u, n, 0));
  case HIA_OP_PART: {
    hia_value_id at = hiaG_put(p, HIA_OP_ADD, (hia_value_id[]){k, in(u, n, 1)}, 2, HIA_I64, 0);
    return put_row(u, p, in(u, n, 0), at);
  }
  case HIA_OP_CAT: return put_row_of(u, p, n, 0, k, hiaG_row_type(p, &shape));
  default: return put_elementwise(u, p, n, k, hiaG_row_type(p, &shape));
  }
}

/* ---- what fails without being needed ---- */

static hia_value_id put_2(const hia_putting *p, unsigned op, hia_value_id a, hia_value_id b,
                          hia_type type) {
  return hiaG_put(p, op, (hia_value_id[]){a, b}, 2, type, 0);
}

/* Zeros in the shape of v. */
static hia_value_id put_like(unstacking *u, const hia_putting *p, hia_value_id v) {
  hia_row_shape shape;
  row_shape(u, v, &shape);
  hia_value_id ins[1 + HIA_MAX_RANK];
  hia_type scalar = (hia_type)shape.dtype;
  ins[0] = hiaG_put(p, HIA_OP_CONST, NULL, 0, scalar, 0);
  ins[1] = put_rows(u, p, v);
  for (uint32_t k = 0; k < shape.rank; k++) ins[2 + k] = hiaG_put_number(p, shape.dims[k]);
  return hiaG_put(p, HIA_OP_FULL, ins, 2 + shape.rank, hiaG_type(u->fn, v), 0);
}

/* True if the sizes of a FULL are such that there can be a tensor of them. */
static hia_value_id put_can_fill(const hia_putting *p, hia_value_id rows) {
  hia_value_id zero = hiaG_put_number(p, 0), most = hiaG_put_number(p, MOST_ROWS_UNCHECKED);
  hia_value_id is_counted = put_2(p, HIA_OP_LE, zero, rows, HIA_BOOL);
  hia_value_id is_small = put_2(p, HIA_OP_LE, rows, most, HIA_BOOL);
  return put_2(p, HIA_OP_BAND, is_counted, is_small, HIA_BOOL);
}

/* True if 0 <= from <= to <= rows. */
static hia_value_id put_is_part(const hia_putting *p, hia_value_id rows, hia_value_id from,
                                hia_value_id to) {
  hia_value_id zero = hiaG_put_number(p, 0);
  hia_value_id begins = put_2(p, HIA_OP_LE, zero, from, HIA_BOOL);
  hia_value_id goes_up = put_2(p, HIA_OP_LE, from, to, HIA_BOOL);
  hia_value_id ends = put_2(p, HIA_OP_LE, to, rows, HIA_BOOL);
  hia_value_id is_up = put_2(p, HIA_OP_BAND, begins, goes_up, HIA_BOOL);
  return put_2(p, HIA_OP_BAND, is_up, ends, HIA_BOOL);
}

/* Puts a FULL or a PART, whose result nothing will use, where it fails. */
static void guard(unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  hia_putting p = before(u, n), arms[2];
  hia_value_id ins[1 + HIA_MAX_RANK], ok;
  for (uint32_t i = 0; i < node.n_ins; i++) ins[i] = in(u, n, i);
  if (node.op == HIA_OP_FULL)
    ok = put_can_fill(&p, ins[1]);
  else
    ok = put_is_part(&p, put_rows(u, &p, ins[0]), ins[1], ins[2]);
  hiaG_put_branch(&p, ok, HIA_I64, arms);
  hiaG_put_yield(&arms[0], hiaG_put_number(&arms[0], 0));
  if (node.op == HIA_OP_PART) ins[0] = put_like(u, &arms[1], ins[0]);
  hia_type type = hiaG_type(u->fn, node.outs);
  hia_value_id v = hiaG_put(&arms[1], node.op, ins, node.n_ins, type, node.imm);
  hiaG_put_yield(&arms[1], hiaG_put(&arms[1], HIA_OP_DIM, &v, 1, HIA_I64, 0));
}

/* ---- what reads them ---- */

static void replace(unstacking *u, hia_node_id n, hia_value_id by) {
  hiaG_replace(&u->subst, u->fn->nodes.data[n].outs, by);
  hiaG_remove(u->fn, n);
  u->is_changed = true;
}

static void replace_row(unstacking *u, hia_node_id n) {
  hia_putting p = before(u, n);
  hia_value_id x = in(u, n, 0), bounds[2] = {put_rows(u, &p, x), in(u, n, 1)};
  uint64_t of_rows = rank_of(u, x) > 1 ? 2 : 0;
  hia_value_id k = hiaG_put(&p, HIA_OP_WITHIN, bounds, 2, HIA_I64, of_rows);
  replace(u, n, put_row(u, &p, x, k));
}

/* What expects a number of rows compares it where it stands; the tensor need not be there. */
static void replace_expect(unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id x = in(u, n, 0), ins[1 + HIA_MAX_RANK], expected = HIA_NONE;
  for (uint32_t i = 1, axis = 0; i < node.n_ins; i++, axis++) {
    while (!(node.imm >> axis & 1)) axis++;
    hia_word word;
    bool is_number = hiaG_is_const(u->fn, in(u, n, i), &word);
    if (!axis) expected = in(u, n, i);
    if (axis && (!is_number || size(u, x, axis) != hiaR_to_i64(word))) return;
  }
  if (expected == HIA_NONE) return;
  hia_putting p = before(u, n), arms[2];
  hia_value_id ok = put_2(&p, HIA_OP_EQ, put_rows(u, &p, x), expected, HIA_BOOL);
  hiaG_put_branch(&p, ok, HIA_I64, arms);
  hiaG_put_yield(&arms[0], hiaG_put_number(&arms[0], 0));
  for (uint32_t i = 1; i < node.n_ins; i++) ins[i] = in(u, n, i);
  ins[0] = put_like(u, &arms[1], x);
  hia_type type = hiaG_type(u->fn, x);
  hia_value_id v = hiaG_put(&arms[1], HIA_OP_EXPECT, ins, node.n_ins, type, node.imm);
  hiaG_put_yield(&arms[1], hiaG_put(&arms[1], HIA_OP_DIM, &v, 1, HIA_I64, 0));
  replace(u, n, x);
}

/* A part of a constant number of rows: a segment can have it, but not what it is a part of. */
static void replace_part(unstacking *u, hia_node_id n) {
  enum { MOST_ROWS = 8 };
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id x = in(u, n, 0), from = in(u, n, 1), rows[MOST_ROWS];
  int64_t n_rows = size(u, node.outs, 0);
  hia_row_shape shape;
  row_shape(u, x, &shape);
  if (n_rows < 1 || n_rows > MOST_ROWS || !shape.rank) return;
  guard(u, n);
  hia_putting p = before(u, n);
  for (int64_t i = 0; i < n_rows; i++)
    rows[i] = put_row(u, &p, x, put_2(&p, HIA_OP_ADD, from, hiaG_put_number(&p, i), HIA_I64));
  hia_type type = hiaG_type(u->fn, node.outs);
  replace(u, n, hiaG_put(&p, HIA_OP_STACK, rows, (uint32_t)n_rows, type, 0));
}

/* A constant number of elements, which may be late: a segment can stack them. */
static void replace_pack(unstacking *u, hia_node_id n) {
  enum { MOST_ELEMENTS = 16 };
  hia_value_id v = u->fn->nodes.data[n].outs, array = in(u, n, 0), elements[MOST_ELEMENTS];
  int64_t n_elements = size(u, v, 0);
  hia_row_shape shape = {hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)), rank_of(u, v) - 1, {0}};
  if (n_elements < 1 || n_elements > MOST_ELEMENTS || !is_late_array(u, array)) return;
  if (!hiaG_is_repeated(u->fn, n)) return;
  hia_putting p = before(u, n);
  if (hiaG_element(p.g->types, hiaG_type(u->fn, array)) != hiaG_row_type(&p, &shape)) return;
  for (uint32_t k = 0; k < shape.rank; k++)
    if ((shape.dims[k] = size(u, v, k + 1)) < 0) return;
  for (int64_t i = 0; i < n_elements; i++)
    elements[i] = hiaG_put_at(&p, &shape, array, hiaG_put_number(&p, i));
  hia_type type = hiaG_type(u->fn, v);
  replace(u, n, hiaG_put(&p, HIA_OP_STACK, elements, (uint32_t)n_elements, type, 0));
}

/* True if v consists of zeros, and not of -0. */
static bool is_zeros(const unstacking *u, hia_value_id v) {
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

/* The array of the rows of v. Zeros behind all others add nothing to a sum. */
static hia_value_id put_array(unstacking *u, const hia_putting *p, hia_value_id v) {
  hia_node_id n = u->fn->values.data[v].node;
  const hia_node node = u->fn->nodes.data[n];
  hia_row_shape shape;
  row_shape(u, v, &shape);
  if (node.op == HIA_OP_PACK) return in(u, n, 0);
  if (node.op == HIA_OP_CAT && node.n_ins == 2 && u->has_rows[in(u, n, 0)] &&
      !u->has_rows[in(u, n, 1)] && is_zeros(u, in(u, n, 1)))
    return put_array(u, p, in(u, n, 0));
  hia_value_id rows = put_rows(u, p, v);
  hia_type type = hiaG_array(u->b->g->types, hiaG_row_type(p, &shape));
  hia_value_id array = hiaG_put(p, HIA_OP_MAP, &rows, 1, type, 0);
  hia_putting each = {p->g, p->fn, hiaG_def(u->fn, array)->regions, HIA_NONE, p->loc};
  hia_value_id k = hiaG_put(&each, HIA_OP_ARG, NULL, 0, HIA_I64, 0);
  hiaG_put_yield(&each, put_row(u, &each, v, k));
  return array;
}

/* A sum that is waited for once gains nothing; nor does one of scalars, unless a recursion makes
 * it. */
static void replace_sum(unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  hia_value_id x = in(u, n, 0);
  hia_row_shape shape;
  row_shape(u, x, &shape);
  if (node.flags & HIA_NODE_WAITS || !hiaG_is_repeated(u->fn, n)) return;
  if (shape.rank ? node.imm != 0 : !(u->fn->effects & HIA_E_RECURSIVE)) return;
  hia_putting p = before(u, n);
  replace(u, n, hiaG_put_sum(&p, &shape, put_array(u, &p, x)));
}

static void look_at_use(unstacking *u, hia_node_id n) {
  const hia_node node = u->fn->nodes.data[n];
  if (!node.n_ins) return;
  hia_value_id x = in(u, n, 0);
  if (x >= u->n_values || node.outs >= u->n_values) return;
  if (node.op == HIA_OP_PACK) replace_pack(u, n);
  if (!u->is_late[x]) return;
  if (node.op == HIA_OP_ROW) replace_row(u, n);
  if (node.op == HIA_OP_SUM) replace_sum(u, n);
  if (node.op == HIA_OP_PART) replace_part(u, n);
  if (node.op == HIA_OP_EXPECT) replace_expect(u, n);
  if (node.op == HIA_OP_DIM && node.imm == 0) {
    hia_putting p = before(u, n);
    replace(u, n, put_rows(u, &p, x));
  }
}

/* ---- what is not needed any more ---- */

static void count_uses(const unstacking *u, uint32_t *uses) {
  HIA_EACH_NODE(u->fn, n)
    for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) uses[in(u, n, i)]++;
}

/* True if the node gives a tensor that has rows, or cannot fail. */
static bool is_removable(const unstacking *u, hia_node_id n) {
  const hia_node *node = &u->fn->nodes.data[n];
  const hia_batch_fn *of = &u->b->fns[u->f];
  if (node->n_outs != 1 || node->outs >= u->n_values) return false;
  if (!hiaG_is_tensor(u->b->g, u->fn, node->outs) || hiaG_is_constant(node->op)) return false;
  return u->has_rows[node->outs] || of->can_lift[n] || of->is_uniform[node->outs];
}

/* Removes such nodes whose results were used before, and are no longer. */
static void remove_unused(unstacking *u, const uint32_t *before_that) {
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
    for (uint32_t i = 0; i < u->fn->nodes.data[n].n_ins; i++) uses[in(u, n, i)]--;
    if (u->has_rows[v] && (op == HIA_OP_FULL || op == HIA_OP_PART)) guard(u, n);
    hiaG_remove(u->fn, n);
  }
}

/* ---- all functions ---- */

static unstacking look(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  unstacking u = {.b = b, .f = f, .fn = fn, .n_values = fn->values.len};
  u.subst = hiaG_subst(b->g, fn);
  u.has_rows = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  u.is_late = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  HIA_EACH_NODE(fn, n) look_at(&u, n);
  return u;
}

const bool *hiaG_batch_late_rows(hia_batcher *b, hia_fn_id f) { return look(b, f).is_late; }

static bool unstack(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  unstacking u = look(b, f);
  uint32_t *uses = HIA_NEW_ARRAY(b->arena, uint32_t, fn->values.len + 1);
  count_uses(&u, uses);
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    next = hiaG_walk_next(fn, n);
    look_at_use(&u, n);
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
