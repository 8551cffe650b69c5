/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* unroll: recursive inlining (Rugina, Rinard 2000). Several levels of recursion become one body, so
 * that fewer calls are made, and none only to find a leaf.
 *
 *     fn fib(n) = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)
 *
 * Each call of the group that is not a tail call is replaced by the callee's body. The calls of
 * that body are replaced in turn, down to some level. A call that is left at the last level is
 * guarded by the callee's base case, if it has one. So is every tail call in a copied body, which
 * is no tail call any more:
 *
 *     if n - 2 <= 1 then 1 else fib(n - 2)
 *
 * Tail calls of the body itself stay what they are and become loops afterwards; therefore this pass
 * comes before tail.c. The number of levels follows from the size: as many as keep the body
 * within MAX_COST.
 *
 * One would unroll all recursion. But where a loop comes with each call, or a call of another
 * recursive function, that takes most of the time. The larger body has the loop several times, so
 * that it is inlined nowhere, which costs more than the calls that are saved. Where a row of a
 * segment comes with each call (DEFER), calls take a hundredth of the time, and the code of the
 * larger body half of the compile time. Such functions stay as they are (does_much). So does a
 * function without a base case that has work for many times a call's: its leaves are calls at any
 * level. What goes back through a tape is like that; four bodies of it in one gained nothing, and
 * took most of the compile time of such a gradient (MAX_UNGUARDED).
 *
 * One would expect larger bodies to be enough. But most calls of a tree recursion are leaves, and a
 * leaf then pays for the frame of the large body. So a function whose calls are mostly leaves
 * (wants_slow_path) becomes two versions. The unrolled body is tried first. It is for arguments
 * whose calls all end within it: lower/function/leaf.c makes a function without calls of it, so
 * that a leaf needs no frame, saves no registers and has no poll. Where that version would call, it
 * jumps to the slow path instead, which begins again from the arguments. The slow path has the body
 * with one level, and the forks; its calls try the first version again. Work done before the jump
 * is done twice. That cannot be observed, because such a function calls no host.
 *
 *     slow(n) = if n <= 1 then 1 else FIB(n - 1) + FIB(n - 2)
 *
 * Where equal calls are merged (merge.c has run), they are merged at each level, before they
 * are replaced by bodies. The calls that merging adds to other arms get a guard only.
 *
 * Bodies are copied as they were before the pass, without their forks (fork.c). Forks are
 * copied only along the first-call and last-call paths, which lead to the large subtrees of a
 * lopsided tree. Where calls were merged, forks are made anew between the calls that are left
 * (choose). Backtraces stay the source's, as in inline.c: copied nodes get the call as their
 * parent. COUNT nodes are copied too.
 *
 * Functions that compute the elements of a map in halves (halve.c) are left as they are: their
 * calls are few, for each makes many elements or a large one.
 *
 * Requires hiaG_effects (groups, recursion), and keeps its results valid, except that functions of
 * a group may no longer call each other directly. For native code only: the interpreter gains
 * nothing from larger frames. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MAX_COST = 1600,    /* cycles, after the op table, of an unrolled body */
  MAX_LINEAR = 256,   /* the same, of linear recursion: the one call that is left is 2% of it */
  MAX_UNGUARDED = 64, /* the same, of a body as it is whose calls get no guard */
  MAX_LEVELS = 16,    /* of linear recursion; frames grow with each */
  MIN_LEVELS = 2,     /* of a function that gets a slow path */
  MAX_MEMBERS = 8,    /* functions of a group */
  MAX_FORKS = 2,      /* of an inner level; a level that would have more gets none */
  MAX_FEW = 4,        /* calls that merging leaves of a body */
  MIN_SAVED = 32,     /* forks are made anew if merging across them saves one call in 32 */
  MAX_GUARD = 8,      /* cost of what a guard computes before its test */
  MAX_LEAF = 24,      /* cost of a base case that is copied to every call */
  MAX_GROWTH = 60000  /* nodes that a graph may grow by */
};

/* The cost of putting a function's body in place of a call; or the maximum over a group. */
typedef struct size {
  uint32_t cost;    /* of the body */
  uint32_t n_calls; /* of the group in the body, tail calls not counted */
  uint32_t n_tails; /* tail calls of the group */
  uint32_t guard_cost;
  bool does_much; /* each call of the group comes with a loop, or the like */
  bool has_guard; /* a call can be guarded; of a group: a call of any function */
} size;

/* What is put in place of a call of a function. */
typedef struct shape {
  hia_fn forking; /* the body as it was */
  hia_fn body;    /* without forks */
  uint32_t n_forks;
  hia_fn guard; /* the base case, and a call where it is none */
  size size;
} shape;

