/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Expressions. Binary operators are parsed by precedence climbing. A sequence of operators of one
 * level becomes one node with a list, so that a sum of a hundred thousand terms is no deep tree. */
#include "frontend/syntax/habits.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/program.h"

enum {
  LEVEL_NONE,
  LEVEL_OR,
  LEVEL_AND,
  LEVEL_NOT,
  LEVEL_COMPARE,
  LEVEL_SUM,
  LEVEL_PRODUCT,
  LEVEL_MATMUL
};

typedef struct binary {
  uint8_t level, op; /* op: hia_op; of LOGIC 0 and, 1 or */
} binary;

static binary binary_of(hia_token_kind kind) {
  switch (kind) {
  case HIA_TOK_OR: return (binary){LEVEL_OR, 1};
  case HIA_TOK_AND: return (binary){LEVEL_AND, 0};
  case HIA_TOK_EQ: return (binary){LEVEL_COMPARE, HIA_OP_EQ};
  case HIA_TOK_NE: return (binary){LEVEL_COMPARE, HIA_OP_NE};
  case HIA_TOK_LT: return (binary){LEVEL_COMPARE, HIA_OP_LT};
  case HIA_TOK_LE: return (binary){LEVEL_COMPARE, HIA_OP_LE};
  case HIA_TOK_GT: return (binary){LEVEL_COMPARE, HIA_OP_GT};
  case HIA_TOK_GE: return (binary){LEVEL_COMPARE, HIA_OP_GE};
  case HIA_TOK_PLUS: return (binary){LEVEL_SUM, HIA_OP_ADD};
  case HIA_TOK_MINUS: return (binary){LEVEL_SUM, HIA_OP_SUB};
  case HIA_TOK_STAR: return (binary){LEVEL_PRODUCT, HIA_OP_MUL};
  case HIA_TOK_SLASH: return (binary){LEVEL_PRODUCT, HIA_OP_DIV};
  case HIA_TOK_PERCENT: return (binary){LEVEL_PRODUCT, HIA_OP_REM};
  case HIA_TOK_AT: return (binary){LEVEL_MATMUL, 0};
  default: return (binary){LEVEL_NONE, 0};
  }
}

static hia_ast_id finish(hia_parser *s, hia_ast_id id) {
  hiaF_node(s->p, id)->end = s->prev_end;
  return id;
}

static hia_ast_id with_list(hia_parser *s, hia_ast_id id, uint32_t base) {
  uint32_t n = s->stack.len - base, first = hiaF_list(s, base);
  hiaF_node(s->p, id)->b = first;
  hiaF_node(s->p, id)->c = n;
  return finish(s, id);
}

static void push(hia_parser *s, uint32_t x) { hiaR_push(s->p->arena, &s->stack, x); }

static hia_ast_id error_node(hia_parser *s) {
  return hiaF_new(s, HIA_AST_ERROR, s->tok.start, s->tok.end);
}

/* ---- primary expressions ---- */

/* Parses a condition. Reports `=` in it and reads it as `==`. */
static hia_ast_id parse_condition(hia_parser *s, const char *wanted) {
  hia_ast_id id = hiaF_parse_expr(s);
  if (s->panic || s->tok.kind != HIA_TOK_ASSIGN) return id;
  hia_diag *diag = hiaF_soft_unexpected(s, wanted);
  hiaF_hint(s->p->diags, diag, "to compare, write '=='");
  hiaF_fix(s->p->diags, diag, HIA_EDIT_EQUAL, s->tok.start, s->tok.end, "==");
  hiaF_advance(s);
  hiaF_parse_expr(s);
  return id;
}

static bool is_elif(const hia_parser *s) {
  if (s->panic || s->tok.kind != HIA_TOK_NAME) return false;
  const char *word = hiaF_symbol_text(s->p, s->tok.symbol);
  return strcmp(word, "elif") == 0 || strcmp(word, "elsif") == 0 || strcmp(word, "elseif") == 0;
}

static hia_ast_id parse_if(hia_parser *s);

/* Parses the expression after `else`. `elif` is reported and read as `else if`. */
static hia_ast_id parse_else(hia_parser *s) {
  if (!is_elif(s)) {
    hia_diag *diag = NULL;
    if (!s->panic && s->tok.kind != HIA_TOK_ELSE)
      diag = hiaF_unexpected(s, "'else' (an 'if' has both branches)");
    if (diag != NULL && diag->hint == NULL)
      hiaF_hint(s->p->diags, diag, "write: if c then x else y");
    hiaF_accept(s, HIA_TOK_ELSE);
    return hiaF_parse_expr(s);
  }
  hia_diag *diag = hiaF_soft_error(s, HIA_E0113, s->tok.start, s->tok.end, "there is no '%s'",
                                   hiaF_symbol_text(s->p, s->tok.symbol));
  hiaF_hint(s->p->diags, diag, "write 'else if'");
  hiaF_fix(s->p->diags, diag, HIA_EDIT_ELSE_IF, s->tok.start, s->tok.end, "else if");
  hia_ast_id id = hiaF_enter(s) ? parse_if(s) : error_node(s);
  hiaF_leave(s);
  return id;
}

