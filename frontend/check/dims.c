/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The sizes of expressions, as far as the text of a program says them, and the rejection of
 * programs in which sizes do not fit: docs/language.md, "Sizes".
 *
 * A pass of its own over the instances that check.c has typed. It knows what the rules of the
 * language say and no more: it evaluates constant expressions, but no variable, no condition and no
 * shape that a program asks for. So what is rejected depends on no optimisation.
 *
 * The value of an expression has a dim for each axis of each tensor that its type is made of: the
 * parts of a tuple one behind the other, an array as its elements. Fields of data have declared
 * sizes. A dim climbs from NONE_YET (no path has given a value) to a number to unknown. Results of
 * functions and the variables of loops begin at NONE_YET and are joined with what bodies and rounds
 * give, until nothing changes: bodies are walked again if a callee's result has changed, or a
 * variable of a loop in them. (Not each loop until it is stable: that would be exponential in the
 * nesting of loops.) Then each body is walked once more, which reports. */
#include "frontend/check/dims.h"
#include "frontend/check/check.h"
#include "frontend/check/constant.h"
#include "frontend/kit/instance.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"
#include "runtime/base/shape.h"

static const hia_dim *dims_of(hia_dim_walk *w, hia_ast_id id);

/* ---- values ---- */

static hia_itype type_of(const hia_dim_walk *w, hia_ast_id id) { return w->types[id - w->first]; }

static uint32_t n_dims_of(const hia_dim_walk *w, hia_ast_id id) {
  return hiaF_n_dims(&w->p->it, type_of(w, id));
}

/* The dims of an expression at a place of this type. */
static const hia_dim *dims_at(hia_dim_walk *w, hia_ast_id id, hia_itype type) {
  const hia_dim *dims = dims_of(w, id);
  uint32_t n = hiaF_n_dims(&w->p->it, type);
  return n == n_dims_of(w, id) ? dims : hiaF_dims_of_all(w, n, HIA_DIM_UNKNOWN);
}

/* Visits an argument that is a size or an index; returns its value if that is constant. */
static hia_dim size(hia_dim_walk *w, hia_ast_id id) {
  dims_of(w, id);
  return hiaF_constant_dim(w->p, w->types, w->first, id);
}

/* ---- operations ---- */

static hia_dim_operand whole(hia_dim_walk *w, hia_ast_id id) {
  const hia_ast *n = hiaF_node(w->p, id);
  return (hia_dim_operand){dims_of(w, id), hiaF_irank(type_of(w, id)), n->start, n->end};
}

static const hia_dim *apply_to_args(hia_dim_walk *w, hia_dim_rule *op, const hia_ast *call,
                                    uint32_t n, uint32_t rank) {
  hia_dim_operand few[3], *operands = few;
  if (n > HIA_LEN(few)) operands = HIA_NEW_ARRAY(w->scratch, hia_dim_operand, n);
  for (uint32_t i = 0; i < n; i++) operands[i] = whole(w, hiaF_positional_arg(w->p, call, i));
  op->start = hiaF_node(w->p, call->a)->start;
  op->end = hiaF_node(w->p, call->a)->end;
  return hiaF_apply_rule(w, op, operands, n, rank);
}

static const hia_dim *dims_of_chain(hia_dim_walk *w, hia_ast_id id, const hia_ast *n) {
  hia_dim_rule op = {.rule = n->kind == HIA_AST_MATMUL ? HIA_DIMS_PRODUCT : HIA_DIMS_BROADCAST};
  hia_dim_operand in[2] = {whole(w, n->a)};
  for (uint32_t i = 0; i < n->c; i += 3) {
    uint32_t pos = w->p->extra.data[n->b + i + 1];
    in[1] = whole(w, w->p->extra.data[n->b + i + 2]);
    hia_operand left = hiaF_operands(w->p, id, i / 3 + 1, pos);
    in[0].start = left.start, in[0].end = left.end;
    op.start = pos, op.end = pos + 1;
    uint32_t rank = hiaF_rank_after(op.rule, in[0].rank, in[1].rank);
    in[0].dims = hiaF_apply_rule(w, &op, in, 2, rank);
    in[0].rank = rank;
  }
  return in[0].dims;
}

