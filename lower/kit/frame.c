/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Room in the frame of a function, and the words through which it passes operands to the runtime.
 */
#include "lower/kit/emit.h"

LLVMValueRef hiaL_room(hia_emit *e, LLVMTypeRef type, const char *name) {
  LLVMBasicBlockRef here = hiaL_here(e);
  hiaL_at_start(e, LLVMGetEntryBasicBlock(e->function));
  LLVMValueRef room = LLVMBuildAlloca(e->b, type, name);
  hiaL_at(e, here);
  return room;
}

static bool calls_each(const hia_graph *g, const hia_node *n) {
  return n->op == HIA_OP_CALL_I && hiaG_fn(g, g->sites.data[HIA_IMM_A(n->imm)].callee)->is_freezing;
}

bool hiaL_has_blocks(const hia_graph *g, const hia_fn *fn) {
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_CONCAT || fn->nodes.data[n].op == HIA_OP_DEFER ||
        fn->nodes.data[n].op == HIA_OP_DATA_LATE || fn->nodes.data[n].op == HIA_OP_PACK_LATE ||
        hiaG_is_operation(fn, n) || calls_each(g, &fn->nodes.data[n]))
      return true;
  return false;
}

/* Room for the words of the operands, or of the results, of any operation of the function. */
LLVMValueRef hiaL_operand_block(hia_emit *e) {
  if (e->local.operands) return e->local.operands;
  uint32_t most = 1;
  for (hia_node_id n = 0; n < e->fn->nodes.len; n++) {
    const hia_node *node = hiaL_node(e, n);
    bool is_late = node->op == HIA_OP_DATA_LATE || node->op == HIA_OP_PACK_LATE;
    if (!hiaG_is_operation(e->fn, n) && node->op != HIA_OP_DEFER && !is_late) continue;
    if (node->n_ins + is_late > most) most = node->n_ins + is_late; /* the object comes first */
    if (node->n_outs > most) most = node->n_outs;
  }
  e->local.operands = hiaL_room(e, LLVMArrayType2(e->types[HIA_I64], most), "operands");
  return e->local.operands;
}

void hiaL_call_with_operands(hia_emit *e, hia_node_id n, enum hia_abi stub, LLVMValueRef what) {
  const hia_node *node = hiaL_node(e, n);
  LLVMValueRef block = hiaL_operand_block(e);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hiaL_store_word(e, hiaL_word_at(e, block, i), hiaL_in(e, n, i),
                    hiaG_type(e->fn, hiaG_in(e->fn, n, i)));
    hiaL_stored(e, i);
  }
  LLVMValueRef args[] = {what, block, hiaL_number(e, 32, node->loc)};
  hiaL_set_debug_loc(e, node->loc, false);
  hiaL_call_abi(e, stub, args, HIA_LEN(args));
  hiaL_no_debug_loc(e);
  for (uint32_t i = 0; i < node->n_outs; i++)
    hiaL_out(e, n, i,
             hiaL_load_word(e, hiaL_word_at(e, block, i), hiaG_type(e->fn, hiaG_out(e->fn, n, i))));
}
