/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Infers types from the inside out: docs/language.md, "Typing of literals".
 *
 * The same code serves three uses: repeatedly and without messages, while results are being solved
 * (solve.c); once with messages (check.c); for constant expressions (const.c, value.c). Types are
 * left in the slots of the nodes. They may still be literal types, which become final in settle.c.
 * The slot of a node whose error was reported holds ERROR, which joins with every type, so that no
 * mistake is reported twice. */
#include "frontend/syntax/ast.h"

/* ---- messages ---- */

hia_diag *hiaF_type_error(hia_typing *t, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) {
  t->failed = true;
  t->n_errors++;
  if (!t->report && t->fault == NULL) return NULL;
  va_list args;
  va_start(args, fmt);
  hia_text text;
  hiaR_text_init(&text, t->p->arena);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  if (t->fault == NULL) return hiaF_error(t->p->diags, code, start, end, "%s", text.data);
  if (t->fault->message == NULL) *t->fault = (hia_fault){code, start, end, text.data};
  return NULL;
}

const char *hiaF_quote(const hia_program *p, hia_ast_id expr) {
  return hiaF_quote_bytes(p, hiaF_node(p, expr)->start, hiaF_node(p, expr)->end);
}

const char *hiaF_quote_bytes(const hia_program *p, uint32_t start, uint32_t end) {
  const char *text = p->source->text + start;
  uint32_t len = end - start;
  if (len > 40 || memchr(text, '\n', len) != NULL || memchr(text, '#', len) != NULL) return NULL;
  return hiaR_arena_printf(p->arena, "%.*s", (int)len, text);
}

static const char *type_text(hia_typing *t, hia_itype type) {
  return hiaF_itype_text(&t->p->it, type);
}

static bool is_dtype(hia_itype t) { return t < HIA_N_DTYPES; }
static bool is_literal(hia_itype t) { return t >= HIA_IT_INT && t <= HIA_IT_WHOLE_U; }
static bool is_whole(hia_itype t) { return t == HIA_IT_WHOLE || t == HIA_IT_WHOLE_U; }
static bool is_of_one_rank(hia_itype a, hia_itype b) {
  return hiaF_is_ranked(a) && hiaF_is_ranked(b) && hiaF_irank(a) == hiaF_irank(b);
}
/* The type that hints convert from. */
static hia_itype named(hia_itype t) { return is_whole(t) ? (hia_itype)HIA_I32 : t; }

/* Hints to convert the narrower of two operands. For literals, whose type is open, the conversion
 * is to f64 or i32. */
static void hint_mixed(hia_typing *t, hia_diag *diag, hia_operand left, hia_itype a,
                       hia_operand right, hia_itype b) {
  if (!hiaF_is_ranked(a) || !hiaF_is_ranked(b)) return;
  if (hiaF_irank(a) && hiaF_irank(b) && hiaF_irank(a) != hiaF_irank(b)) return;
  a = hiaF_leaf(a), b = hiaF_leaf(b);
  if (hiaF_join(&t->p->it, a, b) != HIA_IT_ERROR) return; /* it is the ranks that differ */
  if (a == HIA_IT_FLOAT || a == HIA_IT_FLOAT_U) a = HIA_F64;
  if (b == HIA_IT_FLOAT || b == HIA_IT_FLOAT_U) b = HIA_F64;
  if (is_literal(a)) a = HIA_I32;
  if (is_literal(b)) b = HIA_I32;
  if (!is_dtype(a) || !is_dtype(b) || a == b) return;
  if (a > b)
    hiaF_hint_conversion(t, diag, right, b, a);
  else
    hiaF_hint_conversion(t, diag, left, a, b);
}

static hia_itype combine(hia_typing *t, hia_itype join, hia_operand left, hia_itype left_type,
                         hia_operand right, hia_itype right_type, uint32_t start, uint32_t end,
                         const char *what) {
  hia_itypes *it = &t->p->it;
  if (join != HIA_IT_ERROR) return join;
  if ((hiaF_itype_has(it, left_type) | hiaF_itype_has(it, right_type)) & HIA_HAS_ERROR) return join;
  hia_diag *diag = hiaF_type_error(t, HIA_E0301, start, end, "%s mixes %s and %s", what,
                                   type_text(t, left_type), type_text(t, right_type));
  if (diag != NULL) hint_mixed(t, diag, left, left_type, right, right_type);
  return join;
}

