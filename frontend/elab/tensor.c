/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs of tensors: what is written with brackets, `@` and the built-ins of infer_tensor.c. Each
 * is one node; sizes and indices become i64s. */
#include "frontend/check/constant.h"
#include "frontend/elab/elab.h"
#include "frontend/kit/pieces.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"
#include "runtime/base/loc.h"

/* Replaces the words from `base` on by what the op computes of them. `result`: as for
 * hiaG_computed. */
static void compute(hia_elab *e, unsigned op, uint32_t base, hia_dtype result, uint64_t imm,
                    hia_loc_id loc) {
  hia_value_id v = hiaG_computed(e->g, e->fn, e->region, op, e->words.data + base,
                                 e->words.len - base, result, imm, loc);
  e->words.len = base;
  hiaF_elab_push(e, v);
}

static hia_word one_of(hia_dtype dtype) {
  return dtype == HIA_F32 ? hiaR_from_f32(1) : dtype == HIA_F64 ? hiaR_from_f64(1) : 1;
}

void hiaF_elab_i64(hia_elab *e, hia_ast_id id) {
  uint32_t base = hiaF_elab(e, id, false);
  hia_itype type = hiaF_elab_itype(e, id);
  if (hiaF_leaf(type) == HIA_I64) return;
  compute(e, HIA_OP_CAST, base, HIA_I64, hiaF_leaf(type),
          hiaF_elab_loc(e, hiaF_node(e->p, id)->pos));
}

/* The location of an operation on the arguments of a built-in, without those that have names. */
static hia_loc_id loc_of_args(hia_elab *e, const hia_ast *call, uint32_t n_args) {
  hia_operand *operands = HIA_NEW_ARRAY(e->arena, hia_operand, (size_t)n_args + 1);
  for (uint32_t i = 0; i < n_args; i++)
    operands[i] = hiaF_operand(e->p, hiaF_positional_arg(e->p, call, i));
  return hiaF_elab_loc_of(e, hiaF_node(e->p, call->a)->start, operands, n_args);
}

/* Replaces the words from `base` on, which are constants, by a literal of them. Returns false if
 * they are not all constants. Rows of literals stay operands of a STACK, which pass fold joins:
 * each costs fuel of its own. */
static bool elab_literal(hia_elab *e, uint32_t base, hia_loc_id loc) {
  uint32_t n = e->words.len - base;
  const hia_value_id *words = e->words.data + base;
  hia_type type = hiaG_type(e->fn, words[0]);
  hia_dims shape = {.rank = 1, .dims = {n}};
  hia_word word;
  if (!hiaG_is_scalar(type)) return false;
  for (uint32_t i = 0; i < n; i++)
    if (!hiaG_is_const(e->fn, words[i], &word)) return false;
  uint32_t number = hiaG_literal_new(e->g, (hia_dtype)type, &shape);
  for (uint32_t i = 0; i < n; i++) {
    hiaG_is_const(e->fn, words[i], &word);
    hiaG_literal_put(&e->g->literals.data[number], i, word);
  }
  hia_type tensor = hiaG_ranked(e->g->types, (hia_dtype)type, 1);
  hia_node_id literal =
      hiaG_add(e->g, e->fn, e->region, HIA_OP_LITERAL, NULL, 0, &tensor, 1, number, loc);
  e->words.len = base;
  hiaR_push(e->arena, &e->words, hiaG_out(e->fn, literal, 0));
  return true;
}

void hiaF_elab_stack(hia_elab *e, uint32_t base, const hia_ast *n) {
  hia_operand few[HIA_LOC_MAX_OPERANDS];
  uint32_t n_few = n->c < HIA_LEN(few) ? n->c : (uint32_t)HIA_LEN(few);
  for (uint32_t i = 0; i < n_few; i++) few[i] = hiaF_operand(e->p, e->p->extra.data[n->b + i]);
  bool is_of_tensors = !hiaG_is_scalar(hiaG_type(e->fn, e->words.data[base]));
  hia_loc_id loc =
      is_of_tensors ? hiaF_elab_loc_of(e, n->pos, few, n_few) : hiaF_elab_loc(e, n->pos);
  if (!elab_literal(e, base, loc)) compute(e, HIA_OP_STACK, base, HIA_N_DTYPES, 0, loc);
}

void hiaF_elab_tensor_index(hia_elab *e, const hia_ast *n) {
  uint32_t base = hiaF_elab(e, n->a, false);
  bool gathers = hiaF_irank(hiaF_elab_itype(e, n->b)) > 0;
  if (gathers)
    hiaF_elab(e, n->b, false);
  else
    hiaF_elab_i64(e, n->b);
  compute(e, gathers ? HIA_OP_ROWS : HIA_OP_ROW, base, HIA_N_DTYPES, 0, hiaF_elab_loc(e, n->pos));
}

