/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* cons: tail recursion modulo constructors, for native code. A call whose result is only stored in
 * an object that the function returns becomes a tail call, and the recursion a loop (tail.c).
 * After Bour, Clément and Scherer, "Tail Modulo Cons" (JFLA 2021), and Leijen and Lorenzen, "Tail
 * Recursion Modulo Context" (POPL 2023); the idea is Friedman and Wise's (1975).
 *
 *     fn append(xs, ys) = match xs { Nil => ys, Cons(x, rest) => Cons(x, append(rest, ys)) }
 *
 * The object is made before the call, with a hole in it. The callee is told where its result
 * belongs: this is destination-passing style. It does not put the last piece there itself, since
 * results are better off outside of loops; it returns it, and where it belongs. So a function f
 * gets a version `f into`:
 *
 *     fn append into(to, xs, ys) = match xs {
 *       Nil => (ys, to),
 *       Cons(x, rest) => { let cell = Cons(x, hole); let next = hole.at(cell); put(to, cell);
 *                          append into(next, rest, ys) },
 *     }
 *
 * and a call of f from elsewhere becomes
 *
 *     let to = dest(); let (last, at) = append into(to, xs, ys); put(at, last); take(to)
 *
 * The first destination is a word of the caller's frame. Of a function with several results, each
 * has its own.
 *
 * A body is a tree along its tail, as in tail.c, whose regions are called spots here too. But
 * constructions may follow the call, or the branch, that a spot ends in. Functions are changed
 * together that lead to each other so, through calls in tail position or below constructors.
 *
 * Left alone are functions that can fail, since a failure shows the calls of the source in its
 * backtrace; and functions that make two calls of their group on one path: these are unrolled or
 * forked, which gains more. The interpreter gains nothing, as its frames live on a heap.
 *
 * Requires hiaG_effects, and runs it again. Comes behind fork.c: a call that is forked, or made
 * while another is, is not the last thing that its function does. */
#include "graph/analysis/effects.h"
#include "graph/analysis/groups.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/scc.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef enum spot_kind {
  SPOT_EXIT,   /* no call that could become a tail call */
  SPOT_CALL,   /* ends in such a call, and constructions */
  SPOT_BRANCH, /* ends in a branch with such calls below, and constructions */
} spot_kind;

/* The constructions around one result of a spot's end, from the outside inwards. */
typedef struct wrapping {
  hia_u32vec nodes; /* DATA */
  hia_u32vec holes; /* of each: the operand that is the next one, or the end's result */
} wrapping;

typedef struct spot {
  spot_kind kind;
  hia_region_id region;
  hia_node_id end;          /* the CALL or IF; NONE for an exit */
  uint32_t parent;          /* the spot around; NONE for the first */
  bool has_calls;           /* here or below */
  const uint32_t *operand;  /* of each result of the function among the operands of the YIELD */
  uint32_t *end_result;     /* the same among the results of `end` */
  wrapping *wrappings;      /* by result */
  const hia_value_id *dest; /* by result: where it is to be put; when the spot is rewritten */
} spot;
typedef HIA_VEC(spot) spot_vec;

typedef struct consing {
  hia_graph *g;
  hia_arena *scratch;
  uint32_t n_fns;          /* before this pass */
  uint32_t *class;         /* by function: only calls within one class are changed */
  hia_fn_id *into;         /* by function: its version; or NONE */
  hia_fn *fn;              /* being looked at: a function, or a version with a copy of its body */
  const hia_type *results; /* of the function */
  uint32_t n_results;
  uint32_t *n_uses; /* by value of fn */
  uint32_t *order;  /* by node of fn: its number in sequential order */
} consing;

/* ---- the tree ---- */

static void open_function(consing *c, hia_fn *fn) {
  uint32_t n_nodes = 0;
  c->fn = fn;
  c->n_uses = HIA_NEW_ARRAY(c->scratch, uint32_t, fn->values.len);
  c->order = HIA_NEW_ARRAY(c->scratch, uint32_t, fn->nodes.len);
  HIA_EACH_NODE(fn, n) {
    c->order[n] = n_nodes++;
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) c->n_uses[hiaG_in(fn, n, i)]++;
  }
}

