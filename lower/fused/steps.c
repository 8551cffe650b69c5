/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The code of a fused kernel for operands that do not fit (lower/fused/fused.h): operation by
 * operation. It is seldom needed, and as instructions it would be half of the kernel's code. So it
 * is a constant, which the runtime carries out (hiaR_native_steps). */
#include "lower/fused/fused.h"
#include "runtime/native/module.h"
#include <stddef.h>

/* What there is before the first step. */
static bool is_given(const hia_emit *e, hia_node_id n) {
  switch (hiaL_node(e, n)->op) {
  case HIA_OP_MERGE_ENTRY:
  case HIA_OP_CONST:
  case HIA_OP_PARAM:
  case HIA_OP_LITERAL: return true;
  default: return false;
  }
}

static bool is_count(const hia_emit *e, hia_node_id n) {
  unsigned op = hiaL_node(e, n)->op;
  return op == HIA_OP_DUP || op == HIA_OP_DROP;
}

static bool is_step(const hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  return hiaG_is_operation(e->fn, n) && node->n_outs == 1 && node->n_ins <= HIA_STEP_INS;
}

bool hiaL_has_steps(const hia_emit *e) {
  hia_node_id yield = e->fn->nodes.len - 1;
  for (hia_node_id n = 0; n < yield; n++)
    if (!is_given(e, n) && !is_count(e, n) && !is_step(e, n)) return false;
  return true;
}

/* The hia_native_step of a node. The word of a value has its number. */
static LLVMValueRef step_of(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  bool operates = !is_count(e, n);
  uint32_t base = HIA_NONE;
  if (node->op == HIA_OP_DROP) base = hiaL_base(e, hiaG_type(e->fn, hiaG_in(e->fn, n, 0)));
  LLVMValueRef ins[HIA_STEP_INS];
  for (uint32_t i = 0; i < HIA_STEP_INS; i++)
    ins[i] = hiaL_number(e, 16, i < node->n_ins ? hiaR_u16(hiaG_in(e->fn, n, i)) : 0);
  LLVMTypeRef i16 = LLVMInt16TypeInContext(e->llvm);
  LLVMValueRef fields[] = {operates ? hiaL_operation(e, n) : LLVMConstNull(e->ptr),
                           hiaL_number(e, 32, node->loc),
                           hiaL_number(e, 32, base),
                           hiaL_number(e, 16, operates ? hiaR_u16(hiaG_out(e->fn, n, 0)) : 0),
                           hiaL_number(e, 16, node->n_ins),
                           LLVMConstArray2(i16, ins, HIA_STEP_INS),
                           LLVMConstNull(LLVMArrayType2(i16, 2))};
  return hiaL_structure(e, fields, HIA_LEN(fields));
}

/* The hia_native_steps of the function. */
static LLVMValueRef list_of_steps(hia_emit *e) {
  LLVMValueRef *list = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, e->fn->nodes.len);
  uint32_t n_steps = 0;
  for (hia_node_id n = 0; n + 1 < e->fn->nodes.len; n++) {
    if (is_given(e, n) || (is_count(e, n) && !e->graph.is_counted)) continue;
    list[n_steps++] = step_of(e, n);
  }
  LLVMValueRef fields[] = {hiaL_number(e, 64, n_steps),
                           LLVMConstArray2(LLVMTypeOf(list[0]), list, n_steps)};
  return hiaL_variable(e, "steps", hiaL_structure(e, fields, HIA_LEN(fields)));
}

void hiaL_emit_steps(hia_emit *e) {
  const hia_fn *fn = e->fn;
  hia_node_id yield = fn->nodes.len - 1;
  LLVMValueRef block = hiaL_room(e, LLVMArrayType2(e->types[HIA_I64], fn->values.len), "words");
  for (hia_node_id n = 0; n < yield; n++) {
    if (!is_given(e, n)) continue;
    hiaL_emit_node(e, n);
    hia_value_id v = hiaG_out(fn, n, 0);
    hiaL_store_word(e, hiaL_word_at(e, block, v), e->values[v], hiaG_type(fn, v));
  }
  LLVMValueRef args[] = {list_of_steps(e), block};
  hiaL_set_debug_loc(e, hiaL_node(e, yield)->loc, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_steps, args, HIA_LEN(args));
  hiaL_no_debug_loc(e);
  for (uint32_t i = 0; i < hiaL_node(e, yield)->n_ins; i++) {
    hia_value_id v = hiaG_in(fn, yield, i);
    e->values[v] = hiaL_load_word(e, hiaL_word_at(e, block, v), hiaG_type(fn, v));
  }
  hiaL_emit_node(e, yield);
}