static hia_ast_id parse_if(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_IF, s->tok.start, s->tok.end);
  hiaF_advance(s);
  hia_ast_id a = parse_condition(s, "'then'");
  if (!s->panic && s->tok.kind != HIA_TOK_THEN) {
    bool is_clear = s->tok.kind == HIA_TOK_LBRACE || s->tok.kind == HIA_TOK_COLON;
    hia_diag *diag = hiaF_soft_unexpected(s, "'then'");
    hiaF_hint(s->p->diags, diag, "write: if c then x else y");
    if (!is_clear) s->panic = true;
    if (s->tok.kind == HIA_TOK_COLON) hiaF_advance(s);
  }
  hiaF_accept(s, HIA_TOK_THEN);
  hia_ast_id b = hiaF_parse_expr(s);
  hia_ast_id c = parse_else(s);
  hia_ast *node = hiaF_node(s->p, id);
  node->a = a, node->b = b, node->c = c;
  return finish(s, id);
}

static hia_ast_id parse_match(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_MATCH, s->tok.start, s->tok.end);
  hiaF_advance(s);
  hia_ast_id subject = hiaF_parse_expr(s);
  hiaF_node(s->p, id)->a = subject;
  uint32_t base = s->stack.len;
  hiaF_expect(s, HIA_TOK_LBRACE, "and the arms of the 'match'");
  while (!s->panic) {
    hia_ast_id pattern = hiaF_parse_pattern(s);
    bool is_other = s->tok.kind == HIA_TOK_ARROW || s->tok.kind == HIA_TOK_COLON;
    if (is_other && !s->panic) { /* what other languages write */
      hia_diag *diag = hiaF_soft_unexpected(s, "'=>' after the pattern");
      hiaF_hint(s->p->diags, diag, "write '=>'");
      hiaF_fix(s->p->diags, diag, HIA_EDIT_ARROW, s->tok.start, s->tok.end, "=>");
      hiaF_advance(s);
    } else {
      hiaF_expect(s, HIA_TOK_FAT_ARROW, "after the pattern");
    }
    hia_ast_id arm = hiaF_parse_expr(s);
    push(s, pattern);
    push(s, arm);
    if (!s->panic && s->tok.kind != HIA_TOK_COMMA && s->tok.kind != HIA_TOK_RBRACE)
      hiaF_unexpected(s, "',' or '}' after an arm");
    if (s->panic) hiaF_synchronize(s, HIA_TOK_COMMA);
    if (!hiaF_accept(s, HIA_TOK_COMMA) || s->tok.kind == HIA_TOK_RBRACE) break;
  }
  if (s->panic && s->tok.kind == HIA_TOK_RBRACE && s->stack.len > base) s->panic = false;
  hiaF_expect(s, HIA_TOK_RBRACE, "or ','");
  return with_list(s, id, base);
}

static hia_ast_id parse_loop(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_LOOP, s->tok.start, s->tok.end);
  hiaF_advance(s);
  uint32_t base = s->stack.len;
  if (!s->panic && s->tok.kind != HIA_TOK_LPAREN) {
    hia_diag *diag = hiaF_unexpected(s, "'(' after 'loop'");
    hiaF_hint(s->p->diags, diag, "a loop is written: loop (i = 0) while i < n { i + 1 }");
  }
  hiaF_accept(s, HIA_TOK_LPAREN);
  if (!s->panic) {
    do {
      hia_ast_id var = hiaF_parse_variable(s, HIA_AST_LVAR);
      hiaF_expect(s, HIA_TOK_ASSIGN, "and the initial value");
      hia_ast_id init = hiaF_parse_expr(s);
      hiaF_node(s->p, var)->c = init;
      push(s, var);
    } while (hiaF_more(s, HIA_TOK_RPAREN));
  }
  hiaF_expect(s, HIA_TOK_RPAREN, "or ','");
  hiaF_expect(s, HIA_TOK_WHILE, "and the condition of the loop");
  hia_ast_id condition = parse_condition(s, "'{' and the block of the loop");
  hia_ast_id block = HIA_NONE;
  if (!s->panic && s->tok.kind == HIA_TOK_LBRACE) {
    block = hiaF_parse_block(s);
  } else {
    hiaF_unexpected(s, "'{' and the block of the loop");
    block = error_node(s);
  }
  with_list(s, id, base);
  uint32_t pair = s->p->extra.len;
  hiaR_push(s->p->arena, &s->p->extra, condition);
  hiaR_push(s->p->arena, &s->p->extra, block);
  hiaF_node(s->p, id)->a = pair;
  return id;
}

