/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Leaf functions: functions that make no calls.
 *
 * A function with a slow path (hia_fn.slow_path) is lowered as if its arguments needed no calls:
 * where it would make one, and where an operation fails, it leaves all to the slow path, by a
 * jump, as a tail call of the same signature. What it has done until then is done again; there is
 * nothing to undo. So it needs no frame, saves no registers, fails nowhere and makes no forks, and
 * compares with the limit in its loop only: the slow path does all that.
 *
 * In a loop the slow path goes on from the current round: it gets the loop's variables as
 * arguments. This needs a loop that is the whole function, as opt_tail.c makes it of tail calls, so
 * that beginning with other values of the parameters is to begin the function with these.
 *
 * Fuel (graph/fuel.c) is looked at once, where the function or a round begins: if there is enough
 * for all charges that could follow, none of them can fail, and a charge is a subtraction, which
 * LLVM makes one of with others. If there is not, the slow path finds out where it ends, one
 * charge after the other. */
#include "lower/emit.h"

/* ---- fuel ---- */

/* Values on the way from charges back to the parameter that is their fuel. */
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
    if (e->restart_with[i] != v) continue;
    *which = i;
    return true;
  }
  return false;
}

/* The one parameter that the operands of all charges come from, by way of nothing but charges and
 * what hands values on; NONE if it is not like that. Adds up the charges. */
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
    case HIA_OP_RETURN_I: continue; /* nothing comes back: the function begins anew there */
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

/* Behind the nodes that make the parameters, all of which beginning anew takes, and before all
 * charges. */
static void plan_fuel(hia_emit *e) {
  const hia_fn *fn = e->fn;
  hia_mark mark = hiaR_arena_mark(&e->comp->scratch);
  uint32_t which = fuel_parameter(e, &e->fuel_needed);
  hiaR_arena_release(&e->comp->scratch, mark);
  if (which == HIA_NONE) return;
  e->fuel = e->restart_with[which];
  hia_node_id first = fn->values.data[e->fuel].node, last = HIA_NONE;
  for (hia_node_id n = 0; fn->nodes.data[n].op != HIA_OP_CHARGE; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == fn->nodes.data[first].op && node->region == fn->nodes.data[first].region)
      last = n;
  }
  if (last == HIA_NONE || last < first) return;
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (fn->values.data[e->restart_with[i]].node > last) return;
  e->fuel_at = last;
}

void hiaL_look_at_fuel(hia_emit *e) {
  LLVMBasicBlockRef low = hiaL_block(e, "low_on_fuel"), next = hiaL_block(e, "fuelled");
  LLVMValueRef needed = LLVMConstInt(e->types[HIA_I64], e->fuel_needed, false);
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntULT, e->values[e->fuel], needed, "is_low"), low,
                next);
  hiaL_at(e, low);
  hiaL_restart(e);
  LLVMBuildUnreachable(e->b);
  hiaL_at(e, next);
}

/* ---- opening and closing ---- */

void hiaL_open_leaf(hia_emit *e) {
  e->restart = NULL;
  e->restart_with = hiaG_restart_values(&e->comp->scratch, e->fn);
  plan_fuel(e);
}

void hiaL_restart(hia_emit *e) {
  if (!e->restart) e->restart = hiaL_block(e, "restart");
  LLVMBuildBr(e->b, e->restart);
  hiaL_at(e, hiaL_block(e, "dead"));
}

void hiaL_close_leaf(hia_emit *e) {
  if (!e->restart) return;
  hia_fn_id slow = e->fn->slow_path;
  hiaL_at(e, e->restart);
  hiaL_spend_call(e, slow); /* no way that leads here is longer than that to the function's end */
  hiaL_open_args(e);
  for (uint32_t i = 0; i < e->fn->n_params; i++)
    hiaR_push(&e->comp->scratch, &e->args, e->values[e->restart_with[i]]);
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
