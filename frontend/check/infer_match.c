/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of `match` and of its patterns. */
#include "frontend/check/cover.h"
#include "frontend/check/infer.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

static void wrong_pattern(hia_typing *t, const hia_ast *n, hia_itype subject) {
  const hia_itypes *it = &t->p->it;
  const char *what = n->kind == HIA_AST_PAT_BOOL ? "bool"
                     : n->kind == HIA_AST_PAT_CON
                         ? hiaF_itype_text(it, hiaF_pattern_con(t->p, n)->data)
                     : n->op != HIA_NO_SUFFIX ? hiaG_dtype_name((hia_dtype)n->op)
                                              : "integers";
  uint32_t end = n->kind == HIA_AST_PAT_CON
                     ? n->start + (uint32_t)strlen(hiaF_symbol_text(t->p, n->a))
                     : n->end;
  hia_diag *diag =
      hiaF_type_error(t, HIA_E0309, n->pos, end, "a pattern for %s, but the subject is %s", what,
                      hiaF_itype_text(it, subject));
  if (subject == HIA_F32 || subject == HIA_F64)
    hiaF_hint(t->p->diags, diag, "floats are compared with 'if', not matched");
  else if (hiaF_is_tuple(subject))
    hiaF_hint(t->p->diags, diag, "give it a name, and take it apart: let (a, b) = ...;");
}

static void check_pattern(hia_typing *t, hia_ast_id id, hia_itype subject);

/* Checks the pattern of a constructor, which says what its fields are even where the subject is
 * not known. */
static void check_con(hia_typing *t, hia_ast_id id, hia_itype subject) {
  const hia_ast *n = hiaF_node(t->p, id);
  const hia_decl *d = hiaF_pattern_con(t->p, n); /* with as many fields: names.c */
  if (d->data != subject && !hiaF_is_undecided(subject) && d->data != HIA_IT_ERROR)
    wrong_pattern(t, n, subject);
  for (uint32_t i = 0; i < n->c; i++)
    check_pattern(t, t->p->extra.data[n->b + i], d->param_types[i]);
}

/* Puts the type of what a pattern matches into the slots of its nodes. */
static void check_pattern(hia_typing *t, hia_ast_id id, hia_itype subject) {
  const hia_ast *n = hiaF_node(t->p, id);
  bool is_int = subject == HIA_I32 || subject == HIA_I64;
  *hiaF_type_at(t, id) = subject;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_PAT_CON: check_con(t, id, subject); break;
  case HIA_AST_PAT_BOOL:
    if (subject != HIA_BOOL && !hiaF_is_undecided(subject)) wrong_pattern(t, n, subject);
    break;
  case HIA_AST_PAT_INT: {
    hia_word word;
    if (hiaF_is_undecided(subject)) break;
    if (!is_int || (n->op != HIA_NO_SUFFIX && n->op != subject))
      wrong_pattern(t, n, subject);
    else if (hiaF_number(t->p, n, (n->flags & HIA_AST_NEGATIVE) != 0, (hia_dtype)subject, &word) !=
             HIA_NUMBER_OK)
      hiaF_type_error(t, HIA_E0312, n->pos, n->end, "this does not fit %s",
                      hiaG_dtype_name((hia_dtype)subject));
    break;
  }
  default: break;
  }
}

hia_itype hiaF_infer_match(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, id);
  hia_itype subject = hiaF_settled(t, hiaF_infer(t, n.a));
  if (hiaF_is_tuple(subject) || hiaF_is_array(subject) || hiaF_is_tensor(subject) ||
      subject == HIA_F32 || subject == HIA_F64) {
    const hia_ast *s = hiaF_node(p, n.a);
    if (!(hiaF_itype_has(&p->it, subject) & HIA_HAS_ERROR)) {
      hia_diag *diag = hiaF_type_error(t, HIA_E0308, s->start, s->end,
                                       "'match' works on data, integers and bool, not %s",
                                       hiaF_itype_text(&p->it, subject));
      hiaF_hint(p->diags, diag,
                hiaF_is_tuple(subject)   ? "take it apart: let (a, b) = ...;"
                : hiaF_is_array(subject) ? "compare its length with 'if', and index it"
                                         : "compare with 'if'");
    }
    subject = HIA_IT_ERROR;
  }
  uint32_t n_errors = t->n_errors;
  for (uint32_t i = 0; i < n.c; i += 2) check_pattern(t, p->extra.data[n.b + i], subject);
  bool is_clear = t->n_errors == n_errors && (subject < HIA_N_DTYPES || hiaF_is_data(subject));
  hia_itype type = HIA_IT_ERROR;
  hia_operand before = {.expr = HIA_NONE}; /* the last arm of no literal type, or the first */
  for (uint32_t i = 0; i < n.c; i += 2) {
    hia_ast_id arm = p->extra.data[n.b + i + 1];
    hia_itype have = hiaF_infer(t, arm);
    const hia_ast *a = hiaF_node(p, arm);
    hia_operand operand = hiaF_operand(p, arm);
    type = i == 0 ? have
                  : hiaF_join_exprs(t, before, type, operand, have, a->start, a->end, "'match'");
    if (i == 0 || hiaF_is_final(&p->it, have)) before = operand;
  }
  if (t->report && is_clear) hiaF_cover(t, id, subject);
  return type;
}
