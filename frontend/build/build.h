/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to frontend/build/: a draft, a program that is made by calls of the builder.
 *
 *   draft.c    what all calls share: mistakes, ids, names, types, items and their blocks
 *   dims.c     sizes of types and values
 *   declare.c  types, functions, params, and where bodies begin and end
 *   build.c    values, `if`s and loops
 *   tensor.c   operations on tensors
 *   data.c     data types, arrays, `match`es and comprehensions
 *   grad.c     gradients of functions
 *   read.c     signatures, definitions, types and patterns that the host passes as text
 *   cover.c    checks that the arms of a match cover every case
 *   print.c    the draft as text; its names: print_names.c
 *
 * A draft records the calls in their order and checks their types at once. It is no tree, and
 * nothing recurses but the short chains of print.c. A mistake of the caller throws
 * HIA_ARGUMENT with a message; after the first mistake the draft can only be printed. */
#ifndef HIA_FRONTEND_BUILD_H
#define HIA_FRONTEND_BUILD_H

#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"
#include "runtime/base/param.h"
#include "runtime/base/shape.h"

/* The items of a function's list, in order; CONST, WEIGHT, PARAM, VAR, BOUND, and DATA without
 * fields, are in no list. Indices, slices, `set` and `concat` are of arrays or of tensors. */
typedef enum hia_draft_kind {
  HIA_DRAFT_CONST,  /* word */
  HIA_DRAFT_WEIGHT, /* index: a `param` of the program, into weights */
  HIA_DRAFT_PARAM,  /* index */
  HIA_DRAFT_VAR,    /* variable of a loop; index */
  HIA_DRAFT_BOUND,  /* by the pattern of an arm, or by a comprehension */
  HIA_DRAFT_OP,     /* op: hia_op */
  HIA_DRAFT_CONVERT,
  HIA_DRAFT_FAIL,
  HIA_DRAFT_CALL, /* index: callee */
  HIA_DRAFT_GRAD, /* index: the function; word: index into grads */
  HIA_DRAFT_TUPLE,
  HIA_DRAFT_PART,    /* index */
  HIA_DRAFT_DATA,    /* index: constructor */
  HIA_DRAFT_ARRAY,   /* or a tensor, of scalars or tensors */
  HIA_DRAFT_EMPTY,   /* an array */
  HIA_DRAFT_ONE_HOT, /* index, size */
  HIA_DRAFT_EXPECT,  /* a tensor, sizes; word: of which axes, as bits */
  HIA_DRAFT_LEN,
  HIA_DRAFT_AT,
  HIA_DRAFT_SLICE,
  HIA_DRAFT_SET,
  HIA_DRAFT_CONCAT, /* index: the axis, or HIA_NONE: the last one, or arrays */
  HIA_DRAFT_TENSOR, /* op: of tensors alone; index: the axis, or HIA_NONE */
  /* Items with blocks; values once they have ended: that of the whole. */
  HIA_DRAFT_IF,    /* condition */
  HIA_DRAFT_LOOP,  /* initial values. index: its first VAR, the others follow */
  HIA_DRAFT_MATCH, /* subject. index: number of its arms so far */
  HIA_DRAFT_FOR,   /* array, or the ends of a range. index: its BOUND */
  /* The parts of these; index: the IF, LOOP, MATCH or FOR. */
  HIA_DRAFT_ELSE,     /* value of the first branch */
  HIA_DRAFT_END_IF,   /* value of the second */
  HIA_DRAFT_WHILE,    /* condition */
  HIA_DRAFT_END_LOOP, /* next values */
  HIA_DRAFT_ARM,      /* word: its pattern, and from bit 32 on its first BOUND; others follow */
  HIA_DRAFT_END_ARM,  /* value */
  HIA_DRAFT_END_MATCH,
  HIA_DRAFT_END_FOR, /* element */
  HIA_DRAFT_RETURN,
} hia_draft_kind;

typedef struct hia_draft_item {
  uint8_t kind; /* hia_draft_kind */
  uint16_t op;
  bool is_value; /* can be used as an operand; not an IF that has not ended, nor a part like ELSE */
  bool is_inner; /* unnamed and used once, by the next item: printed inside it */
  bool is_tail;  /* the value of its block and its last item: printed without a `let` */
  uint8_t depth; /* nesting of is_inner items in it */
  hia_type type;
  uint32_t block; /* the block in which it is visible: index into blocks */
  uint32_t uses;
  uint32_t ins, n_ins;  /* extra[ins ...): items */
  hia_symbol_id symbol; /* the name suggested, or HIA_NONE */
  uint32_t printed;     /* the name given while printing: symbol, or HIA_DRAFT_NUMBERED + k */
  uint32_t index;
  hia_word word;
  const hia_dim *dims; /* sizes that are known, as many as hiaF_draft_n_dims; NULL: none is */
} hia_draft_item;