void hiaF_elab_tensor_slice(hia_elab *e, const hia_ast *n) {
  uint32_t base = hiaF_elab(e, n->a, false);
  hiaF_elab_i64(e, n->b);
  hiaF_elab_i64(e, n->c);
  compute(e, HIA_OP_PART, base, HIA_N_DTYPES, 0, hiaF_elab_loc(e, n->pos));
}

/* The op of a product whose operands are on top of the words. A right operand that was transposed
 * is read as it lies: if it is a param it is packed once, and its gradient is collected. */
static unsigned choose_product(hia_elab *e, uint32_t base) {
  hia_value_id *right = &e->words.data[base + 1];
  const hia_node *def = hiaG_def(e->fn, *right);
  hia_type left = hiaG_type(e->fn, e->words.data[base]);
  if (def->op != HIA_OP_TRANSPOSE || hiaG_rank(e->g->types, left) < 2) return HIA_OP_PRODUCT;
  *right = hiaG_in(e->fn, e->fn->values.data[*right].node, 0);
  return HIA_OP_PRODUCT_BT;
}

void hiaF_elab_matmul(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  uint32_t base = hiaF_elab(e, n->a, false);
  for (uint32_t i = 0; i < n->c; i += 3) {
    uint32_t pos = e->p->extra.data[n->b + i + 1];
    hia_ast_id right = e->p->extra.data[n->b + i + 2];
    hiaF_elab(e, right, false);
    hia_operand operands[2] = {hiaF_operands(e->p, id, i / 3 + 1, pos), hiaF_operand(e->p, right)};
    unsigned op = choose_product(e, base);
    compute(e, op, base, HIA_N_DTYPES, 0, hiaF_elab_loc_of(e, pos, operands, 2));
  }
}

/* Compares the element of iteration k of a comprehension with the first one, unless their shapes
 * are known. One would compare them when all are there. But an iteration behind the first that
 * differs may fail, or run forever. */
void hiaF_elab_alike(hia_elab *e, hia_value_id k, hia_value_id element, const hia_ast *n) {
  const hia_dim *dims = e->dims ? e->dims[n->a - e->first] : NULL;
  uint32_t rank = hiaF_irank(hiaF_elab_itype(e, n->a));
  bool is_known = true;
  for (uint32_t i = 0; i < rank; i++) is_known &= dims && dims[i] >= 0;
  if (is_known) return;
  hia_operand operand = hiaF_operand(e->p, n->a);
  hia_loc_id loc = hiaF_elab_loc_of(e, n->pos, (hia_operand[]){operand, operand}, 2);
  hia_value_id ins[2] = {k, element};
  hia_type i64 = HIA_I64;
  hiaG_add(e->g, e->fn, e->region, HIA_OP_ALIKE, ins, 2, &i64, 1, 0, loc);
}

/* Makes a tensor of the elements of a comprehension, an array on top of the words. If there are
 * no elements, their sizes that are not known are 0. */
void hiaF_elab_pack(hia_elab *e, uint32_t base, hia_ast_id id, const hia_ast *n) {
  const hia_dim *dims = e->dims ? e->dims[id - e->first] : NULL;
  uint32_t rank = hiaF_irank(hiaF_elab_itype(e, id));
  hia_operand element = hiaF_operand(e->p, n->a); /* the first one, and the one that differs */
  hia_loc_id loc = rank > 1 ? hiaF_elab_loc_of(e, n->pos, (hia_operand[]){element, element}, 2)
                            : hiaF_elab_loc(e, n->pos);
  for (uint32_t i = 1; i < rank; i++)
    hiaF_elab_constant(e, HIA_I64, hiaR_from_i64(dims && dims[i] >= 0 ? dims[i] : 0), loc);
  compute(e, HIA_OP_PACK, base, HIA_N_DTYPES, 0, loc);
}

