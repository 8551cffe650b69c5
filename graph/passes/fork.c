/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* fork: calls that another worker may make while this one does what comes before them.
 *
 *     a = call f(..)                   fork 0 f y            from here on it may be taken
 *     b = call f(y)                    a = call f(..)
 *     a + b                            t = stolen 0
 *                                      b = if t { join 0 } else { call f(y) }
 *                                      a + b
 *
 * This is lazy task creation (Mohr, Kranz, Halstead 1991; Feeley 1993): a fork costs its owner
 * nearly nothing unless a thief takes it. So one would expect that every call can be forked. But a
 * fork pays only if there is something to do beside it. A call is forked if it may take long (its
 * callee diverges: it is recursive, or loops), and if something that may take long stands between
 * the call and the last node that its arguments depend on. The fork comes right before that. Pure
 * operations which cannot fail do not count as such a dependence: those that the arguments need
 * are moved up, before the fork. Nodes that can fail, and nodes that are counted, keep their order.
 *
 * Each region is treated by itself. It is a list of nodes, some of which take long (calls, and
 * branches and loops around such calls). A fork is a straight-line run of that list: from the node
 * that the fork comes before to the call that it is for. Runs must nest or be disjoint
 * (runtime/native/fork.h), and at most MAX_OPEN may be open at one node, those of all regions
 * around it included. Calls are taken in their order, so each run is fitted to the runs that end
 * before it does:
 *
 * - It goes around them. So if several calls could all begin at once, the last is forked first.
 * - It begins behind a run that it would cut, or that is nested too deeply already.
 *
 * Calls in tail position are not forked, because they come last; nor are the calls in the arms of
 * this pass's own branches. Outer regions come before inner ones, because thieves take the oldest
 * fork, which is the largest piece of work.
 *
 * Requires hiaG_effects and a function without forks; keeps everything but the numbering. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"
#include <stdlib.h>

enum {
  MAX_OPEN = 8,   /* forks at once: each is a record in the frame */
  MAX_WORDS = 64, /* arguments, or results, of a fork */
};

/* A fork, as a straight-line run of its region: both ends are indices there. */
typedef struct straight_run {
  uint32_t from, to; /* the node that it begins before; the call */
  uint32_t depth;    /* 1 + the largest depth of the runs inside it */
} straight_run;
typedef HIA_VEC(straight_run) straight_run_vec;

typedef struct forking {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn;
  hia_subst subst;
  hia_fork_density density;
  uint32_t number;     /* of the next fork */
  bool *takes_long;    /* by node */
  uint32_t *open;      /* by region: forks open around it */
  hia_u32vec regions;  /* outer before inner */
  hia_node_id *region; /* the nodes of the region being treated */
  uint32_t n;          /* of them */
  uint32_t *order;     /* by node: its index in `region` */
  uint32_t *before; /* the same; of a node that was moved, the index of the one that it now stands
                       before */
  uint32_t *needs;  /* by index: 1 + the last index that its operands depend on, 0: none; a movable
                       operand passes on what it needs itself */
  uint32_t *next_long; /* by index: the first from there on that takes long, or n */
  hia_node_id *first;  /* by index: the first of the forks that were put before it, or the node */
} forking;

/* ---- what there is ---- */

static bool may_take_long(const forking *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  return node->op == HIA_OP_CALL && (hiaG_node_effects(f->g, f->fn, n) & HIA_E_DIVERGES ||
                                     hiaG_fn(f->g, hiaG_callee(node))->is_apart);
}

/* Marks the nodes that take long, and lists the regions. False: the function must not be changed,
 * or has no call that takes long. */
static bool look(forking *f) {
  const hia_fn *fn = f->fn;
  bool is_wanted = false;
  hiaR_push(f->scratch, &f->regions, 0);
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_FORK) return false;
    if (node->regions != HIA_NONE) {
      hiaR_push(f->scratch, &f->regions, node->regions);
      hiaR_push(f->scratch, &f->regions, node->regions + 1);
    }
    if (!may_take_long(f, n)) continue;
    is_wanted = true;
    for (hia_node_id around = n; !f->takes_long[around];) {
      f->takes_long[around] = true;
      hia_node_id owner = fn->regions.data[fn->nodes.data[around].region].owner;
      if (owner == HIA_NONE) break;
      around = owner;
    }
  }
  return is_wanted;
}

