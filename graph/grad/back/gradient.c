/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The gradients of values while they are added up, by id and by scope. */
#include "graph/grad/back/back.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include <stdlib.h>

uint32_t hiaG_back_id(const hia_reverse *r, hia_value_id v) {
  const hia_node *def = hiaG_def(r->fn, v);
  return def->op == HIA_OP_PARAM ? r->fn->values.len + (uint32_t)def->imm : v;
}

bool hiaG_back_is_param(const hia_reverse *r, uint32_t id) { return id >= r->fn->values.len; }

bool hiaG_back_is_sum(const hia_reverse *r, uint32_t id) {
  if (!hiaG_back_is_param(r, id)) return r->b->is_sum[id];
  return r->g->params.data[id - r->fn->values.len].shape.rank > 0;
}

hia_type hiaG_back_type(const hia_reverse *r, uint32_t id) {
  if (hiaG_back_is_param(r, id)) return hiaG_grad_param_type(r->d, id - r->fn->values.len);
  hia_type type = hiaG_type(r->fn, id);
  if (!r->b->is_sum[id]) return hiaG_grad_type(r->d, type);
  return hiaG_sum_type(r->g->types, hiaG_dtype(r->g->types, type), hiaG_rank(r->g->types, type));
}

hia_value_id *hiaG_back_gradient(hia_reverse *r, uint32_t id) {
  if (r->scope_of[id] != r->scope) {
    hiaR_push(r->d->arena, &r->saved, (hia_saved_gradient){id, r->gradient[id], r->scope_of[id]});
    r->gradient[id] = HIA_NONE;
    r->scope_of[id] = r->scope;
  }
  return &r->gradient[id];
}

/* The row that x has, if x is zeros but for a row that was made here; NULL: it is not. */
static const hia_node *row_alone(const hia_reverse *r, hia_value_id x) {
  const hia_node *with = hiaG_def(r->back, x);
  bool is_row =
      with->op == HIA_OP_WITH && with->region == r->region &&
      hiaG_def(r->back, hiaG_in(r->back, r->back->values.data[x].node, 0))->op == HIA_OP_ZEROS;
  return is_row ? with : NULL;
}

/* Adds a row to a row of a tensor, and nothing to its others: of a matrix a row at a time, all of
 * it would be added as often as it has rows. */
static hia_value_id plus_row(hia_reverse *r, hia_value_id a, const hia_node *row) {
  hia_value_id i = r->back->edges.data[row->ins + 1], v = r->back->edges.data[row->ins + 2];
  hia_value_id sum = op_of(r, HIA_OP_ADD, op_of(r, HIA_OP_ROW, a, i), v);
  hia_value_id ins[] = {a, i, sum};
  return hiaG_op(r->g, r->back, r->region, HIA_OP_WITH, ins, 3, r->loc);
}

hia_value_id hiaG_back_plus(hia_reverse *r, hia_type type, hia_value_id a, hia_value_id b) {
  if (hiaG_type_kind(r->g->types, type) == HIA_KIND_TENSOR) {
    const hia_node *of_b = row_alone(r, b), *of_a = of_b ? NULL : row_alone(r, a);
    if (of_b) return plus_row(r, a, of_b);
    if (of_a) return plus_row(r, b, of_a);
  }
  return hiaG_grad_add(r->d, here(r), type, a, b);
}

void hiaG_back_add(hia_reverse *r, uint32_t id, hia_value_id x) {
  hia_value_id so_far = *hiaG_back_gradient(r, id);
  hia_value_id sum = so_far == HIA_NONE ? x : hiaG_back_plus(r, hiaG_back_type(r, id), so_far, x);
  *hiaG_back_gradient(r, id) = sum;
}

void hiaG_back_add_dense(hia_reverse *r, hia_value_id v, hia_value_id x) {
  if (!r->b->varies[v]) return;
  uint32_t id = hiaG_back_id(r, v);
  if (hiaG_back_is_sum(r, id))
    x = value_of(r, HIA_OP_DATA, &x, 1, hiaG_back_type(r, id), HIA_SUM_DENSE);
  hiaG_back_add(r, id, x);
}

hia_value_id hiaG_back_zero(hia_reverse *r, uint32_t id) {
  hia_type type = hiaG_back_type(r, id);
  if (hiaG_type_kind(r->g->types, type) != HIA_KIND_TENSOR)
    return hiaG_grad_zero(r->d, here(r), type);
  return op_of(r, HIA_OP_ZEROS, hiaG_back_read(r, id), HIA_NONE);
}

