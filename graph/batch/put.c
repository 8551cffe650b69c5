/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Putting nodes before others, or at the end of a region. */
#include "graph/batch/put.h"
#include "graph/ir/build.h"

bool hiaG_is_repeated(const hia_fn *fn, hia_node_id n) {
  return !fn->is_root || hiaG_is_in_rounds(fn, n);
}

bool hiaG_is_in_rounds(const hia_fn *fn, hia_node_id n) {
  hia_region_id r = fn->nodes.data[n].region;
  for (; r; r = fn->nodes.data[fn->regions.data[r].owner].region) {
    unsigned kind = fn->regions.data[r].kind;
    if (kind != HIA_REGION_THEN && kind != HIA_REGION_ELSE) return true;
  }
  return false;
}

hia_value_id hiaG_put(const hia_putting *p, unsigned op, const hia_value_id *ins, uint32_t n,
                      hia_type type, uint64_t imm) {
  hia_node_id node = p->at == HIA_NONE
                         ? hiaG_add(p->g, p->fn, p->region, op, ins, n, &type, 1, imm, p->loc)
                         : hiaG_insert(p->g, p->fn, p->at, op, ins, n, &type, 1, imm, p->loc);
  return hiaG_out(p->fn, node, 0);
}

hia_value_id hiaG_put_2(const hia_putting *p, unsigned op, hia_value_id a, hia_value_id b,
                        hia_type type) {
  return hiaG_put(p, op, (hia_value_id[]){a, b}, 2, type, 0);
}

static hia_value_id put_const(const hia_putting *p, hia_type type, hia_word word) {
  return hiaG_put(p, HIA_OP_CONST, NULL, 0, type, word);
}

hia_value_id hiaG_put_number(const hia_putting *p, int64_t n) {
  return put_const(p, HIA_I64, hiaR_from_i64(n));
}

hia_value_id hiaG_put_branch(const hia_putting *p, hia_value_id is_first, hia_type type,
                             hia_putting arms[2]) {
  hia_value_id v = hiaG_put(p, HIA_OP_IF, &is_first, 1, type, 0);
  hia_region_id regions = hiaG_def(p->fn, v)->regions;
  for (unsigned i = 0; i < 2; i++)
    arms[i] = (hia_putting){p->g, p->fn, regions + i, HIA_NONE, p->loc};
  return v;
}

hia_value_id hiaG_put_call(const hia_putting *p, hia_fn_id callee, const hia_value_id *ins,
                           uint32_t n, hia_type type) {
  hia_value_id v = hiaG_put(p, HIA_OP_CALL, ins, n, type, callee);
  hiaG_def(p->fn, v)->flags |= HIA_NODE_TAIL;
  return v;
}

void hiaG_put_yield(const hia_putting *p, hia_value_id v) {
  hiaG_yield(p->g, p->fn, p->region, &v, 1);
}

hia_type hiaG_row_type(const hia_putting *p, const hia_row_shape *shape) {
  return hiaG_ranked(p->g->types, shape->dtype, shape->rank);
}

hia_value_id hiaG_put_full(const hia_putting *p, const hia_row_shape *shape, hia_value_id scalar) {
  if (!shape->rank) return scalar;
  hia_value_id ins[1 + HIA_MAX_RANK] = {scalar};
  for (uint32_t k = 0; k < shape->rank; k++) ins[1 + k] = hiaG_put_number(p, shape->dims[k]);
  return hiaG_put(p, HIA_OP_FULL, ins, 1 + shape->rank, hiaG_row_type(p, shape), 0);
}

hia_value_id hiaG_put_zeros(const hia_putting *p, const hia_row_shape *shape) {
  return hiaG_put_full(p, shape, put_const(p, (hia_type)shape->dtype, 0));
}

hia_value_id hiaG_put_expect(const hia_putting *p, const hia_row_shape *shape, hia_value_id x) {
  if (!shape->rank) return x;
  hia_value_id ins[1 + HIA_MAX_RANK] = {x};
  for (uint32_t k = 0; k < shape->rank; k++) ins[1 + k] = hiaG_put_number(p, shape->dims[k]);
  uint64_t axes = ((uint64_t)1 << shape->rank) - 1;
  hia_value_id v = hiaG_put(p, HIA_OP_EXPECT, ins, 1 + shape->rank, hiaG_row_type(p, shape), axes);
  hiaG_def(p->fn, v)->flags |= HIA_NODE_SIZED;
  return v;
}

hia_value_id hiaG_put_at(const hia_putting *p, const hia_row_shape *shape, hia_value_id array,
                         hia_value_id k) {
  hia_value_id ins[2] = {array, k};
  return hiaG_put_expect(p, shape, hiaG_put(p, HIA_OP_AT, ins, 2, hiaG_row_type(p, shape), 0));
}
