/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What flows back from a cross entropy, as one operation over rows.
 *
 * The rule of CROSS_ENTROPY (graph/grad/rules/tensor.c) gives, for a vector of logits,
 *
 *     %p = softmax %x             %at = row %dx, %label       %less = sub %at, %dy
 *     %dx = mul %p, %dy                                       %all = with %dx, %label, %less
 *
 * Over rows, that would be some fourteen operations on a few elements each, half of which only find
 * out where in memory the element at the label is. In a small network they took as long as a
 * product. LABEL_GRADIENT computes the same bits; of p, too, where that is there already and x is
 * not in the segment. */
#include "graph/batch/batcher.h"
#include "graph/ir/walk.h"

static const hia_node *def_of(const hia_fn *fn, hia_value_id v, unsigned op) {
  const hia_node *def = hiaG_def(fn, v);
  return def->op == op ? def : NULL;
}

static hia_value_id in(const hia_fn *fn, const hia_node *node, uint32_t i) {
  return fn->edges.data[node->ins + i];
}

bool hiaG_batch_is_label_gradient(const hia_fn *fn, hia_node_id n, hia_label_gradient *found) {
  const hia_node *with = &fn->nodes.data[n];
  if (with->op != HIA_OP_WITH) return false;
  hia_value_id dx = in(fn, with, 0), label = in(fn, with, 1);
  const hia_node *mul = def_of(fn, dx, HIA_OP_MUL), *sub = def_of(fn, in(fn, with, 2), HIA_OP_SUB),
                 *row = sub ? def_of(fn, in(fn, sub, 0), HIA_OP_ROW) : NULL;
  if (!mul || !row || in(fn, row, 0) != dx || in(fn, row, 1) != label) return false;
  hia_value_id dy = in(fn, sub, 1);
  for (uint32_t i = 0; i < 2; i++) {
    const hia_node *softmax = def_of(fn, in(fn, mul, i), HIA_OP_SOFTMAX);
    if (!softmax || in(fn, mul, 1 - i) != dy) continue;
    *found = (hia_label_gradient){in(fn, softmax, 0), softmax->outs, label, dy};
    return true;
  }
  return false;
}