static bool constructs(unsigned op) { return op == HIA_OP_DATA || op == HIA_OP_DATA_LATE; }

static bool is_passive(unsigned op) { return hiaG_is_constant(op) || constructs(op); }

/* The last node of a region that does more than to construct; NONE if it has none. */
static hia_node_id end_of(const hia_fn *fn, hia_region_id region) {
  hia_node_id n = fn->nodes.data[hiaG_yield_of(fn, region)].prev;
  while (n != HIA_NONE && is_passive(fn->nodes.data[n].op)) n = fn->nodes.data[n].prev;
  return n;
}

/* True if the value is of a construction behind node `end`, in the same region. */
static bool is_made_behind(const consing *c, hia_node_id end, hia_value_id v) {
  const hia_node *nodes = c->fn->nodes.data;
  hia_node_id n = c->fn->values.data[v].node;
  return constructs(nodes[n].op) && nodes[n].region == nodes[end].region &&
         c->order[n] > c->order[end];
}

/* Follows value v from the YIELD inwards, through constructions behind node `end` that use each
 * other and nothing else does, to a result of `end`. Returns which, or NONE. */
static uint32_t unwrap(consing *c, hia_node_id end, hia_value_id v, wrapping *w) {
  const hia_fn *fn = c->fn;
  const hia_node *nodes = fn->nodes.data;
  for (;;) {
    hia_node_id n = fn->values.data[v].node;
    if (c->n_uses[v] != 1) return HIA_NONE;
    if (n == end) return v - nodes[end].outs;
    if (!is_made_behind(c, end, v)) return HIA_NONE;
    uint32_t hole = HIA_NONE;
    for (uint32_t i = 0; i < nodes[n].n_ins; i++) {
      hia_value_id part = hiaG_in(fn, n, i);
      if (fn->values.data[part].node != end && !is_made_behind(c, end, part)) continue;
      if (hole != HIA_NONE) return HIA_NONE;
      hole = i;
    }
    if (hole == HIA_NONE) return HIA_NONE;
    hiaR_push(c->scratch, &w->nodes, n);
    hiaR_push(c->scratch, &w->holes, hole);
    v = hiaG_in(fn, n, hole);
  }
}

static bool has_results(const hia_fn *fn, const hia_type *results, uint32_t n) {
  return fn->n_results == n && memcmp(fn->results, results, n * sizeof *results) == 0;
}

/* Finds the spot of a region. Operand `operand[r]` of the region's YIELD is result r of the
 * function.
 */
static spot look(consing *c, uint32_t class, hia_region_id region, const uint32_t *operand,
                 uint32_t parent) {
  const hia_fn *fn = c->fn;
  spot s = {.region = region, .end = HIA_NONE, .parent = parent, .operand = operand};
  hia_node_id end = end_of(fn, region);
  if (end == HIA_NONE) return s;
  const hia_node *node = &fn->nodes.data[end];
  if (node->op == HIA_OP_CALL) {
    hia_fn_id callee = hiaG_callee(node);
    if (callee >= c->n_fns || c->class[callee] != class) return s;
    if (!has_results(hiaG_fn(c->g, callee), c->results, c->n_results)) return s;
  } else if (node->op != HIA_OP_IF) {
    return s;
  }
  uint32_t n_used = 0, n_wrapped = 0, n_made = 0;
  s.end_result = HIA_NEW_ARRAY(c->scratch, uint32_t, c->n_results);
  s.wrappings = HIA_NEW_ARRAY(c->scratch, wrapping, c->n_results);
  for (uint32_t r = 0; r < c->n_results; r++) {
    hia_value_id v = hiaG_in(fn, hiaG_yield_of(fn, region), operand[r]);
    s.end_result[r] = unwrap(c, end, v, &s.wrappings[r]);
    if (s.end_result[r] == HIA_NONE) return s;
    n_wrapped += s.wrappings[r].nodes.len;
  }
  for (uint32_t i = 0; i < node->n_outs; i++) n_used += c->n_uses[node->outs + i] != 0;
  for (hia_node_id n = node->next; n != HIA_NONE; n = fn->nodes.data[n].next)
    n_made += constructs(fn->nodes.data[n].op);
  if (n_used != c->n_results || n_made != n_wrapped) return s;
  s.kind = node->op == HIA_OP_CALL ? SPOT_CALL : SPOT_BRANCH;
  s.end = end;
  return s;
}

