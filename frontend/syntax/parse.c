/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Parser: helpers of all its parts, and the items of a file. Functions are named after the grammar
 * (docs/language.md). Recursive descent with one token of look-ahead and panic-mode recovery: after
 * an error the parser reports nothing until it has skipped to the next `let`, arm or item. */
#include "frontend/syntax/ast.h"

/* ---- shared ---- */

void hiaF_advance(hia_parser *s) {
  s->failed |= s->tok.is_foreign;
  s->prev_end = s->tok.end;
  s->prev_kind = s->tok.kind;
  s->tok = hiaF_lex(&s->lexer);
}

/* The token is lexed again later; the list of diagnostics drops the second report of an error. */
hia_token hiaF_peek(const hia_parser *s) {
  hia_lexer ahead = s->lexer;
  return hiaF_lex(&ahead);
}

bool hiaF_starts_expr(hia_token_kind kind) {
  switch (kind) {
  case HIA_TOK_NAME:
  case HIA_TOK_INT:
  case HIA_TOK_FLOAT:
  case HIA_TOK_IF:
  case HIA_TOK_MATCH:
  case HIA_TOK_LOOP:
  case HIA_TOK_NOT:
  case HIA_TOK_TRUE:
  case HIA_TOK_FALSE:
  case HIA_TOK_LPAREN:
  case HIA_TOK_LBRACE:
  case HIA_TOK_MINUS: return true;
  default: return kind >= HIA_TOK_BOOL && kind <= HIA_TOK_F64;
  }
}

bool hiaF_accept(hia_parser *s, hia_token_kind kind) {
  if (s->tok.kind != kind || s->panic) return false;
  hiaF_advance(s);
  return true;
}

static const char *describe(hia_parser *s) {
  const hia_token *t = &s->tok;
  uint32_t len = t->end - t->start;
  const char *text = s->p->source->text + t->start;
  if (len > 40) return hiaF_token_text(t->kind);
  switch ((hia_token_kind)t->kind) {
  case HIA_TOK_NAME: return hiaR_arena_printf(s->p->arena, "the name '%.*s'", (int)len, text);
  case HIA_TOK_INT:
  case HIA_TOK_FLOAT: return hiaR_arena_printf(s->p->arena, "the number '%.*s'", (int)len, text);
  case HIA_TOK_EOF: return s->is_value || s->is_expression ? "the end" : hiaF_token_text(t->kind);
  default: return hiaF_token_text(t->kind);
  }
}

/* The hint for a name behind an expression, or at the place where one should begin. */
static const char *habit_of_name(const hia_parser *s, bool is_behind_value) {
  const char *text = s->p->source->text;
  const hia_token *t = &s->tok;
  char before = t->start > 0 ? text[t->start - 1] : ' ', first = text[t->start];
  const char *hint = hiaF_habit(s->p, hiaF_symbol_text(s->p, t->symbol), HIA_HABIT_INFIX);
  if (hint != NULL) return hint;
  if (t->start == s->prev_end && before >= '0' && before <= '9') {
    if (before == '0' && (first == 'b' || first == 'o' || first == 'X'))
      return "numbers are written in decimal, or in hexadecimal as 0x1f";
    return "the suffixes of numbers are i32, i64, f32 and f64";
  }
  bool is_same_line = memchr(text + s->prev_end, '\n', t->start - s->prev_end) == NULL;
  if (is_same_line && is_behind_value && s->prev_kind == HIA_TOK_NAME)
    return "the arguments of a call stand in brackets: f(x)";
  return NULL;
}

