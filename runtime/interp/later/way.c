/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How operations are computed together: rules by op, of the shapes of operands. An operation over
 * rows gives, in each row, the bits that it gives of that row's operands: elements of products and
 * sums are added in an order that depends on the length of the sum alone (docs/tensors.md,
 * "Rounding"). So the rules differ from those of compiled segments (graph/batch/lift.c) in that
 * shapes are known here, whatever the program says of them.
 *
 * Nothing is noted that could fail. */
#include "runtime/interp/later/noted.h"

enum {
  LARGE = 4096,    /* elements: copying so many costs more than computing them together saves */
  BLAS_ROWS = 256, /* OpenBLAS computes no products of fewer (kernel/blas.h) */
  FEW_OPERANDS = 32
};

static bool is_tensor(const hia_operation *o, uint32_t i) { return hiaR_operand_is_tensor(o, i); }
static uint32_t rank_of(hia_word x) { return hiaR_tensor_rank(hiaR_tensor(x)); }
static int64_t dim_of(hia_word x, uint32_t axis) { return hiaR_tensor(x)->dims[axis]; }
static int64_t last_dim(hia_word x) { return dim_of(x, rank_of(x) - 1); }
static bool is_large(hia_word x) { return hiaR_tensor_len(hiaR_tensor(x)) > LARGE; }

static bool has_pending(const hia_operation *o, const hia_word *in) {
  for (uint32_t i = 0; i < o->n_in; i++)
    if (is_tensor(o, i) && hiaR_is_pending(in[i])) return true;
  return false;
}

/* True if the tensor is a param, or belongs to no run. */
static bool is_whole_weight(hia_word x) {
  uint16_t kind = hiaR_tensor(x)->counted.ctor;
  return kind == HIA_TENSOR_PARAM || kind == HIA_TENSOR_LITERAL || kind == HIA_TENSOR_OUTSIDE;
}
/* True if that, or a part of such. */
static bool is_weight(hia_word x) {
  if (hiaR_tensor(x)->counted.ctor != HIA_TENSOR_VIEW) return is_whole_weight(x);
  return is_whole_weight(*hiaR_tensor_owner(hiaR_tensor(x)));
}

/* ---- parts ---- */

static bool keeps_shape(hia_word x, const hia_word *sizes, uint32_t n) {
  if (n != rank_of(x)) return false;
  for (uint32_t i = 0; i < n; i++)
    if (hiaR_to_i64(sizes[i]) != dim_of(x, i)) return false;
  return true;
}

bool hiaR_reads_none(const hia_operation_instr *a, const hia_word *in) {
  const hia_operation *o = &a->o;
  switch (o->op) {
  case HIA_OP_DIM:
  case HIA_OP_EXPECT:
  case HIA_OP_ZEROS:
  case HIA_OP_ALIKE: return true;
  case HIA_OP_FIT: {
    hia_dims v = hiaR_operand_dims(o, in, 0), x = hiaR_operand_dims(o, in, 1);
    return is_tensor(o, 0) && hiaR_dims_equal(&v, &x);
  }
  case HIA_OP_RESHAPE: return is_tensor(o, 0) && keeps_shape(in[0], in + 1, o->n_in - 1);
  default: return false;
  }
}

/* The shape of a tensor; what is behind its rank is not set. */
static void get_dims(const hia_tensor *t, hia_dims *dims) {
  dims->rank = hiaR_tensor_rank(t);
  for (uint32_t i = 0; i < dims->rank; i++) dims->dims[i] = t->dims[i];
}

/* x[from..to] along an axis in front of which there are only axes of size 1. */
static bool is_slice(const hia_word *in, uint32_t axis, hia_dims *dims, uint64_t *at) {
  int64_t from = hiaR_to_i64(in[1]), to = hiaR_to_i64(in[2]);
  get_dims(hiaR_tensor(in[0]), dims);
  for (uint32_t k = 0; k < axis; k++)
    if (dims->dims[k] != 1) return false;
  if (axis >= dims->rank || from < 0 || from > to || to > dims->dims[axis]) return false;
  *at = (uint64_t)from;
  for (uint32_t k = axis + 1; k < dims->rank; k++) *at *= (uint64_t)dims->dims[k];
  dims->dims[axis] = to - from;
  return true;
}

static bool is_row(int64_t i, hia_word x, hia_dims *dims, uint64_t *at) {
  get_dims(hiaR_tensor(x), dims);
  if (i < 0 || i >= dims->dims[0]) return false;
  *at = (uint64_t)i;
  dims->dims[0] = 1;
  return true;
}

