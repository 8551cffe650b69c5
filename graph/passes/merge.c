/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* merge: value numbering of calls. A call of the same function with equal arguments as a call made
 * before is not made again.
 *
 * "Before" means in a dominating position, as in cse.c. Calls that can fail, or may not end,
 * are merged too: if the call fails, it fails the first time, and the second is never reached. In
 * most programs that is enough. But in unrolled recursion equal calls mostly do not dominate each
 * other:
 *
 *     x = if n - 1 <= 1 then 1 else f(n - 2) + f(n - 3)
 *     x + f(n - 2)
 *
 * Here one arm of a branch makes the call that follows the branch. So the call is moved into the
 * branch: the arm that made it yields its result as well, and the other arm makes it last. (This is
 * partial redundancy elimination, for the case that the other arm must make the call anyway.)
 * Between the branch and the call there may only be nodes that can neither fail nor call, so
 * sequential order stays. The arm may have made the call in a branch of its own, if that branch is
 * the last thing in it.
 *
 * Arguments are equal if they are the same value, or are computed alike: values are numbered, and
 * `n - 1 - 1` is `n - 2`. Programs that count calls keep them: there a call is an effect.
 *
 * Requires hiaG_effects (effects), and keeps it. For native code only: the interpreter defines what
 * programs mean, and must make the calls that they make. If this pass has run, unrolling merges
 * too, before it replaces calls by bodies. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MAX_LOOKED_AT = 16, /* equal calls that are tried */
  MAX_BETWEEN = 32,   /* nodes between a branch and a call that is moved into it */
  MAX_NESTED = 8,     /* branches inside one another through which results are passed out */
  MAX_RESULTS = 64,   /* of a branch: adding one takes time linear in their number */
};

/* The number of a value: a base value and, for integers, a constant added to it. Values with equal
 * terms are equal. All constants have one base. */
typedef struct term {
  uint32_t base;
  uint64_t plus;
} term;
#define BASE_OF_CONSTANTS (HIA_NONE - 1)

typedef struct operation {
  uint32_t op, type, n_ins;
  uint64_t imm;
  term ins[3];
  hia_value_id value; /* the first that was computed by it */
} operation;

/* Results that are available wherever `region` is open: of a call, or of a branch that made it. */
typedef struct known {
  uint64_t callee;
  uint32_t args, n_args; /* merging.args[args .. args + n_args) */
  hia_value_id outs;
  hia_region_id region;
} known;

typedef struct merging {
  hia_graph *g;
  hia_fn *fn;
  hia_arena *scratch;
  hia_subst subst;
  HIA_VEC(term) terms; /* by value */
  HIA_VEC(operation) operations;
  hia_index operation_index;
  HIA_VEC(term) args;
  HIA_VEC(known) calls;
  hia_index call_index;
  bool *is_open; /* by region: the walk is in it */
  bool is_changed;
} merging;

/* ---- numbers of values ---- */

static term term_of(merging *m, hia_value_id v) {
  v = hiaG_resolve(&m->subst, v);
  while (m->terms.len <= v) hiaR_push(m->scratch, &m->terms, (term){m->terms.len, 0});
  return m->terms.data[v];
}

static void set_term(merging *m, hia_value_id v, term t) {
  term_of(m, v);
  m->terms.data[v] = t;
}

static uint64_t wrapped(hia_type type, uint64_t x) { return type == HIA_I32 ? (uint32_t)x : x; }

static bool is_constant(term t) { return t.base == BASE_OF_CONSTANTS; }

/* Finds the term of a sum or difference with a constant. Returns false if the node is neither. */
static bool linear_term(merging *m, hia_node_id n, hia_type type, term *t) {
  const hia_node *node = &m->fn->nodes.data[n];
  if (type != HIA_I32 && type != HIA_I64) return false;
  if (node->op == HIA_OP_CONST) {
    *t = (term){BASE_OF_CONSTANTS, wrapped(type, node->imm)};
    return true;
  }
  if (node->op != HIA_OP_ADD && node->op != HIA_OP_SUB) return false;
  term a = term_of(m, hiaG_in(m->fn, n, 0)), b = term_of(m, hiaG_in(m->fn, n, 1));
  if (node->op == HIA_OP_SUB) {
    if (!is_constant(b)) return false;
    *t = (term){a.base, wrapped(type, a.plus - b.plus)};
  } else {
    if (!is_constant(a) && !is_constant(b)) return false;
    *t = (term){is_constant(b) ? a.base : b.base, wrapped(type, a.plus + b.plus)};
  }
  return true;
}

static bool is_less(term a, term b) { return a.base != b.base ? a.base < b.base : a.plus < b.plus; }

