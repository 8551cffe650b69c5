/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Gradients of functions: the pass, and the roots that compute them. grad.c says what the pass
 * does, shared.h how its files work together. */
#ifndef HIA_GRAD_H
#define HIA_GRAD_H

#include "graph/ir/graph.h"

/* The pass `grad`: gradients become calls of functions. */
void hiaG_grad(hia_graph *g);

/* ---- params.c ---- */

/* Returns, by function, g->params.len flags each: the params, of those that are wanted, that it may
 * read, itself or by its calls. */
bool *hiaG_params_read(const hia_graph *g, const bool *wanted, hia_arena *arena);
/* Returns flags for the params that a root can be trained for: those that it may read. */
const bool *hiaG_params_read_by(const hia_graph *g, hia_fn_id f, hia_arena *arena);

/* ---- step.c: what training and gradients of hosts call ---- */

/* Returns why a root cannot be trained, or NULL. */
const char *hiaG_cannot_step(const hia_graph *g, hia_fn_id f);
/* Returns the first function of the host that the function may call and that has no gradient, or
 * NULL. */
const hia_extern *hiaG_lacks_gradient(const hia_graph *g, hia_fn_id f, hia_arena *scratch);
/* Adds a root with the parameters of `loss`, a root whose result is one float. It gives the
 * loss and the gradients of the wanted params, in order: of a scalar the gradient; of a tensor the
 * rows that have one (op TOUCHED) and the gradient of these. The other roots are roots no more. */
hia_fn_id hiaG_step(hia_graph *g, hia_fn_id loss, const bool *wanted);
/* Writes the types of the results of hiaG_step after the loss. Returns how many there are; `out`
 * may be NULL. */
uint32_t hiaG_step_types(hia_types *types, const hia_param_spec *params, uint32_t n,
                         const bool *wanted, hia_type *out);
/* Adds a root that gives the result of `differentiated` and whole gradients of what is asked for, n
 * of them, one or more, none a sum. */
hia_fn_id hiaG_gradient_root(hia_graph *g, hia_fn_id differentiated, const hia_wrt *wrt,
                             uint32_t n);

#endif
