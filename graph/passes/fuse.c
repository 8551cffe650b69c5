/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* fuse: operations on the elements of tensors that native code computes in one loop.
 *
 *     %g = add %x, %b                 %h, %c = call "f fused 1" %x, %b
 *     %i = part %g, 0, 150
 *     %j = part %g, 150, 300          fn "f fused 1" (%x, %b) {
 *     %c = mul (sigmoid %i), ..         %g = add %x, %b
 *     %h = mul .., (tanh %c)            ... the same nodes ...
 *                                       yield %h, %c
 *                                     }
 *
 * One would add a node for such a group, with a meaning of its own. But a function means already
 * what its nodes mean: it fails where they fail, in their order, every engine runs it, and the text
 * form has it. So a group becomes a *fused kernel*, a function of its own, and lowering begins the
 * code of each function of this form with the loop, for operands that fit (lower/fused/kernel.c).
 * Its other code, operation by operation, is there for all others. So a mistake in the loop's
 * conditions costs time and no error message.
 *
 * Members of a group are
 *
 * - ops on scalars that are lifted, cannot fail, and exist for vectors. An operand may have fewer
 *   axes than the result, if the group does not compute it: each of its elements is read many
 * times;
 * - parts, rows, reshapes and checks of sizes, which only say where elements lie;
 * - rows of a matrix that a vector of indices says (a gather), at the start;
 * - reductions along the last axis, or of all elements, at the end: no member reads their results.
 *
 * Between members may be what computes with scalars only, and cannot fail, and guards, which may
 * fail at any time before the results are used. The call stands
 * where the last member stood. A value that is used outside of the group must be computed by it: a
 * part that is used elsewhere stays, and divides the group.
 *
 * The call is none of the source: it is in no backtrace, and is not counted.
 *
 * Segments (graph/batch/batch.h) often have the same kernel: one function that is inlined in
 * several places. In a segment nothing fails but for want of memory, so they share the kernel of
 * the first, if its nodes stand at the same places of the source.
 *
 * Comes behind all passes that move or merge operations, and before refs, which then finds out
 * whether a kernel or its caller gives up an operand. Runs hiaG_effects again. */
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MAX_MEMBERS = 64,
  MAX_WORDS = 24, /* parameters; results */
};

typedef struct fusing {
  hia_graph *g;
  hia_fn *fn;
  hia_arena *scratch;
  hia_subst subst;
  uint32_t *uses;        /* by value: in the function */
  uint32_t *inside;      /* by value: in the group that is looked at */
  uint32_t *group;       /* by node: the last group that it was a member of */
  hia_value_id *source;  /* by value of the group that is being found: whose elements it has, */
  hia_value_id *checked; /* through parts, rows, reshapes and checks; through checks alone */
  hia_value_id *copies;  /* by value: in the kernel that is made, */
  uint32_t *copied_to;   /* if this is its number */
  uint32_t n_groups;
  uint32_t n_kernels;
  hia_u32vec members;  /* of the group that is being found */
  uint8_t ways;        /* in which they go over elements */
  hia_u32vec replaced; /* members that kernels have taken over */
  hia_u32vec *shared;  /* kernels of segments, of all functions */
} fusing;

/* ---- members ---- */

static hia_fused_kind kind_of(const fusing *f, hia_node_id n) {
  return hiaG_fused_kind(f->g, f->fn, n);
}

static bool is_inside(const fusing *f, hia_value_id v) {
  return f->group[f->fn->values.data[v].node] == f->n_groups;
}

/* The value whose sizes this one has checked, if the group does that. */
static hia_value_id checked_by(const fusing *f, hia_value_id v) {
  while (is_inside(f, v) && hiaG_def(f->fn, v)->op == HIA_OP_EXPECT)
    v = hiaG_in(f->fn, f->fn->values.data[v].node, 0);
  return v;
}

static uint32_t rank_of(const fusing *f, hia_value_id v) {
  return hiaG_rank(f->g->types, hiaG_type(f->fn, v));
}

