/* The runtime as LLVM sees it: functions of abi.def, fields of layout.def. */
#include "lower/emit.h"

typedef enum abi_effect { PURE, POLL, FAIL } abi_effect;

static const struct {
  const char *name, *args, *result;
  abi_effect effect;
} functions[] = {
#define HIA_ABI(name, args, result, EFFECT, doc) {#name, args, result, EFFECT},
#include "runtime/abi.def"
};

static const uint32_t offsets[] = {
#define HIA_FIELD(offset, TYPE, name, doc) offset,
#include "runtime/layout.def"
};

static LLVMTypeRef letter_type(const hia_emit *e, char letter) {
  switch (letter) {
  case 'i': return e->types[HIA_I32];
  case 'l': return e->types[HIA_I64];
  case 'f': return e->types[HIA_F32];
  case 'd': return e->types[HIA_F64];
  default: return e->void_type;
  }
}

/* Does the context travel to it? */
static bool takes_context(enum hia_abi id) { return functions[id].effect != PURE; }

static void declare(hia_emit *e, enum hia_abi id) {
  LLVMTypeRef params[8];
  unsigned n = 0;
  if (takes_context(id)) params[n++] = e->ptr;
  for (const char *at = functions[id].args; *at && n < HIA_LEN(params); at++)
    params[n++] = letter_type(e, *at);
  LLVMTypeRef type = LLVMFunctionType(letter_type(e, functions[id].result[0]), params, n, false);
  LLVMValueRef f = LLVMAddFunction(e->module, functions[id].name, type);
  e->abi[id] = (hia_signature){type, f};
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, f, all, "nounwind", 0);
  if (takes_context(id)) hiaL_attribute(e, f, 1, "swiftself", 0);
  switch (functions[id].effect) {
  case PURE:
    hiaL_attribute(e, f, all, "willreturn", 0);
    hiaL_attribute(e, f, all, "memory", 0); /* none */
    break;
  case POLL:
    LLVMSetFunctionCallConv(f, HIA_CC_PRESERVE_ALL);
    hiaL_attribute(e, f, all, "cold", 0);
    break;
  case FAIL:
    hiaL_attribute(e, f, all, "cold", 0);
    hiaL_attribute(e, f, all, "noreturn", 0);
    break;
  }
}

LLVMValueRef hiaL_call_abi(hia_emit *e, enum hia_abi id, LLVMValueRef *args, unsigned n_args) {
  if (!e->abi[id].function) declare(e, id);
  LLVMValueRef all[8];
  unsigned n = 0;
  if (takes_context(id)) all[n++] = e->context;
  for (unsigned i = 0; i < n_args && n < HIA_LEN(all); i++) all[n++] = args[i];
  LLVMValueRef call = LLVMBuildCall2(e->b, e->abi[id].type, e->abi[id].function, all, n, "");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(e->abi[id].function));
  if (takes_context(id)) hiaL_call_attribute(e, call, 1, "swiftself", 0);
  return call;
}

LLVMValueRef hiaL_field(hia_emit *e, enum hia_field field) {
  if (offsets[field] == 0) return e->context;
  LLVMValueRef offset = LLVMConstInt(e->types[HIA_I64], offsets[field], false);
  return LLVMBuildInBoundsGEP2(e->b, e->i8, e->context, &offset, 1, "field");
}
