/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules of products. None transposes a matrix: PRODUCT_AT and PRODUCT_BT read it as it lies,
 * and a vector times a matrix is the product with its transpose. */
#include "graph/grad/rules/rule.h"

static value product(const hia_gradient *d, value a, value b) {
  return op2(d, HIA_OP_PRODUCT, a, b);
}
static value at_b(const hia_gradient *d, value a, value b) {
  return op2(d, HIA_OP_PRODUCT_AT, a, b);
}
static value a_bt(const hia_gradient *d, value a, value b) {
  return op2(d, HIA_OP_PRODUCT_BT, a, b);
}
/* Fits the gradient of an operand whose leading axes may have been broadcast. */
static value fit(const hia_gradient *d, value dx, value x) { return op2(d, HIA_OP_FIT, dx, x); }

/* Returns all elements as a vector. */
static value flat(const hia_gradient *d, value x) {
  uint32_t rank = rank_of(d, x);
  if (rank == 1) return x;
  value n = hiaG_sizes_of(d, x, rank);
  return hiaG_shaped(d, x, &n, 1);
}

/* Returns x with an axis of size 1 before the last. */
static value as_rows(const hia_gradient *d, value x) {
  value sizes[HIA_MAX_RANK];
  uint32_t rank = rank_of(d, x);
  for (uint32_t i = 0; i < rank; i++) sizes[i + (i == rank - 1)] = hiaG_size_of(d, x, i);
  sizes[rank - 1] = integer(d, 1);
  return hiaG_shaped(d, x, sizes, rank + 1);
}

/* The operands are rows and a vector. */
static void with_vector(const hia_gradient *d, value x, value v, value dy) {
  if (rank_of(d, x) == 2) {
    hiaG_gives_outer(d, 0, dy, v);
    d->in_gradients[1] = product(d, dy, x);
    return;
  }
  value of_rows = flat(d, dy), rows = hiaG_as_matrix(d, x);
  hiaG_gives_outer(d, 0, of_rows, v);
  d->in_gradients[1] = product(d, of_rows, rows);
}

/* The operands are a vector, which counts as a matrix of one row, and matrices. */
static void vector_with(const hia_gradient *d, value v, value x, value dy) {
  if (rank_of(d, x) == 2) {
    d->in_gradients[0] = product(d, x, dy);
    hiaG_gives_outer(d, 1, v, dy);
    return;
  }
  value rows = as_rows(d, dy), sizes[2] = {hiaG_size_of(d, v, 0), integer(d, 1)};
  d->in_gradients[0] = fit(d, a_bt(d, rows, x), v);
  d->in_gradients[1] = mul(d, hiaG_shaped(d, v, sizes, 2), rows);
}

void hiaG_gradient_PRODUCT(const hia_gradient *d) {
  value a = a_of(d), b = b_of(d), dy = dy_of(d);
  uint32_t of_a = rank_of(d, a), of_b = rank_of(d, b);
  if (of_a == 1 && of_b == 1) {
    gives_two(d, mul(d, b, dy), mul(d, a, dy));
  } else if (of_b == 1) {
    with_vector(d, a, b, dy);
  } else if (of_a == 1) {
    vector_with(d, a, b, dy);
  } else if (of_b == 2) {
    d->in_gradients[0] = a_bt(d, dy, b);
    hiaG_gives_products(d, 1, hiaG_as_matrix(d, a), hiaG_as_matrix(d, dy));
  } else {
    gives_two(d, fit(d, a_bt(d, dy, b), a), fit(d, at_b(d, a, dy), b));
  }
}

void hiaG_gradient_PRODUCT_AT(const hia_gradient *d) {
  value a = a_of(d), b = b_of(d), dy = dy_of(d);
  bool may_be_broadcast = rank_of(d, a) > 2 || rank_of(d, b) > 2;
  value da = a_bt(d, b, dy), db = product(d, a, dy);
  if (may_be_broadcast) da = fit(d, da, a), db = fit(d, db, b);
  gives_two(d, da, db);
}

void hiaG_gradient_PRODUCT_BT(const hia_gradient *d) {
  value a = a_of(d), b = b_of(d), dy = dy_of(d);
  if (rank_of(d, b) == 2) {
    d->in_gradients[0] = product(d, dy, b);
    hiaG_gives_products(d, 1, hiaG_as_matrix(d, dy), hiaG_as_matrix(d, a));
    return;
  }
  gives_two(d, fit(d, product(d, dy, b), a), fit(d, at_b(d, dy, a), b));
}

void hiaG_gradient_OUTER(const hia_gradient *d) {
  gives_two(d, product(d, dy_of(d), b_of(d)), product(d, a_of(d), dy_of(d)));
}
