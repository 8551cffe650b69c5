/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations over rows: each has a rule that says whether it can be lifted, given the constant
 * sizes of its operands, and one that adds the lifted form. A lifted operation gives, in each row,
 * the bits that the operation gives of that row's operands: elements of products and sums are added
 * in an order that depends on the length of the sum alone (docs/tensors.md, "Rounding").
 *
 * Nothing is lifted that could fail. An index that is known only in a run is checked before, by a
 * `within` (batch.c). */
#include "graph/analysis/effects.h"
#include "graph/batch/batcher.h"
#include "graph/ir/build.h"
#include "graph/ir/walk.h"

typedef struct looking {
  hia_batcher *b;
  hia_fn_id f;
  const hia_fn *fn;
  hia_batch_fn *of;
} looking;

static hia_value_id in(const looking *l, hia_node_id n, uint32_t i) { return hiaG_in(l->fn, n, i); }
static hia_value_id out(const looking *l, hia_node_id n) { return l->fn->nodes.data[n].outs; }
static uint32_t n_ins(const looking *l, hia_node_id n) { return l->fn->nodes.data[n].n_ins; }
static uint64_t imm(const looking *l, hia_node_id n) { return l->fn->nodes.data[n].imm; }
static bool is_row(const looking *l, hia_value_id v) { return !l->of->is_uniform[v]; }
static bool is_scalar(const looking *l, hia_value_id v) {
  return hiaG_is_scalar(hiaG_type(l->fn, v));
}
static uint32_t rank_of(const looking *l, hia_value_id v) {
  return hiaG_rank(l->b->g->types, hiaG_type(l->fn, v));
}
static int64_t size(const looking *l, hia_value_id v, uint32_t axis) {
  return hiaG_batch_size(l->b, l->f, v, axis);
}
static int64_t elements(const looking *l, hia_value_id v) {
  int64_t n = 1, dims[HIA_MAX_RANK];
  uint32_t rank = is_scalar(l, v) ? 0 : rank_of(l, v);
  if (!hiaG_batch_shape(l->b, l->f, v, dims)) return -1;
  for (uint32_t k = 0; k < rank; k++)
    if (__builtin_mul_overflow(n, dims[k], &n)) return -1;
  return n;
}
static bool is_constant(const looking *l, hia_value_id v, int64_t *n) {
  hia_word word;
  if (!hiaG_is_const(l->fn, v, &word)) return false;
  *n = hiaR_to_i64(word);
  return true;
}

/* ---- what can be lifted ---- */

/* Operands of one shape, but for axes of 1 in front of which, or in place of which, others have
 * more. */
static bool can_elementwise(const looking *l, hia_node_id n) {
  const hia_op_info *op = &hiaR_ops[l->fn->nodes.data[n].op];
  hia_dtype at = hiaG_node_dtype(l->b->g, l->fn, n);
  if (op->traits & HIA_T_RAISES) return false;
  if (op->traits & HIA_T_RAISES_INT && (at == HIA_I32 || at == HIA_I64)) return false;
  uint32_t rank = 0;
  for (uint32_t i = 0; i < n_ins(l, n); i++)
    if (rank_of(l, in(l, n, i)) > rank) rank = rank_of(l, in(l, n, i));
  if (rank + 1 > HIA_MAX_RANK) return false;
  for (uint32_t k = 1; k <= rank; k++) {
    int64_t common = 1;
    for (uint32_t i = 0; i < n_ins(l, n); i++) {
      uint32_t own_rank = rank_of(l, in(l, n, i));
      int64_t dim = own_rank < k ? 1 : size(l, in(l, n, i), own_rank - k);
      if (common == 1) common = dim;
      if (dim != 1 && dim != common) return false;
    }
  }
  return true;
}

static bool fits_row(const looking *l, hia_value_id v) {
  return is_row(l, v) ? elements(l, v) <= HIA_BATCH_OWN_MATRIX : true;
}