hia_value_id hiaG_back_take(hia_reverse *r, hia_value_id v) {
  if (!r->b->varies[v]) return HIA_NONE;
  hia_value_id *gradient = hiaG_back_gradient(r, v), taken = *gradient;
  *gradient = HIA_NONE;
  return taken;
}

hia_value_id *hiaG_back_take_all(hia_reverse *r, hia_node_id n, bool *is_some) {
  const hia_node *node = &r->fn->nodes.data[n];
  hia_value_id *taken = HIA_NEW_ARRAY(r->d->arena, hia_value_id, node->n_outs + 1);
  *is_some = false;
  for (uint32_t i = 0; i < node->n_outs; i++) {
    taken[i] = hiaG_back_take(r, node->outs + i);
    *is_some |= taken[i] != HIA_NONE;
  }
  return taken;
}

/* ---- the form in which objects have gradients ---- */

static bool is_dense_tensor(const hia_reverse *r, hia_value_id v) {
  bool is_tensor = hiaG_is_tensor(r->g, r->fn, v);
  return is_tensor && !hiaG_back_is_sum(r, hiaG_back_id(r, v));
}

hia_value_id hiaG_back_to_stored(hia_reverse *r, hia_value_id v, hia_value_id x) {
  if (!is_dense_tensor(r, v)) return x;
  return value_of(r, HIA_OP_DATA, &x, 1, hiaG_grad_stored(r->d, hiaG_type(r->fn, v)),
                  HIA_SUM_DENSE);
}

hia_value_id hiaG_back_from_stored(hia_reverse *r, hia_value_id v, hia_value_id x) {
  return is_dense_tensor(r, v) ? op_of(r, HIA_OP_COLLECT, x, hiaG_back_read(r, v)) : x;
}

/* ---- where there is a gradient ---- */

hia_given hiaG_back_begin_given(hia_reverse *r, hia_value_id dy) {
  hia_type i32 = HIA_I32;
  hia_node_id number = node_of(r, HIA_OP_CTOR, &dy, 1, &i32, 1, 0);
  hia_value_id cond = op_of(r, HIA_OP_NE, hiaG_out(r->back, number, 0), constant(r, HIA_I32, 0));
  hia_node_id branch = node_of(r, HIA_OP_IF, &cond, 1, NULL, 0, 0);
  hia_given given = {
      .branch = branch, .arms = r->back->nodes.data[branch].regions, .around = r->region};
  r->region = given.arms;
  return given;
}

void hiaG_back_not_given(hia_reverse *r, const hia_given *given) { r->region = given->arms + 1; }

void hiaG_back_give(hia_reverse *r, hia_given *given, uint32_t id, hia_value_id x,
                    hia_value_id none) {
  hiaR_push(r->d->arena, &given->ids, id);
  hiaR_push(r->d->arena, &given->yields[0], x);
  hiaR_push(r->d->arena, &given->yields[1], none);
  hiaR_push(r->d->arena, &given->types, hiaG_type(r->back, none));
  r->region = given->arms;
}

void hiaG_back_end_given(hia_reverse *r, hia_given *given) {
  r->region = given->around;
  for (uint32_t k = 0; k < 2; k++)
    hiaG_yield(r->g, r->back, given->arms + k, given->yields[k].data, given->yields[k].len);
  hiaG_set_outs(r->g, r->back, given->branch, given->types.data, given->types.len);
}

/* ---- scopes ---- */

uint32_t hiaG_back_open(hia_reverse *r, uint32_t *around) {
  *around = r->scope;
  r->scope = ++r->n_scopes;
  return r->saved.len;
}

static int by_id(const void *a, const void *b) {
  const hia_contribution *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

hia_contributions hiaG_back_close(hia_reverse *r, uint32_t begin, uint32_t around) {
  hia_contributions list = {0};
  for (uint32_t i = begin; i < r->saved.len; i++) {
    hia_saved_gradient *s = &r->saved.data[i];
    if (r->gradient[s->id] != HIA_NONE)
      hiaR_push(r->d->arena, &list, (hia_contribution){s->id, r->gradient[s->id]});
    r->gradient[s->id] = s->gradient;
    r->scope_of[s->id] = s->scope;
  }
  r->saved.len = begin;
  r->scope = around;
  if (list.len) qsort(list.data, list.len, sizeof *list.data, by_id);
  return list;
}