static const hia_dim *dims_of_compare(hia_dim_walk *w, const hia_ast *n, uint32_t rank) {
  hia_dim_operand in[2] = {whole(w, n->a), whole(w, n->b)};
  hia_dim_rule op = {.rule = HIA_DIMS_BROADCAST, .start = n->pos, .end = n->pos + 1};
  return hiaF_apply_rule(w, &op, in, 2, rank);
}

static hia_dim_types own(const hia_dim_walk *w) { return (hia_dim_types){w->types, w->first}; }

/* ---- variables ---- */

static void set_var(hia_dim_walk *w, hia_ast_id binder, const hia_dim *dims) {
  w->vars[binder - w->first] = dims;
}

static void bind(hia_dim_walk *w, hia_ast_id binder, hia_itype type, const hia_dim *dims) {
  const hia_ast *n = hiaF_node(w->p, binder);
  if (n->kind != HIA_AST_BIND_TUPLE) {
    set_var(w, binder, dims);
    return;
  }
  if (!hiaF_is_tuple(type)) return; /* the function has an error */
  for (uint32_t i = 0; i < n->c; i++) {
    hia_itype part = hiaF_ituple_part(&w->p->it, type, i);
    bind(w, w->p->extra.data[n->b + i], part, dims);
    dims += hiaF_n_dims(&w->p->it, part);
  }
}

static void bind_pattern(hia_dim_walk *w, hia_ast_id pattern, const hia_dim *dims) {
  const hia_ast *n = hiaF_node(w->p, pattern);
  if (n->kind == HIA_AST_PAT_NAME) set_var(w, pattern, dims);
  if (n->kind != HIA_AST_PAT_CON) return;
  const hia_decl *con = hiaF_pattern_con(w->p, n);
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id type = hiaF_node(w->p, w->p->extra.data[con->params + i])->b;
    bind_pattern(w, w->p->extra.data[n->b + i],
                 hiaF_declared_dims(w, (hia_dim_types){NULL, 0}, type, con->param_types[i]));
  }
}

static const hia_dim *dims_of_name(hia_dim_walk *w, hia_ast_id id, const hia_ast *n) {
  uint32_t count = n_dims_of(w, id);
  if (n->op == HIA_REF_PARAM) return w->p->params.data[hiaF_decl(w->p, n->b)->fn].shape.dims;
  const hia_dim *dims = n->op == HIA_REF_VAR && count ? w->vars[n->b - w->first] : NULL;
  return dims ? dims : hiaF_dims_of_all(w, count, HIA_DIM_UNKNOWN);
}

static const hia_dim *dims_of_block(hia_dim_walk *w, const hia_ast *n) {
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id id = w->p->extra.data[n->b + i];
    const hia_ast let = *hiaF_node(w->p, id);
    hia_itype type = type_of(w, id);
    const hia_dim *dims = dims_at(w, let.c, type);
    if (let.b != HIA_NONE) {
      hiaF_expect_dims(w, let.c, dims, own(w), let.b, type);
      dims = hiaF_declared_dims(w, own(w), let.b, type);
    }
    bind(w, let.a, type, dims);
  }
  return dims_of(w, n->a);
}

/* ---- branches and loops ---- */

static const hia_dim *dims_of_if(hia_dim_walk *w, const hia_ast *n, uint32_t count) {
  dims_of(w, n->a);
  hia_dim *dims = hiaF_copy_dims(w, dims_of(w, n->b), count);
  hiaF_join_dims(dims, dims_of(w, n->c), count);
  return dims;
}