hia_itype hiaF_join_exprs(hia_typing *t, hia_operand left, hia_itype left_type, hia_operand right,
                          hia_itype right_type, uint32_t start, uint32_t end, const char *what) {
  hia_itype join = hiaF_join(&t->p->it, left_type, right_type);
  return combine(t, join, left, left_type, right, right_type, start, end, what);
}

hia_itype hiaF_broadcast_exprs(hia_typing *t, hia_operand left, hia_itype left_type,
                               hia_operand right, hia_itype right_type, uint32_t start,
                               uint32_t end, const char *what) {
  hia_itype join = hiaF_broadcast(&t->p->it, left_type, right_type);
  return combine(t, join, left, left_type, right, right_type, start, end, what);
}

void hiaF_accept_type(hia_typing *t, hia_ast_id expr, hia_itype have, hia_itype want,
                      const char *what) {
  hia_itypes *it = &t->p->it;
  if ((hiaF_itype_has(it, have) | hiaF_itype_has(it, want)) & HIA_HAS_ERROR) return;
  if (hiaF_join(it, have, want) == want) return;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0302, n->start, n->end, "%s is %s, but this is %s", what,
                                   type_text(t, want), type_text(t, have));
  if (!is_of_one_rank(have, want)) return;
  have = named(hiaF_leaf(have)), want = hiaF_leaf(want);
  if (is_dtype(have)) hiaF_hint_conversion(t, diag, hiaF_operand(t->p, expr), have, want);
}

/* ---- conditions and numbers ---- */

static bool is_open(hia_itype t) { return t >= HIA_IT_UNKNOWN && t <= HIA_IT_ERROR; }

/* `scalar`: of rank 0. Returns the type. */
static hia_itype expect_bools(hia_typing *t, hia_ast_id expr, const char *what, bool scalar) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_is_ranked(type) && (hiaF_irank(type) == 0 || !scalar)) {
    hia_itype leaf = hiaF_leaf(type);
    if (leaf == HIA_BOOL || (is_open(leaf) && !is_literal(leaf))) return type;
  }
  if (hiaF_itype_has(&t->p->it, type) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0303, n->start, n->end, "%s is %s, not bool", what,
                                   type_text(t, type));
  const char *text = hiaF_quote(t->p, expr);
  if (hiaF_is_simple(type) && diag != NULL)
    hiaF_hint(t->p->diags, diag, "write %s != 0", text != NULL ? text : "...");
  if (hiaF_is_tensor(type) && hiaF_leaf(type) == HIA_BOOL && diag != NULL)
    hiaF_hint(t->p->diags, diag, "write all(%s) or any(%s)", text != NULL ? text : "...",
              text != NULL ? text : "...");
  return HIA_IT_ERROR;
}

static void expect_bool(hia_typing *t, hia_ast_id expr, const char *what) {
  expect_bools(t, expr, what, true);
}

/* Infers an expression that must be a number; ERROR, with a report, if it is none. */
static hia_itype expect_number(hia_typing *t, hia_ast_id expr, const char *what) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_is_ranked(type) && hiaF_leaf(type) != HIA_BOOL) return type;
  if (hiaF_itype_has(&t->p->it, type) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0304, n->start, n->end, "%s takes numbers, not %s", what,
                                   type_text(t, type));
  if (type == HIA_BOOL) hiaF_hint_conversion(t, diag, hiaF_operand(t->p, expr), type, HIA_I32);
  return HIA_IT_ERROR;
}

bool hiaF_rule_takes(hia_rule rule, hia_itype type) {
  if (is_dtype(type)) return hiaR_rule_takes(rule, (hia_dtype)type);
  if (!is_literal(type)) return is_open(type);
  bool is_float = type == HIA_IT_FLOAT || type == HIA_IT_FLOAT_U;
  if (is_whole(type)) return hiaR_rule_takes(rule, HIA_I64);
  return (!is_float && hiaR_rule_takes(rule, HIA_I64)) || hiaR_rule_takes(rule, HIA_F64);
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
                                     type_text(t, wrong));
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
                                   type_text(t, base));
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
    hiaF_type_error(t, HIA_E0306, n->pos, n->end, "%s has the fields .0 to .%u", type_text(t, base),
                    hiaF_ituple_len(it, base) - 1);
  else
    field_of_no_tuple(t, n, base);
  return HIA_IT_ERROR;
}

