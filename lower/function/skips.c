/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Branches whose condition is known on the way to them.
 *
 * `a and b and c` is a branch on `a and b`, which is the Merge of a branch on a. One would leave it
 * to LLVM to find out that a false a leads past both. It does, but it moves such an edge over one
 * branch at a time, which is quadratic in the length of the chain. So in functions of many branches
 * the edge of an arm that has nothing but a constant leads at once to the side of the next branch
 * that the constant chooses, or past that branch too, and so on. */
#include "graph/ir/region_order.h"
#include "lower/function/function.h"

enum { MANY_REGIONS = 500 }; /* in smaller functions LLVM does it */

static bool is_branch(const hia_fn *fn, hia_region_id r) {
  return fn->regions.data[r].kind == HIA_REGION_THEN;
}

/* Returns, by value, the number of nodes that use it, and of branches and loops that ask for it;
 * what Switches ask is what their branch asks. */
static uint32_t *count_uses(const hia_emit *e) {
  const hia_fn *fn = e->fn;
  uint32_t *n_uses = HIA_NEW_ARRAY(&e->comp->scratch, uint32_t, fn->values.len + 1);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    uint32_t n_ins = fn->nodes.data[n].op == HIA_OP_SWITCH ? 1 : fn->nodes.data[n].n_ins;
    for (uint32_t i = 0; i < n_ins; i++) n_uses[hiaG_in(fn, n, i)]++;
  }
  for (hia_region_id r = 0; r < fn->regions.len; r++)
    if (fn->regions.data[r].pred != HIA_NONE && fn->regions.data[r].kind != HIA_REGION_ELSE)
      n_uses[fn->regions.data[r].pred]++;
  return n_uses;
}

/* Returns the branch that a condition is the only Merge of, if nothing else stands between that
 * branch and the one on the condition, `then`; else 0. */
static hia_region_id branch_before(const hia_fn *fn, hia_region_id then) {
  hia_value_id pred = fn->regions.data[then].pred;
  hia_node_id merge = fn->values.data[pred].node;
  if (fn->nodes.data[merge].op != HIA_OP_MERGE) return 0;
  hia_region_id before = HIA_IMM_A(fn->nodes.data[merge].imm);
  if (fn->nodes.data[merge].region != fn->regions.data[then].parent) return 0;
  for (hia_node_id n = fn->regions.data[before + 1].last; n < fn->regions.data[then].first; n++) {
    unsigned op = fn->nodes.data[n].op;
    if (n != merge && op != HIA_OP_CONST && op != HIA_OP_SWITCH) return 0;
  }
  return before;
}

void hiaL_find_skips(hia_emit *e) {
  const hia_fn *fn = e->fn;
  if (fn->regions.len < MANY_REGIONS) return;
  const uint32_t *n_uses = count_uses(e);
  /* The last branch first, so that it is known where its own edges lead. */
  for (hia_region_id then = fn->regions.len; then-- > 1;) {
    if (!is_branch(fn, then) || n_uses[fn->regions.data[then].pred] != 1) continue;
    hia_region_id before = branch_before(fn, then);
    bool is_select = hiaL_is_hollow(fn, then) && hiaL_is_hollow(fn, then + 1);
    if (!before || is_select) continue;
    bool is_hollow[2] = {hiaL_is_hollow(fn, before), hiaL_is_hollow(fn, before + 1)};
    uint32_t side = is_hollow[1];
    hia_word known;
    hia_node_id merge = fn->values.data[fn->regions.data[then].pred].node;
    if (is_hollow[0] == is_hollow[1] || !hiaG_is_const(fn, hiaG_in(fn, merge, side), &known))
      continue;
    hia_skip to = {.then = then, .side = known == 0};
    const hia_flow *flow = hiaL_flow(e, then);
    bool goes_on = flow->skip.then && flow->skips_from == to.side;
    hiaL_flow(e, before)->skip = goes_on ? flow->skip : to;
    hiaL_flow(e, before)->skips_from = side;
  }
}

LLVMBasicBlockRef hiaL_skip_block(hia_emit *e, hia_region_id then) {
  hia_skip to = hiaL_flow(e, then)->skip;
  hia_flow *flow = hiaL_flow(e, to.then);
  if (!flow->entry) flow->entry = hiaL_block(e, "skip");
  flow->entered = to.side;
  return flow->entry;
}
