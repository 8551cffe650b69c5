/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What a run counts: fuel, calls and rounds. */
#include "lower/ops/ops.h"

/* Fuel is unsigned. The code of the failure is the fuel that was left. */
void hiaL_emit_CHARGE(hia_emit *e, hia_node_id n) {
  LLVMValueRef fuel = hiaL_in(e, n, 0);
  LLVMValueRef cost = LLVMConstInt(e->types[HIA_I64], hiaL_node(e, n)->imm, false);
  if (e->local.fuel_at == HIA_NONE) {
    LLVMBasicBlockRef empty = hiaL_block(e, "out_of_fuel"), next = hiaL_block(e, "charged");
    hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntULT, fuel, cost, "is_short"), empty, next);
    hiaL_at(e, empty);
    hiaL_fail(e, hiaL_node(e, n)->loc, HIA_FUEL, fuel);
    hiaL_at(e, next);
  }
  hiaL_out(e, n, 0, LLVMBuildSub(e->b, fuel, cost, "fuel"));
}

void hiaL_emit_LEND(hia_emit *e, hia_node_id n) {
  LLVMValueRef at = LLVMBuildLoad2(e->b, e->ptr, hiaL_field(e, HIA_FIELD_fuel), "lent");
  LLVMBuildStore(e->b, hiaL_in(e, n, 0), at);
}

void hiaL_emit_REGAIN(hia_emit *e, hia_node_id n) {
  LLVMValueRef at = LLVMBuildLoad2(e->b, e->ptr, hiaL_field(e, HIA_FIELD_fuel), "lent");
  hiaL_out(e, n, 0, LLVMBuildLoad2(e->b, e->types[HIA_I64], at, "fuel"));
}

void hiaL_emit_COUNT(hia_emit *e, hia_node_id n) {
  LLVMTypeRef type = e->types[HIA_I64];
  LLVMValueRef field =
      hiaL_field(e, hiaL_node(e, n)->imm == 0 ? HIA_FIELD_calls : HIA_FIELD_rounds);
  LLVMValueRef count = LLVMBuildLoad2(e->b, type, field, "count");
  LLVMBuildStore(e->b, LLVMBuildAdd(e->b, count, LLVMConstInt(type, 1, false), ""), field);
}
