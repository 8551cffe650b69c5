/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The state of a typing, which finds types for the expressions of a body, a const or a value; its
 * errors and their hints (typing.c). */
#ifndef HIA_FRONTEND_TYPING_H
#define HIA_FRONTEND_TYPING_H

#include "frontend/syntax/program.h"

/* A hint that check/advice.c may improve once the body has been typed. */
typedef struct hia_advice {
  uint32_t line, col; /* the place of the error */
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

/* The typing of an instance, a const, or a value. */
typedef struct hia_typing {
  hia_program *p;
  hia_itype *types; /* the types of nodes, less `first` */
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
  hia_itype *scratch; /* the types of nodes in trials (check/advice.c) */
} hia_typing;
static inline hia_itype *hiaF_type_at(const hia_typing *t, hia_ast_id id) {
  return &t->types[id - t->first];
}
/* The type once its literals have settled, as far as the typing forces it. */
static inline hia_itype hiaF_settled(hia_typing *t, hia_itype type) {
  uint32_t has = hiaF_itype_has(&t->p->it, type);
  t->held |= has & HIA_HAS_TAINT && t->force < HIA_FORCE_ALL;
  t->held |= has & HIA_HAS_RANK && t->force < HIA_FORCE_RANKS;
  return hiaF_settle(&t->p->it, type, t->force);
}
static inline bool hiaF_has_error(const hia_typing *t, hia_itype type) {
  return hiaF_itype_has(&t->p->it, type) & HIA_HAS_ERROR;
}
static inline const char *hiaF_type_text(const hia_typing *t, hia_itype type) {
  return hiaF_itype_text(&t->p->it, type);
}
/* True if the rule takes a leaf type. */
bool hiaF_rule_takes(hia_rule rule, hia_itype leaf);
/* Calls `visit` for each size in a type, which may be NONE. */
typedef void hia_visit_size(hia_typing *t, hia_ast_id dim);
void hiaF_each_size(hia_typing *t, hia_ast_id type, hia_visit_size *visit);

/* ---- errors ---- */

/* Reports an error of a typing. Returns NULL if nothing was added: the typing has no messages, or
 * the error is known already. */
hia_diag *hiaF_type_error(hia_typing *t, enum hia_code code, uint32_t start, uint32_t end,
                          const char *fmt, ...) HIA_PRINTF(5, 6);
/* At the place of a declared type `want`, of `what`: reports an error if the join of `have` and
 * `want` is not `want`. */
void hiaF_accept_type(hia_typing *t, hia_ast_id expr, hia_itype have, hia_itype want,
                      const char *what);
/* The join of two operands' types. Reports an error about bytes start .. end if there is none. */
hia_itype hiaF_join_exprs(hia_typing *t, hia_operand left, hia_itype left_type, hia_operand right,
                          hia_itype right_type, uint32_t start, uint32_t end, const char *what);
/* hiaF_join_exprs where the operands broadcast. */
hia_itype hiaF_broadcast_exprs(hia_typing *t, hia_operand left, hia_itype left_type,
                               hia_operand right, hia_itype right_type, uint32_t start,
                               uint32_t end, const char *what);

/* ---- hints ---- */

/* The type that a hint converts from: an integer that has no dtype yet counts as an i32. */
static inline hia_itype hiaF_hint_from(hia_itype t) {
  return hiaF_is_whole(t) ? (hia_itype)HIA_I32 : t;
}

/* Hints to convert an operand, and notes the hint for hiaF_advise. `diag` may be NULL. */
void hiaF_hint_conversion(hia_typing *t, hia_diag *diag, hia_operand operand, hia_itype from,
                          hia_itype to);
/* Hints to convert an operand (its expr may be NONE) that is the next value of a loop variable; the
 * variable may be declared at the operand's type `from` instead. */
void hiaF_hint_variable(hia_typing *t, hia_diag *diag, hia_operand operand, hia_itype from,
                        hia_itype to, hia_ast_id variable);

#endif
