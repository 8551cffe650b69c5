/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on small tensors, element by element: which can be split, and what they become. Sums
 * and products add in the order of docs/tensors.md, "Rounding". */
#include "graph/ir/build.h"
#include "graph/scalars/scalars.h"

enum { MAX_INS = 64 /* operands of a node that is split */ };

/* A node and the shapes of what it computes with. */
typedef struct operation {
  const hia_scalars *s;
  const hia_fn *fn;
  hia_fn_id f;
  hia_node_id n;
  const hia_node *node;
  uint32_t n_ins;
  hia_dims ins[MAX_INS], out;
  bool is_scalar;   /* the result */
  bool reads_whole; /* it is an x[i] that takes its elements from x as a whole */
} operation;

/* ---- shapes ---- */

/* A row with an index that is not constant, or of a tensor that is not small, unless it is a
 * scalar: an element of a small vector is chosen among all, one of a large vector is a load
 * already. */
bool hiaG_scalars_reads_whole(const hia_scalars *s, hia_fn_id f, hia_node_id n, uint32_t i) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  const hia_node *node = &fn->nodes.data[n];
  hia_dims shape;
  if (node->op != HIA_OP_ROW || i || hiaG_is_scalar(hiaG_type(fn, node->outs))) return false;
  if (!hiaG_scalars_shape(s, f, hiaG_in(fn, n, 0), &shape)) return true;
  int64_t index = hiaG_scalars_integer(s, f, hiaG_in(fn, n, 1));
  return index < 0 || index >= shape.dims[0];
}

static bool know(operation *o, const hia_scalars *s, hia_fn_id f, hia_node_id n) {
  o->s = s;
  o->fn = hiaG_fn(s->g, f);
  o->f = f;
  o->n = n;
  o->node = &o->fn->nodes.data[n];
  o->n_ins = o->node->n_ins;
  o->reads_whole = false;
  if (o->n_ins > MAX_INS || o->node->n_outs != 1) return false;
  if (!hiaG_scalars_shape(s, f, o->node->outs, &o->out)) return false;
  o->is_scalar = o->out.rank == 0;
  bool has_tensors = !o->is_scalar;
  for (uint32_t i = 0; i < o->n_ins; i++) {
    if (hiaG_scalars_reads_whole(s, f, n, i))
      o->reads_whole = true;
    else if (!hiaG_scalars_shape(s, f, hiaG_in(o->fn, n, i), &o->ins[i]))
      return false;
    has_tensors |= o->ins[i].rank > 0;
  }
  return has_tensors;
}