static bool can_product(const looking *l, hia_node_id n) {
  hia_value_id a = in(l, n, 0), b = in(l, n, 1);
  uint32_t of_a = rank_of(l, a), of_b = rank_of(l, b);
  bool is_bt = l->fn->nodes.data[n].op == HIA_OP_PRODUCT_BT;
  int64_t depth = size(l, a, of_a - 1);
  if (depth != size(l, b, is_bt ? of_b - 1 : of_b == 1 ? 0 : of_b - 2)) return false;
  if (of_a > 2 && is_row(l, a)) return false;
  if (of_b > 2) return false;
  if (!is_row(l, a) && is_row(l, b)) /* a matrix, or several, times a vector of each row */
    return of_b == 1 && (of_a == 2 || of_a == 3) && !is_bt;
  if (of_a == 2 && !fits_row(l, a)) return false;
  if (of_a == 2 && depth >= HIA_BATCH_BLAS)
    return false; /* with all rows it could be one of those */
  return of_b == 1 ? is_row(l, b) : fits_row(l, b);
}

static bool can_part(const looking *l, hia_node_id n) {
  int64_t from, to;
  uint32_t axis = l->fn->nodes.data[n].op == HIA_OP_CUT ? (uint32_t)imm(l, n) : 0;
  return is_constant(l, in(l, n, 1), &from) && is_constant(l, in(l, n, 2), &to) && from >= 0 &&
         from <= to && to <= size(l, in(l, n, 0), axis);
}

/* True if v was checked to be an index of n elements, or is a constant that is one. */
static bool is_index(const looking *l, hia_value_id v, int64_t n) {
  int64_t number;
  if (is_constant(l, v, &number)) return number >= 0 && number < n;
  const hia_node *def = hiaG_def(l->fn, v);
  if (def->op != HIA_OP_WITHIN) return false;
  return is_constant(l, l->fn->edges.data[def->ins], &number) && number == n;
}

static bool can_row(const looking *l, hia_node_id n) {
  hia_value_id x = in(l, n, 0), at = in(l, n, 1);
  int64_t number;
  if (!is_row(l, x) || !is_index(l, at, size(l, x, 0))) return false;
  if (rank_of(l, x) == 1 || is_constant(l, at, &number)) return true;
  return is_row(l, at) && elements(l, x) <= HIA_BATCH_OWN_MATRIX;
}

static bool can_with(const looking *l, hia_node_id n) {
  hia_value_id x = in(l, n, 0);
  return rank_of(l, x) == 1 && is_index(l, in(l, n, 1), size(l, x, 0));
}

static bool can_labels(const looking *l, hia_node_id n) {
  hia_value_id x = in(l, n, 0), label = in(l, n, 1);
  return rank_of(l, x) == 1 && size(l, x, 0) > 0 && is_scalar(l, label) && is_row(l, label) &&
         is_index(l, label, size(l, x, 0));
}

static bool can_cat(const looking *l, hia_node_id n) {
  bool is_stack = l->fn->nodes.data[n].op == HIA_OP_STACK;
  uint32_t rank = rank_of(l, in(l, n, 0));
  bool has_row = false;
  for (uint32_t i = 0; i < n_ins(l, n); i++) {
    has_row |= is_row(l, in(l, n, i));
    for (uint32_t k = 0; k < rank; k++)
      if ((is_stack || k != imm(l, n)) && size(l, in(l, n, i), k) != size(l, in(l, n, 0), k))
        return false;
  }
  return has_row && rank + 2 <= HIA_MAX_RANK;
}

static bool can_reshape(const looking *l, hia_node_id n) {
  int64_t all = 1, one;
  for (uint32_t i = 1; i < n_ins(l, n); i++)
    if (!is_constant(l, in(l, n, i), &one) || one < 0 || __builtin_mul_overflow(all, one, &all))
      return false;
  return all == elements(l, in(l, n, 0)) && n_ins(l, n) < HIA_MAX_RANK;
}

static bool can_expect(const looking *l, hia_node_id n) {
  if (l->fn->nodes.data[n].flags & HIA_NODE_SIZED) return false; /* it is no reason for a row */
  uint32_t i = 1;
  int64_t number;
  for (uint64_t axes = imm(l, n); axes; axes &= axes - 1)
    if (!is_constant(l, in(l, n, i++), &number) ||
        number != size(l, in(l, n, 0), (uint32_t)__builtin_ctzll(axes)))
      return false;
  return true;
}