/* Makes len, set and concat where their first argument is a tensor. */
void hiaF_elab_of_tensor(hia_elab *e, const hia_ast *n, unsigned builtin) {
  const hia_ast *callee = hiaF_node(e->p, n->a);
  hia_loc_id loc = hiaF_elab_loc(e, callee->start);
  hia_ast_id axis, first = hiaF_positional_arg(e->p, n, 0);
  uint32_t base = e->words.len, n_args = hiaF_positional(e->p, n, &axis);
  for (uint32_t i = 0; i < n_args; i++) {
    hia_ast_id arg = hiaF_positional_arg(e->p, n, i);
    if (builtin == HIA_BUILTIN_SET && i == 1)
      hiaF_elab_i64(e, arg);
    else
      hiaF_elab(e, arg, false);
  }
  if (builtin == HIA_BUILTIN_LEN) {
    compute(e, HIA_OP_DIM, base, HIA_N_DTYPES, 0, loc);
    return;
  }
  if (builtin == HIA_BUILTIN_SET) {
    hia_operand operands[2] = {hiaF_operand(e->p, first),
                               hiaF_operand(e->p, hiaF_positional_arg(e->p, n, 2))};
    compute(e, HIA_OP_WITH, base, HIA_N_DTYPES, 0, hiaF_elab_loc_of(e, callee->start, operands, 2));
    return;
  }
  loc = loc_of_args(e, n, n_args);
  compute(e, HIA_OP_CAT, base, HIA_N_DTYPES,
          hiaF_axis(e->p, n, builtin, hiaF_irank(hiaF_elab_itype(e, first))), loc);
}

/* Makes the reduction of a scalar, which is its only element. */
static void reduce_scalar(hia_elab *e, unsigned op, uint32_t base, hia_loc_id loc) {
  if (op != HIA_OP_ARG_MAX && op != HIA_OP_ARG_MIN) return;
  e->words.len = base;
  hiaF_elab_constant(e, HIA_I64, 0, loc);
}

void hiaF_elab_tensor(hia_elab *e, hia_ast_id id, const hia_ast *n) {
  const hia_ast *callee = hiaF_node(e->p, n->a);
  const hia_tensor_builtin *b = hiaF_tensor_builtin(callee->b);
  hia_loc_id loc = hiaF_elab_loc(e, callee->start);
  hia_dtype dtype = (hia_dtype)hiaF_leaf(hiaF_elab_itype(e, id));
  hia_ast_id axis;
  uint32_t base = e->words.len, n_args = hiaF_positional(e->p, n, &axis), n_data = 1;
  switch (callee->b) {
  case HIA_BUILTIN_ZEROS:
    hiaF_elab_constant(e, dtype, 0, loc);
    n_data = 0;
    break;
  case HIA_BUILTIN_ONES:
    hiaF_elab_constant(e, dtype, one_of(dtype), loc);
    n_data = 0;
    break;
  case HIA_BUILTIN_IOTA:
  case HIA_BUILTIN_ONE_HOT: n_data = 0; break;
  case HIA_BUILTIN_SHAPE: n_args = 1; break;
  case HIA_BUILTIN_STACK:
  case HIA_BUILTIN_OUTER:
  case HIA_BUILTIN_CROSS_ENTROPY: n_data = n_args; break;
  default: break;
  }
  for (uint32_t i = 0; i < n_args; i++) {
    hia_ast_id arg = hiaF_positional_arg(e->p, n, i);
    if (i < n_data)
      hiaF_elab(e, arg, false);
    else
      hiaF_elab_i64(e, arg);
  }
  if (callee->b == HIA_BUILTIN_STACK || callee->b == HIA_BUILTIN_CROSS_ENTROPY)
    loc = loc_of_args(e, n, n_args);
  if (callee->b == HIA_BUILTIN_RESHAPE) { /* the second shape is all of the sizes */
    hia_operand operands[2] = {hiaF_operand(e->p, hiaF_positional_arg(e->p, n, 0)),
                               hiaF_operand(e->p, hiaF_positional_arg(e->p, n, 1))};
    operands[1].end = hiaF_node(e->p, hiaF_positional_arg(e->p, n, n_args - 1))->end;
    loc = hiaF_elab_loc_of(e, callee->start, operands, 2);
  }
  uint64_t imm = b->takes_axis ? hiaF_axis(e->p, n, callee->b, 0) : 0;
  uint32_t rank = n_args ? hiaF_irank(hiaF_elab_itype(e, hiaF_positional_arg(e->p, n, 0))) : 0;
  if (callee->b == HIA_BUILTIN_RESHAPE && rank == 0) { /* a scalar is the element of a vector */
    hia_value_id x = e->words.data[base];
    e->words.data[base] =
        hiaG_computed(e->g, e->fn, e->region, HIA_OP_STACK, &x, 1, HIA_N_DTYPES, 0, loc);
  }
  if (imm == HIA_NONE && rank == 0)
    reduce_scalar(e, b->op, base, loc);
  else
    compute(e, b->op, base, dtype, imm, loc);
}
