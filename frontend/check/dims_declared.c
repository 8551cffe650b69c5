/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes that types declare, and whether those of an expression fit them. */
#include "frontend/check/constant.h"
#include "frontend/check/dims.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"
#include "runtime/base/shape.h"

hia_dim hiaF_constant_dim(hia_program *p, const hia_itype *types, hia_ast_id first, hia_ast_id id) {
  if (!hiaF_is_constant(p, id)) return HIA_DIM_UNKNOWN;
  hia_itype type = types[id - first];
  if (type != HIA_I32 && type != HIA_I64) return HIA_DIM_UNKNOWN;
  hia_fault fault = {.message = NULL};
  hia_typing t = {.p = p,
                  .types = (hia_itype *)types, /* read only */
                  .first = first,
                  .inst = HIA_NONE,
                  .force = HIA_FORCE_ALL,
                  .fault = &fault};
  hia_word word;
  uint32_t n = 0;
  if (!hiaF_eval(&t, id, &word, &n)) return HIA_DIM_UNKNOWN;
  int64_t value = type == HIA_I32 ? hiaR_to_i32(word) : hiaR_to_i64(word);
  return value < 0 ? HIA_DIM_UNKNOWN : value;
}

/* ---- declared dims ---- */

static hia_dim declared_dim(hia_dim_walk *w, hia_dim_types owner, hia_ast_id dim) {
  const hia_ast *n = hiaF_node(w->p, dim);
  int64_t value;
  if (n->kind == HIA_AST_DIM_ANY || (n->kind == HIA_AST_NAME && n->op != HIA_REF_CONST))
    return HIA_DIM_UNKNOWN;
  if (owner.types) return hiaF_constant_dim(w->p, owner.types, owner.first, dim);
  return hiaF_constant_size(w->p, dim, &value) && value >= 0 ? value : HIA_DIM_UNKNOWN;
}

/* Writes the dims that a type declares; returns how many. */
static uint32_t declare(hia_dim_walk *w, hia_dim_types owner, hia_ast_id type, hia_dim *to) {
  const hia_ast *n = hiaF_node(w->p, type);
  const uint32_t *list = w->p->extra.data + n->b;
  uint32_t count = 0;
  if (n->kind == HIA_AST_TYPE_ARRAY) return declare(w, owner, n->a, to);
  if (n->kind == HIA_AST_TYPE_TENSOR)
    for (; count < n->c; count++) to[count] = declared_dim(w, owner, list[count]);
  if (n->kind == HIA_AST_TYPE_TUPLE)
    for (uint32_t i = 0; i < n->c; i++) count += declare(w, owner, list[i], to + count);
  return count;
}

const hia_dim *hiaF_declared_dims(hia_dim_walk *w, hia_dim_types owner, hia_ast_id type,
                                  hia_itype value_type) {
  hia_dim *dims = hiaF_dims_of_all(w, hiaF_n_dims(&w->p->it, value_type), HIA_DIM_UNKNOWN);
  declare(w, owner, type, dims);
  return dims;
}

/* ---- expected dims ---- */

/* Checks that all occurrences of a name have one size at a call. */
static void expect_name(hia_dim_walk *w, hia_ast_id dim, const hia_dim_operand *x, uint32_t axis) {
  const hia_ast *n = hiaF_node(w->p, dim);
  if (n->kind != HIA_AST_NAME) return;
  if (n->op == HIA_REF_NONE) {
    hia_dim_name b = {dim, *x, axis};
    hiaR_push(w->scratch, &w->names, b);
    return;
  }
  for (uint32_t i = 0; n->op == HIA_REF_VAR && i < w->names.len; i++) {
    const hia_dim_name *b = &w->names.data[i];
    if (b->name != n->b) continue;
    hia_dim first = b->tensor.dims[b->axis], now = x->dims[axis];
    if (first < 0 || now < 0 || first == now) return;
    hia_misfit m = {.kind = HIA_MISFIT_DIM, .operand_b = 1, .axis_a = b->axis, .axis_b = axis};
    hiaF_load_dims(&b->tensor, &m.a);
    hiaF_load_dims(x, &m.b);
    if (w->is_last) hiaF_reject_dims(w, &m, &b->tensor, x, x->start, x->end);
  }
}

HIA_COLD static void expect_tensor(hia_dim_walk *w, const hia_dim_operand *x, hia_dim_types owner,
                                   const hia_ast *type) {
  hia_dims have, want = {.rank = type->c}, out;
  hia_misfit m;
  if (type->c != x->rank) return;
  hiaF_load_dims(x, &have);
  for (uint32_t i = 0; i < type->c; i++) {
    want.dims[i] = declared_dim(w, owner, w->p->extra.data[type->b + i]);
    expect_name(w, w->p->extra.data[type->b + i], x, i);
  }
  hia_dim_operand declared = {NULL, type->c, type->start, type->end};
  if (w->is_last && hiaR_shape_expect(&have, &want, &out, &m) == HIA_FIT_NEVER &&
      m.kind == HIA_MISFIT_DIM)
    hiaF_reject_dims(w, &m, x, &declared, x->start, x->end);
}

uint32_t hiaF_expect_dims(hia_dim_walk *w, hia_ast_id id, const hia_dim *dims, hia_dim_types owner,
                          hia_ast_id type, hia_itype value_type) {
  const hia_ast n = *hiaF_node(w->p, type), *e = hiaF_node(w->p, id);
  uint32_t count = 0;
  while (e->kind == HIA_AST_BLOCK) id = e->a, e = hiaF_node(w->p, id);
  if (n.kind == HIA_AST_TYPE_TENSOR) {
    hia_dim_operand x = {dims, hiaF_irank(value_type), e->start, e->end};
    expect_tensor(w, &x, owner, &n);
  }
  if (n.kind == HIA_AST_TYPE_ARRAY && hiaF_is_array(value_type))
    return hiaF_expect_dims(w, id, dims, owner, n.a, hiaF_element(&w->p->it, value_type));
  if (n.kind != HIA_AST_TYPE_TUPLE) return hiaF_n_dims(&w->p->it, value_type);
  bool is_apart = e->kind == HIA_AST_TUPLE && e->c == n.c;
  for (uint32_t i = 0; i < n.c; i++)
    count += hiaF_expect_dims(w, is_apart ? w->p->extra.data[hiaF_node(w->p, id)->b + i] : id,
                              dims + count, owner, w->p->extra.data[n.b + i],
                              hiaF_ituple_part(&w->p->it, value_type, i));
  return count;
}
