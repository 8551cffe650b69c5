/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are pending: where the code waits for their elements. */
#include "lower/ops/ops.h"
#include "runtime/heap/tensor.h"

/* `awaited`: the tensor that is needed; null: all that is pending. */
static void settle(hia_emit *e, LLVMValueRef awaited, hia_loc_id loc) {
  hiaL_set_debug_loc(e, loc, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_settle, &awaited, 1);
  hiaL_no_debug_loc(e);
}

static void settle_if(hia_emit *e, LLVMValueRef is_pending, LLVMValueRef awaited, hia_loc_id loc) {
  LLVMBasicBlockRef wait = hiaL_block(e, "wait"), next = hiaL_block(e, "there");
  hiaL_unlikely(e, is_pending, wait, next);
  hiaL_at(e, wait);
  settle(e, awaited, loc);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
}

/* The header of a tensor says whether it is pending. An object may hold tensors that are. */
void hiaL_wait_for(hia_emit *e, LLVMValueRef x, hia_type type, hia_loc_id loc) {
  if (hiaG_type_kind(e->g->types, type) != HIA_KIND_TENSOR) {
    settle(e, LLVMConstNull(e->ptr), loc);
    return;
  }
  LLVMValueRef kind = hiaL_header_ctor(e, x), pending = hiaL_number(e, 32, HIA_TENSOR_PENDING);
  settle_if(e, LLVMBuildICmp(e->b, LLVMIntEQ, kind, pending, "is_pending"), x, loc);
}

/* An object's header is marked while it is owed words (runtime/native/batch/owed.c). */
void hiaL_wait_for_words(hia_emit *e, LLVMValueRef object, hia_loc_id loc) {
  LLVMTypeRef half = LLVMInt16TypeInContext(e->llvm);
  LLVMValueRef at = hiaL_byte_at(e, object, offsetof(hia_counted, spare), "at");
  LLVMValueRef mark = LLVMBuildLoad2(e->b, half, at, "mark");
  settle_if(e, LLVMBuildICmp(e->b, LLVMIntNE, mark, LLVMConstInt(half, 0, false), "is_owed"),
            LLVMConstNull(e->ptr), loc);
}

void hiaL_emit_FORCE(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_in(e->fn, n, 0));
  hiaL_out(e, n, 0, hiaL_in(e, n, 0));
  hiaL_wait_for(e, hiaL_in(e, n, 0), type, hiaL_node(e, n)->loc);
}