/* Lists all spots from the body inwards, outer before inner. `fn` has the body of function `of`. */
static void find_spots(consing *c, hia_fn *fn, const hia_fn *of, uint32_t class, spot_vec *spots) {
  uint32_t *operand = HIA_NEW_ARRAY(c->scratch, uint32_t, of->n_results);
  for (uint32_t i = 0; i < of->n_results; i++) operand[i] = i;
  c->results = of->results;
  c->n_results = of->n_results;
  open_function(c, fn);
  spots->len = 0;
  hiaR_push(c->scratch, spots, look(c, class, 0, operand, HIA_NONE));
  for (uint32_t i = 0; i < spots->len; i++) {
    spot s = spots->data[i];
    if (s.kind != SPOT_BRANCH) continue;
    hia_region_id then = fn->nodes.data[s.end].regions;
    hiaR_push(c->scratch, spots, look(c, class, then, s.end_result, i));
    hiaR_push(c->scratch, spots, look(c, class, then + 1, s.end_result, i));
  }
  for (uint32_t i = spots->len; i-- > 0;) {
    spot *s = &spots->data[i];
    s->has_calls |= s->kind == SPOT_CALL;
    if (!s->has_calls) s->kind = SPOT_EXIT;
    if (s->parent != HIA_NONE) spots->data[s->parent].has_calls |= s->has_calls;
  }
}

/* ---- which functions ---- */

static bool is_wrapped(const spot *s, uint32_t n_results) {
  for (uint32_t r = 0; r < n_results; r++)
    if (s->wrappings[r].nodes.len) return true;
  return false;
}

/* True if some path through the function makes two calls of its recursive group. */
static bool calls_twice(const consing *c, const hia_fn *fn) {
  uint32_t *n_calls = HIA_NEW_ARRAY(c->scratch, uint32_t, fn->regions.len);
  hia_u32vec regions = {0}; /* outer before inner */
  HIA_EACH_NODE(fn, n) {
    hia_region_id r = fn->nodes.data[n].region;
    if (fn->regions.data[r].first == n) hiaR_push(c->scratch, &regions, r);
  }
  while (regions.len) {
    hia_region_id r = regions.data[--regions.len];
    uint32_t n_here = 0;
    HIA_EACH_IN(fn, r, n) {
      const hia_node *node = &fn->nodes.data[n];
      uint32_t a, b;
      switch (node->op) {
      case HIA_OP_CALL:
      case HIA_OP_FORK: n_here += hiaG_fn(c->g, hiaG_callee(node))->group == fn->group; break;
      case HIA_OP_IF:
      case HIA_OP_LOOP:
        a = n_calls[node->regions], b = n_calls[node->regions + 1];
        n_here += node->op == HIA_OP_IF ? (a > b ? a : b) : 2 * (a + b);
        break;
      default: break;
      }
      if (n_here > 1) return true;
    }
    n_calls[r] = n_here;
  }
  return false;
}

/* Numbers the classes: functions that lead to each other through their spots. is_changed says by
 * class whether its functions are changed. */