static const hia_dim *dims_of_match(hia_dim_walk *w, const hia_ast *n, uint32_t count) {
  const hia_dim *subject = dims_of(w, n->a);
  hia_dim *dims = hiaF_dims_of_all(w, count, HIA_DIM_NONE_YET);
  for (uint32_t i = 0; i < n->c; i += 2) {
    bind_pattern(w, w->p->extra.data[n->b + i], subject);
    hiaF_join_dims(dims, dims_of(w, w->p->extra.data[n->b + i + 1]), count);
  }
  return dims;
}

/* A variable without a declared type keeps what rounds have given it: w->vars of its LVAR is not
 * NULL in the walks after the first. */
static const hia_dim *dims_of_loop(hia_dim_walk *w, const hia_ast *n, uint32_t count) {
  hia_program *p = w->p;
  const uint32_t *vars = p->extra.data + n->b;
  const hia_dim **inits = HIA_NEW_ARRAY(w->scratch, const hia_dim *, n->c);
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_ast var = *hiaF_node(p, vars[i]);
    hia_itype type = type_of(w, vars[i]);
    inits[i] = dims_at(w, var.c, type);
    if (var.b != HIA_NONE) hiaF_expect_dims(w, var.c, inits[i], own(w), var.b, type);
  }
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_ast var = *hiaF_node(p, vars[i]);
    hia_itype type = type_of(w, vars[i]);
    hia_dim *state = (hia_dim *)w->vars[vars[i] - w->first];
    if (var.b != HIA_NONE)
      set_var(w, vars[i], hiaF_declared_dims(w, own(w), var.b, type));
    else if (state == NULL)
      set_var(w, vars[i], hiaF_copy_dims(w, inits[i], hiaF_n_dims(&p->it, type)));
    else
      hiaF_join_dims(state, inits[i], hiaF_n_dims(&p->it, type));
  }
  dims_of(w, p->extra.data[n->a]);
  hia_ast_id block = p->extra.data[n->a + 1];
  hia_dim *dims = hiaF_dims_of_all(w, count, HIA_DIM_UNKNOWN);
  const hia_dim *next = dims_of(w, block);
  if (n_dims_of(w, block) != count) next = dims;
  for (uint32_t i = 0, at = 0; i < n->c; i++) {
    const hia_ast var = *hiaF_node(p, vars[i]);
    hia_itype type = type_of(w, vars[i]);
    uint32_t m = hiaF_n_dims(&p->it, type);
    hia_dim *state = (hia_dim *)w->vars[vars[i] - w->first];
    if (var.b != HIA_NONE)
      hiaF_expect_dims(w, hiaF_next_value(p, n, i), next + at, own(w), var.b, type);
    else if (hiaF_join_dims(state, next + at, m))
      w->has_changed = true;
    if (m) memcpy(dims + at, state, m * sizeof *state);
    at += m;
  }
  return dims;
}

/* ---- in a row ---- */

/* The elements of a tensor or an array, joined; of a tensor they must have one shape. */
static const hia_dim *dims_of_array(hia_dim_walk *w, hia_ast_id id, const hia_ast *n,
                                    uint32_t count) {
  const uint32_t *list = w->p->extra.data + n->b;
  hia_itype type = type_of(w, id);
  uint32_t rank = hiaF_irank(type);
  if (!hiaF_is_tensor(type) || rank == 1) {
    hia_dim *dims = hiaF_dims_of_all(w, count, HIA_DIM_NONE_YET);
    for (uint32_t i = 0; i < n->c; i++) {
      const hia_dim *element = dims_of(w, w->p->extra.data[n->b + i]);
      if (rank == 0) hiaF_join_dims(dims, element, count);
    }
    if (rank == 1) dims[0] = n->c;
    return dims;
  }
  hia_dim_operand *operands = HIA_NEW_ARRAY(w->scratch, hia_dim_operand, n->c);
  for (uint32_t i = 0; i < n->c; i++) operands[i] = whole(w, list[i]);
  hia_dim_rule op = {.rule = HIA_DIMS_STACK, .start = n->pos, .end = n->pos + 1};
  return hiaF_apply_rule(w, &op, operands, n->c, rank);
}

