/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What all emitters share: attributes, debug locations, blocks, words, constants, functions that
 * the runtime finds by name, and the runtime as LLVM sees it (functions of abi.def, fields of
 * layout.def). Nothing here calls an emitter. */
#include "lower/kit/emit.h"
#include <inttypes.h>

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
  if (!e->fork_frame) return HIA_FORKS_UNKNOWN;
  for (uint32_t i = e->forks.len; i-- > 0;)
    if (e->forks.data[i].site != HIA_NONE) return HIA_FORKS_OPEN + e->forks.data[i].site;
  return HIA_FORKS_NONE;
}

void hiaL_set_debug_loc(hia_emit *e, hia_loc_id loc, bool is_tail) {
  LLVMSetCurrentDebugLocation2(
      e->b, LLVMDIBuilderCreateDebugLocation(e->llvm, hiaL_line(loc, is_tail), hiaL_forks_number(e),
                                             e->scope, NULL));
}

void hiaL_no_debug_loc(hia_emit *e) { LLVMSetCurrentDebugLocation2(e->b, NULL); }

void hiaL_open_scope(hia_emit *e, const char *name, hia_loc_id loc) {
  e->scope = LLVMDIBuilderCreateFunction(e->debug, e->file, name, strlen(name), "", 0, e->file,
                                         hiaL_line(loc, false), e->debug_type, true, true, 0,
                                         LLVMDIFlagZero, true);
  LLVMSetSubprogram(e->function, e->scope);
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
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->llvm, "prof", 4), e->unlikely);
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

/* ---- constants and variables ---- */

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

LLVMValueRef hiaL_of_runtime(hia_emit *e, const char *name) {
  LLVMValueRef v = LLVMGetNamedGlobal(e->module, name);
  return v ? v : LLVMAddGlobal(e->module, e->i8, name);
}

/* ---- functions that the runtime finds by name ---- */

void hiaL_keep(hia_emit *e, LLVMValueRef value) {
  LLVMSetLinkage(value, LLVMInternalLinkage);
  hiaR_push(&e->comp->arena, &e->kept_values, value);
}

LLVMValueRef hiaL_add_named(hia_emit *e, const char *name, LLVMTypeRef type) {
  LLVMValueRef other = LLVMGetNamedFunction(e->module, name);
  if (other) {
    const char *new_name = hiaR_arena_printf(&e->comp->scratch, "%s_", name);
    LLVMSetValueName2(other, new_name, strlen(new_name));
  }
  return LLVMAddFunction(e->module, name, type);
}

void hiaL_serve_runtime(hia_emit *e, LLVMValueRef f) {
  if (e->options->object)
    hiaL_keep(e, f);
  else
    LLVMSetVisibility(f, LLVMProtectedVisibility);
  hiaL_common_attributes(e, f);
}

/* ---- the runtime as LLVM sees it ---- */

typedef enum abi_effect { PURE, POLL, FAIL, JOIN, ENTER, HOST, CALL, KEEP } abi_effect;

static const struct {
  const char *name, *args, *result;
  abi_effect effect;
} functions[] = {
#define HIA_ABI(name, args, result, EFFECT, doc) {#name, args, result, EFFECT},
#include "runtime/native/abi.def"
};

static const uint32_t offsets[] = {
#define HIA_FIELD(offset, TYPE, name, doc) offset,
#include "runtime/native/layout.def"
};

static LLVMTypeRef letter_type(LLVMContextRef llvm, char letter) {
  switch (letter) {
  case 'i': return LLVMInt32TypeInContext(llvm);
  case 'l': return LLVMInt64TypeInContext(llvm);
  case 'f': return LLVMFloatTypeInContext(llvm);
  case 'd': return LLVMDoubleTypeInContext(llvm);
  case 'p': return LLVMPointerTypeInContext(llvm, 0);
  default: return LLVMVoidTypeInContext(llvm);
  }
}

/* True if the function takes the context, in its register. */
static bool takes_context(enum hia_abi id) {
  return functions[id].effect != PURE && functions[id].effect != ENTER;
}

static hia_declared declare(hia_emit *e, enum hia_abi id) {
  LLVMContextRef llvm = e->llvm;
  LLVMTypeRef params[8];
  unsigned n = 0;
  if (takes_context(id)) params[n++] = LLVMPointerTypeInContext(llvm, 0);
  for (const char *at = functions[id].args; *at && n < HIA_LEN(params); at++)
    params[n++] = letter_type(llvm, *at);
  LLVMTypeRef type = LLVMFunctionType(letter_type(llvm, functions[id].result[0]), params, n, false);
  LLVMValueRef f = LLVMAddFunction(e->module, functions[id].name, type);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, f, all, "nounwind", 0);
  if (takes_context(id)) hiaL_attribute(e, f, 1, "swiftself", 0);
  switch (functions[id].effect) {
  case PURE:
    hiaL_attribute(e, f, all, "willreturn", 0);
    hiaL_attribute(e, f, all, "memory", 0); /* 0: none */
    break;
  case ENTER: break;
  case JOIN: hiaL_attribute(e, f, all, "cold", 0); break;
  case KEEP:
    /* What binds a symbol of a shared library at its first call would not keep the registers. */
    hiaL_attribute(e, f, all, "nonlazybind", 0);
    hiaL_attribute(e, f, all, "cold", 0);
    LLVMSetFunctionCallConv(f, HIA_CC_PRESERVE_MOST);
    break;
  case HOST:
  case CALL: break;
  case POLL: break; /* called by HIA_ARCH_CHECK, never from here */
  case FAIL:
    hiaL_attribute(e, f, all, "cold", 0);
    hiaL_attribute(e, f, all, "noreturn", 0);
    break;
  }
  return (hia_declared){type, f, NULL};
}

LLVMValueRef hiaL_call_abi(hia_emit *e, enum hia_abi id, LLVMValueRef *args, unsigned n_args) {
  if (!e->abi[id].function) {
    e->abi[id] = declare(e, id);
    /* AddressSanitizer would unpoison the stack before a call that does not return, and complain
     * that the stack is too large. There is nothing poisoned on it. */
    if (e->options->instrument == HIA_INSTRUMENT_ASAN && functions[id].effect == FAIL)
      LLVMRemoveEnumAttributeAtIndex(e->abi[id].function, (unsigned)LLVMAttributeFunctionIndex,
                                     LLVMGetEnumAttributeKindForName("noreturn", 8));
  }
  LLVMValueRef all[8];
  unsigned n = 0;
  if (takes_context(id)) all[n++] = e->context;
  for (unsigned i = 0; i < n_args && n < HIA_LEN(all); i++) all[n++] = args[i];
  LLVMValueRef call = LLVMBuildCall2(e->b, e->abi[id].type, e->abi[id].function, all, n, "");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(e->abi[id].function));
  if (takes_context(id)) hiaL_call_attribute(e, call, 1, "swiftself", 0);
  return call;
}

LLVMValueRef hiaL_build_field(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context,
                              enum hia_field field) {
  if (offsets[field] == 0) return context;
  LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(llvm), offsets[field], false);
  return LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(llvm), context, &offset, 1, "field");
}
