/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Failures of the run, built where the code finds that it cannot go on.
 *
 * A leaf function does not fail: it begins again on its slow path (function/leaf.c). The code of a
 * kernel has no context to fail in: it notes that its row fails (host/map.c). */
#include "lower/kit/emit.h"

/* ---- the elements in force ---- */

void hiaL_list_element(hia_emit *e, hia_open_element *i) {
  LLVMValueRef head = hiaL_field(e, HIA_FIELD_elements);
  if (!i->record) i->record = hiaL_room(e, LLVMArrayType2(e->types[HIA_I64], 2), "element");
  i->outer = LLVMBuildLoad2(e->b, e->ptr, head, "elements");
  LLVMBuildStore(e->b, i->outer, hiaL_word_at(e, i->record, 0));
  LLVMBuildStore(e->b, i->index, hiaL_word_at(e, i->record, 1));
  LLVMBuildStore(e->b, i->record, head);
}

/* Puts into the list what is not there yet: the runtime then finds all elements in force. Those
 * that are in the list are around those that are not. */
static void show_elements(hia_emit *e) {
  for (uint32_t i = 0; i < e->local.elements.len; i++) {
    hia_open_element shown = e->local.elements.data[i];
    if (shown.outer) continue;
    hiaL_list_element(e, &shown);
    e->local.elements.data[i].record = shown.record;
  }
}

/* ---- in place of a failure ---- */

void hiaL_restart(hia_emit *e) {
  if (!e->local.restart) e->local.restart = hiaL_block(e, "restart");
  LLVMBuildBr(e->b, e->local.restart);
  hiaL_at(e, hiaL_block(e, "dead"));
}

/* The failure of a row in a kernel. The function returns any values: the kernel does not use them.
 */
static void fail_row(hia_emit *e) {
  LLVMBuildStore(e->b, LLVMConstInt(e->types[HIA_I64], 1, false), e->context);
  LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(e->function));
  if (type == e->void_type)
    LLVMBuildRetVoid(e->b);
  else
    LLVMBuildRet(e->b, LLVMConstNull(type));
}

/* ---- failures ---- */

void hiaL_fail(hia_emit *e, hia_loc_id loc, hia_status status, LLVMValueRef code) {
  hiaL_fail_with(e, loc, LLVMConstInt(e->types[HIA_I32], (unsigned)status, false), code);
}

void hiaL_fail_range_of(hia_emit *e, hia_loc_id loc, uint32_t code, LLVMValueRef first,
                        LLVMValueRef end, LLVMValueRef n) {
  if (hiaL_is_leaf(e, e->id)) {
    hiaL_restart(e);
    LLVMBuildUnreachable(e->b);
    return;
  }
  show_elements(e);
  LLVMValueRef args[5] = {hiaL_number(e, 32, loc), hiaL_number(e, 32, code), first, end, n};
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_range, args, 5);
  LLVMBuildUnreachable(e->b);
}

void hiaL_fail_range(hia_emit *e, hia_loc_id loc, bool is_slice, LLVMValueRef first,
                     LLVMValueRef end, LLVMValueRef n) {
  hiaL_fail_range_of(e, loc, is_slice, first, end, n);
}

void hiaL_fail_with(hia_emit *e, hia_loc_id loc, LLVMValueRef status, LLVMValueRef code) {
  if (hiaL_is_leaf(e, e->id)) {
    hiaL_restart(e);
    LLVMBuildUnreachable(e->b);
    return;
  }
  if (hiaL_is_for_kernels(e)) {
    fail_row(e);
    return;
  }
  show_elements(e);
  LLVMTypeRef type = e->types[HIA_I32];
  LLVMValueRef args[3] = {LLVMConstInt(type, loc, false), status, code};
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_fail, args, 3);
  LLVMBuildUnreachable(e->b);
}
