/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Random well-typed programs: their representation, and the operations on it.
 *
 *   gen.c     makes one from a seed; gen_expr.c its expressions, gen_data.c those of data and
 *             arrays
 *   typing.c  the language's rules for the types of literals, independent of the compiler's; adds
 *             suffixes and declarations where a program would otherwise get other types
 *   print.c   writes it as source text and records the positions
 *   eval.c    computes its expected outcome, by walking its tree in sequential order; value.c has
 *             its data and arrays
 *   shrink.c  makes a failing program smaller
 *
 * None of them uses code of hiaton, so that their results are independent. */
#ifndef HIA_TESTS_DIFF_PROGRAM_H
#define HIA_TESTS_DIFF_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory: everything of a program lives in one pool, freed whole ---- */

typedef struct gen_pool {
  struct gen_chunk *chunks;
} gen_pool;
void *gen_alloc(gen_pool *pool, size_t size); /* zeroed; ends the process if there is no memory */
void gen_pool_free(gen_pool *pool);
#define GEN_NEW(pool, type)          ((type *)gen_alloc((pool), sizeof(type)))
#define GEN_NEW_ARRAY(pool, type, n) ((type *)gen_alloc((pool), (size_t)(n) * sizeof(type)))

typedef struct gen_text {
  char *data; /* NUL-terminated, malloc'ed */
  size_t len, cap;
} gen_text;
void gen_text_add(gen_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool gen_text_take(void *text, const char *bytes, size_t len); /* a hia_write */
void gen_text_free(gen_text *text);

/* ---- random numbers: splitmix64, so that a seed means the same program everywhere ---- */

typedef struct gen_random {
  uint64_t state;
} gen_random;
uint64_t gen_next(gen_random *r);
uint32_t gen_below(gen_random *r, uint32_t n); /* 0 .. n - 1; n > 0 */
bool gen_chance(gen_random *r, uint32_t percent);

/* ---- types ---- */

typedef uint32_t gen_type;
enum {
  GEN_BOOL, /* the dtypes have the numbers of hia_dtype */
  GEN_I32,
  GEN_I64,
  GEN_F32,
  GEN_F64,
  GEN_X, /* the type variable of a generic function: a dtype that its instance decides */
  GEN_INT_LITERAL,
  GEN_FLOAT_LITERAL,
  GEN_UNKNOWN,
  GEN_ERROR,
  GEN_FIRST_TUPLE = 16,
  GEN_FIRST_ARRAY = 1024,
  GEN_FIRST_DATA = 2048,
};
#define GEN_MAX_PARTS 3

typedef struct gen_tuple {
  uint32_t n;
  gen_type parts[GEN_MAX_PARTS];
  uint32_t words; /* the number of its scalars, data and arrays */
  bool has_x;
} gen_tuple;

typedef struct gen_con {
  char name[12];
  uint32_t n;
  gen_type *fields;
} gen_con;

typedef struct gen_data {
  char name[8];
  uint32_t n_cons;
  gen_con *cons;
  uint32_t base; /* a constructor whose fields contain only data types with smaller numbers */
  bool removed;
} gen_data;

/* The dtypes that a type variable may stand for, which decide its operators. */
typedef enum gen_class { GEN_NO_X, GEN_ANY_NUMBER, GEN_ANY_INT, GEN_ANY_FLOAT } gen_class;

/* ---- operators and built-ins: name, text, number of operands, their types ---- */

#define GEN_OPS(_)                                                                                 \
  _(ADD, "+", 2, NUMBER)                                                                           \
  _(SUB, "-", 2, NUMBER)                                                                           \
  _(MUL, "*", 2, NUMBER)                                                                           \
  _(DIV, "/", 2, NUMBER)                                                                           \
  _(REM, "%", 2, NUMBER)                                                                           \
  _(NEG, "-", 1, NUMBER)                                                                           \
  _(EQ, "==", 2, COMPARISON)                                                                       \
  _(NE, "!=", 2, COMPARISON)                                                                       \
  _(LT, "<", 2, COMPARISON)                                                                        \
  _(LE, "<=", 2, COMPARISON)                                                                       \
  _(GT, ">", 2, COMPARISON)                                                                        \
  _(GE, ">=", 2, COMPARISON)                                                                       \
  _(ABS, "abs", 1, NUMBER)                                                                         \
  _(RELU, "relu", 1, NUMBER)                                                                       \
  _(MIN, "min", 2, NUMBER)                                                                         \
  _(MAX, "max", 2, NUMBER)                                                                         \
  _(BAND, "band", 2, BITS)                                                                         \
  _(BOR, "bor", 2, BITS)                                                                           \
  _(BXOR, "bxor", 2, BITS)                                                                         \
  _(BNOT, "bnot", 1, BITS)                                                                         \
  _(SHL, "shl", 2, SHIFT)                                                                          \
  _(SHR, "shr", 2, SHIFT)                                                                          \
  _(SHRU, "shru", 2, SHIFT)                                                                        \
  _(POPCOUNT, "popcount", 1, INTEGER)                                                              \
  _(CLZ, "clz", 1, INTEGER)                                                                        \
  _(CTZ, "ctz", 1, INTEGER)                                                                        \
  _(ISNAN, "isnan", 1, CLASS)                                                                      \
  _(ISINF, "isinf", 1, CLASS)                                                                      \
  _(FLOOR, "floor", 1, FLOATING)                                                                   \
  _(CEIL, "ceil", 1, FLOATING)                                                                     \
  _(ROUND, "round", 1, FLOATING)                                                                   \
  _(SQRT, "sqrt", 1, FLOATING)                                                                     \
  _(EXP, "exp", 1, FLOATING)                                                                       \
  _(LOG, "log", 1, FLOATING)                                                                       \
  _(LOG1P, "log1p", 1, FLOATING)                                                                   \
  _(EXPM1, "expm1", 1, FLOATING)                                                                   \
  _(SIN, "sin", 1, FLOATING)                                                                       \
  _(COS, "cos", 1, FLOATING)                                                                       \
  _(TAN, "tan", 1, FLOATING)                                                                       \
  _(TANH, "tanh", 1, FLOATING)                                                                     \
  _(SIGMOID, "sigmoid", 1, FLOATING)                                                               \
  _(EXP2, "exp2", 1, FLOATING)                                                                     \
  _(LOG2, "log2", 1, FLOATING)                                                                     \
  _(LOG10, "log10", 1, FLOATING)                                                                   \
  _(ASIN, "asin", 1, FLOATING)                                                                     \
  _(ACOS, "acos", 1, FLOATING)                                                                     \
  _(ATAN, "atan", 1, FLOATING)                                                                     \
  _(SINH, "sinh", 1, FLOATING)                                                                     \
  _(COSH, "cosh", 1, FLOATING)                                                                     \
  _(POW, "pow", 2, FLOATING)                                                                       \
  _(ATAN2, "atan2", 2, FLOATING)                                                                   \
  _(HYPOT, "hypot", 2, FLOATING)                                                                   \
  _(FMA, "fma", 3, FLOATING)

typedef enum gen_op {
#define GEN_ROW(name, text, arity, works_on) GEN_##name,
  GEN_OPS(GEN_ROW)
#undef GEN_ROW
      GEN_N_OPS
} gen_op;
typedef enum gen_works_on {
  GEN_NUMBER,
  GEN_COMPARISON, /* any two of one dtype, to bool */
  GEN_BITS,
  GEN_INTEGER,
  GEN_SHIFT, /* an integer, and an integer of any dtype */
  GEN_FLOATING,
  GEN_CLASS /* a float, to bool */
} gen_works_on;
typedef struct gen_op_info {
  const char *text;
  uint8_t arity;
  gen_works_on on;
} gen_op_info;
extern const gen_op_info gen_ops[GEN_N_OPS];
static inline bool gen_is_infix(unsigned op) { return op <= GEN_GE && op != GEN_NEG; }

/* ---- expressions ---- */

typedef enum gen_kind {
  GEN_LIT,
  GEN_TRUTH, /* true, false */
  GEN_VAR,
  GEN_CONST, /* kids[0]: its expression, at this type; printed by name */
  GEN_OP,    /* arithmetic, comparisons, built-ins */
  GEN_NOT,
  GEN_AND,
  GEN_OR,
  GEN_SELECT, /* condition, a, b */
  GEN_CAST,   /* to .type */
  GEN_CALL,
  GEN_FAIL,  /* kids[0]: the code */
  GEN_IF,    /* condition, then, else */
  GEN_MATCH, /* scrutinee, arms */
  GEN_BLOCK, /* values of the lets, result */
  GEN_LOOP,  /* initial values, condition, block */
  GEN_TUPLE,
  GEN_FIELD, /* tuple */
  GEN_DATA,  /* the fields of constructor .con */
  GEN_ARRAY, /* the elements; at least one */
  GEN_LEN,   /* array */
  GEN_INDEX, /* array, index */
  GEN_SLICE, /* array, start, end */
  GEN_SET,   /* array, index, value */
  GEN_CONCAT,
  GEN_COMP, /* array, body; or start, end, body */
} gen_kind;

typedef struct gen_var {
  char name[12];
  gen_type type;
  gen_type inferred;    /* typing.c: its type by the language's rules */
  uint32_t slot;        /* of its first word in the function's frame */
  bool annotated;       /* parameter or loop variable: its type is written */
  bool dropped;         /* parameter: left out, in calls too; by shrink.c */
  bool is_part;         /* a part of its function's subject, so smaller than that */
  struct gen_var *copy; /* shrink.c: its copy in the new program */
} gen_var;

typedef struct gen_binder {
  gen_var *var; /* NULL: a tuple, or `_` when it has no parts */
  gen_type type;
  uint32_t n;
  struct gen_binder *parts;
} gen_binder;

typedef struct gen_let {
  gen_binder binder;
  bool annotated;
} gen_let;

typedef struct gen_pattern {
  gen_type type;
  gen_var *var;  /* binds the value */
  bool any;      /* `_` */
  bool is_rest;  /* var or any: of what other arms leave, so gen_data.c splits it no further */
  int64_t value; /* else: an integer; 0 and 1 for a bool; the number of a constructor */
  uint32_t n;    /* of a constructor: its fields */
  struct gen_pattern *parts;
} gen_pattern;

typedef struct gen_expr {
  uint8_t kind;  /* gen_kind */
  uint8_t op;    /* gen_op */
  bool bare;     /* LIT: written without a suffix */
  bool anchored; /* LIT of type X, FAIL: written with a companion that gives it its type */
  bool parens;   /* written in brackets that are not necessary */
  bool tail;     /* CALL: in tail position, so absent from the chain */
  bool tapped;   /* VAR: passed to an impure host function, which returns it */
  bool negative, is_float; /* LIT */
  bool truth;              /* TRUTH */
  gen_type type;
  uint32_t n;
  struct gen_expr **kids;
  uint32_t line, col; /* where a failure or a call in it is reported; by print.c */
  uint32_t field;     /* FIELD */
  uint32_t con;       /* DATA */
  gen_type binding;   /* CALL: what the callee's X stands for (may be the caller's X) */
  union {
    char digits[32]; /* LIT: as written, without suffix and sign */
    gen_var *var;
    struct gen_const *constant;
    struct gen_fn *fn;
    gen_let *lets;
    gen_var **vars; /* LOOP: n - 2 of them; COMP: one, or NULL: `_` */
    gen_pattern *arms;
  } as;
} gen_expr;

typedef struct gen_const {
  char name[8];
  gen_type type; /* 0 .. 4, or one of the literal types */
  gen_expr *value;
  bool removed;
} gen_const;

/* FUEL and TAIL count a parameter down; PARTS calls itself for parts of a parameter, its subject.
 */
typedef enum gen_group { GEN_PLAIN, GEN_FUEL, GEN_TAIL, GEN_PARTS } gen_group;

typedef struct gen_fn {
  char name[12];
  gen_var *params[6];
  uint32_t n_params;
  gen_type result;
  gen_type inferred; /* typing.c: its result by the rules */
  bool declared;     /* its result type is written */
  gen_class x;
  gen_var *x_param; /* has type X and is never hidden */
  gen_group group;
  uint32_t tree; /* FUEL: independent calls of its group in its body; 0: no tree of calls */
  uint32_t group_id;
  gen_var *fuel;    /* FUEL, TAIL: counts down; never hidden */
  gen_var *subject; /* PARTS */
  gen_expr *body;
  uint32_t n_words; /* of its frame */
  bool removed;
  struct gen_fn *copy; /* shrink.c */
} gen_fn;

#define GEN_MAX_FNS    24
#define GEN_MAX_CONSTS 6
#define GEN_MAX_TUPLES 256
#define GEN_MAX_ARRAYS 128
#define GEN_MAX_DATAS  6

typedef struct gen_program {
  gen_pool pool;
  gen_pool values; /* of the last gen_eval */
  uint64_t seed;
  gen_tuple tuples[GEN_MAX_TUPLES];
  uint32_t n_tuples;
  gen_type arrays[GEN_MAX_ARRAYS]; /* the types of their elements */
  uint32_t n_arrays;
  gen_data datas[GEN_MAX_DATAS];
  uint32_t n_datas;
  gen_const consts[GEN_MAX_CONSTS];
  uint32_t n_consts;
  gen_fn *fns[GEN_MAX_FNS]; /* the last is main; groups are consecutive, callees before callers */
  uint32_t n_fns;
  bool has_taps;     /* the host functions tap_T are declared */
  uint64_t args[16]; /* of main: words in canonical form */
  gen_text arg_text; /* of main: as the command line takes them */
} gen_program;

static inline bool gen_is_tuple(gen_type t) { return t >= GEN_FIRST_TUPLE && t < GEN_FIRST_ARRAY; }
static inline bool gen_is_array(gen_type t) { return t >= GEN_FIRST_ARRAY && t < GEN_FIRST_DATA; }
static inline bool gen_is_data(gen_type t) { return t >= GEN_FIRST_DATA; }
static inline const gen_tuple *gen_tuple_of(const gen_program *p, gen_type t) {
  return &p->tuples[t - GEN_FIRST_TUPLE];
}
static inline gen_type gen_element_of(const gen_program *p, gen_type t) {
  return p->arrays[t - GEN_FIRST_ARRAY];
}
static inline const gen_data *gen_data_of(const gen_program *p, gen_type t) {
  return &p->datas[t - GEN_FIRST_DATA];
}
/* ERROR if there are too many types, or one of the parts is ERROR. */
gen_type gen_tuple_type(gen_program *p, const gen_type *parts, uint32_t n);
gen_type gen_array_type(gen_program *p, gen_type element);
uint32_t gen_words(const gen_program *p, gen_type t);
bool gen_has_x(const gen_program *p, gen_type t);
gen_type gen_substitute(gen_program *p, gen_type t, gen_type binding); /* for X */
/* The value of a LIT at this dtype, in canonical form; by eval.c. */
uint64_t gen_literal_word(const gen_expr *e, gen_type t);
static inline gen_fn *gen_main(const gen_program *p) { return p->fns[p->n_fns - 1]; }

/* ---- gen.c ---- */

/* `size` 1 .. 10. The same arguments make the same program. */
gen_program *gen_make(uint64_t seed, uint32_t size, bool has_data);
void gen_free(gen_program *p);

/* ---- typing.c ---- */

/* Adds suffixes and declarations so that by the rules of the language every expression has the type
 * that it is meant to have. Also marks tail calls. NULL, or why it could not (a bug of the
 * generator). */
const char *gen_settle(gen_program *p);

/* ---- print.c ---- */

void gen_print(gen_program *p, gen_text *out);
void gen_print_type(const gen_program *p, gen_type t, gen_text *out);
/* As the language prints values; `reread` adds the suffixes that a generic parameter needs. */
void gen_print_value(const gen_program *p, gen_type t, const uint64_t *words, bool reread,
                     gen_text *out);
void gen_print_scalar(gen_type dtype, uint64_t word, gen_text *out);

/* ---- value.c ---- */

/* The word of data and of an array: the address of one of these, which never changes. */
typedef struct gen_object {
  uint32_t con;     /* of data */
  uint64_t n;       /* of an array: its elements */
  uint64_t size;    /* data, arrays and elements in it, counted at each place where they are */
  uint64_t words[]; /* the fields, or the elements */
} gen_object;
static inline const gen_object *gen_object_at(uint64_t word) {
  return (const gen_object *)(uintptr_t)word;
}
uint64_t gen_new_data(const gen_program *p, gen_pool *pool, gen_type t, uint32_t con,
                      const uint64_t *fields);
uint64_t gen_new_array(const gen_program *p, gen_pool *pool, gen_type t, uint64_t n,
                       const uint64_t *elements);
/* The size of the value of these words, at least their number. */
uint64_t gen_value_size(const gen_program *p, gen_type t, const uint64_t *words);
/* Copies what the words of a value refer to. */
void gen_copy_value(const gen_program *p, gen_pool *pool, gen_type t, uint64_t *words);
/* If the value of `words` matches, binds the variables in the frame. */
bool gen_matches(const gen_program *p, const gen_pattern *pattern, const uint64_t *words,
                 uint64_t *frame);

/* ---- eval.c ---- */

#define GEN_MAX_RESULT 5000 /* sizes of a result and of an array */

/* The hash of the values tapped so far, and then this one. */
uint64_t gen_tap(uint64_t taps, gen_type dtype, uint64_t word);

#define GEN_MAX_ELEMENTS 8
typedef struct gen_place {
  uint32_t line, col;
  const char *fn;
  /* The elements of the comprehensions that the position is in, the outermost first. The array has
   * as many as there is room for. */
  int64_t elements[GEN_MAX_ELEMENTS];
  uint32_t n_elements;
} gen_place;

typedef enum gen_end {
  GEN_VALUE,
  GEN_DIV_ZERO,
  GEN_DIV_OVERFLOW,
  GEN_FAILED,
  GEN_OUT_OF_RANGE,
  GEN_OUT_OF_FUEL,
  GEN_TOO_LONG, /* more work than the bound: there is no expected outcome */
} gen_end;

#define GEN_MAX_CHAIN 1024
typedef struct gen_outcome {
  gen_end end;
  int64_t code;                   /* FAILED */
  uint64_t words[16];             /* VALUE */
  gen_place chain[GEN_MAX_CHAIN]; /* innermost first */
  uint32_t n_chain;
  uint64_t calls, rounds; /* as the language counts them */
  uint64_t fuel_left;     /* VALUE, OUT_OF_FUEL: with fuel */
  uint64_t taps;          /* gen_tap of all that was tapped, in order */
  uint64_t n_evaluated;
} gen_outcome;

/* Runs main, with this much fuel; NULL: without a limit. Requires gen_settle and gen_print. Data
 * and arrays of the outcome live until the next call. */
void gen_eval(gen_program *p, uint64_t max_evaluated, const uint64_t *fuel, gen_outcome *out);

/* ---- shrink.c ---- */

/* A smaller program for which `fails` is still true, found with at most `tries` calls of it. Frees
 * p. Requires gen_settle. */
gen_program *gen_shrink(gen_program *p, bool (*fails)(void *user, gen_program *p), void *user,
                        uint32_t tries);

#endif
