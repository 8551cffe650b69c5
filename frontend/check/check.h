/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The checks of a program: names, types, sizes, instances. In the order in which hiaF_load
 * (program.c) goes through them, between those of gradients (grad/grad.h):
 *
 *   names.c         binds names; checks numbers of arguments (names_call.c) and patterns
 *                   (names_match.c); reports what is not supported yet
 *   data.c          data types: limits, types without values; the graph's types of them
 *   declared.c      the types that declarations have
 *   const.c         consts: order, types, values (eval.c)
 *   params.c        params: sizes, initialisers
 *   solve.c         instances of functions and their result types (by infer.c, without messages)
 *   check.c         types every instance once more, with messages; then final types (settle.c) and
 *                   better hints (advice.c)
 *   ending.c        functions that cannot end
 *   dims.c          sizes of expressions (dims_declared.c, dims_rule.c); rejects programs in which
 *                   sizes do not fit
 *
 * value.c does the same for a value of the command line. infer.h has what these passes share.
 *
 * One circle of files is in this folder: infer.c, infer_array.c, infer_call.c, infer_match.c,
 * infer_tensor.c and constant.c call each other, since the type of an expression follows from the
 * types of its parts, and an axis among these is a constant, whose type is inferred, too. */
#ifndef HIA_FRONTEND_CHECK_H
#define HIA_FRONTEND_CHECK_H

#include "frontend/syntax/program.h"

/* ---- names.c ---- */

void hiaF_names(hia_program *p);
/* Resolves names in an expression of the command line: only built-ins are known. */
bool hiaF_names_value(hia_program *p, hia_ast_id expr);

/* ---- data.c ---- */

/* Finds types without values, checks limits, and defines the graph's types of the data types. After
 * hiaF_names. */
void hiaF_data(hia_program *p);
void hiaF_define_data(hia_program *p); /* after hiaF_consts: fields have sizes */

/* ---- declared.c ---- */

/* The meaning of a type node. ERROR if it has too many parts, or an error that was reported. */
hia_itype hiaF_declared_type(hia_program *p, hia_ast_id type);
/* Checks that the declared types of functions do not have too many parts, and makes their graph
 * types. */
void hiaF_declared_types(hia_program *p);

/* ---- const.c ---- */

void hiaF_consts(hia_program *p);
/* Reports errors of consts that nothing uses, after everything else was checked. */
void hiaF_consts_unused(hia_program *p);

/* ---- params.c ---- */

/* Finds the shapes and initialisers of the params, after the consts. */
void hiaF_params(hia_program *p);

/* ---- solve.c ---- */

void hiaF_solve(hia_program *p, uint32_t inst); /* until it and all that it calls are DONE */

/* ---- check.c ---- */

/* True if these DONE instances, and all that they call, have no error. Else reports the errors,
 * also those that an earlier check found. */
bool hiaF_check(hia_program *p, const uint32_t *insts, uint32_t n);

/* ---- ending.c ---- */

/* Sets `ends` of these instances, which have been checked. */
void hiaF_find_ending(hia_program *p, const hia_u32vec *reached);

/* ---- dims.c: sizes of expressions ---- */

/* Finds the sizes of the expressions of checked instances, among which are all that they call but
 * for those that an earlier call had, and reports those that do not fit. */
void hiaF_dims(hia_program *p, const uint32_t *insts, uint32_t n);

#endif