typedef struct unrolling {
  hia_graph *g;
  hia_arena *scratch;
  shape *shapes;     /* by function */
  uint32_t *members; /* by group: how many functions */
  size *largest;     /* by group */
  uint32_t grown;    /* nodes, all functions */

  hia_fn *fn;          /* being unrolled */
  bool has_path_forks; /* bodies on the two paths are copied with their forks */
  bool merges;
  uint32_t group;
  bool has_merged; /* some of its calls were equal */
  hia_subst subst;
} unrolling;

static bool is_of_group(const unrolling *u, const hia_fn *fn, hia_node_id n, uint32_t group) {
  const hia_node *node = &fn->nodes.data[n];
  if (node->op != HIA_OP_CALL) return false;
  const hia_fn *callee = hiaG_fn(u->g, hiaG_callee(node));
  return callee->group == group && callee->effects & HIA_E_RECURSIVE && !callee->is_halving;
}

static bool is_tail(const hia_fn *fn, hia_node_id call) {
  return fn->nodes.data[call].flags & HIA_NODE_TAIL;
}

/* ---- the base case ---- */

/* True if the node only computes, and cannot fail. */
static bool is_pure(const unrolling *u, const hia_fn *fn, hia_node_id n) {
  if (fn->nodes.data[n].op == HIA_OP_ARG) return true;
  return !hiaG_node_does(
      u->g, fn, n, HIA_E_RAISES | HIA_E_ALLOCATES | HIA_E_ONCE | HIA_E_HOST | HIA_E_STRUCTURE);
}

/* True if the arm only computes: no calls, no loops, little work. An operation in it that fails
 * fails as it would have in the call. */
static bool is_leaf(const hia_fn *fn, hia_region_id region) {
  uint32_t cost = 0;
  hia_node_id end = hiaG_yield_of(fn, region);
  for (hia_node_id n = fn->regions.data[region].first; n != end; n = hiaG_walk_next(fn, n)) {
    unsigned op = fn->nodes.data[n].op;
    if (op == HIA_OP_CALL || op == HIA_OP_LOOP) return false;
    cost += hiaR_ops[op].cost;
    if (cost > MAX_LEAF) return false;
  }
  return true;
}

/* The branch that a region ends in: pure nodes, an IF, and a YIELD of its results or of pure
 * values. NONE if the region does not have that form. */
static hia_node_id branch_of(const unrolling *u, const hia_fn *fn, hia_region_id region) {
  hia_node_id branch = HIA_NONE;
  uint32_t cost = 0;
  hia_node_id end = hiaG_yield_of(fn, region);
  for (hia_node_id n = fn->regions.data[region].first; n != end; n = fn->nodes.data[n].next) {
    const hia_node *node = &fn->nodes.data[n];
    if (branch != HIA_NONE && !hiaG_is_constant(node->op)) return HIA_NONE;
    if (node->op == HIA_OP_IF)
      branch = n;
    else if (!is_pure(u, fn, n))
      return HIA_NONE;
    else
      cost += hiaR_ops[node->op].cost;
  }
  return cost <= MAX_GUARD ? branch : HIA_NONE;
}

/* Replaces the arm's nodes by a call of the function. operand[r]: the operand of the arm's YIELD
 * that is result r of the function; NONE: the arm does not yield it. */
static void call_instead(unrolling *u, hia_fn *fn, hia_fn_id f, hia_region_id arm,
                         const uint32_t *operand) {
  hia_graph *g = u->g;
  hia_node_id yield = hiaG_yield_of(fn, arm);
  while (fn->regions.data[arm].first != yield) hiaG_remove(fn, fn->regions.data[arm].first);
  hia_value_id *ins = HIA_NEW_ARRAY(u->scratch, hia_value_id, fn->n_params);
  HIA_EACH_ARG(fn, 0, n) ins[HIA_IMM_A(fn->nodes.data[n].imm)] = hiaG_out(fn, n, 0);
  hia_node_id call = hiaG_insert(g, fn, yield, HIA_OP_CALL, ins, fn->n_params, fn->results,
                                 fn->n_results, f, HIA_NONE);
  uint32_t n_out = fn->nodes.data[yield].n_ins;
  hia_value_id *out = HIA_NEW_ARRAY(u->scratch, hia_value_id, n_out);
  memset(out, 0xff, n_out * sizeof *out);
  for (uint32_t r = 0; r < fn->n_results; r++)
    if (operand[r] != HIA_NONE) out[operand[r]] = hiaG_out(fn, call, r);
  for (uint32_t i = 0; i < n_out; i++) {
    if (out[i] != HIA_NONE) continue;
    hia_type type = hiaG_type(fn, hiaG_in(fn, yield, i));
    hia_node_id undef = hiaG_insert(g, fn, yield, HIA_OP_UNDEF, NULL, 0, &type, 1, 0, HIA_NONE);
    out[i] = hiaG_out(fn, undef, 0);
  }
  hiaG_set_ins(g, fn, yield, out, n_out);
}