typedef enum hia_draft_state {
  HIA_DRAFT_DECLARED,
  HIA_DRAFT_BEGUN,
  HIA_DRAFT_DONE,
  HIA_DRAFT_EXTERN, /* a function of the host, without a body */
} hia_draft_state;

typedef struct hia_draft_function {
  hia_symbol_id symbol;
  hia_draft_state state;
  bool is_impure;            /* EXTERN */
  bool is_differentiated;    /* gradients name its parameters */
  uint32_t params, n_params; /* items[params ...) */
  hia_type result;
  const hia_dim *const
      *sizes;      /* the declared sizes of the params, then of the result; each may be NULL */
  hia_u32vec list; /* items */
} hia_draft_function;

typedef struct hia_draft_block {
  uint32_t fn;
  bool is_open;
} hia_draft_block;

/* A body or an item with blocks that has begun and not ended; those of the function begun last are
 * on top. */
typedef struct hia_draft_open {
  uint32_t item;  /* IF, LOOP, MATCH or FOR; HIA_NONE: the body of a function */
  bool is_second; /* past else, past while, in an arm */
  uint32_t outer; /* LOOP: the block of its variables */
  uint32_t block; /* the block in which new values are visible; closed between two arms */
  uint32_t depth; /* nesting of items with blocks in the function, this one included */
} hia_draft_open;

typedef struct hia_draft_field {
  hia_symbol_id symbol; /* or HIA_NONE */
  hia_type type;
  const hia_dim *dims; /* the declared sizes; NULL: there are none */
} hia_draft_field;

typedef struct hia_draft_ctor {
  hia_symbol_id symbol;
  uint32_t data, number; /* index of its data type in datas; its number there */
  uint32_t fields, n;    /* fields[fields ...) */
} hia_draft_ctor;

typedef struct hia_draft_data {
  hia_symbol_id symbol;
  hia_type type;
  hia_u32vec ctors;
  bool is_closed; /* patterns rely on its constructors: none can be added */
} hia_draft_data;

/* What the draft knows of a type besides the table of types. */
typedef struct hia_draft_type {
  uint32_t n_parts; /* as the language counts them: HIA_MAX_TYPE_PARTS */
  uint32_t data;    /* index into datas; HIA_NONE: it is no data type */
  uint32_t n_dims;  /* the axes of all tensors in it, and in the elements of arrays */
} hia_draft_type;

/* A type with sizes, as declared: numbers, names (of symbols) and unknown ones, `?`. */
typedef struct hia_draft_sized {
  hia_type type;
  const hia_dim *dims; /* NULL: no sizes are declared */
} hia_draft_sized;

/* A `param` of the program. */
typedef struct hia_draft_weight {
  hia_symbol_id symbol;
  hia_param_spec spec; /* .name is not set */
} hia_draft_weight;

/* What a gradient is. */
typedef struct hia_draft_grad {
  bool has_value;
  const uint32_t *wrt; /* n items, parameters of the function and WEIGHTs; 1 or more */
  uint32_t n;
} hia_draft_grad;

typedef enum hia_draft_pattern_kind {
  HIA_DRAFT_ANY,
  HIA_DRAFT_BIND,
  HIA_DRAFT_NUMBER, /* an integer or a bool */
  HIA_DRAFT_CTOR,
} hia_draft_pattern_kind;

/* Patterns share parts, so one with a few dozen parts can stand for 2^30: the number is bounded. */
typedef struct hia_draft_pattern {
  uint8_t kind;
  uint32_t depth;
  uint32_t n_nodes, n_bound; /* the patterns, and those that bind, in the whole tree */
  hia_type type;             /* NUMBER, CTOR */
  hia_symbol_id symbol;      /* BIND: the name suggested, or HIA_NONE */
  uint32_t ctor;
  uint32_t first, n; /* CTOR: extra[first ...), patterns */
  hia_word word;     /* NUMBER */
} hia_draft_pattern;
#define HIA_DRAFT_MAX_PATTERN 100000u /* patterns in a pattern */

#define HIA_DRAFT_NUMBERED 0x80000000u /* "v1", "v2", ..., which are no symbols */
/* .decl of a symbol: a function, or a constructor with this bit, or a `param`, or a built-in
 * function. */
