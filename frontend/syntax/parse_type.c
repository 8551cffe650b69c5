/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types, patterns, binders. */
#include "frontend/syntax/parse.h"
#include "frontend/syntax/program.h"

static hia_ast_id finish(hia_parser *s, hia_ast_id id) {
  hiaF_node(s->p, id)->end = s->prev_end;
  return id;
}

static hia_ast_id with_list(hia_parser *s, hia_ast_id id, uint32_t base) {
  uint32_t n = s->stack.len - base;
  hia_ast *node = hiaF_node(s->p, id);
  node->b = hiaF_list(s, base);
  node->c = n;
  return finish(s, id);
}

/* The dtype that a name of another language most likely means; or NULL. */
static const char *dtype_for(const char *name) {
  static const char *const pairs[][2] = {
      {"int", "i32"},   {"i8", "i32"},      {"i16", "i32"},      {"u8", "i32"},
      {"u16", "i32"},   {"u32", "i64"},     {"u64", "i64"},      {"int32", "i32"},
      {"int64", "i64"}, {"long", "i64"},    {"isize", "i64"},    {"usize", "i64"},
      {"float", "f32"}, {"float32", "f32"}, {"float64", "f64"},  {"double", "f64"},
      {"real", "f64"},  {"number", "f64"},  {"boolean", "bool"}, {"Bool", "bool"},
      {"Int", "i32"},   {"Float", "f32"},   {"Double", "f64"}};
  for (size_t i = 0; i < HIA_LEN(pairs); i++)
    if (strcmp(name, pairs[i][0]) == 0) return pairs[i][1];
  return NULL;
}

/* `f64 x` or `int x`, as in C: reports how to write it, and reads it. */
static hia_ast_id parse_c_parameter(hia_parser *s, const char *dtype) {
  hia_token type = s->tok, name = hiaF_peek(s);
  const char *text = hiaF_symbol_text(s->p, name.symbol);
  hia_diag *diag = hiaF_soft_unexpected(s, "the name of a parameter");
  hiaF_hint(s->p->diags, diag, "write %s: %s", text, dtype);
  hiaF_fix(s->p->diags, diag, HIA_EDIT_PARAMETER, type.start, name.end, "%s: %s", text, dtype);
  hiaF_advance(s);
  hia_ast_id id = hiaF_new(s, HIA_AST_PARAM, s->tok.start, s->tok.end);
  hiaF_node(s->p, id)->a = name.symbol;
  hiaF_advance(s);
  return id;
}

hia_ast_id hiaF_parse_variable(hia_parser *s, hia_ast_kind kind) {
  bool is_dtype = s->tok.kind >= HIA_TOK_BOOL && s->tok.kind <= HIA_TOK_F64;
  if (kind == HIA_AST_PARAM && !s->panic && (is_dtype || s->tok.kind == HIA_TOK_NAME)) {
    const char *text = hiaF_symbol_text(s->p, s->tok.symbol);
    const char *dtype = is_dtype ? text : dtype_for(text);
    if (dtype != NULL && hiaF_peek(s).kind == HIA_TOK_NAME) return parse_c_parameter(s, dtype);
  }
  hia_ast_id id = hiaF_new(s, kind, s->tok.start, s->tok.end);
  hia_symbol_id symbol =
      hiaF_parse_name(s, kind == HIA_AST_PARAM ? HIA_NAMED_PARAMETER : HIA_NAMED_LVAR);
  hiaF_node(s->p, id)->a = symbol;
  if (hiaF_accept(s, HIA_TOK_COLON)) {
    hia_ast_id type = hiaF_parse_type(s);
    hiaF_node(s->p, id)->b = type;
  } else if (kind == HIA_AST_PARAM && !s->panic && s->tok.kind != HIA_TOK_COMMA &&
             s->tok.kind != HIA_TOK_RPAREN) {
    bool names_type =
        (s->tok.kind >= HIA_TOK_BOOL && s->tok.kind <= HIA_TOK_F64) ||
        (s->tok.kind == HIA_TOK_NAME && dtype_for(hiaF_symbol_text(s->p, s->tok.symbol)) != NULL);
    hia_diag *diag = hiaF_soft_unexpected(s, "':', ',' or ')'");
    if (!names_type) s->panic = true;
    hiaF_hint(s->p->diags, diag, "a type stands behind ':', as in x: f64");
    if (names_type) hiaF_advance(s);
  }
  return id;
}

/* ---- types ---- */

