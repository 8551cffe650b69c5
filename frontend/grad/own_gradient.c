/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions that bring their own gradient: `fn f(x: f64) = ... gradient(g, y) = ...`.
 *
 * The parser has made the clause a function f.gradient(x, g, y), whose parameters g and y have no
 * types (parse.c). Each instance of f gives it an instance: g has the type of the gradient of f's
 * result, y that of the result, and the value must have that of the gradients of f's parameters.
 * So it is found when f's instance is checked: its result is known by then. */
#include "graph/ir/own_gradient.h"
#include "frontend/grad/grad.h"
#include "frontend/kit/instance.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"

/* ---- what has floats that no clause could give a gradient ---- */

/* True if the type is an array or data with floats in it, or has such a part. `seen`: declarations
 * of the data types that were looked at. */
static bool hides_floats(const hia_program *p, hia_itype type, bool is_inside, hia_u32vec *seen) {
  const hia_itypes *it = &p->it;
  if (hiaF_is_ranked(type)) return is_inside && hiaF_is_float(type);
  if (hiaF_is_array(type)) return hides_floats(p, hiaF_element(it, type), true, seen);
  for (uint32_t i = 0; hiaF_is_tuple(type) && i < hiaF_ituple_len(it, type); i++)
    if (hides_floats(p, hiaF_ituple_part(it, type, i), is_inside, seen)) return true;
  if (!hiaF_is_data(type)) return false;
  for (uint32_t i = 0; i < seen->len; i++)
    if (seen->data[i] == type) return false;
  hiaR_push(p->arena, seen, type);
  for (uint32_t c = 0; c < hiaF_n_cons(p, type); c++) {
    const hia_decl *con = hiaF_cons(p, type) + c;
    for (uint32_t i = 0; i < con->n_params; i++)
      if (hides_floats(p, con->param_types[i], true, seen)) return true;
  }
  return false;
}

/* Reports the first parameter or result that no clause could give a gradient; false if there is
 * one. */
static bool check_hidden(hia_program *p, const hia_decl *d, const hia_itype *params,
                         hia_itype result) {
  for (uint32_t i = 0; i <= d->n_params; i++) {
    bool is_result = i == d->n_params;
    hia_itype type = is_result ? result : params[i];
    hia_u32vec seen = {0};
    if (!hides_floats(p, type, false, &seen)) continue;
    uint32_t at = is_result ? HIA_NONE : p->extra.data[d->params + i];
    const char *what = is_result ? "the result"
                                 : hiaR_arena_printf(p->arena, "the parameter '%s'",
                                                     hiaF_symbol_text(p, hiaF_node(p, at)->a));
    hia_diag *diag =
        hiaF_error(p->diags, HIA_E0358, is_result ? d->pos : hiaF_node(p, at)->start,
                   is_result ? d->end : hiaF_node(p, at)->end,
                   "'%s' has a gradient of its own, but %s is %s, which has floats in it",
                   hiaF_symbol_text(p, d->symbol), what, hiaF_itype_text(&p->it, type));
    hiaF_hint(p->diags, diag, "make floats parameters or results of their own");
    return false;
  }
  return true;
}

static bool check_floats(hia_program *p, const hia_decl *d, hia_itype of_params,
                         hia_itype of_result) {
  if (of_params != HIA_IT_NONE && of_result != HIA_IT_NONE) return true;
  const hia_decl *clause = hiaF_decl(p, d->gradient);
  hiaF_error(p->diags, HIA_E0358, clause->pos, clause->end,
             of_result == HIA_IT_NONE ? "'%s' has no gradient: there are no floats in its result"
                                      : "'%s' has no gradient: no parameter of it has floats",
             hiaF_symbol_text(p, d->symbol));
  return false;
}

/* ---- instances ---- */

/* Returns the instance of a clause. It is HIA_NONE after an error, which is reported, and where
 * there are no floats to have gradients. */
static uint32_t instance_of(hia_program *p, const hia_decl *d, const hia_itype *params,
                            hia_itype result, uint32_t caller, hia_ast_id call, bool *is_wrong) {
  const hia_decl *clause = hiaF_decl(p, d->gradient);
  *is_wrong = true;
  if (clause->broken || !check_hidden(p, d, params, result)) return HIA_NONE;
  hia_itype of_params = hiaF_gradient_of_all(&p->it, params, d->n_params);
  hia_itype of_result = hiaF_gradient_type(&p->it, result);
  bool has_some = of_params != HIA_IT_NONE && of_result != HIA_IT_NONE;
  if (!d->generic && !check_floats(p, d, of_params, of_result)) return HIA_NONE;
  *is_wrong = false;
  if (!has_some) return HIA_NONE; /* another instance of a generic function may have some */
  hia_itype *args = HIA_NEW_ARRAY(p->arena, hia_itype, clause->n_params);
  for (uint32_t i = 0; i < d->n_params; i++) args[i] = params[i];
  args[d->n_params] = of_result;
  if (clause->n_params > d->n_params + 1) args[d->n_params + 1] = result;
  uint32_t inst = hiaF_instance(p, d->gradient, args, HIA_IT_NONE, caller, call);
  *is_wrong = inst == HIA_NONE;
  if (*is_wrong)
    hiaF_error(p->diags, HIA_E0315, clause->pos, clause->end,
               "the instantiation of '%s' does not end: more than %u instances",
               hiaF_symbol_text(p, d->symbol), HIA_MAX_INSTANCES);
  return inst;
}

void hiaF_own_gradient(hia_program *p, uint32_t id) {
  const hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  if (d->gradient == HIA_NONE || !hiaF_is_final(&p->it, inst->result)) return;
  uint32_t caller = d->generic ? inst->caller : HIA_NONE;
  bool is_wrong;
  uint32_t clause = instance_of(p, d, inst->args, inst->result, caller, inst->call, &is_wrong);
  hia_inst *changed = hiaF_inst(p, id);
  changed->failed |= is_wrong;
  changed->gradient = clause;
  if (clause != HIA_NONE) hiaR_push(p->arena, &changed->callees, clause);
}

void hiaF_own_gradient_of_extern(hia_program *p, uint32_t decl) {
  const hia_decl *d = hiaF_decl(p, decl);
  bool is_wrong;
  if (d->gradient == HIA_NONE || d->broken || !hiaF_is_final(&p->it, d->result)) return;
  uint32_t inst = instance_of(p, d, d->param_types, d->result, HIA_NONE, HIA_NONE, &is_wrong);
  hiaF_decl(p, decl)->gradient_inst = inst;
  hiaF_decl(p, decl)->broken |= is_wrong;
}
