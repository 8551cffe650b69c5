/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* fuel: charges calls, loop rounds and operations on tensors, so that a run whose fuel is used up
 * fails.
 *
 * One would keep the fuel in a counter of the run. But then the point of failure would depend on
 * the order in which an engine works, and on what its passes merge or move. So fuel is a value of
 * the program, an i64 taken as unsigned. Every root, and every function with calls, loops or
 * tensors, takes it as an additional last parameter, and returns what is left as an additional last
 * result. A failure for lack of fuel is then the failure of an operation like others: at its place
 * in sequential order, with its backtrace, the same in all engines, whatever later passes do.
 * Fuelled calls depend on each other, which also keeps them from being forked or merged.
 *
 * What is charged, and where: a region of the source (the body of a function, an arm of a branch,
 * the condition of a loop, a round) is charged when it is entered, one for each call that stands in
 * it, but not in a region inside it; a round is also charged one for itself. The region makes just
 * these calls unless it fails or does not end. So a run that ends has been charged exactly for the
 * calls and rounds it made. The charge has the position of the call or round, or of the first of
 * several.
 *
 *     fn fib(n) =                               fn fib(n, fuel) =
 *       if n <= 1                                 if n <= 1
 *       then 1                                    then (1, fuel)
 *       else                                      else let rest = charge 2 fuel
 *         fib(n - 1) + fib(n - 2)                      let (a, left) = fib(n - 1, rest)
 *                                                      let (b, left) = fib(n - 2, left)
 *                                                      (a + b, left)
 *
 * An operation on tensors is paid for just before it, by the shapes of its operands: a WORK
 * subtracts what it costs, and fails as a charge does. A PACK, whose elements are an array, is paid
 * for behind it, by its result; so is a CUT. Views cost nothing, nor does what is known to be
 * small. What a sum consists of (base/sums.h) is paid for where it is made, by the shapes of its
 * tensors, and the COLLECT of the sum by the shape of its result alone: so no sum is walked through
 * twice.
 *
 * A call of a host function counts like others. Runs that the host function begins use the same
 * fuel, so what is left is lent to them, and regained behind the call. All host functions are
 * impure here, because the number of their calls decides what is left.
 *
 * A branch or loop in which nothing is charged or takes fuel stays as it is. In a counted graph,
 * COUNT nodes mark the calls and rounds of the source; in others they are the CALL nodes and
 * rounds.
 *
 * Must be the first pass (but for grad and trap): it charges for what stands in the graph, and
 * merged, inlined or unrolled calls are not those of the source. Requires nothing; keeps the graph
 * counted if it was. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct fuelling {
  hia_graph *g;
  hia_arena *scratch;
  bool *takes; /* by function: has the parameter and the result */

  hia_fn *fn; /* being changed */
  hia_subst subst;
  uint64_t *cost;     /* by region: what is charged on entering it */
  hia_loc_id *loc;    /* and where */
  bool *is_touched;   /* by region: something in it, or inside, is charged or takes fuel */
  hia_value_id *fuel; /* by region: the fuel left where the walk is */
  hia_u32vec list;    /* operands being collected */
  HIA_VEC(hia_type) types;
} fuelling;

const char *hiaG_cannot_fuel(const hia_graph *g) {
  if (g->state != HIA_FUNCTIONS)
    return "it is a static graph, in which calls are no longer counted";
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->is_freezing) return "its iterations may be frozen";
    HIA_EACH_NODE(fn, n) {
      unsigned op = fn->nodes.data[n].op;
      if (op == HIA_OP_FORK) return "its calls are forked already";
      if (op == HIA_OP_DEFER) return "its operations are computed later";
    }
  }
  return NULL;
}

/* ---- operations on tensors ---- */

/* What is paid for a node: the work of an op on operands of the node, or on its result. */
typedef struct paid_work {
  unsigned op;
  uint32_t first, n; /* operands; n is 0: it costs nothing */
  uint32_t n_more;   /* so often again, with the next operand in place of the last one */
  bool is_behind;    /* of the result instead */
} paid_work;

