/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Evaluates constant expressions whose types are resolved: consts, and arguments of the command
 * line. Operators are evaluated by the runtime's own code (base/scalar.c). */
#include "frontend/check/constant.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

const hia_const_value *hiaF_const_value(const hia_program *p, uint32_t decl, hia_dtype dtype) {
  static const hia_const_value reported = {.state = HIA_CONST_BAD};
  const hia_decl *d = hiaF_decl(p, decl);
  if (d->values == NULL || d->values[dtype].state == HIA_CONST_NEW) return &reported;
  return &d->values[dtype];
}

static bool fault(hia_typing *t, const hia_ast *n, uint32_t end, hia_status status) {
  t->failed = true;
  if (t->fault->message == NULL)
    *t->fault = (hia_fault){HIA_E0317, n->pos, end, hiaR_status_message(status)};
  return false;
}

static bool eval_op(hia_typing *t, const hia_ast *at, unsigned op, hia_itype dtype, uint64_t imm,
                    const hia_word *in, hia_word *out) {
  hia_status status = hiaR_scalar_eval(op, (hia_dtype)dtype, imm, in, out);
  return status == HIA_OK || fault(t, at, at->pos + 1, status);
}

static bool eval1(hia_typing *t, hia_ast_id id, hia_word *out) {
  uint32_t n = 0;
  return hiaF_eval(t, id, out, &n);
}

static bool eval_chain(hia_typing *t, const hia_ast *n, hia_itype type, hia_word *out) {
  hia_word in[2];
  if (!eval1(t, n->a, &in[0])) return false;
  for (uint32_t i = 0; i < n->c; i += 3) {
    hia_ast at = *n;
    at.pos = t->p->extra.data[n->b + i + 1];
    if (!eval1(t, t->p->extra.data[n->b + i + 2], &in[1]) ||
        !eval_op(t, &at, t->p->extra.data[n->b + i], type, 0, in, &in[0]))
      return false;
  }
  *out = in[0];
  return true;
}

static bool eval_logic(hia_typing *t, const hia_ast *n, hia_word *out) {
  if (!eval1(t, n->a, out)) return false;
  for (uint32_t i = 0; i < n->c && (*out != 0) == (n->op == 0); i += 3)
    if (!eval1(t, t->p->extra.data[n->b + i + 2], out)) return false;
  return true;
}

static bool eval_call(hia_typing *t, const hia_ast *n, hia_itype type, hia_word *out) {
  unsigned op = hiaF_node(t->p, n->a)->b;
  hia_word in[3];
  for (uint32_t i = 0; i < n->c && i < HIA_LEN(in); i++)
    if (!eval1(t, t->p->extra.data[n->b + i], &in[i])) return false;
  if (op == HIA_OP_FAIL) return fault(t, n, hiaF_node(t->p, n->a)->end, HIA_FAILED);
  if (hiaR_ops[op].rule == HIA_RULE_CLASSIFY) type = *hiaF_type_at(t, t->p->extra.data[n->b]);
  return eval_op(t, n, op, type, 0, in, out);
}

static bool eval_literal(hia_typing *t, hia_ast_id id, bool negative, hia_itype type,
                         hia_word *out) {
  if (hiaF_number(t->p, hiaF_node(t->p, id), negative, (hia_dtype)type, out) == HIA_NUMBER_OK)
    return true;
  t->failed = true; /* resolving has reported why */
  return false;
}

static bool eval_neg(hia_typing *t, const hia_ast *n, hia_itype type, hia_word *out) {
  const hia_ast *a = hiaF_node(t->p, n->a);
  if ((a->kind == HIA_AST_INT || a->kind == HIA_AST_FLOAT) && !(a->flags & HIA_AST_PAREN))
    return eval_literal(t, n->a, true, type, out);
  hia_word in;
  return eval1(t, n->a, &in) && eval_op(t, n, HIA_OP_NEG, type, 0, &in, out);
}

static bool eval_field(hia_typing *t, const hia_ast *n, hia_word *out, uint32_t *len) {
  const hia_itypes *it = &t->p->it;
  hia_itype base = *hiaF_type_at(t, n->a);
  hia_word *words = HIA_NEW_ARRAY(t->p->arena, hia_word, hiaF_itype_words(it, base));
  uint32_t count = 0, skip = 0;
  if (!hiaF_eval(t, n->a, words, &count)) return false;
  for (uint32_t i = 0; i < n->b; i++) skip += hiaF_itype_words(it, hiaF_ituple_part(it, base, i));
  uint32_t parts = hiaF_itype_words(it, hiaF_ituple_part(it, base, n->b));
  memcpy(out + *len, words + skip, parts * sizeof *words);
  *len += parts;
  return true;
}

bool hiaF_eval(hia_typing *t, hia_ast_id id, hia_word *out, uint32_t *len) {
  const hia_program *p = t->p;
  const hia_ast *n = hiaF_node(p, id);
  hia_itype type = *hiaF_type_at(t, id);
  hia_word in[2], *to = out + *len;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_TUPLE:
    for (uint32_t i = 0; i < n->c; i++)
      if (!hiaF_eval(t, p->extra.data[n->b + i], out, len)) return false;
    return true;
  case HIA_AST_FIELD: return eval_field(t, n, out, len);
  case HIA_AST_IF: return eval1(t, n->a, in) && hiaF_eval(t, in[0] ? n->b : n->c, out, len);
  default: break;
  }
  ++*len;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT:
  case HIA_AST_FLOAT: return eval_literal(t, id, false, type, to);
  case HIA_AST_BOOL: *to = n->a; return true;
  case HIA_AST_NAME: {
    const hia_const_value *v = hiaF_const_value(p, n->b, (hia_dtype)type);
    *to = v->word;
    t->failed = t->failed || v->state != HIA_CONST_OK;
    return v->state == HIA_CONST_OK;
  }
  case HIA_AST_CHAIN: return eval_chain(t, n, type, to);
  case HIA_AST_LOGIC: return eval_logic(t, n, to);
  case HIA_AST_COMPARE:
    return eval1(t, n->a, &in[0]) && eval1(t, n->b, &in[1]) &&
           eval_op(t, n, n->op, *hiaF_type_at(t, n->a), 0, in, to);
  case HIA_AST_NOT:
    if (!eval1(t, n->a, in)) return false;
    *to = !in[0];
    return true;
  case HIA_AST_NEG: return eval_neg(t, n, type, to);
  case HIA_AST_CALL: return eval_call(t, n, type, to);
  case HIA_AST_CONVERT: {
    hia_ast_id arg = p->extra.data[n->b];
    hia_itype from = *hiaF_type_at(t, arg);
    if (!eval1(t, arg, in)) return false;
    if (from != type) return eval_op(t, n, HIA_OP_CAST, type, from, in, to);
    *to = in[0];
    return true;
  }
  default: HIA_BUG(p->comp, "a constant expression of kind %u", n->kind);
  }
}
