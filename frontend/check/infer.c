/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Infers types from the inside out: docs/language.md, "Typing of literals".
 *
 * The same code serves three uses: repeatedly and without messages, while results are being solved
 * (solve.c); once with messages (check.c); for constant expressions (const.c, params.c, constant.c,
 * value.c). Types are
 * left in the slots of the nodes. They may still be literal types, which become final in settle.c.
 * The slot of a node whose error was reported holds ERROR, which joins with every type, so that no
 * mistake is reported twice. */
#include "frontend/check/infer.h"
#include "frontend/check/check.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

/* ---- conditions and numbers ---- */

hia_itype hiaF_expect_bools(hia_typing *t, hia_ast_id expr, const char *what, bool is_scalar) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_is_ranked(type) && (hiaF_irank(type) == 0 || !is_scalar)) {
    hia_itype leaf = hiaF_leaf(type);
    if (leaf == HIA_BOOL || (hiaF_is_undecided(leaf) && !hiaF_is_literal(leaf))) return type;
  }
  if (hiaF_has_error(t, type)) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0303, n->start, n->end, "%s is %s, not bool", what,
                                   hiaF_type_text(t, type));
  const char *text = hiaF_quote(t->p, expr);
  if (hiaF_is_simple(type) && diag != NULL)
    hiaF_hint(t->p->diags, diag, "write %s != 0", text != NULL ? text : "...");
  if (hiaF_is_tensor(type) && hiaF_leaf(type) == HIA_BOOL && diag != NULL)
    hiaF_hint(t->p->diags, diag, "write all(%s) or any(%s)", text != NULL ? text : "...",
              text != NULL ? text : "...");
  return HIA_IT_ERROR;
}

static void expect_bool(hia_typing *t, hia_ast_id expr, const char *what) {
  hiaF_expect_bools(t, expr, what, true);
}

/* Infers an expression that must be a number; ERROR, with a report, if it is none. */
static hia_itype expect_number(hia_typing *t, hia_ast_id expr, const char *what) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_is_ranked(type) && hiaF_leaf(type) != HIA_BOOL) return type;
  if (hiaF_has_error(t, type)) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0304, n->start, n->end, "%s takes numbers, not %s", what,
                                   hiaF_type_text(t, type));
  if (type == HIA_BOOL) hiaF_hint_conversion(t, diag, hiaF_operand(t->p, expr), type, HIA_I32);
  return HIA_IT_ERROR;
}

/* ---- operators ---- */

static const char *operator_text(unsigned op) {
  switch (op) {
  case HIA_OP_ADD: return "'+'";
  case HIA_OP_SUB: return "'-'";
  case HIA_OP_MUL: return "'*'";
  case HIA_OP_DIV: return "'/'";
  case HIA_OP_REM: return "'%'";
  case HIA_OP_EQ: return "'=='";
  case HIA_OP_NE: return "'!='";
  case HIA_OP_LT: return "'<'";
  case HIA_OP_LE: return "'<='";
  case HIA_OP_GT: return "'>'";
  default: return "'>='";
  }
}

static hia_itype infer_chain(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast *n = hiaF_node(p, id);
  hia_itype type = HIA_IT_ERROR;
  for (uint32_t i = 0; i < n->c; i += 3) {
    const char *what = operator_text(p->extra.data[n->b + i]);
    uint32_t pos = p->extra.data[n->b + i + 1];
    hia_ast_id right = p->extra.data[n->b + i + 2];
    if (i == 0) type = expect_number(t, n->a, what);
    hia_itype right_type = expect_number(t, right, what);
    hia_operand left = hiaF_operands(p, id, i / 3 + 1, pos);
    type =
        hiaF_broadcast_exprs(t, left, type, hiaF_operand(p, right), right_type, pos, pos + 1, what);
  }
  return type;
}