static const char *habit_of_token(const hia_parser *s, const char *wanted) {
  bool is_behind_value = strncmp(wanted, "an operator", 11) == 0;
  switch ((hia_token_kind)s->tok.kind) {
  case HIA_TOK_NAME: return habit_of_name(s, is_behind_value);
  case HIA_TOK_ASSIGN: return "to compare, write '=='; names are made by 'let', in a block";
  case HIA_TOK_NOT: return "put 'not ...' in brackets here";
  case HIA_TOK_LET: return "'let' stands at the start of a block: { let x = 1; x + 2 }";
  case HIA_TOK_CONST: return "in a block names are made by 'let': { let x = 1; x + 2 }";
  case HIA_TOK_FAT_ARROW:
    return "'=>' stands in the arms of 'match'; there are no values that are functions";
  case HIA_TOK_ARROW:
    return "'->' stands before the type of a result; there are no values that are functions";
  case HIA_TOK_WHILE:
  case HIA_TOK_FOR: return "a loop is written: loop (i = 0) while i < n { i + 1 }";
  case HIA_TOK_IF: return "write: if c then x else y";
  case HIA_TOK_BAR:
    if (!is_behind_value) return "there are no values that are functions";
    return "bits are combined by bor(a, b); conditions by 'or'";
  case HIA_TOK_PLUS: return "there is no sign '+': leave it out";
  case HIA_TOK_STAR: return "there are no pointers";
  default: return NULL;
  }
}

static bool begins_no_item(const hia_parser *s);

hia_diag *hiaF_unexpected(hia_parser *s, const char *wanted) {
  s->failed = true;
  if (s->panic) return NULL;
  s->panic = true;
  if (begins_no_item(s)) s->misused |= (uint64_t)1 << s->tok.kind;
  if (s->tok.kind == HIA_TOK_BAD) return NULL;
  hia_diag *diag = hiaF_error(s->p->diags, HIA_E0101, s->tok.start, s->tok.end,
                              "expected %s, found %s", wanted, describe(s));
  const char *hint = habit_of_token(s, wanted);
  if (hint != NULL) hiaF_hint(s->p->diags, diag, "%s", hint);
  return diag;
}

hia_diag *hiaF_soft_unexpected(hia_parser *s, const char *wanted) {
  bool before = s->panic;
  hia_diag *diag = hiaF_unexpected(s, wanted);
  s->panic = before;
  return diag;
}

bool hiaF_expect(hia_parser *s, hia_token_kind kind, const char *where) {
  if (hiaF_accept(s, kind)) return true;
  hiaF_unexpected(s, where[0] == '\0'
                         ? hiaF_token_text(kind)
                         : hiaR_arena_printf(s->p->arena, "%s %s", hiaF_token_text(kind), where));
  return false;
}

hia_diag *hiaF_soft_error(hia_parser *s, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) {
  s->failed = true;
  if (s->panic) return NULL;
  va_list args;
  va_start(args, fmt);
  hia_text text;
  hiaR_text_init(&text, s->p->arena);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  return hiaF_error(s->p->diags, code, start, end, "%s", text.data);
}

static bool enter(hia_parser *s, uint32_t *depth) {
  if (++*depth <= HIA_MAX_NESTING) return true;
  if (!s->panic) {
    hiaF_soft_error(s, HIA_E0006, s->tok.start, s->tok.end,
                    "nested too deeply: more than %u levels", HIA_MAX_NESTING);
    s->panic = s->hopeless = true;
  }
  return false;
}

bool hiaF_enter(hia_parser *s) { return enter(s, &s->depth); }
bool hiaF_enter_type(hia_parser *s) { return enter(s, &s->type_depth); }

hia_ast_id hiaF_new(hia_parser *s, hia_ast_kind kind, uint32_t start, uint32_t end) {
  hia_ast node = {.kind = (uint8_t)kind,
                  .pos = start,
                  .start = start,
                  .end = end,
                  .a = HIA_NONE,
                  .b = HIA_NONE,
                  .c = HIA_NONE};
  hiaR_push(s->p->arena, &s->p->nodes, node);
  return s->p->nodes.len - 1;
}

