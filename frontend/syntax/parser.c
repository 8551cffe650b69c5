/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the parser share: tokens, errors and their recovery, nodes and lists, names.
 * After an error the parser reports nothing until it has skipped to the next `let`, arm or item
 * (panic mode). */
#include "frontend/syntax/habits.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/program.h"

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

bool hiaF_starts_item(hia_token_kind kind) {
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

/* True at a keyword, but not at `&&`, which has been reported and is read as `and`. */
static bool at_keyword(const hia_parser *s) {
  return is_keyword((hia_token_kind)s->tok.kind) && s->tok.symbol != HIA_NONE;
}

/* True at `fn f`, `extern fn` and the like: the name is missing, and the next item begins. */
static bool at_next_item(const hia_parser *s) {
  hia_token_kind kind = (hia_token_kind)s->tok.kind, next = (hia_token_kind)hiaF_peek(s).kind;
  if (kind == HIA_TOK_EXTERN) return next == HIA_TOK_FN || next == HIA_TOK_IMPURE;
  return hiaF_starts_item(kind) && next == HIA_TOK_NAME;
}

/* True at `fn` and the like where no item begins: the keyword was written for something else. */
static bool begins_no_item(const hia_parser *s) {
  return hiaF_starts_item((hia_token_kind)s->tok.kind) && !at_next_item(s);
}

bool hiaF_is_misused_item(const hia_parser *s) {
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
    if (kind == HIA_TOK_EOF || (hiaF_starts_item(kind) && !hiaF_is_misused_item(s))) return;
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