/* Lists the nodes of a region in order, and what each needs. */
static void list_region(forking *f, hia_region_id r) {
  const hia_fn *fn = f->fn;
  f->n = 0;
  HIA_EACH_IN(fn, r, n) {
    f->region[f->n] = f->first[f->n] = n;
    f->order[n] = f->before[n] = f->n++;
  }
  f->next_long[f->n] = f->n;
  for (uint32_t i = f->n; i-- > 0;)
    f->next_long[i] = f->takes_long[f->region[i]] ? i : f->next_long[i + 1];
  for (uint32_t i = 0; i < f->n; i++) {
    hia_node_id n = f->region[i];
    f->needs[i] = 0;
    for (uint32_t k = 0; k < fn->nodes.data[n].n_ins; k++) {
      hia_node_id def = fn->values.data[hiaG_in(fn, n, k)].node;
      if (fn->nodes.data[def].region != r) continue; /* further out */
      uint32_t at = f->before[def], need = hiaG_node_movable(f->g, fn, def) ? f->needs[at] : at + 1;
      if (need > f->needs[i]) f->needs[i] = need;
    }
  }
}

/* A call in tail position comes last. One that computes elements of a map, or collects a sum, is
 * none of the source. */
static bool is_last(const forking *f, const hia_node *call) {
  const hia_fn *callee = hiaG_fn(f->g, hiaG_callee(call));
  return call->flags & HIA_NODE_TAIL && !callee->is_halving && !callee->is_apart;
}

/* True if the call may be forked. Impure calls happen in sequential order, so a thief must not
 * begin them early. A thief would make the iterations of a map one after the other. */
static bool is_candidate(const forking *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  return may_take_long(f, n) && !is_last(f, node) && node->n_ins <= MAX_WORDS &&
         node->n_outs <= MAX_WORDS && !hiaG_fn(f->g, hiaG_callee(node))->is_freezing &&
         !(hiaG_node_effects(f->g, f->fn, n) & HIA_E_IMPURE);
}

/* ---- which calls ---- */

/* Fits the run of the call at index `to` to the runs found so far. `outer` has the outermost of
 * them, in their order; those that the new run goes around are removed from it. */
static bool fit(const forking *f, uint32_t to, uint32_t most, straight_run_vec *outer,
                straight_run *run) {
  *run = (straight_run){f->next_long[f->needs[to]], to, 1};
  uint32_t k = outer->len;
  for (; k > 0; k--) {
    const straight_run *o = &outer->data[k - 1];
    if (o->to < run->from) break;
    if (o->from < run->from || o->depth >= most) {
      run->from = f->next_long[o->to + 1];
      break;
    }
    if (o->depth >= run->depth) run->depth = o->depth + 1;
  }
  if (run->from >= to) return false;
  outer->len = k;
  return true;
}

/* Keeps the longest of several runs only. */
static void keep_longest(straight_run_vec *found) {
  straight_run best = found->data[0];
  for (uint32_t i = 1; i < found->len; i++)
    if (found->data[i].to - found->data[i].from > best.to - best.from) best = found->data[i];
  found->data[0] = best;
  found->len = 1;
}

/* Finds the runs of a region, in the order of their calls, and how many are open around each region
 * inside it. */
static void find_runs(forking *f, uint32_t is_open, straight_run_vec *found) {
  const hia_fn *fn = f->fn;
  uint32_t most = MAX_OPEN - is_open;
  straight_run_vec outer = {0};
  found->len = 0;
  for (uint32_t i = 0; i < f->n && most; i++) {
    straight_run run;
    if (!is_candidate(f, f->region[i]) || !fit(f, i, most, &outer, &run)) continue;
    hiaR_push(f->scratch, &outer, run);
    hiaR_push(f->scratch, found, run);
  }
  if (f->density == HIA_FORK_ONE_A_REGION && found->len > 1) keep_longest(found);
  hia_mark mark = hiaR_arena_mark(f->scratch);
  uint32_t *begins = HIA_NEW_ARRAY(f->scratch, uint32_t, f->n), end = 0;
  for (uint32_t i = 0; i < found->len; i++) begins[found->data[i].from]++;
  for (uint32_t i = 0; i < f->n; i++) {
    is_open += begins[i];
    for (; end < found->len && found->data[end].to == i; end++) is_open--;
    hia_region_id inner = fn->nodes.data[f->region[i]].regions;
    if (inner != HIA_NONE) f->open[inner] = f->open[inner + 1] = is_open;
  }
  hiaR_arena_release(f->scratch, mark);
}

/* ---- the change ---- */

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* Moves the operations that the arguments of a call need to before its fork. They keep their order,
 * in which each comes after its operands. */
