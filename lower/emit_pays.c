/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The test whether a fork pays (hia_fork_pays of runtime/native/fork.h): a function of the fork's
 * arguments that is true if the callee, called with them, would call anything, loop, or do a lot.
 *
 *     fib(n):  1 < n
 *     tak(x, y, z):  y < x
 *
 * One would expect the oldest fork of a frame to be worth taking. But most calls of a tree
 * recursion are leaves, and the oldest fork may well be one: in tak a third of the forks served to
 * thieves were. So the worker that serves a steal request tests the fork's arguments first.
 *
 * The test is made from the callee's branches, followed as long as their conditions are cheap. A
 * region that calls directly pays; one without calls does not; if all calls are behind one branch,
 * the arm taken decides. The test is true where it would need something that must not be computed
 * early: operations that can fail, results of calls, results of other branches. Its code has no
 * branches itself. */
#include "lower/emit.h"
#include <stdio.h>

enum {
  MAX_NODES = 24, /* that are computed */
  MAX_DEPTH = 8,  /* of branches that are followed */
  MAX_COST = 32,  /* of one node */
};

typedef struct paying {
  hia_emit *e;
  bool *takes_long; /* by region: it has calls, loops or much work, itself or in regions inside */
  bool *is_long;    /* by region: the same, regions inside not counted */
  uint32_t n_nodes;
} paying;

void hiaL_pays_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id callee) {
  snprintf(name, HIA_ENTRY_NAME_SIZE, "hia_pays_%u", callee);
}

static LLVMValueRef always(const paying *p) {
  return LLVMConstInt(p->e->types[HIA_BOOL], 1, false);
}
static LLVMValueRef never(const paying *p) { return LLVMConstInt(p->e->types[HIA_BOOL], 0, false); }

static bool calls_much(const paying *p, const hia_node *node) {
  if (node->op == HIA_OP_HOST) return true;
  if (node->op != HIA_OP_CALL_I) return false;
  const hia_graph *g = p->e->g;
  return hiaG_polls(hiaG_fn(g, g->sites.data[HIA_IMM_A(node->imm)].callee));
}

static void look(paying *p) {
  const hia_fn *fn = p->e->fn;
  p->takes_long = HIA_NEW_ARRAY(&p->e->comp->scratch, bool, fn->regions.len);
  p->is_long = HIA_NEW_ARRAY(&p->e->comp->scratch, bool, fn->regions.len);
  uint64_t *cost = HIA_NEW_ARRAY(&p->e->comp->scratch, uint64_t, fn->regions.len);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    hia_region_id r = fn->nodes.data[n].region;
    cost[r] += hiaG_cost(fn, n);
    if (calls_much(p, &fn->nodes.data[n]) || cost[r] > HIA_MAX_UNPOLLED_FN) p->is_long[r] = true;
  }
  for (hia_region_id r = fn->regions.len; r-- > 0;) { /* children before their parents */
    p->takes_long[r] |= p->is_long[r] || fn->regions.data[r].kind == HIA_REGION_HEAD;
    if (r) p->takes_long[fn->regions.data[r].parent] |= p->takes_long[r];
  }
}

/* The only branch or loop in a region that takes long: its first region. 0: there are several. */
static hia_region_id only_one(const paying *p, hia_region_id around) {
  const hia_fn *fn = p->e->fn;
  hia_region_id found = 0;
  for (hia_region_id r = around + 1; r < fn->regions.len; r++) {
    const hia_region *region = &fn->regions.data[r];
    if (region->parent != around || !p->takes_long[r]) continue;
    hia_region_id first = region->kind == HIA_REGION_ELSE ? r - 1 : r;
    if (found && found != first) return 0;
    found = first;
  }
  return found;
}

/* True if all operands of the node have been computed. */
static bool is_known(const paying *p, hia_node_id n) {
  for (uint32_t i = 0; i < p->e->fn->nodes.data[n].n_ins; i++)
    if (!p->e->values[hiaG_in(p->e->fn, n, i)]) return false;
  return true;
}

