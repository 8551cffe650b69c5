/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Text to tokens. White space, line ends and comments separate tokens; the longest token wins,
 * except that only digits are read after the `.` of a tuple field. */
#include "frontend/syntax/lex.h"
#include "frontend/syntax/diag.h"

static const char *const keywords[HIA_N_KEYWORDS] = {
    "fn",    "extern", "impure", "type", "const", "param", "if",  "then", "else",
    "match", "loop",   "while",  "let",  "for",   "in",    "and", "or",   "not",
    "true",  "false",  "bool",   "i32",  "i64",   "f32",   "f64"};

/* ---- symbols ---- */

static uint32_t hash_bytes(const char *text, uint32_t len) {
  uint32_t h = 2166136261u; /* FNV-1a */
  for (uint32_t i = 0; i < len; i++) h = (h ^ (unsigned char)text[i]) * 16777619u;
  return h;
}

static void rehash(hia_symbols *s, uint32_t size) {
  s->table.data = HIA_NEW_ARRAY(s->arena, uint32_t, size);
  s->table.len = s->table.cap = size;
  for (uint32_t i = 0; i < size; i++) s->table.data[i] = HIA_NONE;
  for (uint32_t i = 0; i < s->list.len; i++) {
    uint32_t k = s->list.data[i].hash & (size - 1);
    while (s->table.data[k] != HIA_NONE) k = (k + 1) & (size - 1);
    s->table.data[k] = i;
  }
}

hia_symbol_id hiaF_intern(hia_symbols *s, const char *text, uint32_t len) {
  uint32_t hash = hash_bytes(text, len), mask = s->table.len - 1, k = hash & mask;
  for (; s->table.data[k] != HIA_NONE; k = (k + 1) & mask) {
    const hia_symbol *e = &s->list.data[s->table.data[k]];
    if (e->hash == hash && e->len == len && memcmp(e->text, text, len) == 0)
      return s->table.data[k];
  }
  hia_symbol e = {.text = hiaR_arena_strndup(s->arena, text, len),
                  .len = len,
                  .hash = hash,
                  .decl = HIA_NONE,
                  .type = HIA_NONE,
                  .var = HIA_NONE};
  hia_symbol_id id = s->list.len;
  hiaR_push(s->arena, &s->list, e);
  s->table.data[k] = id;
  if (s->list.len * 2 > s->table.len) rehash(s, s->table.len * 2);
  return id;
}

void hiaF_symbols_init(hia_symbols *s, hia_arena *arena) {
  memset(s, 0, sizeof *s);
  s->arena = arena;
  rehash(s, 256);
  for (uint32_t i = 0; i < HIA_N_KEYWORDS; i++)
    hiaF_intern(s, keywords[i], (uint32_t)strlen(keywords[i]));
}

/* ---- the whole file ---- */

bool hiaF_lex_start(hia_lexer *lexer, const hia_source *source, hia_symbols *symbols,
                    hia_diags *diags) {
  memset(lexer, 0, sizeof *lexer);
  lexer->source = source;
  lexer->symbols = symbols;
  lexer->diags = diags;
  if (source->len > HIA_MAX_SOURCE) {
    hiaF_error(diags, HIA_E0005, 0, 1, "the file has %zu bytes; at most %u can be read",
               source->len, HIA_MAX_SOURCE);
    return false;
  }
  const char *nul = source->len > 0 ? memchr(source->text, '\0', source->len) : NULL;
  size_t nul_at = nul != NULL ? (size_t)(nul - source->text) : source->len;
  size_t bad = hiaR_find_invalid_utf8(source->text, source->len);
  if (bad < nul_at) {
    hiaF_error(diags, HIA_E0001, (uint32_t)bad, (uint32_t)bad + 1,
               "the file is not valid UTF-8: byte 0x%02x at offset %zu",
               (unsigned char)source->text[bad], bad);
    return false;
  }
  if (nul != NULL) {
    hiaF_error(diags, HIA_E0002, (uint32_t)nul_at, (uint32_t)nul_at + 1,
               "the file is not text: NUL byte at offset %zu", nul_at);
    return false;
  }
  if (source->len >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0) lexer->at = 3;
  return true;
}