/* The number of elements of a range with constant ends. */
static hia_dim range(hia_dim from, hia_dim to) {
  if (from < 0 || to < 0) return HIA_DIM_UNKNOWN;
  return to > from ? to - from : 0;
}

static const hia_dim *dims_of_comprehension(hia_dim_walk *w, hia_ast_id id, const hia_ast *n,
                                            uint32_t count) {
  const uint32_t *list = w->p->extra.data + n->b;
  bool is_tensor = hiaF_is_tensor(type_of(w, id));
  hia_dim length = HIA_DIM_UNKNOWN;
  if (n->c == 3) {
    hia_dim from = size(w, list[1]), to = size(w, list[2]);
    length = range(from, to);
  } else {
    const hia_dim *over = dims_of(w, list[1]);
    hia_itype type = type_of(w, list[1]);
    if (hiaF_is_tensor(type)) {
      bind(w, list[0], hiaF_ranked(hiaF_leaf(type), hiaF_irank(type) - 1, false), over + 1);
      length = over[0];
    } else if (hiaF_is_array(type)) {
      bind(w, list[0], hiaF_element(&w->p->it, type), over);
    } /* else of a function that has an error: its variable has no dims */
  }
  const hia_dim *element = dims_of(w, n->a);
  if (!is_tensor) return element;
  hia_dim *dims = hiaF_dims_of_all(w, count, length);
  memcpy(dims + 1, element, (count - 1) * sizeof *dims);
  return dims;
}

static const hia_dim *dims_of_index(hia_dim_walk *w, hia_ast_id id, const hia_ast *n) {
  hia_dim_operand in[2] = {whole(w, n->a), whole(w, n->b)};
  if (!hiaF_is_tensor(type_of(w, n->a))) return in[0].dims;
  hia_dim_rule op = {.rule = HIA_DIMS_INDEX, .start = n->pos, .end = n->pos + 1};
  return hiaF_apply_rule(w, &op, in, 2, hiaF_irank(type_of(w, id)));
}

static const hia_dim *dims_of_slice(hia_dim_walk *w, const hia_ast *n) {
  hia_dim_operand x = whole(w, n->a);
  hia_dim_rule op = {
      .rule = HIA_DIMS_SLICE, .from = size(w, n->b), .start = n->pos, .end = n->pos + 1};
  op.to = size(w, n->c);
  return hiaF_is_tensor(type_of(w, n->a)) ? hiaF_apply_rule(w, &op, &x, 1, x.rank) : x.dims;
}

/* ---- calls ---- */

static const hia_dim *dims_of_sizes(hia_dim_walk *w, const hia_ast *n, uint32_t first,
                                    uint32_t n_args) {
  hia_dim *dims = hiaF_dims_of_all(w, n_args, HIA_DIM_UNKNOWN);
  for (uint32_t i = 0; i < n_args; i++) {
    hia_ast_id arg = hiaF_positional_arg(w->p, n, i);
    if (i < first)
      dims_of(w, arg);
    else
      dims[i - first] = size(w, arg);
  }
  return dims;
}

