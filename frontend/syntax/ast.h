/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The syntax tree of a program: its nodes, and what many rooms ask of it (ast.c). */
#ifndef HIA_FRONTEND_AST_H
#define HIA_FRONTEND_AST_H

#include "frontend/syntax/lex.h"

#define HIA_MATCH_CHAIN 12u /* at most so many arms of a match are tested one after the other */

/* ---- the syntax tree ----
 *
 * In the comments below "list" means extra[b .. b + c). */

typedef enum hia_ast_kind {
  /* expressions */
  HIA_AST_ERROR,
  HIA_AST_INT,     /* op: suffix */
  HIA_AST_FLOAT,   /* op: suffix; a: 0 its text, else HIA_AST_INF or HIA_AST_NAN (values only) */
  HIA_AST_BOOL,    /* a: 0 or 1 */
  HIA_AST_NAME,    /* a: symbol; after names.c op: hia_ref, b: binder or decl */
  HIA_AST_TUPLE,   /* list */
  HIA_AST_ARRAY,   /* list */
  HIA_AST_COMP,    /* a: body; list: binder, from [, to] */
  HIA_AST_IF,      /* a: condition, b: then, c: else */
  HIA_AST_MATCH,   /* a: subject; list: pattern, expression, ... */
  HIA_AST_LOOP,    /* a: extra index of (condition, block); list: LVARs */
  HIA_AST_BLOCK,   /* a: result; list: LETs */
  HIA_AST_CHAIN,   /* a: first operand; list: (op, position, operand)...; op of each: HIA_OP_ */
  HIA_AST_MATMUL,  /* the layout of a CHAIN */
  HIA_AST_LOGIC,   /* op: 0 and, 1 or; the layout of a CHAIN */
  HIA_AST_COMPARE, /* op: HIA_OP_; a, b */
  HIA_AST_NOT,     /* a */
  HIA_AST_NEG,     /* a */
  HIA_AST_CALL,    /* a: NAME or GRAD; list: arguments. The type slot of a holds the instance */
  HIA_AST_CONVERT, /* op: dtype; list: arguments */
  HIA_AST_NAMED,   /* argument with a name: a: symbol, b: expression */
  HIA_AST_INDEX,   /* a [ b ] */
  HIA_AST_SLICE,   /* a [ b .. c ] */
  HIA_AST_FIELD,   /* a . b (number) */
  /* parts of expressions */
  HIA_AST_GRAD, /* callee of a CALL, `grad(f, wrt = x)`. a: NAME, `grad` or `value_and_grad`; list:
                   its arguments; op: 0. From names.c on, if it is sound: op: HIA_REF_GRAD, b: decl
                   of the function, c: index into p->grads */
  HIA_AST_LET,  /* a: binder, b: type or NONE, c: expression */
  HIA_AST_LVAR, /* a: symbol, b: type or NONE, c: expression; it is a binder */
  /* patterns */
  HIA_AST_PAT_CON,  /* a: symbol (hiaF_pattern_con); list: patterns; flags CALLED: with brackets */
  HIA_AST_PAT_NAME, /* a: symbol; it is a binder */
  HIA_AST_PAT_WILD,
  HIA_AST_PAT_INT,  /* op: suffix; flags NEGATIVE; position and extent: the number's */
  HIA_AST_PAT_BOOL, /* a: 0 or 1 */
  /* binders */
  HIA_AST_BIND_NAME, /* a: symbol */
  HIA_AST_BIND_WILD,
  HIA_AST_BIND_TUPLE, /* list */
  HIA_AST_PARAM,      /* of a function: a: symbol, b: type or NONE; it is a binder. Of a
                         constructor too */
  /* types */
  HIA_AST_TYPE_ERROR,
  HIA_AST_TYPE_DTYPE,  /* op: dtype */
  HIA_AST_TYPE_TENSOR, /* op: dtype; list: expressions or DIM_ANY */
  HIA_AST_TYPE_NAME,   /* a: symbol */
  HIA_AST_TYPE_TUPLE,  /* list */
  HIA_AST_TYPE_ARRAY,  /* a */
  HIA_AST_DIM_ANY,
} hia_ast_kind;

