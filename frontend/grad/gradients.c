/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients, `grad(f)(x)`: what they are with respect to where the program does not say, and
 * functions that have none; and which functions can bring their own.
 *
 * All that follows from names alone: a function is taken to call, at any types, all functions that
 * are called or differentiated in it, and to read all params that it names. So the type of a
 * gradient is known before any type is inferred, and depends on no optimisation. */
#include "frontend/grad/grad.h"
#include "frontend/syntax/program.h"

#include <stdlib.h>

#define CHAIN_END 3u /* notes shown at either end of a chain of calls */

/* What a declaration names: a function, a function of the host, or a param. */
typedef struct use {
  uint32_t decl;
  hia_ast_id at;
} use;

/* Says which uses count:
 *
 *   ALL          all; those of a clause `gradient` are its function's, too
 *   DERIVED      those that the derivative of a function depends on: none where it has its own
 *   DERIVATIVES  as DERIVED, where a derivative may be one of a derivative: declaration d is there
 *                twice, as d and, from the second derivative on, as d + n_decls. There a gradient
 * of its own is differentiated, too */
typedef enum web { WEB_ALL, WEB_DERIVED, WEB_DERIVATIVES } web;

typedef struct finder {
  hia_program *p;
  hia_arena *scratch;
  web web;
  uint32_t n_decls, n; /* declarations of the program, and those of this web */
  uint32_t *first;     /* declaration d has uses[first[d]] .. uses[first[d + 1] - 1] */
  HIA_VEC(use) uses;
  uint32_t *group;              /* declarations that call each other are in one group */
  bool *is_impure, *needs_host; /* by declaration: it reaches an impure function; one of the host
                                   that has floats as parameters and as results */
  uint32_t *from;               /* the use by which the last search came to a declaration */
  uint32_t *stamp, n_stamps;    /* the last search that reached a declaration */
  hia_u32vec reached;           /* what the last search reached, in its order */
  uint32_t *made;               /* a gradient of a declaration whose params are found, or NONE */
} finder;

hia_ast_id hiaF_wrt_node(const hia_program *p, const hia_ast_grad *grad, uint32_t i) {
  if (grad->given == HIA_NONE) return grad->fn;
  const hia_ast *n = hiaF_node(p, grad->given);
  return n->kind == HIA_AST_TUPLE ? p->extra.data[n->b + i] : grad->given;
}

static const hia_decl *decl_of(const finder *f, uint32_t decl) {
  return hiaF_decl(f->p, decl % f->n_decls);
}

static const char *name_of(const finder *f, uint32_t decl) {
  return hiaF_symbol_text(f->p, decl_of(f, decl)->symbol);
}

/* ---- what uses what ---- */

static bool has_float(const hia_itypes *it, hia_itype type) {
  if (type == HIA_F32 || type == HIA_F64) return true;
  bool is_found = false;
  for (uint32_t i = 0; hiaF_is_tuple(type) && i < hiaF_ituple_len(it, type); i++)
    is_found |= has_float(it, hiaF_ituple_part(it, type, i));
  return is_found;
}

/* True if changes of its arguments could change its result a little. */
static bool is_smooth(const hia_program *p, const hia_decl *d) {
  bool has_input = false;
  for (uint32_t i = 0; i < d->n_params; i++) has_input |= has_float(&p->it, d->param_types[i]);
  return has_input && has_float(&p->it, d->result);
}

/* Appends the uses of declaration `decl`, or of what stands for it from the second derivative
 * on. */
