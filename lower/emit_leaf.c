/* Leaf functions: functions that make no calls.
 *
 * A function that has a full one (hia_fn.full) is lowered as if its arguments needed no calls:
 * where it would make one, and where an operation fails, it leaves all to the full function, by a
 * jump, as a tail call of the same signature. What it has done until then is done again; there is
 * nothing to undo. So it needs no frame, saves no registers, fails nowhere and makes no forks, and
 * compares with the limit in its loop only: the full function does all that.
 *
 * In a loop the full function goes on from the current round: it gets the loop's variables as
 * arguments. This needs a loop that is the whole function, as opt_tail.c makes it of tail calls, so
 * that beginning with other values of the parameters is to begin the function with these. */
#include "lower/emit.h"

/* More would travel in memory, which no jump can hand on. */
enum { MOST_PARAMS = 4, MOST_RESULTS = 4 };

static uint32_t *count_uses(hia_arena *arena, const hia_fn *fn) {
  uint32_t *uses = HIA_NEW_ARRAY(arena, uint32_t, fn->values.len);
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) uses[hiaG_in(fn, n, i)]++;
  return uses;
}

static const hia_node *definition(const hia_fn *fn, hia_value_id v) {
  return &fn->nodes.data[fn->values.data[v].node];
}

/* The only loop, or NONE; false if there are several, or it is not at the top. */
static bool find_loop(const hia_fn *fn, hia_region_id *loop) {
  *loop = HIA_NONE;
  for (hia_region_id r = 0; r < fn->regions.len; r++) {
    if (fn->regions.data[r].kind != HIA_REGION_HEAD) continue;
    if (*loop != HIA_NONE || fn->regions.data[r].parent != 0) return false;
    *loop = r;
  }
  return true;
}

/* Is each variable of the loop a parameter that nothing else uses, and happens nothing before it?
 */
static bool is_whole(hia_arena *arena, const hia_fn *fn, hia_region_id loop, hia_value_id *with) {
  const uint32_t *uses = count_uses(arena, fn);
  const hia_region *head = &fn->regions.data[loop];
  for (hia_node_id n = 0; n < head->first; n++) {
    unsigned op = fn->nodes.data[n].op;
    if (op != HIA_OP_MERGE_ENTRY && op != HIA_OP_CONST && op != HIA_OP_UNDEF && op != HIA_OP_ENTER)
      return false;
  }
  for (hia_node_id n = head->first; n < head->last; n++) {
    if (fn->nodes.data[n].op != HIA_OP_MERGE_LOOP) continue;
    hia_value_id first = hiaG_in(fn, n, 0);
    const hia_node *enter = definition(fn, first);
    if (enter->op != HIA_OP_ENTER || uses[first] != 1) return false;
    hia_value_id from = fn->edges.data[enter->ins];
    const hia_node *entry = definition(fn, from);
    if (entry->op != HIA_OP_MERGE_ENTRY || uses[from] != 1) return false;
    with[HIA_IMM_A(entry->imm)] = hiaG_out(fn, n, 0);
  }
  return true;
}

/* What stands for the parameters when the function begins anew. NULL: it cannot. */
static hia_value_id *parameters(hia_arena *arena, const hia_fn *fn) {
  hia_value_id *with = HIA_NEW_ARRAY(arena, hia_value_id, fn->n_params);
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_MERGE_ENTRY)
      with[HIA_IMM_A(fn->nodes.data[n].imm)] = hiaG_out(fn, n, 0);
  hia_region_id loop;
  if (!find_loop(fn, &loop)) return NULL;
  return loop == HIA_NONE || is_whole(arena, fn, loop, with) ? with : NULL;
}

bool hiaL_can_be_leaf(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  hia_arena *arena = &e->comp->scratch;
  if (fn->n_params > MOST_PARAMS || fn->n_results > MOST_RESULTS || hiaL_is_large(fn) ||
      hiaL_does(e, id, HIA_DOES_COUNT | HIA_HAS_FORKS))
    return false;
  hia_mark mark = hiaR_arena_mark(arena);
  bool can = parameters(arena, fn);
  hiaR_arena_release(arena, mark);
  return can;
}

void hiaL_open_leaf(hia_emit *e) {
  e->restart = NULL;
  e->restart_with = parameters(&e->comp->scratch, e->fn);
}

void hiaL_restart(hia_emit *e) {
  if (!e->restart) e->restart = hiaL_block(e, "restart");
  LLVMBuildBr(e->b, e->restart);
  hiaL_at(e, hiaL_block(e, "dead"));
}

void hiaL_close_leaf(hia_emit *e) {
  if (!e->restart) return;
  hia_fn_id full = e->fn->full;
  hiaL_at(e, e->restart);
  hiaL_spend_call(e, full); /* no way that leads here is longer than that to the function's end */
  hiaL_open_args(e);
  for (uint32_t i = 0; i < e->fn->n_params; i++)
    hiaR_push(&e->comp->scratch, &e->args, e->values[e->restart_with[i]]);
  hiaL_set_debug_loc(e, HIA_NONE, false);
  LLVMValueRef call = hiaL_build_call(e, full);
  hiaL_no_debug_loc(e);
  LLVMSetTailCallKind(call, LLVMTailCallKindMustTail);
  hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "cold", 0);
  if (e->fn->n_results)
    LLVMBuildRet(e->b, call);
  else
    LLVMBuildRetVoid(e->b);
}
