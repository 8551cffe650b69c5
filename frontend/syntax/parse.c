/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The parser: the items of a file, or one expression. Functions are named after the grammar
 * (docs/language.md). Recursive descent with one token of look-ahead; parse.h says which files
 * there are. */
#include "frontend/syntax/parse.h"
#include "frontend/syntax/habits.h"
#include "frontend/syntax/program.h"

static uint32_t add_decl(hia_parser *s, hia_decl_kind kind, hia_symbol_id symbol, uint32_t pos) {
  hia_program *p = s->p;
  hia_decl decl = {.kind = (uint8_t)kind,
                   .symbol = symbol,
                   .pos = pos,
                   .end = s->prev_end,
                   .type = HIA_NONE,
                   .body = HIA_NONE,
                   .first_node = p->nodes.len,
                   .end_node = p->nodes.len,
                   .gradient = HIA_NONE,
                   .gradient_of = HIA_NONE,
                   .gradient_inst = HIA_NONE,
                   .result = HIA_IT_NONE,
                   .const_type = HIA_IT_ERROR};
  uint32_t id = p->decls.len;
  if (kind == HIA_DECL_FN) {
    decl.fn = p->fns.len;
    hiaR_push(p->arena, &p->fns, id);
  } else if (kind == HIA_DECL_EXTERN) {
    decl.fn = p->externs.len;
    decl.raises = true; /* until hiaF_link has found the function */
    hiaR_push(p->arena, &p->externs, id);
  }
  hiaR_push(p->arena, &p->decls, decl);
  return id;
}

/* Pushes the parameters. */
static void parse_param_list(hia_parser *s, bool typed) {
  hiaF_expect(s, HIA_TOK_LPAREN, "after the name of the function");
  if (!s->panic && s->tok.kind != HIA_TOK_RPAREN) {
    do {
      hia_ast_id param = hiaF_parse_variable(s, HIA_AST_PARAM);
      hiaR_push(s->p->arena, &s->stack, param);
      const hia_ast *n = hiaF_node(s->p, param);
      if (typed && !s->panic && n->b == HIA_NONE && !hiaF_is_keyword(n->a))
        hiaF_unexpected(s, "':' and a type");
    } while (hiaF_more(s, HIA_TOK_RPAREN));
  }
  hiaF_expect(s, HIA_TOK_RPAREN, "or ','");
}

/* Makes the parameters on the stack, from `base` on, those of a declaration. */
static void set_params(hia_parser *s, uint32_t decl, uint32_t base) {
  uint32_t n = s->stack.len - base;
  uint32_t first = hiaF_list(s, base);
  hiaF_decl(s->p, decl)->params = first;
  hiaF_decl(s->p, decl)->n_params = n;
}

static void parse_params(hia_parser *s, uint32_t decl, bool typed) {
  uint32_t base = s->stack.len;
  parse_param_list(s, typed);
  set_params(s, decl, base);
}

/* ---- clauses `gradient` ----
 *
 * `fn f(x: f64) = BODY gradient(g, y) = VALUE` is two functions, f and
 *
 *     fn f.gradient(x: f64, g, y) = VALUE
 *
 * with a name that no program can write. So that it has syntax of its own, the parameters are read
 * twice. A name that is a tuple of names is one parameter, which a `let` takes apart. */

/* The state of the parser at a place to which it comes back. */
typedef struct here {
  hia_lexer lexer;
  hia_token tok;
  uint32_t prev_end;
  uint8_t prev_kind;
} here;

static here where(const hia_parser *s) {
  return (here){s->lexer, s->tok, s->prev_end, s->prev_kind};
}

static void go(hia_parser *s, here to) {
  s->lexer = to.lexer;
  s->tok = to.tok;
  s->prev_end = to.prev_end;
  s->prev_kind = to.prev_kind;
}

static bool is_word(const hia_parser *s, const char *word) {
  return s->tok.kind == HIA_TOK_NAME && !strcmp(hiaF_symbol_text(s->p, s->tok.symbol), word);
}

