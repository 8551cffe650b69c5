/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* batch: tensor operations that are the same under different tags become segments, which are
 * computed for many activations at a time (batch.h).
 *
 * First each function gets a form in which segments are large. Small functions that compute with
 * tensors are copied into their callers: a call would end a segment. What sizes say is made use of,
 * so that nothing remains that could fail. An index that is known only in a run is checked where
 * the operation stands, by a `within`, which fails as the operation would. A root that is called in
 * the program gets a function for these calls, since what a root takes and gives is never late.
 *
 * Without products with a large param there is nothing to do. Requires nothing. Runs hiaG_effects
 * again. */
#include "graph/batch/batch.h"
#include "graph/analysis/effects.h"
#include "graph/analysis/groups.h"
#include "graph/batch/batcher.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  MAX_HELPER = 200, /* nodes of a function that is copied into its callers */
  MAX_GROWTH = 4000
};

/* ---- whether there is something to do ---- */

static bool is_large(const hia_graph *g, const hia_param_spec *p) {
  uint64_t n = 1;
  for (uint32_t k = 0; k < p->shape.rank; k++) n *= (uint64_t)p->shape.dims[k];
  return p->shape.rank > 1 && n >= (g->batches_all ? 1 : HIA_BATCH_HEAVY);
}

static bool is_wanted(const hia_graph *g) {
  bool has_product = false, has_param = false;
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op == HIA_OP_DEFER)
        return false; /* a text is of a graph that has segments already */
      has_product |= node->op == HIA_OP_PRODUCT || node->op == HIA_OP_PRODUCT_BT;
      has_param |= node->op == HIA_OP_PARAM && is_large(g, &g->params.data[node->imm]);
    }
  }
  return has_product && has_param;
}

/* ---- roots ---- */

static bool *find_called(const hia_graph *g, hia_arena *arena) {
  bool *is_called = HIA_NEW_ARRAY(arena, bool, g->fns.len + 1);
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n)
      if (fn->nodes.data[n].op == HIA_OP_CALL) is_called[hiaG_callee(&fn->nodes.data[n])] = true;
  }
  return is_called;
}

/* The root's body becomes that of a new function, which it calls. */
static hia_fn_id make_inner(hia_graph *g, hia_fn_id root) {
  hia_fn *fn = hiaG_fn(g, root);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, fn->name, " inner"), fn->source, fn->loc,
                             fn->params, fn->n_params, fn->results, fn->n_results);
  hia_fn *inner = hiaG_fn(g, id);
  hia_value_id *map = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, fn->values.len + 1);
  memset(map, 0xff, (fn->values.len + 1) * sizeof *map);
  for (uint32_t i = 0; i < fn->n_params; i++) map[i] = i;
  hiaG_copy_region(g, inner, 0, HIA_NONE, fn, 0, map, HIA_NONE);
  hia_node_id yield = hiaG_yield_of(fn, 0);
  hia_value_id *ins =
      HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, (size_t)fn->n_params + fn->n_results + 1);
  for (uint32_t i = 0; i < fn->n_results; i++) ins[i] = map[hiaG_in(fn, yield, i)];
  hiaG_yield(g, inner, 0, ins, fn->n_results);
  hiaG_clear_body(g, fn);
  for (uint32_t i = 0; i < fn->n_params; i++) ins[i] = i;
  hia_node_id call =
      hiaG_add(g, fn, 0, HIA_OP_CALL, ins, fn->n_params, fn->results, fn->n_results, id, fn->loc);
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  for (uint32_t i = 0; i < fn->n_results; i++) ins[i] = hiaG_out(fn, call, i);
  hiaG_yield(g, fn, 0, ins, fn->n_results);
  return id;
}

static void separate_roots(hia_graph *g, hia_arena *arena) {
  const bool *is_called = find_called(g, arena);
  uint32_t n = g->fns.len;
  hia_fn_id *inner = HIA_NEW_ARRAY(arena, hia_fn_id, n + 1);
  bool has_inner = false;
  for (hia_fn_id f = 0; f < n; f++) {
    inner[f] = HIA_NONE;
    if (hiaG_fn(g, f)->is_removed || !hiaG_fn(g, f)->is_root || !is_called[f]) continue;
    inner[f] = make_inner(g, f);
    has_inner = true;
  }
  if (!has_inner) return;
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, at) {
      hia_node *node = &fn->nodes.data[at];
      if (node->op != HIA_OP_CALL || hiaG_callee(node) >= n) continue;
      if (inner[hiaG_callee(node)] != HIA_NONE) node->imm = inner[hiaG_callee(node)];
    }
  }
}

/* ---- helpers ---- */

static bool is_helper(const hia_graph *g, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(g, f);
  bool has_tensors = false;
  uint32_t n_nodes = 0;
  if (fn->effects & HIA_E_RECURSIVE || fn->is_root) return false;
  HIA_EACH_NODE(fn, n) {
    n_nodes++;
    for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++)
      has_tensors |= hiaG_is_tensor(g, fn, hiaG_out(fn, n, i));
  }
  return has_tensors && n_nodes <= MAX_HELPER;
}

