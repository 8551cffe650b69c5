/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to frontend/: tokens, the syntax tree, inference types, instances.
 *
 * The phases of a program, in order:
 *   lex.c, parse*.c   text to syntax tree; a tree node is a 32-bit index
 *   names.c           binds names; checks numbers of arguments; reports what is not supported yet
 *   gradients.c       finds what gradients are with respect to; reports functions that have none
 *   data.c            data types: limits, types without values; the graph's types of them
 *   const.c           consts: order, types, values
 *   params.c          params: sizes, initialisers
 *   solve.c           instances of functions and their result types (by infer.c, without messages)
 *   own_gradient.c    functions that bring their own gradient
 *   check.c           types every instance once more, with messages (of matches: infer_match.c,
 *                     cover.c); final types (settle.c)
 *   ending.c          functions, and gradients of their own, that cannot end
 *   advice.c          hints of type errors
 *   dims.c            sizes of expressions; rejects programs in which sizes do not fit
 *   elab*.c           checked instances to graph functions */
#ifndef HIA_FRONTEND_AST_H
#define HIA_FRONTEND_AST_H

#include "frontend/frontend.h"
#include "runtime/base/param.h"

/* ---- limits ---- */

#define HIA_MAX_SOURCE                                                                             \
  (UINT32_MAX / 4)              /* bytes; positions are 32 bits, a tree is a few times larger      \
                                 */
#define HIA_MAX_NESTING   2000u /* of expressions and patterns, and of types: bounds recursion */
#define HIA_MAX_REGIONS   3000u /* nesting of regions in the graph of one function */
#define HIA_MATCH_CHAIN   12u   /* at most so many arms of a match are tested one after the other */
#define HIA_MAX_INSTANCES 256u  /* of one function (language) */

/* ---- diag.c ---- */

enum hia_code {
#define HIA_ERROR(code, ...) HIA_##code,
#include "frontend/syntax/errors.def"
  HIA_N_ERRORS
};

/* Adds a diagnostic about bytes start .. end of the source. Returns NULL, and adds nothing, if the
 * list is full or has the same diagnostic at the same place. */
hia_diag *hiaF_error(hia_diags *diags, enum hia_code code, uint32_t start, uint32_t end,
                     const char *fmt, ...) HIA_PRINTF(5, 6);
/* These accept NULL for `diag`. A hint replaces an earlier one; notes are appended. */
void hiaF_hint(hia_diags *diags, hia_diag *diag, const char *fmt, ...) HIA_PRINTF(3, 4);
/* The last hint as a change of the source: bytes start .. end become this text. */
void hiaF_fix(hia_diags *diags, hia_diag *diag, hia_edit edit, uint32_t start, uint32_t end,
              const char *fmt, ...) HIA_PRINTF(6, 7);
/* `at`: a byte of the source, or HIA_NONE for a note without a place. */
void hiaF_note(hia_diags *diags, hia_diag *diag, uint32_t at, const char *fmt, ...)
    HIA_PRINTF(4, 5);
/* Shows bytes start .. end with the error, as having this shape. */
void hiaF_mark(hia_diags *diags, hia_diag *diag, uint32_t start, uint32_t end, const char *shape);
const char *hiaF_error_code(enum hia_code code);

/* ---- lex.c ---- */

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
  bool is_foreign; /* of another language, and reported; the parser goes on as with `kind` */
  uint8_t suffix;  /* INT, FLOAT: hia_dtype or HIA_NO_SUFFIX */
  uint32_t start, end;
  uint32_t symbol; /* NAME and keywords */
} hia_token;

typedef uint32_t hia_symbol_id;
typedef uint32_t hia_ast_id;

/* A spelling, and its meaning at the point that the walk of names.c has reached. */
typedef struct hia_symbol {
  const char *text; /* NUL-terminated, in the arena */
  uint32_t len, hash;
  uint32_t decl; /* function, constructor, const, param of the file: index into p->decls, or NONE */
  uint32_t type; /* data type of the file: index into p->decls, or NONE */
  hia_ast_id var;    /* binder of the innermost variable of this name, or NONE */
  uint32_t bound_at; /* names.c: its index in the undo stack */
} hia_symbol;

typedef struct hia_symbols {
  hia_arena *arena;
  HIA_VEC(hia_symbol) list;
  hia_u32vec table; /* open addressing; a power of two long */
} hia_symbols;
void hiaF_symbols_init(hia_symbols *symbols, hia_arena *arena); /* with the keywords */
hia_symbol_id hiaF_intern(hia_symbols *symbols, const char *text, uint32_t len);

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
  HIA_AST_MATMUL,  /* the same layout */
  HIA_AST_LOGIC,   /* op: 0 and, 1 or; the same layout */
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
  HIA_REF_GRAD,    /* of a GRAD: a function of the program, differentiated */
} hia_ref;

typedef struct hia_ast {
  uint8_t kind, op, flags, pad;
  uint32_t pos; /* the byte that errors and run-time failures point at: of the operator, the name */
  uint32_t start, end; /* the bytes it covers, without brackets around it */
  uint32_t a, b, c;
} hia_ast;

/* ---- inference types (itype.c) ----
 *
 * The type of an expression during inference: an index like hia_type (the dtypes are the same),
 * whose parts may also be literal types, unknown, and bottom (the type of `fail`). A literal or
 * bottom type with a U is tainted: it was joined with an unknown, and is not decided before the
 * unknown is (see solve.c).
 *
 * A tensor is a *leaf*, a dtype or literal type, and a rank; a scalar is a leaf of rank 0. Operands
 * of elementwise operators broadcast: their join has the join of the leaves and the higher rank. If
 * one of them is unknown, that rank is *open*: a lower bound, until the unknown is known. So is the
 * rank of a tainted leaf. Ranks are open only in programs that may have tensors (has_tensors): in
 * others an operand is a scalar.
 *
 * The parts of a tuple and the element of an array are types of inference too; a data type is
 * always final. */

