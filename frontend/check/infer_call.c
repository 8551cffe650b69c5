/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of calls: of built-ins on scalars, of constructors, of functions and of gradients. */
#include "frontend/check/infer.h"
#include "frontend/grad/grad.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

/* ---- built-ins ---- */

/* Infers an argument of a built-in. Reports it and returns ERROR if its type is not accepted. */
static hia_itype infer_argument(hia_typing *t, const hia_op_info *info, hia_rule rule,
                                hia_ast_id arg) {
  static const char *const wants[] = {
      [HIA_RULE_NUM] = "numbers",           [HIA_RULE_INT] = "integers",
      [HIA_RULE_BITS] = "integers or bool", [HIA_RULE_FLOAT] = "floats",
      [HIA_RULE_SHIFT] = "integers",        [HIA_RULE_CLASSIFY] = "floats",
      [HIA_RULE_SELECT] = "scalars",
  };
  hia_itype have = hiaF_infer(t, arg);
  bool may_be_tensor = info != &hiaR_ops[HIA_OP_FAIL];
  if (hiaF_is_ranked(have) && (hiaF_irank(have) == 0 || may_be_tensor) &&
      hiaF_rule_takes(rule, hiaF_leaf(have)))
    return have;
  if (hiaF_has_error(t, have)) return HIA_IT_ERROR;
  const hia_ast *a = hiaF_node(t->p, arg);
  hia_diag *diag = hiaF_type_error(t, HIA_E0305, a->start, a->end, "'%s' takes %s, not %s",
                                   info->name, wants[rule], hiaF_type_text(t, have));
  hia_itype to = rule == HIA_RULE_FLOAT || rule == HIA_RULE_CLASSIFY ? HIA_F64
                 : rule == HIA_RULE_NUM && have == HIA_BOOL          ? HIA_I32
                                                                     : HIA_I64;
  have = hiaF_hint_from(have);
  if (rule != HIA_RULE_SELECT && hiaF_is_dtype(have))
    hiaF_hint_conversion(t, diag, hiaF_operand(t->p, arg), have, to);
  return HIA_IT_ERROR;
}

hia_itype hiaF_infer_builtin(hia_typing *t, const hia_ast *n, const hia_ast *callee) {
  unsigned op = callee->b;
  const hia_op_info *info = &hiaR_ops[op];
  hia_rule rule = op == HIA_OP_FAIL ? HIA_RULE_INT : (hia_rule)info->rule;
  bool is_of_floats = rule == HIA_RULE_FLOAT || rule == HIA_RULE_CLASSIFY;
  hia_itype type = is_of_floats ? HIA_IT_FLOAT : HIA_IT_BOTTOM, side_type = HIA_IT_BOTTOM;
  hia_operand before = {.expr = HIA_NONE};
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id arg = t->p->extra.data[n->b + i];
    if (rule == HIA_RULE_SELECT && i == 0) {
      side_type = hiaF_expect_bools(t, arg, "the condition", false);
      continue;
    }
    hia_itype have = infer_argument(t, info, rule, arg);
    if (rule == HIA_RULE_SHIFT && i == 1) { /* the count has a type of its own */
      side_type = have;
      continue;
    }
    if (have == HIA_IT_ERROR) {
      type = HIA_IT_ERROR;
      continue;
    }
    const hia_ast *a = hiaF_node(t->p, arg);
    const char *what = t->report ? hiaR_arena_printf(t->p->arena, "'%s'", info->name) : "";
    hia_operand operand = hiaF_operand(t->p, arg);
    hia_itype join = hiaF_broadcast_exprs(t, before, type, operand, have, a->start, a->end, what);
    if (join != type) before = operand; /* it decides the type so far: the others adapt */
    type = join;
  }
  if (op == HIA_OP_FAIL) return HIA_IT_BOTTOM;
  if (type == HIA_IT_ERROR || side_type == HIA_IT_ERROR) return type;
  if (type == HIA_IT_UNKNOWN) return rule == HIA_RULE_CLASSIFY ? (hia_itype)HIA_BOOL : type;
  /* The ranks of conditions and counts broadcast, too. */
  hia_itype leaf = hiaF_leaf(type);
  uint32_t rank = hiaF_irank(type);
  if (hiaF_irank(side_type) > rank) rank = hiaF_irank(side_type);
  bool is_maybe =
      t->p->it.has_tensors &&
      (hiaF_has_open_rank(type) || (hiaF_has_open_rank(side_type) && side_type != HIA_IT_BOTTOM));
  bool is_of_integers = rule == HIA_RULE_INT || rule == HIA_RULE_BITS || rule == HIA_RULE_SHIFT;
  if (rule == HIA_RULE_CLASSIFY) leaf = HIA_BOOL;
  if (is_of_integers && leaf == HIA_IT_INT) leaf = HIA_IT_WHOLE;
  if (is_of_integers && leaf == HIA_IT_INT_U) leaf = HIA_IT_WHOLE_U;
  return hiaF_ranked(leaf, rank, is_maybe);
}

