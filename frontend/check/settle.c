/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Final types, from the outside in, after infer.c: every expression takes the type of its place,
 * and literals are checked against it. Around slots that hold an error, all that does not depend on
 * the error is still checked. */
#include "frontend/check/constant.h"
#include "frontend/check/infer.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

static bool is_number(hia_itype type) { return type >= HIA_I32 && type <= HIA_F64; }

static void resolve_number(hia_typing *t, hia_ast_id id, bool negative, uint32_t start) {
  const hia_ast *n = hiaF_node(t->p, id);
  hia_itype type = *hiaF_type_at(t, id);
  if (!is_number(type)) return; /* an error, reported already */
  if (n->kind == HIA_AST_FLOAT && type < HIA_F32) return;
  hia_word word;
  hia_number_state state = hiaF_number(t->p, n, negative, (hia_dtype)type, &word);
  if (state == HIA_NUMBER_OK) return;
  const char *dtype = hiaG_dtype_name((hia_dtype)type);
  if (state == HIA_NUMBER_LARGE) {
    hiaF_type_error(t, HIA_E0313, start, n->end, "this number is too large for %s", dtype);
    return;
  }
  hia_diag *diag =
      hiaF_type_error(t, HIA_E0312, start, n->end, "this integer does not fit %s", dtype);
  if (type == HIA_I32 && n->op == HIA_NO_SUFFIX && n->end - start <= 40 &&
      hiaF_number(t->p, n, negative, HIA_I64, &word) == HIA_NUMBER_OK)
    hiaF_hint(t->p->diags, diag, "as an i64 it is written %.*si64", (int)(n->end - start),
              t->p->source->text + start);
}

static void resolve_const(hia_typing *t, const hia_ast *n, hia_itype type) {
  hia_decl *d = hiaF_decl(t->p, n->b);
  d->used = true;
  if (type >= HIA_N_DTYPES) return;
  const hia_const_value *v = hiaF_const_value(t->p, n->b, (hia_dtype)type);
  if (v->state == HIA_CONST_OK) return;
  t->failed = true;
  if (v->fault.message == NULL) return; /* reported */
  hia_diag *diag = hiaF_type_error(t, v->fault.code, n->start, n->end, "the const '%s' as %s: %s",
                                   hiaF_symbol_text(t->p, d->symbol),
                                   hiaG_dtype_name((hia_dtype)type), v->fault.message);
  hiaF_note(t->p->diags, diag, v->fault.start, "here");
}

static void resolve_tuple(hia_typing *t, const hia_ast *n, hia_itype type) {
  hia_itypes *it = &t->p->it;
  bool fits = hiaF_is_tuple(type) && hiaF_ituple_len(it, type) == n->c;
  for (uint32_t i = 0; i < n->c; i++)
    hiaF_resolve(t, t->p->extra.data[n->b + i],
                 fits ? hiaF_ituple_part(it, type, i) : (hia_itype)HIA_IT_ERROR);
}

static void resolve_size(hia_typing *t, hia_ast_id dim) {
  if (hiaF_node(t->p, dim)->kind != HIA_AST_DIM_ANY && !hiaF_binds_size(t->p, dim))
    hiaF_resolve(t, dim, HIA_I64);
}

void hiaF_resolve_sizes(hia_typing *t, hia_ast_id type) { hiaF_each_size(t, type, resolve_size); }

static void resolve_loop(hia_typing *t, const hia_ast *n) {
  hia_program *p = t->p;
  hia_itype *types = HIA_NEW_ARRAY(p->arena, hia_itype, n->c);
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id id = p->extra.data[n->b + i];
    types[i] = *hiaF_type_at(t, id);
    hiaF_resolve_sizes(t, hiaF_node(p, id)->b);
    hiaF_resolve(t, hiaF_node(p, id)->c, types[i]);
  }
  hiaF_resolve(t, p->extra.data[n->a], HIA_BOOL);
  hiaF_resolve(t, p->extra.data[n->a + 1], n->c == 1 ? types[0] : hiaF_ituple(&p->it, types, n->c));
}

