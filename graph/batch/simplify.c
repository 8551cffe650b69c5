/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Simplifies functions by what is known of sizes, so that nothing remains in a segment that could
 * fail. An index that is known only in a run is checked where the operation stands, by a `within`,
 * which fails as the operation would. */
#include "graph/batch/batcher.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

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
  if (s->fn->nodes.data[n].flags & HIA_NODE_SIZED) return; /* that is not known forever */
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

/* An index of a vector of constant length, or of the rows of a tensor of constant sizes, is checked
 * by a node of its own. */
static void check_index(simplifying *s, hia_node_id n, bool is_label) {
  int64_t dims[HIA_MAX_RANK];
  hia_value_id ins[3], x = hiaG_in(s->fn, n, 0), at = hiaG_in(s->fn, n, 1);
  uint32_t n_ins = s->fn->nodes.data[n].n_ins;
  bool is_scalar = hiaG_is_scalar(hiaG_type(s->fn, at));
  if (!is_scalar || (is_label ? hiaG_def(s->fn, at)->op == HIA_OP_WITHIN : is_checked(s, at)))
    return;
  bool is_of_rows = hiaG_rank(s->b->g->types, hiaG_type(s->fn, x)) != 1;
  if (is_of_rows && (is_label || s->fn->nodes.data[n].op != HIA_OP_ROW)) return;
  if (!shape_of(s, x, dims) || dims[0] < 1) return;
  if (hiaG_is_constant(hiaG_def(s->fn, x)->op)) return;
  hia_type type = hiaG_type(s->fn, at);
  for (uint32_t i = 0; i < n_ins; i++) ins[i] = hiaG_in(s->fn, n, i);
  hia_value_id bounds[2] = {number(s, n, dims[0]), at};
  hia_node_id within = hiaG_insert(s->b->g, s->fn, n, HIA_OP_WITHIN, bounds, 2, &type, 1,
                                   is_of_rows ? 2 : is_label, s->fn->nodes.data[n].loc);
  ins[1] = hiaG_out(s->fn, within, 0);
  hiaG_set_ins(s->b->g, s->fn, n, ins, n_ins);
  s->is_changed = true;
}

/* An i64 that is computed from sizes, or kept as one, and is known. */
static void simplify_integer(simplifying *s, hia_node_id n) {
  hia_value_id v = s->fn->nodes.data[n].outs;
  int64_t number_of_it = v < s->n_values ? hiaG_batch_integer(s->b, s->f, v) : -1;
  if (number_of_it >= 0) replace(s, n, number(s, n, number_of_it));
}

/* A vector times a transposed matrix is the matrix times the vector, if the sizes fit: each element
 * of the result is added in the same order, and no matrix is made. */
static void simplify_product(simplifying *s, hia_node_id n) {
  int64_t a[HIA_MAX_RANK], b[HIA_MAX_RANK];
  hia_value_id ins[2] = {hiaG_in(s->fn, n, 0), hiaG_in(s->fn, n, 1)};
  if (!shape_of(s, ins[0], a) || !shape_of(s, ins[1], b)) return;
  uint32_t rank = hiaG_rank(s->b->g->types, hiaG_type(s->fn, ins[0])), i = rank == 1;
  bool is_of_vector = rank + hiaG_rank(s->b->g->types, hiaG_type(s->fn, ins[1])) == 3;
  if (!is_of_vector || hiaG_def(s->fn, ins[i])->op != HIA_OP_TRANSPOSE || a[rank - 1] != b[0])
    return;
  hia_value_id matrix = s->fn->edges.data[hiaG_def(s->fn, ins[i])->ins];
  ins[i] = ins[1 - i];
  ins[1 - i] = matrix;
  hiaG_set_ins(s->b->g, s->fn, n, ins, 2);
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
  case HIA_OP_FIELD:
  case HIA_OP_ADD:
  case HIA_OP_SUB:
  case HIA_OP_MUL:
  case HIA_OP_DIV:
    if (hiaG_type(s->fn, node.outs) == HIA_I64) simplify_integer(s, n);
    break;
  case HIA_OP_PRODUCT: simplify_product(s, n); break;
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

bool hiaG_batch_simplify(hia_graph *g) {
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  hia_batcher b = {0};
  bool is_changed = false;
  hiaG_batch_begin(&b, g);
  HIA_EACH_FN_BELOW(g, b.n, f) is_changed |= simplify_function(&b, f);
  hiaR_arena_release(&g->comp->scratch, mark);
  return is_changed;
}