/* Pushes the parameter that a binder becomes. Returns the `let` that takes it apart, or NONE. */
static hia_ast_id parse_gradient_name(hia_parser *s, const char *hidden) {
  hia_ast_id binder = hiaF_parse_binder(s), let = HIA_NONE;
  const hia_ast n = *hiaF_node(s->p, binder);
  hia_ast_id param = hiaF_new(s, HIA_AST_PARAM, n.start, n.end);
  hia_symbol_id symbol = n.a;
  if (n.kind == HIA_AST_BIND_WILD) symbol = hiaF_intern(&s->p->symbols, "_", 1);
  if (n.kind == HIA_AST_BIND_TUPLE) {
    symbol = hiaF_intern(&s->p->symbols, hidden, (uint32_t)strlen(hidden));
    hia_ast_id name = hiaF_new(s, HIA_AST_NAME, n.start, n.end);
    hiaF_node(s->p, name)->a = symbol;
    let = hiaF_new(s, HIA_AST_LET, n.start, n.end);
    hiaF_node(s->p, let)->a = binder;
    hiaF_node(s->p, let)->c = name;
  }
  hiaF_node(s->p, param)->a = symbol;
  hiaR_push(s->p->arena, &s->stack, param);
  return let;
}

/* Parses the value of a clause, and puts the `let`s before it that take its parameters apart. */
static hia_ast_id parse_gradient_value(hia_parser *s, const hia_ast_id lets[2]) {
  uint32_t base = s->stack.len;
  hia_ast_id value = hiaF_parse_expr(s);
  for (uint32_t i = 0; i < 2; i++)
    if (lets[i] != HIA_NONE) hiaR_push(s->p->arena, &s->stack, lets[i]);
  uint32_t n = s->stack.len - base;
  if (n == 0) return value;
  const hia_ast at = *hiaF_node(s->p, value);
  hia_ast_id block = hiaF_new(s, HIA_AST_BLOCK, at.start, at.end);
  uint32_t first = hiaF_list(s, base);
  hiaF_node(s->p, block)->a = value;
  hiaF_node(s->p, block)->b = first;
  hiaF_node(s->p, block)->c = n;
  return block;
}

/* 'gradient' '(' binder [',' binder] ')' '=' expr, if it stands here. `params`: where those of the
 * function begin. */
static void parse_gradient(hia_parser *s, uint32_t function, here params, bool typed) {
  hia_program *p = s->p;
  if (s->panic || !is_word(s, "gradient")) return;
  uint32_t pos = s->tok.start, base = s->stack.len;
  const char *name = hiaF_symbol_text(p, hiaF_decl(p, function)->symbol);
  const char *clause_name = hiaR_arena_printf(p->arena, "%s.gradient", name);
  hiaF_decl(p, function)->end_node = p->nodes.len;
  hiaF_advance(s);
  uint32_t decl = add_decl(
      s, HIA_DECL_FN, hiaF_intern(&p->symbols, clause_name, (uint32_t)strlen(clause_name)), pos);
  p->fns.len--; /* no function that programs or hosts could name */
  hiaF_decl(p, decl)->fn = HIA_NONE;
  hiaF_decl(p, decl)->gradient_of = function;
  hiaF_decl(p, function)->gradient = decl;
  here clause = where(s);
  go(s, params);
  parse_param_list(s, typed);
  go(s, clause);
  hia_ast_id lets[2] = {HIA_NONE, HIA_NONE};
  if (hiaF_expect(s, HIA_TOK_LPAREN, "and a name for the gradient of the result")) {
    lets[0] = parse_gradient_name(s, ".gradient");
    if (hiaF_accept(s, HIA_TOK_COMMA)) lets[1] = parse_gradient_name(s, ".result");
    hiaF_expect(s, HIA_TOK_RPAREN, "");
  }
  set_params(s, decl, base);
  hiaF_decl(p, decl)->head_end = s->prev_end;
  hiaF_expect(s, HIA_TOK_ASSIGN, "and the gradients of the parameters");
  hia_ast_id body = parse_gradient_value(s, lets);
  hiaF_decl(p, decl)->body = body;
  hiaF_decl(p, decl)->end_node = p->nodes.len;
}

/* True at the beginning of an item. `recompute` is no keyword: no item could begin with a name. */
static bool at_item(const hia_parser *s) {
  return (hiaF_starts_item((hia_token_kind)s->tok.kind) && !hiaF_is_misused_item(s)) ||
         (is_word(s, "recompute") && hiaF_peek(s).kind == HIA_TOK_FN);
}

/* Accepts `->`. Reports and accepts what other languages write before a result's type: `:`, or
 * nothing. */