typedef uint32_t hia_itype;
enum {
  HIA_IT_UNKNOWN = 5,
  HIA_IT_BOTTOM, /* of fail: joins with any type */
  HIA_IT_BOTTOM_U,
  HIA_IT_INT,
  HIA_IT_INT_U,
  HIA_IT_FLOAT,
  HIA_IT_FLOAT_U,
  HIA_IT_WHOLE, /* of an operation on integers whose operands are INT: never a float */
  HIA_IT_WHOLE_U,
  HIA_IT_ERROR,            /* reported, or about to be: joins with every type without a message */
  HIA_IT_FIRST_TUPLE = 16, /* tuples: index into it->tuples + 16 */
};
#define HIA_IT_NONE   UINT32_MAX
#define HIA_IT_TENSOR 0x10000000u /* tensors: and rank * 16 + leaf, a dtype or literal type */
#define HIA_IT_OPEN   0x1000u     /* of a tensor: the rank, 0 perhaps, is a lower bound */
#define HIA_IT_ARRAY  0x20000000u /* arrays: and the index into it->tuples */
#define HIA_IT_DATA   0x40000000u /* data types: and the index into it->data */
enum {                            /* what the parts of a type contain */
       HIA_HAS_UNKNOWN = 1,
       HIA_HAS_TAINT = 2,   /* a tainted type (_U) */
       HIA_HAS_LITERAL = 4, /* INT, FLOAT or WHOLE, tainted or not */
       HIA_HAS_BOTTOM = 8,  /* tainted or not */
       HIA_HAS_ERROR = 16,
       HIA_HAS_RANK = 32, /* a rank that is a lower bound (HIA_IT_OPEN) */
};
/* A tuple, or an array, which has one part: its element. */
typedef struct hia_ituple {
  uint32_t first, n;
  uint32_t parts; /* of the whole type, see HIA_MAX_TYPE_PARTS */
  uint32_t words; /* of a value of the type */
  uint32_t has;
  hia_type type; /* the graph's type, once hiaF_itype_type made it; else NONE */
  bool is_array;
} hia_ituple;
typedef struct hia_idata {
  const char *name;
  uint32_t decl; /* its TYPE: index into p->decls */
  hia_type type; /* the graph's type, declared when the data type is added */
} hia_idata;
typedef struct hia_itypes {
  hia_arena *arena;
  hia_types *types;
  HIA_VEC(hia_ituple) tuples;
  HIA_VEC(hia_itype) parts;
  hia_u32vec table;
  HIA_VEC(hia_idata) data;
  bool has_tensors; /* the program may have some */
} hia_itypes;
void hiaF_itypes_init(hia_itypes *it, hia_arena *arena, hia_types *types);
/* ERROR if it would have more than HIA_MAX_TYPE_PARTS parts; `parts` may lie in it->parts. */
hia_itype hiaF_ituple(hia_itypes *it, const hia_itype *parts, uint32_t n);
hia_itype hiaF_iarray(hia_itypes *it, hia_itype element); /* ERROR as hiaF_ituple */
/* Elements in a row: an array; of scalars and tensors a tensor. Of what fails always it may be
 * either: an array of bottom, which joins with both. */
hia_itype hiaF_in_a_row(hia_itypes *it, hia_itype element);
/* A new data type, of a name that none has. */
hia_itype hiaF_idata(hia_itypes *it, const char *name, uint32_t decl);
/* True for dtypes and the types of the enumeration above. */
static inline bool hiaF_is_simple(hia_itype t) { return t < HIA_IT_FIRST_TUPLE; }
static inline bool hiaF_is_tuple(hia_itype t) {
  return t >= HIA_IT_FIRST_TUPLE && t < HIA_IT_TENSOR;
}
static inline bool hiaF_is_tensor(hia_itype t) { return t >= HIA_IT_TENSOR && t < HIA_IT_ARRAY; }
/* True for scalars and tensors, unknown and bottom among them; not for ERROR. */
static inline bool hiaF_is_ranked(hia_itype t) { return t < HIA_IT_ERROR || hiaF_is_tensor(t); }
/* Of one of these. */
static inline hia_itype hiaF_leaf(hia_itype t) { return hiaF_is_tensor(t) ? t % 16 : t; }
static inline uint32_t hiaF_irank(hia_itype t) {
  return hiaF_is_tensor(t) ? (t & (HIA_IT_OPEN - 1)) / 16 : 0;
}
bool hiaF_has_open_rank(hia_itype t);
/* UNKNOWN and ERROR remain what they are. */
hia_itype hiaF_ranked(hia_itype leaf, uint32_t rank, bool is_open);
static inline bool hiaF_is_array(hia_itype t) { return t >= HIA_IT_ARRAY && t < HIA_IT_DATA; }
static inline bool hiaF_is_data(hia_itype t) { return t >= HIA_IT_DATA && t != HIA_IT_NONE; }
hia_itype hiaF_element(const hia_itypes *it, hia_itype array);
static inline uint32_t hiaF_data_decl(const hia_itypes *it, hia_itype data) {
  return it->data.data[data - HIA_IT_DATA].decl;
}
uint32_t hiaF_ituple_len(const hia_itypes *it, hia_itype t);
hia_itype hiaF_ituple_part(const hia_itypes *it, hia_itype t, uint32_t i);
uint32_t hiaF_itype_parts(const hia_itypes *it, hia_itype t);
uint32_t hiaF_itype_words(const hia_itypes *it, hia_itype t); /* of a value */
uint32_t hiaF_itype_has(const hia_itypes *it, hia_itype t);   /* HIA_HAS_ bits */
/* The join; ERROR if there is none, or one of them has an ERROR part. */
hia_itype hiaF_join(hia_itypes *it, hia_itype a, hia_itype b);
/* The join of operands that broadcast. */
hia_itype hiaF_broadcast(hia_itypes *it, hia_itype a, hia_itype b);
/* Literal and bottom parts become their dtypes. Those that are tainted become unknown, unless this
 * is forced; likewise scalars and tensors of open rank. */
