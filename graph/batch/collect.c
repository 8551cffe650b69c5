/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients that are sums of one tensor, or of two. The gradient of an element of an array is a sum
 * (sums.h), which a `collect` makes a tensor of; that reads elements, so the run would wait. But
 * mostly the element was used once or twice, and the sum consists of as many tensors, which may as
 * well be pending, or of nothing:
 *
 *     %x = collect %s, %like      ->      %x = if %s is Dense(%a) { %a }
 *                                         else { if %s is Nothing { zeros }
 *                                                else { if %s is Both(Dense(%a), Dense(%b)) {
 *                                                         (0 + %a) + %b
 *                                                       } else { collect %s, %like } } }
 *
 * The sizes of %like are constant. */
#include "graph/batch/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"

static hia_value_id put_is(const hia_place *p, hia_value_id ctor, hia_sum_ctor number) {
  hia_value_id n = hiaG_put(p, HIA_OP_CONST, NULL, 0, HIA_I32, hiaR_from_i32((int32_t)number));
  return hiaG_put(p, HIA_OP_EQ, (hia_value_id[]){ctor, n}, 2, HIA_BOOL, 0);
}

static hia_value_id put_tensor(const hia_place *p, const hia_row_shape *shape, hia_value_id sum) {
  return hiaG_put(p, HIA_OP_FIELD, &sum, 1, hiaG_row_type(p, shape), HIA_IMM(HIA_SUM_DENSE, 0));
}

/* True if x has this shape. */
static hia_value_id put_has_shape(const hia_place *p, const hia_row_shape *shape, hia_value_id x) {
  hia_value_id all = HIA_NONE;
  for (uint32_t k = 0; k < shape->rank; k++) {
    hia_value_id dim = hiaG_put(p, HIA_OP_DIM, &x, 1, HIA_I64, k);
    hia_value_id n = hiaG_put_number(p, shape->dims[k]);
    hia_value_id is = hiaG_put(p, HIA_OP_EQ, (hia_value_id[]){dim, n}, 2, HIA_BOOL, 0);
    all = all == HIA_NONE ? is
                          : hiaG_put(p, HIA_OP_BAND, (hia_value_id[]){all, is}, 2, HIA_BOOL, 0);
  }
  return all;
}

/* True if the sum is one tensor of this shape. */
static hia_value_id put_is_one(const hia_place *p, const hia_row_shape *shape, hia_value_id sum) {
  hia_place arms[2];
  hia_value_id ctor = hiaG_put(p, HIA_OP_CTOR, &sum, 1, HIA_I32, 0);
  hia_value_id is = hiaG_put_branch(p, put_is(p, ctor, HIA_SUM_DENSE), HIA_BOOL, arms);
  hiaG_put_yield(&arms[0], put_has_shape(&arms[0], shape, put_tensor(&arms[0], shape, sum)));
  hiaG_put_yield(&arms[1], hiaG_put(&arms[1], HIA_OP_CONST, NULL, 0, HIA_BOOL, 0));
  return is;
}

/* The first or the second of two sums. */
static hia_value_id put_half(const hia_place *p, hia_value_id sum, uint32_t i) {
  return hiaG_put(p, HIA_OP_FIELD, &sum, 1, hiaG_type(p->fn, sum), HIA_IMM(HIA_SUM_BOTH, i));
}

/* The sum without the nothing that it may begin with. */
static hia_value_id put_begun(const hia_place *p, hia_value_id sum) {
  hia_place both[2], begins[2];
  hia_type type = hiaG_type(p->fn, sum);
  hia_value_id ctor = hiaG_put(p, HIA_OP_CTOR, &sum, 1, HIA_I32, 0);
  hia_value_id v = hiaG_put_branch(p, put_is(p, ctor, HIA_SUM_BOTH), type, both);
  hia_value_id first = put_half(&both[0], sum, 0);
  ctor = hiaG_put(&both[0], HIA_OP_CTOR, &first, 1, HIA_I32, 0);
  hia_value_id is_nothing = put_is(&both[0], ctor, HIA_SUM_NOTHING);
  hiaG_put_yield(&both[0], hiaG_put_branch(&both[0], is_nothing, type, begins));
  hiaG_put_yield(&begins[0], put_half(&begins[0], sum, 1));
  hiaG_put_yield(&begins[1], sum);
  hiaG_put_yield(&both[1], sum);
  return v;
}

/* True if the sum is that of two tensors of this shape. */
static hia_value_id put_are_two(const hia_place *p, const hia_row_shape *shape, hia_value_id sum) {
  hia_place arms[2];
  hia_value_id ctor = hiaG_put(p, HIA_OP_CTOR, &sum, 1, HIA_I32, 0);
  hia_value_id are = hiaG_put_branch(p, put_is(p, ctor, HIA_SUM_BOTH), HIA_BOOL, arms), is[2];
  is[0] = put_is_one(&arms[0], shape, put_begun(&arms[0], put_half(&arms[0], sum, 0)));
  is[1] = put_is_one(&arms[0], shape, put_half(&arms[0], sum, 1));
  hiaG_put_yield(&arms[0], hiaG_put(&arms[0], HIA_OP_BAND, is, 2, HIA_BOOL, 0));
  hiaG_put_yield(&arms[1], hiaG_put(&arms[1], HIA_OP_CONST, NULL, 0, HIA_BOOL, 0));
  return are;
}