/* Keeps the leaves below a region, and puts calls of the function in place of the other arms.
 * False, and nothing is changed, if there are no leaves. Recursion: as deep as else-ifs nest whose
 * conditions are cheap, which MAX_GUARD bounds. */
static bool keep_leaves(unrolling *u, hia_fn *fn, hia_fn_id f, hia_region_id region,
                        const uint32_t *operand, uint32_t depth) {
  hia_node_id branch = depth < MAX_GUARD ? branch_of(u, fn, region) : HIA_NONE;
  if (branch == HIA_NONE) return false;
  hia_node_id yield = hiaG_yield_of(fn, region);
  hia_value_id outs = fn->nodes.data[branch].outs;
  uint32_t n_outs = fn->nodes.data[branch].n_outs;
  uint32_t *inner = HIA_NEW_ARRAY(u->scratch, uint32_t, fn->n_results);
  for (uint32_t r = 0; r < fn->n_results; r++) {
    uint32_t out = operand[r] == HIA_NONE ? HIA_NONE : hiaG_in(fn, yield, operand[r]) - outs;
    inner[r] = out < n_outs ? out : HIA_NONE;
  }
  bool is_kept[2];
  for (uint32_t i = 0; i < 2; i++) {
    hia_region_id arm = fn->nodes.data[branch].regions + i;
    is_kept[i] = is_leaf(fn, arm) || keep_leaves(u, fn, f, arm, inner, depth + 1);
  }
  if (!is_kept[0] && !is_kept[1]) return false;
  for (uint32_t i = 0; i < 2; i++)
    if (!is_kept[i]) call_instead(u, fn, f, fn->nodes.data[branch].regions + i, inner);
  return true;
}

static uint32_t cost_of(const hia_fn *fn) {
  uint32_t cost = 0;
  HIA_EACH_NODE(fn, n) cost += hiaR_ops[fn->nodes.data[n].op].cost;
  return cost;
}

/* Removes the forks: the calls are made by this activation only. */
static void strip_forks(unrolling *u, hia_fn *fn) {
  hia_subst subst = hiaG_subst(u->g, fn);
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    next = hiaG_walk_next(fn, n);
    hiaG_rewrite_ins(&subst, fn, n);
    const hia_node node = fn->nodes.data[n];
    if (node.op != HIA_OP_FORK && node.op != HIA_OP_STOLEN) continue;
    if (node.op == HIA_OP_STOLEN) {
      hia_type type = HIA_BOOL;
      hia_node_id no = hiaG_insert(u->g, fn, n, HIA_OP_CONST, NULL, 0, &type, 1, 0, node.loc);
      hiaG_replace(&subst, node.outs, hiaG_out(fn, no, 0));
    }
    hiaG_remove(fn, n);
    is_changed = true;
  }
  if (is_changed) hiaG_fold(u->g, fn);
}

static uint32_t count_forks(const hia_fn *fn) {
  uint32_t forks = 0;
  HIA_EACH_NODE(fn, n) forks += fn->nodes.data[n].op == HIA_OP_FORK;
  return forks;
}

/* ---- work that outweighs a call ---- */

/* Returns, by region, how many calls of the group stand in it, without tail calls. */
static uint32_t *calls_by_region(const unrolling *u, const hia_fn *fn) {
  uint32_t *calls = HIA_NEW_ARRAY(u->scratch, uint32_t, fn->regions.len);
  HIA_EACH_NODE(fn, n)
    calls[fn->nodes.data[n].region] += is_of_group(u, fn, n, fn->group) && !is_tail(fn, n);
  return calls;
}

/* True if a loop, a call of another recursive function, or a row that is noted, is on each path
 * with a call of the group: in a region that has all these calls in it, or in regions inside it. A
 * loop with such calls in it does not count. */
static bool does_much(const unrolling *u, const hia_fn *fn) {
  uint32_t *calls = calls_by_region(u, fn);
  for (hia_region_id r = fn->regions.len - 1; r > 0; r--) /* children before their parents */
    calls[fn->regions.data[r].parent] += calls[r];
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (!calls[0] || calls[node->region] < calls[0]) continue;
    if (node->op == HIA_OP_LOOP && !calls[node->regions] && !calls[node->regions + 1]) return true;
    if (node->op == HIA_OP_DEFER) return true;
    if (node->op == HIA_OP_CALL && !is_of_group(u, fn, n, fn->group) &&
        hiaG_fn(u->g, hiaG_callee(node))->effects & HIA_E_RECURSIVE)
      return true;
  }
  return false;
}