#define HIA_DRAFT_IS_CTOR   0x40000000u
#define HIA_DRAFT_IS_WEIGHT 0x80000000u
#define HIA_DRAFT_BUILTIN   (HIA_NONE - 1)
/* The bit in the id of a type that says: it has sizes, and the rest is an index into sized. */
#define HIA_DRAFT_IS_SIZED 0x80000000u

struct hia_draft {
  hia_comp *comp;
  uint32_t tag; /* upper half of all ids */
  hia_types types;
  hia_symbols symbols;              /* .decl as above; .type: index into datas */
  HIA_VEC(hia_draft_type) of_types; /* by type, less HIA_FIRST_TYPE */
  HIA_VEC(hia_draft_data) datas;
  HIA_VEC(hia_draft_ctor) ctors;
  HIA_VEC(hia_draft_field) fields;
  HIA_VEC(hia_draft_pattern) patterns;
  HIA_VEC(hia_draft_sized) sized;
  HIA_VEC(hia_draft_weight) weights;
  HIA_VEC(hia_draft_grad) grads;
  uint32_t stamp; /* .bound_at of the symbols in the list of names that is being read */
  HIA_VEC(hia_draft_function) fns;
  HIA_VEC(hia_draft_item) items;
  HIA_VEC(hia_draft_block) blocks;
  HIA_VEC(hia_draft_open) open;
  bool has_numbered; /* the host itself uses names like v1 */
  uint32_t fn;       /* the function whose body is being made, or HIA_NONE */
  hia_u32vec extra;
  const char *doing;   /* for messages: the builder call in progress, */
  hia_symbol_id about; /* and the function or constructor that it names, or HIA_NONE */
};

/* ---- draft.c ---- */

/* A mistake of the host: throws "in 'f': add: ..." of the call in progress. */
_Noreturn void hiaF_draft_wrong(hia_draft *d, const char *fmt, ...) HIA_PRINTF(2, 3);
void hiaF_draft_doing(hia_draft *d, const char *what);
/* Texts for messages, in the draft's arena: a type; the host's text, which is cut and without
 * unprintable bytes. */
const char *hiaF_draft_type_text(hia_draft *d, hia_type type);
const char *hiaF_draft_shown(hia_draft *d, const char *text, size_t len);
const char *hiaF_draft_text(const hia_draft *d, hia_symbol_id symbol);

/* What an argument is in the call, for messages: "operand 2", "the condition". */
typedef struct hia_draft_role {
  const char *what;
  uint32_t number; /* from 1; 0: the only one of its kind */
} hia_draft_role;
_Noreturn void hiaF_draft_wrong_value(hia_draft *d, hia_draft_role r, const char *why);
static inline uint64_t hiaF_draft_id(const hia_draft *d, uint32_t index) {
  return (uint64_t)d->tag << 32 | (index + 1);
}
/* The index that an id of a list of n stands for. `what` is it in messages, "no constructor". */
uint32_t hiaF_draft_index(hia_draft *d, hia_draft_role r, uint64_t id, uint32_t n,
                          const char *what);
static inline hia_type hiaF_draft_type_at(const hia_draft *d, uint32_t index) {
  return d->items.data[index].type;
}
/* The item of a value that is visible here; the second one also checks its type. */
uint32_t hiaF_draft_value(hia_draft *d, hia_draft_role r, uint64_t id);
uint32_t hiaF_draft_typed_value(hia_draft *d, hia_draft_role r, uint64_t id, hia_type type);
/* The item of a value, whether it is visible here or not. */
uint32_t hiaF_draft_any_value(hia_draft *d, hia_draft_role r, uint64_t id);
uint32_t hiaF_draft_fn(hia_draft *d, uint64_t id); /* the index of a function */
/* Constants belong to no function. */
bool hiaF_draft_is_constant(const hia_draft_item *item);
hia_type hiaF_draft_own_type(hia_draft *d, uint64_t id, hia_draft_role r);
hia_draft_sized hiaF_draft_own_sized(hia_draft *d, uint64_t id, hia_draft_role r);
uint64_t hiaF_draft_type_id(const hia_draft *d, hia_type type);
uint64_t hiaF_draft_sized_id(hia_draft *d, hia_draft_sized sized);
hia_type hiaF_draft_make_tuple(hia_draft *d, const hia_type *parts, size_t n);
hia_type hiaF_draft_make_array(hia_draft *d, hia_type element);
hia_type hiaF_draft_make_tensor(hia_draft *d, hia_dtype dtype, uint32_t rank);
/* The type of a tensor or, of rank 0, of a scalar. */
hia_type hiaF_draft_make_ranked(hia_draft *d, hia_dtype dtype, uint32_t rank);
uint32_t hiaF_draft_n_dims(const hia_draft *d, hia_type type);
hia_type hiaF_draft_make_data(hia_draft *d, hia_symbol_id symbol);
/* The index of a data type in datas; HIA_NONE: it is no data type. */
uint32_t hiaF_draft_data_of(const hia_draft *d, hia_type type);
uint32_t hiaF_draft_parts(const hia_draft *d, hia_type type);
/* The dtype of a scalar or tensor; HIA_N_DTYPES: it is neither. */
hia_dtype hiaF_draft_dtype(const hia_draft *d, hia_type type);
/* The rank of a tensor; 0 of any other type. */
uint32_t hiaF_draft_rank(const hia_draft *d, hia_type type);
bool hiaF_draft_is_tensor(const hia_draft *d, hia_type type);
_Noreturn void hiaF_draft_too_large(hia_draft *d);