static void number(merging *m, hia_node_id n) {
  const hia_node *node = &m->fn->nodes.data[n];
  bool is_read = node->op == HIA_OP_CTOR || node->op == HIA_OP_FIELD;
  bool is_op = is_read || node->op == HIA_OP_CONST || hiaG_is_scalar_op(m->fn, n) ||
               hiaG_is_operation(m->fn, n);
  if (!is_op || node->n_ins > 3 || node->n_outs != 1) return;
  operation o;
  memset(&o, 0, sizeof o); /* padding too: it is hashed as bytes */
  o.op = node->op;
  o.type = hiaG_type(m->fn, node->outs);
  o.imm = node->imm;
  o.n_ins = node->n_ins;
  term t;
  if (linear_term(m, n, (hia_type)o.type, &t)) {
    set_term(m, node->outs, t);
    return;
  }
  for (uint32_t i = 0; i < o.n_ins; i++) {
    term in = term_of(m, hiaG_in(m->fn, n, i));
    o.ins[i].base = in.base;
    o.ins[i].plus = in.plus;
  }
  if (hiaR_ops[o.op].traits & HIA_T_COMMUTES && is_less(o.ins[1], o.ins[0])) {
    operation swapped = o;
    o.ins[0].base = swapped.ins[1].base, o.ins[0].plus = swapped.ins[1].plus;
    o.ins[1].base = swapped.ins[0].base, o.ins[1].plus = swapped.ins[0].plus;
  }
  uint32_t hash = hiaR_hash(&o, offsetof(operation, value)), at = hash, i;
  while ((i = hiaR_index_next(&m->operation_index, hash, &at)) != HIA_NONE) {
    const operation *other = &m->operations.data[i];
    if (memcmp(other, &o, offsetof(operation, value)) != 0) continue;
    set_term(m, node->outs, term_of(m, other->value));
    return;
  }
  o.value = node->outs;
  hiaR_index_add(m->scratch, &m->operation_index, hash, m->operations.len);
  hiaR_push(m->scratch, &m->operations, o);
}

/* ---- into a branch ---- */

/* True if only nodes that may stand between a branch and a call that is moved into it are behind
 * `n`, up to `end`. */
static bool only_passable(const merging *m, hia_node_id n, hia_node_id end) {
  const hia_node *nodes = m->fn->nodes.data;
  uint32_t count = 0;
  for (hia_node_id at = nodes[n].next; at != end; at = nodes[at].next)
    if (++count > MAX_BETWEEN || !hiaG_node_movable(m->g, m->fn, at)) return false;
  return true;
}

/* Finds the branches that lead from the region of `call` to the region where `k` is known,
 * outermost first. Each must be the last in its region that happens before the call. Returns their
 * number; 0: there is no such path. */
static uint32_t find_path(const merging *m, const known *k, hia_node_id call,
                          hia_node_id path[MAX_NESTED]) {
  const hia_fn *fn = m->fn;
  hia_region_id goal = fn->nodes.data[call].region, r = k->region;
  uint32_t n = 0;
  for (; r != goal; n++) {
    hia_node_id owner = fn->regions.data[r].owner;
    if (n == MAX_NESTED || owner == HIA_NONE || fn->nodes.data[owner].op != HIA_OP_IF) return 0;
    if (fn->nodes.data[owner].n_outs >= MAX_RESULTS) return 0;
    if (hiaG_def(fn, hiaG_in(fn, owner, 0))->op == HIA_OP_STOLEN) return 0;
    path[n] = owner;
    r = fn->nodes.data[owner].region;
    if (!only_passable(m, owner, r == goal ? call : hiaG_yield_of(fn, r))) return 0;
  }
  for (uint32_t i = 0; i < n / 2; i++) {
    hia_node_id swapped = path[i];
    path[i] = path[n - 1 - i];
    path[n - 1 - i] = swapped;
  }
  return n;
}

/* Moves those nodes behind the branch that the call's arguments need before the branch. False, and
 * nothing is moved, if they need the branch itself. */
static bool free_args(merging *m, hia_node_id branch, hia_node_id call) {
  hia_fn *fn = m->fn;
  bool is_stuck[MAX_BETWEEN];
  hia_node_id between[MAX_BETWEEN];
  uint32_t n = 0;
  for (hia_node_id at = fn->nodes.data[branch].next;; at = fn->nodes.data[at].next, n++) {
    bool is_here = false;
    for (uint32_t i = 0; i < fn->nodes.data[at].n_ins && !is_here; i++) {
      hia_node_id def = fn->values.data[hiaG_in(fn, at, i)].node;
      is_here = def == branch;
      for (uint32_t k = 0; k < n && !is_here; k++) is_here = between[k] == def && is_stuck[k];
    }
    if (at == call) {
      if (is_here) return false;
      break;
    }
    between[n] = at;
    is_stuck[n] = is_here;
  }
  for (uint32_t k = 0; k < n; k++)
    if (!is_stuck[k]) hiaG_move(fn, between[k], branch);
  return true;
}

