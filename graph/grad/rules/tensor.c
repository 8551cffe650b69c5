/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules of ops that only tensors have, but for products. */
#include "graph/grad/rules/rule.h"

/* ---- shapes ---- */

/* v has the shape of a reduction of x along an axis, or of all axes. Returns it in a shape that is
 * broadcast to that of x; a scalar stays as it is. */
static value with_axis(const hia_gradient *d, value v, value x, uint64_t axis) {
  value sizes[HIA_MAX_RANK];
  if (rank_of(d, v) == 0) return v;
  uint32_t rank = rank_of(d, x);
  for (uint32_t i = 0; i < rank; i++) sizes[i] = i == axis ? integer(d, 1) : hiaG_size_of(d, x, i);
  return hiaG_shaped(d, v, sizes, rank);
}

/* Returns v, of the shape of such a reduction, broadcast to the shape of x. */
static value spread(const hia_gradient *d, value v, value x, uint64_t axis) {
  if (rank_of(d, v) == 0) return hiaG_shaped_as(d, v, x);
  return add(d, op1(d, HIA_OP_ZEROS, x), with_axis(d, v, x, axis));
}

/* The indices along an axis of x, in a shape that is broadcast to that of x. */
static value positions(const hia_gradient *d, value x, uint32_t axis) {
  value sizes[HIA_MAX_RANK], n = hiaG_size_of(d, x, axis), all = op1(d, HIA_OP_IOTA, n);
  uint32_t rank = rank_of(d, x) - axis;
  if (rank == 1) return all;
  for (uint32_t i = 0; i < rank; i++) sizes[i] = i ? integer(d, 1) : n;
  return hiaG_shaped(d, all, sizes, rank);
}

static value cat(const hia_gradient *d, const value *ins, uint32_t n, uint64_t axis) {
  return with_imm(d, HIA_OP_CAT, ins, n, axis);
}
static value cut(const hia_gradient *d, value x, value from, value to, uint64_t axis) {
  if (axis == 0) return op3(d, HIA_OP_PART, x, from, to);
  return with_imm(d, HIA_OP_CUT, (value[]){x, from, to}, 3, axis);
}

/* ---- parts ---- */

void hiaG_gradient_ROW(const hia_gradient *d) {
  if (wants_sum(d, 0))
    gives(d, hiaG_sum_part(d, 0, HIA_SUM_ROW, (value[]){b_of(d), dy_of(d)}, 2));
  else
    gives(d, op3(d, HIA_OP_WITH, op1(d, HIA_OP_ZEROS, a_of(d)), b_of(d), dy_of(d)));
}

void hiaG_gradient_PART(const hia_gradient *d) {
  value dy = dy_of(d);
  bool is_wanted = wants_sum(d, 0);
  if (!is_wanted) dy = hiaG_sum_part(d, 0, HIA_SUM_DENSE, &dy, 1);
  value part = hiaG_sum_part(d, 0, HIA_SUM_PART, (value[]){b_of(d), dy}, 2);
  gives(d, is_wanted ? part : op2(d, HIA_OP_COLLECT, part, a_of(d)));
}

void hiaG_gradient_EXPECT(const hia_gradient *d) { gives(d, dy_of(d)); }

/* A sum has indices of one axis. */
void hiaG_gradient_ROWS(const hia_gradient *d) {
  value index = b_of(d), dy = dy_of(d), sizes[HIA_MAX_RANK];
  uint32_t rank = rank_of(d, a_of(d)), of_index = rank_of(d, index);
  if (!wants_sum(d, 0)) {
    gives(d, op3(d, HIA_OP_SCATTER, a_of(d), index, dy));
    return;
  }
  if (of_index > 1) {
    sizes[0] = hiaG_sizes_of(d, index, of_index);
    for (uint32_t i = 1; i < rank; i++) sizes[i] = hiaG_size_of(d, dy, of_index + i - 1);
    index = hiaG_shaped(d, index, sizes, 1);
    dy = hiaG_shaped(d, dy, sizes, rank);
  }
  index = cast(d, index, HIA_I64);
  gives(d, hiaG_sum_part(d, 0, HIA_SUM_ROWS, (value[]){index, dy}, 2));
}

void hiaG_gradient_WITH(const hia_gradient *d) {
  value i = b_of(d), v = d->ins[2];
  d->in_gradients[2] = op2(d, HIA_OP_ROW, dy_of(d), i);
  value zero = rank_of(d, v) ? op1(d, HIA_OP_ZEROS, v) : number(d, 0);
  gives(d, op3(d, HIA_OP_WITH, dy_of(d), i, zero));
}