static bool inline_helpers_into(hia_graph *g, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(g, f);
  hia_subst subst = hiaG_subst(g, fn);
  uint32_t before = fn->nodes.len;
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_CALL || fn->nodes.len - before > MAX_GROWTH) continue;
    hia_fn_id callee = hiaG_callee(&fn->nodes.data[n]);
    if (callee == f || !is_helper(g, callee)) continue;
    hiaG_inline_call(g, fn, n, hiaG_fn(g, callee), &subst);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(g, fn);
  return is_changed;
}

static void clean(hia_graph *g) {
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    hiaG_copy(g, fn);
    hiaG_fold(g, fn);
    hiaG_cse(g, fn);
    hiaG_dce(g, fn);
    hiaR_arena_release(&g->comp->scratch, mark);
    hiaR_look(g->comp);
  }
}

static void inline_helpers(hia_graph *g) {
  hia_arena *scratch = &g->comp->scratch;
  const hia_fn_order order = hiaG_callees_first(scratch, g);
  for (uint32_t k = 0; k < order.n; k++) {
    hia_mark mark = hiaR_arena_mark(scratch);
    inline_helpers_into(g, order.fns[k]);
    hiaR_arena_release(scratch, mark);
  }
  hiaG_sweep(g);
}

/* ---- what sizes say ---- */

typedef struct simplifying {
  hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  hia_subst subst;
  bool is_changed;
  uint32_t n_values; /* that sizes are known of */
} simplifying;

static bool shape_of(const simplifying *s, hia_value_id v, int64_t dims[HIA_MAX_RANK]) {
  return v < s->n_values && hiaG_batch_shape(s->b, s->f, v, dims);
}

static hia_value_id number(simplifying *s, hia_node_id at, int64_t n) {
  hia_type i64 = HIA_I64;
  return hiaG_out(s->fn,
                  hiaG_insert(s->b->g, s->fn, at, HIA_OP_CONST, NULL, 0, &i64, 1, hiaR_from_i64(n),
                              s->fn->nodes.data[at].loc),
                  0);
}

static void replace(simplifying *s, hia_node_id n, hia_value_id by) {
  hiaG_replace(&s->subst, s->fn->nodes.data[n].outs, by);
  hiaG_remove(s->fn, n);
  s->is_changed = true;
}

/* Zeros of a constant shape are no operand's. */
static void simplify_zeros(simplifying *s, hia_node_id n) {
  int64_t dims[HIA_MAX_RANK];
  hia_value_id v = s->fn->nodes.data[n].outs, ins[1 + HIA_MAX_RANK];
  hia_type type = hiaG_type(s->fn, v);
  uint32_t rank = hiaG_rank(s->b->g->types, type);
  if (!shape_of(s, hiaG_in(s->fn, n, 0), dims) || !rank) return;
  hia_loc_id loc = s->fn->nodes.data[n].loc;
  hia_type scalar = (hia_type)hiaG_tensor_dtype(s->b->g->types, type);
  ins[0] =
      hiaG_out(s->fn, hiaG_insert(s->b->g, s->fn, n, HIA_OP_CONST, NULL, 0, &scalar, 1, 0, loc), 0);
  for (uint32_t k = 0; k < rank; k++) ins[1 + k] = number(s, n, dims[k]);
  hia_node_id full = hiaG_insert(s->b->g, s->fn, n, HIA_OP_FULL, ins, 1 + rank, &type, 1, 0, loc);
  replace(s, n, hiaG_out(s->fn, full, 0));
}

static void simplify_expect(simplifying *s, hia_node_id n) {
  uint32_t i = 1;
  hia_word word;
  hia_value_id x = hiaG_in(s->fn, n, 0);
  for (uint64_t axes = s->fn->nodes.data[n].imm; axes; axes &= axes - 1) {
    if (x >= s->n_values || !hiaG_is_const(s->fn, hiaG_in(s->fn, n, i++), &word)) return;
    if (hiaR_to_i64(word) < 0 ||
        hiaG_batch_size(s->b, s->f, x, (uint32_t)__builtin_ctzll(axes)) != hiaR_to_i64(word))
      return;
  }
  replace(s, n, x);
}

static void simplify_fit(simplifying *s, hia_node_id n) {
  int64_t a[HIA_MAX_RANK], b[HIA_MAX_RANK];
  hia_value_id v = hiaG_in(s->fn, n, 0), x = hiaG_in(s->fn, n, 1);
  if (hiaG_type(s->fn, v) != hiaG_type(s->fn, x) || !shape_of(s, v, a) || !shape_of(s, x, b))
    return;
  uint32_t rank = hiaG_rank(s->b->g->types, hiaG_type(s->fn, v));
  if (memcmp(a, b, rank * sizeof *a) == 0) replace(s, n, v);
}

