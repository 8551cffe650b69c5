/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of `match`; checks that its arms cover every case and that each can be reached. */
#include "frontend/ast.h"

#include <stdlib.h>

static void wrong_pattern(hia_typing *t, const hia_ast *pattern, hia_itype subject) {
  hiaF_type_error(t, HIA_E0309, pattern->pos, pattern->end,
                  "a pattern for %s, but the subject is %s",
                  pattern->kind == HIA_AST_PAT_BOOL ? "bool"
                  : pattern->op != HIA_NO_SUFFIX    ? hiaG_dtype_name((hia_dtype)pattern->op)
                                                    : "integers",
                  hiaF_itype_text(&t->p->it, subject));
}

static void check_pattern(hia_typing *t, hia_ast_id id, hia_itype subject) {
  const hia_ast *n = hiaF_node(t->p, id);
  bool is_int = subject == HIA_I32 || subject == HIA_I64;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_PAT_NAME: *hiaF_type_at(t, id) = subject; break;
  case HIA_AST_PAT_BOOL:
    if (is_int) wrong_pattern(t, n, subject);
    break;
  case HIA_AST_PAT_INT: {
    hia_word word;
    if (subject == HIA_BOOL || (is_int && n->op != HIA_NO_SUFFIX && n->op != subject))
      wrong_pattern(t, n, subject);
    else if (is_int && hiaF_number(t->p, n, (n->flags & HIA_AST_NEGATIVE) != 0, (hia_dtype)subject,
                                   &word) != HIA_NUMBER_OK)
      hiaF_type_error(t, HIA_E0312, n->pos, n->end, "this does not fit %s",
                      hiaG_dtype_name((hia_dtype)subject));
    break;
  }
  default: break;
  }
}

/* ---- coverage ---- */

typedef struct arm_value {
  int64_t value;
  uint32_t arm;
} arm_value;

static int by_value(const void *a, const void *b) {
  const arm_value *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return x->arm < y->arm ? -1 : x->arm > y->arm;
}

static void unreachable(hia_typing *t, hia_ast_id pattern, hia_ast_id first) {
  const hia_ast *n = hiaF_node(t->p, pattern);
  hia_diag *diag = hiaF_type_error(t, HIA_E0311, n->pos, n->end, "this arm cannot be reached");
  hiaF_note(t->p->diags, diag, hiaF_node(t->p, first)->pos, "this one comes first");
}

static void check_duplicates(hia_typing *t, const hia_ast *n, arm_value *values, uint32_t count) {
  const uint32_t *arms = t->p->extra.data + n->b;
  qsort(values, count, sizeof *values, by_value);
  for (uint32_t i = 1, first = 0; i < count; i++) {
    if (values[i].value != values[first].value)
      first = i;
    else
      unreachable(t, arms[values[i].arm], arms[values[first].arm]);
  }
}

static void check_coverage(hia_typing *t, const hia_ast *n, hia_itype subject) {
  const uint32_t *arms = t->p->extra.data + n->b;
  arm_value *values = HIA_NEW_ARRAY(t->p->arena, arm_value, n->c / 2 + 1);
  uint32_t count = 0, seen[2] = {HIA_NONE, HIA_NONE}, all = HIA_NONE; /* arms */
  for (uint32_t i = 0; i < n->c; i += 2) {
    const hia_ast *pattern = hiaF_node(t->p, arms[i]);
    if (all != HIA_NONE) {
      unreachable(t, arms[i], arms[all]);
      continue;
    }
    hia_word word;
    switch ((hia_ast_kind)pattern->kind) {
    case HIA_AST_PAT_BOOL:
      if (seen[pattern->a] != HIA_NONE) unreachable(t, arms[i], arms[seen[pattern->a]]);
      seen[pattern->a] = i;
      if (seen[0] != HIA_NONE && seen[1] != HIA_NONE) all = i;
      break;
    case HIA_AST_PAT_INT:
      if (subject != HIA_BOOL &&
          hiaF_number(t->p, pattern, (pattern->flags & HIA_AST_NEGATIVE) != 0, HIA_I64, &word) ==
              HIA_NUMBER_OK)
        values[count++] = (arm_value){hiaR_to_i64(word), i};
      break;
    default: all = i; break;
    }
  }
  check_duplicates(t, n, values, count);
  if (all != HIA_NONE) return;
  hia_diag *diag;
  if (subject == HIA_BOOL)
    diag = hiaF_type_error(t, HIA_E0310, n->pos, n->pos + 5, "the arms do not cover %s",
                           seen[0] != HIA_NONE ? "true" : "false");
  else
    diag = hiaF_type_error(t, HIA_E0310, n->pos, n->pos + 5, "the arms do not cover every integer");
  hiaF_hint(t->p->diags, diag, "the last arm of an integer match is '_' or a name: _ => ...");
  if (diag != NULL && subject == HIA_BOOL) diag->hint = NULL;
}

hia_itype hiaF_infer_match(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, id);
  hia_itype subject = hiaF_settled(t, hiaF_infer(t, n.a));
  if (hiaF_is_tuple(subject) || subject == HIA_F32 || subject == HIA_F64) {
    const hia_ast *s = hiaF_node(p, n.a);
    hia_diag *diag = hiaF_type_error(t, HIA_E0308, s->start, s->end,
                                     "'match' works on integers and bool, not %s",
                                     hiaF_itype_text(&p->it, subject));
    hiaF_hint(p->diags, diag,
              hiaF_is_tuple(subject) ? "take it apart: let (a, b) = ...;" : "compare with 'if'");
    subject = HIA_IT_ERROR;
  }
  hia_itype type = HIA_IT_ERROR;
  hia_operand before = {.expr = HIA_NONE}; /* the last arm of no literal type, or the first */
  for (uint32_t i = 0; i < n.c; i += 2) {
    check_pattern(t, p->extra.data[n.b + i], subject);
    hia_ast_id arm = p->extra.data[n.b + i + 1];
    hia_itype have = hiaF_infer(t, arm);
    const hia_ast *a = hiaF_node(p, arm);
    hia_operand operand = hiaF_operand(p, arm);
    type = i == 0 ? have
                  : hiaF_join_exprs(t, before, type, operand, have, a->start, a->end, "'match'");
    if (i == 0 || hiaF_is_final(&p->it, have)) before = operand;
  }
  if (t->report && subject < HIA_N_DTYPES) check_coverage(t, &n, subject);
  return type;
}