typedef enum hia_force { HIA_FORCE_NOTHING, HIA_FORCE_RANKS, HIA_FORCE_ALL } hia_force;
hia_itype hiaF_settle(hia_itypes *it, hia_itype t, hia_force force);
/* A result that is not final, as calls use it: literal and tainted parts are unknown. */
hia_itype hiaF_view(hia_itypes *it, hia_itype t);
/* True if no part is literal, bottom, unknown or error. */
static inline bool hiaF_is_final(const hia_itypes *it, hia_itype t) {
  return hiaF_itype_has(it, t) == 0;
}
hia_type hiaF_itype_type(hia_itypes *it, hia_itype t);       /* t is final */
hia_type hiaF_itype_made(const hia_itypes *it, hia_itype t); /* made before: no allocation */
hia_itype hiaF_itype_of(hia_itypes *it, hia_type t);
void hiaF_itype_print(const hia_itypes *it, hia_itype t, hia_text *out);
const char *hiaF_itype_text(const hia_itypes *it, hia_itype t); /* in the arena */

/* A callee of a CALL that stands for an instance of a function. */
static inline bool hiaF_is_of_instance(const hia_ast *callee) {
  return callee->op == HIA_REF_FN || callee->op == HIA_REF_GRAD;
}

/* ---- declarations, instances, the program ---- */

typedef enum hia_decl_kind {
  HIA_DECL_FN,
  HIA_DECL_EXTERN,
  HIA_DECL_TYPE,
  HIA_DECL_CON,
  HIA_DECL_CONST,
  HIA_DECL_PARAM,
} hia_decl_kind;

/* The error of a const at a dtype. */
typedef struct hia_fault {
  enum hia_code code;
  uint32_t start, end;
  const char *message; /* NULL: reported already */
} hia_fault;

typedef enum hia_const_state { HIA_CONST_NEW, HIA_CONST_OK, HIA_CONST_BAD } hia_const_state;
typedef struct hia_const_value {
  hia_const_state state;
  hia_word word;
  hia_fault fault;
} hia_const_value;

typedef struct hia_decl {
  uint8_t kind;    /* hia_decl_kind */
  bool broken;     /* its syntax or names have errors: it is not typed */
  bool generic;    /* FN: has a parameter without a type */
  bool used;       /* CONST: some checked code uses its value */
  bool impure;     /* EXTERN */
  bool raises;     /* EXTERN: its calls may fail */
  bool is_endless; /* TYPE: it has no value; reported */
  uint8_t mark;    /* scratch of const.c: visit state */
  bool recompute;  /* FN: gradients compute its calls again */
  hia_symbol_id symbol;
  uint32_t pos, end;               /* of its name */
  uint32_t head_end;               /* FN: the byte behind its parameters' closing bracket */
  uint32_t params, n_params;       /* extra[params ...): PARAM nodes; CON: its fields */
  uint32_t n_cons;                 /* TYPE: its constructors are the next decls */
  uint32_t number;                 /* CON: among those of its type */
  hia_itype data;                  /* TYPE, CON: the data type */
  hia_ast_id type;                 /* result, const or param type; or NONE */
  hia_ast_id body;                 /* or NONE */
  hia_ast_id first_node, end_node; /* its nodes */
  /* FN, EXTERN: the function that its clause `gradient` is, which is a declaration of its own, in
   * no list of functions; or NONE. FN: what it computes the gradient of; or NONE. */
  uint32_t gradient, gradient_of;
  uint32_t gradient_inst; /* EXTERN: the instance of that; or NONE */
  /* FN, EXTERN, PARAM */
  uint32_t fn; /* FN: its hia_decl_id (frontend.h); EXTERN, PARAM: its number among those */
  hia_itype *param_types; /* UNKNOWN: generic; of a CON, too */
  hia_itype result;       /* declared; or NONE */
  uint32_t n_insts;
  /* CONST */
  hia_itype const_type;    /* declared or inferred, perhaps literal */
  hia_const_value *values; /* by dtype */
} hia_decl;

typedef enum hia_inst_state {
  HIA_INST_NEW,
  HIA_INST_ACTIVE, /* on the stack of solve.c */
  HIA_INST_DONE,
} hia_inst_state;