static const hia_dim *dims_of_tensor(hia_dim_walk *w, const hia_ast *n, unsigned builtin,
                                     uint32_t rank) {
  hia_ast_id axis;
  uint32_t n_args = hiaF_positional(w->p, n, &axis);
  uint64_t at = hiaF_axis(w->p, n, builtin, 0);
  hia_dim_rule op = {.rule = HIA_DIMS_REDUCE, .axis = at == HIA_NONE ? HIA_ALL_AXES : (uint32_t)at};
  switch (builtin) {
  case HIA_BUILTIN_ZEROS:
  case HIA_BUILTIN_ONES:
  case HIA_BUILTIN_IOTA: return dims_of_sizes(w, n, 0, n_args);
  case HIA_BUILTIN_FULL:
  case HIA_BUILTIN_ONE_HOT:
  case HIA_BUILTIN_RESHAPE: return dims_of_sizes(w, n, 1, n_args);
  case HIA_BUILTIN_SHAPE: return dims_of(w, hiaF_positional_arg(w->p, n, 0));
  case HIA_BUILTIN_SOFTMAX:
  case HIA_BUILTIN_LOG_SOFTMAX: op.rule = HIA_DIMS_BROADCAST; break;
  case HIA_BUILTIN_TRANSPOSE: op.rule = HIA_DIMS_TRANSPOSE; break;
  case HIA_BUILTIN_OUTER: op.rule = HIA_DIMS_OUTER; break;
  case HIA_BUILTIN_CROSS_ENTROPY: op.rule = HIA_DIMS_LABELS; break;
  case HIA_BUILTIN_STACK: op.rule = HIA_DIMS_STACK; break;
  default: break;
  }
  return apply_to_args(w, &op, n, n_args, rank);
}

static const hia_dim *dims_of_arrays(hia_dim_walk *w, hia_ast_id id, const hia_ast *n,
                                     unsigned builtin, uint32_t count) {
  const uint32_t *args = w->p->extra.data + n->b;
  if (builtin == HIA_BUILTIN_LEN) return dims_of(w, args[0]);
  bool is_tensor = hiaF_is_tensor(type_of(w, id)), is_set = builtin == HIA_BUILTIN_SET;
  if (is_tensor && is_set) {
    hia_dim_operand in[2] = {whole(w, args[0])};
    dims_of(w, args[1]);
    in[1] = whole(w, args[2]);
    const hia_ast *callee = hiaF_node(w->p, n->a);
    hia_dim_rule op = {.rule = HIA_DIMS_SET, .start = callee->start, .end = callee->end};
    return hiaF_apply_rule(w, &op, in, 2, count);
  }
  if (is_tensor) {
    hia_ast_id axis;
    uint32_t n_args = hiaF_positional(w->p, n, &axis);
    hia_dim_rule op = {.rule = HIA_DIMS_CONCAT,
                       .axis = (uint32_t)hiaF_axis(w->p, n, builtin, hiaF_irank(type_of(w, id)))};
    return apply_to_args(w, &op, n, n_args, count);
  }
  hia_dim *dims = hiaF_dims_of_all(w, count, HIA_DIM_NONE_YET);
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_dim *arg = dims_of(w, w->p->extra.data[n->b + i]);
    if (!is_set || i != 1) hiaF_join_dims(dims, arg, count);
  }
  return dims;
}

static const hia_dim *result_of(hia_dim_walk *w, uint32_t inst, uint32_t count) {
  const hia_inst *callee = hiaF_inst(w->p, inst);
  const hia_dim *result = callee->result_dims;
  return result && hiaF_n_dims(&w->p->it, callee->result) == count
             ? result
             : hiaF_dims_of_all(w, count, HIA_DIM_UNKNOWN);
}

/* Each gradient has the sizes of what it is the gradient of: of a parameter those that its type
 * declares, or else those of the argument. The arguments have been visited. */