static bool accept_arrow(hia_parser *s) {
  bool is_dtype = s->tok.kind >= HIA_TOK_BOOL && s->tok.kind <= HIA_TOK_F64;
  if (s->panic || (s->tok.kind != HIA_TOK_COLON && !is_dtype)) return hiaF_accept(s, HIA_TOK_ARROW);
  hia_diag *diag = hiaF_soft_unexpected(s, "'->' or '='");
  hiaF_hint(s->p->diags, diag, "the type of a result stands behind '->'");
  if (!is_dtype) hiaF_advance(s);
  return true;
}

static uint32_t parse_fn(hia_parser *s) {
  uint32_t pos = s->tok.start;
  hia_symbol_id name = hiaF_parse_name(s, HIA_NAMED_FN);
  if (name == HIA_NONE) return HIA_NONE;
  uint32_t decl = add_decl(s, HIA_DECL_FN, name, pos);
  here params = where(s);
  parse_params(s, decl, false);
  hiaF_decl(s->p, decl)->head_end = s->prev_end;
  if (accept_arrow(s)) {
    hia_ast_id type = hiaF_parse_type(s);
    hiaF_decl(s->p, decl)->type = type;
  }
  if (!s->panic && (s->tok.kind == HIA_TOK_LBRACE || s->tok.kind == HIA_TOK_FAT_ARROW)) {
    hia_diag *diag = hiaF_soft_unexpected(s, "'=' before the body");
    hiaF_hint(s->p->diags, diag, "write: fn %s(...) = ...", hiaF_symbol_text(s->p, name));
    if (s->tok.kind == HIA_TOK_FAT_ARROW) hiaF_advance(s);
  } else {
    hiaF_expect(s, HIA_TOK_ASSIGN, "and the body of the function");
  }
  hia_ast_id body = hiaF_parse_expr(s);
  hiaF_decl(s->p, decl)->body = body;
  parse_gradient(s, decl, params, false);
  return decl;
}

static uint32_t parse_extern(hia_parser *s) {
  bool impure = hiaF_accept(s, HIA_TOK_IMPURE);
  hiaF_expect(s, HIA_TOK_FN, impure ? "after 'impure'" : "after 'extern'");
  uint32_t pos = s->tok.start;
  hia_symbol_id name = hiaF_parse_name(s, HIA_NAMED_FN);
  if (name == HIA_NONE) return HIA_NONE;
  uint32_t decl = add_decl(s, HIA_DECL_EXTERN, name, pos);
  hiaF_decl(s->p, decl)->impure = impure;
  here params = where(s);
  parse_params(s, decl, true);
  hiaF_expect(s, HIA_TOK_ARROW, "and the type of the result");
  hia_ast_id type = hiaF_parse_type(s);
  hiaF_decl(s->p, decl)->type = type;
  parse_gradient(s, decl, params, true);
  return decl;
}

static uint32_t parse_const(hia_parser *s) {
  uint32_t pos = s->tok.start;
  hia_symbol_id name = hiaF_parse_name(s, HIA_NAMED_CONST);
  if (name == HIA_NONE) return HIA_NONE;
  uint32_t decl = add_decl(s, HIA_DECL_CONST, name, pos);
  if (hiaF_accept(s, HIA_TOK_COLON)) {
    hia_ast_id type = hiaF_parse_type(s);
    hiaF_decl(s->p, decl)->type = type;
  }
  hiaF_expect(s, HIA_TOK_ASSIGN, "and the value of the const");
  hia_ast_id body = hiaF_parse_expr(s);
  hiaF_decl(s->p, decl)->body = body;
  return decl;
}

static uint32_t parse_param_item(hia_parser *s) {
  uint32_t pos = s->tok.start;
  hia_symbol_id name = hiaF_parse_name(s, HIA_NAMED_PARAM);
  if (name == HIA_NONE) return HIA_NONE;
  uint32_t decl = add_decl(s, HIA_DECL_PARAM, name, pos);
  hiaF_expect(s, HIA_TOK_COLON, "and the type of the param");
  hia_ast_id type = hiaF_parse_type(s);
  hiaF_decl(s->p, decl)->type = type;
  hiaF_expect(s, HIA_TOK_ASSIGN, "and the initialiser of the param");
  hia_ast_id body = hiaF_parse_expr(s);
  hiaF_decl(s->p, decl)->body = body;
  return decl;
}

static void check_capital(hia_parser *s, hia_symbol_id symbol, uint32_t pos, const char *what) {
  char c = hiaF_symbol_text(s->p, symbol)[0];
  if (hiaF_is_keyword(symbol) || (c >= 'A' && c <= 'Z')) return;
  hiaF_soft_error(s, HIA_E0101, pos, s->prev_end, "the name of %s starts with a capital letter",
                  what);
}

