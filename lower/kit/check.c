/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Safepoints: the comparison of the stack pointer with the limit, and where it stands.
 *
 * One would expect a branch to a call of the runtime. As a branch in the IR the safepoint cost a
 * third on ack: its blocks kept LLVM from laying out and duplicating the others as it does without.
 * So it is one piece of assembly, whose rare side lies out of line: two instructions where it
 * stands, and no blocks of its own.
 *
 * Every chain of calls that can grow must pass a safepoint, and so must every loop round. Before
 * LLVM's passes a function gets one, at the start of the region that encloses all its calls and
 * forks: fib has it where it goes on to call, not in its base case. A function that calls nothing
 * needs none; its frame fits into the room that the runtime leaves below the limit. Loops get
 * theirs after the passes (rounds.c): earlier, a safepoint would keep LLVM from everything it does
 * with loops. */
#include "lower/kit/emit.h"
#include "runtime/native/arch/arch.h"

/* The innermost region that encloses all calls and forks; NONE: there are none. Parents come before
 * their children (the verifier). */
static hia_region_id around_calls(hia_emit *e) {
  const hia_fn *fn = e->fn;
  uint32_t n = fn->regions.len;
  hia_arena *arena = &e->comp->scratch;
  /* By region: where its path to the body meets the path of the first call. Regions on that path
   * meet it at themselves; the regions that a later call climbs through all meet it where that
   * climb ended. So each region is climbed once. */
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

/* The region at whose start the function has its safepoint. A call that stays outside of that
 * region does not poll and must not take long; so a function that takes long outside of it has the
 * safepoint in its body. */
hia_region_id hiaL_safepoint_region(hia_emit *e) {
  const hia_fn *fn = e->fn;
  if (e->options->unchecked || hiaL_is_for_kernels(e) || hiaL_is_leaf(e, e->id)) return HIA_NONE;
  hia_region_id r = around_calls(e);
  hia_node_id first = fn->nodes.len, last = fn->nodes.len;
  if (r != HIA_NONE) first = fn->regions.data[r].first, last = fn->regions.data[r].last;
  uint64_t outside = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (n < first || n >= last) outside += hiaG_cost(fn, n);
  e->graph.paths[e->id] = (hia_path){.bare = outside, .is_bare = r != 0};
  if (outside <= HIA_MAX_UNPOLLED_FN) return r;
  e->graph.paths[e->id].is_bare = false;
  return 0;
}

/* ---- how long it has been ---- */

/* How long a function may run behind a recursive call without a poll. The runtime puts return
 * barriers by bytes of stack (runtime/native/barrier.c). A function that makes many recursive calls
 * has been unrolled: its frame is large, so it may take longer in it. */
uint64_t hiaL_back_run(const hia_emit *e) {
  const hia_fn *fn = e->fn;
  unsigned n_calls = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    if (fn->nodes.data[n].op != HIA_OP_CALL_I) continue;
    const hia_site *site = &e->g->sites.data[HIA_IMM_A(fn->nodes.data[n].imm)];
    n_calls +=
        n == site->calls && e->graph.facts.group[site->callee] == e->graph.facts.group[e->id];
  }
  return n_calls > 4 ? 10 * HIA_MAX_UNPOLLED_BACK : HIA_MAX_UNPOLLED_BACK;
}

void hiaL_spend(hia_emit *e, uint64_t cost) {
  if (cost == 0) return; /* nothing is emitted, maybe because the block has ended */
  bool is_long = e->local.path.since + cost > HIA_MAX_UNPOLLED ||
                 (e->local.path.is_back && e->local.path.back + cost > e->local.back_run);
  /* A fork that has ended and is not joined is nothing that the runtime may meet. */
  bool has_safepoints = !e->options->unchecked && !hiaL_is_for_kernels(e);
  if (is_long && e->local.ended == HIA_NONE && has_safepoints) hiaL_safepoint(e);
  e->local.path.since += cost;
  e->local.path.bare += cost;
  e->local.path.back += cost;
}

/* Adds the cost of a call: the time since the callee's last poll or, if it has a path without one,
 * the length of that path; for a recursive callee at most what this function itself may take.
 *
 * When a deep recursion returns, each of its frames still runs what is behind the call, without a
 * poll. A safepoint there cost a sixth on fib and a fifth on ack. So there is one only where that
 * part is long, and the runtime's return barriers cover the rest (runtime/native/barrier.c). */
void hiaL_spend_call(hia_emit *e, hia_fn_id callee) {
  const hia_path *path = &e->graph.paths[callee];
  bool is_own = e->graph.facts.group[callee] == e->graph.facts.group[e->id];
  if (is_own) e->local.path.is_back = false; /* the callee polls, or takes little */
  hiaL_spend(e, 5 + (path->is_bare ? path->bare : 0));
  if (!path->is_bare) e->local.path = (hia_path){.since = 0};
  if (e->local.path.since < path->since) e->local.path.since = path->since;
  if (!is_own) return;
  e->local.path.back = 0;
  e->local.path.is_back = true;
}

/* The location of the innermost loop: a run that ends in a loop reports it, because the function
 * may contain loops of others that were inlined. NONE: the builder is in no loop, or in one without
 * a location. */