static bool can_reduce(const looking *l, hia_node_id n) { return elements(l, in(l, n, 0)) > 0; }
static bool can_last(const looking *l, hia_node_id n) { return elements(l, in(l, n, 0)) > 0; }

static bool can_full(const looking *l, hia_node_id n) {
  int64_t one;
  for (uint32_t i = 1; i < n_ins(l, n); i++)
    if (!is_constant(l, in(l, n, i), &one) || one < 0) return false;
  return n_ins(l, n) < HIA_MAX_RANK;
}

static bool can_outer(const looking *l, hia_node_id n) {
  return is_row(l, in(l, n, 0)) && is_row(l, in(l, n, 1));
}

/* ---- lifting ---- */

typedef hia_value_id value;

static value add_op(hia_lifting *l, unsigned op, const value *ins, uint32_t n, hia_dtype dtype,
                    uint64_t imm, hia_loc_id loc) {
  return hiaG_computed(l->b->g, l->to, 0, op, ins, n, dtype, imm, loc);
}
static value number(hia_lifting *l, int64_t n) {
  return hiaG_const(l->b->g, l->to, 0, HIA_I64, hiaR_from_i64(n), HIA_NONE);
}
static const hia_fn *from(const hia_lifting *l) { return hiaG_fn(l->b->g, l->from); }
static value own(hia_lifting *l, hia_node_id n, uint32_t i) {
  return l->values[hiaG_in(from(l), n, i)].v;
}
static bool has_rows(const hia_lifting *l, hia_node_id n, uint32_t i) {
  return l->values[hiaG_in(from(l), n, i)].is_row;
}
static uint32_t rank_in(const hia_lifting *l, hia_node_id n, uint32_t i) {
  return hiaG_rank(l->b->g->types, hiaG_type(from(l), hiaG_in(from(l), n, i)));
}
static int64_t size_in(const hia_lifting *l, hia_node_id n, uint32_t i, uint32_t axis) {
  return hiaG_batch_size(l->b, l->from, hiaG_in(from(l), n, i), axis);
}
static hia_dtype dtype_out(const hia_lifting *l, hia_node_id n) {
  return hiaG_dtype(l->b->g->types, hiaG_type(from(l), from(l)->nodes.data[n].outs));
}

/* Returns the rows of v in another shape; with their axis, if is_row is true. */
static value reshaped(hia_lifting *l, value v, bool is_row, const int64_t *dims, uint32_t rank) {
  value ins[2 + HIA_MAX_RANK];
  uint32_t n = 0;
  ins[n++] = v;
  if (is_row) ins[n++] = l->n_rows;
  for (uint32_t k = 0; k < rank; k++) ins[n++] = number(l, dims[k]);
  return add_op(l, HIA_OP_RESHAPE, ins, n, HIA_N_DTYPES, 0, HIA_NONE);
}

/* Operand i with as many axes as one of this rank has, so that it is broadcast as in each row. */
static value widened(hia_lifting *l, hia_node_id n, uint32_t i, uint32_t rank) {
  value v = own(l, n, i);
  uint32_t own_rank = rank_in(l, n, i);
  if (!has_rows(l, n, i) || own_rank == rank) return v;
  int64_t dims[HIA_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++)
    dims[k] = k < rank - own_rank ? 1 : size_in(l, n, i, k - (rank - own_rank));
  return reshaped(l, v, true, dims, rank);
}

static value elementwise(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  uint32_t rank = hiaG_rank(l->b->g->types, hiaG_type(from(l), node.outs));
  value ins[3];
  for (uint32_t i = 0; i < node.n_ins; i++) ins[i] = widened(l, n, i, rank);
  return add_op(l, node.op, ins, node.n_ins, dtype_out(l, n), node.imm, node.loc);
}

/* W @ x is, for all rows, X @ transpose(W). */
static value times_vectors(hia_lifting *l, hia_node_id n) {
  value w = own(l, n, 0), x = own(l, n, 1);
  hia_loc_id loc = from(l)->nodes.data[n].loc;
  uint32_t rank = rank_in(l, n, 0);
  int64_t dims[3];
  for (uint32_t k = 0; k < rank; k++) dims[k] = size_in(l, n, 0, k);
  if (rank == 3) w = reshaped(l, w, false, (int64_t[]){dims[0] * dims[1], dims[2]}, 2);
  value y = add_op(l, HIA_OP_PRODUCT_BT, (value[]){x, w}, 2, HIA_N_DTYPES, 0, loc);
  return rank == 3 ? reshaped(l, y, true, dims, 2) : y;
}

