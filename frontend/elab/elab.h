/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* From a checked program to a graph. elab.c makes functions and their expressions; tensor.c,
 * sizes.c, match.c and match_data.c make those of their subjects, and call back for the parts:
 * these five files are a circle, as expressions are made of expressions. What they share with
 * gradients is in kit/pieces.h. */
#ifndef HIA_FRONTEND_ELAB_H
#define HIA_FRONTEND_ELAB_H

#include "frontend/kit/pieces.h"

/* ---- elab.c ---- */

/* Pushes the words of an expression; returns where they begin. `tail`: its value is the
 * function's result. */
uint32_t hiaF_elab(hia_elab *e, hia_ast_id expr, bool tail);

/* ---- tensor.c: functions that return nothing push a value ---- */

void hiaF_elab_i64(hia_elab *e, hia_ast_id expr); /* integers, as i64s */
/* Makes a tensor of the words from `base` on. */
void hiaF_elab_stack(hia_elab *e, uint32_t base, const hia_ast *n);
void hiaF_elab_tensor_index(hia_elab *e, const hia_ast *n);
void hiaF_elab_tensor_slice(hia_elab *e, const hia_ast *n);
void hiaF_elab_matmul(hia_elab *e, hia_ast_id id, const hia_ast *n);
void hiaF_elab_pack(hia_elab *e, uint32_t base, hia_ast_id id, const hia_ast *n);
void hiaF_elab_alike(hia_elab *e, hia_value_id k, hia_value_id element, const hia_ast *n);
void hiaF_elab_of_tensor(hia_elab *e, const hia_ast *call, unsigned builtin);
void hiaF_elab_tensor(hia_elab *e, hia_ast_id id, const hia_ast *call);

/* ---- sizes.c ---- */

/* Binds the sizes that the type names, and expects the others, of a value whose words are those
 * from `at` on. Failures show `expr`: an expression, or the parameter. */
void hiaF_elab_sizes(hia_elab *e, hia_ast_id type, uint32_t at, hia_ast_id expr);
/* True if the expression is a call whose callee expects the constant sizes of the type. */
bool hiaF_returns_sizes(hia_program *p, hia_ast_id expr, hia_ast_id type);

/* ---- match.c, match_data.c ---- */

/* Pushes the words of a match; returns where they begin. */
uint32_t hiaF_elab_match(hia_elab *e, hia_ast_id expr, bool tail);
/* Pushes the words of a match whose subject, which is data, is this value. */
void hiaF_elab_match_data(hia_elab *e, hia_ast_id expr, hia_value_id subject, bool tail);

#endif
