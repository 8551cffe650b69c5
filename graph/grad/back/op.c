/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through an op that computes: its rule (graph/grad/rules) builds the gradients of its
 * operands. */
#include "graph/grad/back/back.h"
#include "graph/grad/rules/rules.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"

/* Removes nodes that the rule has made, from `from` on with values from `first` on, and nothing
 * needs: what it found for operands that do not vary. */
static void prune(hia_reverse *r, hia_node_id from, hia_value_id first, const hia_value_id *needed,
                  uint32_t n) {
  bool *is_needed = HIA_NEW_ARRAY(r->d->arena, bool, r->back->values.len - first + 1);
  for (uint32_t i = 0; i < n; i++)
    if (needed[i] != HIA_NONE && needed[i] >= first) is_needed[needed[i] - first] = true;
  for (hia_node_id m = r->back->nodes.len; m-- > from;) {
    const hia_node *node = &r->back->nodes.data[m];
    if (node->flags & HIA_NODE_DEAD) continue;
    bool stays = node->n_outs == 0;
    for (uint32_t i = 0; i < node->n_outs; i++) stays |= is_needed[node->outs + i - first];
    if (!stays) {
      if (node->regions == HIA_NONE) hiaG_remove(r->back, m);
      continue;
    }
    for (uint32_t i = 0; i < node->n_ins; i++)
      if (hiaG_in(r->back, m, i) >= first) is_needed[hiaG_in(r->back, m, i) - first] = true;
  }
}

/* Returns the gradient of the result of an op in the form that its rule takes: a sum, if indexing
 * hands it on to a sum; else a tensor. */
static hia_value_id as_rule_takes(hia_reverse *r, const hia_node *node, hia_value_id dy,
                                  hia_value_id out, bool wants_sum) {
  bool hands_on = wants_sum && hiaG_indexes(node->op), is_sum = r->b->is_sum[node->outs];
  if (is_sum && !hands_on) return op_of(r, HIA_OP_COLLECT, dy, out);
  bool is_tensor = hiaG_is_tensor(r->g, r->back, dy);
  if (is_sum || !hands_on || !is_tensor) return dy;
  hia_type type = hiaG_type(r->back, dy);
  type = hiaG_sum_type(r->g->types, hiaG_dtype(r->g->types, type), hiaG_rank(r->g->types, type));
  return value_of(r, HIA_OP_DATA, &dy, 1, type, HIA_SUM_DENSE);
}

void hiaG_back_op(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = node.n_outs ? hiaG_back_take(r, node.outs) : HIA_NONE;
  if (dy == HIA_NONE) return;
  hia_arena *arena = r->d->arena;
  hia_value_id *ins = HIA_NEW_ARRAY(arena, hia_value_id, node.n_ins + 1);
  hia_value_id *gradients = HIA_NEW_ARRAY(arena, hia_value_id, node.n_ins + 1);
  bool *wants_sum = HIA_NEW_ARRAY(arena, bool, node.n_ins + 1);
  hia_value_id out = hiaG_back_read(r, node.outs);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    ins[i] = hiaG_back_read(r, v);
    wants_sum[i] = r->b->varies[v] && hiaG_back_is_sum(r, hiaG_back_id(r, v));
    gradients[i] = HIA_NONE;
  }
  hia_node_id from = r->back->nodes.len;
  hia_value_id first = r->back->values.len;
  dy = as_rule_takes(r, &node, dy, out, node.n_ins && wants_sum[0]);
  hia_gradient d = {.g = r->g,
                    .fn = r->back,
                    .region = r->region,
                    .loc = node.loc,
                    .imm = node.imm,
                    .ins = ins,
                    .n_ins = node.n_ins,
                    .outs = &out,
                    .out_gradients = &dy,
                    .wants_sum = wants_sum,
                    .in_gradients = gradients};
  if (!hiaG_gradient(&d, node.op)) hiaG_grad_lacks(r->d, r->fn, node.loc, hiaR_ops[node.op].name);
  for (uint32_t i = 0; i < node.n_ins; i++)
    if (!r->b->varies[hiaG_in(r->fn, n, i)]) gradients[i] = HIA_NONE;
  prune(r, from, first, gradients, node.n_ins);
  for (uint32_t i = 0; i < node.n_ins; i++)
    if (gradients[i] != HIA_NONE)
      hiaG_back_add(r, hiaG_back_id(r, hiaG_in(r->fn, n, i)), gradients[i]);
}
