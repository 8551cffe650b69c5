/* The comparison of the stack pointer with the limit: what it is and where it stands.
 *
 * It is one piece of assembly, whose rare side lies out of line: two instructions where it stands,
 * and no blocks of its own. As a branch in the IR it cost a third on ack: the blocks kept LLVM from
 * laying out and duplicating the others as it does without.
 *
 * Every chain of calls that can grow must pass one, and every loop round. Before LLVM's passes a
 * function gets one, at the start of the region that encloses all its calls and forks: fib compares
 * where it goes on to call, not in its base case. A function that calls nothing needs none; its
 * frame fits into the room that the runtime leaves below the limit. Loops get theirs after the
 * passes (rounds.c): before, it would keep LLVM from everything it does with loops. */
#include "lower/emit.h"
#include "runtime/arch/arch.h"

/* Parents come before their children (the verifier). */
hia_region_id hiaL_check_region(hia_emit *e) {
  const hia_fn *fn = e->fn;
  if (e->options->unchecked) return HIA_NONE;
  uint32_t n = fn->regions.len;
  hia_arena *arena = &e->comp->scratch;
  /* Regions on the path from the first call's region to the body have joined it at themselves,
   * those on a later call's path where that path joined the first. So each is climbed once. */
  hia_region_id *joined = HIA_NEW_ARRAY(arena, hia_region_id, n);
  uint32_t *depth = HIA_NEW_ARRAY(arena, uint32_t, n);
  for (hia_region_id r = 0; r < n; r++) {
    joined[r] = HIA_NONE;
    depth[r] = r == 0 ? 0 : depth[fn->regions.data[r].parent] + 1;
  }
  hia_region_id lowest = HIA_NONE;
  for (hia_node_id node = 0; node < fn->nodes.len; node++) {
    unsigned op = fn->nodes.data[node].op;
    if (op != HIA_OP_CALL_I && op != HIA_OP_FORK) continue;
    hia_region_id r = fn->nodes.data[node].region, at = r;
    if (lowest == HIA_NONE) {
      lowest = r;
      for (; at != HIA_NONE; at = fn->regions.data[at].parent) joined[at] = at;
      continue;
    }
    while (joined[at] == HIA_NONE) at = fn->regions.data[at].parent;
    hia_region_id join = joined[at];
    for (at = r; joined[at] == HIA_NONE; at = fn->regions.data[at].parent) joined[at] = join;
    if (depth[join] < depth[lowest]) lowest = join;
  }
  return lowest;
}

/* The types of the assembly's operands: the context; of a function that forks also the newest fork,
 * and the offset of the field for it. */
static LLVMTypeRef comparison_type(LLVMContextRef llvm, bool forks) {
  LLVMTypeRef ptr = LLVMPointerTypeInContext(llvm, 0);
  LLVMTypeRef params[3] = {ptr, ptr, LLVMInt32TypeInContext(llvm)};
  return LLVMFunctionType(LLVMVoidTypeInContext(llvm), params, forks ? 3 : 1, false);
}

/* With side effects, so that it is never moved, merged or removed. The context is an operand, and
 * in its own register: LLVM is free to keep it elsewhere in a function that makes no calls. */
#define CLOBBERS "~{memory},~{dirflag},~{fpsr},~{flags}"
LLVMValueRef hiaL_comparison(LLVMContextRef llvm, bool forks) {
  const char *text = forks ? HIA_ARCH_CHECK_FORK : HIA_ARCH_CHECK;
  const char *constraints =
      forks ? HIA_ARCH_CONTEXT ",r,i," CLOBBERS : HIA_ARCH_CONTEXT "," CLOBBERS;
  return LLVMGetInlineAsm(comparison_type(llvm, forks), text, strlen(text), constraints,
                          strlen(constraints), true, false, LLVMInlineAsmDialectATT, false);
}

LLVMValueRef hiaL_build_comparison(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context) {
  return LLVMBuildCall2(b, comparison_type(llvm, false), hiaL_comparison(llvm, false), &context, 1,
                        "");
}

void hiaL_check(hia_emit *e) {
  hiaL_set_debug_loc(e, e->fn->loc, false);
  if (e->newest) {
    LLVMValueRef args[3] = {e->context, hiaL_newest(e), hiaL_offset(e->llvm, HIA_FIELD_newest)};
    LLVMBuildCall2(e->b, comparison_type(e->llvm, true), hiaL_comparison(e->llvm, true), args, 3,
                   "");
  } else {
    hiaL_build_comparison(e->b, e->llvm, e->context);
  }
  hiaL_no_debug_loc(e);
}

/* Loops will need the context, which nothing else in the function may need: an empty instruction
 * with it for an operand keeps LLVM from removing the parameter. It goes when the loops have their
 * comparisons (rounds.c), before it can cost the registers that it asks for. */
static LLVMTypeRef keeper_type(LLVMContextRef llvm) {
  LLVMTypeRef ptr = LLVMPointerTypeInContext(llvm, 0);
  return LLVMFunctionType(LLVMVoidTypeInContext(llvm), &ptr, 1, false);
}

LLVMValueRef hiaL_keeper(LLVMContextRef llvm) {
  static const char constraints[] = "r,~{dirflag},~{fpsr},~{flags}";
  return LLVMGetInlineAsm(keeper_type(llvm), "", 0, constraints, sizeof constraints - 1, true,
                          false, LLVMInlineAsmDialectATT, false);
}

void hiaL_keep_context(hia_emit *e) {
  LLVMBuildCall2(e->b, keeper_type(e->llvm), hiaL_keeper(e->llvm), &e->context, 1, "");
}
