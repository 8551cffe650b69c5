/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients that are sums of tensors alone. The gradient of an element of an array is a sum
 * (sums.h), which a `collect` makes a tensor of; that reads elements, so the run would wait. But
 * mostly what the element was used for has given a tensor, which may as well be pending:
 *
 *     %x = collect %s, %like        ->      %n, %y = call "tensors" %s, 0, zeros
 *                                           %x = if %n >= 0 { %y } else { collect %s, %like }
 *
 *     fn tensors(s, n, y) = match s { Nothing => (n, y), Dense(x) => (n + 1, y + x),
 *                                     Both(a, b) => tensors(b, tensors(a, n, y)), .. => (-1, y) }
 *
 * That adds in the order of the sum, of which `collect` says (docs/tensors.md) that it begins with
 * +0, but that a sum of one tensor is this tensor: so y is x where n is 0, and (0 + y) + x where n
 * is 1. The sizes of %like are constant; a tensor of another shape is for `collect`, too. */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"

/* A function `tensors`. */
typedef struct adder {
  hia_type sum;
  hia_row_shape shape;
  hia_fn_id fn;
} adder;

typedef struct collecting {
  hia_batcher *b;
  HIA_VEC(adder) adders;
} collecting;

/* What the function has: a sum, and what was added up to it. */
typedef struct so_far {
  hia_value_id sum, ctor, n, y;
} so_far;

/* ---- the function `tensors` ---- */

/* Puts an IF of two results, n and y. */
static hia_node_id put_branch(const hia_putting *p, hia_value_id is_first, const so_far *s,
                              hia_putting arms[2]) {
  hia_type types[2] = {HIA_I64, hiaG_type(p->fn, s->y)};
  hia_node_id n = hiaG_add(p->g, p->fn, p->region, HIA_OP_IF, &is_first, 1, types, 2, 0, p->loc);
  for (uint32_t i = 0; i < 2; i++)
    arms[i] = (hia_putting){p->g, p->fn, p->fn->nodes.data[n].regions + i, HIA_NONE, p->loc};
  return n;
}

static void yield(const hia_putting *p, hia_value_id n, hia_value_id y) {
  hiaG_yield(p->g, p->fn, p->region, (hia_value_id[]){n, y}, 2);
}

static hia_value_id put_is(const hia_putting *p, hia_value_id ctor, hia_sum_ctor number) {
  hia_value_id n = hiaG_put(p, HIA_OP_CONST, NULL, 0, HIA_I32, hiaR_from_i32((int32_t)number));
  return hiaG_put_2(p, HIA_OP_EQ, ctor, n, HIA_BOOL);
}

static hia_value_id put_has_shape(const hia_putting *p, const hia_row_shape *shape,
                                  hia_value_id x) {
  hia_value_id all = HIA_NONE;
  for (uint32_t k = 0; k < shape->rank; k++) {
    hia_value_id dim = hiaG_put(p, HIA_OP_DIM, &x, 1, HIA_I64, k);
    hia_value_id is = hiaG_put_2(p, HIA_OP_EQ, dim, hiaG_put_number(p, shape->dims[k]), HIA_BOOL);
    all = all == HIA_NONE ? is : hiaG_put_2(p, HIA_OP_BAND, all, is, HIA_BOOL);
  }
  return all;
}

/* Adds x to what there is. */
static hia_value_id put_sum(const hia_putting *p, const so_far *s, hia_value_id x) {
  hia_putting first[2], second[2];
  hia_type type = hiaG_type(p->fn, x);
  hia_value_id zero = hiaG_put_number(p, 0), one = hiaG_put_number(p, 1);
  hia_value_id v = hiaG_put_branch(p, hiaG_put_2(p, HIA_OP_EQ, s->n, zero, HIA_BOOL), type, first);
  hiaG_put_yield(&first[0], x);
  const hia_putting *then = &first[1];
  hia_value_id is_one = hiaG_put_2(then, HIA_OP_EQ, s->n, one, HIA_BOOL);
  hiaG_put_yield(then, hiaG_put_branch(then, is_one, type, second));
  hia_type scalar = (hia_type)hiaG_tensor_dtype(p->g->types, type);
  hia_value_id none = hiaG_put(&second[0], HIA_OP_CONST, NULL, 0, scalar, 0);
  hia_value_id begun = hiaG_put_2(&second[0], HIA_OP_ADD, none, s->y, type);
  hiaG_put_yield(&second[0], hiaG_put_2(&second[0], HIA_OP_ADD, begun, x, type));
  hiaG_put_yield(&second[1], hiaG_put_2(&second[1], HIA_OP_ADD, s->y, x, type));
  return v;
}