static void move_up(forking *f, const straight_run *run) {
  hia_fn *fn = f->fn;
  hia_node_id call = f->region[run->to];
  hia_region_id home = fn->nodes.data[call].region;
  hia_u32vec todo = {0}, moved = {0};
  hiaR_push(f->scratch, &todo, call);
  while (todo.len) {
    hia_node_id n = todo.data[--todo.len];
    for (uint32_t k = 0; k < fn->nodes.data[n].n_ins; k++) {
      hia_node_id def = fn->values.data[hiaG_in(fn, n, k)].node;
      if (fn->nodes.data[def].region != home || f->before[def] <= run->from) continue;
      hiaR_push(f->scratch, &moved, f->order[def]);
      hiaR_push(f->scratch, &todo, def);
      f->before[def] = run->from;
    }
  }
  if (moved.len) qsort(moved.data, moved.len, sizeof *moved.data, by_number);
  for (uint32_t i = 0; i < moved.len; i++)
    hiaG_move(fn, f->region[moved.data[i]], f->first[run->from]);
}

static void make_fork(forking *f, const straight_run *run) {
  hia_graph *g = f->g;
  hia_fn *fn = f->fn;
  hia_node_id call = f->region[run->to];
  const hia_node node = fn->nodes.data[call];
  hia_fn_id callee = hiaG_callee(&node);
  const hia_type *results = hiaG_fn(g, callee)->results, boolean = HIA_BOOL;
  const hia_value_id *ins = node.n_ins ? fn->edges.data + node.ins : NULL;
  uint32_t number = f->number++;

  move_up(f, run);
  f->first[run->from] = hiaG_insert(g, fn, f->first[run->from], HIA_OP_FORK, ins, node.n_ins, NULL,
                                    0, HIA_IMM(callee, number), node.loc);
  hia_node_id stolen = hiaG_insert(g, fn, call, HIA_OP_STOLEN, NULL, 0, &boolean, 1,
                                   HIA_IMM(HIA_NONE, number), HIA_NONE);
  hia_value_id taken = hiaG_out(fn, stolen, 0);
  hia_node_id branch =
      hiaG_insert(g, fn, call, HIA_OP_IF, &taken, 1, results, node.n_outs, 0, HIA_NONE);
  hia_region_id arm = fn->nodes.data[branch].regions;
  hia_node_id join = hiaG_add(g, fn, arm, HIA_OP_JOIN, NULL, 0, results, node.n_outs,
                              HIA_IMM(callee, number), node.loc);
  fn->nodes.data[join].flags = node.flags & HIA_NODE_TAIL;
  hiaG_yield_outs(f->g, f->fn, arm, join);
  ins = node.n_ins ? fn->edges.data + node.ins : NULL;
  hia_node_id again = hiaG_add(g, fn, arm + 1, HIA_OP_CALL, ins, node.n_ins, results, node.n_outs,
                               callee, node.loc);
  fn->nodes.data[again].flags = node.flags & HIA_NODE_TAIL;
  hiaG_yield_outs(f->g, f->fn, arm + 1, again);
  for (uint32_t i = 0; i < node.n_outs; i++)
    hiaG_replace(&f->subst, node.outs + i, hiaG_out(fn, branch, i));
  hiaG_remove(fn, call);
}

bool hiaG_fork_in(hia_graph *g, hia_fn *fn, hia_fork_density density) {
  forking f = {.density = density, .g = g, .scratch = &g->comp->scratch, .fn = fn};
  uint32_t n = fn->nodes.len;
  f.takes_long = HIA_NEW_ARRAY(f.scratch, bool, n);
  if (!look(&f)) return false;
  f.subst = hiaG_subst(g, fn);
  f.open = HIA_NEW_ARRAY(f.scratch, uint32_t, fn->regions.len);
  f.region = HIA_NEW_ARRAY(f.scratch, hia_node_id, n);
  f.before = HIA_NEW_ARRAY(f.scratch, uint32_t, n);
  f.order = HIA_NEW_ARRAY(f.scratch, uint32_t, n);
  f.needs = HIA_NEW_ARRAY(f.scratch, uint32_t, n);
  f.next_long = HIA_NEW_ARRAY(f.scratch, uint32_t, (size_t)n + 1);
  f.first = HIA_NEW_ARRAY(f.scratch, hia_node_id, n);
  for (uint32_t i = 0; i < f.regions.len; i++) {
    hia_mark mark = hiaR_arena_mark(f.scratch);
    straight_run_vec found = {0};
    list_region(&f, f.regions.data[i]);
    find_runs(&f, f.open[f.regions.data[i]], &found);
    for (uint32_t k = 0; k < found.len; k++) make_fork(&f, &found.data[k]);
    hiaR_arena_release(f.scratch, mark);
  }
  if (f.number == 0) return false;
  HIA_EACH_NODE(fn, at) hiaG_rewrite_ins(&f.subst, fn, at);
  return true;
}

void hiaG_fork(hia_graph *g) {
  HIA_EACH_FN(g, id) {
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    if (hiaG_fork_in(g, hiaG_fn(g, id), HIA_FORK_ALL)) hiaG_compact(g, hiaG_fn(g, id));
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}