static void learn_shape(unrolling *u, hia_fn_id f) {
  hia_graph *g = u->g;
  shape *s = &u->shapes[f];
  s->body = *hiaG_fn(g, f);
  hiaG_compact(g, &s->body); /* a copy */
  s->forking = s->body;
  s->n_forks = count_forks(&s->forking);
  hiaG_compact(g, &s->body);
  strip_forks(u, &s->body);
  s->size.cost = cost_of(&s->body);
  for (hia_node_id n = s->body.regions.data[0].first; n != HIA_NONE;
       n = hiaG_walk_next(&s->body, n)) {
    if (!is_of_group(u, &s->body, n, s->body.group)) continue;
    if (is_tail(&s->body, n))
      s->size.n_tails++;
    else
      s->size.n_calls++;
  }
  s->guard = s->body;
  hiaG_compact(g, &s->guard);
  uint32_t *operand = HIA_NEW_ARRAY(u->scratch, uint32_t, s->body.n_results);
  for (uint32_t r = 0; r < s->body.n_results; r++) operand[r] = r;
  s->size.has_guard = keep_leaves(u, &s->guard, f, 0, operand, 0);
  if (s->size.has_guard) hiaG_compact(g, &s->guard);
  s->size.does_much = does_much(u, &s->body);
  s->size.guard_cost = s->size.has_guard ? cost_of(&s->guard) : hiaR_ops[HIA_OP_CALL].cost;
}

/* ---- how far ---- */

static uint32_t greater(uint32_t a, uint32_t b) { return a > b ? a : b; }

static void add_to_group(unrolling *u, hia_fn_id f) {
  size *all = &u->largest[u->shapes[f].body.group], one = u->shapes[f].size;
  all->cost = greater(all->cost, one.cost);
  all->n_calls = greater(all->n_calls, one.n_calls);
  all->n_tails = greater(all->n_tails, one.n_tails);
  all->guard_cost = greater(all->guard_cost, one.guard_cost);
  all->does_much |= one.does_much;
  all->has_guard |= one.has_guard;
}

/* The number of levels that calls in the body of f are unrolled to; HIA_NONE: they are not even
 * guarded. */
static uint32_t levels_for(const unrolling *u, hia_fn_id f) {
  const size *size_of_f = &u->shapes[f].size, *all = &u->largest[u->shapes[f].body.group];
  if (all->does_much || (!all->has_guard && all->cost > MAX_UNGUARDED)) return HIA_NONE;
  uint64_t call = all->guard_cost; /* what a call in the body costs, unrolled to `level` */
  bool is_linear = all->n_calls == 1 && !all->n_tails;
  for (uint32_t level = 0;; level++) {
    uint64_t cost = size_of_f->cost + size_of_f->n_calls * call;
    if (cost > MAX_COST) return level ? level - 1 : HIA_NONE;
    if (is_linear && cost > MAX_LINEAR) return level;
    if (level == MAX_LEVELS) return level;
    call = all->cost + all->n_calls * call + (uint64_t)all->n_tails * all->guard_cost;
  }
}

/* ---- a slow path beside it ---- */

/* The largest number of calls of the group on any path through the body, without tail calls. */
static uint32_t calls_on_a_way(unrolling *u, const hia_fn *fn) {
  uint32_t *calls = calls_by_region(u, fn);
  for (hia_region_id r = fn->regions.len - 1; r > 0; r--) { /* children before their parents */
    const hia_region *region = &fn->regions.data[r];
    if (region->kind == HIA_REGION_THEN) calls[region->parent] += greater(calls[r], calls[r + 1]);
  }
  return calls[0];
}

/* Returns, by parameter, true if conditions of the guard depend on it. The guard is compact: nodes
 * stand in the order of definition, those of regions behind their IF. */