/* variant := Name ['(' list(field) ')'] */
static void parse_variant(hia_parser *s, uint32_t type) {
  uint32_t pos = s->tok.start;
  hia_symbol_id name = hiaF_parse_name(s, HIA_NAMED_CON);
  if (name == HIA_NONE) return;
  check_capital(s, name, pos, "a constructor");
  uint32_t decl = add_decl(s, HIA_DECL_CON, name, pos);
  hiaF_decl(s->p, decl)->number = hiaF_decl(s->p, type)->n_cons++;
  if (s->tok.kind == HIA_TOK_LPAREN) {
    uint32_t open = s->tok.start;
    parse_params(s, decl, true);
    if (hiaF_decl(s->p, decl)->n_params == 0)
      hiaF_soft_error(s, HIA_E0106, open, s->prev_end,
                      "a constructor without fields is written without brackets");
  }
  hiaF_decl(s->p, decl)->end_node = s->p->nodes.len;
}

static uint32_t parse_type_item(hia_parser *s) {
  uint32_t pos = s->tok.start;
  hia_symbol_id name = hiaF_parse_name(s, HIA_NAMED_TYPE);
  if (name == HIA_NONE) return HIA_NONE;
  check_capital(s, name, pos, "a type");
  uint32_t decl = add_decl(s, HIA_DECL_TYPE, name, pos);
  hiaF_expect(s, HIA_TOK_ASSIGN, "and the variants of the type");
  hiaF_accept(s, HIA_TOK_BAR);
  do parse_variant(s, decl);
  while (hiaF_accept(s, HIA_TOK_BAR));
  return decl;
}

/* True at a function in C: int main( ... */
static bool is_c_function(const hia_parser *s) {
  hia_lexer ahead = s->lexer;
  hiaF_lex(&ahead);
  return hiaF_is_let_word(hiaF_symbol_text(s->p, s->tok.symbol)) &&
         hiaF_lex(&ahead).kind == HIA_TOK_LPAREN;
}

/* At the beginning of a definition in another language: reports it, skips it and returns true. The
 * definition before it is complete. */
static bool skip_foreign_item(hia_parser *s) {
  hia_program *p = s->p;
  const char *text = p->source->text;
  bool is_first =
      s->prev_end == 0 || memchr(text + s->prev_end, '\n', s->tok.start - s->prev_end) != NULL;
  if (!is_first || (s->tok.kind != HIA_TOK_NAME && s->tok.kind != HIA_TOK_LET)) return false;
  const char *word = hiaF_symbol_text(p, s->tok.symbol);
  const char *hint = s->tok.kind == HIA_TOK_LET
                         ? "a constant of the file is written: const NAME = 1"
                     : is_c_function(s) ? hiaF_habit(p, "def", HIA_HABIT_ITEM)
                                        : hiaF_habit(p, word, HIA_HABIT_ITEM);
  if (hint == NULL) return false;
  hia_diag *diag = hiaF_error(
      p->diags, HIA_E0113, s->tok.start, s->tok.end,
      s->tok.kind == HIA_TOK_LET ? "'%s' begins no definition" : "there is no '%s'", word);
  hiaF_hint(p->diags, diag, "%s", hint);
  p->names_unreliable = p->parse_failed = true;
  while (s->tok.kind != HIA_TOK_EOF && !at_item(s)) hiaF_advance(s);
  return true;
}

static void parse_item(hia_parser *s) {
  hia_token_kind kind = (hia_token_kind)s->tok.kind;
  s->panic = s->hopeless = s->failed = false;
  s->depth = s->type_depth = 0;
  s->stack.len = 0;
  bool recomputes = kind == HIA_TOK_NAME; /* `recompute fn` */
  if (recomputes) {
    hiaF_advance(s);
    kind = HIA_TOK_FN;
  }
  hiaF_advance(s);
  uint32_t decl = HIA_NONE;
  switch (kind) {
  case HIA_TOK_FN: decl = parse_fn(s); break;
  case HIA_TOK_EXTERN: decl = parse_extern(s); break;
  case HIA_TOK_TYPE: decl = parse_type_item(s); break;
  case HIA_TOK_CONST: decl = parse_const(s); break;
  default: decl = parse_param_item(s); break;
  }
  if (!s->panic && s->tok.kind != HIA_TOK_EOF && !at_item(s)) {
    if (s->tok.kind == HIA_TOK_SEMICOLON) {
      hia_diag *diag = hiaF_unexpected(s, "the next definition");
      hiaF_hint(s->p->diags, diag, "a definition needs no ';' at its end");
    } else if (!skip_foreign_item(s)) {
      hiaF_unexpected(s, "an operator or the next definition");
    }
  }
  if (decl == HIA_NONE) {
    s->p->names_unreliable = true;
  } else {
    hia_decl *d = hiaF_decl(s->p, decl);
    d->recompute = recomputes;
    if (d->gradient == HIA_NONE) d->end_node = s->p->nodes.len;
    d->broken |= s->failed;
    if (d->gradient != HIA_NONE) hiaF_decl(s->p, d->gradient)->broken |= s->failed;
    if (s->failed && kind == HIA_TOK_TYPE) s->p->names_unreliable = true; /* its constructors' */
  }
  s->p->parse_failed |= s->failed;
  while (s->tok.kind != HIA_TOK_EOF && !at_item(s)) hiaF_advance(s);
}