static bool is_shape(const hia_dims *a, const hia_dims *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* The product of the dims first .. end. */
static uint32_t span(const hia_dims *x, uint32_t first, uint32_t end) {
  uint32_t n = 1;
  for (uint32_t k = first; k < end; k++) n *= (uint32_t)x->dims[k];
  return n;
}

static int64_t integer(const operation *o, uint32_t i) {
  return hiaG_scalars_integer(o->s, o->f, hiaG_in(o->fn, o->n, i));
}

/* True if the operands from `first` on are these sizes. */
static bool states(const operation *o, uint32_t first, const hia_dims *shape) {
  if (o->n_ins - first != shape->rank) return false;
  for (uint32_t k = 0; k < shape->rank; k++)
    if (integer(o, first + k) != shape->dims[k]) return false;
  return true;
}

/* True if x has the shape of a row of the other. */
static bool is_row(const hia_dims *x, const hia_dims *of) {
  return x->rank + 1 == of->rank && memcmp(x->dims, of->dims + 1, x->rank * sizeof *x->dims) == 0;
}

/* Along an axis: what is before it, along it, and behind it. */
typedef struct axis {
  uint32_t outer, n, inner;
} axis;

static axis axis_of(const hia_dims *x, uint64_t imm) {
  if ((uint32_t)imm == HIA_NONE) return (axis){1, hiaG_scalars_count(x), 1};
  uint32_t k = (uint32_t)imm;
  return (axis){span(x, 0, k), (uint32_t)x->dims[k], span(x, k + 1, x->rank)};
}

/* A product of matrices, or vectors: element i, k of the left one is at i * a_row + k * a_step; */
typedef struct product {
  uint32_t rows, terms, cols, a_row, a_step, b_step, b_col;
} product;

static bool product_of(const operation *o, product *p) {
  const hia_dims *a = &o->ins[0], *b = &o->ins[1];
  bool is_at = o->node->op == HIA_OP_PRODUCT_AT, is_bt = o->node->op == HIA_OP_PRODUCT_BT;
  if (a->rank > 2 || b->rank > 2 || (is_at && a->rank < 2) || (is_bt && b->rank < 2)) return false;
  uint32_t a_rows = a->rank == 2 ? (uint32_t)a->dims[0] : 1;
  uint32_t a_cols = (uint32_t)a->dims[a->rank - 1];
  uint32_t b_rows = (uint32_t)b->dims[0], b_cols = b->rank == 2 ? (uint32_t)b->dims[1] : 1;
  *p = (product){.rows = is_at ? a_cols : a_rows,
                 .terms = is_at ? a_rows : a_cols,
                 .cols = is_bt ? b_rows : b_cols,
                 .a_row = is_at ? 1 : a_cols,
                 .a_step = is_at ? a_cols : 1,
                 .b_step = is_bt ? 1 : b_cols,
                 .b_col = is_bt ? b_cols : 1};
  return p->terms == (is_bt ? b_cols : b_rows) && p->rows * p->cols * p->terms <= HIA_SCALARS_TERMS;
}

/* ---- which can be split ---- */

static bool is_index(const operation *o, uint32_t i) {
  return integer(o, i) >= 0 && integer(o, i) < o->ins[0].dims[0];
}

/* An index that is not constant is tested, and chooses among all elements of a vector. */
static bool can_index(const operation *o) { return is_index(o, 1) || o->ins[0].rank == 1; }

static bool can_slice(const operation *o, uint32_t k) {
  int64_t from = integer(o, 1), to = integer(o, 2);
  return from >= 0 && from <= to && to <= o->ins[0].dims[k];
}

static bool can_expect(const operation *o) {
  uint32_t i = 1;
  for (uint64_t axes = o->node->imm; axes; axes &= axes - 1)
    if (integer(o, i++) != o->ins[0].dims[__builtin_ctzll(axes)]) return false;
  return true;
}

static bool can_cat(const operation *o) {
  uint32_t k = (uint32_t)o->node->imm;
  for (uint32_t i = 1; i < o->n_ins; i++)
    for (uint32_t a = 0; a < o->out.rank; a++)
      if (a != k && o->ins[i].dims[a] != o->ins[0].dims[a]) return false;
  return true;
}

static bool can_stack(const operation *o) {
  for (uint32_t i = 1; i < o->n_ins; i++)
    if (!is_shape(&o->ins[i], &o->ins[0])) return false;
  return o->n_ins > 0;
}

static bool can_broadcast(const operation *o) {
  hia_dims out;
  return hiaR_shape_broadcast(o->ins, o->n_ins, &out, NULL) == HIA_FIT_ALWAYS &&
         is_shape(&out, &o->out);
}

static bool can_split(const operation *o) {
  product p;
  if (hiaR_ops[o->node->op].shape == HIA_SHAPE_ELEMENTWISE)
    return hiaG_is_operation(o->fn, o->n) && can_broadcast(o);
  switch (o->node->op) {
  case HIA_OP_DIM:
  case HIA_OP_ZEROS:
  case HIA_OP_TRANSPOSE:
  case HIA_OP_OUTER:
  case HIA_OP_SUM:
  case HIA_OP_PROD:
  case HIA_OP_MEAN:
  case HIA_OP_MAX_OF:
  case HIA_OP_MIN_OF:
  case HIA_OP_ARG_MAX:
  case HIA_OP_ARG_MIN:
  case HIA_OP_ANY:
  case HIA_OP_ALL:
  case HIA_OP_SOFTMAX:
  case HIA_OP_LOG_SOFTMAX: return true;
  case HIA_OP_EXPECT: return can_expect(o);
  case HIA_OP_ROW: return o->reads_whole || can_index(o);
  case HIA_OP_WITH: return can_index(o) && is_row(&o->ins[2], &o->ins[0]);
  case HIA_OP_PART: return can_slice(o, 0);
  case HIA_OP_CUT: return can_slice(o, (uint32_t)o->node->imm);
  case HIA_OP_CAT: return can_cat(o);
  case HIA_OP_STACK: return can_stack(o);
  case HIA_OP_RESHAPE:
    return states(o, 1, &o->out) && hiaG_scalars_count(&o->out) == hiaG_scalars_count(&o->ins[0]);
  case HIA_OP_FULL: return states(o, 1, &o->out);
  case HIA_OP_IOTA: return states(o, 0, &o->out);
  case HIA_OP_FIT: return is_shape(&o->ins[0], &o->ins[1]);
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_AT:
  case HIA_OP_PRODUCT_BT: return product_of(o, &p);
  default: return false;
  }
}

bool hiaG_scalars_reads_shape(const hia_fn *fn, hia_node_id n, uint32_t i) {
  unsigned op = fn->nodes.data[n].op;
  return op == HIA_OP_DIM || op == HIA_OP_ZEROS || (op == HIA_OP_FIT && i == 1);
}

/* How often the node's operation, or one like it, is made. */
static uint32_t n_operations(const operation *o) {
  product p;
  switch (o->node->op) {
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_AT:
  case HIA_OP_PRODUCT_BT: return product_of(o, &p) ? p.rows * p.cols * p.terms : 0;
  case HIA_OP_SUM:
  case HIA_OP_PROD:
  case HIA_OP_ANY:
  case HIA_OP_ALL: return hiaG_scalars_count(&o->ins[0]);
  case HIA_OP_MEAN: return hiaG_scalars_count(&o->ins[0]) + 4;
  case HIA_OP_MAX_OF:
  case HIA_OP_MIN_OF: return 4 * hiaG_scalars_count(&o->ins[0]);
  case HIA_OP_ARG_MAX:
  case HIA_OP_ARG_MIN:
  case HIA_OP_SOFTMAX:
  case HIA_OP_LOG_SOFTMAX: return 8 * hiaG_scalars_count(&o->ins[0]);
  case HIA_OP_ROW:
    if (o->reads_whole) return hiaG_scalars_count(&o->out);
    return is_index(o, 1) ? 0 : 2 * hiaG_scalars_count(&o->ins[0]);
  case HIA_OP_WITH: return is_index(o, 1) ? 0 : 2 * hiaG_scalars_count(&o->ins[0]);
  case HIA_OP_OUTER: return hiaG_scalars_count(&o->out);
  default:
    return hiaR_ops[o->node->op].shape == HIA_SHAPE_ELEMENTWISE ? hiaG_scalars_count(&o->out) : 0;
  }
}

bool hiaG_scalars_can(const hia_scalars *s, hia_fn_id f, hia_node_id n, hia_scalars_work *work) {
  operation o;
  if (!know(&o, s, f, n) || !can_split(&o)) return false;
  bool is_lifted = hiaR_ops[o.node->op].shape == HIA_SHAPE_ELEMENTWISE;
  work->nodes = n_operations(&o);
  work->cycles = work->nodes * (is_lifted ? hiaR_ops[o.node->op].cost : 2);
  if (o.node->op == HIA_OP_SOFTMAX || o.node->op == HIA_OP_LOG_SOFTMAX) work->cycles *= 8;
  return true;
}

/* ---- nodes ---- */

/* What computes elements at a place. */
typedef struct computing {
  const operation *o;
  const hia_scalars_place *p;
  const hia_value_id *const *ins; /* by operand: its elements */
  hia_value_id *out;
  hia_dtype dtype; /* of the elements of operand 0 */
} computing;

hia_value_id hiaG_scalars_add(const hia_scalars_place *p, unsigned op, const hia_value_id *ins,
                              uint32_t n_ins, hia_type type, uint64_t imm) {
  hia_fn *fn = hiaG_fn(p->s->g, p->f);
  hia_node_id n = hiaG_insert(p->s->g, fn, p->at, op, ins, n_ins, &type, 1, imm, p->loc);
  return hiaG_out(fn, n, 0);
}

static hia_value_id constant(const computing *c, hia_dtype type, hia_word word) {
  return hiaG_scalars_add(c->p, HIA_OP_CONST, NULL, 0, type, word);
}

/* A whole number of a dtype. */
static hia_value_id number(const computing *c, hia_dtype type, uint32_t n) {
  switch (type) {
  case HIA_F32: return constant(c, type, hiaR_from_f32((float)n));
  case HIA_F64: return constant(c, type, hiaR_from_f64(n));
  default: return constant(c, type, n);
  }
}

static hia_value_id unary(const computing *c, unsigned op, hia_value_id a, hia_dtype type) {
  return hiaG_scalars_add(c->p, op, &a, 1, type, 0);
}
static hia_value_id binary(const computing *c, unsigned op, hia_value_id a, hia_value_id b,
                           hia_dtype type) {
  return hiaG_scalars_add(c->p, op, (hia_value_id[]){a, b}, 2, type, 0);
}
static hia_value_id choose(const computing *c, hia_value_id condition, hia_value_id a,
                           hia_value_id b, hia_dtype type) {
  return hiaG_scalars_add(c->p, HIA_OP_SELECT, (hia_value_id[]){condition, a, b}, 3, type, 0);
}
static bool is_float(hia_dtype type) { return type == HIA_F32 || type == HIA_F64; }

/* ---- operations on elements ---- */

static hia_dtype dtype_of(const computing *c, hia_value_id v) {
  return hiaG_dtype(c->o->s->g->types, hiaG_type(hiaG_fn(c->o->s->g, c->o->f), v));
}

/* The index of the element of x that an element of the result is computed from. */
static uint32_t broadcast_index(const hia_dims *x, const hia_dims *out, uint32_t i) {
  uint32_t at = 0, stride = 1;
  for (uint32_t k = 1; k <= out->rank; k++) {
    uint32_t dim = (uint32_t)out->dims[out->rank - k], index = i % dim;
    i /= dim;
    if (k > x->rank) continue;
    uint32_t own = (uint32_t)x->dims[x->rank - k];
    if (own > 1) at += index * stride;
    stride *= own;
  }
  return at;
}

static void elementwise(const computing *c) {
  const operation *o = c->o;
  const hia_node node = *o->node;
  hia_dtype type = dtype_of(c, node.outs);
  hia_value_id ins[3];
  for (uint32_t k = 0, n = hiaG_scalars_count(&o->out); k < n; k++) {
    for (uint32_t i = 0; i < o->n_ins; i++)
      ins[i] = c->ins[i][broadcast_index(&o->ins[i], &o->out, k)];
    c->out[k] = hiaG_scalars_add(c->p, node.op, ins, o->n_ins, type, node.imm);
  }
}

/* ---- sums ---- */

/* Partial sums are added in halves; of more lanes than there are elements the others are 0, or 1.
 * Sums begin at +0, so they are never -0: to one of them that 0 must be added. */
static hia_value_id in_lanes(const computing *c, unsigned op, const hia_value_id *x, uint32_t n,
                             hia_dtype type) {
  hia_value_id lanes[HIA_SCALARS_ELEMENTS];
  memcpy(lanes, x, n * sizeof *x);
  if (op == HIA_OP_ADD && is_float(type)) {
    uint32_t last = n > 1;
    lanes[last] = binary(c, op, lanes[last], number(c, type, 0), type);
  }
  for (uint32_t half = HIA_SCALARS_ELEMENTS / 2; half; half /= 2)
    for (uint32_t l = 0; l < half && l + half < n; l++)
      lanes[l] = binary(c, op, lanes[l], lanes[l + half], type);
  return lanes[0];
}

/* True where v, which comes later, is taken instead of m. */
static hia_value_id is_better(const computing *c, unsigned compare, hia_value_id v,
                              hia_value_id m) {
  hia_value_id better = binary(c, compare, v, m, HIA_BOOL);
  if (!is_float(c->dtype)) return better;
  hia_value_id is_nan = unary(c, HIA_OP_ISNAN, v, HIA_BOOL);
  hia_value_id is_number = binary(c, HIA_OP_EQ, m, m, HIA_BOOL);
  hia_value_id is_first = binary(c, HIA_OP_BAND, is_nan, is_number, HIA_BOOL);
  return binary(c, HIA_OP_BOR, better, is_first, HIA_BOOL);
}

/* The first of the best elements, and where it is. */
static hia_value_id best_of(const computing *c, unsigned compare, const hia_value_id *x, uint32_t n,
                            hia_value_id *where) {
  hia_value_id best = x[0];
  if (where) *where = constant(c, HIA_I64, 0);
  for (uint32_t i = 1; i < n; i++) {
    hia_value_id better = is_better(c, compare, x[i], best);
    best = choose(c, better, x[i], best, c->dtype);
    if (where) *where = choose(c, better, constant(c, HIA_I64, i), *where, HIA_I64);
  }
  return best;
}

static hia_value_id reduce(const computing *c, const hia_value_id *x, uint32_t n) {
  hia_value_id where, sum;
  hia_dtype type = c->dtype;
  switch (c->o->node->op) {
  case HIA_OP_SUM: return in_lanes(c, HIA_OP_ADD, x, n, type);
  case HIA_OP_PROD: return in_lanes(c, HIA_OP_MUL, x, n, type);
  case HIA_OP_MEAN:
    sum = in_lanes(c, HIA_OP_ADD, x, n, type);
    return binary(c, HIA_OP_DIV, sum, number(c, type, n), type);
  case HIA_OP_MAX_OF: return best_of(c, HIA_OP_GT, x, n, NULL);
  case HIA_OP_MIN_OF: return best_of(c, HIA_OP_LT, x, n, NULL);
  case HIA_OP_ARG_MAX: best_of(c, HIA_OP_GT, x, n, &where); return where;
  case HIA_OP_ARG_MIN: best_of(c, HIA_OP_LT, x, n, &where); return where;
  case HIA_OP_ANY: return in_lanes(c, HIA_OP_BOR, x, n, type);
  default: return in_lanes(c, HIA_OP_BAND, x, n, type);
  }
}

static void reduction(const computing *c) {
  axis a = axis_of(&c->o->ins[0], c->o->node->imm);
  hia_value_id x[HIA_SCALARS_ELEMENTS];
  for (uint32_t i = 0; i < a.outer * a.inner; i++) {
    uint32_t first = i / a.inner * a.n * a.inner + i % a.inner;
    for (uint32_t k = 0; k < a.n; k++) x[k] = c->ins[0][first + k * a.inner];
    c->out[i] = reduce(c, x, a.n);
  }
}

static void softmax(const computing *c) {
  const hia_dims *shape = &c->o->ins[0];
  uint32_t n = (uint32_t)shape->dims[shape->rank - 1];
  bool is_log = c->o->node->op == HIA_OP_LOG_SOFTMAX;
  hia_dtype type = c->dtype;
  for (uint32_t first = 0; first < hiaG_scalars_count(shape); first += n) {
    const hia_value_id *x = c->ins[0] + first;
    hia_value_id exps[HIA_SCALARS_ELEMENTS], *out = c->out + first;
    hia_value_id max = best_of(c, HIA_OP_GT, x, n, NULL);
    for (uint32_t i = 0; i < n; i++) {
      out[i] = binary(c, HIA_OP_SUB, x[i], max, type);
      exps[i] = unary(c, HIA_OP_EXP, out[i], type);
    }
    hia_value_id sum = in_lanes(c, HIA_OP_ADD, exps, n, type);
    if (is_log) sum = unary(c, HIA_OP_LOG, sum, type);
    for (uint32_t i = 0; i < n; i++)
      out[i] = is_log ? binary(c, HIA_OP_SUB, out[i], sum, type)
                      : binary(c, HIA_OP_DIV, exps[i], sum, type);
  }
}

/* ---- products ---- */

static hia_value_id multiply_add(const computing *c, hia_value_id a, hia_value_id b,
                                 hia_value_id sum) {
  if (is_float(c->dtype))
    return hiaG_scalars_add(c->p, HIA_OP_FMA, (hia_value_id[]){a, b, sum}, 3, c->dtype, 0);
  return binary(c, HIA_OP_ADD, binary(c, HIA_OP_MUL, a, b, c->dtype), sum, c->dtype);
}

static void multiply(const computing *c) {
  product p;
  product_of(c->o, &p);
  hia_value_id zero = number(c, c->dtype, 0);
  for (uint32_t i = 0; i < p.rows; i++)
    for (uint32_t j = 0; j < p.cols; j++) {
      hia_value_id sum = zero;
      for (uint32_t k = 0; k < p.terms; k++)
        sum = multiply_add(c, c->ins[0][i * p.a_row + k * p.a_step],
                           c->ins[1][k * p.b_step + j * p.b_col], sum);
      c->out[i * p.cols + j] = sum;
    }
}

static void outer(const computing *c) {
  uint32_t n = hiaG_scalars_count(&c->o->ins[0]), m = hiaG_scalars_count(&c->o->ins[1]);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < m; j++)
      c->out[i * m + j] = binary(c, HIA_OP_MUL, c->ins[0][i], c->ins[1][j], c->dtype);
}

