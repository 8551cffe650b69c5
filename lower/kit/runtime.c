/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime as LLVM sees it: functions of abi.def, and fields of layout.def. */
#include "lower/kit/emit.h"

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
  if (!e->unit.abi[id].function) {
    e->unit.abi[id] = declare(e, id);
    /* AddressSanitizer would unpoison the stack before a call that does not return, and complain
     * that the stack is too large. There is nothing poisoned on it. */
    if (e->options->instrument == HIA_INSTRUMENT_ASAN && functions[id].effect == FAIL)
      LLVMRemoveEnumAttributeAtIndex(e->unit.abi[id].function, (unsigned)LLVMAttributeFunctionIndex,
                                     LLVMGetEnumAttributeKindForName("noreturn", 8));
  }
  LLVMValueRef all[8];
  unsigned n = 0;
  if (takes_context(id)) all[n++] = e->context;
  for (unsigned i = 0; i < n_args && n < HIA_LEN(all); i++) all[n++] = args[i];
  LLVMValueRef call =
      LLVMBuildCall2(e->b, e->unit.abi[id].type, e->unit.abi[id].function, all, n, "");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(e->unit.abi[id].function));
  if (takes_context(id)) hiaL_call_attribute(e, call, 1, "swiftself", 0);
  return call;
}

LLVMValueRef hiaL_build_field(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context,
                              enum hia_field field) {
  if (offsets[field] == 0) return context;
  LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(llvm), offsets[field], false);
  return LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(llvm), context, &offset, 1, "field");
}
