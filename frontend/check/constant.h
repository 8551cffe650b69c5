/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of constant expressions, while a program is checked. */
#ifndef HIA_FRONTEND_CONSTANT_H
#define HIA_FRONTEND_CONSTANT_H

#include "frontend/kit/typing.h"

/* ---- eval.c ---- */

/* The value of a const at a dtype, which is its own or one its literal type can take. */
const hia_const_value *hiaF_const_value(const hia_program *p, uint32_t decl, hia_dtype dtype);
/* Appends the values of a resolved constant expression to `out`. Returns false, with t->fault set,
 * if evaluation fails. */
bool hiaF_eval(hia_typing *t, hia_ast_id expr, hia_word *out, uint32_t *n);

/* ---- constant.c ---- */

/* The value of a constant expression that is an i32 or i64; false: it is none, or fails. After
 * hiaF_consts. */
bool hiaF_constant_size(hia_program *p, hia_ast_id expr, int64_t *value);
/* The axis of a call of a built-in whose operands have this rank; NONE: all axes; BAD_AXIS: it is
 * no constant, or out of bounds. */
#define HIA_BAD_AXIS ((uint64_t)HIA_NONE + 1)
uint64_t hiaF_axis(hia_program *p, const hia_ast *call, unsigned builtin, uint32_t rank);

#endif