/* ---- parts ---- */

/* The index, an i64, once it is known to be in range. */
static hia_value_id tested_index(const computing *c) {
  hia_value_id size = number(c, HIA_I64, (uint32_t)c->o->ins[0].dims[0]);
  return binary(c, HIA_OP_WITHIN, size, c->ins[1][0], HIA_I64);
}

static void row(const computing *c) {
  const hia_dims *x = &c->o->ins[0];
  int64_t index = integer(c->o, 1);
  uint32_t n = hiaG_scalars_count(&c->o->out);
  if (c->o->reads_whole) {
    hia_value_id ins[2] = {c->ins[0][0], c->ins[1][0]};
    for (uint32_t k = 0; k < n; k++)
      c->out[k] = hiaG_scalars_add(c->p, HIA_OP_ITEM, ins, 2, c->dtype, k);
    return;
  }
  if (is_index(c->o, 1)) {
    for (uint32_t k = 0; k < n; k++) c->out[k] = c->ins[0][(uint32_t)index * n + k];
    return;
  }
  hia_value_id i = tested_index(c), found = c->ins[0][0];
  for (uint32_t k = 1; k < (uint32_t)x->dims[0]; k++) {
    hia_value_id is_it = binary(c, HIA_OP_EQ, i, number(c, HIA_I64, k), HIA_BOOL);
    found = choose(c, is_it, c->ins[0][k], found, c->dtype);
  }
  c->out[0] = found;
}