/* Makes the expression behind the program the body of a function that no program can name. */
static void parse_expression(hia_program *p, const hia_lexer *lexer) {
  hia_parser s = {.p = p, .lexer = *lexer, .is_expression = true};
  s.lexer.source = p->source;
  s.lexer.at = p->source->expr_at;
  s.prev_end = s.lexer.at;
  hiaF_advance(&s);
  hia_symbol_id name = hiaF_intern(&p->symbols, HIA_EXPRESSION, sizeof HIA_EXPRESSION - 1);
  uint32_t decl = add_decl(&s, HIA_DECL_FN, name, s.tok.start);
  hia_ast_id body = hiaF_parse_expr(&s);
  if (!s.panic && s.tok.kind != HIA_TOK_EOF)
    hiaF_unexpected(&s, "an operator or the end of the expression");
  hia_decl *d = hiaF_decl(p, decl);
  d->body = body;
  d->end = d->head_end = s.prev_end;
  d->end_node = p->nodes.len;
  d->broken = s.failed;
  p->parse_failed |= s.failed;
}

void hiaF_parse(hia_program *p) {
  hia_parser s = {.p = p};
  bool has_expression = p->source->expr_line != 0;
  hia_source file = *p->source;
  if (!hiaF_lex_start(&s.lexer, p->source, &p->symbols, p->diags)) {
    p->parse_failed = true;
    return;
  }
  if (has_expression) {
    file.len = file.expr_at - 1;
    s.lexer.source = &file;
  }
  hiaF_advance(&s);
  if (s.tok.kind == HIA_TOK_EOF && !has_expression && p->diags->list.len == 0) {
    hia_diag *diag = hiaF_error(p->diags, HIA_E0003, 0, 0, "the file is empty: it defines nothing");
    hiaF_hint(p->diags, diag, "a program starts with: fn main() = ...");
    p->parse_failed = true;
    return;
  }
  p->parsed = true;
  if (s.tok.kind != HIA_TOK_EOF && !at_item(&s)) {
    if (!skip_foreign_item(&s)) {
      hia_diag *diag = hiaF_unexpected(&s, "a definition (fn, const, type, param or extern)");
      hiaF_hint(p->diags, diag, "a function is written: fn f(x) = x + 1");
    }
    p->parse_failed = true;
    p->names_unreliable = true;
    while (s.tok.kind != HIA_TOK_EOF && !at_item(&s)) hiaF_advance(&s);
  }
  while (s.tok.kind != HIA_TOK_EOF) parse_item(&s);
  if (has_expression) parse_expression(p, &s.lexer);
  if (p->diags->list.len > 0) p->parse_failed = true; /* unreadable characters */
}

hia_ast_id hiaF_parse_value_expr(hia_program *p) {
  hia_parser s = {.p = p, .is_value = true};
  if (!hiaF_lex_start(&s.lexer, p->source, &p->symbols, p->diags)) return HIA_NONE;
  hiaF_advance(&s);
  if (s.tok.kind == HIA_TOK_AT) {
    hiaF_error(p->diags, HIA_E0908, s.tok.start, (uint32_t)p->source->len,
               "no value is read from a file here");
    return HIA_NONE;
  }
  hia_ast_id expr = hiaF_parse_expr(&s);
  if (!s.panic && s.tok.kind != HIA_TOK_EOF) hiaF_unexpected(&s, "the end of the value");
  return s.failed || p->diags->list.len > 0 ? HIA_NONE : expr;
}
