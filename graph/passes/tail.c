/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tail: tail calls inside a recursive group become loops, for every engine.
 *
 * One would leave tail calls to the code generator. But constant space is part of the language's
 * meaning, in every engine, and code generators do not guarantee it. So this pass makes loops of
 * tail calls, and cannot be switched off. Functions that call each other in tail
 * position, directly or in a cycle, are merged into one function with one loop; a function that
 * tail-calls only itself is changed in place. Requires hiaG_effects (groups), and makes them stale.
 *
 * A body is a tree along its tail. A region ends in a tail call, in an exit, or in a branch whose
 * results are the function's; then each arm of the branch ends in one of the three. The regions of
 * this tree are called spots.
 *
 *     fn gcd(a, b) = if b == 0 then a else gcd(b, a % b)
 *
 *     loop (a, b)                                the head: the tree, of which every spot yields
 *       head   if b == 0 { yield false }         `go on?`; its branches become results of `if`s
 *              else      { yield true  }
 *       round  a % b; yield (b, a % b)           what leads to the next round
 *
 * If only one spot D goes on, its nodes move into the round: they run only when the loop goes on,
 * and need only values of the head and of the spots around D, which the branches between pass out
 * ("exports"). If only one spot X leaves the loop, its nodes move behind the loop in the same way.
 * Otherwise each spot also yields the next values or the results, and undef for the rest:
 *
 *     (go on?, next values... unless D, results... unless X, exports...)
 *
 * Where several functions are merged, the first loop variable is the state: the number of the
 * member that runs next. The head begins with a branch for each bit of it, and parameters share
 * variables by dtype. If a member is a root, it becomes an entry that calls the merged function.
 * All other calls go to the merged function directly. The entry's call is a tail call, so
 * backtraces stay the source's.
 *
 * The order of nodes that can fail stays what it was along every path, and COUNT nodes stay where
 * they are: a round of such a loop is a call in the source, and was counted before the call. */
#include "graph/analysis/groups.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/scc.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef enum spot_kind {
  SPOT_EXIT,   /* no tail call below */
  SPOT_CALL,   /* ends in a tail call */
  SPOT_BRANCH, /* ends in a branch with tail calls below */
} spot_kind;

typedef struct spot {
  spot_kind kind;
  bool goes_on;  /* no exit below */
  bool is_inner; /* lies in a spot that is all exit or all goes on */
  hia_region_id region;
  hia_node_id end;           /* the CALL or IF; NONE for an exit */
  uint32_t parent;           /* the spot around; NONE for the first */
  const uint32_t *operand;   /* of each result of the function among the operands of the YIELD */
  uint32_t n_calls, n_exits; /* spots without a branch, here or below */
  hia_u32vec exports;        /* BRANCH: values of spots further in that the IF passes out */
} spot;
typedef HIA_VEC(spot) spot_vec;

typedef struct tail {
  hia_graph *g;
  hia_arena *scratch;
  uint32_t n_fns;        /* before this pass */
  const uint32_t *class; /* by function: only tail calls within one class are changed */
  hia_fn_id *merged;     /* by function: the function it was merged into, or NONE */
  uint32_t *state;       /* by function: its number in the merged function */
  uint32_t **variable;   /* by function: the loop variable of each parameter */
  hia_u32vec loops;      /* functions with ".loop" in their names */
} tail;

/* The loop being made. */
typedef struct looping {
  tail *t;
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn;
  hia_loc_id loc;
  hia_node_id loop;
  hia_region_id head;
  bool has_state;
  const hia_type *vars;
  hia_value_id first_var; /* the variables in the head; the state is the first */
  uint32_t n_vars, n_results;
  spot_vec spots;
  uint32_t next_spot, exit_spot;     /* D and X, or NONE */
  hia_u32vec next_needs, exit_needs; /* values of other spots that D and X use */
  hia_subst next_subst, exit_subst;  /* their replacements in the round and behind the loop */
  uint32_t *slot;                    /* by value: its index among the exports of one branch */
  hia_u32vec tuple;                  /* operands of the YIELD being made */
  hia_value_id *undef;               /* by type */
  hia_region_id undef_region;        /* the region that undef[] is in */
} looping;

/* ---- the tree ---- */

/* Finds the spot of a region. Operand `operand[r]` of the region's YIELD is result r of the
 * function.
 */