static value product(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  if (!has_rows(l, n, 0)) return times_vectors(l, n);
  uint32_t of_a = rank_in(l, n, 0), of_b = rank_in(l, n, 1);
  value a = own(l, n, 0), b = own(l, n, 1);
  int64_t rows = of_a == 2 ? size_in(l, n, 0, 0) : 1, depth = size_in(l, n, 0, of_a - 1);
  bool has_own = has_rows(l, n, 1), is_bt = node.op == HIA_OP_PRODUCT_BT;
  int64_t columns = of_b == 1 ? 1 : size_in(l, n, 1, is_bt ? 0 : 1);
  if (of_a == 1 && has_own) a = reshaped(l, a, true, (int64_t[]){1, depth}, 2);
  if (of_b == 1) b = reshaped(l, b, true, (int64_t[]){depth, 1}, 2);
  value y = add_op(l, node.op, (value[]){a, b}, 2, HIA_N_DTYPES, 0, node.loc);
  if (!has_own || (of_a == 2 && of_b == 2)) return y;
  int64_t dims[1] = {of_b == 1 ? rows : columns};
  return reshaped(l, y, true, dims, of_a == 1 && of_b == 1 ? 0 : 1);
}

static value cut(hia_lifting *l, value x, uint32_t axis, value first, value end, hia_loc_id loc) {
  return add_op(l, HIA_OP_CUT, (value[]){x, first, end}, 3, HIA_N_DTYPES, axis + 1, loc);
}

static value part(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  uint32_t axis = node.op == HIA_OP_CUT ? (uint32_t)node.imm : 0;
  return cut(l, own(l, n, 0), axis, own(l, n, 1), own(l, n, 2), node.loc);
}

/* Returns what is at an index of each row in operand 0, a vector or matrix in each row. It takes
 * that from its position in those of all rows, one after the other. */
static value picked(hia_lifting *l, hia_node_id n, value at) {
  hia_loc_id loc = from(l)->nodes.data[n].loc;
  int64_t width = size_in(l, n, 0, 0);
  uint32_t rank = rank_in(l, n, 0);
  value shape[2 + HIA_MAX_RANK] = {own(l, n, 0)};
  shape[1] = add_op(l, HIA_OP_MUL, (value[]){l->n_rows, number(l, width)}, 2, HIA_I64, 0, loc);
  for (uint32_t k = 1; k < rank; k++) shape[1 + k] = number(l, size_in(l, n, 0, k));
  value flat = add_op(l, HIA_OP_RESHAPE, shape, 1 + rank, HIA_N_DTYPES, 0, loc);
  value rows = add_op(l, HIA_OP_IOTA, &l->n_rows, 1, HIA_I64, 0, loc);
  value first = add_op(l, HIA_OP_MUL, (value[]){rows, number(l, width)}, 2, HIA_I64, 0, loc);
  value index = add_op(l, HIA_OP_ADD, (value[]){first, at}, 2, HIA_I64, 0, loc);
  return add_op(l, HIA_OP_ROWS, (value[]){flat, index}, 2, HIA_N_DTYPES, 0, loc);
}

/* Returns operand i of a node as i64s. */
static value index_of(hia_lifting *l, hia_node_id n, uint32_t i) {
  value at = own(l, n, i);
  hia_type type = hiaG_type(from(l), hiaG_in(from(l), n, i));
  return type == HIA_I64 ? at : add_op(l, HIA_OP_CAST, &at, 1, HIA_I64, type, HIA_NONE);
}

static value row(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  uint32_t rank = rank_in(l, n, 0) - 1;
  if (has_rows(l, n, 1)) return picked(l, n, index_of(l, n, 1));
  int64_t dims[HIA_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) dims[k] = size_in(l, n, 0, k + 1);
  value first = own(l, n, 1);
  value end = add_op(l, HIA_OP_ADD, (value[]){first, number(l, 1)}, 2, HIA_I64, 0, node.loc);
  return reshaped(l, cut(l, own(l, n, 0), 0, first, end, node.loc), true, dims, rank);
}

