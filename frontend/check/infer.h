/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types of expressions: inferred from the inside out (infer*.c), settled from the outside in
 * (settle.c); and the hints of errors (advice.c). */
#ifndef HIA_FRONTEND_INFER_H
#define HIA_FRONTEND_INFER_H

#include "frontend/kit/typing.h"

/* ---- infer.c ---- */

hia_itype hiaF_infer(hia_typing *t, hia_ast_id expr);
/* Types the body of t->inst; returns its type, joined with the declared result if there is one. */
hia_itype hiaF_infer_body(hia_typing *t);
/* Infers an expression that must be a bool or, unless `is_scalar`, may be a tensor of bools.
 * Returns its type; ERROR, with a report, if it is none. */
hia_itype hiaF_expect_bools(hia_typing *t, hia_ast_id expr, const char *what, bool is_scalar);
/* Gives a binder, and its parts, their types. */
void hiaF_infer_binder(hia_typing *t, hia_ast_id binder, hia_itype type);

/* ---- infer_call.c: calls of built-ins on scalars, of constructors, and of functions ---- */

hia_itype hiaF_infer_builtin(hia_typing *t, const hia_ast *call, const hia_ast *callee);
hia_itype hiaF_infer_construction(hia_typing *t, const hia_ast *call, const hia_ast *callee);
/* The call of a function, of a gradient, or of a function of the host. */
hia_itype hiaF_infer_call(hia_typing *t, hia_ast_id call, const hia_ast *callee);

/* ---- infer_array.c: arrays, and tensors where they are written like arrays ---- */

hia_itype hiaF_infer_array(hia_typing *t, hia_ast_id expr);
hia_itype hiaF_infer_index(hia_typing *t, const hia_ast *n);
hia_itype hiaF_infer_slice(hia_typing *t, const hia_ast *n);
hia_itype hiaF_infer_comprehension(hia_typing *t, hia_ast_id expr);
hia_itype hiaF_infer_of_arrays(hia_typing *t, const hia_ast *call, const hia_ast *callee);

/* ---- infer_tensor.c: `@`, and the built-ins of tensors ---- */

hia_itype hiaF_infer_matmul(hia_typing *t, hia_ast_id expr);
hia_itype hiaF_infer_tensor(hia_typing *t, const hia_ast *call, const hia_ast *callee);
/* The type of a `concat` of tensors; `type`: the join of its arguments. */
hia_itype hiaF_concat_type(hia_typing *t, const hia_ast *call, hia_itype type);

/* ---- infer_match.c ---- */

hia_itype hiaF_infer_match(hia_typing *t, hia_ast_id expr);

/* ---- settle.c: final types from the outside in ---- */

/* Gives the expression and its parts the final types of their places; checks that literals fit. */
void hiaF_resolve(hia_typing *t, hia_ast_id expr, hia_itype type);
/* Gives the sizes in a type, which may be NONE, their final types. */
void hiaF_resolve_sizes(hia_typing *t, hia_ast_id type);

/* ---- advice.c ---- */

/* Improves the hints, after the body of t->inst was typed with messages. */
void hiaF_advise(hia_typing *t);

#endif