static void find_classes(consing *c, bool **is_changed) {
  hia_graph *g = c->g;
  uint32_t n = c->n_fns;
  uint32_t *group = hiaG_groups(c->scratch, g);
  uint32_t *first = HIA_NEW_ARRAY(c->scratch, uint32_t, n + 1);
  bool *wraps = HIA_NEW_ARRAY(c->scratch, bool, n), *is_fit = HIA_NEW_ARRAY(c->scratch, bool, n);
  hia_u32vec edges = {0};
  spot_vec spots = {0};
  c->class = group;
  for (hia_fn_id f = 0; f < n; f++) {
    hia_fn *fn = hiaG_fn(g, f);
    first[f] = edges.len;
    if (fn->is_removed || !(fn->effects & HIA_E_RECURSIVE)) continue;
    find_spots(c, fn, fn, group[f], &spots);
    is_fit[f] = !(fn->effects & HIA_E_RAISES) && fn->n_results && !calls_twice(c, fn);
    for (uint32_t i = 0; i < spots.len; i++) {
      const spot *s = &spots.data[i];
      if (s->kind == SPOT_CALL) hiaR_push(c->scratch, &edges, hiaG_callee(&fn->nodes.data[s->end]));
      wraps[f] |= s->kind != SPOT_EXIT && is_wrapped(s, fn->n_results);
    }
  }
  first[n] = edges.len;
  uint32_t *class = HIA_NEW_ARRAY(c->scratch, uint32_t, n);
  uint32_t n_classes = hiaG_scc(c->scratch, n, first, edges.data, class);
  bool *is_unfit = HIA_NEW_ARRAY(c->scratch, bool, n_classes);
  *is_changed = HIA_NEW_ARRAY(c->scratch, bool, n_classes);
  for (hia_fn_id f = 0; f < n; f++) {
    bool has_edge = false;
    for (uint32_t e = first[f]; e < first[f + 1]; e++) has_edge |= class[edges.data[e]] == class[f];
    is_unfit[class[f]] |= !is_fit[f];
    (*is_changed)[class[f]] |= wraps[f] && has_edge;
  }
  for (uint32_t i = 0; i < n_classes; i++) (*is_changed)[i] &= !is_unfit[i];
  c->class = class;
}

/* ---- rewriting ---- */

static hia_node_id insert(consing *c, hia_node_id at, unsigned op, const hia_value_id *ins,
                          uint32_t n_ins, hia_type out, uint64_t imm) {
  bool has_out = hiaR_ops[op].n_outs != 0;
  return hiaG_insert(c->g, c->fn, at, op, ins, n_ins, has_out ? &out : NULL, has_out, imm,
                     c->fn->nodes.data[at].loc);
}

/* Makes the objects of a wrapping before node `at`, with a hole in the innermost, and puts them
 * where the result belongs. Returns where what fills the hole is to be put. */
static hia_value_id wrap(consing *c, hia_node_id at, const wrapping *w, hia_value_id dest) {
  hia_fn *fn = c->fn;
  hia_value_id inner = HIA_NONE, hole = HIA_NONE;
  for (uint32_t i = w->nodes.len; i-- > 0;) {
    hia_node made = fn->nodes.data[w->nodes.data[i]];
    uint32_t k = w->holes.data[i];
    hia_type type = hiaG_type(fn, made.outs);
    if (inner == HIA_NONE) {
      hia_type part = hiaG_type(fn, hiaG_in(fn, w->nodes.data[i], k));
      inner = hiaG_out(fn, insert(c, at, HIA_OP_HOLE, NULL, 0, part, 0), 0);
    }
    hia_value_id *ins = HIA_NEW_ARRAY(c->scratch, hia_value_id, made.n_ins);
    for (uint32_t j = 0; j < made.n_ins; j++)
      ins[j] = j == k ? inner : hiaG_in(fn, w->nodes.data[i], j);
    hia_node_id object =
        hiaG_insert(c->g, fn, at, made.op, ins, made.n_ins, &type, 1, made.imm, made.loc);
    inner = hiaG_out(fn, object, 0);
    if (hole == HIA_NONE) {
      uint64_t field = HIA_IMM(HIA_IMM_A(made.imm), k);
      hole = hiaG_out(fn, insert(c, at, HIA_OP_HOLE_AT, &inner, 1, HIA_I64, field), 0);
    }
  }
  if (inner == HIA_NONE) return dest;
  hia_value_id ins[2] = {dest, inner};
  insert(c, at, HIA_OP_PUT, ins, 2, HIA_I64, 0);
  return hole;
}