/* True for a column, as far as the function shows: its last size is the constant 1. */
static bool is_column(const fusing *f, hia_value_id v) {
  if (is_inside(f, v)) v = f->checked[v];
  const hia_node *def = hiaG_def(f->fn, v);
  hia_word size;
  return def->op == HIA_OP_RESHAPE &&
         hiaG_is_const(f->fn, f->fn->edges.data[def->ins + def->n_ins - 1], &size) && size == 1;
}

/* Operands of fewer axes, gathers and reductions of rows have the loop go by rows; a reduction of
 * all elements of a matrix, from the first to the last. No loop goes both ways. */
enum { BY_ROWS = 1, THROUGH = 2 };

static uint8_t ways_of(const fusing *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  if (node->op == HIA_OP_CUT) return BY_ROWS;
  switch (kind_of(f, n)) {
  case HIA_FUSED_GATHER: return BY_ROWS;
  case HIA_FUSED_FOLD:
    if (rank_of(f, hiaG_in(f->fn, n, 0)) == 1) return 0;
    return node->imm == HIA_NONE ? THROUGH : BY_ROWS;
  case HIA_FUSED_LANES:
    for (uint32_t i = 0; i < node->n_ins; i++) {
      uint32_t rank = rank_of(f, hiaG_in(f->fn, n, i));
      if (rank && rank < rank_of(f, hiaG_out(f->fn, n, 0))) return BY_ROWS;
      if (rank > 1 && is_column(f, hiaG_in(f->fn, n, i))) return BY_ROWS;
    }
    return 0;
  default: return 0;
  }
}

/* True if n reads an operand in a way that a loop over elements that the group computes cannot:
 * then it begins another group. */
static bool needs_stored(const fusing *f, hia_node_id n) {
  hia_fused_kind kind = kind_of(f, n);
  uint32_t rank = rank_of(f, hiaG_out(f->fn, n, 0));
  for (uint32_t i = 0; i < f->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = hiaG_in(f->fn, n, i);
    if (!is_inside(f, v)) continue;
    hia_value_id source = f->source[v];
    if (!is_inside(f, source)) continue;
    uint32_t its = rank_of(f, v);
    switch (kind_of(f, f->fn->values.data[source].node)) {
    case HIA_FUSED_FOLD: return true;
    case HIA_FUSED_GATHER:
      if (kind == HIA_FUSED_GATHER || f->checked[v] != source) return true;
      if (kind == HIA_FUSED_VIEW && f->fn->nodes.data[n].op != HIA_OP_EXPECT) return true;
      break;
    default:
      if (kind == HIA_FUSED_GATHER) return true;
    }
    if (kind == HIA_FUSED_LANES && (its < rank || is_column(f, v))) return true;
  }
  return false;
}

/* True if the region has no other node than a guard. */
static bool is_empty(const hia_fn *fn, hia_region_id r) {
  hia_node_id first = fn->regions.data[r].first;
  if (fn->nodes.data[first].op == HIA_OP_GUARD) first = fn->nodes.data[first].next;
  return fn->nodes.data[first].op == HIA_OP_YIELD;
}

/* A branch that only tests an assumption (graph/assume/suppose.c). */
static bool is_guard(const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  return node->op == HIA_OP_IF && !node->n_outs && is_empty(fn, node->regions) &&
         is_empty(fn, node->regions + 1);
}

/* A node that may stand between members: it is then before the call. */
static bool may_stay_between(const fusing *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  if (hiaG_is_constant(node->op)) return true;
  if (!is_guard(f->fn, n) && (hiaG_n_regions(node->op) || !hiaG_node_movable(f->g, f->fn, n)))
    return false;
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (f->group[f->fn->values.data[hiaG_in(f->fn, n, i)].node] == f->n_groups) return false;
  return true;
}

/* ---- the kernel ---- */

typedef struct outline {
  hia_value_id params[MAX_WORDS], results[MAX_WORDS];
  uint32_t n_params, n_results;
} outline;

/* True if the group computes the elements of the value: it is the result of an op on elements,
 * perhaps behind checks of its sizes, or of a reduction. */
static bool is_computed(const fusing *f, hia_value_id v) {
  v = checked_by(f, v);
  hia_fused_kind kind = kind_of(f, f->fn->values.data[v].node);
  return is_inside(f, v) && (kind == HIA_FUSED_LANES || kind == HIA_FUSED_FOLD);
}