/* ---- blocks and loops ---- */

hia_itype hiaF_declared_type(hia_program *p, hia_ast_id id) {
  const hia_ast n = *hiaF_node(p, id);
  if (n.kind == HIA_AST_TYPE_DTYPE) return n.op;
  if (n.kind == HIA_AST_TYPE_NAME) {
    uint32_t decl = p->symbols.list.data[n.a].type;
    return decl == HIA_NONE ? (hia_itype)HIA_IT_ERROR : hiaF_decl(p, decl)->data;
  }
  if (n.kind == HIA_AST_TYPE_TENSOR) return hiaF_ranked(n.op, n.c, false);
  if (n.kind == HIA_AST_TYPE_ARRAY) {
    hia_itype element = hiaF_declared_type(p, n.a);
    return element == HIA_IT_ERROR ? element : hiaF_iarray(&p->it, element);
  }
  if (n.kind != HIA_AST_TYPE_TUPLE) return HIA_IT_ERROR;
  hia_itype *parts = HIA_NEW_ARRAY(p->arena, hia_itype, n.c);
  for (uint32_t i = 0; i < n.c; i++) parts[i] = hiaF_declared_type(p, p->extra.data[n.b + i]);
  return hiaF_ituple(&p->it, parts, n.c);
}

/* A declared type. If it has too many parts, the error is reported at this use of it. */
static hia_itype declared(hia_typing *t, hia_ast_id id) {
  hia_itype type = hiaF_declared_type(t->p, id);
  const hia_ast *n = hiaF_node(t->p, id);
  if (type == HIA_IT_ERROR)
    hiaF_type_error(t, HIA_E0316, n->start, n->end, "a type of more than %u parts",
                    HIA_MAX_TYPE_PARTS);
  return type;
}

static void bind(hia_typing *t, hia_ast_id binder, hia_itype type) {
  const hia_ast *n = hiaF_node(t->p, binder);
  hia_itypes *it = &t->p->it;
  *hiaF_type_at(t, binder) = type;
  if (n->kind != HIA_AST_BIND_TUPLE) return;
  bool fits = hiaF_is_tuple(type) && hiaF_ituple_len(it, type) == n->c;
  if (!fits && !is_open(type)) {
    hiaF_type_error(t, HIA_E0307, n->start, n->end, "%s cannot be taken apart into %u names",
                    type_text(t, type), n->c);
    type = HIA_IT_ERROR;
  }
  for (uint32_t i = 0; i < n->c; i++)
    bind(t, t->p->extra.data[n->b + i], fits ? hiaF_ituple_part(it, type, i) : type);
}

/* The type of what a LET or LVAR binds: declared, or else settled. */
static hia_itype infer_bound(hia_typing *t, hia_ast_id id, hia_ast_id expr, hia_ast_id type,
                             const char *what) {
  hia_itype have = hiaF_infer(t, expr);
  bool is_tried = t->trial != NULL && t->trial->variable == id;
  if (type == HIA_NONE && !is_tried) return hiaF_settled(t, have);
  if (type != HIA_NONE) hiaF_infer_sizes(t, type);
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
    bind(t, let.a, type);
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
                                   type_text(t, state), type_text(t, next));
  if (diag == NULL) return;
  if (is_one) {
    hia_itype leaf = named(hiaF_leaf(next));
    if (is_of_one_rank(next, state) && is_dtype(leaf))
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
    hia_itype leaf = named(hiaF_leaf(have));
    if (is_of_one_rank(have, want) && is_dtype(leaf))
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
  const hia_ast *other = hiaF_node(t->p, n->c);
  return hiaF_join_exprs(t, hiaF_operand(t->p, n->b), a, hiaF_operand(t->p, n->c), b, other->start,
                         other->end, "'if'");
}

/* ---- arrays ---- */

/* Infers an expression that must be an array or a tensor; settles it. UNKNOWN, or ERROR with a
 * report, if it is none. */