static const hia_dim *dims_of_gradient(hia_dim_walk *w, const hia_ast *call, uint32_t inst,
                                       uint32_t count) {
  hia_program *p = w->p;
  const hia_ast *callee = hiaF_node(p, call->a);
  const hia_decl *d = hiaF_decl(p, callee->b);
  const hia_ast_grad *grad = &p->grads.data[callee->c];
  hia_dim *dims = hiaF_dims_of_all(w, count, HIA_DIM_UNKNOWN);
  for (uint32_t i = 0, at = 0; i < grad->wrt.len; i++) {
    const hia_wrt *wrt = &grad->wrt.data[i];
    const hia_dim *from = NULL, *declares = NULL;
    uint32_t n;
    if (wrt->is_param) {
      const hia_param_spec *spec = &p->params.data[hiaF_decl(p, wrt->i)->fn];
      n = spec->shape.rank;
      from = spec->shape.dims;
    } else {
      hia_itype type = hiaF_inst(p, inst)->args[wrt->i];
      hia_ast_id arg = p->extra.data[call->b + wrt->i];
      hia_ast_id declared_type = hiaF_node(p, p->extra.data[d->params + wrt->i])->b;
      n = hiaF_n_dims(&p->it, type);
      if (n_dims_of(w, arg) == n) from = w->values[arg - w->first];
      if (declared_type != HIA_NONE)
        declares = hiaF_declared_dims(w, (hia_dim_types){hiaF_inst(p, inst)->types, d->first_node},
                                      declared_type, type);
    }
    for (uint32_t k = 0; k < n && at < count; k++, at++) {
      if (from) dims[at] = from[k];
      if (declares && declares[k] >= 0) dims[at] = declares[k];
    }
  }
  return dims;
}

static const hia_dim *dims_of_call(hia_dim_walk *w, hia_ast_id id, const hia_ast *n,
                                   uint32_t count) {
  hia_program *p = w->p;
  const hia_ast *callee = hiaF_node(p, n->a);
  if (callee->op == HIA_REF_BUILTIN && hiaF_tensor_builtin(callee->b))
    return dims_of_tensor(w, n, callee->b, count);
  if (callee->op == HIA_REF_BUILTIN && callee->b >= HIA_OP_LIMIT)
    return dims_of_arrays(w, id, n, callee->b, count);
  if (callee->op == HIA_REF_BUILTIN && callee->b != HIA_OP_FAIL) {
    hia_dim_rule op = {.rule = HIA_DIMS_BROADCAST};
    return apply_to_args(w, &op, n, n->c, count);
  }
  for (uint32_t i = 0; i < n->c; i++) dims_of(w, p->extra.data[n->b + i]);
  if (callee->op == HIA_REF_BUILTIN) return hiaF_dims_of_all(w, count, HIA_DIM_NONE_YET);
  const hia_decl *d = hiaF_decl(p, callee->b);
  uint32_t inst = hiaF_is_of_instance(callee) ? type_of(w, n->a) : HIA_NONE;
  hia_dim_types owner = {NULL, 0};
  if (inst != HIA_NONE) owner = (hia_dim_types){hiaF_inst(p, inst)->types, d->first_node};
  w->names.len = 0;
  for (uint32_t i = 0; i < n->c && (inst != HIA_NONE || callee->op == HIA_REF_CON); i++) {
    hia_ast_id arg = p->extra.data[n->b + i], type = hiaF_node(p, p->extra.data[d->params + i])->b;
    if (type != HIA_NONE && n_dims_of(w, arg) == hiaF_n_dims(&p->it, d->param_types[i]))
      hiaF_expect_dims(w, arg, w->values[arg - w->first], owner, type, d->param_types[i]);
  }
  if (inst == HIA_NONE) return hiaF_dims_of_all(w, count, HIA_DIM_UNKNOWN);
  return callee->op == HIA_REF_GRAD ? dims_of_gradient(w, n, inst, count)
                                    : result_of(w, inst, count);
}

/* ---- all ---- */

static const hia_dim *visit_all(hia_dim_walk *w, const hia_ast *n, uint32_t first, uint32_t every) {
  for (uint32_t i = first; i < n->c; i += every) dims_of(w, w->p->extra.data[n->b + i]);
  return NULL;
}

