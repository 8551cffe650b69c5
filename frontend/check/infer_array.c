/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of arrays, and of tensors where they are written like arrays: in brackets, indexed, sliced,
 * and as arguments of `len`, `set` and `concat`. */
#include "frontend/check/infer.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

/* Infers an expression that must be an array or a tensor; settles it. UNKNOWN, or ERROR with a
 * report, if it is none. */
static hia_itype expect_array(hia_typing *t, hia_ast_id expr, const char *fmt) {
  hia_itype type = hiaF_settled(t, hiaF_infer(t, expr));
  if (hiaF_is_array(type) || type == HIA_IT_UNKNOWN) return type;
  if (hiaF_is_tensor(type) && hiaF_irank(type)) return type;
  if (hiaF_has_error(t, type)) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0322, n->start, n->end, fmt, hiaF_type_text(t, type));
  const char *text = hiaF_quote(t->p, expr);
  if (hiaF_is_tuple(type))
    hiaF_hint(t->p->diags, diag, "the parts of a tuple are %s.0, %s.1, and so on",
              text != NULL ? text : "t", text != NULL ? text : "t");
  else if (hiaF_is_data(type))
    hiaF_hint(t->p->diags, diag, "its fields are taken out by 'match'");
  return HIA_IT_ERROR;
}

/* Infers an index, or an end of a slice or a range, which is an i32 or i64. */
static hia_itype expect_index(hia_typing *t, hia_ast_id expr, const char *what, bool scalar) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_is_ranked(type) && (hiaF_irank(type) == 0 || !scalar) &&
      hiaF_rule_takes(HIA_RULE_INT, hiaF_leaf(type)))
    return type;
  if (hiaF_has_error(t, type)) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0323, n->start, n->end, "%s is an i32 or i64, not %s",
                                   what, hiaF_type_text(t, type));
  if (hiaF_is_dtype(type)) hiaF_hint_conversion(t, diag, hiaF_operand(t->p, expr), type, HIA_I64);
  return HIA_IT_ERROR;
}

/* The element of an array, or of a tensor along its first axis. */
static hia_itype element_of(const hia_typing *t, hia_itype type) {
  if (hiaF_is_array(type)) return hiaF_element(&t->p->it, type);
  if (!hiaF_is_tensor(type)) return type;
  return hiaF_ranked(hiaF_leaf(type), hiaF_irank(type) - 1, false);
}

/* The type of elements in a row: an array or, of scalars and tensors, a tensor. ERROR with a
 * report, if it has too many parts. */
static hia_itype array_of(hia_typing *t, hia_itype element, uint32_t start, uint32_t end) {
  if (hiaF_has_error(t, element)) return HIA_IT_ERROR;
  hia_itype type = hiaF_in_a_row(&t->p->it, element);
  if (type == HIA_IT_ERROR && hiaF_is_ranked(element)) {
    hiaF_type_error(t, HIA_E0316, start, end, "this is a tensor of more than %d axes",
                    HIA_MAX_RANK);
  } else if (type == HIA_IT_ERROR) {
    hia_diag *diag = hiaF_type_error(t, HIA_E0316, start, end,
                                     "the type of this has more than %u parts", HIA_MAX_TYPE_PARTS);
    hiaF_hint(t->p->diags, diag, "does the instantiation of a generic function end?");
  }
  return type;
}

hia_itype hiaF_infer_array(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, id);
  hia_itype type = HIA_IT_ERROR;
  hia_operand before = {.expr = HIA_NONE}; /* the last element of no literal type, or the first */
  for (uint32_t i = 0; i < n.c; i++) {
    hia_ast_id element = p->extra.data[n.b + i];
    hia_itype have = hiaF_infer(t, element);
    const hia_ast *e = hiaF_node(p, element);
    hia_operand operand = hiaF_operand(p, element);
    type = i == 0 ? have
                  : hiaF_join_exprs(t, before, type, operand, have, e->start, e->end, "an array");
    if (i == 0 || hiaF_is_final(&p->it, have)) before = operand;
  }
  return array_of(t, type, n.start, n.end);
}

hia_itype hiaF_infer_index(hia_typing *t, const hia_ast *n) {
  hia_itype base = expect_array(t, n->a, "%s cannot be indexed: it is no array");
  hia_itype index = expect_index(t, n->b, "an index", !hiaF_is_tensor(base));
  if (!hiaF_is_tensor(base) || index == HIA_IT_ERROR) return element_of(t, base);
  if (t->p->it.has_tensors && hiaF_has_open_rank(index)) return HIA_IT_UNKNOWN;
  uint32_t rank = hiaF_irank(base) - 1 + hiaF_irank(index);
  if (rank <= HIA_MAX_RANK) return hiaF_ranked(hiaF_leaf(base), rank, false);
  hiaF_type_error(t, HIA_E0316, n->start, n->end, "this is a tensor of more than %d axes",
                  HIA_MAX_RANK);
  return HIA_IT_ERROR;
}