static void rewrite_exit(consing *c, const spot *s) {
  hia_node_id yield = hiaG_yield_of(c->fn, s->region);
  uint32_t n = c->n_results;
  hia_value_id *ins = HIA_NEW_ARRAY(c->scratch, hia_value_id, 2 * n);
  for (uint32_t r = 0; r < n; r++) {
    ins[r] = hiaG_in(c->fn, yield, s->operand[r]);
    ins[n + r] = s->dest[r];
  }
  hiaG_set_ins(c->g, c->fn, yield, ins, 2 * n);
}

/* The end of the spot comes last, behind the objects that are around its results. Returns the
 * destinations of these. */
static const hia_value_id *turn_around(consing *c, const spot *s) {
  hia_fn *fn = c->fn;
  uint32_t n_results = c->n_results;
  hia_value_id *dest = HIA_NEW_ARRAY(c->scratch, hia_value_id, n_results);
  for (hia_node_id n = fn->nodes.data[s->end].next, next; n != HIA_NONE; n = next) {
    next = fn->nodes.data[n].next;
    unsigned op = fn->nodes.data[n].op;
    if (hiaG_is_constant(op)) hiaG_move(fn, n, s->end);
  }
  for (uint32_t r = 0; r < n_results; r++) dest[r] = wrap(c, s->end, &s->wrappings[r], s->dest[r]);
  hiaG_set_ins(c->g, fn, hiaG_yield_of(fn, s->region), NULL, 0); /* until `end` has new results */
  for (uint32_t r = 0; r < n_results; r++)
    for (uint32_t i = 0; i < s->wrappings[r].nodes.len; i++)
      hiaG_remove(fn, s->wrappings[r].nodes.data[i]);
  return dest;
}

/* The end of the spot gives what the version returns, and so does its region. */
static void hand_on(consing *c, const spot *s, const hia_type *results) {
  uint32_t n = 2 * c->n_results;
  hia_value_id *ins = HIA_NEW_ARRAY(c->scratch, hia_value_id, n);
  hiaG_set_outs(c->g, c->fn, s->end, results, n);
  for (uint32_t i = 0; i < n; i++) ins[i] = hiaG_out(c->fn, s->end, i);
  hiaG_set_ins(c->g, c->fn, hiaG_yield_of(c->fn, s->region), ins, n);
}

static void rewrite_call(consing *c, const spot *s) {
  hia_fn *fn = c->fn;
  uint32_t n_results = c->n_results;
  const hia_value_id *dest = turn_around(c, s);
  hia_node *call = &fn->nodes.data[s->end];
  uint32_t n_ins = call->n_ins;
  hia_value_id *ins = HIA_NEW_ARRAY(c->scratch, hia_value_id, n_results + n_ins);
  for (uint32_t r = 0; r < n_results; r++) ins[s->end_result[r]] = dest[r];
  for (uint32_t i = 0; i < n_ins; i++) ins[n_results + i] = hiaG_in(fn, s->end, i);
  call->imm = HIA_IMM(c->into[hiaG_callee(call)], 0);
  call->flags |= HIA_NODE_TAIL;
  /* It is a tail call wherever its body was copied to: such functions are in no backtrace. */
  if (call->loc != HIA_NONE && c->g->locs.data[call->loc].parent != HIA_NONE) call->loc = fn->loc;
  hiaG_set_ins(c->g, fn, s->end, ins, n_results + n_ins);
  hand_on(c, s, fn->results);
}