/* Computes the value of a node, if that is cheap and cannot fail. */
static void compute(paying *p, hia_node_id n) {
  hia_emit *e = p->e;
  const hia_node *node = hiaL_node(e, n);
  switch (node->op) {
  case HIA_OP_ENTER:
  case HIA_OP_MERGE_LOOP: /* of the first round */
  case HIA_OP_SWITCH:
    for (uint32_t i = 0; i < node->n_outs; i++) hiaL_out(e, n, i, e->values[hiaG_in(e->fn, n, 0)]);
    return;
  case HIA_OP_CONST: hiaL_node_alone(e, n); return;
  default: break;
  }
  bool is_cheap = !(hiaR_ops[node->op].traits & (HIA_T_CONTROL | HIA_T_EFFECT)) &&
                  !hiaG_node_raises(e->g, e->fn, n) && hiaG_cost(e->fn, n) <= MAX_COST;
  if (is_cheap && is_known(p, n)) {
    hiaL_node_alone(e, n);
    p->n_nodes++;
  }
}

static LLVMValueRef predicate(const paying *p, hia_region_id r) {
  hia_value_id v = p->e->fn->regions.data[r].pred;
  return v == HIA_NONE ? NULL : p->e->values[v];
}

/* True, when the test runs, if the region would take long once entered. Recursion: MAX_DEPTH. */
static LLVMValueRef region_pays(paying *p, hia_region_id r, unsigned depth) {
  const hia_fn *fn = p->e->fn;
  if (!p->takes_long[r]) return never(p);
  hia_region_id inner = p->is_long[r] || depth == MAX_DEPTH ? 0 : only_one(p, r);
  if (!inner) return always(p);
  bool is_loop = fn->regions.data[inner].kind == HIA_REGION_HEAD;
  hia_node_id end = is_loop ? fn->regions.data[inner + 1].first : fn->regions.data[inner].first;
  for (hia_node_id n = fn->regions.data[r].first; n < end; n++) {
    hia_region_id region = fn->nodes.data[n].region;
    if (region == r || (is_loop && region == inner)) compute(p, n);
    if (p->n_nodes > MAX_NODES) return always(p);
  }
  LLVMValueRef condition = predicate(p, is_loop ? inner + 1 : inner);
  if (!condition || (is_loop && p->is_long[inner])) return always(p);
  if (is_loop) return condition; /* a round, and possibly any number of further ones */
  LLVMValueRef then_pays = region_pays(p, inner, depth + 1),
               else_pays = region_pays(p, inner + 1, depth + 1);
  return LLVMBuildSelect(p->e->b, condition, then_pays, else_pays, "");
}

void hiaL_pays(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  paying p = {.e = e};
  char name[HIA_ENTRY_NAME_SIZE];
  if (hiaG_is_large(fn)) return;
  look(&p);
  memset(e->values, 0, fn->values.len * sizeof(LLVMValueRef));
  hiaL_pays_name(name, id);
  LLVMValueRef f = hiaL_add_named(e, name, LLVMFunctionType(e->types[HIA_I32], &e->ptr, 1, false));
  e->function = f;
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_no_debug_loc(e);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op != HIA_OP_MERGE_ENTRY) continue;
    uint32_t i = HIA_IMM_A(node->imm);
    LLVMValueRef at = hiaL_word_at(e, LLVMGetParam(f, 0), i);
    hiaL_out(e, n, 0, hiaL_load_word(e, at, fn->params[i]));
  }
  LLVMValueRef pays = region_pays(&p, 0, 0);
  if (LLVMIsAConstant(pays)) {
    LLVMDeleteFunction(f); /* true: without the function the runtime takes every fork to pay */
    return;
  }
  LLVMBuildRet(e->b, LLVMBuildZExt(e->b, pays, e->types[HIA_I32], ""));
  hiaL_serve_runtime(e, f);
  LLVMSetFunctionCallConv(f, LLVMCCallConv);
}