/* ---- tokens ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_name(char c) { return is_name_start(c) || is_digit(c); }
static bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '_';
}

/* True if the `//` here divides, as in Python: it stands behind an operand, and the text behind it
 * is no prose, which would have two words side by side that are no keywords. */
static bool is_floor_division(const hia_lexer *l) {
  const char *s = l->source->text + l->at + 2;
  bool after_word = false;
  if (!l->after_operand) return false;
  while (*s == ' ') s++;
  if (!is_name(*s) && *s != '(') return false;
  while (*s != '\n' && *s != '\0' && *s != '#' && (s[0] != '/' || s[1] != '/')) {
    const char *word = s;
    bool is_keyword = false;
    if (!is_name(*s)) {
      after_word = after_word && *s == ' ';
      s++;
      continue;
    }
    while (is_name(*s)) s++;
    for (size_t k = 0; k < HIA_N_KEYWORDS; k++)
      is_keyword |= strlen(keywords[k]) == (size_t)(s - word) &&
                    memcmp(keywords[k], word, (size_t)(s - word)) == 0;
    bool is_word = is_name_start(*word) && !is_keyword;
    if (after_word && is_word) return false;
    after_word = is_word;
  }
  return true;
}

/* Reports the first comment of another language; the others are skipped. */
static void foreign_comment(hia_lexer *l, uint32_t end) {
  if (!l->has_reported_comment) {
    hia_diag *diag = hiaF_error(l->diags, HIA_E0111, l->at, l->at + 2, "a comment begins with '#'");
    hiaF_hint(l->diags, diag, "write '#' at the start of each line of a comment");
  }
  l->has_reported_comment = true;
  l->at = end;
}

/* The text ends in a NUL, which stops every loop below. */
static void skip_space(hia_lexer *l) {
  const char *text = l->source->text;
  for (;;) {
    char c = text[l->at];
    bool is_line = c == '/' && text[l->at + 1] == '/' && !is_floor_division(l);
    bool is_block = c == '/' && text[l->at + 1] == '*';
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
      l->at++;
      continue;
    }
    if (c != '#' && !is_line && !is_block) return;
    const char *close = is_block && !l->has_open_comment ? strstr(text + l->at + 2, "*/") : NULL;
    l->has_open_comment |= is_block && close == NULL; /* its end is not searched again */
    uint32_t end = l->at + (uint32_t)strcspn(text + l->at, "\n"); /* or the NUL: a part's own end */
    if (close != NULL) end = (uint32_t)(close - text) + 2;
    if (c != '#') foreign_comment(l, end);
    l->at = end;
  }
}

static void lex_suffix(hia_lexer *l, hia_token *tok, bool floats) {
  const char *s = l->source->text + l->at;
  for (unsigned d = HIA_I32; d <= (floats ? HIA_F64 : HIA_I64); d++) {
    const char *name = keywords[HIA_TOK_BOOL - HIA_FIRST_KEYWORD + d];
    if (strncmp(s, name, 3) == 0) {
      tok->suffix = (uint8_t)d;
      l->at += 3;
      return;
    }
  }
}

