/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Control nodes: what passes values into and out of regions, and what ends a region. Regions
 * become blocks in function/body.c.
 *
 * A Switch is its operand. A Merge of a branch is a phi, or a select if neither arm has
 * instructions. A Merge of a loop is a phi that gets its second operand when the round ends. */
#include "graph/ir/region_order.h"
#include "lower/ops/ops.h"

/* The rest of this region is never executed, but its values must exist. */
static void give_nothing(hia_emit *e, hia_node_id n) {
  hiaL_at(e, hiaL_block(e, "dead"));
  for (uint32_t i = 0; i < hiaL_node(e, n)->n_outs; i++)
    hiaL_out(e, n, i, LLVMGetPoison(hiaL_type(e, hiaG_type(e->fn, hiaG_out(e->fn, n, i)))));
}

void hiaL_emit_FAIL(hia_emit *e, hia_node_id n) {
  LLVMValueRef code = hiaL_in(e, n, 0);
  if (hiaG_type(e->fn, hiaG_in(e->fn, n, 0)) == HIA_I32)
    code = LLVMBuildSExt(e->b, code, e->types[HIA_I64], "code");
  hiaL_fail(e, hiaL_node(e, n)->loc, HIA_FAILED, code);
  give_nothing(e, n);
}

void hiaL_emit_GUARD(hia_emit *e, hia_node_id n) {
  LLVMValueRef number = LLVMConstInt(e->types[HIA_I64], hiaL_node(e, n)->imm, false);
  hiaL_fail(e, hiaL_node(e, n)->loc, HIA_AGAIN, number);
  give_nothing(e, n);
}

void hiaL_emit_SWITCH(hia_emit *e, hia_node_id n) {
  hiaL_out(e, n, 0, hiaL_in(e, n, 0));
  hiaL_out(e, n, 1, hiaL_in(e, n, 0));
}

/* The value itself, or one of its array's parts. */
enum { ITSELF = HIA_ARRAY_PARTS };
static LLVMValueRef part_of(hia_emit *e, hia_value_id v, unsigned part) {
  return part == ITSELF ? e->values[v] : hiaL_array_part(e, v, part);
}
static LLVMTypeRef part_type(const hia_emit *e, hia_value_id v, unsigned part) {
  return part == ITSELF ? hiaL_type(e, hiaG_type(e->fn, v)) : hiaL_array_part_type(e, part);
}

/* A phi with one operand per edge into the join. If an arm ends with an inner branch that has the
 * same join, the phi has the edges of that branch: their operands are those of its Merge, or one
 * value that both of its sides have. */
static LLVMValueRef merge_edges(hia_emit *e, hia_node_id n, hia_region_id then, unsigned part) {
  typedef struct arms {
    hia_region_id then;
    hia_value_id values[2];
  } arms;
  HIA_VEC(arms) open = {0};
  hia_arena *arena = &e->comp->scratch;
  hia_mark mark = hiaR_arena_mark(arena);
  LLVMValueRef phi =
      hiaL_phi(e, hiaL_flow(e, then)->join, part_type(e, hiaG_out(e->fn, n, 0), part), "merge");
  hiaR_push(arena, &open, (arms){then, {hiaG_in(e->fn, n, 0), hiaG_in(e->fn, n, 1)}});
  while (open.len) {
    arms at = open.data[--open.len];
    const hia_flow *flow = hiaL_flow(e, at.then);
    for (uint32_t i = 0; i < 2; i++) {
      if (flow->skip.then && flow->skips_from == i) continue;
      hia_region_id inner = flow->inner[i];
      if (inner) {
        hia_node_id def = e->fn->values.data[at.values[i]].node;
        bool is_merged =
            hiaL_node(e, def)->op == HIA_OP_MERGE && HIA_IMM_A(hiaL_node(e, def)->imm) == inner;
        arms below = {inner, {at.values[i], at.values[i]}};
        if (is_merged) below = (arms){inner, {hiaG_in(e->fn, def, 0), hiaG_in(e->fn, def, 1)}};
        hiaR_push(arena, &open, below);
      } else {
        LLVMValueRef value = part_of(e, at.values[i], part);
        LLVMBasicBlockRef from = flow->from[i];
        if (!value) HIA_BUG(e->comp, "%s: node %u merges what is not there", e->fn->name, n);
        LLVMAddIncoming(phi, &value, &from, 1);
        from = flow->entry;
        if (from && flow->entered == i && flow->is_hollow[i])
          LLVMAddIncoming(phi, &value, &from, 1);
      }
    }
  }
  hiaR_arena_release(arena, mark);
  return phi;
}

