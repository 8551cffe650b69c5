/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of constant expressions that a type needs before it is inferred: axes and sizes. Each is
 * typed here by itself. */
#include "frontend/check/constant.h"
#include "frontend/check/infer.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

/* Widens *low .. *high to the nodes of a constant expression. */
static void nodes_of(const hia_program *p, hia_ast_id id, hia_ast_id *low, hia_ast_id *high) {
  const hia_ast *n = hiaF_node(p, id);
  const uint32_t *list = p->extra.data + n->b;
  if (id < *low) *low = id;
  if (id > *high) *high = id;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_IF: nodes_of(p, n->c, low, high);      /* fall through */
  case HIA_AST_COMPARE: nodes_of(p, n->b, low, high); /* fall through */
  case HIA_AST_NEG:
  case HIA_AST_NOT: nodes_of(p, n->a, low, high); break;
  case HIA_AST_CHAIN:
  case HIA_AST_LOGIC:
    nodes_of(p, n->a, low, high);
    for (uint32_t i = 2; i < n->c; i += 3) nodes_of(p, list[i], low, high);
    break;
  case HIA_AST_CALL:
    nodes_of(p, n->a, low, high);
    for (uint32_t i = 0; i < n->c; i++) nodes_of(p, list[i], low, high);
    break;
  case HIA_AST_CONVERT: nodes_of(p, list[0], low, high); break;
  default: break;
  }
}

/* The value of any constant expression that is an i32 or i64, which is typed here by itself. */
static bool evaluate_size(hia_program *p, hia_ast_id id, int64_t *value) {
  hia_ast_id low = id, high = id;
  nodes_of(p, id, &low, &high);
  hia_fault fault = {.message = NULL};
  hia_typing t = {.p = p,
                  .types = HIA_NEW_ARRAY(p->arena, hia_itype, high - low + 1),
                  .first = low,
                  .inst = HIA_NONE,
                  .force = HIA_FORCE_ALL,
                  .fault = &fault};
  hia_itype type = hiaF_infer(&t, id);
  if (t.failed || hiaF_itype_has(&p->it, type) & HIA_HAS_ERROR) return false;
  if (type == HIA_IT_INT) type = HIA_I64;
  if (type != HIA_I32 && type != HIA_I64) return false;
  hiaF_resolve(&t, id, type);
  hia_word word;
  uint32_t n = 0;
  if (t.failed || !hiaF_eval(&t, id, &word, &n)) return false;
  *value = type == HIA_I32 ? hiaR_to_i32(word) : hiaR_to_i64(word);
  return true;
}

bool hiaF_constant_size(hia_program *p, hia_ast_id id, int64_t *value) {
  const hia_ast *n = hiaF_node(p, id);
  hia_word word;
  if (n->kind == HIA_AST_INT) {
    if (n->op == HIA_F32 || n->op == HIA_F64) return false;
    if (hiaF_number(p, n, false, HIA_I64, &word) != HIA_NUMBER_OK) return false;
    *value = hiaR_to_i64(word);
    return true;
  }
  if (n->kind != HIA_AST_NAME) return hiaF_is_constant(p, id) && evaluate_size(p, id, value);
  if (n->op != HIA_REF_CONST) return false;
  hia_decl *d = hiaF_decl(p, n->b);
  hia_itype type = d->const_type;
  if (d->broken || !(type == HIA_I32 || type == HIA_I64 || type == HIA_IT_INT)) return false;
  d->used = true;
  const hia_const_value *v = hiaF_const_value(p, n->b, type == HIA_I32 ? HIA_I32 : HIA_I64);
  if (v->state != HIA_CONST_OK) return false;
  *value = hiaR_to_i64(v->word);
  return true;
}

uint64_t hiaF_axis(hia_program *p, const hia_ast *call, unsigned builtin, uint32_t rank) {
  hia_ast_id axis;
  uint32_t n = hiaF_positional(p, call, &axis);
  int64_t value = 0;
  if (builtin == HIA_BUILTIN_SHAPE && n == 2) axis = hiaF_positional_arg(p, call, 1);
  if (axis != HIA_NONE) {
    if (!hiaF_constant_size(p, axis, &value) || value < 0 || value >= HIA_MAX_RANK)
      return HIA_BAD_AXIS;
    return (uint64_t)value;
  }
  if (builtin == HIA_BUILTIN_CONCAT) return rank ? rank - 1 : 0;
  return builtin == HIA_BUILTIN_STACK || builtin == HIA_BUILTIN_SHAPE ? 0 : HIA_NONE;
}
