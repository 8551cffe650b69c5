/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of tensors: built-in functions that make, shape, reduce and multiply them, and `@`. Ranks
 * follow from the table of ops (hiaR_op_rank); sizes are no part of types. */
#include "frontend/check/constant.h"
#include "frontend/check/infer.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

/* ---- axes ---- */

/* Reports an axis that is no constant, or that a tensor does not have. */
static hia_itype bad_axis(hia_typing *t, const hia_ast *call, unsigned builtin, uint64_t axis,
                          hia_itype type) {
  hia_ast_id named;
  uint32_t n = hiaF_positional(t->p, call, &named);
  if (builtin == HIA_BUILTIN_SHAPE && n == 2) named = hiaF_positional_arg(t->p, call, 1);
  const hia_ast *at = named == HIA_NONE ? call : hiaF_node(t->p, named);
  if (axis == HIA_BAD_AXIS)
    hiaF_type_error(t, HIA_E0327, at->start, at->end, "an axis is a constant integer from 0 to %d",
                    HIA_MAX_RANK - 1);
  else
    hiaF_type_error(t, HIA_E0327, at->start, at->end, "there is no axis %u: this is %s",
                    (unsigned)axis, hiaF_type_text(t, type));
  return HIA_IT_ERROR;
}

/* ---- operands ---- */

/* Infers an operand that must be a tensor or a scalar of the rule's dtypes; ERROR, with a report,
 * if it is none. */
static hia_itype expect_ranked(hia_typing *t, hia_ast_id expr, const char *what, hia_rule rule) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_has_error(t, type)) return HIA_IT_ERROR;
  if (hiaF_is_ranked(type) && hiaF_rule_takes(rule, hiaF_leaf(type))) return type;
  const hia_ast *n = hiaF_node(t->p, expr);
  const char *wants = rule == HIA_RULE_FLOAT || rule == HIA_RULE_LABELS ? "tensors of floats"
                      : rule == HIA_RULE_LOGIC                          ? "tensors of bool"
                      : rule == HIA_RULE_INT                            ? "integers"
                      : rule == HIA_RULE_ANY || rule == HIA_RULE_SIZE   ? "tensors"
                                                                        : "tensors of numbers";
  hiaF_type_error(t, HIA_E0305, n->start, n->end, "%s takes %s, not %s", what, wants,
                  hiaF_type_text(t, type));
  return HIA_IT_ERROR;
}

/* The result's rank: HIA_NONE, with a report, if the op does not take operands of these types. */
static uint32_t rank_of(hia_typing *t, const hia_ast *at, const char *what, unsigned op,
                        uint64_t imm, const hia_itype *types, uint32_t n) {
  uint32_t ranks[3] = {0}, rest = HIA_NONE;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t r = hiaF_irank(types[i]);
    if (i < HIA_LEN(ranks))
      ranks[i] = r;
    else if (i == HIA_LEN(ranks) || rest == r)
      rest = r;
    else
      rest = HIA_NONE;
  }
  uint32_t rank = hiaR_op_rank(op, imm, n, ranks, rest);
  if (rank != HIA_NONE) return rank;
  hia_text text;
  hiaR_text_init(&text, t->p->arena);
  for (uint32_t i = 0; i < n && i < HIA_LEN(ranks); i++) {
    hiaR_text_addf(&text, i ? " and " : "");
    hiaF_itype_print(&t->p->it, types[i], &text);
  }
  hiaF_type_error(t, HIA_E0326, at->start, at->end, "%s does not take %s", what,
                  text.len ? text.data : "this");
  return HIA_NONE;
}

/* ---- `@` ---- */

hia_itype hiaF_infer_matmul(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, id);
  hia_itype type = expect_ranked(t, n.a, "'@'", HIA_RULE_NUM);
  for (uint32_t i = 0; i < n.c; i += 3) {
    uint32_t pos = p->extra.data[n.b + i + 1];
    hia_ast_id right = p->extra.data[n.b + i + 2];
    hia_itype right_type = expect_ranked(t, right, "'@'", HIA_RULE_NUM);
    if (type == HIA_IT_ERROR || right_type == HIA_IT_ERROR) {
      type = HIA_IT_ERROR;
      continue;
    }
    hia_itype leaf =
        hiaF_join_exprs(t, hiaF_operands(p, id, i / 3 + 1, pos), hiaF_leaf(type),
                        hiaF_operand(p, right), hiaF_leaf(right_type), pos, pos + 1, "'@'");
    if (leaf == HIA_IT_ERROR) {
      type = leaf;
      continue;
    }
    if (hiaF_has_open_rank(type) || hiaF_has_open_rank(right_type)) {
      type = HIA_IT_UNKNOWN;
      continue;
    }
    const hia_ast at = {.start = pos, .end = pos + 1};
    uint32_t rank = rank_of(t, &at, "'@'", HIA_OP_PRODUCT, 0, (hia_itype[]){type, right_type}, 2);
    type = rank == HIA_NONE ? (hia_itype)HIA_IT_ERROR : hiaF_ranked(leaf, rank, false);
  }
  return type;
}