/* Adds results to a branch: the values of its arms from more[0] and more[1] on. Returns the first.
 */
static hia_value_id add_results(merging *m, hia_node_id branch, const hia_value_id more[2],
                                uint32_t n_more) {
  hia_fn *fn = m->fn;
  const hia_node node = fn->nodes.data[branch];
  uint32_t n = node.n_outs + n_more;
  hia_type *types = HIA_NEW_ARRAY(m->scratch, hia_type, n);
  for (uint32_t i = 0; i < n; i++)
    types[i] = hiaG_type(fn, i < node.n_outs ? node.outs + i : more[0] + (i - node.n_outs));
  for (uint32_t arm = 0; arm < 2; arm++) {
    hia_node_id yield = hiaG_yield_of(fn, node.regions + arm);
    hia_value_id *ins = HIA_NEW_ARRAY(m->scratch, hia_value_id, n);
    for (uint32_t i = 0; i < n; i++)
      ins[i] = i < node.n_outs ? hiaG_in(fn, yield, i) : more[arm] + (i - node.n_outs);
    hiaG_set_ins(m->g, fn, yield, ins, n);
  }
  hiaG_set_outs(m->g, fn, branch, types, n);
  hia_value_id outs = fn->nodes.data[branch].outs;
  for (uint32_t i = 0; i < node.n_outs; i++) {
    term t = term_of(m, node.outs + i);
    hiaG_replace(&m->subst, node.outs + i, outs + i);
    set_term(m, outs + i, t);
  }
  for (uint32_t k = 0; k < m->calls.len; k++) { /* known results may be those of this branch */
    hia_value_id *v = &m->calls.data[k].outs;
    if (*v >= node.outs && *v < node.outs + node.n_outs) *v = outs + (*v - node.outs);
  }
  return outs + node.n_outs;
}

static hia_value_id copy_call(merging *m, hia_node_id call, hia_region_id arm) {
  hia_fn *fn = m->fn;
  const hia_node node = fn->nodes.data[call];
  hia_value_id *ins = HIA_NEW_ARRAY(m->scratch, hia_value_id, node.n_ins);
  hia_type *types = HIA_NEW_ARRAY(m->scratch, hia_type, node.n_outs);
  for (uint32_t i = 0; i < node.n_ins; i++) ins[i] = hiaG_in(fn, call, i);
  for (uint32_t i = 0; i < node.n_outs; i++) types[i] = hiaG_type(fn, node.outs + i);
  hia_node_id copy = hiaG_insert(m->g, fn, hiaG_yield_of(fn, arm), HIA_OP_CALL, ins, node.n_ins,
                                 types, node.n_outs, node.imm, node.loc);
  return hiaG_out(fn, copy, 0);
}

/* Equal calls, as indices into merging.calls. */
typedef struct equals {
  uint32_t n, at[MAX_LOOKED_AT];
} equals;

/* The call's results at the end of an arm: known there, or those of a copy of the call. */
static hia_value_id results_in(merging *m, const equals *e, hia_node_id call, hia_region_id arm) {
  for (uint32_t i = 0; i < e->n; i++)
    if (m->calls.data[e->at[i]].region == arm) return m->calls.data[e->at[i]].outs;
  return copy_call(m, call, arm);
}

/* Passes the results known in the last branch of the path out to the region of the first, and
 * returns them there. Other paths through the branches make the call. */
static hia_value_id hand_out(merging *m, const equals *e, const known *k, hia_node_id call,
                             const hia_node_id *path, uint32_t n) {
  hia_value_id results = k->outs;
  hia_region_id from = k->region;
  uint32_t n_outs = m->fn->nodes.data[call].n_outs;
  while (n-- > 0) {
    hia_region_id then = m->fn->nodes.data[path[n]].regions;
    hia_value_id more[2];
    for (uint32_t arm = 0; arm < 2; arm++)
      more[arm] = then + arm == from ? results : results_in(m, e, call, then + arm);
    results = add_results(m, path[n], more, n_outs);
    from = m->fn->nodes.data[path[n]].region;
  }
  return results;
}

/* ---- calls ---- */

static void replace_call(merging *m, hia_node_id call, hia_value_id by) {
  const hia_node node = m->fn->nodes.data[call];
  for (uint32_t i = 0; i < node.n_outs; i++) hiaG_replace(&m->subst, node.outs + i, by + i);
  hiaG_remove(m->fn, call);
  m->is_changed = true;
}

static bool is_equal(const merging *m, const known *a, const known *b) {
  if (a->callee != b->callee || a->n_args != b->n_args) return false;
  for (uint32_t i = 0; i < a->n_args; i++) {
    term x = m->args.data[a->args + i], y = m->args.data[b->args + i];
    if (x.base != y.base || x.plus != y.plus) return false;
  }
  return true;
}

