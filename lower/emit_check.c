/* The comparison of the stack pointer with the limit: where it stands and what it is.
 *
 * Every chain of calls that can grow must pass one, and every loop round. Rounds have theirs
 * at their start. A function needs one of its own only for calls that are in no round, and not
 * before the region that encloses all of them: fib compares only where it goes on to call, not in
 * its base case. A function that calls nothing needs none; its frame fits into the room that the
 * runtime leaves below the limit. */
#include "lower/emit.h"
#include "runtime/arch/arch.h"

/* `region`, or the nearest one around it that is not inside a loop of the function; NONE inside a
 * round, which checks for itself. */
static hia_region_id outside_loops(const hia_fn *fn, const hia_region_id *outside,
                                   hia_region_id r) {
  const hia_region *region = &fn->regions.data[r];
  switch (region->kind) {
  case HIA_REGION_BODY: return r;
  case HIA_REGION_HEAD: return outside[region->parent];
  case HIA_REGION_ROUND: return HIA_NONE;
  default: return outside[region->parent] == region->parent ? r : outside[region->parent];
  }
}

/* Parents come before their children (the verifier). */
hia_region_id hiaL_check_region(hia_emit *e) {
  const hia_fn *fn = e->fn;
  if (e->options->unchecked) return HIA_NONE;
  uint32_t n = fn->regions.len;
  hia_arena *arena = &e->comp->scratch;
  hia_region_id *outside = HIA_NEW_ARRAY(arena, hia_region_id, n);
  /* Regions on the path from the first call's region to the body have joined it at themselves,
   * those on a later call's path where that path joined the first. So each region is climbed once.
   */
  hia_region_id *joined = HIA_NEW_ARRAY(arena, hia_region_id, n);
  uint32_t *depth = HIA_NEW_ARRAY(arena, uint32_t, n);
  for (hia_region_id r = 0; r < n; r++) {
    hia_region_id parent = fn->regions.data[r].parent;
    joined[r] = HIA_NONE;
    depth[r] = r == 0 ? 0 : depth[parent] + 1;
    outside[r] = outside_loops(fn, outside, r);
  }
  hia_region_id lowest = HIA_NONE;
  for (hia_node_id node = 0; node < fn->nodes.len; node++) {
    if (fn->nodes.data[node].op != HIA_OP_CALL_I) continue;
    hia_region_id r = outside[fn->nodes.data[node].region];
    if (r == HIA_NONE) continue;
    if (lowest == HIA_NONE) {
      lowest = r;
      for (; r != HIA_NONE; r = fn->regions.data[r].parent) joined[r] = r;
      continue;
    }
    hia_region_id at = r;
    while (joined[at] == HIA_NONE) at = fn->regions.data[at].parent;
    hia_region_id join = joined[at];
    for (at = r; joined[at] == HIA_NONE; at = fn->regions.data[at].parent) joined[at] = join;
    if (depth[join] < depth[lowest]) lowest = join;
  }
  return lowest;
}

void hiaL_check(hia_emit *e, hia_loc_id loc) {
  if (e->options->unchecked) return;
  LLVMTypeRef type = LLVMFunctionType(e->i8, &e->ptr, 1, false);
  if (!e->below_limit)
    e->below_limit = LLVMGetInlineAsm(
        type, HIA_ARCH_BELOW_LIMIT, sizeof HIA_ARCH_BELOW_LIMIT - 1,
        HIA_ARCH_BELOW_LIMIT_CONSTRAINTS, sizeof HIA_ARCH_BELOW_LIMIT_CONSTRAINTS - 1,
        true /* side effects: never moved */, false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef limit = hiaL_field(e, HIA_FIELD_limit);
  LLVMValueRef flag = LLVMBuildCall2(e->b, type, e->below_limit, &limit, 1, "flag");
  unsigned elementtype = LLVMGetEnumAttributeKindForName("elementtype", 11);
  LLVMAddCallSiteAttribute(flag, 1,
                           LLVMCreateTypeAttribute(e->llvm, elementtype, e->types[HIA_I64]));
  LLVMValueRef is_below = LLVMBuildTrunc(e->b, flag, e->types[HIA_BOOL], "is_below");
  LLVMBasicBlockRef poll = hiaL_block(e, "poll"), go_on = hiaL_block(e, "go_on");
  hiaL_unlikely(e, is_below, poll, go_on);
  hiaL_at(e, poll);
  hiaL_set_debug_loc(e, loc, false);
  hiaL_call_attribute(e, hiaL_call_abi(e, HIA_ABI_hiaR_stub_poll, NULL, 0),
                      (unsigned)LLVMAttributeFunctionIndex, "nomerge", 0);
  hiaL_no_debug_loc(e);
  LLVMBuildBr(e->b, go_on);
  hiaL_at(e, go_on);
}