static spot look(const tail *t, const hia_fn *fn, uint32_t class, hia_region_id region,
                 const uint32_t *operand, uint32_t parent) {
  spot s = {
      .kind = SPOT_EXIT, .region = region, .end = HIA_NONE, .parent = parent, .operand = operand};
  hia_node_id yield = hiaG_yield_of(fn, region);
  const hia_node *nodes = fn->nodes.data;
  hia_node_id end = nodes[yield].prev;
  while (end != HIA_NONE && hiaG_is_constant(nodes[end].op)) end = nodes[end].prev;
  if (end == HIA_NONE) return s;
  const hia_node *node = &nodes[end];
  if (node->op == HIA_OP_CALL) {
    hia_fn_id callee = hiaG_callee(node);
    if (!(node->flags & HIA_NODE_TAIL) || node->n_outs != fn->n_results) return s;
    /* A copy of a tail call, in a body that was copied for a call which is in the backtrace. */
    if (node->loc != HIA_NONE && t->g->locs.data[node->loc].parent != HIA_NONE) return s;
    if (callee >= t->n_fns || t->class[callee] != class) return s;
  } else if (node->op != HIA_OP_IF) {
    return s;
  }
  for (uint32_t i = 0; i < fn->n_results; i++) {
    hia_value_id v = hiaG_in(fn, yield, operand[i]);
    if (node->op == HIA_OP_CALL ? v != node->outs + i : v - node->outs >= node->n_outs) return s;
  }
  s.kind = node->op == HIA_OP_CALL ? SPOT_CALL : SPOT_BRANCH;
  s.end = end;
  return s;
}

/* Returns the numbers of the function's results among the operands that the arms of a BRANCH yield.
 */
static const uint32_t *inner_operands(tail *t, const hia_fn *fn, const spot *s) {
  hia_node_id yield = hiaG_yield_of(fn, s->region);
  hia_value_id outs = fn->nodes.data[s->end].outs;
  bool is_same = true;
  for (uint32_t i = 0; i < fn->n_results; i++)
    is_same &= hiaG_in(fn, yield, s->operand[i]) - outs == s->operand[i];
  if (is_same) return s->operand;
  uint32_t *operand = HIA_NEW_ARRAY(t->scratch, uint32_t, fn->n_results);
  for (uint32_t i = 0; i < fn->n_results; i++)
    operand[i] = hiaG_in(fn, yield, s->operand[i]) - outs;
  return operand;
}

/* Lists all spots from a region inwards, outer before inner. */
static void find_spots(tail *t, const hia_fn *fn, uint32_t class, hia_region_id region,
                       spot_vec *spots) {
  uint32_t *operand = HIA_NEW_ARRAY(t->scratch, uint32_t, fn->n_results);
  for (uint32_t i = 0; i < fn->n_results; i++) operand[i] = i;
  spots->len = 0;
  hiaR_push(t->scratch, spots, look(t, fn, class, region, operand, HIA_NONE));
  for (uint32_t i = 0; i < spots->len; i++) {
    spot s = spots->data[i];
    if (s.kind != SPOT_BRANCH) continue;
    const uint32_t *inner = inner_operands(t, fn, &s);
    hia_region_id then_region = fn->nodes.data[s.end].regions;
    hiaR_push(t->scratch, spots, look(t, fn, class, then_region, inner, i));
    hiaR_push(t->scratch, spots, look(t, fn, class, then_region + 1, inner, i));
  }
  for (uint32_t i = spots->len; i-- > 0;) {
    spot *s = &spots->data[i];
    if (s->kind == SPOT_CALL) s->n_calls = 1;
    if (s->kind == SPOT_EXIT) s->n_exits = 1;
    if (s->parent == HIA_NONE) continue;
    spots->data[s->parent].n_calls += s->n_calls;
    spots->data[s->parent].n_exits += s->n_exits;
  }
}

/* True if the region has a join, which must stay in the arm that its fork's `stolen` leads to. */
static bool holds_join(const hia_fn *fn, hia_region_id region) {
  HIA_EACH_IN(fn, region, n)
    if (fn->nodes.data[n].op == HIA_OP_JOIN) return true;
  return false;
}

/* Combines spots whose inner spots all exit, or all go on, and finds D and X. */
static void classify(looping *l) {
  uint32_t n_next = 0, n_exits = 0;
  l->next_spot = l->exit_spot = HIA_NONE;
  for (uint32_t i = 0; i < l->spots.len; i++) {
    spot *s = &l->spots.data[i];
    s->goes_on = s->n_exits == 0;
    if (s->n_calls == 0) s->kind = SPOT_EXIT;
    if (s->parent != HIA_NONE) {
      const spot *around = &l->spots.data[s->parent];
      s->is_inner = around->goes_on || around->kind == SPOT_EXIT;
    }
    if (s->is_inner) continue;
    if (s->kind == SPOT_EXIT)
      l->exit_spot = n_exits++ ? HIA_NONE : i;
    else if (s->goes_on)
      l->next_spot = n_next++ ? HIA_NONE : i;
  }
  if (l->next_spot != HIA_NONE && holds_join(l->fn, l->spots.data[l->next_spot].region))
    l->next_spot = HIA_NONE;
  if (l->exit_spot != HIA_NONE && holds_join(l->fn, l->spots.data[l->exit_spot].region))
    l->exit_spot = HIA_NONE;
}

/* ---- what D and X use of the spots around them ---- */

static bool is_constant(const hia_fn *fn, hia_value_id v) {
  return hiaG_is_constant(hiaG_def(fn, v)->op);
}