static bool is_listed(const hia_value_id *list, uint32_t n, hia_value_id v) {
  for (uint32_t i = 0; i < n; i++)
    if (list[i] == v) return true;
  return false;
}

/* Lists what the group takes and gives. False: too much. */
static bool find_words(const fusing *f, const hia_node_id *members, uint32_t n, outline *o) {
  o->n_params = o->n_results = 0;
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < f->fn->nodes.data[members[i]].n_ins; k++) {
      hia_value_id v = hiaG_in(f->fn, members[i], k);
      if (is_inside(f, v) || hiaG_is_constant(hiaG_def(f->fn, v)->op)) continue;
      if (is_listed(o->params, o->n_params, v)) continue;
      if (o->n_params == MAX_WORDS) return false;
      o->params[o->n_params++] = v;
    }
    hia_value_id out = hiaG_out(f->fn, members[i], 0);
    if (f->uses[out] == f->inside[out]) continue;
    if (o->n_results == MAX_WORDS) return false;
    o->results[o->n_results++] = out;
  }
  return true;
}

static void set_copy(fusing *f, hia_value_id v, hia_value_id copy) {
  f->copies[v] = copy;
  f->copied_to[v] = f->n_kernels;
}

/* Returns the value in the kernel that is equal to a value; a constant is copied. */
static hia_value_id copy_of(fusing *f, hia_fn *kernel, hia_value_id v) {
  if (f->copied_to[v] == f->n_kernels) return f->copies[v];
  const hia_node *def = hiaG_def(f->fn, v);
  hia_type type = hiaG_type(f->fn, v);
  hia_node_id n = hiaG_add(f->g, kernel, 0, def->op, NULL, 0, &type, 1, def->imm, def->loc);
  set_copy(f, v, hiaG_out(kernel, n, 0));
  return f->copies[v];
}

static hia_fn_id make_kernel(fusing *f, const hia_node_id *members, uint32_t n, const outline *o) {
  hia_graph *g = f->g;
  hia_type params[MAX_WORDS], results[MAX_WORDS];
  for (uint32_t i = 0; i < o->n_params; i++) params[i] = hiaG_type(f->fn, o->params[i]);
  for (uint32_t i = 0; i < o->n_results; i++) results[i] = hiaG_type(f->fn, o->results[i]);
  const char *suffix = hiaR_arena_printf(f->scratch, " fused %u", ++f->n_kernels);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, f->fn->name, suffix), f->fn->source, f->fn->loc,
                             params, o->n_params, results, o->n_results);
  hia_fn *kernel = hiaG_fn(g, id);
  for (uint32_t i = 0; i < o->n_params; i++) set_copy(f, o->params[i], i);
  hia_u32vec ins = {0};
  for (uint32_t i = 0; i < n; i++) {
    ins.len = 0;
    for (uint32_t k = 0; k < f->fn->nodes.data[members[i]].n_ins; k++)
      hiaR_push(f->scratch, &ins, copy_of(f, kernel, hiaG_in(f->fn, members[i], k)));
    const hia_node *node = &f->fn->nodes.data[members[i]];
    hia_value_id out = hiaG_out(f->fn, members[i], 0);
    hia_type type = hiaG_type(f->fn, out);
    hia_node_id copy =
        hiaG_add(g, kernel, 0, node->op, ins.data, ins.len, &type, 1, node->imm, node->loc);
    set_copy(f, out, hiaG_out(kernel, copy, 0));
  }
  hia_value_id yields[MAX_WORDS];
  for (uint32_t i = 0; i < o->n_results; i++) yields[i] = f->copies[o->results[i]];
  hiaG_yield(g, kernel, 0, yields, o->n_results);
  return id;
}

static bool is_one_place(const hia_graph *g, hia_loc_id a, hia_loc_id b) {
  if (a == b) return true;
  if (a == HIA_NONE || b == HIA_NONE) return false;
  const hia_loc *x = &g->locs.data[a], *y = &g->locs.data[b];
  return x->line == y->line && x->col == y->col && x->fn == y->fn;
}

