/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Constants, and variables of the module that hold them. */
#include "lower/kit/emit.h"
#include <inttypes.h>

LLVMValueRef hiaL_number(hia_emit *e, unsigned bits, uint64_t n) {
  if (bits < 64 && n >> bits) HIA_BUG(e->comp, "%" PRIu64 " does not fit in %u bits", n, bits);
  return LLVMConstInt(LLVMIntTypeInContext(e->llvm, bits), n, false);
}

LLVMValueRef hiaL_structure(hia_emit *e, LLVMValueRef *fields, unsigned n) {
  return LLVMConstStructInContext(e->llvm, fields, n, false);
}

/* A variable of the module. AddressSanitizer would move and register variables; it leaves those
 * alone whose alignment is large. */
LLVMValueRef hiaL_variable(hia_emit *e, const char *name, LLVMValueRef value) {
  LLVMValueRef v = LLVMAddGlobal(e->module, LLVMTypeOf(value), name);
  LLVMSetInitializer(v, value);
  LLVMSetAlignment(v, 64);
  LLVMSetLinkage(v, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(v, true);
  return v;
}

LLVMValueRef hiaL_for_loader(hia_emit *e, const char *name, LLVMTypeRef type) {
  LLVMValueRef v = LLVMAddGlobal(e->module, type, name);
  LLVMSetInitializer(v, LLVMConstNull(type));
  LLVMSetVisibility(v, LLVMProtectedVisibility);
  LLVMSetExternallyInitialized(v, true);
  LLVMSetAlignment(v, 64); /* AddressSanitizer leaves it alone: see hiaL_variable */
  return v;
}

LLVMValueRef hiaL_bytes(hia_emit *e, const char *name, const void *data, size_t size,
                        unsigned alignment) {
  LLVMValueRef value = LLVMConstStringInContext2(e->llvm, data, size, true);
  LLVMValueRef v = hiaL_variable(e, name, value);
  LLVMSetAlignment(v, alignment);
  LLVMSetSection(v, HIA_HOST_RODATA);
  return v;
}

LLVMValueRef hiaL_of_runtime(hia_emit *e, const char *name) {
  LLVMValueRef v = LLVMGetNamedGlobal(e->module, name);
  return v ? v : LLVMAddGlobal(e->module, e->i8, name);
}

/* ---- what LLVM would remove ---- */

void hiaL_keep(hia_emit *e, LLVMValueRef value) {
  LLVMSetLinkage(value, LLVMInternalLinkage);
  hiaR_push(&e->comp->arena, &e->unit.kept_values, value);
}

/* llvm.compiler.used: LLVM keeps what is listed. (Not llvm.used, which binds the linker too.) */
void hiaL_write_kept(hia_emit *e) {
  uint32_t n = e->unit.kept_values.len;
  if (!n) return;
  LLVMValueRef list = LLVMAddGlobal(e->module, LLVMArrayType2(e->ptr, n), "llvm.compiler.used");
  LLVMSetInitializer(list, LLVMConstArray2(e->ptr, e->unit.kept_values.data, n));
  LLVMSetLinkage(list, LLVMAppendingLinkage);
  LLVMSetSection(list, "llvm.metadata");
}