static bool is_reshaped(const hia_operation *o, const hia_word *in, hia_dims *dims) {
  uint64_t n = 1;
  dims->rank = o->n_in - 1;
  if (!dims->rank || dims->rank > HIA_MAX_RANK) return false;
  for (uint32_t i = 0; i < dims->rank; i++) {
    dims->dims[i] = hiaR_to_i64(in[1 + i]);
    if (dims->dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)dims->dims[i], &n)) return false;
  }
  return n && n == hiaR_tensor_len(hiaR_tensor(in[0]));
}

bool hiaR_is_part(const hia_operation_instr *a, const hia_word *in, hia_dims *dims, uint64_t *at) {
  const hia_operation *o = &a->o;
  if (!o->n_in || !is_tensor(o, 0) || !hiaR_is_pending(in[0])) return false;
  uint64_t row = 1;
  for (uint32_t i = 1; i < rank_of(in[0]); i++) row *= (uint64_t)dim_of(in[0], i);
  bool is_part = false;
  *at = 0;
  switch (o->op) {
  case HIA_OP_RESHAPE: return is_reshaped(o, in, dims);
  case HIA_OP_PART: return is_slice(in, 0, dims, at);
  case HIA_OP_CUT: return is_slice(in, (uint32_t)o->imm, dims, at);
  case HIA_OP_ROW:
    is_part = rank_of(in[0]) > 1 && is_row(hiaR_to_i64(in[1]), in[0], dims, at);
    if (is_part) memmove(dims->dims, dims->dims + 1, --dims->rank * sizeof *dims->dims);
    break;
  case HIA_OP_ROWS: /* of one row */
    is_part = is_tensor(o, 1) && !hiaR_is_pending(in[1]) && rank_of(in[1]) == 1 &&
              dim_of(in[1], 0) == 1 &&
              is_row(hiaR_to_i64(hiaR_tensor_get(hiaR_tensor(in[1]), 0)), in[0], dims, at);
    break;
  }
  *at *= row;
  return is_part;
}

/* ---- products ---- */

/* With OpenBLAS a product of some hundred rows may have other bits than those of fewer. */
static bool may_join_rows(uint64_t rows, bool is_fast) {
  return !is_fast || rows * HIA_FIRED_ROWS < BLAS_ROWS;
}

/* W @ x with a shared W: mostly. */
static bool is_usual(const hia_operation *o, const hia_word *in, hia_described *d) {
  const hia_tensor *w = hiaR_tensor(in[0]), *x = hiaR_tensor(in[1]);
  if (o->op != HIA_OP_PRODUCT || hiaR_tensor_rank(w) != 2 || hiaR_tensor_rank(x) != 1 ||
      x->dims[0] != w->dims[1] || !x->dims[0] || !is_weight(in[0]))
    return false;
  d->dims.rank = 1;
  d->dims.dims[0] = w->dims[0];
  d->dtype = (hia_dtype)o->dtype;
  d->way = HIA_WAY_VECTORS;
  d->shared = 1;
  return true;
}

static void product(const hia_operation *o, const hia_word *in, bool is_fast, hia_described *d) {
  if (is_usual(o, in, d)) return;
  uint32_t of_a = rank_of(in[0]), of_b = rank_of(in[1]);
  bool is_bt = o->op == HIA_OP_PRODUCT_BT, is_at = o->op == HIA_OP_PRODUCT_AT;
  hia_dims a = hiaR_tensor_dims(hiaR_tensor(in[0])), b = hiaR_tensor_dims(hiaR_tensor(in[1]));
  if ((is_at && of_a < 2) || (is_bt && of_b < 2)) return;
  hia_dims turned_a = a, turned_b = b;
  if (is_at) {
    turned_a.dims[of_a - 2] = a.dims[of_a - 1];
    turned_a.dims[of_a - 1] = a.dims[of_a - 2];
  }
  if (is_bt) {
    turned_b.dims[of_b - 2] = b.dims[of_b - 1];
    turned_b.dims[of_b - 1] = b.dims[of_b - 2];
  }
  if (hiaR_shape_product(&turned_a, &turned_b, &d->dims, NULL) != HIA_FIT_ALWAYS) return;
  d->dtype = (hia_dtype)o->dtype;
  d->way = HIA_WAY_ALONE;
  if (!d->dims.rank || !last_dim(in[0])) return;
  if (o->op == HIA_OP_PRODUCT && (of_a == 2 || of_a == 3) && of_b == 1 && is_weight(in[0])) {
    d->way = HIA_WAY_VECTORS;
    d->shared = 1;
    return;
  }
  uint64_t columns = (uint64_t)a.dims[of_a - 1];
  uint64_t rows = hiaR_tensor_len(hiaR_tensor(in[0])) / columns;
  if (!is_at && of_b == 2 && is_weight(in[1]) && !is_large(in[0]) && may_join_rows(rows, is_fast)) {
    d->way = HIA_WAY_MATRIX;
    d->shared = 2;
    return;
  }
  if (of_a <= 2 && of_b <= 2 && !is_large(in[0]) && !is_large(in[1])) d->way = HIA_WAY_ROWS;
}