static hia_ast_id parse_dtype(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_TYPE_DTYPE, s->tok.start, s->tok.end);
  hiaF_node(s->p, id)->op = (uint8_t)(s->tok.kind - HIA_TOK_BOOL);
  hiaF_advance(s);
  if (!hiaF_accept(s, HIA_TOK_LBRACKET)) return id;
  hiaF_node(s->p, id)->kind = HIA_AST_TYPE_TENSOR;
  uint32_t base = s->stack.len;
  do {
    hia_ast_id dim;
    if (s->tok.kind == HIA_TOK_QUESTION) {
      dim = hiaF_new(s, HIA_AST_DIM_ANY, s->tok.start, s->tok.end);
      hiaF_advance(s);
    } else {
      dim = hiaF_parse_expr(s);
    }
    hiaR_push(s->p->arena, &s->stack, dim);
  } while (hiaF_more(s, HIA_TOK_RBRACKET));
  hiaF_expect(s, HIA_TOK_RBRACKET, "or ','");
  return with_list(s, id, base);
}

static hia_ast_id parse_type_name(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_TYPE_NAME, s->tok.start, s->tok.end);
  hiaF_node(s->p, id)->a = s->tok.symbol;
  const char *name = hiaF_symbol_text(s->p, s->tok.symbol), *dtype = dtype_for(name);
  if (dtype != NULL || !(name[0] >= 'A' && name[0] <= 'Z')) {
    hia_diag *diag = hiaF_soft_error(s, HIA_E0207, s->tok.start, s->tok.end, "unknown type '%s'",
                                     s->tok.end - s->tok.start > 60 ? "..." : name);
    if (dtype != NULL)
      hiaF_hint(s->p->diags, diag, "did you mean '%s'?", dtype);
    else
      hiaF_hint(s->p->diags, diag, "the scalar types are bool, i32, i64, f32 and f64");
    hiaF_node(s->p, id)->kind = HIA_AST_TYPE_ERROR;
  }
  hiaF_advance(s);
  return id;
}

static hia_ast_id parse_tuple_type(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_TYPE_TUPLE, s->tok.start, s->tok.end);
  hiaF_advance(s);
  uint32_t base = s->stack.len;
  if (s->tok.kind != HIA_TOK_RPAREN) {
    do {
      hia_ast_id part = hiaF_parse_type(s);
      hiaR_push(s->p->arena, &s->stack, part);
    } while (hiaF_more(s, HIA_TOK_RPAREN));
  }
  hiaF_expect(s, HIA_TOK_RPAREN, "or ','");
  if (!s->panic && s->stack.len - base < 2) {
    hiaF_soft_error(s, HIA_E0106, hiaF_node(s->p, id)->start, s->prev_end,
                    s->stack.len == base
                        ? "there is no empty tuple"
                        : "a type is not put in brackets: there is no tuple of one");
    hiaF_node(s->p, id)->kind = HIA_AST_TYPE_ERROR;
  }
  return with_list(s, id, base);
}

static hia_ast_id parse_type(hia_parser *s) {
  if (s->tok.kind >= HIA_TOK_BOOL && s->tok.kind <= HIA_TOK_F64) return parse_dtype(s);
  if (s->tok.kind == HIA_TOK_NAME) return parse_type_name(s);
  if (s->tok.kind == HIA_TOK_LPAREN) return parse_tuple_type(s);
  hia_ast_id id = hiaF_new(s, HIA_AST_TYPE_ERROR, s->tok.start, s->tok.end);
  if (!hiaF_accept(s, HIA_TOK_LBRACKET)) {
    hiaF_unexpected(s, "a type");
    return id;
  }
  hia_ast_id element = hiaF_parse_type(s);
  hiaF_node(s->p, id)->kind = HIA_AST_TYPE_ARRAY;
  hiaF_node(s->p, id)->a = element;
  hiaF_expect(s, HIA_TOK_RBRACKET, "");
  return finish(s, id);
}

hia_ast_id hiaF_parse_type(hia_parser *s) {
  hia_ast_id id = hiaF_enter_type(s) && !s->panic
                      ? parse_type(s)
                      : hiaF_new(s, HIA_AST_TYPE_ERROR, s->tok.start, s->tok.end);
  hiaF_leave_type(s);
  return id;
}

/* ---- patterns ---- */

static hia_ast_id parse_constructor_pattern(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_PAT_CON, s->tok.start, s->tok.end);
  hiaF_node(s->p, id)->a = s->tok.symbol;
  hiaF_advance(s);
  uint32_t base = s->stack.len, open = s->tok.start;
  if (hiaF_accept(s, HIA_TOK_LPAREN)) {
    hiaF_node(s->p, id)->flags |= HIA_AST_CALLED;
    if (s->tok.kind == HIA_TOK_RPAREN) {
      hia_diag *diag =
          hiaF_soft_error(s, HIA_E0106, open, s->tok.end, "empty brackets in a pattern");
      hiaF_hint(s->p->diags, diag, "a constructor without fields is matched without brackets");
    } else {
      do {
        hia_ast_id part = hiaF_parse_pattern(s);
        hiaR_push(s->p->arena, &s->stack, part);
      } while (hiaF_more(s, HIA_TOK_RPAREN));
    }
    hiaF_expect(s, HIA_TOK_RPAREN, "or ','");
  }
  return with_list(s, id, base);
}

