/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The scopes of the walk that resolves names, and its errors. */
#include "frontend/kit/scope.h"
#include "frontend/syntax/habits.h"
#include "frontend/syntax/program.h"

/* ---- scopes ---- */

void hiaF_bind_name(hia_name_walk *w, hia_symbol_id symbol, hia_ast_id var, uint32_t base) {
  if (symbol == HIA_NONE) return;
  hia_symbol *e = hiaF_symbol(w, symbol);
  if (hiaF_is_wild_symbol(e)) return;
  if (e->var != HIA_NONE && e->bound_at >= base) {
    const hia_ast *first = hiaF_node(w->p, e->var), *second = hiaF_node(w->p, var);
    hia_diag *diag = hiaF_name_error(w, HIA_E0206, second->start, second->start + e->len,
                                     "'%s' stands twice in this list", e->text);
    hiaF_note(w->p->diags, diag, first->start, "first here");
  }
  hia_name_bound saved = {symbol, e->var, e->bound_at};
  e->var = var;
  e->bound_at = w->undo.len;
  hiaR_push(w->p->arena, &w->undo, saved);
}

void hiaF_unbind_names(hia_name_walk *w, uint32_t base) {
  while (w->undo.len > base) {
    hia_name_bound saved = w->undo.data[--w->undo.len];
    hia_symbol *e = hiaF_symbol(w, saved.symbol);
    e->var = saved.var;
    e->bound_at = saved.bound_at;
  }
}

void hiaF_bind_binder(hia_name_walk *w, hia_ast_id id, uint32_t base) {
  const hia_ast *n = hiaF_node(w->p, id);
  if (n->kind == HIA_AST_BIND_NAME) hiaF_bind_name(w, n->a, id, base);
  if (n->kind != HIA_AST_BIND_TUPLE) return;
  for (uint32_t i = 0; i < n->c; i++) hiaF_bind_binder(w, w->p->extra.data[n->b + i], base);
}

/* ---- errors ---- */

hia_diag *hiaF_name_error(hia_name_walk *w, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) {
  w->failed = true;
  va_list args;
  va_start(args, fmt);
  hia_text text;
  hiaR_text_init(&text, w->p->arena);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  return hiaF_error(w->p->diags, code, start, end, "%s", text.data);
}

const char *hiaF_constant_text(const hia_name_walk *w) {
  return w->mode == HIA_WALK_VALUE ? "a value" : w->is_param ? "an initialiser" : "a const";
}

void hiaF_unsupported(hia_name_walk *w, enum hia_code code, const hia_ast *node, const char *what) {
  w->failed = true;
  hiaF_error(w->p->diags, code, node->pos, node->end, "%s not supported yet", what);
}

const char *hiaF_decl_kind_text(const hia_decl *d) {
  switch ((hia_decl_kind)d->kind) {
  case HIA_DECL_CONST: return "const";
  case HIA_DECL_PARAM: return "param";
  case HIA_DECL_CON: return "constructor";
  default: return "function";
  }
}

void hiaF_unknown_name(hia_name_walk *w, const hia_ast *n, bool called) {
  const hia_symbol *e = hiaF_symbol(w, n->a);
  w->failed = true;
  if (w->p->names_unreliable) return;
  if (w->mode == HIA_WALK_VALUE && e->text[0] >= 'A' && e->text[0] <= 'Z') {
    hiaF_unsupported(w, HIA_E0901, n, "data types are");
    return;
  }
  hia_diag *diag = hiaF_name_error(w, HIA_E0201, n->start, n->end,
                                   called ? "unknown function '%s'" : "unknown name '%s'", e->text);
  if (diag == NULL) return;
  const char *habit = hiaF_habit(w->p, e->text, called ? HIA_HABIT_CALL : HIA_HABIT_VALUE);
  const char *similar =
      hiaF_similar_name(w->p, e->text, e->len, called ? HIA_LIKE_FN : HIA_LIKE_VALUE);
  if (habit != NULL)
    hiaF_hint(w->p->diags, diag, "%s", habit);
  else if (similar != NULL)
    hiaF_hint(w->p->diags, diag, "did you mean '%s'?", similar);
}

void hiaF_wrong_arity(hia_name_walk *w, const hia_ast *call, const hia_ast *callee,
                      const hia_decl *d) {
  hia_program *p = w->p;
  hia_text names;
  hiaR_text_init(&names, p->arena);
  for (uint32_t i = 0; i < d->n_params; i++) {
    hia_symbol_id symbol = hiaF_node(p, p->extra.data[d->params + i])->a;
    hiaR_text_addf(&names, "%s%s", i == 0 ? " (" : ", ",
                   symbol == HIA_NONE ? "?" : hiaF_symbol_text(p, symbol));
  }
  if (d->n_params > 0) hiaR_text_addf(&names, ")");
  hia_diag *diag =
      hiaF_name_error(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s%s, not %u",
                      hiaF_symbol_text(p, d->symbol), d->n_params, d->n_params == 1 ? "" : "s",
                      d->n_params > 0 ? names.data : "", call->c);
  hiaF_note(p->diags, diag, d->pos, "defined here");
}
