/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is called: functions, constructors and built-ins; how many arguments they take. */
#include "frontend/check/names.h"
#include "frontend/grad/grad.h"
#include "frontend/kit/scope.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

void hiaF_name_callee_decl(hia_name_walk *w, const hia_ast *call, hia_ast *callee, uint32_t decl) {
  hia_program *p = w->p;
  const hia_decl *d = hiaF_decl(p, decl);
  const char *text = hiaF_symbol_text(p, d->symbol);
  switch ((hia_decl_kind)d->kind) {
  case HIA_DECL_CON:
    if (d->broken) {
      w->failed = true;
    } else if (d->n_params == 0) {
      hia_diag *diag = hiaF_name_error(
          w, HIA_E0209, callee->start, call->end,
          "the constructor '%s' has no fields: it is a value and is not called", text);
      hiaF_hint(p->diags, diag, "write %s", text);
    } else if (d->n_params != call->c) {
      hiaF_wrong_arity(w, call, callee, d);
    } else {
      callee->op = HIA_REF_CON;
      callee->b = decl;
    }
    break;
  case HIA_DECL_EXTERN:
  case HIA_DECL_FN:
    if (d->n_params != call->c && !d->broken) {
      hiaF_wrong_arity(w, call, callee, d);
    } else if (d->n_params != call->c) {
      w->failed = true;
    } else {
      callee->op = d->kind == HIA_DECL_FN ? HIA_REF_FN : HIA_REF_EXTERN;
      callee->b = decl;
    }
    break;
  default: {
    hia_diag *diag =
        hiaF_name_error(w, HIA_E0204, callee->start, callee->end,
                        "'%s' is a %s and cannot be called", text, hiaF_decl_kind_text(d));
    hiaF_note(p->diags, diag, d->pos, "defined here");
  }
  }
}

static void walk_callee_of_arrays(hia_name_walk *w, const hia_ast *call, hia_ast *callee,
                                  unsigned op) {
  const char *name = hiaF_symbol(w, callee->a)->text;
  uint32_t want = op == HIA_BUILTIN_LEN ? 1 : op == HIA_BUILTIN_SET ? 3 : 2;
  bool has_names = false;
  for (uint32_t i = 0; i < call->c; i++)
    has_names |= hiaF_node(w->p, w->p->extra.data[call->b + i])->kind == HIA_AST_NAMED;
  if (w->mode == HIA_WALK_CONST || w->mode == HIA_WALK_VALUE) {
    hiaF_name_error(w, HIA_E0211, callee->start, callee->end,
                    "'%s' works on arrays, and %s is a scalar", name, hiaF_constant_text(w));
  } else if (op == HIA_BUILTIN_CONCAT ? call->c - has_names < want : call->c != want) {
    hiaF_name_error(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s%s, not %u",
                    name, want, want == 1 ? "" : "s", op == HIA_BUILTIN_CONCAT ? " or more" : "",
                    call->c);
  } else {
    callee->op = HIA_REF_BUILTIN;
    callee->b = op;
  }
}

static void walk_callee_of_tensors(hia_name_walk *w, const hia_ast *call, hia_ast *callee,
                                   unsigned op) {
  const hia_tensor_builtin *b = hiaF_tensor_builtin(op);
  const char *name = hiaF_symbol(w, callee->a)->text;
  hia_ast_id axis;
  uint32_t n = hiaF_positional(w->p, call, &axis);
  bool fits = n >= b->least && n <= b->most;
  if (op == HIA_BUILTIN_SHAPE && (axis != HIA_NONE) == (n == 2)) fits = false;
  if (w->mode == HIA_WALK_CONST || w->mode == HIA_WALK_VALUE) {
    hiaF_name_error(w, HIA_E0211, callee->start, callee->end,
                    "'%s' works on tensors, and %s is a scalar", name, hiaF_constant_text(w));
  } else if (!fits) {
    bool is_some = b->most > b->least && op != HIA_BUILTIN_SHAPE, is_many = n > b->most;
    uint32_t want = op == HIA_BUILTIN_SHAPE ? 2 : is_some && is_many ? b->most : b->least;
    hiaF_name_error(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s%s, not %u",
                    name, want, want == 1 ? "" : "s",
                    !is_some  ? ""
                    : is_many ? " or fewer"
                              : " or more",
                    n);
  } else if (call->c - n > 1) {
    hiaF_name_error(w, HIA_E0203, callee->start, call->end, "'%s' takes one axis", name);
  } else {
    callee->op = HIA_REF_BUILTIN;
    callee->b = op;
    w->p->it.has_tensors = true;
  }
}

void hiaF_name_callee_builtin(hia_name_walk *w, const hia_ast *call, hia_ast *callee, unsigned op) {
  const char *name = hiaF_symbol(w, callee->a)->text;
  if (op == HIA_OP_MIN || op == HIA_OP_MAX) {
    hia_ast_id axis;
    if (hiaF_positional(w->p, call, &axis) == 1)
      op = op == HIA_OP_MIN ? HIA_BUILTIN_MIN : HIA_BUILTIN_MAX;
    else if (axis != HIA_NONE)
      hiaF_name_error(w, HIA_E0203, callee->start, call->end, "'%s' of two takes no axis", name);
  }
  if (hiaF_tensor_builtin(op)) {
    walk_callee_of_tensors(w, call, callee, op);
    return;
  }
  if (op == HIA_BUILTIN_GRAD || op == HIA_BUILTIN_VALUE_AND_GRAD) {
    hiaF_uncalled_gradient(w, call, name);
    return;
  }
  if (op == HIA_BUILTIN_INIT) {
    hiaF_name_error(w, HIA_E0329, callee->start, callee->end,
                    "'%s' is an initialiser: it stands in the definition of a param", name);
    return;
  }
  if (op >= HIA_OP_LIMIT) {
    walk_callee_of_arrays(w, call, callee, op);
    return;
  }
  uint32_t want = (uint32_t)hiaR_ops[op].n_ins;
  if (want != call->c) {
    hiaF_name_error(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s, not %u",
                    name, want, want == 1 ? "" : "s", call->c);
  } else {
    callee->op = HIA_REF_BUILTIN;
    callee->b = op;
  }
}
