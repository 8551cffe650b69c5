/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* rounds: safepoints in loops. The last change of the IR, except for placement.c's.
 *
 * One would put a safepoint into each loop of the program. But before LLVM's passes it would keep
 * LLVM from unrolling, vectorising and removing loops, and recursion becomes loops only there. So
 * this runs after the passes, on the cycles of blocks that they have left. A cycle that passes a
 * safepoint already needs no other. So blocks that have one are left out, and one edge of each
 * remaining cycle is cut: it gets a safepoint.
 *
 * Cycles are found by depth-first search, at edges to a block on the path of the search. That edge
 * could be cut. But if a block of the cycle also branches to a block with a safepoint, the edge
 * behind that branch is cut instead, because the path with the safepoint does not pass it: in ack,
 * a round that makes a call polls once, before the call. */
#include "lower/finish/flow.h"
#include "runtime/run/error.h"

typedef struct rounds {
  hia_comp *comp;
  LLVMContextRef llvm;
  LLVMBuilderRef b;
  LLVMValueRef safepoint, keeper;
  bool unchecked;
} rounds;

static hia_blocks read_flow(rounds *r, LLVMValueRef function) {
  hia_blocks f = hiaL_read_blocks(&r->comp->scratch, function); /* marked: edges that are cut */
  for (unsigned i = 0; i < f.n; i++)
    f.data[i].is_checked = hiaL_block_calls(&f.data[i], r->safepoint) > 0;
  return f;
}

static bool leads_to_checked(const hia_flow_block *b) {
  for (unsigned k = 0; k < b->n_next; k++)
    if (b->next[k]->is_checked) return true;
  return false;
}

/* The last block of the path leads to another block of it, `first`. Cuts an edge of that cycle, and
 * removes the blocks behind it from the path. These are searched again if another edge leads to
 * them, because other cycles may pass them. It terminates, because cuts are never undone. */
static void cut_cycle(hia_blocks *f, const hia_flow_block *first) {
  unsigned start = f->n_path - 1, chosen = f->n_path - 1;
  while (f->path[start] != first) start--;
  for (unsigned i = start; i < f->n_path; i++) {
    if (!leads_to_checked(f->path[i])) continue;
    chosen = i;
    break;
  }
  hia_flow_block *b = f->path[chosen];
  b->is_marked[b->at] = true;
  while (f->n_path > chosen + 1) {
    hia_flow_block *dropped = f->path[--f->n_path];
    dropped->was_seen = dropped->is_on_path = false;
  }
}

/* Goes on by one edge from the last block of the path, or back. */
static void advance(hia_blocks *f) {
  hia_flow_block *b = f->path[f->n_path - 1];
  if (b->at == b->n_next) {
    b->is_on_path = false;
    f->n_path--;
    return;
  }
  hia_flow_block *to = b->next[b->at];
  if (to->is_checked || b->is_marked[b->at] || (to->was_seen && !to->is_on_path))
    b->at++;
  else if (to->is_on_path)
    cut_cycle(f, to);
  else
    hiaL_go_on(f, to);
}

/* Cuts edges until every cycle passes a block with a safepoint or a cut edge. */
static void cut_cycles(hia_blocks *f) {
  for (unsigned i = 0; i < f->n; i++) {
    hia_flow_block *start = hiaL_block_at(f, i);
    if (start->was_seen || start->is_checked) continue;
    hiaL_go_on(f, start);
    while (f->n_path) advance(f);
  }
}

/* The parameter that holds the context. */
static LLVMValueRef context_of(rounds *r, LLVMValueRef function) {
  unsigned swiftself = LLVMGetEnumAttributeKindForName("swiftself", 9);
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    if (LLVMGetEnumAttributeAtIndex(function, i + 1, swiftself)) return LLVMGetParam(function, i);
  HIA_BUG(r->comp, "a function with a loop has lost its context");
}

/* Builds the safepoint where the builder stands. A run that ends there reports the location of
 * `branch`; if that has none, because LLVM made it, the function's. */
static void build_check(rounds *r, LLVMValueRef function, LLVMValueRef context,
                        LLVMValueRef branch) {
  LLVMMetadataRef said = LLVMInstructionGetDebugLoc(branch);
  LLVMMetadataRef scope = LLVMGetSubprogram(function), inside = NULL;
  LLVMValueRef check = hiaL_build_safepoint(r->b, r->llvm, context);
  if (!scope) return;
  unsigned line = said ? LLVMDILocationGetLine(said) : 0;
  if (line) {
    scope = LLVMDILocationGetScope(said);
    inside = LLVMDILocationGetInlinedAt(said);
  } else {
    line = LLVMDISubprogramGetLine(scope);
  }
  /* Column 0: the frame has the number of the open forks. */
  LLVMInstructionSetDebugLoc(check,
                             LLVMDIBuilderCreateDebugLocation(r->llvm, line, 0, scope, inside));
}