/* Expects the `;` of a `let`. One that is missing at the end of a line is reported there. */
static void expect_semicolon(hia_parser *s) {
  const char *text = s->p->source->text;
  if (s->panic || s->tok.kind == HIA_TOK_SEMICOLON) {
    hiaF_accept(s, HIA_TOK_SEMICOLON);
  } else if (memchr(text + s->prev_end, '\n', s->tok.start - s->prev_end) == NULL) {
    hiaF_unexpected(s, "';' after the 'let'");
  } else if (s->tok.kind != HIA_TOK_BAD) {
    hia_diag *diag = hiaF_soft_error(s, HIA_E0101, s->prev_end, s->prev_end + 1,
                                     "expected ';' after the 'let', found the end of the line");
    hiaF_hint(s->p->diags, diag, "every 'let' ends in ';'");
    hiaF_fix(s->p->diags, diag, HIA_EDIT_SEMICOLON, s->prev_end, s->prev_end, ";");
    s->panic = s->tok.kind != HIA_TOK_LET && !hiaF_starts_expr((hia_token_kind)s->tok.kind);
  }
}

/* Parses a `let`, at its first word, which may be one of another language. `in` as its end is
 * reported, unless an error is_reported already. */
static void parse_let(hia_parser *s, bool is_reported) {
  hia_ast_id id = hiaF_new(s, HIA_AST_LET, s->tok.start, s->tok.end);
  hiaF_advance(s);
  hia_ast_id a = hiaF_parse_binder(s), b = HIA_NONE;
  if (!s->panic && s->tok.kind == HIA_TOK_NAME && hiaF_node(s->p, a)->kind == HIA_AST_BIND_NAME) {
    const hia_ast *n = hiaF_node(s->p, a);
    const char *word = hiaF_symbol_text(s->p, n->a);
    const char *hint = hiaF_habit(s->p, word, HIA_HABIT_START); /* let mut x */
    if (hint != NULL) {
      hia_diag *diag = hiaF_soft_error(s, HIA_E0113, n->start, n->end, "there is no '%s'", word);
      hiaF_hint(s->p->diags, diag, "%s", hint);
      a = hiaF_parse_binder(s);
    }
  }
  if (hiaF_accept(s, HIA_TOK_COLON)) b = hiaF_parse_type(s);
  hiaF_expect(s, HIA_TOK_ASSIGN, "and the value");
  hia_ast_id c = hiaF_parse_expr(s);
  hia_ast *node = hiaF_node(s->p, id);
  node->a = a, node->b = b, node->c = c;
  finish(s, id);
  push(s, id);
  if (!s->panic && s->tok.kind == HIA_TOK_IN) {
    if (!is_reported) {
      hia_diag *diag = hiaF_soft_unexpected(s, "';' after the 'let'");
      hiaF_hint(s->p->diags, diag, "write ';': { let x = 1; x + 2 }");
      hiaF_fix(s->p->diags, diag, HIA_EDIT_IN, s->tok.start, s->tok.end, ";");
    }
    hiaF_advance(s);
    return;
  }
  expect_semicolon(s);
  if (!s->panic) return;
  hiaF_synchronize(s, HIA_TOK_SEMICOLON);
  hiaF_accept(s, HIA_TOK_SEMICOLON);
}

/* True at `var x`, `int x` and the like: reports them; the caller reads them as `let`. */
static bool is_foreign_let(hia_parser *s) {
  if (s->panic || s->tok.kind != HIA_TOK_NAME) return false;
  const char *word = hiaF_symbol_text(s->p, s->tok.symbol);
  if (!hiaF_is_let_word(word) || hiaF_peek(s).kind != HIA_TOK_NAME) return false;
  hia_diag *diag =
      hiaF_soft_error(s, HIA_E0113, s->tok.start, s->tok.end, "there is no '%s'", word);
  hiaF_hint(s->p->diags, diag, "%s", hiaF_habit(s->p, word, HIA_HABIT_START));
  return true;
}

static void parse_lets(hia_parser *s) {
  while (!s->panic && ((s->tok.kind == HIA_TOK_LET && !hiaF_at_misused(s)) || is_foreign_let(s)))
    parse_let(s, false);
}

/* Parses what stands behind an expression that ends in `;`, and reports the `;`. */
static hia_ast_id parse_after_semicolon(hia_parser *s, hia_ast_id result, uint32_t open) {
  hia_diag *diag = hiaF_soft_unexpected(s, "'}' after the value of the block");
  uint32_t at = s->tok.start;
  while (!s->panic && s->tok.kind == HIA_TOK_SEMICOLON) {
    hia_token next = hiaF_peek(s);
    if (s->tok.start == at)
      hiaF_hint(s->p->diags, diag,
                next.kind == HIA_TOK_RBRACE
                    ? "the value of a block has no ';' behind it"
                    : "a block is one value, with 'let's before it: only a 'let' ends in ';'");
    if (s->tok.start == at) hiaF_note(s->p->diags, diag, open, "the block begins here");
    diag = NULL;
    hiaF_advance(s);
    if (s->tok.kind == HIA_TOK_RBRACE || s->tok.kind == HIA_TOK_EOF) break;
    parse_lets(s);
    result = hiaF_parse_expr(s);
  }
  return result;
}

