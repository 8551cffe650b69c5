/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The test whether a fork pays (hia_fork_pays of runtime/native/fork.h): a function of the fork's
 * arguments that is true if the callee, called with them, would call anything, loop, or do a lot.
 * What is tested is decided in graph/analysis/pays.c. The code has no branches. */
#include "graph/analysis/analysis.h"
#include "lower/function/function.h"

static void compute(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  switch (node->op) {
  case HIA_OP_ENTER:
  case HIA_OP_MERGE_LOOP: /* of the first round */
  case HIA_OP_SWITCH:
    for (uint32_t i = 0; i < node->n_outs; i++) hiaL_out(e, n, i, e->values[hiaG_in(e->fn, n, 0)]);
    return;
  default: hiaL_emit_node(e, n);
  }
}

/* True, when the test runs, if the region would take long once entered. Recursion: as deep as the
 * rules. */
static LLVMValueRef region_pays(hia_emit *e, const hia_pays *pays, hia_region_id r) {
  const hia_pays_region *region = &pays->regions[r];
  if (region->rule == HIA_PAYS_NEVER) return LLVMConstInt(e->types[HIA_BOOL], 0, false);
  if (region->rule == HIA_PAYS_ALWAYS) return LLVMConstInt(e->types[HIA_BOOL], 1, false);
  for (uint32_t i = region->first; i < region->end; i++) compute(e, pays->nodes[i]);
  hia_region_id decider = region->decider;
  LLVMValueRef condition = e->values[e->fn->regions.data[decider].pred];
  if (region->rule == HIA_PAYS_IF) return condition;
  LLVMValueRef then_pays = region_pays(e, pays, decider),
               else_pays = region_pays(e, pays, decider + 1);
  return LLVMBuildSelect(e->b, condition, then_pays, else_pays, "");
}

void hiaL_pays(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  char name[HIA_ENTRY_NAME_SIZE];
  if (hiaG_is_large(fn)) return;
  hia_pays rules = hiaG_pays(&e->comp->scratch, e->g, fn);
  memset(e->values, 0, fn->values.len * sizeof(LLVMValueRef));
  e->local.arrays = NULL;
  hiaL_pays_name(name, id);
  LLVMValueRef f = hiaL_add_named(e, name, LLVMFunctionType(e->types[HIA_I32], &e->ptr, 1, false));
  e->function = f;
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_no_debug_loc(e);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op != HIA_OP_MERGE_ENTRY) continue;
    uint32_t i = HIA_IMM_A(node->imm);
    LLVMValueRef at = hiaL_word_at(e, LLVMGetParam(f, 0), i);
    hiaL_out(e, n, 0, hiaL_load_word(e, at, fn->params[i]));
  }
  LLVMValueRef pays = region_pays(e, &rules, 0);
  if (LLVMIsAConstant(pays)) {
    LLVMDeleteFunction(f); /* true: without the function the runtime takes every fork to pay */
    return;
  }
  LLVMBuildRet(e->b, LLVMBuildZExt(e->b, pays, e->types[HIA_I32], ""));
  hiaL_serve_runtime(e, f);
  LLVMSetFunctionCallConv(f, LLVMCCallConv);
}