/* A tensor of this shape that a sum is. */
static hia_value_id put_one(const hia_place *p, const hia_row_shape *shape, hia_value_id sum) {
  return hiaG_put_expect(p, shape, put_tensor(p, shape, sum));
}

/* A sum of several begins with +0. */
static hia_value_id put_two(const hia_place *p, const hia_row_shape *shape, hia_value_id sum) {
  hia_type type = hiaG_row_type(p, shape);
  hia_value_id ins[2] = {hiaG_put(p, HIA_OP_CONST, NULL, 0, (hia_type)shape->dtype, 0)};
  ins[1] = put_one(p, shape, put_begun(p, put_half(p, sum, 0)));
  ins[0] = hiaG_put(p, HIA_OP_ADD, ins, 2, type, 0);
  ins[1] = put_one(p, shape, put_half(p, sum, 1));
  return hiaG_put(p, HIA_OP_ADD, ins, 2, type, 0);
}

static hia_value_id put_waiting(const hia_place *p, const hia_row_shape *shape, hia_value_id sum,
                                hia_value_id like) {
  hia_type type = hiaG_row_type(p, shape);
  hia_value_id v = hiaG_put(p, HIA_OP_COLLECT, (hia_value_id[]){sum, like}, 2, type, 0);
  hiaG_def(p->fn, v)->flags |= HIA_NODE_WAITS;
  return v;
}

static hia_value_id put_collect(const hia_place *p, const hia_row_shape *shape, hia_value_id whole,
                                hia_value_id like) {
  hia_place one[2], none[2], two[2];
  hia_type type = hiaG_row_type(p, shape);
  hia_value_id sum = put_begun(p, whole);
  hia_value_id v = hiaG_put_branch(p, put_is_one(p, shape, sum), type, one);
  hiaG_put_yield(&one[0], put_one(&one[0], shape, sum));
  hia_value_id ctor = hiaG_put(&one[1], HIA_OP_CTOR, &sum, 1, HIA_I32, 0);
  hia_value_id is_nothing = put_is(&one[1], ctor, HIA_SUM_NOTHING);
  hiaG_put_yield(&one[1], hiaG_put_branch(&one[1], is_nothing, type, none));
  hiaG_put_yield(&none[0], hiaG_put_zeros(&none[0], shape));
  hia_value_id are_two = put_are_two(&none[1], shape, sum);
  hiaG_put_yield(&none[1], hiaG_put_branch(&none[1], are_two, type, two));
  hiaG_put_yield(&two[0], put_two(&two[0], shape, sum));
  hiaG_put_yield(&two[1], put_waiting(&two[1], shape, sum, like));
  return v;
}

/* True if the node collects a sum that may have one pending tensor, in a shape that segments have.
 */
static bool is_of_pending(const hia_batcher *b, hia_fn_id f, hia_node_id n, hia_row_shape *shape) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  const hia_node *node = &fn->nodes.data[n];
  if (node->op != HIA_OP_COLLECT || node->flags & HIA_NODE_WAITS || fn->is_root) return false;
  hia_type type = hiaG_type(fn, hiaG_in(fn, n, 0));
  if (!b->late_words[hiaG_batch_word(b->g, type, HIA_SUM_DENSE, 0)]) return false;
  hia_type result = hiaG_type(fn, node->outs);
  *shape = (hia_row_shape){hiaG_dtype(b->g->types, result), hiaG_rank(b->g->types, result), {0}};
  int64_t n_elements = 1;
  if (!hiaG_batch_shape(b, f, hiaG_in(fn, n, 1), shape->dims)) return false;
  for (uint32_t k = 0; k < shape->rank; k++)
    if (__builtin_mul_overflow(n_elements, shape->dims[k], &n_elements)) return false;
  return n_elements <= HIA_BATCH_OWN_MATRIX;
}

static bool collect_late(const hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  hia_subst subst = hiaG_subst(b->g, fn);
  hia_row_shape shape;
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (!is_of_pending(b, f, n, &shape)) continue;
    hia_place p = {b->g, fn, HIA_NONE, n, fn->nodes.data[n].loc};
    hia_value_id v = put_collect(&p, &shape, hiaG_in(fn, n, 0), hiaG_in(fn, n, 1));
    hiaG_replace(&subst, fn->nodes.data[n].outs, v);
    hiaG_remove(fn, n);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(b->g, fn);
  return is_changed;
}

bool hiaG_batch_collect(hia_batcher *b) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= collect_late(b, f);
  return is_changed;
}