static bool is_checked(const simplifying *s, hia_value_id v) {
  hia_word word;
  return hiaG_is_const(s->fn, v, &word) || hiaG_def(s->fn, v)->op == HIA_OP_WITHIN;
}

/* An index of a vector of constant length is checked by a node of its own. */
static void check_index(simplifying *s, hia_node_id n, bool is_label) {
  int64_t dims[HIA_MAX_RANK];
  hia_value_id ins[3], x = hiaG_in(s->fn, n, 0), at = hiaG_in(s->fn, n, 1);
  uint32_t n_ins = s->fn->nodes.data[n].n_ins;
  bool is_scalar = hiaG_is_scalar(hiaG_type(s->fn, at));
  if (!is_scalar || (is_label ? hiaG_def(s->fn, at)->op == HIA_OP_WITHIN : is_checked(s, at)))
    return;
  if (hiaG_rank(s->b->g->types, hiaG_type(s->fn, x)) != 1 || !shape_of(s, x, dims) || dims[0] < 1)
    return;
  if (hiaG_is_constant(hiaG_def(s->fn, x)->op)) return;
  hia_type type = hiaG_type(s->fn, at);
  for (uint32_t i = 0; i < n_ins; i++) ins[i] = hiaG_in(s->fn, n, i);
  hia_value_id both[2] = {number(s, n, dims[0]), at};
  hia_node_id within = hiaG_insert(s->b->g, s->fn, n, HIA_OP_WITHIN, both, 2, &type, 1, is_label,
                                   s->fn->nodes.data[n].loc);
  ins[1] = hiaG_out(s->fn, within, 0);
  hiaG_set_ins(s->b->g, s->fn, n, ins, n_ins);
  s->is_changed = true;
}

static void simplify(simplifying *s, hia_node_id n) {
  const hia_node node = s->fn->nodes.data[n];
  int64_t size;
  switch (node.op) {
  case HIA_OP_DIM: {
    hia_value_id x = hiaG_in(s->fn, n, 0);
    size = x < s->n_values ? hiaG_batch_size(s->b, s->f, x, (uint32_t)node.imm) : -1;
    if (size >= 0) replace(s, n, number(s, n, size));
    break;
  }
  case HIA_OP_ZEROS: simplify_zeros(s, n); break;
  case HIA_OP_EXPECT: simplify_expect(s, n); break;
  case HIA_OP_FIT: simplify_fit(s, n); break;
  case HIA_OP_ROW:
  case HIA_OP_WITH: check_index(s, n, false); break;
  case HIA_OP_CROSS_ENTROPY: check_index(s, n, true); break;
  default: break;
  }
}

static bool simplify_function(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  simplifying s = {b, f, fn, hiaG_subst(b->g, fn), false, fn->values.len};
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&s.subst, fn, n);
    next = hiaG_walk_next(fn, n);
    simplify(&s, n);
  }
  if (s.is_changed) hiaG_compact(b->g, fn);
  return s.is_changed;
}

static void begin(hia_batcher *b, hia_graph *g) {
  *b = (hia_batcher){.g = g, .arena = &g->comp->scratch, .n = g->fns.len};
  b->fns = HIA_NEW_ARRAY(b->arena, hia_batch_fn, b->n + 1);
  hiaG_batch_sizes(b);
}

static bool simplify_all(hia_graph *g) {
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  hia_batcher b;
  bool is_changed = false;
  begin(&b, g);
  HIA_EACH_FN_BELOW(g, b.n, f) is_changed |= simplify_function(&b, f);
  hiaR_arena_release(&g->comp->scratch, mark);
  return is_changed;
}

/* ---- the pass ---- */

static void find(hia_batcher *b, hia_graph *g) {
  begin(b, g);
  HIA_EACH_FN_BELOW(g, b->n, f) hiaG_batch_find_liftable(b, f);
  hiaG_batch_find_late(b);
}

void hiaG_batch(hia_graph *g) {
  enum { TIMES = 3, MOST_SPLIT = 8 };
  if (!is_wanted(g)) {
    if (g->batches)
      hiaR_text_addf(
          g->batches,
          "nothing is batched: there are no products, or no param of %u elements and more\n",
          (unsigned)HIA_BATCH_HEAVY);
    return;
  }
  separate_roots(g, &g->comp->scratch);
  hiaG_effects(g);
  inline_helpers(g);
  clean(g);
  for (unsigned time = 0; time < TIMES && simplify_all(g); time++) clean(g);
  hiaG_effects(g);
  hia_batcher b;
  find(&b, g);
  for (unsigned time = 0; time < MOST_SPLIT && hiaG_batch_split(&b); time++) {
    clean(g);
    hiaG_effects(g);
    find(&b, g);
  }
  if (g->batches) hiaG_batch_report(&b, g->batches);
  HIA_EACH_FN_BELOW(g, b.n, f) hiaG_batch_find_segments(&b, f);
  hiaG_batch_types(&b);
  HIA_EACH_FN_BELOW(g, b.n, f) hiaG_batch_place_segments(&b, f);
  hiaG_effects(g);
}
