/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients that cannot end.
 *
 * Where functions bring their own gradient there is a second fixpoint, of the same kind as that of
 * check/ending.c. A call grad(f)(x) calls what the derivative of f needs: the clause of f or, if f
 * has none, the clauses of the functions through which x flows into its result. A clause that calls
 * its own gradient on every path, or that of a function which needs it, could only run forever.
 *
 * What a derivative needs is taken to be less than it is, never more: so no program is rejected
 * that could end. Derivatives are followed through sums, products, branches, `let`s and calls whose
 * arguments are computed from what the gradient is with respect to. */
#include "frontend/grad/grad.h"
#include "frontend/kit/ends.h"
#include "frontend/kit/instance.h"
#include "frontend/syntax/program.h"

#define MAX_VISITED 2000u /* expressions that are visited for what one derivative needs */

/* ---- what a derivative needs ---- */

static hia_itype type_of(const hia_end_walk *w, hia_ast_id id) {
  return w->inst->types[id - w->first];
}

/* The value of the `let` that binds the name; NONE: the name is bound otherwise. */
static hia_ast_id let_value(const hia_end_walk *w, const hia_ast *name) {
  if (name->op != HIA_REF_VAR || hiaF_node(w->p, name->b)->kind != HIA_AST_BIND_NAME)
    return HIA_NONE;
  hia_ast_id let = name->b; /* the parser makes the LET first, then its binder */
  if (let == 0 || hiaF_node(w->p, --let)->kind != HIA_AST_LET) return HIA_NONE;
  return hiaF_node(w->p, let)->a == name->b ? hiaF_node(w->p, let)->c : HIA_NONE;
}

/* True if something flows through the operators of a chain to all operands. */
static bool flows_through(const hia_program *p, const hia_ast *chain) {
  for (uint32_t i = 0; i < chain->c; i += 3)
    if (p->extra.data[chain->b + i] == HIA_OP_REM) return false;
  return true;
}

/* True for a built-in function of one operand, to which something flows. */
static bool is_smooth(const hia_ast *callee, const hia_ast *call) {
  return callee->op == HIA_REF_BUILTIN && callee->b < HIA_OP_LIMIT && call->c == 1 &&
         hiaR_ops[callee->b].gradient == HIA_GRADIENT_OWN;
}

static bool has_clause(const hia_end_walk *w, const hia_ast *call) {
  const hia_ast *callee = hiaF_node(w->p, call->a);
  if (callee->op == HIA_REF_EXTERN) return hiaF_decl(w->p, callee->b)->gradient_inst != HIA_NONE;
  hia_itype id = type_of(w, call->a);
  return callee->op == HIA_REF_FN && id != HIA_NONE && hiaF_inst(w->p, id)->gradient != HIA_NONE;
}

/* True if the value is certainly computed from the function's parameters that are floats, in such a
 * way that its derivative is that of what it is computed from. */
static bool is_active(const hia_end_walk *w, hia_ast_id id) {
  const hia_program *p = w->p;
  const hia_ast *n = hiaF_node(p, id);
  if (++*w->n_visited > MAX_VISITED || !hiaF_is_float(type_of(w, id))) return false;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_NAME: {
    if (n->op == HIA_REF_VAR && hiaF_node(p, n->b)->kind == HIA_AST_PARAM) return true;
    hia_ast_id value = let_value(w, n);
    return value != HIA_NONE && is_active(w, value);
  }
  case HIA_AST_NEG:
  case HIA_AST_BLOCK: return is_active(w, n->a);
  case HIA_AST_IF: return is_active(w, n->b) && is_active(w, n->c);
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL: {
    bool active = is_active(w, n->a);
    for (uint32_t i = 2; i < n->c; i += 3) active |= is_active(w, p->extra.data[n->b + i]);
    return active && flows_through(p, n);
  }
  case HIA_AST_CALL: {
    bool active = false;
    if (!has_clause(w, n) && !is_smooth(hiaF_node(p, n->a), n)) return false;
    for (uint32_t i = 0; i < n->c; i++) active |= is_active(w, p->extra.data[n->b + i]);
    return active;
  }
  default: return false;
  }
}