static bool are_equal_nodes(const hia_graph *g, const hia_fn *a, const hia_fn *b, hia_node_id n) {
  const hia_node *x = &a->nodes.data[n], *y = &b->nodes.data[n];
  if (x->op != y->op || x->imm != y->imm || x->n_ins != y->n_ins || x->n_outs != y->n_outs ||
      !is_one_place(g, x->loc, y->loc))
    return false;
  for (uint32_t i = 0; i < x->n_ins; i++)
    if (hiaG_in(a, n, i) != hiaG_in(b, n, i)) return false;
  return true;
}

/* True if two kernels are the same. Values are numbered in the order of their nodes. */
static bool are_equal(const hia_graph *g, const hia_fn *a, const hia_fn *b) {
  if (a->nodes.len != b->nodes.len || a->values.len != b->values.len || a->source != b->source)
    return false;
  for (hia_value_id v = 0; v < a->values.len; v++)
    if (hiaG_type(a, v) != hiaG_type(b, v)) return false;
  for (hia_node_id n = 0; n < a->nodes.len; n++)
    if (!are_equal_nodes(g, a, b, n)) return false;
  return true;
}

/* The kernel that takes the place of one: an equal one of another segment, or itself. */
static hia_fn_id find_equal(fusing *f, hia_fn_id kernel) {
  if (!f->fn->rows) return kernel;
  for (uint32_t i = 0; i < f->shared->len; i++) {
    hia_fn_id other = f->shared->data[i];
    if (!are_equal(f->g, hiaG_fn(f->g, other), hiaG_fn(f->g, kernel))) continue;
    hiaG_fn(f->g, kernel)->is_removed = true;
    return other;
  }
  hiaR_push(&f->g->comp->arena, f->shared, kernel);
  return kernel;
}

/* The position alone, without the calls that it was inlined for: the nodes of the kernel have them.
 */
static hia_loc_id position_alone(hia_graph *g, hia_loc_id loc) {
  if (loc == HIA_NONE) return HIA_NONE;
  const hia_loc at = g->locs.data[loc];
  return hiaG_loc(g, at.line, at.col, at.fn, HIA_NONE);
}

static void replace(fusing *f, const hia_node_id *members, uint32_t n, const outline *o) {
  hia_fn_id kernel = find_equal(f, make_kernel(f, members, n, o));
  hia_node_id last = members[n - 1];
  hia_type types[MAX_WORDS];
  for (uint32_t i = 0; i < o->n_results; i++) types[i] = hiaG_type(f->fn, o->results[i]);
  hia_loc_id loc = position_alone(f->g, f->fn->nodes.data[last].loc);
  hia_node_id call = hiaG_insert(f->g, f->fn, last, HIA_OP_CALL, o->params, o->n_params, types,
                                 o->n_results, kernel, loc);
  f->fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  for (uint32_t i = 0; i < o->n_results; i++)
    hiaG_replace(&f->subst, o->results[i], hiaG_out(f->fn, call, i));
  for (uint32_t i = 0; i < n; i++) hiaR_push(f->scratch, &f->replaced, members[i]);
}

/* ---- groups ---- */

/* Makes the members a group, and counts their uses of each other. */
static void mark_group(fusing *f, const hia_node_id *members, uint32_t n) {
  f->n_groups++;
  for (uint32_t i = 0; i < n; i++) {
    f->group[members[i]] = f->n_groups;
    f->inside[hiaG_out(f->fn, members[i], 0)] = 0;
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < f->fn->nodes.data[members[i]].n_ins; k++) {
      hia_value_id v = hiaG_in(f->fn, members[i], k);
      if (is_inside(f, v)) f->inside[v]++;
    }
}

/* The first member that must stay where it is, or n. */
static uint32_t find_divider(const fusing *f, const hia_node_id *members, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    hia_value_id out = hiaG_out(f->fn, members[i], 0);
    if (f->uses[out] != f->inside[out] && !is_computed(f, out)) return i;
  }
  return n;
}

/* True if the members are worth a kernel: something is computed, and one result at least is not
 * made in vain. */
static bool is_worth(const fusing *f, const hia_node_id *members, uint32_t n, const outline *o) {
  uint32_t n_computed = 0;
  for (uint32_t i = 0; i < n; i++) n_computed += kind_of(f, members[i]) == HIA_FUSED_LANES;
  return n_computed && n > 1 && o->n_results;
}