static const hia_dim *dims_of_tuple(hia_dim_walk *w, const hia_ast *n, uint32_t count) {
  hia_dim *dims = hiaF_dims_of_all(w, count, HIA_DIM_UNKNOWN);
  for (uint32_t i = 0, at = 0; i < n->c; i++) {
    hia_ast_id part = w->p->extra.data[n->b + i];
    const hia_dim *from = dims_of(w, part);
    uint32_t m = n_dims_of(w, part);
    if (m) memcpy(dims + at, from, m * sizeof *dims);
    at += m;
  }
  return dims;
}

static const hia_dim *dims_of_field(hia_dim_walk *w, const hia_ast *n, uint32_t count) {
  const hia_dim *dims = dims_of(w, n->a);
  hia_itype type = type_of(w, n->a);
  if (!hiaF_is_tuple(type))
    return hiaF_dims_of_all(w, count, HIA_DIM_UNKNOWN); /* the function has an error */
  for (uint32_t i = 0; i < n->b; i++)
    dims += hiaF_n_dims(&w->p->it, hiaF_ituple_part(&w->p->it, type, i));
  return dims;
}

static const hia_dim *visit(hia_dim_walk *w, hia_ast_id id, const hia_ast *n, uint32_t count) {
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_NAME: return dims_of_name(w, id, n);
  case HIA_AST_TUPLE: return dims_of_tuple(w, n, count);
  case HIA_AST_ARRAY: return dims_of_array(w, id, n, count);
  case HIA_AST_COMP: return dims_of_comprehension(w, id, n, count);
  case HIA_AST_IF: return dims_of_if(w, n, count);
  case HIA_AST_MATCH: return dims_of_match(w, n, count);
  case HIA_AST_LOOP: return dims_of_loop(w, n, count);
  case HIA_AST_BLOCK: return dims_of_block(w, n);
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL: return dims_of_chain(w, id, n);
  case HIA_AST_LOGIC: dims_of(w, n->a); return visit_all(w, n, 2, 3);
  case HIA_AST_COMPARE: return dims_of_compare(w, n, count);
  case HIA_AST_NOT:
  case HIA_AST_NEG: return dims_of(w, n->a);
  case HIA_AST_CALL: return dims_of_call(w, id, n, count);
  case HIA_AST_CONVERT: return dims_of(w, w->p->extra.data[n->b]);
  case HIA_AST_INDEX: return dims_of_index(w, id, n);
  case HIA_AST_SLICE: return dims_of_slice(w, n);
  case HIA_AST_FIELD: return dims_of_field(w, n, count);
  default: return NULL;
  }
}

/* Visits an expression. Returns as many dims as its type has; never NULL. */
static const hia_dim *dims_of(hia_dim_walk *w, hia_ast_id id) {
  uint32_t count = n_dims_of(w, id);
  const hia_dim *dims = visit(w, id, hiaF_node(w->p, id), count);
  static const hia_dim none[1];
  w->values[id - w->first] = count ? dims : none;
  if (count == 0) return none;
  if (!w->is_last) return dims;
  hia_dim *kept = HIA_NEW_ARRAY(w->p->arena, hia_dim, count);
  for (uint32_t i = 0; i < count; i++)
    kept[i] = dims[i] == HIA_DIM_NONE_YET ? HIA_DIM_UNKNOWN : dims[i];
  hiaF_inst(w->p, w->inst)->dims[id - w->first] = kept;
  return dims;
}

/* ---- instances ---- */

static bool has_result(const hia_program *p, const hia_inst *inst) {
  return !inst->is_bottom && inst->want == HIA_IT_NONE &&
         hiaF_decl(p, inst->decl)->type == HIA_NONE;
}

/* Walks the body until the variables of its loops are stable. Returns its dims. */
static const hia_dim *walk_body(hia_dim_walk *w) {
  const hia_decl *d = hiaF_decl(w->p, hiaF_inst(w->p, w->inst)->decl);
  const hia_dim *dims;
  do {
    w->has_changed = false;
    dims = dims_of(w, d->body);
  } while (w->has_changed);
  return dims;
}

