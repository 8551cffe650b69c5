/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The emitter of each op. This is the only file that knows them all; what builds a node, whatever
 * its op, calls hiaL_emit_node. No emitter does. */
#include "lower/ops/ops.h"

static hia_emitter *const emitters[HIA_OP_LIMIT] = {
#define HIA_EMIT_OWN(number, NAME)       [number] = hiaL_emit_##NAME,
#define HIA_EMIT_OPERATION(number, NAME) [number] = hiaL_emit_operation,
#define HIA_EMIT_NONE(number, NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  HIA_EMIT_##EMIT(number, NAME)
#include "runtime/base/ops.def"
#undef HIA_EMIT_OWN
#undef HIA_EMIT_OPERATION
#undef HIA_EMIT_NONE
};

/* NULL: the node cannot be lowered. */
static hia_emitter *emitter_of(const hia_emit *e, hia_node_id n) {
  unsigned op = e->fn->nodes.data[n].op;
  bool is_lifted = hiaR_ops[op].shape == HIA_SHAPE_ELEMENTWISE && hiaG_is_operation(e->fn, n);
  return is_lifted ? hiaL_emit_operation : emitters[op];
}

void hiaL_emit_node(hia_emit *e, hia_node_id n) {
  hia_emitter *emitter = emitter_of(e, n);
  if (!emitter) HIA_BUG(e->comp, "%s: node %u cannot be lowered", e->fn->name, n);
  emitter(e, n);
}