static hia_itype expect_array(hia_typing *t, hia_ast_id expr, const char *fmt) {
  hia_itype type = hiaF_settled(t, hiaF_infer(t, expr));
  if (hiaF_is_array(type) || type == HIA_IT_UNKNOWN) return type;
  if (hiaF_is_tensor(type) && hiaF_irank(type)) return type;
  if (hiaF_itype_has(&t->p->it, type) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0322, n->start, n->end, fmt, type_text(t, type));
  const char *text = hiaF_quote(t->p, expr);
  if (hiaF_is_tuple(type))
    hiaF_hint(t->p->diags, diag, "the parts of a tuple are %s.0, %s.1, and so on",
              text != NULL ? text : "t", text != NULL ? text : "t");
  else if (hiaF_is_data(type))
    hiaF_hint(t->p->diags, diag, "its fields are taken out by 'match'");
  return HIA_IT_ERROR;
}

/* Infers an index, or an end of a slice or a range, which is an i32 or i64. */
static hia_itype expect_index(hia_typing *t, hia_ast_id expr, const char *what, bool scalar) {
  hia_itype type = hiaF_infer(t, expr);
  if (hiaF_is_ranked(type) && (hiaF_irank(type) == 0 || !scalar) &&
      hiaF_rule_takes(HIA_RULE_INT, hiaF_leaf(type)))
    return type;
  if (hiaF_itype_has(&t->p->it, type) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  const hia_ast *n = hiaF_node(t->p, expr);
  hia_diag *diag = hiaF_type_error(t, HIA_E0323, n->start, n->end, "%s is an i32 or i64, not %s",
                                   what, type_text(t, type));
  if (is_dtype(type)) hiaF_hint_conversion(t, diag, hiaF_operand(t->p, expr), type, HIA_I64);
  return HIA_IT_ERROR;
}

/* The element of an array, or of a tensor along its first axis. */
static hia_itype element_of(const hia_typing *t, hia_itype type) {
  if (hiaF_is_array(type)) return hiaF_element(&t->p->it, type);
  if (!hiaF_is_tensor(type)) return type;
  return hiaF_ranked(hiaF_leaf(type), hiaF_irank(type) - 1, false);
}

/* The type of elements in a row: an array or, of scalars and tensors, a tensor. ERROR with a
 * report, if it has too many parts. */
static hia_itype array_of(hia_typing *t, hia_itype element, uint32_t start, uint32_t end) {
  if (hiaF_itype_has(&t->p->it, element) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  hia_itype type = hiaF_in_a_row(&t->p->it, element);
  if (type == HIA_IT_ERROR && hiaF_is_ranked(element)) {
    hiaF_type_error(t, HIA_E0316, start, end, "this is a tensor of more than %d axes",
                    HIA_MAX_RANK);
  } else if (type == HIA_IT_ERROR) {
    hia_diag *diag = hiaF_type_error(t, HIA_E0316, start, end,
                                     "the type of this has more than %u parts", HIA_MAX_TYPE_PARTS);
    hiaF_hint(t->p->diags, diag, "does the instantiation of a generic function end?");
  }
  return type;
}

static hia_itype infer_array(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, id);
  hia_itype type = HIA_IT_ERROR;
  hia_operand before = {.expr = HIA_NONE}; /* as in hiaF_infer_match */
  for (uint32_t i = 0; i < n.c; i++) {
    hia_ast_id element = p->extra.data[n.b + i];
    hia_itype have = hiaF_infer(t, element);
    const hia_ast *e = hiaF_node(p, element);
    hia_operand operand = hiaF_operand(p, element);
    type = i == 0 ? have
                  : hiaF_join_exprs(t, before, type, operand, have, e->start, e->end, "an array");
    if (i == 0 || hiaF_is_final(&p->it, have)) before = operand;
  }
  return array_of(t, type, n.start, n.end);
}

static hia_itype infer_index(hia_typing *t, const hia_ast *n) {
  hia_itype base = expect_array(t, n->a, "%s cannot be indexed: it is no array");
  hia_itype index = expect_index(t, n->b, "an index", !hiaF_is_tensor(base));
  if (!hiaF_is_tensor(base) || index == HIA_IT_ERROR) return element_of(t, base);
  if (t->p->it.has_tensors && hiaF_has_open_rank(index)) return HIA_IT_UNKNOWN;
  uint32_t rank = hiaF_irank(base) - 1 + hiaF_irank(index);
  if (rank <= HIA_MAX_RANK) return hiaF_ranked(hiaF_leaf(base), rank, false);
  hiaF_type_error(t, HIA_E0316, n->start, n->end, "this is a tensor of more than %d axes",
                  HIA_MAX_RANK);
  return HIA_IT_ERROR;
}

static hia_itype infer_slice(hia_typing *t, const hia_ast *n) {
  hia_itype base = expect_array(t, n->a, "%s cannot be sliced: it is no array");
  expect_index(t, n->b, "the start of a slice", true);
  expect_index(t, n->c, "the end of a slice", true);
  return base;
}

static hia_itype infer_comprehension(hia_typing *t, hia_ast_id id) {
  const hia_program *p = t->p;
  const hia_ast n = *hiaF_node(p, id);
  hia_ast_id binder = p->extra.data[n.b], from = p->extra.data[n.b + 1];
  hia_itype type;
  if (n.c == 2) {
    type = expect_array(t, from, "'for' runs over an array or a range a..b, not over %s");
    type = element_of(t, type);
  } else {
    hia_ast_id to = p->extra.data[n.b + 2];
    hia_itype a = expect_index(t, from, "the start of a range", true);
    hia_itype b = expect_index(t, to, "the end of a range", true);
    const hia_ast *end = hiaF_node(p, to);
    type = hiaF_join_exprs(t, hiaF_operand(p, from), a, hiaF_operand(p, to), b, end->start,
                           end->end, "a range");
    type = hiaF_settled(t, type);
  }
  bind(t, binder, type);
  return array_of(t, hiaF_infer(t, n.a), n.start, n.end);
}

/* Infers an argument that must be an array, which may still have literal parts; UNKNOWN or bottom,
 * or ERROR with a report, if it is none. */
static hia_itype infer_array_argument(hia_typing *t, hia_ast_id arg, const char *what) {
  hia_itype have = hiaF_infer(t, arg);
  if (hiaF_itype_has(&t->p->it, have) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  if (hiaF_is_array(have) || (is_open(have) && !is_literal(have))) return have;
  if (hiaF_is_tensor(have) && (hiaF_irank(have) || hiaF_has_open_rank(have))) return have;
  const hia_ast *n = hiaF_node(t->p, arg);
  hiaF_type_error(t, HIA_E0322, n->start, n->end, "%s, not %s", what, type_text(t, have));
  return HIA_IT_ERROR;
}

/* Joins a with [v]: literals adapt on either side. */
static hia_itype infer_set(hia_typing *t, const hia_ast *n) {
  const hia_program *p = t->p;
  const uint32_t *args = p->extra.data + n->b;
  hia_ast_id array = args[0], index = args[1], value = args[2];
  hia_itype type = infer_array_argument(t, array, "'set' takes an array");
  expect_index(t, index, "an index", true);
  hia_itype have = hiaF_infer(t, value);
  const hia_ast v = *hiaF_node(p, value);
  if (type == HIA_IT_ERROR) return type;
  if (!hiaF_is_array(type) && !hiaF_is_tensor(type))
    return hiaF_join(&t->p->it, type, array_of(t, have, v.start, v.end));
  if (hiaF_is_tensor(type) && hiaF_has_open_rank(type) && hiaF_irank(type) == 0)
    return HIA_IT_UNKNOWN;
  hia_itype element = hiaF_is_array(type) ? hiaF_element(&p->it, type)
                                          : hiaF_ranked(hiaF_leaf(type), hiaF_irank(type) - 1,
                                                        hiaF_has_open_rank(type));
  element = hiaF_join_exprs(t, hiaF_operand(p, array), element, hiaF_operand(p, value), have,
                            v.start, v.end, "'set'");
  return array_of(t, element, v.start, v.end);
}

static hia_itype infer_concat(hia_typing *t, const hia_ast *n) {
  const hia_program *p = t->p;
  hia_itype type = HIA_IT_NONE;
  bool has_error = false;
  hia_operand before = {.expr = HIA_NONE};
  hia_ast_id axis;
  uint32_t n_args = hiaF_positional(p, n, &axis);
  for (uint32_t i = 0; i < n_args; i++) {
    hia_ast_id arg = hiaF_positional_arg(p, n, i);
    hia_itype have = infer_array_argument(t, arg, "'concat' takes arrays or tensors");
    const hia_ast *a = hiaF_node(p, arg);
    hia_operand operand = hiaF_operand(p, arg);
    if (have == HIA_IT_ERROR)
      has_error = true;
    else if (type == HIA_IT_NONE)
      type = have;
    else
      type = hiaF_join_exprs(t, before, type, operand, have, a->start, a->end, "'concat'");
    before = operand;
  }
  if (has_error || type == HIA_IT_ERROR) return HIA_IT_ERROR;
  if (hiaF_is_tensor(type)) return hiaF_concat_type(t, n, type);
  if (axis == HIA_NONE || !hiaF_is_array(type)) return type;
  hiaF_type_error(t, HIA_E0327, hiaF_node(p, axis)->start, hiaF_node(p, axis)->end,
                  "an array has no axes");
  return HIA_IT_ERROR;
}

static hia_itype infer_of_arrays(hia_typing *t, const hia_ast *n, const hia_ast *callee) {
  if (callee->b == HIA_BUILTIN_SET) return infer_set(t, n);
  if (callee->b == HIA_BUILTIN_CONCAT) return infer_concat(t, n);
  expect_array(t, t->p->extra.data[n->b], "'len' takes an array, not %s");
  return HIA_I64;
}

/* ---- calls ---- */

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
  if (hiaF_itype_has(&t->p->it, have) & HIA_HAS_ERROR) return HIA_IT_ERROR;
  const hia_ast *a = hiaF_node(t->p, arg);
  hia_diag *diag = hiaF_type_error(t, HIA_E0305, a->start, a->end, "'%s' takes %s, not %s",
                                   info->name, wants[rule], type_text(t, have));
  hia_itype to = rule == HIA_RULE_FLOAT || rule == HIA_RULE_CLASSIFY ? HIA_F64
                 : rule == HIA_RULE_NUM && have == HIA_BOOL          ? HIA_I32
                                                                     : HIA_I64;
  have = named(have);
  if (rule != HIA_RULE_SELECT && is_dtype(have))
    hiaF_hint_conversion(t, diag, hiaF_operand(t->p, arg), have, to);
  return HIA_IT_ERROR;
}

static hia_itype infer_builtin(hia_typing *t, const hia_ast *n, const hia_ast *callee) {
  unsigned op = callee->b;
  const hia_op_info *info = &hiaR_ops[op];
  hia_rule rule = op == HIA_OP_FAIL ? HIA_RULE_INT : (hia_rule)info->rule;
  bool is_of_floats = rule == HIA_RULE_FLOAT || rule == HIA_RULE_CLASSIFY;
  hia_itype type = is_of_floats ? HIA_IT_FLOAT : HIA_IT_BOTTOM, other = HIA_IT_BOTTOM;
  hia_operand before = {.expr = HIA_NONE};
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id arg = t->p->extra.data[n->b + i];
    if (rule == HIA_RULE_SELECT && i == 0) {
      other = expect_bools(t, arg, "the condition", false);
      continue;
    }
    hia_itype have = infer_argument(t, info, rule, arg);
    if (rule == HIA_RULE_SHIFT && i == 1) { /* the count has a type of its own */
      other = have;
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
  if (type == HIA_IT_ERROR || other == HIA_IT_ERROR) return type;
  if (type == HIA_IT_UNKNOWN) return rule == HIA_RULE_CLASSIFY ? (hia_itype)HIA_BOOL : type;
  /* The ranks of conditions and counts broadcast, too. */
  hia_itype leaf = hiaF_leaf(type);
  uint32_t rank = hiaF_irank(type);
  if (hiaF_irank(other) > rank) rank = hiaF_irank(other);
  bool is_maybe = t->p->it.has_tensors && (hiaF_has_open_rank(type) ||
                                           (hiaF_has_open_rank(other) && other != HIA_IT_BOTTOM));
  bool is_of_integers = rule == HIA_RULE_INT || rule == HIA_RULE_BITS || rule == HIA_RULE_SHIFT;
  if (rule == HIA_RULE_CLASSIFY) leaf = HIA_BOOL;
  if (is_of_integers && leaf == HIA_IT_INT) leaf = HIA_IT_WHOLE;
  if (is_of_integers && leaf == HIA_IT_INT_U) leaf = HIA_IT_WHOLE_U;
  return hiaF_ranked(leaf, rank, is_maybe);
}

static const char *param_text(hia_typing *t, const hia_decl *d, uint32_t i) {
  if (!t->report || d->broken) return "";
  const hia_program *p = t->p;
  return hiaR_arena_printf(p->arena, "the %s '%s' of '%s'",
                           d->kind == HIA_DECL_CON ? "field" : "parameter",
                           hiaF_symbol_text(p, hiaF_node(p, p->extra.data[d->params + i])->a),
                           hiaF_symbol_text(p, d->symbol));
}

/* The fields are declared. */
static hia_itype infer_construction(hia_typing *t, const hia_ast *n, const hia_ast *callee) {
  const hia_program *p = t->p;
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id arg = p->extra.data[n->b + i];
    hia_itype have = hiaF_infer(t, arg);
    const hia_decl *d = hiaF_decl(p, callee->b);
    hiaF_accept_type(t, arg, have, d->param_types[i], param_text(t, d, i));
  }
  return hiaF_decl(p, callee->b)->data;
}

/* ---- gradients ---- */

static bool is_float(hia_itype type) {
  return hiaF_is_ranked(type) && (hiaF_leaf(type) == HIA_F32 || hiaF_leaf(type) == HIA_F64);
}

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
  if (is_float(type) || type == HIA_IT_ERROR) return type;
  const hia_decl *d = hiaF_decl(p, hiaF_inst(p, inst)->decl);
  const hia_ast *at = hiaF_node(p, hiaF_wrt_node(p, grad, i));
  hia_diag *diag = hiaF_type_error(t, HIA_E0352, at->start, at->end,
                                   "the parameter '%s' of '%s' is %s: only floats have a gradient",
                                   hiaF_symbol_text(p, at->a), hiaF_symbol_text(p, d->symbol),
                                   type_text(t, type));
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
  if (!is_endless && (type == HIA_IT_UNKNOWN || (is_float(type) && hiaF_irank(type) == 0)))
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
                                   name, type_text(t, type));
  if (is_float(type))
    hiaF_hint(p->diags, diag, "differentiate a function that gives one number of it, as its sum");
  hiaF_note(p->diags, diag, d->pos, "defined here");
  return HIA_IT_ERROR;
}