/* The length of the name that the text begins with; 0: it begins with none. */
size_t hiaF_draft_name_length(const char *text);
/* A name by the host that must be one of the language; its meaning is not checked. */
hia_symbol_id hiaF_draft_symbol(hia_draft *d, const char *text, size_t len);
/* The name that is suggested, made valid; HIA_NONE: there is nothing to read in it. */
hia_symbol_id hiaF_draft_suggested(hia_draft *d, const char *name);
/* A mistake if the name is that of a function, a constructor or a built-in function. */
void hiaF_draft_check_free(hia_draft *d, hia_symbol_id symbol);

/* A mistake if no function has begun; and if no value can be made here. */
void hiaF_draft_need_body(hia_draft *d);
void hiaF_draft_need_block(hia_draft *d);
uint32_t hiaF_draft_new_block(hia_draft *d, uint32_t fn, bool is_open);
uint32_t hiaF_draft_new_item(hia_draft *d, hia_draft_kind kind, hia_type type, uint32_t block);
/* Appends an item to the body. `ends`: the item ends a block and uses that block's value. */
uint32_t hiaF_draft_append(hia_draft *d, hia_draft_kind kind, hia_type type, const uint32_t *ins,
                           uint32_t n, bool ends);
uint32_t hiaF_draft_append_part(hia_draft *d, hia_draft_kind kind, const uint32_t *ins, uint32_t n,
                                uint32_t whole);
static inline hia_draft_open *hiaF_draft_top(hia_draft *d) {
  return &d->open.data[d->open.len - 1];
}
/* The innermost open item, which must be of this kind and state; `text` names it in the message. */
hia_draft_open *hiaF_draft_innermost(hia_draft *d, hia_draft_kind kind, bool is_second,
                                     const char *text);
void hiaF_draft_check_depth(hia_draft *d);
/* Begins the blocks of an item. `outer`: hia_draft_open.outer. */
void hiaF_draft_open_block(hia_draft *d, uint32_t item, uint32_t outer);
/* Begins the next block of the innermost item. */
void hiaF_draft_next_block(hia_draft *d);
/* Ends the innermost item, which is a value from here on. */
uint64_t hiaF_draft_close(hia_draft *d);

/* ---- dims.c ---- */

/* The type of a tuple, with the sizes of its parts. */
hia_draft_sized hiaF_draft_sized_tuple(hia_draft *d, const hia_draft_sized *parts, size_t n);
/* Notes those of an item's sizes that are numbers. */
void hiaF_draft_set_dims(hia_draft *d, uint32_t item, const hia_dim *dims);
/* Notes the sizes of an item where two values meet, it and `met`: those in which they differ are
 * not known. */
void hiaF_draft_join_dims(hia_draft *d, uint32_t item, uint32_t met);
/* A mistake if known sizes of an item are not those declared for its type. */
void hiaF_draft_expect_dims(hia_draft *d, hia_draft_role r, uint32_t item, const hia_dim *declared);
/* A mistake if known sizes of the arguments of a call are not those declared; each name stands
 * for one size. */
void hiaF_draft_expect_args(hia_draft *d, const hia_draft_function *f, const uint32_t *args);
/* A mistake if declared sizes have names in them: `what` they are the sizes of. */
void hiaF_draft_need_no_names(hia_draft *d, const char *what, hia_draft_sized sized);
/* A mistake if there are names in the result's sizes that no parameter's have. */
void hiaF_draft_check_names(hia_draft *d, const hia_draft_sized *params, uint32_t n,
                            hia_draft_sized result);