static hia_itype infer_compare(hia_typing *t, const hia_ast *n) {
  hia_itype a = hiaF_infer(t, n->a), b = hiaF_infer(t, n->b);
  const char *what = operator_text(n->op);
  uint32_t end = n->pos + (uint32_t)strlen(what) - 2;
  if ((hiaF_itype_has(&t->p->it, a) | hiaF_itype_has(&t->p->it, b)) & HIA_HAS_ERROR)
    return HIA_BOOL;
  if (!hiaF_is_ranked(a) || !hiaF_is_ranked(b)) {
    hia_itype wrong = hiaF_is_ranked(a) ? b : a;
    hia_diag *diag = hiaF_type_error(t, HIA_E0319, n->pos, end, "%s compares scalars, not %s", what,
                                     hiaF_type_text(t, wrong));
    hiaF_hint(t->p->diags, diag,
              hiaF_is_data(wrong)    ? "take the values apart with 'match' and compare their fields"
              : hiaF_is_array(wrong) ? "compare the lengths, len(a), and then the elements"
                                     : "compare their parts, a.0 with b.0 and so on");
    return HIA_BOOL;
  }
  hia_itype join = hiaF_broadcast_exprs(t, hiaF_operand(t->p, n->a), a, hiaF_operand(t->p, n->b), b,
                                        n->pos, end, what);
  if (join == HIA_IT_ERROR) return HIA_BOOL;
  bool may_be_tensor = t->p->it.has_tensors && hiaF_has_open_rank(join);
  return hiaF_ranked(HIA_BOOL, hiaF_irank(join), may_be_tensor);
}

static hia_itype infer_logic(hia_typing *t, const hia_ast *n) {
  const char *what = n->op ? "an operand of 'or'" : "an operand of 'and'";
  expect_bool(t, n->a, what);
  for (uint32_t i = 2; i < n->c; i += 3) expect_bool(t, t->p->extra.data[n->b + i], what);
  return HIA_BOOL;
}

/* ---- tuples ---- */

static hia_itype infer_tuple(hia_typing *t, const hia_ast *n) {
  hia_itype few[16], *parts = few;
  if (n->c > HIA_LEN(few)) parts = HIA_NEW_ARRAY(t->p->arena, hia_itype, n->c);
  for (uint32_t i = 0; i < n->c; i++) parts[i] = hiaF_infer(t, t->p->extra.data[n->b + i]);
  hia_itype type = hiaF_ituple(&t->p->it, parts, n->c);
  if (type == HIA_IT_ERROR) {
    hia_diag *diag = hiaF_type_error(t, HIA_E0316, n->start, n->end,
                                     "the type of this has more than %u parts", HIA_MAX_TYPE_PARTS);
    hiaF_hint(t->p->diags, diag, "does the instantiation of a generic function end?");
  }
  return type;
}

static void field_of_no_tuple(hia_typing *t, const hia_ast *n, hia_itype base) {
  hia_diag *diag = hiaF_type_error(t, HIA_E0306, n->pos, n->end, "%s is no tuple and has no fields",
                                   hiaF_type_text(t, base));
  if (hiaF_is_data(base))
    hiaF_hint(t->p->diags, diag, "the fields of data are taken out by 'match'");
  else if (hiaF_is_array(base))
    hiaF_hint(t->p->diags, diag, "the elements of an array are a[0], a[1], and so on");
}

static hia_itype infer_field(hia_typing *t, const hia_ast *n) {
  hia_itypes *it = &t->p->it;
  hia_itype base = hiaF_settled(t, hiaF_infer(t, n->a));
  if (hiaF_is_tuple(base) && n->b < hiaF_ituple_len(it, base))
    return hiaF_ituple_part(it, base, n->b);
  if (base == HIA_IT_UNKNOWN || base == HIA_IT_ERROR) return base;
  if (hiaF_is_tuple(base))
    hiaF_type_error(t, HIA_E0306, n->pos, n->end, "%s has the fields .0 to .%u",
                    hiaF_type_text(t, base), hiaF_ituple_len(it, base) - 1);
  else
    field_of_no_tuple(t, n, base);
  return HIA_IT_ERROR;
}

/* ---- sizes in types ---- */

static void infer_size(hia_typing *t, hia_ast_id dim) {
  if (hiaF_node(t->p, dim)->kind == HIA_AST_DIM_ANY) return;
  if (hiaF_binds_size(t->p, dim)) {
    *hiaF_type_at(t, dim) = HIA_I64;
    return;
  }
  hia_itype type = hiaF_infer(t, dim);
  if (hiaF_has_error(t, type)) return;
  bool is_scalar = hiaF_is_ranked(type) && hiaF_irank(type) == 0;
  if (is_scalar && hiaF_rule_takes(HIA_RULE_INT, hiaF_leaf(type))) return;
  const hia_ast *n = hiaF_node(t->p, dim);
  hiaF_type_error(t, HIA_E0323, n->start, n->end, "a size is an i32 or i64, not %s",
                  hiaF_type_text(t, type));
}

