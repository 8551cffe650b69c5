/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the walk over names (names.c) asks of its other files. */
#ifndef HIA_FRONTEND_NAMES_H
#define HIA_FRONTEND_NAMES_H

#include "frontend/kit/scope.h"

#define HIA_MAX_REGIONS 3000u /* nesting of regions in the graph of one function */

/* ---- names_call.c: what is called ---- */

/* Resolves the callee of a call to a function or constructor of the program, or to a built-in. */
void hiaF_name_callee_decl(hia_name_walk *w, const hia_ast *call, hia_ast *callee, uint32_t decl);
void hiaF_name_callee_builtin(hia_name_walk *w, const hia_ast *call, hia_ast *callee, unsigned op);

/* ---- names_match.c: patterns ---- */

void hiaF_name_pattern(hia_name_walk *w, hia_ast_id pattern, uint32_t base);
/* The depth of branches around the arms of a match. */
uint32_t hiaF_depth_of_match(hia_name_walk *w, const hia_ast *match);

#endif
