/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Control: regions become blocks.
 *
 * Requires what the verifier has checked: an ELSE follows its THEN, a ROUND ends its loop. The
 * nodes of a section are in sequential order, and its regions are ranges of them, so one walk over
 * nodes and regions together is enough. A Switch is its operand. A Merge of a branch is a phi, or a
 * select if neither arm has instructions. A Merge of a loop is a phi that gets its second operand
 * when the round ends. One would walk the regions recursively, but they nest as deep as the program
 * does: so the walk keeps its state in the flow records of the regions. */
#include "graph/ir/region_order.h"
#include "lower/kit/emit.h"

static hia_emitter *const emitters[HIA_OP_LIMIT] = {
#define HIA_EMIT_OWN(number, NAME)       [number] = hiaL_emit_##NAME,
#define HIA_EMIT_OPERATION(number, NAME) [number] = hiaL_emit_operation,
#define HIA_EMIT_NONE(number, NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  HIA_EMIT_##EMIT(number, NAME)
#include "runtime/base/ops.def"
#undef HIA_EMIT_OWN
#undef HIA_EMIT_OPERATION
#undef HIA_EMIT_NONE
};

/* ---- ops ---- */

void hiaL_emit_CONST(hia_emit *e, hia_node_id n) {
  hia_word word = hiaL_node(e, n)->imm;
  hia_type t = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  LLVMTypeRef type = hiaL_type(e, t);
  LLVMValueRef value;
  switch (t) {
  case HIA_F32: /* by its bits: a conversion through double would change a NaN */
    value = LLVMConstBitCast(LLVMConstInt(e->types[HIA_I32], (uint32_t)word, false), type);
    break;
  case HIA_F64: value = LLVMConstBitCast(LLVMConstInt(e->types[HIA_I64], word, false), type); break;
  case HIA_BOOL: value = LLVMConstInt(type, word != 0, false); break;
  case HIA_I32: value = LLVMConstInt(type, (uint32_t)word, false); break;
  case HIA_I64: value = LLVMConstInt(type, word, false); break;
  default: value = LLVMConstIntToPtr(LLVMConstInt(e->types[HIA_I64], word, false), type);
  }
  hiaL_out(e, n, 0, value);
}

/* Any word, but the same word at every use, so that a branch on it is defined: programs whose dead
 * code was not removed may have one. Costs no instruction. */
void hiaL_emit_UNDEF(hia_emit *e, hia_node_id n) {
  hia_type is = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  LLVMTypeRef type = hiaL_type(e, is);
  if (is == HIA_I64 && e->tests_addresses) { /* it may be one: 0 is the address of nothing */
    hiaL_out(e, n, 0, hiaL_number(e, 64, 0));
    return;
  }
  if (!hiaG_is_scalar(is)) { /* an unset reference: whatever counts it ignores it */
    hiaL_out(e, n, 0, hiaL_unset(e, is));
    return;
  }
  hiaL_out(e, n, 0, LLVMBuildFreeze(e->b, LLVMGetPoison(type), "undef"));
}

void hiaL_emit_COUNT(hia_emit *e, hia_node_id n) {
  LLVMTypeRef type = e->types[HIA_I64];
  LLVMValueRef field =
      hiaL_field(e, hiaL_node(e, n)->imm == 0 ? HIA_FIELD_calls : HIA_FIELD_rounds);
  LLVMValueRef count = LLVMBuildLoad2(e->b, type, field, "count");
  LLVMBuildStore(e->b, LLVMBuildAdd(e->b, count, LLVMConstInt(type, 1, false), ""), field);
}

void hiaL_fail(hia_emit *e, hia_loc_id loc, hia_status status, LLVMValueRef code) {
  hiaL_fail_with(e, loc, LLVMConstInt(e->types[HIA_I32], (unsigned)status, false), code);
}

void hiaL_fail_range_of(hia_emit *e, hia_loc_id loc, uint32_t code, LLVMValueRef first,
                        LLVMValueRef end, LLVMValueRef n) {
  if (hiaL_is_leaf(e, e->id)) {
    hiaL_restart(e);
    LLVMBuildUnreachable(e->b);
    return;
  }
  hiaL_show_elements(e);
  LLVMValueRef args[5] = {hiaL_number(e, 32, loc), hiaL_number(e, 32, code), first, end, n};
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_range, args, 5);
  LLVMBuildUnreachable(e->b);
}

void hiaL_fail_range(hia_emit *e, hia_loc_id loc, bool is_slice, LLVMValueRef first,
                     LLVMValueRef end, LLVMValueRef n) {
  hiaL_fail_range_of(e, loc, is_slice, first, end, n);
}

void hiaL_fail_with(hia_emit *e, hia_loc_id loc, LLVMValueRef status, LLVMValueRef code) {
  if (hiaL_is_leaf(e, e->id)) {
    hiaL_restart(e);
    LLVMBuildUnreachable(e->b);
    return;
  }
  if (hiaL_is_for_kernels(e)) {
    hiaL_fail_row(e);
    return;
  }
  hiaL_show_elements(e);
  LLVMTypeRef type = e->types[HIA_I32];
  LLVMValueRef args[3] = {LLVMConstInt(type, loc, false), status, code};
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_fail, args, 3);
  LLVMBuildUnreachable(e->b);
}

