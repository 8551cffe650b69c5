/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A program: the state that all rooms of the frontend share, from the parser on. It has the tree,
 * the declarations, and what the checks find out about them; the instances of functions are defined
 * in kit/instance.h. This header brings those of what a program consists of.
 *
 * The folder has the way from text to a tree: tokens and spellings (lex.h), the tree (ast.h), the
 * parser (parse.h), words of other languages (habits.h), the names of built-in functions
 * (builtins.h), and messages (diag.h; explain.c explains their codes). */
#ifndef HIA_FRONTEND_PROGRAM_H
#define HIA_FRONTEND_PROGRAM_H

#include "frontend/syntax/ast.h"
#include "frontend/syntax/diag.h"
#include "frontend/types/itype.h"

/* ---- declarations ---- */

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
  uint8_t mark;    /* the state of its visit in check/const.c */
  bool recompute;  /* FN: gradients compute its calls again */
  hia_symbol_id symbol;
  uint32_t pos, end;               /* the bytes of its name */
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
  hia_const_value *values; /* the values at the dtypes */
} hia_decl;

/* ---- gradients ---- */

/* A gradient in the text: a GRAD. */
typedef struct hia_ast_grad {
  hia_ast_id node;
  hia_ast_id fn;        /* the NAME of the function */
  hia_ast_id given;     /* what `wrt` is, a NAME or a TUPLE of NAMEs; NONE: there is no `wrt` */
  uint32_t in;          /* the declaration that it stands in */
  bool has_value;       /* value_and_grad */
  HIA_VEC(hia_wrt) wrt; /* parameters by their number; params by their declaration */
} hia_ast_grad;

/* ---- the program ---- */

typedef struct hia_inst hia_inst; /* kit/instance.h */

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
  HIA_VEC(hia_param_spec) params; /* in the order of hia_decl.fn */
  bool parsed, parse_failed;
  uint64_t parse_ns;
  bool names_unreliable; /* some item's name could not be read: unknown names are not reported */
  bool *is_impure;       /* true for impure decls; NULL until the first hiaF_is_impure */
  uint32_t *lines;       /* offsets of line starts */
  uint32_t n_lines;
  /* kit/instance.c, and check/solve.c, which finds the results */
  HIA_VEC(hia_inst) insts;
  hia_u32vec inst_table; /* hash of declaration, arguments, required result */
  hia_u32vec tarjan;
  uint32_t n_visited, n_done, n_groups, stamp;
};

/* An empty program (ast.c). */
hia_program *hiaF_program_new(hia_comp *comp, hia_types *types, const hia_source *source,
                              hia_diags *diags);

static inline hia_ast *hiaF_node(const hia_program *p, hia_ast_id id) { return &p->nodes.data[id]; }
static inline hia_decl *hiaF_decl(const hia_program *p, uint32_t id) { return &p->decls.data[id]; }
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

#endif