typedef struct hia_inst {
  uint32_t decl; /* index into p->decls */
  const hia_itype *args;
  hia_itype want;       /* result type that a call requires of a failing function; else NONE */
  hia_itype declared;   /* of its result; or NONE */
  uint32_t gradient;    /* the instance of its clause `gradient`, once it is checked; or NONE */
  hia_itype result;     /* as far as it is known; DONE: final, BOTTOM or ERROR */
  uint8_t state;        /* hia_inst_state */
  bool is_bottom;       /* every path fails: its result joins with any type */
  bool checked, failed; /* check.c */
  bool judged;          /* check.c has decided whether it ends */
  bool sound;           /* it and all its callees have no error */
  bool no_base;         /* result stayed unknown */
  bool ends;            /* some path through it makes only calls that can end */
  bool settles;         /* the same, where calls of gradients count, too (ending.c) */
  bool derives;         /* so does its derivative */
  bool queued;
  bool held;            /* the last typing of its body left a tainted literal unknown */
  bool conflict;        /* the last typing had an error, or the result reached no fixpoint */
  uint8_t changes;      /* how often solving replaced its result by one that does not contain it */
  hia_itype found;      /* its body's type in this round of solving */
  uint32_t order;       /* of becoming DONE: callees before callers, a group together */
  uint32_t group;       /* number of its strongly connected component */
  uint32_t index, low;  /* Tarjan 1972 */
  uint32_t stamp;       /* scratch: number of the last walk that visited it */
  uint32_t caller;      /* the older instance whose call made this one; NONE: the host did */
  hia_ast_id call;      /* its CALL node */
  uint32_t last_caller; /* the last one added to callers */
  hia_itype *types;     /* by node, from the declaration's first_node on */
  hia_u32vec callees, callers;
  hia_diags *diags; /* its errors, or NULL; reported again at each check of it */
  /* dims.c, in programs that may have tensors. */
  hia_dim *result_dims; /* of its result, as calls see it; NULL: not walked */
  const hia_dim **dims; /* by node, as `types`: those of expressions of tensors; or NULL */
} hia_inst;

/* A gradient in the text: a GRAD. */
typedef struct hia_ast_grad {
  hia_ast_id node;
  hia_ast_id fn;        /* the NAME of the function */
  hia_ast_id given;     /* what `wrt` is, a NAME or a TUPLE of NAMEs; NONE: there is no `wrt` */
  uint32_t in;          /* the declaration that it stands in */
  bool has_value;       /* value_and_grad */
  HIA_VEC(hia_wrt) wrt; /* parameters by their number; params by their declaration */
} hia_ast_grad;

typedef struct hia_elab hia_elab;
struct hia_program {
  hia_comp *comp;
  hia_arena *arena; /* comp's */
  const hia_source *source;
  hia_diags *diags; /* where messages go now */
  hia_symbols symbols;
  hia_itypes it;
  HIA_VEC(hia_ast) nodes;
  hia_u32vec extra;
  HIA_VEC(hia_decl) decls;
  HIA_VEC(hia_ast_grad) grads;
  hia_u32vec fns;                 /* decls that are functions */
  hia_u32vec externs;             /* decls that are functions of the host */
  HIA_VEC(hia_param_spec) params; /* by the numbers of the decls */
  bool parsed, parse_failed;
  uint64_t parse_ns;
  bool names_unreliable; /* some item's name could not be read: unknown names are not reported */
  bool *is_impure;       /* by decl; NULL until the first hiaF_is_impure */
  uint32_t *lines;       /* offsets of line starts */
  uint32_t n_lines;
  /* solve.c */
  HIA_VEC(hia_inst) insts;
  hia_u32vec inst_table; /* hash of declaration, arguments, required result */
  hia_u32vec tarjan;
  uint32_t n_visited, n_done, n_groups, stamp;
};

static inline hia_ast *hiaF_node(const hia_program *p, hia_ast_id id) { return &p->nodes.data[id]; }
static inline hia_decl *hiaF_decl(const hia_program *p, uint32_t id) { return &p->decls.data[id]; }
static inline hia_inst *hiaF_inst(const hia_program *p, uint32_t id) { return &p->insts.data[id]; }
static inline const char *hiaF_symbol_text(const hia_program *p, hia_symbol_id s) {
  return p->symbols.list.data[s].text;
}
/* The constructor of a PAT_CON; NULL if there is none of this name, which was reported. */
static inline const hia_decl *hiaF_pattern_con(const hia_program *p, const hia_ast *pattern) {
  uint32_t decl = p->symbols.list.data[pattern->a].decl;
  if (decl == HIA_NONE || hiaF_decl(p, decl)->kind != HIA_DECL_CON) return NULL;
  return hiaF_decl(p, decl);
}
/* The constructors of a data type: hiaF_cons(p, type)[number]. */
static inline const hia_decl *hiaF_cons(const hia_program *p, hia_itype data) {
  return hiaF_decl(p, hiaF_data_decl(&p->it, data) + 1);
}
static inline uint32_t hiaF_n_cons(const hia_program *p, hia_itype data) {
  return hiaF_decl(p, hiaF_data_decl(&p->it, data))->n_cons;
}

/* ---- program.c ---- */

hia_program *hiaF_program_new(hia_comp *comp, hia_types *types, const hia_source *source,
                              hia_diags *diags);
/* The line and column that users see. The function of a position decides its file. */
void hiaF_position(const hia_program *p, uint32_t at, uint32_t *line, uint32_t *col);

/* ---- parse.c, parse_expr.c, parse_type.c ---- */

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
bool hiaF_accept(hia_parser *s, hia_token_kind kind);
bool hiaF_expect(hia_parser *s, hia_token_kind kind, const char *where);
hia_diag *hiaF_unexpected(hia_parser *s, const char *wanted);
/* The same without the panic: parsing goes on here. */
hia_diag *hiaF_soft_unexpected(hia_parser *s, const char *wanted);
/* An error without the panic: parsing goes on here. */
hia_diag *hiaF_soft_error(hia_parser *s, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) HIA_PRINTF(5, 6);
/* One level deeper. Reports an error and returns false if that is too deep. */
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
/* What gets a name. */
typedef enum hia_named {
  HIA_NAMED_FN,
  HIA_NAMED_CONST,
  HIA_NAMED_PARAM, /* an item */
  HIA_NAMED_TYPE,
  HIA_NAMED_CON,
  HIA_NAMED_PARAMETER, /* of a function, or a field of a constructor */
  HIA_NAMED_LVAR,
  HIA_NAMED_BINDER,  /* of a `let` or of a clause `gradient` */
  HIA_NAMED_ELEMENT, /* of a comprehension */
  HIA_NAMED_PATTERN,
  HIA_NAMED_ARGUMENT, /* as in `axis = 0` */
} hia_named;
/* A name. Reports an error and returns HIA_NONE if there is none. A keyword that stands where the
 * name should is reported and returned: hiaF_is_keyword(). Variables may be `_`. */