static void infer_sizes(hia_typing *t, hia_ast_id type) { hiaF_each_size(t, type, infer_size); }

/* ---- blocks and loops ---- */

/* The meaning of a declared type. If it has too many parts, the error is reported at this use of
 * it. */
static hia_itype declared(hia_typing *t, hia_ast_id id) {
  hia_itype type = hiaF_declared_type(t->p, id);
  const hia_ast *n = hiaF_node(t->p, id);
  if (type == HIA_IT_ERROR)
    hiaF_type_error(t, HIA_E0316, n->start, n->end, "a type of more than %u parts",
                    HIA_MAX_TYPE_PARTS);
  return type;
}

void hiaF_infer_binder(hia_typing *t, hia_ast_id binder, hia_itype type) {
  const hia_ast *n = hiaF_node(t->p, binder);
  hia_itypes *it = &t->p->it;
  *hiaF_type_at(t, binder) = type;
  if (n->kind != HIA_AST_BIND_TUPLE) return;
  bool fits = hiaF_is_tuple(type) && hiaF_ituple_len(it, type) == n->c;
  if (!fits && !hiaF_is_undecided(type)) {
    hiaF_type_error(t, HIA_E0307, n->start, n->end, "%s cannot be taken apart into %u names",
                    hiaF_type_text(t, type), n->c);
    type = HIA_IT_ERROR;
  }
  for (uint32_t i = 0; i < n->c; i++)
    hiaF_infer_binder(t, t->p->extra.data[n->b + i], fits ? hiaF_ituple_part(it, type, i) : type);
}

/* The type of what a LET or LVAR binds: declared, or else settled. */
static hia_itype infer_bound(hia_typing *t, hia_ast_id id, hia_ast_id expr, hia_ast_id type,
                             const char *what) {
  hia_itype have = hiaF_infer(t, expr);
  bool is_tried = t->trial != NULL && t->trial->variable == id;
  if (type == HIA_NONE && !is_tried) return hiaF_settled(t, have);
  if (type != HIA_NONE) infer_sizes(t, type);
  hia_itype want = is_tried ? t->trial->type : declared(t, type);
  hiaF_accept_type(t, expr, have, want, what);
  return want;
}

static const char *variable_text(hia_typing *t, hia_ast_id binder) {
  if (!t->report) return "";
  const hia_ast *n = hiaF_node(t->p, binder);
  if (n->kind == HIA_AST_BIND_TUPLE || n->a == HIA_NONE) return "the value";
  return hiaR_arena_printf(t->p->arena, "'%s'", hiaF_symbol_text(t->p, n->a));
}

static hia_itype infer_block(hia_typing *t, const hia_ast *n) {
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id id = t->p->extra.data[n->b + i];
    const hia_ast let = *hiaF_node(t->p, id);
    hia_itype type = infer_bound(t, id, let.c, let.b, variable_text(t, let.a));
    *hiaF_type_at(t, id) = type;
    hiaF_infer_binder(t, let.a, type);
  }
  return hiaF_infer(t, n->a);
}

/* Checks the next values, of types `next`, against the loop's variables, of types `state`. */
static void accept_next(hia_typing *t, const hia_ast *loop, hia_ast_id value, hia_itype next,
                        hia_itype state) {
  hia_program *p = t->p;
  hia_itypes *it = &p->it;
  const hia_ast *n = hiaF_node(p, value);
  bool is_one = loop->c == 1;
  if ((hiaF_itype_has(it, next) & HIA_HAS_ERROR) || hiaF_join(it, next, state) == state) return;
  hia_diag *diag = hiaF_type_error(t, HIA_E0302, n->start, n->end, "%s is %s, but this is %s",
                                   is_one ? "the next value" : "the next value of the variables",
                                   hiaF_type_text(t, state), hiaF_type_text(t, next));
  if (diag == NULL) return;
  if (is_one) {
    hia_itype leaf = hiaF_hint_from(hiaF_leaf(next));
    if (hiaF_is_of_one_rank(next, state) && hiaF_is_dtype(leaf))
      hiaF_hint_variable(t, diag, hiaF_operand(p, value), leaf, hiaF_leaf(state),
                         p->extra.data[loop->b]);
    return;
  }
  if (!hiaF_is_tuple(next) || hiaF_ituple_len(it, next) != loop->c) return;
  for (uint32_t i = 0; i < loop->c; i++) {
    hia_itype have = hiaF_ituple_part(it, next, i), want = hiaF_ituple_part(it, state, i);
    if (hiaF_join(it, have, want) == want) continue;
    hia_operand part = {.expr = HIA_NONE};
    if (n->kind == HIA_AST_TUPLE) part = hiaF_operand(p, p->extra.data[n->b + i]);
    hia_itype leaf = hiaF_hint_from(hiaF_leaf(have));
    if (hiaF_is_of_one_rank(have, want) && hiaF_is_dtype(leaf))
      hiaF_hint_variable(t, diag, part, leaf, hiaF_leaf(want), p->extra.data[loop->b + i]);
    return;
  }
}