static uint32_t hash_of(const merging *m, const known *k) {
  uint64_t h = k->callee * HIA_MIX;
  for (uint32_t i = 0; i < k->n_args; i++) {
    term t = m->args.data[k->args + i];
    h = ((h >> 29) ^ h ^ t.base) * HIA_MIX;
    h = ((h >> 29) ^ h ^ t.plus) * HIA_MIX;
  }
  return (uint32_t)(h >> 32);
}

static void visit_call(merging *m, hia_node_id call) {
  const hia_node node = m->fn->nodes.data[call];
  if (hiaG_node_effects(m->g, m->fn, call) & (HIA_E_COUNTS | HIA_E_IMPURE)) return;
  if (node.n_outs == 0) return;
  known made = {node.imm, m->args.len, node.n_ins, node.outs, node.region};
  for (uint32_t i = 0; i < node.n_ins; i++)
    hiaR_push(m->scratch, &m->args, term_of(m, hiaG_in(m->fn, call, i)));
  uint32_t hash = hash_of(m, &made), at = hash, i;
  equals e = {0};
  while (e.n < MAX_LOOKED_AT && (i = hiaR_index_next(&m->call_index, hash, &at)) != HIA_NONE)
    if (is_equal(m, &m->calls.data[i], &made)) e.at[e.n++] = i;
  for (uint32_t k = 0; k < e.n; k++) {
    const known *before = &m->calls.data[e.at[k]];
    if (!m->is_open[before->region]) continue;
    replace_call(m, call, before->outs);
    return;
  }
  /* Moved into an arm, a tail call would no longer be in tail position. */
  for (uint32_t k = 0; k < e.n && !(node.flags & HIA_NODE_TAIL); k++) {
    const known before = m->calls.data[e.at[k]];
    hia_node_id path[MAX_NESTED];
    uint32_t n = find_path(m, &before, call, path);
    if (n == 0 || !free_args(m, path[0], call)) continue;
    made.outs = hand_out(m, &e, &before, call, path, n);
    replace_call(m, call, made.outs);
    break;
  }
  hiaR_index_add(m->scratch, &m->call_index, hash, m->calls.len);
  hiaR_push(m->scratch, &m->calls, made);
}

static void enter(merging *m, hia_node_id n) {
  hia_region_id first = m->fn->nodes.data[n].regions;
  if (first != HIA_NONE) m->is_open[first] = true;
}

/* Leaves the region of a YIELD. Results known in a HEAD stay available in its ROUND. */
static void leave(merging *m, hia_region_id r) {
  switch ((hia_region_kind)m->fn->regions.data[r].kind) {
  case HIA_REGION_BODY: break;
  case HIA_REGION_THEN:
    m->is_open[r] = false;
    m->is_open[r + 1] = true;
    break;
  case HIA_REGION_ELSE:
  case HIA_REGION_EACH: m->is_open[r] = false; break;
  case HIA_REGION_HEAD: m->is_open[r + 1] = true; break;
  case HIA_REGION_ROUND: m->is_open[r] = m->is_open[r - 1] = false; break;
  }
}

static bool has_equal_callees(const hia_graph *g, const hia_fn *fn) {
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  bool *is_called = HIA_NEW_ARRAY(&g->comp->scratch, bool, g->fns.len), has = false;
  for (hia_node_id n = 0; n < fn->nodes.len && !has; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op != HIA_OP_CALL || node->flags & HIA_NODE_DEAD) continue;
    has = is_called[hiaG_callee(node)];
    is_called[hiaG_callee(node)] = true;
  }
  hiaR_arena_release(&g->comp->scratch, mark);
  return has;
}

bool hiaG_merge_in(hia_graph *g, hia_fn *fn) {
  if (!has_equal_callees(g, fn)) return false;
  merging m = {.g = g, .fn = fn, .scratch = &g->comp->scratch, .subst = hiaG_subst(g, fn)};
  m.is_open = HIA_NEW_ARRAY(m.scratch, bool, fn->regions.len);
  m.is_open[0] = true;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&m.subst, fn, n);
    enter(&m, n);
    next = hiaG_walk_next(fn, n);
    switch (fn->nodes.data[n].op) {
    case HIA_OP_CALL: visit_call(&m, n); break;
    case HIA_OP_YIELD: leave(&m, fn->nodes.data[n].region); break;
    default: number(&m, n);
    }
  }
  if (!m.is_changed) return false;
  /* Results of branches that the walk had passed have changed. */
  HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&m.subst, fn, n);
  return true;
}

void hiaG_merge(hia_graph *g) {
  g->merges_calls = true;
  HIA_EACH_FN(g, f) {
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    if (hiaG_merge_in(g, hiaG_fn(g, f))) hiaG_compact(g, hiaG_fn(g, f));
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}