static hia_value_id operand_of(const hia_fn *fn, hia_value_id v) {
  return hiaG_in(fn, fn->values.data[v].node, 0);
}

/* True if the value is a field of a value of the head, or a field of such a field: D and X read it
 * themselves. (Counts of references then see of what it is a part.) */
static bool is_field_of_head(const looping *l, hia_value_id v) {
  const hia_fn *fn = l->fn;
  if (hiaG_def(fn, v)->op != HIA_OP_FIELD || hiaG_def(fn, v)->region == l->head) return false;
  while (hiaG_def(fn, v)->op == HIA_OP_FIELD) v = operand_of(fn, v);
  return hiaG_def(fn, v)->region == l->head;
}

/* D and X have copies of it. */
static bool is_copied(const looping *l, hia_value_id v) {
  return is_constant(l->fn, v) || is_field_of_head(l, v);
}

/* What is copied comes behind what it is read from. */
static void need(looping *l, bool *is_known, hia_value_id v, hia_u32vec *needs) {
  uint32_t first = needs->len;
  for (; !is_known[v]; v = operand_of(l->fn, v)) {
    is_known[v] = true;
    hiaR_push(l->scratch, needs, v);
    if (!is_field_of_head(l, v)) break;
  }
  for (uint32_t i = first, k = needs->len; i + 1 < k; i++) {
    hia_value_id outer = needs->data[--k];
    needs->data[k] = needs->data[i];
    needs->data[i] = outer;
  }
}

static void find_needs(looping *l, uint32_t i, hia_u32vec *needs) {
  if (i == HIA_NONE) return;
  const spot *s = &l->spots.data[i];
  const hia_fn *fn = l->fn;
  bool *is_known = HIA_NEW_ARRAY(l->scratch, bool, fn->values.len); /* defined here, or found */
  hia_node_id yield = hiaG_yield_of(fn, s->region);
  for (hia_node_id n = fn->regions.data[s->region].first; n != yield; n = hiaG_walk_next(fn, n)) {
    const hia_node *node = &fn->nodes.data[n];
    for (uint32_t k = 0; k < node->n_ins; k++) need(l, is_known, hiaG_in(fn, n, k), needs);
    for (uint32_t k = 0; k < node->n_outs; k++) is_known[node->outs + k] = true;
  }
  if (s->kind != SPOT_EXIT) return;
  for (uint32_t k = 0; k < l->n_results; k++)
    need(l, is_known, hiaG_in(fn, yield, s->operand[k]), needs);
}

/* Adds each value to the exports of all branches from its definition out to the head. */
static void export(looping *l, const hia_u32vec *needs, const uint32_t *spot_of,
                   bool *is_exported) {
  for (uint32_t i = 0; i < needs->len; i++) {
    hia_value_id v = needs->data[i];
    if (is_exported[v] || is_copied(l, v)) continue;
    is_exported[v] = true;
    spot *s = &l->spots.data[spot_of[hiaG_def(l->fn, v)->region]];
    while (s->parent != HIA_NONE) {
      s = &l->spots.data[s->parent];
      hiaR_push(l->scratch, &s->exports, v);
    }
  }
}

static void plan_exports(looping *l) {
  find_needs(l, l->next_spot, &l->next_needs);
  find_needs(l, l->exit_spot, &l->exit_needs);
  uint32_t *spot_of = HIA_NEW_ARRAY(l->scratch, uint32_t, l->fn->regions.len);
  for (uint32_t i = 0; i < l->spots.len; i++) spot_of[l->spots.data[i].region] = i;
  bool *is_exported = HIA_NEW_ARRAY(l->scratch, bool, l->fn->values.len);
  export(l, &l->next_needs, spot_of, is_exported);
  export(l, &l->exit_needs, spot_of, is_exported);
}

/* ---- making nodes ---- */

/* Types are smaller than this. */
static uint32_t n_types(const hia_graph *g) { return HIA_FIRST_TYPE + g->types->entries.len; }

static hia_value_id constant(looping *l, hia_region_id region, hia_type type, hia_word word) {
  return hiaG_const(l->g, l->fn, region, type, word, l->loc);
}

static hia_value_id undef(looping *l, hia_region_id region, hia_type type) {
  if (l->undef_region != region) {
    uint32_t n = n_types(l->g);
    l->undef_region = region;
    if (!l->undef) l->undef = HIA_NEW_ARRAY(l->scratch, hia_value_id, n);
    for (uint32_t i = 0; i < n; i++) l->undef[i] = HIA_NONE;
  }
  if (l->undef[type] == HIA_NONE) {
    hia_node_id n = hiaG_add(l->g, l->fn, region, HIA_OP_UNDEF, NULL, 0, &type, 1, 0, l->loc);
    l->undef[type] = hiaG_out(l->fn, n, 0);
  }
  return l->undef[type];
}

static void add(looping *l, hia_value_id v) { hiaR_push(l->scratch, &l->tuple, v); }

