/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Elements of comprehensions, for the failures in them (graph/passes/elements.c).
 *
 * Where a call in a comprehension may fail, its element is a record in the frame, which is in the
 * context's list from the `element` node to the end of the region. In a loop it is put there before
 * the first round and taken away behind the last, since nothing fails between two rounds; so a
 * round stores its index and nothing else. One would do without the list and note in the frame
 * tables where records are. But LLVM puts them where it likes, and says where only through stack
 * maps, which keep it from moving code.
 *
 * What fails by itself is tested where it stands, and the failure is built apart (kit/fail.c).
 * There the records are made that the list does not have yet, so they cost nothing as long as
 * nothing fails.
 *
 * A leaf function, and one that kernels call, has no context. It does not fail: the function that
 * runs in its place does. */
#include "graph/analysis/effects.h"
#include "lower/kit/emit.h"
#include "lower/ops/ops.h"

/* True if what follows node n in its region may fail in what it calls. */
static bool calls_what_fails(const hia_emit *e, hia_node_id n) {
  const hia_fn *fn = e->fn;
  hia_node_id end = fn->regions.data[fn->nodes.data[n].region].last;
  while (++n < end) {
    unsigned op = fn->nodes.data[n].op;
    if (op == HIA_OP_JOIN || op == HIA_OP_FORK) return true;
    bool is_call = op == HIA_OP_CALL_I || hiaG_is_operation(fn, n);
    if (is_call && hiaG_own_effects(e->g, fn, n) & HIA_E_RAISES) return true;
  }
  return false;
}

static bool has_no_context(const hia_emit *e) {
  return hiaL_is_leaf(e, e->id) || hiaL_is_for_kernels(e);
}

/* The `element` node at the start of a round; NONE: there is none. */
static hia_node_id element_of(const hia_emit *e, hia_region_id round) {
  enum { LOOK = 8 }; /* constants may stand before it */
  const hia_region *region = &e->fn->regions.data[round];
  for (hia_node_id n = region->first; n < region->last && n < region->first + LOOK; n++)
    if (e->fn->nodes.data[n].op == HIA_OP_ELEMENT && e->fn->nodes.data[n].region == round) return n;
  return HIA_NONE;
}

void hiaL_open_loop_element(hia_emit *e, hia_region_id head) {
  hia_flow *flow = hiaL_flow(e, head);
  hia_node_id n = has_no_context(e) ? HIA_NONE : element_of(e, head + 1);
  if (n == HIA_NONE || !calls_what_fails(e, n)) return;
  hia_open_element new = {.index = hiaL_number(e, 64, 0)};
  hiaL_list_element(e, &new);
  flow->element[0] = new.record;
  flow->element[1] = new.outer;
}

void hiaL_close_loop_element(hia_emit *e, hia_region_id head) {
  const hia_flow *flow = hiaL_flow(e, head);
  if (flow->element[0]) LLVMBuildStore(e->b, flow->element[1], hiaL_field(e, HIA_FIELD_elements));
}

void hiaL_emit_ELEMENT(hia_emit *e, hia_node_id n) {
  hia_region_id region = hiaL_node(e, n)->region;
  LLVMValueRef index = hiaL_in(e, n, 0);
  if (has_no_context(e) || region == 0) return;
  if (e->local.elements.len && e->local.elements.data[e->local.elements.len - 1].region == region) {
    hia_open_element *again =
        &e->local.elements.data[e->local.elements.len - 1]; /* two rounds in one */
    again->index = index;
    if (again->outer) LLVMBuildStore(e->b, index, hiaL_word_at(e, again->record, 1));
    return;
  }
  hia_open_element new = {.region = region, .index = index};
  const hia_flow *flow = hiaL_flow(e, region - 1); /* of a loop, if this is its round */
  bool is_round = e->fn->regions.data[region].kind == HIA_REGION_ROUND;
  if (is_round && flow->element[0]) {
    new.record = flow->element[0];
    new.outer = flow->element[1];
    new.is_of_loop = true;
    LLVMBuildStore(e->b, index, hiaL_word_at(e, new.record, 1));
  } else if (calls_what_fails(e, n)) {
    hiaL_list_element(e, &new);
  }
  hiaR_push(&e->comp->scratch, &e->local.elements, new);
}

void hiaL_close_elements(hia_emit *e, hia_region_id region) {
  if (!e->local.elements.len || e->local.elements.data[e->local.elements.len - 1].region != region)
    return;
  hia_open_element closed = e->local.elements.data[--e->local.elements.len];
  if (closed.outer && !closed.is_of_loop)
    LLVMBuildStore(e->b, closed.outer, hiaL_field(e, HIA_FIELD_elements));
}
