/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to build.c and build_print.c: a draft, a program that is made by calls of the builder.
 *
 * A draft records the calls in their order and checks their types at once. It is no tree, and
 * nothing recurses but the short chains of build_print.c. A mistake of the caller throws
 * HIA_ARGUMENT with a message; after the first mistake the draft can only be printed. */
#ifndef HIA_FRONTEND_BUILD_H
#define HIA_FRONTEND_BUILD_H

#include "frontend/ast.h"

/* The items of a function's list, in order; CONST, PARAM and VAR are in no list. */
typedef enum hia_draft_kind {
  HIA_DRAFT_CONST, /* word */
  HIA_DRAFT_PARAM, /* index */
  HIA_DRAFT_VAR,   /* of a loop; index */
  HIA_DRAFT_OP,    /* op: hia_op */
  HIA_DRAFT_CONVERT,
  HIA_DRAFT_FAIL,
  HIA_DRAFT_CALL, /* index: callee */
  HIA_DRAFT_TUPLE,
  HIA_DRAFT_PART, /* index */
  HIA_DRAFT_IF,   /* condition; a value once it has ended: that of the whole */
  HIA_DRAFT_LOOP, /* initial values; likewise. index: its first VAR, the others follow */
  /* the parts of these; index: the IF or LOOP */
  HIA_DRAFT_ELSE,     /* value of the first branch */
  HIA_DRAFT_END_IF,   /* value of the second */
  HIA_DRAFT_WHILE,    /* condition */
  HIA_DRAFT_END_LOOP, /* next values */
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
} hia_draft_item;

typedef enum hia_draft_state {
  HIA_DRAFT_DECLARED,
  HIA_DRAFT_BEGUN,
  HIA_DRAFT_DONE,
  HIA_DRAFT_EXTERN, /* of the host, without a body */
} hia_draft_state;

typedef struct hia_draft_function {
  hia_symbol_id symbol;
  hia_draft_state state;
  bool is_impure;            /* EXTERN */
  uint32_t params, n_params; /* items[params ...) */
  hia_type result;
  hia_u32vec list; /* items */
} hia_draft_function;

typedef struct hia_draft_block {
  uint32_t fn;
  bool is_open;
} hia_draft_block;

/* A body, IF or LOOP that has begun and not ended; those of the function begun last are on top. */
typedef struct hia_draft_open {
  uint32_t item;  /* IF or LOOP; HIA_NONE: the body of a function */
  bool is_second; /* past else, or past while */
  uint32_t outer; /* LOOP: the block of its variables */
  uint32_t block; /* the block in which new values are visible */
  uint32_t depth; /* nesting of IFs and LOOPs in the function, this one included */
} hia_draft_open;

#define HIA_DRAFT_NUMBERED 0x80000000u /* "v1", "v2", ..., which are no symbols */
/* .type of the symbols that functions cannot be named; others have HIA_NONE. */
#define HIA_DRAFT_BUILTIN 0u

struct hia_draft {
  hia_comp *comp;
  uint32_t tag; /* upper half of all ids */
  hia_types types;
  hia_symbols symbols; /* .decl: the function of the name; .type: HIA_DRAFT_BUILTIN */
  HIA_VEC(hia_draft_function) fns;
  HIA_VEC(hia_draft_item) items;
  HIA_VEC(hia_draft_block) blocks;
  HIA_VEC(hia_draft_open) open;
  bool has_numbered; /* the host itself uses names like v1 */
  uint32_t fn;       /* the function whose body is being made, or HIA_NONE */
  hia_u32vec extra;
  const char *doing;   /* for messages: the builder call in progress, */
  hia_symbol_id about; /* and the function that it names, or HIA_NONE */
};

#endif