/* A WITH as one operation, if it is what flows back from a cross entropy; NONE: it is not. The
 * interpreter, which notes operations itself, has no way to compute several of these as one. */
static value label_gradient(hia_lifting *l, hia_node_id n) {
  hia_label_gradient found;
  if (!l->b->owes || !hiaG_batch_is_label_gradient(from(l), n, &found)) return HIA_NONE;
  bool is_softmax = !l->values[found.x].is_row;
  hia_value_id parts[] = {is_softmax ? found.softmax : found.x, found.label, found.dy};
  value ins[HIA_LEN(parts)];
  for (uint32_t i = 0; i < HIA_LEN(parts); i++) {
    if (!l->values[parts[i]].is_row) return HIA_NONE;
    ins[i] = l->values[parts[i]].v;
  }
  hia_loc_id loc = from(l)->nodes.data[n].loc;
  return add_op(l, HIA_OP_LABEL_GRADIENT, ins, 3, HIA_N_DTYPES, is_softmax, loc);
}

/* Chooses, for each element, what is put there or what was there. */
static value with(hia_lifting *l, hia_node_id n) {
  hia_loc_id loc = from(l)->nodes.data[n].loc;
  value one_op = label_gradient(l, n);
  if (one_op != HIA_NONE) return one_op;
  const int64_t one = 1;
  value width = number(l, size_in(l, n, 0, 0));
  value at = index_of(l, n, 1), v = own(l, n, 2);
  if (has_rows(l, n, 1)) at = reshaped(l, at, true, &one, 1);
  if (has_rows(l, n, 2)) v = reshaped(l, v, true, &one, 1);
  value columns = add_op(l, HIA_OP_IOTA, &width, 1, HIA_I64, 0, loc);
  value is_it = add_op(l, HIA_OP_EQ, (value[]){columns, at}, 2, HIA_BOOL, 0, loc);
  return add_op(l, HIA_OP_SELECT, (value[]){is_it, v, own(l, n, 0)}, 3, dtype_out(l, n), 0, loc);
}

/* Operand i, which all rows share, for each row. */
static value spread(hia_lifting *l, hia_node_id n, uint32_t i) {
  hia_dtype dtype = hiaG_dtype(l->b->g->types, hiaG_type(from(l), hiaG_in(from(l), n, i)));
  uint32_t rank = rank_in(l, n, i);
  value ins[2 + HIA_MAX_RANK], holds = hiaG_const(l->b->g, l->to, 0, HIA_BOOL, 1, HIA_NONE);
  ins[0] = hiaG_const(l->b->g, l->to, 0, (hia_type)dtype, 0, HIA_NONE);
  ins[1] = l->n_rows;
  for (uint32_t k = 0; k < rank; k++) ins[2 + k] = number(l, size_in(l, n, i, k));
  value zeros = add_op(l, HIA_OP_FULL, ins, 2 + rank, HIA_N_DTYPES, 0, HIA_NONE);
  return add_op(l, HIA_OP_SELECT, (value[]){holds, own(l, n, i), zeros}, 3, dtype, 0, HIA_NONE);
}

static value cat(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  value *ins = HIA_NEW_ARRAY(l->b->arena, value, node.n_ins);
  for (uint32_t i = 0; i < node.n_ins; i++)
    ins[i] = has_rows(l, n, i) ? own(l, n, i) : spread(l, n, i);
  return add_op(l, node.op, ins, node.n_ins, HIA_N_DTYPES, node.imm + 1, node.loc);
}

static value reshape(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  value ins[2 + HIA_MAX_RANK] = {own(l, n, 0), l->n_rows};
  for (uint32_t i = 1; i < node.n_ins; i++) ins[i + 1] = own(l, n, i);
  return add_op(l, HIA_OP_RESHAPE, ins, node.n_ins + 1, HIA_N_DTYPES, 0, node.loc);
}

static value same(hia_lifting *l, hia_node_id n) { return own(l, n, 0); }

static value reduce(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  value x = own(l, n, 0);
  uint32_t rank = rank_in(l, n, 0);
  uint64_t axis = node.imm;
  if (axis == HIA_NONE) {
    int64_t all = 1;
    for (uint32_t k = 0; k < rank; k++) all *= size_in(l, n, 0, k);
    if (rank > 1) x = reshaped(l, x, true, &all, 1);
    axis = 0;
  }
  return add_op(l, node.op, &x, 1, HIA_N_DTYPES, axis + 1, node.loc);
}

