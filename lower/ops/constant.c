/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values that are there before anything is computed: constants, literals and params; and those that
 * nothing has set. */
#include "lower/ops/ops.h"

void hiaL_emit_CONST(hia_emit *e, hia_node_id n) {
  hia_word word = hiaL_node(e, n)->imm;
  hia_type t = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  LLVMTypeRef type = hiaL_type(e, t);
  LLVMValueRef value;
  switch (t) {
  case HIA_F32: /* by its bits: a conversion through double would change a NaN */
    value = LLVMConstBitCast(LLVMConstInt(e->types[HIA_I32], (uint32_t)word, false), type);
    break;
  case HIA_F64: value = LLVMConstBitCast(LLVMConstInt(e->types[HIA_I64], word, false), type); break;
  case HIA_BOOL: value = LLVMConstInt(type, word != 0, false); break;
  case HIA_I32: value = LLVMConstInt(type, (uint32_t)word, false); break;
  case HIA_I64: value = LLVMConstInt(type, word, false); break;
  default: value = LLVMConstIntToPtr(LLVMConstInt(e->types[HIA_I64], word, false), type);
  }
  hiaL_out(e, n, 0, value);
}

/* Any word, but the same word at every use, so that a branch on it is defined: programs whose dead
 * code was not removed may have one. Costs no instruction. */
void hiaL_emit_UNDEF(hia_emit *e, hia_node_id n) {
  hia_type t = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  if (t == HIA_I64 && e->graph.tests_addresses) { /* it may be one: 0 is the address of nothing */
    hiaL_out(e, n, 0, hiaL_number(e, 64, 0));
    return;
  }
  if (!hiaG_is_scalar(t)) { /* an unset reference: whatever counts it ignores it */
    hiaL_out(e, n, 0, hiaL_unset(e, t));
    return;
  }
  hiaL_out(e, n, 0, LLVMBuildFreeze(e->b, LLVMGetPoison(hiaL_type(e, t)), "undef"));
}

/* A constant of the module, which several nodes may share. */
static LLVMValueRef literal(hia_emit *e, uint32_t number) {
  const hia_tensor_literal *l = &e->g->literals.data[number];
  const char *name = hiaR_arena_printf(&e->comp->scratch, "literal_%u", number);
  LLVMValueRef found = LLVMGetNamedGlobal(e->module, name);
  if (found) return found;
  LLVMValueRef elements = LLVMConstStringInContext2(e->llvm, l->elements, l->size, true);
  return hiaL_constant_tensor(e, name, l->dtype, &l->shape, elements);
}

/* Literals are not counted: no release. */
void hiaL_emit_LITERAL(hia_emit *e, hia_node_id n) {
  hiaL_out(e, n, 0, literal(e, (uint32_t)hiaL_node(e, n)->imm));
}

/* Params are not counted: no release. */
void hiaL_emit_PARAM(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  LLVMValueRef words = LLVMBuildLoad2(e->b, e->ptr, hiaL_field(e, HIA_FIELD_params), "params");
  LLVMValueRef address = hiaL_word_at(e, words, (uint32_t)node->imm);
  hiaL_out(e, n, 0, hiaL_load_word(e, address, hiaG_type(e->fn, hiaG_out(e->fn, n, 0))));
}