static void fill_dense(const hia_putting *p, const hia_row_shape *shape, const so_far *s) {
  hia_putting fits[2];
  hia_value_id x =
      hiaG_put(p, HIA_OP_FIELD, &s->sum, 1, hiaG_row_type(p, shape), HIA_IMM(HIA_SUM_DENSE, 0));
  hia_node_id n = put_branch(p, put_has_shape(p, shape, x), s, fits);
  hia_value_id one = hiaG_put_number(&fits[0], 1);
  hia_value_id y = put_sum(&fits[0], s, hiaG_put_expect(&fits[0], shape, x));
  yield(&fits[0], hiaG_put_2(&fits[0], HIA_OP_ADD, s->n, one, HIA_I64), y);
  yield(&fits[1], hiaG_put_number(&fits[1], -1), s->y);
  hiaG_yield_outs(p->g, p->fn, p->region, n);
}

static hia_node_id put_call(const hia_putting *p, hia_fn_id tensors, hia_value_id sum,
                            hia_value_id n, hia_value_id y) {
  hia_type types[2] = {HIA_I64, hiaG_type(p->fn, y)};
  hia_value_id ins[3] = {sum, n, y};
  hia_node_id call =
      p->at == HIA_NONE
          ? hiaG_add(p->g, p->fn, p->region, HIA_OP_CALL, ins, 3, types, 2, tensors, p->loc)
          : hiaG_insert(p->g, p->fn, p->at, HIA_OP_CALL, ins, 3, types, 2, tensors, p->loc);
  p->fn->nodes.data[call].flags |= HIA_NODE_TAIL; /* no call of the source */
  return call;
}

static void fill_both(const hia_putting *p, hia_fn_id tensors, const so_far *s) {
  hia_putting goes_on[2];
  hia_type type = hiaG_type(p->fn, s->sum);
  hia_value_id halves[2];
  for (uint32_t i = 0; i < 2; i++)
    halves[i] = hiaG_put(p, HIA_OP_FIELD, &s->sum, 1, type, HIA_IMM(HIA_SUM_BOTH, i));
  hia_node_id call = put_call(p, tensors, halves[0], s->n, s->y);
  hia_value_id n = hiaG_out(p->fn, call, 0), y = hiaG_out(p->fn, call, 1);
  hia_value_id is_done = hiaG_put_2(p, HIA_OP_LE, hiaG_put_number(p, 0), n, HIA_BOOL);
  hia_node_id branch = put_branch(p, is_done, s, goes_on);
  call = put_call(&goes_on[0], tensors, halves[1], n, y);
  hiaG_yield_outs(p->g, p->fn, goes_on[0].region, call);
  yield(&goes_on[1], n, y);
  hiaG_yield_outs(p->g, p->fn, p->region, branch);
}