static void find_uses_of(finder *f, uint32_t decl) {
  const hia_decl *d = decl_of(f, decl);
  bool has_own = d->gradient != HIA_NONE, is_higher = decl >= f->n_decls;
  if (has_own && (is_higher || f->web == WEB_ALL)) {
    uint32_t clause = d->gradient + (is_higher ? f->n_decls : 0);
    hiaR_push(f->scratch, &f->uses, ((use){clause, hiaF_decl(f->p, d->gradient)->body}));
  }
  if (d->kind != HIA_DECL_FN || (has_own && f->web != WEB_ALL)) return;
  for (hia_ast_id id = d->first_node; id < d->end_node; id++) {
    const hia_ast *n = hiaF_node(f->p, id);
    use u = {HIA_NONE, id};
    if (n->kind == HIA_AST_NAME && n->op == HIA_REF_PARAM) u.decl = n->b;
    if (n->kind == HIA_AST_CALL) {
      const hia_ast *callee = hiaF_node(f->p, n->a);
      u.at = n->a;
      if (hiaF_is_of_instance(callee) || callee->op == HIA_REF_EXTERN) u.decl = callee->b;
    }
    if (u.decl == HIA_NONE) continue;
    bool derives = f->web == WEB_DERIVATIVES && hiaF_node(f->p, u.at)->kind == HIA_AST_GRAD;
    if (is_higher || derives) u.decl += f->n_decls;
    hiaR_push(f->scratch, &f->uses, u);
  }
}

static void find_uses(finder *f, web which) {
  const hia_program *p = f->p;
  f->web = which;
  f->n_decls = p->decls.len;
  uint32_t n = f->n = f->n_decls * (which == WEB_DERIVATIVES ? 2 : 1);
  f->from = HIA_NEW_ARRAY(f->scratch, uint32_t, (size_t)n + 1);
  f->stamp = HIA_NEW_ARRAY(f->scratch, uint32_t, (size_t)n + 1);
  f->first = HIA_NEW_ARRAY(f->scratch, uint32_t, (size_t)n + 1);
  f->is_impure = HIA_NEW_ARRAY(f->scratch, bool, (size_t)n + 1);
  f->needs_host = HIA_NEW_ARRAY(f->scratch, bool, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) {
    const hia_decl *d = decl_of(f, i);
    f->first[i] = f->uses.len;
    find_uses_of(f, i);
    if (d->kind != HIA_DECL_EXTERN || d->broken) continue;
    f->is_impure[i] = d->impure;
    f->needs_host[i] = d->gradient == HIA_NONE && is_smooth(p, d);
  }
  f->first[n] = f->uses.len;
  uint32_t *to = HIA_NEW_ARRAY(f->scratch, uint32_t, (size_t)f->uses.len + 1);
  for (uint32_t i = 0; i < f->uses.len; i++) to[i] = f->uses.data[i].decl;
  f->group = HIA_NEW_ARRAY(f->scratch, uint32_t, (size_t)n + 1);
  hiaG_scc(f->scratch, n, f->first, to, f->group);
  hiaG_spread_to_callers(f->scratch, n, f->first, to, f->is_impure);
  hiaG_spread_to_callers(f->scratch, n, f->first, to, f->needs_host);
}

/* ---- searches, which find shortest chains of calls ---- */

static void reach(finder *f, uint32_t decl, uint32_t from) {
  if (f->stamp[decl] == f->n_stamps) return;
  f->stamp[decl] = f->n_stamps;
  f->from[decl] = from;
  hiaR_push(f->scratch, &f->reached, decl);
}

static void search(finder *f, uint32_t start) {
  f->n_stamps++;
  f->reached.len = 0;
  reach(f, start, HIA_NONE);
  for (uint32_t i = 0; i < f->reached.len; i++) {
    uint32_t decl = f->reached.data[i];
    for (uint32_t k = f->first[decl]; k < f->first[decl + 1]; k++)
      reach(f, f->uses.data[k].decl, k);
  }
}

