/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs of gradients: what they are with respect to; and the shapes that the gradients of a clause
 * are expected to have. */
#include "frontend/grad/grad.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/pieces.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"
#include "graph/ir/own_gradient.h"

uint32_t hiaF_elab_gradient(hia_elab *e, const hia_ast_grad *grad, uint32_t inst, hia_fn_id fn) {
  const hia_program *p = e->p;
  hia_wrt *list = HIA_NEW_ARRAY(e->arena, hia_wrt, grad->wrt.len);
  const hia_itype *args = hiaF_inst(p, inst)->args;
  for (uint32_t i = 0; i < grad->wrt.len; i++) {
    const hia_wrt *wrt = &grad->wrt.data[i];
    list[i] = (hia_wrt){.is_param = wrt->is_param};
    if (wrt->is_param) list[i].i = hiaF_decl(p, wrt->i)->fn;
    for (uint32_t k = 0; !wrt->is_param && k < wrt->i; k++)
      list[i].i += hiaF_itype_words(&p->it, args[k]);
  }
  return hiaG_gradient_new(e->g, fn, grad->has_value, list, grad->wrt.len);
}

/* ---- shapes ---- */

/* Expects that the gradient of a parameter, words[at], has the shape of the parameter. */
static void expect_shape(hia_elab *e, uint32_t at, hia_value_id param_value, hia_ast_id expr,
                         hia_ast_id param) {
  uint32_t rank = hiaG_rank(e->g->types, hiaG_type(e->fn, param_value));
  hia_operand operands[2] = {hiaF_operand(e->p, expr), hiaF_operand(e->p, param)};
  hia_loc_id loc = hiaF_elab_loc_of(e, hiaF_node(e->p, expr)->start, operands, 2);
  hia_value_id ins[1 + HIA_MAX_RANK] = {e->words.data[at]};
  for (uint32_t i = 0; i < rank; i++)
    ins[1 + i] =
        hiaG_computed(e->g, e->fn, e->region, HIA_OP_DIM, &param_value, 1, HIA_N_DTYPES, i, loc);
  e->words.data[at] = hiaG_computed(e->g, e->fn, e->region, HIA_OP_EXPECT, ins, 1 + rank,
                                    HIA_N_DTYPES, ((uint64_t)1 << rank) - 1, loc);
}

void hiaF_elab_gradient_shapes(hia_elab *e) {
  const hia_program *p = e->p;
  const hia_decl *clause = hiaF_decl(p, e->decl);
  const hia_decl *d = hiaF_decl(p, clause->gradient_of);
  uint32_t n_parts = 0, part = 0, at = 0, word = 0;
  for (uint32_t i = 0; i < d->n_params; i++) {
    hia_itype type = e->types[p->extra.data[clause->params + i] - e->first];
    n_parts += hiaF_gradient_type(&e->p->it, type) != HIA_IT_NONE;
  }
  hia_ast_id value = clause->body;
  while (hiaF_node(p, value)->kind == HIA_AST_BLOCK) value = hiaF_node(p, value)->a;
  const hia_ast n = *hiaF_node(p, value);
  bool is_apart = n_parts > 1 && n.kind == HIA_AST_TUPLE && n.c == n_parts;
  for (uint32_t i = 0; i < d->n_params; i++) {
    hia_ast_id param = p->extra.data[clause->params + i];
    hia_itype type = e->types[param - e->first];
    bool has_gradient = hiaF_gradient_type(&e->p->it, type) != HIA_IT_NONE;
    hia_ast_id expr = is_apart && has_gradient ? p->extra.data[n.b + part] : value;
    part += has_gradient;
    for (uint32_t end = word + hiaF_itype_words(&p->it, type); word < end; word++) {
      hia_value_id param_value = hiaG_out(e->fn, word, 0); /* the ARG */
      if (!hiaG_is_of_floats(e->g->types, hiaG_type(e->fn, param_value))) continue;
      if (!hiaG_is_scalar(hiaG_type(e->fn, param_value)))
        expect_shape(e, at, param_value, expr, param);
      at++;
    }
  }
}