/* Returns the work of a part of a sum. */
static paid_work work_of_part(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  if (!hiaG_is_sum(g->types, hiaG_type(fn, node->outs))) return (paid_work){0};
  switch ((hia_sum_ctor)node->imm) {
  case HIA_SUM_DENSE: return (paid_work){.op = HIA_OP_ZEROS, .n = 1};
  case HIA_SUM_ROWS: return (paid_work){.op = HIA_OP_ZEROS, .first = 1, .n = 1};
  case HIA_SUM_OUTER: return (paid_work){.op = HIA_OP_OUTER, .n = 2};
  case HIA_SUM_PAIR: return (paid_work){.op = HIA_OP_OUTER, .n = 2, .n_more = 1};
  case HIA_SUM_PRODUCTS: return (paid_work){.op = HIA_OP_PRODUCT_AT, .n = 2};
  default: return (paid_work){0};
  }
}

/* How many operands of the node its WORK has, the first ones; 0: it costs nothing. */
static uint32_t operands_of_work(const hia_fn *fn, hia_node_id n) {
  enum { SMALL = 1024 }; /* scalar operations: they cost one */
  const hia_node *node = &fn->nodes.data[n];
  uint32_t n_ins = node->n_ins;
  uint64_t known = 1;
  hia_word word;
  if (node->op == HIA_OP_WORK || node->op == HIA_OP_ALIKE || node->op == HIA_OP_TRAP ||
      !hiaG_is_operation(fn, n))
    return 0;
  switch ((hia_shape_rule)hiaR_ops[node->op].shape) {
  case HIA_SHAPE_WITH:
  case HIA_SHAPE_PACK:
  case HIA_SHAPE_REDUCE:
  case HIA_SHAPE_LAST:
  case HIA_SHAPE_LABELS:
  case HIA_SHAPE_LABELLED:
  case HIA_SHAPE_COLLECT:
  case HIA_SHAPE_TOUCHED:
  case HIA_SHAPE_COLLECT_ROWS:
  case HIA_SHAPE_CUT:
  case HIA_SHAPE_TRANSPOSE: return 1;
  case HIA_SHAPE_STACK: /* of scalars: one each */
    return n_ins < SMALL && hiaG_is_scalar(hiaG_type(fn, hiaG_in(fn, n, 0))) ? 0 : n_ins;
  case HIA_SHAPE_IOTA:
  case HIA_SHAPE_ONE_HOT:
  case HIA_SHAPE_FULL: /* of sizes that the program states; 0 and others below 0 cost nothing */
    for (uint32_t i = n_ins == 1 ? 0 : 1; i < n_ins; i++) {
      if (!hiaG_is_const(fn, hiaG_in(fn, n, i), &word) || hiaR_to_i64(word) >= SMALL) return n_ins;
      known *= hiaR_to_i64(word) > 0 ? word : 0;
      if (known >= SMALL) return n_ins;
    }
    return 0;
  default: return hiaR_work_takes(node->op, n_ins) ? n_ins : 0;
  }
}

static paid_work work_of(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  unsigned op = fn->nodes.data[n].op;
  if (op == HIA_OP_DATA) return work_of_part(g, fn, n);
  return (paid_work){.op = op,
                     .first = op == HIA_OP_COLLECT,
                     .n = operands_of_work(fn, n),
                     .is_behind = op == HIA_OP_PACK || op == HIA_OP_CUT || op == HIA_OP_TOUCHED ||
                                  op == HIA_OP_COLLECT_ROWS};
}

/* A literal costs as much as the STACK of its elements would. */
static uint64_t cost_of_literal(const hia_graph *g, const hia_node *node) {
  enum { PER_UNIT = 1024 }; /* scalar operations */
  return node->op == HIA_OP_LITERAL ? hiaG_literal_len(&g->literals.data[node->imm]) / PER_UNIT : 0;
}

/* ---- which functions take fuel ---- */

static bool has_charges(const hia_graph *g, const hia_fn *fn) {
  HIA_EACH_NODE(fn, n) {
    unsigned op = fn->nodes.data[n].op;
    if (op == HIA_OP_CALL || op == HIA_OP_HOST || op == HIA_OP_LOOP || op == HIA_OP_COUNT ||
        work_of(g, fn, n).n || cost_of_literal(g, &fn->nodes.data[n]))
      return true;
  }
  return false;
}