static bool derives(const hia_end_walk *w, hia_ast_id id);

/* True if a call and its derivative can end. Its arguments end. */
static bool call_derives(const hia_end_walk *w, const hia_ast *n) {
  const hia_program *p = w->p;
  const hia_ast *callee = hiaF_node(p, n->a);
  bool has_own = has_clause(w, n), any = false, all = true;
  if (!hiaF_call_ends(w, n)) return false;
  if (is_smooth(callee, n)) return derives(w, p->extra.data[n->b]);
  if (callee->op != HIA_REF_FN && callee->op != HIA_REF_EXTERN) return true;
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id arg = p->extra.data[n->b + i];
    if (!hiaF_is_float(type_of(w, arg))) continue;
    bool active = is_active(w, arg);
    any |= active;
    all &= active;
  }
  if (has_own ? !any : !any || !all) return true; /* or it is not certain */
  if (callee->op == HIA_REF_EXTERN) {
    if (has_own && !hiaF_inst(p, hiaF_decl(p, callee->b)->gradient_inst)->settles) return false;
  } else if (type_of(w, n->a) != HIA_NONE && !hiaF_inst(p, type_of(w, n->a))->derives) {
    return false;
  }
  for (uint32_t i = 0; has_own && i < n->c; i++)
    if (!derives(w, p->extra.data[n->b + i])) return false;
  return true;
}

/* True if the expression and its derivative can end. */
static bool derives(const hia_end_walk *w, hia_ast_id id) {
  const hia_program *p = w->p;
  const hia_ast *n = hiaF_node(p, id);
  const uint32_t *list = p->extra.data;
  if (++*w->n_visited > MAX_VISITED || !hiaF_is_float(type_of(w, id))) return hiaF_ends(w, id);
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_NAME: {
    hia_ast_id value = let_value(w, n);
    return value == HIA_NONE || derives(w, value);
  }
  case HIA_AST_NEG: return derives(w, n->a);
  case HIA_AST_IF: return hiaF_ends(w, n->a) && (derives(w, n->b) || derives(w, n->c));
  case HIA_AST_MATCH:
    if (!hiaF_ends(w, n->a)) return false;
    for (uint32_t i = 1; i < n->c; i += 2)
      if (derives(w, list[n->b + i])) return true;
    return false;
  case HIA_AST_BLOCK:
    for (uint32_t i = 0; i < n->c; i++)
      if (!hiaF_ends(w, hiaF_node(p, list[n->b + i])->c)) return false;
    return derives(w, n->a);
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL:
    if (!flows_through(p, n)) return hiaF_ends(w, id);
    for (uint32_t i = 2; i < n->c; i += 3)
      if (!derives(w, list[n->b + i])) return false;
    return derives(w, n->a);
  case HIA_AST_CALL: return hiaF_list_ends(w, n) && call_derives(w, n);
  default: return hiaF_ends(w, id);
  }
}

static bool body_derives(hia_program *p, const hia_inst *inst) {
  const hia_decl *d = hiaF_decl(p, inst->decl);
  uint32_t n_visited = 0;
  hia_end_walk w = {p, inst, d->first_node, true, &n_visited};
  if (inst->gradient != HIA_NONE) return hiaF_inst(p, inst->gradient)->settles;
  return derives(&w, d->body);
}

/* ---- clauses that need themselves ---- */

