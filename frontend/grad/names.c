/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The names in gradients, `grad(f, wrt = (x, W))(a)`: f is a function of the program, and x and W
 * are parameters of f and params. Neither is a value, so the walk over names leaves them to this
 * file. */
#include "frontend/grad/grad.h"
#include "frontend/kit/scope.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

/* ---- errors ---- */

static void gradient_in_constant(hia_name_walk *w, const hia_ast *at, const char *name) {
  hiaF_name_error(w, HIA_E0211, at->start, at->end, "'%s' works on functions, and %s is a scalar",
                  name, hiaF_constant_text(w));
}

/* Reports that what is differentiated is no function of the program. */
static void no_function(hia_name_walk *w, const hia_ast *at, const char *name) {
  hia_program *p = w->p;
  const char *text = at->kind == HIA_AST_NAME ? hiaF_symbol_text(p, at->a) : NULL;
  const hia_symbol *e = text != NULL ? hiaF_symbol(w, at->a) : NULL;
  hia_diag *diag;
  if (e != NULL && e->var != HIA_NONE) {
    diag = hiaF_name_error(w, HIA_E0350, at->start, at->end, "'%s' is a variable, not a function",
                           text);
    hiaF_note(p->diags, diag, hiaF_node(p, e->var)->start, "bound here");
  } else if (e != NULL && e->decl != HIA_NONE) {
    const hia_decl *d = hiaF_decl(p, e->decl);
    bool is_extern = d->kind == HIA_DECL_EXTERN;
    diag = hiaF_name_error(w, HIA_E0350, at->start, at->end,
                           !is_extern ? "'%s' is a %s, not a function"
                           : d->gradient == HIA_NONE
                               ? "'%s' is a function of the host, which has no gradient"
                               : "'%s' is a function of the host: differentiate one that "
                                 "calls it",
                           text, hiaF_decl_kind_text(d));
    hiaF_note(p->diags, diag, d->pos, "defined here");
  } else if (e != NULL && hiaF_builtin(e->text, e->len) != HIA_OP_LIMIT) {
    diag = hiaF_name_error(w, HIA_E0350, at->start, at->end,
                           "'%s' is a built-in function: '%s' takes functions of the program", text,
                           name);
    hiaF_hint(p->diags, diag, "write a function that calls it, fn f(x: f64) = %s(x)", text);
  } else if (e != NULL) {
    hiaF_unknown_name(w, at, true);
  } else {
    diag = hiaF_name_error(w, HIA_E0350, at->start, at->end, "'%s' takes the name of a function",
                           name);
    const hia_ast *callee = at->kind == HIA_AST_CALL ? hiaF_node(p, at->a) : NULL;
    if (callee != NULL && callee->kind == HIA_AST_NAME &&
        hiaF_symbol(w, callee->a)->decl != HIA_NONE)
      hiaF_hint(p->diags, diag, "write %s(%s)(...): the arguments come in brackets of their own",
                name, hiaF_symbol_text(p, callee->a));
    else
      hiaF_hint(p->diags, diag, "write a function that computes it, and give its name");
  }
}

void hiaF_uncalled_gradient(hia_name_walk *w, const hia_ast *call, const char *name) {
  if (w->mode == HIA_WALK_CONST || w->mode == HIA_WALK_VALUE) {
    gradient_in_constant(w, call, name);
    return;
  }
  const char *text = hiaF_quote_bytes(w->p, call->start, call->end);
  hia_diag *diag = hiaF_name_error(
      w, HIA_E0205, call->start, call->end,
      "'%s(...)' is a function: functions are called, never passed or stored", name);
  if (text != NULL && call->c > 0)
    hiaF_hint(w->p->diags, diag, "write %s(...)", text);
  else
    hiaF_hint(w->p->diags, diag, "write %s(f)(...)", name);
}

/* ---- `wrt` ---- */

/* Finds what a name behind `wrt =` means: a parameter of the function or, where none has the
 * name, a param. Returns false after an error, which is reported. */
static bool find_wrt(hia_name_walk *w, const hia_ast *n, const hia_decl *d, hia_wrt *wrt) {
  hia_program *p = w->p;
  w->failed |= n->kind == HIA_AST_ERROR;
  if (n->kind == HIA_AST_ERROR) return false;
  if (n->kind != HIA_AST_NAME) {
    hiaF_name_error(w, HIA_E0351, n->start, n->end,
                    "'wrt' takes names of parameters and params, (a, b)");
    return false;
  }
  for (uint32_t i = 0; i < d->n_params; i++) {
    if (hiaF_node(p, p->extra.data[d->params + i])->a != n->a) continue;
    *wrt = (hia_wrt){.i = i};
    return true;
  }
  const hia_symbol *e = hiaF_symbol(w, n->a);
  if (e->decl != HIA_NONE && hiaF_decl(p, e->decl)->kind == HIA_DECL_PARAM) {
    *wrt = (hia_wrt){.is_param = true, .i = e->decl};
    return true;
  }
  w->failed = true;
  if (p->names_unreliable) return false;
  hia_diag *diag =
      hiaF_name_error(w, HIA_E0351, n->start, n->end, "'%s' is no parameter of '%s', and no param",
                      e->text, hiaF_symbol_text(p, d->symbol));
  hia_text names;
  hiaR_text_init(&names, p->arena);
  for (uint32_t i = 0; i < d->n_params && i < 8; i++) {
    hia_symbol_id symbol = hiaF_node(p, p->extra.data[d->params + i])->a;
    if (symbol == HIA_NONE) continue;
    hiaR_text_addf(&names, "%s%s", names.len ? ", " : "", hiaF_symbol_text(p, symbol));
  }
  if (names.len)
    hiaF_hint(p->diags, diag, "%s %s%s",
              d->n_params == 1 ? "its parameter is" : "its parameters are", names.data,
              d->n_params > 8 ? ", ..." : "");
  return false;
}