static void add_outs(looping *l, hia_node_id n, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) add(l, hiaG_out(l->fn, n, first + i));
}

static void add_undefs(looping *l, hia_region_id region, const hia_type *types, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) add(l, undef(l, region, types[i]));
}

/* Ends a region with the tuple. */
static hia_node_id yield_tuple(looping *l, hia_region_id region) {
  hiaG_yield(l->g, l->fn, region, l->tuple.data, l->tuple.len);
  l->tuple.len = 0;
  return hiaG_yield_of(l->fn, region);
}

/* Adds the next values of a spot that goes on; they are in `region`. */
static void add_next(looping *l, const spot *s, hia_region_id region) {
  if (s->kind == SPOT_BRANCH) {
    hiaG_set_outs(l->g, l->fn, s->end, l->vars, l->n_vars);
    add_outs(l, s->end, 0, l->n_vars);
    return;
  }
  hia_fn_id callee = hiaG_callee(&l->fn->nodes.data[s->end]);
  uint32_t first = l->tuple.len;
  for (uint32_t i = 0; i < l->n_vars; i++) add(l, HIA_NONE);
  if (l->has_state)
    l->tuple.data[first] =
        constant(l, region, HIA_I32, hiaR_from_i32((int32_t)l->t->state[callee]));
  for (uint32_t i = 0; i < l->fn->nodes.data[s->end].n_ins; i++)
    l->tuple.data[first + l->t->variable[callee][i]] = hiaG_in(l->fn, s->end, i);
  for (uint32_t i = 0; i < l->n_vars; i++)
    if (l->tuple.data[first + i] == HIA_NONE)
      l->tuple.data[first + i] = undef(l, region, l->vars[i]);
  hiaG_remove(l->fn, s->end);
}

/* ---- what each spot yields ---- */

static uint32_t first_export(const looping *l) {
  return 1 + (l->next_spot == HIA_NONE ? l->n_vars : 0) +
         (l->exit_spot == HIA_NONE ? l->n_results : 0);
}

/* Gives the IF of a BRANCH the results of the tuple. */
static void branch_outs(looping *l, const spot *s) {
  HIA_VEC(hia_type) types = {0};
  hiaR_reserve(l->scratch, &types, first_export(l) + s->exports.len);
  types.data[types.len++] = HIA_BOOL;
  if (l->next_spot == HIA_NONE)
    for (uint32_t i = 0; i < l->n_vars; i++) types.data[types.len++] = l->vars[i];
  if (l->exit_spot == HIA_NONE)
    for (uint32_t i = 0; i < l->n_results; i++) types.data[types.len++] = l->fn->results[i];
  for (uint32_t i = 0; i < s->exports.len; i++)
    types.data[types.len++] = hiaG_type(l->fn, s->exports.data[i]);
  hiaG_set_outs(l->g, l->fn, s->end, types.data, types.len);
}

/* Copies the constants and fields of other spots that D or X needs. */
static void copy_needs(looping *l, const hia_u32vec *needs, hia_subst *subst, hia_region_id to) {
  for (uint32_t i = 0; i < needs->len; i++) {
    hia_value_id v = needs->data[i], in = 0;
    if (!is_copied(l, v)) continue;
    hia_node def = *hiaG_def(l->fn, v);
    hia_type type = hiaG_type(l->fn, v);
    if (def.n_ins) in = hiaG_resolve(subst, operand_of(l->fn, v));
    hia_node_id copy =
        hiaG_add(l->g, l->fn, to, def.op, &in, def.n_ins, &type, 1, def.imm, def.loc);
    hiaG_replace(subst, v, hiaG_out(l->fn, copy, 0));
  }
}

static void rewrite(looping *l, hia_subst *subst, hia_node_id first, hia_node_id last) {
  for (hia_node_id n = first; n != HIA_NONE; n = hiaG_walk_next(l->fn, n)) {
    hiaG_rewrite_ins(subst, l->fn, n);
    if (n == last) break;
  }
}

/* Moves the nodes of D into the round; its spot keeps none. */
static void fill_round(looping *l, const spot *s) {
  hia_region_id round = l->head + 1;
  copy_needs(l, &l->next_needs, &l->next_subst, round);
  hiaG_splice(l->fn, s->region, round, HIA_NONE);
  add_next(l, s, round);
  hia_node_id last = yield_tuple(l, round);
  rewrite(l, &l->next_subst, l->fn->regions.data[round].first, last);
}

/* Moves the nodes of X behind the loop; its spot keeps none. */
static void fill_exit(looping *l, const spot *s) {
  copy_needs(l, &l->exit_needs, &l->exit_subst, 0);
  hia_node_id results = hiaG_yield_of(l->fn, s->region);
  hiaG_splice(l->fn, s->region, 0, HIA_NONE);
  for (uint32_t i = 0; i < l->n_results; i++) add(l, hiaG_in(l->fn, results, s->operand[i]));
  hia_node_id last = yield_tuple(l, 0);
  rewrite(l, &l->exit_subst, l->fn->nodes.data[l->loop].next, last);
}

