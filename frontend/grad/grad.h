/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients in programs, `grad(f, wrt = x)(a)` and clauses `gradient`. The files of this room, in
 * the order of the work:
 *
 *   names.c         the names in `grad(f, wrt = x)`, for the walk of check/names.c
 *   gradients.c     what a gradient is with respect to where the program does not say; functions
 *                   without gradients, and functions that may not bring their own
 *   infer.c         the type of a call of a gradient, for check/infer_call.c
 *   own_gradient.c  functions that bring their own gradient: the instances of their clauses
 *   ending.c        gradients that cannot end
 *   elab.c          what elab/elab.c makes of gradients and of clauses in graphs
 *
 * Elsewhere are: the grammar of clauses (syntax/parse.c), the types of gradients
 * (types/gradient.c), and their sizes (check/dims.c), which are found like those of other calls.
 * check and elab call this room; it calls none of theirs, but the kit that they share. */
#ifndef HIA_FRONTEND_GRAD_H
#define HIA_FRONTEND_GRAD_H

#include "frontend/kit/instance.h"
#include "frontend/kit/pieces.h"
#include "frontend/kit/scope.h"
#include "frontend/kit/typing.h"

/* ---- names.c ---- */

/* The callee of `grad(f, wrt = x)(...)`. Neither f nor x is a value. */
void hiaF_name_gradient(hia_name_walk *w, const hia_ast *call);
/* Reports `grad(f)` without a second pair of brackets; `name` is `grad` or `value_and_grad`. */
void hiaF_uncalled_gradient(hia_name_walk *w, const hia_ast *call, const char *name);

/* ---- gradients.c ---- */

/* Finds, for each gradient without `wrt`, the params that its function may read, and reports
 * functions that have no gradient, and those that cannot bring their own. After hiaF_names. */
void hiaF_gradients(hia_program *p);
/* The NAME of what a gradient is with respect to; of a gradient without `wrt` that of the function.
 */
hia_ast_id hiaF_wrt_node(const hia_program *p, const hia_ast_grad *grad, uint32_t i);

/* ---- infer.c ---- */

/* The type of a call of a gradient. `callee`: its GRAD; `inst`: the instance of its function. */
hia_itype hiaF_infer_gradient(hia_typing *t, const hia_ast *callee, uint32_t inst);

/* ---- own_gradient.c: clauses `gradient` ---- */

/* Finds the instance of the clause of an instance that is being checked, or reports why there can
 * be none. */
void hiaF_own_gradient(hia_program *p, uint32_t inst);
/* Finds the instance of the clause of a function of the host (hia_decl.gradient_inst), which the
 * caller solves, or reports why there can be none. */
void hiaF_own_gradient_of_extern(hia_program *p, uint32_t decl);

/* ---- ending.c ---- */

/* Reports clauses `gradient` among these instances, which have been checked, that need themselves
 * on every path. */
void hiaF_check_own_gradients(hia_program *p, const hia_u32vec *reached);

/* ---- elab.c ---- */

/* The graph's gradient of a function `fn`, which is that of an instance: what it is with respect
 * to, where parameters are words. */
uint32_t hiaF_elab_gradient(hia_elab *e, const hia_ast_grad *grad, uint32_t inst, hia_fn_id fn);
/* Expects, at the end of a clause whose value is words[0 ...), that gradients have the shapes of
 * the parameters. */
void hiaF_elab_gradient_shapes(hia_elab *e);

#endif