static hia_itype infer_loop(hia_typing *t, const hia_ast *n) {
  hia_program *p = t->p;
  hia_itype few[16], *types = few;
  if (n->c > HIA_LEN(few)) types = HIA_NEW_ARRAY(p->arena, hia_itype, n->c);
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id id = p->extra.data[n->b + i];
    const hia_ast var = *hiaF_node(p, id);
    types[i] = infer_bound(t, id, var.c, var.b, variable_text(t, id));
  }
  for (uint32_t i = 0; i < n->c; i++) *hiaF_type_at(t, p->extra.data[n->b + i]) = types[i];
  expect_bool(t, p->extra.data[n->a], "the condition");
  hia_ast_id block = p->extra.data[n->a + 1];
  hia_itype next = hiaF_infer(t, block), state = types[0];
  if (n->c > 1) {
    state = hiaF_ituple(&p->it, types, n->c);
    if (state == HIA_IT_ERROR)
      hiaF_type_error(t, HIA_E0316, n->pos, n->pos + 4, "the variables have more than %u parts",
                      HIA_MAX_TYPE_PARTS);
  }
  if (hiaF_is_final(&p->it, state)) {
    const hia_ast *b = hiaF_node(p, block);
    bool none = b->kind == HIA_AST_BLOCK; /* the error points at the value, not at the block */
    accept_next(t, n, none ? b->a : block, next, state);
  }
  return state;
}

static hia_itype infer_if(hia_typing *t, const hia_ast *n) {
  expect_bool(t, n->a, "the condition");
  hia_itype a = hiaF_infer(t, n->b), b = hiaF_infer(t, n->c);
  const hia_ast *else_part = hiaF_node(t->p, n->c);
  return hiaF_join_exprs(t, hiaF_operand(t->p, n->b), a, hiaF_operand(t->p, n->c), b,
                         else_part->start, else_part->end, "'if'");
}

/* ---- conversions and names ---- */

static hia_itype infer_convert(hia_typing *t, const hia_ast *n) {
  hia_ast_id arg = t->p->extra.data[n->b];
  hia_itype have = hiaF_infer(t, arg);
  if (hiaF_has_error(t, have)) return n->op;
  if (!hiaF_is_ranked(have)) {
    const hia_ast *a = hiaF_node(t->p, arg);
    hiaF_type_error(t, HIA_E0305, a->start, a->end, "'%s' converts scalars and tensors, not %s",
                    hiaG_dtype_name((hia_dtype)n->op), hiaF_type_text(t, have));
    return n->op;
  }
  bool is_maybe = t->p->it.has_tensors && hiaF_has_open_rank(have);
  return hiaF_ranked(n->op, hiaF_irank(have), is_maybe);
}

static hia_itype infer_name(hia_typing *t, const hia_ast *n) {
  if (n->op == HIA_REF_VAR) return *hiaF_type_at(t, n->b);
  if (n->op == HIA_REF_CONST) {
    t->uses_broken |= hiaF_decl(t->p, n->b)->broken;
    return hiaF_decl(t->p, n->b)->const_type;
  }
  if (n->op == HIA_REF_CON) return hiaF_decl(t->p, n->b)->data;
  if (n->op == HIA_REF_PARAM) {
    const hia_decl *d = hiaF_decl(t->p, n->b);
    t->uses_broken |= d->broken;
    return d->broken ? (hia_itype)HIA_IT_ERROR : d->result;
  }
  return HIA_IT_ERROR;
}

