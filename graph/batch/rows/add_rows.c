/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums of the elements of an array, which may be pending.
 *
 * A `sum` along axis 0 of stacked rows reads them all, so a run would wait. Here it is additions of
 * single rows, which can be batched. Their order is that of docs/tensors.md, "Rounding": of up to
 * 4096 rows, row i is added to partial sum i mod 16, which begins at +0; then partial sum l + 8 is
 * added to l, and so on. A partial sum to which nothing was added is +0, and no partial sum is ever
 * -0; so adding a +0 where a row is missing changes no bits:
 *
 *   up to 4 rows      ((0 + x0) + (0 + x2)) + ((0 + x1) + (0 + x3)), where missing ones are zeros
 *   up to 4096 rows   a loop that adds 16 of them to the 16 partial sums, which are the rows of a
 *                     tensor; then the sum of those
 *   more              the rows are stacked, and the run waits */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"

enum { FEW = 4, PARTIAL_SUMS = 16, MOST = 4096 };

typedef struct summing {
  const hia_row_shape *shape;
  hia_value_id array, n; /* and how many elements it has */
  hia_fn_id element;     /* a function of the array and k: see make_element */
} summing;

/* Makes a function that gives element k of an array, or zeros if it has not so many. */
static hia_fn_id make_element(hia_graph *g, hia_fn_id of, hia_type array,
                              const hia_row_shape *shape) {
  const hia_fn *like = hiaG_fn(g, of);
  hia_type params[2] = {array, HIA_I64}, row = hiaG_ranked(g->types, shape->dtype, shape->rank);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, like->name, " element"), like->source, like->loc,
                             params, 2, &row, 1);
  hia_putting p = {g, hiaG_fn(g, id), 0, HIA_NONE, HIA_NONE}, arms[2];
  hia_value_id whole = 0, k = 1, len = hiaG_put(&p, HIA_OP_LEN, &whole, 1, HIA_I64, 0);
  hia_value_id is_there = hiaG_put_2(&p, HIA_OP_LT, k, len, HIA_BOOL);
  hia_value_id v = hiaG_put_branch(&p, is_there, row, arms);
  hiaG_put_yield(&arms[0], hiaG_put_at(&arms[0], shape, whole, k));
  hiaG_put_yield(&arms[1], hiaG_put_zeros(&arms[1], shape));
  hiaG_put_yield(&p, v);
  return id;
}

static hia_value_id element(const summing *s, const hia_putting *p, hia_value_id k) {
  return hiaG_put_call(p, s->element, (hia_value_id[]){s->array, k}, 2, hiaG_row_type(p, s->shape));
}

static hia_value_id few(const summing *s, const hia_putting *p) {
  hia_type type = hiaG_row_type(p, s->shape);
  hia_value_id sums[FEW];
  for (unsigned i = 0; i < FEW; i++) {
    hia_value_id k = hiaG_put_number(p, i);
    sums[i] = i ? element(s, p, k) : hiaG_put_at(p, s->shape, s->array, k);
  }
  hia_value_id zero = hiaG_put(p, HIA_OP_CONST, NULL, 0, (hia_type)s->shape->dtype, 0);
  for (unsigned i = 0; i < FEW; i++) sums[i] = hiaG_put_2(p, HIA_OP_ADD, zero, sums[i], type);
  for (unsigned n = FEW / 2; n; n /= 2)
    for (unsigned i = 0; i < n; i++)
      sums[i] = hiaG_put_2(p, HIA_OP_ADD, sums[i], sums[i + n], type);
  return sums[0];
}

/* Adds 16 elements, from k on, to the partial sums. */
static hia_value_id next_sums(const summing *s, const hia_putting *p, hia_value_id sums,
                              hia_value_id k) {
  hia_value_id rows[PARTIAL_SUMS];
  hia_type i64 = HIA_I64, type = hiaG_type(p->fn, sums);
  for (unsigned i = 0; i < PARTIAL_SUMS; i++)
    rows[i] = element(s, p, hiaG_put_2(p, HIA_OP_ADD, k, hiaG_put_number(p, i), i64));
  hia_value_id stack = hiaG_put(p, HIA_OP_STACK, rows, PARTIAL_SUMS, type, 0);
  return hiaG_put_2(p, HIA_OP_ADD, sums, stack, type);
}