/* Fuel is unsigned. The code of the failure is the fuel that was left. */
void hiaL_emit_CHARGE(hia_emit *e, hia_node_id n) {
  LLVMValueRef fuel = hiaL_in(e, n, 0);
  LLVMValueRef cost = LLVMConstInt(e->types[HIA_I64], hiaL_node(e, n)->imm, false);
  if (e->fuel_at == HIA_NONE) {
    LLVMBasicBlockRef empty = hiaL_block(e, "out_of_fuel"), next = hiaL_block(e, "charged");
    hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntULT, fuel, cost, "is_short"), empty, next);
    hiaL_at(e, empty);
    hiaL_fail(e, hiaL_node(e, n)->loc, HIA_FUEL, fuel);
    hiaL_at(e, next);
  }
  hiaL_out(e, n, 0, LLVMBuildSub(e->b, fuel, cost, "fuel"));
}

void hiaL_emit_LEND(hia_emit *e, hia_node_id n) {
  LLVMValueRef at = LLVMBuildLoad2(e->b, e->ptr, hiaL_field(e, HIA_FIELD_fuel), "lent");
  LLVMBuildStore(e->b, hiaL_in(e, n, 0), at);
}

void hiaL_emit_REGAIN(hia_emit *e, hia_node_id n) {
  LLVMValueRef at = LLVMBuildLoad2(e->b, e->ptr, hiaL_field(e, HIA_FIELD_fuel), "lent");
  hiaL_out(e, n, 0, LLVMBuildLoad2(e->b, e->types[HIA_I64], at, "fuel"));
}

void hiaL_emit_FAIL(hia_emit *e, hia_node_id n) {
  LLVMValueRef code = hiaL_in(e, n, 0);
  if (hiaG_type(e->fn, hiaG_in(e->fn, n, 0)) == HIA_I32)
    code = LLVMBuildSExt(e->b, code, e->types[HIA_I64], "code");
  hiaL_fail(e, hiaL_node(e, n)->loc, HIA_FAILED, code);
  /* The rest of this region is never executed, but its values must exist. */
  hiaL_at(e, hiaL_block(e, "dead"));
  for (uint32_t i = 0; i < hiaL_node(e, n)->n_outs; i++)
    hiaL_out(e, n, i, LLVMGetPoison(hiaL_type(e, hiaG_type(e->fn, hiaG_out(e->fn, n, i)))));
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
  hiaR_push(&e->comp->scratch, &e->merges, n);
}

/* ---- regions ---- */

static LLVMValueRef predicate(hia_emit *e, hia_region_id region) {
  hia_value_id pred = e->fn->regions.data[region].pred;
  if (pred == HIA_NONE || !e->values[pred])
    HIA_BUG(e->comp, "%s: region %u has no condition", e->fn->name, region);
  return e->values[pred];
}

static bool is_op(const hia_fn *fn, hia_value_id v, unsigned op) {
  return fn->nodes.data[fn->values.data[v].node].op == op;
}

/* True if an arm has no instructions (constants are none). */
static bool is_hollow(const hia_fn *fn, hia_region_id r) {
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
  flow->path = e->path;
  flow->is_hollow[0] = is_hollow(fn, then);
  flow->is_hollow[1] = is_hollow(fn, then + 1);
  if (flow->is_hollow[0] && flow->is_hollow[1]) return; /* a select */
  LLVMBasicBlockRef here = hiaL_here(e), side[2];
  flow->join = find_join(e, then, flow);
  for (uint32_t i = 0; i < 2; i++) {
    flow->from[i] = here; /* of a hollow arm */
    side[i] = flow->is_hollow[i] ? flow->join : hiaL_block(e, i == 0 ? "then" : "else");
  }
  flow->other = side[1];
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
  hia_path at_end = e->path;
  e->path = flow->path;
  flow->path = at_end;
  if (flow->join && !flow->is_hollow[1]) hiaL_at(e, flow->other);
}

static void close_else(hia_emit *e, hia_region_id r) {
  hia_flow *flow = hiaL_flow(e, r - 1);
  e->path = hiaG_longer_path(e->path, flow->path);
  close_arm(e, r - 1, 1);
  if (flow->join && !flow->is_joined) hiaL_at(e, flow->join);
}

/* True if the loop calls or forks. While forks are open, such a loop has its safepoint at the start
 * of its rounds, with the number of the open forks as its column. Other loops keep that number in
 * the frame, and get their safepoint after LLVM's passes (rounds.c). */
bool hiaL_has_calls(const hia_emit *e, hia_region_id head) {
  const hia_region *region = &e->fn->regions.data[head];
  return e->calls_before[region->first] != e->calls_before[region->last];
}