/* Adds the exports that pass through this spot. */
static void add_exports(looping *l, const spot *s) {
  if (s->parent == HIA_NONE) return;
  const hia_u32vec *wanted = &l->spots.data[s->parent].exports;
  for (uint32_t i = 0; i < s->exports.len; i++) l->slot[s->exports.data[i]] = i;
  for (uint32_t i = 0; i < wanted->len; i++) {
    hia_value_id v = wanted->data[i];
    if (hiaG_def(l->fn, v)->region == s->region)
      add(l, v);
    else if (l->slot[v] != HIA_NONE)
      add(l, hiaG_out(l->fn, s->end, first_export(l) + l->slot[v]));
    else
      add(l, undef(l, s->region, hiaG_type(l->fn, v)));
  }
  for (uint32_t i = 0; i < s->exports.len; i++) l->slot[s->exports.data[i]] = HIA_NONE;
}

/* Rewrites a spot, and ends it with a YIELD of the tuple. For the head the tuple is left to
 * end_head.
 */
static void rewrite_spot(looping *l, uint32_t i) {
  const spot *s = &l->spots.data[i];
  hia_region_id region = s->region;
  hia_node_id old_yield = hiaG_yield_of(l->fn, region);
  if (i == l->next_spot) fill_round(l, s);
  if (i == l->exit_spot) fill_exit(l, s);
  hiaG_remove(l->fn, old_yield);
  if (s->kind == SPOT_BRANCH && !s->goes_on) {
    branch_outs(l, s);
    add_outs(l, s->end, 0, first_export(l));
  } else {
    add(l, constant(l, region, HIA_BOOL, hiaR_from_bool(s->goes_on)));
    if (l->next_spot == HIA_NONE) {
      if (s->goes_on)
        add_next(l, s, region);
      else
        add_undefs(l, region, l->vars, l->n_vars);
    }
    if (l->exit_spot == HIA_NONE) {
      if (s->goes_on)
        add_undefs(l, region, l->fn->results, l->n_results);
      else
        for (uint32_t k = 0; k < l->n_results; k++)
          add(l, hiaG_in(l->fn, old_yield, s->operand[k]));
    }
  }
  add_exports(l, s);
}

/* Ends the head: distributes its tuple (go on?, next..., results...) to the loop's own YIELDs. */
static void end_head(looping *l) {
  const spot *s = &l->spots.data[0];
  hia_u32vec whole = l->tuple;
  l->tuple = (hia_u32vec){0};
  for (uint32_t i = 0; i < s->exports.len; i++) {
    hia_value_id out = hiaG_out(l->fn, s->end, first_export(l) + i);
    hiaG_replace(&l->next_subst, s->exports.data[i], out);
    l->slot[s->exports.data[i]] = out;
  }
  add(l, whole.data[0]);
  uint32_t at = 1;
  if (l->next_spot == HIA_NONE) at += l->n_vars;
  if (l->exit_spot == HIA_NONE) {
    for (uint32_t i = 0; i < l->n_results; i++) add(l, whole.data[at + i]);
  } else {
    for (uint32_t i = 0; i < l->exit_needs.len; i++) {
      hia_value_id v = l->exit_needs.data[i];
      if (!is_copied(l, v)) add(l, l->slot[v] != HIA_NONE ? l->slot[v] : v);
    }
  }
  yield_tuple(l, l->head);
  for (uint32_t i = 0; i < s->exports.len; i++) l->slot[s->exports.data[i]] = HIA_NONE;
  if (l->next_spot == HIA_NONE) {
    for (uint32_t i = 0; i < l->n_vars; i++) add(l, whole.data[1 + i]);
    yield_tuple(l, l->head + 1);
  }
}

/* Sets the results of the loop, and which of them replace the values that X needs. */
static void loop_outs(looping *l) {
  if (l->exit_spot == HIA_NONE) {
    hiaG_set_outs(l->g, l->fn, l->loop, l->fn->results, l->n_results);
    add_outs(l, l->loop, 0, l->n_results);
    yield_tuple(l, 0);
    return;
  }
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < l->exit_needs.len; i++)
    if (!is_copied(l, l->exit_needs.data[i]))
      hiaR_push(l->scratch, &types, hiaG_type(l->fn, l->exit_needs.data[i]));
  hiaG_set_outs(l->g, l->fn, l->loop, types.data, types.len);
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->exit_needs.len; i++)
    if (!is_copied(l, l->exit_needs.data[i]))
      hiaG_replace(&l->exit_subst, l->exit_needs.data[i], hiaG_out(l->fn, l->loop, n++));
}

