/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether the evaluation of an expression can end (ends.h). */
#include "frontend/kit/ends.h"
#include "frontend/kit/instance.h"
#include "frontend/syntax/program.h"

/* True if the gradient needs the derivative of the function with respect to all of its parameters
 * that are floats. A clause has these in any case. */
static bool is_of_all(const hia_program *p, const hia_ast_grad *grad, const hia_inst *inst) {
  uint32_t n_floats = 0, n_wrt = 0;
  for (uint32_t i = 0; i < hiaF_decl(p, inst->decl)->n_params; i++)
    n_floats += hiaF_is_float(inst->args[i]);
  for (uint32_t i = 0; i < grad->wrt.len; i++) n_wrt += !grad->wrt.data[i].is_param;
  return inst->gradient != HIA_NONE || n_wrt == n_floats;
}

bool hiaF_call_ends(const hia_end_walk *w, const hia_ast *n) {
  const hia_ast *callee = hiaF_node(w->p, n->a);
  hia_itype id = w->inst->types[n->a - w->first];
  if (!hiaF_is_of_instance(callee) || id == HIA_NONE) return true;
  const hia_inst *inst = hiaF_inst(w->p, id);
  if (!w->with_gradients) return inst->ends;
  return inst->settles && (callee->op != HIA_REF_GRAD || inst->derives ||
                           !is_of_all(w->p, &w->p->grads.data[callee->c], inst));
}

bool hiaF_list_ends(const hia_end_walk *w, const hia_ast *n) {
  for (uint32_t i = 0; i < n->c; i++)
    if (!hiaF_ends(w, w->p->extra.data[n->b + i])) return false;
  return true;
}

bool hiaF_ends(const hia_end_walk *w, hia_ast_id id) {
  const hia_program *p = w->p;
  const hia_ast *n = hiaF_node(p, id);
  const uint32_t *list = p->extra.data; /* at n->b where there is one */
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_TUPLE:
  case HIA_AST_ARRAY:
  case HIA_AST_CONVERT: return hiaF_list_ends(w, n);
  case HIA_AST_COMP: /* may have no element */
    for (uint32_t i = 1; i < n->c; i++)
      if (!hiaF_ends(w, list[n->b + i])) return false;
    return true;
  case HIA_AST_INDEX: return hiaF_ends(w, n->a) && hiaF_ends(w, n->b);
  case HIA_AST_SLICE: return hiaF_ends(w, n->a) && hiaF_ends(w, n->b) && hiaF_ends(w, n->c);
  case HIA_AST_CALL: return hiaF_list_ends(w, n) && hiaF_call_ends(w, n);
  case HIA_AST_IF: return hiaF_ends(w, n->a) && (hiaF_ends(w, n->b) || hiaF_ends(w, n->c));
  case HIA_AST_MATCH:
    if (!hiaF_ends(w, n->a)) return false;
    for (uint32_t i = 1; i < n->c; i += 2)
      if (hiaF_ends(w, list[n->b + i])) return true;
    return false;
  case HIA_AST_LOOP: /* may make no round, so only the initial values count */
    for (uint32_t i = 0; i < n->c; i++)
      if (!hiaF_ends(w, hiaF_node(p, list[n->b + i])->c)) return false;
    return hiaF_ends(w, p->extra.data[n->a]);
  case HIA_AST_BLOCK:
    for (uint32_t i = 0; i < n->c; i++)
      if (!hiaF_ends(w, hiaF_node(p, list[n->b + i])->c)) return false;
    return hiaF_ends(w, n->a);
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL:
    for (uint32_t i = 2; i < n->c; i += 3)
      if (!hiaF_ends(w, list[n->b + i])) return false;
    return hiaF_ends(w, n->a);
  case HIA_AST_COMPARE: return hiaF_ends(w, n->a) && hiaF_ends(w, n->b);
  case HIA_AST_LOGIC: /* the first operand may decide alone */
  case HIA_AST_NOT:
  case HIA_AST_NEG:
  case HIA_AST_FIELD: return hiaF_ends(w, n->a);
  default: return true;
  }
}

bool hiaF_body_ends(hia_program *p, const hia_inst *inst, bool with_gradients) {
  const hia_decl *d = hiaF_decl(p, inst->decl);
  uint32_t n_visited = 0;
  hia_end_walk w = {p, inst, d->first_node, with_gradients, &n_visited};
  return hiaF_ends(&w, d->body);
}