static hia_value_id many(const summing *s, const hia_putting *p) {
  hia_row_shape all = {s->shape->dtype, s->shape->rank + 1, {PARTIAL_SUMS}};
  for (uint32_t i = 0; i < s->shape->rank; i++) all.dims[i + 1] = s->shape->dims[i];
  hia_type types[2] = {HIA_I64, hiaG_row_type(p, &all)};
  hia_value_id start[2] = {hiaG_put_number(p, 0), hiaG_put_zeros(p, &all)}, next[2];
  hia_node_id loop =
      hiaG_add(p->g, p->fn, p->region, HIA_OP_LOOP, start, 2, &types[1], 1, 0, p->loc);
  p->fn->nodes.data[loop].flags |= HIA_NODE_FREE;
  hia_putting head = {p->g, p->fn, p->fn->nodes.data[loop].regions, HIA_NONE, p->loc};
  hia_putting round = head;
  round.region++;
  hia_value_id k = hiaG_put(&head, HIA_OP_ARG, NULL, 0, types[0], 0);
  hia_value_id sums = hiaG_put(&head, HIA_OP_ARG, NULL, 0, types[1], 1);
  hia_value_id goes_on[2] = {hiaG_put_2(&head, HIA_OP_LT, k, s->n, HIA_BOOL), sums};
  hiaG_yield(p->g, p->fn, head.region, goes_on, 2);
  next[0] = hiaG_put_2(&round, HIA_OP_ADD, k, hiaG_put_number(&round, PARTIAL_SUMS), HIA_I64);
  next[1] = next_sums(s, &round, sums, k);
  hiaG_yield(p->g, p->fn, round.region, next, 2);
  hia_value_id last = hiaG_out(p->fn, loop, 0);
  return hiaG_put(p, HIA_OP_SUM, &last, 1, hiaG_row_type(p, s->shape), 0);
}

static hia_value_id stacked(const summing *s, const hia_putting *p) {
  hia_value_id ins[1 + HIA_MAX_RANK] = {s->array};
  hia_row_shape all = *s->shape;
  all.rank++;
  for (uint32_t i = 0; i < s->shape->rank; i++) ins[1 + i] = hiaG_put_number(p, s->shape->dims[i]);
  hia_value_id pack = hiaG_put(p, HIA_OP_PACK, ins, 1 + s->shape->rank, hiaG_row_type(p, &all), 0);
  hiaG_def(p->fn, pack)->flags |= HIA_NODE_WAITS | HIA_NODE_SIZED;
  hia_value_id sum = hiaG_put(p, HIA_OP_SUM, &pack, 1, hiaG_row_type(p, s->shape), 0);
  hiaG_def(p->fn, sum)->flags |= HIA_NODE_WAITS;
  return sum;
}

/* Makes the function that adds the elements of an array. */
static hia_fn_id make_sum(hia_graph *g, hia_fn_id of, hia_type array, const hia_row_shape *shape) {
  const hia_fn *like = hiaG_fn(g, of);
  hia_type type = hiaG_ranked(g->types, shape->dtype, shape->rank);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, like->name, " sum"), like->source, like->loc,
                             &array, 1, &type, 1);
  hia_putting p = {g, hiaG_fn(g, id), 0, HIA_NONE, HIA_NONE}, none[2], not_few[2], not_many[2];
  summing s = {.shape = shape, .array = 0, .element = make_element(g, of, array, shape)};
  s.n = hiaG_put(&p, HIA_OP_LEN, &s.array, 1, HIA_I64, 0);
  hia_value_id is_none = hiaG_put_2(&p, HIA_OP_EQ, s.n, hiaG_put_number(&p, 0), HIA_BOOL);
  hia_value_id result = hiaG_put_branch(&p, is_none, type, none);
  hiaG_put_yield(&none[0], hiaG_put_zeros(&none[0], shape));
  const hia_putting *some = &none[1];
  hia_value_id are_few = hiaG_put_2(some, HIA_OP_LE, s.n, hiaG_put_number(some, FEW), HIA_BOOL);
  hia_value_id of_some = hiaG_put_branch(some, are_few, type, not_few);
  hiaG_put_yield(&not_few[0], few(&s, &not_few[0]));
  const hia_putting *more = &not_few[1];
  hia_value_id are_many = hiaG_put_2(more, HIA_OP_LE, s.n, hiaG_put_number(more, MOST), HIA_BOOL);
  hia_value_id of_more = hiaG_put_branch(more, are_many, type, not_many);
  hiaG_put_yield(&not_many[0], many(&s, &not_many[0]));
  hiaG_put_yield(&not_many[1], stacked(&s, &not_many[1]));
  hiaG_put_yield(more, of_more);
  hiaG_put_yield(some, of_some);
  hiaG_put_yield(&p, result);
  return id;
}

hia_value_id hiaG_put_sum(hia_batcher *b, hia_fn_id f, const hia_putting *p,
                          const hia_row_shape *shape, hia_value_id array) {
  hia_type type = hiaG_type(p->fn, array);
  hia_fn_id sum = HIA_NONE;
  for (uint32_t i = 0; i < b->sums.len; i++) {
    const hia_batch_sum *one = &b->sums.data[i];
    if (one->array == type && memcmp(one->dims, shape->dims, sizeof one->dims) == 0) sum = one->fn;
  }
  if (sum == HIA_NONE) {
    hia_batch_sum new = {.array = type, .fn = make_sum(p->g, f, type, shape)};
    memcpy(new.dims, shape->dims, sizeof new.dims);
    hiaR_push(b->arena, &b->sums, new);
    sum = new.fn;
  }
  return hiaG_put_call(p, sum, &array, 1, hiaG_row_type(p, shape));
}