/* Settles a call of a function that always fails, which may be called for a value of any type:
 * it gets an instance for each type. */
static void resolve_bottom_call(hia_typing *t, hia_ast_id call, hia_itype type) {
  hia_program *p = t->p;
  const hia_ast *n = hiaF_node(p, call);
  hia_itype *slot = hiaF_type_at(t, n->a);
  if (*slot == HIA_NONE || !hiaF_is_final(&p->it, type)) return;
  const hia_inst *inst = hiaF_inst(p, *slot);
  if (!inst->is_bottom || type == inst->result) return;
  uint32_t special = hiaF_instance(p, inst->decl, inst->args, type, t->inst, call);
  hiaF_add_call(p, t->inst, special);
  *slot = special;
}

/* The final type of an operand that broadcasts: the leaf of the result, and its own rank. */
static hia_itype adapted(hia_itype have, hia_itype type) {
  if (have == HIA_IT_UNKNOWN || !hiaF_is_ranked(have) || !hiaF_is_ranked(type)) return type;
  return hiaF_ranked(hiaF_leaf(type), hiaF_irank(have), false);
}

static void resolve_adapted(hia_typing *t, hia_ast_id id, hia_itype type) {
  hiaF_resolve(t, id, adapted(*hiaF_type_at(t, id), type));
}

/* The final type of argument i of a built-in of type `type`. */
static hia_itype builtin_argument(hia_typing *t, unsigned op, uint32_t i, hia_itype have,
                                  hia_itype type) {
  hia_rule rule = (hia_rule)hiaR_ops[op].rule;
  if (rule == HIA_RULE_SELECT && i == 0) return adapted(have, HIA_BOOL);
  if (rule == HIA_RULE_CLASSIFY)
    return hiaF_settled(t, hiaF_broadcast(&t->p->it, HIA_IT_FLOAT, have));
  bool is_alone = op == HIA_OP_FAIL || (rule == HIA_RULE_SHIFT && i == 1);
  return is_alone ? hiaF_settled(t, have) : adapted(have, type);
}

/* Settles an operand with a type of its own: an index, an array of which only elements are
 * taken. */
static void resolve_settled(hia_typing *t, hia_ast_id id) {
  hiaF_resolve(t, id, hiaF_settled(t, *hiaF_type_at(t, id)));
}

static hia_itype element_of(const hia_typing *t, hia_itype type) {
  if (hiaF_is_tensor(type) && hiaF_irank(type))
    return hiaF_ranked(hiaF_leaf(type), hiaF_irank(type) - 1, false);
  return hiaF_is_array(type) ? hiaF_element(&t->p->it, type) : (hia_itype)HIA_IT_ERROR;
}

static void resolve_comprehension(hia_typing *t, const hia_ast *n, hia_itype type) {
  const uint32_t *list = t->p->extra.data + n->b;
  if (n->c == 2) {
    resolve_settled(t, list[1]);
  } else { /* both ends take the variable's type */
    hia_itype end_type = hiaF_join(&t->p->it, *hiaF_type_at(t, list[1]), *hiaF_type_at(t, list[2]));
    end_type = hiaF_settled(t, end_type);
    hiaF_resolve(t, list[1], end_type);
    hiaF_resolve(t, list[2], end_type);
  }
  hiaF_resolve(t, n->a, element_of(t, type));
}

static void resolve_of_arrays(hia_typing *t, const hia_ast *n, unsigned op, hia_itype type) {
  const uint32_t *args = t->p->extra.data + n->b;
  switch (op) {
  case HIA_BUILTIN_LEN: resolve_settled(t, args[0]); break;
  case HIA_BUILTIN_SET:
    hiaF_resolve(t, args[0], type);
    resolve_settled(t, args[1]);
    hiaF_resolve(t, args[2], element_of(t, type));
    break;
  default:
    for (uint32_t i = 0; i < n->c; i++)
      if (hiaF_node(t->p, t->p->extra.data[n->b + i])->kind != HIA_AST_NAMED)
        hiaF_resolve(t, t->p->extra.data[n->b + i], type);
  }
}