static value last(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  value x = own(l, n, 0);
  return add_op(l, node.op, &x, 1, HIA_N_DTYPES, 0, node.loc);
}

static value labels(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  return add_op(l, node.op, (value[]){own(l, n, 0), own(l, n, 1)}, 2, HIA_N_DTYPES, 0, node.loc);
}

/* Copies of a scalar of each row. */
static value full(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  hia_type type = (hia_type)dtype_out(l, n);
  value ins[1 + HIA_MAX_RANK], holds = hiaG_const(l->b->g, l->to, 0, HIA_BOOL, 1, HIA_NONE);
  ins[0] = hiaG_const(l->b->g, l->to, 0, type, 0, HIA_NONE);
  for (uint32_t i = 1; i < node.n_ins; i++) ins[i] = own(l, n, i);
  value zeros = add_op(l, HIA_OP_FULL, ins, node.n_ins, HIA_N_DTYPES, 0, node.loc);
  value v = widened(l, n, 0, node.n_ins - 1);
  return add_op(l, HIA_OP_SELECT, (value[]){holds, v, zeros}, 3, dtype_out(l, n), 0, node.loc);
}

static value outer(hia_lifting *l, hia_node_id n) {
  value a = reshaped(l, own(l, n, 0), true, (int64_t[]){size_in(l, n, 0, 0), 1}, 2);
  value b = reshaped(l, own(l, n, 1), true, (int64_t[]){1, size_in(l, n, 1, 0)}, 2);
  return add_op(l, HIA_OP_MUL, (value[]){a, b}, 2, dtype_out(l, n), 0, from(l)->nodes.data[n].loc);
}

/* ---- the rules ---- */

typedef struct rule {
  bool (*can)(const looking *l, hia_node_id n);
  value (*lift)(hia_lifting *l, hia_node_id n);
} rule;

static rule rule_of(unsigned op) {
  if (hiaR_ops[op].shape == HIA_SHAPE_ELEMENTWISE) return (rule){can_elementwise, elementwise};
  switch (op) {
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_BT: return (rule){can_product, product};
  case HIA_OP_PART:
  case HIA_OP_CUT: return (rule){can_part, part};
  case HIA_OP_ROW: return (rule){can_row, row};
  case HIA_OP_WITH: return (rule){can_with, with};
  case HIA_OP_CAT:
  case HIA_OP_STACK: return (rule){can_cat, cat};
  case HIA_OP_RESHAPE: return (rule){can_reshape, reshape};
  case HIA_OP_EXPECT: return (rule){can_expect, same};
  case HIA_OP_SUM:
  case HIA_OP_PROD:
  case HIA_OP_MEAN:
  case HIA_OP_MAX_OF:
  case HIA_OP_MIN_OF:
  case HIA_OP_ARG_MAX:
  case HIA_OP_ARG_MIN:
  case HIA_OP_ANY:
  case HIA_OP_ALL: return (rule){can_reduce, reduce};
  case HIA_OP_SOFTMAX:
  case HIA_OP_LOG_SOFTMAX: return (rule){can_last, last};
  case HIA_OP_CROSS_ENTROPY: return (rule){can_labels, labels};
  case HIA_OP_FULL: return (rule){can_full, full};
  case HIA_OP_OUTER: return (rule){can_outer, outer};
  default: return (rule){NULL, NULL};
  }
}

/* Returns an operand that all activations share: a constant, or what is computed of constants. */
static value uniform(hia_lifting *l, hia_value_id v) {
  hia_lifted *z = &l->values[v];
  if (z->v != HIA_NONE) return z->v;
  const hia_node node = *hiaG_def(from(l), v);
  hia_type type = hiaG_type(from(l), v);
  value *ins = HIA_NEW_ARRAY(l->b->arena, value, node.n_ins);
  for (uint32_t i = 0; i < node.n_ins; i++) ins[i] = uniform(l, from(l)->edges.data[node.ins + i]);
  hia_node_id copy =
      hiaG_add(l->b->g, l->to, 0, node.op, ins, node.n_ins, &type, 1, node.imm, node.loc);
  *z = (hia_lifted){hiaG_out(l->to, copy, 0), false};
  return z->v;
}

