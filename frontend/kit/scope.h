/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The walk that resolves names: its state, its scopes, and the errors that several of its files
 * report (scope.c). */
#ifndef HIA_FRONTEND_SCOPE_H
#define HIA_FRONTEND_SCOPE_H

#include "frontend/syntax/program.h"

typedef enum hia_walk_mode {
  HIA_WALK_FN,
  HIA_WALK_CONST,
  HIA_WALK_VALUE,
} hia_walk_mode;

typedef struct hia_name_bound {
  hia_symbol_id symbol;
  hia_ast_id var;
  uint32_t bound_at;
} hia_name_bound;

typedef struct hia_name_walk {
  hia_program *p;
  hia_walk_mode mode;
  bool failed;
  bool too_deep;
  bool is_extern; /* the signature of an extern function */
  bool is_field;  /* the fields of a constructor */
  bool is_param;  /* the sizes and the initialiser of a param; the mode is WALK_CONST */
  bool in_array;  /* a type within an array's */
  uint32_t decl;  /* the item */
  HIA_VEC(hia_name_bound) undo; /* the former meanings of the bound symbols */
} hia_name_walk;

static inline hia_symbol *hiaF_symbol(const hia_name_walk *w, hia_symbol_id id) {
  return &w->p->symbols.list.data[id];
}

/* ---- scopes ---- */

static inline bool hiaF_is_wild_symbol(const hia_symbol *e) {
  return e->len == 1 && e->text[0] == '_';
}
/* Binds a name. Its list (parameters, pattern, ...) begins at `base` of the undo stack: two equal
 * names in one list are an error. */
void hiaF_bind_name(hia_name_walk *w, hia_symbol_id symbol, hia_ast_id var, uint32_t base);
void hiaF_bind_binder(hia_name_walk *w, hia_ast_id id, uint32_t base);
void hiaF_unbind_names(hia_name_walk *w, uint32_t base);

/* ---- errors ---- */

hia_diag *hiaF_name_error(hia_name_walk *w, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) HIA_PRINTF(5, 6);
void hiaF_unsupported(hia_name_walk *w, enum hia_code code, const hia_ast *node, const char *what);
/* What is being walked, in a mode of constant expressions: "a const". */
const char *hiaF_constant_text(const hia_name_walk *w);
const char *hiaF_decl_kind_text(const hia_decl *d);
/* `called`: the name stands for a function. */
void hiaF_unknown_name(hia_name_walk *w, const hia_ast *name, bool called);
/* The call of a function, or of its gradient, has a wrong number of arguments. */
void hiaF_wrong_arity(hia_name_walk *w, const hia_ast *call, const hia_ast *callee,
                      const hia_decl *d);

/* ---- similar.c: "did you mean" ---- */

enum { /* what a name may mean at its place: similar names must mean one of these */
       HIA_LIKE_VALUE = 1,
       HIA_LIKE_FN = 2,
       HIA_LIKE_TYPE = 4,
       HIA_LIKE_CON = 8,
};
const char *hiaF_similar_name(const hia_program *p, const char *name, uint32_t len, unsigned like);

#endif
