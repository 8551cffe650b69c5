/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* effects: what nodes and functions may do besides computing their results, and which functions
 * form a recursive group. Nothing else combines the traits of ops with those of callees.
 *
 * For functions one would iterate until nothing changes. But groups are numbered callees first
 * (scc.c), so one pass is enough: the effects of a group are those of its members themselves, and
 * those of the groups that they call. */
#include "graph/analysis/effects.h"
#include "graph/ir/graph.h"
#include "graph/ir/scc.h"
#include "graph/ir/walk.h"

/* ---- nodes ---- */

/* By op, as far as its traits say. */
static const uint16_t of_op[HIA_OP_LIMIT] = {
#define OF(traits, TRAIT, EFFECT) ((traits) & HIA_T_##TRAIT ? HIA_E_##EFFECT : 0)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  [number] = OF(traits, RAISES, RAISES) | OF(traits, ALLOCATES, ALLOCATES) |                       \
             OF(traits, READS, READS) | OF(traits, EFFECT, ONCE) | OF(traits, GUARDED, GUARDED) |  \
             OF(traits, CONTROL, STRUCTURE),
#include "runtime/base/ops.def"
};

/* The only ops that fail on integers are / and %. */
static bool may_fail_on_integers(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  hia_dtype type = hiaG_node_dtype(g, fn, n);
  if (type != HIA_I32 && type != HIA_I64) return false;
  hia_word divisor;
  return !hiaG_is_const(fn, hiaG_in(fn, n, 1), &divisor) || divisor == 0 ||
         divisor == hiaR_from_i64(-1);
}

/* An op on scalars that is lifted to tensors: of two different ones the shapes may not fit. */
static uint16_t of_lifted(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  uint16_t effects = of_op[node->op] | HIA_E_READS | HIA_E_ALLOCATES;
  if (hiaR_ops[node->op].traits & HIA_T_RAISES_INT && may_fail_on_integers(g, fn, n))
    return effects | HIA_E_RAISES;
  hia_value_id tensor = HIA_NONE;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(fn, n, i);
    if (hiaG_is_scalar(hiaG_type(fn, v)) || v == tensor) continue;
    if (tensor != HIA_NONE) return effects | HIA_E_RAISES;
    tensor = v;
  }
  return effects;
}

/* Without the nodes inside it, and without what it calls. */
static uint16_t of_node(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  if (hiaR_ops[node->op].shape == HIA_SHAPE_ELEMENTWISE && hiaG_is_operation(fn, n))
    return of_lifted(g, fn, n);
  switch (node->op) {
  case HIA_OP_CONST:
  case HIA_OP_UNDEF: return 0;
  case HIA_OP_LOOP:
  case HIA_OP_MAP: /* becomes a loop; and there may not be memory for it */
  case HIA_OP_MERGE_LOOP: return of_op[node->op] | HIA_E_DIVERGES;
  case HIA_OP_GRAD: return of_op[node->op] | HIA_E_ALLOCATES;
  case HIA_OP_OBSERVE:
  case HIA_OP_COUNT: return of_op[node->op] | HIA_E_COUNTS;
  case HIA_OP_FORK: return of_op[node->op] | HIA_E_FORKS;
  case HIA_OP_HOST: { /* a pure one is trusted to end, and may be called any number of times */
    const hia_extern *e = &g->externs.data[node->imm];
    return (uint16_t)(HIA_E_HOST | (e->is_impure ? HIA_E_IMPURE : 0) |
                      (e->raises ? HIA_E_RAISES : 0));
  }
  default:
    if (hiaR_ops[node->op].traits & HIA_T_RAISES_INT && may_fail_on_integers(g, fn, n))
      return of_op[node->op] | HIA_E_RAISES;
    return of_op[node->op];
  }
}

/* The function that a node calls, or a thief for it; NONE: none. In either state. */
static hia_fn_id callee_of(const hia_graph *g, const hia_node *node) {
  return node->op == HIA_OP_CALL_I ? g->sites.data[HIA_IMM_A(node->imm)].callee
                                   : hiaG_called(g, node);
}

/* Returns the effects of a node without the nodes inside it. A thief's call fails where it is
 * joined, so a fork does not. */
static uint16_t with_callee(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  uint16_t effects = of_node(g, fn, n);
  if (!(effects & (HIA_E_STRUCTURE | HIA_E_ONCE)) || effects & HIA_E_FORKS) return effects;
  hia_fn_id callee = callee_of(g, node);
  if (callee == HIA_NONE) return effects;
  return effects | (hiaG_fn(g, callee)->effects & HIA_E_OF_CALLS);
}

uint16_t hiaG_own_effects(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  return with_callee(g, fn, n);
}

uint16_t hiaG_node_effects(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  uint16_t effects = with_callee(g, fn, n);
  if (fn->nodes.data[n].regions == HIA_NONE) return effects;
  hia_node_id end = hiaG_walk_over(fn, n);
  for (hia_node_id in = hiaG_walk_next(fn, n); in != end; in = hiaG_walk_next(fn, in))
    effects |= with_callee(g, fn, in);
  return effects;
}

