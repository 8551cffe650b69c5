/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/gradient_tensor.h"
#include "graph/grad/rules/rules.h"
#include "graph/ir/build.h"
#include "graph/ir/sums.h"
#include "runtime/heap/tensor.h"
#include <stdlib.h>

/* ---- cases ---- */

#define DIMS_1(a)                                                                                  \
  {                                                                                                \
    1, { a }                                                                                       \
  }
#define DIMS_2(a, b)                                                                               \
  {                                                                                                \
    2, { a, b }                                                                                    \
  }
#define DIMS_3(a, b, c)                                                                            \
  {                                                                                                \
    3, { a, b, c }                                                                                 \
  }
#define S                                                                                          \
  {                                                                                                \
    HIA_F64, 0, { 0, {0} }                                                                         \
  }
#define V(a)        {HIA_F64, 0, DIMS_1(a)}
#define M(a, b)     {HIA_F64, 0, DIMS_2(a, b)}
#define T3(a, b, c) {HIA_F64, 0, DIMS_3(a, b, c)}
#define T4(a, b, c, d)                                                                             \
  {                                                                                                \
    HIA_F64, 0, {                                                                                  \
      4, { a, b, c, d }                                                                            \
    }                                                                                              \
  }
#define I(i)                                                                                       \
  {                                                                                                \
    HIA_I64, i, { 0, {0} }                                                                         \
  }
#define I32(i)                                                                                     \
  {                                                                                                \
    HIA_I32, i, { 0, {0} }                                                                         \
  }
#define IV(n, below)    {HIA_I64, below, DIMS_1(n)}
#define IV32(n, below)  {HIA_I32, below, DIMS_1(n)}
#define IM(a, b, below) {HIA_I64, below, DIMS_2(a, b)}
#define ALL             HIA_NONE