hia_ast_id hiaF_parse_block(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_BLOCK, s->tok.start, s->tok.end);
  uint32_t open = s->tok.start, base = s->stack.len;
  hiaF_advance(s);
  parse_lets(s);
  hia_ast_id result;
  if (!s->panic && s->tok.kind == HIA_TOK_RBRACE) {
    hia_diag *diag = hiaF_soft_error(s, HIA_E0101, s->tok.start, s->tok.end,
                                     "expected an expression, found '}'");
    hiaF_hint(s->p->diags, diag, "a block ends with the expression that is its value");
    result = error_node(s);
  } else {
    result = hiaF_parse_expr(s);
  }
  if (!s->panic && s->tok.kind == HIA_TOK_SEMICOLON)
    result = parse_after_semicolon(s, result, open);
  hiaF_node(s->p, id)->a = result;
  if (!s->panic && s->tok.kind != HIA_TOK_RBRACE) {
    hia_diag *diag = hiaF_unexpected(s, "an operator or '}'");
    hiaF_note(s->p->diags, diag, open, "the block begins here");
  }
  if (s->panic && s->tok.kind != HIA_TOK_EOF) {
    /* Skips the rest of the block; parsing resumes behind it. */
    hiaF_synchronize(s, HIA_TOK_RBRACE);
    if (s->tok.kind == HIA_TOK_RBRACE) s->panic = false;
  }
  hiaF_accept(s, HIA_TOK_RBRACE);
  return with_list(s, id, base);
}

/* Parses a `let` where an expression should begin, as a block without its brackets. */
static hia_ast_id parse_bare_let(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_BLOCK, s->tok.start, s->tok.end);
  uint32_t base = s->stack.len;
  hia_token_kind next = (hia_token_kind)hiaF_peek(s).kind;
  hiaF_soft_unexpected(s, "an expression");
  if (next != HIA_TOK_NAME && next != HIA_TOK_LPAREN) s->panic = true; /* no `let` that is whole */
  while (!s->panic && s->tok.kind == HIA_TOK_LET) parse_let(s, true);
  hia_ast_id result = hiaF_parse_expr(s);
  hiaF_node(s->p, id)->a = result;
  return with_list(s, id, base);
}

/* '(' expr ')' or a tuple */
static hia_ast_id parse_brackets(hia_parser *s) {
  uint32_t start = s->tok.start, base = s->stack.len;
  hiaF_advance(s);
  if (s->tok.kind == HIA_TOK_RPAREN) {
    hia_ast_id id = error_node(s);
    hiaF_soft_error(s, HIA_E0106, start, s->tok.end, "there is no empty tuple");
    hiaF_advance(s);
    return id;
  }
  hia_ast_id first = hiaF_parse_expr(s);
  if (s->tok.kind != HIA_TOK_COMMA || s->panic) {
    hia_diag *diag = NULL;
    if (!s->panic && s->tok.kind != HIA_TOK_RPAREN) diag = hiaF_unexpected(s, "')' or ','");
    hiaF_note(s->p->diags, diag, start, "opened here");
    hiaF_accept(s, HIA_TOK_RPAREN);
    hiaF_node(s->p, first)->flags |= HIA_AST_PAREN;
    return first;
  }
  push(s, first);
  while (hiaF_more(s, HIA_TOK_RPAREN)) {
    hia_ast_id next = hiaF_parse_expr(s);
    push(s, next);
  }
  hiaF_expect(s, HIA_TOK_RPAREN, "or ','");
  hia_ast_id id = hiaF_new(s, HIA_AST_TUPLE, start, s->prev_end);
  return with_list(s, id, base);
}

/* `if c` at the end of a comprehension, as in other languages: reports it, and reads it. */
static void parse_filter(hia_parser *s, hia_ast_id body) {
  uint32_t start = s->tok.start;
  hiaF_advance(s);
  hia_ast_id condition = hiaF_parse_expr(s);
  const char *c = hiaF_quote(s->p, condition), *e = hiaF_quote(s->p, body);
  hia_diag *diag = hiaF_soft_error(s, HIA_E0114, start, s->prev_end,
                                   "a comprehension has an element for each: it leaves none out");
  hiaF_hint(s->p->diags, diag,
            "to have another value there, write [if %s then %s else 0 for ...]; `hiaton explain "
            "E0114` shows how some are chosen",
            c != NULL ? c : "c", e != NULL ? e : "x");
}

/* Parses a comprehension behind its body: the variable, and the array or range that it runs
 * over. */
