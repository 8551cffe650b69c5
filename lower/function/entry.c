/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The entries of functions, through which the runtime calls them: words in, words out. */
#include "lower/function/function.h"

/* Before an entry returns what is pending is computed, or left to the worker that gets the results.
 */
static void finish(hia_emit *e, hia_fn_id id) {
  bool defers = hiaG_has_op(e->g, HIA_OP_DEFER, HIA_OP_DEFER);
  const hia_fn *fn = hiaG_fn(e->g, id);
  if (fn->rows || fn->is_freezing || !defers) return; /* a segment defers nothing */
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_finish, NULL, 0);
}

/* Builds f, a hia_native_entry of the function. */
static void build_entry(hia_emit *e, hia_fn_id id, LLVMValueRef f) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  LLVMValueRef block = LLVMGetParam(f, 0);
  e->function = f;
  e->context = LLVMGetParam(f, 1);
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_open_args(e);
  for (uint32_t i = 0; i < fn->n_params; i++)
    hiaR_push(&e->comp->scratch, &e->local.args,
              hiaL_load_word(e, hiaL_word_at(e, block, i), fn->params[i]));
  hiaL_open_scope(e, LLVMGetValueName(f), HIA_NONE);
  hiaL_set_debug_loc(e, HIA_NONE, false);
  LLVMValueRef call = hiaL_build_call(e, id);
  finish(e, id);
  hiaL_no_debug_loc(e);
  for (uint32_t i = 0; i < fn->n_results; i++) {
    LLVMValueRef value = hiaL_result(e, call, fn->n_results, i);
    hiaL_store_word(e, hiaL_word_at(e, block, fn->n_params + i), value, fn->results[i]);
  }
  LLVMBuildRetVoid(e->b);
}

void hiaL_entry(hia_emit *e, hia_fn_id id) { build_entry(e, id, e->unit.fns[id].entry); }

void hiaL_write_own_entries(hia_emit *e) {
  for (uint32_t i = 0; i < e->unit.own_entries.len; i++) {
    e->fn = hiaG_fn(e->g, e->unit.own_entries.data[i].fn);
    e->id = e->unit.own_entries.data[i].fn;
    build_entry(e, e->unit.own_entries.data[i].fn, e->unit.own_entries.data[i].entry);
  }
}