static void count_calls(hia_emit *e) {
  const hia_fn *fn = e->fn;
  e->calls_before = HIA_NEW_ARRAY(&e->comp->scratch, uint32_t, (size_t)fn->nodes.len + 1);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    unsigned op = fn->nodes.data[n].op;
    e->calls_before[n + 1] = e->calls_before[n] + (op == HIA_OP_CALL_I || op == HIA_OP_FORK);
  }
}

static void open_head(hia_emit *e, hia_region_id head) {
  hia_flow *flow = hiaL_flow(e, head);
  uint32_t number = hiaL_forks_number(e);
  if (number >= HIA_FORKS_OPEN)
    flow->forks = hiaL_has_calls(e, head) ? HIA_LOOP_POLLS : HIA_LOOP_KEEPS;
  if (flow->forks == HIA_LOOP_KEEPS) hiaL_keep_number(e, number);
  hiaL_keep_none(e, head); /* for loops outside of `check`, where hiaL_place_forks does it */
  flow->from[0] = hiaL_here(e);
  flow->head = hiaL_block(e, "head");
  flow->merges = e->merges.len;
  hiaL_open_loop_element(e, head);
  LLVMBuildBr(e->b, flow->head);
  hiaL_at(e, flow->head);
}

static void open_round(hia_emit *e, hia_region_id round) {
  hia_flow *flow = hiaL_flow(e, round - 1);
  flow->path = e->path;
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
  LLVMBasicBlockRef here = hiaL_here(e);
  for (uint32_t i = flow->merges; i < e->merges.len; i++) {
    hia_node_id merge = e->merges.data[i];
    hia_value_id out = hiaG_out(e->fn, merge, 0);
    for (unsigned part = hiaL_has_array(e, out) ? 0 : ITSELF; part <= ITSELF; part++) {
      LLVMValueRef next = part_of(e, hiaG_in(e->fn, merge, 1), part);
      LLVMAddIncoming(part_of(e, out, part), &next, &here, 1);
    }
  }
  hia_loc_id loc = hiaL_loop_loc(e); /* rounds.c reads it from the branches */
  e->merges.len = flow->merges;
  e->path = hiaG_longer_path(e->path, flow->path); /* no round, or the last; each round polls */
  if (loc != HIA_NONE) hiaL_set_debug_loc(e, loc, false);
  LLVMBuildBr(e->b, flow->head);
  hiaL_no_debug_loc(e);
  hiaL_at(e, flow->join);
  hiaL_close_loop_element(e, round - 1);
  if (flow->forks == HIA_LOOP_KEEPS) hiaL_keep_number(e, HIA_FORKS_NONE);
}

static void open_region(hia_emit *e, hia_region_id r) {
  switch ((hia_region_kind)e->fn->regions.data[r].kind) {
  case HIA_REGION_THEN: open_then(e, r); break;
  case HIA_REGION_ELSE: open_else(e, r); break;
  case HIA_REGION_HEAD: open_head(e, r); break;
  case HIA_REGION_ROUND: open_round(e, r); break;
  case HIA_REGION_BODY:
  case HIA_REGION_EACH: break; /* the latter: not in a static graph */
  }
  if (r == e->check) {
    hiaL_place_forks(e); /* every poll may read them */
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
  if (r == e->keeps_in) e->keeps_in = HIA_NONE;
}

/* NULL: the node cannot be lowered. */
static hia_emitter *emitter_of(const hia_emit *e, hia_node_id n) {
  unsigned op = e->fn->nodes.data[n].op;
  bool is_lifted = hiaR_ops[op].shape == HIA_SHAPE_ELEMENTWISE && hiaG_is_operation(e->fn, n);
  return is_lifted ? hiaL_emit_operation : emitters[op];
}

void hiaL_node_alone(hia_emit *e, hia_node_id n) { emitter_of(e, n)(e, n); }

static bool has_loops(const hia_fn *fn) {
  for (hia_region_id r = 0; r < fn->regions.len; r++)
    if (fn->regions.data[r].kind == HIA_REGION_HEAD) return true;
  return false;
}

void hiaL_body(hia_emit *e) {
  const hia_fn *fn = e->fn;
  uint32_t straight_line = 0;
  hia_context_edge *edges;
  uint32_t n_edges = hiaG_contexts(&e->comp->scratch, fn, &edges), at = 0;
  bool keeps_context = !e->options->merge_calls || (has_loops(fn) && !e->options->unchecked);
  if (keeps_context && !hiaL_is_for_kernels(e)) hiaL_keep_context(e);
  if (hiaL_does(e, e->id, HIA_E_FORKS)) count_calls(e);
  hiaL_open_forks(e);
  hiaL_open_hosts(e);
  hiaL_open_counts(e);
  hiaL_open_arrays(e);
  hiaL_open_kernel(e);
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
      hiaL_spend(e, hiaG_cost(fn, n));
    }
    if (!emitter_of(e, n)) HIA_BUG(e->comp, "%s: node %u cannot be lowered", fn->name, n);
    hiaL_wait_for_operands(e, n);
    emitter_of(e, n)(e, n);
    hiaL_note_arrays(e, n);
    if (n == e->fuel_at) hiaL_compare_fuel(e);
  }
  hiaL_close_forks(e);
}