/* ---- built-ins ---- */

/* Infers a size or an index, which is a scalar integer. Returns false, with a report, if it is
 * none. */
static bool expect_size(hia_typing *t, hia_ast_id expr, const char *what) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_has_error(t, type)) return false;
  bool is_scalar = hiaF_is_ranked(type) && hiaF_irank(type) == 0;
  if (is_scalar && hiaF_rule_takes(HIA_RULE_INT, hiaF_leaf(type))) return true;
  const hia_ast *n = hiaF_node(t->p, expr);
  hiaF_type_error(t, HIA_E0323, n->start, n->end, "%s is an i32 or i64, not %s", what,
                  hiaF_type_text(t, type));
  return false;
}

static const char *name_of(hia_typing *t, const hia_ast *callee) {
  if (!t->report) return "";
  return hiaR_arena_printf(t->p->arena, "'%s'", hiaF_symbol_text(t->p, callee->a));
}

/* Joins the operands of a `stack`, which have one rank; that of one may be unknown. */
static hia_itype infer_joined(hia_typing *t, const hia_ast *n, const hia_ast *callee,
                              uint32_t n_args, hia_itype type) {
  const char *what = name_of(t, callee);
  hia_operand before = {.expr = HIA_NONE};
  for (uint32_t i = 0; i < n_args; i++) {
    hia_ast_id arg = hiaF_positional_arg(t->p, n, i);
    hia_itype have = expect_ranked(t, arg, what, HIA_RULE_ANY);
    const hia_ast *a = hiaF_node(t->p, arg);
    hia_operand operand = hiaF_operand(t->p, arg);
    if (have == HIA_IT_ERROR || type == HIA_IT_ERROR)
      type = HIA_IT_ERROR;
    else
      type = i ? hiaF_join_exprs(t, before, type, operand, have, a->start, a->end, what) : have;
    before = operand;
  }
  return type;
}

static hia_itype infer_sized(hia_typing *t, const hia_ast *n, uint32_t first, uint32_t n_args,
                             hia_itype leaf) {
  bool is_right = true;
  for (uint32_t i = first; i < n_args; i++)
    is_right &= expect_size(t, hiaF_positional_arg(t->p, n, i), "a size");
  return is_right ? hiaF_ranked(leaf, n_args - first, false) : (hia_itype)HIA_IT_ERROR;
}

static hia_itype infer_full(hia_typing *t, const hia_ast *n, const hia_ast *callee,
                            uint32_t n_args) {
  hia_ast_id value = hiaF_positional_arg(t->p, n, 0);
  hia_itype leaf = expect_ranked(t, value, name_of(t, callee), HIA_RULE_ANY);
  hia_itype type = infer_sized(t, n, 1, n_args, HIA_F32);
  if (leaf == HIA_IT_ERROR || type == HIA_IT_ERROR) return HIA_IT_ERROR;
  if (leaf == HIA_IT_UNKNOWN) return leaf;
  if (hiaF_irank(leaf)) {
    const hia_ast *v = hiaF_node(t->p, value);
    hiaF_type_error(t, HIA_E0326, v->start, v->end, "'full' takes a scalar, not %s",
                    hiaF_type_text(t, leaf));
    return HIA_IT_ERROR;
  }
  return hiaF_ranked(hiaF_leaf(leaf), n_args - 1, false);
}

static bool is_reduction(unsigned op) { return hiaR_ops[op].shape == HIA_SHAPE_REDUCE; }

