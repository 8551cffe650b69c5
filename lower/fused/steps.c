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

/* A hia_native_step. The word of a value has its number. */
static LLVMValueRef new_step(hia_emit *e, LLVMValueRef operation, hia_loc_id loc, uint32_t base,
                             uint32_t out, const hia_value_id *values, uint32_t n) {
  LLVMTypeRef i16 = LLVMInt16TypeInContext(e->llvm);
  LLVMValueRef ins[HIA_STEP_INS];
  for (uint32_t i = 0; i < HIA_STEP_INS; i++)
    ins[i] = hiaL_number(e, 16, i < n ? hiaR_u16(values[i]) : 0);
  LLVMValueRef fields[] = {operation,
                           hiaL_number(e, 32, loc),
                           hiaL_number(e, 32, base),
                           hiaL_number(e, 16, hiaR_u16(out)),
                           hiaL_number(e, 16, n),
                           LLVMConstArray2(i16, ins, HIA_STEP_INS),
                           LLVMConstNull(LLVMArrayType2(i16, 2))};
  return hiaL_structure(e, fields, HIA_LEN(fields));
}

static LLVMValueRef drop_of(hia_emit *e, hia_value_id v) {
  uint32_t base = hiaL_base(e, hiaG_type(e->fn, v));
  return new_step(e, LLVMConstNull(e->ptr), HIA_NONE, base, 0, &v, 1);
}

static LLVMValueRef step_of(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  const hia_value_id *ins = &e->fn->edges.data[node->ins];
  if (node->op == HIA_OP_DROP) return drop_of(e, ins[0]);
  if (node->op == HIA_OP_DUP)
    return new_step(e, LLVMConstNull(e->ptr), node->loc, HIA_NONE, 0, ins, 1);
  return new_step(e, hiaL_operation(e, n), node->loc, HIA_NONE, hiaG_out(e->fn, n, 0), ins,
                  node->n_ins);
}

static LLVMValueRef steps_of(hia_emit *e, LLVMValueRef *list, uint32_t n) {
  LLVMValueRef fields[] = {hiaL_number(e, 64, n), LLVMConstArray2(LLVMTypeOf(list[0]), list, n)};
  return hiaL_variable(e, "steps", hiaL_structure(e, fields, HIA_LEN(fields)));
}

/* The hia_native_steps of the function. */
static LLVMValueRef list_of_steps(hia_emit *e) {
  LLVMValueRef *list = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, e->fn->nodes.len);
  uint32_t n_steps = 0;
  for (hia_node_id n = 0; n + 1 < e->fn->nodes.len; n++) {
    if (is_given(e, n) || (is_count(e, n) && !e->graph.is_counted)) continue;
    list[n_steps++] = step_of(e, n);
  }
  return steps_of(e, list, n_steps);
}

static void carry_out(hia_emit *e, LLVMValueRef steps, LLVMValueRef block) {
  LLVMValueRef args[] = {steps, block};
  hiaL_set_debug_loc(e, hiaL_node(e, e->fn->nodes.len - 1)->loc, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_steps, args, HIA_LEN(args));
  hiaL_no_debug_loc(e);
}

static LLVMValueRef new_block(hia_emit *e) {
  return hiaL_room(e, LLVMArrayType2(e->types[HIA_I64], e->fn->values.len), "words");
}

static void store(hia_emit *e, LLVMValueRef block, hia_value_id v) {
  hiaL_store_word(e, hiaL_word_at(e, block, v), e->values[v], hiaG_type(e->fn, v));
}

/* ---- what the function owns ---- */

static bool is_owned(const hia_emit *e, hia_node_id n) {
  const hia_fn *fn = e->fn;
  const hia_node *node = hiaL_node(e, n);
  return node->op == HIA_OP_MERGE_ENTRY && fn->owns && fn->owns[HIA_IMM_A(node->imm)] &&
         !hiaG_is_scalar(hiaG_type(fn, hiaG_out(fn, n, 0)));
}

LLVMValueRef hiaL_store_owned(hia_emit *e) {
  LLVMValueRef block = new_block(e);
  for (hia_node_id n = 0; n < e->fn->nodes.len; n++)
    if (is_owned(e, n)) store(e, block, hiaG_out(e->fn, n, 0));
  return block;
}

void hiaL_give_up_owned(hia_emit *e, LLVMValueRef block) {
  LLVMValueRef *list = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, e->fn->nodes.len);
  uint32_t n_steps = 0;
  for (hia_node_id n = 0; n < e->fn->nodes.len; n++)
    if (is_owned(e, n)) list[n_steps++] = drop_of(e, hiaG_out(e->fn, n, 0));
  if (n_steps) carry_out(e, steps_of(e, list, n_steps), block);
}

/* ---- the code ---- */

void hiaL_emit_steps(hia_emit *e, LLVMValueRef block) {
  const hia_fn *fn = e->fn;
  hia_node_id yield = fn->nodes.len - 1;
  bool has_owned = block != NULL;
  if (!has_owned) block = new_block(e);
  for (hia_node_id n = 0; n < yield; n++) {
    if (!is_given(e, n) || (has_owned && is_owned(e, n))) continue;
    hiaL_emit_node(e, n);
    store(e, block, hiaG_out(fn, n, 0));
  }
  carry_out(e, list_of_steps(e), block);
  for (uint32_t i = 0; i < hiaL_node(e, yield)->n_ins; i++) {
    hia_value_id v = hiaG_in(fn, yield, i);
    e->values[v] = hiaL_load_word(e, hiaL_word_at(e, block, v), hiaG_type(fn, v));
  }
  hiaL_emit_node(e, yield);
}
