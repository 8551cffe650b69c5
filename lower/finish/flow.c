/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* flow: the control flow graph of an LLVM function, for the changes after LLVM's passes. */
#include "lower/finish/flow.h"
#include <stdlib.h>

static int by_ref(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const hia_flow_block *)a)->ref,
            y = (uintptr_t)((const hia_flow_block *)b)->ref;
  return (x > y) - (x < y);
}

static hia_flow_block *find(const hia_blocks *f, LLVMBasicBlockRef ref) {
  hia_flow_block key = {.ref = ref};
  return bsearch(&key, f->data, f->n, sizeof *f->data, by_ref);
}

hia_blocks hiaL_read_blocks(hia_arena *arena, LLVMValueRef function) {
  hia_blocks f = {.n = LLVMCountBasicBlocks(function)};
  f.data = HIA_NEW_ARRAY(arena, hia_flow_block, f.n);
  f.path = HIA_NEW_ARRAY(arena, hia_flow_block *, f.n);
  f.order = HIA_NEW_ARRAY(arena, LLVMBasicBlockRef, f.n);
  LLVMGetBasicBlocks(function, f.order);
  for (unsigned i = 0; i < f.n; i++) f.data[i].ref = f.order[i];
  qsort(f.data, f.n, sizeof *f.data, by_ref);
  for (unsigned i = 0; i < f.n; i++) {
    hia_flow_block *b = &f.data[i];
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(b->ref);
    b->n_next = branch ? LLVMGetNumSuccessors(branch) : 0;
    b->next = HIA_NEW_ARRAY(arena, hia_flow_block *, b->n_next);
    b->is_marked = HIA_NEW_ARRAY(arena, bool, b->n_next);
    for (unsigned k = 0; k < b->n_next; k++) b->next[k] = find(&f, LLVMGetSuccessor(branch, k));
  }
  return f;
}

hia_flow_block *hiaL_block_at(const hia_blocks *f, unsigned i) { return find(f, f->order[i]); }

void hiaL_go_on(hia_blocks *f, hia_flow_block *b) {
  b->was_seen = b->is_on_path = true;
  b->at = 0;
  f->path[f->n_path++] = b;
}

unsigned hiaL_block_calls(const hia_flow_block *b, LLVMValueRef callee) {
  unsigned n = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(b->ref); i; i = LLVMGetNextInstruction(i)) {
    if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMGetCalledValue(i) == callee) n++;
  }
  return n;
}