hia_itype hiaF_infer_tensor(hia_typing *t, const hia_ast *n, const hia_ast *callee) {
  const unsigned builtin = callee->b;
  const hia_tensor_builtin *b = hiaF_tensor_builtin(builtin);
  hia_rule rule = b ? (hia_rule)hiaR_ops[b->op].rule : HIA_RULE_ANY;
  const char *what = name_of(t, callee);
  hia_ast_id named;
  uint32_t n_args = hiaF_positional(t->p, n, &named);
  hia_itype types[2] = {0};
  switch (builtin) {
  case HIA_BUILTIN_ZEROS:
  case HIA_BUILTIN_ONES: return infer_sized(t, n, 0, n_args, HIA_IT_FLOAT);
  case HIA_BUILTIN_FULL: return infer_full(t, n, callee, n_args);
  case HIA_BUILTIN_IOTA: return infer_sized(t, n, 0, 1, HIA_I64);
  case HIA_BUILTIN_ONE_HOT:
    if (!expect_size(t, hiaF_positional_arg(t->p, n, 0), "an index")) types[0] = HIA_IT_ERROR;
    types[1] = infer_sized(t, n, 1, 2, HIA_IT_FLOAT);
    return types[0] == HIA_IT_ERROR ? types[0] : types[1];
  case HIA_BUILTIN_STACK: types[0] = infer_joined(t, n, callee, n_args, HIA_IT_NONE); break;
  case HIA_BUILTIN_RESHAPE:
    types[0] = expect_ranked(t, hiaF_positional_arg(t->p, n, 0), what, HIA_RULE_ANY);
    types[1] = infer_sized(t, n, 1, n_args, HIA_F32);
    if (types[0] == HIA_IT_ERROR || types[1] == HIA_IT_ERROR) return HIA_IT_ERROR;
    return hiaF_ranked(hiaF_leaf(types[0]), n_args - 1, false);
  default:
    types[0] = expect_ranked(t, hiaF_positional_arg(t->p, n, 0), what, rule);
    if (b->most == 2 && builtin != HIA_BUILTIN_SHAPE)
      types[1] = expect_ranked(t, hiaF_positional_arg(t->p, n, 1), what,
                               builtin == HIA_BUILTIN_CROSS_ENTROPY ? HIA_RULE_INT : rule);
  }
  if (types[0] == HIA_IT_ERROR || types[1] == HIA_IT_ERROR) return HIA_IT_ERROR;
  uint64_t axis = hiaF_axis(t->p, n, builtin, 0);
  if (axis == HIA_BAD_AXIS) return bad_axis(t, n, builtin, axis, types[0]);
  hia_itype leaf = hiaF_leaf(types[0]);
  if (rule == HIA_RULE_FLOAT || rule == HIA_RULE_LABELS)
    leaf = hiaF_join(&t->p->it, HIA_IT_FLOAT, leaf);
  if (rule == HIA_RULE_SIZE || rule == HIA_RULE_POSITION) leaf = HIA_I64;
  if (rule == HIA_RULE_LOGIC) leaf = HIA_BOOL;
  if (builtin == HIA_BUILTIN_OUTER)
    leaf = hiaF_join_exprs(t, hiaF_operand(t->p, hiaF_positional_arg(t->p, n, 0)), leaf,
                           hiaF_operand(t->p, hiaF_positional_arg(t->p, n, 1)), hiaF_leaf(types[1]),
                           n->start, n->end, what);
  if (leaf == HIA_IT_ERROR) return leaf;
  bool is_whole = is_reduction(b->op) && axis == HIA_NONE;
  if (is_whole && types[0] != HIA_IT_UNKNOWN) return leaf; /* of a scalar too */
  if (hiaF_has_open_rank(types[0]) || hiaF_has_open_rank(types[1]))
    return leaf < HIA_N_DTYPES && (is_whole || rule == HIA_RULE_SIZE) ? leaf
                                                                      : (hia_itype)HIA_IT_UNKNOWN;
  uint32_t most = hiaF_irank(types[0]) + (builtin == HIA_BUILTIN_STACK);
  if (b->takes_axis && axis >= most) return bad_axis(t, n, builtin, axis, types[0]);
  bool is_many = builtin == HIA_BUILTIN_STACK;
  uint32_t n_types = is_many ? 1 : builtin == HIA_BUILTIN_SHAPE ? 1 : n_args;
  uint32_t rank = rank_of(t, n, what, b->op, b->takes_axis ? axis : 0, types, n_types);
  return rank == HIA_NONE ? (hia_itype)HIA_IT_ERROR : hiaF_ranked(leaf, rank, false);
}

/* concat of tensors, of the join of its arguments. */
hia_itype hiaF_concat_type(hia_typing *t, const hia_ast *n, hia_itype type) {
  uint64_t axis = hiaF_axis(t->p, n, HIA_BUILTIN_CONCAT, hiaF_irank(type));
  if (axis == HIA_BAD_AXIS) return bad_axis(t, n, HIA_BUILTIN_CONCAT, axis, type);
  if (hiaF_has_open_rank(type)) return HIA_IT_UNKNOWN;
  if (hiaF_irank(type) == 0) {
    hiaF_type_error(t, HIA_E0326, n->start, n->end, "'concat' does not take %s: 'stack' does",
                    hiaF_type_text(t, type));
    return HIA_IT_ERROR;
  }
  return axis < hiaF_irank(type) ? type : bad_axis(t, n, HIA_BUILTIN_CONCAT, axis, type);
}