static void lex_number(hia_lexer *l, hia_token *tok) {
  const char *text = l->source->text;
  tok->kind = HIA_TOK_INT;
  tok->suffix = HIA_NO_SUFFIX;
  if (text[l->at] == '0' && text[l->at + 1] == 'x' && is_hex(text[l->at + 2])) {
    bool any = false;
    for (l->at += 2; is_hex(text[l->at]); l->at++) any = any || text[l->at] != '_';
    if (!any) {
      hiaF_error(l->diags, HIA_E0109, tok->start, l->at, "a hexadecimal number without digits");
      tok->kind = HIA_TOK_BAD;
    }
    lex_suffix(l, tok, false);
    return;
  }
  while (is_digit(text[l->at]) || text[l->at] == '_') l->at++;
  char next = text[l->at] == '.' ? text[l->at + 1] : '.';
  bool is_exponent = (next | 0x20) == 'e' && (is_digit(text[l->at + 2]) || text[l->at + 2] == '-');
  bool is_bare = next != '.' && (!is_name(next) || is_exponent); /* 5. */
  if (is_digit(next) || is_bare) {
    tok->kind = HIA_TOK_FLOAT;
    for (l->at++; is_digit(text[l->at]);) l->at++;
  }
  if (is_bare) {
    hia_diag *diag = hiaF_error(l->diags, HIA_E0109, tok->start, l->at,
                                "a number has digits on both sides of the point");
    hiaF_hint(l->diags, diag, "write %.*s0", (int)(l->at - tok->start), text + tok->start);
    hiaF_fix(l->diags, diag, HIA_EDIT_DIGIT_BEHIND, l->at, l->at, "0");
    tok->is_foreign = true;
  }
  if (text[l->at] == 'e' || text[l->at] == 'E') {
    uint32_t k = l->at + 1;
    if (text[k] == '+' || text[k] == '-') k++;
    if (is_digit(text[k])) {
      tok->kind = HIA_TOK_FLOAT;
      while (is_digit(text[k])) k++;
      l->at = k;
    }
  }
  if (tok->kind == HIA_TOK_INT) {
    lex_suffix(l, tok, true);
  } else if (text[l->at] == 'f') {
    lex_suffix(l, tok, true);
  }
}

bool hiaF_lex_point(hia_lexer *l, hia_token *point) {
  const char *text = l->source->text;
  if (!is_digit(text[point->end])) return false;
  l->at = point->end;
  l->after_dot = false;
  lex_number(l, point); /* the digits behind the point, and an exponent */
  hia_diag *diag = hiaF_error(l->diags, HIA_E0109, point->start, l->at,
                              "a number has digits on both sides of the point");
  uint32_t len = l->at - point->start;
  if (len <= 40) hiaF_hint(l->diags, diag, "write 0%.*s", (int)len, text + point->start);
  hiaF_fix(l->diags, diag, HIA_EDIT_DIGIT_BEFORE, point->start, point->start, "0");
  point->kind = HIA_TOK_FLOAT;
  point->end = l->at;
  point->is_foreign = true;
  l->after_operand = true;
  return true;
}

/* "text", 'c', """text""": to the closing quote, or the end of the line. */
static void lex_string(hia_lexer *l, hia_token *tok) {
  const char *text = l->source->text, *s = text + l->at;
  char quote = *s;
  size_t n_quotes = s[1] == quote && s[2] == quote ? 3 : 1;
  tok->kind = HIA_TOK_BAD;
  if (quote == '\'' && l->at > 0 && is_name(s[-1])) { /* x' of Haskell */
    while (*s == '\'') s++;
    l->at = (uint32_t)(s - text);
    hia_diag *diag =
        hiaF_error(l->diags, HIA_E0004, tok->start, l->at, "unexpected character '%c'", quote);
    hiaF_hint(l->diags, diag, "names are made of letters, digits and '_'");
    return;
  }
  for (s += n_quotes; *s != '\0' && strncmp(s, text + l->at, n_quotes) != 0; s++) {
    if (*s == '\n' && n_quotes == 1) break;
    if (*s == '\\' && s[1] != '\0' && s[1] != '\n') s++;
  }
  if (*s == quote) s += n_quotes;
  uint32_t len = (uint32_t)(s - text) - l->at;
  hia_diag *diag = hiaF_error(l->diags, HIA_E0112, l->at, l->at + len, "there are no strings");
  unsigned char c = (unsigned char)text[l->at + 1];
  if (quote == '\'' && len == 3 && c < 0x80) {
    hiaF_hint(l->diags, diag, "a character is a number: write %d", c);
    hiaF_fix(l->diags, diag, HIA_EDIT_CHARACTER, l->at, l->at + len, "%d", c);
  } else {
    hiaF_hint(l->diags, diag,
              "words are constructors, as in type Answer = Yes | No, or numbers: those of a file's "
              "words are read with --vocab");
  }
  l->at += len;
}