static bool *tested_params(unrolling *u, const hia_fn *guard) {
  bool *is_tested = HIA_NEW_ARRAY(u->scratch, bool, guard->n_params);
  bool *is_needed = HIA_NEW_ARRAY(u->scratch, bool, guard->values.len);
  for (hia_node_id n = guard->nodes.len; n-- > 0;) {
    const hia_node *node = &guard->nodes.data[n];
    if (node->op == HIA_OP_IF) {
      is_needed[hiaG_in(guard, n, 0)] = true;
    } else if (node->op == HIA_OP_YIELD && node->region != 0) {
      const hia_node *branch = &guard->nodes.data[guard->regions.data[node->region].owner];
      for (uint32_t i = 0; i < node->n_ins; i++)
        if (is_needed[branch->outs + i]) is_needed[hiaG_in(guard, n, i)] = true;
    } else if (node->n_outs && is_needed[node->outs]) {
      if (node->op == HIA_OP_ARG) is_tested[HIA_IMM_A(node->imm)] = true;
      for (uint32_t i = 0; i < node->n_ins; i++) is_needed[hiaG_in(guard, n, i)] = true;
    }
  }
  return is_tested;
}

static double number(hia_type type, hia_word word) {
  switch (type) {
  case HIA_I32: return hiaR_to_i32(word);
  case HIA_I64: return (double)hiaR_to_i64(word);
  case HIA_F32: return (double)hiaR_to_f32(word);
  case HIA_F64: return hiaR_to_f64(word);
  case HIA_BOOL: break;
  }
  return 0;
}

/* True if the value is parameter `p`, or `p` plus or minus a constant. */
static bool is_moved(const hia_fn *fn, hia_value_id v, uint32_t p, double *distance) {
  const hia_node *node = hiaG_def(fn, v);
  *distance = 0;
  if (node->op == HIA_OP_ADD || node->op == HIA_OP_SUB) {
    hia_value_id a = fn->edges.data[node->ins], b = fn->edges.data[node->ins + 1];
    hia_word word;
    if (hiaG_is_const(fn, b, &word)) {
      *distance = number(hiaG_type(fn, b), word);
      if (node->op == HIA_OP_SUB) *distance = -*distance;
      node = hiaG_def(fn, a);
    } else if (node->op == HIA_OP_ADD && hiaG_is_const(fn, a, &word)) {
      *distance = number(hiaG_type(fn, a), word);
      node = hiaG_def(fn, b);
    }
  }
  return node->op == HIA_OP_ARG && HIA_IMM_A(node->imm) == p;
}

/* True if all calls leave a parameter as it is or move it in the same direction, none more than
 * twice as far as another. */
static bool moves_evenly(const unrolling *u, const hia_fn *fn, uint32_t p) {
  double least = 0, most = 0;
  HIA_EACH_NODE(fn, n) {
    double distance;
    if (!is_of_group(u, fn, n, fn->group) || is_tail(fn, n)) continue;
    if (!is_moved(fn, hiaG_in(fn, n, p), p, &distance)) return false;
    if (distance == 0) continue;
    if (least == 0) least = most = distance;
    if (!(distance * least > 0)) return false;
    if (distance * distance < least * least) least = distance;
    if (distance * distance > most * most) most = distance;
  }
  return most * most <= 4 * least * least;
}

/* True if the function should be tried without calls first. That pays if most of its calls are
 * leaves, or near them, and little work leads to the next call. Therefore a call must make several
 * others, all about equally far from their base cases: each parameter that the base case tests
 * moves evenly. (With `f(n / 10) + f(n - 1)` all calls but the last few would try in vain;
 * `f(n - 1) + f(n - 20)` takes twice as long this way, `f(n - 1) + f(n - 2)` is faster.) A library
 * function is a call as well, and takes longer than what is gained. Objects that were made, or
 * given up, cannot be so twice. */
static bool wants_slow_path(unrolling *u, hia_fn_id f) {
  const shape *s = &u->shapes[f];
  const hia_fn *fn = &s->body;
  if (u->g->is_counted || u->members[fn->group] > 1 || !s->size.has_guard) return false;
  for (hia_value_id v = 0; v < fn->values.len; v++)
    if (!hiaG_is_scalar(hiaG_type(fn, v))) return false;
  HIA_EACH_NODE(fn, n) {
    unsigned op = fn->nodes.data[n].op;
    if (op == HIA_OP_LOOP || hiaR_ops[op].traits & HIA_T_LIBRARY) return false;
    if (op == HIA_OP_HOST) return false; /* after a vain attempt it would be called twice */
    if (op == HIA_OP_CALL && !is_of_group(u, fn, n, fn->group)) return false;
  }
  const bool *is_tested = tested_params(u, &s->guard);
  for (uint32_t p = 0; p < fn->n_params; p++)
    if (is_tested[p] && !moves_evenly(u, fn, p)) return false;
  return calls_on_a_way(u, fn) > 1;
}

/* Makes the slow path of f, which has been unrolled, from f as it was before. The slow path has the
 * forks, and f loses its own. */