/* A function and its slow path (unroll.c) have the same signature: both take fuel, or neither.
 */
static void find_takers(fuelling *f) {
  hia_graph *g = f->g;
  f->takes = HIA_NEW_ARRAY(f->scratch, bool, g->fns.len);
  HIA_EACH_FN(g, id) {
    const hia_fn *fn = hiaG_fn(g, id);
    f->takes[id] |= fn->is_root || fn->slow_path != HIA_NONE || has_charges(g, fn);
    if (fn->slow_path != HIA_NONE) f->takes[fn->slow_path] = true;
  }
}

/* ---- what a function is charged ---- */

static void touch(fuelling *f, hia_region_id r) {
  for (; r != HIA_NONE && !f->is_touched[r]; r = f->fn->regions.data[r].parent)
    f->is_touched[r] = true;
}

static void charge(fuelling *f, hia_region_id r, hia_loc_id loc) {
  if (f->cost[r]++ == 0) f->loc[r] = loc;
  touch(f, r);
}

static void find_costs(fuelling *f) {
  const hia_fn *fn = f->fn;
  bool is_counted = f->g->is_counted;
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    switch (node->op) {
    case HIA_OP_COUNT: charge(f, node->region, node->loc); break;
    case HIA_OP_LOOP:
      if (!is_counted && !(node->flags & HIA_NODE_FREE)) charge(f, node->regions + 1, node->loc);
      break;
    case HIA_OP_CALL:
      if (!is_counted) charge(f, node->region, node->loc);
      if (f->takes[hiaG_callee(node)]) touch(f, node->region);
      break;
    case HIA_OP_HOST:
      if (!is_counted) charge(f, node->region, node->loc);
      touch(f, node->region);
      break;
    default:
      if (work_of(f->g, fn, n).n || cost_of_literal(f->g, node)) touch(f, node->region);
    }
  }
}

/* ---- passing it on ---- */

static void add_in(fuelling *f, hia_node_id n, hia_value_id value) {
  f->list.len = 0;
  for (uint32_t i = 0; i < f->fn->nodes.data[n].n_ins; i++)
    hiaR_push(f->scratch, &f->list, hiaG_in(f->fn, n, i));
  hiaR_push(f->scratch, &f->list, value);
  hiaG_set_ins(f->g, f->fn, n, f->list.data, f->list.len);
}

/* Adds a last result, and returns it. */
static hia_value_id add_out(fuelling *f, hia_node_id n) {
  hia_value_id old = f->fn->nodes.data[n].outs;
  uint32_t n_outs = f->fn->nodes.data[n].n_outs;
  f->types.len = 0;
  for (uint32_t i = 0; i < n_outs; i++) hiaR_push(f->scratch, &f->types, hiaG_type(f->fn, old + i));
  hiaR_push(f->scratch, &f->types, HIA_I64);
  hiaG_set_outs(f->g, f->fn, n, f->types.data, n_outs + 1);
  for (uint32_t i = 0; i < n_outs; i++) hiaG_replace(&f->subst, old + i, hiaG_out(f->fn, n, i));
  return hiaG_out(f->fn, n, n_outs);
}

/* Adds ARG number `index`, behind the others. */
static hia_value_id add_arg(fuelling *f, hia_region_id r, uint32_t index, hia_loc_id loc) {
  hia_type type = HIA_I64;
  hia_node_id at = hiaG_behind_args(f->fn, r);
  hia_node_id arg = hiaG_insert(f->g, f->fn, at, HIA_OP_ARG, NULL, 0, &type, 1, index, loc);
  return hiaG_out(f->fn, arg, 0);
}