/* Finds what all names behind `wrt =` mean. Returns false after an error, which is reported. */
static bool find_wrts(hia_name_walk *w, hia_ast_grad *grad, const hia_decl *d) {
  hia_program *p = w->p;
  const hia_ast *given = hiaF_node(p, grad->given);
  bool is_list = given->kind == HIA_AST_TUPLE;
  uint32_t n = is_list ? given->c : 1;
  if (n > HIA_MAX_TYPE_PARTS) {
    hiaF_name_error(w, HIA_E0316, given->start, given->end, "the gradient has more than %u parts",
                    HIA_MAX_TYPE_PARTS);
    return false;
  }
  bool is_sound = true;
  for (uint32_t i = 0; i < n; i++) {
    const hia_ast *name = is_list ? hiaF_node(p, p->extra.data[given->b + i]) : given;
    hia_wrt wrt;
    if (!find_wrt(w, name, d, &wrt)) {
      is_sound = false;
      continue;
    }
    for (uint32_t k = 0; k < grad->wrt.len; k++) {
      if (grad->wrt.data[k].is_param != wrt.is_param || grad->wrt.data[k].i != wrt.i) continue;
      hiaF_name_error(w, HIA_E0351, name->start, name->end, "'%s' stands twice in this list",
                      hiaF_symbol_text(p, name->a));
      is_sound = false;
      break;
    }
    hiaR_push(p->arena, &grad->wrt, wrt);
  }
  return is_sound;
}

/* Reads the arguments of `grad` itself. Returns false after an error, which is reported. */
static bool read_gradient(hia_name_walk *w, const hia_ast *g, const char *name,
                          hia_ast_grad *grad) {
  hia_program *p = w->p;
  uint32_t n_functions = 0, n_wrt = 0;
  for (uint32_t i = 0; i < g->c; i++) {
    hia_ast_id arg = p->extra.data[g->b + i];
    const hia_ast *a = hiaF_node(p, arg);
    if (a->kind != HIA_AST_NAMED) {
      if (n_functions++ == 0) grad->fn = arg;
      continue;
    }
    if (strcmp(hiaF_symbol(w, a->a)->text, "wrt") != 0 || n_wrt++ > 0) {
      hia_diag *diag = hiaF_name_error(w, HIA_E0210, a->start, a->end,
                                       "'%s' has one argument with a name, 'wrt'", name);
      hiaF_hint(p->diags, diag, "write %s(f, wrt = (a, b))", name);
      return false;
    }
    grad->given = a->b;
  }
  if (n_functions == 1) return true;
  hia_diag *diag = hiaF_name_error(w, HIA_E0203, g->start, g->end, "'%s' takes 1 function, not %u",
                                   name, n_functions);
  if (n_functions > 1)
    hiaF_hint(p->diags, diag, "parameters are written %s(f, wrt = (a, b))", name);
  return false;
}

void hiaF_name_gradient(hia_name_walk *w, const hia_ast *call) {
  hia_program *p = w->p;
  const hia_ast g = *hiaF_node(p, call->a);
  const hia_symbol *e = hiaF_symbol(w, hiaF_node(p, g.a)->a);
  const char *name = e->text;
  if (e->var != HIA_NONE || e->decl != HIA_NONE) {
    hia_diag *diag = hiaF_name_error(
        w, HIA_E0104, g.start, g.end,
        "'%s' is not the built-in function here, and its value cannot be called", name);
    hiaF_note(p->diags, diag,
              e->var != HIA_NONE ? hiaF_node(p, e->var)->start : hiaF_decl(p, e->decl)->pos,
              "defined here");
    return;
  }
  if (w->mode == HIA_WALK_CONST || w->mode == HIA_WALK_VALUE) {
    gradient_in_constant(w, &g, name);
    return;
  }
  hia_ast_grad grad = {.node = call->a,
                       .fn = HIA_NONE,
                       .given = HIA_NONE,
                       .in = w->decl,
                       .has_value = strcmp(name, "grad") != 0};
  if (!read_gradient(w, &g, name, &grad)) return;
  const hia_ast *fn = hiaF_node(p, grad.fn);
  uint32_t decl = fn->kind == HIA_AST_NAME ? hiaF_symbol(w, fn->a)->decl : HIA_NONE;
  bool is_fn = decl != HIA_NONE && hiaF_symbol(w, fn->a)->var == HIA_NONE &&
               hiaF_decl(p, decl)->kind == HIA_DECL_FN;
  if (!is_fn) {
    if (fn->kind == HIA_AST_ERROR)
      w->failed = true;
    else
      no_function(w, fn, name);
    return;
  }
  const hia_decl *d = hiaF_decl(p, decl);
  if (d->n_params != call->c) {
    if (d->broken)
      w->failed = true;
    else
      hiaF_wrong_arity(w, call, &g, d);
    return;
  }
  if (grad.given != HIA_NONE && !find_wrts(w, &grad, d)) return;
  hia_ast *node = hiaF_node(p, call->a);
  node->op = HIA_REF_GRAD;
  node->b = decl;
  node->c = p->grads.len;
  hiaR_push(p->arena, &p->grads, grad);
}