static hia_ast_id parse_comprehension(hia_parser *s, uint32_t start, hia_ast_id body) {
  uint32_t base = s->stack.len;
  hiaF_advance(s);
  hia_ast_id name = hiaF_new(s, HIA_AST_BIND_NAME, s->tok.start, s->tok.end);
  hia_symbol_id symbol = hiaF_parse_name(s, HIA_NAMED_ELEMENT);
  if (symbol == HIA_NONE || hiaF_is_keyword(symbol) || hiaF_is_wild(s, symbol))
    hiaF_node(s->p, name)->kind = HIA_AST_BIND_WILD;
  hiaF_node(s->p, name)->a = symbol;
  hiaF_expect(s, HIA_TOK_IN, "");
  push(s, name);
  hia_ast_id from = hiaF_parse_expr(s);
  push(s, from);
  if (hiaF_accept(s, HIA_TOK_DOTDOT)) {
    hia_ast_id to = hiaF_parse_expr(s);
    push(s, to);
  }
  if (!s->panic && s->tok.kind == HIA_TOK_IF) parse_filter(s, body);
  if (!s->panic && s->tok.kind == HIA_TOK_FOR) {
    hia_diag *diag = hiaF_unexpected(s, "']'");
    hiaF_hint(s->p->diags, diag, "write one in the other: [[a * b for b in y] for a in x]");
  }
  hiaF_expect(s, HIA_TOK_RBRACKET, "");
  hia_ast_id id = hiaF_new(s, HIA_AST_COMP, start, s->prev_end);
  hiaF_node(s->p, id)->a = body;
  return with_list(s, id, base);
}

static hia_ast_id parse_array(hia_parser *s) {
  uint32_t start = s->tok.start, base = s->stack.len;
  hiaF_advance(s);
  if (s->tok.kind == HIA_TOK_RBRACKET) {
    hia_ast_id id = error_node(s);
    hiaF_soft_error(s, HIA_E0106, start, s->tok.end,
                    "an array that is written out has at least one element");
    hiaF_advance(s);
    return id;
  }
  hia_ast_id first = hiaF_parse_expr(s);
  if (!s->panic && s->tok.kind == HIA_TOK_FOR) return parse_comprehension(s, start, first);
  push(s, first);
  while (hiaF_more(s, HIA_TOK_RBRACKET)) {
    hia_ast_id next = hiaF_parse_expr(s);
    push(s, next);
  }
  hiaF_expect(s, HIA_TOK_RBRACKET, "or ','");
  hia_ast_id id = hiaF_new(s, HIA_AST_ARRAY, start, s->prev_end);
  return with_list(s, id, base);
}

/* Parses arguments, at their opening bracket. */
static void parse_args(hia_parser *s) {
  hiaF_advance(s);
  if (s->tok.kind != HIA_TOK_RPAREN) {
    do {
      if (hiaF_at_keyword_name(s, HIA_NAMED_ARGUMENT)) {
        hiaF_parse_name(s, HIA_NAMED_ARGUMENT);
        hiaF_advance(s); /* the value is read */
      }
      hia_ast_id arg = hiaF_parse_expr(s);
      const hia_ast *node = hiaF_node(s->p, arg);
      if (!s->panic && s->tok.kind == HIA_TOK_ASSIGN && node->kind == HIA_AST_NAME &&
          !(node->flags & HIA_AST_PAREN)) {
        hia_ast_id named = hiaF_new(s, HIA_AST_NAMED, node->start, node->end);
        hiaF_advance(s);
        hia_ast_id value = hiaF_parse_expr(s);
        hiaF_node(s->p, named)->a = hiaF_node(s->p, arg)->a;
        hiaF_node(s->p, named)->b = value;
        arg = finish(s, named);
      }
      push(s, arg);
    } while (hiaF_more(s, HIA_TOK_RPAREN));
  }
  hiaF_expect(s, HIA_TOK_RPAREN, "or ','");
}

static hia_ast_id parse_conversion(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_CONVERT, s->tok.start, s->tok.end);
  hiaF_node(s->p, id)->op = (uint8_t)(s->tok.kind - HIA_TOK_BOOL);
  hia_token dtype = s->tok;
  hiaF_advance(s);
  uint32_t base = s->stack.len;
  if (s->tok.kind == HIA_TOK_LPAREN) {
    parse_args(s);
    return with_list(s, id, base);
  }
  const char *name = hiaF_symbol_text(s->p, dtype.symbol);
  hia_diag *diag =
      hiaF_soft_error(s, HIA_E0107, dtype.start, dtype.end, "'%s' is a type, not a value", name);
  hiaF_hint(s->p->diags, diag, "to convert a value, write %s(x)", name);
  hiaF_node(s->p, id)->kind = HIA_AST_ERROR;
  return id;
}

/* Behind a name that no expression can follow, as in `return x`: reports what to write, and reads
 * x. False if the name is no such word. */
static bool skip_foreign_word(hia_parser *s, hia_ast_id name) {
  hia_token_kind next = (hia_token_kind)s->tok.kind;
  const hia_ast *n = hiaF_node(s->p, name);
  if (!hiaF_starts_expr(next) || next == HIA_TOK_LPAREN || next == HIA_TOK_MINUS ||
      next == HIA_TOK_LBRACE) /* a call goes on so; or `while c {` */
    return false;
  const char *word = hiaF_symbol_text(s->p, n->a);
  const char *hint = hiaF_habit(s->p, word, HIA_HABIT_START);
  if (hint == NULL) return false;
  hia_diag *diag = hiaF_soft_error(s, HIA_E0113, n->start, n->end, "there is no '%s'", word);
  hiaF_hint(s->p->diags, diag, "%s", hint);
  if (strcmp(word, "return") != 0) s->panic = true;
  return true;
}

