/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is asked of nodes, functions and graphs. */
#include "graph/ir/graph.h"
#include "graph/ir/op_type.h"

hia_fn_id hiaG_called(const hia_graph *g, const hia_node *node) {
  switch (node->op) {
  case HIA_OP_CALL:
  case HIA_OP_FORK:
  case HIA_OP_JOIN:
  case HIA_OP_DEFER: return hiaG_callee(node);
  case HIA_OP_GRAD: return hiaG_gradient_of(g, node)->fn;
  default: return HIA_NONE;
  }
}

bool hiaG_is_const(const hia_fn *fn, hia_value_id v, hia_word *word) {
  const hia_node *node = hiaG_def(fn, v);
  if (node->op != HIA_OP_CONST) return false;
  if (word) *word = node->imm;
  return true;
}

hia_dtype hiaG_node_dtype(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  uint32_t decides = hiaR_rule_decides((hia_rule)hiaR_ops[node->op].rule);
  if (decides == HIA_NONE || node->n_ins == 0)
    return hiaG_dtype(g->types, hiaG_type(fn, hiaG_out(fn, n, 0)));
  hia_type type = hiaG_type(fn, hiaG_in(fn, n, decides));
  return hiaG_dtype(g->types, hiaG_ranked_operand(g->types, node->op, decides, type));
}

static bool has_scalars(const hia_fn *fn, const hia_node *node) {
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (!hiaG_is_scalar(hiaG_type(fn, fn->edges.data[node->ins + i]))) return false;
  return true;
}

bool hiaG_is_scalar_op(const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  return hiaR_ops[node->op].shape == HIA_SHAPE_ELEMENTWISE && has_scalars(fn, node);
}

bool hiaG_is_operation(const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  hia_shape_rule rule = (hia_shape_rule)hiaR_ops[node->op].shape;
  return rule != HIA_SHAPE_NONE && (rule != HIA_SHAPE_ELEMENTWISE || !has_scalars(fn, node));
}

bool hiaG_consumes(const hia_fn *fn, hia_node_id n) {
  const hia_op_info *op = &hiaR_ops[fn->nodes.data[n].op];
  return op->traits & HIA_T_CONSUMES ||
         (op->shape == HIA_SHAPE_ELEMENTWISE && hiaG_is_operation(fn, n));
}

bool hiaG_has_op(const hia_graph *g, unsigned first, unsigned last) {
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; n < fn->nodes.len; n++) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op >= first && node->op <= last && !(node->flags & HIA_NODE_DEAD)) return true;
    }
  }
  return false;
}

bool hiaG_has_gradients(const hia_graph *g) { return hiaG_has_op(g, HIA_OP_GRAD, HIA_OP_GRAD); }

bool hiaG_has_destinations(const hia_graph *g) { return hiaG_has_op(g, HIA_OP_DEST, HIA_OP_TAKE); }

bool hiaG_has_references(const hia_graph *g) {
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_value_id v = 0; v < fn->values.len; v++)
      if (!hiaG_is_scalar(fn->values.data[v].type)) return true;
  }
  return false;
}

bool hiaG_exchanges_references(const hia_fn *fn) {
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (!hiaG_is_scalar(fn->params[i])) return true;
  for (uint32_t i = 0; i < fn->n_results; i++)
    if (!hiaG_is_scalar(fn->results[i])) return true;
  return false;
}