static void resolve_of_tensors(hia_typing *t, const hia_ast *n, unsigned builtin, hia_itype type) {
  hia_rule rule = (hia_rule)hiaR_ops[hiaF_tensor_builtin(builtin)->op].rule;
  hia_ast_id axis;
  uint32_t n_args = hiaF_positional(t->p, n, &axis),
           n_data = n_args; /* operands of the leaf type */
  if (rule == HIA_RULE_INDEXED || rule == HIA_RULE_LABELS) n_data = 1;
  if (builtin == HIA_BUILTIN_ZEROS || builtin == HIA_BUILTIN_ONES || rule == HIA_RULE_COUNT ||
      rule == HIA_RULE_HOT || rule == HIA_RULE_SIZE || rule == HIA_RULE_POSITION)
    n_data = 0;
  if (builtin == HIA_BUILTIN_SHAPE) n_args = 1; /* the other one is the axis */
  for (uint32_t i = 0; i < n_args; i++) {
    hia_ast_id arg = hiaF_positional_arg(t->p, n, i);
    if (i < n_data)
      resolve_adapted(t, arg, type);
    else
      resolve_settled(t, arg);
  }
}

static void resolve_call(hia_typing *t, hia_ast_id call, hia_itype type) {
  const hia_program *p = t->p;
  const hia_ast *n = hiaF_node(p, call);
  const hia_ast *callee = hiaF_node(p, n->a);
  bool is_decl =
      hiaF_is_of_instance(callee) || callee->op == HIA_REF_EXTERN || callee->op == HIA_REF_CON;
  if (callee->op == HIA_REF_BUILTIN && hiaF_tensor_builtin(callee->b)) {
    resolve_of_tensors(t, n, callee->b, type);
    return;
  }
  if (callee->op == HIA_REF_BUILTIN && callee->b >= HIA_OP_LIMIT) {
    resolve_of_arrays(t, n, callee->b, type);
    return;
  }
  const hia_decl *d = is_decl ? hiaF_decl(p, callee->b) : NULL;
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id arg = p->extra.data[n->b + i];
    hia_itype have = *hiaF_type_at(t, arg), want = type;
    if (d != NULL && !d->broken && d->param_types[i] != HIA_IT_UNKNOWN)
      want = d->param_types[i];
    else if (d != NULL)
      want = hiaF_settled(t, have);
    else if (callee->op == HIA_REF_BUILTIN)
      want = builtin_argument(t, callee->b, i, have, type);
    hiaF_resolve(t, arg, want);
  }
  if (callee->op == HIA_REF_FN) resolve_bottom_call(t, call, type);
}

static void resolve_convert(hia_typing *t, const hia_ast *n) {
  hia_ast_id arg = t->p->extra.data[n->b];
  hia_itype have = *hiaF_type_at(t, arg), to = n->op;
  hia_itype leaf = hiaF_is_ranked(have) ? hiaF_leaf(have) : (hia_itype)HIA_IT_ERROR;
  if ((leaf == HIA_IT_INT && is_number(to)) ||
      (leaf == HIA_IT_FLOAT && (to == HIA_F32 || to == HIA_F64)) ||
      (leaf == HIA_IT_WHOLE && (to == HIA_I32 || to == HIA_I64)))
    hiaF_resolve(t, arg, adapted(have, to));
  else
    hiaF_resolve(t, arg, hiaF_settled(t, have));
}

static void resolve_compare(hia_typing *t, const hia_ast *n) {
  hia_itype join = hiaF_broadcast(&t->p->it, *hiaF_type_at(t, n->a), *hiaF_type_at(t, n->b));
  join = hiaF_settled(t, join);
  resolve_adapted(t, n->a, join);
  resolve_adapted(t, n->b, join);
}