/* The walk is about to enter a region with this fuel. */
static void enter(fuelling *f, hia_region_id r, hia_value_id fuel) {
  f->fuel[r] = fuel;
  if (f->cost[r] == 0) return;
  hia_type type = HIA_I64;
  hia_node_id at = hiaG_behind_args(f->fn, r);
  hia_node_id n =
      hiaG_insert(f->g, f->fn, at, HIA_OP_CHARGE, &fuel, 1, &type, 1, f->cost[r], f->loc[r]);
  f->fuel[r] = hiaG_out(f->fn, n, 0);
}

static void visit_if(fuelling *f, hia_node_id n) {
  hia_region_id home = f->fn->nodes.data[n].region, then = f->fn->nodes.data[n].regions;
  hia_value_id fuel = f->fuel[home];
  if (f->is_touched[then] || f->is_touched[then + 1]) f->fuel[home] = add_out(f, n);
  enter(f, then, fuel);
  enter(f, then + 1, fuel);
}

static void visit_loop(fuelling *f, hia_node_id n) {
  hia_region_id home = f->fn->nodes.data[n].region, head = f->fn->nodes.data[n].regions;
  hia_value_id fuel = f->fuel[home];
  if (f->is_touched[head]) { /* includes its round, which lies in it */
    add_in(f, n, fuel);
    fuel = add_arg(f, head, f->fn->nodes.data[n].n_ins - 1, f->fn->nodes.data[n].loc);
    f->fuel[home] = add_out(f, n);
  }
  enter(f, head, fuel);
}

static void visit_yield(fuelling *f, hia_node_id n) {
  hia_region_id r = f->fn->nodes.data[n].region;
  const hia_region *region = &f->fn->regions.data[r];
  hia_value_id fuel = f->fuel[r];
  bool hands_on = false;
  switch ((hia_region_kind)region->kind) {
  case HIA_REGION_BODY: hands_on = true; break;
  case HIA_REGION_THEN: hands_on = f->is_touched[r] || f->is_touched[r + 1]; break;
  case HIA_REGION_ELSE: hands_on = f->is_touched[r] || f->is_touched[r - 1]; break;
  case HIA_REGION_HEAD: hands_on = f->is_touched[r]; break;
  case HIA_REGION_ROUND: hands_on = f->is_touched[region->parent]; break;
  case HIA_REGION_EACH: HIA_BUG(f->g->comp, "a map among the loops");
  }
  if (hands_on) add_in(f, n, fuel);
  if (f->fn->regions.data[r].kind == HIA_REGION_HEAD) enter(f, r + 1, fuel);
}

static void visit_call(fuelling *f, hia_node_id n) {
  hia_region_id r = f->fn->nodes.data[n].region;
  if (!f->takes[hiaG_callee(&f->fn->nodes.data[n])]) return;
  add_in(f, n, f->fuel[r]);
  f->fuel[r] = add_out(f, n);
}

/* Every type of the language has at least one scalar, so there is a result that REGAIN can wait
 * for.
 */
static void visit_host(fuelling *f, hia_node_id n) {
  const hia_node node = f->fn->nodes.data[n];
  hia_type type = HIA_I64;
  hiaG_insert(f->g, f->fn, n, HIA_OP_LEND, &f->fuel[node.region], 1, NULL, 0, 0, node.loc);
  hia_node_id back =
      hiaG_insert(f->g, f->fn, node.next, HIA_OP_REGAIN, &node.outs, 1, &type, 1, 0, node.loc);
  f->fuel[node.region] = hiaG_out(f->fn, back, 0);
}

static void visit_literal(fuelling *f, hia_node_id n) {
  const hia_node node = f->fn->nodes.data[n];
  uint64_t cost = cost_of_literal(f->g, &node);
  hia_type type = HIA_I64;
  if (!cost) return;
  hia_node_id charge = hiaG_insert(f->g, f->fn, n, HIA_OP_CHARGE, &f->fuel[node.region], 1, &type,
                                   1, cost, node.loc);
  f->fuel[node.region] = hiaG_out(f->fn, charge, 0);
}

