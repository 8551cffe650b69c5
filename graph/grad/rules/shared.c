/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the rules share: sizes and shapes, and the contributions to gradients that are sums. */
#include "graph/grad/rules/rule.h"

/* ---- shapes ---- */

value hiaG_size_of(const hia_gradient *d, value x, uint32_t axis) {
  return with_imm(d, HIA_OP_DIM, &x, 1, axis);
}

value hiaG_sizes_of(const hia_gradient *d, value x, uint32_t n) {
  value all = n ? hiaG_size_of(d, x, 0) : integer(d, 1);
  for (uint32_t i = 1; i < n; i++) all = mul(d, all, hiaG_size_of(d, x, i));
  return all;
}

value hiaG_shaped(const hia_gradient *d, value v, const value *sizes, uint32_t rank) {
  value ins[1 + HIA_MAX_RANK] = {v};
  memcpy(ins + 1, sizes, rank * sizeof *sizes);
  return with_imm(d, rank_of(d, v) ? HIA_OP_RESHAPE : HIA_OP_FULL, ins, 1 + rank, 0);
}

uint32_t hiaG_all_sizes(const hia_gradient *d, value x, value sizes[HIA_MAX_RANK]) {
  uint32_t rank = rank_of(d, x);
  for (uint32_t i = 0; i < rank; i++) sizes[i] = hiaG_size_of(d, x, i);
  return rank;
}

value hiaG_shaped_as(const hia_gradient *d, value v, value x) {
  value sizes[HIA_MAX_RANK];
  uint32_t rank = hiaG_all_sizes(d, x, sizes);
  return hiaG_shaped(d, v, sizes, rank);
}

value hiaG_as_matrix(const hia_gradient *d, value x) {
  uint32_t rank = rank_of(d, x);
  if (rank == 2) return x;
  value sizes[2] = {hiaG_sizes_of(d, x, rank - 1), hiaG_size_of(d, x, rank - 1)};
  return hiaG_shaped(d, x, sizes, 2);
}

/* ---- contributions ---- */

value hiaG_sum_part(const hia_gradient *d, uint32_t i, hia_sum_ctor ctor, const value *fields,
                    uint32_t n) {
  hia_type type = hiaG_sum_type(d->g->types, dtype_of(d, d->ins[i]), rank_of(d, d->ins[i]));
  hia_node_id node =
      hiaG_add(d->g, d->fn, d->region, HIA_OP_DATA, fields, n, &type, 1, (uint64_t)ctor, d->loc);
  return hiaG_out(d->fn, node, 0);
}

void hiaG_gives_outer(const hia_gradient *d, uint32_t i, value a, value b) {
  if (wants_sum(d, i)) {
    d->in_gradients[i] = hiaG_sum_part(d, i, HIA_SUM_OUTER, (value[]){a, b}, 2);
    return;
  }
  value outer = op2(d, HIA_OP_OUTER, a, b), x = d->ins[i];
  d->in_gradients[i] = rank_of(d, x) == 2 ? outer : hiaG_shaped_as(d, outer, x);
}

void hiaG_gives_products(const hia_gradient *d, uint32_t i, value a, value b) {
  d->in_gradients[i] = wants_sum(d, i) ? hiaG_sum_part(d, i, HIA_SUM_PRODUCTS, (value[]){a, b}, 2)
                                       : op2(d, HIA_OP_PRODUCT_AT, a, b);
}