hia_loc_id hiaL_loop_loc(const hia_emit *e) {
  uint32_t n = e->local.merges.len;
  return n ? e->fn->nodes.data[e->local.merges.data[n - 1]].loc : HIA_NONE;
}

/* Assembly with one operand, the context. */
static LLVMTypeRef operand_type(LLVMContextRef llvm) {
  LLVMTypeRef ptr = LLVMPointerTypeInContext(llvm, 0);
  return LLVMFunctionType(LLVMVoidTypeInContext(llvm), &ptr, 1, false);
}

/* The assembly has side effects, so LLVM never moves, merges or removes it. The context is an
 * operand in a fixed register, because LLVM is free to keep it elsewhere in a function that makes
 * no calls. */
#define CLOBBERS "~{memory},~{dirflag},~{fpsr},~{flags}"
LLVMValueRef hiaL_safepoint_assembly(LLVMContextRef llvm) {
  static const char text[] = HIA_ARCH_CHECK, constraints[] = HIA_ARCH_CONTEXT "," CLOBBERS;
  return LLVMGetInlineAsm(operand_type(llvm), text, sizeof text - 1, constraints,
                          sizeof constraints - 1, true, false, LLVMInlineAsmDialectATT, false);
}

LLVMValueRef hiaL_build_safepoint(LLVMBuilderRef b, LLVMContextRef llvm, LLVMValueRef context) {
  return LLVMBuildCall2(b, operand_type(llvm), hiaL_safepoint_assembly(llvm), &context, 1, "");
}

void hiaL_safepoint(hia_emit *e) {
  e->local.path = (hia_path){.since = 0};
  hia_loc_id loc = hiaL_loop_loc(e);
  hiaL_set_debug_loc(e, loc == HIA_NONE ? e->fn->loc : loc, false);
  LLVMValueRef check = hiaL_build_safepoint(e->b, e->llvm, e->context);
  hiaL_no_debug_loc(e);
  /* The debug location of a merged poll would be lost, and with it which forks are open. */
  if (e->local.fork_frame)
    hiaL_call_attribute(e, check, (unsigned)LLVMAttributeFunctionIndex, "nomerge", 0);
}

/* Unchecked code has no poll; an empty asm keeps LLVM from folding the block away. */
static void do_nothing(hia_emit *e) {
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->llvm), NULL, 0, false);
  static const char constraints[] = "~{dirflag},~{fpsr},~{flags}";
  LLVMValueRef nothing = LLVMGetInlineAsm(type, "", 0, constraints, sizeof constraints - 1, true,
                                          false, LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(e->b, type, nothing, NULL, 0, "");
}

/* A safepoint that ends the block it stands in. It is a comparison whose result LLVM knows nothing
 * of, so LLVM cannot merge the two blocks. The rare side compares once more, and polls. */
void hiaL_safepoint_and_split(hia_emit *e) {
  LLVMTypeRef ptr = LLVMPointerTypeInContext(e->llvm, 0);
  LLVMTypeRef type = LLVMFunctionType(e->i8, &ptr, 1, false);
  static const char constraints[] = HIA_ARCH_BELOW_LIMIT "," HIA_ARCH_CONTEXT "," CLOBBERS;
  LLVMValueRef comparison =
      LLVMGetInlineAsm(type, HIA_ARCH_TEST, sizeof HIA_ARCH_TEST - 1, constraints,
                       sizeof constraints - 1, true, false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef is_below = LLVMBuildCall2(e->b, type, comparison, &e->context, 1, "");
  LLVMBasicBlockRef rare = hiaL_block(e, "check"), next = hiaL_block(e, "next");
  hiaL_unlikely(e, LLVMBuildTrunc(e->b, is_below, e->types[HIA_BOOL], ""), rare, next);
  hiaL_at(e, rare);
  if (e->options->unchecked)
    do_nothing(e);
  else
    hiaL_safepoint(e);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
}

bool hiaL_may_split(const hia_emit *e) {
  return e->local.ended == HIA_NONE && !hiaL_is_for_kernels(e);
}

void hiaL_stored(hia_emit *e, uint32_t i) {
  if (i % HIA_MAX_STRAIGHT_LINE == HIA_MAX_STRAIGHT_LINE - 1 && hiaL_may_split(e))
    hiaL_safepoint_and_split(e);
}

/* Loops will need the context, even if nothing else in the function does. An empty instruction that
 * has it as an operand keeps LLVM from removing the parameter. It is removed when the loops get
 * their safepoints (rounds.c), before it costs a register. */
LLVMValueRef hiaL_keeper(LLVMContextRef llvm) {
  static const char constraints[] = "r,~{dirflag},~{fpsr},~{flags}";
  return LLVMGetInlineAsm(operand_type(llvm), "", 0, constraints, sizeof constraints - 1, true,
                          false, LLVMInlineAsmDialectATT, false);
}

void hiaL_keep_context(hia_emit *e) {
  LLVMBuildCall2(e->b, operand_type(e->llvm), hiaL_keeper(e->llvm), &e->context, 1, "");
}