uint32_t hiaF_list(hia_parser *s, uint32_t base) {
  uint32_t first = s->p->extra.len, n = s->stack.len - base;
  hiaR_reserve(s->p->arena, &s->p->extra, first + n);
  for (uint32_t i = 0; i < n; i++) s->p->extra.data[first + i] = s->stack.data[base + i];
  s->p->extra.len += n;
  s->stack.len = base;
  return first;
}

bool hiaF_more(hia_parser *s, hia_token_kind close) {
  uint32_t at = s->tok.start, end = s->tok.end;
  if (!hiaF_accept(s, HIA_TOK_COMMA)) return false;
  if (s->tok.kind != close) return true;
  hiaF_soft_error(s, HIA_E0102, at, end, "trailing comma: a list ends with its last element");
  return false;
}

bool hiaF_is_wild(const hia_parser *s, hia_symbol_id symbol) {
  const hia_symbol *e = &s->p->symbols.list.data[symbol];
  return e->len == 1 && e->text[0] == '_';
}

static bool starts_item(hia_token_kind kind) {
  return kind == HIA_TOK_FN || kind == HIA_TOK_EXTERN || kind == HIA_TOK_TYPE ||
         kind == HIA_TOK_CONST || kind == HIA_TOK_PARAM;
}

/* ---- names ---- */

#define SET(kind) ((uint64_t)1 << HIA_TOK_##kind)
#define ITEM      (SET(FN) | SET(EXTERN) | SET(TYPE) | SET(CONST) | SET(PARAM) | SET(EOF))

static const struct {
  const char *what;
  bool may_be_wild;
  uint64_t next; /* tokens that may follow the name */
} named[] = {
    [HIA_NAMED_FN] = {"a function", false, SET(LPAREN)},
    [HIA_NAMED_CONST] = {"a const", false, SET(COLON) | SET(ASSIGN)},
    [HIA_NAMED_PARAM] = {"a param", false, SET(COLON)},
    [HIA_NAMED_TYPE] = {"a type", false, SET(ASSIGN)},
    [HIA_NAMED_CON] = {"a constructor", false, SET(LPAREN) | SET(BAR) | ITEM},
    [HIA_NAMED_PARAMETER] = {"a parameter", true, SET(COLON) | SET(COMMA) | SET(RPAREN)},
    [HIA_NAMED_LVAR] = {"a variable", true, SET(COLON) | SET(ASSIGN)},
    [HIA_NAMED_BINDER] = {"a variable", true, SET(COLON) | SET(ASSIGN) | SET(COMMA) | SET(RPAREN)},
    [HIA_NAMED_ELEMENT] = {"a variable", true, SET(IN)},
    [HIA_NAMED_ARGUMENT] = {"an argument", false, SET(ASSIGN)},
    [HIA_NAMED_PATTERN] = {"a variable", true,
                           SET(FAT_ARROW) | SET(ARROW) | SET(COLON) | SET(COMMA) | SET(RPAREN)},
};

static bool is_keyword(hia_token_kind kind) {
  return kind >= HIA_FIRST_KEYWORD && kind < HIA_FIRST_KEYWORD + HIA_N_KEYWORDS;
}

/* Not at `&&`, which has been reported and is read as `and`. */
static bool at_keyword(const hia_parser *s) {
  return is_keyword((hia_token_kind)s->tok.kind) && s->tok.symbol != HIA_NONE;
}

/* `fn f`, `extern fn` and the like: the name is missing, and the next item begins. */
static bool at_next_item(const hia_parser *s) {
  hia_token_kind kind = (hia_token_kind)s->tok.kind, next = (hia_token_kind)hiaF_peek(s).kind;
  if (kind == HIA_TOK_EXTERN) return next == HIA_TOK_FN || next == HIA_TOK_IMPURE;
  return starts_item(kind) && next == HIA_TOK_NAME;
}

/* At `fn` and the like where no item begins: one that was written for something else. */
static bool begins_no_item(const hia_parser *s) {
  return starts_item((hia_token_kind)s->tok.kind) && !at_next_item(s);
}