typedef struct foreign_operator {
  char text[4];
  uint8_t kind;     /* the parser goes on as with this token; BAD: at the next `;` or item */
  bool is_the_same; /* it means what `kind` does */
  const char *hint;
} foreign_operator;

#define NO_ASSIGNMENT                                                                              \
  "a variable never changes: 'let' makes another one, 'loop' gives its variables their next "      \
  "values"

/* Operators of other languages; of those that begin alike the longest comes first. No correct
 * program contains one of them, not even as several of our operators side by side. */
static const foreign_operator foreign[] = {
    {"===", HIA_TOK_EQ, true, "write '=='"},
    {"!==", HIA_TOK_NE, true, "write '!='"},
    {"<<=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {">>=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"**=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"<=>", HIA_TOK_BAD, false, "write: if a < b then -1 else if a > b then 1 else 0"},
    {">>>", HIA_TOK_STAR, false, "write shru(a, b)"},
    {"&&", HIA_TOK_AND, true, "write 'and'"},
    {"||", HIA_TOK_OR, true, "write 'or'"},
    {"<<", HIA_TOK_STAR, false, "write shl(a, b)"},
    {">>", HIA_TOK_STAR, false, "write shr(a, b)"},
    {"**", HIA_TOK_STAR, false, "write pow(a, b) for floats, x * x for a square"},
    {"//", HIA_TOK_SLASH, true, "write '/', which rounds integers toward zero"},
    {"<>", HIA_TOK_NE, true, "write '!='"},
    {":=", HIA_TOK_ASSIGN, true, "write '='"},
    {"::", HIA_TOK_BAD, false, "there are no modules; a type stands behind one ':'"},
    {"|>", HIA_TOK_BAD, false, "write f(x)"},
    {"++", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"+=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"-=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"*=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"/=", HIA_TOK_BAD, false, "to compare, write '!='; a variable never changes"},
    {"%=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"&=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"|=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"^=", HIA_TOK_BAD, false, NO_ASSIGNMENT},
    {"&", HIA_TOK_STAR, false, "bits are combined by band(a, b); conditions by 'and'"},
    {"!", HIA_TOK_NOT, true, "write 'not'"},
    {"^", HIA_TOK_STAR, false, "write bxor(a, b), or pow(a, b)"},
    {"~", HIA_TOK_BAD, false, "write bnot(a)"},
};

/* What is written for an operator of the same meaning. NULL: it differs in something, as `!` does
 * in how tightly it binds. */
static const char *operator_of(const foreign_operator *o) {
  switch ((hia_token_kind)o->kind) {
  case HIA_TOK_AND: return "and";
  case HIA_TOK_OR: return "or";
  case HIA_TOK_EQ: return "==";
  case HIA_TOK_NE: return "!=";
  case HIA_TOK_ASSIGN: return "=";
  default: return NULL;
  }
}

static bool lex_foreign(hia_lexer *l, hia_token *tok) {
  const char *text = l->source->text, *s = text + l->at;
  for (size_t i = 0; i < HIA_LEN(foreign); i++) {
    uint32_t n = (uint32_t)strlen(foreign[i].text);
    if (strncmp(s, foreign[i].text, n) != 0 || (n == 1 && s[0] == '!' && s[1] == '=')) continue;
    hia_diag *diag = hiaF_error(l->diags, HIA_E0110, l->at, l->at + n, "there is no operator '%s'",
                                foreign[i].text);
    hiaF_hint(l->diags, diag, "%s", foreign[i].hint);
    tok->kind = foreign[i].kind;
    tok->is_foreign = !foreign[i].is_the_same;
    const char *same = operator_of(&foreign[i]);
    if (same != NULL) {
      bool is_word = is_name(same[0]);
      hiaF_fix(l->diags, diag, HIA_EDIT_OPERATOR, l->at, l->at + n, "%s%s%s",
               is_word && l->at > 0 && is_name(text[l->at - 1]) ? " " : "", same,
               is_word && is_name(s[n]) ? " " : "");
    }
    l->at += n;
    return true;
  }
  return false;
}

/* Reports bytes that begin no token: a sequence of them is one error. */
static void lex_bad(hia_lexer *l, hia_token *tok) {
  const char *text = l->source->text;
  uint32_t at = l->at;
  unsigned char c = (unsigned char)text[at];
  if (c >= 0x80 || c < 0x20 || c == 0x7f) {
    do {
      l->at++;
      c = (unsigned char)text[l->at];
    } while (l->at < l->source->len &&
             (c >= 0x80 || (c < 0x20 && !(c >= '\t' && c <= '\r')) || c == 0x7f));
  } else {
    l->at++;
  }
  tok->kind = HIA_TOK_BAD;
  if ((unsigned char)text[at] >= 0x20 && text[at] != 0x7f) {
    hia_diag *diag = hiaF_error(l->diags, HIA_E0004, at, l->at, "unexpected character '%.*s'",
                                (int)(l->at - at > 60 ? 1 : l->at - at), text + at);
    if (text[at] == '\\')
      hiaF_hint(l->diags, diag, "functions are no values: define one with 'fn'");
  } else {
    hiaF_error(l->diags, HIA_E0004, at, l->at, "unexpected control character 0x%02x",
               (unsigned char)text[at]);
  }
}

static hia_token_kind punctuation(const char *s, uint32_t *len) {
  *len = 2;
  switch (s[0]) {
  case '-':
    if (s[1] == '>') return HIA_TOK_ARROW;
    break;
  case '=':
    if (s[1] == '>') return HIA_TOK_FAT_ARROW;
    if (s[1] == '=') return HIA_TOK_EQ;
    break;
  case '!':
    if (s[1] == '=') return HIA_TOK_NE;
    break;
  case '<':
    if (s[1] == '=') return HIA_TOK_LE;
    break;
  case '>':
    if (s[1] == '=') return HIA_TOK_GE;
    break;
  case '.':
    if (s[1] == '.') return HIA_TOK_DOTDOT;
    break;
  }
  *len = 1;
  switch (s[0]) {
  case '(': return HIA_TOK_LPAREN;
  case ')': return HIA_TOK_RPAREN;
  case '[': return HIA_TOK_LBRACKET;
  case ']': return HIA_TOK_RBRACKET;
  case '{': return HIA_TOK_LBRACE;
  case '}': return HIA_TOK_RBRACE;
  case ',': return HIA_TOK_COMMA;
  case ':': return HIA_TOK_COLON;
  case ';': return HIA_TOK_SEMICOLON;
  case '.': return HIA_TOK_DOT;
  case '=': return HIA_TOK_ASSIGN;
  case '|': return HIA_TOK_BAR;
  case '?': return HIA_TOK_QUESTION;
  case '+': return HIA_TOK_PLUS;
  case '-': return HIA_TOK_MINUS;
  case '*': return HIA_TOK_STAR;
  case '/': return HIA_TOK_SLASH;
  case '%': return HIA_TOK_PERCENT;
  case '@': return HIA_TOK_AT;
  case '<': return HIA_TOK_LT;
  case '>': return HIA_TOK_GT;
  default: return HIA_TOK_BAD;
  }
}

hia_token hiaF_lex(hia_lexer *l) {
  skip_space(l);
  const char *text = l->source->text;
  hia_token tok = {.kind = HIA_TOK_EOF, .start = l->at, .symbol = HIA_NONE};
  bool after_dot = l->after_dot;
  l->after_dot = false;
  char c = text[l->at];
  if (l->at >= l->source->len) {
    l->at = (uint32_t)l->source->len;
    tok.start = l->at;
  } else if (is_name_start(c)) {
    while (is_name(text[l->at])) l->at++;
    tok.symbol = hiaF_intern(l->symbols, text + tok.start, l->at - tok.start);
    tok.kind = tok.symbol < HIA_N_KEYWORDS ? (uint8_t)(HIA_FIRST_KEYWORD + tok.symbol)
                                           : (uint8_t)HIA_TOK_NAME;
  } else if (is_digit(c) && after_dot) {
    while (is_digit(text[l->at])) l->at++;
    tok.kind = HIA_TOK_INT;
    tok.suffix = HIA_NO_SUFFIX;
  } else if (is_digit(c)) {
    lex_number(l, &tok);
  } else if (c == '"' || c == '\'') {
    lex_string(l, &tok);
  } else if (!lex_foreign(l, &tok)) {
    uint32_t len;
    tok.kind = (uint8_t)punctuation(text + l->at, &len);
    if (tok.kind == HIA_TOK_BAD)
      lex_bad(l, &tok);
    else
      l->at += len;
    l->after_dot = tok.kind == HIA_TOK_DOT;
  }
  l->after_operand = tok.kind == HIA_TOK_NAME || tok.kind == HIA_TOK_INT ||
                     tok.kind == HIA_TOK_FLOAT || tok.kind == HIA_TOK_RPAREN;
  tok.end = l->at;
  return tok;
}

const char *hiaF_token_text(hia_token_kind kind) {
  static const char *const texts[] = {
      [HIA_TOK_EOF] = "the end of the file",
      [HIA_TOK_BAD] = "something unreadable",
      [HIA_TOK_NAME] = "a name",
      [HIA_TOK_INT] = "a number",
      [HIA_TOK_FLOAT] = "a number",
      [HIA_TOK_FN] = "'fn'",
      [HIA_TOK_EXTERN] = "'extern'",
      [HIA_TOK_IMPURE] = "'impure'",
      [HIA_TOK_TYPE] = "'type'",
      [HIA_TOK_CONST] = "'const'",
      [HIA_TOK_PARAM] = "'param'",
      [HIA_TOK_IF] = "'if'",
      [HIA_TOK_THEN] = "'then'",
      [HIA_TOK_ELSE] = "'else'",
      [HIA_TOK_MATCH] = "'match'",
      [HIA_TOK_LOOP] = "'loop'",
      [HIA_TOK_WHILE] = "'while'",
      [HIA_TOK_LET] = "'let'",
      [HIA_TOK_FOR] = "'for'",
      [HIA_TOK_IN] = "'in'",
      [HIA_TOK_AND] = "'and'",
      [HIA_TOK_OR] = "'or'",
      [HIA_TOK_NOT] = "'not'",
      [HIA_TOK_TRUE] = "'true'",
      [HIA_TOK_FALSE] = "'false'",
      [HIA_TOK_BOOL] = "'bool'",
      [HIA_TOK_I32] = "'i32'",
      [HIA_TOK_I64] = "'i64'",
      [HIA_TOK_F32] = "'f32'",
      [HIA_TOK_F64] = "'f64'",
      [HIA_TOK_LPAREN] = "'('",
      [HIA_TOK_RPAREN] = "')'",
      [HIA_TOK_LBRACKET] = "'['",
      [HIA_TOK_RBRACKET] = "']'",
      [HIA_TOK_LBRACE] = "'{'",
      [HIA_TOK_RBRACE] = "'}'",
      [HIA_TOK_COMMA] = "','",
      [HIA_TOK_COLON] = "':'",
      [HIA_TOK_SEMICOLON] = "';'",
      [HIA_TOK_DOT] = "'.'",
      [HIA_TOK_DOTDOT] = "'..'",
      [HIA_TOK_ARROW] = "'->'",
      [HIA_TOK_FAT_ARROW] = "'=>'",
      [HIA_TOK_ASSIGN] = "'='",
      [HIA_TOK_BAR] = "'|'",
      [HIA_TOK_QUESTION] = "'?'",
      [HIA_TOK_PLUS] = "'+'",
      [HIA_TOK_MINUS] = "'-'",
      [HIA_TOK_STAR] = "'*'",
      [HIA_TOK_SLASH] = "'/'",
      [HIA_TOK_PERCENT] = "'%'",
      [HIA_TOK_AT] = "'@'",
      [HIA_TOK_EQ] = "'=='",
      [HIA_TOK_NE] = "'!='",
      [HIA_TOK_LT] = "'<'",
      [HIA_TOK_LE] = "'<='",
      [HIA_TOK_GT] = "'>'",
      [HIA_TOK_GE] = "'>='",
  };
  return texts[kind];
}
