/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typings: which operands a rule takes, how the types of operands join, and the errors where they
 * do not, with the hints that mend them. */
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

bool hiaF_rule_takes(hia_rule rule, hia_itype type) {
  if (hiaF_is_dtype(type)) return hiaR_rule_takes(rule, (hia_dtype)type);
  if (!hiaF_is_literal(type)) return hiaF_is_undecided(type);
  bool hiaF_is_float = type == HIA_IT_FLOAT || type == HIA_IT_FLOAT_U;
  if (hiaF_is_whole(type)) return hiaR_rule_takes(rule, HIA_I64);
  return (!hiaF_is_float && hiaR_rule_takes(rule, HIA_I64)) || hiaR_rule_takes(rule, HIA_F64);
}

void hiaF_each_size(hia_typing *t, hia_ast_id type, hia_visit_size *visit) {
  if (type == HIA_NONE) return;
  const hia_ast n = *hiaF_node(t->p, type);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TENSOR && i < n.c; i++)
    visit(t, t->p->extra.data[n.b + i]);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    hiaF_each_size(t, t->p->extra.data[n.b + i], visit);
  if (n.kind == HIA_AST_TYPE_ARRAY) hiaF_each_size(t, n.a, visit);
}

/* ---- errors ---- */

hia_diag *hiaF_type_error(hia_typing *t, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) {
  t->failed = true;
  t->n_errors++;
  if (!t->report && t->fault == NULL) return NULL;
  va_list args;
  va_start(args, fmt);
  hia_text text;
  hiaR_text_init(&text, t->p->arena);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  if (t->fault == NULL) return hiaF_error(t->p->diags, code, start, end, "%s", text.data);
  if (t->fault->message == NULL) *t->fault = (hia_fault){code, start, end, text.data};
  return NULL;
}

/* ---- hints ---- */

static const char *loss(hia_itype from, hia_itype to) {
  if (from >= HIA_F32 && from <= HIA_F64 && to < HIA_F32) return ", which drops the fraction";
  if (from == HIA_I64 && to == HIA_I32) return ", which wraps if it does not fit";
  if (from == HIA_F64 && to == HIA_F32) return ", which rounds";
  bool is_wide = (from == HIA_I32 && to == HIA_F32) || (from == HIA_I64 && to >= HIA_F32);
  if (is_wide) return ", which rounds large numbers";
  return "";
}

void hiaF_hint_conversion(hia_typing *t, hia_diag *diag, hia_operand operand, hia_itype from,
                          hia_itype to) {
  hia_program *p = t->p;
  if (diag == NULL || to >= HIA_N_DTYPES) return;
  const char *dtype = hiaG_dtype_name((hia_dtype)to);
  const char *text = hiaF_quote_bytes(p, operand.start, operand.end);
  hiaF_hint(p->diags, diag, "write %s(%s)%s", dtype, text != NULL ? text : "...", loss(from, to));
  if (text != NULL)
    hiaF_fix(p->diags, diag, HIA_EDIT_CONVERSION, operand.start, operand.end, "%s(%s)", dtype,
             text);
  if (t->inst == HIA_NONE) return;
  hia_advice a = {diag->line, diag->col, diag->code, operand, from, to, HIA_NONE, HIA_IT_NONE};
  hiaR_push(p->arena, &t->advice, a);
}

void hiaF_hint_variable(hia_typing *t, hia_diag *diag, hia_operand operand, hia_itype from,
                        hia_itype to, hia_ast_id variable) {
  if (diag == NULL || t->inst == HIA_NONE) return;
  if (operand.expr != HIA_NONE) hiaF_hint_conversion(t, diag, operand, from, to);
  hia_advice a = {diag->line, diag->col, diag->code, operand,
                  from,       to,        variable,   hiaF_settle(&t->p->it, from, HIA_FORCE_ALL)};
  hiaR_push(t->p->arena, &t->advice, a);
}

/* ---- joins of operands ---- */

/* Hints to convert the narrower of two operands. For literals, whose type is open, the conversion
 * is to f64 or i32. */
static void hint_mixed(hia_typing *t, hia_diag *diag, hia_operand left, hia_itype a,
                       hia_operand right, hia_itype b) {
  if (!hiaF_is_ranked(a) || !hiaF_is_ranked(b)) return;
  if (hiaF_irank(a) && hiaF_irank(b) && hiaF_irank(a) != hiaF_irank(b)) return;
  a = hiaF_leaf(a), b = hiaF_leaf(b);
  if (hiaF_join(&t->p->it, a, b) != HIA_IT_ERROR) return; /* it is the ranks that differ */
  if (a == HIA_IT_FLOAT || a == HIA_IT_FLOAT_U) a = HIA_F64;
  if (b == HIA_IT_FLOAT || b == HIA_IT_FLOAT_U) b = HIA_F64;
  if (hiaF_is_literal(a)) a = HIA_I32;
  if (hiaF_is_literal(b)) b = HIA_I32;
  if (!hiaF_is_dtype(a) || !hiaF_is_dtype(b) || a == b) return;
  if (a > b)
    hiaF_hint_conversion(t, diag, right, b, a);
  else
    hiaF_hint_conversion(t, diag, left, a, b);
}

static hia_itype combine(hia_typing *t, hia_itype join, hia_operand left, hia_itype left_type,
                         hia_operand right, hia_itype right_type, uint32_t start, uint32_t end,
                         const char *what) {
  hia_itypes *it = &t->p->it;
  if (join != HIA_IT_ERROR) return join;
  if ((hiaF_itype_has(it, left_type) | hiaF_itype_has(it, right_type)) & HIA_HAS_ERROR) return join;
  hia_diag *diag = hiaF_type_error(t, HIA_E0301, start, end, "%s mixes %s and %s", what,
                                   hiaF_type_text(t, left_type), hiaF_type_text(t, right_type));
  if (diag != NULL) hint_mixed(t, diag, left, left_type, right, right_type);
  return join;
}

hia_itype hiaF_join_exprs(hia_typing *t, hia_operand left, hia_itype left_type, hia_operand right,
                          hia_itype right_type, uint32_t start, uint32_t end, const char *what) {
  hia_itype join = hiaF_join(&t->p->it, left_type, right_type);
  return combine(t, join, left, left_type, right, right_type, start, end, what);
}

hia_itype hiaF_broadcast_exprs(hia_typing *t, hia_operand left, hia_itype left_type,
                               hia_operand right, hia_itype right_type, uint32_t start,
                               uint32_t end, const char *what) {
  hia_itype join = hiaF_broadcast(&t->p->it, left_type, right_type);
  return combine(t, join, left, left_type, right, right_type, start, end, what);
}

void hiaF_accept_type(hia_typing *t, hia_ast_id expr, hia_itype have, hia_itype want,
                      const char *what) {
  hia_itypes *it = &t->p->it;
  if ((hiaF_itype_has(it, have) | hiaF_itype_has(it, want)) & HIA_HAS_ERROR) return;
  if (hiaF_join(it, have, want) == want) return;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0302, n->start, n->end, "%s is %s, but this is %s", what,
                                   hiaF_type_text(t, want), hiaF_type_text(t, have));
  if (!hiaF_is_of_one_rank(have, want)) return;
  have = hiaF_hint_from(hiaF_leaf(have)), want = hiaF_leaf(want);
  if (hiaF_is_dtype(have)) hiaF_hint_conversion(t, diag, hiaF_operand(t->p, expr), have, want);
}