/* Makes the version's body of a copy of the function's. */
static void rewrite(consing *c, hia_fn *fn, const hia_fn *of, uint32_t class) {
  spot_vec spots = {0};
  hia_value_id *dest = HIA_NEW_ARRAY(c->scratch, hia_value_id, of->n_results);
  for (uint32_t r = 0; r < of->n_results; r++) dest[r] = r; /* the first parameters */
  find_spots(c, fn, of, class, &spots);
  spots.data[0].dest = dest;
  for (uint32_t i = 0; i < spots.len; i++) {
    spot *s = &spots.data[i];
    if (s->parent != HIA_NONE) s->dest = spots.data[s->parent].dest;
    if (s->parent != HIA_NONE && !s->dest) continue; /* inside of an exit */
    if (s->kind == SPOT_EXIT) {
      rewrite_exit(c, s);
      s->dest = NULL;
    } else if (s->kind == SPOT_CALL) {
      rewrite_call(c, s);
    } else {
      s->dest = turn_around(c, s);
      hand_on(c, s, fn->results);
    }
  }
}

/* ---- functions ---- */

static void declare_version(consing *c, hia_fn_id f) {
  const hia_fn *of = hiaG_fn(c->g, f);
  uint32_t n = of->n_results;
  hia_type *params = HIA_NEW_ARRAY(c->scratch, hia_type, n + of->n_params);
  hia_type *results = HIA_NEW_ARRAY(c->scratch, hia_type, 2 * n);
  for (uint32_t r = 0; r < n; r++) {
    params[r] = results[n + r] = HIA_I64;
    results[r] = of->results[r];
  }
  for (uint32_t i = 0; i < of->n_params; i++) params[n + i] = of->params[i];
  c->into[f] = hiaG_fn_new(c->g, hiaG_new_name(c->g, of->name, " into"), of->source, of->loc,
                           params, n + of->n_params, results, 2 * n);
}

static void define_version(consing *c, hia_fn_id f) {
  const hia_fn *of = hiaG_fn(c->g, f);
  hia_fn *fn = hiaG_fn(c->g, c->into[f]);
  hia_value_id *map = HIA_NEW_ARRAY(c->scratch, hia_value_id, of->values.len);
  memset(map, 0xff, of->values.len * sizeof *map);
  HIA_EACH_ARG(of, 0, n)
    map[hiaG_out(of, n, 0)] = hiaG_out(fn, of->n_results + (uint32_t)of->nodes.data[n].imm, 0);
  hiaG_copy_region(c->g, fn, 0, HIA_NONE, of, 0, map, HIA_NONE);
  hia_value_id *ins = HIA_NEW_ARRAY(c->scratch, hia_value_id, of->n_results);
  for (uint32_t r = 0; r < of->n_results; r++) ins[r] = map[hiaG_in(of, hiaG_yield_of(of, 0), r)];
  hiaG_yield(c->g, fn, 0, ins, of->n_results);
  rewrite(c, fn, of, c->class[f]);
}

/* Puts destinations, a call of the version, and what fills the last holes before node `at`. Writes
 * the function's results. */
static void call_version(consing *c, hia_fn *fn, hia_node_id at, hia_fn_id f,
                         const hia_value_id *args, uint8_t flags, hia_loc_id loc,
                         hia_value_id *results) {
  static const hia_type word = HIA_I64;
  const hia_fn *of = hiaG_fn(c->g, f), *version = hiaG_fn(c->g, c->into[f]);
  uint32_t n = of->n_results;
  hia_value_id *ins = HIA_NEW_ARRAY(c->scratch, hia_value_id, version->n_params);
  for (uint32_t r = 0; r < n; r++)
    ins[r] = hiaG_out(fn, hiaG_insert(c->g, fn, at, HIA_OP_DEST, NULL, 0, &word, 1, 0, loc), 0);
  for (uint32_t i = 0; i < of->n_params; i++) ins[n + i] = args[i];
  hia_node_id call = hiaG_insert(c->g, fn, at, HIA_OP_CALL, ins, version->n_params,
                                 version->results, version->n_results, c->into[f], loc);
  fn->nodes.data[call].flags |= flags;
  for (uint32_t r = 0; r < n; r++) {
    hia_value_id put[2] = {hiaG_out(fn, call, n + r), hiaG_out(fn, call, r)};
    hiaG_insert(c->g, fn, at, HIA_OP_PUT, put, 2, NULL, 0, 0, loc);
  }
  for (uint32_t r = 0; r < n; r++)
    results[r] = hiaG_out(
        fn, hiaG_insert(c->g, fn, at, HIA_OP_TAKE, &ins[r], 1, &of->results[r], 1, 0, loc), 0);
}

