/* Forks (runtime/fork.h): calls that another worker may make.
 *
 * A fork is a record in the frame, linked behind the newest one that was open before. Which fork
 * is the newest is known at each place of a function: it is a parameter, or one of the function's
 * own. The runtime must know it too where code polls: a comparison of a function that forks brings
 * it along (emit_check.c), everything else that polls is told beforehand, in a field of the
 * context. To LLVM the record is memory that any call may change, because the list leads to it.
 *
 * The record is written, and put into the list, not where the fork stands but where its path first
 * comes to something during which somebody may ask for it: a call that polls, or a loop. Most
 * bodies of an unrolled recursion are leaves that come to none, and forks cost them nothing. Where
 * paths meet of which only some have listed it, a flag says so; LLVM often knows it from the
 * conditions that led there. A fork is listed only after all that were open before it. */
#include "lower/emit.h"
#include "runtime/fork.h"

enum {
  NEXT = offsetof(hia_fork, next) / sizeof(hia_word),
  CODE = offsetof(hia_fork, code) / sizeof(hia_word),
  SHAPE = offsetof(hia_fork, shape) / sizeof(hia_word),
  ARGS = offsetof(hia_fork, args) / sizeof(hia_word)
};

static LLVMValueRef flag(hia_emit *e, bool value) {
  return LLVMConstInt(e->types[HIA_BOOL], value, false);
}

/* In the entry block, wherever the builder stands: then it is part of the frame. */
static LLVMValueRef new_record(hia_emit *e, uint32_t n_args) {
  LLVMBasicBlockRef here = hiaL_here(e);
  hiaL_at_start(e, LLVMGetEntryBasicBlock(e->function));
  LLVMTypeRef type = LLVMArrayType2(e->types[HIA_I64], ARGS + n_args);
  LLVMValueRef record = LLVMBuildAlloca(e->b, type, "fork");
  LLVMSetAlignment(record, sizeof(hia_word));
  hiaL_at(e, here);
  return record;
}

void hiaL_emit_FORK(hia_emit *e, hia_node_id n) {
  const hia_fn *callee = hiaG_fn(e->g, HIA_IMM_A(hiaL_node(e, n)->imm));
  hia_latent fork = {n, new_record(e, callee->n_params), flag(e, false)};
  hiaR_push(&e->comp->scratch, &e->forks, fork);
}

/* Writes the record of an open fork and links it. */
static void list(hia_emit *e, uint32_t i) {
  const hia_latent *fork = &e->forks.data[i];
  hia_fn_id callee = HIA_IMM_A(hiaL_node(e, fork->node)->imm);
  const hia_fn *fn = hiaG_fn(e->g, callee);
  for (uint32_t k = 0; k < fn->n_params; k++)
    hiaL_store_word(e, hiaL_word_at(e, fork->record, ARGS + k), hiaL_in(e, fork->node, k),
                    fn->params[k]);
  LLVMValueRef shape =
      LLVMConstInt(e->types[HIA_I64], HIA_FORK_SHAPE(fn->n_params, fn->n_results), false);
  LLVMBuildStore(e->b, shape, hiaL_word_at(e, fork->record, SHAPE));
  LLVMBuildStore(e->b, e->fns[callee].entry, hiaL_word_at(e, fork->record, CODE));
  LLVMValueRef before = i ? e->forks.data[i - 1].record : e->newest;
  LLVMBuildStore(e->b, fork->record, hiaL_word_at(e, before, NEXT));
}

void hiaL_list_forks(hia_emit *e) {
  for (uint32_t i = 0; i < e->forks.len; i++) {
    LLVMValueRef is_listed = e->forks.data[i].is_listed;
    if (is_listed == flag(e, true)) continue;
    LLVMBasicBlockRef done = NULL;
    if (is_listed != flag(e, false)) {
      LLVMBasicBlockRef todo = hiaL_block(e, "list");
      done = hiaL_block(e, "listed");
      LLVMBuildCondBr(e->b, is_listed, done, todo);
      hiaL_at(e, todo);
    }
    /* With all that are listed where it is. */
    for (uint32_t k = i; k < e->forks.len && e->forks.data[k].is_listed == is_listed; k++) {
      list(e, k);
      e->forks.data[k].is_listed = flag(e, true);
    }
    if (!done) continue;
    LLVMBuildBr(e->b, done);
    hiaL_at(e, done);
  }
}

LLVMValueRef hiaL_newest(hia_emit *e) {
  LLVMValueRef newest = e->newest;
  for (uint32_t i = 0; i < e->forks.len; i++) {
    const hia_latent *fork = &e->forks.data[i];
    newest = LLVMBuildSelect(e->b, fork->is_listed, fork->record, newest, "newest");
  }
  return newest;
}

LLVMValueRef *hiaL_save_listed(hia_emit *e) {
  if (!e->forks.len) return NULL;
  LLVMValueRef *listed = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, e->forks.len);
  for (uint32_t i = 0; i < e->forks.len; i++) listed[i] = e->forks.data[i].is_listed;
  return listed;
}

void hiaL_restore_listed(hia_emit *e, LLVMValueRef *const listed) {
  for (uint32_t i = 0; i < e->forks.len; i++) e->forks.data[i].is_listed = listed[i];
}

void hiaL_all_listed(hia_emit *e) {
  for (uint32_t i = 0; i < e->forks.len; i++) e->forks.data[i].is_listed = flag(e, true);
}

void hiaL_emit_STOLEN(hia_emit *e, hia_node_id n) {
  hia_latent fork = e->forks.data[--e->forks.len];
  e->ended = fork.record;
  if (fork.is_listed == flag(e, false)) {
    hiaL_out(e, n, 0, fork.is_listed);
    return;
  }
  LLVMValueRef code = LLVMBuildLoad2(e->b, e->i8, hiaL_word_at(e, fork.record, CODE), "code");
  _Static_assert(HIA_FORK_TAKEN == 1, "the lowest bit");
  LLVMValueRef is_taken = LLVMBuildTrunc(e->b, code, e->types[HIA_BOOL], "is_taken");
  hiaL_out(e, n, 0, LLVMBuildSelect(e->b, fork.is_listed, is_taken, flag(e, false), "is_taken"));
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
  LLVMValueRef store = LLVMBuildStore(e->b, hiaL_newest(e), hiaL_field(e, HIA_FIELD_newest));
  LLVMSetVolatile(store, true);
}
