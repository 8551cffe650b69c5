/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tokens, and the spellings of names (lex.c). */
#ifndef HIA_FRONTEND_LEX_H
#define HIA_FRONTEND_LEX_H

#include "frontend/frontend.h"

#define HIA_MAX_SOURCE                                                                             \
  (UINT32_MAX / 4) /* bytes; positions are 32 bits, a tree is a few times larger */

/* ---- tokens ---- */

typedef enum hia_token_kind {
  HIA_TOK_EOF,
  HIA_TOK_BAD, /* already reported */
  HIA_TOK_NAME,
  HIA_TOK_INT,
  HIA_TOK_FLOAT,
  /* keywords: symbol ids begin with theirs, in this order */
  HIA_TOK_FN,
  HIA_TOK_EXTERN,
  HIA_TOK_IMPURE,
  HIA_TOK_TYPE,
  HIA_TOK_CONST,
  HIA_TOK_PARAM,
  HIA_TOK_IF,
  HIA_TOK_THEN,
  HIA_TOK_ELSE,
  HIA_TOK_MATCH,
  HIA_TOK_LOOP,
  HIA_TOK_WHILE,
  HIA_TOK_LET,
  HIA_TOK_FOR,
  HIA_TOK_IN,
  HIA_TOK_AND,
  HIA_TOK_OR,
  HIA_TOK_NOT,
  HIA_TOK_TRUE,
  HIA_TOK_FALSE,
  HIA_TOK_BOOL, /* dtypes, in the order of hia_dtype */
  HIA_TOK_I32,
  HIA_TOK_I64,
  HIA_TOK_F32,
  HIA_TOK_F64,
  /* punctuation */
  HIA_TOK_LPAREN,
  HIA_TOK_RPAREN,
  HIA_TOK_LBRACKET,
  HIA_TOK_RBRACKET,
  HIA_TOK_LBRACE,
  HIA_TOK_RBRACE,
  HIA_TOK_COMMA,
  HIA_TOK_COLON,
  HIA_TOK_SEMICOLON,
  HIA_TOK_DOT,
  HIA_TOK_DOTDOT,
  HIA_TOK_ARROW,     /* -> */
  HIA_TOK_FAT_ARROW, /* => */
  HIA_TOK_ASSIGN,
  HIA_TOK_BAR,
  HIA_TOK_QUESTION,
  HIA_TOK_PLUS,
  HIA_TOK_MINUS,
  HIA_TOK_STAR,
  HIA_TOK_SLASH,
  HIA_TOK_PERCENT,
  HIA_TOK_AT,
  HIA_TOK_EQ,
  HIA_TOK_NE,
  HIA_TOK_LT,
  HIA_TOK_LE,
  HIA_TOK_GT,
  HIA_TOK_GE,
} hia_token_kind;
#define HIA_FIRST_KEYWORD HIA_TOK_FN
#define HIA_N_KEYWORDS    (HIA_TOK_F64 - HIA_TOK_FN + 1)
#define HIA_NO_SUFFIX     255

typedef struct hia_token {
  uint8_t kind;    /* hia_token_kind */
  bool is_foreign; /* it is of another language, and reported; the parser goes on as with `kind` */
  uint8_t suffix;  /* INT, FLOAT: hia_dtype or HIA_NO_SUFFIX */
  uint32_t start, end;
  uint32_t symbol; /* NAME and keywords */
} hia_token;

typedef uint32_t hia_symbol_id;
typedef uint32_t hia_ast_id; /* a node of the tree (ast.h) */

/* ---- spellings ---- */

/* A spelling, and its meaning at the point that the walk of check/names.c has reached. */
typedef struct hia_symbol {
  const char *text; /* NUL-terminated, in the arena */
  uint32_t len, hash;
  uint32_t decl; /* function, constructor, const, param of the file: index into p->decls, or NONE */
  uint32_t type; /* data type of the file: index into p->decls, or NONE */
  hia_ast_id var;    /* binder of the innermost variable of this name, or NONE */
  uint32_t bound_at; /* the index of the binding in the undo stack of kit/scope.h */
} hia_symbol;

typedef struct hia_symbols {
  hia_arena *arena;
  HIA_VEC(hia_symbol) list;
  hia_u32vec table; /* open addressing; a power of two long */
} hia_symbols;
void hiaF_symbols_init(hia_symbols *symbols, hia_arena *arena); /* with the keywords */
hia_symbol_id hiaF_intern(hia_symbols *symbols, const char *text, uint32_t len);

/* ---- the lexer ---- */

typedef struct hia_lexer {
  const hia_source *source;
  hia_symbols *symbols;
  hia_diags *diags;
  uint32_t at;
  bool after_dot;            /* at the field of a tuple: a number is read as digits only */
  bool after_operand;        /* the token before was a name, a number or a closing bracket */
  bool has_open_comment;     /* a C comment without its end was seen */
  bool has_reported_comment; /* a comment of another language was reported; one report a file */
} hia_lexer;
/* Checks the whole file (UTF-8, NUL, size). Returns false if it cannot be read at all. Skips a byte
 * order mark. */
bool hiaF_lex_start(hia_lexer *lexer, const hia_source *source, hia_symbols *symbols,
                    hia_diags *diags);
hia_token hiaF_lex(hia_lexer *lexer);
/* At a `.`: if it begins a number, `.5`, reports it, replaces the token by the number and returns
 * true. */
bool hiaF_lex_point(hia_lexer *lexer, hia_token *point);
const char *hiaF_token_text(hia_token_kind kind); /* "'then'", "a name" */

#endif