/* Changes one entry from block `from` in each phi of `to`, so that it comes from `instead`. */
static void redirect_phis(rounds *r, LLVMBasicBlockRef to, LLVMBasicBlockRef from,
                          LLVMBasicBlockRef instead) {
  LLVMValueRef phi = LLVMGetFirstInstruction(to);
  while (phi && LLVMGetInstructionOpcode(phi) == LLVMPHI) {
    LLVMPositionBuilderBefore(r->b, phi);
    LLVMValueRef changed = LLVMBuildPhi(r->b, LLVMTypeOf(phi), "");
    bool is_done = false;
    unsigned n = LLVMCountIncoming(phi);
    for (unsigned i = 0; i < n; i++) {
      LLVMValueRef value = LLVMGetIncomingValue(phi, i);
      LLVMBasicBlockRef source = LLVMGetIncomingBlock(phi, i);
      if (source == from && !is_done) source = instead, is_done = true;
      if (value == phi) value = changed;
      LLVMAddIncoming(changed, &value, &source, 1);
    }
    LLVMValueRef next = LLVMGetNextInstruction(phi);
    LLVMReplaceAllUsesWith(phi, changed);
    LLVMInstructionEraseFromParent(phi);
    phi = next;
  }
}

/* Builds a safepoint on an edge: at the end of block b if it has no other edge, else in a new
 * block.
 */
static void check_edge(rounds *r, LLVMValueRef function, LLVMValueRef context,
                       const hia_flow_block *b, unsigned successor) {
  LLVMValueRef branch = LLVMGetBasicBlockTerminator(b->ref);
  if (b->n_next == 1) {
    LLVMPositionBuilderBefore(r->b, branch);
    build_check(r, function, context, branch);
    return;
  }
  LLVMBasicBlockRef to = LLVMGetSuccessor(branch, successor);
  LLVMBasicBlockRef check = LLVMAppendBasicBlockInContext(r->llvm, function, "check");
  redirect_phis(r, to, b->ref, check);
  LLVMSetSuccessor(branch, successor, check);
  LLVMPositionBuilderAtEnd(r->b, check);
  LLVMSetCurrentDebugLocation2(r->b, NULL); /* not that of the builder's last place */
  build_check(r, function, context, branch);
  LLVMBuildBr(r->b, to);
}

/* Removes what hiaL_keep_context built. */
static void remove_keepers(LLVMValueRef function, LLVMValueRef keeper) {
  LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function);
  for (; b; b = LLVMGetNextBasicBlock(b)) {
    LLVMValueRef next = NULL, i = LLVMGetFirstInstruction(b);
    for (; i; i = next) {
      next = LLVMGetNextInstruction(i);
      if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMGetCalledValue(i) == keeper)
        LLVMInstructionEraseFromParent(i);
    }
  }
}

static bool is_kernel(LLVMValueRef function) {
  static const char name[] = HIA_KERNEL_ATTRIBUTE;
  return LLVMGetStringAttributeAtIndex(function, (unsigned)LLVMAttributeFunctionIndex, name,
                                       sizeof name - 1) != NULL;
}

static void check_function(rounds *r, LLVMValueRef function) {
  if (is_kernel(function)) return;
  hia_mark mark = hiaR_arena_mark(&r->comp->scratch);
  hia_blocks f = read_flow(r, function);
  if (!r->unchecked) cut_cycles(&f);
  LLVMValueRef context = NULL;
  for (unsigned i = 0; i < f.n; i++) { /* in the function's order: the output is reproducible */
    const hia_flow_block *b = hiaL_block_at(&f, i);
    for (unsigned k = 0; k < b->n_next; k++) {
      if (!b->is_marked[k]) continue;
      if (!context) context = context_of(r, function);
      check_edge(r, function, context, b, k);
    }
  }
  remove_keepers(function, r->keeper);
  hiaL_hint_placement(r->comp, r->llvm, function);
  hiaR_arena_release(&r->comp->scratch, mark);
}

static void check_module(rounds *r, LLVMModuleRef module) {
  r->safepoint = hiaL_safepoint_assembly(r->llvm);
  r->keeper = hiaL_keeper(r->llvm);
  LLVMValueRef f = LLVMGetFirstFunction(module);
  for (; f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f)) check_function(r, f);
}

static void try_check(rounds *r, LLVMModuleRef module) {
  if (HIA_TRY(r->comp)) check_module(r, module);
}

hia_status hiaL_finish_loops(LLVMModuleRef module, bool unchecked, const hia_allocator *allocator,
                             hia_error **error) {
  hia_comp comp;
  hiaR_comp_init(&comp, allocator);
  rounds r = {.comp = &comp, .llvm = LLVMGetModuleContext(module), .unchecked = unchecked};
  r.b = LLVMCreateBuilderInContext(r.llvm);
  try_check(&r, module);
  LLVMDisposeBuilder(r.b);
  hia_status status = comp.status;
  if (status) hiaR_fail_comp(allocator, error, &comp);
  hiaR_comp_free(&comp);
  return status;
}
