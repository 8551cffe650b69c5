/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The body of a function: its nodes in order, and its regions, which become blocks.
 *
 * Requires what the verifier has checked: an ELSE follows its THEN, a ROUND ends its loop. The
 * nodes of a section are in sequential order, and its regions are ranges of them, so one walk over
 * nodes and regions together is enough. One would walk the regions recursively, but they nest as
 * deep as the program does: so the walk keeps its state in the flow records of the regions. */
#include "graph/ir/region_order.h"
#include "lower/function/function.h"
#include "lower/fused/fused.h"

/* ---- branches ---- */

static LLVMValueRef predicate(hia_emit *e, hia_region_id region) {
  hia_value_id pred = e->fn->regions.data[region].pred;
  if (pred == HIA_NONE || !e->values[pred])
    HIA_BUG(e->comp, "%s: region %u has no condition", e->fn->name, region);
  return e->values[pred];
}

static bool is_op(const hia_fn *fn, hia_value_id v, unsigned op) {
  return fn->nodes.data[fn->values.data[v].node].op == op;
}

bool hiaL_is_hollow(const hia_fn *fn, hia_region_id r) {
  for (hia_node_id n = fn->regions.data[r].first; n < fn->regions.data[r].last; n++)
    if (fn->nodes.data[n].op != HIA_OP_CONST || fn->nodes.data[n].region != r) return false;
  return true;
}

/* True if the branch is the last thing in its region: only its Merges and constants follow it
 * there.
 */
static bool is_last(const hia_fn *fn, hia_region_id then) {
  hia_region_id around = fn->regions.data[then].parent;
  hia_node_id n = fn->regions.data[then + 1].last;
  for (; n < fn->regions.data[around].last; n++) {
    const hia_node *node = &fn->nodes.data[n];
    bool is_merge = node->op == HIA_OP_MERGE && HIA_IMM_A(node->imm) == then;
    if (!is_merge && (node->op != HIA_OP_CONST || node->region != around)) return false;
  }
  return true;
}

/* The block where a branch joins: a new one, or, if the branch is the last thing in an arm of
 * another branch, the join of that branch. So a chain of else-ifs has one join with an edge per
 * arm. With a join per arm LLVM would take quadratic time to thread the jumps. */
static LLVMBasicBlockRef find_join(hia_emit *e, hia_region_id then, hia_flow *flow) {
  const hia_fn *fn = e->fn;
  hia_region_id around = fn->regions.data[then].parent;
  unsigned kind = fn->regions.data[around].kind;
  if ((kind == HIA_REGION_THEN || kind == HIA_REGION_ELSE) && is_last(fn, then)) {
    uint32_t arm = kind == HIA_REGION_ELSE;
    hia_flow *outer = hiaL_flow(e, around - arm);
    outer->inner[arm] = then;
    flow->is_joined = true;
    return outer->join;
  }
  return hiaL_block(e, "join");
}

static void open_then(hia_emit *e, hia_region_id then) {
  const hia_fn *fn = e->fn;
  hia_flow *flow = hiaL_flow(e, then);
  flow->path = e->local.path;
  flow->is_hollow[0] = hiaL_is_hollow(fn, then);
  flow->is_hollow[1] = hiaL_is_hollow(fn, then + 1);
  if (flow->is_hollow[0] && flow->is_hollow[1]) return; /* a select */
  LLVMBasicBlockRef here = hiaL_here(e), side[2];
  flow->join = find_join(e, then, flow);
  for (uint32_t i = 0; i < 2; i++) {
    flow->from[i] = here; /* of a hollow arm */
    side[i] = flow->is_hollow[i] ? flow->join : hiaL_block(e, i == 0 ? "then" : "else");
  }
  flow->other = side[1];
  if (flow->entry) {
    hiaL_at(e, flow->entry);
    LLVMBuildBr(e->b, side[flow->entered]);
    hiaL_at(e, here);
  }
  if (flow->skip.then) side[flow->skips_from] = hiaL_skip_block(e, then);
  LLVMValueRef branch = LLVMBuildCondBr(e->b, predicate(e, then), side[0], side[1]);
  if (is_op(fn, fn->regions.data[then].pred, HIA_OP_STOLEN)) hiaL_set_unlikely(e, branch);
  if (!flow->is_hollow[0]) hiaL_at(e, side[0]);
}