static hia_fn_id make_slow_path(unrolling *u, hia_fn_id f, const hia_fn *before) {
  hia_graph *g = u->g;
  hia_fn_id id =
      hiaG_fn_new(g, hiaG_new_name(g, before->name, ".slow"), before->source, before->loc,
                  before->params, before->n_params, before->results, before->n_results);
  hia_fn *slow = hiaG_fn(g, id);
  const char *name = slow->name;
  *slow = *before;
  slow->name = name;
  slow->is_root = false;
  slow->sig_params = NULL;
  slow->n_sig_params = 0;
  HIA_EACH_NODE(slow, n)
    if (is_of_group(u, slow, n, slow->group) && is_tail(slow, n)) slow->nodes.data[n].imm = id;
  hiaG_fn(g, f)->slow_path = id;
  strip_forks(u, hiaG_fn(g, f));
  hiaG_compact(g, hiaG_fn(g, f));
  return id;
}

/* ---- unrolling ---- */

/* Replaces a call by a copy of a body; returns the first node of the copy. */
static hia_node_id copy_body(unrolling *u, const hia_fn *body, hia_node_id call) {
  hia_fn *fn = u->fn;
  hia_node node = fn->nodes.data[call];
  hia_value_id *map = HIA_NEW_ARRAY(u->scratch, hia_value_id, body->values.len);
  memset(map, 0xff, body->values.len * sizeof *map);
  HIA_EACH_ARG(body, 0, arg)
    map[hiaG_out(body, arg, 0)] =
        hiaG_resolve(&u->subst, hiaG_in(fn, call, HIA_IMM_A(body->nodes.data[arg].imm)));
  hia_loc_id parent = node.loc;
  if (node.flags & HIA_NODE_TAIL && parent != HIA_NONE) parent = u->g->locs.data[parent].parent;
  hia_node_id first = fn->nodes.len;
  hiaG_copy_region(u->g, fn, node.region, call, body, 0, map, parent);
  hia_node_id yield = hiaG_yield_of(body, 0);
  hia_value_id *results = HIA_NEW_ARRAY(u->scratch, hia_value_id, node.n_outs);
  for (uint32_t r = 0; r < node.n_outs; r++) results[r] = map[hiaG_in(body, yield, r)];
  for (uint32_t r = 0; r < node.n_outs; r++) hiaG_replace(&u->subst, node.outs + r, results[r]);
  hiaG_remove(fn, call);
  return first;
}

/* Guards a call. The call left in the guard gets the location and tail flag of the original. */
static void guard(unrolling *u, hia_node_id call, const shape *s) {
  hia_node node = u->fn->nodes.data[call];
  for (hia_node_id n = copy_body(u, &s->guard, call); n < u->fn->nodes.len; n++) {
    hia_node *copy = &u->fn->nodes.data[n];
    if (copy->op != HIA_OP_CALL || hiaG_callee(copy) != hiaG_callee(&node)) continue;
    copy->loc = node.loc;
    copy->flags |= node.flags & HIA_NODE_TAIL;
  }
}

static void rewrite(unrolling *u) {
  HIA_EACH_NODE(u->fn, n) hiaG_rewrite_ins(&u->subst, u->fn, n);
}

static const shape *shape_of(const unrolling *u, hia_node_id call) {
  return &u->shapes[hiaG_callee(&u->fn->nodes.data[call])];
}

static bool is_dead(const unrolling *u, hia_node_id call) {
  return u->fn->nodes.data[call].flags & HIA_NODE_DEAD;
}

/* The calls that are left to unroll at this level, those in the copies, and those that only get a
 * guard. For the first two also the paths (PATH_) that they are on: a call is on the first-call
 * path if it is the first call of a body that stands for such a call, and so on outwards. */
typedef struct pending {
  hia_u32vec calls, inner, guarded;
  hia_u32vec path, inner_path;
} pending;
enum { PATH_FIRST = 1, PATH_LAST = 2 };

/* Adds the paths of the calls from `start` on, which stand in the body put for a call on `of`. */
static void add_path(const unrolling *u, const hia_u32vec *calls, hia_u32vec *path, uint32_t start,
                     uint32_t of) {
  for (uint32_t i = start; i < calls->len; i++) {
    uint32_t is_first = i == start ? PATH_FIRST : 0, is_last = i + 1 == calls->len ? PATH_LAST : 0;
    hiaR_push(u->scratch, path, of & (is_first | is_last));
  }
}