/* Completes the loop of a function whose head has the bodies. */
static void close_loop(looping *l, uint32_t class) {
  find_spots(l->t, l->fn, class, l->head, &l->spots);
  classify(l);
  plan_exports(l);
  l->next_subst = hiaG_subst(l->g, l->fn);
  l->exit_subst = hiaG_subst(l->g, l->fn);
  l->slot = HIA_NEW_ARRAY(l->scratch, uint32_t, l->fn->values.len);
  memset(l->slot, 0xff, l->fn->values.len * sizeof *l->slot);
  l->undef_region = HIA_NONE;
  loop_outs(l);
  rewrite_spot(l, 0);
  end_head(l);
  for (uint32_t i = 1; i < l->spots.len; i++) {
    const spot *s = &l->spots.data[i];
    if (!s->is_inner) {
      rewrite_spot(l, i);
    } else if (s->goes_on) {
      hiaG_remove(l->fn, hiaG_yield_of(l->fn, s->region));
      add_next(l, s, s->region);
    } else {
      continue;
    }
    yield_tuple(l, s->region);
  }
  hiaG_compact(l->g, l->fn);
}

/* ---- functions ---- */

/* Begins a loop over the parameters of a function. */
static looping open_loop(tail *t, hia_fn *fn, bool has_state) {
  looping l = {.t = t, .g = t->g, .scratch = t->scratch, .fn = fn, .loc = fn->loc};
  l.has_state = has_state;
  l.vars = fn->params;
  l.n_vars = fn->n_params;
  l.n_results = fn->n_results;
  for (uint32_t i = 0; i < l.n_vars; i++) add(&l, i); /* the value of ARG i, in a new body */
  l.loop = hiaG_add(l.g, fn, 0, HIA_OP_LOOP, l.tuple.data, l.n_vars, NULL, 0, 0, l.loc);
  l.tuple.len = 0;
  l.head = fn->nodes.data[l.loop].regions;
  l.first_var = fn->values.len;
  for (uint32_t i = 0; i < l.n_vars; i++)
    hiaG_add(l.g, fn, l.head, HIA_OP_ARG, NULL, 0, &l.vars[i], 1, i, HIA_NONE);
  return l;
}

/* Copies the body of function f, whose parameters are now loop variables, to the end of a region.
 */
static void copy_body(looping *l, const hia_fn *from, hia_fn_id f, hia_region_id region) {
  hia_value_id *map = HIA_NEW_ARRAY(l->scratch, hia_value_id, from->values.len);
  memset(map, 0xff, from->values.len * sizeof *map);
  HIA_EACH_ARG(from, 0, n)
    map[hiaG_out(from, n, 0)] =
        l->first_var + l->t->variable[f][HIA_IMM_A(from->nodes.data[n].imm)];
  hiaG_copy_region(l->g, l->fn, region, HIA_NONE, from, 0, map, HIA_NONE);
  hia_node_id yield = hiaG_yield_of(from, 0);
  for (uint32_t i = 0; i < from->nodes.data[yield].n_ins; i++) add(l, map[hiaG_in(from, yield, i)]);
  yield_tuple(l, region);
}

static void loop_alone(tail *t, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(t->g, f);
  hia_fn old = *fn;
  t->variable[f] = HIA_NEW_ARRAY(t->scratch, uint32_t, fn->n_params);
  for (uint32_t i = 0; i < fn->n_params; i++) t->variable[f][i] = i;
  hiaG_clear_body(t->g, fn);
  looping l = open_loop(t, fn, false);
  copy_body(&l, &old, f, l.head);
  close_loop(&l, t->class[f]);
}

/* Builds the branches on the state that lead to members lo .. hi - 1, with their bodies. Each level
 * halves the members, so the recursion is at most 32 deep. */
static void dispatch(looping *l, const hia_fn_id *members, uint32_t lo, uint32_t hi,
                     hia_region_id region) {
  if (hi - lo == 1) {
    copy_body(l, hiaG_fn(l->g, members[lo]), members[lo], region);
    return;
  }
  uint32_t mid = lo + (hi - lo) / 2;
  hia_value_id ins[2] = {l->first_var, constant(l, region, HIA_I32, hiaR_from_i32((int32_t)mid))};
  hia_value_id is_lower = hiaG_op(l->g, l->fn, region, HIA_OP_LT, ins, 2, l->loc);
  hia_node_id branch = hiaG_add(l->g, l->fn, region, HIA_OP_IF, &is_lower, 1, l->fn->results,
                                l->n_results, 0, l->loc);
  hia_region_id then_region = l->fn->nodes.data[branch].regions;
  dispatch(l, members, lo, mid, then_region);
  dispatch(l, members, mid, hi, then_region + 1);
  add_outs(l, branch, 0, l->n_results);
  yield_tuple(l, region);
}

/* A name that no other function has. Names of the language have no dots, so only a graph that was
 * read from text can have it already. */