/* Appends what the instance calls and differentiates, as far as it does not end with gradients. */
static void reach_unsettled(hia_program *p, uint32_t id, hia_u32vec *reached) {
  const hia_inst *inst = hiaF_inst(p, id);
  for (uint32_t i = 0; i < inst->callees.len; i++) {
    hia_inst *callee = hiaF_inst(p, inst->callees.data[i]);
    if (callee->stamp == p->stamp || (callee->settles && callee->derives)) continue;
    callee->stamp = p->stamp;
    hiaR_push(p->arena, reached, inst->callees.data[i]);
  }
  const hia_decl *d = hiaF_decl(p, inst->decl);
  for (hia_ast_id k = d->first_node; k < d->end_node; k++) { /* clauses of the host's functions */
    const hia_ast *n = hiaF_node(p, k);
    if (n->kind != HIA_AST_CALL || hiaF_node(p, n->a)->op != HIA_REF_EXTERN) continue;
    uint32_t clause = hiaF_decl(p, hiaF_node(p, n->a)->b)->gradient_inst;
    if (clause == HIA_NONE || hiaF_inst(p, clause)->stamp == p->stamp) continue;
    hiaF_inst(p, clause)->stamp = p->stamp;
    hiaR_push(p->arena, reached, clause);
  }
}

/* True if the instance of a clause is on a cycle. Appends the clauses that are found. */
static bool needs_itself(hia_program *p, uint32_t id, hia_u32vec *reached) {
  p->stamp++;
  reach_unsettled(p, id, reached);
  for (uint32_t i = 0; i < reached->len; i++) reach_unsettled(p, reached->data[i], reached);
  return hiaF_inst(p, id)->stamp == p->stamp;
}

static void report(hia_program *p, uint32_t id) {
  hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  const char *name = hiaF_symbol_text(p, hiaF_decl(p, d->gradient_of)->symbol);
  hia_diags *outer = p->diags;
  inst->failed = true;
  inst->diags = HIA_NEW(p->arena, hia_diags);
  hiaF_diags_init(inst->diags, p->comp, p->source);
  p->diags = inst->diags;
  hia_diag *diag = hiaF_error(p->diags, HIA_E0360, d->pos, d->end,
                              "the gradient of '%s' has no base case: it needs itself", name);
  hiaF_hint(p->diags, diag, "every path through the clause needs the gradient of '%s'", name);
  hiaF_note_instances(p, id, diag);
  p->diags = outer;
}

void hiaF_check_own_gradients(hia_program *p, const hia_u32vec *reached) {
  if (p->grads.len == 0) return;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (uint32_t i = 0; i < reached->len; i++) {
      hia_inst *inst = hiaF_inst(p, reached->data[i]);
      bool is_new = !inst->settles && hiaF_body_ends(p, inst, true);
      inst->settles |= is_new;
      bool derives_now = !inst->derives && body_derives(p, inst);
      inst->derives |= derives_now;
      has_changed |= is_new || derives_now;
    }
  }
  for (uint32_t i = 0; i < reached->len; i++) {
    const hia_inst *inst = hiaF_inst(p, reached->data[i]);
    hia_u32vec found = {0};
    if (inst->settles || !inst->ends || inst->failed || inst->diags != NULL ||
        hiaF_decl(p, inst->decl)->gradient_of == HIA_NONE ||
        !needs_itself(p, reached->data[i], &found))
      continue;
    uint32_t first = reached->data[i]; /* in the source, of the clauses on the cycle */
    for (uint32_t k = 0; k < found.len; k++) {
      const hia_inst *clause = hiaF_inst(p, found.data[k]);
      if (hiaF_decl(p, clause->decl)->gradient_of == HIA_NONE || clause->settles) continue;
      if (hiaF_decl(p, clause->decl)->pos < hiaF_decl(p, hiaF_inst(p, first)->decl)->pos)
        first = found.data[k];
    }
    if (hiaF_inst(p, first)->diags == NULL) report(p, first);
    for (uint32_t k = 0; k < found.len; k++)
      if (!hiaF_inst(p, found.data[k])->settles) hiaF_inst(p, found.data[k])->failed = true;
    hiaF_inst(p, reached->data[i])->failed = true;
  }
}