void hiaG_lift(hia_lifting *l, hia_node_id n) {
  const hia_node node = from(l)->nodes.data[n];
  for (uint32_t i = 0; i < node.n_ins; i++)
    if (l->b->fns[l->from].is_uniform[hiaG_in(from(l), n, i)]) uniform(l, hiaG_in(from(l), n, i));
  value v = rule_of(node.op).lift(l, n);
  l->values[node.outs] = (hia_lifted){v, true};
}

/* A node that may be copied into a segment: it computes one value, of what all activations share,
 * and cannot fail. `depths`, by value: of the computations that lead there. */
static bool is_copied(const looking *l, hia_node_id n, uint8_t *depths) {
  enum { DEEPEST = 100 };
  const hia_node *node = &l->fn->nodes.data[n];
  if (hiaG_is_constant(node->op)) return node->op != HIA_OP_UNDEF;
  if (node->n_outs != 1 || hiaG_n_regions(node->op) || !node->n_ins) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = in(l, n, i);
    if (is_row(l, v) || depths[v] == DEEPEST) return false;
    if (depths[v] >= depths[node->outs]) depths[node->outs] = hiaR_u8(depths[v] + 1u);
  }
  bool is_pure =
      !hiaG_node_does(l->b->g, l->fn, n, ~(unsigned)(HIA_E_READS | HIA_E_ALLOCATES | HIA_E_RAISES));
  hia_type_kind kind = hiaG_type_kind(l->b->g->types, hiaG_type(l->fn, out(l, n)));
  if (!is_pure || (kind != HIA_KIND_SCALAR && kind != HIA_KIND_TENSOR)) return false;
  if (!hiaG_node_does(l->b->g, l->fn, n, HIA_E_RAISES)) return true;
  int64_t i;
  if (node->op == HIA_OP_ROW)
    return is_constant(l, in(l, n, 1), &i) && i >= 0 && i < size(l, in(l, n, 0), 0);
  rule r = rule_of(node->op);
  return r.can && r.can(l, n);
}

static bool is_heavy(const looking *l, hia_node_id n) {
  unsigned op = l->fn->nodes.data[n].op;
  int64_t least = l->b->g->batches_all ? 1 : HIA_BATCH_WORTH;
  if (op != HIA_OP_PRODUCT && op != HIA_OP_PRODUCT_BT) return false;
  for (uint32_t i = 0; i < 2; i++) {
    hia_value_id w = in(l, n, i);
    if (!is_row(l, w) && rank_of(l, w) > 1 && elements(l, w) >= least) return true;
  }
  return false;
}

void hiaG_batch_find_liftable(hia_batcher *b, hia_fn_id f) {
  looking l = {b, f, hiaG_fn(b->g, f), &b->fns[f]};
  l.of->is_uniform = HIA_NEW_ARRAY(b->arena, bool, l.fn->values.len + 1);
  l.of->can_lift = HIA_NEW_ARRAY(b->arena, bool, l.fn->nodes.len + 1);
  l.of->is_heavy = HIA_NEW_ARRAY(b->arena, bool, l.fn->nodes.len + 1);
  uint8_t *depths = HIA_NEW_ARRAY(b->arena, uint8_t, l.fn->values.len + 1);
  HIA_EACH_NODE(l.fn, n) {
    const hia_node *node = &l.fn->nodes.data[n];
    if (is_copied(&l, n, depths)) {
      l.of->is_uniform[node->outs] = true;
      continue;
    }
    rule r = rule_of(node->op);
    if (!r.can || node->n_outs != 1 || !node->n_ins) continue;
    int64_t dims[HIA_MAX_RANK];
    bool is_known = hiaG_batch_shape(b, f, node->outs, dims);
    for (uint32_t i = 0; i < node->n_ins; i++)
      is_known &= hiaG_batch_shape(b, f, in(&l, n, i), dims);
    l.of->can_lift[n] = is_known && r.can(&l, n);
    l.of->is_heavy[n] = l.of->can_lift[n] && is_heavy(&l, n);
  }
}