static LLVMValueRef merge(hia_emit *e, hia_node_id n, hia_region_id then, unsigned part) {
  if (hiaL_flow(e, then)->join) return merge_edges(e, n, then, part);
  LLVMValueRef pred = e->values[e->fn->regions.data[then].pred];
  if (!pred) HIA_BUG(e->comp, "%s: node %u merges no branch", e->fn->name, n);
  return LLVMBuildSelect(e->b, pred, part_of(e, hiaG_in(e->fn, n, 0), part),
                         part_of(e, hiaG_in(e->fn, n, 1), part), "");
}

void hiaL_emit_MERGE(hia_emit *e, hia_node_id n) {
  hia_region_id then = HIA_IMM_A(hiaL_node(e, n)->imm);
  if (hiaL_flow(e, then)->is_joined) return; /* the Merge of the branch around it includes it */
  hia_value_id out = hiaG_out(e->fn, n, 0);
  e->values[out] = merge(e, n, then, ITSELF);
  for (unsigned part = 0; hiaL_has_array(e, out) && part < HIA_ARRAY_PARTS; part++)
    hiaL_set_array_part(e, out, part, merge(e, n, then, part));
}

static void pass_on(hia_emit *e, hia_node_id n) { hiaL_out(e, n, 0, hiaL_in(e, n, 0)); }
void hiaL_emit_ENTER(hia_emit *e, hia_node_id n) { pass_on(e, n); }
void hiaL_emit_NEXT(hia_emit *e, hia_node_id n) { pass_on(e, n); }
void hiaL_emit_EXIT(hia_emit *e, hia_node_id n) { pass_on(e, n); }

void hiaL_emit_MERGE_LOOP(hia_emit *e, hia_node_id n) {
  const hia_flow *flow = hiaL_flow(e, hiaL_node(e, n)->region);
  LLVMBasicBlockRef from = flow->from[0];
  hia_value_id out = hiaG_out(e->fn, n, 0), in = hiaG_in(e->fn, n, 0);
  for (unsigned part = hiaL_has_array(e, out) ? 0 : ITSELF; part <= ITSELF; part++) {
    LLVMValueRef first = part_of(e, in, part);
    LLVMValueRef phi = hiaL_phi(e, flow->head, part_type(e, out, part), "round");
    LLVMAddIncoming(phi, &first, &from, 1);
    if (part == ITSELF)
      e->values[out] = phi;
    else
      hiaL_set_array_part(e, out, part, phi);
  }
  hiaR_push(&e->comp->scratch, &e->local.merges, n);
}

void hiaL_close_merges(hia_emit *e, uint32_t first) {
  LLVMBasicBlockRef here = hiaL_here(e);
  for (uint32_t i = first; i < e->local.merges.len; i++) {
    hia_node_id merge = e->local.merges.data[i];
    hia_value_id out = hiaG_out(e->fn, merge, 0);
    for (unsigned part = hiaL_has_array(e, out) ? 0 : ITSELF; part <= ITSELF; part++) {
      LLVMValueRef next = part_of(e, hiaG_in(e->fn, merge, 1), part);
      LLVMAddIncoming(part_of(e, out, part), &next, &here, 1);
    }
  }
  e->local.merges.len = first;
}