static void end_group(fusing *f) {
  const hia_node_id *members = f->members.data;
  for (uint32_t n = f->members.len; n;) {
    uint32_t some = n < MAX_MEMBERS ? n : MAX_MEMBERS, at;
    outline o;
    mark_group(f, members, some);
    /* What is in front of a divider is a group of its own, in which there may be others. */
    while ((at = find_divider(f, members, some)) < some) {
      some = at;
      mark_group(f, members, some);
    }
    while (some && !find_words(f, members, some, &o)) mark_group(f, members, some /= 2);
    if (find_divider(f, members, some) == some && some && is_worth(f, members, some, &o))
      replace(f, members, some, &o);
    else if (!some)
      some = 1; /* the divider */
    members += some;
    n -= some;
  }
  f->members.len = 0;
  f->ways = 0;
  f->n_groups++;
}

static void add_member(fusing *f, hia_node_id n) {
  hia_value_id in = hiaG_in(f->fn, n, 0), out = hiaG_out(f->fn, n, 0);
  bool is_view = kind_of(f, n) == HIA_FUSED_VIEW;
  bool is_check = f->fn->nodes.data[n].op == HIA_OP_EXPECT;
  f->source[out] = !is_view ? out : is_inside(f, in) ? f->source[in] : in;
  f->checked[out] = !is_check ? out : is_inside(f, in) ? f->checked[in] : in;
  f->group[n] = f->n_groups;
  hiaR_push(f->scratch, &f->members, n);
}

static void find_groups(fusing *f, hia_region_id r) {
  hia_fn *fn = f->fn;
  for (hia_node_id n = fn->regions.data[r].first, next; n != HIA_NONE; n = next) {
    next = fn->nodes.data[n].next;
    if (kind_of(f, n) != HIA_NOT_FUSED) {
      uint8_t ways = ways_of(f, n);
      if (needs_stored(f, n) || (f->ways | ways) == (BY_ROWS | THROUGH)) end_group(f);
      f->ways |= ways;
      add_member(f, n);
    } else if (!may_stay_between(f, n)) {
      end_group(f);
    }
  }
  end_group(f);
}

static bool fuse_function(hia_graph *g, hia_fn *fn, hia_u32vec *shared) {
  fusing f = {
      .g = g, .fn = fn, .scratch = &g->comp->scratch, .subst = hiaG_subst(g, fn), .shared = shared};
  uint32_t n_nodes = fn->nodes.len, n_regions = fn->regions.len;
  /* A call behind each member at most. */
  f.group = HIA_NEW_ARRAY(f.scratch, uint32_t, 2 * (size_t)n_nodes);
  f.uses = HIA_NEW_ARRAY(f.scratch, uint32_t, fn->values.len);
  f.inside = HIA_NEW_ARRAY(f.scratch, uint32_t, fn->values.len);
  f.source = HIA_NEW_ARRAY(f.scratch, hia_value_id, fn->values.len);
  f.checked = HIA_NEW_ARRAY(f.scratch, hia_value_id, fn->values.len);
  f.copies = HIA_NEW_ARRAY(f.scratch, hia_value_id, fn->values.len);
  f.copied_to = HIA_NEW_ARRAY(f.scratch, uint32_t, fn->values.len);
  f.n_groups = 1;
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) f.uses[hiaG_in(fn, n, i)]++;
  for (hia_region_id r = 0; r < n_regions; r++)
    if (fn->regions.data[r].first != HIA_NONE) find_groups(&f, r);
  if (!f.replaced.len) return false;
  HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&f.subst, fn, n);
  for (uint32_t i = 0; i < f.replaced.len; i++) hiaG_remove(fn, f.replaced.data[i]);
  hiaG_compact(g, fn);
  return true;
}

void hiaG_fuse(hia_graph *g) {
  bool is_changed = false;
  hia_u32vec shared = {0};
  uint32_t n = g->fns.len;
  HIA_EACH_FN_BELOW(g, n, f) {
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    is_changed |= fuse_function(g, hiaG_fn(g, f), &shared);
    hiaR_arena_release(&g->comp->scratch, mark);
  }
  if (is_changed) hiaG_effects(g);
}