/* The type of a call of a gradient; `id`: the instance of its function. */
static hia_itype infer_gradient(hia_typing *t, const hia_ast *callee, uint32_t id) {
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

/* What a call is while its instance, or the type of that, is not known. */
static hia_itype infer_unknown(const hia_decl *d, bool is_grad, hia_itype otherwise) {
  return is_grad || d->result == HIA_IT_NONE ? otherwise : d->result;
}

static hia_itype infer_call(hia_typing *t, hia_ast_id call, const hia_ast *callee) {
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
  if (is_grad) return infer_gradient(t, callee, id);
  const hia_inst *inst = hiaF_inst(p, id);
  if (inst->state == HIA_INST_DONE) return inst->is_bottom ? HIA_IT_BOTTOM : inst->result;
  return d->result != HIA_IT_NONE ? d->result : hiaF_view(&p->it, inst->result);
}

static hia_itype infer_convert(hia_typing *t, const hia_ast *n) {
  hia_ast_id arg = t->p->extra.data[n->b];
  hia_itype have = hiaF_infer(t, arg);
  if (hiaF_itype_has(&t->p->it, have) & HIA_HAS_ERROR) return n->op;
  if (!hiaF_is_ranked(have)) {
    const hia_ast *a = hiaF_node(t->p, arg);
    hiaF_type_error(t, HIA_E0305, a->start, a->end, "'%s' converts scalars and tensors, not %s",
                    hiaG_dtype_name((hia_dtype)n->op), type_text(t, have));
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
  case HIA_AST_ARRAY: return infer_array(t, id);
  case HIA_AST_COMP: return infer_comprehension(t, id);
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
      return callee.b < HIA_OP_LIMIT ? infer_builtin(t, n, &callee)
                                     : infer_of_arrays(t, n, &callee);
    if (callee.op == HIA_REF_CON) return infer_construction(t, n, &callee);
    bool is_decl = hiaF_is_of_instance(&callee) || callee.op == HIA_REF_EXTERN;
    return is_decl ? infer_call(t, id, &callee) : (hia_itype)HIA_IT_ERROR;
  }
  case HIA_AST_CONVERT: return infer_convert(t, n);
  case HIA_AST_INDEX: return infer_index(t, n);
  case HIA_AST_SLICE: return infer_slice(t, n);
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
    hiaF_infer_sizes(t, hiaF_node(t->p, t->p->extra.data[d->params + i])->b);
  inst = hiaF_inst(t->p, t->inst);
  hiaF_infer_sizes(t, d->type);
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