/* Walks over the body of an instance. Returns true if the dims of its result have changed. */
static bool do_instance(hia_program *p, uint32_t id, bool is_last) {
  hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  hia_mark mark = hiaR_arena_mark(&p->comp->scratch);
  size_t n_nodes = (size_t)(d->end_node - d->first_node) + 1;
  hia_dim_walk w = {.p = p,
                    .scratch = &p->comp->scratch,
                    .inst = id,
                    .first = d->first_node,
                    .types = inst->types,
                    .vars = HIA_NEW_ARRAY(&p->comp->scratch, const hia_dim *, n_nodes),
                    .values = HIA_NEW_ARRAY(&p->comp->scratch, const hia_dim *, n_nodes)};
  for (uint32_t i = 0; i < d->n_params; i++) {
    hia_ast_id param = p->extra.data[d->params + i], type = hiaF_node(p, param)->b;
    if (type != HIA_NONE) set_var(&w, param, hiaF_declared_dims(&w, own(&w), type, inst->args[i]));
  }
  const hia_dim *dims = walk_body(&w);
  bool has_changed = false;
  if (has_result(p, inst))
    has_changed = n_dims_of(&w, d->body) == hiaF_n_dims(&p->it, inst->result) &&
                  hiaF_join_dims(inst->result_dims, dims, hiaF_n_dims(&p->it, inst->result));
  if (is_last) {
    inst->dims = HIA_NEW_ARRAY(p->arena, const hia_dim *, n_nodes);
    w.is_last = true;
    walk_body(&w);
    if (d->type != HIA_NONE && n_dims_of(&w, d->body) == hiaF_n_dims(&p->it, inst->result))
      hiaF_expect_dims(&w, d->body, w.values[d->body - w.first], own(&w), d->type, inst->result);
  }
  hiaR_arena_release(&p->comp->scratch, mark);
  return has_changed;
}

static bool is_checked(const hia_inst *inst) { return !inst->failed && !inst->no_base; }

/* Sets the dims of a result before the body is walked: what is declared, or nothing yet. */
static void begin_result(hia_program *p, hia_inst *inst) {
  const hia_decl *d = hiaF_decl(p, inst->decl);
  uint32_t n = hiaF_n_dims(&p->it, inst->result);
  hia_dim_walk w = {.p = p, .scratch = p->arena};
  if (inst->is_bottom || inst->want != HIA_IT_NONE || d->type == HIA_NONE)
    inst->result_dims = hiaF_dims_of_all(&w, n, HIA_DIM_NONE_YET);
  else
    inst->result_dims = (hia_dim *)hiaF_declared_dims(
        &w, (hia_dim_types){inst->types, d->first_node}, d->type, inst->result);
}

void hiaF_dims(hia_program *p, const uint32_t *insts, uint32_t n) {
  hia_u32vec queue = {0};
  for (uint32_t i = 0; i < n; i++) {
    hia_inst *inst = hiaF_inst(p, insts[i]);
    if (inst->result_dims || !is_checked(inst)) continue;
    begin_result(p, inst);
    inst->queued = true;
    hiaR_push(p->arena, &queue, insts[i]);
  }
  uint32_t n_new = queue.len;
  for (uint32_t head = 0; head < queue.len; head++) {
    hia_inst *inst = hiaF_inst(p, queue.data[head]);
    inst->queued = false;
    if (!do_instance(p, queue.data[head], false)) continue;
    for (uint32_t i = 0; i < inst->callers.len; i++) {
      hia_inst *caller = hiaF_inst(p, inst->callers.data[i]);
      if (caller->queued || !caller->result_dims || caller->dims) continue;
      caller->queued = true;
      hiaR_push(p->arena, &queue, inst->callers.data[i]);
    }
  }
  for (uint32_t i = 0; i < n_new; i++) do_instance(p, queue.data[i], true);
}