/* ---- others ---- */

/* True if the operand is broadcast to the shape without changing it: its last axes are equal. */
static bool fits_in(const hia_tensor *t, const hia_dims *dims) {
  uint32_t rank = hiaR_tensor_rank(t);
  if (rank > dims->rank) return false;
  for (uint32_t i = 0; i < rank; i++)
    if (t->dims[i] != dims->dims[dims->rank - rank + i]) return false;
  return true;
}

/* The shape of the result. Mostly one operand has it. */
static bool broadcast(const hia_operation *o, const hia_word *in, hia_dims *dims) {
  const hia_tensor *largest = NULL;
  hia_dims ins[3];
  for (uint32_t i = 0; i < o->n_in; i++)
    if (is_tensor(o, i) && (!largest || rank_of(in[i]) > hiaR_tensor_rank(largest)))
      largest = hiaR_tensor(in[i]);
  get_dims(largest, dims);
  bool fits = true;
  for (uint32_t i = 0; i < o->n_in && fits; i++)
    fits = !is_tensor(o, i) || fits_in(hiaR_tensor(in[i]), dims);
  if (fits) return true;
  for (uint32_t i = 0; i < o->n_in; i++) ins[i] = hiaR_operand_dims(o, in, i);
  return hiaR_shape_broadcast(ins, o->n_in, dims, NULL) == HIA_FIT_ALWAYS;
}

/* Operands that are params, or literals, are the same in all; but some operand must have rows. */
static void lift(const hia_operation *o, const hia_word *in, hia_described *d) {
  const hia_op_info *op = &hiaR_ops[o->op];
  bool is_integer = o->at == HIA_I32 || o->at == HIA_I64, has_rows = false, has_large = false;
  if (op->traits & HIA_T_RAISES || (op->traits & HIA_T_RAISES_INT && is_integer)) return;
  if (!(o->tensors & 7) || o->n_in > 3) return;
  for (uint32_t i = 0; i < o->n_in; i++) {
    if (!is_tensor(o, i)) continue;
    if (is_whole_weight(in[i]))
      d->shared |= 1u << i;
    else
      has_rows = true, has_large |= is_large(in[i]);
  }
  if (!has_rows) d->shared = 0;
  if (!broadcast(o, in, &d->dims)) return;
  d->dtype = (hia_dtype)o->dtype;
  d->way = has_large || !has_rows ? HIA_WAY_ALONE : HIA_WAY_LIFT;
  /* Integers are mostly indices, which are read at once. */
  bool is_float = o->at == HIA_F32 || o->at == HIA_F64;
  if (!is_float && !has_pending(o, in)) d->way = HIA_WAY_NONE;
}

static void reduce(const hia_operation *o, const hia_word *in, hia_described *d) {
  hia_dims x = hiaR_tensor_dims(hiaR_tensor(in[0]));
  if (o->imm == HIA_OVER_ALL || x.rank < 2 || !hiaR_tensor_len(hiaR_tensor(in[0]))) return;
  if (hiaR_shape_reduce(&x, (uint32_t)o->imm, &d->dims, NULL) != HIA_FIT_ALWAYS) return;
  bool is_index = o->op == HIA_OP_ARG_MAX || o->op == HIA_OP_ARG_MIN;
  d->dtype = is_index ? HIA_I64 : hiaR_tensor_dtype(hiaR_tensor(in[0]));
  d->way = is_large(in[0]) ? HIA_WAY_ALONE : HIA_WAY_AXES;
}

static void join(const hia_operation *o, const hia_word *in, hia_described *d) {
  hia_dims ins[FEW_OPERANDS];
  bool has_large = false;
  if (!o->n_in || o->n_in > FEW_OPERANDS) return;
  for (uint32_t i = 0; i < o->n_in; i++) {
    if (!is_tensor(o, i)) return;
    ins[i] = hiaR_operand_dims(o, in, i);
    has_large |= is_large(in[i]);
  }
  uint32_t axis = (uint32_t)o->imm;
  hia_fit fit = o->op == HIA_OP_CAT ? hiaR_shape_concat(ins, o->n_in, axis, &d->dims, NULL)
                                    : hiaR_shape_stack(ins, o->n_in, axis, &d->dims, NULL);
  if (fit != HIA_FIT_ALWAYS) return;
  d->dtype = hiaR_tensor_dtype(hiaR_tensor(in[0]));
  d->way = has_large ? HIA_WAY_ALONE : HIA_WAY_AXES;
}

static void along_last(const hia_word *in, hia_described *d) {
  get_dims(hiaR_tensor(in[0]), &d->dims);
  d->dtype = hiaR_tensor_dtype(hiaR_tensor(in[0]));
  d->way = is_large(in[0]) ? HIA_WAY_ALONE : HIA_WAY_ROWS;
}