/* Pays for the work with the operand `last` as the last one. */
static void pay(fuelling *f, hia_node_id n, const paid_work *paid, uint32_t last) {
  const hia_node node = f->fn->nodes.data[n];
  hia_type type = HIA_I64;
  f->list.len = 0;
  hiaR_push(f->scratch, &f->list, f->fuel[node.region]);
  for (uint32_t i = 0; i < paid->n; i++) {
    uint32_t operand = i + 1 < paid->n ? paid->first + i : last;
    hiaR_push(f->scratch, &f->list, paid->is_behind ? node.outs : hiaG_in(f->fn, n, operand));
  }
  hia_node_id work = hiaG_insert(f->g, f->fn, paid->is_behind ? node.next : n, HIA_OP_WORK,
                                 f->list.data, f->list.len, &type, 1, paid->op, node.loc);
  f->fuel[node.region] = hiaG_out(f->fn, work, 0);
}

static void visit_operation(fuelling *f, hia_node_id n) {
  const paid_work paid = work_of(f->g, f->fn, n);
  if (!paid.n) return;
  for (uint32_t i = 0; i <= paid.n_more; i++) pay(f, n, &paid, paid.first + paid.n - 1 + i);
}

/* ---- signatures ---- */

static hia_type *with_i64(fuelling *f, const hia_type *types, uint32_t n) {
  hia_type *more = HIA_NEW_ARRAY(&f->g->comp->arena, hia_type, (size_t)n + 1);
  if (n) memcpy(more, types, n * sizeof *types);
  more[n] = HIA_I64;
  return more;
}

static void extend_signature(fuelling *f) {
  hia_fn *fn = f->fn;
  fn->params = with_i64(f, fn->params, fn->n_params++);
  fn->results = with_i64(f, fn->results, fn->n_results++);
  if (!fn->is_root) return;
  uint32_t n = fn->n_sig_params++;
  hia_type *params = HIA_NEW_ARRAY(&f->g->comp->arena, hia_type, (size_t)n + 1);
  if (n) memcpy(params, fn->sig_params, n * sizeof *params);
  params[n] = HIA_I64;
  fn->sig_params = params;
  hia_type parts[2] = {fn->sig_result, HIA_I64};
  fn->sig_result = hiaG_tuple(f->g->types, parts, 2);
}

static void fuel_function(fuelling *f, hia_fn *fn) {
  uint32_t n_regions = fn->regions.len;
  f->fn = fn;
  f->subst = hiaG_subst(f->g, fn);
  f->cost = HIA_NEW_ARRAY(f->scratch, uint64_t, n_regions);
  f->loc = HIA_NEW_ARRAY(f->scratch, hia_loc_id, n_regions);
  f->is_touched = HIA_NEW_ARRAY(f->scratch, bool, n_regions);
  f->fuel = HIA_NEW_ARRAY(f->scratch, hia_value_id, n_regions);
  f->list = (hia_u32vec){0};
  memset(&f->types, 0, sizeof f->types);
  find_costs(f);
  extend_signature(f);
  enter(f, 0, add_arg(f, 0, fn->n_params - 1, HIA_NONE));
  HIA_EACH_NODE(fn, n) {
    hiaG_rewrite_ins(&f->subst, fn, n);
    switch (fn->nodes.data[n].op) {
    case HIA_OP_IF: visit_if(f, n); break;
    case HIA_OP_LOOP: visit_loop(f, n); break;
    case HIA_OP_YIELD: visit_yield(f, n); break;
    case HIA_OP_CALL: visit_call(f, n); break;
    case HIA_OP_HOST: visit_host(f, n); break;
    case HIA_OP_LITERAL: visit_literal(f, n); break;
    default: visit_operation(f, n);
    }
  }
  hiaG_compact(f->g, fn);
}

void hiaG_fuel(hia_graph *g) {
  fuelling f = {.g = g, .scratch = &g->comp->scratch};
  hiaG_map(g); /* the rounds use up fuel in their order */
  find_takers(&f);
  for (uint32_t i = 0; i < g->externs.len; i++) g->externs.data[i].is_impure = true;
  for (hia_fn_id id = 0; id < g->fns.len; id++) {
    if (!f.takes[id]) continue;
    hia_mark mark = hiaR_arena_mark(f.scratch);
    fuel_function(&f, hiaG_fn(g, id));
    hiaR_arena_release(f.scratch, mark);
  }
}