static bool is_misused_item(const hia_parser *s) {
  return (s->misused >> s->tok.kind & 1) != 0 && !at_next_item(s);
}

bool hiaF_at_misused(const hia_parser *s) {
  /* What stands behind a whole operand. */
  static const uint64_t behind = ITEM | SET(RPAREN) | SET(RBRACKET) | SET(RBRACE) | SET(COMMA) |
                                 SET(SEMICOLON) | SET(DOT) | SET(DOTDOT) | SET(PLUS) | SET(STAR) |
                                 SET(SLASH) | SET(PERCENT) | SET(AT) | SET(EQ) | SET(NE) | SET(LT) |
                                 SET(LE) | SET(GT) | SET(GE) | SET(THEN) | SET(ELSE) | SET(AND) |
                                 SET(OR) | SET(IN) | SET(FOR) | SET(WHILE);
  if (s->panic || (s->misused >> s->tok.kind & 1) == 0 || at_next_item(s)) return false;
  return !hiaF_starts_expr((hia_token_kind)s->tok.kind) || (behind >> hiaF_peek(s).kind & 1) != 0;
}

bool hiaF_at_keyword_name(const hia_parser *s, hia_named what) {
  if (s->panic || !at_keyword(s) || at_next_item(s)) return false;
  return (named[what].next >> hiaF_peek(s).kind & 1) != 0;
}

hia_symbol_id hiaF_parse_name(hia_parser *s, hia_named n) {
  const char *what = named[n].what;
  if (s->panic) return HIA_NONE;
  if (s->tok.kind == HIA_TOK_NAME) {
    hia_symbol_id symbol = s->tok.symbol;
    if (!named[n].may_be_wild && hiaF_is_wild(s, symbol))
      hiaF_soft_error(s, HIA_E0108, s->tok.start, s->tok.end, "'_' cannot be the name of %s", what);
    hiaF_advance(s);
    return symbol;
  }
  bool stands_for_name = hiaF_at_keyword_name(s, n);
  if (!stands_for_name &&
      (!at_keyword(s) || at_next_item(s) || (named[n].next >> s->tok.kind & 1) != 0)) {
    hiaF_unexpected(s, hiaR_arena_printf(s->p->arena, "the name of %s", what));
    return HIA_NONE;
  }
  hia_symbol_id symbol = s->tok.symbol;
  const char *word = hiaF_symbol_text(s->p, symbol);
  hia_diag *diag = hiaF_soft_error(s, HIA_E0105, s->tok.start, s->tok.end,
                                   "'%s' is a keyword and cannot be the name of %s", word, what);
  bool is_dtype = s->tok.kind >= HIA_TOK_BOOL && s->tok.kind <= HIA_TOK_F64;
  if (is_dtype && n == HIA_NAMED_PARAMETER)
    hiaF_hint(s->p->diags, diag, "a name stands before its type: x: %s", word);
  else
    hiaF_hint(s->p->diags, diag, "choose another name, such as '%s_'", word);
  s->misused |= (uint64_t)1 << s->tok.kind;
  s->panic = !stands_for_name;
  if (s->panic) return HIA_NONE;
  hiaF_advance(s);
  return symbol;
}

/* True at a `,` behind which an arm of a `match` begins: a pattern, and `=>`. */
static bool at_next_arm(const hia_parser *s) {
  hia_lexer ahead = s->lexer;
  hia_token t = hiaF_lex(&ahead);
  if (t.kind == HIA_TOK_MINUS) t = hiaF_lex(&ahead);
  if (t.kind != HIA_TOK_NAME && t.kind != HIA_TOK_INT && t.kind != HIA_TOK_FLOAT &&
      !is_keyword((hia_token_kind)t.kind))
    return false;
  t = hiaF_lex(&ahead);
  if (t.kind == HIA_TOK_LPAREN) {
    for (uint32_t depth = 1; depth > 0 && t.kind != HIA_TOK_EOF;) {
      t = hiaF_lex(&ahead);
      depth += t.kind == HIA_TOK_LPAREN;
      depth -= t.kind == HIA_TOK_RPAREN;
    }
    t = hiaF_lex(&ahead);
  }
  return t.kind == HIA_TOK_FAT_ARROW;
}