static void close_arm(hia_emit *e, hia_region_id then, uint32_t arm) {
  hia_flow *flow = hiaL_flow(e, then);
  if (!flow->join || flow->is_hollow[arm] || flow->inner[arm]) return;
  flow->from[arm] = hiaL_here(e);
  LLVMBuildBr(e->b, flow->join);
}

static void close_then(hia_emit *e, hia_region_id then) { close_arm(e, then, 0); }

static void open_else(hia_emit *e, hia_region_id r) {
  hia_flow *flow = hiaL_flow(e, r - 1);
  hia_path at_end = e->local.path;
  e->local.path = flow->path;
  flow->path = at_end;
  if (flow->join && !flow->is_hollow[1]) hiaL_at(e, flow->other);
}

static void close_else(hia_emit *e, hia_region_id r) {
  hia_flow *flow = hiaL_flow(e, r - 1);
  e->local.path = hiaG_longer_path(e->local.path, flow->path);
  close_arm(e, r - 1, 1);
  if (flow->join && !flow->is_joined) hiaL_at(e, flow->join);
}

/* ---- loops ---- */

static void open_head(hia_emit *e, hia_region_id head) {
  hia_flow *flow = hiaL_flow(e, head);
  uint32_t number = hiaL_forks_number(e);
  if (number >= HIA_FORKS_OPEN)
    flow->forks = hiaL_has_calls(e, head) ? HIA_LOOP_POLLS : HIA_LOOP_KEEPS;
  if (flow->forks == HIA_LOOP_KEEPS) hiaL_keep_number(e, number);
  hiaL_keep_none(e, head); /* for loops outside of `check`, where hiaL_record_forks does it */
  flow->from[0] = hiaL_here(e);
  flow->head = hiaL_block(e, "head");
  flow->merges = e->local.merges.len;
  hiaL_open_loop_element(e, head);
  LLVMBuildBr(e->b, flow->head);
  hiaL_at(e, flow->head);
}

static void open_round(hia_emit *e, hia_region_id round) {
  hia_flow *flow = hiaL_flow(e, round - 1);
  flow->path = e->local.path;
  LLVMBasicBlockRef block = hiaL_block(e, "round");
  flow->join = hiaL_block(e, "exit");
  LLVMValueRef goes_on = predicate(e, round);
  if (hiaL_loop_loc(e) != HIA_NONE) hiaL_set_debug_loc(e, hiaL_loop_loc(e), false);
  LLVMBuildCondBr(e->b, goes_on, block, flow->join);
  hiaL_no_debug_loc(e);
  hiaL_at(e, block);
  if (flow->forks == HIA_LOOP_POLLS) hiaL_safepoint(e);
}

static void close_round(hia_emit *e, hia_region_id round) {
  hia_flow *flow = hiaL_flow(e, round - 1);
  hia_loc_id loc = hiaL_loop_loc(e); /* finish/rounds.c reads it from the branches */
  hiaL_close_merges(e, flow->merges);
  e->local.path =
      hiaG_longer_path(e->local.path, flow->path); /* no round, or the last; each round polls */
  if (loc != HIA_NONE) hiaL_set_debug_loc(e, loc, false);
  LLVMBuildBr(e->b, flow->head);
  hiaL_no_debug_loc(e);
  hiaL_at(e, flow->join);
  hiaL_close_loop_element(e, round - 1);
  if (flow->forks == HIA_LOOP_KEEPS) hiaL_keep_number(e, HIA_FORKS_NONE);
}

/* ---- regions and nodes ---- */