hia_symbol_id hiaF_parse_name(hia_parser *s, hia_named named);
/* True at a keyword in the place of a name: what is behind it goes on as behind a name. */
bool hiaF_at_keyword_name(const hia_parser *s, hia_named named);
/* True at a keyword that was reported as a name before, where a name would be its use. */
bool hiaF_at_misused(const hia_parser *s);
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

/* ---- habits.c: words of other languages ---- */

enum {                      /* the place of a word */
       HIA_HABIT_ITEM = 1,  /* at the start of a definition */
       HIA_HABIT_START = 2, /* before an expression, as `return x` */
       HIA_HABIT_INFIX = 4, /* behind an expression */
       HIA_HABIT_VALUE = 8,
       HIA_HABIT_CALL = 16, /* as a function */
};
/* The hint, what to write instead; or NULL. */
const char *hiaF_habit(const hia_program *p, const char *word, unsigned place);
/* True for words that declare a variable in other languages: `var`, `int`. */
bool hiaF_is_let_word(const char *word);

/* ---- names.c, similar.c ---- */

void hiaF_names(hia_program *p);
/* An expression of the command line: only built-ins are known. */
bool hiaF_names_value(hia_program *p, hia_ast_id expr);

enum { /* what a name may mean at its place: similar names must mean one of these */
       HIA_LIKE_VALUE = 1,
       HIA_LIKE_FN = 2,
       HIA_LIKE_TYPE = 4,
       HIA_LIKE_CON = 8,
};
const char *hiaF_similar_name(const hia_program *p, const char *name, uint32_t len, unsigned like);
/* The op of a built-in function: HIA_OP_LIMIT if there is none of this name. Those of functions,
 * arrays and tensors are no ops of one scalar. */
typedef enum hia_builtin {
  HIA_BUILTIN_GRAD = HIA_OP_LIMIT + 1,
  HIA_BUILTIN_VALUE_AND_GRAD,
  HIA_BUILTIN_INIT,   /* an initialiser of params */
  HIA_BUILTIN_LEN,    /* (array) */
  HIA_BUILTIN_SET,    /* (array, index, element) */
  HIA_BUILTIN_CONCAT, /* (array, array, ...), tensors */
  /* Of tensors alone (infer_tensor.c). */
  HIA_BUILTIN_STACK,
  HIA_BUILTIN_ZEROS,
  HIA_BUILTIN_ONES,
  HIA_BUILTIN_FULL,
  HIA_BUILTIN_IOTA,
  HIA_BUILTIN_ONE_HOT,
  HIA_BUILTIN_RESHAPE,
  HIA_BUILTIN_TRANSPOSE,
  HIA_BUILTIN_SHAPE,
  HIA_BUILTIN_OUTER,
  HIA_BUILTIN_SOFTMAX,
  HIA_BUILTIN_LOG_SOFTMAX,
  HIA_BUILTIN_CROSS_ENTROPY,
  HIA_BUILTIN_SUM,
  HIA_BUILTIN_PROD,
  HIA_BUILTIN_MEAN,
  HIA_BUILTIN_MAX, /* of one tensor; of two operands it is an op */
  HIA_BUILTIN_MIN,
  HIA_BUILTIN_ARGMAX,
  HIA_BUILTIN_ARGMIN,
  HIA_BUILTIN_ANY,
  HIA_BUILTIN_ALL,
  HIA_BUILTIN_END
} hia_builtin;
unsigned hiaF_builtin(const char *name, uint32_t len);
const char *hiaF_builtin_name(uint32_t i); /* NULL behind the last */

/* ---- gradients.c ---- */

/* Finds, for each gradient without `wrt`, the params that its function may read, and reports
 * functions that have no gradient, and those that cannot bring their own. After hiaF_names. */
void hiaF_gradients(hia_program *p);
/* The NAME of what a gradient is with respect to; of a gradient without `wrt` that of the function.
 */
hia_ast_id hiaF_wrt_node(const hia_program *p, const hia_ast_grad *grad, uint32_t i);

/* ---- own_gradient.c: clauses `gradient` ---- */

/* The type of the gradient of what has this type: of a float the same, of a tuple those of its
 * parts, of which there may be none or one. NONE: it has none. */
hia_itype hiaF_gradient_type(hia_itypes *it, hia_itype type);
/* Of a call of the clause with these arguments: the type that its value must have. */
hia_itype hiaF_clause_type(hia_program *p, const hia_decl *clause, const hia_itype *args);
/* Finds the instance of the clause of an instance that is being checked, or reports why there can
 * be none. The same for a function of the host. */
void hiaF_own_gradient(hia_program *p, uint32_t inst);
void hiaF_own_gradient_of_extern(hia_program *p, uint32_t decl);
/* Expects, at the end of a clause whose value is words[0 ...), that gradients have the shapes of
 * the parameters. */
void hiaF_elab_gradient_shapes(hia_elab *e);

/* ---- data.c ---- */

/* Finds types without values, checks limits, and defines the graph's types of the data types. After
 * hiaF_names. */
void hiaF_data(hia_program *p);
void hiaF_define_data(hia_program *p); /* after hiaF_consts: fields have sizes */