void hiaF_synchronize(hia_parser *s, hia_token_kind stop) {
  uint32_t depth = 0;
  for (;;) {
    hia_token_kind kind = (hia_token_kind)s->tok.kind;
    if (kind == HIA_TOK_EOF || (starts_item(kind) && !is_misused_item(s))) return;
    /* The error may be in brackets, whose commas separate no arms. */
    if (depth == 0 && kind == stop && !s->hopeless && (kind != HIA_TOK_COMMA || at_next_arm(s)))
      break;
    if (kind == HIA_TOK_LPAREN || kind == HIA_TOK_LBRACKET || kind == HIA_TOK_LBRACE) {
      depth++;
    } else if (kind == HIA_TOK_RPAREN || kind == HIA_TOK_RBRACKET || kind == HIA_TOK_RBRACE) {
      /* A bracket opened before the error may be closed by this one: only `}` is reliable. */
      if (depth > 0)
        depth--;
      else if (kind == HIA_TOK_RBRACE && !s->hopeless)
        return;
    }
    hiaF_advance(s);
  }
  s->panic = false;
}

/* ---- items ---- */

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

/* Those on the stack, from `base` on, are a declaration's. */
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

/* Where the parser is, to come back. */
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

/* The value of a clause, behind the `let`s that take its parameters apart. */
static hia_ast_id parse_gradient_value(hia_parser *s, const hia_ast_id lets[2]) {
  uint32_t base = s->stack.len;
  hia_ast_id value = hiaF_parse_expr(s);
  for (uint32_t i = 0; i < 2; i++)
    if (lets[i] != HIA_NONE) hiaR_push(s->p->arena, &s->stack, lets[i]);
  uint32_t n = s->stack.len - base;
  if (n == 0) return value;
  const hia_ast of = *hiaF_node(s->p, value);
  hia_ast_id block = hiaF_new(s, HIA_AST_BLOCK, of.start, of.end);
  uint32_t first = hiaF_list(s, base);
  hiaF_node(s->p, block)->a = value;
  hiaF_node(s->p, block)->b = first;
  hiaF_node(s->p, block)->c = n;
  return block;
}

/* 'gradient' '(' binder [',' binder] ')' '=' expr, if it stands here. `params`: where those of the
 * function begin. */
static void parse_gradient(hia_parser *s, uint32_t of, here params, bool typed) {
  hia_program *p = s->p;
  if (s->panic || !is_word(s, "gradient")) return;
  uint32_t pos = s->tok.start, base = s->stack.len;
  const char *name = hiaF_symbol_text(p, hiaF_decl(p, of)->symbol);
  const char *own = hiaR_arena_printf(p->arena, "%s.gradient", name);
  hiaF_decl(p, of)->end_node = p->nodes.len;
  hiaF_advance(s);
  uint32_t decl =
      add_decl(s, HIA_DECL_FN, hiaF_intern(&p->symbols, own, (uint32_t)strlen(own)), pos);
  p->fns.len--; /* no function that programs or hosts could name */
  hiaF_decl(p, decl)->fn = HIA_NONE;
  hiaF_decl(p, decl)->gradient_of = of;
  hiaF_decl(p, of)->gradient = decl;
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

/* At the beginning of an item. `recompute` is no keyword: no item could begin with a name. */
static bool at_item(const hia_parser *s) {
  return (starts_item((hia_token_kind)s->tok.kind) && !is_misused_item(s)) ||
         (is_word(s, "recompute") && hiaF_peek(s).kind == HIA_TOK_FN);
}

/* `->`; or, reported, what other languages write before a result's type: `:`, or nothing. */
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

/* int main( ... */
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
