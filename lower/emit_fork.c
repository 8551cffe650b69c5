/* Forks (runtime/fork.h): calls that another worker may make.
 *
 * A fork is a record in the frame, linked behind the newest one that was open before. Which fork
 * is the newest is known at each place of a function: it is a parameter, or one of the function's
 * own. The runtime must know it too where code polls: a comparison of a function that forks brings
 * it along (emit_check.c), everything else that polls is told beforehand, in a field of the
 * context. To LLVM the record is memory that any call may change, because the list leads to it. */
#include "lower/emit.h"
#include "runtime/fork.h"

enum {
  NEXT = offsetof(hia_fork, next) / sizeof(hia_word),
  CODE = offsetof(hia_fork, code) / sizeof(hia_word),
  SHAPE = offsetof(hia_fork, shape) / sizeof(hia_word),
  ARGS = offsetof(hia_fork, args) / sizeof(hia_word)
};

/* In the entry block, wherever the builder stands: then it is part of the frame. */
static LLVMValueRef new_record(hia_emit *e, uint32_t n_args) {
  LLVMBasicBlockRef here = hiaL_here(e), entry = LLVMGetEntryBasicBlock(e->function);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first)
    LLVMPositionBuilder(e->b, entry, first);
  else
    hiaL_at(e, entry);
  LLVMTypeRef type = LLVMArrayType2(e->types[HIA_I64], ARGS + n_args);
  LLVMValueRef record = LLVMBuildAlloca(e->b, type, "fork");
  LLVMSetAlignment(record, sizeof(hia_word));
  hiaL_at(e, here);
  return record;
}

void hiaL_emit_FORK(hia_emit *e, hia_node_id n) {
  hia_fn_id callee = HIA_IMM_A(hiaL_node(e, n)->imm);
  const hia_fn *fn = hiaG_fn(e->g, callee);
  hia_latent fork = {new_record(e, fn->n_params), e->newest};
  for (uint32_t i = 0; i < fn->n_params; i++)
    hiaL_store_word(e, hiaL_word_at(e, fork.record, ARGS + i), hiaL_in(e, n, i), fn->params[i]);
  LLVMValueRef shape =
      LLVMConstInt(e->types[HIA_I64], HIA_FORK_SHAPE(fn->n_params, fn->n_results), false);
  LLVMBuildStore(e->b, shape, hiaL_word_at(e, fork.record, SHAPE));
  LLVMBuildStore(e->b, e->fns[callee].entry, hiaL_word_at(e, fork.record, CODE));
  LLVMBuildStore(e->b, fork.record, hiaL_word_at(e, fork.before, NEXT));
  hiaR_push(&e->comp->scratch, &e->forks, fork);
  e->newest = fork.record;
}

void hiaL_emit_STOLEN(hia_emit *e, hia_node_id n) {
  hia_latent fork = e->forks.data[--e->forks.len];
  e->newest = fork.before;
  e->ended = fork.record;
  LLVMValueRef code = LLVMBuildLoad2(e->b, e->i8, hiaL_word_at(e, fork.record, CODE), "code");
  _Static_assert(HIA_FORK_TAKEN == 1, "the lowest bit");
  hiaL_out(e, n, 0, LLVMBuildTrunc(e->b, code, e->types[HIA_BOOL], "is_taken"));
}

void hiaL_emit_JOIN(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  const hia_fn *fn = hiaG_fn(e->g, HIA_IMM_A(node->imm));
  hiaL_set_debug_loc(e, node->loc, node->flags & HIA_NODE_TAIL);
  LLVMValueRef words = hiaL_call_abi(e, HIA_ABI_hiaR_stub_join, &e->ended, 1);
  hiaL_no_debug_loc(e);
  hiaL_call_attribute(e, words, (unsigned)LLVMAttributeFunctionIndex, "nomerge", 0);
  e->ended = NULL;
  for (uint32_t i = 0; i < node->n_outs; i++)
    hiaL_out(e, n, i, hiaL_load_word(e, hiaL_word_at(e, words, i), fn->results[i]));
}

/* Volatile: LLVM knows of nobody who reads it. */
void hiaL_tell_newest(hia_emit *e) {
  LLVMValueRef store = LLVMBuildStore(e->b, e->newest, hiaL_field(e, HIA_FIELD_newest));
  LLVMSetVolatile(store, true);
}