/* ---- literal.c ---- */

/* The value of a number literal (hiaR_read_word). `negative`: a `-` stands before it. */
hia_number_state hiaF_number(const hia_program *p, const hia_ast *literal, bool negative,
                             hia_dtype dtype, hia_word *word);

/* ---- infer.c: types from the inside out ---- */

/* The expression that a hint is about. To the left of an operator in a chain that is no node: it is
 * the chain's first operands. */
typedef struct hia_operand {
  hia_ast_id expr;     /* the expression, or the chain */
  uint32_t n_operands; /* of the chain; 0: the whole expression */
  uint32_t start, end; /* bytes */
} hia_operand;

/* A hint that advice.c may improve once the body has been typed. */
typedef struct hia_advice {
  uint32_t line, col; /* of the error */
  const char *code;
  hia_operand operand; /* the hint converts this, */
  hia_itype from, to;  /* from this dtype to that, */
  hia_ast_id variable; /* or declares this loop variable at its next value's type; or NONE */
  hia_itype variable_type;
} hia_advice;

/* A change of a body, which is typed with it to count the errors that it leaves. A trial makes no
 * instances. */
typedef struct hia_trial {
  hia_ast_id variable;  /* a LET or LVAR that is declared as `type`; or NONE */
  hia_ast_id converted; /* an expression that is converted to `type`; or NONE */
  hia_itype type;
} hia_trial;

/* One typing: of an instance, a const, or a value. */
typedef struct hia_typing {
  hia_program *p;
  hia_itype *types; /* by node, less `first` */
  hia_ast_id first;
  uint32_t inst;    /* NONE: a constant expression, without calls of functions */
  bool report;      /* errors are reported */
  bool failed;      /* there were errors, reported or not */
  bool uses_broken; /* it uses a declaration that has an error of its own and no type */
  hia_force force;
  bool held;        /* a tainted literal, or an open rank, has not settled */
  hia_fault *fault; /* if not NULL: receives the first error instead of the diagnostics */
  uint32_t n_errors;
  const hia_trial *trial; /* or NULL */
  HIA_VEC(hia_advice) advice;
  hia_itype *scratch; /* advice.c: as `types`, of trials */
} hia_typing;
static inline hia_itype *hiaF_type_at(const hia_typing *t, hia_ast_id id) {
  return &t->types[id - t->first];
}
hia_itype hiaF_infer(hia_typing *t, hia_ast_id expr);
/* Types the body of t->inst; returns its type, joined with the declared result if there is one. */
hia_itype hiaF_infer_body(hia_typing *t);
hia_itype hiaF_declared_type(hia_program *p, hia_ast_id type); /* the meaning of a type node */
/* Reports an error of a typing. NULL if nothing was added: without messages, or already known. */
hia_diag *hiaF_type_error(hia_typing *t, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) HIA_PRINTF(5, 6);
/* At the place of a declared type `want`, of `what`: reports an error if the join of `have` and
 * `want` is not `want`. */
void hiaF_accept_type(hia_typing *t, hia_ast_id expr, hia_itype have, hia_itype want,
                      const char *what);
/* The join of two operands' types. Reports an error about bytes start .. end if there is none. */
hia_itype hiaF_join_exprs(hia_typing *t, hia_operand left, hia_itype left_type, hia_operand right,
                          hia_itype right_type, uint32_t start, uint32_t end, const char *what);
/* The same where they broadcast. */
hia_itype hiaF_broadcast_exprs(hia_typing *t, hia_operand left, hia_itype left_type,
                               hia_operand right, hia_itype right_type, uint32_t start,
                               uint32_t end, const char *what);
static inline hia_itype hiaF_settled(hia_typing *t, hia_itype type) {
  uint32_t has = hiaF_itype_has(&t->p->it, type);
  t->held |= has & HIA_HAS_TAINT && t->force < HIA_FORCE_ALL;
  t->held |= has & HIA_HAS_RANK && t->force < HIA_FORCE_RANKS;
  return hiaF_settle(&t->p->it, type, t->force);
}
/* The text of an expression; NULL if it is too long to quote or not on one line. */
const char *hiaF_quote(const hia_program *p, hia_ast_id expr);
const char *hiaF_quote_bytes(const hia_program *p, uint32_t start, uint32_t end);

/* ---- infer_tensor.c: tensors ---- */

typedef struct hia_tensor_builtin {
  const char *name;
  unsigned op;
  uint32_t least, most; /* arguments without a name */
  bool takes_axis;      /* `axis = k` */
} hia_tensor_builtin;
const hia_tensor_builtin *hiaF_tensor_builtin(unsigned builtin); /* NULL: it is none */
/* How many arguments have no name; the expression of the one with a name, or NONE. */
uint32_t hiaF_positional(const hia_program *p, const hia_ast *call, hia_ast_id *axis);
hia_ast_id hiaF_positional_arg(const hia_program *p, const hia_ast *call, uint32_t i);
/* The axis of a call of a built-in whose operands have this rank; NONE: all axes; BAD_AXIS: it is
 * no constant, or out of bounds. */
#define HIA_BAD_AXIS ((uint64_t)HIA_NONE + 1)
uint64_t hiaF_axis(hia_program *p, const hia_ast *call, unsigned builtin, uint32_t rank);
/* True if the rule takes a leaf type. */
bool hiaF_rule_takes(hia_rule rule, hia_itype leaf);
hia_itype hiaF_infer_matmul(hia_typing *t, hia_ast_id id);
hia_itype hiaF_infer_tensor(hia_typing *t, const hia_ast *call, const hia_ast *callee);
hia_itype hiaF_concat_type(hia_typing *t, const hia_ast *call, hia_itype type);