static void open_region(hia_emit *e, hia_region_id r) {
  switch ((hia_region_kind)e->fn->regions.data[r].kind) {
  case HIA_REGION_THEN: open_then(e, r); break;
  case HIA_REGION_ELSE: open_else(e, r); break;
  case HIA_REGION_HEAD: open_head(e, r); break;
  case HIA_REGION_ROUND: open_round(e, r); break;
  case HIA_REGION_BODY:
  case HIA_REGION_EACH: break; /* the latter: not in a static graph */
  }
  if (r == e->local.check) {
    hiaL_record_forks(e); /* every poll may read them */
    hiaL_safepoint(e);
  }
}

static void close_region(hia_emit *e, hia_region_id r) {
  hiaL_close_elements(e, r);
  switch ((hia_region_kind)e->fn->regions.data[r].kind) {
  case HIA_REGION_THEN: close_then(e, r); break;
  case HIA_REGION_ELSE: close_else(e, r); break;
  case HIA_REGION_ROUND: close_round(e, r); break;
  case HIA_REGION_HEAD:
  case HIA_REGION_BODY:
  case HIA_REGION_EACH: break; /* the latter: not in a static graph */
  }
  if (r == e->local.keeps_in) e->local.keeps_in = HIA_NONE;
}

static bool has_loops(const hia_fn *fn) {
  for (hia_region_id r = 0; r < fn->regions.len; r++)
    if (fn->regions.data[r].kind == HIA_REGION_HEAD) return true;
  return false;
}

/* A kernel asks now and then whether the run must end, so several may follow one another without a
 * safepoint. */
static uint64_t cost_of(const hia_emit *e, hia_node_id n) {
  uint64_t cost = hiaG_cost(e->fn, n);
  return hiaG_is_operation(e->fn, n) && cost >= HIA_MAX_UNPOLLED ? cost / 4 : cost;
}

void hiaL_body(hia_emit *e) {
  const hia_fn *fn = e->fn;
  uint32_t straight_line = 0;
  e->local.flows = HIA_NEW_ARRAY(&e->comp->scratch, hia_flow, fn->regions.len);
  hia_context_edge *edges;
  uint32_t n_edges = hiaG_contexts(&e->comp->scratch, fn, &edges), at = 0;
  bool keeps_context = !e->options->merge_calls || (has_loops(fn) && !e->options->unchecked);
  if (keeps_context && !hiaL_is_for_kernels(e)) hiaL_keep_context(e);
  hiaL_open_forks(e);
  hiaL_open_hosts(e);
  hiaL_open_counts(e);
  hiaL_open_arrays(e);
  hiaL_plan_early(e);
  hiaL_find_skips(e);
  if (hiaL_emit_kernel(e)) return;
  open_region(e, 0);
  for (hia_node_id n = 0; n <= fn->nodes.len; n++) {
    for (; at < n_edges && edges[at].at <= n; at++, straight_line = 0)
      if (edges[at].is_end)
        close_region(e, edges[at].region);
      else
        open_region(e, edges[at].region);
    if (n == fn->nodes.len) break;
    unsigned op = fn->nodes.data[n].op;
    if (!(hiaR_ops[op].traits & HIA_T_CONTROL)) straight_line += 1 + fn->nodes.data[n].n_ins / 4;
    if (straight_line > HIA_MAX_STRAIGHT_LINE && hiaL_may_split(e)) {
      hiaL_safepoint_and_split(e);
      straight_line = 0;
    }
    if (op == HIA_OP_CALL_I) {
      const hia_site *site = &e->g->sites.data[HIA_IMM_A(fn->nodes.data[n].imm)];
      if (n == site->calls && !hiaL_is_leaf(e, e->id)) hiaL_spend_call(e, site->callee);
    } else {
      hiaL_spend(e, cost_of(e, n));
    }
    hiaL_wait_for_operands(e, n);
    hiaL_open_early(e, n);
    hiaL_emit_node(e, n);
    hiaL_store_early(e, n);
    hiaL_note_arrays(e, n);
    if (n == e->local.fuel_at) hiaL_compare_fuel(e);
  }
  hiaL_close_forks(e);
}
