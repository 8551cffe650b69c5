/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions that compute the elements of a map and may be frozen at them
 * (graph/batch/wait/each.c): the runtime makes a call for each element
 * (runtime/native/driver.h). For at most one element the call is made as any other. */
#include "lower/function/function.h"

/* A hia_native_entry of the function, of this module's own: the function may be in another one. */
static LLVMValueRef entry_of(hia_emit *e, hia_fn_id id) {
  const char *name = hiaR_arena_printf(&e->comp->scratch, "hia_iteration_%u", id);
  LLVMValueRef found = LLVMGetNamedFunction(e->module, name);
  return found ? found : hiaL_own_entry(e, id, name);
}

static LLVMValueRef is_range(hia_emit *e) {
  LLVMValueRef from = e->local.args.data[1 + HIA_RANGE_FROM];
  LLVMValueRef to = e->local.args.data[1 + HIA_RANGE_TO];
  LLVMValueRef some = LLVMBuildICmp(e->b, LLVMIntSLT, from, to, "has_elements");
  LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntUGT, LLVMBuildSub(e->b, to, from, "n"),
                                    hiaL_number(e, 64, 1), "has_more");
  return LLVMBuildAnd(e->b, some, more, "has_range");
}

/* Passes the arguments to the runtime. Returns the result. */
static LLVMValueRef call_runtime(hia_emit *e, const hia_site *site) {
  const hia_fn *fn = hiaG_fn(e->g, site->callee);
  LLVMTypeRef words = LLVMArrayType2(e->types[HIA_I64], (uint64_t)fn->n_params + fn->n_results);
  LLVMValueRef block = hiaL_room(e, words, "iteration");
  for (uint32_t i = 0; i < fn->n_params; i++)
    hiaL_store_word(e, hiaL_word_at(e, block, i), e->local.args.data[1 + i], fn->params[i]);
  LLVMValueRef args[] = {entry_of(e, site->callee), block, hiaL_number(e, 32, fn->n_params)};
  hiaL_set_debug_loc(e, site->loc, site->is_tail);
  LLVMValueRef call = hiaL_call_abi(e, HIA_ABI_hiaR_stub_each, args, HIA_LEN(args));
  hiaL_no_debug_loc(e);
  hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "nomerge", 0);
  return hiaL_load_word(e, hiaL_word_at(e, block, fn->n_params), fn->results[0]);
}

LLVMValueRef hiaL_call_each(hia_emit *e, const hia_site *site) {
  LLVMBasicBlockRef range = hiaL_block(e, "range"), one = hiaL_block(e, "one"),
                    next = hiaL_block(e, "filled"), ends[2];
  LLVMValueRef results[2];
  LLVMBuildCondBr(e->b, is_range(e), range, one);
  hiaL_at(e, range);
  results[0] = call_runtime(e, site);
  ends[0] = hiaL_here(e);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, one);
  results[1] = hiaL_call_site(e, site);
  ends[1] = hiaL_here(e);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
  LLVMValueRef phi = LLVMBuildPhi(e->b, e->types[HIA_I64], "done");
  LLVMAddIncoming(phi, results, ends, 2);
  return phi;
}