/* ---- one tensor of several ---- */

void hiaG_gradient_CAT(const hia_gradient *d) {
  value from = integer(d, 0);
  for (uint32_t i = 0; i < d->n_ins; i++) {
    value to = add(d, from, hiaG_size_of(d, d->ins[i], (uint32_t)d->imm));
    d->in_gradients[i] = cut(d, dy_of(d), from, to, d->imm);
    from = to;
  }
}

void hiaG_gradient_STACK(const hia_gradient *d) {
  for (uint32_t i = 0; i < d->n_ins; i++) {
    if (d->imm == 0) {
      d->in_gradients[i] = op2(d, HIA_OP_ROW, dy_of(d), integer(d, i));
      continue;
    }
    value part = cut(d, dy_of(d), integer(d, i), integer(d, (int64_t)i + 1), d->imm);
    d->in_gradients[i] = hiaG_shaped_as(d, part, d->ins[i]);
  }
}

void hiaG_gradient_RESHAPE(const hia_gradient *d) {
  gives(d, hiaG_shaped_as(d, dy_of(d), a_of(d)));
}

void hiaG_gradient_FULL(const hia_gradient *d) {
  value dy = dy_of(d);
  gives(d, with_imm(d, HIA_OP_SUM, &dy, 1, HIA_NONE));
}

void hiaG_gradient_TRANSPOSE(const hia_gradient *d) {
  gives(d, op1(d, HIA_OP_TRANSPOSE, dy_of(d)));
}

/* ---- reductions ---- */

void hiaG_gradient_SUM(const hia_gradient *d) { gives(d, spread(d, dy_of(d), a_of(d), d->imm)); }

void hiaG_gradient_MEAN(const hia_gradient *d) {
  value x = a_of(d);
  value n = d->imm == HIA_NONE ? hiaG_sizes_of(d, x, rank_of(d, x))
                               : hiaG_size_of(d, x, (uint32_t)d->imm);
  value dy = quotient(d, dy_of(d), cast(d, n, dtype_of(d, x)));
  gives(d, spread(d, dy, x, d->imm));
}

/* Returns the sum, or another reduction, of v along the axis of a reduction of x, broadcast to it
 * again. */
static value reduced(const hia_gradient *d, unsigned op, value v, value x) {
  return with_axis(d, with_imm(d, op, &v, 1, d->imm), x, d->imm);
}

/* Returns the product of the zeros among the other elements. If there is one, it is that zero; if
 * there are two, it is their product, written as half of (p^2 - q), where p is the sum of the
 * zeros, and q that of their squares: it is 0, and its derivatives are those of a product. So all
 * derivatives up to the third are right. With more zeros these are 0. */
static value other_zeros(const hia_gradient *d, value x, value is_zero) {
  value zero = number(d, 0), one = number(d, 1);
  value zeros = choose(d, is_zero, x, zero), squares = mul(d, zeros, zeros);
  value marks = cast(d, is_zero, dtype_of(d, x));
  value n = sub(d, reduced(d, HIA_OP_SUM, marks, x), marks);
  value p = sub(d, reduced(d, HIA_OP_SUM, zeros, x), zeros);
  value q = sub(d, reduced(d, HIA_OP_SUM, squares, x), squares);
  value pair = mul(d, sub(d, mul(d, p, p), q), number(d, 0.5));
  value many = choose(d, op2(d, HIA_OP_EQ, n, number(d, 2)), pair, zero);
  value some = choose(d, op2(d, HIA_OP_EQ, n, one), p, many);
  return choose(d, op2(d, HIA_OP_EQ, n, zero), one, some);
}

/* The product of those that are not 0, divided by the element, times the other zeros. */
void hiaG_gradient_PROD(const hia_gradient *d) {
  value x = a_of(d), is_zero = op2(d, HIA_OP_EQ, x, number(d, 0));
  value rest = choose(d, is_zero, number(d, 1), x);
  value others = quotient(d, reduced(d, HIA_OP_PROD, rest, x), rest);
  value dy = with_axis(d, dy_of(d), x, d->imm);
  gives(d, mul(d, dy, mul(d, others, other_zeros(d, x, is_zero))));
}