static void resolve_list(hia_typing *t, const hia_ast *n, uint32_t first, uint32_t every,
                         hia_itype type) {
  for (uint32_t i = first; i < n->c; i += every) hiaF_resolve(t, t->p->extra.data[n->b + i], type);
}

void hiaF_resolve(hia_typing *t, hia_ast_id id, hia_itype type) {
  hia_program *p = t->p;
  const hia_ast *n = hiaF_node(p, id);
  hia_itype *slot = hiaF_type_at(t, id);
  if (hiaF_is_final(&p->it, *slot))
    type = *slot;
  else
    *slot = type;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT:
  case HIA_AST_FLOAT: resolve_number(t, id, false, n->start); break;
  case HIA_AST_NAME:
    if (n->op == HIA_REF_CONST) resolve_const(t, n, type);
    break;
  case HIA_AST_TUPLE: resolve_tuple(t, n, type); break;
  case HIA_AST_ARRAY:
    for (uint32_t i = 0; i < n->c; i++)
      hiaF_resolve(t, p->extra.data[n->b + i], element_of(t, type));
    break;
  case HIA_AST_COMP: resolve_comprehension(t, n, type); break;
  case HIA_AST_INDEX:
    resolve_settled(t, n->a);
    resolve_settled(t, n->b);
    break;
  case HIA_AST_SLICE:
    resolve_settled(t, n->a);
    resolve_settled(t, n->b);
    resolve_settled(t, n->c);
    break;
  case HIA_AST_IF:
    hiaF_resolve(t, n->a, HIA_BOOL);
    hiaF_resolve(t, n->b, type);
    hiaF_resolve(t, n->c, type);
    break;
  case HIA_AST_MATCH:
    hiaF_resolve(t, n->a, hiaF_settled(t, *hiaF_type_at(t, n->a)));
    resolve_list(t, n, 1, 2, type);
    break;
  case HIA_AST_LOOP: resolve_loop(t, n); break;
  case HIA_AST_BLOCK:
    for (uint32_t i = 0; i < n->c; i++) {
      hia_ast_id let = p->extra.data[n->b + i];
      hiaF_resolve_sizes(t, hiaF_node(p, let)->b);
      hiaF_resolve(t, hiaF_node(p, let)->c, *hiaF_type_at(t, let));
    }
    hiaF_resolve(t, n->a, type);
    break;
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL:
    resolve_adapted(t, n->a, type);
    for (uint32_t i = 2; i < n->c; i += 3) resolve_adapted(t, p->extra.data[n->b + i], type);
    break;
  case HIA_AST_LOGIC:
    hiaF_resolve(t, n->a, HIA_BOOL);
    resolve_list(t, n, 2, 3, HIA_BOOL);
    break;
  case HIA_AST_COMPARE: resolve_compare(t, n); break;
  case HIA_AST_NOT: hiaF_resolve(t, n->a, HIA_BOOL); break;
  case HIA_AST_NEG: {
    const hia_ast *a = hiaF_node(p, n->a);
    if ((a->kind == HIA_AST_INT || a->kind == HIA_AST_FLOAT) && !(a->flags & HIA_AST_PAREN)) {
      if (!hiaF_is_final(&p->it, *hiaF_type_at(t, n->a))) *hiaF_type_at(t, n->a) = type;
      resolve_number(t, n->a, true, n->start);
    } else {
      hiaF_resolve(t, n->a, type);
    }
    break;
  }
  case HIA_AST_CALL: resolve_call(t, id, type); break;
  case HIA_AST_CONVERT: resolve_convert(t, n); break;
  case HIA_AST_FIELD: hiaF_resolve(t, n->a, hiaF_settled(t, *hiaF_type_at(t, n->a))); break;
  default: break;
  }
}