/* The function itself, for hosts and forks, calls its version. */
static void make_entry(consing *c, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(c->g, f);
  hia_value_id *args = HIA_NEW_ARRAY(c->scratch, hia_value_id, fn->n_params);
  hia_value_id *results = HIA_NEW_ARRAY(c->scratch, hia_value_id, fn->n_results);
  hiaG_clear_body(c->g, fn);
  for (uint32_t i = 0; i < fn->n_params; i++) args[i] = i; /* the value of ARG i, in a new body */
  hiaG_yield(c->g, fn, 0, NULL, 0);
  hia_node_id yield = hiaG_yield_of(fn, 0);
  call_version(c, fn, yield, f, args, HIA_NODE_TAIL, fn->loc, results);
  hiaG_set_ins(c->g, fn, yield, results, fn->n_results);
}

static void redirect_calls(consing *c, hia_fn *fn) {
  hia_subst subst = hiaG_subst(c->g, fn);
  hia_u32vec replaced = {0};
  HIA_EACH_NODE(fn, n) {
    hiaG_rewrite_ins(&subst, fn, n);
    if (fn->nodes.data[n].op != HIA_OP_CALL) continue;
    hia_node call = fn->nodes.data[n];
    hia_fn_id f = hiaG_callee(&call);
    if (f >= c->n_fns || c->into[f] == HIA_NONE) continue;
    hia_value_id *args = HIA_NEW_ARRAY(c->scratch, hia_value_id, call.n_ins);
    hia_value_id *results = HIA_NEW_ARRAY(c->scratch, hia_value_id, call.n_outs);
    for (uint32_t i = 0; i < call.n_ins; i++) args[i] = hiaG_in(fn, n, i);
    call_version(c, fn, n, f, args, call.flags, call.loc, results);
    for (uint32_t i = 0; i < call.n_outs; i++) hiaG_replace(&subst, call.outs + i, results[i]);
    hiaR_push(c->scratch, &replaced, n);
  }
  for (uint32_t i = 0; i < replaced.len; i++) hiaG_remove(fn, replaced.data[i]);
}

/* ---- the pass ---- */

void hiaG_cons(hia_graph *g) {
  if (!hiaG_has_references(g)) return;
  consing c = {.g = g, .scratch = &g->comp->scratch, .n_fns = g->fns.len};
  bool *is_changed, has_changed = false;
  find_classes(&c, &is_changed);
  c.into = HIA_NEW_ARRAY(c.scratch, hia_fn_id, c.n_fns);
  memset(c.into, 0xff, c.n_fns * sizeof *c.into);
  for (hia_fn_id f = 0; f < c.n_fns; f++) {
    if (hiaG_fn(g, f)->is_removed || !is_changed[c.class[f]]) continue;
    declare_version(&c, f);
    has_changed = true;
  }
  if (!has_changed) return;
  for (hia_fn_id f = 0; f < c.n_fns; f++)
    if (c.into[f] != HIA_NONE) define_version(&c, f);
  for (hia_fn_id f = 0; f < c.n_fns; f++)
    if (c.into[f] != HIA_NONE) make_entry(&c, f);
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    redirect_calls(&c, fn);
    hiaG_compact(g, fn);
  }
  hiaG_effects(g);
}