static hia_ast_id parse_name_expr(hia_parser *s) {
  hia_ast_id id = hiaF_new(s, HIA_AST_NAME, s->tok.start, s->tok.end);
  const char *name = hiaF_symbol_text(s->p, s->tok.symbol);
  hiaF_node(s->p, id)->a = s->tok.symbol;
  if (s->is_value && (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0)) {
    hia_ast *node = hiaF_node(s->p, id);
    node->kind = HIA_AST_FLOAT;
    node->op = HIA_NO_SUFFIX;
    node->a = name[0] == 'i' ? HIA_AST_INF : HIA_AST_NAN;
  } else if (hiaF_is_wild(s, s->tok.symbol)) {
    hiaF_soft_error(s, HIA_E0108, s->tok.start, s->tok.end, "'_' binds nothing and has no value");
    hiaF_node(s->p, id)->kind = HIA_AST_ERROR;
  }
  hiaF_advance(s);
  return id;
}

static hia_ast_id parse_primary(hia_parser *s) {
  hia_ast_id id;
  if (hiaF_at_misused(s)) {
    id = error_node(s);
    hiaF_advance(s);
    return id;
  }
  switch ((hia_token_kind)s->tok.kind) {
  case HIA_TOK_INT:
  case HIA_TOK_FLOAT:
    id = hiaF_new(s, s->tok.kind == HIA_TOK_INT ? HIA_AST_INT : HIA_AST_FLOAT, s->tok.start,
                  s->tok.end);
    hiaF_node(s->p, id)->op = s->tok.suffix;
    hiaF_node(s->p, id)->a = 0;
    hiaF_advance(s);
    return id;
  case HIA_TOK_TRUE:
  case HIA_TOK_FALSE:
    id = hiaF_new(s, HIA_AST_BOOL, s->tok.start, s->tok.end);
    hiaF_node(s->p, id)->a = s->tok.kind == HIA_TOK_TRUE;
    hiaF_advance(s);
    return id;
  case HIA_TOK_NAME:
    id = parse_name_expr(s);
    if (!skip_foreign_word(s, id)) return id;
    return s->panic ? error_node(s) : hiaF_parse_expr(s);
  case HIA_TOK_DOT:
    if (!hiaF_lex_point(&s->lexer, &s->tok)) break;
    id = hiaF_new(s, HIA_AST_FLOAT, s->tok.start, s->tok.end);
    hiaF_node(s->p, id)->op = s->tok.suffix;
    hiaF_node(s->p, id)->a = 0;
    hiaF_advance(s);
    return id;
  case HIA_TOK_LET: return parse_bare_let(s);
  case HIA_TOK_BOOL:
  case HIA_TOK_I32:
  case HIA_TOK_I64:
  case HIA_TOK_F32:
  case HIA_TOK_F64: return parse_conversion(s);
  case HIA_TOK_LPAREN: return parse_brackets(s);
  case HIA_TOK_LBRACKET: return parse_array(s);
  case HIA_TOK_IF: return parse_if(s);
  case HIA_TOK_MATCH: return parse_match(s);
  case HIA_TOK_LOOP: return parse_loop(s);
  case HIA_TOK_LBRACE: return hiaF_parse_block(s);
  default: break;
  }
  hiaF_unexpected(s, "an expression");
  return error_node(s);
}

/* ---- postfix and prefix ---- */

/* True at the second bracket of `grad(f)(x)`. What `grad` means here, names.c finds out. */
static bool is_gradient(const hia_parser *s, const hia_ast *node) {
  if (node->kind != HIA_AST_CALL || hiaF_node(s->p, node->a)->kind != HIA_AST_NAME) return false;
  const char *name = hiaF_symbol_text(s->p, hiaF_node(s->p, node->a)->a);
  return strcmp(name, "grad") == 0 || strcmp(name, "value_and_grad") == 0;
}

static hia_ast_id parse_call(hia_parser *s, hia_ast_id callee) {
  hia_ast *node = hiaF_node(s->p, callee);
  bool is_paren = node->flags & HIA_AST_PAREN, is_grad = !is_paren && is_gradient(s, node);
  bool is_name = (node->kind == HIA_AST_NAME && !is_paren) || is_grad;
  uint32_t start = node->start, end = node->end, base = s->stack.len;
  if (is_grad) node->kind = HIA_AST_GRAD;
  if (!is_name && node->kind != HIA_AST_ERROR) {
    hia_diag *diag = hiaF_soft_error(s, HIA_E0104, start, end,
                                     "only a name, a dtype or 'grad(...)' can be called");
    const hia_ast *inner = node->kind == HIA_AST_CALL ? hiaF_node(s->p, node->a) : NULL;
    const char *habit = NULL; /* gradient(f)(x) */
    if (inner != NULL && inner->kind == HIA_AST_NAME)
      habit = hiaF_habit(s->p, hiaF_symbol_text(s->p, inner->a), HIA_HABIT_CALL);
    if (habit != NULL) hiaF_hint(s->p->diags, diag, "%s", habit);
  }
  hia_ast_id id = hiaF_new(s, HIA_AST_CALL, start, end);
  hiaF_node(s->p, id)->a = callee;
  parse_args(s);
  if (!is_name) hiaF_node(s->p, id)->kind = HIA_AST_ERROR;
  return with_list(s, id, base);
}