/* The sizes of the parts, one part behind the other; NULL: none is known. */
const hia_dim *hiaF_draft_dims_of_parts(hia_draft *d, const uint32_t *parts, uint32_t n);
/* The shape of an item that is a scalar or tensor, with the sizes that are known. */
hia_dims hiaF_draft_shape_of(hia_draft *d, uint32_t item);
/* Gives an item the sizes that follow from a rule. Two different numbers are a mistake; what else
 * does not fit fails when the program runs, and has no sizes. */
void hiaF_draft_follow(hia_draft *d, uint32_t item, hia_fit fit, const hia_dims *out,
                       const hia_misfit *m);

/* ---- declare.c ---- */

/* Checks no part beyond the number of scalars that a type may have: if the host passed a wrong
 * number, `parts` ends earlier. */
void hiaF_draft_check_parts(hia_draft *d, const uint64_t *parts, size_t n);
/* A new function, which has no body yet. */
uint32_t hiaF_draft_new_fn(hia_draft *d, hia_symbol_id symbol, const hia_draft_sized *params,
                           uint32_t n, hia_draft_sized result);
void hiaF_draft_make_extern(hia_draft *d, uint32_t fn, bool is_impure);
/* A new `param` of the program; returns its item. */
uint32_t hiaF_draft_new_weight(hia_draft *d, hia_symbol_id symbol, const hia_param_spec *spec);

/* ---- build.c ---- */

/* The items of the arguments of a call, which are checked. */
uint32_t *hiaF_draft_args(hia_draft *d, uint32_t fn, const uint64_t *args, size_t n);

/* ---- tensor.c ---- */

/* Gives an item the sizes of an op on scalars that is lifted to tensors. */
void hiaF_draft_lift(hia_draft *d, unsigned op, uint32_t item);
/* The name of an op on tensors in the language. */
const char *hiaF_draft_op_name(unsigned op);
/* Ops of tensors alone; `axis` as hia_build_op_along takes it, or HIA_NONE: the default. */
bool hiaF_draft_is_tensor_op(unsigned op);
uint64_t hiaF_draft_tensor_op(hia_draft *d, unsigned op, const uint64_t *ids, size_t n,
                              uint32_t axis);
/* x[i], x[i..j], `set` and `concat` where their first operand is a tensor; values, which have been
 * checked to be visible. */
uint64_t hiaF_draft_tensor_at(hia_draft *d, uint32_t x, uint64_t index);
uint64_t hiaF_draft_tensor_slice(hia_draft *d, const uint32_t ins[3]);
uint64_t hiaF_draft_tensor_set(hia_draft *d, const uint32_t ins[3]);
/* Makes a tensor of elements of one type; and gives one that a comprehension has made, an item,
 * its sizes. */
uint64_t hiaF_draft_tensor_of(hia_draft *d, const uint32_t *ins, uint32_t n);
void hiaF_draft_tensor_packed(hia_draft *d, uint32_t item, uint32_t element);
/* Gives what a comprehension binds the sizes of the elements of an array. */
void hiaF_draft_bind_row(hia_draft *d, uint32_t bound, uint32_t array);

/* ---- data.c ---- */

/* `fields`: those of a new constructor. */
uint32_t hiaF_draft_new_ctor(hia_draft *d, uint32_t data, hia_symbol_id symbol,
                             const hia_draft_field *fields, uint32_t n);
/* The constructor that a symbol is the name of; HIA_NONE: it is none. */
uint32_t hiaF_draft_ctor_named(const hia_draft *d, hia_symbol_id symbol);
uint32_t hiaF_draft_new_any(hia_draft *d);
uint32_t hiaF_draft_new_bind(hia_draft *d, hia_symbol_id symbol);
uint32_t hiaF_draft_new_number(hia_draft *d, hia_type type, hia_word word);
/* `parts`: patterns, as many as the constructor has fields. */
uint32_t hiaF_draft_new_ctor_pattern(hia_draft *d, uint32_t ctor, const uint32_t *parts);
/* Checks that a pattern is one for values of the type, which `what` names. */
void hiaF_draft_check_pattern(hia_draft *d, uint32_t pattern, const char *what, hia_type type);
/* The type of the subject of the match in which an arm can begin here. */
hia_type hiaF_draft_subject(hia_draft *d);
void hiaF_draft_begin_arm(hia_draft *d, uint32_t pattern, uint64_t *bound, size_t n);

/* ---- cover.c ---- */

/* A mistake, with the message and the code of the language's error, if the arms do not cover every
 * case, or one cannot be reached. `patterns`: those of the arms. */
void hiaF_draft_check_cover(hia_draft *d, hia_type subject, const uint32_t *patterns, uint32_t n);

#endif