hia_itype hiaF_infer_slice(hia_typing *t, const hia_ast *n) {
  hia_itype base = expect_array(t, n->a, "%s cannot be sliced: it is no array");
  expect_index(t, n->b, "the start of a slice", true);
  expect_index(t, n->c, "the end of a slice", true);
  return base;
}

hia_itype hiaF_infer_comprehension(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, id);
  hia_ast_id binder = p->extra.data[n.b], from = p->extra.data[n.b + 1];
  hia_itype type;
  if (n.c == 2) {
    type = expect_array(t, from, "'for' runs over an array or a range a..b, not over %s");
    type = element_of(t, type);
  } else {
    hia_ast_id to = p->extra.data[n.b + 2];
    hia_itype a = expect_index(t, from, "the start of a range", true);
    hia_itype b = expect_index(t, to, "the end of a range", true);
    const hia_ast *end = hiaF_node(p, to);
    type = hiaF_join_exprs(t, hiaF_operand(p, from), a, hiaF_operand(p, to), b, end->start,
                           end->end, "a range");
    type = hiaF_settled(t, type);
  }
  hiaF_infer_binder(t, binder, type);
  return array_of(t, hiaF_infer(t, n.a), n.start, n.end);
}

/* Infers an argument that must be an array, which may still have literal parts; UNKNOWN or bottom,
 * or ERROR with a report, if it is none. */
static hia_itype infer_array_argument(hia_typing *t, hia_ast_id arg, const char *what) {
  hia_itype have = hiaF_infer(t, arg);
  if (hiaF_has_error(t, have)) return HIA_IT_ERROR;
  if (hiaF_is_array(have) || (hiaF_is_undecided(have) && !hiaF_is_literal(have))) return have;
  if (hiaF_is_tensor(have) && (hiaF_irank(have) || hiaF_has_open_rank(have))) return have;
  const hia_ast *n = hiaF_node(t->p, arg);
  hiaF_type_error(t, HIA_E0322, n->start, n->end, "%s, not %s", what, hiaF_type_text(t, have));
  return HIA_IT_ERROR;
}

/* Joins a with [v] in `set(a, i, v)`: literals adapt on either side. */
static hia_itype infer_set(hia_typing *t, const hia_ast *n) {
  const hia_program *p = t->p;
  const uint32_t *args = p->extra.data + n->b;
  hia_ast_id array = args[0], index = args[1], value = args[2];
  hia_itype type = infer_array_argument(t, array, "'set' takes an array");
  expect_index(t, index, "an index", true);
  hia_itype have = hiaF_infer(t, value);
  const hia_ast v = *hiaF_node(p, value);
  if (type == HIA_IT_ERROR) return type;
  if (!hiaF_is_array(type) && !hiaF_is_tensor(type))
    return hiaF_join(&t->p->it, type, array_of(t, have, v.start, v.end));
  if (hiaF_is_tensor(type) && hiaF_has_open_rank(type) && hiaF_irank(type) == 0)
    return HIA_IT_UNKNOWN;
  hia_itype element = hiaF_is_array(type) ? hiaF_element(&p->it, type)
                                          : hiaF_ranked(hiaF_leaf(type), hiaF_irank(type) - 1,
                                                        hiaF_has_open_rank(type));
  element = hiaF_join_exprs(t, hiaF_operand(p, array), element, hiaF_operand(p, value), have,
                            v.start, v.end, "'set'");
  return array_of(t, element, v.start, v.end);
}

static hia_itype infer_concat(hia_typing *t, const hia_ast *n) {
  const hia_program *p = t->p;
  hia_itype type = HIA_IT_NONE;
  bool has_error = false;
  hia_operand before = {.expr = HIA_NONE};
  hia_ast_id axis;
  uint32_t n_args = hiaF_positional(p, n, &axis);
  for (uint32_t i = 0; i < n_args; i++) {
    hia_ast_id arg = hiaF_positional_arg(p, n, i);
    hia_itype have = infer_array_argument(t, arg, "'concat' takes arrays or tensors");
    const hia_ast *a = hiaF_node(p, arg);
    hia_operand operand = hiaF_operand(p, arg);
    if (have == HIA_IT_ERROR)
      has_error = true;
    else if (type == HIA_IT_NONE)
      type = have;
    else
      type = hiaF_join_exprs(t, before, type, operand, have, a->start, a->end, "'concat'");
    before = operand;
  }
  if (has_error || type == HIA_IT_ERROR) return HIA_IT_ERROR;
  if (hiaF_is_tensor(type)) return hiaF_concat_type(t, n, type);
  if (axis == HIA_NONE || !hiaF_is_array(type)) return type;
  hiaF_type_error(t, HIA_E0327, hiaF_node(p, axis)->start, hiaF_node(p, axis)->end,
                  "an array has no axes");
  return HIA_IT_ERROR;
}

hia_itype hiaF_infer_of_arrays(hia_typing *t, const hia_ast *n, const hia_ast *callee) {
  if (callee->b == HIA_BUILTIN_SET) return infer_set(t, n);
  if (callee->b == HIA_BUILTIN_CONCAT) return infer_concat(t, n);
  expect_array(t, t->p->extra.data[n->b], "'len' takes an array, not %s");
  return HIA_I64;
}