/* ---- constructors and functions ---- */

static const char *param_text(hia_typing *t, const hia_decl *d, uint32_t i) {
  if (!t->report || d->broken) return "";
  const hia_program *p = t->p;
  return hiaR_arena_printf(p->arena, "the %s '%s' of '%s'",
                           d->kind == HIA_DECL_CON ? "field" : "parameter",
                           hiaF_symbol_text(p, hiaF_node(p, p->extra.data[d->params + i])->a),
                           hiaF_symbol_text(p, d->symbol));
}

/* The types of the fields are declared. */
hia_itype hiaF_infer_construction(hia_typing *t, const hia_ast *n, const hia_ast *callee) {
  const hia_program *p = t->p;
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id arg = p->extra.data[n->b + i];
    hia_itype have = hiaF_infer(t, arg);
    const hia_decl *d = hiaF_decl(p, callee->b);
    hiaF_accept_type(t, arg, have, d->param_types[i], param_text(t, d, i));
  }
  return hiaF_decl(p, callee->b)->data;
}

/* The type of a call while its instance, or the type of that, is not known. */
static hia_itype infer_unknown(const hia_decl *d, bool is_grad, hia_itype otherwise) {
  return is_grad || d->result == HIA_IT_NONE ? otherwise : d->result;
}

hia_itype hiaF_infer_call(hia_typing *t, hia_ast_id call, const hia_ast *callee) {
  hia_program *p = t->p;
  const hia_ast *n = hiaF_node(p, call);
  uint32_t decl = callee->b;
  bool is_grad = callee->op == HIA_REF_GRAD;
  hia_itype few[16], *args = few;
  if (n->c > HIA_LEN(few)) args = HIA_NEW_ARRAY(p->arena, hia_itype, n->c);
  uint32_t has = 0;
  *hiaF_type_at(t, n->a) = HIA_NONE;
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id arg = p->extra.data[n->b + i];
    hia_itype have = hiaF_infer(t, arg);
    const hia_decl *d = hiaF_decl(p, decl);
    hia_itype want = d->broken ? HIA_IT_ERROR : d->param_types[i];
    if (want == HIA_IT_UNKNOWN) {
      args[i] = hiaF_settled(t, have);
      has |= hiaF_itype_has(&p->it, args[i]);
    } else {
      hiaF_accept_type(t, arg, have, want, param_text(t, d, i));
      args[i] = want;
    }
  }
  const hia_decl *d = hiaF_decl(p, decl);
  t->uses_broken |= d->broken;
  if (d->broken || (has & HIA_HAS_ERROR)) return infer_unknown(d, is_grad, HIA_IT_ERROR);
  if (d->kind == HIA_DECL_EXTERN) return d->result;
  if (has != 0) return infer_unknown(d, is_grad, HIA_IT_UNKNOWN);
  uint32_t id = t->trial != NULL ? hiaF_known_instance(p, decl, args, HIA_IT_NONE)
                                 : hiaF_instance(p, decl, args, HIA_IT_NONE, t->inst, call);
  if (t->trial != NULL && (id == HIA_NONE || hiaF_inst(p, id)->state != HIA_INST_DONE))
    return infer_unknown(d, is_grad, HIA_IT_UNKNOWN);
  if (id == HIA_NONE) {
    hiaF_type_error(t, HIA_E0315, callee->start, callee->end,
                    "the instantiation of '%s' does not end: more than %u instances",
                    hiaF_symbol_text(p, d->symbol), HIA_MAX_INSTANCES);
    return HIA_IT_ERROR;
  }
  *hiaF_type_at(t, n->a) = id;
  if (t->trial == NULL) hiaF_add_call(p, t->inst, id);
  if (is_grad) return hiaF_infer_gradient(t, callee, id);
  const hia_inst *inst = hiaF_inst(p, id);
  if (inst->state == HIA_INST_DONE) return inst->is_bottom ? HIA_IT_BOTTOM : inst->result;
  return d->result != HIA_IT_NONE ? d->result : hiaF_view(&p->it, inst->result);
}