static const char *loop_name(tail *t, const char *member) {
  for (uint32_t i = 1;; i++) {
    const char *name = i == 1 ? hiaR_arena_printf(t->scratch, "%s.loop", member)
                              : hiaR_arena_printf(t->scratch, "%s.loop.%u", member, i);
    bool is_free = true;
    for (uint32_t k = 0; k < t->loops.len; k++)
      is_free &= strcmp(hiaG_fn(t->g, t->loops.data[k])->name, name) != 0;
    if (is_free) return name;
  }
}

/* Finds the parameters of the merged function: the state, and of each type as many as the member
 * has that has the most. */
static void share_variables(tail *t, const hia_fn_id *members, uint32_t n, hia_type **params,
                            uint32_t *n_params) {
  HIA_VEC(hia_type) types = {0};
  hia_u32vec *of_type = HIA_NEW_ARRAY(t->scratch, hia_u32vec, n_types(t->g));
  uint32_t *used = HIA_NEW_ARRAY(t->scratch, uint32_t, n_types(t->g));
  hiaR_push(t->scratch, &types, HIA_I32);
  for (uint32_t m = 0; m < n; m++) {
    const hia_fn *fn = hiaG_fn(t->g, members[m]);
    for (uint32_t i = 0; i < fn->n_params; i++) used[fn->params[i]] = 0;
    uint32_t *variable = HIA_NEW_ARRAY(t->scratch, uint32_t, fn->n_params);
    for (uint32_t i = 0; i < fn->n_params; i++) {
      hia_type type = fn->params[i];
      if (used[type] == of_type[type].len) {
        hiaR_push(t->scratch, &of_type[type], types.len);
        hiaR_push(t->scratch, &types, type);
      }
      variable[i] = of_type[type].data[used[type]++];
    }
    t->variable[members[m]] = variable;
    t->state[members[m]] = m;
  }
  *params = types.data;
  *n_params = types.len;
}

void hiaG_number_forks(hia_graph *g, hia_fn *fn) {
  hia_u32vec open = {0};
  uint32_t next = 0, ended = 0;
  HIA_EACH_NODE(fn, n) {
    hia_node *node = &fn->nodes.data[n];
    switch (node->op) {
    case HIA_OP_FORK:
      node->imm = HIA_IMM(HIA_IMM_A(node->imm), next);
      hiaR_push(&g->comp->scratch, &open, next++);
      break;
    case HIA_OP_STOLEN:
      ended = open.data[--open.len];
      node->imm = HIA_IMM(HIA_IMM_A(node->imm), ended);
      break;
    case HIA_OP_JOIN: node->imm = HIA_IMM(HIA_IMM_A(node->imm), ended); break;
    default: break;
    }
  }
}

static void loop_together(tail *t, const hia_fn_id *members, uint32_t n) {
  hia_graph *g = t->g;
  const hia_fn *first = hiaG_fn(g, members[0]);
  hia_type *params;
  uint32_t n_params;
  share_variables(t, members, n, &params, &n_params);
  hia_fn_id merged = hiaG_fn_new(g, loop_name(t, first->name), first->source, first->loc, params,
                                 n_params, first->results, first->n_results);
  looping l = open_loop(t, hiaG_fn(g, merged), true);
  dispatch(&l, members, 0, n, l.head);
  close_loop(&l, t->class[members[0]]);
  hiaG_number_forks(g, hiaG_fn(g, merged));
  for (uint32_t m = 0; m < n; m++) t->merged[members[m]] = merged;
}

/* Gives a call, or fork, of a member the arguments of the merged function. The state, and undef for
 * parameters that the member does not have, are made before it. The caller changes the callee. */
static void redirect(tail *t, hia_fn *fn, hia_node_id call) {
  hia_fn_id member = hiaG_callee(&fn->nodes.data[call]);
  hia_fn_id merged = t->merged[member];
  const hia_fn *to = hiaG_fn(t->g, merged);
  hia_loc_id loc = fn->nodes.data[call].loc;
  hia_value_id *ins = HIA_NEW_ARRAY(t->scratch, hia_value_id, to->n_params);
  memset(ins, 0xff, to->n_params * sizeof *ins);
  for (uint32_t i = 0; i < fn->nodes.data[call].n_ins; i++)
    ins[t->variable[member][i]] = hiaG_in(fn, call, i);
  for (uint32_t i = 0; i < to->n_params; i++) {
    if (ins[i] != HIA_NONE) continue;
    hia_node_id n = hiaG_insert(t->g, fn, call, i == 0 ? HIA_OP_CONST : HIA_OP_UNDEF, NULL, 0,
                                &to->params[i], 1, i == 0 ? t->state[member] : 0, loc);
    ins[i] = hiaG_out(fn, n, 0);
  }
  hiaG_set_ins(t->g, fn, call, ins, to->n_params);
}