/* True if the expression is made of literals, consts, operators and built-ins of scalars, whose
 * names are resolved. */
bool hiaF_is_constant(const hia_program *p, hia_ast_id id);
/* The value of a constant expression that is an i32 or i64; false: it is none, or fails. After
 * hiaF_consts. */
bool hiaF_constant_size(hia_program *p, hia_ast_id expr, int64_t *value);

/* ---- sizes.c: sizes in types ---- */

bool hiaF_has_sizes(const hia_program *p, hia_ast_id type); /* `type` may be NONE */
/* The next value of variable i of a loop; where it is not written apart, that of all variables. */
hia_ast_id hiaF_next_value(const hia_program *p, const hia_ast *loop, uint32_t i);
void hiaF_infer_sizes(hia_typing *t, hia_ast_id type);
void hiaF_resolve_sizes(hia_typing *t, hia_ast_id type);

/* ---- advice.c: hints of type errors ---- */

/* The operand for an expression; for a block, that for its value. */
hia_operand hiaF_operand(const hia_program *p, hia_ast_id expr);
/* The first operands of a chain. `end`: where the next operator begins. */
hia_operand hiaF_operands(const hia_program *p, hia_ast_id chain, uint32_t n_operands,
                          uint32_t end);
/* Hints to convert an operand, and notes the hint for hiaF_advise. `diag` may be NULL. */
void hiaF_hint_conversion(hia_typing *t, hia_diag *diag, hia_operand operand, hia_itype from,
                          hia_itype to);
/* The same where the operand (its expr may be NONE) is the next value of a loop variable: the
 * variable may be declared at the operand's type `from` instead. */
void hiaF_hint_variable(hia_typing *t, hia_diag *diag, hia_operand operand, hia_itype from,
                        hia_itype to, hia_ast_id variable);
/* Improves the hints, after the body of t->inst was typed with messages. */
void hiaF_advise(hia_typing *t);

/* ---- infer_match.c ---- */

hia_itype hiaF_infer_match(hia_typing *t, hia_ast_id expr);

/* ---- cover.c ---- */

/* Checks that the arms of a match on `subject`, whose patterns are of this type, cover every case,
 * and that each can be reached. */
void hiaF_cover(hia_typing *t, hia_ast_id match, hia_itype subject);

/* The decisions of a match that hiaF_cover has accepted: which arm takes a subject, by looking at
 * no place twice. Nodes may be reached on several ways. */
typedef struct hia_match_place {
  uint32_t parent;     /* place; NONE: it is the subject, place 0 */
  uint32_t con, field; /* of the parent: field number `field` of constructor number `con` */
  hia_itype type;
} hia_match_place;
typedef struct hia_match_case {
  int64_t key; /* the number of a constructor, an integer, or a bool */
  uint32_t node;
} hia_match_case;
typedef struct hia_match_node {
  uint32_t place;     /* what is looked at, which is data, an integer or a bool; NONE: a leaf */
  uint32_t arm;       /* of a leaf */
  uint32_t first, n;  /* cases[first .. first + n), in order of their keys */
  uint32_t otherwise; /* the node for all other keys; NONE: there are none */
} hia_match_node;
typedef struct hia_match_tree {
  HIA_VEC(hia_match_node) nodes; /* those that a node leads to stand before it */
  HIA_VEC(hia_match_case) cases;
  HIA_VEC(hia_match_place) places; /* parents stand before their parts */
  uint32_t root;
} hia_match_tree;
/* In `arena`; the walk takes memory of the program, too. */
hia_match_tree hiaF_match_tree(hia_program *p, hia_arena *arena, hia_ast_id match,
                               hia_itype subject);

/* ---- settle.c: final types from the outside in ----
 * Every expression gets the final type of its place; literals are checked for range. */

void hiaF_resolve(hia_typing *t, hia_ast_id expr, hia_itype type);

/* ---- solve.c ---- */

/* Finds the instance or makes it, for the node `call` of the instance `caller` (both HIA_NONE: for
 * the host). HIA_NONE if there would be too many. */
uint32_t hiaF_instance(hia_program *p, uint32_t decl, const hia_itype *args, hia_itype want,
                       uint32_t caller, hia_ast_id call);
/* The instance if it was made, else HIA_NONE. */
uint32_t hiaF_known_instance(const hia_program *p, uint32_t decl, const hia_itype *args,
                             hia_itype want);
void hiaF_add_call(hia_program *p, uint32_t caller, uint32_t callee);
void hiaF_solve(hia_program *p, uint32_t inst); /* until it and all that it calls are DONE */

/* ---- check.c ---- */

/* True if these DONE instances, and all that they call, have no error. Else reports the errors,
 * also those that an earlier check found. */
bool hiaF_check(hia_program *p, const uint32_t *insts, uint32_t n);
/* Notes the calls that gave a generic instance its types. `diag` may be NULL. */
void hiaF_note_instances(hia_program *p, uint32_t inst, hia_diag *diag);
/* "f(i32, f64)": the name of an instance. */
const char *hiaF_inst_name(const hia_program *p, uint32_t inst, hia_arena *arena);

/* ---- ending.c ---- */

/* Sets `ends` of these instances, which have been checked. */
void hiaF_find_ending(hia_program *p, const hia_u32vec *reached);
/* Reports clauses `gradient` among them that need themselves on every path. */
void hiaF_check_own_gradients(hia_program *p, const hia_u32vec *reached);

/* ---- dims.c: sizes of expressions ---- */

/* Finds the sizes of the expressions of checked instances, among which are all that they call but
 * for those that an earlier call had, and reports those that do not fit. */
