/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The runtime as LLVM sees it: functions of abi.def, fields of layout.def. */
#include "lower/emit.h"

typedef enum abi_effect { PURE, POLL, FAIL, JOIN, ENTER, HOST } abi_effect;

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

/* Does the context travel to it, in its register? */
static bool takes_context(enum hia_abi id) {
  return functions[id].effect != PURE && functions[id].effect != ENTER;
}

static void attribute(LLVMContextRef llvm, LLVMValueRef function, unsigned index,
                      const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(function, index, LLVMCreateEnumAttribute(llvm, kind, 0));
}

static hia_signature declare(LLVMContextRef llvm, LLVMModuleRef module, enum hia_abi id) {
  LLVMTypeRef params[8];
  unsigned n = 0;
  if (takes_context(id)) params[n++] = LLVMPointerTypeInContext(llvm, 0);
  for (const char *at = functions[id].args; *at && n < HIA_LEN(params); at++)
    params[n++] = letter_type(llvm, *at);
  LLVMTypeRef type = LLVMFunctionType(letter_type(llvm, functions[id].result[0]), params, n, false);
  LLVMValueRef f = LLVMAddFunction(module, functions[id].name, type);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  attribute(llvm, f, all, "nounwind");
  if (takes_context(id)) attribute(llvm, f, 1, "swiftself");
  switch (functions[id].effect) {
  case PURE:
    attribute(llvm, f, all, "willreturn");
    attribute(llvm, f, all, "memory"); /* 0: none */
    break;
  case ENTER: break;
  case JOIN: attribute(llvm, f, all, "cold"); break;
  case HOST: break;
  case POLL: break; /* called by HIA_ARCH_CHECK, never from here */
  case FAIL:
    attribute(llvm, f, all, "cold");
    attribute(llvm, f, all, "noreturn");
    break;
  }
  return (hia_signature){type, f, NULL};
}

LLVMValueRef hiaL_call_abi(hia_emit *e, enum hia_abi id, LLVMValueRef *args, unsigned n_args) {
  if (!e->abi[id].function) {
    e->abi[id] = declare(e->llvm, e->module, id);
    /* AddressSanitizer would tidy up the stack before a call that does not return, and say that it
     * is too large for that; there is nothing on it to tidy up. */
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
