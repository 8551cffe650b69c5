/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Leaf functions: functions that make no calls.
 *
 * One would expect a function that may call to need a frame. But most activations of an unrolled
 * recursion make no call. So a function with a slow path (hia_fn.slow_path) is lowered as if its
 * arguments needed no calls. Where it would call, and where an operation fails, it jumps to the
 * slow path instead, as a tail call of the same signature. The slow path begins again from the
 * arguments; there is nothing to undo. So a leaf function needs no frame, saves no registers, fails
 * nowhere and makes no forks, and has a safepoint in its loop only: the slow path does all that.
 *
 * In a loop the slow path goes on from the current round: it gets the loop's variables as
 * arguments. This requires that the loop is the whole function, as passes/tail.c makes it from tail
 * calls. Then a round with some values of the variables does what the function does with these
 * arguments.
 *
 * Fuel (graph/passes/fuel.c) is compared once, where the function or a round begins. If there is
 * enough for all charges that could follow, none of them can fail. Each is then a subtraction, and
 * LLVM combines them. If there is not enough, the slow path finds the charge that fails. */
#include "lower/function/function.h"

/* ---- fuel ---- */

/* Values on the path from charges back to the parameter that is their fuel. */
typedef struct fuel_search {
  hia_arena *arena;
  bool *is_found; /* by value */
  hia_u32vec todo;
} fuel_search;

static void find_fuel(fuel_search *s, hia_value_id v) {
  if (s->is_found[v]) return;
  s->is_found[v] = true;
  hiaR_push(s->arena, &s->todo, v);
}

static bool is_parameter(const hia_emit *e, hia_value_id v, uint32_t *which) {
  for (uint32_t i = 0; i < e->fn->n_params; i++) {
    if (e->local.restart_with[i] != v) continue;
    *which = i;
    return true;
  }
  return false;
}

/* The parameter from which the operands of all charges come, through charges and nodes that pass
 * values on; NONE if there is no such parameter. *sum is the sum of the charges. */
static uint32_t fuel_parameter(hia_emit *e, uint64_t *sum) {
  const hia_fn *fn = e->fn;
  fuel_search s = {.arena = &e->comp->scratch};
  s.is_found = HIA_NEW_ARRAY(s.arena, bool, fn->values.len);
  uint32_t found = HIA_NONE, which;
  *sum = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    if (fn->nodes.data[n].op != HIA_OP_CHARGE) continue;
    find_fuel(&s, hiaG_in(fn, n, 0));
    *sum += fn->nodes.data[n].imm;
  }
  while (s.todo.len) {
    hia_value_id v = s.todo.data[--s.todo.len];
    const hia_node *node = &fn->nodes.data[fn->values.data[v].node];
    if (is_parameter(e, v, &which)) {
      if (found != HIA_NONE && found != which) return HIA_NONE;
      found = which;
      continue;
    }
    switch (node->op) {
    case HIA_OP_RETURN_I: continue; /* never returns: the function restarts there */
    case HIA_OP_MERGE: find_fuel(&s, fn->edges.data[node->ins + 1]); break;
    case HIA_OP_CHARGE:
    case HIA_OP_SWITCH:
    case HIA_OP_ENTER:
    case HIA_OP_EXIT: break;
    default: return HIA_NONE;
    }
    find_fuel(&s, fn->edges.data[node->ins]); /* of a SWITCH the value */
  }
  return found;
}

/* Decides where the fuel is compared: behind the nodes that define the parameters, because a
 * restart passes all of them, and before all charges. */
static void plan_fuel(hia_emit *e) {
  const hia_fn *fn = e->fn;
  hia_mark mark = hiaR_arena_mark(&e->comp->scratch);
  uint32_t which = fuel_parameter(e, &e->local.fuel_needed);
  hiaR_arena_release(&e->comp->scratch, mark);
  if (which == HIA_NONE) return;
  e->local.fuel = e->local.restart_with[which];
  hia_node_id first = fn->values.data[e->local.fuel].node, last = HIA_NONE;
  for (hia_node_id n = 0; fn->nodes.data[n].op != HIA_OP_CHARGE; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == fn->nodes.data[first].op && node->region == fn->nodes.data[first].region)
      last = n;
  }
  if (last == HIA_NONE || last < first) return;
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (fn->values.data[e->local.restart_with[i]].node > last) return;
  e->local.fuel_at = last;
}

void hiaL_compare_fuel(hia_emit *e) {
  LLVMBasicBlockRef low = hiaL_block(e, "low_on_fuel"), next = hiaL_block(e, "fuelled");
  LLVMValueRef needed = LLVMConstInt(e->types[HIA_I64], e->local.fuel_needed, false);
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntULT, e->values[e->local.fuel], needed, "is_low"), low,
                next);
  hiaL_at(e, low);
  hiaL_restart(e);
  LLVMBuildUnreachable(e->b);
  hiaL_at(e, next);
}

/* ---- opening and closing ---- */

void hiaL_open_leaf(hia_emit *e) {
  e->local.restart_with = hiaG_restart_values(&e->comp->scratch, e->fn);
  plan_fuel(e);
}

void hiaL_close_leaf(hia_emit *e) {
  if (!e->local.restart) return;
  hia_fn_id slow = e->fn->slow_path;
  hiaL_at(e, e->local.restart);
  hiaL_spend_call(e, slow); /* no path to here is longer than the path to the function's end */
  hiaL_open_args(e);
  for (uint32_t i = 0; i < e->fn->n_params; i++)
    hiaR_push(&e->comp->scratch, &e->local.args, e->values[e->local.restart_with[i]]);
  hiaL_set_debug_loc(e, HIA_NONE, false);
  LLVMValueRef call = hiaL_build_call(e, slow);
  hiaL_no_debug_loc(e);
  LLVMSetTailCallKind(call, LLVMTailCallKindMustTail);
  hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "cold", 0);
  if (e->fn->n_results)
    LLVMBuildRet(e->b, call);
  else
    LLVMBuildRetVoid(e->b);
}