static hia_ast_id parse_index(hia_parser *s, hia_ast_id base) {
  hia_ast_id id = hiaF_new(s, HIA_AST_INDEX, hiaF_node(s->p, base)->start, s->tok.end);
  hiaF_node(s->p, id)->pos = s->tok.start;
  hiaF_node(s->p, id)->a = base;
  hiaF_advance(s);
  hia_ast_id b = hiaF_parse_expr(s);
  hiaF_node(s->p, id)->b = b;
  if (hiaF_accept(s, HIA_TOK_DOTDOT)) {
    hia_ast_id c = hiaF_parse_expr(s);
    hiaF_node(s->p, id)->kind = HIA_AST_SLICE;
    hiaF_node(s->p, id)->c = c;
  }
  hiaF_expect(s, HIA_TOK_RBRACKET, "");
  return finish(s, id);
}

/* Hints at sqrt(x) for x.sqrt() and math.sqrt(x). */
static void hint_method(hia_parser *s, hia_diag *diag, hia_ast_id base) {
  static const char *const modules[] = {"math", "Math", "np", "numpy", "std", "cmath", "torch"};
  const char *name = hiaF_symbol_text(s->p, s->tok.symbol), *object = hiaF_quote(s->p, base);
  if (object == NULL) object = "x";
  for (size_t i = 0; i < HIA_LEN(modules); i++)
    if (strcmp(object, modules[i]) == 0) object = "x";
  hiaF_hint(s->p->diags, diag, "there are no methods: write %s(%s)", name, object);
}

static hia_ast_id parse_field(hia_parser *s, hia_ast_id base) {
  hia_ast_id id = hiaF_new(s, HIA_AST_FIELD, hiaF_node(s->p, base)->start, s->tok.end);
  hiaF_node(s->p, id)->pos = s->tok.start;
  hiaF_node(s->p, id)->a = base;
  hiaF_advance(s);
  if (s->tok.kind != HIA_TOK_INT) {
    bool is_name =
        s->tok.kind == HIA_TOK_NAME || (s->tok.kind >= HIA_TOK_BOOL && s->tok.kind <= HIA_TOK_F64);
    bool is_method = is_name && hiaF_peek(s).kind == HIA_TOK_LPAREN;
    hia_diag *diag = hiaF_unexpected(s, "the number of a field");
    if (!is_name) return id;
    if (!is_method) {
      hiaF_hint(s->p->diags, diag,
                "parts of a tuple are t.0, t.1, ...; fields have no access by name");
    } else {
      hint_method(s, diag, base);
    }
    s->panic = false;
    hiaF_advance(s);
    uint32_t bottom = s->stack.len;
    if (is_method) parse_args(s);
    s->stack.len = bottom;
    hiaF_node(s->p, id)->kind = HIA_AST_ERROR;
    return finish(s, id);
  }
  uint32_t index = 0;
  for (uint32_t i = s->tok.start; i < s->tok.end; i++)
    index = index > HIA_NONE / 16 ? index : index * 10 + (uint32_t)(s->p->source->text[i] - '0');
  hiaF_node(s->p, id)->b = index;
  hiaF_advance(s);
  return finish(s, id);
}

static hia_ast_id parse_postfix(hia_parser *s) {
  hia_ast_id id = parse_primary(s);
  uint32_t depth = s->depth;
  while (!s->panic) {
    hia_token_kind kind = (hia_token_kind)s->tok.kind;
    if (kind != HIA_TOK_LPAREN && kind != HIA_TOK_LBRACKET && kind != HIA_TOK_DOT) break;
    if (!hiaF_enter(s)) break; /* the tree grows to the left */
    if (kind == HIA_TOK_LPAREN)
      id = parse_call(s, id);
    else
      id = kind == HIA_TOK_LBRACKET ? parse_index(s, id) : parse_field(s, id);
  }
  s->depth = depth;
  return id;
}

static hia_ast_id parse_unary(hia_parser *s) {
  if (s->tok.kind != HIA_TOK_MINUS || s->panic) return parse_postfix(s);
  uint32_t start = s->tok.start;
  if (!hiaF_enter(s)) {
    hiaF_leave(s);
    return error_node(s);
  }
  hiaF_advance(s);
  hia_ast_id a = parse_unary(s);
  hia_ast_id id = hiaF_new(s, HIA_AST_NEG, start, s->prev_end);
  hiaF_node(s->p, id)->a = a;
  hiaF_leave(s);
  return id;
}

