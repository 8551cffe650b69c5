/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Chooses the values of which the gradient is a Sum: those that rows or parts are taken from, and
 * what indexing takes from a param. Elsewhere gradients are tensors, which elementwise ops can add
 * up. */
#include "graph/grad/back/back.h"
#include "graph/grad/rules/rules.h"
#include "graph/ir/walk.h"

/* True if an op that computes has made the value: then its gradient may have any form. */
static bool is_computed(const hia_fn *fn, hia_value_id v) {
  const hia_op_info *op = &hiaR_ops[hiaG_def(fn, v)->op];
  return op->gradient == HIA_GRADIENT_OWN && op->shape != HIA_SHAPE_NONE;
}

static bool is_small(const hia_reverse *r, hia_value_id v) {
  enum { SMALL = 64 };
  hia_type type = hiaG_type(r->fn, v);
  return hiaG_type_kind(r->g->types, type) == HIA_KIND_TENSOR &&
         hiaG_sizes_elements(&r->b->sizes, &r->b->of_fn[v], hiaG_rank(r->g->types, type)) <= SMALL;
}

/* Returns flags by value. True: it is used in rounds of a loop that it is not computed in, so that
 * a sum would grow from round to round: as a whole, by a tensor; or by index, and the tensor is so
 * small that adding to all of it takes no more than the part of a sum. */
static bool *find_used_in_rounds(const hia_reverse *r) {
  const hia_fn *fn = r->fn;
  bool *is_used = HIA_NEW_ARRAY(r->d->arena, bool, fn->values.len + 1);
  uint32_t *n_loops = HIA_NEW_ARRAY(r->d->arena, uint32_t, fn->regions.len + 1);
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    for (uint32_t k = 0; k < hiaG_n_regions(node->op); k++)
      n_loops[node->regions + k] = n_loops[node->region] + (node->op == HIA_OP_LOOP);
    for (uint32_t i = 0; i < node->n_ins; i++) {
      hia_value_id v = hiaG_in(fn, n, i);
      bool is_indexed = hiaG_indexes(node->op) && i == 0;
      if (n_loops[node->region] > n_loops[hiaG_def(fn, v)->region])
        is_used[v] |= !is_indexed || is_small(r, v);
    }
  }
  return is_used;
}

void hiaG_back_choose_sums(hia_reverse *r) {
  const bool *is_used_in_rounds = find_used_in_rounds(r);
  bool *of_param = HIA_NEW_ARRAY(r->d->arena, bool, r->fn->values.len + 1);
  r->b->is_sum = HIA_NEW_ARRAY(r->d->arena, bool, r->fn->values.len + 1);
  HIA_EACH_NODE(r->fn, n) {
    const hia_node *node = &r->fn->nodes.data[n];
    if (node->op == HIA_OP_PARAM)
      of_param[node->outs] =
          r->b->varies[node->outs] && hiaG_back_is_sum(r, hiaG_back_id(r, node->outs));
    if (!hiaG_indexes(node->op) || !r->b->varies[node->outs]) continue;
    hia_value_id base = hiaG_in(r->fn, n, 0);
    if (!hiaG_is_scalar(hiaG_type(r->fn, node->outs))) of_param[node->outs] = of_param[base];
    if (node->op != HIA_OP_EXPECT && is_computed(r->fn, base) && !is_used_in_rounds[base])
      r->b->is_sum[base] = true;
  }
  for (uint32_t i = 0; i < r->fn->values.len; i++) r->b->is_sum[i] |= of_param[i];
}