/* The declaration that a use stands in. */
static uint32_t user_of(const finder *f, uint32_t u) {
  uint32_t low = 0, high = f->n; /* first[low] <= u < first[high] */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (f->first[middle] <= u)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Notes the calls that lead from where the last search began to `decl`. */
static void note_chain(finder *f, hia_diag *diag, uint32_t decl) {
  hia_diags *diags = f->p->diags;
  hia_u32vec chain = {0}; /* from the last call to the first */
  for (uint32_t u = f->from[decl]; u != HIA_NONE; u = f->from[decl]) {
    hiaR_push(f->scratch, &chain, u);
    decl = user_of(f, u);
  }
  uint32_t hidden = chain.len > 2 * CHAIN_END ? chain.len - 2 * CHAIN_END : 0;
  for (uint32_t i = 0; i < chain.len; i++) {
    if (hidden > 0 && i == CHAIN_END)
      hiaF_note(diags, diag, HIA_NONE, "%u more calls lead there", hidden);
    if (hidden > 0 && i >= CHAIN_END && i < CHAIN_END + hidden) continue;
    const use *u = &f->uses.data[chain.data[chain.len - 1 - i]];
    const hia_ast *at = hiaF_node(f->p, u->at);
    const char *user = name_of(f, user_of(f, chain.data[chain.len - 1 - i]));
    const hia_decl *d = decl_of(f, u->decl);
    if (d->gradient_of != HIA_NONE)
      hiaF_note(diags, diag, d->pos, "'%s' has this gradient", user);
    else
      hiaF_note(diags, diag, at->start, "'%s' %s '%s' here", user,
                at->kind == HIA_AST_GRAD    ? "differentiates"
                : d->kind == HIA_DECL_PARAM ? "reads"
                                            : "calls",
                name_of(f, u->decl));
  }
}

/* ---- one gradient ---- */

/* Reports that the function has no gradient, since it reaches a function of the host. */
static void report_host(finder *f, const hia_ast *at, uint32_t fn, bool is_impure) {
  hia_program *p = f->p;
  search(f, fn);
  uint32_t found = HIA_NONE;
  for (uint32_t i = 0; found == HIA_NONE; i++) {
    const hia_decl *d = decl_of(f, f->reached.data[i]);
    if (d->kind != HIA_DECL_EXTERN || d->broken) continue;
    if (is_impure ? d->impure : d->gradient == HIA_NONE && is_smooth(p, d))
      found = f->reached.data[i];
  }
  hia_diag *diag =
      is_impure ? hiaF_error(p->diags, HIA_E0356, at->start, at->end,
                             "'%s' may call the impure function '%s', so it has no gradient",
                             name_of(f, fn), name_of(f, found))
                : hiaF_error(p->diags, HIA_E0357, at->start, at->end,
                             "'%s' may call '%s', a function of the host, which has no gradient",
                             name_of(f, fn), name_of(f, found));
  note_chain(f, diag, found);
}

static void report_order(finder *f, const hia_ast *at, uint32_t fn, uint32_t in) {
  hia_program *p = f->p;
  search(f, fn);
  hia_diag *diag = hiaF_error(
      p->diags, HIA_E0355, at->start, at->end,
      in == fn ? "'%s' uses its own gradient: its derivative would be of infinite order"
               : "'%s' reaches its own gradient: its derivative would be of infinite order",
      name_of(f, fn));
  note_chain(f, diag, in);
}

static int by_number(const void *a, const void *b) {
  const hia_wrt *x = a, *y = b;
  return x->i < y->i ? -1 : x->i > y->i;
}

/* Finds the params that the function may read. Returns false if there is none, which is
 * reported, or if a mistake elsewhere may hide some. */
static bool find_params(finder *f, hia_ast_grad *grad, const hia_ast *at, uint32_t fn) {
  hia_program *p = f->p;
  bool is_broken = p->names_unreliable;
  if (f->made[fn] != HIA_NONE) {
    grad->wrt.data = p->grads.data[f->made[fn]].wrt.data; /* never changed from here on */
    grad->wrt.len = grad->wrt.cap = p->grads.data[f->made[fn]].wrt.len;
    return true;
  }
  search(f, fn);
  for (uint32_t i = 0; i < f->reached.len; i++) {
    const hia_decl *d = hiaF_decl(p, f->reached.data[i]);
    is_broken |= d->broken;
    if (d->kind == HIA_DECL_PARAM)
      hiaR_push(p->arena, &grad->wrt, ((hia_wrt){.is_param = true, .i = f->reached.data[i]}));
  }
  if (grad->wrt.len > 0) qsort(grad->wrt.data, grad->wrt.len, sizeof *grad->wrt.data, by_number);
  if (grad->wrt.len > 0 || is_broken) return !is_broken;
  hia_diag *diag =
      hiaF_error(p->diags, HIA_E0354, at->start, at->end,
                 "'%s' reads no param: its gradient is with respect to nothing", name_of(f, fn));
  const hia_decl *d = hiaF_decl(p, fn);
  if (d->n_params > 0)
    hiaF_hint(p->diags, diag, "name parameters: %s(%s, wrt = %s)",
              grad->has_value ? "value_and_grad" : "grad", name_of(f, fn),
              hiaF_symbol_text(p, hiaF_node(p, p->extra.data[d->params])->a));
  return false;
}

static bool check(finder *f, finder *derivatives, uint32_t i) {
  hia_ast_grad *grad = &f->p->grads.data[i];
  const hia_ast *at = hiaF_node(f->p, grad->fn);
  uint32_t fn = hiaF_node(f->p, grad->node)->b;
  if (f->group[fn] == f->group[grad->in]) { /* the one that it stands in uses it */
    report_order(f, at, fn, grad->in);
    return false;
  }
  if (f->is_impure[fn] || derivatives->needs_host[fn]) {
    report_host(derivatives, at, fn, f->is_impure[fn]);
    return false;
  }
  if (grad->given != HIA_NONE) return true;
  bool is_found = find_params(f, grad, at, fn);
  if (is_found) f->made[fn] = i;
  return is_found;
}

/* ---- gradients of their own ---- */

/* Reports what a function with a gradient of its own may not reach, by itself or by that gradient:
 * params, whose gradients the clause could not say; and impure functions. */
static void check_own(finder *f, uint32_t fn) {
  hia_program *p = f->p;
  search(f, fn);
  for (uint32_t i = 0; i < f->reached.len; i++) {
    uint32_t found = f->reached.data[i];
    const hia_decl *d = hiaF_decl(p, found), *function = hiaF_decl(p, fn);
    bool is_param = d->kind == HIA_DECL_PARAM;
    if (!is_param && (d->kind != HIA_DECL_EXTERN || !d->impure)) continue;
    const hia_decl *clause = hiaF_decl(p, function->gradient);
    const char *text = is_param      ? "'%s' has a gradient of its own, but may read the param '%s'"
                       : found != fn ? "'%s' has a gradient of its own, but may call the impure "
                                       "function '%s'"
                                     : "'%s' is impure, so it can have no gradient";
    hia_diag *diag = hiaF_error(p->diags, HIA_E0359, clause->pos, clause->end, text, name_of(f, fn),
                                name_of(f, found));
    if (is_param) hiaF_hint(p->diags, diag, "take '%s' as a parameter", name_of(f, found));
    if (found != fn) note_chain(f, diag, found);
    hiaF_decl(p, fn)->broken = true;
    return;
  }
}

static void check_all_own(hia_program *p, hia_arena *scratch) {
  finder f = {.p = p, .scratch = scratch};
  bool is_some = false;
  for (uint32_t i = 0; i < p->decls.len; i++) is_some |= hiaF_decl(p, i)->gradient != HIA_NONE;
  if (!is_some) return;
  find_uses(&f, WEB_ALL);
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (hiaF_decl(p, i)->gradient != HIA_NONE) check_own(&f, i);
}

static void check_all(hia_program *p, hia_arena *scratch) {
  finder f = {.p = p, .scratch = scratch}, derivatives = f;
  size_t n = (size_t)p->decls.len + 1;
  f.made = HIA_NEW_ARRAY(scratch, uint32_t, n);
  memset(f.made, 0xff, n * sizeof *f.made);
  find_uses(&f, WEB_DERIVED);
  find_uses(&derivatives, WEB_DERIVATIVES);
  bool *is_sound = HIA_NEW_ARRAY(scratch, bool, p->grads.len);
  for (uint32_t i = 0; i < p->grads.len; i++) is_sound[i] = check(&f, &derivatives, i);
  for (uint32_t i = 0; i < p->grads.len; i++)
    hiaF_decl(p, p->grads.data[i].in)->broken |= !is_sound[i];
}

void hiaF_gradients(hia_program *p) {
  hia_mark mark = hiaR_arena_mark(&p->comp->scratch);
  check_all_own(p, &p->comp->scratch);
  if (p->grads.len > 0) check_all(p, &p->comp->scratch);
  hiaR_arena_release(&p->comp->scratch, mark);
}