static const tensor_case of_tensors[] = {
    {HIA_OP_ROW, 0, 2, {V(4), I(2)}, false},
    {HIA_OP_ROW, 0, 2, {V(1), I(0)}, false},
    {HIA_OP_ROW, 0, 2, {M(3, 4), I(2)}, false},
    {HIA_OP_ROW, 0, 2, {T3(3, 2, 2), I(0)}, false},
    {HIA_OP_ROW, 0, 2, {M(3, 0), I(0)}, false},
    {HIA_OP_PART, 0, 3, {V(5), I(1), I(4)}, false},
    {HIA_OP_PART, 0, 3, {V(5), I(0), I(5)}, false},
    {HIA_OP_PART, 0, 3, {V(5), I(2), I(2)}, false},
    {HIA_OP_PART, 0, 3, {V(0), I(0), I(0)}, false},
    {HIA_OP_PART, 0, 3, {T3(4, 2, 3), I(1), I(3)}, false},
    {HIA_OP_ROWS, 0, 2, {V(5), IV(7, 5)}, false},
    {HIA_OP_ROWS, 0, 2, {V(5), IM(2, 3, 5)}, false},
    {HIA_OP_ROWS, 0, 2, {M(5, 3), IV32(6, 5)}, false},
    {HIA_OP_ROWS, 0, 2, {M(3, 3), IM(2, 4, 3)}, false},
    {HIA_OP_ROWS, 0, 2, {T3(4, 1, 2), IV(0, 4)}, false},
    {HIA_OP_ROWS, 0, 2, {M(2, 0), IV(3, 2)}, false},
    {HIA_OP_WITH, 0, 3, {V(4), I(3), S}, false},
    {HIA_OP_WITH, 0, 3, {M(3, 2), I(1), V(2)}, false},
    {HIA_OP_WITH, 0, 3, {T3(2, 2, 3), I(0), M(2, 3)}, false},
    {HIA_OP_CAT, 0, 3, {V(3), V(0), V(2)}, false},
    {HIA_OP_CAT, 0, 1, {M(2, 2)}, false},
    {HIA_OP_CAT, 0, 2, {M(2, 3), M(1, 3)}, false},
    {HIA_OP_CAT, 1, 3, {M(2, 3), M(2, 1), M(2, 2)}, false},
    {HIA_OP_CAT, 1, 2, {T3(2, 3, 2), T3(2, 1, 2)}, false},
    {HIA_OP_CAT, 2, 2, {T3(2, 1, 2), T3(2, 1, 0)}, false},
    {HIA_OP_STACK, 0, 3, {S, S, S}, false},
    {HIA_OP_STACK, 0, 2, {V(3), V(3)}, false},
    {HIA_OP_STACK, 1, 3, {V(3), V(3), V(3)}, false},
    {HIA_OP_STACK, 1, 2, {M(2, 3), M(2, 3)}, false},
    {HIA_OP_STACK, 2, 2, {M(2, 1), M(2, 1)}, false},
    {HIA_OP_STACK, 2, 2, {M(2, 0), M(2, 0)}, false},
    {HIA_OP_RESHAPE, 0, 2, {M(2, 3), I(6)}, false},
    {HIA_OP_RESHAPE, 0, 3, {T3(2, 3, 2), I(4), I(3)}, false},
    {HIA_OP_RESHAPE, 0, 1, {M(1, 1)}, false},
    {HIA_OP_RESHAPE, 0, 3, {V(0), I(0), I(3)}, false},
    {HIA_OP_FULL, 0, 2, {S, I(4)}, false},
    {HIA_OP_FULL, 0, 3, {S, I(2), I(3)}, false},
    {HIA_OP_FULL, 0, 3, {S, I(2), I(0)}, false},
    {HIA_OP_EXPECT, 1, 2, {V(3), I(3)}, false},
    {HIA_OP_EXPECT, 2, 2, {M(2, 3), I(3)}, false},
    {HIA_OP_SUM, ALL, 1, {V(5)}, false},
    {HIA_OP_SUM, ALL, 1, {T3(2, 3, 2)}, false},
    {HIA_OP_SUM, ALL, 1, {M(2, 0)}, false},
    {HIA_OP_SUM, 0, 1, {V(5)}, false},
    {HIA_OP_SUM, 0, 1, {M(3, 4)}, false},
    {HIA_OP_SUM, 1, 1, {M(3, 4)}, false},
    {HIA_OP_SUM, 1, 1, {M(3, 0)}, false},
    {HIA_OP_SUM, 1, 1, {T3(2, 3, 2)}, false},
    {HIA_OP_SUM, 2, 1, {T3(2, 1, 3)}, false},
    {HIA_OP_MEAN, ALL, 1, {T3(2, 3, 2)}, false},
    {HIA_OP_MEAN, 0, 1, {V(1)}, false},
    {HIA_OP_MEAN, 0, 1, {M(3, 4)}, false},
    {HIA_OP_MEAN, 1, 1, {T3(2, 3, 2)}, false},
    {HIA_OP_PROD, ALL, 1, {V(5)}, false},
    {HIA_OP_PROD, ALL, 1, {V(5)}, true},
    {HIA_OP_PROD, ALL, 1, {M(2, 2)}, true},
    {HIA_OP_PROD, ALL, 1, {M(2, 0)}, false},
    {HIA_OP_PROD, 0, 1, {M(3, 8)}, true},
    {HIA_OP_PROD, 1, 1, {M(8, 3)}, true},
    {HIA_OP_PROD, 1, 1, {T3(2, 3, 4)}, true},
    {HIA_OP_PROD, 2, 1, {T3(2, 3, 1)}, true},
    {HIA_OP_MAX_OF, ALL, 1, {V(5)}, false},
    {HIA_OP_MAX_OF, ALL, 1, {M(2, 3)}, false},
    {HIA_OP_MAX_OF, 0, 1, {V(5)}, false},
    {HIA_OP_MAX_OF, 0, 1, {M(3, 4)}, false},
    {HIA_OP_MAX_OF, 1, 1, {M(3, 4)}, false},
    {HIA_OP_MAX_OF, 1, 1, {T3(2, 3, 2)}, false},
    {HIA_OP_MAX_OF, 0, 1, {M(3, 0)}, false},
    {HIA_OP_MIN_OF, ALL, 1, {V(5)}, false},
    {HIA_OP_MIN_OF, ALL, 1, {T3(2, 1, 3)}, false},
    {HIA_OP_MIN_OF, 2, 1, {T3(2, 1, 3)}, false},
    {HIA_OP_MIN_OF, 0, 1, {M(1, 4)}, false},
    {HIA_OP_PRODUCT, 0, 2, {V(4), V(4)}, false},
    {HIA_OP_PRODUCT, 0, 2, {V(0), V(0)}, false},
    {HIA_OP_PRODUCT, 0, 2, {M(3, 4), V(4)}, false},
    {HIA_OP_PRODUCT, 0, 2, {V(4), M(4, 3)}, false},
    {HIA_OP_PRODUCT, 0, 2, {M(0, 4), V(4)}, false},
    {HIA_OP_PRODUCT, 0, 2, {V(0), M(0, 3)}, false},
    {HIA_OP_PRODUCT, 0, 2, {M(3, 4), M(4, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {M(1, 4), M(4, 1)}, false},
    {HIA_OP_PRODUCT, 0, 2, {M(3, 0), M(0, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {M(30, 4), M(4, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {T3(2, 3, 4), V(4)}, false},
    {HIA_OP_PRODUCT, 0, 2, {V(4), T3(2, 4, 3)}, false},
    {HIA_OP_PRODUCT, 0, 2, {T3(2, 3, 4), M(4, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {M(3, 4), T3(2, 4, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {T3(2, 3, 4), T3(2, 4, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {T3(1, 3, 4), T3(2, 4, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {T3(3, 3, 4), T4(2, 1, 4, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {T4(2, 1, 2, 3), M(3, 2)}, false},
    {HIA_OP_PRODUCT, 0, 2, {T4(2, 3, 2, 3), V(3)}, false},
    {HIA_OP_OUTER, 0, 2, {V(3), V(4)}, false},
    {HIA_OP_OUTER, 0, 2, {V(1), V(0)}, false},
    {HIA_OP_SOFTMAX, 0, 1, {V(5)}, false},
    {HIA_OP_SOFTMAX, 0, 1, {V(1)}, false},
    {HIA_OP_SOFTMAX, 0, 1, {M(3, 4)}, false},
    {HIA_OP_SOFTMAX, 0, 1, {T3(2, 0, 3)}, false},
    {HIA_OP_LOG_SOFTMAX, 0, 1, {V(5)}, false},
    {HIA_OP_LOG_SOFTMAX, 0, 1, {T3(2, 3, 4)}, false},
    {HIA_OP_CROSS_ENTROPY, 0, 2, {V(5), I(3)}, false},
    {HIA_OP_CROSS_ENTROPY, 0, 2, {V(5), I32(0)}, false},
    {HIA_OP_CROSS_ENTROPY, 0, 2, {M(3, 4), IV(3, 4)}, false},
    {HIA_OP_CROSS_ENTROPY, 0, 2, {M(3, 4), IV32(3, 4)}, false},
    {HIA_OP_CROSS_ENTROPY, 0, 2, {T3(2, 3, 4), IM(2, 3, 4)}, false},
    {HIA_OP_CROSS_ENTROPY, 0, 2, {M(0, 4), IV(0, 4)}, false},
    {HIA_OP_TRANSPOSE, 0, 1, {M(3, 4)}, false},
    {HIA_OP_TRANSPOSE, 0, 1, {M(0, 4)}, false},
    {HIA_OP_FIT, 0, 2, {M(3, 4), V(4)}, false},
    {HIA_OP_FIT, 0, 2, {M(3, 4), M(3, 1)}, false},
    {HIA_OP_FIT, 0, 2, {T3(2, 3, 4), M(1, 4)}, false},
    {HIA_OP_FIT, 0, 2, {V(4), S}, false},
    {HIA_OP_FIT, 0, 2, {M(3, 0), M(3, 1)}, false},
    {HIA_OP_SCATTER, 0, 3, {M(3, 2), IV(5, 3), M(5, 2)}, false},
    {HIA_OP_SCATTER, 0, 3, {V(3), IM(2, 2, 3), M(2, 2)}, false},
    {HIA_OP_CUT, 0, 3, {M(4, 3), I(1), I(3)}, false},
    {HIA_OP_CUT, 1, 3, {M(4, 3), I(0), I(2)}, false},
    {HIA_OP_CUT, 1, 3, {T3(2, 3, 2), I(1), I(1)}, false},
    {HIA_OP_PRODUCT_AT, 0, 2, {M(4, 3), M(4, 2)}, false},
    {HIA_OP_PRODUCT_AT, 0, 2, {M(4, 3), T3(2, 4, 2)}, false},
    {HIA_OP_PRODUCT_AT, 0, 2, {T3(2, 4, 3), M(4, 2)}, false},
    {HIA_OP_PRODUCT_BT, 0, 2, {M(3, 4), M(2, 4)}, false},
    {HIA_OP_PRODUCT_BT, 0, 2, {T3(2, 3, 4), M(2, 4)}, false},
    {HIA_OP_PRODUCT_BT, 0, 2, {T3(2, 3, 4), T3(1, 2, 4)}, false},
    {HIA_OP_PRODUCT_BT, 0, 2, {M(3, 4), T3(2, 2, 4)}, false},
};

/* Of elementwise ops: of the operands that are floats, in their order. */
static const struct {
  uint32_t n;
  tensor_operand ins[3];
} of_elements[] = {
    {1, {V(3)}},
    {1, {M(2, 3)}},
    {1, {M(2, 0)}},
    {2, {V(3), V(3)}},
    {2, {M(2, 3), V(3)}},
    {2, {V(3), M(2, 3)}},
    {2, {M(2, 1), M(2, 3)}},
    {2, {M(2, 1), V(3)}},
    {2, {V(1), V(3)}},
    {2, {V(1), M(1, 1)}},
    {2, {S, M(2, 3)}},
    {2, {T3(2, 3, 2), S}},
    {2, {M(1, 3), T3(2, 2, 1)}},
    {2, {M(0, 3), V(3)}},
    {2, {M(0, 3), M(1, 3)}},
    {3, {V(3), V(3), V(3)}},
    {3, {M(2, 3), V(3), M(2, 1)}},
    {3, {V(3), S, M(2, 1)}},
    {3, {S, S, V(2)}},
};

uint32_t tensor_cases(const tensor_case **cases) {
  static tensor_case all[1024];
  uint32_t n = 0;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const hia_op_info *row = &hiaR_ops[op];
    if (!row->name || row->shape != HIA_SHAPE_ELEMENTWISE || row->gradient != HIA_GRADIENT_OWN)
      continue;
    for (size_t i = 0; i < HIA_LEN(of_elements) && n < HIA_LEN(all); i++) {
      if (of_elements[i].n != (uint32_t)row->n_ins) continue;
      tensor_case c = {.op = op, .n_ins = of_elements[i].n};
      memcpy(c.ins, of_elements[i].ins, sizeof of_elements[i].ins);
      if (op == HIA_OP_SELECT) c.ins[0].dtype = HIA_BOOL, c.ins[0].value = 2;
      all[n++] = c;
    }
  }
  for (size_t i = 0; i < HIA_LEN(of_tensors) && n < HIA_LEN(all); i++) all[n++] = of_tensors[i];
  *cases = all;
  return n;
}

/* ---- graphs ---- */

typedef struct maker {
  hia_graph *g;
  hia_fn *fn;
  hia_dtype at;
} maker;

static hia_value_id op(maker *m, unsigned number, const hia_value_id *ins, uint32_t n,
                       uint64_t imm) {
  return hiaG_computed(m->g, m->fn, 0, number, ins, n, m->at, imm, HIA_NONE);
}
static hia_value_id op2(maker *m, unsigned number, hia_value_id a, hia_value_id b) {
  return op(m, number, (hia_value_id[]){a, b}, 2, 0);
}
static hia_value_id number(maker *m, double x) {
  hia_word word = m->at == HIA_F32 ? hiaR_from_f32((float)x) : hiaR_from_f64(x);
  return hiaG_const(m->g, m->fn, 0, m->at, word, HIA_NONE);
}
static uint32_t rank_of(const maker *m, hia_value_id v) {
  return hiaG_rank(m->g->types, hiaG_type(m->fn, v));
}
static hia_value_id sum_all(maker *m, hia_value_id v) {
  return rank_of(m, v) ? op(m, HIA_OP_SUM, &v, 1, HIA_NONE) : v;
}

/* A number for each element of y, which depends on its index alone. */
static hia_value_id weights(maker *m, hia_value_id y) {
  uint32_t rank = rank_of(m, y);
  hia_value_id ins[1 + HIA_MAX_RANK], n = HIA_NONE;
  if (!rank) return number(m, 0.7);
  for (uint32_t i = 0; i < rank; i++) {
    ins[1 + i] = op(m, HIA_OP_DIM, &y, 1, i);
    n = i ? op2(m, HIA_OP_MUL, n, ins[1 + i]) : ins[1];
  }
  hia_value_id indices = op(m, HIA_OP_IOTA, &n, 1, 0),
               at = op(m, HIA_OP_CAST, &indices, 1, HIA_I64);
  at = op2(m, HIA_OP_MUL, at, number(m, 1.7));
  ins[0] = op(m, HIA_OP_SIN, (hia_value_id[]){op2(m, HIA_OP_ADD, at, number(m, 0.6))}, 1, 0);
  return op(m, HIA_OP_RESHAPE, ins, 1 + rank, 0);
}

static hia_value_id dense_sum(maker *m, hia_value_id v) {
  hia_type type = hiaG_sum_type(m->g->types, m->at, rank_of(m, v));
  hia_node_id n = hiaG_add(m->g, m->fn, 0, HIA_OP_DATA, &v, 1, &type, 1, HIA_SUM_DENSE, HIA_NONE);
  return hiaG_out(m->fn, n, 0);
}

/* The product of a gradient with a direction, of which it must have the shape. */
static hia_value_id slope(maker *m, hia_value_id gradient, hia_value_id direction) {
  uint32_t rank = rank_of(m, direction);
  if (gradient == HIA_NONE) return number(m, 0);
  hia_value_id ins[1 + HIA_MAX_RANK] = {gradient};
  for (uint32_t i = 0; i < rank; i++) ins[1 + i] = op(m, HIA_OP_DIM, &direction, 1, i);
  if (rank) gradient = op(m, HIA_OP_EXPECT, ins, 1 + rank, ((uint64_t)1 << rank) - 1);
  return sum_all(m, op2(m, HIA_OP_MUL, gradient, direction));
}

static bool is_float(const tensor_operand *o) { return o->dtype == HIA_F64; }

uint32_t tensor_case_floats(const tensor_case *c) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->n_ins; i++) n += is_float(&c->ins[i]);
  return n;
}

hia_graph *tensor_case_graph(hia_comp *comp, hia_types *types, const tensor_case *c, hia_dtype at) {
  hia_type params[TENSOR_CASE_ARGS], results[TENSOR_CASE_RESULTS];
  uint32_t n_floats = tensor_case_floats(c), n_params = c->n_ins;
  for (uint32_t i = 0; i < c->n_ins; i++) {
    hia_dtype dtype = is_float(&c->ins[i]) ? at : c->ins[i].dtype;
    params[i] = hiaG_ranked(types, dtype, c->ins[i].dims.rank);
    if (is_float(&c->ins[i])) params[n_params++] = params[i];
  }
  for (uint32_t i = 0; i < 1 + 2 * n_floats; i++) results[i] = at;
  maker m = {.g = hiaG_new(comp, types, ""), .at = at};
  hia_fn_id id = hiaG_fn_new(m.g, "f", hiaG_name(m.g, "f"), HIA_NONE, params, n_params, results,
                             1 + 2 * n_floats);
  m.fn = hiaG_fn(m.g, id);
  m.fn->is_root = true;
  m.fn->sig_params = m.fn->params;
  m.fn->n_sig_params = n_params;
  m.fn->sig_result = hiaG_tuple(types, results, 1 + 2 * n_floats);
  uint64_t imm = c->op == HIA_OP_CAST ? (uint64_t)at : c->imm;
  hia_value_id ins[TENSOR_CASE_INS], gradients[TENSOR_CASE_INS], out[TENSOR_CASE_RESULTS];
  bool wants[TENSOR_CASE_INS];
  for (uint32_t i = 0; i < c->n_ins; i++) {
    ins[i] = i;
    wants[i] = is_float(&c->ins[i]) && c->ins[i].dims.rank;
  }
  hia_value_id y = op(&m, c->op, ins, c->n_ins, imm), dy = weights(&m, y);
  out[0] = sum_all(&m, op2(&m, HIA_OP_MUL, y, dy));
  for (uint32_t k = 0; k < 2; k++) {
    bool is_view = c->op == HIA_OP_ROW || c->op == HIA_OP_PART || c->op == HIA_OP_EXPECT;
    hia_value_id of_y = k && is_view && rank_of(&m, y) ? dense_sum(&m, dy) : dy;
    hia_gradient d = {.g = m.g,
                      .fn = m.fn,
                      .loc = HIA_NONE,
                      .imm = imm,
                      .n_ins = c->n_ins,
                      .wants_sum = k ? wants : NULL,
                      .ins = ins,
                      .outs = &y,
                      .out_gradients = &of_y,
                      .in_gradients = gradients};
    if (!hiaG_gradient(&d, c->op)) return NULL;
    for (uint32_t i = 0, f = 0; i < c->n_ins; i++) {
      if (!is_float(&c->ins[i])) {
        if (gradients[i] != HIA_NONE) return NULL;
        continue;
      }
      if (k && wants[i] && gradients[i] != HIA_NONE)
        gradients[i] = op2(&m, HIA_OP_COLLECT, gradients[i], ins[i]);
      out[1 + k * n_floats + f] = slope(&m, gradients[i], c->n_ins + f);
      f++;
    }
  }
  hiaG_yield(m.g, m.fn, 0, out, 1 + 2 * n_floats);
  return m.g;
}

/* ---- arguments ---- */

static double random_number(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (double)(*state >> 8) / (1 << 24);
}

void tensor_point_init(tensor_point *p, const tensor_case *c, uint32_t *state) {
  p->n = c->n_ins + tensor_case_floats(c);
  for (uint32_t i = 0, from = 0; i < p->n; i++) {
    if (i >= c->n_ins)
      while (!is_float(&c->ins[from])) from++;
    const tensor_operand *o = &c->ins[i < c->n_ins ? i : from++];
    uint64_t n = 1;
    for (uint32_t k = 0; k < o->dims.rank; k++) n *= (uint64_t)o->dims.dims[k];
    p->of[i] = *o;
    p->lens[i] = n;
    p->elements[i] = calloc(n + 1, sizeof **p->elements);
    for (uint64_t k = 0; k < n; k++) {
      double x = random_number(state), *to = &p->elements[i][k];
      if (!is_float(o))
        *to = o->dims.rank || o->dtype == HIA_BOOL ? (double)(int64_t)(x * (double)o->value)
                                                   : (double)o->value;
      else if (i >= c->n_ins)
        *to = 2 * x - 1;
      else
        *to = c->has_zeros && x < 0.3 ? 0 : 0.1 + 0.8 * x;
    }
  }
}

void tensor_point_free(tensor_point *p) {
  for (uint32_t i = 0; i < p->n; i++) free(p->elements[i]);
}

void tensor_point_move(tensor_point *p, const tensor_case *c, uint32_t only, double by) {
  for (uint32_t i = 0, f = 0; i < c->n_ins; i++) {
    if (!is_float(&c->ins[i])) continue;
    for (uint64_t k = 0; (only == HIA_NONE || only == f) && k < p->lens[i]; k++)
      p->elements[i][k] += by * p->elements[c->n_ins + f][k];
    f++;
  }
}

static hia_word word_of(hia_dtype dtype, double x) {
  switch (dtype) {
  case HIA_BOOL: return x != 0;
  case HIA_F32: return hiaR_from_f32((float)x);
  case HIA_F64: return hiaR_from_f64(x);
  default: return hiaR_from_i64((int64_t)x);
  }
}

void tensor_point_words(const tensor_point *p, hia_dtype at, hia_word words[TENSOR_CASE_ARGS]) {
  for (uint32_t i = 0; i < p->n; i++) {
    const tensor_operand *o = &p->of[i];
    hia_dtype dtype = is_float(o) ? at : o->dtype;
    words[i] = word_of(dtype, p->elements[i][0]);
    if (!o->dims.rank) continue;
    hia_tensor *t = malloc(sizeof *t + o->dims.rank * sizeof *t->dims + p->lens[i] * 8 + 8);
    if (!t) abort();
    hiaR_object_begin(&t->counted, HIA_TENSOR_OUTSIDE);
    atomic_store(&t->counted.count, HIA_OUTSIDE);
    t->counted.spare = hiaR_tensor_spare(dtype, o->dims.rank);
    t->data = (char *)&t->dims[o->dims.rank];
    memcpy(t->dims, o->dims.dims, o->dims.rank * sizeof *t->dims);
    for (uint64_t k = 0; k < p->lens[i]; k++)
      hiaR_tensor_put(t, k, word_of(dtype, p->elements[i][k]));
    words[i] = (uintptr_t)t;
  }
}

void tensor_point_discard(const tensor_point *p, const hia_word words[TENSOR_CASE_ARGS]) {
  for (uint32_t i = 0; i < p->n; i++)
    if (p->of[i].dims.rank) free(hiaR_tensor(words[i]));
}
