/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is built where the builder stands, whatever it is for: attributes, debug locations, blocks,
 * and words of blocks. */
#include "lower/kit/emit.h"

/* ---- attributes ---- */

static LLVMAttributeRef attribute(hia_emit *e, const char *name, uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  if (!kind) HIA_BUG(e->comp, "this LLVM has no attribute %s", name);
  return LLVMCreateEnumAttribute(e->llvm, kind, value);
}

void hiaL_attribute(hia_emit *e, LLVMValueRef function, unsigned index, const char *name,
                    uint64_t value) {
  LLVMAddAttributeAtIndex(function, index, attribute(e, name, value));
}

void hiaL_call_attribute(hia_emit *e, LLVMValueRef call, unsigned index, const char *name,
                         uint64_t value) {
  LLVMAddCallSiteAttribute(call, index, attribute(e, name, value));
}

/* Attributes of every function of the program: unwind tables, which the stack walker needs, and a
 * frame that is addressed by the stack pointer alone. */
void hiaL_common_attributes(hia_emit *e, LLVMValueRef f) {
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  LLVMSetFunctionCallConv(f, HIA_CC_SWIFT);
  hiaL_attribute(e, f, all, "nounwind", 0);
  hiaL_attribute(e, f, all, "uwtable", 1); /* exact at calls only: that is enough */
  LLVMAddTargetDependentFunctionAttr(f, "no-realign-stack", "");
  switch (e->options->instrument) {
  case HIA_INSTRUMENT_ASAN: hiaL_attribute(e, f, all, "sanitize_address", 0); break;
  case HIA_INSTRUMENT_TSAN: hiaL_attribute(e, f, all, "sanitize_thread", 0); break;
  case HIA_INSTRUMENT_NONE: break;
  }
}

/* ---- debug locations ---- */

uint32_t hiaL_forks_number(const hia_emit *e) {
  if (!e->local.fork_frame) return HIA_FORKS_UNKNOWN;
  for (uint32_t i = e->local.forks.len; i-- > 0;)
    if (e->local.forks.data[i].site != HIA_NONE)
      return HIA_FORKS_OPEN + e->local.forks.data[i].site;
  return HIA_FORKS_NONE;
}

void hiaL_set_debug_loc(hia_emit *e, hia_loc_id loc, bool is_tail) {
  LLVMSetCurrentDebugLocation2(
      e->b, LLVMDIBuilderCreateDebugLocation(e->llvm, hiaL_line(loc, is_tail), hiaL_forks_number(e),
                                             e->local.scope, NULL));
}

void hiaL_no_debug_loc(hia_emit *e) { LLVMSetCurrentDebugLocation2(e->b, NULL); }

void hiaL_open_scope(hia_emit *e, const char *name, hia_loc_id loc) {
  e->local.scope = LLVMDIBuilderCreateFunction(
      e->unit.debug, e->unit.file, name, strlen(name), "", 0, e->unit.file, hiaL_line(loc, false),
      e->unit.debug_type, true, true, 0, LLVMDIFlagZero, true);
  LLVMSetSubprogram(e->function, e->local.scope);
}

/* ---- blocks ---- */

/* LLVM's builder takes over the debug location of the instruction that it is positioned at. */
void hiaL_at_start(hia_emit *e, LLVMBasicBlockRef block) {
  LLVMValueRef first = LLVMGetFirstInstruction(block);
  if (first)
    LLVMPositionBuilder(e->b, block, first);
  else
    hiaL_at(e, block);
  hiaL_no_debug_loc(e);
}

LLVMValueRef hiaL_phi(hia_emit *e, LLVMBasicBlockRef block, LLVMTypeRef type, const char *name) {
  LLVMBasicBlockRef here = hiaL_here(e);
  hiaL_at_start(e, block);
  LLVMValueRef phi = LLVMBuildPhi(e->b, type, name);
  hiaL_at(e, here);
  return phi;
}

void hiaL_set_unlikely(hia_emit *e, LLVMValueRef branch) {
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->llvm, "prof", 4), e->unit.unlikely);
}

void hiaL_unlikely(hia_emit *e, LLVMValueRef condition, LLVMBasicBlockRef rare,
                   LLVMBasicBlockRef usual) {
  hiaL_set_unlikely(e, LLVMBuildCondBr(e->b, condition, rare, usual));
}

/* ---- words ---- */

LLVMValueRef hiaL_word_at(hia_emit *e, LLVMValueRef block, uint32_t i) {
  LLVMValueRef index = LLVMConstInt(e->types[HIA_I64], i, false);
  return LLVMBuildInBoundsGEP2(e->b, e->types[HIA_I64], block, &index, 1, "word");
}

LLVMValueRef hiaL_load_word(hia_emit *e, LLVMValueRef at, hia_type t) {
  if (t != HIA_BOOL) return LLVMBuildLoad2(e->b, hiaL_type(e, t), at, "arg"); /* little-endian */
  LLVMValueRef word = LLVMBuildLoad2(e->b, e->types[HIA_I64], at, "arg");
  return LLVMBuildICmp(e->b, LLVMIntNE, word, LLVMConstNull(e->types[HIA_I64]), "");
}

void hiaL_store_word(hia_emit *e, LLVMValueRef at, LLVMValueRef value, hia_type t) {
  LLVMTypeRef word = e->types[HIA_I64];
  switch (t) {
  case HIA_BOOL: value = LLVMBuildZExt(e->b, value, word, ""); break;
  case HIA_I32: value = LLVMBuildSExt(e->b, value, word, ""); break;
  case HIA_F32:
    value = LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, value, e->types[HIA_I32], ""), word, "");
    break;
  default: break; /* it is a word */
  }
  LLVMBuildStore(e->b, value, at);
}
