/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The parser: what its files share (parser.c), and the parts of the grammar that call each other:
 * expressions (parse_expr.c) contain types, patterns and binders (parse_type.c), whose sizes are
 * expressions. These two files are a circle, as the grammar is. Items (parse.c) stand above. */
#ifndef HIA_FRONTEND_PARSE_H
#define HIA_FRONTEND_PARSE_H

#include "frontend/syntax/program.h"

#define HIA_MAX_NESTING 2000u /* levels of expressions and patterns, and of types */

typedef struct hia_parser {
  hia_program *p;
  hia_lexer lexer;
  hia_token tok;      /* the next token */
  uint32_t prev_end;  /* end of the token before it */
  uint8_t prev_kind;  /* hia_token_kind */
  bool panic;         /* after an error: none is reported until the parser has reached a place to
                         resume from */
  bool hopeless;      /* nested too deeply: the panic lasts until the next item */
  bool failed;        /* some error was reported since the flag was last cleared */
  bool is_expression; /* parsing the expression behind the program */
  bool is_value;      /* parsing a value of the command line: inf and nan are numbers */
  uint64_t misused;   /* keywords that were reported as names: a set of hia_token_kind */
  uint32_t depth, type_depth; /* levels of expressions and patterns, of types */
  hia_u32vec stack;           /* items of the lists that are being read */
} hia_parser;

void hiaF_parse(hia_program *p); /* the whole source */
/* One expression, all of the source; NONE if it does not parse. */
hia_ast_id hiaF_parse_value_expr(hia_program *p);

void hiaF_advance(hia_parser *s);
hia_token hiaF_peek(const hia_parser *s); /* the token after s->tok */
bool hiaF_starts_expr(hia_token_kind kind);
bool hiaF_starts_item(hia_token_kind kind);
bool hiaF_accept(hia_parser *s, hia_token_kind kind);
bool hiaF_expect(hia_parser *s, hia_token_kind kind, const char *where);
hia_diag *hiaF_unexpected(hia_parser *s, const char *wanted);
/* hiaF_unexpected without the panic: parsing goes on here. */
hia_diag *hiaF_soft_unexpected(hia_parser *s, const char *wanted);
/* Reports an error without the panic: parsing goes on here. */
hia_diag *hiaF_soft_error(hia_parser *s, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) HIA_PRINTF(5, 6);
/* Goes one level deeper. Reports an error and returns false if that is too deep. */
bool hiaF_enter(hia_parser *s);
static inline void hiaF_leave(hia_parser *s) { s->depth--; }
bool hiaF_enter_type(hia_parser *s);
static inline void hiaF_leave_type(hia_parser *s) { s->type_depth--; }
hia_ast_id hiaF_new(hia_parser *s, hia_ast_kind kind, uint32_t start, uint32_t end);
/* Moves the stack's items from `base` on to extra; returns their index there. */
uint32_t hiaF_list(hia_parser *s, uint32_t base);
/* After an item of a list: skips the comma and returns true if another item follows. `close` ends
 * the list. */
bool hiaF_more(hia_parser *s, hia_token_kind close);
/* What a name is given to. */
typedef enum hia_named {
  HIA_NAMED_FN,
  HIA_NAMED_CONST,
  HIA_NAMED_PARAM, /* an item */
  HIA_NAMED_TYPE,
  HIA_NAMED_CON,
  HIA_NAMED_PARAMETER, /* a parameter of a function, or a field of a constructor */
  HIA_NAMED_LVAR,
  HIA_NAMED_BINDER,  /* a variable of a `let` or of a clause `gradient` */
  HIA_NAMED_ELEMENT, /* the variable of a comprehension */
  HIA_NAMED_PATTERN,
  HIA_NAMED_ARGUMENT, /* as in `axis = 0` */
} hia_named;
/* Parses a name. Reports an error and returns HIA_NONE if there is none. A keyword that stands
 * where the name should is reported and returned: hiaF_is_keyword(). Variables may be `_`. */
hia_symbol_id hiaF_parse_name(hia_parser *s, hia_named named);
/* True at a keyword in the place of a name: what is behind it goes on as behind a name. */
bool hiaF_at_keyword_name(const hia_parser *s, hia_named named);
/* True at a keyword that was reported as a name before, where a name would be its use. */
bool hiaF_at_misused(const hia_parser *s);
/* True at a keyword of items that was reported as a name before, and begins no item here. */
bool hiaF_is_misused_item(const hia_parser *s);
static inline bool hiaF_is_keyword(hia_symbol_id symbol) { return symbol < HIA_N_KEYWORDS; }
bool hiaF_is_wild(const hia_parser *s, hia_symbol_id symbol);
/* Skips to a `;`, a `,` before another arm, or the `}` of this level, or to an item. Ends the panic
 * if the token there is `stop`. */
void hiaF_synchronize(hia_parser *s, hia_token_kind stop);

hia_ast_id hiaF_parse_expr(hia_parser *s);
hia_ast_id hiaF_parse_block(hia_parser *s); /* at its `{` */
hia_ast_id hiaF_parse_type(hia_parser *s);
hia_ast_id hiaF_parse_pattern(hia_parser *s);
hia_ast_id hiaF_parse_binder(hia_parser *s);
hia_ast_id hiaF_parse_variable(hia_parser *s, hia_ast_kind kind); /* name [':' type] */

#endif