/* ---- all ---- */

static hia_itype infer(hia_typing *t, const hia_ast *n, hia_ast_id id) {
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT: return n->op != HIA_NO_SUFFIX ? n->op : (hia_itype)HIA_IT_INT;
  case HIA_AST_FLOAT: return n->op != HIA_NO_SUFFIX ? n->op : (hia_itype)HIA_IT_FLOAT;
  case HIA_AST_BOOL: return HIA_BOOL;
  case HIA_AST_NAME: return infer_name(t, n);
  case HIA_AST_TUPLE: return infer_tuple(t, n);
  case HIA_AST_ARRAY: return hiaF_infer_array(t, id);
  case HIA_AST_COMP: return hiaF_infer_comprehension(t, id);
  case HIA_AST_IF: return infer_if(t, n);
  case HIA_AST_MATCH: return hiaF_infer_match(t, id);
  case HIA_AST_LOOP: return infer_loop(t, n);
  case HIA_AST_BLOCK: return infer_block(t, n);
  case HIA_AST_CHAIN: return infer_chain(t, id);
  case HIA_AST_MATMUL: return hiaF_infer_matmul(t, id);
  case HIA_AST_LOGIC: return infer_logic(t, n);
  case HIA_AST_COMPARE: return infer_compare(t, n);
  case HIA_AST_NOT: expect_bool(t, n->a, "the operand of 'not'"); return HIA_BOOL;
  case HIA_AST_NEG: return expect_number(t, n->a, "'-'");
  case HIA_AST_CALL: {
    const hia_ast callee = *hiaF_node(t->p, n->a);
    if (callee.op == HIA_REF_BUILTIN && hiaF_tensor_builtin(callee.b))
      return hiaF_infer_tensor(t, n, &callee);
    if (callee.op == HIA_REF_BUILTIN)
      return callee.b < HIA_OP_LIMIT ? hiaF_infer_builtin(t, n, &callee)
                                     : hiaF_infer_of_arrays(t, n, &callee);
    if (callee.op == HIA_REF_CON) return hiaF_infer_construction(t, n, &callee);
    bool is_decl = hiaF_is_of_instance(&callee) || callee.op == HIA_REF_EXTERN;
    return is_decl ? hiaF_infer_call(t, id, &callee) : (hia_itype)HIA_IT_ERROR;
  }
  case HIA_AST_CONVERT: return infer_convert(t, n);
  case HIA_AST_INDEX: return hiaF_infer_index(t, n);
  case HIA_AST_SLICE: return hiaF_infer_slice(t, n);
  case HIA_AST_FIELD: return infer_field(t, n);
  default: return HIA_IT_ERROR;
  }
}

hia_itype hiaF_infer(hia_typing *t, hia_ast_id id) {
  hia_itype type = infer(t, hiaF_node(t->p, id), id);
  if (t->trial != NULL && t->trial->converted == id) type = t->trial->type;
  return *hiaF_type_at(t, id) = type;
}

hia_itype hiaF_infer_body(hia_typing *t) {
  const hia_inst *inst = hiaF_inst(t->p, t->inst);
  const hia_decl *d = hiaF_decl(t->p, inst->decl);
  for (uint32_t i = 0; i < d->n_params; i++)
    *hiaF_type_at(t, t->p->extra.data[d->params + i]) = inst->args[i];
  for (uint32_t i = 0; i < d->n_params; i++)
    infer_sizes(t, hiaF_node(t->p, t->p->extra.data[d->params + i])->b);
  inst = hiaF_inst(t->p, t->inst);
  infer_sizes(t, d->type);
  hia_itype want = inst->want != HIA_IT_NONE ? inst->want : inst->declared;
  hia_ast_id body = d->body;
  hia_itype type = hiaF_infer(t, body);
  if (want == HIA_IT_NONE) return type;
  const char *what = "";
  if (t->report && d->gradient_of != HIA_NONE)
    what = hiaR_arena_printf(t->p->arena, "the gradient of '%s'",
                             hiaF_symbol_text(t->p, hiaF_decl(t->p, d->gradient_of)->symbol));
  else if (t->report)
    what = hiaR_arena_printf(t->p->arena, "the result of '%s'", hiaF_symbol_text(t->p, d->symbol));
  hiaF_accept_type(t, body, type, want, what);
  return want;
}
