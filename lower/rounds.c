/* rounds: the comparison with the limit in loops, as the last change of the IR.
 *
 * Requires the module after LLVM's passes. Loops are whatever cycles of blocks the passes have
 * left: unrolled, vectorised, made from recursion. A cycle that passes a comparison already needs
 * no other one, so blocks that hold one are taken out of the picture, and each edge that closes a
 * cycle among the rest gets one, in blocks of its own:
 *
 *     latch ──► header        latch ──► check ──► next ──► header
 *                                         └─► poll ─┘
 *
 * Edges that close a cycle are found by depth-first search: those to a block that is on the path
 * of the search. Every cycle has one, whatever its shape. */
#include "lower/emit.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct rounds {
  hia_comp *comp;
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMValueRef comparison, keeper, unlikely;
  hia_signature poll;
} rounds;

typedef struct edge {
  LLVMValueRef branch; /* the terminator */
  unsigned successor;
} edge;

typedef struct block {
  LLVMBasicBlockRef ref;
  LLVMValueRef branch;
  unsigned n_successors, next; /* next: of the search */
  bool is_checked, was_seen, is_on_path;
} block;

static int by_ref(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const block *)a)->ref, y = (uintptr_t)((const block *)b)->ref;
  return (x > y) - (x < y);
}

static block *find(block *blocks, unsigned n, LLVMBasicBlockRef ref) {
  block key = {.ref = ref};
  return bsearch(&key, blocks, n, sizeof *blocks, by_ref);
}

static bool is_comparison(const rounds *r, LLVMValueRef instruction) {
  return LLVMGetInstructionOpcode(instruction) == LLVMCall &&
         LLVMGetCalledValue(instruction) == r->comparison;
}

static void look_at(const rounds *r, block *b) {
  b->branch = LLVMGetBasicBlockTerminator(b->ref);
  b->n_successors = b->branch ? LLVMGetNumSuccessors(b->branch) : 0;
  LLVMValueRef i = LLVMGetFirstInstruction(b->ref);
  for (; i && !b->is_checked; i = LLVMGetNextInstruction(i)) b->is_checked = is_comparison(r, i);
}

typedef HIA_VEC(edge) edges;

static edges find_edges(rounds *r, LLVMValueRef function) {
  hia_arena *arena = &r->comp->scratch;
  unsigned n = LLVMCountBasicBlocks(function), n_path = 0;
  block *blocks = HIA_NEW_ARRAY(arena, block, n);
  block **path = HIA_NEW_ARRAY(arena, block *, n);
  LLVMBasicBlockRef *refs = HIA_NEW_ARRAY(arena, LLVMBasicBlockRef, n);
  LLVMGetBasicBlocks(function, refs);
  for (unsigned i = 0; i < n; i++) blocks[i].ref = refs[i];
  for (unsigned i = 0; i < n; i++) look_at(r, &blocks[i]);
  qsort(blocks, n, sizeof *blocks, by_ref);
  edges closing = {0};
  /* From each block, in the function's order: a checked block does not lead on. */
  for (unsigned i = 0; i < n; i++) {
    block *start = find(blocks, n, refs[i]);
    if (start->was_seen || start->is_checked) continue;
    start->was_seen = start->is_on_path = true;
    path[n_path++] = start;
    while (n_path) {
      block *at = path[n_path - 1];
      if (at->next == at->n_successors) {
        at->is_on_path = false;
        n_path--;
        continue;
      }
      unsigned successor = at->next++;
      block *to = find(blocks, n, LLVMGetSuccessor(at->branch, successor));
      if (to->is_on_path)
        hiaR_push(arena, &closing, (edge){at->branch, successor});
      else if (!to->was_seen && !to->is_checked) {
        to->was_seen = to->is_on_path = true;
        path[n_path++] = to;
      }
    }
  }
  return closing;
}

