/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions of C's calling convention, which hosts call: their types, and what they begin with. */
#include "lower/kit/emit.h"

const hia_object_root *hiaL_planned(const hia_emit *e, hia_fn_id root) {
  const hia_object_plan *plan = e->options->object;
  for (uint32_t i = 0; plan && i < plan->n_roots; i++)
    if (plan->roots[i].fn == root) return &plan->roots[i];
  return NULL;
}

LLVMTypeRef hiaL_c_type(const hia_emit *e, hia_type t) {
  return t == HIA_BOOL ? e->i8 : hiaL_type(e, t);
}

LLVMValueRef hiaL_from_c(hia_emit *e, LLVMValueRef value, hia_type t) {
  return t == HIA_BOOL ? LLVMBuildTrunc(e->b, value, e->types[HIA_BOOL], "") : value;
}

LLVMValueRef hiaL_to_c(hia_emit *e, LLVMValueRef value, hia_type t) {
  return t == HIA_BOOL ? LLVMBuildZExt(e->b, value, e->i8, "") : value;
}

/* Functions with many results are not optimised: LLVM takes time with the square of the number of
 * pointers compared with NULL, ten seconds for a thousand results, and would gain nothing. */
enum { MAX_OPTIMISED = 48 };

LLVMValueRef hiaL_host_function(hia_emit *e, const hia_fn *fn, const char *name, LLVMTypeRef type) {
  LLVMValueRef f = hiaL_add_named(e, name, type);
  if (e->options->object)
    LLVMSetSection(f, HIA_HOST_TEXT);
  else
    LLVMSetVisibility(f, LLVMProtectedVisibility);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, f, all, "nounwind", 0);
  hiaL_attribute(e, f, all, "uwtable", 1);
  if (fn->n_results > MAX_OPTIMISED) {
    hiaL_attribute(e, f, all, "noinline", 0);
    hiaL_attribute(e, f, all, "optnone", 0);
  }
  e->function = f;
  e->context = NULL;
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_no_debug_loc(e);
  return f;
}

LLVMValueRef hiaL_no_context(hia_emit *e) {
  if (e->unit.no_context) return e->unit.no_context;
  LLVMTypeRef line = LLVMArrayType2(e->types[HIA_I64], 8);
  e->unit.no_context = hiaL_variable(e, "hia_no_context", LLVMConstNull(line));
  LLVMSetSection(e->unit.no_context, HIA_HOST_RODATA);
  return e->unit.no_context;
}