static void unroll_call(unrolling *u, pending *p, hia_node_id call, uint32_t path) {
  const shape *s = shape_of(u, call);
  const hia_fn *body = u->has_path_forks && path ? &s->forking : &s->body;
  uint32_t start = p->inner.len;
  for (hia_node_id n = copy_body(u, body, call), end = u->fn->nodes.len; n < end; n++)
    if (is_of_group(u, u->fn, n, u->group))
      hiaR_push(u->scratch, is_tail(u->fn, n) ? &p->guarded : &p->inner, n);
  add_path(u, &p->inner, &p->inner_path, start, path);
}

/* Unrolls the first call of each region. The later calls must wait: one of them may equal a call in
 * the first one's body, and is then merged with that. */
static void unroll_first(unrolling *u, pending *p) {
  bool *is_waiting = HIA_NEW_ARRAY(u->scratch, bool, u->fn->regions.len);
  hia_u32vec later = {0};
  for (uint32_t i = 0; i < p->calls.len; i++) {
    hia_node_id call = p->calls.data[i];
    hia_region_id region = u->fn->nodes.data[call].region;
    if (is_dead(u, call)) continue;
    if (is_waiting[region])
      hiaR_push(u->scratch, &later, call);
    else
      unroll_call(u, p, call, 0);
    is_waiting[region] = true;
  }
  p->calls = later;
  rewrite(u);
  hia_node_id made = u->fn->nodes.len;
  u->has_merged |= hiaG_merge_in(u->g, u->fn);
  for (; made < u->fn->nodes.len; made++)
    if (is_of_group(u, u->fn, made, u->group)) hiaR_push(u->scratch, &p->guarded, made);
}

/* Which forks the inner levels get, besides the forks that the function has. */
typedef enum inner_forks {
  FORK_NONE,  /* none; equal calls are merged */
  FORK_PATHS, /* those of the bodies on the two paths; equal calls are not merged */
  FORK_LEFT,  /* equal calls are merged; if any were, some of the calls left are forked (fork_left)
               */
} inner_forks;

static void unroll_level(unrolling *u, pending *p) {
  if (u->merges)
    while (p->calls.len) unroll_first(u, p);
  else
    for (uint32_t i = 0; i < p->calls.len; i++)
      unroll_call(u, p, p->calls.data[i], p->path.data[i]);
  p->calls = p->inner;
  p->path = p->inner_path;
  p->inner = p->inner_path = (hia_u32vec){0};
}

static void guard_all(unrolling *u, const hia_u32vec *calls) {
  for (uint32_t i = 0; i < calls->len; i++) {
    const shape *s = shape_of(u, calls->data[i]);
    if (s->size.has_guard && !is_dead(u, calls->data[i])) guard(u, calls->data[i], s);
  }
}

/* The number of forks that the next level would have: those on the two paths. */
static uint32_t forks_behind(const unrolling *u, const pending *p) {
  uint32_t forks = 0;
  for (uint32_t i = 0; i < p->calls.len; i++)
    if (p->path.data[i]) forks += shape_of(u, p->calls.data[i])->n_forks;
  return forks;
}

static uint32_t count_left(const unrolling *u, const pending *p) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < p->calls.len; i++) left += !is_dead(u, p->calls.data[i]);
  return left;
}

/* Forks some of the calls that merging has left. A body with few calls is short, and a fork would
 * take up to a quarter of its time. Such a body gets one level more than sequential code has. */
static void fork_left(unrolling *u, pending *p) {
  uint32_t left = count_left(u, p);
  if (left > 1 && left <= MAX_FEW) unroll_level(u, p);
  rewrite(u);
  hia_node_id made = u->fn->nodes.len;
  hiaG_fork_in(u->g, u->fn, HIA_FORK_ONE_A_REGION);
  for (; made < u->fn->nodes.len; made++)
    if (is_of_group(u, u->fn, made, u->group)) hiaR_push(u->scratch, &p->guarded, made);
}

static void unroll_levels(unrolling *u, hia_fn_id f, uint32_t levels, inner_forks forks) {
  hia_graph *g = u->g;
  u->fn = hiaG_fn(g, f);
  u->group = u->fn->group;
  u->has_merged = false;
  u->subst = hiaG_subst(g, u->fn);
  uint32_t n_before = u->fn->nodes.len;
  pending p = {0};
  HIA_EACH_NODE(u->fn, n)
    if (is_of_group(u, u->fn, n, u->group) && !is_tail(u->fn, n))
      hiaR_push(u->scratch, &p.calls, n);
  add_path(u, &p.calls, &p.path, 0, PATH_FIRST | PATH_LAST);
  u->has_path_forks = forks == FORK_PATHS;
  u->merges = g->merges_calls && !u->has_path_forks;
  for (; levels > 0; levels--) {
    u->has_path_forks = u->has_path_forks && forks_behind(u, &p) <= MAX_FORKS;
    unroll_level(u, &p);
  }
  if (forks == FORK_LEFT && u->has_merged) fork_left(u, &p);
  guard_all(u, &p.calls);
  guard_all(u, &p.guarded);
  rewrite(u);
  hiaG_number_forks(g, u->fn);
  u->grown += u->fn->nodes.len - n_before;
  g->is_unrolled |= u->fn->nodes.len > n_before;
  hiaG_compact(g, u->fn);
}