static hia_ast_id parse_pattern(hia_parser *s) {
  hia_ast_id id;
  uint32_t start = s->tok.start, end = s->tok.end;
  bool negative = hiaF_accept(s, HIA_TOK_MINUS);
  switch ((hia_token_kind)s->tok.kind) {
  case HIA_TOK_INT:
    id = hiaF_new(s, HIA_AST_PAT_INT, s->tok.start, s->tok.end);
    hiaF_node(s->p, id)->op = s->tok.suffix;
    hiaF_node(s->p, id)->pos = start;
    if (negative) hiaF_node(s->p, id)->flags |= HIA_AST_NEGATIVE;
    hiaF_advance(s);
    return id;
  case HIA_TOK_NAME:
    if (negative) break;
    if (hiaF_symbol_text(s->p, s->tok.symbol)[0] >= 'A' &&
        hiaF_symbol_text(s->p, s->tok.symbol)[0] <= 'Z')
      return parse_constructor_pattern(s);
    id = hiaF_new(s, hiaF_is_wild(s, s->tok.symbol) ? HIA_AST_PAT_WILD : HIA_AST_PAT_NAME, start,
                  end);
    hiaF_node(s->p, id)->a = s->tok.symbol;
    hiaF_advance(s);
    return id;
  case HIA_TOK_TRUE:
  case HIA_TOK_FALSE:
    if (negative) break;
    id = hiaF_new(s, HIA_AST_PAT_BOOL, start, end);
    hiaF_node(s->p, id)->a = s->tok.kind == HIA_TOK_TRUE;
    hiaF_advance(s);
    return id;
  default: break;
  }
  if (!negative && hiaF_at_keyword_name(s, HIA_NAMED_PATTERN)) {
    hiaF_parse_name(s, HIA_NAMED_PATTERN);
    return hiaF_new(s, HIA_AST_PAT_WILD, start, end);
  }
  hia_diag *diag = hiaF_unexpected(s, negative ? "an integer" : "a pattern");
  if (s->tok.kind == HIA_TOK_FLOAT)
    hiaF_hint(s->p->diags, diag, "floats are compared with 'if', not matched");
  return hiaF_new(s, HIA_AST_PAT_WILD, start, end);
}

hia_ast_id hiaF_parse_pattern(hia_parser *s) {
  hia_ast_id id = hiaF_enter(s) && !s->panic
                      ? parse_pattern(s)
                      : hiaF_new(s, HIA_AST_PAT_WILD, s->tok.start, s->tok.end);
  hiaF_leave(s);
  return id;
}

/* ---- binders ---- */

static hia_ast_id parse_binder(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_BIND_NAME, s->tok.start, s->tok.end);
  if (s->tok.kind != HIA_TOK_LPAREN) {
    hia_symbol_id symbol = hiaF_parse_name(s, HIA_NAMED_BINDER);
    hiaF_node(s->p, id)->a = symbol;
    if (symbol == HIA_NONE || hiaF_is_keyword(symbol) || hiaF_is_wild(s, symbol))
      hiaF_node(s->p, id)->kind = HIA_AST_BIND_WILD;
    return id;
  }
  hiaF_advance(s);
  hiaF_node(s->p, id)->kind = HIA_AST_BIND_TUPLE;
  uint32_t base = s->stack.len;
  if (s->tok.kind != HIA_TOK_RPAREN) {
    do {
      hia_ast_id part = hiaF_parse_binder(s);
      hiaR_push(s->p->arena, &s->stack, part);
    } while (hiaF_more(s, HIA_TOK_RPAREN));
  }
  hiaF_expect(s, HIA_TOK_RPAREN, "or ','");
  if (!s->panic && s->stack.len - base < 2)
    hiaF_soft_error(s, HIA_E0106, hiaF_node(s->p, id)->start, s->prev_end,
                    "a tuple has at least two parts");
  return with_list(s, id, base);
}

hia_ast_id hiaF_parse_binder(hia_parser *s) {
  hia_ast_id id = hiaF_enter(s) && !s->panic
                      ? parse_binder(s)
                      : hiaF_new(s, HIA_AST_BIND_WILD, s->tok.start, s->tok.end);
  hiaF_leave(s);
  return id;
}