void hiaF_dims(hia_program *p, const uint32_t *insts, uint32_t n);

/* ---- const.c, eval.c ---- */

void hiaF_consts(hia_program *p);
/* The value of a const at a dtype, which is its own or one its literal type can take. */
const hia_const_value *hiaF_const_value(const hia_program *p, uint32_t decl, hia_dtype dtype);
/* Appends the values of a resolved constant expression to `out`. Returns false, with t->fault set,
 * if evaluation fails. */
bool hiaF_eval(hia_typing *t, hia_ast_id expr, hia_word *out, uint32_t *n);
/* ---- params.c ---- */

/* Finds the shapes and initialisers of the params, after the consts. */
void hiaF_params(hia_program *p);
/* True if there is an initialiser of this name: which, and how many arguments it takes. */
bool hiaF_initialiser(const char *name, hia_init *init, uint32_t *arity);

/* Reports errors of consts that nothing uses, after everything else was checked. */
void hiaF_consts_unused(hia_program *p);

/* ---- elab.c, elab/match.c, elab/data.c ---- */

/* One function being built. The words of a value are pushed on `words`; those of a variable lie in
 * `vars`, from slots[binder - first] on. */
struct hia_elab {
  hia_program *p;
  hia_arena *arena; /* the graph's; nothing here lives in the program's */
  hia_graph *g;
  hia_fn_id *fns;    /* by instance: its function, or NONE */
  uint32_t *externs; /* by number: the extern of the graph, or NONE */
  hia_u32vec copied; /* by type of the program, less HIA_FIRST_TYPE: the graph's, or NONE */
  hia_u32vec queue;  /* instances that have a function without a body yet */
  bool counted;
  /* the function */
  hia_fn *fn;
  uint32_t source; /* name in the source: index into g->names */
  hia_ast_id first;
  uint32_t decl;
  const hia_itype *types; /* final, by node */
  const hia_dim **dims;   /* the same, of hia_inst */
  hia_region_id region;   /* where nodes go now */
  hia_u32vec words, vars;
  uint32_t *slots;
  bool *is_used;     /* by node: a binder that some name refers to */
  uint32_t n_copies; /* how often what is made now is made: once for each way to an arm */
  hia_ast_id result; /* the declared type of its result, if that has sizes; else NONE */
  enum { HIA_SIZES_ALL, HIA_SIZES_OF_TENSORS, HIA_SIZES_IN_ARRAYS } which_sizes; /* sizes.c */
};

/* sizes.c: binds the sizes that the type names, and expects the others, of a value whose words are
 * those from `at` on. Failures show `expr`: an expression, or the parameter. */
void hiaF_elab_sizes(hia_elab *e, hia_ast_id type, uint32_t at, hia_ast_id expr);
/* True if the expression is a call whose callee expects the constant sizes of the type. */
bool hiaF_returns_sizes(hia_program *p, hia_ast_id expr, hia_ast_id type);

/* elab/tensor.c. Those that return nothing push a value. */
void hiaF_elab_i64(hia_elab *e, hia_ast_id expr); /* integers, as i64s */
void hiaF_elab_stack(hia_elab *e, uint32_t base,
                     const hia_ast *n); /* of the words from `base` on */
void hiaF_elab_tensor_index(hia_elab *e, const hia_ast *n);
void hiaF_elab_tensor_slice(hia_elab *e, const hia_ast *n);
void hiaF_elab_matmul(hia_elab *e, hia_ast_id id, const hia_ast *n);
void hiaF_elab_pack(hia_elab *e, uint32_t base, hia_ast_id id, const hia_ast *n);
void hiaF_elab_alike(hia_elab *e, hia_value_id k, hia_value_id element, const hia_ast *n);
void hiaF_elab_of_tensor(hia_elab *e, const hia_ast *call, unsigned builtin);
void hiaF_elab_tensor(hia_elab *e, hia_ast_id id, const hia_ast *call);
/* Pushes the words of an expression; returns where they begin. `tail`: its value is the
 * function's result. */
uint32_t hiaF_elab(hia_elab *e, hia_ast_id expr, bool tail);
uint32_t hiaF_elab_match(hia_elab *e, hia_ast_id expr, bool tail);
/* The same for a match whose subject, which is data, is this value. */
void hiaF_elab_match_data(hia_elab *e, hia_ast_id expr, hia_value_id subject, bool tail);
hia_type hiaF_elab_type(hia_elab *e, hia_itype type); /* the graph's type */
/* Nodes of the syntax of an arm, given its pattern and its expression; of some thousands, not all.
 */
uint32_t hiaF_elab_arm_size(const hia_program *p, hia_ast_id pattern, hia_ast_id expr);
hia_loc_id hiaF_elab_loc(hia_elab *e, uint32_t pos);
/* The same of an operation that may fail because its operands do not fit: of those from 0 on. */
hia_loc_id hiaF_elab_loc_of(hia_elab *e, uint32_t pos, const hia_operand *operands, uint32_t n);
/* Makes a binder stand for words[base ...). */
void hiaF_elab_bind(hia_elab *e, hia_ast_id binder, hia_itype type, uint32_t base);
/* An `if` on `cond` with results of `type`. The caller fills region `regions`, then regions + 1,
 * ends each with hiaF_elab_yield, and then calls hiaF_elab_results. */
hia_node_id hiaF_elab_if(hia_elab *e, hia_value_id cond, hia_itype type, hia_loc_id loc);
/* Ends the region with words[base ...), which are popped. */
void hiaF_elab_yield(hia_elab *e, hia_region_id region, uint32_t base);
uint32_t hiaF_elab_results(hia_elab *e, hia_node_id node); /* pushes them */

#endif