static void to_one(const hia_gradient *d, unsigned find) {
  value x = a_of(d), dy = dy_of(d), at = with_imm(d, find, &x, 1, d->imm);
  uint32_t rank = rank_of(d, x);
  if (rank == 1 && wants_sum(d, 0)) {
    gives(d, hiaG_sum_part(d, 0, HIA_SUM_ROW, (value[]){at, dy}, 2));
  } else if (rank == 1) {
    gives(d, op3(d, HIA_OP_WITH, op1(d, HIA_OP_ZEROS, x), at, dy));
  } else if (d->imm == HIA_NONE) {
    value n = hiaG_sizes_of(d, x, rank), zeros = hiaG_shaped(d, number(d, 0), &n, 1);
    gives(d, hiaG_shaped_as(d, op3(d, HIA_OP_WITH, zeros, at, dy), x));
  } else {
    value is_it = op2(d, HIA_OP_EQ, with_axis(d, at, x, d->imm), positions(d, x, (uint32_t)d->imm));
    gives(d, choose(d, is_it, with_axis(d, dy, x, d->imm), number(d, 0)));
  }
}
void hiaG_gradient_MAX_OF(const hia_gradient *d) { to_one(d, HIA_OP_ARG_MAX); }
void hiaG_gradient_MIN_OF(const hia_gradient *d) { to_one(d, HIA_OP_ARG_MIN); }

/* ---- softmax ---- */

static value sum_of_rows(const hia_gradient *d, value v) {
  uint32_t last = rank_of(d, v) - 1;
  return with_axis(d, with_imm(d, HIA_OP_SUM, &v, 1, last), v, last);
}

void hiaG_gradient_SOFTMAX(const hia_gradient *d) {
  value y = y_of(d), dy = dy_of(d);
  bool is_vector = rank_of(d, y) == 1;
  value mean = is_vector ? op2(d, HIA_OP_PRODUCT, dy, y) : sum_of_rows(d, mul(d, dy, y));
  gives(d, mul(d, y, sub(d, dy, mean)));
}

void hiaG_gradient_LOG_SOFTMAX(const hia_gradient *d) {
  value p = op1(d, HIA_OP_EXP, y_of(d));
  gives(d, sub(d, dy_of(d), mul(d, p, sum_of_rows(d, dy_of(d)))));
}

/* The derivative is softmax(x), less 1 at the label. */
void hiaG_gradient_CROSS_ENTROPY(const hia_gradient *d) {
  value x = a_of(d), label = cast(d, b_of(d), HIA_I64), dy = dy_of(d);
  value p = op1(d, HIA_OP_SOFTMAX, x);
  uint32_t last = rank_of(d, x) - 1;
  if (last == 0) {
    value dx = mul(d, p, dy), at = sub(d, op2(d, HIA_OP_ROW, dx, label), dy);
    gives(d, op3(d, HIA_OP_WITH, dx, label, at));
    return;
  }
  value is_it = op2(d, HIA_OP_EQ, with_axis(d, label, x, last), positions(d, x, last));
  value change = choose(d, is_it, sub(d, p, number(d, 1)), p);
  gives(d, mul(d, change, with_axis(d, dy, x, last)));
}

/* ---- the ops of gradients themselves ---- */

void hiaG_gradient_COLLECT(const hia_gradient *d) { gives(d, dy_of(d)); }

void hiaG_gradient_FIT(const hia_gradient *d) {
  value v = a_of(d), dy = dy_of(d);
  gives(d, rank_of(d, dy) ? add(d, op1(d, HIA_OP_ZEROS, v), dy) : hiaG_shaped_as(d, dy, v));
}

void hiaG_gradient_SCATTER(const hia_gradient *d) {
  d->in_gradients[2] = op2(d, HIA_OP_ROWS, dy_of(d), b_of(d));
}

/* The gradient of a part lies between zeros. */
void hiaG_gradient_CUT(const hia_gradient *d) {
  value x = a_of(d), sizes[HIA_MAX_RANK], parts[3], zero = number(d, 0);
  uint32_t rank = hiaG_all_sizes(d, x, sizes), axis = (uint32_t)d->imm;
  value rest = sub(d, sizes[axis], d->ins[2]);
  sizes[axis] = b_of(d);
  parts[0] = hiaG_shaped(d, zero, sizes, rank);
  parts[1] = dy_of(d);
  sizes[axis] = rest;
  parts[2] = hiaG_shaped(d, zero, sizes, rank);
  gives(d, cat(d, parts, 3, axis));
}