static hia_fn_id make_adder(collecting *c, hia_type sum, const hia_row_shape *shape, hia_fn_id of) {
  hia_graph *g = c->b->g;
  const hia_fn *like = hiaG_fn(g, of);
  hia_type tensor = hiaG_ranked(g->types, shape->dtype, shape->rank);
  hia_type params[3] = {sum, HIA_I64, tensor}, results[2] = {HIA_I64, tensor};
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, like->name, " tensors"), like->source, like->loc,
                             params, 3, results, 2);
  hia_putting body = {g, hiaG_fn(g, id), 0, HIA_NONE, HIA_NONE}, arms[3][2];
  so_far s = {.sum = 0, .n = 1, .y = 2};
  s.ctor = hiaG_put(&body, HIA_OP_CTOR, &s.sum, 1, HIA_I32, 0);
  hia_node_id dense = put_branch(&body, put_is(&body, s.ctor, HIA_SUM_DENSE), &s, arms[0]);
  fill_dense(&arms[0][0], shape, &s);
  const hia_putting *rest = &arms[0][1];
  hia_node_id both = put_branch(rest, put_is(rest, s.ctor, HIA_SUM_BOTH), &s, arms[1]);
  fill_both(&arms[1][0], id, &s);
  hiaG_yield_outs(g, body.fn, rest->region, both);
  rest = &arms[1][1];
  hia_node_id nothing = put_branch(rest, put_is(rest, s.ctor, HIA_SUM_NOTHING), &s, arms[2]);
  yield(&arms[2][0], s.n, s.y);
  yield(&arms[2][1], hiaG_put_number(&arms[2][1], -1), s.y);
  hiaG_yield_outs(g, body.fn, rest->region, nothing);
  hiaG_yield_outs(g, body.fn, 0, dense);
  return id;
}

static hia_fn_id adder_of(collecting *c, hia_type sum, const hia_row_shape *shape, hia_fn_id of) {
  for (uint32_t i = 0; i < c->adders.len; i++) {
    const adder *a = &c->adders.data[i];
    if (a->sum == sum && memcmp(a->shape.dims, shape->dims, sizeof shape->dims) == 0) return a->fn;
  }
  adder new = {sum, *shape, make_adder(c, sum, shape, of)};
  hiaR_push(c->b->arena, &c->adders, new);
  return new.fn;
}

/* ---- what is collected ---- */

static hia_value_id put_collect(collecting *c, const hia_putting *p, const hia_row_shape *shape,
                                hia_fn_id f, hia_value_id sum, hia_value_id like) {
  hia_putting arms[2];
  hia_type type = hiaG_row_type(p, shape);
  hia_fn_id tensors = adder_of(c, hiaG_type(p->fn, sum), shape, f);
  hia_value_id zero = hiaG_put_number(p, 0);
  hia_node_id call = put_call(p, tensors, sum, zero, hiaG_put_zeros(p, shape));
  hia_value_id n = hiaG_out(p->fn, call, 0), y = hiaG_out(p->fn, call, 1);
  hia_value_id v = hiaG_put_branch(p, hiaG_put_2(p, HIA_OP_LE, zero, n, HIA_BOOL), type, arms);
  hiaG_put_yield(&arms[0], y);
  hia_value_id all = hiaG_put_2(&arms[1], HIA_OP_COLLECT, sum, like, type);
  hiaG_def(p->fn, all)->flags |= HIA_NODE_WAITS;
  hiaG_put_yield(&arms[1], all);
  return v;
}

/* True if the node collects a sum that may have a pending tensor, in a shape that segments have. */
static bool is_of_pending(const hia_batcher *b, hia_fn_id f, hia_node_id n, hia_row_shape *shape) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  const hia_node *node = &fn->nodes.data[n];
  if (node->op != HIA_OP_COLLECT || node->flags & HIA_NODE_WAITS) return false;
  if (!hiaG_is_repeated(fn, n)) return false;
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

static bool collect_late(collecting *c, hia_fn_id f) {
  hia_graph *g = c->b->g;
  hia_fn *fn = hiaG_fn(g, f);
  hia_subst subst = hiaG_subst(g, fn);
  hia_row_shape shape;
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (!is_of_pending(c->b, f, n, &shape)) continue;
    hia_putting p = {g, fn, HIA_NONE, n, fn->nodes.data[n].loc};
    hia_value_id v = put_collect(c, &p, &shape, f, hiaG_in(fn, n, 0), hiaG_in(fn, n, 1));
    hiaG_replace(&subst, fn->nodes.data[n].outs, v);
    hiaG_remove(fn, n);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(g, fn);
  return is_changed;
}

bool hiaG_batch_collect(hia_batcher *b) {
  collecting c = {.b = b};
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= collect_late(&c, f);
  return is_changed;
}