static void with(const computing *c) {
  uint32_t n = hiaG_scalars_count(&c->o->out), of_row = hiaG_scalars_count(&c->o->ins[2]);
  bool is_known = is_index(c->o, 1);
  hia_value_id i = is_known ? HIA_NONE : tested_index(c);
  for (uint32_t k = 0; k < n; k++) {
    if (!is_known) {
      hia_value_id is_it = binary(c, HIA_OP_EQ, i, number(c, HIA_I64, k), HIA_BOOL);
      c->out[k] = choose(c, is_it, c->ins[2][0], c->ins[0][k], c->dtype);
    } else {
      c->out[k] = k / of_row == (uint32_t)integer(c->o, 1) ? c->ins[2][k % of_row] : c->ins[0][k];
    }
  }
}

static void cut(const computing *c, uint32_t along) {
  axis a = axis_of(&c->o->ins[0], along);
  uint32_t from = (uint32_t)integer(c->o, 1), to = (uint32_t)integer(c->o, 2), at = 0;
  for (uint32_t i = 0; i < a.outer; i++)
    for (uint32_t k = from * a.inner; k < to * a.inner; k++)
      c->out[at++] = c->ins[0][i * a.n * a.inner + k];
}

/* Parts of operands one after the other: those that lie in the same place of the axes before. */
static void join(const computing *c, uint32_t outer_size) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < outer_size; i++)
    for (uint32_t x = 0; x < c->o->n_ins; x++) {
      uint32_t n = hiaG_scalars_count(&c->o->ins[x]) / outer_size;
      for (uint32_t k = 0; k < n; k++) c->out[at++] = c->ins[x][i * n + k];
    }
}