enum {                       /* hia_ast.flags */
       HIA_AST_PAREN = 1,    /* stood in brackets */
       HIA_AST_CALLED = 2,   /* PAT_CON */
       HIA_AST_NEGATIVE = 4, /* PAT_INT */
};
enum { HIA_AST_INF = 1, HIA_AST_NAN = 2 };

/* The meaning of a NAME. */
typedef enum hia_ref {
  HIA_REF_NONE, /* unknown or unsupported: reported */
  HIA_REF_VAR,
  HIA_REF_CONST,
  HIA_REF_PARAM,
  HIA_REF_FN,      /* callee of a CALL only */
  HIA_REF_EXTERN,  /* callee of a CALL only */
  HIA_REF_BUILTIN, /* b: hia_op or HIA_BUILTIN_; callee of a CALL only */
  HIA_REF_CON,     /* without fields a value, with fields the callee of a CALL */
  HIA_REF_GRAD,    /* the op of a GRAD: a function of the program, differentiated */
} hia_ref;

typedef struct hia_ast {
  uint8_t kind, op, flags, pad;
  uint32_t pos; /* the byte that errors and run-time failures point at: of the operator, the name */
  uint32_t start, end; /* the bytes it covers, without brackets around it */
  uint32_t a, b, c;
} hia_ast;

/* A callee of a CALL that stands for an instance of a function. */
static inline bool hiaF_is_of_instance(const hia_ast *callee) {
  return callee->op == HIA_REF_FN || callee->op == HIA_REF_GRAD;
}

/* ---- ast.c ---- */

/* The expression that a hint is about. To the left of an operator in a chain that is no node: it is
 * the chain's first operands. */
typedef struct hia_operand {
  hia_ast_id expr;     /* the expression, or the chain */
  uint32_t n_operands; /* how many operands of the chain; 0: the whole expression */
  uint32_t start, end; /* bytes */
} hia_operand;
/* The operand for an expression; for a block, that for its value. */
hia_operand hiaF_operand(const hia_program *p, hia_ast_id expr);
/* The first operands of a chain. `end`: where the next operator begins. */
hia_operand hiaF_operands(const hia_program *p, hia_ast_id chain, uint32_t n_operands,
                          uint32_t end);
/* The text of an expression, or of bytes start .. end; NULL if it is too long to quote, or has a
 * line end or a comment in it. */
const char *hiaF_quote(const hia_program *p, hia_ast_id expr);
const char *hiaF_quote_bytes(const hia_program *p, uint32_t start, uint32_t end);
/* True if the expression is made of literals, consts, operators and built-ins of scalars, whose
 * names are resolved. */
bool hiaF_is_constant(const hia_program *p, hia_ast_id id);
/* The next value of variable i of a loop; where it is not written apart, that of all variables. */
hia_ast_id hiaF_next_value(const hia_program *p, const hia_ast *loop, uint32_t i);
/* True if a type says a size, a number or a name. `type` may be NONE. */
bool hiaF_has_sizes(const hia_program *p, hia_ast_id type);
/* True if a size in a type is a name that is bound there: names.c has left it without a meaning. */
bool hiaF_binds_size(const hia_program *p, hia_ast_id dim);
/* The number of nodes of an arm, given its pattern and its expression, which is cut at some
 * thousands. */
uint32_t hiaF_arm_size(const hia_program *p, hia_ast_id pattern, hia_ast_id expr);

/* ---- literal.c ---- */

/* The value of a number literal (hiaR_read_word). `negative`: a `-` stands before it. */
hia_number_state hiaF_number(const hia_program *p, const hia_ast *literal, bool negative,
                             hia_dtype dtype, hia_word *word);

#endif