/* A function after unrolling. */
typedef struct unrolled {
  hia_fn fn;
  uint32_t grown;
  uint32_t calls; /* on the path with the most */
  bool has_merged;
} unrolled;

/* Unrolls a copy of `before`. */
static unrolled try_levels(unrolling *u, hia_fn_id f, const hia_fn *before, uint32_t levels,
                           inner_forks forks) {
  hia_fn *fn = hiaG_fn(u->g, f);
  uint32_t grown = u->grown;
  *fn = *before;
  hiaG_compact(u->g, fn); /* a copy */
  if (forks == FORK_LEFT) {
    strip_forks(u, fn);
    hiaG_compact(u->g, fn);
  }
  unroll_levels(u, f, levels, forks);
  fn = hiaG_fn(u->g, f);
  unrolled result = {*fn, u->grown - grown, calls_on_a_way(u, fn), u->has_merged};
  u->grown = grown;
  return result;
}

/* Chooses between forks and merging. A forked call is not merged with others, and where calls are
 * equal that costs many times what a second thread gains. So all equal calls are merged first, as
 * in sequential code, and forks are made between the calls that are left. Counting the calls
 * decides:
 *
 * - Where no calls were equal, the inner levels get the forks of the two paths.
 * - Where the outermost forks keep nearly no call from being merged, they stay: they stand around
 *   the largest pieces of work.
 * - Otherwise forks are made anew. */
static unrolled choose(unrolling *u, hia_fn_id f, const hia_fn *before, uint32_t levels,
                       inner_forks forks) {
  if (!u->g->merges_calls) return try_levels(u, f, before, levels, forks);
  bool has_forks = u->shapes[f].n_forks > 0;
  unrolled outermost = try_levels(u, f, before, levels, FORK_NONE);
  if (!has_forks) return outermost;
  unrolled left = try_levels(u, f, before, levels, FORK_LEFT);
  if (!left.has_merged)
    return forks == FORK_NONE ? outermost : try_levels(u, f, before, levels, forks);
  return outermost.calls - outermost.calls / MIN_SAVED <= left.calls ? outermost : left;
}

/* Unrolls f, with a slow path if that pays. Where equal calls were merged few calls are left, and
 * most of them are no leaves, so such a function gets no slow path. */
static void unroll_fn(unrolling *u, hia_fn_id f, uint32_t levels) {
  bool wants = levels >= MIN_LEVELS && wants_slow_path(u, f);
  hia_fn before = *hiaG_fn(u->g, f);
  hiaG_compact(u->g, &before); /* a copy */
  /* The slow path has the forks. */
  unrolled chosen = choose(u, f, &before, levels, wants ? FORK_NONE : FORK_PATHS);
  *hiaG_fn(u->g, f) = chosen.fn;
  u->grown += chosen.grown;
  if (wants && !chosen.has_merged) unroll_levels(u, make_slow_path(u, f, &before), 0, FORK_NONE);
}

void hiaG_unroll(hia_graph *g) {
  uint32_t n = g->fns.len;
  unrolling u = {.g = g, .scratch = &g->comp->scratch};
  u.shapes = HIA_NEW_ARRAY(u.scratch, shape, n);
  u.members = HIA_NEW_ARRAY(u.scratch, uint32_t, (size_t)n + 1);
  u.largest = HIA_NEW_ARRAY(u.scratch, size, (size_t)n + 1);
  HIA_EACH_FN(g, f) u.members[hiaG_fn(g, f)->group]++;
  hia_u32vec wanted = {0};
  HIA_EACH_FN_BELOW(g, n, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (!(fn->effects & HIA_E_RECURSIVE)) continue;
    if (u.members[fn->group] > MAX_MEMBERS) continue;
    learn_shape(&u, f);
    add_to_group(&u, f);
    if (u.shapes[f].size.n_calls) hiaR_push(u.scratch, &wanted, f);
  }
  for (uint32_t i = 0; i < wanted.len && u.grown < MAX_GROWTH; i++) {
    uint32_t levels = levels_for(&u, wanted.data[i]);
    if (levels != HIA_NONE) unroll_fn(&u, wanted.data[i], levels);
  }
}