static void redirect_calls(tail *t, hia_fn *fn) {
  bool is_changed = false;
  HIA_EACH_NODE(fn, n) {
    unsigned op = fn->nodes.data[n].op;
    if (op != HIA_OP_CALL && op != HIA_OP_FORK && op != HIA_OP_JOIN) continue;
    hia_fn_id callee = hiaG_callee(&fn->nodes.data[n]);
    if (callee >= t->n_fns || t->merged[callee] == HIA_NONE) continue;
    if (op != HIA_OP_JOIN) redirect(t, fn, n);
    hia_node *node = &fn->nodes.data[n];
    node->imm = HIA_IMM(t->merged[callee], HIA_IMM_B(node->imm));
    is_changed = true;
  }
  if (is_changed) hiaG_compact(t->g, fn);
}

/* Makes the entry of a member that is a root: it calls itself, and redirect_calls then changes the
 * callee. The call's position is that of the definition; as a tail call it is in no backtrace. */
static void make_entry(tail *t, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(t->g, f);
  hiaG_clear_body(t->g, fn);
  hia_value_id *ins = HIA_NEW_ARRAY(t->scratch, hia_value_id, fn->n_params);
  for (uint32_t i = 0; i < fn->n_params; i++) ins[i] = i; /* the value of ARG i, in a new body */
  hia_node_id call =
      hiaG_add(t->g, fn, 0, HIA_OP_CALL, ins, fn->n_params, fn->results, fn->n_results, f, fn->loc);
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  hiaG_yield_outs(t->g, fn, 0, call);
}

/* ---- the pass ---- */

/* Finds the classes of functions that tail-call each other in a cycle. The functions of class i are
 * members[start[i]] .. members[start[i + 1] - 1]; is_looping[i] is true if there is a cycle at all.
 */
typedef struct classes {
  uint32_t n;
  uint32_t *of, *start;
  hia_fn_id *members;
  bool *is_looping;
} classes;

static classes find_classes(tail *t) {
  hia_graph *g = t->g;
  uint32_t n = t->n_fns;
  classes c = {0};
  uint32_t *group = hiaG_groups(t->scratch, g);
  uint32_t *first = HIA_NEW_ARRAY(t->scratch, uint32_t, n + 1);
  hia_u32vec edges = {0};
  spot_vec spots = {0};
  t->class = group;
  for (hia_fn_id f = 0; f < n; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    first[f] = edges.len;
    if (fn->is_removed || !(fn->effects & HIA_E_RECURSIVE)) continue;
    find_spots(t, fn, group[f], 0, &spots);
    for (uint32_t i = 0; i < spots.len; i++)
      if (spots.data[i].kind == SPOT_CALL)
        hiaR_push(t->scratch, &edges, HIA_IMM_A(fn->nodes.data[spots.data[i].end].imm));
  }
  first[n] = edges.len;
  c.of = HIA_NEW_ARRAY(t->scratch, uint32_t, n);
  c.n = hiaG_scc(t->scratch, n, first, edges.data, c.of);
  c.is_looping = HIA_NEW_ARRAY(t->scratch, bool, c.n);
  for (hia_fn_id f = 0; f < n; f++)
    for (uint32_t e = first[f]; e < first[f + 1]; e++)
      c.is_looping[c.of[f]] |= c.of[edges.data[e]] == c.of[f];
  hia_buckets by_class = hiaG_buckets(t->scratch, c.n, n, c.of, NULL);
  c.start = by_class.start;
  c.members = by_class.items;
  return c;
}

void hiaG_tail(hia_graph *g) {
  tail t = {.g = g, .scratch = &g->comp->scratch, .n_fns = g->fns.len};
  classes c = find_classes(&t);
  t.class = c.of;
  t.merged = HIA_NEW_ARRAY(t.scratch, hia_fn_id, t.n_fns);
  memset(t.merged, 0xff, t.n_fns * sizeof *t.merged);
  t.state = HIA_NEW_ARRAY(t.scratch, uint32_t, t.n_fns);
  t.variable = HIA_NEW_ARRAY(t.scratch, uint32_t *, t.n_fns);
  for (hia_fn_id f = 0; f < t.n_fns; f++)
    if (strstr(hiaG_fn(g, f)->name, ".loop")) hiaR_push(t.scratch, &t.loops, f);

  bool is_merged = false;
  for (uint32_t i = 0; i < c.n; i++) {
    if (!c.is_looping[i]) continue;
    const hia_fn_id *members = c.members + c.start[i];
    uint32_t n = c.start[i + 1] - c.start[i];
    if (n == 1)
      loop_alone(&t, members[0]);
    else
      loop_together(&t, members, n);
    is_merged |= n > 1;
  }
  if (!is_merged) return;
  for (hia_fn_id f = 0; f < t.n_fns; f++) {
    if (t.merged[f] == HIA_NONE) continue;
    if (hiaG_fn(g, f)->is_root)
      make_entry(&t, f);
    else
      hiaG_fn(g, f)->is_removed = true;
  }
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    redirect_calls(&t, fn);
    if (fn->slow_path != HIA_NONE && hiaG_fn(g, fn->slow_path)->is_removed)
      fn->slow_path = HIA_NONE;
  }
}