/* The parameter that holds the context. */
static LLVMValueRef context_of(rounds *r, LLVMValueRef function) {
  unsigned swiftself = LLVMGetEnumAttributeKindForName("swiftself", 9);
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    if (LLVMGetEnumAttributeAtIndex(function, i + 1, swiftself)) return LLVMGetParam(function, i);
  HIA_BUG(r->comp, "a function with a loop has lost its context");
}

/* In the phis at the start of `to`, one entry from `from` now comes from `instead`. */
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

/* Where a run stopped is told by function, here. */
static void set_position(rounds *r, LLVMValueRef call, LLVMValueRef function) {
  LLVMMetadataRef scope = LLVMGetSubprogram(function);
  if (!scope) return;
  unsigned line = LLVMDISubprogramGetLine(scope);
  LLVMInstructionSetDebugLoc(call, LLVMDIBuilderCreateDebugLocation(r->llvm, line, 0, scope, NULL));
}

static void check_edge(rounds *r, LLVMValueRef function, LLVMValueRef context, const edge *on) {
  LLVMBasicBlockRef to = LLVMGetSuccessor(on->branch, on->successor);
  LLVMBasicBlockRef from = LLVMGetInstructionParent(on->branch);
  LLVMBasicBlockRef check = LLVMAppendBasicBlockInContext(r->llvm, function, "check");
  LLVMBasicBlockRef poll = LLVMAppendBasicBlockInContext(r->llvm, function, "poll");
  LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(r->llvm, function, "next");
  redirect_phis(r, to, from, next);
  LLVMSetSuccessor(on->branch, on->successor, check);
  LLVMPositionBuilderAtEnd(r->b, check);
  LLVMValueRef limit = hiaL_build_field(r->b, r->llvm, context, HIA_FIELD_limit);
  LLVMValueRef is_below = hiaL_build_comparison(r->b, r->llvm, limit);
  LLVMSetMetadata(LLVMBuildCondBr(r->b, is_below, poll, next),
                  LLVMGetMDKindIDInContext(r->llvm, "prof", 4), r->unlikely);
  LLVMPositionBuilderAtEnd(r->b, poll);
  set_position(r, hiaL_build_poll(r->b, r->llvm, r->poll, context), function);
  LLVMBuildBr(r->b, next);
  LLVMPositionBuilderAtEnd(r->b, next);
  LLVMBuildBr(r->b, to);
}

/* The context's keepers have done their work. */
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

static void check_function(rounds *r, LLVMValueRef function) {
  hia_mark mark = hiaR_arena_mark(&r->comp->scratch);
  edges closing = find_edges(r, function);
  if (closing.len) {
    LLVMValueRef context = context_of(r, function);
    for (uint32_t i = 0; i < closing.len; i++) check_edge(r, function, context, &closing.data[i]);
  }
  remove_keepers(function, r->keeper);
  hiaR_arena_release(&r->comp->scratch, mark);
}

static void check_module(rounds *r) {
  r->poll = hiaL_declare_abi(r->llvm, r->module, HIA_ABI_hiaR_stub_poll);
  r->comparison = hiaL_comparison(r->llvm);
  r->keeper = hiaL_keeper(r->llvm);
  r->unlikely = hiaL_unlikely_weights(r->llvm);
  LLVMValueRef f = LLVMGetFirstFunction(r->module);
  for (; f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f)) check_function(r, f);
}

static void try_check(rounds *r) {
  if (HIA_TRY(r->comp)) check_module(r);
}

hia_status hiaL_check_rounds(LLVMModuleRef module, const hia_allocator *allocator, char *error,
                             size_t error_size) {
  hia_comp comp;
  hiaR_comp_init(&comp, allocator);
  rounds r = {.comp = &comp, .llvm = LLVMGetModuleContext(module), .module = module};
  r.b = LLVMCreateBuilderInContext(r.llvm);
  try_check(&r);
  LLVMDisposeBuilder(r.b);
  hia_status status = comp.status;
  if (status) snprintf(error, error_size, "%s", comp.message);
  hiaR_comp_free(&comp);
  return status;
}