static void transpose(const computing *c) {
  uint32_t rows = (uint32_t)c->o->ins[0].dims[0], cols = (uint32_t)c->o->ins[0].dims[1];
  for (uint32_t i = 0; i < rows; i++)
    for (uint32_t j = 0; j < cols; j++) c->out[j * rows + i] = c->ins[0][i * cols + j];
}

static void iota(const computing *c) {
  uint32_t n = hiaG_scalars_count(&c->o->out);
  for (uint32_t k = 0; k < n; k++) c->out[k] = number(c, HIA_I64, k);
}

static void fill(const computing *c, hia_value_id x) {
  uint32_t n = hiaG_scalars_count(&c->o->out);
  for (uint32_t k = 0; k < n; k++) c->out[k] = x;
}

/* ---- all of them ---- */

static void compute(const computing *c) {
  const operation *o = c->o;
  if (hiaR_ops[o->node->op].shape == HIA_SHAPE_ELEMENTWISE) {
    elementwise(c);
    return;
  }
  switch (o->node->op) {
  case HIA_OP_DIM: c->out[0] = number(c, HIA_I64, (uint32_t)o->ins[0].dims[o->node->imm]); return;
  case HIA_OP_ZEROS: fill(c, number(c, c->dtype, 0)); return;
  case HIA_OP_TRANSPOSE: transpose(c); return;
  case HIA_OP_OUTER: outer(c); return;
  case HIA_OP_SOFTMAX:
  case HIA_OP_LOG_SOFTMAX: softmax(c); return;
  case HIA_OP_ROW: row(c); return;
  case HIA_OP_WITH: with(c); return;
  case HIA_OP_PART: cut(c, 0); return;
  case HIA_OP_CUT: cut(c, (uint32_t)o->node->imm); return;
  case HIA_OP_CAT:
  case HIA_OP_STACK: join(c, span(&o->out, 0, (uint32_t)o->node->imm)); return;
  case HIA_OP_EXPECT:
  case HIA_OP_FIT:
  case HIA_OP_RESHAPE:
    memcpy(c->out, c->ins[0], hiaG_scalars_count(&o->out) * sizeof *c->out);
    return;
  case HIA_OP_FULL: fill(c, c->ins[0][0]); return;
  case HIA_OP_IOTA: iota(c); return;
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_AT:
  case HIA_OP_PRODUCT_BT: multiply(c); return;
  default: reduction(c); return;
  }
}

void hiaG_scalars_compute(const hia_scalars_place *p, hia_node_id n, const hia_value_id *const *ins,
                          hia_value_id *out) {
  operation o;
  if (!know(&o, p->s, p->f, n)) HIA_BUG(p->s->g->comp, "node %u is not split", n);
  const hia_node node = *o.node; /* nodes move when some are added */
  o.node = &node;
  computing c = {.o = &o, .p = p, .ins = ins, .out = out};
  c.dtype = o.n_ins ? dtype_of(&c, hiaG_in(o.fn, n, 0)) : HIA_I64;
  compute(&c);
}