/* The walk stops at the first node that has one of the effects. Most callers ask at every level of
 * nested branches, of which each would be walked to its end; but a branch by itself is
 * HIA_E_STRUCTURE. */
bool hiaG_node_does(const hia_graph *g, const hia_fn *fn, hia_node_id n, unsigned any_of) {
  if (with_callee(g, fn, n) & any_of) return true;
  if (fn->nodes.data[n].regions == HIA_NONE) return false;
  hia_node_id end = hiaG_walk_over(fn, n);
  for (hia_node_id in = hiaG_walk_next(fn, n); in != end; in = hiaG_walk_next(fn, in))
    if (with_callee(g, fn, in) & any_of) return true;
  return false;
}

bool hiaG_node_movable(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  return !hiaG_node_does(g, fn, n, ~0u);
}

bool hiaG_node_removable(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  unsigned op = fn->nodes.data[n].op;
  if (op == HIA_OP_ARG || op == HIA_OP_YIELD || hiaR_ops[op].traits & HIA_T_STATIC) return false;
  return !hiaG_node_does(g, fn, n, HIA_E_OF_CALLS | HIA_E_ONCE);
}

/* ---- functions ---- */

typedef struct call_graph {
  uint32_t n, n_groups;
  uint32_t *first, *callees; /* those of f: callees[first[f]] .. callees[first[f + 1] - 1] */
  uint32_t *group;           /* by function, callees first */
} call_graph;

/* Writes what each function does by itself, and returns the calls. */
static call_graph look(const hia_graph *g, hia_arena *scratch, uint16_t *effects) {
  call_graph c = {.n = g->fns.len};
  hia_u32vec callees = {0};
  c.first = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)c.n + 1);
  c.group = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)c.n + 1);
  for (hia_fn_id f = 0; f < c.n; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    c.first[f] = callees.len;
    if (fn->is_removed) continue;
    if (fn->slow_path != HIA_NONE) hiaR_push(scratch, &callees, fn->slow_path);
    bool is_static = g->state == HIA_STATIC;
    hia_node_id n = is_static ? 0 : fn->regions.data[0].first;
    while (n < fn->nodes.len) { /* NONE is more */
      effects[f] |= of_node(g, fn, n);
      hia_fn_id callee = callee_of(g, &fn->nodes.data[n]);
      if (callee != HIA_NONE) hiaR_push(scratch, &callees, callee);
      if (callee == f) effects[f] |= HIA_E_RECURSIVE;
      n = is_static ? n + 1 : hiaG_walk_next(fn, n);
    }
  }
  c.first[c.n] = callees.len;
  c.callees = callees.data;
  c.n_groups = hiaG_scc(scratch, c.n, c.first, c.callees, c.group);
  return c;
}

/* Makes the effects of functions those of their calls, too. */
static void spread(const call_graph *c, hia_arena *scratch, uint16_t *effects) {
  hia_buckets by_group = hiaG_buckets(scratch, c->n_groups, c->n, c->group, NULL);
  for (uint32_t i = 0; i < c->n_groups; i++) {
    const hia_fn_id *member = by_group.items + by_group.start[i],
                    *end = by_group.items + by_group.start[i + 1];
    unsigned all = end - member > 1 ? HIA_E_RECURSIVE : 0;
    for (const hia_fn_id *m = member; m < end; m++) {
      all |= effects[*m] & (HIA_E_OF_CALLS | HIA_E_RECURSIVE);
      for (uint32_t k = c->first[*m]; k < c->first[*m + 1]; k++)
        all |= effects[c->callees[k]] & HIA_E_OF_CALLS;
    }
    if (all & HIA_E_RECURSIVE) all |= HIA_E_DIVERGES;
    for (const hia_fn_id *m = member; m < end; m++) effects[*m] |= (uint16_t)all;
  }
}

uint16_t *hiaG_find_effects(const hia_graph *g, hia_arena *arena, const uint32_t **groups) {
  uint16_t *effects = HIA_NEW_ARRAY(arena, uint16_t, (size_t)g->fns.len + 1);
  call_graph c = look(g, arena, effects);
  spread(&c, arena, effects);
  if (groups) *groups = c.group;
  return effects;
}

/* Sets effects and group of every function that is not removed. */
void hiaG_effects(hia_graph *g) {
  hia_arena *scratch = &g->comp->scratch;
  uint16_t *effects = HIA_NEW_ARRAY(scratch, uint16_t, (size_t)g->fns.len + 1);
  call_graph c = look(g, scratch, effects);
  spread(&c, scratch, effects);
  /* Numbers without holes, of the groups that have functions which are not removed. */
  uint32_t *number = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)c.n_groups + 1), n = 0;
  HIA_EACH_FN(g, f) number[c.group[f]] = 1;
  for (uint32_t i = 0; i < c.n_groups; i++) {
    uint32_t is_used = number[i];
    number[i] = n;
    n += is_used;
  }
  for (hia_fn_id f = 0; f < c.n; f++) {
    hia_fn *fn = hiaG_fn(g, f);
    fn->effects = effects[f] & (HIA_E_OF_CALLS | HIA_E_RECURSIVE);
    fn->group = number[c.group[f]];
  }
}
