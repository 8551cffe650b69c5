/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of gradients: of a call `grad(f, wrt = x)(a)`, whose arguments are typed like those of
 * f. */
#include "frontend/grad/grad.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

/* The type of what a gradient is with respect to. */
static hia_itype infer_wrt(hia_typing *t, const hia_ast_grad *grad, uint32_t i, uint32_t inst) {
  const hia_program *p = t->p;
  const hia_wrt *wrt = &grad->wrt.data[i];
  if (wrt->is_param) {
    const hia_decl *param = hiaF_decl(p, wrt->i);
    t->uses_broken |= param->broken;
    return param->broken ? (hia_itype)HIA_IT_ERROR : param->result;
  }
  hia_itype type = hiaF_inst(p, inst)->args[wrt->i];
  if (hiaF_is_float(type) || type == HIA_IT_ERROR) return type;
  const hia_decl *d = hiaF_decl(p, hiaF_inst(p, inst)->decl);
  const hia_ast *at = hiaF_node(p, hiaF_wrt_node(p, grad, i));
  hia_diag *diag = hiaF_type_error(t, HIA_E0352, at->start, at->end,
                                   "the parameter '%s' of '%s' is %s: only floats have a gradient",
                                   hiaF_symbol_text(p, at->a), hiaF_symbol_text(p, d->symbol),
                                   hiaF_type_text(t, type));
  hiaF_note(p->diags, diag, hiaF_node(p, p->extra.data[d->params + wrt->i])->start, "this one");
  return HIA_IT_ERROR;
}

/* The type of the value that is differentiated, as far as it is known. ERROR: it is no float. */
static hia_itype infer_value(hia_typing *t, const hia_ast_grad *grad, uint32_t id) {
  const hia_program *p = t->p;
  const hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  hia_itype type = inst->state == HIA_INST_DONE ? inst->result
                   : d->result != HIA_IT_NONE   ? d->result
                                                : hiaF_view(&t->p->it, inst->result);
  bool is_endless = inst->state == HIA_INST_DONE && inst->is_bottom;
  if (!is_endless && (type == HIA_IT_UNKNOWN || (hiaF_is_float(type) && hiaF_irank(type) == 0)))
    return type;
  if (hiaF_itype_has(&p->it, type) & (HIA_HAS_ERROR | HIA_HAS_UNKNOWN)) return HIA_IT_ERROR;
  const hia_ast *at = hiaF_node(p, grad->fn);
  const char *name = hiaF_symbol_text(p, d->symbol);
  if (is_endless) {
    hia_diag *diag = hiaF_type_error(t, HIA_E0353, at->start, at->end,
                                     "'%s' always fails: it has no result to differentiate", name);
    hiaF_note(p->diags, diag, d->pos, "defined here");
    return HIA_IT_ERROR;
  }
  hia_diag *diag = hiaF_type_error(t, HIA_E0353, at->start, at->end,
                                   "the result of '%s' is %s: only an f32 or f64 is differentiated",
                                   name, hiaF_type_text(t, type));
  if (hiaF_is_float(type))
    hiaF_hint(p->diags, diag, "differentiate a function that gives one number of it, as its sum");
  hiaF_note(p->diags, diag, d->pos, "defined here");
  return HIA_IT_ERROR;
}

/* The type of a call of a gradient; `id`: the instance of its function. */
hia_itype hiaF_infer_gradient(hia_typing *t, const hia_ast *callee, uint32_t id) {
  hia_program *p = t->p;
  hia_ast_grad grad = p->grads.data[callee->c];
  hia_itype few[16], *parts = few, gradient = HIA_IT_ERROR;
  if (grad.wrt.len > HIA_LEN(few)) parts = HIA_NEW_ARRAY(p->arena, hia_itype, grad.wrt.len);
  hia_itype value = infer_value(t, &grad, id);
  bool has_error = value == HIA_IT_ERROR;
  for (uint32_t i = 0; i < grad.wrt.len; i++) {
    parts[i] = infer_wrt(t, &grad, i, id);
    has_error |= parts[i] == HIA_IT_ERROR;
  }
  if (has_error) return HIA_IT_ERROR;
  if (grad.wrt.len > 0)
    gradient = grad.wrt.len == 1 ? parts[0] : hiaF_ituple(&p->it, parts, grad.wrt.len);
  if (gradient != HIA_IT_ERROR && grad.has_value)
    gradient = hiaF_ituple(&p->it, (hia_itype[]){value, gradient}, 2);
  if (gradient == HIA_IT_ERROR)
    hiaF_type_error(t, HIA_E0316, callee->start, callee->end, "the gradient has more than %u parts",
                    HIA_MAX_TYPE_PARTS);
  return gradient;
}