/* ---- binary ---- */

static hia_ast_id parse_binary(hia_parser *s, unsigned min);

static hia_ast_id parse_not(hia_parser *s) {
  uint32_t start = s->tok.start;
  if (!hiaF_enter(s)) {
    hiaF_leave(s);
    return error_node(s);
  }
  hiaF_advance(s);
  hia_ast_id a = s->tok.kind == HIA_TOK_NOT ? parse_not(s) : parse_binary(s, LEVEL_COMPARE);
  hia_ast_id id = hiaF_new(s, HIA_AST_NOT, start, s->prev_end);
  hiaF_node(s->p, id)->a = a;
  hiaF_leave(s);
  return id;
}

static hia_ast_id parse_compare(hia_parser *s, hia_ast_id left, uint32_t start) {
  hia_ast_id id = HIA_NONE;
  while (!s->panic && binary_of((hia_token_kind)s->tok.kind).level == LEVEL_COMPARE) {
    uint32_t pos = s->tok.start, end = s->tok.end;
    uint8_t op = binary_of((hia_token_kind)s->tok.kind).op;
    if (id != HIA_NONE) {
      hia_diag *diag = hiaF_soft_error(s, HIA_E0103, pos, end, "comparisons do not chain");
      hiaF_hint(s->p->diags, diag, "write: a < b and b < c, or put one in brackets");
    }
    hiaF_advance(s);
    hia_ast_id right = parse_binary(s, LEVEL_COMPARE + 1);
    id = hiaF_new(s, HIA_AST_COMPARE, start, s->prev_end);
    hia_ast *node = hiaF_node(s->p, id);
    node->op = op;
    node->pos = pos;
    node->a = left;
    node->b = right;
    /* A second comparison is not nested: the tree of a program with errors is not used. */
  }
  return id;
}

static hia_ast_id parse_chain(hia_parser *s, hia_ast_id left, uint32_t start, binary op) {
  uint32_t base = s->stack.len, level = op.level, pos = s->tok.start;
  do {
    push(s, op.op);
    push(s, s->tok.start);
    hiaF_advance(s);
    hia_ast_id right = parse_binary(s, level + 1);
    push(s, right);
    op = binary_of((hia_token_kind)s->tok.kind);
  } while (!s->panic && op.level == level);
  hia_ast_kind kind = level == LEVEL_MATMUL                     ? HIA_AST_MATMUL
                      : level == LEVEL_OR || level == LEVEL_AND ? HIA_AST_LOGIC
                                                                : HIA_AST_CHAIN;
  hia_ast_id id = hiaF_new(s, kind, start, s->prev_end);
  hiaF_node(s->p, id)->a = left;
  hiaF_node(s->p, id)->op = level == LEVEL_OR;
  hiaF_node(s->p, id)->pos = pos;
  return with_list(s, id, base);
}

/* Parses operators of level `min` and tighter. */
static hia_ast_id parse_binary(hia_parser *s, unsigned min) {
  uint32_t start = s->tok.start;
  if (!hiaF_enter(s) || s->panic) {
    hiaF_leave(s);
    return error_node(s);
  }
  bool is_not = s->tok.kind == HIA_TOK_NOT && min <= LEVEL_NOT && !hiaF_at_misused(s);
  hia_ast_id left = is_not ? parse_not(s) : parse_unary(s);
  while (!s->panic) {
    binary op = binary_of((hia_token_kind)s->tok.kind);
    if (op.level == LEVEL_NONE || op.level < min) break;
    left =
        op.level == LEVEL_COMPARE ? parse_compare(s, left, start) : parse_chain(s, left, start, op);
  }
  hiaF_leave(s);
  return left;
}

/* c ? a : b: reports it, and skips its parts. */
static hia_ast_id parse_ternary(hia_parser *s, hia_ast_id condition) {
  hia_diag *diag =
      hiaF_soft_error(s, HIA_E0110, s->tok.start, s->tok.end, "there is no operator '? :'");
  const char *text = hiaF_quote(s->p, condition);
  hiaF_hint(s->p->diags, diag, "write: if %s then x else y", text != NULL ? text : "c");
  hia_ast_id id = error_node(s);
  if (!hiaF_enter(s)) {
    hiaF_leave(s);
    return id;
  }
  hiaF_advance(s);
  s->panic = !hiaF_starts_expr((hia_token_kind)s->tok.kind);
  hiaF_parse_expr(s);
  if (!hiaF_accept(s, HIA_TOK_COLON)) s->panic = true;
  hiaF_parse_expr(s);
  hiaF_leave(s);
  return id;
}

hia_ast_id hiaF_parse_expr(hia_parser *s) {
  hia_ast_id id = parse_binary(s, LEVEL_OR);
  return s->panic || s->tok.kind != HIA_TOK_QUESTION ? id : parse_ternary(s, id);
}