static void cut(const hia_operation *o, const hia_word *in, hia_described *d) {
  uint32_t axis = (uint32_t)o->imm;
  int64_t from = hiaR_to_i64(in[1]), to = hiaR_to_i64(in[2]);
  get_dims(hiaR_tensor(in[0]), &d->dims);
  if (axis >= d->dims.rank || from < 0 || from > to || to > d->dims.dims[axis]) return;
  d->dims.dims[axis] = to - from;
  d->dtype = hiaR_tensor_dtype(hiaR_tensor(in[0]));
  d->way = is_large(in[0]) ? HIA_WAY_ALONE : HIA_WAY_AXES;
}

/* Labels are read now, so that none is out of range later. */
static void labels(const hia_operation *o, const hia_word *in, hia_described *d) {
  hia_dims x = hiaR_operand_dims(o, in, 0), of_labels = hiaR_operand_dims(o, in, 1);
  if (!is_tensor(o, 1) || hiaR_is_pending(in[1])) return;
  if (hiaR_shape_labels(&x, &of_labels, &d->dims, NULL) != HIA_FIT_ALWAYS) return;
  const hia_tensor *t = hiaR_tensor(in[1]);
  uint64_t n = hiaR_tensor_len(t);
  if (n > LARGE || last_dim(in[0]) == 0) return;
  for (uint64_t i = 0; i < n; i++) {
    int64_t label = hiaR_to_i64(hiaR_tensor_get(t, i));
    if (label < 0 || label >= last_dim(in[0])) return;
  }
  d->dtype = hiaR_tensor_dtype(hiaR_tensor(in[0]));
  d->way = is_large(in[0]) ? HIA_WAY_ALONE : HIA_WAY_ROWS;
}

static void transpose(const hia_word *in, hia_described *d) {
  hia_dims x = hiaR_tensor_dims(hiaR_tensor(in[0]));
  if (hiaR_shape_transpose(&x, &d->dims, NULL) != HIA_FIT_ALWAYS) return;
  d->dtype = hiaR_tensor_dtype(hiaR_tensor(in[0]));
  d->way = HIA_WAY_ALONE;
}

static void outer(const hia_operation *o, const hia_word *in, hia_described *d) {
  hia_dims a = hiaR_operand_dims(o, in, 0), b = hiaR_operand_dims(o, in, 1);
  if (hiaR_shape_outer(&a, &b, &d->dims, NULL) != HIA_FIT_ALWAYS) return;
  d->dtype = (hia_dtype)o->dtype;
  d->way = HIA_WAY_ALONE;
}

static void describe(const hia_operation *o, const hia_word *in, bool is_fast, hia_described *d) {
  if (hiaR_ops[o->op].shape == HIA_SHAPE_ELEMENTWISE) {
    lift(o, in, d);
    return;
  }
  switch (o->op) {
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_AT:
  case HIA_OP_PRODUCT_BT: product(o, in, is_fast, d); break;
  case HIA_OP_SUM:
  case HIA_OP_PROD:
  case HIA_OP_MEAN:
  case HIA_OP_MAX_OF:
  case HIA_OP_MIN_OF:
  case HIA_OP_ARG_MAX:
  case HIA_OP_ARG_MIN: reduce(o, in, d); break;
  case HIA_OP_SOFTMAX:
  case HIA_OP_LOG_SOFTMAX: along_last(in, d); break;
  case HIA_OP_CAT:
  case HIA_OP_STACK: join(o, in, d); break;
  case HIA_OP_CUT: cut(o, in, d); break;
  case HIA_OP_CROSS_ENTROPY: labels(o, in, d); break;
  case HIA_OP_TRANSPOSE: transpose(in, d); break;
  case HIA_OP_OUTER: outer(o, in, d); break;
  }
}

void hiaR_describe(const hia_operation_instr *a, const hia_word *in, bool is_fast,
                   hia_described *d) {
  d->way = HIA_WAY_NONE;
  d->shared = d->dims.rank = 0;
  describe(&a->o, in, is_fast, d);
  if (d->way == HIA_WAY_NONE) return;
  uint64_t n;
  bool fits = d->dims.rank && hiaR_shape_elements(&d->dims, hiaR_dtype_size(d->dtype), &n);
  bool has_rows = d->way != HIA_WAY_VECTORS && d->way != HIA_WAY_MATRIX;
  if (fits && ((has_rows && n > LARGE) || d->dims.rank >= HIA_MAX_RANK)) d->way = HIA_WAY_ALONE;
  if (!fits || (d->way == HIA_WAY_ALONE && !has_pending(&a->o, in))) d->way = HIA_WAY_NONE;
  if (d->way == HIA_WAY_ALONE) d->shared = 0;
}
